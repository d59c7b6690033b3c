"""Thresholds of two classes: how they are chosen, predicted by, assessed and drawn; expected costs."""

import json
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.model_selection import FixedThresholdClassifier
from statsmodels.stats.proportion import proportion_confint

import discrim
from discrim.datasets import load_breast_cancer, load_iris
from discrim.errors import DataError, NotSupportedError
from discrim.models.evaluation.validation import assign_folds
from discrim.sklearn import LDAClassifier
from tests.cli.support import refused, said
from tests.support import GOLDEN

TUMOURS = load_breast_cancer()[["radius_mean", "texture_mean", "concavity_mean", "diagnosis"]]
FORMULA = "diagnosis ~ radius_mean + texture_mean"
FIT = discrim.lda(FORMULA, TUMOURS)
POSTERIOR = FIT.leave_one_out()["malignant"].to_numpy()
ACTUAL = (TUMOURS["diagnosis"] == "malignant").to_numpy()
COSTS = pd.DataFrame([[0, 1], [5, 0]], index=FIT.classes, columns=FIT.classes)
CASES = json.loads((GOLDEN / "thresholds.json").read_text(encoding="utf-8"))["cases"]
IRIS = load_iris()


def counts_of(called, actual=ACTUAL):
    return metrics.confusion_matrix(actual, called).ravel().tolist()


@pytest.mark.parametrize(
    "wanted", CASES[0]["chosen"], ids=lambda each: f"{each['criterion']} {each['prior']}"
)
def test_the_choice_and_its_intervals_agree_with_r(wanted):
    options = {
        "sensitivity": {"sensitivity": wanted["target"]},
        "specificity": {"specificity": wanted["target"]},
        "youden": {"youden": True},
        "costs": {"costs": COSTS},
    }[wanted["criterion"]]
    chosen = FIT.threshold(**options, prior=wanted["prior"], seed=3)
    assert float(chosen) == chosen.threshold == pytest.approx(wanted["cut"], abs=1e-10)
    apparent = chosen.apparent
    tn, fp, fn, tp = wanted["counts"]
    assert apparent["estimate"].iloc[:2].tolist() == pytest.approx([tp / (tp + fn), tn / (tn + fp)])
    if wanted["prior"] is None:
        limits = apparent[["low", "high"]].iloc[:4].to_numpy()
        np.testing.assert_allclose(limits, wanted["intervals"], rtol=1e-9)
    if wanted["criterion"] == "costs":
        assert apparent.loc["expected cost", "estimate"] == pytest.approx(wanted["cost"], rel=1e-12)
    assert counts_of(chosen.threshold <= POSTERIOR) == wanted["counts"]


@pytest.mark.parametrize("method", ["loo", "cv"])
def test_measures_are_of_cut_offs_chosen_without_each_fold(method):
    chosen = FIT.threshold(youden=True, method=method, folds=5, seed=2)
    fold_ids = assign_folds(FIT._fit, 5, 2)
    posterior = POSTERIOR
    if method == "cv":
        posterior = np.empty(len(TUMOURS))
        for fold in range(5):
            inside = fold_ids == fold
            fit = discrim.lda(FORMULA, TUMOURS[~inside], prior=FIT.prior)
            posterior[inside] = fit.predict_proba(TUMOURS[inside])["malignant"]
    called = np.zeros(len(TUMOURS), dtype=bool)
    for fold in range(5):
        inside = fold_ids == fold
        false, true, thresholds = metrics.roc_curve(
            ACTUAL[~inside], posterior[~inside], drop_intermediate=False
        )
        # The last of tied candidates; a cut-off of ours lies between this posterior and the next lower one.
        best = np.flatnonzero(true - false >= (true - false).max() - 1e-12)[-1]
        assert thresholds[best + 1] < chosen.by_fold[fold + 1] <= thresholds[best]
        called[inside] = posterior[inside] >= chosen.by_fold[fold + 1]
    tn, fp, fn, tp = counts_of(called)
    measures = chosen.measures
    for name, hits, total in (
        ("sensitivity", tp, tp + fn),
        ("specificity", tn, tn + fp),
        ("positive predictive value", tp, tp + fp),
        ("negative predictive value", tn, tn + fn),
    ):
        assert measures.loc[name, "estimate"] == hits / total
        limits = proportion_confint(hits, total, method="beta")
        np.testing.assert_allclose(measures.loc[name, ["low", "high"]].astype(float), limits, rtol=1e-9)


def test_nested_folds_remove_the_optimism_of_the_choice():
    rng = np.random.default_rng(5)
    apparent, nested = [], []
    labels = np.repeat(["a", "b"], 30)
    fit = discrim.lda("y ~ x", pd.DataFrame({"x": np.arange(60.0) % 37, "y": labels}))
    for _ in range(25):
        noise = pd.DataFrame({"x": rng.normal(size=60), "y": labels})
        chosen = fit.threshold(noise, youden=True, seed=1)
        apparent.append(chosen.apparent["estimate"].iloc[:2].sum() - 1)
        nested.append(chosen.measures["estimate"].iloc[:2].sum() - 1)
    # Youden's index of noise is zero.
    assert np.mean(apparent) > 0.1
    assert abs(np.mean(nested)) < 3 * np.std(nested) / np.sqrt(25)


def test_labels_follow_from_the_threshold():
    chosen = FIT.threshold(sensitivity=0.95)
    proba = FIT.predict_proba()["malignant"]
    for threshold in (chosen, chosen.threshold, 0.3, 0, 1):
        expected = np.where(proba >= float(threshold), "malignant", "benign")
        assert FIT.predict(threshold=threshold).tolist() == expected.tolist()
    gaps = TUMOURS.assign(radius_mean=TUMOURS["radius_mean"].where(TUMOURS.index > 2))
    assert FIT.predict(gaps, threshold=0.3).isna().sum() == 3
    halves = FIT.predict(lambda: (TUMOURS[start::2] for start in (0, 1)), threshold=chosen)
    assert next(iter(halves))["diagnosis"].tolist() == FIT.predict(TUMOURS[::2], threshold=chosen).tolist()
    other = FIT.predict(prior=[0.9, 0.1], threshold=0.2)
    assert (other == "malignant").sum() == (FIT.predict_proba(prior=[0.9, 0.1])["malignant"] >= 0.2).sum()
    with pytest.raises(DataError, match="prior="):
        FIT.predict(prior=[0.9, 0.1], threshold=chosen)


@pytest.mark.parametrize("k", [pytest.param(5, marks=pytest.mark.exhaustive), 10])
def test_observations_at_a_numeric_threshold_are_in_the_second_class(k):
    fit = discrim.knn(FORMULA, TUMOURS, k=k)
    proba, left_out = fit.predict_proba()["malignant"], fit.leave_one_out()["malignant"]
    for i, threshold in enumerate(np.unique(proba)):
        # Posteriors of tied votes, 0.5 without rounding, differ in the last digit.
        expected = proba >= threshold - 1e-15
        assert ((fit.predict(threshold=threshold) == "malignant") == expected).all()
        confusion = fit.assess("apparent", threshold=threshold).confusion
        assert confusion.to_numpy().ravel().tolist() == counts_of(expected)
        if i % 4:
            continue
        mark = fit.plot("roc", threshold=threshold, method="loo").lines[2]
        tn, fp, fn, tp = counts_of(left_out >= threshold - 1e-15)
        assert [*mark.get_xdata(), *mark.get_ydata()] == pytest.approx([fp / (tn + fp), tp / (tp + fn)])
        plt.close("all")
    for threshold in np.unique(FIT.predict_proba()["malignant"])[::100]:
        expected = FIT.predict_proba()["malignant"] >= threshold
        assert ((FIT.predict(threshold=threshold) == "malignant") == expected).all()


def test_new_observations_choose_a_threshold():
    train, new = TUMOURS[::2], TUMOURS[1::2]
    fit = discrim.lda(FORMULA, train)
    chosen = fit.threshold(new, sensitivity=0.9, seed=1)
    proba, actual = fit.predict_proba(new)["malignant"], new["diagnosis"] == "malignant"
    tn, fp, fn, tp = counts_of(proba >= chosen.threshold, actual)
    assert chosen.apparent["estimate"].iloc[:2].tolist() == [tp / (tp + fn), tn / (tn + fp)]
    assert tp / (tp + fn) >= 0.9
    held = fit.threshold(new, sensitivity=0.9, seed=1, weights=np.full(len(new), 2.0))
    assert held.threshold == chosen.threshold
    assert held.nobs == 2 * chosen.nobs


def test_an_assessment_by_a_threshold_and_costs():
    chosen = FIT.threshold(costs=COSTS)
    assessment = FIT.assess("loo", threshold=chosen, costs=COSTS)
    assert assessment.confusion.to_numpy().ravel().tolist() == counts_of(chosen.threshold <= POSTERIOR)
    expected = chosen.apparent
    for name in expected.index[:4]:
        assert assessment.by_class.loc[("malignant", name)].tolist() == expected.loc[name].tolist()
    assert assessment.overall.loc["expected cost"].tolist() == expected.loc["expected cost"].tolist()
    assert f"at least {chosen.threshold:.4g}" in " ".join(str(assessment).split())
    # Without a threshold the rule minimizes the expected cost, as in error_rates and confusion.
    assessment = FIT.assess("loo", costs=COSTS)
    assert assessment.confusion.equals(FIT.confusion("loo", costs=COSTS))
    rate = FIT.error_rates(["loo"], costs=COSTS)[["estimate", "se", "low", "high"]].loc["loo"]
    assert assessment.overall.loc["expected cost"].tolist() == rate.tolist()
    screened = FIT.assess("loo", costs=COSTS, prior=[0.95, 0.05]).overall.loc["expected cost", "estimate"]
    rate = FIT.error_rates(["loo"], costs=COSTS, prior=[0.95, 0.05]).loc["loo", "estimate"]
    assert screened == rate


@pytest.mark.parametrize("options", [{"threshold": 0.1}, {"costs": COSTS}], ids=["threshold", "costs"])
@pytest.mark.parametrize("method", ["loo", "cv"])
def test_a_classification_is_by_the_threshold_or_costs_of_the_assessment(options, method):
    assessment = FIT.assess(method, seed=1, **options)
    classification = assessment.classification()
    assert classification.confusion.equals(assessment.confusion)
    confusion = assessment.confusion.to_numpy()
    wrong = classification.misclassified
    assert len(wrong) == confusion.sum() - np.trace(confusion)
    # The mean posterior is the one of the predicted class, also if it is not the largest.
    cell = wrong.loc[wrong["predicted"] == "malignant", "malignant"]
    assert classification.average_posteriors.loc["benign", "malignant"] == pytest.approx(cell.mean())
    assert cell.min() < 0.5


def test_a_choice_of_columns_is_assessed_by_costs_and_a_threshold():
    chosen = discrim.stepwise("diagnosis ~ .", TUMOURS)
    options = {"folds": 5, "seed": 1, "costs": COSTS}
    rate = chosen.error_rates(["cv"], **options).loc["cv", "estimate"]
    assert chosen.assess("cv", **options).overall.loc["expected cost", "estimate"] == rate
    cut_off = chosen.fit.threshold(sensitivity=0.95, method="cv", folds=5, seed=1)
    table = chosen.assess("cv", threshold=cut_off, folds=5, seed=1).by_class.loc["malignant"]
    assert table["estimate"].iloc[:2].tolist() == cut_off.apparent["estimate"].iloc[:2].tolist()


def test_the_table_of_thresholds():
    for prior in (None, [0.9, 0.1]):
        assessment = FIT.assess("loo", prior=prior, costs=COSTS)
        table = assessment.thresholds()
        assert isinstance(table, pd.DataFrame)
        assert list(table) == ["log_odds", "sensitivity", "specificity", "ppv", "npv", "youden", "cost"]
        assert table.index[[0, -1]].tolist() == [1.0, 0.0]
        assert (np.diff(table.index) <= 0).all()
        for row in range(1, len(table) - 1, 150):
            fixed = FIT.assess("loo", prior=prior, costs=COSTS, threshold=float(table.index[row]))
            measures = fixed.by_class.loc["malignant", "estimate"].iloc[:4]
            assert table.iloc[row, 1:5].tolist() == pytest.approx(measures.tolist(), rel=1e-12)
            assert table["cost"].iloc[row] == pytest.approx(fixed.overall.loc["expected cost", "estimate"])
    best = FIT.threshold(costs=COSTS).apparent.loc["expected cost", "estimate"]
    assert FIT.assess("loo").thresholds(costs=COSTS)["cost"].min() == pytest.approx(best, rel=1e-12)
    assert "cost" not in FIT.assess("loo").thresholds()
    lines = str(FIT.assess("loo").thresholds()).splitlines()
    assert "npv" in lines[0]


def test_average_precision_of_an_assessment():
    table = FIT.assess("loo").average_precision
    expected = metrics.average_precision_score(ACTUAL, POSTERIOR)
    assert table.loc["malignant", "estimate"] == pytest.approx(expected, rel=1e-12)
    assert table.loc["benign", "estimate"] == pytest.approx(
        metrics.average_precision_score(~ACTUAL, 1 - POSTERIOR), rel=1e-12
    )
    assert table["share"].tolist() == [1 - ACTUAL.mean(), ACTUAL.mean()]
    assert len(discrim.lda("species ~ .", IRIS).assess().average_precision) == 3


@pytest.mark.parametrize(
    "options", [{}, {"sensitivity": 0.9, "youden": True}, {"sensitivity": 2}, {"costs": 3}]
)
def test_a_threshold_requires_one_valid_criterion(options):
    with pytest.raises(DataError) as caught:
        FIT.threshold(**options)
    if len(options) != 1:
        assert all(word in str(caught.value) for word in ("malignant", "benign", "sensitivity=", "youden"))


def test_a_target_that_one_class_only_would_reach_raises():
    for k, (name, label, other) in enumerate([("sensitivity", "b", "a"), ("specificity", "a", "b")]):
        x = np.array([*np.linspace(0, 2, 20), *np.linspace(1.5, 4, 20)])
        # One observation is beyond all of the other class.
        x[-1 if k == 0 else 0] = -1.0 if k == 0 else 9.0
        fit = discrim.lda("y ~ x", pd.DataFrame({"x": x, "y": np.repeat(["a", "b"], 20)}))
        assert fit.threshold(**{name: 0.95}).apparent.loc[name, "estimate"] == 0.95
        with pytest.raises(DataError, match=f"assigned to '{label}', and none to '{other}'") as caught:
            fit.threshold(**{name: 0.96})
        assert f"{name}= of at most 0.95." in str(caught.value)
        assert caught.value.classes == (label,)


def test_a_target_without_a_cut_off_that_separates_the_classes_raises():
    rows = pd.DataFrame({"x": np.ones(40), "y": np.tile(["a", "b"], 20)})
    fit = discrim.lda("y ~ x", rows.assign(x=np.arange(40.0)))
    for target in ({"sensitivity": 0.9}, {"specificity": 0.9}):
        with pytest.raises(DataError, match="No cut-off separates") as caught:
            fit.threshold(rows, **target)
        assert "at most" not in str(caught.value)


def test_small_classes_raise():
    rows = pd.concat([TUMOURS[~ACTUAL], TUMOURS[ACTUAL][:1]])
    fit = discrim.lda(FORMULA, rows)
    with pytest.raises(DataError, match="'malignant'"):
        fit.threshold(TUMOURS[~ACTUAL][:20], youden=True)
    with pytest.raises(DataError, match="'malignant' has 1"):
        fit.threshold(rows, youden=True)


def test_other_fits_have_no_threshold():
    three = discrim.lda("species ~ .", IRIS)
    assert not hasattr(three, "threshold")
    assert hasattr(FIT, "threshold")
    for call in (
        lambda: three.threshold(youden=True),
        lambda: three.predict(threshold=0.5),
        lambda: three.assess().thresholds(),
        lambda: three.plot("roc", threshold=0.5),
    ):
        with pytest.raises(NotSupportedError, match=r"setosa.*versicolor.*virginica"):
            call()
    two = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
    with pytest.raises(NotSupportedError, match="posterior"):
        discrim.indicator("species ~ .", two).threshold(youden=True)
    other = discrim.lda("species ~ .", two).threshold(youden=True)
    with pytest.raises(DataError, match=r"virginica.*malignant"):
        FIT.predict(threshold=other)
    for options in ({"threshold": -0.1}, {"threshold": "half"}, {"threshold": 0.3, "costs": COSTS}):
        with pytest.raises(DataError):
            FIT.predict(**options)


@pytest.mark.parametrize(
    "fit",
    [
        discrim.qda(FORMULA, TUMOURS, prior="equal"),
        discrim.naive_bayes(FORMULA, TUMOURS),
        discrim.knn(FORMULA, TUMOURS, k=7),
        discrim.shrunken_centroids(FORMULA, TUMOURS, threshold=0.5),
    ],
    ids=lambda fit: type(fit).__name__,
)
def test_models_with_posteriors_have_thresholds(fit):
    chosen = fit.threshold(specificity=0.9, seed=1)
    assert chosen.apparent.loc["specificity", "estimate"] >= 0.9
    assert chosen.nobs == len(TUMOURS)
    assert set(fit.predict(threshold=chosen)) == {"benign", "malignant"}


def test_a_threshold_is_pickled_and_printed(tmp_path):
    chosen = FIT.threshold(costs=COSTS, prior=[0.9, 0.1], seed=1)
    again = pickle.loads(pickle.dumps(chosen))
    assert again.measures.equals(chosen.measures)
    text = " ".join(str(chosen).split())
    for words in ("0.9", "expected cost", "nested folds", "Clopper-Pearson", "optimistic", "logit"):
        assert words in text
    assert list(chosen.tables) == ["header", "nested", "apparent"]
    assert chosen.tables["nested"].to_numpy().tolist() == chosen.measures.to_numpy().tolist()
    assert chosen.by_fold.index.tolist() == list(range(1, 11))


def test_notes_state_what_intervals_and_folds_do_not_include():
    chosen = FIT.threshold(costs=COSTS)
    text = " ".join(str(chosen).split())
    for words in ("cost 1 of 'malignant' for 'benign', 5 of 'benign' for", "variation", "log-normal"):
        assert words in text
    assert "log-normal" not in str(FIT.threshold(youden=True))
    fit = discrim.knn(FORMULA, TUMOURS)
    assert fit._fit.choice_description == "k"
    for options, is_fixed in (
        ({"method": "loo"}, True),
        ({"method": "cv"}, False),
        ({"data": TUMOURS}, False),
    ):
        text = " ".join(str(fit.threshold(youden=True, **options)).split())
        assert ("choice of k by the same observations is not repeated" in text) == is_fixed


def test_the_seed_of_a_threshold_repeats_it():
    chosen = FIT.threshold(youden=True)
    assert chosen.tables["header"].to_string().count("Seed") == 1
    again = FIT.threshold(youden=True, seed=chosen.seed)
    assert again.measures.equals(chosen.measures)
    assert again.by_fold.equals(chosen.by_fold)
    assert FIT.threshold(youden=True).by_fold.equals(chosen.by_fold)
    assert FIT.threshold(youden=True, seed=4).seed == 4


def test_estimators_use_a_threshold_through_scikit_learn():
    estimator = LDAClassifier().fit(TUMOURS[["radius_mean", "texture_mean"]], TUMOURS["diagnosis"])
    chosen = estimator.results_.threshold(TUMOURS, sensitivity=0.95)
    fixed = FixedThresholdClassifier(estimator, threshold=chosen.threshold, pos_label="malignant").fit(
        TUMOURS[["radius_mean", "texture_mean"]], TUMOURS["diagnosis"]
    )
    labels = fixed.predict(TUMOURS[["radius_mean", "texture_mean"]])
    assert labels.tolist() == FIT.predict(threshold=chosen).tolist()


def test_the_command_line_predicts_by_a_threshold(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TUMOURS.to_csv("tumours.csv", index=False)
    said(capsys, "lda", FORMULA, "tumours.csv", "--save", "a.fit")
    labels = said(capsys, "predict", "a.fit", "tumours.csv", "--threshold", "0.2").split()[1:]
    assert [line.rpartition(",")[2] for line in labels] == FIT.predict(threshold=0.2).tolist()
    lines = said(capsys, "predict", "a.fit", "tumours.csv", "--threshold", "0.2", "--proba").splitlines()
    assert sum("malignant" in line for line in lines[1:]) == (FIT.predict(threshold=0.2) == "malignant").sum()
    text = said(capsys, "assess", "a.fit", "tumours.csv", "--threshold", "0.2", "--sections", "header")
    assert "at least 0.2" in " ".join(text.split())
    assert "--augment" in refused(
        capsys, "predict", "a.fit", "tumours.csv", "--augment", "--threshold", "0.2"
    )
    assert "threshold" in refused(capsys, "predict", "a.fit", "tumours.csv", "--threshold", "2")


def test_the_command_line_chooses_a_threshold(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TUMOURS.to_csv("tumours.csv", index=False)
    request = "threshold", FORMULA, "tumours.csv", "--sensitivity", "0.9", "--seed", "2"
    printed = said(capsys, *request, "--plot", "roc.png", "--save", "a.fit")
    assert printed == FIT.threshold(sensitivity=0.9, seed=2).summary().as_text() + "\n"
    assert (tmp_path / "roc.png").stat().st_size > 1000
    assert discrim.load("a.fit").formula == FORMULA
    by_model = said(capsys, *request, "--verb", "qda(prior='equal')", "--sections", "nested")
    chosen = discrim.qda(FORMULA, TUMOURS, prior="equal").threshold(sensitivity=0.9, seed=2)
    assert by_model == chosen.summary(["nested"]).as_text() + "\n"
    assert "criterion" in refused(capsys, "threshold", FORMULA, "tumours.csv")
    assert "two classes" in refused(capsys, "threshold", "species ~ .", "iris", "--youden")


# ------------------------------------------------------------------ plots


def test_the_mark_of_a_threshold_is_on_the_curve():
    chosen = FIT.threshold(sensitivity=0.9)
    values = chosen.apparent["estimate"]
    for subject in (FIT, FIT.assess("loo")):
        mark = subject.plot("roc", threshold=chosen).lines[2]
        assert [*mark.get_xdata(), *mark.get_ydata()] == pytest.approx([1 - values.iloc[1], values.iloc[0]])
        axes = subject.plot("precision_recall", threshold=chosen)
        mark = axes.lines[2]
        assert [*mark.get_xdata(), *mark.get_ydata()] == pytest.approx([values.iloc[0], values.iloc[2]])
        label = axes.get_legend().get_texts()[-1].get_text()
        assert "recall" in label
        assert "sensitivity" not in label
    # No posterior is exactly one.
    text = FIT.plot("precision_recall", threshold=1.0, method="loo").get_legend().get_texts()
    assert not any("precision nan" in line.get_text() for line in text)
    # An assessment by a threshold marks it by default.
    axes = FIT.assess("loo", threshold=chosen).plot("roc")
    assert f"cut-off {chosen.threshold:.3g}" in axes.get_legend().get_texts()[1].get_text()
    both = FIT.plot("roc", threshold=chosen, classes=["benign", "malignant"])
    assert sum("cut-off" in text.get_text() for text in both.get_legend().get_texts()) == 2


def test_a_precision_recall_curve_is_a_step_function():
    axes = FIT.plot("precision_recall", method="loo")
    line = axes.lines[1]
    precision, recall, _ = metrics.precision_recall_curve(ACTUAL, POSTERIOR)
    np.testing.assert_allclose(line.get_xdata()[1:], recall[-2::-1])
    np.testing.assert_allclose(line.get_ydata()[1:], precision[-2::-1])
    assert line.get_drawstyle() == "steps-pre"
    assert axes.lines[0].get_ydata()[0] == pytest.approx(ACTUAL.mean())
    area = metrics.average_precision_score(ACTUAL, POSTERIOR)
    assert f"malignant  {area:.3f}" in axes.get_legend().get_texts()[1].get_text()
    axes = discrim.lda("species ~ .", IRIS).plot("precision_recall")
    assert len(axes.lines) == 3
    assert axes.get_title().replace("\n", " ").startswith("Precision-recall curves of each class")
    ax = FIT.plot("precision_recall")
    discrim.qda(FORMULA, TUMOURS).plot("precision_recall", ax=ax)
    assert [text.get_text().split()[0] for text in ax.get_legend().get_texts()] == ["random", "lda", "qda"]
