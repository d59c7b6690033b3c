"""Regularized rules of many pairs where classes have fewer rows than there are columns.

Theory. In the notation of `discrim.core.rda_path`, S_k = F_k'F_k, F_k of as few rows as the class has
degrees of freedom, from a Cholesky decomposition with pivots. With T = V D V' and A = F_k V D^-1/2 the
covariance

    Sigma_k = alpha S_k + beta T = V D^1/2 (alpha A'A + beta I) D^1/2 V',   beta = 1 - alpha,

has, with A A' = Z L Z' and w = D^-1/2 V'd for a row's deviation d (Woodbury's identity),

    D2 = (|w|^2 - sum_j alpha e_j^2 / (alpha l_j + beta)) / beta,   e = Z'A w,
    ln|Sigma_k| = ln|T| + (p - r) ln beta + sum_j ln(alpha l_j + beta).

Decompositions are of r x r matrices. The difference costs the digits of (alpha l + beta)/beta, which has a
limit here; beyond it the pairs are left to the longer way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from discrim.core.covariance import EPS
from discrim.core.mixtures import Pair, Scatters
from discrim.core.moments import ClassMoments
from discrim.core.rules import standard_columns

__all__ = ["ThinPathRule", "is_thin", "thin_rule"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

WORTH_COLUMNS = 32
"""Columns from which on small decompositions are worth their trouble."""

WORTH_RANK = 0.7
"""Share of the columns that the degrees of freedom of some class are at most."""

LOSS = 1e4
"""Most that a distance may be smaller than what it is the difference of."""


@dataclass(frozen=True, slots=True)
class _Axes:
    """Of one class and the pairs of one gamma.

    Attributes
    ----------
    target : (p,) float
        D.
    factor : (r, p) float
        F V, over the root of the divisor.
    turned : (r, r) float
        Z.
    shrink : (G, r) float
        alpha / (alpha l + beta).
    """

    target: Floats
    factor: Floats
    turned: Floats
    shrink: Floats


@dataclass(frozen=True, slots=True)
class ThinPathRule:
    """The rules of G pairs.

    Attributes
    ----------
    pairs : (G,) int
        Positions of the pairs, those of one gamma after the other.
    moments : ClassMoments
    vectors : (p, p) float
        V'.
    axes : K lists of _Axes
        By class and gamma.
    beta : (G,) float
    constants : (K, G) float
        ln prior_k - ln|Sigma_k|/2.
    """

    pairs: Codes
    moments: ClassMoments
    vectors: Floats
    axes: Sequence[Sequence[_Axes]]
    beta: Floats
    constants: Floats

    def scores(self, x: Floats) -> Iterator[Floats]:
        """Scores (G, m) of rows x (m, p), class by class."""
        held = self.moments
        for k, by_gamma in enumerate(self.axes):
            z = standard_columns(x, held.centres[k], held.scale)
            z -= held.rests[k][:, None]
            y = self.vectors @ z
            squares = y**2
            parts = []
            for axes in by_gamma:
                e = axes.turned.T @ (axes.factor @ (y / axes.target[:, None]))
                e *= e
                parts.append((1.0 / axes.target) @ squares - axes.shrink @ e)
            scores = np.concatenate(parts)
            scores *= (-0.5 / self.beta)[:, None]
            scores += self.constants[k][:, None]
            yield scores


def is_thin(held: Scatters) -> bool:
    """Whether a class has so few rows that these decompositions are the shorter ones."""
    p = held.moments.n_columns
    return p >= WORTH_COLUMNS and bool((held.moments.rows - 1 <= WORTH_RANK * p).any())


def thin_rule(
    held: Scatters,
    pairs: Sequence[Pair],
    groups: Sequence[tuple[Codes, Floats, float]],
    vectors: Floats,
    log_prior: Floats,
) -> ThinPathRule | None:
    """The rules of pairs, ESL's, with an alpha below one; None where too many digits would be lost.

    Parameters
    ----------
    held : Scatters
    pairs : sequence of Pair
    groups : sequence of ((G,) int, (p,) float, float)
        For each gamma the positions of its pairs, the D of T, and the ridge before it is multiplied by beta,
        which is the variance of the columns beyond those of the moments.
    vectors : (p, p) float
        V.
    log_prior : (K,) float
    """
    beta = np.concatenate([[1 - pairs[i].alpha for i in at] for at, _, _ in groups])
    constants, every = np.empty((held.moments.n_classes, len(beta))), []
    p = held.moments.n_columns
    for k in range(held.moments.n_classes):
        factor = _factor(held.own[k], int(held.moments.rows[k]) - 1) @ vectors
        factor /= np.sqrt(held.divisors[k])
        found, logdets = [], []
        for at, target, ridge in groups:
            alpha = np.array([pairs[i].alpha for i in at])[:, None]
            scaled = factor / np.sqrt(target)
            lengths, turned = np.linalg.eigh(scaled @ scaled.T)
            mixed = alpha * np.maximum(lengths, 0.0) + (1 - alpha)
            if (mixed > LOSS * (1 - alpha)).any() or not np.isfinite(mixed).all():
                return None
            logdet = np.log(target).sum() + np.log(mixed).sum(axis=1)
            logdet += (p - len(lengths)) * np.log(1 - alpha[:, 0])
            if held.beyond:
                logdet += held.beyond * np.log((1 - alpha[:, 0]) * ridge)
            logdets.append(logdet)
            found.append(_Axes(target, factor, turned, alpha / mixed))
        constants[k] = log_prior[k] - 0.5 * np.concatenate(logdets)
        every.append(found)
    positions = np.concatenate([at for at, _, _ in groups])
    return ThinPathRule(positions, held.moments, vectors.T * held.unit, every, beta, constants)


def _factor(scatter: Floats, most: int) -> Floats:
    """F (r, p) of a scatter F'F of rank `most` at most."""
    diagonal = np.diagonal(scatter)
    root, pivots, rank, _ = lapack.dpstrf(scatter, tol=EPS * float(diagonal.max()))
    rank = max(min(int(rank), most), 0)
    found = np.empty((rank, len(scatter)))
    found[:, pivots - 1] = np.triu(root)[:rank]
    return found
