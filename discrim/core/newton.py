"""Newton's method for the multinomial log-likelihood, block by block.

Theory. With classes 1, ..., q against a reference, log odds eta_k = z'b_k (z with a leading one) and
probabilities p_k, the log-likelihood is sum w (eta_y - ln sum exp eta), concave in b. Its score is sum w z
(e_y - p)' and its information has blocks sum w p_k ([k = l] - p_l) z z'. For two classes the step is that
of iteratively reweighted least squares.

*Digits.* The columns are shifted to their means and orthogonalised by the root of their total scatter, so
that the information is close to a multiple of the identity whatever the units, the offsets and the
correlations of the data.

*Convergence* is judged by the score in its own metric: the Newton decrement sqrt(s'H^-1 s) is the distance
to the maximum in standard errors. Once it is below a threshold one more step squares what is left, and the
pass that follows it gives the information there and, with its score, a last step that needs no pass.

*A maximum* is not there because the score is small: where classes are separated it falls for ever, and soon
where rows weigh little or few are off the plane. Let v be a direction in which no row contradicts the
classes, g >= 0 the leads that it gives a row's own class over the others, and G the largest. Then s'v =
sum w p g and v'Hv <= sum w p g^2 <= G s'v, so that s'H^-1 s >= (s'v)^2 / v'Hv >= v'Hv / G^2. With G <=
sqrt(2) max|z| |v|, a decrement d for which H - 2 d^2 max|z|^2 I is positive definite is thus the proof that
there is no such v. Until that holds the search goes on, be the decrement ever so small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from scipy.linalg.blas import dsyrk

from discrim.core.covariance import Covariance
from discrim.core.passes import Rows

__all__ = ["HALVINGS", "NOTHING", "Frame", "Newton", "Swept", "above", "class_shares", "maximize", "sweep"]

Floats = NDArray[np.float64]

NOTHING = 1e-12
"""Distance to the maximum, in standard errors, over which the information does not change."""

HALVINGS = 30
"""Halvings of a step before the line search gives up."""

FLAT = 1e-8
"""Share of the log-likelihood that a step beside the maximum may lose by rounding."""

ROUNDING = 8 * np.finfo(np.float64).eps
"""Share of `Frame.longest`, the weight of all rows by that of their odds, that any step may."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates in which the columns have unit variance over the rows and are orthogonal, or close to it.

    Attributes
    ----------
    centre, rest : (p,) float
        Grand mean, in units of the data, and what is left of it in units of z.
    scale : (p,) float
        Powers of two.
    covariance : Covariance
        Of all rows, divisor N, in units of z; only its diagonal where correlations are weak.
    piece : int
        Rows of a block that are worked on at once.
    longest : float
        What the weight of a row times its squared length, a leading one included, does not exceed.
    """

    centre: Floats
    rest: Floats
    scale: Floats
    covariance: Covariance
    piece: int
    longest: float

    def columns(self, x: Floats, out: Floats | None = None) -> Floats:
        """A row of ones over the columns of the frame, (p + 1, m), of rows x (m, p); in a buffer if given."""
        out = np.empty((x.shape[1] + 1, len(x))) if out is None else out[:, : len(x)]
        out[0] = 1.0
        z = np.subtract(x.T, self.centre[:, None], out=out[1:])
        if self.covariance.is_diagonal:
            z *= (self.scale * self.covariance.inverse)[:, None]
            z -= (self.rest * self.covariance.inverse)[:, None]
            return out
        z *= self.scale[:, None]
        z -= self.rest[:, None]
        out[1:] = self.covariance.whiten(z)
        return out

    def to_data(self) -> Floats:
        """Matrix (p + 1, p + 1) that takes coefficients in the frame to those of the data."""
        slopes = self.covariance.unwhiten(np.eye(len(self.scale))) * self.scale[:, None]
        middle = self.centre + self.rest / self.scale
        matrix = np.zeros((len(slopes) + 1, len(slopes) + 1))
        matrix[0, 0] = 1.0
        matrix[1:, 1:] = slopes
        matrix[0, 1:] = -middle @ slopes
        return matrix


@dataclass(frozen=True, slots=True)
class Newton:
    """Where Newton's method ended.

    Attributes
    ----------
    coef : (p + 1, q) float
        In the frame, the intercepts first.
    information : (q (p + 1), q (p + 1)) float
        At the coefficients, class by class.
    llf : float
    decrement : float
        Distance from the maximum in standard errors, before the last step.
    steps : int
    converged : bool
    """

    coef: Floats
    information: Floats
    llf: float
    decrement: float
    steps: int
    converged: bool


class Swept(NamedTuple):
    """What a pass over the rows gives at coefficients (p + 1, q).

    Attributes
    ----------
    llf : float
    score : (p + 1, q) float
    information : (q (p + 1), q (p + 1)) float
    lightest : float
        The least weight of a row that is not zero.
    """

    llf: float
    score: Floats
    information: Floats
    lightest: float


def sweep(blocks: Iterable[Rows], frame: Frame, coef: Floats, reference: int) -> Swept:
    """Log-likelihood, score and information at coefficients (p + 1, q), in one pass."""
    p1, q = coef.shape
    llf, score = 0.0, np.zeros((p1, q))
    lightest = np.inf
    own_blocks, across = np.zeros((q * p1, p1)), np.zeros((q * p1, q * p1), order="F")
    buffer, stack = np.empty((p1, frame.piece)), np.empty(q * p1 * frame.piece)
    for x, codes, weights in blocks:
        for start in range(0, len(x), frame.piece):
            at = slice(start, start + frame.piece)
            z = frame.columns(x[at], buffer)
            own = None if weights is None else weights[at]
            lightest = min(lightest, 1.0 if own is None else own.min(initial=np.inf, where=own > 0))
            logs, held, shares, residual = _residual(coef.T @ z, codes[at], own, reference)
            llf += logs
            score += z @ residual.T
            times = stack[: q * z.size].reshape(q, *z.shape)
            np.multiply((held * (1 - shares))[:, None], z, out=times)
            own_blocks += times.reshape(q * p1, -1) @ z.T
            if q > 1:
                # One product of all classes: a block for each pair would be as much work in small parts.
                np.multiply((shares if own is None else shares * np.sqrt(own))[:, None], z, out=times)
                held = times.reshape(q * p1, -1).T
                across = dsyrk(-1.0, held, beta=1.0, c=across, trans=1, overwrite_c=1)
    return Swept(llf, score, _information(own_blocks, across), lightest)


def _information(own_blocks: Floats, across: Floats) -> Floats:
    """The whole matrix, of the blocks (q (p + 1), p + 1) on its diagonal and those above it."""
    m, p1 = own_blocks.shape
    # Of a triangle as Fortran lays it out the transpose is the other one, and it is written over in place.
    whole = across.T
    for first in range(0, m, p1):
        at = slice(first, first + p1)
        whole[at, first + p1 :] = whole[first + p1 :, at].T
        whole[at, at] = own_blocks[at]
    return whole


def _residual(
    odds: Floats, codes: NDArray[np.intp], weights: Floats | None, reference: int
) -> tuple[float, Floats, Floats, Floats]:
    """Log-likelihood of rows, their probabilities with and without weights, and what the classes leave."""
    shares, logs = _softmax(odds)
    # The reference has no line of its own.
    modelled = np.flatnonzero(codes != reference)
    line = codes[modelled] - (codes[modelled] > reference)
    own = -logs
    own[modelled] += odds[line, modelled]
    held = shares if weights is None else shares * weights
    residual = -held
    residual[line, modelled] += 1.0 if weights is None else weights[modelled]
    return float(own.sum() if weights is None else own @ weights), held, shares, residual


def _softmax(odds: Floats) -> tuple[Floats, Floats]:
    """Probabilities (K - 1, m) of log odds (K - 1, m), and the log (m,) of their sum with the reference's."""
    peak = np.maximum(odds.max(axis=0), 0.0)
    shares = np.exp(odds - peak)
    total = shares.sum(axis=0)
    total += np.exp(-peak)
    shares /= total
    return shares, peak + np.log(total)


def class_shares(odds: Floats, reference: int) -> tuple[Floats, Floats]:
    """Log probabilities (K, m) of all classes, and probabilities (K - 1, m) of those but the reference."""
    shares, logs = _softmax(odds)
    return np.insert(odds, reference, 0.0, axis=0) - logs, shares


def maximize(
    blocks: Iterable[Rows],
    frame: Frame,
    start: Floats,
    reference: int,
    *,
    tol: float,
    maxiter: int,
    floor: Floats,
    first: Swept | None = None,
) -> Newton:
    """Newton's method with a line search.

    Parameters
    ----------
    blocks : re-iterable of (x (m, p), codes (m,), weights (m,) or None)
    frame : Frame
    start : (p + 1, q) float
        Coefficients in the frame.
    reference : int
    tol : float
        Decrement after which the next step is the last, `NOTHING` or more.
    maxiter : int
    floor : (q, q) float
        Information between the classes, of each column of the frame, that no direction's may fall to: the
        estimates run away there, and the search ends at the last that did not, not converged. Where it is
        zero, a maximum is known to exist, and a small decrement needs no proof that there is one.
    first : Swept, optional
        The sweep at the start, where it was made already.

    Returns
    -------
    Newton
    """
    llf, score, information, lightest = first or sweep(blocks, frame, start, reference)
    bound, known = 2 * frame.longest / lightest, not floor.any()
    rounding = ROUNDING * frame.longest
    held = last = Newton(start, information, llf, np.inf, 0, False)
    for steps in range(maxiter + 1):
        try:
            above(held.information, floor)
            step = _solved(held.information, score)
        except LinAlgError:
            return replace(last, decrement=np.inf, steps=steps)
        decrement = float(np.sqrt(max((score * step).sum(), 0.0)))
        last = replace(held, decrement=decrement, steps=steps)
        near = decrement <= tol and (known or _overlap(held.information, bound * decrement**2, len(floor)))
        if near and decrement <= NOTHING:
            return replace(last, coef=held.coef + step, converged=True)
        if steps == maxiter:
            break
        size = 1.0
        for _ in range(HALVINGS):
            moved = held.coef + size * step
            found = sweep(blocks, frame, moved, reference)
            # Beside the maximum the likelihood is flat to rounding: there the step is right as it is.
            flat = max(rounding, FLAT * max(1.0, abs(held.llf)) if decrement <= 1e-4 else 0.0)
            if found[0] >= held.llf + 1e-4 * size * decrement**2 - flat:
                break
            size /= 2
        else:
            # No step leads up where the information is lost in rounding, far out where classes are separated.
            return last
        held = Newton(moved, found.information, found.llf, decrement, steps + 1, near)
        score = found.score
        if held.converged:
            return _refined(held, score)
    return last


def _refined(ended: Newton, score: Floats) -> Newton:
    """One step more, for which the last pass has all that is needed."""
    try:
        return replace(ended, coef=ended.coef + _solved(ended.information, score))
    except LinAlgError:
        return ended


def _solved(information: Floats, score: Floats) -> Floats:
    """Newton's step (p + 1, q)."""
    return np.asarray(cho_solve(cho_factor(information), score.T.ravel()).reshape(score.T.shape).T)


def _overlap(information: Floats, least: float, q: int) -> bool:
    """Whether the information of q classes exceeds a number in every direction."""
    try:
        above(information, least * np.eye(q))
    except LinAlgError:
        return False
    return True


def above(information: Floats, floor: Floats) -> None:
    """Raise LinAlgError unless the information exceeds the floor in every direction."""
    q = len(floor)
    excess = information.copy()
    own = np.arange(len(excess) // q)
    excess.reshape(q, len(own), q, len(own))[:, own, :, own] -= floor
    cholesky(excess, overwrite_a=True)
