"""Folds whose training part lacks a level, or has a constant column, against refits without the fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Regularized, Shrunk
from discrim.errors import DiscrimError, NotSupportedError
from discrim.penalty import Lasso
from discrim.subspace import MultipleCorrespondence, PrincipalComponents, RandomFeatures

RNG = np.random.default_rng(0)
N = 60
SHIFT = np.tile([0.0, 1.5, 3.0], N // 3)
FOLDS = RNG.permutation(np.arange(N) % 3)
FIRST = np.flatnonzero(FOLDS == 0)
DATA = pd.DataFrame(
    {
        "y": np.tile(list("abc"), N // 3),
        "c": RNG.choice(list("uvw"), N),
        "e": RNG.choice(list("pqs"), N),
        "x": RNG.normal(size=N) + SHIFT,
        "z": RNG.normal(size=N) - SHIFT,
        "b": 0.0,
        "t": False,
        "n0": 0,
        "n1": RNG.poisson(3 + SHIFT),
    }
)
# What varies in the first fold only.
DATA.loc[FIRST[[0, 4]], "c"] = "rare"
DATA.loc[FIRST[1], "e"] = "only"
DATA.loc[FIRST[[2, 7]], "b"] = [1.0, 2.0]
DATA.loc[FIRST[[2, 7]], "t"] = True
DATA.loc[FIRST[3], "n0"] = 2

KERNEL = {"kernel": "gaussian", "width": 1.5, "ridge": 0.1, "components": 60}
VERBS = {
    "lda": ("lda", {}),
    "lda diagonal": ("lda", {"covariance": "diagonal"}),
    "lda em": ("lda", {"missing": "em"}),
    "lda axes": ("lda", {"components": PrincipalComponents(2, standardize=True)}),
    "lda correspondence": ("lda", {"components": MultipleCorrespondence(2)}),
    "lda correspondence, share": ("lda", {"components": MultipleCorrespondence(0.8)}),
    "lda correspondence, chosen": ("lda", {"components": MultipleCorrespondence("cv")}),
    "qda": ("qda", {"covariance": Shrunk(0.2)}),
    "qda axes": ("qda", {"components": PrincipalComponents(2, standardize=True)}),
    "rda": ("rda", {"alpha": 0.5, "gamma": 0.3, "parametrization": Regularized(standardize=True)}),
    "rda axes": ("rda", {"alpha": 0.5, "gamma": 0.3, "components": PrincipalComponents(2, standardize=True)}),
    "plda": ("plda", {}),
    "location": ("location", {"smoothing": 0.2}),
    "location, chosen": ("location", {"grid": [0.1, 0.5]}),
    "naive_bayes": ("naive_bayes", {"smoothing": 1e-3, "laplace": 1}),
    "naive_bayes kernels": ("naive_bayes", {"kernel": ["z"], "smoothing": 1e-3, "laplace": 1}),
    "naive_bayes available": ("naive_bayes", {"missing": "available", "smoothing": 1e-3, "laplace": 1}),
    "shrunken_centroids": ("shrunken_centroids", {"threshold": 0.5}),
    "nearest_centroid": ("nearest_centroid", {}),
    "knn": ("knn", {"k": 3}),
    "kernel_density": ("kernel_density", {"bandwidth": 0.8}),
    "logistic": ("logistic", {"bias_reduction": True}),
    "logistic lasso": ("logistic", {"penalty": Lasso(0.05)}),
    "kernel_lda": ("kernel_lda", {**KERNEL, "components": None, "scale": "categories"}),
    "kernel_lda landmarks": ("kernel_lda", {**KERNEL, "scale": "sd", "calibrate": False}),
    "kernel_lda random": ("kernel_lda", {**KERNEL, "scale": "sd", "components": RandomFeatures(60)}),
    "kernel_lda ranks": ("kernel_lda", {**KERNEL, "scale": "ranks"}),
    "pls": ("pls", {"ncomp": 2}),
    "sparse_lda": ("sparse_lda", {"nonzero": 2}),
}
FORMULAS = [
    "y ~ x + z + c",
    "y ~ e + x + c + z",
    "y ~ t + x + b + c + z",
    "y ~ c + standardize(x) + z",
]
MORE = [
    ("lda", {}, "y ~ x + z | c"),
    ("lda", {}, "y ~ z | c + x"),
    ("lda", {}, "y ~ c + x | b + z"),
    ("lda", {"collinear": "drop"}, "y ~ e + x + z | c"),
    ("naive_bayes", {"counts": ["n0", "n1"], "laplace": 1}, "y ~ n0 + c + n1"),
    (
        "naive_bayes",
        {"counts": ["n0", "n1"], "laplace": 1, "smoothing": 1e-3},
        "y ~ c + n0 + center(x) + b + n1",
    ),
]
# Variants of other cases that differ in the estimates and not in the levels.
VARIANTS = {
    "lda correspondence, share", "lda correspondence, chosen", "qda axes", "rda axes",
    "naive_bayes available", "kernel_lda ranks",
}  # fmt: skip


def is_sampled(i: int, name: str, j: int) -> bool:
    """Return whether verb `i` is tested with formula `j`: lda with all, the others with one in turn."""
    return name == "lda" or (name not in VARIANTS and (i + j) % len(FORMULAS) == 0)


CASES = [
    pytest.param(
        *VERBS[name],
        formula,
        marks=[] if is_sampled(i, name, j) else pytest.mark.exhaustive,
        id=f"{name} {j}",
    )
    for i, name in enumerate(VERBS)
    for j, formula in enumerate(FORMULAS)
] + MORE


def has_unseen_level(formula: str, train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Whether rows of a test table have a level that the training table lacks."""
    used = [name for name in ("c", "e") if name in formula.replace("center", "").replace("standardize", "")]
    return np.any(
        [~test[name].isin(train[name]).to_numpy() for name in used] or [np.zeros(len(test), bool)], 0
    )


def by_refits(verb, formula: str, data: pd.DataFrame, folds, **options) -> np.ndarray:
    """Posteriors (n, K) by a fit without each fold, missing for rows with an unseen level."""
    found = np.full((len(data), 3), np.nan)
    for fold in np.unique(folds):
        train, test = data[folds != fold], data[folds == fold]
        values = verb(formula, train, **options).predict_proba(test, unseen="missing").to_numpy(copy=True)
        values[has_unseen_level(formula, train, test)] = np.nan
        found[folds == fold] = values
    return found


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize(("name", "options", "formula"), CASES)
def test_folds_that_lose_a_level_or_a_column_equal_refits(name, options, formula):
    verb = getattr(discrim, name)
    options = options | {"prior": {"a": 0.2, "b": 0.5, "c": 0.3}} if name != "logistic" else options
    expected = by_refits(verb, formula, DATA, FOLDS, **options)
    validation = discrim.cross_validate(verb(formula, DATA, **options), FOLDS)
    values = validation.posteriors().to_numpy()
    unseen = np.isnan(expected).any(axis=1)
    assert unseen.sum() == (2 * ("c +" in formula or formula[-1] == "c")) + ("e +" in formula)
    np.testing.assert_array_equal(validation.labels[1].isna(), unseen)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-8)


ROWS = DATA.iloc[:30].assign(c=lambda d: d["c"].replace("rare", "u")).reset_index(drop=True)
ROWS.loc[7, "c"] = "single"
WITHOUT_LEAVE_ONE_OUT = {"lda em", "location, chosen", "logistic lasso"}
SLOW = {"plda", "sparse_lda", "logistic", "kernel_lda random", "kernel_lda landmarks"}


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(
            *VERBS[name],
            marks=[pytest.mark.exhaustive] * (name in VARIANTS) + [pytest.mark.slow] * (name in SLOW),
            id=name,
        )
        for name in VERBS
        if name not in WITHOUT_LEAVE_ONE_OUT
    ]
    + [("indicator", {})],
)
def test_rows_with_a_unique_level_have_no_held_out_prediction(name, options):
    fit = getattr(discrim, name)("y ~ x + z + c", ROWS, **options)
    with pytest.warns(discrim.errors.MissingPredictionWarning):
        left_out = fit.leave_one_out()
    assert left_out["label"].isna().to_numpy().nonzero()[0].tolist() == [7]
    assert fit.error_rates(["loo"])["total"].tolist() == [29]


AXIS = {"components": MultipleCorrespondence(1)}
LANDMARKS = {**KERNEL, "components": 20, "scale": "sd", "calibrate": False}


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize(
    ("name", "options", "formula"),
    [
        ("lda", AXIS, "y ~ c + x"),
        ("lda", AXIS, "y ~ x + b + z"),
        ("kernel_lda", LANDMARKS, "y ~ x + c"),
        ("kernel_lda", LANDMARKS, "y ~ c"),
    ],
)
def test_other_estimates_without_rows_answer_too(name, options, formula):
    fit = getattr(discrim, name)(formula, DATA, **options)
    rates = fit.error_rates(["cv", "632+"], seed=1, folds=4, replicates=5)
    fold_ids = discrim.cross_validate(fit, 4, seed=1)
    assert rates.loc["cv", "wrong"] == fold_ids.by_fold["wrong"].sum()
    assert rates["estimate"].between(0, 1).all()
    sets = fit.predict_set(method="cv", seed=1, folds=4)
    assert (sets["set"].isna() == fold_ids.labels[1].isna()).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.MissingPredictionWarning")
def test_fixed_choices_keep_features_of_the_fitted_columns():
    fit = discrim.kernel_lda("y ~ c + x", DATA, components=20, kernel="gaussian", scale="sd")
    found = discrim.cross_validate(fit, FOLDS, nested=False).posteriors()
    assert found["a"].isna().tolist() == (DATA["c"] == "rare").tolist()
    same = discrim.cross_validate(fit, FOLDS).posteriors()
    assert 1e-4 < np.nanmax(np.abs(found - same)) < 0.5


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
def test_a_fold_that_leaves_too_few_axes_is_named():
    fit = discrim.lda("y ~ b + x + z", DATA, components=MultipleCorrespondence(3))
    with pytest.raises(DiscrimError):
        discrim.lda("y ~ b + x + z", DATA[FOLDS != 0], components=MultipleCorrespondence(3))
    with pytest.raises(NotSupportedError) as caught:
        discrim.cross_validate(fit, FOLDS)
    # The class with the fewest observations outside the first fold: a 13, b 11, c 16.
    assert caught.value.classes == ("b",)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_a_number_that_varies_in_one_row_only_is_left_out_as_by_refits():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"y": list("ab") * 15, "c": list("uvwwvu") * 5, "e": rng.choice(list("pq"), 30)})
    data["z"] = np.r_[np.zeros(29), 5.0]
    options = {"components": MultipleCorrespondence(2), "collinear": "drop"}
    fit = discrim.lda("y ~ c + e + z", data, **options)
    expected = [
        discrim.lda("y ~ c + e + z", data.drop(index=i), prior=fit.prior, **options).predict_proba(
            data.loc[[i]]
        )
        for i in data.index
    ]
    found = fit.leave_one_out().iloc[:, 1:].astype(float)
    np.testing.assert_allclose(found, pd.concat(expected), rtol=1e-9)
