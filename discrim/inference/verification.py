"""Errors of verification, where a score says whether a pair is of one class or of two.

*Errors.* At a threshold t, pairs of one class with scores below t are missed, and pairs of two with scores
of t and above are false alarms. The equal error rate is where the two shares cross, a straight line joining
the points of neighbouring thresholds. The detection cost is

    c_miss pi P_miss(t) + c_false (1 - pi) P_false(t),

pi the probability of a pair of one class, over the smaller of c_miss pi and c_false (1 - pi), which is the
cost of looking at no score (NIST, Speaker Recognition Evaluation plans). Its minimum is over all thresholds;
that of log likelihood ratios at Bayes' threshold, log(c_false (1 - pi) / (c_miss pi)), shows what
calibration they lack. C_llr is the mean cost of log likelihood ratios s over all pi (Brümmer & du Preez,
2006, Computer Speech and Language 20, 230-275): half the sum of the means of log2(1 + e^-s) over pairs of
one class and of log2(1 + e^s) over pairs of two; 1 tells nothing.

*Intervals.* Pairs share rows and rows share classes, so that pairs are not independent and no formula of
proportions holds. Classes are: a bootstrap draws them with replacement, as often as there are, where a pair
of one class counts as often as the class was drawn, and a pair of two as often as the product of both (Poh &
Bengio, 2007, Interspeech). Limits are percentiles. They assume that the classes are a random sample of those
to come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.inference.error_rates import exact_interval
from discrim.inference.roc import SIDES


class Costs(NamedTuple):
    """Probability of a pair of one class, and costs of missing it and of a false alarm."""

    probability: float = 0.01
    miss: float = 1.0
    false_alarm: float = 1.0

    @property
    def sides(self) -> tuple[float, float]:
        """What misses and false alarms cost, over the cost of looking at no score."""
        miss = self.miss * self.probability
        false = self.false_alarm * (1 - self.probability)
        return miss / min(miss, false), false / min(miss, false)

    @property
    def threshold(self) -> float:
        """Bayes' threshold of log likelihood ratios."""
        miss, false = self.sides
        return float(np.log(false / miss))


class VerificationErrors(NamedTuple):
    """The measures of scores, each NaN without pairs of both kinds."""

    eer: float
    min_cost: float
    actual_cost: float
    cllr: float


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """Scores of pairs of one class (S,) and of two (O,), each in rising order.

    Attributes
    ----------
    same, other : (S,) and (O,) float
    own : (S,) int
        Class of a pair of one.
    one, two : (O,) int
        Classes of a pair of two.
    same_logs, other_logs : (S,) and (O,) float
        What each costs in C_llr.
    n_classes : int
    """

    same: Floats
    other: Floats
    own: Codes
    one: Codes
    two: Codes
    same_logs: Floats
    other_logs: Floats
    n_classes: int

    @staticmethod
    def of(scores: Floats, codes: Codes) -> PairScores:
        """Those of each pair of rows with classes (m,), from scores (m, m) that are symmetric."""
        at = np.triu_indices(len(codes), 1)
        values = scores[at]
        one = codes[at[0]]
        two = codes[at[1]]
        order = np.argsort(values, kind="stable")
        alike = one[order] == two[order]
        of_one = order[alike]
        of_two = order[~alike]
        same = values[of_one]
        other = values[of_two]
        same_logs, other_logs = (np.logaddexp(0.0, each) / np.log(2.0) for each in (-same, other))
        n_classes = int(codes.max(initial=-1)) + 1
        return PairScores(
            same, other, one[of_one], one[of_two], two[of_two], same_logs, other_logs, n_classes
        )

    def errors(self, costs: Costs, times: Floats | None = None) -> VerificationErrors:
        """Measures of all pairs, where classes count so many times (K,).

        Examples
        --------
        >>> scores = np.array([[0.0, 3.0, -2.0], [3.0, 0.0, -1.0], [-2.0, -1.0, 0.0]])
        >>> PairScores.of(scores, np.array([0, 0, 1])).errors(Costs(0.5)).eer
        0.0
        """
        times = np.ones(self.n_classes) if times is None else times
        same = times[self.own]
        other = times[self.one] * times[self.two]
        if not (same.sum() > 0 and other.sum() > 0):
            return VerificationErrors(*[np.nan] * 4)
        below_same, below_other = (np.append(0.0, np.cumsum(each)) for each in (same, other))
        # Only at scores of pairs of one class, and next above them, can the two shares cross or a cost be
        # least: in between there is nothing but fewer false alarms.
        cuts = np.unique(self.same)
        missed, passed = (
            np.column_stack([sums[scores.searchsorted(cuts, side)] for side in SIDES]).ravel() / sums[-1]
            for scores, sums in ((self.same, below_same), (self.other, below_other))
        )
        missed = np.concatenate([[0.0], missed, [1.0]])
        false = np.concatenate([[1.0], 1 - passed, [0.0]])
        miss_cost, false_cost = costs.sides
        cost = miss_cost * missed + false_cost * false
        actual = miss_cost * below_same[self.same.searchsorted(costs.threshold)] / below_same[-1]
        actual += false_cost * (1 - below_other[self.other.searchsorted(costs.threshold)] / below_other[-1])
        cllr = (self.same_logs @ same / below_same[-1] + self.other_logs @ other / below_other[-1]) / 2
        return VerificationErrors(_crossing(missed, false), float(cost.min()), float(actual), float(cllr))

    def limits(self, costs: Costs, level: float, replicates: int, seed: int | None) -> Floats:
        """Limits (2, 4) of the measures, by a bootstrap of the classes."""
        rng = np.random.default_rng(seed)
        drawn = []
        with Progress(replicates, "bootstrap of classes") as progress:
            for _ in range(replicates):
                times = rng.multinomial(self.n_classes, np.full(self.n_classes, 1 / self.n_classes))
                drawn.append(self.errors(costs, times.astype(np.float64)))
                progress(1)
        found = np.array(drawn).reshape(-1, 4)
        known = found[~np.isnan(found).any(axis=1)]
        if not len(known):
            return np.full((2, 4), np.nan)
        limits = np.asarray(np.quantile(known, [(1 - level) / 2, (1 + level) / 2], axis=0))
        if self.errors(costs).eer == 0:
            # Samples of classes without an error have none. This is the exact limit of so many classes.
            limits[1, 0] = exact_interval(0.0, len(np.unique(self.own)), level)[1]
        return limits


def _crossing(missed: Floats, false: Floats) -> float:
    """Where a share that rises from 0 to 1 crosses one that falls from 1 to 0."""
    at = int(np.argmax(missed >= false))
    rise = missed[at] - missed[at - 1]
    fall = false[at - 1] - false[at]
    return float(missed[at - 1] + rise * (false[at - 1] - missed[at - 1]) / (rise + fall))
