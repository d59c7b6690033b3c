"""The way in which a multinomial likelihood runs away, as a certificate of separation or overlap.

Theory. Where classes are separated, wholly or in part, the likelihood rises for ever along directions of
recession, in which no difference eta_y - eta_k of a row falls; the *level* differences, those that are zero
in all of them, have a likelihood of their own, and that has a maximum (Geyer, 2009, Electronic Journal of
Statistics 3, 259-289). Newton's method finds both: the level differences settle, the others grow by about
one each step. So those that have grown are guessed to be gone, and the coefficients are taken to the
nearest that leave the others level. A direction found like this is seen to separate by the differences of
all rows; what was guessed wrongly is put back. Then the search goes on over the level ones alone, until

*they overlap*. Let v be a direction in which no level difference falls, g >= 0 its differences, p their
probabilities, A = sum d d' over the level differences d, and H the information. As each g^2 <= v'Av, the
score s and the decrement s'H^-1 s have, as in `discrim.core.regression.newton`,

    s'H^-1 s >= (sum p g)^2 / sum p g^2 >= sum p g^2 / max g^2 >= v'Hv / v'Av.

A decrement whose square is below a number c, with H - cA positive on the span of the differences, is thus
the proof that there is no such v but one that leaves all of them level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky

from discrim.core.numerics.progress import tick
from discrim.core.planes.differences import Differences
from discrim.core.regression.symmetric_pairs import Information

__all__ = ["SLACK", "Recession", "recede"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]

MOST_STEPS = 80
"""Steps of Newton's method after which the question is left open."""

SLACK = 1e-7
"""What a difference may miss zero by, in columns of unit variance and coefficients up to one."""

FAR, GROWS = 5.0, 0.25
"""Log odds that a difference has won, and what it wins in a step, if it is gone."""

CERTAIN = 34.0
"""Log odds beyond which a difference is gone whatever it wins."""

RIDGE = 1e-11
"""Share of the mean information that is added to it, without which rounding makes it singular."""

PROJECTIONS, REPAIRS = 12, 6
"""Solutions for the nearest level coefficients, and times that wrong guesses are put back."""

POLISHES = 4
"""Steps from a proof of overlap to the maximum, each of which squares the distance."""

PIECE, FEWEST = 2**18, 256
"""Numbers worked on at once, and fewest rows: a product of fewer costs what writing its result does."""


@dataclass(frozen=True, slots=True)
class Recession:
    """Where a likelihood runs to.

    Attributes
    ----------
    coef : (p + 1, K) float
        A direction in which no difference falls, up to one in size; zeros where there is none.
    level : (K, n) bool
        The differences of each row from each other class that it leaves level.
    shares : (K, n) float or None
        Where those have been proven to overlap, so that no other direction raises any of them: weights of
        theirs, all positive, under which they cancel.
    """

    coef: Floats
    level: Bools
    shares: Floats | None


def recede(
    columns: Floats,
    codes: Codes,
    n_classes: int,
    tick: Callable[[], object] = lambda: None,
) -> Recession:
    """Where the likelihood runs to from coefficients of zero.

    Parameters
    ----------
    columns : (p + 1, n) float
        A row of ones over columns of mean zero and unit variance.
    codes : (n,) int
    n_classes : int
    tick : callable, optional
        Called after each step.
    """
    rows = _Runaway(columns, codes, n_classes)
    level = rows.others.copy()
    coef, found = np.zeros(rows.shape), np.zeros(rows.shape)
    llf, score, information = rows.sweep(coef, level)
    for _ in range(MOST_STEPS):
        tick()
        step = rows.solved(information, score)
        decrement = float(np.sqrt(max((score * step[:, 1:]).sum(), 0.0)))
        if decrement < 1e-2 and rows.overlap(information, decrement, level, whole=not found.any()):
            return Recession(found, level, rows.cancelling(coef + step, level))
        direction = rows.direction(coef, step, level)
        if direction is not None:
            combined = rows.combined(found, direction, level)
            if combined is None:
                break
            found = combined
            level &= rows.gaps(found) <= SLACK
            if not level.any():
                return Recession(found, level, np.zeros(level.shape))
            llf, score, information = rows.sweep(coef, level)
            continue
        size = 1.0
        while size > 1e-6:
            moved = coef + size * step
            swept = rows.sweep(moved, level)
            if swept[0] >= llf - 1e-8 * max(1.0, abs(llf)):
                break
            size /= 2
        else:
            break
        coef, (llf, score, information) = moved, swept
    return Recession(found, level, None)


class _Runaway(Differences):
    """Sums over the differences, by the coefficients of all classes but the first."""

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        super().__init__(columns, codes, n_classes)
        self.shape = len(columns), n_classes

    def sweep(self, coef: Floats, level: Bools) -> tuple[float, Floats, Floats]:
        """Log-likelihood of the level differences alone, score (p + 1, K - 1) and information."""
        llf, shares, score = self._shares(coef, level)
        return llf, score, self._curvature(shares)

    def _shares(self, coef: Floats, level: Bools) -> tuple[float, Floats, Floats]:
        """Log-likelihood, probabilities (K, n) and score."""
        lead = np.where(level, -self.gaps(coef), -np.inf)
        lead[self.at] = 0.0
        peak = lead.max(axis=0)
        shares = np.exp(lead - peak)
        total = shares.sum(axis=0)
        shares /= total
        residual = -shares
        # A residual that is all but zero is the sum of the others' shares, without what cancels in one less.
        residual[self.at] = np.where(level, shares, 0.0).sum(axis=0)
        return float(-(peak + np.log(total)).sum()), shares, self.columns @ residual[1:].T

    def cancelling(self, coef: Floats, level: Bools) -> Floats:
        """Weights of level differences that cancel: the probabilities at the maximum, from close to it."""
        for _ in range(POLISHES):
            shares, score = self._shares(coef, level)[1:]
            coef = coef + self.solved(self._curvature(shares), score)
        shares = self._shares(coef, level)[1]
        shares[self.at] = 0.0
        return shares

    def _curvature(self, shares: Floats) -> Floats:
        """Sum of (diag(p) - pp') x zz' over the rows, without the first class."""
        p1, q = len(self.columns), self.n_classes - 1
        piece = max(PIECE // (q * p1), FEWEST)
        information = Information(p1, q, piece)
        for start in range(0, len(self.codes), piece):
            z, held = self.columns[:, start : start + piece], shares[:, start : start + piece]
            # p(1 - p) without what cancels where p is all but one.
            rest = 1 - held
            for sure in np.flatnonzero(held.max(axis=1) > 0.5):
                others = np.delete(held, sure, axis=0).sum(axis=0)
                rest[sure] = np.where(held[sure] > 0.5, others, rest[sure])
            tick()
            information.add(z, (held * rest)[1:], held[1:], held[1:])
        return information.whole()

    def gram(self, level: Bools) -> Floats:
        """Sum of dd' over level differences."""
        p1, k = self.shape
        out = np.zeros((k, p1, k, p1))
        for a in range(k):
            mine = level[:, self.codes == a]
            z = self.columns[:, self.codes == a]
            for b in np.flatnonzero(mine.any(axis=1)):
                part = z[:, mine[b]]
                square = part @ part.T
                out[a, :, a] += square
                out[b, :, b] += square
                out[a, :, b] -= square
                out[b, :, a] -= square
        size = (k - 1) * p1
        return np.ascontiguousarray(out[1:, :, 1:]).reshape(size, size)

    def solved(self, information: Floats, score: Floats) -> Floats:
        """Newton's step (p + 1, K), with a trace of a ridge."""
        ridge, own = RIDGE * float(np.trace(information)) / len(information), np.arange(len(information))
        while True:
            held = information.copy()
            held[own, own] += ridge
            try:
                return self.wide(cho_solve(cho_factor(held, overwrite_a=True), score.T.ravel()))
            except LinAlgError:
                ridge *= 10

    def overlap(self, information: Floats, decrement: float, level: Bools, *, whole: bool) -> bool:
        """Whether the decrement proves that the level differences, or the whole of them, overlap."""
        excess = information - 2 * decrement**2 * self.gram(level)
        if not whole:
            # Off the span of the differences both are zero, to rounding.
            own = np.arange(len(excess))
            excess[own, own] += 1e-13 * float(np.trace(information))
        try:
            cholesky(excess, overwrite_a=True)
        except LinAlgError:
            return False
        return True

    def direction(self, coef: Floats, step: Floats, level: Bools) -> Floats | None:
        """Coefficients up to one that raise some level difference and let none fall; None if none is seen."""
        for seen in (coef, step):
            whole = seen / (np.abs(seen).max() or 1.0)
            if self.raises(whole, level, strictly=True):
                return np.asarray(whole)
        ahead, wins = self.gaps(coef), self.gaps(step)
        gone = level & ((ahead > CERTAIN) | ((ahead > FAR) & (wins > GROWS)))
        if not gone.any():
            return None
        left = level & ~gone
        square = self.gram(left)
        for _ in range(REPAIRS):
            unit = self.nearest_level(coef, square)
            if unit is None:
                return None
            if self.raises(unit, level):
                return unit
            back = gone & (self.gaps(unit) <= 0)
            if not back.any():
                return None
            square += self.gram(back)
            gone &= ~back
        return None

    def raises(self, unit: Floats, level: Bools, *, strictly: bool = False) -> bool:
        """Whether no level difference falls and some rises, or all of them."""
        gaps = self.gaps(unit)[level]
        return bool(gaps.min() > SLACK if strictly else gaps.min() >= -SLACK and gaps.max() > 1e3 * SLACK)

    def nearest_level(self, coef: Floats, square: Floats) -> Floats | None:
        """The nearest coefficients that leave differences of a Gram matrix level, up to one in size."""
        size = len(square)
        ridge = 1e-9 * float(np.trace(square)) / size or 1.0
        try:
            factor = cho_factor(square + ridge * np.eye(size), overwrite_a=True)
        except LinAlgError:
            return None
        values = coef[:, 1:].T.ravel()
        values = values / (np.abs(values).max() or 1.0)
        for _ in range(PROJECTIONS):
            before, values = values, ridge * cho_solve(factor, values)
            largest = float(np.abs(values).max())
            if largest < 1e-6:
                return None
            if np.abs(values - before).max() <= 1e-12 * largest:
                break
        return self.wide(values / largest)

    def combined(self, found: Floats, direction: Floats, level: Bools) -> Floats | None:
        """What was found and as much of a further direction as takes nothing back; None if that is little."""
        if not found.any():
            return direction
        held, more = self.gaps(found), self.gaps(direction)
        risen = self.others & ~level
        falls = risen & (more < 0)
        share = float(np.min(0.5 * held[falls] / -more[falls], initial=1.0))
        coef = found + share * direction
        coef = coef / np.abs(coef).max()
        gaps = self.gaps(coef)
        kept = gaps[risen].min() > SLACK and gaps[self.others].min() >= -SLACK
        return coef if kept and (gaps[level] > SLACK).any() else None
