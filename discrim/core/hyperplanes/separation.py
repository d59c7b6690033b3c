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
    """Differences eta_y - eta_k (K, n) between the own class y of each of n rows and each other class k.

    Linear functions eta_k of the rows have coefficients (p + 1, K), the constant first.

    Parameters
    ----------
    columns : (p + 1, n) float
        The first row is constant.
    codes : (n,) int
        Class of each row.
    n_classes : int
        Number of classes.
    """

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        self.columns = columns
        self.codes = codes
        self.n_classes = n_classes
        self.own_class_index = codes, np.arange(len(codes))
        self.other_class_mask = np.ones((n_classes, len(codes)), dtype=bool)
        self.other_class_mask[self.own_class_index] = False

    def own_minus_others(self, coef: Floats) -> Floats:
        """Return differences eta_y - eta_k (K, n) at coefficients (p + 1, K); zero for k = y."""
        eta = coef.T @ self.columns
        return np.asarray(eta[self.own_class_index] - eta)

    def leads_over_others(self, coef: Floats) -> Floats:
        """Return differences eta_y - eta_k (K, n) at coefficients (p + 1, K); infinite for k = y."""
        differences = self.own_minus_others(coef)
        differences[self.own_class_index] = np.inf
        return differences

    def to_matrix(self, values: Floats) -> Floats:
        """Return coefficients (p + 1, K), zero for the first class, from a vector of the others.

        The vector ((K - 1)(p + 1),) contains the coefficients of one class after the other.
        """
        p1 = len(self.columns)
        return np.column_stack([np.zeros(p1), values.reshape(self.n_classes - 1, p1).T])


MAX_NEWTON_STEPS = 80
"""Maximum number of Newton steps; after it the question is left open."""

DIFFERENCE_TOLERANCE = 1e-7
"""Deviation of a difference from zero that is tolerated, for unit-variance columns and coefficients up to
one.
"""

MIN_CLEAR_INCREASE = 1e3 * DIFFERENCE_TOLERANCE
"""Increase of a difference that is certainly not a rounding error of the program."""

MIN_DIVERGING_LOG_ODDS = 5.0
MIN_DIVERGING_GROWTH = 0.25
"""A difference counts as diverging if it exceeds MIN_DIVERGING_LOG_ODDS log odds and grows by
MIN_DIVERGING_GROWTH in a step.
"""

MAX_LEVEL_LOG_ODDS = 34.0
"""Log odds above which a difference counts as diverging regardless of its growth."""

RELATIVE_RIDGE = 1e-11
"""Ridge, relative to the mean of the information's diagonal, that keeps the information nonsingular."""

MAX_PROJECTIONS = 12
MAX_REVISIONS = 6
"""MAX_PROJECTIONS is the maximum number of solutions for the nearest level coefficients, MAX_REVISIONS of
revisions.
"""

N_POLISHING_STEPS = 4
"""Number of Newton steps from a proof of overlap to the maximum; each squares the distance."""

MAX_CHUNK_ELEMENTS = 2**18
MIN_CHUNK_ROWS = 256
"""Number of elements that are processed at once (MAX_CHUNK_ELEMENTS), and minimum number of rows of a chunk
(MIN_CHUNK_ROWS).
"""


class Recession(NamedTuple):
    """Direction in which a likelihood diverges.

    Attributes
    ----------
    coef : (p + 1, K) float
        Direction with entries up to one; zeros if the likelihood does not diverge. No difference decreases.
    is_level : (K, n) bool
        Differences that are constant along the direction.
    cancelling_weights : (K, n) float or None
        Positive weights of the level differences under which they cancel, if these were proven to overlap:
        no other direction increases any of them.
    """

    coef: Floats
    is_level: Mask
    cancelling_weights: Floats | None


def find_recession(
    columns: Floats, codes: Codes, n_classes: int, progress: Callable[[], object] = lambda: None
) -> Recession:
    """Search for a direction in which the likelihood diverges by Newton's method from zero coefficients.

    Parameters
    ----------
    columns : (p + 1, n) float
        A constant row and columns of mean zero and unit variance.
    codes : (n,) int
        Classes of the rows.
    n_classes : int
        Number of classes.
    progress : callable, optional
        Called in each step.

    Returns
    -------
    Recession
        Its `coef` is zero if no such direction was found. Its `cancelling_weights` are None if the search
        ended without a proof that no other direction increases the level differences.
    """
    likelihood = _DivergingLikelihood(columns, codes, n_classes)
    is_level = likelihood.other_class_mask.copy()
    coef = np.zeros(likelihood.shape)
    recession = np.zeros(likelihood.shape)
    llf, score, information = likelihood.llf_score_and_information(coef, is_level)
    for _ in range(MAX_NEWTON_STEPS):
        progress()
        step = likelihood.newton_step(information, score)
        decrement = float(np.sqrt(max((score * step[:, 1:]).sum(), 0.0)))
        if decrement < 1e-2 and likelihood.proves_overlap(
            information, decrement, is_level, spans_all=not recession.any()
        ):
            return Recession(recession, is_level, likelihood.cancelling_weights(coef + step, is_level))
        direction = likelihood.find_direction(coef, step, is_level)
        if direction is not None:
            sum_direction = likelihood.add_direction(recession, direction, is_level)
            if sum_direction is None:
                break
            recession = sum_direction
            is_level &= likelihood.own_minus_others(recession) <= DIFFERENCE_TOLERANCE
            if not is_level.any():
                return Recession(recession, is_level, np.zeros(is_level.shape))
            llf, score, information = likelihood.llf_score_and_information(coef, is_level)
            continue
        size = 1.0
        while size > 1e-6:
            new_coef = coef + size * step
            new_sums = likelihood.llf_score_and_information(new_coef, is_level)
            if new_sums[0] >= llf - 1e-8 * max(1.0, abs(llf)):
                break
            size /= 2
        else:
            break
        coef, (llf, score, information) = new_coef, new_sums
    return Recession(recession, is_level, None)


class _DivergingLikelihood(Differences):
    """Likelihood of the level differences, and the search for directions in which it increases without end.

    The coefficients of the first class are zero; vectors and matrices of coefficients omit them. The masks
    `is_level` (K, n) mark the level differences; see the module docstring.
    """

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        super().__init__(columns, codes, n_classes)
        self.shape = len(columns), n_classes

    def llf_score_and_information(self, coef: Floats, is_level: Mask) -> tuple[float, Floats, Floats]:
        """Return the log-likelihood of the level differences, its score (p + 1, K - 1) and its information.

        Parameters
        ----------
        coef : (p + 1, K) float
            Coefficients of the classes.
        is_level : (K, n) bool
            Level differences.

        Returns
        -------
        llf : float
        score : (p + 1, K - 1) float
        information : ((K - 1)(p + 1), (K - 1)(p + 1)) float
            Ordered by class, and within a class by column.
        """
        llf, probabilities, score = self._probabilities(coef, is_level)
        return llf, score, self._curvature(probabilities)

    def _probabilities(self, coef: Floats, is_level: Mask) -> tuple[float, Floats, Floats]:
        """Return the log-likelihood of the level differences, probabilities (K, n) and score (p + 1, K - 1).

        The probability of a class is zero if its difference is not level; the score omits the first class.
        """
        log_ratios = np.where(is_level, -self.own_minus_others(coef), -np.inf)
        log_ratios[self.own_class_index] = 0.0
        peak = log_ratios.max(axis=0)
        probabilities = np.exp(log_ratios - peak)
        total = probabilities.sum(axis=0)
        probabilities /= total
        residual = -probabilities
        # A small residual is the sum of the other probabilities, which avoids cancellation.
        residual[self.own_class_index] = np.where(is_level, probabilities, 0.0).sum(axis=0)
        return float(-(peak + np.log(total)).sum()), probabilities, self.columns @ residual[1:].T

    def cancelling_weights(self, coef: Floats, is_level: Mask) -> Floats:
        """Return weights (K, n) under which the level differences cancel: the probabilities at the maximum.

        Parameters
        ----------
        coef : (p + 1, K) float
            Coefficients near the maximum.
        is_level : (K, n) bool
            Differences that are level.

        Returns
        -------
        (K, n) float
            Probabilities of the other classes, after `N_POLISHING_STEPS` Newton steps; zero for the own
            class, and for differences that are not level.
        """
        for _ in range(N_POLISHING_STEPS):
            probabilities, score = self._probabilities(coef, is_level)[1:]
            coef = coef + self.newton_step(self._curvature(probabilities), score)
        probabilities = self._probabilities(coef, is_level)[1]
        probabilities[self.own_class_index] = 0.0
        return probabilities

    def _curvature(self, probabilities: Floats) -> Floats:
        """Return the information of the coefficients of all classes but the first.

        Parameters
        ----------
        probabilities : (K, n) float
            Probabilities of the classes for each row.

        Returns
        -------
        ((K - 1)(p + 1), (K - 1)(p + 1)) float
            Ordered by class, and within a class by column.
        """
        p1 = len(self.columns)
        q = self.n_classes - 1
        chunk_rows = max(MAX_CHUNK_ELEMENTS // (q * p1), MIN_CHUNK_ROWS)
        information = Information(p1, q, chunk_rows)
        for row_slice in slices(len(self.codes), chunk_rows):
            z = self.columns[:, row_slice]
            p = probabilities[:, row_slice]
            # p(1 - p) without cancellation for p close to one.
            complements = 1 - p
            for likely_class in np.flatnonzero(p.max(axis=1) > 0.5):
                others = np.delete(p, likely_class, axis=0).sum(axis=0)
                complements[likely_class] = np.where(p[likely_class] > 0.5, others, complements[likely_class])
            refresh_progress()
            information.add(z, (p * complements)[1:], p[1:], p[1:])
        return information.as_matrix()

    def gram(self, is_level: Mask) -> Floats:
        """Return the sum of dd' over the level differences d, a square matrix of order (K - 1)(p + 1).

        A difference d is a vector in the coefficients of all classes but the first.
        """
        p1, k = self.shape
        blocks = np.zeros((k, p1, k, p1))
        for a in range(k):
            is_class_level = is_level[:, self.codes == a]
            z = self.columns[:, self.codes == a]
            for b in np.flatnonzero(is_class_level.any(axis=1)):
                class_columns = z[:, is_class_level[b]]
                square = class_columns @ class_columns.T
                blocks[a, :, a] += square
                blocks[b, :, b] += square
                blocks[a, :, b] -= square
                blocks[b, :, a] -= square
        size = (k - 1) * p1
        return np.ascontiguousarray(blocks[1:, :, 1:]).reshape(size, size)

    def newton_step(self, information: Floats, score: Floats) -> Floats:
        """Return Newton's step (p + 1, K) from information and score (p + 1, K - 1), with a small ridge.

        The ridge is increased until the information is positive definite.
        """
        ridge = RELATIVE_RIDGE * float(np.trace(information)) / len(information)
        diagonal_index = np.arange(len(information))
        while True:
            ridged = information.copy()
            ridged[diagonal_index, diagonal_index] += ridge
            try:
                return self.to_matrix(cho_solve(cho_factor(ridged, overwrite_a=True), score.T.ravel()))
            except LinAlgError:
                ridge *= 10

    def proves_overlap(
        self, information: Floats, decrement: float, is_level: Mask, *, spans_all: bool
    ) -> bool:
        """Return whether the decrement proves that the level differences overlap.

        Parameters
        ----------
        information : ((K - 1)(p + 1), (K - 1)(p + 1)) float
            Information of the likelihood of the level differences.
        decrement : float
            Newton decrement, the root of s'H^-1 s.
        is_level : (K, n) bool
            Differences that are level.
        spans_all : bool
            Whether the level differences span the whole space.

        Returns
        -------
        bool
            If false, the level differences may overlap or not.
        """
        excess = information - 2 * decrement**2 * self.gram(is_level)
        if not spans_all:
            # Outside the span of the differences both matrices are zero up to rounding.
            diagonal_index = np.arange(len(excess))
            excess[diagonal_index, diagonal_index] += 1e-13 * float(np.trace(information))
        try:
            cholesky(excess, overwrite_a=True)
        except LinAlgError:
            return False
        return True

    def find_direction(self, coef: Floats, step: Floats, is_level: Mask) -> Floats | None:
        """Find a direction that increases some level difference and decreases none, from a Newton step.

        Parameters
        ----------
        coef, step : (p + 1, K) float
            Current coefficients and Newton's step.
        is_level : (K, n) bool
            Differences that are level.

        Returns
        -------
        (p + 1, K) float or None
            The largest absolute entry is one; None if no direction is found.
        """
        for candidate in (coef, step):
            scaled = candidate / (np.abs(candidate).max() or 1.0)
            if self.is_recession(scaled, is_level, strictly=True):
                return np.asarray(scaled)
        differences = self.own_minus_others(coef)
        growth = self.own_minus_others(step)
        diverges = is_level & (
            (differences > MAX_LEVEL_LOG_ODDS)
            | ((differences > MIN_DIVERGING_LOG_ODDS) & (growth > MIN_DIVERGING_GROWTH))
        )
        if not diverges.any():
            return None
        remaining = is_level & ~diverges
        gram_matrix = self.gram(remaining)
        for _ in range(MAX_REVISIONS):
            level_coef = self.nearest_level(coef, gram_matrix)
            if level_coef is None:
                return None
            if self.is_recession(level_coef, is_level):
                return level_coef
            returns = diverges & (self.own_minus_others(level_coef) <= 0)
            if not returns.any():
                return None
            gram_matrix += self.gram(returns)
            diverges &= ~returns
        return None

    def is_recession(self, direction: Floats, is_level: Mask, *, strictly: bool = False) -> bool:
        """Return whether some level difference increases and none decreases along a direction.

        Parameters
        ----------
        direction : (p + 1, K) float
            Coefficients whose largest absolute value is about one.
        is_level : (K, n) bool
            Differences that are level.
        strictly : bool
            Whether all level differences have to increase, instead of one.

        Returns
        -------
        bool
            With `strictly`, whether all increase by more than `DIFFERENCE_TOLERANCE`. Otherwise whether one
            increases by more than 1e3 times this, and none decreases by more than it.
        """
        level_differences = self.own_minus_others(direction)[is_level]
        return bool(
            level_differences.min() > DIFFERENCE_TOLERANCE
            if strictly
            else level_differences.min() >= -DIFFERENCE_TOLERANCE
            and level_differences.max() > 1e3 * DIFFERENCE_TOLERANCE
        )

    def nearest_level(self, coef: Floats, gram_matrix: Floats) -> Floats | None:
        """Return the coefficients nearest to `coef` that leave some differences level.

        They are scaled to a largest absolute value of one.

        Parameters
        ----------
        coef : (p + 1, K) float
            Coefficients of the classes.
        gram_matrix : ((K - 1)(p + 1), (K - 1)(p + 1)) float
            Sum of dd' over the differences d that are to be zero.

        Returns
        -------
        (p + 1, K) float or None
            None if only zero coefficients leave them level, up to rounding.
        """
        size = len(gram_matrix)
        ridge = 1e-9 * float(np.trace(gram_matrix)) / size or 1.0
        try:
            factor = cho_factor(gram_matrix + ridge * np.eye(size), overwrite_a=True)
        except LinAlgError:
            return None
        values = coef[:, 1:].T.ravel()
        values = values / (np.abs(values).max() or 1.0)
        for _ in range(MAX_PROJECTIONS):
            previous = values
            values = ridge * cho_solve(factor, values)
            largest = float(np.abs(values).max())
            if largest < 1e-6:
                return None
            if np.abs(values - previous).max() <= 1e-12 * largest:
                break
        return self.to_matrix(values / largest)

    def add_direction(self, recession: Floats, direction: Floats, is_level: Mask) -> Floats | None:
        """Add a multiple, at most one, of a direction to the current one that preserves earlier increases.

        Parameters
        ----------
        recession, direction : (p + 1, K) float
            Current direction, and the direction to add.
        is_level : (K, n) bool
            Differences that are level.

        Returns
        -------
        (p + 1, K) float or None
            With a largest absolute entry of one, except that `direction` itself is returned if `recession` is
            zero. None unless, along the sum, a level difference and all earlier increases are above
            `DIFFERENCE_TOLERANCE`, and no difference decreases by more than it.
        """
        if not recession.any():
            return direction
        earlier_differences = self.own_minus_others(recession)
        added_differences = self.own_minus_others(direction)
        has_risen = self.other_class_mask & ~is_level
        falls = has_risen & (added_differences < 0)
        fraction = float(np.min(0.5 * earlier_differences[falls] / -added_differences[falls], initial=1.0))
        coef = recession + fraction * direction
        coef = coef / np.abs(coef).max()
        differences = self.own_minus_others(coef)
        is_valid = (
            differences[has_risen].min() > DIFFERENCE_TOLERANCE
            and differences[self.other_class_mask].min() >= -DIFFERENCE_TOLERANCE
        )
        return coef if is_valid and (differences[is_level] > DIFFERENCE_TOLERANCE).any() else None


COLLINEAR_TOLERANCE = 1e-10
"""Relative residual norm of a column below which it counts as collinear."""


class ScaledRows(NamedTuple):
    """Rows (1, z), divided by their largest elements, in orthonormal coordinates.

    Attributes
    ----------
    columns : (r, n) float
        Orthonormal columns times sqrt(n), transposed, that span the scaled constant and columns, of rank r.
    size : (n,) float
        Divisors of the rows, at least one.
    """

    columns: Floats
    size: Floats


def scale_rows(x: Floats) -> ScaledRows:
    """Scale columns robustly, divide each row by its largest element, and orthogonalize the columns.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.

    Returns
    -------
    ScaledRows

    Examples
    --------
    >>> scale_rows(np.array([[1.0], [2.0], [3.0], [1e12]])).size.round(3).tolist()
    [1.5, 1.0, 1.0, 999999999997.5]
    """
    n = len(x)
    # Median by sorting: NumPy's partition, which np.median calls, crashed Python in a thread.
    medians = np.sort(x, axis=0)[[(n - 1) // 2, n // 2]].mean(axis=0)
    deviations = np.abs(x - medians)
    deviation_medians = np.sort(deviations, axis=0)[[(n - 1) // 2, n // 2]].mean(axis=0)
    max_deviations = deviations.max(axis=0)
    used = max_deviations > 0
    unit = np.where(deviation_medians > 0, deviation_medians, max_deviations)[used]
    scaled_rows = np.column_stack([np.ones(n), (x[:, used] - medians[used]) / unit])
    size = np.abs(scaled_rows).max(axis=1)
    q, r, _ = qr(scaled_rows / size[:, None], mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(r))
    rank = int((diagonal > COLLINEAR_TOLERANCE * diagonal[0]).sum())
    return ScaledRows(np.sqrt(n) * q[:, :rank].T, size)


MARGIN_TOLERANCE = 1e-13
"""Margin, relative to the norms of coefficients and rows, that counts as zero."""

ROWS_PER_COEFFICIENT = 10
"""Number of rows per coefficient with which the program starts, and that are added at a time."""

MAX_PROGRAM_COEFS = 200
"""Number of coefficients above which another method is tried before a program."""

FIRST_TIME_LIMIT = 4.0
LAST_TIME_LIMIT = 30.0
"""Time limits of a program: FIRST_TIME_LIMIT before another method, LAST_TIME_LIMIT after it."""

GUESSED_DIFFERENCES_PER_COEFFICIENT = 4
"""Number of differences per coefficient with which the program starts if there is a guess."""


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Certificate of separation or overlap, for columns of mean zero and unit variance.

    Attributes
    ----------
    separation_type : {"complete", "quasi", "overlap"}
        See the module docstring.
    coef : (p + 1, K) float
        Separating linear functions of the `columns` of `decide_separation`; zeros if classes overlap.
    margin : float
        Smallest difference eta_y - eta_k of a row; zero unless the separation is complete.
    on_plane : (m,) int
        Positions of the rows whose differences are all zero: none if the separation is complete, all rows if
        classes overlap.
    weights : (n, K) float or None
        If classes overlap, weights of the differences of each row from each other class under which the
        differences cancel: at least one; zero for the own class. None if they are separated.
    """

    separation_type: Literal["complete", "quasi", "overlap"]
    coef: Floats
    margin: float
    on_plane: Codes
    weights: Floats | None = None


def decide_separation(
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
        Number of classes.
    guess : (p + 1, K) float, optional
        Linear functions that nearly separate; the program starts with their smallest differences.
    progress : callable, optional
        Called in each step of `find_recession`.

    Returns
    -------
    Separation

    Raises
    ------
    CoreNotSupportedError
        If a program fails, or if the search for a recession leaves the question open and a program exceeds
        `LAST_TIME_LIMIT`.

    Examples
    --------
    >>> columns = np.array([[1.0, 1.0, 1.0, 1.0], [-1.2, -0.6, 0.5, 1.3]])
    >>> decide_separation(columns, np.array([0, 0, 1, 1]), 2).separation_type
    'complete'
    >>> decide_separation(columns, np.array([0, 1, 0, 1]), 2).separation_type
    'overlap'
    """
    if (n_classes - 1) * len(columns) <= MAX_PROGRAM_COEFS:
        try:
            return _decide_by_programs(_SeparationProgram(columns, codes, n_classes, guess, FIRST_TIME_LIMIT))
        except _TimeLimitExceeded:
            pass
    coef, is_level, cancelling_weights = find_recession(columns, codes, n_classes, progress)
    program = _SeparationProgram(columns, codes, n_classes, guess, LAST_TIME_LIMIT)
    if cancelling_weights is not None and not coef.any():
        return Separation(
            "overlap",
            coef,
            0.0,
            np.arange(len(codes)),
            (cancelling_weights / cancelling_weights[is_level].min()).T,
        )
    if not is_level.any():
        return Separation("complete", coef, program.min_lead(coef), np.zeros(0, dtype=np.intp))
    if coef.any():
        return Separation(
            "quasi",
            coef,
            0.0,
            np.flatnonzero((program.own_minus_others(coef) <= DIFFERENCE_TOLERANCE).all(axis=0)),
        )
    try:
        return _decide_by_programs(program)
    except _TimeLimitExceeded:
        raise CoreNotSupportedError(
            "out_of_time", n_classes=n_classes, n_coefficients=program.n_coefs, seconds=LAST_TIME_LIMIT
        ) from None


def _decide_by_programs(program: _SeparationProgram) -> Separation:
    """Decide between complete separation, quasi-separation and overlap by linear programs.

    Raises _TimeLimitExceeded if one of them takes longer than `program.time_limit`.
    """
    complete = program.maximize_margin()
    if complete is None:
        coef, is_level, weights = program.maximal_separation()
        if weights is not None:
            return Separation("overlap", coef, 0.0, np.arange(len(program.codes)), weights)
        complete = program.maximize_narrow_margin()
    if complete is not None:
        return Separation("complete", *complete, np.zeros(0, dtype=np.intp))
    return Separation("quasi", coef, 0.0, np.flatnonzero((is_level | ~program.other_class_mask).all(axis=0)))


class _TimeLimitExceeded(Exception):
    """A linear program exceeded its time limit."""


class _SeparationProgram(Differences):
    """Linear programs over a growing subset of the differences.

    Parameters
    ----------
    columns : (p + 1, n) float
        Rows (1, x), transposed.
    codes : (n,) int
        Classes of the rows.
    n_classes : int
        Number of classes.
    guess : (p + 1, K) float or None
        Linear functions whose smallest differences are used first; None for differences of random rows.
    time_limit : float
        Time limit of one program in seconds.
    """

    def __init__(
        self, columns: Floats, codes: Codes, n_classes: int, guess: Floats | None, time_limit: float
    ) -> None:
        """Choose the first differences; see the class for the parameters."""
        super().__init__(columns, codes, n_classes)
        self.time_limit = time_limit
        self.n_coefs = len(columns) * (n_classes - 1)
        self.is_used = np.zeros((n_classes, len(codes)), dtype=bool)
        if guess is None:
            rng = np.random.default_rng(0)
            for k in range(n_classes):
                rows = np.flatnonzero(codes == k)
                sampled = rng.permutation(rows)[: ROWS_PER_COEFFICIENT * self.n_coefs // n_classes + 1]
                self.is_used[:, sampled] = True
        else:
            max_index = (
                min(GUESSED_DIFFERENCES_PER_COEFFICIENT * self.n_coefs, len(codes) * (n_classes - 1)) - 1
            )
            self.is_used.ravel()[
                np.argpartition(self.leads_over_others(guess).ravel(), max_index)[: max_index + 1]
            ] = True
        self.is_used &= self.other_class_mask
        self._differences: Floats | None = None

    @property
    def differences(self) -> Floats:
        """Matrix (m, (K - 1)(p + 1)) that maps coefficients to the m differences eta_y - eta_k in use."""
        if self._differences is None:
            others, rows = np.nonzero(self.is_used)
            difference_rows = np.zeros((len(rows), self.n_classes, len(self.columns)))
            row_index = np.arange(len(rows))
            difference_rows[row_index, self.codes[rows]] = self.columns[:, rows].T
            difference_rows[row_index, others] -= self.columns[:, rows].T
            self._differences = difference_rows[:, 1:].reshape(len(rows), -1)
        return self._differences

    def _coef_of_solution(self, solution: Floats) -> Floats:
        """Return the coefficients (p + 1, K) of a solution; variables after the coefficients are ignored."""
        return self.to_matrix(solution[: self.n_coefs])

    def _add_violated(self, differences: Floats, threshold: float) -> bool:
        """Add the smallest of the differences (K, n) below a threshold to those in use.

        At most `ROWS_PER_COEFFICIENT` for each coefficient are added.

        Returns
        -------
        bool
            Whether any was added.
        """
        unused = np.where(self.is_used | ~self.other_class_mask, np.inf, differences)
        violated = np.flatnonzero(unused.ravel() < threshold)
        if not len(violated):
            return False
        max_added = ROWS_PER_COEFFICIENT * self.n_coefs
        if len(violated) > max_added:
            violated = violated[np.argpartition(unused.ravel()[violated], max_added)[:max_added]]
        self.is_used.ravel()[violated] = True
        self._differences = None
        return True

    def min_lead(self, coef: Floats) -> float:
        """Return the smallest difference eta_y - eta_k of all rows at coefficients (p + 1, K)."""
        return float(self.leads_over_others(coef).min())

    def maximize_margin(self) -> tuple[Floats, float] | None:
        """Return coefficients (p + 1, K) with the largest margin, and the margin; None if it is zero.

        Coefficients are within [-1, 1]. A margin up to `DIFFERENCE_TOLERANCE` counts as zero.
        """
        while True:
            with_margin = np.hstack([self.differences, np.full((len(self.differences), 1), -1.0)])
            cost = np.zeros(self.n_coefs + 1)
            cost[-1] = -1.0
            solution, _ = _solve_program(
                cost, with_margin, [(-1.0, 1.0)] * self.n_coefs + [(0.0, None)], self.time_limit
            )
            if solution[-1] <= DIFFERENCE_TOLERANCE:
                return None
            coef = self._coef_of_solution(solution)
            all_differences = self.own_minus_others(coef)
            if not self._add_violated(all_differences, float(solution[-1]) - DIFFERENCE_TOLERANCE):
                min_difference = self.min_lead(coef)
                return (coef, min_difference) if min_difference > 0 else None

    def maximize_narrow_margin(self) -> tuple[Floats, float] | None:
        """Return coefficients and margin for a margin below the tolerance of the program; None if it is zero.

        The coefficients (p + 1, K) have a largest absolute value of one. They follow from the shortest vector
        in the hull of the differences.
        """

        def lowest_difference(direction: Floats) -> tuple[tuple[int, int], Floats]:
            """Return the smallest difference along a direction ((K - 1)(p + 1),) with its name.

            The name (i, k) is the row and the other class; the difference has the shape of the direction.
            """
            leads = self.leads_over_others(self._coef_of_solution(direction))
            k, i = (int(index) for index in np.unravel_index(np.argmin(leads), leads.shape))
            difference = np.zeros((self.n_classes, len(self.columns)))
            difference[self.codes[i]], difference[k] = self.columns[:, i], -self.columns[:, i]
            return (i, k), difference[1:].ravel()

        coef = self._coef_of_solution(nearest_point(lowest_difference, self.differences.mean(axis=0)).point)
        max_coef = float(np.abs(coef).max())
        if not max_coef > 0:
            return None
        coef /= max_coef
        min_difference = self.min_lead(coef)
        size = np.sqrt((coef**2).sum() * (self.columns**2).sum(axis=0).max())
        return (coef, min_difference) if min_difference > MARGIN_TOLERANCE * size else None

    def maximal_separation(self) -> tuple[Floats, Mask, Floats | None]:
        """Find coefficients under which as many differences as possible are positive and none is negative.

        Programs are repeated and their solutions added, because one may increase differences that another
        leaves at zero. If some differences increase clearly, small increases of others are rounding errors
        due to nearly collinear columns.

        Returns
        -------
        coef : (p + 1, K) float
            Zeros if no difference can be positive.
        is_level : (K, n) bool
            Differences that are zero.
        weights : (n, K) float or None
            Weights under which the differences cancel, if no difference can be positive; otherwise None.
        """
        is_level = self.other_class_mask.copy()
        total_coef = np.zeros((len(self.columns), self.n_classes))
        while True:
            coef, multipliers = self._maximize_level_sum(is_level)
            lifted_differences = self.own_minus_others(coef)
            has_risen = is_level & (
                lifted_differences
                > (
                    MIN_CLEAR_INCREASE
                    if (is_level & (lifted_differences > MIN_CLEAR_INCREASE)).any() or total_coef.any()
                    else DIFFERENCE_TOLERANCE
                )
            )
            if not has_risen.any():
                break
            total_coef += coef
            is_level &= ~has_risen
        if total_coef.any():
            return total_coef / np.abs(total_coef).max(), is_level, None
        weights = np.ones(is_level.shape)
        weights[self.is_used] += multipliers
        weights[self.own_class_index] = 0.0
        return total_coef, is_level, weights.T

    def _maximize_level_sum(self, is_level: Mask) -> tuple[Floats, Floats]:
        """Return coefficients (p + 1, K) with the largest sum of level differences, and the multipliers (m,).

        No difference is negative; the m differences in use have the multipliers.
        """
        class_counts = -is_level.astype(np.float64)
        class_counts[self.own_class_index] += is_level.sum(axis=0)
        cost = -(class_counts @ self.columns.T)[1:].ravel()
        while True:
            solution, multipliers = _solve_program(
                cost, self.differences, [(-1.0, 1.0)] * self.n_coefs, self.time_limit
            )
            coef = self._coef_of_solution(solution)
            if not self._add_violated(self.own_minus_others(coef), -DIFFERENCE_TOLERANCE):
                return coef, multipliers


def _solve_program(
    cost: Floats, rows: Floats, bounds: list[tuple[float, float | None]], time_limit: float
) -> tuple[Floats, Floats]:
    """Minimize cost'b within bounds, subject to rows b >= 0.

    Parameters
    ----------
    cost : (m,) float
        Coefficients of the objective.
    rows : (r, m) float
        Coefficients of the constraints.
    bounds : list of (float, float or None)
        Lower and upper bound of each variable.
    time_limit : float
        Time limit in seconds.

    Returns
    -------
    b : (m,) float
        Solution.
    multipliers : (r,) float
        Multipliers of the constraints, not negative.

    Raises
    ------
    _TimeLimitExceeded
        The program takes longer than `time_limit`.
    CoreNotSupportedError
        The solver returns no solution for another reason.
    """
    zeros = np.zeros(len(rows))
    options = {"time_limit": time_limit}

    # In this thread: the solver's scheduler is not safe after calls from several threads. An interrupt is
    # handled when the program ends.
    result = linprog(cost, A_ub=-rows, b_ub=zeros, bounds=bounds, method="highs", options=options)
    if result.status == 1:
        raise _TimeLimitExceeded
    if result.x is None:
        raise CoreNotSupportedError("no_solution", message_of_solver=result.message)
    return np.asarray(result.x), np.asarray(-result.ineqlin.marginals)


class ProgramRows(NamedTuple):
    """n rows of p columns in r coordinates that suit the linear program; r is the rank of the columns.

    Attributes
    ----------
    columns : (r + 1, n) float
        A constant row and orthonormal columns times sqrt(n).
    to_unit : (p, r) float
        Maps slopes of the coordinates to slopes of the p columns divided by their standard deviations.
    """

    columns: Floats
    to_unit: Floats

    def to_data(self, x: Floats) -> Floats:
        """Return the matrix (p + 1, r + 1) that maps coefficients of `columns` to coefficients of (1, x).

        Parameters
        ----------
        x : (n, p) float
            Rows that were converted.

        Returns
        -------
        (p + 1, r + 1) float
            Constants first.
        """
        # Scaling by powers of two is exact and prevents overflow of squares.
        unit = np.ldexp(1.0, np.frexp(np.abs(x).max(axis=0))[1] - 1)
        mean = unit * (x / unit).mean(axis=0)
        sd = unit * (x / unit).std(axis=0)
        slopes = self.to_unit / np.where(sd > 0, sd, 1.0)[:, None]
        matrix = np.zeros((len(slopes) + 1, slopes.shape[1] + 1))
        matrix[0, 0] = 1.0
        matrix[0, 1:] = -mean @ slopes
        matrix[1:, 1:] = slopes
        return matrix


def standardize_rows(x: Floats) -> ProgramRows:
    """Convert rows to a constant and orthonormal columns, without collinear and constant columns.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.

    Returns
    -------
    ProgramRows
    """
    n, p = x.shape
    centred = x - x.mean(axis=0)
    max_deviations = np.abs(centred).max(axis=0)
    # A centred constant column contains only the rounding error of its mean.
    used = np.flatnonzero(max_deviations > 1e-14 * np.abs(x).max(axis=0))
    # Divide by the largest absolute value to avoid underflow and overflow of squares.
    z = centred[:, used] / max_deviations[used]
    z /= np.sqrt((z**2).mean(axis=0))
    q, r, order = qr(z, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(r))
    rank = int((size > COLLINEAR_TOLERANCE * size[:1].sum()).sum())
    to_unit = np.zeros((p, rank))
    to_unit[used[order[:rank]]] = solve_triangular(r[:rank, :rank], np.eye(rank)) * np.sqrt(n)
    return ProgramRows(np.vstack([np.ones(n), np.sqrt(n) * q[:, :rank].T]), to_unit)
