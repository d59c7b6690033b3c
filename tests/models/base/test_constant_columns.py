"""Columns of one value tell nothing: every verb leaves them out, of all rows and of those of a fold."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import discrim
from discrim import cross_validate
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DiscrimWarning, DroppedColumnsWarning

RNG = np.random.default_rng(0)
IRIS = load_iris()
NOISY = IRIS.assign(**{name: IRIS[name] + RNG.normal(size=150) for name in IRIS.columns[:4]})
TWO = NOISY.assign(species=np.where(NOISY["species"] == "setosa", "s", "o"))
APART = IRIS.assign(species=TWO["species"])
FOLD = np.arange(150) % 2
ENGINE = LinearRegression()

CASES = [
    ("lda", {}),
    ("lda", {"covariance": "shrunk"}),
    ("lda", {"covariance": Shrunk("ledoit-wolf")}),
    ("qda", {"covariance": "shrunk"}),
    ("rda", {"alpha": 0.5, "gamma": 0.5}),
    ("rda", {"alpha": 0.5, "seed": 1, "grid": {"gamma": [0.0, 0.5]}}),
    ("naive_bayes", {"smoothing": 1e-3}),
    ("naive_bayes", {"smoothing": 1e-3, "kernel": ["sepal_width"]}),
    ("shrunken_centroids", {"threshold": 1.0}),
    ("shrunken_centroids", {"seed": 1}),
    ("sparse_lda", {"penalty": 0.05}),
    ("sparse_lda", {"seed": 1, "n_penalties": 4}),
    ("nearest_centroid", {}),
    ("pls", {"ncomp": 2}),
    ("pls", {"seed": 1}),
    ("logistic", {"bias_reduction": True}),
    ("indicator", {}),
    ("fda", {"engine": ENGINE}),
    ("kernel_lda", {"kernel": "laplace"}),
    ("kernel_lda", {"kernel": "gaussian", "width": 2.0, "ridge": 0.1}),
    ("perceptron", {"maxiter": 30}),
    ("hyperplane", {}),
    ("knn", {"k": 3}),
    ("knn", {"grid": [1, 3, 5]}),
    ("knn", {"k": 3, "scale": False}),
]
IDS = [f"{verb}-{'-'.join(options)}" for verb, options in CASES]


def table_of(verb):
    return APART if verb == "hyperplane" else TWO if verb == "logistic" else NOISY


def fitted(verb, data, formula="species ~ .", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        return getattr(discrim, verb)(formula, data, **options)


# Cases that differ from another of their verb in the estimates and not in the columns.
SIMILAR = {
    "lda-covariance", "rda-alpha-seed-grid", "shrunken_centroids-seed", "sparse_lda-seed-n_penalties",
    "kernel_lda-kernel", "knn-k-scale",
}  # fmt: skip
ALL_CASES = pytest.mark.parametrize(
    ("verb", "options"),
    [
        pytest.param(*case, marks=[pytest.mark.exhaustive] * (name in SIMILAR), id=name)
        for case, name in zip(CASES, IDS, strict=True)
    ],
)


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@ALL_CASES
def test_a_constant_column_is_left_out_and_named(verb, options, tmp_path):
    data = table_of(verb)
    # A tenth is no binary number; a category of one level is constant, too.
    more = data.assign(tenth=0.1, far=1e9, word="same", gap=[np.nan, *np.ones(149)])[1:]
    more = more.assign(gap=lambda d: d["gap"].where(d.index != 3))
    with pytest.warns(DroppedColumnsWarning, match=r"'tenth'.*'far'.*'word'.*'gap'"):
        fit = getattr(discrim, verb)("species ~ .", more, **options)
    without = fitted(verb, data[1:], **options)
    assert list(fit.terms) == list(without.terms)
    # A row that misses only what is left out is used, and new rows need not have it.
    assert fit.nobs == without.nobs == 149
    pd.testing.assert_series_equal(fit.predict(), without.predict())
    pd.testing.assert_series_equal(fit.predict(data), without.predict(data))
    assert "'tenth', 'far' and 2 more" in fit.summary().as_text()
    if verb != "fda":
        fit.save(tmp_path / "fit")
        loaded = discrim.load(tmp_path / "fit")
        pd.testing.assert_series_equal(loaded.predict(data), fit.predict(data))
        assert "'tenth', 'far' and 2 more" in loaded.summary().as_text()
    options = {name: value for name, value in options.items() if name != "kernel"}
    with pytest.raises(CollinearError) as caught:
        getattr(discrim, verb)("species ~ a + b", data.assign(a=1.0, b=2), **options)
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)


@ALL_CASES
def test_a_column_that_is_constant_without_a_fold_is_left_out_there(verb, options):
    data = table_of(verb).assign(rare=np.where(np.arange(150) == 7, 1.0, 0.0))
    fit = fitted(verb, data, **options)
    assert "rare" in fit.terms
    found = cross_validate(fit, folds=FOLD).labels[1]
    # The other models estimate the prior again, or have none.
    is_refitted = verb in ("indicator", "perceptron", "hyperplane", "logistic", "knn")
    held = {} if is_refitted else {"prior": fit.prior}
    by_hand = pd.concat(
        [fitted(verb, data[f != FOLD], **options, **held).predict(data[f == FOLD]) for f in range(2)]
    ).sort_index()
    assert (found.astype(str) == by_hand.astype(str)).all()
    assert fit.error_rates(["cv"], folds=2, seed=1)["estimate"].notna().all()


def test_moments_warn_of_constant_columns_when_fitted():
    halves = [NOISY.assign(a=0.1, b=float(half))[half::2] for half in (0, 1)]
    first = discrim.moments("species ~ .", halves[0])
    whole = first + first.of(halves[1])
    with pytest.warns(DroppedColumnsWarning, match="'a'"):
        fit = discrim.lda(moments=whole)
    assert list(fit.terms) == [*NOISY.columns[:4], "b"]


def test_constant_columns_are_dropped_before_columns_are_compared_with_rows():
    many = pd.DataFrame(np.zeros((150, 200))).add_prefix("z").assign(**NOISY)
    for verb, data in (("lda", many), ("indicator", many), ("logistic", many.assign(species=TWO["species"]))):
        fit = fitted(verb, data)
        assert list(fit.terms) == list(NOISY.columns[:4])


def test_constant_counts_contribute_to_the_total():
    words = pd.DataFrame(RNG.poisson(3, (40, 3)), columns=list("uvw")).assign(still=2, y=list("ab") * 20)
    fit = discrim.naive_bayes("y ~ .", words, counts=True)
    assert "still" in fit.terms


# ------------------------------------------------------------------ collinear="drop"


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("lda", {}),
        ("lda", {"covariance": Shrunk(0.0)}),
        ("indicator", {}),
        ("logistic", {"bias_reduction": True}),
    ],
)
def test_folds_drop_collinear_columns_again(verb, options):
    data = table_of(verb)
    # The first sum is exact in all rows, the second but for one row, which a fold holds.
    data = data.assign(total=data["sepal_width"] + data["petal_width"], near=data["sepal_length"] * 2)
    data.loc[7, "near"] += 1.0
    fit = fitted(verb, data, collinear="drop", **options)
    assert "near" in fit.terms
    assert "total" not in fit.terms
    found = cross_validate(fit, folds=FOLD).labels[1]
    held = {"prior": fit.prior} if verb == "lda" else {}
    by_hand = [
        fitted(verb, data[f != FOLD], collinear="drop", **options, **held).predict(data[f == FOLD])
        for f in range(2)
    ]
    assert (found.astype(str) == pd.concat(by_hand).sort_index().astype(str)).all()
    ways = ["cv"] if verb == "logistic" else ["loo", "cv", "632+"]
    rates = fit.error_rates(ways, folds=2, seed=1, replicates=5)
    assert rates["estimate"].notna().all()


def test_rows_with_missing_values_only_in_dropped_columns_are_used():
    data = NOISY.assign(total=NOISY["sepal_width"] + NOISY["petal_width"])
    data.loc[3, "total"] = np.nan
    with pytest.warns(DroppedColumnsWarning, match="'total'"):
        fit = discrim.lda("species ~ .", data, collinear="drop")
    without = discrim.lda("species ~ .", NOISY)
    assert fit.nobs == 150
    pd.testing.assert_frame_equal(fit.coef, without.coef)
    pd.testing.assert_series_equal(fit.predict(NOISY), without.predict())
