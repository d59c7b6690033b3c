"""The options that a fit was made with, from its results: what a refit by the same verb takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discrim.core.planes.perceptron import PASSES
from discrim.core.robust.robust import Robust
from discrim.errors import NotSupportedError
from discrim.models.normal.robust import RobustChoice
from discrim.models.normal.shrinking import Shrinking

__all__ = ["options_of", "verb_of"]


def verb_of(fit: Any) -> str:
    """Name of the verb that made a fit.

    Raises
    ------
    NotSupportedError
        It is no fitted classifier of this package.
    """
    name = type(fit).__name__
    if name not in _OPTIONS:
        raise NotSupportedError(
            f"{name} is no fitted classifier: pass what lda(), qda() or another verb returns."
        )
    return _OPTIONS[name][0]


def options_of(fit: Any) -> dict[str, Any]:
    """Keywords that make the same fit of the same rows, but for the weights.

    What the fit chose by itself is held: alpha and gamma, a threshold, or k.
    """
    options: dict[str, Any] = _OPTIONS[type(fit).__name__][1](fit)
    if not fit._fit.estimated_prior and type(fit).__name__ != "IndicatorResults":
        options["prior"] = fit.prior.to_dict()
    if fit._blocks.functions:
        options["functions"] = dict(fit._blocks.functions)
    return options


def _linear(fit: Any) -> dict[str, Any]:
    options = _shrunk(fit, "pooled") | {"ncomp": fit._fit.ncomp}
    return options | _indicator(fit)


def _quadratic(fit: Any) -> dict[str, Any]:
    return _shrunk(fit, "full")


def _shrunk(fit: Any, full: str) -> dict[str, Any]:
    asked = _asked_of_loaded(fit) if fit._asked is None else fit._asked
    structure = full if asked.structure == "full" else asked.structure
    options = {"method": fit._fit.method, "covariance": asked.estimator or structure}
    options["standardize"] = fit._fit.standardize
    if asked.value is not None or asked.chosen is not None:
        options["shrinkage"] = asked.chosen if asked.value is None else asked.value
    if asked.chosen == "loo":
        options["grid"] = list(asked.grid)
    return options | _robust(fit._fit.robust)


class LostEstimator:
    """An estimator of the user's, of which a file keeps the text: a refit says so."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fit(self, X: Any) -> Any:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            f"A loaded fit keeps the covariance of {self.text} and not the estimator: fit the verb anew."
        )


def _asked_of_loaded(fit: Any) -> Shrinking:
    """What was asked for, from what a file keeps; a shrinkage that leave-one-out chose is held."""
    held = fit._fit
    if held.structure == "estimator":
        return Shrinking("estimator", estimator=LostEstimator(held.estimator))
    if held.chosen in ("given", "loo"):
        return Shrinking(held.structure, "given", float(np.atleast_1d(held.shrinkage)[0]))
    return Shrinking(held.structure, held.chosen)


def _robust(robust: Robust | None) -> dict[str, Any]:
    if robust is None:
        return {}
    asked = RobustChoice.of(robust)
    if asked.method == "mcd":
        return {"method": "mcd", "support_fraction": asked.support_fraction}
    return {"method": "t", "nu": asked.nu, "scatter": "covariance" if asked.inflated else "scale"}


def _regularized(fit: Any) -> dict[str, Any]:
    names = ("alpha", "gamma", "parametrization", "method", "standardize")
    return {name: getattr(fit._fit, name) for name in names}


def _naive(fit: Any) -> dict[str, Any]:
    plan = fit._fit.plan
    terms = np.asarray(fit.terms, dtype=object)
    given = {terms[j]: float(plan.bandwidths[j]) for j in np.flatnonzero(plan.bandwidths > 0)}
    names = ("laplace", "smoothing", "method", "unseen")
    options = {name: getattr(plan, name) for name in names}
    return options | {
        "kernel": terms[plan.families == 2].tolist(),
        "counts": terms[plan.families == 3].tolist(),
        "bandwidth": given or plan.rule,
    }


def _shrunken(fit: Any) -> dict[str, Any]:
    return {"threshold": fit._fit.threshold, "offset": fit._fit.offset}


def _logistic(fit: Any) -> dict[str, Any]:
    return {
        "reference": fit.reference,
        "bias_reduction": fit._fit.bias_reduction,
        "separation": "raise" if fit._fit.newton.converged else "warn",
    } | _indicator(fit)


def _perceptron(fit: Any) -> dict[str, Any]:
    passes = fit._fit.passes
    usual = tuple(PASSES[bool(able)] for able in fit.planes["separable"])
    most = None if passes == usual else passes[0]
    return {"step": fit._fit.step, "seed": fit._fit.seed, "maxiter": most}


def _hyperplane(fit: Any) -> dict[str, Any]:
    return {}


def _flexible(fit: Any) -> dict[str, Any]:
    return {"engine": fit.engine, "ncomp": fit._ncomp}


def _indicator(fit: Any) -> dict[str, Any]:
    return {"collinear": "drop"} if fit._drops or fit._blocks.collinear else {}


def _neighbours(fit: Any) -> dict[str, Any]:
    return {name: getattr(fit._fit, name) for name in ("k", "metric", "scale")}


_OPTIONS = {
    "FDAResults": ("fda", _flexible),
    "IndicatorResults": ("indicator", _indicator),
    "KNNResults": ("knn", _neighbours),
    "HyperplaneResults": ("hyperplane", _hyperplane),
    "LDAResults": ("lda", _linear),
    "LogisticResults": ("logistic", _logistic),
    "NaiveBayesResults": ("naive_bayes", _naive),
    "PerceptronResults": ("perceptron", _perceptron),
    "QDAResults": ("qda", _quadratic),
    "RDAResults": ("rda", _regularized),
    "ShrunkenCentroidsResults": ("shrunken_centroids", _shrunken),
}
"""By class of results: its verb, and the options that are the verb's own."""
