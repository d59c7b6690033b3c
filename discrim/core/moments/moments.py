"""Count, mean and scatter of each class, in one pass over the rows.

Theory. Write z = x * scale, with a scale that is a power of two and so costs no digit.
For class k with weights w, the moments are n_k = sum w, m_k = sum w z / n_k and
W_k = sum w (z - m_k)(z - m_k)'. A mean is stored as the nearest float64 in the units of
the data (`centres`) and its rounding error (`rests`): differences of means, and
of rows from means, then have all their digits however far from zero the data lie.

*One pass.* Each class gets a provisional centre a_k, the mean of its rows in the
first block that has rows of it. Every block adds to the sums of d = z - a_k and to the
products of d; at the end W_k = sum w d d' - n_k e_k e_k' with e_k = sum w d / n_k.
The subtraction loses no digits while n_k e_k^2 is small relative to W_k, which it is
unless the rows are in an order with a trend. This is checked, and if it fails, a second pass computes
deviations from the means of the first pass.

*Digits.* A scatter squares the condition number of the rows. If the rows are few (so
that it costs nothing), or their within-class correlation is ill-conditioned, a further
pass computes the triangular root R_k of the centred rows, R_k' R_k = W_k, by Householder
QR, and all later computations use R_k.

*More columns than rows.* A *thin* root has as many rows as the data and no scatter is formed, and
its diagonal alone is stored.

*Merging* adds positive terms only (Chan, Golub & LeVeque, 1983, The American
Statistician 37, 242-247): W = W_a + W_b + n_a n_b / (n_a + n_b) d d', d the
difference of the means; roots are merged by the QR of the stacked roots and mean differences.

*Rows in parts.* The moments of the parts are merged. Only the merged moments decide whether roots
are needed, because a part may be ill-conditioned if the whole is not: another pass then computes
the root of each part about the means of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.moments import row_sums
from discrim.core.moments.row_sums import CentredRoots, ClassCentres, RowBlocks, RowSums, ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.map_reduce import map_reduce
from discrim.errors import NotSupportedError

ROOT_WORK = 2.0**24
"""Multiplications (rows x columns^2) up to which roots are computed for any conditioning."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Sufficient statistics of classes, in coordinates z = (x - origin) * scale.

    `gather` computes them from rows, and `merge` combines the moments of two sets of rows.

    The columns of the data are multiplied, not divided, by `scale`: in the units of the data, a scatter is
    scatter / (scale scale'), and the mean of class k is centres[k] + rests[k] / scale. Scatters and roots do
    not depend on the origin.

    Attributes
    ----------
    counts : (K,) float
        Sum of the weights of each class; the number of rows without weights.
    rows : (K,) int
        Number of rows of each class with positive weight.
    centres : (K, p) float
        Rounded class means in the units of the data. A class without rows has a mean of zero.
    rests : (K, p) float
        Rounding errors of `centres`, in units of z.
    scale : (p,) float
        Powers of two by which the columns are multiplied.
    scatters : (K, p, p), (1, p, p) or (K, p) float
        Sums of squares and products of z about the class means: by class, pooled over the classes,
        or by class and column only (diagonal). With thin roots, sums of squares (K, p) or (1, p).
    roots : (K, p, p), (1, p, p) or None
        Upper triangular R with R'R = scatter, to full precision; None if it was not computed. Thin
        roots (K or 1, m, p) are upper trapezoidal; m is the smaller of p and the (largest) number of rows.
    """

    counts: Floats
    rows: NDArray[np.int64]
    centres: Floats
    rests: Floats
    scale: Floats
    scatters: Floats
    roots: Floats | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.counts)

    @property
    def n_columns(self) -> int:
        """Number of columns, p."""
        return len(self.scale)

    @property
    def total(self) -> float:
        """Sum of all weights, N."""
        return float(self.counts.sum())

    @property
    def scatter_type(self) -> ScatterType:
        """Which second moments are stored: "pooled", "class", "diagonal", "thin" or "thin class"."""
        by_class = len(self.scatters) == self.n_classes and self.n_classes != 1
        if self.scatters.ndim == 2:
            return "diagonal" if self.roots is None else "thin class" if by_class else "thin"
        return "class" if by_class else "pooled"

    @property
    def squares(self) -> Floats:
        """Sums of squares of z about the class means, by class (K, p) or pooled (1, p)."""
        scatters = self.scatters
        return scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)

    @property
    def class_means(self) -> Floats:
        """Class means (K, p) in the units of the data."""
        return self.centres + self.rests / self.scale

    @property
    def common_unit(self) -> Floats:
        """Factors (p,) by which z is multiplied to have the relative sizes of the data columns; at most one.

        A sphere or a ridge pools columns in the units of the data, and has to multiply z by these factors
        first. They differ from one only if the data have extreme units, such as 1e-160.
        """
        return np.asarray(self.scale.min() / self.scale)

    @property
    def origin(self) -> Floats:
        """Unweighted mean (p,) of the means of classes with positive weight, in the units of the data.

        Zero without weight.
        """
        present_centres = self.centres[self.counts > 0]
        if not len(present_centres):
            return np.zeros(len(self.scale))
        return np.asarray(present_centres[0] + (present_centres - present_centres[0]).mean(axis=0))

    def means_from(self, origin: Floats) -> Floats:
        """Return the class means (K, p) in z = (x - origin) * scale, for an origin (p,)."""
        return np.asarray((self.centres - origin) * self.scale + self.rests)

    @property
    def means(self) -> Floats:
        """Class means (K, p) in z = (x - origin) * scale."""
        return self.means_from(self.origin)

    @property
    def magnitude(self) -> Floats:
        """Typical absolute values (p,) of x * scale, to which rounding errors of the columns are relative.

        They are the largest absolute class mean plus the standard deviation within classes (divisor N), both
        multiplied by `scale`.
        """
        typical = np.sqrt(self.squares.sum(axis=0) / max(self.total, 1.0))
        return np.asarray(np.abs(self.centres).max(axis=0) * self.scale + typical)

    def multiply_weights(self, factor: float) -> ClassMoments:
        """Return the moments with all weights multiplied by a positive factor; `rows` are not changed."""
        return replace(
            self,
            counts=self.counts * factor,
            scatters=self.scatters * factor,
            roots=None if self.roots is None else self.roots * np.sqrt(factor),
        )

    def pool_classes(self) -> ClassMoments:
        """Return the moments with scatters (or thin roots) by class pooled over the classes.

        Moments of the types "pooled", "thin" and "diagonal" are returned unchanged.
        """
        if self.scatter_type not in ("class", "thin class"):
            return self
        roots = (
            None if self.roots is None else self._root_of_rows(self.roots.reshape(-1, self.n_columns))[None]
        )
        return replace(self, scatters=self.scatters.sum(axis=0, keepdims=True), roots=roots)

    def _root_of_rows(self, rows: Floats) -> Floats:
        """Return R with R'R = X'X for rows X (m, p), with min(m, p) rows if these moments have thin roots."""
        return row_sums.trapezoidal_root(rows) if self.scatters.ndim == 2 else row_sums.triangular_root(rows)

    def as_one_class(self) -> ClassMoments:
        """Return the moments of all rows as one class, whose scatter is the total scatter.

        Must not be called for diagonal moments, or without weight (`total` zero); this is not checked. Thin
        roots remain thin, with sums of squares (1, p).
        """
        proportions = self.counts / self.total
        means = self.means
        anchor = means[int(np.argmax(self.counts))]
        mean = anchor + proportions @ (means - anchor)
        mean_deviations = np.sqrt(self.counts)[:, None] * (means - mean)
        pooled_moments = self.pool_classes()
        centres, centre_errors = split_mean(self.origin, mean, self.scale)
        roots = None
        if pooled_moments.roots is not None:
            roots = self._root_of_rows(np.concatenate([pooled_moments.roots[0], mean_deviations]))[None]
        between = (
            (mean_deviations**2).sum(axis=0)
            if pooled_moments.scatter_type == "thin"
            else mean_deviations.T @ mean_deviations
        )
        return ClassMoments(
            np.array([self.total]),
            self.rows.sum(keepdims=True),
            centres[None],
            centre_errors[None],
            self.scale,
            pooled_moments.scatters + between,
            roots,
        )

    def select_columns(self, keep: NDArray[np.intp]) -> ClassMoments:
        """Return the moments of the columns at positions `keep` (q,); stored roots are recomputed."""
        # With `take`, the memory layout, and with it the rounding of products, is the same as from a file.
        scatters = np.take(self.scatters, keep, axis=1)
        scatters = np.take(scatters, keep, axis=2) if scatters.ndim == 3 else scatters
        roots = (
            None
            if self.roots is None
            else np.stack([self._root_of_rows(root[:, keep]) for root in self.roots])
        )
        return replace(
            self,
            centres=np.take(self.centres, keep, axis=1),
            rests=np.take(self.rests, keep, axis=1),
            scale=self.scale[keep],
            scatters=scatters,
            roots=roots,
        )

    def select_classes(self, keep: NDArray[np.intp]) -> ClassMoments:
        """Return the moments of the classes at positions `keep` (C,), in this order.

        A pooled scatter and its root, also a thin one, still are of all classes.
        """
        by_class = self.scatter_type not in ("pooled", "thin")
        return replace(
            self,
            counts=self.counts[keep],
            rows=self.rows[keep],
            centres=self.centres[keep],
            rests=self.rests[keep],
            scatters=self.scatters[keep] if by_class else self.scatters,
            roots=self.roots[keep] if by_class and self.roots is not None else self.roots,
        )

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of both sets of rows.

        The operation is associative and commutative up to rounding. If the weight of one is zero, the other
        is returned unchanged. Otherwise the result has the scale of `self`, and roots if both have them.
        Raises a DataError if the numbers of classes or columns, or the `scatter_type`, differ.
        """
        if (self.n_classes, self.n_columns, self.scatter_type) != (
            other.n_classes,
            other.n_columns,
            other.scatter_type,
        ):
            raise CoreDataError(
                "unlike_moments",
                n_classes=self.n_classes,
                n_columns=self.n_columns,
                spread=self.scatter_type,
                other_classes=other.n_classes,
                other_columns=other.n_columns,
                other_spread=other.scatter_type,
            )
        if not other.total:
            return self
        if not self.total:
            return other
        other = other.rescale(self.scale)
        counts = self.counts + other.counts
        divisors = np.where(counts > 0, counts, 1.0)
        proportions = (other.counts / divisors)[:, None]
        differences = (other.centres - self.centres) * self.scale + (other.rests - self.rests)
        # The mean of a class without rows in `self` is copied, because a step from zero would round it.
        base = np.where((self.counts == 0)[:, None], other.centres, self.centres)
        step = np.where((self.counts == 0)[:, None], other.rests, self.rests + proportions * differences)
        centres, centre_errors = split_mean(base, step, self.scale)
        mean_differences = np.sqrt(self.counts[:, None] * proportions) * differences
        scatters = self.scatters + other.scatters
        by_class = self.scatter_type in ("class", "thin class")
        if self.scatters.ndim == 2:
            squares = mean_differences**2
            scatters = scatters + (squares.sum(axis=0) if self.scatter_type == "thin" else squares)
        else:
            scatters = scatters + (
                mean_differences[:, :, None] * mean_differences[:, None, :]
                if by_class
                else mean_differences.T @ mean_differences
            )
        roots = None
        if self.roots is not None and other.roots is not None:
            difference_rows = mean_differences[:, None, :] if by_class else mean_differences[None]
            stacks = np.concatenate([self.roots, other.roots, difference_rows], axis=1)
            roots = np.stack([self._root_of_rows(stack) for stack in stacks])
        return ClassMoments(
            counts, self.rows + other.rows, centres, centre_errors, self.scale, scatters, roots
        )

    def rescale(self, scale: Floats) -> ClassMoments:
        """Return the same moments in coordinates z with another scale.

        Parameters
        ----------
        scale : (p,) float
            Powers of two that replace `self.scale`. Scatters are not finite if the square of the ratio to the
            old scale overflows.

        Returns
        -------
        ClassMoments
            `self` if `scale` equals its scale.
        """
        if (scale == self.scale).all():
            return self
        ratio = scale / self.scale
        scatters = self.scatters * ratio * (ratio if self.scatters.ndim == 2 else ratio[:, None])
        return replace(
            self,
            rests=self.rests * ratio,
            scale=scale,
            scatters=scatters,
            roots=None if self.roots is None else self.roots * ratio,
        )

    @staticmethod
    def from_block(
        x: Floats,
        codes: Codes,
        weights: Floats | None = None,
        *,
        n_classes: int,
        required_moments: ScatterType = "pooled",
    ) -> ClassMoments:
        """Compute the moments of one array of rows.

        Parameters
        ----------
        x : (n, p) float
            Rows of the design matrix.
        codes : (n,) int
            Classes, from 0.
        weights : (n,) float, optional
            Not negative; ones by default.
        n_classes : int
            Number of classes, of which some may be empty.
        required_moments : ScatterType
            Which second moments are stored.

        Returns
        -------
        ClassMoments
            Result of `gather` for this one block. Unless `required_moments` is "diagonal", it has roots if
            `requires_roots`, and always if they are thin.

        Examples
        --------
        >>> m = ClassMoments.from_block(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]), n_classes=2)
        >>> m.class_means.ravel().tolist(), m.scatters.ravel().round(12).tolist()
        ([2.0, 7.0], [2.0])
        """
        return gather(
            [(x, codes, weights)],
            n_classes=n_classes,
            n_columns=x.shape[1],
            required_moments=required_moments,
        )


def gather(
    blocks: RowBlocks,
    *,
    n_classes: int,
    n_columns: int,
    required_moments: ScatterType = "pooled",
    with_roots: bool = True,
) -> ClassMoments:
    """Compute the moments of rows in one pass, or in up to three if digits would be lost.

    Parameters
    ----------
    blocks : iterable of (x, codes, weights)
        Finite rows x (m, p), their classes codes (m,), and weights (m,) or None for ones. Rows of weight
        zero are ignored.
    n_classes, n_columns : int
        Numbers of classes and of columns.
    required_moments : ScatterType
        Which second moments are stored. Thin roots are always computed, diagonal moments have none.
    with_roots : bool
        Whether roots are computed if the scatter is ill-conditioned. Covariances with a ridge do not need
        them. Roots of few rows are always computed.

    Returns
    -------
    ClassMoments
        Not finite in columns whose values differ by more than the largest float64.

    Raises
    ------
    DataError
        If the sums and their copies would take over half of the memory.
    """
    sums = row_sums.accumulated_moments(required_moments)
    task = partial(
        _gather_without_roots, n_parts=1, n_classes=n_classes, n_columns=n_columns, required_moments=sums
    )
    (gathered,) = map_reduce(blocks, task, _merge_gathered)
    if row_sums.is_thin(required_moments) or (
        required_moments != "diagonal"
        and gathered.moments.total
        and requires_roots(gathered.moments, with_roots=with_roots)
    ):
        return _compute_roots(blocks, [gathered], required_moments)[0]
    return gathered.moments


def merge_rescaled(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """Merge the moments of two sets of rows after both were changed to a common `scale`.

    The scale is chosen by `rescale_to_common` from the size of each column.
    """
    a, b = rescale_to_common([a, b])
    return a.merge(b)


def rescale_to_common(moments_list: Sequence[ClassMoments]) -> list[ClassMoments]:
    """Change several sets of moments of the same columns to the same `scale`, so that they can be merged.

    The scale of a column is one unless its size is above 1e75 or below 1e-75. The size is the
    largest range of a class mean over the sets or the largest root of a sum of squares within classes,
    whichever is larger. If it is zero, the scale of the first set is kept.

    Parameters
    ----------
    moments_list : sequence of ClassMoments
        Moments of the same classes and columns, whose `scale` may differ.

    Returns
    -------
    list of ClassMoments
        The same moments in coordinates with the common scale.
    """
    has_rows = np.stack([moments.counts > 0 for moments in moments_list])[..., None]
    centres = np.stack([moments.centres for moments in moments_list])
    highest, lowest = (np.where(has_rows, centres, end) for end in (-np.inf, np.inf))
    ranges = np.maximum(highest.max(axis=0) - lowest.min(axis=0), 0.0).max(axis=0)
    sds = [np.sqrt(moments.squares.max(axis=0)) / moments.scale for moments in moments_list]
    sizes = np.max([ranges, *sds], axis=0)
    # Single rows, and equal ones, determine no scale.
    scale = np.where(sizes > 0, row_sums.column_scale(sizes), moments_list[0].scale)
    return [moments.rescale(scale) for moments in moments_list]


def requires_roots(moments: ClassMoments, *, with_roots: bool = True) -> bool:
    """Return whether `gather` computes roots of the scatter matrices.

    Must not be called for diagonal or thin moments, or for moments without rows.

    It does if the rows are few (rows x columns^2 at most `ROOT_WORK`) or, with `with_roots`, if a scatter is
    ill-conditioned.
    """
    is_cheap = int(moments.rows.sum()) * moments.n_columns**2 <= ROOT_WORK
    return is_cheap or (with_roots and is_ill_conditioned(moments))


def gather_parts(
    blocks: RowBlocks,
    *,
    n_parts: int,
    n_classes: int,
    n_columns: int,
    required_moments: ScatterType = "pooled",
    with_roots: bool = True,
) -> list[ClassMoments]:
    """Compute the moments of each part of the rows, such as a fold, in one pass over all of them.

    Parameters
    ----------
    blocks : iterable of (x, codes, weights)
        Finite rows x (m, p), codes (m,) equal to part * n_classes + class, and weights (m,) or None for
        ones.
    n_parts, n_classes, n_columns : int
        Numbers of parts, of classes and of columns.
    required_moments : ScatterType
        Which second moments are stored.
    with_roots : bool
        Whether roots are computed if the rows are few or the scatter of a part is ill-conditioned; without
        it, only thin roots are computed.

    Returns
    -------
    list of ClassMoments
        One for each part; a part may be empty. They merge to the moments of all rows.

    Raises
    ------
    DataError
        If the sums and their copies would take over half of the memory.
    """
    sums = row_sums.accumulated_moments(required_moments)
    row_sums.raise_if_sums_exceed_memory(n_classes, n_columns, sums, n_parts)
    # With a scatter for each class, the classes of the parts are counted as classes of one part.
    cells = np.arange(n_parts * n_classes).reshape(n_parts, n_classes)
    task = partial(_gather_without_roots, n_columns=n_columns, required_moments=sums)
    groups = (1, cells.size) if sums == "class" else cells.shape
    gathered = map_reduce(blocks, partial(task, n_parts=groups[0], n_classes=groups[1]), _merge_gathered)
    if sums == "class" and (gathered[0].moments.scale != 1).any():
        # If one part has extreme values, squares of the others may underflow on its scale.
        gathered = map_reduce(blocks, partial(task, n_parts=n_parts, n_classes=n_classes), _merge_gathered)
    is_cheap = sum(int(part.moments.rows.sum()) for part in gathered) * n_columns**2 <= ROOT_WORK
    if row_sums.is_thin(required_moments) or (
        with_roots
        and required_moments != "diagonal"
        and (is_cheap or any(is_ill_conditioned(part.moments) for part in gathered if part.moments.total))
    ):
        moments_of_parts = _compute_roots(blocks, gathered, required_moments)
    else:
        moments_of_parts = [part.moments for part in gathered]
    return (
        [moments_of_parts[0].select_classes(cell) for cell in cells]
        if len(moments_of_parts) < n_parts
        else moments_of_parts
    )


@np.errstate(over="ignore", invalid="ignore")
def gather_wide(
    blocks: RowBlocks, *, n_parts: int = 0, n_classes: int, n_columns: int, required_moments: ScatterType
) -> list[ClassMoments] | None:
    """Compute the moments of few rows of many columns in one pass, of all rows or without each part.

    The deviations from the class means of a block are computed in memory, and blocks are merged. This takes a
    fraction of the time of `gather`, which accumulates sums column by column.

    Parameters
    ----------
    blocks : iterable of (x, codes, weights)
        Finite rows x (m, p), codes (m,) equal to part * n_classes + class, and weights (m,) or None for ones.
    n_parts : int
        Number of parts, such as folds; zero for moments of all rows.
    n_classes, n_columns : int
        Numbers of classes and of columns.
    required_moments : ScatterType
        Which second moments are stored.

    Returns
    -------
    list of ClassMoments or None
        Moments of the rows outside each part, or of all rows. None if the moments are not "thin" or
        "diagonal", or if values are so large or small that columns have to be rescaled.
    """
    if required_moments not in ("thin", "diagonal"):
        return None
    task = partial(
        _gather_wide_blocks, n_parts=n_parts, n_classes=n_classes, n_columns=n_columns,
        required_moments=required_moments,
    )  # fmt: skip
    return map_reduce(blocks, task, _merge_lists)


def _merge_lists(
    one: list[ClassMoments] | None, other: list[ClassMoments] | None
) -> list[ClassMoments] | None:
    """Merge the moments of each part over two sets of rows; None if those of a set are None."""
    if one is None or other is None:
        return None
    return [a.merge(b) for a, b in zip(one, other, strict=True)]


def _gather_wide_blocks(
    blocks: RowBlocks, *, n_parts: int, n_classes: int, n_columns: int, required_moments: ScatterType
) -> list[ClassMoments] | None:
    """Compute the moments for `gather_wide`, which describes the parameters, in this process."""
    moments_of_block = partial(_moments_of_wide_rows, n_classes=n_classes, is_thin=required_moments == "thin")
    no_rows = moments_of_block(np.zeros((0, n_columns)), np.zeros(0, dtype=np.intp), np.zeros(0))
    gathered = [no_rows] * max(n_parts, 1)
    for x, codes, weights in blocks:
        x = np.ascontiguousarray(x)
        sizes = np.abs(x)
        limit = row_sums.MAX_UNSCALED_DEVIATION
        if sizes.max(initial=0.0) > limit or ((sizes < 1 / limit) & (sizes > 0)).any():
            return None  # Squares might overflow or underflow.
        weights = np.ones(len(x)) if weights is None else weights
        parts, codes = np.divmod(codes, n_classes)
        used = weights > 0
        if not used.all():
            x, codes, weights, parts = x[used], codes[used], weights[used], parts[used]
        if not n_parts:
            of_block = [moments_of_block(x, codes, weights)]
        elif required_moments == "diagonal":
            of_block = _diagonal_moments_outside_parts(x, codes, weights, parts, n_parts, n_classes)
        else:
            outside = [parts != part for part in range(n_parts)]
            of_block = [moments_of_block(x[mask], codes[mask], weights[mask]) for mask in outside]
        gathered = [moments.merge(block) for moments, block in zip(gathered, of_block, strict=True)]
    return gathered


def _diagonal_moments_outside_parts(
    x: Floats, codes: Codes, weights: Floats, parts: Codes, n_parts: int, n_classes: int
) -> list[ClassMoments]:
    """Compute the diagonal moments of the rows outside each part of one array of rows, with a scale of one.

    Deviations from the class means of all rows, and their squares, are formed once. The sums of squares
    outside a part are corrected for the means outside it. Columns in which the correction removes over 7/8 of
    a sum (see `RowSums.has_cancellation`) are computed from the rows outside the part.

    Parameters
    ----------
    x : (m, p) float
        Rows.
    codes : (m,) int
        Class of each row.
    weights : (m,) float
        Positive weights.
    parts : (m,) int
        Part of each row.
    n_parts, n_classes : int
        Numbers of parts and of classes.

    Returns
    -------
    list of `n_parts` ClassMoments
    """
    members, base, steps, deviations = _deviations_of_wide_rows(x, codes, weights, n_classes)
    scale = np.ones(x.shape[1])
    outside = members * (parts != np.arange(n_parts)[:, None, None])
    weighted = outside * weights
    all_counts = weighted.sum(axis=2)
    all_rows = outside.sum(axis=2).astype(np.int64)
    averages = weighted / np.where(all_rows > 0, all_counts, 1.0)[:, :, None]
    # One product for all parts reads the deviations once.
    all_shifts, all_sums = (
        (factors.reshape(-1, len(x)) @ values).reshape(*all_rows.shape, -1)
        for factors, values in ((averages, deviations), (weighted, deviations**2))
    )
    moments_outside = []
    for part, (counts, rows, shifts, sums) in enumerate(
        zip(all_counts, all_rows, all_shifts, all_sums, strict=True)
    ):
        is_outside = parts != part
        present = (rows > 0)[:, None]
        corrections = counts[:, None] * shifts**2
        scatters = sums - corrections
        centres, centre_errors = split_mean(
            np.where(present, base, 0.0), np.where(present, steps + shifts, 0.0), scale
        )
        lost = np.flatnonzero(~(corrections <= 0.875 * sums).all(axis=0))
        if len(lost):
            recomputed = _moments_of_wide_rows(
                x[np.ix_(is_outside, lost)], codes[is_outside], weights[is_outside],
                n_classes=n_classes, is_thin=False,
            )  # fmt: skip
            scatters[:, lost] = recomputed.scatters
            centres[:, lost] = recomputed.centres
            centre_errors[:, lost] = recomputed.rests
        moments_outside.append(ClassMoments(counts, rows, centres, centre_errors, scale, scatters))
    return moments_outside


def _deviations_of_wide_rows(
    x: Floats, codes: Codes, weights: Floats, n_classes: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute deviations from class means, which are zero in columns that are constant within the class.

    Parameters
    ----------
    x : (m, p) float
        Rows.
    codes : (m,) int
        Class of each row.
    weights : (m,) float
        Positive weights.
    n_classes : int
        Number of classes, K.

    Returns
    -------
    members : (K, m) float
        One for the rows of the class, otherwise zero.
    base : (K, p) float
        First row of each class; zero without rows.
    steps : (K, p) float
        Class means less `base`.
    deviations : (m, p) float
        Rows less `base` and `steps`.
    """
    members = np.equal(codes, np.arange(n_classes)[:, None]).astype(np.float64)
    base = np.zeros((n_classes, x.shape[1]))
    present, first = np.unique(codes, return_index=True)
    base[present] = x[first]
    weighted = members * weights
    counts = weighted.sum(axis=1, keepdims=True)
    deviations = np.empty_like(x)
    # Row by row, without two temporary arrays of the size of `x`.
    for row, code, row_deviations in zip(x, codes, deviations, strict=True):
        np.subtract(row, base[code], out=row_deviations)
    steps = (weighted / np.where(counts > 0, counts, 1.0)) @ deviations
    for code, row_deviations in zip(codes, deviations, strict=True):
        row_deviations -= steps[code]
    return members, base, steps, deviations


def _moments_of_wide_rows(
    x: Floats, codes: Codes, weights: Floats, *, n_classes: int, is_thin: bool
) -> ClassMoments:
    """Compute the moments of one array of rows, with a scale of one.

    Parameters
    ----------
    x : (m, p) float
        Rows.
    codes : (m,) int
        Class of each row.
    weights : (m,) float
        Positive weights.
    n_classes : int
        Number of classes, K.
    is_thin : bool
        Whether the moments are "thin", otherwise "diagonal".

    Returns
    -------
    ClassMoments
    """
    members, base, steps, deviations = _deviations_of_wide_rows(x, codes, weights, n_classes)
    counts = members @ weights
    rows = members.sum(axis=1).astype(np.int64)
    scale = np.ones(x.shape[1])
    averages = members * weights / np.where(rows > 0, counts, 1.0)[:, None]
    # The second step corrects the rounding errors of the first.
    centres, centre_errors = split_mean(base, steps + averages @ deviations, scale)
    if (weights != 1).any():
        deviations *= np.sqrt(weights)[:, None]
    roots = row_sums.trapezoidal_root(deviations)[None] if is_thin else None
    scatters = members @ deviations**2 if roots is None else np.einsum("kmp,kmp->kp", roots, roots)
    return ClassMoments(counts, rows, centres, centre_errors, scale, scatters, roots)


class _Gathered(NamedTuple):
    """Moments without roots, and the class means about which a further pass computes the roots."""

    moments: ClassMoments
    centres: ClassCentres


def _merge_gathered(one: list[_Gathered], other: list[_Gathered]) -> list[_Gathered]:
    """Merge the moments of each part over two sets of rows; `centres` become the merged means."""
    merged_moments = [merge_rescaled(a.moments, b.moments) for a, b in zip(one, other, strict=True)]
    return [
        _Gathered(moments, ClassCentres(moments.centres.T, moments.rests.T, moments.scale))
        for moments in merged_moments
    ]


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def _gather_without_roots(
    blocks: RowBlocks, *, n_parts: int, n_classes: int, n_columns: int, required_moments: ScatterType
) -> list[_Gathered]:
    """Compute the moments of each part without roots; a pass that lost digits is repeated.

    Moments of a column whose values differ by more than the largest float64 are not finite.

    Parameters
    ----------
    blocks : iterable of blocks
        With codes part * n_classes + class.
    n_parts, n_classes, n_columns : int
        Numbers of parts, of classes and of columns.
    required_moments : ScatterType
        Second moments that are accumulated.

    Returns
    -------
    list of _Gathered
        One for each part.
    """
    sums = [RowSums(n_classes, n_columns, required_moments) for _ in range(n_parts)]
    for x, codes, weights in blocks:
        if n_parts == 1:
            sums[0].add(x, codes, weights)
            continue
        part_codes = codes // n_classes
        order = row_sums.stable_order(part_codes, n_parts)
        # One copy of the block, whose slices are the parts.
        columns = np.take(x.T, order, axis=1, mode="clip")
        codes = codes[order] % n_classes
        weights = None if weights is None else weights[order]
        stops = np.cumsum(np.bincount(part_codes, minlength=n_parts)).tolist()
        for part_sums, start, stop in zip(sums, [0, *stops], stops, strict=False):
            if stop > start:
                part_weights = None if weights is None else weights[start:stop]
                part_sums.add(columns[:, start:stop].T, codes[start:stop], part_weights)
    gathered = []
    for rows, part_sums in zip(row_sums.rows_of_parts(blocks, n_parts, n_classes), sums, strict=True):
        if part_sums.is_out_of_range():
            part_sums = row_sums.accumulate_about_means(
                rows, part_sums, row_sums.column_scale(row_sums.largest_deviations(rows, n_columns))
            )
        elif part_sums.has_cancellation():
            part_sums = row_sums.accumulate_about_means(rows, part_sums, part_sums.scale)
        gathered.append(
            _Gathered(
                _moments_of_sums(part_sums),
                ClassCentres(part_sums.centres, part_sums.shifts(), part_sums.scale),
            )
        )
    return gathered


def _compute_roots(
    blocks: RowBlocks, gathered: list[_Gathered], required_moments: ScatterType
) -> list[ClassMoments]:
    """Compute the roots of the rows about the means of the first pass, and add them to the moments.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of rows, with codes part * n_classes + class.
    gathered : list of _Gathered
        Results of the first pass for each part.
    required_moments : ScatterType
        Second moments that are stored, which determine the kind of roots.

    Returns
    -------
    list of ClassMoments
        One for each part, with roots (thin ones if required), means corrected for rounding, and scatters
        computed from the roots.
    """
    by_class = required_moments in ("class", "thin class")
    task = partial(row_sums.centred_roots, centres=[part.centres for part in gathered], by_class=by_class)
    rooted = map_reduce(blocks, task, _merge_roots)
    return [
        _add_roots(part.moments, roots, row_sums.is_thin(required_moments))
        for part, roots in zip(gathered, rooted, strict=True)
    ]


def _merge_roots(one: list[CentredRoots], other: list[CentredRoots]) -> list[CentredRoots]:
    """Merge the roots of each part over two sets of rows."""
    return [a.merge(b) for a, b in zip(one, other, strict=True)]


def _add_roots(moments: ClassMoments, centred_roots: CentredRoots, has_thin_roots: bool) -> ClassMoments:
    """Add roots to the moments of a part, and correct the means by the sums of deviations.

    Parameters
    ----------
    moments : ClassMoments
        Moments without roots.
    centred_roots : CentredRoots
        Roots, and sums of the deviations from the means of `moments`.
    has_thin_roots : bool
        Whether the roots are stored with as many rows as the longest one; otherwise rows of zeros complete
        them to (p, p).

    Returns
    -------
    ClassMoments
        With scatters R'R, or their diagonals for thin roots. The scatters of `moments` may be overwritten.
    """
    n_columns = moments.n_columns
    rows = max(map(len, centred_roots.roots)) if has_thin_roots else n_columns
    # Rows of zeros that nothing is written to take no memory.
    roots = np.zeros((len(centred_roots.roots), rows, n_columns))
    for square, root in zip(roots, centred_roots.roots, strict=True):
        square[: len(root)] = root
    step = (centred_roots.sums / np.where(moments.counts > 0, moments.counts, 1.0)).T
    centres, centre_errors = split_mean(moments.centres, moments.rests + step, moments.scale)
    if has_thin_roots:
        scatters = (roots**2).sum(axis=1)
    else:
        used_roots = roots[:, : int(moments.rows.sum())]
        # Overwrite the sums of the pass: with many columns, new memory takes longer than the products.
        out_array = moments.scatters if moments.scatters.flags.writeable else None
        scatters = np.matmul(np.swapaxes(used_roots, 1, 2), used_roots, out=out_array)
    return replace(moments, centres=centres, rests=centre_errors, scatters=scatters, roots=roots)


def is_ill_conditioned(moments: ClassMoments) -> bool:
    """Return whether roots are needed: a scatter is ill-conditioned, or has at most as many rows as columns.

    The number of rows, regardless of weights, is the smallest number of a class for scatters by class (zero
    for an empty class), and the number of all rows for a pooled scatter. A scatter is ill-conditioned if
    `row_sums.is_scatter_ill_conditioned` is true for its correlation matrix.

    Columns that are constant over all rows are ignored, because they are found without a root. Must not be
    called for diagonal or thin moments.
    """
    if (moments.rows if moments.scatter_type == "class" else moments.rows.sum()).min() <= moments.n_columns:
        return True
    means = moments.means[moments.counts > 0]
    varies = (moments.squares != 0).any(axis=0) | (means != means[0]).any(axis=0)
    scatters = moments.scatters
    if not varies.any():
        return False
    if not varies.all():
        # Constant columns are found without a root.
        scatters = scatters[:, varies][:, :, varies]
    return any(row_sums.is_scatter_ill_conditioned(scatter) for scatter in scatters)


def _moments_of_sums(sums: RowSums) -> ClassMoments:
    """Convert the sums of a pass to moments without roots; overwrites the products of the sums."""
    shifts = sums.shifts()
    present = sums.counts > 0
    base = np.where(present, sums.centres, 0.0).T
    centres, centre_errors = split_mean(base, np.where(present, shifts, 0.0).T, sums.scale)
    scatters = sums.scatters_about_means()
    return ClassMoments(sums.counts, sums.row_counts, centres, centre_errors, sums.scale, scatters)


def split_mean(base: Floats, step: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Add a step to class means, and return the rounded sum with its rounding error.

    Parameters
    ----------
    base : (..., p) float
        Means in the units of the data.
    step : (..., p) float
        Step in units of z = x * scale.
    scale : (p,) float
        Powers of two by which the columns are multiplied.

    Returns
    -------
    centres : (..., p) float
        base + step / scale, rounded.
    rests : (..., p) float
        Rounding errors, in units of z.
    """
    # In C order, because moments that are read from a file have to give the same bits.
    centres = np.add(base, step / scale, order="C")
    return centres, np.subtract(step, (centres - base) * scale, order="C")


MIN_EXCESS_WEIGHT = 1e-9
"""Relative amount by which a sum of weights has to exceed the number that is subtracted from it."""


def too_little_weight_error(total: float, n_classes: int, n_columns: int) -> NotSupportedError:
    """Return (not raise) the error for a sum of weights below K + p, the required minimum.

    K classes use K degrees of freedom, and the covariance of p columns requires p.

    Parameters
    ----------
    total : float
        Sum of the weights.
    n_classes, n_columns : int
        Numbers of classes and of columns.

    Returns
    -------
    NotSupportedError
        The caller compares the weights and raises it.
    """
    return CoreNotSupportedError("too_little_weight", total=total, required=n_classes + n_columns)


def standardize_columns(x: Floats, origin: Floats, scale: Floats, order: Literal["C", "K"] = "C") -> Floats:
    """Return the coordinates z = (x - origin) * scale of rows, transposed.

    Parameters
    ----------
    x : (m, p) float
        Rows of the design matrix.
    origin : (p,) or (p, m) float
        One origin, or one for each row.
    scale : (p,) float
        Powers of two by which the columns are multiplied.
    order : {"C", "K"}
        Memory layout: by row of z, or the layout of x. With "K", x.T is returned if it equals z.

    Returns
    -------
    (p, m) float
        A new array, except with "K" if the origin is zero and the scale one.
    """
    unscaled = bool((scale == 1).all())
    if order == "K" and unscaled and not origin.any():
        return x.T
    z = np.subtract(x.T, origin.reshape(len(scale), -1), order=order)
    return np.asarray(z if unscaled else np.multiply(z, scale[:, None], out=z))


def deviations_from_class_means(moments: ClassMoments, x: Floats, classes: Codes | int) -> Floats:
    """Return deviations of rows from class means, transposed and multiplied by the scale.

    Parameters
    ----------
    moments : ClassMoments
        Means and scale are used.
    x : (m, p) float
        Rows of the design matrix.
    classes : (m,) int or int
        Class of each row, or one class for all rows.

    Returns
    -------
    (p, m) float
        (x - class mean) * moments.scale.
    """
    z = standardize_columns(x, moments.centres[classes].T, moments.scale)
    z -= moments.rests[classes].T.reshape(len(z), -1)
    return z


def column_squares(columns: Floats) -> Floats:
    """Return the sum of squares (m,) of each column of (p, m)."""
    return np.asarray(np.einsum("ij,ij->j", columns, columns))
