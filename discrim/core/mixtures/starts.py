"""Where EM begins: partitions of the rows of a class, drawn at random and by hierarchical clustering.

A random partition is that of k-means from centres that are drawn far apart (Arthur & Vassilvitskii, 2007,
Proceedings of SODA, 1027-1035), in turn in the metric of the covariance of the class, which finds clusters
along the directions in which it is short, and of columns over their standard deviations, which finds those
along long ones. Neither depends on the units of the columns. Those of hierarchies are tried beside them.

From each partition EM takes some steps, and is run to the end from the best (Biernacki, Celeux & Govaert,
2003, Computational Statistics & Data Analysis 41, 561-575). Where rows are few it is run to the end from
those of hierarchies and from the best `FINALISTS` of the others, so that it is known how many of these reach
the maximum: ranks after some steps are not those at the end. Where they are many, the steps are taken on some
of the rows, and one run goes on with all of them.

Rows are drawn by their place, so that a fit is the same whatever the order of the table if they come sorted.

*Hierarchies.* Clusters are merged two by two, each time those whose union costs least. Two hierarchies are
built, neither of which depends on the units of the columns. The first is that of Ward (1963, Journal of the
American Statistical Association 58, 236-244), where a cluster costs its sum of squares, in axes in which the
class has unit covariance. The second is model-based (Banfield & Raftery, 1993, Biometrics 49, 803-821;
Fraley, 1998, SIAM Journal on Scientific Computing 20, 270-281): a cluster of n_k of the n rows, with the
scatter W_k, has a covariance of its own and costs

    n_k ln( |W_k / n_k| + (tr W_k + tr W / (n p)) / n_k ) ,

where W is the scatter of all rows, and the traces keep clusters of few rows from being singular. Its axes are
the principal ones of the standardized columns, each over the root of its singular value (Scrucca & Raftery,
2015, Advances in Data Analysis and Classification 9, 447-460).

A class of many rows is clustered by `MOST_ROWS` of them, taken at equal steps of the order in which
they are given. Merges of the second hierarchy begin at `GROUPS` clusters of Ward's, and see the `AXES` axes
along which the class is longest.

*Coordinates* in which EM keeps the digits of the rows, as far as the form of the covariances bears them.
Scatters square the condition number of the rows: where a column is nearly a combination of others,
they lose twice the digits that the data lack. With R the triangular root of the scatter within a class, by a
QR of its rows, the whitened rows R'^-1 z have no such columns, and the root of a covariance R'SR is that of S
times R. EEE and VEE, whose covariances are multiples of one matrix, stay what they are in the coordinates of
any one R; EVV in those of an own R for each class, all of one determinant; VVV in those of any.

EVE, VVE, EEV and VEV bear rotations, a common one or for each class its own. In principal axes a scatter has
entries of as many digits each as the rows have along these axes. Forms without an orientation have
variances only, which no other column can spoil.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, dependencies
from discrim.core.mixtures import em
from discrim.core.mixtures.em import ClassRows, Components, Degenerate, EMPlan
from discrim.core.moments.moments import ClassMoments, column_squares
from discrim.core.moments.row_sums import ill_conditioned, packed_triangle
from discrim.core.numerics.arrays import Codes, Floats

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

    Of the rows that were clustered, positions (m,), one of a larger weight may be there several times. A tree
    is the clusters at the beginning, labels (m,), and the two that each step merges with the label of their
    union, (t, 3).
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
    left = left[:, kept]
    lengths = lengths[kept]
    halfway = left[:, :AXES] * np.sqrt(lengths[:AXES])
    groups = _at_size(np.arange(m), _ward(halfway), min(m, GROUPS))
    return Hierarchies(rows, [(np.arange(m), _ward(left)), (groups, _by_covariances(halfway, groups))])


def labels_of(hierarchies: Hierarchies, size: int) -> list[Codes]:
    """The clusters, from 0 to `size` - 1, of the rows of each hierarchy that has so many."""
    trees = (tree for tree in hierarchies.trees if size <= len(tree[1]) + 1)
    return [_at_size(labels, merges, size) for labels, merges in trees]


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
    scatters = np.array([gaps[rows].T @ gaps[rows] for rows in members])
    clusters = _Clusters(counts, means, scatters)
    least = float((points**2).sum() / (n * q))
    costs = clusters.costs(least)
    alive = np.ones(len(counts), dtype=bool)
    merges = []
    rises = np.full((len(costs), len(costs)), np.inf)
    i, j = np.triu_indices(len(costs), 1)
    rises[i, j] = clusters.united(i, j).costs(least) - costs[i] - costs[j]
    for _ in range(len(costs) - 1):
        a, b = (int(place) for place in np.unravel_index(np.argmin(rises), rises.shape))
        merges.append((a, b, a))
        union = clusters.united(a, np.array([b]))
        for whole, part in zip(clusters, union, strict=True):
            whole[a] = part[0]
        costs[a] = union.costs(least)[0]
        alive[b] = False
        rises[b] = np.inf
        rises[:, b] = np.inf
        others = np.flatnonzero(alive & (np.arange(len(costs)) != a))
        if len(others):
            risen = clusters.united(a, others).costs(least) - costs[a] - costs[others]
            rises[np.minimum(a, others), np.maximum(a, others)] = risen
    return np.array(merges, dtype=np.intp).reshape(-1, 3)


FEW_ROWS = 2000
"""Rows of a class up to which starts are tried by all of them."""

TRIAL_ROWS = 1000
"""Rows by which they are tried in a class of more."""

PER_COLUMN = 20
"""Such rows for each component and column, where that is more, up to `FEW_ROWS`."""

TRIAL_STEPS = 10
"""Steps of a trial."""

TRIAL_GAIN = 1e-4
"""Gain of log-likelihood a row at which a trial ends before."""

FINALISTS = 3
"""Partitions drawn at random from which EM is run to the end, where rows are few."""

ROUNDS = 10
"""Rounds of k-means."""

ALIKE = 1000
"""Gains of log-likelihood at which EM ends that two runs to the same maximum may differ by."""


class Trials(NamedTuple):
    """What EM came to from some starts, the most likely first.

    So many runs were to the end, 0 where trials are on some of the rows, and so many of them reached the
    maximum.
    """

    best_first: list[Components | Degenerate]
    ended: int
    reached: int


def tried(
    plain: Sequence[ClassRows],
    rows: Sequence[ClassRows],
    sizes: Sequence[int],
    form: str,
    plan: EMPlan,
    hierarchies: Sequence[Hierarchies],
    progress: Callable[[float], None] = lambda more: None,
) -> Trials:
    """The components that EM comes to from each start, or some steps towards them.

    The rows of the classes that are fitted together, in an order that depends on their values alone, are
    given as they are (plain), and in the coordinates in which EM runs. Each step of runs to the end is told.
    """
    rng = np.random.default_rng(plan.seed)
    places = [_some(row, size, rng) for row, size in zip(plain, sizes, strict=True)]
    some_plain = [_at(row, place) for row, place in zip(plain, places, strict=True)]
    some = [_at(row, place) for row, place in zip(rows, places, strict=True)]
    clustered = list(_clustered(rows, sizes, form, hierarchies))
    drawn = list(_drawn(some_plain, some, sizes, form, plan, rng))

    def shortly(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
        return sorted((_run(trial, some, form, TRIAL_GAIN, TRIAL_STEPS) for trial in trials), key=rank)

    if any(place is not None for place in places):
        return Trials(shortly([*clustered, *drawn]), 0, 0)
    drawn = shortly(drawn)

    def to_the_end(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
        runs = (_run(trial, rows, form, plan.tol, plan.maxiter, progress) for trial in trials)
        return sorted(runs, key=rank)

    ended = to_the_end([*clustered, *drawn[:FINALISTS]])
    if isinstance(ended[0], Degenerate):
        ended = to_the_end([*drawn[FINALISTS:], *ended])
    least = -rank(ended[0]) - alike(rows, plan)
    return Trials(ended, len(ended), sum(-rank(trial) >= least for trial in ended))


def alike(rows: Sequence[ClassRows], plan: EMPlan) -> float:
    """Difference of log-likelihoods up to which two runs came to the same maximum."""
    weight = sum(float(row.weights.sum()) for row in rows)
    return ALIKE * max(plan.tol, float(np.finfo(np.float64).eps)) * weight


def _run(
    start: Components | Degenerate, rows: Sequence[ClassRows], form: str, tol: float, maxiter: int,
    progress: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:  # fmt: skip
    if isinstance(start, Degenerate):
        return start
    return em.maximized(start, rows, form, tol=tol, maxiter=maxiter, progress=progress)


def rank(trial: Components | Degenerate) -> float:
    """By which the most likely components come first, and what has no maximum last."""
    return np.inf if isinstance(trial, Degenerate) else -trial.llf


def _clustered(
    rows: Sequence[ClassRows], sizes: Sequence[int], form: str, hierarchies: Sequence[Hierarchies]
) -> Iterator[Components | Degenerate]:
    """The components of the clusters of hierarchies, the first of each class with each other, and so on."""
    clustered = [
        ClassRows(row.z[:, tree.rows], np.ones(len(tree.rows)))
        for row, tree in zip(rows, hierarchies, strict=True)
    ]
    cut = [labels_of(tree, size) for tree, size in zip(hierarchies, sizes, strict=True)]
    for labels in zip(*cut, strict=False):
        parts = [(of == np.arange(size)[:, None]) * 1.0 for of, size in zip(labels, sizes, strict=True)]
        yield em.of_weights(clustered, parts, form, turns=em.FEW_TURNS)


def _drawn(
    plain: Sequence[ClassRows], rows: Sequence[ClassRows], sizes: Sequence[int], form: str, plan: EMPlan,
    rng: np.random.Generator,
) -> Iterator[Components | Degenerate]:  # fmt: skip
    """The components of clusters that k-means comes to from centres drawn at random."""
    metrics = [_whitened(row) for row in plain], [standardized(*row) for row in plain]
    for start in range(plan.starts):
        placed = zip(metrics[start % 2], plain, sizes, strict=True)
        parts = [_partition(z, row.weights, size, rng) for z, row, size in placed]
        yield em.of_weights(rows, parts, form, turns=em.FEW_TURNS)


def _some(row: ClassRows, size: int, rng: np.random.Generator) -> Codes | None:
    """Places of some of the rows of a class, drawn by their weights; None, for all, where they are few."""
    if float(row.weights.sum()) <= FEW_ROWS:
        return None
    some = min(max(TRIAL_ROWS, PER_COLUMN * size * len(row.z)), FEW_ROWS)
    return at_weights(row.weights, np.sort(rng.random(some)))


def _at(row: ClassRows, place: Codes | None) -> ClassRows:
    """The rows at some places, drawn by their weights."""
    return row if place is None else ClassRows(np.ascontiguousarray(row.z[:, place]), np.ones(len(place)))


def _whitened(row: ClassRows) -> Floats:
    """The rows (p, n) in axes in which the class has unit covariance, as far as it has one."""
    z, weights = row
    lengths, axes = np.linalg.eigh((z * weights) @ z.T / weights.sum())
    kept = lengths > 1e-12 * lengths[-1]
    return np.asarray((axes[:, kept] / np.sqrt(lengths[kept])).T @ z)


def _partition(z: Floats, weights: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Weights (size, n) of the rows in the cluster that each is in, zero in the others."""
    if size == 1:
        return weights[None]
    near = np.full(z.shape[1], np.inf)
    centres: list[Floats] = []
    for i in range(size):
        chance = weights if i == 0 or not near.any() else weights * near
        centres.append(z[:, at_weights(chance, rng.random(1))[0]])
        near = np.minimum(near, column_squares(z - centres[-1][:, None]))
    middle = np.array(centres)
    for _ in range(ROUNDS):
        squares = (middle**2).sum(axis=1)[:, None] - 2 * middle @ z
        members = (np.argmin(squares, axis=0) == np.arange(size)[:, None]) * weights
        sums = members.sum(axis=1)
        filled = sums > 0
        middle[filled] = (members[filled] @ z.T) / sums[filled, None]
    return np.asarray(members)


ROTATED = ("EVE", "VVE", "EEV", "VEV")
"""Forms that depend on lengths along axes."""

UNEVEN = 1e-2
"""Standard deviation of a column, over that of another, below which lengths along axes lose digits."""

OF_ALL = ("EEE", "VEE", "EVE", "VVE")
"""Forms that bear one frame for all classes only."""


@dataclass(frozen=True, slots=True, eq=False)
class StartFrame:
    """Coordinates u of rows z = M'u, with M (p, p) the root: upper triangular, or orthogonal if rotated."""

    root: Floats
    rotated: bool

    @property
    def log_volume(self) -> float:
        """Log-determinant of M."""
        return 0.0 if self.rotated else float(np.log(np.abs(np.diagonal(self.root))).sum())

    def enter(self, z: Floats) -> Floats:
        """The coordinates u (p, n) of deviations z (p, n)."""
        return np.asarray(self.root @ z) if self.rotated else Covariance.from_root(self.root).whiten(z)

    def leave(self, means: Floats) -> Floats:
        """Deviations z (G, p) of points u (G, p)."""
        return np.asarray(means @ self.root)

    def root_inside(self, covariance: Covariance) -> Covariance:
        """The covariance of u, from that of z."""
        if self.rotated:
            return Covariance.from_root(packed_triangle(covariance.root @ self.root.T))
        return Covariance.from_root(np.triu(self.enter(covariance.root.T).T))

    def root_outside(self, covariance: Covariance) -> Covariance:
        """The covariance of z, from that of u."""
        root = covariance.root @ self.root
        return Covariance.from_root(packed_triangle(root) if self.rotated else root)


Frames = Sequence[StartFrame] | None


def frames_of(rows: Sequence[ClassRows], form: str, moments: ClassMoments | None = None) -> Frames:
    """The frame of each class of those that are fitted together; None where it is not needed, or not borne.

    With diagonal moments of the rows, in their unit, columns that others determine are looked for. A
    LinAlgError where no covariance of the form has an inverse, for such columns or too few rows of a class.
    """
    if em.is_axial(form):
        return None
    places = [list(range(len(rows)))] if form in OF_ALL else [[k] for k in range(len(rows))]
    products = [(row.z * row.weights) @ row.z.T for row in rows]
    scatters = [np.asarray(np.sum([products[k] for k in place], axis=0)) for place in places]
    if not any(_loses_digits(scatter, form) for scatter in scatters):
        return None
    roots = [_root([rows[k] for k in place]) for place in places]
    if moments is not None:
        of_frames = [moments.classes(np.array(place)) for place in places]
        flat = [_is_flat(root, some) for root, some in zip(roots, of_frames, strict=True)]
        # The shape that all components have may be that of the other classes.
        if all(flat) if form in ROTATED else any(flat):
            raise np.linalg.LinAlgError
    if form in ROTATED:
        frames = [StartFrame(np.linalg.svd(root)[2], rotated=True) for root in roots]
    else:
        lengths = np.abs([np.diagonal(root) for root in roots])
        if not lengths.all():
            raise np.linalg.LinAlgError
        volumes = np.log(lengths).mean(axis=1)
        # Equal volumes stay equal where all frames have one.
        units = np.exp(volumes.mean() - volumes) if form == "EVV" else np.ones(len(roots))
        frames = [StartFrame(root * unit, rotated=False) for root, unit in zip(roots, units, strict=True)]
    return frames * len(rows) if form in OF_ALL else frames


def _loses_digits(scatter: Floats, form: str) -> bool:
    """Whether covariances of the form lose digits in these coordinates."""
    squares = np.diagonal(scatter)
    uneven = form in ROTATED and squares.min() < UNEVEN**2 * squares.max()
    return bool(uneven) or ill_conditioned(scatter)


def _root(rows: Sequence[ClassRows]) -> Floats:
    """Upper triangular root (p, p) of the scatter of rows over their weight, by QR of the rows."""
    weight = sum(float(row.weights.sum()) for row in rows)
    return packed_triangle(np.concatenate([row.z * np.sqrt(row.weights / weight) for row in rows], axis=1).T)


def _is_flat(root: Floats, moments: ClassMoments) -> bool:
    """Whether a column of a root (p, p) of moments over their weight says nothing beyond those before it."""
    whole = root * np.sqrt(moments.total)
    return bool(dependencies(replace(moments, scatters=(whole.T @ whole)[None], roots=whole[None])))


def rows_in_frames(rows: Sequence[ClassRows], frames: Frames) -> list[ClassRows]:
    """The rows of each class in the coordinates of its frame."""
    if frames is None:
        return list(rows)
    return [ClassRows(frame.enter(row.z), row.weights) for row, frame in zip(rows, frames, strict=True)]


def in_frames(components: Components, frames: Frames) -> Components:
    """Components in the coordinates of the frames of their classes."""
    if frames is None:
        return components
    means = components.means.copy()
    covariances = []
    for at, frame in zip(components.places(), frames, strict=True):
        means[at] = frame.enter(components.means[at].T).T
        covariances += [frame.root_inside(each) for each in components.covariances[at]]
    axes = None if components.axes is None else frames[0].root @ components.axes
    return replace(components, means=means, covariances=tuple(covariances), axes=axes)


def out_of_frames(components: Components, rows: Sequence[ClassRows], frames: Frames) -> Components:
    """Components of rows in the coordinates that these have without frames, and the log-likelihoods there."""
    if frames is None:
        return components
    means = components.means.copy()
    covariances = []
    for at, frame in zip(components.places(), frames, strict=True):
        means[at] = frame.leave(components.means[at])
        covariances += [frame.root_outside(each) for each in components.covariances[at]]
    pairs = zip(rows, frames, strict=True)
    log_volumes = sum(float(row.weights.sum()) * frame.log_volume for row, frame in pairs)
    axes = None if components.axes is None else frames[0].root.T @ components.axes
    path = tuple(llf - log_volumes for llf in components.path)
    return replace(components, means=means, covariances=tuple(covariances), axes=axes, path=path)
