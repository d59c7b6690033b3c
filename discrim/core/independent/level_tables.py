"""Columns of categories: a table P(level | class) for each, with Laplace's correction.

Theory. Of n_k rows of class k, n_kl have level l of a column with L levels. With the correction a,

    P(l | k) = (n_kl + a) / (n_k + a L),

the mean of the posterior under a Dirichlet prior of a pseudo-rows for each level (Agresti, 2013, Categorical
Data Analysis, sec. 1.6). Without a row of weight w of class k and level l, n_kl and n_k fall by w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS

__all__ = ["LevelTables"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LevelTables:
    """Tables of the columns that hold positions of levels.

    Attributes
    ----------
    positions : (q,) int
        Of the columns in the rows.
    counts : tuple of (K, L_j) float
        Rows, or weights, by class and level.
    laplace : float
        What is added to each count.
    """

    positions: Codes
    counts: tuple[Floats, ...]
    laplace: float

    def probabilities(self) -> tuple[Floats, ...]:
        """P(level | class), a (K, L_j) for each column."""
        return tuple(_shares(n, n.sum(axis=1, keepdims=True), n.shape[1], self.laplace) for n in self.counts)

    def log_densities(self, x: Floats) -> Floats:
        """Log probabilities (K, m) of rows x (m, p), summed over the columns that are not missing."""
        total = np.zeros((len(self.counts[0]), len(x)))
        for position, shares in zip(self.positions.tolist(), self.probabilities(), strict=True):
            values, levels = x[:, position], shares.shape[1]
            with np.errstate(divide="ignore"):
                logs = np.column_stack([np.log(shares), np.zeros(len(shares))])
            # A missing value takes the column of zeros: its factor is left out.
            total += logs[:, np.where(np.isnan(values), levels, values).astype(np.intp)]
        return total

    def left_out(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """The same of rows of the fit, each without itself."""
        total, rows = self.log_densities(x), np.arange(len(x))
        out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        own = np.zeros(len(x))
        for position, n in zip(self.positions.tolist(), self.counts, strict=True):
            values = x[:, position]
            there = ~np.isnan(values)
            held, size = n[codes, np.where(there, values, 0).astype(np.intp)], n.sum(axis=1)[codes]
            left = np.where(held - out <= EPS * held, 0.0, held - out)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(_shares(left, size - out, n.shape[1], self.laplace))
            own += np.where(there, logs, 0.0)
        total[codes, rows] = own
        return total

    def llf(self) -> float:
        """Log-likelihood of the columns, given the class, at the probabilities of the fit."""
        pairs = zip(self.counts, self.probabilities(), strict=True)
        return float(sum(scipy.special.xlogy(n, p).sum() for n, p in pairs))

    def df_model(self) -> int:
        """Free probabilities."""
        return sum(n.shape[0] * (n.shape[1] - 1) for n in self.counts)


def _shares(counts: Floats, sizes: Floats, levels: int, laplace: float) -> Floats:
    return np.asarray((counts + laplace) / (sizes + laplace * levels))
