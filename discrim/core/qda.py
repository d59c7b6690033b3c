"""The numbers of a quadratic discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.covariance import Covariance, dependencies, separate
from discrim.core.leave_one_out import LeftOut, diagonal_scores, separate_distances, separate_scores
from discrim.core.moments import ClassMoments
from discrim.core.rules import Distances, Rule
from discrim.errors import NotSupportedError

__all__ = ["QDAFit", "fit_qda"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


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

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full."""
        return not self.is_diagonal

    def scaled(self, divisors: Floats) -> tuple[Covariance, ...]:
        """The covariances with other divisors (K,)."""
        ratios = divisors / self.divisors
        return tuple(c.divided_by(r) for c, r in zip(self.covariances, ratios.tolist(), strict=True))

    def distances(self) -> Distances:
        """Squared distances to the class means."""
        return gaussian.distances(self.moments, self.covariances)

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Distances under the unbiased covariances, and their degrees of freedom (K,)."""
        free = self.moments.counts - 1
        return gaussian.distances(self.moments, self.scaled(free)), free

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,); the debiased one needs more than p + 2 rows a class.

        Raises
        ------
        NotSupportedError
            The method does not exist for diagonal covariances.
        """
        if method == "plugin":
            return gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        if self.is_diagonal:
            raise NotSupportedError(f'method="{method}" is defined for full covariances, not diagonal ones.')
        mass = convention == "MASS"
        covariances = self.covariances if mass else self.scaled(self.moments.counts - 1)
        if method == "predictive":
            return gaussian.separate_predictive(self.moments, covariances, log_prior, mass=mass)
        return gaussian.separate_debiased(self.moments, covariances, log_prior, mass=mass)

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them."""
        rule = gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        held, counts = rule.distances, self.moments.counts
        if self.is_diagonal:
            return lambda x, codes, w: diagonal_scores(x, codes, w, held, counts, self.divisors, log_prior)
        return lambda x, codes, w: separate_scores(x, codes, w, held, counts, self.divisors, rule.constant)

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Distances (K, m) of rows of the fit under the unbiased moments without each of them.

        With the sums of weights (K, m) and degrees of freedom (K, m) that these then have.
        """
        held, free = self.unbiased_distances()
        d2, gone = separate_distances(x, codes, weights, held, self.moments.counts, free)
        left = np.repeat(self.moments.counts[:, None], len(codes), axis=1)
        left[codes, np.arange(len(codes))] -= gone.out
        return d2, left, left - 1

    def refit(self, moments: ClassMoments) -> QDAFit | None:
        """The same model of other rows, the prior held; None where a covariance is singular."""
        diagonal = self.is_diagonal
        if (moments.rows <= (1 if diagonal else moments.n_columns)).any() or any(
            dependencies(moments, k, diagonal=diagonal) for k in range(moments.n_classes)
        ):
            return None
        return fit_qda(
            moments, self.prior, method=self.method, diagonal=diagonal, estimated_prior=self.estimated_prior
        )

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
