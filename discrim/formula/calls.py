"""Read calls with literal arguments, such as ``shrunk(shrinkage=0.1)``, from text.

The command line writes specifications and models so. The text is parsed into a Python syntax tree and walked,
as a factor of a formula is: a name, and arguments that are numbers (also quotients such as 1/2), strings,
None, True, False, or lists, tuples and dicts of these. Everything else is an error that points to its
position. Nothing is evaluated as Python.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from discrim.errors import FormulaError
from discrim.formula.grammar import MAX_NESTING, pointing_error

MAX_CALL_TEXT = 20_000
"""Largest number of characters of a call."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUES = "Write a number, a text in quotes, True, False, None, or a list, a tuple or a dict of these."


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """A name with literal arguments.

    Attributes
    ----------
    name : str
        Name of the function.
    args : tuple
        Positional arguments. An argument of a call that may be nested can be a `LiteralCall` itself.
    kwargs : dict of str to object
        Keyword arguments.
    text : str
        The text in which the call stands, for messages.
    start, end : int
        Positions of the first character of the call, and of the character after it, in the text.
    name_ranges : dict of str to (int, int)
        Start and end of the name of the function (under the key "") and of each keyword in the text.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    text: str
    start: int
    end: int
    name_ranges: Mapping[str, tuple[int, int]]

    def error(self, message: str, keyword: str = "", *, hint: str) -> FormulaError:
        """Return an error that points at a keyword, or if `keyword` is empty at the name of the function."""
        return pointing_error(message, self.text, *self.name_ranges[keyword], hint=hint)


def read_call(text: str, example: str = "shrunk(shrinkage=0.1)") -> LiteralCall:
    """Read a name, or a call with literal arguments.

    Parameters
    ----------
    text : str
        A name such as ``shrunk``, which stands for a call without arguments, or a call.
    example : str
        A call that messages show.

    Returns
    -------
    LiteralCall

    Raises
    ------
    FormulaError
        The text is not such a call, or exceeds a limit. The message points to the position.

    Examples
    --------
    >>> call = read_call("shrunk(0.1, grid=[0, 1/2])")
    >>> call.name, call.args, call.kwargs
    ('shrunk', (0.1,), {'grid': [0, 0.5]})
    """
    reader, tree = _parse_call_text(text, example, nested=False)
    return reader.call(tree, 0)


def read_calls(text: str) -> list[LiteralCall]:
    """Read names and calls that are separated by commas, whose arguments may be calls too.

    Raises the errors of `read_call`.

    Examples
    --------
    >>> [call.name for call in read_calls("lda, qda(covariance=shrunk(0.1))")]
    ['lda', 'qda']
    """
    reader, tree = _parse_call_text(text, "knn(k=5)", nested=True)
    # A tuple in brackets begins at its bracket, before its first part.
    is_list = isinstance(tree, ast.Tuple) and tree.elts and tree.col_offset == tree.elts[0].col_offset
    call_trees = tree.elts if isinstance(tree, ast.Tuple) and is_list else [tree]
    return [reader.call(call_tree, 0) for call_tree in call_trees]


def _parse_call_text(text: str, example: str, *, nested: bool) -> tuple[_CallReader, ast.expr]:
    """Parse a text as a Python expression; raise a FormulaError if it is too long or invalid.

    Parameters
    ----------
    text : str
    example : str
        A valid call, for messages.
    nested : bool
        Whether arguments may be calls.

    Returns
    -------
    reader : _CallReader
        Converter of the tree to a `LiteralCall`.
    tree : ast.expr
    """
    if len(text) > MAX_CALL_TEXT:
        raise FormulaError(
            f"The value has {len(text):,} characters.", hint=f"Write {MAX_CALL_TEXT:,} or fewer."
        )
    odd = next((i for i, char in enumerate(text) if not char.isprintable()), None)
    if odd is not None:
        message = f"The character {text[odd]!a} is not allowed here."
        raise pointing_error(message, text, odd, odd + 1, hint="Write a blank instead.")
    start = len(text) - len(text.lstrip())
    code = text[start:].rstrip()
    try:
        with warnings.catch_warnings():
            # Python only warns of unknown escapes, which are errors here.
            warnings.simplefilter("error")
            tree = ast.parse(code, mode="eval").body
    except SyntaxError as error:
        # Python counts characters from 1, and 0 stands for an unknown position.
        error_position = start + min(max((error.offset or 1) - 1, 0), max(len(code) - 1, 0))
        message = f"This cannot be read: {error.msg}."
        hint = f"Write a word or a call, such as {example}."
        raise pointing_error(message, text, error_position, error_position + 1, hint=hint) from None
    except (ValueError, RecursionError, MemoryError, Warning):
        hint = f"Write a word or a call, such as {example}."
        raise pointing_error("This cannot be read.", text, start, len(text), hint=hint) from None
    return _CallReader(text, start, code, example, nested=nested), tree


class _CallReader:
    """Converter from a syntax tree to a `LiteralCall`; other types of syntax raise a FormulaError.

    Parameters
    ----------
    text : str
    start : int
        Position of the code in the text.
    code : str
    example : str
        A valid call, for messages.
    nested : bool
        Whether arguments may be calls.
    """

    def __init__(self, text: str, start: int, code: str, example: str, *, nested: bool) -> None:
        self.text = text
        self.start = start
        self.example = example
        self.nested = nested
        self.encoded = code.encode()

    def text_range(self, start: int, end: int | None) -> tuple[int, int]:
        """Convert byte offsets in the code, which the parser reports, to positions in the text."""
        first, last = (len(self.encoded[:offset].decode(errors="ignore")) for offset in (start, end))
        return self.start + first, self.start + last

    def refuse(self, message: str, tree: ast.expr | ast.keyword, *, hint: str) -> NoReturn:
        """Raise an error that points to a subtree."""
        position = self.text_range(tree.col_offset, tree.end_col_offset)
        raise pointing_error(message, self.text, *position, hint=hint)

    def call(self, tree: ast.expr, depth: int) -> LiteralCall:
        """Convert a name, or a call with its arguments, to a LiteralCall.

        Parameters
        ----------
        tree : ast.expr
        depth : int
            Number of calls and containers around it.

        Returns
        -------
        LiteralCall
            The arguments of a name are empty.
        """
        function = tree
        args = list[ast.expr]()
        keywords = list[ast.keyword]()
        if isinstance(tree, ast.Call):
            function = tree.func
            args = tree.args
            keywords = tree.keywords
        if not isinstance(function, ast.Name):
            hint = f"Write a word or a call, such as {self.example}."
            self.refuse("Only a plain name is allowed here.", function, hint=hint)
        positions = {"": self.name_range(function.id, function)}
        kwargs: dict[str, Any] = {}
        for keyword_argument in keywords:
            if keyword_argument.arg is None or keyword_argument.arg in kwargs:
                self.refuse(
                    "Starred or repeated arguments are not allowed.",
                    keyword_argument,
                    hint="Write each argument once.",
                )
            positions[keyword_argument.arg] = self.name_range(keyword_argument.arg, keyword_argument)
            kwargs[keyword_argument.arg] = self.value(keyword_argument.value, depth + 1)
        values = tuple(self.value(argument, depth + 1) for argument in args)
        return LiteralCall(
            function.id,
            values,
            kwargs,
            self.text,
            *self.text_range(tree.col_offset, tree.end_col_offset),
            positions,
        )

    def name_range(self, name: str, tree: ast.expr | ast.keyword) -> tuple[int, int]:
        """Return the position of a name; raise an error if it is not ASCII or begins with two underscores."""
        first, last = self.text_range(tree.col_offset, tree.col_offset + len(name.encode()))
        # Python's parser normalizes names, which may then differ from the text.
        if not _NAME.fullmatch(name) or name.startswith("__") or self.text[first:last] != name:
            self.refuse("This name is not allowed.", tree, hint="Write letters, digits and underscores.")
        return first, last

    def value(self, tree: ast.expr, depth: int) -> Any:
        """Convert a literal to its Python value, or a nested call, if `nested` allows one, to a LiteralCall.

        Parameters
        ----------
        tree : ast.expr
            A text, boolean, None, number with or without a sign, quotient of two unsigned numbers such as
            1/3, list, tuple, dictionary or call.
        depth : int
            Number of calls and containers around it; more than `MAX_NESTING` are a FormulaError.

        Returns
        -------
        value
        """
        if depth > MAX_NESTING:
            self.refuse(f"This is nested more than {MAX_NESTING} deep.", tree, hint="Reduce the nesting.")
        match tree:
            case ast.Constant(value=bool() | str() | None as value):
                return value
            case ast.Constant(value=int() | float()):
                return self.number(tree)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.BinOp(op=ast.Div(), left=left, right=right):
                divisor = self.number(right)
                if divisor == 0:
                    self.refuse("This divides by zero.", right, hint="Write a number above zero.")
                return self.number(left) / divisor
            case ast.List(elts=parts):
                return [self.value(element, depth + 1) for element in parts]
            case ast.Tuple(elts=parts):
                return tuple(self.value(element, depth + 1) for element in parts)
            case ast.Dict(keys=keys, values=values):
                return self.dictionary(tree, keys, values, depth)
            case ast.Call() if self.nested:
                return self.call(tree, depth)
            case ast.Name(id=name):
                self.refuse(f"The text {name} is not in quotes.", tree, hint=f"Write '{name}'.")
            case _:
                self.refuse("This is not a literal.", tree, hint=_VALUES)

    def number(self, tree: ast.expr) -> Any:
        """Return the value of a literal number; raise an error for other nodes and infinite numbers."""
        match tree:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number):
                if not -1e308 < number < 1e308 or not math.isfinite(number):
                    self.refuse("This number is too large.", tree, hint="Write one below 1e308.")
                return number
            case _:
                pass
        self.refuse("This is not a number.", tree, hint="Write a number.")

    def dictionary(
        self, tree: ast.expr, keys: list[ast.expr | None], values: list[ast.expr], depth: int
    ) -> dict[Any, Any]:
        """Convert a dictionary of literals to a dict.

        Parameters
        ----------
        tree : ast.expr
            The dictionary, for errors.
        keys, values : list of ast.expr
        depth : int
            Number of calls and containers around it.

        Returns
        -------
        dict
        """
        entries: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if not isinstance(key, ast.Constant | ast.UnaryOp):
                self.refuse(
                    "This is not a key.", key or tree, hint="Write a text in quotes, a number, True or False."
                )
            name = self.value(key, depth + 1)
            if name in entries:
                self.refuse(f"The key {name!r} occurs twice.", key, hint="Give it once.")
            entries[name] = self.value(value, depth + 1)
        return entries
