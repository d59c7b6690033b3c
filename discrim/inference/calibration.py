"""Do probabilities come true? Predicted ones beside the shares that were seen, in bins of equal counts.

Rows are sorted by their probability and cut where the counts are even; rows of the same probability stay
together. Of each bin the mean probability stands beside the share of its rows that are of the class, with
Wilson's interval (1927, Journal of the American Statistical Association 22, 209-212). A frequency weight is
so many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.inference.error_rates import check_level

__all__ = ["Binned", "Bins", "binned", "calibration_bins", "wilson_interval"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of rows by their probability.

    Attributes
    ----------
    predicted, observed : (B,) float
        Mean probability, and share of the rows for which it came true.
    low, high : (B,) float
        Wilson's interval of the share.
    rows : (B,) float
        Rows, or sums of their weights.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    rows: Floats


def calibration_bins(
    proba: Floats,
    true: NDArray[np.bool_],
    bins: int = 10,
    weights: Floats | None = None,
    level: float = 0.95,
) -> Bins:
    """Predicted probabilities beside observed shares.

    Parameters
    ----------
    proba : (n,) float
        Of a class, or of whatever may come true.
    true : (n,) bool
        Whether it did.
    bins : int
        At most so many; fewer where rows have the same probability.
    weights : (n,) float, optional
        Frequencies.
    level : float
        Of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> found = calibration_bins(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, True, True, True]), bins=2)
    >>> found.predicted.round(2).tolist(), found.observed.tolist()
    ([0.15, 0.85], [0.5, 1.0])
    """
    held = binned(proba, true, bins, weights)
    return Bins(held.predicted, held.observed, *wilson_interval(held.observed, held.rows, level), held.rows)


class Binned(NamedTuple):
    """Different probabilities, and the bins that they are in.

    Attributes
    ----------
    values, counts, hits : (v,) float
        Each probability once, rising; its rows, and those for which it came true.
    at : (v,) int
        Its bin.
    rows, predicted, observed : (B,) float
        Of the bins, as of `Bins`.
    """

    values: Floats
    counts: Floats
    hits: Floats
    at: NDArray[np.intp]
    rows: Floats
    predicted: Floats
    observed: Floats


def binned(proba: Floats, true: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None) -> Binned:
    """Probabilities cut into bins of about equal counts; arguments as of `calibration_bins`.

    Raises
    ------
    DataError
        The number of bins is none.
    """
    if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool) or bins < 1:
        raise DataError(f"bins={bins!r}: give a whole number from 1 on.")
    values, at = np.unique(proba, return_inverse=True)
    held = np.ones(len(proba)) if weights is None else weights
    counts = np.bincount(at, held, len(values)).astype(np.float64)
    hits = np.bincount(at, held * true, len(values)).astype(np.float64)
    before = np.cumsum(counts) - counts
    total = float(counts.sum())
    there = counts > 0
    values, counts, hits = values[there], counts[there], hits[there]
    # By the middle of the rows that are tied, so that the cuts are the same from either end.
    own = np.minimum((bins * (before[there] + counts / 2) / total).astype(np.intp), bins - 1)
    _, own = np.unique(own, return_inverse=True)
    rows = np.bincount(own, counts).astype(np.float64)
    predicted = np.bincount(own, counts * values) / rows
    return Binned(values, counts, hits, own, rows, predicted, np.bincount(own, hits) / rows)


def wilson_interval(share: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of binomial shares.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = wilson_interval(np.array([0.0]), np.array([10.0]), 0.95)
    >>> low.tolist(), high.round(4).tolist()
    ([0.0], [0.2775])
    """
    squared = check_level(level) ** 2
    # Of the two roots of a quadratic, so that the limits of 0 and 1 are these and not beside them.
    middle = share * rows + squared / 2
    half = np.sqrt(squared) * np.sqrt(rows * share * (1 - share) + squared / 4)
    low = np.where(share > 0, middle - half, 0.0) / (rows + squared)
    high = np.where(share < 1, middle + half, rows + squared) / (rows + squared)
    return np.asarray(low), np.asarray(high)
