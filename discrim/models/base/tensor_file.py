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

FORMAT = "discrim 3"
"""Name and version of the format of files."""

MAX_HEADER_BYTES = 2**29
"""Largest number of bytes of a header."""

MAX_ARRAYS = 64
"""Largest number of arrays in a file."""

MAX_QUOTES = 2**14
"""Largest number of quotation marks in a header outside the description; each array needs ten."""

MAX_REASON_LENGTH = 500
"""Largest number of characters of a reason in an error message."""


def write_file(path: Path, description: Mapping[str, Any], tensors: Mapping[str, Floats]) -> None:
    """Write a description and arrays atomically.

    Parameters
    ----------
    path : Path
    description : mapping
        Description, which is written as JSON.
    tensors : mapping of str to array
        Arrays by name, which are written as float64. Number, dimensions and values are not checked, although
        `read_file` rejects more than `MAX_ARRAYS` arrays, more than three dimensions, and infinite values.

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
    fit = json.dumps(description, sort_keys=True)
    checksum = hashlib.sha256(fit.encode() + b"\0")
    for tensor in buffers.values():
        checksum.update(tensor.data)
    metadata = {"format": FORMAT, "fit": fit, "sha256": checksum.hexdigest()}
    text = json.dumps({**entries, "__metadata__": metadata}).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise DataError(
            f"{os.fspath(path)!r} cannot be saved: its header of {len(text):,} bytes exceeds the limit of "
            f"{MAX_HEADER_BYTES:,}.",
            hint="Fit fewer columns, or pickle the fit.",
        )
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in buffers.values():
            file.write(tensor.data)


def damaged_file_error(
    path: Any, reason: str, hint: str = "Save the fit again, or name another file."
) -> DamagedFileError:
    """Return the error for a saved fit that is damaged or inconsistent.

    Parameters
    ----------
    path : path-like
    reason : str
        The problem, without capital and full stop. A long reason is cut off.
    hint : str
        Hint of the error.

    Returns
    -------
    DamagedFileError
        Its attribute `reason` is the reason, cut off if it is long.
    """
    reason = reason if len(reason) <= MAX_REASON_LENGTH else f"{reason[:MAX_REASON_LENGTH]} ..."
    message = f"{os.fspath(path)!r} cannot be read as a saved fit: {reason}."
    return DamagedFileError(message, reason=reason, hint=hint)


def not_a_fit_error(path: Any, description: str) -> NotAFitError:
    """Return the error for a file that `save` did not write.

    `description` names the kind of the file instead, with an article, such as "a folder".
    """
    return NotAFitError(
        f"{os.fspath(path)!r} cannot be read as a saved fit: it is {description}, which save() did not "
        "write.",
        hint="Name a file that save() wrote.",
    )


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of a file.

    Attributes
    ----------
    fit : bytes
        Description of the fit, in JSON.
    checksum : object
        Expected SHA-256 of description and arrays, in hexadecimal; not validated.
    shapes : mapping of str to tuple of int
        Shapes of the arrays, in the order of the file.
    """

    fit: bytes
    checksum: object
    shapes: Mapping[str, tuple[int, ...]]


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Return the description (a dict from JSON) and the arrays (float64, by name) of a file.

    Layout and checksum are validated, and values have to be finite. The contents of the description are not
    checked.

    Raises
    ------
    MissingFileError
        The file does not exist.
    UnreadableFileError
        The operating system does not allow to open or read the file.
    NotAFitError
        The file is a folder or another special file, or has another format.
    DamagedFileError
        The file has another version of the format, was changed or cut off, has a value that is not finite, or
        does not fit into memory.
    """
    try:
        with _open_regular_file(path) as file:
            header = _read_header(file, path)
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
            hint="Name another file, or change its permissions.",
        ) from error
    except MemoryError:
        raise damaged_file_error(
            path, "it does not fit into the memory", "Load it on a larger machine."
        ) from None
    if checksum.hexdigest() != header.checksum:
        raise damaged_file_error(path, "its checksum does not match: it was changed or cut off")
    check_finite(path, tensors)
    try:
        about = json.loads(header.fit)
    except (ValueError, RecursionError):
        raise damaged_file_error(path, "its description is not JSON") from None
    if not isinstance(about, dict):
        raise damaged_file_error(path, "its description is not a mapping")
    return about, tensors


def check_finite(path: Path, tensors: Mapping[str, Floats]) -> None:
    """Raise DamagedFileError if an array has a value that is not finite."""
    for key, values in tensors.items():
        if not np.isfinite(values).all():
            raise damaged_file_error(path, f"{key!r} has a value that is not finite")


def _open_regular_file(path: Path) -> BufferedReader:
    """Open a regular file to read bytes.

    Raises NotAFitError for a folder or another special file, and MissingFileError for a missing file.
    """
    if path.is_file():
        return path.open("rb")
    if path.is_dir():
        raise not_a_fit_error(path, "a folder")
    if path.exists():
        raise not_a_fit_error(path, "a device, a pipe or a socket")
    raise MissingFileError(
        f"The file {os.fspath(path)!r} does not exist.", hint="Name a file that save() wrote."
    )


def _read_header(file: BinaryIO, path: Path) -> _Header:
    """Read the header of an open file, and leave the file position at the first array.

    Raises NotAFitError if the header is not one of a saved fit or of saved moments, and DamagedFileError for
    another version of the format or for arrays that do not match the length of the file.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if size < 8:
        raise not_a_fit_error(path, "shorter than eight bytes")
    if length > MAX_HEADER_BYTES or start[8:] != b"{":
        raise not_a_fit_error(path, "a file of another kind")
    if length > size - 8:
        raise damaged_file_error(path, "its header is longer than the file, which was cut off")
    # Recognize a large file of another kind before its header is parsed into Python objects.
    file.seek(length)
    if not file.read(8).rstrip(b" ").endswith(b"}"):
        raise not_a_fit_error(path, "a file of another kind")
    file.seek(8)
    text = file.read(length)
    if text.count(b'"') - text.count(b'\\"') > MAX_QUOTES:
        raise not_a_fit_error(path, "a file without the header of a fit")
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__")
        file_format = metadata["format"]
        fit = metadata["fit"]
        checksum = metadata["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise not_a_fit_error(path, "a file without the header of a fit") from None
    if not isinstance(file_format, str) or file_format.split(" ")[0] != FORMAT.split(" ")[0]:
        raise not_a_fit_error(path, "a file of another format")
    if file_format != FORMAT:
        reason = f"its format is {file_format!r} instead of {FORMAT!r}"
        raise damaged_file_error(
            path, reason, "Read it with the version of discrim that wrote it, or fit the table again."
        )
    # JSON is written in ASCII: other text may contain characters that cannot be encoded for the checksum.
    if not (isinstance(fit, str) and fit.isascii()):
        raise damaged_file_error(path, "its description is not text in ASCII")
    if len(header) > MAX_ARRAYS:
        raise damaged_file_error(path, f"it has {len(header):,} arrays")
    shapes = {}
    end = 0
    for key, entry in header.items():
        shapes[key], end = _read_shape(path, key, entry, end)
    if end != size - 8 - length:
        raise damaged_file_error(
            path, "the length of its arrays does not match its header: it was changed or cut off"
        )
    return _Header(fit.encode(), checksum, shapes)


def _read_shape(path: Path, key: str, entry: Any, end: int) -> tuple[tuple[int, ...], int]:
    """Validate the entry of an array in the header; return its shape and the position of its end.

    Positions are in bytes from the end of the header. Raises DamagedFileError if the entry is not valid: an
    array has at most three dimensions and starts where the array before it ends.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    key : str
        Name of the array.
    entry : object
        Its entry in the header, a dict of "dtype" ("F64"), "shape" and "data_offsets" if it is valid.
    end : int
        Position of the end of the array before it.
    """
    try:
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        is_short = isinstance(shape, list) and len(shape) <= 3
        has_integers = is_short and all(type(n) is int and 0 <= n < 2**40 for n in [*shape, start, stop])
    except (KeyError, TypeError, ValueError):
        raise damaged_file_error(path, f"the entry of {key!r} is incomplete") from None
    is_small = has_integers and math.prod(max(n, 1) for n in shape) < 2**60
    if not is_small or dtype != "F64" or start != end or stop - start != 8 * math.prod(shape):
        raise damaged_file_error(path, f"the position or shape of {key!r} does not match the file")
    return tuple(shape), stop
