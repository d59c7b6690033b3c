"""Count, mean and scatter of each class, in one pass over the rows.

Theory. Write z = x * scale, with a scale that is a power of two and so costs no digit.
For class k with weights w, the moments are n_k = sum w, m_k = sum w z / n_k and
W_k = sum w (z - m_k)(z - m_k)'. A mean is held as the nearest number in the units of
the data (`centres`) and what that rounding leaves (`rests`): differences of means, and
of rows from means, then have all their digits however far from zero the data lie.

*One pass.* Each class gets a provisional centre a_k, the mean of its rows in the
first block that holds it. Every block adds to the sums of d = z - a_k and to the
products of d; at the end W_k = sum w d d' - n_k e_k e_k' with e_k = sum w d / n_k.
The subtraction is harmless while n_k e_k^2 is small beside W_k, which it is
unless the rows come in an order that drifts. That is checked, and where it fails
the pass is made again about the means just found.

*Digits.* A scatter squares the condition number of the rows. Where the rows are
few (so that it costs nothing), or their within-class correlation is ill-conditioned,
a further pass takes the triangular root R_k of the centred rows, R_k' R_k = W_k,
by Householder QR, and everything downstream works from R_k.

*Merging* adds positive terms only (Chan, Golub & LeVeque, 1983, The American
Statistician 37, 242-247): W = W_a + W_b + n_a n_b / (n_a + n_b) d d', d the
difference of the means; roots are merged by the QR of what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from discrim.errors import DataError

__all__ = ["ClassMoments", "gather"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Rows = tuple[Floats, Codes, Floats | None]
Spread = Literal["pooled", "class", "diagonal"]

ROOT_WORK = 2.0**24
"""Multiplications (rows x columns^2) up to which roots are taken whatever the conditioning."""

ROOT_RCOND = 1e-4
"""Reciprocal condition of the within-class correlation below which roots are taken."""

ONE_HOT_CLASSES = 32
"""Classes up to which a product with the indicator matrix sums faster than `bincount`."""

SAFE = 1e75
"""Columns whose deviations lie within 1/SAFE to SAFE are left on their own scale."""


@dataclass(frozen=True, slots=True)
class ClassMoments:
    """Sufficient statistics of classes, in coordinates z = (x - origin) * scale.

    The mean of class k is centres[k] + rests[k] / scale.

    Attributes
    ----------
    counts : (K,) float
        Sum of the weights of each class; the number of rows without weights.
    rows : (K,) int
        Number of rows of each class with positive weight.
    centres : (K, p) float
        Class means rounded, in the units of the data. A class without rows has a mean of zero.
    rests : (K, p) float
        What is left of the means, in units of z.
    scale : (p,) float
        Powers of two.
    scatters : (K, p, p), (1, p, p) or (K, p) float
        Sums of squares and products about the class means: by class, pooled over the classes,
        or by class and column only (diagonal).
    roots : (K, p, p), (1, p, p) or None
        Upper triangular R with R'R = scatter, to full precision, where it was taken.
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
        return len(self.counts)

    @property
    def n_columns(self) -> int:
        return len(self.scale)

    @property
    def total(self) -> float:
        """Sum of all weights, N."""
        return float(self.counts.sum())

    @property
    def spread(self) -> Spread:
        """How much of the scatter is held."""
        if self.scatters.ndim == 2:
            return "diagonal"
        return "class" if len(self.scatters) == self.n_classes and self.n_classes != 1 else "pooled"

    @property
    def class_means(self) -> Floats:
        """Class means (K, p) in the units of the data."""
        return self.centres + self.rests / self.scale

    @property
    def origin(self) -> Floats:
        """A point (p,) amid the class means, in the units of the data."""
        shown = self.centres[self.counts > 0]
        return np.asarray(shown[0] + (shown - shown[0]).mean(axis=0)) if len(shown) else np.zeros(len(self.scale))

    def means_from(self, origin: Floats) -> Floats:
        """Class means (K, p) in z = (x - origin) * scale."""
        return np.asarray((self.centres - origin) * self.scale + self.rests)

    @property
    def means(self) -> Floats:
        """Class means (K, p) in z."""
        return self.means_from(self.origin)

    @property
    def magnitude(self) -> Floats:
        """Size (p,) of the numbers the columns are made of, in z: what their rounding is relative to."""
        variances = self.scatters if self.spread == "diagonal" else np.diagonal(self.scatters, axis1=1, axis2=2)
        typical = np.sqrt(variances.sum(axis=0) / max(self.total, 1.0))
        return np.asarray(np.abs(self.centres).max(axis=0) * self.scale + typical)

    def pooled(self) -> ClassMoments:
        """The same moments with the scatters summed over the classes."""
        if self.spread != "class":
            return self
        roots = None if self.roots is None else _triangle(self.roots.reshape(-1, self.n_columns))[None]
        return replace(self, scatters=self.scatters.sum(axis=0, keepdims=True), roots=roots)

    def columns(self, keep: NDArray[np.intp]) -> ClassMoments:
        """The moments of some of the columns."""
        scatters = self.scatters[:, keep] if self.spread == "diagonal" else self.scatters[:, keep][:, :, keep]
        roots = None if self.roots is None else np.stack([_triangle(root[:, keep]) for root in self.roots])
        return replace(
            self,
            centres=self.centres[:, keep],
            rests=self.rests[:, keep],
            scale=self.scale[keep],
            scatters=scatters,
            roots=roots,
        )

    def classes(self, keep: NDArray[np.intp]) -> ClassMoments:
        """The moments of some of the classes; a pooled scatter stays that of all of them."""
        by_class = self.spread != "pooled"
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
        """The moments of both sets of rows together.

        Associative and commutative up to rounding; moments without rows are the identity.

        Raises
        ------
        DataError
            The two differ in classes, columns or in what is held of the scatter.
        """
        if (self.n_classes, self.n_columns, self.spread) != (other.n_classes, other.n_columns, other.spread):
            raise DataError(
                f"Moments of {self.n_classes} classes, {self.n_columns} columns ({self.spread}) cannot be merged "
                f"with moments of {other.n_classes} classes, {other.n_columns} columns ({other.spread}): gather "
                "both with the same formula, levels and options."
            )
        if not other.total:
            return self
        if not self.total:
            return other
        other = other._rescaled(self.scale)
        counts = self.counts + other.counts
        whole = np.where(counts > 0, counts, 1.0)
        share = (other.counts / whole)[:, None]
        gap = (other.centres - self.centres) * self.scale + (other.rests - self.rests)
        # A class that is new here is taken over as it stands, not reached from a mean of zero.
        base = np.where((self.counts == 0)[:, None], other.centres, self.centres)
        step = np.where((self.counts == 0)[:, None], other.rests, self.rests + share * gap)
        centres, rests = _split(base, step, self.scale)
        lift = np.sqrt(self.counts[:, None] * share) * gap
        scatters = self.scatters + other.scatters
        if self.spread == "diagonal":
            scatters = scatters + lift**2
        elif self.spread == "class":
            scatters = scatters + lift[:, :, None] * lift[:, None, :]
        else:
            scatters = scatters + lift.T @ lift
        roots = None
        if self.roots is not None and other.roots is not None:
            lifts = lift[:, None, :] if self.spread == "class" else lift[None]
            stacks = np.concatenate([self.roots, other.roots, lifts], axis=1)
            roots = np.stack([_triangle(stack) for stack in stacks])
        return ClassMoments(counts, self.rows + other.rows, centres, rests, self.scale, scatters, roots)

    def _rescaled(self, scale: Floats) -> ClassMoments:
        ratio = scale / self.scale
        square = ratio**2 if self.spread == "diagonal" else ratio[:, None] * ratio
        return replace(
            self,
            rests=self.rests * ratio,
            scale=scale,
            scatters=self.scatters * square,
            roots=None if self.roots is None else self.roots * ratio,
        )

    @staticmethod
    def from_block(
        x: Floats,
        codes: Codes,
        weights: Floats | None = None,
        *,
        n_classes: int,
        spread: Spread = "pooled",
    ) -> ClassMoments:
        """Moments of one array of rows.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
            Class of each row, 0 to n_classes - 1.
        weights : (m,) float, optional
            Frequency weights, not negative.
        n_classes : int
        spread : {"pooled", "class", "diagonal"}
            What to hold of the scatter.

        Examples
        --------
        >>> import numpy as np
        >>> m = ClassMoments.from_block(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]), n_classes=2)
        >>> m.class_means.ravel().tolist(), m.scatters.ravel().tolist()
        ([2.0, 7.0], [2.0])
        """
        return gather([(x, codes, weights)], n_classes=n_classes, n_columns=x.shape[1], spread=spread)


def gather(blocks: Iterable[Rows], *, n_classes: int, n_columns: int, spread: Spread = "pooled") -> ClassMoments:
    """Moments of a run of blocks.

    Parameters
    ----------
    blocks : re-iterable of (x (m, p), codes (m,), weights (m,) or None)
        Finite rows. They are read once, or up to three times where digits ask for it.
    n_classes, n_columns : int
    spread : {"pooled", "class", "diagonal"}

    Returns
    -------
    ClassMoments
    """
    sums = _Sums(n_classes, n_columns, spread)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for block in blocks:
            sums.add(*block)
    if sums.out_of_range():
        sums = _again(blocks, sums, _power_of_two(_peaks(blocks, n_columns)))
    elif sums.cancelled():
        sums = _again(blocks, sums, sums.scale)
    moments = sums.moments()
    if spread == "diagonal" or not moments.total:
        return moments
    few = moments.rows.sum() * n_columns**2 <= ROOT_WORK
    if few or any(_ill_conditioned(scatter) for scatter in moments.scatters):
        roots = _roots(blocks, sums, by_class=spread == "class")
        return replace(moments, scatters=np.swapaxes(roots, 1, 2) @ roots, roots=roots)
    return moments


class _Sums:
    """What one pass adds up: sums and products of the deviations from provisional centres."""

    def __init__(self, n_classes: int, n_columns: int, spread: Spread) -> None:
        self.spread = spread
        self.counts = np.zeros(n_classes)
        self.rows = np.zeros(n_classes, dtype=np.int64)
        self.centres = np.zeros((n_columns, n_classes))
        self.scale: Floats = np.ones(n_columns)
        self.sums = np.zeros((n_columns, n_classes))
        shape = (n_classes, n_columns) if spread == "diagonal" else (n_columns, n_columns)
        self.products = np.zeros((n_classes, *shape) if spread == "class" else shape)

    def add(self, x: Floats, codes: Codes, weights: Floats | None) -> None:
        if not len(x):
            return
        n_classes = len(self.counts)
        if weights is not None:
            present = weights > 0
            if not present.all():
                x, codes, weights = x[present], codes[present], weights[present]
        columns = x.T
        rows = np.bincount(codes, minlength=n_classes)
        self._place_new_centres(columns, codes, rows)
        self.rows += rows
        deviations = np.take(self.centres, codes, axis=1, mode="clip")
        np.subtract(columns, deviations, out=deviations)
        if not (self.scale == 1).all():
            deviations *= self.scale[:, None]
        if weights is None:
            self.counts += rows
            self.sums += _class_sums(deviations, codes, n_classes)
        else:
            self.counts += np.bincount(codes, weights, minlength=n_classes)
            self.sums += _class_sums(deviations * weights, codes, n_classes)
            deviations *= np.sqrt(weights)
        self._add_products(deviations, codes)

    def _place_new_centres(self, columns: Floats, codes: Codes, rows: NDArray[np.intp]) -> None:
        new = (rows > 0) & (self.rows == 0) & ~self.centres.any(axis=0)
        if not new.any():
            return
        first = not self.rows.any()
        reference = columns[:, :1]
        means = _class_sums(columns - reference, codes, len(rows))[:, new] / rows[new] + reference
        # A mean that overflowed would poison its class; the class's first row serves as well.
        bad = ~np.isfinite(means)
        means[bad] = columns[:, [int(np.argmax(codes == k)) for k in np.flatnonzero(new)]][bad]
        self.centres[:, new] = means
        if first and (self.scale == 1).all():
            self.scale = _power_of_two(np.abs(columns - np.take(self.centres, codes, axis=1)).max(axis=1))

    def _add_products(self, deviations: Floats, codes: Codes) -> None:
        n_classes = len(self.counts)
        if self.spread == "pooled":
            self.products += deviations @ deviations.T
        elif self.spread == "diagonal":
            self.products += _class_sums(deviations**2, codes, n_classes).T
        else:
            for k, part in _by_class(deviations, codes, n_classes):
                self.products[k] += part @ part.T

    def _shifts(self) -> Floats:
        """Means (p, K) of the deviations: what the provisional centres are off by."""
        return self.sums / np.where(self.counts > 0, self.counts, 1.0)

    def _squares(self) -> Floats:
        if self.spread == "diagonal":
            return self.products.sum(axis=0)
        if self.spread == "class":
            return np.asarray(np.diagonal(self.products.sum(axis=0)))
        return np.asarray(np.diagonal(self.products))

    def cancelled(self) -> bool:
        """Did the correction for the provisional centres cost more than two bits of some sum of squares?"""
        correction = self.counts * self._shifts() ** 2
        if self.spread == "pooled":
            return bool((correction.sum(axis=1) > 0.75 * self._squares()).any())
        squares = self.products if self.spread == "diagonal" else np.diagonal(self.products, axis1=1, axis2=2)
        return bool((correction.T > 0.75 * squares).any())

    def out_of_range(self) -> bool:
        """Did a sum of squares overflow, or sink to where products lose digits?"""
        squares = self._squares()
        return bool((~np.isfinite(squares) | (squares > SAFE**3) | ((squares < SAFE**-3) & (squares > 0))).any())

    def moments(self) -> ClassMoments:
        shifts = self._shifts()
        present = self.counts > 0
        base = np.where(present, self.centres, 0.0).T
        centres, rests = _split(base, np.where(present, shifts, 0.0).T, self.scale)
        lift = np.sqrt(self.counts)[:, None] * shifts.T
        if self.spread == "diagonal":
            scatters = self.products - lift**2
        elif self.spread == "class":
            scatters = self.products - lift[:, :, None] * lift[:, None, :]
        else:
            scatters = (self.products - lift.T @ lift)[None]
        return ClassMoments(self.counts, self.rows, centres, rests, self.scale, scatters)


def _again(blocks: Iterable[Rows], first: _Sums, scale: Floats) -> _Sums:
    """A second pass, about the means that the first one found."""
    sums = _Sums(len(first.counts), len(first.scale), first.spread)
    with np.errstate(over="ignore", invalid="ignore"):
        centres = first.centres + first._shifts() / first.scale[:, None]
    sums.centres = np.where(np.isfinite(centres), centres, first.centres)
    sums.scale = scale
    for block in blocks:
        sums.add(*block)
    return sums


def _split(base: Floats, step: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """base + step / scale as the nearest number and, in units of z, what that leaves."""
    centres = base + step / scale
    return centres, step - (centres - base) * scale


def _roots(blocks: Iterable[Rows], sums: _Sums, *, by_class: bool) -> Floats:
    """Triangular roots (K or 1, p, p) of the centred rows, by QR block after block."""
    n_columns, n_classes = sums.centres.shape
    shifts = sums._shifts()
    roots = [np.zeros((0, n_columns)) for _ in range(n_classes if by_class else 1)]
    for x, codes, weights in blocks:
        deviations = (x.T - np.take(sums.centres, codes, axis=1)) * sums.scale[:, None]
        deviations -= np.take(shifts, codes, axis=1)
        if weights is not None:
            deviations *= np.sqrt(weights)
        parts = _by_class(deviations, codes, n_classes) if by_class else iter([(0, deviations)])
        for k, part in parts:
            roots[k] = np.linalg.qr(np.concatenate([roots[k], part.T]), mode="r")
    return np.stack([_triangle(root) for root in roots])


def _triangle(rows: Floats) -> Floats:
    """Upper triangular (p, p) root of rows' rows, with zeros below where there are fewer rows than columns."""
    root = np.linalg.qr(rows, mode="r") if len(rows) else rows
    square = np.zeros((rows.shape[1], rows.shape[1]))
    square[: len(root)] = root
    return square


def _by_class(deviations: Floats, codes: Codes, n_classes: int) -> Iterator[tuple[int, Floats]]:
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    start = 0
    for k, end in enumerate(ends.tolist()):
        if end > start:
            yield k, np.take(deviations, order[start:end], axis=1)
        start = end


def _class_sums(columns: Floats, codes: Codes, n_classes: int) -> Floats:
    """Sums (p, K) of columns (p, m) over the rows of each class."""
    if n_classes <= ONE_HOT_CLASSES:
        indicator = np.equal(codes, np.arange(n_classes)[:, None]).astype(np.float64)
        return np.asarray(columns @ indicator.T)
    return np.stack([np.bincount(codes, column, n_classes) for column in columns])


def _ill_conditioned(scatter: Floats) -> bool:
    diagonal = np.diagonal(scatter)
    if not (diagonal > 0).all():
        return True
    unit = 1.0 / np.sqrt(diagonal)
    correlation = scatter * unit[:, None] * unit
    factor, failed = lapack.dpotrf(correlation)
    if failed:
        return True
    rcond, _ = lapack.dpocon(factor, np.abs(correlation).sum(axis=0).max())
    return bool(rcond < ROOT_RCOND)


def _power_of_two(peaks: Floats) -> Floats:
    """Powers of two that bring extreme columns near one and leave all others alone."""
    extreme = np.isfinite(peaks) & (peaks > 0) & ((peaks > SAFE) | (peaks < 1 / SAFE))
    exponents = np.zeros(len(peaks))
    exponents[extreme] = np.clip(-np.round(np.log2(peaks[extreme])), -1000, 1000)
    return np.asarray(np.ldexp(1.0, exponents.astype(int)))


def _peaks(blocks: Iterable[Rows], n_columns: int) -> Floats:
    """Largest deviation (p,) of each column from its first row."""

    def wider(peaks: Floats, columns: Floats) -> Floats:
        return np.maximum(peaks, np.abs(columns - reference).max(axis=1))

    parts = (x.T for x, _, _ in blocks if len(x))
    head = next(iter(parts))
    reference = head[:, :1].copy()
    return reduce(wider, parts, wider(np.zeros(n_columns), head))
