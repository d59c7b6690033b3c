"""The numbers of a regularized discriminant analysis, and the pure function that fits them.

Theory. The covariance of a class lies between its own S_k, the pooled S and a multiple of the identity:

    Sigma_k = o_k S_k + c_k S + r_k I.

Hastie, Tibshirani & Friedman (2009, The Elements of Statistical Learning, eq. 4.13 and 4.14): o = alpha, c
= (1 - alpha) gamma, r = (1 - alpha)(1 - gamma) s2 with s2 = tr(S)/p, so that the ridge acts on the pooled
part only. Friedman (1989, JASA 84, 165-175), with lambda = 1 - alpha and W_k, W the divisors of S_k and S:
sums of squares are mixed, o_k = (1 - lambda) W_k/D_k, c_k = lambda W/D_k, D_k = (1 - lambda) W_k + lambda W,
and then gamma of the average variance of the mixture is put in place of gamma of the mixture. klaR mixes
covariances, o = 1 - lambda, c = lambda, and goes on as Friedman.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core import gaussian
from discrim.core.covariance import Covariance
from discrim.core.leave_one_out import LeftOut
from discrim.core.moments import ClassMoments
from discrim.core.passes import triangle
from discrim.core.rules import Rule
from discrim.errors import NotSupportedError

__all__ = ["Parametrization", "RDAFit", "fit_rda", "mixture"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Parametrization = Literal["esl", "friedman", "klar"]

SINGULAR = 1e-13
"""Size of a column's residual on the others, relative to the column, at which a covariance has no inverse."""


@dataclass(frozen=True, slots=True)
class RDAFit:
    """The numbers of a regularized discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        By class.
    prior : (K,) float
    estimated_prior : bool
    alpha, gamma : float
    parametrization : {"esl", "friedman", "klar"}
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    covariances : tuple of K Covariance
        In the coordinates of the moments.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    alpha: float
    gamma: float
    parametrization: Parametrization
    method: str
    covariances: tuple[Covariance, ...]

    has_distances = False

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            Another method than "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(f'method="{method}" is not defined for regularized covariances.')
        return gaussian.separate_plugin(self.moments, self.covariances, log_prior)

    def refit(self, moments: ClassMoments) -> RDAFit | None:
        """The same model of other rows, the prior held; None where a covariance is singular."""
        if (moments.rows < 2).any():
            return None
        found = fit_rda(
            moments,
            self.prior,
            alpha=self.alpha,
            gamma=self.gamma,
            parametrization=self.parametrization,
            method=self.method,
            estimated_prior=self.estimated_prior,
        )
        return None if found.singular() else found

    def singular(self) -> list[int]:
        """Classes whose covariance has no inverse."""
        return [k for k, covariance in enumerate(self.covariances) if _is_singular(covariance.root)]

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Missing scores: a row is in its class's, the pooled and the average variance, and takes a refit."""
        k = self.moments.n_classes
        return lambda x, codes, weights: np.full((len(x), k), np.nan)

    def llf(self) -> float:
        """Log-likelihood of class and row at the means, the covariances and the prior of the fit."""
        moments, n = self.moments, self.moments.counts
        with np.errstate(divide="ignore"):
            classes = float(n @ np.log(self.prior))
        units = 2.0 * np.log(moments.scale).sum()
        total = 0.0
        for k, covariance in enumerate(self.covariances):
            half = covariance.whiten(_half(moments, k).T)
            size = covariance.logdet - units + moments.n_columns * np.log(2 * np.pi)
            total += float(n[k]) * size + float((half**2).sum())
        return classes - 0.5 * total


def mixture(
    parametrization: Parametrization,
    alpha: float,
    gamma: float,
    divisors: Floats,
    variances: Floats,
    variance: float,
) -> tuple[Floats, Floats, Floats]:
    """Shares (K,) of each class's own covariance, of the pooled one, and of the identity.

    Parameters
    ----------
    parametrization : {"esl", "friedman", "klar"}
    alpha, gamma : float
        Within [0, 1].
    divisors : (K,) float
        Of the classes' covariances; that of the pooled one is their sum.
    variances : (K,) float
        tr(S_k)/p.
    variance : float
        tr(S)/p.

    Examples
    --------
    >>> import numpy as np
    >>> own, pooled, ridge = mixture("esl", 0.5, 0.8, np.array([9.0, 19.0]), np.array([1.0, 2.0]), 1.5)
    >>> own.tolist(), pooled.round(12).tolist(), ridge.round(12).tolist()
    ([0.5, 0.5], [0.4, 0.4], [0.15, 0.15])
    """
    ones = np.ones(len(divisors))
    if parametrization == "esl":
        return alpha * ones, (1 - alpha) * gamma * ones, (1 - alpha) * (1 - gamma) * variance * ones
    if parametrization == "friedman":
        total = divisors.sum()
        mixed = alpha * divisors + (1 - alpha) * total
        own, pooled = alpha * divisors / mixed, (1 - alpha) * total / mixed
    else:
        own, pooled = alpha * ones, (1 - alpha) * ones
    return (1 - gamma) * own, (1 - gamma) * pooled, gamma * (own * variances + pooled * variance)


def fit_rda(
    moments: ClassMoments,
    prior: Floats,
    *,
    alpha: float,
    gamma: float,
    parametrization: Parametrization = "esl",
    method: str = "moment",
    estimated_prior: bool = True,
) -> RDAFit:
    """Fit from moments by class, each of two rows or more.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    prior : (K,) float
    alpha, gamma : float
        Within [0, 1].
    parametrization, method, estimated_prior
        As of `RDAFit`.
    """
    k, p = moments.n_classes, moments.n_columns
    divisors = moments.counts - (1.0 if method == "moment" else 0.0)
    halves = [_half(moments, c) for c in range(k)]
    # In the units of the data, in which the identity is meant.
    squares = np.array([((half / moments.scale) ** 2).sum() for half in halves])
    shares = mixture(
        parametrization, alpha, gamma, divisors, squares / divisors / p, squares.sum() / divisors.sum() / p
    )
    together = triangle(np.concatenate(halves)) / np.sqrt(divisors.sum())
    covariances = []
    for c, (own, common, ridge) in enumerate(zip(*shares, strict=True)):
        parts = [np.sqrt(own / divisors[c]) * halves[c], np.sqrt(common) * together]
        root = triangle(np.concatenate([*parts, np.diag(np.sqrt(ridge) * moments.scale)]))
        # A root without an inverse is held as it is, for `singular` to find.
        covariances.append(Covariance(root, root) if _is_singular(root) else Covariance.from_root(root))
    return RDAFit(moments, prior, estimated_prior, alpha, gamma, parametrization, method, tuple(covariances))


def _half(moments: ClassMoments, k: int) -> Floats:
    """Rows (p, p) whose sum of squares and products is the scatter of class k."""
    if moments.roots is not None:
        return np.asarray(moments.roots[k])
    scatter = moments.scatters[k]
    size = np.sqrt(np.diagonal(scatter))
    unit = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(scatter / unit / unit[:, None])
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T * unit)


def _is_singular(root: Floats) -> bool:
    """Whether a column of a triangular root says nothing beyond those before it."""
    lengths = np.sqrt((root**2).sum(axis=0))
    return bool((np.abs(np.diagonal(root)) <= SINGULAR * lengths).any())
