"""Conversion of estimates to JSON values and arrays, and back, by annotations of their constructor.

`ModelSpec.to_arrays` and `ModelSpec.from_arrays` use this module. A fit is made by a constructor, a function
or a dataclass such as `fit_lda` or `SparseFit`: its parameters name the attributes of the estimates that a
file stores, and their annotations determine how each is written and read. Supported are numbers, words,
arrays, covariances, tuples, named tuples and dataclasses of these. A field whose metadata are `NOT_STORED` is
left out.

Files are not trusted when they are read: a value must have exactly the type of its annotation, and a
dataclass that has a method `validate` is validated.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.kinds import COVARIANCE_MODELS
from discrim.core.covariance.model import CovarianceModel, Sphere, StandardSphere
from discrim.core.errors import InvalidStateError
from discrim.core.numerics.arrays import Floats, are_flags, are_whole

GIVEN = ("moments", "prior")
"""Parameters of every constructor that a file stores for all models alike."""

CLASSES: list[type] = [*COVARIANCE_MODELS, Sphere, StandardSphere]
"""Classes that a file names, because an annotation allows one or another of them."""


def register_class(kind: type) -> None:
    """Let files name a class that only one model uses, and whose module other models do not import."""
    CLASSES.append(kind)


ABSENT = object()
"""Node of an array, which is among the arrays and not among the values."""


@dataclass(frozen=True, slots=True)
class StoredEstimates:
    """Estimates in the form of a file, in addition to the moments and the prior.

    Attributes
    ----------
    values : dict
        JSON values by the name of the parameter; lists and dicts for tuples and dataclasses.
    arrays : dict of str to array
        Arrays by their path, such as "sphere.root".
    """

    values: dict[str, Any]
    arrays: dict[str, Floats]


def store(constructor: Callable[..., Any], estimates: Any) -> StoredEstimates:
    """Return the values and arrays from which a constructor creates the same estimates.

    Parameters
    ----------
    constructor : callable
        Its parameters, except for moments and prior, are attributes of the estimates.
    estimates : object

    Returns
    -------
    StoredEstimates
    """
    values: dict[str, Any] = {}
    arrays: dict[str, Floats] = {}
    for name, _ in _parameters(constructor):
        _put(values, name, _encode(getattr(estimates, name), name, arrays))
    return StoredEstimates(values, arrays)


def restore(constructor: Callable[..., Any], stored: StoredEstimates) -> dict[str, Any]:
    """Return the arguments of a constructor from the form of a file.

    Parameters
    ----------
    constructor : callable
    stored : StoredEstimates

    Returns
    -------
    dict
        Arguments by name, without moments and prior.

    Raises
    ------
    InvalidStateError
        A value or an array is missing, unknown, or of another type.
    """
    reader = _Reader(dict(stored.arrays))
    parameters = dict(_parameters(constructor))
    for name in stored.values:
        if name not in parameters:
            raise InvalidStateError(f"{name!r} is not an option of the model")
    arguments = {
        name: reader.value(kind, stored.values.get(name, ABSENT), name) for name, kind in parameters.items()
    }
    if reader.arrays:
        raise InvalidStateError(f"{min(reader.arrays)!r} is not an array of the model")
    return arguments


def stored_names(constructor: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that a file stores."""
    return [name for name, _ in _parameters(constructor)]


def _parameters(constructor: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters that a file stores, with their types."""
    if is_dataclass(constructor):
        names = [each.name for each in fields(constructor) if each.init and each.metadata.get("stored", True)]
    else:
        names = list(inspect.signature(constructor).parameters)
    kinds = get_type_hints(constructor)
    for name in names:
        if name not in GIVEN:
            yield name, kinds[name]


def _put(values: dict[str, Any], name: str, node: Any) -> None:
    if node is not ABSENT:
        values[name] = node


def _encode(value: Any, path: str, arrays: dict[str, Floats]) -> Any:
    """Return the JSON value of an object; its arrays are added to `arrays` under its path."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return ABSENT
    if type(value) is Covariance:
        arrays[path] = value.root
        return ABSENT
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _encode_fields(value._fields, value, path, arrays)
    if isinstance(value, tuple):
        return _encode_items(value, path, arrays)
    if isinstance(value, CovarianceModel):
        value = value.as_stored()
    node = _encode_fields([name for name, _ in _parameters(type(value))], value, path, arrays)
    return {"class": type(value).__name__} | node if type(value) in CLASSES else node


def _encode_fields(
    names: list[str] | tuple[str, ...], value: Any, path: str, arrays: dict[str, Floats]
) -> dict[str, Any]:
    node: dict[str, Any] = {}
    for name in names:
        _put(node, name, _encode(getattr(value, name), f"{path}.{name}", arrays))
    return node


def _encode_items(items: tuple[Any, ...], path: str, arrays: dict[str, Floats]) -> Any:
    """Return the JSON value of a tuple. Arrays of the items are joined to limit their number in a file."""
    nodes = []
    parts: list[dict[str, Floats]] = []
    for item in items:
        parts.append({})
        node = _encode(item, "", parts[-1])
        nodes.append(None if node is ABSENT else node)
    names = sorted({name for part in parts for name in part})
    if not names:
        return nodes
    shapes = {}
    for name in names:
        shapes[name] = [list(part[name].shape) if name in part else None for part in parts]
        arrays[path + name] = np.concatenate([part[name].ravel() for part in parts if name in part])
    return {"items": nodes, "shapes": shapes}


def _family(kind: Any) -> dict[str, type]:
    """Return the classes among which a file states the class of a value by its name; none if it does not."""
    return {each.__name__: each for each in CLASSES if issubclass(each, kind)}


class _Reader:
    """Reads values by their types and removes the arrays that it has used.

    Parameters
    ----------
    arrays : dict of str to array
    """

    def __init__(self, arrays: dict[str, Floats]) -> None:
        self.arrays = arrays

    def value(self, kind: Any, node: Any, path: str) -> Any:
        """Return the value of a type.

        Parameters
        ----------
        kind : type
            A class or a form of `typing`.
        node : object
            The JSON value; `ABSENT` if the file has none.
        path : str
            Where the value stands, which is the name of its array.
        """
        origin = get_origin(kind)
        if origin in (Union, UnionType):
            return self._any_of(get_args(kind), node, path)
        if origin is Literal:
            if type(node) is str and node in get_args(kind):
                return node
        elif origin is np.ndarray:
            return self._array(get_args(get_args(kind)[1])[0], node, path)
        elif origin is tuple:
            return self._tuple(get_args(kind), node, path)
        elif kind is float:
            if type(node) in (float, int):
                return float(node)
        elif kind in (bool, int, str, NoneType):
            if type(node) is kind:
                return node
        elif kind is Covariance:
            return _covariance(self._array(np.float64, node, path), path)
        else:
            return self._object(kind, node, path)
        raise _invalid(node, path)

    def _any_of(self, kinds: tuple[Any, ...], node: Any, path: str) -> Any:
        """Return the value of the first of several types that accepts it."""
        if node is None and NoneType in kinds:
            return None
        possible = [kind for kind in kinds if kind is not NoneType]
        for kind in possible[:-1]:
            if type(node) is kind:
                return node
        return self.value(possible[-1], node, path)

    def _array(self, dtype: type, node: Any, path: str) -> Any:
        if node is not ABSENT or path not in self.arrays:
            raise InvalidStateError(f"its array {path!r} is missing")
        array = self.arrays.pop(path)
        if np.issubdtype(dtype, np.integer) and not are_whole(array, -(2.0**53)):
            raise InvalidStateError(f"its array {path!r} is not of whole numbers")
        if dtype is np.bool_ and not are_flags(array):
            raise InvalidStateError(f"its array {path!r} is not of zeros and ones")
        return array.astype(dtype, copy=False)

    def _tuple(self, kinds: tuple[Any, ...], node: Any, path: str) -> Any:
        """Return a tuple; items with arrays have theirs one after another."""
        nodes: Any = node
        readers = None
        if isinstance(node, dict) and set(node) == {"items", "shapes"}:
            nodes = node["items"]
            readers = self._split(node, path)
        if not isinstance(nodes, list) or (kinds[-1] is not Ellipsis and len(nodes) != len(kinds)):
            raise _invalid(node, path)
        each = kinds * len(nodes) if kinds[-1] is not Ellipsis else kinds[:1] * len(nodes)
        if readers is None:
            return tuple(
                self.value(kind, item, f"{path}.{i}")
                for i, (kind, item) in enumerate(zip(each, nodes, strict=False))
            )
        values = []
        for kind, item, reader in zip(each, nodes, readers, strict=False):
            values.append(reader.value(kind, ABSENT if item is None else item, ""))
            if reader.arrays:
                raise InvalidStateError(f"its option {path!r} has arrays that the model does not have")
        return tuple(values)

    def _split(self, node: Any, path: str) -> list[_Reader]:
        """Return a reader of the arrays of each item."""
        shapes = node["shapes"]
        count = len(node["items"])
        if not isinstance(shapes, dict) or any(len(each) != count for each in shapes.values()):
            raise InvalidStateError(f"its option {path!r} has other numbers of arrays than of items")
        parts: list[dict[str, Floats]] = [{} for _ in range(count)]
        for name, of_items in shapes.items():
            joined = self._array(np.float64, ABSENT, path + name)
            start = 0
            for part, shape in zip(parts, of_items, strict=True):
                if shape is None:
                    continue
                if not all(type(n) is int and n >= 0 for n in shape):
                    raise InvalidStateError(f"an array of {path!r} has no shape")
                stop = start + math.prod(shape)
                if joined.ndim != 1 or stop > len(joined):
                    raise InvalidStateError(f"the arrays of {path!r} do not have their shapes")
                part[name] = joined[start:stop].reshape(shape)
                start = stop
            if start != len(joined):
                raise InvalidStateError(f"the arrays of {path!r} do not have their shapes")
        return [_Reader(part) for part in parts]

    def _object(self, kind: Any, node: Any, path: str) -> Any:
        """Return a dataclass or a named tuple; one of its subclasses if it has any."""
        if not isinstance(node, dict):
            raise _invalid(node, path)
        node = dict(node)
        if known := _family(kind):
            name = node.pop("class", None)
            if not isinstance(name, str) or name not in known:
                raise InvalidStateError(f"its option {path!r} is of no {kind.__name__} that is known")
            kind = known[name]
        kinds = get_type_hints(kind) if hasattr(kind, "_fields") else dict(_parameters(kind))
        if not set(node) <= set(kinds):
            raise InvalidStateError(f"its option {path!r} has a part that {kind.__name__} does not have")
        arguments = {
            name: self.value(each, node.get(name, ABSENT), f"{path}.{name}") for name, each in kinds.items()
        }
        value = kind(**arguments)
        if hasattr(value, "validate"):
            value.validate()
        return value


def _covariance(root: Floats, path: str) -> Covariance:
    """Return the covariance of a triangular root (p, p), or of standard deviations (p,)."""
    diagonal = root if root.ndim == 1 else np.diagonal(root)
    triangular = root.ndim == 1 or (root.ndim == 2 and not np.tril(root, -1).any())
    if not triangular or (root.ndim == 2 and len(set(root.shape)) > 1) or not diagonal.all():
        raise InvalidStateError(f"the root of {path!r} is not triangular, or singular")
    return Covariance.from_root(root)


def _invalid(node: Any, path: str) -> InvalidStateError:
    """Return the error for a value that is missing or has another type than its annotation."""
    if node is ABSENT:
        return InvalidStateError(f"{path!r} is missing among its estimates")
    text = repr(node)
    return InvalidStateError(f"its option {path!r} is {text if len(text) <= 60 else text[:57] + '...'}")
