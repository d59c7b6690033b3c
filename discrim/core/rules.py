"""Decision rules: from rows to class scores, and from scores to posteriors.

A rule's scores are log posteriors up to a constant of the row, so that labels,
log posteriors and posteriors follow from scores alone. Rows come as x (m, p);
everything inside works on columns (p, m), the layout of a table. Scores (m, K) lie in
memory class by class where classes are few, row by row where they are many: the longer side is the fast one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import Covariance

__all__ = [
    "Columns",
    "Distances",
    "GaussianRule",
    "IndependentRule",
    "LinearRule",
    "PartRule",
    "Rule",
    "StudentRule",
    "VariateRule",
    "best_class",
    "log_posteriors",
    "posteriors",
]

Floats = NDArray[np.float64]

MANY_CLASSES = 64
"""Classes beyond which scores lie row by row in memory, not class by class."""


@dataclass(frozen=True, slots=True)
class LinearRule:
    """Scores z'coef + intercept, with z = (x - origin) * scale.

    Attributes
    ----------
    origin, scale : (p,) float
    coef : (p, K) float
    intercept : (K,) float
    """

    origin: Floats
    scale: Floats
    coef: Floats
    intercept: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        z = standard_columns(x, self.origin, self.scale)
        if len(self.intercept) > MANY_CLASSES:
            scores = z.T @ self.coef
            scores += self.intercept
            return np.asarray(scores)
        columns = self.coef.T @ z
        columns += self.intercept[:, None]
        return np.asarray(columns.T)


@dataclass(frozen=True, slots=True)
class Distances:
    """Squared Mahalanobis distances to class means.

    Attributes
    ----------
    origin : (p,) or (K, p) float
        Common to the classes, or one for each where each has its covariance.
    scale : (p,) float
    means : (K, p) float
        In the coordinates z = (x - origin) * scale.
    covariances : tuple of Covariance
        One for all classes, or one for each.
    axes : (p, r) float, optional
        Coefficients that rows are projected on first; means and covariances are then those of the r
        projections.
    """

    origin: Floats
    scale: Floats
    means: Floats
    covariances: tuple[Covariance, ...]
    axes: Floats | None = None

    def squared(self, x: Floats) -> Floats:
        """Distances (K, m) of rows x (m, p)."""
        distances = np.empty((len(self.means), len(x)))
        if len(self.covariances) == 1:
            z = standard_columns(x, self.origin, self.scale)
            if self.axes is not None:
                z = self.axes.T @ z
            (covariance,) = self.covariances
            means = covariance.whiten(self.means.T).T
            whitened = covariance.whiten(z)
            for k, mean in enumerate(means):
                distances[k] = column_squares(whitened - mean[:, None])
            return distances
        for k, covariance in enumerate(self.covariances):
            z = standard_columns(x, self.origin[k], self.scale)
            z -= self.means[k][:, None]
            distances[k] = column_squares(covariance.whiten(z))
        return distances


@dataclass(frozen=True, slots=True)
class GaussianRule:
    """Scores constant_k - factor_k D2_k / 2: normal log densities and their debiased form.

    Attributes
    ----------
    distances : Distances
    constant, factor : (K,) float
    """

    distances: Distances
    constant: Floats
    factor: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        scores = self.distances.squared(x)
        scores *= -0.5 * self.factor[:, None]
        scores += self.constant[:, None]
        return scores.T


@dataclass(frozen=True, slots=True)
class StudentRule:
    """Scores constant_k - power_k log(1 + D2_k / spread_k): predictive densities.

    Attributes
    ----------
    distances : Distances
    constant, power, spread : (K,) float
    """

    distances: Distances
    constant: Floats
    power: Floats
    spread: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        scores = self.distances.squared(x)
        scores /= self.spread[:, None]
        np.log1p(scores, out=scores)
        scores *= -self.power[:, None]
        scores += self.constant[:, None]
        return scores.T


class Columns(Protocol):
    """Columns that are independent of the others within classes."""

    def log_densities(self, x: Floats) -> Floats:
        """Log densities (K, m) of rows x (m, p), of the columns that are not missing (NaN)."""


@dataclass(frozen=True, slots=True)
class IndependentRule:
    """Scores of columns that are independent within classes, missing ones (NaN) integrated out.

    The density of a row without some of its columns is that of the others; without any, the score is the
    log prior. A row that is impossible in a class scores minus infinity there.

    Attributes
    ----------
    log_prior : (K,) float
    normal : GaussianRule or None
        Of complete rows, with a diagonal covariance for each class; its constants contain the log prior.
    positions : (q,) int
        Of the normal columns in the rows.
    others : tuple of Columns
    """

    log_prior: Floats
    normal: GaussianRule | None
    positions: NDArray[np.intp]
    others: tuple[Columns, ...] = ()

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        if self.normal is None:
            scores = np.repeat(self.log_prior[:, None], len(x), axis=1)
        else:
            part = x if len(self.positions) == x.shape[1] else x[:, self.positions]
            scores = self._normal_scores(self.normal, part).T
        for columns in self.others:
            scores = scores + columns.log_densities(x)
        return np.asarray(scores.T)

    def _normal_scores(self, rule: GaussianRule, x: Floats) -> Floats:
        scores = rule.scores(x)
        rows = np.flatnonzero(np.isnan(x).any(axis=1))
        if not len(rows):
            return scores
        held, part = rule.distances, x[rows]
        known = ~np.isnan(part.T)
        for k, covariance in enumerate(held.covariances):
            z = standard_columns(part, held.origin[k], held.scale) - held.means[k][:, None]
            density = -0.5 * covariance.whiten(z) ** 2 - np.log(covariance.root)[:, None]
            scores[rows, k] = self.log_prior[k] + np.where(known, density, 0.0).sum(axis=0)
        return scores


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
class PartRule:
    """A rule of some of the columns.

    Attributes
    ----------
    rule : Rule
    keep : (q,) int
        Positions of its columns in the rows.
    """

    rule: Rule
    keep: NDArray[np.intp]

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        return self.rule.scores(np.take(x.T, self.keep, axis=0).T)


class OtherRule(Protocol):
    """A rule of another module."""

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""


Rule = LinearRule | GaussianRule | StudentRule | IndependentRule | VariateRule | PartRule | OtherRule


def log_posteriors(scores: Floats) -> Floats:
    """Log posteriors (m, K) of scores (m, K), by log-sum-exp a row.

    A missing row stays missing; so is one whose every score is minus infinity: its posterior is 0/0.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_posteriors(np.array([[-2000.0, -2000.0]]))).tolist()
    [[0.5, 0.5]]
    """
    with np.errstate(invalid="ignore"):
        shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def posteriors(scores: Floats) -> Floats:
    """Posteriors (m, K) of scores (m, K); each row sums to one, or is missing as in `log_posteriors`."""
    with np.errstate(invalid="ignore"):
        weights = scores - scores.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights *= 1 / weights.sum(axis=1, keepdims=True)
    return np.asarray(weights)


def best_class(scores: Floats) -> NDArray[np.intp]:
    """Position of the largest score in each row of (m, K), the first of equals.

    It is -1 for a missing row, and for one whose every score is minus infinity.
    """
    rows = np.ascontiguousarray(scores)
    best = np.argmax(rows, axis=1)
    best[~(rows[np.arange(len(rows)), best] > -np.inf)] = -1
    return np.asarray(best)


def standard_columns(x: Floats, origin: Floats, scale: Floats) -> Floats:
    """The coordinates z (p, m) of rows x (m, p), about one origin (p,) or one for each row (p, m)."""
    # One memory layout whatever the table's, so that the same numbers give the same bits.
    z = np.subtract(x.T, origin.reshape(len(scale), -1), order="C")
    if not (scale == 1).all():
        z *= scale[:, None]
    return np.asarray(z)


def column_squares(columns: Floats) -> Floats:
    """Sum of squares (m,) of each column of (p, m)."""
    return np.asarray(np.einsum("ij,ij->j", columns, columns))
