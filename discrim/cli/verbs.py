"""The verbs of the command line: what each takes, says of itself, and runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

from discrim import datasets
from discrim.cli import analysis_options as analyses
from discrim.cli.parser import Parser, command_lines, help_width
from discrim.cli.shared_options import (
    add_counting,
    add_errors,
    add_fitted,
    add_reading,
    add_saving,
    add_shown,
    add_test,
    add_written,
)
from discrim.cli.streams import write
from discrim.models.registry import MODELS, Row, resolve

__all__ = ["VERBS", "Verb", "build_parser", "parser_of"]

MODEL_GROUP = "models"
GROUPS = {
    MODEL_GROUP: "models, fitted to FORMULA and DATA",
    "analyses": "choosing, comparing, testing",
    "tables": "tables and pages",
}
"""The groups of verbs, and how the help heads them."""

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
"""What the help says of DATA, a paragraph each."""


class Verb(NamedTuple):
    """One verb.

    Attributes
    ----------
    name, text : str
        As it is typed, and what it is for in a line.
    group : str
        One of GROUPS.
    takes : str
        What it takes beside options, in words.
    arguments : callable
        Adds its arguments to a parser.
    run : str
        Address of the function that runs it.
    examples : tuple of str
        What may be typed after ``discrim``; each may need what those before it write.
    reads : bool
        Whether it takes DATA, of which the help has more to say.
    """

    name: str
    text: str
    group: str
    takes: str
    arguments: Callable[[Parser], None]
    run: str
    examples: tuple[str, ...]
    reads: bool = True


def _model(row: Row) -> Verb:
    """The verb of a model."""
    name = row.verb.replace("_", "-")
    return Verb(
        name,
        str(row.command),
        MODEL_GROUP,
        "FORMULA and DATA",
        partial(_model_arguments, row),
        "discrim.cli.fitting:summarize",
        tuple(f"{name} {example}" for example in row.examples),
    )


def _model_arguments(row: Row, verb: Parser) -> None:
    fitted = add_fitted(verb)
    if row.arguments is not None:
        resolve(row.arguments)(fitted)
    add_counting(fitted, posteriors=row.posteriors, weights=row.weights)
    add_reading(verb)
    shown = add_shown(verb)
    add_errors(shown)
    add_test(shown)
    kin = [kind.name for each in MODELS if each.verb == row.verb for kind in each.pictures]
    written = add_written(verb, list(dict.fromkeys(kin)))
    if row.can_be_saved:
        add_saving(written)


VERBS = {
    verb.name: verb
    for verb in (
        *(_model(row) for row in MODELS if row.command is not None),
        Verb(
            "stepwise",
            "choice of columns, step by step, and the fit to those chosen",
            "analyses",
            "FORMULA and DATA",
            analyses.stepwise_arguments,
            "discrim.cli.analyses:stepwise",
            (
                'stepwise "cultivar ~ ." wine --direction forward --enter 0.01',
                'stepwise "species ~ ." iris --criterion cv --seed 1',
            ),
        ),
        Verb(
            "compare",
            "models of one table side by side, or saved fits on new rows",
            "analyses",
            "formulas or files of fits, and then DATA",
            analyses.compare_arguments,
            "discrim.cli.comparing:compare",
            (
                'compare "species ~ ." iris --verbs "lda, qda, knn --k 5"',
                'compare "species ~ ." "species ~ petal_length" iris --verbs lda --folds 10 --seed 1',
            ),
        ),
        Verb(
            "assess",
            "what rows of known class say of a fit that --save wrote",
            "analyses",
            "FIT and DATA",
            analyses.assess_arguments,
            "discrim.cli.assessing:assess",
            ('lda "species ~ ." iris --save iris.fit', "assess iris.fit iris --plot roc.png --kind roc"),
        ),
        Verb(
            "canonical",
            "canonical variates: dimensions, coefficients, structure",
            "analyses",
            "FORMULA and DATA",
            analyses.canonical_arguments,
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
            "FORMULA and DATA",
            analyses.manova_arguments,
            "discrim.cli.analyses:manova",
            (
                'manova "species ~ ." iris',
                'manova "species * sex ~ bill_length_mm + bill_depth_mm" penguins --type 3',
            ),
        ),
        Verb(
            "predict",
            "labels of new rows by a fit that --save wrote",
            "tables",
            "FIT and DATA",
            analyses.predict_arguments,
            "discrim.cli.predicting:predict",
            ('lda "species ~ ." iris --save iris.fit', "predict iris.fit iris --proba"),
        ),
        Verb(
            "report",
            "a page of HTML on a fit: tables, tests, pictures, code",
            "tables",
            "FORMULA and DATA, or FIT",
            analyses.report_arguments,
            "discrim.cli.reporting:report",
            ('report "species ~ ." iris --verb lda --out iris.html',),
        ),
        Verb(
            "datasets",
            "the tables that come with the package, or one of them as CSV",
            "tables",
            "at most one name",
            analyses.datasets_arguments,
            "discrim.cli.bundled:show_datasets",
            ("datasets", "datasets penguins --output penguins.csv"),
            reads=False,
        ),
    )
}


class _Version(argparse.Action):
    """Print the version, which is only looked up when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *args: object, **kwargs: object) -> NoReturn:
        import discrim

        write(f"discrim {discrim.__version__}\n")
        parser.exit()


class _Front(Parser):
    """The parser that takes a verb, whose help shows the verbs in their groups."""

    def format_help(self) -> str:
        """Usage, verbs by group, options and examples."""
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
    """Build the parser of the whole command line.

    An option that is not given is not in the namespace, so that each default is stated once, by the verb.

    Parameters
    ----------
    only : sequence of str, optional
        Verbs whose arguments are needed; of the others only the names are known. All by default.

    Returns
    -------
    argparse.ArgumentParser

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
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)
    for verb in VERBS.values():
        if only is None or verb.name in only:
            _add_verb(verbs, verb)
        else:
            verbs.add_parser(verb.name, verb=verb.name)
    return parser


def parser_of(parser: argparse.ArgumentParser, verb: str) -> argparse.ArgumentParser:
    """The parser of a verb, within that of the whole command line."""
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    found: argparse.ArgumentParser = choices[verb]
    return found


def _add_verb(verbs: Any, verb: Verb) -> None:
    about = "".join(f"\n\n{text.format(names=', '.join(datasets.names()))}" for text in _DATA if verb.reads)
    parser = verbs.add_parser(
        verb.name,
        help=verb.text,
        description=f"{verb.text[0].upper()}{verb.text[1:]}.",
        epilog=_examples(verb.examples) + about,
        argument_default=argparse.SUPPRESS,
        verb=verb.name,
        takes=verb.takes,
    )
    verb.arguments(parser)
    places = [action for action in parser._actions if not action.option_strings]
    shape = {None: "{}", "?": "[{}]", "+": "{} ..."}
    words = " ".join(shape[action.nargs].format(action.metavar) for action in places)
    parser.usage = f"discrim {verb.name} {words} [OPTION ...]"


def _examples(commands: Sequence[str]) -> str:
    heading = "example:" if len(commands) == 1 else "examples:"
    width = help_width() - 2
    return "\n".join([heading, *(command_lines(f"discrim {command}", width) for command in commands)])
