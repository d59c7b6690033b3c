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
from discrim.models.selection.cross_validation import folded
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.plots.judged import draw_by_rows
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

SIZES = (0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 0.9)
"""Shares of the rows that rules are fitted to by default."""

DRAWS = 200
"""Samples of rows by which the law has its intervals."""

FEWEST = 3
"""Sizes that the law takes."""

AHEAD = 10
"""Times the rows of the table up to which the picture shows the law."""

ASSUMES = (
    "Intervals account for the choice of the judged observations, not of those that were fitted. The law "
    "error = a + b n^-c is an assumption, on which all that is said of larger tables rests."
)


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Of one size: rows fitted, how many rules, and how often each row (n,) was wrong and was judged."""

    rows: float
    rules: int
    wrong: Floats
    judged: Floats


def _judged_units(
    judged: Floats, weights: Floats, frequencies: Floats, clusters: Codes | None
) -> tuple[float, float]:
    """Return the effective number of rows that were judged, and of these rows or their groups.

    Parameters
    ----------
    judged : (n,) float
        How often each row was judged.
    weights, frequencies : (n,) float
        Weights in a mean, and frequency weights, which stand for so many rows.
    clusters : (n,) int, optional
    """
    there = (judged > 0) & (weights > 0)
    w = weights[there]
    rows = float(w.sum() ** 2 / (w**2 / frequencies[there]).sum())
    return rows, rows if clusters is None else float(len(np.unique(clusters[there])))


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
        self, fit: FittedModel[Any], found: Sequence[_Judged], weights: Floats, frequencies: Floats,
        clusters: Codes | None, failed: dict[float, str], seed: int, level: float,
    ) -> None:  # fmt: skip
        self.seed = seed
        self.failed = failed
        self._level = level
        self._fit = fit
        wrong, judged = (np.stack([getattr(each, name) for each in found]) for name in ("wrong", "judged"))
        n = np.array([each.rows for each in found])
        errors = (wrong @ weights) / (judged @ weights)
        draw = resampled_rows(np.random.default_rng(seed), weights, clusters)
        drawn = curve_limits(wrong, judged, draw, DRAWS)
        variances = np.nanvar(drawn, axis=0)
        precise = (
            np.ones(len(n)) if not variances.any() else 1 / np.maximum(variances, 1e-3 * variances.max())
        )
        self._law = power_law(n, errors[None], precise)
        self._laws = power_law(n, drawn[np.isfinite(drawn).all(axis=1)], precise)
        low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        # Percentiles show no variance of errors of which there are none or few.
        sizes = [_judged_units(each, weights, frequencies, clusters) for each in judged]
        exact = np.array(
            [
                effective_interval(error, variance, *size, level)
                for error, variance, size in zip(errors.tolist(), variances.tolist(), sizes, strict=True)
            ]
        )
        low, high = np.minimum(low, exact[:, 0]), np.maximum(high, exact[:, 1])
        self._unseen = exact_interval(0.0, max(units for _, units in sizes), level)[1]
        columns = {"error": errors, "se": np.sqrt(variances), "low": low, "high": high}
        index = pd.Index(np.round(n).astype(np.int64), name="rows")
        self._table = pd.DataFrame(columns | {"rules": [each.rules for each in found]}, index=index)

    @property
    @displayed(every="share", rules="count")
    def table(self) -> pd.DataFrame:
        """Errors by rows."""
        return self._table.copy()

    @property
    def params(self) -> pd.Series:
        """The law of the errors."""
        return pd.Series({name: float(values[0]) for name, values in self._law._asdict().items()})

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
        given = [rows] if np.isscalar(rows) else rows
        if not isinstance(given, Sequence | np.ndarray | pd.Index) or isinstance(given, str):
            raise DataError(f"rows={told(rows)} is not valid.", hint="Give a number of rows, or several.")
        numbers = np.array([check_whole("rows", n, 1) for n in given], dtype=np.float64)
        laws = self._laws.at(numbers)
        low, high = np.quantile(laws, [(1 - self._level) / 2, (1 + self._level) / 2], axis=0)
        high = np.maximum(high, self._unseen)
        index = pd.Index(numbers.astype(np.int64), name="rows")
        return pd.DataFrame({"error": self._law.at(numbers)[0], "low": low, "high": high}, index=index)

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
                "fitted": self._law.at(table.index.to_numpy(dtype=np.float64))[0],
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
    shares = SIZES if sizes is None else sizes
    if not isinstance(shares, Sequence | np.ndarray) or isinstance(shares, str):
        raise DataError(
            f"sizes={told(sizes)} is not valid.", hint="Give shares of the rows, as [0.1, 0.3, 0.5, 0.8]."
        )
    found = []
    failed = {}
    for share in sorted({check_number("sizes", each, 0, 1, ends="()") for each in shares}):
        try:
            found.append(_judged_at(fit, share, repeats, groups, seed, nested=nested))
        except NotSupportedError as error:
            failed[share] = str(error)
    if len(found) < FEWEST:
        why = f" {failed[max(failed)]}" if failed else ""
        raise NotSupportedError(
            f"Rules can be fitted to {len(found)} of the sizes, and a learning curve takes {FEWEST}.",
            hint=f"Give more or larger sizes=.{why}",
        )
    if failed:
        warn_user(
            f"No rule can be fitted to {', '.join(f'{share:.3g}' for share in failed)} of the rows, and the "
            f"curve begins at {found[0].rows:.0f} rows. {next(iter(failed.values()))}"
        )
    used = used_codes(blocks)
    weights = frequencies = np.where(used >= 0, 1.0 if blocks.weights is None else blocks.weights, 0.0)
    if not fit.estimates.estimated_prior:
        counts = np.bincount(used[used >= 0], weights[used >= 0], len(fit.classes))
        weights = weights * np.where(used >= 0, (fit.prior_values() / counts)[used], 0.0)
    clusters = None if groups is None else permuted.numbered(groups, blocks.table, "groups")
    return LearningCurve(fit, found, weights, frequencies, clusters, failed, seed, level)


def _judged_at(
    fit: FittedModel[Any], share: float, repeats: int, groups: Any, seed: int, *, nested: bool
) -> _Judged:
    """Rules of a share of the rows, near it: one part of several equal ones, or all but one."""
    blocks = fit.rows("learning_curve()")
    parts = max(round(1 / min(share, 1 - share)), 2)
    dealt, labels = permuted.shared_folds(blocks, parts, repeats, groups, seed)
    dealt = np.where(used_codes(blocks) >= 0, dealt, -1)
    of_one = share < 0.5 and parts > 2
    if of_one:
        # The rows of one part are outside the fold of all others, and those are judged.
        dealt = np.where(dealt < 0, -1, (dealt == 0).astype(np.intp))
        labels = ["the rest", "a part"]
    cv = folded(fit, dealt, labels, None, None, nested=nested)
    judged = (dealt == 0 if of_one else dealt >= 0) & (cv._predicted >= 0)
    wrong = judged & (cv._predicted != cv._actual)
    if not judged.any():
        message, hint = no_label_reason(fit, f"rules fitted to {share:.3g} of the rows without it")
        raise NotSupportedError(message, hint=hint)
    counted = (dealt >= 0) * (1.0 if blocks.weights is None else np.where(dealt >= 0, blocks.weights, 0.0))
    used = float(counted[0].sum())
    rows = float(counted[dealt == 1].sum()) / repeats if of_one else used * (1 - 1 / parts)
    rules = repeats * (1 if of_one else parts)
    return _Judged(rows, rules, wrong.sum(axis=0).astype(np.float64), judged.sum(axis=0).astype(np.float64))


def curve_summary(curve: LearningCurve, sections: Sequence[str] | None = None) -> Summary:
    """Header, errors by rows, and what the law says of more rows."""
    table = curve.table
    fit = curve._fit
    limit, falls, power = curve.params
    n = round(float(np.sum(fit.counts)))
    ahead = curve.predict([n, 2 * n, 5 * n, 10 * n])
    now = float(ahead["error"].iloc[0])
    items: list[HeaderItem] = [
        HeaderItem("Rows of the table", n, f"{n:,}"),
        HeaderItem("Error with these, by the law", now, f"{100 * now:.2f} %"),
        HeaderItem("Error in the limit, by the law", limit, f"{100 * limit:.2f} %"),
        HeaderItem("Power of the rows", power, f"{power:.3g}" if falls > 0 else "none: errors do not fall"),
        HeaderItem("Seed", curve.seed),
    ]
    formats: dict[Any, Any] = dict.fromkeys(["error", "se", "low", "high"], "share") | {"rules": "count"}
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: Pairs(fit.formula, items, ASSUMES),
        "errors": lambda: Section(
            "Errors of rows left out, by rows fitted",
            table,
            formats,
            headings=INTERVAL,
            source=".table",
        ),
        "ahead": lambda: Section("By the law", ahead, formats, headings=INTERVAL, source=".predict(rows)"),
    }
    return summarize(f"Learning curve: {fit.title_in_sentence}", parts, sections)


@plot("curve", "error by rows, and its law")
def curve_plot(curve: Any, options: PictureOptions) -> Axes:
    """Errors by rows with intervals, and their law."""
    first = curve._table.index[0]
    n = float(np.sum(curve._fit.counts))
    rows = np.unique(np.geomspace(first, AHEAD * n, 60).astype(np.int64))
    law = curve.predict(rows)
    return draw_by_rows(
        {"law": law["error"]},
        {"limit": float(curve.params["a"])},
        ("Rows", "Error of rows left out"),
        f"Learning curve of {curve._fit.spec.name}",
        points=curve._table,
        band=law,
        ax=options.ax,
        signs=options.signs([curve._fit.spec.name]),
    )


CURVE_PLOTS = (curve_plot,)
