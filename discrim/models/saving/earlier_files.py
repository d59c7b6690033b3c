"""What earlier versions wrote into a file of a fit, in the form of this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.scatter.covariance import Dependency, dependencies
from discrim.frame.blocks import Blocks
from discrim.models.fits.reading import listed
from discrim.models.fits.refits import LostObject, default_options
from discrim.models.registry import BY_MODEL
from discrim.models.saving.tensor_file import damaged

Parts = tuple[dict[str, Any], dict[str, Floats]]

Arguments = dict[str, Any]

_WITHOUT_AXES: dict[str, Any] = {"components": None, "components_by": None}

_NO_MATRIX: dict[str, Any] = {"matrix_rows": None, "matrix_columns": None}

# Spheres were those of the units of the data. Covariances of a few large variances came later, and shrunken
# correlations, beside which variances are shrunk. All columns were compared, and no principal axes.
LATER_OPTIONS: dict[str, dict[str, Any]] = {
    "lda": {"standardize": False, "variance_chosen": None, "covariates": None} | _WITHOUT_AXES | _NO_MATRIX,
    "qda": {"standardize": False, "form": None, "found_by": None, "least_fall": None}
    | _WITHOUT_AXES
    | _NO_MATRIX,
    "rda": {"standardize": False} | _WITHOUT_AXES,
    "pls": {"orthogonal": 0},
}
"""Options of models that an earlier file has not, and what they were."""


def is_earlier(about: dict[str, Any]) -> bool:
    """Whether a description is of a version that found less of the collinearity of columns."""
    return "left_out" not in about


def in_this_form(about: dict[str, Any], tensors: dict[str, Floats]) -> Parts:
    """Description and buffers of a file, with what it could not say when it was written; none is checked."""
    about, tensors = dict(about), dict(tensors)
    name = about.get("model")
    later = LATER_OPTIONS.get(name) if isinstance(name, str) else None
    if later is not None and isinstance(about.get("options"), dict):
        about["options"] = later | about["options"]
    about.setdefault("left_out", {"constant": [], "collinear": _not_kept(about)})
    whitening = tensors.get("whitening")
    if name == "knn" and "within_root" not in tensors and _is_inverse_root(whitening):
        del tensors["whitening"]
        tensors["within_root"] = np.triu(scipy.linalg.lapack.dtrtri(whitening)[0])
    return about, tensors


def refuse_collinear(
    path: Any, model: str, options: dict[str, Any], moments: ClassMoments, terms: tuple[str, ...]
) -> None:
    """Raise a DataError where columns of an earlier version's fit are collinear: its numbers are rounding."""
    columns = (each.column for each in _collinear(model, options, moments))
    culprits = list(dict.fromkeys(terms[column] for column in columns))
    if not culprits:
        return
    are = "is a linear combination" if len(culprits) == 1 else "are linear combinations"
    raise damaged(
        path,
        f"{listed(culprits)} {are} of other columns, which the version that wrote it did not find, and its "
        "coefficients are rounding",
        f"Leave {listed(culprits)} out of the formula, fit the table again, and save that fit",
    )


def _collinear(model: str, options: dict[str, Any], moments: ClassMoments) -> list[Dependency]:
    """What the verb would find now."""
    if model in ("logistic", "indicator"):
        return dependencies(moments.as_one())
    classes: list[int | None] = list(range(moments.n_classes))
    if model == "rda":
        alpha, gamma = options["alpha"], options["gamma"]
        ridge = (1 - alpha) * (1 - gamma) if options["parametrization"] == "esl" else gamma
        taken = not ridge > 0
        if alpha < 1:
            classes = [None]
    else:
        taken = options.get("structure") == "full" and options["method"] in ("moment", "mle")
        if model == "lda":
            classes = [None]
    return [each for k in classes for each in dependencies(moments, k)] if taken else []


def _not_kept(about: dict[str, Any]) -> list[Any]:
    """Terms that were dropped, which had to be collinear."""
    keep, design = about.get("keep"), about.get("design")
    terms = design.get("terms") if isinstance(design, dict) else None
    if not isinstance(keep, list) or not isinstance(terms, list):
        return []
    kept = {j for j in keep if isinstance(j, int)}
    return [term for j, term in enumerate(terms) if j not in kept]


def _is_inverse_root(matrix: Floats | None) -> bool:
    """Whether a buffer is what the inverse of a triangular root is."""
    return (
        matrix is not None
        and matrix.ndim == 2
        and matrix.shape[0] == matrix.shape[1]
        and not np.tril(matrix, -1).any()
        and bool(np.diagonal(matrix).all())
    )


def arguments_of(model: str, options: dict[str, Any], numbers: Any, blocks: Blocks) -> Arguments:
    """The arguments of the verb, which files did not hold, by the numbers; what the rows chose is given."""
    row = BY_MODEL[model]
    defaults = default_options(row)
    alike = {name: value for name, value in options.items() if name in defaults and name not in row.choosing}
    renamed = _ARGUMENTS[model](numbers, list(blocks.design.levels), blocks) if model in _ARGUMENTS else {}
    collinear = {"collinear": "drop"} if blocks.collinear and "collinear" in defaults else {}
    return defaults | alike | collinear | renamed


def _linear(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    arguments = _quadratic(numbers, levels, blocks)
    return arguments | ({"covariance": "pooled"} if arguments["covariance"] == "full" else {})


def _quadratic(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    arguments: Arguments = numbers.scatter.anew().keywords()
    if arguments["covariance"] is None:
        arguments["covariance"] = LostObject(numbers.scatter.text)
    if isinstance(arguments.get("dimensions"), list):
        arguments["dimensions"] = dict(zip(levels, arguments["dimensions"], strict=True))
    return arguments


def _naive(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    plan, terms = numbers.plan, np.asarray(blocks.terms, dtype=object)
    given = {terms[j]: float(plan.bandwidths[j]) for j in np.flatnonzero(plan.bandwidths > 0)}
    return {
        "kernel": terms[plan.families == 2].tolist(),
        "counts": terms[plan.families == 3].tolist(),
        "bandwidth": given or plan.rule,
        "missing": None if numbers.available is None else "available",
    }


def _logistic(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    return {
        "reference": levels[numbers.reference],
        "separation": "raise" if numbers.newton.converged else "warn",
    }


def _penalized(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    share = numbers.l1_ratio if numbers.penalty == "elastic_net" else None
    return {"reference": levels[numbers.reference], "l1_ratio": share}


def _perceptron(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    begin = numbers.start
    start = None if begin is None else begin[:, 0].tolist() if len(levels) == 2 else begin.T.tolist()
    return {"maxiter": numbers.maxiter, "start": start}


def _kernels(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    radii = dict(zip(levels, numbers.radii.tolist(), strict=True))
    return {
        "bandwidth": "normal" if numbers.rule_of_radii == "normal" else radii,
        "covariance": "pooled" if numbers.common else "class",
    }


def _mixture(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    return {
        "components": dict(zip(levels, numbers.sizes, strict=True)),
        "covariance": dict(zip(levels, numbers.forms, strict=True)),
        "over": numbers.over,
    }


def _least_squares(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    # What has found the components is not in the file, and a refit by an algorithm would be another fit.
    engine = {"algorithm": "nipals", "engine": LostObject("engine")}
    return {"ncomp": numbers.components, "rule": numbers.decides} | (
        engine if numbers.algorithm == "engine" else {}
    )


def _sparse(numbers: Any, levels: list[Any], blocks: Blocks) -> Arguments:
    values = [int(value) if numbers.by == "nonzero" else value for value in numbers.tuning]
    return {numbers.by: values[0] if len(set(values)) == 1 else values}


_ARGUMENTS: dict[str, Callable[[Any, list[Any], Blocks], Arguments]] = {
    "lda": _linear,
    "qda": _quadratic,
    "naive_bayes": _naive,
    "logistic": _logistic,
    "penalized_logistic": _penalized,
    "perceptron": _perceptron,
    "kernel_density": _kernels,
    "mixture": _mixture,
    "pls": _least_squares,
    "sparse_lda": _sparse,
}
"""Of models whose numbers have the options of the verb under other names."""
