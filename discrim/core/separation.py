"""Is there a hyperplane between the classes? One certificate for every linear rule that asks.

Theory (Albert & Anderson, 1984, Biometrika 71, 1-10). Classes are *completely separated* where linear
functions eta_k of the row exist with eta_y > eta_k for each row of class y and each other class k,
*quasi-separated* where they exist with >= and are not all equal; else they *overlap*, and only then does
the multinomial likelihood have a maximum. A linear program decides (Konis, 2007, DPhil thesis, Oxford):
maximize the sum of all differences eta_y - eta_k over coefficients within [-1, 1], none of them negative.
Its optimum is zero exactly where the classes overlap. The margin, the largest t with eta_y - eta_k >= t,
tells complete from quasi-separation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from discrim.errors import NotSupportedError

__all__ = ["Separation", "separation"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SLACK = 1e-7
"""What the program may miss zero by, in columns of unit variance."""


@dataclass(frozen=True, slots=True)
class Separation:
    """The certificate.

    Attributes
    ----------
    kind : {"complete", "quasi", "overlap"}
    coef : (p + 1, K) float
        Linear functions that separate, in the coordinates of the rows given; zeros where classes overlap.
    margin : float
        Smallest difference eta_y - eta_k of any row, zero unless the separation is complete.
    on_plane : (m,) int
        Positions of the rows for which every difference is zero.
    """

    kind: Literal["complete", "quasi", "overlap"]
    coef: Floats
    margin: float
    on_plane: Codes


def separation(columns: Floats, codes: Codes, n_classes: int) -> Separation:
    """Decide between complete separation, quasi-separation and overlap.

    Parameters
    ----------
    columns : (p + 1, n) float
        A row of ones over columns of mean zero and unit variance.
    codes : (n,) int
    n_classes : int

    Raises
    ------
    NotSupportedError
        The linear program ended without an answer.
    """
    differences = _differences(columns, codes, n_classes)
    size = differences.shape[1]
    whole = _solve(-np.asarray(differences.sum(axis=0)).ravel(), differences)
    gaps = differences @ whole
    if gaps.max(initial=0.0) <= SLACK:
        zero = np.zeros((len(columns), n_classes))
        return Separation("overlap", zero, 0.0, np.arange(len(codes)))
    # The same with a margin as one more unknown.
    wide = sparse.hstack([differences, -np.ones((differences.shape[0], 1))], format="csr")
    cost = np.zeros(size + 1)
    cost[-1] = -1.0
    found = _solve(cost, wide, margin=True)
    margin = float(found[-1])
    complete = margin > SLACK
    chosen = found[:-1] if complete else whole
    gaps = (differences @ chosen).reshape(len(codes), n_classes - 1)
    on_plane = np.flatnonzero((gaps <= SLACK).all(axis=1))
    coef = np.zeros((len(columns), n_classes))
    coef[:, 1:] = chosen.reshape(n_classes - 1, len(columns)).T
    return Separation("complete" if complete else "quasi", coef, margin if complete else 0.0, on_plane)


def _differences(columns: Floats, codes: Codes, n_classes: int) -> sparse.csr_matrix:
    """Rows (n (K - 1), (K - 1)(p + 1)) of eta_y - eta_k by the coefficients; class 0 has none."""
    p1, n = columns.shape
    parts = []
    for step in range(1, n_classes):
        other = (codes + step) % n_classes
        line = np.zeros((n, n_classes, p1))
        rows = np.arange(n)
        line[rows, codes] = columns.T
        line[rows, other] -= columns.T
        parts.append(sparse.csr_matrix(line[:, 1:].reshape(n, -1)))
    stacked = sparse.vstack(parts, format="csr")
    # Row by row rather than step by step, so that a row's differences stand together.
    order = np.arange(n * (n_classes - 1)).reshape(n_classes - 1, n).T.ravel()
    return stacked[order]


def _solve(cost: Floats, rows: sparse.csr_matrix, *, margin: bool = False) -> Floats:
    """Minimize cost'b over b in [-1, 1] with rows b >= 0; a margin is one more unknown, without a bound."""
    bounds: list[tuple[float, float | None]] = [(-1.0, 1.0)] * len(cost)
    if margin:
        bounds[-1] = (0.0, None)
    answer = linprog(cost, A_ub=-rows, b_ub=np.zeros(rows.shape[0]), bounds=bounds, method="highs")
    if answer.x is None:
        raise NotSupportedError(f"The linear program of the separation has no answer: {answer.message}")
    return np.asarray(answer.x)
