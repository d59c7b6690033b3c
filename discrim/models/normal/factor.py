"""What `dimensions=`, `form=` and `threshold=` ask for, and why there may be no such covariance.

Covariances of a few large variances under their names: dimensions, variances, eigenvalues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.scatter.factor import (
    FORMS,
    Factors,
    Found,
    Wanted,
    bic_by_dimension,
    common_axes,
    common_dimension,
    falls,
    one_signal,
)
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.models.fits.displayed import displayed
from discrim.models.fits.reading import is_share, is_whole, listed, told

DEFAULT_FORM = "AkjBkQkDk"

THRESHOLD = 0.2
"""Share of the largest fall of the eigenvalues from which on the scree test takes a fall for signal."""

_BY_TEXT = {form.lower(): form for form in FORMS}


@dataclass(frozen=True, slots=True)
class FactorAsked:
    """Which covariances of a few large variances.

    Attributes
    ----------
    found : {"given", "cattell", "bic"}
    dimensions : int, dict of class to int, or None
        Those that are given.
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


POOLED = "pooled"
"""In the place of a class, where the classes have one covariance."""


def found_label(factors: Factors) -> str:
    """How dimensions were found, in words."""
    wanted = factors.wanted
    return {"given": "given", "bic": "BIC", "cattell": f"Cattell, {wanted.threshold:g}"}[wanted.found]


class FactorCovariances:
    """What covariances of a few large variances are; for children of `ClassifierResults`."""

    def _factors(self: Any, what: str) -> Factors:
        held: Factors | None = self._fit.numbers.factors
        if held is None:
            raise NotSupportedError(
                f'{what} exists only for covariances of a few large variances: fit qda(covariance="factor").'
            )
        return held

    @property
    def dimensions(self: Any) -> pd.Series:
        """Number of large variances by class, for `covariance="factor"`."""
        held = self._factors("dimensions")
        return pd.Series(held.dimensions, index=self.classes, name="dimensions")

    @property
    @displayed(explained="share")
    def factors(self: Any) -> pd.DataFrame:
        """By class: dimensions, largest and smallest variance of the signal, noise, explained.

        The table is for `covariance="factor"`. The noise is the one variance of all directions beyond the
        dimensions. "explained" is the share of the variance that lies on the axes of the signal: of the rows
        of a class, or of all rows within classes where the classes have one covariance. Variances are in the
        units of the data, or of columns divided by their standard deviations within classes.

        Examples
        --------
        >>> from discrim import qda
        >>> from discrim.datasets import load_iris
        >>> fit = qda("species ~ .", load_iris(), covariance="factor", dimensions=2)
        >>> fit.factors.round(3).loc["virginica"].tolist()
        [2.0, 0.695, 0.107, 0.043, 0.903]
        """
        held = self._factors("factors")
        signals, noise = held.variances(self._fit.numbers.divisors)
        table = pd.DataFrame({"dimensions": held.dimensions}, index=self.classes)
        table["largest"] = held.in_data(np.array([a.max() for a in signals]))
        table["smallest"] = held.in_data(np.array([a.min() for a in signals]))
        table["noise"], table["explained"] = held.in_data(noise), held.explained
        return table

    @displayed(fall="share", share="share")
    def scree(self: Any) -> pd.DataFrame:
        """Eigenvalues of the classes' covariances, and how many of them count as large.

        The table is for `covariance="factor"`.

        Returns
        -------
        DataFrame
            By (class, number), from the largest eigenvalue on and without those that are zero. eigenvalue;
            share, its share of the total; fall, the fall to the next one as a share of the largest fall, on
            which Cattell's test is based; BIC_above, the BIC of so many dimensions less the smallest BIC of
            the class, missing for the last one, which leaves nothing to the noise; and whether the model
            takes it for signal. Where the classes have one covariance, "pooled" stands in place of a class.

        Examples
        --------
        >>> from discrim import qda
        >>> from discrim.datasets import load_iris
        >>> fit = qda("species ~ .", load_iris(), covariance="factor", dimensions="bic")
        >>> fit.scree().loc["virginica", ["share", "fall", "BIC_above"]].round(2)
                share  fall  BIC_above
        number
        1        0.78  1.00       2.76
        2        0.12  0.09       0.00
        3        0.06  0.03       5.61
        4        0.04  0.00        NaN
        """
        held, p = self._factors("scree()"), len(self.terms)
        pooled = common_axes(held.form)
        labels = [POOLED] if pooled else list(self.classes)
        divisors, counts = self._fit.numbers.divisors, held.counts
        if pooled:
            divisors, counts = divisors.sum(keepdims=True), counts.sum(keepdims=True)
        parts = []
        for code, label in enumerate(labels):
            rank, d = int(held.ranks[code]), int(held.dimensions[code])
            whole = held.spectra[code].lengths
            lengths, steps = whole[:rank], falls(whole, p)
            steps = np.append(steps, 0.0)[:rank] / steps.max()
            spanned = np.array([min(p, rank)])
            criterion = bic_by_dimension(
                lengths[None], spanned, counts[[code]], shared=one_signal(held.form)
            )[0]  # fmt: skip
            criterion[-1] = np.nan
            index = pd.MultiIndex.from_product(
                [[label], range(1, rank + 1)], names=[self.classes.name, "number"]
            )
            parts.append(
                pd.DataFrame(
                    {
                        "eigenvalue": held.in_data(lengths / divisors[code]),
                        "share": lengths / whole.sum(),
                        "fall": steps,
                        "BIC_above": criterion - np.nanmin(criterion),
                        "signal": np.arange(rank) < d,
                    },
                    index=index,
                )
            )
        return pd.concat(parts)
