"""The kinds of covariance by their words: a new kind is one file and one word here."""

from __future__ import annotations

import numpy as np

from discrim.core.covariance.adjusted import CovariateAdjustedCovariance
from discrim.core.covariance.by_estimator import EstimatorCovariance
from discrim.core.covariance.correlation import ShrunkCorrelationCovariance
from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.diagonal import DiagonalCovariance
from discrim.core.covariance.em import EMCovariance
from discrim.core.covariance.factor import FactorAnalyticCovariance
from discrim.core.covariance.model import CovarianceModel, FullCovariance, Parts
from discrim.core.covariance.nonlinear import NonlinearCovariance
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.covariance.pseudo_inverse import PseudoInverseCovariance
from discrim.core.covariance.robust import robust_from_numbers
from discrim.core.covariance.separable import SeparableCovariance
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.covariance.spherical import SphericalCovariance
from discrim.core.errors import InvalidStateError
from discrim.core.numerics.arrays import Floats

KINDS: dict[str, type[CovarianceModel]] = {
    kind.name: kind
    for kind in (
        FullCovariance, DiagonalCovariance, ShrunkCovariance, NonlinearCovariance,
        ShrunkCorrelationCovariance, SphericalCovariance, PseudoInverseCovariance, FactorAnalyticCovariance,
        EstimatorCovariance, CovariateAdjustedCovariance, SeparableCovariance,
    )
}  # fmt: skip

_PARTS = {
    "shrinkage": "shrinkage",
    "chosen": "shrinkage",
    "variance_shrinkage": "shrinkage of variances",
    "variance_chosen": "shrinkage of variances",
    "covariance_roots": "estimator",
    "estimator": "estimator",
    "standardize": "sphere",
    "em": "search by EM",
    "components": "number of components",
    "components_by": "choice of components",
    "covariates": "number of covariates",
    "matrix_rows": "matrix of columns",
    "matrix_columns": "matrix of columns",
    "indicators": "indicators of levels",
}
"""What a part of a file is of, in messages; others are of the form of few factors."""


def shapes(n_covariances: int, n_columns: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the buffers that some kinds have."""
    found: dict[str, tuple[int, ...]] = {}
    kinds: list[type[CovarianceModel]] = [*KINDS.values(), EMCovariance]
    for kind in kinds:
        found |= kind.shapes(n_covariances, n_columns)
    return found | {"indicators": (n_columns,)}


def options_of(covariance_model: CovarianceModel) -> Parts:
    """What a file has among its options of a kind."""
    none = dict.fromkeys(
        (
            "chosen",
            "estimator",
            "variance_chosen",
            "form",
            "found_by",
            "least_fall",
            "components",
            "components_by",
            "covariates",
            "matrix_rows",
            "matrix_columns",
        )
    )
    return none | {"structure": covariance_model.name, "standardize": False} | covariance_model.options()


def buffers_of(covariance_model: CovarianceModel, covariances: tuple[Covariance, ...]) -> dict[str, Floats]:
    """What a file keeps of a kind that moments do not say again."""
    return {"robust": np.zeros(0)} | covariance_model.buffers(covariances)


def covariance_from_file(method: str, parts: Parts) -> CovarianceModel:
    """The kind that options and buffers of a file are of; a DataError where they do not go together."""
    parts = {name: part for name, part in parts.items() if part is not None}
    if "components" in parts:
        wanted = parts.pop("components")
        by = parts.pop("components_by", None)
        standardize = parts["standardize"]
        parts["standardize"] = False
        indicators = parts.pop("indicators", None)
        inner = covariance_from_file(method, parts)
        if not inner.traits.allows_subspace or (by is not None and not isinstance(wanted, int)):
            raise InvalidStateError("its number of components does not go with its structure")
        if by == SAVECovariance.by:
            if not inner.traits.is_full or standardize or indicators is not None:
                raise InvalidStateError("its axes do not go with its structure")
            return SAVECovariance(inner, wanted)
        which = None if indicators is None else tuple((indicators > 0).tolist())
        return SubspaceCovariance(inner, by or wanted, standardize, wanted if by else None, indicators=which)
    word = parts.pop("structure")
    robust = robust_from_numbers(method, parts.pop("robust"))
    if word == FullCovariance.name and robust is not None:
        found: CovarianceModel = robust
    else:
        found = (EMCovariance if "em" in parts else KINDS[word]).from_file(parts)
    left = next((name for name, part in parts.items() if part is not False), None)
    if left is not None or found.name != word or (robust is not None and found is not robust):
        raise InvalidStateError(f"its {_PARTS.get(left or '', 'form')} does not go with its structure")
    return found
