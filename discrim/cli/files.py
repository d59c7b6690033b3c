"""What the command line gives to pandas to read: a path, or contents where a path alone does not do."""

from __future__ import annotations

import io
import os
import stat
from importlib import import_module
from typing import Any

from discrim.cli.streams import standard_input
from discrim.errors import DataError

__all__ = ["readable"]


def readable(source: str) -> str | io.StringIO | io.BytesIO:
    """Give what may be read twice: the path itself, or contents, where they can be read only once.

    Archives of tar and files of zstd are unpacked here: pandas does not read the first to their ends, where
    damage shows, and takes the second as whole where they end too soon.

    Parameters
    ----------
    source : str
        A path; - is standard input.

    Returns
    -------
    str, io.StringIO or io.BytesIO

    Raises
    ------
    DataError
        Standard input is closed; the path is that of a device, or of an archive of other than one file; or
        the package that unpacks it is missing.
    OSError, EOFError, or the unpacker's own error
        The file cannot be read, or is damaged.

    Examples
    --------
    >>> readable("table.csv.gz")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'table.csv.gz'
    """
    if source == "-":
        return io.StringIO(standard_input())
    mode = os.stat(source).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise DataError(f"{source!r} is a device, not a file: name a file, or - for standard input")
    stem, suffix = os.path.splitext(source.lower())
    if suffix == ".tar" or stem.endswith(".tar"):
        return io.BytesIO(_only_file(source, suffix))
    if suffix == ".zst":
        return io.BytesIO(_unpacked(source, suffix))
    if stat.S_ISFIFO(mode):
        return io.BytesIO(_unpacked(source, suffix))
    return source


def _only_file(source: str, suffix: str) -> bytes:
    """Unpack the one file of an archive."""
    import tarfile

    whole = io.BytesIO(_unpacked(source, suffix))
    with tarfile.open(fileobj=whole, mode="r:") as archive:
        members = [member for member in archive if not member.isdir()]
        file = archive.extractfile(members[0]) if len(members) == 1 and members[0].isreg() else None
        # A hole in a file may be said to be larger than any memory.
        if file is None or members[0].issparse():
            raise DataError(f"{source!r} is not an archive of one file: unpack it, and give the CSV itself")
        return file.read()


def _unpacked(source: str, suffix: str) -> bytes:
    """Read the whole of a file, unpacked by its suffix, to the checksum at its end."""
    if suffix == ".zst":
        return _unpacked_zstd(source)
    module = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}.get(suffix, "builtins")
    with import_module(module).open(source, "rb") as packed:
        contents: bytes = packed.read()
    return contents


def _unpacked_zstd(source: str) -> bytes:
    """Unpack frame after frame, each to its end."""
    with open(source, "rb") as packed:
        rest = packed.read()
    frames: list[bytes] = []
    while rest or not frames:
        frame = _zstd_frame(source)
        frames.append(frame.decompress(rest))
        if not frame.eof:
            raise EOFError("the file ended before its end was marked")
        rest = frame.unused_data
    return b"".join(frames)


def _zstd_frame(source: str) -> Any:
    """Make an unpacker of one frame: of Python from 3.14 on, of a package before."""
    try:
        return import_module("compression.zstd").ZstdDecompressor()
    except ImportError:
        pass
    try:
        return import_module("zstandard").ZstdDecompressor().decompressobj()
    except ImportError:
        raise DataError(
            f"{source!r} needs the package zstandard: pip install zstandard, or unpack it first"
        ) from None
