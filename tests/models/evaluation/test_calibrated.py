"""Calibrated posteriors of fits: refits by hand, laws that are known, identities, files, refusals."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import log_softmax, softmax
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

import discrim
from discrim.core.rules.calibration import fit_calibrator
from discrim.datasets import load_iris
from discrim.errors import DataError, NotSupportedError, PriorError
from discrim.models.base.tensor_file import read_file, write_file
from discrim.models.registry import MODELS
from discrim.penalty import Ridge

IRIS = load_iris()
TWO = IRIS[IRIS["species"] != "setosa"].assign(species=lambda t: t["species"].astype(str))
FORMULA = "species ~ ."


def calibrated(fit: Any, data: Any = None, **options: Any) -> pd.DataFrame:
    return fit.predict_proba(data, method="calibrated", **options)


def normal_rows(n: int, p: int, gap: float, seed: int) -> pd.DataFrame:
    """Two normal classes, their means so far apart in one direction of p."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, p))
    x[:, 0] += gap * y
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.where(y, "b", "a"))


def log_loss(proba: pd.DataFrame, y: pd.Series) -> float:
    return -float(np.log(proba.to_numpy()[np.arange(len(y)), proba.columns.get_indexer(y)]).mean())


@pytest.mark.parametrize(("verb", "options"), [(discrim.qda, {}), (discrim.lda, {"covariance": "diagonal"})])
def test_scores_equal_fits_without_each_row(verb: Any, options: dict[str, Any]) -> None:
    rows = IRIS[::5].reset_index(drop=True)
    fit = verb(FORMULA, rows, **options)
    scores = np.empty((len(rows), 3))
    for i in range(len(rows)):
        less = verb(FORMULA, rows.drop(index=i), **options)
        scores[i] = less.predict_log_proba(rows.loc[[i]]).to_numpy()
    codes = fit.classes.get_indexer(rows["species"])
    expected = softmax(fit_calibrator(scores, codes).scores(fit.predict_log_proba().to_numpy()), axis=1)
    assert calibrated(fit).to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_calibration_corrects_overconfidence_with_few_rows() -> None:
    new = normal_rows(4000, 20, 2.0, seed=1)
    fit = discrim.lda("y ~ .", normal_rows(60, 20, 2.0, seed=0))
    plain, better = log_loss(fit.predict_proba(new), new["y"]), log_loss(calibrated(fit, new), new["y"])
    assert better < 0.75 * plain
    # Of the best posteriors that a function of the scores has, all but little.
    odds = fit.decision_function(new).to_numpy()
    codes = (new["y"] == "b").to_numpy().astype(np.intp)
    best = fit_calibrator(np.column_stack([-odds / 2, odds / 2]), codes, kind="vector")
    logs = log_softmax(best.scores(np.column_stack([-odds / 2, odds / 2])), axis=1)
    assert better < -logs[np.arange(4000), codes].mean() + 0.02


@pytest.mark.parametrize("prior", ["equal", [0.9, 0.1]])
def test_calibration_corrects_for_repeated_columns(prior: Any) -> None:
    rows = normal_rows(200, 1, 2.0, seed=0)
    again = rows.assign(x1=rows["x0"], x2=rows["x0"], x3=rows["x0"])
    once = discrim.naive_bayes("y ~ .", rows, prior=prior)
    four = discrim.naive_bayes("y ~ .", again, prior=prior)
    assert calibrated(four, again).to_numpy() == pytest.approx(calibrated(once, rows).to_numpy(), abs=1e-10)
    assert abs(four.predict_proba(again) - once.predict_proba(rows)).to_numpy().max() > 0.2


def test_other_priors_shift_calibrated_log_odds() -> None:
    fit = discrim.lda(FORMULA, IRIS)
    logs = fit.predict_log_proba(method="calibrated").to_numpy()
    moved = fit.predict_log_proba(method="calibrated", prior=[0.5, 0.3, 0.2]).to_numpy()
    expected = log_softmax(logs + np.log([1.5, 0.9, 0.6]), axis=1)
    assert moved == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_calibrated_posteriors_use_the_prior_of_the_user() -> None:
    rows = normal_rows(3000, 2, 1.5, seed=0)
    rows = rows[(rows["y"] == "a") | (np.arange(3000) % 5 == 0)]
    fit_lda = discrim.lda("y ~ .", rows, prior="equal")
    estimated = discrim.lda("y ~ .", rows)
    gap = calibrated(fit_lda) - calibrated(estimated, prior="equal")
    assert abs(gap).to_numpy().max() < 0.03
    none = discrim.lda(FORMULA, IRIS, prior=[0.5, 0.5, 0.0])
    assert (calibrated(none)["virginica"] == 0).all()
    with pytest.raises(PriorError) as caught:
        calibrated(none, prior="equal")
    assert "'virginica'" in str(caught.value)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: discrim.hyperplane(FORMULA, TWO[::2]),
        lambda: discrim.indicator(FORMULA, IRIS),
        lambda: discrim.pls(FORMULA, IRIS, rule="max"),
    ],
)
def test_scores_of_planes_are_calibrated_to_posteriors(fit: Any) -> None:
    made = fit()
    with pytest.raises(NotSupportedError) as caught:
        made.predict_proba()
    assert "predict_proba" in str(caught.value)
    assert 'method="calibrated"' in str(caught.value)
    proba = calibrated(made)
    assert proba.sum(axis=1).to_numpy() == pytest.approx(1.0)
    # Fitted values mask the middle class, which a matrix of the scores does not.
    right = (proba.idxmax(axis=1) == IRIS["species"].loc[proba.index]).mean()
    assert right >= (made.predict() == IRIS["species"].loc[proba.index]).mean()
    if len(made.classes) == 2:
        order = made.decision_function().to_numpy().argsort()
        assert (np.diff(proba.iloc[order, 1]) >= -1e-12).all()


def test_folds_are_reproducible() -> None:
    rows = normal_rows(300, 10, 1.5, seed=0)
    fit, again = (discrim.logistic("y ~ .", rows) for _ in range(2))
    assert calibrated(fit).equals(calibrated(again))
    assert log_loss(calibrated(fit), rows["y"]) > log_loss(fit.predict_proba(), rows["y"])


@pytest.mark.filterwarnings("ignore::discrim.errors.MissingPredictionWarning")
def test_single_rows_are_left_out_if_a_fold_cannot_be() -> None:
    fit = discrim.logistic(FORMULA, TWO)
    with pytest.raises(NotSupportedError) as caught:
        fit.assess("cv", seed=0, folds=10)
    assert caught.value.classes == ("versicolor",)
    assert calibrated(fit).sum(axis=1).to_numpy() == pytest.approx(1.0)


@pytest.mark.parametrize("fit", [discrim.lda, discrim.naive_bayes])
def test_whole_weights_are_repeated_rows(fit: Any) -> None:
    weights = 1 + np.arange(150) % 3
    weighted = fit(FORMULA, IRIS, weights=weights)
    repeated = fit(FORMULA, IRIS.loc[IRIS.index.repeat(weights)].reset_index(drop=True))
    assert calibrated(weighted, IRIS).to_numpy() == pytest.approx(
        calibrated(repeated, IRIS).to_numpy(), rel=1e-6, abs=1e-12
    )


def test_calibrated_posteriors_support_missing_values_and_sources() -> None:
    fit = discrim.lda(FORMULA, IRIS)
    gaps = IRIS.assign(sepal_width=np.nan)
    assert calibrated(fit, gaps).isna().all(axis=None)
    assert calibrated(fit, gaps, missing="integrate").sum(axis=1).to_numpy() == pytest.approx(1.0)
    chunks = fit.predict_proba(lambda: iter([IRIS[:80], IRIS[80:]]), method="calibrated")
    assert pd.concat(chunks).equals(calibrated(fit, IRIS))


SETTINGS: dict[str, dict[str, Any]] = {
    "pls": {"ncomp": 2},
    "knn": {"k": 5},
    "rda": {"alpha": 0.5, "gamma": 0.1},
    "logistic": {"penalty": Ridge(0.1)},
    "perceptron": {"maxiter": 20},
    "kernel_density": {"bandwidth": 0.5},
    "sparse_lda": {"nonzero": 2},
    "kernel_lda": {"kernel": "gaussian", "width": 2.0, "ridge": 0.1},
}
VERBS = [
    verb for verb in dict.fromkeys(model.verb for model in MODELS) if verb not in ("bayes", "fda", "mlm")
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=[pytest.mark.slow] if verb == "sparse_lda" else []) for verb in VERBS]
)
def test_every_verb_has_calibrated_posteriors(verb: str) -> None:
    rows = (IRIS[IRIS["species"] != "virginica"] if verb == "hyperplane" else IRIS)[::3]
    fit = getattr(discrim, verb)(FORMULA, rows, **SETTINGS.get(verb, {}))
    proba = calibrated(fit)
    assert proba.sum(axis=1).to_numpy() == pytest.approx(1.0)
    assert (proba.idxmax(axis=1).to_numpy() == rows["species"].to_numpy()).mean() > 0.75
    logs = fit.predict_log_proba(rows, method="calibrated")
    assert np.exp(logs.to_numpy()) == pytest.approx(proba.to_numpy(), rel=1e-9, abs=1e-12)


# ---- a fit without rows


@pytest.mark.parametrize("verb", [discrim.lda, discrim.indicator])
def test_calibration_is_saved_and_pickled_with_the_fit(verb: Any, tmp_path: Path) -> None:
    fit = verb(FORMULA, IRIS)
    with pytest.raises(NotSupportedError) as caught:
        calibrated(pickle.loads(pickle.dumps(fit)), IRIS)
    assert "saved" in str(caught.value)
    expected = calibrated(fit, IRIS)
    fit.save(tmp_path / "fit")
    assert calibrated(discrim.load(tmp_path / "fit"), IRIS).equals(expected)
    assert calibrated(pickle.loads(pickle.dumps(fit)), IRIS).equals(expected)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"kind": "none"}, "its calibration is"),
        ({"slope": 1}, "its calibration is"),
        ({"more": 1.0}, "its calibration is"),
        ({"ceiling": -1.0}, "inconsistent"),
        ({"kind": "dirichlet"}, "inconsistent"),
    ],
)
def test_files_with_an_invalid_calibration_are_refused(
    about: dict[str, Any], said: str, tmp_path: Path
) -> None:
    fit = discrim.lda(FORMULA, IRIS)
    calibrated(fit)
    fit.save(tmp_path / "fit")
    described, tensors = read_file(tmp_path / "fit")
    described["calibration"] |= about
    write_file(tmp_path / "damaged", described, tensors)
    with pytest.raises(DataError, match=said):
        discrim.load(tmp_path / "damaged")


def test_convention_cannot_be_combined_with_calibration() -> None:
    with pytest.raises(NotSupportedError) as caught:
        calibrated(discrim.lda(FORMULA, IRIS), convention="MASS")
    assert 'convention="MASS"' in str(caught.value)


# ---- what an assessment and a summary say


def test_an_assessment_has_both_losses_of_new_rows() -> None:
    rows, new = normal_rows(60, 20, 2.0, seed=0), normal_rows(500, 20, 2.0, seed=1)
    fit = discrim.lda("y ~ .", rows)
    assessment = fit.assess(new)
    true = (new["y"] == "b").to_numpy()
    for name, proba in (("plugin", fit.predict_proba(new)), ("calibrated", calibrated(fit, new))):
        second = proba["b"].to_numpy()
        assert assessment.calibrated.loc["log loss", name] == pytest.approx(
            sklearn_log_loss(true, second), rel=1e-10
        )
        assert assessment.calibrated.loc["Brier", name] == pytest.approx(
            2 * brier_score_loss(true, second), rel=1e-10
        )
    losses = [
        np.log(proba.to_numpy()[np.arange(500), true.astype(int)])
        for proba in (fit.predict_proba(new), calibrated(fit, new))
    ]
    t = stats.ttest_rel(*losses)
    row = assessment.calibrated.loc["log loss"]
    assert row["difference"] / row["se"] == pytest.approx(t.statistic, rel=2e-3)
    assert row["high"] < 0
    assert "calibrated" in assessment.tables


def test_rows_left_out_calibrate_each_other() -> None:
    # Of labels that say nothing of the columns, no map of other rows can be better than the class shares.
    rows = normal_rows(80, 20, 0.0, seed=0)
    found = discrim.lda("y ~ .", rows).assess("loo").calibrated
    assert found.loc["log loss", "plugin"] == pytest.approx(
        discrim.lda("y ~ .", rows).assess("loo").overall.loc["log loss", "estimate"]
    )
    assert np.log(2) - 0.01 < found.loc["log loss", "calibrated"] < 0.75
    assert found.loc["log loss", "plugin"] > 0.85


def test_planes_are_assessed_by_calibration() -> None:
    assessment = discrim.indicator(FORMULA, IRIS).assess()
    assert assessment.calibrated["plugin"].isna().all()
    assert assessment.calibrated.loc["log loss", "calibrated"] < 0.3
    assert "calibrated" in assessment.tables


def test_summaries_note_miscalibrated_leave_one_out_posteriors() -> None:
    rows = normal_rows(200, 1, 2.0, seed=0)
    again = rows.assign(x1=rows["x0"], x2=rows["x0"], x3=rows["x0"])
    once, four = (discrim.naive_bayes("y ~ .", each) for each in (rows, again))
    message = re.search(r"are too extreme: slope ([\d.]+) ", flat(four.summary()))
    assert message is not None
    scores = four.leave_one_out()
    odds = np.log(scores["b"] / scores["a"])
    logit = sm.Logit((rows["y"] == "b").to_numpy(), sm.add_constant(odds)).fit(disp=0)
    assert float(message[1]) == pytest.approx(logit.params.iloc[1], abs=0.005)
    assert f"(se {logit.bse.iloc[1]:.2f}, independent observations)" in flat(four.summary())
    assert "too extreme" not in flat(once.summary())


def flat(summary: Any) -> str:
    """The text of a summary in one line."""
    return " ".join(str(summary).split())
