"""What the command line takes: the verbs, what they share, and what it says of itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from discrim import datasets
from discrim.cli.streams import say, write
from discrim.cli.values import PRIOR_HELP, names
from discrim.models.registry import MODELS, resolve

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["build_parser"]

_DATA_HELP = f"""\
DATA is the name of a table that comes with the package ({", ".join(datasets.names())}), a file, a folder
with all files below it, or a pattern such as "data/2024-*.parquet", which is quoted. Folders, patterns and
files that are large are read part by part, as often as is needed, so that they may be larger than the
memory; their files end in .csv, .tsv or .parquet. A folder named year=2024 adds the column year.
A file that ends in .parquet or .pq is read as Parquet (needs pyarrow or polars), one in .tsv as columns
set apart by tabs, any other as CSV; - is CSV from standard input. Text is UTF-8 and may be compressed
(.gz, .bz2, .xz, .zip, .zst, or a .tar of one file). The first row names the columns; an empty field, NA,
NaN, null, None and the other signs that pandas knows are missing values. Write ./iris for a file that has
the name of a table. Classes, and what stands in C(), are taken as they are written: 007 is not 7.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like all the others: one line, exit status 2."""

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):
            # What begins with a minus and is no number is taken for another option.
            option = message.split()[1].partition("/")[0].rstrip(":")
            message += f"; one that begins with - is joined to it by =, as in {option}=-1"
        say(f"{message}: see {self.prog} --help")
        self.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and refuse ``--`` after an equals sign, which argparse takes for no value at all."""
        found, rest = super().parse_known_args(args, namespace)
        for name, value in vars(found).items():
            if value == []:
                self.error(f"argument {name}: -- is no value of it")
        return found, rest

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help as all other text is printed."""
        write(self.format_help())


class _Version(argparse.Action):
    """Print the version, which is only looked up when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *args: object, **kwargs: object) -> NoReturn:
        import discrim

        write(f"discrim {discrim.__version__}\n")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line.

    An option that is not given is not in the namespace, so that each default is stated once, by the verb.

    Returns
    -------
    argparse.ArgumentParser

    Examples
    --------
    >>> vars(build_parser().parse_args(["lda", "species ~ .", "iris", "--prior", "equal"]))["prior"]
    'equal'
    """
    parser = _Parser(prog="discrim", description="Discriminant analysis from a formula.", allow_abbrev=False)
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="print the version and exit"
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)
    for model in MODELS:
        if model.command is None:
            continue
        verb = _add_verb(verbs, model.verb.replace("_", "-"), model.command)
        if model.arguments is not None:
            resolve(model.arguments)(verb)
        if model.posteriors:
            verb.add_argument("--prior", help=PRIOR_HELP)
        if model.weights:
            verb.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")
    _add_predict(verbs)
    return parser


def _add_verb(verbs: Any, name: str, text: str) -> argparse.ArgumentParser:
    """Add the parser of a verb, with what all verbs share."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=_DATA_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    verb.add_argument("formula", metavar="FORMULA", help='classes ~ columns, as "species ~ ."; quote it')
    verb.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    verb.add_argument("--na", dest="na_action", choices=["drop", "raise"], help="rows with missing values")
    verb.add_argument("--sections", type=names, metavar="NAME,...", help="only these parts of the summary")
    verb.add_argument("--format", default="text", choices=["text", "html", "latex", "markdown"])
    verb.add_argument("--save", metavar="FILE", help="write the fit to a file, for discrim predict")
    verb.add_argument("--force", action="store_true", help="let --save replace a file that is no fit")
    return verb


def _add_predict(verbs: Any) -> None:
    """Add the parser of predict, whose output is CSV."""
    predict = verbs.add_parser(
        "predict",
        help="labels of new rows by a fit that --save wrote",
        description="Labels of the rows of DATA, as CSV: a line for each, empty where a value is missing.",
        epilog=_DATA_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    predict.add_argument("fit", metavar="FIT", help="file that --save wrote")
    predict.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    predict.add_argument("--prior", help=PRIOR_HELP)
    predict.add_argument(
        "--unseen", choices=["raise", "missing"], help="rows with levels that the fit has not seen"
    )
    predict.add_argument(
        "--out",
        metavar="PATH",
        help="write to a file .parquet or .csv, or to a new folder of Parquet, and not to standard output; "
        "it is there when it is whole",
    )
    shown = predict.add_mutually_exclusive_group()
    shown.add_argument("--proba", action="store_true", help="the posterior of each class as well")
    shown.add_argument(
        "--augment", action="store_true", help="the table itself, label and posteriors beside it"
    )
