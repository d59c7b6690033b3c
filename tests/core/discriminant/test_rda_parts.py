"""Rules of several parts at once, against those of each part alone."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.discriminant.leave_one_out_rda import Regularization
from discrim.core.discriminant.rda import count_misclassified, path_rules
from discrim.core.moments.moments import gather


@pytest.mark.parametrize("parametrization", ["esl", "friedman", "klar"])
def test_parts_decomposed_together_match_single_parts(parametrization):
    rng = np.random.default_rng(5)
    learnt, x = [], rng.normal(size=(5, 40, 4)) * [1.0, 10.0, 0.1, 1e3]
    codes, weights = rng.integers(-1, 3, (5, 40)), rng.integers(1, 4, (5, 40)).astype(float)
    for part in range(5):
        own = np.repeat(np.arange(3), (12, 20, 4 if part == 3 else 9))
        rows = (rng.normal(size=(len(own), 4)) + 0.3 * own[:, None]) * [1.0, 10.0, 0.1, 1e3]
        if part == 1:
            # Two columns are one, and in the last part a column is all but constant in a class.
            rows[:, 2] = 0.5 * rows[:, 0]
        if part == 4:
            rows[own == 1, 1] = 1e-12 * rows[own == 1, 1]
        learnt.append(gather([(rows, own, None)], n_classes=3, n_columns=4, required_moments="class"))
    pairs = [Regularization(a, g) for a in (0.0, 0.3, 1.0) for g in (0.0, 0.2, 1.0)]
    how = parametrization, "moment", np.log([0.2, 0.3, 0.5])
    together = np.full((5, len(pairs), 3), np.nan)
    for rule in path_rules(learnt, pairs, *how):
        counts = count_misclassified(rule, x, codes, weights)
        at = np.ix_(rule.parts, rule.pairs)
        together[at] = np.where(np.isnan(counts), together[at], counts)
    for part, moments in enumerate(learnt):
        alone, some = np.full((len(pairs), 3), np.nan), codes[part] >= 0
        for rule in path_rules([moments], pairs, *how):
            judged = (each[None, part, some] for each in (x, codes, weights))
            (alone[rule.pairs],) = count_misclassified(rule, *judged)
        np.testing.assert_array_equal(together[part], alone)
    missing = np.isnan(together).any(axis=2)
    assert missing[1].any()
    assert missing[3].any()
    assert not missing[0].any()
