"""Marginal effects at given values: beside differences of probabilities, and tables that have the values."""

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, NotSupportedError

PENGUINS = discrim.datasets.load_penguins().dropna().reset_index(drop=True)
ROWS = PENGUINS.assign(times=np.arange(len(PENGUINS)) % 3 + 1, large=PENGUINS["body_mass_g"] > 4000)

CASES = [
    ("bill_length_mm + bill_depth_mm", {"bill_depth_mm": 17.0}),
    ("log(bill_length_mm) * island", {"island": "Dream"}),
    ("bill_length_mm + large", {"large": True}),
    ("poly(bill_length_mm, 2) + C(island)", {"island": "Dream", "bill_length_mm": 40}),
]


@pytest.mark.parametrize(("form", "values"), CASES)
def test_a_slope_at_values_agrees_with_mean_probabilities(form, values):
    fit = discrim.logistic(f"sex ~ {form}", ROWS, weights="times")
    result = fit.marginal_effects(values, columns="bill_length_mm")["estimate"].item()
    mask, h = ROWS.assign(**values), 1e-3
    up, down = (mask.assign(bill_length_mm=mask["bill_length_mm"] + step) for step in (h, -h))
    change = (fit.predict_proba(up) - fit.predict_proba(down)).iloc[:, 1] / (2 * h)
    assert result == pytest.approx(np.average(change, weights=ROWS["times"]), rel=1e-6)


@pytest.mark.parametrize(("form", "values"), CASES)
def test_values_stand_for_a_table_that_has_them_and_weights_for_rows(form, values):
    plain = discrim.logistic(f"sex ~ {form}", ROWS)
    expected = plain.marginal_effects(data=ROWS.assign(**values))
    pd.testing.assert_frame_equal(plain.marginal_effects(values), expected)
    pd.testing.assert_frame_equal(plain.marginal_effects(pd.Series(values, dtype=object)), expected)
    pd.testing.assert_frame_equal(plain.marginal_effects(values, data=ROWS), expected)
    weighted = discrim.logistic(f"sex ~ {form}", ROWS, weights="times").marginal_effects(values)
    repeated = discrim.logistic(f"sex ~ {form}", ROWS.loc[ROWS.index.repeat(ROWS["times"])])
    pd.testing.assert_frame_equal(weighted, repeated.marginal_effects(values), rtol=1e-8)


def test_rows_that_the_fit_dropped_do_not_count():
    holed = ROWS.copy()
    holed.loc[::7, "bill_depth_mm"] = np.nan
    fit = discrim.logistic("sex ~ bill_length_mm + bill_depth_mm", holed)
    kept = holed.dropna()
    expected = fit.marginal_effects(data=kept.assign(bill_depth_mm=17.0))
    pd.testing.assert_frame_equal(fit.marginal_effects({"bill_depth_mm": 17.0}), expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "names no column"),
        ({"islnd": "Dream"}, r"'islnd'.*'island'"),
        ({"island": "Nowhere"}, "'Nowhere'.*not one of its levels 'Biscoe', 'Dream', 'Torgersen'"),
        ({"bill_length_mm": np.nan}, "'bill_length_mm': nan"),
        ({"bill_length_mm": [40, 50]}, "single"),
        ("median", r"'overall'.*'mean'"),
    ],
)
def test_invalid_values_are_refused(values, message):
    fit = discrim.logistic("sex ~ bill_length_mm + island", ROWS)
    with pytest.raises(DataError, match=message):
        fit.marginal_effects(values)


def test_rows_that_are_read_in_parts_are_refused(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    fit = discrim.logistic("sex ~ bill_length_mm + bill_depth_mm", tmp_path / "rows.csv")
    with pytest.raises(NotSupportedError) as caught:
        fit.marginal_effects({"bill_depth_mm": 17.0})
    assert "data=" in str(caught.value)
