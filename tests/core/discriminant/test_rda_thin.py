"""Rules of classes with fewer rows than columns, from small decompositions, against the fits themselves."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.discriminant.leave_one_out_rda import Regularization
from discrim.core.discriminant.rda import fit_rda, path_rules
from discrim.core.moments.moments import gather


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(30, 40, 50), (150, 20, 9), (90, 3, 2)])
def test_path_scores_match_single_fits(sizes, weighted):
    rng = np.random.default_rng(sum(sizes))
    codes = np.repeat(np.arange(3), sizes)
    x = (rng.normal(size=(len(codes), 60)) @ rng.normal(size=(60, 60))) + 3.0 * codes[:, None]
    x[:, :5] *= 1e3
    weights = rng.integers(1, 4, len(codes)).astype(float) if weighted else None
    moments = gather([(x, codes, weights)], n_classes=3, n_columns=60, required_moments="class")
    prior = np.array([0.2, 0.3, 0.5])
    pairs = [Regularization(a, g) for a in (0.0, 0.3, 0.9) for g in (0.0, 0.5, 0.99)]
    pairs.append(Regularization(1.0, 0.5))
    (rule,) = path_rules([moments], pairs, "esl", "moment", np.log(prior))
    assert [path.factor is not None for path in rule.classes] == [size <= 43 for size in sizes]
    new = x[::7] + rng.normal(size=x[::7].shape)
    found = np.stack([scores[0] for scores in rule.scores(new[None])])
    assert sorted(rule.pairs.tolist()) == list(range(9))
    for j, i in enumerate(rule.pairs.tolist()):
        fit = fit_rda(moments, prior, alpha=pairs[i].alpha, gamma=pairs[i].gamma)
        assert not fit.find_singular_classes()
        expected = fit.rule(np.log(prior)).scores(new).T
        gaps = found[:, j] - found[:, j].max(axis=0)
        np.testing.assert_allclose(gaps, expected - expected.max(axis=0), rtol=1e-10, atol=1e-9)
    alone = fit_rda(moments, prior, alpha=1.0, gamma=0.5)
    assert alone.find_singular_classes()
