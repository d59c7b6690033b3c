"""Verbs of the command line: their help, examples and the functions that run them."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

from discrim import datasets
from discrim.cli.output import check_writable, write_output, write_to_file
from discrim.cli.parsing import Parser, choices_hint, command_lines, help_width
from discrim.errors import DataError
from discrim.models.registry import MODELS, ModelEntry

MODEL_GROUP = "models"
GROUPS = {
    MODEL_GROUP: "models that are fitted to FORMULA and DATA",
    "analyses": "selection, comparison and tests",
    "tables": "predictions, reports and data",
}
"""Groups of verbs, and their headings in the help."""

_DATA_HELP = (
    "DATA is the name of a data set of the package ({names}), a file, a folder with all its subfolders, "
    'or a quoted pattern such as "data/2024-*.parquet". Write ./iris for a file that has the name of a data '
    "set. Files that end in .parquet or .pq are read as Parquet (requires pyarrow or polars), files that end "
    "in .tsv as tab-separated text, and all others as CSV. The name - stands for CSV from standard input.",
    "Text is UTF-8 and may be compressed (.gz, .bz2, .xz, .zip, .zst, or a .tar of one file). The first row "
    "contains the column names. An empty field, NA, NaN, null, None and the other markers of pandas are "
    "missing values. Classes and columns in C() are read as they are written: 007 is not 7.",
    "Folders, patterns and large files are read in chunks, as often as necessary, and may be larger than the "
    "memory; their files must end in .csv, .tsv or .parquet. A folder named year=2024 adds the column year.",
)
"""Paragraphs of the help on DATA."""


class Verb(NamedTuple):
    """A verb of the command line.

    Attributes
    ----------
    name : str
        Name of the verb, as it is typed.
    description : str
        Description in one line.
    group : str
        Its group in the help.
    function : str
        Module and name of the function that runs it, separated by a colon.
    examples : tuple of str
        Commands without ``discrim``, which may need the files that earlier ones write.
    """

    name: str
    description: str
    group: str
    function: str
    examples: tuple[str, ...]


def _verb_of_model(row: ModelEntry) -> Verb:
    """Return the verb of the command line that fits a model and shows its summary."""
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
        *(_verb_of_model(row) for row in MODELS if row.command is not None),
        Verb(
            "stepwise",
            "stepwise choice of predictors, and the fit to the chosen ones",
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
            "choice of a model by cross-validation, and the fit of the chosen one",
            "analyses",
            "discrim.cli.analyses:choose",
            (
                'choose "species ~ ." iris --verbs "lda, qda, naive-bayes" --seed 1',
                'choose "species ~ ." iris --verbs "lda, knn(k=5)" --by error --seed 1 --plot models.png',
            ),
        ),
        Verb(
            "compare",
            "models of one table side by side, or saved fits on new observations",
            "analyses",
            "discrim.cli.comparing:compare",
            (
                'compare "species ~ ." iris --verbs "lda, qda, knn(k=5)"',
                'compare "species ~ ." "species ~ petal_length" iris --verbs lda --folds 10 --seed 1',
            ),
        ),
        Verb(
            "assess",
            "performance of a saved fit on observations of known class",
            "analyses",
            "discrim.cli.analyses:assess",
            ('lda "species ~ ." iris --save iris.fit', "assess iris.fit iris --plot roc.png --kind roc"),
        ),
        Verb(
            "threshold",
            "choice of the posterior at which the second of two classes is predicted",
            "analyses",
            "discrim.cli.analyses:threshold",
            (
                'threshold "diagnosis ~ radius_mean + texture_mean" breast_cancer --sensitivity 0.95',
                'threshold "sex ~ body_mass_g" penguins --verb logistic --youden --plot roc.png',
            ),
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
            "the four tests of equal class means, or tests of several factors",
            "analyses",
            "discrim.cli.analyses:manova",
            (
                'manova "species ~ ." iris',
                'manova "species * sex ~ bill_length_mm + bill_depth_mm" penguins --type 3',
            ),
        ),
        Verb(
            "marginal-means",
            "marginal means of the levels of factors, and their differences",
            "analyses",
            "discrim.cli.analyses:marginal_means",
            (
                'marginal-means "species * sex ~ body_mass_g" penguins --factors species --adjust holm',
                'marginal-means "species * sex ~ body_mass_g" penguins --factors sex --by species',
            ),
        ),
        Verb(
            "plan",
            "sample sizes for LDA and QDA, before data are collected",
            "analyses",
            "discrim.cli.analyses:plan_rows",
            ("plan --distance 2 --p 10 --error 0.2 --width 0.1",),
        ),
        Verb(
            "predict",
            "predicted classes of new observations by a saved fit",
            "tables",
            "discrim.cli.comparing:predict",
            ('lda "species ~ ." iris --save iris.fit', "predict iris.fit iris --proba"),
        ),
        Verb(
            "export",
            "the rule of a saved fit as an SQL query or ONNX model",
            "tables",
            "discrim.cli.comparing:export",
            ('lda "species ~ ." iris --save iris.fit', "export iris.fit --sql duckdb --table flowers"),
        ),
        Verb(
            "report",
            "report on a fit as HTML, Word or Markdown: tables, tests, plots, code",
            "tables",
            "discrim.cli.comparing:report",
            ('report "species ~ ." iris --verb lda --out iris.html',),
        ),
        Verb(
            "datasets",
            "data sets of the package, or one of them as CSV",
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


class _MainParser(Parser):
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
                    formatter.add_argument(argparse.Action([], verb.name, help=verb.description))
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def build_parser(only: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Build the parser of the whole command line.

    If `only` is passed, the subparsers of other verbs lack options, which is faster. Options that are not
    typed are absent from the namespace, because the functions of the verbs define the defaults.

    Examples
    --------
    >>> vars(build_parser().parse_args(["lda", "species ~ .", "iris", "--prior", "equal"]))["prior"]
    'equal'
    """
    example_commands = (
        'lda "species ~ ." iris',
        'compare "species ~ ." iris --verbs lda,qda --folds 10 --seed 1',
    )
    parser = _MainParser(
        prog="discrim",
        description="Discriminant analysis from a formula and a table.",
        epilog=_format_examples(example_commands)
        + "\n\ndiscrim VERB --help shows the options of a verb and an example.",
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
    """Return the parser of a verb, which is a subparser of the parser of the whole command line."""
    choices = next(
        action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    verb_parser: Parser = choices[verb]
    return verb_parser


def _add_verb(verbs: Any, verb: Verb) -> None:
    """Add a subparser for a verb, with its options, usage and examples.

    Parameters
    ----------
    verbs : subparsers action of argparse
    verb : Verb
    """
    # Not at the top, because the general help needs no options of verbs.
    from discrim.cli.options import add_arguments, respell_option

    parser = verbs.add_parser(
        verb.name,
        help=verb.description,
        description=f"{verb.description[0].upper()}{verb.description[1:]}.",
        argument_default=argparse.SUPPRESS,
        verb=verb.name,
    )
    parser.rewrite = partial(respell_option, verb.name)
    add_arguments(parser, verb.name)
    positional = [action for action in parser._actions if not action.option_strings]
    format_by_nargs = {None: "{}", "?": "[{}]", "+": "{} ..."}
    positional_text = " ".join(format_by_nargs[action.nargs].format(action.metavar) for action in positional)
    parser.usage = f"discrim {verb.name} {positional_text} [OPTION ...]"
    parser.epilog = _format_examples(verb.examples) + _format_value_help(verb.name)
    if any(action.dest == "data" for action in positional):
        names = ", ".join(datasets.names())
        parser.epilog += "".join(f"\n\n{text.format(names=names)}" for text in _DATA_HELP)


_VALUE_HELP = (
    "X is a number, also written as a fraction such as 1/3; N is an integer, X,... is a list, and "
    "CLASS=X,... is a number for each class."
)


def _format_value_help(verb: str) -> str:
    """Return the help on values of options, with the specifications that are accepted."""
    from discrim.cli.options import sources_of, specifications_help

    calls = specifications_help(verb)
    wrapped = [
        line
        for call in calls
        for line in textwrap.wrap(call, help_width() - 2, initial_indent="  ", subsequent_indent="      ")
    ]
    heading = "\n\nSpecifications with their defaults, which Python's help() describes:\n"
    return f"\n\n{_VALUE_HELP}" * bool(sources_of(verb)) + (heading + "\n".join(wrapped)) * bool(calls)


def _format_examples(commands: Sequence[str]) -> str:
    """Format example commands, without the initial "discrim", as indented lines below a heading."""
    heading = "example:" if len(commands) == 1 else "examples:"
    width = help_width() - 2
    return "\n".join([heading, *(command_lines(f"discrim {command}", width) for command in commands)])


def show_datasets(verb: str, options: dict[str, Any]) -> None:
    """List the data sets of the package, or write one as CSV to standard output or to a file.

    Raises a DataError for an unknown name.
    """
    name = options.get("name")
    target = options.get("out")
    if name is None:
        if target is not None:
            raise DataError(
                "--out requires the name of a data set.",
                hint="Write discrim datasets iris --out iris.csv, for example.",
            )
        write_output(_format_dataset_list())
        return
    if name not in datasets.names():
        raise DataError(
            f"There is no data set {name!r} in the package.", hint=choices_hint(name, datasets.names())
        )
    if target is None:
        write_output(datasets.text(name))
        return
    check_writable(target)
    write_to_file(target, datasets.text(name).encode("utf-8"))


def _format_dataset_list() -> str:
    """Format the list of data sets with their sizes, classes and descriptions."""
    datasets_by_name = {name: datasets.ABOUT[name] for name in datasets.names()}
    rows = [("name", "rows", "columns", "classes")]
    rows += [
        (name, str(dataset.rows), str(dataset.columns), dataset.classes)
        for name, dataset in datasets_by_name.items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = []
    width = help_width() - 2
    for row, description in zip(
        rows, ["", *(dataset.what for dataset in datasets_by_name.values())], strict=True
    ):
        first = f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  "
        classes = textwrap.wrap(row[3], width - len(first))
        lines += [first + classes[0], *(" " * len(first) + line for line in classes[1:])]
        lines += textwrap.wrap(description, width, initial_indent="    ", subsequent_indent="    ")
    hint = "discrim datasets NAME writes a data set as CSV. NAME can also be used as DATA."
    return "\n".join([*lines, "", *textwrap.wrap(hint, width)]) + "\n"
