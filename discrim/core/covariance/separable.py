"""Separable covariances of columns that are the entries of a matrix: one of its rows, one of its columns.

*Model.* The p = r c columns, in their order, are a matrix of r rows and c columns, row by row: column j c + l
is its entry (j, l). Within a class it has the matrix normal law, whose covariance of the entries (j, l) and
(k, m) is U_jk V_lm: U (r, r) is that of rows and V (c, c) that of columns, and of the p columns in their
order it is the Kronecker product of U and V (Dawid, 1981, Biometrika 68, 265-274). Only the product is
determined; here U has the trace r, so that V is the average over the rows of the covariance of their entries.

*Maximum.* With W the scatter of the columns over N rows, the likelihood is largest where

    U_jk = sum_lm W_(jl)(km) (V^-1)_lm / (c N),    V_lm = sum_jk W_(jl)(km) (U^-1)_jk / (r N),

which are solved in turn (Dutilleul, 1999, Journal of Statistical Computation and Simulation 64, 105-123). No
step lowers the likelihood. Each is made with the rows of a root of W, matrices A_i with W the sum of their
products, as the triangle of a QR decomposition of the A_i whitened on one side: nothing is squared, and no
row of the table is read again. A maximum takes r/c and c/r degrees of freedom at least. The first step takes
V for a sphere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from discrim.core.covariance.covariance import EPS, Covariance
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    each_covariance,
)
from discrim.core.covariance.principal import one_scatter
from discrim.core.errors import CoreDataError, SingularEstimateError, positions
from discrim.core.moments.derived_moments import comparable
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread, packed_triangle
from discrim.core.numerics.arrays import Floats

CLOSE = 1e-12
"""Change of a root, relative to its lengths, at which the search ends."""

MOST_STEPS = 5000
"""Steps after which a search that has not ended is taken for one without an end."""


@dataclass(frozen=True, slots=True)
class SeparableCovariance(CovarianceModel):
    """The covariance of the entries of a matrix, by its rows and its columns.

    Attributes
    ----------
    rows, columns : int
        Of the matrix.
    """

    rows: int = 1
    columns: int = 1

    name = "separable"
    traits = CovarianceTraits(is_regular=True, is_maximum_likelihood=True)

    def bind_classes(self, levels: Sequence[Any], n_columns: int) -> SeparableCovariance:
        """The same, where the columns are such a matrix; else a DataError."""
        if n_columns != self.rows * self.columns:
            raise CoreDataError(
                "matrix_of_other_size",
                n_rows=self.rows,
                n_columns=self.columns,
                n_entries=self.rows * self.columns,
                n_varying=n_columns,
                plural="s" * (n_columns > 1),
            )
        return self

    @classmethod
    def required_moments(cls, full: Spread, *, thin: bool = False) -> Spread:
        """All products of columns, of few rows too."""
        return full

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariances of largest likelihood, over divisors; a NoEstimateError where there is none."""
        moments = comparable(moments)
        found = []
        for k, divisor in each_covariance(divisors):
            u, v = separated(moments, (self.rows, self.columns), k)
            found.append(Covariance.from_root(np.kron(u, v) / moments.common_unit / np.sqrt(divisor)))
        return CovarianceEstimates(self, moments, tuple(found))

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Those of U and V, whose product has one scale."""
        own = self.rows * (self.rows + 1) // 2 + self.columns * (self.columns + 1) // 2 - 1
        return n_covariances * own


def separated(moments: ClassMoments, shape: tuple[int, int], k: int | None = None) -> tuple[Floats, Floats]:
    """Triangular roots (r, r) and (c, c) of U and V, of the scatter of class k or of all classes.

    It is that of columns in the units of the data times one number, as `common_unit` says.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((40, 4))
    >>> m = ClassMoments.from_block(x, np.zeros(40, dtype=np.intp), n_classes=1)
    >>> u, v = separated(m, (4, 1))
    >>> np.allclose(np.kron(u, v).T @ np.kron(u, v), m.scatters[0])
    True
    """
    r, c = shape
    one = one_scatter(moments, k)
    free = int((one.rows - (one.rows > 0)).sum())
    singular = SingularEstimateError(
        "no_separable_covariance", class_positions=positions(k), n_rows=r, n_columns=c, df=free
    )
    if moments.n_columns != r * c or free * c < r or free * r < c:
        raise singular
    across = _root(one).reshape(-1, r, c)
    down = across.transpose(0, 2, 1)
    u = np.eye(r)
    v = np.eye(c)
    before = np.zeros((r, r))
    for _ in range(MOST_STEPS):
        u = _triangle(across, v)
        if _is_singular(u, len(across) * c):
            raise singular
        # Of trace r: the scale is that of V.
        u /= np.sqrt((u**2).sum() / r)
        v = _triangle(down, u) / np.sqrt(r)
        if _is_singular(v, len(across) * r):
            raise singular
        if (np.abs(u - before) <= CLOSE * np.sqrt((u**2).sum(axis=0))).all():
            return u, v
        before = u
    raise singular


def _root(one: ClassMoments) -> Floats:
    """Rows (m, p) whose products are a scatter, in the units of the data but for one number."""
    unit = one.common_unit
    if one.roots is not None:
        return np.asarray(one.roots[0] * unit)
    lengths, axes = np.linalg.eigh(one.scatters[0] * unit * unit[:, None])
    return np.asarray(np.sqrt(np.maximum(lengths, 0.0))[:, None] * axes.T)


def _triangle(matrices: Floats, root: Floats) -> Floats:
    """Triangular root (a, a) of the products of matrices (m, a, b) whose rows a root (b, b) whitens."""
    m, a, b = matrices.shape
    rows = np.ascontiguousarray(matrices).reshape(m * a, b)
    whitened = scipy.linalg.blas.dtrsm(1.0, root, rows, side=1).reshape(m, a, b)
    found = packed_triangle(np.ascontiguousarray(whitened.transpose(0, 2, 1)).reshape(m * b, a))
    return found * np.where(np.diagonal(found) < 0, -1.0, 1.0)[:, None]


def _is_singular(root: Floats, count: int) -> bool:
    """Whether a triangular root, of the products of so many rows, has a diagonal that is rounding."""
    lengths = np.sqrt((root**2).sum(axis=0))
    return not (np.diagonal(root) > EPS * count * lengths).all()
