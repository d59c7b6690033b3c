"""What of DATA on the command line is read part by part: folders, patterns, and files that are large."""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from discrim import datasets
from discrim.cli.labels import Labels
from discrim.cli.reading import first_rows, refuse_dialect, warn_of_commas
from discrim.errors import warn_user

if TYPE_CHECKING:
    from discrim.frame.sources.dialect import Dialect
    from discrim.frame.sources.parts import Source

__all__ = ["labels_in", "source_given"]

LARGE, LARGE_PACKED = 2**28, 2**26
"""Bytes of a file of plain text, and of one that is compressed or Parquet, from which it is read in parts."""

_UNNAMED = re.compile(r"Unnamed: ([0-9]+)")
"""What pandas calls a column whose name is empty."""


def source_given(given: str, labels: Labels, dialect: Dialect | None = None) -> Source | None:
    """What reads a folder, a pattern or a large file part by part; None of what is read into memory.

    Parameters
    ----------
    given : str
        As DATA on the command line.
    labels : Labels
        Columns of CSV that hold labels and no measurements.
    dialect : Dialect, optional
        How CSV is written.

    Raises
    ------
    DataError
        No file is there, or the files are no table.

    Examples
    --------
    >>> source_given("iris", Labels()) is None
    True
    """
    if not _is_read_in_parts(given):
        return None
    from discrim.frame.sources.files import files_of
    from discrim.frame.sources.sources import source_of

    files = files_of(given)
    if files.format != "CSV":
        refuse_dialect(given, files.format, dialect)
        return source_of(given)
    from discrim.frame.sources.labels import WrittenLabels

    source = WrittenLabels(files, labels.as_text, labels.typed, dialect)
    warn_of_commas(first_rows(files.files[0].path, dialect), files.files[0].path, labels)
    for name in source.names:
        if unnamed := _UNNAMED.fullmatch(name):
            warn_user(
                f"column {int(unnamed[1]) + 1} of {files.files[0].path!r} has no name and is called "
                f"{name!r}: leave it out with - `{name}` if it only numbers the rows"
            )
    return source


def _is_read_in_parts(given: str) -> bool:
    if given == "-" or given in datasets.names() or "://" in given:
        return False
    from glob import has_magic

    from discrim.frame.sources.files import COMPRESSED, format_of

    path = os.path.expanduser(given)
    if not os.path.isfile(path):
        return os.path.isdir(path) or (has_magic(path) and not os.path.exists(path))
    form = format_of(path)
    packed = form == "Parquet" or PurePath(path).suffix.lower() in COMPRESSED
    return form is not None and os.path.getsize(path) >= (LARGE_PACKED if packed else LARGE)


def labels_in(source: Source, name: str) -> list[Any]:
    """The labels that a column of a source has, from a pass over it."""
    from discrim.core.numerics.progress import late_bar
    from discrim.frame.sources.rows import tables

    found: dict[Any, None] = {}
    with late_bar(source.nrows or 0, "classes of rows") as tell:
        for table, _ in tables(source, [name]):
            # As they are: beside a missing one `column` has whole numbers as doubles.
            held = table.native(name).unique()
            found.update(dict.fromkeys(held.to_list() if hasattr(held, "to_list") else held.tolist()))
            tell(table.nrows)
    return list(found)
