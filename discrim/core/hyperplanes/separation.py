"""Linear separability of classes, decided with a certificate that is valid for all linear rules.

`separation` is used by the perceptron and the maximal margin hyperplane, and by logistic regression if its
likelihood has no maximum.

Theory (Albert & Anderson, 1984, Biometrika 71, 1-10). Classes are *completely separated* if linear functions
eta_k of the row exist with eta_y > eta_k for each row of class y and each other class k. They are
*quasi-separated* if such functions exist with >= and are not all equal. Otherwise they *overlap*, and only
then the multinomial likelihood has a maximum. A linear program decides (Konis, 2007, DPhil thesis, Oxford):
maximize the sum of all differences eta_y - eta_k over coefficients within [-1, 1], subject to nonnegative
differences. Its optimum is zero if and only if the classes overlap; its multipliers plus one are positive
weights u of the differences under which they cancel: sum u (z_y - z_k) = 0. A function cannot be >= on all
rows and > on one, because the weighted sum of its differences is zero. The margin, the largest t with eta_y -
eta_k >= t, distinguishes complete from quasi-separation. If it is below the tolerance of the program, it is
computed as the length of the shortest vector in the hull of the differences (`nearest_point`).

Few differences decide. The program starts with the smallest differences at a guess, for example the
coefficients at which a likelihood search diverged, or otherwise with some rows of each class. The most
violated differences are added until all are satisfied: then the answer is valid for all rows.

A program with hundreds of coefficients can take minutes, and hours if most vertices are degenerate. In this
case the directions in which the likelihood diverges are computed first, which yields the same certificates. A
program with a time limit is solved only if they leave the question open.

*Divergence of the likelihood.* If classes are separated, completely or in part, the likelihood increases
without end along directions of recession, in which no difference eta_y - eta_k of a row decreases. The
*level* differences, which are zero in all these directions, have their own likelihood, and it has a maximum
(Geyer, 2009, Electronic Journal of Statistics 3, 259-289). In Newton's method the level differences converge,
and the others grow by about one in each step. Differences that have grown are therefore assumed to diverge,
and the coefficients are projected on those that leave the others level. The result is checked with the
differences of all rows, and wrong assumptions are revised. The search continues with the level differences
until they are proven to overlap.

*Proof of overlap.* Let v be a direction in which no level difference decreases, g >= 0 its differences, p
their probabilities, A = sum d d' over the level differences d, and H the information. As each g^2 <= v'Av,
the score s and the decrement s'H^-1 s satisfy, similar to `discrim.core.regression.newton`,

    s'H^-1 s >= (sum p g)^2 / sum p g^2 >= sum p g^2 / max g^2 >= v'Hv / v'Av.

If the squared decrement is below a number c for which H - cA is positive definite on the span of the
differences, then every such v leaves all differences level.

*Scaling of rows.* A linear function has the same sign on every positive multiple of a row. With columns of
unit variance, one row at a distance of 1e12 standard deviations of the others would leave all others within
the tolerance of the program. Columns are therefore scaled by the median and the median absolute deviation,
each row (1, x) is divided by its largest element, and the columns are orthogonalized.
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
    """Differences eta_y - eta_k (K, n) between the own class y of each row and each other class k.

    Parameters
    ----------
    columns : (p + 1, n) float
        The first row is constant.
    codes : (n,) int
        Class of each row.
    n_classes : int
    """

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        self.columns = columns
        self.codes = codes
        self.n_classes = n_classes
        self.at = codes, np.arange(len(codes))
        self.others = np.ones((n_classes, len(codes)), dtype=bool)
        self.others[self.at] = False

    def gaps(self, coef: Floats) -> Floats:
        """All differences (K, n) at coefficients (p + 1, K); zero for the own class."""
        eta = coef.T @ self.columns
        return np.asarray(eta[self.at] - eta)

    def leads(self, coef: Floats) -> Floats:
        """All differences (K, n) at coefficients (p + 1, K); infinite for the own class."""
        gaps = self.gaps(coef)
        gaps[self.at] = np.inf
        return gaps

    def wide(self, values: Floats) -> Floats:
        """Coefficients (p + 1, K) from a vector of (K - 1)(p + 1); those of the first class are zero."""
        p1 = len(self.columns)
        return np.column_stack([np.zeros(p1), values.reshape(self.n_classes - 1, p1).T])


MOST_STEPS = 80
"""Maximum number of Newton steps; after it the question is left open."""

SLACK = 1e-7
"""Deviation of a difference from zero that is tolerated, for unit-variance columns and coefficients up to
one.
"""

CLEAR = 1e3 * SLACK
"""Increase of a difference that is certainly not a rounding error of the program."""

AHEAD = 5.0
GROWS = 0.25
"""A difference counts as diverging if it exceeds AHEAD log odds and grows by GROWS in a step."""

CERTAIN = 34.0
"""Log odds above which a difference counts as diverging regardless of its growth."""

RIDGE = 1e-11
"""Ridge, relative to the mean of the information's diagonal, that keeps the information nonsingular."""

PROJECTIONS = 12
REPAIRS = 6
"""PROJECTIONS is the maximum number of solutions for the nearest level coefficients, REPAIRS of revisions."""

POLISHES = 4
"""Number of Newton steps from a proof of overlap to the maximum; each squares the distance."""

PIECE = 2**18
FEWEST = 256
"""Number of elements that are processed at once (PIECE), and minimum number of rows of a chunk (FEWEST)."""


class Recession(NamedTuple):
    """Direction in which a likelihood diverges.

    Attributes
    ----------
    coef : (p + 1, K) float
        Direction with entries up to one; zeros if the likelihood does not diverge. No difference decreases.
    level : (K, n) bool
        Differences that are constant along the direction.
    shares : (K, n) float or None
        Positive weights of the level differences under which they cancel, if these were proven to overlap:
        no other direction increases any of them.
    """

    coef: Floats
    level: Mask
    shares: Floats | None


def recede(
    columns: Floats, codes: Codes, n_classes: int, progress: Callable[[], object] = lambda: None
) -> Recession:
    """Compute the direction in which the likelihood diverges, starting from zero coefficients.

    Parameters
    ----------
    columns : (p + 1, n) float
        A constant row and columns of mean zero and unit variance.
    codes : (n,) int
    n_classes : int
    progress : callable, optional
        Called in each step.

    Returns
    -------
    Recession
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
    """Likelihood of the level differences, as a function of the coefficients without the first class."""

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        super().__init__(columns, codes, n_classes)
        self.shape = len(columns), n_classes

    def sweep(self, coef: Floats, level: Mask) -> tuple[float, Floats, Floats]:
        """Log-likelihood of the level differences, score (p + 1, K - 1) and information."""
        llf, shares, score = self._shares(coef, level)
        return llf, score, self._curvature(shares)

    def _shares(self, coef: Floats, level: Mask) -> tuple[float, Floats, Floats]:
        """Log-likelihood, probabilities (K, n) and score (p + 1, K - 1)."""
        lead = np.where(level, -self.gaps(coef), -np.inf)
        lead[self.at] = 0.0
        peak = lead.max(axis=0)
        shares = np.exp(lead - peak)
        total = shares.sum(axis=0)
        shares /= total
        residual = -shares
        # A small residual is the sum of the other probabilities, which avoids cancellation.
        residual[self.at] = np.where(level, shares, 0.0).sum(axis=0)
        return float(-(peak + np.log(total)).sum()), shares, self.columns @ residual[1:].T

    def cancelling(self, coef: Floats, level: Mask) -> Floats:
        """Weights (K, n) of the level differences that cancel: the probabilities at the maximum."""
        for _ in range(POLISHES):
            shares, score = self._shares(coef, level)[1:]
            coef = coef + self.solved(self._curvature(shares), score)
        shares = self._shares(coef, level)[1]
        shares[self.at] = 0.0
        return shares

    def _curvature(self, shares: Floats) -> Floats:
        """Information of the coefficients without the first class, from probabilities (K, n)."""
        p1 = len(self.columns)
        q = self.n_classes - 1
        piece = max(PIECE // (q * p1), FEWEST)
        information = Information(p1, q, piece)
        for at in slices(len(self.codes), piece):
            z = self.columns[:, at]
            p = shares[:, at]
            # p(1 - p) without cancellation for p close to one.
            less = 1 - p
            for sure in np.flatnonzero(p.max(axis=1) > 0.5):
                others = np.delete(p, sure, axis=0).sum(axis=0)
                less[sure] = np.where(p[sure] > 0.5, others, less[sure])
            refresh_progress()
            information.add(z, (p * less)[1:], p[1:], p[1:])
        return information.whole()

    def gram(self, level: Mask) -> Floats:
        """Sum of dd' over the level differences d."""
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
        """Newton's step (p + 1, K), with a small ridge."""
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
        """Return whether the decrement proves that the level differences overlap.

        Parameters
        ----------
        information : (q (p + 1), q (p + 1)) float
        decrement : float
        level : (K, n) bool
        whole : bool
            Whether the level differences span the whole space.

        Returns
        -------
        bool
        """
        excess = information - 2 * decrement**2 * self.gram(level)
        if not whole:
            # Outside the span of the differences both matrices are zero up to rounding.
            at = np.arange(len(excess))
            excess[at, at] += 1e-13 * float(np.trace(information))
        try:
            cholesky(excess, overwrite_a=True)
        except LinAlgError:
            return False
        return True

    def direction(self, coef: Floats, step: Floats, level: Mask) -> Floats | None:
        """Find a direction that increases some level difference and decreases none.

        Parameters
        ----------
        coef, step : (p + 1, K) float
            Current coefficients and Newton's step.
        level : (K, n) bool

        Returns
        -------
        (p + 1, K) float or None
            Entries up to one; None if no direction is found.
        """
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
        """Return whether some level difference increases and none decreases; with `strictly` all increase."""
        gaps = self.gaps(unit)[level]
        return bool(gaps.min() > SLACK if strictly else gaps.min() >= -SLACK and gaps.max() > 1e3 * SLACK)

    def nearest_level(self, coef: Floats, square: Floats) -> Floats | None:
        """Nearest coefficients under which differences with Gram matrix `square` are zero, scaled to one."""
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
        """Add a direction to the current one as far as no earlier increase is lost.

        Parameters
        ----------
        recession, direction : (p + 1, K) float
        level : (K, n) bool

        Returns
        -------
        (p + 1, K) float or None
            None if the sum does not increase a level difference by enough.
        """
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
"""Relative residual norm of a column below which it counts as collinear."""


class EvenedRows(NamedTuple):
    """Rows (1, z), divided by their largest elements, in orthonormal coordinates.

    Attributes
    ----------
    columns : (r, n) float
        Orthonormal columns times sqrt(n) that span the constant and the rows.
    size : (n,) float
        Divisors of the rows, at least one.
    """

    columns: Floats
    size: Floats


def evened_rows(x: Floats) -> EvenedRows:
    """Scale rows to a common size; see the module docstring.

    Parameters
    ----------
    x : (n, p) float

    Returns
    -------
    EvenedRows

    Examples
    --------
    >>> evened_rows(np.array([[1.0], [2.0], [3.0], [1e12]])).size.round(3).tolist()
    [1.5, 1.0, 1.0, 999999999997.5]
    """
    n = len(x)
    # Median by sorting: NumPy's partition, which np.median calls, crashed Python in a thread.
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
"""Margin, relative to the norms of coefficients and rows, that counts as zero."""

ROWS_A_COEFFICIENT = 10
"""Number of rows per coefficient with which the program starts, and that are added at a time."""

MANY = 200
"""Number of coefficients above which another method is tried before a program."""

FEW_SECONDS = 4.0
SECONDS = 30.0
"""Time limits of a program: FEW_SECONDS before another method, SECONDS after it."""

GUESSED_A_COEFFICIENT = 4
"""Number of differences per coefficient with which the program starts if there is a guess."""


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Certificate of separation or overlap, for columns of mean zero and unit variance.

    Attributes
    ----------
    kind : {"complete", "quasi", "overlap"}
    coef : (p + 1, K) float
        Separating linear functions in the coordinates of the rows; zeros if classes overlap.
    margin : float
        Smallest difference eta_y - eta_k of a row; zero unless the separation is complete.
    on_plane : (m,) int
        Positions of the rows whose differences are all zero.
    weights : (n, K) float or None
        If classes overlap, weights of the differences of each row from each other class under which the
        differences cancel: at least one; zero for the own class.
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
    """Decide between complete separation, quasi-separation and overlap.

    Parameters
    ----------
    columns : (p + 1, n) float
        A constant row and columns of mean zero and unit variance.
    codes : (n,) int
        Class of each row.
    n_classes : int
    guess : (p + 1, K) float, optional
        Linear functions that nearly separate; the program starts with their smallest differences.
    progress : callable, optional
        Called in each step.

    Returns
    -------
    Separation

    Raises
    ------
    CoreNotSupportedError
        If the program fails or exceeds its time limit.

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
    """Compute the certificate by linear programming."""
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
    """A linear program exceeded its time limit."""


class _Program(Differences):
    """Linear programs over a growing subset of the differences.

    Parameters
    ----------
    columns : (p + 1, n) float
    codes : (n,) int
    n_classes : int
    guess : (p + 1, K) float or None
        Its smallest differences are used first.
    seconds : float
        Time limit of one program.
    """

    def __init__(
        self, columns: Floats, codes: Codes, n_classes: int, guess: Floats | None, seconds: float
    ) -> None:
        """Choose the first differences; see the class for the parameters."""
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
        """Differences eta_y - eta_k in use, as functions of the coefficients: (m, (K - 1)(p + 1))."""
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
        """Add differences below `least` to those in use, the smallest first; return whether any was added."""
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
        """Smallest difference between the own class of a row and another class."""
        return float(self.leads(coef).min())

    def margin(self) -> tuple[Floats, float] | None:
        """Coefficients with the largest margin over all rows, and the margin; None if it is zero."""
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
        """Coefficients and margin from the shortest vector in the hull, for a margin below the tolerance."""

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
        """Coefficients under which a maximal set of differences is positive.

        Programs are repeated and their solutions added, because one may increase differences that another
        leaves at zero. If some differences increase clearly, small increases of others are rounding errors
        due to nearly collinear columns.

        Returns
        -------
        coef : (p + 1, K) float
            Zeros if no difference can be positive.
        level : (K, n) bool
            Differences that are zero.
        weights : (n, K) float or None
            Weights under which the differences cancel, if all are zero.
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
        """Coefficients that maximize the sum of the level differences, and the multipliers."""
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
    """Minimize cost'b within bounds, subject to rows b >= 0.

    Parameters
    ----------
    cost : (m,) float
    rows : (r, m) float
    bounds : list of (float, float or None)
    seconds : float
        Time limit.

    Returns
    -------
    b : (m,) float
    multipliers : (r,) float
    """
    zeros = np.zeros(len(rows))
    options = {"time_limit": seconds}

    # In this thread: the solver's scheduler is not safe after calls from several threads. An interrupt is
    # handled when the program ends.
    answer = linprog(cost, A_ub=-rows, b_ub=zeros, bounds=bounds, method="highs", options=options)
    if answer.status == 1:
        raise _OutOfTime
    if answer.x is None:
        raise CoreNotSupportedError("no_solution", message_of_solver=answer.message)
    return np.asarray(answer.x), np.asarray(-answer.ineqlin.marginals)


class ProgramRows(NamedTuple):
    """Rows in coordinates that suit the linear program.

    Attributes
    ----------
    columns : (r + 1, n) float
        A constant row and orthonormal columns times sqrt(n).
    to_unit : (p, r) float
        Maps slopes of the coordinates to slopes of columns of unit variance.
    """

    columns: Floats
    to_unit: Floats

    def to_data(self, x: Floats) -> Floats:
        """Matrix (p + 1, r + 1) that maps coefficients to coefficients of the rows x (n, p)."""
        # Scaling by powers of two is exact and prevents overflow of squares.
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
    """Coordinates of rows (n, p) with mean zero and unit variance, without collinear and constant columns."""
    n, p = x.shape
    centred = x - x.mean(axis=0)
    farthest = np.abs(centred).max(axis=0)
    # A centred constant column contains only the rounding error of its mean.
    used = np.flatnonzero(farthest > 1e-14 * np.abs(x).max(axis=0))
    # Divide by the largest absolute value to avoid underflow and overflow of squares.
    z = centred[:, used] / farthest[used]
    z /= np.sqrt((z**2).mean(axis=0))
    q, r, order = qr(z, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(r))
    rank = int((size > COLLINEAR * size[:1].sum()).sum())
    to_unit = np.zeros((p, rank))
    to_unit[used[order[:rank]]] = solve_triangular(r[:rank, :rank], np.eye(rank)) * np.sqrt(n)
    return ProgramRows(np.vstack([np.ones(n), np.sqrt(n) * q[:, :rank].T]), to_unit)
