"""What folds learn anew, and what they refuse: by refits of the verb to the rows outside each fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discrim import (
    cross_validate,
    hyperplane,
    indicator,
    knn,
    lda,
    naive_bayes,
    perceptron,
    rda,
    shrunken_centroids,
)
from discrim.datasets import load_iris, load_wine
from discrim.errors import NotSupportedError

IRIS, WINE = load_iris(), load_wine()
SETOSA = IRIS.assign(setosa=IRIS["species"] == "setosa")
STANDARD = "standardize(sepal_length) + standardize(petal_width) + sepal_width"


# ------------------------------------------------------------------ what transforms learn

LEARNING = {
    "rda": (rda, f"species ~ {STANDARD}", IRIS, {"alpha": 0.5, "gamma": 0.5, "prior": "equal"}),
    "rda-chosen": (
        rda,
        f"species ~ {STANDARD}",
        IRIS,
        {"grid": [0.0, 0.5, 1.0], "folds": 3, "seed": 2, "prior": "equal"},
    ),
    "knn": (knn, "species ~ poly(sepal_length, 3) + center(petal_width)", IRIS, {"k": 5, "scale": False}),
    "knn-chosen": (knn, f"species ~ {STANDARD}", IRIS, {"scale": False, "prior": "equal"}),
    "shrunken": (shrunken_centroids, f"species ~ {STANDARD}", IRIS, {"threshold": 0.5, "prior": "equal"}),
    "interaction": (rda, "species ~ scale(sepal_length) : petal_width", IRIS, {"alpha": 0, "gamma": 0.5}),
    "splines": (
        rda,
        # Ends that all rows lie within are the same for every fold.
        "species ~ bs(sepal_length, df=5, lower_bound=4, upper_bound=8)"
        " + cr(petal_width, df=4, lower_bound=0, upper_bound=3)",
        IRIS,
        {"alpha": 0, "gamma": 0.5, "prior": "equal"},
    ),
    "weights": (rda, f"species ~ {STANDARD}", IRIS, {"alpha": 0.5, "gamma": 0.5, "weights": "twice"}),
    "perceptron": (perceptron, f"setosa ~ {STANDARD}", SETOSA, {}),
    "hyperplane": (hyperplane, f"setosa ~ {STANDARD}", SETOSA, {}),
    "indicator": (indicator, "species ~ poly(sepal_length, 2)", IRIS, {}),
}


@pytest.mark.parametrize("case", LEARNING)
def test_transforms_are_learnt_without_the_fold(case):
    verb, formula, data, options = LEARNING[case]
    data = data.assign(twice=1 + np.arange(150) % 2)
    data.loc[[7, 90], "sepal_length"] = np.nan
    fit = verb(formula, data, **options)
    # Folds of blocks of rows: their means differ.
    folds = np.argsort(np.argsort(data["petal_width"] * (1 + data.index % 2))) // 38
    validation = cross_validate(fit, folds=folds)
    used = validation.folds[1].notna()
    assert not used[[7, 90]].any()
    for fold in range(4):
        at = (folds == fold) & used
        held = {"prior": fit.prior} if verb is rda else {}
        refit = verb(formula, data[~at & used], **options | held)
        assert (validation.labels[1][at].astype(object) == refit.predict(data[at]).astype(object)).all()
        if verb in (rda, knn, shrunken_centroids):
            np.testing.assert_allclose(
                validation.posteriors()[at], refit.predict_proba(data[at]), rtol=1e-7, atol=1e-11
            )


def test_transforms_of_the_whole_table_would_show():
    """A row far off moves the mean and the spread of all, yet not of the rules without it."""
    data = IRIS.iloc[:100].assign(species=IRIS["species"].iloc[:100].astype(object))
    data.loc[0, "sepal_length"] = 1e6
    options = {"alpha": 1.0, "gamma": 0.5, "prior": "equal"}
    fit = rda("species ~ standardize(sepal_length) + standardize(sepal_width)", data, **options)
    folds = np.arange(100) // 2 % 5
    proba = cross_validate(fit, folds=folds).posteriors()
    less = rda("species ~ standardize(sepal_length) + standardize(sepal_width)", data[folds > 0], **options)
    np.testing.assert_allclose(proba[folds == 0], less.predict_proba(data[folds == 0]), rtol=1e-9, atol=1e-12)
    values = np.abs(proba[folds == 0] - fit.predict_proba(data[folds == 0])).to_numpy()
    assert values.max() > 0.2


def test_a_spline_reaches_over_the_rows_that_were_left_out():
    fit = lda("species ~ bs(sepal_length, df=4)", IRIS)
    validation = cross_validate(fit, folds=10, seed=0)
    assert validation.unlabelled == 0
    assert (
        validation.table().loc["error", "estimate"] == fit.error_rates(["cv"], seed=0).loc["cv", "estimate"]
    )


def test_rows_out_of_the_domain_of_a_transform_are_named():
    data = pd.DataFrame({"y": ["a", "b"] * 6, "x": [0.0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 2, 3]})
    fit = lda("y ~ poly(x, 2)", data)
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(fit, folds=["first"] * 10 + ["last"] * 2)
    assert "'first'" in str(caught.value)


# ------------------------------------------------------------------ what has no rule


@pytest.mark.parametrize("verb", [lda, indicator])
def test_a_class_without_rows_outside_a_fold_is_not_predicted(verb):
    """Moments of no rows have a mean all the same, by which the one row was called right."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"y": ["a"] + ["b"] * 20 + ["c"] * 20, "x": rng.normal(size=41)})
    data.loc[0, "x"] = -50.0
    fit = verb("y ~ x", data)
    assert fit.error_rates(["cv"], folds=5, seed=1, by_class=True)["a"].item() == 1
    assert fit.confusion(method="cv", folds=5, seed=1).loc["a"].tolist() in ([0, 1, 0], [0, 0, 1])


def test_a_fold_without_a_rule_is_called_by_its_label_and_the_reason_is_the_models():
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(knn("species ~ .", IRIS, k=130), folds=np.array(["x", "y"])[np.arange(150) % 2])
    assert caught.value.classes == ("setosa",)


# ------------------------------------------------------------------ scikit-learn on the same folds


def test_losses_are_scikit_learns_on_the_same_folds():
    x, y = WINE.drop(columns="cultivar").to_numpy(), WINE["cultivar"].to_numpy(dtype=str)
    folds = np.random.default_rng(2).integers(0, 6, len(WINE))

    def brier(actual, proba):
        return np.mean(((proba - (np.unique(y) == actual[:, None])) ** 2).sum(axis=1))

    normal = naive_bayes("cultivar ~ .", WINE, method="mle")
    pairs = [
        (normal, GaussianNB(priors=normal.prior, var_smoothing=0.0)),
        (knn("cultivar ~ .", WINE, k=7), make_pipeline(StandardScaler(), KNeighborsClassifier(7))),
    ]
    scorers = {"error": "accuracy", "brier": make_scorer(brier, response_method="predict_proba")}
    for fit, model in pairs:
        by_fold = cross_validate(fit, folds=folds).by_fold.droplevel("repeat").sort_index()
        # A vote of none has an infinite logarithm, which scikit-learn clips.
        more = {"log_loss": "neg_log_loss"} if fit is normal else {}
        for column, scorer in (scorers | more).items():
            score = cross_val_score(model, x, y, cv=PredefinedSplit(folds), scoring=scorer)
            loss = {"error": 1 - score, "brier": score, "log_loss": -score}[column]
            np.testing.assert_allclose(by_fold[column], loss, rtol=1e-9, atol=1e-12)


def test_k_is_fixed_without_nesting():
    fit = knn("species ~ .", IRIS)
    held = cross_validate(fit, 5, seed=4, nested=False).posteriors()
    pd.testing.assert_frame_equal(
        held, cross_validate(knn("species ~ .", IRIS, k=fit.k), 5, seed=4).posteriors()
    )
