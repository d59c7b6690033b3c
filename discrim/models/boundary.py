"""The plane between two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from discrim.models.labels import class_code

if TYPE_CHECKING:
    from discrim.models.lda import LDAResults

__all__ = ["Boundary", "boundary"]


class Boundary(NamedTuple):
    """The plane between two classes: normal'x + offset is the log odds of the first against the second.

    Attributes
    ----------
    normal : Series by term
        S^-1 (m_a - m_b).
    offset : float
    midpoint : Series by term
        Halfway between the two means.
    """

    normal: pd.Series
    offset: float
    midpoint: pd.Series

    @property
    def c(self) -> float:
        """normal'midpoint: with equal priors a row is of the first class where normal'x exceeds it."""
        return float(self.normal.to_numpy() @ self.midpoint.to_numpy())


def boundary(results: LDAResults, a: Any, b: Any) -> Boundary:
    """The plane on which classes a and b have the same posterior."""
    i, j = class_code(a, results.classes), class_code(b, results.classes)
    fit, reduced = results._fit, results._fit.reduced()
    means = fit.moments.means_from(fit.moments.centres[j])
    gap = means[i] - means[j]
    slopes = (
        fit.covariance.unwhiten(fit.covariance.whiten(gap))
        if reduced is None
        else reduced.axes @ (reduced.axes.T @ gap)
    )
    normal = pd.Series(slopes * fit.moments.scale, index=results.terms, name="normal")
    means = fit.moments.class_means
    midpoint = pd.Series((means[i] + means[j]) / 2, index=results.terms, name="midpoint")
    log_prior = results._log_prior()
    offset = float(log_prior[i] - log_prior[j]) - float(normal.to_numpy() @ midpoint.to_numpy())
    return Boundary(normal, offset, midpoint)
