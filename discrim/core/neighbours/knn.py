"""k nearest neighbours: votes, posteriors, and errors of every k without each row, from one search.

Theory (Fix & Hodges, 1951, USAF School of Aviation Medicine, report 4; Cover & Hart, 1967, IEEE Transactions
on Information Theory 13, 21-27). Of the rows that are as near to x as its k-th nearest, or nearer, k_g are of
class g, which has n_g rows: k_g / (n_g V) estimates the density of the class at x, with V the volume of the
ball. With priors pi_g the posterior is thus proportional to pi_g k_g / n_g, and to k_g where the priors are
the class proportions.

Classes of equal posteriors are told apart, in this order, by the nearest of the rows that vote for each, by
the larger prior, by the order of the levels.

*Rows are left out* of one search. Columns keep the standard deviations of all rows, which know nothing of
classes. The class proportions, where they are the prior, are those of the other rows, by which votes count
one as before, and ties are broken. Where the prior is given, n_g / pi_g stays: with the counts of the rows
that are left, a row's own class would have heavier votes, and win its ties. The covariance within classes, of
Mahalanobis' distance, is that of the other rows. Without row i of class g, of n_g rows, the scatter W within
classes is W - n_g / (n_g - 1) u u', with u the row's deviation from its class mean. In coordinates where the
pooled covariance W / f is the identity, with

    a = sqrt(n_g / ((n_g - 1) f)) u   and the leverage   h = a'a <= 1,

Sherman and Morrison's formula makes the squared length of a gap v = z_i - z_j, up to a factor that is one for
all j, (1 - h) |v|^2 + (a'v)^2. Its limit at h = 1, where the covariance is singular without the row, is
(a'v)^2. A row that is alone in its class takes nothing from W: a = 0.

The length is at least sqrt(1 - h) |v|, so that a search for a few more rows than k in the coordinates is
enough wherever the last of them, shrunk so, is farther than the k-th length. Elsewhere every row is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discrim.core.covariance import covariance
from discrim.core.errors import CoreCollinearError, CoreNotSupportedError, InvalidStateError
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.neighbours.neighbours import METRICS, NORMS, ZERO_ONE, NeighbourIndex, Neighbours, Space
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.rules.rules import NoLikelihood, refuse_method
from discrim.errors import CollinearError

EQUAL = 1e-13
"""Relative difference of two posteriors below which they are one."""


@dataclass(frozen=True, slots=True, eq=False)
class VoteCounts:
    """The neighbours of some rows, counted by class for any k up to as many as there are.

    Attributes
    ----------
    classes, ends : (m, n) int
        Classes of the neighbours, the nearest first, and the last position that is tied with each.
    beyond : (m, K) int
        Rows that are as near as the last of them.
    nearest : (m, K) int
        Rank of the distance of the nearest row of each class; of one without neighbours, the last.
    labels : (m, K) int or None
        The classes, in the order of the levels, where each row has its own few, filled up by the first.
    """

    classes: Codes
    beyond: Codes
    ends: Codes
    nearest: Codes
    labels: Codes | None = None

    @staticmethod
    def of(neighbours: Neighbours, search: NeighbourIndex, *, few: bool = False) -> VoteCounts:
        """Of the neighbours of a search; with few classes a row, of the classes that these are of only."""
        with np.errstate(invalid="ignore"):
            steps = neighbours.distances[:, 1:] > search.space.tied(neighbours.distances[:, :-1])
        classes = search.codes[neighbours.rows]
        beyond = neighbours.beyond
        labels = None
        if few:
            classes, beyond, labels = _few(classes, beyond)
        m, n = classes.shape
        levels = np.zeros((m, n), dtype=np.intp)
        np.cumsum(steps, axis=1, out=levels[:, 1:])
        ends = np.broadcast_to(np.arange(n), (m, n)).copy()
        for j in np.flatnonzero(~steps.all(axis=0))[::-1]:
            ends[:, j] = np.where(steps[:, j], j, ends[:, j + 1])
        nearest = np.repeat(levels[:, -1:], beyond.shape[1], axis=1)
        for j in range(n - 1, -1, -1):
            nearest[np.arange(m), classes[:, j]] = levels[:, j]
        return VoteCounts(classes, beyond, ends, nearest, labels)

    def of_classes(self, values: Floats) -> Floats:
        """Numbers (K,) of the classes as those of each row, (m, K) where it has its own."""
        return values if self.labels is None else values[self.labels]

    def votes(self, grid: Sequence[int]) -> Iterator[Codes]:
        """Votes (m, K) for each k of a grid."""
        m, n = self.classes.shape
        running = np.zeros((n, m, self.beyond.shape[1]), dtype=np.intp)
        running[np.arange(n), np.arange(m)[:, None], self.classes] = 1
        np.cumsum(running, axis=0, out=running)
        for k in grid:
            end = self.ends[:, k - 1]
            votes = running[k - 1] if (end == k - 1).all() else running[end, np.arange(m)]
            last = end == n - 1
            yield np.where(last[:, None], votes + self.beyond, votes) if last.any() else votes

    def winners(self, mass: Floats, prior: Floats) -> tuple[Codes, Codes, Mask]:
        """Class (m,) that wins by its posterior, up to a factor, in mass (m, K), and what was tied.

        Ties are the rows (t,) with one, and the classes (t, K) that are tied there. The prior is that of
        `of_classes`.
        """
        winner = mass.argmax(axis=1)
        equal = mass >= mass.max(axis=1, keepdims=True) * (1 - EQUAL)
        rows = np.flatnonzero(np.count_nonzero(equal, axis=1) > 1)
        equal = equal[rows]
        if len(rows):
            rank = np.where(equal, self.nearest[rows], np.iinfo(np.intp).max)
            nearest = rank == rank.min(axis=1, keepdims=True)
            larger = np.where(nearest, prior if prior.ndim == 1 else prior[rows], -1.0)
            first = larger >= larger.max(axis=1, keepdims=True) * (1 - EQUAL)
            winner[rows] = first.argmax(axis=1)
        return winner, rows, equal

    def scores(self, votes: Codes, weights: Floats, prior: Floats) -> Floats:
        """Logs (m, K) of weighted votes less their maximum; a winner leads its ties by two roundings."""
        mass = votes * weights
        winner, rows, equal = self.winners(mass, prior)
        with np.errstate(divide="ignore"):
            scores = np.asarray(np.log(mass / mass.max(axis=1, keepdims=True)))
        scores[rows] = np.where(equal, np.minimum(scores[rows], -2 * covariance.EPS), scores[rows])
        scores[rows, winner[rows]] = 0.0
        return scores


def _few(classes: Codes, beyond: Codes) -> tuple[Codes, Codes, Codes]:
    """Classes (m, n), and rows beyond (m, K) by class, by the number of each class among those of its row.

    The third is the class of each number.
    """
    m, n_classes = beyond.shape
    near = classes + n_classes * np.arange(m)[:, None]
    more = np.flatnonzero(beyond)
    cells = np.unique(np.concatenate([near.ravel(), more]))
    counts = np.bincount(cells // n_classes, minlength=m)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(cells)) - np.repeat(starts, counts)
    labels = np.zeros((m, int(counts.max())), dtype=np.intp)
    labels[cells // n_classes, rank] = cells % n_classes
    few_beyond = np.zeros(labels.shape, dtype=np.intp)
    row = more // n_classes
    few_beyond[row, np.searchsorted(cells, more) - starts[row]] = beyond.ravel()[more]
    return np.searchsorted(cells, near) - starts[:, None], few_beyond, labels


SPARE_ROWS = 8
"""Rows that are searched for beyond k, or a quarter of k if that is more."""

GAPS = 2**18
"""Numbers in the gaps that are in memory at once."""


def pulls(points: Floats, codes: Codes, n_classes: int) -> Floats:
    """The a (n, p) of rows whose coordinates have unit covariance within classes, divisor n - n_classes."""
    counts = np.bincount(codes, minlength=n_classes)
    means = np.zeros((n_classes, points.shape[1]))
    np.add.at(means, codes, points)
    means /= np.maximum(counts, 1)[:, None]
    factors = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 0.0) / (len(points) - n_classes)
    return np.asarray((points - means[codes]) * np.sqrt(factors)[codes, None])


def others_downdated(search: NeighbourIndex, start: int, stop: int, k: int, a: Floats) -> Neighbours:
    """The k nearest other rows to the rows from start to stop, whose pulls are a (stop - start, p).

    Distances are those of the theory, before the factor.
    """
    from scipy.spatial.distance import cdist

    n = len(search.points)
    z = search.points[start:stop]
    places = np.arange(start, stop)
    # One less the leverages.
    free = np.maximum(1 - np.einsum("ij,ij->i", a, a), 0.0)
    first = search.among(start, stop, min(k + 1 + max(SPARE_ROWS, k // 4), n))
    lengths = _lengths(first.distances, _along(search.points, z, first.rows, a), free)
    lengths[first.rows == places[:, None]] = np.inf
    reach = search.space.tied(np.partition(lengths, k - 1, axis=1)[:, k - 1])
    enough = (np.sqrt(free) * first.distances[:, -1] > reach) | (first.rows.shape[1] == n)
    nearest = search.blank(len(z), k)
    kept = np.flatnonzero(enough)
    search.settle(lengths[kept], first.rows[kept], k, kept, nearest)
    left = np.flatnonzero(~enough)
    for some in slices(len(left), max(GAPS // n, 1)):
        rows = left[some]
        members = np.broadcast_to(np.arange(n), (len(rows), n))
        along = _along(search.points, z[rows], members, a[rows])
        lengths = _lengths(cdist(z[rows], search.points), along, free[rows])
        lengths[np.arange(len(rows)), places[rows]] = np.inf
        search.settle(lengths, members, k, rows, nearest)
    return nearest


def _lengths(distances: Floats, along: Floats, free: Floats) -> Floats:
    """Lengths (m, w) before the factor, from distances, products a'v and one less the leverages (m,)."""
    return np.sqrt(free[:, None] * distances**2 + along**2)


def _along(points: Floats, z: Floats, members: Codes, a: Floats) -> Floats:
    """Products a'v (m, w) of the gaps from z (m, p) to members (m, w)."""
    m, width = members.shape
    out = np.empty((m, width))
    for rows in slices(m, max(GAPS // (width * points.shape[1]), 1)):
        gaps = points[members[rows]]
        np.subtract(z[rows, None], gaps, out=gaps)
        np.matmul(gaps, a[rows, :, None], out=out[rows, :, None])
    return out


VOTES = 2**21
"""Votes by k and class that are in memory at once."""

MOST_ROWS = 4096
"""Rows whose neighbours are in memory at once."""

LARGEST_COORDINATE = 1e100
"""Of the rows of a file, whose squares and their sums are doubles; those of a fit are near one."""

MEANS_AGREE = 1e-6
"""Share of the largest coordinate by which class means of rows may differ from those of the moments."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourRule:
    """Scores of the votes of the k nearest rows: log posteriors up to a constant of the row.

    A vote for a class weighs pi_g N / n_g, weights (K,); a larger prior (K,) wins what is tied.
    """

    search: NeighbourIndex
    k: int
    weights: Floats
    prior: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p); missing for a row with a missing value."""
        out = np.full((len(x), len(self.weights)), np.nan)
        known = ~np.isnan(x).any(axis=1)
        if known.any():
            nearest = self.search.nearest(x if known.all() else x[known], self.k)
            tally = VoteCounts.of(nearest, self.search)
            out[known] = tally.scores(_votes(nearest, self.search.codes), self.weights, self.prior)
        return out

    def votes(self, x: Floats) -> Codes:
        """Votes (m, K) of rows x (m, p) without a missing value."""
        return _votes(self.search.nearest(x, self.k), self.search.codes)


def _votes(nearest: Neighbours, codes: Codes) -> Codes:
    m, n_classes = nearest.beyond.shape
    cells = codes[nearest.rows] + n_classes * np.arange(m)[:, None]
    return np.bincount(cells.ravel(), minlength=m * n_classes).reshape(m, n_classes) + nearest.beyond


@dataclass(frozen=True, slots=True, eq=False)
class KNNFit(NoLikelihood):
    """Rows with their classes and diagonal moments, and how many of them vote.

    Columns are divided by their standard deviations over all rows where `scale` says so.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    k: int
    metric: str
    scale: bool
    search: NeighbourIndex

    has_distances = False
    no_likelihood = "no_likelihood_of_knn"
    no_parameters = "no_parameters_of_knn"

    @property
    def space(self) -> Space:
        """The metric and its coordinates."""
        return self.search.space

    @property
    def points(self) -> Floats:
        """Coordinates (n, q) of the rows."""
        return self.search.points

    @property
    def codes(self) -> Codes:
        """Classes (n,) of the rows."""
        return self.search.codes

    def with_k(self, k: int) -> KNNFit:
        """The same rows and another k."""
        return replace(self, k=k)

    def weights(self, prior: Floats) -> Floats:
        """Weight (K,) of a vote for each class."""
        return np.asarray(prior / (self.moments.counts / self.moments.total))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> NeighbourRule:
        """The rule under a prior (K,)."""
        return self.rule_under(np.exp(log_prior), method)

    def rule_under(self, prior: Floats, method: str = "plugin") -> NeighbourRule:
        """The rule under a prior (K,), not its logarithm: by the class proportions votes count one."""
        refuse_method(method, "is defined for normal classes")
        return NeighbourRule(self.search, self.k, self.weights(prior), prior)

    def refit(self, x: Floats, codes: Codes) -> KNNFit | None:
        """The same k and prior with other rows; None where they are too few or have no distances."""
        k = len(self.prior)
        if len(x) < self.k or len(np.unique(codes)) < k:
            return None
        shape = {"n_classes": k, "n_columns": x.shape[1]}
        moments = gather([(x, codes, None)], **shape, spread="diagonal")
        within = None
        if self.metric == "mahalanobis":
            within = gather([(x, codes, None)], **shape, spread="pooled")
        options: dict[str, Any] = {"k": self.k, "metric": self.metric, "scale": self.scale}
        try:
            fit = fit_knn(x, codes, moments, self.prior, within=within, **options)
        except CollinearError:
            return None
        return replace(fit, estimated_prior=self.estimated_prior)

    def left_out(self, most: int, *, few: bool = False) -> Iterator[tuple[slice, VoteCounts]]:
        """The neighbours of the rows among the others, up to a number: some rows, and their tally."""
        n = len(self.search.points)
        counted = min(len(self.prior), most) if few else len(self.prior)
        step = int(np.clip(VOTES // (most * counted), 64, MOST_ROWS))
        a = None
        if self.metric == "mahalanobis":
            a = pulls(self.search.points, self.search.codes, self.search.n_classes)
        for rows in slices(n, step):
            if a is None:
                nearest = self.search.others(rows.start, rows.stop, most)
            else:
                nearest = others_downdated(self.search, rows.start, rows.stop, most, a[rows])
            yield rows, VoteCounts.of(nearest, self.search, few=few)

    def _chances(self, tally: VoteCounts, prior: Floats, rows: slice) -> Floats:
        """The prior that breaks ties; class proportions are those of the other rows, (m, K)."""
        if not self.estimated_prior:
            return tally.of_classes(prior)
        labels = np.arange(len(prior))[None] if tally.labels is None else tally.labels
        return np.asarray(prior[labels] - 1 / self.moments.total * (labels == self.search.codes[rows, None]))

    def _left_out_weights(self, tally: VoteCounts, prior: Floats, rows: slice) -> Floats:
        """Compute the weights of votes from class counts without the row that is left out.

        Parameters
        ----------
        tally : VoteCounts
            Votes of the neighbours of m rows.
        prior : (K,) float
            Held as it is given. If the class proportions estimate it, they are those of the other rows, and
            each vote counts one.
        rows : slice
            Positions of the m rows.

        Returns
        -------
        (m, K) or (K,) float
            Up to a factor of the row; for the classes of each row only if `tally.labels` names them.
        """
        weights = self.weights(prior)
        if self.estimated_prior and np.allclose(weights, 1.0, rtol=1e-12):
            return tally.of_classes(weights)
        own = self.search.codes[rows]
        counts = self.moments.counts[own]
        labels = np.arange(len(prior))[None] if tally.labels is None else tally.labels
        # The only row of a class leaves no votes for it.
        factor = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 1.0)
        return weights[labels] * np.where(labels == own[:, None], factor[:, None], 1.0)

    def left_out_scores(self, prior: Floats, done: Callable[[int], object] | None = None) -> Floats:
        """Scores (n, K) of the rows, each by the others; of how many more is told.

        A NotSupportedError where there are only k rows.
        """
        n = len(self.search.points)
        if self.k >= n:
            left = f"Without a row {n - 1} rows are left"
            raise CoreNotSupportedError("too_few_neighbours", left=left, k=self.k)
        out = np.empty((n, len(prior)))
        for rows, tally in self.left_out(self.k):
            weights = self._left_out_weights(tally, prior, rows)
            (votes,) = tally.votes([self.k])
            out[rows] = tally.scores(votes, weights, self._chances(tally, prior, rows))
            if done is not None:
                done(rows.stop - rows.start)
        return out

    def wrong_by_class(
        self, grid: Sequence[int], prior: Floats, done: Callable[[int], object] | None = None
    ) -> Floats:
        """Rows (len(grid), K) of each class that are wrong by leave-one-out for each k, from one search."""
        k = len(prior)
        most = max(grid)
        wrong = np.zeros((len(grid), k))
        for rows, tally in self.left_out(most, few=k > most):
            codes = self.search.codes[rows]
            factors = self._left_out_weights(tally, prior, rows)
            chances = self._chances(tally, prior, rows)
            for i, votes in enumerate(tally.votes(grid)):
                winner, _, _ = tally.winners(votes * factors, chances)
                called = winner if tally.labels is None else tally.labels[np.arange(len(winner)), winner]
                wrong[i] += np.bincount(codes[called != codes], minlength=k)
            if done is not None:
                done(len(codes))
        return wrong


def fit_knn(
    x: Floats,
    codes: Codes,
    moments: ClassMoments,
    prior: Floats,
    *,
    k: int,
    metric: str = "euclidean",
    scale: bool = True,
    estimated_prior: bool = True,
    within: ClassMoments | None = None,
) -> KNNFit:
    """The rows x (n, p) of diagonal moments, ready to be searched.

    For Mahalanobis' distance there are moments with a pooled scatter within classes, too. A CollinearError
    where a column is constant that is to be divided by its standard deviation, or the covariance within
    classes is singular.
    """
    # Distances of differences x - y alone are the same from anywhere.
    origin = moments.origin if metric in NORMS or metric == "hamming" else np.zeros(x.shape[1])
    largest = np.abs(x).max(axis=0)
    common = None
    if within is not None:
        freedom = within.total - within.n_classes
        unit = within.scale
        if freedom < within.n_columns or covariance.dependencies(within):
            raise CoreCollinearError("singular_metric")
        common = covariance.pooled(within, freedom)
    elif scale:
        if covariance.constant_columns(moments):
            raise CoreCollinearError("constant_column")
        unit = moments.scale / np.sqrt(covariance.total_squares(moments) / (moments.total - 1))
    else:
        # One power of two for all columns leaves distances as they are, and squares in range.
        size = float(np.abs(x - origin).max())
        unit = np.full(x.shape[1], 2.0 ** -np.frexp(size)[1] if size > 0 and metric not in ZERO_ONE else 1.0)
    space = Space.of(metric, origin, unit, common, largest)
    search = NeighbourIndex(space, space.coordinates(x), codes, moments.n_classes)
    return KNNFit(moments, prior, estimated_prior, k, metric, scale, search)


def knn_of_points(
    moments: ClassMoments,
    prior: Floats,
    *,
    k: int,
    scale: bool,
    estimated_prior: bool,
    space: Space,
    points: Floats,
    codes: Codes,
) -> KNNFit:
    """Return the fit of rows whose coordinates are known.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
    k : int
    scale, estimated_prior : bool
    space : Space
        The metric and its coordinates.
    points : (n, q) float
        Coordinates of the rows.
    codes : (n,) int
        Classes of the rows.

    Returns
    -------
    KNNFit

    Raises
    ------
    InvalidStateError
        They contradict each other.
    """
    if len(points) != len(codes) or not ((codes >= 0) & (codes < moments.n_classes)).all():
        raise InvalidStateError("the classes of its rows are no classes")
    if (np.bincount(codes, minlength=moments.n_classes) != moments.counts).any():
        raise InvalidStateError("its rows do not have its class counts")
    if space.metric not in METRICS or (space.metric == "mahalanobis") != (space.within is not None):
        raise InvalidStateError(f"its metric is {space.metric!r}")
    if not 1 <= k <= len(points):
        raise InvalidStateError(f"its k is {k}")
    if not ((space.unit > 0).all() and space.slack >= 0):
        raise InvalidStateError("its units are not positive")
    _check_points(points, codes, space, moments)
    search = NeighbourIndex(space, points, codes, moments.n_classes)
    return KNNFit(moments, prior, estimated_prior, k, space.metric, scale, search)


def _check_points(points: Floats, codes: Codes, space: Space, moments: ClassMoments) -> None:
    """Raise a DataError unless the coordinates of a file are those of rows with its class means."""
    largest = float(np.abs(points).max())
    if largest > LARGEST_COORDINATE:
        raise InvalidStateError("the coordinates of its rows are out of range")
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(moments.counts)[:-1].astype(np.intp)
    sums = np.add.reduceat(points[order], np.insert(starts, 0, 0), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        means = moments.centres - space.origin + moments.rests / moments.scale
        expected = replace(space, origin=np.zeros_like(space.origin)).coordinates(means)
        gap = np.abs(sums / moments.counts[:, None] - expected).max()
    if not gap <= MEANS_AGREE * largest + space.slack:
        raise InvalidStateError("the coordinates of its rows do not have its class means")
