"""A known law of class and x, its best rule, and what any other rule loses under it.

With priors pi_k, densities f_k and costs c_kj of calling class k class j, the best rule calls x the class
j that makes sum_k c_kj pi_k f_k(x) least; the integral of that least value is the Bayes error (with costs
of 0 and 1). What another rule d loses is the integral of sum_k c_k,d(x) pi_k f_k(x) less the least value:
both are integrated as one function, so that a small excess keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.law.densities import Density, FunctionDensity, Normal, RowDensity, ScipyDensity
from discrim.core.law.law_points import Amount, mean_over_points
from discrim.core.law.quadrature import integrate
from discrim.core.law.supports import distance_of, on_smallest
from discrim.core.rules.expected_costs import counts_errors, joint_scores, least_cost_codes, least_losses
from discrim.core.rules.rules import log_posteriors

__all__ = [
    "LOOSE",
    "DensityLaw",
    "MassLaw",
    "Regions",
    "excess",
    "least_risk",
    "line_breaks",
    "line_regions",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Decide = Callable[[Floats], Codes]

CLOSE, LOOSE = 1e-11, 1e-9
"""Wanted errors of a panel over the integral, of what is asked for and of the densities."""

MOST_VALUES = 1_000_000
"""Values of a discrete variable that are summed over."""

BEYOND = np.array([-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 2.0, 4.0, 8.0, 16.0, 32.0])
"""Logarithms to base 2 of steps into the tails, over the distance of the outer quantiles."""

HELD = 2**19
"""Numbers of points by classes that are held at once."""

RULE_POINTS = 2**16
"""Points of a line, at least, at which a rule is asked."""

MOST_LOST = 1e-5
"""Probability that sums may leave out; random points do better than that."""


@dataclass(frozen=True, slots=True)
class MassLaw:
    """Probabilities of listed values in each class.

    Attributes
    ----------
    mass : (K, V) float
    points : (V, p) float
        The values, where they are numbers; else their positions (V, 1).
    lost : (K,) float
        Probability of values that are not listed.
    """

    mass: Floats
    points: Floats
    lost: Floats

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.mass)


@dataclass(frozen=True, slots=True)
class DensityLaw:
    """Densities of the classes.

    Attributes
    ----------
    densities : tuple of Density
        Of one dimension; all with a density, or all discrete.
    """

    densities: tuple[Density, ...]

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.densities)

    @property
    def dim(self) -> int:
        """Columns of x."""
        return self.densities[0].dim

    @property
    def discrete(self) -> bool:
        """Whether x has probabilities, not densities."""
        return self.densities[0].discrete

    @property
    def on_line(self) -> bool:
        """Whether x is one number with a density that quadrature can follow."""
        return not self.discrete and all(not isinstance(held, RowDensity) for held in self.densities)

    def log_densities(self, x: Floats) -> Floats:
        """Log densities (m, K) of rows x (m, p)."""
        found = np.empty((len(x), self.n_classes), order="F")
        for column, held in zip(found.T, self.densities, strict=True):
            column[:] = held.log_density(x)
        return on_smallest(found, np.array([held.rank for held in self.densities]))

    def normals(self) -> list[Normal] | None:
        """Parameters of the classes, where all are normal."""
        found = [held.normal for held in self.densities]
        known = [normal for normal in found if normal is not None]
        return known if len(known) == len(found) else None

    def enumerated(self) -> MassLaw | None:
        """Its probabilities value by value, where x is one discrete number with not too many values."""
        held = [d for d in self.densities if isinstance(d, ScipyDensity)]
        if not self.discrete or len(held) < self.n_classes:
            return None
        lattices = [density.lattice(MOST_VALUES // len(held)) for density in held]
        points = np.unique(np.concatenate(lattices))[:, None]
        if not len(points):
            return None
        mass = np.exp(self.log_densities(points)).T
        lost = np.array([d.outside(points[0, 0], points[-1, 0]) for d in held])
        # Values between those of the lattice, or probabilities that are no better.
        lack = np.abs(1 - mass.sum(axis=1))
        lost = np.where(lack > lost + LOOSE, lack, lost)
        if lost.max() > MOST_LOST:
            return None
        return MassLaw(mass, points, lost)


@dataclass(frozen=True, slots=True)
class Regions:
    """Intervals of a line by decision.

    Attributes
    ----------
    edges : (r + 1,) float
    codes : (r,) int
        -1 where no class has a density.
    """

    edges: Floats
    codes: Codes

    def at(self, x: Floats) -> Codes:
        """Codes (m,) of points (m,)."""
        return np.asarray(self.codes[np.searchsorted(self.edges[1:-1], x, side="right")])


# ---- the least risk


def least_risk(
    law: MassLaw | DensityLaw,
    prior: Floats,
    costs: Floats,
    draws: int,
    seed: int | None,
    tell: Callable[[int], None] = lambda more: None,
) -> Amount:
    """The risk of the best rule.

    Parameters
    ----------
    law : MassLaw or DensityLaw
    prior : (K,) float
    costs : (K, K) float
        Of calling a class (row) another (column).
    draws, seed, tell
        As for `mean_over_points`, where there is nothing better.
    """
    if isinstance(law, MassLaw):
        losses = (law.mass * prior[:, None]).T @ costs
        missed = float((prior * law.lost) @ costs.max(axis=1))
        return Amount(float(losses.min(axis=1).sum()), missed, "exact" if not missed else "sum")
    used = np.flatnonzero(prior > 0)
    if len(used) == 1:
        return Amount(float(costs[used[0]].min()), 0.0, "exact")
    if len(used) < law.n_classes and counts_errors(costs):
        rest = DensityLaw(tuple(law.densities[k] for k in used.tolist()))
        return least_risk(rest, prior[used], costs[np.ix_(used, used)], draws, seed, tell)
    listed = law.enumerated()
    if listed is not None:
        return least_risk(listed, prior, costs, draws, seed, tell)
    closed = _two_normals(law, prior, costs)
    if closed is not None:
        return Amount(closed, 0.0, "exact")
    if law.on_line:

        def least(x: Floats, joint: Floats) -> Floats:
            return least_losses(joint, costs)[:, None]

        breaks = [line_breaks(law), _best_regions(law, prior, costs).edges]
        return _on_line(law, prior, least, breaks, lambda lack: float((lack @ costs).min()))

    def least_at(x: Floats) -> Floats:
        return least_losses(_posteriors(law, x, prior), costs)

    most = float(costs.max(axis=0).min())
    return mean_over_points(law.densities, prior, least_at, most, draws, seed, tell)


def _two_normals(law: DensityLaw, prior: Floats, costs: Floats) -> float | None:
    """The risk of two normals of one covariance; None of any other law.

    With a_k what an error on class k costs in the mean, and D the Mahalanobis distance of the two, it is
    a_0 Phi(-D/2 + ln(a_1/a_0)/D) + a_1 Phi(-D/2 - ln(a_1/a_0)/D).
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
    return np.exp(log_posteriors(joint_scores(law.log_densities(x), prior)))


# ---- on a line


def _on_line(
    law: DensityLaw,
    prior: Floats,
    of: Callable[[Floats, Floats], Floats],
    breaks: list[Floats],
    most: Callable[[Floats], float],
) -> Amount:
    """The integral of a function of x (m,) and of prior times density (m, K), with what it may have missed.

    Parameters
    ----------
    of : callable
        To values (m, q): the first is wanted, the integrals of the others are added to the bound.
    most : callable
        To what the first can add up over a set where the classes have given probabilities (K,).

    Notes
    -----
    The densities are integrated along with it. What they lack to one was seen by no panel (a tail beyond
    1e308, a spike between two points, a pole nearer than two numbers), or their values are no better.
    """
    used = np.flatnonzero(prior > 0)

    def values(x: Floats) -> Floats:
        joint = np.exp(joint_scores(law.log_densities(x[:, None]), prior))
        # A pole has no mass of its own, and beyond 1e308 there is none that a number could have.
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


def line_regions(law: DensityLaw, decide: Decide, points: int = 0) -> Regions:
    """Intervals of a rule's decisions on a line: changes between the points of a grid, by bisection.

    Parameters
    ----------
    points : int
        Of the grid, about; 32 between two quantiles at least.
    """
    decide, grid = _in_parts(decide, law.n_classes), _grid(law, points)
    return _regions(_ends(law), grid, decide(grid), decide)


def _grid(law: DensityLaw, points: int) -> Floats:
    low, high = _ends(law)
    outer = np.concatenate([held.landmarks[[0, -1]] for held in _line(law)])
    marks = np.unique(np.concatenate([_marks(held) for held in _line(law)]))
    marks = marks[(marks > low) & (marks < high) & (marks >= outer.min()) & (marks <= outer.max())]
    width = float(marks[-1] - marks[0]) or 1.0
    steps = np.linspace(0.0, 1.0, max(33, points // len(marks)))[:-1]
    inner = (marks[:-1, None] + np.diff(marks)[:, None] * steps).ravel()
    # Tails cross far out, each at a scale of its own.
    far = width * 2.0 ** np.arange(-4, 40)
    grid = np.concatenate([marks[0] - far[::-1], inner, marks[-1:], marks[-1] + far])
    return np.unique(grid[(grid > low) & (grid < high)])


def _marks(held: ScipyDensity | FunctionDensity) -> Floats:
    """Quantiles, and points in the tails beyond them.

    What is left of a narrow class lies near its last quantile, where a wide one has none.
    """
    marks = held.landmarks
    far = (marks[-1] - marks[0]) * 2.0**BEYOND
    return np.concatenate([marks[0] - far[::-1], marks, marks[-1] + far])


def _regions(ends: tuple[float, float], grid: Floats, codes: Codes, decide: Decide) -> Regions:
    change = np.flatnonzero(codes[1:] != codes[:-1])
    left, right, before = grid[change], grid[change + 1], codes[change]
    for _ in range(200):
        middle = left + 0.5 * (right - left)
        if not len(left) or ((middle == left) | (middle == right)).all():
            break
        same = decide(middle) == before
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    edges = np.concatenate([ends[:1], right, ends[1:]])
    return Regions(edges, codes[np.concatenate([change, [len(grid) - 1]])])


def _line(law: DensityLaw) -> list[ScipyDensity | FunctionDensity]:
    return [held for held in law.densities if not isinstance(held, RowDensity)]


def _ends(law: DensityLaw) -> tuple[float, float]:
    supports = [held.support for held in _line(law)]
    return min(low for low, _ in supports), max(high for _, high in supports)


def _best_regions(law: DensityLaw, prior: Floats, costs: Floats) -> Regions:
    def best(x: Floats) -> Codes:
        return least_cost_codes(joint_scores(law.log_densities(x[:, None]), prior), costs)

    return line_regions(law, best)


def _in_parts(decide: Decide, k: int) -> Decide:
    """The same decisions, made with few numbers of points by classes in memory."""
    step = max(HELD // k, 1)

    def decided(x: Floats) -> Codes:
        return np.concatenate([decide(x[i : i + step]) for i in range(0, max(len(x), 1), step)])

    return decided


def line_breaks(law: DensityLaw) -> Floats:
    """Quantiles of the classes, ends of their supports, and where a density ends that tells no support."""
    low, high = _ends(law)
    inner = [np.array([end for end in held.support if np.isfinite(end)]) for held in _line(law)]
    parts = [_marks(held) for held in _line(law)]

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
    tell: Callable[[int], None] = lambda more: None,
) -> Amount:
    """What a rule loses beyond the best.

    Parameters
    ----------
    law, prior, costs, draws, seed, tell
        As for `least_risk`.
    decide : callable
        From x (m, p) to the codes (m,) of the classes called; of a `MassLaw`, from its points.
    """
    if isinstance(law, MassLaw):
        seen = (law.mass > 0).any(axis=0)
        losses = (law.mass[:, seen] * prior[:, None]).T @ costs
        lost = losses[np.arange(len(losses)), decide(law.points[seen])] - losses.min(axis=1)
        missed = float((prior * law.lost) @ costs.max(axis=1))
        return Amount(float(lost.sum()), missed, "exact" if not missed else "sum")
    listed = law.enumerated()
    if listed is not None:
        return excess(listed, prior, costs, decide, draws, seed, tell)
    if law.on_line:
        return _excess_on_line(law, prior, costs, decide)

    def lost_at(x: Floats) -> Floats:
        return _beyond_least(_posteriors(law, x, prior) @ costs, decide(x))

    most = float((costs.max(axis=1) - costs.min(axis=1)).max())
    return mean_over_points(law.densities, prior, lost_at, most, draws, seed, tell)


def _excess_on_line(law: DensityLaw, prior: Floats, costs: Floats, decide: Decide) -> Amount:
    def where_seen(x: Floats) -> Codes:
        # A rule is not asked where nothing falls: its formula may overflow there.
        joint = np.exp(joint_scores(law.log_densities(x[:, None]), prior))
        codes, seen = np.full(len(x), -1), (joint > 0).any(axis=1)
        codes[seen] = decide(x[seen, None])
        return codes

    # A rule may change where no point of a grid is: what half of the points would miss tells how much.
    ends, grid = _ends(law), _grid(law, RULE_POINTS)
    codes = where_seen(grid)
    fine = _regions(ends, grid, codes, where_seen)
    half = _regions(ends, grid[::2], codes[::2], where_seen)

    def lost_at(x: Floats, joint: Floats) -> Floats:
        losses = joint @ costs
        called = [where_seen(x), fine.at(x), half.at(x)]
        rule, by_fine, by_half = (_beyond_least(losses, code) for code in called)
        return np.column_stack([rule, np.abs(by_fine - by_half)])

    breaks = [line_breaks(law), _best_regions(law, prior, costs).edges, fine.edges, half.edges]
    spread = costs.max(axis=1) - costs.min(axis=1)
    return _on_line(law, prior, lost_at, breaks, lambda lack: float(lack @ spread))


def _beyond_least(losses: Floats, codes: Codes) -> Floats:
    return np.asarray(losses[np.arange(len(losses)), codes] - losses.min(axis=1))
