"""Kernel density discriminant analysis: the verb `kernel_density`, its results and its summary.

The bandwidth is an option, follows the normal rule, or is chosen by leaving rows out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.neighbours import kernel_density as core
from discrim.core.neighbours.kernel_density import Kernel, KernelDensityFit, KernelRule, Metric
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule, best_class, log_of_prior
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import gather_weighted_rows, read_rows
from discrim.errors import CollinearError, DataError
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import error_path, largest_acceptable, stored_path
from discrim.models.base.scores import posterior_frame
from discrim.models.results import headers
from discrim.models.results.geometry import GroupSummary
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

DEFAULT_RELATIVE_GRID = np.geomspace(0.15, 6.0, 30)
"""Default candidate bandwidths, as multiples of the bandwidth "normal"; see `BandwidthSearch.grid`."""


@dataclass(frozen=True, slots=True)
class BandwidthSearch:
    """Candidates for the bandwidth and the criterion that chooses among them.

    Attributes
    ----------
    grid : tuple of float or None
        Candidate bandwidths, each for all classes; None stands for `DEFAULT_RELATIVE_GRID` times the
        geometric mean over classes of the bandwidth "normal", and for the metric "euclidean" also times the
        root mean square of the standard deviations within classes.
    select : {"likelihood", "error"}
        Criterion of the choice, for rows left out: the largest likelihood or the smallest error.
    """

    grid: tuple[float, ...] | None
    select: Literal["likelihood", "error"]


def _raise_if_singular(moments: ClassMoments, design_rows: DesignRows, metric: str, is_common: bool) -> None:
    """Raise CollinearError if the covariance of the metric is singular, or there are too few rows for it.

    The error names the first class in which it is singular, or no class if the covariance is common.

    Parameters
    ----------
    moments : ClassMoments
        Class moments with the second moments of the metric.
    design_rows : DesignRows
        The rows, for names.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        The option `metric`; "euclidean" is never singular.
    is_common : bool
        Whether all classes have a common covariance.
    """
    classes = core.find_singular_metrics(moments, metric, is_common)
    if not classes:
        return
    k, columns = classes[0]
    scope = "within classes" if k is None else f"in class {format_value(design_rows.design.levels[k])}"
    alternative = 'metric="euclidean"' if is_common else 'covariance="pooled", or metric="euclidean"'
    if not columns:
        raise CollinearError(
            f"There are too few observations {scope} to estimate the variances of the metric.",
            hint=f"Add observations, or pass {alternative}.",
        )
    names = reading.join_labels(design_rows.terms[j] for j in columns)
    separation_note = reading.separation_note(moments, design_rows.terms)
    hint = (
        f"Pass {alternative}"
        if separation_note
        else f"Drop such columns from the formula, or pass {alternative}"
    )
    raise CollinearError(
        f"The covariance matrix {scope} is singular: {names} {'is' if len(columns) == 1 else 'are'} constant "
        f"or a linear combination of preceding columns.{separation_note}",
        hint=f"{hint}.",
        columns=[design_rows.terms[j] for j in columns],
        classes=() if k is None else (design_rows.design.levels[k],),
    )


def _raise_if_single_row_classes(
    moments: ClassMoments, design_rows: DesignRows, search: BandwidthSearch
) -> None:
    """Raise DataError if the likelihood chooses the bandwidth and a class has one row or only equal rows.

    A class whose weights sum to at most one counts as one row.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the classes.
    design_rows : DesignRows
        The rows, for labels.
    search : BandwidthSearch
        Criterion of the choice.
    """
    lone = np.flatnonzero((moments.counts <= 1) | ~(moments.squares > 0).any(axis=1))
    if search.select == "likelihood" and len(lone):
        k = int(lone[0])
        rows_text = "only one row" if moments.rows[k] == 1 else f"{moments.rows[k]} rows, which are all equal"
        raise DataError(
            f"Class {format_value(design_rows.design.levels[k])} has {rows_text}. Without them its density "
            "is zero at any bandwidth, and the likelihood of left-out rows cannot choose one.",
            hint='Pass bandwidth=, or select="error".',
            options={"select": "error"},
            classes=(design_rows.design.levels[k],),
        )


def _raise_if_bandwidth_too_small(fit: KernelDensityFit, design_rows: DesignRows, radii: Floats) -> None:
    """Raise DataError if a candidate bandwidth is below the rounding error of the distances.

    Parameters
    ----------
    fit : KernelDensityFit
        The fit, whose rows determine the rounding error.
    design_rows : DesignRows
        The rows, for labels.
    radii : (K, t) float64
        t candidate bandwidths of each class.
    """
    min_radii = fit.min_radii()
    too_small = np.argwhere(radii < min_radii[:, None])
    if len(too_small):
        k, i = too_small[0].tolist()
        raise DataError(
            f"A bandwidth of {radii[k, i]:.3g} is too small: distances between rows of class "
            f"{format_value(design_rows.design.levels[k])} have a rounding error of {min_radii[k]:.2g}.",
            hint="Use a larger bandwidth.",
            classes=(design_rows.design.levels[k],),
        )


def _choose_bandwidth(
    fit: KernelDensityFit, rows: tuple[Floats, Codes, Floats | None], search: BandwidthSearch
) -> tuple[KernelDensityFit, pd.DataFrame]:
    """Choose one bandwidth for all classes, with the largest likelihood or least error of left-out rows.

    Of many rows a sample is left out (`core.search_rows`). Rows of any class that are equal are left out
    together. A left-out row that no kernel reaches counts as an error. Of equal errors, the largest bandwidth
    is chosen.

    Parameters
    ----------
    fit : KernelDensityFit
        A fit to the rows; its bandwidth is not used. Its prior weights the errors of the classes.
    rows : tuple of (n, p) float64, (n,) int, (n,) float64 or None
        Rows, class positions and frequency weights; weights None stands for ones.
    search : BandwidthSearch
        Candidates and criterion.

    Returns
    -------
    fit : KernelDensityFit
        The fit with the chosen bandwidth.
    path : DataFrame
        A row for each candidate. Columns: bandwidth, error, se (standard error of the error), and llf, the
        log-likelihood of the left-out rows given their classes. `attrs["equal_rows"]` is the total weight of
        the groups of equal rows, of any class, with a weight above one; `attrs["sample"]` is the number of
        rows that were left out, 0 for all.

    Raises
    ------
    DataError
        The likelihood is the criterion and is zero at all candidates.
    """
    x, codes, weights = rows
    typical = float(np.exp(np.log(fit.normal_radii()).mean())) * fit.typical_deviation()
    grid = list(DEFAULT_RELATIVE_GRID * typical) if search.grid is None else list(search.grid)
    k = len(fit.prior)
    row_weights = np.ones(len(x)) if weights is None else weights
    log_prior = log_of_prior(fit.prior)
    left_out, strata = core.search_rows(fit, codes)
    totals, counts = (np.bincount(strata[rows], row_weights[rows], 2 * k) for rows in (slice(None), left_out))
    # The rows of a sample stand for all rows of their stratum.
    expansion = np.divide(totals, counts, out=np.zeros(2 * k), where=counts > 0)
    misclassified = np.zeros((len(grid), 2 * k))
    llf = np.zeros(len(grid))
    # Equal rows are in one group; None if all rows differ and have weights of at most one.
    _, row_ids = np.unique(x, axis=0, return_inverse=True)
    all_differ = row_ids.max(initial=-1) + 1 == len(x) and (weights is None or bool((weights <= 1).all()))
    groups = None if all_differ else row_ids.reshape(-1)
    radii = np.repeat(np.array(grid)[:, None], k, axis=1)
    chosen = fit.with_radii(radii[0], "chosen")
    with Progress(len(left_out), "choice of a bandwidth") as progress:
        for chunk, scores in core.left_out_kernel_scores(
            chosen, radii, log_prior, x, codes, groups, left_out
        ):
            # A row outside the reach of all kernels is unclassified and counts as an error.
            labels = best_class(scores.reshape(-1, k)).reshape(len(grid), -1)
            weights_by_stratum = row_weights[chunk, None] * np.equal(strata[chunk, None], np.arange(2 * k))
            misclassified += (labels != codes[chunk]) @ weights_by_stratum
            own_scores = scores[:, np.arange(len(chunk)), codes[chunk]]
            llf += (own_scores - log_prior[codes[chunk]]) @ (weights_by_stratum @ expansion)
            progress(len(chunk))
    stratum_prior = np.repeat(fit.prior / fit.moments.counts, 2) * totals
    sampled = fit.estimated_prior and len(left_out) == len(x)
    path = error_path("bandwidth", grid, misclassified, counts, stratum_prior, sampled=sampled)
    path.attrs["sample"] = len(left_out) if len(left_out) < len(x) else 0
    path["llf"] = llf
    path.attrs["equal_rows"] = (
        0.0 if groups is None else float(row_weights[np.bincount(groups, row_weights)[groups] > 1].sum())
    )
    if search.select == "error":
        best = largest_acceptable(path)
    else:
        if not np.isfinite(llf).any():
            raise DataError(
                "The likelihood of left-out rows is zero at each bandwidth of the grid: some row has no "
                "different row of its class within the bandwidth.",
                hint='Use larger bandwidths in grid=, or pass select="error".',
                options={"select": "error"},
            )
        best = grid[int(np.nanargmax(llf))]
    return fit.with_radii(np.full(k, float(best)), "chosen"), path


def _refit_rule(
    fit: FittedModel[KernelDensityFit], design_rows: DesignRows, search: BandwidthSearch | None = None
) -> KernelRule | None:
    """Refit to other rows and return the rule, under the prior of the fit.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows, with the classes of the fit.
    search : BandwidthSearch, optional
        Candidates to choose from again. None keeps the bandwidth of the fit, except that the bandwidth
        "normal" is computed from the rows.

    Returns
    -------
    KernelRule or None
        None if a class is empty or the covariance of the metric is singular, or if the likelihood is to
        choose the bandwidth and is zero at all candidates.
    """
    rows = gather_weighted_rows(design_rows)
    refit = fit.estimates.refit(*rows)
    if refit is not None and search is not None:
        try:
            refit, _ = _choose_bandwidth(refit, rows, search)
        except DataError:
            return None
    return None if refit is None else refit.rule(fit.log_prior())


class KernelDensityResults(ClassMeans, GroupSummary, ClassifierResults):
    """A fit of kernel densities.

    Attributes
    ----------
    means : DataFrame, classes by terms
        Class means.
    """

    _fit: FittedModel[KernelDensityFit]

    @property
    def bandwidth(self) -> pd.Series:
        """Radius r_k of the kernels of each class, in the metric; the standard deviation of normal kernels.

        Indexed by class.
        """
        return pd.Series(self._fit.estimates.radii, index=self.classes, name="bandwidth", copy=True)

    @property
    def kernel(self) -> str:
        """Shape of the kernels, an option of `discrim.kernel_density`."""
        return self._fit.estimates.kernel

    @property
    def metric(self) -> str:
        """Metric of the distances, an option of `discrim.kernel_density`."""
        return self._fit.estimates.metric

    @property
    @available_if()
    @with_display_formats(se="share")
    def path(self) -> pd.DataFrame:
        """Error of left-out rows, and their log-likelihood given the classes, by candidate bandwidth.

        Columns: bandwidth, error (a proportion, classes weighted by the prior), se (its standard error), llf.

        Rows that are equal in all columns are left out together, as in the choice; the error equals
        `error_rates(["loo"])` only if all rows differ. `attrs["equal_rows"]` is the number of rows that equal
        another one, or with weights the total weight of the groups of equal rows with a weight above one.
        `attrs["sample"]` is the number of rows that were left out if they are a sample, from which the error
        and the log-likelihood of all rows are estimated (see `discrim.kernel_density`), and 0 for all rows.

        Raises
        ------
        NotSupportedError
            The bandwidth was an option, or the fit was loaded.
        """
        reason = "because the bandwidth was set, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without bandwidth= to have it chosen")

    def log_densities(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Natural logarithms of the densities f_k(x) of the classes at rows, without the prior.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by classes
            Minus infinity if no kernel of the class reaches the row; NaN if the row has a missing value.
            The densities at rows of the fit include the rows' own kernels.

        Examples
        --------
        >>> from discrim import kernel_density
        >>> from discrim.datasets import load_iris
        >>> fit = kernel_density("species ~ petal_length", load_iris(), bandwidth=0.5, kernel="uniform")
        >>> fit.log_densities().iloc[0].round(3).tolist()
        [0.669, -inf, -inf]
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        flat = self._fit.estimates.rule(log_of_prior(np.ones(len(self.classes))))
        return posterior_frame(design_rows, flat, self.classes, np.asarray)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class: class, prior, rows (number or sum of weights), bandwidth."""
        table = pd.DataFrame({"prior": self.prior, "rows": self.counts, "bandwidth": self.bandwidth})
        return table.rename_axis("class").reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, kernel, metric, covariance, bandwidth.

        covariance is "pooled" or "class"; bandwidth is NaN if the classes have different ones.
        """
        radii = self._fit.estimates.radii
        row = {
            "kernel": self.kernel,
            "metric": self.metric,
            "covariance": "pooled" if self._fit.estimates.common else "class",
            "bandwidth": float(radii[0]) if (radii == radii[0]).all() else np.nan,
        }
        return pd.DataFrame([self._sizes() | row])


@reading.with_public_errors
def kernel_density(
    formula: str,
    data: Data,
    *,
    bandwidth: float | Literal["normal"] | Mapping[Any, float] | None = None,
    kernel: Kernel = "normal",
    metric: Metric = "mahalanobis",
    covariance: Literal["pooled", "class"] = "pooled",
    select: Literal["likelihood", "error"] = "likelihood",
    grid: Sequence[float] | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> KernelDensityResults:
    """Discriminant analysis by kernel densities of all columns together.

    The density of a class is the mean of kernels centred at its observations and may have any shape. With
    more than a few columns the observations are too far apart for the method to work well.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table
        Table in memory; sources that are read in chunks are refused.
    bandwidth : float, dict, or "normal", optional
        Radius r of the kernels in the metric, R= of SAS's DISCRIM: one number, or a dict by class. "normal"
        is the best radius for normal classes. By default it is chosen by leaving rows out.
    kernel : {"normal", "epanechnikov", "biweight", "triweight", "uniform"}
        Shape of the kernels, a function of the squared distance over the squared radius. All but "normal" end
        at the radius. "uniform" counts the rows within it.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        Distances are measured by the covariance, by its variances alone, or in the units of the columns:
        METRIC=FULL, DIAGONAL and IDENTITY in SAS.
    covariance : {"pooled", "class"}
        "pooled" is one covariance for all classes, divisor N - K, and "class" one for each, divisor n_k - 1:
        POOL=YES and NO in SAS.
    select : {"likelihood", "error"}
        Criterion of the bandwidth: the largest likelihood of the rows given their classes, or the smallest
        error and, of equal errors, the larger bandwidth. Both are for rows left out, and rows that are equal
        in all columns are left out together.
    grid : sequence of float, optional
        Bandwidths to choose from; by default 30 about the one of "normal", which the metric "euclidean"
        multiplies by the root mean square of the columns' standard deviations within classes.
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
    KernelDensityResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also a bandwidth that
        is not above zero, or that is below the rounding of distances; both a bandwidth and a grid; a grid
        without a bandwidth at which each row has a different row of its class within reach; and a class of
        one row, or of equal ones, if the likelihood chooses.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance of the metric is singular; the message names the columns.
    NotSupportedError
        The rows do not fit in memory.

    Notes
    -----
    The density of class k is the sum over its rows

        ``f_k(x) = sum_j w_j K((x - x_j)'V_k^-1 (x - x_j) / r_k^2) / (n_k r_k^p |V_k|^(1/2))``,

    and the posteriors follow by Bayes' theorem (Parzen, 1962, Annals of Mathematical Statistics 33,
    1065-1076; Silverman, 1986, Density Estimation for Statistics and Data Analysis, ch. 4; SAS/STAT User's
    Guide, The DISCRIM Procedure). The label and the posteriors of a row that no kernel reaches are missing
    (SAS's "Other"). The normal kernel reaches every row whose density does not underflow.

    "normal" is the bandwidth of least asymptotic mean integrated squared error for normal classes, computed
    for each class from its rows. For one column it agrees with SAS's documentation; for several columns SAS
    has another constant.

    Rounded or repeated values lead to equal rows. If a row were predicted from its copies, kernels of radius
    zero would have the largest likelihood, and the smallest bandwidth would be chosen. Therefore a choice of
    the bandwidth leaves out all rows that equal the row, of any class, and a frequency weight as a whole.
    `error_rates(["loo"])` leaves out one row.

    Of more than 2,048 rows, a choice of the bandwidth leaves out a sample of 1,000 or more, and compares each
    with all rows. A quarter of the sample are the rows of each class that are farthest from its mean, on
    which the likelihood depends most; the others are random, the same in each call. The size of the sample is
    ``path.attrs["sample"]``. Error rates in the summary of a fit to more than about 5,800 rows are estimated
    from a random sample too, which its header states; `error_rates()` uses all rows.

    Columns of normal kernels can be integrated out: ``missing="integrate"`` of `predict`.

    Leave-one-out is in closed form. It removes the row's own kernel, and the row from the covariance of the
    metric. The bandwidth and the prior are fixed. Folds and bootstrap samples are fitted again, and choose
    the bandwidth again if it was chosen.

    Examples
    --------
    >>> from discrim import kernel_density
    >>> from discrim.datasets import load_iris
    >>> fit = kernel_density("species ~ petal_length + petal_width", load_iris(), bandwidth=0.5)
    >>> fit.error_rates(["loo"])["wrong"].tolist()
    [5.0]
    """
    options = verb_options(locals())
    reading.check_word("kernel", kernel, Kernel)
    reading.check_word("metric", metric, Metric)
    reading.check_word("covariance", covariance, ("pooled", "class"))
    reading.check_word("select", select, ("likelihood", "error"))
    if bandwidth is not None and grid is not None:
        raise DataError("grid= cannot be combined with bandwidth=.", hint="Leave out one of the two.")
    candidates = None if grid is None else tuple(reading.check_grid(grid, "bandwidth", 0, ends="()"))
    is_common = covariance == "pooled"
    reason = "kernel_density() compares each row with all others, and"
    design_rows = read_rows(
        formula, data, weights=weights, levels=levels, functions=functions, in_memory=reason
    )
    reading.raise_if_large(design_rows, "kernel_density() keeps its rows")
    design_rows, moments = reading.usable_rows(design_rows, "diagonal", na_action)
    required_moments = core.required_moments_of_metric(metric, is_common)
    within = (
        moments if required_moments == "diagonal" else reading.class_moments(design_rows, required_moments)
    )
    _raise_if_singular(within, design_rows, metric, is_common)
    labels = pd.Index(list(design_rows.design.levels))
    priors, estimated = reading.read_prior(prior, labels, moments.counts)
    x, codes, row_weights = gather_weighted_rows(design_rows)
    fit = core.fit_kernel_density(
        moments, within, x, codes, row_weights, priors, kernel=kernel, metric=metric, common=is_common,
        estimated_prior=estimated,
    )  # fmt: skip
    if bandwidth is None:
        search = BandwidthSearch(candidates, select)
        _raise_if_single_row_classes(moments, design_rows, search)
        if candidates is not None:
            _raise_if_bandwidth_too_small(fit, design_rows, np.tile(candidates, (len(labels), 1)))
        fit, path = _choose_bandwidth(fit, (x, codes, row_weights), search)
        return KernelDensityResults(KernelDensitySpec(search).fit(fit, design_rows, options, path=path))
    if not (isinstance(bandwidth, str) and bandwidth == "normal"):
        radii = np.array(reading.option_by_class("bandwidth", bandwidth, labels, _read_bandwidth))
        fit = fit.with_radii(radii, "given")
        _raise_if_bandwidth_too_small(fit, design_rows, fit.radii[:, None])
    return KernelDensityResults(KernelDensitySpec().fit(fit, design_rows, options))


def _read_bandwidth(value: Any) -> float:
    """Return a bandwidth of the user as a float; raise DataError unless it is a number above zero."""
    alternatives = ', a dict of them by class, "normal", or None to have it chosen'
    return reading.check_number("bandwidth", value, 0, ends="()", also=alternatives)


@dataclass(frozen=True, eq=False)
class KernelDensitySpec(ModelSpec[KernelDensityFit]):
    """Specification of kernel density discriminant analysis.

    Parameters
    ----------
    search : BandwidthSearch, optional
        Candidates from which refits choose the bandwidth again; None if it was an option.
    """

    name = "kernel_density"
    title = "Kernel density discriminant analysis"
    results_class = KernelDensityResults
    refit_failure = (
        "the covariance of the metric is singular, or a class has no row",
        'metric="euclidean"',
    )
    leave_one_out_cost = 50
    compares_rows = True
    chosen_options = MappingProxyType({"bandwidth": "radii"})
    search_options = ("select", "grid")
    constructor = KernelDensityFit
    file_moments = "diagonal"
    allows_constant = True
    # Kernels that end at a radius do not reach a class mean without rows near it.
    scores_class_means = False

    search: BandwidthSearch | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `kernel_density_sections` and `kernel_density_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return kernel_density_sections, kernel_density_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        They are `shared.WITH_POSTERIORS` and "path".
        """
        from discrim.models.neighbours.plots import KERNEL_DENSITY_PLOTS

        return KERNEL_DENSITY_PLOTS

    def likelihood_of(self, fit: FittedModel[KernelDensityFit]) -> str:
        """Return "none": the model does not compute a likelihood; see `ModelSpec.likelihood_of`."""
        return "none"

    def required_moments(self, fit: FittedModel[KernelDensityFit]) -> None:
        """Return None: a refit needs the rows."""

    def choice_description(self, fit: FittedModel[KernelDensityFit]) -> str:
        """Return "the bandwidth" if it was chosen from the rows, otherwise ""."""
        return "" if self.search is None else "the bandwidth"

    def refit_to_rows(self, fit: FittedModel[KernelDensityFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that chooses the bandwidth again if it was chosen.

        None if a class is empty, the covariance of the metric is singular, or the likelihood is zero at all
        candidates for the bandwidth.
        """
        return _refit_rule(fit, rows, self.search)

    def refit_with_fixed(self, fit: FittedModel[KernelDensityFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps the bandwidth; the bandwidth "normal" is computed again.

        The covariance of the metric is estimated again. None if a class is empty or it is singular.
        """
        return _refit_rule(fit, rows)

    def leave_one_out(self, fit: FittedModel[KernelDensityFit]) -> Floats:
        """Return the scores (n, K) of the rows of the fit, each by the rule fitted without it.

        They are in closed form, but NaN for rows without which the caller has to refit. The bandwidth and the
        prior are fixed. NotSupportedError is raised if the fit does not have its rows.
        """
        x, codes, _ = gather_weighted_rows(fit.require_rows("leave_one_out()"))
        return fit.estimates.leave_one_out_scores(fit.log_prior(), x, codes)

    def leave_one_out_of_rows(
        self, fit: FittedModel[KernelDensityFit], x: Floats, codes: Codes, positions: Codes
    ) -> Floats:
        """Return the scores (m, K) of `leave_one_out` of some used rows; see `ModelSpec`."""
        return fit.estimates.leave_one_out_scores(fit.log_prior(), x, codes, positions)

    def fit_for_planes(self, fit: FittedModel[KernelDensityFit]) -> tuple[FittedModel[KernelDensityFit], str]:
        """Return a fit with kernels at a sample of `MAX_PLANE_KERNELS` rows, and a phrase that states this.

        It is the fit itself, with an empty phrase, if it does not have more rows.
        """
        estimates = fit.estimates.sampled(MAX_PLANE_KERNELS, MIN_PLANE_KERNELS)
        if estimates is fit.estimates:
            return fit, ""
        n_kernels = sum(len(class_points.weights) for class_points in estimates.points_by_class)
        return replace(fit, estimates=estimates, cache={}), f"densities from a sample of {n_kernels:,} rows"

    def has_marginals(self, fit: FittedModel[KernelDensityFit]) -> bool:
        """Return whether `marginal_rule` integrates columns out: only normal kernels allow this."""
        return fit.estimates.kernel == "normal"

    def marginal_rule(self, estimates: KernelDensityFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule of the columns at the positions `keep` (q,); the others are integrated out.

        The rule scores rows (m, q) under `log_prior` (K,) by the kernels of `estimates`, which have to be
        normal. Any `method` but "plugin" is a NotSupportedError.
        """
        return core.marginal_kernel_rule(estimates, log_prior, method, keep)


MAX_PLANE_KERNELS = 2000
MIN_PLANE_KERNELS = 100
"""Numbers of rows, and of rows of a class, whose kernels are evaluated at the points of a drawn plane."""

METRIC_TEXTS = {
    "mahalanobis": "covariance",
    "diagonal": "variances",
    "euclidean": "none: units of the columns",
}
"""Texts of the option `metric` in the header of the summary."""


def kernel_density_sections(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes" and "path"; each function accepts `results` and `fit` and returns a
    section. "path" is left out if the fit does not store the errors of a choice.
    """
    section_functions: Sections = {"header": _header_section, "classes": _classes_section}
    return section_functions if fit.path is None else section_functions | {"path": _path_section}


def _header_section(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Pairs:
    """Return the header of the summary: rows, kernel, metric, choice of the bandwidth, prior and errors.

    The errors are the apparent and the leave-one-out error.
    """
    estimates = fit.estimates
    scope = "" if results.metric == "euclidean" else ", pooled" if estimates.common else " of each class"
    metric = f"{METRIC_TEXTS[results.metric]}{scope}"
    choice_text = {"given": "given", "normal": "the normal rule", "chosen": "rows left out"}[
        estimates.radius_rule
    ]
    brief = "" if estimates.radius_rule == "given" else "bandwidth by"
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem("Kernel", results.kernel),
        HeaderItem("Metric", metric),
        HeaderItem("Bandwidth by", choice_text, brief=brief, options=("bandwidth",)),
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = "Bandwidths are radii in the metric."
    if results.kernel != "normal":
        note += " An observation that no kernel reaches has no class."
    if fit.path is not None:
        note += (
            " The leave-one-out error is optimistic, because the bandwidth was chosen by leaving rows out: "
            "see error_rates(['cv'])."
        )
    return headers.header(fit, items, note + headers.error_sample_note(fit))


def _classes_section(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Section:
    """Return the section of the classes: prior, rows and bandwidth."""
    table = pd.DataFrame({"prior": results.prior, "n": results.counts, "bandwidth": results.bandwidth})
    return Section("Classes", table, {"prior": "share", "n": "count"}, source="fit.prior, fit.bandwidth")


def _path_section(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Section:
    """Return the section of the candidate bandwidths, with left-out errors and log-likelihoods.

    "*" marks the chosen bandwidth.
    """
    path = results.path
    chosen = results.bandwidth.iloc[0]
    candidates = path["bandwidth"]
    table = path.set_index(candidates.map("{:.4g}".format))[["error", "se", "llf"]].rename_axis(None)
    table["chosen"] = np.where(np.isclose(candidates, chosen), "*", "")
    note = "llf is the log-likelihood of left-out rows, given their classes."
    if n_sampled := path.attrs["sample"]:
        note += f" It and the error are estimated from a sample of {n_sampled:,} rows that are left out."
    if n_equal := path.attrs["equal_rows"]:
        rows = f"{n_equal:g} of {results.counts.sum():g} rows"
        note += f" {rows} equal another row; equal rows are left out together."
    if len(candidates) > 1 and chosen in (candidates.iloc[0], candidates.iloc[-1]):
        end_text = "largest" if chosen == candidates.iloc[-1] else "smallest"
        note += f" The chosen bandwidth is the {end_text} candidate: see grid=."
    formats: dict[Any, Any] = {"error": "share", "se": "share", "chosen": "text"}
    title = "Left-out error and likelihood, by bandwidth"
    return Section(title, table, formats, headings=SHARED_HEADINGS, note=note, source="fit.path")


kernel_density_brief: Sections = {"classes": _classes_section}
"""Sections of the short summary, which follow the header."""
