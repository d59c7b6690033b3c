"""Find the files that a user names, and read CSV files as one table in chunks.

Files are named by a path, a folder, a pattern, or a list of these. CSV is read by `pandas.read_csv`, with one
content per column, which its first values determine: booleans, integers, numbers or text. Integers may have
missing values or become fractions later. Any other value that does not fit raises an error with its row,
whereas pandas, which sees a whole file at once, would turn the column into text.

`sources.py` uses this module for `data=` and the command line for its files; `parquet.py` reads Parquet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import fnmatch
from glob import glob, has_magic
from importlib import import_module
from itertools import count, takewhile
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, NoReturn
from urllib.parse import unquote

import numpy as np
import pandas as pd

from discrim import datasets
from discrim.core.numerics.progress import Progress
from discrim.data.sources.base import (
    Chunk,
    Source,
    check_unique_names,
    one_line_message,
    quoted_names,
    rows_per_chunk,
)
from discrim.data.values import convert_text_labels, format_value, pandas_column_type
from discrim.errors import DataError, DiscrimError, MissingFileError, UnreadableFileError

FORMATS = {".csv": "CSV", ".tsv": "CSV", ".parquet": "Parquet", ".pq": "Parquet", ".parq": "Parquet"}
"""Format of a file by its extension."""

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Extensions of compressed files; the extension before them determines the format."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")
"""Keys that are read as integers: up to 18 digits, which fit in int64."""


class File(NamedTuple):
    """A file of a table and the keys in the names of its folders: ``year=2024/a.parquet`` has the key year.

    Attributes
    ----------
    path : str
        Path of the file.
    keys : dict of str to str or None
        Text of the value by key; None for a missing value.
    """

    path: str
    keys: dict[str, str | None]


class Files(NamedTuple):
    """CSV or Parquet files that are read as one table.

    Attributes
    ----------
    files : tuple of File
        The files, in the order of the rows.
    format : {"CSV", "Parquet"}
    description : str
        Description of the files in messages.
    paths_and_patterns : tuple of str
        Paths, folders and patterns from which the files were found.
    """

    files: tuple[File, ...]
    format: str
    description: str
    paths_and_patterns: tuple[str, ...] = ()

    def include(self, path: str) -> bool:
        """Return whether a path is one of the files, or would be read with them if it existed."""
        real = os.path.realpath(path)
        return any(real == os.path.realpath(file.path) for file in self.files) or any(
            _includes(path_or_pattern, real) for path_or_pattern in self.paths_and_patterns
        )


def is_path(data: Any) -> bool:
    """Return whether an object is a path or a list of paths.

    Text is not a path if it contains ``~`` after the first character (a formula) or is the name of a data set
    of the package, unless a file of that name exists. Any other text is a path, even if no such file exists.
    """
    if isinstance(data, list | tuple | set | frozenset):
        return bool(data) and all(isinstance(item, str | os.PathLike) for item in data)
    if isinstance(data, str):
        return (
            ("~" not in data and data not in datasets.ABOUT)
            or data.startswith("~")
            or os.path.exists(os.path.expanduser(data))
            or bool(_glob_matches(data))
        )
    return isinstance(data, os.PathLike)


def is_file_or_dataset(text: str) -> bool:
    """Return whether text is the path of an existing file or folder, a pattern, or the name of a data set."""
    return os.path.exists(os.path.expanduser(text)) or has_magic(text) or text in datasets.ABOUT


def files_of(data: Any) -> Files:
    """Find the files of a path, a folder with its subfolders, a pattern, or a list of these.

    Parameters
    ----------
    data : str, path or list of these
        Patterns follow `glob.glob`, in which ``**`` matches any folders. The files of a folder or a
        pattern are sorted by name; a list keeps its order.

    Returns
    -------
    Files

    Raises
    ------
    DataError
        A file is neither CSV nor Parquet, the files are of both formats, a file occurs twice, a folder is
        empty or a Delta Lake table, or the paths are a set, which is not ordered.
    MissingFileError
        A file does not exist.
    """
    is_list = not isinstance(data, str | os.PathLike)
    paths = [os.fspath(item) for item in (data if is_list else [data])]
    if isinstance(data, set | frozenset):
        raise DataError(
            "The paths are a set, which has no order.",
            hint="Pass a list, which determines the order of the rows.",
        )
    files = tuple(file for path in paths for file in _find_files(_expand_path(path)))
    real_paths: set[str] = set()
    for file in files:
        real = os.path.realpath(file.path)
        if real in real_paths:
            raise DataError(
                f"{file.path!r} is listed twice, and its rows would be counted twice.", hint="List it once."
            )
        real_paths.add(real)
    formats = {format_of(file.path): file.path for file in reversed(files)}
    for unknown in formats.keys() - {"CSV", "Parquet"}:
        path = formats[unknown]
        raise DataError(
            f"{path!r} has an unknown extension, which is neither .csv or .tsv nor .parquet.",
            hint=(
                f"Rename it; pass a function that reads it, such as data=lambda: pandas.read_csv({path!r}, "
                "sep=..., chunksize=50_000); or pass the files of a folder by a pattern, such as "
                "'folder/*.parquet'."
            ),
        )
    if len(formats) > 1:
        raise DataError(
            f"{formats['CSV']!r} is CSV and {formats['Parquet']!r} is Parquet.",
            hint="Pass files of one format, for example with the pattern 'folder/*.parquet'.",
        )
    (file_format,) = formats
    path = _expand_path(paths[0])
    if len(paths) > 1:
        description = f"the {file_format} files {quoted_names(paths, 3)}"
    elif os.path.isdir(path):
        description = f"the folder of {file_format} {paths[0]!r}"
    elif os.path.isfile(path):
        description = f"the {file_format} file {paths[0]!r}"
    else:
        description = f"the {len(files)} {file_format} files {paths[0]!r}"
    return Files(files, str(file_format), description, tuple(_expand_path(path) for path in paths))


def format_of(path: str) -> str | None:
    """Return the format of a file by its extension, "CSV" or "Parquet", or None if it is another.

    The extension of a compressed CSV file is that before the last; compressed Parquet is unknown.

    Examples
    --------
    >>> format_of("day.csv.gz"), format_of("day.pq"), format_of("day.txt")
    ('CSV', 'Parquet', None)
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    is_compressed = len(suffixes) > 1 and suffixes[-1] in COMPRESSED
    file_format = FORMATS.get(suffixes[-2 if is_compressed else -1]) if suffixes else None
    return None if is_compressed and file_format == "Parquet" else file_format


def _expand_path(path: Any) -> str:
    """Return a path as text, with ~ replaced by the home folder."""
    return os.path.expanduser(os.fsdecode(path))


def _glob_matches(path: str) -> list[str]:
    """Return the paths that match a pattern, sorted; none if the path is not a pattern."""
    return sorted(glob(os.path.expanduser(path), recursive=True)) if has_magic(path) else []


def _find_files(path: str) -> Iterator[File]:
    """Yield the files of one path, folder or pattern; raise an error if nothing is found.

    It is a MissingFileError, or a DataError for a device, a pipe, an empty folder or a Delta Lake table.
    """
    if os.path.isdir(path):
        yield from _files_below(path, path)
        return
    if os.path.isfile(path):
        yield File(path, {})
        return
    if os.path.exists(path):
        raise DataError(
            f"{path!r} is a device or a pipe, which can be read only once.",
            hint=(
                f"Pass a file, or an iterator of frames such as data=pandas.read_csv({path!r}, "
                "chunksize=50_000)."
            ),
        )
    matching = _glob_matches(path)
    if not matching:
        raise _missing_file_error(path)
    # Folders matched by the pattern can have keys in their names; those that it spells out cannot.
    literal_parts = takewhile(lambda part: not has_magic(part), PurePath(path).parts)
    base = os.path.join(*literal_parts, "") or os.curdir
    for match in matching:
        if os.path.isdir(match):
            # A pattern with ** matches the files below by itself.
            if "**" not in path:
                yield from _files_below(match, base)
        elif not _is_hidden(os.path.basename(match)):
            yield File(match, _folder_keys(match, base))


def _files_below(folder: str, base: str) -> Iterator[File]:
    """Yield all files in a folder and its subfolders, except hidden ones, sorted by path.

    Parameters
    ----------
    folder : str
    base : str
        This folder or a folder above it. Folders below `base` with a name such as ``year=2024`` are the keys
        of their files (Hive partitioning).

    Yields
    ------
    File

    Raises
    ------
    DataError
        The folder does not contain files, or is a Delta Lake table.
    """
    if os.path.isdir(os.path.join(folder, "_delta_log")):
        raise DataError(
            f"{folder!r} is a Delta Lake table, whose files contain deleted rows.",
            hint=f"Pass deltalake.DeltaTable({folder!r}).to_pyarrow_dataset().",
        )
    paths: list[str] = []
    for current_folder, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        paths += [os.path.join(current_folder, name) for name in names if not _is_hidden(name)]
    if not paths:
        raise DataError(
            f"The folder {folder!r} has no files.", hint="Name a folder with CSV or Parquet files."
        )
    for path in sorted(paths):
        yield File(path, _folder_keys(path, base))


def _is_hidden(name: str) -> bool:
    """Return whether a file or folder contains metadata by its name, for example ``_SUCCESS``, ``.part.crc``.

    Folders of keys, such as ``_id=1``, contain rows although they begin with an underscore.
    """
    return name.startswith((".", "_")) and "=" not in name


def _folder_keys(path: str, base: str) -> dict[str, str | None]:
    """Read the keys ``name=value`` in the names of the folders from `base` (exclusive) to a file.

    Names and values are decoded from their URL encoding. The value of Hive's default partition is None.
    """
    folders = PurePath(os.path.relpath(os.path.dirname(path) or os.curdir, base)).parts
    pairs = (folder.partition("=") for folder in folders if "=" in folder.strip("="))
    return {
        unquote(name): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)
        for name, _, value in pairs
    }


def folder_labels(files: Sequence[File]) -> dict[str, dict[str | None, Any]]:
    """Collect the labels of each folder key, in the order of the files.

    Parameters
    ----------
    files : sequence of File

    Returns
    -------
    dict of str to dict
        For each key, the label of each text in the folder names. The labels of a key are integers if all
        texts are integers, else the texts.
    """
    labels_by_key: dict[str, dict[str | None, Any]] = {}
    for file in files:
        for name, text in file.keys.items():
            labels_by_key.setdefault(name, {}).update({} if text is None else {text: text})
    for labels in labels_by_key.values():
        if all(map(_INTEGER.fullmatch, labels.values())):
            labels.update({text: int(label) for text, label in labels.items()})
    return labels_by_key


def _includes(path_or_pattern: str, real: str) -> bool:
    """Return whether a path would be read with a folder or pattern.

    Parameters
    ----------
    path_or_pattern : str
        Path of a folder or file, or a pattern. A file includes no other path.
    real : str
        Path without symbolic links.

    Returns
    -------
    bool
        Whether the path is in the folder, matches the pattern, or is below a match.
    """
    components = PurePath(real).parts
    if os.path.isdir(path_or_pattern):
        return components[: len(folder := PurePath(os.path.realpath(path_or_pattern)).parts)] == folder
    if os.path.isfile(path_or_pattern):
        return False
    pattern = PurePath(os.path.abspath(path_or_pattern)).parts
    literal_components = pattern[: pattern.index("**")] if "**" in pattern else pattern
    is_match = all(
        fnmatch(component, component_pattern)
        for component, component_pattern in zip(components, literal_components, strict=False)
    )
    return (
        is_match
        and len(components) >= len(literal_components)
        and ("**" not in pattern or fnmatch(components[-1], pattern[-1]))
    )


def _missing_file_error(path: str) -> MissingFileError:
    """Return the error for a path that does not exist, with a hint that depends on the cause."""
    short_path = path if len(path) <= 200 else f"{path[:200]}..."
    if "://" in path:
        return MissingFileError(
            f"{short_path!r} is an address, not a path.",
            hint=(
                "Pass an Arrow dataset, such as pyarrow.dataset.dataset(address), or polars' "
                "scan_parquet(address)."
            ),
        )
    if has_magic(path):
        return MissingFileError(
            f"No file matches the pattern {short_path!r}.", hint="Correct it, or name a file or a folder."
        )
    if os.path.islink(path):
        end = os.path.realpath(path)
        return MissingFileError(
            f"{short_path!r} is a link to {end!r}, which does not exist.", hint="Name another file."
        )
    folder, name = os.path.split(path)
    if path.startswith("~") and not os.path.isdir(folder):
        return MissingFileError(
            f"No file {short_path!r}: there is no user of that name.", hint="Write the full path."
        )
    if folder and not os.path.isdir(folder):
        return MissingFileError(
            f"No file {short_path!r}: the folder {os.path.dirname(short_path)!r} does not exist.",
            hint="Correct the path.",
        )
    try:
        existing_names = os.listdir(folder or os.curdir)
    except OSError:
        existing_names = []
    close_matches = get_close_matches(
        name, existing_names if folder else [*existing_names, *datasets.ABOUT], n=1, cutoff=0.6
    )
    hint = (
        f"Did you mean {os.path.join(folder, close_matches[0])!r}?" if close_matches else "Correct the path."
    )
    return MissingFileError(f"No file {short_path!r}.", hint=hint)


def raise_if_column_missing(name: str, columns_by_path: Mapping[str, Collection[str]]) -> None:
    """Raise a DataError if one of some files lacks a column.

    Parameters
    ----------
    name : str
        The column.
    columns_by_path : mapping of str to collection of str
        Columns of each file, by path.
    """
    incomplete_path = next((path for path, names in columns_by_path.items() if name not in names), None)
    if incomplete_path is not None:
        complete_path = next(path for path, names in columns_by_path.items() if name in names)
        raise DataError(
            f"{incomplete_path!r} lacks the column {name!r}, which {complete_path!r} has.",
            hint="Exclude the column from the formula, or pass files that have it.",
            columns=(name,),
        )


SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""Field separators and their names."""

_BEFORE_31 = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
"""Whether pandas is older than 3.1."""

_DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9]*,[0-9]+(e[-+]?[0-9]+)?\s*", re.IGNORECASE)
"""Number with a decimal comma."""

N_SAMPLED_ROWS = 50
"""Number of rows that are inspected for the decimal sign."""


class Dialect(NamedTuple):
    """Separator and decimal sign of CSV files.

    The separator None stands for a tab in .tsv files, also compressed ones, and a comma in others.
    """

    separator: str | None = None
    decimal: str = "."

    def separator_of(self, path: str) -> str:
        """Return the field separator of a file."""
        if self.separator is not None:
            return self.separator
        suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
        return "\t" if [each for each in suffixes if each not in COMPRESSED][-1:] == [".tsv"] else ","

    def read_csv_options(self, path: str) -> dict[str, Any]:
        """Return the keyword arguments of `pandas.read_csv` for a file."""
        # The default parser of pandas before 3.1 is fast, but wrong in the last digit of some numbers.
        exact = {"float_precision": "round_trip"} if _BEFORE_31 else {}
        return {"sep": self.separator_of(path), "decimal": self.decimal} | exact


def raise_if_nul(path: str, file: Any) -> None:
    """Raise an UnreadableFileError if a CSV file has a NUL character and pandas is older than 3.1.

    These versions silently drop the text of a field after a NUL.

    Parameters
    ----------
    path : str
        Path for the message.
    file : str or file object
        The file to read; a file object is rewound first.
    """
    if not _BEFORE_31:
        return
    if not isinstance(file, str):
        file.seek(0)
    # No further versions below 3.1 will appear, hence their internals can be relied on.
    get_handle = import_module("pandas.io.common").get_handle
    with get_handle(file, "r", encoding="utf-8", compression="infer") as text:
        line = next((number for number, text_line in enumerate(text.handle, 1) if "\0" in text_line), None)
    if line is not None:
        raise UnreadableFileError(
            f"Line {line} of {path!r} contains a NUL character, at which pandas {pd.__version__} ends a "
            "field.",
            hint="Correct the file, or install pandas 3.1 or later (pip install 'pandas>=3.1').",
        )


def raise_if_wrong_separator(path: str, file: Any, header_fields: Sequence[str], dialect: Dialect) -> None:
    """Raise a DataError if the first line of a file was read as one field but has other separators.

    Parameters
    ----------
    path : str
        The name of the file.
    file : str or file object
        The content; the position of a file object may change.
    header_fields : sequence of str
        Fields of the first line.
    dialect : Dialect
        If it specifies a separator, nothing is checked.
    """
    if len(header_fields) != 1 or dialect.separator is not None:
        return
    expected_separator = dialect.separator_of(path)
    counts = {
        separator: header_fields[0].count(separator)
        for separator in SEPARATOR_NAMES
        if separator != expected_separator
    }
    separator = max(counts, key=lambda each: counts[each])
    if counts[separator]:
        _raise_separator_error(path, file, separator, counts[separator], expected_separator, header_fields[0])


def _raise_separator_error(
    path: str, file: Any, separator: str, count: int, expected_separator: str, line: str
) -> NoReturn:
    """Raise the DataError for a file with another separator, and suggest arguments of `pandas.read_csv`.

    Parameters
    ----------
    path : str
        Name of the file.
    file : str or file object
        The content.
    separator : str
        The separator that the first line contains.
    count : int
        How often the first line contains it.
    expected_separator : str
        The separator that was expected.
    line : str
        The first line.
    """
    if re.fullmatch(r"(?i)sep=.", line):
        raise DataError(
            f"The first line of {path!r} is {line!r}, which is an instruction for Excel.",
            hint="Remove that line.",
        )
    if not isinstance(file, str):
        file.seek(0)
    rows = pd.read_csv(
        file,
        sep=separator,
        header=None,
        skiprows=1,
        nrows=N_SAMPLED_ROWS,
        dtype=str,
        keep_default_na=False,
        on_bad_lines="skip",
    )
    has_decimal_comma = separator != "," and bool(
        rows.map(lambda text: bool(_DECIMAL_COMMA.fullmatch(str(text)))).to_numpy().any()
    )
    options = {"sep": separator} | ({"decimal": ","} if has_decimal_comma else {})
    arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
    raise DataError(
        f"The first line of {path!r} has {count} {SEPARATOR_NAMES[separator]}{'s' if count > 1 else ''} "
        f"and no {SEPARATOR_NAMES[expected_separator]}.",
        hint=f"Pass data=lambda: pandas.read_csv({path!r}, {arguments}, chunksize=50_000).",
        options=options,
    )


def replace_decimal_sign(texts: pd.Series, old: str, new: str) -> pd.Series:
    """Replace the decimal sign of each text that is a number.

    Parameters
    ----------
    texts : Series of str
    old, new : str
        Old and new decimal sign.

    Returns
    -------
    Series
        Integers, other text and missing values are unchanged.

    Examples
    --------
    >>> replace_decimal_sign(pd.Series(["1,5", "a, b", "007"]), ",", ".").tolist()
    ['1.5', 'a, b', '007']
    """
    number = _DECIMAL_COMMA.pattern.replace(",", re.escape(old))
    is_number = texts.str.fullmatch(number, case=False).fillna(False).astype(bool)
    return texts.where(~is_number, texts.str.replace(old, new, regex=False))


def find_decimal_comma_column(table: pd.DataFrame, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the first text column whose values are all numbers with decimal commas, and its first value.

    The columns `names` of the table are inspected, and of each the first `N_SAMPLED_ROWS` present values.
    Returns None without such a column.

    Examples
    --------
    >>> find_decimal_comma_column(pd.DataFrame({"a": ["x", "y"], "b": ["1,5", "-2,25"]}), ["a", "b"])
    ('b', '1,5')
    """
    for name in names:
        column = table[name].dropna()
        if len(column) and not pd.api.types.is_numeric_dtype(column.dtype):
            texts = [str(value) for value in column.head(N_SAMPLED_ROWS)]
            if all(map(_DECIMAL_COMMA.fullmatch, texts)):
                return name, texts[0]
    return None


Content = Literal["truth values", "whole numbers", "numbers", "text"]
"""Content of a CSV column, in the words of messages."""

_MAX_EXACT_INTEGER = 2.0**53
"""float64 represents every integer up to this one exactly."""


class CSVSource(Source):
    """CSV files in UTF-8, comma-separated or (.tsv) tab-separated, each with a header, as one table.

    The columns are the union of the columns of all files; reading a column that a file lacks is an error.
    Keys in the names of folders (``year=2024``) are categorical columns, unless a file has a column of that
    name.

    Parameters
    ----------
    files : Files
    as_text : callable, optional
        Function of the column names that returns the columns to read as text; by default none.
    dialect : Dialect, optional
        Separator and decimal sign.

    Attributes
    ----------
    labels : dict of str to dict
        For each key of folders that is a column, the label of each text; see `folder_labels`.
    """

    def __init__(
        self,
        files: Files,
        as_text: Callable[[Sequence[str]], list[str]] | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self._dialect = dialect or Dialect()
        self._paths = [file.path for file in files.files]
        self._headers = {path: _read_header(path, self._dialect) for path in self._paths}
        column_names = dict.fromkeys(name for header in self._headers.values() for name in header)
        self.labels = {
            k: key_labels for k, key_labels in folder_labels(files.files).items() if k not in column_names
        }
        self._folders = {
            file.path: {k: text for k, text in file.keys.items() if k in self.labels} for file in files.files
        }
        self._contents: dict[str, Content] = {}
        self._has_read_all = False
        super().__init__(files.description, [*column_names, *self.labels])
        self.files = files
        self._contents.update(dict.fromkeys(as_text(self.names) if as_text else (), "text"))

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        columns_of = {path: {*header, *self._folders[path]} for path, header in self._headers.items()}
        for name in columns:
            raise_if_column_missing(name, columns_of)
        return self._iter_chunks(columns)

    def _iter_chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows of the columns, file by file in chunks, with the index 0, 1, ... of each file."""
        columns = [name for name in names if name not in self.labels]
        self._learn_contents([name for name in columns if name not in self._contents])
        for path in self._paths:
            # pandas detects a row with too many values only if all columns are read.
            header = self._headers[path]
            chosen = columns if self._has_read_all and columns else header
            text = [name for name in chosen if self._contents.get(name, "text") == "text"]
            for frame in self._iter_frames(path, chosen, text):
                values = {
                    name: self._repeat_label(name, path, len(frame))
                    if name in self.labels
                    else self._convert_to_content(frame[name], name, path)
                    for name in names
                }
                yield Chunk(pd.DataFrame(values, index=frame.index), path)
        self._has_read_all = True

    def _repeat_label(self, name: str, path: str, nrows: int) -> pd.Categorical:
        """Return the label of a folder key for a file as a categorical of `nrows` rows.

        Parameters
        ----------
        name : str
            The key.
        path : str
            The file, whose folders have the key.
        nrows : int

        Returns
        -------
        Categorical (nrows,)
            Missing for Hive's default partition. The categories are the labels of all files.
        """
        labels = self.labels[name]
        label = labels.get(self._folders[path][name])
        return pd.Categorical([label] * nrows, list(dict.fromkeys(labels.values())))

    def _learn_contents(self, columns: Sequence[str]) -> None:
        """Determine and store the content of each column from the first chunk in which it has a value.

        A column without values has the content "numbers".
        """
        unknown = list(columns)
        for path in self._paths:
            if not unknown:
                return
            for frame in self._iter_frames(path, unknown, ()):
                contents = {name: _column_content(frame[name]) for name in unknown}
                self._contents.update(
                    {name: content for name, content in contents.items() if content is not None}
                )
                unknown = [name for name in unknown if name not in self._contents]
                if not unknown:
                    break
        # The content of a column without values does not matter.
        self._contents.update(dict.fromkeys(unknown, "numbers"))

    def _iter_frames(
        self, path: str, columns: Sequence[str], text_columns: Sequence[str]
    ) -> Iterator[pd.DataFrame]:
        """Yield a file in chunks, at least one, which is empty for a file without rows.

        Parameters
        ----------
        path : str
        columns : sequence of str
            Columns to read, in the order of the file.
        text_columns : sequence of str
            Columns to read as text.

        Yields
        ------
        DataFrame
        """
        options: dict[str, Any] = (
            {} if len(columns) == len(self._headers[path]) else {"usecols": list(columns)}
        )
        dtypes: Any = dict.fromkeys(text_columns, str)
        options |= {"dtype": dtypes} | self._dialect.read_csv_options(path)
        size = rows_per_chunk(len(columns))
        with _read_errors(path), pd.read_csv(path, chunksize=size, low_memory=False, **options) as reader:
            frames = iter(reader)
            for number in count():
                frame = next(frames, None)
                if frame is None:
                    if number == 0:
                        yield pd.read_csv(path, nrows=0, **options)
                    return
                yield frame

    def _convert_to_content(self, column: pd.Series, name: str, path: str) -> pd.Series:
        """Convert the values of a chunk to the content of the column; raise a DataError if one does not fit.

        Parameters
        ----------
        column : Series (m,)
            The m values of the chunk as pandas has read them.
        name : str
        path : str
            The file, for messages.

        Returns
        -------
        Series (m,)
            Text is unchanged, and numbers are float64. Whole numbers are Int64 if some are missing, and
            float64 if the chunk contains fractions. A column without values is NaN.
        """
        content = self._contents[name]
        if content == "text":
            return column
        chunk_content = _column_content(column)
        if chunk_content is None:
            return pd.Series(
                np.nan, column.index, dtype="boolean" if content == "truth values" else "float64"
            )
        numeric_contents = ("whole numbers", "numbers")
        if content != chunk_content and not (
            content in numeric_contents and chunk_content in numeric_contents
        ):
            row = int(_mismatch_mask(column, content).to_numpy().argmax())
            raise DataError(
                f"Column {name!r} has the value {format_value(column.iloc[row])} at row "
                f"{format_value(column.index[row])} of {path!r}, but {content} before.",
                hint=(
                    "If it stands for a missing value, pass "
                    f"data=lambda: pandas.read_csv({path!r}, na_values=[{str(column.iloc[row])!r}], "
                    f"chunksize=50_000); if all values are labels, use dtype={{{name!r}: str}} instead."
                ),
                columns=(name,),
                rows=(column.index[row],),
            )
        if content == "numbers":
            return column.astype(np.float64)
        is_integer = (
            column.dtype == np.float64 and bool(column.isna().any()) and _are_integers(column.dropna())
        )
        return column.astype("Int64") if is_integer else column


class TextLabelSource(Source):
    """CSV files of which some columns contain labels and are read as text.

    The columns in `typed` become numbers or booleans if all labels can be converted without loss, which
    requires a pass over the column.

    Parameters
    ----------
    files : Files
    as_text : callable
        Function of the column names that returns the columns to read as text.
    typed : frozenset of str
        Columns whose labels are converted if possible.
    dialect : Dialect, optional
        Separator and decimal sign.
    """

    def __init__(
        self,
        files: Files,
        as_text: Callable[[Sequence[str]], list[str]],
        typed: frozenset[str],
        dialect: Dialect | None = None,
    ) -> None:
        self._csv_source = CSVSource(files, as_text, dialect)
        self._typed = typed
        self._values_by_text: dict[str, pd.Series] = {}
        super().__init__(self._csv_source.description, self._csv_source.names)
        self.files = files

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        typed = [name for name in columns if name in self._typed and name not in self._csv_source.labels]
        chunks = self._csv_source.start_pass(columns)
        self._learn_contents([name for name in typed if name not in self._values_by_text])
        for chunk in chunks:
            labels = {}
            for name in typed:
                texts = chunk.data[name]
                value_by_text = self._values_by_text[name]
                positions = value_by_text.index.get_indexer(
                    pd.Index(texts.astype(object).where(texts.notna(), None))
                )
                labels[name] = value_by_text.iloc[positions].set_axis(texts.index)
            yield Chunk(chunk.data.assign(**labels) if labels else chunk.data, chunk.path)

    def _learn_contents(self, columns: Sequence[str]) -> None:
        """Read all labels of some columns, and store the values to which they are converted."""
        if not columns:
            return
        texts_by_column: dict[str, dict[Any, None]] = {name: {} for name in columns}
        with Progress(0, "labels") as progress:
            for chunk in self._csv_source.start_pass(tuple(columns)):
                for name in columns:
                    texts_by_column[name].update(dict.fromkeys(chunk.data[name].unique().tolist()))
                progress(len(chunk.data))
        for name in columns:
            texts = [text for text in texts_by_column[name] if isinstance(text, str)]
            missing = [None] * (len(texts) < len(texts_by_column[name]))
            values = pd.Series([*texts, *missing], index=[*texts, *missing], dtype=object)
            self._values_by_text[name] = convert_text_labels(values)


def _column_content(column: pd.Series) -> Content | None:
    """Return the content of a column that pandas has read, or None if all values are missing."""
    if column.isna().all():
        return None
    column_type = pandas_column_type(column)
    if column_type == "boolean":
        return "truth values"
    if column_type != "numeric":
        return "text"
    return "whole numbers" if column.dtype.kind in "iu" else "numbers"


def _are_integers(values: pd.Series) -> bool:
    """Return whether all numbers, none of them missing, are integers that float64 represents exactly."""
    return bool(((values % 1 == 0) & (values.abs() <= _MAX_EXACT_INTEGER)).all())


def _mismatch_mask(column: pd.Series, content: Content) -> pd.Series:
    """Return the mask, as long as the column, of the values that are present but do not fit the content.

    The content is not "text".
    """
    values = column.astype(object)
    if content == "truth values":
        fit = values.map(
            lambda value: isinstance(value, bool | np.bool_) or str(value).lower() in ("true", "false")
        )
    else:
        truth = values.map(lambda value: isinstance(value, bool | np.bool_))
        fit = pd.to_numeric(values.where(~truth), errors="coerce").notna()
    return column.notna() & ~fit


def _read_header(path: str, dialect: Dialect) -> tuple[str, ...]:
    """Read the column names of a file, as pandas assigns them.

    Raises a DataError if a name occurs twice, the separator is another, or the first row has more fields than
    the header; an UnreadableFileError if the file cannot be read.
    """
    options = dialect.read_csv_options(path)
    with _read_errors(path):
        raise_if_nul(path, path)
        first_line = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
        names = [str(name) for name in first_line.iloc[0]]
        raise_if_wrong_separator(path, path, names, dialect)
        first = pd.read_csv(path, nrows=1, **options)
    check_unique_names([name for name in names if name], repr(path))
    if not isinstance(first.index, pd.RangeIndex):
        raise DataError(
            f"{path!r} has rows with more fields than the header.", hint="Name every column in the header."
        )
    return tuple(map(str, first.columns))


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Convert errors that are raised in the block to an UnreadableFileError with the path of a CSV file.

    Errors of any class are converted, because decompression libraries have classes of their own.
    """
    try:
        yield
    except (DiscrimError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{path!r} is not text in UTF-8.", hint="Save it as CSV in UTF-8, or Parquet."
        ) from error
    except Exception as error:
        message = one_line_message(error)
        raise UnreadableFileError(
            f"{path!r} cannot be read as CSV: {message}.",
            hint=(
                "Correct the file, or pass a function that reads it, such as data=lambda: "
                f"pandas.read_csv({path!r}, chunksize=50_000)."
            ),
        ) from error
