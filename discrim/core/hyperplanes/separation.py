"""Is there a hyperplane between the classes? One certificate for all linear rules.

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
way in which the likelihood runs away is followed first, which ends with the same certificates; a program is
solved where that leaves the question open, and is given a limited time.

*The way in which a likelihood runs away.* Where classes are separated, wholly or in part, the likelihood
rises for ever along directions of recession, in which no difference eta_y - eta_k of a row falls; the *level*
differences, those that are zero in all of them, have a likelihood of their own, and that has a maximum
(Geyer, 2009, Electronic Journal of Statistics 3, 259-289). Newton's method finds both: the level differences
settle, the others grow by about one each step. So those that have grown are guessed to be gone, and the
coefficients are taken to the nearest that leave the others level. A direction found like this is seen to
separate by the differences of all rows; what was guessed wrongly is put back. Then the search goes on over
the level ones alone, until

*they overlap*. Let v be a direction in which no level difference falls, g >= 0 its differences, p their
probabilities, A = sum d d' over the level differences d, and H the information. As each g^2 <= v'Av, the
score s and the decrement s'H^-1 s have, as in `discrim.core.regression.newton`,

    s'H^-1 s >= (sum p g)^2 / sum p g^2 >= sum p g^2 / max g^2 >= v'Hv / v'Av.

A decrement whose square is below a number c, with H - cA positive on the span of the differences, is thus
the proof that there is no such v but one that leaves all of them level.

*Rows on one scale* suit a program: a linear function has the same sign on every multiple of a row. A row that
lies 1e12 standard deviations of the others away leaves all of them within the tolerance of a
program whose columns have unit variance, as if they lay on its plane. The columns are put in units of the
middle of the rows instead, each row (1, x) is divided by its largest number, and columns are made orthogonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, qr, solve_triangular
from scipy.optimize import linprog

from discrim.core.errors import CoreNotSupportedError
from discrim.core.hyperplanes.hyperplane import nearest_point
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.numerics.progress import refresh_progress
from discrim.core.regression.newton import Information


class Differences:
    """The differences eta_y - eta_k (K, n) of rows of class y from each other class k, by linear functions.

    The columns (p + 1, n) begin with a row of ones. A class would differ from itself at the places `at`; the
    others (K, n) are all but these.
    """

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        self.columns = columns
        self.codes = codes
        self.n_classes = n_classes
        self.at = codes, np.arange(len(codes))
        self.others = np.ones((n_classes, len(codes)), dtype=bool)
        self.others[self.at] = False

    def gaps(self, coef: Floats) -> Floats:
        """All differences (K, n), zero for the class itself, at coefficients (p + 1, K)."""
        eta = coef.T @ self.columns
        return np.asarray(eta[self.at] - eta)

    def leads(self, coef: Floats) -> Floats:
        """The same, infinite for the class itself."""
        gaps = self.gaps(coef)
        gaps[self.at] = np.inf
        return gaps

    def wide(self, values: Floats) -> Floats:
        """Coefficients (p + 1, K) of those (K - 1)(p + 1) of the classes but the first."""
        p1 = len(self.columns)
        return np.column_stack([np.zeros(p1), values.reshape(self.n_classes - 1, p1).T])


MOST_STEPS = 80
"""Steps of Newton's method after which the question is left open."""

SLACK = 1e-7
"""What a difference may miss zero by, in columns of unit variance and coefficients up to one."""

CLEAR = 1e3 * SLACK
"""What a difference is lifted by that is no rounding of the program's."""

AHEAD = 5.0
GROWS = 0.25
"""Log odds that a difference has won, and what it wins in a step, if it is gone."""

CERTAIN = 34.0
"""Log odds beyond which a difference is gone whatever it wins."""

RIDGE = 1e-11
"""Share of the mean information that is added to it, without which rounding makes it singular."""

PROJECTIONS = 12
REPAIRS = 6
"""Solutions for the nearest level coefficients, and times that wrong guesses are put back."""

POLISHES = 4
"""Steps from a proof of overlap to the maximum, each of which squares the distance."""

PIECE = 2**18
FEWEST = 256
"""Numbers worked on at once, and fewest rows: a product of fewer costs what writing its result does."""


class Recession(NamedTuple):
    """Where a likelihood runs to: a direction (p + 1, K) up to one in size, zeros where there is none.

    In the direction no difference falls, and those (K, n) that are level stay so. Where these have been
    proven to overlap, so that no other direction raises any of them, the shares (K, n) are weights of theirs,
    all positive, under which they cancel.
    """

    coef: Floats
    level: Mask
    shares: Floats | None


def recede(
    columns: Floats, codes: Codes, n_classes: int, progress: Callable[[], object] = lambda: None
) -> Recession:
    """Where the likelihood runs to from coefficients of zero, reporting progress after each step.

    The columns (p + 1, n) are a row of ones over columns of mean zero and unit variance.
    """
    rows = _Runaway(columns, codes, n_classes)
    level = rows.others.copy()
    coef = np.zeros(rows.shape)
    recession = np.zeros(rows.shape)
    llf, score, information = rows.sweep(coef, level)
    for _ in range(MOST_STEPS):
        progress()
        step = rows.solved(information, score)
        decrement = float(np.sqrt(max((score * step[:, 1:]).sum(), 0.0)))
        if decrement < 1e-2 and rows.overlap(information, decrement, level, whole=not recession.any()):
            return Recession(recession, level, rows.cancelling(coef + step, level))
        direction = rows.direction(coef, step, level)
        if direction is not None:
            combined = rows.combined(recession, direction, level)
            if combined is None:
                break
            recession = combined
            level &= rows.gaps(recession) <= SLACK
            if not level.any():
                return Recession(recession, level, np.zeros(level.shape))
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
    return Recession(recession, level, None)


class _Runaway(Differences):
    """Sums over the differences, by the coefficients of all classes but the first."""

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        super().__init__(columns, codes, n_classes)
        self.shape = len(columns), n_classes

    def sweep(self, coef: Floats, level: Mask) -> tuple[float, Floats, Floats]:
        """Log-likelihood of the level differences alone, score (p + 1, K - 1) and information."""
        llf, shares, score = self._shares(coef, level)
        return llf, score, self._curvature(shares)

    def _shares(self, coef: Floats, level: Mask) -> tuple[float, Floats, Floats]:
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

    def cancelling(self, coef: Floats, level: Mask) -> Floats:
        """Weights of level differences that cancel: the probabilities at the maximum, from close to it."""
        for _ in range(POLISHES):
            shares, score = self._shares(coef, level)[1:]
            coef = coef + self.solved(self._curvature(shares), score)
        shares = self._shares(coef, level)[1]
        shares[self.at] = 0.0
        return shares

    def _curvature(self, shares: Floats) -> Floats:
        """Sum of (diag(p) - pp') x zz' over the rows, without the first class."""
        p1 = len(self.columns)
        q = self.n_classes - 1
        piece = max(PIECE // (q * p1), FEWEST)
        information = Information(p1, q, piece)
        for at in slices(len(self.codes), piece):
            z = self.columns[:, at]
            p = shares[:, at]
            # p(1 - p) without what cancels where p is all but one.
            less = 1 - p
            for sure in np.flatnonzero(p.max(axis=1) > 0.5):
                others = np.delete(p, sure, axis=0).sum(axis=0)
                less[sure] = np.where(p[sure] > 0.5, others, less[sure])
            refresh_progress()
            information.add(z, (p * less)[1:], p[1:], p[1:])
        return information.whole()

    def gram(self, level: Mask) -> Floats:
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
        ridge = RIDGE * float(np.trace(information)) / len(information)
        at = np.arange(len(information))
        while True:
            ridged = information.copy()
            ridged[at, at] += ridge
            try:
                return self.wide(cho_solve(cho_factor(ridged, overwrite_a=True), score.T.ravel()))
            except LinAlgError:
                ridge *= 10

    def overlap(self, information: Floats, decrement: float, level: Mask, *, whole: bool) -> bool:
        """Whether the decrement proves that the level differences, or the whole of them, overlap."""
        excess = information - 2 * decrement**2 * self.gram(level)
        if not whole:
            # Off the span of the differences both are zero, to rounding.
            at = np.arange(len(excess))
            excess[at, at] += 1e-13 * float(np.trace(information))
        try:
            cholesky(excess, overwrite_a=True)
        except LinAlgError:
            return False
        return True

    def direction(self, coef: Floats, step: Floats, level: Mask) -> Floats | None:
        """Coefficients up to one that raise some level difference and let none fall; None if none is seen."""
        for seen in (coef, step):
            whole = seen / (np.abs(seen).max() or 1.0)
            if self.raises(whole, level, strictly=True):
                return np.asarray(whole)
        ahead = self.gaps(coef)
        wins = self.gaps(step)
        gone = level & ((ahead > CERTAIN) | ((ahead > AHEAD) & (wins > GROWS)))
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

    def raises(self, unit: Floats, level: Mask, *, strictly: bool = False) -> bool:
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
            before = values
            values = ridge * cho_solve(factor, values)
            largest = float(np.abs(values).max())
            if largest < 1e-6:
                return None
            if np.abs(values - before).max() <= 1e-12 * largest:
                break
        return self.wide(values / largest)

    def combined(self, recession: Floats, direction: Floats, level: Mask) -> Floats | None:
        """A direction and as much of a further one as takes nothing back; None if that is little."""
        if not recession.any():
            return direction
        lifted = self.gaps(recession)
        more = self.gaps(direction)
        risen = self.others & ~level
        falls = risen & (more < 0)
        share = float(np.min(0.5 * lifted[falls] / -more[falls], initial=1.0))
        coef = recession + share * direction
        coef = coef / np.abs(coef).max()
        gaps = self.gaps(coef)
        kept = gaps[risen].min() > SLACK and gaps[self.others].min() >= -SLACK
        return coef if kept and (gaps[level] > SLACK).any() else None


COLLINEAR = 1e-10
"""Relative size at which what a column adds to others is rounding."""


class EvenedRows(NamedTuple):
    """Rows (1, z) over their sizes (n,), one at least, with z in units of the middle of the rows.

    The columns (r, n) are orthonormal ones times sqrt(n) that span those of a constant and the rows.
    """

    columns: Floats
    size: Floats


def evened_rows(x: Floats) -> EvenedRows:
    """Rows x (n, p) on one scale.

    Examples
    --------
    >>> evened_rows(np.array([[1.0], [2.0], [3.0], [1e12]])).size.round(3).tolist()
    [1.5, 1.0, 1.0, 999999999997.5]
    """
    n = len(x)
    # By a sort: NumPy's partition, which np.median calls, ended Python in a thread.
    middle = np.sort(x, axis=0)[[(n - 1) // 2, n // 2]].mean(axis=0)
    gaps = np.abs(x - middle)
    spread = np.sort(gaps, axis=0)[[(n - 1) // 2, n // 2]].mean(axis=0)
    farthest = gaps.max(axis=0)
    used = farthest > 0
    unit = np.where(spread > 0, spread, farthest)[used]
    whole = np.column_stack([np.ones(n), (x[:, used] - middle[used]) / unit])
    size = np.abs(whole).max(axis=1)
    q, r, _ = qr(whole / size[:, None], mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(r))
    rank = int((diagonal > COLLINEAR * diagonal[0]).sum())
    return EvenedRows(np.sqrt(n) * q[:, :rank].T, size)


NO_MARGIN = 1e-13
"""Margin, relative to the lengths of coefficients and rows, that is rounding."""

ROWS_A_COEFFICIENT = 10
"""Rows that the program starts with, and takes in at a time, for each coefficient."""

MANY = 200
"""Coefficients beyond which a program takes long enough to try something else before."""

FEW_SECONDS = 4.0
SECONDS = 30.0
"""Limits of one program, before and after something else was tried."""

GUESSED_A_COEFFICIENT = 4
"""Differences that it starts with for each coefficient where a guess says which."""


@dataclass(frozen=True, slots=True, eq=False)
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
    progress: Callable[[], object] = lambda: None,
) -> Separation:
    """Decide between complete separation, quasi-separation and overlap, reporting progress after each step.

    The columns (p + 1, n) are a row of ones over columns of mean zero and unit variance. The program begins
    with the guess (p + 1, K), linear functions close to some that separate. A NotSupportedError says that it
    ended without an answer, or found none in its time.

    Examples
    --------
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
    coef, level, shares = recede(columns, codes, n_classes, progress)
    whole = _Program(columns, codes, n_classes, guess, SECONDS)
    if shares is not None and not coef.any():
        return Separation("overlap", coef, 0.0, np.arange(len(codes)), (shares / shares[level].min()).T)
    if not level.any():
        return Separation("complete", coef, whole.least(coef), np.zeros(0, dtype=np.intp))
    if coef.any():
        return Separation("quasi", coef, 0.0, np.flatnonzero((whole.gaps(coef) <= SLACK).all(axis=0)))
    try:
        return _by_programs(whole)
    except _OutOfTime:
        raise CoreNotSupportedError(
            "out_of_time", n_classes=n_classes, n_coefficients=whole.size, seconds=SECONDS
        ) from None


def _by_programs(whole: _Program) -> Separation:
    """The certificate by linear programming alone."""
    complete = whole.margin()
    if complete is None:
        coef, level, weights = whole.total()
        if weights is not None:
            return Separation("overlap", coef, 0.0, np.arange(len(whole.codes)), weights)
        complete = whole.narrow_margin()
    if complete is not None:
        return Separation("complete", *complete, np.zeros(0, dtype=np.intp))
    return Separation("quasi", coef, 0.0, np.flatnonzero((level | ~whole.others).all(axis=0)))


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
        self.used = np.zeros((n_classes, len(codes)), dtype=bool)
        if guess is None:
            rng = np.random.default_rng(0)
            for k in range(n_classes):
                rows = np.flatnonzero(codes == k)
                some = rng.permutation(rows)[: ROWS_A_COEFFICIENT * self.size // n_classes + 1]
                self.used[:, some] = True
        else:
            most = min(GUESSED_A_COEFFICIENT * self.size, len(codes) * (n_classes - 1)) - 1
            self.used.ravel()[np.argpartition(self.leads(guess).ravel(), most)[: most + 1]] = True
        self.used &= self.others
        self._differences: Floats | None = None

    @property
    def differences(self) -> Floats:
        """Those eta_y - eta_k that are used, by the coefficients, (m, (K - 1)(p + 1)); class 0 has none."""
        if self._differences is None:
            others, rows = np.nonzero(self.used)
            line = np.zeros((len(rows), self.n_classes, len(self.columns)))
            at = np.arange(len(rows))
            line[at, self.codes[rows]] = self.columns[:, rows].T
            line[at, others] -= self.columns[:, rows].T
            self._differences = line[:, 1:].reshape(len(rows), -1)
        return self._differences

    def _coef(self, chosen: Floats) -> Floats:
        return self.wide(chosen[: self.size])

    def _take_in(self, gaps: Floats, least: float) -> bool:
        """Use the differences farthest below a bound, too; whether there was one."""
        low = np.where(self.used | ~self.others, np.inf, gaps)
        worst = np.flatnonzero(low.ravel() < least)
        if not len(worst):
            return False
        most = ROWS_A_COEFFICIENT * self.size
        if len(worst) > most:
            worst = worst[np.argpartition(low.ravel()[worst], most)[:most]]
        self.used.ravel()[worst] = True
        self._differences = None
        return True

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
        return (coef, least) if least > NO_MARGIN * size else None

    def total(self) -> tuple[Floats, Mask, Floats | None]:
        """Coefficients under which as many differences as can be are positive, and which are not.

        Or zeros, all of them, and the weights. What one program leaves at zero another may lift, and the sum
        of the two lifts both. Beside others that it lifts clearly, what it lifts by little more than its
        slack is a rounding of columns that are nearly collinear.
        """
        level = self.others.copy()
        whole = np.zeros((len(self.columns), self.n_classes))
        while True:
            coef, multipliers = self._lift(level)
            lifted = self.gaps(coef)
            risen = level & (lifted > (CLEAR if (level & (lifted > CLEAR)).any() or whole.any() else SLACK))
            if not risen.any():
                break
            whole += coef
            level &= ~risen
        if whole.any():
            return whole / np.abs(whole).max(), level, None
        weights = np.ones(level.shape)
        weights[self.used] += multipliers
        weights[self.at] = 0.0
        return whole, level, weights.T

    def _lift(self, level: Mask) -> tuple[Floats, Floats]:
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
    zeros = np.zeros(len(rows))
    options = {"time_limit": seconds}

    # In this thread: the solver's scheduler is not safe where several threads have called it. An interrupt is
    # heard when the program ends.
    answer = linprog(cost, A_ub=-rows, b_ub=zeros, bounds=bounds, method="highs", options=options)
    if answer.status == 1:
        raise _OutOfTime
    if answer.x is None:
        raise CoreNotSupportedError("no_solution", message_of_solver=answer.message)
    return np.asarray(answer.x), np.asarray(-answer.ineqlin.marginals)


class ProgramRows(NamedTuple):
    """Rows in coordinates that suit the program: ones over orthonormal columns times sqrt(n), (r + 1, n).

    From slopes of these `to_unit` (p, r) leads to slopes of columns of unit variance.
    """

    columns: Floats
    to_unit: Floats

    def to_data(self, x: Floats) -> Floats:
        """Matrix (p + 1, r + 1) from coefficients of the columns to those of the rows x (n, p)."""
        # Powers of two take no digit, and keep squares of rows in any units from overflow.
        unit = np.ldexp(1.0, np.frexp(np.abs(x).max(axis=0))[1] - 1)
        middle = unit * (x / unit).mean(axis=0)
        sd = unit * (x / unit).std(axis=0)
        slopes = self.to_unit / np.where(sd > 0, sd, 1.0)[:, None]
        matrix = np.zeros((len(slopes) + 1, slopes.shape[1] + 1))
        matrix[0, 0] = 1.0
        matrix[0, 1:] = -middle @ slopes
        matrix[1:, 1:] = slopes
        return matrix


def standard(x: Floats) -> ProgramRows:
    """Coordinates of mean zero and unit variance, collinear and constant columns left out, of rows (n, p)."""
    n, p = x.shape
    centred = x - x.mean(axis=0)
    farthest = np.abs(centred).max(axis=0)
    # What is left of a constant column is the rounding of its mean.
    used = np.flatnonzero(farthest > 1e-14 * np.abs(x).max(axis=0))
    # In units of the farthest row no square under- or overflows.
    z = centred[:, used] / farthest[used]
    z /= np.sqrt((z**2).mean(axis=0))
    q, r, order = qr(z, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(r))
    rank = int((size > COLLINEAR * size[:1].sum()).sum())
    to_unit = np.zeros((p, rank))
    to_unit[used[order[:rank]]] = solve_triangular(r[:rank, :rank], np.eye(rank)) * np.sqrt(n)
    return ProgramRows(np.vstack([np.ones(n), np.sqrt(n) * q[:, :rank].T]), to_unit)
