"""Paths of output files, and files that are replaced as a whole or not at all.

`atomic_write` writes to a temporary folder next to the target and renames the result. A symbolic link stays a
link to the file that is replaced, and that file keeps its mode. A process that is killed may leave the
temporary folder behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, EISDIR, ENOENT
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from discrim.errors import (
    DataError,
    FolderGivenError,
    MissingFolderError,
    ReadOnlyError,
    UnwritableFileError,
    unwritable,
)

FIT_FILE = "Saving or loading"
"""Subject of messages about a path, unless the caller names the content of the file."""


def is_folder_path(path: str) -> bool:
    """Return whether a path ends in a separator, which `pathlib` drops."""
    return path.endswith(("/", os.sep))


def validate_path(path: Any, content: str = FIT_FILE) -> Path:
    """Return the path of a file, with ``~`` expanded; raise DataError if `path` is not a path or empty.

    Parameters
    ----------
    path : str, bytes or os.PathLike
    content : str
        Content of the file, the subject of messages, such as "A report".

    Returns
    -------
    Path
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise DataError(
            f"{content} requires the path of a file, not {type(path).__name__}.",
            hint="Pass a string or a path object.",
        )
    if not os.fsdecode(path):
        raise DataError("The path is empty.", hint="Pass the path of a file.")
    return Path(os.path.expanduser(os.fsdecode(path)))


def validate_output_path(path: Any, content: str = FIT_FILE, *suffixes: str) -> Path:
    """Return the path of an output file; raise an error, before its content is computed, if it is unusable.

    Parameters
    ----------
    path : str, bytes or os.PathLike
    content : str
        Content of the file, the subject of messages, such as "A report".
    *suffixes : str
        Supported file extensions, in lower case; any by default.

    Returns
    -------
    Path
        With ``~`` expanded; symbolic links are not resolved.

    Raises
    ------
    DataError
        `path` is not a string, bytes or a path object, is empty, or does not have one of the `suffixes`.
    UnwritableFileError
        The path ends in a separator, its folder is missing, its name is too long, or it is an existing
        folder, device, pipe, socket or read-only file.
    """
    output_path = validate_path(path, content)
    text = os.fsdecode(path)
    if is_folder_path(text):
        raise FolderGivenError(EISDIR, "This is a folder", text, hint="Pass the path of a file in it.")
    resolve_target(output_path)
    if suffixes and output_path.suffix.lower() not in suffixes:
        ends = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if suffixes[1:] else suffixes[0]
        raise DataError(f"{content} cannot be named {text!r}.", hint=f"Pass a path that ends in {ends}.")
    return output_path


def resolve_target(path: Path) -> Path:
    """Return the path of an output file with symbolic links resolved, after checking that it can be written.

    The file need not exist.

    An UnwritableFileError is raised if its folder is missing (MissingFolderError), its name is too long, or
    it is a folder (FolderGivenError), a device, a pipe, a socket or read-only (ReadOnlyError).
    """
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()
    except OSError as error:
        raise unwritable(error, str(path)) from error
    target = Path(os.path.realpath(path))
    displayed_path = target if path.is_symlink() else path
    if not target.parent.is_dir():
        raise MissingFolderError(
            ENOENT,
            "There is no such folder",
            str(displayed_path.parent),
            hint="Create it, or pass another path.",
        )
    if target.is_dir():
        raise FolderGivenError(
            EISDIR, "This is a folder", str(displayed_path), hint="Pass the path of a file in it."
        )
    if target.exists():
        if not target.is_file():
            raise UnwritableFileError(
                EINVAL,
                "This is a device, a pipe or a socket",
                str(displayed_path),
                hint="Pass the path of a file.",
            )
        if not os.access(target, os.W_OK):
            hint = "Pass another path, or make the file writable."
            raise ReadOnlyError(EACCES, "This file is read-only", str(displayed_path), hint=hint)
    return target


@contextmanager
def temporary_folder(target: Path, path: Path) -> Iterator[Path]:
    """Open a temporary folder next to `target`, and delete it at the end of the block.

    An OSError within the block becomes an UnwritableFileError about `path`, the path that the user passed. A
    DataError, and an OSError without `errno`, are raised unchanged.
    """
    try:
        with TemporaryDirectory(prefix=".discrim-", dir=target.parent) as folder:
            yield Path(folder)
    except OSError as error:
        if error.errno is None or isinstance(error, DataError):
            raise
        # The user does not know the temporary file.
        raise unwritable(error, str(path)) from error


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary binary file, and rename it to `path` if the block ends without an error.

    After an error, `path` is unchanged. An UnwritableFileError is raised at the start if `resolve_target`
    refuses the path, and if an OSError occurs in the block or when the file is renamed.
    """
    target = resolve_target(path)
    with temporary_folder(target, path) as folder:
        # Unlike the files of `tempfile`, a new file has the mode of the umask.
        with open(folder / "new", "x+b") as file:
            if target.exists():
                shutil.copymode(target, file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, target)
