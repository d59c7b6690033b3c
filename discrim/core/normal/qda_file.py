"""A quadratic discriminant analysis from the buffers and options of a file, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.factor import FORMS, Found, Wanted, common_dimension
from discrim.core.moments.moments import ClassMoments
from discrim.core.normal.qda import QDAFit, factors_for, fit_qda
from discrim.core.robust.robust import Robust
from discrim.core.shrinkage.shrinkage import Chosen, Structure, check_own
from discrim.errors import DataError

__all__ = ["qda_from_file"]

Floats = NDArray[np.float64]

_FOUND: dict[str, Found] = {"given": "given", "cattell": "cattell", "bic": "bic"}


def qda_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str,
    structure: Structure,
    estimated_prior: bool,
    chosen: Chosen | None,
    estimator: str | None,
    standardize: bool,
    form: str | None = None,
    found_by: Found | None = None,
    least_fall: float | None = None,
    robust: Robust | None = None,
    shrinkage: Floats | None = None,
    covariance_roots: Floats | None = None,
    dimensions: Floats | None = None,
) -> QDAFit:
    """The fit that `buffers` and its options are of; as `discrim.core.normal.lda_file.lda_from_file`."""
    check_own(structure, chosen, shrinkage, covariance_roots)
    wanted = _wanted(structure, form, found_by, least_fall, dimensions)
    factors = None if wanted is None else factors_for(moments, wanted, standardize=standardize)
    if factors is not None and factors.fault() is not None:
        raise DataError("its dimensions do not go with its moments")
    return fit_qda(
        moments,
        prior,
        method=method,
        structure=structure,
        estimated_prior=estimated_prior,
        shrinkage=shrinkage,
        chosen=chosen,
        covariances=None
        if covariance_roots is None
        else tuple(Covariance.from_root(root) for root in covariance_roots),
        estimator=estimator,
        robust=robust,
        standardize=standardize,
        factors=factors,
    )


def _wanted(
    structure: str, form: str | None, found: str | None, threshold: float | None, dimensions: Floats | None
) -> Wanted | None:
    """What a file says of its covariances, None where they are others.

    Raises
    ------
    DataError
        It is no such thing.
    """
    there = {part is not None for part in (form, found, threshold, dimensions)}
    if there != {structure == "factor"}:
        raise DataError("its form, or its dimensions, do not go with its structure")
    if form is None or found is None or threshold is None or dimensions is None:
        return None
    if form not in FORMS or found not in _FOUND or not 0 <= threshold <= 1:
        raise DataError("its form, or how its dimensions were found, is not known")
    whole = dimensions.astype(np.intp)
    if (whole != dimensions).any() or (whole < 1).any():
        raise DataError("its dimensions are no whole numbers")
    if common_dimension(form) and len(set(whole.tolist())) > 1:
        raise DataError("its dimensions are to be the same")
    return Wanted(form, _FOUND[found], whole, threshold)
