"""Sparse discriminant analysis: the verb `sparse_lda`, its results and its summary.

Each direction uses few of many columns. The penalty is an option or is chosen by cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.projections import sparse_lda as core
from discrim.core.projections.sparse_lda import SparseFit, TuningType
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule, best_class, log_of_prior
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.errors import CollinearError, DataError, UninformativeFitWarning, warn_user
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import (
    FOLD_OPTIONS,
    FittedModel,
    MissingPolicy,
    ModelSpec,
    refit_scorer,
)
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import error_path, stored_path
from discrim.models.evaluation.tuning import (
    GridSearch,
    Splits,
    TuningFolds,
    iterate_test_rows,
    raise_if_no_test_rows,
    raise_if_single_row_classes,
    read_choice,
)
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import NeedsRows, Sample
from discrim.models.results import headers
from discrim.models.results.geometry import GroupSummary, LinearScores
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

MAX_GRID_SIZE = 10_000
"""Largest number of penalties to try."""

MIN_PENALTY_RATIO = 1e-3
"""Smallest default penalty relative to the largest."""

MIN_PENALTY_RATIO_WIDE = 1e-2
"""Smallest default penalty relative to the largest, if there are fewer rows than columns."""


SHARED_ARGUMENTS = ("ridge", "ncomp", "estimated_prior")
"""Arguments of `fit_sparse` and `fit_sparse_path` of the core that a refit copies from the fit."""


def _read_sparsity(nonzero: Any, penalty: Any) -> tuple[TuningType, list[float]]:
    """Validate the options `nonzero` and `penalty`.

    Parameters
    ----------
    nonzero : int, sequence of int or None
        Numbers of columns that directions may use.
    penalty : float, sequence of float, "1se" or None
        Penalties of the directions.

    Returns
    -------
    by : {"penalty", "nonzero"}
        The option that controls sparsity.
    values : list
        Its values, one or one for each direction; empty if the penalty is to be chosen.

    Raises
    ------
    DataError
        Both options were passed, or a value is not valid.
    """
    if nonzero is not None and penalty is not None:
        raise DataError("nonzero= and penalty= cannot be combined.", hint="Leave one of them out.")
    penalty, _ = read_choice(penalty)
    for value in _as_list(nonzero):
        reading.check_integer(
            "nonzero", value, 1, 10**9, description="a number of columns", also=", or one for each direction"
        )
    for value in _as_list(penalty):
        also = ", one for each direction, or None or '1se' to have it chosen by folds"
        reading.check_number("penalty", value, 0, also=also)
    return ("penalty", _as_list(penalty)) if nonzero is None else ("nonzero", _as_list(nonzero))


def _as_list(value: Any) -> list[Any]:
    """Return the values of an option as a list; a single value becomes a list of one, None an empty list.

    A str, a mapping and an empty sequence count as a single value, which the validation then rejects.
    """
    if value is None:
        return []
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        # An empty sequence becomes a value of its own, which the validation rejects.
        return list(value) or [value]
    return [value]


def _raise_if_singular(fit: SparseFit, design_rows: DesignRows) -> None:
    """Raise CollinearError if the within-class covariance of the scores is singular.

    The error names the selected columns that do not vary within classes, or all selected ones if each varies.
    """
    if not fit.is_singular():
        return
    used = np.any(fit.coef != 0, axis=1)
    constant = [
        dependency.column
        for dependency in dependencies(fit.moments, diagonal=True)
        if used[dependency.column]
    ]
    if constant:
        does, it = ("does", "it") if len(constant) == 1 else ("do", "them")
        note = reading.separation_note(fit.moments, design_rows.terms)
        hint = (
            "Use lda(covariance=discrim.covariance.Shrunk(1e-6))"
            if note
            else f"Leave {it} out of the formula"
        )
        raise CollinearError(
            f"{reading.join_labels(design_rows.terms[j] for j in constant)} {does} not vary within classes, "
            f"so distances in units of the within-class variation are infinite.{note}",
            hint=f"{hint}.",
            columns=[design_rows.terms[j] for j in constant],
        )
    names = reading.join_labels(design_rows.terms[j] for j in np.flatnonzero(used).tolist())
    raise CollinearError(
        f"A direction of {names} does not vary within classes: these columns separate the classes "
        "completely.",
        hint="Pass a larger penalty= or a smaller nonzero=, or ridge= above 0.",
    )


def _warn_of_no_directions(fit: SparseFit) -> None:
    """Issue an UninformativeFitWarning that the fit lacks directions.

    The reason is that the penalty selects no column or, without a penalty, that the class means are equal.
    """
    reason = f"At penalty {fit.tuning[0]:g} no column is selected"
    hint = "Pass a smaller penalty=, or nonzero="
    if fit.by == "penalty" and not any(fit.tuning):
        reason = "The classes have equal means in all columns, so there is no direction"
        hint = "Use other columns"
    warn_user(
        f"{reason}: the posteriors of every row are the priors, and every row is assigned to the class with "
        f"the largest prior. {hint}.",
        UninformativeFitWarning,
    )


def _read_ncomp(ncomp: int | None, p: int, k: int) -> tuple[int | None, int]:
    """Validate the number of directions.

    Parameters
    ----------
    ncomp : int or None
        Argument of the user; None for all directions.
    p, k : int
        Number of columns and of classes.

    Returns
    -------
    ncomp : int or None
        The argument as an int.
    n_directions : int
        Largest number of directions that are computed: `ncomp`, or min(p, k - 1).

    Raises
    ------
    DataError
        `ncomp` is not an integer from 1 to min(p, k - 1).
    """
    max_directions = min(p, k - 1)
    if ncomp is None:
        return None, max_directions
    if not (reading.is_integer(ncomp) and 1 <= ncomp <= max_directions):
        raise DataError(
            f"ncomp={reading.format_argument(ncomp)} is not valid: {p} columns and {k} classes have "
            f"{max_directions} directions.",
            hint=f"Pass a number from 1 to {max_directions}, or None for all.",
        )
    return int(ncomp), int(ncomp)


def _raise_if_dependent(moments: ClassMoments, design_rows: DesignRows) -> None:
    """Raise CollinearError if the coefficients of all columns are not unique without penalty and ridge.

    They are not unique if the moments have thin scatter, if there are fewer than K + p rows for K classes and
    p columns, or if columns are collinear within classes. A warning is issued if they are nearly collinear.
    """
    p = moments.n_columns
    rows = moments.rows.sum()
    k = moments.n_classes
    if moments.scatter_type == "thin" or rows - k < p:
        raise CollinearError(
            f"{rows} rows in {k} classes do not identify the coefficients of all {p} columns.",
            hint="Pass penalty= above 0, a smaller nonzero=, or ridge= above 0.",
        )
    collinear = dependencies(moments)
    if collinear:
        raise reading.collinear_error(
            collinear, design_rows.terms, alternative="pass penalty= or ridge= above 0"
        )
    reading.warn_of_near_dependencies(moments, design_rows.terms)


def _read_penalty_grid(grid: Any) -> Floats | None:
    """Validate `grid=`; return the distinct penalties in decreasing order, or None for the default.

    Parameters
    ----------
    grid : sequence of float or None
        Candidate penalties.

    Returns
    -------
    (L,) float64 or None
        None if `grid` is None.

    Raises
    ------
    DataError
        The grid is empty, or a penalty is not positive.
    """
    if grid is None:
        return None
    also = ", or None for evenly spaced ones"
    return np.array(reading.check_grid(grid, "penalty to choose from", 0, ends="()", also=also)[::-1])


def _default_penalties(moments: ClassMoments, count: int) -> Floats:
    """Return the default penalties, evenly spaced on a log scale and decreasing.

    The first is the smallest penalty at which no column is selected. The last is `MIN_PENALTY_RATIO` times
    the first, or `MIN_PENALTY_RATIO_WIDE` times if the moments are of fewer rows than columns.

    Parameters
    ----------
    moments : ClassMoments
        Class moments of the rows, of scatter type "pooled" or "thin".
    count : int
        Number of penalties, L.

    Returns
    -------
    (L,) float64
    """
    min_ratio = MIN_PENALTY_RATIO_WIDE if moments.scatter_type == "thin" else MIN_PENALTY_RATIO
    return np.asarray(core.max_path_penalty(moments) * min_ratio ** np.linspace(0, 1, count))


def _choose_penalty(
    design_rows: DesignRows,
    moments: ClassMoments,
    prior: Floats,
    search: GridSearch,
    shared: Mapping[str, Any],
) -> tuple[float, pd.DataFrame, list[SparseFit]]:
    """Choose the penalty, which is the same for all directions, by cross-validation.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Class moments of the rows.
    prior : (K,) float64
        Prior probabilities of the classes, which weight their errors.
    search : GridSearch
        Decreasing candidate penalties, or their number if `grid` is None; folds and rule of the choice.
    shared : mapping
        The arguments `SHARED_ARGUMENTS` of the core.

    Returns
    -------
    penalty : float
        The largest penalty that the rule accepts: of smallest error, or within one standard error of it.
    path : DataFrame
        A row for each penalty, in decreasing order. Columns: penalty, error, se (of held-out rows), columns,
        directions (numbers of selected columns and of directions of the fit to all rows).
    fits : list of SparseFit
        Fits to all rows at the penalties.

    Raises
    ------
    CollinearError
        A direction of a fit to all rows, or to the training set of a fold, does not vary within classes; or,
        in a training set, a class is empty or the total weight is at most the number of classes.
    DataError
        A class has one row, or all test sets are empty.
    """
    penalties: Any = _default_penalties(moments, search.count) if search.grid is None else search.grid
    fits = core.fit_sparse_path(moments, prior, penalties, **shared)
    for fit in fits:
        _raise_if_singular(fit, design_rows)
    raise_if_single_row_classes(moments, design_rows.design.levels, "penalty= or nonzero=")
    k = moments.n_classes
    log_prior = log_of_prior(prior)
    penalties = np.array([fit.tuning[0] for fit in fits])
    training_moments, test_counts = search.folds.training_moments(design_rows, moments.scatter_type)
    wrong = np.zeros((len(penalties), k))
    rows = np.zeros(k)
    with Progress(len(test_counts), "choice of the penalty") as progress:
        for fold, (moments_without, fold_test_counts) in enumerate(
            zip(training_moments, test_counts, strict=True)
        ):
            progress(1)
            refits: list[SparseFit] = []
            columns = np.zeros(0, dtype=np.intp)
            if _has_enough_rows(moments_without):
                refits = core.fit_sparse_path(moments_without, prior, penalties, **shared)
                columns, refits = core.select_used_columns(refits)
            if not refits or any(fit.is_singular() for fit in refits):
                where, more = search.folds.describe_training_rows(fold)
                raise CollinearError(
                    f"{where} a class has no rows, or a direction does not vary within classes.",
                    hint=f"Pass penalty= or nonzero=, a grid= of larger penalties, or {more}.",
                )
            rules = [fit.rule(log_prior) for fit in refits]
            for _, x, codes, row_counts in iterate_test_rows(design_rows, [fold_test_counts]):
                member = np.equal(codes[:, None], np.arange(k)) * row_counts[:, None]
                rows += member.sum(axis=0)
                used = np.ascontiguousarray(x[:, columns])
                wrong += np.stack([best_class(rule.scores(used)) != codes for rule in rules]) @ member
    raise_if_no_test_rows(rows, "penalties")
    path = error_path("penalty", penalties, wrong, rows, prior, sampled=shared["estimated_prior"])
    path["columns"] = [int(fit.selected().any(axis=1).sum()) for fit in fits]
    path["directions"] = [fit.coef.shape[1] for fit in fits]
    return float(search.acceptable_values(path).max()), path, fits


def _has_enough_rows(moments: ClassMoments) -> bool:
    """Return whether each class has a row, and the total weight is above the number of classes."""
    return bool((moments.rows >= 1).all() and moments.total > moments.n_classes)


N_PATH_PENALTIES = 50
"""Number of penalties of a path of coefficients by default."""


class SparseLDAResults(LinearScores, ClassMeans, GroupSummary, ClassifierResults):
    """A fitted sparse discriminant analysis.

    Attributes
    ----------
    means : DataFrame, classes by terms
        Class means.
    coef : DataFrame, terms by classes
        Coefficients of the linear scores; zero for columns that are not selected.
    intercept : Series by class
        Constants of the linear scores, including the log prior: x'coef + intercept is largest for the
        predicted class.
    """

    _fit: FittedModel[SparseFit]

    @property
    def _axis_names(self) -> pd.Index:
        """Names LD1, LD2, ... of the directions; empty if no column is selected."""
        return pd.Index([f"LD{i + 1}" for i in range(self._fit.estimates.coef.shape[1])])

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminant coefficients of the columns in their units, terms by LD1, LD2, ...

        The scores have unit variance within classes (divisor N - K), but may be correlated. In each column of
        the result the largest coefficient, standardized within classes, is positive. Terms that are not
        selected have zeros.
        """
        estimates = self._fit.estimates
        axes = estimates.scaling() * estimates.moments.scale[:, None]
        return pd.DataFrame(axes, index=self.terms, columns=self._axis_names)

    @property
    def standardized(self) -> pd.DataFrame:
        """Coefficients of columns that are divided by their standard deviations over all rows, divisor N.

        Shape: terms by LD1, LD2, ... These are the coefficients that are penalized. They are on the scale
        of the regression on the class scores, and not of discriminant scores with unit variance.
        """
        return pd.DataFrame(self._fit.estimates.coef, index=self.terms, columns=self._axis_names, copy=True)

    @property
    def selected(self) -> pd.Index:
        """Columns that some direction uses, the one with the largest standardized coefficient first."""
        size = np.abs(self._fit.estimates.coef).max(axis=1, initial=0.0)
        order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
        return self.terms[order]

    @property
    def counts_selected(self) -> pd.Series:
        """Number of columns that each direction uses.

        Indexed by LD1, LD2, ...
        """
        counts = self._fit.estimates.selected().sum(axis=0)
        return pd.Series(counts, index=self._axis_names, name="columns")

    @property
    def penalty(self) -> pd.Series:
        """Penalty of each direction, by LD1, LD2, ...; with `nonzero=` the one that selects this number."""
        return pd.Series(self._fit.estimates.penalties, index=self._axis_names, name="penalty", copy=True)

    @property
    def ridge(self) -> float:
        """Ridge parameter: factor of half the sum of the squared standardized coefficients."""
        return self._fit.estimates.ridge

    @property
    @available_if()
    @with_display_formats(se="share", columns="count", directions="count", penalty="general")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors of the candidate penalties, in decreasing order of the penalty.

        Columns: penalty, error (a proportion, classes weighted by the prior), se (its standard error),
        columns and directions (numbers of selected columns and of directions of the fit to all rows).

        Raises
        ------
        NotSupportedError
            The penalty or the number of columns was an option, or the fit was loaded.
        """
        reason = "as the penalty or the number of columns was given, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without penalty= and nonzero= to have a penalty chosen")

    def coefficient_path(self, grid: Sequence[float] | None = None) -> pd.DataFrame:
        """Standardized coefficients along penalties that are the same for all directions.

        Parameters
        ----------
        grid : sequence of float, optional
            Penalties above zero. By default the candidates of the choice, or 50 penalties that are evenly
            spaced on a log scale.

        Returns
        -------
        DataFrame by (penalty, axis), columns by term
            The penalties decrease from row to row; a penalty at which no column is selected is omitted. The
            terms are all that are selected at some penalty.
        """
        penalties, fits = self._penalty_path(grid)
        tables = {
            (penalty, f"LD{r + 1}"): fit.coef[:, r]
            for penalty, fit in zip(penalties.tolist(), fits, strict=True)
            for r in range(fit.coef.shape[1])
        }
        values = np.array(list(tables.values())).reshape(len(tables), len(self.terms))
        used = np.flatnonzero(values.any(axis=0))
        index = pd.MultiIndex.from_tuples(tables, names=["penalty", "axis"]) if tables else None
        return pd.DataFrame(values[:, used], index=index, columns=self.terms[used])

    def _penalty_path(self, grid: Any = None) -> tuple[Floats, list[SparseFit]]:
        """Fit along decreasing penalties; the default path is stored in the cache of the fit.

        Parameters
        ----------
        grid : sequence of float, optional
            Penalties; by default the candidates of the choice, or `N_PATH_PENALTIES` ones.

        Returns
        -------
        penalties : (L,) float64
            The L distinct penalties in decreasing order.
        fits : list of SparseFit
            Fits to all rows at these penalties, with the ridge and `ncomp` of the fit.

        Raises
        ------
        DataError
            `grid` is empty, or a penalty is not above zero.
        """
        fit = self._fit.estimates
        cache = self._fit.cache
        if grid is None and "penalty_path" in cache:
            fits: list[SparseFit] = cache["penalty_path"]
            return np.array([fit_at_penalty.tuning[0] for fit_at_penalty in fits]), fits
        user_penalties = _read_penalty_grid(grid)
        penalties = (
            _default_penalties(fit.moments, N_PATH_PENALTIES) if user_penalties is None else user_penalties
        )
        fits = core.fit_sparse_path(fit.moments, fit.prior, penalties, ridge=fit.ridge, ncomp=fit.ncomp)
        if user_penalties is None:
            cache["penalty_path"] = fits
        return penalties, fits

    @property
    def scores(self) -> pd.DataFrame:
        """Optimal scores of the classes, classes by LD1, LD2, ...

        They are uncorrelated, with mean zero and mean square one over the rows.
        """
        return pd.DataFrame(
            self._fit.estimates.class_scores, index=self.classes, columns=self._axis_names, copy=True
        )

    def _centre(self) -> Floats:
        """Return the prior-weighted mean (p,) of the class means, in the coordinates z of the moments."""
        means = self._fit.estimates.moments.means
        prior = self._fit.prior
        anchor = means[int(np.argmax(prior))]
        return np.asarray(anchor + prior @ (means - anchor))

    def transform(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Discriminant scores LD1, LD2, ... of each row, centred at the prior-weighted mean.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame (rows, axes)
            NaN for a row with a missing value; without columns if no column was selected.
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        origin, _ = gaussian.move_origin(self._fit.estimates.moments, self._centre())
        scaling = self.scaling.to_numpy()
        used = np.flatnonzero(scaling.any(axis=1))
        out = np.empty((len(self._axis_names), design_rows.table.nrows))
        for row_slice, x, _ in design_rows.iter_all_rows():
            missing = np.isnan(x).any(axis=1)
            out[:, row_slice] = scaling[used].T @ (x.T[used] - origin[used, None])
            out[:, row_slice][:, missing] = np.nan
        return pd.DataFrame(out.T, index=design_rows.table.index, columns=self._axis_names)

    def _centroids(self) -> pd.DataFrame:
        """Return the class means of the scores, classes by axes."""
        fit = self._fit.estimates
        scores = (fit.moments.means - self._centre()) @ fit.scaling()
        return pd.DataFrame(scores, index=self.classes, columns=self._axis_names)

    def _scores_within(self) -> pd.DataFrame:
        """Return the within-class correlation matrix of the discriminant scores, axes by axes."""
        root = self._fit.estimates.root()
        norms = np.sqrt((root**2).sum(axis=0))
        names = self._axis_names
        return pd.DataFrame(root.T @ root / norms / norms[:, None], index=names, columns=names)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each direction and selected term, the largest coefficient of a direction first.

        Columns: axis, term, estimate (from `scaling`), estimate_per_sd (from `standardized`).
        """
        rows = []
        scaling = self.scaling.to_numpy()
        coef = self._fit.estimates.coef
        for r, axis in enumerate(self._axis_names):
            order = np.argsort(-np.abs(coef[:, r]), kind="stable")[: int((coef[:, r] != 0).sum())]
            rows += [(axis, self.terms[j], scaling[j, r], coef[j, r]) for j in order.tolist()]
        return pd.DataFrame(rows, columns=["axis", "term", "estimate", "estimate_per_sd"])

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, directions, selected, penalty, ridge.

        selected is the number of selected columns; penalty is of the first direction, NaN without directions.
        """
        penalties = self._fit.estimates.penalties
        row = {
            "directions": len(penalties),
            "selected": len(self.selected),
            "penalty": float(penalties[0]) if len(penalties) else np.nan,
            "ridge": self.ridge,
        }
        return pd.DataFrame([self._sizes() | row])


MAX_RIDGE = 1e100
"""Largest ridge; with larger ones the squared coefficients underflow."""

CHOSEN_FROM_ROWS = NeedsRows(
    "The penalty is chosen from rows and not from moments.", "Pass penalty= or nonzero="
)
"""Message and hint of the error for a choice of the penalty with `moments=`."""


@reading.with_public_errors
def sparse_lda(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    nonzero: int | Sequence[int] | None = None,
    penalty: float | Sequence[float] | Literal["1se"] | None = None,
    ridge: float = 0.0,
    ncomp: int | None = None,
    folds: int | Splits = 10,
    grid: Sequence[float] | None = None,
    n_penalties: int = 50,
    seed: int | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> SparseLDAResults:
    """Sparse discriminant analysis: discriminants that use few of many columns, by sparse optimal scoring.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments. Either penalty or nonzero must
        be given with moments, because a penalty is chosen from rows.
    nonzero : int or sequence of int, optional
        How many columns each direction may use; a sequence has a number for each direction. The penalty is
        then the smallest that selects this number, like `stop=-nonzero` of R's sparseLDA.
    penalty : float, sequence of float, or "1se", optional
        Factor of the sum of the absolute coefficients of standardized columns; zero stands for no penalty. No
        column is selected at a penalty of 1 or more. If neither penalty nor nonzero is passed, the penalty is
        chosen by folds: the penalty with the smallest error and, of equal errors, the larger one. "1se"
        chooses the largest penalty whose error is within one standard error of the smallest error.
    ridge : float
        Factor of half the sum of the squares of these coefficients, up to 1e100; R's sparseLDA has 1e-6.
    ncomp : int, optional
        The largest number of directions.
    folds : int, or iterable of (train, test)
        Number of folds of the choice, or splits as in scikit-learn; see the page on shared arguments.
    grid : sequence of float, optional
        Penalties to try.
    n_penalties : int
        Number of penalties to try if `grid` is None. Their logarithms are evenly spaced, from the penalty
        that selects no column down to a thousandth of it, or to a hundredth if there are fewer rows than
        columns.
    seed : int, optional
        Seed of the random assignment of rows to folds.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    SparseLDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also an option out of
        its range, and a class of one row if the penalty is to be chosen.
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

    with scores that are uncorrelated with the scores of earlier directions (Clemmensen, Hastie, Witten &
    Ersboll, 2011, Technometrics 53, 406-413). Rows are then classified by the linear discriminant analysis of
    their scores z'b, with divisor N - K. For two classes the direction is the lasso regression of codes of
    the classes, which is the method of Mai, Zou & Yuan (2012, Biometrika 99, 29-42; R's TULIP::dsda); its
    penalty equals lambda of glmnet with codes of variance one. Without penalty and ridge the fit equals
    `discrim.lda`.

    R's sparseLDA does not divide by the standard deviation. For columns whose sum of squares is one, as its
    `normalize` makes them, its penalty is 2 sqrt(N) times this one. More than two classes may have several
    minima: the search here descends from the largest penalty in several ways and keeps the least minimum,
    while R's search descends once from scores drawn at random.

    `leave_one_out` keeps the penalty fixed, or the number of columns if it was an option, and needs one fit
    for each row. Folds and bootstrap samples, in `error_rates` and `discrim.cross_validate`, choose the
    penalty again if it was chosen.

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
    reading.check_integer("n_penalties", n_penalties, 2, MAX_GRID_SIZE, description="a number of penalties")
    penalty_candidates = _read_penalty_grid(grid)
    reading.check_number("ridge", ridge, 0, MAX_RIDGE)
    by, values = _read_sparsity(nonzero, penalty)
    sample = Sample("sparse_lda", "pooled", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        design_rows = reading.drop_constant_columns_if_wide(sample.read())
        design_rows, stats = reading.usable_rows(
            design_rows, "thin" if reading.is_wide(design_rows) else "pooled", na_action
        )
    else:
        design_rows, stats = sample.read_moments("pooled", None if values else CHOSEN_FROM_ROWS)
    reading.raise_if_no_within_variance(stats)
    k = stats.n_classes
    ncomp, max_directions = _read_ncomp(ncomp, stats.n_columns, k)
    if len(values) not in (0, 1, max_directions):
        raise DataError(
            f"{by}={values} has the wrong length: {k} classes have {max_directions} "
            f"direction{'s' if max_directions > 1 else ''}.",
            hint="Pass one number for all directions, or one for each.",
        )
    prior_proportions, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    shared: dict[str, Any] = dict(zip(SHARED_ARGUMENTS, (float(ridge), ncomp, estimated), strict=True))
    search = None
    path = None
    cache = {}
    if not values:
        _, select = read_choice(penalty)
        search = GridSearch(
            penalty_candidates, TuningFolds.read(folds, seed, design_rows), select, int(n_penalties)
        )
        penalty, path, fits = _choose_penalty(design_rows, stats, prior_proportions, search, shared)
        values = [penalty]
        cache = {"penalty_path": fits}
    is_dense = any(value == 0 if by == "penalty" else value >= stats.n_columns for value in values)
    if is_dense and not ridge > 0:
        _raise_if_dependent(stats, design_rows)
    tuning = tuple(map(float, values)) * (max_directions if len(values) == 1 else 1)
    fit = core.fit_sparse(stats, prior_proportions, by=by, tuning=tuning, **shared)
    _raise_if_singular(fit, design_rows)
    if not fit.coef.shape[1]:
        _warn_of_no_directions(fit)
    fitted = SparseLDASpec(search).fit(
        fit, design_rows, options, has_rows=sample.has_rows, path=path, cache=cache
    )
    return SparseLDAResults(fitted)


@dataclass(frozen=True, eq=False)
class SparseLDASpec(ModelSpec[SparseFit]):
    """Sparse discriminant analysis: how it is refitted, scored and saved.

    Parameters
    ----------
    search : GridSearch, optional
        How refits choose the penalty again by cross-validation; None if the penalty or the number of columns
        was an option.
    """

    name = "sparse_lda"
    title = "Sparse discriminant analysis"
    results_class = SparseLDAResults
    refit_failure = (
        "a direction does not vary within classes, or the penalty is chosen and a class has one row",
        "a penalty= or nonzero= that is given",
    )
    chosen_options = MappingProxyType({"penalty": "penalty"})
    search_options = (*FOLD_OPTIONS, "n_penalties")
    constructor = SparseFit
    # As with a shrunk covariance, there may be more columns than rows, or collinear columns.
    allows_few_rows = True

    search: GridSearch | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `sparse_lda_sections` and `sparse_lda_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return sparse_lda_sections, sparse_lda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "scores", "choice", "path" and "territory".
        """
        from discrim.models.projections.plots import SPARSE_LDA_PLOTS

        return SPARSE_LDA_PLOTS

    def required_moments(self, fit: FittedModel[SparseFit]) -> ScatterType | None:
        """Return "pooled" or "thin", the scatter type of the fit; None if a refit chooses the penalty again.

        None means that the refit needs the rows.
        """
        return super().required_moments(fit) if self.search is None else None

    def choice_description(self, fit: FittedModel[SparseFit]) -> str:
        """Return "the penalty" if it was chosen from the rows, otherwise ""."""
        return "" if self.search is None else "the penalty"

    def refit(self, fit: FittedModel[SparseFit], rows: DesignRows, *, fixed: bool = False) -> Rule | None:
        """Return the rule of a refit to rows, like `ModelSpec.refit`.

        With a fixed penalty the moments of the refit show which columns it can use.
        """
        return self.refit_with_fixed(fit, rows) if fixed else super().refit(fit, rows)

    def refit_to_rows(self, fit: FittedModel[SparseFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that chooses the penalty again if it was chosen, else keeps it.

        The prior and the ridge of the fit are kept. None if a class is empty, the total weight is at most the
        number of classes, a direction does not vary within classes, or the penalty cannot be chosen.
        """
        if self.search is None:
            return self.refit_with_fixed(fit, rows)
        estimates = fit.estimates
        moments = reading.class_moments(rows, estimates.moments.scatter_type)
        if not _has_enough_rows(moments):
            return None
        shared: dict[str, Any] = {name: getattr(estimates, name) for name in SHARED_ARGUMENTS}
        max_directions = min(moments.n_classes - 1, moments.n_columns)
        if estimates.ncomp is not None:
            shared["ncomp"] = max_directions = min(estimates.ncomp, moments.n_columns)
        try:
            penalty, _, _ = _choose_penalty(rows, moments, estimates.prior, self.search, shared)
        except (CollinearError, DataError):
            return None
        refit = core.fit_sparse(
            moments, estimates.prior, by="penalty", tuning=(penalty,) * max_directions, **shared
        )
        return None if refit.is_singular() else refit.rule(fit.log_prior())

    def leave_one_out(self, fit: FittedModel[SparseFit]) -> LeaveOneOutScorer:
        """Return a function whose scores are NaN, so that the caller refits without each row.

        NotSupportedError is raised for more than 2,000 rows (`MAX_REFITS`).
        """
        return refit_scorer(fit, "takes a fit for each row")

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of k classes and p columns, by name; -1 is any length.

        The names are "class_scores", "coef", "sd" and "penalties".
        """
        return {"class_scores": (k, -1), "coef": (p, -1), "sd": (p,), "penalties": (-1,)}


MAX_COLUMNS_BRIEF = 10
"""Largest number of selected columns that the short summary shows."""

MAX_COLUMNS = 30
"""Largest number of selected columns that the summary shows."""


def sparse_lda_sections(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes", "directions", "path" and "selected"; each function accepts `results`
    and `fit` and returns a section. "path" is left out if the fit does not store the errors of a choice.
    """
    section_builders: Sections = {
        "header": _header_section,
        "classes": headers.classes_section,
        "directions": _directions_section,
    }
    section_builders |= {"path": _path_section, "selected": _selected_section}
    if fit.path is None:
        del section_builders["path"]
    return section_builders


def _header_section(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Pairs:
    """Return the header of the summary: rows, selected columns, directions, choice, ridge and apparent error.

    The leave-one-out error is not included, because it needs a fit for each row.
    """
    estimates = fit.estimates
    by = "penalty" if estimates.by == "penalty" else "number of columns"
    chosen = "not in the file" if fit.is_loaded else f"{by} given"
    if fit.path is not None:
        search = fit.spec.search
        chosen = f"{search.folds.description}, {'one SE' if search.select == '1se' else 'least error'}"
    n_selected = len(results.selected)
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem(
            "Columns selected",
            n_selected,
            f"{n_selected} of {len(results.terms)}",
            brief="columns selected",
            options=("select",),
        ),
        HeaderItem(
            "Directions",
            len(estimates.penalties),
            f"{len(estimates.penalties)} of {estimates.max_directions}",
        ),
        HeaderItem("Chosen by", chosen, key="chosen_by", brief="chosen by" if fit.path is not None else ""),
        HeaderItem("Ridge", estimates.ridge, f"{estimates.ridge:.4g}"),
        HeaderItem("Covariance of scores", "pooled, 1/(N-K)"),
        *headers.size_items(fit),
        headers.prior_item(fit),
        headers.error_item(fit, "apparent"),
    ]
    note = "" if n_selected else "No column is selected, so each posterior equals the prior. "
    return headers.header(fit, items, f"{note}{headers.fixed_choice_note(fit)}".strip())


def _directions_section(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Section:
    """Return the section of the directions, which are its rows: penalty, columns and a column for each class.

    The columns of the classes have the class means of the scores.
    """
    penalty, columns = (make_unique_name(word, results.classes) for word in ("penalty", "columns"))
    table = pd.DataFrame({penalty: results.penalty, columns: results.counts_selected})
    means = results._centroids().T.rename_axis(columns=None)
    table = pd.concat([table, means], axis=1).rename_axis(index=None)
    formats: dict[Any, Any] = {penalty: "general", columns: "count"}
    return Section(
        "Directions, with the class means on them",
        table,
        formats,
        note="The variance within classes is one, and zero is the prior-weighted mean.",
        source="fit.penalty, fit.counts_selected",
    )


def _path_section(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Section:
    """Return the section of error, se, columns and directions by penalty; "*" marks the chosen penalty.

    A path of more than `headers.MAX_PATH_LINES` penalties is thinned.
    """
    table = headers.path_table(results.path, fit.estimates.tuning[0])
    formats: dict[Any, Any] = {
        "error": "share", "se": "share", "columns": "count", "directions": "count", "chosen": "text",
    }  # fmt: skip
    return Section(
        "Cross-validated error by penalty", table, formats, headings=SHARED_HEADINGS, source="fit.path"
    )


def _selected_section(
    results: SparseLDAResults, fit: FittedModel[SparseFit], max_columns: int = MAX_COLUMNS
) -> Section:
    """Return the section of the standardized coefficients of the selected columns.

    Parameters
    ----------
    results : SparseLDAResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    max_columns : int
        Largest number of columns to show; a note contains the number of the others.

    Returns
    -------
    Section
        Selected columns by LD1, LD2, ...; without rows, and with a note, if no column is selected.
    """
    selected_names = results.selected
    n_more = len(selected_names) - max_columns
    # Select by position, because column names may be of any type.
    positions = results.terms.get_indexer(selected_names[:max_columns])
    table = results.standardized.iloc[positions].rename_axis(index=None, columns=None)
    more = f" And {n_more} more: fit.standardized." if n_more > 0 else ""
    note = (
        f"The largest come first. Each is for a column divided by its standard deviation over all rows.{more}"
    )
    return Section(
        "Coefficients of the columns selected",
        table,
        note=note if len(selected_names) else "No column is selected at this penalty.",
        shared=True,
        source="fit.standardized, fit.scaling",
    )


sparse_lda_brief: Sections = {
    "classes": headers.classes_section,
    "selected": partial(_selected_section, max_columns=MAX_COLUMNS_BRIEF),
}
"""Sections of the short summary: classes, and the first selected columns."""
