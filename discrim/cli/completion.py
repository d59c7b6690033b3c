"""Completion in the shell, by argcomplete where it is there: verbs, options, names of tables and files."""

from __future__ import annotations

import argparse
from typing import Any

from discrim import datasets
from discrim.cli.verbs import VERBS, build_parser, parser_of

__all__ = ["complete"]


def complete() -> None:
    """Answer the shell that asks for completions, and end the process.

    Nothing happens where argcomplete is not installed.
    """
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(_completed_parser(), always_complete_options=False)


def _completed_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line, whose arguments know what may stand in their places."""
    from argcomplete.completers import FilesCompleter

    parser, files = build_parser(), FilesCompleter()

    def tables(prefix: str, **about: Any) -> list[str]:
        return [name for name in datasets.names() if name.startswith(prefix)]

    def tables_and_files(prefix: str, **about: Any) -> list[str]:
        return [*tables(prefix), *files(prefix, **about)]

    def nothing(prefix: str, **about: Any) -> list[str]:
        return []

    places: dict[str, Any] = {
        "data": tables_and_files,
        "compared": files,
        "reported": files,
        "fit": files,
        "name": tables,
    }
    for verb in VERBS:
        for action in parser_of(parser, verb)._actions:
            place: Any = action
            if action.dest in places:
                place.completer = places[action.dest]
            elif action.choices is None:
                place.completer = files if action.metavar in ("FILE", "PATH") else nothing
    return parser
