"""The numbers of a linear discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.canonical import Canonical, canonical
from discrim.core.covariance import Covariance, pooled
from discrim.core.moments import ClassMoments

__all__ = ["LDAFit", "fit_lda"]

Floats = NDArray[np.float64]


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
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariance: Covariance
    divisor: float
    ncomp: int | None

    @property
    def residual_df(self) -> float:
        """N - K."""
        return self.moments.total - self.moments.n_classes

    def axes(self) -> Canonical:
        """Canonical axes, weighted by the prior, with the singular values of R's MASS."""
        k = self.moments.n_classes
        factor = self.moments.total / (k if self.method == "mle" else k - 1)
        return canonical(self.moments.means, self.covariance, self.prior, factor)

    def roots(self) -> Floats:
        """Eigenvalues of W^-1 B, with the class proportions as weights."""
        total = self.moments.total
        shares = self.moments.counts / total
        return canonical(self.moments.means, self.covariance, shares, total / self.divisor).singular ** 2

    def reduced(self) -> Canonical | None:
        """The leading axes, where the rule is restricted to them."""
        if self.ncomp is None:
            return None
        axes = self.axes()
        if self.ncomp >= len(axes.singular):
            return None
        m = self.ncomp
        return Canonical(axes.centre, axes.axes[:, :m], axes.singular[:m], axes.scores[:, :m])

    def unbiased(self) -> Covariance:
        """The covariance with divisor N - K."""
        return self.covariance.divided_by(self.residual_df / self.divisor)

    def df_model(self) -> int:
        """Free parameters: means, covariance and, where estimated, prior."""
        k, p = self.moments.n_classes, self.moments.n_columns
        means = k * p
        if self.reduced() is not None and self.ncomp is not None:
            means = p + self.ncomp * (p + k - 1 - self.ncomp)
        spread = p if self.covariance.is_diagonal else p * (p + 1) // 2
        return means + spread + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances.

        With fewer axes than there are, the means are those of the rank-constrained maximum (Hastie &
        Tibshirani, 1996, JRSS B 58, 155-176): each root left out costs N/2 ln(1 + root).
        """
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
    diagonal: bool = False,
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> LDAFit:
    """Fit from moments of full rank.

    Parameters
    ----------
    moments : ClassMoments
    prior : (K,) float
    method : {"moment", "mle"}
        Divisor N - K or N.
    diagonal : bool
        Hold the variances only.
    ncomp : int, optional
        Number of canonical axes of the rule.
    estimated_prior : bool
    """
    divisor = moments.total - (moments.n_classes if method == "moment" else 0)
    covariance = pooled(moments, divisor, diagonal=diagonal)
    return LDAFit(moments, prior, estimated_prior, method, covariance, divisor, ncomp)
