"""The numbers of a sparse discriminant analysis: directions of few columns, one after another.

The rule is the linear discriminant analysis of the scores of the rows on the directions, divisor N - K, as in
Clemmensen, Hastie, Witten & Ersboll (2011, Technometrics 53, 406-413) and R's sparseLDA; so it is linear in
the columns that a direction has selected.

*Sparse optimal scoring* finds the directions. With z the columns over their standard deviations of all rows
(divisor N), and theta scores of the classes with mean zero and mean square one over the rows, a direction is
the minimum over both of

    1/(2N) sum_i (theta_(class of i) - z_i'b)^2 + penalty |b|_1 + ridge/2 |b|^2,

scores of later directions uncorrelated over the rows with those of the ones before. With pi the shares of the
classes, u_k = sqrt(pi_k) theta_k has length one, and of the rows there enter only the correlations G of the
columns over all rows and M (K, p), the class means of z times sqrt(pi_k):

    1/2 - u'M b + b'G b / 2 + penalty |b|_1 + ridge/2 |b|^2.

Given u, b is an elastic net; given b, u is M b over its length, without the part along earlier u. The two are
taken in turns, as in the paper, and between turns, with the columns and signs held, Newton's steps lead to
where both stay: there the turns may take thousands. A problem of more than two classes can have several
minima; the search goes along several ways down from the penalty at which the first column enters, and
what is least is kept. Two classes have one score, and the direction is the lasso of their codes (Mai, Zou &
Yuan, 2012, Biometrika 99, 29-42).

Without a penalty the directions are those of the linear discriminant analysis.

*The elastic net*, b'Gb/2 - c'b + penalty |b|_1 + ridge |b|^2/2 with c = M'u, is minimized by active sets (the
feature-sign search of Lee, Battle, Raina & Ng, 2006, Advances in Neural Information Processing Systems 19):
given which coefficients are not zero, and their signs, the minimum is a linear system. A descent by single
coordinates ends where its tolerance does; here the conditions of Karush, Kuhn and Tucker hold to rounding. Of
columns that others determine, the way is that along which the fit stays and the penalty falls, to where the
first coefficient is zero.
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
"""Most changes of the active set."""

AT_ONCE = 16
"""Columns that enter at once, beside twice those that are there."""

TOLERANCE = 1e-10
"""Share of the penalty by which a column that is out may violate its condition."""

DETERMINED = 1e-12
"""Squared residual of a column of length one on others, below which these determine it."""


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Correlations of columns over all rows, as products (p, p) or as the rows R (m, p) that they are of.

    No matrix is formed where there are fewer rows than columns; then a root is known.
    """

    matrix: Floats | None
    root: Floats | None

    def times(self, at: Codes, values: Floats) -> Floats:
        """The correlations times a vector that is zero but at some places: (p,)."""
        if self.matrix is not None:
            return np.asarray(values @ self.matrix[at])
        return np.asarray((self._rows[:, at] @ values) @ self._rows)

    def among(self, at: Codes, ridge: float) -> Floats:
        """Those of some columns (q, q), with a ridge on the diagonal."""
        if self.matrix is not None:
            matrix = self.matrix[np.ix_(at, at)]
        else:
            some = self._rows[:, at]
            matrix = np.asarray(some.T @ some)
        matrix.ravel()[:: len(at) + 1] += ridge
        return matrix

    def length(self, at: Codes, values: Floats) -> float:
        """The mean square of what the columns give with coefficients at some places."""
        if self.matrix is not None:
            return float(values @ self.matrix[np.ix_(at, at)] @ values)
        fitted = self._rows[:, at] @ values
        return float(fitted @ fitted)

    @property
    def _rows(self) -> Floats:
        if self.root is None:
            raise ValueError("Correlations are products, rows or both.")
        return self.root


class Sparse(NamedTuple):
    """Coefficients (q,) that are not zero, and their places in the order in which they entered."""

    at: Codes
    values: Floats

    def dense(self, p: int) -> Floats:
        """All coefficients (p,)."""
        out = np.zeros(p)
        out[self.at] = self.values
        return out


def active_root(correlations: Correlations, at: Codes, ridge: float) -> Floats:
    """Upper triangular root (q, q) of the correlations of some columns and a ridge.

    By a QR of the rows where they are known, which keeps the digits that products lose.
    """
    if correlations.root is None:
        return np.asarray(np.linalg.cholesky(correlations.among(at, ridge)).T)
    rows = correlations.root[:, at]
    if ridge:
        rows = np.concatenate([rows, np.sqrt(ridge) * np.eye(len(at))])
    return np.asarray(np.linalg.qr(rows, mode="r"))


def minimum(correlations: Correlations, c: Floats, penalty: float, ridge: float, start: Sparse) -> Sparse:
    """The minimum of the elastic net, by a search from other coefficients.

    There are more rows than columns, or a penalty or ridge above zero.
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
        # The value falls from set to set: one that returns is the work of rounding.
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
        # Those that entered together may all have left, though one of them has a part.
        if len(over) > 1 and (stuck or not _factor(correlations, np.append(at, over), ridge)[1]):
            over = np.array([np.argmax(excess)])
        entered = over
        at = np.append(at, over)
        values = np.append(values, np.zeros(len(over)))
        signs = np.append(signs, np.sign(slope[over]))
    return Sparse(at, values)


def _dense(correlations: Correlations, c: Floats, ridge: float) -> Sparse:
    """The minimum without a penalty that leaves columns out."""
    every = np.arange(len(c))
    if correlations.matrix is None and correlations.root is not None and ridge:
        # As many unknowns as rows: (R'R + r)^-1 c = (c - R'(RR' + r)^-1 R c) / r.
        rows = correlations.root
        inner = rows @ rows.T
        inner.ravel()[:: len(inner) + 1] += ridge
        return Sparse(every, (c - rows.T @ np.linalg.solve(inner, rows @ c)) / ridge)
    root = active_root(correlations, every, ridge)
    return Sparse(every, solve_triangular(root, solve_triangular(root, c, trans=1), check_finite=False))


def _factor(correlations: Correlations, at: Codes, ridge: float) -> tuple[Floats, bool]:
    """A lower root of the correlations of some columns, and whether none determines another."""
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
    """The minimum over some coefficients, of which those that would change their sign become zero."""
    while len(at):
        root, regular = _factor(correlations, at, ridge)
        if regular:
            end = dpotrs(root, c[at] - penalty * signs, lower=1)[0]
            wrong = end * signs <= 0
            if not wrong.any():
                return at, end, signs
            step = end - values
        else:
            # Along which the fit of collinear columns stays and the penalty falls.
            step = np.linalg.eigh(correlations.among(at, ridge))[1][:, 0]
            step = -step if signs @ step > 0 else step
            wrong = step * signs < 0
        # As far as the first that turns: the value falls all the way.
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
"""Most turns between coefficients and scores."""

NO_GAIN = 1e-16
IDLE = 10
"""What a turn may gain that is none, and how many such turns in a row are the end."""

NO_STEP = 1e-13
"""Step of the scores, of length one, at which they stay."""

FARTHEST_TURN = 1e3
"""How far beyond the best scores a turn goes at most, in steps of these."""

UNCORRELATED = 64 * EPS
"""Correlation with the classes that is none."""

MET = 1e-6
"""Distance of scores from others at which two ways have met."""

WAYS = 4
"""Most ways down."""

STEP = 0.8
STRIDE = 0.25
"""Ratio of two penalties on the way to a number of columns, and to a penalty."""

HALVINGS = 60
"""Most halvings between two penalties, of which one leaves too many columns."""

FLOOR = 1e-6
"""Share of the largest penalty down to which a number of columns is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What of the rows sparse optimal scoring takes.

    Class means (K, p) are those of the standardized columns times the roots (K,) of the shares, M; mean and
    standard deviation (p,) are of all rows in z about the origin of the moments, the latter one where a
    column is constant.
    """

    correlations: Correlations
    means: Floats
    roots: Floats
    mean: Floats
    sd: Floats
    ridge: float

    @classmethod
    def of(cls, moments: ClassMoments, ridge: float) -> Problem:
        """From moments with a pooled scatter or its root of few rows."""
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
        """The penalty from which on no column has a part in the next direction."""
        return float(np.sqrt((self.free(self.means, before) ** 2).sum(axis=0)).max())

    def free(self, scores: Floats, before: Floats) -> Floats:
        """Scores (K, m) or (K,) without the part along a constant and earlier ones (K, h)."""
        taken = np.column_stack([self.roots, before])
        for _ in range(2):
            scores = scores - taken @ (taken.T @ scores)
        return scores


class Direction(NamedTuple):
    """One direction: scores u (K,) of length one, coefficients b, and the value that is minimized."""

    scores: Floats
    coef: Sparse
    penalty: float
    value: float


def _value(problem: Problem, scores: Floats, coef: Sparse, penalty: float) -> float:
    at, b = coef
    c = scores @ problem.means[:, at]
    curvature = problem.correlations.length(at, b) + problem.ridge * float(b @ b)
    return float(0.5 - c @ b + 0.5 * curvature + penalty * np.abs(b).sum())


def _ended(problem: Problem, start: Direction, penalty: float, before: Floats) -> Direction:
    """The minimum that the turns lead to from other scores and coefficients.

    A turn goes beyond the best scores for its coefficients, ever farther as long as that is better.
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
            # Whether they are those of the end Newton's steps show.
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
    """The best coefficients for scores, from others."""
    coef = minimum(problem.correlations, scores @ problem.means, penalty, problem.ridge, coef)
    return Direction(scores, coef, penalty, _value(problem, scores, coef, penalty))


def _leap(problem: Problem, scores: Floats, coef: Sparse, penalty: float, before: Floats) -> Direction | None:
    """Where scores and coefficients of the same columns and signs stay, by Newton's steps; None where lost.

    With b = H (C'x - s penalty), H the inverse of the correlations and the ridge and x the scores in a basis
    of those that are free, (C H C') x - penalty C H s = m x.
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
        # It stays there, but on top of a ridge.
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
    """Orthonormal basis (K, d) of the scores that are free."""
    taken = np.column_stack([problem.roots, before])
    return np.asarray(np.linalg.qr(taken, mode="complete")[0][:, taken.shape[1] :])


def _starts(problem: Problem, before: Floats) -> list[Direction]:
    """Where the ways down begin: scores of the first column, and of principal axes of the means."""
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
    """The ends of ways at a penalty, the least first, and of those that met only one."""
    ends: list[Direction] = []
    for way in ways:
        scores = problem.free(way.scores, before)
        length = float(np.sqrt(scores @ scores))
        if not length > MET:
            continue
        end = _ended(problem, way._replace(scores=scores / length), penalty, before)
        # A way along which no column has entered goes on.
        if not any(len(other.coef.at) and len(end.coef.at) and _met(other, end) for other in ends):
            ends.append(end)
    return sorted(ends, key=lambda end: end.value)


def _met(a: Direction, b: Direction) -> bool:
    return bool(min(np.abs(a.scores - b.scores).max(), np.abs(a.scores + b.scores).max()) <= MET)


def _unpenalized(problem: Problem, ncomp: int) -> list[Direction]:
    """The directions without a penalty, all of one eigenproblem."""
    directions = _least_squares(problem, np.zeros((len(problem.roots), 0)))[:ncomp]
    # By the covariances with the columns: what is minimized hardly falls below a half by a large ridge, and
    # of columns that are nearly collinear it is a difference of huge numbers.
    products = [np.abs(each.scores @ problem.means).max(initial=0.0) for each in directions]
    return [each for each, size in zip(directions, products, strict=True) if size > UNCORRELATED]


def _least_squares(problem: Problem, before: Floats) -> list[Direction]:
    """The directions without a penalty, of scores that are free, the one of most correlation first."""
    every = np.arange(problem.means.shape[1])
    basis = _basis(problem, before)
    none = Sparse(every, np.zeros(len(every)))

    def fitted(u: Floats) -> Sparse:
        return minimum(problem.correlations, u @ problem.means, 0.0, problem.ridge, none)

    if problem.correlations.matrix is None:
        fits = np.stack([problem.means @ fitted(u).values for u in basis.T], axis=1)
        turn = np.linalg.eigh(basis.T @ fits)[1][:, ::-1]
    else:
        # Without a product, which would square the condition.
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
    """The directions at each of falling penalties, none where no column is left."""
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
    """Directions up to the first that is none, or of no column."""
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
    """The next direction at a penalty; None where no column has a part in it."""
    top = problem.top(before)
    if penalty >= top or not top > UNCORRELATED:
        return None
    ways = _starts(problem, before)
    if not penalty:
        # Nothing is left out: from the scores of least squares themselves.
        ways = _least_squares(problem, before)
    at = STRIDE * top
    # Of one score there is one minimum, which is found at once.
    while len(ways) > 1 and at > penalty > 0:
        ways = _on(problem, ways, at, before)
        at *= STRIDE
    return _on(problem, ways, penalty, before)[0]


def direction_with(problem: Problem, nonzero: int, before: Floats) -> Direction | None:
    """The next direction at the least penalty that leaves at most so many columns.

    On the way down, before there are more for the first time: where the next column is about to enter, which
    is where R's sparseLDA stops too.
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
"""Share of a direction's own spread that is none, within classes and beside other directions."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseFit(NoLikelihood):
    """The numbers of a sparse discriminant analysis.

    Attributes
    ----------
    by, tuning : {"penalty", "nonzero"}, tuple of float
        Penalties, or numbers of columns, one for each direction that there can be.
    sd : (p,) float
        Standard deviations over all rows, divisor N, in z; of a constant column one.
    class_scores : (K, r) float
        Optimal scores of the classes: mean zero and mean square one over the rows, uncorrelated.
    coef : (p, r) float
        Coefficients of the columns over their standard deviations over all rows (divisor N). Signs: in each
        direction the largest coefficient, standardized within classes, is positive.
    penalties : (r,) float
        At which each direction was found.
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
        """N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def penalty(self) -> float | None:
        """The penalty of all directions; None where each has its own, or its number of columns."""
        return self.tuning[0] if self.by == "penalty" and len(set(self.tuning)) == 1 else None

    @property
    def most(self) -> int:
        """The number of directions that there can be."""
        return _most(self.moments, self.ncomp)

    def selected(self) -> Mask:
        """Which columns (p, r) have a part in each direction."""
        return np.asarray(self.coef != 0)

    def directions(self) -> Floats:
        """Directions (p, r) as coefficients of z."""
        return np.asarray(self.coef / self.sd[:, None])

    def root(self) -> Floats:
        """Upper triangular root (r, r) of the covariance within classes of the rows' scores."""
        used = np.flatnonzero(self.coef.any(axis=1))
        some = self.directions()[used]
        if self.moments.roots is not None:
            rows = self.moments.roots[0][:, used] @ some
            return np.asarray(np.linalg.qr(rows / np.sqrt(self.divisor), mode="r"))
        spread = some.T @ self.moments.scatters[0][np.ix_(used, used)] @ some / self.divisor
        sd = np.sqrt(np.diagonal(spread))
        return np.asarray(np.linalg.cholesky(spread / sd / sd[:, None]).T * sd)

    def is_singular(self) -> bool:
        """Whether a direction has no variance within classes, or none beside the others."""
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
        """Directions (p, r) of unit variance within classes, as coefficients of z."""
        if not self.coef.shape[1]:
            return self.directions()
        return np.asarray(self.directions() / np.sqrt((self.root() ** 2).sum(axis=0)))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The decision rule under a prior (K,)."""
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
        """The same of other rows, with the same prior and tuning; None where there is no rule."""
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
    """Fit from moments, pooled or with a root of few rows, of more rows than classes.

    There are `ncomp` directions at the most. A LinAlgError where a direction has neither penalty nor ridge
    and the columns are not independent.
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
    """What a fit has of directions: standard deviations, class scores, coefficients and penalties."""
    p = moments.n_columns
    k = moments.n_classes
    coef = np.zeros((p, len(directions)))
    scores = np.zeros((k, len(directions)))
    # In the layout that a file gives back, so that products are rounded as of a loaded fit.
    for j, each in enumerate(directions):
        coef[:, j] = each.coef.dense(p)
        scores[:, j] = each.scores
    within = np.sqrt(moments.squares.sum(axis=0) / moments.total) / problem.sd
    signs = positive_signs(coef * within[:, None])
    scores = scores * signs / problem.roots[:, None]
    # A zero has no sign.
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
    """Fits at each of falling penalties, the same for all directions; each begins where the last ended."""
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
    """The least penalty that leaves no column: the largest correlation ratio of a column and the classes."""
    means = moments.means
    shares = moments.counts / moments.total
    anchor = means[int(np.argmax(moments.counts))]
    mean = anchor + shares @ (means - anchor)
    sd = np.sqrt(moments.squares.sum(axis=0) / moments.total + shares @ (means - mean) ** 2)
    sd[constant_columns(moments)] = 1.0
    gaps = np.sqrt(shares)[:, None] * (means - mean) / sd
    return float(np.sqrt((gaps**2).sum(axis=0)).max())
