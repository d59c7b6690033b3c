"""Scores of each row under the rule of a shrunk covariance fitted without it, from one factorisation.

Theory. With W = U L U' and tr(W) = 1, taking out a row with deviation d from its class's mean leaves
W - c d d', c = w n_g / (n_g - w), whose trace and distance from the sphere follow from e = U'd alone:

    t = 1 - c e'e,   |W - c d d' - t/p I|^2 = |W - I/p|^2 - 2 c e'(L - I/p) e + c^2 (1 - 1/p) (e'e)^2.

So each row has its own shrinkage g, and the shrunk scatter without it is U (A - b e e') U' with
the diagonal A = (1 - g) L + g t/p I and b = (1 - g) c: Sherman and Morrison's formula gives its distances,
the determinant lemma its determinant ln|A| + ln(1 - b e'A^-1 e). A sphere is the case g = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.leave_one_out import SPOILT, LeftOut, Removal, removal, settle
from discrim.core.moments import ClassMoments
from discrim.core.rules import Rule, standard_columns
from discrim.core.shrinkage import intensity, one_scatter

__all__ = ["common_left_out", "separate_left_out"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Principal:
    """A scatter in its principal axes, of trace one.

    Attributes
    ----------
    lengths : (p,) float
        Eigenvalues.
    axes : (p, p) float or None
        Eigenvectors; None for a sphere, whose axes are the columns.
    unit : (p,) float
        What z is multiplied by.
    count : float
        Sum of weights.
    """

    lengths: Floats
    axes: Floats | None
    unit: Floats
    count: float

    def turned(self, z: Floats) -> Floats:
        """Columns z (p, m) in the principal axes."""
        y = z * self.unit[:, None]
        return y if self.axes is None else np.asarray(self.axes @ y)


def _principal(moments: ClassMoments, k: int | None = None) -> _Principal:
    held = one_scatter(moments, k)
    ratio = held.scale.min() / held.scale
    if held.spread == "diagonal":
        lengths, axes = held.scatters[0] * ratio * ratio, None
    elif held.roots is not None:
        _, singular, axes = np.linalg.svd(held.roots[0] * ratio)
        lengths = singular**2
    else:
        lengths, vectors = np.linalg.eigh(held.scatters[0] * ratio * ratio[:, None])
        axes = vectors.T
    total = lengths.sum()
    return _Principal(lengths / total, axes, ratio / np.sqrt(total), held.total)


@dataclass(frozen=True, slots=True)
class _Without:
    """The shrunk scatter without each of m rows: diagonal - lift e e' in the principal axes."""

    diagonal: Floats
    lift: Floats
    left: Floats
    own: Floats

    def log_determinant(self) -> Floats:
        return np.asarray(np.log(self.diagonal).sum(axis=0) + np.log(self.left))


def _without(held: _Principal, e: Floats, gone: Removal) -> _Without:
    """Without rows of deviations e (p, m) from their means, in the principal axes."""
    p = len(e)
    c = gone.out * gone.count / (gone.count - gone.out)
    squares = (e**2).sum(axis=0)
    trace = 1.0 - c * squares
    sphere = trace / p
    if held.axes is None:
        g = np.ones_like(trace)
    else:
        beyond = held.lengths - 1.0 / p
        apart = float(beyond @ beyond) - 2.0 * c * (beyond @ e**2) + (1.0 - 1.0 / p) * (c * squares) ** 2
        g = intensity(apart / trace**2, held.count - gone.out, p)
    diagonal = (1.0 - g) * held.lengths[:, None] + g * sphere
    lift = (1.0 - g) * c
    own = (e**2 / diagonal).sum(axis=0)
    left = 1.0 - lift * own
    # Without the row next to nothing varies: what is left of the trace has lost its digits.
    return _Without(diagonal, lift, np.where(trace <= SPOILT, 0.0, left), own)


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
    held = _principal(moments)
    centres = held.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        rows = np.arange(len(codes))
        e = held.turned(_deviations(moments, x, codes))
        gone = removal(np.zeros(len(codes)), moments.counts[codes], weights, divisor)
        with np.errstate(divide="ignore", invalid="ignore"):
            without = _without(held, e, gone)
            d2 = np.empty((moments.n_classes, len(codes)))
            for k in range(moments.n_classes):
                gap = e + centres[:, codes] - centres[:, [k]]
                weighted = gap / without.diagonal
                cross = (weighted * e).sum(axis=0)
                d2[k] = (weighted * gap).sum(axis=0) + without.lift * cross**2 / without.left
            d2[codes, rows] = gone.stretch * without.own / without.left
            out = log_prior[:, None] - 0.5 * (divisor - gone.out) * d2
        return settle(out, codes, replace(gone, leverage=1.0 - without.left)).T

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
    principals = [_principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        out = np.array(rule.scores(x).T)
        gone = removal(np.zeros(len(codes)), moments.counts[codes], weights, divisors[codes])
        spread = np.zeros(len(codes))
        deviations = _deviations(moments, x, codes)
        for k, held in enumerate(principals):
            mine = np.flatnonzero(codes == k)
            given = None if weights is None else weights[mine]
            part = removal(np.zeros(len(mine)), gone.count[mine], given, divisors[k])
            divisor = divisors[k] - part.out
            with np.errstate(divide="ignore", invalid="ignore"):
                without = _without(held, held.turned(deviations[:, mine]), part)
                logdet = without.log_determinant() - 2.0 * np.log(held.unit).sum()
                logdet -= len(held.lengths) * np.log(divisor)
                d2 = divisor * part.stretch * without.own / without.left
            out[k, mine] = log_prior[k] - 0.5 * (logdet + d2)
            spread[mine] = 1.0 - without.left
        return settle(out, codes, replace(gone, leverage=spread)).T

    return scores


def _deviations(moments: ClassMoments, x: Floats, codes: Codes) -> Floats:
    """Deviations (p, m) of rows from the means of their classes, in z."""
    return np.asarray(standard_columns(x, moments.centres[codes].T, moments.scale) - moments.rests[codes].T)
