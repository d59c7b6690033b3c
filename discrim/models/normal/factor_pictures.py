"""The picture of the eigenvalues that covariances of a few large variances are of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.models.normal.factor_results import found_label
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["scree"]


def scree(results: Any, asked: Asked) -> Axes:
    """Eigenvalues by class, those of the signal filled, and the level of the noise."""
    from discrim.report.plots.scree import scree as draw

    table, noise = results.scree(), results.factors["noise"]
    labels = list(table.index.unique(level=0))
    noise = noise.iloc[: len(labels)].set_axis(labels)
    axes = draw(table, noise, ax=asked.ax, signs=asked.signs(labels))
    held = results._fit.numbers.factors
    set_title(axes, f"Eigenvalues, {held.form}; filled: signal ({found_label(held)}); lines: noise")
    return axes
