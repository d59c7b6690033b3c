"""Least squares of one response on standardized columns with an elastic net penalty, by active sets.

Minimized is b'Gb/2 - c'b + penalty |b|_1 + ridge |b|^2/2, G the correlations of the columns over all rows and
c their covariances with the response. Which coefficients are zero is found by active sets (the feature-sign
search of Lee, Battle, Raina & Ng, 2006, Advances in Neural Information Processing Systems 19): given which
are not, and their signs, the minimum is a linear system. A descent by single coordinates ends where its
tolerance does; here the conditions of Karush, Kuhn and Tucker hold to rounding.

Of columns that others determine, the way is that along which the fit stays and the penalty falls, to where
the first coefficient is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

__all__ = ["Correlations", "Sparse", "active_root", "minimum"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

ROUNDS = 10_000
"""Most changes of the active set."""

AT_ONCE = 16
"""Columns that enter at once, beside twice those that are there."""

TOLERANCE = 1e-10
"""Share of the penalty by which a column that is out may violate its condition."""

LEAST = 1e-12
"""Squared residual of a column of length one on others, below which these determine it."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of columns over all rows, as products or as the rows they are of.

    Attributes
    ----------
    matrix : (p, p) float or None
        None where there are fewer rows than columns, so that none is formed.
    root : (m, p) float or None
        R with R'R the correlations, where it is held.
    """

    matrix: Floats | None
    root: Floats | None

    def times(self, at: Codes, values: Floats) -> Floats:
        """The correlations times a vector that is zero but at some places: (p,)."""
        if self.matrix is not None:
            return np.asarray(values @ self.matrix[at])
        return np.asarray((self._rows[:, at] @ values) @ self._rows)

    def among(self, at: Codes) -> Floats:
        """Those of some columns (q, q)."""
        if self.matrix is not None:
            return self.matrix[np.ix_(at, at)]
        some = self._rows[:, at]
        return np.asarray(some.T @ some)

    def length(self, at: Codes, values: Floats) -> float:
        """The mean square of what the columns give with coefficients at some places."""
        if self.matrix is not None:
            return float(values @ self.matrix[np.ix_(at, at)] @ values)
        fitted = self._rows[:, at] @ values
        return float(fitted @ fitted)

    @property
    def _rows(self) -> Floats:
        if self.root is None:
            raise ValueError("Correlations are products, rows or both.")
        return self.root


class Sparse(NamedTuple):
    """Coefficients that are not zero.

    Attributes
    ----------
    at : (q,) int
        Places, in the order in which they came.
    values : (q,) float
    """

    at: Codes
    values: Floats

    def dense(self, p: int) -> Floats:
        """All coefficients (p,)."""
        out = np.zeros(p)
        out[self.at] = self.values
        return out


def active_root(held: Correlations, at: Codes, ridge: float) -> Floats:
    """Upper triangular root (q, q) of the correlations of some columns and a ridge.

    By a QR of the rows where they are held, which keeps the digits that products lose.
    """
    if held.root is None:
        matrix = held.among(at)
        matrix.ravel()[:: len(at) + 1] += ridge
        return np.asarray(np.linalg.cholesky(matrix).T)
    rows = held.root[:, at]
    if ridge:
        rows = np.concatenate([rows, np.sqrt(ridge) * np.eye(len(at))])
    return np.asarray(np.linalg.qr(rows, mode="r"))


def minimum(held: Correlations, c: Floats, penalty: float, ridge: float, start: Sparse) -> Sparse:
    """The minimum, by a search from other coefficients.

    Parameters
    ----------
    held : Correlations
        Of more rows than columns, or with a penalty or ridge above zero.
    c : (p,) float
        Covariances with the response.
    penalty, ridge : float
    start : Sparse
    """
    if not penalty:
        return _dense(held, c, ridge)
    at, values = start
    signs = np.sign(values)
    seen: set[frozenset[int]] = set()
    barred = np.zeros(len(c), dtype=bool)
    entered = at
    for _ in range(ROUNDS):
        at, values, signs = _settled(held, c, penalty, ridge, at, values, signs)
        columns = frozenset(at.tolist())
        # The value falls from set to set: one that comes again is the work of rounding.
        stuck = columns in seen
        seen.add(columns)
        if stuck and len(entered) == 1:
            barred[entered] = True
        slope = c - held.times(at, values)
        excess = np.abs(slope)
        excess[at] = 0.0
        excess[barred] = 0.0
        over = np.flatnonzero(excess > penalty * (1 + TOLERANCE))
        if not len(over):
            break
        most = 2 * len(at) + AT_ONCE
        if len(over) > most:
            over = over[np.argpartition(-excess[over], most)[:most]]
        # Of those that came together each may have been sent away again, though one of them has a part.
        if len(over) > 1 and (stuck or not _factor(held, np.append(at, over), ridge)[1]):
            over = np.array([np.argmax(excess)])
        entered = over
        at = np.append(at, over)
        values, signs = np.append(values, np.zeros(len(over))), np.append(signs, np.sign(slope[over]))
    return Sparse(at, values)


def _dense(held: Correlations, c: Floats, ridge: float) -> Sparse:
    """The minimum without a penalty that leaves columns out."""
    every = np.arange(len(c))
    if held.matrix is None and held.root is not None and ridge:
        # As many unknowns as rows: (R'R + r)^-1 c = (c - R'(RR' + r)^-1 R c) / r.
        rows = held.root
        inner = rows @ rows.T
        inner.ravel()[:: len(inner) + 1] += ridge
        return Sparse(every, (c - rows.T @ np.linalg.solve(inner, rows @ c)) / ridge)
    root = active_root(held, every, ridge)
    return Sparse(every, solve_triangular(root, solve_triangular(root, c, trans=1), check_finite=False))


def _factor(held: Correlations, at: Codes, ridge: float) -> tuple[Floats, bool]:
    """A lower root of the correlations of some columns, and whether none determines another."""
    matrix = held.among(at)
    matrix.ravel()[:: len(at) + 1] += ridge
    root, failed = dpotrf(matrix, lower=1, clean=1)
    return root, not failed and bool((np.diagonal(root) ** 2 > LEAST).all())


def _settled(
    held: Correlations,
    c: Floats,
    penalty: float,
    ridge: float,
    at: Codes,
    values: Floats,
    signs: Floats,
) -> tuple[Codes, Floats, Floats]:
    """The minimum over some coefficients, of which those that would change their sign become zero."""
    while len(at):
        root, regular = _factor(held, at, ridge)
        if regular:
            end = dpotrs(root, c[at] - penalty * signs, lower=1)[0]
            wrong = end * signs <= 0
            if not wrong.any():
                return at, end, signs
            step = end - values
        else:
            step = _null(held, at, ridge, signs)
            wrong = step * signs < 0
        # As far as the first that turns: the value falls all the way.
        reach = np.full(len(at), np.inf)
        reach[wrong] = np.where(values[wrong] == 0, 0.0, np.abs(values[wrong]) / np.abs(step[wrong]))
        first = float(reach.min())
        values = values + first * step
        stays = reach > first * (1 + 1e-12)
        at, values, signs = at[stays], values[stays], signs[stays]
    return at, values, signs


def _null(held: Correlations, at: Codes, ridge: float, signs: Floats) -> Floats:
    """A direction in which the fit of collinear columns stays and the penalty falls."""
    matrix = held.among(at)
    matrix.ravel()[:: len(at) + 1] += ridge
    step = np.linalg.eigh(matrix)[1][:, 0]
    return -step if signs @ step > 0 else step
