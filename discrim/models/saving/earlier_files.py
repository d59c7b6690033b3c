"""What earlier versions wrote into a file of a fit, in the form of this one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.scatter.covariance import Dependency, dependencies
from discrim.models.fits.reading import listed
from discrim.models.saving.tensor_file import damaged

Parts = tuple[dict[str, Any], dict[str, Floats]]

SPHERES = ("lda", "qda", "rda")
"""Models that may be drawn towards a sphere of columns over their standard deviations."""


def is_earlier(about: dict[str, Any]) -> bool:
    """Whether a description is of a version that found less of the collinearity of columns."""
    return "left_out" not in about


def in_this_form(about: dict[str, Any], tensors: dict[str, Floats]) -> Parts:
    """Description and buffers of a file, with what it could not say when it was written.

    Nothing is checked, as both are checked afterwards.
    """
    about, tensors = dict(about), dict(tensors)
    if about.get("model") in SPHERES and isinstance(about.get("options"), dict):
        # Spheres were those of the units of the data.
        about["options"] = {"standardize": False} | about["options"]
    if about.get("model") == "qda" and isinstance(about.get("options"), dict):
        # Covariances of a few large variances came later.
        about["options"] = dict.fromkeys(("form", "found_by", "least_fall")) | about["options"]
    if about.get("model") == "lda" and isinstance(about.get("options"), dict):
        # There were no shrunken correlations, beside which variances are shrunk.
        about["options"] = {"variance_chosen": None} | about["options"]
    about.setdefault("left_out", {"constant": [], "collinear": _not_kept(about)})
    whitening = tensors.get("whitening")
    if about.get("model") == "knn" and "within_root" not in tensors and _is_inverse_root(whitening):
        del tensors["whitening"]
        tensors["within_root"] = np.triu(scipy.linalg.lapack.dtrtri(whitening)[0])
    return about, tensors


def refuse_collinear(
    path: Any, model: str, options: dict[str, Any], moments: ClassMoments, terms: tuple[str, ...]
) -> None:
    """Raise where a fit of an earlier version has collinear columns, so that its numbers are rounding.

    Raises
    ------
    DataError
        With the columns at fault.
    """
    found = _collinear(model, options, moments)
    culprits = list(dict.fromkeys(terms[dependency.column] for dependency in found))
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
