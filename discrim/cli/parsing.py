"""Parser of the command line: values of options, errors with suggestions, and the layout of the help."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from discrim.cli.output import write_message, write_output
from discrim.slips import KEYWORDS, Respelling
from discrim.slips import suggest_name as nearest_slip

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

Rewrite = Callable[[Mapping[str, Any], Mapping[str, str]], Respelling]
"""Function from the values of known options and the texts of unknown ones to the correct spelling."""

MIN_WIDTH = 40
"""Smallest width of a summary in characters; narrower tables would not fit numbers next to their labels."""


def integer_reader(minimum: int, description: str, hint: str) -> Callable[[str], int]:
    """Return a function that reads an integer with a lower limit, for `type=` of argparse.

    Parameters
    ----------
    minimum : int
        Smallest value.
    description : str
        Description of the integer, for the error "... is not a {description}: write {hint}".
    hint : str
        Description of valid values, for the error.

    Returns
    -------
    callable
    """

    def read(text: str) -> int:
        """Return the integer; raise an ArgumentTypeError for any other text or a smaller integer."""
        try:
            number = int(text)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a {description}: write {hint}")
        return number

    return read


read_fold_count = integer_reader(1, "number of folds", "an integer, such as 10")
read_text_width = integer_reader(MIN_WIDTH, "number of columns", f"an integer, {MIN_WIDTH} or more")


def read_separator(text: str) -> str:
    """Read a field separator: one character, or "tab"."""
    character = "\t" if text.lower() in ("tab", "\\t") else text
    if len(character) != 1 or character in '"\r\n':
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a field separator: write one character, such as ';', or tab"
        )
    return character


def read_names(text: str) -> list[str]:
    """Split names at commas, and remove blanks around them."""
    return [name.strip() for name in text.split(",")]


_MAX_HELP_WIDTH = 100
"""Largest width of a help text in characters; longer lines are hard to read."""


def help_width() -> int:
    """Return the width of help texts: the width of the terminal, at least `MIN_WIDTH` and at most 100."""
    return max(MIN_WIDTH, min(_MAX_HELP_WIDTH, shutil.get_terminal_size().columns))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Formatter of help texts for the width of the terminal, which keeps indented lines unchanged."""

    def __init__(self, prog: str) -> None:
        width = help_width()
        super().__init__(prog, max_help_position=26 if width >= 80 else 18, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap the lines of a description, except indented ones (overrides argparse)."""
        lines: list[str] = []
        for line in text.splitlines():
            is_kept = line.startswith("  ") or not line
            lines += [line] if is_kept else textwrap.wrap(line, width, break_on_hyphens=False)
        return "\n".join(indent + line for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Wrap the help of an option without a line break next to a minus sign (overrides argparse)."""
        joined = " ".join(text.split()).replace(" - ", "\u00a0-\u00a0")
        return [line.replace("\u00a0", " ") for line in textwrap.wrap(joined, width, break_on_hyphens=False)]


class Parser(argparse.ArgumentParser):
    """Parser whose errors are one line, with exit status 2.

    Attributes
    ----------
    verb : str or None
        The verb whose arguments it parses; None for the parser of the whole command line.
    rewrite : callable or None
        Function that returns the correct spelling of unknown options that are parameters of other options.
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
            message += f"; write a value that begins with - after =, for example {option}=-1"
        message = message.removesuffix(".")
        self.refuse(f"{message}{' See' if message.endswith('?') else ': see'} {self.prog} --help")

    def refuse(self, message: str) -> NoReturn:
        """Write an error in one line, and exit."""
        write_message(message)
        self.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments (overrides argparse), and exit with an error for arguments that are not expected.

        argparse would also accept ``--option=--`` and store an empty list; this is an error here.
        """
        if self.verb is None and args and args[0].startswith("-") and args[0] not in self.options():
            self._raise_option(args[0])
        parsed, unparsed = super().parse_known_args(args, namespace)
        for name, value in vars(parsed).items():
            if value == []:
                self.error(f"argument {name}: -- is not a value")
        if unparsed:
            self._raise_unparsed(unparsed, vars(parsed))
        return parsed, unparsed

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

    def format_typed(self, options: Mapping[str, object], without: Container[str] = ()) -> str:
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
        >>> parser.format_typed({"bias_reduction": True, "sep": ";", "k": 1})
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
        choices = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            closest = closest_word(value, choices)
            if closest is not None:
                self.refuse(f"unknown verb {value!r}: did you mean {closest}?")
            self.error(f"unknown verb {value!r}: the verbs are {', '.join(choices)}")
        raise argparse.ArgumentError(action, f"{value!r} is not known. {choices_hint(value, choices)}")

    def _raise_unparsed(self, unparsed: Sequence[str], known_values: Mapping[str, Any]) -> NoReturn:
        """Exit with an error for arguments that are not expected, with a suggestion.

        Parameters
        ----------
        unparsed : sequence of str
            The arguments that are not expected.
        known_values : mapping
            Values of the arguments that were parsed, by parameter.
        """
        unknown_texts: dict[str, str] = {}
        for word, following in zip(unparsed, [*unparsed[1:], ""], strict=True):
            if word.startswith("-") and len(word) > 1:
                option, equals, value = word.partition("=")
                unknown_texts[option] = value if equals or following.startswith("-") else following
        if unknown_texts:
            if self.rewrite is not None:
                name, hint, options = self.rewrite(known_values, unknown_texts)
                if name:
                    option = f"--{name.replace('_', '-')}"
                    self.refuse(
                        f"unknown option {option!r} of {self.verb}. {hint}{self.format_typed(options)}"
                    )
            self._raise_option(next(iter(unknown_texts)))
        positional_names = [str(action.metavar) for action in self._actions if not action.option_strings]
        expected = (
            f"{self.verb} expects {' and '.join(positional_names) or 'options'}" if self.verb else self.prog
        )
        hint = 'quote a formula, for example "species ~ .", and put options last'
        self.error(f"{expected}, and {unparsed[0]!r} is not expected: {hint}")

    def _raise_option(self, word: str) -> NoReturn:
        """Exit with an error for an unknown option.

        The error suggests the equivalent of a name of another package, or the most similar option.
        """
        option = word.partition("=")[0]
        message = f"unknown option {option!r}" + (f" of {self.verb}" if self.verb else "")
        option_by_name = {
            known_option.lstrip("-").replace("-", "_"): known_option for known_option in self.options()
        }
        suggestion = nearest_slip(option.lstrip("-").replace("-", "_")[:200], option_by_name, KEYWORDS)
        closest = (
            option_by_name.get(suggestion) if suggestion else closest_word(option, option_by_name.values())
        )
        if closest is not None:
            message += f": did you mean {closest}?"
        elif suggestion:
            message += f": {suggestion}."
        self.error(message)


def closest_word(word: Any, known_words: Iterable[str]) -> str | None:
    """Return the known word that is most similar to a word, or None if none is similar."""
    from difflib import get_close_matches

    # Long words are not typing errors, and comparing them takes long.
    text = str(word)[:200].lower().replace("_", "-")
    by_form = {known_word.lower().replace("_", "-"): known_word for known_word in known_words}
    matches = get_close_matches(text, by_form, n=1)
    return by_form[matches[0]] if matches else None


def choices_hint(word: Any, known_words: Sequence[str]) -> str:
    """Return the hint for an unknown word: the nearest known word, and all of them."""
    closest = closest_word(word, known_words)
    beginning = f"Did you mean {closest}? The choices are" if closest is not None else "Use one of"
    return f"{beginning} {', '.join(known_words)}."


def command_lines(command: str, width: int) -> str:
    r"""Indent a command by two blanks, and break it into lines ending in a backslash if it is too long.

    Examples
    --------
    >>> print(command_lines('discrim lda "species ~ ." iris --prior equal', 40))
      discrim lda "species ~ ." iris \
          --prior equal
    """
    arguments = re.findall(r'--\S+(?: (?!--)(?:"[^"]*"|\S+))?|"[^"]*"|\S+', command)
    lines = [f"  {arguments[0]}"]
    for argument in arguments[1:]:
        if len(lines[-1]) + len(argument) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {argument}")
        else:
            lines[-1] += f" {argument}"
    return "\n".join(lines)
