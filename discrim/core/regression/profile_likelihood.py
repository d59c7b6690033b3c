"""Maxima of the logistic likelihood on a plane: likelihood ratios of columns, profile intervals.

Theory. Let l(b) be the log-likelihood, or the penalized one of Firth, and its maximum be at b^. A
hypothesis that fixes linear functions A'b = c is judged by 2 [l(b^) - max l(b)], the maximum over the plane
A'b = c, whose law is that of chi-square with as many degrees of freedom as A has columns. Under the penalty
the information stays that of the whole model (Heinze & Schemper, 2002, Statistics in Medicine 21,
2409-2419). A coefficient's profile l_p(t) is that maximum where the coefficient is t, and its interval holds
the t at which 2 [l(b^) - l_p(t)] does not exceed the quantile of chi-square with one degree of freedom
(Venzon & Moolgavkar, 1988, Applied Statistics 37, 87-94). Where classes overlap, l is concave and falls
without limit in every direction, and so does its profile: each bound is finite.

*On the plane* a step of Newton's method is H^-1 s - H^-1 A (A'H^-1 A)^-1 A'H^-1 s.

Where the information is not the curvature (the penalty has one of its own) Fisher scoring converges slowly;
the curvature is then learnt from the gradients of the steps, and carried from one point of a profile to
the next.

Where coefficients are many, nearly all of a pass is the information. There the maximum without columns is
sought by passes that are short of it: by what the gradients of the steps teach (`LimitedMemory`) of the
projected inverse information at the estimates, factored once for all terms.

*The bound.* With t = b^ + d se, the root r(d) = sqrt(2 [l(b^) - l_p]) is d where the likelihood is quadratic
and close to a line where it is not; its derivative follows from the score at the constrained maximum, which
is a multiple of A. Newton's method on r(d) = z, kept between points inside and outside, takes a few steps.

*Nested models.* A model is nested in another where each of its columns, and the constant, is a combination of
the other's: Z_s = Z_l B, whatever the columns are called. With Gram matrix G of Z_l and C = Z_l'Z_s, B = G^-1
C; what the rows of Z_s - Z_l B leave then is no more than rounding. In both the columns have variance one.
The hypothesis that takes the large model to the small one is N'b = 0, N the directions across the range of B.
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
"""Steps on a plane; where classes are separated, a penalized likelihood takes dozens."""

AT_PEAK = 1e-7
"""Score on the plane, in standard errors, that counts as zero: its square is what the value is short of."""

CLOSE = 1e-4
"""Likewise where the value alone is asked for, to which half the square of what is left is added."""

TOGETHER = 16
"""Planes that are searched at once."""

HELD_NUMBERS = 2**22
"""Numbers that the informations of planes searched at once may have."""

SHORT_TOLERANCE = 1e-5
"""Where passes are without the information: half the square of the distance is added, and is nearly right."""

MANY = 60
"""Coefficients beyond which a pass without the information costs a small part of one with it."""

SHORT_STEPS = 60
"""Passes without the information after which Newton's method is faster."""

MOST_TRIALS = 100
"""Points at which a profile is looked at for one bound."""

ROUNDED = 1e-6
"""What combinations of a model's columns may miss a column of another by, in its standard deviations."""

ROOT_TOLERANCE = 1e-9
"""Relative error of the square root of the drop at a bound, before a last step."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What is maximized: at coefficients (p + 1, q) its value, gradient (p + 1, q) and information.

    Where it is exact the information is the curvature. That of a penalized likelihood is not, and is learnt
    from the gradients (Broyden, Fletcher, Goldfarb, Shanno).
    """

    at: Callable[[Floats], tuple[float, Floats, Floats]]
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    """The maximum on a plane, at coefficients (p + 1, q).

    The gradient (q (p + 1),), class by class, is zero along the plane; the curvature, as far as it is known,
    is positive definite. The distance is that of the maximum, in standard errors.
    """

    coef: Floats
    value: float
    gradient: Floats
    curvature: Floats
    distance: float = 0.0


Search = Generator[Floats, Any, T]
"""Yields coefficients (p + 1, q), takes what the goal is there, and returns what it was looking for."""


def ended(searches: Sequence[Search[T]], at: Callable[[list[Floats]], Sequence[Any]]) -> list[T]:
    """What searches return, whose places are looked at together: as many passes as the longest takes."""
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
    """The maximum over start + {b: plane'b = 0}; None without one. See `_on_plane`."""
    search = _on_plane(start, plane, curvature, exact=goal.exact)
    return ended([search], lambda coefs: [goal.at(coef) for coef in coefs])[0]


def _on_plane(
    start: Floats, plane: Floats, curvature: Floats | None = None, *, exact: bool, arrived: float = AT_PEAK
) -> Search[Peak | None]:
    """The maximum over start + {b: plane'b = 0}, by Newton's method with a line search; None without one.

    The plane is its normals (q (p + 1), r), class by class. Where the goal does not tell the curvature, the
    search begins with that of a point nearby, or with the information.
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
    """The first place along halved steps that is no lower, the step there, and what the goal is there."""
    size = 1.0
    for _ in range(HALVINGS):
        moved = coef + size * step.reshape(coef.T.shape).T
        there = yield moved
        # Beside the maximum the goal is flat to rounding: there the step is right as it is.
        if there[0] >= value + 1e-4 * size * decrement**2 or decrement <= 1e-4:
            return moved, size * step, there
        size /= 2
    return None


def crossing(profile: Callable[[float], tuple[float, float]], target: float) -> float:
    """Where a function that rises from 0 at 0 reaches a target; infinite where it never does.

    The profile gives value and slope, and an infinite value is beyond the target, whatever its slope. The
    point is missing where the function was seen on both sides of the target, but not at it.
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
    """The inverse of a curvature, projected on a plane {b: plane'b = 0}."""

    def __init__(self, factor: tuple[Floats, bool], plane: Floats) -> None:
        self._factor = factor
        self._across = cho_solve(factor, plane)
        self._plane, self._inner = plane, cho_factor(plane.T @ self._across)
        self._normal = np.linalg.qr(plane)[0]

    def along(self, score: Floats) -> Floats:
        """A gradient without its part across the plane, whose rounding would be more than what is left."""
        return np.asarray(score - self._normal @ (self._normal.T @ score))

    def to_plane(self, values: Floats) -> Floats:
        """How far coefficients are from the nearest that lie on the plane."""
        return np.asarray(self._across @ cho_solve(self._inner, self._plane.T @ values))

    def __call__(self, score: Floats) -> Floats:
        """The step of a gradient along the plane."""
        step = np.asarray(cho_solve(self._factor, score))
        return step - self.to_plane(step)


def _value_on_plane(start: Floats, metric: _Metric) -> Search[float | None]:
    """The largest log-likelihood on a plane, by limited memory from a metric close to its curvature.

    None where the search has not ended after as many steps as would be slower than Newton's.
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
    """Combinations (r, p + 1) of the coefficients of the data as normals of length one in the frame."""
    normals = combinations @ fit.frame.to_data()
    # Scaled first, as squares of what takes units far from one may be no doubles.
    normals = normals / np.abs(normals).max(axis=1, keepdims=True)
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def deviances_on(
    fit: LogisticFit, rows: RowBlocks, planes: Sequence[Floats], progress: Callable[[float], object] = bool
) -> list[float]:
    """2 [l(b^) - max l(b)] of each plane, the maximum over coefficients whose products with normals are zero.

    The fit is of the rows, and the normals (r, p + 1) are in the frame, of length one. What the searches look
    at is read together, and of how many planes the value is known is told. Missing where a search did not
    converge.
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
        # Where the likelihood has its maximum on the plane if it is quadratic.
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
    """The higher of the maxima on a plane that are climbed from a start and from the class proportions."""
    constants = np.zeros_like(start)
    constants[0] = np.log(fit.counts[fit.others] / fit.counts[fit.reference])
    climbed = [maximize_on_plane(goal, place, plane) for place in (start, constants)]
    peaks = [replace(peak, distance=0.0) for peak in climbed if peak is not None]
    return max(peaks, key=lambda peak: peak.value, default=None)


def profile_bounds(fit: LogisticFit, rows: RowBlocks, drop: float) -> Floats:
    """Bounds (2, p + 1, q) of the coefficients, in units of the data: 2 [l(b^) - l_p] is the drop there."""
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
    """The root of twice the drop, and its slope, where one coefficient lies d standard errors off.

    The other coefficients start where they would be if the likelihood were quadratic about the point before
    it. A penalized likelihood can have several maxima on a plane; it is climbed from the quadratic about the
    estimates too, and the higher maximum counts. With the normal (q (p + 1),), of unit length, normal'b is
    the coefficient, or its negative.
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
            # The maximum on the plane that lies some standard errors from a point.
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
    likelihood = fit.likelihood(rows)
    if fit.bias_reduction:
        return Goal(lambda coef: penalized_sweep(likelihood, coef), exact=False)
    return Goal(lambda coef: likelihood.sweep(coef)[:3], exact=True)


def _best(fit: LogisticFit, rows: RowBlocks) -> Peak:
    """The maximum without a plane: the estimates."""
    ended = fit.newton
    value = penalized_sweep(fit.likelihood(rows), ended.coef)[0] if fit.bias_reduction else ended.llf
    return Peak(ended.coef, value, np.zeros(ended.coef.size), ended.information)


class Nesting(NamedTuple):
    """How the columns of a small model lie within those of a large one.

    Combinations (p + 1, s + 1) of the columns of the large model's frame make the standardized ones of the
    small model, of each of which a row leaves at most so many standard deviations (s,).
    """

    combinations: Floats
    left: Floats

    @property
    def nested(self) -> bool:
        """Whether nothing but rounding is left."""
        return bool((self.left <= ROUNDED).all())


def nesting(
    pairs: Iterable[tuple[Floats, Floats, Floats | None]], large: NewtonFrame, small: NewtonFrame
) -> Nesting:
    """Whether the columns of one model are combinations of those of another, in two passes.

    The pairs, which can be iterated again, are rows x (m, p) of the large model, rows x (m, s) of the small
    one and their weights.
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
    """A row of ones over the columns (s, m) of rows x (m, s), of mean zero and variance one each."""
    z = frame.deviations(x)
    z[1:] = (z[1:] * frame.scale[:, None] - frame.mean[:, None]) / frame.covariance.sd[:, None]
    return z


def null_directions(combinations: Floats) -> Floats:
    """Normals (r, p + 1), of length one, of the coefficients of which the small model is made."""
    left, values, _ = np.linalg.svd(combinations, full_matrices=True)
    rank = int((values > ROUNDED * values[0]).sum())
    return np.asarray(left[:, rank:].T)


class ColumnBlocks:
    """Rows of some of the columns, block by block."""

    def __init__(self, rows: RowBlocks, keep: list[int]) -> None:
        self._rows = rows
        self._keep = keep

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self._rows:
            # Column by column, as the rows lie.
            yield x.T[self._keep].T, codes, weights
