"""What would take more than the memory is refused before it is taken, with the size and a way out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.numerics import arrays
from discrim.errors import DataError

K, P = 200, 20


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    codes = np.arange(25 * K) % K
    return pd.DataFrame(rng.normal(size=(25 * K, P))).add_prefix("x").assign(y=codes)


SCATTERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "moments": lambda data: discrim.moments("y ~ .", data),
    "qda": lambda data: discrim.qda("y ~ .", data),
    "rda": lambda data: discrim.rda("y ~ .", data, alpha=0.5, gamma=0.5),
    "box_m": lambda data: discrim.box_m("y ~ .", data),
}


@pytest.mark.parametrize("verb", SCATTERS)
def test_class_scatter_matrices_above_the_memory_limit_raise(
    verb: str, data: pd.DataFrame, memory_of: Callable[[float], None]
) -> None:
    # Two scatters of each class, and so not the four that are held at times.
    memory_of(2 * 8.0 * 2 * K * P**2)
    with pytest.raises(DataError) as caught:
        SCATTERS[verb](data)
    assert "200" in str(caught.value)
    assert "take" in str(caught.value)
    discrim.lda("y ~ .", data)


TABLES: dict[str, Callable[[Any, pd.DataFrame], Any]] = {
    "predict_proba": lambda fit, data: fit.predict_proba(data),
    "leave_one_out": lambda fit, data: fit.leave_one_out(),
    "typicality": lambda fit, data: fit.typicality(data),
    "intervals": lambda fit, data: fit.posterior_intervals(data),
    "classification": lambda fit, data: fit.assess(method="apparent").classification(),
    "cv": lambda fit, data: fit.error_rates(["cv"]),
}


@pytest.mark.parametrize("what", TABLES)
def test_rows_by_classes_tables_above_the_memory_limit_raise(
    what: str, data: pd.DataFrame, memory_of: Callable[[float], None]
) -> None:
    fit = discrim.lda("y ~ .", data)
    memory_of(8.0 * len(data) * K)
    with pytest.raises(DataError) as caught:
        TABLES[what](fit, data)
    assert "take" in str(caught.value)
    assert "would" in str(caught.value)
    # The ways out: labels, and rates counted of labels.
    assert fit.predict(data).notna().all()
    assert 0 <= fit.error_rates(["apparent"])["estimate"].iloc[0] <= 1


def test_summary_notes_tests_that_exceed_memory(
    data: pd.DataFrame, memory_of: Callable[[float], None]
) -> None:
    fit = discrim.lda("y ~ .", data)
    memory_of(2 * 8.0 * 2 * K * P**2)
    text = str(fit.summary(sections=["equal_covariances"]))
    assert "Not tested. Means and a covariance of 20 columns for each of 200 classes" in " ".join(
        text.split()
    )


def test_class_pair_tables_above_the_memory_limit_raise(
    data: pd.DataFrame, memory_of: Callable[[float], None]
) -> None:
    fit = discrim.lda("y ~ .", data)
    memory_of(8.0 * K**2)
    for ask in (fit.confusion, fit.distances):
        with pytest.raises(DataError) as caught:
            ask()
        assert "200" in str(caught.value)
        assert "classes" in str(caught.value)


@pytest.mark.slow
def test_summary_of_very_many_classes_is_fast_and_short() -> None:
    rng = np.random.default_rng(1)
    codes = np.arange(20_000) % 10_000
    data = pd.DataFrame(rng.normal(size=(20_000, 90))).add_prefix("x").assign(y=codes)
    fit = discrim.lda("y ~ .", data)
    text = str(fit.summary())
    assert "see error_rates()" in text
    assert "10,000 classes by 90 columns: fit.means." in text
    assert "fit.log_odds()." in text
    assert "apparent" not in fit._fit.cache


PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
"""Prints the most memory that a process has had, in MB."""


def most_memory(*lines: str) -> float:
    code = "\n".join([*lines, PEAK])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
    )
    return float(done.stdout.split()[-1])


@pytest.mark.slow
def test_texts_never_become_dense() -> None:
    made = (
        "import numpy as np, scipy, sklearn.base, discrim.sklearn",
        "rng = np.random.default_rng(0)",
        "places = np.repeat(np.arange(6000), 20), rng.integers(0, 30000, 120000)",
        "x = scipy.sparse.csr_array((np.ones(120000), places), shape=(6000, 30000))",
        "y = rng.integers(0, 5, 6000)",
        "model = discrim.sklearn.NaiveBayesClassifier(counts=True, laplace=1.0)",
    )
    more = most_memory(*made, "model.fit(x, y).predict(x)") - most_memory(*made)
    # Of a table that is dense the numbers alone take 1,373.
    assert more < 250


@pytest.mark.slow
def test_very_many_classes_need_no_class_pair_table() -> None:
    made = (
        "import numpy as np, pandas as pd, discrim",
        "rng = np.random.default_rng(0)",
        "codes = np.arange(36000) % 12000",
        "data = pd.DataFrame(rng.normal(size=(36000, 5))).assign(y=codes)",
        "fit = discrim.lda('y ~ .', data)",
    )
    more = most_memory(*made, "str(fit.summary()); fit.predict(data[:500])") - most_memory(*made)
    # One such table takes 1,099.
    assert more < 700


def test_memory_limit_is_read_from_the_machine() -> None:
    assert arrays.available_memory() > 2**20
