"""Scores of rows under covariances of a few large variances that are fitted without each of them.

Theory. Without a row of deviation d from its class's mean the scatter is W - c d d', which on the axes U of
W = U L U' is L - c t t' with t = U'd: no larger than the rank of W, whatever the number of columns.
Its eigenvalues choose the dimensions anew, where rows chose them, and its eigenvectors V say by V't
what of the row lies on the axes of the signal and what beyond. Nothing of it lies beyond U, whose axes are of
this row too.

Where few of the eigenvalues matter only these are found (`discrim.core.covariance.downdated_spectrum`).
They are enough for the scree test where no later fall can reach its threshold, as the eigenvalues lie
between those of L. What the row leaves beyond them is the square of a residual, and the small eigenvalues
together are those of L less what the large ones did not lose.

The smaller eigenvalues of a difference are known to the rounding of the largest. Where that says too little
of the noise, and where a row leaves it nothing, the row is left to a refit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.covariance.dimensions import by_scree, falls
from discrim.core.covariance.downdated_spectrum import downdated
from discrim.core.covariance.factor import Factors, choose, found_by_class, one_signal, spectrum
from discrim.core.covariance.principal import Principal
from discrim.core.moments.coordinates import from_class_means
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import LeftOut, Removal, removal, settle
from discrim.core.rules.rules import Rule

__all__ = ["factors_left_out"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

HELD = 2**21
"""Numbers of the scatters without rows that are held at once."""

KNOWN = 1e-10
"""Relative error of the noise from which on a row is left to a refit."""

FEW = 3
"""Share of all eigenvalues, one in so many, up to which they are found one by one."""


@dataclass(frozen=True, slots=True)
class _Split:
    """What the scatter of a class without each of m rows has on the axes of the signal, and beyond.

    Attributes
    ----------
    dimensions : (m,) int
    lengths, squares : (m, q) float
        Eigenvalues, and squares of the row on their axes; those beyond the signal do not count.
    rest, rest_squares : (m,) float
        Sums of the same beyond the signal.
    """

    dimensions: Codes
    lengths: Floats
    squares: Floats
    rest: Floats
    rest_squares: Floats


def factors_left_out(
    moments: ClassMoments, factors: Factors, divisors: Floats, log_prior: Floats, rule: Rule
) -> LeftOut:
    """Leave-one-out scores where each class has its covariance.

    Parameters
    ----------
    moments : ClassMoments
        By class, in the units that the covariances are compared in.
    factors : Factors
        Of the full fit. Of a form with something common to the classes every row is left to a refit.
    divisors : (K,) float
    log_prior : (K,) float
    rule : Rule
        That of the full fit, which the other classes of a row keep.
    """
    k = moments.n_classes
    if not found_by_class(factors):
        return lambda x, codes, weights: np.full((len(codes), k), np.nan)
    spectra = [spectrum(moments, code) for code in range(k)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        out = np.array(rule.scores(x).T)
        gone = removal(moments.counts[codes], weights, divisors[codes])
        spoilt = np.zeros(len(codes), dtype=bool)
        for code, (held, rank) in enumerate(spectra):
            mine = np.flatnonzero(codes == code)
            turned = held.turned(from_class_means(moments, x[mine], code))
            q = _enough(held, factors, code, rank)
            step = max(HELD // max(len(turned) * min(q, len(turned)), 1), 1)
            for start in range(0, len(mine), step):
                some = mine[start : start + step]
                own = None if weights is None else weights[some]
                taken = removal(moments.counts[codes[some]], own, divisors[codes[some]])
                whole = np.ones(len(some), dtype=bool) if own is None else own <= 1
                ranks = rank - (whole & (held.free <= rank))
                part = turned[:, start : start + step]
                split = _split(held, factors, code, part, ranks, taken, q, rank)
                out[code, some], spoilt[some] = _scored(
                    held, factors, split, ranks, taken, float(divisors[code])
                )
        out[codes, np.arange(len(codes))] += log_prior[codes]
        return settle(out, codes, gone, spoilt).T

    return scores


def _enough(held: Principal, factors: Factors, code: int, rank: int) -> int:
    """Number of the largest eigenvalues that are enough, or that of all of them."""
    r, p, lengths = len(held.lengths), held.n_columns, held.lengths[:rank]
    if rank < 2 or np.diff(lengths).max() > -4 * EPS * lengths[0]:
        return r
    q = int(factors.dimensions[code])
    if factors.wanted.found == "bic":
        return r
    if factors.wanted.found == "cattell":
        # Falls may be half of what they are in all rows, before it is worth a look at all eigenvalues.
        steep = falls(held.lengths, p).max() * factors.wanted.threshold / 2
        steeper = np.flatnonzero(_reach(held, rank) >= steep)
        q = max(q, int(steeper[-1]) + 1 if len(steeper) else 0) + 1
    return q if FEW * q <= r else r


def _reach(held: Principal, rank: int) -> Floats:
    """The largest that falls (rank,) from each eigenvalue to the next may be without a row."""
    after = np.append(held.lengths[2:rank], [0.0, 0.0])
    return np.asarray(held.lengths[:rank] - after[:rank])


def _split(
    held: Principal,
    factors: Factors,
    code: int,
    turned: Floats,
    ranks: Codes,
    gone: Removal,
    q: int,
    rank: int,
) -> _Split:
    if q >= len(turned):
        return _by_all(held, factors, code, turned, ranks, gone)
    split, known = _by_largest(held, factors, code, turned, ranks, gone, q, rank)
    if known.all():
        return split
    # One more look at the rows for which the largest eigenvalues are not enough.
    at = np.flatnonzero(~known)
    parts = [Removal(*(getattr(gone, name)[at] for name in ("out", "count", "alone", "shrink", "left")))]
    again = _by_all(held, factors, code, turned[:, at], ranks[at], parts[0])
    wide = np.zeros((2, turned.shape[1], len(turned)))
    wide[0, :, :q], wide[1, :, :q] = split.lengths, split.squares
    wide[0, at], wide[1, at] = again.lengths, again.squares
    for old, new in zip(
        (split.dimensions, split.rest, split.rest_squares),
        (again.dimensions, again.rest, again.rest_squares),
        strict=True,
    ):
        old[at] = new
    return _Split(split.dimensions, wide[0], wide[1], split.rest, split.rest_squares)


def _by_largest(
    held: Principal,
    factors: Factors,
    code: int,
    turned: Floats,
    ranks: Codes,
    gone: Removal,
    q: int,
    rank: int,
) -> tuple[_Split, NDArray[np.bool_]]:
    """From the q largest eigenvalues, and of which rows these are enough."""
    lift, t, whole = gone.lift[:, None], turned[:rank].T, held.lengths[:rank]
    squares = np.maximum(lift * t**2, EPS**2 * whole[0])
    moved = downdated(whole, squares, q)
    lengths, known = whole[:q] - moved.shifts, moved.found
    if factors.wanted.found == "given":
        d = np.full(len(t), factors.dimensions[code])
    else:
        d = by_scree(lengths, np.minimum(ranks - 1, q - 1), q, factors.wanted.threshold)
        largest = (lengths[:, :-1] - lengths[:, 1:]).max(axis=1)
        known = known & (_reach(held, rank)[q - 1 :].max() < factors.wanted.threshold * largest)
    signal = np.arange(q) < d[:, None]
    lost = squares.sum(axis=1) - np.where(signal, moved.shifts, 0.0).sum(axis=1)
    rest = (np.arange(rank) >= d[:, None]) @ whole - lost
    taken = (np.where(signal, 1 / moved.slopes, 0.0)[:, None, :] / moved.gaps).sum(axis=2)
    beyond = squares / lift * (1 - taken) ** 2
    rest_squares = beyond.sum(axis=1) + (turned[rank:] ** 2).sum(axis=0)
    return _Split(d, lengths, 1 / (lift * moved.slopes), rest, rest_squares), known


def _by_all(
    held: Principal, factors: Factors, code: int, turned: Floats, ranks: Codes, gone: Removal
) -> _Split:
    """From all eigenvalues."""
    r, m = turned.shape
    scatters = -(gone.lift[:, None] * turned.T)[:, :, None] * turned.T[:, None, :]
    scatters[:, np.arange(r), np.arange(r)] += held.lengths
    lengths, vectors = np.linalg.eigh(scatters)
    lengths, vectors = np.maximum(lengths[:, ::-1], 0.0), vectors[:, :, ::-1]
    squares = np.einsum("mij,im->mj", vectors, turned) ** 2
    if factors.wanted.found == "given":
        d = np.full(m, factors.dimensions[code])
    else:
        most, counts = np.maximum(ranks - 1, 1), gone.count - gone.out
        d = choose(factors.wanted, lengths, most, held.n_columns, counts)
    beyond = np.arange(r) >= d[:, None]
    rest, rest_squares = (np.where(beyond, each, 0.0).sum(axis=1) for each in (lengths, squares))
    return _Split(d, lengths, squares, rest, rest_squares)


def _scored(
    held: Principal, factors: Factors, split: _Split, ranks: Codes, gone: Removal, divisor: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Log densities (m,), but for a constant, of rows of a class without each, and what is spoilt."""
    p, after, d = held.n_columns, divisor - gone.out, split.dimensions
    signal = np.arange(split.lengths.shape[1]) < d[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = split.rest / ((p - d) * after)
        own = np.where(signal, split.lengths / after[:, None], 1.0)
        if one_signal(factors.form):
            mean = np.where(signal, own, 0.0).sum(axis=1) / d
            own = np.where(signal, mean[:, None], 1.0)
        d2 = np.where(signal, split.squares / own, 0.0).sum(axis=1) + split.rest_squares / noise
        logdet = np.log(own).sum(axis=1) + (p - d) * np.log(noise) - 2.0 * np.log(held.unit).sum()
        error = EPS * len(held.lengths) ** 2 * held.lengths[0] / split.rest
    return -0.5 * (logdet + gone.stretch * d2), ~((error < KNOWN) & (d < ranks))
