"""A linear discriminant analysis from the buffers and options of a file, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.normal.lda import LDAFit, fit_lda
from discrim.core.robust.robust import Robust
from discrim.core.shrinkage.correlation_shrinkage import variances_from_file
from discrim.core.shrinkage.shrinkage import Chosen, Structure, check_own

__all__ = ["lda_from_file"]

Floats = NDArray[np.float64]


def lda_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str,
    structure: Structure,
    ncomp: int | None,
    estimated_prior: bool,
    chosen: Chosen | None,
    estimator: str | None,
    standardize: bool,
    robust: Robust | None = None,
    shrinkage: Floats | None = None,
    covariance_roots: Floats | None = None,
    variance_chosen: Chosen | None = None,
    variance_shrinkage: Floats | None = None,
) -> LDAFit:
    """The fit that `buffers` and its options are of.

    Raises
    ------
    DataError
        They do not go together.
    """
    check_own(structure, chosen, shrinkage, covariance_roots)
    return fit_lda(
        moments,
        prior,
        method=method,
        structure=structure,
        ncomp=ncomp,
        estimated_prior=estimated_prior,
        shrinkage=None if shrinkage is None else float(shrinkage[0]),
        chosen=chosen,
        covariance=None if covariance_roots is None else Covariance.from_root(covariance_roots[0]),
        estimator=estimator,
        robust=robust,
        standardize=standardize,
        variances=variances_from_file(structure, variance_chosen, variance_shrinkage),
    )
