"""Digests of the exact bytes of results, with a short text to recognize them."""

from __future__ import annotations

import hashlib
import inspect
import re
import struct
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from discrim.models.base.available import ConditionalAttribute

SKIPPED = {"plot", "save", "report", "to_statsmodels"}
"""Methods that draw, write, or return objects of other packages."""

DEFAULT_OPTIONS = {"seed": 1, "replicates": 12, "bootstrap": 12, "permutations": 12, "folds": 4}
"""Options passed to every method that has such a parameter, for reproducible and fast resampling."""

MAX_TEXT_LENGTH = 160
"""Number of characters of a value that are stored with its digest."""


class Record:
    """Digests by name.

    Attributes
    ----------
    digests : dict of str to [str, str]
        SHA-256 of the bytes of a value, and the beginning of its text.
    """

    def __init__(self) -> None:
        self.digests: dict[str, list[str]] = {}

    def add(self, key: str, value: Any) -> None:
        """Add the digest of a value."""
        if key in self.digests:
            raise KeyError(f"{key!r} is recorded twice.")
        text = " ".join(_without_addresses(f"{type(value).__name__} {value}").split())
        self.digests[key] = [hashlib.sha256(encode(value)).hexdigest(), text[:MAX_TEXT_LENGTH]]

    def call(self, key: str, function: Callable[[], Any]) -> Any:
        """Call a function, record its result or error and its warnings, and return it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = function()
            except Exception as error:
                value = error
        if caught:
            self.add(f"{key} warns", [f"{each.category.__name__}: {each.message}" for each in caught])
        if not is_result(value):
            self.add(key, value)
        return value

    def add_public_names(self, key: str, thing: Any, depth: int = 1) -> None:
        """Record every public attribute of an object, and every method that needs no arguments."""
        self.call(f"{key} repr", partial(repr, thing))
        for name in sorted(name for name in dir(thing) if not name.startswith("_")):
            if name in SKIPPED:
                continue
            path = f"{key}.{name}"
            if _is_method(thing, name):
                method = getattr(thing, name)
                parameters = inspect.signature(method).parameters
                if any(each.default is each.empty and each.kind < 2 for each in parameters.values()):
                    continue
                path += "()"
                options = {
                    option: DEFAULT_OPTIONS[option] for option in parameters if option in DEFAULT_OPTIONS
                }
                value = self.call(path, partial(method, **options))
            else:
                value = self.call(path, partial(getattr, thing, name))
            if is_result(value) and depth:
                self.add_public_names(path, value, depth - 1)
            elif is_result(value):
                self.call(f"{path} repr", partial(repr, value))


def _is_method(thing: Any, name: str) -> bool:
    """Return whether a name is a method; an attribute may hold a callable object that is not one."""
    kinds = (staticmethod, classmethod, ConditionalAttribute)
    static = inspect.getattr_static(type(thing), name, None)
    return inspect.isroutine(static) or isinstance(static, kinds)


def is_result(value: Any) -> bool:
    """Return whether a value is an object of the package whose attributes are recorded one by one."""
    ours = type(value).__module__.partition(".")[0] == "discrim"
    encoded_whole = (BaseException, type, str, int, float, Mapping, tuple, pd.DataFrame)
    return ours and not isinstance(value, encoded_whole)


def encode(value: Any) -> bytes:
    """Encode a value as bytes that are equal if types, labels, order and all bits of numbers are equal."""
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, j] for j in range(value.shape[1])]
        return b"frame" + _encode_parts(
            [value.index, value.columns, *[_column_values(column) for column in columns]]
        )
    if isinstance(value, pd.Series):
        return b"series" + _encode_parts([value.name, value.index, _column_values(value)])
    if isinstance(value, pd.MultiIndex):
        return b"levels" + _encode_parts([list(value.names), value.tolist()])
    if isinstance(value, pd.Index):
        return b"index" + _encode_parts([value.name, _column_values(value)])
    if isinstance(value, np.ndarray) and value.dtype != object:
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
        return _encode_parts([value.dtype.str, str(value.shape)]) + np.ascontiguousarray(value).tobytes()
    if isinstance(value, Mapping):
        return b"mapping" + _encode_parts([part for item in value.items() for part in item])
    if hasattr(value, "_asdict"):
        return encode(value._asdict())
    if isinstance(value, (set, frozenset)):
        return b"set" + b"".join(sorted(encode(each) for each in value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return b"sequence" + _encode_parts(list(value))
    if isinstance(value, (float, np.floating)):
        return type(value).__name__.encode() + struct.pack("<d", np.nan if np.isnan(value) else value)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {_without_addresses(str(value))}".encode()
    text = value if isinstance(value, str) else repr(value)
    return f"{type(value).__name__} {_without_addresses(text)}".encode("utf-8", "surrogatepass")


def _encode_parts(parts: list[Any]) -> bytes:
    """Concatenate encodings with their lengths, so that different sequences have different bytes."""
    each = [encode(part) for part in parts]
    return b"".join(len(one).to_bytes(8, "little") + one for one in each)


def _column_values(column: pd.Series | pd.Index) -> list[Any]:
    """Return dtype and values of a column; the dtype includes categories and their order."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return [f"category {kind.ordered}", kind.categories, np.asarray(column.astype(object))]
    return [str(kind), column.to_numpy() if isinstance(kind, np.dtype) else np.asarray(column, dtype=object)]


def _without_addresses(text: str) -> str:
    """Remove memory addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)
