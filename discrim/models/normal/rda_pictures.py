"""The picture of the choice of alpha and gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.errors import DataError
from discrim.models.normal.rda_choice import chosen_by
from discrim.report.plots.heat_map import heat_map

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["path"]


def path(results: Any, asked: Asked) -> Axes:
    """Errors of the choice by alpha and gamma, with the pair chosen."""
    errors = results.path.pivot(index="alpha", columns="gamma", values="error")
    title = f"Error by {chosen_by(results._fit)}"
    if asked.colors is not None and not isinstance(asked.colors, str):
        raise DataError("colors= of kind='path' is the name of a colormap of matplotlib, as 'viridis'.")
    asked.signs(results.classes)
    return heat_map(errors, (results.alpha, results.gamma), title, ax=asked.ax, colormap=asked.colors)
