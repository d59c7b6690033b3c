"""k nearest neighbours: votes, posteriors, and leave-one-out errors for every k from one search.

Theory (Fix & Hodges, 1951, USAF School of Aviation Medicine, report 4; Cover & Hart, 1967, IEEE Transactions
on Information Theory 13, 21-27). Let k_g of the rows that are at least as near to x as its k-th nearest row
belong to class g, which has n_g rows. Then k_g / (n_g V) estimates the density of the class at x, with V the
volume of the ball. With priors pi_g the posterior is thus proportional to pi_g k_g / n_g, and to k_g if the
priors are the class proportions.

Ties of the posterior are broken, in this order, by the nearest of the rows that vote for each class, by the
larger prior, and by the order of the levels.

*Leave-one-out* uses one search. Columns are scaled by their standard deviations over all rows, which do not
depend on the classes. Class counts are those without the row: if the prior is the class proportions, each
vote has weight one as before, and the proportions of the other rows break ties; if the prior is fixed, a vote
for the row's own class has the weight pi_g / (n_g - 1). The covariance within classes, for Mahalanobis
distance, is computed without the row. Without row i of class g, of n_g rows, the scatter W within classes is
W - n_g / (n_g - 1) u u', with u the row's deviation from its class mean. In coordinates in which the pooled
covariance W / f is the identity, with

    a = sqrt(n_g / ((n_g - 1) f)) u   and the leverage   h = a'a <= 1,

the Sherman-Morrison formula makes the squared length of a difference v = z_i - z_j, up to a factor that is
equal for all j, (1 - h) |v|^2 + (a'v)^2. Its limit at h = 1, when the covariance without the row is singular,
is (a'v)^2. Removing a row that is alone in its class does not change W: a = 0.

The length is at least sqrt(1 - h) |v|. A search for a few more rows than k in the coordinates is therefore
sufficient if the last of them, shrunk by this factor, is farther than the k-th length. Otherwise the
distances to all rows are computed.
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
"""Relative difference below which two posteriors are tied."""


@dataclass(frozen=True, slots=True, eq=False)
class VoteCounts:
    """Neighbours of m rows by class, from which the votes for any smaller k follow.

    Attributes
    ----------
    classes : (m, n) int
        Classes of the neighbours, nearest first.
    beyond : (m, K) int
        Further rows of each class that are tied with the last neighbour.
    ends : (m, n) int
        For each neighbour, the last position that is tied with it.
    nearest : (m, K) int
        Rank of the distance of the nearest neighbour of each class; the last rank for a class without
        neighbours.
    labels : (m, K) int or None
        If columns are not all classes but only the classes among the neighbours of each row: these classes,
        in the order of the levels, padded with the first class.
    """

    classes: Codes
    beyond: Codes
    ends: Codes
    nearest: Codes
    labels: Codes | None = None

    @staticmethod
    def of(neighbours: Neighbours, search: NeighbourIndex, *, few: bool = False) -> VoteCounts:
        """Count the neighbours that a search returned.

        Parameters
        ----------
        neighbours : Neighbours
        search : NeighbourIndex
        few : bool
            Whether to store only the classes among the neighbours of each row.

        Returns
        -------
        VoteCounts
        """
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
        """Select the values (K,) of the classes in `labels`, (m, K), if each row has its own classes."""
        return values if self.labels is None else values[self.labels]

    def votes(self, grid: Sequence[int]) -> Iterator[Codes]:
        """Yield the votes (m, K) for each k."""
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
        """Find the class with the largest posterior, and the ties.

        Parameters
        ----------
        mass : (m, K) float
            Posteriors up to a factor of each row.
        prior : (K,) or (m, K) float
            Result of `of_classes`; breaks ties.

        Returns
        -------
        winner : (m,) int
        rows : (t,) int
            Rows with a tie.
        equal : (t, K) bool
            Classes that are tied in these rows.
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
        """Log of the weighted votes relative to the winner.

        Ties are broken by 2 eps, which makes the winner unique.

        Parameters
        ----------
        votes : (m, K) int
        weights : (K,) or (m, K) float
            Weight of a vote for each class.
        prior : (K,) or (m, K) float
            Breaks ties.

        Returns
        -------
        (m, K) float
        """
        mass = votes * weights
        winner, rows, equal = self.winners(mass, prior)
        with np.errstate(divide="ignore"):
            scores = np.asarray(np.log(mass / mass.max(axis=1, keepdims=True)))
        scores[rows] = np.where(equal, np.minimum(scores[rows], -2 * covariance.EPS), scores[rows])
        scores[rows, winner[rows]] = 0.0
        return scores


def _few(classes: Codes, beyond: Codes) -> tuple[Codes, Codes, Codes]:
    """Renumber classes by their position among the classes of each row.

    Parameters
    ----------
    classes : (m, n) int
        Classes of neighbours.
    beyond : (m, C) int
        Further rows by class.

    Returns
    -------
    classes : (m, n) int
    beyond : (m, K) int
        The same in the new numbers; K is the largest number of classes of a row.
    labels : (m, K) int
        The class of each number.
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
"""Number of neighbours that are searched in addition to k, unless a quarter of k is more."""

GAPS = 2**18
"""Number of values of differences per block."""


def pulls(points: Floats, codes: Codes, n_classes: int) -> Floats:
    """Compute the vectors a of the module docstring.

    Parameters
    ----------
    points : (n, p) float
        Coordinates with unit covariance within classes, divisor n - n_classes.
    codes : (n,) int
    n_classes : int

    Returns
    -------
    (n, p) float
    """
    counts = np.bincount(codes, minlength=n_classes)
    means = np.zeros((n_classes, points.shape[1]))
    np.add.at(means, codes, points)
    means /= np.maximum(counts, 1)[:, None]
    factors = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 0.0) / (len(points) - n_classes)
    return np.asarray((points - means[codes]) * np.sqrt(factors)[codes, None])


def others_downdated(search: NeighbourIndex, start: int, stop: int, k: int, a: Floats) -> Neighbours:
    """Find the k nearest other rows by Mahalanobis distances of which the covariance excludes the row.

    Parameters
    ----------
    search : NeighbourIndex
    start, stop : int
        Range of the m rows.
    k : int
    a : (m, p) float
        Result of `pulls` for these rows.

    Returns
    -------
    Neighbours
        Distances are up to a factor of each row.
    """
    from scipy.spatial.distance import cdist

    n = len(search.points)
    z = search.points[start:stop]
    places = np.arange(start, stop)
    # 1 - h.
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
    """Downdated distances up to a factor, from distances (m, w), products a'v (m, w) and 1 - h (m,)."""
    return np.sqrt(free[:, None] * distances**2 + along**2)


def _along(points: Floats, z: Floats, members: Codes, a: Floats) -> Floats:
    """Products a'v of the differences between rows and their neighbours.

    Parameters
    ----------
    points : (n, p) float
    z : (m, p) float
    members : (m, w) int
        Positions of the neighbours of each row.
    a : (m, p) float

    Returns
    -------
    (m, w) float
    """
    m, width = members.shape
    out = np.empty((m, width))
    for rows in slices(m, max(GAPS // (width * points.shape[1]), 1)):
        gaps = points[members[rows]]
        np.subtract(z[rows, None], gaps, out=gaps)
        np.matmul(gaps, a[rows, :, None], out=out[rows, :, None])
    return out


VOTES = 2**21
"""Number of votes by k and class per block."""

MOST_ROWS = 4096
"""Maximum number of rows per block."""

LARGEST_COORDINATE = 1e100
"""Largest accepted coordinate of a stored fit. Squares and their sums stay finite; coordinates of a fit
are near one.
"""

MEANS_AGREE = 1e-6
"""Relative tolerance when the class means of stored rows are compared with the stored moments."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourRule:
    """Decision rule of the k nearest rows; scores are log posteriors up to a constant of the row.

    Attributes
    ----------
    search : NeighbourIndex
    k : int
    weights : (K,) float
        Weight pi_g N / n_g of a vote for each class.
    prior : (K,) float
        Breaks ties.
    """

    search: NeighbourIndex
    k: int
    weights: Floats
    prior: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores of rows.

        Parameters
        ----------
        x : (m, p) float

        Returns
        -------
        (m, K) float
            NaN for rows with missing values.
        """
        out = np.full((len(x), len(self.weights)), np.nan)
        known = ~np.isnan(x).any(axis=1)
        if known.any():
            nearest = self.search.nearest(x if known.all() else x[known], self.k)
            tally = VoteCounts.of(nearest, self.search)
            out[known] = tally.scores(_votes(nearest, self.search.codes), self.weights, self.prior)
        return out

    def votes(self, x: Floats) -> Codes:
        """Return the votes (m, K) of rows x (m, p) without missing values."""
        return _votes(self.search.nearest(x, self.k), self.search.codes)


def _votes(nearest: Neighbours, codes: Codes) -> Codes:
    """Count the neighbours of each row by class, including ties with the k-th."""
    m, n_classes = nearest.beyond.shape
    cells = codes[nearest.rows] + n_classes * np.arange(m)[:, None]
    return np.bincount(cells.ravel(), minlength=m * n_classes).reshape(m, n_classes) + nearest.beyond


@dataclass(frozen=True, slots=True, eq=False)
class KNNFit(NoLikelihood):
    """Fitted k-nearest-neighbour classifier.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
    estimated_prior : bool
    k : int
    metric : str
    scale : bool
        Whether columns are divided by their standard deviations over all rows.
    search : NeighbourIndex
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
        """Metric and coordinates."""
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
        """Return the fit with another k."""
        return replace(self, k=k)

    def weights(self, prior: Floats) -> Floats:
        """Weight (K,) of a vote for each class."""
        return np.asarray(prior / (self.moments.counts / self.moments.total))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> NeighbourRule:
        """Return the rule under a log prior (K,)."""
        return self.rule_under(np.exp(log_prior), method)

    def rule_under(self, prior: Floats, method: str = "plugin") -> NeighbourRule:
        """Return the rule under a prior (K,).

        The prior itself, not its logarithm, makes the weights of votes exactly one for class proportions.
        """
        refuse_method(method, "is defined for normal classes")
        return NeighbourRule(self.search, self.k, self.weights(prior), prior)

    def refit(self, x: Floats, codes: Codes) -> KNNFit | None:
        """Fit to other rows with the same k and prior.

        Parameters
        ----------
        x : (n, p) float
        codes : (n,) int

        Returns
        -------
        KNNFit or None
            None if there are too few rows or distances do not exist.
        """
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
        """Search the neighbours of each row among the other rows.

        Parameters
        ----------
        most : int
            Number of neighbours.
        few : bool
            Whether to store only the classes among the neighbours of each row.

        Yields
        ------
        rows : slice
        tally : VoteCounts
        """
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
        """Prior that breaks ties in leave-one-out; class proportions are computed from the other rows.

        Parameters
        ----------
        tally : VoteCounts
            Votes of the neighbours of m rows.
        prior : (K,) float
        rows : slice
            Positions of the m rows.

        Returns
        -------
        (K,) or (m, K) float
        """
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
            If the class proportions estimate it, they are computed from the other rows, and each vote has
            weight one. Otherwise it is fixed.
        rows : slice
            Positions of the m rows.

        Returns
        -------
        (m, K) or (K,) float
            Up to a factor of the row; only for the classes of each row if `tally.labels` names them.
        """
        weights = self.weights(prior)
        if self.estimated_prior and np.allclose(weights, 1.0, rtol=1e-12):
            return tally.of_classes(weights)
        own = self.search.codes[rows]
        counts = self.moments.counts[own]
        labels = np.arange(len(prior))[None] if tally.labels is None else tally.labels
        # Without the only row of a class, the class does not receive votes.
        factor = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 1.0)
        return weights[labels] * np.where(labels == own[:, None], factor[:, None], 1.0)

    def left_out_scores(self, prior: Floats, done: Callable[[int], object] | None = None) -> Floats:
        """Leave-one-out scores of the rows.

        Parameters
        ----------
        prior : (K,) float
        done : callable or None
            Called with the number of rows after each block.

        Returns
        -------
        (n, K) float

        Raises
        ------
        CoreNotSupportedError
            There are not more than k rows.
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
        """Count leave-one-out errors by class for each k, from one search.

        Parameters
        ----------
        grid : sequence of int
            Values of k.
        prior : (K,) float
        done : callable or None
            Called with the number of rows after each block.

        Returns
        -------
        (len(grid), K) float
        """
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
    """Fit a k-nearest-neighbour classifier.

    Parameters
    ----------
    x : (n, p) float
    codes : (n,) int
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
    k : int
    metric : str
    scale : bool
        Whether to divide columns by their standard deviations over all rows.
    estimated_prior : bool, default True
    within : ClassMoments or None
        Moments with pooled scatter, for Mahalanobis distance.

    Returns
    -------
    KNNFit

    Raises
    ------
    CoreCollinearError
        A column that would be scaled is constant, or the covariance within classes is singular.
    """
    # Metrics of x - y do not depend on the origin.
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
        # One power of two for all columns preserves relative distances and keeps squares in range.
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
    """Return the fit of rows from stored coordinates.

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
        The arguments contradict each other.
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
    """Raise InvalidStateError unless stored coordinates are in range and agree with the class means.

    Parameters
    ----------
    points : (n, q) float
    codes : (n,) int
    space : Space
    moments : ClassMoments
    """
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
