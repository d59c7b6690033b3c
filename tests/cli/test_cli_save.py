"""`--save` of the command line: what it may replace, and what is left where a command fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discrim
from discrim import cli, datasets, lda, load

FORMULA = "species ~ ."


def run(capsys, *arguments):
    try:
        status = cli.main(arguments)
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "iris.csv"
    datasets.load_iris().to_csv(path, index=False)
    return path


def spelled(table, how):
    """Another path of the same file."""
    other = table.parent / "other.fit"
    match how:
        case "as it is":
            return table
        case "by its folder":
            return table.parent / ".." / table.parent.name / table.name
        case "a link":
            other.symlink_to(table)
        case _:
            os.link(table, other)
    return other


@pytest.mark.parametrize("how", ["as it is", "by its folder", "a link", "a second name"])
def test_the_table_that_is_read_is_not_overwritten(table, capsys, how):
    before = table.read_bytes()
    status, out, err = run(capsys, "lda", FORMULA, str(table), "--save", str(spelled(table, how)))
    assert (status, out) == (2, "")
    assert "is not a saved fit" in err
    assert "--force" in err
    assert table.read_bytes() == before


def test_moments_are_not_a_fit(tmp_path, capsys):
    path = tmp_path / "moments"
    discrim.moments(FORMULA, discrim.datasets.load_iris()).save(path)
    before = path.read_bytes()
    status, _, err = run(capsys, "lda", FORMULA, "iris", "--save", str(path))
    assert status == 2
    assert "is not a saved fit" in err
    assert path.read_bytes() == before
    status, _, err = run(capsys, "predict", str(path), "iris")
    assert status == 2
    assert "contains moments and not a fit. Fit them" in err


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\3\4", b"{}" * 40, b"\0" * 4096])
def test_other_files_are_replaced_only_with_force(tmp_path, capsys, content):
    path = tmp_path / "there"
    path.write_bytes(content)
    status, out, err = run(capsys, "lda", FORMULA, "iris", "--save", str(path))
    assert (status, out) == (2, "")
    assert "Name another file, or add --force" in err
    assert path.read_bytes() == content
    assert run(capsys, "lda", FORMULA, "iris", "--save", str(path), "--force")[0] == 0
    assert load(path).predict(datasets.load_iris()).nunique() == 3


def test_a_fit_is_replaced_whole_or_damaged(tmp_path, capsys):
    path = tmp_path / "fit"
    for spoil in (lambda data: data, lambda data: data[:-9], lambda data: data[:-9] + b"123456789"):
        lda("species ~ petal_width", datasets.load_iris()).save(path)
        path.write_bytes(spoil(path.read_bytes()))
        assert run(capsys, "lda", FORMULA, "iris", "--save", str(path))[0] == 0
        assert len(load(path).terms) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("lda", FORMULA, "iris", "--sections", "nonsense"),
        ("lda", "species ~ nothing", "iris"),
        ("lda", FORMULA, "no.csv"),
        ("logistic", "species ~ .", "iris"),
    ],
)
def test_a_command_that_fails_leaves_the_old_fit(tmp_path, capsys, arguments):
    path = tmp_path / "fit"
    lda("species ~ petal_width", datasets.load_iris()).save(path)
    before = path.read_bytes()
    assert run(capsys, *arguments, "--save", str(path))[0] == 2
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_output_that_is_full_leaves_the_old_fit(tmp_path):
    path = tmp_path / "fit"
    lda("species ~ petal_width", datasets.load_iris()).save(path)
    before = path.read_bytes()
    command = [sys.executable, "-m", "discrim", "lda", FORMULA, "iris", "--save", str(path)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_reader_of_the_first_lines_gets_the_fit(tmp_path):
    path = tmp_path / "fit"
    command = [sys.executable, "-m", "discrim", "lda", FORMULA, "iris", "--save", str(path)]
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)
    assert done.returncode == 141
    assert load(path).predict(datasets.load_iris()).nunique() == 3


def test_fits_are_not_saved_to_pipes_or_devices(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path(os.devnull)):
        for force in ([], ["--force"]):
            status, out, err = run(capsys, "lda", FORMULA, "iris", "--save", str(place), *force)
            assert (status, out) == (2, "")
            assert "a device, a pipe or a socket" in err
    assert Path(os.devnull).is_char_device()
