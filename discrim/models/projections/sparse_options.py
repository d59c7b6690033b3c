"""What `nonzero=`, `penalty=` and `ncomp=` of a sparse discriminant analysis ask for, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.sparse_lda import By
from discrim.errors import DataError
from discrim.models.fits.arguments import is_number, is_whole, told

__all__ = ["Asked", "asked_of", "directions_of", "to_be_chosen"]


class Asked(NamedTuple):
    """What the directions are asked for by; `values` is None where the penalty is to be chosen."""

    by: By
    values: tuple[float, ...] | None


def to_be_chosen(nonzero: Any, penalty: Any) -> bool:
    """Whether the penalty is to be chosen; raises a DataError for what is none, or for both."""
    if nonzero is not None and penalty is not None:
        raise DataError("nonzero= and penalty= ask for the same in two ways: leave one of them out.")
    for value in _listed(nonzero):
        if not (is_whole(value) and is_number(value) and value >= 1):
            raise DataError(
                f"nonzero={told(value)}: give a number of columns from 1 on, or one for each direction."
            )
    for value in _listed(penalty):
        if not (is_number(value) and 0 <= value < np.inf):
            raise DataError(
                f"penalty={told(value)}: give a number from 0 on, one for each direction, or None to have it "
                "chosen by folds."
            )
    return nonzero is None and penalty is None


def _listed(given: Any) -> list[Any]:
    """What is given once, or once for each direction, as a list."""
    if given is None:
        return []
    if isinstance(given, Iterable) and not isinstance(given, str | Mapping):
        # An empty one has no direction.
        return list(given) or [given]
    return [given]


def directions_of(ncomp: Any, held: ClassMoments) -> int:
    """The number of directions that are asked for; raises a DataError for one that there is not."""
    most = min(held.n_columns, held.n_classes - 1)
    if ncomp is None:
        return most
    if not (is_whole(ncomp) and 1 <= ncomp <= most):
        raise DataError(
            f"ncomp={told(ncomp)}: {held.n_columns} columns and {held.n_classes} classes have {most} "
            f"directions; give a number from 1 to {most}, or None for all."
        )
    return int(ncomp)


def asked_of(nonzero: Any, penalty: Any, most: int, held: ClassMoments) -> Asked:
    """What each of so many directions is asked for by; raises a DataError where they are not as many."""
    name: By = "penalty" if nonzero is None else "nonzero"
    values = _listed(penalty if nonzero is None else nonzero)
    if not values:
        return Asked(name, None)
    if len(values) not in (1, most):
        raise DataError(
            f"{name}={values}: {held.n_classes} classes have {most} direction{'s' if most > 1 else ''}; give "
            "one number for all of them, or one for each."
        )
    return Asked(name, tuple(float(value) for value in values) * (most if len(values) == 1 else 1))
