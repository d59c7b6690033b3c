"""Where a search for the minimum covariance determinant begins.

Theory. A concentration step never raises the determinant but ends in a minimum near its start, so that
several starts are needed. Sets of p + 1 rows are free of outliers by luck, which few columns have often and
many columns never (Rousseeuw & Van Driessen, 1999, Technometrics 41, 212-223). Correlations that no row can
move far need no luck (Hubert, Rousseeuw & Verdonck, 2012, JCGS 21, 618-637): of the hyperbolic tangents, of
the ranks, of the normal scores, of the directions of the rows, of the rows nearest the median, and pair by
pair of columns from the spreads of sums and differences. Their axes are kept, the variances along these taken
anew, robustly, and half of the rows nearest by the result make a start; as do those nearest by its inverse,
for which the axes of large spread count most: there is where many outliers of one kind lie.

The draw knows the rows by their order in size alone, so that the same rows give the same sets.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.progress import tick

__all__ = ["first_subsets", "nearest", "spread"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]

MOST_SEARCHED = 1000
"""Rows, and not quite twice as many, that the search sees."""

RIDGE = 1e-8
"""What is added to the covariance of few rows, in robust units or in its own where it is larger, in case it
is singular."""

FAR = 1e100
"""Robust units from the median beyond which a row is no farther to the search."""

ELEMENTAL_WORK = 1e7
"""Multiplications (sets x rows x columns^2) that go into sets of p + 1 rows."""

HELD_NUMBERS = 2**20
"""Numbers (sets x rows x columns) that are held at once."""

FIRST_STEPS, NEXT_STEPS = 2, 8
"""Concentration steps from all starts, and from the best of them."""

BEST, FOLLOWED = 30, 4
"""Sets of p + 1 rows that go the next steps, and the different ones of all that are followed on all rows."""

SAME = 1e-6
"""Difference of log-determinants below which two starts have come to the same place."""


NEAR = (0.05, 0.25, 0.5, 0.85)
"""Shares of the rows nearest the median whose covariances are starts."""


def first_subsets(z: Floats, h: int) -> list[Mask]:
    """Sets (n,) of h rows to concentrate from, the most promising first.

    Of many rows the search sees a part, evenly chosen in the order of size.

    Parameters
    ----------
    z : (n, p) float
        Rows about their median, in robust units.
    h : int
        Size of the subset, less than n.
    """
    z = np.clip(z, -FAR, FAR)
    size = (z**2).sum(axis=1)
    part = z[np.argsort(size, kind="stable")[:: max(len(z) // MOST_SEARCHED, 1)]]
    own = min(max(-(-h * len(part) // len(z)), part.shape[1] + 1), len(part) - 1)
    subsets, logdets = _concentrated(part, _elemental(part), own, FIRST_STEPS)
    best = [subsets[np.argsort(logdets, kind="stable")[:BEST]]]
    best.append(_concentrated(part, _robust(part), own, FIRST_STEPS)[0])
    subsets, logdets = _concentrated(part, np.concatenate(best), own, NEXT_STEPS)
    starts = [nearest(size, h)]
    last = -np.inf
    for s in np.argsort(logdets, kind="stable"):
        if logdets[s] > last + SAME and len(starts) <= FOLLOWED:
            last = logdets[s]
            mean, half = _moments(part[subsets[[s]]])
            starts.append(nearest(_squares(z, mean, half)[0], h))
    return [*starts[1:], starts[0]]


def nearest(d2: Floats, h: int) -> Mask:
    """Which of the rows (n,) are the h of least distance; of equals at the end the first."""
    last = np.partition(d2, h - 1)[h - 1]
    subset = np.asarray(d2 < last)
    subset[np.flatnonzero(d2 == last)[: h - int(subset.sum())]] = True
    return subset


def spread(x: Floats, h: int) -> Floats:
    """The h-th smallest absolute deviation (p,) from the median: zero where h rows have one value."""
    # Column by column, which lie side by side for the search of each.
    columns = np.ascontiguousarray(x.T)
    away = np.abs(columns - np.median(columns, axis=1, keepdims=True))
    return np.asarray(np.partition(away, h - 1, axis=1)[:, h - 1])


def _elemental(z: Floats) -> Codes:
    """Sets (s, p + 1) of p + 1 rows."""
    n, p = z.shape
    rng = np.random.default_rng(0)
    sets = int(np.clip(ELEMENTAL_WORK / (n * p * p), 10, 500))
    return np.array([rng.choice(n, p + 1, replace=False) for _ in range(sets)])


def _robust(z: Floats) -> Codes:
    """Sets (s, n/2) of the half of the rows, in order of size, nearest by each of the robust correlations."""
    n, p = z.shape
    length = np.sqrt((z**2).sum(axis=1, keepdims=True))
    ranks = scipy.stats.rankdata(z, axis=0)
    scores = scipy.special.ndtri((ranks - 1 / 3) / (n + 1 / 3))
    shapes = [np.tanh(z), ranks - ranks.mean(axis=0), scores, z / np.where(length > 0, length, 1.0)]
    shapes += [near - near.mean(axis=0) for near in (z[: max(int(share * n), p + 1)] for share in NEAR)]
    half = n // 2 + 1
    found = []
    for shape in (*(own.T @ own for own in shapes), _pairwise(z, half)):
        deviations = np.sqrt(np.diagonal(shape))
        if not deviations.all():
            continue
        _, axes = np.linalg.eigh(shape / deviations / deviations[:, None])
        along = z @ axes
        unit = spread(along, half)
        # Many ties make a scale zero; the other starts then have to do.
        if (unit > 0).all():
            turned = along / unit
            middle = np.median(turned @ axes.T, axis=0) @ axes
            for coordinates in (turned - middle, along * unit):
                subset = nearest((coordinates**2).sum(axis=1), half)
                found.append(np.flatnonzero(subset))
    return np.array(found, dtype=np.intp).reshape(-1, half)


def _pairwise(z: Floats, half: int) -> Floats:
    """Covariances (p, p) from the spreads of sums and differences (Gnanadesikan & Kettenring, 1972)."""
    found = np.eye(z.shape[1])
    for j in range(1, z.shape[1]):
        tick()
        own, others = z[:, [j]], z[:, :j]
        found[j, :j] = found[:j, j] = (spread(own + others, half) ** 2 - spread(own - others, half) ** 2) / 4
    return found


def _concentrated(z: Floats, sets: Codes, h: int, steps: int) -> tuple[Codes, Floats]:
    """Sets (s, h) some concentration steps on from sets (s, m) of rows, and their log-determinants (s,)."""
    found, logdets = np.empty((len(sets), h), dtype=np.intp), np.empty(len(sets))
    held = max(HELD_NUMBERS // z.size, 1)
    for start in range(0, len(sets), held):
        subsets = sets[start : start + held]
        for _ in range(steps):
            tick()
            means, halves = _moments(z[subsets])
            subsets = np.argpartition(_squares(z, means, halves), h - 1, axis=1)[:, :h]
        _, halves = _moments(z[subsets])
        found[start : start + held] = subsets
        logdets[start : start + held] = np.log(np.diagonal(halves, axis1=1, axis2=2)).sum(axis=1)
    return found, logdets


def _moments(rows: Floats) -> tuple[Floats, Floats]:
    """Means (s, 1, p) and lower roots (s, p, p) of the covariances of sets of rows (s, m, p)."""
    means = rows.mean(axis=1, keepdims=True)
    rows = rows - means
    ridges = RIDGE * np.maximum((rows**2).mean(axis=1).max(axis=1), 1.0)
    ridges = ridges[:, None, None] * np.eye(rows.shape[2])
    return means, np.linalg.cholesky(np.swapaxes(rows, 1, 2) @ rows / rows.shape[1] + ridges)


def _squares(z: Floats, means: Floats, halves: Floats) -> Floats:
    """Squared distances (s, n) of rows (n, p), as exact as a choice of starts needs."""
    inverses = np.linalg.inv(halves)
    white = inverses @ z.T - inverses @ np.swapaxes(means, 1, 2)
    return np.asarray(np.einsum("spn,spn->sn", white, white))
