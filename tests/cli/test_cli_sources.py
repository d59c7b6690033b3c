"""Folders, patterns and large files on the command line: what is said of them is what is said of one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import cli, datasets
from discrim.cli import reading as sources
from tests.support import read_csv


@pytest.fixture
def table() -> pd.DataFrame:
    """Classes and categories that numbers would change: 007 is not 7, and 2 comes before 10."""
    rng = np.random.default_rng(3)
    y = rng.choice(["10", "2", "3"], 240)
    x = rng.normal(size=240) + (y == "10")
    code = rng.choice(["007", "7", "12"], 240)
    made = pd.DataFrame({"y": y, "x": x, "code": code, "z": rng.normal(size=240)})
    made.loc[5::31, "y"] = None
    made.loc[7::40, "x"] = np.nan
    return made


@pytest.fixture
def places(table: pd.DataFrame, tmp_path: Path) -> tuple[str, str]:
    """A file, and a folder of three with the same rows."""
    table.to_csv(tmp_path / "whole.csv", index=False)
    (tmp_path / "days").mkdir()
    for day, suffix in enumerate([".csv", ".csv.gz", ".csv"]):
        table[80 * day : 80 * (day + 1)].to_csv(tmp_path / "days" / f"{day}{suffix}", index=False)
    return str(tmp_path / "whole.csv"), str(tmp_path / "days")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


FITS = [
    ("lda", "y ~ .", "--sections", "header,means,functions"),
    ("qda", "y ~ C(code) + x", "--prior", "10=1/2,2=1/4,3=1/4"),
    ("naive-bayes", "code ~ x + z + y"),
    ("lda", "y ~ center(x) + z", "--sections", "means,header"),
]


@pytest.mark.parametrize("arguments", FITS)
def test_a_folder_and_a_pattern_are_the_file(arguments, places, capsys):
    verb, formula, *options = arguments
    whole, folder = places
    expected = said(capsys, verb, formula, whole, *options)
    assert said(capsys, verb, formula, folder, *options) == expected
    assert said(capsys, verb, formula, f"{folder}/*.csv*", *options) == expected


def test_large_files_are_read_in_chunks_if_possible(places, capsys, monkeypatch):
    whole, _ = places
    expected = [said(capsys, verb, "y ~ x + z", whole) for verb in ("lda", "knn")]
    monkeypatch.setattr(sources, "MIN_CHUNKED_BYTES", 1)
    assert [said(capsys, verb, "y ~ x + z", whole) for verb in ("lda", "knn")] == expected


def test_folder_keys_are_columns(tmp_path, capsys):
    penguins = datasets.load("penguins").dropna()
    for year, part in penguins.groupby("year"):
        (tmp_path / f"year={year}").mkdir()
        part.drop(columns="year").to_parquet(tmp_path / f"year={year}" / "part.parquet")
    found = said(capsys, "lda", "year ~ bill_length_mm + body_mass_g", str(tmp_path))
    expected = discrim.lda("year ~ bill_length_mm + body_mass_g", penguins).summary().as_text()
    assert found.split() == expected.split()


@pytest.mark.parametrize("more", [("--augment",), ("--proba", "--prior", "equal")])
def test_predictions_of_a_folder_are_those_of_the_file(more, places, capsys, tmp_path):
    whole, folder = places
    fit = str(tmp_path / "fit")
    said(capsys, "lda", "y ~ x + C(code)", folder, "--save", fit)
    expected = said(capsys, "predict", fit, whole, *more)
    assert said(capsys, "predict", fit, folder, *more) == expected
    for out in ("labels.csv", "labels.parquet", "labels"):
        for data in (folder, whole):
            target = tmp_path / f"{Path(data).stem}-{out}"
            assert said(capsys, "predict", fit, data, *more, "--out", str(target)) == ""
            found = read_csv(target) if out.endswith("csv") else pd.read_parquet(target)
            (tmp_path / "printed.csv").write_text(expected)
            printed = read_csv(tmp_path / "printed.csv")
            for name in printed:
                numeric = pd.api.types.is_float_dtype(printed[name]) and name != "y"
                one, other = found[name], printed[name]
                if numeric:
                    np.testing.assert_array_equal(one.to_numpy(float), other.to_numpy(float))
                else:
                    assert one.isna().tolist() == other.isna().tolist()


def test_errors_name_the_file(places, capsys, tmp_path):
    _, folder = places
    broken = Path(folder) / "3.csv"
    broken.write_text("y,x,code,z\n2,unknown,7,1\n")
    assert "3.csv" in refused(capsys, "lda", "y ~ x", folder)
    broken.write_text("y,code,z\n2,7,1\n")
    said_of = refused(capsys, "lda", "y ~ x", folder)
    assert "3.csv" in said_of
    assert "lacks the column 'x'" in said_of
    broken.unlink()
    assert "No file matches" in refused(capsys, "lda", "y ~ x", f"{folder}/*.parquet")
    assert "part by part" in refused(capsys, "knn", "y ~ x", folder)
    (tmp_path / "days" / "4.parquet").write_bytes(b"PAR1")
    assert "4.parquet" in refused(capsys, "lda", "y ~ x", folder)


def test_input_files_are_not_overwritten(places, capsys, tmp_path):
    whole, folder = places
    fit = str(tmp_path / "fit")
    said(capsys, "lda", "y ~ x", whole, "--save", fit)
    held = Path(whole).read_bytes()
    assert "is also an input file" in refused(capsys, "predict", fit, whole, "--out", whole)
    assert "belongs to" in refused(capsys, "predict", fit, folder, "--out", f"{folder}/5.csv")
    assert Path(whole).read_bytes() == held


def test_a_column_without_a_name_is_reported_of_folders_too(table, capsys, tmp_path):
    (tmp_path / "days").mkdir()
    table.to_csv(tmp_path / "days" / "1.csv")
    assert cli.main(["lda", "y ~ x + z", str(tmp_path / "days")]) == 0
    assert "column 1 of" in capsys.readouterr().err
