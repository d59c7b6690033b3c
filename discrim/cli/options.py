"""The options that the verbs of models have of their own; the registry says which function adds which.

How the command line is parsed: help that fits the terminal, mistakes answered with what is nearest.

The options that verbs share, in the groups that their help has.

The arguments of the verbs that are no models.
"""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from discrim.cli.output import say, write_output
from discrim.cli.values import (
    PRIOR_HELP,
    bandwidth,
    columns,
    components,
    degrees,
    dimensions,
    fold_count,
    folds,
    names,
    number_or_word,
    numbers,
    offset,
    planes,
    separator,
    text_width,
    whole_numbers,
)
from discrim.models.registry import BY_VERB

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_STRUCTURES = ["diagonal", "shrunk", "spherical"]
_STRUCTURE_HELP = "diagonal: no correlations; shrunk: towards a sphere; spherical: one variance"
_STANDARDIZE_HELP = "shrink columns over their standard deviations within classes"

_DIVISORS = ["moment", "mle"]
_DIVISOR_HELP = "divisor of the covariance"

_SELECT_HELP = "least deviance of rows left out, or largest strength within one SE of it"

_SHRINKAGE_HELP = (
    "of shrunk: 0 to 1, oas, ledoit-wolf or loo; of diagonal: 0 to 1, strimmer or loo; of lda's correlation: "
    "0 to 1 or strimmer"
)


def linear_arguments(lda: Any) -> None:
    """Add the options of lda."""
    more = "; correlation: correlations towards none; pinv: pooled, with the inverse of Moore and Penrose"
    lda.add_argument(
        "--covariance",
        choices=["pooled", *_STRUCTURES, "correlation", "pinv"],
        metavar="KIND",
        help=f"pooled; {_STRUCTURE_HELP}{more}",
    )
    lda.add_argument(
        "--variance-shrinkage",
        type=number_or_word,
        metavar="H",
        help="of the variances of correlation: 0 to 1, or strimmer",
    )
    lda.add_argument("--ncomp", type=int, help="number of discriminants the rule uses")
    _add_gaussian(lda)
    collinear_argument(lda)


def quadratic_arguments(qda: Any) -> None:
    """Add the options of qda."""
    factor = "; factor: a few large variances, one beyond"
    qda.add_argument("--covariance", choices=["full", *_STRUCTURES, "factor"], help=_STRUCTURE_HELP + factor)
    qda.add_argument("--dimensions", type=dimensions, help="of factor: a number, cattell or bic")
    qda.add_argument("--form", help="of factor: what classes have of their own, as AkjBkQkDk")
    qda.add_argument("--threshold", type=float, help="of cattell: share of the largest fall")
    _add_gaussian(qda)


def _add_gaussian(gaussian: Any) -> None:
    """Add what lda and qda share."""
    gaussian.add_argument("--shrinkage", type=number_or_word, help=_SHRINKAGE_HELP)
    gaussian.add_argument("--grid", type=numbers, metavar="G,...", help="what --shrinkage loo tries")
    gaussian.add_argument("--standardize", action="store_true", help=_STANDARDIZE_HELP)
    gaussian.add_argument(
        "--method", choices=["moment", "mle", "t", "mcd"], help="divisor of the covariance, or a robust one"
    )
    gaussian.add_argument("--missing", choices=["drop", "em"], help="rows with missing values; em uses them")
    gaussian.add_argument("--nu", type=degrees, help="degrees of freedom of --method t; or estimate")
    gaussian.add_argument("--scatter", choices=["covariance", "scale"], help="what --method t gives")
    gaussian.add_argument("--support-fraction", type=float, help="share of the rows of --method mcd")


def regularized_arguments(rda: Any) -> None:
    """Add the options of rda, with how its pair is chosen."""
    for name, text in (("--alpha", "1: a covariance for each class"), ("--gamma", "the ridge; see rda()")):
        rda.add_argument(name, type=float, help=f"{text}; chosen by cross-validation if not given")
    rda.add_argument("--parametrization", choices=["esl", "friedman", "klar"], help="what is mixed")
    rda.add_argument("--folds", type=folds, help='folds of the choice, or "loo"')
    rda.add_argument("--cv", type=folds, help=argparse.SUPPRESS)
    rda.add_argument("--grid", type=numbers, metavar="G,...", help="what is tried for what is not given")
    rda.add_argument("--select", choices=["min", "1se"], help="least error, or simplest within one SE of it")
    rda.add_argument("--seed", type=int, help="deals the rows to folds")
    rda.add_argument("--standardize", action="store_true", help=_STANDARDIZE_HELP)
    rda.add_argument("--method", choices=_DIVISORS, help=_DIVISOR_HELP)


def naive_arguments(naive: Any) -> None:
    """Add the options of naive-bayes."""
    for name, text in (("--kernel", "a kernel density each"), ("--counts", "one multinomial")):
        naive.add_argument(
            name, type=columns, metavar="NAME,...", help=f"columns with {text}; all: every one"
        )
    naive.add_argument("--bandwidth", type=bandwidth, help="of the kernels: nrd0, nrd, or a number")
    naive.add_argument("--laplace", type=float, help="added to each count of a level or word")
    naive.add_argument("--smoothing", type=float, help="share of the largest variance added to each")
    naive.add_argument("--unseen", choices=["raise", "missing"], help="levels that the fit has not seen")
    naive.add_argument(
        "--missing", choices=["drop", "available"], help="rows with missing values; available uses them"
    )
    naive.add_argument("--method", choices=_DIVISORS, help=_DIVISOR_HELP)


def shrunken_arguments(centroids: Any) -> None:
    """Add the options of shrunken-centroids."""
    centroids.add_argument("--threshold", type=float, help="chosen by cross-validation if not given")
    centroids.add_argument("--offset", type=offset, help="added to each column's spread: a number, or median")
    centroids.add_argument("--folds", type=int, help="folds of the choice")
    centroids.add_argument("--cv", type=int, help=argparse.SUPPRESS)
    centroids.add_argument("--select", choices=["min", "1se"], help="least error, or within a standard error")
    centroids.add_argument("--seed", type=int, help="deals the rows to folds")


def kernel_arguments(dense: Any) -> None:
    """Add the options of kernel-density."""
    dense.add_argument("--bandwidth", type=bandwidth, help='radius in the metric, or "normal"; else chosen')
    dense.add_argument(
        "--kernel", choices=["normal", "epanechnikov", "biweight", "triweight", "uniform"], help="its shape"
    )
    dense.add_argument("--metric", choices=["mahalanobis", "diagonal", "euclidean"], help="what is near")
    dense.add_argument("--covariance", choices=["pooled", "class"], help="whose covariance the metric is of")
    dense.add_argument("--select", choices=["likelihood", "error"], help="what chooses a bandwidth")
    dense.add_argument("--grid", type=numbers, metavar="R,...", help="bandwidths to choose from")


def mixture_arguments(mixed: Any) -> None:
    """Add the options of mixture."""
    mixed.add_argument("--components", type=components, help='a number for each class, or "bic"')
    mixed.add_argument("--covariance", help="full, diagonal, pooled, bic, or a name of mclust, as VEV")
    mixed.add_argument("--over", choices=["class", "classes"], help="what a form is common to")
    mixed.add_argument("--most", type=int, help="components up to which bic tries")
    mixed.add_argument("--starts", type=int, help="partitions from which EM is tried")
    mixed.add_argument("--seed", type=int, help="draws the partitions")
    mixed.add_argument("--tol", type=float, help="gain of log-likelihood a row at which EM ends")
    mixed.add_argument("--maxiter", type=int, help="most steps of EM")


def pls_arguments(partial: Any) -> None:
    """Add the options of pls."""
    partial.add_argument("--components", type=int, help="chosen by cross-validation if not given")
    partial.add_argument(
        "--rule", choices=["lda", "max", "centroid"], help="what decides from the scores; lda has posteriors"
    )
    partial.add_argument(
        "--no-scale", dest="scale", action="store_false", help="columns as they are, not over their SD"
    )
    partial.add_argument(
        "--indicators", choices=["scaled", "centred"], help="indicators of classes over their SD, or not"
    )
    partial.add_argument("--algorithm", choices=["nipals", "simpls"], help="how columns are deflated")
    partial.add_argument("--grid", type=whole_numbers, metavar="A,...", help="numbers of components to try")
    partial.add_argument("--folds", type=int, help="folds of the choice")
    partial.add_argument("--cv", type=int, help=argparse.SUPPRESS)
    partial.add_argument("--select", choices=["min", "1se"], help="least error, or within a standard error")
    partial.add_argument("--seed", type=int, help="deals the rows to folds")


def sparse_arguments(sparse: Any) -> None:
    """Add the options of sparse-lda."""
    sparse.add_argument("--nonzero", type=whole_numbers, metavar="Q,...", help="columns of each direction")
    sparse.add_argument("--penalty", type=numbers, metavar="P,...", help="chosen by folds if not given")
    sparse.add_argument("--ridge", type=float, help="of the squared coefficients")
    sparse.add_argument("--ncomp", type=int, help="number of directions")
    sparse.add_argument("--folds", type=int, help="folds of the choice")
    sparse.add_argument("--cv", type=int, help=argparse.SUPPRESS)
    sparse.add_argument("--grid", type=numbers, metavar="P,...", help="penalties to choose from")
    sparse.add_argument("--n-penalties", type=int, help="how many without --grid")
    sparse.add_argument("--select", choices=["min", "1se"], help="least error, or within a standard error")
    sparse.add_argument("--seed", type=int, help="deals the rows to folds")


def neighbour_arguments(nearest: Any) -> None:
    """Add the options of knn."""
    nearest.add_argument("--k", type=int, help="chosen by leave-one-out if not given")
    nearest.add_argument("--grid", type=whole_numbers, metavar="K,...", help="what k is chosen from")
    nearest.add_argument("--metric", help="euclidean, mahalanobis, or another of scipy's cdist")
    nearest.add_argument(
        "--no-scale", dest="scale", action="store_false", help="columns as they are, not over their SD"
    )


def logistic_arguments(logistic: Any) -> None:
    """Add the options of logistic."""
    logistic.add_argument("--reference", metavar="CLASS", help="class that the log odds are against")
    logistic.add_argument(
        "--bias-reduction", action="store_true", help="Firth's penalty; finite where classes are separated"
    )
    logistic.add_argument(
        "--separation", choices=["raise", "warn"], help="what to do where a hyperplane separates classes"
    )
    logistic.add_argument(
        "--penalty", choices=["ridge", "lasso", "elastic_net"], help="draw coefficients to zero"
    )
    logistic.add_argument("--strength", type=float, help="of the penalty; chosen by folds if not given")
    logistic.add_argument("--l1-ratio", type=float, help="share of the lasso in the elastic net")
    logistic.add_argument("--grid", type=numbers, metavar="S,...", help="strengths to choose from")
    logistic.add_argument("--folds", type=int, help="folds of the choice")
    logistic.add_argument("--select", choices=["min", "1se"], help=_SELECT_HELP)
    logistic.add_argument("--seed", type=int, help="deals the rows to folds")
    collinear_argument(logistic)


def collinear_argument(linear: Any) -> None:
    """Add what a verb of lines does with columns that others determine."""
    linear.add_argument("--collinear", choices=["raise", "drop"], help="what to do with collinear columns")


def perceptron_arguments(perceptron: Any) -> None:
    """Add the options of perceptron."""
    perceptron.add_argument("--step", type=float, help="scale of the coefficients")
    perceptron.add_argument("--maxiter", type=int, help="most passes over the rows")
    perceptron.add_argument("--seed", type=int, help="shuffles the rows anew for each pass")
    perceptron.add_argument(
        "--start",
        type=planes,
        metavar="C,B,...",
        help="first constant and coefficients, as --start=5,-2,1; of more classes with ';' between them",
    )


def flexible_arguments(flexible: Any) -> None:
    """Add the options of fda."""
    flexible.add_argument(
        "--engine",
        required=True,
        metavar="NAME",
        help="a regression of scikit-learn with its options, quoted, as \"KernelRidge(kernel='rbf')\"",
    )
    flexible.add_argument("--ncomp", type=int, metavar="N", help="number of axes that are kept")


_WIDEST = 100
"""Columns of a help text: longer lines are hard to read, however wide the terminal is."""

_NARROWEST = 40


def help_width() -> int:
    """Columns of a help text: those of the terminal, within reason."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that fits the terminal; of a description lines that begin with two blanks stay as they are."""

    def __init__(self, prog: str) -> None:
        width = help_width()
        super().__init__(prog, max_help_position=26 if width >= 80 else 18, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for line in text.splitlines():
            raw = line.startswith("  ") or not line
            lines += [line] if raw else textwrap.wrap(line, width, break_on_hyphens=False)
        return "\n".join(indent + line for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser whose errors look like all the others: one line, exit status 2.

    Parameters
    ----------
    verb : str, optional
        The verb whose arguments it takes; without it, it takes a verb.
    takes : str, optional
        What the verb takes beside options, in words.
    **options
        As of `argparse.ArgumentParser`.
    """

    color = False
    """Python 3.14 would colour help by control characters, which a terminal is shown as escapes here."""

    def __init__(self, *, verb: str | None = None, takes: str = "", **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)
        self.verb, self.takes = verb, takes
        self.color = False

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong, and where help is."""
        if message.endswith("expected one argument"):
            # What begins with a minus and is no number is taken for another option.
            option = message.split()[1].partition("/")[0].rstrip(":")
            message += f"; one that begins with - is joined to it by =, as in {option}=-1"
        self.refuse(f"{message}{' See' if message.endswith('?') else ': see'} {self.prog} --help")

    def refuse(self, message: str) -> NoReturn:
        """Say in one line what is wrong."""
        say(message)
        self.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and refuse what is left over, and ``--`` after an equals sign, which would be no value."""
        if self.verb is None and args and args[0].startswith("-") and args[0] not in self.options():
            self._refuse_option(args[0])
        found, rest = super().parse_known_args(args, namespace)
        for name, value in vars(found).items():
            if value == []:
                self.error(f"argument {name}: -- is no value of it")
        if rest:
            self._refuse_rest(rest)
        return found, rest

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help as all other text is printed."""
        write_output(self.format_help())

    def options(self) -> list[str]:
        """The options that it knows, as they are typed."""
        return [
            option
            for action in self._actions
            if action.help is not argparse.SUPPRESS
            for option in action.option_strings
        ]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            near = nearest(value, known)
            if near is not None:
                self.refuse(f"no verb {value!r}: did you mean {near}?")
            self.error(f"no verb {value!r}: there are {', '.join(known)}")
        way_out = one_of(value, known)
        raise argparse.ArgumentError(action, f"{value!r} is not known{way_out}")

    def _refuse_rest(self, rest: Sequence[str]) -> NoReturn:
        """Refuse what no argument of the verb takes."""
        wrong = next((word for word in rest if word.startswith("-") and len(word) > 1), None)
        if wrong is not None:
            self._refuse_option(wrong)
        takes = f"{self.verb} takes {self.takes}" if self.takes else self.prog
        hint = 'quote a formula, as in "species ~ .", and put options last'
        self.error(f"{takes}, and {rest[0]!r} is one more: {hint}")

    def _refuse_option(self, word: str) -> NoReturn:
        option = word.partition("=")[0]
        near = nearest(option, self.options())
        whose = f" of {self.verb}" if self.verb else ""
        if near is not None:
            self.error(f"no option {option!r}{whose}: did you mean {near}?")
        self.error(f"no option {option!r}{whose}")


def nearest(word: Any, known: Iterable[str]) -> str | None:
    """What was meant by a word, of those that are known; None where no one is near."""
    from difflib import get_close_matches

    # A long word is no slip of the hand, and would take its time.
    text = str(word)[:200].lower().replace("_", "-")
    by_form = {each.lower().replace("_", "-"): each for each in known}
    found = get_close_matches(text, by_form, n=1)
    return by_form[found[0]] if found else None


def one_of(word: Any, known: Sequence[str]) -> str:
    """The way out of a word that is none of those known, to stand behind it."""
    near = nearest(word, known)
    meant = f": did you mean {near}? There are " if near is not None else ": give one of "
    return meant + ", ".join(known)


def command_lines(command: str, width: int) -> str:
    r"""A command indented by two blanks, in lines that end in a backslash where it is too long for one.

    Examples
    --------
    >>> print(command_lines('discrim lda "species ~ ." iris --prior equal', 40))
      discrim lda "species ~ ." iris \
          --prior equal
    """
    pieces = re.findall(r'--\S+(?: (?!--)(?:"[^"]*"|\S+))?|"[^"]*"|\S+', command)
    lines = [f"  {pieces[0]}"]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {piece}")
        else:
            lines[-1] += f" {piece}"
    return "\n".join(lines)


FITTED, READ, SHOWN, WRITTEN = "what is fitted", "how DATA is read", "what is shown", "what is written"


def add_fitted(verb: argparse.ArgumentParser, formula: bool = True) -> Any:
    """Add formula, table and what is done with missing values; give the group."""
    group = verb.add_argument_group(FITTED)
    if formula:
        group.add_argument("formula", metavar="FORMULA", help='classes ~ columns, as "species ~ ."; quote it')
    group.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    group.add_argument("--na", dest="na_action", choices=["drop", "raise"], help="rows with missing values")
    return group


def add_counting(group: Any, *, posteriors: bool, weights: bool) -> None:
    """Add the prior and the weights of rows, where the model has them."""
    if posteriors:
        group.add_argument("--prior", help=PRIOR_HELP)
    if weights:
        group.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")


def add_reading(verb: argparse.ArgumentParser) -> None:
    """Add how CSV is written."""
    group = verb.add_argument_group(READ)
    group.add_argument(
        "--sep",
        type=separator,
        metavar="SIGN",
        help="between the fields of CSV: a comma if not given; ; or tab",
    )
    group.add_argument(
        "--decimal",
        choices=[".", ","],
        metavar="SIGN",
        help="decimal sign of its numbers: a point if not given",
    )


def add_shown(verb: argparse.ArgumentParser, *, sections: bool = True) -> Any:
    """Add what of a summary is shown, and how; give the group."""
    group = verb.add_argument_group(SHOWN)
    if sections:
        group.add_argument(
            "--sections", type=names, metavar="NAME,...", help="only these parts of the summary"
        )
    group.add_argument(
        "--format",
        choices=["text", "html", "latex", "markdown"],
        help="text if not given; html is a whole page",
    )
    group.add_argument(
        "--width", type=text_width, metavar="N", help="columns of text: those of the terminal, or 100"
    )
    return group


def add_errors(group: Any) -> None:
    """Add error rates beside a summary; a verb that deals rows to folds itself has options for that."""
    group.add_argument(
        "--errors",
        type=names,
        metavar="METHOD,...",
        help="add error rates: apparent, loo, cv, 632+, posterior, ...",
    )
    with suppress(argparse.ArgumentError):
        group.add_argument(
            "--folds", dest="error_folds", type=fold_count, metavar="N", help="folds of --errors cv"
        )
    with suppress(argparse.ArgumentError):
        group.add_argument(
            "--seed", dest="error_seed", type=int, metavar="N", help="deals the rows of --errors cv and 632+"
        )


def add_test(group: Any) -> None:
    """Add rows that a fit has not seen, and that say how good it is."""
    group.add_argument(
        "--test",
        metavar="TABLE",
        help="add what the rows of another table, with their classes, say of the fit: as discrim assess",
    )


def add_written(verb: argparse.ArgumentParser, pictures: Sequence[str] = (), *, planes: bool = True) -> Any:
    """Add the files that are written, with the kinds of pictures that there are; give the group.

    Some pictures are of columns or axes that may be named, unless it is said that none is.
    """
    group = verb.add_argument_group(WRITTEN)
    group.add_argument(
        "--output",
        metavar="FILE",
        help="the summary, and not to standard output; .html, .tex and .md say its format",
    )
    if pictures:
        group.add_argument("--plot", metavar="FILE", help="a picture: .png, .svg or .pdf")
        group.add_argument(
            "--kind", choices=pictures, metavar="NAME", help=f"what --plot draws: {', '.join(pictures)}"
        )
    if pictures and planes:
        group.add_argument(
            "--columns",
            type=names,
            metavar="NAME,...",
            help="columns that --plot draws, of kinds that take some",
        )
        group.add_argument(
            "--axes", type=names, metavar="NAME,NAME", help="axes that --plot draws, such as LD1,LD3"
        )
    return group


def add_saving(group: Any) -> None:
    """Add the file of a fit."""
    group.add_argument("--save", metavar="FILE", help="the fit, for discrim predict")
    group.add_argument("--force", action="store_true", help="let --save replace a file that is no fit")


_PICTURES = [kind.name for kind in BY_VERB["lda"].pictures]
"""Kinds of pictures of a linear discriminant analysis."""

_JUDGED = ("confusion", "roc", "calibration")
"""Kinds of pictures of an assessment."""


def stepwise_arguments(verb: Parser) -> None:
    """Add the arguments of stepwise."""
    fitted = add_fitted(verb)
    fitted.add_argument("--direction", choices=["forward", "backward", "both"], help="both if not given")
    fitted.add_argument(
        "--criterion",
        choices=["wilks", "mahalanobis", "maxminf", "rao", "cv", "aic", "bic"],
        help="what a term that enters makes best; cv: error of --verb left out; aic, bic: of logistic",
    )
    fitted.add_argument("--enter", type=float, metavar="P", help="level of the partial F to enter: 0.15")
    fitted.add_argument("--stay", type=float, metavar="P", help="level beyond which a term leaves: 0.15")
    fitted.add_argument("--include", type=names, metavar="TERM,...", help="terms that are always in")
    fitted.add_argument(
        "--verb",
        dest="model",
        metavar="VERB",
        help='of the final fit, and of cv: lda if not given; with options, as "knn --k 5"',
    )
    fitted.add_argument("--folds", type=fold_count, metavar="N", help="folds of cv: 10 if not given")
    fitted.add_argument("--seed", type=int, metavar="N", help="deals the rows to folds")
    add_counting(fitted, posteriors=False, weights=True)
    add_reading(verb)
    add_errors(add_shown(verb, sections=False))
    add_saving(add_written(verb, _PICTURES))


def compare_arguments(verb: Parser) -> None:
    """Add the arguments of compare."""
    fitted = verb.add_argument_group(FITTED)
    fitted.add_argument(
        "compared",
        nargs="+",
        metavar="FORMULA|FIT",
        help="formulas, quoted; or files of fits that --save wrote",
    )
    fitted.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    fitted.add_argument(
        "--verbs",
        metavar="VERB,...",
        help="models that are fitted to each formula: lda,qda if not given; options may follow each, as in "
        '"lda, knn --k 5"',
    )
    fitted.add_argument("--na", dest="na_action", choices=["drop", "raise"], help="rows with missing values")
    add_counting(fitted, posteriors=True, weights=True)
    fitted.add_argument(
        "--folds",
        "--cv",
        type=fold_count,
        metavar="N",
        help="cross-validate all on the same N folds, pair by pair",
    )
    fitted.add_argument("--repeats", type=fold_count, metavar="N", help="deal the rows to folds N times")
    fitted.add_argument("--seed", type=int, metavar="N", help="deals the rows to folds")
    add_reading(verb)
    add_shown(verb)
    add_written(verb)


def assess_arguments(verb: Parser) -> None:
    """Add the arguments of assess."""
    asked = verb.add_argument_group("what is judged")
    asked.add_argument("fit", metavar="FIT", help="file that --save wrote")
    asked.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    asked.add_argument("--prior", help=f"shares of the classes that figures are for: {PRIOR_HELP}")
    asked.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")
    asked.add_argument(
        "--unseen", choices=["raise", "missing"], help="rows with levels that the fit has not seen"
    )
    asked.add_argument(
        "--missing", choices=["drop", "integrate"], help="rows with missing values: left out if not given"
    )
    add_reading(verb)
    add_shown(verb)
    add_written(verb, _JUDGED, planes=False)


def canonical_arguments(verb: Parser) -> None:
    """Add the arguments of canonical."""
    fitted = add_fitted(verb)
    fitted.add_argument(
        "--convention",
        choices=["mass", "stata", "sas", "spss", "sklearn"],
        help="scale, signs and names of the axes as that program has them",
    )
    fitted.add_argument("--collinear", choices=["raise", "drop"], help="what to do with collinear columns")
    _add_term(fitted)
    add_counting(fitted, posteriors=True, weights=True)
    add_reading(verb)
    add_shown(verb)
    add_written(verb, _PICTURES)


def manova_arguments(verb: Parser) -> None:
    """Add the arguments of manova."""
    fitted = add_fitted(verb)
    _add_term(fitted)
    add_counting(fitted, posteriors=False, weights=True)
    add_reading(verb)
    add_shown(verb, sections=False)
    add_written(verb)


def _add_term(fitted: Any) -> None:
    """Add the term of a model of several factors, and the type of its sums of squares."""
    fitted.add_argument("--term", metavar="TERM", help='of several factors on the left: one, as "sex"')
    fitted.add_argument(
        "--type",
        choices=["1", "2", "3"],
        help="of several factors: each after those before it, after all that do not contain it (2, if not "
        "given), or after all others",
    )


def predict_arguments(verb: Parser) -> None:
    """Add the arguments of predict, whose output is CSV."""
    asked = verb.add_argument_group("what is predicted")
    asked.add_argument("fit", metavar="FIT", help="file that --save wrote")
    asked.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    asked.add_argument("--prior", help=PRIOR_HELP)
    asked.add_argument(
        "--unseen", choices=["raise", "missing"], help="rows with levels that the fit has not seen"
    )
    asked.add_argument(
        "--missing",
        choices=["drop", "integrate"],
        help="rows with missing values: no label, or the label by their other columns",
    )
    add_reading(verb)
    shown = verb.add_argument_group(SHOWN).add_mutually_exclusive_group()
    shown.add_argument("--proba", action="store_true", help="the posterior of each class as well")
    shown.add_argument(
        "--augment", action="store_true", help="the table itself, label and posteriors beside it"
    )
    verb.add_argument_group(WRITTEN).add_argument(
        "--out",
        "--output",
        metavar="PATH",
        help="write to a file .parquet or .csv, or to a new folder of Parquet, and not to standard output; "
        "it is there when it is whole",
    )


def report_arguments(verb: Parser) -> None:
    """Add the arguments of report."""
    fitted = verb.add_argument_group("what is reported")
    fitted.add_argument(
        "reported", metavar="FORMULA|FIT", help="a formula, quoted; or the file of a fit that --save wrote"
    )
    fitted.add_argument(
        "data", nargs="?", metavar="DATA", help="of a formula: name of a table, file, folder or pattern"
    )
    fitted.add_argument(
        "--verb",
        dest="model",
        metavar="VERB",
        help='the model: lda if not given; with options, as "knn --k 5"',
    )
    fitted.add_argument("--na", dest="na_action", choices=["drop", "raise"], help="rows with missing values")
    add_counting(fitted, posteriors=True, weights=True)
    add_reading(verb)
    written = verb.add_argument_group(WRITTEN)
    written.add_argument("--out", "--output", required=True, metavar="FILE", help="the page, .html")
    written.add_argument("--title", metavar="TEXT", help="its title, in place of the model's name")


def datasets_arguments(verb: Parser) -> None:
    """Add the arguments of datasets."""
    verb.add_argument_group(SHOWN).add_argument(
        "name", nargs="?", metavar="NAME", help="the table to write as CSV; without it, all are listed"
    )
    verb.add_argument_group(WRITTEN).add_argument(
        "--output", metavar="FILE", help="and not to standard output"
    )
