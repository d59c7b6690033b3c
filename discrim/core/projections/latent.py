"""Components of columns and responses: directions in which the columns covary with the responses.

*Components* of columns A and indicators B. Each is the direction w of length one in which the columns of A
have the largest sum of squared covariances with those of B: the first left singular vector of A'B. Then A is
replaced by what its scores t = A w do not explain of it, A - t p' with p = A't / t't, and the next direction
is found (*NIPALS*; Wold, Sjoestroem & Eriksson, 2001, Chemometrics and Intelligent Laboratory Systems 58,
109-130). That B is deflated too changes nothing. The scores are A R with the *rotations* R = W (P'W)^-1, and
B is fitted as A R Q' with q = B't / t't.

*SIMPLS* (de Jong, 1993, Chemometrics and Intelligent Laboratory Systems 18, 251-263) looks for directions of
A itself, and takes the loadings that were found out of A'B. The two agree in the first component, and
wherever B has rank one, as the indicators of two classes have.

*Orthogonal components* (Trygg & Wold, 2002, Journal of Chemometrics 16, 119-128; of several responses the
part of O2PLS for the columns, Trygg, 2002, Journal of Chemometrics 16, 283-293). The columns of W are all
left singular vectors of A'B, so that every direction that is at right angles to them has scores without
covariance with B. Of these the first left singular vector of (I - W W') A'A W is the direction w_o whose
scores t_o = A w_o vary most with the predictive ones A W; A is replaced by A - t_o p_o', which leaves A'B
as it was, and the next is found. The predictive components are those of B and of what is left of A, within
the span of W. Of one response, predictive and orthogonal scores together span what those of as many
components of partial least squares span, so that the response is fitted as these fit it (Verron, Sabatier &
Joffre, 2004, Journal of Chemometrics 18, 62-68).

*Sparse components* (Le Cao, Boitard & Besse, 2011, BMC Bioinformatics 12, 253). The singular vectors u and
v of A'B are found by turns, v in proportion to B'A u, and u in proportion to A'B v, of which all but the
largest entries in absolute value are set to zero; the largest of those is taken off the others. What
follows is that of NIPALS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discrim.core.covariance.covariance import EPS
from discrim.core.covariance.principal import positive_signs
from discrim.core.moments.moments import column_squares
from discrim.core.numerics.arrays import Floats, svd

Algorithm = Literal["nipals", "simpls", "engine"]
"""What has found the components; an engine is not of ours."""


@dataclass(frozen=True, slots=True, eq=False)
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
    orthogonal : int
        How many of the components, the last ones, are orthogonal to the responses.
    """

    weights: Floats
    loadings: Floats
    rotations: Floats
    y_loadings: Floats
    squares: Floats
    x_total: float
    y_total: float
    orthogonal: int = 0

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.squares)

    def first(self, count: int) -> Latent:
        """The first few components, which do not depend on those after them."""
        weights = self.weights[:, :count]
        loadings = self.loadings[:, :count]
        rotations = self.rotations[:, :count]
        y_loadings = self.y_loadings[:, :count]
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

    def importances(self) -> tuple[Floats, Floats]:
        """Importance of each column (p,) for the predictive components, and for the orthogonal ones.

        That is VIP4 of Galindo-Prieto, Eriksson & Trygg (2014), Journal of Chemometrics 28, 623-632: the
        squares of loadings of length one, weighed by the shares of the squares of the columns, and of the
        responses, that each component has among all; the mean of the squares over the columns is one.
        """
        x, y = self.explained()
        weight = x / x.sum() + y / y.sum()
        squares = self.loadings**2 / column_squares(self.loadings) * weight
        own = self.count - self.orthogonal
        parts = (squares[:, :own].sum(axis=1), squares[:, own:].sum(axis=1))
        first, second = (np.sqrt(len(each) * each / each.sum()) for each in parts)
        return first, second


def latent(a: Floats, b: Floats, most: int, algorithm: Algorithm = "nipals") -> Latent:
    """Components of centred columns a (r, p) and responses b (r, q), so many at most.

    Examples
    --------
    >>> a = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> found = latent(a, np.array([[1.0], [0.0], [-1.0]]), 2)
    >>> found.weights.round(4).tolist(), found.squares.round(4).tolist()
    ([[0.7071, 0.7071], [0.7071, -0.7071]], [7.0, 1.7143])
    """
    return latent_of(a, b, *_components_of(a, b, min(most, *a.shape), algorithm))


def latent_of(a: Floats, b: Floats, weights: Floats, loadings: Floats, rotations: Floats) -> Latent:
    """The components (p, c) that another program has found, with what they explain of these rows."""
    t = a @ rotations
    squares = column_squares(t)
    return Latent(
        weights, loadings, rotations, b.T @ t / squares, squares, float((a**2).sum()), float((b**2).sum())
    )


def _rounding(a: Floats, b: Floats) -> float:
    """The length of A'B up to which it is what rounding leaves of nothing."""
    return float(10 * max(a.shape) * EPS * np.linalg.norm(a) * np.linalg.norm(b))


def _direction(product: Floats, least: float) -> Floats | None:
    """The first left singular vector (p,) of A'B (p, q); None where it is rounding."""
    _, lengths, right = svd(product, full_matrices=False)
    if not lengths[0] > least:
        return None
    w = product @ right[0]
    w /= np.linalg.norm(w)
    return np.asarray(w * positive_signs(w[:, None])[0])


def _components_of(a: Floats, b: Floats, most: int, algorithm: Algorithm) -> tuple[Floats, Floats, Floats]:
    """Weights, loadings and rotations (p, c); the weights of SIMPLS are the rotations.

    What a component explains is taken out of the columns by NIPALS, and of the product A'B by SIMPLS.
    """
    least = _rounding(a, b)
    by_columns = algorithm == "nipals"
    columns = a.copy() if by_columns else a
    weights, loadings, basis = (np.zeros((a.shape[1], 0)) for _ in range(3))
    for number in range(most):
        if by_columns or not number:
            product = columns.T @ b
        w = _direction(product, least)
        if w is None:
            break
        t, p = _score_and_loading(columns, w)
        if by_columns:
            columns -= np.outer(t, p)
        else:
            axis = p.copy()
            for _ in range(2):
                axis -= basis @ (basis.T @ axis)
            axis /= np.linalg.norm(axis)
            basis = np.column_stack([basis, axis])
            product -= np.outer(axis, axis @ product)
        weights = np.column_stack([weights, w])
        loadings = np.column_stack([loadings, p])
    if not by_columns:
        return weights, loadings, weights
    return weights, loadings, _rotations(weights, loadings)


def _rotations(weights: Floats, loadings: Floats) -> Floats:
    """What the columns are multiplied by for scores, W (P'W)^-1."""
    return np.asarray(np.linalg.solve((loadings.T @ weights).T, weights.T).T, dtype=np.float64)


def orthogonal_latents(a: Floats, b: Floats, most: int) -> list[Latent]:
    """Predictive components of a (r, p) and b (r, q), with no orthogonal one, one and so on up to `most`.

    The predictive ones, as many as A'B has ranks, stand before the orthogonal ones. Of these there are fewer
    where no scores are left that vary with the predictive ones.

    Examples
    --------
    >>> a = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> _, found = orthogonal_latents(a, np.array([[1.0], [0.0], [-1.0]]), 3)
    >>> found.weights.round(4).tolist(), (found.y_loadings @ found.rotations.T)[0, 0].round(4)
    ([[0.7071, 0.7071], [0.7071, -0.7071]], np.float64(1.0))
    """
    left, lengths, _ = svd(a.T @ b, full_matrices=False)
    w = left[:, lengths > _rounding(a, b)]
    weights, loadings = (np.zeros((a.shape[1], 0)) for _ in range(2))
    columns = a.copy()
    found = [_parted(a, b, columns, w, weights, loadings)]
    for _ in range(most if w.shape[1] else 0):
        t = columns @ w
        shared = columns.T @ t
        for _ in range(2):
            shared -= w @ (w.T @ shared)
        away = _direction(shared, _rounding(columns, t))
        if away is None:
            break
        s, p = _score_and_loading(columns, away)
        columns -= np.outer(s, p)
        weights = np.column_stack([weights, away])
        loadings = np.column_stack([loadings, p])
        found.append(_parted(a, b, columns, w, weights, loadings))
    return found


def _score_and_loading(columns: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The score (r,) of a weight (p,), and the slopes (p,) of the columns on it."""
    t = columns @ w
    return t, columns.T @ t / (t @ t)


def _parted(a: Floats, b: Floats, columns: Floats, w: Floats, weights: Floats, loadings: Floats) -> Latent:
    """Predictive components within the span of w (p, k), of the columns that orthogonal ones leave of a."""
    within, _, turned = _components_of(columns @ w, b, w.shape[1], "nipals")
    own = w @ within
    rotations = w @ turned
    signs = positive_signs(own)
    own = own * signs
    rotations = rotations * signs
    t = columns @ rotations
    slopes = columns.T @ t / column_squares(t)
    away = _rotations(weights, loadings)
    rotations = rotations - away @ (loadings.T @ rotations)
    parts = ((own, weights), (slopes, loadings), (rotations, away))
    both = latent_of(a, b, *(np.concatenate(pair, axis=1) for pair in parts))
    # What stands beside zero is rounding.
    both.y_loadings[:, len(signs) :] = 0.0
    return replace(both, orthogonal=weights.shape[1])


def sparse_latent(a: Floats, b: Floats, nonzero: Sequence[int]) -> Latent:
    """Components of centred columns a (r, p) and responses b (r, q), each of so many columns.

    Of equal entries at the end of those that are kept all are. There are fewer components where nothing is
    left.

    Examples
    --------
    >>> a = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, -2.0]])
    >>> sparse_latent(a, np.array([[1.0], [0.0], [-1.0]]), [1]).weights.tolist()
    [[0.0], [1.0]]
    """
    least = _rounding(a, b)
    columns = a.copy()
    weights, loadings = (np.zeros((a.shape[1], 0)) for _ in range(2))
    for count in nonzero:
        w = _sparse_direction(columns.T @ b, count, least)
        if w is None:
            break
        t, p = _score_and_loading(columns, w)
        columns -= np.outer(t, p)
        weights = np.column_stack([weights, w])
        loadings = np.column_stack([loadings, p])
    return latent_of(a, b, weights, loadings, _rotations(weights, loadings))


TURNS = 10**4
"""Most turns in which a sparse direction is sought."""


def _sparse_direction(product: Floats, count: int, least: float) -> Floats | None:
    """The direction (p,) of so many entries by which A'B (p, q) is large; None where it is rounding.

    It ends where no entry moves by more than 1e-13, or else after so many turns.
    """
    _, lengths, right = svd(product, full_matrices=False)
    if not lengths[0] > least:
        return None
    v = right[0]
    w = np.zeros(len(product))
    for _ in range(TURNS):
        before = w
        w = _largest(product @ v, count)
        w /= np.linalg.norm(w)
        v = product.T @ w
        v /= np.linalg.norm(v)
        if np.abs(w - before).max() <= 1e-13:
            break
    # Zeros have no sign.
    return np.asarray(w * positive_signs(w[:, None])[0] + 0.0)


EQUAL = 1e-10
"""Share of an entry by which another one that is equal to it may differ by rounding."""


def _largest(values: Floats, count: int) -> Floats:
    """Values (p,) less, in absolute value, the largest of those that are not among the first so many."""
    sizes = np.abs(values)
    if count >= len(values):
        return values
    others = sizes[sizes < (1 - EQUAL) * np.partition(sizes, -count)[-count]]
    return np.asarray(np.sign(values) * np.maximum(sizes - others.max(initial=0.0), 0.0))
