"""Partial least squares: its ends, what is refused and how, what is chosen, engines, files."""

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import indicator, lda, load, nearest_centroid, pls
from discrim.datasets import load_iris, load_wine
from discrim.errors import CollinearError, DataError, NotSupportedError, ScaleWarning
from discrim.models.base.refits import refit_options
from discrim.subspace import OrthogonalPLS, SparsePLS
from tests import support
from tests.turns import one_in

IRIS, WINE = load_iris().astype({"species": str}), load_wine()
FLOWERS = "species ~ ."


def noisy(n=24, p=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    x = rng.normal(size=(n, p))
    x[:, :k] += 3 * np.eye(k)[codes]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.array(list("abcdefgh"))[codes])


# ---- its ends


@pytest.mark.parametrize("algorithm", ["nipals", "simpls"])
@pytest.mark.parametrize("scale", [True, False])
def test_with_all_components_it_is_lda_and_the_regression_of_indicators(algorithm, scale):
    options = {"ncomp": 4, "algorithm": algorithm, "scale": scale}
    prior = [0.2, 0.5, 0.3]
    fit, other = pls(FLOWERS, IRIS, prior=prior, **options), lda(FLOWERS, IRIS, prior=prior)
    np.testing.assert_allclose(fit.predict_proba(), other.predict_proba(), atol=1e-10)
    np.testing.assert_allclose(fit.leave_one_out().iloc[:, 1:], other.leave_one_out().iloc[:, 1:], atol=1e-9)
    largest, regressed = pls(FLOWERS, IRIS, rule="max", **options), indicator(FLOWERS, IRIS)
    np.testing.assert_allclose(largest.predict_indicators(), regressed.fitted, atol=1e-10)
    np.testing.assert_allclose(largest.coef, regressed.coef, atol=1e-10)
    np.testing.assert_allclose(largest.intercept, regressed.intercept, atol=1e-10)
    assert largest.predict().equals(regressed.predict())


def test_with_one_component_of_two_classes_it_is_the_nearest_centroid():
    pair = WINE[WINE["cultivar"] != "barolo"].astype({"cultivar": str})
    fit = pls("cultivar ~ .", pair, ncomp=1, scale="indicators", rule="centroid")
    gap = fit.means.iloc[0] - fit.means.iloc[1]
    direction = gap / np.linalg.norm(gap) * np.sign(gap[gap.abs().idxmax()])
    np.testing.assert_allclose(fit.weights["PLS1"], direction, atol=1e-12)
    with pytest.warns(ScaleWarning):
        near = nearest_centroid("cultivar ~ .", pair)
    assert fit.predict().equals(near.predict())


def test_fitted_indicators_and_scores_follow_from_the_tables():
    fit = pls("cultivar ~ .", WINE, ncomp=3)
    x = WINE[fit.terms]
    z = (x - x.mean()) / fit.sd
    np.testing.assert_allclose(fit.sd, x.std(), rtol=1e-12)
    np.testing.assert_allclose(fit.transform(), z @ fit.rotations, atol=1e-9)
    np.testing.assert_allclose(fit.predict_indicators(), x @ fit.coef + fit.intercept, atol=1e-9)
    assert (fit.vip() ** 2).mean() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(fit.coef.sum(axis=1), 0.0, atol=1e-12)
    assert fit.intercept.sum() == pytest.approx(1.0)
    scores = fit.transform()
    centred = scores - scores.groupby(WINE["cultivar"]).transform("mean")
    np.testing.assert_allclose(fit.score_covariance, centred.T @ centred / (178 - 3), atol=1e-9)
    own = lda("y ~ .", scores.assign(y=WINE["cultivar"]))
    np.testing.assert_allclose(fit.predict_proba(), own.predict_proba(), atol=1e-10)


# ---- what is chosen


@pytest.mark.parametrize("rule", ["lda", "max", "centroid"])
def test_the_path_agrees_with_fits_with_as_many_components(rule):
    data = noisy(30, 8)
    fit = pls("y ~ .", data, seed=3, folds=5, rule=rule)
    for count in (1, 3):
        arguments = pls("y ~ .", data, ncomp=count, rule=rule)
        rate = arguments.error_rates(["cv"], folds=5, seed=3)["estimate"].iloc[0]
        assert fit.path["error"].iloc[count - 1] == pytest.approx(rate)
        assert fit.path["R2"].iloc[count - 1] == pytest.approx(arguments.r2()["y"].sum())
    own = fit.q2(folds=5, seed=3)
    pd.testing.assert_frame_equal(own, fit.path.head(len(own)), rtol=1e-12)
    smallest = fit.path["error"].min()
    assert fit.ncomp == fit.path.loc[fit.path["error"] <= smallest + 1e-12, "components"].min()
    simple = pls("y ~ .", data, seed=3, folds=5, rule=rule, ncomp="1se")
    slack = fit.path["se"].iloc[fit.path["error"].argmin()]
    assert simple.ncomp == fit.path.loc[fit.path["error"] <= smallest + slack, "components"].min()


def test_folds_repeat_the_choice_and_leave_one_out_keeps_it():
    data = noisy(30, 8)
    fit = pls("y ~ .", data, seed=1, folds=3, grid=[1, 2, 4])
    cv = discrim.cross_validate(fit, 3, seed=2)
    assert cv.nested
    arguments = pls("y ~ .", data, ncomp=fit.ncomp)
    np.testing.assert_allclose(
        fit.leave_one_out().iloc[:, 1:], arguments.leave_one_out().iloc[:, 1:], atol=1e-12
    )


def test_shuffled_labels_are_not_predicted():
    test = pls("y ~ .", noisy(24, 10, 2), ncomp=2).permutation_test(n=39, seed=1)
    assert test.pvalue == pytest.approx(1 / 40)
    rng = np.random.default_rng(3)
    none = noisy(24, 60, 2).assign(y=rng.permutation(np.repeat(["a", "b"], 12)))
    nothing = pls("y ~ .", none, ncomp=2).permutation_test(n=39, seed=1)
    assert nothing.pvalue > 0.1 > nothing.statistic
    assert nothing.table.loc["R2", "mean"] > 0.8


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_weights_equal_repeated_rows_in_the_permutations():
    data = noisy(15, 6).assign(w=[1.0, 2.0, 1.0] * 5)
    again = data.loc[data.index.repeat(data["w"].astype(int))].reset_index(drop=True)
    one = pls("y ~ . - w", data, weights="w", ncomp=2).permutation_test(n=5, folds=4, seed=2)
    other = pls("y ~ . - w", again, ncomp=2).permutation_test(n=5, folds=4, seed=2)
    pd.testing.assert_frame_equal(one.table, other.table, rtol=1e-9)
    with pytest.raises(NotSupportedError) as caught:
        pls("y ~ . - w", data.assign(w=1.5), weights="w", ncomp=2).permutation_test(n=5)
    assert "whole" in str(caught.value)
    assert "numbers" in str(caught.value)


# ---- hard tables


@one_in(2, {"unit": [1e-300, 1e-150, 1e150, 1e290], "scale": [True, False]})
def test_units_of_all_columns_do_not_matter(unit, scale):
    data = noisy(24, 5)
    other = data.assign(**{f"x{j}": data[f"x{j}"] * unit for j in range(5)})
    fit, far = (pls("y ~ .", table, ncomp=3, scale=scale) for table in (data, other))
    np.testing.assert_allclose(far.predict_proba(), fit.predict_proba(), atol=1e-10)
    np.testing.assert_allclose(far.weights, fit.weights, atol=1e-12)
    np.testing.assert_allclose(far.predict_indicators(), fit.predict_indicators(), atol=1e-10)
    np.testing.assert_allclose(far.transform() / (1.0 if scale else unit), fit.transform(), atol=1e-9)
    np.testing.assert_allclose(far.q2(seed=1), fit.q2(seed=1), atol=1e-9)
    if scale:
        assert far.permutation_test(3, seed=1).pvalue == fit.permutation_test(3, seed=1).pvalue


def test_offsets_do_not_reduce_precision():
    data = noisy(24, 5).round(3)
    far = data.assign(**{f"x{j}": data[f"x{j}"] + 2.0**33 for j in range(5)})
    near = far.assign(**{f"x{j}": far[f"x{j}"] - 2.0**33 for j in range(5)})
    one, other = pls("y ~ .", far, ncomp=3), pls("y ~ .", near, ncomp=3)
    np.testing.assert_allclose(one.predict_proba(), other.predict_proba(), rtol=1e-9, atol=1e-12)


def test_copies_of_columns_share_their_weight():
    data = noisy(24, 4)
    fit = pls("y ~ .", data.assign(copy=data["x0"]), ncomp=3)
    np.testing.assert_allclose(fit.weights.loc["copy"], fit.weights.loc["x0"], atol=1e-12)
    with pytest.raises(DataError) as caught:
        pls("y ~ .", data.assign(copy=data["x0"]), ncomp=5)
    assert "ncomp=4" in str(caught.value)


def test_more_components_than_directions_within_classes_are_refused_by_lda_alone():
    data = noisy(12, 30)
    with pytest.raises(CollinearError) as caught:
        pls("y ~ .", data, ncomp=10)
    assert 'rule="max"' in str(caught.value)
    assert pls("y ~ .", data, ncomp=9).ncomp == 9
    assert pls("y ~ .", data, ncomp=10, rule="max").confusion().to_numpy().trace() == 12
    flat = pd.DataFrame({"x": [0.0, 0, 1, 1], "y": list("aabb")})
    with pytest.raises(CollinearError) as caught:
        pls("y ~ x", flat, ncomp=1)
    assert "vary" in str(caught.value)
    assert pls("y ~ x", flat, ncomp=1, rule="max").predict().tolist() == list("aabb")
    with pytest.raises(DataError) as caught:
        pls("y ~ x", flat.assign(x=[0.0, 1, 0, 1]), ncomp=1)
    assert "differ" in str(caught.value)


def test_a_class_of_one_row():
    data = noisy(12, 4)
    data.loc[0, "y"] = "odd"
    fit = pls("y ~ .", data, ncomp=2)
    assert fit.counts["odd"] == 1
    assert fit.leave_one_out()["odd"][0] == 0
    assert fit.error_rates(["loo"], by_class=True)["odd"].item() == 1
    with pytest.raises(DataError) as caught:
        pls("y ~ .", data)
    assert "ncomp=" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ncomp": 0}, "of at least 1"),
        ({"ncomp": True}, "of at least 1"),
        ({"ncomp": 10**400}, "too large"),
        ({"grid": []}, "empty"),
        ({"grid": [0.5]}, "grid=.*0.5"),
        ({"grid": "12"}, "list of numbers"),
        ({"grid": [9, 12]}, "at most 4 components"),
        ({"rule": "median"}, "Use one of"),
        ({"ncomp": 1, "rule": "max", "prior": "equal"}, 'rule="lda"'),
        ({"scale": 1, "ncomp": 1}, "True"),
        ({"folds": 1}, "from 2 to"),
        ({"algorithm": object(), "ncomp": 1}, "not a regression"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        pls("y ~ .", noisy(24, 4), **options)


# ---- engines, files, moments


def test_an_engine_finds_the_components():
    regression = pytest.importorskip("sklearn.cross_decomposition").PLSRegression
    engine = regression(3, tol=1e-28, max_iter=10**4)
    fit, own = pls("cultivar ~ .", WINE, algorithm=engine), pls("cultivar ~ .", WINE, ncomp=3)
    assert fit.ncomp == 3
    np.testing.assert_allclose(fit.coef, own.coef, atol=1e-10)
    np.testing.assert_allclose(fit.predict_proba(), own.predict_proba(), atol=1e-9)
    assert not hasattr(engine, "x_weights_")
    few = WINE.iloc[::4]
    fit, own = (pls("cultivar ~ .", few, ncomp=2, **more) for more in ({"algorithm": engine}, {}))
    np.testing.assert_allclose(fit.leave_one_out().iloc[:, 1:], own.leave_one_out().iloc[:, 1:], atol=1e-9)
    for what in (fit.q2, fit.permutation_test):
        with pytest.raises(NotSupportedError) as caught:
            what()
        assert "algorithm=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        pls("cultivar ~ .", WINE, algorithm=engine, ncomp=40)
    assert "fitted" in str(caught.value)


@pytest.mark.parametrize("case", ["tall", "wide", "engine"])
def test_a_file_holds_the_fit(tmp_path, case):
    data, more = (noisy(24, 60) if case == "wide" else noisy(24, 5)), {}
    if case == "engine":
        more["algorithm"] = pytest.importorskip("sklearn.cross_decomposition").PLSRegression()
    fit = pls("y ~ .", data, ncomp=2, prior="equal", **more)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    for name in ("coef", "weights", "loadings", "rotations", "centroids", "explained"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fit, name))
    np.testing.assert_array_equal(again.predict_proba(data), fit.predict_proba())
    assert again.glance().equals(fit.glance())
    with pytest.raises(NotSupportedError) as caught:
        again.q2()
    assert "data" in str(caught.value)
    assert "formula" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = again.path
    assert "q2" in str(caught.value)


def test_moments_and_sources_give_the_fit_of_the_rows():
    for data in (noisy(24, 5), noisy(24, 60)):
        fit = pls("y ~ .", data, ncomp=2)
        read = pls("y ~ .", lambda data=data: iter([data[:10], data[10:]]), ncomp=2)
        np.testing.assert_allclose(read.coef, fit.coef, atol=1e-12)
    data = noisy(24, 5)
    fixed = pls(moments=discrim.moments("y ~ .", data), ncomp=2)
    np.testing.assert_allclose(fixed.coef, pls("y ~ .", data, ncomp=2).coef, atol=1e-12)
    with pytest.raises(NotSupportedError) as caught:
        pls(moments=discrim.moments("y ~ .", data))
    assert "ncomp=" in str(caught.value)


def test_rules_without_posteriors_have_values():
    fit = pls("y ~ .", noisy(24, 5), ncomp=2, rule="max")
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_proba()
    assert 'rule="lda"' in str(caught.value)
    values = fit.predict_indicators()
    np.testing.assert_allclose(values.sum(axis=1), 1.0, atol=1e-12)
    assert [name for name in fit.augment().columns if name.startswith(".score")] == [
        f".score.{label}" for label in "abc"
    ]
    np.testing.assert_allclose(fit.decision_function(), values)


@pytest.mark.slow
def test_many_columns_take_seconds():
    data, _ = support.leukemia_table()
    fit = pls("y ~ .", data, ncomp=2)
    x, y = data.drop(columns="y").to_numpy(), np.equal(data["y"].to_numpy()[:, None], ["ALL", "AML"]) * 1.0
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    first = z.T @ (y[:, 1] - y[:, 1].mean())
    first /= np.linalg.norm(first)
    first *= np.sign(first[np.abs(first).argmax()])
    np.testing.assert_allclose(fit.weights["PLS1"], first, atol=1e-12)
    assert fit.confusion("loo").to_numpy().trace() >= 69


def test_q2_supports_the_splits_of_the_verb():
    """Against refits written out, on splits that overlap and leave rows out; and folds as splits."""
    rng = np.random.default_rng(5)
    splits = [(np.sort(rng.permutation(178)[:120]), rng.permutation(178)[:40]) for _ in range(3)]
    fit = pls("cultivar ~ .", WINE, ncomp=4)
    result = fit.q2(folds=splits)
    expected = pls("cultivar ~ .", WINE, folds=splits, grid=[1, 2, 3, 4]).path
    np.testing.assert_allclose(result[["error", "Q2"]], expected[["error", "Q2"]], rtol=1e-9)
    wrong = np.zeros(4)
    for train, test in splits:
        for a in range(4):
            part = pls("cultivar ~ .", WINE.iloc[train], ncomp=a + 1)
            called = part.predict(WINE.iloc[test], prior=fit.prior)
            wrong[a] += (called != WINE["cultivar"].iloc[test]).sum()
    np.testing.assert_allclose(result["error"], wrong / 120, rtol=1e-9)
    masks = [(np.isin(np.arange(178), train), test) for train, test in splits]
    assert fit.q2(folds=iter(masks)).equals(result)
    for strange in ([], "5", 2.5, [(np.arange(10),)], [([0, 1], [178])]):
        with pytest.raises(DataError) as caught:
            fit.q2(folds=strange)
        assert "folds" in str(caught.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: OrthogonalPLS(0),
        lambda: OrthogonalPLS("cv"),
        lambda: OrthogonalPLS(1.5),
        lambda: SparsePLS(0),
        lambda: SparsePLS([2, 1.5]),
        lambda: SparsePLS("three"),
        lambda: SparsePLS(True),
        lambda: SparsePLS([]),
    ],
)
def test_specifications_validate_their_numbers(build):
    with pytest.raises(DataError):
        build()


def test_scale_is_of_columns_indicators_both_or_neither():
    x = WINE.drop(columns="cultivar")
    unit = WINE.assign(**(x / x.std()))
    for scale, other in ((True, "indicators"), ("columns", False)):
        scaled, by_hand = (
            pls("cultivar ~ .", WINE, ncomp=2, scale=scale),
            pls("cultivar ~ .", unit, ncomp=2, scale=other),
        )
        np.testing.assert_allclose(scaled.predict_proba(), by_hand.predict_proba(), atol=1e-12)
    for scale in ("rows", None, 1.5):
        with pytest.raises(DataError) as caught:
            pls("cultivar ~ .", WINE, ncomp=2, scale=scale)
        assert "scale=" in str(caught.value)


def test_a_refit_holds_the_number_of_components_that_was_chosen(tmp_path):
    fit = pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS("1se"), grid=[1, 2], folds=3, seed=1)
    fit.save(tmp_path / "fit")
    for each in (fit, discrim.load(tmp_path / "fit")):
        assert each._fit.options["algorithm"] == OrthogonalPLS("1se")
        assert refit_options(each)["algorithm"] == OrthogonalPLS(fit.orthogonal)
