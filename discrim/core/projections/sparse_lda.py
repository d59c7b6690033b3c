"""Sparse discriminant analysis: successive discriminant directions with few nonzero coefficients.

`fit_sparse` computes a `SparseFit` for one set of penalties, `along` a path of fits; the verb of the model
uses both. The rule is linear discriminant analysis of the scores on the directions, divisor N - K, following
Clemmensen, Hastie, Witten & Ersboll (2011, Technometrics 53, 406-413) and R's sparseLDA. It is therefore
linear in the selected columns.

*Sparse optimal scoring* finds the directions. With z the columns over their standard deviations of all rows
(divisor N), and theta scores of the classes with mean zero and mean square one over the rows, a direction is
the minimum over both of

    1/(2N) sum_i (theta_(class of i) - z_i'b)^2 + penalty |b|_1 + ridge/2 |b|^2,

with scores that are uncorrelated over the rows with the scores of earlier directions. With pi the class
proportions, u_k = sqrt(pi_k) theta_k has length one, and the objective depends on the rows only through the
correlations G of the columns over all rows and M (K, p), the class means of z times sqrt(pi_k):

    1/2 - u'M b + b'G b / 2 + penalty |b|_1 + ridge/2 |b|^2.

For fixed u, b is an elastic net; for fixed b, u is the normalized M b, orthogonalized against earlier u. The
two updates alternate, following the paper. Because this may take thousands of iterations, Newton's method for
the fixed point, with active columns and signs fixed, accelerates it. With more than two classes the problem
can have several minima; the search follows several paths down from the penalty at which the first column
enters and returns the smallest minimum. Two classes have one score, and the direction is the lasso of their
codes (Mai, Zou & Yuan, 2012, Biometrika 99, 29-42).

Without a penalty the directions are the discriminants of linear discriminant analysis.

*The elastic net*, b'Gb/2 - c'b + penalty |b|_1 + ridge |b|^2/2 with c = M'u, is minimized by active sets (the
feature-sign search of Lee, Battle, Raina & Ng, 2006, Advances in Neural Information Processing Systems 19):
for a fixed set of nonzero coefficients with fixed signs, the minimum solves a linear system. Unlike
coordinate descent, the result satisfies the Karush-Kuhn-Tucker conditions up to rounding. If active columns
are collinear, the coefficients move in the direction in which the fit does not change and the penalty
decreases, until the first coefficient is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from discrim.core.covariance.covariance import EPS, constant_columns
from discrim.core.covariance.principal import positive_signs
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats, Mask, are_whole
from discrim.core.rules.gaussian import Means, nearest_mean_rule
from discrim.core.rules.rules import LinearRule, NoLikelihood, refuse_method

ROUNDS = 10_000
"""Maximum number of changes of the active set."""

AT_ONCE = 16
"""Number of columns that may enter at once in addition to twice the number of active ones."""

TOLERANCE = 1e-10
"""Relative violation of its optimality condition up to which an inactive column stays inactive."""

DETERMINED = 1e-12
"""Squared residual of a unit-norm column on other columns below which it is collinear with them."""


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Correlations of the columns over all rows, as a matrix or as a root.

    If there are fewer rows than columns, the matrix is not formed and the root is required.

    Attributes
    ----------
    matrix : (p, p) float or None
    root : (m, p) float or None
        Rows R with correlations R'R.
    """

    matrix: Floats | None
    root: Floats | None

    def times(self, at: Codes, values: Floats) -> Floats:
        """Multiply the correlations by a sparse vector with `values` at positions `at`: (p,)."""
        if self.matrix is not None:
            return np.asarray(values @ self.matrix[at])
        return np.asarray((self._rows[:, at] @ values) @ self._rows)

    def among(self, at: Codes, ridge: float) -> Floats:
        """Correlations (q, q) among the columns `at`, with a ridge added to the diagonal."""
        if self.matrix is not None:
            matrix = self.matrix[np.ix_(at, at)]
        else:
            some = self._rows[:, at]
            matrix = np.asarray(some.T @ some)
        matrix.ravel()[:: len(at) + 1] += ridge
        return matrix

    def length(self, at: Codes, values: Floats) -> float:
        """Quadratic form of the correlations with `values` at the positions `at`."""
        if self.matrix is not None:
            return float(values @ self.matrix[np.ix_(at, at)] @ values)
        fitted = self._rows[:, at] @ values
        return float(fitted @ fitted)

    @property
    def _rows(self) -> Floats:
        """The root; raises ValueError if it is missing."""
        if self.root is None:
            raise ValueError("Correlations are products, rows or both.")
        return self.root


class Sparse(NamedTuple):
    """Nonzero coefficients (q,) and their positions in the order of entry."""

    at: Codes
    values: Floats

    def dense(self, p: int) -> Floats:
        """Return all p coefficients."""
        out = np.zeros(p)
        out[self.at] = self.values
        return out


def active_root(correlations: Correlations, at: Codes, ridge: float) -> Floats:
    """Upper triangular root of the correlations of some columns plus a ridge.

    If the root of the correlations is available, a QR decomposition of it is more accurate than products.

    Parameters
    ----------
    correlations : Correlations
    at : (q,) int
        Positions of the columns.
    ridge : float

    Returns
    -------
    (q, q) float
    """
    if correlations.root is None:
        return np.asarray(np.linalg.cholesky(correlations.among(at, ridge)).T)
    rows = correlations.root[:, at]
    if ridge:
        rows = np.concatenate([rows, np.sqrt(ridge) * np.eye(len(at))])
    return np.asarray(np.linalg.qr(rows, mode="r"))


def minimum(correlations: Correlations, c: Floats, penalty: float, ridge: float, start: Sparse) -> Sparse:
    """Minimize the elastic net objective b'Gb/2 - c'b + penalty |b|_1 + ridge |b|^2/2.

    Requires more rows than columns, or a positive penalty or ridge.

    Parameters
    ----------
    correlations : Correlations
        The matrix G.
    c : (p,) float
    penalty, ridge : float
    start : Sparse
        Starting coefficients.

    Returns
    -------
    Sparse
    """
    if not penalty:
        return _dense(correlations, c, ridge)
    at, values = start
    signs = np.sign(values)
    seen: set[frozenset[int]] = set()
    barred = np.zeros(len(c), dtype=bool)
    entered = at
    for _ in range(ROUNDS):
        at, values, signs = _settled(correlations, c, penalty, ridge, at, values, signs)
        columns = frozenset(at.tolist())
        # The objective decreases from set to set; a set that recurs is due to rounding.
        stuck = columns in seen
        seen.add(columns)
        if stuck and len(entered) == 1:
            barred[entered] = True
        slope = c - correlations.times(at, values)
        excess = np.abs(slope)
        excess[at] = 0.0
        excess[barred] = 0.0
        over = np.flatnonzero(excess > penalty * (1 + TOLERANCE))
        if not len(over):
            break
        most = 2 * len(at) + AT_ONCE
        if len(over) > most:
            over = over[np.argpartition(-excess[over], most)[:most]]
        # Columns that entered together may all have left although one of them belongs to the active set.
        if len(over) > 1 and (stuck or not _factor(correlations, np.append(at, over), ridge)[1]):
            over = np.array([np.argmax(excess)])
        entered = over
        at = np.append(at, over)
        values = np.append(values, np.zeros(len(over)))
        signs = np.append(signs, np.sign(slope[over]))
    return Sparse(at, values)


def _dense(correlations: Correlations, c: Floats, ridge: float) -> Sparse:
    """Minimize without a penalty.

    Parameters
    ----------
    correlations : Correlations
    c : (p,) float
    ridge : float

    Returns
    -------
    Sparse
    """
    every = np.arange(len(c))
    if correlations.matrix is None and correlations.root is not None and ridge:
        # A system of the size of the rows: (R'R + r)^-1 c = (c - R'(RR' + r)^-1 R c) / r.
        rows = correlations.root
        inner = rows @ rows.T
        inner.ravel()[:: len(inner) + 1] += ridge
        return Sparse(every, (c - rows.T @ np.linalg.solve(inner, rows @ c)) / ridge)
    root = active_root(correlations, every, ridge)
    return Sparse(every, solve_triangular(root, solve_triangular(root, c, trans=1), check_finite=False))


def _factor(correlations: Correlations, at: Codes, ridge: float) -> tuple[Floats, bool]:
    """Lower root of the correlations of some columns, and whether it is nonsingular."""
    root, failed = dpotrf(correlations.among(at, ridge), lower=1, clean=1)
    return root, not failed and bool((np.diagonal(root) ** 2 > DETERMINED).all())


def _settled(
    correlations: Correlations,
    c: Floats,
    penalty: float,
    ridge: float,
    at: Codes,
    values: Floats,
    signs: Floats,
) -> tuple[Codes, Floats, Floats]:
    """Minimize over the active coefficients; coefficients that would change sign become zero and leave.

    Parameters
    ----------
    correlations : Correlations
    c : (p,) float
    penalty, ridge : float
    at : (q,) int
        Positions of the active coefficients.
    values, signs : (q,) float
        Their values and signs.

    Returns
    -------
    at, values, signs : (r,) array
        The remaining active coefficients.
    """
    while len(at):
        root, regular = _factor(correlations, at, ridge)
        if regular:
            end = dpotrs(root, c[at] - penalty * signs, lower=1)[0]
            wrong = end * signs <= 0
            if not wrong.any():
                return at, end, signs
            step = end - values
        else:
            # Direction in which the fit of collinear columns does not change and the penalty decreases.
            step = np.linalg.eigh(correlations.among(at, ridge))[1][:, 0]
            step = -step if signs @ step > 0 else step
            wrong = step * signs < 0
        # Step to the first sign change; the objective decreases along the whole step.
        reach = np.full(len(at), np.inf)
        reach[wrong] = np.where(values[wrong] == 0, 0.0, np.abs(values[wrong]) / np.abs(step[wrong]))
        first = float(reach.min())
        values = values + first * step
        kept = reach > first * (1 + 1e-12)
        at = at[kept]
        values = values[kept]
        signs = signs[kept]
    return at, values, signs


TURNS = 500
"""Maximum number of alternating updates of coefficients and scores."""

NO_GAIN = 1e-16
IDLE = 10
"""NO_GAIN is the decrease of the objective that counts as zero; the search ends after IDLE such updates in a
row.
"""

NO_STEP = 1e-13
"""Change of the unit-norm scores that counts as zero."""

FARTHEST_TURN = 1e3
"""Maximum factor by which the change of the scores is extrapolated."""

UNCORRELATED = 64 * EPS
"""Correlation with the classes that counts as zero."""

MET = 1e-6
"""Difference of scores below which two paths have merged."""

WAYS = 4
"""Maximum number of paths."""

STEP = 0.8
STRIDE = 0.25
"""Ratios of successive penalties on a path to a number of columns (STEP) and to a penalty (STRIDE)."""

HALVINGS = 60
"""Maximum number of bisection steps between two penalties."""

FLOOR = 1e-6
"""Smallest penalty, relative to the largest one, in the search for a number of columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Statistics of the rows on which sparse optimal scoring depends.

    Attributes
    ----------
    correlations : Correlations
        Correlations of the columns over all rows.
    means : (K, p) float
        The matrix M: class means of the standardized columns times `roots`.
    roots : (K,) float
        Square roots of the class proportions.
    mean, sd : (p,) float
        Mean and standard deviation over all rows, in z about the origin of the moments; the standard
        deviation of a constant column is set to one.
    ridge : float
    """

    correlations: Correlations
    means: Floats
    roots: Floats
    mean: Floats
    sd: Floats
    ridge: float

    @classmethod
    def of(cls, moments: ClassMoments, ridge: float) -> Problem:
        """Build the problem from moments with a pooled scatter or with a root that has few rows."""
        whole = moments.as_one()
        constant = constant_columns(moments)
        sd = np.sqrt(whole.squares[0] / whole.total)
        sd[constant] = 1.0
        unit = np.where(np.isin(np.arange(len(sd)), constant), 0.0, 1 / sd)
        rows = None if whole.roots is None else whole.roots[0] * (unit / np.sqrt(whole.total))
        matrix = None
        if whole.scatters.ndim == 3:
            matrix = whole.scatters[0] * unit * (unit[:, None] / whole.total)
        mean = whole.means_from(moments.origin)[0]
        roots = np.sqrt(moments.counts / moments.total)
        means = roots[:, None] * (moments.means - mean) * unit
        return cls(Correlations(matrix, rows), means, roots, mean, sd, ridge)

    def top(self, before: Floats) -> float:
        """Smallest penalty at which all coefficients of the next direction are zero."""
        return float(np.sqrt((self.free(self.means, before) ** 2).sum(axis=0)).max())

    def free(self, scores: Floats, before: Floats) -> Floats:
        """Orthogonalize scores (K, m) or (K,) against a constant and the earlier scores `before` (K, h)."""
        taken = np.column_stack([self.roots, before])
        for _ in range(2):
            scores = scores - taken @ (taken.T @ scores)
        return scores


class Direction(NamedTuple):
    """One direction: unit-norm scores u (K,), coefficients b, the penalty and the objective."""

    scores: Floats
    coef: Sparse
    penalty: float
    value: float


def _value(problem: Problem, scores: Floats, coef: Sparse, penalty: float) -> float:
    """Objective at scores (K,) and coefficients."""
    at, b = coef
    c = scores @ problem.means[:, at]
    curvature = problem.correlations.length(at, b) + problem.ridge * float(b @ b)
    return float(0.5 - c @ b + 0.5 * curvature + penalty * np.abs(b).sum())


def _ended(problem: Problem, start: Direction, penalty: float, before: Floats) -> Direction:
    """Minimize by alternating updates of scores and coefficients, with extrapolation.

    Parameters
    ----------
    problem : Problem
    start : Direction
    penalty : float
    before : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction
    """
    best = _at(problem, start.scores, penalty, start.coef)
    beyond = 0.0
    tried = frozenset[int]()
    idle = 0
    for _ in range(TURNS):
        moved = problem.free(problem.means[:, best.coef.at] @ best.coef.values, before)
        length = float(np.sqrt(moved @ moved))
        if not length > 0:
            break
        moved /= length
        step = moved - best.scores
        if float(np.abs(step).max()) <= NO_STEP:
            break
        # Columns and their signs.
        pattern = frozenset(((best.coef.at + 1) * np.sign(best.coef.values).astype(np.intp)).tolist())
        if pattern != tried:
            # Newton's method shows whether this is the active set of the minimum.
            tried = pattern
            leapt = _leap(problem, moved, best.coef, penalty, before)
            if leapt is not None:
                best = _at(problem, leapt.scores, penalty, leapt.coef)
                beyond = 0.0
                continue
        farther = moved + beyond * step
        turned = _at(problem, farther / np.sqrt(farther @ farther), penalty, best.coef)
        if beyond and turned.value > best.value:
            beyond = 0.0
            turned = _at(problem, moved, penalty, best.coef)
        else:
            beyond = min(2 * beyond + 1, FARTHEST_TURN)
        idle = idle + 1 if best.value - turned.value <= NO_GAIN else 0
        best = turned
        if idle == IDLE:
            break
    return best


def _at(problem: Problem, scores: Floats, penalty: float, coef: Sparse) -> Direction:
    """Minimize over the coefficients for fixed scores (K,), starting from `coef`."""
    coef = minimum(problem.correlations, scores @ problem.means, penalty, problem.ridge, coef)
    return Direction(scores, coef, penalty, _value(problem, scores, coef, penalty))


def _leap(problem: Problem, scores: Floats, coef: Sparse, penalty: float, before: Floats) -> Direction | None:
    """Solve for the fixed point of the updates with given active columns and signs by Newton's method.

    With b = H (C'x - s penalty), H the inverse of the correlations plus the ridge and x the scores in a basis
    of the free scores, the equation is (C H C') x - penalty C H s = m x.

    Parameters
    ----------
    problem : Problem
    scores : (K,) float
        Starting scores.
    coef : Sparse
        Determines the active columns and signs.
    penalty : float
    before : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction or None
        None if the iterations fail, the fixed point is not a minimum, or a coefficient changes sign.
    """
    at = coef.at
    signs = np.sign(coef.values)
    basis = _basis(problem, before)
    root = active_root(problem.correlations, at, problem.ridge)
    whitened = solve_triangular(root, (basis.T @ problem.means[:, at]).T, trans=1, check_finite=False)
    bent = solve_triangular(root, signs, trans=1, check_finite=False)
    product = whitened.T @ whitened
    shift = penalty * (whitened.T @ bent)
    x = basis.T @ scores
    x /= np.sqrt(x @ x)
    m = float(x @ (product @ x - shift))
    for _ in range(30):
        residual = np.append(product @ x - shift - m * x, (1 - x @ x) / 2)
        slopes = np.zeros((len(x) + 1, len(x) + 1))
        slopes[:-1, :-1] = product - m * np.eye(len(x))
        slopes[:-1, -1] = slopes[-1, :-1] = -x
        try:
            step = np.linalg.solve(slopes, -residual)
        except np.linalg.LinAlgError:
            return None
        x = x + step[:-1]
        m = m + float(step[-1])
        if np.abs(step).max() <= 1e-15 * max(1.0, abs(m)):
            break
    if not np.isfinite(x).all() or abs(float(x @ x) - 1) > 1e-9 or not m > 0:
        return None
    x /= np.sqrt(x @ x)
    across = np.eye(len(x)) - np.outer(x, x)
    if np.linalg.eigvalsh(across @ (m * np.eye(len(x)) - product) @ across)[0] < -1e-12:
        # The fixed point is a saddle point or maximum.
        return None
    b = solve_triangular(root, whitened @ x - penalty * bent, check_finite=False)
    if penalty and (b * signs <= 0).any():
        return None
    u = basis @ x
    moved = Sparse(at, b)
    value = _value(problem, u, moved, penalty)
    if value > _value(problem, scores, coef, penalty) + 1e-14:
        return None
    return Direction(u, moved, penalty, value)


def _basis(problem: Problem, before: Floats) -> Floats:
    """Orthonormal basis (K, d) of the scores orthogonal to a constant and to earlier scores."""
    taken = np.column_stack([problem.roots, before])
    return np.asarray(np.linalg.qr(taken, mode="complete")[0][:, taken.shape[1] :])


def _starts(problem: Problem, before: Floats) -> list[Direction]:
    """Starting points of the paths: scores of the first column to enter, and principal axes of the means."""
    free = problem.free(problem.means, before)
    lengths = np.sqrt((free**2).sum(axis=0))
    first = int(np.argmax(lengths))
    scores = [free[:, first] / lengths[first]]
    dimensions = len(problem.roots) - 1 - before.shape[1]
    if dimensions > 1:
        scores += list(np.linalg.svd(free, full_matrices=False)[0].T[: min(dimensions, WAYS - 1)])
    none = Sparse(np.zeros(0, dtype=np.intp), np.zeros(0))
    return [Direction(each, none, np.inf, 0.5) for each in scores]


def _on(problem: Problem, ways: list[Direction], penalty: float, before: Floats) -> list[Direction]:
    """Continue paths to a smaller penalty.

    Parameters
    ----------
    problem : Problem
    ways : list of Direction
        Minima at a larger penalty.
    penalty : float
    before : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    list of Direction
        Minima in increasing order of the objective; paths that merged are kept once.
    """
    ends: list[Direction] = []
    for way in ways:
        scores = problem.free(way.scores, before)
        length = float(np.sqrt(scores @ scores))
        if not length > MET:
            continue
        end = _ended(problem, way._replace(scores=scores / length), penalty, before)
        # A path without active columns is kept.
        if not any(len(other.coef.at) and len(end.coef.at) and _met(other, end) for other in ends):
            ends.append(end)
    return sorted(ends, key=lambda end: end.value)


def _met(a: Direction, b: Direction) -> bool:
    """Return whether two directions have the same scores up to sign."""
    return bool(min(np.abs(a.scores - b.scores).max(), np.abs(a.scores + b.scores).max()) <= MET)


def _unpenalized(problem: Problem, ncomp: int) -> list[Direction]:
    """Directions without a penalty, from one eigenproblem."""
    directions = _least_squares(problem, np.zeros((len(problem.roots), 0)))[:ncomp]
    # Judged by the covariances with the columns. With a large ridge the objective is close to a half, and
    # with nearly collinear columns it is a difference of huge numbers.
    products = [np.abs(each.scores @ problem.means).max(initial=0.0) for each in directions]
    return [each for each, size in zip(directions, products, strict=True) if size > UNCORRELATED]


def _least_squares(problem: Problem, before: Floats) -> list[Direction]:
    """Directions without a penalty in the space of the free scores, in decreasing order of correlation."""
    every = np.arange(problem.means.shape[1])
    basis = _basis(problem, before)
    none = Sparse(every, np.zeros(len(every)))

    def fitted(u: Floats) -> Sparse:
        return minimum(problem.correlations, u @ problem.means, 0.0, problem.ridge, none)

    if problem.correlations.matrix is None:
        fits = np.stack([problem.means @ fitted(u).values for u in basis.T], axis=1)
        turn = np.linalg.eigh(basis.T @ fits)[1][:, ::-1]
    else:
        # A product would square the condition number.
        root = active_root(problem.correlations, every, problem.ridge)
        whitened = solve_triangular(root, problem.means.T @ basis, trans=1, check_finite=False)
        turn = np.linalg.svd(whitened, full_matrices=True)[2].T
    out = []
    for x in turn.T:
        u = basis @ x
        coef = fitted(u)
        out.append(Direction(u, coef, 0.0, _value(problem, u, coef, 0.0)))
    return out


def sparse_path(problem: Problem, penalties: Floats, ncomp: int) -> list[list[Direction]]:
    """Compute the directions along a path of decreasing penalties.

    Parameters
    ----------
    problem : Problem
    penalties : (T,) float
        Decreasing penalties, the same for all directions.
    ncomp : int
        Maximum number of directions.

    Returns
    -------
    list of list of Direction
        The directions at each penalty; an empty list if all coefficients are zero.
    """
    ways: list[list[Direction]] = []
    out = []
    for penalty in penalties.tolist():
        if not penalty:
            out.append(_unpenalized(problem, ncomp))
            continue

        def next_one(level: int, before: Floats, penalty: float = penalty) -> Direction | None:
            if penalty >= problem.top(before):
                return None
            if level == len(ways):
                ways.append(_starts(problem, before))
            ways[level] = _on(problem, ways[level], penalty, before)
            return ways[level][0]

        out.append(_after_another(problem, ncomp, next_one))
    return out


def _after_another(
    problem: Problem, ncomp: int, next_one: Callable[[int, Floats], Direction | None]
) -> list[Direction]:
    """Compute successive directions until one is missing or has no nonzero coefficients.

    Parameters
    ----------
    problem : Problem
    ncomp : int
        Maximum number of directions.
    next_one : callable
        Returns the next direction, or None, for its index and the scores (K, h) of the earlier ones.

    Returns
    -------
    list of Direction
    """
    directions: list[Direction] = []
    before = np.zeros((len(problem.roots), 0))
    for level in range(ncomp):
        end = next_one(level, before)
        if end is None or not len(end.coef.at):
            break
        directions.append(end)
        before = np.column_stack([before, end.scores])
    return directions


def _direction_at(problem: Problem, penalty: float, before: Floats) -> Direction | None:
    """Compute the next direction at a penalty.

    Parameters
    ----------
    problem : Problem
    penalty : float
    before : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction or None
        None if all coefficients are zero.
    """
    top = problem.top(before)
    if penalty >= top or not top > UNCORRELATED:
        return None
    ways = _starts(problem, before)
    if not penalty:
        # No column is left out: start from the least-squares scores.
        ways = _least_squares(problem, before)
    at = STRIDE * top
    # With a single score the minimum is unique and no path is needed.
    while len(ways) > 1 and at > penalty > 0:
        ways = _on(problem, ways, at, before)
        at *= STRIDE
    return _on(problem, ways, penalty, before)[0]


def direction_with(problem: Problem, nonzero: int, before: Floats) -> Direction | None:
    """Compute the next direction with at most `nonzero` columns, at the smallest such penalty.

    The penalty decreases until more columns enter for the first time. The result is the direction just before
    the next column enters, which is the stopping point of R's sparseLDA.

    Parameters
    ----------
    problem : Problem
    nonzero : int
        Maximum number of columns.
    before : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction or None
        None if no column is correlated with the classes.
    """
    top = problem.top(before)
    if not top > UNCORRELATED:
        return None
    if nonzero >= problem.means.shape[1]:
        return _direction_at(problem, 0.0, before)
    high = top
    ways = _starts(problem, before)
    while True:
        low = STEP * high
        ends = _on(problem, ways, low, before)
        if len(ends[0].coef.at) > nonzero:
            break
        high = low
        ways = ends
        if high < FLOOR * top:
            return ends[0]
    for _ in range(HALVINGS):
        middle = (high + low) / 2
        if not low < middle < high:
            break
        ends = _on(problem, ways, middle, before)
        if len(ends[0].coef.at) > nonzero:
            low = middle
        else:
            high = middle
            ways = ends
    return ways[0]


By = Literal["penalty", "nonzero"]

NO_SPREAD = 64 * EPS
"""Relative within-class standard deviation of a direction, also given the other directions, that counts as
zero.
"""


@dataclass(frozen=True, slots=True, eq=False)
class SparseFit(NoLikelihood):
    """Estimates of a sparse discriminant analysis.

    Attributes
    ----------
    by, tuning : {"penalty", "nonzero"}, tuple of float
        Kind and values of the tuning parameters, one for each possible direction: penalties, or numbers of
        columns.
    sd : (p,) float
        Standard deviations over all rows, divisor N, in z; one for a constant column.
    class_scores : (K, r) float
        Optimal scores of the classes: mean zero and mean square one over the rows, uncorrelated.
    coef : (p, r) float
        Coefficients of the columns divided by `sd`. In each direction the largest coefficient, standardized
        within classes, is positive.
    penalties : (r,) float
        Penalty of each direction.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    by: By
    tuning: tuple[float, ...]
    ridge: float
    ncomp: int | None
    sd: Floats
    class_scores: Floats
    coef: Floats
    penalties: Floats

    has_distances = False
    no_likelihood = "no_likelihood_of_sparse_lda"
    no_parameters = "no_parameters_of_sparse_lda"

    @property
    def divisor(self) -> float:
        """Divisor of the within-class covariance, N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def penalty(self) -> float | None:
        """Common penalty of all directions; None if they differ or numbers of columns were specified."""
        return self.tuning[0] if self.by == "penalty" and len(set(self.tuning)) == 1 else None

    @property
    def most(self) -> int:
        """Maximum number of directions."""
        return _most(self.moments, self.ncomp)

    def selected(self) -> Mask:
        """Mask (p, r) of the nonzero coefficients."""
        return np.asarray(self.coef != 0)

    def directions(self) -> Floats:
        """Directions (p, r) as coefficients of z."""
        return np.asarray(self.coef / self.sd[:, None])

    def root(self) -> Floats:
        """Upper triangular root (r, r) of the within-class covariance of the scores."""
        used = np.flatnonzero(self.coef.any(axis=1))
        some = self.directions()[used]
        if self.moments.roots is not None:
            rows = self.moments.roots[0][:, used] @ some
            return np.asarray(np.linalg.qr(rows / np.sqrt(self.divisor), mode="r"))
        spread = some.T @ self.moments.scatters[0][np.ix_(used, used)] @ some / self.divisor
        sd = np.sqrt(np.diagonal(spread))
        return np.asarray(np.linalg.cholesky(spread / sd / sd[:, None]).T * sd)

    def is_singular(self) -> bool:
        """Return whether the within-class covariance of the scores is singular."""
        if not self.coef.shape[1]:
            return False
        try:
            root = self.root()
        except np.linalg.LinAlgError:
            return True
        if len(root) < self.coef.shape[1] or not np.isfinite(root).all():
            return True
        shares = self.moments.counts / self.moments.total
        between = np.abs(self.class_scores.T @ (shares[:, None] * (self.moments.means @ self.directions())))
        sizes = np.maximum(np.sqrt((root**2).sum(axis=0)), np.diagonal(between))
        return bool((np.abs(np.diagonal(root)) <= NO_SPREAD * sizes).any())

    def scaling(self) -> Floats:
        """Directions (p, r) scaled to unit variance within classes, as coefficients of z."""
        if not self.coef.shape[1]:
            return self.directions()
        return np.asarray(self.directions() / np.sqrt((self.root() ** 2).sum(axis=0)))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule.

        Parameters
        ----------
        log_prior : (K,) float
        method : str
            Has to be "plugin".
        convention : str or None
            Not used.

        Returns
        -------
        LinearRule
        """
        refuse_method(method, "is not defined for sparse directions")
        axes = self.directions()
        moments = self.moments
        root = self.root() if axes.shape[1] else np.zeros((0, 0))

        def whiten(z: Floats) -> Floats:
            return np.asarray(solve_triangular(root, axes.T @ z, trans=1)) if len(root) else axes.T @ z

        def unwhiten(y: Floats) -> Floats:
            return np.asarray(axes @ solve_triangular(root, y)) if len(root) else axes @ y

        means = Means(moments.centres, moments.rests, moments.scale, whiten, unwhiten)
        return nearest_mean_rule(means, moments.origin, log_prior)

    def refit(self, moments: ClassMoments) -> SparseFit | None:
        """Refit to other moments with the same prior and tuning; None if the fit is not possible."""
        if (moments.rows < 1).any() or moments.total <= moments.n_classes:
            return None
        try:
            fit = fit_sparse(
                moments, self.prior, by=self.by, tuning=self.tuning, ridge=self.ridge, ncomp=self.ncomp,
                estimated_prior=self.estimated_prior,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            return None
        return None if fit.is_singular() else fit

    def validate(self) -> None:
        """Raise InvalidStateError if parts of a file contradict each other."""
        tuning = np.array(self.tuning)
        most = _most(self.moments, self.ncomp)
        if not 0 <= self.ridge < np.inf:
            raise InvalidStateError("its ridge is negative")
        valid = are_whole(tuning, 1.0) if self.by == "nonzero" else bool((tuning >= 0).all())
        if not valid or len(tuning) != most:
            raise InvalidStateError("its penalties, or numbers of columns, are none")
        counts = {len(self.penalties), self.class_scores.shape[1], self.coef.shape[1]}
        if len(counts) != 1 or len(self.penalties) > most or not (self.penalties >= 0).all():
            raise InvalidStateError("its directions are not as many as their penalties and scores")
        if not self.coef.any(axis=0).all():
            raise InvalidStateError("its directions are not all of some column")
        if not (self.sd > 0).all():
            raise InvalidStateError("its standard deviations are not above zero")
        if self.is_singular():
            raise InvalidStateError("its directions do not all vary within classes")


def _most(moments: ClassMoments, ncomp: int | None) -> int:
    """Maximum number of directions, min(K - 1, p, ncomp)."""
    most = min(moments.n_classes - 1, moments.n_columns)
    return most if ncomp is None else min(most, ncomp)


def fit_sparse(
    moments: ClassMoments,
    prior: Floats,
    *,
    by: By,
    tuning: Sequence[float],
    ridge: float = 0.0,
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> SparseFit:
    """Fit a sparse discriminant analysis to moments.

    Parameters
    ----------
    moments : ClassMoments
        Pooled, or with a root that has few rows; more rows than classes.
    prior : (K,) float
    by : {"penalty", "nonzero"}
        Meaning of `tuning`.
    tuning : sequence of float
        Penalty or number of columns of each direction.
    ridge : float
    ncomp : int or None
        Maximum number of directions; None for min(K - 1, p).
    estimated_prior : bool
        Whether the prior was estimated from the rows.

    Returns
    -------
    SparseFit

    Raises
    ------
    numpy.linalg.LinAlgError
        If a direction has neither penalty nor ridge and the columns are not linearly independent.
    """
    problem = Problem.of(moments, ridge)
    most = _most(moments, ncomp)
    penalized = by == "penalty"

    def next_one(k: int, before: Floats) -> Direction | None:
        if penalized:
            return _direction_at(problem, float(tuning[k]), before)
        return direction_with(problem, int(tuning[k]), before)

    if not any(tuning) if penalized else all(each >= moments.n_columns for each in tuning):
        directions = _unpenalized(problem, most)
    else:
        directions = _after_another(problem, most, next_one)
    options = by, tuple(float(each) for each in tuning), ridge, ncomp
    return SparseFit(moments, prior, estimated_prior, *options, *_standardized(moments, problem, directions))


def _standardized(
    moments: ClassMoments, problem: Problem, directions: list[Direction]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Arrays of a fit for its directions.

    Parameters
    ----------
    moments : ClassMoments
    problem : Problem
    directions : list of Direction

    Returns
    -------
    sd : (p,) float
    class_scores : (K, r) float
    coef : (p, r) float
    penalties : (r,) float
    """
    p = moments.n_columns
    k = moments.n_classes
    coef = np.zeros((p, len(directions)))
    scores = np.zeros((k, len(directions)))
    # The memory layout is the layout of a loaded fit, for identical rounding of products.
    for j, each in enumerate(directions):
        coef[:, j] = each.coef.dense(p)
        scores[:, j] = each.scores
    within = np.sqrt(moments.squares.sum(axis=0) / moments.total) / problem.sd
    signs = positive_signs(coef * within[:, None])
    scores = scores * signs / problem.roots[:, None]
    # Avoid negative zeros.
    coef = np.where(coef == 0, 0.0, coef * signs)
    return problem.sd, scores, coef, np.array([each.penalty for each in directions])


def along(
    moments: ClassMoments,
    prior: Floats,
    penalties: Floats,
    *,
    ridge: float,
    ncomp: int | None,
    estimated_prior: bool = True,
) -> list[SparseFit]:
    """Compute fits along a path of decreasing penalties, each started from the previous one.

    Parameters
    ----------
    moments : ClassMoments
        See `fit_sparse`.
    prior : (K,) float
    penalties : (T,) float
        Decreasing penalties, the same for all directions.
    ridge : float
    ncomp : int or None
        Maximum number of directions.
    estimated_prior : bool

    Returns
    -------
    list of SparseFit
    """
    problem = Problem.of(moments, ridge)
    most = _most(moments, ncomp)
    path = zip(penalties.tolist(), sparse_path(problem, penalties, most), strict=True)
    return [
        SparseFit(
            moments, prior, estimated_prior, "penalty", (penalty,) * most, ridge, ncomp,
            *_standardized(moments, problem, directions),
        )
        for penalty, directions in path
    ]  # fmt: skip


def top_penalty(moments: ClassMoments) -> float:
    """Smallest penalty at which no column is selected: the largest correlation ratio of a column."""
    means = moments.means
    shares = moments.counts / moments.total
    anchor = means[int(np.argmax(moments.counts))]
    mean = anchor + shares @ (means - anchor)
    sd = np.sqrt(moments.squares.sum(axis=0) / moments.total + shares @ (means - mean) ** 2)
    sd[constant_columns(moments)] = 1.0
    gaps = np.sqrt(shares)[:, None] * (means - mean) / sd
    return float(np.sqrt((gaps**2).sum(axis=0)).max())
