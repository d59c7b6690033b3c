"""Passes over the rows: sums, products and triangular roots of deviations from class centres.

`gather` in `discrim.core.moments.moments`, which has the theory, calls these functions. Blocks contain x
(m, p), m rows of p columns; all computations use the transpose (p, m). K is the number of classes.

A linear model computes the triangular root of its rows in one pass. With A the (n, m) matrix of a constant
and the columns, each row times the root of its weight, A = QR leaves the (m, m) triangle R, and R'R = A'A.
All sums of squares of least squares follow from blocks of R, which has the accuracy of the rows, whereas
the products A'A lose half of the digits. The triangle of more rows is the triangle of the old triangle with
the new rows below it, so blocks and parts can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, check_memory, slices
from discrim.core.numerics.map_reduce import map_reduce

RowBlock = tuple[Floats, Codes, Floats | None]
"""A block of rows: x (m, p), codes (m,) of their classes, and weights (m,) or None."""
RowBlocks = Iterable[RowBlock]
"""Iterable of blocks of rows; each pass iterates again."""
ScatterType = Literal["pooled", "class", "diagonal", "thin", "thin class"]
"""Which second moments are stored: a scatter matrix of all classes ("pooled") or of each ("class"), sums of
squares by class and column ("diagonal"), or, if there are more columns than rows, a root with as many rows as
the data, of all classes ("thin") or of each ("thin class")."""

ONE_HOT_CLASSES = 32
"""Number of classes up to which sums of columns that are contiguous in memory are faster by a dense indicator
matrix than by a sparse one."""

MAX_SMALL_PRODUCT = 2**18
"""Number of multiplications up to which OpenBLAS uses one thread. On processors with AVX-512 it also does not
copy the factors first, which takes most of the time of a product with few columns."""

MIN_ROWS_OF_SMALL_PRODUCT = 64
"""Number of rows below which a product takes less time than its call."""

MAX_BINCOUNT_SIZE = 2**13
"""Number of values up to which sums are computed without a sparse matrix, whose import takes .2 s. They are
identical, because both methods add the rows in their order."""

MAX_BETWEEN_RATIO = 3.0
"""Ratio of between to within sums of squares up to which one common centre is used for all classes."""

N_SCALE_ROWS = 512
"""Number of rows of the first block that determine scale and centre."""

ROOT_RCOND = 1e-4
"""Reciprocal condition of the within-class correlation below which roots are computed."""

MAX_PRODUCT_ELEMENTS = 2**22
"""Number of products of means that are stored at once."""

MIN_CHECKED_ELEMENTS = 2**16
"""Number of values for which the memory is not checked."""

MIN_COLUMNS_FOR_TRIANGLE = 64
"""Number of columns from which only a triangle of the products is computed, by the BLAS of scipy."""

MIN_COLUMNS_PER_ROW = 32
"""Ratio of columns to rows from which products are added in place, because new memory takes longer."""

N_COPIES = 4
"""Number of copies of the sums in memory: as sums, centred, as roots, and in the next computation."""

MAX_UNSCALED_DEVIATION = 1e75
"""Largest deviation of a column, or reciprocal of it, up to which the column is not rescaled."""


def is_thin(required_moments: ScatterType) -> bool:
    """Return whether these are "thin" or "thin class": roots with fewer rows than columns, no scatter."""
    return required_moments in ("thin", "thin class")


def accumulated_moments(required_moments: ScatterType) -> ScatterType:
    """Return the second moments that the first pass accumulates: "diagonal" for thin roots, else the same."""
    return "diagonal" if is_thin(required_moments) else required_moments


@dataclass(frozen=True, slots=True)
class RowsOfPart:
    """The rows of one part, such as a fold.

    Iteration reads the blocks of all parts, and yields for each block the rows of this part (possibly none),
    with their classes as codes.

    Attributes
    ----------
    blocks : iterable of blocks
        Blocks of the rows of all parts, with codes part * n_classes + class.
    part : int
        Position of the part.
    n_classes : int
        Number of classes of each part.
    """

    blocks: RowBlocks
    part: int
    n_classes: int

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.blocks:
            members = np.flatnonzero(codes // self.n_classes == self.part)
            member_weights = None if weights is None else weights[members]
            yield np.take(x.T, members, axis=1).T, codes[members] % self.n_classes, member_weights


def rows_of_parts(blocks: RowBlocks, n_parts: int, n_classes: int) -> list[RowBlocks]:
    """Return a list with one iterable of blocks for each part, whose codes are classes.

    Each is a `RowsOfPart`, which reads all of `blocks`; their codes are part * n_classes + class. For a
    single part, the list contains `blocks` itself.
    """
    return [blocks] if n_parts == 1 else [RowsOfPart(blocks, part, n_classes) for part in range(n_parts)]


class RowSums:
    """Accumulator of one pass: sums and products of the deviations from provisional centres.

    The centres are the class means in the first block that has rows of the class. For a pooled scatter, one
    common centre is used, which is faster, if the first block shows that few digits are lost. At the end of
    the pass, `has_cancellation` checks whether too many digits were lost.

    Attributes
    ----------
    required_moments : ScatterType
        Second moments that are accumulated.
    counts : (K,) float
        Sums of weights by class.
    row_counts : (K,) int
        Numbers of rows with positive weight by class.
    centres : (p, K) float
        Provisional centres in the units of the data.
    scale : (p,) float
        Powers of two by which deviations from the centres are multiplied.
    sums : (p, K) float
        Weighted sums of the scaled deviations.
    products : (p, p), (K, p, p) or (K, p) float
        Weighted sums of products of the scaled deviations, of all rows ("pooled") or by class ("class"), or
        of their squares ("diagonal"). Of large matrices only the upper triangle is set; see
        `scatters_about_means`.
    """

    def __init__(self, n_classes: int, n_columns: int, required_moments: ScatterType) -> None:
        """Start with sums of zero.

        Parameters
        ----------
        n_classes, n_columns : int
            Numbers of classes and of columns.
        required_moments : {"pooled", "class", "diagonal"}
            Second moments that are accumulated.

        Raises
        ------
        DataError
            If the sums and their `N_COPIES` copies would take over half of the memory.
        """
        raise_if_sums_exceed_memory(n_classes, n_columns, required_moments)
        self.required_moments = required_moments
        self.counts = np.zeros(n_classes)
        self.row_counts = np.zeros(n_classes, dtype=np.int64)
        self.centres = np.zeros((n_columns, n_classes))
        self.scale: Floats = np.ones(n_columns)
        self._common_centre: Floats | None = None
        self._has_fixed_centres = False
        self._buffer = np.empty(0)
        shape = (n_classes, n_columns) if required_moments == "diagonal" else (n_columns, n_columns)
        self.products = np.zeros((n_classes, *shape) if required_moments == "class" else shape)
        self._uses_triangle = n_columns >= MIN_COLUMNS_FOR_TRIANGLE
        self.sums = np.zeros((n_columns, n_classes))

    def add(self, x: Floats, codes: Codes, weights: Floats | None) -> None:
        """Add the deviations of the rows of one block; rows of weight zero are ignored.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        codes : (m,) int
            Class of each row.
        weights : (m,) float, optional
            Weights of the rows; ones by default.
        """
        if weights is not None and not (weights > 0).all():
            present = weights > 0
            x = x[present]
            codes = codes[present]
            weights = weights[present]
        if not len(x):
            return
        columns, n_classes = x.T, len(self.counts)
        rows = np.bincount(codes, minlength=n_classes)
        if self._buffer.size < x.size:
            # Blocks differ in length after missing rows are dropped, and the first use of memory is slow.
            self._buffer = np.empty(x.size)
        # In the memory order of the block, because transposing takes longer than subtracting the centres.
        is_by_row = x.strides[0] > x.strides[1]
        shape = x.shape if is_by_row else columns.shape
        buffer = self._buffer[: x.size].reshape(shape)
        deviations = buffer.T if is_by_row else buffer
        self._set_new_centres(columns, codes, rows, deviations)
        self.row_counts += rows
        self.counts += rows if weights is None else np.bincount(codes, weights, minlength=n_classes)
        if self.required_moments == "class":
            # Classes are selected from a copy that fits the processor cache.
            np.copyto(deviations, columns)
            self._add_by_class(deviations, codes, weights)
            return
        is_scaled = not (self.scale == 1).all()
        if self._common_centre is None:
            class_centres = self.centres.T if is_by_row else self.centres
            np.take(class_centres, codes, axis=0 if is_by_row else 1, mode="clip", out=buffer)
            np.subtract(columns, deviations, out=deviations)
        elif self._common_centre.any():
            np.subtract(columns, self._common_centre, out=deviations)
        elif is_scaled or weights is not None or self._uses_triangle:
            np.copyto(deviations, columns)
        else:
            # The BLAS of scipy would copy a block of a table to new memory. The rows of the caller are only
            # read below, because there are neither scales nor weights.
            deviations = columns
        if is_scaled:
            deviations *= self.scale[:, None]
        _add_class_sums(self.sums, deviations, codes, weights)
        if self.required_moments == "diagonal":
            _add_class_sums(self.products.T, deviations**2, codes, weights)
            return
        if weights is not None:
            deviations *= np.sqrt(weights)
        _add_square(self.products, deviations)

    def _add_by_class(self, columns: Floats, codes: Codes, weights: Floats | None) -> None:
        """Add the sums and products of scaled deviations to `sums` and `products` of each class.

        Only for the moments "class".

        Parameters
        ----------
        columns : (p, m) float
            Rows in the units of the data, transposed.
        codes : (m,) int
            Class of each row.
        weights : (m,) float, optional
            Weights of the rows; ones by default.
        """
        for k, rows in _iterate_classes(codes, len(self.counts)):
            deviations = np.take(columns, rows, axis=1)
            deviations -= self.centres[:, k, None]
            if not (self.scale == 1).all():
                deviations *= self.scale[:, None]
            if weights is None:
                self.sums[:, k] += deviations.sum(axis=1)
            else:
                self.sums[:, k] += deviations @ weights[rows]
                deviations *= np.sqrt(weights[rows])
            _add_square(self.products[k], deviations)

    def set_centres(self, centres: Floats, scale: Floats) -> None:
        """Set centres (p, K), in the units of the data, and scale (p,) before the first `add`.

        Rows do not change them afterwards.
        """
        self.centres = centres
        self.scale = scale
        self._has_fixed_centres = True

    def _set_new_centres(self, columns: Floats, codes: Codes, rows: NDArray[np.intp], out: Floats) -> None:
        """Set the centres of classes that occur for the first time, and in the first block the scale.

        Does nothing if the centres are fixed or one centre is common to all classes.

        Parameters
        ----------
        columns : (p, m) float
            Rows, transposed.
        codes : (m,) int
            Class of each row.
        rows : (K,) int
            Numbers of rows of each class in the block.
        out : (p, m) float
            Memory for temporary deviations.
        """
        new = (rows > 0) & (self.row_counts == 0)
        if self._has_fixed_centres or self._common_centre is not None or not new.any():
            return
        first = not self.row_counts.any()
        reference = columns[:, :1]
        means = np.zeros((len(columns), len(rows)))
        _add_class_sums(means, np.subtract(columns, reference, out=out), codes)
        means = means[:, new] / rows[new] + reference
        is_overflowed = ~np.isfinite(means)
        if is_overflowed.any():
            # If a mean overflows, the first row of the class is its centre.
            means[is_overflowed] = columns[:, [int(np.argmax(codes == k)) for k in np.flatnonzero(new)]][
                is_overflowed
            ]
        self.centres[:, new] = means
        if not first:
            return
        deviations = columns[:, :N_SCALE_ROWS] - np.take(self.centres, codes[:N_SCALE_ROWS], axis=1)
        self.scale = column_scale(np.abs(deviations).max(axis=1))
        if (self.scale < 1).any():
            # The mean of equal values far from the others is rounded; correct it, or columns seem to vary.
            rounding_errors = np.zeros((len(columns), len(rows)))
            _add_class_sums(rounding_errors, columns - np.take(self.centres, codes, axis=1), codes)
            rounding_errors = rounding_errors[:, new] / rows[new]
            self.centres[:, new] += np.where(np.isfinite(rounding_errors), rounding_errors, 0.0)
            deviations = columns[:, :N_SCALE_ROWS] - np.take(self.centres, codes[:N_SCALE_ROWS], axis=1)
            self.scale = column_scale(np.abs(deviations).max(axis=1))
        if self.required_moments == "pooled" and 2 * new.sum() > len(new) and (self.scale == 1).all():
            # A median, because one outlier would draw a mean away from all other rows.
            sorted_sample = np.sort(columns[:, :: max(columns.shape[1] // 101, 1)], axis=1)
            centre = sorted_sample[:, sorted_sample.shape[1] // 2, None]
            within = np.einsum("ij,ij->i", deviations, deviations) / deviations.shape[1]
            # Columns with means near zero, such as standardized ones, need not be copied.
            for common_centre in (np.zeros_like(centre), centre):
                between = (means - common_centre) ** 2 @ (rows[new] / rows.sum())
                if (between < MAX_BETWEEN_RATIO * within).all():
                    self._common_centre = common_centre
                    self.centres = np.repeat(common_centre, len(rows), axis=1)
                    break

    def shifts(self) -> Floats:
        """Return the means (p, K) of the scaled deviations, that is, the errors of the provisional centres.

        They are zero for classes without rows.
        """
        return np.asarray(self.sums / np.where(self.counts > 0, self.counts, 1.0))

    def scatters_about_means(self) -> Floats:
        """Return the sums of squares and products of scaled deviations about the class means.

        The shape is (1, p, p) for "pooled", (K, p, p) for "class" and (K, p) for "diagonal". The matrices are
        symmetric. The products of the pass may be overwritten, so this is called once, after the last `add`.
        """
        weighted_shifts = np.sqrt(self.counts)[:, None] * self.shifts().T
        if self.required_moments == "diagonal":
            return np.asarray(self.products - weighted_shifts**2)
        if self.required_moments == "pooled":
            products = np.ascontiguousarray(self.products)
            _add_square(products, weighted_shifts.T, -1.0)
            return (_mirror_triangle(products) if self._uses_triangle else products)[None]
        # In place and in chunks: with many columns, a copy takes longer than the products.
        step = max(MAX_PRODUCT_ELEMENTS // max(weighted_shifts.size, 1), 1)
        for i in range(0, weighted_shifts.shape[1], step):
            self.products[:, i : i + step] -= (
                weighted_shifts[:, i : i + step, None] * weighted_shifts[:, None, :]
            )
        for square in self.products if self._uses_triangle else ():
            _mirror_triangle(square)
        return self.products

    def _squares(self) -> Floats:
        """Return the accumulated sums of squares about the centres, (p,) if pooled, else by class (K, p)."""
        diagonal = self.required_moments == "diagonal"
        return self.products if diagonal else np.diagonal(self.products, axis1=-2, axis2=-1)

    def has_cancellation(self) -> bool:
        """Return whether the correction for provisional centres removes over 7/8 of any sum of squares.

        The sums are computed for each column, over all rows ("pooled") or by class. Such a sum then lost more
        than three bits of its precision.
        """
        correction = self.counts * self.shifts() ** 2
        lost_squares = correction.sum(axis=1) if self.required_moments == "pooled" else correction.T
        return bool((lost_squares > 0.875 * self._squares()).any())

    def is_out_of_range(self) -> bool:
        """Return whether a column requires another scale.

        Its sum of squares over all classes is not finite, above 1e225, or positive and below 1e-225.
        """
        squares = self._squares().reshape(-1, len(self.scale)).sum(axis=0)
        return bool(
            (
                ~np.isfinite(squares)
                | (squares > MAX_UNSCALED_DEVIATION**3)
                | ((squares < MAX_UNSCALED_DEVIATION**-3) & (squares > 0))
            ).any()
        )


def raise_if_sums_exceed_memory(
    n_classes: int, n_columns: int, required_moments: ScatterType, n_parts: int = 1
) -> None:
    """Raise DataError if the sums of a pass and their `N_COPIES` copies would take over half of the memory.

    It is never raised for up to `MIN_CHECKED_ELEMENTS` values.

    Parameters
    ----------
    n_classes, n_columns : int
        Numbers of classes and of columns.
    required_moments : ScatterType
        Second moments that are accumulated.
    n_parts : int
        Number of parts that are accumulated at once, each with its own sums.
    """
    p = float(n_columns)
    squares = (
        0.0
        if required_moments == "diagonal"
        else N_COPIES * (n_classes if required_moments == "class" else 1) * p**2
    )
    n_elements = n_parts * (squares + N_COPIES * n_classes * p)
    if n_elements <= MIN_CHECKED_ELEMENTS:
        return
    moments_name = "a covariance" if squares else "variances"
    classes_name = f"each of {n_classes:,} classes" if required_moments == "class" else "all classes"
    check_memory(
        n_elements,
        f"Means and {moments_name} of {n_columns:,} columns for {classes_name}",
        "Name fewer columns, merge rare levels of categories or rare classes, or use naive_bayes() or "
        "shrunken_centroids(), which use only variances"
        if squares
        else "Name fewer columns, or merge rare classes",
    )


def accumulate_about_means(blocks: RowBlocks, first: RowSums, scale: Floats) -> RowSums:
    """Accumulate the rows again about the means that the first pass computed.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the same rows.
    first : RowSums
        Result of the first pass.
    scale : (p,) float
        Powers of two by which the deviations of the new pass are multiplied.

    Returns
    -------
    RowSums
        New sums. Their centres are the class means of the first pass, or its centres if a mean overflows.
    """
    sums = RowSums(len(first.counts), len(first.scale), first.required_moments)
    with np.errstate(over="ignore", invalid="ignore"):
        centres = first.centres + first.shifts() / first.scale[:, None]
    sums.set_centres(np.where(np.isfinite(centres), centres, first.centres), scale)
    for block in blocks:
        sums.add(*block)
    return sums


class ClassCentres(NamedTuple):
    """Class means from which deviations are computed.

    Attributes
    ----------
    points : (p, K) float
        Rounded class means in the units of the data.
    shifts : (p, K) float
        Differences of the means from these points, multiplied by `scale`.
    scale : (p,) float
        Powers of two by which deviations are multiplied.
    """

    points: Floats
    shifts: Floats
    scale: Floats


class CentredRoots(NamedTuple):
    """Triangular roots of scaled deviations from class means.

    Attributes
    ----------
    roots : list of (r, p) float
        Upper trapezoidal, with r the smaller of p and the number of rows; one for each class, or one for all.
    sums : (p, K) float
        Weighted sums of the deviations, which show the rounding errors of the class means.
    """

    roots: list[Floats]
    sums: Floats

    def merge(self, other: CentredRoots) -> CentredRoots:
        """Return the roots of both sets of rows, whose deviations refer to the same means."""
        pairs = zip(self.roots, other.roots, strict=True)
        roots = [
            trapezoidal_root(np.concatenate([a, b])) if len(a) and len(b) else a if len(a) else b
            for a, b in pairs
        ]
        return CentredRoots(roots, self.sums + other.sums)


@np.errstate(over="ignore", invalid="ignore")
def centred_roots(
    blocks: RowBlocks, *, centres: Sequence[ClassCentres], by_class: bool
) -> list[CentredRoots]:
    """Compute triangular roots R'R = D'D of deviations D from class means, by a QR of each block.

    The rows of D are (x - mean of the class) * scale, times the square root of the weight.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of rows, with codes part * K + class.
    centres : sequence of ClassCentres
        Class means of each part.
    by_class : bool
        Whether there is a root for each class, instead of one for the rows of all classes.

    Returns
    -------
    list of CentredRoots
        One for each part.
    """
    n_columns, n_classes = centres[0].points.shape
    all_roots = []
    for blocks_of_part, centre in zip(rows_of_parts(blocks, len(centres), n_classes), centres, strict=True):
        sums = np.zeros((n_columns, n_classes))
        roots = [np.zeros((0, n_columns)) for _ in range(n_classes if by_class else 1)]
        for x, codes, weights in blocks_of_part:
            deviations = (x.T - np.take(centre.points, codes, axis=1)) * centre.scale[:, None]
            deviations -= np.take(centre.shifts, codes, axis=1)
            for k, rows in _iterate_classes(codes, n_classes):
                # NumPy sums contiguous rows pairwise, which is more accurate than a sequential sum.
                class_deviations = np.take(deviations, rows, axis=1)
                sums[:, k] += (class_deviations if weights is None else class_deviations * weights[rows]).sum(
                    axis=1
                )
            if weights is not None:
                deviations *= np.sqrt(weights)
            if not by_class:
                roots[0] = trapezoidal_root(np.concatenate([roots[0], deviations.T]))
                continue
            for k, rows in _iterate_classes(codes, n_classes):
                roots[k] = trapezoidal_root(np.concatenate([roots[k], deviations[:, rows].T]))
        all_roots.append(CentredRoots(roots, sums))
    return all_roots


def triangular_root(rows: Floats) -> Floats:
    """Return the upper triangular R (p, p) with R'R = X'X for rows X (m, p), with rows of zeros if m < p."""
    root = trapezoidal_root(rows) if len(rows) else rows
    square = np.zeros((rows.shape[1], rows.shape[1]))
    square[: len(root)] = root
    return square


def trapezoidal_root(rows: Floats) -> Floats:
    """Return the upper trapezoidal R (min(m, p), p) with R'R = X'X for rows X (m, p), by QR.

    With many more columns than rows, the rotation of the rows follows from the first m columns. One product
    with it is many times as fast as LAPACK, which applies one reflection after the other to all columns.
    """
    m, p = rows.shape
    if 2 * m > p:
        return np.asarray(np.linalg.qr(rows, mode="r"))
    rotation, triangle = np.linalg.qr(rows[:, :m])
    root = rotation.T @ rows
    root[:, :m] = triangle
    return np.asarray(root)


def stable_order(codes: Codes, n_codes: int) -> Codes:
    """Return the positions (m,) that sort codes (m,); equal codes keep their order.

    Codes are 0, ..., n_codes - 1. With fewer than 2^15 of them, a faster radix sort of 16-bit codes is used.
    """
    return np.argsort(codes.astype(np.int16) if n_codes < 2**15 else codes, kind="stable")


def _iterate_classes(codes: Codes, n_classes: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield (k, positions) for each class k that occurs, with the ascending positions of its rows."""
    order = stable_order(codes, n_classes)
    start = 0
    for k, count in enumerate(np.bincount(codes, minlength=n_classes).tolist()):
        if count:
            yield k, order[start : start + count]
        start += count


def _add_class_sums(total: Floats, columns: Floats, codes: Codes, weights: Floats | None = None) -> None:
    """Add the weighted sums of columns over the rows of each class to a total, in place.

    Parameters
    ----------
    total : (p, K) float
        Sums by class; modified.
    columns : (p, m) float
        Rows, transposed.
    codes : (m,) int
        Class of each row.
    weights : (m,) float, optional
        Weights of the rows; ones by default.
    """
    n_classes, n_rows = total.shape[1], len(codes)
    if n_classes > n_rows:
        # Most classes do not occur in this block; adding zeros to them would be most of the work.
        columns = columns if weights is None else columns * weights
        order = stable_order(codes, n_classes)
        classes = codes[order]
        starts = np.flatnonzero(np.diff(classes, prepend=-1))
        total[:, classes[starts]] += np.add.reduceat(np.take(columns, order, axis=1), starts, axis=1)
    elif n_classes > ONE_HOT_CLASSES or columns.T.flags.c_contiguous:
        if columns.size <= MAX_BINCOUNT_SIZE:
            for column_total, column in zip(total, columns, strict=True):
                column_total += np.bincount(
                    codes, column if weights is None else column * weights, minlength=n_classes
                )
            return
        entries = np.ones(n_rows) if weights is None else weights
        indicators = scipy.sparse.csc_array(
            (entries, codes, np.arange(n_rows + 1)), shape=(n_classes, n_rows)
        )
        total += (indicators @ np.ascontiguousarray(columns.T)).T
    else:
        rows_of_identity = np.eye(n_classes)
        step = max(MAX_SMALL_PRODUCT // max(total.size, 1), MIN_ROWS_OF_SMALL_PRODUCT)
        for start in range(0, n_rows, step):
            rows = slice(start, start + step)
            indicators = rows_of_identity.take(codes[rows], axis=0)
            if weights is not None:
                indicators *= weights[rows, None]
            total += columns[:, rows] @ indicators


def _add_square(total: Floats, columns: Floats, factor: float = 1.0) -> None:
    """Add `factor` times `columns @ columns.T` to a total, in place.

    Parameters
    ----------
    total : (p, p) float
        Sum to which the product is added. For p of `MIN_COLUMNS_FOR_TRIANGLE` or more, only its upper
        triangle is updated.
    columns : (p, m) float
        Transposed rows: one line for each of p columns of the data.
    factor : float
        Factor of the product.
    """
    if len(total) < MIN_COLUMNS_FOR_TRIANGLE:
        total += factor * (columns @ columns.T)
        return
    # Use the BLAS of scipy, which factorizes the sum later: idle threads of NumPy's BLAS would block it.
    dsyrk = scipy.linalg.blas.dsyrk
    if MIN_COLUMNS_PER_ROW * columns.shape[1] < len(total):
        dsyrk(factor, columns.T, beta=1.0, c=total.T, trans=1, lower=1, overwrite_c=1)
    else:
        total += dsyrk(factor, columns.T, trans=1, lower=1).T


def _mirror_triangle(square: Floats) -> Floats:
    """Copy the upper triangle of a matrix (p, p) to the lower triangle, in place, and return the matrix."""
    for rows in slices(len(square), MIN_COLUMNS_FOR_TRIANGLE):
        square[rows, rows] = np.triu(square[rows, rows]) + np.triu(square[rows, rows], 1).T
        square[rows.stop :, rows] = square[rows, rows.stop :].T
    return square


def column_scale(sizes: Floats) -> Floats:
    """Return powers of two (p,) that bring columns of extreme sizes near one; one for other columns.

    Sizes (p,) are absolute values typical of the columns. Extreme are finite sizes above 1e75, and positive
    sizes below 1e-75.
    """
    extreme = (
        np.isfinite(sizes)
        & (sizes > 0)
        & ((sizes > MAX_UNSCALED_DEVIATION) | (sizes < 1 / MAX_UNSCALED_DEVIATION))
    )
    if not extreme.any():
        return np.ones(len(sizes))
    exponents = np.zeros(len(sizes))
    exponents[extreme] = np.clip(-np.round(np.log2(sizes[extreme])), -1000, 1000)
    return np.asarray(np.ldexp(1.0, exponents.astype(np.int32)))


def largest_deviations(blocks: RowBlocks, n_columns: int) -> Floats:
    """Return the largest absolute deviation (p,) of each column from its value in the first row.

    At least one block has to have rows.
    """

    def wider(widest: Floats, columns: Floats) -> Floats:
        """Return the elementwise maximum of `widest` (p,) and the deviations of columns (p, m)."""
        return np.asarray(np.maximum(widest, np.abs(columns - reference).max(axis=1)))

    columns_of_blocks = (x.T for x, _, _ in blocks if len(x))
    first_columns = next(iter(columns_of_blocks))
    reference = first_columns[:, :1].copy()
    return reduce(wider, columns_of_blocks, wider(np.zeros(n_columns), first_columns))


def is_scatter_ill_conditioned(scatter: Floats) -> bool:
    """Return whether the correlation matrix of a scatter (p, p) is ill-conditioned.

    Its reciprocal condition number (1-norm) is below `ROOT_RCOND`, it is not positive definite, or a column
    is constant (its diagonal element is not positive).
    """
    diagonal = np.diagonal(scatter)
    if not (diagonal > 0).all():
        return True
    unit = 1.0 / np.sqrt(diagonal)
    correlation = scatter * unit[:, None] * unit
    norm = np.abs(correlation).sum(axis=0).max()
    # The transpose is the same matrix in the memory layout of LAPACK.
    factor, failed = scipy.linalg.lapack.dpotrf(correlation.T, clean=0, overwrite_a=1)
    if failed:
        return True
    rcond, _ = scipy.linalg.lapack.dpocon(factor, norm)
    return bool(rcond < ROOT_RCOND)


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquaresRoot:
    """Sufficient statistics of least squares: the triangular root of a constant and shifted columns.

    The origin is subtracted before products are formed, therefore an offset of the columns costs no digits.

    Attributes
    ----------
    triangle : (min(n, 1 + p), 1 + p) float
        Upper trapezoidal R of the n rows (1, x - origin), each times the square root of its weight.
    origin : (p,) float
        Values that are subtracted from the columns: their means in the first block, or zero for columns that
        are not shifted.
    total : float
        Sum of weights.
    rows : int
        Number of rows with positive weight.
    """

    triangle: Floats
    origin: Floats
    total: float
    rows: int


def gather_root(blocks: RowBlocks, *, shifted: NDArray[np.bool_]) -> LeastSquaresRoot:
    """Compute the triangular root of all rows, with a column of ones, in one pass.

    Parameters
    ----------
    blocks : iterable of (x, codes, weights)
        Rows x (m, p), codes, which are not used, and weights (m,) or None.
    shifted : (p,) bool
        Columns from which their unweighted mean in the first block that has rows is subtracted; all false for
        models without constant.

    Returns
    -------
    LeastSquaresRoot
        Without any row, its triangle is (0, 1 + p), and its origin, total and number of rows are zero.

    Examples
    --------
    >>> root = gather_root([(np.array([[1.0], [3.0]]), np.zeros(2, int), None)], shifted=np.array([True]))
    >>> root.origin.tolist(), root.total, np.round(np.abs(root.triangle), 3).tolist()
    ([2.0], 2.0, [[1.414, 0.0], [0.0, 1.414]])
    """
    return map_reduce(blocks, partial(_gather_row_root, shifted=shifted), _merge_row_roots)


def _gather_row_root(blocks: RowBlocks, *, shifted: NDArray[np.bool_]) -> LeastSquaresRoot:
    """Compute the triangular root of the rows of some blocks in this process.

    `gather_root` describes the arguments `blocks` and `shifted` (p,). Without any row, the triangle is
    (0, 1 + p), and the origin, the total and the number of rows are zero.
    """
    p = len(shifted)
    triangle = np.zeros((0, 1 + p))
    origin = np.zeros(p)
    total = 0.0
    rows = 0
    first = True
    for x, _, weights in blocks:
        if not len(x):
            continue
        if first:
            origin = np.where(shifted, x.mean(axis=0), 0.0)
            first = False
        stacked = np.empty((len(triangle) + len(x), 1 + p), order="F")
        stacked[: len(triangle)] = triangle
        new_rows = stacked[len(triangle) :]
        new_rows[:, 0] = 1.0
        np.subtract(x, origin, out=new_rows[:, 1:])
        if weights is not None:
            new_rows *= np.sqrt(weights)[:, None]
        triangle = _triangular_factor(stacked)
        total += float(len(x) if weights is None else weights.sum())
        rows += len(x) if weights is None else int((weights > 0).sum())
    return LeastSquaresRoot(triangle, origin, total, rows)


def _merge_row_roots(first: LeastSquaresRoot, second: LeastSquaresRoot) -> LeastSquaresRoot:
    """Merge the roots of two sets of rows; the result has the origin of the first set that has rows."""
    if not second.rows or not first.rows:
        return first if first.rows else second
    # Changing the origin adds a multiple of the column of the constant.
    shifted = second.triangle.copy()
    shifted[:, 1:] += shifted[:, :1] * (second.origin - first.origin)
    triangle = _triangular_factor(np.vstack([first.triangle, shifted]))
    return LeastSquaresRoot(triangle, first.origin, first.total + second.total, first.rows + second.rows)


def _triangular_factor(stacked: Floats) -> Floats:
    """Return the triangular factor (min(n, m), m) of the QR of rows (n, m), which are overwritten."""
    triangle = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
    return np.ascontiguousarray(triangle[: stacked.shape[1]])
