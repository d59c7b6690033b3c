"""Nearest rows by Mahalanobis' distance, each row's own of a covariance that has not seen it.

Theory. Without row i of class g, of n_g rows, the scatter W within classes is W - n_g / (n_g - 1) u u', with
u the row's deviation from its class mean. In coordinates where the pooled covariance W / f is the identity,
with

    a = sqrt(n_g / ((n_g - 1) f)) u   and the leverage   h = a'a <= 1,

Sherman and Morrison's formula makes the squared length of a gap v = z_i - z_j, up to a factor that is one for
all j, (1 - h) |v|^2 + (a'v)^2. Its limit at h = 1, where the covariance is singular without the row, is
(a'v)^2. A row that is alone in its class takes nothing from W: a = 0.

The length is at least sqrt(1 - h) |v|, so that a search for a few more rows than k in the coordinates is
enough wherever the last of them, shrunk so, is farther than the k-th length. Elsewhere every row is measured.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.neighbours.neighbours import Neighbours, Search

__all__ = ["others_downdated", "pulls"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MORE = 8
"""Rows that are searched for beyond k, or a quarter of k if that is more."""

GAPS = 2**18
"""Numbers in the gaps that are held at once."""


def pulls(points: Floats, codes: Codes, n_classes: int) -> Floats:
    """The a (n, p) of rows whose coordinates have unit covariance within classes, divisor n - n_classes."""
    counts = np.bincount(codes, minlength=n_classes)
    means = np.zeros((n_classes, points.shape[1]))
    np.add.at(means, codes, points)
    means /= np.maximum(counts, 1)[:, None]
    lost = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 0.0) / (len(points) - n_classes)
    return np.asarray((points - means[codes]) * np.sqrt(lost)[codes, None])


def others_downdated(search: Search, start: int, stop: int, k: int, a: Floats) -> Neighbours:
    """The k nearest other rows to the rows from start to stop, whose pulls are a (stop - start, p).

    Distances are those of the theory, before the factor.
    """
    from scipy.spatial.distance import cdist

    n = len(search.points)
    z, own = search.points[start:stop], np.arange(start, stop)
    room = np.maximum(1 - np.einsum("ij,ij->i", a, a), 0.0)
    first = search.among(start, stop, min(k + 1 + max(MORE, k // 4), n))
    lengths = _lengths(first.distances, _along(search.points, z, first.rows, a), room)
    lengths[first.rows == own[:, None]] = np.inf
    reach = search.space.tied(np.partition(lengths, k - 1, axis=1)[:, k - 1])
    enough = (np.sqrt(room) * first.distances[:, -1] > reach) | (first.rows.shape[1] == n)
    found = search.blank(len(z), k)
    kept = np.flatnonzero(enough)
    search.settle(lengths[kept], first.rows[kept], k, kept, found)
    left = np.flatnonzero(~enough)
    step = max(GAPS // n, 1)
    for at in range(0, len(left), step):
        rows = left[at : at + step]
        members = np.broadcast_to(np.arange(n), (len(rows), n))
        along = _along(search.points, z[rows], members, a[rows])
        lengths = _lengths(cdist(z[rows], search.points), along, room[rows])
        lengths[np.arange(len(rows)), own[rows]] = np.inf
        search.settle(lengths, members, k, rows, found)
    return found


def _lengths(distances: Floats, along: Floats, room: Floats) -> Floats:
    return np.sqrt(room[:, None] * distances**2 + along**2)


def _along(points: Floats, z: Floats, members: Codes, a: Floats) -> Floats:
    """Products a'v (m, w) of the gaps from z (m, p) to members (m, w)."""
    m, width = members.shape
    out = np.empty((m, width))
    step = max(GAPS // (width * points.shape[1]), 1)
    for start in range(0, m, step):
        rows = slice(start, start + step)
        gaps = points[members[rows]]
        np.subtract(z[rows, None], gaps, out=gaps)
        np.matmul(gaps, a[rows, :, None], out=out[rows, :, None])
    return out
