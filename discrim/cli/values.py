"""Values of options: which values the annotation of a parameter accepts, and how their text is read.

A value is a word, a number (also 1/3), a text, a list a,b,c, a value for each class or column a=1,b=2, or a
specification such as shrunk(shrinkage=0.1).
"""

from __future__ import annotations

import argparse
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from discrim.cli.parsing import choices_hint, closest_word
from discrim.errors import DiscrimError
from discrim.formula.calls import LiteralCall, read_call

if TYPE_CHECKING:
    from discrim.specification import Specification

_CALL = re.compile(r"\s*\w+\s*\(")
_BRACKETS = re.compile(r"\s*\[([^\[\]]*)\]\s*")
CLASS_PARAMETERS = ("levels", "reference")
"""Parameters whose values are class labels."""

MAX_WORDS_SHOWN = 40
MAX_WORDS_IN_UNION = 16
"""Largest number of characters of the words of a value that the help lists, alone or in a union."""


class ValuesByClass(dict[str, Any]):
    """Dict of values by class, whose keys are the text that was typed, not yet the labels of the data."""


def has_labels(options: Mapping[str, Any]) -> bool:
    """Return whether any option contains class labels."""
    return any(
        isinstance(value, ValuesByClass) or name in CLASS_PARAMETERS for name, value in options.items()
    )


def with_labels(options: dict[str, Any], labels: Iterable[Any]) -> dict[str, Any]:
    """Return options in which typed class labels are replaced by the labels of the data.

    Parameters
    ----------
    options : dict
        Options by name, of which those for which `has_labels` is true are changed.
    labels : iterable
        Labels of the data, of any type. A typed label is replaced by the label with this text.

    Returns
    -------
    dict
        A copy.

    Examples
    --------
    >>> with_labels({"prior": ValuesByClass({"0": 0.5, "1": 0.5}), "levels": ["1", "0"]}, [0, 1])
    {'prior': {0: 0.5, 1: 0.5}, 'levels': [1, 0]}
    """
    label_of = {str(label): label for label in labels}
    labelled = dict(options)
    for name, value in options.items():
        if isinstance(value, ValuesByClass):
            labelled[name] = {label_of.get(label, label): item for label, item in value.items()}
        elif name in CLASS_PARAMETERS:
            is_single_label = isinstance(value, str)
            labelled[name] = (
                label_of.get(value, value)
                if is_single_label
                else [label_of.get(item, item) for item in value]
            )
    return labelled


@dataclass(frozen=True)
class ValueKind:
    """Values that a parameter accepts.

    Attributes
    ----------
    words : tuple of str
        Words with a meaning.
    accepts_bool, accepts_integer, accepts_float, accepts_text, accepts_none : bool
        Whether a bool, an integer, a float, any text, or None is accepted.
    items : ValueKind or None
        Kind of the items of a list; None if lists are not accepted.
    values : ValueKind or None
        Kind of the values of a dict; None if dicts are not accepted.
    by_class : bool
        Whether the keys of the dict are class labels, which may be of any type.
    specifications : tuple of type
        Classes of accepted specifications.
    """

    words: tuple[str, ...] = ()
    accepts_bool: bool = False
    accepts_integer: bool = False
    accepts_float: bool = False
    accepts_text: bool = False
    accepts_none: bool = False
    items: ValueKind | None = None
    values: ValueKind | None = None
    by_class: bool = False
    specifications: tuple[type[Specification], ...] = ()

    @property
    def is_flag(self) -> bool:
        """Whether all accepted values are True, False or None."""
        return self.accepts_bool and not (self.is_scalar or self.items or self.values or self.specifications)

    @property
    def is_word(self) -> bool:
        """Whether all accepted values are words from a fixed set, or None."""
        words_only = ValueKind(words=self.words, accepts_none=self.accepts_none)
        return bool(self.words) and self == words_only

    @property
    def is_scalar(self) -> bool:
        """Whether a single word, number or text is accepted, and not only lists, for example."""
        return bool(self.words) or self.accepts_integer or self.accepts_float or self.accepts_text

    @property
    def metavar(self) -> str:
        """Placeholder for the value in the help, such as "X" or "CLASS=X,..."."""
        word_list = ",".join(self.words)
        if self.is_word:
            return f"{{{word_list}}}" if len(word_list) <= MAX_WORDS_SHOWN else "WORD"
        names = []
        if self.accepts_integer or self.accepts_float:
            names.append("X" if self.accepts_float else "N")
        if self.words:
            names.append(word_list.replace(",", "|") if len(word_list) <= MAX_WORDS_IN_UNION else "WORD")
        if self.accepts_text:
            names.append("NAME")
        if self.items is not None:
            names.append(f"{'X' if self.items.is_scalar and not self.items.accepts_text else 'NAME'},...")
        if self.values is not None:
            names.append("CLASS=X,..." if self.by_class else "NAME=X,...")
        names += ["True"] * self.accepts_bool + ["CALL"] * bool(self.specifications)
        return "|".join(names) or "NAME"

    def read(self, text: str) -> Any:
        """Convert the text of a value; raise an ArgumentTypeError if no accepted kind has this form.

        The accepted kinds are tried in the order words, True or False, None, specifications, values by name,
        lists with a comma, numbers (integers before floats), any text, and lists of one item. The errors of
        `specification_of` are raised unchanged.
        """
        typed = text.strip()
        if typed in self.words:
            return typed
        if self.accepts_bool and typed in ("True", "False"):
            return typed == "True"
        if self.accepts_none and typed == "None" and not self.accepts_text:
            return None
        if self.specifications and _CALL.match(text):
            return specification_of(read_call(text), self.specifications)
        if self.values is not None and "=" in text:
            return self._read_dictionary(text, self.values)
        if self.items is not None and "," in text:
            return [self.items.read(item.strip()) for item in _split_list(text, self.items)]
        number = _read_number(typed, allows_integer=self.accepts_integer, allows_float=self.accepts_float)
        if number is not None:
            return number
        if self.accepts_text:
            return text
        if self.items is not None:
            with suppress(argparse.ArgumentTypeError):
                return [self.items.read(item.strip()) for item in _split_list(text, self.items)]
        valid_words = [*self.words, *(specification.word for specification in self.specifications)]
        if self.is_word:
            raise argparse.ArgumentTypeError(f"{text!r} is not known. {choices_hint(typed, valid_words)}")
        closest = closest_word(typed, valid_words)
        hint = "" if closest is None or closest == typed else f" Did you mean {closest}?"
        raise argparse.ArgumentTypeError(f"{text!r} is not {self.description}.{hint}")

    @property
    def description(self) -> str:
        """Description of valid values for messages, such as "a whole number or cv"."""
        alternatives = ["a number" if self.accepts_float else "a whole number"] * (
            self.accepts_integer or self.accepts_float
        )
        alternatives += [
            *self.words,
            *["True or False"] * self.accepts_bool,
            *["a list a,b,c"] * (self.items is not None),
        ]
        alternatives += ["values by name such as a=1,b=2"] * (self.values is not None)
        alternatives += ["a specification with its parameters in parentheses"] * bool(self.specifications)
        return " or ".join(filter(None, [", ".join(alternatives[:-1]), alternatives[-1]]))

    def _read_dictionary(self, text: str, value_kind: ValueKind) -> dict[str, Any]:
        """Read a list NAME=VALUE,... as a dictionary, or `ValuesByClass`, of values of `value_kind`.

        Raises an ArgumentTypeError for an item without ``=`` and for a repeated name.
        """
        entries: dict[str, Any] = ValuesByClass() if self.by_class else {}
        for item in _split_list(text, value_kind):
            label, equals, value = item.rpartition("=")
            label = label.strip()
            if not equals:
                raise argparse.ArgumentTypeError(f"{item.strip()!r} in {text!r} is not written as NAME=VALUE")
            if label in entries:
                raise argparse.ArgumentTypeError(f"{label!r} occurs twice in {text!r}")
            entries[label] = value_kind.read(value)
        return entries


def _read_number(text: str, *, allows_integer: bool, allows_float: bool) -> int | float | None:
    """Read a number, or return None if a text is not one.

    Parameters
    ----------
    text : str
    allows_integer : bool
        Whether integers are allowed.
    allows_float : bool
        Whether finite floats, also as fractions a/b, are allowed.

    Returns
    -------
    int, float or None
    """
    if allows_integer:
        try:
            return int(text)
        except ValueError:
            pass
    if not allows_float:
        return None
    try:
        # Fraction only for a/b: of a number with a large exponent it would compute all digits.
        number = float(Fraction(text) if "/" in text else text)
    except (ValueError, ArithmeticError):
        return None
    return number if math.isfinite(number) else None


def _split_list(text: str, item_kind: ValueKind) -> list[str]:
    """Split the text of a list at its commas.

    Brackets around the whole list are removed if they are the only ones. If the items can be lists according
    to their kind, commas within brackets do not split: ``[0, 1],[2]`` has the items ``[0, 1]`` and ``[2]``.
    """
    inner = _BRACKETS.fullmatch(text)
    if inner is not None:
        text = inner[1]
    return text.split(",") if item_kind.items is None else re.split(r",(?![^\[]*\])", text)


def value_kind_of(*annotations: Any) -> ValueKind:
    """Return the kind of values that type annotations allow: the union if there are several.

    Examples
    --------
    >>> value_kind_of(int | Literal["cv"]).read("cv"), value_kind_of(Sequence[float]).read("0,1/2")
    ('cv', [0.0, 0.5])
    """
    # Not at the top, because it imports numpy, which the general help does not need.
    from discrim.specification import Specification

    unions = (Union, UnionType)
    members = [
        member
        for annotation in annotations
        for member in (get_args(annotation) if get_origin(annotation) in unions else [annotation])
    ]
    literal_words: list[str] = []
    items: list[Any] = []
    values: list[Any] = []
    specifications: list[type[Specification]] = []
    for member in members:
        origin = get_origin(member)
        type_arguments = get_args(member)
        if origin is Literal:
            literal_words += [word for word in type_arguments if isinstance(word, str)]
        elif inspect.isclass(origin) and issubclass(origin, Mapping):
            values.append(type_arguments)
        elif inspect.isclass(origin) and issubclass(origin, Sequence):
            items.append(type_arguments[0])
        elif inspect.isclass(member) and issubclass(member, Specification):
            specifications += _concrete_specifications(member)
    return ValueKind(
        words=tuple(literal_words),
        accepts_bool=bool in members,
        accepts_integer=int in members,
        accepts_float=float in members,
        # Any in a union with other types stands for values that cannot be typed, such as a table.
        accepts_text=str in members or members == [Any],
        accepts_none=type(None) in members,
        items=value_kind_of(*items) if items else None,
        values=value_kind_of(*(value_type for _, value_type in values)) if values else None,
        by_class=any(key is Any for key, _ in values),
        specifications=tuple(specifications),
    )


def _concrete_specifications(specification: type[Specification]) -> tuple[type[Specification], ...]:
    """Return the class itself if it can be instantiated, else all its subclasses that can."""
    if hasattr(specification, "word"):
        return (specification,)
    return tuple(
        concrete
        for subclass in specification.__subclasses__()
        for concrete in _concrete_specifications(subclass)
    )


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the evaluated type annotations of a function by parameter.

    An annotation is replaced by Any if it contains a name that is imported for type checkers only, and
    therefore does not exist at run time.
    """
    unwrapped: Any = inspect.unwrap(function)
    evaluated: dict[str, Any] = dict.fromkeys(unwrapped.__annotations__, Any)
    for name, annotation in unwrapped.__annotations__.items():
        with suppress(NameError):
            # Each annotation is evaluated alone, because an error concerns only this one.
            annotated: Any = SimpleNamespace(__annotations__={name: annotation})
            evaluated |= get_type_hints(annotated, globalns=unwrapped.__globals__)
    return evaluated


def specification_of(call: LiteralCall, classes: Sequence[type[Specification]]) -> Specification:
    """Build the specification that a parsed call stands for.

    Parameters
    ----------
    call : LiteralCall
        A call by the word of a specification, such as ``shrunk(0.1)``, or by its class.
    classes : sequence of type
        The possible specifications.

    Returns
    -------
    Specification

    Raises
    ------
    FormulaError
        A name is unknown, or an argument is missing; the message points to the position.
    DataError
        The specification refuses a value.
    """
    by_name = {
        name: specification_class
        for specification_class in classes
        for name in (specification_class.word, specification_class.__name__)
    }
    selected = by_name.get(call.name)
    if selected is None:
        known_words = [specification_class.word for specification_class in classes]
        closest = closest_word(call.name, by_name)
        raise call.error(
            f"Unknown specification {call.name!r}.", hint=choices_hint(closest or call.name, known_words)
        )
    names = list(inspect.signature(selected).parameters)
    for keyword in call.kwargs:
        if keyword not in names:
            hint = choices_hint(keyword, names) if names else "Leave it out."
            raise call.error(f"{call.name} has no parameter {keyword!r}.", keyword, hint=hint)
    try:
        inspect.signature(selected).bind(*call.args, **call.kwargs)
    except TypeError as error:
        parameters = ", ".join(names) or "none"
        raise call.error(f"{call.name}: {error}.", hint=f"Its parameters are {parameters}.") from None
    try:
        return selected(*call.args, **call.kwargs)
    except DiscrimError as error:
        raise error.with_message(f"{call.name}(): {error.message}") from error
