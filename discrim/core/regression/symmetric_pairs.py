"""Sums and forms of products z_i z_j of columns by weights of pairs of classes, each pair once.

Theory. The information of a multinomial logit has blocks sum_r w_kl z z', one for each pair of classes. The
matrix is symmetric, and each of its blocks is too: of the (q p)^2 numbers no more than q(q + 1)/2 times
p(p + 1)/2 differ. They are one product of the columns' pairs, (p(p + 1)/2, m), with the weights of the
classes' pairs, (q(q + 1)/2, m), a quarter of the work of the whole. The quadratic forms z'M_kl z of a
symmetric matrix M are a product with the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

__all__ = ["Forms", "Information"]

Floats = NDArray[np.float64]

FEW_CLASSES = 2
"""Classes, one of which or two have too few pairs for a product with them."""

FEWEST_LINES = 2
"""Pairs of columns of a part, in units of the columns."""


class _Part(NamedTuple):
    """Pairs (i, j), i <= j, of some first lines i, one after the other."""

    firsts: range
    size: int


def _parts(lines: int, most: int) -> list[_Part]:
    """All pairs of lines, in parts of no more than some number of pairs, or those of a single line."""
    parts, start, size = [], 0, 0
    for i in range(lines):
        if size and size + lines - i > most:
            parts.append(_Part(range(start, i), size))
            start, size = i, 0
        size += lines - i
    return [*parts, _Part(range(start, lines), size)]


def _products(part: _Part, left: Floats, right: Floats, out: Floats) -> Floats:
    """Products (size, m) of the pairs of lines (n, m), the first of each from the left, in a buffer."""
    m = left.shape[1]
    held = out[: part.size * m].reshape(part.size, m)
    end = 0
    for i in part.firsts:
        start, end = end, end + len(right) - i
        np.multiply(left[i], right[i:], out=held[start:end])
    return held


class Information:
    """Sum over rows of diag(own) - held shares', (q, q), times zz', (p + 1, p + 1).

    Parameters
    ----------
    p1, q : int
        Columns, a leading one among them, and classes.
    piece : int
        Most rows that are added at once.
    """

    def __init__(self, p1: int, q: int, piece: int) -> None:
        self.p1, self.q = p1, q
        if q <= FEW_CLASSES:
            self._blocks = np.zeros((q * (q + 1) // 2 * p1, p1))
            return
        self._columns, self._classes = _parts(p1, FEWEST_LINES * p1), _parts(q, q * p1)
        self._sums = [
            [np.zeros((classes.size, columns.size), order="F") for columns in self._columns]
            for classes in self._classes
        ]
        size = [max(part.size for part in parts) for parts in (self._columns, self._classes)]
        self._pairs, self._weights = (np.empty(most * piece) for most in size)

    def add(self, z: Floats, own: Floats, held: Floats, shares: Floats) -> None:
        """Add rows of columns z (p + 1, m) by their numbers own, held, shares (q, m)."""
        if self.q <= FEW_CLASSES:
            weights = np.vstack([own, -held[:1] * shares[1:]])
            self._blocks += (weights[:, None] * z).reshape(-1, z.shape[1]) @ z.T
            return
        less, pairs = -held, None
        for j, classes in enumerate(self._classes):
            weights = _products(classes, less, shares, self._weights)
            at = 0
            for k in classes.firsts:
                weights[at] = own[k]
                at += self.q - k
            for i, columns in enumerate(self._columns):
                if pairs is None or len(self._columns) > 1:
                    pairs = _products(columns, z, z, self._pairs)
                sums = self._sums[j][i]
                self._sums[j][i] = dgemm(1.0, weights.T, pairs.T, beta=1.0, c=sums, trans_a=1, overwrite_c=1)

    def whole(self) -> Floats:
        """The matrix (q (p + 1), q (p + 1)), class by class."""
        p1, q = self.p1, self.q
        if q <= FEW_CLASSES:
            one, two, both = np.resize(self._blocks, (3, p1, p1))
            return one if q == 1 else np.vstack([np.hstack([one, both]), np.hstack([both, two])])
        sums, columns, out = np.block(self._sums), _places(p1), np.empty((q, p1, q, p1))
        for k, classes in enumerate(_places(q)):
            out[k] = sums[classes][:, columns].swapaxes(0, 1)
        return out.reshape(q * p1, q * p1)


def _places(lines: int) -> NDArray[np.intp]:
    """The place (n, n) of each pair of lines among those of which the first is no later."""
    places = np.empty((lines, lines), dtype=np.intp)
    upper = np.triu_indices(lines)
    places[upper] = places[upper[1], upper[0]] = np.arange(len(upper[0]))
    return places


class Forms:
    """The quadratic forms z'M_kl z of the blocks of a matrix, for each pair of classes once.

    Parameters
    ----------
    matrix : (q (p + 1), q (p + 1)) float
        Symmetric, class by class.
    p1 : int
    """

    def __init__(self, matrix: Floats, p1: int) -> None:
        self.q = len(matrix) // p1
        self._matrix, self._held = matrix.reshape(self.q, p1, self.q, p1), list[Floats]()
        if self.q <= FEW_CLASSES:
            return
        ((_, self.pairs),) = self._columns = _parts(p1, p1 * p1)
        first, second = np.triu_indices(p1)
        once = np.where(first == second, 0.5, 1.0)
        for k in range(self.q):
            own = np.swapaxes(self._matrix[k, :, k:], 0, 1)
            self._held.append((own[:, first, second] + own[:, second, first]) * once)

    def piece(self, numbers: int) -> int:
        """Rows at once that hold no more than some numbers, or a few."""
        return max(numbers // (self.pairs if self._held else self._matrix.shape[1]), 16)

    def of(self, z: Floats) -> Iterator[Floats]:
        """For each class k the forms (q - k, m) of the classes from k on, of columns z (p + 1, m)."""
        if not self._held:
            for k in range(self.q):
                yield np.stack([((self._matrix[k, :, j] @ z) * z).sum(axis=0) for j in range(k, self.q)])
            return
        pairs = _products(self._columns[0], z, z, np.empty(self.pairs * z.shape[1]))
        for held in self._held:
            yield held @ pairs
