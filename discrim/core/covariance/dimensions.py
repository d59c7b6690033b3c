"""How many eigenvalues of a covariance are signal: Cattell's scree test, and BIC.

Theory. The *scree test* (Cattell, 1966, Multivariate Behavioral Research 1, 245-276) takes the last
dimension j from which the eigenvalues fall by at least a share of the largest fall,

    l_j - l_(j+1) >= t max_i (l_i - l_(i+1)),

with all p eigenvalues, those that are zero as well: where rows are fewer than columns the fall to zero may
be the largest. *BIC* takes the dimension d whose normal law of the rows of the class, with d variances (or
one that they share) and one for what is beyond, has the least

    n [sum_(j <= d) ln a_j + (p - d) ln b] + (d (p - (d + 1)/2) + m) ln n,   m = d, or 1 where they share.

Where rows are fewer than columns their likelihood has no bound: the more dimensions, the less is left to the
noise, which counts once for each of the many columns. BIC is then of the space that the rows span, with its
dimension in the place of p.

Both are tried from 1 to the largest dimension that leaves something to the noise, one less than the rank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bic_by_dimension", "by_bic", "by_scree", "falls"]

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]


def falls(lengths: Floats, p: int) -> Floats:
    """Falls (..., r) between neighbours of eigenvalues (..., r), the largest first, of p columns."""
    if lengths.shape[-1] < p:
        lengths = np.concatenate([lengths, np.zeros((*lengths.shape[:-1], 1))], axis=-1)
    return np.asarray(lengths[..., :-1] - lengths[..., 1:])


def by_scree(lengths: Floats, most: Counts, p: int, threshold: float) -> Counts:
    """Dimensions (m,) by the scree test.

    Parameters
    ----------
    lengths : (m, r) float
        Eigenvalues, the largest first, of m covariances.
    most : (m,) int
        Largest dimension of each.
    p : int
        Number of columns.
    threshold : float
        Share of the largest fall.

    Examples
    --------
    >>> import numpy as np
    >>> by_scree(np.array([[9.0, 5.0, 1.0, 0.9]]), np.array([3]), 4, 0.2).tolist()
    [2]
    """
    steps = falls(lengths, p)
    steep = steps >= threshold * steps.max(axis=1, keepdims=True)
    steep &= np.arange(steps.shape[1]) < most[:, None]
    last = steps.shape[1] - np.argmax(steep[:, ::-1], axis=1)
    # Where only the fall to zero is steep, one dimension.
    return np.asarray(np.where(steep.any(axis=1), last, 1), dtype=np.intp)


def by_bic(lengths: Floats, most: Counts, p: int, counts: Floats, *, shared: bool) -> Counts:
    """Dimensions (m,) by BIC.

    Parameters
    ----------
    lengths : (m, r) float
        Eigenvalues of scatters, the largest first.
    most : (m,) int
        Largest dimension of each, one less than the rank.
    p : int
        Number of columns.
    counts : (m,) float
        Sums of weights that the scatters are of.
    shared : bool
        Whether the signal has one variance in all its dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> scatter = 50 * np.array([[9.0, 5.0, 1.0, 0.9]])
    >>> by_bic(scatter, np.array([3]), 4, np.array([50.0]), shared=False).tolist()
    [2]
    """
    spanned = np.minimum(p, most + 1)
    values = bic_by_dimension(lengths, spanned, counts, shared=shared)
    values[np.arange(values.shape[1]) >= most[:, None]] = np.inf
    return np.asarray(np.argmin(values, axis=1) + 1, dtype=np.intp)


def bic_by_dimension(lengths: Floats, spanned: Counts, counts: Floats, *, shared: bool) -> Floats:
    """BIC (m, r) of 1 to r dimensions of spaces of so many (m,), but for what these have in common.

    Of a dimension that leaves nothing to the noise it is no number. The others are as of `by_bic`.
    """
    d = np.arange(1, lengths.shape[1] + 1)
    n, p = counts[:, None], spanned[:, None]
    tails = np.cumsum(lengths[:, ::-1], axis=1)[:, ::-1]
    rest = np.concatenate([tails[:, 1:], np.zeros((len(lengths), 1))], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if shared:
            signal = d * np.log(np.cumsum(lengths, axis=1) / d / n)
        else:
            signal = np.cumsum(np.log(lengths / n), axis=1)
        noise = (p - d) * np.log(rest / (p - d) / n)
        free = d * (p - (d + 1) / 2) + (1 if shared else d)
        return np.asarray(n * (signal + noise) + free * np.log(n))
