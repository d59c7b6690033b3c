"""Errors of leave-one-out over a grid of shrinkages, from one factorisation for all of them.

Theory. In the principal axes of a scatter every shrinkage of it is diagonal, so that what depends on the
shrinkage is a division a number: a row is turned once, and scored under each candidate without itself by
the formulas of `discrim.core.scatter.shrinkage_choice`. The candidate stays while a row is left out.

Scores of each row under the rule of a shrunk covariance fitted without it, from one factorisation.

Theory. With W = U L U' and tr(W) = 1, taking out a row with deviation d from its class's mean leaves
W - c d d', c = w n_g / (n_g - w), whose trace and distance from the sphere follow from e = U'd alone:

    t = 1 - c e'e,   |W - c d d' - t/p I|^2 = |W - I/p|^2 - 2 c e'(L - I/p) e + c^2 (1 - 1/p) (e'e)^2.

So each row has its own shrinkage g, and the shrunk scatter without it is U (A - b e e') U' with
the diagonal A = (1 - g) L + g t/p I and b = (1 - g) c: Sherman and Morrison's formula gives its distances,
the determinant lemma its determinant ln|A| + ln(1 - b e'A^-1 e). A sphere is the case g = 1. A shrinkage that
is given stays while a row is left out; that of Ledoit & Wolf follows from `shrinkage.fourth_moments`.

Where the columns are more than the rows, e and the axes U are those of the rows; beyond them A is g t/p =: s.
There 1 - b e'A^-1 e would cancel, since the row was alone in some direction. With r = s/(1 - g) it is the sum
1 - c e'L^-1 e + c r e'[L (L + r I)]^-1 e. Where W has as many axes as degrees of freedom, e'L^-1 e is
1/w - 1/n_g, and the first two terms are together 0 for a whole row, and known for one of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, Removal, removal, settle
from discrim.core.rules.rules import Rule
from discrim.core.scatter.principal import Principal, principal
from discrim.core.scatter.shrinkage import (
    Chosen,
    Powers,
    intensity,
    ledoit_wolf_intensity,
    median_shrunk,
    scores_without,
    without_row,
)


@dataclass(frozen=True, slots=True)
class Removed:
    """Rows that are taken out one at a time.

    Attributes
    ----------
    e : (r, m) float
        Deviations from the means of their classes, on principal axes.
    codes : (m,) int
    weights : (m,) float or None
    """

    e: Floats
    codes: Codes
    gone: Removal
    weights: Floats | None

    @property
    def trace(self) -> Floats:
        """Traces (m,) of the scatter without the row."""
        return np.asarray(1.0 - self.gone.lift * (self.e**2).sum(axis=0))

    def from_sphere(self, held: Principal) -> Floats:
        """Squared distances (m,) of the scatter without the row, at trace one, from the sphere."""
        p, c, squares = held.n_columns, self.gone.lift, (self.e**2).sum(axis=0)
        beyond = held.lengths - 1.0 / p
        found = held.from_sphere - 2.0 * c * (beyond @ self.e**2) + (1.0 - 1.0 / p) * (c * squares) ** 2
        return np.asarray(found / self.trace**2)


Intensity = Callable[[Principal, Removed], Floats]
"""Shrinkages (m,) of a scatter without each of m rows."""


def oas_without(held: Principal, rows: Removed) -> Floats:
    """Each row's own shrinkage by `oas`; of a sphere one."""
    if held.axes is None:
        return np.ones(rows.e.shape[1])
    return intensity(rows.from_sphere(held), held.count - rows.gone.out, held.n_columns)


def held_at(g: float) -> Intensity:
    """One shrinkage, whatever row is left out."""
    return lambda held, rows: np.full(rows.e.shape[1], g)


def ledoit_wolf_without(powers: Powers) -> Intensity:
    """Each row's own shrinkage of Ledoit & Wolf, from powers on the same axes."""

    def found(held: Principal, rows: Removed) -> Floats:
        gone, r = rows.gone, powers.thirds.shape[1]
        codes = rows.codes if len(powers.thirds) > 1 else np.zeros_like(rows.codes)
        fourth = powers.without(rows.e[:r], codes, gone.out, gone.count) / rows.trace**2
        return ledoit_wolf_intensity(rows.from_sphere(held), fourth, held.count - gone.out, held.n_columns)

    return found


def intensity_without(chosen: Chosen | None, g: float | None, powers: Powers | None) -> Intensity:
    """The shrinkage without a row, as that of all rows was chosen; one that is not analytic stays."""
    if chosen == "ledoit-wolf" and powers is not None:
        return ledoit_wolf_without(powers)
    return oas_without if g is None or chosen == "oas" else held_at(g)


@dataclass(frozen=True, slots=True)
class Without:
    """The shrunk scatter without each of m rows: diagonal - lift e e' in the principal axes.

    Attributes
    ----------
    diagonal : (r, m) float
    rest : (m,) float
        Beyond the axes.
    lift, left, own : (m,) float
        Left is 1 - lift own, own e'e over the diagonal.
    spoilt : (m,) bool
        Rows for which too few digits are left.
    """

    diagonal: Floats
    rest: Floats
    lift: Floats
    left: Floats
    own: Floats
    spoilt: NDArray[np.bool_]

    def log_determinant(self, beyond: int) -> Floats:
        """Log-determinants, with a number of dimensions beyond the axes."""
        on_axes = np.log(self.diagonal).sum(axis=0) + np.log(self.left)
        return np.asarray(on_axes + beyond * np.log(self.rest) if beyond else on_axes)


def without(held: Principal, rows: Removed, g: Floats, spoilt_at: float = SPOILT) -> Without:
    """The scatter shrunk by g (m,) without each row; up to `spoilt_at`, what is left is too little."""
    e, c, trace = rows.e, rows.gone.lift, rows.trace
    sphere = trace / held.n_columns
    rest = g * sphere
    diagonal = (1.0 - g) * held.lengths[:, None] + rest
    lift = (1.0 - g) * c
    own = (e**2 / diagonal).sum(axis=0)
    # Without the row next to nothing varies: what is left of the trace has lost its digits.
    spoilt = trace <= spoilt_at
    if held.is_saturated:
        long = held.lengths[: held.free, None]
        ridge = rest / np.where(g < 1.0, 1.0 - g, 1.0)
        left = c * ridge * (e[: held.free] ** 2 / (long * (long + ridge))).sum(axis=0)
        times = np.ones(len(c)) if rows.weights is None else np.maximum(rows.weights, 1.0)
        base = 1.0 - c * (1.0 / times - 1.0 / rows.gone.count)
        left += np.where((times > 1) | rows.gone.alone, base, 0.0)
        left = np.where(g < 1.0, left, 1.0)
        spoilt = spoilt | (left <= 0)
    else:
        left = 1.0 - lift * own
        spoilt = spoilt | (left <= spoilt_at)
    return Without(diagonal, rest, lift, left, own, spoilt)


def common_left_out(
    moments: ClassMoments, divisor: float, log_prior: Floats, own: Intensity = oas_without
) -> LeftOut:
    """Leave-one-out scores where the classes share one covariance, shrunk or spherical.

    Parameters
    ----------
    moments : ClassMoments
        Pooled for a shrunk covariance, diagonal for a spherical one.
    divisor : float
        Of the covariance of the full fit.
    log_prior : (K,) float
    own : Intensity
        Shrinkage without a row.
    """
    held = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = held.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        rows = Removed(
            held.turned(from_class_means(moments, x, codes)),
            codes,
            removal(moments.counts[codes], weights, divisor),
            weights,
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            part = without(held, rows, own(held, rows))
            out = common_scores(centres, rows, part, divisor, log_prior)
        return settle(out, codes, rows.gone, part.spoilt).T

    return scores


def common_scores(centres: Floats, rows: Removed, part: Without, divisor: float, log_prior: Floats) -> Floats:
    """Scores (K, m) of rows under the rule without each of them, from class means (r, K) on the axes."""
    e, codes = rows.e, rows.codes
    d2 = np.empty((centres.shape[1], len(codes)))
    for k in range(len(d2)):
        gap = e + centres[:, codes] - centres[:, [k]]
        weighted = gap / part.diagonal
        cross = (weighted * e).sum(axis=0)
        d2[k] = (weighted * gap).sum(axis=0) + part.lift * cross**2 / part.left
    d2[codes, np.arange(len(codes))] = rows.gone.stretch * part.own / part.left
    return np.asarray(log_prior[:, None] - 0.5 * (divisor - rows.gone.out) * d2)


def separate_left_out(
    moments: ClassMoments,
    divisors: Floats,
    log_prior: Floats,
    rule: Rule,
    own: Sequence[Intensity] | None = None,
) -> LeftOut:
    """Leave-one-out scores where each class has its covariance; as `common_left_out`.

    Parameters
    ----------
    moments : ClassMoments
        By class, or diagonal for spherical covariances.
    divisors : (K,) float
    log_prior : (K,) float
    rule : Rule
        That of the full fit, which the other classes of a row keep.
    own : sequence of K Intensity, optional
        By default that of `oas`.
    """
    principals = [principal(moments, k) for k in range(moments.n_classes)]
    shrinkages = [oas_without] * moments.n_classes if own is None else own

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        out = np.array(rule.scores(x).T)
        gone = removal(moments.counts[codes], weights, divisors[codes])
        spoilt = np.zeros(len(codes), dtype=bool)
        z = from_class_means(moments, x, codes)
        for k, held in enumerate(principals):
            mine = np.flatnonzero(codes == k)
            given = None if weights is None else weights[mine]
            taken = removal(gone.count[mine], given, divisors[k])
            rows = Removed(held.turned(z[:, mine]), codes[mine], taken, given)
            with np.errstate(divide="ignore", invalid="ignore"):
                part = without(held, rows, shrinkages[k](held, rows))
                out[k, mine] = log_prior[k] + own_scores(held, rows, part, divisors[k])
            spoilt[mine] = part.spoilt
        return settle(out, codes, gone, spoilt).T

    return scores


def own_scores(held: Principal, rows: Removed, part: Without, divisor: float) -> Floats:
    """Log density (m,), but for a constant, of rows of a class under its covariance without each of them."""
    after = divisor - rows.gone.out
    logdet = part.log_determinant(held.beyond) - 2.0 * np.log(held.unit).sum()
    logdet -= held.n_columns * np.log(after)
    return np.asarray(-0.5 * (logdet + after * rows.gone.stretch * part.own / part.left))


BARELY = 1e-8
"""What must be left of a determinant for a label to be told: it takes fewer digits than a posterior."""

Trial = Callable[[Floats, Codes, Floats | None], Iterator[Floats]]
"""From x (m, p), codes (m,) and weights (m,) or None to scores (K, m) by shrinkage, without the row."""


def missed(trial: Trial, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Whether rows are called another class without themselves, (m,) by shrinkage; missing where unknown."""
    found = []
    for scores in trial(x, codes, weights):
        wrong = (scores.argmax(axis=0) != codes).astype(np.float64)
        wrong[np.isnan(scores).any(axis=0)] = np.nan
        found.append(wrong)
    return np.stack(found)


def common_trial(moments: ClassMoments, divisor: float, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under one covariance for all classes, shrunk towards a sphere.

    Parameters
    ----------
    moments : ClassMoments
        Pooled.
    divisor : float
        Of the covariance of all rows.
    log_prior : (K,) float
    grid : (G,) float
        Shrinkages.
    """
    held = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = held.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        gone = removal(moments.counts[codes], weights, divisor)
        rows = Removed(held.turned(from_class_means(moments, x, codes)), codes, gone, weights)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                part = without(held, rows, np.full(len(codes), g), BARELY)
                out = common_scores(centres, rows, part, divisor, log_prior)
            out[:, part.spoilt] = np.nan
            yield out

    return scores


def separate_trial(moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under a covariance for each class, all shrunk alike; as `common_trial`.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    divisors : (K,) float
    log_prior : (K,) float
    grid : (G,) float
    """
    axes = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        m, k = len(codes), moments.n_classes
        squares, beyond, taken = [], [], []
        for c, held in enumerate(axes):
            z = from_class_means(moments, x, c)
            e = held.turned(z)
            squares.append(e**2)
            beyond.append(_beyond(held, z, e))
            mine = np.flatnonzero(codes == c)
            given = None if weights is None else weights[mine]
            gone = removal(moments.counts[codes[mine]], given, divisors[c])
            taken.append(Removed(e[:, mine], codes[mine], gone, given))
        for g in grid.tolist():
            out, spoilt = np.empty((k, m)), np.zeros(m, dtype=bool)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                for c, held in enumerate(axes):
                    mine = np.flatnonzero(codes == c)
                    out[c] = _density(held, squares[c], beyond[c], divisors[c], g)
                    part = without(held, taken[c], np.full(len(mine), g), BARELY)
                    out[c, mine] = own_scores(held, taken[c], part, divisors[c])
                    spoilt[mine] = part.spoilt
            out += log_prior[:, None]
            out[:, spoilt] = np.nan
            yield out

    return scores


def _beyond(held: Principal, z: Floats, e: Floats) -> Floats:
    """Squared length (m,) of z beyond the axes on which it is e."""
    if not held.beyond or held.axes is None:
        return np.zeros(z.shape[1])
    return np.asarray(((z * held.unit[:, None] - held.axes.T @ e) ** 2).sum(axis=0))


def _density(held: Principal, squares: Floats, beyond: Floats, divisor: float, g: float) -> Floats:
    """Log density (m,) but for a constant, from squares (r, m) on the axes and (m,) beyond them."""
    sphere = g / held.n_columns
    variances = (1.0 - g) * held.lengths + sphere
    d2 = (1.0 / variances) @ squares
    logdet = np.log(variances).sum() - 2.0 * np.log(held.unit).sum() - held.n_columns * np.log(divisor)
    if held.beyond:
        d2 = d2 + beyond / sphere
        logdet += held.beyond * np.log(sphere)
    return np.asarray(-0.5 * (logdet + divisor * d2))


def diagonal_trial(moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under variances shrunk towards their median, for all classes or by class.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    grid : (G,) float
    """
    squares = moments.squares.sum(axis=0, keepdims=True) if len(divisors) == 1 else moments.squares

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rows = without_row(moments, x, codes, weights, divisors)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                full = tuple(
                    median_shrunk(own, moments.scale, divisor, g)
                    for own, divisor in zip(squares, divisors.tolist(), strict=True)
                )
                at = np.full(len(codes), g)
                yield scores_without(moments, rows, at, full, divisors, log_prior, BARELY)

    return scores
