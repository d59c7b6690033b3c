"""The layout of a saved fit, which is that of safetensors; its reading trusts nothing.

Eight bytes with the length of a header, the header in JSON, then raw little-endian float64 buffers. The
header names each buffer's shape and place; its metadata hold a description of the fit and a checksum.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.atomic_write import atomic_write
from discrim.errors import DamagedFileError, DataError, MissingFileError, NotAFitError, UnreadableFileError

FORMAT = "discrim 2"

LONGEST_HEADER = 2**29
"""Bytes of a header; a longer one is not read."""

MOST_BUFFERS = 64
"""Buffers of a file; no model has as many."""

MOST_QUOTES = 2**14
"""Quotation marks in a header but for those of the description; its buffers need ten each."""

LONGEST_REASON = 500
"""Characters of what a message quotes of a file."""


def write_file(path: Path, about: Mapping[str, Any], tensors: Mapping[str, Floats]) -> None:
    """Write a description and named buffers, whole or not at all.

    A header that is too long to be read is a DataError, and leaves the file as it was.
    """
    buffers = {key: np.ascontiguousarray(tensor, dtype="<f8") for key, tensor in tensors.items()}
    entries = {}
    end = 0
    for key, tensor in buffers.items():
        start = end
        end = end + tensor.nbytes
        entries[key] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": [start, end]}
    fit = json.dumps(about, sort_keys=True)
    checksum = hashlib.sha256(fit.encode() + b"\0")
    for tensor in buffers.values():
        checksum.update(tensor.data)
    metadata = {"format": FORMAT, "fit": fit, "sha256": checksum.hexdigest()}
    text = json.dumps({**entries, "__metadata__": metadata}).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise DataError(
            f"{os.fspath(path)!r} cannot be saved: its header of {len(text):,} bytes is longer than the "
            f"{LONGEST_HEADER:,} that are read.",
            hint="Fit fewer columns, or pickle the fit.",
        )
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in buffers.values():
            file.write(tensor.data)


def damaged(
    path: Any, reason: str, hint: str = "Save the fit again, or name another file."
) -> DamagedFileError:
    """Return the error for a file that is not a whole saved fit.

    Parameters
    ----------
    path : path-like
    reason : str
        What is wrong with it. A long reason is cut off.
    hint : str

    Returns
    -------
    DamagedFileError
    """
    reason = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} ..."
    message = f"{os.fspath(path)!r} cannot be read as a saved fit: {reason}."
    return DamagedFileError(message, reason=reason, hint=hint)


def another_kind(path: Any, what: str) -> NotAFitError:
    """The error for a file that `save` did not write."""
    return NotAFitError(
        f"{os.fspath(path)!r} cannot be read as a saved fit: it is {what}, which save() did not write.",
        hint="Name a file of a fit.",
    )


@dataclass(frozen=True, slots=True)
class _Header:
    """What a file says of itself: its description in JSON, its checksum, name and shape of each buffer."""

    fit: bytes
    checksum: object
    shapes: Mapping[str, tuple[int, ...]]


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Description and buffers, the file's own bookkeeping checked."""
    try:
        with _opened(path) as file:
            header = _header(file, path)
            checksum = hashlib.sha256(header.fit + b"\0")
            tensors = {}
            for key, shape in header.shapes.items():
                values = np.empty(shape, dtype="<f8")
                file.readinto(values.data)
                checksum.update(values.data)
                tensors[key] = values.astype(np.float64, copy=False)
    except MissingFileError:
        raise
    except OSError as error:
        raise UnreadableFileError(
            f"{os.fspath(path)!r} cannot be read: {error.strerror or error}.",
            hint="Name another file, or have it made readable.",
        ) from error
    except MemoryError:
        raise damaged(path, "it does not fit into the memory", "Load it on a larger machine.") from None
    if checksum.hexdigest() != header.checksum:
        raise damaged(path, "its checksum does not match: it was changed or cut off")
    check_finite(path, tensors)
    try:
        about = json.loads(header.fit)
    except (ValueError, RecursionError):
        raise damaged(path, "its description is not JSON") from None
    if not isinstance(about, dict):
        raise damaged(path, "its description is not a mapping")
    return about, tensors


def check_finite(path: Path, tensors: Mapping[str, Floats]) -> None:
    """Raise where a buffer holds what is no number."""
    for key, values in tensors.items():
        if not np.isfinite(values).all():
            raise damaged(path, f"{key!r} holds a value that is not finite")


def _opened(path: Path) -> BufferedReader:
    """A file opened to be read; what reading might never end of is not opened."""
    if path.is_file():
        return path.open("rb")
    if path.is_dir():
        raise another_kind(path, "a folder")
    if path.exists():
        raise another_kind(path, "a device, a pipe or a socket")
    raise MissingFileError(f"There is no file {os.fspath(path)!r}.", hint="Name one that save() wrote.")


def _header(file: BinaryIO, path: Path) -> _Header:
    """The header of an open file, which is left at its first buffer; nothing else is read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if size < 8:
        raise another_kind(path, "shorter than its first eight bytes")
    if length > LONGEST_HEADER or start[8:] != b"{":
        raise another_kind(path, "a file of another kind")
    if length > size - 8:
        raise damaged(path, "its header is longer than the file, which was cut off")
    # A large file of another kind is told by its end and by its names, before Python objects are made of it.
    file.seek(length)
    if not file.read(8).rstrip(b" ").endswith(b"}"):
        raise another_kind(path, "a file of another kind")
    file.seek(8)
    text = file.read(length)
    if text.count(b'"') - text.count(b'\\"') > MOST_QUOTES:
        raise another_kind(path, "a file whose header is not that of a fit")
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__")
        kind = metadata["format"]
        fit = metadata["fit"]
        checksum = metadata["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise another_kind(path, "a file whose header is not that of a fit") from None
    if not isinstance(kind, str) or kind.split(" ")[0] != FORMAT.split(" ")[0]:
        raise another_kind(path, "a file of another format")
    if kind != FORMAT:
        what = f"its format is {kind!r}, where {FORMAT!r} is read"
        raise damaged(
            path, what, "Read it with the version of discrim that wrote it, or fit the table again."
        )
    # JSON is written in ASCII: a text that is not may hold what has no bytes to check.
    if not (isinstance(fit, str) and fit.isascii()):
        raise damaged(path, "its description is not text in ASCII")
    if len(header) > MOST_BUFFERS:
        raise damaged(path, f"it has {len(header):,} buffers")
    shapes = {}
    end = 0
    for key, entry in header.items():
        shapes[key], end = _shape(path, key, entry, end)
    if end != size - 8 - length:
        raise damaged(path, "its buffers are not as long as it says: it was changed or cut off")
    return _Header(fit.encode(), checksum, shapes)


def _shape(path: Path, key: str, entry: Any, end: int) -> tuple[tuple[int, ...], int]:
    """Shape of a buffer that begins at `end`, and where it ends."""
    try:
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        few = isinstance(shape, list) and len(shape) <= 3
        whole = few and all(type(n) is int and 0 <= n < 2**40 for n in [*shape, start, stop])
    except (KeyError, TypeError, ValueError):
        raise damaged(path, f"the entry of {key!r} is incomplete") from None
    small = whole and math.prod(max(n, 1) for n in shape) < 2**60
    if not small or dtype != "F64" or start != end or stop - start != 8 * math.prod(shape):
        raise damaged(path, f"the place or shape of {key!r} does not fit the file")
    return tuple(shape), stop
