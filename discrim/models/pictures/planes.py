"""Pictures in the plane of two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.errors import NotSupportedError
from discrim.models.fits.arguments import listed

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.pictures.style import Axes

__all__ = ["regions"]


def regions(results: Any, asked: Asked) -> Axes:
    """Regions of the classes in the plane of two numeric predictors."""
    from discrim.report.pictures import regions as pictures

    fit = results._fit
    if len(fit.terms) != 2 or not fit.blocks.design.plain:
        has = f"{len(fit.terms)}" if len(fit.terms) != 2 else f"{listed(fit.terms)}, not both plain columns"
        raise NotSupportedError(
            f"kind='regions' draws the plane of two numeric columns of the table; this fit has {has}."
        )
    blocks = fit.drawn_rows()
    labels = fit.labels_of(blocks)
    points = blocks.table.frame(list(fit.terms))
    return pictures.regions(fit.predicted, points, labels, ax=asked.ax, signs=asked.signs(fit.classes))
