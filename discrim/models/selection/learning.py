"""Learning curves: the error of a model by the number of training rows, and a power law fitted to it.

The method `learning_curve` of fits returns a `LearningCurve`. Rules are fitted to subsets of the rows, like
in cross-validation, and tested on the other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.design.rows import used_codes
from discrim.errors import DataError, DiscrimError, NotSupportedError, warn_user
from discrim.inference.error_rates import check_level, exact_interval, exact_interval_of_dependent_rows
from discrim.inference.resampling import seed_or_random
from discrim.inference.sample_size import bootstrap_error_rates, bootstrap_weights, fit_power_law
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import check_integer, check_number, format_argument
from discrim.models.evaluation import permuted
from discrim.models.plots.plottable import PlotOptions, draw_plot, plot
from discrim.models.selection.comparable import no_label_reason
from discrim.models.selection.cross_validation import cross_validate_on_folds
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.plots.evaluation import draw_learning_curve
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

DEFAULT_PROPORTIONS = (0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 0.9)
"""Default training sizes, as proportions of the rows."""

N_RESAMPLES = 200
"""Number of bootstrap samples of rows for the intervals."""

MIN_SIZES = 3
"""Smallest number of training sizes to which the power law is fitted."""

EXTRAPOLATION_FACTOR = 10
"""The plot extrapolates the power law to this multiple of the number of rows."""

ASSUMPTIONS = (
    "Intervals account for the sampling of the test observations, not of the training observations. "
    "Predictions for larger tables assume the power law error = a + b n^-c."
)


@dataclass(frozen=True, slots=True, eq=False)
class _SizeErrors:
    """Test results of the rules of one training size.

    Attributes
    ----------
    rows : float
        Number of training rows, or sum of their weights; the mean over the rules.
    n_rules : int
        Number of rules that were fitted.
    wrong_counts, tested_counts : (n,) float
        How often each of the n rows of the table was misclassified, and how often it was tested; 0 for rows
        that the fit does not use.
    """

    rows: float
    n_rules: int
    wrong_counts: Floats
    tested_counts: Floats


def _effective_sizes(
    tested_counts: Floats, weights: Floats, frequencies: Floats, clusters: Codes | None
) -> tuple[float, float]:
    """Return the effective number of tested rows, and the number of independent units among them.

    Units are the groups or, without groups, the rows.

    Parameters
    ----------
    tested_counts : (n,) float
        How often each of n rows was tested.
    weights : (n,) float
        Weights w of the rows in the mean error.
    frequencies : (n,) float
        Frequency weights f.
    clusters : (n,) int or None
        Group of each row.

    Returns
    -------
    n_rows : float
        Kish's effective sample size (sum w)^2 / sum(w^2 / f) of the tested rows.
    n_units : float
        Number of groups; without groups equal to `n_rows`.
    """
    is_counted = (tested_counts > 0) & (weights > 0)
    counted_weights = weights[is_counted]
    rows = float(counted_weights.sum() ** 2 / (counted_weights**2 / frequencies[is_counted]).sum())
    return rows, rows if clusters is None else float(len(np.unique(clusters[is_counted])))


class LearningCurve(SummarizedResults):
    """Error of a model by the number of training rows.

    Attributes
    ----------
    table : DataFrame by rows
        By the rounded mean number of training rows (sum of weights): `error` of held-out rows, se, low, high,
        and the number of `rules`. Intervals are bootstrap intervals or, if they are wider, exact intervals
        (Clopper and Pearson) for the effective number of rows.
    params : Series
        Parameters a, b and c of the power law error = a + b n^-c; a is the limit for large n.
    failed : dict of float to str
        Training proportions for which no rule could be fitted, and the reasons.
    seed : int
        Seed that reproduces the subsets of rows.
    """

    def __init__(
        self, fit: FittedModel[Any], results: Sequence[_SizeErrors], weights: Floats, frequencies: Floats,
        clusters: Codes | None, failed: dict[float, str], seed: int, level: float,
    ) -> None:  # fmt: skip
        """Summarize the test results, and fit the power law to their errors.

        Parameters
        ----------
        fit : FittedModel
            The fit to all n rows.
        results : sequence of _SizeErrors
            Test results by training size, in increasing order.
        weights : (n,) float
            Weights of the rows in the mean error: the frequency weights, times a factor of the class if the
            user passed a prior.
        frequencies : (n,) float
            Frequency weights; 0 for rows that the fit does not use.
        clusters : (n,) int or None
            Group of each row.
        failed : dict of float to str
            Reasons for training proportions without rules.
        seed : int
        level : float
            Level of the intervals.
        """
        self.seed = seed
        self.failed = failed
        self._level = level
        self._fit = fit
        wrong_counts, tested_counts = (
            np.stack([getattr(result, name) for result in results])
            for name in ("wrong_counts", "tested_counts")
        )
        n = np.array([result.rows for result in results])
        errors = (wrong_counts @ weights) / (tested_counts @ weights)
        draw_weights = bootstrap_weights(np.random.default_rng(seed), weights, clusters)
        resampled_errors = bootstrap_error_rates(wrong_counts, tested_counts, draw_weights, N_RESAMPLES)
        variances = np.nanvar(resampled_errors, axis=0)
        precisions = (
            np.ones(len(n)) if not variances.any() else 1 / np.maximum(variances, 1e-3 * variances.max())
        )
        self._power_law = fit_power_law(n, errors[None], precisions)
        self._resampled_power_laws = fit_power_law(
            n, resampled_errors[np.isfinite(resampled_errors).all(axis=1)], precisions
        )
        low, high = np.nanquantile(resampled_errors, [(1 - level) / 2, (1 + level) / 2], axis=0)
        # Bootstrap intervals are too narrow if the number of errors is zero or small.
        sizes = [_effective_sizes(counts, weights, frequencies, clusters) for counts in tested_counts]
        exact_limits = np.array(
            [
                exact_interval_of_dependent_rows(error, variance, *size, level)
                for error, variance, size in zip(errors.tolist(), variances.tolist(), sizes, strict=True)
            ]
        )
        low, high = np.minimum(low, exact_limits[:, 0]), np.maximum(high, exact_limits[:, 1])
        self._zero_error_limit = exact_interval(0.0, max(units for _, units in sizes), level)[1]
        columns = {"error": errors, "se": np.sqrt(variances), "low": low, "high": high}
        index = pd.Index(np.round(n).astype(np.int64), name="rows")
        self._table = pd.DataFrame(columns | {"rules": [result.n_rules for result in results]}, index=index)

    @property
    @with_display_formats(every="share", rules="count")
    def table(self) -> pd.DataFrame:
        """error, se, low, high and number of rules by number of training rows, as a copy."""
        return self._table.copy()

    @property
    def params(self) -> pd.Series:
        """Parameters a, b and c of the power law, by these names."""
        return pd.Series({name: float(values[0]) for name, values in self._power_law._asdict().items()})

    @with_display_formats(every="share")
    def predict(self, rows: int | Sequence[int]) -> pd.DataFrame:
        """Predict the error for other numbers of training rows by the power law.

        Parameters
        ----------
        rows : int or sequence of int
            Total numbers of rows in all classes, at least 1.

        Returns
        -------
        DataFrame by rows
            error, low, high. The interval is a bootstrap interval whose upper limit is at least the exact
            upper limit of zero errors in the tested rows. It assumes that the power law holds.
        """
        row_counts = [rows] if np.isscalar(rows) else rows
        if not isinstance(row_counts, Sequence | np.ndarray | pd.Index) or isinstance(row_counts, str):
            raise DataError(
                f"rows={format_argument(rows)} is not valid.",
                hint="Pass a number of rows, or a list of numbers.",
            )
        n_rows = np.array([check_integer("rows", n, 1) for n in row_counts], dtype=np.float64)
        curves = self._resampled_power_laws.evaluate(n_rows)
        low, high = np.quantile(curves, [(1 - self._level) / 2, (1 + self._level) / 2], axis=0)
        high = np.maximum(high, self._zero_error_limit)
        index = pd.Index(n_rows.astype(np.int64), name="rows")
        return pd.DataFrame(
            {"error": self._power_law.evaluate(n_rows)[0], "low": low, "high": high}, index=index
        )

    def rows_for(self, error: float) -> int | None:
        """Return the number of training rows for a target error by the power law; None if it is out of reach.

        Parameters
        ----------
        error : float
            Target error, between 0 and 1.

        Returns
        -------
        int or None
            None if the target is not above the limit a of the error, if errors do not decrease, or if the
            number does not fit in 64 bits.
        """
        error = check_number("error", error, 0, 1, ends="()")
        a, b, c = self.params
        if error <= a or b <= 0:
            return None
        rows = np.exp(np.log(b / (error - a)) / c)
        return int(np.ceil(rows)) if rows < np.iinfo(np.int64).max else None

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """The table with the column names of R's broom, and the errors fitted by the power law.

        The columns are rows, estimate, std_error, conf_low, conf_high and fitted.
        """
        table = self._table
        return pd.DataFrame(
            {
                "rows": table.index,
                "estimate": table["error"].to_numpy(),
                "std_error": table["se"].to_numpy(),
                "conf_low": table["low"].to_numpy(),
                "conf_high": table["high"].to_numpy(),
                "fitted": self._power_law.evaluate(table.index.to_numpy(dtype=np.float64))[0],
            }
        )

    def plot(self, ax: Axes | None = None, *, colors: Any = None, title: str | None = None) -> Axes:
        """Plot the errors by number of training rows and the power law, with confidence intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        colors : mapping, sequence, str or Colormap, optional
            Colour of the power law, or a colormap of matplotlib or its name.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        return draw_plot((self,), CURVE_PLOTS, None, PlotOptions(ax, colors=colors, title=title))

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections to include, in order, or "all"; by default all. The keys are "header",
            "errors" and "ahead" (predictions).
        """
        return curve_summary(self, sections)


def learning_curve(
    fit: FittedModel[Any],
    sizes: Sequence[float] | None,
    repeats: int,
    groups: Any,
    seed: int | None,
    level: float,
    *,
    nested: bool,
) -> LearningCurve:
    """Compute the learning curve of a fit.

    Parameters
    ----------
    fit : FittedModel
    sizes : sequence of float or None
        Training sizes as proportions of the rows, between 0 and 1; None for the default.
    repeats : int
        Number of random partitions for each size.
    groups : column name, (n,) array or None
        Groups of rows that are not divided.
    seed : int or None
        Seed of the partitions; None for a random one, which the result stores.
    level : float
        Level of the intervals.
    nested : bool
        Whether choices of the fit, such as tuning parameters, are made again for each rule.

    Returns
    -------
    LearningCurve
        Sizes to which no rule can be fitted are in its `failed`.

    Raises
    ------
    DataError
        A size is not between 0 and 1, or another argument is invalid.
    NotSupportedError
        Rules can be fitted to fewer than `MIN_SIZES` of the sizes. If they can be fitted to enough but not to
        all, a warning names the others.
    """
    design_rows = fit.require_rows("learning_curve()")
    check_level(level)
    fit = fit.fit_before_selection() if nested else fit
    seed = seed_or_random(seed)
    proportions = DEFAULT_PROPORTIONS if sizes is None else sizes
    if not isinstance(proportions, Sequence | np.ndarray) or isinstance(proportions, str):
        raise DataError(
            f"sizes={format_argument(sizes)} is not valid.",
            hint="Pass proportions of the rows, for example [0.1, 0.3, 0.5, 0.8].",
        )
    results = []
    failed = {}
    for proportion in sorted({check_number("sizes", size, 0, 1, ends="()") for size in proportions}):
        try:
            results.append(_evaluate_size(fit, proportion, repeats, groups, seed, nested=nested))
        except NotSupportedError as error:
            failed[proportion] = str(error)
    if len(results) < MIN_SIZES:
        reason = f" {failed[max(failed)]}" if failed else ""
        raise NotSupportedError(
            f"A learning curve requires {MIN_SIZES} training sizes, but rules can be fitted to only "
            f"{len(results)} of the sizes.",
            hint=f"Pass more or larger sizes=.{reason}",
        )
    if failed:
        warn_user(
            f"No rule can be fitted to {', '.join(f'{proportion:.3g}' for proportion in failed)} of the "
            f"rows, so the curve begins at {results[0].rows:.0f} rows. {next(iter(failed.values()))}"
        )
    used_class_codes = used_codes(design_rows)
    weights = frequencies = np.where(
        used_class_codes >= 0, 1.0 if design_rows.weights is None else design_rows.weights, 0.0
    )
    if not fit.estimates.estimated_prior:
        counts = np.bincount(
            used_class_codes[used_class_codes >= 0], weights[used_class_codes >= 0], len(fit.classes)
        )
        weights = weights * np.where(
            used_class_codes >= 0, (fit.prior_values() / counts)[used_class_codes], 0.0
        )
    clusters = None if groups is None else permuted.number_labels(groups, design_rows.table, "groups")
    return LearningCurve(fit, results, weights, frequencies, clusters, failed, seed, level)


def _evaluate_size(
    fit: FittedModel[Any], proportion: float, repeats: int, groups: Any, seed: int, *, nested: bool
) -> _SizeErrors:
    """Fit rules to about a proportion of the rows, and test them on the other rows.

    In each repeat the rows are divided into n_folds folds, the rounded reciprocal of the smaller one of
    `proportion` and 1 - `proportion`, but at least two. For a proportion below one half (if there are more
    than two folds) one rule is fitted, to the first fold, and tested on all others. Otherwise a rule without
    each fold is tested on the fold.

    Parameters
    ----------
    fit : FittedModel
    proportion : float
        Proportion of training rows, between 0 and 1.
    repeats, groups, nested : see `learning_curve`
    seed : int
        Seed of the folds.

    Returns
    -------
    _SizeErrors
        Counts over all repeats and rules; a row without a prediction is not tested.

    Raises
    ------
    NotSupportedError
        A rule cannot be fitted to so few rows, or no row has a prediction.
    """
    design_rows = fit.require_rows("learning_curve()")
    n_folds = max(round(1 / min(proportion, 1 - proportion)), 2)
    fold_ids, labels = permuted.shared_folds(design_rows, n_folds, repeats, groups, seed)
    fold_ids = np.where(used_codes(design_rows) >= 0, fold_ids, -1)
    fits_one_fold = proportion < 0.5 and n_folds > 2
    if fits_one_fold:
        # Fold 1 has the training rows. It is not left out: its label is missing.
        fold_ids = np.where(fold_ids < 0, -1, (fold_ids == 0).astype(np.intp))
        labels = ["test rows"]
    try:
        cv = cross_validate_on_folds(fit, fold_ids, labels, None, None, nested=nested)
    except NotSupportedError as error:
        # The message names a fold, but users of a learning curve do not know the folds.
        cause = error.__cause__
        reason = (
            f": {cause.message}" if isinstance(cause, DiscrimError) else f" ({fit.spec.refit_failure[0]})."
        )
        raise NotSupportedError(
            f"The model cannot be fitted to {proportion:.3g} of the rows{reason}",
            hint="Pass larger sizes=.",
            columns=error.columns,
            classes=error.classes,
        ) from None
    is_tested = (fold_ids == 0 if fits_one_fold else fold_ids >= 0) & (cv._predicted >= 0)
    is_wrong = is_tested & (cv._predicted != cv._actual)
    if not is_tested.any():
        message, hint = no_label_reason(fit, f"rules fitted to {proportion:.3g} of the rows without it")
        raise NotSupportedError(message, hint=hint)
    counted_weights = (fold_ids >= 0) * (
        1.0 if design_rows.weights is None else np.where(fold_ids >= 0, design_rows.weights, 0.0)
    )
    used = float(counted_weights[0].sum())
    rows = (
        float(counted_weights[fold_ids == 1].sum()) / repeats if fits_one_fold else used * (1 - 1 / n_folds)
    )
    rules = repeats * (1 if fits_one_fold else n_folds)
    return _SizeErrors(
        rows, rules, is_wrong.sum(axis=0).astype(np.float64), is_tested.sum(axis=0).astype(np.float64)
    )


def curve_summary(curve: LearningCurve, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a learning curve: header, errors, and predictions for larger tables.

    `sections` has keys among "header", "errors" and "ahead" (predictions), in the order wanted; None or "all"
    for all.
    """
    table = curve.table
    fit = curve._fit
    limit, scale, power = curve.params
    n = round(float(np.sum(fit.counts)))
    predicted = curve.predict([n, 2 * n, 5 * n, 10 * n])
    current_error = float(predicted["error"].iloc[0])
    items: list[HeaderItem] = [
        HeaderItem("Observations", n, f"{n:,}"),
        HeaderItem("Predicted error with these", current_error, f"{100 * current_error:.2f} %"),
        HeaderItem("Predicted limit of the error", limit, f"{100 * limit:.2f} %"),
        HeaderItem(
            "Exponent of the power law", power, f"{power:.3g}" if scale > 0 else "none: no decrease of errors"
        ),
        HeaderItem("Seed", curve.seed),
    ]
    formats: dict[Any, Any] = dict.fromkeys(["error", "se", "low", "high"], "share") | {"rules": "count"}
    section_builders: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: Pairs(fit.formula, items, ASSUMPTIONS),
        "errors": lambda: Section(
            "Held-out errors by number of training rows",
            table,
            formats,
            headings=SHARED_HEADINGS,
            source=".table",
        ),
        "ahead": lambda: Section(
            "Predictions by the power law",
            predicted,
            formats,
            headings=SHARED_HEADINGS,
            source=".predict(rows)",
        ),
    }
    return summarize(f"Learning curve: {fit.title_in_sentence}", section_builders, sections)


@plot("curve", "error by number of training rows, and the fitted power law")
def curve_plot(curve: Any, options: PlotOptions) -> Axes:
    """Plot errors by number of training rows, with intervals, and the fitted power law."""
    first = curve._table.index[0]
    n = float(np.sum(curve._fit.counts))
    rows = np.unique(np.geomspace(first, EXTRAPOLATION_FACTOR * n, 60).astype(np.int64))
    predicted = curve.predict(rows)
    return draw_learning_curve(
        {"power law": predicted["error"]},
        {"limit": float(curve.params["a"])},
        ("Training observations", "Held-out error"),
        f"Learning curve of {curve._fit.spec.name}",
        points=curve._table,
        band=predicted,
        ax=options.ax,
        signs=options.signs([curve._fit.spec.name]),
    )


CURVE_PLOTS = (curve_plot,)
