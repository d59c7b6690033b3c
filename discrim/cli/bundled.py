"""The verb datasets: which tables come with the package, and each of them as CSV."""

from __future__ import annotations

import argparse
import textwrap

from discrim import datasets
from discrim.cli.output import check_place, write_file
from discrim.cli.parser import help_width, one_of
from discrim.cli.streams import write
from discrim.errors import DataError

__all__ = ["show_datasets"]


def show_datasets(arguments: argparse.Namespace) -> None:
    """List the tables, or write one of them."""
    options = vars(arguments)
    name, target = options.get("name"), options.get("output")
    if name is None:
        if target is not None:
            raise DataError(
                "--output takes one table: name it, as in discrim datasets iris --output iris.csv"
            )
        write(_listed())
        return
    if name not in datasets.names():
        way_out = one_of(name, datasets.names())
        raise DataError(f"no table {name!r} comes with the package{way_out}")
    if target is None:
        write(datasets.text(name))
        return
    check_place(target)
    write_file(target, datasets.text(name).encode("utf-8"))


def _listed() -> str:
    """A line for each table, and what it is of."""
    about = {name: datasets.ABOUT[name] for name in datasets.names()}
    rows = [("name", "rows", "columns", "classes")]
    rows += [(name, str(one.rows), str(one.columns), one.classes) for name, one in about.items()]
    wide = [max(len(row[place]) for row in rows) for place in range(3)]
    lines = []
    width = help_width() - 2
    for row, what in zip(rows, ["", *(one.what for one in about.values())], strict=True):
        first = f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}  "
        classes = textwrap.wrap(row[3], width - len(first))
        lines += [first + classes[0], *(" " * len(first) + line for line in classes[1:])]
        lines += textwrap.wrap(what, width, initial_indent="    ", subsequent_indent="    ")
    hint = "discrim datasets NAME writes one as CSV; a name stands for its table wherever DATA is asked for."
    return "\n".join([*lines, "", *textwrap.wrap(hint, width)]) + "\n"
