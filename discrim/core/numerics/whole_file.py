"""Files that are replaced whole or not at all.

The content is written to a temporary file in the folder of the target, flushed to the disk, and renamed to
the target. A symbolic link stays a link to the file that is replaced, and the mode of that file is kept. A
process that is killed may leave the temporary file behind.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, EISDIR, ENOENT
from pathlib import Path
from typing import Any, BinaryIO

from discrim.errors import (
    DataError,
    FolderGivenError,
    MissingFolderError,
    ReadOnlyError,
    UnwritableFileError,
    unwritable,
)

PREFIX = ".discrim-"
SUFFIX = ".tmp"
"""How the name of a file that is being written begins and ends; it does not grow with the target's."""

SAVED = "What is saved or loaded"
"""What is kept in a file, where its writer does not say it."""


def names_folder(path: str) -> bool:
    """Whether a path as it was given ends in a separator, which `pathlib` drops."""
    return path.endswith(("/", os.sep))


def possible_path(path: Any, what: str = SAVED) -> Path:
    """A path as it is given, which a system may have; a ``~`` or ``~name`` before it is somebody's home.

    A DataError says that it is no path of what is kept there.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise DataError(f"{what} is kept in a file: give its path, not {type(path).__name__}.")
    if not os.fsdecode(path):
        raise DataError("An empty text is no path: name a file.")
    return Path(os.path.expanduser(os.fsdecode(path)))


def file_to_write(path: Any, what: str = SAVED, *suffixes: str) -> Path:
    """The file that a path names, before time is spent on what is written to it.

    A DataError is that of `possible_path`, or says that it ends otherwise than files of the formats do, where
    some are named; an UnwritableFileError is that of `target_of`.
    """
    place = possible_path(path, what)
    given = os.fsdecode(path)
    if names_folder(given):
        raise FolderGivenError(EISDIR, "This is a folder", given, hint="Name a file in it.")
    target_of(place)
    if suffixes and place.suffix.lower() not in suffixes:
        ends = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if suffixes[1:] else suffixes[0]
        raise DataError(f"{what} cannot be named {given!r}: give a path that ends in {ends}.")
    return place


def target_of(path: Path) -> Path:
    """The file that a path leads to, or will where there is none yet.

    An UnwritableFileError says that its folder is missing or closed, its name is too long, or it is a folder,
    a device, a pipe or read-only.
    """
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()
    except OSError as error:
        raise unwritable(error, str(path)) from error
    target = Path(os.path.realpath(path))
    shown = target if path.is_symlink() else path
    if not target.parent.is_dir():
        raise MissingFolderError(
            ENOENT, "There is no such folder", str(shown.parent), hint="Make it, or name another."
        )
    if target.is_dir():
        raise FolderGivenError(EISDIR, "This is a folder", str(shown), hint="Name a file in it.")
    if target.exists():
        if not target.is_file():
            raise UnwritableFileError(
                EINVAL, "This is a device, a pipe or a socket", str(shown), hint="Name a file."
            )
        if not os.access(target, os.W_OK):
            hint = "Name another, or allow it to be written."
            raise ReadOnlyError(EACCES, "This file is read-only", str(shown), hint=hint)
    return target


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file, to write and read, that replaces `path` when the block ends without an error.

    An error removes the temporary file and leaves `path` as it was. An OSError becomes an UnwritableFileError
    that names `path`.
    """
    target = target_of(path)
    temporary = target.parent / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
    try:
        try:
            # Files of `tempfile` can be read by their owner only; a new file has the mode of the umask.
            with open(temporary, "x+b") as file:
                if target.exists():
                    shutil.copymode(target, temporary)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if error.errno is None or isinstance(error, DataError):
            raise
        # The user does not know the temporary file.
        raise unwritable(error, str(path)) from error
