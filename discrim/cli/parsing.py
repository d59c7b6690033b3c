"""Parser of the command line: values of options, errors with suggestions, and the layout of the help."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from discrim.cli.output import say, write_output
from discrim.slips import KEYWORDS, Rewriting
from discrim.slips import nearest as nearest_slip

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

Rewrite = Callable[[Mapping[str, Any], Mapping[str, str]], Rewriting]
"""Function from the values of known options and the texts of unknown ones to the correct spelling."""

NARROWEST = 40
"""Smallest width of a summary in characters; narrower tables would not fit numbers next to their labels."""


def whole_from(least: int, what: str, way_out: str) -> Callable[[str], int]:
    """Return a reader of integers with a lower limit.

    Parameters
    ----------
    least : int
        Smallest value.
    what, way_out : str
        Description of the value and of valid ones, for the error.

    Returns
    -------
    callable
    """

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if found < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no {what}: give {way_out}")
        return found

    return read


fold_count = whole_from(1, "number of folds", "a whole one, such as 10")
text_width = whole_from(NARROWEST, "number of columns", f"a whole one, {NARROWEST} or more")


def separator(text: str) -> str:
    """Read a field separator: one character, or "tab"."""
    found = "\t" if text.lower() in ("tab", "\\t") else text
    if len(found) != 1 or found in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is no sign between fields: give one, such as ';', or tab")
    return found


def names(text: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in text.split(",")]


_WIDEST = 100
"""Largest width of a help text in characters; longer lines are hard to read."""


def help_width() -> int:
    """Return the width of help texts: the width of the terminal, within limits."""
    return max(NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Formatter of help for the width of the terminal; indented lines of a description are kept."""

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
        # Avoid a line break after a minus sign.
        joined = " ".join(text.split()).replace(" - ", "\u00a0-\u00a0")
        return [line.replace("\u00a0", " ") for line in textwrap.wrap(joined, width, break_on_hyphens=False)]


class Parser(argparse.ArgumentParser):
    """Parser whose errors are one line, with exit status 2.

    Attributes
    ----------
    verb : str or None
        The verb whose arguments it parses; None for the parser of the whole command line.
    rewrite : callable or None
        Function that returns the correct spelling of unknown options.
    """

    color = False
    """Python 3.14 would colour the help by control characters, which `write_output` escapes."""

    def __init__(self, *, verb: str | None = None, rewrite: Rewrite | None = None, **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)
        self.verb = verb
        self.rewrite = rewrite
        self.color = False

    def error(self, message: str) -> NoReturn:
        """Write an error in one line with a reference to the help, and exit."""
        if message.endswith("expected one argument"):
            # argparse interprets a value that begins with a minus and is not a number as another option.
            option = message.split()[1].partition("/")[0].rstrip(":")
            message += f"; one that begins with - is joined to it by =, as in {option}=-1"
        message = message.removesuffix(".")
        self.refuse(f"{message}{' See' if message.endswith('?') else ': see'} {self.prog} --help")

    def refuse(self, message: str) -> NoReturn:
        """Write an error in one line, and exit."""
        say(message)
        self.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments; refuse superfluous ones, and ``--`` after an equals sign, which is not a value."""
        if self.verb is None and args and args[0].startswith("-") and args[0] not in self.options():
            self._refuse_option(args[0])
        found, rest = super().parse_known_args(args, namespace)
        for name, value in vars(found).items():
            if value == []:
                self.error(f"argument {name}: -- is no value of it")
        if rest:
            self._refuse_rest(rest, vars(found))
        return found, rest

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Write the help to standard output."""
        write_output(self.format_help())

    def options(self) -> list[str]:
        """Return the visible options as they are typed."""
        return [
            option
            for action in self._actions
            if action.help is not argparse.SUPPRESS
            for option in action.option_strings
        ]

    def typed(self, options: Mapping[str, object], without: Container[str] = ()) -> str:
        """Return options as they are typed, as a sentence to append to a message, or "".

        Parameters
        ----------
        options : mapping of str to object
            Arguments and their values. Those that this parser does not accept are left out.
        without : container of str, optional
            Arguments to leave out.

        Returns
        -------
        str

        Examples
        --------
        >>> parser = Parser()
        >>> _ = parser.add_argument("--bias-reduction", action="store_true")
        >>> _ = parser.add_argument("--sep")
        >>> parser.typed({"bias_reduction": True, "sep": ";", "k": 1})
        " Typed as: --bias-reduction --sep ';'"
        """
        actions = {action.dest: action for action in self._actions if action.option_strings}
        texts: list[str] = []
        for name, value in options.items():
            action = actions.get(name)
            if action is None or name in without:
                continue
            if action.nargs == 0:
                # A flag that is set by default has a second option string, which unsets it.
                texts += action.option_strings[not value : (not value) + 1]
            elif action.choices is None or value in action.choices:
                text = "tab" if value == "\t" else shlex.quote(str(value))
                texts.append(f"{action.option_strings[0]} {text}")
        return f" Typed as: {' '.join(texts)}" if texts else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error with a suggestion if a value is not among the choices."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            near = nearest(value, known)
            if near is not None:
                self.refuse(f"no verb {value!r}: did you mean {near}?")
            self.error(f"no verb {value!r}: there are {', '.join(known)}")
        raise argparse.ArgumentError(action, f"{value!r} is not known. {one_of(value, known)}")

    def _refuse_rest(self, rest: Sequence[str], known: Mapping[str, Any]) -> NoReturn:
        """Refuse arguments that the verb does not accept; `known` are the values of the others."""
        unknown: dict[str, str] = {}
        for word, following in zip(rest, [*rest[1:], ""], strict=True):
            if word.startswith("-") and len(word) > 1:
                option, equals, value = word.partition("=")
                unknown[option] = value if equals or following.startswith("-") else following
        if unknown:
            if self.rewrite is not None:
                name, hint, options = self.rewrite(known, unknown)
                if name:
                    option = f"--{name.replace('_', '-')}"
                    self.refuse(f"no option {option!r} of {self.verb}. {hint}{self.typed(options)}")
            self._refuse_option(next(iter(unknown)))
        places = [str(action.metavar) for action in self._actions if not action.option_strings]
        takes = f"{self.verb} takes {' and '.join(places) or 'options'}" if self.verb else self.prog
        hint = 'quote a formula, as in "species ~ .", and put options last'
        self.error(f"{takes}, and {rest[0]!r} is one more: {hint}")

    def _refuse_option(self, word: str) -> NoReturn:
        """Refuse an unknown option, with the most similar one or an equivalent of this package."""
        option = word.partition("=")[0]
        message = f"no option {option!r}" + (f" of {self.verb}" if self.verb else "")
        known = {each.lstrip("-").replace("-", "_"): each for each in self.options()}
        slip = nearest_slip(option.lstrip("-").replace("-", "_")[:200], known, KEYWORDS)
        near = known.get(slip) if slip else nearest(option, known.values())
        if near is not None:
            message += f": did you mean {near}?"
        elif slip:
            message += f": {slip}."
        self.error(message)


def nearest(word: Any, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to a word, or None."""
    from difflib import get_close_matches

    # Long words are not typing errors, and comparing them takes long.
    text = str(word)[:200].lower().replace("_", "-")
    by_form = {each.lower().replace("_", "-"): each for each in known}
    found = get_close_matches(text, by_form, n=1)
    return by_form[found[0]] if found else None


def one_of(word: Any, known: Sequence[str]) -> str:
    """Return the hint for an unknown word: the nearest known word, and all of them."""
    near = nearest(word, known)
    meant = f"Did you mean {near}? There are" if near is not None else "Give one of"
    return f"{meant} {', '.join(known)}."


def command_lines(command: str, width: int) -> str:
    r"""Indent a command by two blanks, and break it into lines ending in a backslash if it is too long.

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
