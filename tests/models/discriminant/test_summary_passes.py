"""The summaries of LDA and QDA read the rows of the fit twice, and say what separate readings say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discrim import lda, qda
from discrim.datasets import load_iris
from discrim.design.design_rows import DesignRows
from discrim.errors import DataError
from tests.support import record_calls
from tests.turns import one_in

IRIS = load_iris()


@pytest.fixture
def readings() -> Iterator[list[dict[str, Any]]]:
    """Readings of a table, one entry each."""
    with record_calls(DesignRows.__iter__, DesignRows.iter_with_callback, DesignRows.iter_all_rows) as begun:
        yield begun


def spoilt() -> pd.DataFrame:
    """Iris with missing values, a missing class, a category and weights, some of them zero."""
    rng = np.random.default_rng(3)
    data = IRIS.assign(kind=rng.choice(["a", "b"], len(IRIS)), times=rng.integers(0, 3, len(IRIS)))
    data.loc[[3, 70], "sepal_width"] = np.nan
    data.loc[9, "species"] = None
    return data


def many() -> pd.DataFrame:
    """Rows of several blocks, in no order."""
    return IRIS.sample(20_000, replace=True, random_state=1).reset_index(drop=True) + pd.Series(
        {name: 0.0 if name != "species" else "" for name in IRIS}
    )


CASES: dict[str, tuple[str, pd.DataFrame, dict[str, Any]]] = {
    "plain": ("species ~ .", IRIS, {}),
    "transformed": ("species ~ log(sepal_length) + petal_width", IRIS, {}),
    "missing": ("species ~ sepal_length + sepal_width + kind", spoilt(), {"weights": "times"}),
    "many": ("species ~ .", many(), {}),
    "mle": ("species ~ .", IRIS, {"method": "mle", "prior": "equal"}),
}


@one_in(2, {"case": CASES, "verb": [lda, qda]})
def test_a_summary_reads_the_rows_twice(verb: Any, case: str, readings: list[Any]) -> None:
    formula, data, options = CASES[case]
    fit = verb(formula, data, **options)
    assert readings
    readings.clear()
    text = str(fit.summary())
    assert 1 <= len(readings) <= 2
    readings.clear()
    assert str(fit.summary()) == text
    assert readings == []


def test_axes_without_leave_one_out_are_no_exception(readings: list[Any]) -> None:
    fit = lda("species ~ .", IRIS, ncomp=1)
    readings.clear()
    fit.summary()
    assert 1 <= len(readings) <= 2


@one_in(2, {"case": CASES, "verb": [qda, lda]})
def test_one_reading_says_what_several_say(verb: Any, case: str) -> None:
    formula, data, options = CASES[case]
    together, apart = verb(formula, data, **options), verb(formula, data, **options)
    text = str(together.summary())
    for method in ("apparent", "loo"):
        pd.testing.assert_frame_equal(together.error_rates([method]), apart.error_rates([method]), rtol=0)
        assert together.confusion(method=method).equals(apart.confusion(method=method))
    assert together.leave_one_out().equals(apart.leave_one_out())
    tests = together.summary(["equal_covariances"]).tables["equal_covariances"]
    alone = apart.summary(["equal_covariances"]).tables["equal_covariances"]
    assert tests.equals(alone)
    box = apart.box_m().table.drop(index="Box's M")["statistic"]
    assert alone["statistic"].iloc[1:].tolist() == box.tolist()
    assert str(apart.summary()) == text


@pytest.mark.parametrize("verb", [lda, qda])
def test_only_what_is_asked_for_is_computed(verb: Any, readings: list[Any]) -> None:
    fit = verb("species ~ .", IRIS)
    readings.clear()
    fit.summary(["equal_covariances"])
    assert set(fit._fit.cache) == {"equal covariances"}
    fit = verb("species ~ .", IRIS)
    fit.summary(["header"])
    assert "equal covariances" not in fit._fit.cache


@pytest.mark.parametrize("sections", [None, ["equal_covariances"]])
def test_a_table_that_changed_is_refused_after_a_summary(sections: list[str] | None) -> None:
    data = IRIS.drop(columns="species").to_numpy(copy=True)
    table = pd.DataFrame(data, columns=IRIS.columns[:4], copy=False)
    table["species"] = IRIS["species"]
    fit = lda("species ~ .", table)
    fit.summary()
    data += 1.0
    with pytest.raises(DataError) as caught:
        fit.summary(sections)
    assert caught.value.columns == ("sepal_length",)
    assert caught.value.rows == (0,)
