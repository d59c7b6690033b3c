r"""What the command line reads and writes: streams may be closed, full, read no more, or a terminal.

Text that goes to a file or a pipe goes there as it is. A terminal obeys control characters, and labels may
hold any, so a terminal is shown them as ``\x1b`` and the like.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import unicodedata
from typing import TextIO

from discrim.errors import DataError

__all__ = ["give_up", "one_line", "prepare", "say", "standard_input", "standard_output", "write"]

# Controls, formats (which reorder text or have no width), surrogates, separators of lines and paragraphs.
_LONGEST = 2000
"""Characters of a message."""

_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def prepare() -> None:
    """Set the standard streams to UTF-8, and take the places of those that are closed.

    A file that is opened later would get the number of a closed stream, and with it what others write there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            errors = "strict" if stream is sys.stdin else "backslashreplace"
            stream.reconfigure(encoding="utf-8", errors=errors)


def standard_input() -> str:
    """Read the text of standard input.

    Raises
    ------
    DataError
        It is closed, or cannot be read.
    UnicodeDecodeError
        It is not UTF-8.
    """
    if sys.stdin is None:
        raise DataError("standard input is closed, and - reads the table from it: name a file instead")
    try:
        return sys.stdin.read()
    except OSError as error:
        said = error.strerror or error
        raise DataError(f"standard input cannot be read: {said}. Name a file instead") from error


def write(text: str) -> None:
    """Write text to standard output, all of it; control characters are shown where it is a terminal.

    Raises
    ------
    DataError
        Standard output is closed.
    OSError
        It takes no more: the disk is full, or nobody reads the pipe.
    """
    stream = standard_output()
    try:
        stream.write(shown(text) if stream.isatty() else text)
        stream.flush()
    except OSError as error:
        # The flush of the interpreter at its end would fail once more.
        give_up(stream)
        raise OSError(error.errno, error.strerror, "standard output") from error


def standard_output() -> TextIO:
    """Give standard output, or refuse where it is closed."""
    if sys.stdout is None:
        raise DataError("standard output is closed: send it to a file, or to /dev/null")
    return sys.stdout


def shown(text: str) -> str:
    r"""Show the characters that steer a terminal as escapes, but not the ends of lines.

    Examples
    --------
    >>> shown("a\x1b[31m\n")
    'a\\x1b[31m\n'
    """
    odd = {c for c in set(text) if c != "\n" and unicodedata.category(c) in _STEERING}
    return text.translate({ord(c): ascii(c)[1:-1] for c in odd})


def say(message: object) -> None:
    """Write a message to standard error as one line; where nobody can read it, it is lost."""
    if sys.stderr is not None:
        try:
            print(f"discrim: {one_line(message)}", file=sys.stderr, flush=True)
        except OSError:
            give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Send what is still to be written nowhere, so that the end of the interpreter does not fail on it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def one_line(message: object) -> str:
    """Put a message on one line, without the carets under a formula or signs that steer a terminal.

    Of a long one the middle is left out, which is a name or value, as one part of what is said.
    """
    text = str(message)
    lines = [
        line for line in (text if len(text) <= _LONGEST else _ends(text)).splitlines() if line.strip(" ^")
    ]
    line = " ".join(" ".join(lines).split())
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


def _ends(text: str) -> str:
    """Leave out the middle of a long text, and say how much of it."""
    half = _LONGEST // 2
    if len(text) <= 2 * half:
        return text
    return f"{text[:half]} [{len(text) - 2 * half:,} characters] {text[-half:]}"
