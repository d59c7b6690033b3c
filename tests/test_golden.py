"""Every golden file is read by a test that needs only tables that are part of the project."""

from __future__ import annotations

import re

import pytest

from tests.support import GOLDEN, ROOT

FILES = sorted(path.name for path in GOLDEN.glob("*.json"))
BUNDLED_TABLE = re.compile(r'"(\w*_)?(iris|penguins|wine|breast_cancer|curves)\b')
OTHER_TABLES = {
    "covariates.json": "iris, as the tests have it",
    "disqual.json": "penguins, as the tests have them, or the cells of a table in the file",
    "effect_sizes.json": "iris and penguins, as the tests have them",
    "formula.json": "the rows are in the file",
    "judged.json": "the rows are in the file",
    "leave_one_out.json": "the rows are in the file",
    "logistic_terms.json": "the rows are in the file, or penguins, as the tests have them",
    "logistic_users.json": "penguins, as the tests have them",
    "one_group.json": "the rows are in the file",
    "permanova.json": "the rows are in the file",
    "prediction_sets.json": "penguins, as the tests have them",
    "repeated.json": "the rows are in the file, or penguins, as the tests have them",
}
"""Files that do not name a table, and the tables that their cases use."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_a_test(name: str) -> None:
    assert any(name in path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_cases_of_tables_that_are_part_of_the_project(name: str) -> None:
    named = BUNDLED_TABLE.search((GOLDEN / name).read_text(encoding="utf-8"))
    assert bool(named) != (name in OTHER_TABLES)


def test_only_files_that_are_there_are_listed() -> None:
    assert set(OTHER_TABLES) <= set(FILES)
