"""Discriminant analysis by any regression: optimal scoring of fitted values.

Theory (Hastie, Tibshirani & Buja, 1994, JASA 89, 1255-1270). Scores of the classes have mean zero and mean
square one over the rows. Start from any K - 1 such scores, mutually uncorrelated, in the columns of T0 (K,
K-1); with Y the scores of the rows' classes and F what the regression fits to them, the optimal scores are
T0 v with v the eigenvectors of Y'F/N, which for least squares is symmetric (its symmetric part is taken of
others). An eigenvalue l is the squared canonical correlation, and 1 - l the average squared residual. The
variates

    F v / sqrt(l (1 - l))

are those of LDA where the regression is least squares: then the covariance within classes is one, with
divisor N. Rows go to the class whose mean of the variates is nearest, less twice the log of the prior
(Hastie, Tibshirani & Friedman, 2009, The Elements of Statistical Learning, sec. 12.5). For least squares
and others that keep the mean the means are T0 v sqrt(l / (1 - l)); an engine without a constant shifts all
variates, which moves their means along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.canonical import positive_signs
from discrim.core.covariance.covariance import EPS
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.nearest_means import Means, nearest_mean_rule
from discrim.core.rules.rules import LinearRule

__all__ = ["FlexibleFit", "fit_flexible", "starting_scores"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class VariateRule:
    """Scores that are linear in variates, themselves any function of the rows.

    Attributes
    ----------
    variates : callable
        From rows (m, p) to variates (m, r).
    linear : LinearRule
        Of the variates.
    """

    variates: Callable[[Floats], Floats]
    linear: LinearRule

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        return self.linear.scores(self.variates(x))


@dataclass(frozen=True, slots=True)
class FlexibleFit:
    """The numbers of a flexible discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal.
    prior : (K,) float
    estimated_prior : bool
    regress : callable
        From rows (m, p) to fitted values (m, K - 1) of the starting scores.
    turn : (K - 1, r) float
        From these to variates.
    values : (r,) float
        Squared canonical correlations of the axes kept.
    every_value : (K - 1,) float
        Those of all axes.
    scores : (K, r) float
        Optimal scores.
    centroids : (K, r) float
        Class means of the variates.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    regress: Callable[[Floats], Floats]
    turn: Floats
    values: Floats
    every_value: Floats
    scores: Floats
    centroids: Floats

    @property
    def has_distances(self) -> bool:
        """There is no full covariance of the columns within classes."""
        return False

    def variates(self, x: Floats) -> Floats:
        """Variates (m, r) of rows (m, p); of a row with a missing value, missing."""
        known = ~np.isnan(x).any(axis=1)
        out = np.full((len(x), len(self.values)), np.nan)
        if known.any():
            out[known] = self.regress(np.ascontiguousarray(x[known])) @ self.turn
        return out

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> VariateRule:
        """The nearest centroid under a prior (K,)."""
        r = len(self.values)
        means = Means(self.centroids, np.zeros_like(self.centroids), np.ones(r), np.array, np.array)
        return VariateRule(self.variates, nearest_mean_rule(means, np.zeros(r), log_prior))


def starting_scores(counts: Floats) -> Floats:
    """Scores (K, K - 1) of classes of so many rows (K,): mean zero, mean square one, uncorrelated."""
    roots = np.sqrt(counts / counts.sum())
    basis = np.linalg.qr(np.column_stack([roots, np.eye(len(counts))[:, 1:]]))[0]
    return np.asarray(basis[:, 1:] / roots[:, None])


def optimal_values(start: Floats, sides: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (K - 1,), falling, and vectors of the regression of scores.

    Parameters
    ----------
    start : (K, K - 1) float
        Starting scores.
    sides : (K, K - 1) float
        Sums of the fitted values over the rows of each class.
    counts : (K,) float
    """
    product = start.T @ sides / counts.sum()
    values, vectors = np.linalg.eigh((product + product.T) / 2)
    return values[::-1], vectors[:, ::-1]


def fit_flexible(
    moments: ClassMoments,
    prior: Floats,
    regress: Callable[[Floats], Floats],
    sides: Floats,
    *,
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> FlexibleFit:
    """Fit from a regression of the starting scores.

    Parameters
    ----------
    moments : ClassMoments
    prior : (K,) float
    regress : callable
        See `FlexibleFit`.
    sides : (K, K - 1) float
        Sums of the fitted values over the rows of each class.
    ncomp : int, optional
        Axes to keep.
    estimated_prior : bool
    """
    start = starting_scores(moments.counts)
    every, vectors = optimal_values(start, sides, moments.counts)
    rank = int((every > 10 * len(every) * EPS).sum())
    rank = rank if ncomp is None else min(rank, ncomp)
    values, turn = every[:rank], vectors[:, :rank]
    scores = start @ turn
    signs = positive_signs(scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = signs / np.sqrt(values * (1 - values))
        centroids = (sides / moments.counts[:, None]) @ (turn * unit)
    return FlexibleFit(
        moments, prior, estimated_prior, regress, turn * unit, values, every, scores * signs, centroids
    )
