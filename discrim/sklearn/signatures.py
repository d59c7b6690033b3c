"""Constructors and documented parameters of the estimators, derived from their verbs.

An option that is added to a verb becomes a parameter of its estimator, with its annotation, default and
description. A class defines only parameters that its verb does not have, or has with another default.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, TypeVar

from discrim.docstrings import NEXT_SECTION, PARAMETERS, parameter_entries

TABLE_OPTIONS = frozenset(
    {"formula", "data", "moments", "weights", "levels", "na_action", "missing", "functions"}
)
"""Options of verbs about the table, which estimators replace by `fit(X, y, sample_weight)`."""

FOLDS = "folds"
CV = "cv"
"""Name of the parameter `folds` of verbs in estimators, as in scikit-learn."""

SHARED_ENTRIES = {
    "seed": """seed : int, optional
    Random seed of the assignment of rows to folds. None uses another assignment at each fit.""",
    "constant": """constant : {"drop", "raise"}
    Treatment of constant numeric columns: "drop" drops them with a warning, "raise" raises an error.""",
}
"""Docstring entries of parameters that several estimators have, but no verb."""

Estimator = TypeVar("Estimator", bound=type[Any])


def estimator(cls: Estimator) -> Estimator:
    """Derive the constructor and the documentation of an estimator from its verb.

    Parameters
    ----------
    cls : type
        A class with the attribute `verb`. Its annotated attributes with a value are parameters that the verb
        does not have, or has with another default. Annotations without a value serve type checkers only.
        `not_supported` names further options of the verb that the estimator leaves out, and `positional`
        the parameters that may be passed by position.

    Returns
    -------
    type
        The same class, with `__init__` and `__doc__`.
    """
    own_defaults = {name: vars(cls)[name] for name in cls.__annotations__ if name in vars(cls)}
    for name in own_defaults:
        # A default belongs to the constructor and is not an attribute of the class.
        delattr(cls, name)
    # The parameters of the verb that its estimator has, by their names in the estimator.
    excluded_options = TABLE_OPTIONS.union(cls.not_supported)
    verb_parameters = [
        parameter
        for parameter in inspect.signature(cls.verb).parameters.values()
        if parameter.name not in excluded_options
    ]
    renamed = [
        parameter.replace(name=CV) if parameter.name == FOLDS else parameter for parameter in verb_parameters
    ]
    parameters = {parameter.name: parameter for parameter in renamed}
    for name, default in own_defaults.items():
        annotation = cls.__annotations__[name]
        parameters[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    positional = {
        name: parameters.pop(name).replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for name in cls.positional
    }
    parameters = positional | parameters
    cls.__init__ = _constructor(cls, Signature([_SELF, *parameters.values()], return_annotation=None))
    cls.__doc__ = _documentation(cls, parameters, own_defaults)
    return cls


_SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)


def _constructor(cls: type, signature: Signature) -> Callable[..., None]:
    """Return an `__init__` with the given signature, which stores its arguments unchanged as attributes."""

    def __init__(self: object, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            # Imported here because correct calls do not need it.
            from discrim.slips import raise_if_unknown_keyword

            raise_if_unknown_keyword(__init__, kwargs)
            raise TypeError(f"{cls.__name__}(): {error}.") from None
        bound.apply_defaults()
        del bound.arguments["self"]
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    __init__.__dict__["__signature__"] = signature
    return __init__


def _documentation(
    cls: type[Any], parameters: Mapping[str, Parameter], own_defaults: Mapping[str, Any]
) -> str:
    """Return the docstring of an estimator with a Parameters section for all of its parameters.

    The description of a parameter is taken from the docstring of the class, else from `SHARED_ENTRIES`, else
    from the docstring of the verb.

    Parameters
    ----------
    cls : type
        Class of the estimator, with the attribute `verb`.
    parameters : mapping of str to Parameter
        Parameters of the constructor, in the order of the documentation.
    own_defaults : mapping of str to object
        Parameters that the class defines itself, with their defaults.

    Returns
    -------
    str
    """
    text = inspect.cleandoc(cls.__doc__ or "")
    entries = {
        (CV if name == FOLDS else name): entry.replace("`folds`", "`cv`")
        for name, entry in parameter_entries(cls.verb.__doc__).items()
    }
    if CV in entries:
        entries[CV] = re.sub(rf"^{FOLDS}\b", CV, entries[CV])
    entries |= {name: SHARED_ENTRIES[name] for name in own_defaults if name in SHARED_ENTRIES}
    entries |= parameter_entries(text)
    parameters_text = "\n".join(entries[name] for name in parameters if name in entries)
    section = f"\n\nParameters\n----------\n{parameters_text}" if parameters_text else ""
    text = PARAMETERS.sub("", text).rstrip()
    next_section = NEXT_SECTION.search(text)
    end = next_section.start() if next_section else len(text)
    return f"{text[:end].rstrip()}{section}\n\n{text[end:].lstrip()}".rstrip()
