"""The options of each verb that its numbers do not hold under the same names; for the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discrim.core.planes.perceptron import PASSES
from discrim.core.scatter.robust import Robust
from discrim.errors import NotSupportedError
from discrim.models.normal.covariance_options import Shrinking
from discrim.models.normal.robust import RobustChoice


def of_linear(fit: Any) -> dict[str, Any]:
    """Options of `lda`."""
    options = _shrunk(fit, "pooled") | {"ncomp": fit._fit.numbers.ncomp}
    return options | of_collinear(fit)


def of_quadratic(fit: Any) -> dict[str, Any]:
    """Options of `qda`."""
    options = _shrunk(fit, "full")
    held = fit._fit.numbers.factors
    if held is None:
        return options
    wanted = held.wanted
    if wanted.found == "given":
        options["dimensions"] = dict(zip(fit.classes, held.dimensions.tolist(), strict=True))
    else:
        options["dimensions"] = wanted.found
    if wanted.found == "cattell":
        options["threshold"] = wanted.threshold
    return options | {"form": wanted.form}


def _shrunk(fit: Any, full: str) -> dict[str, Any]:
    asked = _asked_of_loaded(fit) if fit._fit.refits.asked is None else fit._fit.refits.asked
    structure = full if asked.structure == "full" else asked.structure
    options = {"method": fit._fit.numbers.method, "covariance": asked.estimator or structure}
    options["standardize"] = fit._fit.numbers.standardize
    if asked.value is not None or asked.chosen is not None:
        options["shrinkage"] = asked.chosen if asked.value is None else asked.value
    if asked.chosen == "loo":
        options["grid"] = list(asked.grid)
    if asked.variances is not None:
        options["variance_shrinkage"] = asked.variances
    if fit._fit.numbers.em is not None:
        options["missing"] = "em"
    return options | _robust(fit._fit.numbers.robust)


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
    held = fit._fit.numbers
    if held.structure == "estimator":
        return Shrinking("estimator", estimator=LostEstimator(held.estimator))
    if held.structure == "correlation":
        g, both = held.variances, Shrinking("correlation", held.chosen)
        given = replace(both, value=held.shrinkage) if held.chosen == "given" else both
        return replace(given, variances="strimmer" if g.chosen == "strimmer" else g.value)
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


def of_naive(fit: Any) -> dict[str, Any]:
    """Options of `naive_bayes`."""
    plan = fit._fit.numbers.plan
    terms = np.asarray(fit.terms, dtype=object)
    given = {terms[j]: float(plan.bandwidths[j]) for j in np.flatnonzero(plan.bandwidths > 0)}
    names = ("laplace", "smoothing", "method", "unseen")
    options = {name: getattr(plan, name) for name in names}
    return options | {
        "kernel": terms[plan.families == 2].tolist(),
        "counts": terms[plan.families == 3].tolist(),
        "bandwidth": given or plan.rule,
        "missing": None if fit._fit.numbers.available is None else "available",
    }


def of_logistic(fit: Any) -> dict[str, Any]:
    """Options of `logistic`."""
    return {
        "reference": fit.reference,
        "bias_reduction": fit._fit.numbers.bias_reduction,
        "separation": "raise" if fit._fit.numbers.newton.converged else "warn",
    } | of_collinear(fit)


def of_penalized(fit: Any) -> dict[str, Any]:
    """Options of `logistic` with a penalty, the strength held."""
    held, search = fit.penalty, fit._fit.refits.asked
    options = {"reference": fit.reference, "penalty": held.name, "strength": held.strength}
    if held.name == "elastic_net":
        options["l1_ratio"] = held.l1_ratio
    if search is not None and search.grid is not None:
        options["grid"] = search.grid.tolist()
    return options


def of_perceptron(fit: Any) -> dict[str, Any]:
    """Options of `perceptron`."""
    passes = fit._fit.numbers.passes
    usual = tuple(PASSES[bool(able)] for able in fit.planes["separable"])
    most = None if passes == usual else passes[0]
    options = {"step": fit._fit.numbers.step, "seed": fit._fit.numbers.seed, "maxiter": most}
    begin = fit._fit.numbers.start
    if begin is not None:
        options["start"] = begin[:, 0].tolist() if len(fit.classes) == 2 else begin.T.tolist()
    return options


def of_kernels(fit: Any) -> dict[str, Any]:
    """Options of `kernel_density`, a bandwidth that was chosen held."""
    held = fit._fit.numbers
    radii = dict(zip(fit.classes, held.radii.tolist(), strict=True))
    return {
        "bandwidth": "normal" if held.rule_of_radii == "normal" else radii,
        "kernel": held.kernel,
        "metric": held.metric,
        "covariance": "pooled" if held.common else "class",
    }


def of_mixture(fit: Any) -> dict[str, Any]:
    """Options of `mixture`, what BIC chose held."""
    held = fit._fit.numbers
    by_class = {
        "components": dict(zip(fit.classes, held.sizes, strict=True)),
        "covariance": dict(zip(fit.classes, held.forms, strict=True)),
    }
    names = ("starts", "seed", "tol", "maxiter")
    options = {name: getattr(held, name) for name in names} | by_class
    return options | {"over": "classes" if held.together else "class"}


def of_pls(fit: Any) -> dict[str, Any]:
    """Options of `pls`, the number of components held."""
    held = fit._fit.numbers
    names = ("components", "scale", "indicators", "algorithm")
    options = {name: getattr(held, name) for name in names} | {"rule": held.decides}
    if held.algorithm == "engine":
        options |= {"algorithm": "nipals", "engine": fit._fit.refits.asked}
    return options


def of_flexible(fit: Any) -> dict[str, Any]:
    """Options of `fda`."""
    return {"engine": fit.engine, "ncomp": fit._fit.refits.asked}


def of_collinear(fit: Any) -> dict[str, Any]:
    """Whether columns that others determine are dropped, of a verb that takes `collinear`."""
    return {"collinear": "drop"} if fit._fit.refits.drops or fit._fit.blocks.collinear else {}


def of_sparse(fit: Any) -> dict[str, Any]:
    """Options of `sparse_lda`; a penalty that was chosen is held."""
    held = fit._fit.numbers
    values = [int(value) if held.by == "nonzero" else value for value in held.asked]
    asked = values[0] if len(set(values)) == 1 else values
    return {held.by: asked, "ridge": held.ridge, "ncomp": held.ncomp}
