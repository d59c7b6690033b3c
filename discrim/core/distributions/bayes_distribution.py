"""Bayes risk of a known distribution of class and x, and the excess risk of another rule.

The model of known distributions uses `bayes_risk`, `excess_risk` and the pairwise bounds below.

With priors pi_k, densities f_k and costs c_kj of assigning class k to class j, the Bayes rule assigns x to
the class j that minimizes sum_k c_kj pi_k f_k(x); the integral of the minimum is the Bayes risk, with 0/1
costs the Bayes error. The excess risk of another rule d is the integral of sum_k c_k,d(x) pi_k f_k(x) minus
the minimum; the difference is integrated as one function, which keeps a small excess accurate. Discrete
distributions are summed, distributions on a line are integrated by quadrature, and others are averaged over
random points of the classes. Each result has an error bound.

*Bounds on the Bayes error* (Fukunaga, 1990, Introduction to Statistical Pattern Recognition, section 3.4).
min(a, b) <= a^s b^(1-s) for s in [0, 1], hence the error of two classes is at most pi_0^s pi_1^(1-s) times
the integral of f_0^s f_1^(1-s). Chernoff's bound uses the best s, Bhattacharyya's s = 1/2. With rho the
integral for s = 1/2, the Cauchy-Schwarz inequality yields a lower bound as well: (m - sqrt(m^2 - 4 pi_0 pi_1
rho^2))/2, m = pi_0 + pi_1. For more than two classes, the error is at most the sum and at least the maximum
over the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discrim.core.distributions.densities import (
    Density,
    FunctionDensity,
    Normal,
    RowDensity,
    ScipyDensity,
    covariance_rank,
    integrate,
    keep_smallest_rank,
    mahalanobis_distance,
)
from discrim.core.errors import CoreNotSupportedError
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.rules import rules

N_REPLICATES = 16
"""Number of independent randomizations of a quasi-random sequence; their variation estimates the error."""

MAX_BLOCK_POINTS = 2**14
"""Number of points at which the function is evaluated at once."""

CONFIDENCE = 0.99
"""Level of the interval whose half-width is the error bound of a mean over random points."""

MIN_EFFECTIVE_POINTS = 30
"""Effective number of points below which the variation of a mean does not estimate its error reliably."""


class BoundedValue(NamedTuple):
    """A computed value with an error bound and the method of computation.

    Attributes
    ----------
    value : float
        Computed value.
    error_bound : float
        Bound of the absolute error; for random points half the width of a 99 % interval.
    method : {"exact", "sum", "quadrature", "Monte Carlo", "quasi-Monte Carlo"}
        How the value was computed; "sum" if a sum over a discrete distribution omits some values.
    is_sampled : bool
        Whether the value is a mean over random points.
    """

    value: float
    error_bound: float
    method: str
    is_sampled: bool = False


def mean_over_points(
    densities: Sequence[Density],
    prior: Floats,
    function: Callable[[Floats], Floats],
    max_value: float,
    draws: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda more: None,
) -> BoundedValue:
    """Estimate the mean of a function over the distribution by random points of the classes.

    The mean is the sum over the classes of the prior times the mean within the class. The error bound is half
    the width of the 99 % interval of the mean.

    If few points dominate the mean, so that their effective number, the squared sum over the sum of squares,
    is at most `MIN_EFFECTIVE_POINTS`, its variation is not reliable. An event of probability q is missed by n
    points with probability (1 - q)^n, which is at least 1 - 0.99 for q up to ln(100)/n; the bound is then at
    least `max_value` times this q.

    Parameters
    ----------
    densities : sequence of Density
        Densities of the K classes.
    prior : (K,) float
        Prior probabilities of the classes.
    function : callable
        Maps x (m, p) to values (m,) between 0 and `max_value`.
    max_value : float
        Maximum of the function.
    draws : int
        Approximate number of points of each class; quasi-random points are rounded up to a power of two in
        each of `N_REPLICATES` parts.
    seed : int or None
        Seed of the random points; None for a different one in every call.
    progress : callable, optional
        Called with 1 after each of the `N_REPLICATES` parts of the points of a class.

    Returns
    -------
    BoundedValue
        With `is_sampled` true and the method "quasi-Monte Carlo" if all densities are normal or t, otherwise
        "Monte Carlo".

    Raises
    ------
    CoreNotSupportedError
        The function is not finite at a point of a class.
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng(seed)
    n_points = max(draws // N_REPLICATES, 2)
    means = np.zeros(N_REPLICATES)
    value_sum = square_sum = 0.0
    is_quasi = all(allows_quasi_sampling(density) for density in densities)
    replicate_classes = [
        (replicate, k) for replicate in range(N_REPLICATES) for k in np.flatnonzero(prior > 0).tolist()
    ]
    for chunk_slice in slices(len(replicate_classes), max(MAX_BLOCK_POINTS // n_points, 1)):
        chunk = replicate_classes[chunk_slice]
        samples = [
            _quasi_points(densities[k], n_points, rng) if is_quasi else densities[k].draw(n_points, rng)
            for _, k in chunk
        ]
        x = np.concatenate(samples)
        classes = np.repeat([k for _, k in chunk], [len(points) for points in samples])
        weighted_values = prior[classes] * function(x)
        if not np.isfinite(weighted_values).all():
            bad_row = int(np.argmax(~np.isfinite(weighted_values)))
            raise CoreNotSupportedError(
                "no_posterior", class_positions=(classes[bad_row],), x=x[bad_row].tolist()
            )
        for (replicate, _), values in zip(chunk, np.split(weighted_values, len(chunk)), strict=True):
            means[replicate] += values.mean()
            progress(1)
        value_sum = value_sum + float(weighted_values.sum())
        square_sum = square_sum + float(weighted_values @ weighted_values)
    error = float(means.std(ddof=1)) / np.sqrt(N_REPLICATES)
    half_width = float(stdtrit(N_REPLICATES - 1, 0.5 + CONFIDENCE / 2)) * error
    # Compare with the effective number of points, (sum)^2 / sum of squares.
    if not value_sum**2 > MIN_EFFECTIVE_POINTS * square_sum:
        half_width = max(half_width, max_value * float(-np.log1p(-CONFIDENCE)) / (N_REPLICATES * n_points))
    return BoundedValue(
        float(means.mean()), half_width, "quasi-Monte Carlo" if is_quasi else "Monte Carlo", is_sampled=True
    )


def allows_quasi_sampling(density: Density) -> bool:
    """Return whether quasi-random points can be transformed to a sample: the density is normal or t.

    Of the t distributions only multivariate ones count.
    """
    return density.normal is not None or (isinstance(density, RowDensity) and density.student_t is not None)


def _quasi_points(density: Density, size: int, rng: np.random.Generator) -> Floats:
    """Draw points of a normal or t distribution from a scrambled Sobol sequence.

    Parameters
    ----------
    density : Density
        Normal or t density.
    size : int
        Number of points; rounded up to a power of two.
    rng : numpy.random.Generator
        Source of the scrambling.

    Returns
    -------
    (size, p) float
        With `size` rounded up.

    Raises
    ------
    CoreNotSupportedError
        The density is neither normal nor t.
    """
    from scipy.special import chdtri, ndtri
    from scipy.stats import qmc

    student = density.student_t if isinstance(density, RowDensity) else None
    normal, df = student if student is not None else (density.normal, np.inf)
    if normal is None:
        raise CoreNotSupportedError("not_elliptical")
    p = len(normal.mean)
    sobol = qmc.Sobol(p + 1, scramble=True, seed=rng)
    cube = sobol.random_base2(max(int(np.ceil(np.log2(size))), 1))
    # A scrambled point may be exactly zero.
    cube = np.clip(cube, 2.0**-53, 1 - 2.0**-53)
    values, vectors = np.linalg.eigh(normal.cov)
    # The first coordinates of a Sobol sequence are the most uniform; use them for the longest axes.
    root = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    z = ndtri(cube[:, :p]) @ root.T
    if np.isfinite(df):
        with np.errstate(divide="ignore", over="ignore"):
            z /= np.sqrt(chdtri(df, 1 - cube[:, p]) / df)[:, None]
    return np.asarray(normal.mean + z)


Decide = Callable[[Floats], Codes]
"""Decision rule: function of rows (m, p), or of points (m,) of a line, that returns class codes (m,)."""

INTEGRAND_TOLERANCE = 1e-11
DENSITY_TOLERANCE = 1e-9
"""Tolerance of a panel relative to the integral, for the integrand of interest (INTEGRAND_TOLERANCE) and the
densities (DENSITY_TOLERANCE).
"""

MAX_LISTED_VALUES = 1_000_000
"""Maximum number of values of a discrete variable that are summed."""

LOG2_TAIL_STEPS = np.array([-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 2.0, 4.0, 8.0, 16.0, 32.0])
"""Base-2 logarithms of steps into the tails, in units of the distance between the outer quantiles."""

MAX_BLOCK_VALUES = 2**19
"""Maximum number of elements of a point-by-class array in memory."""

MIN_RULE_POINTS = 2**16
"""Minimum number of points of a line at which a rule is evaluated."""

MAX_UNLISTED_MASS = 1e-5
"""Maximum probability that a sum may leave out; above it random points are more accurate."""


@dataclass(frozen=True, slots=True, eq=False)
class MassDistribution:
    """Discrete distribution of class and x as a table of probabilities.

    Attributes
    ----------
    mass : (K, V) float
        Probabilities of the V listed values in each of K classes, without the prior.
    points : (V, p) float
        The values if they are numeric, otherwise their positions (V, 1).
    unlisted_mass : (K,) float
        Probability of all other values in each class.
    """

    mass: Floats
    points: Floats
    unlisted_mass: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.mass)


@dataclass(frozen=True, slots=True)
class DensityDistribution:
    """Class densities of x with the same number of columns; all are continuous or all are discrete.

    Attributes
    ----------
    densities : tuple of Density
        Density of each class.
    """

    densities: tuple[Density, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.densities)

    @property
    def dim(self) -> int:
        """Number of columns of x."""
        return self.densities[0].dim

    @property
    def is_discrete(self) -> bool:
        """Whether x is discrete."""
        return self.densities[0].is_discrete

    @property
    def is_on_line(self) -> bool:
        """Whether x is univariate, continuous and not a `RowDensity`; integrals are then by quadrature."""
        return not self.is_discrete and not any(isinstance(density, RowDensity) for density in self.densities)

    def log_densities(self, x: Floats) -> Floats:
        """Return the log densities, or log probabilities, (m, K) of rows x (m, p).

        If the row lies on the plane of a singular class, only the classes of the smallest such rank have a
        density there; the others get minus infinity.
        """
        logs = np.empty((len(x), self.n_classes), order="F")
        for column, density in zip(logs.T, self.densities, strict=True):
            column[:] = density.log_density(x)
        return keep_smallest_rank(logs, np.array([density.rank for density in self.densities]))

    def normals(self) -> list[Normal] | None:
        """Return mean (p,) and covariance (p, p) of each class; None unless all are normal."""
        normals = [density.normal for density in self.densities if density.normal is not None]
        return normals if len(normals) == self.n_classes else None

    def enumerate_values(self) -> MassDistribution | None:
        """Return the table of probabilities if x is univariate and discrete; otherwise None.

        None also if no value can be listed, or if the values that can be listed (`MAX_LISTED_VALUES` over all
        classes) omit a probability above `MAX_UNLISTED_MASS` in a class.
        """
        densities = [each for each in self.densities if isinstance(each, ScipyDensity)]
        if not self.is_discrete or len(densities) < self.n_classes:
            return None
        lattices = [density.list_values(MAX_LISTED_VALUES // self.n_classes) for density in densities]
        points = np.unique(np.concatenate(lattices))[:, None]
        if not len(points):
            return None
        mass = np.exp(self.log_densities(points)).T
        unlisted = np.array([density.tail_probability(points[0, 0], points[-1, 0]) for density in densities])
        # Probability of values between lattice points, or inaccurate probabilities.
        missing_mass = np.abs(1 - mass.sum(axis=1))
        unlisted = np.where(missing_mass > unlisted + DENSITY_TOLERANCE, missing_mass, unlisted)
        return None if unlisted.max() > MAX_UNLISTED_MASS else MassDistribution(mass, points, unlisted)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionIntervals:
    """Intervals of a line with constant decision.

    Attributes
    ----------
    edges : (r + 1,) float
        Ends of the intervals, ascending; the first and the last are the support's ends, possibly infinite.
    codes : (r,) int
        Decision in each interval, usually a class; -1 if all densities are zero.
    """

    edges: Floats
    codes: Codes

    def codes_at(self, x: Floats) -> Codes:
        """Return the decisions (m,), class codes, at points (m,); an edge belongs to the upper interval."""
        return np.asarray(self.codes[np.searchsorted(self.edges[1:-1], x, side="right")])


# ---- Bayes risk


def bayes_risk(
    distribution: MassDistribution | DensityDistribution,
    prior: Floats,
    costs: Floats,
    draws: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda more: None,
) -> BoundedValue:
    """Compute the Bayes risk of a distribution, the smallest expected cost that a rule can have.

    It is computed exactly, by summation or by quadrature if possible, otherwise by `mean_over_points`.

    Parameters
    ----------
    distribution : MassDistribution or DensityDistribution
        Distribution of x in the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    costs : (K, K) float
        Cost of assigning a class (row) to a class (column).
    draws : int
        Approximate number of random points of each class; used only if the risk is not computed exactly, by
        summation or by quadrature.
    seed : int or None
        Seed of the random points; None for a different one in every call.
    progress : callable, optional
        Called with 1 after each part of the random points.

    Returns
    -------
    BoundedValue
        With method "exact" for one possible class, two normal classes of equal covariance, and complete
        tables; "sum" for tables with unlisted mass; "quadrature" for other densities on a line; and otherwise
        the method of `mean_over_points`.

    Raises
    ------
    CoreNotSupportedError
        The expected cost at a random point is not finite, for example because its densities are infinite.
    """
    if isinstance(distribution, MassDistribution):
        losses = (distribution.mass * prior[:, None]).T @ costs
        missed_risk = float((prior * distribution.unlisted_mass) @ costs.max(axis=1))
        return BoundedValue(
            float(losses.min(axis=1).sum()), missed_risk, "exact" if not missed_risk else "sum"
        )
    positive = np.flatnonzero(prior > 0)
    if len(positive) == 1:
        return BoundedValue(float(costs[positive[0]].min()), 0.0, "exact")
    if len(positive) < distribution.n_classes and rules.is_zero_one_cost(costs):
        restricted = DensityDistribution(tuple(distribution.densities[k] for k in positive.tolist()))
        return bayes_risk(
            restricted, prior[positive], costs[np.ix_(positive, positive)], draws, seed, progress
        )
    mass_distribution = distribution.enumerate_values()
    if mass_distribution is not None:
        return bayes_risk(mass_distribution, prior, costs, draws, seed, progress)
    closed_form = _risk_of_two_normals(distribution, prior, costs)
    if closed_form is not None:
        return BoundedValue(closed_form, 0.0, "exact")
    if distribution.is_on_line:

        def smallest_losses(x: Floats, joint: Floats) -> Floats:
            """Return the smallest expected costs (m, 1) from joint densities (m, K); x (m,) is not used."""
            return rules.min_losses(joint, costs)[:, None]

        breaks = [integration_breaks(distribution), _bayes_intervals(distribution, prior, costs).edges]
        return _integrate_on_line(
            distribution,
            prior,
            smallest_losses,
            breaks,
            lambda missing_mass: float((missing_mass @ costs).min()),
        )

    def smallest_losses_at(x: Floats) -> Floats:
        """Return the smallest expected posterior costs (m,) of rows (m, p)."""
        return rules.min_losses(_posteriors(distribution, x, prior), costs)

    max_loss = float(costs.max(axis=0).min())
    return mean_over_points(
        distribution.densities, prior, smallest_losses_at, max_loss, draws, seed, progress
    )


def _risk_of_two_normals(distribution: DensityDistribution, prior: Floats, costs: Floats) -> float | None:
    """Return the Bayes risk of two normal classes with equal covariance; None for any other distribution.

    None also unless, for both classes, the prior is positive and an error costs more than the correct
    decision.

    With a_k the prior times the cost of an error on class k and D the Mahalanobis distance of the means, it
    is a_0 Phi(-D/2 + ln(a_1/a_0)/D) + a_1 Phi(-D/2 - ln(a_1/a_0)/D), plus the costs of correct decisions.

    Parameters
    ----------
    distribution : DensityDistribution
        Densities of the classes.
    prior : (2,) float
        Prior probabilities of the classes.
    costs : (2, 2) float
        Cost of assigning a class (row) to a class (column).

    Returns
    -------
    float or None
    """
    normals = distribution.normals()
    if normals is None or len(normals) != 2 or not np.array_equal(normals[0].cov, normals[1].cov):
        return None
    correct_costs = prior * np.diag(costs)
    errors = prior * np.array([costs[0, 1], costs[1, 0]]) - correct_costs
    if not (errors > 0).all():
        return None
    from scipy.special import ndtr

    distance = mahalanobis_distance(normals[0].cov, normals[0].mean, normals[1].mean)
    if distance == 0:
        return float(correct_costs.sum() + errors.min())
    shift = np.log(errors[1] / errors[0]) / distance
    error_rates = ndtr(np.array([shift, -shift]) - 0.5 * distance)
    return float(correct_costs.sum() + errors @ error_rates)


def _posteriors(distribution: DensityDistribution, x: Floats, prior: Floats) -> Floats:
    """Return the posterior probabilities (m, K) of rows x (m, p) under a prior (K,); NaN without density."""
    return np.exp(rules.log_posteriors(rules.joint_scores(distribution.log_densities(x), prior)))


# ---- on a line


def _integrate_on_line(
    distribution: DensityDistribution,
    prior: Floats,
    function: Callable[[Floats, Floats], Floats],
    breaks: list[Floats],
    max_integral: Callable[[Floats], float],
) -> BoundedValue:
    """Integrate a function of joint densities over a line, with a bound that includes missed probability.

    The densities are integrated together with the function. If they do not integrate to one, a panel missed
    mass (a tail above 1e308, a spike between two points, a pole) or their values are inaccurate.

    Parameters
    ----------
    distribution : DensityDistribution
        Densities of the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    function : callable
        Maps x (m,) and prior times density (m, K) to values (m, q). The integral of the first column is
        returned; integrals of the others are added to the bound.
    breaks : list of (b,) float
        Points between which the integrand is smooth.
    max_integral : callable
        Maps class probabilities (K,) of a set to the maximum of the function's integral over the set.

    Returns
    -------
    BoundedValue
        Integral of the first column, with method "quadrature".
    """
    positive = np.flatnonzero(prior > 0)

    def values(x: Floats) -> Floats:
        """Return the columns (m, k + q) at points (m,): k joint densities, and q values of the function.

        The k classes have a positive prior. Densities that are not finite are replaced by zero.
        """
        joint = np.exp(rules.joint_scores(distribution.log_densities(x[:, None]), prior))
        # A pole is a single point without mass, and points above 1e308 cannot be represented.
        joint[~(np.isfinite(joint) & np.isfinite(x)[:, None])] = 0.0
        return np.column_stack([joint[:, positive], function(x, joint)])

    k = len(positive)
    n_functions = function(np.zeros(1), np.zeros((1, distribution.n_classes))).shape[1]
    rtol = np.concatenate([np.full(k, DENSITY_TOLERANCE), np.full(n_functions, INTEGRAND_TOLERANCE)])
    value, bound = integrate(values, np.unique(np.concatenate(breaks)), rtol)
    missing_mass = np.zeros(distribution.n_classes)
    missing_mass[positive] = np.abs(prior[positive] - value[:k])
    quadrature_error = np.zeros(distribution.n_classes)
    quadrature_error[positive] = bound[:k] + DENSITY_TOLERANCE * prior[positive]
    missed_integral = (
        max_integral(np.maximum(missing_mass, quadrature_error))
        if (missing_mass > quadrature_error).any()
        else 0.0
    )
    rounding = value[k] * (missing_mass[positive] / prior[positive]).max()
    error = bound[k] + missed_integral + rounding + (value[k + 1 :] + bound[k + 1 :]).sum()
    return BoundedValue(float(value[k]), float(error), "quadrature")


def decision_intervals(distribution: DensityDistribution, decide: Decide) -> DecisionIntervals:
    """Find the intervals of constant decision on a line by a grid and bisection.

    Parameters
    ----------
    distribution : DensityDistribution
        Distribution of x on the line; the grid has 32 points between each two of its quantiles.
    decide : callable
        Maps points (m,) to codes (m,).

    Returns
    -------
    DecisionIntervals
        Two changes between adjacent grid points that cancel are missed.
    """
    chunk_size = max(MAX_BLOCK_VALUES // distribution.n_classes, 1)
    grid = _line_grid(distribution, 0)

    def decide_in_chunks(x: Floats) -> Codes:
        """Return the decisions at points (m,), computed in chunks to limit the memory."""
        return np.concatenate([decide(x[chunk]) for chunk in slices(max(len(x), 1), chunk_size)])

    return _locate_intervals(_support_ends(distribution), grid, decide_in_chunks(grid), decide_in_chunks)


def _line_grid(distribution: DensityDistribution, n_points: int) -> Floats:
    """Return a grid of about `n_points` points or more, dense between quantiles, geometric in the tails.

    It is ascending, and strictly inside the support.
    """
    low, high = _support_ends(distribution)
    outer = np.concatenate([density.landmarks[[0, -1]] for density in _line_densities(distribution)])
    landmarks = np.unique(
        np.concatenate([_landmarks_with_tails(density) for density in _line_densities(distribution)])
    )
    landmarks = landmarks[
        (landmarks > low) & (landmarks < high) & (landmarks >= outer.min()) & (landmarks <= outer.max())
    ]
    width = float(landmarks[-1] - landmarks[0]) or 1.0
    steps = np.linspace(0.0, 1.0, max(33, n_points // len(landmarks)))[:-1]
    inner = (landmarks[:-1, None] + np.diff(landmarks)[:, None] * steps).ravel()
    # Densities may cross far out in the tails, on different scales.
    tail_steps = width * 2.0 ** np.arange(-4, 40)
    grid = np.concatenate(
        [landmarks[0] - tail_steps[::-1], inner, landmarks[-1:], landmarks[-1] + tail_steps]
    )
    return np.unique(grid[(grid > low) & (grid < high)])


def _landmarks_with_tails(density: ScipyDensity | FunctionDensity) -> Floats:
    """Return quantiles of a density and points in its tails, ascending.

    The remaining mass of a narrow class may lie near its last quantile, between quantiles of a wide class.
    """
    landmarks = density.landmarks
    tail_steps = (landmarks[-1] - landmarks[0]) * 2.0**LOG2_TAIL_STEPS
    return np.concatenate([landmarks[0] - tail_steps[::-1], landmarks, landmarks[-1] + tail_steps])


def _locate_intervals(
    ends: tuple[float, float], grid: Floats, codes: Codes, decide: Decide
) -> DecisionIntervals:
    """Return intervals of constant decision from decisions on a grid; bisection locates the changes.

    Parameters
    ----------
    ends : (float, float)
        Ends of the line.
    grid : (g,) float
        Points, ascending.
    codes : (g,) int
        Decisions at the grid points.
    decide : callable
        Maps points (m,) to codes (m,).

    Returns
    -------
    DecisionIntervals
    """
    changes = np.flatnonzero(codes[1:] != codes[:-1])
    lower = grid[changes]
    upper = grid[changes + 1]
    codes_before = codes[changes]
    for _ in range(200):
        midpoint = lower + 0.5 * (upper - lower)
        if not len(lower) or ((midpoint == lower) | (midpoint == upper)).all():
            break
        is_same = decide(midpoint) == codes_before
        lower, upper = np.where(is_same, midpoint, lower), np.where(is_same, upper, midpoint)
    edges = np.concatenate([ends[:1], upper, ends[1:]])
    return DecisionIntervals(edges, codes[np.concatenate([changes, [len(grid) - 1]])])


def _line_densities(distribution: DensityDistribution) -> list[ScipyDensity | FunctionDensity]:
    """Return the univariate densities; a `RowDensity`, without quantiles and support, is omitted."""
    return [density for density in distribution.densities if not isinstance(density, RowDensity)]


def _support_ends(distribution: DensityDistribution) -> tuple[float, float]:
    """Return the smallest and the largest point of the supports of the classes, which may be infinite."""
    supports = [density.support for density in _line_densities(distribution)]
    return min(low for low, _ in supports), max(high for _, high in supports)


def _bayes_intervals(distribution: DensityDistribution, prior: Floats, costs: Floats) -> DecisionIntervals:
    """Return the decision intervals of the Bayes rule for a prior (K,) and costs (K, K)."""

    def best(x: Floats) -> Codes:
        """Return the class codes (m,) of the Bayes rule at points (m,); -1 if all densities are zero."""
        return rules.least_cost_codes(
            rules.joint_scores(distribution.log_densities(x[:, None]), prior), costs
        )

    return decision_intervals(distribution, best)


def integration_breaks(distribution: DensityDistribution) -> Floats:
    """Return points (b,) between which densities are smooth.

    They are quantiles, ends of supports, and points at which densities become zero within their supports.
    """
    low, high = _support_ends(distribution)
    finite_ends = [
        np.array([end for end in density.support if np.isfinite(end)])
        for density in _line_densities(distribution)
    ]
    landmarks = [_landmarks_with_tails(density) for density in _line_densities(distribution)]

    def count_positive(x: Floats) -> Codes:
        """Return the number of classes with positive density at points (m,)."""
        return np.asarray((distribution.log_densities(x[:, None]) > -np.inf).sum(axis=1))

    edges = decision_intervals(distribution, count_positive).edges
    breaks = np.unique(np.concatenate([np.array([low, high]), *finite_ends, *landmarks, edges]))
    return breaks[(breaks >= low) & (breaks <= high)]


# ---- another rule


def excess_risk(
    distribution: MassDistribution | DensityDistribution,
    prior: Floats,
    costs: Floats,
    decide: Decide,
    draws: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda more: None,
) -> BoundedValue:
    """Compute the excess risk of a rule, its expected cost minus the Bayes risk.

    Parameters
    ----------
    distribution : MassDistribution or DensityDistribution
        Distribution of x in the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    costs : (K, K) float
        Cost of assigning a class (row) to a class (column).
    decide : callable
        The rule: maps x (m, p), for a `MassDistribution` its points, to class codes (m,).
    draws : int
        Approximate number of random points of each class; used only if the risk is not computed exactly, by
        summation or by quadrature.
    seed : int or None
        Seed of the random points; None for a different one in every call.
    progress : callable, optional
        Called with 1 after each part of the random points.

    Returns
    -------
    BoundedValue
        With method "exact" for complete tables and "sum" for tables with unlisted mass; "quadrature" for
        other densities on a line, and otherwise the method of `mean_over_points`.

    Raises
    ------
    CoreNotSupportedError
        The expected cost at a random point is not finite, for example because its densities are infinite.
    """
    if isinstance(distribution, MassDistribution):
        is_possible = (distribution.mass > 0).any(axis=0)
        losses = (distribution.mass[:, is_possible] * prior[:, None]).T @ costs
        excess_losses = _excess_losses(losses, decide(distribution.points[is_possible]))
        missed_risk = float((prior * distribution.unlisted_mass) @ costs.max(axis=1))
        return BoundedValue(float(excess_losses.sum()), missed_risk, "exact" if not missed_risk else "sum")
    mass_distribution = distribution.enumerate_values()
    if mass_distribution is not None:
        return excess_risk(mass_distribution, prior, costs, decide, draws, seed, progress)
    if distribution.is_on_line:
        return _excess_on_line(distribution, prior, costs, decide)

    def excess_at(x: Floats) -> Floats:
        """Return the excess posterior costs (m,) of the rule at rows (m, p); NaN without density."""
        return _excess_losses(_posteriors(distribution, x, prior) @ costs, decide(x))

    max_excess = float((costs.max(axis=1) - costs.min(axis=1)).max())
    return mean_over_points(distribution.densities, prior, excess_at, max_excess, draws, seed, progress)


def _excess_on_line(
    distribution: DensityDistribution, prior: Floats, costs: Floats, decide: Decide
) -> BoundedValue:
    """Compute the excess risk of a rule for univariate continuous x, by quadrature.

    Parameters
    ----------
    distribution : DensityDistribution
        Densities of the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    costs : (K, K) float
        Cost of assigning a class (row) to a class (column).
    decide : callable
        Maps x (m, 1) to class codes (m,).

    Returns
    -------
    BoundedValue
        With method "quadrature". Its bound includes the difference between two grids for the decisions.
    """

    def decide_where_positive(x: Floats) -> Codes:
        """Return the decisions of the rule, class codes, at points (m,); -1 at points of zero density."""
        # The formula of the rule may overflow at points of zero density.
        joint = np.exp(rules.joint_scores(distribution.log_densities(x[:, None]), prior))
        codes = np.full(len(x), -1)
        is_positive = (joint > 0).any(axis=1)
        codes[is_positive] = decide(x[is_positive, None])
        return codes

    # Decisions may change between grid points. A grid with half the points shows by how much.
    ends = _support_ends(distribution)
    grid = _line_grid(distribution, MIN_RULE_POINTS)
    codes = decide_where_positive(grid)
    fine_regions = _locate_intervals(ends, grid, codes, decide_where_positive)
    half_regions = _locate_intervals(ends, grid[::2], codes[::2], decide_where_positive)

    def excess_at(x: Floats, joint: Floats) -> Floats:
        """Return two columns (m, 2): excess costs of the rule, and their difference between the two grids.

        They are densities, from points x (m,) and prior times density `joint` (m, K).
        """
        losses = joint @ costs
        decisions = [decide_where_positive(x), fine_regions.codes_at(x), half_regions.codes_at(x)]
        rule_excess, fine_excess, half_excess = (_excess_losses(losses, code) for code in decisions)
        return np.column_stack([rule_excess, np.abs(fine_excess - half_excess)])

    breaks = [
        integration_breaks(distribution),
        _bayes_intervals(distribution, prior, costs).edges,
        fine_regions.edges,
        half_regions.edges,
    ]
    max_excess_by_class = costs.max(axis=1) - costs.min(axis=1)
    return _integrate_on_line(
        distribution, prior, excess_at, breaks, lambda missing_mass: float(missing_mass @ max_excess_by_class)
    )


def _excess_losses(losses: Floats, codes: Codes) -> Floats:
    """Return the loss (m,) at the decision `codes` (m,) minus the smallest loss, of losses (m, K) by row."""
    return np.asarray(losses[np.arange(len(losses)), codes] - losses.min(axis=1))


Affinity = Callable[[float], float]
"""Function of the Chernoff exponent s in [0, 1] that returns ln of the integral of f_0^s f_1^(1-s)."""


class PairBound(NamedTuple):
    """Bounds on the contribution of two classes to the Bayes error.

    The contribution is the integral of min(pi_0 f_0, pi_1 f_1); the priors need not sum to one.

    Attributes
    ----------
    exponent : float
        Chernoff's s, the exponent of the first class.
    chernoff, bhattacharyya : float
        Upper bounds.
    lower : float
        Lower bound.
    distance : float
        Bhattacharyya distance, -ln rho.
    """

    exponent: float
    chernoff: float
    bhattacharyya: float
    lower: float
    distance: float


def pair_bound(
    affinity: Affinity, first_prior: float, second_prior: float, log_lower: float | None = None
) -> PairBound:
    """Compute Chernoff's and Bhattacharyya's bounds on the contribution of two classes to the Bayes error.

    Parameters
    ----------
    affinity : callable
        Maps s to the logarithm of the integral of f_0^s f_1^(1-s), a convex function.
    first_prior, second_prior : float
        Prior probabilities of the classes of f_0 and f_1; all bounds are zero if one of them is zero.
    log_lower : float, optional
        Lower bound of the log affinity at s = 1/2 that allows for the error of the integral.

    Returns
    -------
    PairBound
        With exponent 1/2 and bounds of zero if a prior is zero.
    """
    from scipy.optimize import minimize_scalar

    log_rho = affinity(0.5)
    rho = float(np.exp(log_rho))
    if not (first_prior > 0 and second_prior > 0):
        return PairBound(0.5, 0.0, 0.0, 0.0, -log_rho)
    logs = np.log([first_prior, second_prior])

    def log_bound(s: float) -> float:
        """Return the logarithm of Chernoff's bound for the exponent s."""
        return float(s * logs[0] + (1 - s) * logs[1] + affinity(s))

    minimum = minimize_scalar(log_bound, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    bounds = {float(minimum.x): float(minimum.fun)} | {s: log_bound(s) for s in (0.0, 0.5, 1.0)}
    best = min(bounds, key=lambda s: bounds[s])
    total = first_prior + second_prior
    # A difference of square roots would be inaccurate for a small affinity.
    least_rho = rho if log_lower is None else float(np.exp(log_lower))
    product = 4 * first_prior * second_prior * least_rho**2
    lower = 0.5 * product / (total + np.sqrt(max(total**2 - product, 0.0)))
    upper = float(np.sqrt(first_prior * second_prior)) * rho
    return PairBound(best, float(np.exp(bounds[best])), upper, float(lower), -log_rho)


def normal_affinity(first: Normal, second: Normal) -> Affinity:
    """Return the log affinity of two normal distributions, in closed form, as a function of s.

    It is -s(1-s)/2 d'C^-1 d - (ln|C| - (1-s) ln|A| - s ln|B|)/2, with A and B the covariances of the first
    and the second, which have full rank, C = (1-s) A + s B, and d the difference of the means. The first
    density has the exponent s, the second 1 - s.
    """
    d = second.mean - first.mean
    logs = [float(np.linalg.slogdet(normal.cov)[1]) for normal in (first, second)]

    def affinity(s: float) -> float:
        """Return the log affinity for the exponent s."""
        mixed = (1 - s) * first.cov + s * second.cov
        distance = float(d @ np.linalg.solve(mixed, d))
        log_det = float(np.linalg.slogdet(mixed)[1]) - (1 - s) * logs[0] - s * logs[1]
        return -0.5 * (s * (1 - s) * distance + log_det)

    return affinity


def log_affinity(
    distribution: MassDistribution | DensityDistribution, i: int, j: int, draws: int, seed: int | None
) -> tuple[Affinity, float | None]:
    """Return the log affinity of two classes as a function of the Chernoff exponent s.

    The affinity is the integral (or sum) of f_i^s f_j^(1-s). It is exact for normal densities and for masses,
    computed by quadrature for other densities on a line, and by Monte Carlo in all other cases.

    Parameters
    ----------
    distribution : MassDistribution or DensityDistribution
        Distribution of x in the classes.
    i, j : int
        Positions of the classes.
    draws : int
        Number of random points of each class, if the affinity is computed by Monte Carlo.
    seed : int or None
        Seed of the random points; None for a different one in every call.

    Returns
    -------
    affinity : callable
        Maps s in [0, 1] to the log affinity; with quadrature, to an upper bound that includes its error.
    log_lower : float or None
        Lower bound at s = 1/2 that allows for the quadrature error; None unless computed by quadrature.
    """
    if isinstance(distribution, MassDistribution):
        with np.errstate(divide="ignore"):
            logs = np.log(distribution.mass[[i, j]])
        return lambda s: _safe_log(_density_powers(logs[0], logs[1], s).sum()), None
    pair = DensityDistribution((distribution.densities[i], distribution.densities[j]))
    normals = pair.normals()
    if normals is not None and all(is_of_full_rank(normal.cov) for normal in normals):
        return normal_affinity(*normals), None
    mass_distribution = distribution.enumerate_values()
    if mass_distribution is not None:
        return log_affinity(mass_distribution, i, j, draws, seed)
    if distribution.is_on_line:
        return _line_affinity(pair)
    # Sample from the mixture h with equal weights, for which f_0^s f_1^(1-s)/h is bounded.
    rng = np.random.default_rng(seed)
    x = np.concatenate([density.draw(draws, rng) for density in pair.densities])
    log_ratios = rules.log_posteriors(pair.log_densities(x)) + np.log(2.0)
    return lambda s: _safe_log(_density_powers(log_ratios[:, 0], log_ratios[:, 1], s).mean()), None


def is_of_full_rank(cov: Floats) -> bool:
    """Return whether a covariance (p, p) has full rank, which a density requires."""
    return covariance_rank(cov) == len(cov)


def _density_powers(first: Floats, second: Floats, s: float) -> Floats:
    """Return f_0^s f_1^(1-s) (m,) from log densities (m,); zero if either is zero or infinite."""
    finite = np.isfinite(first) & np.isfinite(second)
    products = np.zeros(np.shape(first))
    with np.errstate(over="ignore"):
        products[finite] = np.exp(s * first[finite] + (1 - s) * second[finite])
    return np.where(np.isfinite(products), products, 0.0)


def _safe_log(value: float) -> float:
    """Return the logarithm; minus infinity for zero and negative values."""
    return float(np.log(value)) if value > 0 else -np.inf


def _line_affinity(pair: DensityDistribution) -> tuple[Affinity, float]:
    """Return the log affinity by quadrature, increased by its error bound to keep upper bounds valid.

    Probabilities d_0 and d_1 that the panels missed contribute at most d_0^s d_1^(1-s), by Hoelder's
    inequality.

    Returns
    -------
    affinity : callable
        Maps s in [0, 1] to the log of the affinity plus its error bound; minus infinity if both are zero.
    log_lower : float
        Log of the affinity at s = 1/2 minus its error bound; minus infinity if that is not positive.
    """
    breaks = integration_breaks(pair)

    def integral(function: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Integrate a function over the line; return the integrals (q,) and their error bounds (q,).

        `function` maps the log densities (m, 2) of points to values (m, q).
        """

        def values_at(x: Floats) -> Floats:
            """Return the values (m, q) of the function at points (m,); infinite points have density zero."""
            logs = pair.log_densities(x[:, None])
            logs[~np.isfinite(x)] = -np.inf
            return function(logs)

        return integrate(values_at, breaks, rtol=1e-10)

    masses, bound = integral(
        lambda logs: np.column_stack([_density_powers(logs[:, k], logs[:, k], 1.0) for k in (0, 1)])
    )
    missing_mass = np.abs(1 - masses)
    quadrature_error = bound + DENSITY_TOLERANCE
    missing_mass = (
        np.maximum(missing_mass, quadrature_error) if (missing_mass > quadrature_error).any() else np.zeros(2)
    )

    def affinity(s: float) -> tuple[float, float]:
        """Return the affinity for the exponent s and its error bound."""
        value, error = integral(lambda logs: _density_powers(logs[:, 0], logs[:, 1], s)[:, None])
        missed_integral = missing_mass[0] ** s * missing_mass[1] ** (1 - s) if missing_mass.any() else 0.0
        return float(value[0]), float(error[0] + missed_integral)

    value, error = affinity(0.5)
    return lambda s: _safe_log(sum(affinity(s))), _safe_log(value - error)
