"""Grammar of formulas: the scanner of their text, and the functions and arithmetic of their factors.

A formula is data, never code. The scanner accepts only certain characters, names, strings and brackets. Names
that are not valid in Python (in backticks, dotted as in R, keywords) are replaced by placeholders, hence a
parser of Python tokens can split the rest, and a hostile column name remains a name. `formula.py` splits the
scanned text at ``+ - * / : ** ~``. Each factor is then parsed here as a Python syntax tree and converted to
the few node types below. Attributes, subscripts, comparisons, lambdas, comprehensions, f-strings and
assignments do not have a node type and cannot be written. No later step evaluates text.

Errors point to the formula as typed, and suggest the spelling that was probably meant. The limits keep a
hostile or mistaken formula from costing more than an error message.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from discrim.errors import FormulaError

MAX_TEXT = 500_000
"""Largest number of characters of a formula."""
MAX_OPERATORS = 100_000
"""Largest number of operators between terms and inside factors; twice the number of terms."""
MAX_NESTING = 30
"""Largest depth of nested brackets, and of the syntax tree of a factor."""
_MAX_SHOWN = 300
"""Largest number of characters that an error points at; a message may have three times as many."""

_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00[0-9a-fA-F]{6})"
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<string>"(?:[^"\\\n]|ESCAPE)*"|'(?:[^'\\\n]|ESCAPE)*')
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>(?:[^\W\d]|[^\x00-\x7f\s])(?:\w|[^\x00-\x7f\s])*(?:\.(?:\w|[^\x00-\x7f\s])+)*)
      | (?P<open>[(\[])
      | (?P<close>[)\]])
      | (?P<operator>[-+*/:~.,=^%|])""".replace("ESCAPE", _ESCAPE),
    re.VERBOSE,
)
_CALL = re.compile(r"\s*\(")
_PLACEHOLDER = re.compile(r"_q+[0-9]+_")


@dataclass(frozen=True, slots=True)
class ScannedFormula:
    """A formula as typed, and as code for a parser, with placeholders for names that are not valid in Python.

    The code is one line, with ``**`` for ``^``.

    Attributes
    ----------
    text : str
        The formula as typed.
    code : str
        The formula for the parser.
    names : mapping of str to str
        Column name of each placeholder.
    starts : tuple of (int, int)
        Start of each token in `code` and in `text`; the last pair is the end of both.
    bar : int
        Position of the ``|`` before covariates in `code`, or -1.
    """

    text: str
    code: str
    names: Mapping[str, str]
    starts: tuple[tuple[int, int], ...]
    bar: int = -1

    def error(self, message: str, start: int, end: int, *, hint: str, **data: Any) -> FormulaError:
        """Return an error that points at the characters of the text that code[start:end] stands for."""
        first = self._typed_position(start)
        return pointing_error(
            message, self.text, first, max(self._typed_position(end), first + 1), hint=hint, **data
        )

    def typed_range(self, start: int, end: int) -> tuple[int, int]:
        """Convert the range code[start:end] to positions in the text as typed."""
        return self._typed_position(start), self._typed_position(end)

    def restore(self, code: str) -> str:
        """Replace the placeholders in a piece of code by names in backticks."""
        return _PLACEHOLDER.sub(
            lambda found: quote(self.names[found[0]]) if found[0] in self.names else found[0], code
        )

    def find(self, name: str, start: int, end: int) -> tuple[int, int]:
        """Find a name in code[start:end].

        Parameters
        ----------
        name : str
            Name of a column.
        start, end : int
            Range of the code to search.

        Returns
        -------
        tuple of int
            Start and end of the name in `code`; `start` and `end` if it is spelled differently.
        """
        written = next((code for code, column in self.names.items() if column == name), name)
        position = self.code.find(written, start, end)
        return (position, position + len(written)) if position >= 0 else (start, end)

    def _typed_position(self, position: int) -> int:
        """Convert a position in the code to a position in the text as typed."""
        token_index = max(bisect_right(self.starts, (position, len(self.text))) - 1, 0)
        code_start, text_start = self.starts[token_index]
        last = self.starts[min(token_index + 1, len(self.starts) - 1)][1]
        return min(text_start + position - code_start, max(last, text_start))


def update_formula(formula: str, earlier: str) -> str:
    """Replace each ``.`` of a formula by the same side of an earlier formula, like R's `update`.

    The covariates of the earlier formula are kept unless `formula` has its own; a missing left side is that
    of the earlier formula. Raises FormulaError if `formula` is not valid.

    Examples
    --------
    >>> update_formula(". ~ . - x", "log(y) ~ x + z"), update_formula("~ x:(.)", "y ~ a + b")
    ('log(y) ~ x + z - x', 'y ~ x:((a + b))')
    >>> update_formula(". ~ . - x", "y ~ x + z | age")
    'y ~ x + z - x | age'
    """
    bar = scan(formula).bar
    tilde = next(token for token in _TOKEN.finditer(earlier) if token[0] == "~")
    left_side, right_side = earlier[: tilde.start()].strip(), earlier[tilde.end() :].strip()
    bar_position = next(
        (token.start() for token in _TOKEN.finditer(right_side) if token[0] == "|"), len(right_side)
    )
    covariates = f" {right_side[bar_position:]}" if bar_position < len(right_side) else ""
    right_side = right_side[:bar_position].strip()
    segments: list[str] = []
    start = -1
    for token in _TOKEN.finditer(formula):
        segment = token[0]
        if segment == "~":
            segment = segment if "".join(segments).strip() else f"{left_side} ~"
            start = token.end()
        elif segment == ".":
            following = formula[token.end() :].lstrip()
            # The first summand needs no brackets.
            needs_no_brackets = start < 0 or (
                not formula[start : token.start()].strip() and following[:1] in ("", "+", "-", "|")
            )
            segment = left_side if start < 0 else right_side if needs_no_brackets else f"({right_side})"
        segments.append(segment)
    return "".join(segments).strip() + (covariates if bar < 0 else "")


def quote(name: str) -> str:
    """Write a column name as in a formula: unquoted if that is unambiguous, else in backticks.

    Examples
    --------
    >>> quote("petal_width"), quote("petal width"), quote("class")
    ('petal_width', '`petal width`', '`class`')
    """
    is_identifier = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
    if is_identifier and unicodedata.is_normalized("NFKC", name):
        return name
    return "`" + name.replace("`", "``") + "`"


def scan(text: str) -> ScannedFormula:
    """Check the text of a formula, and replace each name that is not valid in Python by a placeholder.

    Parameters
    ----------
    text : str

    Returns
    -------
    ScannedFormula

    Raises
    ------
    FormulaError
        A character is not part of the language, brackets do not match, or a limit (`MAX_TEXT`,
        `MAX_OPERATORS`, `MAX_NESTING`) is exceeded. The error points to the position.

    Examples
    --------
    >>> scan("y ~ `petal width` + x^2").code
    'y ~ _q0_ + x**2'
    """
    if not isinstance(text, str):
        raise FormulaError(
            f"A formula is text such as 'y ~ x1 + x2', not {type(text).__name__}.",
            hint="Pass the formula as the first argument and the table as the second.",
        )
    if len(text) > MAX_TEXT:
        raise FormulaError(
            f"The formula has {len(text):,} characters; the limit is {MAX_TEXT:,}.",
            hint="Write `.` for all columns, and `- name` to exclude one.",
        )
    prefix = "_q"
    while prefix in text:
        prefix += "q"
    code_tokens: list[str] = []
    starts: list[tuple[int, int]] = []
    names: dict[str, str] = {}
    open_brackets: list[int] = []
    bar = -1
    operators = 0
    length = 0
    position = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            raise _unknown_character_error(text, position)
        operators += token.lastgroup == "operator"
        if operators > MAX_OPERATORS:
            raise pointing_error(
                f"The formula has more than {MAX_OPERATORS:,} operators.",
                text,
                position,
                token.end(),
                hint="Write `.` for all columns.",
            )
        name = _name_to_replace(text, token)
        if name is None:
            code_token = _check_token(text, token, open_brackets)
        else:
            code_token = f"{prefix}{len(names)}_"
            names[code_token] = name
        if code_token == "|":
            if bar >= 0 or open_brackets or "~" not in code_tokens:
                hint = "Write it on the right of the ~."
                if bar >= 0:
                    hint = "Combine covariates with +, for example y ~ x1 + x2 | age + sex."
                elif open_brackets:
                    hint = "Write it outside of brackets."
                raise pointing_error(_BAR_MESSAGE, text, position, token.end(), hint=hint)
            bar = length
        starts.append((length, position))
        code_tokens.append(code_token)
        length += len(code_token)
        position = token.end()
    if open_brackets:
        raise pointing_error(
            "This bracket is never closed.",
            text,
            open_brackets[-1],
            open_brackets[-1] + 1,
            hint="Close or remove it.",
        )
    return ScannedFormula(text, "".join(code_tokens), names, (*starts, (length, end)), bar)


_BAR_MESSAGE = (
    "A formula has one `|`, after its predictors and before the covariates that these are adjusted for."
)


def _name_to_replace(text: str, token: re.Match[str]) -> str | None:
    """Return the column name of a token if Python cannot parse it, else None.

    Raises a FormulaError if the name is not allowed without backticks.
    """
    if token.lastgroup == "quoted":
        return token[0][1:-1].replace("``", "`")
    if token.lastgroup != "name":
        return None
    name = token[0]
    start = token.start()
    end = token.end()
    if not unicodedata.is_normalized("NFKC", name):
        raise pointing_error(
            f"The name {name!r} is not in Unicode's normal form NFKC, so two names could look alike.",
            text,
            start,
            end,
            hint="If a column has exactly this name, put it in backticks.",
        )
    if any(component.startswith("__") for component in name.split(".")):
        raise pointing_error(
            f"{name!r} is not allowed.",
            text,
            start,
            end,
            hint="If a column has this name, put it in backticks.",
        )
    if text[end : end + 1] in {'"', "'"}:
        raise pointing_error(
            "Strings must not have a prefix.",
            text,
            start,
            end + 1,
            hint="Remove the characters before the quotes.",
        )
    if ("." in name and not _CALL.match(text, end)) or (
        keyword.iskeyword(name) and name not in {"True", "False", "None"}
    ):
        return name
    if not all(component.isidentifier() for component in name.split(".")):
        raise pointing_error(
            f"{name!r} is not a valid name.",
            text,
            start,
            end,
            hint="If a column has this name, use backticks.",
        )
    # patsy reads everything that float() accepts as a number.
    if name.lower() in {"inf", "infinity", "nan"} and not _CALL.match(text, end):
        return name
    # Combining marks are letters to Python, but not to the regular expressions of its tokenizer.
    return None if re.fullmatch(r"[\w.]+", name) else name


def _check_token(text: str, token: re.Match[str], open_brackets: list[int]) -> str:
    """Check a token and return its text in the code.

    Parameters
    ----------
    text : str
        The formula.
    token : re.Match
        A match of `_TOKEN`.
    open_brackets : list of int
        Positions of the open brackets, which is updated.

    Returns
    -------
    str
    """
    token_text = token[0]
    start = token.start()
    end = token.end()
    match token.lastgroup:
        case "space":
            if not set(token_text) <= set(" \t\r\n\f\v\u00a0\u3000"):
                raise pointing_error(
                    "This kind of space is not allowed.", text, start, end, hint="Write a plain blank."
                )
            return " " * len(token_text)
        case "number" if re.match(r"\w", text[end : end + 1]):
            raise pointing_error(
                "A number must not be followed by a letter.",
                text,
                start,
                end + 1,
                hint="Put a column that starts with a digit in backticks.",
            )
        case "string" if text[start - 1 : start] in {'"', "'"} or text[end : end + 1] in {'"', "'"}:
            raise pointing_error(
                "Strings must not follow one another.",
                text,
                start,
                end,
                hint="Write one string, or a comma between them.",
            )
        case "open":
            open_brackets.append(start)
            if len(open_brackets) > MAX_NESTING:
                raise pointing_error(
                    f"Brackets are nested more than {MAX_NESTING} deep.",
                    text,
                    start,
                    end,
                    hint="Remove brackets that are not needed.",
                )
        case "close":
            if not open_brackets or text[open_brackets.pop()] + token_text not in {"()", "[]"}:
                raise pointing_error(
                    "This bracket was never opened.", text, start, end, hint="Open or remove it."
                )
        case "operator" if token_text == "^":
            return "**"
        case _:
            pass
    return token_text


def _unknown_character_error(text: str, position: int) -> FormulaError:
    """Return the error for a position that does not begin a token."""
    character = text[position]
    if character == "`":
        return pointing_error(
            "This backtick is never closed.", text, position, position + 1, hint="Close or remove it."
        )
    if character in "\"'":
        return pointing_error(
            "This string is never closed, or has an unknown escape.",
            text,
            position,
            position + 1,
            hint="Close it, or write a backslash twice.",
        )
    hint = "Put a column whose name contains it in backticks."
    if character in "<>=!":
        hint += " Compute a comparison before the fit, as a column."
    return pointing_error(
        f"{character!r} is not part of the formula language.", text, position, position + 1, hint=hint
    )


def pointing_error(
    message: str, text: str, start: int, end: int, n_context: int = 40, *, hint: str, **data: Any
) -> FormulaError:
    """Return an error with the text around text[start:end] and a line of carets below it.

    Parameters
    ----------
    message, hint : str
        Shortened if they are long, since they may contain names of any length.
    text : str
        The formula.
    start, end : int
        Position of the characters at fault.
    n_context : int, default 40
        Number of characters to show on each side.
    **data
        Attributes of the error, such as `columns` and `rows`.

    Returns
    -------
    FormulaError
    """
    first, last = max(start - n_context, 0), min(end + n_context, start + _MAX_SHOWN, len(text))
    excerpt = "".join(c if c.isprintable() else " " for c in text[first:last])
    head, tail = "..." if first else "", "..." if last < len(text) else ""
    carets = " " * (len(head) + start - first) + "^" * max(min(end, last) - start, 1)
    location = f"(character {start + 1})\n    {head}{excerpt}{tail}\n    {carets}"
    return FormulaError(_shorten_message(message), hint=_shorten_message(hint), location=location, **data)


def _shorten_message(message: str) -> str:
    """Shorten a long message by leaving out its middle."""
    if len(message) <= 3 * _MAX_SHOWN:
        return message
    return f"{message[: 2 * _MAX_SHOWN]} ... {message[-_MAX_SHOWN:]}"


R_FUNCTION_HINTS = {
    **dict.fromkeys(["as.factor", "factor", "as.character", "ordered"], "write C(x) for categories"),
    **dict.fromkeys(
        ["ns", "rcs", "s", "lo"], "write bs(x, df=4) or cr(x, df=4, constraints='center') for a spline"
    ),
    **dict.fromkeys(["cut", "findInterval"], "cut the column before the fit, with pd.cut, and write C(x)"),
    **dict.fromkeys(["as.numeric", "as.integer"], "convert the column before the fit, with pd.to_numeric"),
    "ln": "write log(x)",
    "relevel": "write C(x, Treatment('a')) with the reference level 'a'",
    "interaction": "write C(a):C(b)",
    "ifelse": "compute the column before the fit, with numpy.where",
    "pow": "write I(x**2)",
    "offset": "remove it, because classifiers have no offset",
}
"""Replacements for functions that users may know from R or elsewhere."""

_CALLED = re.compile(r"([^\W\d][\w.]*\.\w+)\s*\(")
_DOTTED = re.compile(r"[^\W\d]\w*\.[\w.]*")


def function_hint(name: str, known_functions: Sequence[str]) -> str:
    """Suggest a function of the language instead of an unknown one; "" if none is similar.

    The suggestion is a sentence with a blank before it.
    """
    if name in R_FUNCTION_HINTS:
        return f" Instead of {name}(), {R_FUNCTION_HINTS[name]}."
    close_matches = get_close_matches(name, known_functions, n=1)
    return f" Did you mean {close_matches[0]}()?" if close_matches else ""


def syntax_hint(text: str) -> str:
    """Suggest a valid spelling for a factor that cannot be parsed, as a sentence.

    The suggestion is specific to functions of R and names with dots, and general otherwise.
    """
    dotted_call = _CALLED.search(text)
    if dotted_call is not None and dotted_call[1] in R_FUNCTION_HINTS:
        return function_hint(dotted_call[1], ()).strip()
    dotted = _DOTTED.search(text)
    if dotted is not None and dotted_call is None:
        return f"Put a name with dots in backticks, `{dotted[0]}`."
    return "Correct the formula, or put the name of the column in backticks."


MAX_FACTOR_TEXT = 20_000
"""Largest number of characters of one factor, such as ``I(a + b)``."""
MAX_EXPONENT = 8
"""Largest power of a sum of terms, and largest number of factors of one interaction."""
MAX_SHOWN_FACTOR = 80
"""Largest number of characters of a factor in a message."""

MAX_TERMS = 50_000
"""Largest number of terms of the right-hand side after expansion."""
MAX_COLUMNS = 50_000
"""Largest number of columns of the design, counted before they are built."""
MAX_BASIS = 1_000
"""Largest number of columns of one ``poly``, ``bs`` or ``cr``, and of levels of a non-treatment contrast."""

NUMPY_FUNCTIONS = ("log", "log2", "log10", "log1p", "exp", "sqrt", "abs")
"""Functions of NumPy, which are applied to each value, without options."""
STATEFUL_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "center": (),
    "scale": ("center", "rescale", "ddof"),
    "standardize": ("center", "rescale", "ddof"),
    "poly": ("degree", "raw"),
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "cr": ("df", "knots", "lower_bound", "upper_bound", "constraints"),
}
"""Functions that learn from the rows, with their options in the order of positional arguments."""
CONTRASTS: Mapping[str, tuple[str, ...]] = {
    "Treatment": ("reference",),
    "Poly": ("scores",),
    "Sum": ("omit",),
    "Diff": (),
    "Helmert": (),
}
"""Contrasts of patsy that ``C()`` accepts, with their arguments in the order of positional arguments."""
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
"""Value of a literal option; a list is a tuple."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric constant, always float64: arithmetic on integers of Python could grow without limit."""

    value: float


@dataclass(frozen=True, slots=True)
class Negative:
    """Negation of an operand."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Operation:
    """Operators applied from left to right: `first`, then each (symbol, operand) of `rest`."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A contrast of patsy and its arguments."""

    name: str
    options: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the language or of the user, with literal options."""

    function: str
    arguments: tuple[Node, ...]
    options: tuple[tuple[str, Value | Contrast], ...]


Node = Column | Number | Negative | Operation | Call


def iter_nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes within it, each before its operands; options are not nodes."""
    yield node
    inner: tuple[Node, ...] = ()
    match node:
        case Negative(operand):
            inner = (operand,)
        case Operation(first, rest):
            inner = (first, *(operand for _, operand in rest))
        case Call(_, arguments):
            inner = arguments
    for inner_node in inner:
        yield from iter_nodes(inner_node)


@dataclass(frozen=True, slots=True)
class Expression:
    """A factor that has been parsed and validated.

    Attributes
    ----------
    code : str
        The factor with normalized spacing and quoted names; parsing it again returns the same expression.
    root : Column or Call
    columns : tuple of str
        Columns that it reads, in order.
    functions : tuple of str
        Functions of the user that it calls.
    stateful : tuple of str
        Stateful functions, which learn from the rows, inner calls first.
    is_from_dot : bool
        Whether it is a column for which the ``.`` of a formula stands.
    """

    code: str
    root: Column | Call
    columns: tuple[str, ...]
    functions: tuple[str, ...] = ()
    stateful: tuple[str, ...] = ()
    is_from_dot: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        """Name in tables of coefficients: the bare name of a column, else the code."""
        return self.root.name if isinstance(self.root, Column) else self.code

    @property
    def is_coded(self) -> bool:
        """Whether the factor is a call of ``C()``."""
        return isinstance(self.root, Call) and self.root.function == "C"

    @property
    def category(self) -> str | None:
        """Name of the column that contains the categories, alone or in ``C()``; None if they are computed."""
        inner = self.root.arguments[0] if isinstance(self.root, Call) and self.is_coded else self.root
        return inner.name if isinstance(inner, Column) else None


def read_one_factor(
    source: ScannedFormula, start: int, end: int, code: str, functions: frozenset[str]
) -> Expression:
    """Parse and validate one factor, source.code[start:end].

    Parameters
    ----------
    source : ScannedFormula
    start, end : int
        Range of the factor in `source.code`.
    code : str
        The factor with normalized spacing, with placeholders.
    functions : frozenset of str
        Names of the user's functions.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        The factor is not part of the language; the error points to the position.
    """
    if end - start > MAX_FACTOR_TEXT:
        raise source.error(
            f"A factor can have at most {MAX_FACTOR_TEXT:,} characters.",
            start,
            start + 1,
            hint="Compute the column before the fit.",
        )
    reader = _Reader(source, start, source.code[start:end], functions)
    try:
        tree = ast.parse(reader.code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "too deep"
        raise source.error(
            f"This cannot be parsed: {reason}.",
            start,
            end,
            hint=syntax_hint(source.text[slice(*source.typed_range(start, end))]),
        ) from None
    root = reader.node(tree, 0)
    if isinstance(root, Column):
        return Expression(quote(root.name), root, (root.name,))
    if not isinstance(root, Call):
        raise source.error("Arithmetic must be inside I().", start, end, hint="Write I(a + b), for example.")
    if not reader.columns:
        raise source.error(
            "This factor does not use a column of the table.",
            start,
            end,
            hint="Remove it, or use a column in it.",
        )
    return Expression(
        source.restore(code), root, tuple(reader.columns), tuple(reader.called), tuple(reader.stateful)
    )


@lru_cache(maxsize=4096)
def expression(code: str, functions: frozenset[str]) -> Expression:
    """Parse a factor from the code of an `Expression`; cached.

    `functions` are the names of the user's functions. Raises FormulaError if the code is not a factor.
    """
    name = plain_name(code)
    if name is not None:
        return Expression(code, Column(name), (name,))
    source = scan(code)
    return read_one_factor(source, 0, len(source.code), source.code, functions)


def plain_name(code: str) -> str | None:
    """Return the column name of a factor that is just a column, or None if it has to be parsed.

    Wide designs have thousands of such factors, for which parsing would be slow.

    Examples
    --------
    >>> plain_name("`petal width`"), plain_name("log(x)")
    ('petal width', None)
    """
    quoted = code.startswith("`")
    name = code[1:-1].replace("``", "`") if quoted else code
    is_plain = name and len(code) <= MAX_TEXT and (quoted or code.isascii()) and quote(name) == code
    return name if is_plain else None


class _Reader:
    """Converter from the syntax tree of one factor to nodes; other types of syntax raise a FormulaError.

    Parameters
    ----------
    source : ScannedFormula
    offset : int
        Position of the factor in `source.code`.
    code : str
        The factor.
    functions : frozenset of str
        Names of the user's functions.
    """

    def __init__(self, source: ScannedFormula, offset: int, code: str, functions: frozenset[str]) -> None:
        self.source = source
        self.offset = offset
        self.code = code
        self.functions = functions
        self.columns: dict[str, None] = {}
        self.called: dict[str, None] = {}
        self.stateful: list[str] = []

    def error(self, message: str, tree: ast.expr, *, hint: str) -> FormulaError:
        """Return an error that points to a subtree."""
        # The offsets of `ast` count bytes of UTF-8.
        code_bytes = self.code.encode()
        start = len(code_bytes[: tree.col_offset].decode())
        end = len(code_bytes[: tree.end_col_offset].decode())
        return self.source.error(message, self.offset + start, self.offset + end, hint=hint)

    def node(self, tree: ast.expr, depth: int) -> Node:
        """Convert a Python syntax tree to a node; `depth` is the number of nodes around it."""
        if depth > MAX_NESTING:
            raise self.error(
                f"This is nested more than {MAX_NESTING} deep.",
                tree,
                hint="Compute the column before the fit.",
            )
        match tree:
            case ast.Name(id=name) if name not in {"True", "False", "None"}:
                return self.column(self.source.names.get(name, name))
            case ast.Constant(value=bool() | None):
                raise self.error("A boolean is not a variable.", tree, hint="Name a column.")
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
                raise self.error(
                    "Attributes are not allowed.", tree, hint="Put a name with dots in backticks."
                )
            case _:
                syntax_name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(tree).__name__).lower()
                raise self.error(
                    f"Formulas must not contain Python code: {syntax_name} is not allowed.",
                    tree,
                    hint="Compute the column before the fit, or pass a function in functions=.",
                )

    def column(self, name: str) -> Column:
        """Record the use of a column, and return its node."""
        self.columns[name] = None
        return Column(name)

    def number(self, written: float, tree: ast.expr) -> float:
        """Return a finite number as a float, else raise an error."""
        try:
            value = float(written)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self.error("This number is too large.", tree, hint="Write one below 1e308.")
        return value

    def operation(self, tree: ast.BinOp, depth: int) -> Operation:
        """Convert a chain such as a + b - c to one node that applies the operators from left to right."""
        # A loop over the left operands, because recursion would be as deep as a sum has columns.
        operators: list[tuple[str, ast.expr]] = []
        current: ast.expr = tree
        while isinstance(current, ast.BinOp):
            if type(current.op) not in _OPERATORS:
                raise self.error("Unknown operator.", current, hint="Use + - * / // % and **.")
            operators.append((_OPERATORS[type(current.op)], current.right))
            current = current.left
        first = self.node(current, depth + 1)
        operations = tuple((symbol, self.node(right, depth + 1)) for symbol, right in reversed(operators))
        return Operation(first, operations)

    def quoted(self, tree: ast.Call) -> Column:
        """Convert a call of ``Q("name")`` to a column."""
        match tree:
            case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]):
                return self.column(name)
            case _:
                raise self.error(
                    "Q() requires one name in quotes.", tree, hint='Write Q("petal width"), for example.'
                )

    def call(self, tree: ast.Call, depth: int) -> Call:
        """Convert a call, with its arguments and options, and record its function.

        Calls of the user's functions are recorded in `called`, stateful ones in `stateful`. ``C()`` is only
        allowed at `depth` 0.
        """
        function = self.function_name(tree.func)
        self.check_arguments(tree)
        if function in self.functions:
            self.called[function] = None
            arguments = tuple(self.node(argument, depth + 1) for argument in tree.args)
            options = {
                str(keyword_argument.arg): self.literal(keyword_argument.value)
                for keyword_argument in tree.keywords
            }
            return Call(function, arguments, tuple(options.items()))
        if not tree.args:
            raise self.error(
                f"{function}() requires a column as its first argument.",
                tree,
                hint=f"Write {function}(x), for example.",
            )
        if function == "C" and depth:
            raise self.error(
                "C() returns categories and must not be used inside another call.",
                tree,
                hint="Use it as a separate term.",
            )
        first = self.node(tree.args[0], depth + 1)
        if function in STATEFUL_FUNCTIONS:
            self.stateful.append(function)
        return Call(function, (first,), self.options(tree, FUNCTIONS[function], tree.args[1:]))

    def check_arguments(self, tree: ast.Call) -> None:
        """Raise an error if a call has starred or repeated arguments."""
        for argument in tree.args:
            if isinstance(argument, ast.Starred):
                raise self.error(
                    "Starred arguments are not allowed.", argument, hint="Write each argument by its name."
                )
        names = [keyword_argument.arg for keyword_argument in tree.keywords]
        if None in names or len(set(names)) < len(names):
            raise self.error(
                "Starred or repeated arguments are not allowed.",
                tree,
                hint="Write each argument once, by its name.",
            )

    def function_name(self, tree: ast.expr) -> str:
        """Return the name of the called function, or raise an error with a suggestion if it is unknown."""
        match tree:
            case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in NUMPY_FUNCTIONS:
                return name
            case ast.Name(id=name) if name in FUNCTIONS or name in self.functions:
                return name
            case ast.Name(id=name):
                typed = self.source.names.get(name, name)
                raise self.error(
                    f"Unknown function: {typed}().{function_hint(typed, [*FUNCTIONS, *self.functions])} "
                    f"The functions are {', '.join(FUNCTIONS)}.",
                    tree,
                    hint=f"Pass other functions in functions={{{typed!r}: ...}}.",
                )
            case _:
                raise self.error(
                    "Only a function of the formula language can be called.",
                    tree,
                    hint="Pass other functions in functions=, and call them by their name.",
                )

    def options(
        self, tree: ast.Call, allowed: tuple[str, ...], positional: list[ast.expr]
    ) -> tuple[tuple[str, Value | Contrast], ...]:
        """Read the options of a call, passed by position or by name.

        Parameters
        ----------
        tree : ast.Call
        allowed : tuple of str
            Names of the options, in the order of positional arguments.
        positional : list of ast.expr
            Positional arguments after the first.

        Returns
        -------
        tuple of (name, value)
        """
        if len(positional) > len(allowed):
            raise self.error(
                "Too many arguments.", tree, hint=f"Remove some; the options are {list(allowed)}."
            )
        value_by_name = dict(zip(allowed, positional, strict=False))
        for keyword_argument in tree.keywords:
            name = str(keyword_argument.arg)
            if name not in allowed or name in value_by_name:
                problem = "occurs twice" if name in value_by_name else f"is not one of {list(allowed)}"
                raise self.error(
                    f"The argument {name}= {problem}.", tree, hint="Remove it, or correct its name."
                )
            value_by_name[name] = keyword_argument.value
        return tuple(
            (name, self.contrast(value) if name == "contrast" else self.literal(value))
            for name, value in value_by_name.items()
        )

    def contrast(self, tree: ast.expr) -> Contrast | None:
        """Convert the argument `contrast` of ``C()``; None is the default contrast."""
        match tree:
            case ast.Constant(value=None):
                return None
            case ast.Name(id=name) if name in CONTRASTS:
                return Contrast(name, ())
            case ast.Call(func=ast.Name(id=name)) if name in CONTRASTS:
                self.check_arguments(tree)
                options = self.options(tree, CONTRASTS[name], tree.args)
                return Contrast(name, tuple((key, plain_value(option)) for key, option in options))
            case _:
                raise self.error("Unknown contrast.", tree, hint=f"Use one of {', '.join(CONTRASTS)}.")

    def literal(self, tree: ast.expr, inside: bool = False) -> Value:
        """Return the value of a literal: a number, string, boolean, None, or a list of these as a tuple.

        `inside` states whether the literal is an element of a list, in which lists are not allowed.
        """
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
                values = [self.literal(element, inside=True) for element in parts]
                return tuple(
                    value_of_element for value_of_element in values if not isinstance(value_of_element, tuple)
                )
            case _:
                pass
        raise self.error(
            "This is not a number, a string or a list of these.", tree, hint="Write one of these."
        )


def shorten_factor(code: str) -> str:
    """Return the beginning of a factor, as it appears in messages."""
    return code if len(code) <= MAX_SHOWN_FACTOR else f"{code[: MAX_SHOWN_FACTOR - 3]}..."


def plain_value(option: Value | Contrast) -> Value:
    """Return an option if it is not a contrast, which only ``C()`` accepts; else raise an error."""
    if isinstance(option, Contrast):
        raise FormulaError(
            f"The contrast {option.name} must not be an argument of another contrast.",
            hint="Use one contrast.",
        )
    return option
