"""Components of columns and responses: directions in which the columns covary with the responses.

`discrim.core.projections.pls` fits its models with these functions. They work on centred arrays and do not
depend on class moments.

*NIPALS components* of columns A and responses B (Wold, Sjoestroem & Eriksson, 2001, Chemometrics and
Intelligent Laboratory Systems 58, 109-130). Each component is the unit vector w that maximizes the sum of
squared covariances of A w with the columns of B: the first left singular vector of A'B. A is then deflated
by the scores t = A w, A - t p' with p = A't / t't, and the next direction is computed. Deflating B as well
would change nothing. The scores are A R with the *rotations* R = W (P'W)^-1, and B is fitted as A R Q' with
q = B't / t't.

*SIMPLS* (de Jong, 1993, Chemometrics and Intelligent Laboratory Systems 18, 251-263) computes directions of
A itself and deflates A'B by the loadings instead of A by the scores. SIMPLS and NIPALS agree in the first
component, and in all components if B has rank one, for example if B contains the indicators of two classes.

*Orthogonal components* (Trygg & Wold, 2002, Journal of Chemometrics 16, 119-128; for several responses the
O2PLS decomposition of the columns, Trygg, 2002, Journal of Chemometrics 16, 283-293). The columns of W are
all left singular vectors of A'B. Every direction orthogonal to them has scores uncorrelated with B. Among
these directions, the first left singular vector w_o of (I - W W') A'A W has the scores t_o = A w_o that
covary most with the predictive scores A W. A is replaced by A - t_o p_o', which does not change A'B, and the
next direction is computed. The predictive components are the components of B and the deflated A within the
span of W. With one response, the predictive and orthogonal scores together span the same space as the scores
of as many PLS components, and the fitted response is the same (Verron, Sabatier & Joffre, 2004, Journal of
Chemometrics 18, 62-68).

*Sparse components* (Le Cao, Boitard & Besse, 2011, BMC Bioinformatics 12, 253). The singular vectors u and v
of A'B are computed by alternating updates: v is proportional to B'A u, and u is proportional to the
soft-thresholded A'B v. The threshold is the largest absolute entry that is to become zero. Deflation is by
NIPALS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discrim.core.covariance.principal import positive_signs
from discrim.core.moments.moments import column_squares
from discrim.core.numerics.arrays import EPS, Floats, svd

Algorithm = Literal["nipals", "simpls", "engine"]
"""Algorithm that computed the components; "engine" stands for a function outside this package."""


@dataclass(frozen=True, slots=True, eq=False)
class Latent:
    """Components of p columns and q responses, in the order in which they were computed.

    Attributes
    ----------
    weights : (p, a) float
        Weights of the columns, unit vectors. For NIPALS they apply to the columns deflated by the earlier
        components. In each component the largest weight in absolute value is positive.
    loadings : (p, a) float
        Slopes of the columns on the scores.
    rotations : (p, a) float
        Matrix that maps the centred columns, not deflated, to scores.
    y_loadings : (q, a) float
        Slopes of the responses on the scores; zero for orthogonal components.
    squares : (a,) float
        Sums of squares of the scores, which are orthogonal.
    x_total, y_total : float
        Sums of squares of all columns and of all responses, before deflation.
    orthogonal : int
        Number of components that are orthogonal to the responses. They are the last ones.
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
    def n_components(self) -> int:
        """Number of components."""
        return len(self.squares)

    def truncate(self, count: int) -> Latent:
        """Return a `Latent` with the first `count` components, which do not depend on later components.

        They count as predictive: `orthogonal` is 0 in the result.
        """
        weights = self.weights[:, :count]
        loadings = self.loadings[:, :count]
        rotations = self.rotations[:, :count]
        y_loadings = self.y_loadings[:, :count]
        squares = self.squares[:count]
        return Latent(weights, loadings, rotations, y_loadings, squares, self.x_total, self.y_total)

    def explained(self) -> tuple[Floats, Floats]:
        """Return the proportions of the sums of squares that each component explains.

        Returns
        -------
        columns, responses : (a,) float
            Proportions of the sum of squares of the columns and of the responses.
        """
        x, y = (self.squares * column_squares(loadings) for loadings in (self.loadings, self.y_loadings))
        return x / self.x_total, y / self.y_total

    def importance_by_n_components(self) -> Floats:
        """Return the variable importance in the projection (Wold's VIP) with 1, 2, ..., a components.

        VIP_ja = sqrt(p sum_c s_c w_jc^2 / sum_c s_c), with sums over the components c = 1, ..., a, s_c the
        sum of squares of the responses that component c explains, and w_jc the weight of column j. The mean
        square over the columns is one.

        Returns
        -------
        (p, a) float
            Importance of each column; the a-th value uses components 1 to a.
        """
        explained = self.squares * column_squares(self.y_loadings)
        weighted_squares = (self.weights**2 * explained).cumsum(axis=1) / explained.cumsum()
        return np.asarray(np.sqrt(len(weighted_squares) * weighted_squares))

    def importance_by_component_type(self) -> tuple[Floats, Floats]:
        """Return the importance (VIP) of each column for the predictive and for the orthogonal components.

        This is VIP4 of Galindo-Prieto, Eriksson & Trygg (2014), Journal of Chemometrics 28, 623-632: squared
        normalized loadings, weighted by the proportions of the sums of squares of the columns and of the
        responses that each component explains. The mean square over the columns is one.

        Returns
        -------
        predictive, orthogonal : (p,) float
            NaN for a type without components.
        """
        x, y = self.explained()
        weight = x / x.sum() + y / y.sum()
        squares = self.loadings**2 / column_squares(self.loadings) * weight
        n_predictive = self.n_components - self.orthogonal
        sums_by_type = (squares[:, :n_predictive].sum(axis=1), squares[:, n_predictive:].sum(axis=1))
        first, second = (np.sqrt(len(sums) * sums / sums.sum()) for sums in sums_by_type)
        return first, second


def fit_latent(a: Floats, b: Floats, max_components: int, algorithm: Algorithm = "nipals") -> Latent:
    """Compute at most `max_components` components of centred columns and responses.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    max_components : int
        Maximum number of components.
    algorithm : {"nipals", "simpls"}
        NIPALS or SIMPLS, defined in the module docstring.

    Returns
    -------
    Latent
        With min(r, p) components at most, and fewer, possibly none, if A'B vanishes earlier.

    Examples
    --------
    >>> a = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> found = fit_latent(a, np.array([[1.0], [0.0], [-1.0]]), 2)
    >>> found.weights.round(4).tolist(), found.squares.round(4).tolist()
    ([[0.7071, 0.7071], [0.7071, -0.7071]], [7.0, 1.7143])
    """
    count = min(max_components, *a.shape)
    is_wide = a.shape[1] > MAX_WIDTH_RATIO * len(a)
    components = _compute_kernel_components(a, b, count) if is_wide and algorithm == "nipals" else None
    return latent_from_rotations(a, b, *(components or _compute_components(a, b, count, algorithm)))


def latent_from_rotations(
    a: Floats, b: Floats, weights: Floats, loadings: Floats, rotations: Floats
) -> Latent:
    """Build a `Latent` from existing weights, loadings and rotations; the rest follows from the columns.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    weights, loadings, rotations : (p, c) float
        Weights and loadings of c components, none of them orthogonal, and the matrix that maps `a` to scores.

    Returns
    -------
    Latent
        With `orthogonal` 0; slopes of the responses, sums of squares and totals are computed.
    """
    t = a @ rotations
    squares = column_squares(t)
    return Latent(
        weights, loadings, rotations, b.T @ t / squares, squares, float(np.vdot(a, a)), float(np.vdot(b, b))
    )


def _rounding_norm(a: Floats, b: Floats) -> float:
    """Return the norm of A'B below which it is indistinguishable from zero in floating-point arithmetic."""
    return float(10 * max(a.shape) * EPS * np.linalg.norm(a) * np.linalg.norm(b))


def _first_direction(product: Floats, min_singular_value: float) -> Floats | None:
    """Return the first left singular vector (p,) of A'B (p, q), its largest entry in absolute value positive.

    None if its singular value is at most `min_singular_value`.
    """
    w = product @ np.linalg.eigh(product.T @ product)[1][:, -1]
    singular_value = np.linalg.norm(w)
    if not singular_value > min_singular_value:
        return None
    return np.asarray(w / singular_value * positive_signs(w[:, None])[0])


def _orthogonalize(vector: Floats, basis: Floats) -> Floats:
    """Return a vector (r,) minus its projection on orthonormal columns (r, c), twice for accuracy."""
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    return vector


def _compute_components(
    a: Floats, b: Floats, max_components: int, algorithm: Algorithm
) -> tuple[Floats, Floats, Floats]:
    """Compute components by NIPALS or SIMPLS.

    NIPALS deflates the columns, without a copy of them, and SIMPLS the product A'B. The weights of SIMPLS
    equal its rotations.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    max_components : int
        Maximum number of components; fewer if A'B vanishes earlier.
    algorithm : {"nipals", "simpls"}
        Algorithm.

    Returns
    -------
    weights, loadings, rotations : (p, c) float
        The arrays of these names in a `Latent` of c components, possibly none; `rotations` is `weights` for
        SIMPLS.
    """
    min_singular_value = _rounding_norm(a, b)
    weights, loadings, basis = (np.zeros((a.shape[1], max_components), order="F") for _ in range(3))
    scores = np.zeros((len(a), max_components), order="F")
    product, remaining, count = a.T @ b, b, 0
    while count < max_components:
        w = _first_direction(product, min_singular_value)
        if w is None:
            break
        t = a @ w
        if algorithm == "nipals":
            # A deflated by orthogonal scores T is (I - T T^+) A, so that only t and B have to be projected.
            t = _orthogonalize(t, scores[:, :count])
            scores[:, count] = t / np.linalg.norm(t)
            for _ in range(2):
                remaining = remaining - np.outer(scores[:, count], scores[:, count] @ remaining)
            product = a.T @ remaining
        loadings[:, count] = a.T @ t / (t @ t)
        if algorithm == "simpls":
            axis = _orthogonalize(loadings[:, count], basis[:, :count])
            basis[:, count] = axis / np.linalg.norm(axis)
            product = product - np.outer(basis[:, count], basis[:, count] @ product)
        weights[:, count] = w
        count += 1
    weights, loadings = weights[:, :count], loadings[:, :count]
    return weights, loadings, weights if algorithm == "simpls" else _rotations(weights, loadings)


MAX_WIDTH_RATIO = 2.0
"""Ratio of columns to rows of A above which products of the rows, AA', replace A'A."""

MAX_ERROR_GROWTH = 30.0
"""Maximum of |A| |u| for unit weights w = A'u; the relative rounding errors of AA'u grow with its square.

Up to 30, coefficients lose about one digit more than by the columns. Gene expressions have values of 3 to 20.
"""


def _compute_kernel_components(
    a: Floats, b: Floats, max_components: int
) -> tuple[Floats, Floats, Floats] | None:
    """Compute components of many columns by NIPALS from the products of the rows (kernel form).

    Weights and loadings are combinations A'u and A't of the rows (Raennar, Lindgren, Geladi & Wold, 1994,
    Journal of Chemometrics 8, 111-125). The iterations need AA' only, and the columns are used twice.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    max_components : int
        Number of components.

    Returns
    -------
    tuple of three (p, c) float, or None
        Weights, loadings and rotations of c = `max_components` components. None if A'B vanishes earlier, or
        if AA' is not accurate enough because a component has a small variance (`MAX_ERROR_GROWTH`).
    """
    kernel = a @ a.T
    norm = np.sqrt(np.trace(kernel))
    u, scores = (np.zeros((len(a), max_components)) for _ in range(2))
    lengths = np.zeros(max_components)
    remaining = b
    for i in range(max_components):
        direction = remaining @ np.linalg.eigh(remaining.T @ kernel @ remaining)[1][:, -1]
        squared_length = direction @ kernel @ direction
        if not MAX_ERROR_GROWTH**2 * squared_length > norm**2 * (direction @ direction):
            return None
        u[:, i] = direction / np.sqrt(squared_length)
        t = _orthogonalize(kernel @ u[:, i], scores[:, :i])
        lengths[i] = np.linalg.norm(t)
        scores[:, i] = t / lengths[i]
        for _ in range(2):
            remaining = remaining - np.outer(scores[:, i], scores[:, i] @ remaining)
    weights, loadings = ((coefficients.T @ a).T for coefficients in (u, scores / lengths))
    signs = positive_signs(weights)
    weights *= signs
    loadings *= signs
    return weights, loadings, _rotations(weights, loadings)


def _rotations(weights: Floats, loadings: Floats) -> Floats:
    """Return the rotations W (P'W)^-1, which map columns to scores, for weights W and loadings P."""
    return np.asarray(np.linalg.solve((loadings.T @ weights).T, weights.T).T, dtype=np.float64)


def fit_orthogonal_latents(a: Floats, b: Floats, max_orthogonal: int) -> list[Latent]:
    """Compute predictive components with 0, 1, ..., `max_orthogonal` orthogonal components, by NIPALS.

    The number of predictive components is at most the rank of A'B. They come before the orthogonal
    components, and change with the number of these. The sequence ends early if no remaining direction
    covaries with the predictive scores.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    max_orthogonal : int
        Maximum number of orthogonal components.

    Returns
    -------
    list of Latent
        Entry i has i orthogonal components; only entry 0, without components, if A'B vanishes.

    Examples
    --------
    >>> a = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> _, found = fit_orthogonal_latents(a, np.array([[1.0], [0.0], [-1.0]]), 3)
    >>> found.weights.round(4).tolist(), (found.y_loadings @ found.rotations.T)[0, 0].round(4)
    ([[0.7071, 0.7071], [0.7071, -0.7071]], np.float64(1.0))
    """
    left_vectors, singular_values, _ = svd(a.T @ b, full_matrices=False)
    w = left_vectors[:, singular_values > _rounding_norm(a, b)]
    weights, loadings = (np.zeros((a.shape[1], 0)) for _ in range(2))
    columns = a.copy()
    latents = [_join_components(a, b, columns, w, weights, loadings)]
    for _ in range(max_orthogonal if w.shape[1] else 0):
        t = columns @ w
        covariation = columns.T @ t
        for _ in range(2):
            covariation -= w @ (w.T @ covariation)
        orthogonal_weights = _first_direction(covariation, _rounding_norm(columns, t))
        if orthogonal_weights is None:
            break
        s, p = _score_and_loading(columns, orthogonal_weights)
        columns -= np.outer(s, p)
        weights = np.column_stack([weights, orthogonal_weights])
        loadings = np.column_stack([loadings, p])
        latents.append(_join_components(a, b, columns, w, weights, loadings))
    return latents


def _score_and_loading(columns: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return the scores (r,) of columns (r, p) for weights `w` (p,), and the slopes (p,) on the scores.

    The scores must not all be zero.
    """
    t = columns @ w
    return t, columns.T @ t / (t @ t)


def _join_components(
    a: Floats, b: Floats, columns: Floats, w: Floats, weights: Floats, loadings: Floats
) -> Latent:
    """Join predictive components, computed within the span of `w`, with given orthogonal components.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    columns : (r, p) float
        `a` deflated by the orthogonal components.
    w : (p, k) float
        Orthonormal basis of the predictive weights.
    weights, loadings : (p, o) float
        Weights and loadings of the orthogonal components.

    Returns
    -------
    Latent
        Predictive components first; rotations apply to `a`, which is not deflated.
    """
    inner_weights, _, inner_rotations = _compute_components(columns @ w, b, w.shape[1], "nipals")
    predictive_weights = w @ inner_weights
    rotations = w @ inner_rotations
    signs = positive_signs(predictive_weights)
    predictive_weights = predictive_weights * signs
    rotations = rotations * signs
    t = columns @ rotations
    slopes = columns.T @ t / column_squares(t)
    orthogonal_rotations = _rotations(weights, loadings)
    rotations = rotations - orthogonal_rotations @ (loadings.T @ rotations)
    pairs = ((predictive_weights, weights), (slopes, loadings), (rotations, orthogonal_rotations))
    joined = latent_from_rotations(a, b, *(np.concatenate(pair, axis=1) for pair in pairs))
    # Slopes of the responses on orthogonal scores are zero up to rounding.
    joined.y_loadings[:, len(signs) :] = 0.0
    return replace(joined, orthogonal=weights.shape[1])


def fit_sparse_latent(a: Floats, b: Floats, nonzero: Sequence[int]) -> Latent:
    """Compute sparse components of centred columns and responses.

    Entries tied at the threshold are all kept. The sequence ends early if A'B vanishes. Rotations are not
    sparse after the first component.

    Parameters
    ----------
    a : (r, p) float
        Centred columns.
    b : (r, q) float
        Centred responses.
    nonzero : sequence of int
        Number of nonzero weights of each component.

    Returns
    -------
    Latent
        With one component for each entry of `nonzero`, or fewer, possibly none, if A'B vanishes earlier.

    Examples
    --------
    >>> a = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, -2.0]])
    >>> fit_sparse_latent(a, np.array([[1.0], [0.0], [-1.0]]), [1]).weights.tolist()
    [[0.0], [1.0]]
    """
    min_singular_value = _rounding_norm(a, b)
    columns = a.copy()
    weights, loadings = (np.zeros((a.shape[1], 0)) for _ in range(2))
    for count in nonzero:
        w = _sparse_direction(columns.T @ b, count, min_singular_value)
        if w is None:
            break
        t, p = _score_and_loading(columns, w)
        columns -= np.outer(t, p)
        weights = np.column_stack([weights, w])
        loadings = np.column_stack([loadings, p])
    return latent_from_rotations(a, b, weights, loadings, _rotations(weights, loadings))


MAX_UPDATES = 10**4
"""Maximum number of alternating updates of a sparse direction; reaching it is not an error."""


def _sparse_direction(product: Floats, count: int, min_singular_value: float) -> Floats | None:
    """Find a sparse direction with `count` nonzero entries by alternating updates.

    The module docstring defines the updates. Iterations stop when no entry changes by more than 1e-13, or
    after `MAX_UPDATES` updates.

    Parameters
    ----------
    product : (p, q) float
        A'B.
    count : int
        Number of nonzero entries.
    min_singular_value : float
        Singular value up to which A'B counts as zero.

    Returns
    -------
    (p,) float or None
        Unit vector, its largest entry in absolute value positive; None if A'B counts as zero. Ties can leave
        more than `count` entries.
    """
    _, singular_values, right_vectors = svd(product, full_matrices=False)
    if not singular_values[0] > min_singular_value:
        return None
    v = right_vectors[0]
    w = np.zeros(len(product))
    for _ in range(MAX_UPDATES):
        previous = w
        w = _soft_threshold_to_count(product @ v, count)
        w /= np.linalg.norm(w)
        v = product.T @ w
        v /= np.linalg.norm(v)
        if np.abs(w - previous).max() <= 1e-13:
            break
    # Adding 0.0 turns -0.0 into 0.0.
    return np.asarray(w * positive_signs(w[:, None])[0] + 0.0)


TIE_TOLERANCE = 1e-10
"""Relative difference up to which two entries count as equal."""


def _soft_threshold_to_count(values: Floats, count: int) -> Floats:
    """Soft-threshold values (p,) to `count` nonzero entries; entries tied at the threshold stay nonzero."""
    magnitudes = np.abs(values)
    if count >= len(values):
        return values
    smaller = magnitudes[magnitudes < (1 - TIE_TOLERANCE) * np.partition(magnitudes, -count)[-count]]
    return np.asarray(np.sign(values) * np.maximum(magnitudes - smaller.max(initial=0.0), 0.0))
