"""The numbers of a regularized discriminant analysis, and the pure function that fits them.

Theory. The covariance of a class lies between its own S_k, the pooled S and a multiple of the identity:

    Sigma_k = o_k S_k + c_k S + r_k I.

Hastie, Tibshirani & Friedman (2009, The Elements of Statistical Learning, eq. 4.13 and 4.14): o = alpha, c
= (1 - alpha) gamma, r = (1 - alpha)(1 - gamma) s2 with s2 = tr(S)/p, so that the ridge acts on the pooled
part only. Friedman (1989, JASA 84, 165-175), with lambda = 1 - alpha and W_k, W the divisors of S_k and S:
sums of squares are mixed, o_k = (1 - lambda) W_k/D_k, c_k = lambda W/D_k, D_k = (1 - lambda) W_k + lambda W,
and then gamma of the average variance of the mixture is put in place of gamma of the mixture. klaR mixes
covariances, o = 1 - lambda, c = lambda, and goes on as Friedman.

*More columns than rows.* The mixture of thin roots is known on the span of their rows, and beyond it is the
ridge alone; no p x p matrix is formed.

*Digits.* Where roots of the scatters are held, the root of a mixture is the triangle of the stacked roots
and nothing is squared. Where they are not, the scatters are well-conditioned or the ridge is no small part
of the mixture, see `needs_roots`, and Cholesky's factor of the mixture has all digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import (
    EPS,
    Covariance,
    divisors_by_class,
    is_singular,
    scaled_cholesky,
)
from discrim.core.covariance.principal import ThinCovariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import triangle
from discrim.core.moments.standardized import standardized, standardized_left_out
from discrim.core.moments.units import comparable
from discrim.core.normal.leave_one_out_rda import rda_left_out
from discrim.core.normal.regularized_scatters import Pair, Parametrization, mixture
from discrim.core.numerics.singular_values import svd
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import NotSupportedError

__all__ = ["RDAFit", "fit_rda", "needs_roots", "too_few"]

Floats = NDArray[np.float64]

SINGULAR = 1e-13
"""Size of a column's residual on the others, relative to the column, at which a covariance has no inverse."""

SAFE_RIDGE = 1e-2
"""Share of the ridge from which scatters serve as well as their roots."""


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
        In the coordinates of the moments; a singular one of thin roots is a zero (1, 1).
    cv : int, "loo" or None
        The folds by which alpha and gamma were chosen; None where they were given.
    select : {"min", "1se"}
        By which rule.
    standardize : bool
        Whether the ridge is one of columns over their standard deviations within classes.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    alpha: float
    gamma: float
    parametrization: Parametrization
    method: str
    covariances: tuple[Covariance, ...]
    cv: int | str | None = None
    select: str = "min"
    standardize: bool = False

    has_distances = False

    @property
    def ridged(self) -> bool:
        """Whether the identity has a part in the mixture."""
        if self.parametrization == "esl":
            return self.alpha < 1 and self.gamma < 1
        return self.gamma > 0

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            Another method than "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(
                f'method="{method}" is not defined for regularized covariances: use "plugin".'
            )
        if self.alpha == 0:
            # One covariance, whose quadratic form would cancel in differences of scores.
            return gaussian.linear_rule(self.moments, self.covariances[0], log_prior)
        return gaussian.separate_plugin(self.moments, self.covariances, log_prior)

    def refit(self, moments: ClassMoments) -> RDAFit | None:
        """The same model of other rows, the prior held; None where a covariance is singular."""
        if too_few(moments):
            return None
        found = fit_rda(
            moments,
            self.prior,
            alpha=self.alpha,
            gamma=self.gamma,
            parametrization=self.parametrization,
            method=self.method,
            estimated_prior=self.estimated_prior,
            standardize=self.standardize,
        )
        return None if found.singular() else found

    def singular(self) -> list[int]:
        """Classes whose covariance has no inverse."""
        return [
            k
            for k, held in enumerate(self.covariances)
            if not isinstance(held, ThinCovariance) and is_singular(held.root, self.moments, SINGULAR)
        ]

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them."""
        if self.standardize:
            apart = replace(self, standardize=False)
            return standardized_left_out(
                self.moments, lambda held: replace(apart, moments=held).left_out(log_prior)
            )
        return rda_left_out(
            self.moments, Pair(self.alpha, self.gamma), self.parametrization, self.method, log_prior
        )

    def llf(self) -> float:
        """Log-likelihood of class and row at the means, the covariances and the prior of the fit."""
        moments, n = self.moments, self.moments.counts
        with np.errstate(divide="ignore"):
            classes = float(n @ np.log(self.prior))
        units = 2.0 * np.log(moments.scale).sum()
        total = 0.0
        for k, covariance in enumerate(self.covariances):
            if moments.roots is not None:
                squares = float((covariance.whiten(moments.roots[k].T) ** 2).sum())
            else:
                squares = float((covariance.inverse * (moments.scatters[k] @ covariance.inverse)).sum())
            size = covariance.logdet - units + moments.n_columns * np.log(2 * np.pi)
            total += float(n[k]) * size + squares
        return classes - 0.5 * total


def too_few(moments: ClassMoments) -> list[int]:
    """Classes that have no covariance, for want of more than one row or unit of weight."""
    return np.flatnonzero(moments.counts <= 1 + len(moments.counts) * EPS * moments.counts.sum()).tolist()


def needs_roots(pairs: Iterable[Pair], parametrization: Parametrization) -> bool:
    """Whether some pair has so little ridge that ill-conditioned scatters would lose digits."""
    if parametrization == "esl":
        return any((1 - pair.alpha) * (1 - pair.gamma) < SAFE_RIDGE for pair in pairs)
    return any(pair.gamma < SAFE_RIDGE for pair in pairs)


def fit_rda(
    moments: ClassMoments,
    prior: Floats,
    *,
    alpha: float,
    gamma: float,
    parametrization: Parametrization = "esl",
    method: str = "moment",
    estimated_prior: bool = True,
    cv: int | str | None = None,
    select: str = "min",
    standardize: bool = False,
) -> RDAFit:
    """Fit from moments by class, none of them `too_few`.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    prior : (K,) float
    alpha, gamma : float
        Within [0, 1].
    parametrization, method, estimated_prior, cv, select, standardize
        As of `RDAFit`.
    """
    p = moments.n_columns
    divisors = divisors_by_class(moments.counts, method)
    # In the units that the identity is meant in.
    held = standardized(moments) if standardize else comparable(moments)
    unit = held.common_unit
    squares = (held.squares * unit * unit).sum(axis=1)
    shares = mixture(
        parametrization,
        Pair(alpha, gamma),
        divisors,
        squares / divisors / p,
        squares.sum() / divisors.sum() / p,
    )
    if not standardize:
        # Without a ridge nothing compares the columns, and each keeps a scale of its own.
        moments = held = held if shares[2].any() else moments
    # As multiples of the scatters.
    multiples = shares[0] / divisors, shares[1] / divisors.sum(), shares[2]
    mixed = _thin if moments.spread == "thin class" else _full
    covariances = mixed(held, *multiples)
    own = cv, select, standardize
    return RDAFit(moments, prior, estimated_prior, alpha, gamma, parametrization, method, covariances, *own)


def _full(moments: ClassMoments, own: Floats, common: Floats, ridge: Floats) -> tuple[Covariance, ...]:
    """Covariances own_k W_k + common_k W + ridge_k I, the last in the data's `common_unit`."""
    whole, covariances = moments.pooled(), []
    for k in range(moments.n_classes):
        sphere = np.diag(np.sqrt(ridge[k]) / moments.common_unit) if ridge[k] else 0.0 * moments.scale[None]
        if moments.roots is not None and whole.roots is not None:
            parts = [np.sqrt(own[k]) * moments.roots[k], np.sqrt(common[k]) * whole.roots[0], sphere]
            root = triangle(np.concatenate(parts))
        else:
            root = _cholesky(own[k] * moments.scatters[k] + common[k] * whole.scatters[0] + sphere**2)
        # A root without an inverse is held as it is, for `singular` to find.
        singular = is_singular(root, whole, SINGULAR)
        covariances.append(Covariance(root, None) if singular else Covariance.from_root(root))
    return tuple(covariances)


def _thin(moments: ClassMoments, own: Floats, common: Floats, ridge: Floats) -> tuple[Covariance, ...]:
    """As `_full`, from thin roots: on the span of the rows, and the ridge beyond it."""
    unit = moments.common_unit
    roots, whole = np.asarray(moments.roots) * unit, np.asarray(moments.pooled().roots)[0] * unit
    basis, lower = np.linalg.qr(whole.T)
    covariances: list[Covariance] = []
    for k, root in enumerate(roots):
        rows = np.concatenate([np.sqrt(own[k]) * root @ basis, np.sqrt(common[k]) * lower.T])
        _, singular, turned = svd(rows, full_matrices=False)
        sphere = float(ridge[k])
        if not sphere > (SINGULAR * singular[0]) ** 2:
            covariances.append(Covariance(np.zeros((1, 1)), None))
            continue
        axes, sd = turned @ basis.T, np.sqrt(singular**2 + sphere)[:, None]
        held = ThinCovariance(sd * axes / unit, (axes / sd * unit).T, axes, unit, float(np.sqrt(sphere)))
        covariances.append(held)
    return tuple(covariances)


def _cholesky(matrix: Floats) -> Floats:
    """Upper triangular root of a symmetric matrix; one with zeros on its diagonal where it has none."""
    if (np.diagonal(matrix) > 0).all():
        with suppress(np.linalg.LinAlgError):
            return scaled_cholesky(matrix)
    return np.zeros_like(matrix)
