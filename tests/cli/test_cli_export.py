"""discrim export: the rule of a saved fit as a query, or as a model of ONNX."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import discrim
from discrim import cli
from discrim.datasets import load_iris
from tests.cli.support import refused


@pytest.fixture
def saved(tmp_path: Path) -> str:
    discrim.lda("species ~ .", data=load_iris()).save(tmp_path / "iris.fit")
    return str(tmp_path / "iris.fit")


def test_a_query_is_written_and_runs(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [saved, "--sql", "sqlite", "--table", "flowers", "--output", "label", "--keep", "id"]
    assert cli.main(["export", *words, "--prior", "equal"]) == 0
    query = capsys.readouterr().out
    assert cli.main(["export", *words, "--prior", "equal", "--out", str(tmp_path / "rule.sql")]) == 0
    assert (tmp_path / "rule.sql").read_text(encoding="utf-8") == query
    with sqlite3.connect(":memory:") as engine:
        load_iris().to_sql("flowers", engine, index_label="id")
        found = dict(engine.execute(query).fetchall())
    expected = discrim.load(saved).predict(load_iris(), prior="equal")
    assert [found[i] for i in range(150)] == expected.tolist()


def test_a_model_of_onnx(saved: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    assert cli.main(["export", saved, "--onnx", str(tmp_path / "rule.onnx")]) == 0
    inputs = onnx.load(tmp_path / "rule.onnx").graph.input
    assert {each.name for each in inputs} == set(load_iris().columns) - {"species"}


def test_slips(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in [
        ([saved], "Write --sql ENGINE, or --onnx FILE"),
        ([saved, "--sql", "duckdb", "--onnx", "x.onnx"], "Write --sql ENGINE, or --onnx FILE"),
        ([saved, "--onnx", "x.onnx", "--output", "label"], "--output"),
        ([saved, "--onnx", saved], "is also an input file"),
        ([saved, "--sql", "duckdb", "--output", "labels"], "Did you mean 'label'"),
    ]:
        assert said in refused(capsys, "export", *words)
