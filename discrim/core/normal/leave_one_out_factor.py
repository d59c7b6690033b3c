"""Scores of rows under covariances of a few large variances that are fitted without each of them.

Theory. Without a row of deviation d from its class's mean the scatter is W - c d d', which on the axes U of
W = U L U' is L - c t t' with t = U'd: no larger than the rank of W, whatever the number of columns.
Its eigenvalues choose the dimensions anew, where rows chose them, and its eigenvectors V say by V't
what of the row lies on the axes of the signal and what beyond. Nothing of it lies beyond U, whose axes are of
this row too.

The smaller eigenvalues of a difference are known to the rounding of the largest. Where that says too little
of the noise, and where a row leaves it nothing, the row is left to a refit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
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
            step = max(HELD // max(len(turned), 1) ** 2, 1)
            for start in range(0, len(mine), step):
                some = mine[start : start + step]
                own = None if weights is None else weights[some]
                taken = removal(moments.counts[codes[some]], own, divisors[codes[some]])
                whole = np.ones(len(some), dtype=bool) if own is None else own <= 1
                least = rank - (whole & (held.free <= rank))
                part = turned[:, start : start + step]
                out[code, some], spoilt[some] = _own_scores(
                    held, factors, code, part, least, taken, float(divisors[code])
                )
        out[codes, np.arange(len(codes))] += log_prior[codes]
        return settle(out, codes, gone, spoilt).T

    return scores


def _own_scores(
    held: Principal,
    factors: Factors,
    code: int,
    turned: Floats,
    ranks: Codes,
    gone: Removal,
    divisor: float,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Log densities (m,), but for a constant, of rows (r, m) of a class without each, and what is spoilt."""
    r, m = turned.shape
    p, after = held.n_columns, divisor - gone.out
    scatters = -(gone.lift[:, None] * turned.T)[:, :, None] * turned.T[:, None, :]
    scatters[:, np.arange(r), np.arange(r)] += held.lengths
    lengths, vectors = np.linalg.eigh(scatters)
    lengths, vectors = np.maximum(lengths[:, ::-1], 0.0), vectors[:, :, ::-1]
    squares = np.einsum("mij,im->mj", vectors, turned) ** 2
    if factors.wanted.found == "given":
        d = np.full(m, factors.dimensions[code])
    else:
        d = choose(factors.wanted, lengths, np.maximum(ranks - 1, 1), p, gone.count - gone.out)
    signal = np.arange(r) < d[:, None]
    rest = np.where(signal, 0.0, lengths).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = rest / ((p - d) * after)
        own = lengths / after[:, None]
        if one_signal(factors.form):
            own = np.repeat((np.where(signal, own, 0.0).sum(axis=1) / d)[:, None], r, axis=1)
        variances = np.where(signal, own, noise[:, None])
        logdet = np.where(signal, np.log(own), 0.0).sum(axis=1) + (p - d) * np.log(noise)
        logdet -= 2.0 * np.log(held.unit).sum()
        found = -0.5 * (logdet + gone.stretch * (squares / variances).sum(axis=1))
        error = EPS * r * lengths[:, 0] * np.maximum(r - d, 1) / rest
    return found, ~((error < KNOWN) & (d < ranks))
