"""Fits to some of the terms of a formula, all to the same rows: `drop1`, nested fits, a choice of terms."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import cho_factor

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.progress import late_bar, watched
from discrim.core.numerics.tails import chi2_sf
from discrim.core.regression.logistic import MOST_STEPS, TOLERANCE, LogisticFit, fit_logistic
from discrim.core.regression.nested import Columns, null_directions, within
from discrim.core.regression.profile_likelihood import deviance_on, deviance_without
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.design import Design
from discrim.frame.used_rows import used_rows
from discrim.models.fits.fit import Fit
from discrim.models.regression.logistic_design import held
from discrim.models.regression.logistic_inference import HELD, parts_of, rows_with_maximum

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Margins", "TermFits", "drop1", "likelihood_ratio_on"]

Floats = NDArray[np.float64]


class Margins:
    """Which terms others contain, as `a` is contained in `a:b`.

    Attributes
    ----------
    terms : dict of str to frozenset of str
        The terms of the formula in R's order, those of fewer factors first, and their factors.
    """

    def __init__(self, design: Design, terms: Collection[str]) -> None:
        factors = {part.label: _factors(design, part.text) for part in design.parts()}
        own = {label: factors[label] for label in terms}
        self.terms = dict(sorted(own.items(), key=lambda item: len(item[1])))

    def removable(self, chosen: Collection[str], include: Collection[str] = ()) -> list[str]:
        """Chosen terms that no other chosen term contains, but for those that stay, in R's order."""
        inside = {a for a in chosen for b in chosen if self.terms[a] < self.terms[b]}
        return [a for a in self.terms if a in chosen and a not in inside and a not in include]

    def addable(self, chosen: Collection[str]) -> list[str]:
        """Terms that are not chosen, of which all terms are that they contain, in R's order."""
        return [
            a
            for a in self.terms
            if a not in chosen and all(b in chosen for b, own in self.terms.items() if own < self.terms[a])
        ]


def _factors(design: Design, text: str) -> frozenset[str]:
    if design.spec is None:
        return frozenset({text})
    for product in design.spec.products:
        codes = [design.spec.factors[factor].code for factor, _ in product]
        if ":".join(codes) == text:
            return frozenset(codes)
    return frozenset({text})


class TermFit(NamedTuple):
    """A fit to some terms.

    Attributes
    ----------
    deviance : float
        Minus twice the log-likelihood, without a penalty.
    parameters : int
    numbers : LogisticFit or None
        None of no term.
    """

    deviance: float
    parameters: int
    numbers: LogisticFit | None


class TermFits:
    """Fits to some terms of a formula, to the rows that are complete in all.

    Parameters
    ----------
    blocks, moments
        Of all terms, no column constant or collinear.
    reference : int
    bias_reduction : bool
    tol, maxiter
        As of `discrim.logistic`.
    """

    def __init__(
        self,
        blocks: Blocks,
        moments: ClassMoments,
        *,
        reference: int,
        bias_reduction: bool,
        tol: float = TOLERANCE,
        maxiter: int = MOST_STEPS,
    ) -> None:
        self.parts = parts_of(blocks)
        self.margins = Margins(blocks.design, self.parts)
        self._blocks, self._moments = blocks, moments
        self._rows = held(blocks, HELD)
        self._options: dict[str, Any] = {
            "reference": reference,
            "bias_reduction": bias_reduction,
            "tol": tol,
            "maxiter": maxiter,
        }
        self._known: dict[frozenset[str], TermFit] = {}

    def columns(self, terms: Collection[str]) -> list[int]:
        """Positions of the columns of terms."""
        chosen = set(terms)
        return sorted(j for label, own in self.parts.items() if label in chosen for j in own)

    def rows(self, terms: Collection[str]) -> RowBlocks:
        """The rows of the columns of terms."""
        keep = self.columns(terms)
        if self._rows is self._blocks:
            return self._blocks.columns(keep)
        return Columns(self._rows, keep)

    def fit(self, terms: Collection[str]) -> TermFit:
        """The fit to some terms.

        Raises
        ------
        DataError
            The search did not converge, as where the classes are separated.
        """
        key = frozenset(terms)
        if key in self._known:
            return self._known[key]
        if not key:
            counts = self._moments.counts
            deviance = -2 * float(counts @ np.log(counts / counts.sum()))
            return TermFit(deviance, len(counts) - 1, None)
        moments = self._moments.columns(np.array(self.columns(terms), dtype=np.intp))
        prior = moments.counts / moments.counts.sum()
        named = " + ".join(label for label in self.margins.terms if label in key)
        with watched(self.rows(terms), f"fit of {named}, passes over the rows") as rows:
            found = fit_logistic(rows, moments, prior, estimated_prior=True, **self._options)
        if not found.newton.converged:
            raise DataError(
                f"The fit of {named} has not converged, so that it cannot be compared: where a "
                "hyperplane separates the classes there is no maximum. Fit with bias_reduction=True "
                "(for stepwise(), in options=), or leave a term out."
            )
        self._known[key] = TermFit(-2 * found.llf(), found.df_model(), found)
        return self._known[key]


def drop1(fit: Fit[LogisticFit]) -> pd.DataFrame:
    """Each term removed; see `LogisticMethods.drop1`."""
    blocks = rows_with_maximum(fit, "drop1()")
    if "drop1" in fit.cache:
        kept: pd.DataFrame = fit.cache["drop1"]
        return kept.copy()
    numbers = fit.numbers
    fits = TermFits(
        blocks, numbers.moments, reference=numbers.reference, bias_reduction=numbers.bias_reduction
    )
    deviance, q = -2 * numbers.llf(), len(numbers.others)
    rows: dict[str, tuple[float, ...]] = {
        "<none>": (np.nan, deviance, deviance + 2 * numbers.df_model(), np.nan, np.nan)
    }
    everything, factor = held(blocks, HELD), cho_factor(numbers.newton.information)
    gone = fits.margins.removable(fits.parts)
    with late_bar(len(gone), "terms removed") as tell:
        for label in gone:
            ratio = deviance_without(numbers, everything, fits.parts[label], factor)
            if np.isnan(ratio):
                raise DataError(
                    f"The fit without {label!r} has not converged, so that it cannot be dropped: fit with "
                    "bias_reduction=True, or without the term."
                )
            df = float(q * len(fits.parts[label]))
            left = deviance + ratio
            if numbers.bias_reduction:
                left = fits.fit([other for other in fits.parts if other != label]).deviance
            aic = left + 2 * (numbers.df_model() - df)
            rows[label] = (df, left, aic, ratio, float(chi2_sf(ratio, df)))
            tell(1)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["df", "deviance", "AIC", "LRT", "p"])
    fit.cache["drop1"] = table.rename_axis(index="term")
    return table.rename_axis(index="term")


class _Pairs:
    """The rows of two fits side by side; both of the same rows, in the same order."""

    def __init__(self, large: Blocks, small: Blocks) -> None:
        self._large, self._small = large, small

    def __iter__(self) -> Iterator[tuple[Floats, Floats, Floats | None]]:
        ours, theirs = used_rows(self._large), used_rows(self._small)
        y = np.empty((0, len(self._small.terms)))
        for _, x, _, weights in ours:
            # Blocks of other widths break at other rows.
            parts = [y]
            have = len(y)
            while have < len(x):
                more = next(theirs)[1].copy()
                parts.append(more)
                have += len(more)
            y = np.concatenate(parts) if len(parts) > 1 else y
            yield x, y[: len(x)], weights
            y = y[len(x) :]


def likelihood_ratio_on(small: Fit[LogisticFit], large: Fit[LogisticFit]) -> tuple[float, float]:
    """The likelihood ratio of nested fits to the same rows, and its degrees of freedom.

    That of penalized fits is held in the penalized likelihood of the large one.

    Raises
    ------
    DataError
        The small fit has a column that is no combination of the large one's.
    """
    ours, theirs = rows_with_maximum(large, "lr_test()"), rows_with_maximum(small, "lr_test()")
    found = within(_Pairs(ours, theirs), large.numbers.frame, small.numbers.frame)
    if not found.nested:
        _refuse_not_nested(small, large, found.left)
    df = float(large.numbers.df_model() - small.numbers.df_model())
    if not large.numbers.bias_reduction or not df:
        return 2 * (large.numbers.llf() - small.numbers.llf()), df
    normals = null_directions(found.combinations)
    return deviance_on(large.numbers, held(ours, HELD), normals), df


def _refuse_not_nested(small: Fit[LogisticFit], large: Fit[LogisticFit], left: Floats) -> NoReturn:
    worst = small.terms[int(np.argmax(left))]
    raise DataError(
        f"The fits are not nested: the column {worst!r} of the first is no combination of those of the "
        f"second ({large.formula}). Give the smaller fit first, and as the second one with all its "
        "columns; to set other fits side by side, see compare()."
    )
