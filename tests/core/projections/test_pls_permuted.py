"""Q2 under shuffled labels, against fits of scikit-learn to the rows outside each fold."""

import numpy as np
import pytest

from discrim.core.projections.pls import PLSOptions, q2_by_labelling, r2_by_labelling

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("shape", [(24, 3), (24, 40)])
@pytest.mark.parametrize("scaled", [True, False])
def test_q2_and_r2_match_separate_fits(shape, scaled):
    regression = pytest.importorskip("sklearn.cross_decomposition").PLSRegression
    x = RNG.normal(size=shape) * RNG.uniform(1, 9, shape[1])
    drawn = [RNG.permutation(np.arange(24) % 3) for _ in range(3)]
    dealt = RNG.permutation(24) % 4
    how = PLSOptions(2, "nipals", scaled, scaled)
    found = q2_by_labelling(x, lambda i: drawn[i], 3, dealt, 3, how)
    explained = r2_by_labelling(x, lambda i: drawn[i], 3, 3, how)
    for i, codes in enumerate(drawn):
        y = np.eye(3)[codes]
        size = y.std(axis=0, ddof=1) if scaled else np.ones(3)
        fitted = np.empty_like(y)
        for fold in range(4):
            out = dealt == fold
            part = regression(2, scale=scaled, tol=1e-28, max_iter=10**4).fit(x[~out], y[~out])
            fitted[out] = part.predict(x[out])
        whole = regression(2, scale=scaled, tol=1e-28, max_iter=10**4).fit(x, y).predict(x)
        total = (((y - y.mean(axis=0)) / size) ** 2).sum()
        assert found[i] == pytest.approx(1 - (((y - fitted) / size) ** 2).sum() / total, abs=1e-9)
        assert explained[i] == pytest.approx(1 - (((y - whole) / size) ** 2).sum() / total, abs=1e-9)
