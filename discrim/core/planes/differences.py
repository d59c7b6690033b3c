"""Leads of each row's own class over the others, which separate classes, or a likelihood runs away along."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Differences"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Differences:
    """The differences eta_y - eta_k (K, n) of rows of class y from each other class k, by linear functions.

    Attributes
    ----------
    columns : (p + 1, n) float
        A row of ones over the columns of the rows.
    codes : (n,) int
    n_classes : int
    at : (codes, positions)
        Where a class would differ from itself.
    others : (K, n) bool
        All places but these.
    """

    def __init__(self, columns: Floats, codes: Codes, n_classes: int) -> None:
        self.columns, self.codes, self.n_classes = columns, codes, n_classes
        self.at = codes, np.arange(len(codes))
        self.others = np.ones((n_classes, len(codes)), dtype=bool)
        self.others[self.at] = False

    def gaps(self, coef: Floats) -> Floats:
        """All differences (K, n), zero for the class itself, at coefficients (p + 1, K)."""
        eta = coef.T @ self.columns
        return np.asarray(eta[self.at] - eta)

    def leads(self, coef: Floats) -> Floats:
        """The same, infinite for the class itself."""
        gaps = self.gaps(coef)
        gaps[self.at] = np.inf
        return gaps

    def wide(self, values: Floats) -> Floats:
        """Coefficients (p + 1, K) of those (K - 1)(p + 1) of the classes but the first."""
        p1 = len(self.columns)
        return np.column_stack([np.zeros(p1), values.reshape(self.n_classes - 1, p1).T])
