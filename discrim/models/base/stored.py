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
from discrim.core.covariance.model import CovarianceModel, StandardizedTargetUnits, TargetUnits
from discrim.core.errors import InvalidStateError
from discrim.core.numerics.arrays import Floats, are_flags, are_integers

COMMON_PARAMETERS = ("moments", "prior")
"""Parameters of every constructor that a file stores for all models alike."""

STORED_CLASSES: list[type] = [*COVARIANCE_MODELS, TargetUnits, StandardizedTargetUnits]
"""Classes that a file names, because an annotation allows one or another of them."""


def register_class(stored_class: type) -> None:
    """Add a class to `STORED_CLASSES`, so that files may name it.

    The module of a model calls it for a covariance model of its own, because this module imports no model.
    """
    STORED_CLASSES.append(stored_class)


ARRAY_NODE = object()
"""Placeholder for a JSON value that does not exist, because the object is an array and stored separately."""


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


def encode_estimates(constructor: Callable[..., Any], estimates: Any) -> StoredEstimates:
    """Convert estimates to the JSON values and arrays from which a constructor creates the same estimates.

    Parameters
    ----------
    constructor : callable
        Its parameters, except for moments and prior, are attributes of the estimates.
    estimates : object

    Returns
    -------
    StoredEstimates
        From which `decode_arguments` returns the arguments of the constructor.
    """
    values: dict[str, Any] = {}
    arrays: dict[str, Floats] = {}
    for name, _ in _parameters(constructor):
        _set_unless_array(values, name, _encode(getattr(estimates, name), name, arrays))
    return StoredEstimates(values, arrays)


def decode_arguments(constructor: Callable[..., Any], stored: StoredEstimates) -> dict[str, Any]:
    """Convert the JSON values and arrays of a file to the arguments of a constructor.

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
        A value or an array is missing, unknown, or of another type, or an object does not pass its own
        `validate`.
    """
    reader = _Reader(dict(stored.arrays))
    parameters = dict(_parameters(constructor))
    for name in stored.values:
        if name not in parameters:
            raise InvalidStateError(f"{name!r} is not an option of the model")
    arguments = {
        name: reader.read_value(value_type, stored.values.get(name, ARRAY_NODE), name)
        for name, value_type in parameters.items()
    }
    if reader.arrays:
        raise InvalidStateError(f"{min(reader.arrays)!r} is not an array of the model")
    return arguments


def stored_parameter_names(constructor: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of a constructor that a file stores, without moments and prior."""
    return [name for name, _ in _parameters(constructor)]


def _parameters(constructor: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Iterate over the parameters of a constructor that a file stores: names and annotated types.

    Moments, prior, and fields whose metadata are `NOT_STORED` are left out.
    """
    if is_dataclass(constructor):
        names = [
            field.name for field in fields(constructor) if field.init and field.metadata.get("stored", True)
        ]
    else:
        names = list(inspect.signature(constructor).parameters)
    types = get_type_hints(constructor)
    for name in names:
        if name not in COMMON_PARAMETERS:
            yield name, types[name]


def _set_unless_array(values: dict[str, Any], name: str, node: Any) -> None:
    """Store a JSON value under a name; do nothing for an array, which is stored separately."""
    if node is not ARRAY_NODE:
        values[name] = node


def _encode(value: Any, path: str, arrays: dict[str, Floats]) -> Any:
    """Convert an object to a JSON value, or `ARRAY_NODE` for an array, which is added to `arrays`.

    Parameters
    ----------
    value : object
        A scalar, array, tuple or dataclass.
    path : str
        Path of the object in the file.
    arrays : dict of str to array
        Arrays by path, to which the arrays of the object are added.

    Returns
    -------
    object
        A scalar for a scalar, the result of `_encode_items` for a tuple, a dict of the fields for a named
        tuple or a dataclass, and `ARRAY_NODE` for an array or a `Covariance`, whose root is stored. The dict
        of an instance of `STORED_CLASSES` also has its name ("class").
    """
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return ARRAY_NODE
    if type(value) is Covariance:
        arrays[path] = value.root
        return ARRAY_NODE
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _encode_fields(value._fields, value, path, arrays)
    if isinstance(value, tuple):
        return _encode_items(value, path, arrays)
    if isinstance(value, CovarianceModel):
        value = value.as_stored()
    node = _encode_fields([name for name, _ in _parameters(type(value))], value, path, arrays)
    return {"class": type(value).__name__} | node if type(value) in STORED_CLASSES else node


def _encode_fields(
    names: list[str] | tuple[str, ...], value: Any, path: str, arrays: dict[str, Floats]
) -> dict[str, Any]:
    """Return the JSON object of some attributes of an object; arrays are added to `arrays`.

    Parameters
    ----------
    names : sequence of str
        Names of the attributes.
    value : object
    path : str
        Path of the object in the file, to which the names are appended.
    arrays : dict of str to array
        Arrays by path, to which the arrays of the attributes are added.

    Returns
    -------
    dict
        JSON values by name, without attributes that are arrays.
    """
    node: dict[str, Any] = {}
    for name in names:
        _set_unless_array(node, name, _encode(getattr(value, name), f"{path}.{name}", arrays))
    return node


def _encode_items(items: tuple[Any, ...], path: str, arrays: dict[str, Floats]) -> Any:
    """Convert a tuple to a JSON value; arrays of the items are joined to limit their number in a file.

    Parameters
    ----------
    items : tuple
    path : str
        Path of the tuple in the file.
    arrays : dict of str to array
        Arrays by path, to which the joined arrays are added.

    Returns
    -------
    list or dict
        The JSON values of the items. If items are or contain arrays, a dict of these values ("items"; None
        for an item that is an array) and the shapes of the joined arrays ("shapes"): for each path within an
        item a list with the shape in each item, None for an item without that array.
    """
    nodes = []
    item_arrays: list[dict[str, Floats]] = []
    for item in items:
        item_arrays.append({})
        node = _encode(item, "", item_arrays[-1])
        nodes.append(None if node is ARRAY_NODE else node)
    names = sorted({name for arrays_of_item in item_arrays for name in arrays_of_item})
    if not names:
        return nodes
    shapes = {}
    for name in names:
        shapes[name] = [
            list(arrays_of_item[name].shape) if name in arrays_of_item else None
            for arrays_of_item in item_arrays
        ]
        arrays[path + name] = np.concatenate(
            [arrays_of_item[name].ravel() for arrays_of_item in item_arrays if name in arrays_of_item]
        )
    return {"items": nodes, "shapes": shapes}


def _stored_subclasses(base: Any) -> dict[str, type]:
    """Return the classes in `STORED_CLASSES` that are or derive from `base`, by name."""
    return {subclass.__name__: subclass for subclass in STORED_CLASSES if issubclass(subclass, base)}


class _Reader:
    """Converts JSON values and arrays of a file to objects, by their annotated types.

    Parameters
    ----------
    arrays : dict of str to array
        Arrays by path. An array is removed when it is read, so that unused arrays remain.
    """

    def __init__(self, arrays: dict[str, Floats]) -> None:
        self.arrays = arrays

    def read_value(self, value_type: Any, node: Any, path: str) -> Any:
        """Convert a JSON value to an object of a type; raise InvalidStateError if it does not match.

        Parameters
        ----------
        value_type : type
            Annotation: a class, a `Literal`, a union, or a parametrized tuple or array.
        node : object
            The JSON value. `ARRAY_NODE` if the JSON values do not contain it: it is then an array or missing.
        path : str
            Path of the value in the file, such as "sphere.root". If the value is an array, the array is
            stored under this name.

        Returns
        -------
        object
            An instance of `value_type`.
        """
        origin = get_origin(value_type)
        if origin in (Union, UnionType):
            return self._read_union(get_args(value_type), node, path)
        if origin is Literal:
            if type(node) is str and node in get_args(value_type):
                return node
        elif origin is np.ndarray:
            return self._read_array(get_args(get_args(value_type)[1])[0], node, path)
        elif origin is tuple:
            return self._read_tuple(get_args(value_type), node, path)
        elif value_type is float:
            if type(node) in (float, int):
                return float(node)
        elif value_type in (bool, int, str, NoneType):
            if type(node) is value_type:
                return node
        elif value_type is Covariance:
            return _covariance_from_root(self._read_array(np.float64, node, path), path)
        else:
            return self._read_object(value_type, node, path)
        raise _invalid_value_error(node, path)

    def _read_union(self, types: tuple[Any, ...], node: Any, path: str) -> Any:
        """Convert a JSON value to a type of a union: the type of the value itself, or else the last type.

        None is converted to None if the union contains it; `types` are the members of the union. The other
        parameters are the ones of `read_value`.
        """
        if node is None and NoneType in types:
            return None
        possible = [candidate for candidate in types if candidate is not NoneType]
        for candidate in possible[:-1]:
            if type(node) is candidate:
                return node
        return self.read_value(possible[-1], node, path)

    def _read_array(self, dtype: type, node: Any, path: str) -> Any:
        """Remove the array at a path from `arrays` and return it as a dtype.

        Raises InvalidStateError if `node` is not `ARRAY_NODE`, the array is missing, or its values are not
        integers or flags (zero and one) as required by `dtype`.
        """
        if node is not ARRAY_NODE or path not in self.arrays:
            raise InvalidStateError(f"its array {path!r} is missing")
        array = self.arrays.pop(path)
        if np.issubdtype(dtype, np.integer) and not are_integers(array, -(2.0**53)):
            raise InvalidStateError(f"its array {path!r} has values that are not integers")
        if dtype is np.bool_ and not are_flags(array):
            raise InvalidStateError(f"its array {path!r} has values other than zero and one")
        return array.astype(dtype, copy=False)

    def _read_tuple(self, types: tuple[Any, ...], node: Any, path: str) -> Any:
        """Convert a JSON value from `_encode_items` to a tuple; raise InvalidStateError if it is not valid.

        Parameters
        ----------
        types : tuple of type
            Types of the items; (type, ...) for any number of items.
        node : object
            The JSON value: a list, or a dict of "items" and "shapes" if arrays of the items are joined.
        path : str
            Path of the tuple in the file.

        Returns
        -------
        tuple
            Items of the annotated types.
        """
        nodes: Any = node
        readers = None
        if isinstance(node, dict) and set(node) == {"items", "shapes"}:
            nodes = node["items"]
            readers = self._item_readers(node, path)
        if not isinstance(nodes, list) or (types[-1] is not Ellipsis and len(nodes) != len(types)):
            raise _invalid_value_error(node, path)
        item_types = types * len(nodes) if types[-1] is not Ellipsis else types[:1] * len(nodes)
        if readers is None:
            return tuple(
                self.read_value(item_type, item, f"{path}.{i}")
                for i, (item_type, item) in enumerate(zip(item_types, nodes, strict=False))
            )
        values = []
        for item_type, item, reader in zip(item_types, nodes, readers, strict=False):
            values.append(reader.read_value(item_type, ARRAY_NODE if item is None else item, ""))
            if reader.arrays:
                raise InvalidStateError(f"its option {path!r} has unknown arrays")
        return tuple(values)

    def _item_readers(self, node: Any, path: str) -> list[_Reader]:
        """Split the joined arrays of a tuple; return a reader of the arrays of each item.

        `node` is a dict of "items" and "shapes" from `_encode_items`. The arrays of the tuple, whose names
        begin with `path`, are removed from `arrays`. Raises InvalidStateError if they do not match their
        shapes.
        """
        shapes = node["shapes"]
        count = len(node["items"])
        if not isinstance(shapes, dict) or any(len(item_shapes) != count for item_shapes in shapes.values()):
            raise InvalidStateError(f"its option {path!r} has different numbers of arrays and items")
        arrays_by_item: list[dict[str, Floats]] = [{} for _ in range(count)]
        for name, shapes_of_items in shapes.items():
            joined = self._read_array(np.float64, ARRAY_NODE, path + name)
            start = 0
            for item_arrays, shape in zip(arrays_by_item, shapes_of_items, strict=True):
                if shape is None:
                    continue
                if not all(type(n) is int and n >= 0 for n in shape):
                    raise InvalidStateError(f"an array of {path!r} has an invalid shape")
                stop = start + math.prod(shape)
                if joined.ndim != 1 or stop > len(joined):
                    raise InvalidStateError(f"the arrays of {path!r} do not match their shapes")
                item_arrays[name] = joined[start:stop].reshape(shape)
                start = stop
            if start != len(joined):
                raise InvalidStateError(f"the arrays of {path!r} do not match their shapes")
        return [_Reader(item_arrays) for item_arrays in arrays_by_item]

    def _read_object(self, value_type: Any, node: Any, path: str) -> Any:
        """Convert a dict of fields to a dataclass or named tuple, or to the stored subclass that it names.

        Raises InvalidStateError if a field is missing or unknown, or if the object is not valid.

        Parameters
        ----------
        value_type : type
        node : object
            The JSON value, a dict of the fields, with the name of the class ("class") if `STORED_CLASSES` has
            classes that are or derive from `value_type`.
        path : str
            Path of the object in the file.

        Returns
        -------
        object
            Instance of `value_type`, or of the class in `STORED_CLASSES` that the dict names. Its method
            `validate`, if it has one, was called.
        """
        if not isinstance(node, dict):
            raise _invalid_value_error(node, path)
        node = dict(node)
        if subclasses := _stored_subclasses(value_type):
            name = node.pop("class", None)
            if not isinstance(name, str) or name not in subclasses:
                raise InvalidStateError(f"its option {path!r} is an unknown {value_type.__name__}")
            value_type = subclasses[name]
        field_types = (
            get_type_hints(value_type) if hasattr(value_type, "_fields") else dict(_parameters(value_type))
        )
        if not set(node) <= set(field_types):
            raise InvalidStateError(f"its option {path!r} has an unknown field of {value_type.__name__}")
        arguments = {
            name: self.read_value(field_type, node.get(name, ARRAY_NODE), f"{path}.{name}")
            for name, field_type in field_types.items()
        }
        value = value_type(**arguments)
        if hasattr(value, "validate"):
            value.validate()
        return value


def _covariance_from_root(root: Floats, path: str) -> Covariance:
    """Return the covariance R'R of an upper triangular root R (p, p), or of standard deviations (p,).

    Raises InvalidStateError if the root is not triangular or has a zero on its diagonal. `path` is its name
    in the file.
    """
    diagonal = root if root.ndim == 1 else np.diagonal(root)
    triangular = root.ndim == 1 or (root.ndim == 2 and not np.tril(root, -1).any())
    if not triangular or (root.ndim == 2 and len(set(root.shape)) > 1) or not diagonal.all():
        raise InvalidStateError(f"the root of {path!r} is not triangular or is singular")
    return Covariance.from_root(root)


def _invalid_value_error(node: Any, path: str) -> InvalidStateError:
    """Return the error for a value that is missing (`ARRAY_NODE`) or has another type than its annotation.

    `path` is the path of the value in the file.
    """
    if node is ARRAY_NODE:
        return InvalidStateError(f"{path!r} is missing among its estimates")
    text = repr(node)
    return InvalidStateError(f"its option {path!r} is {text if len(text) <= 60 else text[:57] + '...'}")
