"""Where EM begins: partitions of the rows of a class, drawn at random and by hierarchical clustering.

A random partition is that of k-means from centres that are drawn far apart (Arthur & Vassilvitskii, 2007,
Proceedings of SODA, 1027-1035), in turn in the metric of the covariance of the class, which finds clusters
along the directions in which it is short, and of columns over their standard deviations, which finds those
along long ones. Neither depends on the units of the columns. Those of `hierarchy` are tried beside them.

From each partition EM takes some steps, and is run to the end from the best (Biernacki, Celeux & Govaert,
2003, Computational Statistics & Data Analysis 41, 561-575). Where rows are few it is run to the end from
those of hierarchies and from the best `FINALISTS` of the others, so that it is known how many of these reach
the maximum: ranks after some steps are not those at the end. Where they are many, the steps are taken on some
of the rows, and one run goes on with all of them.

Rows are drawn by their place, so that a fit is the same whatever the order of the table if they come sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.mixtures.em import FEW_TURNS, Components, Degenerate, Plan, Rows, maximized, of_weights
from discrim.core.mixtures.hierarchy import Hierarchies, at_weights, labels_of, standardized
from discrim.core.moments.coordinates import column_squares

__all__ = ["Trials", "tried"]

Floats = NDArray[np.float64]

FEW = 2000
"""Rows of a class up to which starts are tried by all of them."""

SOME = 1000
"""Rows by which they are tried in a class of more."""

PER_COLUMN = 20
"""Such rows for each component and column, where that is more, up to `FEW`."""

SHORT = 10
"""Steps of a trial."""

SETTLED = 1e-4
"""Gain of log-likelihood a row at which a trial ends before."""

FINALISTS = 3
"""Partitions drawn at random from which EM is run to the end, where rows are few."""

ROUNDS = 10
"""Rounds of k-means."""

ALIKE = 1000
"""Gains of log-likelihood at which EM ends that two runs to the same maximum may differ by."""


class Trials(NamedTuple):
    """What EM came to from some starts.

    Attributes
    ----------
    best_first : list of (Components or Degenerate)
        The most likely ones first.
    ended : int
        Runs of EM to the end; 0 where trials are on some of the rows.
    reached : int
        How many of them ended at the maximum.
    """

    best_first: list[Components | Degenerate]
    ended: int
    reached: int


def tried(
    plain: Sequence[Rows],
    rows: Sequence[Rows],
    sizes: Sequence[int],
    form: str,
    plan: Plan,
    hierarchies: Sequence[Hierarchies],
    tell: Callable[[float], None] = lambda more: None,
) -> Trials:
    """The components that EM comes to from each start, or some steps towards them.

    Parameters
    ----------
    plain : sequence of Rows
        Of the classes that are fitted together, in an order that depends on their values alone.
    rows : sequence of Rows
        The same in the coordinates in which EM runs.
    sizes : sequence of int
        Components of each.
    form : str
    plan : Plan
    hierarchies : sequence of Hierarchies
        Of the rows of each class.
    tell : callable
        Called after each step of runs to the end.
    """
    rng = np.random.default_rng(plan.seed)
    places = [_some(row, size, rng) for row, size in zip(plain, sizes, strict=True)]
    some_plain = [_at(row, place) for row, place in zip(plain, places, strict=True)]
    some = [_at(row, place) for row, place in zip(rows, places, strict=True)]
    clustered = list(_clustered(rows, sizes, form, hierarchies))
    drawn = list(_drawn(some_plain, some, sizes, form, plan, rng))

    def shortly(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
        return _best_first([_run(trial, some, form, SETTLED, SHORT) for trial in trials])

    if any(place is not None for place in places):
        return Trials(shortly([*clustered, *drawn]), 0, 0)
    drawn = shortly(drawn)

    def to_the_end(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
        return _best_first([_run(trial, rows, form, plan.tol, plan.maxiter, tell) for trial in trials])

    found = to_the_end([*clustered, *drawn[:FINALISTS]])
    if isinstance(found[0], Degenerate):
        found = to_the_end([*drawn[FINALISTS:], *found])
    weight = sum(float(row.weights.sum()) for row in rows)
    least = -_rank(found[0]) - ALIKE * max(plan.tol, np.finfo(np.float64).eps) * weight
    return Trials(found, len(found), sum(-_rank(trial) >= least for trial in found))


def _run(
    begun: Components | Degenerate, rows: Sequence[Rows], form: str, tol: float, maxiter: int,
    tell: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:  # fmt: skip
    if isinstance(begun, Degenerate):
        return begun
    return maximized(begun, rows, form, tol=tol, maxiter=maxiter, tell=tell)


def _rank(trial: Components | Degenerate) -> float:
    return np.inf if isinstance(trial, Degenerate) else -trial.llf


def _best_first(trials: Sequence[Components | Degenerate]) -> list[Components | Degenerate]:
    """The most likely components first, and what has no maximum last."""
    return sorted(trials, key=_rank)


def _clustered(
    rows: Sequence[Rows], sizes: Sequence[int], form: str, hierarchies: Sequence[Hierarchies]
) -> Iterator[Components | Degenerate]:
    """The components of the clusters of hierarchies, the first of each class with each other, and so on."""
    own = [
        Rows(row.z[:, held.rows], np.ones(len(held.rows)))
        for row, held in zip(rows, hierarchies, strict=True)
    ]
    cut = [labels_of(held, size) for held, size in zip(hierarchies, sizes, strict=True)]
    for labels in zip(*cut, strict=False):
        parts = [(of == np.arange(size)[:, None]) * 1.0 for of, size in zip(labels, sizes, strict=True)]
        yield of_weights(own, parts, form, turns=FEW_TURNS)


def _drawn(
    plain: Sequence[Rows], rows: Sequence[Rows], sizes: Sequence[int], form: str, plan: Plan,
    rng: np.random.Generator,
) -> Iterator[Components | Degenerate]:  # fmt: skip
    """The components of clusters that k-means comes to from centres drawn at random."""
    metrics = [_whitened(row) for row in plain], [standardized(*row) for row in plain]
    for start in range(plan.starts):
        placed = zip(metrics[start % 2], plain, sizes, strict=True)
        parts = [_partition(z, row.weights, size, rng) for z, row, size in placed]
        yield of_weights(rows, parts, form, turns=FEW_TURNS)


def _some(row: Rows, size: int, rng: np.random.Generator) -> NDArray[np.intp] | None:
    """Places of some of the rows of a class, drawn by their weights; None, for all, where they are few."""
    if float(row.weights.sum()) <= FEW:
        return None
    some = min(max(SOME, PER_COLUMN * size * len(row.z)), FEW)
    return at_weights(row.weights, np.sort(rng.random(some)))


def _at(row: Rows, place: NDArray[np.intp] | None) -> Rows:
    """The rows at some places, drawn by their weights."""
    return row if place is None else Rows(np.ascontiguousarray(row.z[:, place]), np.ones(len(place)))


def _whitened(row: Rows) -> Floats:
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
        there = sums > 0
        middle[there] = (members[there] @ z.T) / sums[there, None]
    return np.asarray(members)
