"""The point of a polytope nearest to the origin: Wolfe's algorithm.

Theory (Wolfe, 1976, Mathematical Programming 11, 128-149). The nearest point w of the convex hull of points
P is the one with w'p >= w'w for every p. A *corral* is an affinely independent set of points with the
nearest point of its affine hull inside its convex hull. The point of P lowest along w is added to the
corral, points whose weight would turn negative leave it, and |w| falls each time: no corral returns, so
the search ends, with the exact answer. Only the lowest point along w is ever asked for, one product with
the rows, so that the points may be as many as the pairs of rows of two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from discrim.core.numerics.progress import tick
from discrim.errors import NotSupportedError

__all__ = ["NearestPoint", "nearest_point"]

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

ROUNDING = 64 * EPS
"""Relative to the points, what rounding may hide of a descent."""

MOST_ROUNDS = 100_000
"""Points taken in before the search is given up."""


class NearestPoint(NamedTuple):
    """The nearest point and its corral.

    Attributes
    ----------
    point : (p,) float
        Zero to rounding where the hull holds the origin.
    keys : list of length s
        Of the points of the corral, as the oracle names them.
    weights : (s,) float
        Positive, of sum one.
    """

    point: Floats
    keys: list[Hashable]
    weights: Floats


def nearest_point(lowest: Callable[[Floats], tuple[Hashable, Floats]], start: Floats) -> NearestPoint:
    """Nearest point to the origin of a convex hull.

    Parameters
    ----------
    lowest : callable
        Of a direction w: name and coordinates (p,) of a point p with the smallest w'p.
    start : (p,) float
        First direction.

    Raises
    ------
    NotSupportedError
        The search did not end.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[3.0, 0.0], [0.0, 4.0], [5.0, 5.0]])
    >>> def lowest(w):
    ...     i = int(np.argmin(points @ w))
    ...     return i, points[i]
    >>> found = nearest_point(lowest, np.ones(2))
    >>> found.keys, found.weights.round(4).tolist(), found.point.round(4).tolist()
    ([0, 1], [0.64, 0.36], [1.92, 1.44])
    """
    key, point = lowest(start)
    corral, w = _Corral([key], point[:, None], np.ones(1)), point
    seen = {frozenset(corral.keys)}
    for _ in range(MOST_ROUNDS):
        tick()
        key, point = lowest(w)
        reach = float(np.sqrt(max((corral.points**2).sum(axis=0).max(), point @ point)))
        square = float(w @ w)
        # Without a descent beyond rounding w is the nearest; a w that is rounding itself is zero.
        length = float(np.sqrt(square))
        ended = length <= ROUNDING * reach or square - w @ point <= ROUNDING * reach * length
        if ended or key in corral.keys:
            return NearestPoint(w, corral.keys, corral.weights)
        corral, w = _enlarged(corral, key, point)
        # |w| falls but for rounding, by which a corral may return; then no other is nearer beyond it.
        if frozenset(corral.keys) in seen:
            return NearestPoint(w, corral.keys, corral.weights)
        seen.add(frozenset(corral.keys))
    raise NotSupportedError(
        f"The nearest point was not found in {MOST_ROUNDS:,} rounds: bring the columns to like units."
    )


class _Corral(NamedTuple):
    """Names (s), points (p, s) and their weights (s,) in the nearest point."""

    keys: list[Hashable]
    points: Floats
    weights: Floats


def _enlarged(corral: _Corral, key: Hashable, point: Floats) -> tuple[_Corral, Floats]:
    """The corral with one point more, those left out whose weight falls to zero on the way; its nearest."""
    keys, points = [*corral.keys, key], np.column_stack([corral.points, point])
    weights = np.append(corral.weights, 0.0)
    while True:
        goal, nearest = _affine_nearest(points)
        if (goal > 0).all():
            return _Corral(keys, points, goal), nearest
        falling = goal <= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(falling, weights / (weights - goal), np.inf)
        share = float(np.nanmin(ratios))
        weights = (1 - share) * weights + share * goal
        kept = weights > 0
        kept[int(np.nanargmin(ratios))] = False
        if not kept.any():
            # All weights fell to zero but for rounding: the new point brings the corral no nearer.
            return corral, np.asarray(corral.points @ corral.weights)
        keys = [key for key, keep in zip(keys, kept, strict=True) if keep]
        points, weights = points[:, kept], weights[kept] / weights[kept].sum()


def _affine_nearest(points: Floats) -> tuple[Floats, Floats]:
    """Nearest point (p,) of the affine hull of points (p, s), and weights (s,) of sum one that give it."""
    # From the point nearest to the origin the edges are shortest, and least cancels.
    base = int(np.argmin((points**2).sum(axis=0)))
    start = points[:, base]
    if points.shape[1] == 1:
        return np.ones(1), start
    edges = np.delete(points, base, axis=1) - start[:, None]
    q, r, order = qr(edges, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diagonal(r))
    rank = int((size > len(size) * EPS * size[0]).sum())
    q, along = q[:, :rank], q[:, :rank].T @ start
    nearest = start - q @ along
    # Once more: what must vanish on the edges is then rounding of the nearest point, not of the start.
    nearest = nearest - q @ (q.T @ nearest)
    inner = np.zeros(len(order))
    inner[order[:rank]] = solve_triangular(r[:rank, :rank], -along, check_finite=False)
    return np.insert(inner, base, 1 - inner.sum()), nearest
