"""Nearest shrunken centroids: the verb `shrunken_centroids`, its results and its summary.

Class means are shrunk to the common mean; columns whose means all shrink to it drop out of the rule. The
threshold is an option or is chosen by cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.naive_bayes.shrunken_centroids import ShrunkenFit, fit_shrunken, predict_along_path
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule, log_of_prior
from discrim.design.design_rows import DesignRows
from discrim.errors import CollinearError, DataError, UninformativeFitWarning, warn_user
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FOLD_OPTIONS, FittedModel, ModelSpec
from discrim.models.base.labels import class_term_index
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
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section, column_texts
from discrim.report.tables import Sections

MAX_THRESHOLDS = 10**6
"""Largest number of thresholds to try."""


def _choose_threshold(
    design_rows: DesignRows, fit: ShrunkenFit, search: GridSearch
) -> tuple[float, pd.DataFrame]:
    """Choose the threshold by cross-validation.

    The errors equal `error_rates(["cv"])` of fits with these thresholds and the same folds and seed.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    fit : ShrunkenFit
        A fit to these rows, whose prior weights the errors of the classes; its threshold is not used.
    search : GridSearch
        Candidate thresholds, or otherwise their number; folds, and rule of the choice.

    Returns
    -------
    threshold : float
        The largest threshold that the rule accepts: of smallest error, or within one standard error of it.
    path : DataFrame
        A row for each threshold. Columns: threshold, error, se, genes (number of columns that survive in the
        fit to all rows).

    Raises
    ------
    DataError
        A class has one row, test rows are absent, or the candidates are not valid.
    CollinearError
        In a training set a class is empty, the total weight is at most the number of classes, or s_0 is zero
        and a column does not vary within classes.
    """
    k = fit.moments.n_classes
    raise_if_single_row_classes(fit.moments, design_rows.design.levels, "threshold=")
    if search.grid is None:
        count = reading.check_integer(
            "n_thresholds", search.count, 2, MAX_THRESHOLDS, description="a number of thresholds"
        )
        thresholds = np.unique(np.linspace(0.0, float(fit.removal_thresholds().max()), count))
    else:
        alternative = ", or None for evenly spaced ones"
        thresholds = np.array(reading.check_grid(search.grid, "threshold", 0, also=alternative))
    moments, test_frequencies = search.folds.training_moments(design_rows, "diagonal")
    fold_fits = [
        _refit_to_fold(fit, fold_moments, search.folds, fold) for fold, fold_moments in enumerate(moments)
    ]
    log_prior = log_of_prior(fit.prior)
    misclassified = np.zeros((len(thresholds), k))
    class_counts = np.zeros(k)
    with Progress(design_rows.table.nrows * len(fold_fits), "choice of the threshold") as progress:
        for fold, x, codes, test_weights in iterate_test_rows(design_rows, test_frequencies, progress):
            class_weights = np.equal(codes[:, None], np.arange(k)) * test_weights[:, None]
            class_counts += class_weights.sum(axis=0)
            misclassified += (
                predict_along_path(fold_fits[fold], x, thresholds, log_prior) != codes
            ) @ class_weights
    raise_if_no_test_rows(class_counts, "thresholds")
    path = error_path(
        "threshold", thresholds, misclassified, class_counts, fit.prior, sampled=fit.estimated_prior
    )
    max_differences = np.sort(fit.removal_thresholds())
    path["genes"] = len(max_differences) - np.searchsorted(max_differences, thresholds, side="right")
    return float(search.acceptable_values(path).max()), path


def _refit_to_fold(fit: ShrunkenFit, moments: ClassMoments, folds: TuningFolds, fold: int) -> ShrunkenFit:
    """Refit to the training set of a fold; raise CollinearError if that is impossible.

    Parameters
    ----------
    fit : ShrunkenFit
        The fit whose options are used.
    moments : ClassMoments
        Class moments of the training set.
    folds : TuningFolds
        The folds, for the message.
    fold : int
        Number of the fold, for the message.

    Returns
    -------
    ShrunkenFit
        With the prior, threshold and offset option of `fit`.

    Raises
    ------
    CollinearError
        A class is empty, the total weight is at most the number of classes, or s_0 is zero and a column does
        not vary within classes.
    """
    refit = fit.refit(moments)
    if refit is None:
        scope, further_hint = folds.describe_training_rows(fold)
        raise CollinearError(
            f"{scope} some column does not vary within classes, or a class has no row.",
            hint=f"Pass an offset above 0, a threshold, or {further_hint}.",
        )
    return refit


CHOICE_NEEDS_ROWS = NeedsRows("The choice of a threshold requires the rows.", "Pass threshold=")
"""Message and hint of the error for a choice of the threshold with `moments=`."""


@reading.with_public_errors
def shrunken_centroids(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    threshold: float | Literal["1se"] | None = None,
    offset: float | Literal["median"] = "median",
    folds: int | Splits = 10,
    grid: Sequence[float] | None = None,
    n_thresholds: int = 30,
    seed: int | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> ShrunkenCentroidsResults:
    """Nearest shrunken centroids.

    The fit needs one pass over the rows and stores two numbers for each class and column: the cost of even
    thousands of columns is only the cost of adding them up.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments. The threshold must be given
        with moments, because it is chosen from rows.
    threshold : float or "1se", optional
        How far the standardized differences between the class means and the common mean are shrunk towards
        zero. If it is not given, it is chosen by cross-validation: the threshold of smallest error and, of
        equal errors, the larger one. "1se" chooses the largest threshold whose error is within one standard
        error of the smallest.
    offset : float or "median"
        s_0, which is added to the standard deviation of each column within classes: a number in the units of
        the columns, or the median of the standard deviations.
    folds : int, or iterable of (train, test)
        Number of folds of the choice, or splits as in scikit-learn; see the page on shared arguments.
    grid : sequence of float, optional
        Thresholds to try.
    n_thresholds : int
        Number of thresholds to try if `grid` is None. They are evenly spaced from 0 to the value at which no
        column is left, as in R's pamr.
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
    ShrunkenCentroidsResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also a negative
        threshold or offset, an empty grid, too few rows for the folds, and a class of one row if the
        threshold is to be chosen.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        Columns do not vary within classes and the offset is zero; the message names them.

    Notes
    -----
    The offset is one number for all columns: write standardize() in the formula if their units differ.
    `leave_one_out` keeps the threshold fixed. Folds and bootstrap samples, in `error_rates` and
    `discrim.cross_validate`, choose it again if it was chosen. Everything else is computed from the remaining
    rows, also M_k, which the folds of pamr compute from all rows.

    The difference d_kj = (m_kj - m_j) / (M_k (s_j + s_0)) is shrunk towards zero by the threshold. A row
    belongs to the class with the least sum_j ((x_j - m'_kj) / (s_j + s_0))^2 / 2 - ln prior_k, where m'_kj
    are the centroids of the shrunken differences (Tibshirani, Hastie, Narasimhan & Chu, 2002, PNAS 99,
    6567-6572; 2003, Statistical Science 18, 104-117). s_j has the divisor N - K. M_k is sqrt(1/n_k - 1/N) as
    in the second paper, pamr and scikit-learn: with the plus that the first paper prints, M_k s_j would not
    be the standard error of m_kj - m_j.

    Examples
    --------
    >>> from discrim import shrunken_centroids
    >>> from discrim.datasets import load_wine
    >>> fit = shrunken_centroids("cultivar ~ .", load_wine(), threshold=6.0)
    >>> fit.survivors().round(2)
    cultivar         barbera  barolo  grignolino
    proline             0.00   14.04       -8.30
    color_intensity     3.37    0.00       -4.59
    flavanoids         -3.76    2.64        0.00
    od280_od315        -2.24    0.00        0.00
    alcohol             0.00    0.83       -1.66
    ash_alcalinity      0.00   -0.91        0.00
    """
    options = verb_options(locals())
    fixed_threshold, select = read_choice(threshold)
    if fixed_threshold is not None:
        reading.check_number("threshold", fixed_threshold, 0, also=', or None or "1se" to have it chosen')
    if not (isinstance(offset, str) and offset == "median"):
        reading.check_number("offset", offset, 0, also=", or 'median'")
    table = formula, data, weights, levels, functions, na_action
    sample = Sample("shrunken_centroids", "diagonal", moments, *table)
    if sample.has_rows:
        design_rows, stats = reading.usable_rows(sample.read(), "diagonal", na_action)
    else:
        design_rows, stats = sample.read_moments(
            "diagonal", CHOICE_NEEDS_ROWS if fixed_threshold is None else None
        )
    reading.raise_if_no_within_variance(stats)
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    fit = fit_shrunken(
        stats, priors, threshold=fixed_threshold or 0.0, offset=offset, estimated_prior=estimated
    )
    constant = fit.columns_without_scale()
    if constant:
        zero_text = (
            "the offset"
            if offset != "median"
            else "the median of the standard deviations, which is the offset,"
        )
        raise CollinearError(
            f"{reading.join_labels(design_rows.terms[dependency.column] for dependency in constant)} "
            f"{'does' if len(constant) == 1 else 'do'} not vary within classes, and {zero_text} is 0. "
            "Differences cannot be standardized.",
            hint="Pass an offset above 0, or leave out such columns.",
            columns=[design_rows.terms[dependency.column] for dependency in constant],
        )
    path = search = None
    if fixed_threshold is None:
        search = GridSearch(grid, TuningFolds.read(folds, seed, design_rows), select, n_thresholds)
        chosen, path = _choose_threshold(design_rows, fit, search)
        fit = replace(fit, threshold=chosen)
    if not fit.shrunken_differences().any():
        warn_user(
            f"No column survives the threshold {fit.threshold:g}: all posterior probabilities equal the "
            "prior. The largest threshold at which a column survives is just below "
            f"{fit.removal_thresholds().max():.4g}.",
            UninformativeFitWarning,
        )
    spec = ShrunkenCentroidsSpec(search)
    return ShrunkenCentroidsResults(spec.fit(fit, design_rows, options, has_rows=sample.has_rows, path=path))


class ShrunkenCentroidsResults(LinearScores, ClassMeans, GroupSummary, ClassifierResults):
    """A fit of nearest shrunken centroids.

    Attributes
    ----------
    means, centroids : DataFrame, classes by terms
        Class means, and these means after their distances from the common mean are shrunk.
    coef : DataFrame, terms by classes
        Coefficients of the linear scores; zero for columns that do not survive.
    intercept : Series by class
        Constants of the linear scores, including the log prior: x'coef + intercept is largest for the
        predicted class.
    """

    _fit: FittedModel[ShrunkenFit]

    @property
    def shrinkage_threshold(self) -> float:
        """Threshold by which standardized differences are shrunk towards zero."""
        return self._fit.estimates.threshold

    @property
    def offset(self) -> float:
        """Number s_0 that is added to each standard deviation, in the units of the columns."""
        return self._fit.estimates.added

    @property
    @available_if()
    @with_display_formats(se="share")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors of the candidate thresholds, in increasing order.

        Columns: threshold, error (a proportion, classes weighted by the prior), se (its standard error) and
        genes (the number of columns that survive in the fit to all rows).

        Raises
        ------
        NotSupportedError
            The threshold was an option, or the fit was loaded.
        """
        reason = "because the threshold was set, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without threshold= to have it chosen")

    @property
    def overall(self) -> pd.Series:
        """Common mean m_j, over all rows and not over class means, by term."""
        estimates = self._fit.estimates
        overall = estimates.moments.origin + estimates.centre / estimates.moments.scale
        return pd.Series(overall, index=self.terms, name="overall")

    @property
    def sd(self) -> pd.Series:
        """Pooled standard deviations s_j within classes, divisor N - K, without the offset, by term."""
        return pd.Series(self._fit.estimates.sd, index=self.terms, name="sd", copy=True)

    @property
    def centroids(self) -> pd.DataFrame:
        """Class means shrunken towards the mean of all rows, classes by terms."""
        fit = self._fit.estimates
        shift = fit.shrunken_differences() * fit.errors[:, None] * (fit.sd + fit.added)
        return pd.DataFrame(self.overall.to_numpy() + shift, index=self.classes, columns=self.terms)

    @property
    def selected(self) -> pd.Index:
        """Columns that the rule uses, the one with the largest absolute shrunken difference first."""
        return self.survivors().index

    @with_display_formats(every="z")
    def survivors(self, threshold: float | None = None) -> pd.DataFrame:
        """Columns that survive, with their shrunken standardized differences by class.

        Parameters
        ----------
        threshold : float, optional
            A threshold; by default the threshold of the fit.

        Returns
        -------
        DataFrame, terms by classes
            d'_kj, the column with the largest absolute value first, without columns whose differences are all
            zero.
        """
        if threshold is not None:
            reading.check_number("threshold", threshold, 0, also=", or None for the threshold of the fit")
        shrunken = self._fit.estimates.shrunken_differences(threshold)
        size = np.abs(shrunken).max(axis=0)
        order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
        return pd.DataFrame(shrunken[:, order].T, index=self.terms[order], columns=self.classes)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and term, the terms of a class together.

        Columns: class, term, mean, centroid, and the standardized differences d_kj (difference) and d'_kj
        (shrunken).
        """
        index = class_term_index(self.classes, self.terms)
        columns = {
            "mean": self._fit.estimates.moments.class_means,
            "centroid": self.centroids.to_numpy(),
            "difference": self._fit.estimates.differences,
            "shrunken": self._fit.estimates.shrunken_differences(),
        }
        flat = {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(flat, index=index).reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, threshold, offset, selected (number of columns)."""
        row = self._sizes() | {"threshold": self.shrinkage_threshold, "offset": self.offset}
        selected = int(self._fit.estimates.shrunken_differences().any(axis=0).sum())
        return pd.DataFrame([row | {"selected": selected}])


@dataclass(frozen=True, eq=False)
class ShrunkenCentroidsSpec(ModelSpec[ShrunkenFit]):
    """Specification of nearest shrunken centroids.

    Parameters
    ----------
    search : GridSearch, optional
        Candidates and folds by which refits choose the threshold again; None if it was an option.
    """

    name = "shrunken_centroids"
    title = "Nearest shrunken centroids"
    results_class = ShrunkenCentroidsResults
    refit_failure = (
        "no column varies, or the threshold is chosen and a class has one row",
        "a threshold= that is given",
    )
    chosen_options = MappingProxyType({"threshold": "threshold"})
    search_options = (*FOLD_OPTIONS, "n_thresholds")
    constructor = staticmethod(fit_shrunken)
    file_moments = "diagonal"
    allows_constant = True

    search: GridSearch | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `shrunken_centroids_sections` and `shrunken_centroids_brief`, for full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return shrunken_centroids_sections, shrunken_centroids_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "centroids" and "path".
        """
        from discrim.models.naive_bayes.plots import SHRUNKEN_CENTROIDS_PLOTS

        return SHRUNKEN_CENTROIDS_PLOTS

    def required_moments(self, fit: FittedModel[ShrunkenFit]) -> ScatterType | None:
        """Return "diagonal" if the threshold was an option; None if a refit needs rows to choose it."""
        return super().required_moments(fit) if self.search is None else None

    def choice_description(self, fit: FittedModel[ShrunkenFit]) -> str:
        """Return "the threshold" if it was chosen from the rows, otherwise ""."""
        return "" if self.search is None else "the threshold"

    def refit_to_rows(self, fit: FittedModel[ShrunkenFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit under the prior of the fit.

        If the threshold of the fit was chosen, it is chosen again from these rows; otherwise it is fixed.
        None if a class is empty, the total weight is at most the number of classes, s_0 is zero and a column
        does not vary within classes, or the threshold cannot be chosen.
        """
        if self.search is None:
            return self.refit_with_fixed(fit, rows)
        refit = fit.estimates.refit(reading.class_moments(rows, fit.estimates.moments.scatter_type))
        if refit is None:
            return None
        try:
            chosen, _ = _choose_threshold(rows, refit, self.search)
        except (CollinearError, DataError):
            return None
        return replace(refit, threshold=chosen).rule(fit.log_prior())

    def has_marginals(self, fit: FittedModel[ShrunkenFit]) -> bool:
        """Return True: `marginal_rule` integrates columns out."""
        return True

    def marginal_rule(self, estimates: ShrunkenFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule of the columns at positions `keep` (q,), without the terms of the other columns.

        The rule scores rows (m, q) under `log_prior` (K,). `method` is not used.
        """
        return estimates.rule_for_columns(log_prior, keep)


MAX_SURVIVORS_BRIEF = 10
"""Number of surviving columns that the short summary shows."""

MAX_SURVIVORS = 30
"""Number of surviving columns that the summary shows."""


def shrunken_centroids_sections(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes", "path" and "survivors"; each function accepts `results` and `fit` and
    returns a section. "path" is left out if the fit does not store the errors of a choice.
    """
    section_functions: Sections = {
        "header": _header_section,
        "classes": _classes_section,
        "path": _path_section,
        "survivors": _survivors_section,
    }
    if fit.path is None:
        del section_functions["path"]
    return section_functions


def _header_section(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Pairs:
    """Return the header of the summary: rows, threshold, offset, number of selected columns, and errors.

    The errors are the apparent and the leave-one-out error.
    """
    offset_text = "median of s" if fit.estimates.offset == "median" else "given"
    n_selected = len(results.selected)
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem(
            "Threshold",
            results.shrinkage_threshold,
            f"{results.shrinkage_threshold:.4g}",
            brief="threshold",
            options=("threshold",),
        ),
        headers.chosen_item(fit, "cross-validation"),
        HeaderItem(f"Offset s0, {offset_text}", results.offset, f"{results.offset:.4g}"),
        HeaderItem("Standard deviation s", "pooled, 1/(N-K)"),
        *headers.size_items(fit),
        HeaderItem("Columns selected", n_selected, brief="columns selected", options=("select",)),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = "" if n_selected else "No column survives the threshold: all posteriors equal the prior. "
    return headers.header(fit, items, f"{note}{headers.fixed_choice_note(fit)}".strip())


def _classes_section(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Section:
    """Return the section of the classes: priors, rows and numbers of nonzero shrunken differences."""
    n_columns = (fit.estimates.shrunken_differences() != 0).sum(axis=1)
    table = pd.DataFrame(
        {"prior": results.prior, "n": results.counts, "columns": n_columns}, index=results.classes
    )
    formats: dict[Any, Any] = {"prior": "share", "n": "count", "columns": "count"}
    return Section(
        "Classes, with the columns in which their centroids differ from the common mean",
        table,
        formats,
        source="fit.prior, fit.counts, fit.survivors()",
    )


def _path_section(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Section:
    """Return the section of error, se and genes (columns left) by threshold; "*" marks the chosen one."""
    path = results.path
    table = path.set_index("threshold")
    table.index = pd.Index(column_texts(path["threshold"].tolist(), "general"))
    table["chosen"] = np.where(path["threshold"] == results.shrinkage_threshold, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "genes": "count", "chosen": "text"}
    title = "Cross-validated error by threshold"
    return Section(title, table, formats, headings=SHARED_HEADINGS | {"genes": "columns"}, source="fit.path")


def _survivors_section(
    results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit], max_columns: int = MAX_SURVIVORS
) -> Section:
    """Return the section of the shrunken differences of the columns that survive.

    Parameters
    ----------
    results : ShrunkenCentroidsResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    max_columns : int
        Largest number of columns to show; a note contains the number of the others.

    Returns
    -------
    Section
        Terms by classes; without rows, and with a note, if no column survives.
    """
    table = results.survivors()
    n_omitted = len(table) - max_columns
    omitted_text = f" And {n_omitted} more: fit.survivors()." if n_omitted > 0 else ""
    note = f"In decreasing order; zero means that the centroid equals the common mean.{omitted_text}"
    return Section(
        "Shrunken standardized differences from the common mean",
        table.head(max_columns).rename_axis(columns=None),
        "z",
        note=note if len(table) else "No column survives the threshold.",
        source="fit.survivors()",
    )


shrunken_centroids_brief: Sections = {
    "classes": _classes_section,
    "survivors": partial(_survivors_section, max_columns=MAX_SURVIVORS_BRIEF),
}
"""Sections of the short summary: classes, and the first surviving columns."""
