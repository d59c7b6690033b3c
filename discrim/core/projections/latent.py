"""Components of partial least squares of one table on another, by NIPALS and by SIMPLS.

Theory. Each component is the direction w of length one in which the columns of A have the largest sum of
squared covariances with those of B: the first left singular vector of A'B. Then A is replaced by what its
scores t = A w do not explain of it, A - t p' with p = A't / t't, and the next direction is found
(*NIPALS*; Wold, Sjoestroem & Eriksson, 2001, Chemometrics and Intelligent Laboratory Systems 58, 109-130).
That B is deflated too changes nothing. The scores are A R with the *rotations* R = W (P'W)^-1, and B is
fitted as A R Q' with q = B't / t't.

*SIMPLS* (de Jong, 1993, Chemometrics and Intelligent Laboratory Systems 18, 251-263) looks for directions of
A itself, and takes the loadings that were found out of A'B. The two agree in the first component, and
wherever B has rank one, as the indicators of two classes have.

Scores, loadings and fitted values depend on the rows by A'A and A'B alone: any A and B with these products
give the same, be they all rows or a root of a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discrim.core.moments.moments import column_squares
from discrim.core.numerics.arrays import Floats, svd
from discrim.core.scatter.covariance import EPS
from discrim.core.scatter.principal import positive_signs

Algorithm = Literal["nipals", "simpls", "engine"]
"""What has found the components; an engine is not of ours."""


@dataclass(frozen=True, slots=True)
class Latent:
    """Components, in the order in which they were found.

    Attributes
    ----------
    weights : (p, a) float
        Of length one; of NIPALS, of the columns that are left by the components before. Signs: in each
        component the largest weight in absolute value is positive.
    loadings : (p, a) float
        Slopes of the columns on the scores.
    rotations : (p, a) float
        The scores are the columns times these.
    y_loadings : (q, a) float
        Slopes of the responses on the scores.
    squares : (a,) float
        Sums of squares of the scores, which are orthogonal.
    x_total, y_total : float
        Sums of squares of all columns, and of all responses.
    """

    weights: Floats
    loadings: Floats
    rotations: Floats
    y_loadings: Floats
    squares: Floats
    x_total: float
    y_total: float

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.squares)

    def first(self, count: int) -> Latent:
        """The first few components, which do not depend on those after them."""
        weights, loadings = self.weights[:, :count], self.loadings[:, :count]
        rotations, y_loadings = self.rotations[:, :count], self.y_loadings[:, :count]
        squares = self.squares[:count]
        return Latent(weights, loadings, rotations, y_loadings, squares, self.x_total, self.y_total)

    def explained(self) -> tuple[Floats, Floats]:
        """Share (a,) of the columns' squares, and of the responses', that each component explains."""
        x, y = (self.squares * column_squares(each) for each in (self.loadings, self.y_loadings))
        return x / self.x_total, y / self.y_total

    def importance(self) -> Floats:
        """Importance of each column (p, a) in the projection by the first components, Wold's VIP.

        sqrt(p sum_a s_a w_ja^2 / sum_a s_a), s_a the squares of the responses that component a explains:
        the mean of the squares over the columns is one.
        """
        explained = self.squares * column_squares(self.y_loadings)
        parts = (self.weights**2 * explained).cumsum(axis=1) / explained.cumsum()
        return np.asarray(np.sqrt(len(parts) * parts))


def latent(a: Floats, b: Floats, most: int, algorithm: Algorithm = "nipals") -> Latent:
    """Components of centred columns a (r, p) and responses b (r, q), so many at most.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> found = latent(a, np.array([[1.0], [0.0], [-1.0]]), 2)
    >>> found.weights.round(4).tolist(), found.squares.round(4).tolist()
    ([[0.7071, 0.7071], [0.7071, -0.7071]], [7.0, 1.7143])
    """
    return latent_of(a, b, *(_nipals if algorithm == "nipals" else _simpls)(a, b, min(most, *a.shape)))


def latent_of(a: Floats, b: Floats, weights: Floats, loadings: Floats, rotations: Floats) -> Latent:
    """The components (p, c) that another program has found, with what they explain of these rows."""
    t = a @ rotations
    squares = column_squares(t)
    return Latent(
        weights, loadings, rotations, b.T @ t / squares, squares, float((a**2).sum()), float((b**2).sum())
    )


def _direction(product: Floats, least: float) -> Floats | None:
    """The first left singular vector (p,) of A'B (p, q); None where it is rounding."""
    _, lengths, right = svd(product, full_matrices=False)
    if not lengths[0] > least:
        return None
    w = product @ right[0]
    w /= np.linalg.norm(w)
    return np.asarray(w * positive_signs(w[:, None])[0])


def _least(a: Floats, b: Floats) -> float:
    """The length of A'B up to which it is what rounding leaves of nothing."""
    return float(10 * max(a.shape) * EPS * np.linalg.norm(a) * np.linalg.norm(b))


def _stacked(columns: list[Floats], rows: int) -> Floats:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0))


def _nipals(a: Floats, b: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Weights, loadings and rotations (p, c)."""
    least, deflated = _least(a, b), a.copy()
    weights: list[Floats] = []
    loadings: list[Floats] = []
    for _ in range(most):
        w = _direction(deflated.T @ b, least)
        if w is None:
            break
        t = deflated @ w
        p = deflated.T @ t / (t @ t)
        deflated -= np.outer(t, p)
        weights.append(w)
        loadings.append(p)
    w, p = (_stacked(each, a.shape[1]) for each in (weights, loadings))
    return w, p, np.asarray(np.linalg.solve((p.T @ w).T, w.T).T, dtype=np.float64)


def _simpls(a: Floats, b: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Weights, loadings and rotations (p, c); the weights are the rotations."""
    least, product = _least(a, b), a.T @ b
    basis = np.zeros((a.shape[1], 0))
    weights: list[Floats] = []
    loadings: list[Floats] = []
    for _ in range(most):
        w = _direction(product, least)
        if w is None:
            break
        t = a @ w
        p = a.T @ t / (t @ t)
        axis = p.copy()
        for _ in range(2):
            axis -= basis @ (basis.T @ axis)
        axis /= np.linalg.norm(axis)
        basis = np.column_stack([basis, axis])
        product -= np.outer(axis, axis @ product)
        weights.append(w)
        loadings.append(p)
    w, p = (_stacked(each, a.shape[1]) for each in (weights, loadings))
    return w, p, w
