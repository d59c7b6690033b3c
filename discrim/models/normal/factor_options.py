"""What `dimensions=`, `form=` and `threshold=` ask for, and why there may be no such covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discrim.core.covariance.factor import (
    FORMS,
    Factors,
    Found,
    Wanted,
    common_axes,
    common_dimension,
)
from discrim.errors import CollinearError, DataError
from discrim.models.fits.arguments import is_share, is_whole, listed, told

__all__ = ["FactorAsked", "read_factor", "refuse_fault"]

DEFAULT_FORM = "AkjBkQkDk"

THRESHOLD = 0.2
"""Share of the largest fall of the eigenvalues from which on the scree test takes a fall for signal."""

_BY_TEXT = {form.lower(): form for form in FORMS}


@dataclass(frozen=True, slots=True)
class FactorAsked:
    """Which covariances of a few large variances.

    Attributes
    ----------
    form : str
    found : {"given", "cattell", "bic"}
    dimensions : int, dict of class to int, or None
        Those that are given.
    threshold : float
    """

    form: str
    found: Found
    dimensions: Any
    threshold: float

    def of(self, levels: Sequence[Any], p: int) -> Wanted:
        """The same for classes and a number of columns.

        Raises
        ------
        CollinearError
            There is one column.
        DataError
            Classes are unknown or missing, or the dimensions are to be the same.
        """
        if p < 2:
            raise CollinearError(
                'covariance="factor" needs two columns or more, and there is one: use covariance="full".'
            )
        if self.found != "given":
            return Wanted(self.form, self.found, None, self.threshold)
        if not isinstance(self.dimensions, Mapping):
            return Wanted(self.form, "given", np.full(len(levels), int(self.dimensions)), self.threshold)
        unknown = [label for label in self.dimensions if label not in levels]
        if unknown:
            raise DataError(
                f"dimensions= names {told(unknown[0])}, which is no class: name {listed(levels, most=8)}."
            )
        missing = [label for label in levels if label not in self.dimensions]
        if missing:
            raise DataError(
                f"dimensions= gives nothing for class {told(missing[0])}: give each class a number."
            )
        each = np.array([int(self.dimensions[label]) for label in levels])
        if common_dimension(self.form) and len(set(each.tolist())) > 1:
            own = f'form="{self.form}k"'
            other = f", or pass {own}" if not common_axes(self.form) else ""
            raise DataError(
                f'form="{self.form}" has one dimension for all classes, and dimensions= gives several: give '
                f"one number{other}."
            )
        return Wanted(self.form, "given", each, self.threshold)


def read_factor(structure: str, dimensions: Any, form: Any, threshold: Any) -> FactorAsked | None:
    """What the keywords ask for; None of other covariances.

    Parameters
    ----------
    structure : str
    dimensions : int, mapping of class to int, "cattell", "bic" or None
    form : str or None
    threshold : float or None

    Raises
    ------
    DataError
        A word that is not known, a number out of range, or keywords that do not go together.
    """
    if structure != "factor":
        given = {"dimensions": dimensions, "form": form, "threshold": threshold}
        for name, value in given.items():
            if value is not None:
                raise DataError(
                    f'{name}={value!r} goes with covariance="factor", and not with {structure!r}: leave it '
                    "out, or pass that."
                )
        return None
    known = _BY_TEXT.get(form.lower()) if isinstance(form, str) else None
    if form is not None and known is None:
        raise DataError(f"form={told(form)} is not known: use one of {listed(FORMS, most=len(FORMS))}.")
    held = known or DEFAULT_FORM
    asked = "cattell" if dimensions is None else dimensions
    if threshold is not None and not (isinstance(asked, str) and asked == "cattell"):
        raise DataError(
            f'threshold={threshold!r} goes with dimensions="cattell", and not with {asked!r}: leave it out.'
        )
    if threshold is not None and not is_share(threshold):
        raise DataError(
            f"threshold={told(threshold)}: give a share of the largest fall, between 0 and 1, as 0.2."
        )
    share = THRESHOLD if threshold is None else float(threshold)
    if isinstance(asked, str):
        if asked not in ("cattell", "bic"):
            raise DataError(
                f'dimensions={asked!r} is not known: use "cattell", "bic", a number, or one by class.'
            )
        found: Found = "cattell" if asked == "cattell" else "bic"
        return FactorAsked(held, found, None, share)
    for each in asked.values() if isinstance(asked, Mapping) else [asked]:
        if not is_whole(each) or each < 1:
            raise DataError(
                f'dimensions={told(each)}: give a whole number from 1 on, a dict of them by class, "cattell" '
                'or "bic"; without any, covariance="spherical" is the model.'
            )
    return FactorAsked(held, "given", asked, share)


def refuse_fault(factors: Factors, levels: Sequence[Any], rows: Sequence[int]) -> None:
    """Raise where a class has no such covariance, naming it and the way out.

    Parameters
    ----------
    factors : Factors
    levels : sequence
    rows : sequence of int
        Rows of each class.

    Raises
    ------
    CollinearError
        A dimension leaves nothing to the noise.
    DataError
        A signal varies less than the noise.
    """
    fault = factors.fault()
    if fault is None:
        return
    if fault.kind == "order":
        which = "noise" if "Bk" not in factors.form else "signal"
        own = 'form="AkjBkQkDk"' if not common_dimension(factors.form) else 'form="AkjBkQkD"'
        raise DataError(
            f'In form="{factors.form}", with one variance of the {which} for all classes, a signal of class '
            f"{levels[fault.code]!r} varies less than its noise: pass {own}, or fewer dimensions."
        )
    said = f"class {levels[fault.code]!r}, whose {rows[fault.code]} rows vary" if fault.code >= 0 else (
        "the classes, whose rows vary within them"
    )  # fmt: skip
    one = fault.rank == 1
    raise CollinearError(
        f"{fault.dimension} dimension{'s' * (fault.dimension != 1)} of the signal leave nothing to the noise "
        f"of {said} in {fault.rank} dimension{'s' * (not one)} only: "
        + (
            'pass covariance="shrunk", or leave the class out.'
            if fault.rank <= 1
            else f'pass dimensions= of {fault.rank - 1} at most, or covariance="shrunk".'
        )
    )
