"""The quadratic approximation of a likelihood with an elastic net penalty, and its minimum by active sets.

Which coefficients are zero at the minimum is found by the feature-sign search of Lee, Battle, Raina & Ng
(2006, Advances in Neural Information Processing Systems 19): given which are not, and their signs, it is a
linear system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.regression.penalized_likelihood import Likelihood

__all__ = ["Curvature", "Quadratic"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MATRICES = 4
"""Times that the curvature is held: before and after it grows, a copy of some of it, and its root."""

NEXT_TO_NOTHING = 1e-10
"""Share of the mean curvature that is added to each: steps of constants alone would have no length."""

AT_ONCE = 16
"""Fewest coefficients that may enter the active set at once."""

ROUNDS = 500
"""Most changes of the active set in one step."""


@dataclass(slots=True)
class Curvature:
    """Second derivatives at some probabilities, of the coefficients that were asked for so far.

    Attributes
    ----------
    model : Likelihood
    shares : (C, n) float
    place : (C (p + 1),) int
        Where each coefficient is in what is held, -1 where it is not.
    held : (m, m) float
    """

    model: Likelihood
    shares: Floats
    place: Codes
    known: Codes
    held: Floats
    solved: tuple[Codes, Floats, Floats] | None = None

    @classmethod
    def at(cls, model: Likelihood, shares: Floats) -> Curvature:
        """That at probabilities (C, n), of no coefficient yet."""
        size = model.functions * len(model.z)
        none = np.zeros(0, dtype=np.intp)
        return cls(model, shares, np.full(size, -1), none, np.zeros((0, 0)))

    def factor(self, places: Codes, ridge: Floats) -> Floats:
        """A lower triangular root of the curvature of some coefficients, a ridge (a,) on its diagonal."""
        if self.solved is not None:
            before, added, root = self.solved
            if np.array_equal(before, places) and np.array_equal(added, ridge):
                return root
        held = self.of(places)
        own = np.arange(len(places))
        diagonal = held[own, own]
        tiny = NEXT_TO_NOTHING * max(float(diagonal.mean()), np.finfo(np.float64).tiny)
        while True:
            matrix = held.copy(order="F")
            matrix[own, own] += ridge + tiny
            root, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
            if not failed:
                self.solved = places, ridge, root
                return np.asarray(root)
            tiny *= 100

    def of(self, places: Codes) -> Floats:
        """That of some coefficients (a, a)."""
        new = places[self.place[places] < 0]
        if len(new):
            before, after = len(self.known), len(self.known) + len(new)
            refuse_beyond_memory(
                MATRICES * float(after) ** 2,
                f"The curvature of the {after:,} coefficients that the search has come to",
                "Give a larger strength=, or a grid= of larger ones",
            )
            grown = np.empty((after, after))
            grown[:before, :before] = self.held
            grown[before:, before:] = self.model.curvature(self.shares, new, new)
            if before:
                grown[before:, :before] = self.model.curvature(self.shares, new, self.known)
                grown[:before, before:] = grown[before:, :before].T
            self.place[new] = np.arange(before, after)
            self.known = np.concatenate([self.known, new])
            self.held = grown
        at = self.place[places]
        return self.held[np.ix_(at, at)]


class Quadratic:
    """g'(v - b) + (v - b)'H(v - b)/2 + first |v|_1 + second |v|^2/2, without the penalty of constants."""

    def __init__(
        self,
        curvature: Curvature,
        gradient: Floats,
        beta: Floats,
        columns: Codes,
        z: Floats,
        first: float,
        second: float,
    ) -> None:
        self.curvature, self.model, self.z = curvature, curvature.model, z
        self.first, self.second = first, second
        self.shape, self.columns = beta.shape, columns
        self.v = beta.ravel().copy()
        penalized = np.ones(beta.shape, dtype=bool)
        penalized[:, 0] = False
        self.penalized = penalized.ravel()
        slope = gradient + second * beta
        slope[:, 0] = gradient[:, 0]
        self.slope = slope.ravel()
        # Places among all coefficients.
        functions, p1 = beta.shape[0], len(self.model.z)
        self.places = (np.arange(functions)[:, None] * p1 + columns).ravel()

    def minimum(self) -> Floats:
        """Its place (C, m)."""
        free = (self.v != 0) | ~self.penalized
        if not self.first:
            free[:] = True
        sign = np.sign(self.v) * self.penalized
        one, rounds = False, 0
        value = best = 0.0
        while rounds < ROUNDS:
            value += self._settle(free, sign)
            rounds += 1
            if not self.first:
                break
            excess = np.abs(self.slope) - self.first
            excess[free] = -np.inf
            over = excess > 1e-10 * self.first
            if not over.any():
                break
            if rounds > 1 and value > best - 1e-15 * abs(best):
                if one:
                    break
                one = True
            else:
                one = False
            best = value
            if one:
                over = np.arange(len(over)) == np.argmax(excess)
            elif not self.second:
                over = self._first(over, excess, int(free.sum()))
            sign[over] = -np.sign(self.slope[over])
            free |= over
        return self.v.reshape(self.shape)

    def _first(self, over: NDArray[np.bool_], excess: Floats, held: int) -> NDArray[np.bool_]:
        """Those that violate their condition most, where all would be more than the rows determine."""
        most = max(self.model.functions * len(self.model.codes) - held, AT_ONCE)
        if int(over.sum()) <= most:
            return over
        first = np.zeros_like(over)
        first[np.argpartition(-excess, most)[:most]] = True
        return first

    def _settle(self, free: NDArray[np.bool_], sign: Floats) -> float:
        """Go to the minimum over free coefficients of given signs; what the value changes by."""
        total = 0.0
        for _ in range(ROUNDS):
            at = np.flatnonzero(free)
            step = self._solved(at, -(self.slope[at] + self.first * sign[at]))
            start = self.v[at]
            end = start + step
            wrong = (end * sign[at] < 0) & self.penalized[at] & (self.first > 0)
            if not wrong.any():
                return total + self._go(at, step, sign)
            kept = np.where(wrong, 0.0, end)
            change, slope = self._value(at, kept - start, sign)
            if change > 0:
                # Only as far as the first that turns.
                part = start[wrong] / (start[wrong] - end[wrong])
                size = float(part.min())
                kept = start + size * step
                gone = wrong.copy()
                gone[wrong] = part <= size * (1 + 1e-12)
                kept[gone] = 0.0
                change, slope = self._value(at, kept - start, sign)
            else:
                gone = wrong
            self.v[at], self.slope = kept, slope
            total += change
            free[at[gone]] = False
            sign[at[gone]] = 0.0
        return total

    def _go(self, at: Codes, step: Floats, sign: Floats) -> float:
        change, self.slope = self._value(at, step, sign)
        self.v[at] += step
        return change

    def _value(self, at: Codes, step: Floats, sign: Floats) -> tuple[float, Floats]:
        """What the value changes by with a step of coefficients, and the slope (C m,) after it."""
        moved = np.zeros(self.shape)
        moved.ravel()[at] = step
        used = np.flatnonzero(moved.any(axis=0))
        turned = self.model.turned(self.curvature.shares, moved[:, used] @ self.z[used])
        bent = turned @ self.z.T
        bent[:, 1:] += self.second * moved[:, 1:]
        flat = bent.ravel()
        end = self.v[at] + step
        length = self.penalized[at] * (np.abs(end) - np.abs(self.v[at]))
        change = (
            float(self.slope[at] @ step) + 0.5 * float(flat[at] @ step) + self.first * float(length.sum())
        )
        return change, self.slope + flat

    def _solved(self, at: Codes, right: Floats) -> Floats:
        """The solution of (H + second) step = right over some coefficients."""
        places = self.places[at]
        ridge = np.where(self.penalized[at], self.second, 0.0)
        rows = self.model.functions * len(self.model.codes)
        if self.second > 0 and len(at) > rows:
            return self._solved_by_rows(places, ridge, right)
        return np.asarray(dpotrs(self.curvature.factor(places, ridge), right, lower=1)[0])

    def _solved_by_rows(self, places: Codes, ridge: Floats, right: Floats) -> Floats:
        """The same where there are more coefficients than rows, by a system of the rows."""
        root = self.model.roots(self.curvature.shares, places)
        tiny = NEXT_TO_NOTHING * float((root * root).sum()) / len(places)
        inverse = 1 / (ridge + tiny)
        scaled = root * inverse
        inner = scaled @ root.T
        inner.ravel()[:: len(inner) + 1] += 1.0
        lower = np.linalg.cholesky(inner)
        rest = solve_triangular(lower, scaled @ right, lower=True, check_finite=False)
        back = solve_triangular(lower, rest, lower=True, trans=1, check_finite=False)
        return np.asarray(inverse * right - scaled.T @ back)
