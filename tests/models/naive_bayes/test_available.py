"""Naive Bayes of rows that miss values, each column by the rows that have it: e1071, single columns, refits.

``golden/available.json`` was written by ``golden/write_available.R``, which says how.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from discrim import cross_validate, load, moments, naive_bayes
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, DataError, NotSupportedError
from tests import support

GOLDEN = json.loads((support.GOLDEN / "available.json").read_text(encoding="utf-8"))["fits"]


def gaps() -> pd.DataFrame:
    """The penguins as ``write_available.R`` has them, with weights and truth values beside."""
    frame = load_penguins()
    for column, first, step in (("bill_length_mm", 2, 7), ("body_mass_g", 1, 5), ("sex", 0, 11)):
        frame.loc[frame.index[first::step], column] = np.nan
    return frame.assign(w=1.0 + np.arange(len(frame)) % 3, late=frame["year"] > 2007)


FRAME = gaps()
GENTOO = FRAME["species"] == "Gentoo"
ONE = FRAME.index == FRAME["body_mass_g"][GENTOO].first_valid_index()
FORMULA = "species ~ bill_length_mm + body_mass_g + sex + late"


def table(name: str) -> pd.DataFrame:
    if name == "penguins":
        return FRAME
    return support.classic_table("mlbench_HouseVotes84")


@pytest.mark.parametrize("name", GOLDEN)
def test_fit_agrees_with_e1071(name):
    golden, frame = GOLDEN[name], table(name)
    columns = [*golden["numeric"], *golden["categorical"]]
    fit = naive_bayes(f"{golden['response']} ~ {' + '.join(columns)}", frame, missing="available")
    assert fit.nobs == len(frame)
    assert fit.counts.tolist() == golden["counts"]
    for column, rows in golden["moments"].items():
        actual = np.column_stack([fit.means[column], fit.sds[column]])
        np.testing.assert_allclose(actual, rows, rtol=1e-12)
    for column, rows in golden["tables"].items():
        np.testing.assert_allclose(fit.tables[column], rows, rtol=1e-12)
        np.testing.assert_array_equal(
            fit.available[column], frame[column].notna().groupby(frame[golden["response"]]).sum()
        )
    text = frame.iloc[:: golden["every"]]
    np.testing.assert_allclose(fit.predict_proba(text), golden["posteriors"], rtol=1e-10, atol=1e-300)


OPTIONS = [{}, {"weights": "w"}, {"kernel": ["body_mass_g"]}, {"method": "mle", "laplace": 1.0}]
"""Ways to fit that are functions of each column."""


@pytest.mark.parametrize("options", OPTIONS)
def test_fit_is_a_product_of_fits_to_single_columns(options):
    fit = naive_bayes(FORMULA, FRAME, missing="available", prior="equal", **options)
    total, llf = 0.0, 0.0
    for column in ["bill_length_mm", "body_mass_g", "sex", "late"]:
        column_options = {k: v for k, v in options.items() if k != "kernel" or column in v}
        # What is left out of a fit to one column are the rows that miss it.
        single = naive_bayes(f"species ~ {column}", FRAME, prior="equal", **column_options)
        total = total + np.log(3) + single.predict_log_proba(FRAME).to_numpy()
        if "kernel" not in options:
            llf += single.llf + np.log(3) * single.nobs
    np.testing.assert_allclose(
        fit.predict_log_proba(),
        total - np.logaddexp.reduce(total, axis=1, keepdims=True),
        rtol=1e-10,
        atol=1e-10,
    )
    if "kernel" not in options:
        np.testing.assert_allclose(fit.llf, llf - np.log(3) * fit.nobs, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("options", [*OPTIONS, {"smoothing": 1e-3}])
def test_leave_one_out_and_folds_equal_refits(options):
    frame = FRAME.iloc[::9].reset_index(drop=True)
    fit = naive_bayes(FORMULA, frame, missing="available", **options)
    left_out, logs = fit.leave_one_out().iloc[::4], []
    for row in frame.index[::4]:
        less = frame.drop(row)
        if "weights" in options and frame["w"][row] > 1:
            less = pd.concat([less, frame.loc[[row]].assign(w=frame["w"] - 1)])
        again = naive_bayes(FORMULA, less, missing="available", **options | {"prior": fit.prior})
        logs.append(again.predict_proba(frame.loc[[row]]).to_numpy()[0])
    np.testing.assert_allclose(left_out.iloc[:, 1:].to_numpy(float), logs, rtol=1e-8, atol=1e-12)
    cross_validated = cross_validate(fit, folds=np.arange(len(frame)) % 4)
    test_rows = frame[np.arange(len(frame)) % 4 == 1]
    remaining_fit = naive_bayes(
        FORMULA, frame.drop(test_rows.index), missing="available", **options | {"prior": fit.prior}
    )
    pd.testing.assert_series_equal(
        cross_validated.labels.loc[test_rows.index].iloc[:, 0],
        remaining_fit.predict(test_rows),
        check_names=False,
    )


def test_weights_are_repeated_rows():
    again = FRAME.loc[FRAME.index.repeat(FRAME["w"].astype(int))]
    one, other = (
        naive_bayes(FORMULA, frame, missing="available", weights=weights)
        for frame, weights in ((FRAME, "w"), (again, None))
    )
    np.testing.assert_allclose(one.predict_proba(FRAME), other.predict_proba(FRAME), rtol=1e-12)
    np.testing.assert_array_equal(one.available, other.available)
    assert one.llf == pytest.approx(other.llf, rel=1e-12)


def test_complete_rows_give_the_same_fit():
    iris = load_iris()
    one, other = (naive_bayes("species ~ .", iris, missing=missing) for missing in ("available", None))
    np.testing.assert_allclose(one.predict_log_proba(), other.predict_log_proba(), rtol=1e-13)
    assert one.llf == pytest.approx(other.llf, rel=1e-14)
    assert one.df_model == other.df_model
    np.testing.assert_allclose(one.leave_one_out().iloc[:, 1:], other.leave_one_out().iloc[:, 1:], rtol=1e-9)


def test_columns_far_from_zero_and_in_small_units_keep_their_digits():
    shifted = FRAME.assign(
        body_mass_g=FRAME["body_mass_g"] * 1e-150, bill_length_mm=FRAME["bill_length_mm"] + 1e9
    )
    fit, other = (naive_bayes(FORMULA, frame, missing="available") for frame in (shifted, FRAME))
    np.testing.assert_allclose(fit.predict_proba(), other.predict_proba(), rtol=1e-5, atol=1e-9)


def test_a_file_holds_the_rows_of_each_column(tmp_path):
    fit = naive_bayes(FORMULA, FRAME, missing="available", kernel=["body_mass_g"])
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.available, fit.available)
    pd.testing.assert_frame_equal(again.predict_proba(FRAME), fit.predict_proba(FRAME))


def test_chunks_give_the_fit_of_the_table():
    fit = naive_bayes(FORMULA, FRAME, missing="available")
    chunk_fit = naive_bayes(
        FORMULA, lambda: (FRAME[i : i + 50] for i in range(0, 344, 50)), missing="available"
    )
    np.testing.assert_allclose(chunk_fit.predict_log_proba(FRAME), fit.predict_log_proba(FRAME), rtol=1e-12)
    pd.testing.assert_frame_equal(chunk_fit.available, fit.available)


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"missing": "em"}, DataError, "missing='em'"),
        ({}, {"na_action": "raise"}, DataError, "cannot be combined"),
        ({"sex": None}, {}, DataError, "'sex'"),
        (
            {"body_mass_g": lambda d: d["body_mass_g"].where(d["species"] != "Gentoo")},
            {},
            DataError,
            "'Gentoo'",
        ),
        (
            {"body_mass_g": lambda d: d["body_mass_g"].where((d["species"] != "Gentoo") | (d.index == 200))},
            {},
            CollinearError,
            "total weight of 1",
        ),
        ({"species": None}, {}, DataError, "'species'"),
        ({}, {"counts": ["body_mass_g"]}, NotSupportedError, "counts="),
    ],
)
def test_unavailable_results_are_refused(change, options, error, message):
    with pytest.raises(error, match=message):
        naive_bayes(FORMULA, FRAME.assign(**change), **{"missing": "available"} | options)


def test_moments_and_iterators_are_refused_without_rows():
    stored_moments = moments("species ~ .", load_iris(), scatters="diagonal")
    with pytest.raises(NotSupportedError) as caught:
        naive_bayes(moments=stored_moments, missing="available")
    assert "available" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        naive_bayes("species ~ .", iter([load_iris()]), missing="available")
    assert "available" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        naive_bayes("species ~ bill_length_mm + body_mass_g", FRAME, missing="available").group_summary()
    assert "available" in str(caught.value)


def test_missing_drop_equals_the_option_of_lda():
    fit = naive_bayes("species ~ sex + body_mass_g", FRAME, missing="drop")
    assert fit.nobs == len(FRAME[["sex", "body_mass_g"]].dropna())
    with pytest.raises(DataError) as caught:
        naive_bayes("species ~ sex", FRAME, missing="em")
    assert "'drop'" in str(caught.value)
    assert "'available'" in str(caught.value)
