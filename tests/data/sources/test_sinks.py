"""Frames that are written: all rows or nothing, and nothing that somebody still needs."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discrim.data.sources.sinks import write_frames
from discrim.data.sources.sources import source_of
from discrim.errors import DataError
from tests.support import read_csv


def frames(count=3, rows=5):
    for number in range(count):
        places = np.arange(number * rows, (number + 1) * rows)
        yield pd.DataFrame(
            {
                "x": places / 7,
                "n": pd.array([None if place == 6 else int(place) for place in places], dtype="Int64"),
                "label": pd.Categorical(np.array(["b", "a"])[places % 2], categories=["b", "a", "c"]),
                "text": [None if number == 0 else f"é,{place}" for place in places],
            },
            index=pd.RangeIndex(places[0], places[-1] + 1),
        )


def whole():
    return pd.concat(list(frames()), ignore_index=True)


READERS = {
    "a.parquet": pd.read_parquet,
    "a.pq": pd.read_parquet,
    "a.csv": read_csv,
    "a.csv.gz": read_csv,
    "a.csv.bz2": read_csv,
    "a.csv.xz": read_csv,
    "a.tsv": lambda path: read_csv(path, sep="\t"),
    "folder": pd.read_parquet,
    "folder.parquet/": pd.read_parquet,
}


@pytest.mark.parametrize("name", READERS)
def test_written_rows_equal_the_frames(name, tmp_path):
    out = f"{tmp_path}/{name}"
    path = write_frames(frames(), out)
    assert os.path.samefile(path, out)
    found, expected = READERS[name](path), whole()
    assert os.listdir(tmp_path) == [path.name]
    assert list(found.columns) == list(expected.columns)
    assert found.index.equals(expected.index)
    for column in expected:
        here, there = found[column], expected[column]
        assert (here.isna() == there.isna()).all()
        assert here.dropna().tolist() == there.dropna().tolist()
    if "csv" not in name and "tsv" not in name:
        assert list(found["label"].cat.categories) == ["b", "a", "c"]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_an_index_that_names_rows_is_written(name, tmp_path):
    parts = [pd.DataFrame({"x": [1.0]}, index=pd.Index([label], name="id")) for label in "uv"]
    found = READERS[name](write_frames(iter(parts), tmp_path / name)).reset_index()
    assert found["id"].tolist() == ["u", "v"]
    assert found["x"].tolist() == [1.0, 1.0]


def test_rows_are_split_into_row_groups_and_files(tmp_path):
    def long_frames():
        for number in range(5):
            yield pd.DataFrame({"x": np.full(2**19, float(number))})

    folder = write_frames(long_frames(), tmp_path / "folder")
    assert sorted(path.name for path in folder.iterdir()) == [f"part-0000{n}.parquet" for n in range(3)]
    lengths = [pq.read_metadata(path).num_rows for path in sorted(folder.iterdir())]
    assert lengths == [2**20, 2**20, 2**19]
    assert source_of(folder).nrows == 5 * 2**19
    assert len(pl.read_parquet(folder)) == 5 * 2**19
    short = (pd.DataFrame({"x": np.arange(2.0**15)}) for _ in range(5))
    file = pq.ParquetFile(write_frames(short, tmp_path / "a.parquet"))
    assert [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)] == [2**16, 2**16, 2**15]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.gz", "folder"])
@pytest.mark.parametrize("old", [False, True])
def test_failures_keep_the_old_file(name, old, tmp_path):
    def failing():
        yield from frames(2)
        raise KeyError("gone")

    path = tmp_path / name
    if old and name == "folder":
        path.mkdir()
    elif old:
        path.write_bytes(b"old")
    before = {each.name: each.is_dir() or each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(KeyError, match="gone"):
        write_frames(failing(), path)
    assert {each.name: each.is_dir() or each.read_bytes() for each in tmp_path.iterdir()} == before


def unread():
    raise AssertionError("frames were read before it was known that they can be written")
    yield


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("a.txt", DataError, "has no known file extension"),
        ("a.parquet.gz", DataError, "has no known file extension"),
        ("a.csv.zip", DataError, "has no known file extension"),
        ("none/a.csv", OSError, "no such folder"),
        ("none/folder", OSError, "no such folder"),
        ("full", DataError, "is not empty"),
        ("file", DataError, "is a file. Name a folder"),
        ("full/t.parquet", DataError, "belongs to the"),
        ("full/new.parquet", DataError, "belongs to the folder"),
        ("full/deep/new.parquet", OSError, "no such folder"),
    ],
)
def test_invalid_outputs_raise_before_reading(name, error, said, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "file").touch()
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "full" / "t.parquet")
    with pytest.raises(error, match=said):
        write_frames(unread(), tmp_path / name, source=source_of(tmp_path / "full"))


@pytest.mark.parametrize(
    ("given", "out", "refused"),
    [
        ("t.parquet", "t.parquet", True),
        ("t.parquet", "link.parquet", True),
        ("t.parquet", "new.parquet", False),
        ("*.parquet", "new.parquet", True),
        ("*.parquet", "new.csv", False),
        ("t*.parquet", "new.parquet", False),
        ("**/*.parquet", "deep/new.parquet", True),
        ("*.parquet", "deep/new.parquet", False),
        (".", "deep/new.csv", True),
        ("dataset", "t.parquet", True),
        ("dataset", "new.parquet", False),
    ],
)
def test_input_files_are_not_overwritten(given, out, refused, tmp_path):
    (tmp_path / "deep").mkdir()
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "t.parquet")
    source = source_of(ds.dataset(tmp_path / "t.parquet") if given == "dataset" else str(tmp_path / given))
    (tmp_path / "link.parquet").symlink_to("t.parquet")
    if refused:
        with pytest.raises(DataError) as caught:
            write_frames(unread(), tmp_path / out, source=source)
        assert "belongs" in str(caught.value)
    else:
        write_frames(frames(1), tmp_path / out, source=source)
    assert pd.read_parquet(tmp_path / "t.parquet")["x"].tolist() == [1.0]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "folder"])
def test_frames_that_differ_are_refused_and_leave_nothing(name, tmp_path):
    first = pd.DataFrame({"x": [1.0]})
    with pytest.raises(DataError) as caught:
        write_frames([first, first.rename(columns={"x": "y"})], tmp_path / name)
    assert "'y'" in str(caught.value)
    assert "'x'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        write_frames([], tmp_path / name)
    assert "write" in str(caught.value)
    if name != "a.csv":
        with pytest.raises(DataError) as caught:
            write_frames([first, pd.DataFrame({"x": ["text"]})], tmp_path / name)
        assert "column" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_out_is_a_path(tmp_path):
    with pytest.raises(DataError) as caught:
        write_frames(unread(), 3)
    assert "out=3" in str(caught.value)
    source = iter([pd.DataFrame({"x": [1.0]})])
    assert write_frames(source, str(tmp_path / "a.csv")).read_text(encoding="utf-8") == "x\n1.0\n"


def test_a_generator_is_closed_when_writing_fails(tmp_path):
    closed = []

    def given():
        try:
            yield pd.DataFrame({"x": [1.0]})
            yield pd.DataFrame({"z": [1.0]})
            yield pd.DataFrame({"x": [1.0]})
        finally:
            closed.append(True)

    with pytest.raises(DataError):
        write_frames(given(), tmp_path / "a.csv")
    assert closed == [True]
