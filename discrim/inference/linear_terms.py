"""Tests of the terms of a linear model of several responses.

Theory. Rows Y (n, p) have the model Y = XB + U, the rows of U normal with one covariance. A hypothesis on q
combinations of B has the scatter H = Z'Z, Z being the part (q, p) of Y in the q directions of the column
space of X that the hypothesis denies, and E = U'U is what X leaves, on v = N - rank(X) degrees of freedom.
All four statistics are functions of the roots of E^-1 H, the squared singular values of Z E^{-1/2}.

The directions of a term are those of its columns that others do not have. Which others makes its type (the
names are SAS's): I, the terms before it; II, all terms but those that contain it; III, all other terms. Type
III depends on how factors are coded unless their columns sum to zero over the levels. Here they do.

With R the triangle of [X Y] all this happens in as many dimensions as there are columns, and no sum of
squares is a difference of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from discrim.core.covariance.covariance import Dependency

__all__ = ["Hypothesis", "LeastSquares", "TestType", "least_squares", "rank_of", "spans"]

Floats = NDArray[np.float64]
TestType = Literal[1, 2, 3]

SAME = 1e-11
"""Share of a column's length down to which what others leave of it is rounding."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The part of the responses that a hypothesis denies.

    Attributes
    ----------
    part : (q, p) float
        Z, whose Z'Z is the scatter H; q is its degrees of freedom.
    columns : int
        Columns that were asked for; more than q where some are determined by others.
    """

    part: Floats
    columns: int

    @property
    def df(self) -> int:
        """Degrees of freedom."""
        return len(self.part)

    @property
    def scatter(self) -> Floats:
        """H, (p, p)."""
        return np.asarray(self.part.T @ self.part)


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """A linear model of several responses.

    Attributes
    ----------
    x : (r, m) float
        Columns of the triangle that are the model's, the constant first.
    y : (r, p) float
        Those of the responses.
    groups : tuple of tuple of int
        Columns of x that each term has; no term has the constant.
    factors : tuple of frozenset of str
        Factors that each term multiplies.
    error : (p, p) float
        Triangular root of E.
    df : float
        v, the residual degrees of freedom.
    rank : int
        Of x.
    """

    x: Floats
    y: Floats
    groups: tuple[tuple[int, ...], ...]
    factors: tuple[frozenset[str], ...]
    error: Floats
    df: float
    rank: int

    def hypothesis(self, term: int, kind: TestType) -> Hypothesis:
        """That a term is not needed, of type I, II or III."""
        own = self.factors[term]
        others = {
            1: list(range(term)),
            2: [j for j in range(len(self.groups)) if j != term and not own < self.factors[j]],
            3: [j for j in range(len(self.groups)) if j != term],
        }[kind]
        before = [0, *(column for j in others for column in self.groups[j])]
        basis = spans(self.x, [before, self.groups[term]])[1]
        return Hypothesis(basis.T @ self.y, len(self.groups[term]))

    def contrast(self, combinations: Floats, origin: Floats) -> Hypothesis:
        """That combinations (q, m) of the coefficients are zero; x has to have full rank.

        An origin (p,) is added to the responses where the constant is in question.
        """
        # L B = (R^-T L')' Q'Y: the directions are those of R^-T L'.
        m = self.x.shape[1]
        directions = solve_triangular(self.x[:m], combinations.T, trans="T")
        basis = spans(directions, [range(directions.shape[1])])[0]
        y = self.y[:m]
        if combinations[:, 0].any():
            y = y + np.outer(self.x[:m, 0], origin)
        return Hypothesis(basis.T @ y, len(combinations))

    def roots(self, hypothesis: Hypothesis) -> tuple[Floats, Floats]:
        """Roots (s,) of E^-1 H, largest first, and axes (p, s) of unit length in E."""
        unit = np.sqrt((self.error**2).sum(axis=0))
        whitened = solve_triangular(self.error / unit, (hypothesis.part / unit).T, trans="T").T
        _, singular, axes = np.linalg.svd(whitened, full_matrices=False)
        raw = solve_triangular(self.error / unit, axes.T) / unit[:, None]
        return singular**2, raw

    def coefficients(self) -> Floats:
        """B (m, p) of least squares; x has to have full rank."""
        scale = np.sqrt((self.x**2).sum(axis=0))
        m = self.x.shape[1]
        return np.asarray(solve_triangular(self.x[:m] / scale, self.y[:m]) / scale[:, None])

    def dependent(self) -> list[Dependency]:
        """Responses whose residuals are zero, or are determined by those of the responses before them."""
        whole = np.sqrt((self.y[1:] ** 2).sum(axis=0))
        found: list[Dependency] = []
        free: list[int] = []
        for j in range(self.error.shape[1]):
            length = float(np.linalg.norm(self.error[:, j]))
            if length <= SAME * whole[j]:
                found.append(Dependency(j, ()))
                continue
            kept = self.error[:, free] / np.linalg.norm(self.error[:, free], axis=0)
            weights = np.linalg.lstsq(kept, self.error[:, j] / length, rcond=None)[0]
            if np.linalg.norm(self.error[:, j] / length - kept @ weights) <= SAME:
                on = tuple(free[i] for i in np.flatnonzero(np.abs(weights) > 1e-8).tolist())
                found.append(Dependency(j, on))
            else:
                free.append(j)
        return found


def least_squares(
    triangle: Floats,
    total: float,
    n_model: int,
    groups: Sequence[Sequence[int]],
    factors: Sequence[frozenset[str]],
) -> LeastSquares:
    """The linear model whose rows have a triangle.

    Parameters
    ----------
    triangle : (r, m + p) float
        Of the constant, the model's other columns, and the responses.
    total : float
        N, the sum of the weights.
    n_model : int
        m, columns of the model with the constant.
    groups, factors
        As of `LeastSquares`.
    """
    x, y = triangle[:, :n_model], triangle[:, n_model:]
    basis = spans(x, [range(n_model)])[0]
    rank = basis.shape[1]
    if rank == n_model:
        rest = y[n_model:]
    else:
        rest = y - basis @ (basis.T @ y)
        rest -= basis @ (basis.T @ rest)
    p = y.shape[1]
    padded = np.vstack([rest, np.zeros((max(p - len(rest), 0), p))])
    error = qr(padded, mode="r", check_finite=False)[0][:p]
    own = tuple(tuple(each) for each in groups)
    return LeastSquares(x, y, own, tuple(factors), error, total - rank, rank)


def spans(x: Floats, groups: Sequence[Sequence[int] | range]) -> list[Floats]:
    """Orthonormal bases of what each group of columns adds to the span of the groups before it.

    Parameters
    ----------
    x : (r, m) float
    groups : sequence of sequences of int

    Returns
    -------
    list of (r, rank) float

    Examples
    --------
    >>> [basis.shape[1] for basis in spans(np.array([[1.0, 1, 2], [0, 1, 1]]), [[0], [1, 2]])]
    [1, 1]
    """
    known = np.zeros((len(x), 0))
    found = []
    for group in groups:
        own = x[:, list(group)]
        length = np.sqrt((own**2).sum(axis=0))
        own = own / np.where(length > 0, length, 1.0)
        # Twice is enough for what is left to be orthogonal to the last digit.
        for _ in range(2):
            own = own - known @ (known.T @ own)
        if own.shape[1]:
            q, r, _ = qr(own, mode="economic", pivoting=True, check_finite=False)
            basis = q[:, np.abs(np.diagonal(r)) > SAME]
        else:
            basis = own
        known = np.hstack([known, basis])
        found.append(basis)
    return found


def rank_of(x: Floats, group: Sequence[int]) -> int:
    """Rank of some columns."""
    return int(spans(x, [group])[0].shape[1])
