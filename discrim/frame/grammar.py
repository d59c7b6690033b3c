"""What a factor of a formula may be: the functions, the arithmetic, the limits.

A formula is data, never code. Its text is scanned first (`discrim.frame.scan`), a parser of formulas
splits it at ``+ - * / : ** ~``, and each factor that leaves is read here as a Python syntax tree and
turned into the few node types below. What has no node type cannot be written: attributes, subscripts,
comparisons, lambdas, comprehensions, f-strings, assignments. Nothing downstream evaluates text.

The limits keep a hostile or mistaken formula from costing more than an error message.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from discrim.errors import FormulaError
from discrim.frame.hints import meant_function, meant_text
from discrim.frame.scan import MAX_NESTING, MAX_TEXT, Source, quote, scan

MAX_FACTOR_TEXT = 20_000
"""Characters of one factor, such as ``I(a + b)``."""
MAX_EXPONENT = 8
"""The largest power of a sum of terms, and the most factors of one interaction."""
LONGEST = 80
"""Characters of a factor that a message shows."""

MAX_TERMS = 50_000
"""Terms of the right-hand side after expansion."""
MAX_COLUMNS = 50_000
"""Columns of the design, counted before they are built."""
MAX_BASIS = 1_000
"""Columns of one ``poly``, ``bs`` or ``cr``, and levels of a contrast other than treatment coding."""

NUMPY_FUNCTIONS = ("log", "log2", "log10", "log1p", "exp", "sqrt", "abs")
STATEFUL_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "center": (),
    "scale": ("center", "rescale", "ddof"),
    "standardize": ("center", "rescale", "ddof"),
    "poly": ("degree", "raw"),
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "cr": ("df", "knots", "lower_bound", "upper_bound", "constraints"),
}
CONTRASTS: Mapping[str, tuple[str, ...]] = {
    "Treatment": ("reference",),
    "Poly": ("scores",),
    "Sum": ("omit",),
    "Diff": (),
    "Helmert": (),
}
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMPY_FUNCTIONS, ()),
    **STATEFUL_FUNCTIONS,
    "I": (),
    "Q": (),
    "C": ("contrast", "levels"),
}
"""Every function of the language, with the options that may follow its first argument."""

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}

Value = float | int | bool | str | None | tuple[float | int | bool | str | None, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number in arithmetic; always a double, so no arithmetic on constants can grow."""

    value: float


@dataclass(frozen=True, slots=True)
class Negative:
    """The operand with its sign changed."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Operation:
    """Operators of any precedence applied from left to right: first, then each (symbol, operand)."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One of patsy's contrasts and its arguments."""

    name: str
    options: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the table, or of the user's own, with literal options."""

    function: str
    arguments: tuple[Node, ...]
    options: tuple[tuple[str, Value | Contrast], ...]


Node = Column | Number | Negative | Operation | Call


@dataclass(frozen=True, slots=True)
class Expression:
    """A factor that has been read and found allowed.

    Attributes
    ----------
    code : str
        Its text, spacing normalised, awkward names in backticks; reads back to the same expression.
    root : Column or Call
    columns : tuple of str
        The columns it reads, in order.
    functions : tuple of str
        The user's own functions it calls.
    stateful : tuple of str
        The functions it calls that learn from the rows, inner ones first.
    """

    code: str
    root: Column | Call
    columns: tuple[str, ...]
    functions: tuple[str, ...] = ()
    stateful: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How a table of coefficients names it: a column by its bare name, else the code."""
        return self.root.name if isinstance(self.root, Column) else self.code


def read(source: Source, start: int, end: int, code: str, functions: frozenset[str]) -> Expression:
    """Read one factor, source.code[start:end], and check all of it.

    Parameters
    ----------
    source : Source
    start, end : int
    code : str
        The factor's text with its spacing normalised, still with placeholders.
    functions : frozenset of str
        Names of the user's own functions.

    Raises
    ------
    FormulaError
        Anything outside the language; the message points at the place.
    """
    if end - start > MAX_FACTOR_TEXT:
        raise source.error(
            f"A factor may have {MAX_FACTOR_TEXT:,} characters: compute the column before the fit.",
            start,
            start + 1,
        )
    reader = _Reader(source, start, source.code[start:end], functions)
    try:
        tree = ast.parse(reader.code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "too deep"
        raise source.error(
            f"This cannot be read: {reason}. {meant_text(source.text[slice(*source.typed(start, end))])}",
            start,
            end,
        ) from None
    root = reader.node(tree, 0)
    if isinstance(root, Column):
        return Expression(quote(root.name), root, (root.name,))
    if not isinstance(root, Call):
        raise source.error("Arithmetic goes inside I(): write I(a + b), for example.", start, end)
    if not reader.columns:
        raise source.error(
            "This factor reads no column of the table: leave it out, or name a column in it.", start, end
        )
    return Expression(
        source.restore(code), root, tuple(reader.columns), tuple(reader.called), tuple(reader.stateful)
    )


@lru_cache(maxsize=4096)
def expression(code: str, functions: frozenset[str]) -> Expression:
    """Read a factor from its own text, as `Expression.code` wrote it."""
    name = plain_name(code)
    if name is not None:
        return Expression(code, Column(name), (name,))
    source = scan(code)
    return read(source, 0, len(source.code), source.code, functions)


def plain_name(code: str) -> str | None:
    """The column that a factor plainly is, as thousands are in a wide design; None where it must be read.

    Examples
    --------
    >>> plain_name("`petal width`"), plain_name("log(x)")
    ('petal width', None)
    """
    quoted = code.startswith("`")
    name = code[1:-1].replace("``", "`") if quoted else code
    plain = name and len(code) <= MAX_TEXT and (quoted or code.isascii()) and quote(name) == code
    return name if plain else None


class _Reader:
    """Turns one factor's syntax tree into nodes; a type it does not know is an error."""

    def __init__(self, source: Source, offset: int, code: str, functions: frozenset[str]) -> None:
        self.source, self.offset, self.code, self.functions = source, offset, code, functions
        self.columns: dict[str, None] = {}
        self.called: dict[str, None] = {}
        self.stateful: list[str] = []

    def error(self, message: str, tree: ast.expr) -> FormulaError:
        bytes_of = self.code.encode()
        start = len(bytes_of[: tree.col_offset].decode())
        end = len(bytes_of[: tree.end_col_offset].decode())
        return self.source.error(message, self.offset + start, self.offset + end)

    def node(self, tree: ast.expr, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise self.error(
                f"This is nested more than {MAX_NESTING} deep: compute the column before the fit.", tree
            )
        match tree:
            case ast.Name(id=name) if name not in {"True", "False", "None"}:
                return self.column(self.source.names.get(name, name))
            case ast.Constant(value=bool() | None):
                raise self.error("A truth value is not a variable here: name a column.", tree)
            case ast.Constant(value=int() | float() as value):
                return Number(self.number(value, tree))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.node(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negative(self.node(operand, depth + 1))
            case ast.BinOp():
                return self.operation(tree, depth)
            case ast.Call(func=ast.Name(id="Q")):
                return self.quoted(tree)
            case ast.Call():
                return self.call(tree, depth)
            case ast.Attribute():
                raise self.error("Attributes are not allowed; a name with dots goes in backticks.", tree)
            case _:
                what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(tree).__name__).lower()
                raise self.error(
                    f"A formula is not code: {what} is not allowed here. Compute the column before the fit, "
                    "or pass a function in functions=.",
                    tree,
                )

    def column(self, name: str) -> Column:
        self.columns[name] = None
        return Column(name)

    def number(self, written: float, tree: ast.expr) -> float:
        try:
            value = float(written)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self.error("This number is too large: write one below 1e308.", tree)
        return value

    def operation(self, tree: ast.BinOp, depth: int) -> Operation:
        # The left spine is walked in a loop, so that a sum of hundreds of columns is not hundreds deep.
        spine: list[tuple[str, ast.expr]] = []
        left: ast.expr = tree
        while isinstance(left, ast.BinOp):
            if type(left.op) not in _OPERATORS:
                raise self.error("This operator is not known: use + - * / // % and **.", left)
            spine.append((_OPERATORS[type(left.op)], left.right))
            left = left.left
        first = self.node(left, depth + 1)
        rest = tuple((symbol, self.node(right, depth + 1)) for symbol, right in reversed(spine))
        return Operation(first, rest)

    def quoted(self, tree: ast.Call) -> Column:
        match tree:
            case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]):
                return self.column(name)
            case _:
                raise self.error('Q() takes one name in quotes, as in Q("petal width").', tree)

    def call(self, tree: ast.Call, depth: int) -> Call:
        function = self.function_name(tree.func)
        self.check_arguments(tree)
        if function in self.functions:
            self.called[function] = None
            arguments = tuple(self.node(argument, depth + 1) for argument in tree.args)
            options = {str(each.arg): self.literal(each.value) for each in tree.keywords}
            return Call(function, arguments, tuple(options.items()))
        if not tree.args:
            raise self.error(
                f"{function}() needs a column as its first argument: name one, as in {function}(x).", tree
            )
        if function == "C" and depth:
            raise self.error("C() makes categories, so it may not stand inside another call.", tree)
        first = self.node(tree.args[0], depth + 1)
        if function in STATEFUL_FUNCTIONS:
            self.stateful.append(function)
        return Call(function, (first,), self.options(tree, FUNCTIONS[function], tree.args[1:]))

    def check_arguments(self, tree: ast.Call) -> None:
        for argument in tree.args:
            if isinstance(argument, ast.Starred):
                raise self.error(
                    "Starred arguments are not allowed: write each argument by its name.", argument
                )
        names = [each.arg for each in tree.keywords]
        if None in names or len(set(names)) < len(names):
            raise self.error(
                "Starred or repeated arguments are not allowed: write each argument once, by its name.", tree
            )

    def function_name(self, tree: ast.expr) -> str:
        match tree:
            case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in NUMPY_FUNCTIONS:
                return name
            case ast.Name(id=name) if name in FUNCTIONS or name in self.functions:
                return name
            case ast.Name(id=name):
                typed = self.source.names.get(name, name)
                raise self.error(
                    f"Unknown function: {typed}().{meant_function(typed, [*FUNCTIONS, *self.functions])} "
                    f"The formula knows {', '.join(FUNCTIONS)}; pass others in functions={{{typed!r}: ...}}.",
                    tree,
                )
            case _:
                raise self.error(
                    "Only a function of the formula language can be called: pass others in functions=, and "
                    "call them by their name there.",
                    tree,
                )

    def options(
        self, tree: ast.Call, allowed: tuple[str, ...], positional: list[ast.expr]
    ) -> tuple[tuple[str, Value | Contrast], ...]:
        if len(positional) > len(allowed):
            raise self.error(
                f"Too many arguments: leave out some; the options here are {list(allowed)}.", tree
            )
        given = dict(zip(allowed, positional, strict=False))
        for each in tree.keywords:
            name = str(each.arg)
            if name not in allowed or name in given:
                problem = "is given twice" if name in given else f"is not one of {list(allowed)}"
                raise self.error(f"The argument {name}= {problem}: leave it out, or correct its name.", tree)
            given[name] = each.value
        return tuple(
            (name, self.contrast(value) if name == "contrast" else self.literal(value))
            for name, value in given.items()
        )

    def contrast(self, tree: ast.expr) -> Contrast | None:
        match tree:
            case ast.Constant(value=None):
                return None
            case ast.Name(id=name) if name in CONTRASTS:
                return Contrast(name, ())
            case ast.Call(func=ast.Name(id=name)) if name in CONTRASTS:
                self.check_arguments(tree)
                options = self.options(tree, CONTRASTS[name], tree.args)
                return Contrast(name, tuple((key, plain_value(each)) for key, each in options))
            case _:
                raise self.error(f"This is no contrast: use one of {', '.join(CONTRASTS)}.", tree)

    def literal(self, tree: ast.expr, inside: bool = False) -> Value:
        match tree:
            case ast.Constant(value=bool() | str() | None as value):
                return value
            case ast.Constant(value=int() | float() as value):
                self.number(value, tree)
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                self.number(value, tree)
                return -value
            case ast.List(elts=parts) | ast.Tuple(elts=parts) if not inside:
                values = [self.literal(part, inside=True) for part in parts]
                return tuple(each for each in values if not isinstance(each, tuple))
            case _:
                pass
        raise self.error("Only a number, a string or a list of these can stand here.", tree)


def shortened(code: str) -> str:
    """The beginning of a factor, as a message shows it."""
    return code if len(code) <= LONGEST else f"{code[: LONGEST - 3]}..."


def plain_value(option: Value | Contrast) -> Value:
    """An option that is not a contrast, which only C() takes."""
    if isinstance(option, Contrast):
        raise FormulaError(f"The contrast {option.name} may not stand inside another: name one contrast.")
    return option
