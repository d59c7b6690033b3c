"""Estimators over regressions of the classes: logistic, of indicators, and any as an engine."""

from __future__ import annotations

from typing import Any

from discrim.core.logistic import MOST_STEPS, TOLERANCE
from discrim.models.fda import fda
from discrim.models.indicator import indicator
from discrim.models.logistic import logistic
from discrim.models.results import ClassifierResults
from discrim.sklearn.base import FrequencyClassifier, WeightedClassifier

__all__ = ["FDAClassifier", "IndicatorClassifier", "LogisticClassifier"]


class LogisticClassifier(WeightedClassifier):
    """Multinomial logistic regression; see `discrim.logistic`.

    Parameters
    ----------
    reference, prior, bias_reduction, tol, maxiter
        As for `discrim.logistic`.
    separation, collinear
        As for `discrim.logistic`, but that by default separated classes are warned of, whose labels are right
        though their coefficients have no maximum, and collinear columns dropped, with a warning, so that a
        search over models goes on.
    """

    verb = staticmethod(logistic)

    def __init__(
        self,
        *,
        reference: Any = None,
        prior: Any = None,
        bias_reduction: bool = False,
        separation: str = "warn",
        collinear: str = "drop",
        tol: float = TOLERANCE,
        maxiter: int = MOST_STEPS,
    ) -> None:
        self.reference = reference
        self.prior = prior
        self.bias_reduction = bias_reduction
        self.separation = separation
        self.collinear = collinear
        self.tol = tol
        self.maxiter = maxiter


class IndicatorClassifier(FrequencyClassifier):
    """Least squares of the class indicators; see `discrim.indicator`.

    Parameters
    ----------
    collinear : {"drop", "raise"}
        As for `discrim.indicator`, but that columns are dropped by default, with a warning, so that a search
        over models goes on.
    """

    verb = staticmethod(indicator)

    def __init__(self, *, collinear: str = "drop") -> None:
        self.collinear = collinear


class FDAClassifier(WeightedClassifier):
    """Flexible discriminant analysis; see `discrim.fda`.

    Parameters
    ----------
    engine : object with `fit(X, Y)` and `predict(X)`, optional
        As for `discrim.fda`; by default `sklearn.linear_model.Ridge()`, the penalized discriminant analysis
        of Hastie, Buja & Tibshirani (1995), whose penalty is in the units of the columns.
    prior, ncomp
        As for `discrim.fda`.
    """

    verb = staticmethod(fda)

    def __init__(self, engine: Any = None, *, prior: Any = None, ncomp: int | None = None) -> None:
        self.engine = engine
        self.prior = prior
        self.ncomp = ncomp

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        from sklearn.linear_model import Ridge

        engine = Ridge() if self.engine is None else self.engine
        return fda(formula, data, **options | {"engine": engine})
