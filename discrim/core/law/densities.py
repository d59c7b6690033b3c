"""Densities of a class: what scipy.stats and plain functions give, as one thing on rows (m, p)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.law.callables import asked, refuse_negative, short
from discrim.core.law.quadrature import integrate, masses
from discrim.core.law.supports import Plane, plane_of, rank_of, seems_singular
from discrim.errors import DataError, NotSupportedError

__all__ = ["Density", "FunctionDensity", "Normal", "RowDensity", "ScipyDensity", "density_of"]

Floats = NDArray[np.float64]

SLACK = 1e-6
"""How far from one the integral of a density may be, beyond the error of the quadrature."""

LEVELS = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
"""Probabilities, in both tails, of the quantiles that show where the mass is."""

TINY = float(np.finfo(float).tiny)

NOTHING = 1e-30
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
    """A distribution of one variable, of either of the two kinds in scipy.stats.

    Attributes
    ----------
    frozen : object
    discrete : bool
    """

    frozen: Any
    discrete: bool

    dim = rank = 1

    def log_density(self, x: Floats) -> Floats:
        """Log density, or log probability where it is discrete, (m,) of rows x (m, 1)."""
        log = self.frozen.logpmf if self.discrete else self.frozen.logpdf
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self._bell is not None:
                return self._bell.log_density(x[:, 0])
            found = asked(self.frozen, log, x[:, 0], points=len(x))
        return np.where(np.abs(x[:, 0]) <= np.pi, found, -np.inf) if self._circular else found

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
            found = [np.asarray(getattr(self.frozen, name)(LEVELS), dtype=np.float64) for name in names]
        both = np.unique(np.concatenate([*found, np.array(self.support)]))
        low, high = self.support
        return np.asarray(both[np.isfinite(both) & (both >= low) & (both <= high)])

    def lattice(self, most: int) -> Floats:
        """Values of a discrete distribution about its median, until nothing is left outside, or too many.

        None where there is no median, or whole numbers about it are not told apart.
        """
        listed = getattr(getattr(self.frozen, "dist", None), "xk", None)
        if listed is not None:
            values = np.asarray(listed, dtype=np.float64).ravel()
            return np.asarray(values - values.min() + self.support[0])
        median = self.frozen.ppf if hasattr(self.frozen, "ppf") else self.frozen.icdf
        centre, reach = float(median(0.5)), 64.0
        if not abs(centre) < 2.0**52:
            return np.zeros(0)
        # Quantiles far out are found step by step, which takes forever in a heavy tail.
        while 4 * reach < most and self.outside(centre - reach, centre + reach) > NOTHING:
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
            mean, sd = _moment(self.frozen.mean), _moment(getattr(self.frozen, "std", None), self.frozen)
        # A variance may underflow or overflow where the standard deviation does not.
        with np.errstate(over="ignore"):
            variance = np.array([[sd**2]])
        return Normal(np.array([mean]), variance) if TINY < variance[0, 0] < np.inf else None


def _moment(method: Any, frozen: Any = None) -> float:
    return float(frozen.standard_deviation() if method is None else method())


@dataclass(frozen=True)
class RowDensity:
    """A distribution of rows, frozen in scipy.stats.

    Attributes
    ----------
    frozen : object
    dim : int
    discrete : bool
    """

    frozen: Any
    dim: int
    discrete: bool

    def log_density(self, x: Floats) -> Floats:
        """Log density, or log probability where it is discrete, (m,) of rows x (m, p)."""
        if self._plane is not None and self.normal is not None:
            return self._plane.log_density(x, self.normal.mean)
        if self.discrete:
            held = (x == np.floor(x)).all(axis=1)
            log, rows = self.frozen.logpmf, x[held].astype(np.int64)
        elif type(self.frozen).__name__ == "dirichlet_frozen":
            # Of rows beside the simplex, where the density is zero, scipy makes an error.
            held = (x > 0).all(axis=1) & (np.abs(x.sum(axis=1) - 1) < SIMPLEX)
            log, rows = self.frozen.logpdf, x[held].T
        else:
            held, log, rows = np.ones(len(x), dtype=bool), self.frozen.logpdf, x
        out = np.full(len(x), -np.inf)
        if held.any():
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                out[held] = asked(self.frozen, log, rows, points=int(held.sum()))
        return out

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """A sample (n, p)."""
        return asked(self.frozen, self.frozen.rvs, size=n, random_state=rng, points=n, dim=self.dim)

    @property
    def normal(self) -> Normal | None:
        """Its parameters where it is normal."""
        if type(self.frozen).__name__ != "multivariate_normal_frozen":
            return None
        return Normal(np.atleast_1d(self.frozen.mean), np.atleast_2d(self.frozen.cov))

    @cached_property
    def _plane(self) -> Plane | None:
        """Where it lies, if it is normal and scipy takes its covariance for singular."""
        known = self.normal is not None and seems_singular(self.normal.cov)
        return plane_of(self.normal.cov) if known and self.normal is not None else None

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


@dataclass(frozen=True)
class FunctionDensity:
    """A density of one variable that a function of the user's gives.

    Attributes
    ----------
    function : callable
        From points (m,) to densities (m,).
    """

    function: Callable[[Floats], Any]

    dim = rank = 1
    discrete = False
    support = (-np.inf, np.inf)
    normal: Normal | None = None

    def values(self, x: Floats) -> Floats:
        """Densities (m,) of points (m,)."""
        found = asked(self.function, self.function, x, points=len(x))
        refuse_negative(found, x)
        return found

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
    """The density that an object stands for.

    Raises
    ------
    DataError
        It is not a distribution, does not integrate to one, or is negative somewhere.
    NotSupportedError
        It is a distribution of matrices, or of rows on a surface.
    """
    if hasattr(given, "logpdf") or hasattr(given, "logpmf"):
        return _of_scipy(given)
    if not callable(given):
        raise DataError(
            f"{short(given)} is no distribution: give a frozen one of scipy.stats, such as "
            "scipy.stats.norm(0, 1), or a function of one variable that gives its density."
        )
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
        _check_parameters(density)
        if not density.discrete and not is_scipys(given):
            _check_integral(density)
        return density
    if not hasattr(given, "rvs"):
        raise NotSupportedError(
            f"{short(given)} is not frozen, or cannot be drawn from: freeze it, or give its pdf, a function "
            "of one variable."
        )
    drawn = np.asarray(given.rvs(size=2, random_state=np.random.default_rng(0)))
    discrete = not hasattr(given, "logpdf")
    rows = RowDensity(given, drawn.shape[-1] if drawn.ndim > 1 else 1, discrete)
    normal = rows.normal
    if normal is not None and rows.dim == 1:
        if not normal.cov[0, 0] > 0:
            raise DataError(f"{short(given)} has a variance of zero, and so no density: give a larger one.")
        from scipy.stats import norm

        return ScipyDensity(norm(normal.mean[0], np.sqrt(normal.cov[0, 0])), discrete=False)
    try:
        readable = drawn.ndim <= 2 and rows.log_density(drawn.reshape(2, rows.dim).astype(float)).shape == (
            2,
        )
        why = "they are matrices"
    except ValueError as error:
        readable, why = False, str(error)
    if not readable:
        raise NotSupportedError(
            f"{short(given)} is not a density of rows of numbers (its logpdf does not take rows): see "
            f"multivariate_normal, multivariate_t, or distributions of one variable. ({why})"
        )
    return rows


def _check_parameters(density: ScipyDensity) -> None:
    try:
        support = [np.asarray(end) for end in density.frozen.support()]
    except TypeError:
        raise DataError(f"{short(density.frozen)} needs parameters: freeze it with them.") from None
    if any(end.ndim for end in support):
        raise DataError(f"{short(density.frozen)} has arrays of parameters: give one distribution a class.")
    if any(np.isnan(end) for end in support):
        raise DataError(
            f"{short(density.frozen)} has parameters that are out of range: give ones that scipy.stats takes."
        )


def _check_integral(density: FunctionDensity | ScipyDensity) -> None:
    """Raise a DataError where a density of one variable is negative or does not integrate to one."""
    low, high = density.support
    breaks = np.concatenate([[low], POWERS, [high]])
    held = (breaks >= low) & (breaks <= high)
    breaks = np.unique(breaks[held])
    if len(breaks) == 2 and np.isfinite(breaks).all():
        breaks = np.linspace(low, high, 33)

    def values(x: Floats) -> Floats:
        found = density.values(x) if isinstance(density, FunctionDensity) else _pdf(density, x)
        refuse_negative(found, x)
        return found[:, None]

    with np.errstate(over="ignore", invalid="ignore"):
        value, bound = integrate(values, breaks, rtol=1e-9)
    if not bound[0] <= VAGUE * max(1.0, value[0]):
        raise DataError(
            "The density does not integrate to one: its integral grows without end, in the tails or at a "
            "pole, or cannot be found. Give another density, or a scipy.stats distribution."
        )
    if not abs(value[0] - 1) <= SLACK + bound[0]:
        raise DataError(
            f"The density integrates to {value[0]:.6g}, not to one: divide it by its integral. (A density "
            "far narrower than its distance from zero is not seen: give a scipy.stats distribution, with "
            "loc and scale.)"
        )


def _pdf(density: ScipyDensity, x: Floats) -> Floats:
    return asked(density.frozen, density.frozen.pdf, x, points=len(x))
