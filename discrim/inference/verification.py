"""Error measures of verification, which decides by a score whether two rows belong to the same class.

*Errors.* At a threshold t, same-class pairs with scores below t are misses, and different-class pairs with
scores of t or above are false alarms. The equal error rate is the rate at which both proportions are equal,
interpolated linearly between neighbouring thresholds. The detection cost is

    c_miss pi P_miss(t) + c_false (1 - pi) P_false(t),

with pi the probability of a same-class pair, divided by the smaller of c_miss pi and c_false (1 - pi), the
cost of a decision without a score (NIST, Speaker Recognition Evaluation plans). The minimum is over all
thresholds. The actual cost of log likelihood ratios at the Bayes threshold, log(c_false (1 - pi) / (c_miss
pi)), exceeds it if they are not calibrated. C_llr is the mean cost of log likelihood ratios s over all pi
(Brümmer & du Preez, 2006, Computer Speech and Language 20, 230-275): half the sum of the means of log2(1 +
e^-s) over same-class pairs and of log2(1 + e^s) over different-class pairs; it is 1 for uninformative scores.

*Intervals.* Pairs share rows and rows share classes; pairs are therefore not independent, and formulas for
proportions are not valid. A bootstrap draws the classes with replacement: a same-class pair counts as often
as its class was drawn, a different-class pair as often as the product for both classes (Poh & Bengio, 2007,
Interspeech). Limits are percentiles. They assume that the classes are a random sample of future classes.
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
    """Costs of wrong decisions in verification.

    Attributes
    ----------
    probability : float
        Probability pi of a same-class pair, between 0 and 1.
    miss, false_alarm : float
        Positive costs of rejecting a same-class pair, and of accepting a different-class pair.
    """

    probability: float = 0.01
    miss: float = 1.0
    false_alarm: float = 1.0

    @property
    def relative_costs(self) -> tuple[float, float]:
        """Costs of a miss and of a false alarm, relative to the best decision without a score.

        Each is the cost times the probability of its kind of pair, divided by the smaller of the two
        products.
        """
        miss_cost = self.miss * self.probability
        false_alarm_cost = self.false_alarm * (1 - self.probability)
        min_cost = min(miss_cost, false_alarm_cost)
        return miss_cost / min_cost, false_alarm_cost / min_cost

    @property
    def threshold(self) -> float:
        """Bayes threshold of natural log likelihood ratios; pairs at or above it are accepted."""
        miss_cost, false_alarm_cost = self.relative_costs
        return float(np.log(false_alarm_cost / miss_cost))


class VerificationErrors(NamedTuple):
    """Error measures of verification; NaN unless there are pairs of both kinds.

    Attributes
    ----------
    eer : float
        Equal error rate.
    min_cost, actual_cost : float
        Minimum detection cost over all thresholds, and cost at the Bayes threshold, both relative to the cost
        of a decision without a score.
    cllr : float
        Mean cost C_llr of the log likelihood ratios; 1 for uninformative scores.
    """

    eer: float
    min_cost: float
    actual_cost: float
    cllr: float


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """Scores of S same-class pairs and O different-class pairs, each in ascending order.

    Attributes
    ----------
    same, other : (S,) and (O,) float
        Scores of same-class and of different-class pairs, larger for more similar rows. The actual cost and
        C_llr require natural log likelihood ratios.
    same_codes : (S,) int
        Class of a same-class pair.
    first_codes, second_codes : (O,) int
        Classes of a different-class pair.
    same_logs, other_logs : (S,) and (O,) float
        Contributions to C_llr in bits, log2(1 + e^-s) and log2(1 + e^s).
    n_classes : int
        Largest class code plus one, K.
    """

    same: Floats
    other: Floats
    same_codes: Codes
    first_codes: Codes
    second_codes: Codes
    same_logs: Floats
    other_logs: Floats
    n_classes: int

    @staticmethod
    def from_scores(scores: Floats, codes: Codes) -> PairScores:
        """Build from symmetric scores (m, m) of pairs of rows and the classes (m,) of the rows, from 0.

        Each pair counts once; the diagonal is ignored.
        """
        pair_index = np.triu_indices(len(codes), 1)
        values = scores[pair_index]
        first_codes = codes[pair_index[0]]
        second_codes = codes[pair_index[1]]
        order = np.argsort(values)
        is_same_class = first_codes[order] == second_codes[order]
        same_order = order[is_same_class]
        other_order = order[~is_same_class]
        same = values[same_order]
        other = values[other_order]
        same_logs, other_logs = (
            np.logaddexp(0.0, signed_scores) / np.log(2.0) for signed_scores in (-same, other)
        )
        n_classes = int(codes.max(initial=-1)) + 1
        return PairScores(
            same,
            other,
            first_codes[same_order],
            first_codes[other_order],
            second_codes[other_order],
            same_logs,
            other_logs,
            n_classes,
        )

    def error_measures(self, costs: Costs, class_weights: Floats | None = None) -> VerificationErrors:
        """Compute the error measures.

        Parameters
        ----------
        costs : Costs
            Costs of wrong decisions.
        class_weights : (K,) float, optional
            Frequency weights of the classes, for example in a bootstrap sample; by default one. A same-class
            pair has the weight of its class, a different-class pair the product of two weights.

        Returns
        -------
        VerificationErrors

        Examples
        --------
        >>> scores = np.array([[0.0, 3.0, -2.0], [3.0, 0.0, -1.0], [-2.0, -1.0, 0.0]])
        >>> PairScores.from_scores(scores, np.array([0, 0, 1])).error_measures(Costs(0.5)).eer
        0.0
        """
        class_weights = np.ones(self.n_classes) if class_weights is None else class_weights
        same = class_weights[self.same_codes]
        other = class_weights[self.first_codes] * class_weights[self.second_codes]
        if not (same.sum() > 0 and other.sum() > 0):
            return VerificationErrors(*[np.nan] * 4)
        below_same, below_other = (np.append(0.0, np.cumsum(pair_weights)) for pair_weights in (same, other))
        # The curves cross and costs are minimal only at, or just above, scores of same-class pairs: between
        # them only the number of false alarms changes.
        cuts = np.unique(self.same)
        missed, passed = (
            np.column_stack([sums[scores.searchsorted(cuts, side)] for side in SIDES]).ravel() / sums[-1]
            for scores, sums in ((self.same, below_same), (self.other, below_other))
        )
        missed = np.concatenate([[0.0], missed, [1.0]])
        false = np.concatenate([[1.0], 1 - passed, [0.0]])
        miss_cost, false_cost = costs.relative_costs
        cost = miss_cost * missed + false_cost * false
        actual = miss_cost * below_same[self.same.searchsorted(costs.threshold)] / below_same[-1]
        actual += false_cost * (1 - below_other[self.other.searchsorted(costs.threshold)] / below_other[-1])
        cllr = (self.same_logs @ same / below_same[-1] + self.other_logs @ other / below_other[-1]) / 2
        return VerificationErrors(
            _equal_error_rate(missed, false), float(cost.min()), float(actual), float(cllr)
        )

    def bootstrap_limits(self, costs: Costs, level: float, replicates: int, seed: int | None) -> Floats:
        """Compute bootstrap limits of the error measures, resampling classes.

        Parameters
        ----------
        costs : Costs
            Costs of wrong decisions.
        level : float
            Confidence level.
        replicates : int
            Number of bootstrap samples.
        seed : int or None
            Seed of the bootstrap.

        Returns
        -------
        (2, 4) float
            Lower and upper limits of the four `VerificationErrors`, quantiles of the replicates with pairs of
            both kinds; NaN without such replicates. If the equal error rate is zero, its upper limit is the
            exact limit of a proportion for as many trials as there are classes with same-class pairs.
        """
        rng = np.random.default_rng(seed)
        replicate_errors = []
        with Progress(replicates, "bootstrap of classes") as progress:
            for _ in range(replicates):
                class_counts = rng.multinomial(self.n_classes, np.full(self.n_classes, 1 / self.n_classes))
                replicate_errors.append(self.error_measures(costs, class_counts.astype(np.float64)))
                progress(1)
        error_table = np.array(replicate_errors).reshape(-1, 4)
        defined_errors = error_table[~np.isnan(error_table).any(axis=1)]
        if not len(defined_errors):
            return np.full((2, 4), np.nan)
        limits = np.asarray(np.quantile(defined_errors, [(1 - level) / 2, (1 + level) / 2], axis=0))
        if self.error_measures(costs).eer == 0:
            # Resampling classes without errors yields none; use the exact limit for as many classes.
            limits[1, 0] = exact_interval(0.0, len(np.unique(self.same_codes)), level)[1]
        return limits


def _equal_error_rate(missed: Floats, false_alarms: Floats) -> float:
    """Return the error rate at which misses and false alarms are equal, by linear interpolation.

    Parameters
    ----------
    missed, false_alarms : (T,) float
        Proportions at T thresholds in ascending order; misses increase from 0 to 1, false alarms decrease
        from 1 to 0.

    Returns
    -------
    float
    """
    crossing = int(np.argmax(missed >= false_alarms))
    rise = missed[crossing] - missed[crossing - 1]
    fall = false_alarms[crossing - 1] - false_alarms[crossing]
    return float(
        missed[crossing - 1] + rise * (false_alarms[crossing - 1] - missed[crossing - 1]) / (rise + fall)
    )
