"""A known law of class and x, its best rule, and what any other rule loses under it.

With priors pi_k, densities f_k and costs c_kj of calling class k class j, the best rule calls x the class
j that makes sum_k c_kj pi_k f_k(x) least; the integral of that least value is the Bayes error (with costs
of 0 and 1). What another rule d loses is the integral of sum_k c_k,d(x) pi_k f_k(x) less the least value:
both are integrated as one function, so that a small excess keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.densities import Density, FunctionDensity, Normal, RowDensity, ScipyDensity
from discrim.core.quadrature import integrate
from discrim.core.rules import best_class, log_posteriors
from discrim.errors import NotSupportedError

__all__ = [
    "Amount",
    "DensityLaw",
    "MassLaw",
    "Regions",
    "excess",
    "joint_scores",
    "least_cost_codes",
    "least_risk",
    "line_breaks",
    "line_regions",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Decide = Callable[[Floats], Codes]

MOST_VALUES = 1_000_000
"""Values of a discrete variable that are summed over."""

MOST_LOST = 1e-5
"""Probability that sums may leave out; random points do better than that."""

REPLICATES = 16
"""Independent randomizations of a quasi-random sequence, whose spread tells the error."""

CONFIDENCE = 0.99
"""Of the interval whose half width is the bound on the error of a mean over random points."""


class Amount(NamedTuple):
    """A number with a bound on its error, and how it was computed."""

    value: float
    bound: float
    method: str


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
        return np.column_stack([held.log_density(x) for held in self.densities])

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
        lost = np.array([d.outside(points[0, 0], points[-1, 0]) for d in held])
        if lost.max() > MOST_LOST:
            return None
        return MassLaw(np.exp(self.log_densities(points)).T, points, lost)


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


def joint_scores(log_densities: Floats, prior: Floats) -> Floats:
    """Scores (m, K): logarithms of prior times density."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_densities + np.log(prior))


def least_cost_codes(scores: Floats, costs: Floats) -> Codes:
    """The class of least expected cost of each row of scores (m, K), the first of equals; -1 without any."""
    if (costs == 1 - np.eye(len(costs))).all():
        return best_class(scores)
    return best_class(-(np.exp(log_posteriors(scores)) @ costs))


# ---- the least risk


def least_risk(
    law: MassLaw | DensityLaw, prior: Floats, costs: Floats, draws: int, seed: int | None
) -> Amount:
    """The risk of the best rule.

    Parameters
    ----------
    law : MassLaw or DensityLaw
    prior : (K,) float
    costs : (K, K) float
        Of calling a class (row) another (column).
    draws, seed : int
        Random points in each class, where there is nothing better.
    """
    if isinstance(law, MassLaw):
        losses = (law.mass * prior[:, None]).T @ costs
        missed = float((prior * law.lost) @ costs.max(axis=1))
        return Amount(float(losses.min(axis=1).sum()), missed, "exact" if not missed else "sum")
    listed = law.enumerated()
    if listed is not None:
        return least_risk(listed, prior, costs, draws, seed)
    closed = _two_normals(law, prior, costs)
    if closed is not None:
        return Amount(closed, 0.0, "exact")
    if law.on_line:

        def least(x: Floats) -> Floats:
            return np.asarray(_losses(law, x, prior, costs).min(axis=1)[:, None])

        value, bound = integrate(least, _breaks(law, prior, costs, None))
        return Amount(float(value[0]), float(bound[0]), "quadrature")
    return _mean_over_points(law, prior, lambda x, posterior: (posterior @ costs).min(axis=1), draws, seed)


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

    try:
        root = np.linalg.cholesky(normals[0].cov)
    except np.linalg.LinAlgError:
        return None
    distance = float(np.linalg.norm(np.linalg.solve(root, normals[1].mean - normals[0].mean)))
    if distance == 0:
        return float(right.sum() + errors.min())
    shift = np.log(errors[1] / errors[0]) / distance
    wrong = ndtr(np.array([shift, -shift]) - 0.5 * distance)
    return float(right.sum() + errors @ wrong)


def _losses(law: DensityLaw, x: Floats, prior: Floats, costs: Floats) -> Floats:
    """Risk densities (m, K) at points (m,), by the class called."""
    joint = np.exp(joint_scores(law.log_densities(x[:, None]), prior))
    # A pole has no mass of its own, and beyond 1e308 there is none.
    joint[~(np.isfinite(joint) & np.isfinite(x)[:, None])] = 0.0
    return np.asarray(joint @ costs)


# ---- on a line


def line_regions(law: DensityLaw, decide: Decide) -> Regions:
    """Intervals of a rule's decisions on a line: changes between the points of a fine grid, by bisection."""
    low, high = _ends(law)
    marks = np.unique(np.concatenate([held.landmarks for held in _line(law)]))
    marks = marks[(marks > low) & (marks < high)]
    width = float(marks[-1] - marks[0]) or 1.0
    steps = np.linspace(0.0, 1.0, 33)[:-1]
    inner = (marks[:-1, None] + np.diff(marks)[:, None] * steps).ravel()
    # Tails cross far out, each at a scale of its own.
    far = width * 2.0 ** np.arange(-4, 40)
    grid = np.concatenate([marks[0] - far[::-1], inner, marks[-1:], marks[-1] + far])
    grid = np.unique(grid[(grid > low) & (grid < high)])
    codes = decide(grid)
    change = np.flatnonzero(codes[1:] != codes[:-1])
    left, right, before = grid[change], grid[change + 1], codes[change]
    for _ in range(200):
        middle = left + 0.5 * (right - left)
        if not len(left) or ((middle == left) | (middle == right)).all():
            break
        same = decide(middle) == before
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return Regions(np.concatenate([[low], right, [high]]), codes[np.concatenate([change, [len(grid) - 1]])])


def _line(law: DensityLaw) -> list[ScipyDensity | FunctionDensity]:
    return [held for held in law.densities if not isinstance(held, RowDensity)]


def _ends(law: DensityLaw) -> tuple[float, float]:
    supports = [held.support for held in _line(law)]
    return min(low for low, _ in supports), max(high for _, high in supports)


def _breaks(law: DensityLaw, prior: Floats, costs: Floats, decide: Decide | None) -> Floats:
    """Where panels of a quadrature meet: those of the law, and edges of the rules' regions."""

    def best(x: Floats) -> Codes:
        return least_cost_codes(joint_scores(law.log_densities(x[:, None]), prior), costs)

    edges = [line_regions(law, rule).edges for rule in (best, decide) if rule is not None]
    return np.unique(np.concatenate([line_breaks(law), *edges]))


def line_breaks(law: DensityLaw) -> Floats:
    """Quantiles of the classes, and the ends of their supports."""
    low, high = _ends(law)
    inner = [np.array([end for end in held.support if np.isfinite(end)]) for held in _line(law)]
    parts = [held.landmarks for held in _line(law)]
    return np.unique(np.concatenate([np.array([low, high]), *inner, *parts]))


# ---- another rule


def excess(
    law: MassLaw | DensityLaw, prior: Floats, costs: Floats, decide: Decide, draws: int, seed: int | None
) -> Amount:
    """What a rule loses beyond the best.

    Parameters
    ----------
    law, prior, costs, draws, seed
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
        return excess(listed, prior, costs, decide, draws, seed)
    if law.on_line:

        def where_seen(x: Floats) -> Codes:
            # A rule is not asked where nothing falls: its formula may overflow there.
            codes, seen = np.full(len(x), -1), _losses(law, x, prior, costs).any(axis=1)
            codes[seen] = decide(x[seen, None])
            return codes

        def lost_at(x: Floats) -> Floats:
            return _beyond_least(_losses(law, x, prior, costs), where_seen(x))[:, None]

        value, bound = integrate(lost_at, _breaks(law, prior, costs, where_seen))
        return Amount(float(value[0]), float(bound[0]), "quadrature")
    return _mean_over_points(
        law,
        prior,
        lambda x, posterior: _beyond_least(posterior @ costs, decide(x)),
        draws,
        seed,
    )


def _beyond_least(losses: Floats, codes: Codes) -> Floats:
    return np.asarray(losses[np.arange(len(losses)), codes] - losses.min(axis=1))


# ---- random points


def _mean_over_points(
    law: DensityLaw,
    prior: Floats,
    of: Callable[[Floats, Floats], Floats],
    draws: int,
    seed: int | None,
) -> Amount:
    """The mean of a function of x and its posteriors (m, K), with half of its 99 % interval."""
    from scipy.special import stdtrit

    rng = np.random.default_rng(seed)
    size = max(draws // REPLICATES, 2)
    means = np.zeros(REPLICATES)
    quasi = all(quasi_normal(held) for held in law.densities)
    for replicate in range(REPLICATES):
        for k in np.flatnonzero(prior > 0):
            held = law.densities[k]
            x = _quasi_points(held, size, rng) if quasi else held.draw(size, rng)
            posterior = np.exp(log_posteriors(joint_scores(law.log_densities(x), prior)))
            means[replicate] += prior[k] * of(x, posterior).mean()
    error = float(means.std(ddof=1)) / np.sqrt(REPLICATES)
    half = stdtrit(REPLICATES - 1, 0.5 + CONFIDENCE / 2) * error
    return Amount(float(means.mean()), float(half), "quasi-Monte Carlo" if quasi else "Monte Carlo")


def quasi_normal(held: Density) -> bool:
    """Whether points that fill a cube evenly can be bent into a sample of a density."""
    return held.normal is not None or (isinstance(held, RowDensity) and held.student is not None)


def _quasi_points(held: Density, size: int, rng: np.random.Generator) -> Floats:
    """Points (size, p) of a normal or t distribution, from a scrambled Sobol sequence."""
    from scipy.special import chdtri, ndtri
    from scipy.stats import qmc

    student = held.student if isinstance(held, RowDensity) else None
    normal, df = student if student is not None else (held.normal, np.inf)
    if normal is None:
        raise NotSupportedError("Points are bent to normal and t distributions only.")
    p = len(normal.mean)
    sobol = qmc.Sobol(p + 1, scramble=True, seed=rng)
    cube = sobol.random_base2(max(int(np.ceil(np.log2(size))), 1))
    # A scrambled point may be zero.
    cube = np.clip(cube, 2.0**-53, 1 - 2.0**-53)
    values, vectors = np.linalg.eigh(normal.cov)
    # The first coordinates of a Sobol sequence are the most even: they go to the longest axes.
    root = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    z = ndtri(cube[:, :p]) @ root.T
    if np.isfinite(df):
        z /= np.sqrt(chdtri(df, 1 - cube[:, p]) / df)[:, None]
    return np.asarray(normal.mean + z)
