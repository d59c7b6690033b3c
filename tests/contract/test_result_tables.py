"""Tables that verbs and methods return print all columns, compute as DataFrames and use standard names."""

from __future__ import annotations

import html
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris
from discrim.errors import SeparationError
from discrim.models.selection.comparison import Comparison
from discrim.report import result_table
from discrim.report.grid import ROW_LIMITS, display_width
from discrim.report.result_table import MAX_COLUMNS, ResultTable
from tests.contract.fits import ALIKE_FOR_ALL, FITS, SLOW_TABLES, fitted, mark_slow_cases, result_tables

IRIS = load_iris()
WIDTH = 80

BROOM = {"estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"}
"""Columns of `tidy()` and of no other table."""

SYNONYMS = re.compile(
    r"std[_ .]?err|std_?error|stderr|^bse|standard|p[_-]?val|^prob$|^pr$|^P ?>|[<>|]|^\[?0\.\d+\]?$|"
    r"conf_|^ci|_ci$|^lower|^upper|^lcl|^ucl|^[tzf]_?(value|stat)|^coefs?icient|^estimates$|^dof|d\.f|^n_?obs_",
    re.IGNORECASE,
)
"""Other names of: estimate or coef, se, z, t, F, df, p, low, high."""

KEPT = {
    "bounds": {"lower"},  # A theorem's bound beside Chernoff's and Bhattacharyya's, no end of an interval.
}


@pytest.fixture(autouse=True)
def terminal():
    """The options of pandas in a terminal of 80 characters."""
    with pd.option_context("display.max_columns", 0, "display.width", WIDTH):
        yield


def column_names(table):
    return [str(name[-1] if isinstance(name, tuple) else name) for name in table.columns]


def without_elided_rows(text):
    """Lines of a printed table, without the lines of dots that stand for rows left out."""
    return [line for line in text.splitlines() if set(line) - set(" .\\")]


def check_printed(table, place):
    lines = without_elided_rows(str(table))
    assert max(map(display_width, lines)) <= WIDTH, place
    words = re.split(r"[\s\\,\[\]]+", " ".join(lines))
    assert "..." not in words, place
    missing = [name for name in column_names(table) if not set(name.split()) <= set(words)]
    assert not missing, (place, missing)
    page = table._repr_html_()
    missing = [name for name in column_names(table) if html.escape(name, quote=False) not in page]
    assert not missing, (place, missing)
    if len(table) <= ROW_LIMITS[0]:
        assert ">...<" not in page, place
        assert ">…<" not in page, place


def check_operations(table, place):
    plain = pd.DataFrame(table).copy()
    assert type(plain) is pd.DataFrame
    for derived, expected in (
        (table.copy(), plain),
        (pickle.loads(pickle.dumps(table)), plain),
        (table.iloc[:1], plain.iloc[:1]),
        (table[list(table.columns[:1])], plain[list(table.columns[:1])]),
        (pd.concat([table, table]), pd.concat([plain, plain])),
    ):
        assert type(derived) is pd.DataFrame, place
        pd.testing.assert_frame_equal(derived, expected)
    pd.testing.assert_frame_equal(pd.DataFrame(table.T), plain.T)
    assert table.to_csv() == plain.to_csv(), place
    assert table.equals(plain), place
    assert plain.equals(table), place


def describe_structure(table):
    """Return the class of a table, its numbers of levels and the kinds of its columns."""
    kinds = frozenset(dtype.kind for dtype in table.dtypes)
    return type(table), table.index.nlevels, table.columns.nlevels, kinds


@pytest.fixture(scope="module", params=mark_slow_cases(FITS, SLOW_TABLES))
def walked(request):
    """The name of a result and its tables, which are computed once for the tests of this module."""
    name = request.param
    skipped = () if name in ("lda", "logistic", "hyperplane") else ALIKE_FOR_ALL
    return name, list(result_tables(fitted(name), skipped=skipped))


def test_every_returned_table_prints_all_columns(walked):
    name, tables = walked
    wide = [(f"{name}.{path}", table) for path, table in tables if table.shape[1] > 1]
    assert wide
    for place, table in wide:
        check_printed(table, place)
    for place, table in {describe_structure(table): (place, table) for place, table in wide}.values():
        check_operations(table, place)


def names_in(table: pd.DataFrame) -> set[str]:
    """Return the names of columns at all levels."""
    levels = [table.columns.get_level_values(i) for i in range(table.columns.nlevels)]
    return {str(name) for level in levels for name in level}


def test_tables_use_no_synonyms(walked):
    name, tables = walked
    assert tables
    for path, table in tables:
        last = path.rpartition(".")[2]
        names = names_in(table) - KEPT.get(last, set())
        if last == "tidy":
            names -= BROOM
            assert not names & {"se", "p", "low", "high", "z", "t", "coef"}, f"{name}.{path}"
        wrong = sorted(
            column
            for column in names
            if SYNONYMS.search(column) or column in BROOM - {"estimate", "statistic"}
        )
        if last in ("bse", "pvalues"):
            continue
        assert not wrong, f"{name}.{path} says {wrong}"
        assert ("low" in names) == ("high" in names) or last == "stability", f"{name}.{path}"


@pytest.mark.slow
def test_the_walk_sees_tables_that_were_wrong():
    wrong = {
        "lda.error_rates",
        "lda.canonical.stability",
        "lda.summary.log_odds",
        "lr_test.table",
        "indicator.summary.coefficients",
        "indicator.summary.regressions",
        "logistic.summary.odds_ratios",
        "logistic.tidy",
        "knn.summary.path",
        "cross_validate.table",
        "cross_validate.summary.measures",
        "stepwise, cv.steps",
        "compare, folds",
    }
    names = {path.split(".")[0] for path in wrong}
    seen = {f"{name}.{path}".strip(".") for name in names for path, _ in result_tables(fitted(name))}
    assert len(seen) > 100
    assert wrong <= seen


@pytest.mark.parametrize(
    "name", ["std_err", "P>|z|", "[0.025", "pvalue", "p_value", "conf_low", "lower", "0.975]"]
)
def test_synonyms_are_detected(name):
    assert SYNONYMS.search(name)


@pytest.mark.parametrize(
    "name", ["se", "p", "p_exact", "se_folds", "wilks_p", "share", "proportion", "low", "df1"]
)
def test_standard_names_are_not_synonyms(name):
    assert not SYNONYMS.search(name)


def wide_data(n=30):
    """Six classes and nine variables with long names."""
    rng = np.random.default_rng(0)
    names = [
        f"measure_{word}_mm"
        for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"]
    ]
    x = np.vstack([rng.normal(rng.normal(0, 1.2, 9), 1.0, (n, 9)) for _ in range(6)])
    return pd.DataFrame(x, columns=names).assign(y=np.repeat([f"class_{c}" for c in "abcdef"], n))


def certificate(formula, data):
    with pytest.raises(SeparationError) as caught:
        discrim.logistic(formula, data)
    return caught.value.certificate


WIDE = {
    "lda": discrim.lda,
    "qda": discrim.qda,
    "moments": discrim.moments,
    "indicator": discrim.indicator,
    "naive_bayes": discrim.naive_bayes,
    "mlm": discrim.mlm,
    "covs": lambda formula, data: discrim.qda(formula, data).covs["class_a"],
    "quadratic": lambda formula, data: discrim.qda(formula, data).quadratic("class_a", "class_b").A,
    "separation": lambda formula, data: certificate(formula, data.groupby("y").head(3)),
}


@pytest.mark.parametrize("name", mark_slow_cases(WIDE, ["lda", "qda", "indicator", "naive_bayes", "mlm"]))
def test_tables_of_many_variables_and_classes_print_all_columns(name):
    found = [
        (path, table) for path, table in result_tables(WIDE[name]("y ~ .", wide_data())) if table.shape[1] > 1
    ]
    assert found
    assert any(table.shape[1] >= 6 for _, table in found)
    for path, table in found:
        check_printed(table, f"{name}.{path}")


def test_the_columns_of_these_tables_were_cut_before():
    linear = discrim.lda("species ~ .", IRIS)
    found = {
        "manova": (discrim.manova("species ~ .", IRIS), ["F", "df1", "df2", "p"]),
        "compare": (discrim.compare(linear, discrim.qda("species ~ .", IRIS)), ["llf", "aic", "bic"]),
        "error_rates": (linear.error_rates(by_class=True), ["wrong", "total"]),
    }
    for name, (table, columns) in found.items():
        assert "..." in str(table.copy()), name
        words = str(table).split()
        assert set(columns) <= set(words), name


def test_printed_numbers_are_the_numbers_of_the_table():
    table = discrim.lda("species ~ .", IRIS).log_odds()
    printed: dict[str, list[str]] = {}
    for block in re.split(r"\n\s*\n", str(table)):
        header, *lines = block.splitlines()
        names = header.removeprefix("class / term").split()
        # The lines of the classes above their terms are without numbers.
        cells = [line.split()[-len(names) :] for line in lines if line.startswith("  ")]
        printed |= dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))
    assert list(printed) == list(table.columns)
    for name, texts in printed.items():
        for text, value in zip(texts, table[name], strict=True):
            mantissa, _, exponent = text.partition("e")
            unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
            assert abs(float(text) - value) <= 0.5001 * unit, (name, text, value)


def test_wide_characters_keep_the_lines_short():
    names = ["花弁長さ", "花弁の幅", "萼片長さ", "萼片の幅"]
    rows = IRIS.rename(columns=dict(zip(IRIS.columns[:4], names, strict=True)))
    fit = discrim.lda("species ~ .", rows)
    for table in (fit.means, fit.cov_params(), fit.augment(), fit.posterior_intervals()):
        lines = str(table).splitlines()
        assert max(map(display_width, lines)) <= WIDTH
    words = str(fit.means).split()
    assert {"花弁長さ", "萼片の幅"} <= set(words)


def test_table_with_many_classes_prints_every_class():
    rng = np.random.default_rng(0)
    labels = np.repeat([f"class_{k:02d}" for k in range(40)], 6)
    rows = pd.DataFrame(rng.normal(size=(240, 3)), columns=list("xyz")).assign(y=labels)
    fit = discrim.lda("y ~ .", rows)
    for table in (fit.predict_proba(), fit.confusion(), fit.coef):
        check_printed(table, "40 classes")


def test_table_above_the_column_limit_is_truncated_like_pandas():
    table = ResultTable(np.zeros((3, MAX_COLUMNS + 1)))
    assert str(table) == str(pd.DataFrame(table))
    assert table._repr_html_() == pd.DataFrame(table)._repr_html_()


def test_rows_are_shortened_by_the_option_of_pandas():
    table = discrim.lda("species ~ .", IRIS).augment()
    assert "[150 rows x 9 columns]" in str(table)
    with pd.option_context("display.max_rows", None):
        assert len(str(table).splitlines()) > 2 * len(table)


def test_lines_have_the_width_of_the_terminal(monkeypatch):
    table = discrim.lda("species ~ .", IRIS).augment()
    monkeypatch.setattr(result_table, "is_terminal", lambda: True)
    for columns, least in ((60, 45), (100, 80), (132, 100), (200, 141)):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert least <= max(map(display_width, str(table).splitlines())) <= columns
    monkeypatch.setenv("COLUMNS", "60")
    with pd.option_context("display.width", 120):
        assert 90 < max(map(display_width, str(table).splitlines())) <= 120


def test_the_notebook_form_follows_the_option_of_pandas():
    fit = discrim.lda("species ~ .", IRIS)
    with pd.option_context("display.notebook_repr_html", False):
        assert fit.augment()._repr_html_() is None
        assert fit.anova()._repr_html_() is None


def test_pandas_compares_result_tables_with_plain_tables_on_both_sides():
    table = discrim.lda("species ~ .", IRIS).anova()
    plain = pd.DataFrame(table)
    assert type(plain) is pd.DataFrame
    pd.testing.assert_frame_equal(table, plain)
    pd.testing.assert_frame_equal(plain, table)
    with pytest.raises(AssertionError):
        pd.testing.assert_frame_equal(plain + 1, table)
    assert not isinstance(plain, Comparison)
    assert not isinstance(plain["F"], ResultTable)


def test_a_table_joins_and_merges_with_other_tables():
    fit = discrim.lda("species ~ .", IRIS)
    table = fit.augment()
    other = IRIS[["species"]].assign(row=np.arange(len(IRIS)))
    merged = table.merge(other[["row"]], left_index=True, right_index=True)
    assert type(merged) is pd.DataFrame
    assert list(merged["row"]) == list(range(len(IRIS)))
    merged = other.merge(table[[".fitted"]], left_index=True, right_index=True)
    assert (merged[".fitted"] == table[".fitted"]).all()
    table["note"] = "new"
    table.loc[0, "note"] = "first"
    assert "note" in str(table)
    assert table["note"].value_counts().to_dict() == {"new": 149, "first": 1}
