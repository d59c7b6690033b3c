"""Discriminant analysis within principal axes: adegenet's dapc, scikit-learn's pipelines, and identities."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import discrim
from discrim import lda, qda, rda
from discrim.covariance import Shrunk
from discrim.datasets import load_iris, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedColumnsWarning,
    NotSupportedError,
    ScaleWarning,
)
from discrim.sklearn import LDAClassifier
from discrim.subspace import PrincipalComponents
from tests.support import GOLDEN, external_file
from tests.turns import one_in

DAPC = json.loads((GOLDEN / "dapc.json").read_text())
IRIS, WINE = load_iris(), load_wine()
UNLIKE = "ignore::discrim.errors.ScaleWarning"

pytestmark = pytest.mark.filterwarnings(UNLIKE)


def simulate_table(n: int, p: int, k: int = 3, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    x = rng.standard_normal((n, p)) * np.geomspace(1, 9, p) + 2 * rng.standard_normal((k, p))[y]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.array(list("abcdefg"))[y])


def pipeline(model: Any, components: int, *, standardize: bool) -> Pipeline:
    scaled = [StandardScaler()] if standardize else []
    return make_pipeline(*scaled, PCA(components, svd_solver="full"), model)


@pytest.mark.parametrize("case", DAPC, ids=lambda case: f"{case['table']}-{case['components']}")
def test_fit_agrees_with_dapc_of_adegenet(case):
    table: pd.DataFrame = discrim.datasets.load(case["table"])
    table = table if not case["rows"] else table.iloc[case["rows"]].reset_index(drop=True)
    components = PrincipalComponents(case["components"], standardize=case["standardize"])
    options = {"components": components, "ncomp": case["ncomp"]}
    fit = lda(f"{case['response']} ~ .", table, **options)
    # It leaves eigenvalues out of the total that are less than 1e-7 of the largest.
    np.testing.assert_allclose(fit.subspace.shares, np.atleast_1d(case["shares"]), rtol=1e-7)
    assert fit.subspace.shares.sum() == pytest.approx(case["share"], rel=1e-7)
    np.testing.assert_allclose(fit.svd**2, np.atleast_1d(case["eigenvalues"])[: case["ncomp"]], rtol=1e-9)
    np.testing.assert_allclose(fit.subspace.loadings, case["loadings"], atol=1e-8)
    theirs = np.array(case["coefficients"])
    signs = np.sign((theirs * fit.scaling.to_numpy()).sum(axis=0))
    np.testing.assert_allclose(fit.scaling, theirs * signs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())
    np.testing.assert_allclose(fit.transform(), np.array(case["coordinates"]) * signs, atol=1e-8)
    np.testing.assert_allclose(fit.predict_proba(), case["posterior"], atol=1e-9)
    assert fit.predict().tolist() == case["assigned"]
    folds, labels = np.arange(1, len(table) + 1) % 5, table[case["response"]]
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(5)]
    misclassified = [
        lda(fit.formula, table.iloc[train], **options).predict(table.iloc[test]) != labels.iloc[test]
        for train, test in splits
    ]
    assert [is_error.sum() for is_error in misclassified] == case["missed"]
    # The axes of each fold are those of the rows that it learns from.
    validated = discrim.cross_validate(fit, folds, refit_prior=True)
    assert (validated.labels.iloc[:, 0] != labels).sum() == sum(case["missed"])


@one_in(
    2,
    {
        "standardize": [False, True],
        "components": [1, 2, 5],
        "verb, theirs": [(lda, LinearDiscriminantAnalysis), (qda, QuadraticDiscriminantAnalysis)],
        "shape": [(90, 6), (40, 70)],
    },
)
def test_fit_agrees_with_a_scikit_learn_pipeline(verb, theirs, components, standardize, shape):
    table = simulate_table(*shape)
    x, y = table.drop(columns="y").to_numpy(), table["y"]
    other = pipeline(theirs(), components, standardize=standardize).fit(x, y)
    fit = verb(
        "y ~ .", table, components=PrincipalComponents(components, standardize=standardize), method="mle"
    )
    np.testing.assert_allclose(fit.predict_proba(), other.predict_proba(x), atol=1e-10)
    np.testing.assert_allclose(fit.subspace.shares, other[-2].explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize("verb", [lda, qda])
def test_all_axes_are_the_fit_of_all_columns(verb):
    full_fit, fit = verb("species ~ .", IRIS), verb("species ~ .", IRIS, components=4)
    np.testing.assert_allclose(fit.predict_proba(), full_fit.predict_proba(), atol=1e-12)
    np.testing.assert_allclose(
        fit.leave_one_out().iloc[:, 1:], full_fit.leave_one_out().iloc[:, 1:], atol=1e-12
    )
    if verb is lda:
        np.testing.assert_allclose(fit.scaling, full_fit.scaling, rtol=1e-10)
        np.testing.assert_allclose(fit.coef, full_fit.coef, rtol=1e-10)
        np.testing.assert_allclose(fit.cov, full_fit.cov, rtol=1e-10)
    else:
        np.testing.assert_allclose(fit.logdet, full_fit.logdet, rtol=1e-12)


@pytest.mark.parametrize("covariance", ["diagonal", "shrunk", "spherical"])
def test_covariance_model_applies_to_the_scores(covariance):
    table = simulate_table(40, 60)
    x = table.drop(columns="y").to_numpy()
    scores = pd.DataFrame(PCA(7, svd_solver="full").fit_transform(x)).add_prefix("s").assign(y=table["y"])
    fit, reference_fit = (
        lda("y ~ .", table, components=7, covariance=covariance),
        lda("y ~ .", scores, covariance=covariance),
    )
    np.testing.assert_allclose(fit.predict_proba(), reference_fit.predict_proba(), atol=1e-10)
    np.testing.assert_allclose(fit.explained, reference_fit.explained, rtol=1e-9)


def test_a_share_selects_the_smallest_sufficient_number_of_axes():
    proportions = PCA().fit(IRIS.iloc[:, :4]).explained_variance_ratio_.cumsum()
    for proportion in (0.5, proportions[0], proportions[1] - 1e-6, proportions[1] + 1e-6, 0.999999):
        fit = lda("species ~ .", IRIS, components=float(proportion))
        assert fit.subspace.n_components == (proportions < proportion - 1e-9).sum() + 1


def test_scores_are_the_columns_about_their_mean_times_the_loadings():
    fit = qda("species ~ .", IRIS, components=3)
    x = IRIS.iloc[:, :4].to_numpy()
    scores = (x - x.mean(axis=0)) @ fit.subspace.loadings.to_numpy()
    np.testing.assert_allclose(scores.var(axis=0) / x.var(axis=0).sum(), fit.subspace.shares, rtol=1e-12)
    np.testing.assert_allclose(fit.subspace.loadings.T @ fit.subspace.loadings, np.eye(3), atol=1e-14)
    for label in fit.classes:
        class_rows = np.linalg.slogdet(np.cov(scores[IRIS["species"] == label].T))[1]
        assert fit.logdet[label] == pytest.approx(class_rows, rel=1e-12)
    standardized = qda("species ~ .", IRIS, components=PrincipalComponents(2, standardize=True))
    scores = ((x - x.mean(axis=0)) / x.std(axis=0)) @ standardized.subspace.loadings.to_numpy()
    class_rows = [np.linalg.slogdet(np.cov(scores[IRIS["species"] == label].T))[1] for label in fit.classes]
    np.testing.assert_allclose(standardized.logdet, class_rows, rtol=1e-12)


def test_weights_stand_for_repeated_rows():
    rng = np.random.default_rng(1)
    repetitions = rng.integers(1, 4, len(IRIS))
    repeated = IRIS.loc[IRIS.index.repeat(repetitions)].reset_index(drop=True)
    for verb in (lda, qda):
        fit = verb("species ~ .", IRIS, components=2, weights=repetitions)
        reference_fit = verb("species ~ .", repeated, components=2)
        np.testing.assert_allclose(fit.predict_proba(IRIS), reference_fit.predict_proba(IRIS), atol=1e-12)


def test_moments_that_add_up_and_parts_say_the_same_as_the_rows():
    full_fit = lda("species ~ .", IRIS, components=2)
    first = discrim.moments("species ~ .", IRIS.iloc[::2], scatters="class")
    added = first + first.of(IRIS.iloc[1::2])
    chunks = [IRIS.iloc[i : i + 40] for i in range(0, 150, 40)]
    for fit in (
        lda(moments=added, components=2),
        lda("species ~ .", lambda: iter(chunks), components=2),
    ):
        np.testing.assert_allclose(fit.predict_proba(IRIS), full_fit.predict_proba(IRIS), atol=1e-12)
    reference_fit = qda("species ~ .", IRIS, components=0.95)
    np.testing.assert_allclose(
        qda(moments=added, components=0.95).predict_proba(IRIS), reference_fit.predict_proba(IRIS), atol=1e-12
    )


def test_constant_columns_and_ties_do_not_matter():
    table = IRIS.assign(still=3.0, twice=IRIS["petal_length"])
    with pytest.warns(DroppedColumnsWarning, match="still"):
        fit = lda("species ~ .", table, components=2)
    assert len(fit.terms) == 5
    other = pipeline(LinearDiscriminantAnalysis(), 2, standardize=False)
    x = table[list(fit.terms)].to_numpy()
    reference_fit = lda("species ~ . - still", table, components=2, method="mle")
    np.testing.assert_allclose(
        reference_fit.predict_proba(), other.fit(x, IRIS["species"]).predict_proba(x), atol=1e-12
    )
    assert np.isfinite(lda("species ~ . - still", table, components=2).predict_proba().to_numpy()).all()
    with pytest.raises(DataError) as caught:
        lda("species ~ . - still", table, components=6)
    assert "components=6" in str(caught.value)


@pytest.mark.parametrize("verb", [lda, qda])
def test_files_keep_the_axes(verb, tmp_path):
    for components, standardize in ((2, True), (0.9, False)):
        fit = verb("species ~ .", IRIS, components=PrincipalComponents(components, standardize=standardize))
        fit.save(tmp_path / "fit")
        loaded = discrim.load(tmp_path / "fit")
        assert loaded.subspace.n_components == fit.subspace.n_components
        np.testing.assert_array_equal(loaded.predict_proba(IRIS), fit.predict_proba(IRIS))
        np.testing.assert_array_equal(loaded.subspace.loadings, fit.subspace.loadings)
        assert loaded.update(data=IRIS, components=1).subspace.n_components == 1


def test_estimator_has_the_axes():
    x, y = IRIS.iloc[:, :4], IRIS["species"].astype(str)
    fit = LDAClassifier(components=2).fit(x, y)
    np.testing.assert_allclose(
        fit.predict_proba(x), lda("species ~ .", IRIS, components=2).predict_proba(), atol=1e-12
    )
    batches = LDAClassifier(components=2)
    for chunk in (slice(0, None, 2), slice(1, None, 2)):
        batches.partial_fit(x[chunk], y[chunk], classes=sorted(set(y)))
    np.testing.assert_allclose(batches.predict_proba(x), fit.predict_proba(x), atol=1e-12)


def assert_refused(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match):
        call()


def test_invalid_options_are_refused_with_a_hint():
    def of_iris(**options: Any) -> Callable[[], Any]:
        return lambda: lda("species ~ .", IRIS, **{"components": 2} | options)

    for components in (0, -1, 1.5, 1.0, True, "x", [2]):
        assert_refused(DataError, "components=", of_iris(components=components))
    for options in ({"covariance": "pinv"}, {"covariance": "t"}, {"missing": "em"}):
        assert_refused(NotSupportedError, "cannot be combined with components=", of_iris(**options))
    assert_refused(
        NotSupportedError, "cannot be combined with components=", of_iris(covariance=Shrunk("loo"))
    )
    by_factors = {"components": 2, "covariance": "factor"}
    assert_refused(NotSupportedError, "factor.*cannot", lambda: qda("species ~ .", IRIS, **by_factors))
    spheres = {"components": 2, "covariance": Shrunk(standardize=True)}
    assert_refused(NotSupportedError, "PrincipalComponents", lambda: lda("species ~ .", IRIS, **spheres))
    assert_refused(DataError, r"components=9 exceeds .* variance, 4\.", of_iris(components=9))
    table = simulate_table(40, 60)
    wide = "38 principal.*within classes.*37 degrees.*components=37"
    assert_refused(CollinearError, wide, lambda: lda("y ~ .", table, components=38))
    subset = "class 'b'.*12 degrees.*components=12"
    assert_refused(CollinearError, subset, lambda: qda("y ~ .", table, components=13))
    assert lda("y ~ .", table, components=38, covariance="shrunk").subspace.n_components == 38
    fit = lda("species ~ .", IRIS, components=2)
    for ask in ("wilks", "llf", "aic"):
        assert_refused(NotSupportedError, "components=|principal axes", lambda a=ask: getattr(fit, a))
    assert_refused(NotSupportedError, "without components=", lambda: fit.canonical())
    assert_refused(
        NotSupportedError, "Fit with components=", lambda: lda("species ~ .", IRIS).subspace.loadings
    )
    two = "4 columns and 3 classes have, within 1 principal axes, 1 canonical axis"
    assert_refused(DataError, two, of_iris(components=1, ncomp=2))
    of_all = r"requires full covariance matri.*within principal axes"
    assert_refused(NotSupportedError, of_all, lambda: fit.predict_proba(method="predictive"))


@pytest.mark.parametrize(("verb", "options"), [(lda, {}), (qda, {}), (rda, {"alpha": 0.5, "gamma": 0.1})])
def test_scores_on_axes_have_no_marginal_distribution_of_columns(verb, options):
    fit = verb("species ~ .", IRIS, components=2, **options)
    with_gap = IRIS[::50].assign(petal_width=np.nan)
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_proba(with_gap, missing="integrate")
    assert "components=" in str(caught.value)
    assert fit.predict_proba(with_gap).isna().all(axis=None)


def test_different_units_cause_a_warning():
    with pytest.warns(ScaleWarning):
        lda("cultivar ~ .", WINE, components=2)


def test_summary_shows_number_and_share_of_axes():
    text = lda("species ~ .", IRIS, components=2).summary().as_text()
    assert "Principal axes" in text
    assert "2 of 4, 97.8% of variance" in text
    assert (
        "Principal axes, standardized"
        in qda("species ~ .", IRIS, components=PrincipalComponents(2, standardize=True)).summary().as_text()
    )


@pytest.mark.slow
def test_wide_tables_agree_with_a_scikit_learn_pipeline():
    with np.load(external_file("genes/islr_Khan.npz"), allow_pickle=False) as archive:
        x, y = archive["X"], archive["y"]
    table = pd.DataFrame(x).add_prefix("g").assign(y=y)
    fit = lda("y ~ .", table, components=20, method="mle")
    other = pipeline(LinearDiscriminantAnalysis(), 20, standardize=False).fit(x, y)
    np.testing.assert_allclose(fit.predict_proba(), other.predict_proba(x), atol=1e-9)


# ---- rows left out, and the number chosen


def without_row(fit: Any, table: pd.DataFrame, i: int) -> np.ndarray:
    """Posteriors of row i by a fit of the same verb to the others, the prior held."""
    other = fit.update(data=table.drop(index=table.index[i]))
    return other.predict_proba(table.iloc[[i]], prior=fit.prior).to_numpy()[0]


@one_in(
    2,
    {
        "shape": [(30, 5), (24, 40)],
        "options": [
            {"components": 3},
            {"components": 0.8, "method": "mle"},
            {"components": 3, "covariance": "shrunk"},
        ],
        "verb": [lda, qda],
    },
)
def test_leave_one_out_learns_the_axes_without_each_row(verb, options, shape):
    table = simulate_table(*shape, k=2)
    fit = verb("y ~ .", table, **options)
    left_out = fit.leave_one_out().iloc[:, 1:].to_numpy()
    for i in range(0, len(table), 9):
        np.testing.assert_allclose(left_out[i], without_row(fit, table, i), atol=1e-11)


VERBS = [(lda, {}), (qda, {"covariance": "shrunk"}), (rda, {"alpha": 0.4, "gamma": 0.6})]


def refitted(fit: Any, table: pd.DataFrame, weights: np.ndarray | None = None, step: int = 1) -> np.ndarray:
    """Return posteriors (m, K) of every step-th row by a fit with one unit of weight of the row left out."""
    actual = []
    for i in range(0, len(table), step):
        row_weights = np.ones(len(table)) if weights is None else weights.astype(float)
        row_weights[i] -= min(row_weights[i], 1.0)
        options = {} if weights is None else {"weights": row_weights[row_weights > 0]}
        other = fit.update(data=table[row_weights > 0], **options)
        actual.append(other.predict_proba(table.iloc[[i]], prior=fit.prior).to_numpy()[0])
    return np.array(actual)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(30, 5), (24, 40)])
@pytest.mark.parametrize(("verb", "options"), VERBS, ids=["lda", "qda", "rda"])
def test_leave_one_out_estimates_standard_deviations_without_each_row(verb, options, shape, weighted):
    table = simulate_table(*shape, k=2, seed=4)
    weights = np.random.default_rng(1).integers(1, 4, len(table)) if weighted else None
    fit = verb(
        "y ~ .", table, weights=weights, components=PrincipalComponents(3, standardize=True), **options
    )
    left_out = fit.leave_one_out().iloc[::5, 1:]
    np.testing.assert_allclose(left_out, refitted(fit, table, weights, step=5), atol=1e-11)


def with_far_row(shape: tuple[int, int], distance: float, unit: float = 1e-6) -> pd.DataFrame:
    """Rows of which the first is many standard deviations away, in a column of one unit."""
    table = simulate_table(*shape, k=2, seed=8)
    table["x0"] *= unit
    table.loc[0, "x0"] = distance * unit
    return table


@one_in(
    4,
    {
        "unit": [1e-6, 1.0],
        "distance": [1e8, 1e12],
        "standardize": [False, True],
        "shape": [(24, 4), (20, 30)],
        "verb, options": [*VERBS, (qda, {})],
    },
)
def test_leave_one_out_of_a_far_row_is_a_refit(verb, options, shape, standardize, distance, unit):
    table = with_far_row(shape, distance, unit)
    fit = verb("y ~ .", table, components=PrincipalComponents(2, standardize=standardize), **options)
    left_out = fit.leave_one_out().iloc[0, 1:].to_numpy(dtype=float)
    np.testing.assert_allclose(left_out, without_row(fit, table, 0), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("components", [2, 4])
@pytest.mark.parametrize(("verb", "options"), [*VERBS, (qda, {})])
def test_rows_near_an_outlier_are_as_precise_as_refits(verb, options, components):
    table = simulate_table(24, 4, k=2, seed=8)
    table.loc[0, "x0":"x3"] += [1e6, -2e6, 1e6, 3e6]
    fit = verb("y ~ .", table, components=components, **options)
    np.testing.assert_allclose(fit.leave_one_out().iloc[::5, 1:], refitted(fit, table, step=5), atol=1e-8)


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@pytest.mark.parametrize("shape", [(30, 5), (24, 40)])
@pytest.mark.parametrize(("verb", "options"), VERBS, ids=["lda", "qda", "rda"])
def test_a_column_that_only_one_row_varies_is_dropped_without_it(verb, options, shape):
    table = simulate_table(*shape, k=2).assign(still=3.0)
    table.loc[0, "still"] = 7.0
    fit = verb("y ~ .", table, components=PrincipalComponents(3, standardize=True), **options)
    left_out = fit.leave_one_out().iloc[0, 1:].to_numpy(dtype=float)
    np.testing.assert_allclose(left_out, without_row(fit, table, 0), atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shape", [(24, 4), (20, 30)])
def test_the_path_by_leaving_out_counts_the_errors_of_refits(shape, standardize):
    table = with_far_row(shape, 1e12)
    fit = lda("y ~ .", table, components=PrincipalComponents("loo", standardize=standardize))
    errors = fit.subspace.path.set_index("components")["error"]
    for count in (1, 3):
        reference_fit = lda("y ~ .", table, components=PrincipalComponents(count, standardize=standardize))
        labels = np.asarray(reference_fit.classes)[refitted(reference_fit, table).argmax(axis=1)]
        assert errors[count] == pytest.approx((labels != table["y"]).mean(), abs=1e-12)


def test_axes_of_many_rows_are_fixed():
    table = simulate_table(1200, 3)
    x = table.drop(columns="y")
    fit = lda("y ~ .", table, components=2)
    scores = pd.DataFrame((x - x.mean()).to_numpy() @ fit.subspace.loadings.to_numpy(), columns=["a", "b"])
    reference_fit = lda("y ~ .", scores.assign(y=table["y"]))
    np.testing.assert_allclose(
        fit.leave_one_out().iloc[:, 1:], reference_fit.leave_one_out().iloc[:, 1:], atol=1e-11
    )


@pytest.mark.slow
@one_in(2, {"verb": [lda, qda], "options": [{}, {"covariance": "shrunk"}], "standardize": [False, True]})
def test_the_path_by_folds_has_the_error_of_each_number(verb, options, standardize):
    table = simulate_table(50, 6)
    fit = verb("y ~ .", table, components=PrincipalComponents("cv", standardize), **options)
    assert fit.subspace.path["components"].tolist() == [1, 2, 3, 4, 5, 6]
    for count, error in zip(fit.subspace.path["components"], fit.subspace.path["error"], strict=True):
        reference_fit = verb(
            "y ~ .", table, components=PrincipalComponents(int(count), standardize), **options
        )
        assert reference_fit.error_rates(["cv"], seed=0)["estimate"].iloc[0] == pytest.approx(
            error, abs=1e-12
        )
    good = fit.subspace.path["components"][
        fit.subspace.path["error"] <= fit.subspace.path["error"].min() + 1e-12
    ]
    assert fit.subspace.n_components == good.min()
    proportions = PCA().fit(StandardScaler().fit_transform(table.drop(columns="y"))).explained_variance_ratio_
    if standardize:
        np.testing.assert_allclose(fit.subspace.path["share"], proportions.cumsum(), rtol=1e-10)


@pytest.mark.parametrize("verb", [lda, qda])
@pytest.mark.parametrize("shape", [(36, 4), (30, 45)])
def test_the_path_by_leaving_out_has_the_error_of_each_number(verb, shape):
    table = simulate_table(*shape, k=2, seed=3)
    fit = verb("y ~ .", table, components="loo")
    for count in (1, 2, 4):
        reference_fit = verb("y ~ .", table, components=count)
        error = fit.subspace.path.set_index("components")["error"][count]
        assert reference_fit.error_rates(["loo"])["estimate"].iloc[0] == pytest.approx(error, abs=1e-12)


@pytest.mark.slow
def test_a_choice_is_repeated_in_folds_and_fixed_elsewhere():
    table = simulate_table(45, 6, seed=5)
    fit = lda("y ~ .", table, components="cv")
    rates = fit.error_rates(["apparent", "cv"], seed=1)
    assert rates["choice"].tolist() == ["fixed", "repeated"]
    folds = discrim.cross_validate(fit, 3, seed=2)
    labels, fold_ids = folds.labels.iloc[:, 0], folds.folds.iloc[:, 0]
    for fold in fold_ids.unique():
        reference_fit = lda("y ~ .", table[fold_ids != fold], components="cv")
        assert (
            reference_fit.predict(table[fold_ids == fold], prior=fit.prior).tolist()
            == labels[fold_ids == fold].tolist()
        )
    assert fit.update(components=2).subspace.n_components == 2
    assert "The number of axes was chosen by folds" in " ".join(fit.summary().as_text().split())
    assert "Error by number of principal axes" in fit.summary().as_text()
    with pytest.raises(NotSupportedError, match="components='cv' chooses the number of axes"):
        lda(moments=discrim.moments("y ~ .", table), components="cv")


@pytest.mark.slow
def test_a_choice_counts_weights_as_rows(tmp_path):
    repetitions = np.random.default_rng(2).integers(1, 4, len(IRIS))
    repeated = IRIS.loc[IRIS.index.repeat(repetitions)].reset_index(drop=True)
    fit = lda("species ~ .", IRIS, components="loo", weights=repetitions)
    reference_fit = lda("species ~ .", repeated, components="loo")
    np.testing.assert_allclose(fit.subspace.path, reference_fit.subspace.path, atol=1e-12)
    fit.save(tmp_path / "fit")
    assert discrim.load(tmp_path / "fit").subspace.n_components == fit.subspace.n_components


def test_slow_leave_one_out_of_wide_tables_is_refused():
    table = simulate_table(260, 300)
    with pytest.raises(NotSupportedError) as caught:
        lda("y ~ .", table, components="loo")
    assert "260" in str(caught.value)
    assert 'components="cv"' in caught.value.hint
    fit = lda("y ~ .", table, components=5)
    with pytest.raises(NotSupportedError) as caught:
        fit.leave_one_out()
    assert 'error_rates(["cv"])' in caught.value.hint


# ---- regularized


@one_in(2, {"standardize": [False, True], "parametrization": ["esl", "friedman", "klar"]})
def test_regularized_covariances_apply_to_the_scores(parametrization, standardize):
    x = IRIS.iloc[:, :4].to_numpy()
    x = StandardScaler().fit_transform(x) if standardize else x
    scores = pd.DataFrame(PCA(3).fit_transform(x)).add_prefix("s").assign(species=IRIS["species"])
    how: dict[str, Any] = {"parametrization": parametrization, "method": "mle"}
    axes = PrincipalComponents(3, standardize=standardize)
    for alpha, gamma in ((0.5, 0.7), (0.0, 0.5), (1.0, 0.3)):
        fit = rda("species ~ .", IRIS, components=axes, alpha=alpha, gamma=gamma, **how)
        reference_fit = rda("species ~ .", scores, alpha=alpha, gamma=gamma, **how)
        np.testing.assert_allclose(fit.predict_proba(), reference_fit.predict_proba(), atol=1e-11)
        np.testing.assert_allclose(fit.logdet, reference_fit.logdet, rtol=1e-10)


@pytest.mark.slow
def test_a_pair_is_chosen_with_axes_of_each_fold(tmp_path):
    fit = rda("species ~ .", IRIS, components=2, seed=0, grid=[0.3, 0.8])
    for _, row in fit.path.iterrows():
        reference_fit = rda("species ~ .", IRIS, components=2, alpha=row["alpha"], gamma=row["gamma"])
        assert reference_fit.error_rates(["cv"], seed=0)["estimate"].iloc[0] == pytest.approx(
            row["error"], abs=1e-12
        )
    i = 70
    left_out = reference_fit.leave_one_out().iloc[i, 1:].to_numpy(dtype=float)
    np.testing.assert_allclose(left_out, without_row(reference_fit, IRIS, i), atol=1e-11)
    fit.save(tmp_path / "fit")
    np.testing.assert_array_equal(discrim.load(tmp_path / "fit").predict_proba(IRIS), fit.predict_proba(IRIS))
    proportions = rda("species ~ .", IRIS, components="cv", alpha=0.5, gamma=0.7)
    assert proportions.subspace.path["components"].tolist() == [1, 2, 3, 4]
    assert "The number of axes was chosen by folds" in " ".join(proportions.summary().as_text().split())
    assert_refused(NotSupportedError, "alpha and gamma", lambda: rda("species ~ .", IRIS, components="cv"))
    assert_refused(NotSupportedError, "by folds", lambda: rda("species ~ .", IRIS, components=2, folds="loo"))
    assert_refused(NotSupportedError, "principal axes", lambda: proportions.llf)
    wide = simulate_table(40, 60)
    assert rda("y ~ .", wide, components=20, alpha=0.4, gamma=0.5).subspace.n_components == 20


@pytest.mark.slow
def test_short_axes_of_many_rows_are_precise():
    rng = np.random.default_rng(7)
    table = simulate_table(45_000, 19)
    table.insert(0, "near", table["x3"] + 1e-5 * rng.standard_normal(len(table)))
    full_fit = lda("y ~ .", table)
    fit = lda("y ~ .", table, components=20)
    np.testing.assert_allclose(fit.predict_proba(), full_fit.predict_proba(), atol=1e-8)
    subset = lda("y ~ .", table, components=4)
    x = table.drop(columns="y").to_numpy()
    other = pipeline(LinearDiscriminantAnalysis(), 4, standardize=False).fit(x, table["y"])
    theirs = lda("y ~ .", table, components=4, method="mle").predict_proba()
    np.testing.assert_allclose(theirs, other.predict_proba(x), atol=1e-10)
    assert subset.subspace.n_components == 4
