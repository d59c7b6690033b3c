"""Nearest shrunken centroids: against pamr and scikit-learn, the formulas in plain NumPy, brute force.

``golden/pamr.json`` was written by ``golden/write_pamr.R``. Golub's and Khan's genes are read from beside the
project where they are there.
"""

from __future__ import annotations

import json
import time
import warnings
from contextlib import nullcontext
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discrim
from discrim import shrunken_centroids
from discrim.datasets import load_breast_cancer, load_iris, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedColumnsWarning,
    NotSupportedError,
    UninformativeFitWarning,
)
from tests import support
from tests.models.base import test_store as store
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "pamr.json").read_text(encoding="utf-8"))["cases"]
TABLES = {
    "iris": (load_iris, "species", 0),
    "iris_prior": (load_iris, "species", 30),
    "wine": (load_wine, "cultivar", 0),
    "wine_unequal": (load_wine, "cultivar", 40),
    "breast_cancer": (load_breast_cancer, "diagnosis", 0),
}
IRIS = load_iris().astype({"species": str})


def golden_table(name):
    load, response, skipped = TABLES[name]
    return f"{response} ~ .", load().astype({response: str}).iloc[skipped:].reset_index(drop=True)


def golden_options(case):
    options = {"prior": dict(zip(case["classes"], case["prior"], strict=True))}
    return options | ({} if case["offset_percent"] == 50 else {"offset": case["offset"]})


def genes(name):
    if name == "golub_leukemia":
        return support.leukemia_table()
    archive = np.load(support.external_file(f"genes/{name}.npz"), allow_pickle=True)
    data = pd.DataFrame(archive["X"], columns=[f"g{j}" for j in range(archive["X"].shape[1])])
    return data.assign(y=archive["y"].astype(str)), archive["split"] == "train"


def plain(x, codes, new, threshold, offset=None, prior=None):
    """Standardized differences, shrunken centroids and log posteriors by the formulas as they are written."""
    n, k = len(x), codes.max() + 1
    counts = np.bincount(codes)
    means = np.stack([x[codes == c].mean(axis=0) for c in range(k)])
    s = np.sqrt(((x - means[codes]) ** 2).sum(axis=0) / (n - k))
    s0 = np.median(s) if offset is None else offset
    m = np.sqrt(1 / counts - 1 / n)[:, None]
    d = (means - x.mean(axis=0)) / (m * (s + s0))
    shrunken = np.sign(d) * np.maximum(np.abs(d) - threshold, 0)
    centroids = x.mean(axis=0) + m * (s + s0) * shrunken
    scores = -0.5 * (((new[:, None] - centroids) / (s + s0)) ** 2).sum(axis=2)
    scores += np.log(counts / n if prior is None else prior)
    return d, centroids, scores - np.logaddexp.reduce(scores, axis=1)[:, None]


@pytest.mark.parametrize("name", TABLES)
def test_estimates_agree_with_pamr(name):
    case = GOLDEN[name]
    formula, data = golden_table(name)
    for i, threshold in enumerate(case["threshold"]):
        fit = shrunken_centroids(formula, data, threshold=threshold, **golden_options(case))
        assert fit.offset == pytest.approx(case["offset"], rel=1e-12)
        np.testing.assert_allclose(fit.sd + fit.offset, case["sd_plus_offset"], rtol=1e-12)
        np.testing.assert_allclose(fit.overall, case["overall"], rtol=1e-12)
        assert len(fit.selected) == case["nonzero"][i]
        confusion = fit.confusion().to_numpy()
        assert confusion.sum() - np.trace(confusion) == case["errors"][i]
    fit = shrunken_centroids(formula, data, threshold=case["at"], **golden_options(case))
    np.testing.assert_allclose(fit.centroids, case["centroids"], rtol=1e-11)
    np.testing.assert_allclose(fit.predict_proba(), case["posterior"], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_errors_along_the_path_agree_with_pamr_on_the_same_folds(name):
    case = GOLDEN[name]
    formula, data = golden_table(name)
    splits = [(np.setdiff1d(np.arange(len(data)), rows), np.array(rows)) for rows in case["folds"]]
    fit = shrunken_centroids(formula, data, grid=case["threshold"], folds=splits, **golden_options(case))
    np.testing.assert_allclose(fit.path["error"] * len(data), case["cv_errors"], atol=1e-9)
    assert fit.path["genes"].tolist() == case["nonzero"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "table"), [("golub", "golub_leukemia"), ("khan", "islr_Khan")])
def test_surviving_genes_and_test_errors_agree_with_pamr(name, table):
    case = GOLDEN[name]
    data, train = genes(table)
    for i, threshold in enumerate(case["threshold"][: len(case["nonzero"])]):
        if not case["nonzero"][i]:
            continue
        fit = shrunken_centroids("y ~ .", data[train], threshold=threshold)
        assert fit.offset == pytest.approx(case["offset"], rel=1e-12)
        assert len(fit.selected) == case["nonzero"][i]
        assert (fit.predict() != data["y"][train]).sum() == case["train_errors"][i]
        assert (fit.predict(data[~train]) != data["y"][~train]).sum() == case["test_errors"][i]


def test_khan_data_agree_with_the_publication():
    data, train = genes("islr_Khan")
    fit = shrunken_centroids("y ~ .", data[train], threshold=4.34)
    assert len(fit.selected) == 43
    assert (fit.predict(data[~train]) == data["y"][~train]).all()


@pytest.mark.parametrize("threshold", [0.5, 3.0, 9.0])
@pytest.mark.parametrize("priors", ["empirical", "uniform"])
def test_scikit_learn_agrees(threshold, priors):
    from sklearn.neighbors import NearestCentroid

    data = load_wine().iloc[25:]
    x, y = data.drop(columns="cultivar").to_numpy(), data["cultivar"].astype(str).to_numpy()
    theirs = NearestCentroid(shrink_threshold=threshold, priors=priors).fit(x, y)
    prior = None if priors == "empirical" else "equal"
    fit = shrunken_centroids("cultivar ~ .", data, threshold=threshold, prior=prior)
    np.testing.assert_allclose(fit.prior, theirs.class_prior_, rtol=1e-14)
    np.testing.assert_allclose(fit.sd, theirs.within_class_std_dev_, rtol=1e-12)
    np.testing.assert_allclose(fit.centroids, theirs.centroids_, rtol=1e-12)
    shrunken = fit.tidy().pivot(index="class", columns="term", values="shrunken")
    shrunken = shrunken.loc[fit.classes, fit.terms]
    np.testing.assert_allclose(shrunken, theirs.deviations_, rtol=1e-10, atol=1e-12)
    # Its distances are in units of s_j, not of s_j + s_0 as in the paper, and its scores are not halved.
    theirs.within_class_std_dev_ = theirs.within_class_std_dev_ + fit.offset
    scores = theirs.decision_function(x) / 2
    ours = fit.decision_function()
    np.testing.assert_allclose(
        ours.sub(ours.iloc[:, 0], axis=0), scores - scores[:, :1], rtol=1e-9, atol=1e-10
    )


@pytest.mark.filterwarnings("ignore::discrim.errors.UninformativeFitWarning")
@given(
    seed=st.integers(0, 2**32 - 1),
    threshold=st.floats(0, 4),
    offset=st.one_of(st.none(), st.floats(0.01, 10)),
    units=st.sampled_from([1.0, 1e-90, 1e90]),
    far=st.sampled_from([0.0, 1e6]),
)
@settings(max_examples=20)
def test_scores_follow_the_published_formulas(seed, threshold, offset, units, far):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [4, 7, 9])
    x = rng.standard_normal((20, 5)) * [1, 2, 0.1, 1, 5] + rng.standard_normal((3, 5))[codes]
    new = rng.standard_normal((6, 5)) * 2
    frame = pd.DataFrame((x + far) * units).add_prefix("c").assign(y=codes)
    fit = shrunken_centroids(
        "y ~ .", frame, threshold=threshold, offset="median" if offset is None else offset * units
    )
    rounded = (x + far) - far
    d, centroids, logs = plain(rounded, codes, ((new + far) - far), threshold, offset)
    slack = 1e-11 if not far else 1e-8
    np.testing.assert_allclose(fit._fit.estimates.differences, d, rtol=slack, atol=slack)
    np.testing.assert_allclose(fit.centroids / units, centroids + far, rtol=1e-12)
    rows = pd.DataFrame((new + far) * units).add_prefix("c")
    np.testing.assert_allclose(fit.predict_log_proba(rows), logs, rtol=slack * 100, atol=slack * 100)
    np.testing.assert_allclose(
        rows.to_numpy() @ fit.coef.to_numpy()
        + fit.intercept.to_numpy()
        - (rows.to_numpy() @ fit.coef.to_numpy()[:, :1] + fit.intercept.iloc[0]),
        (logs - logs[:, :1]),
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@one_in(2, {"offset": ["median", 0.3, 0.0], "weighted": [False, True]})
def test_leave_one_out_equals_a_fit_without_the_row(offset, weighted):
    rng = np.random.default_rng(2)
    data = IRIS.iloc[rng.choice(150, 40, replace=False)].assign(w=1.0 + np.arange(40) % 3)
    # A row that is nearly all the spread of a column, and a column that varies in one row only.
    data = data.assign(wild=rng.standard_normal(40), flat=1.0)
    data.iloc[7, data.columns.get_loc("wild")] = 1e6
    if offset == 0.3:
        data.iloc[3, data.columns.get_loc("flat")] = 2.0
    formula = "species ~ . - w" + (" - flat" if offset != 0.3 else "")
    weights = data["w"].to_numpy() if weighted else np.ones(40)
    options = {"threshold": 1.2, "offset": offset, "na_action": "raise"}
    fit = shrunken_centroids(formula, data, weights=weights if weighted else None, **options)
    left_out = fit.leave_one_out()
    for row in (0, 3, 7, 14, 21, 28, 39):
        less = weights.copy()
        less[row] -= 1
        refit = shrunken_centroids(formula, data, weights=less, prior=fit.prior, **options)
        expected = refit.predict_proba(data.iloc[[row]]).iloc[0]
        np.testing.assert_allclose(left_out.iloc[row, 1:].astype(float), expected, rtol=1e-9, atol=1e-13)


def test_leaving_out_the_only_row_removes_its_class():
    data = IRIS.iloc[[0, 1, 2, 3, 60, 61, 62, 100]]
    fit = shrunken_centroids("species ~ .", data, threshold=0.5)
    without = shrunken_centroids("species ~ .", data.iloc[:7], threshold=0.5, prior=[4 / 7, 3 / 7])
    expected = without.predict_proba(data.iloc[[7]]).to_numpy()[0]
    np.testing.assert_allclose(
        fit.leave_one_out().iloc[7, 1:].astype(float), [*expected, 0.0], rtol=1e-10, atol=1e-15
    )


def test_the_path_is_the_cross_validated_error_of_each_threshold():
    data = load_wine().iloc[20:]
    for prior in (None, "equal"):
        fit = shrunken_centroids("cultivar ~ .", data, folds=5, seed=3, n_thresholds=7, prior=prior)
        for row in fit.path.itertuples():
            options = {"threshold": row.threshold, "prior": prior}
            with pytest.warns(UninformativeFitWarning) if not row.genes else nullcontext():
                one = shrunken_centroids("cultivar ~ .", data, **options)
            rates = one.error_rates(["cv"], folds=5, seed=3).iloc[0]
            assert row.error == pytest.approx(rates["estimate"], abs=1e-14)
            assert row.se == pytest.approx(rates["se"], abs=1e-14)
            assert row.genes == len(one.selected)
        min_error = fit.path["error"].min()
        assert fit.shrinkage_threshold == fit.path["threshold"][fit.path["error"] <= min_error + 1e-12].max()
        wider = shrunken_centroids(
            "cultivar ~ .", data, folds=5, seed=3, n_thresholds=7, prior=prior, threshold="1se"
        )
        within = fit.path["error"] <= min_error + fit.path["se"][fit.path["error"].idxmin()]
        assert wider.shrinkage_threshold == fit.path["threshold"][within].max()


def test_folds_equal_separate_fits():
    data = load_wine().iloc[20:].reset_index(drop=True)
    fit = shrunken_centroids("cultivar ~ .", data, folds=4, seed=1, grid=[0, 2.5, 5])
    from discrim.models.evaluation.validation import assign_folds

    fold_ids = assign_folds(fit._fit, 4, 1)
    for row in fit.path.itertuples():
        wrong = 0
        for fold in range(4):
            inside, outside = data[fold_ids != fold], data[fold_ids == fold]
            chunk = shrunken_centroids("cultivar ~ .", inside, threshold=row.threshold, prior=fit.prior)
            wrong += (chunk.predict(outside) != outside["cultivar"]).sum()
        assert row.error * len(data) == pytest.approx(wrong, abs=1e-9)


def test_weights_equal_repeated_rows_on_the_whole_path():
    data = IRIS.assign(w=1 + np.arange(150) % 3)
    fit = shrunken_centroids("species ~ . - w", data, weights="w", threshold=2.0)
    repeated = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    other = shrunken_centroids("species ~ . - w", repeated, threshold=2.0)
    pd.testing.assert_frame_equal(fit.tidy(), other.tidy(), rtol=1e-11)
    assert fit.offset == pytest.approx(other.offset, rel=1e-13)


def test_columns_that_do_not_vary_within_classes():
    data = IRIS.assign(first=IRIS["species"].eq("setosa") * 1.0, last=IRIS["species"].eq("virginica") * 1.0)
    fit = shrunken_centroids("species ~ .", data, threshold=2.0)
    assert fit.sd[["first", "last"]].tolist() == [0.0, 0.0]
    assert {"first", "last"} <= set(fit.selected)
    with pytest.raises(CollinearError) as caught:
        shrunken_centroids("species ~ .", data, threshold=2.0, offset=0.0)
    assert "'first'" in str(caught.value)
    assert "'last'" in str(caught.value)
    mostly = data[["species", "sepal_width", "first", "last"]]
    with pytest.raises(CollinearError) as caught:
        shrunken_centroids("species ~ .", mostly, threshold=2.0)
    assert "median" in str(caught.value)
    assert "deviations" in str(caught.value)
    assert np.isfinite(
        shrunken_centroids("species ~ .", mostly, threshold=2.0, offset=0.1).predict_proba()
    ).all(axis=None)


def test_a_column_of_one_value_is_left_out_and_named():
    with pytest.warns(DroppedColumnsWarning, match="'flat'"):
        fit = shrunken_centroids("species ~ .", IRIS.assign(flat=1.0), threshold=2.0, offset=0.0)
    without = shrunken_centroids("species ~ .", IRIS, threshold=2.0, offset=0.0)
    pd.testing.assert_frame_equal(fit.predict_proba(), without.predict_proba(), check_exact=True)
    with pytest.raises(CollinearError) as caught:
        shrunken_centroids("species ~ flat", IRIS.assign(flat=1.0))
    assert "'flat'" in str(caught.value)


def test_zero_threshold_and_offset_equal_diagonal_lda():
    ours = shrunken_centroids("species ~ .", IRIS, threshold=0.0, offset=0.0)
    theirs = discrim.lda("species ~ .", IRIS, covariance="diagonal")
    np.testing.assert_allclose(ours.predict_log_proba(), theirs.predict_log_proba(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.centroids, ours.means, rtol=1e-14)
    np.testing.assert_allclose(
        ours.leave_one_out().iloc[:, 1:].astype(float),
        theirs.leave_one_out().iloc[:, 1:].astype(float),
        rtol=1e-9,
        atol=1e-12,
    )


def test_survivors_are_sorted_and_follow_the_threshold():
    fit = shrunken_centroids("diagnosis ~ .", load_breast_cancer(), threshold=10.0)
    table = fit.survivors()
    size = table.abs().max(axis=1)
    assert size.is_monotonic_decreasing
    assert list(fit.selected) == list(table.index)
    shifted = (fit.centroids - fit.overall).abs().max() > 1e-12 * fit.sd
    assert set(shifted.index[shifted]) == set(table.index)
    assert len(fit.survivors(0.0)) == 30
    assert fit.survivors(1e9).empty
    pd.testing.assert_frame_equal(fit.survivors(10.0), table)
    assert not fit.coef.drop(index=table.index).to_numpy().any()


def test_no_surviving_column_gives_the_prior_with_a_warning():
    with pytest.warns(UninformativeFitWarning):
        fit = shrunken_centroids("species ~ .", IRIS.iloc[20:], threshold=1000)
    np.testing.assert_allclose(fit.predict_proba(), np.tile(fit.prior, (130, 1)), rtol=1e-14)
    text = str(fit.summary())
    assert "No column survives" in text
    assert "No column survives" in text
    assert fit.glance()["selected"].item() == 0
    np.testing.assert_allclose(fit.centroids - fit.overall, 0, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": -1}, "threshold=-1 is not valid. Pass a number of at least 0"),
        ({"threshold": np.nan}, "threshold=nan"),
        ({"threshold": "2"}, "threshold='2'"),
        ({"offset": -0.1}, r"offset=-0\.1 is not valid\. Pass a number of at least 0, or 'median'"),
        ({"offset": "mean"}, "offset='mean'"),
        ({"grid": []}, "grid is empty"),
        ({"grid": [1.0, -2.0]}, r"-2\.0 is not a valid threshold"),
        ({"grid": "fine"}, "grid='fine' is not valid. Pass a list"),
        ({"grid": 3}, "grid=3 is not valid. Pass a list"),
        ({"grid": [1.0, "2"]}, "grid=.*'2'"),
        ({"n_thresholds": 1}, "n_thresholds=1"),
        ({"threshold": True}, "threshold=True"),
        ({"folds": 1}, "folds=1"),
        ({"threshold": "2se"}, "threshold='2se'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(DataError, match=message):
        shrunken_centroids("species ~ .", IRIS, **options)


@pytest.mark.parametrize("options", [{"grid": [1e6, 2e6]}, {"grid": [1e6], "prior": [0.2, 0.5, 0.3]}])
def test_thresholds_that_leave_no_column_have_the_error_of_the_prior(options):
    with pytest.warns(UninformativeFitWarning):
        fit = shrunken_centroids("species ~ .", IRIS, seed=0, **options)
    assert fit.path["genes"].tolist() == [0] * len(options["grid"])
    prior = np.array(options.get("prior", [1 / 3] * 3))
    np.testing.assert_allclose(fit.path["error"], 1 - prior[prior.argmax()])
    assert (fit.predict() == fit.classes[prior.argmax()]).all()


def test_columns_without_a_difference_between_classes_can_be_chosen_among():
    # Half of each class has either value.
    data = IRIS.assign(even=np.arange(len(IRIS)) % 2.0)
    with pytest.warns(UninformativeFitWarning):
        fit = shrunken_centroids("species ~ even", data, offset=1.0, seed=0)
    assert fit.path[["threshold", "genes"]].to_numpy().tolist() == [[0.0, 0]]


def test_a_class_of_one_row_counts_as_an_error_in_folds():
    data = IRIS.copy()
    data.loc[0, "species"] = "alone"
    fit = shrunken_centroids("species ~ .", data, threshold=1.0)
    table = fit.error_rates(["cv"], seed=0, by_class=True)
    assert (table["total"].item(), table["alone"].item()) == (len(data), 1)
    assert fit.error_rates(["loo"])["total"].item() == len(data)


def test_a_loaded_fit_does_not_claim_a_fixed_threshold(tmp_path):
    for options, message in (({"seed": 0}, "cross-validation"), ({"threshold": 1.0}, "given")):
        fit = shrunken_centroids("species ~ .", IRIS, **options)
        assert fit.summary(["header"]).tables["header"].loc["Chosen by"].item() == message
        fit.save(tmp_path / "fit")
        header = discrim.load(tmp_path / "fit").summary(["header"]).tables["header"]
        assert header.loc["Chosen by"].item() == "not in the file"


def test_classes_of_one_or_two_rows_have_no_folds_or_variance():
    data = IRIS.copy()
    data.loc[0, "species"] = "alone"
    with pytest.raises(DataError) as caught:
        shrunken_centroids("species ~ .", data)
    assert "'alone'" in str(caught.value)
    assert "threshold=" in str(caught.value)
    assert shrunken_centroids("species ~ .", data, threshold=1.0).counts["alone"] == 1
    with pytest.raises(CollinearError) as caught:
        shrunken_centroids("species ~ .", IRIS.iloc[[0, 99]], threshold=1.0)
    assert "classes" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        shrunken_centroids("species ~ .", IRIS.iloc[[0, 99]], threshold=1.0, weights=[3, 2])
    assert "vary" in str(caught.value)


def test_unavailable_methods_are_refused(tmp_path):
    fit = shrunken_centroids("species ~ .", IRIS, threshold=1.0)
    for ask in (
        lambda: fit.llf,
        lambda: fit.aic,
        lambda: fit.path,
        lambda: fit.plot("path"),
        lambda: fit.predict_proba(method="predictive"),
        lambda: fit.typicality(),
    ):
        with pytest.raises(NotSupportedError):
            ask()
    with pytest.raises(DataError) as caught:
        fit.survivors(-1)
    assert "threshold=-1" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@pytest.mark.parametrize("offset", ["median", 0.25])
def test_a_file_keeps_threshold_and_offset(tmp_path, offset):
    data = IRIS.assign(flat=1.0)
    fit = shrunken_centroids("species ~ .", data, seed=0, offset=offset, n_thresholds=5)
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.survivors(), fit.survivors(), check_exact=True)
    pd.testing.assert_frame_equal(again.predict_proba(data), fit.predict_proba(data), check_exact=True)
    assert (again.shrinkage_threshold, again.offset) == (fit.shrinkage_threshold, fit.offset)


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
def test_a_file_of_columns_that_do_not_vary_is_read(tmp_path):
    data = pd.DataFrame({"y": list("aabb"), "x": [0.0, 0, 1, 1], "flat": 2.0})
    fit = shrunken_centroids("y ~ .", data, threshold=0.1, offset=0.5)
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.predict_proba(data), fit.predict_proba(), check_exact=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("threshold", -1.0),
        ("threshold", float("inf")),
        ("threshold", "2"),
        ("offset", -0.5),
        ("offset", "mean"),
    ],
)
def test_a_file_with_another_threshold_or_offset_is_refused(tmp_path, key, value):
    path = tmp_path / "fit"
    shrunken_centroids("species ~ .", IRIS, threshold=1.0).save(path)
    header, body = store.split_file(path.read_bytes())
    described = json.loads(header["__metadata__"]["fit"])
    described["estimates"][key] = value
    header["__metadata__"]["fit"] = json.dumps(described)
    with pytest.raises(
        DataError, match=f"its (option '{key}'|{key}) is|has the value inf, which is not finite"
    ):
        discrim.load(store.write_file(path, header, body))


def test_a_file_with_a_negative_sum_of_squares_is_refused(tmp_path):
    path = tmp_path / "fit"
    shrunken_centroids("species ~ .", IRIS, threshold=1.0).save(path)
    header, body = store.changing_buffer("scatters", [-1.0])(*store.split_file(path.read_bytes()))
    with pytest.raises(DataError) as caught:
        discrim.load(store.write_file(path, header, body))
    assert "squares" in str(caught.value)
    assert "negative" in str(caught.value)


@pytest.mark.slow
def test_thousands_of_columns_are_fast_and_messages_are_short():
    data, _ = genes("golub_leukemia")
    start = time.perf_counter()
    fit = shrunken_centroids("y ~ .", data, seed=0)
    text, short = str(fit.summary()), repr(fit)
    fit.leave_one_out()
    assert time.perf_counter() - start < 5
    assert len(text.splitlines()) < 120
    assert len(short.splitlines()) < 40
    assert f"And {len(fit.selected) - 30} more" in " ".join(text.split())
    with pytest.raises(DataError) as missing:
        fit.predict(data[["g1"]])
    assert len(str(missing.value)) < 500


def test_plots_show_the_tables():
    import matplotlib.pyplot as plt

    fit = shrunken_centroids("cultivar ~ .", load_wine(), seed=0, n_thresholds=6)
    axes = fit.plot("path")
    line = axes.lines[0]
    np.testing.assert_allclose(line.get_xdata(), fit.path["threshold"])
    np.testing.assert_allclose(line.get_ydata(), fit.path["error"])
    top = next(other for other in axes.figure.axes if other is not axes)
    assert [label.get_text() for label in top.get_xticklabels()] == fit.path["genes"].astype(str).tolist()
    axes = fit.plot("centroids")
    table = fit.survivors()
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, table.to_numpy().T.ravel())
    assert [label.get_text() for label in axes.get_yticklabels()] == table.index.tolist()
    fit.plot("posteriors")
    with pytest.warns(UninformativeFitWarning):
        shrunken_centroids("cultivar ~ .", load_wine(), threshold=1e6).plot()
    plt.close("all")


@pytest.mark.parametrize("sizes", [(1e155, 1e-155), (1e-155, 1e155)])
def test_columns_outside_double_precision_do_not_contribute(sizes):
    rng = np.random.default_rng(0)
    y = np.repeat(list("abc"), 12)
    data = pd.DataFrame({"u": rng.normal(size=36) * sizes[0], "v": rng.normal(size=36) * sizes[1], "y": y})
    offset, large = 1e154, "u" if sizes[0] > 1 else "v"
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        both = shrunken_centroids("y ~ u + v", data, threshold=0.1, offset=offset)
        alone = shrunken_centroids(f"y ~ {large}", data, threshold=0.1, offset=offset)
        pd.testing.assert_frame_equal(both.predict_proba(), alone.predict_proba())
        pd.testing.assert_frame_equal(both.leave_one_out(), alone.leave_one_out())


def exact_scores(
    x: np.ndarray, codes: np.ndarray, rows: np.ndarray, threshold: float, offset: float
) -> list[list[Fraction]]:
    """Scores less their largest of `rows`, in rational numbers; only roots are rounded, to 60 digits."""
    n, p, k = len(x), x.shape[1], int(codes.max()) + 1
    values = [[Fraction(float(v)) for v in row] for row in x]

    def root(value: Fraction) -> Fraction:
        with localcontext() as context:
            context.prec = 60
            return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())

    counts = [int((codes == g).sum()) for g in range(k)]
    means = [
        [sum(values[i][j] for i in np.flatnonzero(codes == g)) / counts[g] for j in range(p)]
        for g in range(k)
    ]
    centre = [sum(row[j] for row in values) / n for j in range(p)]
    inside = [sum((values[i][j] - means[codes[i]][j]) ** 2 for i in range(n)) / (n - k) for j in range(p)]
    units = [root(inside[j]) + Fraction(offset) for j in range(p)]
    errors = [root(Fraction(1, counts[g]) - Fraction(1, n)) for g in range(k)]
    out = []
    for row in rows:
        scores = []
        for g in range(k):
            total = Fraction(0)
            for j in range(p):
                gap, step = means[g][j] - centre[j], Fraction(threshold) * errors[g] * units[j]
                gap = max(abs(gap) - step, Fraction(0)) * (1 if gap > 0 else -1)
                total += ((Fraction(float(row[j])) - centre[j] - gap) / units[j]) ** 2
            scores.append(-total / 2)
        top = max(scores)
        out.append([score - top for score in scores])
    return out


@pytest.mark.filterwarnings("ignore::discrim.errors.UninformativeFitWarning")
@one_in(2, {"offset": [1e-9, 1e-6], "threshold": [0.0, 1.5, 3e8]})
def test_a_column_that_names_groups_of_classes(offset: float, threshold: float) -> None:
    # Classes that share a value of such a column share a place far from the origin, and not at their means.
    rng = np.random.default_rng(31)
    codes = np.repeat(np.arange(6), 7)
    x = rng.normal(size=(42, 3)) + 0.4 * codes[:, None]
    x[:, 1] = np.array([0.1, 0.1, 0.1, 2.7, 2.7, 2.7])[codes]
    table = pd.DataFrame(x, columns=list("abc")).assign(y=codes)
    fit = shrunken_centroids("y ~ .", table, threshold=threshold, offset=offset, prior="equal")
    exact = exact_scores(x, codes, x, threshold, offset)
    # At 3e8 only the column itself is left, and three classes tie at the same place.
    assert all(float(row[label]) == 0 for row, label in zip(exact, fit.predict(table), strict=True))
    chances = np.array([[np.exp(max(float(s), -700.0)) for s in row] for row in exact])
    chances /= chances.sum(axis=1, keepdims=True)
    # The shrunken differences are known to eps of the column's distance, 2.6 / offset.
    np.testing.assert_allclose(fit.predict_proba(table), chances, atol=1e-6)


@pytest.mark.parametrize("k", [3, 8])
def test_thresholds_are_chosen_where_a_column_is_constant_within_classes(k: int) -> None:
    rng = np.random.default_rng(k)
    codes = np.repeat(np.arange(k), 10)
    table = pd.DataFrame(rng.normal(size=(10 * k, 3)), columns=list("abc")).assign(y=codes, d=codes % 2)
    fit = shrunken_centroids("y ~ .", table, offset=1e-9, seed=0)
    right = (fit.predict(table) % 2 == codes % 2).mean()
    assert right == 1
