"""The options that the verbs of models have of their own; the registry says which function adds which."""

from __future__ import annotations

import argparse
from typing import Any

from discrim.cli.values import (
    bandwidth,
    columns,
    components,
    degrees,
    dimensions,
    folds,
    number_or_word,
    numbers,
    offset,
    planes,
    whole_numbers,
)

__all__ = [
    "collinear_argument",
    "flexible_arguments",
    "kernel_arguments",
    "linear_arguments",
    "logistic_arguments",
    "mixture_arguments",
    "naive_arguments",
    "neighbour_arguments",
    "perceptron_arguments",
    "pls_arguments",
    "quadratic_arguments",
    "regularized_arguments",
    "shrunken_arguments",
    "sparse_arguments",
]

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
