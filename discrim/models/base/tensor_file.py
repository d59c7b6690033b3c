"""File layout of saved fits and moments, which is the layout of safetensors, with validation.

A file has eight bytes with the length of a header, the header in JSON, then raw little-endian float64 arrays.
The header has the shape and position of each array; its metadata are a description of the fit and a checksum.
Files may come from untrusted sources: every entry is validated before it is used.
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
"""Largest number of bytes of a header."""

MOST_BUFFERS = 64
"""Largest number of arrays in a file."""

MOST_QUOTES = 2**14
"""Largest number of quotation marks in a header outside the description; each array needs ten."""

LONGEST_REASON = 500
"""Largest number of characters of a reason in an error message."""


def write_file(path: Path, about: Mapping[str, Any], tensors: Mapping[str, Floats]) -> None:
    """Write a description and arrays atomically.

    Parameters
    ----------
    path : Path
    about : mapping
        Description, which is written as JSON.
    tensors : mapping of str to array

    Raises
    ------
    DataError
        The header is too long to be read again; an existing file is not changed.
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
        The problem. A long reason is cut off.
    hint : str

    Returns
    -------
    DamagedFileError
    """
    reason = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} ..."
    message = f"{os.fspath(path)!r} cannot be read as a saved fit: {reason}."
    return DamagedFileError(message, reason=reason, hint=hint)


def another_kind(path: Any, what: str) -> NotAFitError:
    """Return the error for a file that `save` did not write."""
    return NotAFitError(
        f"{os.fspath(path)!r} cannot be read as a saved fit: it is {what}, which save() did not write.",
        hint="Name a file of a fit.",
    )


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of a file: description in JSON, checksum, and shape of each array by name."""

    fit: bytes
    checksum: object
    shapes: Mapping[str, tuple[int, ...]]


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Read description and arrays of a file, with validation of its layout and checksum."""
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
    """Raise DamagedFileError if an array has a value that is not finite."""
    for key, values in tensors.items():
        if not np.isfinite(values).all():
            raise damaged(path, f"{key!r} holds a value that is not finite")


def _opened(path: Path) -> BufferedReader:
    """Open a regular file; raise an error for a folder, device, pipe or socket."""
    if path.is_file():
        return path.open("rb")
    if path.is_dir():
        raise another_kind(path, "a folder")
    if path.exists():
        raise another_kind(path, "a device, a pipe or a socket")
    raise MissingFileError(f"There is no file {os.fspath(path)!r}.", hint="Name one that save() wrote.")


def _header(file: BinaryIO, path: Path) -> _Header:
    """Read the header of an open file, and leave the file position at the first array."""
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
    # Recognize a large file of another kind before its header is parsed into Python objects.
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
    # JSON is written in ASCII: other text may contain characters that cannot be encoded for the checksum.
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
    """Validate the entry of an array in the header; return its shape and the position of its end.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    key : str
        Name of the array.
    entry : object
        Its entry in the header.
    end : int
        Position of the end of the array before it.
    """
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
