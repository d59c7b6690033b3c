"""Conformal prediction: sets of classes, and p-values of rows, whose level does not rest on the model.

Theory. A score says how strange a row is as one of class k; that of calibration rows is taken for their own
class. Of n calibration rows and a new row of class k that are exchangeable, the rank of the new row's score s
among all n + 1 is uniform but for ties, so that

    p_k = (1 + #{i: s_i >= s}) / (n + 1)

is at most a with probability at most a, whatever the law of the rows and however bad the model (Vovk,
Gammerman & Shafer, 2005, Algorithmic Learning in a Random World, sec. 2.2). The set {k: p_k > 1 - level}
therefore has the row's class with probability `level` or more, and 1/(n + 1) more at most where scores do not
tie (Lei et al., 2018, Journal of the American Statistical Association 113, 1094-1111). It is the set of the
scores up to the ceil((n + 1) level)-th smallest. With the rows of each class ranked among themselves the
promise is kept within each class (Mondrian; Vovk, 2012, Machine Learning 92, 349-376). With ties, the row
itself among them, counted by a uniform share, (#{s_i > s} + u (1 + #{s_i = s})) / (n + 1), the probability is
the level exactly.

Scores by leave-one-out are those of rules that are not quite the rule of new rows, so that the ranks are
nearly, not exactly, uniform: the jackknife keeps its level in practice, and no distribution-free bound
guarantees it (Barber, Candes, Ramdas & Tibshirani, 2021, Annals of Statistics 49, 486-507, where the
jackknife+, which scores new rows by each rule left out, has the bound 1 - 2 (1 - level)).

A frequency weight is so many rows.
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


def strangeness(scores: Floats, score: SetScore, shares: Floats | None = None) -> Floats:
    """How strange rows are as ones of each class, (m, K), larger for stranger.

    Scores (m, K) are log posteriors, but for a number that the classes of a row share; of "margin" any
    scores. What is missing stays so, and a row that is impossible in all classes is infinitely strange in
    all.

    "lac" is one less the posterior (Sadinle, Lei & Wasserman, 2019, Journal of the American Statistical
    Association 114, 223-234), in the order of the log odds against the other classes, which do not tie where
    posteriors are 0 or 1 to the last digit. "aps" is the sum of the posteriors of the class, or a share (m,)
    of it, and of all that are more probable (adaptive sets: Romano, Sesia & Candes, 2020, NeurIPS 33), as
    minus the log of what it lacks of one. "margin" is the best other score less the score of the class.

    Examples
    --------
    >>> logs = np.log(np.array([[0.7, 0.2, 0.1]]))
    >>> (1 / (1 + np.exp(-strangeness(logs, "lac")))).round(6).tolist()
    [[0.3, 0.8, 0.9]]
    >>> (1 - np.exp(-strangeness(logs, "aps"))).round(6).tolist()
    [[0.7, 0.9, 1.0]]
    >>> strangeness(np.array([[2.0, -1.0, 0.5]]), "margin").tolist()
    [[-1.5, 3.0, 1.5]]
    """
    missing = np.isnan(scores).any(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if score == "aps":
            values = _cumulated(log_posteriors(scores), shares)
        else:
            values = -log_odds_against_rest(scores) if score == "lac" else _margins(scores)
    values[np.isnan(values)] = np.inf
    values[missing] = np.nan
    return values


def _margins(scores: Floats) -> Floats:
    rows = np.arange(len(scores))
    best = np.argmax(scores, axis=1)
    top = scores[rows, best]
    others_only = scores.copy()
    others_only[rows, best] = -np.inf
    others = np.repeat(top[:, None], scores.shape[1], axis=1)
    others[rows, best] = others_only.max(axis=1)
    return np.asarray(others - scores)


def _cumulated(logs: Floats, shares: Floats | None) -> Floats:
    """Minus the log of the sum of the posteriors (m, K) of less probable classes, and a share of its own."""
    order = np.argsort(logs, axis=1, kind="stable")
    rising = np.take_along_axis(logs, order, axis=1)
    less = np.full_like(rising, -np.inf)
    less[:, 1:] = np.logaddexp.accumulate(rising, axis=1)[:, :-1]
    if shares is not None:
        less = np.logaddexp(less, np.log1p(-shares)[:, None] + rising)
    cumulated = np.empty_like(logs)
    np.put_along_axis(cumulated, order, -less, axis=1)
    return cumulated


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Scores (n,) of calibration rows, rising; infinite ones may be among them.

    Reached (n + 1,) are rows, or sums of weights, from each value on; zero at the end.
    """

    values: Floats
    reached: Floats

    @staticmethod
    def of(values: Floats, weights: Floats | None = None) -> Reference:
        """The scores (n,) of rows with weights (n,); one that is missing is as strange as can be."""
        values = np.where(np.isnan(values), np.inf, values)
        order = np.argsort(values, kind="stable")
        ordered = np.ones(len(values)) if weights is None else weights[order]
        return Reference(values[order], np.append(np.cumsum(ordered[::-1])[::-1], 0.0))

    @property
    def total(self) -> float:
        """Rows, or the sum of their weights."""
        return float(self.reached[0])

    def at_least(self, scores: Floats, *, above: bool = False) -> Floats:
        """Rows with as large a score as each of `scores`, or, above, a larger one."""
        return np.asarray(self.reached[np.searchsorted(self.values, scores, "right" if above else "left")])


def p_values(
    reference: Reference,
    scores: Floats,
    *,
    left_out: tuple[Floats, Floats] | None = None,
    shares: Floats | None = None,
) -> Floats:
    """Conformal p-values (m,) of scores (m,); missing where these are.

    Of rows that are among the reference, `left_out` has the score (m,) that each has there, and how much of
    its weight is left out of the count. Shares (m,), uniform on (0, 1), are those of ties that count, for a
    level that is exact; all count by default.

    Examples
    --------
    >>> reference = Reference.of(np.array([1.0, 2.0, 2.0, 5.0]))
    >>> p_values(reference, np.array([0.0, 2.0, 6.0])).tolist()
    [1.0, 0.8, 0.2]
    """
    scores_among, removed = (scores, np.zeros(len(scores))) if left_out is None else left_out
    total = reference.total - removed
    reached = reference.at_least(scores) - removed * (scores_among >= scores)
    if shares is None:
        p = (reached + 1.0) / (total + 1.0)
    else:
        above = reference.at_least(scores, above=True) - removed * (scores_among > scores)
        p = (above + shares * (reached - above + 1.0)) / (total + 1.0)
    return np.where(np.isnan(scores), np.nan, p)


def miss_share(level: float) -> float:
    """1 - level as the nearest number to the decimals that were written: with 0.95 it is 0.05.

    A p-value that is this share exactly is then equal to it, and not above.
    """
    return float(1 - Fraction(repr(float(level))))


def least_rows(level: float) -> int:
    """Calibration rows that the level takes: with fewer each p-value is above 1 - level, and each set full.

    Examples
    --------
    >>> least_rows(0.95), least_rows(0.9), least_rows(2 / 3)
    (19, 9, 2)
    """
    return ceil(1 / (1 - Fraction(repr(float(level))))) - 1
