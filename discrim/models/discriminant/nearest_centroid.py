"""Nearest centroids: each row is assigned to the class with the nearest mean, by Euclidean distance.

The verb `nearest_centroid`, its results, its summary and its `ModelSpec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.discriminant.nearest_centroid import (
    EuclideanDistances,
    NearestCentroidFit,
    centroid_marginal_rule,
    fit_nearest_centroid,
    has_within_variation,
)
from discrim.core.moments.derived_moments import constant_within_classes
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import Rule
from discrim.design.levels import Unseen
from discrim.errors import CollinearError
from discrim.inference.mean_differences import between_squares
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec
from discrim.models.base.labels import class_term_index
from discrim.models.base.reading import (
    Data,
    NaAction,
    Prior,
    read_prior,
    usable_rows,
    verb_options,
    with_public_errors,
)
from discrim.models.base.scores import posterior_frame
from discrim.models.discriminant.normal_fits import warn_of_units
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import Sample
from discrim.models.results import headers
from discrim.models.results.geometry import GroupSummary, LinearGeometry
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

DISTANCE_TEXT = "Euclidean, in columns' units"
"""Description of the distance in the header of the summary."""


@with_public_errors
def nearest_centroid(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    prior: Prior = "equal",
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> NearestCentroidResults:
    """Nearest centroids: normal classes with one variance for all columns and classes.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments.
    prior : "equal", None, "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. With equal ones, the default here, a row is assigned to the class
        of the nearest mean. None stands for the class proportions of the data.
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
    NearestCentroidResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        Every row equals the mean of its class.

    Notes
    -----
    The rule is Rocchio's (1971, in The SMART Retrieval System, 313-323).

    The score of a class is ``ln prior_k - |x - m_k|^2 / (2 s2)`` with s2 = tr(W) / (p (N - K)), where W are
    the sums of squares within classes. The rule and the posteriors agree with
    `lda(covariance="spherical")`. For equal priors the labels agree with scikit-learn's
    `NearestCentroid()`. With other priors scikit-learn first divides the columns by their standard deviations
    within classes, so that its labels agree with `lda(covariance="diagonal")`; its posteriors are the squared
    posteriors of that rule, divided by their sum. `discrim.shrunken_centroids` adds a threshold.

    Distances are in the units of the columns. A column with a hundred times the standard deviation of the
    others determines the rule alone. A warning is then shown, and `column_shares()` has the contributions.

    Examples
    --------
    >>> from discrim import nearest_centroid
    >>> from discrim.datasets import load_iris
    >>> fit = nearest_centroid("species ~ .", load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 46, 4], [0, 7, 43]]
    >>> fit.distances()["distance"].round(4).tolist()
    [3.2083, 4.7545, 1.6205]
    """
    options = verb_options(locals())
    sample = Sample(
        "nearest_centroid", "diagonal", moments, formula, data, weights, levels, functions, na_action
    )
    if sample.has_rows:
        design_rows, stats = usable_rows(sample.read(), "diagonal", na_action)
    else:
        design_rows, stats = sample.read_moments("diagonal")
    if not has_within_variation(stats):
        raise CollinearError(
            f"The {stats.total:g} observations in {stats.n_classes} classes do not vary within classes. The "
            "variance cannot be estimated.",
            hint=(
                "Add observations that differ from others of their class, or weights that count rows. To use "
                "the class of the nearest observation, use knn(k=1, scale=False)."
            ),
        )
    prior_text = ', prior="equal"' if isinstance(prior, str) and prior == "equal" else ""
    # A diagonal covariance cannot scale a column that is constant within classes.
    lda_covariance = (
        "covariance=discrim.covariance.Shrunk(standardize=True)"
        if constant_within_classes(stats).any()
        else 'covariance="diagonal"'
    )
    warn_of_units(
        stats, design_rows.terms, "The Euclidean distance", f"Use lda({lda_covariance}{prior_text})"
    )
    priors, estimated = read_prior(prior, design_rows.design.levels, stats.counts)
    fit = fit_nearest_centroid(stats, priors, estimated_prior=estimated)
    return NearestCentroidResults(
        NearestCentroidSpec().fit(fit, design_rows, options, has_rows=sample.has_rows)
    )


class NearestCentroidResults(LinearGeometry, ClassMeans, GroupSummary, ClassifierResults):
    """A fit of nearest centroids.

    Attributes
    ----------
    means : DataFrame, classes by terms
        Class means.
    llf, aic, bic : float
        Joint log-likelihood of class and row at the maximum-likelihood variance, and its criteria.
    df_model : int
        Number of free parameters: means, the variance, and the prior if it is estimated.
    """

    _fit: FittedModel[NearestCentroidFit]

    @property
    def sd(self) -> float:
        """Common standard deviation s of all p columns within all classes, with divisor p (N - K)."""
        return self._fit.estimates.sd

    def centroid_distances(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Euclidean distances of rows to the class means, in the units of the columns.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by classes
            Missing for a row with a missing value.
        """
        rule = EuclideanDistances(self._fit.estimates.distances(), self.sd)
        return posterior_frame(
            self._fit.new_rows(data, MissingPolicy(unseen)), rule, self.classes, np.asarray
        )

    @with_display_formats()
    def distances(self) -> pd.DataFrame:
        """Distances of each pair of class means, by (class, other).

        Columns: distance, Euclidean in the units of the columns, and D2, its square divided by the common
        variance `sd` squared.
        """
        i, j = np.triu_indices(len(self.classes), 1)
        d2 = self._fit.estimates.squared_mean_distances()[i, j]
        index = pd.MultiIndex.from_arrays([self.classes[i], self.classes[j]], names=["class", "other"])
        return pd.DataFrame({"distance": self.sd * np.sqrt(d2), "D2": d2}, index=index)

    @with_display_formats()
    def column_shares(self) -> pd.DataFrame:
        """Contributions of the columns to the squared distances.

        Returns
        -------
        DataFrame by term
            sd, the standard deviation of the column within classes (divisor N - K); within and between, the
            shares of the column in the sums of squares of all columns, within classes and of the class means
            about the common mean, weighted by class sizes. A share is missing if all these squares are zero.
        """
        estimates = self._fit.estimates
        moments = estimates.moments
        unit = estimates.moments.common_unit
        within = moments.squares.sum(axis=0)
        between = between_squares(moments)
        table = pd.DataFrame(
            {"sd": np.sqrt(within / estimates.residual_df) / moments.scale}, index=self.terms
        )
        for name, squares in (("within", within), ("between", between)):
            sums_of_squares = squares * unit * unit
            table[name] = sums_of_squares / sums_of_squares.sum() if sums_of_squares.any() else np.nan
        return table

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and term: class, term, estimate, std_error.

        The estimate is the class mean, and its standard error sd / sqrt(n_k).
        """
        index = class_term_index(self.classes, self.terms)
        errors = self.sd / np.sqrt(self._fit.counts)
        columns = {"estimate": self.means.to_numpy().ravel(), "std_error": np.repeat(errors, len(self.terms))}
        return pd.DataFrame(columns, index=index).reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, df_model, llf, aic, bic, sd."""
        return pd.DataFrame([self._glance() | {"sd": self.sd}])


# ---- its summary


def nearest_centroid_sections(
    results: NearestCentroidResults, fit: FittedModel[NearestCentroidFit]
) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header", "classes",
    "means", "distances" and "columns".
    """
    return {
        "header": _header_section,
        "classes": _classes_section,
        "means": _means_section,
        "distances": _distances_section,
        "columns": _columns_section,
    }


def _header_section(results: NearestCentroidResults, fit: FittedModel[NearestCentroidFit]) -> Pairs:
    """Return the header of the summary: rows, standard deviation, prior, likelihood, criteria and errors."""
    equal = not fit.estimates.estimated_prior and np.ptp(fit.prior) == 0
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem("Distance", DISTANCE_TEXT, DISTANCE_TEXT),
        HeaderItem("Standard deviation s", results.sd, f"{results.sd:.5g}"),
        HeaderItem("Prior", "equal", "equal", key="prior") if equal else headers.prior_item(fit),
        HeaderItem("Log-likelihood", results.llf, f"{results.llf:.2f}"),
        *headers.size_items(fit),
        HeaderItem("AIC", results.aic, f"{results.aic:.2f}"),
        HeaderItem("BIC", results.bic, f"{results.bic:.2f}"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _classes_section(results: NearestCentroidResults, fit: FittedModel[NearestCentroidFit]) -> Section:
    """Return the section of the classes: priors, rows and standard deviations.

    The standard deviation of a class is taken over all its columns; missing for a weight of one or less.
    """
    estimates = fit.estimates
    stats = estimates.limited_moments
    df = stats.counts - 1
    # Squares in units of s do not exceed the range of double precision.
    squares = (estimates.covariance.whiten(np.sqrt(stats.squares.T)) ** 2).sum(axis=0)
    class_variances = np.divide(squares, df * stats.n_columns, out=np.full(len(df), np.nan), where=df > 0)
    table = pd.DataFrame(
        {"prior": results.prior, "n": results.counts, "sd": results.sd * np.sqrt(class_variances)}
    )
    formats: dict[Any, Any] = {"prior": "share", "n": "count", "sd": "general"}
    title = "Classes, with standard deviations by class (classification uses the common s)"
    return Section(title, table, formats)


def _means_section(results: NearestCentroidResults, fit: FittedModel[NearestCentroidFit]) -> Section:
    """Return the section of the class means, rounded by the common standard deviation."""
    # Distances add up columns in their units; differences much smaller than s are negligible.
    return headers.means_section(fit, errors=dict.fromkeys(results.terms, results.sd / 2000))


def _distances_section(results: NearestCentroidResults, fit: FittedModel[NearestCentroidFit]) -> Section:
    """Return the section of the distances between class means, in units of s."""
    table = pd.DataFrame(
        np.sqrt(fit.estimates.squared_mean_distances()), index=results.classes, columns=results.classes
    )
    table = table.rename_axis(index=None, columns=None)
    return Section(
        "Distances between the means, in units of s",
        table,
        shared=True,
        triangle=True,
        source="fit.distances()",
    )


nearest_centroid_brief: Sections = {"classes": _classes_section, "means": _means_section}
"""Sections of the short summary."""


def _columns_section(results: NearestCentroidResults, fit: FittedModel[NearestCentroidFit]) -> Section:
    """Return the section of the columns: standard deviations and shares in the sums of squares."""
    formats: dict[Any, Any] = {"sd": "general", "within": "share", "between": "share"}
    note = "Squared distances add up in the units of the columns; columns with large shares dominate."
    return Section(
        "Standard deviations within classes, and shares in the sums of squares within and between classes",
        results.column_shares(),
        formats,
        note=note,
        source="fit.column_shares()",
        ranking=headers.rank_columns(fit.estimates.moments) if headers.has_many_columns(fit.terms) else None,
    )


class NearestCentroidSpec(ModelSpec[NearestCentroidFit]):
    """Specification of nearest centroids."""

    name = "nearest_centroid"
    title = "Nearest centroids"
    results_class = NearestCentroidResults
    refit_failure = (
        "a class has no row, or no row differs from the mean of its class",
        "knn(k=1, scale=False)",
    )
    constructor = staticmethod(fit_nearest_centroid)
    file_moments = "diagonal"
    allows_singular = True

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `nearest_centroid_sections` and `nearest_centroid_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return nearest_centroid_sections, nearest_centroid_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `NEAREST_CENTROID_PLOTS`, the `Plot` objects; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import NEAREST_CENTROID_PLOTS

        return NEAREST_CENTROID_PLOTS

    def required_moments(self, fit: FittedModel[NearestCentroidFit]) -> ScatterType:
        """Return "diagonal": a refit needs the means and variances of the columns by class."""
        return "diagonal"

    def has_marginals(self, fit: FittedModel[NearestCentroidFit]) -> bool:
        """Return True: `marginal_rule` supports each fit."""
        return True

    def marginal_rule(
        self, estimates: NearestCentroidFit, log_prior: Floats, method: str, keep: Codes
    ) -> Rule:
        """Return the rule of the columns at positions `keep` (q,); the others are integrated out.

        `log_prior` (K,) are the logs of the prior; `method` is ignored.
        """
        return centroid_marginal_rule(estimates, log_prior, method, keep)
