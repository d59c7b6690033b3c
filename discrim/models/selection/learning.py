"""The learning curve of a fit: its error by the number of rows it is fitted to, and the law of that.

Rules are fitted to parts of the rows by what cross-validation fits them with, and judged on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.design.rows import used_codes
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.inference.error_rates import check_level, effective_interval, exact_interval
from discrim.inference.resampling import drawn_seed
from discrim.inference.sample_size import curve_limits, power_law, resampled_rows
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import check_number, check_whole, told
from discrim.models.evaluation import permuted
from discrim.models.plots.pictured import PictureOptions, draw_kind, plot
from discrim.models.selection.comparable import no_label_reason
from discrim.models.selection.cross_validation import cross_validate_on_folds
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.plots.judged import draw_by_rows
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

DEFAULT_PROPORTIONS = (0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 0.9)
"""Shares of the rows that rules are fitted to by default."""

N_RESAMPLES = 200
"""Samples of rows by which the law has its intervals."""

MIN_SIZES = 3
"""Sizes that the law takes."""

EXTRAPOLATION_FACTOR = 10
"""Times the rows of the table up to which the picture shows the law."""

ASSUMPTIONS = (
    "Intervals account for the choice of the judged observations, not of those that were fitted. The law "
    "error = a + b n^-c is an assumption, on which all that is said of larger tables rests."
)


@dataclass(frozen=True, slots=True, eq=False)
class _JudgedSize:
    """Of one size: rows fitted, how many rules, and how often each row (n,) was wrong and was judged."""

    rows: float
    n_rules: int
    wrong_counts: Floats
    judged_counts: Floats


def _effective_sizes(
    judged_counts: Floats, weights: Floats, frequencies: Floats, clusters: Codes | None
) -> tuple[float, float]:
    """Return the effective number of rows that were judged, and of these rows or their groups.

    Parameters
    ----------
    judged_counts : (n,) float
        How often each row was judged.
    weights, frequencies : (n,) float
        Weights in a mean, and frequency weights, which stand for so many rows.
    clusters : (n,) int, optional
    """
    is_counted = (judged_counts > 0) & (weights > 0)
    counted_weights = weights[is_counted]
    rows = float(counted_weights.sum() ** 2 / (counted_weights**2 / frequencies[is_counted]).sum())
    return rows, rows if clusters is None else float(len(np.unique(clusters[is_counted])))


class LearningCurve(Shown):
    """Errors of a fit by the number of rows that it is fitted to.

    Attributes
    ----------
    table : DataFrame by rows
        error of rows left out, se, low, high, and the number of rules. Intervals are those of samples of the
        rows or, if they are wider, exact ones of the effective number of rows (Clopper and Pearson).
    params : Series
        The law a + b n^-c of these errors: a, the error with as many rows as one likes, b and c.
    failed : dict of float to str
        Shares of the rows to which no rule can be fitted, and why.
    seed : int
        The seed that deals the same rows again.
    """

    def __init__(
        self, fit: FittedModel[Any], results: Sequence[_JudgedSize], weights: Floats, frequencies: Floats,
        clusters: Codes | None, failed: dict[float, str], seed: int, level: float,
    ) -> None:  # fmt: skip
        self.seed = seed
        self.failed = failed
        self._level = level
        self._fit = fit
        wrong_counts, judged_counts = (
            np.stack([getattr(result, name) for result in results])
            for name in ("wrong_counts", "judged_counts")
        )
        n = np.array([result.rows for result in results])
        errors = (wrong_counts @ weights) / (judged_counts @ weights)
        draw_weights = resampled_rows(np.random.default_rng(seed), weights, clusters)
        resampled_errors = curve_limits(wrong_counts, judged_counts, draw_weights, N_RESAMPLES)
        variances = np.nanvar(resampled_errors, axis=0)
        precisions = (
            np.ones(len(n)) if not variances.any() else 1 / np.maximum(variances, 1e-3 * variances.max())
        )
        self._power_law = power_law(n, errors[None], precisions)
        self._resampled_power_laws = power_law(
            n, resampled_errors[np.isfinite(resampled_errors).all(axis=1)], precisions
        )
        low, high = np.nanquantile(resampled_errors, [(1 - level) / 2, (1 + level) / 2], axis=0)
        # Percentiles show no variance of errors of which there are none or few.
        sizes = [_effective_sizes(result, weights, frequencies, clusters) for result in judged_counts]
        exact_limits = np.array(
            [
                effective_interval(error, variance, *size, level)
                for error, variance, size in zip(errors.tolist(), variances.tolist(), sizes, strict=True)
            ]
        )
        low, high = np.minimum(low, exact_limits[:, 0]), np.maximum(high, exact_limits[:, 1])
        self._zero_error_limit = exact_interval(0.0, max(units for _, units in sizes), level)[1]
        columns = {"error": errors, "se": np.sqrt(variances), "low": low, "high": high}
        index = pd.Index(np.round(n).astype(np.int64), name="rows")
        self._table = pd.DataFrame(columns | {"rules": [result.n_rules for result in results]}, index=index)

    @property
    @displayed(every="share", rules="count")
    def table(self) -> pd.DataFrame:
        """Errors by rows."""
        return self._table.copy()

    @property
    def params(self) -> pd.Series:
        """The law of the errors."""
        return pd.Series({name: float(values[0]) for name, values in self._power_law._asdict().items()})

    @displayed(every="share")
    def predict(self, rows: int | Sequence[int]) -> pd.DataFrame:
        """What the law says of other numbers of rows.

        Parameters
        ----------
        rows : int or sequence of int
            Numbers of rows, of all classes together.

        Returns
        -------
        DataFrame by rows
            error, low, high. The interval is that of laws of samples of the rows, with an upper limit no less
            than the exact one of as many judged rows without an error; it knows nothing of how far the law
            itself holds.
        """
        row_counts = [rows] if np.isscalar(rows) else rows
        if not isinstance(row_counts, Sequence | np.ndarray | pd.Index) or isinstance(row_counts, str):
            raise DataError(f"rows={told(rows)} is not valid.", hint="Give a number of rows, or several.")
        n_rows = np.array([check_whole("rows", n, 1) for n in row_counts], dtype=np.float64)
        curves = self._resampled_power_laws.at(n_rows)
        low, high = np.quantile(curves, [(1 - self._level) / 2, (1 + self._level) / 2], axis=0)
        high = np.maximum(high, self._zero_error_limit)
        index = pd.Index(n_rows.astype(np.int64), name="rows")
        return pd.DataFrame({"error": self._power_law.at(n_rows)[0], "low": low, "high": high}, index=index)

    def rows_for(self, error: float) -> int | None:
        """How many rows have an error by the law; None where no number has.

        Parameters
        ----------
        error : float
            The error that is wanted.
        """
        error = check_number("error", error, 0, 1, ends="()")
        a, b, c = self.params
        if error <= a or b <= 0:
            return None
        rows = np.exp(np.log(b / (error - a)) / c)
        return int(np.ceil(rows)) if rows < np.iinfo(np.int64).max else None

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each number of rows: rows, estimate, std_error, conf_low, conf_high, fitted."""
        table = self._table
        return pd.DataFrame(
            {
                "rows": table.index,
                "estimate": table["error"].to_numpy(),
                "std_error": table["se"].to_numpy(),
                "conf_low": table["low"].to_numpy(),
                "conf_high": table["high"].to_numpy(),
                "fitted": self._power_law.at(table.index.to_numpy(dtype=np.float64))[0],
            }
        )

    def plot(self, ax: Axes | None = None, *, colors: Any = None, title: str | None = None) -> Axes:
        """Draw the errors by rows, with their intervals, and their law with its own.

        Parameters
        ----------
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        colors : mapping, sequence, str or Colormap, optional
            Colour of the law, or a colormap of matplotlib or its name.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        return draw_kind((self,), CURVE_PLOTS, None, PictureOptions(ax, colors=colors, title=title))

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The figures as a summary, which prints as text and is shown as a table in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order, or "all"; by default all.
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
    """As `Judging.learning_curve`."""
    blocks = fit.rows("learning_curve()")
    check_level(level)
    fit = fit.choosing_anew() if nested else fit
    seed = drawn_seed(seed)
    proportions = DEFAULT_PROPORTIONS if sizes is None else sizes
    if not isinstance(proportions, Sequence | np.ndarray) or isinstance(proportions, str):
        raise DataError(
            f"sizes={told(sizes)} is not valid.", hint="Give shares of the rows, as [0.1, 0.3, 0.5, 0.8]."
        )
    results = []
    failed = {}
    for proportion in sorted({check_number("sizes", size, 0, 1, ends="()") for size in proportions}):
        try:
            results.append(_judge_size(fit, proportion, repeats, groups, seed, nested=nested))
        except NotSupportedError as error:
            failed[proportion] = str(error)
    if len(results) < MIN_SIZES:
        reason = f" {failed[max(failed)]}" if failed else ""
        raise NotSupportedError(
            f"Rules can be fitted to {len(results)} of the sizes, and a learning curve takes {MIN_SIZES}.",
            hint=f"Give more or larger sizes=.{reason}",
        )
    if failed:
        warn_user(
            f"No rule can be fitted to {', '.join(f'{proportion:.3g}' for proportion in failed)} of the "
            "rows, and the "
            f"curve begins at {results[0].rows:.0f} rows. {next(iter(failed.values()))}"
        )
    used_class_codes = used_codes(blocks)
    weights = frequencies = np.where(
        used_class_codes >= 0, 1.0 if blocks.weights is None else blocks.weights, 0.0
    )
    if not fit.estimates.estimated_prior:
        counts = np.bincount(
            used_class_codes[used_class_codes >= 0], weights[used_class_codes >= 0], len(fit.classes)
        )
        weights = weights * np.where(
            used_class_codes >= 0, (fit.prior_values() / counts)[used_class_codes], 0.0
        )
    clusters = None if groups is None else permuted.numbered(groups, blocks.table, "groups")
    return LearningCurve(fit, results, weights, frequencies, clusters, failed, seed, level)


def _judge_size(
    fit: FittedModel[Any], proportion: float, repeats: int, groups: Any, seed: int, *, nested: bool
) -> _JudgedSize:
    """Rules of a share of the rows, near it: one part of several equal ones, or all but one."""
    blocks = fit.rows("learning_curve()")
    n_folds = max(round(1 / min(proportion, 1 - proportion)), 2)
    fold_ids, labels = permuted.shared_folds(blocks, n_folds, repeats, groups, seed)
    fold_ids = np.where(used_codes(blocks) >= 0, fold_ids, -1)
    fits_one_fold = proportion < 0.5 and n_folds > 2
    if fits_one_fold:
        # The rows of one part are outside the fold of all others, and those are judged.
        fold_ids = np.where(fold_ids < 0, -1, (fold_ids == 0).astype(np.intp))
        labels = ["the rest", "a part"]
    cv = cross_validate_on_folds(fit, fold_ids, labels, None, None, nested=nested)
    is_judged = (fold_ids == 0 if fits_one_fold else fold_ids >= 0) & (cv._predicted >= 0)
    is_wrong = is_judged & (cv._predicted != cv._actual)
    if not is_judged.any():
        message, hint = no_label_reason(fit, f"rules fitted to {proportion:.3g} of the rows without it")
        raise NotSupportedError(message, hint=hint)
    counted_weights = (fold_ids >= 0) * (
        1.0 if blocks.weights is None else np.where(fold_ids >= 0, blocks.weights, 0.0)
    )
    used = float(counted_weights[0].sum())
    rows = (
        float(counted_weights[fold_ids == 1].sum()) / repeats if fits_one_fold else used * (1 - 1 / n_folds)
    )
    rules = repeats * (1 if fits_one_fold else n_folds)
    return _JudgedSize(
        rows, rules, is_wrong.sum(axis=0).astype(np.float64), is_judged.sum(axis=0).astype(np.float64)
    )


def curve_summary(curve: LearningCurve, sections: Sequence[str] | None = None) -> Summary:
    """Header, errors by rows, and what the law says of more rows."""
    table = curve.table
    fit = curve._fit
    limit, scale, power = curve.params
    n = round(float(np.sum(fit.counts)))
    predicted = curve.predict([n, 2 * n, 5 * n, 10 * n])
    current_error = float(predicted["error"].iloc[0])
    items: list[HeaderItem] = [
        HeaderItem("Rows of the table", n, f"{n:,}"),
        HeaderItem("Error with these, by the law", current_error, f"{100 * current_error:.2f} %"),
        HeaderItem("Error in the limit, by the law", limit, f"{100 * limit:.2f} %"),
        HeaderItem("Power of the rows", power, f"{power:.3g}" if scale > 0 else "none: errors do not fall"),
        HeaderItem("Seed", curve.seed),
    ]
    formats: dict[Any, Any] = dict.fromkeys(["error", "se", "low", "high"], "share") | {"rules": "count"}
    section_builders: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: Pairs(fit.formula, items, ASSUMPTIONS),
        "errors": lambda: Section(
            "Errors of rows left out, by rows fitted",
            table,
            formats,
            headings=INTERVAL,
            source=".table",
        ),
        "ahead": lambda: Section(
            "By the law", predicted, formats, headings=INTERVAL, source=".predict(rows)"
        ),
    }
    return summarize(f"Learning curve: {fit.title_in_sentence}", section_builders, sections)


@plot("curve", "error by rows, and its law")
def curve_plot(curve: Any, options: PictureOptions) -> Axes:
    """Errors by rows with intervals, and their law."""
    first = curve._table.index[0]
    n = float(np.sum(curve._fit.counts))
    rows = np.unique(np.geomspace(first, EXTRAPOLATION_FACTOR * n, 60).astype(np.int64))
    predicted = curve.predict(rows)
    return draw_by_rows(
        {"law": predicted["error"]},
        {"limit": float(curve.params["a"])},
        ("Rows", "Error of rows left out"),
        f"Learning curve of {curve._fit.spec.name}",
        points=curve._table,
        band=predicted,
        ax=options.ax,
        signs=options.signs([curve._fit.spec.name]),
    )


CURVE_PLOTS = (curve_plot,)
