"""Bayes risk of a known distribution of class and x, and the excess risk of another rule.

The model of known distributions uses `least_risk`, `excess` and the pairwise bounds below.

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
    distance_of,
    integrate,
    on_smallest,
    rank_of,
)
from discrim.core.errors import CoreNotSupportedError
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.rules import rules

REPLICATES = 16
"""Number of independent randomizations of a quasi-random sequence; their variation estimates the error."""

AT_ONCE = 2**14
"""Number of points at which the function is evaluated at once."""

CONFIDENCE = 0.99
"""Level of the interval whose half-width is the error bound of a mean over random points."""

FEW_POINTS = 30
"""Effective number of points below which the variation of a mean does not estimate its error reliably."""


class Amount(NamedTuple):
    """A computed value with an error bound and the method of computation."""

    value: float
    bound: float
    method: str
    is_sampled: bool = False


def mean_over_points(
    densities: Sequence[Density],
    prior: Floats,
    of: Callable[[Floats], Floats],
    most: float,
    draws: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda more: None,
) -> Amount:
    """Mean of a function over random points of the classes, with half the width of its 99 % interval.

    If few points dominate the mean, its variation is not reliable. An event of probability q is missed by n
    points with probability (1 - q)^n, which is at least 1 - 0.99 for q up to ln(100)/n; the bound is then at
    least `most` times this q.

    Parameters
    ----------
    densities : sequence of Density
        Densities of the K classes.
    prior : (K,) float
    of : callable
        Maps x (m, p) to values (m,) between 0 and `most`.
    most : float
        Maximum of the function.
    draws : int
        Number of points of each class.
    seed : int or None
    progress : callable, optional
        Called with 1 after each of the `REPLICATES` parts of a class.

    Returns
    -------
    Amount
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng(seed)
    size = max(draws // REPLICATES, 2)
    means = np.zeros(REPLICATES)
    first = second = 0.0
    quasi = all(quasi_normal(density) for density in densities)
    runs = [(replicate, k) for replicate in range(REPLICATES) for k in np.flatnonzero(prior > 0).tolist()]
    for at_once in slices(len(runs), max(AT_ONCE // size, 1)):
        part = runs[at_once]
        drawn = [
            _quasi_points(densities[k], size, rng) if quasi else densities[k].draw(size, rng) for _, k in part
        ]
        x = np.concatenate(drawn)
        classes = np.repeat([k for _, k in part], [len(points) for points in drawn])
        share = prior[classes] * of(x)
        if not np.isfinite(share).all():
            at = int(np.argmax(~np.isfinite(share)))
            raise CoreNotSupportedError("no_posterior", class_positions=(classes[at],), x=x[at].tolist())
        for (replicate, _), values in zip(part, np.split(share, len(part)), strict=True):
            means[replicate] += values.mean()
            progress(1)
        first = first + float(share.sum())
        second = second + float(share @ share)
    error = float(means.std(ddof=1)) / np.sqrt(REPLICATES)
    half = float(stdtrit(REPLICATES - 1, 0.5 + CONFIDENCE / 2)) * error
    # Compare with the effective number of points, (sum)^2 / sum of squares.
    if not first**2 > FEW_POINTS * second:
        half = max(half, most * float(-np.log1p(-CONFIDENCE)) / (REPLICATES * size))
    return Amount(float(means.mean()), half, "quasi-Monte Carlo" if quasi else "Monte Carlo", is_sampled=True)


def quasi_normal(density: Density) -> bool:
    """Return whether quasi-random points can be transformed to a sample of the density."""
    return density.normal is not None or (isinstance(density, RowDensity) and density.student is not None)


def _quasi_points(density: Density, size: int, rng: np.random.Generator) -> Floats:
    """Draw points of a normal or t distribution from a scrambled Sobol sequence.

    Parameters
    ----------
    density : Density
    size : int
        Number of points; rounded up to a power of two.
    rng : numpy.random.Generator

    Returns
    -------
    (size, p) float
    """
    from scipy.special import chdtri, ndtri
    from scipy.stats import qmc

    student = density.student if isinstance(density, RowDensity) else None
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

CLOSE = 1e-11
LOOSE = 1e-9
"""Tolerance of a panel relative to the integral, for the integrand of interest (CLOSE) and the densities
(LOOSE).
"""

MOST_VALUES = 1_000_000
"""Maximum number of values of a discrete variable that are summed."""

BEYOND = np.array([-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 2.0, 4.0, 8.0, 16.0, 32.0])
"""Base-2 logarithms of steps into the tails, in units of the distance between the outer quantiles."""

CELLS = 2**19
"""Maximum number of elements of a point-by-class array in memory."""

RULE_POINTS = 2**16
"""Minimum number of points of a line at which a rule is evaluated."""

MOST_UNLISTED = 1e-5
"""Maximum probability that a sum may leave out; above it random points are more accurate."""


@dataclass(frozen=True, slots=True, eq=False)
class MassLaw:
    """Discrete distribution of class and x as a table of probabilities.

    Attributes
    ----------
    mass : (K, V) float
        Probabilities of the listed values in each class.
    points : (V, p) float
        The values if they are numeric, otherwise their positions (V, 1).
    unlisted : (K,) float
        Probability of all other values in each class.
    """

    mass: Floats
    points: Floats
    unlisted: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.mass)


@dataclass(frozen=True, slots=True)
class DensityLaw:
    """Class densities of one dimension; all are continuous or all are discrete.

    Attributes
    ----------
    densities : tuple of Density
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
    def discrete(self) -> bool:
        """Whether x is discrete."""
        return self.densities[0].discrete

    @property
    def on_line(self) -> bool:
        """Whether x is univariate and continuous, and quadrature applies."""
        return not self.discrete and not any(isinstance(each, RowDensity) for each in self.densities)

    def log_densities(self, x: Floats) -> Floats:
        """Log densities (m, K) of rows x (m, p)."""
        logs = np.empty((len(x), self.n_classes), order="F")
        for column, density in zip(logs.T, self.densities, strict=True):
            column[:] = density.log_density(x)
        return on_smallest(logs, np.array([density.rank for density in self.densities]))

    def normals(self) -> list[Normal] | None:
        """Parameters of the classes; None unless all are normal."""
        known = [density.normal for density in self.densities if density.normal is not None]
        return known if len(known) == self.n_classes else None

    def enumerated(self) -> MassLaw | None:
        """Table of probabilities if x is univariate and discrete with few enough values; otherwise None."""
        densities = [each for each in self.densities if isinstance(each, ScipyDensity)]
        if not self.discrete or len(densities) < self.n_classes:
            return None
        lattices = [density.lattice(MOST_VALUES // self.n_classes) for density in densities]
        points = np.unique(np.concatenate(lattices))[:, None]
        if not len(points):
            return None
        mass = np.exp(self.log_densities(points)).T
        unlisted = np.array([density.outside(points[0, 0], points[-1, 0]) for density in densities])
        # Probability of values between lattice points, or inaccurate probabilities.
        lack = np.abs(1 - mass.sum(axis=1))
        unlisted = np.where(lack > unlisted + LOOSE, lack, unlisted)
        return None if unlisted.max() > MOST_UNLISTED else MassLaw(mass, points, unlisted)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionIntervals:
    """Intervals of a line with constant decision.

    Attributes
    ----------
    edges : (r + 1,) float
    codes : (r,) int
        Class assigned in each interval; -1 if all densities are zero.
    """

    edges: Floats
    codes: Codes

    def at(self, x: Floats) -> Codes:
        """Codes (m,) at points (m,)."""
        return np.asarray(self.codes[np.searchsorted(self.edges[1:-1], x, side="right")])


# ---- Bayes risk


def least_risk(
    law: MassLaw | DensityLaw,
    prior: Floats,
    costs: Floats,
    draws: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda more: None,
) -> Amount:
    """Bayes risk of a distribution.

    Computed exactly, by summation or by quadrature if possible, otherwise by `mean_over_points`.

    Parameters
    ----------
    law : MassLaw or DensityLaw
    prior : (K,) float
    costs : (K, K) float
        Cost of assigning a class (row) to a class (column).
    draws : int
        Number of random points of each class.
    seed : int or None
    progress : callable, optional

    Returns
    -------
    Amount
    """
    if isinstance(law, MassLaw):
        losses = (law.mass * prior[:, None]).T @ costs
        missed = float((prior * law.unlisted) @ costs.max(axis=1))
        return Amount(float(losses.min(axis=1).sum()), missed, "exact" if not missed else "sum")
    used = np.flatnonzero(prior > 0)
    if len(used) == 1:
        return Amount(float(costs[used[0]].min()), 0.0, "exact")
    if len(used) < law.n_classes and rules.counts_errors(costs):
        possible = DensityLaw(tuple(law.densities[k] for k in used.tolist()))
        return least_risk(possible, prior[used], costs[np.ix_(used, used)], draws, seed, progress)
    listed = law.enumerated()
    if listed is not None:
        return least_risk(listed, prior, costs, draws, seed, progress)
    closed = _two_normals(law, prior, costs)
    if closed is not None:
        return Amount(closed, 0.0, "exact")
    if law.on_line:

        def least(x: Floats, joint: Floats) -> Floats:
            return rules.least_losses(joint, costs)[:, None]

        breaks = [line_breaks(law), _best_regions(law, prior, costs).edges]
        return _on_line(law, prior, least, breaks, lambda lack: float((lack @ costs).min()))

    def least_at(x: Floats) -> Floats:
        return rules.least_losses(_posteriors(law, x, prior), costs)

    most = float(costs.max(axis=0).min())
    return mean_over_points(law.densities, prior, least_at, most, draws, seed, progress)


def _two_normals(law: DensityLaw, prior: Floats, costs: Floats) -> float | None:
    """Bayes risk of two normal classes with equal covariance; None for any other distribution.

    With a_k the prior times the cost of an error on class k and D the Mahalanobis distance of the means, it
    is a_0 Phi(-D/2 + ln(a_1/a_0)/D) + a_1 Phi(-D/2 - ln(a_1/a_0)/D), plus the costs of correct decisions.

    Parameters
    ----------
    law : DensityLaw
    prior : (2,) float
    costs : (2, 2) float

    Returns
    -------
    float or None
    """
    normals = law.normals()
    if normals is None or len(normals) != 2 or not np.array_equal(normals[0].cov, normals[1].cov):
        return None
    right = prior * np.diag(costs)
    errors = prior * np.array([costs[0, 1], costs[1, 0]]) - right
    if not (errors > 0).all():
        return None
    from scipy.special import ndtr

    distance = distance_of(normals[0].cov, normals[0].mean, normals[1].mean)
    if distance == 0:
        return float(right.sum() + errors.min())
    shift = np.log(errors[1] / errors[0]) / distance
    wrong = ndtr(np.array([shift, -shift]) - 0.5 * distance)
    return float(right.sum() + errors @ wrong)


def _posteriors(law: DensityLaw, x: Floats, prior: Floats) -> Floats:
    """Posterior probabilities (m, K) of rows x (m, p)."""
    return np.exp(rules.log_posteriors(rules.joint_scores(law.log_densities(x), prior)))


# ---- on a line


def _on_line(
    law: DensityLaw,
    prior: Floats,
    of: Callable[[Floats, Floats], Floats],
    breaks: list[Floats],
    most: Callable[[Floats], float],
) -> Amount:
    """Integrate a function over a line, with a bound that includes missed probability mass.

    The densities are integrated together with the function. If they do not integrate to one, a panel missed
    mass (a tail above 1e308, a spike between two points, a pole) or their values are inaccurate.

    Parameters
    ----------
    law : DensityLaw
    prior : (K,) float
    of : callable
        Maps x (m,) and prior times density (m, K) to values (m, q). The integral of the first column is
        returned; integrals of the others are added to the bound.
    breaks : list of (b,) float
        Points between which the integrand is smooth.
    most : callable
        Maps class probabilities (K,) of a set to the maximum of the function's integral over the set.

    Returns
    -------
    Amount
    """
    used = np.flatnonzero(prior > 0)

    def values(x: Floats) -> Floats:
        joint = np.exp(rules.joint_scores(law.log_densities(x[:, None]), prior))
        # A pole is a single point without mass, and points above 1e308 cannot be represented.
        joint[~(np.isfinite(joint) & np.isfinite(x)[:, None])] = 0.0
        return np.column_stack([joint[:, used], of(x, joint)])

    k = len(used)
    extra = of(np.zeros(1), np.zeros((1, law.n_classes))).shape[1]
    rtol = np.concatenate([np.full(k, LOOSE), np.full(extra, CLOSE)])
    value, bound = integrate(values, np.unique(np.concatenate(breaks)), rtol)
    lack = np.zeros(law.n_classes)
    lack[used] = np.abs(prior[used] - value[:k])
    seen = np.zeros(law.n_classes)
    seen[used] = bound[:k] + LOOSE * prior[used]
    missed = most(np.maximum(lack, seen)) if (lack > seen).any() else 0.0
    rounding = value[k] * (lack[used] / prior[used]).max()
    error = bound[k] + missed + rounding + (value[k + 1 :] + bound[k + 1 :]).sum()
    return Amount(float(value[k]), float(error), "quadrature")


def line_regions(law: DensityLaw, decide: Decide) -> DecisionIntervals:
    """Find the intervals of constant decision on a line by a grid and bisection.

    Parameters
    ----------
    law : DensityLaw
        The grid has 32 points between each two of its quantiles.
    decide : callable
        Maps points (m,) to codes (m,).

    Returns
    -------
    DecisionIntervals
    """
    step = max(CELLS // law.n_classes, 1)
    grid = _grid(law, 0)

    def in_parts(x: Floats) -> Codes:
        return np.concatenate([decide(x[part]) for part in slices(max(len(x), 1), step)])

    return _regions(_ends(law), grid, in_parts(grid), in_parts)


def _grid(law: DensityLaw, points: int) -> Floats:
    """Grid of at least `points` points, dense between quantiles and geometric in the tails."""
    low, high = _ends(law)
    outer = np.concatenate([density.landmarks[[0, -1]] for density in _line(law)])
    marks = np.unique(np.concatenate([_marks(density) for density in _line(law)]))
    marks = marks[(marks > low) & (marks < high) & (marks >= outer.min()) & (marks <= outer.max())]
    width = float(marks[-1] - marks[0]) or 1.0
    steps = np.linspace(0.0, 1.0, max(33, points // len(marks)))[:-1]
    inner = (marks[:-1, None] + np.diff(marks)[:, None] * steps).ravel()
    # Densities may cross far out in the tails, on different scales.
    far = width * 2.0 ** np.arange(-4, 40)
    grid = np.concatenate([marks[0] - far[::-1], inner, marks[-1:], marks[-1] + far])
    return np.unique(grid[(grid > low) & (grid < high)])


def _marks(density: ScipyDensity | FunctionDensity) -> Floats:
    """Quantiles of a density and points in its tails.

    The remaining mass of a narrow class may lie near its last quantile, between quantiles of a wide class.
    """
    marks = density.landmarks
    far = (marks[-1] - marks[0]) * 2.0**BEYOND
    return np.concatenate([marks[0] - far[::-1], marks, marks[-1] + far])


def _regions(ends: tuple[float, float], grid: Floats, codes: Codes, decide: Decide) -> DecisionIntervals:
    """Intervals of constant decision from decisions on a grid; bisection locates the changes.

    Parameters
    ----------
    ends : (float, float)
        Ends of the line.
    grid : (g,) float
    codes : (g,) int
        Decisions at the grid points.
    decide : callable

    Returns
    -------
    DecisionIntervals
    """
    change = np.flatnonzero(codes[1:] != codes[:-1])
    left = grid[change]
    right = grid[change + 1]
    before = codes[change]
    for _ in range(200):
        middle = left + 0.5 * (right - left)
        if not len(left) or ((middle == left) | (middle == right)).all():
            break
        same = decide(middle) == before
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    edges = np.concatenate([ends[:1], right, ends[1:]])
    return DecisionIntervals(edges, codes[np.concatenate([change, [len(grid) - 1]])])


def _line(law: DensityLaw) -> list[ScipyDensity | FunctionDensity]:
    """Univariate densities of the classes."""
    return [density for density in law.densities if not isinstance(density, RowDensity)]


def _ends(law: DensityLaw) -> tuple[float, float]:
    """Smallest and largest point of the supports."""
    supports = [density.support for density in _line(law)]
    return min(low for low, _ in supports), max(high for _, high in supports)


def _best_regions(law: DensityLaw, prior: Floats, costs: Floats) -> DecisionIntervals:
    """Decision intervals of the Bayes rule."""

    def best(x: Floats) -> Codes:
        return rules.least_cost_codes(rules.joint_scores(law.log_densities(x[:, None]), prior), costs)

    return line_regions(law, best)


def line_breaks(law: DensityLaw) -> Floats:
    """Quantiles, ends of supports, and points at which densities become zero within their supports."""
    low, high = _ends(law)
    inner = [np.array([end for end in density.support if np.isfinite(end)]) for density in _line(law)]
    parts = [_marks(density) for density in _line(law)]

    def how_many(x: Floats) -> Codes:
        return np.asarray((law.log_densities(x[:, None]) > -np.inf).sum(axis=1))

    edges = line_regions(law, how_many).edges
    breaks = np.unique(np.concatenate([np.array([low, high]), *inner, *parts, edges]))
    return breaks[(breaks >= low) & (breaks <= high)]


# ---- another rule


def excess(
    law: MassLaw | DensityLaw,
    prior: Floats,
    costs: Floats,
    decide: Decide,
    draws: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda more: None,
) -> Amount:
    """Excess risk of a rule over the Bayes risk.

    Parameters
    ----------
    law : MassLaw or DensityLaw
    prior : (K,) float
    costs : (K, K) float
        Cost of assigning a class (row) to a class (column).
    decide : callable
        The rule: maps x (m, p), for a `MassLaw` its points, to class codes (m,).
    draws : int
        Number of random points of each class.
    seed : int or None
    progress : callable, optional

    Returns
    -------
    Amount
    """
    if isinstance(law, MassLaw):
        seen = (law.mass > 0).any(axis=0)
        losses = (law.mass[:, seen] * prior[:, None]).T @ costs
        beyond = _beyond_least(losses, decide(law.points[seen]))
        missed = float((prior * law.unlisted) @ costs.max(axis=1))
        return Amount(float(beyond.sum()), missed, "exact" if not missed else "sum")
    listed = law.enumerated()
    if listed is not None:
        return excess(listed, prior, costs, decide, draws, seed, progress)
    if law.on_line:
        return _excess_on_line(law, prior, costs, decide)

    def beyond_at(x: Floats) -> Floats:
        return _beyond_least(_posteriors(law, x, prior) @ costs, decide(x))

    most = float((costs.max(axis=1) - costs.min(axis=1)).max())
    return mean_over_points(law.densities, prior, beyond_at, most, draws, seed, progress)


def _excess_on_line(law: DensityLaw, prior: Floats, costs: Floats, decide: Decide) -> Amount:
    """Excess risk of a rule for univariate continuous x, by quadrature.

    Parameters
    ----------
    law : DensityLaw
    prior : (K,) float
    costs : (K, K) float
    decide : callable
        Maps x (m, 1) to class codes (m,).

    Returns
    -------
    Amount
    """

    def where_seen(x: Floats) -> Codes:
        # Do not evaluate the rule at points of zero density, at which its formula may overflow.
        joint = np.exp(rules.joint_scores(law.log_densities(x[:, None]), prior))
        codes = np.full(len(x), -1)
        seen = (joint > 0).any(axis=1)
        codes[seen] = decide(x[seen, None])
        return codes

    # Decisions may change between grid points. A grid with half the points shows by how much.
    ends = _ends(law)
    grid = _grid(law, RULE_POINTS)
    codes = where_seen(grid)
    fine = _regions(ends, grid, codes, where_seen)
    half = _regions(ends, grid[::2], codes[::2], where_seen)

    def beyond_at(x: Floats, joint: Floats) -> Floats:
        losses = joint @ costs
        called = [where_seen(x), fine.at(x), half.at(x)]
        rule, by_fine, by_half = (_beyond_least(losses, code) for code in called)
        return np.column_stack([rule, np.abs(by_fine - by_half)])

    breaks = [line_breaks(law), _best_regions(law, prior, costs).edges, fine.edges, half.edges]
    spread = costs.max(axis=1) - costs.min(axis=1)
    return _on_line(law, prior, beyond_at, breaks, lambda lack: float(lack @ spread))


def _beyond_least(losses: Floats, codes: Codes) -> Floats:
    """Excess of the losses (m, K) at codes (m,) over their minimum."""
    return np.asarray(losses[np.arange(len(losses)), codes] - losses.min(axis=1))


Affinity = Callable[[float], float]


class PairBound(NamedTuple):
    """Bounds on the contribution of two classes to the Bayes error.

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


def pair_bound(affinity: Affinity, first: float, second: float, log_least: float | None = None) -> PairBound:
    """Compute the bounds for two classes.

    Parameters
    ----------
    affinity : callable
        Maps s to the logarithm of the integral of f_0^s f_1^(1-s), a convex function.
    first, second : float
        Prior probabilities.
    log_least : float, optional
        Lower bound of the log affinity at s = 1/2 that allows for the error of the integral.

    Returns
    -------
    PairBound
    """
    from scipy.optimize import minimize_scalar

    log_rho = affinity(0.5)
    rho = float(np.exp(log_rho))
    if not (first > 0 and second > 0):
        return PairBound(0.5, 0.0, 0.0, 0.0, -log_rho)
    logs = np.log([first, second])

    def log_bound(s: float) -> float:
        return float(s * logs[0] + (1 - s) * logs[1] + affinity(s))

    least = minimize_scalar(log_bound, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    bounds = {float(least.x): float(least.fun)} | {s: log_bound(s) for s in (0.0, 0.5, 1.0)}
    best = min(bounds, key=lambda s: bounds[s])
    both = first + second
    # A difference of square roots would be inaccurate for a small affinity.
    least_rho = rho if log_least is None else float(np.exp(log_least))
    product = 4 * first * second * least_rho**2
    lower = 0.5 * product / (both + np.sqrt(max(both**2 - product, 0.0)))
    upper = float(np.sqrt(first * second)) * rho
    return PairBound(best, float(np.exp(bounds[best])), upper, float(lower), -log_rho)


def normal_affinity(first: Normal, second: Normal) -> Affinity:
    """Log affinity of two normal distributions in closed form.

    -s(1-s)/2 d'C^-1 d - (ln|C| - (1-s) ln|A| - s ln|B|)/2, with C = (1-s) A + s B the mixed covariance and d
    the difference of the means.
    """
    d = second.mean - first.mean
    logs = [float(np.linalg.slogdet(normal.cov)[1]) for normal in (first, second)]

    def affinity(s: float) -> float:
        mixed = (1 - s) * first.cov + s * second.cov
        distance = float(d @ np.linalg.solve(mixed, d))
        log_det = float(np.linalg.slogdet(mixed)[1]) - (1 - s) * logs[0] - s * logs[1]
        return -0.5 * (s * (1 - s) * distance + log_det)

    return affinity


def log_affinity(
    law: MassLaw | DensityLaw, i: int, j: int, draws: int, seed: int | None
) -> tuple[Affinity, float | None]:
    """Log affinity of two classes as a function of s.

    Parameters
    ----------
    law : MassLaw or DensityLaw
    i, j : int
        Positions of the classes.
    draws : int
        Number of random points of each class.
    seed : int or None

    Returns
    -------
    affinity : callable
    log_least : float or None
        Lower bound at s = 1/2 that allows for the quadrature error; None if there is no quadrature.
    """
    if isinstance(law, MassLaw):
        with np.errstate(divide="ignore"):
            logs = np.log(law.mass[[i, j]])
        return lambda s: _log(_powers(logs[0], logs[1], s).sum()), None
    pair = DensityLaw((law.densities[i], law.densities[j]))
    normals = pair.normals()
    if normals is not None and all(is_of_full_rank(normal.cov) for normal in normals):
        return normal_affinity(*normals), None
    listed = law.enumerated()
    if listed is not None:
        return log_affinity(listed, i, j, draws, seed)
    if law.on_line:
        return _line_affinity(pair)
    # Sample from the mixture h with equal weights, for which f_0^s f_1^(1-s)/h is bounded.
    rng = np.random.default_rng(seed)
    x = np.concatenate([density.draw(draws, rng) for density in pair.densities])
    shares = rules.log_posteriors(pair.log_densities(x)) + np.log(2.0)
    return lambda s: _log(_powers(shares[:, 0], shares[:, 1], s).mean()), None


def is_of_full_rank(cov: Floats) -> bool:
    """Return whether a covariance (p, p) has full rank, which a density requires."""
    return rank_of(cov) == len(cov)


def _powers(first: Floats, second: Floats, s: float) -> Floats:
    """f_0^s f_1^(1-s) from log densities; zero if either is zero or infinite."""
    finite = np.isfinite(first) & np.isfinite(second)
    out = np.zeros(np.shape(first))
    with np.errstate(over="ignore"):
        out[finite] = np.exp(s * first[finite] + (1 - s) * second[finite])
    return np.where(np.isfinite(out), out, 0.0)


def _log(value: float) -> float:
    """Logarithm; minus infinity for zero."""
    return float(np.log(value)) if value > 0 else -np.inf


def _line_affinity(pair: DensityLaw) -> tuple[Affinity, float]:
    """Log affinity by quadrature, increased by its error bound to keep upper bounds valid.

    Probabilities d_0 and d_1 that the panels missed contribute at most d_0^s d_1^(1-s), by Hoelder's
    inequality.

    Returns
    -------
    affinity : callable
    log_least : float
        Lower bound at s = 1/2.
    """
    breaks = line_breaks(pair)

    def integral(of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        def at(x: Floats) -> Floats:
            logs = pair.log_densities(x[:, None])
            logs[~np.isfinite(x)] = -np.inf
            return of(logs)

        return integrate(at, breaks, rtol=1e-10)

    whole, bound = integral(
        lambda logs: np.column_stack([_powers(logs[:, k], logs[:, k], 1.0) for k in (0, 1)])
    )
    lack = np.abs(1 - whole)
    seen = bound + LOOSE
    lack = np.maximum(lack, seen) if (lack > seen).any() else np.zeros(2)

    def affinity(s: float) -> tuple[float, float]:
        value, error = integral(lambda logs: _powers(logs[:, 0], logs[:, 1], s)[:, None])
        missed = lack[0] ** s * lack[1] ** (1 - s) if lack.any() else 0.0
        return float(value[0]), float(error[0] + missed)

    value, error = affinity(0.5)
    return lambda s: _log(sum(affinity(s))), _log(value - error)
