"""Posteriors of rows that lie row by row or column by column: the same bits, and missing values found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discrim import lda, qda
from discrim.errors import DataError


@pytest.mark.parametrize("centre", [0.0, 50.0])
@pytest.mark.parametrize(("p", "k"), [(4, 3), (50, 10), (130, 3), (150, 20), (150, 70)])
def test_layouts_give_the_same_bits_and_missing_values_are_found(p, k, centre):
    rng = np.random.default_rng(p)
    x = rng.normal(centre, 1.0, (1500, p))
    rows = pd.DataFrame(x, copy=False).add_prefix("x")
    columns = pd.DataFrame(np.asfortranarray(x), copy=False).add_prefix("x")
    fit = lda("y ~ .", rows.assign(y=np.arange(1500) % k))
    expected = fit.predict_proba(rows)
    pd.testing.assert_frame_equal(fit.predict_proba(columns), expected, check_exact=True)
    holes = rows.copy()
    holes.iloc[[7, 1499], [2, p - 1]] = np.nan
    got = fit.predict_proba(holes).to_numpy()
    assert np.flatnonzero(np.isnan(got).all(axis=1)).tolist() == [7, 1499]
    assert np.isnan(got).sum() == 2 * k
    holes.iloc[9, 1] = np.inf
    with pytest.raises(DataError, match="infinite at row 9"):
        fit.predict_proba(holes)


@pytest.mark.parametrize(("p", "k"), [(4, 3), (50, 5), (130, 2)])
def test_quadratic_posteriors_of_either_layout_are_the_same_bits(p, k):
    x = np.random.default_rng(p).standard_normal((1500, p))
    rows, columns = (pd.DataFrame(each, copy=False).add_prefix("x") for each in (x, np.asfortranarray(x)))
    fit = qda("y ~ .", rows.assign(y=np.arange(1500) % k))
    expected = fit.predict_log_proba(rows)
    pd.testing.assert_frame_equal(fit.predict_log_proba(columns), expected, check_exact=True)
