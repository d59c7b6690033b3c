"""Optimal (maximal margin) separating hyperplane of two classes, computed to machine precision.

The verb `hyperplane` calls `fit_hyperplane`; the perceptron and the check of separability use
`largest_margin` and `nearest_point`.

Theory (Vapnik, 1996, The Nature of Statistical Learning Theory; Hastie, Tibshirani & Friedman, 2009, The
Elements of Statistical Learning, sec. 4.5.2). Among the planes between two classes the optimal one is
farthest from the nearest row: minimize |b|^2/2 under y_i (x_i'b + b_0) >= 1 with y = 1, -1; the margin is
1/|b|. Its dual is the problem of the nearest points of the two convex hulls (Bennett & Bredensteiner, 2000,
ICML 17, 57-64): with w the shortest vector from the one hull to the other, b = 2 w/|w|^2, the margin is
|w|/2, and the weights of w by the rows, times 2/|w|^2, are the multipliers of the conditions of Karush,
Kuhn and Tucker. w is the point nearest to the origin in the hull of all differences of a row of the one
class and a row of the other.

*The point of a polytope nearest to the origin* is found by Wolfe's algorithm (Wolfe, 1976, Mathematical
Programming 11, 128-149). The nearest point w of the convex hull of points P is the one with w'p >= w'w for
every p. A *corral* is an affinely independent set of points with the nearest point of its affine hull inside
its convex hull. The point of P lowest along w is added to the corral, points whose weight would turn negative
leave it, and |w| decreases each time. Therefore no corral recurs, and the search ends with the exact
solution. Only the lowest point along w is needed, one product with the rows; P may have one point for each
pair of rows of the two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from discrim.core.errors import CoreNotSupportedError, InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask
from discrim.core.numerics.progress import refresh_progress
from discrim.core.rules.rules import LinearRule

MIN_DESCENT = 64 * EPS
"""Decrease, relative to the points, that counts as zero."""

MAX_ADDED_POINTS = 100_000
"""Maximum number of points that are added."""


class NearestPoint(NamedTuple):
    """Point of a convex hull that is nearest to the origin.

    Attributes
    ----------
    point : (p,) float
        The nearest point; zero up to rounding if the hull contains the origin.
    keys : list
        Names, given by the caller, of the s points of which it is a weighted mean (the corral).
    weights : (s,) float
        Positive weights of these points; they sum to one.
    """

    point: Floats
    keys: list[Hashable]
    weights: Floats


def nearest_point(lowest: Callable[[Floats], tuple[Hashable, Floats]], start: Floats) -> NearestPoint:
    """Find the point of a convex hull that is nearest to the origin, by Wolfe's algorithm.

    Parameters
    ----------
    lowest : callable
        Maps a direction w (p,) to the name and the coordinates (p,) of a point p of the hull with the
        smallest w'p.
    start : (p,) float
        First direction; the search starts at the lowest point along it.

    Returns
    -------
    NearestPoint

    Raises
    ------
    CoreNotSupportedError
        If the search does not end after `MAX_ADDED_POINTS` points.

    Examples
    --------
    >>> points = np.array([[3.0, 0.0], [0.0, 4.0], [5.0, 5.0]])
    >>> def lowest(w):
    ...     i = int(np.argmin(points @ w))
    ...     return i, points[i]
    >>> found = nearest_point(lowest, np.ones(2))
    >>> found.keys, found.weights.round(4).tolist(), found.point.round(4).tolist()
    ([0, 1], [0.64, 0.36], [1.92, 1.44])
    """
    key, point = lowest(start)
    corral = _Corral([key], point[:, None], np.ones(1))
    nearest = point
    visited_sets = {frozenset(corral.keys)}
    for _ in range(MAX_ADDED_POINTS):
        refresh_progress()
        key, point = lowest(nearest)
        max_norm = float(np.sqrt(max((corral.points**2).sum(axis=0).max(), point @ point)))
        squared_norm = float(nearest @ nearest)
        # If no point is lower than w by more than rounding, w is the nearest point; a tiny w counts as zero.
        norm = float(np.sqrt(squared_norm))
        has_ended = (
            norm <= MIN_DESCENT * max_norm or squared_norm - nearest @ point <= MIN_DESCENT * max_norm * norm
        )
        if has_ended or key in corral.keys:
            return NearestPoint(nearest, corral.keys, corral.weights)
        corral, nearest = _add_to_corral(corral, key, point)
        # |w| decreases up to rounding. If a corral recurs, no other point is nearer by more than rounding.
        if frozenset(corral.keys) in visited_sets:
            return NearestPoint(nearest, corral.keys, corral.weights)
        visited_sets.add(frozenset(corral.keys))
    raise CoreNotSupportedError("no_nearest_point", n_rounds=MAX_ADDED_POINTS)


class _Corral(NamedTuple):
    """Names, points (p, s) and weights (s,) of the points that span the nearest point."""

    keys: list[Hashable]
    points: Floats
    weights: Floats


def _add_to_corral(corral: _Corral, key: Hashable, point: Floats) -> tuple[_Corral, Floats]:
    """Add a point to the corral, and remove points whose weight becomes zero.

    Parameters
    ----------
    corral : _Corral
        Points that span the nearest point.
    key : Hashable
        Name of the new point.
    point : (p,) float
        The new point.

    Returns
    -------
    corral : _Corral
        New corral, or `corral` itself if the new point does not reduce the distance.
    nearest : (p,) float
        Nearest point of its hull.
    """
    keys = [*corral.keys, key]
    points = np.column_stack([corral.points, point])
    weights = np.append(corral.weights, 0.0)
    while True:
        affine_weights, nearest = _affine_nearest(points)
        if (affine_weights > 0).all():
            return _Corral(keys, points, affine_weights), nearest
        # A weight that is zero and stays zero does not decrease.
        decreases = (affine_weights <= 0) & (weights > affine_weights)
        ratios = np.divide(
            weights, weights - affine_weights, out=np.full(len(affine_weights), np.inf), where=decreases
        )
        step_fraction = float(ratios.min())
        is_kept = np.zeros(len(affine_weights), dtype=bool)
        if step_fraction < np.inf:
            weights = (1 - step_fraction) * weights + step_fraction * affine_weights
            is_kept = weights > 0
            is_kept[int(np.argmin(ratios))] = False
        if not is_kept.any():
            # All weights became zero up to rounding: the new point does not reduce the distance.
            return corral, np.asarray(corral.points @ corral.weights)
        keys = [key for key, keep in zip(keys, is_kept, strict=True) if keep]
        points = points[:, is_kept]
        weights = weights[is_kept] / weights[is_kept].sum()


def _affine_nearest(points: Floats) -> tuple[Floats, Floats]:
    """Find the point of an affine hull that is nearest to the origin.

    Parameters
    ----------
    points : (p, s) float
        The s points, by column.

    Returns
    -------
    weights : (s,) float
        Weights of the points; they sum to one and may be negative. Of linearly dependent points some have
        weight zero.
    nearest : (p,) float
        The weighted sum.
    """
    # Use the point nearest to the origin as base, which minimizes cancellation.
    base = int(np.argmin((points**2).sum(axis=0)))
    start = points[:, base]
    if points.shape[1] == 1:
        return np.ones(1), start
    edges = np.delete(points, base, axis=1) - start[:, None]
    q, r, order = qr(edges, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diagonal(r))
    rank = int((size > len(size) * EPS * size[0]).sum())
    q, start_coordinates = q[:, :rank], q[:, :rank].T @ start
    nearest = start - q @ start_coordinates
    # Project twice: the remaining component is then a rounding error of the nearest point, not of the start.
    nearest = nearest - q @ (q.T @ nearest)
    edge_weights = np.zeros(len(order))
    edge_weights[order[:rank]] = solve_triangular(r[:rank, :rank], -start_coordinates, check_finite=False)
    return np.insert(edge_weights, base, 1 - edge_weights.sum()), nearest


def positive_row_masks(codes: Codes, n_classes: int) -> list[Mask]:
    """Return a mask (n,) of the positive rows of each plane, for codes (n,) from 0.

    For two classes there is one plane, with the second class positive; for K > 2 classes there are K planes,
    each with one class positive.
    """
    return [codes == k for k in ([1] if n_classes == 2 else range(n_classes))]


def plane_rule(origin: Floats, coef: Floats, intercept: Floats) -> LinearRule:
    """Return the rule whose scores are 0 and (x - origin)'b + c for two classes, or the value of each plane.

    Parameters
    ----------
    origin : (p,) float
        Point in the units of the data that is subtracted from the rows.
    coef : (p, 1) or (p, K) float
        Normal vectors of the planes, by column.
    intercept : (1,) or (K,) float
        Values at the origin.

    Returns
    -------
    LinearRule
        With scores (m, 2) for one plane, zero for the first class and the value of the plane for the second;
        and scores (m, K) for K planes, the value of the plane of each class.
    """
    if len(intercept) == 1:
        coef = np.column_stack([np.zeros(len(coef)), coef])
        intercept = np.append(0.0, intercept)
    return LinearRule(origin, np.ones(len(origin)), coef, intercept)


TOUCHING_TOLERANCE = 1e-13
"""Distance of the hulls, relative to the size of the rows, below which they count as touching."""


@dataclass(frozen=True, slots=True, eq=False)
class OptimalPlane:
    """The optimal plane x'coef + intercept = 0, scaled to values y = 1 and -1 at the support points.

    Here x are rows minus the origin, which the caller stores.

    Attributes
    ----------
    coef : (p,) float
        Normal vector of the plane.
    intercept : float
        Value of the plane at x = 0.
    support : (s,) int
        Positions of the support points, ascending.
    multipliers : (s,) float
        Positive multipliers a_i with coef = sum y_i a_i x_i and sum y_i a_i = 0.
    residual : float
        Largest violation of the Karush-Kuhn-Tucker conditions: stationarity relative to |coef|,
        complementarity relative to the sum of multipliers, feasibility relative to one.
    """

    coef: Floats
    intercept: float
    support: Codes
    multipliers: Floats
    residual: float

    def validate(self) -> None:
        """Raise InvalidStateError if the attributes, read from a file, cannot belong to a fitted plane.

        The support points, at least one, must have ascending positions and one multiplier each; multipliers
        and residual must not be negative; `coef` must be finite and not all zero.
        """
        if len(self.support) != len(self.multipliers) or not len(self.support):
            raise InvalidStateError("its multipliers do not match its support points")
        if self.support[0] < 0 or not (np.diff(self.support) > 0).all():
            raise InvalidStateError("the positions of its support points are invalid")
        if not (self.multipliers >= 0).all() or not self.residual >= 0:
            raise InvalidStateError("its multipliers or its residual is negative")
        if not 0 < np.hypot.reduce(self.coef) < np.inf:
            raise InvalidStateError("the coefficients of its plane are all zero or not finite")

    @property
    def margin(self) -> float:
        """Distance from the plane to the nearest row, 1 / |coef|."""
        return 1 / float(np.hypot.reduce(self.coef))


@dataclass(frozen=True, slots=True, eq=False)
class HyperplaneFit:
    """Fitted maximal margin hyperplane of two classes.

    Attributes
    ----------
    moments : ClassMoments
        Moments of the rows, which the rule does not use.
    prior : (2,) float
        Class proportions, which the rule does not use.
    origin : (p,) float
        Point near the rows that is subtracted from them before the plane is evaluated.
    plane : OptimalPlane
        Plane of the rows minus the origin.
    """

    moments: ClassMoments
    prior: Floats
    origin: Floats
    plane: OptimalPlane

    has_distances = False
    estimated_prior = True

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the rule with scores 0 and (x - origin)'b + b_0; all arguments are ignored."""
        return plane_rule(self.origin, self.plane.coef[:, None], np.array([self.plane.intercept]))

    def refit(self, x: Floats, codes: Codes) -> HyperplaneFit | None:
        """Return a copy with the plane of other rows x (n, p) of classes codes (n,), which are 0 or 1.

        None if the hulls of the classes touch or overlap. Moments and prior are not recomputed, and the
        origin only if the number of columns differs.
        """
        # Any origin close to the rows is suitable, unless the number of columns differs.
        origin = self.origin if x.shape[1] == len(self.origin) else x.mean(axis=0)
        plane = optimal_plane(x - origin, codes == 1)
        return replace(self, origin=origin, plane=plane) if isinstance(plane, OptimalPlane) else None


@dataclass(frozen=True, slots=True, eq=False)
class CommonPoint:
    """A point in both convex hulls, which proves that no plane separates the classes.

    Attributes
    ----------
    rows : (s,) int
        Positions of rows of both classes, ascending.
    weights : (s,) float
        Weights that sum to one in each class and yield the same weighted mean for both.
    """

    rows: Codes
    weights: Floats


def fit_hyperplane(
    x: Floats, codes: Codes, moments: ClassMoments, prior: Floats
) -> HyperplaneFit | CommonPoint:
    """Fit the optimal plane between two classes.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    codes : (n,) int
        Class of each row, 0 or 1.
    moments : ClassMoments
        Moments of the rows; stored, not used.
    prior : (2,) float
        Class proportions; stored, not used.

    Returns
    -------
    HyperplaneFit or CommonPoint
        A common point if the hulls of the classes overlap, or their distance is at most `TOUCHING_TOLERANCE`
        times the length of the longest row minus the origin.
    """
    origin = x.mean(axis=0)
    plane = optimal_plane(x - origin, codes == 1)
    return plane if isinstance(plane, CommonPoint) else HyperplaneFit(moments, prior, origin, plane)


def optimal_plane(x: Floats, positive: Mask) -> OptimalPlane | CommonPoint:
    """Compute the optimal plane between the positive and the other rows.

    Parameters
    ----------
    x : (n, p) float
        Rows minus an origin close to them.
    positive : (n,) bool
        Rows on the positive side, at least one but not all.

    Returns
    -------
    OptimalPlane or CommonPoint
        A common point if the hulls overlap, or their distance is at most `TOUCHING_TOLERANCE` times the
        length of the longest row.
    """
    # Scaling by a power of two is exact and prevents underflow and overflow of squares.
    largest = float(np.abs(x).max())
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    # With more columns than rows, use orthonormal axes that span the rows, which preserve distances.
    axes = None if x.shape[1] <= len(x) else qr(x.T, mode="economic", check_finite=False)[0]
    plane = _optimal_plane(x / unit if axes is None else (x / unit) @ axes, positive)
    if isinstance(plane, CommonPoint):
        return plane
    coef = plane.coef if axes is None else axes @ plane.coef
    with np.errstate(over="ignore", under="ignore"):
        # The plane may be representable in float64 even if the multipliers overflow.
        multipliers = plane.multipliers / unit / unit
    return replace(plane, coef=coef / unit, multipliers=multipliers)


def _optimal_plane(x: Floats, positive: Mask) -> OptimalPlane | CommonPoint:
    """Compute the optimal plane for rows of size about one with at most as many columns as rows.

    It is the plane of the nearest points of the hulls, or the plane through their support points if that has
    the smaller residual. The hulls have a common point if they overlap up to `TOUCHING_TOLERANCE`.
    """
    rows = (np.flatnonzero(positive), np.flatnonzero(~positive))
    upper, lower = (np.ascontiguousarray(x[row_index]) for row_index in rows)

    def lowest(w: Floats) -> tuple[tuple[int, int], Floats]:
        """Return the pair whose difference is lowest along w (p,), and the difference (p,).

        The pair (i, j) contains positions in `upper` and `lower`.
        """
        i = int(np.argmin(upper @ w))
        j = int(np.argmax(lower @ w))
        return (i, j), upper[i] - lower[j]

    nearest = nearest_point(lowest, upper.mean(axis=0) - lower.mean(axis=0))
    squared_norm = float(nearest.point @ nearest.point)
    coef = 2 * nearest.point / squared_norm if squared_norm > 0 else np.zeros_like(nearest.point)
    low, high = float((upper @ coef).min()), float((lower @ coef).max())
    max_norm = float(np.sqrt((x**2).sum(axis=1).max()))
    support, weights = _weights_by_row(nearest, rows)
    if np.sqrt(squared_norm) <= TOUCHING_TOLERANCE * max_norm or low <= high:
        return CommonPoint(support, weights)
    y = np.where(positive, 1.0, -1.0)
    plane = _plane_with_residual(x, y, coef, -(low + high) / 2, support, weights * 2 / squared_norm)
    polished = _polish_on_support(x, y, support)
    return plane if polished is None or polished.residual > plane.residual else polished


def _polish_on_support(x: Floats, y: Floats, support: Codes) -> OptimalPlane | None:
    """Compute the plane that the support points determine: the shortest b with y (x'b + b_0) = 1 on them.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    y : (n,) float
        1 for rows on the positive side, -1 for the others.
    support : (s,) int
        Positions of the support points.

    Returns
    -------
    OptimalPlane or None
        None if a multiplier is not positive.
    """
    base = support[0]
    edges = x[support[1:]] - x[base]
    coef = np.linalg.lstsq(edges, y[support[1:]] - y[base], rcond=None)[0]
    signed_multipliers = np.linalg.lstsq(edges.T, coef, rcond=None)[0]
    multipliers = y[support] * np.append(-signed_multipliers.sum(), signed_multipliers)
    if not (multipliers > 0).all():
        return None
    return _plane_with_residual(x, y, coef, float(y[base] - x[base] @ coef), support, multipliers)


def _plane_with_residual(
    x: Floats, y: Floats, coef: Floats, intercept: float, support: Codes, multipliers: Floats
) -> OptimalPlane:
    """Return the plane with its largest violation of the optimality conditions.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    y : (n,) float
        1 for rows on the positive side, -1 for the others.
    coef : (p,) float
        Normal vector of the plane.
    intercept : float
        Value of the plane at x = 0.
    support : (s,) int
        Positions of the support points.
    multipliers : (s,) float
        Multipliers of the support points.

    Returns
    -------
    OptimalPlane
        With the given attributes, and the violation as `residual`.
    """
    values = y * (x @ coef + intercept)
    slack = values[support] - 1
    violations = [
        np.linalg.norm(coef - (y[support] * multipliers) @ x[support]) / np.linalg.norm(coef),
        abs(float(y[support] @ multipliers)) / multipliers.sum(),
        np.abs(multipliers * slack).max() / multipliers.sum(),
        max(0.0, 1 - float(values.min())),
    ]
    return OptimalPlane(coef, intercept, support, multipliers, float(max(violations)))


def _weights_by_row(nearest: NearestPoint, rows: tuple[Codes, Codes]) -> tuple[Codes, Floats]:
    """Sum the weights of the nearest point, which belong to pairs of rows, by row.

    Parameters
    ----------
    nearest : NearestPoint
        Nearest point of the hull of differences, with a weight for each pair (i, j).
    rows : tuple of two int arrays
        Row numbers of the points of the positive and of the other class, which i and j refer to.

    Returns
    -------
    support : (s,) int
        Rows in a pair, in increasing order.
    weights : (s,) float
        Sums of the weights of their pairs.
    """
    pairs: Any = nearest.keys
    total: dict[int, float] = {}
    for (i, j), weight in zip(pairs, nearest.weights.tolist(), strict=True):
        for row in (int(rows[0][i]), int(rows[1][j])):
            total[row] = total.get(row, 0.0) + weight
    support = np.array(sorted(total), dtype=np.intp)
    return support, np.array([total[row] for row in support.tolist()])


def largest_margin(signed: Floats) -> float:
    """Return the largest m with signed'b >= m for all rows and some unit vector b; zero if not positive.

    Parameters
    ----------
    signed : (n, p) float
        Rows, one class multiplied by -1; a column of ones (with the same sign) gives planes an intercept.

    Returns
    -------
    float
        Zero if no plane has all rows on its positive side.

    Examples
    --------
    >>> round(largest_margin(np.array([[1.0, 0.0], [0.0, 1.0]])), 6)
    0.707107
    """

    def lowest(w: Floats) -> tuple[int, Floats]:
        """Return the position and the values of the row that is lowest along w."""
        i = int(np.argmin(signed @ w))
        return i, signed[i]

    w = nearest_point(lowest, signed.mean(axis=0)).point
    norm = float(np.linalg.norm(w))
    return max(float((signed @ w).min()) / norm, 0.0) if norm > 0 else 0.0
