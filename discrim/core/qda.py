"""The numbers of a quadratic discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.covariance import Covariance, separate
from discrim.core.moments import ClassMoments

__all__ = ["QDAFit", "fit_qda"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QDAFit:
    """The numbers of a quadratic discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        By class, or diagonal.
    prior : (K,) float
    estimated_prior : bool
    method : {"moment", "mle"}
    covariances : tuple of K Covariance
        In the coordinates of the moments.
    divisors : (K,) float
        n_k - 1 or n_k.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariances: tuple[Covariance, ...]
    divisors: Floats

    @property
    def is_diagonal(self) -> bool:
        """Whether only variances are held."""
        return self.covariances[0].is_diagonal

    def scaled(self, divisors: Floats) -> tuple[Covariance, ...]:
        """The covariances with other divisors (K,)."""
        ratios = divisors / self.divisors
        return tuple(c.divided_by(r) for c, r in zip(self.covariances, ratios.tolist(), strict=True))

    def df_model(self) -> int:
        """Free parameters: means, covariances and, where estimated, prior."""
        k, p = self.moments.n_classes, self.moments.n_columns
        spread = p if self.is_diagonal else p * (p + 1) // 2
        return k * p + k * spread + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances."""
        logdets = np.array([c.logdet for c in self.scaled(self.moments.counts)])
        return gaussian.log_likelihood(self.moments, logdets, self.prior)


def fit_qda(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str = "moment",
    diagonal: bool = False,
    estimated_prior: bool = True,
) -> QDAFit:
    """Fit from moments by class, each of full rank."""
    divisors = moments.counts - (1.0 if method == "moment" else 0.0)
    covariances = separate(moments, divisors, diagonal=diagonal)
    return QDAFit(moments, prior, estimated_prior, method, covariances, divisors)
