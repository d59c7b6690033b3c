"""Constrained maxima of the logistic likelihood: likelihood-ratio tests and profile likelihood intervals.

`deviances_on` computes the statistics of tests of terms, `profile_bounds` the confidence limits of
coefficients, and `nesting` checks whether two models are nested. The results of `logistic` use them.

Theory. Let l(b) be the log-likelihood, or Firth's penalized log-likelihood, with maximum at b^. A hypothesis
that fixes linear functions A'b = c is tested by 2 [l(b^) - max l(b)], the maximum over the plane A'b = c,
with a chi-square distribution whose degrees of freedom are the number of columns of A. Under the penalty the
information is still computed for the full model (Heinze & Schemper, 2002, Statistics in Medicine 21,
2409-2419). The profile l_p(t) of a coefficient is the maximum subject to the coefficient being t. Its
interval contains the t for which 2 [l(b^) - l_p(t)] does not exceed the quantile of chi-square with one
degree of freedom (Venzon & Moolgavkar, 1988, Applied Statistics 37, 87-94). If classes overlap, l is concave
and unbounded below in every direction, and so is its profile: each bound is finite.

*On the plane* a step of Newton's method is H^-1 s - H^-1 A (A'H^-1 A)^-1 A'H^-1 s.

If the information is not the curvature (the penalty contributes to it), Fisher scoring converges slowly. The
curvature is then estimated from the gradients of the steps, and passed from one point of a profile to the
next.

For many coefficients nearly all the cost of a pass is the information. The maximum without some columns is
then computed without it, by a limited-memory method (`LimitedMemory`) that starts from the projected inverse
information at the estimates, factored once for all terms.

*The bound.* With t = b^ + d se, the root r(d) = sqrt(2 [l(b^) - l_p]) equals d for a quadratic likelihood and
is nearly linear otherwise; its derivative follows from the score at the constrained maximum, which is a
multiple of A. Newton's method on r(d) = z, bracketed by points inside and outside, needs a few steps.

*Nested models.* A model is nested in another one if each of its columns, and the intercept, is a linear
combination of the columns of the other, Z_s = Z_l B; the names of the columns do not matter. With Gram matrix
G of Z_l and C = Z_l'Z_s, B = G^-1 C, and the rows of Z_s - Z_l B have to be zero up to rounding. The columns
of both models are scaled to variance one. The hypothesis of the small model is N'b = 0, with N the directions
orthogonal to the range of B.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import Floats, slices
from discrim.core.numerics.progress import Progress
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.newton import HALVINGS, LimitedMemory, NewtonFrame, learnt, penalized_sweep

T = TypeVar("T")

MOST_STEPS = 1000
"""Maximum number of steps on a plane; for separated classes a penalized likelihood needs dozens."""

AT_PEAK = 1e-7
"""Norm of the projected score, in standard errors, that counts as zero. Its square is the error of the
maximum.
"""

CLOSE = 1e-4
"""Norm of the projected score if only the maximum is needed; half its square is added to the maximum."""

TOGETHER = 16
"""Number of planes that are searched at once."""

HELD_NUMBERS = 2**22
"""Maximum number of elements of the information matrices of planes that are searched at once."""

SHORT_TOLERANCE = 1e-5
"""Tolerance of passes without the information; half the squared distance is added, an accurate correction."""

MANY = 60
"""Number of coefficients above which a pass without the information costs a small part of one with it."""

SHORT_STEPS = 60
"""Number of passes without the information after which Newton's method is faster."""

MOST_TRIALS = 100
"""Maximum number of points of a profile for one bound."""

ROUNDED = 1e-6
"""Residual of a column on the columns of another model that counts as zero, in its standard deviations."""

ROOT_TOLERANCE = 1e-9
"""Relative error of the root of the drop at a bound before the last step."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """Objective function that is maximized.

    Attributes
    ----------
    at : callable
        Maps coefficients (p + 1, q) to the value, the gradient (p + 1, q) and the information.
    exact : bool
        Whether the information is the curvature. Otherwise (penalized likelihood) the curvature is estimated
        from gradients by BFGS updates.
    """

    at: Callable[[Floats], tuple[float, Floats, Floats]]
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    """Maximum on a plane.

    Attributes
    ----------
    coef : (p + 1, q) float
    value : float
    gradient : (q (p + 1),) float
        Ordered by class; zero along the plane.
    curvature : (q (p + 1), q (p + 1)) float
        Positive definite, possibly approximate.
    distance : float
        Remaining distance to the maximum in standard errors.
    """

    coef: Floats
    value: float
    gradient: Floats
    curvature: Floats
    distance: float = 0.0


Search = Generator[Floats, Any, T]
"""Generator that yields coefficients (p + 1, q), receives the objective there, and returns its result."""


def ended(searches: Sequence[Search[T]], at: Callable[[list[Floats]], Sequence[Any]]) -> list[T]:
    """Run searches in parallel and return their results; each pass evaluates the points of all searches.

    Parameters
    ----------
    searches : sequence of Search
    at : callable
        Maps a list of coefficients (p + 1, q) to the list of objective values.

    Returns
    -------
    list
    """
    waiting = {i: next(search) for i, search in enumerate(searches)}
    found = dict[int, T]()
    while waiting:
        there = waiting
        answers = at(list(waiting.values()))
        waiting = {}
        for i, answer in zip(there, answers, strict=True):
            try:
                waiting[i] = searches[i].send(answer)
            except StopIteration as end:
                found[i] = end.value
    return [found[i] for i in range(len(searches))]


def maximize_on_plane(
    goal: Goal, start: Floats, plane: Floats, curvature: Floats | None = None
) -> Peak | None:
    """Maximize over start + {b: plane'b = 0}.

    Parameters
    ----------
    goal : Goal
    start : (p + 1, q) float
    plane : (q (p + 1), r) float
        Normals of the plane, ordered by class.
    curvature : (q (p + 1), q (p + 1)) float, optional
        Starting value if the information is not the curvature.

    Returns
    -------
    Peak or None
        None if the search fails.
    """
    search = _on_plane(start, plane, curvature, exact=goal.exact)
    return ended([search], lambda coefs: [goal.at(coef) for coef in coefs])[0]


def _on_plane(
    start: Floats, plane: Floats, curvature: Floats | None = None, *, exact: bool, arrived: float = AT_PEAK
) -> Search[Peak | None]:
    """Maximize over start + {b: plane'b = 0} by Newton's method with a line search.

    Parameters
    ----------
    start : (p + 1, q) float
    plane : (q (p + 1), r) float
        Normals of the plane, ordered by class.
    curvature : (q (p + 1), q (p + 1)) float, optional
        Starting value if the information is not the curvature; by default the information.
    exact : bool
        Whether the information is the curvature.
    arrived : float
        Norm of the projected score, in standard errors, at which the search ends.

    Returns
    -------
    Search
        Its result is a `Peak`, or None if the search fails.
    """
    coef = start
    value, score, information = yield coef
    bent = information if exact or curvature is None else curvature
    for _ in range(MOST_STEPS):
        gradient = score.T.ravel()
        try:
            factor = cho_factor(bent)
        except (LinAlgError, ValueError):
            return None
        step = cho_solve(factor, gradient)
        normals = cho_solve(factor, plane)
        step -= normals @ np.linalg.solve(plane.T @ normals, plane.T @ step)
        decrement = float(np.sqrt(max(gradient @ step, 0.0)))
        if decrement <= arrived:
            return Peak(coef, value, gradient, bent, decrement)
        risen = yield from _risen(coef, value, step, decrement)
        if risen is None:
            return None
        coef, step, (value, score, information) = risen
        bent = information if exact else learnt(bent, step, gradient - score.T.ravel())
    return None


def _risen(
    coef: Floats, value: float, step: Floats, decrement: float
) -> Search[tuple[Floats, Floats, Any] | None]:
    """Find the first point along halved steps that increases the objective sufficiently.

    Parameters
    ----------
    coef : (p + 1, q) float
    value : float
        Objective at `coef`.
    step : (q (p + 1),) float
    decrement : float
        Expected increase is half its square.

    Returns
    -------
    Search
        Its result is the point, the step and the objective there, or None.
    """
    size = 1.0
    for _ in range(HALVINGS):
        moved = coef + size * step.reshape(coef.T.shape).T
        there = yield moved
        # Near the maximum the objective is flat up to rounding, and the step is accepted.
        if there[0] >= value + 1e-4 * size * decrement**2 or decrement <= 1e-4:
            return moved, size * step, there
        size /= 2
    return None


def crossing(profile: Callable[[float], tuple[float, float]], target: float) -> float:
    """Solve profile(d) = target for an increasing function that is 0 at 0.

    Parameters
    ----------
    profile : callable
        Returns value and slope. An infinite value counts as above the target.
    target : float

    Returns
    -------
    float
        Infinite if the function stays below the target; NaN if it is bracketed but not found.
    """
    low = 0.0
    high = np.inf
    point = target
    for _ in range(MOST_TRIALS):
        value, slope = profile(point)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = point + np.divide(target - value, slope)
        if abs(value - target) <= ROOT_TOLERANCE * target:
            return float(moved)
        low, high = (point, high) if value < target else (low, point)
        if not low < moved < high:
            moved = 2 * point if np.isinf(high) else (low + high) / 2
        point = min(float(moved), 16 * point)
        if np.isinf(point):
            break
    return np.inf if np.isinf(high) else np.nan


class _Metric:
    """Inverse of a curvature, projected on a plane {b: plane'b = 0}.

    Parameters
    ----------
    factor : tuple
        Cholesky factor of the curvature.
    plane : (m, r) float
        Normals.
    """

    def __init__(self, factor: tuple[Floats, bool], plane: Floats) -> None:
        self._factor = factor
        self._across = cho_solve(factor, plane)
        self._plane, self._inner = plane, cho_factor(plane.T @ self._across)
        self._normal = np.linalg.qr(plane)[0]

    def along(self, score: Floats) -> Floats:
        """Project a gradient on the plane; otherwise the rounding error of the normal part would dominate."""
        return np.asarray(score - self._normal @ (self._normal.T @ score))

    def to_plane(self, values: Floats) -> Floats:
        """Difference between coefficients and the nearest ones on the plane, in the curvature's metric."""
        return np.asarray(self._across @ cho_solve(self._inner, self._plane.T @ values))

    def __call__(self, score: Floats) -> Floats:
        """Step along the plane for a gradient."""
        step = np.asarray(cho_solve(self._factor, score))
        return step - self.to_plane(step)


def _value_on_plane(start: Floats, metric: _Metric) -> Search[float | None]:
    """Maximum log-likelihood on a plane by a limited-memory method.

    Parameters
    ----------
    start : (p + 1, q) float
    metric : _Metric
        Approximation of the inverse curvature.

    Returns
    -------
    Search
        Its result is the maximum, or None after more steps than Newton's method would need.
    """
    coef = start
    memory = LimitedMemory(metric)
    value: float
    value, score = yield coef
    for _ in range(SHORT_STEPS):
        ascent = metric.along(score.T.ravel())
        step = memory(ascent)
        decrement = float(np.sqrt(max(float(ascent @ step), 0.0)))
        if decrement <= SHORT_TOLERANCE:
            return value + decrement**2 / 2
        risen = yield from _risen(coef, value, step, decrement)
        if risen is None:
            return None
        coef, step, (value, score) = risen
        memory.learn(step, ascent - metric.along(score.T.ravel()))
    return None


def normals_of(fit: LogisticFit, combinations: Floats) -> Floats:
    """Convert combinations (r, p + 1) of coefficients in data units to unit normals in the frame."""
    normals = combinations @ fit.frame.to_data()
    # Scale first; for extreme units the squares may overflow or underflow.
    normals = normals / np.abs(normals).max(axis=1, keepdims=True)
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def deviances_on(
    fit: LogisticFit, rows: RowBlocks, planes: Sequence[Floats], progress: Callable[[float], object] = bool
) -> list[float]:
    """Likelihood-ratio statistics 2 [l(b^) - max l(b)] of several hypotheses.

    Parameters
    ----------
    fit : LogisticFit
        Fitted to the rows.
    rows : RowBlocks
    planes : sequence of (r, p + 1) float
        Unit normals in the frame; each product with the coefficients of a class is zero under the hypothesis.
    progress : callable, optional
        Called with the number of hypotheses that were completed.

    Returns
    -------
    list of float
        NaN if a search did not converge.
    """
    if not planes:
        return []
    goal = _goal(fit, rows)
    best = _best(fit, rows)
    likelihood = fit.likelihood(rows)
    factor = cho_factor(best.curvature)
    found: list[float] = []
    for first in range(0, len(planes), TOGETHER):
        some = planes[first : first + TOGETHER]
        normals = [np.asarray(np.kron(np.eye(len(fit.others)), own).T, dtype=np.float64) for own in some]
        metrics = [_Metric(factor, plane) for plane in normals]
        # The maximum on the plane of a quadratic likelihood.
        starts = [
            best.coef - metric.to_plane(best.coef.T.ravel()).reshape(best.coef.T.shape).T
            for metric in metrics
        ]
        values: list[float | None] = [None] * len(some)
        if goal.exact and best.coef.size > MANY:
            short = [_value_on_plane(start, metric) for start, metric in zip(starts, metrics, strict=True)]
            values = ended(short, likelihood.gradients)
        left = [i for i, value in enumerate(values) if value is None]
        if goal.exact:
            searches = [_on_plane(starts[i], normals[i], exact=True, arrived=CLOSE) for i in left]
            peaks = [
                peak
                for part in slices(len(searches), max(HELD_NUMBERS // best.coef.size**2, 1))
                for peak in ended(
                    searches[part], lambda coefs: [swept[:3] for swept in likelihood.sweeps(coefs)]
                )
            ]
        else:
            peaks = [_penalized_peak(fit, goal, starts[i], normals[i]) for i in left]
        for i, peak in zip(left, peaks, strict=True):
            values[i] = np.nan if peak is None else peak.value + peak.distance**2 / 2
        found += [2 * (best.value - value) for value in values if value is not None]
        progress(len(some))
    return found


def _penalized_peak(fit: LogisticFit, goal: Goal, start: Floats, plane: Floats) -> Peak | None:
    """Higher of the maxima on a plane that are reached from `start` and from the class proportions.

    Parameters
    ----------
    fit : LogisticFit
    goal : Goal
    start : (p + 1, q) float
    plane : (q (p + 1), r) float

    Returns
    -------
    Peak or None
    """
    constants = np.zeros_like(start)
    constants[0] = np.log(fit.counts[fit.others] / fit.counts[fit.reference])
    climbed = [maximize_on_plane(goal, place, plane) for place in (start, constants)]
    peaks = [replace(peak, distance=0.0) for peak in climbed if peak is not None]
    return max(peaks, key=lambda peak: peak.value, default=None)


def profile_bounds(fit: LogisticFit, rows: RowBlocks, drop: float) -> Floats:
    """Profile likelihood bounds of the coefficients, in units of the data.

    Parameters
    ----------
    fit : LogisticFit
        Fitted to the rows.
    rows : RowBlocks
    drop : float
        Value of 2 [l(b^) - l_p] at the bounds.

    Returns
    -------
    (2, p + 1, q) float
        Lower and upper bounds.
    """
    goal = _goal(fit, rows)
    best = _best(fit, rows)
    factor = cho_factor(best.curvature)
    p1, q = fit.newton.coef.shape
    bounds = np.empty((2, p1, q))
    normals = fit.frame.to_data()
    estimates = fit.params()
    with Progress(2 * p1 * q, "bounds by profile likelihood") as progress:
        for k in range(q):
            for j in range(p1):
                normal = np.zeros((q, p1))
                normal[k] = normals[j]
                size = float(np.hypot.reduce(normals[j]))
                unit = normal.ravel() / size
                error = float(np.sqrt(unit @ cho_solve(factor, unit)))
                for end, sign in enumerate((-1.0, 1.0)):
                    profile = _Profile(goal, best, sign * unit, error)
                    far = crossing(profile, np.sqrt(drop))
                    bounds[end, j, k] = estimates[j, k] + sign * size * error * far
                    progress(1)
    return bounds


class _Profile:
    """Root of 2 [l(b^) - l_p] and its slope, as a function of the distance d from an estimate.

    The other coefficients start at the optimum of the quadratic approximation about the previous point. A
    penalized likelihood can have several maxima on a plane; the search is repeated from the approximation
    about the estimates, and the higher maximum is used.

    Parameters
    ----------
    goal : Goal
    best : Peak
        The estimates.
    normal : (q (p + 1),) float
        Unit normal; normal'b is the coefficient or its negative.
    error : float
        Standard error of normal'b; the unit of d.
    """

    def __init__(self, goal: Goal, best: Peak, normal: Floats, error: float) -> None:
        self._goal = goal
        self._normal = normal
        self._error = error
        self._best = self._near = best
        self._at = 0.0

    def __call__(self, d: float) -> tuple[float, float]:
        starts = [(self._near, self._at)]
        if not self._goal.exact and self._at:
            starts.append((self._best, 0.0))
        peaks = []
        for near, at in starts:
            # Maximum of the quadratic approximation on the plane at distance d.
            path = np.linalg.solve(near.curvature, self._normal)
            path *= (d - at) * self._error / (self._normal @ path)
            start = near.coef + path.reshape(near.coef.T.shape).T
            curvature = None if near is self._best else near.curvature
            peak = maximize_on_plane(self._goal, start, self._normal[:, None], curvature)
            if peak is not None:
                peaks.append(peak)
        if not peaks:
            return np.inf, np.nan
        peak = max(peaks, key=lambda peak: peak.value)
        self._near = peak
        self._at = d
        value = float(np.sqrt(max(2 * (self._best.value - peak.value), 0.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.divide(-self._error * float(peak.gradient @ self._normal), value)
        return value, float(slope)


def _goal(fit: LogisticFit, rows: RowBlocks) -> Goal:
    """Objective of a fit: log-likelihood, or penalized log-likelihood."""
    likelihood = fit.likelihood(rows)
    if fit.bias_reduction:
        return Goal(lambda coef: penalized_sweep(likelihood, coef), exact=False)
    return Goal(lambda coef: likelihood.sweep(coef)[:3], exact=True)


def _best(fit: LogisticFit, rows: RowBlocks) -> Peak:
    """Unconstrained maximum: the estimates of the fit."""
    ended = fit.newton
    value = penalized_sweep(fit.likelihood(rows), ended.coef)[0] if fit.bias_reduction else ended.llf
    return Peak(ended.coef, value, np.zeros(ended.coef.size), ended.information)


class Nesting(NamedTuple):
    """Relation of the columns of a small model to the columns of a large model.

    Attributes
    ----------
    combinations : (p + 1, s + 1) float
        Coefficients of the standardized columns of the small model on the columns of the large model's frame.
    left : (s,) float
        Largest absolute residual of each column, in standard deviations.
    """

    combinations: Floats
    left: Floats

    @property
    def nested(self) -> bool:
        """Whether the residuals are zero up to rounding."""
        return bool((self.left <= ROUNDED).all())


def nesting(
    pairs: Iterable[tuple[Floats, Floats, Floats | None]], large: NewtonFrame, small: NewtonFrame
) -> Nesting:
    """Check whether the columns of a small model are combinations of the columns of a large one.

    Parameters
    ----------
    pairs : iterable of (x, y, weights)
        Rows x (m, p) of the large model, rows y (m, s) of the small model, and weights (m,) or None. It is
        iterated twice.
    large, small : NewtonFrame
        Frames of the models.

    Returns
    -------
    Nesting
    """
    p1 = len(large.scale) + 1
    s1 = len(small.scale) + 1
    gram = np.zeros((p1, p1))
    cross = np.zeros((p1, s1))
    for x, y, _ in pairs:
        z = large.columns(x)
        gram += z @ z.T
        cross += z @ _standardized(small, y).T
    combinations = np.asarray(cho_solve(cho_factor(gram), cross))
    left = np.zeros(s1)
    for x, y, _ in pairs:
        gaps = _standardized(small, y) - combinations.T @ large.columns(x)
        left = np.maximum(left, np.abs(gaps).max(axis=1, initial=0.0))
    return Nesting(combinations, left[1:])


def _standardized(frame: NewtonFrame, x: Floats) -> Floats:
    """A row of ones and the standardized columns (s, m) of rows x (m, s)."""
    z = frame.deviations(x)
    z[1:] = (z[1:] * frame.scale[:, None] - frame.mean[:, None]) / frame.covariance.sd[:, None]
    return z


def null_directions(combinations: Floats) -> Floats:
    """Unit normals (r, p + 1) of the coefficients that the small model sets to zero."""
    left, values, _ = np.linalg.svd(combinations, full_matrices=True)
    rank = int((values > ROUNDED * values[0]).sum())
    return np.asarray(left[:, rank:].T)


class ColumnBlocks:
    """Rows restricted to some columns, block by block.

    Parameters
    ----------
    rows : RowBlocks
    keep : list of int
        Positions of the columns.
    """

    def __init__(self, rows: RowBlocks, keep: list[int]) -> None:
        self._rows = rows
        self._keep = keep

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self._rows:
            # Select along the contiguous axis.
            yield x.T[self._keep].T, codes, weights
