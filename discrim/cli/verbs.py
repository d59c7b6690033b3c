"""Verbs of the command line: their help, examples and the functions that run them."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

from discrim import datasets
from discrim.cli.output import check_place, write_output, write_to_file
from discrim.cli.parsing import Parser, command_lines, help_width, one_of
from discrim.errors import DataError
from discrim.models.registry import MODELS, ModelEntry

MODEL_GROUP = "models"
GROUPS = {
    MODEL_GROUP: "models, fitted to FORMULA and DATA",
    "analyses": "choosing, comparing, testing",
    "tables": "tables and pages",
}
"""Groups of verbs, and their headings in the help."""

_DATA = (
    "DATA is the name of a table that comes with the package ({names}), a file, a folder with all files "
    'below it, or a pattern such as "data/2024-*.parquet", which is quoted; write ./iris for a file that has '
    "the name of a table. A file that ends in .parquet or .pq is read as Parquet (needs pyarrow or polars), "
    "one in .tsv as columns set apart by tabs, any other as CSV; - is CSV from standard input.",
    "Text is UTF-8 and may be compressed (.gz, .bz2, .xz, .zip, .zst, or a .tar of one file). The first row "
    "names the columns; an empty field, NA, NaN, null, None and the other signs that pandas knows are "
    "missing values. Classes, and what stands in C(), are taken as they are written: 007 is not 7.",
    "Folders, patterns and files that are large are read part by part, as often as is needed, so that they "
    "may be larger than the memory; their files end in .csv, .tsv or .parquet. A folder named year=2024 adds "
    "the column year.",
)
"""Paragraphs of the help on DATA."""


class Verb(NamedTuple):
    """A verb of the command line.

    Attributes
    ----------
    name : str
    text : str
        Description in one line.
    group : str
        Its group in the help.
    run : str
        Module and name of the function that runs it.
    examples : tuple of str
        Commands without ``discrim``, which may need the files that earlier ones write.
    """

    name: str
    text: str
    group: str
    run: str
    examples: tuple[str, ...]


def _model(row: ModelEntry) -> Verb:
    """Return the verb of a model."""
    name = row.verb.replace("_", "-")
    return Verb(
        name,
        str(row.command),
        MODEL_GROUP,
        "discrim.cli.analyses:summarize",
        tuple(f"{name} {example}" for example in row.examples),
    )


VERBS = {
    verb.name: verb
    for verb in (
        *(_model(row) for row in MODELS if row.command is not None),
        Verb(
            "stepwise",
            "choice of columns, step by step, and the fit to those chosen",
            "analyses",
            "discrim.cli.analyses:stepwise",
            (
                'stepwise "cultivar ~ ." wine --direction forward --enter 0.01',
                'stepwise "species ~ ." iris --criterion cv --seed 1',
                'stepwise "species ~ ." iris --by F --enter 3.84 --stay 2.71 --sections all',
            ),
        ),
        Verb(
            "choose",
            "choice of a model by rows left out, and the fit of the chosen one",
            "analyses",
            "discrim.cli.analyses:choose",
            (
                'choose "species ~ ." iris --verbs "lda, qda, naive-bayes" --seed 1',
                'choose "species ~ ." iris --verbs "lda, knn(k=5)" --by error --seed 1 --plot models.png',
            ),
        ),
        Verb(
            "compare",
            "models of one table side by side, or saved fits on new rows",
            "analyses",
            "discrim.cli.comparing:compare",
            (
                'compare "species ~ ." iris --verbs "lda, qda, knn(k=5)"',
                'compare "species ~ ." "species ~ petal_length" iris --verbs lda --folds 10 --seed 1',
            ),
        ),
        Verb(
            "assess",
            "performance of a saved fit on rows of known class",
            "analyses",
            "discrim.cli.analyses:assess",
            ('lda "species ~ ." iris --save iris.fit', "assess iris.fit iris --plot roc.png --kind roc"),
        ),
        Verb(
            "canonical",
            "canonical variates: dimensions, coefficients, structure",
            "analyses",
            "discrim.cli.analyses:canonical",
            (
                'canonical "species ~ ." iris --sections dimensions,structure_within',
                'canonical "species * sex ~ bill_length_mm + bill_depth_mm" penguins --term species',
            ),
        ),
        Verb(
            "manova",
            "the four tests that the classes have one mean, or of each of several factors",
            "analyses",
            "discrim.cli.analyses:manova",
            (
                'manova "species ~ ." iris',
                'manova "species * sex ~ bill_length_mm + bill_depth_mm" penguins --type 3',
            ),
        ),
        Verb(
            "plan",
            "how many rows LDA and QDA will need, before data are collected",
            "analyses",
            "discrim.cli.analyses:plan_rows",
            ("plan --distance 2 --p 10 --error 0.2 --width 0.1",),
        ),
        Verb(
            "predict",
            "labels of new rows by a fit that --save wrote",
            "tables",
            "discrim.cli.comparing:predict",
            ('lda "species ~ ." iris --save iris.fit', "predict iris.fit iris --proba"),
        ),
        Verb(
            "export",
            "the rule of a fit that --save wrote, as a query of SQL or as ONNX",
            "tables",
            "discrim.cli.comparing:export",
            ('lda "species ~ ." iris --save iris.fit', "export iris.fit --sql duckdb --table flowers"),
        ),
        Verb(
            "report",
            "a page on a fit, of HTML, Word or Markdown: tables, tests, pictures, code",
            "tables",
            "discrim.cli.comparing:report",
            ('report "species ~ ." iris --verb lda --out iris.html',),
        ),
        Verb(
            "datasets",
            "the tables that come with the package, or one of them as CSV",
            "tables",
            "discrim.cli.verbs:show_datasets",
            ("datasets", "datasets penguins --out penguins.csv"),
        ),
    )
}


class _Version(argparse.Action):
    """Action that prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *args: object, **kwargs: object) -> NoReturn:
        import discrim

        write_output(f"discrim {discrim.__version__}\n")
        parser.exit()


class _Front(Parser):
    """Parser of the verb, whose help lists the verbs by group."""

    def format_help(self) -> str:
        """Format usage, verbs by group, options and examples."""
        formatter = self._get_formatter()
        formatter.add_usage("discrim VERB ...", [], [])
        formatter.add_text(self.description)
        for group, heading in GROUPS.items():
            formatter.start_section(heading)
            for verb in VERBS.values():
                if verb.group == group:
                    formatter.add_argument(argparse.Action([], verb.name, help=verb.text))
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def build_parser(only: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Build the parser of the whole command line, or with the options of some verbs `only`.

    Options that are not typed are absent from the namespace, because defaults are defined by the verbs.

    Examples
    --------
    >>> vars(build_parser().parse_args(["lda", "species ~ .", "iris", "--prior", "equal"]))["prior"]
    'equal'
    """
    shown = ('lda "species ~ ." iris', 'compare "species ~ ." iris --verbs lda,qda --folds 10 --seed 1')
    parser = _Front(
        prog="discrim",
        description="Discriminant analysis from a formula and a table.",
        epilog=_examples(shown) + "\n\ndiscrim VERB --help says what a verb takes, with an example.",
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    verbs = parser.add_subparsers(dest="command", required=True, metavar="VERB", parser_class=Parser)
    for verb in VERBS.values():
        if only is None or verb.name in only:
            _add_verb(verbs, verb)
        else:
            verbs.add_parser(verb.name, verb=verb.name)
    return parser


def parser_of(parser: argparse.ArgumentParser, verb: str) -> Parser:
    """Return the parser of a verb from the parser of the whole command line."""
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    verb_parser: Parser = choices[verb]
    return verb_parser


def _add_verb(verbs: Any, verb: Verb) -> None:
    """Add the parser of a verb with its options, usage and examples."""
    # Not at the top, because the general help needs no options of verbs.
    from discrim.cli.options import add_arguments, rewritten_option

    parser = verbs.add_parser(
        verb.name,
        help=verb.text,
        description=f"{verb.text[0].upper()}{verb.text[1:]}.",
        argument_default=argparse.SUPPRESS,
        verb=verb.name,
    )
    parser.rewrite = partial(rewritten_option, verb.name)
    add_arguments(parser, verb.name)
    places = [action for action in parser._actions if not action.option_strings]
    shape = {None: "{}", "?": "[{}]", "+": "{} ..."}
    words = " ".join(shape[action.nargs].format(action.metavar) for action in places)
    parser.usage = f"discrim {verb.name} {words} [OPTION ...]"
    parser.epilog = _examples(verb.examples) + _values(verb.name)
    if any(action.dest == "data" for action in places):
        names = ", ".join(datasets.names())
        parser.epilog += "".join(f"\n\n{text.format(names=names)}" for text in _DATA)


_VALUES = (
    "X is a number, which may be written as 1/3, N a whole number, X,... a list, and CLASS=X,... a number "
    "for each class."
)


def _values(verb: str) -> str:
    """Return the help on values of options, with the specifications that they may be."""
    from discrim.cli.options import sources_of, specifications_help

    calls = specifications_help(verb)
    wrapped = [
        line
        for call in calls
        for line in textwrap.wrap(call, help_width() - 2, initial_indent="  ", subsequent_indent="      ")
    ]
    heading = "\n\nSpecifications, with their defaults; each is described in Python's help:\n"
    return f"\n\n{_VALUES}" * bool(sources_of(verb)) + (heading + "\n".join(wrapped)) * bool(calls)


def _examples(commands: Sequence[str]) -> str:
    """Format example commands with a heading."""
    heading = "example:" if len(commands) == 1 else "examples:"
    width = help_width() - 2
    return "\n".join([heading, *(command_lines(f"discrim {command}", width) for command in commands)])


def show_datasets(verb: str, options: dict[str, Any]) -> None:
    """List the data sets of the package, or write one as CSV."""
    name = options.get("name")
    target = options.get("out")
    if name is None:
        if target is not None:
            raise DataError(
                "--out takes one table.", hint="Name it, as in discrim datasets iris --out iris.csv."
            )
        write_output(_listed())
        return
    if name not in datasets.names():
        raise DataError(f"No table {name!r} comes with the package.", hint=one_of(name, datasets.names()))
    if target is None:
        write_output(datasets.text(name))
        return
    check_place(target)
    write_to_file(target, datasets.text(name).encode("utf-8"))


def _listed() -> str:
    """Format the list of data sets with their sizes, classes and descriptions."""
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
