"""Areas under the ROC curves of pairs of classes, and their mean, with standard errors.

Theory. A(i|j) is the share of the pairs of a row of class i and one of class j in which the former has the
larger probability of i, a tie counting half; A(i,j) = (A(i|j) + A(j|i)) / 2, and M is its mean over all
pairs of classes, which no shares of the classes enter (Hand & Till, 2001, Machine Learning 45, 171-186).

Each of these is a mean over rows, class by class, of their placements: the shares of the rows of another
class that a row stands above, or below. A sum of areas has as its placement of a row the sum of those of
the areas that the row is in, and so the variance sum over classes of S_c / n_c, with S_c the variance of
these sums within class c: DeLong, DeLong & Clarke-Pearson's (1988, Biometrics 44, 837-845), with the
covariances of areas that share rows. A frequency weight is so many rows.

An area of 0 or 1 has the limits that `discrim.inference.roc` gives it. Those of M, where all areas are 0 or
1, are the means of theirs: the distances from an estimate to a limit add up where estimates err together,
and to less where they do not (Zou & Donner, 2008, Statistics in Medicine 27, 1693-1702).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.inference.roc import Area, area_of, extreme_limits

__all__ = ["PairAreas", "pair_areas"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True, slots=True)
class PairAreas:
    """Areas of all pairs of classes.

    Attributes
    ----------
    pairs : list of (int, int)
        Positions of the classes, i < j.
    areas : list of Area
        A(i,j); missing where one of the classes has no row.
    mean : Area
        M, over the classes that have rows.
    """

    pairs: list[tuple[int, int]]
    areas: list[Area]
    mean: Area


class _Ordered(NamedTuple):
    """Scores (n,) of the rows of a class in rising order, their places, and sums (n + 1,) of weights."""

    values: Floats
    places: Codes
    sums: Floats

    @classmethod
    def of(cls, scores: Floats, weights: Floats) -> Self:
        """Scores put into order."""
        places = np.argsort(scores, kind="stable")
        return cls(scores[places], places, np.append(0.0, np.cumsum(weights[places])))

    def above(self, others: _Ordered) -> Floats:
        """Share (n,) of the others that each row's score exceeds, a tie counting half."""
        # Twice the rows, so that ties are whole numbers and the sums exact.
        twice = sum(others.sums[np.searchsorted(others.values, self.values, side)] for side in SIDES)
        found = np.empty(len(self.values))
        found[self.places] = twice / (2 * others.sums[-1])
        return found


def pair_areas(scores: Floats, codes: Codes, weights: Floats | None = None, level: float = 0.95) -> PairAreas:
    """Areas of each pair of classes, and Hand and Till's M.

    Parameters
    ----------
    scores : (m, K) float
        Larger ones speak for the class; infinite ones may be among them.
    codes : (m,) int
        Classes of the rows.
    weights : (m,) float, optional
        Frequencies.
    level : float
        Of the intervals, normal on the logit scale.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]])
    >>> pair_areas(scores, np.array([0, 0, 1, 1])).mean.auc
    0.75
    """
    k = scores.shape[1]
    held = np.ones(len(scores)) if weights is None else weights
    rows = [np.flatnonzero((codes == c) & (held > 0)) for c in range(k)]
    own = [held[at] for at in rows]
    there = [c for c in range(k) if len(rows[c])]
    factor = 2 / (len(there) * (len(there) - 1)) if len(there) > 1 else np.nan
    missing = Area(np.nan, np.nan, np.nan, np.nan)
    found = dict.fromkeys(combinations(range(k), 2), missing)
    summed = [np.zeros(len(at)) for at in rows]
    with late_bar(len(there), "areas of pairs of classes") as tell:
        # By column i all classes stand in one order, which areas with class i ask for.
        halves: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        for i in there:
            ordered = {c: _Ordered.of(scores[rows[c], i], own[c]) for c in there}
            for j in there:
                if j == i:
                    continue
                # Of A(i|j): rows of class i above those of j, and rows of j below those of i.
                parts = ordered[i].above(ordered[j]), 1 - ordered[j].above(ordered[i])
                if j > i:
                    halves[i, j] = parts
                    continue
                over, under = halves.pop((j, i))
                both = (over + parts[1]) / 2, (under + parts[0]) / 2
                found[j, i] = _area([(both[0], own[j]), (both[1], own[i])], level)
                summed[j] += factor * both[0]
                summed[i] += factor * both[1]
            tell(1)
    pairs, areas = list(found), list(found.values())
    if len(there) < 2:
        return PairAreas(pairs, areas, missing)
    auc = sum(area.auc for area in areas if not np.isnan(area.auc)) * factor
    mean = _area([(summed[c], own[c]) for c in there], level, auc)
    seen = [area for area in areas if not np.isnan(area.auc)]
    if all(area.se == 0 for area in seen):
        low, high = (factor * sum(ends) for ends in zip(*((a.low, a.high) for a in seen), strict=True))
        mean = Area(auc, 0.0, low, high)
    return PairAreas(pairs, areas, mean)


def _area(classes: list[tuple[Floats, Floats]], level: float, auc: float | None = None) -> Area:
    """The area of placements, with weights, of the rows of each class; of the first's mean if not given."""
    variance = 0.0
    for placed, weights in classes:
        rows = float(weights.sum())
        # Equal placements have no variance, whatever rounding makes of their mean.
        mean = float(placed[0] if (placed == placed[0]).all() else weights @ placed / rows)
        auc = mean if auc is None else auc
        variance += float(weights @ (placed - mean) ** 2) / (rows * (rows - 1)) if rows > 1 else np.nan
    found, se = np.nan if auc is None else auc, float(np.sqrt(variance))
    if len(classes) > 2:
        return area_of(found, se, level)
    m, n = (float(weights.sum()) for _, weights in classes)
    return area_of(found, se, level, extreme_limits(found, m, n, level))
