"""Partitions of the rows of a class by hierarchical clustering, from which EM begins beside random ones.

Theory. Clusters are merged two by two, each time those whose union costs least. Two hierarchies are built,
neither of which depends on the units of the columns. The first is that of Ward (1963, Journal of the American
Statistical Association 58, 236-244), where a cluster costs its sum of squares, in axes in which the class has
unit covariance. The second is model-based (Banfield & Raftery, 1993, Biometrics 49, 803-821; Fraley, 1998,
SIAM Journal on Scientific Computing 20, 270-281): a cluster of n_k of the n rows, with the scatter W_k, has a
covariance of its own and costs

    n_k ln( |W_k / n_k| + (tr W_k + tr W / (n p)) / n_k ) ,

where W is the scatter of all rows, and the traces keep clusters of few rows from being singular. Its axes are
the principal ones of the standardized columns, each over the root of its singular value (Scrucca & Raftery,
2015, Advances in Data Analysis and Classification 9, 447-460).

*Cost.* A class of many rows is clustered by `MOST_ROWS` of them, taken at equal steps of the order in which
they are given. Merges of the second hierarchy begin at `GROUPS` clusters of Ward's, and see the `AXES` axes
along which the class is longest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["Hierarchies", "at_weights", "hierarchies_of", "labels_of", "standardized"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MOST_ROWS = 300
"""Rows of a class that are clustered."""

GROUPS = 40
"""Clusters at which merges by covariances begin."""

AXES = 6
"""Axes by which they are judged."""

FLAT = 1e-6
"""Singular value, over the largest, of an axis along which there is nothing to tell clusters by."""


class Hierarchies(NamedTuple):
    """How the rows of a class are merged into fewer and fewer clusters.

    Attributes
    ----------
    rows : (m,) int
        Positions of the rows that were clustered; one of a larger weight may be there several times.
    trees : list of (labels (m,) int, merges (t, 3) int)
        Clusters at the beginning; and the two that each step merges, with the label of their union.
    """

    rows: Codes
    trees: list[tuple[Codes, Codes]]


def at_weights(weights: Floats, uniform: Floats) -> Codes:
    """Positions at shares of all weight; of repeated rows those of one with their sum."""
    sums = np.cumsum(weights)
    return np.asarray(np.minimum(np.searchsorted(sums, uniform * sums[-1], side="right"), len(weights) - 1))


def standardized(z: Floats, weights: Floats, rows: Codes | slice = slice(None)) -> Floats:
    """Deviations (p, m) of some rows over the standard deviations of all; constant columns are 0."""
    sd = np.sqrt(np.einsum("ij,ij,j->i", z, z, weights) / weights.sum())
    return np.asarray(z[:, rows] / np.where(sd > 0, sd, 1.0)[:, None])


def hierarchies_of(z: Floats, weights: Floats) -> Hierarchies:
    """The hierarchies of rows with deviations z (p, n) from their mean and weights (n,), in their order."""
    there = max(int((weights > 0).sum()), round(float(weights.sum())))
    m = min(MOST_ROWS, there)
    rows = at_weights(weights, (np.arange(m) + 0.5) / m)
    unit = standardized(z, weights, rows)
    left, lengths, _ = np.linalg.svd(unit.T, full_matrices=False)
    kept = lengths > FLAT * lengths[0]
    if m < 2 or not kept.any():
        return Hierarchies(rows, [])
    left, lengths = left[:, kept], lengths[kept]
    halfway = left[:, :AXES] * np.sqrt(lengths[:AXES])
    groups = _at_size(np.arange(m), _ward(halfway), min(m, GROUPS))
    return Hierarchies(rows, [(np.arange(m), _ward(left)), (groups, _by_covariances(halfway, groups))])


def labels_of(held: Hierarchies, size: int) -> list[Codes]:
    """The clusters, from 0 to `size` - 1, of the rows of each hierarchy that has so many."""
    found = []
    for labels, merges in held.trees:
        if size <= len(merges) + 1:
            found.append(_at_size(labels, merges, size))
    return found


def _at_size(labels: Codes, merges: Codes, size: int) -> Codes:
    """Labels from 0 on after merges up to a number of clusters."""
    labels = labels.copy()
    for one, other, union in merges[: len(merges) + 1 - size]:
        labels[(labels == one) | (labels == other)] = union
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def _ward(points: Floats) -> Codes:
    """Merges of points (m, q), those that cost less first."""
    tree = scipy.cluster.hierarchy.linkage(points, method="ward")
    unions = len(points) + np.arange(len(tree))
    return np.column_stack([tree[:, :2].astype(np.intp), unions])


class _Clusters(NamedTuple):
    """Weights (m,), means (m, q) and scatters (m, q, q) of clusters."""

    counts: Floats
    means: Floats
    scatters: Floats

    def united(self, i: Codes | int, j: Codes) -> _Clusters:
        """The unions of clusters i and j."""
        counts = self.counts[i] + self.counts[j]
        gaps = self.means[j] - self.means[i]
        share = self.counts[j] / counts
        lifts = (self.counts[i] * share)[:, None, None] * gaps[:, :, None] * gaps[:, None, :]
        means = self.means[i] + share[:, None] * gaps
        return _Clusters(counts, means, self.scatters[i] + self.scatters[j] + lifts)

    def costs(self, least: float) -> Floats:
        """Costs (m,) of the clusters, with the total trace over n q."""
        covariances = self.scatters / self.counts[:, None, None]
        traces = np.trace(covariances, axis1=1, axis2=2) + least / self.counts
        determinants = np.maximum(np.linalg.det(covariances), 0.0)
        return np.asarray(self.counts * np.log(determinants + traces))


def _by_covariances(points: Floats, labels: Codes) -> Codes:
    """Merges of the clusters of points (m, q) by the model-based criterion."""
    n, q = points.shape
    members = labels == np.arange(labels.max() + 1)[:, None]
    counts = members.sum(axis=1).astype(np.float64)
    means = members @ points / counts[:, None]
    gaps = points - means[labels]
    scatters = np.array([gaps[own].T @ gaps[own] for own in members])
    held, least = _Clusters(counts, means, scatters), float((points**2).sum() / (n * q))
    own, alive, merges = held.costs(least), np.ones(len(counts), dtype=bool), []
    rises = np.full((len(own), len(own)), np.inf)
    i, j = np.triu_indices(len(own), 1)
    rises[i, j] = held.united(i, j).costs(least) - own[i] - own[j]
    for _ in range(len(own) - 1):
        a, b = (int(place) for place in np.unravel_index(np.argmin(rises), rises.shape))
        merges.append((a, b, a))
        union = held.united(a, np.array([b]))
        for whole, part in zip(held, union, strict=True):
            whole[a] = part[0]
        own[a] = union.costs(least)[0]
        alive[b] = False
        rises[b], rises[:, b] = np.inf, np.inf
        others = np.flatnonzero(alive & (np.arange(len(own)) != a))
        if len(others):
            risen = held.united(a, others).costs(least) - own[a] - own[others]
            rises[np.minimum(a, others), np.maximum(a, others)] = risen
    return np.array(merges, dtype=np.intp).reshape(-1, 3)
