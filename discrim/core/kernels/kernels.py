"""Kernels of rows, and the coordinates in which they are computed.

*Kernels* of two rows a and b, in coordinates z, with the width s:

    gaussian     exp(-|a - b|^2 / (2 s^2))
    laplace      exp(-|a - b|_1 / s), with the sum of the absolute differences
    polynomial   (1 + a'b / s^2)^degree
    linear       a'b
    arccos       |a||b| (sin t + (pi - t) cos t) / pi, with t the angle between (a / s, 1) and (b / s, 1) and
                 | | their lengths: the kernel of order 1 of Cho & Saul (2009, NIPS 22), the limit of
                 infinitely many rectified linear units

All of them are positive semidefinite (Schölkopf & Smola, 2002, Learning with Kernels, sec. 4 and 13).

*Coordinates* of a numeric column depend on the scale. "sd": values about the mean divided by the standard
deviation over all rows (divisor N). "ranks": normal scores of the ranks. For a value with weight d, up to
which a fraction c of the weights lies, the score is the normal quantile of c - d / 2; scores are standardized
as well. Between the values of the fit scores are interpolated, and outside they equal the scores at the ends.
"none": values about the mean, all divided by one number, the root of the mean of the variances.

*Categories* have a coordinate for each level, 1/sqrt(1 - sum p_l^2) in the row's own level and zero in the
others, with p the proportions of the levels. Squared distances within a factor are then all equal, for any
coding and reference level; their mean over pairs of rows is two, as for a standardized column; and a factor
of two levels has the distances of the standardized column of zeros and ones. For sums of absolute differences
the coordinates are divided by sqrt(2), which preserves the last property. An unknown level has equal
distances to all levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from discrim.core.errors import CoreDataError
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, slices

KernelName = Literal["gaussian", "laplace", "polynomial", "linear", "arccos"]
"""Names of kernels."""

ScaleName = Literal["sd", "ranks", "categories", "none"]
"""Methods to convert numeric columns to coordinates."""

WITHOUT_WIDTH = ("linear", "callable")
"""Kernels without a width parameter."""

ABSOLUTE = ("laplace",)
"""Kernels of sums of absolute differences."""

AT_ONCE = 2**18
"""Number of kernel values per block, chosen to fit the processor's cache."""

FEW_VALUES = 10
"""Maximum number of distinct values of a numeric column that is converted to categories."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Kernel with its parameters.

    Attributes
    ----------
    name : str
        "callable" for a user-defined function.
    width : float
    degree : int
        Degree of the polynomial kernel.
    function : callable or None
        User-defined kernel.
    """

    name: str
    width: float = 1.0
    degree: int = 3
    function: Callable[[Floats, Floats], Floats] | None = field(default=None, metadata=NOT_STORED)

    def matrix(self, a: Floats, b: Floats) -> Floats:
        """Compute the kernel matrix of two sets of rows, in blocks.

        Parameters
        ----------
        a : (m, q) float
        b : (n, q) float
            Coordinates of the rows.

        Returns
        -------
        (m, n) float
        """
        if self.function is not None:
            return _of_function(self.function, a, b)
        out = np.empty((len(a), len(b)))
        fill = self._fill_with(b)
        for rows in slices(len(a), max(AT_ONCE // len(b), 1)):
            fill(a[rows], out[rows])
        return out

    def products(self, a: Floats, b: Floats, coef: Floats) -> Floats:
        """Multiply the kernel matrix of two sets of rows by coefficients, in blocks.

        Parameters
        ----------
        a : (m, q) float
        b : (n, q) float
        coef : (n, r) float

        Returns
        -------
        (m, r) float
        """
        step = max(AT_ONCE // len(b), 1)
        out = np.empty((len(a), coef.shape[1]))
        if self.function is not None:
            for rows in slices(len(a), step):
                np.matmul(_of_function(self.function, a[rows], b), coef, out=out[rows])
            return out
        buffer = np.empty((min(step, len(a)), len(b)))
        fill = self._fill_with(b)
        for rows in slices(len(a), step):
            kernels = buffer[: rows.stop - rows.start]
            fill(a[rows], kernels)
            np.matmul(kernels, coef, out=out[rows])
        return out

    def _fill_with(self, b: Floats) -> Callable[[Floats, Floats], None]:
        """Return a function that writes the kernel matrix (m, n) of rows (m, q) with b (n, q) to an array."""
        if self.name == "gaussian":
            return partial(_fill_gaussian, self.width, *_right_side(b / self.width))
        return partial(self._fill, b)

    def _fill(self, b: Floats, a: Floats, out: Floats) -> None:
        """Write the kernel matrix of a kernel other than the Gaussian.

        Parameters
        ----------
        b : (n, q) float
        a : (m, q) float
        out : (m, n) float
            Overwritten.
        """
        if self.name == "laplace":
            cdist(a, b, "cityblock", out=out)
            out *= -1.0 / self.width
            np.exp(out, out=out)
            return
        np.matmul(a, b.T, out=out)
        if self.name == "linear":
            return
        out /= self.width**2
        if self.name == "polynomial":
            out += 1.0
            out **= self.degree
            return
        own = _halves(a / self.width)
        other = _halves(b / self.width)
        lengths = np.sqrt(2 * own + 1)[:, None] * np.sqrt(2 * other + 1)
        cosine = np.clip((out + 1.0) / lengths, -1.0, 1.0)
        out[...] = lengths * (np.sqrt(1 - cosine**2) + (np.pi - np.arccos(cosine)) * cosine) / np.pi


def _right_side(b: Floats) -> tuple[Floats, bool]:
    """Prepare rows b (n, q) for `_fill_gaussian`.

    Returns
    -------
    right : (q + 2, n) float
        Right factor of the exponents.
    short : bool
        Whether rounding of exponents near zero is negligible, which saves clipping.
    """
    other = _halves(b)
    return np.column_stack([b, np.ones(len(b)), -other]).T, bool(other.max(initial=0.0) < SHORT)


def _fill_gaussian(width: float, right: Floats, short: bool, a: Floats, out: Floats) -> None:
    """Write exp(-|a / width - b|^2 / 2) to `out`.

    The exponents a'b - |a|^2 / 2 - |b|^2 / 2 are computed by one matrix product.

    Parameters
    ----------
    width : float
    right : (q + 2, n) float
    short : bool
        Results of `_right_side`.
    a : (m, q) float
    out : (m, n) float
    """
    a = a / width
    np.matmul(np.column_stack([a, -_halves(a), np.ones(len(a))]), right, out=out)
    if not short:
        np.minimum(out, 0.0, out=out)
    np.exp(out, out=out)


SHORT = 1e3
"""Half the squared length of rows up to which rounding of exponents near zero is negligible."""


def _halves(a: Floats) -> Floats:
    """Half the squared lengths (m,) of rows a (m, q)."""
    return np.asarray(np.einsum("ij,ij->i", a, a) / 2)


def _of_function(function: Callable[[Floats, Floats], Floats], a: Floats, b: Floats) -> Floats:
    """Call a user-defined kernel and validate its result.

    Parameters
    ----------
    function : callable
    a : (m, q) float
    b : (n, q) float

    Returns
    -------
    (m, n) float

    Raises
    ------
    CoreDataError
        The function raised an exception, or its result has another shape or is not finite.
    """
    try:
        found = np.asarray(function(a, b), dtype=np.float64)
    except Exception as error:
        # A user-defined function may raise any exception.
        raise CoreDataError("kernel_raised", a=a.shape, b=b.shape, error=str(error)) from error
    if found.shape != (len(a), len(b)):
        raise CoreDataError(
            "kernel_shape", shape=found.shape, a=a.shape, b=b.shape, expected=(len(a), len(b))
        )
    if not np.isfinite(found).all():
        raise CoreDataError("kernel_not_finite")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Standardization of columns: (x - centre) * unit.

    Attributes
    ----------
    centre : (p,) float
        Means.
    unit : (p,) float
        Inverse standard deviations; zero for constant columns.
    """

    centre: Floats
    unit: Floats

    def of(self, x: Floats) -> Floats:
        """Standardize rows x (m, p)."""
        return np.asarray((x - self.centre) * self.unit)


def fit_standard(x: Floats, weights: Floats | None) -> Standard:
    """Compute the means and standard deviations (divisor N) of columns.

    Parameters
    ----------
    x : (n, p) float
    weights : (n,) float or None

    Returns
    -------
    Standard
    """
    centre = np.average(x, axis=0, weights=weights)
    gaps = x - centre
    # Divide by the largest deviation; squares then stay within float64 for any units of the columns.
    size = np.abs(gaps).max(axis=0)
    varies = (x != x[:1]).any(axis=0)
    squares = np.average((gaps / np.where(varies, size, 1.0)) ** 2, axis=0, weights=weights)
    return Standard(centre, np.where(varies, 1 / np.where(varies, size * np.sqrt(squares), 1.0), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryColumns:
    """Columns that together encode the levels of a factor.

    Attributes
    ----------
    at : (c,) int
        Positions of the columns.
    values : (L, c) float
        Values of the columns for each level.
    length : float
        Coordinate of a row in its own level.
    """

    at: Codes
    values: Floats
    length: float

    def coordinates(self, u: Floats) -> Floats:
        """Return the coordinates (m, L + 1) of rows u (m, p); the last one is for unknown levels."""
        found, inverse = np.unique(u[:, self.at] + 0.0, axis=0, return_inverse=True)
        known = {row.tobytes(): level for level, row in enumerate(self.values)}
        levels = np.array([known.get(row.tobytes(), len(known)) for row in found], dtype=np.intp)
        return np.asarray(self.length * np.eye(len(known) + 1)[levels[inverse.ravel()]])


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Map from standardized columns to coordinates.

    Attributes
    ----------
    at : (q,) int
        Positions of the numeric columns.
    knots : tuple of (values, scores)
        Normal scores of the values of each numeric column, for interpolation; empty for other scales.
    categories : tuple of CategoryColumns
    lengths : (q,) float or None
        Factors of the standardized columns on the scale "none".
    """

    at: Codes
    knots: tuple[tuple[Floats, Floats], ...]
    categories: tuple[CategoryColumns, ...]
    lengths: Floats | None = None

    def of(self, u: Floats, kernel: str) -> Floats:
        """Return the coordinates of standardized rows u (m, p) for a kernel."""
        parts = [u[:, self.at]]
        if self.lengths is not None:
            parts = [parts[0] * self.lengths]
        if self.knots:
            scores = [np.interp(u[:, j], *each) for j, each in zip(self.at, self.knots, strict=True)]
            parts = [np.stack(scores, axis=1)]
        shrink = np.sqrt(0.5) if kernel in ABSOLUTE else 1.0
        return np.concatenate([*parts, *(shrink * each.coordinates(u) for each in self.categories)], axis=1)


def fit_coordinates(
    u: Floats,
    weights: Floats | None,
    scale: str,
    factors: Sequence[Sequence[int]] = (),
    unit: Floats | None = None,
) -> Coordinates:
    """Learn coordinates from rows.

    Parameters
    ----------
    u : (n, p) float
        Standardized rows.
    weights : (n,) float or None
    scale : {"sd", "ranks", "categories", "none"}
    factors : sequence of sequences of int
        Positions of the columns of each factor.
    unit : (p,) float or None
        Inverse standard deviations, for the scale "none".

    Returns
    -------
    Coordinates
    """
    w = np.ones(len(u)) if weights is None else weights
    w = w / w.sum()
    groups = [list(group) for group in factors]
    inside = {j for group in groups for j in group}
    numbers = [j for j in range(u.shape[1]) if j not in inside]
    if scale == "categories":
        few = [j for j in numbers if len(np.unique(u[:, j])) <= FEW_VALUES]
        groups += [[j] for j in few]
        numbers = [j for j in numbers if j not in few]
    categories = []
    for group in groups:
        values, inverse = np.unique(u[:, np.array(group)] + 0.0, axis=0, return_inverse=True)
        # With a single level use the distance between two equally frequent levels.
        spread = 1 - float((np.bincount(inverse.ravel(), w) ** 2).sum()) if len(values) > 1 else 0.5
        categories.append(CategoryColumns(np.array(group), values, float(1 / np.sqrt(spread))))
    knots = tuple(_normal_scores(u[:, j], w) for j in numbers) if scale == "ranks" else ()
    at = np.array(numbers, dtype=np.intp)
    lengths = None if unit is None or scale != "none" else _lengths(unit[at])
    return Coordinates(at, knots, tuple(categories), lengths)


def _lengths(unit: Floats) -> Floats:
    """Standard deviations (q,) relative to their root mean square, from their inverses."""
    # Divide by the largest standard deviation; squares then stay within float64.
    varies = unit > 0
    shares = np.where(varies, unit.min(where=varies, initial=np.inf) / np.where(varies, unit, 1.0), 0.0)
    mean = float(np.mean(shares[varies] ** 2)) if varies.any() else 1.0
    return np.asarray(shares / np.sqrt(mean))


def _normal_scores(u: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Normal scores of a column.

    Parameters
    ----------
    u : (n,) float
    w : (n,) float
        Weights that sum to one.

    Returns
    -------
    values, scores : (v,) float
        Distinct values in increasing order, and their standardized scores.
    """
    values, inverse = np.unique(u, return_inverse=True)
    shares = np.bincount(inverse, w)
    scores = ndtri(np.clip(np.cumsum(shares) - shares / 2, 0.0, 1.0))
    scores -= shares @ scores
    spread = np.sqrt(shares @ scores**2)
    return values, scores / spread if spread > 0 else np.zeros_like(scores)


def few_valued(u: Floats, factors: Sequence[Sequence[int]]) -> bool:
    """Whether a numeric column of rows u (n, p) has at least three but few distinct values."""
    inside = {j for group in factors for j in group}
    return any(2 < len(np.unique(u[:, j])) <= FEW_VALUES for j in range(u.shape[1]) if j not in inside)


def median_distance(z: Floats, kernel: str, weights: Floats | None = None) -> float:
    """Median of the positive distances between rows.

    Parameters
    ----------
    z : (n, q) float
    kernel : str
        Determines the metric.
    weights : (n,) float or None

    Returns
    -------
    float

    Raises
    ------
    CoreDataError
        All rows are equal.
    """
    distances = cdist(z, z, "cityblock" if kernel in ABSOLUTE else "euclidean")
    apart = distances > 0
    refuse_equal_rows(different=bool(apart.any()))
    if weights is None:
        return float(np.median(distances[apart]))
    order = np.argsort(distances[apart], kind="stable")
    passed = np.cumsum(np.outer(weights, weights)[apart][order])
    # As for repeated rows, the median is the mean of the two middle values.
    middle = np.searchsorted(passed, passed[-1] * np.array([0.5 - 1e-12, 0.5 + 1e-12]))
    return float(distances[apart][order][middle].mean())


def refuse_equal_rows(*, different: bool) -> None:
    """Raise a DataError if all rows are equal."""
    if not different:
        raise CoreDataError("equal_rows")


NAMES: tuple[str, ...] = get_args(KernelName)
