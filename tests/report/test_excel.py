"""Workbooks of Excel, read back by openpyxl: the numbers of `.tables` to the last digit, and no formula."""

from __future__ import annotations

import datetime
import math
import sys
import zipfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris
from discrim.errors import DataError, MissingFolderError, MissingPackageError
from discrim.report.excel import SHEET_ROWS, sheet_names, sheet_ranges
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Summary
from tests.contract.test_names import FITS

IRIS = load_iris()
FORMULA = "species ~ petal_length + petal_width"


@pytest.fixture
def openpyxl():
    return pytest.importorskip(
        "openpyxl", reason="workbooks are read back by openpyxl: install discrim[excel]"
    )


def cells_of(sheet):
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


def value_of(value):
    """What a cell of a sheet holds of a value of a table: text of what is neither number nor truth value."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NA or value != value or value == "":
        return None
    return value if isinstance(value, int | float) and abs(value) < math.inf else str(value)


def expected(table):
    """Lines of a table as a sheet has them: names of columns, then the labels and values of each row."""
    levels, heads = table.index.nlevels, table.columns.nlevels
    columns = [c if heads > 1 else (c,) for c in table.columns]
    lines = [[None] * levels + [value_of(c[i]) for c in columns] for i in range(heads)]
    lines[-1][:levels] = [value_of(name) for name in table.index.names]
    rows = [label if levels > 1 else (label,) for label in table.index]
    values = [table.iloc[:, j].tolist() for j in range(table.shape[1])]
    return lines + [
        [*map(value_of, label), *(value_of(column[i]) for column in values)] for i, label in enumerate(rows)
    ]


RESULTS = {
    "all of lda": lambda: discrim.lda("species ~ .", IRIS),
    "logits": lambda: discrim.logistic("species ~ sepal_width", IRIS),
    "naive bayes": lambda: discrim.naive_bayes(FORMULA, IRIS),
    "several factors": lambda: discrim.mlm(FORMULA, IRIS),
    "steps": lambda: discrim.stepwise(FORMULA, IRIS),
    "cross-validation": lambda: discrim.cross_validate(discrim.lda(FORMULA, IRIS), folds=3, seed=0),
    "assessment": lambda: discrim.lda(FORMULA, IRIS).assess(),
    "classification": lambda: discrim.lda(FORMULA, IRIS).assess("loo").classification(),
    "canonical": lambda: discrim.lda(FORMULA, IRIS).canonical(),
    "known law": lambda: discrim.bayes(
        {"a": 0.5, "b": 0.5}, pd.DataFrame([[0.5, 0.5], [0.1, 0.9]], index=["a", "b"])
    ),
}


MORE = [pytest.param(made, marks=pytest.mark.slow) for made in FITS]


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
@pytest.mark.parametrize("made", [*RESULTS, *MORE])
def test_each_sheet_is_an_exact_table_of_the_summary(made, tmp_path, openpyxl):
    results = (RESULTS | FITS)[made]()
    if not hasattr(results, "summary"):
        pytest.skip("It is a single test, or a DataFrame, which pandas writes.")
    results.to_excel(tmp_path / "fit.xlsx")
    book, tables = openpyxl.load_workbook(tmp_path / "fit.xlsx"), results.summary().tables
    assert book.sheetnames == ["about", *sheet_names(tables)]
    for sheet, table in zip(book.worksheets[1:], tables.values(), strict=True):
        assert cells_of(sheet) == expected(table), sheet.title


def test_the_first_sheet_describes_and_links_the_others(tmp_path, openpyxl):
    discrim.lda(FORMULA, IRIS).to_excel(tmp_path / "iris.xlsx")
    book = openpyxl.load_workbook(tmp_path / "iris.xlsx")
    lines = cells_of(book["about"])
    assert [line[0] for line in lines[:2]] == ["Linear discriminant analysis", FORMULA]
    assert ["Observations", "150", None] in lines
    assert not any(isinstance(value, datetime.date) for line in lines for value in line)
    start = lines.index(["sheet", "table", "note"])
    assert [line[0] for line in lines[start + 1 :]] == book.sheetnames[1:]
    link_targets = [book["about"].cell(i, 1).hyperlink.location for i in range(start + 2, len(lines) + 1)]
    assert link_targets == [f"'{name}'!A1" for name in book.sheetnames[1:]]


def test_numbers_are_shown_with_the_digits_of_the_summary(tmp_path, openpyxl):
    discrim.lda(FORMULA, IRIS).summary(["header", "means"]).to_excel(tmp_path / "iris.xlsx")
    book = openpyxl.load_workbook(tmp_path / "iris.xlsx")
    assert {cell.number_format for row in book["means"]["B2:C4"] for cell in row} == {"0.000"}
    formats = {row[0].value: row[1].number_format for row in book["header"].iter_rows()}
    assert formats["Observations"] == "0"
    assert formats["P > F"] == "0.0E+00"


def test_text_that_looks_like_a_formula_is_text(tmp_path, openpyxl):
    names = ["=HYPERLINK(1)", "+1+1", "-2-2", "@SUM(A1)", "#N/A", "\x1b[31m", "_x0041_"]
    table = pd.DataFrame({name: np.arange(7.0) for name in names}, index=names)
    table["text"] = names
    sections = {"=1": Section("=cmd|' /C calc'!A0", table, {"text": "text"}, note="=2")}
    Summary("=3", {"header": Pairs("=4", [HeaderItem("=5", "=6", "=7")]), **sections}).to_excel(
        tmp_path / "odd.xlsx"
    )
    book = openpyxl.load_workbook(tmp_path / "odd.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    assert all(
        cell.quotePrefix
        for cell in cells
        if str(cell.value)[:1] in "=+-@" and cell.data_type == "s" and cell.value
    )
    assert [row[0].value for row in book["=1"].iter_rows(2)] == [*names[:5], "\\x1b[31m", "_x0041_"]
    with zipfile.ZipFile(tmp_path / "odd.xlsx") as file:
        sheets = [name for name in file.namelist() if name.startswith("xl/worksheets/sheet")]
        assert len(sheets) == 3
        assert not any(b"<f" in file.read(name).replace(b"<formula", b"<f") for name in sheets)


def test_unsupported_numbers_are_text_or_empty(tmp_path, openpyxl):
    day = pd.Timestamp(2020, 2, 29)
    values = [1.0, math.nan, math.inf, -math.inf, True, 10**17, 10**14, None, pd.NA, 5e-324, 0.1 + 0.2]
    table = pd.DataFrame({"value": np.array(values, dtype=object)}, index=[day, *range(10)])
    Summary("Odd", {"odd": Section("Odd", table, "text")}).to_excel(tmp_path / "odd.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "odd.xlsx")["odd"]
    cell_values = [cell.value for cell in sheet["B"][1:]]
    assert cell_values == [1, None, "inf", "-inf", True, str(10**17), 10**14, None, None, 5e-324, 0.1 + 0.2]
    assert sheet["A2"].value == str(day)


@pytest.mark.slow
def test_a_table_wider_than_a_sheet_continues_in_another(tmp_path, openpyxl):
    wide = pd.DataFrame(np.arange(20_000.0)[None], index=["row"])
    Summary("Wide", {"wide": Section("Wide", wide, "count")}).to_excel(tmp_path / "wide.xlsx")
    book = openpyxl.load_workbook(tmp_path / "wide.xlsx")
    assert book.sheetnames == ["about", "wide", "wide (2)"]
    sheet_cells = [cells_of(sheet) for sheet in book.worksheets[1:]]
    assert [len(block[0]) for block in sheet_cells] == [2**14, 20_000 - 2**14 + 2]
    assert sheet_cells[0][1][1:] + sheet_cells[1][1][1:] == list(range(20_000))
    assert {block[1][0] for block in sheet_cells} == {"row"}


def test_rows_above_the_sheet_limit_continue_in_another():
    ranges = sheet_ranges(3_000_000, SHEET_ROWS - 1)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 3_000_000
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    assert max(high - low for low, high in ranges) == 1_048_575


def test_sheet_names_are_valid_in_excel():
    keys = ["about", "History", "", "'", "a/b\\c?d*e[f]g:h", "x" * 40, "x" * 41, "X" * 40, "🐧" * 40, "\n"]
    names = sheet_names(keys)
    assert len({name.lower() for name in names}) == len(keys)
    for name in names:
        assert 0 < len(name.encode("utf-16-le")) / 2 <= 31
        assert not set(name) & set("[]:*?/\\\n")
        assert name.lower() != "history"
        assert name.strip("'") == name


def test_unwritable_paths_are_refused_before_the_summary_is_computed(tmp_path):
    fit = discrim.lda(FORMULA, IRIS)
    with pytest.raises(DataError) as caught:
        fit.to_excel(tmp_path / "fit.csv")
    assert "xlsx" in str(caught.value)
    assert "named" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.to_excel(3)
    assert "path" in str(caught.value)
    with pytest.raises(MissingFolderError):
        fit.to_excel(tmp_path / "none" / "fit.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_missing_openpyxl_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "fit.xlsx").write_bytes(b"before")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingPackageError) as caught:
        discrim.lda(FORMULA, IRIS).to_excel(tmp_path / "fit.xlsx")
    assert (caught.value.name, caught.value.extra) == ("openpyxl", "excel")
    assert (tmp_path / "fit.xlsx").read_bytes() == b"before"
