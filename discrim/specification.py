"""Base class of the specifications in `discrim.covariance`, `discrim.subspace` and `discrim.penalty`.

A specification is a frozen dataclass that selects an estimator for an option of a verb, with the parameters
of this estimator only. It is validated when it is built, equal by value, and has a `repr` that evaluates. It
contains neither data nor estimates, and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Self

from discrim.errors import DataError, format_argument
from discrim.options import check_flag, check_word, join_labels


@dataclass(frozen=True, repr=False)
class Specification:
    """A frozen dataclass of the parameters of one estimator.

    Subclasses are decorated with ``@dataclass(frozen=True, repr=False)``, define `word`, and validate their
    other fields in `__post_init__`, in which `_set` stores a validated value.
    """

    word: ClassVar[str]
    """Name on the command line, and as the value of the option if the defaults are meant."""

    def __post_init__(self) -> None:
        """Validate the flags, which are the fields of type bool."""
        for parameter in fields(self):
            if parameter.type in ("bool", bool):
                value = getattr(self, parameter.name)
                check_flag(parameter.name, value)
                self._set(parameter.name, bool(value))

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.changed_parameters().items()]
        return f"{type(self).__name__}({', '.join(changed)})"

    def parameters(self) -> dict[str, Any]:
        """Return all parameters by name."""
        return {parameter.name: getattr(self, parameter.name) for parameter in fields(self)}

    def changed_parameters(self) -> dict[str, Any]:
        """Return the parameters, by name, whose values differ from their defaults or that lack a default."""
        defaults = {parameter.name: parameter.default for parameter in fields(self)}
        parameters = self.parameters()
        changed = {}
        for name, value in parameters.items():
            default = defaults[name]
            # Values of other types, such as arrays, may not be comparable with the default.
            if value is not default and (type(value) is not type(default) or value != default):
                changed[name] = value
        return changed

    def with_chosen(self, **parameters: Any) -> Self:
        """Return a validated copy with values that a fit has chosen for some of the parameters, by name."""
        return replace(self, **parameters)

    def _set(self, name: str, value: Any) -> None:
        """Set a field of the frozen dataclass to a validated value, in `__post_init__`."""
        object.__setattr__(self, name, value)


def read_specification(
    option: str,
    value: Any,
    words: Mapping[str, Callable[[], Any]],
    classes: Iterable[type[Specification]],
    *,
    also: str = "",
) -> Any:
    """Return the specification that the value of an option stands for.

    Parameters
    ----------
    option : str
        Name of the option, for messages.
    value : str or Specification
        A word, which stands for a specification with its defaults, or a specification.
    words : dict of str to callable
        The words for the option, with a function that builds the specification of each.
    classes : iterable of type
        The classes of the specifications that the option accepts.
    also : str
        Further values that the option accepts, for messages; it ends with a comma and a space.

    Returns
    -------
    Specification

    Raises
    ------
    DataError
        The word is unknown, or the value is a class, a specification of another option or verb, or any other
        object.
    """
    if isinstance(value, str):
        check_word(option, value, tuple(words))
        return words[value]()
    allowed = tuple(classes)
    if isinstance(value, allowed):
        return value
    if isinstance(value, type) and issubclass(value, allowed):
        required = [
            parameter.name for parameter in fields(value) if parameter.default is MISSING and parameter.init
        ]
        call = f"{value.__name__}({', '.join(f'{name}=...' for name in required)})"
        raise DataError(f"{option}={value.__name__} is a class.", hint=f"Write {option}={call}.")
    if isinstance(value, type):
        value_text = value.__name__
    else:
        value_text = repr(value) if isinstance(value, Specification) else format_argument(value)
    choices = f"one of {join_labels(words, len(words))}, or {also}" if words else also
    raise DataError(
        f"{option}={value_text} is not supported here.", hint=f"Use {choices}{join_class_names(allowed)}."
    )


def join_class_names(classes: Iterable[type[Specification]]) -> str:
    """Return the qualified names of specification classes as text, separated by commas."""
    return ", ".join(
        f"{specification_class.__module__}.{specification_class.__name__}" for specification_class in classes
    )
