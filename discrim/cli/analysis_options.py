"""The arguments of the verbs that are no models."""

from __future__ import annotations

from typing import Any

from discrim.cli.parser import Parser
from discrim.cli.shared_options import (
    FITTED,
    SHOWN,
    WRITTEN,
    add_counting,
    add_errors,
    add_fitted,
    add_reading,
    add_saving,
    add_shown,
    add_written,
)
from discrim.cli.values import PRIOR_HELP, fold_count, names
from discrim.models.registry import BY_VERB

__all__ = [
    "assess_arguments",
    "canonical_arguments",
    "compare_arguments",
    "datasets_arguments",
    "manova_arguments",
    "predict_arguments",
    "report_arguments",
    "stepwise_arguments",
]

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
