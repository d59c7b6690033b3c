"""What a command does: its verb is run, and what goes wrong becomes one line and a status."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from discrim.cli.fitting import summarize
from discrim.cli.parser import build_parser
from discrim.cli.predicting import predict
from discrim.cli.streams import prepare, say, standard_output, write
from discrim.errors import DiscrimError, DiscrimWarning

__all__ = ["main"]


def _shown_once() -> Callable[..., None]:
    """Stand in for :func:`warnings.showwarning`: each message alone, and once."""
    said: set[str] = set()

    def show(message: Warning | str, *where: object, **more: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            say(f"warning: {message}")

    return show


def _run(argv: Sequence[str] | None) -> None:
    arguments = build_parser().parse_args(argv)
    standard_output()  # A fit is not made, or saved, where nobody can read what is said of it.
    with warnings.catch_warnings():
        warnings.simplefilter("always", DiscrimWarning)
        warnings.showwarning = _shown_once()
        if arguments.verb == "predict":
            for text in predict(arguments):
                write(text)
            return
        text, save = summarize(arguments)
    try:
        write(text.rstrip("\n") + "\n")
    except BrokenPipeError:
        # Who reads the first lines alone wants the fit all the same.
        save()
        raise
    # A command that fails must leave the fit that was there, so the fit is saved last.
    save()


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
    prepare()
    try:
        _run(argv)
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
    return 0
