"""The picture of masking: fitted values of the classes' indicators against one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.style import SIGNS, Signs, add_legend, label_codes, new_axes, shown_name

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes


def fitted_values(
    column: pd.Series,
    values: pd.DataFrame,
    labels: pd.Series,
    masked: Sequence[Any],
    *,
    curves: pd.DataFrame | None = None,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Fitted values against a column, a colour a class, and below them the rows of each class.

    Parameters
    ----------
    column : Series of length n
    values : DataFrame, rows by classes
    labels : Series
        Class of each row.
    masked : sequence
        Classes to be named in the title.
    curves : DataFrame, values of the column by classes, optional
        Where the fitted values are functions of the column: drawn in the place of those of the rows.
    """
    x = column.to_numpy(dtype=np.float64, na_value=np.nan)
    fitted = values.to_numpy(dtype=np.float64)
    known = np.isfinite(x) & np.isfinite(fitted).all(axis=1)
    axes, own = new_axes(ax)
    if curves is None:
        _draw_fitted(axes, x[known], values[known], signs)
    else:
        fitted, at = curves.to_numpy(dtype=np.float64), curves.index.to_numpy(dtype=np.float64)
        for k, label in enumerate(curves.columns):
            style: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k)}
            axes.plot(at, fitted[:, k], label=shown_name(label), **style)
    codes = np.where(known, label_codes(labels, list(values.columns)), -1)
    _draw_rows(axes, x, codes, fitted, values.shape[1], signs)
    axes.set_xlabel(shown_name(column.name))
    axes.set_ylabel("Fitted value")
    title = "Fitted values of the indicators"
    if len(masked):
        names = ", ".join(shown_name(label, 12) for label in list(masked)[:3])
        title += f"\nmasked: {names}" + (f" and {len(masked) - 3} more" if len(masked) > 3 else "")
    axes.set_title(title)
    return add_legend(axes, own)


def _draw_fitted(axes: Axes, x: NDArray[np.float64], values: pd.DataFrame, signs: Signs) -> None:
    """A point for each row and class."""
    for k, label in enumerate(values.columns):
        style: dict[str, Any] = {"color": signs.colour(k), "label": shown_name(label)}
        style |= {"marker": signs.marker(k), "s": 14, "alpha": 0.6}
        axes.scatter(x, values.iloc[:, k], linewidths=0, rasterized=len(x) > 5_000, **style)


def _draw_rows(
    axes: Axes,
    x: NDArray[np.float64],
    codes: NDArray[np.intp],
    fitted: NDArray[np.float64],
    n_classes: int,
    signs: Signs,
) -> None:
    """A line of ticks for the rows of each class, below all fitted values."""
    known = fitted[np.isfinite(fitted)]
    low, height = (known.min(), np.ptp(known) or 1.0) if known.size else (0.0, 1.0)
    # However many classes there are, their ticks take no more than a third of the picture.
    step = min(0.05, 0.5 / (n_classes + 1)) * float(height)
    for k in range(n_classes):
        rows = x[codes == k]
        at = np.full(len(rows), float(low) - (k + 1.5) * step)
        colour = signs.colour(k)
        axes.scatter(rows, at, marker="|", s=25, color=colour, linewidths=0.8, rasterized=len(rows) > 5_000)
