"""Sparse discriminant analysis: discriminants of few of many columns.

What `nonzero=`, `penalty=` and `ncomp=` of a sparse discriminant analysis ask for, checked.

Sparse discriminant analyses as values: how they are fitted, again too, and what goes into a file.

What a sparse discriminant analysis gives: directions, the columns they have selected, and their path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.projections.sparse_lda import By, SparseFit, along, fit_sparse, sparse_from_file
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import LinearRule, Rule
from discrim.core.scatter.covariance import dependencies
from discrim.errors import CollinearError, DataError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.levels import Unseen
from discrim.inference.resampling import drawn_seed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Gaps, Model
from discrim.models.fits.options import verb_options
from discrim.models.fits.reading import (
    NaAction,
    check_word,
    class_moments,
    collinear_error,
    folds_or_cv,
    is_number,
    is_whole,
    is_wide,
    listed,
    prior_vector,
    said_of_separation,
    told,
    usable_rows,
    warn_of_near,
    without_constants_if_wide,
)
from discrim.models.fits.refits import held_path, left_out_by_refits, moment_refits
from discrim.models.judging.validation import Splits, read_splits
from discrim.models.moments.given import Sample, by_moments
from discrim.models.moments.moments import Moments
from discrim.models.projections.sparse_choice import (
    PenaltyChoice,
    PenaltySearch,
    choose_penalty,
    penalties_of,
    penalty_grid,
)
from discrim.models.results.geometry import ClassMeans, GroupSummary, LinearGeometry
from discrim.models.results.results import ClassifierResults
from discrim.models.saving.fit_file import NOTHING, Saved


class SparseOptions(NamedTuple):
    """What the directions are asked for by; `values` is None where the penalty is to be chosen."""

    by: By
    values: tuple[float, ...] | None


def to_be_chosen(nonzero: Any, penalty: Any) -> bool:
    """Whether the penalty is to be chosen; raises a DataError for what is none, or for both."""
    if nonzero is not None and penalty is not None:
        raise DataError("nonzero= and penalty= ask for the same in two ways: leave one of them out.")
    for value in _listed(nonzero):
        if not (is_whole(value) and is_number(value) and value >= 1):
            raise DataError(
                f"nonzero={told(value)}: give a number of columns from 1 on, or one for each direction."
            )
    for value in _listed(penalty):
        if not (is_number(value) and 0 <= value < np.inf):
            raise DataError(
                f"penalty={told(value)}: give a number from 0 on, one for each direction, or None to have it "
                "chosen by folds."
            )
    return nonzero is None and penalty is None


def _listed(given: Any) -> list[Any]:
    """What is given once, or once for each direction, as a list."""
    if given is None:
        return []
    if isinstance(given, Iterable) and not isinstance(given, str | Mapping):
        # An empty one has no direction.
        return list(given) or [given]
    return [given]


def directions_of(ncomp: Any, held: ClassMoments) -> int:
    """The number of directions that are asked for; raises a DataError for one that there is not."""
    most = min(held.n_columns, held.n_classes - 1)
    if ncomp is None:
        return most
    if not (is_whole(ncomp) and 1 <= ncomp <= most):
        raise DataError(
            f"ncomp={told(ncomp)}: {held.n_columns} columns and {held.n_classes} classes have {most} "
            f"directions; give a number from 1 to {most}, or None for all."
        )
    return int(ncomp)


def asked_of(nonzero: Any, penalty: Any, most: int, held: ClassMoments) -> SparseOptions:
    """What each of so many directions is asked for by; raises a DataError where they are not as many."""
    name: By = "penalty" if nonzero is None else "nonzero"
    values = _listed(penalty if nonzero is None else nonzero)
    if not values:
        return SparseOptions(name, None)
    if len(values) not in (1, most):
        raise DataError(
            f"{name}={values}: {held.n_classes} classes have {most} direction{'s' if most > 1 else ''}; give "
            "one number for all of them, or one for each."
        )
    return SparseOptions(name, tuple(float(value) for value in values) * (most if len(values) == 1 else 1))


def refuse_equal_means(held: ClassMoments) -> None:
    """Raise where nothing is left to vary within classes."""
    if held.total <= held.n_classes:
        raise CollinearError(
            f"{held.total:g} rows in {held.n_classes} classes leave nothing from which to estimate "
            "the spread within classes: some class has to have two rows, and weights have to count "
            "rows."
        )


def _refuse_singular(fit: SparseFit, blocks: Blocks) -> None:
    """Raise where a direction does not vary within classes, and name the columns that make it so."""
    if not fit.is_singular():
        return
    used = np.any(fit.coef != 0, axis=1)
    names = [blocks.terms[j] for j in np.flatnonzero(used).tolist()]
    still = [each.column for each in dependencies(fit.moments, diagonal=True)]
    still = [j for j in still if bool(used[j])]
    if still:
        does, it = ("does", "it") if len(still) == 1 else ("do", "them")
        tells = said_of_separation(fit.moments, blocks.terms)
        way_out = (
            'Use lda(covariance="shrunk", shrinkage=1e-6)' if tells else f"Leave {it} out of the formula"
        )
        raise CollinearError(
            f"{listed(blocks.terms[j] for j in still)} {does} not vary within classes, where distances "
            f"have their unit.{tells} {way_out}."
        )
    raise CollinearError(
        f"A direction of {listed(names)} does not vary within classes: these columns tell the classes apart "
        "without error. Give a larger penalty= or a smaller nonzero=, or ridge= above 0."
    )


def _refuse_dependent(held: ClassMoments, blocks: Blocks, asked: SparseOptions, ridge: float) -> None:
    """Raise where columns that are all to have a part do not leave one minimum."""
    values = asked.values or ()
    p = held.n_columns
    all_in = any(value == 0 if asked.by == "penalty" else value >= p for value in values)
    if ridge > 0 or not all_in:
        return
    if held.spread == "thin" or held.rows.sum() - held.n_classes < p:
        raise CollinearError(
            f"{held.rows.sum()} rows in {held.n_classes} classes cannot tell the coefficients of all {p} "
            "columns apart: give penalty= above 0, nonzero= a smaller number, or ridge= above 0."
        )
    found = dependencies(held)
    if found:
        raise collinear_error(found, blocks.terms, instead="pass penalty= or ridge= above 0")
    warn_of_near(held, blocks.terms)


def fitted(
    held: ClassMoments, blocks: Blocks, shares: Floats, asked: SparseOptions, **options: Any
) -> SparseFit:
    """The numbers of what was asked for.

    Raises
    ------
    CollinearError
        Columns that are all to have a part are collinear, or a direction does not vary within classes.
    """
    _refuse_dependent(held, blocks, asked, options["ridge"])
    fit = fit_sparse(held, shares, by=asked.by, tuning=asked.values or (), **options)
    _refuse_singular(fit, blocks)
    return fit


MODEL = Model(
    "sparse_lda",
    "Sparse discriminant analysis",
    no_fit=(
        "a direction does not vary within classes, or the penalty is chosen and a class has one row",
        "a penalty= or nonzero= that is given",
    ),
)


def sparse_lda_fit(
    numbers: SparseFit,
    blocks: Blocks,
    options: Mapping[str, Any],
    *,
    has_rows: bool = True,
    search: PenaltySearch | None = None,
    choice: PenaltyChoice | None = None,
) -> Fit[SparseFit]:
    """A sparse discriminant analysis as one value; `search` and `choice` are of a penalty chosen."""
    refits = replace(moment_refits(numbers.moments.spread), left_out=_left_out)
    if search is not None:
        rule = partial(_chosen_rule, search)
        refits = replace(refits, spread=None, of_rows=rule, choice="the penalty", search=search)
    path, cache = (None, {}) if choice is None else (choice.path, {"along": choice.fits})
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, options, has_rows, path, cache)


def _left_out(fit: Fit[SparseFit]) -> LeftOut:
    return left_out_by_refits(fit, "takes a fit a row")


def chosen(
    blocks: Blocks,
    held: ClassMoments,
    shares: Floats,
    search: PenaltySearch,
    *,
    ridge: float,
    ncomp: int | None,
    estimated_prior: bool,
) -> PenaltyChoice:
    """The choice of a penalty by folds or splits; as of `choose_penalty`.

    Raises
    ------
    CollinearError
        A direction does not vary within classes, of all rows or without a fold.
    """
    whole = along(
        held,
        shares,
        penalties_of(held, search.n_penalties) if search.grid is None else search.grid,
        ridge=ridge,
        ncomp=ncomp,
        estimated_prior=estimated_prior,
    )
    for fit in whole:
        _refuse_singular(fit, blocks)
    return choose_penalty(blocks, whole, search)


def _chosen_rule(search: PenaltySearch, fit: Fit[SparseFit], blocks: Blocks) -> Rule | None:
    """The rule of other rows, which choose the penalty anew."""
    numbers = fit.numbers
    held = class_moments(blocks, numbers.moments.spread)
    if (held.rows < 1).any() or held.total <= held.n_classes:
        return None
    ncomp = None if numbers.ncomp is None else min(numbers.ncomp, held.n_columns)
    options: dict[str, Any] = {
        "ridge": numbers.ridge, "ncomp": ncomp, "estimated_prior": numbers.estimated_prior
    }  # fmt: skip
    try:
        choice = chosen(blocks, held, numbers.prior, search, **options)
    except (CollinearError, DataError):
        return None
    most = min(held.n_classes - 1, held.n_columns)
    asked = (choice.penalty,) * (most if ncomp is None else ncomp)
    found = fit_sparse(held, numbers.prior, by="penalty", tuning=asked, **options)
    return None if found.is_singular() else found.rule(fit.log_prior())


SAVED = Saved(
    {"by": (str,), "ridge": (float,), "ncomp": (int, NOTHING), "estimated_prior": (bool,)},
    "pooled",
    sparse_from_file,
    sparse_lda_fit,
    SparseFit.buffers,
    lambda k, p: {
        "asked": (-1,),
        "class_scores": (k, -1),
        "coef": (p, -1),
        "sd": (p,),
        "penalties": (-1,),
    },
    # As of a shrunk covariance: columns may be more than rows, or collinear.
    structure="shrunk",
)


PENALTIES = 50
"""Penalties of a path of coefficients that was not asked for others."""


class SparseLDAResults(LinearGeometry, ClassMeans, GroupSummary, ClassifierResults):
    """A fitted sparse discriminant analysis.

    Attributes
    ----------
    scaling : DataFrame, terms by LD1, LD2, ...
        Discriminant coefficients in the units of the columns, which give scores of unit variance within
        classes. In each column the largest coefficient, standardized within classes, is positive. Columns
        that are not selected have zeros.
    standardized : DataFrame, terms by LD1, LD2, ...
        The coefficients that are penalized: those of columns divided by their standard deviations over all
        rows.
    selected : Index
        Columns that some direction uses, the one with the largest standardized coefficient first.
    counts_selected : Series by LD1, LD2, ...
        Number of columns that each direction uses.
    penalty : Series by LD1, LD2, ...
        Penalty at which each direction was found.
    ridge : float
        Factor of half the sum of the squared standardized coefficients.
    path : DataFrame
        The errors of a choice by folds: penalty, error, se, columns, directions.
    scores : DataFrame, classes by LD1, LD2, ...
        Optimal scores of the classes: they are uncorrelated, with mean zero and mean square one over the
        rows.
    means : DataFrame, classes by terms
        Class means.
    coef : DataFrame, terms by classes
        Coefficients of the linear scores; zero for columns that are not selected.
    intercept : Series by class
        Constants of the linear scores: x'coef + intercept is largest for the predicted class.
    """

    _fit: Fit[SparseFit]

    @property
    def _axis_names(self) -> pd.Index:
        return pd.Index([f"LD{i + 1}" for i in range(self._fit.numbers.coef.shape[1])])

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminant coefficients, unit variance within classes (divisor N - K)."""
        held = self._fit.numbers
        axes = held.scaling() * held.moments.scale[:, None]
        return pd.DataFrame(axes, index=self.terms, columns=self._axis_names)

    @property
    def standardized(self) -> pd.DataFrame:
        """Coefficients of columns that are divided by their standard deviations over all rows, divisor N."""
        return pd.DataFrame(self._fit.numbers.coef, index=self.terms, columns=self._axis_names)

    @property
    def selected(self) -> pd.Index:
        """Columns that some direction uses, the one with the largest standardized coefficient first."""
        size = np.abs(self._fit.numbers.coef).max(axis=1, initial=0.0)
        order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
        return self.terms[order]

    @property
    def counts_selected(self) -> pd.Series:
        """Number of columns that each direction uses."""
        counts = self._fit.numbers.selected().sum(axis=0)
        return pd.Series(counts, index=self._axis_names, name="columns")

    @property
    def penalty(self) -> pd.Series:
        """The penalty at which each direction was found."""
        return pd.Series(self._fit.numbers.penalties, index=self._axis_names, name="penalty")

    @property
    def ridge(self) -> float:
        """Factor of half the sum of the squared standardized coefficients."""
        return self._fit.numbers.ridge

    @property
    @displayed(se="share", columns="count", directions="count", penalty="general")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors of the penalties that were tried.

        Raises
        ------
        NotSupportedError
            The penalty or the number of columns was given, or the fit was loaded.
        """
        why = "as the penalty or the number of columns was given, or the fit was loaded"
        return held_path(self._fit, why, "fit without penalty= and nonzero= to have a penalty chosen")

    def coefficient_path(self, grid: Sequence[float] | None = None) -> pd.DataFrame:
        """Standardized coefficients along penalties that are the same for all directions.

        Parameters
        ----------
        grid : sequence of float, optional
            Penalties. By default those of the choice, or evenly spaced ones.

        Returns
        -------
        DataFrame by (penalty, axis), columns by term
            The penalties fall from row to row. The terms are those that are selected at some penalty.
        """
        penalties, fits = self._along(grid)
        parts = {
            (penalty, f"LD{r + 1}"): fit.coef[:, r]
            for penalty, fit in zip(penalties.tolist(), fits, strict=True)
            for r in range(fit.coef.shape[1])
        }
        values = np.array(list(parts.values())).reshape(len(parts), len(self.terms))
        used = np.flatnonzero(values.any(axis=0))
        index = pd.MultiIndex.from_tuples(parts, names=["penalty", "axis"]) if parts else None
        return pd.DataFrame(values[:, used], index=index, columns=self.terms[used])

    def _along(self, grid: Any = None) -> tuple[Floats, list[SparseFit]]:
        """Penalties, and the fits at them."""
        fit, cache = self._fit.numbers, self._fit.cache
        if grid is None and "along" in cache:
            fits: list[SparseFit] = cache["along"]
            return np.array([each.tuning[0] for each in fits]), fits
        asked = penalty_grid(grid, PENALTIES)
        penalties = penalties_of(fit.moments, PENALTIES) if asked is None else asked
        fits = along(fit.moments, fit.prior, penalties, ridge=fit.ridge, ncomp=fit.ncomp)
        if asked is None:
            cache["along"] = fits
        return penalties, fits

    @property
    def scores(self) -> pd.DataFrame:
        """Optimal scores of the classes."""
        return pd.DataFrame(self._fit.numbers.class_scores, index=self.classes, columns=self._axis_names)

    def _rule(self) -> LinearRule:
        return self._fit.numbers.rule(self._fit.log_prior())

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the linear scores; zero for columns not selected."""
        rule = self._rule()
        return pd.DataFrame(rule.coef * rule.scale[:, None], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants of the linear scores."""
        rule = self._rule()
        constant = rule.intercept - (rule.origin * rule.scale) @ rule.coef
        return pd.Series(constant, index=self.classes, name="constant")

    def _centre(self) -> Floats:
        """The prior-weighted mean (p,) of the class means, in z about the origin of the moments."""
        means, prior = self._fit.numbers.moments.means, self._fit.prior
        anchor = means[int(np.argmax(prior))]
        return np.asarray(anchor + prior @ (means - anchor))

    def transform(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Discriminant scores LD1, LD2, ... of each row, centred at the prior-weighted mean.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        DataFrame (rows, axes)
            Missing for a row with a missing value.
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        origin, _ = gaussian.centred(self._fit.numbers.moments, self._centre())
        scaling = self.scaling.to_numpy()
        used = np.flatnonzero(scaling.any(axis=1))
        out = np.empty((len(self._axis_names), blocks.table.nrows))
        for place, x, _ in blocks.every_row():
            missing = np.isnan(x).any(axis=1)
            out[:, place] = scaling[used].T @ (x.T[used] - origin[used, None])
            out[:, place][:, missing] = np.nan
        return pd.DataFrame(out.T, index=blocks.table.index, columns=self._axis_names)

    def _centroids(self) -> pd.DataFrame:
        fit = self._fit.numbers
        scores = (fit.moments.means - self._centre()) @ fit.scaling()
        return pd.DataFrame(scores, index=self.classes, columns=self._axis_names)

    def _scores_within(self) -> pd.DataFrame:
        """Covariance within classes of the scores, which are not uncorrelated there."""
        root = self._fit.numbers.root()
        lengths = np.sqrt((root**2).sum(axis=0))
        names = self._axis_names
        return pd.DataFrame(root.T @ root / lengths / lengths[:, None], index=names, columns=names)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each direction and selected term, the largest first: `scaling` and `standardized`."""
        rows = []
        scaling, held = self.scaling.to_numpy(), self._fit.numbers.coef
        for r, axis in enumerate(self._axis_names):
            order = np.argsort(-np.abs(held[:, r]), kind="stable")[: int((held[:, r] != 0).sum())]
            rows += [(axis, self.terms[j], scaling[j, r], held[j, r]) for j in order.tolist()]
        return pd.DataFrame(rows, columns=["axis", "term", "estimate", "estimate_per_sd"])

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit: sizes, directions, columns selected, penalty of the first, ridge."""
        penalties = self._fit.numbers.penalties
        own = {
            "directions": len(penalties),
            "selected": len(self.selected),
            "penalty": float(penalties[0]) if len(penalties) else np.nan,
            "ridge": self.ridge,
        }
        return pd.DataFrame([self._sizes() | own])


MOST_RIDGE = 1e100
"""Beyond, coefficients are so small that their squares are no doubles."""

CHOSEN_FROM_ROWS = "A penalty is chosen by the rows and not by their moments: give penalty= or nonzero="


@by_moments("pooled")
def sparse_lda(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    nonzero: int | Sequence[int] | None = None,
    penalty: float | Sequence[float] | None = None,
    ridge: float = 0.0,
    ncomp: int | None = None,
    folds: int | Splits = 10,
    select: Literal["min", "1se"] = "min",
    grid: Sequence[float] | None = None,
    n_penalties: int = 50,
    seed: int | None = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
    cv: Any = None,
) -> SparseLDAResults:
    """Sparse discriminant analysis: discriminants that use few of many columns, by sparse optimal scoring.

    Parameters
    ----------
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    moments : Moments, optional
        What `discrim.moments` or `discrim.from_stats` returned, or a sum of such moments, in place of formula
        and data. The fit then has no rows, and methods that need rows take them as `data=`. Either penalty or
        nonzero must be given with moments, because a penalty is chosen from rows.
    nonzero : int or sequence of int, optional
        How many columns each direction may use; a sequence has a number for each direction. The penalty is
        then the smallest that leaves so many, as with `stop=-nonzero` of R's sparseLDA.
    penalty : float or sequence of float, optional
        Factor of the sum of the absolute coefficients of standardized columns; zero stands for no penalty.
        From 1 on no column is left, and in general from `path.penalty[0]` on. It is chosen by folds where
        neither penalty nor nonzero is given.
    ridge : float
        Factor of half the sum of the squares of these coefficients, up to 1e100; R's sparseLDA has 1e-6.
    ncomp : int, optional
        The largest number of directions.
    folds : int, or iterable of (train, test)
        Number of folds by which the choice is made. Or splits as in scikit-learn, which are positions of rows
        of the table; methods that judge the fit by folds then choose anew on the same splits, without the
        rows of the fold.
    select : {"min", "1se"}
        "min" takes the penalty of least error and, of equal errors, the larger one. "1se" takes the largest
        penalty whose error is within one standard error of the least.
    grid : sequence of float, optional
        Penalties to try.
    n_penalties : int
        Number of penalties to try where there is no grid. Their logarithms are evenly spaced, from the
        penalty that leaves no column down to a thousandth of it, or to a hundredth where there are fewer rows
        than columns.
    seed : int, optional
        Seed by which the rows are dealt to folds. Without it each call deals them differently.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.
    cv : optional
        Another name of `folds`; it is accepted with a warning.

    Returns
    -------
    SparseLDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also an option out of
        its range, and a class of one row where the penalty is to be chosen.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A direction does not vary within classes. Or columns are collinear, or more than the rows allow, and
        there is neither a penalty nor a ridge. The message names them.

    Notes
    -----
    Let z be the columns divided by their standard deviations over all rows (divisor N). Each direction
    minimizes, over coefficients b and over scores theta of the classes with mean zero and mean square one,

        ``1/(2N) sum_i (theta_(class of i) - z_i'b)^2 + penalty |b|_1 + ridge/2 |b|^2``,

    with scores that are uncorrelated with those of earlier directions (Clemmensen, Hastie, Witten & Ersboll,
    2011, Technometrics 53, 406-413). Rows are then classified by the linear discriminant analysis of their
    scores z'b, with divisor N - K. For two classes the direction is the lasso of codes of the classes, which
    is that of Mai, Zou & Yuan (2012, Biometrika 99, 29-42; R's TULIP::dsda); its penalty is that of glmnet
    with codes of variance one. Without penalty and ridge the fit is that of `discrim.lda`.

    R's sparseLDA does not divide by the standard deviation. For columns whose sum of squares is one, as its
    `normalize` makes them, its penalty is 2 sqrt(N) times this one. More than two classes may have several
    minima: the search here descends from the largest penalty in several ways and keeps the least minimum,
    while R's descends once from scores drawn at random.

    `leave_one_out` holds the penalty, or the number of columns where that was given, and takes one fit for
    each row. Folds and bootstrap samples, in `error_rates` and `discrim.cross_validate`, choose the penalty
    anew where it was chosen.

    Examples
    --------
    >>> from discrim import sparse_lda
    >>> from discrim.datasets import load_wine
    >>> fit = sparse_lda("cultivar ~ .", load_wine(), nonzero=3)
    >>> fit.selected.to_list()
    ['flavanoids', 'alcohol', 'od280_od315', 'proline', 'color_intensity', 'hue']
    >>> fit.confusion().to_numpy().tolist()
    [[48, 0, 0], [0, 57, 2], [6, 3, 62]]
    """
    options = verb_options(locals())
    folds = folds_or_cv("sparse_lda", folds, cv)
    check_word("select", select, ("min", "1se"))
    tried = penalty_grid(grid, n_penalties)
    if not (is_number(ridge) and 0 <= ridge <= MOST_RIDGE):
        raise DataError(f"ridge={told(ridge)}: give a number from 0 to {MOST_RIDGE:g}.")
    by_folds = to_be_chosen(nonzero, penalty)
    sample = Sample("sparse_lda", moments, formula, data, weights, levels, functions)
    if moments is None:
        blocks = without_constants_if_wide(sample.read())
        blocks, held = usable_rows(blocks, "thin" if is_wide(blocks) else "pooled", na_action)
    else:
        blocks, held = sample.of_moments("pooled", CHOSEN_FROM_ROWS if by_folds else "")
    refuse_equal_means(held)
    most = directions_of(ncomp, held)
    asked = asked_of(nonzero, penalty, most, held)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), held.counts)
    shape: dict[str, Any] = {
        "ridge": float(ridge),
        "ncomp": None if ncomp is None else int(ncomp),
        "estimated_prior": prior is None,
    }
    search = choice = None
    if asked.values is None:
        # Choices in folds are made by the same seed, so that they can be made again.
        splits = () if is_number(folds) else read_splits(folds, blocks, "a number of folds")
        count: Any = len(splits) or folds
        search = PenaltySearch(tried, int(n_penalties), count, drawn_seed(seed), select, splits)
        choice = chosen(blocks, held, shares, search, **shape)
        asked = SparseOptions("penalty", (choice.penalty,) * most)
    fit = fitted(held, blocks, shares, asked, **shape)
    if not fit.coef.shape[1]:
        no_penalty = asked.by == "penalty" and not any(fit.tuning)
        why = (
            "The classes have equal means in all columns, so that there is no direction"
            if no_penalty
            else f"At penalty {fit.tuning[0]:g} no column is left"
        )
        way_out = "Name other columns" if no_penalty else "Give a smaller penalty=, or nonzero="
        warn_user(
            f"{why}: every row gets the prior probabilities, and the class with the largest of them. "
            f"{way_out}."
        )
    has_rows = moments is None
    return SparseLDAResults(
        sparse_lda_fit(fit, blocks, options, has_rows=has_rows, search=search, choice=choice)
    )
