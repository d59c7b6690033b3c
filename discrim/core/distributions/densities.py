"""Densities of a class: what scipy.stats and plain functions give, as one thing on rows (m, p).

Densities and draws may be the user's own code: what they give is checked.

*Singular covariances.* A normal distribution of rank r has a density on its plane of r dimensions alone, and
none beside it. A class of more dimensions never hits the plane: a row on it is of the class of fewer
dimensions, whatever numbers the two densities have there, for they are densities of different measures
(Khatri, 1968, Sankhya A 30, 267-280).

*Integrals over a line* are adaptive, all panels of a pass at once. A panel's integral by ten Gauss-Legendre
nodes is compared with that of its two halves; halves of panels that differ by too much are cut again. The
bound on the error adds up the last differences, each times what its fall from level to level leaves to come,
and no less than a share of the difference before: two sums may agree by chance on the two sides of a jump. It
is far above the true error where the integrand is smooth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.errors import DiscrimError


def refuse_negative(values: Floats, x: Floats) -> None:
    """Raise a DataError that names the first point (m,) where a density (m,) is negative or not known."""
    bad = ~(values >= 0) & np.isfinite(x)
    if bad.any():
        raise CoreDataError("negative_density", value=values[bad][0], x=x[bad][0])


def values_of(
    whose: Any, function: Callable[..., Any], *arguments: Any, points: int, dim: int = 0, **options: Any
) -> Floats:
    """Numbers (points,), or (points, dim), that a function of the user's gives; a single one is that of all.

    A DataError where it raised an error, or gave something else.
    """
    try:
        given = function(*arguments, **options)
    except DiscrimError:
        raise
    except Exception as error:
        raise CoreDataError(
            "density_raised",
            distribution=short(whose),
            error_type=type(error).__name__,
            n_points=points,
            error=str(error),
        ) from error
    shape = (points, dim) if dim else (points,)
    try:
        raw = np.asarray(given)
        if raw.dtype.kind not in "biufO":
            raise TypeError
        values = np.asarray(raw, dtype=np.float64)
        if values.size == np.prod(shape):
            return values.reshape(shape)
        return np.broadcast_to(values, shape).copy()
    except (TypeError, ValueError):
        raise CoreDataError(
            "not_a_number_for_each", distribution=short(whose), value=short(given), n_points=points
        ) from None


def short(given: Any) -> str:
    """What stands for an object in a message."""
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."


EPS = float(np.finfo(np.float64).eps)

EMPTY = 1e6 * EPS
"""Variance along an axis, over the largest, that is none; as in scipy."""

BESIDE = 1e-7
"""Distance from a plane, over the largest standard deviation in it, at which a row lies beside it: random
rows are off by the root of a rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalPlace:
    """Where a normal distribution lies, in columns of unit variance: over their standard deviations, or one.

    The orthogonal axes (p, r) span its plane, with the standard deviations sd (r,) along them, and those
    across (p, p - r) leave it; `log_volume` is half the logarithm of the product of the positive eigenvalues
    of the covariance.
    """

    unit: Floats
    axes: Floats
    sd: Floats
    across: Floats
    log_volume: float

    def holds(self, gaps: Floats, size: Floats) -> Mask:
        """Whether rows less the mean (m, p) lie on it, where the columns have numbers of some size (p,)."""
        away = np.sqrt(((gaps / self.unit @ self.across) ** 2).sum(axis=-1))
        return np.asarray(away <= BESIDE * self.sd.max(initial=0.0) + 64 * EPS * (size / self.unit).max())

    def distances(self, gaps: Floats) -> Floats:
        """Mahalanobis distances (m,) of rows less the mean (m, p), within the plane."""
        return np.asarray(np.sqrt(((gaps / self.unit @ self.axes / self.sd) ** 2).sum(axis=-1)))

    def log_density(self, x: Floats, mean: Floats) -> Floats:
        """Log density (m,) on the plane of rows x (m, p); minus infinity beside it."""
        gaps = x - mean
        logs = -0.5 * (self.distances(gaps) ** 2 + len(self.sd) * np.log(2 * np.pi)) - self.log_volume
        return np.where(self.holds(gaps, np.abs(mean)), logs, -np.inf)


def plane_of(cov: Floats) -> NormalPlace:
    """The plane of a covariance (p, p), which is all of the space where it has full rank."""
    sd = np.sqrt(np.diagonal(cov))
    unit = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(cov / unit / unit[:, None])
    spread = values > EMPTY * values[-1]
    axes = vectors[:, spread]
    lengths = np.sqrt(values[spread])
    root = np.linalg.qr(unit[:, None] * axes * lengths, mode="r")
    volume = float(np.log(np.abs(np.diagonal(root))).sum())
    return NormalPlace(unit, axes, lengths, vectors[:, ~spread], volume)


def rank_of(cov: Floats) -> int:
    """Dimensions in which a covariance (p, p) spreads."""
    return len(plane_of(cov).sd)


def distance_of(cov: Floats, first: Floats, second: Floats) -> float:
    """Mahalanobis distance of two means (p,): infinite where their planes lie side by side."""
    gap = second - first
    plane = plane_of(cov)
    if len(plane.sd) == len(cov):
        return float(np.linalg.norm(np.linalg.solve(np.linalg.cholesky(cov), gap)))
    if not plane.holds(gap, np.abs(first) + np.abs(second)):
        return np.inf
    return float(plane.distances(gap))


def on_smallest(logs: Floats, ranks: Codes) -> Floats:
    """Log densities (m, K) of classes of ranks (K,), but minus infinity beside one of fewer dimensions."""
    if (ranks == ranks[0]).all():
        return logs
    here = np.where(np.isneginf(logs), ranks.max() + 1, ranks)
    return np.where(here > here.min(axis=1, keepdims=True), -np.inf, logs)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)

PANELS = 256
"""Panels whose points are looked at together."""

MOST_LEVELS = 200
"""How often a panel is cut in two: a jump is enclosed to the last bit, a pole at zero to the 60th decimal."""

SLOWEST = 0.98
"""Ratio of successive changes of a panel beyond which they are taken for this one."""

DOUBT = 0.25
"""Share of a panel's change before last that its error is taken to be at least."""

Panel = Callable[[Codes, Floats, Floats], Floats]

MOST_PANELS = 20_000
"""Panels of one level; more are left as they are, and the bound says so."""


def integrate(
    f: Callable[[Floats], Floats], breaks: Floats, rtol: float | Floats = 1e-11
) -> tuple[Floats, Floats]:
    """Integrals (q,) over a line of functions from points (m,) to values (m, q), and a bound on each error.

    Breaks ascend; the first and the last are the ends of the line, and may be infinite. One between them at
    least is finite. Kinks, jumps and the heights of the mass belong there: what no panel sees is not found.
    The wanted error, one or (q,), is that of a panel over the integral.

    Examples
    --------
    >>> value, bound = integrate(lambda x: np.exp(-np.abs(x))[:, None], np.array([-np.inf, 0.0, np.inf]))
    >>> abs(float(value[0]) - 2) < 1e-13, bool(bound[0] < 1e-9)
    (True, True)
    """
    finite = breaks[np.isfinite(breaks)]
    scale = float(finite[-1] - finite[0]) or 1.0
    kind = np.zeros(len(breaks) - 1, dtype=np.intp)
    low, high = breaks[:-1].copy(), breaks[1:].copy()
    # A tail is the image of [0, 1) under anchor +- scale t/(1-t).
    for end, sign in ((0, -1), (-1, 1)):
        if np.isinf(breaks[end]):
            kind[end] = sign
            low[end] = 0.0
            high[end] = 1.0

    def panel(kind: Codes, low: Floats, high: Floats) -> Floats:
        # In parts, as many functions at the points of many panels fill the memory.
        parts = slices(len(kind), PANELS)
        return np.concatenate([some(kind[part], low[part], high[part]) for part in parts])

    def some(kind: Codes, low: Floats, high: Floats) -> Floats:
        half = 0.5 * (high - low)
        t = low[:, None] + half[:, None] * (1 + NODES)
        tail = (kind != 0)[:, None]
        anchor = np.where(kind < 0, finite[0], finite[-1])[:, None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x = np.where(tail, anchor + kind[:, None] * scale * t / (1 - t), t)
            slope = half[:, None] * np.where(tail, scale / (1 - t) ** 2, 1.0)
            values = f(x.ravel()).reshape(*x.shape, -1)
        # Beyond 1e308 there is no mass that could be seen.
        values = np.where(np.isfinite(x)[..., None], values, 0.0)
        return np.asarray(np.einsum("ijq,ij,j->iq", values, slope, WEIGHTS))

    return _refined(panel, kind, low, high, rtol)


def _refined(
    panel: Panel, kind: Codes, low: Floats, high: Floats, rtol: float | Floats
) -> tuple[Floats, Floats]:
    coarse = panel(kind, low, high)
    before = np.full(coarse.shape, np.inf)
    value = np.zeros(coarse.shape[1])
    bound = np.zeros(coarse.shape[1])
    for level in range(MOST_LEVELS):
        middle = 0.5 * (low + high)
        left, right = panel(kind, low, middle), panel(kind, middle, high)
        change = np.abs(left + right - coarse)
        # The first panels have no change before.
        doubt = DOUBT * before if level else change
        # At a pole, changes fall by a constant ratio r, and all that follow add up to r/(1 - r) of the last.
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(change > 0, np.minimum(change / before, SLOWEST), 0.0)
        remaining = change * np.maximum(1.1 * ratio / (1 - ratio), 1.0)
        error = np.maximum(remaining, doubt)
        # Between neighbouring numbers nothing is known of the integrand.
        point = (middle == low) | (middle == high)
        error[point] = np.maximum(error[point], np.abs(left + right)[point])
        total = np.abs(value + (left + right).sum(axis=0))
        last = level == MOST_LEVELS - 1 or 2 * len(low) > MOST_PANELS
        done = ((error <= rtol * total) & (level > 0) | last).all(axis=1) | point
        value += (left + right)[done].sum(axis=0)
        bound += error[done].sum(axis=0)
        cut = ~done
        if not cut.any():
            break
        coarse = np.concatenate([left[cut], right[cut]])
        before = np.tile(change[cut], (2, 1))
        kind = np.tile(kind[cut], 2)
        low, high = np.concatenate([low[cut], middle[cut]]), np.concatenate([middle[cut], high[cut]])
    # Rounding of sums of positive numbers.
    return value, bound + 64 * np.finfo(float).eps * np.abs(value)


def masses(f: Callable[[Floats], Floats], breaks: Floats, most: float) -> tuple[Floats, Floats]:
    """Points (c,) of a line, and the integral of a function from the first of them to each.

    Panels between the breaks, finite and ascending, are halved until each has an integral of `most` or less.
    """
    low, high = breaks[:-1], breaks[1:]
    done: list[tuple[Floats, Floats]] = []
    for level in range(MOST_LEVELS):
        half = 0.5 * (high - low)
        values = f((low[:, None] + half[:, None] * (1 + NODES)).ravel()).reshape(len(low), -1)
        mass = half * (values @ WEIGHTS)
        middle = low + half
        cut = (mass > most) & (middle > low) & (middle < high) & (level < MOST_LEVELS - 1)
        done.append((low[~cut], mass[~cut]))
        if not cut.any():
            break
        low, high = np.concatenate([low[cut], middle[cut]]), np.concatenate([middle[cut], high[cut]])
    starts, mass = (np.concatenate(parts) for parts in zip(*done, strict=True))
    order = np.argsort(starts)
    at = np.append(starts[order], breaks[-1])
    return at, np.concatenate([[0.0], np.cumsum(mass[order])])


SLACK = 1e-6
"""How far from one the integral of a density may be, beyond the error of the quadrature."""

LEVELS = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
"""Probabilities, in both tails, of the quantiles that show where the mass is."""

TINY = float(np.finfo(float).tiny)

UNLISTED = 1e-30
"""Probability of the values of a discrete variable that need not be listed."""

VAGUE = 0.01
"""Error of a density's integral, over the integral, from which on it is not known."""

SIMPLEX = 1e-9
"""How far from one the sum of a row may be where a distribution is one of shares, as in scipy."""

POWERS = np.concatenate([-np.geomspace(1e8, 1e-8, 321), [0.0], np.geomspace(1e-8, 1e8, 321)])
"""Where a function is looked at, with ten points between each two."""

SMALL_SHARE = 1 / 4096
"""Most of a function's mass between two points of its distribution function."""


class Normal(NamedTuple):
    """Mean (p,) and covariance (p, p) of a normal distribution."""

    mean: Floats
    cov: Floats


class Bell(NamedTuple):
    """A t distribution, normal where `df` is infinite, and its log density at the centre."""

    centre: float
    scale: float
    df: float
    peak: float

    def log_density(self, x: Floats) -> Floats:
        """Log density (m,) of points (m,)."""
        z = (x - self.centre) / self.scale
        if np.isinf(self.df):
            return np.asarray(self.peak - z**2 / 2)
        return np.asarray(self.peak - (self.df + 1) / 2 * np.log1p(z**2 / self.df))


@dataclass(frozen=True)
class ScipyDensity:
    """A distribution of one variable, of either of the two kinds in scipy.stats."""

    frozen: Any
    discrete: bool

    dim = rank = 1

    def log_density(self, x: Floats) -> Floats:
        """Log density, or log probability where it is discrete, (m,) of rows x (m, 1)."""
        log = self.frozen.logpmf if self.discrete else self.frozen.logpdf
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self._bell is not None:
                return self._bell.log_density(x[:, 0])
            logs = values_of(self.frozen, log, x[:, 0], points=len(x))
        return np.where(np.abs(x[:, 0]) <= np.pi, logs, -np.inf) if self._circular else logs

    @cached_property
    def _bell(self) -> Bell | None:
        """Its parameters where it is a normal or a t distribution of scipy's."""
        # A call of scipy's takes many times as long as the density itself.
        dist = getattr(self.frozen, "dist", None)
        name = getattr(dist, "name", None)
        if name not in ("norm", "t") or not is_scipys(self.frozen):
            return None
        names = ["df", "loc", "scale"][name == "norm" :]
        given = {"df": np.inf, "loc": 0.0, "scale": 1.0} | dict(zip(names, self.frozen.args, strict=False))
        df, loc, scale = (float((given | self.frozen.kwds)[name]) for name in ("df", "loc", "scale"))
        if not (np.isfinite(loc) and 0 < scale < np.inf and (name == "norm" or df < np.inf)):
            return None
        return Bell(loc, scale, df, float(self.frozen.logpdf(loc)))

    @property
    def _circular(self) -> bool:
        """Whether its density goes on beyond the circle on which it integrates to one."""
        return getattr(getattr(self.frozen, "dist", None), "name", None) == "vonmises"

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """A sample (n, 1)."""
        if hasattr(self.frozen, "rvs"):
            sample = self.frozen.rvs(size=n, random_state=rng)
        else:
            sample = self.frozen.sample(n, rng=rng)
        return np.asarray(sample, dtype=np.float64).reshape(n, 1)

    @property
    def support(self) -> tuple[float, float]:
        """Its ends."""
        low, high = (-np.pi, np.pi) if self._circular else self.frozen.support()
        return float(low), float(high)

    @property
    def landmarks(self) -> Floats:
        """Finite points, ascending, between which the mass lies."""
        names = ("ppf", "isf") if hasattr(self.frozen, "ppf") else ("icdf", "iccdf")
        with np.errstate(all="ignore"):
            tails = [np.asarray(getattr(self.frozen, name)(LEVELS), dtype=np.float64) for name in names]
        low, high = self.support
        points = np.unique(np.concatenate([*tails, np.array([low, high])]))
        return np.asarray(points[np.isfinite(points) & (points >= low) & (points <= high)])

    def lattice(self, most: int) -> Floats:
        """Values of a discrete distribution about its median, until nothing is left outside, or too many.

        Empty where there is no median, or whole numbers about it are not told apart.
        """
        listed = getattr(getattr(self.frozen, "dist", None), "xk", None)
        if listed is not None:
            values = np.asarray(listed, dtype=np.float64).ravel()
            return np.asarray(values - values.min() + self.support[0])
        median = self.frozen.ppf if hasattr(self.frozen, "ppf") else self.frozen.icdf
        centre = float(median(0.5))
        reach = 64.0
        if not abs(centre) < 2.0**52:
            return np.zeros(0)
        # Quantiles far out are found step by step, which takes forever in a heavy tail.
        while 4 * reach < most and self.outside(centre - reach, centre + reach) > UNLISTED:
            reach *= 2
        low, high = max(centre - reach, self.support[0]), min(centre + reach, self.support[1])
        return np.asarray(low + np.arange(round(high - low) + 1.0))

    def outside(self, low: float, high: float) -> float:
        """Probability below low or above high."""
        above = self.frozen.sf if hasattr(self.frozen, "sf") else self.frozen.ccdf
        return float(self.frozen.cdf(low - 0.5) + above(high))

    @property
    def normal(self) -> Normal | None:
        """Its parameters where it is normal."""
        name = getattr(getattr(self.frozen, "dist", None), "name", type(self.frozen).__name__)
        if name not in ("norm", "Normal") or not is_scipys(self.frozen):
            return None
        with np.errstate(over="ignore"):
            mean = _moment(self.frozen.mean)
            sd = _moment(getattr(self.frozen, "std", None), self.frozen)
            # A variance may underflow or overflow where the standard deviation does not.
            variance = np.array([[sd**2]])
        return Normal(np.array([mean]), variance) if TINY < variance[0, 0] < np.inf else None


def _moment(method: Any, frozen: Any = None) -> float:
    return float(frozen.standard_deviation() if method is None else method())


@dataclass(frozen=True)
class RowDensity:
    """A distribution of rows, frozen in scipy.stats."""

    frozen: Any
    dim: int
    discrete: bool

    def log_density(self, x: Floats) -> Floats:
        """Log density, or log probability where it is discrete, (m,) of rows x (m, p)."""
        if self._plane is not None and self.normal is not None:
            return self._plane.log_density(x, self.normal.mean)
        if self.discrete:
            possible = (x == np.floor(x)).all(axis=1)
            log = self.frozen.logpmf
            rows = x[possible].astype(np.int64)
        elif type(self.frozen).__name__ == "dirichlet_frozen":
            # Of rows beside the simplex, where the density is zero, scipy makes an error.
            possible = (x > 0).all(axis=1) & (np.abs(x.sum(axis=1) - 1) < SIMPLEX)
            log = self.frozen.logpdf
            rows = x[possible].T
        else:
            possible = np.ones(len(x), dtype=bool)
            log = self.frozen.logpdf
            rows = x
        out = np.full(len(x), -np.inf)
        if possible.any():
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                out[possible] = values_of(self.frozen, log, rows, points=int(possible.sum()))
        return out

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """A sample (n, p)."""
        return values_of(self.frozen, self.frozen.rvs, size=n, random_state=rng, points=n, dim=self.dim)

    @property
    def normal(self) -> Normal | None:
        """Its parameters where it is normal."""
        if type(self.frozen).__name__ != "multivariate_normal_frozen":
            return None
        return Normal(np.atleast_1d(self.frozen.mean), np.atleast_2d(self.frozen.cov))

    @cached_property
    def _plane(self) -> NormalPlace | None:
        """Where it lies, if it is normal and scipy takes its covariance for singular."""
        if (normal := self.normal) is None:
            return None
        # As scipy does where columns differ much in unit.
        values = np.linalg.eigvalsh(normal.cov)
        return plane_of(normal.cov) if values[0] <= EMPTY * values[-1] else None

    @cached_property
    def rank(self) -> int:
        """Dimensions in which it spreads."""
        law = self.normal if self.student is None else self.student[0]
        return self.dim if law is None else rank_of(law.cov)

    @property
    def student(self) -> tuple[Normal, float] | None:
        """Location and shape, and degrees of freedom, where it is a multivariate t."""
        if type(self.frozen).__name__ != "multivariate_t_frozen":
            return None
        return Normal(np.atleast_1d(self.frozen.loc), np.atleast_2d(self.frozen.shape)), float(self.frozen.df)


@dataclass(frozen=True, eq=False)
class FunctionDensity:
    """A density of one variable that a function of the user's gives, from points (m,) to densities (m,)."""

    function: Callable[[Floats], Any]

    dim = rank = 1
    discrete = False
    support = (-np.inf, np.inf)
    normal: Normal | None = None

    def values(self, x: Floats) -> Floats:
        """Densities (m,) of points (m,)."""
        values = values_of(self.function, self.function, x, points=len(x))
        refuse_negative(values, x)
        return values

    def log_density(self, x: Floats) -> Floats:
        """Log density (m,) of rows x (m, 1)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.values(x[:, 0])))

    @cached_property
    def _cumulative(self) -> tuple[Floats, Floats]:
        """Points and the distribution function there."""
        at, shares = masses(self.values, POWERS, SMALL_SHARE)
        return at, shares / shares[-1]

    @property
    def landmarks(self) -> Floats:
        """Finite points, ascending, between which the mass lies."""
        at, shares = self._cumulative
        inside = (shares > LEVELS[0]) & (shares < 1 - LEVELS[0])
        levels = np.concatenate([LEVELS, 1 - LEVELS])
        heavy = np.flatnonzero(np.diff(shares) > 2 * SMALL_SHARE / 5)[::8]
        return np.unique(np.concatenate([np.interp(levels, shares[inside], at[inside]), at[heavy]]))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """A sample (n, 1), by inverting the distribution function between points of small mass."""
        at, shares = self._cumulative
        return np.interp(rng.random(n), shares, at)[:, None]


Density = ScipyDensity | RowDensity | FunctionDensity


def density_of(given: Any) -> Density:
    """The density that an object stands for; a NotSupportedError of matrices, or of rows on a surface.

    A DataError says that it is no distribution, does not integrate to one, or is negative somewhere.
    """
    if hasattr(given, "logpdf") or hasattr(given, "logpmf"):
        return _of_scipy(given)
    if not callable(given):
        raise CoreDataError("not_a_distribution", distribution=short(given))
    density = FunctionDensity(given)
    _check_integral(density)
    return density


def is_scipys(frozen: Any) -> bool:
    """Whether a distribution is one of scipy's own, and so a density that integrates to one."""
    return type(getattr(frozen, "dist", frozen)).__module__.startswith("scipy.")


def _of_scipy(given: Any) -> Density:
    kinds = {kind.__name__ for kind in type(given).__mro__}
    old = {"rv_frozen", "rv_continuous", "rv_discrete"} & kinds
    new = {"UnivariateDistribution", "_ProbabilityDistribution"} & kinds
    if old or new:
        inner = {kind.__name__ for kind in type(getattr(given, "dist", given)).__mro__}
        density = ScipyDensity(given, discrete=bool({"rv_discrete", "DiscreteDistribution"} & inner))
        try:
            support = [np.asarray(end) for end in given.support()]
        except TypeError:
            raise CoreDataError("missing_parameters", distribution=short(given)) from None
        if any(end.ndim for end in support):
            raise CoreDataError("array_parameters", distribution=short(given))
        if any(np.isnan(end) for end in support):
            raise CoreDataError("parameters_out_of_range", distribution=short(given))
        if not density.discrete and not is_scipys(given):
            _check_integral(density)
        return density
    if not hasattr(given, "rvs"):
        raise CoreNotSupportedError("not_frozen", distribution=short(given))
    drawn = np.asarray(given.rvs(size=2, random_state=np.random.default_rng(0)))
    discrete = not hasattr(given, "logpdf")
    rows = RowDensity(given, drawn.shape[-1] if drawn.ndim > 1 else 1, discrete)
    normal = rows.normal
    if normal is not None and rows.dim == 1:
        if not normal.cov[0, 0] > 0:
            raise CoreDataError("zero_variance", distribution=short(given))
        from scipy.stats import norm

        return ScipyDensity(norm(normal.mean[0], np.sqrt(normal.cov[0, 0])), discrete=False)
    readable = drawn.ndim <= 2
    why = "they are matrices"
    try:
        readable = readable and len(rows.log_density(drawn.reshape(2, rows.dim).astype(float))) == 2
    except ValueError as error:
        readable = False
        why = str(error)
    if not readable:
        raise CoreNotSupportedError("not_multivariate", distribution=short(given), cause=why)
    return rows


def _check_integral(density: FunctionDensity | ScipyDensity) -> None:
    """Raise a DataError where a density of one variable is negative or does not integrate to one."""
    low, high = density.support
    breaks = np.concatenate([[low], POWERS, [high]])
    breaks = np.unique(breaks[(breaks >= low) & (breaks <= high)])
    if len(breaks) == 2 and np.isfinite(breaks).all():
        breaks = np.linspace(low, high, 33)

    def values(x: Floats) -> Floats:
        if isinstance(density, FunctionDensity):
            return density.values(x)[:, None]
        values = values_of(density.frozen, density.frozen.pdf, x, points=len(x))
        refuse_negative(values, x)
        return values[:, None]

    with np.errstate(over="ignore", invalid="ignore"):
        value, bound = integrate(values, breaks, rtol=1e-9)
    if not bound[0] <= VAGUE * max(1.0, value[0]):
        raise CoreDataError("infinite_integral")
    if not abs(value[0] - 1) <= SLACK + bound[0]:
        raise CoreDataError("integral_not_one", integral=value[0])
