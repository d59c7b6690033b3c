"""Initial partitions for EM, and coordinates in which EM does not lose digits.

Used by `mixture` and `incomplete`. Partitions are drawn at random or come from hierarchical clustering.

A random partition is the result of k-means from centres that are drawn far apart (Arthur & Vassilvitskii,
2007, Proceedings of SODA, 1027-1035). The metric alternates between the covariance of the class, which finds
clusters along directions of small variance, and standardized columns, which finds clusters along directions
of large variance. Neither depends on the units of the columns. Partitions of hierarchies are tried as well.

EM takes some steps from each partition, and is run to convergence from the best (Biernacki, Celeux & Govaert,
2003, Computational Statistics & Data Analysis 41, 561-575). With few rows it is run to convergence from the
partitions of hierarchies and from the best `N_FINALISTS` random ones, which shows how many of these reach the
maximum: ranks after some steps can differ from ranks at convergence. With many rows, the steps use a sample
of the rows, and one run continues with all of them.

Rows are drawn by position, and callers sort the rows by value; a fit therefore does not depend on the order
of the table.

*Hierarchies.* Clusters are merged in pairs, each time the pair whose union costs least. Two hierarchies are
built, neither of which depends on the units of the columns. The first is by Ward (1963, Journal of the
American Statistical Association 58, 236-244): the cost of a cluster is its sum of squares, in axes in which
the class has unit covariance. The second is model-based (Banfield & Raftery, 1993, Biometrics 49, 803-821;
Fraley, 1998, SIAM Journal on Scientific Computing 20, 270-281): a cluster of n_k of the n rows, with
scatter W_k, has its own covariance and the cost

    n_k ln( |W_k / n_k| + (tr W_k + tr W / (n p)) / n_k ) ,

with W the scatter of all rows; the traces keep clusters of few rows from being singular. Its axes are
the principal axes of the standardized columns, each divided by the root of its singular value (Scrucca &
Raftery, 2015, Advances in Data Analysis and Classification 9, 447-460).

A class of many rows is clustered by a sample of `MAX_CLUSTERED_ROWS` of them, at equal steps of their order.
Merges of the second hierarchy begin at `N_WARD_CLUSTERS` of Ward's clusters and use the `MAX_CLUSTERING_AXES`
longest axes of the class.

*Coordinates.* Scatters square the condition number of the rows: if a column is nearly a linear combination of
others, they lose twice as many digits as the data. EM therefore runs in other coordinates if the form of the
covariances is invariant to the transformation. With R the triangular root of the scatter within a class, from
a QR decomposition of its rows, the whitened rows R'^-1 z do not have such columns, and the root of a
covariance R'SR is the root of S times R. EEE and VEE, whose covariances are multiples of one matrix, are
invariant to a common R; EVV to a separate R for each class, all of one determinant; VVV to any R for each
class.

EVE, VVE, EEV and VEV are invariant to rotations, a common one (EVE and VVE) or one for each class. In
principal axes the entries of a scatter have as many digits as the rows have along these axes. Forms with
orientation I use only variances, which other columns cannot affect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.cluster.hierarchy

from discrim.core.covariance.covariance import Covariance, dependencies
from discrim.core.mixtures import em
from discrim.core.mixtures.em import ClassRows, Components, Degenerate, EMPlan
from discrim.core.moments.moments import ClassMoments, column_squares
from discrim.core.moments.row_sums import is_scatter_ill_conditioned, triangular_root
from discrim.core.numerics.arrays import Codes, Floats

MAX_CLUSTERED_ROWS = 300
"""Maximum number of rows of a class that are clustered."""

N_WARD_CLUSTERS = 40
"""Number of clusters at which the model-based hierarchy begins."""

MAX_CLUSTERING_AXES = 6
"""Number of principal axes that the model-based hierarchy uses."""

MIN_SINGULAR_VALUE_RATIO = 1e-6
"""Singular value, relative to the largest, below which an axis is not used for clustering."""


class Hierarchies(NamedTuple):
    """Hierarchical clusterings of the rows of a class.

    Attributes
    ----------
    rows : (m,) int
        Positions of the clustered rows; a row of large weight can occur several times.
    trees : list of (labels, merges)
        Ward's hierarchy and the model-based one; empty if there are fewer than two rows or all are equal.
        Each consists of the initial clusters, labels (m,), and merges (t, 3) in order: the labels of two
        clusters and of their union.
    """

    rows: Codes
    trees: list[tuple[Codes, Codes]]


def positions_at_weights(weights: Floats, fractions: Floats) -> Codes:
    """Return the first positions at which the cumulative weight exceeds fractions of the total weight.

    A row that is repeated yields the same positions as one row with the total weight.

    Parameters
    ----------
    weights : (n,) float
        Weights of the rows.
    fractions : (m,) float
        Fractions between 0 and 1; at 1 the result is the last position.

    Returns
    -------
    (m,) int
    """
    cumulative_weights = np.cumsum(weights)
    return np.asarray(
        np.minimum(
            np.searchsorted(cumulative_weights, fractions * cumulative_weights[-1], side="right"),
            len(weights) - 1,
        )
    )


def divide_by_sd(z: Floats, weights: Floats, rows: Codes | slice = slice(None)) -> Floats:
    """Divide deviations by the standard deviation (divisor: total weight) of their column over all rows.

    Parameters
    ----------
    z : (p, n) float
        Deviations of rows from their mean, one row per column of the array, without missing values.
    weights : (n,) float
        Weights of the rows.
    rows : (m,) int or slice
        Rows to return; all by default.

    Returns
    -------
    (p, m) float
        Zero for constant columns.
    """
    sd = np.sqrt(np.einsum("ij,ij,j->i", z, z, weights) / weights.sum())
    return np.asarray(z[:, rows] / np.where(sd > 0, sd, 1.0)[:, None])


def build_hierarchies(z: Floats, weights: Floats) -> Hierarchies:
    """Build Ward's and the model-based hierarchy of the rows of a class.

    The module docstring defines both. The rows are standardized here and can be in any units.

    Parameters
    ----------
    z : (p, n) float
        Deviations of one row or more from the class mean, one row per column of the array, without missing
        values. Their order determines the sample.
    weights : (n,) float
        Weights of the rows.

    Returns
    -------
    Hierarchies
        Its `trees` are empty if there are fewer than two rows or all rows are equal.
    """
    n_rows = max(int((weights > 0).sum()), round(float(weights.sum())))
    n_sampled = min(MAX_CLUSTERED_ROWS, n_rows)
    rows = positions_at_weights(weights, (np.arange(n_sampled) + 0.5) / n_sampled)
    standardized_rows = divide_by_sd(z, weights, rows)
    left_vectors, singular_values, _ = np.linalg.svd(standardized_rows.T, full_matrices=False)
    is_used = singular_values > MIN_SINGULAR_VALUE_RATIO * singular_values[0]
    if n_sampled < 2 or not is_used.any():
        return Hierarchies(rows, [])
    left_vectors = left_vectors[:, is_used]
    singular_values = singular_values[is_used]
    points = left_vectors[:, :MAX_CLUSTERING_AXES] * np.sqrt(singular_values[:MAX_CLUSTERING_AXES])
    ward_labels = _merge_to_size(np.arange(n_sampled), _ward_merges(points), min(n_sampled, N_WARD_CLUSTERS))
    return Hierarchies(
        rows,
        [
            (np.arange(n_sampled), _ward_merges(left_vectors)),
            (ward_labels, _model_based_merges(points, ward_labels)),
        ],
    )


def cluster_labels(hierarchies: Hierarchies, size: int) -> list[Codes]:
    """Return labels (m,) of `size` clusters, numbered from 0, for each hierarchy.

    Hierarchies that start from fewer than `size` clusters are omitted.
    """
    trees = (tree for tree in hierarchies.trees if size <= len(tree[1]) + 1)
    return [_merge_to_size(labels, merges, size) for labels, merges in trees]


def _merge_to_size(labels: Codes, merges: Codes, size: int) -> Codes:
    """Apply merges until a number of clusters remains.

    Parameters
    ----------
    labels : (m,) int
        Initial clusters.
    merges : (t, 3) int
        Labels of two clusters and of their union, one merge per row, in order.
    size : int
        Number of clusters that remain.

    Returns
    -------
    (m,) int
        Labels 0, ..., size - 1.
    """
    labels = labels.copy()
    for first, second, union in merges[: len(merges) + 1 - size]:
        labels[(labels == first) | (labels == second)] = union
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def _ward_merges(points: Floats) -> Codes:
    """Return Ward's merges (m - 1, 3) of two or more points (m, q): labels of two clusters and their union.

    Points are the clusters 0, ..., m - 1; the union of merge i has the label m + i.
    """
    tree = scipy.cluster.hierarchy.linkage(points, method="ward")
    unions = len(points) + np.arange(len(tree))
    return np.column_stack([tree[:, :2].astype(np.intp), unions])


class _Clusters(NamedTuple):
    """Sufficient statistics of m clusters of points with q coordinates.

    Attributes
    ----------
    counts : (m,) float
        Numbers of points.
    means : (m, q) float
        Means.
    scatters : (m, q, q) float
        Sums of squares and products about the means.
    """

    counts: Floats
    means: Floats
    scatters: Floats

    def merge(self, i: Codes | int, j: Codes) -> _Clusters:
        """Return the unions of pairs of clusters.

        Parameters
        ----------
        i, j : (t,) int
            Positions of the two clusters of each pair; i can be one cluster for all pairs.

        Returns
        -------
        _Clusters
            The t unions.
        """
        counts = self.counts[i] + self.counts[j]
        mean_differences = self.means[j] - self.means[i]
        proportions = self.counts[j] / counts
        between_scatters = (
            (self.counts[i] * proportions)[:, None, None]
            * mean_differences[:, :, None]
            * mean_differences[:, None, :]
        )
        means = self.means[i] + proportions[:, None] * mean_differences
        return _Clusters(counts, means, self.scatters[i] + self.scatters[j] + between_scatters)

    def costs(self, mean_variance: float) -> Floats:
        """Return the costs (m,) of clusters in the model-based hierarchy (formula in the module docstring).

        `mean_variance` is tr W / (n q), with W the scatter of all n points.
        """
        covariances = self.scatters / self.counts[:, None, None]
        traces = np.trace(covariances, axis1=1, axis2=2) + mean_variance / self.counts
        determinants = np.maximum(np.linalg.det(covariances), 0.0)
        return np.asarray(self.counts * np.log(determinants + traces))


def _model_based_merges(points: Floats, labels: Codes) -> Codes:
    """Merge clusters by the model-based criterion until one remains.

    Parameters
    ----------
    points : (m, q) float
        Coordinates of the rows, with mean zero.
    labels : (m,) int
        Initial clusters, numbered from 0 without gaps.

    Returns
    -------
    (t, 3) int
        Merges, one fewer than the initial clusters: labels of two clusters and of their union, which has the
        label of the first cluster.
    """
    n, q = points.shape
    members = labels == np.arange(labels.max() + 1)[:, None]
    counts = members.sum(axis=1).astype(np.float64)
    means = members @ points / counts[:, None]
    deviations = points - means[labels]
    scatters = np.array([deviations[rows].T @ deviations[rows] for rows in members])
    clusters = _Clusters(counts, means, scatters)
    mean_variance = float((points**2).sum() / (n * q))
    costs = clusters.costs(mean_variance)
    is_current = np.ones(len(counts), dtype=bool)
    merges = []
    cost_increases = np.full((len(costs), len(costs)), np.inf)
    i, j = np.triu_indices(len(costs), 1)
    cost_increases[i, j] = clusters.merge(i, j).costs(mean_variance) - costs[i] - costs[j]
    for _ in range(len(costs) - 1):
        a, b = (int(index) for index in np.unravel_index(np.argmin(cost_increases), cost_increases.shape))
        merges.append((a, b, a))
        union = clusters.merge(a, np.array([b]))
        for statistic, merged_statistic in zip(clusters, union, strict=True):
            statistic[a] = merged_statistic[0]
        costs[a] = union.costs(mean_variance)[0]
        is_current[b] = False
        cost_increases[b] = np.inf
        cost_increases[:, b] = np.inf
        others = np.flatnonzero(is_current & (np.arange(len(costs)) != a))
        if len(others):
            new_increases = clusters.merge(a, others).costs(mean_variance) - costs[a] - costs[others]
            cost_increases[np.minimum(a, others), np.maximum(a, others)] = new_increases
    return np.array(merges, dtype=np.intp).reshape(-1, 3)


MAX_TRIAL_ROWS = em.MAX_SMALL_CLASS
"""Maximum weight of a class for which starts are compared on all its rows, and maximum sample size."""

MIN_TRIAL_ROWS = 1000
"""Minimum sample size on which starts are compared in a larger class."""

TRIAL_ROWS_PER_COLUMN = 20
"""Sample size per component and column, if that is larger, up to `MAX_TRIAL_ROWS`."""

MAX_TRIAL_STEPS = 10
"""Maximum number of steps of EM in a comparison of starts."""

TRIAL_TOLERANCE = 1e-4
"""Gain of log-likelihood per unit of weight at which these steps end."""

N_FINALISTS = 3
"""Number of random partitions from which EM is run to convergence, if there are few rows."""

KMEANS_ITERATIONS = 10
"""Number of iterations of k-means."""

SAME_MAXIMUM_FACTOR = 1000
"""Factor of EM's tolerance: runs whose log-likelihoods differ by less have reached the same maximum."""


class Trials(NamedTuple):
    """Results of EM from several starts.

    Attributes
    ----------
    results : list of Components or Degenerate
        Results in decreasing order of the likelihood, degenerate ones last.
    n_converged : int
        Number of runs to convergence, including degenerate ones; 0 if starts were compared by some steps on
        a sample of the rows.
    n_reached : int
        Number of these runs whose log-likelihood is the largest one up to `same_maximum_tolerance`.
    """

    results: list[Components | Degenerate]
    n_converged: int
    n_reached: int


def run_starts(
    original_rows: Sequence[ClassRows],
    rows: Sequence[ClassRows],
    sizes: Sequence[int],
    form: str,
    plan: EMPlan,
    hierarchies: Sequence[Hierarchies],
    progress: Callable[[float], None] = lambda more: None,
) -> Trials:
    """Run EM from each start, to convergence or for some steps on a sample of the rows.

    If the total weight of a class exceeds `MAX_TRIAL_ROWS`, starts are only compared by at most
    `MAX_TRIAL_STEPS` steps, which use samples of such classes. Otherwise EM is run to convergence from the
    starts of hierarchies and the best `N_FINALISTS` random ones, and from the other random ones only if all
    these degenerate.

    Parameters
    ----------
    original_rows : sequence of ClassRows
        Complete rows of the classes that are fitted together, in an order that depends only on their values.
    rows : sequence of ClassRows
        The same rows in the coordinates in which EM runs.
    sizes : sequence of int
        Number of components of each class.
    form : str
        Covariance form, one of `em.FORMS`.
    plan : EMPlan
        Options of EM.
    hierarchies : sequence of Hierarchies
        Hierarchical clusterings of each class.
    progress : callable
        Called with 1 after each step of a run to convergence.

    Returns
    -------
    Trials
        Results in the coordinates of `rows`, the best first. Without runs to convergence, they are the
        components after the trial steps, and both numbers are 0.
    """
    rng = np.random.default_rng(plan.seed)
    samples = [_sample_rows(row, size, rng) for row, size in zip(original_rows, sizes, strict=True)]
    sampled_original = [_select_rows(row, sample) for row, sample in zip(original_rows, samples, strict=True)]
    sampled_rows = [_select_rows(row, sample) for row, sample in zip(rows, samples, strict=True)]
    hierarchical_starts = list(_hierarchical_starts(rows, sizes, form, hierarchies))
    random_starts = list(_random_starts(sampled_original, sampled_rows, sizes, form, plan, rng))

    def run_steps(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
        """Run at most `MAX_TRIAL_STEPS` of EM on the samples from each start.

        Results are sorted by decreasing likelihood, degenerate ones last.
        """
        runs = em.run_em_from_starts(trials, sampled_rows, form, tol=TRIAL_TOLERANCE, maxiter=MAX_TRIAL_STEPS)
        return sorted(runs, key=likelihood_sort_key)

    if any(sample is not None for sample in samples):
        return Trials(run_steps([*hierarchical_starts, *random_starts]), 0, 0)
    random_starts = run_steps(random_starts)

    def run_to_convergence(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
        """Run EM on all rows from each start, to convergence or `plan.maxiter` steps.

        Results are sorted by decreasing likelihood, degenerate ones last.
        """
        runs = em.run_em_from_starts(
            trials, rows, form, tol=plan.tol, maxiter=plan.maxiter, progress=progress
        )
        return sorted(runs, key=likelihood_sort_key)

    results = run_to_convergence([*hierarchical_starts, *random_starts[:N_FINALISTS]])
    if isinstance(results[0], Degenerate):
        results = run_to_convergence([*random_starts[N_FINALISTS:], *results])
    min_llf = -likelihood_sort_key(results[0]) - same_maximum_tolerance(rows, plan)
    return Trials(results, len(results), sum(-likelihood_sort_key(trial) >= min_llf for trial in results))


def same_maximum_tolerance(rows: Sequence[ClassRows], plan: EMPlan) -> float:
    """Return the difference of log-likelihoods up to which two runs have reached the same maximum.

    It is `SAME_MAXIMUM_FACTOR` times EM's tolerance (`plan.tol`, or the machine epsilon if that is larger)
    times the total weight of the rows.
    """
    weight = sum(float(row.weights.sum()) for row in rows)
    return SAME_MAXIMUM_FACTOR * max(plan.tol, float(np.finfo(np.float64).eps)) * weight


def likelihood_sort_key(trial: Components | Degenerate) -> float:
    """Return the sort key of a result: increasing for decreasing likelihood, infinite if degenerate."""
    return np.inf if isinstance(trial, Degenerate) else -trial.llf


def _hierarchical_starts(
    rows: Sequence[ClassRows], sizes: Sequence[int], form: str, hierarchies: Sequence[Hierarchies]
) -> Iterator[Components | Degenerate]:
    """Estimate starting components from hierarchical clusters by one M step.

    Of each class the hierarchies with at least as many initial clusters as the class has components are used;
    the i-th start combines the i-th of these of every class. There are as many starts as the class with the
    fewest such hierarchies has, possibly none.

    Parameters
    ----------
    rows : sequence of K ClassRows
        Rows of each class, in the coordinates of EM.
    sizes : sequence of K int
        Number of components, and therefore of clusters, of each class.
    form : str
        Covariance form, one of `em.FORMS`.
    hierarchies : sequence of K Hierarchies
        Hierarchical clusterings of each class.

    Yields
    ------
    Components or Degenerate
        Components with an empty `path`; Degenerate if one is empty or singular, for example because its
        cluster has too few rows.
    """
    clustered_rows = [
        ClassRows(row.z[:, tree.rows], np.ones(len(tree.rows)))
        for row, tree in zip(rows, hierarchies, strict=True)
    ]
    labels_by_class = [cluster_labels(tree, size) for tree, size in zip(hierarchies, sizes, strict=True)]
    for labels in zip(*labels_by_class, strict=False):
        weights_by_class = [
            (class_labels == np.arange(size)[:, None]) * 1.0
            for class_labels, size in zip(labels, sizes, strict=True)
        ]
        yield em.m_step(clustered_rows, weights_by_class, form, max_iterations=em.EM_STEP_ITERATIONS)


def _random_starts(
    original_rows: Sequence[ClassRows], rows: Sequence[ClassRows], sizes: Sequence[int], form: str,
    plan: EMPlan, rng: np.random.Generator,
) -> Iterator[Components | Degenerate]:  # fmt: skip
    """Estimate starting components from k-means clusters with random initial centres, by one M step.

    Starts alternate between whitened rows and rows divided by standard deviations.

    Parameters
    ----------
    original_rows, rows : sequence of ClassRows
        Rows in the original coordinates and in the coordinates of EM.
    sizes : sequence of int
        Number of components of each class.
    form : str
        Covariance form, one of `em.FORMS`.
    plan : EMPlan
        Options of EM; they state the number of starts.
    rng : numpy.random.Generator
        Source of random numbers.

    Yields
    ------
    Components or Degenerate
        Components with an empty `path`; Degenerate if one is empty or singular, for example because its
        cluster has too few rows.
    """
    metrics = [_whiten_rows(row) for row in original_rows], [divide_by_sd(*row) for row in original_rows]
    for start in range(plan.starts):
        class_metrics = zip(metrics[start % 2], original_rows, sizes, strict=True)
        weights_by_class = [_kmeans_weights(z, row.weights, size, rng) for z, row, size in class_metrics]
        yield em.m_step(rows, weights_by_class, form, max_iterations=em.EM_STEP_ITERATIONS)


def _sample_rows(row: ClassRows, size: int, rng: np.random.Generator) -> Codes | None:
    """Draw a sample of the rows of a class, with replacement and in proportion to their weights.

    Parameters
    ----------
    row : ClassRows
        Rows of the class.
    size : int
        Number of components of the class. The size m of the sample is proportional to it and to the number
        of columns, between `MIN_TRIAL_ROWS` and `MAX_TRIAL_ROWS`.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    (m,) int or None
        Positions of the sampled rows, in increasing order; a row can be drawn more than once. None if the
        total weight of the class is at most `MAX_TRIAL_ROWS`; then all rows are used.
    """
    if float(row.weights.sum()) <= MAX_TRIAL_ROWS:
        return None
    sample_size = min(max(MIN_TRIAL_ROWS, TRIAL_ROWS_PER_COLUMN * size * len(row.z)), MAX_TRIAL_ROWS)
    return positions_at_weights(row.weights, np.sort(rng.random(sample_size)))


def _select_rows(row: ClassRows, sample: Codes | None) -> ClassRows:
    """Return the rows at the positions of a sample with weights of one, or all rows if it is None."""
    return row if sample is None else ClassRows(np.ascontiguousarray(row.z[:, sample]), np.ones(len(sample)))


def _whiten_rows(row: ClassRows) -> Floats:
    """Return the rows (r, n), one per column of the array, in r axes in which the class has unit covariance.

    Axes whose variance is at most 1e-12 times the largest are dropped.
    """
    z, weights = row
    eigenvalues, axes = np.linalg.eigh((z * weights) @ z.T / weights.sum())
    is_positive = eigenvalues > 1e-12 * eigenvalues[-1]
    return np.asarray((axes[:, is_positive] / np.sqrt(eigenvalues[is_positive])).T @ z)


def _kmeans_weights(z: Floats, weights: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Partition the rows of a class by `KMEANS_ITERATIONS` of k-means with k-means++ initialization.

    Parameters
    ----------
    z : (q, n) float
        Rows in the coordinates that define the metric, one row per column of the array.
    weights : (n,) float
        Weights of the rows.
    size : int
        Number of clusters.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    (size, n) float
        Weight of each row in its cluster, zero in the others.
    """
    if size == 1:
        return weights[None]
    squared_distances = np.full(z.shape[1], np.inf)
    centres: list[Floats] = []
    for i in range(size):
        draw_weights = weights if i == 0 or not squared_distances.any() else weights * squared_distances
        centres.append(z[:, positions_at_weights(draw_weights, rng.random(1))[0]])
        squared_distances = np.minimum(squared_distances, column_squares(z - centres[-1][:, None]))
    centre_array = np.array(centres)
    clusters = np.arange(size)[:, None]
    labels = np.full(z.shape[1], -1)
    for _ in range(KMEANS_ITERATIONS):
        previous_labels = labels
        labels = np.argmin((centre_array**2).sum(axis=1)[:, None] - 2 * centre_array @ z, axis=0)
        if (labels == previous_labels).all():
            break
        members = (labels == clusters) * weights
        sums = members.sum(axis=1)
        is_nonempty = sums > 0
        centre_array[is_nonempty] = (members[is_nonempty] @ z.T) / sums[is_nonempty, None]
    return np.asarray(members)


ROTATION_INVARIANT_FORMS = ("EVE", "VVE", "EEV", "VEV")
"""Forms that depend on lengths along axes and are invariant only to rotations."""

MIN_SD_RATIO = 1e-2
"""Ratio of the smallest to the largest standard deviation below which these forms lose digits."""

COMMON_FRAME_FORMS = ("EEE", "VEE", "EVE", "VVE")
"""Forms that require one frame for all classes, because components share a matrix or axes."""


@dataclass(frozen=True, slots=True, eq=False)
class StartFrame:
    """Coordinates u in which EM runs, defined by z = M'u for deviations z from the class mean.

    Attributes
    ----------
    root : (p, p) float
        M: orthogonal if `is_rotation`, otherwise upper triangular.
    is_rotation : bool
        Whether M is orthogonal.
    """

    root: Floats
    is_rotation: bool

    @property
    def log_volume(self) -> float:
        """Logarithm of the absolute determinant of M."""
        return 0.0 if self.is_rotation else float(np.log(np.abs(np.diagonal(self.root))).sum())

    def to_frame(self, z: Floats) -> Floats:
        """Return the coordinates u (p, n) of deviations z (p, n), one row per column of the array."""
        return np.asarray(self.root @ z) if self.is_rotation else Covariance.from_root(self.root).whiten(z)

    def from_frame(self, means: Floats) -> Floats:
        """Return the deviations z (G, p) of G points, such as means, with coordinates u (G, p).

        Unlike in `to_frame`, each point is a row of the arrays.
        """
        return np.asarray(means @ self.root)

    def covariance_to_frame(self, covariance: Covariance) -> Covariance:
        """Convert a covariance of the coordinates z, stored as a (p, p) root, to the coordinates u."""
        if self.is_rotation:
            return Covariance.from_root(triangular_root(covariance.root @ self.root.T))
        return Covariance.from_root(np.triu(self.to_frame(covariance.root.T).T))

    def covariance_from_frame(self, covariance: Covariance) -> Covariance:
        """Convert a covariance of the coordinates u, stored as a (p, p) root, to the coordinates z."""
        root = covariance.root @ self.root
        return Covariance.from_root(triangular_root(root) if self.is_rotation else root)


Frames = Sequence[StartFrame] | None
"""One frame for each class, or None if EM runs in the original coordinates."""


def choose_frames(rows: Sequence[ClassRows], form: str, moments: ClassMoments | None = None) -> Frames:
    """Choose the frames (coordinates) in which EM does not lose digits.

    Parameters
    ----------
    rows : sequence of ClassRows
        Complete rows of the classes that are fitted together.
    form : str
        Covariance form, one of `em.FORMS`.
    moments : ClassMoments or None
        Diagonal moments of the rows in the same units, to detect linearly dependent columns; None to detect
        only exact singularity.

    Returns
    -------
    list of StartFrame or None
        One frame for each class, equal ones for `COMMON_FRAME_FORMS`. None if no scatter loses digits or the
        covariances of the form are diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        Every covariance of the form is singular: columns are linearly dependent within a class, or over all
        classes for `COMMON_FRAME_FORMS`. For `ROTATION_INVARIANT_FORMS` only if this is true of every frame
        and `moments` are passed.
    """
    if em.is_axial(form):
        return None
    groups = [list(range(len(rows)))] if form in COMMON_FRAME_FORMS else [[k] for k in range(len(rows))]
    products = [(row.z * row.weights) @ row.z.T for row in rows]
    scatters = [np.asarray(np.sum([products[k] for k in group], axis=0)) for group in groups]
    if not any(_loses_digits(scatter, form) for scatter in scatters):
        return None
    roots = [_covariance_root([rows[k] for k in group]) for group in groups]
    if moments is not None:
        moments_by_frame = [moments.select_classes(np.array(group)) for group in groups]
        is_dependent = [
            _has_dependent_columns(root, group_moments)
            for root, group_moments in zip(roots, moments_by_frame, strict=True)
        ]
        # With a common shape, classes that are not singular determine it for the others.
        if all(is_dependent) if form in ROTATION_INVARIANT_FORMS else any(is_dependent):
            raise np.linalg.LinAlgError
    if form in ROTATION_INVARIANT_FORMS:
        frames = [StartFrame(np.linalg.svd(root)[2], is_rotation=True) for root in roots]
    else:
        diagonals = np.abs([np.diagonal(root) for root in roots])
        if not diagonals.all():
            raise np.linalg.LinAlgError
        volumes = np.log(diagonals).mean(axis=1)
        # Volumes stay equal only if all frames have the same determinant.
        volume_factors = np.exp(volumes.mean() - volumes) if form == "EVV" else np.ones(len(roots))
        frames = [
            StartFrame(root * volume_factor, is_rotation=False)
            for root, volume_factor in zip(roots, volume_factors, strict=True)
        ]
    return frames * len(rows) if form in COMMON_FRAME_FORMS else frames


def _loses_digits(scatter: Floats, form: str) -> bool:
    """Return whether covariances of the form lose digits, given the scatter (p, p) in these coordinates.

    True if the scatter is ill-conditioned or, for `ROTATION_INVARIANT_FORMS`, the ratio of the smallest to
    the largest standard deviation of its columns is below `MIN_SD_RATIO`.
    """
    squares = np.diagonal(scatter)
    is_uneven = form in ROTATION_INVARIANT_FORMS and squares.min() < MIN_SD_RATIO**2 * squares.max()
    return bool(is_uneven) or is_scatter_ill_conditioned(scatter)


def _covariance_root(rows: Sequence[ClassRows]) -> Floats:
    """Return R (p, p), upper triangular, with R'R the pooled covariance of z within the classes, by QR.

    Its diagonal can be negative, and zero if columns are collinear. The divisor of the covariance is the sum
    of the weights of all rows.
    """
    total_weight = sum(float(row.weights.sum()) for row in rows)
    return triangular_root(
        np.concatenate([row.z * np.sqrt(row.weights / total_weight) for row in rows], axis=1).T
    )


def _has_dependent_columns(root: Floats, moments: ClassMoments) -> bool:
    """Return whether the root (p, p) of a covariance has a column that depends on earlier columns."""
    scatter_root = root * np.sqrt(moments.total)
    return bool(
        dependencies(
            replace(moments, scatters=(scatter_root.T @ scatter_root)[None], roots=scatter_root[None])
        )
    )


def rows_to_frames(rows: Sequence[ClassRows], frames: Frames) -> list[ClassRows]:
    """Transform the rows of each class to its frame; without frames, return them unchanged."""
    if frames is None:
        return list(rows)
    return [ClassRows(frame.to_frame(row.z), row.weights) for row, frame in zip(rows, frames, strict=True)]


def components_to_frames(components: Components, frames: Frames) -> Components:
    """Transform means, covariances and common axes to the frames of the classes; not the path.

    Without frames, the components are returned unchanged.
    """
    if frames is None:
        return components
    means = components.means.copy()
    covariances = []
    for component_slice, frame in zip(components.class_slices(), frames, strict=True):
        means[component_slice] = frame.to_frame(components.means[component_slice].T).T
        covariances += [
            frame.covariance_to_frame(covariance) for covariance in components.covariances[component_slice]
        ]
    axes = None if components.axes is None else frames[0].root @ components.axes
    return replace(components, means=means, covariances=tuple(covariances), axes=axes)


def components_from_frames(components: Components, rows: Sequence[ClassRows], frames: Frames) -> Components:
    """Transform components, and their log-likelihoods, from the frames to the original coordinates.

    Parameters
    ----------
    components : Components
        Components in the coordinates of the frames.
    rows : sequence of ClassRows
        Rows of the classes, in any coordinates; only their weights are used.
    frames : sequence of StartFrame or None
        Frames of the classes; None if the components are not transformed.

    Returns
    -------
    Components
        Means, covariances, common axes and the log-likelihoods of `path` are transformed; sizes, mixing
        proportions and `converged` are the same.
    """
    if frames is None:
        return components
    means = components.means.copy()
    covariances = []
    for component_slice, frame in zip(components.class_slices(), frames, strict=True):
        means[component_slice] = frame.from_frame(components.means[component_slice])
        covariances += [
            frame.covariance_from_frame(covariance) for covariance in components.covariances[component_slice]
        ]
    pairs = zip(rows, frames, strict=True)
    log_volumes = sum(float(row.weights.sum()) * frame.log_volume for row, frame in pairs)
    axes = None if components.axes is None else frames[0].root.T @ components.axes
    path = tuple(llf - log_volumes for llf in components.path)
    return replace(components, means=means, covariances=tuple(covariances), axes=axes, path=path)
