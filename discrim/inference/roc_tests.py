"""Tests of the difference of two areas under ROC curves of scores of the same rows.

`discrim.compare(...).roc_test()` uses these functions.

With V_i the placement of row i, which is the proportion of the rows of the other side that it is on the right
side of (ties count one half), the area of a score is the mean of V over the rows of the class, and also over
the other rows. For two scores of the same rows the differences D_i of their placements estimate the variance
of the difference of the areas, including the covariance,

    S_D(class) / M + S_D(others) / N,

with S_D the variance of D in the M rows of the class and in the N others: the test of DeLong, DeLong &
Clarke-Pearson (1988, Biometrics 44, 837-845) with placements from ranks (Sun & Xu, 2014, IEEE Signal
Processing Letters 21, 1389-1393). The bootstrap draws rows within the class and within the others, the same
rows for both scores, and divides the difference by its standard deviation over the samples, as
`roc.test(method = "bootstrap")` of R's pROC (Robin et al., 2011, BMC Bioinformatics 12, 77).

Both tests assume independent rows and, in large samples, a normal difference. They treat the scores as given:
the variation of the rules that computed them is not included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import normal_sf
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import check_level
from discrim.inference.resampling import random_generator
from discrim.inference.roc import SortedScores, mean_with_variance


@dataclass(frozen=True, slots=True)
class AreaDifference:
    """Difference of two areas under ROC curves of the same rows, with its test.

    Attributes
    ----------
    area_a, area_b : float
        Areas of the two scores.
    difference : float
        `area_a` minus `area_b`.
    se : float
        Standard error of the difference; NaN if one side has a single row.
    low, high : float
        Confidence limits of the difference.
    statistic, pvalue : float
        Difference divided by its standard error, and its two-sided p-value by the normal distribution; 0 and
        1 if difference and standard error are zero. If only the standard error is zero, for example for areas
        of 1 and 0.5 without variation of the placements, they and the limits are NaN, because the variance
        cannot be estimated.
    """

    area_a: float
    area_b: float
    difference: float
    se: float
    low: float
    high: float
    statistic: float
    pvalue: float


def delong_test(
    scores: tuple[Floats, Floats], positive: NDArray[np.bool_], weights: Floats, level: float = 0.95
) -> AreaDifference:
    """Compare the areas of two scores of the same rows by DeLong's test.

    Parameters
    ----------
    scores : two (n,) float
        Larger scores indicate the class; infinite values are allowed.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float
        Frequency weights, all positive.
    level : float
        Confidence level.

    Returns
    -------
    AreaDifference
        NaN unless there are rows on both sides.

    Examples
    --------
    >>> positive = np.array([False, False, True, True, True])
    >>> first, second = np.array([0.1, 0.4, 0.3, 0.8, 0.5]), np.array([0.2, 0.6, 0.5, 0.1, 0.7])
    >>> test = delong_test((first, second), positive, np.ones(5))
    >>> round(test.difference, 4), round(test.se, 4), round(test.pvalue, 4)
    (0.3333, 0.3333, 0.3173)
    """
    z = check_level(level)
    if positive.all() or not positive.any():
        return AreaDifference(*(np.nan,) * 8)
    placements = [_placements(score, positive, weights) for score in scores]
    area_a, area_b = (float(np.average(values[positive], weights=weights[positive])) for values in placements)
    difference = area_a - area_b
    variances = [
        mean_with_variance(placements[0][rows] - placements[1][rows], weights[rows])[1]
        for rows in (positive, ~positive)
    ]
    se = float(np.sqrt(sum(variances)))
    statistic, pvalue = _normal_test(difference, se)
    half = z * (np.nan if np.isnan(statistic) else se)
    return AreaDifference(
        area_a, area_b, difference, se, difference - half, difference + half, statistic, pvalue
    )


def bootstrap_area_test(
    scores: tuple[Floats, Floats],
    positive: NDArray[np.bool_],
    weights: Floats,
    level: float = 0.95,
    *,
    replicates: int = 2000,
    seed: int | None = None,
) -> AreaDifference:
    """Compare the areas of two scores of the same rows by a stratified bootstrap.

    Parameters
    ----------
    scores, positive, weights, level
        As for `delong_test`; weights are whole numbers.
    replicates : int
        Number of samples.
    seed : int, optional
        Seed of the samples.

    Returns
    -------
    AreaDifference
        The limits are quantiles of the differences in the samples. NaN unless there are rows on both sides.

    Raises
    ------
    NotSupportedError
        A weight is not a whole number.
    """
    if (weights != np.round(weights)).any():
        raise NotSupportedError(
            "The bootstrap of ROC areas requires weights that are whole numbers.",
            hint='Pass frequency weights, or use test="delong".',
        )
    observed = delong_test(scores, positive, weights, level)
    if np.isnan(observed.difference):
        return observed
    values = [np.unique(score, return_inverse=True)[1] for score in scores]
    sides = [np.repeat(np.flatnonzero(rows), weights[rows].astype(np.intp)) for rows in (positive, ~positive)]
    rng = random_generator(seed)
    differences = np.empty(replicates)
    with Progress(replicates, "bootstrap samples") as progress:
        for replicate in range(replicates):
            in_class, others = (side[rng.integers(len(side), size=len(side))] for side in sides)
            areas = [_area_of_ranks(ranks[in_class], ranks[others]) for ranks in values]
            differences[replicate] = areas[0] - areas[1]
            progress(1)
    se = float(differences.std(ddof=1))
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2]).tolist()
    statistic, pvalue = _normal_test(observed.difference, se)
    return replace(observed, se=se, low=low, high=high, statistic=statistic, pvalue=pvalue)


def _placements(scores: Floats, positive: NDArray[np.bool_], weights: Floats) -> Floats:
    """Return the placement (n,) of each row among the rows of the other side (see the module docstring)."""
    in_class, others = (
        SortedScores.from_scores(scores[rows], weights[rows]) for rows in (positive, ~positive)
    )
    placements = np.empty(len(scores))
    placements[positive] = in_class.placements(others)
    placements[~positive] = 1 - others.placements(in_class)
    return placements


def _area_of_ranks(in_class: NDArray[np.intp], others: NDArray[np.intp]) -> float:
    """Return the area of the ranks (M,) of the rows of the class and (N,) of the others, from 0."""
    n_ranks = int(max(in_class.max(), others.max())) + 1
    other_counts = np.bincount(others, minlength=n_ranks)
    smaller_or_half = np.cumsum(other_counts) - other_counts / 2
    return float(smaller_or_half[in_class].sum()) / (len(in_class) * len(others))


def _normal_test(difference: float, se: float) -> tuple[float, float]:
    """Return `statistic` and `pvalue` of `AreaDifference`."""
    if se == 0:
        return (0.0, 1.0) if difference == 0 else (np.nan, np.nan)
    statistic = difference / se
    return statistic, float(2 * normal_sf(abs(statistic)))
