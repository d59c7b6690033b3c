"""What the command line takes: verbs, their options, and how these are written."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from discrim import datasets
from discrim.cli_streams import say, write
from discrim.errors import PriorError
from discrim.models.registry import MODELS, resolve

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = [
    "build_parser",
    "collinear_argument",
    "linear_arguments",
    "logistic_arguments",
    "naive_arguments",
    "neighbour_arguments",
    "parse_prior",
    "perceptron_arguments",
    "quadratic_arguments",
    "regularized_arguments",
    "shrunken_arguments",
]

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

_PRIOR_HELP = "equal; or CLASS=P,CLASS=P,...; or P,P,... in the order of the classes; P may be 1/3"

_STRUCTURES = ["diagonal", "shrunk", "spherical"]
_STRUCTURE_HELP = "diagonal: no correlations; shrunk: towards a sphere; spherical: one variance"
_STANDARDIZE_HELP = "shrink columns over their standard deviations within classes"

_DIVISORS = ["moment", "mle"]
_DIVISOR_HELP = "divisor of the covariance"

_SHRINKAGE_HELP = "of shrunk: 0 to 1, oas, ledoit-wolf or loo; of diagonal: 0 to 1, strimmer or loo"


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
            verb.add_argument("--prior", help=_PRIOR_HELP)
        if model.weights:
            verb.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")
    _add_predict(verbs)
    return parser


def linear_arguments(lda: argparse.ArgumentParser) -> None:
    """Add the options of lda."""
    pinv = "; pinv: pooled, with the inverse of Moore and Penrose"
    lda.add_argument("--covariance", choices=["pooled", *_STRUCTURES, "pinv"], help=_STRUCTURE_HELP + pinv)
    lda.add_argument("--ncomp", type=int, help="number of discriminants the rule uses")
    _add_gaussian(lda)
    collinear_argument(lda)


def quadratic_arguments(qda: argparse.ArgumentParser) -> None:
    """Add the options of qda."""
    qda.add_argument("--covariance", choices=["full", *_STRUCTURES], help=_STRUCTURE_HELP)
    _add_gaussian(qda)


def _add_gaussian(gaussian: argparse.ArgumentParser) -> None:
    """Add what lda and qda share."""
    gaussian.add_argument("--shrinkage", type=_number_or_word, help=_SHRINKAGE_HELP)
    gaussian.add_argument("--grid", type=_numbers, metavar="G,...", help="what --shrinkage loo tries")
    gaussian.add_argument("--standardize", action="store_true", help=_STANDARDIZE_HELP)
    gaussian.add_argument(
        "--method", choices=["moment", "mle", "t", "mcd"], help="divisor of the covariance, or a robust one"
    )
    gaussian.add_argument("--nu", type=_degrees, help="degrees of freedom of --method t; or estimate")
    gaussian.add_argument("--scatter", choices=["covariance", "scale"], help="what --method t gives")
    gaussian.add_argument("--support-fraction", type=float, help="share of the rows of --method mcd")


def regularized_arguments(rda: argparse.ArgumentParser) -> None:
    """Add the options of rda, with how its pair is chosen."""
    for name, text in (("--alpha", "1: a covariance for each class"), ("--gamma", "the ridge; see rda()")):
        rda.add_argument(name, type=float, help=f"{text}; chosen by cross-validation if not given")
    rda.add_argument("--parametrization", choices=["esl", "friedman", "klar"], help="what is mixed")
    rda.add_argument("--folds", type=_folds, help='folds of the choice, or "loo"')
    rda.add_argument("--cv", type=_folds, help=argparse.SUPPRESS)
    rda.add_argument("--grid", type=_numbers, metavar="G,...", help="what is tried for what is not given")
    rda.add_argument("--select", choices=["min", "1se"], help="least error, or simplest within one SE of it")
    rda.add_argument("--seed", type=int, help="deals the rows to folds")
    rda.add_argument("--standardize", action="store_true", help=_STANDARDIZE_HELP)
    rda.add_argument("--method", choices=_DIVISORS, help=_DIVISOR_HELP)


def naive_arguments(naive: argparse.ArgumentParser) -> None:
    """Add the options of naive-bayes."""
    for name, text in (("--kernel", "a kernel density each"), ("--counts", "one multinomial")):
        naive.add_argument(
            name, type=_columns, metavar="NAME,...", help=f"columns with {text}; all: every one"
        )
    naive.add_argument("--bandwidth", type=_bandwidth, help="of the kernels: nrd0, nrd, or a number")
    naive.add_argument("--laplace", type=float, help="added to each count of a level or word")
    naive.add_argument("--smoothing", type=float, help="share of the largest variance added to each")
    naive.add_argument("--unseen", choices=["raise", "missing"], help="levels that the fit has not seen")
    naive.add_argument("--method", choices=_DIVISORS, help=_DIVISOR_HELP)


def shrunken_arguments(centroids: argparse.ArgumentParser) -> None:
    """Add the options of shrunken-centroids."""
    centroids.add_argument("--threshold", type=float, help="chosen by cross-validation if not given")
    centroids.add_argument(
        "--offset", type=_offset, help="added to each column's spread: a number, or median"
    )
    centroids.add_argument("--folds", type=int, help="folds of the choice")
    centroids.add_argument("--cv", type=int, help=argparse.SUPPRESS)
    centroids.add_argument("--select", choices=["min", "1se"], help="least error, or within a standard error")
    centroids.add_argument("--seed", type=int, help="deals the rows to folds")


def neighbour_arguments(nearest: argparse.ArgumentParser) -> None:
    """Add the options of knn."""
    nearest.add_argument("--k", type=int, help="chosen by leave-one-out if not given")
    nearest.add_argument("--grid", type=_whole_numbers, metavar="K,...", help="what k is chosen from")
    nearest.add_argument("--metric", help="euclidean, mahalanobis, or another of scipy's cdist")
    nearest.add_argument(
        "--no-scale", dest="scale", action="store_false", help="columns as they are, not over their SD"
    )


def logistic_arguments(logistic: argparse.ArgumentParser) -> None:
    """Add the options of logistic."""
    logistic.add_argument("--reference", metavar="CLASS", help="class that the log odds are against")
    logistic.add_argument(
        "--bias-reduction", action="store_true", help="Firth's penalty; finite where classes are separated"
    )
    logistic.add_argument(
        "--separation", choices=["raise", "warn"], help="what to do where a hyperplane separates classes"
    )
    collinear_argument(logistic)


def collinear_argument(linear: argparse.ArgumentParser) -> None:
    """Add what a verb of lines does with columns that others determine."""
    linear.add_argument("--collinear", choices=["raise", "drop"], help="what to do with collinear columns")


def perceptron_arguments(perceptron: argparse.ArgumentParser) -> None:
    """Add the options of perceptron."""
    perceptron.add_argument("--step", type=float, help="scale of the coefficients")
    perceptron.add_argument("--maxiter", type=int, help="most passes over the rows")
    perceptron.add_argument("--seed", type=int, help="shuffles the rows anew for each pass")


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
    verb.add_argument("--sections", type=_names, metavar="NAME,...", help="only these parts of the summary")
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
    predict.add_argument("--prior", help=_PRIOR_HELP)
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


def _folds(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _degrees(text: str) -> float | None:
    try:
        return None if text == "estimate" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor estimate: give one of them"
        ) from None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _columns(text: str) -> list[str] | bool:
    return True if text.strip() == "all" else _names(text)


def _bandwidth(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _offset(text: str) -> float | str:
    try:
        return text if text == "median" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor median: give one of them"
        ) from None


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers, such as 0,0.1,0.5") from None


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers, such as 1,3,5") from None


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def parse_prior(text: str) -> str | dict[str, float] | list[float]:
    """Read a prior as it is typed on the command line.

    Parameters
    ----------
    text : str
        ``equal``, ``class=number,...`` or ``number,...``; a number may be a fraction.

    Returns
    -------
    str, dict of str to float, or list of float

    Raises
    ------
    PriorError
        A part is not a number, a class is named twice, or some parts name a class and some do not.

    Examples
    --------
    >>> parse_prior("setosa=1/2,versicolor=.25,virginica=.25")
    {'setosa': 0.5, 'versicolor': 0.25, 'virginica': 0.25}
    >>> parse_prior("1/3,1/3,1/3")
    [0.3333333333333333, 0.3333333333333333, 0.3333333333333333]
    """
    if text.strip() == "equal":
        return "equal"
    parts = text.split(",")
    named = ["=" in part for part in parts]
    if not any(named):
        return [_probability(part, text) for part in parts]
    if not all(named):
        part = parts[named.index(False)]
        raise PriorError(f"prior {text!r}: {part!r} names no class; write it as CLASS=P")
    prior: dict[str, float] = {}
    for part in parts:
        label, _, number = part.rpartition("=")
        label = label.strip()
        if label in prior:
            raise PriorError(f"prior {text!r}: class {label!r} is named twice; name each class once")
        prior[label] = _probability(number, text)
    return prior


def _probability(number: str, text: str) -> float:
    try:
        # A fraction of two integers is exact; of one number with an exponent it would have all of its digits.
        value = float(Fraction(number.strip()) if "/" in number else number)
    except (ValueError, ArithmeticError):
        value = math.nan
    if not math.isfinite(value):
        raise PriorError(f"prior {text!r}: {number.strip()!r} is not a number; write {_PRIOR_HELP}")
    return value
