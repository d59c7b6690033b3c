"""Which numbers of a fit a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.core.rules.rules import posteriors
from discrim.errors import NotSupportedError
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit
from discrim.models.fits.prediction import posterior_frame

if TYPE_CHECKING:
    from discrim.report.plots import Axes

__all__ = ["plot_posteriors", "plot_regions"]


def plot_regions(fit: Fit[Any], ax: Axes | None) -> Axes:
    """Regions of the classes in the plane of two numeric predictors."""
    from discrim.report import plots

    if len(fit.terms) != 2 or not fit.blocks.design.plain:
        has = f"{len(fit.terms)}" if len(fit.terms) != 2 else f"{listed(fit.terms)}, not both plain columns"
        raise NotSupportedError(
            f"kind='regions' draws the plane of two numeric columns of the table; this fit has {has}."
        )
    blocks = fit.drawn_rows()
    labels = fit.labels_of(blocks)
    return plots.regions(fit.predicted, blocks.table.frame(list(fit.terms)), labels, ax=ax)


def plot_posteriors(fit: Fit[Any], ax: Axes | None) -> Axes:
    """Posterior of each row's own class."""
    from discrim.report import plots

    blocks = fit.drawn_rows()
    labels = fit.labels_of(blocks)
    found = posterior_frame(blocks, fit.rule(), fit.classes, posteriors)
    return plots.posteriors(found, labels, ax=ax)
