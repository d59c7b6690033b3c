"""The verbs as scikit-learn's estimators, and fitted formulas where it wants an estimator.

The `fit` of an estimator passes the array or frame to its verb, and `results_` is what the verb returns, with
`summary()` and all else. Columns of an array are called x0, x1, ...; those of a frame keep their names, and
may be categories. Constructor arguments are the verb's. `as_estimator` wraps a fit that was made from a
formula; `FormulaClassifier` is one that is not fitted yet.

A search over models has to go on if a verb refuses the data. By default the estimators then fit the nearest
model that can be fitted, with a warning that says which and why; each class documents it and how to get an
error.

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
    """The public names: the estimators, and not the files in which they stand."""
    return __all__


if not TYPE_CHECKING:
    # Type checkers report such a name themselves.
    def __getattr__(name):
        from discrim.slips import ESTIMATORS, refuse_attribute

        refuse_attribute("discrim.sklearn", name, __all__, ESTIMATORS)
