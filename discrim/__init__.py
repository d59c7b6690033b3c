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

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discrim import covariance as covariance
    from discrim import datasets as datasets
    from discrim import errors as errors
    from discrim import penalty as penalty
    from discrim import subspace as subspace
    from discrim.models.discriminant.lda import LDAResults as LDAResults
    from discrim.models.discriminant.lda import lda as lda
    from discrim.models.discriminant.location import LocationResults as LocationResults
    from discrim.models.discriminant.location import location as location
    from discrim.models.discriminant.nearest_centroid import NearestCentroidResults as NearestCentroidResults
    from discrim.models.discriminant.nearest_centroid import nearest_centroid as nearest_centroid
    from discrim.models.discriminant.plda import PLDAResults as PLDAResults
    from discrim.models.discriminant.plda import plda as plda
    from discrim.models.discriminant.qda import QDAResults as QDAResults
    from discrim.models.discriminant.qda import qda as qda
    from discrim.models.discriminant.rda import RDAResults as RDAResults
    from discrim.models.discriminant.rda import rda as rda
    from discrim.models.distributions.bayes import BayesResults as BayesResults
    from discrim.models.distributions.bayes import bayes as bayes
    from discrim.models.hyperplanes.hyperplane import HyperplaneResults as HyperplaneResults
    from discrim.models.hyperplanes.hyperplane import hyperplane as hyperplane
    from discrim.models.hyperplanes.perceptron import PerceptronResults as PerceptronResults
    from discrim.models.hyperplanes.perceptron import perceptron as perceptron
    from discrim.models.kernels.kernel_lda import KernelLDAResults as KernelLDAResults
    from discrim.models.kernels.kernel_lda import kernel_lda as kernel_lda
    from discrim.models.linear_model.high_dimensional import sphericity_test as sphericity_test
    from discrim.models.linear_model.mlm import MLMResults as MLMResults
    from discrim.models.linear_model.mlm import manova as manova
    from discrim.models.linear_model.mlm import mlm as mlm
    from discrim.models.linear_model.permanova import PermanovaResults as PermanovaResults
    from discrim.models.linear_model.permanova import permanova as permanova
    from discrim.models.mixtures.mixture import MixtureResults as MixtureResults
    from discrim.models.mixtures.mixture import mixture as mixture
    from discrim.models.moments.moments import Moments as Moments
    from discrim.models.moments.moments import moments as moments
    from discrim.models.moments.published import from_stats as from_stats
    from discrim.models.naive_bayes.naive_bayes import NaiveBayesResults as NaiveBayesResults
    from discrim.models.naive_bayes.naive_bayes import naive_bayes as naive_bayes
    from discrim.models.naive_bayes.shrunken_centroids import (
        ShrunkenCentroidsResults as ShrunkenCentroidsResults,
    )
    from discrim.models.naive_bayes.shrunken_centroids import shrunken_centroids as shrunken_centroids
    from discrim.models.neighbours.kernel_density import KernelDensityResults as KernelDensityResults
    from discrim.models.neighbours.kernel_density import kernel_density as kernel_density
    from discrim.models.neighbours.knn import KNNResults as KNNResults
    from discrim.models.neighbours.knn import knn as knn
    from discrim.models.projections.pls import PLSResults as PLSResults
    from discrim.models.projections.pls import pls as pls
    from discrim.models.projections.sparse_lda import SparseLDAResults as SparseLDAResults
    from discrim.models.projections.sparse_lda import sparse_lda as sparse_lda
    from discrim.models.regression.fda import FDAResults as FDAResults
    from discrim.models.regression.fda import fda as fda
    from discrim.models.regression.indicator import IndicatorResults as IndicatorResults
    from discrim.models.regression.indicator import indicator as indicator
    from discrim.models.regression.logistic import logistic as logistic
    from discrim.models.regression.logistic_results import LogisticResults as LogisticResults
    from discrim.models.regression.penalized import PenalizedLogisticResults as PenalizedLogisticResults
    from discrim.models.results.results import ClassifierResults as ClassifierResults
    from discrim.models.selection.choose import ChooseResults as ChooseResults
    from discrim.models.selection.choose import choose as choose
    from discrim.models.selection.comparison import compare as compare
    from discrim.models.selection.covariance_tests import box_m as box_m
    from discrim.models.selection.covariance_tests import covariance_models as covariance_models
    from discrim.models.selection.covariance_tests import hausman as hausman
    from discrim.models.selection.covariance_tests import lr_test as lr_test
    from discrim.models.selection.cross_validation import CrossValidation as CrossValidation
    from discrim.models.selection.cross_validation import cross_validate as cross_validate
    from discrim.models.selection.planning import Plan as Plan
    from discrim.models.selection.planning import plan as plan
    from discrim.models.selection.stepwise import StepwiseResults as StepwiseResults
    from discrim.models.selection.stepwise import stepwise as stepwise
    from discrim.models.store import load as load

    __version__: str

_SUBMODULES = ("covariance", "datasets", "errors", "penalty", "subspace")


def _installed_version() -> str:
    """Return the version of the installed distribution; ``0+unknown`` in a checkout that is not installed."""
    # Imported here because it costs more than the rest of this module together.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("discrim")
    except PackageNotFoundError:
        return "0+unknown"


def _import_public_name(name: str) -> Any:
    """Import a public name at its first use and store it in this module; `__getattr__` of the module.

    Raises an AttributeError with the most similar name for a name that is not public.
    """
    # Imported here because the list of all names costs more than the rest of this module.
    from discrim.models.registry import MODULE_BY_NAME, resolve

    if name == "__version__":
        value: Any = _installed_version()
    elif name == "__all__":
        value = [*MODULE_BY_NAME, *_SUBMODULES]
    elif name in MODULE_BY_NAME:
        value = resolve(f"{MODULE_BY_NAME[name]}:{name}")
    elif name in _SUBMODULES:
        value = resolve(f"discrim.{name}")
    else:
        if name.startswith("_"):
            raise AttributeError(f"module 'discrim' has no attribute {name!r}")
        from discrim.slips import NAMES, raise_unknown_attribute

        raise_unknown_attribute("discrim", name, [*MODULE_BY_NAME, *_SUBMODULES], NAMES)
    globals()[name] = value
    return value


if not TYPE_CHECKING:
    # Type checkers use the imports above and report unknown names.
    __getattr__ = _import_public_name


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({"__version__", "__all__", *_import_public_name("__all__")})
