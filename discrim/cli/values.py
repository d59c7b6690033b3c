"""Values of options: what the annotation of a parameter accepts, and how the text of a value is read.

A value is a word, a number (also as 1/3), a text, a list a,b,c, a value for each class or column a=1,b=2, or
a specification such as shrunk(shrinkage=0.1).
"""

from __future__ import annotations

import argparse
import builtins
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from discrim.cli.parsing import nearest, one_of
from discrim.errors import DiscrimError
from discrim.frame.calls import LiteralCall, read_call

if TYPE_CHECKING:
    from discrim.specification import Specification

_CALL = re.compile(r"\s*\w+\s*\(")
_BRACKETS = re.compile(r"\s*\[([^\[\]]*)\]\s*")
CLASSES = ("levels", "reference")
"""Parameters whose values are classes."""

MAX_WORDS_SHOWN, MAX_WORDS_IN_UNION = 40, 16
"""Largest number of characters of words that stand for a value in a help text, alone or in a union."""


class ByClass(dict[str, Any]):
    """Values by class, whose labels are still the text that was typed."""


def has_labels(options: Mapping[str, Any]) -> bool:
    """Return whether options name classes."""
    return any(isinstance(value, ByClass) or name in CLASSES for name, value in options.items())


def with_labels(options: dict[str, Any], labels: Iterable[Any]) -> dict[str, Any]:
    """Return options in which classes have their labels in place of their text.

    Examples
    --------
    >>> with_labels({"prior": ByClass({"0": 0.5, "1": 0.5}), "levels": ["1", "0"]}, [0, 1])
    {'prior': {0: 0.5, 1: 0.5}, 'levels': [1, 0]}
    """
    label_of = {str(label): label for label in labels}
    found = dict(options)
    for name, value in options.items():
        if isinstance(value, ByClass):
            found[name] = {label_of.get(label, label): each for label, each in value.items()}
        elif name in CLASSES:
            is_one = isinstance(value, str)
            found[name] = (
                label_of.get(value, value) if is_one else [label_of.get(each, each) for each in value]
            )
    return found


@dataclass(frozen=True)
class ValueKind:
    """What a parameter accepts.

    Attributes
    ----------
    words : tuple of str
        Words with a meaning.
    flag, whole, number, text, none : bool
        Whether it may be True or False, an integer, a float, any text, or None.
    items : ValueKind or None
        What each value of a list may be, None if it cannot be a list.
    values : ValueKind or None
        What each value of a dict may be, None if it cannot be a dict.
    by_class : bool
        Whether the keys of the dict are classes, which need not be text.
    specifications : tuple of type
        Classes of specifications.
    """

    words: tuple[str, ...] = ()
    flag: bool = False
    whole: bool = False
    number: bool = False
    text: bool = False
    none: bool = False
    items: ValueKind | None = None
    values: ValueKind | None = None
    by_class: bool = False
    specifications: tuple[type[Specification], ...] = ()

    @property
    def is_flag(self) -> bool:
        """Whether it can only be True, False or None."""
        return self.flag and not (self.is_scalar or self.items or self.values or self.specifications)

    @property
    def is_word(self) -> bool:
        """Whether it can only be one of some words, or None."""
        only = ValueKind(words=self.words, none=self.none)
        return bool(self.words) and self == only

    @property
    def is_scalar(self) -> bool:
        """Whether it may be one word, number or text."""
        return bool(self.words) or self.whole or self.number or self.text

    @property
    def metavar(self) -> str:
        """What stands for the value in a help text."""
        words = ",".join(self.words)
        if self.is_word:
            return f"{{{words}}}" if len(words) <= MAX_WORDS_SHOWN else "WORD"
        if self.specifications:
            return "WORD|CALL"
        names = []
        if self.whole or self.number:
            names.append("X" if self.number else "N")
        if self.words:
            names.append(words.replace(",", "|") if len(words) <= MAX_WORDS_IN_UNION else "WORD")
        if self.text:
            names.append("NAME")
        if self.items is not None:
            names.append(f"{'X' if self.items.is_scalar and not self.items.text else 'NAME'},...")
        if self.values is not None:
            names.append("CLASS=X,..." if self.by_class else "NAME=X,...")
        names += ["True"] * self.flag
        return "|".join(names) or "NAME"

    def read(self, text: str) -> Any:
        """Read the text of a value, or raise argparse's error."""
        typed = text.strip()
        if typed in self.words:
            return typed
        if self.flag and typed in ("True", "False"):
            return typed == "True"
        if self.none and typed == "None" and not self.text:
            return None
        if self.specifications and _CALL.match(text):
            return specification_of(read_call(text), self.specifications)
        if self.values is not None and "=" in text:
            return self._dictionary(text, self.values)
        if self.items is not None and "," in text:
            return [self.items.read(item.strip()) for item in _split(text, self.items)]
        number = _number(typed, whole=self.whole, real=self.number)
        if number is not None:
            return number
        if self.text:
            return text
        if self.items is not None:
            with suppress(argparse.ArgumentTypeError):
                return [self.items.read(item.strip()) for item in _split(text, self.items)]
        words = [*self.words, *(each.word for each in self.specifications)]
        if self.is_word:
            raise argparse.ArgumentTypeError(f"{text!r} is not known{one_of(typed, words)}")
        near = nearest(typed, words)
        hint = "" if near is None or near == typed else f": did you mean {near}?"
        raise argparse.ArgumentTypeError(f"{text!r} is not {self.description()}{hint}")

    def description(self) -> str:
        """Return what the value may be, in words."""
        parts = []
        if self.whole and not self.number:
            parts.append("a whole number")
        elif self.number:
            parts.append("a number")
        parts += self.words
        if self.flag:
            parts.append("True or False")
        if self.items is not None:
            parts.append("a list a,b,c")
        if self.values is not None:
            parts.append("a value for each as a=1,b=2")
        if self.specifications:
            example = next(each.word for each in self.specifications if each.__match_args__)
            parts.append(f"a specification such as {example}(...)")
        return " or ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} or {parts[-1]}"

    def _dictionary(self, text: str, kind: ValueKind) -> dict[str, Any]:
        found: dict[str, Any] = ByClass() if self.by_class else {}
        for item in _split(text, kind):
            label, equals, value = item.rpartition("=")
            label = label.strip()
            if not equals:
                raise argparse.ArgumentTypeError(f"{item.strip()!r} in {text!r} is not written as NAME=VALUE")
            if label in found:
                raise argparse.ArgumentTypeError(f"{label!r} is named twice in {text!r}: name it once")
            found[label] = kind.read(value)
        return found


def _number(text: str, *, whole: bool, real: bool) -> int | float | None:
    """Return the number that a text is, or None."""
    if whole:
        try:
            return int(text)
        except ValueError:
            pass
    if not real:
        return None
    try:
        # A fraction of two integers is exact; of one number with an exponent it would have all of its digits.
        number = float(Fraction(text) if "/" in text else text)
    except (ValueError, ArithmeticError):
        return None
    return number if math.isfinite(number) else None


def _split(text: str, kind: ValueKind) -> list[str]:
    """Split a list at its commas, but not within brackets if each item may be a list itself."""
    inner = _BRACKETS.fullmatch(text)
    if inner is not None:
        text = inner[1]
    return text.split(",") if kind.items is None else re.split(r",(?![^\[]*\])", text)


class _Unknown(type):
    """Class of a name that only type checkers import, and of its attributes."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, item: object) -> Any:
        return cls


class _NotTyped(metaclass=_Unknown):
    """Stands for a type that only type checkers import; its values are text that the function checks."""


def kind_of(annotation: Any) -> ValueKind:
    """Return what an annotation accepts.

    Examples
    --------
    >>> kind_of(int | Literal["cv"]).read("cv"), kind_of(Sequence[float]).read("0,1/2")
    ('cv', [0.0, 0.5])
    """
    # Not at the top: it imports numpy, which the help of the program does without.
    from discrim.specification import Specification

    if annotation in (Any, _NotTyped):
        return ValueKind(text=True)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        # Any beside other types stands for what cannot be typed, such as a table.
        return _joined([kind_of(each) for each in inner if each is not Any])
    if origin is Literal:
        return ValueKind(words=tuple(word for word in inner if isinstance(word, str)))
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return ValueKind(values=kind_of(inner[1]), by_class=inner[0] is Any)
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        return ValueKind(items=kind_of(inner[0]))
    if inspect.isclass(annotation) and issubclass(annotation, Specification):
        return ValueKind(specifications=_concrete(annotation))
    plain = {bool: "flag", int: "whole", float: "number", str: "text", type(None): "none"}
    return ValueKind(**{plain[annotation]: True}) if annotation in plain else ValueKind()


def _joined(kinds: Sequence[ValueKind]) -> ValueKind:
    """Return what any of several kinds accepts."""
    values: dict[str, Any] = {}
    for each in fields(ValueKind):
        given = [getattr(kind, each.name) for kind in kinds]
        if each.name in ("items", "values"):
            inner = [kind for kind in given if kind is not None]
            values[each.name] = _joined(inner) if inner else None
        elif each.name in ("words", "specifications"):
            values[each.name] = tuple(dict.fromkeys(word for words in given for word in words))
        else:
            values[each.name] = any(given)
    return ValueKind(**values)


def _concrete(specification: type[Specification]) -> tuple[type[Specification], ...]:
    """Return a specification, or those that a base class is the base of."""
    if hasattr(specification, "word"):
        return (specification,)
    return tuple(each for below in specification.__subclasses__() for each in _concrete(below))


class _Names(dict[str, Any]):
    """Names of a module, and `_NotTyped` for every other name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return _NotTyped


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function, evaluated in its module."""
    plain: Any = inspect.unwrap(function)
    names = _Names({**vars(builtins), **plain.__globals__})
    return typing.get_type_hints(plain, globalns=names, localns=names)


def specification_of(call: LiteralCall, classes: Sequence[type[Specification]]) -> Specification:
    """Return the specification that a call is.

    Parameters
    ----------
    call : LiteralCall
        A call by the word of a specification, such as ``shrunk(0.1)``, or by its class.
    classes : sequence of type
        The specifications that are known.

    Returns
    -------
    Specification

    Raises
    ------
    FormulaError
        A name is not known, or an argument is missing; the message points at the place.
    DataError
        The specification refuses a value.
    """
    by_name = {name: each for each in classes for name in (each.word, each.__name__)}
    found = by_name.get(call.name)
    if found is None:
        words = [each.word for each in classes]
        near = nearest(call.name, by_name)
        raise call.error(f"Unknown specification {call.name!r}{one_of(near or call.name, words)}.")
    names = list(inspect.signature(found).parameters)
    for keyword in call.kwargs:
        if keyword not in names:
            way_out = one_of(keyword, names) if names else ": leave it out"
            raise call.error(f"{call.name} has no parameter {keyword!r}{way_out}.", keyword)
    try:
        inspect.signature(found).bind(*call.args, **call.kwargs)
    except TypeError as error:
        parameters = ", ".join(names) or "none"
        raise call.error(f"{call.name}: {error}. Write its parameters: {parameters}.") from None
    try:
        return found(*call.args, **call.kwargs)
    except DiscrimError as error:
        raise type(error)(f"{call.name}(): {error}") from error
