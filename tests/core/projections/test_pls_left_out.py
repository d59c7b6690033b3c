"""Scores of rows left out of partial least squares, against fits to the other rows."""

import itertools

import numpy as np
import pytest

from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.pls import fit_pls

RNG = np.random.default_rng(5)


def rows(n, p, k=3, shift=1.5):
    codes = np.arange(n) % k
    x = RNG.normal(size=(n, p)) @ RNG.normal(size=(p, p))
    x[:, :k] += shift * np.eye(k)[codes] @ RNG.normal(size=(k, min(k, p)))
    return x, codes


def moments_of(x, codes, weights=None, k=3):
    spread = "thin" if x.shape[1] > len(x) else "pooled"
    return ClassMoments.from_block(x, codes, weights, n_classes=k, required_moments=spread)


OPTIONS = [
    dict(zip(("decides", "algorithm", "scale", "indicators"), each, strict=True))
    for each in itertools.product(
        ("lda", "max", "centroid"), ("nipals", "simpls"), (True, False), ("scaled", "centred")
    )
]


@pytest.mark.parametrize("shape", [(40, 5), (14, 60)])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda held: "-".join(map(str, held.values())))
def test_leave_one_out_scores_match_refits_to_other_rows(shape, options):
    x, codes = rows(*shape)
    weights = RNG.choice([0.5, 1.0, 3.0], len(x))
    prior, log_prior = np.full(3, 1 / 3), np.log([0.2, 0.3, 0.5])
    fit = fit_pls(moments_of(x, codes, weights), prior, components=3, **options)
    found = fit.leave_one_out_scorer(log_prior)(x, codes, weights)
    known = ~np.isnan(found[:, 0])
    assert known.mean() > 0.7
    for i in np.flatnonzero(known)[:5]:
        less = weights - np.minimum(weights, 1) * (np.arange(len(x)) == i)
        some = less > 0
        part = fit_pls(moments_of(x[some], codes[some], less[some]), prior, components=3, **options)
        held = part.rule(log_prior).scores(x[i : i + 1])[0]
        own = found[i]
        if options["decides"] != "max":
            held, own = held - held[0], own - own[0]
        np.testing.assert_allclose(own, held, rtol=1e-9, atol=1e-9)


def test_lone_row_requires_a_refit():
    x, codes = rows(20, 3)
    x[:, 2] = 0.0
    x[4, 2] = 1.0
    codes[7], codes[codes == 2] = 2, 1
    codes[7] = 2
    fit = fit_pls(moments_of(x, codes), np.full(3, 1 / 3), components=2)
    found = fit.leave_one_out_scorer(np.zeros(3))(x, codes, None)
    assert np.flatnonzero(np.isnan(found[:, 0])).tolist() == [4, 7]
