"""Digests of whatever a fit gives: of its exact bytes, with a short text to recognize them."""

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
"""Methods that draw, write, or give objects of other packages."""

GIVEN = {"seed": 1, "replicates": 12, "bootstrap": 12, "permutations": 12, "folds": 4}
"""Options that every method with such a parameter is called with: its draws are the same, and few."""

SHOWN = 160
"""Characters of a value that are kept beside its digest."""


class Record:
    """Digests by name.

    Attributes
    ----------
    held : dict of str to [str, str]
        SHA-256 of a value's bytes, and the beginning of its text.
    """

    def __init__(self) -> None:
        self.held: dict[str, list[str]] = {}

    def put(self, key: str, value: Any) -> None:
        if key in self.held:
            raise KeyError(f"{key!r} is recorded twice.")
        shown = " ".join(_without_addresses(f"{type(value).__name__} {value}").split())
        self.held[key] = [hashlib.sha256(encoded(value)).hexdigest(), shown[:SHOWN]]

    def ask(self, key: str, question: Callable[[], Any]) -> Any:
        """What a call gives, which is recorded, as are its error and its warnings."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                value = question()
            except Exception as error:
                value = error
        if said:
            self.put(f"{key} warns", [f"{each.category.__name__}: {each.message}" for each in said])
        if not is_result(value):
            self.put(key, value)
        return value

    def walk(self, key: str, thing: Any, depth: int = 1) -> None:
        """Every public attribute of an object, and every method that can be called without arguments."""
        self.ask(f"{key} repr", partial(repr, thing))
        for name in sorted(name for name in dir(thing) if not name.startswith("_")):
            if name in SKIPPED:
                continue
            path = f"{key}.{name}"
            if _is_method(thing, name):
                method = getattr(thing, name)
                asked = inspect.signature(method).parameters
                if any(each.default is each.empty and each.kind < 2 for each in asked.values()):
                    continue
                path += "()"
                options = {option: GIVEN[option] for option in asked if option in GIVEN}
                value = self.ask(path, partial(method, **options))
            else:
                value = self.ask(path, partial(getattr, thing, name))
            if is_result(value) and depth:
                self.walk(path, value, depth - 1)
            elif is_result(value):
                self.ask(f"{path} repr", partial(repr, value))


def _is_method(thing: Any, name: str) -> bool:
    """Whether a name is of a method; what is stored under it may be callable too, as an engine is."""
    kinds = (staticmethod, classmethod, ConditionalAttribute)
    static = inspect.getattr_static(type(thing), name, None)
    return inspect.isroutine(static) or isinstance(static, kinds)


def is_result(value: Any) -> bool:
    """Whether a value is an object of the package, which is asked for its parts and not encoded itself."""
    ours = type(value).__module__.partition(".")[0] == "discrim"
    encoded_whole = (BaseException, type, str, int, float, Mapping, tuple, pd.DataFrame)
    return ours and not isinstance(value, encoded_whole)


def encoded(value: Any) -> bytes:
    """Bytes that are equal where values are: every bit of a number, its type, labels, order."""
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, j] for j in range(value.shape[1])]
        return b"frame" + _many([value.index, value.columns, *[_values(column) for column in columns]])
    if isinstance(value, pd.Series):
        return b"series" + _many([value.name, value.index, _values(value)])
    if isinstance(value, pd.MultiIndex):
        return b"levels" + _many([list(value.names), value.tolist()])
    if isinstance(value, pd.Index):
        return b"index" + _many([value.name, _values(value)])
    if isinstance(value, np.ndarray) and value.dtype != object:
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
        return _many([value.dtype.str, str(value.shape)]) + np.ascontiguousarray(value).tobytes()
    if isinstance(value, Mapping):
        return b"mapping" + _many([part for item in value.items() for part in item])
    if hasattr(value, "_asdict"):
        return encoded(value._asdict())
    if isinstance(value, (set, frozenset)):
        return b"set" + b"".join(sorted(encoded(each) for each in value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return b"sequence" + _many(list(value))
    if isinstance(value, (float, np.floating)):
        return type(value).__name__.encode() + struct.pack("<d", np.nan if np.isnan(value) else value)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {_without_addresses(str(value))}".encode()
    text = value if isinstance(value, str) else repr(value)
    return f"{type(value).__name__} {_without_addresses(text)}".encode("utf-8", "surrogatepass")


def _many(parts: list[Any]) -> bytes:
    """Encodings one after the other, each with its length, so that no two sequences are alike."""
    each = [encoded(part) for part in parts]
    return b"".join(len(one).to_bytes(8, "little") + one for one in each)


def _values(column: pd.Series | pd.Index) -> list[Any]:
    """Type and values of a column; categories and their order are part of the type."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return [f"category {kind.ordered}", kind.categories, np.asarray(column.astype(object))]
    return [str(kind), column.to_numpy() if isinstance(kind, np.dtype) else np.asarray(column, dtype=object)]


def _without_addresses(text: str) -> str:
    """Text without the places of objects in memory, which no two processes share."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)
