"""Features of rows whose products are a kernel, nearly: landmarks, and random directions.

A discriminant analysis of n rows by a kernel works on an n x n matrix. With D features f(x) such that
f(a)'f(b) is near k(a, b) it is an analysis of D columns instead: a function of their moments, in one pass
over any number of rows.

*Landmarks* (Williams & Seeger, 2001, NIPS 13, 682-688). With Z some L points and K_ZZ = R'R,

    f(x)' = k(x, Z) R^-1,      f(a)'f(b) = k(a, Z) K_ZZ^-1 k(Z, b),

which is the projection of the kernel's space onto the span of the landmarks: no larger than the kernel on the
diagonal, and equal to it where a or b is a landmark. The root is a Cholesky decomposition with pivots, which
differs from K_ZZ^-1/2 by a rotation of the features, and finds the landmarks that others span: these are left
out and counted.

*Which landmarks.* Each is drawn in proportion to what those before it leave of the kernel's diagonal, and so
never in the span of others (randomly pivoted Cholesky; Chen, Epperly, Tropp & Webber, 2025, Communications on
Pure and Applied Mathematics 78, 995-1041). Draws come in blocks: of rows drawn by what is left when the block
begins, each is taken with the share of that which is still left when its turn comes, which is the same law
(Epperly, Tropp & Webber, 2024, arXiv 2410.03969).

*Random Fourier features* (Rahimi & Recht, 2007, NIPS 20, 1177-1184). A kernel of differences is the mean of
cos(w'(a - b)) over directions w, whose law is the Fourier transform of the kernel, so that

    f(x) = sqrt(2/D) (cos w_1'x, sin w_1'x, cos w_2'x, ...)

has f(a)'f(b) = k(a, b) in the mean, with |f| = 1. For exp(-|d|^2 / 2 h^2) the w are normal with standard
deviation 1/h; for exp(-sum |d_j| / h) their entries are independent Cauchy with scale 1/h. Normal vectors are
drawn orthogonal in groups of p, which leaves the means as they are and makes the
variances less (Yu et al., 2016, NIPS 29, 1975-1983).

*ReLU features*, sqrt(2/D) max(0, w'x) with normal w, have the mean product |a| |b| (sin t + (pi - t) cos t) /
pi, t the angle between a and b: the arc-cosine kernel of order one (Cho & Saul, 2009, NIPS 22, 342-350).
Those of (x / h, 1) are one hidden layer of a network whose weights are drawn and not learnt, as RanPAC has it
(McDonnell et al., 2023, NeurIPS 36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from discrim.core.errors import CoreDataError, InvalidStateError
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory, slices
from discrim.core.numerics.map_reduce import is_local, map_reduce

T = TypeVar("T")

Kernel = Callable[[Floats, Floats], Floats]
"""From rows (m, p) and (n, p) to the kernel (m, n) between them."""

Law = Literal["gaussian", "laplace", "relu"]
"""Kernels of random features: exp(-|d|^2 / 2 h^2), exp(-sum |d_j| / h), and the arc-cosine."""

SPANNED = 1e-12
"""Share of the largest k(z, z) that is left of a landmark which others span, but for rounding."""

BLOCKS = 32
"""Blocks in which landmarks are drawn, or some more."""

FEATURE_NUMBERS = 2**22
"""Features that are in memory at once: 32 MiB."""


CACHED = 2**16
"""Numbers that a step on single numbers works on, so that they stay in the cache."""


class Features(Protocol):
    """A map of rows to features."""

    @property
    def width(self) -> int:
        """D, how many features there are."""

    def features(self, x: Floats) -> Floats:
        """Features (m, D) of rows x (m, p)."""


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """Features by the kernel with landmarks.

    Attributes
    ----------
    kernel : callable
    points : (L, p) float
        The landmarks.
    root : (L, L) float
        Upper triangular R, in the order of the points.
    spanned : int
        Landmarks that were left out, as others span them.
    """

    kernel: Kernel
    points: Floats
    root: Floats
    spanned: int = 0

    @property
    def width(self) -> int:
        """L."""
        return len(self.points)

    def features(self, x: Floats) -> Floats:
        """Features (m, L) of rows x (m, p)."""
        columns = np.asarray(self.kernel(x, self.points), dtype=np.float64).T
        return np.asarray(blas.dtrsm(1.0, self.root, columns, trans_a=1, overwrite_b=1).T)


@dataclass(frozen=True, slots=True, eq=False)
class RandomWaves:
    """Random Fourier features.

    Attributes
    ----------
    directions : (p, D / 2) float
    """

    directions: Floats

    @property
    def width(self) -> int:
        """D."""
        return 2 * len(self.directions.T)

    def features(self, x: Floats) -> Floats:
        """Features (m, D) of rows x (m, p): all cosines, then all sines."""
        half = self.directions.shape[1]
        out = np.empty((self.width, len(x)))
        np.matmul(self.directions.T, x.T, out=out[half:])
        for some in slices(half, max(CACHED // max(len(x), 1), 1)):
            # Of the tangent of half the angle: sine and cosine each take twenty times as long as it in numpy.
            tangent = np.tan(out[half:][some] * 0.5)
            share = (2.0 / np.sqrt(half)) / (1.0 + tangent**2)
            np.subtract(share, 1.0 / np.sqrt(half), out=out[some])
            np.multiply(share, tangent, out=out[half:][some])
        return out.T


@dataclass(frozen=True, slots=True, eq=False)
class RandomHinges:
    """ReLU features.

    Attributes
    ----------
    directions : (p + 1, D) float
        The last row is for a constant of one.
    """

    directions: Floats

    @property
    def width(self) -> int:
        """D."""
        return len(self.directions.T)

    def features(self, x: Floats) -> Floats:
        """Features (m, D) of rows x (m, p)."""
        out: Floats = np.matmul(self.directions[:-1].T, x.T)
        out += self.directions[-1][:, None]
        np.maximum(out, 0.0, out=out)
        out *= np.sqrt(2.0 / self.width)
        return out.T


def landmarks(kernel: Kernel, points: Floats) -> Landmarks:
    """Features of a kernel by landmarks (L, p); a DataError of a kernel that is zero, or no kernel.

    Examples
    --------
    >>> found = landmarks(lambda a, b: a @ b.T, np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]))
    >>> found.width, found.spanned
    (2, 1)
    >>> f = found.features(np.array([[3.0, 4.0]]))
    >>> (f @ f.T).round(12).tolist()
    [[25.0]]
    """
    refuse_beyond_memory(
        3.0 * len(points) ** 2, f"The kernel between {len(points):,} landmarks", "Use fewer landmarks"
    )
    between = np.asarray(kernel(points, points), dtype=np.float64)
    diagonal = np.diagonal(between)
    largest = float(diagonal.max())
    if not (np.isfinite(between).all() and largest > 0 and diagonal.min() >= 0):
        raise CoreDataError("kernel_diagonal")
    _, pivots, rank, _ = lapack.dpstrf(between, tol=SPANNED * largest)
    found = landmarks_in_order(kernel, np.ascontiguousarray(points[pivots[:rank] - 1]))
    return replace(found, spanned=len(points) - int(rank))


def landmarks_in_order(kernel: Kernel, points: Floats) -> Landmarks:
    """Features by landmarks (L, p) of which none is spanned by those before it."""
    between = np.asfortranarray(kernel(points, points), dtype=np.float64)
    root, failed = lapack.dpotrf(between, overwrite_a=1)
    if failed:
        raise InvalidStateError("its landmarks are spanned by others")
    return Landmarks(kernel, points, root)


def drawn_landmarks(kernel: Kernel, x: Floats, count: int, seed: int = 0) -> Codes:
    """Places of so many rows of x (n, p), in the order of their draws; of fewer, if these span all."""
    n = len(x)
    done = 0
    if n <= count:
        return np.arange(n)
    refuse_beyond_memory(
        1.0 * n * count, f"What {n:,} rows have of {count:,} landmarks", "Use fewer landmarks"
    )
    rng = np.random.default_rng(seed)
    factor = np.empty((n, count))
    places = np.empty(count, dtype=np.intp)
    left = own_values(kernel, x)
    least = SPANNED * float(left.max())
    while done < count and left.max() > least:
        tried = rng.choice(n, max(count // BLOCKS, 1), p=left / left.sum())
        before = factor[tried, :done]
        rest = kernel(x[tried], x[tried]) - before @ before.T
        taken = tried[_taken(rest, left[tried] * rng.random(len(tried)), least)][: count - done]
        if not len(taken):
            continue
        columns = kernel(x, x[taken]) - factor[:, :done] @ factor[taken, :done].T
        root = np.linalg.cholesky(columns[taken])
        new = solve_triangular(root, columns.T, lower=True, check_finite=False).T
        factor[:, done : done + len(taken)] = new
        places[done : done + len(taken)] = taken
        done += len(taken)
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[taken] = 0.0
    return places[:done]


def _taken(rest: Floats, bars: Floats, least: float) -> list[int]:
    """Which rows of a block are taken: those of which those before leave more than their bar (b,).

    `rest` (b, b) is what is left of the kernel between them, and is written over.
    """
    taken = []
    for i, bar in enumerate(bars):
        here = rest[i, i]
        if here > max(bar, least):
            taken.append(i)
            column = rest[i + 1 :, i] / np.sqrt(here)
            rest[i + 1 :, i + 1 :] -= np.outer(column, column)
    return taken


def own_values(kernel: Kernel, x: Floats) -> Floats:
    """The kernel (n,) of each row of x (n, p) with itself."""
    out = np.empty(len(x))
    # Small squares, as the kernel is known by matrices alone.
    for some in slices(len(x), 32):
        out[some] = np.diagonal(kernel(x[some], x[some]))
    return out


def random_features(law: Law, width: float, columns: int, count: int, seed: int = 0) -> Features:
    """So many random features of rows of so many columns; `width` is the kernel's h.

    Examples
    --------
    >>> waves = random_features("gaussian", 2.0, columns=3, count=2000)
    >>> a, b = waves.features(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))
    >>> float(a @ b).__round__(1), round(float(np.exp(-5 / 8)), 1)
    (0.5, 0.5)
    """
    rng = np.random.default_rng(seed)
    if law == "relu":
        directions = _normal_directions(rng, columns + 1, count)
        directions[:-1] /= width
        return RandomHinges(directions)
    if count % 2:
        raise CoreDataError("odd_features", count=count, even=count + 1)
    half = count // 2
    if law == "laplace":
        return RandomWaves(rng.standard_cauchy((columns, half)) / width)
    return RandomWaves(_normal_directions(rng, columns, half) / width)


def features_along(law: Law, directions: Floats) -> Features:
    """Random features of some law, whose directions were drawn before."""
    return RandomHinges(directions) if law == "relu" else RandomWaves(directions)


def _normal_directions(rng: np.random.Generator, p: int, count: int) -> Floats:
    """Vectors (p, count), each standard normal, orthogonal in groups of p."""
    out = np.empty((p, count))
    for some in slices(count, p):
        turned, triangle = np.linalg.qr(rng.standard_normal((p, p)))
        # With these signs the rotation is drawn evenly from all of them.
        turned *= np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
        out[:, some] = turned[:, : some.stop - some.start]
    out *= np.sqrt(rng.chisquare(p, count))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """Features of rows as they are in a table.

    Attributes
    ----------
    coordinates : callable
        From rows (m, p) to those (m, q) that the features are of.
    mapping : Features
    """

    coordinates: Callable[[Floats], Floats]
    mapping: Features

    @property
    def width(self) -> int:
        """D."""
        return self.mapping.width

    @property
    def step(self) -> int:
        """Rows whose features are worked on at once."""
        return max(FEATURE_NUMBERS // max(self.width, 1), 64)

    def __call__(self, x: Floats) -> Floats:
        """Features (m, D) of rows x (m, p)."""
        return self.mapping.features(self.coordinates(x))


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Blocks of rows as blocks of their features, for a pass that adds up moments."""

    rows: RowBlocks
    features: FeatureMap

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.rows:
            for some in slices(len(x), self.features.step):
                held = None if weights is None else weights[some]
                yield self.features(x[some]), codes[some], held

    @property
    def is_local(self) -> bool:
        """Whether a pass brings the rows here."""
        return is_local(self.rows)

    def map_reduce(self, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
        """What a task makes of the features of all rows, or of each part of them, merged."""
        return map_reduce(self.rows, partial(_of_part, self.features, task), merge)


def _of_part(features: FeatureMap, task: Callable[[Any], T], rows: RowBlocks) -> T:
    return task(FeatureRows(rows, features))
