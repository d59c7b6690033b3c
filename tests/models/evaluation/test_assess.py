"""Test data: error rates and assessments of new rows, and of the fit's own left out, against scikit-learn."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    DataError,
    DroppedRowsWarning,
    MissingFileError,
    NotSupportedError,
    PriorError,
)
from discrim.inference.error_rates import exact_interval

IRIS = load_iris()
TRAIN, TEST = IRIS[::2], IRIS[1::2]
FIT = discrim.lda("species ~ sepal_length + sepal_width", TRAIN)
PENGUINS = load_penguins()
SEXES = discrim.logistic("sex ~ bill_depth_mm + body_mass_g", PENGUINS[::2])
PRIOR = {"setosa": 0.2, "versicolor": 0.3, "virginica": 0.5}


def test_assessments_of_new_rows_equal_scikit_learn():
    assessment = FIT.assess(TEST)
    proba, labels = FIT.predict_proba(TEST), FIT.predict(TEST)
    truth = TEST["species"].astype(str)
    expected = {
        "accuracy": metrics.accuracy_score(truth, labels),
        "balanced accuracy": metrics.balanced_accuracy_score(truth, labels),
        "kappa": metrics.cohen_kappa_score(truth, labels),
        "AUC": metrics.roc_auc_score(truth, proba, multi_class="ovo"),
        "log loss": metrics.log_loss(truth, proba),
        "Brier": ((proba - pd.get_dummies(truth)) ** 2).sum(axis=1).mean(),
    }
    assert assessment.overall["estimate"][list(expected)].to_dict() == pytest.approx(expected, abs=1e-13)
    areas = assessment.by_class.xs("AUC", level="measure")["estimate"]
    assert areas.mean() == pytest.approx(metrics.roc_auc_score(truth, proba, multi_class="ovr"), abs=1e-13)
    wide = assessment.by_class["estimate"].unstack()
    np.testing.assert_allclose(wide["sensitivity"], metrics.recall_score(truth, labels, average=None))
    np.testing.assert_allclose(
        wide["positive predictive value"], metrics.precision_score(truth, labels, average=None)
    )
    pd.testing.assert_frame_equal(assessment.confusion, FIT.confusion(TEST))
    assert assessment.brier.loc["total", "brier"] == pytest.approx(expected["Brier"], abs=1e-13)


def test_errors_of_new_rows_are_a_row_of_the_error_rates():
    wrong = int((FIT.predict(TEST).astype(str) != TEST["species"].astype(str)).sum())
    rates = FIT.error_rates(data=TEST, by_class=True)
    assert rates.index.tolist() == ["new rows"]
    row = rates.loc["new rows"]
    assert (row["wrong"], row["total"]) == (wrong, 75)
    np.testing.assert_allclose(
        row[["estimate", "low", "high"]].astype(float), [wrong / 75, *exact_interval(wrong, 75, 0.95)]
    )
    pd.testing.assert_frame_equal(FIT.error_rates(TEST, by_class=True), rates)
    both = FIT.error_rates(TEST, ["apparent", "loo"])
    assert both.index.tolist() == ["apparent", "loo", "new rows"]
    pd.testing.assert_frame_equal(both.iloc[:2], FIT.error_rates())
    assert 1 - row["estimate"] == pytest.approx(FIT.assess(TEST).overall.loc["accuracy", "estimate"])


def test_errors_within_classes_are_weighted_by_the_specified_prior():
    own = FIT.error_rates(data=TEST, by_class=True).loc["new rows", list(PRIOR)].astype(float)
    found = FIT.error_rates(TEST, ["apparent", "loo", "cv", "632+"], prior=PRIOR, seed=1, by_class=True)
    rates = found[list(PRIOR)] @ pd.Series(PRIOR)
    np.testing.assert_allclose(found["estimate"].drop("632+"), rates.drop("632+"))
    assert found.loc["new rows", "estimate"] == pytest.approx(own @ pd.Series(PRIOR))
    fit_lda = discrim.lda("species ~ sepal_length + sepal_width", TRAIN, prior=PRIOR)
    one, other = fit_lda.error_rates(data=TEST), fit_lda.error_rates(data=TEST, prior=PRIOR)
    pd.testing.assert_frame_equal(one, other)
    with pytest.raises(NotSupportedError) as caught:
        FIT.error_rates(["D"], prior=PRIOR)
    assert "prior" in str(caught.value)
    costs = FIT.error_rates(data=TEST, costs=2 * (1 - np.eye(3)))
    assert costs["estimate"].iloc[0] == pytest.approx(2 * own.mean())


def test_other_priors_change_predictive_values_by_bayes_theorem():
    plain, found = FIT.assess(TEST), FIT.assess(TEST, prior=PRIOR)
    within = plain.confusion.to_numpy() / plain.confusion.to_numpy().sum(axis=1, keepdims=True)
    joint = within * np.array(list(PRIOR.values()))[:, None]
    wide = found.by_class["estimate"].unstack()
    np.testing.assert_allclose(wide["positive predictive value"], np.diag(joint) / joint.sum(axis=0))
    assert found.overall.loc["accuracy", "estimate"] == pytest.approx(np.trace(joint))
    assert found.prior.to_dict() == PRIOR
    pd.testing.assert_frame_equal(plain.pairs, found.pairs)
    assert "'setosa' 0.2, 'versicolor' 0.3, 'virginica' 0.5." in " ".join(str(found).split())
    # Losses are means of those of the classes.
    logs = -FIT.predict_log_proba(TEST).to_numpy()[np.arange(75), pd.Categorical(TEST["species"]).codes]
    means = pd.Series(logs).groupby(TEST["species"].to_numpy(), observed=True).mean()
    assert found.overall.loc["log loss", "estimate"] == pytest.approx(means @ pd.Series(PRIOR))
    assert found.brier.loc["total", "brier"] == pytest.approx(found.overall.loc["Brier", "estimate"])


def test_assess_uses_leave_one_out_by_default():
    assessment = FIT.assess()
    pd.testing.assert_frame_equal(assessment.confusion, FIT.confusion("loo"))
    pd.testing.assert_frame_equal(assessment.overall, FIT.assess(method="loo").overall)
    proba = FIT.leave_one_out()[list(PRIOR)].to_numpy(dtype=float)
    expected = metrics.log_loss(TRAIN["species"].astype(str), proba)
    assert assessment.overall.loc["log loss", "estimate"] == pytest.approx(expected)
    pd.testing.assert_frame_equal(FIT.assess("apparent").overall, FIT.assess(TRAIN).overall)
    fold_ids = FIT.assess("cv", folds=5, seed=3)
    pd.testing.assert_frame_equal(fold_ids.confusion, FIT.confusion("cv", folds=5, seed=3))
    assert "without their fold of 5, seed 3" in str(fold_ids)
    assert "optimistic" in str(FIT.assess("apparent"))


@pytest.mark.slow
def test_a_logistic_regression_is_calibrated_on_its_own_rows():
    """The slope is one and the intercept zero: its likelihood equations are those of the recalibration."""
    found = SEXES.assess("apparent").overall["estimate"]
    assert found["calibration slope"] == pytest.approx(1, abs=1e-9)
    assert found["calibration intercept"] == pytest.approx(0, abs=1e-9)
    assert SEXES.assess().overall["estimate"]["calibration slope"] < 1


def test_many_rows_that_would_each_take_a_fit_are_left_out_by_folds():
    rng = np.random.default_rng(0)
    many = pd.DataFrame({"x": rng.normal(size=2100), "y": rng.choice(["a", "b"], 2100)})
    assert "without their fold of 10, seed" in str(discrim.logistic("y ~ x", many).assess())


def test_rows_without_class_or_prediction_are_counted():
    new = TEST.astype({"species": str})
    new.iloc[[0, 3], 4] = None
    new.iloc[[5, 6, 7], 0] = np.nan
    assessment = FIT.assess(new)
    assert (assessment.nobs, assessment.unlabelled, assessment.unpredicted) == (70, 2, 3)
    with pytest.warns(DroppedRowsWarning):
        assert FIT.error_rates(data=new)["total"].iloc[0] == 70


def test_weights_of_new_rows_are_rows():
    times = np.random.default_rng(1).integers(0, 3, len(TEST))
    repeated = TEST.loc[np.repeat(TEST.index, times)]
    for options in ({}, {"prior": PRIOR}):
        one, other = FIT.assess(TEST.assign(n=times), weights="n", **options), FIT.assess(repeated, **options)
        for name in ("overall", "by_class", "pairs", "brier", "calibration"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)
        pd.testing.assert_frame_equal(
            FIT.error_rates(TEST, weights=times, **options), FIT.error_rates(repeated, **options)
        )
    pd.testing.assert_frame_equal(
        discrim.lda("species ~ sepal_length", TEST.assign(n=times + 1), weights="n").assess("loo").confusion,
        discrim.lda("species ~ sepal_length", TEST.assign(n=times + 1), weights="n").confusion("loo"),
    )


def test_sources_are_read_once_in_chunks(tmp_path):
    shuffled = TEST.sample(frac=1, random_state=1)
    chunks = [shuffled[:20], shuffled[20:21], shuffled[21:]]
    assessment = FIT.assess(shuffled)
    for source in (lambda: iter(chunks), iter(chunks)):
        pd.testing.assert_frame_equal(FIT.assess(source).overall, assessment.overall)
    rates = FIT.error_rates(data=shuffled)
    pd.testing.assert_frame_equal(FIT.error_rates(iter(chunks)), rates)
    pd.testing.assert_frame_equal(FIT.confusion(iter(chunks)), assessment.confusion)
    TEST.to_csv(tmp_path / "test.csv", index=False)
    path = str(tmp_path / "test.csv")
    pd.testing.assert_frame_equal(FIT.error_rates(path), rates)
    pd.testing.assert_frame_equal(FIT.assess(path).overall, assessment.overall, rtol=1e-12)
    with pytest.raises(DataError) as caught:
        FIT.assess(lambda: iter([TEST[:0]]))
    assert "no rows" in str(caught.value)


def test_classes_without_rows_are_noted_and_their_figures_are_missing():
    assessment = FIT.assess(TEST[TEST["species"] != "setosa"])
    assert assessment.absent == ["setosa"]
    assert "No observation is of class 'setosa'" in str(assessment)
    assert np.isnan(assessment.by_class.loc[("setosa", "sensitivity"), "estimate"])
    own = assessment.by_class.xs("sensitivity", level="measure")["estimate"]
    assert assessment.overall.loc["balanced accuracy", "estimate"] == pytest.approx(own.mean())
    assert assessment.pairs["auc"].notna().tolist() == [False, False, True]
    assert assessment.overall.loc["AUC", "estimate"] == assessment.pairs["auc"].iloc[2]
    one = FIT.assess(TEST[:1])
    assert one.overall.loc["accuracy", "low"] == pytest.approx(0.025)
    assert np.isnan(one.overall.loc[["kappa", "AUC"], "estimate"]).all()


def test_far_rows_have_finite_losses_and_impossible_ones_infinite_ones():
    far = pd.DataFrame({"x": [-40.0, 40.0], "y": ["b", "b"]})
    line = discrim.lda("y ~ x", pd.DataFrame({"x": [-2.0, 0, 2, 18, 20, 22], "y": list("aaabbb")}))
    assessment = line.assess(far)
    expected = -line.predict_log_proba(far)["b"].to_numpy()
    assert expected[0] > 200
    assert assessment.overall.loc["log loss", "estimate"] == pytest.approx(expected.mean())
    never = discrim.lda(
        "species ~ sepal_length", IRIS, prior={"setosa": 0, "versicolor": 0.5, "virginica": 0.5}
    )
    # The prior that was given weighs the rows of an impossible class by zero.
    assert np.isfinite(never.assess(TEST).overall.loc["log loss", "estimate"])
    meant = never.assess(TEST, prior="equal")
    assert meant.overall.loc["log loss", "estimate"] == np.inf
    assert "infinite" in str(meant)


@pytest.mark.parametrize(
    "fit",
    [
        discrim.perceptron("species ~ petal_length", IRIS[:100].astype({"species": str})),
        discrim.indicator("species ~ .", IRIS),
        discrim.hyperplane("species ~ .", IRIS[:100].astype({"species": str})),
        discrim.knn("species ~ .", IRIS, k=5),
        discrim.naive_bayes("species ~ .", IRIS),
        discrim.qda("species ~ .", IRIS),
    ],
    ids=lambda fit: fit._fit.title,
)
def test_every_model_has_an_assessment(fit):
    assessment = fit.assess()
    posteriors = fit._fit.has_posteriors
    assert ("log loss" in assessment.overall.index) == ("brier" in assessment.tables) == posteriors
    assert assessment.overall.loc["accuracy", "estimate"] == pytest.approx(
        1 - fit.error_rates(["loo"])["estimate"].iloc[0]
    )
    assert assessment.by_class.xs("AUC", level="measure")["estimate"].min() > 0.5
    assert "<table" in assessment._repr_html_()
    if not posteriors:
        with pytest.raises(NotSupportedError) as caught:
            assert assessment.brier is None
        assert "probabilities" in str(caught.value)


def test_loaded_fits_and_fits_to_moments_are_assessed_on_new_rows(tmp_path):
    FIT.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    fit_lda = discrim.lda(moments=discrim.moments("species ~ sepal_length + sepal_width", TRAIN))
    for fit in (loaded, fit_lda):
        pd.testing.assert_frame_equal(fit.assess(TEST).overall, FIT.assess(TEST).overall, rtol=1e-9)
        pd.testing.assert_frame_equal(fit.error_rates(TEST), FIT.error_rates(TEST))
        with pytest.raises(NotSupportedError) as caught:
            fit.assess()
        assert "data=" in str(caught.value)


def test_labels_of_any_dtype_are_assessed():
    rng = np.random.default_rng(2)
    for labels in ([3, 7], [False, True], pd.Categorical(["u", "v"], ["v", "u"])):
        y = pd.Series(labels).take(rng.integers(0, 2, 60)).reset_index(drop=True)
        data = pd.DataFrame({"x": rng.normal(size=60) + (y == y.iloc[0]), "y": y})
        assessment = discrim.lda("y ~ x", data[:40]).assess(data[40:])
        assert assessment.nobs == 20
        assert f"The positive class is {assessment.classes.tolist()[1]!r}" in str(assessment)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: FIT.assess(TEST.drop(columns="species")), DataError, "species"),
        (lambda: FIT.assess(TEST.replace({"species": {"setosa": "oak"}})), DataError, "'oak' at row 1"),
        (lambda: FIT.assess(TEST, "loo"), NotSupportedError, "leaves out"),
        (lambda: FIT.assess("never"), (DataError, MissingFileError), "never"),
        (lambda: FIT.assess(TEST[:0]), DataError, "class and a prediction"),
        (lambda: FIT.error_rates(TEST[:0]), DataError, "class and a prediction"),
        (lambda: FIT.assess(TEST.assign(species=None)), DataError, "class and a prediction"),
        (lambda: FIT.assess(bins=0), DataError, "bins=0"),
        (lambda: FIT.assess(level=95), DataError, "level=95"),
        (lambda: FIT.assess(TEST, prior=[0.5, 0.5]), PriorError, "2 values for 3 classes"),
        (lambda: FIT.assess(weights="n"), DataError, "weights="),
        (lambda: FIT.error_rates(weights="n"), DataError, "weights="),
        (lambda: FIT.assess(TEST, weights="species"), DataError, "not numeric"),
        (lambda: FIT.assess(TEST, weights=[1, 2]), DataError, "75 rows"),
        (lambda: FIT.assess(iter([TEST]), weights=np.ones(75)), DataError, "column"),
        (lambda: FIT.assess(TEST[:25], prior=[0, 0.5, 0.5]), DataError, "'setosa'"),
        (lambda: FIT.error_rates(TEST[:25], prior=[0, 0.5, 0.5]), DataError, "'setosa'"),
        (lambda: FIT.assess("cv", seed="x"), DataError, "seed='x'"),
        (lambda: FIT.error_rates(methods=3), DataError, "methods=3"),
        (
            lambda: FIT.assess().plot("regions"),
            DataError,
            "'confusion', 'roc', 'precision_recall', 'calibration'",
        ),
    ],
)
def test_invalid_assessments_are_refused_with_a_hint(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_summary_tables_equal_the_assessment():
    assessment = SEXES.assess(PENGUINS[1::2])
    assert list(assessment.tables) == ["header", "overall", "classes", "brier", "confusion"]
    pd.testing.assert_frame_equal(assessment.tables["overall"].rename_axis("measure"), assessment.overall)
    assert "The positive class is 'male'" in str(assessment)
    three = FIT.assess(TEST)
    assert list(three.tables)[3] == "pairs"
    assert json.loads(three.overall.to_json())["se"]["accuracy"] > 0


def test_summaries_of_many_classes_omit_intervals():
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(8), 6)
    data = pd.DataFrame({"u": y + rng.normal(size=48), "v": rng.normal(size=48), "y": [f"c{k}" for k in y]})
    assessment = discrim.lda("y ~ .", data).assess()
    assert "PPV" in str(assessment)
    assert assessment.by_class.shape == (40, 4)
    assert len(assessment.pairs) == 28


def test_missing_values_may_be_integrated_out():
    gaps = TEST.copy()
    gaps.iloc[[0, 30, 60], 0] = np.nan
    assessment = FIT.assess(gaps, missing="integrate")
    assert (FIT.assess(gaps).unpredicted, assessment.unpredicted) == (3, 0)
    logs = -FIT.predict_log_proba(gaps, missing="integrate").to_numpy()
    own = logs[np.arange(75), pd.Categorical(gaps["species"]).codes]
    assert assessment.overall.loc["log loss", "estimate"] == pytest.approx(own.mean())


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e8, 1e90])
def test_losses_of_any_size_have_their_errors(unit):
    """Far from all means log odds are linear in the rows, and so are the losses of those that are wrong."""
    fit = discrim.lda("species ~ .", TRAIN)
    rows = TEST.assign(**{c: TEST[c] * 1e8 for c in TEST.columns[:4]})
    far = TEST.assign(**{c: TEST[c] * unit for c in TEST.columns[:4]})
    one, other = (fit.assess(data).overall.loc["log loss"] for data in (rows, far))
    np.testing.assert_allclose(other, one * (unit / 1e8), rtol=1e-6)
    assert str(fit.assess(far))


def test_estimated_shares_are_accepted_as_prior():
    estimated = FIT.estimate_prior(TEST)
    assessment = FIT.assess(TEST, prior=estimated)
    assert assessment.prior.sum() == pytest.approx(1)
    assert FIT.error_rates(TEST, prior=estimated)["estimate"].iloc[0] == pytest.approx(
        1 - assessment.overall.loc["accuracy", "estimate"]
    )
