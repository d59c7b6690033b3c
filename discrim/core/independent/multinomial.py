"""Columns of counts, such as those of words in texts: one multinomial a class over all of them.

Theory. Given their sum, the J counts x_j of a row of class k are multinomial with

    theta_kj = (s_kj + a) / (s_k + a J),   s_kj the sum of column j over the rows of class k, s_k = sum_j
    s_kj,

a being Laplace's correction (McCallum & Nigam, 1998, AAAI workshop on learning for text categorization,
41-48). The multinomial coefficient is the same for every class and left out, of the likelihood too. Given the
sum of those counts that are not missing, these are multinomial with theta_kj over the sum of their thetas:
that is what a row with missing counts is predicted from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.sparse_rows import SparseRows

__all__ = ["CountColumns"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

WRITTEN = 2**21
"""Numbers of sparse rows that are written out at once."""


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Multinomials over the columns of counts.

    Attributes
    ----------
    positions : (J,) int
        Of the columns in the rows.
    sums : (K, J) float
        Of the counts, weighted, by class.
    laplace : float
        What is added to each sum.
    """

    positions: Codes
    sums: Floats
    laplace: float

    takes_stored: ClassVar[bool] = True

    def probabilities(self) -> Floats:
        """Probabilities theta (K, J)."""
        sizes = self.sums.sum(axis=1, keepdims=True) + self.laplace * len(self.positions)
        return np.asarray((self.sums + self.laplace) / sizes)

    def log_densities(self, x: Floats | SparseRows) -> Floats:
        """Log probabilities (K, m) of rows x (m, p), given the sum of the counts that are not missing."""
        if isinstance(x, SparseRows):
            return self._of_sparse(x.columns(self.positions))
        counts, theta = x.T[self.positions], self.probabilities()
        known = ~np.isnan(counts)
        whole = bool(known.all())
        counts = counts if whole else np.where(known, counts, 0.0)
        logs = np.log(np.where(theta > 0, theta, 1.0)) @ counts
        rows = np.flatnonzero(~known.all(axis=0)) if not whole else self.positions[:0]
        logs[:, rows] -= scipy.special.xlogy(counts[:, rows].sum(axis=0), theta @ known[:, rows])
        # A count of zero has probability one whatever its theta, so that 0 times -inf never arises.
        if (theta == 0).any():
            logs[((theta == 0).astype(np.float64) @ counts) > 0] = -np.inf
        return np.asarray(logs)

    def _of_sparse(self, counts: SparseRows) -> Floats:
        """The same of sparse columns of counts, none missing."""
        theta = self.probabilities().T
        logs = np.log(np.where(theta > 0, theta, 1.0))
        found = counts.products(counts.base @ logs, logs)
        if (theta == 0).any():
            never = (theta == 0).astype(np.float64)
            found[counts.products(counts.base @ never, never) > 0] = -np.inf
        return np.asarray(found.T)

    def left_out(self, x: Floats | SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        """The same of complete rows of the fit, each without itself."""
        if isinstance(x, SparseRows):
            return self._left_out_of_sparse(x, codes, weights)
        logs, counts = self.log_densities(x), x.T[self.positions]
        held = self.sums.T[:, codes]
        left = held - (counts if weights is None else np.minimum(weights, 1.0) * counts)
        left[left <= EPS * held] = 0.0
        sizes = left.sum(axis=0) + self.laplace * len(self.positions)
        theta = np.divide(left + self.laplace, sizes, out=np.zeros_like(left), where=sizes > 0)
        logs[codes, np.arange(len(x))] = scipy.special.xlogy(counts, theta).sum(axis=0)
        return logs

    def _left_out_of_sparse(self, x: SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        logs, counts = self.log_densities(x), x.columns(self.positions)
        if counts.base.any():
            return self._left_out_written(x, codes, weights)
        row, column, values = counts.row_of_stored(), counts.steps.indices, counts.steps.data
        out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        held = self.sums[codes[row], column]
        left = held - out[row] * values
        left[left <= EPS * held] = 0.0
        # What a row does not hold is left as it is.
        whole = self.sums.sum(axis=1)[codes]
        sizes = whole + np.bincount(row, left - held, len(x))
        sizes[sizes <= EPS * whole] = 0.0
        sizes += self.laplace * len(self.positions)
        sizes = sizes[row]
        theta = np.divide(left + self.laplace, sizes, out=np.zeros_like(left), where=sizes > 0)
        logs[codes, np.arange(len(x))] = np.bincount(row, scipy.special.xlogy(values, theta), len(x))
        return logs

    def _left_out_written(self, x: SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        """Columns that are seldom zero are written out, a few rows at a time."""
        step = max(WRITTEN // max(x.shape[1], 1), 1)
        parts = [slice(start, start + step) for start in range(0, len(x), step)]
        held = (None if weights is None else weights[part] for part in parts)
        every = zip(parts, held, strict=True)
        return np.concatenate([self.left_out(x.rows(p).dense(), codes[p], w) for p, w in every], axis=1)

    def llf(self) -> float:
        """Log-likelihood of the columns, given class and sum, at the probabilities of the fit."""
        return float(scipy.special.xlogy(self.sums, self.probabilities()).sum())

    def df_model(self) -> int:
        """Free probabilities."""
        return int(self.sums.shape[0] * (self.sums.shape[1] - 1))
