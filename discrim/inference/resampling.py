"""Reference distributions by resampling: the likelihood ratio of LDA against QDA.

Theory. The ratio does not change under affine maps of the rows within classes, so that under one normal
covariance its distribution depends on n_k and p alone: scatters W_k are drawn as Wishart matrices with n_k
- 1 degrees of freedom by their triangular roots (Bartlett, 1933, Proceedings of the Royal Society of
Edinburgh 53, 260-283). This is the parametric bootstrap, and exact up to the number of replicates. The
permutation distribution shuffles the rows' deviations from their class means over the classes: it needs no
normality, and is exact but for the means' being estimated. The p-value counts the observed ratio as one
replicate: (1 + number as large)/(1 + replicates) (Davison & Hinkley, 1997, Bootstrap Methods and their
Application, ch. 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar

__all__ = ["bootstrap_ratios", "exceedance", "permutation_ratios", "ratio"]

Floats = NDArray[np.float64]

CHUNK = 2**20
"""Numbers held at a time."""


def ratio(logdets: Floats, whole: Floats, counts: Floats, p: int) -> Floats:
    """-2 ln Lambda from log-determinants of scatters (..., K) and of their sums (...)."""
    total = float(counts.sum())
    constant = total * p * np.log(total) - p * float(counts @ np.log(counts))
    return np.asarray(total * whole - logdets @ counts - constant)


def _roots(free: Floats, p: int, size: int, rng: np.random.Generator) -> Floats:
    """Lower roots A (size, K, p, p) of Wishart matrices A A' of unit scale, of free (K,) degrees."""
    roots = np.tril(rng.standard_normal((size, len(free), p, p)), -1)
    diagonal = np.sqrt(rng.chisquare(free[:, None] - np.arange(p), (size, len(free), p)))
    roots[..., np.arange(p), np.arange(p)] = diagonal
    return roots


def bootstrap_ratios(counts: Floats, p: int, replicates: int, seed: int | None) -> Floats:
    """Ratios (replicates,) under one normal covariance, for class counts (K,)."""
    rng = np.random.default_rng(seed)
    size = int(np.clip(CHUNK // (len(counts) * p * p), 1, replicates))
    found: list[Floats] = []
    with late_bar(replicates, "parametric bootstrap") as tell:
        while (left := replicates - sum(len(part) for part in found)) > 0:
            roots = _roots(counts - 1, p, min(size, left), rng)
            logdets = 2 * np.log(np.diagonal(roots, axis1=2, axis2=3)).sum(axis=-1)
            # The sum over the classes is one product of the roots side by side.
            side = np.swapaxes(roots, 1, 2).reshape(len(roots), p, -1)
            whole = np.linalg.slogdet(side @ np.swapaxes(side, 1, 2))[1]
            found.append(ratio(logdets, whole, counts, p))
            tell(len(roots))
    return np.concatenate(found)


def permutation_ratios(
    deviations: Floats, counts: NDArray[np.int64], replicates: int, seed: int | None
) -> Floats:
    """Ratios (replicates,) of deviations shuffled over the classes.

    Parameters
    ----------
    deviations : (N, p) float
        Of the rows from their class means, whitened so that digits are kept.
    counts : (K,) int
        Rows of the classes.
    """
    rng = np.random.default_rng(seed)
    n, p = deviations.shape
    stops = np.cumsum(counts)
    size = int(np.clip(CHUNK // (n * p), 1, replicates))
    found: list[Floats] = []
    with late_bar(replicates, "permutation") as tell:
        while (left := replicates - sum(len(part) for part in found)) > 0:
            # Keys rather than shuffles: one sort for all replicates of a chunk.
            order = np.argsort(rng.random((min(size, left), n)), axis=1)
            shuffled = deviations[order]
            scatters = []
            for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
                rows = shuffled[:, start:stop]
                rows = rows - rows.mean(axis=1, keepdims=True)
                scatters.append(np.swapaxes(rows, 1, 2) @ rows)
            held = np.stack(scatters, axis=1)
            logdets, whole = np.linalg.slogdet(held)[1], np.linalg.slogdet(held.sum(axis=1))[1]
            found.append(ratio(logdets, whole, counts.astype(np.float64), p))
            tell(len(order))
    return np.concatenate(found)


def exceedance(observed: float, replicates: Floats) -> float:
    """Monte Carlo p-value, (1 + number as large as the observed) / (1 + replicates)."""
    # A replicate that is the observed arrangement again differs by rounding only.
    return float((1 + (replicates >= observed * (1 - 1e-12)).sum()) / (1 + len(replicates)))
