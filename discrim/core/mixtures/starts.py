"""Where EM begins: partitions of the rows of a class, tried by a few steps each on some of them.

A partition is that of k-means from centres that are drawn far apart (Arthur & Vassilvitskii, 2007,
Proceedings of SODA, 1027-1035), in turn in the metric of the covariance of the class, which finds clusters
along the directions in which it is short, and of columns over their standard deviations, which finds those
along long ones. Neither depends on the units of the columns. Short runs from many starts, and one to the end
from the best of them, are the rule of Biernacki, Celeux & Govaert (2003, Computational Statistics & Data
Analysis 41, 561-575).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discrim.core.mixtures.em import Components, Degenerate, Rows, maximized, of_weights
from discrim.core.moments.coordinates import column_squares

__all__ = ["started"]

Floats = NDArray[np.float64]

SOME = 2000
"""Rows of a class by which starts are tried."""

SHORT = 10
"""Steps of a trial."""

SETTLED = 1e-4
"""Gain of log-likelihood a row at which a trial ends before."""

ROUNDS = 10
"""Rounds of k-means."""


def started(
    rows: Sequence[Rows], sizes: Sequence[int], form: str, starts: int, seed: int
) -> list[Components | Degenerate]:
    """The components to begin with: those of some trials, the most likely first, one without a maximum last.

    Parameters
    ----------
    rows : sequence of Rows
        Of the classes that are fitted together.
    sizes : sequence of int
        Components of each.
    form : str
    starts : int
    seed : int
    """
    if max(sizes) == 1:
        return [of_weights(rows, [row.weights[None] for row in rows], form)]
    rng = np.random.default_rng(seed)
    tried = [_some(row, rng) for row in rows]
    metrics = [_whitened(row) for row in tried], [_standardized(row) for row in tried]
    ended: list[Components] = []
    lost: list[Components | Degenerate] = []
    for start in range(starts):
        placed = zip(metrics[start % 2], tried, sizes, strict=True)
        parts = [_partition(z, row.weights, size, rng) for z, row, size in placed]
        found = of_weights(tried, parts, form)
        if not isinstance(found, Degenerate):
            found = maximized(found, tried, form, tol=SETTLED, maxiter=SHORT)
        if isinstance(found, Degenerate):
            lost = [found]
        else:
            ended.append(found)
    return [*sorted(ended, key=lambda trial: -trial.llf), *lost]


def _some(row: Rows, rng: np.random.Generator) -> Rows:
    """Some of the rows of a class, drawn by their weights, or all of them where they are few."""
    weight = float(row.weights.sum())
    if weight <= SOME:
        return row
    at = _drawn(row.weights, np.sort(rng.random(SOME)))
    return Rows(np.ascontiguousarray(row.z[:, at]), np.ones(SOME))


def _drawn(weights: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Positions with probabilities in proportion to weights; of repeated rows those of one with their sum."""
    sums = np.cumsum(weights)
    return np.asarray(np.minimum(np.searchsorted(sums, uniform * sums[-1], side="right"), len(weights) - 1))


def _standardized(row: Rows) -> Floats:
    """The rows (p, n) with columns over their standard deviations, but for constant ones, which are 0."""
    z, weights = row
    sd = np.sqrt(z**2 @ weights / weights.sum())
    return np.asarray(z / np.where(sd > 0, sd, 1.0)[:, None])


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
        centres.append(z[:, _drawn(chance, rng.random(1))[0]])
        near = np.minimum(near, column_squares(z - centres[-1][:, None]))
    middle = np.array(centres)
    for _ in range(ROUNDS):
        squares = (middle**2).sum(axis=1)[:, None] - 2 * middle @ z
        members = (np.argmin(squares, axis=0) == np.arange(size)[:, None]) * weights
        sums = members.sum(axis=1)
        there = sums > 0
        middle[there] = (members[there] @ z.T) / sums[there, None]
    return np.asarray(members)
