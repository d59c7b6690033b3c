"""Is there a hyperplane between the classes? One certificate for every linear rule that asks.

Theory (Albert & Anderson, 1984, Biometrika 71, 1-10). Classes are *completely separated* where linear
functions eta_k of the row exist with eta_y > eta_k for each row of class y and each other class k,
*quasi-separated* where they exist with >= and are not all equal; else they *overlap*, and only then does
the multinomial likelihood have a maximum. A linear program decides (Konis, 2007, DPhil thesis, Oxford):
maximize the sum of all differences eta_y - eta_k over coefficients within [-1, 1], none of them negative.
Its optimum is zero exactly where the classes overlap, and then its multipliers plus one are weights u of
the differences, all positive, under which they cancel: sum u (z_y - z_k) = 0. No function can be >= on all
rows and > on one, for the weighted sum of its differences is zero. The margin, the largest t with eta_y -
eta_k >= t, tells complete from quasi-separation; one too narrow for the program's tolerance is found as the
length of the shortest vector in the hull of the differences (`nearest_point`).

Few differences decide. The program starts with the smallest under a guess, as the coefficients at which a
search ran away, or without one with some rows of each class; and those that its answer violates most are
added until there is none: then the answer is that of all rows.

A program of hundreds of coefficients can take minutes, where most vertices are degenerate hours. There the
way in which the likelihood runs away is followed first (`planes.recession`), which ends with the same
certificates; a program is solved where that leaves the question open, and is given a limited time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.optimize import linprog

from discrim.core.planes.differences import Differences
from discrim.core.planes.evened_rows import COLLINEAR
from discrim.core.planes.nearest_point import nearest_point
from discrim.core.planes.recession import SLACK, recede
from discrim.errors import NotSupportedError

__all__ = ["SLACK", "Separation", "Standard", "separation", "standard"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

TOUCHING = 1e-13
"""Margin, relative to the lengths of coefficients and rows, that is rounding."""

ROWS_A_COEFFICIENT = 10
"""Rows that the program starts with, and takes in at a time, for each coefficient."""

MANY = 200
"""Coefficients beyond which a program takes long enough to try something else before."""

FEW_SECONDS, SECONDS = 4.0, 30.0
"""Limits of one program, before and after something else was tried."""

GUESSED_A_COEFFICIENT = 4
"""Differences that it starts with for each coefficient where a guess says which."""


@dataclass(frozen=True, slots=True)
class Separation:
    """The certificate, for columns of mean zero and unit variance.

    Attributes
    ----------
    kind : {"complete", "quasi", "overlap"}
    coef : (p + 1, K) float
        Linear functions that separate, in the coordinates of the rows given; zeros where classes overlap.
    margin : float
        Smallest difference eta_y - eta_k of any row, zero unless the separation is complete.
    on_plane : (m,) int
        Positions of the rows for which every difference is zero.
    weights : (n, K) float or None
        Where classes overlap, weights of each row's difference from each other class under which the
        differences cancel: at least one, zero for the class itself.
    """

    kind: Literal["complete", "quasi", "overlap"]
    coef: Floats
    margin: float
    on_plane: Codes
    weights: Floats | None = None


def separation(
    columns: Floats,
    codes: Codes,
    n_classes: int,
    guess: Floats | None = None,
    tick: Callable[[], object] = lambda: None,
) -> Separation:
    """Decide between complete separation, quasi-separation and overlap.

    Parameters
    ----------
    columns : (p + 1, n) float
        A row of ones over columns of mean zero and unit variance.
    codes : (n,) int
    n_classes : int
    guess : (p + 1, K) float, optional
        Linear functions close to some that separate: what the program begins with, and nothing else.
    tick : callable, optional
        Called after each step of a search that may be long.

    Raises
    ------
    NotSupportedError
        The linear program ended without an answer, or found none in its time.

    Examples
    --------
    >>> import numpy as np
    >>> columns = np.array([[1.0, 1.0, 1.0, 1.0], [-1.2, -0.6, 0.5, 1.3]])
    >>> separation(columns, np.array([0, 0, 1, 1]), 2).kind
    'complete'
    >>> separation(columns, np.array([0, 1, 0, 1]), 2).kind
    'overlap'
    """
    if (n_classes - 1) * len(columns) <= MANY:
        try:
            return _by_programs(_Program(columns, codes, n_classes, guess, FEW_SECONDS))
        except _OutOfTime:
            pass
    found = recede(columns, codes, n_classes, tick)
    whole = _Program(columns, codes, n_classes, guess, SECONDS)
    if found.shares is not None and not found.coef.any():
        least = found.shares[found.level].min()
        return Separation("overlap", found.coef, 0.0, np.arange(len(codes)), (found.shares / least).T)
    if not found.level.any():
        return Separation("complete", found.coef, whole.least(found.coef), np.zeros(0, dtype=np.intp))
    if found.coef.any():
        return Separation("quasi", found.coef, 0.0, whole.on_plane(found.coef))
    try:
        return _by_programs(whole)
    except _OutOfTime:
        raise NotSupportedError(
            f"Whether a hyperplane separates the {n_classes} classes was not decided: the linear program of "
            f"{whole.size:,} coefficients found no answer in {SECONDS:.0f} seconds. Pass "
            "bias_reduction=True, whose estimates exist in any case, name fewer columns, or merge classes."
        ) from None


def _by_programs(whole: _Program) -> Separation:
    """The certificate by linear programming alone."""
    found = whole.margin()
    if found is not None:
        coef, margin = found
        return Separation("complete", coef, margin, np.zeros(0, dtype=np.intp))
    coef, weights = whole.total()
    if weights is not None:
        return Separation("overlap", coef, 0.0, np.arange(len(whole.codes)), weights)
    found = whole.narrow_margin()
    if found is not None:
        coef, margin = found
        return Separation("complete", coef, margin, np.zeros(0, dtype=np.intp))
    return Separation("quasi", coef, 0.0, whole.on_plane(coef))


class _OutOfTime(Exception):
    """A program was not solved in its time."""


class _Program(Differences):
    """The linear programs over the differences of some (row, other class), which grow as they are solved."""

    def __init__(
        self, columns: Floats, codes: Codes, n_classes: int, guess: Floats | None, seconds: float
    ) -> None:
        super().__init__(columns, codes, n_classes)
        self.seconds = seconds
        self.size = len(columns) * (n_classes - 1)
        self.held = np.zeros((n_classes, len(codes)), dtype=bool)
        if guess is None:
            rng = np.random.default_rng(0)
            for k in range(n_classes):
                rows = np.flatnonzero(codes == k)
                some = rng.permutation(rows)[: ROWS_A_COEFFICIENT * self.size // n_classes + 1]
                self.held[:, some] = True
        else:
            most = min(GUESSED_A_COEFFICIENT * self.size, len(codes) * (n_classes - 1)) - 1
            self.held.ravel()[np.argpartition(self.leads(guess).ravel(), most)[: most + 1]] = True
        self.held &= self.others
        self._made: Floats | None = None

    @property
    def differences(self) -> Floats:
        """Held differences eta_y - eta_k by the coefficients, (m, (K - 1)(p + 1)); class 0 has none."""
        if self._made is None:
            self._made = self._differences()
        return self._made

    def _differences(self) -> Floats:
        others, rows = np.nonzero(self.held)
        line = np.zeros((len(rows), self.n_classes, len(self.columns)))
        at = np.arange(len(rows))
        line[at, self.codes[rows]] = self.columns[:, rows].T
        line[at, others] -= self.columns[:, rows].T
        return line[:, 1:].reshape(len(rows), -1)

    def _coef(self, chosen: Floats) -> Floats:
        return self.wide(chosen[: self.size])

    def _take_in(self, gaps: Floats, least: float) -> bool:
        """Hold the differences farthest below a bound; whether there was one."""
        low = np.where(self.held | ~self.others, np.inf, gaps)
        worst = np.flatnonzero(low.ravel() < least)
        if not len(worst):
            return False
        most = ROWS_A_COEFFICIENT * self.size
        if len(worst) > most:
            worst = worst[np.argpartition(low.ravel()[worst], most)[:most]]
        self.held.ravel()[worst] = True
        self._made = None
        return True

    def on_plane(self, coef: Floats) -> Codes:
        """Positions of the rows for which no difference is positive."""
        return np.flatnonzero((self.gaps(coef) <= SLACK).all(axis=0))

    def least(self, coef: Floats) -> float:
        """The smallest difference of a row's own class from another."""
        return float(self.leads(coef).min())

    def margin(self) -> tuple[Floats, float] | None:
        """Coefficients of the largest margin over all rows, and it; None where it is zero."""
        while True:
            wide = np.hstack([self.differences, np.full((len(self.differences), 1), -1.0)])
            cost = np.zeros(self.size + 1)
            cost[-1] = -1.0
            chosen, _ = _solve(cost, wide, [(-1.0, 1.0)] * self.size + [(0.0, None)], self.seconds)
            if chosen[-1] <= SLACK:
                return None
            coef = self._coef(chosen)
            gaps = self.gaps(coef)
            if not self._take_in(gaps, float(chosen[-1]) - SLACK):
                least = self.least(coef)
                return (coef, least) if least > 0 else None

    def narrow_margin(self) -> tuple[Floats, float] | None:
        """The same where a margin hides below the program's slack: along the shortest of the differences."""

        def lowest(chosen: Floats) -> tuple[tuple[int, int], Floats]:
            leads = self.leads(self._coef(chosen))
            k, i = (int(at) for at in np.unravel_index(np.argmin(leads), leads.shape))
            line = np.zeros((self.n_classes, len(self.columns)))
            line[self.codes[i]], line[k] = self.columns[:, i], -self.columns[:, i]
            return (i, k), line[1:].ravel()

        coef = self._coef(nearest_point(lowest, self.differences.mean(axis=0)).point)
        largest = float(np.abs(coef).max())
        if not largest > 0:
            return None
        coef /= largest
        least = self.least(coef)
        size = np.sqrt((coef**2).sum() * (self.columns**2).sum(axis=0).max())
        return (coef, least) if least > TOUCHING * size else None

    def total(self) -> tuple[Floats, Floats | None]:
        """Coefficients under which as many differences as can be are positive; or zeros, and the weights.

        What one program leaves at zero another may lift, and the sum of the two lifts both.
        """
        level = self.others.copy()
        whole = np.zeros((len(self.columns), self.n_classes))
        while True:
            coef, multipliers = self._lift(level)
            lifted = self.gaps(coef)
            if not (lifted[level] > SLACK).any():
                break
            whole += coef
            level &= lifted <= SLACK
        if whole.any():
            return whole / np.abs(whole).max(), None
        weights = np.ones(level.shape)
        weights[self.held] += multipliers
        weights[self.at] = 0.0
        return whole, weights.T

    def _lift(self, level: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Coefficients of the largest sum of some differences (K, n), and the multipliers of the program."""
        share = -level.astype(np.float64)
        share[self.at] += level.sum(axis=0)
        cost = -(share @ self.columns.T)[1:].ravel()
        while True:
            chosen, multipliers = _solve(cost, self.differences, [(-1.0, 1.0)] * self.size, self.seconds)
            coef = self._coef(chosen)
            if not self._take_in(self.gaps(coef), -SLACK):
                return coef, multipliers


def _solve(
    cost: Floats, rows: Floats, bounds: list[tuple[float, float | None]], seconds: float
) -> tuple[Floats, Floats]:
    """Minimize cost'b within bounds with rows b >= 0: b, and the multipliers of the rows."""
    zeros, options = np.zeros(len(rows)), {"time_limit": seconds}

    # In this thread: the solver's scheduler is not safe where several threads have called it. An interrupt is
    # heard when the program ends.
    answer = linprog(cost, A_ub=-rows, b_ub=zeros, bounds=bounds, method="highs", options=options)
    if answer.status == 1:
        raise _OutOfTime
    if answer.x is None:
        raise NotSupportedError(
            f"The linear program of the separation has no answer ({answer.message}): bring the columns "
            "to like units, or use lda()."
        )
    return np.asarray(answer.x), np.asarray(-answer.ineqlin.marginals)


class Standard(NamedTuple):
    """Rows in coordinates that suit the program.

    Attributes
    ----------
    columns : (r + 1, n) float
        A row of ones over orthonormal columns times sqrt(n) that span those of the rows.
    to_unit : (p, r) float
        Takes slopes of these to slopes of columns of unit variance.
    """

    columns: Floats
    to_unit: Floats

    def to_data(self, x: Floats) -> Floats:
        """Matrix (p + 1, r + 1) from coefficients of the columns to those of the rows x (n, p)."""
        middle, sd = x.mean(axis=0), x.std(axis=0)
        slopes = self.to_unit / np.where(sd > 0, sd, 1.0)[:, None]
        matrix = np.zeros((len(slopes) + 1, slopes.shape[1] + 1))
        matrix[0, 0], matrix[0, 1:], matrix[1:, 1:] = 1.0, -middle @ slopes, slopes
        return matrix


def standard(x: Floats) -> Standard:
    """Coordinates of mean zero and unit variance, collinear and constant columns left out, of rows (n, p)."""
    n, p = x.shape
    centred = x - x.mean(axis=0)
    farthest = np.abs(centred).max(axis=0)
    # What is left of a constant column is the rounding of its mean.
    varies = np.flatnonzero(farthest > 1e-14 * np.abs(x).max(axis=0))
    # In units of the farthest row no square under- or overflows.
    z = centred[:, varies] / farthest[varies]
    z /= np.sqrt((z**2).mean(axis=0))
    q, r, order = qr(z, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(r))
    rank = int((size > COLLINEAR * size[:1].sum()).sum())
    to_unit = np.zeros((p, rank))
    to_unit[varies[order[:rank]]] = solve_triangular(r[:rank, :rank], np.eye(rank)) * np.sqrt(n)
    return Standard(np.vstack([np.ones(n), np.sqrt(n) * q[:, :rank].T]), to_unit)
