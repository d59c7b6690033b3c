"""Files on the command line: packed, damaged, cut short, of junk, or no files at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import tarfile
import threading
import types
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pytest

from discrim import cli, datasets
from discrim.cli import analyses as fitting
from discrim.cli import reading
from discrim.cli.reading import read_table
from discrim.errors import DataError
from tests.support import is_older_than

FORMULA = "species ~ ."
TEXT = (Path(datasets.__file__).parent / "iris.csv").read_bytes()


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, TEXT)
    return file.getvalue()


def tarred(*names: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.type = len(TEXT), kind
            archive.addfile(member, io.BytesIO(TEXT))
    return file.getvalue()


PACKED = {
    ".gz": gzip.compress(TEXT),
    ".bz2": bz2.compress(TEXT),
    ".xz": lzma.compress(TEXT),
    ".zip": zipped("iris.csv"),
    ".tar": tarred("iris.csv"),
    ".tar.gz": gzip.compress(tarred("iris.csv")),
    ".tar.bz2": bz2.compress(tarred("iris.csv")),
    ".tar.xz": lzma.compress(tarred("iris.csv")),
}
CHECKED = sorted(set(PACKED) - {".tar"})


def refused(capsys, *arguments: str) -> str:
    """Run in this process what must fail, and give the one line it says."""
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("discrim: ")
    assert captured.err.count("\n") == 1
    assert captured.err.isprintable() or captured.err[:-1].isprintable()
    return captured.err


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_is_the_text(tmp_path, suffix):
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(PACKED[suffix])
    assert read_table(str(path)).equals(datasets.load_iris())


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("damage", ["empty", "junk", "plain", "half", "end", "turned"])
def test_a_damaged_packed_file_is_one_line_and_never_a_part_of_the_table(tmp_path, capsys, suffix, damage):
    whole, rng = PACKED[suffix], random.Random(14)
    path = tmp_path / f"table.csv{suffix}"
    turned = bytearray(whole)
    for _ in range(8):
        turned[rng.randrange(len(turned) // 3, len(turned) // 2)] ^= rng.randrange(1, 256)
    # The text of an archive that is not compressed has no checksum, and zeros may follow its end or not.
    half = len(TEXT) // 2 if suffix == ".tar" else len(whole) // 2
    contents = {
        "empty": b"",
        "junk": rng.randbytes(3000),
        "plain": TEXT,
        "half": whole[:half],
        "end": whole[: 400 if suffix == ".tar" else -3],
        "turned": whole[:100] + b"\x01" + whole[101:] if suffix == ".tar" else bytes(turned),
    }
    path.write_bytes(contents[damage])
    said = refused(capsys, "lda", FORMULA, str(path))
    assert "cannot be unpacked" in said or (suffix, damage) == (".gz", "empty")


@pytest.mark.parametrize(
    ("suffix", "contents"),
    [
        (".tar", tarred("a.csv", "b.csv")),
        (".tar", tarred()),
        (".tar", tarred("a", kind=tarfile.SYMTYPE)),
        (".tar.gz", gzip.compress(tarred("a", kind=tarfile.FIFOTYPE))),
        (".zip", zipped("a.csv", "b.csv")),
        (".zip", zipped()),
    ],
)
def test_an_archive_of_other_than_one_file_is_refused(tmp_path, capsys, suffix, contents):
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(contents)
    assert "one file" in refused(capsys, "lda", FORMULA, str(path)).lower().replace("zero files", "one file")


class FakeFrame:
    """Unpacks zlib's format as packages for zstd unpack theirs: a cut frame gives what there is of it."""

    def __init__(self):
        self._inner = zlib.decompressobj()
        self.decompress = self._inner.decompress

    eof = property(lambda self: self._inner.eof)
    unused_data = property(lambda self: self._inner.unused_data)


def test_a_zst_file_that_is_cut_is_not_taken_for_the_whole(monkeypatch, tmp_path, capsys):
    decompressor = types.SimpleNamespace(ZstdDecompressor=FakeFrame)
    monkeypatch.setitem(sys.modules, "compression.zstd", decompressor)
    path = tmp_path / "table.csv.zst"
    whole = zlib.compress(TEXT[:1000]) + zlib.compress(TEXT[1000:])
    path.write_bytes(whole)
    assert read_table(str(path)).equals(datasets.load_iris())
    for cut in (1, 5, 500):
        path.write_bytes(whole[:-cut])
        said = refused(capsys, "lda", FORMULA, str(path))
        assert "cannot be unpacked: the file is truncated" in said


def test_a_zst_file_without_its_package_says_what_to_install(monkeypatch, tmp_path, capsys):
    for name in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "table.csv.zst"
    path.write_bytes(b"(\xb5/\xfd")
    assert "pip install zstandard, or unpack it first" in refused(capsys, "lda", FORMULA, str(path))


def test_zst_files_of_the_real_package(tmp_path, capsys):
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    path = tmp_path / "table.csv.zst"
    whole = zstandard.ZstdCompressor().compress(TEXT)
    path.write_bytes(whole)
    assert read_table(str(path)).equals(datasets.load_iris())
    path.write_bytes(whole[:-2])
    assert "cannot be unpacked" in refused(capsys, "lda", FORMULA, str(path))


@pytest.mark.parametrize("seed", range(40))
def test_bytes_of_parquet_that_are_changed_give_a_table_or_one_line(tmp_path, capsys, seed):
    pytest.importorskip("pyarrow")
    path, rng = tmp_path / "table.parquet", random.Random(seed)
    datasets.load_iris().to_parquet(path)
    contents = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 3, 30])):
        contents[rng.randrange(len(contents))] = rng.randrange(256)
    path.write_bytes(contents[: len(contents) - rng.choice([0, 0, 1, 1000])])
    try:
        read_table(str(path))
    except DataError as error:
        said = str(error)
    else:
        said = "it cannot be seen that the table is another one"
    assert "cannot be" in said


# Before 3.1 pandas ends a field at a NUL, and reads 1e400 as text.
BEFORE_31 = is_older_than(pd, 3, 1)


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (b"\n\n\n", "cannot be read as a table"),
        (b"   \n  \n", "cannot be read as a table"),
        (b"\xef\xbb\xbf", "cannot be read as a table"),
        (random.Random(1).randbytes(5000), "is not text in UTF-8"),
        (b"\0" * 1000, "Line 1 of" if BEFORE_31 else "no rows"),
        (b"\0,a,b\n1,2,3\n", "Line 1 of" if BEFORE_31 else "No column 'species' in the table"),
        (TEXT.decode().encode("utf-16"), "is not text in UTF-8"),
        (TEXT.replace(b"setosa", b"\xed\xa0\x80"), "is not text in UTF-8"),
        (TEXT.split(b"\n")[0], "no rows"),
        (b"\n".join(TEXT.split(b"\n")[:2]), "There is no column to fit"),
        (TEXT.replace(b"5.1", b"5\x001"), "holds a NUL" if BEFORE_31 else "is text"),
        (TEXT.replace(b"5.1", b"1e400"), "is text" if BEFORE_31 else "is infinite"),
        (TEXT + b'"unclosed,1,2,3,4\n', "EOF inside string"),
        (b'{"species": 1}', "no rows"),
    ],
)
def test_a_file_of_no_use_is_one_line(tmp_path, capsys, contents, says):
    path = tmp_path / "table.csv"
    path.write_bytes(contents)
    assert says in refused(capsys, "lda", FORMULA, str(path))


@pytest.mark.parametrize("turn", [lambda t: b"\xef\xbb\xbf" + t, lambda t: t.replace(b"\n", b"\r\n")])
def test_marks_of_other_systems_are_no_part_of_the_text(tmp_path, turn):
    path = tmp_path / "table.csv"
    path.write_bytes(turn(TEXT))
    assert read_table(str(path)).equals(datasets.load_iris())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_pipe_is_read_once_and_a_device_not_at_all(tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    assert read_table(str(pipe)).equals(datasets.load_iris())
    writer.join()
    for device in ("/dev/zero", "/dev/null"):
        assert "is a device, not a file" in refused(capsys, "lda", FORMULA, device)


def test_a_name_that_is_too_long_or_that_of_a_folder_is_one_line(tmp_path, capsys):
    assert "File name too long" in refused(capsys, "lda", FORMULA, "x" * 5000)
    for suffix in (".csv", ".csv.gz", ".csv.zip", ".tar", ".csv.tar.xz"):
        (tmp_path / f"folder{suffix}").mkdir()
        assert "has no files" in refused(capsys, "lda", FORMULA, str(tmp_path / f"folder{suffix}"))


def test_more_than_the_memory_is_one_line(monkeypatch, capsys):
    def exhausted(*_, **__):
        raise MemoryError("Unable to allocate 16 PiB")

    monkeypatch.setattr(reading, "_read_delimited", exhausted)
    assert "larger than the memory" in refused(capsys, "lda", FORMULA, "table.csv")
    monkeypatch.setattr(fitting, "call_with_table", exhausted)
    assert "not enough memory: Unable to allocate 16 PiB" in refused(capsys, "lda", FORMULA, "iris")
