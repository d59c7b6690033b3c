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
from discrim.core.neighbours.neighbours import (
    BINARY_METRICS,
    METRICS,
    NORM_ORDERS,
    NeighbourIndex,
    Neighbours,
    Space,
)
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.core.rules.rules import NoLikelihood, require_plugin_method
from discrim.errors import CollinearError

POSTERIOR_TIE_TOLERANCE = 1e-13
"""Relative difference below which two posteriors are tied."""


@dataclass(frozen=True, slots=True, eq=False)
class VoteCounts:
    """The n nearest neighbours of each of m rows by class, from which the votes for any k up to n follow.

    Attributes
    ----------
    classes : (m, n) int
        Classes of the neighbours, nearest first.
    tied_counts : (m, K) int
        Further rows of each class that are tied with the last neighbour.
    tie_ends : (m, n) int
        For each neighbour, the last position that is tied with it.
    nearest_ranks : (m, K) int
        Rank of the distance of the nearest neighbour of each class; the last rank for a class without
        neighbours.
    present_classes : (m, K) int or None
        If columns are not all classes but only the classes among the neighbours of each row: these classes,
        in the order of the levels, padded with the first class.
    """

    classes: Codes
    tied_counts: Codes
    tie_ends: Codes
    nearest_ranks: Codes
    present_classes: Codes | None = None

    @staticmethod
    def from_neighbours(
        neighbours: Neighbours, search: NeighbourIndex, *, only_present_classes: bool = False
    ) -> VoteCounts:
        """Convert the result of a search to classes, ties and ranks, from which votes are counted.

        Parameters
        ----------
        neighbours : Neighbours
            Result of the search.
        search : NeighbourIndex
            Index of the rows of the fit.
        only_present_classes : bool
            Whether to store only the classes among the neighbours of each row.

        Returns
        -------
        VoteCounts
        """
        with np.errstate(invalid="ignore"):
            is_farther = neighbours.distances[:, 1:] > search.space.tie_limit(neighbours.distances[:, :-1])
        classes = search.codes[neighbours.rows]
        tied_counts = neighbours.tied_counts
        labels = None
        if only_present_classes:
            classes, tied_counts, labels = _renumber_classes(classes, tied_counts)
        m, n = classes.shape
        distance_ranks = np.zeros((m, n), dtype=np.intp)
        np.cumsum(is_farther, axis=1, out=distance_ranks[:, 1:])
        ends = np.broadcast_to(np.arange(n), (m, n)).copy()
        for j in np.flatnonzero(~is_farther.all(axis=0))[::-1]:
            ends[:, j] = np.where(is_farther[:, j], j, ends[:, j + 1])
        nearest = np.repeat(distance_ranks[:, -1:], tied_counts.shape[1], axis=1)
        for j in range(n - 1, -1, -1):
            nearest[np.arange(m), classes[:, j]] = distance_ranks[:, j]
        return VoteCounts(classes, tied_counts, ends, nearest, labels)

    def select_classes(self, values: Floats) -> Floats:
        """Return values (K,) of all classes, or (m, K) of the `present_classes` of each row."""
        return values if self.present_classes is None else values[self.present_classes]

    def votes(self, k_values: Sequence[int]) -> Iterator[Codes]:
        """Yield the votes (m, K) for each number k of neighbours, including all rows tied with the k-th.

        The numbers are from 1 to n; the columns are all classes or the `present_classes`.
        """
        m, n = self.classes.shape
        cumulative_votes = np.zeros((n, m, self.tied_counts.shape[1]), dtype=np.intp)
        cumulative_votes[np.arange(n), np.arange(m)[:, None], self.classes] = 1
        np.cumsum(cumulative_votes, axis=0, out=cumulative_votes)
        for k in k_values:
            last_position = self.tie_ends[:, k - 1]
            votes = (
                cumulative_votes[k - 1]
                if (last_position == k - 1).all()
                else cumulative_votes[last_position, np.arange(m)]
            )
            reaches_end = last_position == n - 1
            yield (
                np.where(reaches_end[:, None], votes + self.tied_counts, votes)
                if reaches_end.any()
                else votes
            )

    def find_winners(self, unscaled_posteriors: Floats, prior: Floats) -> tuple[Codes, Codes, Mask]:
        """Find the class with the largest posterior of each row, with ties broken as in the module docstring.

        Parameters
        ----------
        unscaled_posteriors : (m, K) float
            Posteriors up to a factor of each row.
        prior : (K,) or (m, K) float
            Breaks ties; (m, K) if each row has its own `present_classes`.

        Returns
        -------
        winner : (m,) int
            Positions of columns, which are classes unless there are `present_classes`.
        rows : (t,) int
            Rows with a tie.
        is_tied : (t, K) bool
            Classes that are tied in these rows.
        """
        winner = unscaled_posteriors.argmax(axis=1)
        is_tied = unscaled_posteriors >= unscaled_posteriors.max(axis=1, keepdims=True) * (
            1 - POSTERIOR_TIE_TOLERANCE
        )
        rows = np.flatnonzero(np.count_nonzero(is_tied, axis=1) > 1)
        is_tied = is_tied[rows]
        if len(rows):
            rank = np.where(is_tied, self.nearest_ranks[rows], np.iinfo(np.intp).max)
            nearest = rank == rank.min(axis=1, keepdims=True)
            nearest_priors = np.where(nearest, prior if prior.ndim == 1 else prior[rows], -1.0)
            is_first = nearest_priors >= nearest_priors.max(axis=1, keepdims=True) * (
                1 - POSTERIOR_TIE_TOLERANCE
            )
            winner[rows] = is_first.argmax(axis=1)
        return winner, rows, is_tied

    def scores(self, votes: Codes, weights: Floats, prior: Floats) -> Floats:
        """Return the logs of the weighted votes, relative to the winning class of each row.

        Ties are broken by 2 eps, which makes the winner unique.

        Parameters
        ----------
        votes : (m, K) int
            Numbers of neighbours by class.
        weights : (K,) or (m, K) float
            Weight of a vote for each class.
        prior : (K,) or (m, K) float
            Breaks ties.

        Returns
        -------
        (m, K) float
            Zero for the winning class, negative for the others, minus infinity for classes without votes.
        """
        unscaled_posteriors = votes * weights
        winner, rows, is_tied = self.find_winners(unscaled_posteriors, prior)
        with np.errstate(divide="ignore"):
            scores = np.asarray(np.log(unscaled_posteriors / unscaled_posteriors.max(axis=1, keepdims=True)))
        scores[rows] = np.where(is_tied, np.minimum(scores[rows], -2 * EPS), scores[rows])
        scores[rows, winner[rows]] = 0.0
        return scores


def _renumber_classes(classes: Codes, tied_counts: Codes) -> tuple[Codes, Codes, Codes]:
    """Renumber classes by their position among the classes of each row.

    Parameters
    ----------
    classes : (m, n) int
        Classes of n neighbours of each of m rows.
    tied_counts : (m, C) int
        Further tied rows by class, of all C classes.

    Returns
    -------
    classes : (m, n) int
        New numbers of the classes of the neighbours.
    tied_counts : (m, K) int
        Further tied rows by new number; K is the largest number of classes of a row.
    labels : (m, K) int
        The class of each number, in the order of the levels; rows with fewer classes are padded by class 0.
    """
    m, n_classes = tied_counts.shape
    neighbour_cells = classes + n_classes * np.arange(m)[:, None]
    tied_cells = np.flatnonzero(tied_counts)
    cells = np.unique(np.concatenate([neighbour_cells.ravel(), tied_cells]))
    counts = np.bincount(cells // n_classes, minlength=m)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(cells)) - np.repeat(starts, counts)
    labels = np.zeros((m, int(counts.max())), dtype=np.intp)
    labels[cells // n_classes, rank] = cells % n_classes
    renumbered_ties = np.zeros(labels.shape, dtype=np.intp)
    row = tied_cells // n_classes
    renumbered_ties[row, np.searchsorted(cells, tied_cells) - starts[row]] = tied_counts.ravel()[tied_cells]
    return np.searchsorted(cells, neighbour_cells) - starts[:, None], renumbered_ties, labels


N_SPARE_ROWS = 8
"""Number of neighbours that are searched in addition to k, unless a quarter of k is more."""

MAX_BLOCK_DIFFERENCES = 2**18
"""Number of values of differences per block."""


def left_out_directions(points: Floats, codes: Codes, n_classes: int) -> Floats:
    """Compute the vectors a (see the module docstring) that change distances if a row is left out.

    Parameters
    ----------
    points : (n, p) float
        Whitened coordinates, whose covariance within classes (divisor n - n_classes) is the identity.
    codes : (n,) int
        Classes of the rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    (n, p) float
        Zero for a row that is alone in its class.
    """
    counts = np.bincount(codes, minlength=n_classes)
    means = np.zeros((n_classes, points.shape[1]))
    np.add.at(means, codes, points)
    means /= np.maximum(counts, 1)[:, None]
    factors = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 0.0) / (len(points) - n_classes)
    return np.asarray((points - means[codes]) * np.sqrt(factors)[codes, None])


def nearest_others_downdated(
    search: NeighbourIndex, positions: Codes, k: int, directions: Floats
) -> Neighbours:
    """Find the k nearest other rows of some rows by Mahalanobis distance, with covariances without the row.

    Parameters
    ----------
    search : NeighbourIndex
        Index of the rows of the fit.
    positions : (m,) int
        Positions of the m rows.
    k : int
        Number of neighbours, below the number of rows.
    directions : (m, p) float
        Result of `left_out_directions` for these rows.

    Returns
    -------
    Neighbours
        Distances are up to a factor of each row.
    """
    from scipy.spatial.distance import cdist

    n = len(search.points)
    z = search.points[positions]
    # 1 - h.
    one_minus_leverages = np.maximum(1 - np.einsum("ij,ij->i", directions, directions), 0.0)
    candidates = search.nearest_points(z, min(k + 1 + max(N_SPARE_ROWS, k // 4), n))
    downdated = _downdated_distances(
        candidates.distances,
        _project_differences(search.points, z, candidates.rows, directions),
        one_minus_leverages,
    )
    downdated[candidates.rows == positions[:, None]] = np.inf
    tie_limits = search.space.tie_limit(np.partition(downdated, k - 1, axis=1)[:, k - 1])
    is_enough = (np.sqrt(one_minus_leverages) * candidates.distances[:, -1] > tie_limits) | (
        candidates.rows.shape[1] == n
    )
    nearest = search.allocate(len(z), k)
    enough_index = np.flatnonzero(is_enough)
    search.fill_nearest(downdated[enough_index], candidates.rows[enough_index], k, enough_index, nearest)
    unresolved = np.flatnonzero(~is_enough)
    for chunk in slices(len(unresolved), max(MAX_BLOCK_DIFFERENCES // n, 1)):
        rows = unresolved[chunk]
        members = np.broadcast_to(np.arange(n), (len(rows), n))
        projections = _project_differences(search.points, z[rows], members, directions[rows])
        downdated = _downdated_distances(
            cdist(z[rows], search.points), projections, one_minus_leverages[rows]
        )
        downdated[np.arange(len(rows)), positions[rows]] = np.inf
        search.fill_nearest(downdated, members, k, rows, nearest)
    return nearest


def _downdated_distances(distances: Floats, projections: Floats, one_minus_leverages: Floats) -> Floats:
    """Return downdated distances (m, w) from distances (m, w), products a'v (m, w) and 1 - h (m,).

    They are the square roots of (1 - h) d^2 + (a'v)^2, which are distances up to a factor of each row.
    """
    return np.sqrt(one_minus_leverages[:, None] * distances**2 + projections**2)


def _project_differences(points: Floats, z: Floats, members: Codes, directions: Floats) -> Floats:
    """Compute the inner products of one direction per row with its differences from its neighbours.

    Parameters
    ----------
    points : (n, p) float
        Coordinates of the rows of the fit.
    z : (m, p) float
        Coordinates of the m rows.
    members : (m, w) int
        Positions of w neighbours of each row.
    directions : (m, p) float
        One direction a per row.

    Returns
    -------
    (m, w) float
        Products a'(z - neighbour).
    """
    m, width = members.shape
    projections = np.empty((m, width))
    for rows in slices(m, max(MAX_BLOCK_DIFFERENCES // (width * points.shape[1]), 1)):
        differences = points[members[rows]]
        np.subtract(z[rows, None], differences, out=differences)
        np.matmul(differences, directions[rows, :, None], out=projections[rows, :, None])
    return projections


MAX_BLOCK_VOTES = 2**21
"""Number of votes by k and class per block."""

MAX_BLOCK_ROWS = 4096
"""Maximum number of rows per block."""

MAX_COORDINATE = 1e100
"""Largest accepted coordinate of a stored fit. Squares and their sums stay finite; coordinates of a fit
are near one.
"""

MEANS_TOLERANCE = 1e-6
"""Relative tolerance when the class means of stored rows are compared with the stored moments."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourRule:
    """Decision rule of the k nearest rows; scores are log posteriors up to a constant of the row.

    Attributes
    ----------
    search : NeighbourIndex
        Index of the rows of the fit.
    k : int
        Number of neighbours.
    weights : (K,) float
        Weight pi_g N / n_g of a vote for each class.
    prior : (K,) float
        Prior probabilities, which break ties.
    """

    search: NeighbourIndex
    k: int
    weights: Floats
    prior: Floats

    def scores(self, x: Floats) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.

        Returns
        -------
        (m, K) float
            Zero for the winning class, negative for the others, minus infinity for classes without votes;
            NaN for rows with missing values.
        """
        all_scores = np.full((len(x), len(self.weights)), np.nan)
        is_complete = ~np.isnan(x).any(axis=1)
        if is_complete.any():
            nearest = self.search.nearest(x if is_complete.all() else x[is_complete], self.k)
            tally = VoteCounts.from_neighbours(nearest, self.search)
            all_scores[is_complete] = tally.scores(
                _count_votes(nearest, self.search.codes), self.weights, self.prior
            )
        return all_scores

    def votes(self, x: Floats) -> Codes:
        """Return the votes (m, K), numbers of neighbours, of rows x (m, p) without missing values."""
        return _count_votes(self.search.nearest(x, self.k), self.search.codes)


def _count_votes(nearest: Neighbours, codes: Codes) -> Codes:
    """Return the number of neighbours by class (m, K), including rows tied with the k-th."""
    m, n_classes = nearest.tied_counts.shape
    cells = codes[nearest.rows] + n_classes * np.arange(m)[:, None]
    return np.bincount(cells.ravel(), minlength=m * n_classes).reshape(m, n_classes) + nearest.tied_counts


@dataclass(frozen=True, slots=True, eq=False)
class KNNFit(NoLikelihood):
    """Fitted k-nearest-neighbour classifier.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions.
    k : int
        Number of neighbours.
    metric : str
        One of `neighbours.METRICS`.
    scale : bool
        Whether columns are divided by their standard deviations over all rows.
    search : NeighbourIndex
        Index of the rows of the fit.
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
        """Metric and coordinates of the search."""
        return self.search.space

    @property
    def points(self) -> Floats:
        """Coordinates (n, p) of the rows, whitened for Mahalanobis distance."""
        return self.search.points

    @property
    def codes(self) -> Codes:
        """Classes (n,) of the rows."""
        return self.search.codes

    def with_k(self, k: int) -> KNNFit:
        """Return the fit with another number k of neighbours."""
        return replace(self, k=k)

    def vote_weights(self, prior: Floats) -> Floats:
        """Return the weight (K,) of a vote for each class: the prior divided by the class proportion."""
        return np.asarray(prior / (self.moments.counts / self.moments.total))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> NeighbourRule:
        """Return the rule under a log prior (K,).

        Any `method` except "plugin" raises a NotSupportedError; `convention` is ignored.
        """
        return self.rule_with_prior(np.exp(log_prior), method)

    def rule_with_prior(self, prior: Floats, method: str = "plugin") -> NeighbourRule:
        """Return the rule under a prior (K,).

        The prior itself, not its logarithm, makes the weights of votes exactly one for class proportions. Any
        `method` except "plugin" raises a NotSupportedError.
        """
        require_plugin_method(method, "is defined for normal classes")
        return NeighbourRule(self.search, self.k, self.vote_weights(prior), prior)

    def refit(self, x: Floats, codes: Codes) -> KNNFit | None:
        """Fit the same model to other rows, with the same k and prior.

        Parameters
        ----------
        x : (n, p) float
            Rows of the design matrix.
        codes : (n,) int
            Classes of the rows.

        Returns
        -------
        KNNFit or None
            None if there are fewer than k rows, a class is empty, a scaled column is constant or the
            covariance is singular.
        """
        k = len(self.prior)
        if len(x) < self.k or len(np.unique(codes)) < k:
            return None
        shape = {"n_classes": k, "n_columns": x.shape[1]}
        moments = gather([(x, codes, None)], **shape, required_moments="diagonal")
        within = None
        if self.metric == "mahalanobis":
            within = gather([(x, codes, None)], **shape, required_moments="pooled")
        options: dict[str, Any] = {"k": self.k, "metric": self.metric, "scale": self.scale}
        try:
            fit = fit_knn(x, codes, moments, self.prior, within=within, **options)
        except CollinearError:
            return None
        return replace(fit, estimated_prior=self.estimated_prior)

    def left_out_vote_counts(
        self, max_k: int, positions: Codes | None = None, *, only_present_classes: bool = False
    ) -> Iterator[tuple[Codes, VoteCounts]]:
        """Yield the nearest other rows of each row by class, in blocks of rows.

        Parameters
        ----------
        max_k : int
            Number of neighbours of each row, below the number of rows.
        positions : (m,) int or None
            Positions of the rows; None for all rows.
        only_present_classes : bool
            Whether to store only the classes among the neighbours of each row.

        Yields
        ------
        rows : (b,) int
            Positions of the rows of the block.
        tally : VoteCounts
            Votes of their neighbours.
        """
        positions = np.arange(len(self.search.points)) if positions is None else positions
        n_counted = min(len(self.prior), max_k) if only_present_classes else len(self.prior)
        block_rows = int(np.clip(MAX_BLOCK_VOTES // (max_k * n_counted), 64, MAX_BLOCK_ROWS))
        directions = None
        if self.metric == "mahalanobis":
            directions = left_out_directions(self.search.points, self.search.codes, self.search.n_classes)
        for block in slices(len(positions), block_rows):
            rows = positions[block]
            if directions is None:
                nearest = self.search.nearest_others(rows, max_k)
            else:
                nearest = nearest_others_downdated(self.search, rows, max_k, directions[rows])
            yield (
                rows,
                VoteCounts.from_neighbours(nearest, self.search, only_present_classes=only_present_classes),
            )

    def _tie_breaking_prior(self, tally: VoteCounts, prior: Floats, rows: Codes) -> Floats:
        """Return the prior that breaks ties if a row is left out; class proportions omit the row.

        Parameters
        ----------
        tally : VoteCounts
            Votes of the neighbours of m rows.
        prior : (K,) float
            Prior probabilities of the classes.
        rows : (m,) int
            Positions of the m rows.

        Returns
        -------
        (K,) or (m, K) float
            Prior of each class, by row if class proportions omit the row or each row has its own
            `tally.present_classes`.
        """
        if not self.estimated_prior:
            return tally.select_classes(prior)
        labels = np.arange(len(prior))[None] if tally.present_classes is None else tally.present_classes
        return np.asarray(prior[labels] - 1 / self.moments.total * (labels == self.search.codes[rows, None]))

    def _left_out_weights(self, tally: VoteCounts, prior: Floats, rows: Codes) -> Floats:
        """Compute the weights of votes from class counts without the row that is left out.

        Parameters
        ----------
        tally : VoteCounts
            Votes of the neighbours of m rows.
        prior : (K,) float
            If it is estimated and equals the class proportions, these are computed from the other rows, and
            each vote has weight one. Otherwise it is fixed.
        rows : (m,) int
            Positions of the m rows.

        Returns
        -------
        (m, K) or (K,) float
            Up to a factor of the row; only for the classes of each row if `tally.present_classes` names them.
        """
        weights = self.vote_weights(prior)
        if self.estimated_prior and np.allclose(weights, 1.0, rtol=1e-12):
            return tally.select_classes(weights)
        own_classes = self.search.codes[rows]
        counts = self.moments.counts[own_classes]
        labels = np.arange(len(prior))[None] if tally.present_classes is None else tally.present_classes
        # Without the only row of a class, the class does not receive votes.
        factor = np.where(counts > 1, counts / np.maximum(counts - 1, 1), 1.0)
        return weights[labels] * np.where(labels == own_classes[:, None], factor[:, None], 1.0)

    def leave_one_out_scores(
        self,
        prior: Floats,
        progress: Callable[[int], object] | None = None,
        positions: Codes | None = None,
    ) -> Floats:
        """Return the leave-one-out scores of the rows of the fit.

        Parameters
        ----------
        prior : (K,) float
            Prior probabilities of the classes.
        progress : callable or None
            Called with the number of rows after each block.
        positions : (m,) int or None
            Positions of the rows to score; None for all rows.

        Returns
        -------
        (m, K) float
            Zero for the winning class, negative for the others, minus infinity for classes without votes.

        Raises
        ------
        CoreNotSupportedError
            The number of rows is at most k.
        """
        n = len(self.search.points)
        if self.k >= n:
            remaining_rows = f"Leave-one-out leaves {n - 1} rows"
            raise CoreNotSupportedError("too_few_neighbours", left=remaining_rows, k=self.k)
        all_scores = []
        for rows, tally in self.left_out_vote_counts(self.k, positions):
            weights = self._left_out_weights(tally, prior, rows)
            (votes,) = tally.votes([self.k])
            all_scores.append(tally.scores(votes, weights, self._tie_breaking_prior(tally, prior, rows)))
            if progress is not None:
                progress(len(rows))
        return np.concatenate(all_scores)

    def left_out_errors_by_class(
        self, grid: Sequence[int], prior: Floats, progress: Callable[[int], object] | None = None
    ) -> Floats:
        """Count leave-one-out errors by class for each k, from one search.

        Parameters
        ----------
        grid : sequence of int
            Values of k, below the number of rows.
        prior : (K,) float
            Prior probabilities of the classes.
        progress : callable or None
            Called with the number of rows after each block.

        Returns
        -------
        (len(grid), K) float
            Numbers of misclassified rows of each (true) class.
        """
        k = len(prior)
        max_k = max(grid)
        error_counts = np.zeros((len(grid), k))
        for rows, tally in self.left_out_vote_counts(max_k, only_present_classes=k > max_k):
            codes = self.search.codes[rows]
            factors = self._left_out_weights(tally, prior, rows)
            tie_prior = self._tie_breaking_prior(tally, prior, rows)
            for i, votes in enumerate(tally.votes(grid)):
                winner, _, _ = tally.find_winners(votes * factors, tie_prior)
                predicted = (
                    winner
                    if tally.present_classes is None
                    else tally.present_classes[np.arange(len(winner)), winner]
                )
                error_counts[i] += np.bincount(codes[predicted != codes], minlength=k)
            if progress is not None:
                progress(len(codes))
        return error_counts


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
        Rows of the design matrix.
    codes : (n,) int
        Classes of the rows.
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    k : int
        Number of neighbours.
    metric : str
        One of `neighbours.METRICS`.
    scale : bool
        Whether to divide columns by their standard deviations over all rows.
    estimated_prior : bool, default True
        Whether the prior is the class proportions.
    within : ClassMoments or None
        Moments with pooled scatter, for the metric "mahalanobis" only; `scale` is not used then.

    Returns
    -------
    KNNFit

    Raises
    ------
    CoreCollinearError
        A column that would be scaled is constant; or, with `within`, the covariance within classes is
        singular or has fewer degrees of freedom than columns.
    """
    # Metrics of x - y do not depend on the origin.
    origin = moments.origin if metric in NORM_ORDERS or metric == "hamming" else np.zeros(x.shape[1])
    max_values = np.abs(x).max(axis=0)
    pooled_covariance = None
    if within is not None:
        df = within.total - within.n_classes
        unit = within.scale
        if df < within.n_columns or covariance.dependencies(within):
            raise CoreCollinearError("singular_metric")
        pooled_covariance = covariance.pooled_covariance(within, df)
    elif scale:
        if covariance.constant_columns(moments):
            raise CoreCollinearError("constant_column")
        unit = moments.scale / np.sqrt(covariance.total_squares(moments) / (moments.total - 1))
    else:
        # One power of two for all columns preserves relative distances and keeps squares in range.
        max_deviation = float(np.abs(x - origin).max())
        unit = np.full(
            x.shape[1],
            2.0 ** -np.frexp(max_deviation)[1] if max_deviation > 0 and metric not in BINARY_METRICS else 1.0,
        )
    space = Space.from_ranges(metric, origin, unit, pooled_covariance, max_values)
    search = NeighbourIndex(space, space.coordinates(x), codes, moments.n_classes)
    return KNNFit(moments, prior, estimated_prior, k, metric, scale, search)


def restore_knn(
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
    """Restore a fit from the stored coordinates and classes of its rows.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    k : int
        Number of neighbours.
    scale, estimated_prior : bool
        Whether columns were scaled, and whether the prior is the class proportions.
    space : Space
        The metric and its coordinates.
    points : (n, p) float
        Coordinates of the rows.
    codes : (n,) int
        Classes of the rows.

    Returns
    -------
    KNNFit

    Raises
    ------
    InvalidStateError
        The codes do not match the points or the class counts, the metric is unknown or does not match the
        covariance, k is not from 1 to n, a unit or the slack is out of range, or the points are out of range
        or do not have the class means of `moments`.
    """
    if len(points) != len(codes) or not ((codes >= 0) & (codes < moments.n_classes)).all():
        raise InvalidStateError("the classes of its rows are invalid")
    if (np.bincount(codes, minlength=moments.n_classes) != moments.counts).any():
        raise InvalidStateError("its rows do not match its class counts")
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

    Coordinates may be up to `MAX_COORDINATE`, and means may differ by `MEANS_TOLERANCE` times the largest
    coordinate plus the slack of the space.

    Parameters
    ----------
    points : (n, p) float
        Coordinates of the rows.
    codes : (n,) int
        Classes of the rows.
    space : Space
        Metric and coordinates.
    moments : ClassMoments
        Moments of the rows, of which counts and means are compared.
    """
    max_coordinate = float(np.abs(points).max())
    if max_coordinate > MAX_COORDINATE:
        raise InvalidStateError("the coordinates of its rows are out of range")
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(moments.counts)[:-1].astype(np.intp)
    sums = np.add.reduceat(points[order], np.insert(starts, 0, 0), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        means = moments.centres - space.origin + moments.rests / moments.scale
        expected = replace(space, origin=np.zeros_like(space.origin)).coordinates(means)
        max_difference = np.abs(sums / moments.counts[:, None] - expected).max()
    if not max_difference <= MEANS_TOLERANCE * max_coordinate + space.slack:
        raise InvalidStateError("the coordinates of its rows do not match its class means")
