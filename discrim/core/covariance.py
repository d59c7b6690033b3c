"""Covariances in factored form, from class moments.

A covariance S is held as an upper triangular root R with R'R = S and its inverse
T = R^-1, so that T'(z - m) has unit covariance: distances, determinants and
discriminants are sums of squares of such whitened numbers, and S itself is never
inverted. A diagonal covariance holds the two as vectors.

A column is *dependent* where its residual on the columns before it, within
classes, is no larger than the rounding of the numbers the columns are made of:
such a residual says nothing of the data, and no rule can be built on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack

from discrim.core.moments import ClassMoments

__all__ = [
    "Covariance",
    "Dependency",
    "constant_columns",
    "dependencies",
    "pooled",
    "separate",
    "total_squares",
]

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Covariance:
    """One covariance matrix, as its triangular root.

    Attributes
    ----------
    root : (p, p) or (p,) float
        Upper triangular R with R'R the covariance; for a diagonal one, the standard deviations.
    inverse : (p, p) or (p,) float
        R^-1.
    """

    root: Floats
    inverse: Floats

    @staticmethod
    def from_root(root: Floats) -> Covariance:
        """From R (p, p), upper triangular with no zero on its diagonal, or (p,) standard deviations."""
        if root.ndim == 1:
            return Covariance(root, 1.0 / root)
        inverse, _ = lapack.dtrtri(root)
        return Covariance(root, np.triu(inverse))

    @property
    def is_diagonal(self) -> bool:
        """Whether only variances are held."""
        return self.root.ndim == 1

    @property
    def logdet(self) -> float:
        """Log-determinant of the covariance."""
        diagonal = self.root if self.is_diagonal else np.diagonal(self.root)
        return float(2.0 * np.log(np.abs(diagonal)).sum())

    @property
    def sd(self) -> Floats:
        """Standard deviations (p,)."""
        return np.asarray(self.root if self.is_diagonal else np.sqrt((self.root**2).sum(axis=0)))

    def matrix(self) -> Floats:
        """The covariance itself, (p, p)."""
        return np.diag(self.root**2) if self.is_diagonal else np.asarray(self.root.T @ self.root)

    def times(self, columns: Floats) -> Floats:
        """The covariance times columns (p, m)."""
        if self.is_diagonal:
            return columns * (self.root**2).reshape(-1, *[1] * (columns.ndim - 1))
        return np.asarray(self.root.T @ (self.root @ columns))

    def whiten(self, columns: Floats) -> Floats:
        """T' columns, for columns (p, m): unit covariance where the columns have this one."""
        if self.is_diagonal:
            return columns * self.inverse.reshape(-1, *[1] * (columns.ndim - 1))
        return np.asarray(self.inverse.T @ columns)

    def unwhiten(self, columns: Floats) -> Floats:
        """T columns: coefficients of the data from coefficients (p, m) of its whitened form."""
        if self.is_diagonal:
            return columns * self.inverse.reshape(-1, *[1] * (columns.ndim - 1))
        return np.asarray(self.inverse @ columns)

    def precision(self) -> Floats:
        """The inverse covariance, (p, p)."""
        return np.diag(self.inverse**2) if self.is_diagonal else np.asarray(self.inverse @ self.inverse.T)

    def divided_by(self, factor: float) -> Covariance:
        """The covariance over a positive factor."""
        unit = np.sqrt(factor)
        return Covariance(self.root / unit, self.inverse * unit)


def pooled(moments: ClassMoments, divisor: float, *, diagonal: bool = False) -> Covariance:
    """Covariance within classes, one for all of them.

    Parameters
    ----------
    moments : ClassMoments
        Of full rank, see `dependencies`.
    divisor : float
        N - K or N.
    diagonal : bool
        Hold the variances only.
    """
    whole = moments.pooled()
    if diagonal:
        return Covariance.from_root(np.sqrt(_squares(whole).sum(axis=0) / divisor))
    return _covariance(whole, 0, divisor)


def separate(moments: ClassMoments, divisors: Floats, *, diagonal: bool = False) -> tuple[Covariance, ...]:
    """Covariance of each class, with a divisor (K,) for each."""
    if diagonal:
        return tuple(Covariance.from_root(sd) for sd in np.sqrt(_squares(moments) / divisors[:, None]))
    return tuple(_covariance(moments, k, float(d)) for k, d in enumerate(divisors))


def _squares(moments: ClassMoments) -> Floats:
    return moments.squares


def _covariance(moments: ClassMoments, k: int, divisor: float) -> Covariance:
    if moments.roots is not None:
        return Covariance.from_root(moments.roots[k] / np.sqrt(divisor))
    sd = np.sqrt(np.diagonal(moments.scatters[k]))
    root = cholesky(moments.scatters[k] / sd / sd[:, None], check_finite=False)
    return Covariance.from_root(root * (sd / np.sqrt(divisor)))


@dataclass(frozen=True, slots=True)
class Dependency:
    """A column that the columns before it determine within classes.

    Attributes
    ----------
    column : int
        Position of the column.
    on : tuple of int
        Positions of the columns it is a combination of; none where it is constant within classes.
    """

    column: int
    on: tuple[int, ...]


def total_squares(moments: ClassMoments) -> Floats:
    """Sums of squares (p,) about the means of all rows, in the units of z."""
    means = moments.means
    gaps = means - (moments.counts / moments.total) @ means
    return np.asarray(moments.squares.sum(axis=0) + moments.counts @ gaps**2)


def constant_columns(moments: ClassMoments) -> list[int]:
    """Columns that have one value in all rows, up to rounding."""
    rounding = EPS * np.sqrt(moments.total) * moments.magnitude
    return np.flatnonzero(np.sqrt(total_squares(moments)) <= rounding).tolist()


def dependencies(moments: ClassMoments, k: int | None = None, *, diagonal: bool = False) -> list[Dependency]:
    """Columns of the scatter of class k, or of the pooled one, that carry nothing beyond those before them.

    With roots the columns are orthogonalised in their order, and a residual counts as nothing
    up to the rounding of the columns it is computed from, eps sqrt(N) sum_i abs(beta_i) size_i, and that of
    their QR, which for N rows is about eps sqrt(N) of a column's length.
    Moments without roots were found well-conditioned, so that only constant columns are looked for.
    """
    held = moments.pooled() if k is None else moments.classes(np.array([k]))
    rounding = EPS * np.sqrt(max(held.counts.sum(), 1.0)) * held.magnitude
    lengths = np.sqrt(_squares(held).sum(axis=0))
    constant = [Dependency(j, ()) for j in np.flatnonzero(lengths <= rounding).tolist()]
    if held.roots is None or diagonal:
        return constant
    barren = {dependency.column for dependency in constant}
    root = held.roots[0] / np.where(lengths > 0, lengths, 1.0)
    rounding = rounding / np.where(lengths > 0, lengths, 1.0)
    p = held.n_columns
    turning = (4 * p + float(np.sqrt(held.rows.sum()))) * EPS
    basis = np.zeros((p, 0))
    kept: list[int] = []
    found = list(constant)
    for j in range(p):
        if j in barren:
            continue
        residual = root[:, j]
        for _ in range(2):
            residual = residual - basis @ (basis.T @ residual)
        length = float(np.linalg.norm(residual))
        slopes = np.linalg.lstsq(root[:, kept], root[:, j], rcond=None)[0] if length < 1e-3 else np.zeros(0)
        slack = rounding[j] + np.abs(slopes) @ rounding[kept[: len(slopes)]] + turning
        if length <= slack:
            on = [kept[i] for i in np.flatnonzero(np.abs(slopes) > 1e-6)]
            found.append(Dependency(j, tuple(on)))
        else:
            basis = np.column_stack([basis, residual / length])
            kept.append(j)
    return sorted(found, key=lambda dependency: dependency.column)
