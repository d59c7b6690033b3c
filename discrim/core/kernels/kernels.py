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
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtri

from discrim.core.errors import CoreDataError
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, slices

KernelName = Literal["gaussian", "laplace", "polynomial", "linear", "arccos"]
"""Names of kernels."""

ScaleName = Literal["sd", "ranks", "categories", "none"]
"""Methods to convert numeric columns to coordinates."""

KERNELS_WITHOUT_WIDTH = ("linear", "callable")
"""Kernels without a width parameter."""

ABSOLUTE_DISTANCE_KERNELS = ("laplace",)
"""Kernels of sums of absolute differences."""

MAX_BLOCK_VALUES = 2**18
"""Number of kernel values per block, chosen to fit the processor's cache."""

MAX_CATEGORY_VALUES = 10
"""Maximum number of distinct values of a numeric column that is converted to categories."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Kernel with its parameters, a function of two rows with q coordinates.

    Attributes
    ----------
    name : {"gaussian", "laplace", "polynomial", "linear", "arccos", "callable"}
        "callable" for a user-defined function.
    width : float
        Width s of the kernel; not used by "linear" and "callable".
    degree : int
        Degree of the polynomial kernel; not used by others.
    function : callable or None
        User-defined kernel, which maps coordinates (m, q) and (n, q) to (m, n).
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
            Coordinates of the first rows, q for each row.
        b : (n, q) float
            Coordinates of the second rows.

        Returns
        -------
        (m, n) float
            Kernel of each row of `a` with each row of `b`.

        Raises
        ------
        CoreDataError
            A user-defined kernel raised an exception, or its result has another shape or is not finite.
        """
        if self.function is not None:
            return _evaluate_function(self.function, a, b)
        out = np.empty((len(a), len(b)))
        fill = self._fill_with(b)
        for rows in slices(len(a), max(MAX_BLOCK_VALUES // len(b), 1)):
            fill(a[rows], out[rows])
        return out

    def products(self, a: Floats, b: Floats, coef: Floats) -> Floats:
        """Multiply the kernel matrix of two sets of rows by coefficients, in blocks.

        Parameters
        ----------
        a : (m, q) float
            Coordinates of the first rows.
        b : (n, q) float
            Coordinates of the second rows.
        coef : (n, r) float
            Coefficients of the kernels, for r linear combinations.

        Returns
        -------
        (m, r) float
            The product K @ coef, with K the kernel matrix (m, n).

        Raises
        ------
        CoreDataError
            A user-defined kernel raised an exception, or its result has another shape or is not finite.
        """
        step = max(MAX_BLOCK_VALUES // len(b), 1)
        out = np.empty((len(a), coef.shape[1]))
        if self.function is not None:
            for rows in slices(len(a), step):
                np.matmul(_evaluate_function(self.function, a[rows], b), coef, out=out[rows])
            return out
        buffer = np.empty((min(step, len(a)), len(b)))
        fill = self._fill_with(b)
        for rows in slices(len(a), step):
            kernels = buffer[: rows.stop - rows.start]
            fill(a[rows], kernels)
            np.matmul(kernels, coef, out=out[rows])
        return out

    def _fill_with(self, b: Floats) -> Callable[[Floats, Floats], None]:
        """Return a function of a (m, q) and out (m, n) that writes the kernels of a and b (n, q) to out.

        The kernel must not be a user-defined function.
        """
        if self.name == "gaussian":
            return partial(_fill_gaussian, self.width, *_gaussian_right_factor(b / self.width))
        return partial(self._fill, b)

    def _fill(self, b: Floats, a: Floats, out: Floats) -> None:
        """Write the matrix of a built-in kernel, except the Gaussian, of rows a with rows b to an array.

        Parameters
        ----------
        b : (n, q) float
            Coordinates of the second rows.
        a : (m, q) float
            Coordinates of the first rows.
        out : (m, n) float
            Array for the kernel matrix.
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
        row_halves = _half_squared_norms(a / self.width)
        column_halves = _half_squared_norms(b / self.width)
        norm_products = np.sqrt(2 * row_halves + 1)[:, None] * np.sqrt(2 * column_halves + 1)
        cosine = np.clip((out + 1.0) / norm_products, -1.0, 1.0)
        out[...] = norm_products * (np.sqrt(1 - cosine**2) + (np.pi - np.arccos(cosine)) * cosine) / np.pi


def _gaussian_right_factor(b: Floats) -> tuple[Floats, bool]:
    """Prepare rows b (n, q) of q coordinates, divided by the width, for `_fill_gaussian`.

    Returns
    -------
    right : (q + 2, n) float
        Right factor of the exponents.
    is_short : bool
        Whether rounding of exponents near zero is negligible, which saves clipping.
    """
    halves = _half_squared_norms(b)
    return np.column_stack([b, np.ones(len(b)), -halves]).T, bool(
        halves.max(initial=0.0) < MAX_SHORT_HALF_NORM
    )


def _fill_gaussian(width: float, right: Floats, is_short: bool, a: Floats, out: Floats) -> None:
    """Write exp(-|a / width - b|^2 / 2) to `out`.

    The exponents a'b - |a|^2 / 2 - |b|^2 / 2 are computed by one matrix product.

    Parameters
    ----------
    width : float
        Width s of the kernel.
    right : (q + 2, n) float
        Right factor of the exponents.
    is_short : bool
        Whether clipping of positive exponents is omitted; like `right`, from `_gaussian_right_factor`.
    a : (m, q) float
        Coordinates of the first rows.
    out : (m, n) float
        Overwritten by the kernel matrix.
    """
    a = a / width
    # With a width near zero the exponents overflow. The caller raises an error for infinite kernels.
    with np.errstate(over="ignore", invalid="ignore"):
        np.matmul(np.column_stack([a, -_half_squared_norms(a), np.ones(len(a))]), right, out=out)
    if not is_short:
        np.minimum(out, 0.0, out=out)
    np.exp(out, out=out)


MAX_SHORT_HALF_NORM = 1e3
"""Half the squared length of rows up to which rounding of exponents near zero is negligible."""


def _half_squared_norms(a: Floats) -> Floats:
    """Return half the squared lengths (m,) of rows a (m, q)."""
    return np.asarray(np.einsum("ij,ij->i", a, a) / 2)


def _evaluate_function(function: Callable[[Floats, Floats], Floats], a: Floats, b: Floats) -> Floats:
    """Call a user-defined kernel and validate its result.

    Parameters
    ----------
    function : callable
        Kernel function of coordinates (m, q) and (n, q).
    a : (m, q) float
        Coordinates of the first rows.
    b : (n, q) float
        Coordinates of the second rows.

    Returns
    -------
    (m, n) float

    Raises
    ------
    CoreDataError
        The function raised an exception, or its result has another shape or is not finite.
    """
    try:
        kernel_matrix = np.asarray(function(a, b), dtype=np.float64)
    except Exception as error:
        # A user-defined function may raise any exception.
        raise CoreDataError("kernel_raised", a=a.shape, b=b.shape, error=str(error)) from error
    if kernel_matrix.shape != (len(a), len(b)):
        raise CoreDataError(
            "kernel_shape", shape=kernel_matrix.shape, a=a.shape, b=b.shape, expected=(len(a), len(b))
        )
    if not np.isfinite(kernel_matrix).all():
        raise CoreDataError("kernel_not_finite")
    return kernel_matrix


@dataclass(frozen=True, slots=True, eq=False)
class Standardization:
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

    def standardize(self, x: Floats) -> Floats:
        """Return the standardized columns (m, p) of rows x (m, p)."""
        return np.asarray((x - self.centre) * self.unit)


def fit_standardization(x: Floats, weights: Floats | None) -> Standardization:
    """Compute the means and standard deviations (divisor N) of columns.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    weights : (n,) float or None
        Weights of the rows; None for ones.

    Returns
    -------
    Standardization
    """
    centre = np.average(x, axis=0, weights=weights)
    deviations = x - centre
    # Divide by the largest deviation; squares then stay within float64 for any units of the columns.
    max_deviations = np.abs(deviations).max(axis=0)
    varies = (x != x[:1]).any(axis=0)
    squares = np.average((deviations / np.where(varies, max_deviations, 1.0)) ** 2, axis=0, weights=weights)
    return Standardization(
        centre, np.where(varies, 1 / np.where(varies, max_deviations * np.sqrt(squares), 1.0), 0.0)
    )


@dataclass(frozen=True, slots=True, eq=False)
class CategoryColumns:
    """Columns that together encode the levels of a factor.

    Attributes
    ----------
    columns : (c,) int
        Positions of the columns.
    values : (L, c) float
        Values of the standardized columns for each level.
    length : float
        Coordinate of a row in its own level; its coordinates for the other levels are zero.
    """

    columns: Codes
    values: Floats
    length: float

    def coordinates(self, u: Floats) -> Floats:
        """Return the coordinates (m, L + 1) of standardized rows u (m, p); the last is for unknown levels."""
        distinct, inverse = np.unique(u[:, self.columns] + 0.0, axis=0, return_inverse=True)
        level_by_value = {row.tobytes(): level for level, row in enumerate(self.values)}
        levels = np.array(
            [level_by_value.get(row.tobytes(), len(level_by_value)) for row in distinct], dtype=np.intp
        )
        return np.asarray(self.length * np.eye(len(level_by_value) + 1)[levels[inverse.ravel()]])


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Map from standardized columns to coordinates.

    Attributes
    ----------
    numeric_columns : (q,) int
        Positions of the numeric columns.
    knots : tuple of (values, scores)
        For the scale "ranks", the distinct values of each numeric column in increasing order and their normal
        scores, for interpolation; empty for other scales.
    categories : tuple of CategoryColumns
        Factors, and numeric columns that are treated as factors.
    column_factors : (q,) float or None
        Factors of the standardized numeric columns on the scale "none"; None for other scales.
    """

    numeric_columns: Codes
    knots: tuple[tuple[Floats, Floats], ...]
    categories: tuple[CategoryColumns, ...]
    column_factors: Floats | None = None

    def transform(self, u: Floats, kernel: str) -> Floats:
        """Return the coordinates (m, d) of standardized rows u (m, p) for a kernel, given by its name.

        First come the q numeric columns, then L + 1 coordinates for each of the categories.
        """
        blocks = [u[:, self.numeric_columns]]
        if self.column_factors is not None:
            blocks = [blocks[0] * self.column_factors]
        if self.knots:
            scores = [
                np.interp(u[:, j], *column_knots)
                for j, column_knots in zip(self.numeric_columns, self.knots, strict=True)
            ]
            blocks = [np.stack(scores, axis=1)]
        category_factor = np.sqrt(0.5) if kernel in ABSOLUTE_DISTANCE_KERNELS else 1.0
        return np.concatenate(
            [*blocks, *(category_factor * category.coordinates(u) for category in self.categories)],
            axis=1,
        )


def fit_coordinates(
    u: Floats,
    weights: Floats | None,
    scale: str,
    factors: Sequence[Sequence[int]] = (),
    unit: Floats | None = None,
) -> Coordinates:
    """Fit the map from standardized columns to the coordinates of a kernel.

    Parameters
    ----------
    u : (n, p) float
        Standardized rows.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    scale : {"sd", "ranks", "categories", "none"}
        Kind of coordinates of numeric columns.
    factors : sequence of sequences of int
        Positions of the columns of each factor; all other columns are numeric.
    unit : (p,) float or None
        Inverse standard deviations, for the scale "none"; None leaves numeric columns standardized.

    Returns
    -------
    Coordinates
        With numeric columns of at most `MAX_CATEGORY_VALUES` values as categories for the scale "categories".
    """
    w = np.ones(len(u)) if weights is None else weights
    w = w / w.sum()
    groups = [list(group) for group in factors]
    factor_columns = {j for group in groups for j in group}
    numeric = [j for j in range(u.shape[1]) if j not in factor_columns]
    if scale == "categories":
        categorical = [j for j in numeric if len(np.unique(u[:, j])) <= MAX_CATEGORY_VALUES]
        groups += [[j] for j in categorical]
        numeric = [j for j in numeric if j not in categorical]
    categories = []
    for group in groups:
        values, inverse = np.unique(u[:, np.array(group)] + 0.0, axis=0, return_inverse=True)
        # With a single level use the distance between two equally frequent levels.
        dissimilarity = 1 - float((np.bincount(inverse.ravel(), w) ** 2).sum()) if len(values) > 1 else 0.5
        categories.append(CategoryColumns(np.array(group), values, float(1 / np.sqrt(dissimilarity))))
    knots = tuple(_normal_scores(u[:, j], w) for j in numeric) if scale == "ranks" else ()
    numeric_columns = np.array(numeric, dtype=np.intp)
    column_factors = None if unit is None or scale != "none" else _relative_sds(unit[numeric_columns])
    return Coordinates(numeric_columns, knots, tuple(categories), column_factors)


def _relative_sds(unit: Floats) -> Floats:
    """Return standard deviations (q,) relative to their root mean square, from their inverses (q,).

    An inverse of zero marks a constant column, whose result is zero and which does not enter the mean.
    """
    # Divide by the largest standard deviation; squares then stay within float64.
    varies = unit > 0
    sd_ratios = np.where(varies, unit.min(where=varies, initial=np.inf) / np.where(varies, unit, 1.0), 0.0)
    mean = float(np.mean(sd_ratios[varies] ** 2)) if varies.any() else 1.0
    return np.asarray(sd_ratios / np.sqrt(mean))


def _normal_scores(u: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Compute the standardized normal scores of the ranks of a column.

    Parameters
    ----------
    u : (n,) float
        Values of the column.
    w : (n,) float
        Weights that sum to one.

    Returns
    -------
    values, scores : (v,) float
        Distinct values in increasing order, and their standardized scores.
    """
    values, inverse = np.unique(u, return_inverse=True)
    proportions = np.bincount(inverse, w)
    scores = ndtri(np.clip(np.cumsum(proportions) - proportions / 2, 0.0, 1.0))
    scores -= proportions @ scores
    sd = np.sqrt(proportions @ scores**2)
    return values, scores / sd if sd > 0 else np.zeros_like(scores)


def has_few_valued_column(u: Floats, factors: Sequence[Sequence[int]]) -> bool:
    """Return whether any numeric column has from 3 to `MAX_CATEGORY_VALUES` distinct values.

    Parameters
    ----------
    u : (n, p) float
        Standardized rows.
    factors : sequence of sequence of int
        Positions of the indicator columns of each factor, which are not numeric columns.

    Returns
    -------
    bool
    """
    factor_columns = {j for group in factors for j in group}
    return any(
        2 < len(np.unique(u[:, j])) <= MAX_CATEGORY_VALUES
        for j in range(u.shape[1])
        if j not in factor_columns
    )


def median_distance(z: Floats, kernel: str, weights: Floats | None = None) -> float:
    """Return the median of the positive distances between rows, by which kernel widths are scaled.

    Parameters
    ----------
    z : (n, q) float
        The q coordinates of the rows.
    kernel : str
        Name of the kernel: sums of absolute differences for "laplace", otherwise Euclidean distances.
    weights : (n,) float or None
        Frequency weights; a pair counts as often as the product of the weights. None for ones.

    Returns
    -------
    float
        In the units of the coordinates; the mean of the two middle distances of an even number.

    Raises
    ------
    CoreDataError
        All rows are equal.
    """
    distances = pdist(z, "cityblock" if kernel in ABSOLUTE_DISTANCE_KERNELS else "euclidean")
    is_positive = distances > 0
    raise_if_equal_rows(different=bool(is_positive.any()))
    if weights is None or (weights == weights[0]).all():
        return float(np.median(distances[is_positive]))
    first, second = np.triu_indices(len(z), 1)
    pair_weights = (weights[first] * weights[second])[is_positive]
    distances = distances[is_positive]
    order = np.argsort(distances, kind="stable")
    cumulative_weights = np.cumsum(pair_weights[order])
    # As for repeated rows, the median is the mean of the two middle values.
    middle_positions = np.searchsorted(
        cumulative_weights, cumulative_weights[-1] * np.array([0.5 - 1e-12, 0.5 + 1e-12])
    )
    return float(distances[order][middle_positions].mean())


def raise_if_equal_rows(*, different: bool) -> None:
    """Raise a DataError if all rows are equal, that is, unless `different` is true."""
    if not different:
        raise CoreDataError("equal_rows")


KERNEL_NAMES: tuple[str, ...] = get_args(KernelName)
"""Names of the kernels, without user-defined ones."""
