"""Areas under the ROC curves of pairs of classes, and their mean, with standard errors.

Theory. A(i|j) is the share of the pairs of a row of class i and one of class j in which the former has the
larger probability of i, a tie counting half; A(i,j) = (A(i|j) + A(j|i)) / 2, and M is its mean over all
pairs of classes, which no shares of the classes enter (Hand & Till, 2001, Machine Learning 45, 171-186).

Each of these is a mean over rows, class by class, of their placements: the shares of the rows of another
class that a row stands above, or below. A sum of areas has as its placement of a row the sum of those of
the areas that the row is in, and so the variance sum over classes of S_c / n_c, with S_c the variance of
these sums within class c: DeLong, DeLong & Clarke-Pearson's (1988, Biometrics 44, 837-845), with the
covariances of areas that share rows. A frequency weight is so many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.inference.roc import Area, area_of

__all__ = ["PairAreas", "pair_areas", "placements"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


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


def placements(
    own: Floats, others: Floats, own_weights: Floats, others_weights: Floats
) -> tuple[Floats, Floats]:
    """Shares (m,) of the others that each own score exceeds, and (n,) of own scores that exceed each other.

    A tie counts half.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(2)
    >>> [found.tolist() for found in placements(np.array([1.0, 3.0]), np.array([1.0, 2.0]), one, one)]
    [[0.25, 1.0], [0.75, 0.5]]
    """
    return _below(own, others, others_weights), 1 - _below(others, own, own_weights)


def _below(values: Floats, others: Floats, weights: Floats) -> Floats:
    """Share (m,) of the others that each value exceeds."""
    order = np.argsort(others, kind="stable")
    ordered, sums = others[order], np.append(0.0, np.cumsum(weights[order]))
    # Twice the rows, so that ties are whole numbers and the sums exact.
    twice = sums[np.searchsorted(ordered, values, "left")] + sums[np.searchsorted(ordered, values, "right")]
    return np.asarray(twice / (2 * sums[-1]))


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
    there = [c for c in range(k) if len(rows[c])]
    factor = 2 / (len(there) * (len(there) - 1)) if len(there) > 1 else np.nan
    summed, pairs, areas = np.zeros(len(scores)), list(combinations(range(k), 2)), []
    missing = Area(np.nan, np.nan, np.nan, np.nan)
    with late_bar(len(pairs), "areas of pairs of classes") as tell:
        for i, j in pairs:
            tell(1)
            a, b = rows[i], rows[j]
            if not (len(a) and len(b)):
                areas.append(missing)
                continue
            of_a, under_a = placements(scores[a, i], scores[b, i], held[a], held[b])
            of_b, under_b = placements(scores[b, j], scores[a, j], held[b], held[a])
            parts = (of_a + under_b) / 2, (under_a + of_b) / 2
            areas.append(_area([(parts[0], held[a]), (parts[1], held[b])], level))
            summed[a] += factor * parts[0]
            summed[b] += factor * parts[1]
    if len(there) < 2:
        return PairAreas(pairs, areas, missing)
    auc = sum(area.auc for area in areas if not np.isnan(area.auc)) * factor
    return PairAreas(pairs, areas, _area([(summed[rows[c]], held[rows[c]]) for c in there], level, auc))


def _area(classes: list[tuple[Floats, Floats]], level: float, auc: float | None = None) -> Area:
    """The area of placements, with weights, of the rows of each class; of the first's mean if not given."""
    variance = 0.0
    for placed, weights in classes:
        rows = float(weights.sum())
        mean = float(weights @ placed) / rows
        auc = mean if auc is None else auc
        variance += float(weights @ (placed - mean) ** 2) / (rows * (rows - 1)) if rows > 1 else np.nan
    found, se = np.nan if auc is None else auc, float(np.sqrt(variance))
    return area_of(found, se, level)
