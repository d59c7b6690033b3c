"""Decision rules: from rows to class scores, and from scores to posteriors.

A rule's scores are log posteriors up to a constant of the row, so that labels,
log posteriors and posteriors follow from scores alone. Rows come as x (m, p);
everything inside works on columns (p, m), the layout of a table. Scores (m, K) lie in
memory class by class where classes are few, row by row where they are many: the longer side is the fast one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.coordinates import column_squares, standard_columns
from discrim.core.rules.far_rows import beyond_range, exponents, scaled_columns, stretched

__all__ = [
    "Columns",
    "Crowd",
    "Distances",
    "GaussianRule",
    "IndependentRule",
    "LinearRule",
    "Nearest",
    "PartRule",
    "Rule",
    "StudentRule",
    "best_class",
    "log_odds_against",
    "log_posteriors",
    "logs_of_prior",
    "posteriors",
]

Floats = NDArray[np.float64]

MANY_CLASSES = 64
"""Classes beyond which scores lie row by row in memory, not class by class."""

FEW_CLASSES, SHORT = 16, 2**19
"""Classes for which products of rows that lie row by row are best kept short, and their multiplications."""

MOST_MOVES = 4
"""Times that a row may turn out to be nearest to another crowd than it seemed from farther away."""


@dataclass(frozen=True, slots=True)
class LinearRule:
    """Scores z'coef + intercept, with z = (x - origin) * scale.

    Attributes
    ----------
    origin, scale : (p,) float
    coef : (p, K) float
    intercept : (K,) float
    crowds : tuple of Crowd
        Classes whose scores about this origin differ by too little for their size.
    """

    origin: Floats
    scale: Floats
    coef: Floats
    intercept: Floats
    crowds: tuple[Crowd, ...] = ()

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._products(x)
            scores += self.intercept
            far = beyond_range(x, scores)
            if self.crowds:
                scores = self._crowds_scored(x, scores)
        if len(far):
            exponent = exponents(x[far], self.origin, self.scale)
            z = scaled_columns(x[far], self.origin, self.scale, exponent)
            scores[far] = stretched(z.T @ self.coef, self.intercept, exponent)
        return np.asarray(scores)

    def _products(self, x: Floats) -> Floats:
        """Products z'coef (m, K)."""
        (m, p), n_classes = x.shape, len(self.intercept)
        z = standard_columns(x, self.origin, self.scale, order="K")
        if n_classes > MANY_CLASSES:
            return np.asarray(z.T @ self.coef)
        short = n_classes <= FEW_CLASSES and x.strides[0] > x.strides[1]
        products, piece = np.empty((n_classes, m)), max(SHORT // (p * n_classes) & -64, 64) if short else m
        # The last piece takes in a row left alone: a product with one vector is rounded in its own way.
        for start, stop in pairwise([0, *range(piece, m - 1, piece), m]):
            np.matmul(self.coef.T, z[:, start:stop], out=products[:, start:stop])
        return products.T

    def _crowds_scored(self, x: Floats, scores: Floats) -> Floats:
        """Scores (m, K) in which the classes around the best one of each row are about their own origin."""
        home = np.full(scores.shape[1], -1)
        for i, crowd in enumerate(self.crowds):
            home[crowd.covered] = i
        before = np.full(len(x), -1)
        for _ in range(MOST_MOVES):
            at = home[np.argmax(scores, axis=1)]
            moved = np.flatnonzero((at != before) & (at >= 0))
            for i in np.unique(at[moved]).tolist():
                crowd, rows = self.crowds[i], moved[at[moved] == i]
                own, others = crowd.rule.scores(x[rows]), scores[rows]
                others += (own[:, 0] - others[:, crowd.members[0]])[:, None]
                others[:, crowd.members] = own
                scores[rows] = others
            if not len(moved):
                break
            before = at
        return scores


@dataclass(frozen=True, slots=True)
class Crowd:
    """Classes that lie close together, beside others that lie far.

    Attributes
    ----------
    covered : (c,) int
        A row whose best class is one of these is scored again.
    members : (k,) int
        The classes of the rule, which are all that lie close to those covered.
    rule : Rule
        Linear, about the first of the members.
    """

    covered: NDArray[np.intp]
    members: NDArray[np.intp]
    rule: LinearRule | OtherRule


@dataclass(frozen=True, slots=True)
class Nearest:
    """Squared distances to points in one metric: that to the nearest, and by how much the others exceed it.

    Attributes
    ----------
    rule : LinearRule
        Scores -D2_k / 2, up to what the points have in common.
    centres : (K, p) float
    rests : (K, p) float
        Point k is centres[k] + rests[k] / scale.
    whiten : callable
        From columns (p, m) in z to columns whose squared lengths are squared distances.
    """

    rule: LinearRule
    centres: Floats
    rests: Floats
    whiten: Callable[[Floats], Floats]

    def squared(self, x: Floats) -> Floats:
        """Distances (K, m) of rows x (m, p)."""
        scores = self.rule.scores(x)
        best, rows = np.argmax(scores, axis=1), np.arange(len(x))
        z = standard_columns(x, self.centres[best].T, self.rule.scale)
        z -= self.rests[best].T
        excess = scores[rows, best][:, None] - scores
        excess *= 2
        excess += column_squares(self.whiten(z))[:, None]
        return np.asarray(excess.T)

    def scaled(self, x: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Distances (K, m) of rows far from all points, over 4 to the power of exponents (m,)."""
        exponent = exponents(x, self.rule.origin, self.rule.scale)
        z = scaled_columns(x, self.rule.origin, self.rule.scale, exponent)
        return np.repeat(column_squares(self.whiten(z))[None], len(self.centres), axis=0), exponent


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
    nearest : Nearest, optional
        Of one covariance.
    """

    origin: Floats
    scale: Floats
    means: Floats
    covariances: tuple[Covariance, ...]
    nearest: Nearest | None = None

    def squared(self, x: Floats) -> Floats:
        """Distances (K, m) of rows x (m, p)."""
        if self.nearest is not None:
            return self.nearest.squared(x)
        distances = np.empty((len(self.means), len(x)))
        if x.strides[0] > x.strides[1]:
            x = np.ascontiguousarray(x.T).T  # Turned once, not for each class.
        for k, covariance in enumerate(self.covariances):
            z = standard_columns(x, self.origin[k], self.scale)
            z -= self.means[k][:, None]
            distances[k] = column_squares(covariance.whiten(z))
        return distances

    def scaled(self, x: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Distances (K, m) of rows far from all means, over 4 to the power of exponents (m,)."""
        if self.nearest is not None:
            return self.nearest.scaled(x)
        exponent = exponents(x, self.origin, self.scale)
        distances = np.empty((len(self.means), len(x)))
        for k, covariance in enumerate(self.covariances):
            z = scaled_columns(x, self.origin[k], self.scale, exponent)
            distances[k] = column_squares(covariance.whiten(z))
        return distances, exponent


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
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.distances.squared(x)
            scores *= -0.5 * self.factor[:, None]
            scores += self.constant[:, None]
        far = beyond_range(x, scores.T)
        if len(far):
            squares, exponent = self.distances.scaled(x[far])
            leading = -0.5 * self.factor * squares.T
            scores[:, far] = stretched(leading, self.constant, 2 * exponent).T
        return scores.T


@dataclass(frozen=True, slots=True)
class StudentRule:
    """Scores constant_k - power_k log(1 + D2_k / spread_k): predictive densities.

    Attributes
    ----------
    distances : Distances or Nearest
    constant, power, spread : (K,) float
    """

    distances: Distances | Nearest
    constant: Floats
    power: Floats
    spread: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.distances.squared(x)
            scores /= self.spread[:, None]
            np.log1p(scores, out=scores)
            scores *= -self.power[:, None]
            scores += self.constant[:, None]
        far = beyond_range(x, scores.T)
        if len(far):
            squares, exponent = self.distances.scaled(x[far])
            logs = np.log(squares / self.spread[:, None]) + 2 * np.log(2.0) * exponent
            scores[:, far] = self.constant[:, None] - self.power[:, None] * logs
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
    has_ends : bool
        A row may be impossible in every class.
    """

    has_ends: ClassVar[bool] = True

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
            with np.errstate(over="ignore"):
                density = -0.5 * covariance.whiten(z) ** 2 - np.log(covariance.root)[:, None]
            scores[rows, k] = self.log_prior[k] + np.where(known, density, 0.0).sum(axis=0)
        far = np.flatnonzero(np.isneginf(scores[rows]).all(axis=1))
        if len(far):
            part, known = part[far], known[:, far]
            exponent = exponents(part, held.origin, held.scale)
            leading = np.empty((len(far), len(self.log_prior)))
            for k, covariance in enumerate(held.covariances):
                z = covariance.whiten(scaled_columns(part, held.origin[k], held.scale, exponent))
                leading[:, k] = -0.5 * np.where(known, z**2, 0.0).sum(axis=0)
            scores[rows[far]] = stretched(leading, self.log_prior, 2 * exponent)
        return scores


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


Rule = LinearRule | GaussianRule | StudentRule | IndependentRule | PartRule | OtherRule


def logs_of_prior(prior: Floats) -> Floats:
    """Logarithms (K,) of a prior (K,), minus infinity for one of zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(prior))


def log_posteriors(scores: Floats) -> Floats:
    """Log posteriors (m, K) of scores (m, K), by log-sum-exp a row.

    A missing row stays missing; so is one whose every score is minus infinity: its posterior is 0/0.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_posteriors(np.array([[-2000.0, -2000.0]]))).tolist()
    [[0.5, 0.5]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def posteriors(scores: Floats, out: Floats | None = None) -> Floats:
    """Posteriors (m, K) of scores (m, K); each row sums to one, or is missing as in `log_posteriors`.

    With a place for them, the scores are worked on where they are and do not stay.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.subtract(scores, scores.max(axis=1, keepdims=True), out=None if out is None else scores)
    np.exp(weights, out=weights)
    sums = weights @ np.ones(weights.shape[1])
    return np.asarray(np.multiply(weights, 1 / sums[:, None], out=weights if out is None else out))


def log_odds_against(scores: Floats, at: int) -> Floats:
    """Log odds (m, K) of the classes against one of them; a row impossible in that one keeps its scores."""
    own = scores[:, at : at + 1]
    return np.asarray(scores - np.where(np.isneginf(own), 0.0, own))


def best_class(scores: Floats) -> NDArray[np.intp]:
    """Position of the largest score in each row of (m, K), the first of equals.

    It is -1 for a missing row, and for one whose every score is minus infinity.
    """
    if scores.shape[1] > FEW_CLASSES:
        rows = np.ascontiguousarray(scores)
        best = np.argmax(rows, axis=1)
        largest = rows[np.arange(len(rows)), best]
    else:
        best, largest = np.zeros(len(scores), dtype=np.intp), scores[:, 0].copy()
        for k in range(1, scores.shape[1]):
            best[scores[:, k] > largest] = k
            np.maximum(largest, scores[:, k], out=largest)
    best[~(largest > -np.inf)] = -1
    return np.asarray(best)
