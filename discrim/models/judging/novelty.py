"""How unlike a class rows are, and how few rows of the class are as unlike it: typicality without a law.

What is measured is the squared distance to the class where the model has one, less that to one law of all
rows where it is the relative one; of models with a density for each class but no distance minus twice its
log; of others how strange the row is by its posteriors, or by its scores. Rows of the fit are measured
without themselves. The p-value of a row in a class is its rank among the class's own rows, which
`discrim.inference.conformal` has the law of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.independent.naive_bayes import NaiveBayesFit
from discrim.core.normal.lda import LDAFit
from discrim.core.normal.nearest_centroid import NearestCentroidFit
from discrim.core.normal.qda import QDAFit
from discrim.core.normal.rda import RDAFit
from discrim.core.rules.whole_law import WholeLaw, whole_law
from discrim.errors import NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes, used_rows
from discrim.inference.conformal import Reference, p_values, strangeness
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import AS_FITTED, Gaps
from discrim.models.fits.prediction import scored
from discrim.models.judging.calibration_rows import OwnScores, by_class, calibration_rows
from discrim.models.judging.validation import left_out_scores, refuse_many_scores

__all__ = ["Ranks", "rank_typicality", "ranked", "relative_distances"]

Floats = NDArray[np.float64]
Kind = Literal["distance", "common", "density", "scores"]


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured of rows in each class, larger for rows less like it.

    Attributes
    ----------
    kind : {"distance", "common", "density", "scores"}
        Squared distances whose leaving out has a closed form; those under one covariance, of which the scores
        left out are linear; minus twice log densities; how strange scores are.
    whole : WholeLaw or None
        What is taken off for relative ones.
    """

    kind: Kind
    whole: WholeLaw | None = None

    def of_new(self, fit: Fit[Any], blocks: Blocks) -> Iterator[tuple[slice, Floats]]:
        """Values (m, K) of rows that the fit has not seen, piece by piece."""
        if self.kind in ("distance", "common"):
            numbers = fit.numbers
            held = numbers.unbiased_distances()[0] if self.kind == "distance" else numbers.distances()
            for place, x, _ in blocks.every_row():
                with np.errstate(over="ignore", invalid="ignore"):
                    yield place, self._relative(held.squared(x).T, x, None)
            return
        rule = fit.rule_of(blocks, None if self.kind == "scores" else "equal")
        for place, scores in scored(blocks, rule, len(fit.classes)):
            if self.kind == "scores":
                yield place, _by_scores(fit, scores)
            else:
                values = -2.0 * (scores + np.log(len(fit.classes)))
                if self.whole is not None:
                    values = self._relative(values, blocks.rows_at(np.arange(place.start, place.stop)), None)
                yield place, values

    def _relative(self, values: Floats, x: Floats, left_out: Floats | None) -> Floats:
        """Values (m, K) less distances to all rows, those (m,) where each row is left out."""
        if self.whole is not None:
            gone = self.whole.squared(x) if left_out is None else left_out
            values = values - gone[:, None]
        # A row that misses no value and has no distance is beyond the range of squares.
        there = np.isfinite(x).all(axis=1, keepdims=True)
        return np.where(np.isnan(values) & there, np.inf, values)

    def of_own(self, fit: Fit[Any]) -> Floats:
        """Values (n, K) of the rows of the fit, each under what is fitted without it."""
        blocks = fit.rows("typicality()", "pass calibration=, a table of rows with their response")
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        if self.kind == "scores":
            return _by_scores(fit, left_out_scores(fit))
        # A class with a prior of zero would have no score.
        equal, k = fit, len(fit.classes)
        if self.kind == "common" or not (fit.prior > 0).all():
            equal = fit.under(np.full(k, 1.0 / k))
        left_out: Any = None
        out = np.full((blocks.table.nrows, k), np.nan)
        if isinstance(fit.numbers, NaiveBayesFit):
            out[:] = -2.0 * (left_out_scores(equal, False) - equal.log_prior())
        elif self.kind != "distance":
            _refuse_searches(fit)
            # In closed form alone: scores by a refit may be in other units, which change densities.
            left_out = equal.refits.left_out(equal)
        for rows, x, codes, weights in used_rows(blocks):
            with np.errstate(over="ignore", invalid="ignore"):
                if self.kind == "distance":
                    d2, left, _ = fit.numbers.left_out_distances(x, codes, weights)
                    values, at = d2.T, np.arange(len(x))
                    # Without the row its class has no covariance, or the row was alone in it.
                    known = (values[at, codes] >= 0) & (left[codes, at] < fit.counts[codes])
                    values[at, codes] = np.where(known, values[at, codes], np.inf)
                elif left_out is not None:
                    values = -2.0 * (left_out(x, codes, weights) - equal.log_prior())
                else:
                    values = out[rows]
                gone = None if self.whole is None else self.whole.left_out(x, weights)
                out[rows] = self._relative(values, x, gone)
        return out


def _by_scores(fit: Fit[Any], scores: Floats) -> Floats:
    return strangeness(scores, "margin" if fit.model.instead else "lac")


def _refuse_searches(fit: Fit[Any]) -> None:
    robust = getattr(fit.numbers, "robust", None)
    if robust is not None:
        raise NotSupportedError(
            f'Distances of rows left out would take a new search for each row with method="{robust.method}".'
        )


def _kind(fit: Fit[Any]) -> Kind:
    numbers = fit.numbers
    if getattr(numbers, "has_distances", False):
        return "distance"
    if isinstance(numbers, LDAFit | NearestCentroidFit):
        return "scores" if isinstance(numbers, LDAFit) and numbers.reduced() is not None else "common"
    if isinstance(numbers, QDAFit) and numbers.robust is not None:
        return "common"
    if isinstance(numbers, QDAFit | NaiveBayesFit) or (isinstance(numbers, RDAFit) and numbers.alpha > 0):
        return "density"
    return "scores"


def _measure(fit: Fit[Any], *, relative: bool) -> Measure:
    kind = _kind(fit)
    if not relative:
        return Measure(kind)
    whole = None if kind == "scores" else whole_law(fit.numbers.moments)
    if whole is None:
        why = (
            "has no distances to classes"
            if kind == "scores"
            else "holds no covariance of all rows that has an inverse"
        )
        raise NotSupportedError(
            f"Relative distances are not defined here: {fit.title.lower()}, as it was fitted, {why}. Use "
            'method="conformal", or fit lda() or qda() with full covariances.'
        )
    return Measure(kind, whole)


@dataclass(frozen=True, slots=True)
class Ranks:
    """What p-values of new rows take, without rows of the fit.

    Attributes
    ----------
    measure : Measure
    references : list of K Reference
        Values of the rows of each class.
    """

    measure: Measure
    references: list[Reference]

    def of_new(self, fit: Fit[Any], blocks: Blocks) -> Floats:
        """P-values (n, K) of rows that the fit has not seen."""
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, values in self.measure.of_new(fit, blocks):
            for k, reference in enumerate(self.references):
                out[place, k] = p_values(reference, values[:, k])
        return out

    def of_own(self, values: Floats, own: OwnScores, at: NDArray[np.intp]) -> Floats:
        """P-values (n, K) of the rows of the fit by their values (n, K), each ranked among the others."""
        out = np.full(values.shape, np.nan)
        held = np.full(len(values), np.inf)
        held[at] = own.values
        for k, reference in enumerate(self.references):
            gone = np.zeros(len(values))
            mine = at[own.codes == k]
            gone[mine] = 1.0
            if own.weights is not None:
                gone[mine] = np.minimum(1.0, own.weights[own.codes == k])
            out[:, k] = p_values(reference, values[:, k], left_out=(held, gone))
        return out


def ranked(fit: Fit[Any], method: str) -> Ranks:
    """Ranks among the rows of the fit left out, for labels of rows unlike any class."""
    way_out = (
        f'Call typicality(data, method="{method}", calibration=), with a table of rows that the fit has not '
        "seen, and compare its values with the bound."
    )
    return _ranked(fit, method, None, AS_FITTED, way_out)[0]


def _ranked(
    fit: Fit[Any], method: str, calibration: Any, gaps: Gaps, way_out: str
) -> tuple[Ranks, Floats | None, OwnScores, NDArray[np.intp]]:
    measure, k = _measure(fit, relative=method == "relative"), len(fit.classes)
    if calibration is not None:
        own = calibration_rows(fit, calibration, lambda blocks: measure.of_new(fit, blocks), gaps=gaps)
        return Ranks(measure, by_class(own, k)), None, own, np.zeros(0, dtype=np.intp)
    if not fit.has_rows:
        raise NotSupportedError(
            f'method="{method}" ranks rows among those of the fit, which a fit that was loaded or '
            f"made of moments does not have. {way_out}"
        )
    try:
        values = measure.of_own(fit)
    except NotSupportedError as error:
        raise NotSupportedError(f"{error} {way_out}") from None
    codes, weights = used_codes(fit.blocks), fit.blocks.weights
    at = np.flatnonzero(codes >= 0)
    own = OwnScores(values[at, codes[at]], codes[at], None if weights is None else weights[at])
    return Ranks(measure, by_class(own, k)), values, own, at


def rank_typicality(
    fit: Fit[Any], data: Any, method: str, calibration: Any = None, gaps: Gaps = AS_FITTED
) -> pd.DataFrame:
    """P-values of new rows, or of the fit's own by the others; see `ClassifierResults.typicality`."""
    if data is None and calibration is not None:
        raise NotSupportedError(
            "Rows that the fit has seen are not ranked among rows that it has not: pass data=, or leave out "
            "calibration=."
        )
    new = "" if data is not None else "new rows as data=, and "
    way_out = f"Pass {new}calibration=, a table of rows that the fit has not seen, with their response."
    ranks, values, own, at = _ranked(fit, method, calibration, gaps, way_out)
    blocks = fit.blocks if data is None else fit.new_rows(data, gaps)
    if data is None and values is not None:
        found = ranks.of_own(values, own, at)
    else:
        found = ranks.of_new(fit, blocks)
    return pd.DataFrame(found, index=blocks.table.index, columns=fit.classes, copy=False)


def relative_distances(fit: Fit[Any], data: Any, gaps: Gaps = AS_FITTED) -> pd.DataFrame:
    """Relative distances of new rows, or of the fit's own left out; see `ClassifierResults`."""
    measure = _measure(fit, relative=True)
    if data is None:
        blocks = fit.rows("relative_distances()", "pass data=")
        try:
            found = measure.of_own(fit)
        except NotSupportedError as error:
            raise NotSupportedError(f"{error} Pass rows as data=, which are measured by all rows.") from None
    else:
        blocks = fit.new_rows(data, gaps)
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Relative distances")
        found = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, values in measure.of_new(fit, blocks):
            found[place] = values
    return pd.DataFrame(found, index=blocks.table.index, columns=fit.classes, copy=False)
