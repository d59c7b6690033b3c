"""The numbers of a quadratic discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.covariance import Covariance
from discrim.core.leave_one_out import (
    LeftOut,
    diagonal_scores,
    separate_distances,
    separate_scores,
)
from discrim.core.leave_one_out_shrunk import separate_left_out
from discrim.core.moments import ClassMoments
from discrim.core.rules import Distances, Rule
from discrim.core.shrinkage import Structure, by_class, is_regular, no_likelihood, obstacles
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
    structure : {"full", "diagonal", "shrunk", "spherical"}
        What the covariances are estimated as.
    shrinkage : (K,) float or None
        Of shrunk covariances.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariances: tuple[Covariance, ...]
    divisors: Floats
    structure: Structure = "full"
    shrinkage: Floats | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether only variances are held."""
        return self.covariances[0].is_diagonal

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full, and not shrunk."""
        return self.structure == "full"

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
            The method does not exist for this structure of the covariances.
        """
        if method == "plugin":
            return gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        if not self.has_distances:
            raise NotSupportedError(
                f'method="{method}" is defined for full covariances, not {self.structure} ones.'
            )
        mass = convention == "MASS"
        covariances = self.covariances if mass else self.scaled(self.moments.counts - 1)
        if method == "predictive":
            return gaussian.separate_predictive(self.moments, covariances, log_prior, mass=mass)
        return gaussian.separate_debiased(self.moments, covariances, log_prior, mass=mass)

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them."""
        rule = gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        if is_regular(self.structure):
            return separate_left_out(self.moments, self.divisors, log_prior, rule)
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
        most = moments.n_columns if self.structure == "full" else 1
        if (moments.rows <= most).any() or any(
            obstacles(moments, self.structure, k) for k in range(moments.n_classes)
        ):
            return None
        return fit_qda(
            moments,
            self.prior,
            method=self.method,
            structure=self.structure,
            estimated_prior=self.estimated_prior,
        )

    def df_model(self) -> int:
        """Free parameters: means, covariances and, where estimated, prior."""
        k, p = self.moments.n_classes, self.moments.n_columns
        if self.structure == "shrunk":
            raise no_likelihood("A number of free parameters", self.structure)
        spread = {"full": p * (p + 1) // 2, "diagonal": p, "spherical": 1}[self.structure]
        return k * p + k * spread + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances."""
        if self.structure == "shrunk":
            raise no_likelihood("A log-likelihood", self.structure)
        logdets = np.array([c.logdet for c in self.scaled(self.moments.counts)])
        return gaussian.log_likelihood(self.moments, logdets, self.prior)


def fit_qda(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str = "moment",
    structure: Structure = "full",
    estimated_prior: bool = True,
) -> QDAFit:
    """Fit from moments by class, each without obstacles to the structure of its covariance."""
    divisors = moments.counts - (1.0 if method == "moment" else 0.0)
    covariances, shrinkage = by_class(moments, divisors, structure)
    return QDAFit(moments, prior, estimated_prior, method, covariances, divisors, structure, shrinkage)
