"""ROC and precision-recall curves, areas under them with intervals, and the choice of a cut-off.

The results of all models use these functions for tables and plots.

*One class against the rest.* For M rows of a class and N others, the area under the curve is the proportion
of the M N pairs in which the row of the class has the larger score, with ties counted as one half: the
Mann-Whitney statistic, computed from ranks. With V_i the proportion of the others that row i of the class
exceeds, and V_j the proportion of the class that exceeds the other row j, its variance is S_V(class) / M +
S_V(others) / N with S the variances of these proportions (DeLong, DeLong & Clarke-Pearson, 1988, Biometrics
44, 837-845); ranks provide all of them in the time of a sort (Sun & Xu, 2014, IEEE Signal Processing Letters
21, 1389-1393). The interval is normal on the logit scale and lies between 0 and 1. A frequency weight counts
as that many rows.

If the area is 0 or 1, placements do not vary and the estimated variance is zero. The limits are then the
areas t whose distance is the normal quantile z times their standard error, which Hanley & McNeil (1982,
Radiology 143, 29-36) derive for scores with exponential distributions,

    t (1 - t) [1 + s (1 - t)/(2 - t) + s t/(1 + t)] / (M N),    s = (M + N)/2 - 1,

with the mean s instead of M - 1 and N - 1 (Newcombe, 2006, Statistics in Medicine 25, 559-573, method 5).

The band of a curve consists of a rectangle for each threshold: Clopper-Pearson intervals of both proportions,
each at the square root of the level. Because the proportions are computed from different rows, the rectangle
contains the true point with at least the level (after Hilgers, 1991, Methods of Information in Medicine 30,
96-101). The band is pointwise, not simultaneous.

*Pairs of classes.* A(i|j) is the proportion of the pairs of a row of class i and a row of class j in which
the row of class i has the larger probability of i, with ties counted as one half; A(i,j) = (A(i|j) + A(j|i))
/ 2, and M is its mean over all pairs of classes, which does not depend on the class proportions (Hand & Till,
2001, Machine Learning 45, 171-186). Each of these is a mean over rows of their placements: the proportions of
the rows of another class that a row exceeds, or is exceeded by. The placement of a row for a sum of areas is
the sum of its placements for the areas; the variance is the sum over classes of S_c / n_c, with S_c the
variance of these sums within class c. This is DeLong's variance, including covariances of areas with common
rows. If all areas are 0 or 1, the limits of M are the means of their limits, which is conservative: distances
to limits add up only for perfectly dependent estimates (Zou & Donner, 2008, Statistics in Medicine 27,
1693-1702).

*Cut-offs.* Rows with log odds at or above a cut-off are assigned to the class. Candidates are minus and plus
infinity and the midpoints of adjacent distinct posteriors, as in pROC (Robin et al., 2011, BMC Bioinformatics
12, 77): all cut-offs between two log odds assign the rows alike. Midpoints are computed on the scale of log
odds, on which posteriors near 0 and 1 differ: with q = 1 - p,

    log p/(1-p) = log(p_a + p_b) - log(q_a + q_b).

A cut-off is chosen by a `CutOffCriterion`. Its sensitivity and specificity on the rows that chose it are
optimistic. `choose_cut_off` therefore also chooses a cut-off without each fold and applies it to the fold;
the counts of all folds estimate what the procedure achieves on other rows.

*Precision and recall.* With R_t the proportion of the rows of the class that are at or above the t-th
distinct score, in decreasing order, and P_t the proportion of the class among all rows at or above it,
average precision is sum_t (R_t - R_{t-1}) P_t. Its interval is normal on the logit scale with the binomial
variance AP (1 - AP) / M for M rows of the class (Boyd, Eng & Page, 2013, ECML PKDD, 451-466), and for a value
of 1 the exact limit of M hits in M rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import beta_ppf
from discrim.inference.error_rates import (
    TIE_TOLERANCE,
    check_level,
    confusion_counts,
    exact_interval,
    logit_interval,
    observed_class_prior,
)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A ROC curve, from assigning no row to assigning all rows to the class.

    Attributes
    ----------
    threshold : (T,) float
        Thresholds in decreasing order, the first one infinite. Rows with a score at or above the threshold
        are assigned to the class.
    false_positive, true_positive : (T,) float
        Proportions of the other rows, and of the rows of the class, that are assigned to it.
    """

    threshold: Floats
    false_positive: Floats
    true_positive: Floats


@dataclass(frozen=True, slots=True)
class Area:
    """Area under a ROC curve, or average precision.

    Attributes
    ----------
    auc, se : float
        Area and its standard error; the standard error is NaN if the class or the others have a single row.
    low, high : float
        Confidence limits; NaN if the standard error is zero or NaN and the area is neither 0 nor 1, for
        example if all scores are tied.
    """

    auc: float
    se: float
    low: float
    high: float


NO_AREA = Area(np.nan, np.nan, np.nan, np.nan)
"""Result without pairs of rows to compare."""


def area_with_interval(
    auc: float, se: float, level: float, limits: tuple[float, float] = (np.nan, np.nan)
) -> Area:
    """Return an area with its interval, which is normal on the logit scale.

    Parameters
    ----------
    auc, se : float
        Area and its standard error.
    level : float
        Confidence level.
    limits : (float, float)
        Limits that are used if the standard error is zero or NaN.

    Returns
    -------
    Area
    """
    return Area(auc, se, *(logit_interval(auc, se, level) if se > 0 else limits))


def extreme_limits(auc: float, m: float, n: float, level: float) -> tuple[float, float]:
    """Compute Newcombe's limits for an area of 0 or 1, whose estimated standard error is zero.

    Parameters
    ----------
    auc : float
        Area.
    m, n : float
        Numbers of rows of the class and of other rows.
    level : float
        Confidence level.

    Returns
    -------
    low, high : float
        NaN if the area is not 0 or 1, or if a number of rows is less than one.

    Examples
    --------
    >>> [round(limit, 4) for limit in extreme_limits(1.0, 25, 25, 0.95)]
    [0.9193, 1.0]
    """
    if auc not in (0.0, 1.0) or min(m, n) < 1:
        return np.nan, np.nan
    z = check_level(level)
    mean = (m + n) / 2 - 1

    def limit_equation(area: float) -> float:
        """Function of t, a candidate of the lower limit for an area of 1, that is zero at this limit."""
        # (1 - t)^2 = z^2 var(t), divided by 1 - t.
        inner = 1 + mean * (1 - area) / (2 - area) + mean * area / (1 + area)
        return (1 - area) - z**2 * area * inner / (m * n)

    limit = float(scipy.optimize.brentq(limit_equation, 0.0, 1.0, xtol=1e-14))
    return (limit, 1.0) if auc == 1 else (0.0, 1 - limit)


def roc_curve(scores: Floats, positive: NDArray[np.bool_], weights: Floats | None = None) -> Curve:
    """Compute the ROC curve of scores of one class against the rest.

    Parameters
    ----------
    scores : (n,) float
        Larger scores indicate the class; infinite values are allowed.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    Curve
        One point for each distinct score, after the point (0, 0). Proportions of rows that do not exist are
        NaN.

    Examples
    --------
    >>> curve = roc_curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    >>> curve.true_positive.tolist(), curve.false_positive.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0])
    """
    values, in_class, others = _class_weights_by_score(scores, positive, weights)
    cumulative_counts = [np.append(0.0, np.cumsum(counts[::-1])) for counts in (in_class, others)]
    with np.errstate(invalid="ignore"):
        true_positive, false_positive = (counts / counts[-1] for counts in cumulative_counts)
    return Curve(np.append(np.inf, values[::-1]), false_positive, true_positive)


def roc_area(
    scores: Floats, positive: NDArray[np.bool_], weights: Floats | None = None, level: float = 0.95
) -> Area:
    """Compute the area under the ROC curve, its standard error and its interval.

    Parameters
    ----------
    scores : (n,) float
        Larger scores indicate the class; infinite values are allowed.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float, optional
        Frequency weights.
    level : float
        Confidence level.

    Returns
    -------
    Area
        NaN unless there are rows on both sides.

    Examples
    --------
    >>> roc_area(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])).auc
    0.75
    """
    _, in_class, others = _class_weights_by_score(scores, positive, weights)
    m = float(in_class.sum())
    n = float(others.sum())
    if not m or not n:
        return NO_AREA
    # Count pairs twice: ties are then whole numbers and the sums exact.
    beaten = 2 * (np.cumsum(others) - others) + others
    beating = 2 * (m - np.cumsum(in_class)) + in_class
    auc = float(in_class @ beaten) / (2 * m * n)
    with np.errstate(invalid="ignore", divide="ignore"):
        class_variance = in_class @ (beaten / (2 * n) - auc) ** 2 / (np.float64(m) - 1)
        other_variance = others @ (beating / (2 * m) - auc) ** 2 / (np.float64(n) - 1)
    se = float(np.sqrt(class_variance / m + other_variance / n)) if m > 1 and n > 1 else np.nan
    return area_with_interval(auc, se, level, extreme_limits(auc, m, n, level))


def rectangle_limits(proportions: Floats, rows: float, level: float) -> tuple[Floats, Floats]:
    """Compute exact limits of proportions, for rectangles that cover two independent proportions jointly.

    Parameters
    ----------
    proportions : (T,) float
        Observed proportions.
    rows : float
        Number of rows from which every proportion was computed.
    level : float
        Joint confidence level of two such intervals; each is a Clopper-Pearson interval at its square root.

    Returns
    -------
    low, high : (T,) float

    Examples
    --------
    >>> [limits.round(4).tolist() for limits in rectangle_limits(np.array([0.0, 0.5]), 10, 0.95)]
    [[0.0, 0.159], [0.354, 0.841]]
    """
    check_level(level)
    tail = (1 - np.sqrt(level)) / 2
    hits = proportions * rows
    with np.errstate(invalid="ignore"):
        low = np.where(proportions > 0, beta_ppf(tail, hits, rows - hits + 1), 0.0)
        high = np.where(proportions < 1, beta_ppf(1 - tail, hits + 1, rows - hits), 1.0)
    return np.asarray(low), np.asarray(high)


def thin_curve(curve: Curve, max_points: int = 400) -> Curve:
    """Reduce a curve to at most `max_points` points, for plots.

    Points within straight parts are dropped, which does not change the curve. If more corners remain, corners
    at about even distances along the curve are kept.
    """
    false = curve.false_positive
    true = curve.true_positive
    is_corner = np.ones(len(false), dtype=bool)
    is_corner[1:-1] = np.diff(false[:-1]) * np.diff(true[1:]) != np.diff(false[1:]) * np.diff(true[:-1])
    corner_index = np.flatnonzero(is_corner)
    if len(corner_index) > max_points:
        path_length = false[corner_index] + true[corner_index]
        corner_index = corner_index[
            np.unique(np.searchsorted(path_length, np.linspace(0.0, path_length[-1], max_points)))
        ]
    return Curve(curve.threshold[corner_index], false[corner_index], true[corner_index])


def thin_precision_recall(
    precision: Floats, recall: Floats, max_points: int = 2_000
) -> tuple[Floats, Floats]:
    """Reduce a precision-recall curve to at most `max_points` points, for plots.

    Of each run of points with equal recall only the first, whose precision determines the area, and the last
    are kept. If more points remain, runs at even distances in recall are kept.

    Parameters
    ----------
    precision, recall : (T,) float
        Points of the curve in the order of increasing recall, from `precision_recall_curve`.
    max_points : int
        Largest number of points; a shorter curve is not changed.

    Returns
    -------
    precision, recall : (t,) float
    """
    if len(recall) <= max_points:
        return precision, recall
    changes = np.diff(recall) > 0
    first, last = np.flatnonzero(np.append(True, changes)), np.flatnonzero(np.append(changes, True))
    if 2 * len(first) > max_points:
        runs = np.unique(np.searchsorted(recall[first], np.linspace(0.0, recall[-1], max_points // 2)))
        first, last = first[runs], last[runs]
    kept = np.union1d(first, last)
    return precision[kept], recall[kept]


@dataclass(frozen=True, slots=True, eq=False)
class CutOffs:
    """Counts of rows at or above each cut-off of the log odds of a class against another.

    Attributes
    ----------
    log_odds : (T,) float
        Cut-offs in decreasing order, from infinity (no row is assigned to the class, unless its log odds are
        infinite) to minus infinity (all rows).
    true_positives, false_positives : (T,) float
        Numbers of rows, or sums of weights, of the class and of the other class at or above the cut-off.
    """

    log_odds: Floats
    true_positives: Floats
    false_positives: Floats

    @property
    def sensitivity(self) -> Floats:
        """Proportions (T,) of the rows of the class that are at or above the cut-off."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.true_positives / self.true_positives[-1])

    @property
    def specificity(self) -> Floats:
        """Proportions (T,) of the rows of the other class that are below the cut-off."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.false_positives[-1] - self.false_positives) / self.false_positives[-1])

    def counts(self, position: int) -> Floats:
        """Return the counts (2, 2), actual by assigned class, at one of the cut-offs."""
        tp, fp = self.true_positives, self.false_positives
        return np.array([[fp[-1] - fp[position], fp[position]], [tp[-1] - tp[position], tp[position]]])

    def class_prior(self, prior: Floats | None) -> Floats:
        """Return a prior (2,) restricted to classes with rows; None stands for their proportions."""
        return observed_class_prior(self.counts(-1), prior)

    def predictive_values(self, prior: Floats | None) -> tuple[Floats, Floats]:
        """Return the positive and negative predictive values (T,); NaN if no row is so assigned.

        Classes are weighted by `prior` (2,), by default by the proportions of the rows.
        """
        pi = self.class_prior(prior)
        right, wrong = pi[1] * self.sensitivity, pi[0] * (1 - self.specificity)
        other_right, other_wrong = pi[0] * self.specificity, pi[1] * (1 - self.sensitivity)
        with np.errstate(invalid="ignore"):
            return right / (right + wrong), other_right / (other_right + other_wrong)

    def expected_cost(self, costs: Floats, prior: Floats | None) -> Floats:
        """Return the expected cost (T,) of a row for `costs` (2, 2), actual by assigned class.

        Classes are weighted by `prior` (2,), by default by the proportions of the rows.
        """
        pi = self.class_prior(prior)
        sensitivity, specificity = self.sensitivity, self.specificity
        other_cost = specificity * costs[0, 0] + (1 - specificity) * costs[0, 1]
        return np.asarray(
            pi[0] * other_cost + pi[1] * (sensitivity * costs[1, 1] + (1 - sensitivity) * costs[1, 0])
        )


def cut_offs(log_odds: Floats, positive: NDArray[np.bool_], weights: Floats | None = None) -> CutOffs:
    """Count rows at or above each cut-off between distinct log odds; see the module docstring.

    Parameters
    ----------
    log_odds : (n,) float
        Log odds of the class against the other; infinite values are allowed.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    CutOffs

    Examples
    --------
    >>> table = cut_offs(np.array([-2.0, 0.0, 0.0, 3.0]), np.array([False, False, True, True]))
    >>> table.log_odds.round(3).tolist(), table.true_positives.tolist()
    ([inf, 0.976, -0.802, -inf], [0.0, 1.0, 2.0, 2.0])
    """
    values, in_class, others = _class_weights_by_score(log_odds, positive, weights)
    log_p, log_q = -np.logaddexp(0.0, -values), -np.logaddexp(0.0, values)
    midpoints = np.logaddexp(log_p[:-1], log_p[1:]) - np.logaddexp(log_q[:-1], log_q[1:])
    midpoints = np.clip(midpoints, np.nextafter(values[:-1], np.inf), values[1:])
    # No cut-off is above infinite log odds.
    first = int(len(values) > 0 and np.isposinf(values[-1]))
    counts = [np.append(0.0, np.cumsum(counts[::-1]))[first:] for counts in (in_class, others)]
    return CutOffs(np.concatenate([[np.inf], midpoints[::-1], [-np.inf]])[first:], *counts)


@dataclass(frozen=True, slots=True, eq=False)
class CutOffCriterion:
    """Criterion by which one of several cut-offs is chosen.

    Attributes
    ----------
    measure : {"sensitivity", "specificity", "youden", "costs"}
        A required sensitivity (the specificity is maximized) or specificity (the sensitivity is maximized);
        Youden's index, sensitivity + specificity - 1, is maximized; or the expected cost is minimized.
    target : float
        Required sensitivity or specificity; NaN for the other measures.
    costs : (2, 2) float or None
        Costs of "costs", actual by assigned class.
    """

    measure: Literal["sensitivity", "specificity", "youden", "costs"]
    target: float = np.nan
    costs: Floats | None = None

    def best(self, table: CutOffs, prior: Floats | None) -> int:
        """Return the position of the best cut-off.

        If cut-offs tie, it is the one with the larger sensitivity, and the one with the larger specificity if
        a specificity is required.

        Parameters
        ----------
        table : CutOffs
        prior : (2,) float or None
            Prior that weights the classes in the expected cost; None for the proportions of the rows.
        """
        objective = self._objective(table, prior)
        reached = getattr(table, self.measure) >= self.target - TIE_TOLERANCE if self.has_target else True
        objective = np.where(reached, objective, -np.inf)
        ties = np.flatnonzero(objective >= objective.max() - TIE_TOLERANCE * max(1.0, abs(objective.max())))
        return int(ties[0] if self.measure == "specificity" else ties[-1])

    @property
    def has_target(self) -> bool:
        """Whether a sensitivity or specificity is required."""
        return self.measure in ("sensitivity", "specificity")

    def _objective(self, table: CutOffs, prior: Floats | None) -> Floats:
        """Return the values (T,) that are maximized; `prior` weights the classes in the expected cost."""
        if self.costs is not None:
            # The tolerance of ties does not depend on the unit of the costs.
            return -table.expected_cost(self.costs / self.costs.max(), prior)
        if self.measure == "youden":
            return table.sensitivity + table.specificity
        return table.specificity if self.measure == "sensitivity" else table.sensitivity


@dataclass(frozen=True, slots=True, eq=False)
class ChosenCutOff:
    """A cut-off and what it achieves.

    Attributes
    ----------
    log_odds : float
        The cut-off.
    counts : (2, 2) float
        Actual by assigned class of the rows that chose the cut-off.
    fold_log_odds : (F,) float
        Cut-off chosen without each fold.
    nested_counts : (2, 2) float
        Actual by assigned class of all rows, each by the cut-off chosen without its fold.
    attainable : float
        Largest value of a required sensitivity or specificity without assigning all rows to one class; NaN
        without such a requirement.
    """

    log_odds: float
    counts: Floats
    fold_log_odds: Floats = field(repr=False)
    nested_counts: Floats = field(repr=False)
    attainable: float = np.nan


def choose_cut_off(
    log_odds: Floats,
    positive: NDArray[np.bool_],
    weights: Floats,
    fold_ids: Codes,
    criterion: CutOffCriterion,
    prior: Floats | None = None,
) -> ChosenCutOff:
    """Choose a cut-off from all rows, and from the rows outside each fold.

    Parameters
    ----------
    log_odds : (n,) float
        Log odds of the class against the other, by rules fitted without the row.
    positive : (n,) bool
        Whether the row belongs to the class; both classes require rows outside every fold.
    weights : (n,) float
        Frequency weights.
    fold_ids : (n,) int
        Fold of each row.
    criterion : CutOffCriterion
    prior : (2,) float, optional
        Prior that weights the classes in expected costs; by default the proportions of the rows.

    Returns
    -------
    ChosenCutOff

    Examples
    --------
    >>> log_odds, positive = np.array([-2.0, 1.0, 0.5, 3.0]), np.array([False, False, True, True])
    >>> youden = CutOffCriterion("youden")
    >>> chosen = choose_cut_off(log_odds, positive, np.ones(4), np.array([0, 1, 0, 1]), youden)
    >>> chosen.counts.tolist(), chosen.nested_counts.tolist()
    ([[1.0, 1.0], [0.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]])
    """
    table = cut_offs(log_odds, positive, weights)
    position = criterion.best(table, prior)
    attainable = np.nan
    if criterion.has_target:
        other = table.specificity if criterion.measure == "sensitivity" else table.sensitivity
        attainable = float(getattr(table, criterion.measure)[other > 0].max(initial=0.0))
    chosen = []
    nested_counts = np.zeros((2, 2))
    for fold in np.unique(fold_ids):
        is_left_out = fold_ids == fold
        training = cut_offs(log_odds[~is_left_out], positive[~is_left_out], weights[~is_left_out])
        cut_off = float(training.log_odds[criterion.best(training, prior)])
        chosen.append(cut_off)
        assigned = (log_odds[is_left_out] >= cut_off).astype(np.intp)
        nested_counts += confusion_counts(
            positive[is_left_out].astype(np.intp), assigned, 2, weights[is_left_out]
        ).astype(np.float64)
    return ChosenCutOff(
        float(table.log_odds[position]), table.counts(position), np.array(chosen), nested_counts, attainable
    )


def precision_recall_curve(
    scores: Floats, positive: NDArray[np.bool_], weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Compute precision and recall at each distinct score, in the order of decreasing scores.

    Parameters
    ----------
    scores : (n,) float
        Larger scores indicate the class; infinite values are allowed.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    precision, recall : (T,) float
        Proportion of the class among the rows at or above the score, and proportion of the rows of the class
        that are; recall is NaN without rows of the class.

    Examples
    --------
    >>> scores, positive = np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])
    >>> [values.round(3).tolist() for values in precision_recall_curve(scores, positive)]
    [[1.0, 0.5, 0.667, 0.5], [0.5, 0.5, 1.0, 1.0]]
    """
    _, in_class, others = _class_weights_by_score(scores, positive, weights)
    hits, misses = np.cumsum(in_class[::-1]), np.cumsum(others[::-1])
    with np.errstate(invalid="ignore"):
        return hits / (hits + misses), hits / hits[-1]


def average_precision(
    scores: Floats, positive: NDArray[np.bool_], weights: Floats | None = None, level: float = 0.95
) -> Area:
    """Compute the average precision, its standard error and its interval; see the module docstring.

    Parameters
    ----------
    scores : (n,) float
        Larger scores indicate the class; infinite values are allowed.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float, optional
        Frequency weights.
    level : float
        Confidence level.

    Returns
    -------
    Area
        NaN unless there are rows on both sides.

    Examples
    --------
    >>> round(average_precision(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])).auc, 3)
    0.833
    """
    _, in_class, others = _class_weights_by_score(scores, positive, weights)
    m = float(in_class.sum())
    if not m or not others.any():
        return NO_AREA
    hits, misses = np.cumsum(in_class[::-1]), np.cumsum(others[::-1])
    # Scores of rows without weight do not contribute.
    precision = np.divide(hits, hits + misses, out=np.zeros_like(hits), where=hits > 0)
    average = float(in_class[::-1] @ precision) / m
    if average >= 1 - TIE_TOLERANCE:
        average = 1.0
    se = float(np.sqrt(average * (1 - average) / m))
    return area_with_interval(average, se, level, (exact_interval(m, m, level)[0], 1.0))


def _class_weights_by_score(
    scores: Floats, positive: NDArray[np.bool_], weights: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores, and the total weights of the rows with each score.

    Parameters
    ----------
    scores : (n,) float
        Score of each row.
    positive : (n,) bool
        Whether the row belongs to the class.
    weights : (n,) float or None
        Frequency weights.

    Returns
    -------
    values, in_class, others : (v,) float
        Distinct scores in ascending order; for each, sums of weights of rows of the class and of other rows.
    """
    values, positions = np.unique(scores, return_inverse=True)
    weights = np.ones(len(scores)) if weights is None else weights
    in_class, others = (
        np.bincount(positions[rows], weights[rows], len(values)) for rows in (positive, ~positive)
    )
    return values, in_class.astype(np.float64), others.astype(np.float64)


SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
"""Sides of `numpy.searchsorted`: positions before and after tied values."""


@dataclass(frozen=True, slots=True)
class PairAreas:
    """Areas A(i,j) of all pairs of classes, i < j, and their mean M (see the module docstring).

    Attributes
    ----------
    pairs : list of (int, int)
        Class codes i < j of all pairs, including classes without rows.
    areas : list of Area
        Area of each pair; NaN if one of its classes is empty.
    mean : Area
        M, the unweighted mean of the areas that are not NaN; NaN if all are NaN.
    """

    pairs: list[tuple[int, int]]
    areas: list[Area]
    mean: Area


class SortedScores(NamedTuple):
    """Sorted scores of the rows of one class.

    Attributes
    ----------
    values : (n,) float
        Scores in ascending order.
    positions : (n,) int
        Position of each sorted score among the unsorted ones.
    cumulative_weights : (n + 1,) float
        Sums of the weights of the first 0, 1, ..., n sorted rows.
    """

    values: Floats
    positions: Codes
    cumulative_weights: Floats

    @classmethod
    def from_scores(cls, scores: Floats, weights: Floats) -> Self:
        """Sort scores (n,) of rows with weights (n,)."""
        positions = np.argsort(scores, kind="stable")
        return cls(scores[positions], positions, np.append(0.0, np.cumsum(weights[positions])))

    def placements(self, others: SortedScores) -> Floats:
        """Return for each row (n,), in the original order, the proportion of `others` with a smaller score.

        Ties count one half, and rows of `others` by their weights.
        """
        # Count rows twice: ties are then whole numbers and the sums exact.
        doubled_counts = sum(
            others.cumulative_weights[np.searchsorted(others.values, self.values, side)] for side in SIDES
        )
        proportions = np.empty(len(self.values))
        proportions[self.positions] = doubled_counts / (2 * others.cumulative_weights[-1])
        return proportions


def pair_areas(scores: Floats, codes: Codes, weights: Floats | None = None, level: float = 0.95) -> PairAreas:
    """Compute the area for each pair of classes, and their mean, Hand and Till's M.

    Parameters
    ----------
    scores : (m, K) float
        Score of each row for each class; larger scores indicate the class.
    codes : (m,) int
        Class of each row, from 0 to K - 1.
    weights : (m,) float, optional
        Frequency weights.
    level : float
        Confidence level.

    Returns
    -------
    PairAreas

    Examples
    --------
    >>> scores = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]])
    >>> pair_areas(scores, np.array([0, 0, 1, 1])).mean.auc
    0.75
    """
    k = scores.shape[1]
    weights = np.ones(len(scores)) if weights is None else weights
    rows = [np.flatnonzero((codes == c) & (weights > 0)) for c in range(k)]
    class_weights = [weights[row_index] for row_index in rows]
    observed_classes = [c for c in range(k) if len(rows[c])]
    factor = (
        2 / (len(observed_classes) * (len(observed_classes) - 1)) if len(observed_classes) > 1 else np.nan
    )
    by_pair = dict.fromkeys(combinations(range(k), 2), NO_AREA)
    placement_sums = [np.zeros(len(row_index)) for row_index in rows]
    with Progress(len(observed_classes), "areas of pairs of classes") as progress:
        # Sort all classes by column i once, for all areas that involve class i.
        pending_placements: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        for i in observed_classes:
            ordered = {
                c: SortedScores.from_scores(scores[rows[c], i], class_weights[c]) for c in observed_classes
            }
            for j in observed_classes:
                if j == i:
                    continue
                # For A(i|j): placements of the rows of class i, and of the rows of class j.
                placements = ordered[i].placements(ordered[j]), 1 - ordered[j].placements(ordered[i])
                if j > i:
                    pending_placements[i, j] = placements
                    continue
                over, under = pending_placements.pop((j, i))
                mean_placements = (over + placements[1]) / 2, (under + placements[0]) / 2
                by_pair[j, i] = _area_from_placements(
                    [(mean_placements[0], class_weights[j]), (mean_placements[1], class_weights[i])], level
                )
                placement_sums[j] += factor * mean_placements[0]
                placement_sums[i] += factor * mean_placements[1]
            progress(1)
    pairs = list(by_pair)
    areas = list(by_pair.values())
    if len(observed_classes) < 2:
        return PairAreas(pairs, areas, NO_AREA)
    auc = sum(area.auc for area in areas if not np.isnan(area.auc)) * factor
    mean = _area_from_placements(
        [(placement_sums[c], class_weights[c]) for c in observed_classes], level, auc
    )
    defined = [area for area in areas if not np.isnan(area.auc)]
    if all(area.se == 0 for area in defined):
        low, high = (factor * sum(limits) for limits in zip(*((a.low, a.high) for a in defined), strict=True))
        mean = Area(auc, 0.0, low, high)
    return PairAreas(pairs, areas, mean)


def _area_from_placements(
    classes: list[tuple[Floats, Floats]], level: float, auc: float | None = None
) -> Area:
    """Compute an area and its interval from the placements of the rows of each class.

    The limits of an area of 0 or 1 are computed by `extreme_limits` for two classes, and NaN for more.

    Parameters
    ----------
    classes : list of ((n_c,) float, (n_c,) float)
        Placements and weights of the rows of each class; for a mean of areas, sums of placements.
    level : float
        Confidence level.
    auc : float, optional
        The area; by default the mean placement of the first class, which is the area of two classes.

    Returns
    -------
    Area
    """
    variance = 0.0
    for placements, weights in classes:
        mean, mean_variance = mean_with_variance(placements, weights)
        auc = mean if auc is None else auc
        variance += mean_variance
    estimate = np.nan if auc is None else auc
    se = float(np.sqrt(variance))
    if len(classes) > 2:
        return area_with_interval(estimate, se, level)
    m, n = (float(weights.sum()) for _, weights in classes)
    return area_with_interval(estimate, se, level, extreme_limits(estimate, m, n, level))


def mean_with_variance(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the mean of values (n,) with frequency weights (n,), and the variance of the mean.

    The variance is exactly zero for equal values, and NaN for a single row.
    """
    rows = float(weights.sum())
    mean = float(values[0] if (values == values[0]).all() else weights @ values / rows)
    return mean, float(weights @ (values - mean) ** 2) / (rows * (rows - 1)) if rows > 1 else np.nan
