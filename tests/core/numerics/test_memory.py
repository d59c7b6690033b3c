"""Results larger than the memory are refused before they are computed, and weights that no double holds."""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discrim import indicator, lda, logistic, moments, naive_bayes, qda, rda, shrunken_centroids, stepwise
from discrim.cli.reading import read_table
from discrim.core.numerics import arrays
from discrim.errors import CollinearError, DataError, DiscrimError, DiscrimWarning

RNG = np.random.default_rng(0)


def wide(n, p):
    data = pd.DataFrame(RNG.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    return data.assign(y=np.resize(["a", "b"], n))


@pytest.fixture
def small_machine(memory_of):
    """A machine of 64 MiB."""
    memory_of(2.0**26)


def test_available_memory_is_plausible():
    assert 2**28 < arrays.available_memory() < 2**50


def test_results_up_to_half_of_the_memory_are_computed(small_machine):
    arrays.check_memory(2.0**22, "A table", "Ask for less")
    with pytest.raises(DataError) as caught:
        arrays.check_memory(2.0**22 + 1, "A table", "Ask for less")
    assert "memory" in str(caught.value)
    assert "take" in str(caught.value)


@pytest.mark.parametrize("verb", [lda, qda, rda, indicator])
def test_categories_with_many_levels_are_refused_with_a_working_hint(verb, small_machine):
    n = 3000
    data = pd.DataFrame({"y": np.resize(["a", "b"], n), "g": [f"g{i // 2}" for i in range(n)]})
    with pytest.raises(DataError) as caught:
        verb("y ~ g", data)
    assert "naive_bayes()" in str(caught.value)
    naive_bayes("y ~ g", data)


@pytest.mark.parametrize("verb", [qda, moments])
def test_columns_of_few_rows_are_refused_by_size(verb, small_machine):
    with pytest.raises((DataError, CollinearError), match=r"GiB|too few"):
        verb("y ~ .", wide(20, 2000))


def test_steps_through_columns_of_few_rows_take_little_memory(small_machine):
    """The first column that enters is the one of the largest F of an analysis of variance."""
    data = wide(20, 2000)
    x, first = data.drop(columns="y"), data["y"] == "a"
    f = stats.f_oneway(x[first].to_numpy(), x[~first].to_numpy()).statistic
    assert stepwise("y ~ .", data).steps["term"].iloc[0] == x.columns[int(np.argmax(f))]


def test_quadratic_discriminants_of_few_rows_are_refused_before_products():
    data = wide(20, 6000)
    began = time.perf_counter()
    with pytest.raises(CollinearError) as caught:
        qda("y ~ .", data)
    assert "'a'" in str(caught.value)
    # Two products of 6,000 columns would take ten times as long.
    assert time.perf_counter() - began < 5
    qda("y ~ .", data, covariance="shrunk")


def test_moments_of_few_rows_equal_merged_parts():
    data = wide(20, 600)
    whole, parts = moments("y ~ .", data), moments("y ~ .", data[:7])
    parts = parts + parts.of(data[7:])
    np.testing.assert_allclose(whole.cov, parts.cov, rtol=1e-9, atol=1e-12)
    own = data[data["y"] == "a"].drop(columns="y")
    np.testing.assert_allclose(whole.covs["a"], own.cov(), rtol=1e-9, atol=1e-12)


def test_stepwise_fit_equals_fit_to_the_chosen_columns():
    data = wide(20, 700)
    found = stepwise("y ~ .", data, enter=0.01, stay=0.02)
    fewer = stepwise("y ~ " + " + ".join(found.selected), data, enter=0.01, stay=0.02)
    assert fewer.selected.tolist() == found.selected.tolist()
    # The last steps take what rounding leaves of as many columns as there are degrees of freedom.
    np.testing.assert_allclose(found.steps["wilks"][:10], fewer.steps["wilks"][:10], rtol=1e-9)


def test_too_large_tables_of_classes_are_refused(small_machine):
    n = 9000
    data = pd.DataFrame({"y": [f"c{i // 2}" for i in range(n)], "x": RNG.normal(size=n)})
    with pytest.raises(DataError) as caught:
        logistic("y ~ x", data)
    assert "8,998" in str(caught.value)
    assert "4,500" in str(caught.value)
    fit = lda("y ~ x", data)
    with pytest.raises(DataError) as caught:
        fit.predict_proba()
    assert "predict()" in str(caught.value)
    assert len(fit.predict()) == n
    with pytest.raises(DataError) as caught:
        fit.confusion()
    assert "predict()" in str(caught.value)


# ---- weights

VERBS = [lda, qda, naive_bayes, logistic, indicator, partial(shrunken_centroids, threshold=0.5)]


@pytest.mark.filterwarnings("ignore::discrim.errors.UninformativeFitWarning")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("weight", [1e300, 1e307, 1.7e308, 5e-324])
def test_weights_out_of_range_are_refused_with_a_working_hint(verb, weight):
    data = pd.DataFrame({"x": RNG.normal(size=60), "z": RNG.normal(size=60), "y": np.resize(["a", "b"], 60)})
    weights = np.full(60, weight)
    with pytest.raises(DataError) as caught:
        verb("y ~ x + z", data, weights=weights)
    assert "Divide" in str(caught.value)
    assert "double" in str(caught.value)
    fit = verb("y ~ x + z", data, weights=weights / weights.max())
    assert fit.predict().tolist() == verb("y ~ x + z", data).predict().tolist()


@pytest.mark.parametrize(
    ("weight", "verb"),
    # The search of a logistic regression takes seconds under weights as large as these.
    [
        pytest.param(weight, verb, marks=[pytest.mark.slow] * (verb is logistic and weight > 1))
        for weight in (1e107, 1e-100)
        for verb in VERBS
    ],
)
def test_weights_within_range_have_summaries_without_overflow(verb, weight):
    data = pd.DataFrame({"x": RNG.normal(size=60), "z": RNG.normal(size=60), "y": np.resize(["a", "b"], 60)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        try:
            fit = verb("y ~ x + z", data, weights=np.full(60, weight))
        except DiscrimError:
            assert weight < 1
            return
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit.summary().as_text()


@pytest.mark.slow
def test_duplicate_among_many_names_is_found_quickly(tmp_path):
    names = [f"x{j}" for j in range(15_000)]
    names[10_000] = "x7"
    data = pd.DataFrame(np.zeros((2, len(names))), columns=names).assign(y=["a", "b"])
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n")
    for read in (lambda: naive_bayes("y ~ .", data), lambda: read_table(str(tmp_path / "wide.csv"))):
        began = time.process_time()
        with pytest.raises(DataError) as caught:
            read()
        assert "'x7'" in str(caught.value)
        assert time.process_time() - began < 2.5
