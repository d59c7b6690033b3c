"""A file that is replaced whole or not at all, as editors do it.

What is written goes into a file beside the target, is flushed to the disk, and takes the target's name in one
step; then the folder is flushed. A link stays a link to the file that is replaced, and that file's mode and
owner are kept. Where writing fails the file beside the target is removed. A process that is killed cannot do
so: the next save into the folder does, and knows by a lock whether such a file still has a writer.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, EISDIR, ELOOP, ENOENT, ENOTSUP
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

if sys.platform != "win32":
    import fcntl


PREFIX, SUFFIX = ".discrim-", ".tmp"
"""How the name of a file that is being written begins and ends; it does not grow with the target's."""

SAVED = "What is saved or loaded"
"""What is kept in a file, where its writer does not say it."""


def names_folder(path: str) -> bool:
    """Whether a path as it was given ends in a separator, which `pathlib` drops."""
    return path.endswith(("/", os.sep))


def possible_path(path: Any, what: str = SAVED) -> Path:
    """A path as it is given, which a system may have; a ``~`` or ``~name`` before it is somebody's home.

    A DataError says that it is no path of what is kept there, or that no system takes it as one.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise DataError(f"{what} is kept in a file: give its path, not {type(path).__name__}.")
    if not os.fsdecode(path):
        raise DataError("An empty text is no path: name a file.")
    place = Path(os.path.expanduser(os.fsdecode(path)))
    if "\0" in str(place):
        raise DataError(f"{str(place)!r} is no path, as it holds a null character: name a file without it.")
    try:
        os.fsencode(place)
    except UnicodeEncodeError:
        raise DataError(
            f"{str(place)!a} is no path, as it holds half a character: name a file without it."
        ) from None
    return place


def file_to_write(path: Any, what: str = SAVED, *suffixes: str) -> Path:
    """The file that a path names, before time is spent on what is written to it.

    A DataError is that of `possible_path`, or says that it ends otherwise than files of the formats do, where
    some are named; an UnwritableFileError is that of `target_of`.
    """
    place = possible_path(path, what)
    given = os.fsdecode(path)
    if names_folder(given):
        raise FolderGivenError(EISDIR, "This is a folder: name a file in it", given)
    target_of(place)
    if suffixes and place.suffix.lower() not in suffixes:
        ends = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if suffixes[1:] else suffixes[0]
        raise DataError(f"{what} cannot be named {given!r}: give a path that ends in {ends}.")
    return place


def target_of(path: Path) -> Path:
    """The file that a path leads to, or will where there is none yet.

    An UnwritableFileError says that its folder is missing or closed, its name is too long, or it is a folder,
    a device, a pipe, a circle of links or read-only.
    """
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()
    except OSError as error:
        raise unwritable(error, str(path)) from error
    target = Path(os.path.realpath(path))
    shown = target if path.is_symlink() else path
    if target.is_symlink():
        circle = "The links that lead to this file run in a circle: name another file"
        raise UnwritableFileError(ELOOP, circle, str(path))
    if not target.parent.is_dir():
        raise MissingFolderError(
            ENOENT, "There is no such folder: make it, or name another", str(shown.parent)
        )
    if target.is_dir():
        raise FolderGivenError(EISDIR, "This is a folder: name a file in it", str(shown))
    if target.exists():
        if not target.is_file():
            raise UnwritableFileError(EINVAL, "This is a device, a pipe or a socket: name a file", str(shown))
        if not os.access(target, os.W_OK):
            message = "This file is read-only: name another, or allow it to be written"
            raise ReadOnlyError(EACCES, message, str(shown))
    return target


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to write and read, which takes the place of `path` when the block ends without an error.

    An UnwritableFileError names `path`; what was there before is still there, but where only the folder could
    not be flushed.
    """
    target = target_of(path)
    try:
        old = target.stat() if target.exists() else None
        _remove_left_over(target.parent)
        temporary, handle = _created_beside(target, 0o666 if old is None else 0o600)
        try:
            with os.fdopen(handle, "w+b") as file:
                if old is not None:
                    _take_over(handle, old)
                yield file
                file.flush()
                os.fsync(handle)
                # The lock is held until the name is gone, so that nobody takes the file for left over.
                if sys.platform != "win32":
                    os.replace(temporary, target)
            if sys.platform == "win32":
                os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _flush_folder(target.parent)
    except OSError as error:
        if error.errno is None or isinstance(error, DataError):
            raise
        # The file beside the target is nothing to its user.
        raise unwritable(error, str(path)) from error


def _created_beside(target: Path, mode: int) -> tuple[Path, int]:
    """A new file in the target's folder, open and locked."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        temporary = target.parent / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
        try:
            handle = os.open(temporary, flags, mode)
        except FileExistsError:
            continue
        # Another save may have taken it for left over before it was locked.
        if _lock(handle) is not False and (sys.platform == "win32" or os.fstat(handle).st_nlink):
            return temporary, handle
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether a file could be locked, which ends with the process; None where locks are not to be had."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_left_over(folder: Path) -> None:
    """Remove what killed processes have left of their saves."""
    paths: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        paths = [each.path for each in entries if each.name.startswith(PREFIX) and each.name.endswith(SUFFIX)]
    for path in paths:
        with suppress(OSError):
            if not stat.S_ISREG(os.lstat(path).st_mode):
                continue
            handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _lock(handle):
                    os.unlink(path)
            finally:
                os.close(handle)


def _take_over(handle: int, old: os.stat_result) -> None:
    """Give a file the owner and the mode of the one that it replaces."""
    if sys.platform == "win32":
        return
    mode, now = stat.S_IMODE(old.st_mode), os.fstat(handle)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(handle, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.fchown(handle, -1, old.st_gid)
            except OSError:
                # Another group gets no more than everybody has.
                mode = mode & ~0o070 | (mode & 0o007) << 3
    os.fchmod(handle, mode)


def _flush_folder(folder: Path) -> None:
    """Bring a new name to the disk, where the system can do that."""
    if sys.platform == "win32":
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (EINVAL, ENOTSUP):
            raise
    finally:
        os.close(handle)
