"""The scan of a formula's text: which characters, names, strings and brackets it may hold.

Every name that Python could not hold (in backticks, dotted as in R, a keyword) is put aside behind a
plain placeholder, so that a parser of Python tokens can split what is left, and a hostile column name
stays a name. Every later error points back into the text as typed.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from discrim.errors import FormulaError

MAX_TEXT = 500_000
"""Characters of a formula."""
MAX_OPERATORS = 100_000
"""Signs between terms and inside of factors; twice as many as there may be terms."""
MAX_NESTING = 30
"""Brackets within brackets, and steps of depth inside a factor."""
_MAX_SHOWN = 300
"""Characters of a formula that an error points at, and a third of those of its message."""

_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00[0-9a-fA-F]{6})"
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<string>"(?:[^"\\\n]|ESCAPE)*"|'(?:[^'\\\n]|ESCAPE)*')
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>(?:[^\W\d]|[^\x00-\x7f\s])(?:\w|[^\x00-\x7f\s])*(?:\.(?:\w|[^\x00-\x7f\s])+)*)
      | (?P<open>[(\[])
      | (?P<close>[)\]])
      | (?P<operator>[-+*/:~.,=^%])""".replace("ESCAPE", _ESCAPE),
    re.VERBOSE,
)
_CALL = re.compile(r"\s*\(")
_PLACEHOLDER = re.compile(r"_q+[0-9]+_")


@dataclass(frozen=True, slots=True)
class Source:
    """A scanned formula.

    Attributes
    ----------
    text : str
        As typed.
    code : str
        What a parser reads: placeholders for awkward names, ``**`` for ``^``, one line.
    names : dict
        Placeholder to column name.
    starts : tuple of (int, int)
        Where each piece begins in code and in text; the last pair is where both end.
    """

    text: str
    code: str
    names: Mapping[str, str]
    starts: tuple[tuple[int, int], ...]

    def error(self, message: str, start: int, end: int) -> FormulaError:
        """Build an error that points at code[start:end], in the text as typed."""
        first = self._typed(start)
        return _pointing(message, self.text, first, max(self._typed(end), first + 1))

    def typed(self, start: int, end: int) -> tuple[int, int]:
        """Where code[start:end] stands in the text as typed."""
        return self._typed(start), self._typed(end)

    def restore(self, code: str) -> str:
        """Rewrite a piece of code with its placeholders as backticked names."""
        return _PLACEHOLDER.sub(
            lambda found: quote(self.names[found[0]]) if found[0] in self.names else found[0], code
        )

    def find(self, name: str, start: int, end: int) -> tuple[int, int]:
        """Where a name stands in code[start:end]; all of it where the name is written some other way."""
        written = next((code for code, column in self.names.items() if column == name), name)
        at = self.code.find(written, start, end)
        return (at, at + len(written)) if at >= 0 else (start, end)

    def _typed(self, position: int) -> int:
        piece = max(bisect_right(self.starts, (position, len(self.text))) - 1, 0)
        code_start, text_start = self.starts[piece]
        last = self.starts[min(piece + 1, len(self.starts) - 1)][1]
        return min(text_start + position - code_start, max(last, text_start))


def quote(name: str) -> str:
    """Write a column's name as a formula holds it: bare where that is unambiguous, else in backticks.

    Examples
    --------
    >>> quote("petal_width"), quote("petal width"), quote("class")
    ('petal_width', '`petal width`', '`class`')
    """
    plain = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
    if plain and unicodedata.is_normalized("NFKC", name):
        return name
    return "`" + name.replace("`", "``") + "`"


def scan(text: str) -> Source:
    """Check the text of a formula and put every name Python could not hold behind a placeholder.

    Parameters
    ----------
    text : str

    Returns
    -------
    Source

    Raises
    ------
    FormulaError
        A character, name or string that is not part of the language, unbalanced brackets, or a limit
        (`MAX_TEXT`, `MAX_OPERATORS`, `MAX_NESTING`); the message points at the place.

    Examples
    --------
    >>> scan("y ~ `petal width` + x^2").code
    'y ~ _q0_ + x**2'
    """
    if not isinstance(text, str):
        raise FormulaError(
            f"A formula is text such as 'y ~ x1 + x2', not {type(text).__name__}: give the formula "
            "first, then the table."
        )
    if len(text) > MAX_TEXT:
        raise FormulaError(
            f"The formula has {len(text):,} characters; the limit is {MAX_TEXT:,}: write `.` for all "
            "columns, and `- name` for those left out."
        )
    prefix = "_q"
    while prefix in text:
        prefix += "q"
    pieces: list[str] = []
    starts: list[tuple[int, int]] = []
    names: dict[str, str] = {}
    opened: list[int] = []
    operators = 0
    length, position = 0, len(text) - len(text.lstrip())
    end = len(text.rstrip())
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None:
            raise _unreadable(text, position)
        operators += token.lastgroup == "operator"
        if operators > MAX_OPERATORS:
            raise _pointing(
                f"The formula has more than {MAX_OPERATORS:,} operators: write `.` for all columns.",
                text,
                position,
                token.end(),
            )
        name = _put_aside(text, token)
        if name is None:
            piece = _plain_piece(text, token, opened)
        else:
            piece = f"{prefix}{len(names)}_"
            names[piece] = name
        starts.append((length, position))
        pieces.append(piece)
        length += len(piece)
        position = token.end()
    if opened:
        raise _pointing(
            "This bracket is never closed: close it, or leave it out.", text, opened[-1], opened[-1] + 1
        )
    return Source(text, "".join(pieces), names, (*starts, (length, end)))


def _put_aside(text: str, token: re.Match[str]) -> str | None:
    """The column name a token stands for where Python cannot hold it, else None."""
    if token.lastgroup == "quoted":
        return token[0][1:-1].replace("``", "`")
    if token.lastgroup != "name":
        return None
    name, start, end = token[0], token.start(), token.end()
    if not unicodedata.is_normalized("NFKC", name):
        raise _pointing(
            f"The name {name!r} is not in Unicode's normal form NFKC, so two names could look alike; "
            "if a column has exactly this name, put it in backticks.",
            text, start, end,
        )  # fmt: skip
    if any(part.startswith("__") for part in name.split(".")):
        raise _pointing(
            f"{name!r} is not allowed; if a column has this name, put it in backticks.", text, start, end
        )
    if text[end : end + 1] in {'"', "'"}:
        raise _pointing(
            "A string may have no prefix: leave out what stands before the quotes.", text, start, end + 1
        )
    if ("." in name and not _CALL.match(text, end)) or (
        keyword.iskeyword(name) and name not in {"True", "False", "None"}
    ):
        return name
    if not all(part.isidentifier() for part in name.split(".")):
        raise _pointing(f"{name!r} is not a name; if a column is called so, use backticks.", text, start, end)
    # To patsy, whatever float() reads is a number.
    if name.lower() in {"inf", "infinity", "nan"} and not _CALL.match(text, end):
        return name
    # Combining marks are letters to Python, but not to the regular expressions of its tokenizer.
    return None if re.fullmatch(r"[\w.]+", name) else name


def _plain_piece(text: str, token: re.Match[str], opened: list[int]) -> str:
    """The text a token leaves in the code; brackets are counted in `opened`."""
    piece, start, end = token[0], token.start(), token.end()
    match token.lastgroup:
        case "space":
            if not set(piece) <= set(" \t\r\n\f\v\u00a0\u3000"):
                raise _pointing("This kind of space is not allowed: write a plain blank.", text, start, end)
            return " " * len(piece)
        case "number" if re.match(r"\w", text[end : end + 1]):
            raise _pointing(
                "A number cannot run into a name; a column that starts with a digit goes in backticks.",
                text, start, end + 1,
            )  # fmt: skip
        case "string" if text[start - 1 : start] in {'"', "'"} or text[end : end + 1] in {'"', "'"}:
            raise _pointing(
                "Strings may not follow one another: write one string, or a comma between them.",
                text,
                start,
                end,
            )
        case "open":
            opened.append(start)
            if len(opened) > MAX_NESTING:
                raise _pointing(
                    f"Brackets are nested more than {MAX_NESTING} deep: leave out those that are not needed.",
                    text,
                    start,
                    end,
                )
        case "close":
            if not opened or text[opened.pop()] + piece not in {"()", "[]"}:
                raise _pointing("This bracket was never opened: open it, or leave it out.", text, start, end)
        case "operator" if piece == "^":
            return "**"
        case _:
            pass
    return piece


def _unreadable(text: str, position: int) -> FormulaError:
    character = text[position]
    if character == "`":
        return _pointing("This backtick is never closed.", text, position, position + 1)
    if character in "\"'":
        return _pointing(
            "This string is never closed, or holds an unknown escape.", text, position, position + 1
        )
    way_out = " A comparison is computed before the fit, as a column." if character in "<>=!" else ""
    return _pointing(
        f"{character!r} is not part of the formula language; a column whose name has it goes in "
        f"backticks.{way_out}",
        text, position, position + 1,
    )  # fmt: skip


def _pointing(message: str, text: str, start: int, end: int, around: int = 40) -> FormulaError:
    """An error with the part of the text around start:end and a line of carets below it."""
    first, last = max(start - around, 0), min(end + around, start + _MAX_SHOWN, len(text))
    shown = "".join(c if c.isprintable() else " " for c in text[first:last])
    head, tail = "..." if first else "", "..." if last < len(text) else ""
    carets = " " * (len(head) + start - first) + "^" * max(min(end, last) - start, 1)
    if len(message) > 3 * _MAX_SHOWN:
        # Names are as long as one likes; what is wrong with them is said before, what to do after.
        message = f"{message[: 2 * _MAX_SHOWN]} ... {message[-_MAX_SHOWN:]}"
    return FormulaError(f"{message} (character {start + 1})\n    {head}{shown}{tail}\n    {carets}")
