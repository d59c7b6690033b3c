"""Mean negative log-likelihood of classes given standardized columns, its gradient and its curvature.

Of two classes there is one function of a row, the log odds of the second against the first. Of more there is
one for each class, of which those of a row may all be moved by one number (the symmetric parametrization).

Notation: z (p + 1, n) are the columns of the rows, one after the other and first a column of ones; beta
(C, p + 1) the coefficients; eta = beta z (C, n) the functions. With shares s_i of the weights, which sum to
one, the loss is L = -sum_i s_i log P(y_i), its gradient (C, p + 1) that of r z', r = s (P - Y), and its
curvature between coefficient j of function c and coefficient l of function d that of
sum_i s_i (P_c [c = d] - P_c P_d)_i z_ji z_li.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Likelihood", "Place"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Place(NamedTuple):
    """The likelihood at some coefficients.

    Attributes
    ----------
    loss : float
    residual : (C, n) float
        s (P - Y).
    shares : (C, n) float
        P.
    """

    loss: float
    residual: Floats
    shares: Floats


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Rows whose classes are to be told by columns.

    Attributes
    ----------
    z : (p + 1, n) float
    codes : (n,) int
    weights : (n,) float
        They sum to one.
    n_classes : int
    """

    z: Floats
    codes: Codes
    weights: Floats
    n_classes: int

    @property
    def functions(self) -> int:
        """C: one of two classes, else as many as classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def class_shares(self) -> Floats:
        """Shares (K,) of the classes."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def null(self) -> Floats:
        """Coefficients (C, p + 1) of the class proportions alone."""
        beta = np.zeros((self.functions, len(self.z)))
        logs = np.log(self.class_shares)
        beta[:, 0] = logs[1] - logs[0] if self.functions == 1 else logs - logs.mean()
        return beta

    def eta(self, beta: Floats) -> Floats:
        """The functions (C, n) at coefficients (C, p + 1), of which few may differ from zero."""
        used = np.flatnonzero(beta.any(axis=0))
        if 2 * len(used) > len(self.z):
            return np.asarray(beta @ self.z)
        return np.asarray(beta[:, used] @ self.z[used])

    def at(self, eta: Floats) -> Place:
        """Loss, residuals and probabilities at functions (C, n)."""
        rows = np.arange(len(self.codes))
        if self.functions == 1:
            odds = eta[0]
            own = np.where(self.codes == 1, odds, -odds)
            loss = float(self.weights @ np.logaddexp(0.0, -own))
            # Of a row that is all but certain the rest is small, and has its digits.
            residual = self.weights * expit(-own) * np.where(self.codes == 1, -1.0, 1.0)
            return Place(loss, residual[None], expit(odds)[None])
        shifted = eta - eta.max(axis=0)
        shares = np.exp(shifted)
        total = shares.sum(axis=0)
        shares /= total
        loss = float(self.weights @ (np.log(total) - shifted[self.codes, rows]))
        residual = shares.copy()
        residual[self.codes, rows] = 0.0
        residual[self.codes, rows] = -residual.sum(axis=0)
        residual *= self.weights
        return Place(loss, residual, shares)

    def gradient(self, residual: Floats, columns: Codes | None = None) -> Floats:
        """Gradient (C, p + 1) of the loss, or of some of its columns."""
        return np.asarray(residual @ (self.z if columns is None else self.z[columns]).T)

    def turned(self, shares: Floats, change: Floats) -> Floats:
        """What the residuals change by, to first order, where the functions change (C, n)."""
        moved = shares * change
        if self.functions == 1:
            return np.asarray(self.weights * (moved * (1 - shares)))
        moved -= shares * moved.sum(axis=0)
        moved *= self.weights
        return moved

    def curvature(self, shares: Floats, rows: Codes, columns: Codes) -> Floats:
        """Second derivatives between some coefficients and others, by their places in beta.ravel().

        Parameters
        ----------
        shares : (C, n) float
            Probabilities.
        rows, columns : (a,), (b,) int
            Of one and the same array half is computed.

        Returns
        -------
        (a, b) float
        """
        p1, alike = len(self.z), rows is columns
        out = np.empty((len(rows), len(columns)))
        own, other = np.divmod(rows, p1), np.divmod(columns, p1)
        columns_of = {d: np.flatnonzero(other[0] == d) for d in np.unique(other[0]).tolist()}
        right = {d: self.z[other[1][theirs]].T for d, theirs in columns_of.items()}
        for c in np.unique(own[0]).tolist():
            mine = np.flatnonzero(own[0] == c)
            left = self.z[own[1][mine]]
            for d, theirs in columns_of.items():
                if alike and d < c:
                    continue
                same = shares[c] * (1 - shares[c]) if c == d else -shares[c] * shares[d]
                block = (left * (self.weights * same)) @ right[d]
                out[np.ix_(mine, theirs)] = block
                if alike and d > c:
                    out[np.ix_(theirs, mine)] = block.T
        return out

    def roots(self, shares: Floats, places: Codes) -> Floats:
        """A (C n, a) with A'A the curvature of some coefficients, by their places in beta.ravel().

        For probabilities P of a row, (diag(sqrt P) - P sqrt P')(.)' = diag(P) - P P'.
        """
        own, columns = np.divmod(places, len(self.z))
        root = np.sqrt(self.weights)
        if self.functions == 1:
            return np.asarray((root * np.sqrt(shares[0] * (1 - shares[0])) * self.z[columns]).T)
        half = np.sqrt(shares)
        parts = []
        for other in range(self.functions):
            factor = -shares[own] * half[other]
            factor[own == other] += half[other]
            parts.append((root * factor * self.z[columns]).T)
        return np.concatenate(parts)
