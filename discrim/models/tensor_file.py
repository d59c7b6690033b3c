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

from discrim.core.moments import ClassMoments, Spread
from discrim.errors import DataError

__all__ = ["checked_moments", "damaged", "read_file", "write_file"]

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
    if kind != FORMAT or not isinstance(fit, str):
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


def checked_moments(
    path: Any,
    tensors: Mapping[str, Floats],
    k: int,
    p: int,
    spread: Spread,
    *,
    singular: bool,
    constant: bool,
) -> ClassMoments:
    """Moments from buffers, each of the shape and range that moments have.

    `singular` ones may have a scatter without an inverse, `constant` ones columns that do not vary.
    """
    scatter = {
        "diagonal": (k, p),
        "pooled": (1, p, p),
        "class": (k, p, p),
        "thin": (1, p),
        "thin class": (k, p),
    }[spread]
    shapes = {"counts": (k,), "rows": (k,), "centres": (k, p), "rests": (k, p), "scale": (p,), "prior": (k,)}
    shapes["scatters"] = scatter
    if "roots" in tensors and spread != "diagonal":
        thin = scatter[0], tensors["roots"].shape[1], p
        shapes["roots"] = scatter if len(scatter) == 3 else thin
    if set(tensors) != set(shapes):
        raise damaged(path, f"its buffers are {sorted(tensors)}, where {sorted(shapes)} are read")
    for key, shape in shapes.items():
        if tensors[key].shape != shape:
            raise damaged(path, f"{key!r} has shape {tensors[key].shape}, where {shape} is read")
    counts, rows, scale, scatters = (tensors[key] for key in ("counts", "rows", "scale", "scatters"))
    if k < 2 or not (counts > 0).all() or not ((rows >= 1) & (rows == np.round(rows))).all():
        raise damaged(path, "its class counts are not positive")
    if not ((scale > 0) & (np.frexp(scale)[0] == 0.5)).all():
        raise damaged(path, "its scales are not powers of two")
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    varies = squares.sum(axis=0) + np.ptp(tensors["centres"], axis=0) > 0
    if not (squares >= 0).all():
        raise damaged(path, "a sum of squares is negative")
    if not (constant or (squares.any() if singular else varies.all())):
        raise damaged(path, "a column of it does not vary")
    roots = tensors.get("roots")
    if roots is not None:
        full = singular or np.diagonal(roots, axis1=1, axis2=2).all()
        if np.tril(roots, -1).any() or not full:
            raise damaged(path, "its roots are not triangular, or singular")
    elif spread != "diagonal":
        for matrix in scatters:
            sd = np.sqrt(np.diagonal(matrix))
            unit = 1 / np.where(sd > 0, sd, 1.0)
            least = np.linalg.eigvalsh(matrix * unit * unit[:, None]).min()
            if (matrix != matrix.T).any() or not (least > 0 or (singular and least > -1e-10)):
                raise damaged(path, "a scatter of it is not positive definite")
    return ClassMoments(
        counts, rows.astype(np.int64), tensors["centres"], tensors["rests"], scale, scatters, roots
    )
