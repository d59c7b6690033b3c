"""The layout of a saved fit, which is that of safetensors; its reading trusts nothing.

Eight bytes with the length of a header, the header in JSON, then raw little-endian float64 buffers. The
header names each buffer's shape and place; its metadata hold a description of the fit and a checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError

__all__ = ["damaged", "read_file", "write_file"]

Floats = NDArray[np.float64]

FORMAT = "discrim 1"

LONGEST_HEADER = 64 * 2**20
"""Bytes of a header; a longer one is not read."""


def write_file(path: Path, about: Mapping[str, Any], tensors: Mapping[str, Floats]) -> None:
    """Write a description and named buffers, whole or not at all."""
    header: dict[str, Any] = {}
    buffers, end = [], 0
    for key, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        header[key] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": [start, end]}
        buffers.append(np.ascontiguousarray(tensor).tobytes())
    body = b"".join(buffers)
    fit = json.dumps(about, sort_keys=True)
    header["__metadata__"] = {"format": FORMAT, "fit": fit, "sha256": _checksum(fit, body)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    if not path.parent.is_dir():
        raise FileNotFoundError(ENOENT, "There is no such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "This is a folder: name a file in it", str(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + body)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _checksum(fit: str, body: bytes) -> str:
    return hashlib.sha256(fit.encode() + b"\0" + body).hexdigest()


def damaged(path: Any, what: str, way_out: str = "Save the fit again, or name another file") -> DataError:
    """The error that says what is wrong with a file, and what to do."""
    return DataError(f"{os.fspath(path)!r} cannot be read as a saved fit: {what}. {way_out}.")


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Description and buffers, the file's own bookkeeping checked."""
    data = path.read_bytes()
    if len(data) < 8:
        raise damaged(path, "it is shorter than its first eight bytes")
    length = int.from_bytes(data[:8], "little")
    if length > LONGEST_HEADER or data[8:9] != b"{":
        raise damaged(path, "it is a file of another kind, which save() did not write")
    if length > len(data) - 8:
        raise damaged(path, "its header is longer than the file, which was cut off")
    body = data[8 + length :]
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__")
        kind, fit, checksum = metadata["format"], metadata["fit"], metadata["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged(path, "its header is not that of a fit") from None
    # JSON is written in ASCII: a text that is not may hold what has no bytes to check.
    if kind != FORMAT or not (isinstance(fit, str) and fit.isascii()):
        raise damaged(path, f"its format is {kind!r}, where {FORMAT!r} is read")
    if checksum != _checksum(fit, body):
        raise damaged(path, "its checksum does not match: it was changed or cut off")
    tensors, end = {}, 0
    for key, entry in header.items():
        tensors[key], end = _tensor(path, key, entry, body, end)
    if end != len(body):
        raise damaged(path, "bytes are left over behind its last buffer")
    try:
        about = json.loads(fit)
    except (ValueError, RecursionError):
        raise damaged(path, "its description is not JSON") from None
    if not isinstance(about, dict):
        raise damaged(path, "its description is not a mapping")
    return about, tensors


def _tensor(path: Path, key: str, entry: Any, body: bytes, end: int) -> tuple[Floats, int]:
    try:
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        whole = all(type(n) is int and 0 <= n < 2**40 for n in [*shape, start, stop])
    except (KeyError, TypeError, ValueError):
        raise damaged(path, f"the entry of {key!r} is incomplete") from None
    # Python integers: a hostile shape cannot overflow its way to a small product.
    size = 8
    for n in shape if whole else ():
        size *= n
    if (
        not whole
        or dtype != "F64"
        or len(shape) > 3
        or start != end
        or stop - start != size
        or stop > len(body)
    ):
        raise damaged(path, f"the place or shape of {key!r} does not fit the file")
    values = np.frombuffer(body, dtype="<f8", count=size // 8, offset=start).reshape(shape)
    if not np.isfinite(values).all():
        raise damaged(path, f"{key!r} holds a value that is not finite")
    return values.astype(np.float64), stop
