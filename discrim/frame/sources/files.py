"""Files of tables, as a person names them: a path, a folder, a pattern, or a list of these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatch
from glob import glob, has_magic
from itertools import takewhile
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import unquote

from discrim.errors import DataError, MissingFileError
from discrim.frame.sources.parts import quoted_names

FORMATS = {".csv": "CSV", ".tsv": "CSV", ".parquet": "Parquet", ".pq": "Parquet", ".parq": "Parquet"}
"""What a file is by the end of its name."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Ends of the names of compressed files, which are read as the name before says."""


class File(NamedTuple):
    """A file of a table.

    Attributes
    ----------
    keys : dict of str to (str or None)
        What the names of its folders say of its rows: ``year=2024/a.parquet`` is of the year 2024.
    """

    path: str
    keys: dict[str, str | None]


class Files(NamedTuple):
    """Files that are read as one table.

    Attributes
    ----------
    format : str
        "CSV" or "Parquet".
    what : str
        What they are in words, for messages.
    given : tuple of str
        The paths, folders and patterns that stand for them.
    """

    files: tuple[File, ...]
    format: str
    what: str
    given: tuple[str, ...] = ()

    def include(self, path: str) -> bool:
        """Whether a path is that of one of the files, or of one that would be read with them."""
        real = os.path.realpath(path)
        return any(real == os.path.realpath(file.path) for file in self.files) or any(
            _covers(each, real) for each in self.given
        )


def is_path(data: Any) -> bool:
    """Whether something is a path, or a list of paths; text with ``~`` within, and no file, is none."""
    if isinstance(data, list | tuple | set | frozenset):
        return bool(data) and all(isinstance(each, str | os.PathLike) for each in data)
    if isinstance(data, str):
        return (
            "~" not in data
            or data.startswith("~")
            or os.path.exists(os.path.expanduser(data))
            or bool(_matching(data))
        )
    return isinstance(data, os.PathLike)


def names_files(text: str) -> bool:
    """Whether text is the path of a file or a folder that is there, or a pattern."""
    return os.path.exists(os.path.expanduser(text)) or has_magic(text)


def files_of(data: Any) -> Files:
    """The files that a path, a pattern or a list of them stands for, in the order of their names.

    Parameters
    ----------
    data : str, os.PathLike, or a list of these
        A file, a folder with all that is below it, or a pattern as of `glob.glob`, in which ``**`` stands
        for any folders. In a list the order is kept.

    Raises
    ------
    MissingFileError
        There is no such file.
    DataError
        It holds no file, one that is neither CSV nor Parquet, both, or one twice.
    """
    many = not isinstance(data, str | os.PathLike)
    given = [os.fspath(each) for each in (data if many else [data])]
    if isinstance(data, set | frozenset):
        raise DataError(
            "The paths are a set, which has no order: give a list, so that rows keep their places."
        )
    found = tuple(file for path in given for file in _files(_text(path)))
    _refuse_same(found)
    formats = {format_of(file.path): file.path for file in reversed(found)}
    for unknown in formats.keys() - {"CSV", "Parquet"}:
        path = formats[unknown]
        raise DataError(
            f"{path!r} ends neither in .csv or .tsv nor in .parquet, so that it is not known what it is. "
            f"Rename it; give a function that reads it, as in data=lambda: pandas.read_csv({path!r}, "
            "sep=..., chunksize=50_000); or give the files of a folder by a pattern, as in "
            "'folder/*.parquet'."
        )
    if len(formats) > 1:
        raise DataError(
            f"{formats['CSV']!r} is CSV and {formats['Parquet']!r} is Parquet: give files of one kind, as "
            "by the pattern 'folder/*.parquet'."
        )
    (kind,) = formats
    what = _in_words(given, len(found), str(kind))
    return Files(found, str(kind), what, tuple(_text(path) for path in given))


def format_of(path: str) -> str | None:
    """What a file is by the end of its name, "CSV" or "Parquet"; None where that does not say.

    Examples
    --------
    >>> format_of("day.csv.gz"), format_of("day.pq"), format_of("day.txt")
    ('CSV', 'Parquet', None)
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    packed = len(suffixes) > 1 and suffixes[-1] in COMPRESSED
    found = FORMATS.get(suffixes[-2 if packed else -1]) if suffixes else None
    return None if packed and found == "Parquet" else found


def _text(path: Any) -> str:
    return os.path.expanduser(os.fsdecode(path))


def _matching(path: str) -> list[str]:
    return sorted(glob(os.path.expanduser(path), recursive=True)) if has_magic(path) else []


def _files(path: str) -> Iterator[File]:
    """The files that one path stands for."""
    if os.path.isdir(path):
        yield from _below(path, path)
        return
    if os.path.isfile(path):
        yield File(path, {})
        return
    if os.path.exists(path):
        raise DataError(
            f"{path!r} is a device or a pipe, which can be read once only: give a file, or an iterator of "
            f"frames such as data=pandas.read_csv({path!r}, chunksize=50_000)."
        )
    matching = _matching(path)
    if not matching:
        raise _missing(path)
    # Below the folders that the pattern spells out, their names say of rows what they say in a folder.
    spelt = takewhile(lambda part: not has_magic(part), PurePath(path).parts)
    base = os.path.join(*spelt, "") or os.curdir
    for each in matching:
        if os.path.isdir(each):
            # Files below that the pattern finds by itself.
            if "**" not in path:
                yield from _below(each, base)
        elif not _hidden(os.path.basename(each)):
            yield File(each, _keys(each, base))


def _below(folder: str, base: str) -> Iterator[File]:
    """All files below a folder, but those whose names begin with a dot or an underscore."""
    if os.path.isdir(os.path.join(folder, "_delta_log")):
        raise DataError(
            f"{folder!r} is a table of Delta Lake, whose files hold rows that were deleted: give "
            f"deltalake.DeltaTable({folder!r}).to_pyarrow_dataset()."
        )
    found: list[str] = []
    for here, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        found += [os.path.join(here, name) for name in names if not _hidden(name)]
    if not found:
        raise DataError(f"The folder {folder!r} holds no file: give one with files of CSV or Parquet.")
    for path in sorted(found):
        yield File(path, _keys(path, base))


def _hidden(name: str) -> bool:
    """Whether writers of tables name so what is no part of the table: ``_SUCCESS``, ``.part.crc``."""
    return name.startswith((".", "_")) and "=" not in name


def _keys(path: str, base: str) -> dict[str, str | None]:
    folders = PurePath(os.path.relpath(os.path.dirname(path) or os.curdir, base)).parts
    pairs = (folder.partition("=") for folder in folders if "=" in folder.strip("="))
    return {
        unquote(name): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)
        for name, _, value in pairs
    }


def _covers(given: str, real: str) -> bool:
    """Whether a folder holds a path, or a pattern matches it, and what is below it."""
    parts = PurePath(real).parts
    if os.path.isdir(given):
        return parts[: len(folder := PurePath(os.path.realpath(given)).parts)] == folder
    if os.path.isfile(given):
        return False
    pattern = PurePath(os.path.abspath(given)).parts
    before = pattern[: pattern.index("**")] if "**" in pattern else pattern
    fits = all(fnmatch(part, like) for part, like in zip(parts, before, strict=False))
    return fits and len(parts) >= len(before) and ("**" not in pattern or fnmatch(parts[-1], pattern[-1]))


def _missing(path: str) -> MissingFileError:
    shown = path if len(path) <= 200 else f"{path[:200]}..."
    if "://" in path:
        return MissingFileError(
            f"{shown!r} is an address, not a path: give an Arrow dataset, as in "
            "pyarrow.dataset.dataset(address), or polars' scan_parquet(address)."
        )
    if has_magic(path):
        return MissingFileError(
            f"No file matches the pattern {shown!r}: correct it, or name a file or a folder."
        )
    if os.path.islink(path):
        # What there is of links that run in a circle is no file.
        end = os.path.realpath(path)
        if os.path.islink(end):
            return MissingFileError(f"{shown!r} is a link that leads back to itself: name the file.")
        return MissingFileError(f"{shown!r} is a link to {end!r}, which does not exist: name another file.")
    folder, name = os.path.split(path)
    if path.startswith("~") and not os.path.isdir(folder):
        return MissingFileError(f"No file {shown!r}: no user here has that name. Give the whole path.")
    if folder and not os.path.isdir(folder):
        return MissingFileError(f"No file {shown!r}: there is no folder {os.path.dirname(shown)!r} either.")
    near = get_close_matches(name, _names_in(folder or os.curdir), n=1, cutoff=0.6)
    hint = f"Did you mean {os.path.join(folder, near[0])!r}?" if near else "Correct the path."
    return MissingFileError(f"No file {shown!r}. {hint}")


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _refuse_same(files: Iterable[File]) -> None:
    known: set[str] = set()
    for file in files:
        real = os.path.realpath(file.path)
        if real in known:
            raise DataError(f"{file.path!r} is given twice, and its rows would count twice: give it once.")
        known.add(real)


def _in_words(given: list[str], files: int, kind: str) -> str:
    if len(given) > 1:
        return f"the {kind} files {quoted_names(given, 3)}"
    path = _text(given[0])
    if os.path.isdir(path):
        return f"the folder of {kind} {given[0]!r}"
    return (
        f"the {kind} file {given[0]!r}" if os.path.isfile(path) else f"the {files} {kind} files {given[0]!r}"
    )
