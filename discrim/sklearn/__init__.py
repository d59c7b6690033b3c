"""Estimators of scikit-learn for the verbs, and for fitted formulas.

`fit` passes the array or frame to the verb, and `results_` contains its results, with `summary()` and all
other methods. Columns of an array are called x0, x1, ...; columns of a frame keep their names, and may be
categories. Constructor arguments are the keywords of the verb. `as_estimator` wraps the fit of a formula;
`FormulaClassifier` is a formula that is to be fitted.

If a verb refuses the data, the estimators by default fit the nearest model that can be fitted, with a warning
that names it and the reason, because a search over models should continue. Each class documents this, and the
option to get an error instead.

Needs scikit-learn: ``pip install discrim[sklearn]``.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from discrim.sklearn import LDAClassifier
>>> X, y = load_iris(return_X_y=True)
>>> model = LDAClassifier(prior="equal").fit(X, y)
>>> model.score(X, y), model.results_.explained.round(4).tolist()
(0.98, [0.9912, 0.0088])
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if find_spec("sklearn") is None:
    raise ImportError("discrim.sklearn needs scikit-learn: pip install 'discrim[sklearn]'.", name="sklearn")

from discrim.sklearn.choosing import ChooseClassifier
from discrim.sklearn.formulas import FormulaClassifier, as_estimator
from discrim.sklearn.geometric import (
    HyperplaneClassifier,
    KernelDensityClassifier,
    KNNClassifier,
    NearestCentroidClassifier,
    PerceptronClassifier,
    ShrunkenCentroidsClassifier,
)
from discrim.sklearn.normal import (
    LDAClassifier,
    LocationClassifier,
    MixtureClassifier,
    NaiveBayesClassifier,
    PLDAClassifier,
    QDAClassifier,
    RDAClassifier,
)
from discrim.sklearn.projections import PLSClassifier, SparseLDAClassifier
from discrim.sklearn.regressions import (
    FDAClassifier,
    IndicatorClassifier,
    KernelLDAClassifier,
    LogisticClassifier,
)

__all__ = [
    "ChooseClassifier",
    "FDAClassifier",
    "FormulaClassifier",
    "HyperplaneClassifier",
    "IndicatorClassifier",
    "KNNClassifier",
    "KernelDensityClassifier",
    "KernelLDAClassifier",
    "LDAClassifier",
    "LocationClassifier",
    "LogisticClassifier",
    "MixtureClassifier",
    "NaiveBayesClassifier",
    "NearestCentroidClassifier",
    "PLDAClassifier",
    "PLSClassifier",
    "PerceptronClassifier",
    "QDAClassifier",
    "RDAClassifier",
    "ShrunkenCentroidsClassifier",
    "SparseLDAClassifier",
    "as_estimator",
]


def __dir__() -> list[str]:
    """List the estimators. The modules that define them are not public."""
    return __all__


if not TYPE_CHECKING:
    # Type checkers report such a name themselves.
    def __getattr__(name):
        from discrim.slips import ESTIMATORS, raise_unknown_attribute

        raise_unknown_attribute("discrim.sklearn", name, __all__, ESTIMATORS)
