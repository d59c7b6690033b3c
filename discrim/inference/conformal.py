"""Conformal prediction sets and p-values, whose coverage does not depend on the model.

Theory. A nonconformity score measures how unusual a row is for class k; calibration rows are scored for their
own class. If n calibration rows and a new row of class k are exchangeable, the rank of the new score s among
all n + 1 is uniform up to ties, and

    p_k = (1 + #{i: s_i >= s}) / (n + 1)

is at most a with probability at most a, for any distribution of the rows and any model (Vovk, Gammerman &
Shafer, 2005, Algorithmic Learning in a Random World, sec. 2.2). The set {k: p_k > 1 - level} therefore
contains the class of the row with probability at least `level`, and without ties at most 1/(n + 1) more (Lei
et al., 2018, Journal of the American Statistical Association 113, 1094-1111). It is the set of classes whose
score is at most the ceil((n + 1) level)-th smallest. If the rows of each class are ranked separately, the
coverage is valid within each class (Mondrian; Vovk, 2012, Machine Learning 92, 349-376). If ties, including
the row itself, are weighted by a uniform random number u, (#{s_i > s} + u (1 + #{s_i = s})) / (n + 1), the
coverage equals the level.

Leave-one-out scores use rules that differ slightly from the rule of new rows. Their ranks are therefore only
approximately uniform: the jackknife has the nominal level in practice, but without a distribution-free
guarantee (Barber, Candes, Ramdas & Tibshirani, 2021, Annals of Statistics 49, 486-507; their jackknife+,
which scores new rows by each leave-one-out rule, has the bound 1 - 2 (1 - level)).

A frequency weight counts as that many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.core.rules.rules import log_posteriors
from discrim.inference.calibration import log_odds_against_rest

SetScore = Literal["lac", "aps", "margin"]
"""Kinds of nonconformity scores, see `nonconformity_scores`."""


def nonconformity_scores(scores: Floats, score: SetScore, class_fractions: Floats | None = None) -> Floats:
    """Compute nonconformity scores of rows for each class; larger values are less typical.

    "lac" orders rows by one minus the posterior (Sadinle, Lei & Wasserman, 2019, Journal of the American
    Statistical Association 114, 223-234). The returned value is minus the log odds against the other classes,
    which does not tie even if posteriors round to 0 or 1. "aps" orders rows by the sum s of the posteriors of
    all more probable classes and of the class itself, or a fraction of its posterior (adaptive sets:
    Romano, Sesia & Candes, 2020, NeurIPS 33); the returned value is -log(1 - s). "margin" is the best other
    score minus the score of the class.

    Parameters
    ----------
    scores : (m, K) float
        Log posteriors up to a constant for each row; for "margin" any scores, larger for more likely classes.
    score : {"lac", "aps", "margin"}
        Kind of nonconformity score.
    class_fractions : (m,) float, optional
        Fraction of the posterior of the class itself that "aps" adds, one for each row; by default one.

    Returns
    -------
    (m, K) float
        NaN in all classes for a row with a missing score; infinite in all classes for a row with -inf in all,
        and infinite for "aps" where s is 1, for example for the least probable class by default.

    Examples
    --------
    >>> logs = np.log(np.array([[0.7, 0.2, 0.1]]))
    >>> (1 / (1 + np.exp(-nonconformity_scores(logs, "lac")))).round(6).tolist()
    [[0.3, 0.8, 0.9]]
    >>> (1 - np.exp(-nonconformity_scores(logs, "aps"))).round(6).tolist()
    [[0.7, 0.9, 1.0]]
    >>> nonconformity_scores(np.array([[2.0, -1.0, 0.5]]), "margin").tolist()
    [[-1.5, 3.0, 1.5]]
    """
    missing = np.isnan(scores).any(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if score == "aps":
            values = _aps_scores(log_posteriors(scores), class_fractions)
        else:
            values = -log_odds_against_rest(scores) if score == "lac" else _margin_scores(scores)
    values[np.isnan(values)] = np.inf
    values[missing] = np.nan
    return values


def _margin_scores(scores: Floats) -> Floats:
    """Return the best score of the other classes minus the score of each class, from and to (m, K)."""
    rows = np.arange(len(scores))
    best = np.argmax(scores, axis=1)
    best_scores = scores[rows, best]
    others_only = scores.copy()
    others_only[rows, best] = -np.inf
    others = np.repeat(best_scores[:, None], scores.shape[1], axis=1)
    others[rows, best] = others_only.max(axis=1)
    return np.asarray(others - scores)


def _aps_scores(log_posteriors: Floats, class_fractions: Floats | None) -> Floats:
    """Return the "aps" scores (m, K), -log(1 - s), from normalized log posteriors (m, K).

    1 - s is the sum of the posteriors of all less probable classes, plus 1 - `class_fractions` (m,) of the
    posterior of the class itself.
    """
    order = np.argsort(log_posteriors, axis=1, kind="stable")
    sorted_logs = np.take_along_axis(log_posteriors, order, axis=1)
    log_less_probable = np.full_like(sorted_logs, -np.inf)
    log_less_probable[:, 1:] = np.logaddexp.accumulate(sorted_logs, axis=1)[:, :-1]
    if class_fractions is not None:
        log_less_probable = np.logaddexp(log_less_probable, np.log1p(-class_fractions)[:, None] + sorted_logs)
    cumulated_scores = np.empty_like(log_posteriors)
    np.put_along_axis(cumulated_scores, order, -log_less_probable, axis=1)
    return cumulated_scores


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationScores:
    """Sorted nonconformity scores of calibration rows.

    Attributes
    ----------
    values : (n,) float
        Ascending; may be infinite.
    weight_at_least : (n + 1,) float
        Total weight of the row at each position of `values` and all later rows; the last element is zero.
    """

    values: Floats
    weight_at_least: Floats

    @staticmethod
    def from_values(values: Floats, weights: Floats | None = None) -> CalibrationScores:
        """Build from the scores (n,) and weights (n,) of rows; a missing score counts as infinite."""
        values = np.where(np.isnan(values), np.inf, values)
        order = np.argsort(values, kind="stable")
        ordered = np.ones(len(values)) if weights is None else weights[order]
        return CalibrationScores(values[order], np.append(np.cumsum(ordered[::-1])[::-1], 0.0))

    @property
    def total(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.weight_at_least[0])

    def total_weight_at_least(self, scores: Floats, *, above: bool = False) -> Floats:
        """Return the total weight of rows with a score >= each of `scores` (m,), or > if `above`."""
        return np.asarray(
            self.weight_at_least[np.searchsorted(self.values, scores, "right" if above else "left")]
        )


def conformal_pvalues(
    reference: CalibrationScores,
    scores: Floats,
    *,
    left_out: tuple[Floats, Floats] | None = None,
    tie_weights: Floats | None = None,
) -> Floats:
    """Compute the conformal p-values of scores (see the module docstring).

    The row itself counts as one more calibration row of weight 1.

    Parameters
    ----------
    reference : CalibrationScores
        Scores of the calibration rows.
    scores : (m,) float
        Nonconformity scores of the new rows.
    left_out : tuple of two (m,) float, optional
        For rows that belong to the reference themselves: their scores in it, which may differ from
        `scores`, and their weights. Each row is excluded from the counts for its own p-value.
    tie_weights : (m,) float, optional
        Weight of tied scores for each row, drawn uniformly from 0 to 1 for exact coverage; by default one.

    Returns
    -------
    (m,) float
        NaN for a missing score.

    Examples
    --------
    >>> reference = CalibrationScores.from_values(np.array([1.0, 2.0, 2.0, 5.0]))
    >>> conformal_pvalues(reference, np.array([0.0, 2.0, 6.0])).tolist()
    [1.0, 0.8, 0.2]
    """
    reference_scores, removed_weights = (scores, np.zeros(len(scores))) if left_out is None else left_out
    total = reference.total - removed_weights
    reached = reference.total_weight_at_least(scores) - removed_weights * (reference_scores >= scores)
    if tie_weights is None:
        p = (reached + 1.0) / (total + 1.0)
    else:
        above = reference.total_weight_at_least(scores, above=True) - removed_weights * (
            reference_scores > scores
        )
        p = (above + tie_weights * (reached - above + 1.0)) / (total + 1.0)
    return np.where(np.isnan(scores), np.nan, p)


def miss_probability(level: float) -> float:
    """Return the probability 1 - level that a set may miss the class, for example exactly 0.05 for 0.95.

    It is computed from the decimal representation of the level, without the rounding error of 1 - level. A
    p-value that equals it is then not treated as larger.
    """
    return float(1 - Fraction(repr(float(level))))


def min_calibration_rows(level: float) -> int:
    """Return the number of calibration rows below which every prediction set contains all classes.

    Examples
    --------
    >>> min_calibration_rows(0.95), min_calibration_rows(0.9), min_calibration_rows(2 / 3)
    (19, 9, 2)
    """
    return ceil(1 / (1 - Fraction(repr(float(level))))) - 1
