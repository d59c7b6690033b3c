"""Pictures of how a fit judges rows, and of what it is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.core.rules.rules import posteriors as posteriors_of
from discrim.models.fits.prediction import posterior_frame

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.pictures.style import Axes

__all__ = ["log_determinants", "posteriors"]


def posteriors(results: Any, asked: Asked) -> Axes:
    """Posterior of each row's own class."""
    from discrim.report.pictures import posteriors as pictures

    fit = results._fit
    blocks = fit.drawn_rows()
    labels = fit.labels_of(blocks)
    found = posterior_frame(blocks, fit.rule(), fit.classes, posteriors_of)
    return pictures.posteriors(found, labels, ax=asked.ax, signs=asked.signs(fit.classes))


def log_determinants(results: Any, asked: Asked) -> Axes:
    """Log-determinants of the covariances with their intervals."""
    from discrim.report.pictures.log_determinants import log_determinants as draw

    return draw(results.log_determinants(), ax=asked.ax, signs=asked.signs(results.classes))
