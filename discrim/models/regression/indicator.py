"""Linear regression of class indicators: the verb `indicator`, its results and its summary.

A row is assigned to the class with the largest fitted indicator. `OptimalScoring` relates the fit to linear
discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.regression.indicator import IndicatorFit, fit_indicator, indicator_from_moments
from discrim.design.levels import Unseen
from discrim.design.rows import used_rows
from discrim.errors import CollinearError, NotSupportedError
from discrim.inference.manova import regression_table, t_table
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec, PriorInRefits
from discrim.models.base.fitted_results import needs_rows
from discrim.models.base.labels import class_term_index, to_broom_names
from discrim.models.base.reading import Collinear, Data, NaAction, join_labels, verb_options
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import Sample
from discrim.models.regression.logistic_search import OVER_ALL_ROWS, without_collinear
from discrim.models.results import headers
from discrim.models.results.geometry import LinearGeometry, ScoresOnly
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections, summarize

if TYPE_CHECKING:
    from discrim.report.tables import Summary


class OptimalScoring(SummarizedResults):
    """Optimal scores of the classes: their regression on the columns has the smallest squared error.

    Axes LD1, LD2, ... have decreasing correlations; there are at most K - 1 for K classes, and none if the
    class means do not differ. See Hastie, Tibshirani & Buja (1994), JASA 89, 1255-1270.

    Parameters
    ----------
    fit : IndicatorFit
    classes : Index
        Class labels.
    terms : Index
        Names of the columns.
    """

    def __init__(self, fit: IndicatorFit, classes: pd.Index, terms: pd.Index) -> None:
        """Compute the optimal scores from the moments of the fit."""
        self._fit = fit
        self._classes = classes
        self._terms = terms
        self._scoring = fit.optimal_scoring()
        self._axis_names = pd.Index([f"LD{i + 1}" for i in range(len(self._scoring.correlations))])

    @property
    def scores(self) -> pd.DataFrame:
        """Scores of the classes, classes by LD1, LD2, ...

        The scores have mean zero and mean square one over the rows, and are uncorrelated between axes.
        """
        return pd.DataFrame(self._scoring.scores, index=self._classes, columns=self._axis_names)

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the regressions of the scores on the columns, terms by LD1, LD2, ...

        They are in units of the data, and constants are left out.
        """
        return pd.DataFrame(self._scoring.coef, index=self._terms, columns=self._axis_names)

    @property
    def correlations(self) -> pd.Series:
        """Canonical correlations of indicators and columns, by LD1, LD2, ..."""
        return pd.Series(self._scoring.correlations, index=self._axis_names, name="correlation")

    @property
    def residuals(self) -> pd.Series:
        """Average squared residuals of the regressions of the scores, 1 - correlation^2, by LD1, LD2, ..."""
        return pd.Series(self._scoring.residuals, index=self._axis_names, name="residual")

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminants, terms by LD1, LD2, ...

        The discriminants of `discrim.lda`, with unit variance within classes, divisor N - K.

        Raises
        ------
        CollinearError
            A column is constant within classes, or a linear combination of others within classes, so that a
            discriminant does not vary within classes.
        """
        scoring = self._scoring
        moments = self._fit.moments
        collinear = [self._terms[dependency.column] for dependency in dependencies(moments)]
        if collinear:
            raise CollinearError(
                f"Constant within classes, or linear combinations of other columns within classes: "
                f"{reading.join_labels(collinear)}. A discriminant therefore has no variance within classes.",
                hint="Leave it out of the formula.",
            )
        df_within = moments.total - moments.n_classes
        unit = np.sqrt(df_within / moments.total) / (scoring.correlations * np.sqrt(scoring.residuals))
        return pd.DataFrame(self.coef * unit)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """Scores, correlations and discriminants as a summary, which prints as text.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections, of "correlations", "scores" and "coefficients"; by default all.
        """
        table = pd.DataFrame({"correlation": self.correlations, "average squared residual": self.residuals})
        scores = self.scores.rename_axis(index=None)
        section_builders = {
            "correlations": partial(Section, "Canonical correlations", table, source=".correlations"),
            "scores": partial(Section, "Scores of the classes", scores, source=".scores"),
            "coefficients": partial(
                Section, "Regressions of the scores", self.coef, shared=True, source=".coef"
            ),
        }
        return summarize("Optimal scoring", section_builders, sections)


@reading.with_public_errors
def indicator(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    weights: Any = None,
    collinear: Collinear = "raise",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> IndicatorResults:
    """Least squares of the class indicators; a row is assigned to the class with the largest fitted value.

    Like `discrim.lda` the fit needs a single pass over the rows; the indicators are never formed.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    collinear : {"raise", "drop"}
        Whether columns that are linear combinations of others over all rows are an error, or the later ones
        are dropped with a warning, like R's lm. With more columns than rows, the remaining columns fit every
        row.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    IndicatorResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left.
    CollinearError
        There are at most as many rows as columns, or others determine a column over all rows; the message
        names the columns. A column may be constant within classes, which `discrim.lda` refuses.

    Notes
    -----
    The fitted values of a row sum to one over the classes, but may be negative or above one: they are not
    probabilities. Nor can a prior be chosen, because the constants contain the class proportions.

    With three or more classes, one that lies between others may never have the largest fitted value: it is
    *masked*. `masked` names the classes to which no row is assigned. A class to which only a few rows are
    assigned is nearly masked: the summary counts for each class how many of its own rows are assigned to it.
    Polynomials in the formula prevent the masking of classes that are well apart: degree K - 1 is enough for
    K classes along a line, such as `poly(x, 2)` for three, and often a lower degree is. If classes overlap
    much, there may be one to which no rule assigns a row.

    With two classes the coefficients are proportional to the coefficients of `discrim.lda`, and the cut
    differs unless the classes have the same size (Hastie, Tibshirani & Friedman, 2009, The Elements of
    Statistical Learning, sec. 4.2).

    Examples
    --------
    Three classes lie along a line. Straight lines mask the middle one, and parabolas do not:

    >>> import pandas as pd
    >>> from discrim import indicator
    >>> row = pd.DataFrame({"x": [0, 1, 2, 4, 6, 8, 9, 10], "y": list("aaabbccc")})
    >>> indicator("y ~ x", row).masked.tolist()
    ['b']
    >>> indicator("y ~ poly(x, 2)", row).masked.tolist()
    []
    """
    options = verb_options(locals())
    reading.check_word("collinear", collinear, Collinear)
    sample = Sample("indicator", "pooled", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        design_rows = reading.drop_constant_columns_if_wide(sample.read())
        if collinear == "raise":
            _raise_if_too_few_rows(design_rows.n_labelled, design_rows.terms)
        design_rows, stats = reading.usable_rows(design_rows, "pooled", na_action)
    else:
        design_rows, stats = sample.read_moments("pooled")
    if collinear == "raise":
        _raise_if_too_few_rows(int(stats.rows.sum()), design_rows.terms)
    design_rows, stats = without_collinear(design_rows, stats, drop=collinear == "drop")
    reading.warn_of_near_dependencies(stats.as_one_class(), design_rows.terms, OVER_ALL_ROWS)
    spec = IndicatorSpec()
    return IndicatorResults(spec.fit(fit_indicator(stats), design_rows, options, has_rows=sample.has_rows))


def _raise_if_too_few_rows(rows: int, terms: tuple[str, ...]) -> None:
    """Raise CollinearError if there are at most as many rows as columns; do nothing for no rows."""
    if 0 < rows <= len(terms):
        raise CollinearError(
            f"Least squares with a constant and {len(terms)} columns ({reading.join_labels(terms)}) "
            f"requires more than {len(terms)} rows, but there are {rows}.",
            hint=(
                'Name fewer columns in the formula, pass collinear="drop", or use rda(), '
                'shrunken_centroids() or lda(covariance="shrunk").'
            ),
            options={"collinear": "drop"},
        )


class IndicatorResults(ScoresOnly, LinearGeometry, ClassMeans, ClassifierResults):
    """A fitted regression of class indicators.

    Fitted values are the scores of the rule; posteriors are not defined.
    """

    _fit: FittedModel[IndicatorFit]

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients without constants, terms by classes. They sum to zero over the classes."""
        return pd.DataFrame(self._fit.estimates.data_params()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants by class: x'coef + intercept is the fitted value. They sum to one over the classes."""
        return pd.Series(self._fit.estimates.data_params()[1], index=self.classes, name="constant")

    @property
    def df_model(self) -> int:
        """Number of free coefficients, (p + 1)(K - 1); the last class follows from the others."""
        return (len(self.terms) + 1) * (len(self.classes) - 1)

    @property
    def df_resid(self) -> float:
        """Residual degrees of freedom N - p - 1 of each regression, N the sum of the weights."""
        return self._fit.estimates.residual_df

    @with_display_formats()
    def coefficients(self, level: float = 0.95) -> pd.DataFrame:
        """Coefficients with the standard errors of ordinary least squares, class by class.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (class, term)
            coef, se, t, p, low, high, like R's `lm`; the first term of each class is "constant". se and the
            columns after it are NaN without residual degrees of freedom. They assume normal errors of
            equal variance, which indicators do not have. For two classes the t of a column is still exact
            under normal classes with one covariance.
        """
        estimates = self._fit.estimates.estimates()
        index = class_term_index(list(self.classes), ["constant", *self.terms])
        return t_table(estimates.coef.ravel(), estimates.se.ravel(), estimates.df, index, level)

    @with_display_formats()
    def regressions(self) -> pd.DataFrame:
        """One row for each class: R2, residual standard deviation sigma, and F test (F, df1, df2, p)."""
        fit = self._fit.estimates
        squares = fit.explained_squares(), fit.residual_squares()
        return regression_table(*squares, len(self.terms), fit.residual_df, self.classes)

    def predict_indicators(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Fitted values of new rows or of the rows of the fit; they sum to one in each row.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by classes
            NaN for a row with a missing value.
        """
        return self._rule_values(data, unseen)

    @property
    @available_if(needs_rows("fitted"))
    def fitted(self) -> pd.DataFrame:
        """Fitted values of all rows of the table of the fit, rows by classes; NaN for incomplete rows."""
        return self._rule_values(None)

    @property
    @available_if(needs_rows("masked"))
    def masked(self) -> pd.Index:
        """Classes to which none of the rows of the fit is assigned; nearly masked classes are not included.

        Raises
        ------
        NotSupportedError
            The fit was loaded without its rows.
        """
        self._fit.require_rows("masked")
        predicted = self.confusion().to_numpy().sum(axis=0)
        return self.classes.take(np.flatnonzero(predicted == 0))

    @property
    @available_if(needs_rows("hat"))
    def hat(self) -> pd.Series:
        """Leverages of the rows of the fit, times their weights; NaN for rows that it does not use.

        They sum to the number of columns plus one.
        """
        design_rows = self._fit.require_rows("hat")
        out = np.full(design_rows.table.nrows, np.nan)
        for rows, x, _, weights in used_rows(design_rows):
            out[rows] = self._fit.estimates.leverages(x) * (1.0 if weights is None else weights)
        return pd.Series(out, index=design_rows.table.index, name="hat")

    def optimal_scoring(self) -> OptimalScoring:
        """Optimal scores of the classes, which also define the variates of LDA.

        The result has the tables `scores`, `coef`, `correlations`, `residuals` and `scaling`.

        Examples
        --------
        >>> from discrim import indicator, lda
        >>> from discrim.datasets import load_iris
        >>> iris = load_iris()
        >>> scoring = indicator("species ~ .", iris).optimal_scoring()
        >>> bool(abs(scoring.scaling - lda("species ~ .", iris).scaling).max(axis=None) < 1e-10)
        True
        """
        return OptimalScoring(self._fit.estimates, self.classes, self.terms)

    # ---- tables

    @with_display_formats()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each class and term: the coefficients, with the column names of R's broom.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame
            class, term, estimate, std_error, statistic (t), p_value, conf_low, conf_high.
        """
        return to_broom_names(self.coefficients(level))

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes and terms (their numbers), df_model and df_resid."""
        return pd.DataFrame([self._sizes() | {"df_model": self.df_model, "df_resid": self.df_resid}])

    def _augmented(self, missing_policy: MissingPolicy, data: Any) -> pd.DataFrame:
        """Return the table with predicted labels (`.fitted`) and fitted values (`.score.<class>`).

        Parameters
        ----------
        missing_policy : MissingPolicy
            Treatment of unseen levels.
        data : table or None
            New observations; None for the rows of the fit.

        Returns
        -------
        DataFrame
            All rows of the table; the new columns are missing for a row with a missing value.
        """
        rows = self._fit.new_rows(data, missing_policy)
        return self._fit.augment_table(rows, self._rule_values(rows), "score")


class IndicatorSpec(ModelSpec[IndicatorFit]):
    """Regression of class indicators, a model without prior and posteriors.

    It allows columns that are constant or collinear within classes, but not over all rows.
    """

    name = "indicator"
    title = "Regression of class indicators"
    results_class = IndicatorResults
    constructor = staticmethod(indicator_from_moments)
    allows_constant = True
    allows_singular = True

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `indicator_sections` and `indicator_brief`, for the full and the short summary.

        Both are dicts of section functions by name.
        """
        return indicator_sections, indicator_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        They are "fitted", "regions", "partition", "pairs", "distances", "confusion", "roc" and
        "precision_recall".
        """
        from discrim.models.regression.plots import INDICATOR_PLOTS

        return INDICATOR_PLOTS

    def likelihood_of(self, fit: FittedModel[IndicatorFit]) -> str:
        """Return "none": the fitted values are not probabilities and do not define a likelihood."""
        return "none"

    def prior_in_refits(self, fit: FittedModel[IndicatorFit]) -> PriorInRefits:
        """Return "none", because the model does not use a prior."""
        return "none"

    def posteriors_hint(self, fit: FittedModel[IndicatorFit]) -> str:
        """Return a clause on fitted values for errors; never empty, because posteriors are not defined."""
        return "its fitted values may be negative or above one, see fitted and decision_function()"

    def shows_log_posteriors(self, fit: FittedModel[IndicatorFit]) -> bool:
        """Return False: `decision_function` returns the scores of the rule, which are the fitted values."""
        return False

    def drops_columns(self, fit: FittedModel[IndicatorFit]) -> bool:
        """Return True for collinear="drop": each refit then drops collinear columns again."""
        return bool(fit.options["collinear"] == "drop")


MAX_FITTED_ERROR = 0.0001
"""Largest rounding error of a fitted value that is computed from the coefficients as printed."""


def _header_section(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Pairs:
    """Return the header of the summary, with notes on dropped, masked and nearly masked classes and columns.

    Classes are called nearly masked if fewer than half of their rows are assigned to them.
    """
    masked = list(results.masked) if fit.has_rows else []
    number: Any = len(masked) if fit.has_rows else "not available"
    items = [
        *headers.observation_items(fit),
        HeaderItem("Residual df", results.df_resid, f"{results.df_resid:.10g}"),
        HeaderItem("Masked classes", number, str(number or "none")),
        *headers.size_items(fit),
        *headers.error_items(fit),
    ]
    notes = [headers.dropped_note(fit, "over all rows")]
    if masked:
        notes.append(
            f"Masked: {join_labels(masked)}. No observation is assigned to such a class; try poly() in the "
            "formula, or lda()."
        )
    rarely_predicted = []
    if fit.has_rows:
        few_won = results.classes[_n_correct_by_class(results) < 0.5 * results.counts]
        rarely_predicted = [label for label in few_won if label not in masked]
    if rarely_predicted:
        notes.append(
            f"Fewer than half of the observations of {join_labels(rarely_predicted)} are assigned to their "
            "own class, which is nearly masked or overlaps others; compare with lda()."
        )
    return headers.header(fit, items, " ".join(notes).strip())


def _n_correct_by_class(results: IndicatorResults) -> pd.Series:
    """Return the number (or sum of weights) of the rows of each class that are assigned to it."""
    return pd.Series(np.diagonal(results.confusion()), index=results.classes)


def _classes_section(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    """Return the section of the classes: shares, rows, and numbers of predicted and of correct rows.

    The last two are left out if the fit lacks rows.
    """
    table = pd.DataFrame({"share": results.prior, "n": results.counts})
    formats: dict[Any, Any] = {"share": "share", "n": "count"}
    try:
        table["predicted"] = results.confusion().sum(axis=0)
        table["correct"] = _n_correct_by_class(results)
        formats |= {"predicted": "count", "correct": "count"}
    except NotSupportedError:
        pass
    return Section("Classes", table.rename_axis(index=None), formats, source="fit.counts, fit.confusion()")


def _regressions_section(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    """Return the section of the regressions of the indicators: R2, sigma, F and p by class.

    A note names classes whose indicators are fitted exactly, up to rounding.
    """
    table = results.regressions().rename_axis(index=None).drop(columns=["df1", "df2"])
    title = f"Regressions, F on {len(results.terms)} and {results.df_resid:.10g} degrees of freedom"
    formats: dict[Any, Any] = {"R2": "share", "sigma": "general", "F": "z", "p": "tail"}
    exact = results.classes[fit.estimates.is_fitted_exactly()]
    note = ""
    if len(exact):
        note = f"Fitted exactly: {join_labels(exact)}. Their standard errors and tests are rounding errors."
    headings = {"p": "P > F"}
    return Section(title, table, formats, headings=headings, note=note, source="fit.regressions()")


def _coefficients_section(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    """Return the section of the coefficients of the regressions, constants first, without tests."""
    table = pd.concat([results.intercept.to_frame("constant").T, results.coef])
    table = table.rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(headers.score_sizes(fit.estimates.moments), MAX_FITTED_ERROR)
    return Section("Coefficients", table, errors=errors, source="fit.coef, fit.intercept")


def _coefficient_tests_section(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    """Return the section of the coefficients with standard errors, t tests and 95 % intervals."""
    table = results.coefficients()
    formats: dict[Any, Any] = {"t": "z", "p": "p"}
    headings = SHARED_HEADINGS | {"p": "P>|t|"}
    sizes = headers.score_sizes(fit.estimates.moments)
    note = (
        "Standard errors assume constant error variance, and t normal errors; the errors of indicators have "
        "neither. "
    )
    coef = table["coef"].unstack("class", sort=False)
    note += headers.precision_note("fitted values", coef, sizes, MAX_FITTED_ERROR)
    errors = np.tile(headers.coefficient_errors(sizes, MAX_FITTED_ERROR), len(results.classes))
    if not results.df_resid > 0:
        note += " They are missing because no residual degrees of freedom are left."
    source = "fit.coefficients()"
    return Section("Coefficients", table, formats, headings=headings, errors=errors, note=note, source=source)


indicator_sections: Sections = {
    "header": _header_section,
    "classes": _classes_section,
    "regressions": _regressions_section,
    "coefficients": _coefficient_tests_section,
}
"""Sections of a regression of class indicators, in their order."""


def _brief_classes_section(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    """Return the section of the classes, without predictions if the rows are read from a source in chunks."""
    needs_another_pass = fit.has_rows and fit.design_rows.rows.source_description
    return (headers.classes_section if needs_another_pass else _classes_section)(results, fit)


indicator_brief: Sections = {"classes": _brief_classes_section, "coefficients": _coefficients_section}
"""Sections of the short summary: classes and coefficients."""
