"""Scores of each row under the rule fitted without it, without a refit; and what fits to moments answer.

Taking a row x of class g with weight w out of the moments moves one mean and takes a rank-one matrix from one
scatter:

    m_g -> m_g - w / (n_g - w) (x - m_g),   W -> W - w n_g / (n_g - w) (x - m_g)(x - m_g)'.

With Sherman and Morrison's formula every distance under the new rule follows from
distances under the old one. Write D2_k for the squared distance to m_k and
T_k = (x - m_k)' S^-1 (x - m_g), both under the full fit. With divisor N - h,
c = w n_g / ((n_g - w)(N - h)) and s = (N - w - h)/(N - h), a common covariance gives

    D2_k -> s (D2_k + c T_k^2 / (1 - c D2_g)),   D2_g -> s (n_g/(n_g - w))^2 D2_g / (1 - c D2_g),

and a covariance for each class changes the own class alone. Priors are held. (Lachenbruch &
Mickey, 1968, Technometrics 10, 1-11; the determinant lemma gives the second case.)

A row alone in its class leaves a class without a mean: its own score is minus infinity. Where
1 - c D2_g is small the subtraction has lost digits, and is zero where the covariance without
the row is singular: the rows of few degrees of freedom, and outliers. With u_j the rows of an orthonormal
basis of what a fit spans, 1 - c D2_g is the squared distance of the row's unit vector from that span over
1 - w / n_g, so that one more pass gives it as a sum of squares, sum_j (delta_ij - u_i'u_j)^2
(`FullLeftOut.left`). What is next to nothing even so is left to a refit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.errors import CoreNotSupportedError
from discrim.core.moments.moments import ClassMoments, column_squares, standard_columns
from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory
from discrim.core.rules.rules import Distances, Rule

LeftOut = Callable[[Floats, Codes, Floats | None], Floats]
"""From x (m, p), codes (m,) and weights (m,) or None to scores (m, K), each row left out in turn."""

SPOILT = 0.05
"""Value of 1 - c D2_g up to which the difference has lost digits."""

LEAST_AS_SUM = 1e-8
"""Value of 1 - c D2_g up to which a row is left to a refit though it is a sum of squares."""


def common_distances(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisor: float,
    left: Floats | None = None,
    between: Floats | None = None,
) -> tuple[Floats, Removal]:
    """Leave-one-out squared distances (K, m) where the classes share one covariance.

    Distances, counts (K,), which are sums of weights, and the divisor N - h are those of the full fit. Of a
    row with a frequency weight (m,) at most one unit is left out. Where they are known, `left` (m,) is 1 - c
    D2_g better than as a difference, and `between` (K, K) the squared distances between the means.
    """
    (covariance,) = distances.covariances
    means = covariance.whiten(distances.means.T).T
    own = covariance.whiten(standard_columns(x, distances.origin, distances.scale)) - means.T[:, codes]
    d2_own = column_squares(own)
    rows = np.arange(len(codes))
    between = squared_gaps(means) if between is None else between
    # D2_k and T_k from the row's deviation from its own mean, so that nothing large cancels.
    lead = (means @ own).T
    np.subtract(lead[rows, codes][:, None], lead, out=lead)
    cross = d2_own[:, None] + lead
    d2 = np.add(cross, lead, out=lead)
    # The table is symmetric, and rows of it lie together.
    d2 += between[codes]
    gone = removal(counts[codes], weights, divisor, d2_own, left, float(counts.sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = gone.out * gone.count / ((gone.count - gone.out) * divisor) / gone.left
        np.square(cross, out=cross)
        cross *= lift[:, None]
        d2 += cross
        d2 *= gone.shrink[:, None]
        d2[rows, codes] = gone.shrink * gone.stretch * d2_own / gone.left
    return d2.T, gone


def separate_distances(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
    left: Floats | None = None,
) -> tuple[Floats, Removal]:
    """The same where each class has its covariance, of divisor n_k - h."""
    d2 = distances.squared(x)
    rows = np.arange(len(codes))
    gone = removal(counts[codes], weights, divisors[codes], d2[codes, rows], left)
    with np.errstate(divide="ignore", invalid="ignore"):
        d2[codes, rows] *= gone.stretch * gone.shrink / gone.left
    return d2, gone


def diagonal_scores(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
    log_prior: Floats,
    added: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Leave-one-out scores (m, K) under diagonal covariances, one for all classes or one for each.

    As of `common_distances`, with divisors (1,) or (K,). With several covariances the score contains
    -ln|S_k|/2 too. What is added to the variances beyond sums of squares is (p,) in the full fit and (p, m)
    without each row; a row without which it is not known (NaN) is missing.
    """
    common = len(distances.covariances) == 1
    before, after = (0.0, np.zeros((1, 1))) if added is None else added
    variances = np.stack([covariance.root**2 for covariance in distances.covariances]) - before
    origins = np.broadcast_to(distances.origin, distances.means.shape)
    own = standard_columns(x, origins[codes].T, distances.scale) - distances.means[codes].T
    which = np.zeros_like(codes) if common else codes
    whole = variances[which].T
    divisor = divisors[which]
    count = counts[codes]
    gone = removal(count, weights, divisor, total=float(counts.sum()) if common else None)
    left = whole - gone.lift / divisor * own**2
    scores = np.empty((len(counts), len(codes)))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        moved = left / gone.shrink
        for k in range(len(counts)):
            mine = codes == k
            deviations = (
                standard_columns(x, origins[k][:, None], distances.scale) - distances.means[k][:, None]
            )
            deviations *= np.where(mine, np.sqrt(gone.stretch), 1.0)
            variance = moved if common else np.where(mine, moved, variances[k][:, None])
            variance = variance + after
            scores[k] = log_prior[k] - 0.5 * (deviations**2 / variance).sum(axis=0)
            if not common:
                scores[k] -= 0.5 * np.log(variance).sum(axis=0)
    kept = ((left + after) / (whole + after)).min(axis=0)
    return settle(scores, codes, gone, ~((gone.shrink > 0) & np.isfinite(kept) & (kept > SPOILT))).T


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """What leaving one row out does to the row's own class, (m,) each.

    The weight that is left out is zero for a row alone in its class. There are the count n_g before, the
    divisor after over the divisor before, by which it shrinks, and what is left of one, 1 - c D2_g, which
    divides the distances and is what the determinant is multiplied by.
    """

    out: Floats
    count: Floats
    alone: NDArray[np.bool_]
    shrink: Floats
    left: Floats

    @property
    def lift(self) -> Floats:
        """What d d' of the row's deviation d is multiplied by where it is taken from a scatter: c."""
        return np.asarray(self.out * self.count / np.where(self.alone, 1.0, self.count - self.out))

    @property
    def stretch(self) -> Floats:
        """Square of what the row's distance from its mean grows by."""
        return np.asarray((self.count / (self.count - self.out)) ** 2)


def removal(
    counts: Floats,
    weights: Floats | None,
    divisor: float | Floats,
    d2_own: Floats | float = 0.0,
    left: Floats | None = None,
    total: float | None = None,
) -> Removal:
    """What leaving rows out does, from the counts (m,) of their classes and, if it matters, distances (m,).

    What is left of the determinant (m,) is a difference, unless it is given. If classes share a covariance,
    the total is the sum of all weights: the divisor N of maximum likelihood loses the weight of a row that is
    alone in its class, and N - K loses it less one, because the class is lost as well.
    """
    out = np.ones(len(counts)) if weights is None else np.minimum(weights, 1.0)
    alone = counts - out <= EPS * counts
    shrink_by = np.where(alone & (np.asarray(divisor) != total), out - 1.0, out)
    out = np.where(alone, 0.0, out)
    if left is None:
        left = 1.0 - out * counts / ((counts - out) * divisor) * d2_own
    return Removal(out, counts, alone, (divisor - shrink_by) / divisor, left)


def leave_lone_to_refits(scores: Floats, counts: Floats, weights: Floats | None) -> Floats:
    """Return scores (m, K) that are missing for rows alone in their class, of counts (m,) by row."""
    scores[removal(counts, weights, 1.0).alone] = np.nan
    return scores


def settle(scores: Floats, codes: Codes, gone: Removal, spoilt: NDArray[np.bool_]) -> Floats:
    """Scores (K, m): minus infinity for the class of a row alone in it, missing for what a refit must do."""
    alone = np.flatnonzero(gone.alone)
    scores[codes[alone], alone] = -np.inf
    scores[:, spoilt] = np.nan
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class FullLeftOut:
    """Scores with each row left out under full covariances; what a difference spoils, by a further pass.

    Attributes
    ----------
    distances : Distances
        Of the full fit, with one covariance or one for each class, of divisors (1,) or (K,).
    counts, rows : (K,) float, (K,) int
        Sums of weights and numbers of rows by class.
    constant : (K,) float
        ln prior_k, less ln|S_k| / 2 where classes have covariances of their own.
    between : (K, K) float, optional
        Squared distances between the means under one covariance.
    """

    distances: Distances
    counts: Floats
    rows: NDArray[np.int64]
    divisors: Floats
    constant: Floats
    between: Floats | None = None

    def __call__(self, x: Floats, codes: Codes, weights: Floats | None, left: Floats | None = None) -> Floats:
        """Scores (m, K) of rows x (m, p); missing where a difference has spoilt 1 - c D2_g."""
        rows = x, codes, weights, self.distances, self.counts
        if self._is_common:
            scores, gone = common_distances(*rows, float(self.divisors[0]), left, self.between)
        else:
            scores, gone = separate_distances(*rows, self.divisors, left)
        scores *= -0.5
        scores += self.constant[:, None]
        if not self._is_common:
            with np.errstate(divide="ignore", invalid="ignore"):
                logdet_change = np.log(gone.left) - x.shape[1] * np.log(gone.shrink)
                scores[codes, np.arange(len(codes))] -= 0.5 * logdet_change
        return settle(scores, codes, gone, gone.left <= (SPOILT if left is None else LEAST_AS_SUM)).T

    @property
    def _is_common(self) -> bool:
        return len(self.distances.covariances) == 1

    def is_singular(self, codes: Codes, weights: Floats | None) -> NDArray[np.bool_]:
        """Whether without each of some rows (m,) there are too few for a covariance."""
        p = self.distances.means.shape[1]
        gone = np.ones(len(codes)) if weights is None else weights
        free = self.rows[codes] - 2
        if self._is_common:
            free = np.full(len(codes), self.rows.sum() - len(self.rows) - 1)
        return np.asarray((gone <= 1) & (free < p))

    def left(
        self,
        blocks: Iterable[tuple[Codes, Floats, Codes, Floats | None]],
        at: Codes,
        x: Floats,
        codes: Codes,
        weights: Floats | None,
    ) -> Floats:
        """1 - c D2_g (s,) of the rows at some positions (s,), as sums of squares over all rows.

        Blocks of all rows of the fit begin with their positions (m,).
        """
        shares = 1 / self.counts
        mass = np.ones(len(at)) if weights is None else weights
        out = np.minimum(mass, 1.0)
        groups = [np.arange(len(at))]
        if not self._is_common:
            groups = [np.flatnonzero(codes == k) for k in range(len(self.counts))]
        spans = [self._on_span(x[group], codes[group]) for group in groups]
        total = np.zeros(len(at))
        for positions, part, own, w in blocks:
            for k, (group, span) in enumerate(zip(groups, spans, strict=True)):
                of = slice(None) if self._is_common else np.flatnonzero(own == k)
                if not len(group) or not len(own[of]):
                    continue
                common = span.T @ self._on_span(part[of], own[of])
                common += np.where(codes[group][:, None] == own[of], shares[codes[group]][:, None], 0.0)
                squares = common**2 if w is None else common**2 * w[of]
                mine, there = np.nonzero(at[group][:, None] == positions[of])
                t = common[mine, there]
                m = mass[group[mine]]
                o = out[group[mine]]
                squares[mine, there] = (1 - o * t) ** 2 / o + (m - o) * t**2
                total[group] += squares.sum(axis=1)
        # Of a share o of a unit vector; for o = 1 as in the theory.
        n = self.counts[codes]
        return np.asarray(out * total * n / np.where(n > out, n - out, 1.0))

    def _on_span(self, x: Floats, codes: Codes) -> Floats:
        """Rows x (m, p) of classes on an orthonormal basis (p, m) of the deviations from class means."""
        distances = self.distances
        if self._is_common:
            (covariance,), origin, divisor = distances.covariances, distances.origin, self.divisors[0]
        else:
            k = int(codes[0]) if len(codes) else 0
            covariance = distances.covariances[k]
            origin = distances.origin[k]
            divisor = self.divisors[k]
        z = standard_columns(x, origin, distances.scale) - distances.means[codes].T
        return np.asarray(covariance.whiten(z) / np.sqrt(divisor))


def squared_gaps(means: Floats) -> Floats:
    """Squared distances (K, K) between whitened means (K, p); a DataError if memory has no room for them."""
    k = len(means)
    refuse_beyond_memory(
        float(k) ** 2,
        f"A table of {k:,} by {k:,} classes, of squared distances between their means,",
        "Merge rare classes, or ask for fewer",
    )
    gaps = np.empty((k, k))
    for i, mean in enumerate(means):
        gaps[i, i:] = gaps[i:, i] = ((means[i:] - mean) ** 2).sum(axis=1)
    return gaps


class MomentsFit(Protocol):
    """A fit that is a function of class moments."""

    @property
    def moments(self) -> ClassMoments:
        """What it was fitted to."""

    @property
    def prior(self) -> Floats:
        """Prior probabilities (K,)."""

    @property
    def estimated_prior(self) -> bool:
        """Whether the prior is the class proportions of the rows."""

    @property
    def has_distances(self) -> bool:
        """Whether the model is of normal classes with full covariances."""

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood estimates."""

    def df_model(self) -> int:
        """Free parameters."""

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,)."""

    def refit(self, moments: ClassMoments) -> Self | None:
        """The same model of other rows, the prior held; None where it has none."""

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them."""

    def distances(self) -> Distances:
        """Squared distances to the class means."""

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Distances under unbiased covariances, and their degrees of freedom (K,)."""

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """The same for rows of the fit, each without itself: distances, counts, degrees of freedom (K, m)."""


MOST_REFITS = 2000
"""Rows up to which leaving each one out is done by as many fits."""


@dataclass(frozen=True, slots=True)
class ByRefits:
    """Scores (m, K) that are all missing: each row takes a refit."""

    n_classes: int

    def __call__(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """The missing scores of rows (m, p)."""
        return np.full((len(x), self.n_classes), np.nan)


def by_refits(n_rows: int, n_classes: int, takes: str) -> LeftOut:
    """Scores that are all missing, and so left to refits; `takes` says what that takes for each row.

    A NotSupportedError says that the rows are too many for as many refits.
    """
    if n_rows > MOST_REFITS:
        raise CoreNotSupportedError("many_refits", takes=takes, n_rows=n_rows, limit=MOST_REFITS)
    return ByRefits(n_classes)
