"""Constrained maxima of the logistic likelihood: likelihood-ratio tests and profile likelihood intervals.

`deviances_of_planes` computes the statistics of tests of terms, `profile_bounds` the confidence limits of
coefficients, and `check_nesting` checks whether two models are nested. The results of `logistic` use them.

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
from discrim.core.regression.newton import (
    MAX_HALVINGS,
    LimitedMemory,
    NewtonFrame,
    bfgs_update,
    penalized_sweep,
)

T = TypeVar("T")

MAX_STEPS = 1000
"""Maximum number of steps on a plane; for separated classes a penalized likelihood needs dozens."""

PEAK_TOLERANCE = 1e-7
"""Norm of the projected score, in standard errors, that counts as zero. Its square is the error of the
maximum.
"""

MAXIMUM_TOLERANCE = 1e-4
"""`PEAK_TOLERANCE` if only the value of the maximum is needed; half the squared norm is added to it."""

MAX_PARALLEL_PLANES = 16
"""Number of planes that are searched at once."""

MAX_INFORMATION_ELEMENTS = 2**22
"""Maximum number of elements of the information matrices of planes that are searched at once."""

GRADIENT_TOLERANCE = 1e-5
"""Distance to the maximum, in standard errors, at which passes without the information end.

Half the squared distance is added to the value, an accurate correction.
"""

MIN_GRADIENT_COEFS = 60
"""Number of coefficients above which a pass without the information costs a small part of one with it."""

MAX_GRADIENT_STEPS = 60
"""Number of passes without the information after which Newton's method is faster."""

MAX_PROFILE_POINTS = 100
"""Maximum number of points of a profile for one bound."""

MAX_ROUNDING_RESIDUAL = 1e-6
"""Residual of a column on the columns of another model that counts as zero, in its standard deviations."""

ROOT_TOLERANCE = 1e-9
"""Relative error of the root r(d), see the module docstring, at a bound before the last step."""


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Objective function that is maximized, as a function of coefficients in the frame.

    There are p columns and the q = K - 1 classes other than the reference.

    Attributes
    ----------
    evaluate : callable
        Maps coefficients (p + 1, q) to the value, the gradient (p + 1, q) and the information (q (p + 1),
        q (p + 1)), ordered by class.
    is_exact : bool
        Whether the information is the curvature. Otherwise (penalized likelihood) the curvature is estimated
        from gradients by BFGS updates.
    """

    evaluate: Callable[[Floats], tuple[float, Floats, Floats]]
    is_exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    """Maximum of an objective on a plane.

    Attributes
    ----------
    coef : (p + 1, q) float
        Coefficients at the maximum.
    value : float
        Objective at the maximum.
    gradient : (q (p + 1),) float
        Gradient of the objective, ordered by class; zero along the plane up to the tolerance.
    curvature : (q (p + 1), q (p + 1)) float
        Minus the Hessian, or a positive definite approximation, ordered by class.
    distance : float
        Remaining distance to the maximum in standard errors; half its square can be added to `value`.
    """

    coef: Floats
    value: float
    gradient: Floats
    curvature: Floats
    distance: float = 0.0


Search = Generator[Floats, Any, T]
"""Generator that yields coefficients (p + 1, q), receives the objective there, and returns a result T.

It receives a tuple of value, score (p + 1, q) and, unless the search does without it, information.
"""


def run_searches(searches: Sequence[Search[T]], evaluate: Callable[[list[Floats]], Sequence[Any]]) -> list[T]:
    """Run several searches; each pass over the rows evaluates the points of all unfinished searches.

    Parameters
    ----------
    searches : sequence of Search
        The searches, each of which yields at least once.
    evaluate : callable
        Maps a list of coefficients (p + 1, q) to the list of tuples that the searches receive: value, score
        (p + 1, q) and, unless the searches do without it, information (q (p + 1), q (p + 1)).

    Returns
    -------
    list of T
        Results of the searches, in their order.
    """
    points = {i: next(search) for i, search in enumerate(searches)}
    outcomes = dict[int, T]()
    while points:
        waiting = points
        objectives = evaluate(list(points.values()))
        points = {}
        for i, objective in zip(waiting, objectives, strict=True):
            try:
                points[i] = searches[i].send(objective)
            except StopIteration as end:
                outcomes[i] = end.value
    return [outcomes[i] for i in range(len(searches))]


def maximize_on_plane(
    objective: Objective, start: Floats, plane: Floats, curvature: Floats | None = None
) -> Peak | None:
    """Maximize an objective over the plane start + {b: plane'b = 0}.

    Parameters
    ----------
    objective : Objective
        The objective.
    start : (p + 1, q) float
        Starting coefficients, a point of the plane.
    plane : (q (p + 1), r) float
        Normals of the plane, ordered by class.
    curvature : (q (p + 1), q (p + 1)) float, optional
        Starting value of the curvature, used only if the information is not the curvature; the information
        by default.

    Returns
    -------
    Peak or None
        None if the search fails: the curvature is not positive definite, no step increases the objective, or
        `MAX_STEPS` do not suffice.
    """
    search = _search_plane(start, plane, curvature, exact=objective.is_exact)
    return run_searches([search], lambda coefs: [objective.evaluate(coef) for coef in coefs])[0]


def _search_plane(
    start: Floats,
    plane: Floats,
    curvature: Floats | None = None,
    *,
    exact: bool,
    tolerance: float = PEAK_TOLERANCE,
) -> Search[Peak | None]:
    """Search the maximum over start + {b: plane'b = 0} by Newton's method with a line search.

    Parameters
    ----------
    start : (p + 1, q) float
        Starting coefficients, a point of the plane.
    plane : (q (p + 1), r) float
        Normals of the plane, ordered by class.
    curvature : (q (p + 1), q (p + 1)) float, optional
        Starting value, used only if the information is not the curvature; by default the information.
    exact : bool
        Whether the information is the curvature.
    tolerance : float
        Norm of the projected score, in standard errors, at which the search ends.

    Returns
    -------
    Search
        Receives value, score and information. Its result is a `Peak`, or None if the curvature is not
        positive definite, no step increases the objective, or `MAX_STEPS` do not suffice.
    """
    coef = start
    value, score, information = yield coef
    curvature_estimate = information if exact or curvature is None else curvature
    for _ in range(MAX_STEPS):
        gradient = score.T.ravel()
        try:
            factor = cho_factor(curvature_estimate)
        except (LinAlgError, ValueError):
            return None
        step = cho_solve(factor, gradient)
        normals = cho_solve(factor, plane)
        step -= normals @ np.linalg.solve(plane.T @ normals, plane.T @ step)
        decrement = float(np.sqrt(max(gradient @ step, 0.0)))
        if decrement <= tolerance:
            return Peak(coef, value, gradient, curvature_estimate, decrement)
        accepted = yield from _line_search(coef, value, step, decrement)
        if accepted is None:
            return None
        coef, step, (value, score, information) = accepted
        curvature_estimate = (
            information if exact else bfgs_update(curvature_estimate, step, gradient - score.T.ravel())
        )
    return None


def _line_search(
    coef: Floats, value: float, step: Floats, decrement: float
) -> Search[tuple[Floats, Floats, Any] | None]:
    """Find the first point along halved steps that increases the objective sufficiently.

    The full step is accepted without a comparison if the decrement is at most 1e-4.

    Parameters
    ----------
    coef : (p + 1, q) float
        Current coefficients.
    value : float
        Objective at `coef`.
    step : (q (p + 1),) float
        Full step, ordered by class.
    decrement : float
        Newton decrement of the step; half its square is the expected increase.

    Returns
    -------
    Search
        Its result is the point (p + 1, q), the step to it (q (p + 1),) and the tuple that was received there;
        None if none of `MAX_HALVINGS` points increases the objective.
    """
    size = 1.0
    for _ in range(MAX_HALVINGS):
        new_coef = coef + size * step.reshape(coef.T.shape).T
        new_objective = yield new_coef
        # Near the maximum the objective is flat up to rounding, and the step is accepted.
        if new_objective[0] >= value + 1e-4 * size * decrement**2 or decrement <= 1e-4:
            return new_coef, size * step, new_objective
        size /= 2
    return None


def solve_increasing(profile: Callable[[float], tuple[float, float]], target: float) -> float:
    """Solve profile(d) = target for an increasing function that is 0 at 0.

    Parameters
    ----------
    profile : callable
        Returns value and slope at d. An infinite value counts as above the target.
    target : float
        Positive value.

    Returns
    -------
    float
        The solution d. Infinite if the function is below the target at all points tried; NaN if it is
        bracketed but not found within `MAX_PROFILE_POINTS`.
    """
    low = 0.0
    high = np.inf
    point = target
    for _ in range(MAX_PROFILE_POINTS):
        value, slope = profile(point)
        with np.errstate(divide="ignore", invalid="ignore"):
            next_point = point + np.divide(target - value, slope)
        if abs(value - target) <= ROOT_TOLERANCE * target:
            return float(next_point)
        low, high = (point, high) if value < target else (low, point)
        if not low < next_point < high:
            next_point = 2 * point if np.isinf(high) else (low + high) / 2
        point = min(float(next_point), 16 * point)
        if np.isinf(point):
            break
    return np.inf if np.isinf(high) else np.nan


class _PlaneMetric:
    """Inverse of a curvature (m, m), projected on a plane {b: plane'b = 0}.

    Parameters
    ----------
    factor : tuple
        Result of `cho_factor` for the curvature.
    plane : (m, r) float
        Normals of the plane, linearly independent.
    """

    def __init__(self, factor: tuple[Floats, bool], plane: Floats) -> None:
        """Factor the projection; see the class for the parameters."""
        self._factor = factor
        self._inverse_normals = cho_solve(factor, plane)
        self._plane, self._inner = plane, cho_factor(plane.T @ self._inverse_normals)
        self._normal = np.linalg.qr(plane)[0]

    def project(self, score: Floats) -> Floats:
        """Return the component of a gradient (m,) along the plane, by the orthogonal projection."""
        # Otherwise the rounding error of the normal component would dominate.
        return np.asarray(score - self._normal @ (self._normal.T @ score))

    def to_plane(self, values: Floats) -> Floats:
        """Return `values` (m,) minus the nearest point of the plane in the metric of the curvature."""
        return np.asarray(self._inverse_normals @ cho_solve(self._inner, self._plane.T @ values))

    def __call__(self, score: Floats) -> Floats:
        """Return the step (m,) along the plane for a gradient (m,)."""
        step = np.asarray(cho_solve(self._factor, score))
        return step - self.to_plane(step)


def _search_value_on_plane(start: Floats, metric: _PlaneMetric) -> Search[float | None]:
    """Search the maximum log-likelihood on a plane by a limited-memory method, without the information.

    Parameters
    ----------
    start : (p + 1, q) float
        Starting coefficients, a point of the plane.
    metric : _PlaneMetric
        Approximation of the inverse curvature.

    Returns
    -------
    Search
        Receives value and score. Its result is the maximum value, or None if no step increases it or after
        `MAX_GRADIENT_STEPS` steps.
    """
    coef = start
    memory = LimitedMemory(metric)
    value: float
    value, score = yield coef
    for _ in range(MAX_GRADIENT_STEPS):
        ascent = metric.project(score.T.ravel())
        step = memory(ascent)
        decrement = float(np.sqrt(max(float(ascent @ step), 0.0)))
        if decrement <= GRADIENT_TOLERANCE:
            return value + decrement**2 / 2
        accepted = yield from _line_search(coef, value, step, decrement)
        if accepted is None:
            return None
        coef, step, (value, score) = accepted
        memory.learn(step, ascent - metric.project(score.T.ravel()))
    return None


def frame_normals(fit: LogisticFit, combinations: Floats) -> Floats:
    """Convert combinations (r, p + 1) of coefficients in data units to unit normals (r, p + 1) in the frame.

    Each row applies to the coefficients of one class, intercept first, and must not be zero. Each row of the
    result has length one; its product with coefficients is a multiple of the combination.
    """
    normals = combinations @ fit.frame.to_data()
    # Scale first; for extreme units the squares may overflow or underflow.
    normals = normals / np.abs(normals).max(axis=1, keepdims=True)
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def deviances_of_planes(
    fit: LogisticFit, rows: RowBlocks, planes: Sequence[Floats], progress: Callable[[float], object] = bool
) -> list[float]:
    """Compute the likelihood-ratio statistics 2 [l(b^) - max l(b)] of several hypotheses.

    With a penalty, l is the penalized log-likelihood.

    Parameters
    ----------
    fit : LogisticFit
        Model fitted to the rows.
    rows : RowBlocks
        Rows in blocks, in the units of the data.
    planes : sequence of (r, p + 1) float
        Unit normals in the frame; each product with the coefficients of every class is zero under the
        hypothesis, which therefore has r (K - 1) degrees of freedom.
    progress : callable, optional
        Called with the number of hypotheses that were completed since the last call.

    Returns
    -------
    list of float
        One for each hypothesis; NaN if its search did not converge.
    """
    if not planes:
        return []
    objective = _objective_of_fit(fit, rows)
    best = _unconstrained_peak(fit, rows)
    likelihood = fit.likelihood(rows)
    factor = cho_factor(best.curvature)
    deviances: list[float] = []
    for first in range(0, len(planes), MAX_PARALLEL_PLANES):
        batch = planes[first : first + MAX_PARALLEL_PLANES]
        normals = [np.asarray(np.kron(np.eye(len(fit.others)), own).T, dtype=np.float64) for own in batch]
        metrics = [_PlaneMetric(factor, plane) for plane in normals]
        # The maximum on the plane of a quadratic likelihood.
        starts = [
            best.coef - metric.to_plane(best.coef.T.ravel()).reshape(best.coef.T.shape).T
            for metric in metrics
        ]
        values: list[float | None] = [None] * len(batch)
        if objective.is_exact and best.coef.size > MIN_GRADIENT_COEFS:
            searches_by_gradient = [
                _search_value_on_plane(start, metric) for start, metric in zip(starts, metrics, strict=True)
            ]
            values = run_searches(searches_by_gradient, likelihood.gradients)
        unsolved = [i for i, value in enumerate(values) if value is None]
        if objective.is_exact:
            searches = [
                _search_plane(starts[i], normals[i], exact=True, tolerance=MAXIMUM_TOLERANCE)
                for i in unsolved
            ]
            peaks = [
                peak
                for search_slice in slices(
                    len(searches), max(MAX_INFORMATION_ELEMENTS // best.coef.size**2, 1)
                )
                for peak in run_searches(
                    searches[search_slice], lambda coefs: [sums[:3] for sums in likelihood.sweeps(coefs)]
                )
            ]
        else:
            peaks = [_penalized_peak(fit, objective, starts[i], normals[i]) for i in unsolved]
        for i, peak in zip(unsolved, peaks, strict=True):
            values[i] = np.nan if peak is None else peak.value + peak.distance**2 / 2
        deviances += [2 * (best.value - value) for value in values if value is not None]
        progress(len(batch))
    return deviances


def _penalized_peak(fit: LogisticFit, objective: Objective, start: Floats, plane: Floats) -> Peak | None:
    """Return the higher one of the maxima on a plane reached from `start` and from the class proportions.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    objective : Objective
        The penalized log-likelihood.
    start : (p + 1, q) float
        Starting coefficients, a point of the plane.
    plane : (q (p + 1), r) float
        Normals of the plane, ordered by class.

    Returns
    -------
    Peak or None
        Its `distance` is set to zero, so that its `value` is not corrected. None if both searches fail.
    """
    null_coef = np.zeros_like(start)
    null_coef[0] = np.log(fit.counts[fit.others] / fit.counts[fit.reference])
    results = [maximize_on_plane(objective, start_coef, plane) for start_coef in (start, null_coef)]
    peaks = [replace(peak, distance=0.0) for peak in results if peak is not None]
    return max(peaks, key=lambda peak: peak.value, default=None)


def profile_bounds(fit: LogisticFit, rows: RowBlocks, drop: float) -> Floats:
    """Compute the profile likelihood bounds of all coefficients, in units of the data.

    Parameters
    ----------
    fit : LogisticFit
        Model fitted to the rows.
    rows : RowBlocks
        Rows in blocks.
    drop : float
        Value of 2 [l(b^) - l_p] at the bounds, a quantile of chi-square with one degree of freedom.

    Returns
    -------
    (2, p + 1, q) float
        Lower and upper bounds, intercepts first, for the classes `fit.others`. Infinite if the profile does
        not fall by `drop`; NaN if the bound was not found.
    """
    objective = _objective_of_fit(fit, rows)
    best = _unconstrained_peak(fit, rows)
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
                standard_error = float(np.sqrt(unit @ cho_solve(factor, unit)))
                for end, sign in enumerate((-1.0, 1.0)):
                    profile = _ProfileRoot(objective, best, sign * unit, standard_error)
                    root_distance = solve_increasing(profile, np.sqrt(drop))
                    bounds[end, j, k] = estimates[j, k] + sign * size * standard_error * root_distance
                    progress(1)
    return bounds


class _ProfileRoot:
    """Function that returns sqrt(2 [l(b^) - l_p]) and its slope at a distance d from an estimate.

    The other coefficients start at the optimum of the quadratic approximation about the previous point. A
    penalized likelihood can have several maxima on a plane; the search is repeated from the approximation
    about the estimates, and the higher maximum is used.

    Parameters
    ----------
    objective : Objective
        Objective of the fit.
    best : Peak
        The unconstrained maximum, at the estimates.
    normal : (q (p + 1),) float
        Unit normal; normal'b is the coefficient or its negative.
    standard_error : float
        Standard error of normal'b; the unit of d.
    """

    def __init__(self, objective: Objective, best: Peak, normal: Floats, standard_error: float) -> None:
        """Start at the estimates; see the class for the parameters."""
        self._objective = objective
        self._normal = normal
        self._standard_error = standard_error
        self._estimates = self._nearby_peak = best
        self._nearby_distance = 0.0

    def __call__(self, d: float) -> tuple[float, float]:
        """Return the root and its slope at distance d > 0; infinity and NaN if no maximum is found.

        The next call starts at the maximum of this one.
        """
        starts = [(self._nearby_peak, self._nearby_distance)]
        if not self._objective.is_exact and self._nearby_distance:
            starts.append((self._estimates, 0.0))
        peaks = []
        for nearby_peak, nearby_distance in starts:
            # Maximum of the quadratic approximation on the plane at distance d.
            shift = np.linalg.solve(nearby_peak.curvature, self._normal)
            shift *= (d - nearby_distance) * self._standard_error / (self._normal @ shift)
            start = nearby_peak.coef + shift.reshape(nearby_peak.coef.T.shape).T
            curvature = None if nearby_peak is self._estimates else nearby_peak.curvature
            peak = maximize_on_plane(self._objective, start, self._normal[:, None], curvature)
            if peak is not None:
                peaks.append(peak)
        if not peaks:
            return np.inf, np.nan
        peak = max(peaks, key=lambda peak: peak.value)
        self._nearby_peak = peak
        self._nearby_distance = d
        value = float(np.sqrt(max(2 * (self._estimates.value - peak.value), 0.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.divide(-self._standard_error * float(peak.gradient @ self._normal), value)
        return value, float(slope)


def _objective_of_fit(fit: LogisticFit, rows: RowBlocks) -> Objective:
    """Return the objective of a fit for the rows: log-likelihood, or penalized log-likelihood."""
    likelihood = fit.likelihood(rows)
    if fit.bias_reduction:
        return Objective(lambda coef: penalized_sweep(likelihood, coef), is_exact=False)
    return Objective(lambda coef: likelihood.sweep(coef)[:3], is_exact=True)


def _unconstrained_peak(fit: LogisticFit, rows: RowBlocks) -> Peak:
    """Return the unconstrained maximum of the objective of a fit, which is at its estimates.

    The objective is the log-likelihood, or the penalized log-likelihood, of `rows`, the rows of the fit.
    """
    search_result = fit.newton
    value = (
        penalized_sweep(fit.likelihood(rows), search_result.coef)[0]
        if fit.bias_reduction
        else search_result.llf
    )
    return Peak(search_result.coef, value, np.zeros(search_result.coef.size), search_result.information)


class Nesting(NamedTuple):
    """Relation of the s columns of a small model to the p columns of a large model.

    Attributes
    ----------
    combinations : (p + 1, s + 1) float
        The matrix B: coefficients of the standardized columns of the small model, and a leading one, on the
        columns of the large model's frame.
    max_residuals : (s,) float
        Largest absolute residual of each column over the rows, in standard deviations of the column.
    """

    combinations: Floats
    max_residuals: Floats

    @property
    def is_nested(self) -> bool:
        """Whether the small model is nested in the large one: its residuals are zero up to rounding."""
        return bool((self.max_residuals <= MAX_ROUNDING_RESIDUAL).all())


def check_nesting(
    pairs: Iterable[tuple[Floats, Floats, Floats | None]], large: NewtonFrame, small: NewtonFrame
) -> Nesting:
    """Check whether the columns of a small model are combinations of the columns of a large one.

    Parameters
    ----------
    pairs : iterable of (x, y, weights)
        Rows x (m, p) of the large model, the same rows y (m, s) of the small model, and weights, which are
        not used. It is iterated twice.
    large, small : NewtonFrame
        Frames of the models.

    Returns
    -------
    Nesting
        The combinations by least squares over all rows, and the largest residuals.
    """
    p1 = len(large.scale) + 1
    s1 = len(small.scale) + 1
    gram = np.zeros((p1, p1))
    cross = np.zeros((p1, s1))
    for x, y, _ in pairs:
        z = large.transform(x)
        gram += z @ z.T
        cross += z @ _standardized_columns(small, y).T
    combinations = np.asarray(cho_solve(cho_factor(gram), cross))
    max_residuals = np.zeros(s1)
    for x, y, _ in pairs:
        residuals = _standardized_columns(small, y) - combinations.T @ large.transform(x)
        max_residuals = np.maximum(max_residuals, np.abs(residuals).max(axis=1, initial=0.0))
    return Nesting(combinations, max_residuals[1:])


def _standardized_columns(frame: NewtonFrame, x: Floats) -> Floats:
    """Return a line of ones and the standardized columns, (s + 1, m), of rows x (m, s) in data units.

    The columns have mean zero and standard deviation one over the rows of the frame; they are not rotated.
    """
    z = frame.deviations(x)
    z[1:] = (z[1:] * frame.scale[:, None] - frame.mean[:, None]) / frame.covariance.sd[:, None]
    return z


def null_directions(combinations: Floats) -> Floats:
    """Return unit normals (r, p + 1) of the hypothesis of the small model, for `deviances_of_planes`.

    `combinations` (p + 1, s + 1) are the ones of a `Nesting`, of rank p + 1 - r; one normal per row, in the
    frame of the large model.
    """
    left_vectors, singular_values, _ = np.linalg.svd(combinations, full_matrices=True)
    rank = int((singular_values > MAX_ROUNDING_RESIDUAL * singular_values[0]).sum())
    return np.asarray(left_vectors[:, rank:].T)


class ColumnBlocks:
    """Rows restricted to some columns, block by block; an iterable of blocks (x, codes, weights).

    Parameters
    ----------
    rows : RowBlocks
        Rows with all columns.
    columns : list of int
        Positions of the columns.
    """

    def __init__(self, rows: RowBlocks, columns: list[int]) -> None:
        """Store rows and columns."""
        self._rows = rows
        self._columns = columns

    def __iter__(self) -> Iterator[RowBlock]:
        """Yield the blocks of rows with the selected columns."""
        for x, codes, weights in self._rows:
            # Select along the contiguous axis.
            yield x.T[self._columns].T, codes, weights
