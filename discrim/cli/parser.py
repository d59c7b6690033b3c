"""How the command line is parsed: help that fits the terminal, mistakes answered with what is nearest."""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from discrim.cli.streams import say, write

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["Parser", "command_lines", "nearest", "one_of"]

_WIDEST = 100
"""Columns of a help text: longer lines are hard to read, however wide the terminal is."""

_NARROWEST = 40


def help_width() -> int:
    """Columns of a help text: those of the terminal, within reason."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that fits the terminal; of a description lines that begin with two blanks stay as they are."""

    def __init__(self, prog: str) -> None:
        width = help_width()
        super().__init__(prog, max_help_position=26 if width >= 80 else 18, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for line in text.splitlines():
            raw = line.startswith("  ") or not line
            lines += [line] if raw else textwrap.wrap(line, width, break_on_hyphens=False)
        return "\n".join(indent + line for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser whose errors look like all the others: one line, exit status 2.

    Parameters
    ----------
    verb : str, optional
        The verb whose arguments it takes; without it, it takes a verb.
    takes : str, optional
        What the verb takes beside options, in words.
    **options
        As of `argparse.ArgumentParser`.
    """

    color = False
    """Python 3.14 would colour help by control characters, which a terminal is shown as escapes here."""

    def __init__(self, *, verb: str | None = None, takes: str = "", **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)
        self.verb, self.takes = verb, takes
        self.color = False

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong, and where help is."""
        if message.endswith("expected one argument"):
            # What begins with a minus and is no number is taken for another option.
            option = message.split()[1].partition("/")[0].rstrip(":")
            message += f"; one that begins with - is joined to it by =, as in {option}=-1"
        self.refuse(f"{message}{' See' if message.endswith('?') else ': see'} {self.prog} --help")

    def refuse(self, message: str) -> NoReturn:
        """Say in one line what is wrong."""
        say(message)
        self.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and refuse what is left over, and ``--`` after an equals sign, which would be no value."""
        if self.verb is None and args and args[0].startswith("-") and args[0] not in self.options():
            self._refuse_option(args[0])
        found, rest = super().parse_known_args(args, namespace)
        for name, value in vars(found).items():
            if value == []:
                self.error(f"argument {name}: -- is no value of it")
        if rest:
            self._refuse_rest(rest)
        return found, rest

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help as all other text is printed."""
        write(self.format_help())

    def options(self) -> list[str]:
        """The options that it knows, as they are typed."""
        return [
            option
            for action in self._actions
            if action.help is not argparse.SUPPRESS
            for option in action.option_strings
        ]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            near = nearest(value, known)
            if near is not None:
                self.refuse(f"no verb {value!r}: did you mean {near}?")
            self.error(f"no verb {value!r}: there are {', '.join(known)}")
        way_out = one_of(value, known)
        raise argparse.ArgumentError(action, f"{value!r} is not known{way_out}")

    def _refuse_rest(self, rest: Sequence[str]) -> NoReturn:
        """Refuse what no argument of the verb takes."""
        wrong = next((word for word in rest if word.startswith("-") and len(word) > 1), None)
        if wrong is not None:
            self._refuse_option(wrong)
        takes = f"{self.verb} takes {self.takes}" if self.takes else self.prog
        hint = 'quote a formula, as in "species ~ .", and put options last'
        self.error(f"{takes}, and {rest[0]!r} is one more: {hint}")

    def _refuse_option(self, word: str) -> NoReturn:
        option = word.partition("=")[0]
        near = nearest(option, self.options())
        whose = f" of {self.verb}" if self.verb else ""
        if near is not None:
            self.error(f"no option {option!r}{whose}: did you mean {near}?")
        self.error(f"no option {option!r}{whose}")


def nearest(word: Any, known: Iterable[str]) -> str | None:
    """What was meant by a word, of those that are known; None where no one is near."""
    from difflib import get_close_matches

    # A long word is no slip of the hand, and would take its time.
    text = str(word)[:200].lower().replace("_", "-")
    by_form = {each.lower().replace("_", "-"): each for each in known}
    found = get_close_matches(text, by_form, n=1)
    return by_form[found[0]] if found else None


def one_of(word: Any, known: Sequence[str]) -> str:
    """The way out of a word that is none of those known, to stand behind it."""
    near = nearest(word, known)
    meant = f": did you mean {near}? There are " if near is not None else ": give one of "
    return meant + ", ".join(known)


def command_lines(command: str, width: int) -> str:
    r"""A command indented by two blanks, in lines that end in a backslash where it is too long for one.

    Examples
    --------
    >>> print(command_lines('discrim lda "species ~ ." iris --prior equal', 40))
      discrim lda "species ~ ." iris \
          --prior equal
    """
    pieces = re.findall(r'--\S+(?: (?!--)(?:"[^"]*"|\S+))?|"[^"]*"|\S+', command)
    lines = [f"  {pieces[0]}"]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {piece}")
        else:
            lines[-1] += f" {piece}"
    return "\n".join(lines)
