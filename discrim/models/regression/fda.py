"""Flexible discriminant analysis: the verb `fda`, its results and its summary.

Optimal scoring with any regression of the user as its engine. `VariateResults` and the sections on variates
are shared with kernel discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn, Protocol

import numpy as np
import pandas as pd

from discrim.core.covariance.by_estimator import clone_estimator
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.regression.indicator import FlexibleFit, fit_flexible, starting_scores
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import gather_used_rows, read_rows, repeat_rows
from discrim.errors import DataError, NotSupportedError
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec, refit_scorer
from discrim.models.base.reading import (
    Data,
    NaAction,
    Prior,
    one_line_repr,
    verb_options,
    warn_of_tied_axes,
)
from discrim.models.base.scores import transform_rows
from discrim.models.results import headers
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import Pairs, Section, clean, shorten
from discrim.report.tables import Sections

MAX_CORRELATION = 1.0 - 1e-12
"""Squared canonical correlation above which the scores count as predicted without error."""


class Engine(Protocol):
    """A regression with several responses, as required by `fda`.

    Rows have the p columns of the formula; there are K - 1 responses for K classes.
    """

    def fit(self, rows: Any, scores: Any, /) -> Any:
        """Fit the regression in place to rows (n, p) and scores (n, K - 1), or (n,) for two classes."""

    def predict(self, rows: Any, /) -> Any:
        """Return fitted scores (m, K - 1), or (m,), of rows (m, p)."""


def _fit_by_regression(
    engine: Any,
    design_rows: DesignRows,
    moments: ClassMoments,
    prior: Floats,
    *,
    ncomp: int | None,
    estimated_prior: bool,
) -> tuple[FlexibleFit, Any]:
    """Fit a copy of the engine to the class scores, and compute the discriminant variates from it.

    Parameters
    ----------
    engine : object
        The regression of the user, which is not changed.
    design_rows : DesignRows
        The rows; weights have to be whole numbers, and rows are repeated by them.
    moments : ClassMoments
        Diagonal class moments of the rows.
    prior : (K,) float64
        Prior probabilities of the classes.
    ncomp : int or None
        Largest number of axes; None for all with a positive squared correlation.
    estimated_prior : bool
        Whether the prior was estimated by the class proportions.

    Returns
    -------
    fit : FlexibleFit
        It calls the fitted copy for the variates of new rows.
    engine : object
        The fitted copy.

    Raises
    ------
    DataError
        The engine cannot be copied, fails, or predicts the scores without error or not at all.
    NotSupportedError
        A weight is not a whole number, or the rows do not fit into memory.
    """
    copy = _copy_engine(engine)
    width = moments.n_classes - 1
    total_weight = moments.total if design_rows.weights is not None else 0
    reading.raise_if_large(design_rows, "fda() gives the engine all rows", n_repeated_rows=total_weight)
    rows = gather_used_rows(design_rows)
    x, codes, weights, _ = rows
    if weights is not None:
        odd = weights != np.round(weights)
        if odd.any():
            row = design_rows.table.label(int(rows.positions[int(np.argmax(odd))]))
            raise NotSupportedError(
                f"engine={one_line_repr(engine)} is fitted to repeated rows and requires integer weights, "
                f"but the weight of row {row!r} is {weights[odd][0]:.6g}.",
                hint="Pass weights that are whole numbers, or repeat rows.",
                rows=(row,),
            )
        x, codes = repeat_rows(x, codes, weights)
    x = np.ascontiguousarray(x)
    scores = starting_scores(moments.counts)[codes]
    with Progress(2, f"regression by {type(copy).__name__}") as progress:
        _fit_engine(copy, x, scores[:, 0] if width == 1 else scores, engine, width)
        progress(1)
        regress = _FittedEngine(copy, width)
        fitted = regress(x)
    sums = np.zeros((moments.n_classes, width))
    np.add.at(sums, codes, fitted)
    fit = fit_flexible(moments, prior, regress, sums, ncomp=ncomp, estimated_prior=estimated_prior)
    if fit.all_values[0] >= MAX_CORRELATION:
        raise DataError(
            f"engine={one_line_repr(engine)} predicts the class scores of its training rows without error, "
            "so the distances between classes are infinite.",
            hint="Use an engine with more regularization.",
        )
    if not len(fit.values):
        raise DataError(
            f"engine={one_line_repr(engine)} does not predict the class scores: no axis separates the "
            "classes.",
            hint="Use another engine, or other columns.",
        )
    return fit, copy


def _fit_engine(copy: Any, x: Floats, scores: Floats, engine: Any, width: int) -> None:
    """Fit a copy of the engine; raise DataError if it fails.

    Parameters
    ----------
    copy : object
        The copy to fit.
    x : (n, p) float64
        The rows, repeated by weight.
    scores : (n, K - 1) or (n,) float64
        Starting scores of the classes of the rows.
    engine : object
        The user's engine, for the message.
    width : int
        Number K - 1 of responses, for the message.
    """
    try:
        copy.fit(x, scores)
    except Exception as error:
        # An engine is the user's own code, which can raise any exception.
        raise DataError(
            f"engine={one_line_repr(engine)} cannot be fitted to {len(x)} rows with {width} "
            f"response{'s' if width > 1 else ''}: {error}.",
            hint=(
                "Pass an engine with fit(X, Y) and predict(X). An engine for a single response can be "
                "wrapped in scikit-learn's MultiOutputRegressor."
            ),
        ) from error


def _copy_engine(engine: Any) -> Any:
    """Return an unfitted copy of the engine; raise DataError if it is not a regression or not copyable."""
    if engine is None:
        raise DataError(
            "fda() requires engine=.",
            hint=(
                "Pass an object with fit(X, Y) and predict(X), such as engine=sklearn.linear_model.Ridge()."
            ),
        )
    if isinstance(engine, type) or not callable(getattr(engine, "fit", None)):
        engine_label = f"the class {engine.__name__}" if isinstance(engine, type) else one_line_repr(engine)
        raise DataError(
            f"engine={engine_label} is not a regression.",
            hint="Pass an object with fit(X, Y) and predict(X), such as scikit-learn's Ridge().",
        )
    try:
        return clone_estimator(engine)
    except Exception as error:
        raise DataError(
            f"engine={one_line_repr(engine)} cannot be copied: {error}. Each fit requires its own copy.",
            hint="Create objects that cannot be copied in fit(X, Y) of the engine.",
        ) from error


@dataclass(frozen=True, slots=True)
class _FittedEngine:
    """Predictions of a fitted engine as finite arrays (m, width); an array (m,) is reshaped if width is 1.

    Attributes
    ----------
    engine : object
        The fitted engine.
    width : int
        Number K - 1 of responses.
    """

    engine: Any
    width: int

    def __call__(self, x: Floats) -> Floats:
        """Return the fitted scores (m, width) of rows x (m, p).

        Raises DataError if the engine fails, or returns another shape or values that are not finite.
        """
        name = one_line_repr(self.engine)
        shape = (len(x), self.width)
        try:
            fitted = np.asarray(self.engine.predict(x), dtype=np.float64)
        except Exception as error:
            raise DataError(
                f"engine={name} cannot predict {len(x)} rows: {error}.", hint="Use another engine."
            ) from error
        if fitted.shape != shape and not (self.width == 1 and fitted.shape == (len(x),)):
            raise DataError(
                f"engine={name} predicts an array of shape {fitted.shape} instead of {shape}.",
                hint="Use an engine that supports several responses.",
            )
        odd = np.count_nonzero(~np.isfinite(fitted.reshape(shape)).all(axis=1))
        if odd:
            raise DataError(
                f"engine={name} predicts values that are not finite for {odd} of {len(x)} rows.",
                hint="Use an engine that predicts numbers, or columns of another scale.",
            )
        return fitted.reshape(shape)


@reading.with_public_errors
def fda(
    formula: str,
    data: Data,
    *,
    engine: Engine | None = None,
    prior: Prior = None,
    weights: Any = None,
    ncomp: int | None = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> FDAResults:
    """Flexible discriminant analysis: optimal scoring with any regression as its engine.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table
        A DataFrame of pandas, or any other table in memory that narwhals supports, such as one of polars or
        Arrow. The engine needs all rows at once. Sources that are read in chunks, such as a file or a
        DataFrame of Dask, are not supported: pass a sample of the rows as a DataFrame.
    engine : object with `fit(X, Y)` and `predict(X)`
        A regression, for example from scikit-learn. A copy of it is fitted to the columns (n, p) and to K - 1
        scores of the classes (n, K - 1), or (n,) for two classes. With least squares the fit equals
        `lda(method="mle")`.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows. They must be whole numbers here:
        each row is repeated by its weight for the engine.
    ncomp : int, optional
        Number of axes to keep; by default K - 1.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    FDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also an engine that
        cannot be fitted, that predicts no scores, or that predicts them without error because it memorizes
        every row.
    PriorError
        The prior is not a distribution over the classes.
    NotSupportedError
        The weights are not whole numbers.

    Notes
    -----
    The method is due to Hastie, Tibshirani & Buja (1994, JASA 89, 1255-1270); R has it as mda::fda. The
    variates have unit variance within classes (divisor N) if the engine is a projection, such as least
    squares on any functions of the columns. The posteriors assume that the variates are normal within classes
    with one covariance. The apparent error of an engine that adapts to the rows is too small: see
    `error_rates(["cv"])`.

    Examples
    --------
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from discrim import fda
    >>> from discrim.datasets import load_iris
    >>> fit = fda("species ~ .", load_iris(), engine=KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1))
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 49, 1], [0, 0, 50]]
    """
    options = verb_options(locals())
    reason = "fda() gives its engine all rows, and"
    design_rows = read_rows(
        formula, data, weights=weights, levels=levels, functions=functions, in_memory=reason
    )
    design_rows, moments = reading.usable_rows(design_rows, "diagonal", na_action)
    max_components = moments.n_classes - 1
    if ncomp is not None and not (reading.is_integer(ncomp) and 1 <= ncomp <= max_components):
        raise DataError(
            f"ncomp={reading.format_argument(ncomp)} is not valid: {max_components + 1} classes have "
            f"{max_components} axes.",
            hint=f"Pass a number from 1 to {max_components}, or None.",
        )
    prior_proportions, estimated = reading.read_prior(prior, design_rows.design.levels, moments.counts)
    fit, fitted = _fit_by_regression(
        engine, design_rows, moments, prior_proportions, ncomp=ncomp, estimated_prior=estimated
    )
    warn_of_tied_axes("ncomp", len(fit.values), fit.tied_axes())
    return FDAResults(FDASpec(engine=fitted).fit(fit, design_rows, options), fitted)


def _raise_not_defined(problem: str) -> NoReturn:
    """Raise NotSupportedError for a quantity that a regression engine does not define.

    `problem` is its name as the subject of the message, such as "A likelihood".
    """
    raise NotSupportedError(
        f"{problem} is not defined for an arbitrary regression engine.", hint="See error_rates()."
    )


class VariateResults(ClassMeans, ClassifierResults):
    """Base class of results of fits by optimal scoring: class scores, centroids and variates.

    Axes LD1, LD2, ... are the retained ones.
    """

    _fit: FittedModel[Any]

    @property
    def _axis_names(self) -> pd.Index:
        """Names LD1, LD2, ... of the retained axes."""
        return pd.Index([f"LD{i + 1}" for i in range(len(self._fit.estimates.values))])

    @property
    def scores(self) -> pd.DataFrame:
        """Optimal scores, classes by LD1, LD2, ..., with mean zero and mean square one over the rows."""
        return pd.DataFrame(
            self._fit.estimates.scores, index=self.classes, columns=self._axis_names, copy=True
        )

    @property
    def centroids(self) -> pd.DataFrame:
        """Class means of the variates, classes by LD1, LD2, ..."""
        return pd.DataFrame(
            self._fit.estimates.centroids, index=self.classes, columns=self._axis_names, copy=True
        )

    @property
    def values(self) -> pd.Series:
        """Squared canonical correlations, by LD1, LD2, ..."""
        return pd.Series(self._fit.estimates.values, index=self._axis_names, name="value", copy=True)

    @property
    def explained(self) -> pd.Series:
        """Share of each retained axis in the sum of l / (1 - l) over all axes, l a squared correlation.

        Negative l, which only regressions other than least squares can have, count as zero.
        """
        nonnegative_values = np.maximum(self._fit.estimates.all_values, 0.0)
        ratio = nonnegative_values / (1 - nonnegative_values)
        return pd.Series(
            (ratio / ratio.sum())[: len(self._axis_names)], index=self._axis_names, name="explained"
        )

    def transform(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Variates LD1, LD2, ... of each row; they are missing for a row with a missing value.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame (rows, axes)
            On the index of the table.
        """
        return transform_rows(
            self._fit.new_rows(data, MissingPolicy(unseen)), self._fit.estimates.variates, self._axis_names
        )

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and axis, with columns class, axis, score and centroid."""
        index = pd.MultiIndex.from_product([self.classes, self._axis_names], names=["class", "axis"])
        estimates = self._fit.estimates
        columns = {"score": estimates.scores.ravel(), "centroid": estimates.centroids.ravel()}
        return pd.DataFrame(columns, index=index).reset_index()

    def _centroids(self) -> pd.DataFrame:
        """Return `centroids` (classes by axes), under the name that shared plots of scores use."""
        return self.centroids


class FDAResults(VariateResults):
    """A fitted flexible discriminant analysis.

    Attributes
    ----------
    engine : object
        The fitted copy of the engine.
    scores : DataFrame, classes by LD1, LD2, ...
        Optimal scores; on each axis the one with the largest absolute value is positive.
    centroids : DataFrame, classes by LD1, LD2, ...
        Class means of the variates.
    values, explained : Series by LD1, LD2, ...
        Squared canonical correlations l, and the share of each axis in the sum of l / (1 - l).
    means : DataFrame, classes by terms
        Class means.
    """

    _fit: FittedModel[FlexibleFit]

    def __init__(self, fit: FittedModel[FlexibleFit], engine: Any) -> None:
        """Wrap a fit and its fitted copy of the engine."""
        super().__init__(fit)
        self.engine = engine

    # ---- methods of other results that are not defined with an engine

    @property
    @available_if()
    def llf(self) -> float:
        """Raise NotSupportedError: the likelihood is undefined, because the engine may be any regression."""
        _raise_not_defined("A likelihood")

    @property
    @available_if()
    def df_model(self) -> int:
        """Raise NotSupportedError: the number of free parameters of an engine is unknown."""
        _raise_not_defined("A number of free parameters")

    def save(self, path: str | PathLike[str]) -> None:
        """Raise NotSupportedError: saved files cannot contain the engine, which is an object of the user.

        Parameters
        ----------
        path : str or path
            Not used.
        """
        raise NotSupportedError(
            f"The fit contains {one_line_repr(self.engine)}, and saved files cannot contain Python objects.",
            hint="Pickle the fit, if those who will load it trust you.",
        )

    # ---- tables

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes and terms (their numbers), axes, and engine as text."""
        return pd.DataFrame(
            [self._sizes() | {"axes": len(self._axis_names), "engine": one_line_repr(self.engine)}]
        )


@dataclass(frozen=True, eq=False)
class FDASpec(ModelSpec[FlexibleFit]):
    """Flexible discriminant analysis.

    Parameters
    ----------
    search : None
        Not used: no parameter is chosen from the rows.
    engine : object, optional
        The fitted engine, of which refits fit an unfitted copy.
    """

    name = "fda"
    title = "Flexible discriminant analysis"
    results_class = FDAResults

    engine: Any = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `fda_sections` and `fda_brief`, for the full and the short summary.

        Both are dicts of section functions by name.
        """
        return fda_sections, fda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "scores" and "territory".
        """
        from discrim.models.regression.plots import FDA_PLOTS

        return FDA_PLOTS

    def likelihood_of(self, fit: FittedModel[FlexibleFit]) -> str:
        """Return "none": an arbitrary regression does not define a likelihood."""
        return "none"

    def rule(self, fit: FittedModel[FlexibleFit], prior: Floats, method: str, convention: str | None) -> Rule:
        """Return the rule under a prior (K,); any method but "plugin" is a NotSupportedError.

        `convention` is not used.
        """
        if method != "plugin":
            _raise_not_defined(f'method="{method}"')
        return super().rule(fit, prior, method, convention)

    def required_moments(self, fit: FittedModel[FlexibleFit]) -> None:
        """Return None: a refit needs the rows."""

    def refit_with_fixed(self, fit: FittedModel[FlexibleFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit of a copy of the engine to rows; None if the weight of a class is zero.

        The prior and `ncomp` of the fit are kept. Raises DataError if the engine fails, or predicts the class
        scores without error or not at all.
        """
        moments = reading.class_moments(rows, "diagonal")
        estimates = fit.estimates
        if not (moments.counts > 0).all():
            return None
        ncomp = fit.options["ncomp"]
        is_estimated = estimates.estimated_prior
        refit, _ = _fit_by_regression(
            self.engine, rows, moments, estimates.prior, ncomp=ncomp, estimated_prior=is_estimated
        )
        return refit.rule(fit.log_prior())

    def leave_one_out(self, fit: FittedModel[FlexibleFit]) -> LeaveOneOutScorer:
        """Return a function whose scores are NaN, which makes the caller refit without each row.

        Raises NotSupportedError for more than 2,000 rows (`MAX_REFITS`).
        """
        return refit_scorer(fit, "takes a fit of the engine for each row")


def _header_section(results: FDAResults, fit: FittedModel[FlexibleFit]) -> Pairs:
    """Return the header of the summary: observations, prior, sizes and apparent error, with the engine."""
    items = [
        *headers.observation_items(fit),
        headers.prior_item(fit),
        *headers.size_items(fit),
        headers.error_item(fit, "apparent"),
    ]
    note = (
        f"Engine: {shorten(clean(one_line_repr(results.engine)), 80)}. The apparent error is optimistic: see "
        "error_rates(['cv'])."
    )
    return Pairs(results.formula, items, note)


def variate_classes(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """Section on the classes with prior and number of rows, or sum of weights."""
    table = pd.DataFrame({"prior": results.prior, "n": results.counts}).rename_axis(index=None)
    return Section("Classes", table, {"prior": "share", "n": "count"}, source="fit.prior, fit.counts")


def variate_axes(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """Section on the axes: columns "squared correlation" (`values`) and "share" (`explained`)."""
    table = pd.DataFrame({"squared correlation": results.values, "share": results.explained})
    formats: dict[Any, Any] = {"squared correlation": "share", "share": "share"}
    return Section("Axes", table, formats, source="fit.values, fit.explained")


def variate_scores(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """Section on the optimal scores, classes by LD1, LD2, ..."""
    scores = results.scores.rename_axis(index=None)
    return Section("Optimal scores of the classes", scores, source="fit.scores")


def variate_centroids(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """Section on the class means of the variates, classes by LD1, LD2, ..."""
    centroids = results.centroids.rename_axis(index=None)
    return Section("Centroids among the variates", centroids, source="fit.centroids")


fda_sections: Sections = {
    "header": _header_section,
    "classes": variate_classes,
    "axes": variate_axes,
    "scores": variate_scores,
    "centroids": variate_centroids,
}
"""Sections of a flexible discriminant analysis, in their order."""


fda_brief: Sections = {"classes": variate_classes, "axes": variate_axes, "centroids": variate_centroids}
"""Sections of the short summary: classes, axes and centroids."""
