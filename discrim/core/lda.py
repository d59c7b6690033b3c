"""The numbers of a linear discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.canonical import Canonical, canonical, weighted_centre
from discrim.core.covariance import Covariance
from discrim.core.leave_one_out import LeftOut, common_distances, common_scores, diagonal_scores
from discrim.core.leave_one_out_shrunk import common_left_out
from discrim.core.moments import ClassMoments
from discrim.core.plane import Plane
from discrim.core.principal import ThinCovariance
from discrim.core.rules import Distances, Rule
from discrim.core.shrinkage import Structure, common, no_likelihood, obstacles
from discrim.errors import NotSupportedError

__all__ = ["LDAFit", "fit_lda"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LDAFit:
    """The numbers of a linear discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        Pooled, or diagonal.
    prior : (K,) float
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    method : {"moment", "mle"}
    covariance : Covariance
        Within classes, in the coordinates of the moments.
    divisor : float
        N - K or N.
    ncomp : int or None
        Number of canonical axes the rule is restricted to; None for all.
    structure : {"full", "diagonal", "shrunk", "spherical", "pinv"}
        What the covariance is estimated as.
    shrinkage : float or None
        Of a shrunk covariance.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariance: Covariance
    divisor: float
    ncomp: int | None
    structure: Structure = "full"
    shrinkage: float | None = None

    @property
    def residual_df(self) -> float:
        """N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def has_distances(self) -> bool:
        """Whether the covariance is full, and not shrunk."""
        return self.structure == "full"

    def axes(self) -> Canonical:
        """Canonical axes, weighted by the prior, with the singular values of R's MASS."""
        k = self.moments.n_classes
        factor = self.moments.total / (k if self.method == "mle" else k - 1)
        return canonical(self.moments.means, self.covariance, self.prior, factor)

    def canonical(self) -> Canonical:
        """Canonical axes, classes weighted by rows; squared singular values are eigenvalues of W^-1 B."""
        moments = self.moments
        factor = moments.total / self.residual_df
        return canonical(moments.means, self.unbiased(), moments.counts / moments.total, factor)

    def roots(self) -> Floats:
        """Eigenvalues of W^-1 B."""
        return self.canonical().singular ** 2

    def reduced(self) -> Canonical | None:
        """The leading axes, where the rule is restricted to them."""
        if self.ncomp is None:
            return None
        axes = self.axes()
        if self.ncomp >= len(axes.singular):
            return None
        m = self.ncomp
        return Canonical(axes.centre, axes.axes[:, :m], axes.singular[:m], axes.scores[:, :m])

    def distances(self) -> Distances:
        """Squared distances to the class means."""
        return gaussian.distances(self.moments, (self.covariance,))

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Distances under the unbiased covariance, and its degrees of freedom by class (K,)."""
        held = gaussian.distances(self.moments, (self.unbiased(),))
        return held, np.full(self.moments.n_classes, self.residual_df)

    def plane(self, i: int, j: int, log_prior: Floats) -> Plane:
        """Where classes i and j have the same posterior, with its value at the midpoint of the means."""
        moments, reduced = self.moments, self.reduced()
        means = moments.means_from(moments.centres[j])
        gap = means[i] - means[j]
        slopes = (
            self.covariance.unwhiten(self.covariance.whiten(gap))
            if reduced is None
            else reduced.axes @ (reduced.axes.T @ gap)
        )
        middle = (moments.class_means[i] + moments.class_means[j]) / 2
        return Plane(slopes * moments.scale, middle, float(log_prior[i] - log_prior[j]))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            The method does not exist for this structure of the covariance, reduced axes or so few rows.
        """
        if method == "plugin":
            return gaussian.linear_rule(self.moments, self.covariance, log_prior, self.reduced())
        if not self.has_distances:
            raise NotSupportedError(
                f'method="{method}" is defined for the full covariance, not the {self.structure} one.'
            )
        nu, p = self.residual_df, self.moments.n_columns
        if convention == "MASS":
            mass = self.reduced() or self.axes()
            if method == "predictive":
                inflate = self.unbiased() if self.method == "moment" else self.covariance
                return gaussian.common_predictive(self.moments, inflate, log_prior, nu, mass=mass)
            return gaussian.common_debiased(self.moments, self.covariance, log_prior, nu, mass=mass)
        if self.reduced() is not None:
            raise NotSupportedError(f'method="{method}" uses all dimensions: fit without ncomp=.')
        if method == "predictive":
            return gaussian.common_predictive(self.moments, self.unbiased(), log_prior, nu)
        if nu <= p + 1:
            raise NotSupportedError(
                f'method="debiased" needs N - K > p + 1; here N - K is {nu:g} and p is {p}.'
            )
        return gaussian.common_debiased(self.moments, self.unbiased(), log_prior, nu)

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them.

        Raises
        ------
        NotSupportedError
            The rule is restricted to fewer axes than there are.
        """
        if self.reduced() is not None:
            raise NotSupportedError(
                "leave_one_out() has a closed form for all axes only: fit without ncomp=, "
                'or cross-validate (method="cv").'
            )
        if self.structure in ("shrunk", "spherical"):
            return common_left_out(self.moments, self.divisor, log_prior)
        held, counts = self.distances(), self.moments.counts
        if self.covariance.is_diagonal:
            divisors = np.array([self.divisor])
            return lambda x, codes, w: diagonal_scores(x, codes, w, held, counts, divisors, log_prior)
        return lambda x, codes, w: common_scores(x, codes, w, held, counts, self.divisor, log_prior)

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Distances (K, m) of rows of the fit under the unbiased moments without each of them.

        With the sums of weights (K, m) and degrees of freedom (K, m) that these then have.
        """
        held, counts, nu = self.unbiased_distances()[0], self.moments.counts, self.residual_df
        d2, gone = common_distances(x, codes, weights, held, counts, nu)
        left = np.repeat(counts[:, None], len(codes), axis=1)
        left[codes, np.arange(len(codes))] -= gone.out
        return d2, left, np.repeat((nu - gone.out)[None], len(counts), axis=0)

    def refit(self, moments: ClassMoments) -> LDAFit | None:
        """The same model of other rows, the prior held; None where its covariance is singular."""
        free = moments.rows.sum() - moments.n_classes
        needed = moments.n_columns if self.structure == "full" else 1
        if free < needed or obstacles(moments, self.structure):
            return None
        return fit_lda(
            moments,
            self.prior,
            method=self.method,
            structure=self.structure,
            ncomp=self.ncomp,
            estimated_prior=self.estimated_prior,
        )

    def ignored(self) -> tuple[int, float]:
        """Rank of a pseudo-inverse, and the share of the squared differences of means that it leaves out."""
        rank = self.covariance.inverse.shape[1]
        if not isinstance(self.covariance, ThinCovariance):
            return rank, 0.0
        y = (self.moments.means - weighted_centre(self.moments.means, self.moments.counts)).T
        y = y * self.covariance.unit[:, None]
        return rank, 1.0 - float(((self.covariance.axes @ y) ** 2).sum() / (y**2).sum())

    def unbiased(self) -> Covariance:
        """The covariance with divisor N - K."""
        return self.covariance.divided_by(self.residual_df / self.divisor)

    def df_model(self) -> int:
        """Free parameters: means, covariance and, where estimated, prior."""
        k, p = self.moments.n_classes, self.moments.n_columns
        means = k * p
        if self.reduced() is not None and self.ncomp is not None:
            means = p + self.ncomp * (p + k - 1 - self.ncomp)
        if self.structure in ("shrunk", "pinv"):
            raise no_likelihood("A number of free parameters", self.structure)
        spread = {"full": p * (p + 1) // 2, "diagonal": p, "spherical": 1}[self.structure]
        return means + spread + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances.

        With fewer axes than there are, the means are those of the rank-constrained maximum (Hastie &
        Tibshirani, 1996, JRSS B 58, 155-176): each root left out costs N/2 ln(1 + root).
        """
        if self.structure in ("shrunk", "pinv"):
            raise no_likelihood("A log-likelihood", self.structure)
        if self.structure == "spherical" and self.reduced() is not None:
            raise NotSupportedError(
                "The log-likelihood of a spherical covariance is for all axes only: fit without ncomp=."
            )
        total = self.moments.total
        logdet = self.covariance.divided_by(total / self.divisor).logdet
        full = gaussian.log_likelihood(self.moments, np.full(self.moments.n_classes, logdet), self.prior)
        if self.reduced() is None:
            return full
        return full - 0.5 * total * float(np.log1p(self.roots()[self.ncomp :]).sum())


def fit_lda(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str = "moment",
    structure: Structure = "full",
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> LDAFit:
    """Fit from moments without obstacles to the structure of the covariance.

    Parameters
    ----------
    moments : ClassMoments
    prior : (K,) float
    method : {"moment", "mle"}
        Divisor N - K or N.
    structure : {"full", "diagonal", "shrunk", "spherical", "pinv"}
        What the covariance is estimated as.
    ncomp : int, optional
        Number of canonical axes of the rule.
    estimated_prior : bool
    """
    divisor = moments.total - (moments.n_classes if method == "moment" else 0)
    covariance, shrinkage = common(moments, divisor, structure)
    return LDAFit(moments, prior, estimated_prior, method, covariance, divisor, ncomp, structure, shrinkage)
