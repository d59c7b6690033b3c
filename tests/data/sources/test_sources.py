"""Sources of tables: whatever gives the rows, they are the frame's, and what is wrong is named."""

from __future__ import annotations

import os
import sys
import time
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discrim.data.sources.sources import StreamSource, source_of
from discrim.data.table import Table
from discrim.errors import DataError, MissingFileError, UnreadableFileError

NAMES = ("x", "count", "petal width", "class", "kind", "yes")


def a_frame(nrows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=nrows),
            "count": np.arange(nrows),
            "petal width": rng.normal(size=nrows),
            "class": [["a", "b", "é"][row % 3] for row in range(nrows)],
            "kind": pd.Categorical([["u", "w"][row % 2] for row in range(nrows)], categories=["w", "v", "u"]),
            "yes": [row % 2 == 0 for row in range(nrows)],
        }
    )
    frame.loc[3, "x"] = np.nan
    frame.loc[5, "class"] = None
    return frame


def halves(frame: pd.DataFrame) -> list[pd.DataFrame]:
    return [frame[:17], frame[17:17], frame[17:]]


def rows_of(source, columns=None) -> pd.DataFrame:
    """All rows, as a fit would read each part."""
    frames = []
    for part in source.chunks(columns):
        table = Table(part.data, is_chunk=True)
        frames.append(table.frame(columns or source.names))
    values = {
        name: pd.concat([frame[name].astype(object) for frame in frames], ignore_index=True)
        for name in frames[0].columns
    }
    return pd.DataFrame(values)


def assert_same(found: pd.DataFrame, frame: pd.DataFrame) -> None:
    expected = frame.reset_index(drop=True).astype(object)
    assert list(found.columns) == list(expected.columns)
    for name in expected:
        here, there = found[name], expected[name]
        assert (here.isna() == there.isna()).all()
        assert here[here.notna()].tolist() == there[there.notna()].tolist()


def parquet_folder(frame, folder):
    folder.mkdir()
    for number, part in enumerate(halves(frame)):
        part.to_parquet(folder / f"part-{number}.parquet", index=False)
    (folder / "_SUCCESS").touch()
    return folder


def csv_files(frame, folder):
    folder.mkdir()
    paths = [folder / f"{number}.csv.gz" for number in range(3)]
    for path, part in zip(paths, halves(frame), strict=True):
        part.to_csv(path, index=False)
    return paths


def one_csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def one_tsv(frame, folder):
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    return folder / "t.tsv"


def one_parquet(frame, folder):
    # pandas writes an index that is no range as a column, which is none when it is read.
    frame.set_axis(range(100, 100 + 2 * len(frame), 2)).to_parquet(folder / "t.parquet", row_group_size=7)
    return str(folder / "t.parquet")


def lazily_scanned(frame, folder):
    return pl.scan_parquet(one_parquet(frame.drop(columns="kind"), folder)).select(
        [*NAMES[:4], pl.lit("u").alias("kind"), "yes"]
    )


@cache
def duckdb_connection():
    """Return a connection that stays open, because a relation ends with its connection."""
    return pytest.importorskip("duckdb").connect()


KINDS = {
    "function": lambda frame, folder: lambda: iter(halves(frame)),
    "function of a list": lambda frame, folder: lambda: halves(frame),
    "function of one frame": lambda frame, folder: lambda: frame,
    "function of polars": lambda frame, folder: lambda: map(pl.from_pandas, halves(frame)),
    "function of Arrow": lambda frame, folder: lambda: iter(pa.Table.from_pandas(frame).to_batches(9)),
    "function of LazyFrames": lambda frame, folder: lambda: pl.from_pandas(frame).lazy(),
    "function of streams": lambda frame, folder: lambda: pa.Table.from_pandas(frame).to_reader(9),
    "iterator": lambda frame, folder: iter(halves(frame)),
    "generator": lambda frame, folder: (part for part in halves(frame)),
    "reader": lambda frame, folder: pa.Table.from_pandas(frame).to_reader(9),
    "dataset": lambda frame, folder: ds.dataset(parquet_folder(frame, folder / "d")),
    "dataset in memory": lambda frame, folder: ds.dataset(pa.Table.from_pandas(frame)),
    "LazyFrame": lambda frame, folder: pl.from_pandas(frame).lazy(),
    "relation": lambda frame, folder: duckdb_connection().from_arrow(pa.Table.from_pandas(frame)),
    "folder": lambda frame, folder: parquet_folder(frame, folder / "d"),
    "pattern": lambda frame, folder: str(parquet_folder(frame, folder / "d") / "part-*.parquet"),
    "deep pattern": lambda frame, folder: str(
        parquet_folder(frame, folder / "d").parent / "**" / "*.parquet"
    ),
    "Parquet": one_parquet,
    "list of paths": lambda frame, folder: sorted(parquet_folder(frame, folder / "d").glob("p*")),
    "CSV": one_csv,
    "TSV": one_tsv,
    "list of CSV": lambda frame, folder: csv_files(frame, folder / "c"),
}
ONCE = {"iterator", "generator", "reader"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_yields_the_rows_of_the_frame(kind, tmp_path):
    frame = a_frame()
    make = partial(KINDS[kind], frame)
    source = source_of(make(tmp_path))
    assert source.names == NAMES
    assert source.is_single_pass == (kind in ONCE)
    assert source.nrows in (None, len(frame))
    assert_same(rows_of(source), frame)
    assert source.nrows == len(frame)
    if source.is_single_pass:
        with pytest.raises(DataError) as caught:
            source.chunks()
        assert "data=lambda" in str(caught.value)
    else:
        assert_same(rows_of(source, ["class", "petal width"]), frame[["class", "petal width"]])
        assert_same(rows_of(source, ["kind", "yes", "count"]), frame[["kind", "yes", "count"]])
        with pytest.raises(DataError) as caught:
            source.chunks(["claas"])
        assert "'claas'" in str(caught.value)
        assert "'class'" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        a_frame(),
        pl.from_pandas(a_frame()),
        pa.Table.from_pandas(a_frame()),
        pa.RecordBatch.from_pydict({"x": [1, 2]}),
        {"x": [1, 2]},
    ],
)
def test_tables_in_memory_are_not_sources(data):
    assert source_of(data) is None
    assert Table(data).nrows


@pytest.mark.parametrize("data", [[{"x": 1}], [], 3, None, np.zeros((2, 2)), pd.DataFrame, b"a.csv"])
def test_other_objects_are_not_sources(data):
    assert source_of(data) is None


def test_formulas_are_not_paths():
    assert source_of("y ~ x") is None


def test_chunks_are_short_for_all_sources():
    frame = pd.DataFrame({"x": np.arange(300_000.0)})
    sizes = [len(part.data) for part in source_of(lambda: frame).chunks()]
    assert max(sizes) == 2**16
    assert sum(sizes) == len(frame)
    source = source_of(pa.Table.from_pandas(frame).to_reader(300_000))
    assert max(len(part.data) for part in source.chunks()) == 2**16
    wide = pd.DataFrame(np.zeros((5000, 2000)))
    assert max(len(part.data) for part in source_of(lambda: wide).chunks()) < 2000


def test_a_dataset_keeps_its_filter(tmp_path):
    frame = a_frame()
    dataset = ds.dataset(parquet_folder(frame, tmp_path / "d")).filter(ds.field("count") > 20)
    assert_same(rows_of(source_of(dataset), ["x", "class"]), frame.loc[21:, ["x", "class"]])


def test_folders_that_are_named_for_values_are_columns_as_pandas_reads_them(tmp_path):
    frame = pd.DataFrame({"x": np.arange(6.0), "year": [2, 10, 1, 2, 10, 1], "to": list("ab/ca%")})
    folder = tmp_path / "d"
    frame.to_parquet(folder, partition_cols=["year", "to"])
    expected = pd.read_parquet(folder)
    source = source_of(folder)
    assert source.names == ("x", "year", "to")
    assert_same(rows_of(source), expected)
    first = Table(next(source.chunks()).data).column("year")
    assert list(first.cat.categories) == list(expected["year"].cat.categories)
    assert_same(rows_of(source, ["year"]), expected[["year"]])
    found = rows_of(source_of(str(folder / "year=*" / "to=a")))
    assert_same(found, expected[expected["to"] == "a"])
    # pandas reads no missing ones, though it writes them.
    frame.assign(to=[None, *"abcab"]).to_parquet(folder / "year=3", partition_cols=["to"])
    assert rows_of(source, ["to"]).shape == (6, 1)
    assert rows_of(source_of(folder), ["to"])["to"].isna().sum() == 1


def test_folders_of_csv_are_columns_as_those_of_parquet(tmp_path):
    frame = pd.DataFrame({"x": np.arange(6.0), "year": [2, 10, 1, 2, 10, 1], "to": [None, *"b/ca%"]})
    frame.to_parquet(tmp_path / "parquet", partition_cols=["year", "to"])
    for path in (tmp_path / "parquet").rglob("*.parquet"):
        written = tmp_path / "csv" / path.relative_to(tmp_path / "parquet").with_suffix(".csv")
        written.parent.mkdir(parents=True)
        pq.ParquetFile(path).read().to_pandas().to_csv(written, index=False)
    parquet, csv = source_of(tmp_path / "parquet"), source_of(tmp_path / "csv")
    assert csv.names == parquet.names == ("x", "year", "to")
    for columns in (None, ["year"], ["to", "x"]):
        assert_same(rows_of(csv, columns), rows_of(parquet, columns))
    # A column that a file has is the file's, as in Parquet.
    frame.to_csv(tmp_path / "csv" / "year=1" / "all.csv", index=False)
    with pytest.raises(DataError) as caught:
        rows_of(source_of(tmp_path / "csv"), ["year"])
    assert caught.value.columns == ("year",)


def test_only_the_columns_that_are_asked_for_are_computed():
    def fail(column):
        raise RuntimeError("computed")

    frame = pl.LazyFrame({"x": [1.0, 2.0]}).with_columns(
        bad=pl.col("x").map_batches(fail, return_dtype=pl.Float64)
    )
    assert len(rows_of(source_of(frame), ["x"])) == 2
    with pytest.raises(RuntimeError, match="computed"):
        rows_of(source_of(frame), ["bad"])
    relation = duckdb_connection().sql("select 1.5 as x, error('computed') as bad")
    assert len(rows_of(source_of(relation), ["x"])) == 1


@pytest.mark.parametrize("of", ["path", "dataset"])
def test_only_the_columns_that_are_asked_for_are_read(of, tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"x": np.arange(1000.0), "bad": np.random.default_rng(0).normal(size=1000)})
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False, compression="zstd")
    column = pq.read_metadata(path).row_group(0).column(1)
    with open(path, "r+b") as file:
        file.seek(column.data_page_offset)
        file.write(b"\xff" * 64)
    source = source_of(str(path) if of == "path" else ds.dataset(path))
    assert rows_of(source, ["x"])["x"].sum() == 1000 * 999 / 2
    with pytest.raises((UnreadableFileError, OSError)) as caught:
        rows_of(source)
    assert "t.parquet" in str(caught.value)


def test_errors_of_producers_get_a_note_on_their_position():
    def frames():
        yield pd.DataFrame({"x": [1.0, 2.0]})
        raise KeyError("gone")

    for data in (frames, frames()):
        with pytest.raises(KeyError, match="gone") as caught:
            rows_of(source_of(data))
        (note,) = caught.value.__notes__
        assert "after 2 rows" in note


def test_functions_that_return_a_used_iterator_raise():
    left = [pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [3.0]})]
    frames = iter(left)
    source = source_of(lambda: frames)
    assert len(rows_of(source)) == 3
    with pytest.raises(DataError) as caught:
        rows_of(source)
    assert "iterator" in str(caught.value)
    assert "same" in str(caught.value)
    source = source_of(lambda: (left.pop() for _ in range(len(left))))
    rows_of(source)
    with pytest.raises(DataError) as caught:
        rows_of(source)
    assert "frame" in str(caught.value)
    sizes = iter([3, 2])
    source = source_of(lambda: pd.DataFrame({"x": range(next(sizes))}))
    rows_of(source)
    with pytest.raises(DataError) as caught:
        rows_of(source)
    assert "2 rows now and had 3 before" in str(caught.value)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"x": ["a"], "y": ["b"]}, "'x' is .* in frame 1 .* in frame 2"),
        ({"y": ["b"]}, "Frame 2 .* lacks the column 'x'"),
        ({"x": [1.0], "y": ["b"], "z": [1]}, "Frame 1 .* lacks the column 'z' of frame 2"),
        ({"x": [1.0], "y": [True]}, "'y' is .* in frame 1 .* [bB]ool.* in frame 2"),
    ],
)
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_that_differs_is_named(second, said, table):
    frames = [table({"x": [1.0], "y": ["b"]}), table(second)]
    with pytest.raises(DataError, match=said):
        rows_of(source_of(lambda: frames))


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_that_is_all_missing_fits(table):
    first = {"x": [1.5, 2.5], "y": ["a", "b"], "z": [True, False]}
    frames = [table(first), table({name: [None, None] for name in first})]
    found = rows_of(source_of(lambda: frames))
    assert found.isna().to_numpy().tolist() == [[False] * 3] * 2 + [[True] * 3] * 2
    last = Table(list(source_of(lambda: frames).chunks())[-1].data)
    assert [last.column_type(name) for name in first] == ["numeric", "text", "boolean"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda: iter([]), "no frame"),
        (lambda: iter([[1, 2]]), r"Frame.*table"),
        (lambda: ["a.csv"], "ends|No file"),
        (lambda: 3, "table"),
        (lambda path: path, r"without arguments.*'path'"),
        (lambda: lambda: 3, "returned a function"),
        (lambda: pa.table([[1], [2]], names=["a", "a"]), "Duplicate column name 'a'"),
        (iter(["text"]), r"Frame.*iterator"),
    ],
)
def test_sources_without_tables_raise(data, said):
    with pytest.raises(DataError, match=said):
        source_of(data)


def test_missing_paths_suggest_similar_names(tmp_path):
    (tmp_path / "iris.csv").write_text("a,b\n1,2\n")
    with pytest.raises(MissingFileError) as caught:
        source_of(str(tmp_path / "iris.cvs"))
    assert "iris.cvs" in str(caught.value)
    for path, said in [
        (tmp_path / "none" / "iris.csv", "the folder"),
        (f"{tmp_path}/*.parquet", "No file matches"),
        ("~/no such folder/iris.csv", "the folder"),
        ("", "No file ''"),
        ("a\0.csv", "No file"),
        ("s3://bucket/x.parquet", "an address"),
    ]:
        with pytest.raises(MissingFileError, match=said):
            source_of(path)


def test_folders_that_cannot_be_one_table_are_refused(tmp_path):
    folder = parquet_folder(a_frame(), tmp_path / "d")
    with pytest.raises(DataError) as caught:
        source_of([folder, folder / "part-0.parquet"])
    assert "twice" in str(caught.value)
    (folder / "notes.txt").touch()
    with pytest.raises(DataError) as caught:
        source_of(folder)
    assert "notes.txt" in str(caught.value)
    (folder / "notes.txt").rename(folder / "x.csv")
    with pytest.raises(DataError) as caught:
        source_of(folder)
    assert "Parquet" in str(caught.value)
    (folder / "_delta_log").mkdir()
    with pytest.raises(DataError) as caught:
        source_of(folder)
    assert "Delta" in str(caught.value)
    assert "Lake" in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as caught:
        source_of(tmp_path / "empty")
    assert "file" in str(caught.value)


@pytest.mark.parametrize("damage", [b"", b"PAR1 and nothing more", None])
def test_a_broken_parquet_file_is_named(damage, tmp_path):
    folder = parquet_folder(a_frame(), tmp_path / "d")
    path = folder / "part-2.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    with pytest.raises(UnreadableFileError) as caught:
        source_of(folder)
    assert "part-2.parquet" in str(caught.value)
    with pytest.raises(DataError) as caught:
        rows_of(source_of(ds.dataset(folder)))
    assert "part-2.parquet" in str(caught.value)


@pytest.mark.parametrize("of", ["path", "dataset"])
def test_a_schema_that_changes_is_named_with_the_file_and_both_types(of, tmp_path):
    pq.write_table(pa.table({"x": [1.0], "n": [1], "u": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["a"], "n": [2.5], "u": [2]}), tmp_path / "b.parquet")
    source = source_of(tmp_path if of == "path" else ds.dataset(tmp_path))
    with pytest.raises(DataError) as caught:
        rows_of(source, ["x"])
    assert caught.value.columns == ("x",)
    assert "double" in str(caught.value)
    assert "string" in str(caught.value)
    assert rows_of(source, ["u"])["u"].tolist() == [1, 2]
    if of == "path":
        assert rows_of(source, ["n"])["n"].tolist() == [1.0, 2.5]
        assert source.nrows == 2


def test_columns_that_only_some_files_have_are_named_when_asked_for(tmp_path):
    pq.write_table(pa.table({"x": [1.0], "a": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"b": [1], "x": [2.0]}), tmp_path / "b.parquet")
    source = source_of(tmp_path)
    assert source.names == ("x", "a", "b")
    assert rows_of(source, ["x"])["x"].tolist() == [1.0, 2.0]
    with pytest.raises(DataError) as caught:
        source.chunks()
    assert caught.value.columns == ("a",)
    with pytest.raises(DataError) as caught:
        source.chunks(["b"])
    assert caught.value.columns == ("b",)


def test_columns_without_a_type_take_that_of_other_files(tmp_path):
    columns = {"x": [1.5, 2.0], "y": ["a", "b"], "z": pd.Categorical(["u", "v"])}
    pa.table({name: pa.nulls(2) for name in columns})
    pq.write_table(pa.table({name: pa.nulls(2) for name in columns}), tmp_path / "a.parquet")
    pd.DataFrame(columns).to_parquet(tmp_path / "b.parquet")
    parts = [Table(part.data) for part in source_of(tmp_path).chunks()]
    for table in parts:
        assert [table.column_type(name) for name in columns] == ["numeric", "text", "categorical"]


def test_dictionaries_may_differ(tmp_path):
    for name, values, categories in (("a", ["u", "v"], ["v", "u"]), ("b", ["w", "u"], ["u", "w", "t"])):
        frame = pd.DataFrame({"y": pd.Categorical(values, categories=categories)})
        frame.to_parquet(tmp_path / f"{name}.parquet")
    for data in (tmp_path, ds.dataset(tmp_path)):
        assert rows_of(source_of(data))["y"].tolist() == ["u", "v", "w", "u"]


CSV_VALUES = """i,f,t,b,m,q
1,1.5,NA,True,,"1"
2,,a,False,,2
3,NaN,"b,c",TRUE,,3
,1e5,007,,,4
5,-inf,,false,,5
"""


def test_csv_equals_pandas_read_csv(tmp_path):
    (tmp_path / "t.csv").write_text(CSV_VALUES)
    expected = pd.read_csv(tmp_path / "t.csv")
    source = source_of(tmp_path / "t.csv")
    assert_same(rows_of(source), expected)
    assert [Table(next(source.chunks()).data).column_type(n) for n in "iftbq"] == [
        "numeric", "numeric", "text", "boolean", "numeric"
    ]  # fmt: skip


@pytest.fixture
def short_parts(monkeypatch):
    """Files are read four rows at a time."""
    monkeypatch.setattr("discrim.data.sources.base.MAX_CHUNK_ROWS", 4)


def test_whole_numbers_of_csv_may_be_missing_or_become_fractions(tmp_path, short_parts):
    frame = pd.DataFrame({"y": [1, 2, 1, 2, 1, None, 2, 1, None], "x": [0] * 7 + [0.5, 1]})
    frame["y"] = frame["y"].astype("Int64")
    path = tmp_path / "t.csv"
    path.write_text(frame.to_csv(index=False).replace(",0.0", ",0"))
    source = source_of(path)
    parts = [Table(part.data) for part in source.chunks()]
    assert [table.nrows for table in parts] == [4, 4, 1]
    assert_same(rows_of(source), frame)
    assert [str(part.data["y"].dtype) for part in source.chunks()] == ["int64", "Int64", "float64"]


@pytest.mark.parametrize(
    ("column", "value"), [("x", "."), ("x", "True"), ("b", "maybe"), ("b", "1"), ("x", "12 kg")]
)
def test_a_value_of_csv_that_does_not_fit_is_named(column, value, tmp_path, short_parts):
    frame = pd.DataFrame({"x": range(10), "b": [True, False] * 5}).astype(str)
    frame.loc[6, column] = value
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=rf"'{column}' has the value .*{value}.* at row 6 of .*t\.csv"):
        rows_of(source_of(tmp_path / "t.csv"))


def test_text_of_csv_stays_text_and_late_values_are_found(tmp_path, short_parts):
    frame = pd.DataFrame(
        {"zip": [*"abcd", "007", "1", "2", "3"], "late": [None] * 5 + [*"xyz"], "x": range(8)}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = source_of(tmp_path / "t.csv")
    assert_same(rows_of(source, ["late", "zip"]), frame[["late", "zip"]])
    assert_same(rows_of(source), frame)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", r"t\.csv' cannot be read as CSV"),
        (b"a,b\n1,2\n3,4,5\n", r"t\.csv' cannot be read .*line 3"),
        (b"a,b\n1,2,3\n4,5,6\n", "rows with more fields than the header"),
        (b"a,a\n1,2\n", "Duplicate column name 'a'"),
        (b"a,b\n1,\xff\n", "not text in UTF-8"),
    ],
)
@pytest.mark.parametrize("columns", [None, ["b"]])
def test_invalid_csv_files_are_named(text, said, columns, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    with pytest.raises(DataError, match=said):
        rows_of(source_of(path), columns)


def test_compressed_csv_that_ends_too_soon_is_named(tmp_path):
    path = tmp_path / "t.csv.gz"
    a_frame(3000).to_csv(path, index=False)
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(UnreadableFileError) as caught:
        rows_of(source_of(path))
    assert "t.csv" in str(caught.value)


def test_files_are_closed(tmp_path):
    for data in (one_parquet(a_frame(), tmp_path), one_csv(a_frame(), tmp_path)):
        parts = source_of(data).chunks()
        next(parts)
        parts.close()
        os.remove(data)
    connection = pytest.importorskip("duckdb").connect()
    relation = connection.sql("select range as x from range(1000000)")
    parts = source_of(relation).chunks()
    next(parts)
    parts.close()
    assert connection.sql("select 1").fetchall() == [(1,)]


@pytest.mark.parametrize("kind", sorted(ONCE))
def test_first_chunk_of_a_single_pass_source_can_be_read_twice(kind, tmp_path):
    frame = a_frame()
    source = source_of(KINDS[kind](frame, tmp_path))
    for columns in (["x"], ["class", "kind"]):
        first = next(part for part in source.chunks(columns) if len(part.data))
        assert Table(first.data).column("x").iloc[0] == frame["x"][0]
    left = source.chunks()
    assert_same(rows_of(source), frame)
    with pytest.raises(DataError) as caught:
        next(left)
    assert "once" in str(caught.value)
    with pytest.raises(DataError) as caught:
        source.chunks()
    assert "once" in str(caught.value)


def test_functions_are_called_once_to_inspect_columns():
    calls = []

    def frames():
        calls.append(1)
        yield a_frame()[:0]
        yield from halves(a_frame())

    source = source_of(frames)
    next(source.chunks(["x"]))
    rows_of(source)
    assert len(calls) == 1
    rows_of(source)
    assert len(calls) == 2


def test_empty_first_frames_do_not_determine_column_types():
    frames = [pd.DataFrame({"x": [], "y": []}, dtype=object), pd.DataFrame({"x": [1.0], "y": ["a"]})]
    source = source_of(iter(frames))
    assert rows_of(source).to_dict("list") == {"x": [1.0], "y": ["a"]}


def test_types_of_unread_columns_may_change():
    frames = [pd.DataFrame({"x": [1.0], "id": [1]}), pd.DataFrame({"x": [2.0], "id": ["b"]})]
    assert rows_of(source_of(iter(frames)), ["x"])["x"].tolist() == [1.0, 2.0]
    with pytest.raises(DataError) as caught:
        rows_of(source_of(iter(frames)))
    assert caught.value.columns == ("id",)


@pytest.mark.parametrize("of", ["path", "dataset", "filtered"])
def test_only_a_few_chunks_are_in_memory(of, tmp_path):
    # Arrow holds up to 32 groups of rows of a filtered dataset, however many there are.
    nrows, path = 2**20, tmp_path / "t.parquet"
    table = pa.table({f"x{j}": np.random.default_rng(j).normal(size=nrows) for j in range(8)})
    # Short groups of rows only where Arrow cannot do with less than one.
    pq.write_table(table, path, row_group_size=2**13 if of == "filtered" else nrows, use_dictionary=False)
    del table
    data = str(path) if of == "path" else ds.dataset(path)
    source = source_of(data.filter(ds.field("x0") > -9) if of == "filtered" else data)
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for part in source.chunks():
        rows += len(part.data)
        most = max(most, pa.total_allocated_bytes() - before)
        # A reader that runs ahead has the time to do so.
        time.sleep(0.005)
    assert rows == nrows
    assert most < 0.5 * nrows * 8 * 8


def test_a_dataset_has_the_types_that_it_was_given(tmp_path):
    pq.write_table(pa.table({"y": ["a", "b"], "x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": ["b", "a"]}), tmp_path / "b.parquet")
    kinds = ds.ParquetFileFormat(dictionary_columns=["y"])
    source = source_of(ds.dataset(tmp_path, format=kinds))
    assert Table(next(source.chunks(["y"])).data).column_type("y") == "categorical"
    schema = pa.schema([("x", pa.float64()), ("y", pa.string())])
    found = rows_of(source_of(ds.dataset(tmp_path, schema=schema)))
    assert found["x"].tolist()[:2] == [1.0, 2.0]
    assert found["x"].isna().tolist() == [False, False, True, True]
    assert found["y"].tolist() == ["a", "b", "b", "a"]


def test_hint_for_inconsistent_values_works(tmp_path, short_parts, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"x": range(10), "code": range(10)}).astype(str)
    frame.loc[6, ["x", "code"]] = [".", "A6"]
    frame.to_csv("t.csv", index=False)
    for column, way_out in (("x", "na_values=['.']"), ("code", "dtype={'code': str}")):
        with pytest.raises(DataError) as caught:
            rows_of(source_of("t.csv"), [column])
        assert way_out in str(caught.value)
        assert "data=lambda: pandas.read_csv('t.csv', na_values=" in str(caught.value)
    found = rows_of(
        source_of(lambda: pd.read_csv("t.csv", na_values=["."], dtype={"code": str}, chunksize=4))
    )
    assert found["code"].tolist() == frame["code"].tolist()
    assert found["x"].isna().sum() == 1


def test_polars_reads_parquet_without_pyarrow(tmp_path, monkeypatch):
    frame = a_frame().drop(columns="kind")
    folder = parquet_folder(frame, tmp_path / "d")
    monkeypatch.setitem(sys.modules, "discrim.data.sources.parquet", None)
    source = source_of(folder)
    assert source.description == f"the folder of Parquet {str(folder)!r}"
    assert_same(rows_of(source), frame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DataError) as caught:
        source_of(folder)
    assert "install" in str(caught.value)
    assert "pyarrow" in str(caught.value)


def test_sources_that_require_pyarrow_say_so(monkeypatch):
    relation, reader = duckdb_connection().sql("select 1 as x"), pa.table({"x": [1]}).to_reader()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for source, data in ((source_of, relation), (StreamSource, reader)):
        with pytest.raises(DataError) as caught:
            source(data)
        assert "pyarrow" in str(caught.value)
        assert "read" in str(caught.value)


@pytest.mark.parametrize("seed", range(6))
def test_tables_split_into_files_are_read_completely(seed, tmp_path, short_parts):
    rng = np.random.default_rng(seed)
    nrows = int(rng.integers(5, 30))
    frame = pd.DataFrame(
        {
            "petal": rng.normal(size=nrows) * 10.0 ** rng.integers(-300, 300),
            "petal.width": rng.integers(-(2**62), 2**62, nrows),
            "a[0] ,": rng.choice(["", " ", "NA ", 'é"\n', "1"], nrows),
            "on": rng.random(nrows) < 0.5,
        }
    )
    frame.loc[rng.random(nrows) < 0.3, "petal"] = np.nan
    frame.loc[0, "a[0] ,"] = "text"
    (tmp_path / "p").mkdir()
    (tmp_path / "c").mkdir()
    cuts = [0, *sorted(rng.integers(1, nrows + 1, 3)), nrows]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        part = frame[start:stop]
        part.to_parquet(tmp_path / "p" / f"{number}.parquet", row_group_size=int(rng.integers(1, 9)))
        part.to_csv(tmp_path / "c" / f"{number}.csv", index=False)
    assert_same(rows_of(source_of(tmp_path / "p")), frame)
    assert_same(rows_of(source_of(tmp_path / "p"), ["petal"]), frame[["petal"]])
    # What is empty in CSV is missing, as pandas has it.
    frame["a[0] ,"] = frame["a[0] ,"].replace({"": None})
    assert_same(rows_of(source_of(tmp_path / "c")), frame)
