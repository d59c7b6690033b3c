"""Classes and columns may have any name: no table has two columns or two rows of one name."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris
from discrim.models.base.labels import make_unique_name
from tests.contract import fits

pytestmark = pytest.mark.filterwarnings("ignore")
FLOWERS = ("setosa", "versicolor", "virginica")
HOSTILE = [
    ("label", "total", "prior"), ("pooled", "estimate", "se"), ("set", "actual", "predicted"),
    ("all", "columns", "penalty"), ("constant", "within", "between"), ("rows", "low", "high"),
    ("class", "term", "index"), ("0", "1", "label_"), ("None", "nan", "total_"), ("LD1", "mean", "sd"),
]  # fmt: skip
FEW = ("lda", "qda", "logistic, ridge", "sparse_lda", "compare, log odds", "cross_validate", "mixture")
"""Fits whose tables are, between them, all that have a name beside those of the classes."""


def iris_with_names(names: tuple[str, ...]) -> pd.DataFrame:
    iris = load_iris()[::3].reset_index(drop=True)
    return iris.assign(species=iris["species"].astype(str).map(dict(zip(FLOWERS, names, strict=True))))


def result_tables(result: Any, iris: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables that a result returns for its own rows and for new rows."""
    found = dict(fits.result_tables(result))
    for name, options in {
        "predict_set": {}, "augment": {}, "typicality": {}, "posterior_intervals": {}, "predict_proba": {},
    }.items():  # fmt: skip
        with suppress(AttributeError, ValueError):
            found[f"new {name}"] = getattr(result, name)(iris[::5], **options)
    with suppress(AttributeError, ValueError):
        found["loo"] = result.leave_one_out()
    with suppress(AttributeError, ValueError):
        found["log_determinants"] = result.log_determinants()
    return found


def repeat_rows(table: pd.DataFrame) -> list[Any]:
    return table.columns[table.columns.duplicated()].tolist() + table.index[table.index.duplicated()].tolist()


@cache
def names_beside_classes() -> frozenset[str]:
    """Return the labels that stand next to names of classes in some table."""
    plain = ("kla", "klb", "klc")
    iris, found = iris_with_names(plain), set()
    for name in FEW:
        for table in result_tables(fits.MADE[name](iris, iris[17:]), iris).values():
            for axis in (table.columns, table.index):
                for level in range(axis.nlevels):
                    words = {str(each) for each in axis.get_level_values(level)}
                    if words & set(plain):
                        found |= words - set(plain)
    return frozenset(word for word in found if not re.search("kl[abc]|^sepal|^petal|^[0-9]|^LD", word))


@pytest.mark.slow
def test_hostile_names_cover_all_names_next_to_classes():
    assert names_beside_classes() - {"species"} <= {word for names in HOSTILE for word in names}


CASES = [(name, names) for names in HOSTILE for name in FEW]
CASES += [
    (name, HOSTILE[k % 4]) for k, name in enumerate(name for name in fits.MADE if name not in (*FEW, "bayes"))
]
"""Those few with all names; every other fit with one of the first four, by turns."""


def marks_of(name: str, names: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    """Return no mark for some names of qda(), slow for a third of the others, exhaustive for the rest."""
    turn = HOSTILE.index(names)
    if name == "qda" and turn % 2 == 0:
        return []
    is_turn = name not in FEW or (turn + FEW.index(name)) % 3 == 0
    return [pytest.mark.slow if is_turn else pytest.mark.exhaustive]


@pytest.mark.parametrize(
    ("name", "names"),
    [pytest.param(*case, marks=marks_of(*case)) for case in CASES],
    ids=str,
)
def test_names_in_tables_are_distinct(name, names):
    iris = iris_with_names(names)
    made = fits.MADE[name](iris, iris[17:])
    for path, table in result_tables(made, iris).items():
        assert path.endswith("tidy") or not repeat_rows(table), path
    if hasattr(made, "summary"):
        summary = made.summary()
        for text in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_markdown()):
            assert text


def test_the_rule_is_that_classes_keep_their_names():
    assert make_unique_name("total", ["a", "b"]) == "total"
    assert make_unique_name("total", ["total", 3, None]) == "total_"
    assert make_unique_name("total", ["total_", "total"]) == "total__"
    names = ("label", "set", "total")
    iris, plain = iris_with_names(names), iris_with_names(FLOWERS)
    fit, usual = discrim.lda("species ~ .", iris), discrim.lda("species ~ .", plain)
    left_out = fit.leave_one_out()
    assert left_out.columns.tolist() == ["label_", "label", "set", "total"]
    np.testing.assert_allclose(left_out[list(names)], usual.leave_one_out()[list(FLOWERS)], rtol=1e-12)
    assert fit.predict_set(iris).columns.tolist() == ["set_", "label", "set", "total"]
    table = fit.assess(method="apparent").classification().table
    assert table.columns.tolist() == [*names, "total_"]
    assert table.loc[("total_", "rows"), "total_"] == len(iris)
    assert fit.assess().brier.index.tolist() == [*names, "total_"]
    # Without such a class the words are as ever.
    assert usual.leave_one_out().columns[0] == "label"
    assert usual.assess(method="apparent").classification().table.columns[-1] == "total"
