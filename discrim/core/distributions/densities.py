"""Class densities: a common interface to distributions of scipy.stats and to density functions of the user.

`to_density` converts either of them to a `Density` with log densities of rows (m, p), draws and quantiles.
Values from code of the user are validated.

*Singular covariances.* A normal distribution of rank r has a density only on a plane of r dimensions. A class
with more dimensions has probability zero there. A row on the plane therefore belongs to the class with fewer
dimensions, irrespective of the density values, which refer to different measures (Khatri, 1968, Sankhya A 30,
267-280).

*Integrals over a line* are adaptive, and all panels of a pass are evaluated at once. The integral over a
panel by ten Gauss-Legendre nodes is compared with the integrals over its halves; if they differ by too much,
the halves are split again. The error bound adds up the last differences, extrapolated by their rate of
decrease. It is at least a fraction of the previous difference, because two sums may agree by chance on the
two sides of a jump. For smooth integrands the bound is far above the true error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.errors import DiscrimError


def raise_if_negative(values: Floats, x: Floats) -> None:
    """Raise DataError with the first finite point of x (m,) at which a density (m,) is negative or NaN."""
    is_bad = ~(values >= 0) & np.isfinite(x)
    if is_bad.any():
        raise CoreDataError("negative_density", value=values[is_bad][0], x=x[is_bad][0])


def call_density(
    distribution: Any,
    function: Callable[..., Any],
    *arguments: Any,
    points: int,
    dim: int = 0,
    **options: Any,
) -> Floats:
    """Call a function of the user and return its values as float64.

    A single value is repeated for all points.

    Parameters
    ----------
    distribution : object
        The distribution, whose repr is part of messages.
    function : callable
        Function to call.
    *arguments
        Arguments of the function.
    points : int
        Number of points, for each of which a value is expected.
    dim : int
        Number of columns of the values; 0 for a 1-d array.
    **options
        Keyword arguments of the function.

    Returns
    -------
    (points,) or (points, dim) float

    Raises
    ------
    CoreDataError
        If the function raises an error, or if its values are not numeric or cannot be broadcast to the shape.
        A DiscrimError of the function is raised unchanged.
    """
    try:
        result = function(*arguments, **options)
    except DiscrimError:
        raise
    except Exception as error:
        raise CoreDataError(
            "density_raised",
            distribution=short_repr(distribution),
            error_type=type(error).__name__,
            n_points=points,
            error=str(error),
        ) from error
    shape = (points, dim) if dim else (points,)
    try:
        array = np.asarray(result)
        if array.dtype.kind not in "biufO":
            raise TypeError
        values = np.asarray(array, dtype=np.float64)
        if values.size == np.prod(shape):
            return values.reshape(shape)
        return np.broadcast_to(values, shape).copy()
    except (TypeError, ValueError):
        raise CoreDataError(
            "not_a_number_for_each",
            distribution=short_repr(distribution),
            value=short_repr(result),
            n_points=points,
        ) from None


def short_repr(value: Any) -> str:
    """Return the repr of an object, shortened to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


MIN_VARIANCE_RATIO = 1e6 * EPS
"""Variance along an axis, relative to the largest one, that counts as zero (as in scipy)."""

PLANE_TOLERANCE = 1e-7
"""Distance from a plane, relative to the largest standard deviation in it, above which a row is not on the
plane. Random rows are off by the root of a rounding error.
"""


@dataclass(frozen=True, slots=True, eq=False)
class NormalSubspace:
    """Subspace on which a possibly singular normal distribution has its density, in scaled columns.

    Attributes
    ----------
    unit : (p,) float
        Standard deviations of the columns; one for a constant column.
    axes : (p, r) float
        Orthonormal axes of the subspace, for deviations from the mean divided by `unit`.
    sd : (r,) float
        Standard deviations along the axes of columns divided by `unit`.
    complement : (p, p - r) float
        Orthonormal basis of the orthogonal complement.
    log_volume : float
        Half the logarithm of the product of the positive eigenvalues of the covariance, in the units of the
        data.
    """

    unit: Floats
    axes: Floats
    sd: Floats
    complement: Floats
    log_volume: float

    def contains(self, deviations: Floats, magnitudes: Floats) -> Mask:
        """Return whether rows lie on the subspace, up to rounding.

        Parameters
        ----------
        deviations : (m, p) float
            Rows minus the mean, in the units of the data.
        magnitudes : (p,) float
            Magnitude of the columns in the units of the data, which determines the rounding error.

        Returns
        -------
        (m,) bool
        """
        distances = np.sqrt(((deviations / self.unit @ self.complement) ** 2).sum(axis=-1))
        return np.asarray(
            distances
            <= PLANE_TOLERANCE * self.sd.max(initial=0.0) + 64 * EPS * (magnitudes / self.unit).max()
        )

    def distances(self, deviations: Floats) -> Floats:
        """Return the unsquared Mahalanobis distances (m,) within the plane of rows minus the mean (m, p)."""
        return np.asarray(np.sqrt(((deviations / self.unit @ self.axes / self.sd) ** 2).sum(axis=-1)))

    def log_density(self, x: Floats, mean: Floats) -> Floats:
        """Return the log density (m,) on the plane of rows x (m, p), for a mean (p,).

        It refers to the volume of r dimensions, and is minus infinity outside the plane.
        """
        deviations = x - mean
        logs = -0.5 * (self.distances(deviations) ** 2 + len(self.sd) * np.log(2 * np.pi)) - self.log_volume
        return np.where(self.contains(deviations, np.abs(mean)), logs, -np.inf)


def subspace_of(cov: Floats) -> NormalSubspace:
    """Return the subspace of a covariance (p, p), the whole space if it has full rank.

    Its axes are the eigenvectors of the correlation matrix with an eigenvalue above `MIN_VARIANCE_RATIO`
    times the largest one.
    """
    sd = np.sqrt(np.diagonal(cov))
    unit = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(cov / unit / unit[:, None])
    is_positive = values > MIN_VARIANCE_RATIO * values[-1]
    axes = vectors[:, is_positive]
    axis_sds = np.sqrt(values[is_positive])
    root = np.linalg.qr(unit[:, None] * axes * axis_sds, mode="r")
    volume = float(np.log(np.abs(np.diagonal(root))).sum())
    return NormalSubspace(unit, axes, axis_sds, vectors[:, ~is_positive], volume)


def covariance_rank(cov: Floats) -> int:
    """Return the rank of a covariance (p, p), the dimension of its subspace by `subspace_of`."""
    return len(subspace_of(cov).sd)


def mahalanobis_distance(cov: Floats, first: Floats, second: Floats) -> float:
    """Return the unsquared Mahalanobis distance of two means (p,) under a covariance (p, p).

    It is infinite if the covariance is singular and the difference is outside its subspace.
    """
    mean_difference = second - first
    plane = subspace_of(cov)
    if len(plane.sd) == len(cov):
        return float(np.linalg.norm(np.linalg.solve(np.linalg.cholesky(cov), mean_difference)))
    if not plane.contains(mean_difference, np.abs(first) + np.abs(second)):
        return np.inf
    return float(plane.distances(mean_difference))


def keep_smallest_rank(logs: Floats, ranks: Codes) -> Floats:
    """Keep, at each point, the log densities of the classes of smallest rank among those that are possible.

    Log densities of classes of larger rank become minus infinity. A class is possible at a point if its log
    density is not minus infinity, that is, if the point is on its subspace.

    Parameters
    ----------
    logs : (m, K) float
        Log densities.
    ranks : (K,) int
        Ranks of the classes.

    Returns
    -------
    (m, K) float
        The array itself if all ranks are equal, otherwise a new one.
    """
    if (ranks == ranks[0]).all():
        return logs
    ranks_at_points = np.where(np.isneginf(logs), ranks.max() + 1, ranks)
    return np.where(ranks_at_points > ranks_at_points.min(axis=1, keepdims=True), -np.inf, logs)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
"""Points and weights of Gauss-Legendre quadrature on (-1, 1)."""

PANELS_PER_CHUNK = 256
"""Number of panels that are evaluated together."""

MAX_LEVELS = 200
"""Maximum number of bisections: enough to enclose a jump to the last bit, or a pole at zero to 60 decimals.
"""

MAX_CHANGE_RATIO = 0.98
"""Upper limit of the ratio of successive changes of a panel that is used for extrapolation."""

MIN_ERROR_FRACTION = 0.25
"""Minimum error of a panel as a fraction of its previous change."""

PanelIntegrals = Callable[[Codes, Floats, Floats], Floats]
"""Function of types (n,), lower ends (n,) and upper ends (n,) of panels that returns integrals (n, q)."""

MAX_PANELS = 20_000
"""Maximum number of panels of one level. More are not refined, and the error bound includes them."""


def integrate(
    f: Callable[[Floats], Floats], breaks: Floats, rtol: float | Floats = 1e-11
) -> tuple[Floats, Floats]:
    """Integrate functions over a line, with a bound on each error.

    Parameters
    ----------
    f : callable
        Maps points (m,) to the values (m, q) of q functions.
    breaks : (b,) float
        Ascending; the first and the last are the ends of the line and may be infinite, and at least one
        is finite. They should include kinks, jumps and peaks; a peak between the nodes is missed.
    rtol : float or (q,) float
        Error tolerance of a panel relative to the integral.

    Returns
    -------
    value, bound : (q,) float
        Integrals and bounds of their absolute errors.

    Examples
    --------
    >>> value, bound = integrate(lambda x: np.exp(-np.abs(x))[:, None], np.array([-np.inf, 0.0, np.inf]))
    >>> abs(float(value[0]) - 2) < 1e-13, bool(bound[0] < 1e-9)
    (True, True)
    """
    finite = breaks[np.isfinite(breaks)]
    scale = float(finite[-1] - finite[0]) or 1.0
    panel_types = np.zeros(len(breaks) - 1, dtype=np.intp)
    low, high = breaks[:-1].copy(), breaks[1:].copy()
    # Map [0, 1) to a tail by anchor +- scale t/(1-t).
    for end, sign in ((0, -1), (-1, 1)):
        if np.isinf(breaks[end]):
            panel_types[end] = sign
            low[end] = 0.0
            high[end] = 1.0

    def panel(panel_types: Codes, low: Floats, high: Floats) -> Floats:
        """Return the integrals (n, q) over panels, computed in chunks to limit the memory."""
        chunks = slices(len(panel_types), PANELS_PER_CHUNK)
        return np.concatenate(
            [integrate_chunk(panel_types[chunk], low[chunk], high[chunk]) for chunk in chunks]
        )

    def integrate_chunk(panel_types: Codes, low: Floats, high: Floats) -> Floats:
        """Return the integrals (n, q) over some panels by Gauss-Legendre quadrature."""
        half = 0.5 * (high - low)
        t = low[:, None] + half[:, None] * (1 + NODES)
        tail = (panel_types != 0)[:, None]
        anchor = np.where(panel_types < 0, finite[0], finite[-1])[:, None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x = np.where(tail, anchor + panel_types[:, None] * scale * t / (1 - t), t)
            slope = half[:, None] * np.where(tail, scale / (1 - t) ** 2, 1.0)
            values = f(x.ravel()).reshape(*x.shape, -1)
        # Points above 1e308 cannot be represented.
        values = np.where(np.isfinite(x)[..., None], values, 0.0)
        return np.asarray(np.einsum("ijq,ij,j->iq", values, slope, WEIGHTS))

    return _refine(panel, panel_types, low, high, rtol)


def _refine(
    panel: PanelIntegrals, panel_types: Codes, low: Floats, high: Floats, rtol: float | Floats
) -> tuple[Floats, Floats]:
    """Bisect panels until their errors are below the tolerance; return the integrals and error bounds.

    Parameters
    ----------
    panel : callable
        Maps panel types and ends of n panels to their integrals (n, q).
    panel_types : (n,) int
        0 for a panel between finite ends, -1 and 1 for the lower and upper tail.
    low, high : (n,) float
        Ends of the panels; in a tail, ends in the variable t from 0 to 1 of `integrate`.
    rtol : float or (q,) float
        Error tolerance of a panel relative to the integral.

    Returns
    -------
    value, bound : (q,) float
        Integrals and bounds of their absolute errors.
    """
    coarse = panel(panel_types, low, high)
    previous_change = np.full(coarse.shape, np.inf)
    value = np.zeros(coarse.shape[1])
    bound = np.zeros(coarse.shape[1])
    for level in range(MAX_LEVELS):
        midpoints = 0.5 * (low + high)
        left_halves, right_halves = panel(panel_types, low, midpoints), panel(panel_types, midpoints, high)
        change = np.abs(left_halves + right_halves - coarse)
        # The first panels have no previous change.
        min_error = MIN_ERROR_FRACTION * previous_change if level else change
        # At a pole, changes decrease by a constant ratio r; the next ones add up to r/(1 - r) times the last.
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(change > 0, np.minimum(change / previous_change, MAX_CHANGE_RATIO), 0.0)
        remaining = change * np.maximum(1.1 * ratio / (1 - ratio), 1.0)
        error = np.maximum(remaining, min_error)
        # The integrand cannot be evaluated between adjacent floating-point numbers.
        is_point = (midpoints == low) | (midpoints == high)
        error[is_point] = np.maximum(error[is_point], np.abs(left_halves + right_halves)[is_point])
        total = np.abs(value + (left_halves + right_halves).sum(axis=0))
        is_last = level == MAX_LEVELS - 1 or 2 * len(low) > MAX_PANELS
        is_done = ((error <= rtol * total) & (level > 0) | is_last).all(axis=1) | is_point
        value += (left_halves + right_halves)[is_done].sum(axis=0)
        bound += error[is_done].sum(axis=0)
        is_split = ~is_done
        if not is_split.any():
            break
        coarse = np.concatenate([left_halves[is_split], right_halves[is_split]])
        previous_change = np.tile(change[is_split], (2, 1))
        panel_types = np.tile(panel_types[is_split], 2)
        low, high = (
            np.concatenate([low[is_split], midpoints[is_split]]),
            np.concatenate([midpoints[is_split], high[is_split]]),
        )
    # Rounding error of sums of positive numbers.
    return value, bound + 64 * np.finfo(float).eps * np.abs(value)


def cumulative_integral(
    f: Callable[[Floats], Floats], breaks: Floats, max_mass: float
) -> tuple[Floats, Floats]:
    """Compute the cumulative integral of a function on a grid with little mass between points.

    Parameters
    ----------
    f : callable
        Maps points (m,) to values (m,).
    breaks : (b,) float
        Finite and ascending. Panels between them are bisected.
    max_mass : float
        Maximum integral of a panel.

    Returns
    -------
    points, integrals : (c,) float
        Points from the first to the last break, and integrals from the first break to each of them.
    """
    low, high = breaks[:-1], breaks[1:]
    finished: list[tuple[Floats, Floats]] = []
    for level in range(MAX_LEVELS):
        half_widths = 0.5 * (high - low)
        values = f((low[:, None] + half_widths[:, None] * (1 + NODES)).ravel()).reshape(len(low), -1)
        mass = half_widths * (values @ WEIGHTS)
        midpoints = low + half_widths
        is_split = (mass > max_mass) & (midpoints > low) & (midpoints < high) & (level < MAX_LEVELS - 1)
        finished.append((low[~is_split], mass[~is_split]))
        if not is_split.any():
            break
        low, high = (
            np.concatenate([low[is_split], midpoints[is_split]]),
            np.concatenate([midpoints[is_split], high[is_split]]),
        )
    starts, mass = (np.concatenate(columns) for columns in zip(*finished, strict=True))
    order = np.argsort(starts)
    points = np.append(starts[order], breaks[-1])
    return points, np.concatenate([[0.0], np.cumsum(mass[order])])


INTEGRAL_TOLERANCE = 1e-6
"""Tolerated difference between the integral of a density and one, in addition to the quadrature error."""

TAIL_PROBABILITIES = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
"""Tail probabilities of the quantiles that locate the mass."""

MIN_POSITIVE = float(np.finfo(float).tiny)
"""Smallest normal float64; a smaller variance has lost digits."""

NEGLIGIBLE_PROBABILITY = 1e-30
"""Probability of values of a discrete variable that may be left out."""

MAX_INTEGRAL_ERROR = 0.01
"""Relative error of a density's integral above which the integral counts as infinite."""

SIMPLEX_TOLERANCE = 1e-9
"""Tolerance for the sum of the proportions of a row, as in scipy."""

EVALUATION_GRID = np.concatenate([-np.geomspace(1e8, 1e-8, 321), [0.0], np.geomspace(1e-8, 1e8, 321)])
"""Grid on which a density function is evaluated, with ten points between adjacent values."""

MAX_TABULATED_MASS = 1 / 4096
"""Maximum mass between two points of a tabulated distribution function."""


class Normal(NamedTuple):
    """Mean (p,) and covariance (p, p) of a normal distribution."""

    mean: Floats
    cov: Floats


class StudentTParameters(NamedTuple):
    """Univariate location-scale t distribution, normal if `df` is infinite (`scale` then is its sd).

    `log_peak` is its log density at the centre.
    """

    centre: float
    scale: float
    df: float
    log_peak: float

    def log_density(self, x: Floats) -> Floats:
        """Return the log density (m,) of points (m,)."""
        z = (x - self.centre) / self.scale
        if np.isinf(self.df):
            return np.asarray(self.log_peak - z**2 / 2)
        return np.asarray(self.log_peak - (self.df + 1) / 2 * np.log1p(z**2 / self.df))


@dataclass(frozen=True)
class ScipyDensity:
    """A univariate distribution of scipy.stats, of the old or the new interface.

    Attributes
    ----------
    frozen : object
        The distribution.
    is_discrete : bool
        Whether the distribution is discrete.
    """

    frozen: Any
    is_discrete: bool

    dim = rank = 1

    def log_density(self, x: Floats) -> Floats:
        """Return the log density, or log probability if discrete, (m,) of rows x (m, 1).

        The log density of a von Mises distribution is minus infinity outside [-pi, pi].
        """
        log = self.frozen.logpmf if self.is_discrete else self.frozen.logpdf
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self._parameters is not None:
                return self._parameters.log_density(x[:, 0])
            logs = call_density(self.frozen, log, x[:, 0], points=len(x))
        return np.where(np.abs(x[:, 0]) <= np.pi, logs, -np.inf) if self._is_circular else logs

    @cached_property
    def _parameters(self) -> StudentTParameters | None:
        """Parameters of a normal or t distribution of scipy.

        None for other distributions, and if a parameter is not finite or the scale is not positive.
        """
        # The overhead of a scipy call is many times the cost of the density itself.
        dist = getattr(self.frozen, "dist", None)
        name = getattr(dist, "name", None)
        if name not in ("norm", "t") or not is_defined_by_scipy(self.frozen):
            return None
        names = ["df", "loc", "scale"][name == "norm" :]
        defaults = {"df": np.inf, "loc": 0.0, "scale": 1.0} | dict(zip(names, self.frozen.args, strict=False))
        df, loc, scale = (float((defaults | self.frozen.kwds)[name]) for name in ("df", "loc", "scale"))
        if not (np.isfinite(loc) and 0 < scale < np.inf and (name == "norm" or df < np.inf)):
            return None
        return StudentTParameters(loc, scale, df, float(self.frozen.logpdf(loc)))

    @property
    def _is_circular(self) -> bool:
        """Whether the distribution is von Mises, whose periodic density integrates to one on [-pi, pi]."""
        return getattr(getattr(self.frozen, "dist", None), "name", None) == "vonmises"

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw a sample (n, 1)."""
        if hasattr(self.frozen, "rvs"):
            sample = self.frozen.rvs(size=n, random_state=rng)
        else:
            sample = self.frozen.sample(n, rng=rng)
        return np.asarray(sample, dtype=np.float64).reshape(n, 1)

    @property
    def support(self) -> tuple[float, float]:
        """Lower and upper end of the support, which may be infinite; [-pi, pi] for von Mises."""
        low, high = (-np.pi, np.pi) if self._is_circular else self.frozen.support()
        return float(low), float(high)

    @property
    def landmarks(self) -> Floats:
        """Ascending finite quantiles and ends of the support, between which the mass lies."""
        names = ("ppf", "isf") if hasattr(self.frozen, "ppf") else ("icdf", "iccdf")
        with np.errstate(all="ignore"):
            tails = [
                np.asarray(getattr(self.frozen, name)(TAIL_PROBABILITIES), dtype=np.float64) for name in names
            ]
        low, high = self.support
        points = np.unique(np.concatenate([*tails, np.array([low, high])]))
        return np.asarray(points[np.isfinite(points) & (points >= low) & (points <= high)])

    def list_values(self, max_values: int) -> Floats:
        """Return possible values (v,) of a discrete distribution, with steps of one unless scipy lists them.

        They are the values around the median, at most about `max_values` (at least 129 within the support);
        the range is extended until the remaining probability is at most `NEGLIGIBLE_PROBABILITY`. Empty if
        the median is not finite or its absolute value is 2^52 or more. If the distribution lists its values
        (`xk`), all of these are returned.
        """
        listed_values = getattr(getattr(self.frozen, "dist", None), "xk", None)
        if listed_values is not None:
            values = np.asarray(listed_values, dtype=np.float64).ravel()
            return np.asarray(values - values.min() + self.support[0])
        median = self.frozen.ppf if hasattr(self.frozen, "ppf") else self.frozen.icdf
        centre = float(median(0.5))
        half_range = 64.0
        if not abs(centre) < 2.0**52:
            return np.zeros(0)
        # scipy searches extreme quantiles step by step, which is too slow for a heavy tail.
        while (
            4 * half_range < max_values
            and self.tail_probability(centre - half_range, centre + half_range) > NEGLIGIBLE_PROBABILITY
        ):
            half_range *= 2
        low, high = max(centre - half_range, self.support[0]), min(centre + half_range, self.support[1])
        return np.asarray(low + np.arange(round(high - low) + 1.0))

    def tail_probability(self, low: float, high: float) -> float:
        """Return the probability of values below `low` or above `high`, for a discrete distribution.

        `low` is a possible value, and no other possible value is within 0.5 below it: the distribution
        function is evaluated at `low` - 0.5, because at `low` it would include the value itself.
        """
        above = self.frozen.sf if hasattr(self.frozen, "sf") else self.frozen.ccdf
        return float(self.frozen.cdf(low - 0.5) + above(high))

    @property
    def normal(self) -> Normal | None:
        """Mean (1,) and covariance (1, 1) if the distribution is a normal distribution of scipy.

        None for other distributions, and if the variance is not finite or at most `MIN_POSITIVE`.
        """
        name = getattr(getattr(self.frozen, "dist", None), "name", type(self.frozen).__name__)
        if name not in ("norm", "Normal") or not is_defined_by_scipy(self.frozen):
            return None
        with np.errstate(over="ignore"):
            mean = _moment(self.frozen.mean)
            sd = _moment(getattr(self.frozen, "std", None), self.frozen)
            # A variance may underflow or overflow where the standard deviation does not.
            variance = np.array([[sd**2]])
        return Normal(np.array([mean]), variance) if MIN_POSITIVE < variance[0, 0] < np.inf else None


def _moment(method: Any, frozen: Any = None) -> float:
    """Return the moment that `method` computes; if it is None, the `standard_deviation` of `frozen`."""
    return float(frozen.standard_deviation() if method is None else method())


@dataclass(frozen=True)
class RowDensity:
    """A frozen multivariate distribution of scipy.stats.

    Attributes
    ----------
    frozen : object
        The distribution.
    dim : int
        Number of columns.
    is_discrete : bool
        Whether the distribution is discrete.
    """

    frozen: Any
    dim: int
    is_discrete: bool

    def log_density(self, x: Floats) -> Floats:
        """Return the log density, or log probability if discrete, (m,) of rows x (m, p).

        It is minus infinity for rows outside the support, such as non-integers of a discrete distribution.
        """
        if self._subspace is not None and self.normal is not None:
            return self._subspace.log_density(x, self.normal.mean)
        if self.is_discrete:
            is_possible = (x == np.floor(x)).all(axis=1)
            log = self.frozen.logpmf
            rows = x[is_possible].astype(np.int64)
        elif type(self.frozen).__name__ == "dirichlet_frozen":
            # scipy raises an error for rows outside the simplex, at which the density is zero.
            is_possible = (x > 0).all(axis=1) & (np.abs(x.sum(axis=1) - 1) < SIMPLEX_TOLERANCE)
            log = self.frozen.logpdf
            rows = x[is_possible].T
        else:
            is_possible = np.ones(len(x), dtype=bool)
            log = self.frozen.logpdf
            rows = x
        log_densities = np.full(len(x), -np.inf)
        if is_possible.any():
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                log_densities[is_possible] = call_density(
                    self.frozen, log, rows, points=int(is_possible.sum())
                )
        return log_densities

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw a sample (n, p)."""
        return call_density(self.frozen, self.frozen.rvs, size=n, random_state=rng, points=n, dim=self.dim)

    @property
    def normal(self) -> Normal | None:
        """Mean (p,) and covariance (p, p) if the distribution is multivariate normal; otherwise None."""
        if type(self.frozen).__name__ != "multivariate_normal_frozen":
            return None
        return Normal(np.atleast_1d(self.frozen.mean), np.atleast_2d(self.frozen.cov))

    @cached_property
    def _subspace(self) -> NormalSubspace | None:
        """Subspace of a normal distribution with a singular covariance; otherwise None."""
        if (normal := self.normal) is None:
            return None
        # The criterion of scipy for columns with very different units.
        values = np.linalg.eigvalsh(normal.cov)
        return subspace_of(normal.cov) if values[0] <= MIN_VARIANCE_RATIO * values[-1] else None

    @cached_property
    def rank(self) -> int:
        """Rank of the covariance of a normal or t distribution; the number of columns for others."""
        parameters = self.normal if self.student_t is None else self.student_t[0]
        return self.dim if parameters is None else covariance_rank(parameters.cov)

    @property
    def student_t(self) -> tuple[Normal, float] | None:
        """Location (p,) and shape (p, p) as `Normal`, and degrees of freedom, of a t; None if not a t."""
        if type(self.frozen).__name__ != "multivariate_t_frozen":
            return None
        return Normal(np.atleast_1d(self.frozen.loc), np.atleast_2d(self.frozen.shape)), float(self.frozen.df)


@dataclass(frozen=True, eq=False)
class FunctionDensity:
    """A univariate density function of the user that maps points (m,) to densities (m,)."""

    function: Callable[[Floats], Any]

    dim = rank = 1
    is_discrete = False
    support = (-np.inf, np.inf)
    normal: Normal | None = None

    def values(self, x: Floats) -> Floats:
        """Return the densities (m,) at points (m,).

        A CoreDataError is raised if the function fails or does not return a number for each point, or if a
        density is negative or NaN at a finite point.
        """
        values = call_density(self.function, self.function, x, points=len(x))
        raise_if_negative(values, x)
        return values

    def log_density(self, x: Floats) -> Floats:
        """Return the log density (m,) of rows x (m, 1); minus infinity for zero densities."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.values(x[:, 0])))

    @cached_property
    def _cumulative(self) -> tuple[Floats, Floats]:
        """Tabulated distribution function: ascending points, and cumulative probabilities from 0 to 1."""
        points, integrals = cumulative_integral(self.values, EVALUATION_GRID, MAX_TABULATED_MASS)
        return points, integrals / integrals[-1]

    @property
    def landmarks(self) -> Floats:
        """Ascending finite quantiles between which the mass lies."""
        points, probabilities = self._cumulative
        is_inside = (probabilities > TAIL_PROBABILITIES[0]) & (probabilities < 1 - TAIL_PROBABILITIES[0])
        levels = np.concatenate([TAIL_PROBABILITIES, 1 - TAIL_PROBABILITIES])
        heavy_intervals = np.flatnonzero(np.diff(probabilities) > 2 * MAX_TABULATED_MASS / 5)[::8]
        return np.unique(
            np.concatenate(
                [np.interp(levels, probabilities[is_inside], points[is_inside]), points[heavy_intervals]]
            )
        )

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw a sample (n, 1) by inverting the tabulated distribution function."""
        points, probabilities = self._cumulative
        return np.interp(rng.random(n), probabilities, points)[:, None]


Density = ScipyDensity | RowDensity | FunctionDensity
"""Density of one class; all have `dim`, `rank`, `is_discrete`, `normal`, `log_density` and `draw`."""


def to_density(distribution: Any) -> Density:
    """Convert a distribution or a density function of the user to a `Density`.

    A distribution is a frozen distribution of scipy.stats, of the old or the new interface; a function maps
    points (m,) to densities (m,). Univariate continuous densities that are not defined by scipy are checked
    by quadrature.

    Returns
    -------
    ScipyDensity, RowDensity or FunctionDensity
        For a univariate distribution (or a multivariate normal of one dimension), a multivariate distribution
        and a function.

    Raises
    ------
    CoreDataError
        If the object is not a distribution or a function, has missing, array or invalid parameters or a
        variance of zero, does not integrate to one, or is negative at some point.
    CoreNotSupportedError
        If the distribution is not frozen, or its values are matrices or rows on a surface.
    """
    if hasattr(distribution, "logpdf") or hasattr(distribution, "logpmf"):
        return _density_from_scipy(distribution)
    if not callable(distribution):
        raise CoreDataError("not_a_distribution", distribution=short_repr(distribution))
    density = FunctionDensity(distribution)
    _check_integral(density)
    return density


def is_defined_by_scipy(frozen: Any) -> bool:
    """Return whether a distribution is defined in scipy; its density is then not checked."""
    return type(getattr(frozen, "dist", frozen)).__module__.startswith("scipy.")


def _density_from_scipy(distribution: Any) -> Density:
    """Convert a distribution of scipy.stats to a `Density`; raises the errors of `to_density`.

    A multivariate normal distribution of one dimension becomes a `ScipyDensity`.
    """
    class_names = {base.__name__ for base in type(distribution).__mro__}
    is_old_interface = {"rv_frozen", "rv_continuous", "rv_discrete"} & class_names
    is_new_interface = {"UnivariateDistribution", "_ProbabilityDistribution"} & class_names
    if is_old_interface or is_new_interface:
        inner_names = {base.__name__ for base in type(getattr(distribution, "dist", distribution)).__mro__}
        density = ScipyDensity(
            distribution, is_discrete=bool({"rv_discrete", "DiscreteDistribution"} & inner_names)
        )
        try:
            support = [np.asarray(end) for end in distribution.support()]
        except TypeError:
            raise CoreDataError("missing_parameters", distribution=short_repr(distribution)) from None
        if any(end.ndim for end in support):
            raise CoreDataError("array_parameters", distribution=short_repr(distribution))
        if any(np.isnan(end) for end in support):
            raise CoreDataError("parameters_out_of_range", distribution=short_repr(distribution))
        if not density.is_discrete and not is_defined_by_scipy(distribution):
            _check_integral(density)
        return density
    if not hasattr(distribution, "rvs"):
        raise CoreNotSupportedError("not_frozen", distribution=short_repr(distribution))
    sample = np.asarray(distribution.rvs(size=2, random_state=np.random.default_rng(0)))
    discrete = not hasattr(distribution, "logpdf")
    row_density = RowDensity(distribution, sample.shape[-1] if sample.ndim > 1 else 1, discrete)
    normal = row_density.normal
    if normal is not None and row_density.dim == 1:
        if not normal.cov[0, 0] > 0:
            raise CoreDataError("zero_variance", distribution=short_repr(distribution))
        from scipy.stats import norm

        return ScipyDensity(norm(normal.mean[0], np.sqrt(normal.cov[0, 0])), is_discrete=False)
    is_readable = sample.ndim <= 2
    cause = "they are matrices"
    try:
        is_readable = (
            is_readable
            and len(row_density.log_density(sample.reshape(2, row_density.dim).astype(float))) == 2
        )
    except ValueError as error:
        is_readable = False
        cause = str(error)
    if not is_readable:
        raise CoreNotSupportedError("not_multivariate", distribution=short_repr(distribution), cause=cause)
    return row_density


def _check_integral(density: FunctionDensity | ScipyDensity) -> None:
    """Raise CoreDataError if a univariate density is negative or does not integrate to one.

    The integral may differ from one by `INTEGRAL_TOLERANCE` plus its error bound. It counts as infinite if
    the bound exceeds `MAX_INTEGRAL_ERROR` times the larger of one and the integral.
    """
    low, high = density.support
    breaks = np.concatenate([[low], EVALUATION_GRID, [high]])
    breaks = np.unique(breaks[(breaks >= low) & (breaks <= high)])
    if len(breaks) == 2 and np.isfinite(breaks).all():
        breaks = np.linspace(low, high, 33)

    def values(x: Floats) -> Floats:
        """Return the densities (m, 1) at points (m,); raise CoreDataError if one is negative or NaN."""
        if isinstance(density, FunctionDensity):
            return density.values(x)[:, None]
        values = call_density(density.frozen, density.frozen.pdf, x, points=len(x))
        raise_if_negative(values, x)
        return values[:, None]

    with np.errstate(over="ignore", invalid="ignore"):
        value, bound = integrate(values, breaks, rtol=1e-9)
    if not bound[0] <= MAX_INTEGRAL_ERROR * max(1.0, value[0]):
        raise CoreDataError("infinite_integral")
    if not abs(value[0] - 1) <= INTEGRAL_TOLERANCE + bound[0]:
        raise CoreDataError("integral_not_one", integral=value[0])
