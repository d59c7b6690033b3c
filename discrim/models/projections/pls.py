"""Discriminant analysis by partial least squares: few directions that covary with the classes.

Folds may choose how many there are. An engine, a regression of the user's own such as scikit-learn's
PLSRegression, may find them. Permutations test whether rows left out are predicted better than with shuffled
labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments, standard_columns
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.projections import pls as core
from discrim.core.projections.pls import Decides, Indicators, Latent, PLSFit
from discrim.core.rules.rules import Rule, best_class, logs_of_prior
from discrim.core.scatter.by_estimator import copied
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.levels import Unseen
from discrim.frame.rows import repeated, weighted_rows
from discrim.inference import resampling
from discrim.inference.result import TestResult
from discrim.models.fits import reading
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Gaps, Model, as_scored, posterior_frame
from discrim.models.fits.reading import Data, NaAction, Prior, SelectRule
from discrim.models.fits.refits import (
    error_path,
    held_path,
    left_out_by_refits,
    moment_refits,
    text_of,
    verb_options,
)
from discrim.models.judging import validation
from discrim.models.judging.validation import GridSearch, Splits, TuningFolds
from discrim.models.moments.given import Sample
from discrim.models.moments.moments import Moments
from discrim.models.results.geometry import GroupSummary, LinearGeometry
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.models.saving.fit_file import Saved

BUFFERS = ("weights", "loadings", "rotations")
"""What a file has of the components of an engine."""

SHARED = ("scale", "indicators", "decides", "estimated_prior")
"""Arguments of core's `fit_pls` that every refit has of the fit."""

MODEL = Model(
    "pls",
    "Partial least squares discriminant analysis",
    likelihood_of="none",
    no_fit=("a class has no row, or fewer components are left", "fewer components"),
    scores_left_out=4,
)
WITHOUT_POSTERIORS = replace(
    MODEL,
    prior_without="none",
    instead='see predict_indicators() and decision_function(), or pass rule="lda"',
    decision=as_scored,
)
"""By rules that are not linear discriminant analysis."""


def pls_fit(
    numbers: PLSFit,
    blocks: Blocks,
    options: Mapping[str, Any],
    *,
    has_rows: bool = True,
    search: GridSearch | None = None,
    path: pd.DataFrame | None = None,
) -> Fit[PLSFit]:
    """Partial least squares as one value; `search` and `path` are those of a choice of components."""
    refits = moment_refits(numbers.moments.spread)
    if search is not None:
        rule = partial(_chosen_rule, search)
        refits = replace(refits, spread=None, of_rows=rule, choice="the number of components")
    if options["engine"] is not None:
        by_engine = partial(_engine_rule, options["engine"])
        left_out = partial(left_out_by_refits, takes="takes a fit of the engine a row")
        refits = replace(refits, spread=None, of_rows=by_engine, held=by_engine, left_out=left_out)
    model = MODEL if numbers.decides == "lda" else WITHOUT_POSTERIORS
    return Fit(model, numbers, blocks, numbers.prior, refits, options, has_rows, path)


def _chosen_rule(search: GridSearch, fit: Fit[PLSFit], blocks: Blocks) -> Rule | None:
    moments = _enough_moments(fit, blocks)
    refit = None if moments is None else fit.numbers.refit_up_to(moments, max(_component_grid(search)))
    if refit is None:
        return None
    try:
        refit, _ = _choose_components(blocks, refit, search)
    except (CollinearError, DataError):
        return None
    return refit.rule(fit.log_prior())


def _engine_rule(engine: Any, fit: Fit[PLSFit], blocks: Blocks) -> Rule | None:
    numbers, moments = fit.numbers, _enough_moments(fit, blocks)
    if moments is None:
        return None
    shared = {name: getattr(numbers, name) for name in SHARED}
    try:
        refit = _engine_fit(engine, blocks, moments, numbers.prior, numbers.components, **shared)
    except (CollinearError, DataError):
        return None
    return refit.rule(fit.log_prior())


def _enough_moments(fit: Fit[PLSFit], blocks: Blocks) -> ClassMoments | None:
    """Moments of rows; None where a class has none, or there are no more rows than classes."""
    moments = reading.class_moments(blocks, fit.numbers.moments.spread)
    return moments if (moments.rows >= 1).all() and moments.total > moments.n_classes else None


def _from_file(moments: ClassMoments, prior: Floats, *, components: int, **options: Any) -> PLSFit:
    """The fit that a file's moments are of."""
    for name, words in (
        ("algorithm", ("nipals", "simpls", "engine")),
        ("decides", Decides),
        ("indicators", Indicators),
    ):
        reading.check_word(name, options[name], words)
    reading.refuse_no_spread(moments)
    latent = [options.pop(name, None) for name in BUFFERS]
    engine = None
    if options["algorithm"] == "engine":
        if any(each is None or each.shape[1] != components or not each.any(axis=0).all() for each in latent):
            raise DataError(
                f"The {components} components that an engine has found are not there: save the fit again."
            )
        engine = partial(_as_latent, latent)
    fit = core.fit_pls(moments, prior, components=components, engine=engine, **options)
    _refuse_few(fit, components)
    return fit


def _as_latent(matrices: list[Any], a: Floats, b: Floats) -> Latent:
    """Components that an engine has found, as numbers of core's own."""
    return core.latent_of(a, b, *matrices)


def _buffers(fit: PLSFit) -> dict[str, Floats]:
    """The components of an engine, which do not follow from the moments."""
    return {name: getattr(fit.latent, name) for name in BUFFERS} if fit.algorithm == "engine" else {}


SAVED = Saved(
    {
        "components": (int,),
        "algorithm": (str,),
        "scale": (bool,),
        "indicators": (str,),
        "decides": (str,),
        "estimated_prior": (bool,),
    },
    "pooled",
    _from_file,
    pls_fit,
    _buffers,
    optional=lambda k, p: dict.fromkeys(BUFFERS, (p, -1)),
    constant=True,
    structure="pinv",
    singular=True,
)


class PLSResults(LinearGeometry, ClassMeans, GroupSummary, ClassifierResults):
    """A fit of partial least squares.

    Attributes
    ----------
    ncomp : int
        Number of components.
    path : DataFrame
        The errors of a choice by cross-validation: components, error, se, R2X, R2, Q2.
    weights, loadings, rotations : DataFrame, terms by PLS1, PLS2, ...
        They belong to the columns after centring and, with `scale=True`, division by their standard
        deviations. The scores are these columns times the rotations, and the loadings are the slopes of the
        columns on the scores. In each component the largest weight in absolute value is positive.
    y_loadings : DataFrame, classes by PLS1, PLS2, ...
        Slopes of the indicators on the scores, where the indicators are divided by their standard deviations
        if they are scaled.
    centroids : DataFrame, classes by PLS1, PLS2, ...
        Mean scores of the classes.
    score_covariance : DataFrame, PLS1, PLS2, ... by the same
        Covariance of the scores within classes, divisor N - K.
    coef : DataFrame, terms by classes
        Coefficients of the indicators. They sum to zero over the classes.
    intercept : Series by class
        Constants of the indicators: x'coef + intercept is the fitted indicator. They sum to one over the
        classes.
    explained : Series by PLS1, PLS2, ...
        Share of the sum of squares of the columns that each component explains.
    means : DataFrame, classes by terms
        Class means.
    sd : Series by term
        Standard deviations over all rows (divisor N - 1), or ones where the columns are not scaled.
    """

    _fit: Fit[PLSFit]

    def __init__(self, fit: Fit[PLSFit]) -> None:
        super().__init__(fit)
        self.ncomp = fit.numbers.components
        self._names = pd.Index([f"PLS{i + 1}" for i in range(self.ncomp)])

    @property
    @displayed(se="share", R2X="share", Q2="share")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors, R2 and Q2 of the numbers of components that were tried; see `q2`.

        Raises
        ------
        NotSupportedError
            The number was given, or the fit was loaded.
        """
        why = "as the number of components was given, or the fit was loaded"
        return held_path(self._fit, why, "fit without ncomp= to have it chosen, or see q2()")

    @displayed(se="share", R2X="share", Q2="share")
    def q2(self, folds: int | Splits = 10, seed: int | None = None) -> pd.DataFrame:
        """How much of the indicators the components explain, and how much of rows left out they predict.

        Parameters
        ----------
        folds : int, or iterable of (train, test)
            Number of folds, or splits as in scikit-learn, which are positions of rows of the table, as
            `discrim.pls` takes them.
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.

        Returns
        -------
        DataFrame
            One row for one component, one for two, and so on: components; error and se, the cross-validated
            error of the rule; R2X and R2, the shares of the squares of the columns and of the indicators that
            are explained; and Q2 = 1 - PRESS / SS. PRESS is the sum of squares of the indicators less what
            the fit without their fold predicts, and SS that of the indicators about their means. Q2 may be
            negative.

        Raises
        ------
        DataError
            There are too few rows for the folds, or a class has one row; or `folds` are no splits of the
            table's rows.
        CollinearError
            Among the rows to learn from a class is gone, or scores do not vary within classes.
        NotSupportedError
            The fit was loaded and has no rows.
        """
        blocks = self._fit.rows("q2()")
        self._refuse_engine("q2()")
        return _tried_components(blocks, self._fit.numbers, TuningFolds.read(folds, seed, blocks))

    def permutation_test(self, n: int = 999, folds: int = 10, seed: int | None = None) -> TestResult:
        """Permutation test that rows left out are predicted better than with shuffled labels.

        Parameters
        ----------
        n : int
            How often the labels are shuffled.
        folds : int
            Number of folds.
        seed : int, optional
            Seed that deals the rows to folds and shuffles the labels.

        Returns
        -------
        TestResult
            `statistic` is Q2 with all components of the fit. Its folds are dealt without regard to the
            classes, so that it differs a little from that of `q2`. `pvalue` is (1 + b) / (1 + n), where b
            counts the shuffles with a Q2 at least as large. `table` has the same for R2 too. The number of
            components is held: where the same rows chose it, p is a little too small.

        Raises
        ------
        DataError
            The number of permutations cannot be used, or there are too few rows for the folds.
        NotSupportedError
            The weights are not whole numbers; or the fit was loaded and has no rows.

        Examples
        --------
        >>> from discrim import pls
        >>> from discrim.datasets import load_iris
        >>> fit = pls("species ~ .", load_iris(), ncomp=2)
        >>> test = fit.permutation_test(n=99, seed=1)
        >>> round(test.statistic, 2), test.pvalue
        (0.54, 0.01)
        """
        self._refuse_engine("permutation_test()")
        return _permutation_test(self._fit, n, folds, seed)

    def _refuse_engine(self, what: str) -> None:
        if self._fit.numbers.algorithm == "engine":
            raise NotSupportedError(
                f"{what} finds components many times, and only by our own algorithms: fit without "
                'engine=, or see error_rates(["cv"]).'
            )

    @property
    def sd(self) -> pd.Series:
        """Standard deviations by which the columns are divided."""
        numbers = self._fit.numbers
        sd = numbers.unit / numbers.moments.scale if numbers.scale else np.ones(len(self.terms))
        return pd.Series(sd, index=self.terms, name="sd")

    @property
    def weights(self) -> pd.DataFrame:
        """Weights of the columns, after the earlier components have been removed from these."""
        return pd.DataFrame(
            self._fit.numbers.latent.weights, index=self.terms, columns=self._names, copy=True
        )

    @property
    def loadings(self) -> pd.DataFrame:
        """Slopes of the columns on the scores."""
        return pd.DataFrame(
            self._fit.numbers.latent.loadings, index=self.terms, columns=self._names, copy=True
        )

    @property
    def rotations(self) -> pd.DataFrame:
        """Coefficients by which the columns are multiplied to give the scores."""
        return pd.DataFrame(
            self._fit.numbers.latent.rotations, index=self.terms, columns=self._names, copy=True
        )

    @property
    def y_loadings(self) -> pd.DataFrame:
        """Slopes of the indicators on the scores."""
        numbers = self._fit.numbers
        slopes = numbers.latent.y_loadings / numbers.reach
        return pd.DataFrame(slopes, index=self.classes, columns=self._names)

    @property
    def centroids(self) -> pd.DataFrame:
        """Mean scores of the classes."""
        numbers = self._fit.numbers
        return pd.DataFrame(numbers.centroids * numbers.reach, index=self.classes, columns=self._names)

    @property
    def score_covariance(self) -> pd.DataFrame:
        """Covariance of the scores within classes, divisor N - K."""
        numbers = self._fit.numbers
        root = numbers.within * (numbers.reach / np.sqrt(numbers.residual_df))
        return pd.DataFrame(root.T @ root, index=self._names, columns=self._names)

    def _centroids(self) -> pd.DataFrame:
        return self.centroids

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the regression of the indicators."""
        return pd.DataFrame(self._fit.numbers.regression()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Fitted indicators at zero."""
        return pd.Series(self._fit.numbers.regression()[1], index=self.classes, name="constant")

    @property
    def explained(self) -> pd.Series:
        """Share of the columns' sum of squares that each component explains."""
        return pd.Series(self._fit.numbers.latent.explained()[0], index=self._names, name="explained")

    @displayed(every="share")
    def r2(self) -> pd.DataFrame:
        """Shares of the squares of columns (x) and indicators (y) that components explain, and their sums."""
        x, y = self._fit.numbers.latent.explained()
        columns = {"x": x, "y": y, "x_cumulative": x.cumsum(), "y_cumulative": y.cumsum()}
        return pd.DataFrame(columns, index=self._names)

    def vip(self, ncomp: int | None = None) -> pd.Series:
        """Importance of the columns in the projection, Wold's VIP, the largest first.

        Parameters
        ----------
        ncomp : int, optional
            Number of components to take into account; by default all of the fit.

        Returns
        -------
        Series by term
            sqrt(p sum_a s_a w_ja^2 / sum_a s_a), where s_a are the squares of the indicators that component a
            explains. The mean of its squares is one, so that a column above one counts for more than average.

        Raises
        ------
        DataError
            There is no such number of components.
        """
        most = self.ncomp
        if ncomp is not None:
            reading.check_whole("ncomp", ncomp, 1, most, what="a number of components")
        values = self._fit.numbers.latent.importance()[:, (ncomp or most) - 1]
        order = np.argsort(-values, kind="stable")
        return pd.Series(values[order], index=self.terms[order], name="vip")

    def transform(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Scores PLS1, PLS2, ... of each row; they are missing for a row with a missing value.

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
        DataFrame (rows, components)
        """
        numbers = self._fit.numbers
        blocks = self._fit.new_rows(data, Gaps(unseen))
        out = np.empty((blocks.table.nrows, self.ncomp))
        for place, x, _ in blocks.every_row():
            out[place] = numbers.transform(x) * numbers.reach
        return pd.DataFrame(out, index=blocks.table.index, columns=self._names)

    def predict_indicators(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Fitted indicators of rows, new ones or those of the fit; each row sums to one.

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
        DataFrame, rows by classes
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        return posterior_frame(blocks, self._fit.numbers.fitted_rule(), self.classes, np.asarray)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each term and component: weight, loading and rotation."""
        index = pd.MultiIndex.from_product([self.terms, self._names], names=["term", "component"])
        latent = self._fit.numbers.latent
        columns = {"weight": latent.weights, "loading": latent.loadings, "rotation": latent.rotations}
        flat = {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(flat, index=index).reset_index()

    @displayed(R2X="share")
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        x, y = self._fit.numbers.latent.explained()
        row = self._sizes() | {"components": self.ncomp, "R2X": x.sum(), "R2": y.sum()}
        return pd.DataFrame([row])

    def _augmented(self, gaps: Gaps, data: Any) -> pd.DataFrame:
        """The table with each row's label, and its posteriors, or by other rules its values."""
        if not self._fit.model.instead:
            return super()._augmented(gaps, data)
        rows = self._fit.new_rows(data, gaps)
        values = posterior_frame(rows, self._fit.rule(), self.classes, np.asarray)
        return self._fit.augmented(rows, values, "score")


CHOSEN_FROM_ROWS = "Components are chosen by the rows and not by their moments: give ncomp="

FROM_ROWS = "An engine is fitted to rows and not to their moments: leave engine= out"


@reading.with_ways_out
def pls(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    ncomp: int | None = None,
    rule: Decides = "lda",
    scale: bool = True,
    indicators: Indicators = "scaled",
    algorithm: Literal["nipals", "simpls"] = "nipals",
    engine: Any = None,
    folds: int | Splits = 10,
    select: SelectRule = "min",
    grid: Sequence[int] | None = None,
    seed: int | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> PLSResults:
    """Discriminant analysis by partial least squares (PLS-DA).

    The indicators of the classes are regressed on a few scores, each the combination of columns that covaries
    most with the classes. The columns may be collinear, and far more than the rows.

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
        and data. The fit then has no rows, and methods that need rows take them as `data=`. The number of
        ncomp must be given with moments, because it is chosen from rows.
    ncomp : int, optional
        Number of components. It is chosen by cross-validation where it is not given.
    rule : {"lda", "max", "centroid"}
        How a row gets its class. "lda" is the linear discriminant analysis of the scores, which has
        posteriors. "max" takes the largest fitted indicator, as mixOmics' "max.dist", and "centroid" the
        nearest centroid of the scores, as its "centroids.dist".
    scale : bool
        Whether the columns are divided by their standard deviations over all rows (divisor N - 1).
    indicators : {"scaled", "centred"}
        "scaled" divides the indicators of the classes by their standard deviations, which gives small classes
        as much weight as large ones; scikit-learn, mixOmics and mdatools do so where they scale. "centred"
        does not, as R's pls. For two classes it makes no difference.
    algorithm : {"nipals", "simpls"}
        How the columns are deflated; see the Notes of `discrim.pls`.
    engine : object, optional
        A regression that finds the components instead, such as scikit-learn's `PLSRegression()`. A copy of it
        is fitted to the columns and indicators, centred and scaled as said here, and must then have
        `x_weights_`, `x_loadings_` and `x_rotations_`. With ncomp=None it has as many components as it
        was made with. The fit then needs the rows in memory, and each refit fits the engine once.
    folds : int, or iterable of (train, test)
        Number of folds by which the choice is made. Or splits as in scikit-learn, which are positions of rows
        of the table; methods that judge the fit by folds then choose anew on the same splits, without the
        rows of the fold.
    select : {"min", "1se"}
        "min" takes the fewest components of least error. "1se" takes the fewest whose error is within one
        standard error of it.
    grid : sequence of int, optional
        Numbers of components to try; by default 1 to 10, or to as many as there are.
    seed : int, optional
        Seed by which the rows are dealt to folds. Without it each call deals them differently.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows. Only rule="lda"
        has a prior.
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

    Returns
    -------
    PLSResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also more components
        than there are, an empty grid, too few rows for the folds, and a class of one row where components are
        to be chosen.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The scores do not vary within classes, so that rule="lda" has no covariance of them.

    Notes
    -----
    "nipals" is PLS2 by Wold's algorithm with X deflated, and gives the numbers of scikit-learn's
    PLSRegression and of R's pls (oscorespls, kernelpls). "simpls" is de Jong's algorithm, that of mdatools
    and R's simpls. For two classes both are the same. In each component the largest weight in absolute value
    is positive.

    Programs differ in the rule as well. mixOmics offers three and recommends "max.dist"; mdatools gives a row
    every class whose fitted indicator (of -1 and 1) is above 0; SIMCA cuts fitted indicators at 0.5. The
    largest fitted indicator masks a class that lies between others, as `discrim.indicator` does, and fitted
    indicators are no probabilities. The linear discriminant analysis of the scores does not mask, has
    posteriors, and takes a prior. With as many components as columns it is `discrim.lda`, and "max" is
    `discrim.indicator`. See Barker & Rayens (2003), Journal of Chemometrics 17, 166-173; Brereton & Lloyd
    (2014), Journal of Chemometrics 28, 213-225.

    `leave_one_out` holds the number of components. Folds and bootstrap samples, in `error_rates` and
    `discrim.cross_validate`, choose it anew where it was chosen. Everything else is computed from the rows
    that are left.

    Examples
    --------
    >>> from discrim import pls
    >>> from discrim.datasets import load_wine
    >>> fit = pls("cultivar ~ .", load_wine(), ncomp=2)
    >>> fit.confusion().to_numpy().tolist()
    [[48, 0, 0], [0, 59, 0], [1, 2, 68]]
    >>> fit.vip().head(3).round(3).to_dict()
    {'alcohol': 1.417, 'proline': 1.361, 'color_intensity': 1.359}
    """
    options = verb_options(locals())
    if ncomp is not None:
        reading.check_whole("ncomp", ncomp, 1, what="a number", also=", or None to have it chosen")
    reading.check_word("rule", rule, Decides)
    reading.check_flag("scale", scale)
    reading.check_word("indicators", indicators, Indicators)
    reading.check_word("algorithm", algorithm, ("nipals", "simpls"))
    reading.check_word("select", select, SelectRule)
    if not reading.is_proportional(prior) and rule != "lda":
        raise DataError(f'prior= has no part in rule="{rule}": leave it out, or pass rule="lda".')
    sample = Sample("pls", "pooled", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        blocks = sample.read()
        blocks, stats = reading.usable_rows(
            blocks, "thin" if reading.is_wide(blocks) else "pooled", na_action
        )
    else:
        why = CHOSEN_FROM_ROWS if ncomp is None else ""
        blocks, stats = sample.of_moments("pooled", why if engine is None else FROM_ROWS)
    reading.refuse_no_spread(stats)
    shares, estimated = reading.verbs_prior(prior, blocks.design.levels, stats.counts)
    shared: dict[str, Any] = dict(zip(SHARED, (bool(scale), indicators, rule, estimated), strict=True))
    path = search = None
    if engine is not None:
        fit = _engine_fit(engine, blocks, stats, shares, _components_of(engine, ncomp), **shared)
    elif ncomp is None:
        search = GridSearch(grid, TuningFolds.read(folds, seed, blocks), select)
        most = max(_component_grid(search))
        fit = core.fit_pls(stats, shares, components=most, algorithm=algorithm, **shared)
        fit, path = _choose_components(blocks, fit, search)
    else:
        fit = core.fit_pls(stats, shares, components=int(ncomp), algorithm=algorithm, **shared)
        _refuse_few(fit, int(ncomp))
    return PLSResults(pls_fit(fit, blocks, options, has_rows=sample.has_rows, search=search, path=path))


USUAL = 10
"""Components up to which are tried where no others are given."""


def _component_grid(search: GridSearch, most: int = USUAL) -> list[int]:
    """The numbers of components to try, in increasing order; a DataError where there is none."""
    if search.grid is None:
        return list(range(1, most + 1))
    what, also = "numbers of components", f", or None for 1 to {USUAL}"
    return reading.check_grid(search.grid, "number of components", 1, whole=True, what=what, also=also)


def _choose_components(blocks: Blocks, fit: PLSFit, search: GridSearch) -> tuple[PLSFit, pd.DataFrame]:
    """Of a fit with as many components as are tried that with the fewest that are good, and the path."""
    _refuse_few(fit, 1)
    able = fit.components if fit.decides != "lda" else fit.spread_components()
    fit = fit.with_components(max(able, 1))
    _refuse_few(fit, 1)
    path = _tried_components(blocks, fit, search.folds)
    tried = path[path["components"].isin(_component_grid(search, len(path)))].reset_index(drop=True)
    if not len(tried):
        raise DataError(
            f"grid={reading.listed(search.grid)}: the rows outside each fold have {len(path)} components at "
            "most: give such numbers."
        )
    return fit.with_components(int(search.good(tried).min())), tried


def _refuse_few(fit: PLSFit, wanted: int) -> None:
    """Raise where there are fewer components than are wanted, or their scores do not vary within classes."""
    if not fit.components:
        raise DataError(
            "The class means do not differ in any column, so that there is no component: name columns whose "
            "means differ in the formula."
        )
    if fit.components < wanted:
        raise DataError(
            f"ncomp={reading.told(wanted)}: these rows have {fit.components}, beyond which nothing of "
            f"the columns covaries with the classes. Give ncomp={fit.components} or fewer, or None to "
            "have it chosen."
        )
    able = fit.spread_components()
    if fit.decides == "lda" and able < wanted:
        raise CollinearError(
            f"Within classes the scores of {wanted} components vary along {able} directions only, so that "
            'linear discriminant analysis of them has no covariance. Pass rule="max" or "centroid"; '
            f'rule="lda" takes ncomp={able} here at most.'
        )


def _tried_components(blocks: Blocks, fit: PLSFit, folds: TuningFolds) -> pd.DataFrame:
    """What the components of a fit explain, and predict of rows left out: components, error, se, R2X, R2, Q2.

    Errors are those of `error_rates(["cv"])` of a fit with as many components given, with the same folds and
    seed, or of the splits given.
    """
    validation.refuse_lone_classes(fit.moments, blocks.design.levels, "ncomp=")
    moments, judged = folds.training_moments(blocks, fit.moments.spread)
    parts = [_refitted(fit, part, folds, fold) for fold, part in enumerate(moments)]
    most = min(part.components for part in parts)
    wrong, rows, q2 = _judged(blocks, fit, [part.with_components(most) for part in parts], judged)
    validation.refuse_none_judged(rows, "components")
    tried, sampled = np.arange(1, most + 1), fit.estimated_prior
    path = error_path("components", tried, wrong, rows, fit.prior, sampled=sampled)
    x, y = fit.latent.explained()
    path["R2X"], path["R2"], path["Q2"] = x[:most].cumsum(), y[:most].cumsum(), q2
    return path


def _refitted(fit: PLSFit, moments: ClassMoments, folds: TuningFolds, fold: int) -> PLSFit:
    """The fit to the rows that a fold leaves, with as many components as there are, or as the fit has."""
    enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
    part = fit.refit_up_to(moments, fit.components) if enough else None
    if part is None:
        where, more = folds.training_rows(fold)
        raise CollinearError(
            f"{where} a class is gone, or the scores do not vary within classes: give ncomp=, or {more}."
        )
    return part


def _judged(
    blocks: Blocks, fit: PLSFit, parts: list[PLSFit], judged: list[Floats]
) -> tuple[Floats, Floats, Floats]:
    """Of rows left out those of each class that are called another one (A, K), all (K,), and Q2 (A,).

    A are the numbers of components. Q2 is one less the squares of what is not fitted to the indicators over
    those of the indicators about their means over all rows of the fit.
    """
    k, most = fit.moments.n_classes, parts[0].components
    log_prior, shares, sizes = logs_of_prior(fit.prior), fit.shares, fit.sizes
    wrong, rows, press, total = np.zeros((most, k)), np.zeros(k), np.zeros(most), 0.0
    with late_bar(blocks.table.nrows * len(parts), "choice of components") as tell:
        for fold, x, codes, times in validation.judged_rows(blocks, judged, tell):
            indicators = np.equal(codes[:, None], np.arange(k))
            member = indicators * times[:, None]
            rows += member.sum(axis=0)
            total += float(times @ (((indicators - shares) / sizes) ** 2).sum(axis=1))
            for j, (scores, fitted) in enumerate(parts[fold].along(x, log_prior)):
                wrong[j] += (best_class(scores) != codes) @ member
                press[j] += times @ (((indicators - fitted) / sizes) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return wrong, rows, 1.0 - press / total


FITTED = ("x_weights_", "x_loadings_", "x_rotations_")
"""What a fitted engine has, (p, a) each."""


def _components_of(engine: Any, components: int | None) -> int:
    """The number of components that is given, or the engine's own; a DataError where there is none."""
    if isinstance(engine, type) or not callable(getattr(engine, "fit", None)):
        given = f"the class {engine.__name__}" if isinstance(engine, type) else text_of(engine)
        raise DataError(
            f"engine={given} is no regression: give an object with fit(X, Y), such as "
            "scikit-learn's PLSRegression(3), or None."
        )
    count: Any = getattr(engine, "n_components", None) if components is None else components
    if not (reading.is_whole(count) and count >= 1):
        raise DataError(
            f"engine={text_of(engine)} has n_components={reading.told(count)}: give ncomp=, a number "
            "from 1 on."
        )
    return int(count)


def _engine_fit(
    engine: Any, blocks: Blocks, moments: ClassMoments, prior: Floats, components: int, **shared: Any
) -> PLSFit:
    """The fit by the components that a copy of an engine finds in the rows.

    It is given columns and indicators that are centred, and scaled where that is asked for.
    """
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            f"engine={text_of(engine)} is fitted to rows: it takes weights that are whole numbers. Give such "
            "weights, repeat rows, or leave engine= out."
        )
    reading.refuse_large(blocks, "pls() gives the engine all rows", times=moments.total)
    fitted = partial(core.fit_pls, moments, prior, components=components, algorithm="engine", **shared)
    tables = core.tables_of(moments, scale=shared["scale"], indicators=shared["indicators"])
    # Without components, for the middle of the rows.
    middle = fitted(engine=partial(_as_latent, [np.zeros((moments.n_columns, 0))] * 3))
    x, codes, weights = weighted_rows(blocks)
    if weights is not None:
        x, codes = repeated(x, codes, weights)
    z = standard_columns(x, middle.origin, middle.moments.scale) - middle.centre[:, None]
    indicators_of = np.equal(codes[:, None], np.arange(len(prior))).astype(np.float64)
    y = (indicators_of - middle.shares) / tables.sizes
    latent = _engine_components(engine, (z / middle.unit[:, None]).T, y, components)
    fit = fitted(engine=partial(_as_latent, latent))
    _refuse_few(fit, components)
    return fit


def _engine_components(engine: Any, x: Floats, y: Floats, components: int) -> list[Floats]:
    """Weights, loadings and rotations (p, a) that a copy of the engine finds."""
    name = text_of(engine)
    try:
        copy = copied(engine)
        known = copy.get_params() if hasattr(copy, "get_params") else {}
        settings = {"n_components": components, "scale": False}
        copy.set_params(**{key: value for key, value in settings.items() if key in known})
        copy.fit(np.ascontiguousarray(x), y)
        matrices = [np.asarray(getattr(copy, attribute), dtype=np.float64) for attribute in FITTED]
    except Exception as error:
        # An engine is the user's own code, which may raise anything.
        raise DataError(
            f"engine={name} cannot be fitted to {len(x)} rows, or does not say what it has found: "
            f"{str(error).rstrip('.')}. An engine has fit(X, Y), and then {', '.join(FITTED)}: "
            "use PLSRegression, or leave engine= out."
        ) from error
    shape = (x.shape[1], components)
    if any(each.shape != shape or not np.isfinite(each).all() for each in matrices) or not (
        matrices[-1].any(axis=0).all()
    ):
        raise DataError(
            f"engine={name} finds no {components} components of {x.shape[1]} columns: give fewer components."
        )
    return matrices


MOST = 10**6
"""More are no number of permutations that anyone waits for."""


def _permutation_test(fit: Fit[PLSFit], n: int, folds: int, seed: int | None) -> TestResult:
    """The test of Q2; see `PLSResults.permutation_test`."""
    reading.check_whole("n", n, 1, MOST, what="a number of permutations")
    blocks = fit.rows("permutation_test()")
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            "permutation_test() shuffles rows, and takes weights that are whole numbers of them: repeat the "
            "rows, or fit without weights=."
        )
    reading.refuse_large(blocks, "permutation_test() gathers all rows", times=fit.nobs)
    x, codes = repeated(*weighted_rows(blocks))
    resampling.check_folds(folds, len(x))
    numbers, k, start = fit.numbers, len(fit.classes), resampling.drawn_seed(seed)
    how = core.Regressed(numbers.components, numbers.algorithm, numbers.scale, numbers.indicators == "scaled")
    dealt = resampling.generator(start).permutation(len(x)) % folds
    # In units near one, in which squares are doubles.
    z = (x - numbers.origin) * numbers.moments.scale / np.where(np.isfinite(numbers.unit), numbers.unit, 1.0)

    def labelling(number: int) -> Codes:
        """Classes (n,) after a shuffle; those that were seen by the number 0."""
        return np.random.default_rng([start, number]).permutation(codes) if number else codes

    with late_bar((n + 1) * folds, "permutations") as tell:
        q2 = core.q2_of_labellings(z, labelling, n + 1, dealt, k, how, tell)
    r2 = core.r2_of(z, labelling, n + 1, k, how)
    figures: dict[str, tuple[float, float, float, float]] = {}
    for name, (seen, others) in {"Q2": (q2[0], q2[1:]), "R2": (r2[0], r2[1:])}.items():
        pvalue = resampling.permutation_pvalue(seen, others)
        figures[name] = (float(seen), float(others.mean()), float(others.max()), pvalue)
    return TestResult(
        f"Permutation test of Q2, {n} permutations",
        float(q2[0]),
        (),
        figures["Q2"][-1],
        "The labels are shuffled, and rows left out by folds are predicted anew, with as many "
        "components; p = (1 + b) / (1 + n), where b counts the permutations with a statistic as "
        "large or larger. Folds are dealt without regard to the classes, so that all labellings "
        "share them; mean and largest are of those shuffled.",
        figures,
        (("Q2", float(q2[0])),),
        ("statistic", "mean", "largest", "p"),
    )
