"""Estimators of classifiers by regression: logistic, of class indicators, and flexible discriminants.

The engine of flexible discriminant analysis is any regression of scikit-learn. On the command line it is a
text, which is parsed and never evaluated.
"""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from sklearn.utils import all_estimators

import discrim
from discrim.errors import DataError, SeparationError
from discrim.formula.calls import read_call
from discrim.models.base.reading import check_word
from discrim.models.results.results import ClassifierResults
from discrim.penalty import read_penalty
from discrim.sklearn import base
from discrim.sklearn.base import (
    FrequencyClassifier,
    LinearCoefficients,
    RefusedFit,
    SimplerFit,
    WeightedClassifier,
)
from discrim.sklearn.signatures import estimator
from discrim.subspace import read_features

MAX_REDUCED_COEFFICIENTS = 400
"""Largest number of coefficients for bias reduction of separated classes; its cost is quadratic in them."""


@estimator
class LogisticClassifier(LinearCoefficients, WeightedClassifier):
    """Multinomial logistic regression; see `discrim.logistic`.

    Parameters
    ----------
    separation : {"reduce", "warn", "raise"}
        Behaviour if a hyperplane separates classes; with a penalty it is not used. "reduce" fits with
        `bias_reduction=True`, whose estimates are finite, or stops as "warn" does if there are too many
        coefficients for bias reduction to be quick. "warn" returns the estimates at which the search stops:
        their labels are right for the rows of the fit, but posteriors of new rows are close to 0 or 1. Both
        issue a warning, and a search over models continues. "raise" raises an error.
    collinear : {"drop", "raise"}
        Whether columns that others determine are dropped with a warning, or refused. With a penalty it is not
        used.
    penalty : {"ridge", "lasso", "elastic_net"} or specification of `discrim.penalty`, optional
        Penalty on the coefficients; see `discrim.logistic`. A choice of the strength without a seed has the
        seed 0: each fit assigns the rows to the same folds.
    """

    verb = staticmethod(discrim.logistic)
    specifications = MappingProxyType({"penalty": read_penalty})

    separation: str = "reduce"
    penalty: Any
    collinear: str = "drop"

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb, which raises an error for separated classes if bias reduction may follow.

        With a penalty, separated classes and collinear columns do not need treatment or a fallback.
        """
        check_word("separation", self.separation, ("reduce", "warn", "raise"))
        check_word("collinear", self.collinear, ("drop", "raise"))
        penalty = read_penalty(self.penalty)
        if penalty is not None:
            options |= {"separation": "raise", "collinear": "raise", "penalty": penalty.with_seed(0)}
            penalized: ClassifierResults = discrim.logistic(formula, data, **options)
            return penalized
        if self.separation == "reduce":
            options["separation"] = "raise"
        return super()._call_verb(formula, data, options)

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """If classes are separated, fit with bias reduction, or without it but with a warning.

        It is fitted without bias reduction (separation="warn") if there are more than
        `MAX_REDUCED_COEFFICIENTS` coefficients. Return None for other errors, and if `separation` is not
        "reduce".
        """
        options = dict(refused.options)
        if self.separation != "reduce" or not isinstance(refused.error, SeparationError):
            return None
        # An empty cell is detected without a linear program, and lacks a certificate.
        direction = getattr(refused.error.certificate, "direction", None)
        if direction is not None and len(direction) * (direction.shape[1] - 1) > MAX_REDUCED_COEFFICIENTS:
            unpenalized: ClassifierResults = discrim.logistic(
                refused.formula, refused.data, **options | {"separation": "warn"}
            )
            return unpenalized
        options["bias_reduction"] = True
        return base.fit_with_warning(refused, "with bias_reduction=True", discrim.logistic, **options)


@estimator
class IndicatorClassifier(LinearCoefficients, FrequencyClassifier):
    """Least squares of the class indicators; see `discrim.indicator`.

    Parameters
    ----------
    collinear : {"drop", "raise"}
        Whether columns that others determine over all rows are refused, or the later ones dropped with a
        warning, like in R's lm. With more columns than rows, the remaining columns fit every row. They are
        dropped by default, and a search over models continues.
    """

    verb = staticmethod(discrim.indicator)
    takes_sparse = True

    collinear: str = "drop"


@estimator
class FDAClassifier(WeightedClassifier):
    """Flexible discriminant analysis; see `discrim.fda`.

    Parameters
    ----------
    engine : object with `fit(X, Y)` and `predict(X)`, optional
        A regression, for example of scikit-learn. A copy of it is fitted to the columns (n, p) and to K - 1
        scores of the classes (n, K - 1), or (n,) for two classes. By default it is
        `sklearn.linear_model.Ridge()`, the penalized discriminant analysis of Hastie, Buja & Tibshirani
        (1995), whose penalty is in the units of the columns.
    """

    verb = staticmethod(discrim.fda)
    positional = ("engine",)

    engine: Any

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb, with `Ridge()` as the engine if the user chose none. Never fall back."""
        from sklearn.linear_model import Ridge

        engine = Ridge() if self.engine is None else self.engine
        return discrim.fda(formula, data, **options | {"engine": engine})


@estimator
class KernelLDAClassifier(WeightedClassifier):
    """Kernel discriminant analysis; see `discrim.kernel_lda`."""

    verb = staticmethod(discrim.kernel_lda)
    specifications = MappingProxyType({"components": read_features})


def engine_of(text: str) -> Any:
    """Return the regression of scikit-learn that a text names, such as ``Ridge(alpha=2.0)``.

    A regression with a single response is wrapped in `MultiOutputRegressor`.

    Parameters
    ----------
    text : str
        The name of a class, or a call of it with literal options by name.

    Returns
    -------
    estimator

    Raises
    ------
    FormulaError
        The text is not such a call; the message points to the position.
    DataError
        The class refuses an option.

    Examples
    --------
    >>> engine_of("Ridge(alpha=2.0)")
    Ridge(alpha=2.0)
    """
    call = read_call(text, "KernelRidge(kernel='rbf', gamma=0.1)")
    regressors = dict(all_estimators(type_filter="regressor"))
    if call.name not in regressors:
        close_matches = get_close_matches(call.name, regressors, n=1)
        hint = (
            f"Did you mean {close_matches[0]}?" if close_matches else "Use one, such as Ridge or KernelRidge."
        )
        raise call.error(f"{call.name!r} is not a regression of scikit-learn.", hint=hint)
    try:
        engine = regressors[call.name](*call.args, **call.kwargs)
    except TypeError as error:
        raise DataError(f"engine={text!r}: {error}.", hint=f"Use options that {call.name} has.") from error
    tags = engine.__sklearn_tags__().target_tags
    if tags is not None and not tags.multi_output:
        from sklearn.multioutput import MultiOutputRegressor

        return MultiOutputRegressor(engine)
    return engine
