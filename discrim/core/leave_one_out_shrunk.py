"""Scores of each row under the rule of a shrunk covariance fitted without it, from one factorisation.

Theory. With W = U L U' and tr(W) = 1, taking out a row with deviation d from its class's mean leaves
W - c d d', c = w n_g / (n_g - w), whose trace and distance from the sphere follow from e = U'd alone:

    t = 1 - c e'e,   |W - c d d' - t/p I|^2 = |W - I/p|^2 - 2 c e'(L - I/p) e + c^2 (1 - 1/p) (e'e)^2.

So each row has its own shrinkage g, and the shrunk scatter without it is U (A - b e e') U' with
the diagonal A = (1 - g) L + g t/p I and b = (1 - g) c: Sherman and Morrison's formula gives its distances,
the determinant lemma its determinant ln|A| + ln(1 - b e'A^-1 e). A sphere is the case g = 1.

Where the columns are more than the rows, e and the axes U are those of the rows; beyond them A is g t/p =: s.
There 1 - b e'A^-1 e would cancel, since the row was alone in some direction. With r = s/(1 - g) it is the sum
1 - c e'L^-1 e + c r e'[L (L + r I)]^-1 e. Where W has as many axes as degrees of freedom, e'L^-1 e is
1/w - 1/n_g, and the first two terms are together 0 for a whole row, and known for one of several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.leave_one_out import SPOILT, LeftOut, Removal, removal, settle
from discrim.core.moments import ClassMoments
from discrim.core.principal import Principal, principal
from discrim.core.rules import Rule, standard_columns
from discrim.core.shrinkage import intensity

__all__ = ["common_left_out", "separate_left_out"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Without:
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


def _without(held: Principal, e: Floats, gone: Removal, weights: Floats | None) -> _Without:
    """Without rows of deviations e (p, m) from their means, in the principal axes."""
    p = held.n_columns
    c = gone.out * gone.count / (gone.count - gone.out)
    squares = (e**2).sum(axis=0)
    trace = 1.0 - c * squares
    sphere = trace / p
    if held.axes is None:
        g = np.ones_like(trace)
    else:
        beyond = held.lengths - 1.0 / p
        apart = held.apart - 2.0 * c * (beyond @ e**2) + (1.0 - 1.0 / p) * (c * squares) ** 2
        g = intensity(apart / trace**2, held.count - gone.out, p)
    rest = g * sphere
    diagonal = (1.0 - g) * held.lengths[:, None] + rest
    lift = (1.0 - g) * c
    own = (e**2 / diagonal).sum(axis=0)
    # Without the row next to nothing varies: what is left of the trace has lost its digits.
    spoilt = trace <= SPOILT
    if held.is_saturated:
        long = held.lengths[: held.free, None]
        ridge = rest / (1.0 - g)
        left = c * ridge * (e[: held.free] ** 2 / (long * (long + ridge))).sum(axis=0)
        times = np.ones(len(c)) if weights is None else np.maximum(weights, 1.0)
        base = 1.0 - c * (1.0 / times - 1.0 / gone.count)
        left += np.where((times > 1) | gone.alone, base, 0.0)
    else:
        left = 1.0 - lift * own
        spoilt = spoilt | (left <= SPOILT)
    return _Without(diagonal, rest, lift, left, own, spoilt)


def common_left_out(moments: ClassMoments, divisor: float, log_prior: Floats) -> LeftOut:
    """Leave-one-out scores where the classes share one covariance, shrunk by `oas` or spherical.

    Parameters
    ----------
    moments : ClassMoments
        Pooled for a shrunk covariance, diagonal for a spherical one.
    divisor : float
        Of the covariance of the full fit.
    log_prior : (K,) float
    """
    held = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = held.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        rows = np.arange(len(codes))
        e = held.turned(_deviations(moments, x, codes))
        gone = removal(np.zeros(len(codes)), moments.counts[codes], weights, divisor)
        with np.errstate(divide="ignore", invalid="ignore"):
            without = _without(held, e, gone, weights)
            d2 = np.empty((moments.n_classes, len(codes)))
            for k in range(moments.n_classes):
                gap = e + centres[:, codes] - centres[:, [k]]
                weighted = gap / without.diagonal
                cross = (weighted * e).sum(axis=0)
                d2[k] = (weighted * gap).sum(axis=0) + without.lift * cross**2 / without.left
            d2[codes, rows] = gone.stretch * without.own / without.left
            out = log_prior[:, None] - 0.5 * (divisor - gone.out) * d2
        return settle(out, codes, replace(gone, leverage=without.spoilt.astype(np.float64))).T

    return scores


def separate_left_out(moments: ClassMoments, divisors: Floats, log_prior: Floats, rule: Rule) -> LeftOut:
    """Leave-one-out scores where each class has its covariance; as `common_left_out`.

    Parameters
    ----------
    moments : ClassMoments
        By class, or diagonal for spherical covariances.
    divisors : (K,) float
    log_prior : (K,) float
    rule : Rule
        That of the full fit, which the other classes of a row keep.
    """
    principals = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        out = np.array(rule.scores(x).T)
        gone = removal(np.zeros(len(codes)), moments.counts[codes], weights, divisors[codes])
        spoilt = np.zeros(len(codes))
        deviations = _deviations(moments, x, codes)
        for k, held in enumerate(principals):
            mine = np.flatnonzero(codes == k)
            given = None if weights is None else weights[mine]
            part = removal(np.zeros(len(mine)), gone.count[mine], given, divisors[k])
            divisor = divisors[k] - part.out
            with np.errstate(divide="ignore", invalid="ignore"):
                without = _without(held, held.turned(deviations[:, mine]), part, given)
                logdet = without.log_determinant(held.beyond) - 2.0 * np.log(held.unit).sum()
                logdet -= held.n_columns * np.log(divisor)
                d2 = divisor * part.stretch * without.own / without.left
            out[k, mine] = log_prior[k] - 0.5 * (logdet + d2)
            spoilt[mine] = without.spoilt
        return settle(out, codes, replace(gone, leverage=spoilt)).T

    return scores


def _deviations(moments: ClassMoments, x: Floats, codes: Codes) -> Floats:
    """Deviations (p, m) of rows from the means of their classes, in z."""
    return np.asarray(standard_columns(x, moments.centres[codes].T, moments.scale) - moments.rests[codes].T)
