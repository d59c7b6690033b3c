"""Feature maps whose inner products approximate a kernel: landmarks and random directions.

A kernel discriminant analysis of n rows uses an n x n matrix. With D features f(x) such that f(a)'f(b)
approximates k(a, b) it becomes an analysis of D columns, a function of their moments that one pass over any
number of rows computes.

*Landmarks* (Williams & Seeger, 2001, NIPS 13, 682-688). With L points Z and K_ZZ = R'R,

    f(x)' = k(x, Z) R^-1,      f(a)'f(b) = k(a, Z) K_ZZ^-1 k(Z, b),

which is the projection of the kernel's space onto the span of the landmarks: at most the kernel on the
diagonal, and equal to it if a or b is a landmark. The root is a pivoted Cholesky factor, which
differs from K_ZZ^-1/2 by a rotation of the features, and detects landmarks that lie in the span of others;
these are omitted and counted.

*Selection of landmarks.* Each is drawn in proportion to the residual of the kernel's diagonal after the
previous ones, and therefore never lies in their span (randomly pivoted Cholesky; Chen, Epperly, Tropp &
Webber, 2025, Communications on Pure and Applied Mathematics 78, 995-1041). Draws are made in blocks: rows are
proposed in proportion to the residual at the start of the block, and each is accepted with the ratio of its
current residual to it, which results in the same distribution (Epperly, Tropp & Webber, 2024, arXiv
2410.03969).

*Random Fourier features* (Rahimi & Recht, 2007, NIPS 20, 1177-1184). A kernel of differences is the mean of
cos(w'(a - b)) over directions w, whose distribution is the Fourier transform of the kernel. Then

    f(x) = sqrt(2/D) (cos w_1'x, sin w_1'x, cos w_2'x, ...)

has the expectation f(a)'f(b) = k(a, b), with |f| = 1. For exp(-|d|^2 / 2 h^2) the w are normal with standard
deviation 1/h; for exp(-sum |d_j| / h) their entries are independent Cauchy with scale 1/h. Normal vectors are
drawn orthogonal in groups of p, which preserves the expectation and reduces the variance (Yu et al., 2016,
NIPS 29, 1975-1983).

*ReLU features*, sqrt(2/D) max(0, w'x) with normal w, have the expected product |a| |b| (sin t + (pi - t) cos
t) / pi, t the angle between a and b: the arc-cosine kernel of order one (Cho & Saul, 2009, NIPS 22, 342-350).
With (x / h, 1) as input they are one hidden layer of a network whose weights are random and not learnt, as in
RanPAC (McDonnell et al., 2023, NeurIPS 36).
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
from discrim.core.numerics.arrays import Codes, Floats, check_memory, slices
from discrim.core.numerics.map_reduce import is_local, map_reduce

T = TypeVar("T")

Kernel = Callable[[Floats, Floats], Floats]
"""Function of rows (m, p) and (n, p) that returns the kernel matrix (m, n)."""

DirectionDistribution = Literal["gaussian", "laplace", "relu"]
"""Kernels with random features: exp(-|d|^2 / 2 h^2), exp(-sum |d_j| / h), and the arc-cosine."""

SPAN_TOLERANCE = 1e-12
"""Residual of k(z, z), relative to the largest, below which a landmark lies in the span of others."""

N_DRAW_BLOCKS = 32
"""Approximate number of blocks in which landmarks are drawn."""

MAX_FEATURE_VALUES = 2**22
"""Number of feature values per block: 32 MiB."""


MAX_CACHED_VALUES = 2**16
"""Number of values per elementwise operation, chosen to fit the processor's cache."""


class Features(Protocol):
    """Protocol of a map from rows in the coordinates of a kernel, not in data units, to features."""

    @property
    def width(self) -> int:
        """Number D of features."""

    def features(self, x: Floats) -> Floats:
        """Return the features (m, D) of rows x (m, p)."""


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """Feature map by the kernel with landmarks.

    Attributes
    ----------
    kernel : callable
        Function of rows (m, p) and (n, p) that returns their kernel matrix (m, n).
    points : (L, p) float
        The landmarks, in the coordinates of the kernel.
    root : (L, L) float
        Upper triangular R with R'R the kernel matrix of the points.
    n_omitted : int
        Number of landmarks that were omitted because they lie in the span of others.
    """

    kernel: Kernel
    points: Floats
    root: Floats
    n_omitted: int = 0

    @property
    def width(self) -> int:
        """Number L of features."""
        return len(self.points)

    def features(self, x: Floats) -> Floats:
        """Return the features (m, L) of rows x (m, p), their kernels with the points times R^-1."""
        columns = np.asarray(self.kernel(x, self.points), dtype=np.float64).T
        return np.asarray(blas.dtrsm(1.0, self.root, columns, trans_a=1, overwrite_b=1).T)


@dataclass(frozen=True, slots=True, eq=False)
class RandomWaves:
    """Random Fourier features.

    Attributes
    ----------
    directions : (p, D / 2) float
        Random directions w, one per column; rows of the matrix are coordinates of the kernel.
    """

    directions: Floats

    @property
    def width(self) -> int:
        """Number D of features."""
        return 2 * len(self.directions.T)

    def features(self, x: Floats) -> Floats:
        """Return the features (m, D) of rows x (m, p): all cosines, then all sines."""
        half = self.directions.shape[1]
        features = np.empty((self.width, len(x)))
        np.matmul(self.directions.T, x.T, out=features[half:])
        for chunk in slices(half, max(MAX_CACHED_VALUES // max(len(x), 1), 1)):
            # Use the tangent of half the angle: in NumPy sine and cosine each take twenty times as long.
            tangent = np.tan(features[half:][chunk] * 0.5)
            cosine_factor = (2.0 / np.sqrt(half)) / (1.0 + tangent**2)
            np.subtract(cosine_factor, 1.0 / np.sqrt(half), out=features[chunk])
            np.multiply(cosine_factor, tangent, out=features[half:][chunk])
        return features.T


@dataclass(frozen=True, slots=True, eq=False)
class RandomHinges:
    """Random ReLU features.

    Attributes
    ----------
    directions : (p + 1, D) float
        The last row is for a constant input of one.
    """

    directions: Floats

    @property
    def width(self) -> int:
        """Number D of features."""
        return len(self.directions.T)

    def features(self, x: Floats) -> Floats:
        """Return the features (m, D) of rows x (m, p)."""
        features: Floats = np.matmul(self.directions[:-1].T, x.T)
        features += self.directions[-1][:, None]
        np.maximum(features, 0.0, out=features)
        features *= np.sqrt(2.0 / self.width)
        return features.T


def make_landmarks(kernel: Kernel, points: Floats) -> Landmarks:
    """Create the feature map of landmarks; landmarks in the span of others are omitted and counted.

    Parameters
    ----------
    kernel : callable
        Function of rows (m, p) and (n, p) that returns their kernel matrix (m, n).
    points : (L, p) float
        The L landmarks.

    Returns
    -------
    Landmarks
        With the points that are kept, in pivoted order.

    Raises
    ------
    CoreDataError
        The kernel of the landmarks is not finite, or its diagonal has a negative value or is zero.
    DataError
        The kernel matrix of the landmarks and two copies would take over half of the memory.

    Examples
    --------
    >>> found = make_landmarks(lambda a, b: a @ b.T, np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]))
    >>> found.width, found.n_omitted
    (2, 1)
    >>> f = found.features(np.array([[3.0, 4.0]]))
    >>> (f @ f.T).round(12).tolist()
    [[25.0]]
    """
    check_memory(
        3.0 * len(points) ** 2, f"The kernel between {len(points):,} landmarks", "Use fewer landmarks"
    )
    landmark_kernels = np.asarray(kernel(points, points), dtype=np.float64)
    diagonal = np.diagonal(landmark_kernels)
    largest = float(diagonal.max())
    if not (np.isfinite(landmark_kernels).all() and largest > 0 and diagonal.min() >= 0):
        raise CoreDataError("kernel_diagonal")
    _, pivots, rank, _ = lapack.dpstrf(landmark_kernels, tol=SPAN_TOLERANCE * largest)
    feature_map = independent_landmarks(kernel, np.ascontiguousarray(points[pivots[:rank] - 1]))
    return replace(feature_map, n_omitted=len(points) - int(rank))


def independent_landmarks(kernel: Kernel, points: Floats) -> Landmarks:
    """Create the feature map of linearly independent landmarks.

    Parameters
    ----------
    kernel : callable
        Function of rows (m, p) and (n, p) that returns their kernel matrix (m, n).
    points : (L, p) float
        The L landmarks.

    Returns
    -------
    Landmarks
        With all points in the given order, and `n_omitted` zero.

    Raises
    ------
    InvalidStateError
        A landmark lies in the span of the landmarks before it.
    """
    landmark_kernels = np.asfortranarray(kernel(points, points), dtype=np.float64)
    root, failed = lapack.dpotrf(landmark_kernels, overwrite_a=1)
    if failed:
        raise InvalidStateError("its landmarks are linearly dependent")
    return Landmarks(kernel, points, root)


def draw_landmarks(kernel: Kernel, x: Floats, n_landmarks: int, seed: int = 0) -> Codes:
    """Draw landmarks from rows by randomly pivoted Cholesky.

    Parameters
    ----------
    kernel : callable
        Function of rows (m, p) and (n, p) that returns their kernel matrix (m, n).
    x : (n, p) float
        Rows from which landmarks are drawn.
    n_landmarks : int
        Number of landmarks.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    (n_landmarks,) int
        Positions of the rows in the order of the draws. Fewer if they span all rows; all n rows in their own
        order if n is at most `n_landmarks`.

    Raises
    ------
    DataError
        The kernel matrix of the rows with the landmarks would take over half of the memory.
    """
    n = len(x)
    n_drawn = 0
    if n <= n_landmarks:
        return np.arange(n)
    check_memory(
        1.0 * n * n_landmarks,
        f"The kernel between {n:,} rows and {n_landmarks:,} landmarks",
        "Use fewer landmarks",
    )
    rng = np.random.default_rng(seed)
    factor = np.empty((n, n_landmarks))
    landmark_rows = np.empty(n_landmarks, dtype=np.intp)
    residuals = kernel_diagonal(kernel, x)
    min_residual = SPAN_TOLERANCE * float(residuals.max())
    while n_drawn < n_landmarks and residuals.max() > min_residual:
        proposed = rng.choice(n, max(n_landmarks // N_DRAW_BLOCKS, 1), p=residuals / residuals.sum())
        previous_factor = factor[proposed, :n_drawn]
        residual_kernel = kernel(x[proposed], x[proposed]) - previous_factor @ previous_factor.T
        accepted = proposed[
            _accept_proposals(residual_kernel, residuals[proposed] * rng.random(len(proposed)), min_residual)
        ][: n_landmarks - n_drawn]
        if not len(accepted):
            continue
        columns = kernel(x, x[accepted]) - factor[:, :n_drawn] @ factor[accepted, :n_drawn].T
        root = np.linalg.cholesky(columns[accepted])
        new = solve_triangular(root, columns.T, lower=True, check_finite=False).T
        factor[:, n_drawn : n_drawn + len(accepted)] = new
        landmark_rows[n_drawn : n_drawn + len(accepted)] = accepted
        n_drawn += len(accepted)
        residuals = np.maximum(residuals - np.einsum("ij,ij->i", new, new), 0.0)
        residuals[accepted] = 0.0
    return landmark_rows[:n_drawn]


def _accept_proposals(residual_kernel: Floats, thresholds: Floats, min_residual: float) -> list[int]:
    """Return the positions of the proposed rows that are accepted as landmarks.

    Parameters
    ----------
    residual_kernel : (b, b) float
        Residual kernel between the proposed rows; overwritten.
    thresholds : (b,) float
        A row is accepted if its residual, given the accepted rows before it, exceeds this.
    min_residual : float
        Residual below which a row lies in the span of others.

    Returns
    -------
    list of int
        Ascending; possibly empty.
    """
    accepted = []
    for i, threshold in enumerate(thresholds):
        residual = residual_kernel[i, i]
        if residual > max(threshold, min_residual):
            accepted.append(i)
            column = residual_kernel[i + 1 :, i] / np.sqrt(residual)
            residual_kernel[i + 1 :, i + 1 :] -= np.outer(column, column)
    return accepted


def kernel_diagonal(kernel: Kernel, x: Floats) -> Floats:
    """Return the kernel of each row with itself.

    Parameters
    ----------
    kernel : callable
        Function of rows (m, p) and (n, p) that returns their kernel matrix (m, n).
    x : (n, p) float
        Rows.

    Returns
    -------
    (n,) float
    """
    diagonal = np.empty(len(x))
    # Compute small square matrices, because the kernel function returns only matrices.
    for chunk in slices(len(x), 32):
        diagonal[chunk] = np.diagonal(kernel(x[chunk], x[chunk]))
    return diagonal


def random_features(
    distribution: DirectionDistribution, width: float, n_columns: int, n_features: int, seed: int = 0
) -> Features:
    """Draw the random directions of features that approximate a kernel.

    Parameters
    ----------
    distribution : {"gaussian", "laplace", "relu"}
        Kernel that the features approximate: exp(-|d|^2 / 2 h^2), exp(-sum |d_j| / h) or the arc-cosine.
    width : float
        Width h of the kernel.
    n_columns : int
        Number of columns of the rows.
    n_features : int
        Number of features.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Features
        `RandomHinges` for "relu", else `RandomWaves`; of rows with `n_columns` columns.

    Raises
    ------
    CoreDataError
        The number of features is odd, but cosines and sines come in pairs.

    Examples
    --------
    >>> waves = random_features("gaussian", 2.0, n_columns=3, n_features=2000)
    >>> a, b = waves.features(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))
    >>> float(a @ b).__round__(1), round(float(np.exp(-5 / 8)), 1)
    (0.5, 0.5)
    """
    rng = np.random.default_rng(seed)
    if distribution == "relu":
        directions = _normal_directions(rng, n_columns + 1, n_features)
        directions[:-1] /= width
        return RandomHinges(directions)
    if n_features % 2:
        raise CoreDataError("odd_features", count=n_features, even=n_features + 1)
    half = n_features // 2
    if distribution == "laplace":
        return RandomWaves(rng.standard_cauchy((n_columns, half)) / width)
    return RandomWaves(_normal_directions(rng, n_columns, half) / width)


def features_from_directions(distribution: DirectionDistribution, directions: Floats) -> Features:
    """Create random features from stored directions: `RandomHinges` for "relu", else `RandomWaves`."""
    return RandomHinges(directions) if distribution == "relu" else RandomWaves(directions)


def _normal_directions(rng: np.random.Generator, p: int, count: int) -> Floats:
    """Draw `count` standard normal vectors, columns of (p, count), that are orthogonal in groups of p."""
    directions = np.empty((p, count))
    for chunk in slices(count, p):
        rotation, triangle = np.linalg.qr(rng.standard_normal((p, p)))
        # With these signs the rotation is uniformly distributed.
        rotation *= np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
        directions[:, chunk] = rotation[:, : chunk.stop - chunk.start]
    directions *= np.sqrt(rng.chisquare(p, count))
    return directions


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """Map from rows of a table to features.

    Attributes
    ----------
    coordinates : callable
        From rows (m, p) in the units of the data to coordinates (m, q) of the kernel.
    mapping : Features
        From coordinates to features.
    """

    coordinates: Callable[[Floats], Floats]
    mapping: Features

    @property
    def width(self) -> int:
        """Number D of features."""
        return self.mapping.width

    @property
    def rows_per_block(self) -> int:
        """Number of rows per block, whose features have about `MAX_FEATURE_VALUES` elements."""
        return max(MAX_FEATURE_VALUES // max(self.width, 1), 64)

    def __call__(self, x: Floats) -> Floats:
        """Return the features (m, D) of rows x (m, p)."""
        return self.mapping.features(self.coordinates(x))


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Blocks of rows converted to blocks of their features, from which moments are accumulated.

    Iteration yields (features, codes, weights) of blocks that limit the memory of the features.

    Attributes
    ----------
    rows : RowBlocks
        Blocks (x, codes, weights) of rows.
    features : FeatureMap
        Map from rows to features.
    """

    rows: RowBlocks
    features: FeatureMap

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.rows:
            for chunk in slices(len(x), self.features.rows_per_block):
                chunk_weights = None if weights is None else weights[chunk]
                yield self.features(x[chunk]), codes[chunk], chunk_weights

    @property
    def is_local(self) -> bool:
        """Whether iteration reads the rows in this process."""
        return is_local(self.rows)

    def map_reduce(self, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
        """Apply a task to the features of all rows, or on workers to the features of each chunk; merge.

        `task` receives an iterable of blocks (features, codes, weights). `merge` combines two results of it,
        and is not called for rows in this process.
        """
        return map_reduce(self.rows, partial(_apply_to_chunk, self.features, task), merge)


def _apply_to_chunk(features: FeatureMap, task: Callable[[Any], T], rows: RowBlocks) -> T:
    """Apply a task to the features of some blocks of rows."""
    return task(FeatureRows(rows, features))
