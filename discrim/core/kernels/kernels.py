"""Kernels of rows, and the coordinates that they are taken in.

*Kernels* of two rows a and b, in coordinates z, with the width s:

    gaussian     exp(-|a - b|^2 / (2 s^2))
    laplace      exp(-|a - b|_1 / s), with the sum of the absolute differences
    polynomial   (1 + a'b / s^2)^degree
    linear       a'b
    arccos       |a||b| (sin t + (pi - t) cos t) / pi, with t the angle between (a / s, 1) and (b / s, 1) and
                 | | their lengths: the kernel of order 1 of Cho & Saul (2009, NIPS 22), that of infinitely
                 many rectified linear units

All of them are positive semidefinite (Schölkopf & Smola, 2002, Learning with Kernels, sec. 4 and 13).

*Coordinates* of a column of numbers are its values about the mean over their standard deviation over all
rows (divisor N), or normal scores of its ranks: of a value up to which a share c of the weights lies, with a
share d of its own, it is the normal quantile of c - d / 2; such scores are put in standard units as well.
Between the values of the fit scores are interpolated, and beyond them they are those of the ends. On no scale
they are the values about the mean, all over one number, the root of the mean of their variances.

*Categories* have a coordinate a level, 1/sqrt(1 - sum p_l^2) in the row's own level and zero in the others,
with p the shares of the levels. So squared distances within a factor are all equal, whatever its coding and
its reference, their mean over pairs of rows is two as it is for a standardized column, and a factor of two
levels has the distances of the standardized column of zeros and ones. In sums of absolute differences the
coordinates are taken over sqrt(2), which makes the last true there. A level that no row of the fit has is as
far from all levels as these are from each other.
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
"""Kernels that have a name."""

ScaleName = Literal["sd", "ranks", "categories", "none"]
"""How columns of numbers become coordinates."""

WITHOUT_WIDTH = ("linear", "callable")
"""Kernels that have no width."""

ABSOLUTE = ("laplace",)
"""Kernels of sums of absolute differences."""

AT_ONCE = 2**18
"""Kernels that are worked on at once: in the processor's cache they cost less than their exponentials."""

FEW_VALUES = 10
"""Different values up to which a column of numbers may be taken for categories."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel with its width; of a function of the user's the name is "callable"."""

    name: str
    width: float = 1.0
    degree: int = 3
    function: Callable[[Floats, Floats], Floats] | None = field(default=None, metadata=NOT_STORED)

    def matrix(self, a: Floats, b: Floats) -> Floats:
        """Kernels (m, n) of rows a (m, q) and b (n, q), in coordinates."""
        if self.function is not None:
            return _of_function(self.function, a, b)
        out = np.empty((len(a), len(b)))
        fill = self._fill_with(b)
        for rows in slices(len(a), max(AT_ONCE // len(b), 1)):
            fill(a[rows], out[rows])
        return out

    def products(self, a: Floats, b: Floats, coef: Floats) -> Floats:
        """Products (m, r) of the kernels of rows a (m, q) and b (n, q) with coefficients (n, r)."""
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
        """What writes the kernels (m, n) of rows (m, q) with b (n, q)."""
        if self.name == "gaussian":
            return partial(_fill_gaussian, self.width, *_right_side(b / self.width))
        return partial(self._fill, b)

    def _fill(self, b: Floats, a: Floats, out: Floats) -> None:
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
    """Rows (q + 2, n) by which others become exponents, and whether these need no clipping at zero."""
    other = _halves(b)
    return np.column_stack([b, np.ones(len(b)), -other]).T, bool(other.max(initial=0.0) < SHORT)


def _fill_gaussian(width: float, right: Floats, short: bool, a: Floats, out: Floats) -> None:
    """Write exp(-|a / width - b|^2 / 2), the exponents a'b - |a|^2 / 2 - |b|^2 / 2 by one product."""
    a = a / width
    np.matmul(np.column_stack([a, -_halves(a), np.ones(len(a))]), right, out=out)
    if not short:
        np.minimum(out, 0.0, out=out)
    np.exp(out, out=out)


SHORT = 1e3
"""Half the squared length of rows up to which the rounding of an exponent near zero does not matter."""


def _halves(a: Floats) -> Floats:
    """Half the squared lengths (m,) of rows a (m, q)."""
    return np.asarray(np.einsum("ij,ij->i", a, a) / 2)


def _of_function(function: Callable[[Floats, Floats], Floats], a: Floats, b: Floats) -> Floats:
    try:
        found = np.asarray(function(a, b), dtype=np.float64)
    except Exception as error:
        # A function of the user's own may raise anything.
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
    """Columns in standard units: (x - centre) * unit, with the mean and the inverse standard deviation (p,).

    Of a column that is constant the unit is zero.
    """

    centre: Floats
    unit: Floats

    def of(self, x: Floats) -> Floats:
        """Rows x (m, p) in standard units."""
        return np.asarray((x - self.centre) * self.unit)


def fit_standard(x: Floats, weights: Floats | None) -> Standard:
    """Standard units of the columns of rows x (n, p), with divisor N."""
    centre = np.average(x, axis=0, weights=weights)
    gaps = x - centre
    # In units of the largest gap the squares are doubles, whatever the units of the columns are.
    size = np.abs(gaps).max(axis=0)
    varies = (x != x[:1]).any(axis=0)
    squares = np.average((gaps / np.where(varies, size, 1.0)) ** 2, axis=0, weights=weights)
    return Standard(centre, np.where(varies, 1 / np.where(varies, size * np.sqrt(squares), 1.0), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryColumns:
    """Columns that together say a level, at some positions (c,), and the values (L, c) of its levels."""

    at: Codes
    values: Floats
    length: float

    def coordinates(self, u: Floats) -> Floats:
        """Coordinates (m, L + 1) of rows u (m, p), the last of them of a level that is not known."""
        found, inverse = np.unique(u[:, self.at] + 0.0, axis=0, return_inverse=True)
        known = {row.tobytes(): level for level, row in enumerate(self.values)}
        levels = np.array([known.get(row.tobytes(), len(known)) for row in found], dtype=np.intp)
        return np.asarray(self.length * np.eye(len(known) + 1)[levels[inverse.ravel()]])


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """From columns in standard units to coordinates.

    Attributes
    ----------
    at : (q,) int
        Positions of the columns of numbers.
    knots : tuple of (values, scores)
        Of normal scores, those of each such column; empty for standard units.
    categories : tuple of CategoryColumns
    lengths : (q,) float or None
        Of no scale, what standard units are multiplied by.
    """

    at: Codes
    knots: tuple[tuple[Floats, Floats], ...]
    categories: tuple[CategoryColumns, ...]
    lengths: Floats | None = None

    def of(self, u: Floats, kernel: str) -> Floats:
        """Coordinates of rows u (m, p), in standard units, for a kernel."""
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
    """Coordinates learnt from rows u (n, p) in standard units (p,); the columns of each factor are one."""
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
        # Of one level all rows are alike, and another one is as far as in a factor of two even levels.
        spread = 1 - float((np.bincount(inverse.ravel(), w) ** 2).sum()) if len(values) > 1 else 0.5
        categories.append(CategoryColumns(np.array(group), values, float(1 / np.sqrt(spread))))
    knots = tuple(_normal_scores(u[:, j], w) for j in numbers) if scale == "ranks" else ()
    at = np.array(numbers, dtype=np.intp)
    lengths = None if unit is None or scale != "none" else _lengths(unit[at])
    return Coordinates(at, knots, tuple(categories), lengths)


def _lengths(unit: Floats) -> Floats:
    """Standard deviations (q,) of columns over the root of the mean of their squares, from their inverses."""
    # Over the largest, which is the inverse of the smallest unit, squares are doubles.
    varies = unit > 0
    shares = np.where(varies, unit.min(where=varies, initial=np.inf) / np.where(varies, unit, 1.0), 0.0)
    mean = float(np.mean(shares[varies] ** 2)) if varies.any() else 1.0
    return np.asarray(shares / np.sqrt(mean))


def _normal_scores(u: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Values of a column (n,) in increasing order, and their normal scores in standard units."""
    values, inverse = np.unique(u, return_inverse=True)
    shares = np.bincount(inverse, w)
    scores = ndtri(np.clip(np.cumsum(shares) - shares / 2, 0.0, 1.0))
    scores -= shares @ scores
    spread = np.sqrt(shares @ scores**2)
    return values, scores / spread if spread > 0 else np.zeros_like(scores)


def few_valued(u: Floats, factors: Sequence[Sequence[int]]) -> bool:
    """Whether a column of numbers of rows u (n, p) has three values or more that may be categories."""
    inside = {j for group in factors for j in group}
    return any(2 < len(np.unique(u[:, j])) <= FEW_VALUES for j in range(u.shape[1]) if j not in inside)


def median_distance(z: Floats, kernel: str, weights: Floats | None = None) -> float:
    """The median of the distances between rows z (n, q) that differ; a DataError where all are equal."""
    distances = cdist(z, z, "cityblock" if kernel in ABSOLUTE else "euclidean")
    apart = distances > 0
    refuse_equal_rows(different=bool(apart.any()))
    if weights is None:
        return float(np.median(distances[apart]))
    order = np.argsort(distances[apart], kind="stable")
    passed = np.cumsum(np.outer(weights, weights)[apart][order])
    # As of repeated rows, whose median is the mean of the two in the middle where these differ.
    middle = np.searchsorted(passed, passed[-1] * np.array([0.5 - 1e-12, 0.5 + 1e-12]))
    return float(distances[apart][order][middle].mean())


def refuse_equal_rows(*, different: bool) -> None:
    """Raise a DataError where no rows are different."""
    if not different:
        raise CoreDataError("equal_rows")


NAMES: tuple[str, ...] = get_args(KernelName)
