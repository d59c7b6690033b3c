"""Command line: fits a formula to a table and prints the summary, or predicts labels by a saved fit.

``discrim lda "species ~ ." iris`` prints the same as ``discrim.lda("species ~ .", data=iris).summary()``.
Errors of the user are one line on standard error with exit status 2, never a traceback. Warnings are lines
there too, hence standard output contains only the summary. If argcomplete is installed, shells complete
verbs, options, data sets and files.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from discrim import datasets
from discrim.cli.output import prepare_streams, standard_output, write_message
from discrim.cli.verbs import VERBS, build_parser, parser_of
from discrim.errors import DiscrimError, DiscrimWarning
from discrim.models.registry import resolve

__all__ = ["main"]


def _run_verb(argv: Sequence[str] | None) -> int:
    """Parse the arguments (by default of the process) and run the verb; return the exit status.

    A DiscrimError is written as one line with status 2, except an OSError, which is raised. Each warning is
    written once. Syntax errors end the process with status 2.
    """
    typed = sys.argv[1:] if argv is None else list(argv)
    # Building the options of a verb takes time, and only the typed verb needs them.
    parser = build_parser(only=typed[:1])
    arguments = parser.parse_args(typed)
    standard_output()  # If standard output is closed, stop before anything is fitted or saved.
    printed_messages: set[str] = set()

    def show_once(message: Warning | str, *args: object, **kwargs: object) -> None:
        """Write a warning to standard error unless the same was written before."""
        if str(message) not in printed_messages:
            printed_messages.add(str(message))
            write_message(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", DiscrimWarning)
        warnings.showwarning = show_once
        try:
            options = dict(vars(arguments))
            resolve(VERBS[arguments.command].function)(options.pop("command"), options)
        except DiscrimError as error:
            if isinstance(error, OSError):
                raise
            # Options that were typed are not repeated, because they may be the problem.
            suggested = parser_of(parser, arguments.command).format_typed(
                error.options, without=vars(arguments)
            )
            # The hint on a separator is a call of pandas, which cannot be typed.
            text = f"{error.message} Give the separator." if "sep" in error.options else str(error)
            write_message(f"{text}{suggested}")
            return 2
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the name of the program; by default the arguments of the process.

    Returns
    -------
    int
        Exit status: 0; 2 for a faulty formula, table or option; 130 if interrupted; 141 if the reader of
        the output has closed the pipe.

    Examples
    --------
    >>> main(["lda", "species ~ .", "irsi"])
    2
    """
    if "_ARGCOMPLETE" in os.environ:
        complete()
    prepare_streams()
    try:
        return _run_verb(argv)
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        write_message(f"not enough memory{f': {error}' if str(error) else ''}: use fewer rows or columns")
        return 2
    except DiscrimError as error:
        write_message(error)
        return 2
    except OSError as error:
        has_file_name = error.filename is not None and error.strerror
        write_message(f"{error.filename!r}: {error.strerror}" if has_file_name else error)
        return 2


def complete() -> None:
    """Print completions for the shell and end the process, if argcomplete is installed."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(_parser_with_completers(), always_complete_options=False)


def _parser_with_completers() -> argparse.ArgumentParser:
    """Return the parser of the typed verb with completers for its arguments."""
    from argcomplete.completers import FilesCompleter

    # The options of a verb are read from the function, whose import takes a second.
    parser = build_parser(only=os.environ.get("COMP_LINE", "").split()[1:2])
    files = FilesCompleter()

    def tables(prefix: str, **about: Any) -> list[str]:
        """Return the names of data sets that begin with a prefix."""
        return [name for name in datasets.names() if name.startswith(prefix)]

    def tables_and_files(prefix: str, **about: Any) -> list[str]:
        """Return the names of data sets, and of files and folders, that begin with a prefix."""
        return [*tables(prefix), *files(prefix, **about)]

    def nothing(prefix: str, **about: Any) -> list[str]:
        """Return no completions; otherwise the shell would suggest files."""
        return []

    completer_by_argument: dict[str, Any] = {
        "data": tables_and_files,
        "compared": files,
        "reported": files,
        "fit": files,
        "name": tables,
    }
    for verb in VERBS:
        for action in parser_of(parser, verb)._actions:
            argument: Any = action
            if action.dest in completer_by_argument:
                argument.completer = completer_by_argument[action.dest]
            elif action.choices is None:
                argument.completer = files if action.metavar in ("FILE", "PATH") else nothing
    return parser
