"""Separable covariances of columns that are the entries of a matrix: one of its rows, one of its columns.

*Model.* The p = r c columns, in their order, are a matrix of r rows and c columns, row by row: column j c + l
is its entry (j, l). Within a class it has the matrix normal distribution, in which the covariance of the
entries (j, l) and (k, m) is U_jk V_lm: U (r, r) is the covariance of rows and V (c, c) of columns, and the
covariance of the p columns is the Kronecker product of U and V (Dawid, 1981, Biometrika 68, 265-274). Only
the product is identified; here U has the trace r, so V is the average over the rows of the covariance of
their entries.

*Maximum.* With W the scatter of the columns over N rows, the likelihood is largest if

    U_jk = sum_lm W_(jl)(km) (V^-1)_lm / (c N),    V_lm = sum_jk W_(jl)(km) (U^-1)_jk / (r N),

which are solved alternately (Dutilleul, 1999, Journal of Statistical Computation and Simulation 64, 105-123).
No step lowers the likelihood. Each step uses the rows of a root of W, matrices A_i with W the sum of their
products, and computes the triangle of a QR decomposition of the A_i whitened on one side: nothing is squared,
and no row of the table is read again. A maximum requires at least r/c and c/r degrees of freedom. The first
step assumes that V is a sphere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    class_divisor_pairs,
)
from discrim.core.covariance.principal import single_scatter_moments
from discrim.core.errors import CoreDataError, SingularEstimateError, positions_at_fault
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType, triangular_root
from discrim.core.numerics.arrays import EPS, Floats

MAX_ROOT_CHANGE = 1e-12
"""Change of a root, relative to the lengths of its columns, at convergence."""

MAX_STEPS = 5000
"""Maximum number of steps; a search that has not converged then is treated as divergent."""


@dataclass(frozen=True, slots=True)
class SeparableCovariance(CovarianceModel):
    """Covariance of the entries of a matrix, separable into rows and columns.

    Attributes
    ----------
    rows, columns : int
        Numbers of rows and columns of the matrix.
    """

    rows: int = 1
    columns: int = 1

    name = "separable"
    traits = CovarianceTraits(is_regular=True, is_maximum_likelihood=True)

    def bind_classes(self, levels: Sequence[Any], n_columns: int) -> SeparableCovariance:
        """Return the model unchanged; raise CoreDataError if `n_columns` is not the size of the matrix."""
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
    def required_moments(cls, full: ScatterType, *, thin: bool = False) -> ScatterType:
        """Return `full`; `thin` has no effect, because the estimate requires full second moments."""
        return full

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances by maximum likelihood, pooled or by class.

        The scatters are divided by the divisors (1,) or (K,). The moments of the result have limited scales.
        Raises SingularEstimateError if the likelihood has no maximum or the search does not converge.
        """
        moments = limit_scales(moments)
        covariances = []
        for k, divisor in class_divisor_pairs(divisors):
            u, v = separable_roots(moments, (self.rows, self.columns), k)
            covariances.append(Covariance.from_root(np.kron(u, v) / moments.common_unit / np.sqrt(divisor)))
        return CovarianceEstimates(self, moments, tuple(covariances))

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of parameters of U and V, which share a scale, over all covariances."""
        n_free = self.rows * (self.rows + 1) // 2 + self.columns * (self.columns + 1) // 2 - 1
        return n_covariances * n_free


def separable_roots(
    moments: ClassMoments, shape: tuple[int, int], k: int | None = None
) -> tuple[Floats, Floats]:
    """Estimate roots of the factors U and V of the separable covariance by maximum likelihood.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    shape : (int, int)
        Numbers of rows r and columns c of the matrix, whose elements, row by row, are the columns of the
        data.
    k : int, optional
        Position of a class; by default the pooled scatter.

    Returns
    -------
    u : (r, r) float
    v : (c, c) float
        Upper triangular roots of U and V; U has trace r. Their Kronecker product is a root of an estimate of
        the scatter, in units of the `common_unit` of the moments.

    Raises
    ------
    SingularEstimateError
        The likelihood does not have a maximum, or the search did not converge in `MAX_STEPS` steps.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((40, 4))
    >>> m = ClassMoments.from_block(x, np.zeros(40, dtype=np.intp), n_classes=1)
    >>> u, v = separable_roots(m, (4, 1))
    >>> np.allclose(np.kron(u, v).T @ np.kron(u, v), m.scatters[0])
    True
    """
    r, c = shape
    group = single_scatter_moments(moments, k)
    df = int((group.rows - (group.rows > 0)).sum())
    singular = SingularEstimateError(
        "no_separable_covariance", class_positions=positions_at_fault(k), n_rows=r, n_columns=c, df=df
    )
    if moments.n_columns != r * c or df * c < r or df * r < c:
        raise singular
    matrices = _rows_of_scatter(group).reshape(-1, r, c)
    transposed = matrices.transpose(0, 2, 1)
    u = np.eye(r)
    v = np.eye(c)
    previous_u = np.zeros((r, r))
    for _ in range(MAX_STEPS):
        u = _whitened_triangle(matrices, v)
        if _has_zero_on_diagonal(u, len(matrices) * c):
            raise singular
        # Normalize U to trace r; V contains the scale.
        u /= np.sqrt((u**2).sum() / r)
        v = _whitened_triangle(transposed, u) / np.sqrt(r)
        if _has_zero_on_diagonal(v, len(matrices) * r):
            raise singular
        if (np.abs(u - previous_u) <= MAX_ROOT_CHANGE * np.sqrt((u**2).sum(axis=0))).all():
            return u, v
        previous_u = u
    raise singular


def _rows_of_scatter(group: ClassMoments) -> Floats:
    """Return rows (m, p) whose cross-products are the scatter, in the units of the data times a constant."""
    unit = group.common_unit
    if group.roots is not None:
        return np.asarray(group.roots[0] * unit)
    eigenvalues, axes = np.linalg.eigh(group.scatters[0] * unit * unit[:, None])
    return np.asarray(np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * axes.T)


def _whitened_triangle(matrices: Floats, root: Floats) -> Floats:
    """Return the triangular root R, R'R = sum_i B_i B_i', of whitened matrices B_i.

    Parameters
    ----------
    matrices : (m, a, b) float
        Matrices before whitening.
    root : (b, b) float
        Upper triangular root of the covariance by which the rows of the matrices are whitened.

    Returns
    -------
    (a, a) float
        Upper triangular, with a nonnegative diagonal.
    """
    m, a, b = matrices.shape
    rows = np.ascontiguousarray(matrices).reshape(m * a, b)
    whitened = scipy.linalg.blas.dtrsm(1.0, root, rows, side=1).reshape(m, a, b)
    triangle = triangular_root(np.ascontiguousarray(whitened.transpose(0, 2, 1)).reshape(m * b, a))
    return triangle * np.where(np.diagonal(triangle) < 0, -1.0, 1.0)[:, None]


def _has_zero_on_diagonal(root: Floats, n_rows: int) -> bool:
    """Return whether a diagonal element of a triangular root of `n_rows` rows is zero up to rounding."""
    norms = np.sqrt((root**2).sum(axis=0))
    return not (np.diagonal(root) > EPS * n_rows * norms).all()
