"""Options with values of another type raise an error that names the option."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, DiscrimError
from discrim.subspace import OrthogonalPLS

RNG = np.random.default_rng(0)
DATA = pd.DataFrame({"x": RNG.normal(size=45) + np.repeat([0, 1, 2], 15), "z": RNG.normal(size=45)})
DATA["y"] = np.repeat(["a", "b", "c"], 15)
TWO = np.array([1.0, 2.0])
HUGE = 10**400


@pytest.fixture(scope="module")
def fits():
    return {
        "lda": discrim.lda("y ~ x + z", DATA),
        "knn": discrim.knn("y ~ x + z", DATA, k=3),
        "indicator": discrim.indicator("y ~ x + z", DATA),
        "naive_bayes": discrim.naive_bayes("y ~ x + z", DATA),
        "shrunken_centroids": discrim.shrunken_centroids("y ~ x + z", DATA, threshold=0.1),
        "pls": discrim.pls("y ~ x + z", DATA, ncomp=1),
    }


@pytest.mark.parametrize(
    ("verb", "option", "values"),
    [
        ("lda", "prior", [HUGE, TWO, object(), pd.NA]),
        ("lda", "covariance", [TWO, pd.NA, None, 3, "VXV", {}]),
        ("lda", "components", [TWO, pd.NA, 0, "two", {}, []]),
        ("qda", "covariance", [TWO, pd.NA, None, 3, "VXV", {}]),
        ("lda", "functions", ["f", 3, [abs], abs, TWO, pd.NA]),
        ("rda", "alpha", [HUGE, TWO, "a"]),
        ("rda", "gamma", [HUGE, TWO, "a"]),
        ("naive_bayes", "laplace", [HUGE, TWO, True]),
        ("naive_bayes", "smoothing", [HUGE, TWO, None]),
        ("shrunken_centroids", "threshold", [HUGE, TWO, "a"]),
        ("shrunken_centroids", "offset", [HUGE, TWO, "mean"]),
        ("pls", "ncomp", [HUGE, TWO, "a", 1.5]),
        ("pls", "algorithm", [HUGE, TWO, "a", 1.5, OrthogonalPLS]),
        ("pls", "within", [HUGE, TWO, 1.5]),
        ("pls", "rule", [TWO, pd.NA, 3]),
        ("pls", "scale", [TWO, pd.NA, 1]),
        ("pls", "grid", [TWO, 3, ["a"]]),
        ("kernel_density", "bandwidth", [HUGE, TWO, 0, -1.0, "wide", {}, np.nan]),
        ("kernel_density", "grid", [HUGE, "a", [], [-1.0], 3]),
        ("kernel_density", "kernel", [HUGE, "cosine", None]),
        ("kernel_density", "metric", [HUGE, "cityblock", None]),
        ("mixture", "components", [HUGE, TWO, 0, "two", {}, []]),
        ("mixture", "covariance", [HUGE, TWO, "VXV", {}, None]),
        ("mixture", "over", [HUGE, "rows"]),
        ("mixture", "most", [0, TWO, "a", 1.5]),
        ("mixture", "starts", [0, TWO, "a"]),
        ("mixture", "seed", [-1, "a", 0.5, None]),
        ("mixture", "tol", [HUGE, -1.0, "a", np.nan]),
        ("mixture", "maxiter", [0, "a", TWO]),
        ("sparse_lda", "penalty", [HUGE, "a", np.nan, [], {}]),
        ("sparse_lda", "nonzero", [HUGE, "a", 1.5, True, []]),
        ("sparse_lda", "ridge", [HUGE, TWO, "a", None]),
        ("sparse_lda", "ncomp", [HUGE, TWO, 0]),
        ("sparse_lda", "n_penalties", [HUGE, TWO, 1]),
        ("sparse_lda", "grid", [HUGE, "a", [-1.0]]),
        ("logistic", "na_action", [TWO, pd.NA, 3]),
        ("logistic", "bias_reduction", [TWO, pd.NA, "no", 1]),
        ("logistic", "penalty", [TWO, pd.NA, "l2", True]),
        ("perceptron", "step", [HUGE, TWO, "a", True]),
        ("perceptron", "maxiter", [True, 2.5, TWO]),
        ("choose", "by", ["accuracy", 3, TWO, None]),
        ("choose", "candidates", ["lda", 3, TWO, [1], {1: "lda"}, {"a": 3}]),
        ("choose", "seconds", [TWO, "a", -1, True]),
        ("choose", "select", ["best", 3, TWO, None]),
        ("stepwise", "enter", [TWO, "a", pd.NA, 1j, -1, 2]),
        ("stepwise", "stay", [TWO, "a", pd.NA, 1j, -1, 2]),
        ("stepwise", "by", [TWO, "a", pd.NA, None]),
        ("stepwise", "tolerance", [TWO, "a", pd.NA, 1j, 1, -1]),
        ("stepwise", "include", [3, [1], TWO, True, None]),
        ("manova", "method", ["wilks", 3, TWO, [], True]),
        ("manova", "permutations", [0, -1, "a", 2.5, TWO, True, HUGE, pd.NA]),
        ("manova", "distance", ["no", 3, True, TWO, [], {}, pd.NA]),
        ("manova", "seed", [-1, "a", TWO]),
        ("permanova", "permutations", [0, -1, "a", 2.5, TWO, True, HUGE, None, pd.NA]),
        ("permanova", "distance", ["no", 3, True, TWO, [], {}, None, pd.NA]),
        ("permanova", "within", [3, TWO, True, pd.NA, [], lambda: 1]),
        ("permanova", "groups", [3, TWO, True, pd.NA, [], lambda: 1]),
        ("permanova", "seed", [-1, "a", 0.5, TWO, True]),
        ("permanova", "type", [4, "no", TWO, True, pd.NA]),
        ("permanova", "na_action", [3, "no", TWO]),
        ("sphericity_test", "method", ["mauchly", 3, TWO, None, True]),
        ("box_m", "method", ["box", 3, TWO, [], True]),
        ("manova", "term", [3, TWO, [], pd.NA, np.array([1.0, 2.0])]),
        ("stepwise", "verb", ["no such verb", 3, TWO, lambda: 1, lambda *args, **options: 1]),
    ],
)
def test_options_of_verbs(verb, option, values):
    for value in values:
        with pytest.raises(DiscrimError, match=option):
            getattr(discrim, verb)("y ~ x + z", DATA, **{option: value})


@pytest.mark.parametrize(
    ("verb", "method", "option", "values"),
    [
        ("lda", "anova", "adjust", [3, TWO, [], pd.NA]),
        ("lda", "confusion", "method", [3, TWO, None, pd.NA]),
        ("lda", "confusion", "costs", [HUGE, "a", {}]),
        ("lda", "error_rates", "methods", [3, True, [3], "no"]),
        ("lda", "error_rates", "by_class", [TWO, pd.NA, "no", 1]),
        ("lda", "log_odds", "level", ["a", TWO, pd.NA, 1j, None, np.array(["a"])]),
        ("lda", "log_odds", "debiased", [TWO, pd.NA, "no"]),
        ("lda", "tidy", "level", ["a", TWO, pd.NA, 1j, None]),
        ("lda", "plot", "ax", ["a", 3, TWO]),
        ("lda", "predict", "reject", [HUGE]),
        ("lda", "predict", "outlier", [HUGE]),
        ("lda", "predict", "prior", [HUGE]),
        ("knn", "plot", "kind", [TWO, pd.Series([1, 2]), 3]),
        ("knn", "plot", "ax", ["a", 3]),
        ("indicator", "coefficients", "level", ["a", TWO, None]),
        ("indicator", "plot", "columns", [TWO, pd.NA, 3]),
        ("indicator", "plot", "ax", ["a", 3]),
        ("shrunken_centroids", "survivors", "threshold", [HUGE, "a"]),
        ("shrunken_centroids", "plot", "ax", ["a", 3]),
        ("pls", "vip", "ncomp", [HUGE, TWO, "a", 2]),
        ("pls", "q2", "folds", [HUGE, TWO, "a"]),
        ("pls", "permutation_test", "n", [HUGE, TWO, "a", 0]),
        ("pls", "vip", "part", [TWO, "a", 1]),
        ("pls", "s_plot", "component", [HUGE, TWO, "a", 2]),
        ("pls", "s_plot", "units", [TWO, "a", 2]),
    ],
)
def test_options_of_methods(fits, verb, method, option, values):
    for value in values:
        with pytest.raises(DiscrimError, match=option):
            getattr(fits[verb], method)(**{option: value})


@pytest.mark.parametrize("value", [[], {}, TWO, pd.NA, ["a"], {"a"}])
def test_labels_and_terms_that_are_none(fits, value):
    with pytest.raises(DataError) as caught:
        fits["lda"].log_odds(value)
    assert "class" in str(caught.value)
    with pytest.raises(DiscrimError):
        fits["lda"].boundary("a", value)
    with pytest.raises(DiscrimError):
        fits["naive_bayes"].density(value)


def test_intervals_of_an_empty_table_are_empty(fits):
    found = fits["lda"].posterior_intervals(DATA.head(0))
    assert found.shape == (0, 9)


@pytest.mark.parametrize("second", ["lda", "knn", None, 3, "a"])
def test_hausman_accepts_a_logistic_fit(fits, second):
    other = fits.get(second, second) if isinstance(second, str) else second
    with pytest.raises(DataError) as caught:
        discrim.hausman(fits["lda"], other)
    assert "hausman()" in str(caught.value)
    assert f"type {type(other).__name__}" in str(caught.value)
    assert "logistic()" in caught.value.hint
    with pytest.raises(DiscrimError):
        discrim.hausman(other, fits["lda"])
