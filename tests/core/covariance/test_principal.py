"""Principal axes of scatters: which of them leave each row a direction of its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discrim import lda
from discrim.core.covariance.principal import principal_axes
from discrim.core.moments.moments import ClassMoments
from discrim.covariance import CovarianceSpecification, Shrunk, Spherical


@pytest.mark.parametrize("n", [3, 4, 6, 9])
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6, 7, 8, 20])
def test_saturated_if_axes_equal_degrees_of_freedom_below_columns(n: int, p: int) -> None:
    codes = np.arange(n) % 2
    x = np.random.default_rng(n * p).standard_normal((n, p))
    within = x - np.stack([x[codes == k].mean(axis=0) for k in (0, 1)])[codes]
    rank, df = np.linalg.matrix_rank(within), n - 2
    axes = principal_axes(ClassMoments.from_block(x, codes, n_classes=2, required_moments="thin"))
    assert axes.df == df
    assert axes.is_saturated == (rank == df < p)


def test_not_saturated_with_fewer_axes_or_all_columns() -> None:
    rng, codes = np.random.default_rng(0), np.arange(8) % 2
    x = rng.standard_normal((8, 3)) @ rng.standard_normal((3, 20))
    assert not principal_axes(
        ClassMoments.from_block(x, codes, n_classes=2, required_moments="thin")
    ).is_saturated
    sphere = rng.standard_normal((8, 20))
    assert not principal_axes(
        ClassMoments.from_block(sphere, codes, n_classes=2, required_moments="diagonal")
    ).is_saturated
    alone = ClassMoments.from_block(sphere[:2], codes[:2], n_classes=2, required_moments="thin")
    with np.errstate(all="ignore"):
        assert not principal_axes(alone).is_saturated


@pytest.mark.parametrize("covariance", [Shrunk(0.2), Spherical()], ids=["shrunk", "spherical"])
@pytest.mark.parametrize("p", [5, 6, 7, 15])
def test_leave_one_out_of_few_rows_equals_refits(covariance: CovarianceSpecification, p: int) -> None:
    codes = np.arange(8) % 2
    x = np.random.default_rng(p).standard_normal((8, p)) + codes[:, None]
    frame = pd.DataFrame(x).add_prefix("x").assign(y=codes)
    options = {"covariance": covariance, "prior": [0.5, 0.5]}
    actual = lda("y ~ .", frame, **options).leave_one_out()[[0, 1]].to_numpy()
    for i in range(len(frame)):
        fit = lda("y ~ .", frame.drop(index=i), **options)
        np.testing.assert_allclose(actual[i], fit.predict_proba(frame.iloc[[i]]).to_numpy()[0], rtol=1e-7)
