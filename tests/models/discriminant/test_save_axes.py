"""Quadratic discriminant analysis on axes of sliced average variance estimation: R's dr, and identities."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim import qda
from discrim.cli import main
from discrim.covariance import Shrunk
from discrim.datasets import load_iris, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    FallbackWarning,
    NotSupportedError,
    TiedAxesWarning,
)
from discrim.sklearn import QDAClassifier
from tests.fuzz.saved_files import join_file, split_file
from tests.support import GOLDEN

SAVE = json.loads((GOLDEN / "save_axes.json").read_text())
IRIS, WINE = load_iris(), load_wine()


def spreads(n: int = 600, p: int = 10, seed: int = 1) -> pd.DataFrame:
    """Classes of one mean, that differ in how the columns x0 and x1 vary together."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.standard_normal((n, p))
    x[y == 1, 0] *= 4
    x[y == 1, 1] += 2 * x[y == 1, 0]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.array(["a", "b"])[y])


def by_hand(table: pd.DataFrame, response: str) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, and directions of variance one in columns, by a symmetric root of the inverse."""
    x, y = table.drop(columns=response).to_numpy(), table[response]
    inverse = np.linalg.inv(scipy.linalg.sqrtm(np.cov(x.T, bias=True)).real)
    kernel = sum(
        (y == level).mean()
        * np.linalg.matrix_power(np.eye(x.shape[1]) - inverse @ class_covariance @ inverse, 2)
        for level in np.unique(y)
        for class_covariance in [np.cov(x[y == level].T, bias=True)]
    )
    eigenvalues, vectors = np.linalg.eigh(kernel)
    return eigenvalues[::-1], inverse @ vectors[:, ::-1]


def turned(axes: np.ndarray, like: np.ndarray) -> np.ndarray:
    return axes * np.sign((axes * like).sum(axis=0))


@pytest.mark.parametrize("case", SAVE, ids=lambda case: f"{case['table']}-{case['ncomp']}")
def test_axes_and_posteriors_agree_with_r_dr(case):
    table: pd.DataFrame = discrim.datasets.load(case["table"])
    fit = qda(f"{case['response']} ~ .", table, ncomp=case["ncomp"])
    np.testing.assert_allclose(fit.subspace.eigenvalues, case["eigenvalues"], rtol=1e-9)
    actual = fit.subspace.loadings.to_numpy()
    theirs = turned(np.array(case["axes"])[:, : case["ncomp"]], actual)
    np.testing.assert_allclose(actual / np.linalg.norm(actual, axis=0), theirs, atol=1e-9)
    np.testing.assert_allclose(fit.predict_proba(), case["posterior"], atol=1e-9)


@pytest.mark.parametrize("ncomp", [1, 2, 4])
def test_directions_and_log_determinants_agree_with_manual_computation(ncomp):
    fit = qda("species ~ .", IRIS, ncomp=ncomp)
    eigenvalues, axes = by_hand(IRIS, "species")
    np.testing.assert_allclose(fit.subspace.eigenvalues, eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(
        fit.subspace.loadings, turned(axes[:, :ncomp], fit.subspace.loadings.to_numpy()), atol=1e-9
    )
    np.testing.assert_allclose(fit.subspace.shares, eigenvalues[:ncomp] / eigenvalues.sum(), rtol=1e-9)
    scores = IRIS.drop(columns="species") @ fit.subspace.loadings
    np.testing.assert_allclose(np.cov(scores.T, bias=True), np.eye(ncomp).squeeze(), atol=1e-9)
    reference_fit = qda("species ~ .", scores.assign(species=IRIS["species"]))
    np.testing.assert_allclose(fit.predict_proba(), reference_fit.predict_proba(), atol=1e-10)
    np.testing.assert_allclose(fit.logdet, reference_fit.logdet, atol=1e-9)


def test_all_axes_equal_a_fit_to_all_columns():
    every, all_axes = qda("cultivar ~ .", WINE), qda("cultivar ~ .", WINE, ncomp=13)
    np.testing.assert_allclose(all_axes.predict_proba(), every.predict_proba(), atol=1e-12)
    assert np.ptp(all_axes.logdet - every.logdet) < 1e-9


def test_posteriors_do_not_depend_on_the_units_of_columns():
    x = WINE.drop(columns="cultivar")
    turn = np.random.default_rng(2).standard_normal((13, 13)) * np.geomspace(1e-6, 1e6, 13)
    other = pd.DataFrame(x.to_numpy() @ turn + 7, columns=x.columns).assign(cultivar=WINE["cultivar"])
    fits = [qda("cultivar ~ .", table, ncomp=3) for table in (WINE, other)]
    np.testing.assert_allclose(fits[0].predict_proba(), fits[1].predict_proba(), atol=1e-7)
    np.testing.assert_allclose(fits[0].subspace.eigenvalues, fits[1].subspace.eigenvalues, rtol=1e-7)


def test_two_axes_separate_classes_with_different_variances():
    def angle(rows: int) -> float:
        fit = qda("y ~ .", spreads(rows), ncomp=2)
        return scipy.linalg.subspace_angles(fit.subspace.loadings, np.eye(10)[:, :2]).max()

    # It falls with the root of the rows.
    assert angle(40_000) < angle(400) / 5 < 0.1
    table, fresh = spreads(), spreads(seed=5)
    wrong = (qda("y ~ .", table, ncomp=2).predict(fresh) != fresh["y"]).mean()
    error = (qda("y ~ x0 + x1", table).predict(fresh) != fresh["y"]).mean()
    assert wrong == pytest.approx(error, abs=0.02)


def test_weights_equal_repeated_rows():
    weights = np.arange(len(IRIS)) % 3 + 1
    weighted = qda("species ~ .", IRIS, weights=weights, ncomp=2)
    repeated = qda("species ~ .", IRIS.loc[IRIS.index.repeat(weights)], ncomp=2)
    np.testing.assert_allclose(weighted.subspace.loadings, repeated.subspace.loadings, atol=1e-10)
    np.testing.assert_allclose(weighted.predict_proba(IRIS), repeated.predict_proba(IRIS), atol=1e-10)


def test_fit_to_moments_equals_fit_to_rows():
    fit = qda(moments=discrim.moments("species ~ .", IRIS), ncomp=2)
    np.testing.assert_allclose(fit.predict_proba(IRIS), qda("species ~ .", IRIS, ncomp=2).predict_proba())


def test_leave_one_out_and_folds_estimate_axes_again():
    table = IRIS.iloc[::5].reset_index(drop=True)
    fit = qda("species ~ .", table, prior="equal", ncomp=1)
    left_out = fit.leave_one_out()
    expected = [
        qda("species ~ .", table.drop(index=i), prior="equal", ncomp=1).predict_proba(table.iloc[[i]])
        for i in table.index
    ]
    np.testing.assert_allclose(left_out.drop(columns="label"), pd.concat(expected), atol=1e-9)


def test_a_class_may_have_fewer_rows_than_columns():
    table = pd.concat([WINE[WINE["cultivar"] == "barolo"].head(8), WINE[WINE["cultivar"] != "barolo"]])
    with pytest.raises(CollinearError) as caught:
        qda("cultivar ~ .", table)
    assert "too few" in str(caught.value)
    fit = qda("cultivar ~ .", table, ncomp=2)
    eigenvalues, _ = by_hand(table, "cultivar")
    np.testing.assert_allclose(fit.subspace.eigenvalues, eigenvalues, rtol=1e-8)
    with pytest.raises(CollinearError) as caught:
        qda("cultivar ~ .", table, ncomp=8)
    assert "ncomp=7" in str(caught.value)


def test_a_file_an_update_and_a_pickle_keep_the_axes(tmp_path):
    fit = qda("species ~ .", IRIS, ncomp=2)
    fit.save(tmp_path / "fit")
    for other in (discrim.load(tmp_path / "fit"), pickle.loads(pickle.dumps(fit))):
        pd.testing.assert_frame_equal(other.predict_proba(IRIS), fit.predict_proba(IRIS))
        pd.testing.assert_frame_equal(other.subspace.loadings, fit.subspace.loadings)
        pd.testing.assert_series_equal(other.subspace.eigenvalues, fit.subspace.eigenvalues)
    assert list(fit.update(ncomp=1).subspace.loadings) == ["SAVE1"]


def test_covariances_refer_to_scores_and_deviations_to_columns():
    fit = qda("cultivar ~ .", WINE, ncomp=3)
    x, y = WINE.drop(columns="cultivar"), WINE["cultivar"]
    scores = x @ fit.subspace.loadings
    for label, actual in fit.covs.items():
        pd.testing.assert_frame_equal(actual, scores[y == label].cov(), atol=1e-10)
        assert np.linalg.slogdet(actual)[1] == pytest.approx(fit.logdet[label], abs=1e-9)
    sds = fit.tidy().pivot(index="class", columns="term", values="sd")[list(x)]
    np.testing.assert_allclose(sds, x.groupby(y).std(), rtol=1e-10)


def test_a_summary_shows_the_axes_and_the_covariances_of_the_scores():
    fit = qda("species ~ .", IRIS, ncomp=2, method="mle")
    message = str(fit.summary())
    assert "Covariance matrix of the scores in setosa, divisor n\n" in message
    assert "2 more eigenvalues, the largest 0.0821" in message
    tables = fit.summary().tables
    text = tables["axes"]
    np.testing.assert_allclose(text.to_numpy()[:4], fit.subspace.loadings)
    np.testing.assert_allclose(text.loc["Eigenvalue"], by_hand(IRIS, "species")[0][:2], rtol=1e-9)


@pytest.mark.parametrize("near", [1e-5, 1e-7, 1e-9])
@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
def test_nearly_collinear_columns_keep_precision(near):
    noise = np.random.default_rng(0).standard_normal(len(WINE))
    close = WINE.assign(near=WINE["alcohol"] + WINE["ash"] + near * noise)
    # What is left of the column, in whose place the axes are the same.
    apart = WINE.assign(near=(close["near"] - WINE["alcohol"] - WINE["ash"]) / near)
    fits = [qda("cultivar ~ .", table, ncomp=3) for table in (close, apart)]
    # Rounding in the column is some 4e-16 of 1e-9 to begin with.
    np.testing.assert_allclose(*(fit.predict_proba() for fit in fits), atol=1e-14 / near)
    np.testing.assert_allclose(*(fit.subspace.eigenvalues for fit in fits), rtol=1e-14 / near)


def test_undetermined_axes_cause_a_warning():
    # With as many rows as columns and one, classes lack variance along several axes altogether.
    subset = WINE.iloc[np.r_[0:5, 60:65, 140:144]]
    eigenvalues, _ = by_hand(subset, "cultivar")
    assert eigenvalues[2] == pytest.approx(eigenvalues[1], rel=1e-6)
    with pytest.warns(TiedAxesWarning):
        qda("cultivar ~ .", subset, ncomp=2)
    # Classes that are alike have no axes.
    alike = pd.concat([IRIS[:50], IRIS[:50].assign(species="copy")])
    with pytest.warns(TiedAxesWarning):
        qda("species ~ .", alike, ncomp=1)


def test_typicality_requires_new_rows():
    train, test = WINE.iloc[::2], WINE.iloc[1::2]
    fit = qda("cultivar ~ .", train, ncomp=2)
    for ask in (
        lambda: fit.typicality(method="conformal"),
        lambda: fit.typicality(test, method="relative"),
        lambda: fit.predict(test, outlier=0.05, typicality="conformal"),
    ):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "calibration=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.relative_distances()
    assert "refit" in str(caught.value)
    x = WINE.drop(columns="cultivar")
    scores, y = (x - x.iloc[::2].mean()) @ fit.subspace.loadings, train["cultivar"]
    densities = {
        label: scipy.stats.multivariate_normal(scores.iloc[::2][y == label].mean(), fit.covs[label]).logpdf
        for label in fit.classes
    }
    actual, calibration = fit.relative_distances(test), test.iloc[::3]
    ranked = fit.typicality(test, method="conformal", calibration=calibration)
    for label, logpdf in densities.items():
        # Of all rows the covariance of the scores, divisor N - 1, is the identity times N / (N - 1).
        n, test_scores = len(train), scores.iloc[1::2]
        expected = -2 * logpdf(test_scores) - (test_scores**2).sum(axis=1) * (n - 1) / n
        assert np.ptp(actual[label] - expected) < 1e-8
        calibration_densities = logpdf(scores.loc[calibration.index[calibration["cultivar"] == label]])
        expected = [
            (1 + (calibration_densities <= density).sum()) / (1 + len(calibration_densities))
            for density in logpdf(test_scores) + 1e-9
        ]
        np.testing.assert_allclose(ranked[label], expected, atol=1e-12)


def test_errors_of_unavailable_methods_name_the_option():
    fit = qda("species ~ .", IRIS, ncomp=2)
    with pytest.raises(NotSupportedError) as caught:
        fit.log_determinants()
    assert "ncomp=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.predict(IRIS, missing="integrate")
    assert "qda()" in str(caught.value)
    assert "ncomp=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = fit.aic
    assert "ncomp=" in str(caught.value)
    assert "error_rates" in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"inner": {"class": "DiagonalCovariance"}}, {"standardized": True}, {"count": 5}]
)
def test_files_that_contradict_the_axes_are_refused(tmp_path, change):
    path = tmp_path / "fit"
    qda("species ~ .", IRIS, ncomp=2).save(path)
    contents = split_file(path.read_bytes())
    contents.about["estimates"]["covariance_model"] |= change
    path.write_bytes(join_file(contents))
    with pytest.raises(DataError) as caught:
        discrim.load(path)
    assert "saved" in str(caught.value)
    assert "read" in str(caught.value)


def test_estimator_agrees_with_the_function():
    x, y = IRIS.drop(columns="species"), IRIS["species"]
    actual = QDAClassifier(ncomp=2).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(actual, qda("species ~ .", IRIS, ncomp=2).predict_proba())


def test_estimator_fits_collinear_columns():
    x, y = IRIS.drop(columns="species").assign(twice=2 * IRIS["sepal_width"]), IRIS["species"]
    with pytest.warns(FallbackWarning):
        actual = QDAClassifier(ncomp=2).fit(x, y)
    want = qda("species ~ .", x.assign(species=y), covariance=Shrunk(standardize=True))
    np.testing.assert_allclose(actual.predict_proba(x), want.predict_proba(), atol=1e-12)
    with pytest.raises(CollinearError) as caught:
        QDAClassifier(ncomp=2, singular="raise").fit(x, y)
    assert caught.value.columns == ("twice",)


def test_command_line_supports_the_option(capsys):
    assert main(["qda", "species ~ .", "iris", "--ncomp", "2", "--sections", "header"]) == 0
    assert capsys.readouterr().out.strip() == str(qda("species ~ .", IRIS, ncomp=2).summary("header")).strip()


def test_folds_estimate_axes_again():
    folds = np.arange(len(IRIS)) % 5
    fit = qda("species ~ .", IRIS, ncomp=1)
    cross_validated = discrim.cross_validate(fit, folds, refit_prior=True)
    for fold in range(5):
        refit_labels = qda("species ~ .", IRIS[folds != fold], ncomp=1).predict(IRIS[folds == fold])
        assert cross_validated.labels.iloc[:, 0][folds == fold].tolist() == refit_labels.tolist()


def test_header_shows_the_axes():
    message = str(qda("species ~ .", IRIS, ncomp=2).summary("header"))
    eigenvalues, _ = by_hand(IRIS, "species")
    assert f"2 of 4, {eigenvalues[:2].sum() / eigenvalues.sum():.1%} of eigenvalues" in message
    assert "estimates them again" in message


def test_plot_shows_scores_and_decision_regions():
    fit = qda("cultivar ~ .", WINE, prior="equal", ncomp=2)
    x = WINE.drop(columns="cultivar")
    scores = ((x - x.mean()) @ fit.subspace.loadings).to_numpy()
    spectrum, moments = fit.subspace._scores().spectrum, fit._fit.estimates.moments
    # The rows that have these scores and nothing else are called what the rows themselves are.
    points = x.mean().to_numpy() + spectrum.columns_at(scores) / moments.scale
    like = pd.DataFrame(points, columns=x.columns)
    np.testing.assert_allclose((like - x.mean()) @ fit.subspace.loadings, scores, atol=1e-9)
    np.testing.assert_allclose(fit.predict_proba(like), fit.predict_proba(), atol=1e-9)
    axes = fit.plot("axes", axes=("SAVE2", "SAVE1"))
    sample = np.concatenate(
        [
            np.asarray(collection.get_offsets())
            for collection in axes.collections
            if collection.get_offsets().size > 2
        ]
    )
    assert len(sample) == len(WINE)
    np.testing.assert_allclose(np.sort(sample, axis=0), np.sort(scores[:, ::-1], axis=0), atol=1e-9)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("SAVE2", "SAVE1")
    assert qda("cultivar ~ .", WINE, ncomp=1).plot("axes").get_xlabel() == "SAVE1"
    assert qda("cultivar ~ .", WINE, ncomp=3).plot("axes", axes=("SAVE2", "SAVE3")).get_ylabel() == "SAVE3"


def test_other_plots_use_covariances_of_the_columns():
    fit, reference_fit = qda("species ~ .", IRIS, ncomp=2), qda("species ~ .", IRIS)
    pair = ("petal_length", "petal_width")
    outlines = [
        [line.get_xydata() for line in model.plot("ellipses", columns=pair).lines]
        for model in (fit, reference_fit)
    ]
    assert len(outlines[0]) == len(outlines[1]) > 0
    for actual, expected in zip(*outlines, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-9)


def test_plot_of_axes_without_axes_is_refused():
    with pytest.raises(NotSupportedError) as caught:
        qda("species ~ .", IRIS).plot("axes")
    assert "ncomp=2" in str(caught.value)
    with pytest.raises(DataError) as caught:
        qda("species ~ .", IRIS, ncomp=2).plot("axes", axes="SAVE1")
    assert "Name two of" in str(caught.value)


@pytest.mark.parametrize("ncomp", [0, -1, 1.5, "cv", True, [2]])
def test_invalid_numbers_of_axes_are_refused(ncomp):
    with pytest.raises(DataError) as caught:
        qda("species ~ .", IRIS, ncomp=ncomp)
    assert "ncomp=" in str(caught.value)


def test_more_axes_than_columns_are_refused():
    with pytest.raises(DataError) as caught:
        qda("species ~ .", IRIS, ncomp=5)
    assert "ncomp=5" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "conflict"),
    [
        ({"components": 2}, "components="),
        ({"covariance": "shrunk"}, 'covariance="shrunk"'),
        ({"covariance": "t"}, 'covariance="t"'),
        ({"missing": "em"}, 'missing="em"'),
    ],
)
def test_options_incompatible_with_axes_are_refused(options, conflict):
    with pytest.raises(NotSupportedError, match=f"{conflict} cannot be combined with ncomp="):
        qda("species ~ .", IRIS, ncomp=2, **options)


def test_collinear_columns_and_few_rows_are_refused():
    twice = IRIS.assign(twice=IRIS["sepal_width"] + IRIS["petal_width"])
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", twice, ncomp=2)
    assert caught.value.columns == ("twice",)
    with pytest.raises(CollinearError) as caught:
        qda("cultivar ~ .", WINE.iloc[::15], ncomp=1)
    assert "components=" in str(caught.value)


def test_eigenvalues_exist_only_for_save_axes():
    with pytest.raises(NotSupportedError) as caught:
        _ = qda("species ~ .", IRIS).subspace.loadings
    assert "ncomp=" in str(caught.value)
