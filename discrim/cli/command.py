"""What a command does: its verb is run, and what goes wrong becomes one line and a status."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence

from discrim.cli.hints import with_options
from discrim.cli.streams import prepare, say, standard_output
from discrim.cli.verbs import VERBS, build_parser, parser_of
from discrim.errors import DiscrimError, DiscrimWarning
from discrim.models.registry import resolve

__all__ = ["main"]


def _shown_once() -> Callable[..., None]:
    """Stand in for :func:`warnings.showwarning`: each message alone, and once."""
    said: set[str] = set()

    def show(message: Warning | str, *where: object, **more: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            say(f"warning: {message}")

    return show


def _run(argv: Sequence[str] | None) -> int:
    typed = sys.argv[1:] if argv is None else list(argv)
    # Only the verb that is typed needs its options.
    parser = build_parser(only=typed[:1])
    arguments = parser.parse_args(typed)
    standard_output()  # A fit is not made, or saved, where nobody can read what is said of it.
    with warnings.catch_warnings():
        warnings.simplefilter("always", DiscrimWarning)
        warnings.showwarning = _shown_once()
        try:
            resolve(VERBS[arguments.verb].run)(arguments)
        except DiscrimError as error:
            if isinstance(error, OSError):
                raise
            # The way out of some errors is an option here, and an argument elsewhere.
            message = getattr(error, "on_command_line", error)
            say(with_options(message, parser_of(parser, arguments.verb), vars(arguments)))
            return 2
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0; 2 where the formula, the data or an option is at fault; 130 where interrupted; 141
        where the reader of the output has gone away.

    Examples
    --------
    >>> main(["lda", "species ~ .", "irsi"])
    2
    """
    if "_ARGCOMPLETE" in os.environ:
        # A shell asks for completions.
        from discrim.cli.completion import complete

        complete()
    prepare()
    try:
        return _run(argv)
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        say(f"there is not enough memory{f': {error}' if str(error) else ''}: give fewer rows or columns")
        return 2
    except OSError as error:
        named = error.filename is not None and error.strerror
        say(f"{error.filename!r}: {error.strerror}" if named else error)
        return 2
    except DiscrimError as error:
        say(error)
        return 2
