"""The options of the command line: one table of rows, and what puts those of a verb into its parser."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from discrim.cli import parsing
from discrim.models.registry import BY_VERB, MODELS

FITTED, READ, SHOWN, WRITTEN = "what is fitted", "how DATA is read", "what is shown", "what is written"

HEADINGS = {
    "assess": "what is judged",
    "export": "what is exported",
    "predict": "what is predicted",
    "report": "what is reported",
}
"""What verbs that fit nothing, or not only that, call what others call fitted."""

PICTURED = {"stepwise": "lda", "canonical": "lda"}
"""Verbs that are no models, and the model whose pictures they draw."""

JUDGED = ("confusion", "roc", "calibration")
"""Kinds of pictures of an assessment."""


class Option(NamedTuple):
    """One option, or one place for a word without an option.

    It is `typed` in one form or several, behind which its value has a name; a place has no hyphens. The
    `kind` is what reads the text, the words that it may be, or what the option alone stands for. The verbs
    that have it are set apart by blanks; "models" stands for all of these, and "posteriors", "weights" and
    "files" for those that have them. What follows is as argparse has it.
    """

    typed: str
    kind: Any
    help: str
    verbs: str
    dest: str | None = None
    nargs: str | None = None
    required: bool = False


_FORMULA = "models stepwise choose canonical manova"
_READ = f"{_FORMULA} compare assess"
_SUMMARIES = f"{_READ} plan"
_PICTURES = "models stepwise canonical"
_BY_FOLDS = "shrunken-centroids pls sparse-lda"
_TABLE = "name of a table, file, folder or pattern; see below"
_SAVED = "file that --save wrote"
_GAPS = "rows with missing values"
_STRUCTURES = "diagonal shrunk spherical"
_STRUCTURE_HELP = "diagonal: no correlations; shrunk: towards a sphere; spherical: one variance"
_CHOSEN = "chosen by cross-validation if not given"
_DEALT = "deals the rows to folds"
_BY_DEFAULT = 'lda if not given; with options, as "knn --k 5"'

PLACES = (
    Option("formula FORMULA", str, 'classes ~ columns, as "species ~ ."; quote it', _FORMULA),
    Option(
        "compared FORMULA|FIT",
        str,
        "formulas, quoted; or files of fits that --save wrote",
        "compare",
        nargs="+",
    ),
    Option("fit FIT", str, _SAVED, "assess export predict"),
    Option(
        "reported FORMULA|FIT", str, "a formula, quoted; or the file of a fit that --save wrote", "report"
    ),
    Option("data DATA", str, _TABLE, f"{_FORMULA} compare assess predict"),
    Option("data DATA", str, "of a formula: name of a table, file, folder or pattern", "report", nargs="?"),
    Option("--na", "drop raise", _GAPS, f"{_FORMULA} compare report", dest="na_action"),
)
"""What is fitted, judged or reported."""

OF_MODELS = (
    Option(
        "--covariance KIND",
        f"pooled {_STRUCTURES} correlation pinv",
        f"pooled; {_STRUCTURE_HELP}; correlation: correlations towards zero; pinv: pooled, "
        f"with the inverse of Moore and Penrose",
        "lda",
    ),
    Option(
        "--variance-shrinkage H",
        parsing.number_or_word,
        "of the variances of correlation: 0 to 1, or strimmer",
        "lda",
    ),
    Option("--ncomp", int, "number of discriminants the rule uses", "lda"),
    Option("--ncomp", int, "number of axes by sliced average variance estimation", "qda"),
    Option(
        "--covariance",
        f"full {_STRUCTURES} factor",
        f"{_STRUCTURE_HELP}; factor: a few large variances, one beyond",
        "qda",
    ),
    Option("--dimensions", parsing.dimensions, "of factor: a number, cattell or bic", "qda"),
    Option("--form", str, "of factor: what classes have of their own, as AkjBkQkDk", "qda"),
    Option("--threshold", float, "of cattell: share of the largest fall", "qda"),
    Option(
        "--shrinkage",
        parsing.number_or_word,
        "of shrunk: 0 to 1, oas, ledoit-wolf or loo; of diagonal: 0 to 1, strimmer or loo; of"
        " lda's correlation: 0 to 1 or strimmer",
        "lda qda",
    ),
    Option("--grid G,...", parsing.numbers, "what --shrinkage loo tries", "lda qda"),
    Option("--method", "moment mle t mcd", "divisor of the covariance, or a robust one", "lda qda"),
    Option("--missing", "drop em", f"{_GAPS}; em uses them", "lda mixture qda"),
    Option("--nu", parsing.degrees, "degrees of freedom of --method t; or estimate", "lda qda"),
    Option("--scatter", "covariance scale", "what --method t gives", "lda qda"),
    Option("--support-fraction", float, "share of the rows of --method mcd", "lda qda"),
    Option("--alpha", float, f"1: a covariance for each class; {_CHOSEN}", "rda"),
    Option("--gamma", float, f"the ridge; see rda(); {_CHOSEN}", "rda"),
    Option("--parametrization", "esl friedman klar", "what is mixed", "rda"),
    Option(
        "--standardize", True, "shrink columns over their standard deviations within classes", "lda qda rda"
    ),
    Option("--shape R,C", parsing.whole_numbers, "rows and columns of the matrix of columns", "lda qda"),
    Option("--components", parsing.axes_count, "principal axes: a number, a share, cv or loo", "lda qda rda"),
    Option("--correspondence", True, "axes of multiple correspondence of the levels", "lda"),
    Option(
        "--kernel NAME,...",
        parsing.columns,
        "columns with a kernel density each; all: every one",
        "naive-bayes",
    ),
    Option(
        "--counts NAME,...", parsing.columns, "columns with one multinomial; all: every one", "naive-bayes"
    ),
    Option("--bandwidth", parsing.number_or_word, "of the kernels: nrd0, nrd, or a number", "naive-bayes"),
    Option("--laplace", float, "added to each count of a level or word", "naive-bayes"),
    Option("--smoothing", float, "share of the largest variance added to each", "naive-bayes"),
    Option("--unseen", "raise missing", "levels that the fit has not seen", "naive-bayes"),
    Option("--missing", "drop available", f"{_GAPS}; available uses them", "naive-bayes"),
    Option("--method", "moment mle", "divisor of the covariance", "rda naive-bayes"),
    Option("--threshold", float, _CHOSEN, "shrunken-centroids"),
    Option(
        "--offset", parsing.offset, "added to each column's spread: a number, or median", "shrunken-centroids"
    ),
    Option(
        "--bandwidth",
        parsing.number_or_word,
        'radius in the metric, or "normal"; else chosen',
        "kernel-density",
    ),
    Option("--kernel", "normal epanechnikov biweight triweight uniform", "its shape", "kernel-density"),
    Option("--metric", "mahalanobis diagonal euclidean", "what is near", "kernel-density"),
    Option("--covariance", "pooled class", "whose covariance the metric is of", "kernel-density"),
    Option("--select", "likelihood error", "what chooses a bandwidth", "kernel-density"),
    Option("--grid R,...", parsing.numbers, "bandwidths to choose from", "kernel-density"),
    Option("--components", parsing.components, 'a number for each class, or "bic"', "mixture"),
    Option("--covariance", str, "full, diagonal, pooled, bic, or a name of mclust, as VEV", "mixture"),
    Option("--over", "class classes", "what a form is common to", "mixture"),
    Option("--most", int, "components up to which bic tries", "mixture"),
    Option("--starts", int, "partitions from which EM is tried", "mixture"),
    Option("--seed", int, "draws the partitions", "mixture"),
    Option("--tol", float, "gain of log-likelihood a row at which EM ends", "mixture plda"),
    Option("--maxiter", int, "most steps of EM", "mixture plda"),
    Option(
        "--smoothing", float, "what a row counts in a cell beside its own; chosen if not given", "location"
    ),
    Option("--grid L,...", parsing.numbers, "smoothings to choose from", "location"),
    Option("--components", int, "rank of B; free if not given", "plda"),
    Option("--normalize", True, "rows whitened and brought to one length", "plda"),
    Option("--ncomp", int, _CHOSEN, "pls"),
    Option("--orthogonal", parsing.orthogonal_count, "orthogonal components, or cv to choose", "pls"),
    Option("--nonzero Q,...", parsing.column_counts, "columns of each component; one: of all", "pls"),
    Option("--within COLUMN", str, "subjects: deviations from their means", "pls"),
    Option("--rule", "lda max centroid", "what decides from the scores; lda has posteriors", "pls"),
    Option("--indicators", "scaled centred", "indicators of classes over their SD, or not", "pls"),
    Option("--algorithm", "nipals simpls", "how columns are deflated", "pls"),
    Option("--nonzero Q,...", parsing.whole_numbers, "columns of each direction", "sparse-lda"),
    Option("--penalty P,...", parsing.numbers, "chosen by folds if not given", "sparse-lda"),
    Option("--ridge", float, "of the squared coefficients", "sparse-lda"),
    Option("--ncomp", int, "number of directions", "sparse-lda"),
    Option("--k", int, "chosen by leave-one-out if not given", "knn"),
    Option("--grid K,...", parsing.whole_numbers, "what k is chosen from", "knn"),
    Option("--metric", str, "euclidean, mahalanobis, or another of scipy's cdist", "knn"),
    Option("--no-scale", False, "columns as they are, not over their SD", "pls knn", dest="scale"),
    Option("--reference CLASS", str, "class that the log odds are against", "logistic"),
    Option("--bias-reduction", True, "Firth's penalty; finite where classes are separated", "logistic"),
    Option("--separation", "raise warn", "what to do where a hyperplane separates classes", "logistic"),
    Option("--penalty", "ridge lasso elastic_net", "shrink coefficients towards zero", "logistic"),
    Option("--strength", float, "of the penalty; chosen by folds if not given", "logistic"),
    Option("--l1-ratio", float, "share of the lasso in the elastic net", "logistic"),
    Option("--step", float, "scale of the coefficients", "perceptron"),
    Option("--maxiter", int, "most passes over the rows", "perceptron"),
    Option("--seed", int, "shuffles the rows anew for each pass", "perceptron"),
    Option(
        "--start C,B,...",
        parsing.planes,
        "first constant and coefficients, as --start=5,-2,1; of more classes with ';' between them",
        "perceptron",
    ),
    Option(
        "--engine NAME",
        str,
        "a regression of scikit-learn with its options, quoted, as \"KernelRidge(kernel='rbf')\"",
        "fda",
        required=True,
    ),
    Option("--ncomp N", int, "number of axes that are kept", "fda kernel-lda"),
    Option("--kernel", "auto gaussian laplace polynomial linear arccos", "of two rows", "kernel-lda"),
    Option("--kernel-width", float, "chosen by leave-one-out if not given", "kernel-lda", dest="width"),
    Option("--ridge", float, "penalty; chosen by leave-one-out if not given", "kernel-lda"),
    Option("--scale", "auto sd ranks categories none", "how columns of numbers are scaled", "kernel-lda"),
    Option("--degree", int, "of the polynomial kernel", "kernel-lda"),
    Option("--components", int, "features for the kernel of all rows", "kernel-lda"),
    Option("--features", "landmarks random", "what these are", "kernel-lda"),
    Option("--select", "squared log_loss error", "criterion that the choice minimizes", "kernel-lda"),
    Option("--no-calibrate", False, "posteriors of normal classes, as fda", "kernel-lda", dest="calibrate"),
    Option("--grid G,...", parsing.numbers, "values to try for what is not given", "rda"),
    Option("--grid A,...", parsing.whole_numbers, "numbers of components to try", "pls"),
    Option("--grid P,...", parsing.numbers, "penalties to choose from", "sparse-lda"),
    Option("--n-penalties", int, "how many without --grid", "sparse-lda"),
    Option("--grid S,...", parsing.numbers, "strengths to choose from", "logistic"),
    Option("--folds", parsing.folds, 'folds of the choice, or "loo"', "rda"),
    Option("--folds", int, "folds of the choice", f"{_BY_FOLDS} logistic"),
    Option("--select", "min 1se", "least error, or simplest within one SE of it", "rda"),
    Option("--select", "min 1se", "least error, or within a standard error", _BY_FOLDS),
    Option(
        "--select",
        "min 1se",
        "least deviance of rows left out, or largest strength within one SE of it",
        "logistic",
    ),
    Option("--seed", int, _DEALT, f"rda {_BY_FOLDS} logistic"),
    Option(
        "--collinear", "raise drop", "what to do with collinear columns", "lda logistic indicator canonical"
    ),
)
"""Options of a model, which may stand behind its name wherever a model is named."""

OTHERS = (
    Option("--direction", "forward backward both", "both if not given", "stepwise"),
    Option(
        "--criterion NAME",
        str,
        "what a term that enters makes best: wilks, mahalanobis, maxminf, minresid, rao; cv, the error of "
        "--verb left out; aic or bic of logistic",
        "stepwise",
    ),
    Option("--enter P", float, "level of the partial F to enter: 0.15", "stepwise"),
    Option("--stay P", float, "level beyond which a term leaves: 0.15", "stepwise"),
    Option("--f-enter F", float, "partial F to enter, in place of a level, as SPSS's 3.84", "stepwise"),
    Option("--f-stay F", float, "partial F below which a term leaves, as SPSS's 2.71", "stepwise"),
    Option("--r2-enter R2", float, "partial R2 to enter, in place of a level", "stepwise"),
    Option("--r2-stay R2", float, "partial R2 below which a term leaves", "stepwise"),
    Option("--v-enter V", float, "what a term has to add to Rao's V", "stepwise"),
    Option("--tolerance T", float, "smallest tolerance within classes, as SPSS's 0.001", "stepwise"),
    Option("--include TERM,...", parsing.names, "terms that are always in", "stepwise"),
    Option("--verb VERB", str, f"of the final fit, and of cv: {_BY_DEFAULT}", "stepwise", dest="model"),
    Option("--verb VERB", str, f"the model: {_BY_DEFAULT}", "report", dest="model"),
    Option("--folds N", parsing.fold_count, "folds of cv: 10 if not given", "stepwise"),
    Option("--by", "log_loss error brier", "the loss that chooses: log_loss if not given", "choose"),
    Option("--select", "1se min", "1se, if not given: the simplest within one standard error", "choose"),
    Option(
        "--verbs VERB,...",
        str,
        'models that are tried, the simplest first; options may follow each, as in "lda, knn --k 5"',
        "choose",
    ),
    Option("--no-calibration", False, "try no calibrated posteriors", "choose", dest="calibrate"),
    Option("--seconds S", float, "begin no model after so many seconds", "choose"),
    Option("--folds N", parsing.fold_count, "folds: 10 if not given", "choose"),
    Option(
        "--verbs VERB,...",
        str,
        "models that are fitted to each formula: lda,qda if not given; options may follow "
        'each, as in "lda, knn --k 5"',
        "compare",
    ),
    Option(
        "--folds N",
        parsing.fold_count,
        "cross-validate all on the same N folds, pair by pair",
        "compare",
    ),
    Option("--repeats N", parsing.fold_count, "assign the rows to folds N times", "compare"),
    Option("--seed N", int, _DEALT, "stepwise choose compare"),
    Option("--permutations N", int, "also test by this number of permutations of the rows, as 999", "manova"),
    Option("--within COLUMN", str, "blocks within which rows, or groups, are permuted", "manova"),
    Option("--groups COLUMN", str, "groups of rows that are permuted as wholes", "manova"),
    Option(
        "--distance METRIC",
        "euclidean manhattan bray-curtis jaccard gower canberra hellinger cosine",
        "test distances between rows by permutation: {choices}",
        "manova",
    ),
    Option("--seed N", int, "draws the permutations", "manova"),
    Option(
        "--convention",
        "mass stata sas spss sklearn",
        "scale, signs and names of the axes as that program has them",
        "canonical",
    ),
    Option(
        "--method",
        "srivastava chen-qin cai-liu-xia dempster",
        "one test, for more columns than rows, of one factor",
        "manova",
    ),
    Option("--distance D", float, "Mahalanobis distance of the means of two classes", "plan", required=True),
    Option("--p P", int, "number of columns", "plan", required=True),
    Option("--classes K", int, "number of classes: 2 if not given", "plan"),
    Option("--error E", float, "expected error that is wanted", "plan"),
    Option("--excess E", float, "the same, above the error of the best rule", "plan"),
    Option("--width W", float, "width of an interval of the error that is wanted", "plan"),
    Option("--level L", float, "level of that interval: 0.95 if not given", "plan"),
    Option("--rows N,...", parsing.whole_numbers, "rows of each class that are shown", "plan"),
    Option("--draws N", int, "samples that are drawn for each number", "plan"),
    Option("--seed N", int, "draws the samples", "plan"),
    Option("--term TERM", str, 'of several factors on the left: one, as "sex"', "canonical manova"),
    Option(
        "--type",
        "1 2 3",
        "of several factors: each after those before it, after all that do not contain it (2,"
        " if not given), or after all others",
        "canonical manova",
    ),
    Option("--prior", str, parsing.PRIOR_HELP, "posteriors compare canonical export predict report"),
    Option("--prior", str, f"shares of the classes that figures are for: {parsing.PRIOR_HELP}", "assess"),
    Option(
        "--weights COLUMN",
        str,
        "column of frequency weights",
        "weights stepwise choose compare assess canonical manova report",
    ),
    Option(
        "--method",
        "plugin predictive debiased calibrated",
        "how the posteriors of --proba are computed",
        "predict",
    ),
    Option("--unseen", "raise missing", "rows with levels that the fit has not seen", "assess predict"),
    Option("--missing", "drop integrate", f"{_GAPS}: left out if not given", "assess"),
    Option(
        "--missing", "drop integrate", f"{_GAPS}: no label, or the label by their other columns", "predict"
    ),
)
"""The others of what is fitted, judged or reported."""

READING = (
    Option(
        "--sep SIGN",
        parsing.separator,
        "between the fields of CSV: a comma if not given; ; or tab",
        f"{_READ} predict report",
    ),
    Option(
        "--decimal SIGN",
        ". ,",
        "decimal sign of its numbers: a point if not given",
        f"{_READ} predict report",
    ),
)

SHOWING = (
    Option(
        "--sections NAME,...",
        parsing.names,
        "only these parts of the summary, or all",
        "models stepwise compare assess canonical",
    ),
    Option("--format", "text html latex markdown", "text if not given; html is a whole page", _SUMMARIES),
    Option(
        "--width N",
        parsing.text_width,
        "columns of text: those of the terminal, or 100",
        _READ,
        dest="text_width",
    ),
    Option(
        "--errors METHOD,...",
        parsing.names,
        "add error rates: apparent, loo, cv, 632+, posterior, ...",
        "models stepwise",
    ),
    Option("--folds N", parsing.fold_count, "folds of --errors cv", "models stepwise", dest="error_folds"),
    Option("--seed N", int, "seed of --errors cv and 632+", "models stepwise", dest="error_seed"),
    Option(
        "--test TABLE",
        str,
        "also assess the fit on another table with classes, as discrim assess does",
        "models",
    ),
    Option("--proba", True, "the posterior of each class as well", "predict"),
    Option("--augment", True, "the table itself, label and posteriors beside it", "predict"),
    Option("name NAME", str, "the table to write as CSV; without it, all are listed", "datasets", nargs="?"),
)

WRITING = (
    Option(
        "--output FILE",
        str,
        "the summary, and not to standard output; .html, .tex, .md and .xlsx say its format",
        _SUMMARIES,
    ),
    Option("--output FILE", str, "and not to standard output", "datasets"),
    Option(
        "--out --output PATH",
        str,
        "write to a file .parquet or .csv, or to a new folder of Parquet, and not to standard"
        " output; it is there when it is whole",
        "predict",
    ),
    Option(
        "--out-sep SIGN",
        parsing.separator,
        "between the fields that are written as CSV: that of --sep if not given",
        "predict",
    ),
    Option(
        "--out-decimal SIGN",
        ". ,",
        "decimal sign of all numbers that are written as CSV: that of --decimal if not given",
        "predict",
    ),
    Option(
        "--sql ENGINE",
        str,
        "a query for duckdb, postgres, sqlite, mysql, bigquery, snowflake or spark",
        "export",
    ),
    Option(
        "--table NAME,...",
        parsing.names,
        "the table that it reads, or SCHEMA,TABLE: data if not given",
        "export",
    ),
    Option(
        "--give NAME,...",
        parsing.names,
        "what it gives: label, proba, log_proba, decision",
        "export",
        "output",
    ),
    Option("--keep NAME,...", parsing.names, "columns that it gives as well, such as a key", "export"),
    Option("--out FILE", str, "the query, and not to standard output", "export"),
    Option("--onnx FILE", str, "a model of ONNX; needs the package onnx", "export"),
    Option("--out --output FILE", str, "the page: .html, .docx, .md or .qmd", "report", required=True),
    Option("--title TEXT", str, "its title, in place of the model's name", "report"),
    Option("--pictures NAME,...", parsing.names, "kinds of its pictures; or all, or none", "report"),
    Option("--plot FILE", str, "a picture: .png, .svg or .pdf; .html answers a pointer", _PICTURES),
    Option("--plot FILE", str, "a picture: .png, .svg or .pdf", "choose assess plan"),
    Option("--kind NAME", "", "what --plot draws: {choices}", f"{_PICTURES} assess"),
    Option(
        "--columns NAME,...", parsing.names, "columns that --plot draws, of kinds that take some", _PICTURES
    ),
    Option("--axes NAME,NAME", parsing.names, "axes that --plot draws, such as LD1,LD3", _PICTURES),
    Option("--save FILE", str, "the fit, for discrim predict", "files stepwise choose"),
    Option(
        "--calibrated",
        True,
        "with it the calibration of its posteriors, for predict --method calibrated",
        "files stepwise choose",
    ),
    Option("--force", True, "let --save replace a file that is no fit", "files stepwise choose"),
)

ROWS = {FITTED: (*PLACES, *OF_MODELS, *OTHERS), READ: READING, SHOWN: SHOWING, WRITTEN: WRITING}
"""All that verbs take, in the groups of their help."""


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add all that a verb of the command line takes, in the groups of its help."""
    for heading, rows in ROWS.items():
        own = _rows_of(rows, verb)
        if not own:
            continue
        group: Any = parser.add_argument_group(HEADINGS.get(verb, FITTED) if heading == FITTED else heading)
        if (verb, heading) == ("predict", SHOWN):
            group = group.add_mutually_exclusive_group()
        for row in own:
            # A verb that deals rows to folds itself keeps its own --folds and --seed.
            if row.typed.split()[0] not in parser._option_string_actions:
                _add(group, row, verb)


def add_model_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the options of a model alone."""
    for row in _rows_of(OF_MODELS, verb):
        _add(parser, row, verb)


def _rows_of(rows: tuple[Option, ...], verb: str) -> list[Option]:
    """The rows of a verb."""
    model, words = BY_VERB.get(verb.replace("-", "_")), {verb}
    if model is not None:
        has = {"posteriors": model.posteriors, "weights": model.weights, "files": model.can_be_saved}
        words |= {"models", *(word for word, there in has.items() if there)}
    return [row for row in rows if words & set(row.verbs.split())]


def _add(group: Any, row: Option, verb: str) -> None:
    """Add one row to a group of a parser."""
    first, *words = row.typed.split()
    flags = [first, *(word for word in words if word.startswith("-"))]
    more = {name: value for name in ("dest", "nargs", "required") if (value := getattr(row, name))}
    if words[len(flags) - 1 :]:
        more["metavar"] = words[-1]
    text = row.help
    if isinstance(row.kind, bool):
        more["action"] = "store_true" if row.kind else "store_false"
    elif isinstance(row.kind, str):
        more["choices"] = row.kind.split() or _pictures_of(verb)
        text = text.format(choices=", ".join(more["choices"]))
    else:
        more["type"] = row.kind
    group.add_argument(*flags, help=text, **more)


def _pictures_of(verb: str) -> tuple[str, ...]:
    """Kinds of pictures that a verb draws."""
    if verb == "assess":
        return JUDGED
    model = PICTURED.get(verb, verb.replace("-", "_"))
    rows = [row for row in MODELS if row.verb == model]
    return tuple(dict.fromkeys(kind.name for row in rows for kind in row.pictures))
