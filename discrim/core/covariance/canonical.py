"""The between/within eigenproblem, solved once for everything that asks it.

Theory. With T'ST = I for the covariance S within classes, the whitened class
means T'(m_k - c), each weighted by the square root of a_k, form a matrix whose
right singular vectors V give the canonical axes T V: directions of unit variance
within classes, ordered by how far the means spread along them. The squared
singular values are the eigenvalues of S^-1 B with B = sum a_k (m_k - c)(m_k - c)'.
No product with B or inverse of S is ever formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS, Covariance
from discrim.core.numerics.singular_values import svd

__all__ = ["Canonical", "canonical", "positive_signs", "svd_signs", "weighted_centre"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Canonical:
    """Canonical axes in the coordinates of the moments.

    Attributes
    ----------
    centre : (p,) float
        The weighted mean of the class means.
    axes : (p, r) float
        Columns of unit variance within classes. Signs: in each column the largest coefficient in
        absolute value, standardized by the standard deviation within classes, is positive.
    singular : (r,) float
        Singular values, largest first; r <= min(p, K - 1) leaves out those that are zero.
    scores : (K, r) float
        The class means on the axes.
    """

    centre: Floats
    axes: Floats
    singular: Floats
    scores: Floats


def weighted_centre(means: Floats, weights: Floats) -> Floats:
    """Mean (p,) of class means (K, p), weighted, kept exact where the means agree."""
    anchor = means[int(np.argmax(weights))]
    return np.asarray(anchor + weights @ (means - anchor) / weights.sum())


def canonical(means: Floats, covariance: Covariance, weights: Floats, factor: float) -> Canonical:
    """Canonical axes of class means.

    Parameters
    ----------
    means : (K, p) float
    covariance : Covariance
        Within classes.
    weights : (K,) float
        Shares of the classes, summing to one.
    factor : float
        Multiplies the weights: N / (K - 1) gives the singular values of R's MASS (method "moment"),
        N / K those of its "mle", N / divisor the square roots of the eigenvalues of W^-1 B.
    """
    centre = weighted_centre(means, weights)
    whitened = covariance.whiten((means - centre).T).T
    _, singular, right = svd(np.sqrt(factor * weights)[:, None] * whitened, full_matrices=False)
    most = min(means.shape[1], len(means) - 1)
    rank = int((singular[:most] > 10 * max(means.shape) * EPS * singular[0]).sum()) if singular.size else 0
    axes = covariance.unwhiten(right[:rank].T)
    signs = positive_signs(axes * covariance.sd[:, None])
    return Canonical(centre, axes * signs, singular[:rank], whitened @ (right[:rank].T * signs))


def positive_signs(standardized: Floats) -> Floats:
    """Sign (r,) that makes the largest coefficient of each column positive; of near ties, the first."""
    sizes = np.abs(standardized)
    if not sizes.size:
        return np.ones(standardized.shape[1])
    first = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-8), axis=0)
    return np.where(standardized[first, np.arange(standardized.shape[1])] < 0, -1.0, 1.0)


def svd_signs(means: Floats, covariance: Covariance, weights: Floats, axes: Floats) -> Floats:
    """Signs (r,) that turn axes (p, r) as LAPACK's singular value decomposition happens to leave them.

    R's MASS and scikit-learn keep the signs of the decomposition of the weighted means (K, p) in the
    principal axes within classes of the standardized columns. They depend on that basis where K exceeds p,
    so the same way is gone here.
    """
    sd = covariance.sd
    _, lengths, principal = svd(covariance.root / sd)
    basis = principal.T / lengths / sd[:, None]
    spread = np.sqrt(weights)[:, None] * (means - weighted_centre(means, weights)) @ basis
    _, _, right = svd(spread, full_matrices=False)
    theirs = covariance.root @ (basis @ right[: axes.shape[1]].T)
    return np.where(((covariance.root @ axes) * theirs).sum(axis=0) < 0, -1.0, 1.0)
