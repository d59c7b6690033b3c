"""Sparse discriminant analysis: successive discriminant directions with few nonzero coefficients.

`fit_sparse` computes a `SparseFit` for one set of penalties, `fit_sparse_path` the fits along a path of
penalties. The rule is linear discriminant analysis of the scores on the directions, divisor N - K, following
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
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from discrim.core.covariance.covariance import constant_columns
from discrim.core.covariance.principal import positive_signs
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, are_integers
from discrim.core.rules.gaussian import Means, nearest_mean_rule
from discrim.core.rules.rules import LinearRule, NoLikelihood, require_plugin_method

MAX_ACTIVE_SET_CHANGES = 10_000
"""Maximum number of changes of the active set; reaching it is not an error."""

N_EXTRA_ENTERING = 16
"""Number of columns that may enter at once in addition to twice the number of active ones."""

TOLERANCE = 1e-10
"""Relative violation of its optimality condition up to which an inactive column stays inactive."""

COLLINEAR_TOLERANCE = 1e-12
"""Squared residual of a unit-norm column on other columns below which it is collinear with them."""


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Correlations of p columns over all rows, as a matrix, as a root or as both.

    If there are fewer rows than columns, the matrix is not formed and the root is required. A constant column
    has only zeros, also on the diagonal.

    Attributes
    ----------
    matrix : (p, p) float or None
        The correlation matrix G.
    root : (m, p) float or None
        A root R with R'R = G; columns of unit norm. Its columns are selected fast in Fortran order.
    """

    matrix: Floats | None
    root: Floats | None

    def multiply(self, positions: Codes, values: Floats) -> Floats:
        """Return the product (p,) of G with a sparse vector that has `values` (q,) at `positions` (q,)."""
        if self.matrix is not None:
            return np.asarray(values @ self.matrix[positions])
        return np.asarray((self._root_of_columns(positions) @ values) @ self._required_root)

    def submatrix(self, positions: Codes, ridge: float) -> Floats:
        """Return the correlations (q, q) of the columns at `positions`, plus a ridge on the diagonal."""
        if self.matrix is not None:
            matrix = self.matrix[np.ix_(positions, positions)]
        else:
            selected = self._root_of_columns(positions)
            matrix = np.asarray(selected.T @ selected)
        matrix.ravel()[:: len(positions) + 1] += ridge
        return matrix

    def quadratic_form(self, positions: Codes, values: Floats) -> float:
        """Return b'Gb for a sparse vector b that has `values` (q,) at `positions` (q,)."""
        if self.matrix is not None:
            return float(values @ self.matrix[np.ix_(positions, positions)] @ values)
        fitted = self._root_of_columns(positions) @ values
        return float(fitted @ fitted)

    def select_columns(self, positions: Codes) -> Correlations:
        """Return the correlations of the columns at `positions` (q,), as a root only."""
        return Correlations(None, self._root_of_columns(positions))

    def _root_of_columns(self, positions: Codes) -> Floats:
        """Return the columns (m, q) of the root at `positions` (q,)."""
        return np.take(self._required_root.T, positions, axis=0).T

    @property
    def _required_root(self) -> Floats:
        """The root; raises ValueError if it is missing."""
        if self.root is None:
            raise ValueError("Correlations require a matrix, a root or both.")
        return self.root


class SparseVector(NamedTuple):
    """Sparse vector of coefficients.

    Attributes
    ----------
    positions : (q,) int
        Positions of the coefficients that can be nonzero, not sorted; all columns without an L1 penalty.
    values : (q,) float
        Their values.
    """

    positions: Codes
    values: Floats

    def dense(self, p: int) -> Floats:
        """Return all coefficients (p,), with zeros."""
        dense_values = np.zeros(p)
        dense_values[self.positions] = self.values
        return dense_values


def active_root(correlations: Correlations, columns: Codes, ridge: float) -> Floats:
    """Compute an upper triangular root of the correlations of some columns plus a ridge.

    If the root of the correlations is available, a QR decomposition of it is more accurate than products.

    Parameters
    ----------
    correlations : Correlations
        Correlations of all columns.
    columns : (q,) int
        Positions of the columns.
    ridge : float
        Number that is added to the diagonal.

    Returns
    -------
    (q, q) float
        Its diagonal can be negative. It has fewer than q rows if neither the rows nor a ridge suffice.

    Raises
    ------
    numpy.linalg.LinAlgError
        There is only a matrix, and it is not positive definite.
    """
    if correlations.root is None:
        return np.asarray(np.linalg.cholesky(correlations.submatrix(columns, ridge)).T)
    rows = correlations.root[:, columns]
    if ridge:
        rows = np.concatenate([rows, np.sqrt(ridge) * np.eye(len(columns))])
    return np.asarray(np.linalg.qr(rows, mode="r"))


def minimize_elastic_net(
    correlations: Correlations, c: Floats, penalty: float, ridge: float, start: SparseVector
) -> SparseVector:
    """Minimize the elastic net objective b'Gb/2 - c'b + penalty |b|_1 + ridge |b|^2/2.

    Requires linearly independent columns, or a positive penalty or ridge. Otherwise numpy.linalg.LinAlgError
    is raised, or the result is meaningless.

    Parameters
    ----------
    correlations : Correlations
        The matrix G.
    c : (p,) float
        Linear term of the objective.
    penalty, ridge : float
        L1 penalty and ridge of the objective.
    start : SparseVector
        Starting coefficients, none of them zero; not used without a penalty.

    Returns
    -------
    SparseVector
        With a penalty only the nonzero coefficients, possibly none, in no order; otherwise the coefficients
        of all columns.
    """
    if not penalty:
        return _minimize_unpenalized(correlations, c, ridge)
    active, values = start
    signs = np.sign(values)
    visited_sets: set[frozenset[int]] = set()
    is_barred = np.zeros(len(c), dtype=bool)
    entered = active
    for _ in range(MAX_ACTIVE_SET_CHANGES):
        active, values, signs = _minimize_active(correlations, c, penalty, ridge, active, values, signs)
        columns = frozenset(active.tolist())
        # The objective decreases from set to set; a set that recurs is due to rounding.
        is_repeated = columns in visited_sets
        visited_sets.add(columns)
        if is_repeated and len(entered) == 1:
            is_barred[entered] = True
        slope = c - correlations.multiply(active, values)
        excess = np.abs(slope)
        excess[active] = 0.0
        excess[is_barred] = 0.0
        candidates = np.flatnonzero(excess > penalty * (1 + TOLERANCE))
        if not len(candidates):
            break
        max_entering = 2 * len(active) + N_EXTRA_ENTERING
        if len(candidates) > max_entering:
            candidates = candidates[np.argpartition(-excess[candidates], max_entering)[:max_entering]]
        # Columns that entered together may all have left although one of them belongs to the active set.
        if len(candidates) > 1 and (
            is_repeated or not _active_cholesky(correlations, np.append(active, candidates), ridge)[1]
        ):
            candidates = np.array([np.argmax(excess)])
        entered = candidates
        active = np.append(active, candidates)
        values = np.append(values, np.zeros(len(candidates)))
        signs = np.append(signs, np.sign(slope[candidates]))
    return SparseVector(active, values)


def _minimize_unpenalized(correlations: Correlations, c: Floats, ridge: float) -> SparseVector:
    """Minimize the objective without an L1 penalty, b'Gb/2 - c'b + ridge |b|^2/2.

    Parameters
    ----------
    correlations : Correlations
        The matrix G of the objective.
    c : (p,) float
        Linear term of the objective.
    ridge : float
        Ridge of the objective.

    Returns
    -------
    SparseVector
        The coefficients of all columns.
    """
    all_columns = np.arange(len(c))
    if correlations.matrix is None and correlations.root is not None and ridge:
        # A system of the size of the rows: (R'R + r)^-1 c = (c - R'(RR' + r)^-1 R c) / r.
        rows = correlations.root
        inner = rows @ rows.T
        inner.ravel()[:: len(inner) + 1] += ridge
        return SparseVector(all_columns, (c - rows.T @ np.linalg.solve(inner, rows @ c)) / ridge)
    root = active_root(correlations, all_columns, ridge)
    return SparseVector(
        all_columns, solve_triangular(root, solve_triangular(root, c, trans=1), check_finite=False)
    )


def _active_cholesky(correlations: Correlations, columns: Codes, ridge: float) -> tuple[Floats, bool]:
    """Compute a root of the correlations of some columns plus a ridge.

    Parameters
    ----------
    correlations : Correlations
        Correlations of all columns.
    columns : (q,) int
        Positions of the columns.
    ridge : float
        Number that is added to the diagonal.

    Returns
    -------
    root : (q, q) float
        Lower triangular L with LL' the matrix; valid only if it is regular.
    is_regular : bool
        Whether every column is linearly independent of earlier ones, up to `COLLINEAR_TOLERANCE`.
    """
    root, failed = dpotrf(correlations.submatrix(columns, ridge), lower=1, clean=1)
    return root, not failed and bool((np.diagonal(root) ** 2 > COLLINEAR_TOLERANCE).all())


def _minimize_active(
    correlations: Correlations,
    c: Floats,
    penalty: float,
    ridge: float,
    active: Codes,
    values: Floats,
    signs: Floats,
) -> tuple[Codes, Floats, Floats]:
    """Minimize the elastic net objective over the active coefficients with fixed signs.

    Coefficients that would change sign become zero and leave the active set.

    Parameters
    ----------
    correlations : Correlations
        The matrix G of the objective.
    c : (p,) float
        Linear term of the objective.
    penalty, ridge : float
        L1 penalty and ridge of the objective.
    active : (q,) int
        Positions of the active coefficients.
    values, signs : (q,) float
        Their values, zero for columns that enter, and their signs, 1 or -1.

    Returns
    -------
    active, values, signs : (r,) array
        The remaining active coefficients, possibly none.
    """
    while len(active):
        root, is_regular = _active_cholesky(correlations, active, ridge)
        if is_regular:
            end_values = dpotrs(root, c[active] - penalty * signs, lower=1)[0]
            changes_sign = end_values * signs <= 0
            if not changes_sign.any():
                return active, end_values, signs
            step = end_values - values
        else:
            # Direction in which the fit of collinear columns does not change and the penalty decreases.
            step = np.linalg.eigh(correlations.submatrix(active, ridge))[1][:, 0]
            step = -step if signs @ step > 0 else step
            changes_sign = step * signs < 0
        # Step to the first sign change; the objective decreases along the whole step.
        sign_change_steps = np.full(len(active), np.inf)
        sign_change_steps[changes_sign] = np.where(
            values[changes_sign] == 0, 0.0, np.abs(values[changes_sign]) / np.abs(step[changes_sign])
        )
        first_step = float(sign_change_steps.min())
        values = values + first_step * step
        is_remaining = sign_change_steps > first_step * (1 + 1e-12)
        active = active[is_remaining]
        values = values[is_remaining]
        signs = signs[is_remaining]
    return active, values, signs


MAX_UPDATES = 500
"""Maximum number of alternating updates of coefficients and scores; reaching it is not an error."""

MIN_DECREASE = 1e-16
"""Decrease of the objective that counts as zero."""

MAX_IDLE_UPDATES = 10
"""Number of successive updates without a decrease after which the search ends."""

MIN_SCORE_CHANGE = 1e-13
"""Change of the unit-norm scores that counts as zero."""

MAX_EXTRAPOLATION = 1e3
"""Maximum multiple of the change of the scores that is added to the new scores."""

MIN_CORRELATION = 64 * EPS
"""Correlation of a column or direction with the class scores up to which it counts as zero."""

MERGED_TOLERANCE = 1e-6
"""Largest difference of unit-norm scores, up to sign, at which two paths have merged."""

MAX_PATHS = 4
"""Maximum number of paths that are followed in the search for one direction."""

COLUMN_SEARCH_RATIO = 0.8
"""Ratio of successive penalties on a path to a given number of columns."""

PENALTY_RATIO = 0.25
"""Ratio of successive penalties on a path to a given penalty."""

WORKING_SET_RATIO = 4
"""Number of columns that are added to a working set at once, relative to the rows of the root."""

MAX_BISECTIONS = 60
"""Maximum number of bisection steps between two penalties."""

MIN_RELATIVE_PENALTY = 1e-6
"""Smallest penalty, relative to the largest one, in the search for a number of columns."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoringProblem:
    """Statistics of the rows on which sparse optimal scoring depends.

    Attributes
    ----------
    correlations : Correlations
        Correlations G of the columns over all rows.
    means : (K, p) float
        The matrix M: class means of the columns, centred and divided by `sd`, times `roots`.
    roots : (K,) float
        Square roots of the class proportions of the rows.
    mean, sd : (p,) float
        Mean and standard deviation (divisor N) over all rows, in z about the origin of the moments; the
        standard deviation of a constant column is set to one.
    ridge : float
        Ridge of the objective.
    """

    correlations: Correlations
    means: Floats
    roots: Floats
    mean: Floats
    sd: Floats
    ridge: float

    @classmethod
    def from_moments(cls, moments: ClassMoments, ridge: float) -> ScoringProblem:
        """Build the problem from moments with a pooled scatter (p, p) or a pooled thin root (m, p), m <= p.

        The correlations have a matrix if the moments have scatter matrices, and a root if they have roots.
        The ridge is only stored.
        """
        total_moments = moments.as_one_class()
        constant_positions = constant_columns(moments)
        sd = np.sqrt(total_moments.squares[0] / total_moments.total)
        sd[constant_positions] = 1.0
        unit = np.where(np.isin(np.arange(len(sd)), constant_positions), 0.0, 1 / sd)
        rows = (
            None
            if total_moments.roots is None
            else np.multiply(total_moments.roots[0], unit / np.sqrt(total_moments.total), order="F")
        )
        matrix = None
        if total_moments.scatters.ndim == 3:
            matrix = total_moments.scatters[0] * unit * (unit[:, None] / total_moments.total)
        mean = total_moments.means_from(moments.origin)[0]
        roots = np.sqrt(moments.counts / moments.total)
        means = roots[:, None] * (moments.means - mean) * unit
        return cls(Correlations(matrix, rows), means, roots, mean, sd, ridge)

    def select_columns(self, positions: Codes) -> ScoringProblem:
        """Return the problem of the columns at `positions` (q,). The correlations require a root."""
        return replace(
            self,
            correlations=self.correlations.select_columns(positions),
            means=self.means[:, positions],
            mean=self.mean[positions],
            sd=self.sd[positions],
        )

    def slopes(self, scores: Floats, coef: SparseVector) -> Floats:
        """Return the slopes (p,) of the objective without its penalty, M'u - Gb, for scores u (K,).

        At a minimum without ridge they are at most the penalty in absolute value.
        """
        return scores @ self.means - self.correlations.multiply(*coef)

    def max_penalty(self, earlier_scores: Floats) -> float:
        """Return the smallest penalty at which all coefficients of the next direction are zero.

        The scores of the next direction are orthogonal to `earlier_scores` (K, h), the unit-norm scores of
        the directions that were computed before.
        """
        free_means = _free_score_basis(self, earlier_scores).T @ self.means
        return float(np.sqrt((free_means**2).sum(axis=0).max()))

    def orthogonalize(self, scores: Floats, earlier_scores: Floats) -> Floats:
        """Orthogonalize scores (K, m) or (K,) against the constant and earlier orthonormal scores (K, h).

        Scores are multiplied by the square roots of the class proportions, so that the constant is `roots`.
        """
        fixed_scores = np.column_stack([self.roots, earlier_scores])
        for _ in range(2):
            scores = scores - fixed_scores @ (fixed_scores.T @ scores)
        return scores


class Direction(NamedTuple):
    """One discriminant direction.

    Attributes
    ----------
    scores : (K,) float
        Scores of the classes times the square roots of the class proportions: u of length one.
    coef : SparseVector
        Coefficients b of the columns divided by their standard deviations.
    penalty : float
        L1 penalty; infinite in a starting direction.
    value : float
        Objective at the scores and coefficients.
    slopes : (p,) float or None
        Slopes of the columns at the direction, if they have been computed; see `ScoringProblem.slopes`.
    """

    scores: Floats
    coef: SparseVector
    penalty: float
    value: float
    slopes: Floats | None = None


def _objective(problem: ScoringProblem, scores: Floats, coef: SparseVector, penalty: float) -> float:
    """Return 1/2 - c'b + b'Gb/2 + ridge |b|^2/2 + penalty |b|_1 for scores u (K,), with c = M'u.

    u has unit norm; M (K, p) is `problem.means`, G the correlations and b the coefficients `coef`.
    """
    positions, b = coef
    c = scores @ problem.means[:, positions]
    curvature = problem.correlations.quadratic_form(positions, b) + problem.ridge * float(b @ b)
    return float(0.5 - c @ b + 0.5 * curvature + penalty * np.abs(b).sum())


def _minimize_in_working_sets(
    problem: ScoringProblem, start: Direction, penalty: float, earlier_scores: Floats
) -> Direction:
    """Find a direction like `_minimize_direction`, with most of many columns left out.

    A working set has the columns of nonzero coefficients and those of the largest slopes at the start. If the
    optimality conditions of the minimum over the working set fail for other columns, the columns of the
    largest slopes are added. Parameters and result are those of `_minimize_direction`.
    """
    root = problem.correlations.root
    n_columns = len(problem.sd)
    n_added = 0 if root is None else WORKING_SET_RATIO * len(root)
    if not penalty or root is None or n_columns <= 2 * n_added:
        return _minimize_direction(problem, start, penalty, earlier_scores)
    direction = start
    columns = np.sort(start.coef.positions)
    slopes = problem.slopes(start.scores, start.coef) if start.slopes is None else start.slopes
    while True:
        sizes = np.abs(slopes)
        sizes[columns] = 0.0
        added = (
            np.argpartition(-sizes, n_added)[:n_added] if len(columns) + n_added < n_columns else slice(None)
        )
        columns = np.union1d(columns, np.arange(n_columns)[added])
        coef = direction.coef._replace(positions=np.searchsorted(columns, direction.coef.positions))
        direction = _minimize_direction(
            problem.select_columns(columns), direction._replace(coef=coef), penalty, earlier_scores
        )
        coef = direction.coef._replace(positions=columns[direction.coef.positions])
        slopes = problem.slopes(direction.scores, coef)
        direction = direction._replace(coef=coef, slopes=slopes)
        violates = np.abs(slopes) > penalty * (1 + TOLERANCE)
        violates[columns] = False
        if not violates.any():
            return direction


def _minimize_direction(
    problem: ScoringProblem, start: Direction, penalty: float, earlier_scores: Floats
) -> Direction:
    """Find a direction, a local minimum, by alternating updates of scores and coefficients.

    Extrapolation and Newton's method accelerate the updates.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    start : Direction
        Starting scores, orthogonal to earlier ones, and coefficients.
    penalty : float
        L1 penalty.
    earlier_scores : (K, h) float
        Unit-norm scores of earlier directions.

    Returns
    -------
    Direction
        Its `coef` is empty if all coefficients are zero for its scores. After `MAX_UPDATES` updates, the last
        direction even if it has not converged.
    """
    best = _minimize_coef(problem, start.scores, penalty, start.coef)
    extrapolation = 0.0
    last_pattern = frozenset[int]()
    n_idle = 0
    for _ in range(MAX_UPDATES):
        new_scores = problem.orthogonalize(
            problem.means[:, best.coef.positions] @ best.coef.values, earlier_scores
        )
        norm = float(np.sqrt(new_scores @ new_scores))
        if not norm > 0:
            break
        new_scores /= norm
        step = new_scores - best.scores
        if float(np.abs(step).max()) <= MIN_SCORE_CHANGE:
            break
        # Columns and their signs.
        pattern = frozenset(((best.coef.positions + 1) * np.sign(best.coef.values).astype(np.intp)).tolist())
        if pattern != last_pattern:
            # Newton's method shows whether this is the active set of the minimum.
            last_pattern = pattern
            newton_direction = _newton_fixed_point(problem, new_scores, best.coef, penalty, earlier_scores)
            if newton_direction is not None:
                best = _minimize_coef(problem, newton_direction.scores, penalty, newton_direction.coef)
                extrapolation = 0.0
                continue
        extrapolated = new_scores + extrapolation * step
        new_direction = _minimize_coef(
            problem, extrapolated / np.sqrt(extrapolated @ extrapolated), penalty, best.coef
        )
        if extrapolation and new_direction.value > best.value:
            extrapolation = 0.0
            new_direction = _minimize_coef(problem, new_scores, penalty, best.coef)
        else:
            extrapolation = min(2 * extrapolation + 1, MAX_EXTRAPOLATION)
        n_idle = n_idle + 1 if best.value - new_direction.value <= MIN_DECREASE else 0
        best = new_direction
        if n_idle == MAX_IDLE_UPDATES:
            break
    return best


def _minimize_coef(problem: ScoringProblem, scores: Floats, penalty: float, coef: SparseVector) -> Direction:
    """Return the direction that minimizes over the coefficients for fixed scores (K,), starting at `coef`."""
    coef = minimize_elastic_net(problem.correlations, scores @ problem.means, penalty, problem.ridge, coef)
    return Direction(scores, coef, penalty, _objective(problem, scores, coef, penalty))


def _newton_fixed_point(
    problem: ScoringProblem, scores: Floats, coef: SparseVector, penalty: float, earlier_scores: Floats
) -> Direction | None:
    """Solve for the fixed point of the updates with given active columns and signs by Newton's method.

    With b = H (C'x - s penalty), H the inverse of the correlations plus the ridge and x the scores in a basis
    of the free scores, the equation is (C H C') x - penalty C H s = m x.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    scores : (K,) float
        Starting scores.
    coef : SparseVector
        Determines the active columns and signs.
    penalty : float
        L1 penalty.
    earlier_scores : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction or None
        None if the iterations fail, the fixed point is not a minimum, its objective is larger than at the
        start, or a coefficient changes sign.
    """
    active = coef.positions
    signs = np.sign(coef.values)
    basis = _free_score_basis(problem, earlier_scores)
    root = active_root(problem.correlations, active, problem.ridge)
    whitened = solve_triangular(root, (basis.T @ problem.means[:, active]).T, trans=1, check_finite=False)
    whitened_signs = solve_triangular(root, signs, trans=1, check_finite=False)
    product = whitened.T @ whitened
    shift = penalty * (whitened.T @ whitened_signs)
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
    projector = np.eye(len(x)) - np.outer(x, x)
    if np.linalg.eigvalsh(projector @ (m * np.eye(len(x)) - product) @ projector)[0] < -1e-12:
        # The fixed point is a saddle point or maximum.
        return None
    b = solve_triangular(root, whitened @ x - penalty * whitened_signs, check_finite=False)
    if penalty and (b * signs <= 0).any():
        return None
    u = basis @ x
    new_coef = SparseVector(active, b)
    value = _objective(problem, u, new_coef, penalty)
    if value > _objective(problem, scores, coef, penalty) + 1e-14:
        return None
    return Direction(u, new_coef, penalty, value)


def _free_score_basis(problem: ScoringProblem, earlier_scores: Floats) -> Floats:
    """Return an orthonormal basis of the scores that are orthogonal to the constant and to earlier scores.

    Scores are multiplied by the square roots of the class proportions, so that the constant is
    `problem.roots`.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    earlier_scores : (K, h) float
        Orthonormal scores of earlier directions.

    Returns
    -------
    (K, K - 1 - h) float
    """
    fixed_scores = np.column_stack([problem.roots, earlier_scores])
    return np.asarray(np.linalg.qr(fixed_scores, mode="complete")[0][:, fixed_scores.shape[1] :])


def _starting_directions(problem: ScoringProblem, earlier_scores: Floats) -> list[Direction]:
    """Return at most `MAX_PATHS` starting directions for the paths, with scores but without coefficients.

    The scores of the first one belong to the column that enters first; the others, if several dimensions
    remain besides `earlier_scores` (K, h), are principal axes of the class means.
    """
    free_means = problem.orthogonalize(problem.means, earlier_scores)
    norms = np.sqrt((free_means**2).sum(axis=0))
    first = int(np.argmax(norms))
    scores = [free_means[:, first] / norms[first]]
    dimensions = len(problem.roots) - 1 - earlier_scores.shape[1]
    if dimensions > 1:
        scores += list(np.linalg.svd(free_means, full_matrices=False)[0].T[: min(dimensions, MAX_PATHS - 1)])
    no_coef = SparseVector(np.zeros(0, dtype=np.intp), np.zeros(0))
    return [Direction(start_scores, no_coef, np.inf, 0.5) for start_scores in scores]


def _continue_paths(
    problem: ScoringProblem, paths: list[Direction], penalty: float, earlier_scores: Floats
) -> list[Direction]:
    """Continue paths to a smaller penalty.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    paths : list of Direction
        Minima at a larger penalty.
    penalty : float
        L1 penalty.
    earlier_scores : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    list of Direction
        Minima in increasing order of the objective; paths that merged are kept once, and paths whose scores
        depend on earlier scores are dropped.
    """
    minima: list[Direction] = []
    for path in paths:
        scores = problem.orthogonalize(path.scores, earlier_scores)
        norm = float(np.sqrt(scores @ scores))
        if not norm > MERGED_TOLERANCE:
            continue
        direction = _minimize_in_working_sets(
            problem, path._replace(scores=scores / norm), penalty, earlier_scores
        )
        # A path without active columns is kept.
        if not any(
            len(other.coef.positions) and len(direction.coef.positions) and _have_merged(other, direction)
            for other in minima
        ):
            minima.append(direction)
    return sorted(minima, key=lambda direction: direction.value)


def _have_merged(a: Direction, b: Direction) -> bool:
    """Return whether the scores of two directions differ by at most `MERGED_TOLERANCE`, up to sign."""
    return bool(min(np.abs(a.scores - b.scores).max(), np.abs(a.scores + b.scores).max()) <= MERGED_TOLERANCE)


def _unpenalized_directions(problem: ScoringProblem, ncomp: int) -> list[Direction]:
    """Return at most `ncomp` directions without a penalty, in order of decreasing correlation.

    Directions whose scores have correlations of at most `MIN_CORRELATION` with every column are omitted.
    """
    directions = _least_squares_directions(problem, np.zeros((len(problem.roots), 0)))[:ncomp]
    # Select directions by their covariances with the columns. With a large ridge the objective is close to a
    # half, and with nearly collinear columns it is a difference of huge numbers.
    products = [np.abs(direction.scores @ problem.means).max(initial=0.0) for direction in directions]
    return [direction for direction, size in zip(directions, products, strict=True) if size > MIN_CORRELATION]


def _least_squares_directions(problem: ScoringProblem, earlier_scores: Floats) -> list[Direction]:
    """Return the K - 1 - h unpenalized directions, in order of decreasing correlation with the columns.

    Their scores are orthogonal to each other and to `earlier_scores` (K, h). Without a ridge, the columns
    have to be linearly independent; otherwise LinAlgError is raised, or the result is meaningless.
    """
    all_columns = np.arange(problem.means.shape[1])
    basis = _free_score_basis(problem, earlier_scores)
    zero_coef = SparseVector(all_columns, np.zeros(len(all_columns)))

    def fit_coef(u: Floats) -> SparseVector:
        """Return the coefficients of all columns, by least squares plus the ridge, for scores (K,)."""
        return minimize_elastic_net(problem.correlations, u @ problem.means, 0.0, problem.ridge, zero_coef)

    if problem.correlations.matrix is None:
        fits = np.stack([problem.means @ fit_coef(u).values for u in basis.T], axis=1)
        rotation = np.linalg.eigh(basis.T @ fits)[1][:, ::-1]
    else:
        # A product would square the condition number.
        root = active_root(problem.correlations, all_columns, problem.ridge)
        whitened = solve_triangular(root, problem.means.T @ basis, trans=1, check_finite=False)
        rotation = np.linalg.svd(whitened, full_matrices=True)[2].T
    directions = []
    for x in rotation.T:
        u = basis @ x
        coef = fit_coef(u)
        directions.append(Direction(u, coef, 0.0, _objective(problem, u, coef, 0.0)))
    return directions


def directions_along_path(problem: ScoringProblem, penalties: Floats, ncomp: int) -> list[list[Direction]]:
    """Compute the directions along a path of decreasing penalties.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    penalties : (T,) float
        Decreasing penalties, the same for all directions; the last one can be zero.
    ncomp : int
        Maximum number of directions.

    Returns
    -------
    list of T lists of Direction
        The directions at each penalty; an empty list if all coefficients are zero.
    """
    paths: list[list[Direction]] = []
    directions_by_penalty = []
    first_max_penalty = problem.max_penalty(np.zeros((len(problem.roots), 0)))
    for penalty in penalties.tolist():
        if not penalty:
            directions_by_penalty.append(_unpenalized_directions(problem, ncomp))
            continue

        def next_direction(level: int, earlier_scores: Floats, penalty: float = penalty) -> Direction | None:
            """Continue the paths of the direction with index `level` to the penalty; return the best one.

            `earlier_scores` (K, level) are the scores of the directions before it. None if the penalty is at
            least `problem.max_penalty(earlier_scores)`, so that all coefficients are zero.
            """
            if penalty >= (problem.max_penalty(earlier_scores) if level else first_max_penalty):
                return None
            if level == len(paths):
                paths.append(_starting_directions(problem, earlier_scores))
            paths[level] = _continue_paths(problem, paths[level], penalty, earlier_scores)
            return paths[level][0]

        directions_by_penalty.append(_successive_directions(problem, ncomp, next_direction))
    return directions_by_penalty


def _successive_directions(
    problem: ScoringProblem, ncomp: int, next_direction: Callable[[int, Floats], Direction | None]
) -> list[Direction]:
    """Compute successive directions until one is None or all its coefficients are zero.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    ncomp : int
        Maximum number of directions.
    next_direction : callable
        Returns the next direction, or None, for its index h and the scores (K, h) of the earlier ones.

    Returns
    -------
    list of Direction
        Directions with nonzero coefficients, at most `ncomp` and possibly none.
    """
    directions: list[Direction] = []
    earlier_scores = np.zeros((len(problem.roots), 0))
    for level in range(ncomp):
        direction = next_direction(level, earlier_scores)
        if direction is None or not len(direction.coef.positions):
            break
        directions.append(direction)
        earlier_scores = np.column_stack([earlier_scores, direction.scores])
    return directions


def _direction_at_penalty(
    problem: ScoringProblem, penalty: float, earlier_scores: Floats
) -> Direction | None:
    """Compute the next direction at a penalty.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    penalty : float
        L1 penalty.
    earlier_scores : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction or None
        None if the penalty is at least the one at which all coefficients are zero, or the correlation of
        every column with the scores orthogonal to earlier ones is at most `MIN_CORRELATION`.
    """
    max_penalty = problem.max_penalty(earlier_scores)
    if penalty >= max_penalty or not max_penalty > MIN_CORRELATION:
        return None
    paths = _starting_directions(problem, earlier_scores)
    if not penalty:
        # No column is left out: start from the least-squares scores.
        paths = _least_squares_directions(problem, earlier_scores)
    current_penalty = PENALTY_RATIO * max_penalty
    # With a single score the minimum is unique and no path is needed.
    while len(paths) > 1 and current_penalty > penalty > 0:
        paths = _continue_paths(problem, paths, current_penalty, earlier_scores)
        current_penalty *= PENALTY_RATIO
    return _continue_paths(problem, paths, penalty, earlier_scores)[0]


def direction_with_columns(problem: ScoringProblem, nonzero: int, earlier_scores: Floats) -> Direction | None:
    """Compute the next direction with at most `nonzero` columns.

    The penalty decreases until more columns enter for the first time. The result is the direction just before
    the next column enters, which is the stopping point of R's sparseLDA. The search ends at
    `MIN_RELATIVE_PENALTY` times the largest penalty. If `nonzero` is p or more, the penalty is zero.

    Parameters
    ----------
    problem : ScoringProblem
        Statistics of the rows.
    nonzero : int
        Maximum number of columns.
    earlier_scores : (K, h) float
        Scores of earlier directions.

    Returns
    -------
    Direction or None
        None if the correlation of every column with the scores orthogonal to earlier ones is at most
        `MIN_CORRELATION`. Its `coef` can be empty if several columns enter at once.
    """
    max_penalty = problem.max_penalty(earlier_scores)
    if not max_penalty > MIN_CORRELATION:
        return None
    if nonzero >= problem.means.shape[1]:
        return _direction_at_penalty(problem, 0.0, earlier_scores)
    high = max_penalty
    paths = _starting_directions(problem, earlier_scores)
    while True:
        low = COLUMN_SEARCH_RATIO * high
        continued = _continue_paths(problem, paths, low, earlier_scores)
        if len(continued[0].coef.positions) > nonzero:
            break
        high = low
        paths = continued
        if high < MIN_RELATIVE_PENALTY * max_penalty:
            return continued[0]
    for _ in range(MAX_BISECTIONS):
        midpoint = (high + low) / 2
        if not low < midpoint < high:
            break
        continued = _continue_paths(problem, paths, midpoint, earlier_scores)
        if len(continued[0].coef.positions) > nonzero:
            low = midpoint
        else:
            high = midpoint
            paths = continued
    return paths[0]


TuningType = Literal["penalty", "nonzero"]
"""Tuning of each direction by its penalty, or by its number of columns."""

MIN_RELATIVE_SD = 64 * EPS
"""Relative within-class standard deviation of a direction, given the others, that counts as zero."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseFit(NoLikelihood):
    """Estimates of a sparse discriminant analysis of K classes and p columns, with r directions.

    Attributes
    ----------
    moments : ClassMoments
        Moments with a pooled scatter (p, p) or a pooled thin root (m, p), m <= p.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    by : {"penalty", "nonzero"}
        Meaning of `tuning`: L1 penalties, or maximum numbers of columns.
    tuning : tuple of float
        Penalty or number of columns of each possible direction, `max_directions` in total.
    ridge : float
        Ridge of the objective.
    ncomp : int or None
        Maximum number of directions; None for min(K - 1, p).
    sd : (p,) float
        Standard deviations over all rows, divisor N, in the coordinates z of the moments; one for a constant
        column.
    class_scores : (K, r) float
        Optimal scores theta of the classes: mean zero and mean square one over the rows, uncorrelated.
    coef : (p, r) float
        Coefficients of the columns divided by `sd`. In each direction the coefficient of largest absolute
        value, after multiplication by the within-class standard deviation, is positive.
    penalties : (r,) float
        L1 penalty of each direction, also if it was determined by a number of columns.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    by: TuningType
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
    def max_directions(self) -> int:
        """Maximum number of directions, min(K - 1, p, ncomp)."""
        return _max_directions(self.moments, self.ncomp)

    def selected(self) -> Mask:
        """Return a mask (p, r) of the nonzero coefficients."""
        return np.asarray(self.coef != 0)

    def directions(self) -> Floats:
        """Return the directions (p, r), `coef` divided by `sd`: coefficients of z = (x - origin) * scale.

        Their scores do not have within-class variance one; `scaling` returns directions with it.
        """
        return np.asarray(self.coef / self.sd[:, None])

    def root(self) -> Floats:
        """Return R (r, r), upper triangular, with R'R the within-class covariance of the scores.

        The divisor of the covariance is N - K. If the moments have roots, R is computed by QR: its diagonal
        can be negative, and a singular covariance results in zeros on it or in fewer than r rows. Otherwise a
        singular covariance raises LinAlgError.
        """
        used = np.flatnonzero(self.coef.any(axis=1))
        used_directions = self.directions()[used]
        if self.moments.roots is not None:
            rows = self.moments.roots[0][:, used] @ used_directions
            return np.asarray(np.linalg.qr(rows / np.sqrt(self.divisor), mode="r"))
        covariance = (
            used_directions.T @ self.moments.scatters[0][np.ix_(used, used)] @ used_directions / self.divisor
        )
        sd = np.sqrt(np.diagonal(covariance))
        return np.asarray(np.linalg.cholesky(covariance / sd / sd[:, None]).T * sd)

    def is_singular(self) -> bool:
        """Return whether the within-class covariance of the scores is singular up to rounding.

        True if the within-class standard deviation of a direction given earlier ones is at most
        `MIN_RELATIVE_SD` times its own, or times its covariance with its class scores if that is larger.
        False without directions.
        """
        if not self.coef.shape[1]:
            return False
        try:
            root = self.root()
        except np.linalg.LinAlgError:
            return True
        if len(root) < self.coef.shape[1] or not np.isfinite(root).all():
            return True
        proportions = self.moments.counts / self.moments.total
        between = np.abs(
            self.class_scores.T @ (proportions[:, None] * (self.moments.means @ self.directions()))
        )
        sizes = np.maximum(np.sqrt((root**2).sum(axis=0)), np.diagonal(between))
        return bool((np.abs(np.diagonal(root)) <= MIN_RELATIVE_SD * sizes).any())

    def scaling(self) -> Floats:
        """Return the directions (p, r) as coefficients of z, each with within-class variance one.

        The variance of the scores has the divisor N - K; scores of different directions can be correlated. A
        singular within-class covariance raises LinAlgError if the moments are without roots; with roots, a
        direction without within-class variance is infinite or NaN.
        """
        if not self.coef.shape[1]:
            return self.directions()
        return np.asarray(self.directions() / np.sqrt((self.root() ** 2).sum(axis=0)))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method : str
            Method of the posteriors: only "plugin", which uses the estimates as if they were the parameters.
            Other methods raise CoreNotSupportedError.
        convention : str or None
            Not used.

        Returns
        -------
        LinearRule
            Log prior minus half the squared Mahalanobis distance of the scores to the class mean, up to a
            constant of each row; the prior alone without directions.
        """
        require_plugin_method(method, "is not defined for sparse directions")
        axes = self.directions()
        moments = self.moments
        root = self.root() if axes.shape[1] else np.zeros((0, 0))

        def whiten(z: Floats) -> Floats:
            """Return the scores (r, m) of m rows z (p, m), whitened to the within-class covariance I.

            The covariance has the divisor N - K. Without directions, shape (0, m).
            """
            return np.asarray(solve_triangular(root, axes.T @ z, trans=1)) if len(root) else axes.T @ z

        def unwhiten(y: Floats) -> Floats:
            """Return m vectors (p, m) of coefficients of z, for coefficients y (r, m) of whitened scores."""
            return np.asarray(axes @ solve_triangular(root, y)) if len(root) else axes @ y

        means = Means(moments.centres, moments.rests, moments.scale, whiten, unwhiten)
        return nearest_mean_rule(means, moments.origin, log_prior)

    def refit(self, moments: ClassMoments) -> SparseFit | None:
        """Refit to other moments with the same prior and tuning.

        Returns None if a class is without rows, the total weight is at most K, the columns are collinear
        without penalty and ridge, or the within-class covariance of the scores is singular. The number of
        directions can differ.
        """
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
        """Raise InvalidStateError if parts of a loaded fit contradict each other or are out of range.

        Checks the ridge, the tuning, the numbers of directions, penalties and scores, that every direction
        has a nonzero coefficient, the signs of standard deviations, and that the scores are not singular.
        """
        tuning = np.array(self.tuning)
        max_directions = _max_directions(self.moments, self.ncomp)
        if not 0 <= self.ridge < np.inf:
            raise InvalidStateError("its ridge is negative")
        is_valid = are_integers(tuning, 1.0) if self.by == "nonzero" else bool((tuning >= 0).all())
        if not is_valid or len(tuning) != max_directions:
            raise InvalidStateError("its penalties or numbers of columns are invalid")
        counts = {len(self.penalties), self.class_scores.shape[1], self.coef.shape[1]}
        if len(counts) != 1 or len(self.penalties) > max_directions or not (self.penalties >= 0).all():
            raise InvalidStateError("its numbers of directions, penalties and scores differ")
        if not self.coef.any(axis=0).all():
            raise InvalidStateError("all coefficients of one of its directions are zero")
        if not (self.sd > 0).all():
            raise InvalidStateError("its standard deviations are not positive")
        if self.is_singular():
            raise InvalidStateError("its directions do not all vary within classes")


def _max_directions(moments: ClassMoments, ncomp: int | None) -> int:
    """Return the maximum number of directions, min(K - 1, p, ncomp)."""
    max_directions = min(moments.n_classes - 1, moments.n_columns)
    return max_directions if ncomp is None else min(max_directions, ncomp)


def fit_sparse(
    moments: ClassMoments,
    prior: Floats,
    *,
    by: TuningType,
    tuning: Sequence[float],
    ridge: float = 0.0,
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> SparseFit:
    """Fit a sparse discriminant analysis to moments.

    Parameters
    ----------
    moments : ClassMoments
        Moments with a pooled scatter (p, p) or a pooled thin root (m, p), m <= p; more rows than classes.
    prior : (K,) float
        Prior probabilities of the classes.
    by : {"penalty", "nonzero"}
        Meaning of `tuning`: L1 penalties, or maximum numbers of columns.
    tuning : sequence of float
        Penalty or number of columns of each possible direction, one for each of min(K - 1, p, ncomp). Only
        zeros, or numbers of at least p, result in the directions of linear discriminant analysis.
    ridge : float
        Ridge of the objective, not negative.
    ncomp : int or None
        Maximum number of directions; None for min(K - 1, p).
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    SparseFit
        With the directions up to the first one without nonzero coefficients, possibly none.

    Raises
    ------
    numpy.linalg.LinAlgError
        A direction has neither penalty nor ridge, and the columns are not linearly independent.
    """
    problem = ScoringProblem.from_moments(moments, ridge)
    max_directions = _max_directions(moments, ncomp)
    penalized = by == "penalty"

    def next_direction(k: int, earlier_scores: Floats) -> Direction | None:
        """Return the direction with index k, for tuning[k] and the scores (K, k) of the earlier ones.

        None if all its coefficients are zero.
        """
        if penalized:
            return _direction_at_penalty(problem, float(tuning[k]), earlier_scores)
        return direction_with_columns(problem, int(tuning[k]), earlier_scores)

    if not any(tuning) if penalized else all(value >= moments.n_columns for value in tuning):
        directions = _unpenalized_directions(problem, max_directions)
    else:
        directions = _successive_directions(problem, max_directions, next_direction)
    options = by, tuple(float(value) for value in tuning), ridge, ncomp
    return SparseFit(moments, prior, estimated_prior, *options, *_fit_arrays(moments, problem, directions))


def _fit_arrays(
    moments: ClassMoments, problem: ScoringProblem, directions: list[Direction]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the arrays of a `SparseFit` for its directions: `sd`, `class_scores`, `coef` and `penalties`.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the rows.
    problem : ScoringProblem
        Statistics of the rows.
    directions : list of Direction
        The r directions.

    Returns
    -------
    sd : (p,) float
        Standard deviations of the columns over all rows, in z; one for a constant column.
    class_scores : (K, r) float
        Scores theta of the classes, with the signs of the coefficients.
    coef : (p, r) float
        Coefficients of the columns divided by `sd`; in each direction the one that is largest after
        multiplication by the within-class standard deviation is positive.
    penalties : (r,) float
        L1 penalty of each direction.
    """
    p = moments.n_columns
    k = moments.n_classes
    coef = np.zeros((p, len(directions)))
    scores = np.zeros((k, len(directions)))
    # The memory layout is the layout of a loaded fit, for identical rounding of products.
    for j, direction in enumerate(directions):
        coef[:, j] = direction.coef.dense(p)
        scores[:, j] = direction.scores
    within = np.sqrt(moments.squares.sum(axis=0) / moments.total) / problem.sd
    signs = positive_signs(coef * within[:, None])
    scores = scores * signs / problem.roots[:, None]
    # Avoid negative zeros.
    coef = np.where(coef == 0, 0.0, coef * signs)
    return problem.sd, scores, coef, np.array([direction.penalty for direction in directions])


def fit_sparse_path(
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
        Moments as for `fit_sparse`.
    prior : (K,) float
        Prior probabilities of the classes.
    penalties : (T,) float
        Decreasing penalties, the same for all directions; the last one can be zero.
    ridge : float
        Ridge of the objective.
    ncomp : int or None
        Maximum number of directions; None for min(K - 1, p).
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    list of SparseFit
        One fit for each penalty, with the directions up to the first one without nonzero coefficients.
    """
    problem = ScoringProblem.from_moments(moments, ridge)
    max_directions = _max_directions(moments, ncomp)
    path = directions_along_path(problem, penalties, max_directions)
    return [
        SparseFit(
            moments, prior, estimated_prior, "penalty", (penalty,) * max_directions, ridge, ncomp,
            *_fit_arrays(moments, problem, directions),
        )
        for penalty, directions in zip(penalties.tolist(), path, strict=True)
    ]  # fmt: skip


def select_used_columns(fits: Sequence[SparseFit]) -> tuple[Codes, list[SparseFit]]:
    """Restrict fits along a path to the columns that at least one of them uses.

    Parameters
    ----------
    fits : sequence of SparseFit
        Fits to the same moments, at least one.

    Returns
    -------
    columns : (q,) int
        Positions of the columns; the first column if no fit uses any.
    fits : list of SparseFit
        Fits with the same rules for rows with these columns only.
    """
    is_used = np.any([fit.coef.any(axis=1) for fit in fits], axis=0)
    columns = np.flatnonzero(is_used) if is_used.any() else np.zeros(1, dtype=np.intp)
    moments = fits[0].moments.select_columns(columns)
    return columns, [
        replace(fit, moments=moments, sd=fit.sd[columns], coef=fit.coef[columns]) for fit in fits
    ]


def max_path_penalty(moments: ClassMoments) -> float:
    """Return the smallest penalty at which no column is selected: the largest correlation ratio of a column.

    The correlation ratio is the root of the between-class share of the sum of squares over all rows.
    """
    means = moments.means
    proportions = moments.counts / moments.total
    anchor = means[int(np.argmax(moments.counts))]
    mean = anchor + proportions @ (means - anchor)
    sd = np.sqrt(moments.squares.sum(axis=0) / moments.total + proportions @ (means - mean) ** 2)
    sd[constant_columns(moments)] = 1.0
    weighted_deviations = np.sqrt(proportions)[:, None] * (means - mean) / sd
    return float(np.sqrt((weighted_deviations**2).sum(axis=0)).max())
