"""Discriminant analysis and its neighbours: a formula, a fit, a summary.

Public names are imported when they are first used, so ``import discrim`` costs
next to nothing.

Examples
--------
>>> import discrim
>>> "lda" in dir(discrim)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discrim import datasets as datasets
    from discrim import errors as errors
    from discrim.models.bayes import BayesResults as BayesResults
    from discrim.models.bayes import bayes as bayes
    from discrim.models.comparison import compare as compare
    from discrim.models.fda import FDAResults as FDAResults
    from discrim.models.fda import fda as fda
    from discrim.models.from_stats import from_stats as from_stats
    from discrim.models.hausman import hausman as hausman
    from discrim.models.hyperplane import HyperplaneResults as HyperplaneResults
    from discrim.models.hyperplane import hyperplane as hyperplane
    from discrim.models.indicator import IndicatorResults as IndicatorResults
    from discrim.models.indicator import indicator as indicator
    from discrim.models.judging.cross_validation import CrossValidation as CrossValidation
    from discrim.models.judging.cross_validation import cross_validate as cross_validate
    from discrim.models.knn import KNNResults as KNNResults
    from discrim.models.knn import knn as knn
    from discrim.models.lda import lda as lda
    from discrim.models.lda_results import LDAResults as LDAResults
    from discrim.models.logistic import LogisticResults as LogisticResults
    from discrim.models.logistic import logistic as logistic
    from discrim.models.moments import Moments as Moments
    from discrim.models.moments import moments as moments
    from discrim.models.naive_bayes import naive_bayes as naive_bayes
    from discrim.models.naive_bayes_results import NaiveBayesResults as NaiveBayesResults
    from discrim.models.perceptron import PerceptronResults as PerceptronResults
    from discrim.models.perceptron import perceptron as perceptron
    from discrim.models.qda import QDAResults as QDAResults
    from discrim.models.qda import qda as qda
    from discrim.models.rda import RDAResults as RDAResults
    from discrim.models.rda import rda as rda
    from discrim.models.selection import StepwiseResults as StepwiseResults
    from discrim.models.selection import stepwise as stepwise
    from discrim.models.shrunken_centroids import ShrunkenCentroidsResults as ShrunkenCentroidsResults
    from discrim.models.shrunken_centroids import shrunken_centroids as shrunken_centroids
    from discrim.models.store import load as load
    from discrim.models.tests import box_m as box_m
    from discrim.models.tests import covariance_models as covariance_models
    from discrim.models.tests import lr_test as lr_test
    from discrim.models.tests import manova as manova

    __version__: str

_SUBMODULES = ("datasets", "errors")

_HOME = {
    "FDAResults": "discrim.models.fda",
    "CrossValidation": "discrim.models.judging.cross_validation",
    "BayesResults": "discrim.models.bayes",
    "HyperplaneResults": "discrim.models.hyperplane",
    "IndicatorResults": "discrim.models.indicator",
    "KNNResults": "discrim.models.knn",
    "LDAResults": "discrim.models.lda_results",
    "LogisticResults": "discrim.models.logistic",
    "Moments": "discrim.models.moments",
    "NaiveBayesResults": "discrim.models.naive_bayes_results",
    "PerceptronResults": "discrim.models.perceptron",
    "QDAResults": "discrim.models.qda",
    "RDAResults": "discrim.models.rda",
    "ShrunkenCentroidsResults": "discrim.models.shrunken_centroids",
    "StepwiseResults": "discrim.models.selection",
    "bayes": "discrim.models.bayes",
    "box_m": "discrim.models.tests",
    "compare": "discrim.models.comparison",
    "covariance_models": "discrim.models.tests",
    "fda": "discrim.models.fda",
    "from_stats": "discrim.models.from_stats",
    "cross_validate": "discrim.models.judging.cross_validation",
    "hausman": "discrim.models.hausman",
    "hyperplane": "discrim.models.hyperplane",
    "indicator": "discrim.models.indicator",
    "knn": "discrim.models.knn",
    "lda": "discrim.models.lda",
    "load": "discrim.models.store",
    "logistic": "discrim.models.logistic",
    "lr_test": "discrim.models.tests",
    "moments": "discrim.models.moments",
    "manova": "discrim.models.tests",
    "naive_bayes": "discrim.models.naive_bayes",
    "perceptron": "discrim.models.perceptron",
    "qda": "discrim.models.qda",
    "rda": "discrim.models.rda",
    "shrunken_centroids": "discrim.models.shrunken_centroids",
    "stepwise": "discrim.models.selection",
}

__all__ = [*_HOME, *_SUBMODULES]


def _installed_version() -> str:
    """Version of the installed distribution; ``0+unknown`` in a checkout that is not installed."""
    # Imported here because it costs more than the rest of this module together.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("discrim")
    except PackageNotFoundError:
        return "0+unknown"


def __getattr__(name: str) -> Any:
    """Import a public name where it is first asked for, and keep it."""
    if name == "__version__":
        value: Any = _installed_version()
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _SUBMODULES:
        value = import_module(f"discrim.{name}")
    else:
        raise AttributeError(f"module 'discrim' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, imported or not."""
    return sorted({*globals(), *__all__, "__version__"})
