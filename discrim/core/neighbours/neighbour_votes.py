"""Votes of nearest neighbours for any number of them, and the classes that win.

Where classes are many, only those that a row's neighbours are of are counted. See `neighbours.knn` for how
ties are broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.neighbours.neighbours import Neighbours, Search

__all__ = ["Tally"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

EQUAL = 1e-13
"""Relative difference of two posteriors below which they are one."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The neighbours of some rows, counted by class for any k up to as many as were found.

    Attributes
    ----------
    classes : (m, n) int
        Of the neighbours, the nearest first.
    beyond : (m, K) int
        Rows that are as near as the last of them.
    ends : (m, n) int
        Last position that is tied with each.
    nearest : (m, K) int
        Rank of the distance of the nearest row of each class; of one that is not among the neighbours, the
        last.
    labels : (m, K) int or None
        The classes, in the order of the levels, where each row has its own few, filled up by the first; all
        of them else.
    """

    classes: Codes
    beyond: Codes
    ends: Codes
    nearest: Codes
    labels: Codes | None = None

    @staticmethod
    def of(found: Neighbours, search: Search, *, few: bool = False) -> Tally:
        """Of what a search has found; with few classes a row, only those that it found."""
        with np.errstate(invalid="ignore"):
            steps = found.distances[:, 1:] > search.space.tied(found.distances[:, :-1])
        classes, labels = search.codes[found.rows], None
        if few:
            classes, beyond, labels = _few(classes, found.beyond)
            found = found._replace(beyond=beyond)
        m, n = classes.shape
        levels = np.zeros((m, n), dtype=np.intp)
        np.cumsum(steps, axis=1, out=levels[:, 1:])
        ends = np.broadcast_to(np.arange(n), (m, n)).copy()
        for j in np.flatnonzero(~steps.all(axis=0))[::-1]:
            ends[:, j] = np.where(steps[:, j], j, ends[:, j + 1])
        nearest = np.repeat(levels[:, -1:], found.beyond.shape[1], axis=1)
        for j in range(n - 1, -1, -1):
            nearest[np.arange(m), classes[:, j]] = levels[:, j]
        return Tally(classes, found.beyond, ends, nearest, labels)

    def of_classes(self, values: Floats) -> Floats:
        """Numbers (K,) of the classes as those of each row, (m, K) where it has its own."""
        return values if self.labels is None else values[self.labels]

    def of_classes_without(self, values: Floats, own: Codes, share: float) -> Floats:
        """The same, (m, K), with a share less for the class of each row, own (m,)."""
        labels = np.arange(len(values))[None] if self.labels is None else self.labels
        return np.asarray(values[labels] - share * (labels == own[:, None]))

    def classes_at(self, winner: Codes) -> Codes:
        """The classes (m,) at positions of winners (m,)."""
        return winner if self.labels is None else self.labels[np.arange(len(winner)), winner]

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

    def winners(self, mass: Floats, prior: Floats) -> tuple[Codes, Codes, NDArray[np.bool_]]:
        """Class (m,) that wins by its posterior, up to a factor, in mass (m, K), and what was tied.

        The prior is that of `of_classes`.

        Returns
        -------
        winner : (m,) int
        rows : (t,) int
            Rows with a tie.
        equal : (t, K) bool
            Classes that are tied there.
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
        scores[rows] = np.where(equal, np.minimum(scores[rows], -2 * EPS), scores[rows])
        scores[rows, winner[rows]] = 0.0
        return scores


def _few(classes: Codes, beyond: Codes) -> tuple[Codes, Codes, Codes]:
    """Classes (m, n), and rows beyond (m, K) by class, by the number of each class among those of its row.

    The third is the class of each number.
    """
    m, n_classes = beyond.shape
    own = classes + n_classes * np.arange(m)[:, None]
    more = np.flatnonzero(beyond)
    cells = np.unique(np.concatenate([own.ravel(), more]))
    counts = np.bincount(cells // n_classes, minlength=m)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(cells)) - np.repeat(starts, counts)
    labels = np.zeros((m, int(counts.max())), dtype=np.intp)
    labels[cells // n_classes, rank] = cells % n_classes
    held = np.zeros(labels.shape, dtype=np.intp)
    row = more // n_classes
    held[row, np.searchsorted(cells, more) - starts[row]] = beyond.ravel()[more]
    return np.searchsorted(cells, own) - starts[:, None], held, labels
