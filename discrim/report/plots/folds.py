"""What folds say, one by one and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.report.plots.points import name_lines
from discrim.report.plots.style import SIGNS, Signs, faint, ink, new_axes
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["by_fold"]


def by_fold(
    values: pd.Series,
    mean: tuple[float, float, float],
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    zero: bool = False,
) -> Axes:
    """A number of each fold, a line for a repeat (or for a fold of only one), and below all the mean.

    Parameters
    ----------
    values : Series by (repeat, fold)
        Missing for a fold without rows.
    mean : (float, float, float)
        With the ends of its interval, which may be missing.
    names : (str, str)
        Of the numbers and of the picture.
    ax : Axes, optional
    zero : bool
        Draw a line at zero, as of differences.

    Returns
    -------
    Axes
    """
    repeats = values.index.get_level_values(0)
    folds = values.index.get_level_values(1)
    single = repeats.nunique() == 1
    codes, labels = pd.factorize(folds if single else repeats)
    lines = [f"{'fold' if single else 'repeat'} {label}" for label in labels] + ["mean"]
    axes, _ = new_axes(ax, len(lines))
    at = values.to_numpy(dtype=np.float64)
    colour = signs.colour(0)
    for k in range(len(labels)):
        own = np.sort(at[(codes == k) & np.isfinite(at)])
        # Folds of the same number lie on one another: the later ones are drawn a little lower.
        _, first, times = np.unique(own, return_index=True, return_counts=True)
        beside = np.arange(len(own)) - np.repeat(first, times)
        low = 0.7 * (beside / max(times.max(initial=1), 6))
        axes.scatter(own, k + low, color=colour, s=22, alpha=0.75, linewidths=0, zorder=3)
        if not single and len(own):
            axes.plot([own.mean()] * 2, [k - 0.3, k + 0.3], color=ink(), linewidth=1.2)
    last = len(lines) - 1
    axes.plot(list(mean[1:]), [last, last], color=ink(), linewidth=1.5)
    axes.scatter([mean[0]], [last], color=ink(), marker="D", s=36, zorder=3)
    axes.axvline(mean[0], color=ink(), linestyle="--", linewidth=0.8, zorder=1)
    if zero:
        axes.axvline(0.0, color=faint(0.35), linewidth=1.0, zorder=1)
    name_lines(axes, lines)
    axes.set_xlabel(names[0])
    set_title(axes, names[1])
    return axes
