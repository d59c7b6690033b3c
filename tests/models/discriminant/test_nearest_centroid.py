"""Nearest centroids: against scikit-learn, LDA with a spherical covariance, mpmath and refits."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid

import discrim
from discrim import lda, nearest_centroid
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimWarning,
    NotSupportedError,
    ScaleWarning,
    WeightsWarning,
)
from tests import references as ref
from tests import support
from tests.turns import one_in

mpl.use("Agg")

pytestmark = pytest.mark.filterwarnings(
    "ignore::discrim.errors.ScaleWarning", "ignore::discrim.errors.DroppedColumnsWarning"
)

IRIS = load_iris().astype({"species": str})
PRIORS = {"equal": "equal", "proportions": None, "given": [0.7, 0.2, 0.1]}


def digits():
    x, y = load_digits(return_X_y=True)
    return pd.DataFrame(x).add_prefix("p").assign(y=y)


def classic(name, response, dropped=()):
    return support.classic_table(name).drop(columns=list(dropped)).rename(columns={response: "y"})


TABLES = {
    "iris": lambda: IRIS.rename(columns={"species": "y"}),
    "wine": lambda: load_wine().rename(columns={"cultivar": "y"}),
    "breast_cancer": lambda: load_breast_cancer().rename(columns={"diagnosis": "y"}),
    "digits": digits,
    "vehicle": lambda: classic("mlbench_Vehicle", "Class"),
    "sonar": lambda: classic("mlbench_Sonar", "Class"),
    "vowel": lambda: classic("ElemStatLearn_vowel.train", "y"),
    "golub": lambda: support.leukemia_table()[0],
}


def parts(table):
    return table.drop(columns="y").to_numpy(dtype=np.float64), table["y"].to_numpy(dtype=object).astype(str)


# ---- against scikit-learn


@pytest.mark.parametrize("name", TABLES)
def test_labels_agree_with_scikit_learn(name):
    table = TABLES[name]()
    x, y = parts(table)
    fit = nearest_centroid("y ~ .", table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = NearestCentroid().fit(x, y)
    np.testing.assert_array_equal(fit.predict().astype(str), theirs.predict(x))
    kept_columns = table.columns.drop("y").get_indexer(fit.terms)
    means = fit.means.set_axis(fit.classes.astype(str)).loc[theirs.classes_]
    np.testing.assert_allclose(means, theirs.centroids_[:, kept_columns], rtol=1e-12, atol=1e-12)
    new = x[::3] + np.random.default_rng(0).normal(size=x[::3].shape) * x.std(axis=0)
    actual = fit.predict(pd.DataFrame(new, columns=table.columns.drop("y")))
    np.testing.assert_array_equal(actual.astype(str), theirs.predict(new))


@pytest.mark.parametrize("prior", PRIORS)
def test_other_results_of_scikit_learn_agree_with_diagonal_lda(prior):
    wine = TABLES["wine"]()
    x, y = parts(wine)
    priors = {"equal": "uniform", "proportions": "empirical"}.get(prior, PRIORS[prior])
    theirs = NearestCentroid(priors=priors).fit(x, y)
    ours = lda("y ~ .", wine, covariance="diagonal", prior=PRIORS[prior])
    if prior != "equal":
        np.testing.assert_array_equal(theirs.predict(x), ours.predict())
    # Its scores are 2 ln prior_k - d2, and its posteriors so the squares of ours.
    squares = ours.predict_proba() ** 2
    np.testing.assert_allclose(theirs.predict_proba(x), squares.div(squares.sum(axis=1), axis=0), atol=1e-12)


# ---- one variance for all: LDA


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("weights", [None, np.arange(150) % 3 + 0.5])
def test_fit_equals_lda_with_a_spherical_covariance(prior, weights):
    options = {"prior": prior, "weights": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = nearest_centroid("species ~ .", IRIS, **options)
        other = lda("species ~ .", IRIS, covariance="spherical", **options)
    same = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(fit.predict_log_proba(), other.predict_log_proba(), **same)
    np.testing.assert_allclose(
        fit.leave_one_out().iloc[:, 1:].astype(float), other.leave_one_out().iloc[:, 1:].astype(float), **same
    )
    np.testing.assert_allclose(fit.sd**2 * np.eye(4), other.cov, **same)
    for name in ("llf", "df_model", "aic", "bic"):
        assert getattr(fit, name) == pytest.approx(getattr(other, name), rel=1e-13)
    ours, theirs = fit.boundary("versicolor", "setosa"), other.boundary("versicolor", "setosa")
    np.testing.assert_allclose(ours.normal, theirs.normal, **same)
    assert ours.offset == pytest.approx(theirs.offset, rel=1e-12)


def test_likelihood_equals_the_simplest_covariance_model():
    fit = nearest_centroid("species ~ .", IRIS, prior=None)
    ladder = discrim.covariance_models("species ~ .", IRIS)
    rung = ladder.loc[next(name for name in ladder.index if "spherical" in str(name))]
    assert fit.llf == pytest.approx(rung["llf"], rel=1e-12)
    assert fit.df_model == rung["df"]


# ---- digits


def exact(x, y, new, prior=None):
    """Log posteriors, distances and s by the formulas as they are written, in eighty digits."""
    x, new = ref.exact(x), ref.exact(new)
    classes = sorted(set(y))
    means = [sum(x[y == k]) / mpmath.mpf(int((y == k).sum())) for k in classes]
    squares = sum(((row - means[classes.index(k)]) ** 2).sum() for row, k in zip(x, y, strict=True))
    variance = squares / (x.shape[1] * (len(x) - len(classes)))
    out, apart = [], []
    for row in new:
        squares = [((row - mean) ** 2).sum() for mean in means]
        apart.append([mpmath.sqrt(d2) for d2 in squares])
        logs = [-d2 / (2 * variance) for d2 in squares]
        logs = [log + mpmath.log(p) for log, p in zip(logs, prior or [1] * len(logs), strict=True)]
        total = mpmath.log(sum(mpmath.exp(log - max(logs)) for log in logs)) + max(logs)
        out.append([log - total for log in logs])
    return ref.to_float(np.array(out)), ref.to_float(np.array(apart)), float(mpmath.sqrt(variance))


@one_in(2, {"shift": [0.0, 1e8, -1e11], "scale": [1.0, 2.0**-500, 2.0**400]})
def test_posteriors_are_precise_far_from_zero_and_in_any_unit(shift, scale):
    x = (IRIS.iloc[::5, :4].to_numpy() + shift) * scale
    y = IRIS["species"].to_numpy()[::5]
    data = pd.DataFrame(x, columns=list("abcd")).assign(y=y)
    fit = nearest_centroid("y ~ .", data)
    expected, apart, sd = exact(x, y, x[::4])
    np.testing.assert_allclose(fit.predict_log_proba(data[::4]), expected, rtol=1e-12, atol=1e-13)
    assert fit.sd == pytest.approx(sd, rel=1e-13)
    np.testing.assert_allclose(fit.centroid_distances(data[::4]), apart, rtol=1e-12)


def test_close_classes_are_separated_despite_a_distant_class():
    rng = np.random.default_rng(3)
    y = np.repeat(list("abc"), 8)
    x = rng.normal(size=(24, 3)) + np.array([0.0, 0.5, 1e9])[np.repeat([0, 1, 2], 8)][:, None]
    data = pd.DataFrame(x, columns=list("uvw")).assign(y=y)
    expected, _, _ = exact(x, y, x[:16], [0.2, 0.3, 0.5])
    actual = nearest_centroid("y ~ .", data, prior=[0.2, 0.3, 0.5]).predict_log_proba(data[:16])
    np.testing.assert_allclose(actual[["a", "b"]], expected[:, :2], rtol=1e-12, atol=1e-12)


def test_columns_in_much_smaller_units_are_negligible(tmp_path):
    data = IRIS.assign(tiny=IRIS["sepal_width"] * 1e-200)
    fit, without = (nearest_centroid("species ~ .", fixed_fit) for fixed_fit in (data, IRIS))
    assert (fit.predict() == without.predict()).all()
    assert fit.sd == pytest.approx(without.sd * np.sqrt(4 / 5), rel=1e-13)
    assert fit.column_shares().loc["tiny", "sd"] == pytest.approx(
        1e-200 * fit.column_shares()["sd"]["sepal_width"]
    )
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(data), fit.predict_proba(), check_exact=True)
    assert loaded.sd == fit.sd


# ---- rows left out


WIDE = {
    "sonar": lambda: TABLES["sonar"]().iloc[40:160:4, 10:],
    "golub": lambda: TABLES["golub"]().iloc[:38, -61:],
}


@pytest.mark.parametrize("name", WIDE)
def test_rows_are_left_out_as_by_refits_also_where_columns_are_many(name):
    table = WIDE[name]()
    assert len(table) < len(table.columns)
    fit = nearest_centroid("y ~ .", table)
    left_out = fit.leave_one_out()
    for row in table.index[::4]:
        refit = nearest_centroid("y ~ .", table.drop(index=row))
        expected = refit.predict_proba(table.loc[[row]]).iloc[0]
        np.testing.assert_allclose(left_out.loc[row, list(fit.classes)].astype(float), expected, rtol=1e-11)
        assert left_out.loc[row, "label"] == refit.predict(table.loc[[row]]).iloc[0]


def test_leaving_out_the_only_row_removes_its_class():
    data = pd.concat([IRIS[::10], IRIS[:1].assign(species="alone", sepal_length=9.0)], ignore_index=True)
    left_out = nearest_centroid("species ~ .", data).leave_one_out()
    assert left_out["alone"].iloc[-1] == 0
    without = nearest_centroid("species ~ .", data[:-1]).predict_proba(data[-1:])
    np.testing.assert_allclose(left_out[without.columns].iloc[-1].astype(float), without.iloc[0], rtol=1e-11)


@pytest.mark.filterwarnings("ignore::discrim.errors.MissingPredictionWarning")
def test_without_the_one_row_that_varies_there_is_no_rule():
    data = pd.DataFrame({"x": [0.0, 0.0, 1.0, 5.0, 5.0], "y": list("aaabb")})
    left_out = nearest_centroid("y ~ x", data).leave_one_out()
    assert left_out["a"].isna().tolist() == [False, False, True, False, False]
    refit = nearest_centroid("y ~ x", data[1:])
    np.testing.assert_allclose(left_out.iloc[0, 1:].astype(float), refit.predict_proba(data[:1]).iloc[0])


def test_folds_are_refits():
    rng = np.random.default_rng(1)
    data = IRIS.assign(sepal_width=rng.normal(size=150), petal_length=rng.normal(size=150))
    for prior in ("equal", None):
        fit = nearest_centroid("species ~ . - petal_width", data, prior=prior)
        cross_validated = discrim.cross_validate(fit, 5, seed=2)
        for fold in cross_validated.folds[1].unique():
            in_fold = cross_validated.folds[1] == fold
            refit = nearest_centroid("species ~ . - petal_width", data[~in_fold], prior=fit.prior)
            np.testing.assert_allclose(
                cross_validated.posteriors()[in_fold],
                refit.predict_proba(data[in_fold]),
                rtol=1e-10,
                atol=1e-14,
            )


# ---- distances and what a column has in them


def test_distances_are_euclidean_and_missing_where_a_value_is(tmp_path):
    penguins = load_penguins()
    fit = nearest_centroid("species ~ bill_length_mm + bill_depth_mm", penguins)
    actual = fit.centroid_distances()
    expected = cdist(penguins[list(fit.terms)].to_numpy(dtype=float), fit.means)
    assert actual.index.equals(penguins.index)
    assert actual.columns.equals(fit.classes)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    assert actual.isna().any(axis=1).sum() == 2
    is_complete = actual.notna().all(axis=1)
    assert (actual[is_complete].idxmin(axis=1) == fit.predict()[is_complete].astype(object)).all()
    pairs = fit.distances()
    np.testing.assert_allclose(pairs["distance"], cdist(fit.means, fit.means)[np.triu_indices(3, 1)])
    np.testing.assert_allclose(pairs["D2"], (pairs["distance"] / fit.sd) ** 2)
    assert pairs.index.tolist() == [("Adelie", "Chinstrap"), ("Adelie", "Gentoo"), ("Chinstrap", "Gentoo")]
    distant = pd.DataFrame({"bill_length_mm": [1e90, 40.0], "bill_depth_mm": [0.0, -1e80]})
    np.testing.assert_allclose(fit.centroid_distances(distant), [[1e90] * 3, [1e80] * 3], rtol=1e-12)


def test_shares_equal_those_of_the_sums_of_squares():
    x, y = parts(TABLES["wine"]())
    fit = nearest_centroid("y ~ .", TABLES["wine"]())
    means = pd.DataFrame(x).groupby(y).transform("mean").to_numpy()
    within, between = ((x - means) ** 2).sum(axis=0), ((means - x.mean(axis=0)) ** 2).sum(axis=0)
    proportions = fit.column_shares()
    np.testing.assert_allclose(proportions["sd"], np.sqrt(within / (len(x) - 3)))
    np.testing.assert_allclose(proportions["within"], within / within.sum())
    np.testing.assert_allclose(proportions["between"], between / between.sum())
    assert proportions["within"].idxmax() == "proline"
    assert fit.sd == pytest.approx(np.sqrt(within.sum() / (13 * (len(x) - 3))))
    tidy = fit.tidy().set_index(["class", "term"])
    assert tidy.loc[(fit.classes[0], "proline"), "std_error"] == pytest.approx(
        fit.sd / np.sqrt(fit.counts.iloc[0])
    )


def test_means_that_do_not_differ_have_no_share_between():
    data = pd.DataFrame({"x": [0.0, 2.0, 0.0, 2.0], "z": [1.0, 3.0, 3.0, 1.0], "y": list("aabb")})
    fit = nearest_centroid("y ~ x + z", data)
    assert fit.column_shares()["between"].isna().all()
    np.testing.assert_allclose(fit.predict_proba(), 0.5)
    assert "Nearest centroids" in str(fit.summary())


# ---- what it is fitted to, and what it refuses


def test_moments_replace_a_table():
    chunk_moments = [discrim.moments("species ~ .", chunk) for chunk in (IRIS[:60], IRIS[60:90], IRIS[90:])]
    fit, full_fit = nearest_centroid(moments=sum(chunk_moments)), nearest_centroid("species ~ .", IRIS)
    np.testing.assert_allclose(
        fit.predict_log_proba(IRIS), full_fit.predict_log_proba(), rtol=1e-11, atol=1e-11
    )
    assert fit.llf == pytest.approx(full_fit.llf, rel=1e-12)
    assert "not available" in str(fit.summary())
    with pytest.raises(NotSupportedError) as caught:
        fit.leave_one_out()
    assert "rows" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"x": [0.0, 3.0], "z": [1.0, 5.0], "y": ["a", "b"]}),
        pd.DataFrame({"x": [0.0, 0.0, 3.0, 3.0], "z": [1.0, 1.0, 5.0, 5.0], "y": list("aabb")}),
    ],
    ids=["a row a class", "equal rows"],
)
def test_constant_classes_are_refused_and_the_hint_works(data):
    with pytest.raises(CollinearError) as caught:
        nearest_centroid("y ~ x + z", data)
    assert "k=1" in str(caught.value)
    assert "scale=False" in str(caught.value)
    assert discrim.knn("y ~ x + z", data, k=1, scale=False).predict().tolist() == data["y"].tolist()


def test_weights_that_do_not_count_rows_are_refused():
    with pytest.warns(WeightsWarning), pytest.raises(CollinearError, match="weights"):
        nearest_centroid("species ~ .", IRIS, weights=np.full(150, 0.01))


def test_very_different_units_cause_a_warning_whose_hint_works():
    wine = TABLES["wine"]()
    with pytest.warns(ScaleWarning, match="'proline'"):
        fit = nearest_centroid("y ~ .", wine)
    better = lda("y ~ .", wine, covariance="diagonal", prior="equal")
    assert better.confusion().to_numpy().trace() > fit.confusion().to_numpy().trace()
    with pytest.warns(ScaleWarning):
        nearest_centroid("y ~ .", wine, prior=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearest_centroid("species ~ .", IRIS)


def test_unavailable_methods_explain_themselves():
    fit = nearest_centroid("species ~ .", IRIS)
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_proba(method="predictive")
    assert "plugin" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.typicality()
    assert "typicality" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.plot(kind="scores")
    assert "kind" in str(caught.value)


# ---- summary and pictures


def test_summary_shows_the_fit():
    fit = nearest_centroid("species ~ .", IRIS)
    tables = fit.summary().tables
    assert list(tables) == ["header", "classes", "means", "distances", "columns"]
    assert tables["header"].loc["Standard deviation s", "value"] == fit.sd
    assert tables["header"].loc["Prior", "value"] == "equal"
    by_class = IRIS.groupby("species").var()
    np.testing.assert_allclose(tables["classes"]["sd"], np.sqrt(by_class.mean(axis=1)))
    d = tables["distances"].to_numpy()
    np.testing.assert_allclose(d[np.triu_indices(3, 1)], np.sqrt(fit.distances()["D2"]))
    proportions = nearest_centroid("species ~ .", IRIS[20:], prior=None).summary(["header"])
    assert "class proportions" in str(proportions)
    assert "uses the prior of all observations" in str(proportions)
    fixed_prior = nearest_centroid("species ~ .", IRIS, prior=[0.5, 0.3, 0.2]).summary(["header"])
    assert fixed_prior.tables["header"].loc["Prior", "value"] == "specified"


def test_a_class_of_one_row_has_no_standard_deviation_of_its_own():
    data = pd.concat([IRIS, IRIS[:1].assign(species="alone")], ignore_index=True)
    table = nearest_centroid("species ~ .", data).summary(["classes"]).tables["classes"]
    assert table["sd"].isna().tolist() == [True, False, False, False]


@pytest.mark.slow
def test_plots():
    fit = nearest_centroid("species ~ petal_length + petal_width", IRIS)
    for plot_kind in (None, "regions", "posteriors"):
        assert fit.plot(plot_kind).has_data()
    assert nearest_centroid("species ~ .", IRIS).plot().has_data()


def test_folds_without_variance_are_reported_with_a_hint():
    fit = nearest_centroid("y ~ .", pd.DataFrame({"y": ["a", "a", "b", "b"], "x": [0.0, 1.0, 1.0, 1.0]}))
    with pytest.raises(NotSupportedError) as caught:
        fit.error_rates(["cv"], folds=2, seed=1)
    assert caught.value.classes == ("a",)
