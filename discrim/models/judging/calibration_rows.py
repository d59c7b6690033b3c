"""Rows that tell what is usual: those of the fit, each left out, or others that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, warn_user
from discrim.frame.blocks import Blocks
from discrim.inference.conformal import Reference, least_rows
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import AS_FITTED, Gaps
from discrim.models.judging.labelled_rows import labelled_rows
from discrim.models.judging.validation import refuse_many_scores

__all__ = ["OwnScores", "by_class", "calibration_rows", "warn_of_few"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class OwnScores(NamedTuple):
    """Calibration rows.

    Attributes
    ----------
    values : (n,) float
        How strange each is in its own class.
    codes : (n,) int
        Its class.
    weights : (n,) float or None
    """

    values: Floats
    codes: Codes
    weights: Floats | None

    def among(self, classes: NDArray[np.bool_]) -> OwnScores:
        """The rows of some classes (K,)."""
        kept = classes[self.codes]
        return OwnScores(
            self.values[kept], self.codes[kept], None if self.weights is None else self.weights[kept]
        )

    def counts(self, n_classes: int) -> Floats:
        """Rows, or sums of weights, (K,) by class."""
        return np.bincount(self.codes, self.weights, n_classes).astype(np.float64)


def by_class(own: OwnScores, n_classes: int) -> list[Reference]:
    """The scores of each class, in order."""
    found = []
    for k in range(n_classes):
        mine = own.codes == k
        found.append(Reference.of(own.values[mine], None if own.weights is None else own.weights[mine]))
    return found


def calibration_rows(
    fit: Fit[Any],
    data: Any,
    values: Callable[[Blocks], Iterator[tuple[slice, Floats]]],
    *,
    weights: Any = None,
    gaps: Gaps = AS_FITTED,
) -> OwnScores:
    """Rows of a table, or of a source of tables, that the fit has not seen.

    Parameters
    ----------
    data : table or source, with the response
    values : callable
        From blocks to scores (m, K), piece by piece; missing where a row misses a value.
    weights : column name or (n,) vector, optional

    Raises
    ------
    DataError
        No row has a class and its values; a class that the fit does not know.

    Warns
    -----
    DiscrimWarning
        Rows without a class, a value or a weight do not count.
    """

    def strange(blocks: Blocks) -> Floats:
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Calibration")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, found in values(blocks):
            out[place] = found
        return out

    rows = labelled_rows(fit, data, gaps, weights, strange)
    own = rows.answer[np.arange(len(rows.actual)), np.maximum(rows.actual, 0)]
    known = (rows.actual >= 0) & ~np.isnan(own)
    if rows.weights is not None:
        known &= rows.weights > 0
    total, lost = len(known), int((~known).sum())
    if lost == total:
        raise DataError(
            f"None of the {total} rows of calibration= has its class and all its values: pass rows with "
            f"the response, {fit.blocks.design.response!r}."
        )
    if lost:
        warn_user(
            f"{lost} of the {total} rows of calibration= {'misses' if lost == 1 else 'miss'} the class, a "
            "value or a weight, and do not count."
        )
    return OwnScores(own[known], rows.actual[known], None if rows.weights is None else rows.weights[known])


def warn_of_few(counts: Floats, classes: pd.Index, level: float, possible: NDArray[np.bool_]) -> None:
    """Warn of classes with too few calibration rows (K,) for the level, which are in every set."""
    least = least_rows(level)
    few = np.flatnonzero(possible & (counts < least))
    if len(few):
        said = ", ".join(f"{counts[k]:g}" for k in few[:6].tolist())
        warn_user(
            f"Too few calibration rows for level={level:.15g}, which takes {least} in a class: of "
            f"{listed(classes[few])} there {'is' if said == '1' else 'are'} {said}, so that "
            f"{'it is' if len(few) == 1 else 'they are'} in every set. Pass a lower level, or more rows."
        )
