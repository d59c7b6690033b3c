"""Which numbers of a fit a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discrim.errors import NotSupportedError

if TYPE_CHECKING:
    from discrim.models.results import ClassifierResults
    from discrim.report.plots import Axes

__all__ = ["plot_posteriors", "plot_regions"]


def plot_regions(fit: ClassifierResults, ax: Axes | None) -> Axes:
    """Regions of the classes in the plane of two numeric predictors."""
    from discrim.report import plots

    if len(fit.terms) != 2 or not fit._blocks.design.plain:
        raise NotSupportedError(
            f"kind='regions' draws the plane of two numeric columns; this fit has {len(fit.terms)}."
        )
    blocks = fit._rows("plot()")
    labels = fit._labelled(blocks.codes, blocks.table.index)
    return plots.regions(fit.predict, blocks.table.frame(list(fit.terms)), labels, ax=ax)


def plot_posteriors(fit: ClassifierResults, ax: Axes | None) -> Axes:
    """Posterior of each row's own class."""
    from discrim.report import plots

    labels = fit._labelled(fit._rows("plot()").codes, fit._blocks.table.index)
    return plots.posteriors(fit.predict_proba(), labels, ax=ax)
