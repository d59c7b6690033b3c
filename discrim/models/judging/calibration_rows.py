"""Rows that tell what is usual: those of the fit, each left out, or others that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.errors import DataError, warn_user
from discrim.frame.asked_rows import refuse_vector
from discrim.frame.blocks import Blocks
from discrim.frame.filled import response_codes
from discrim.frame.sources.rows import named, tables
from discrim.frame.sources.sources import source_of
from discrim.frame.weights import weight_vector
from discrim.inference.conformal import Reference, least_rows
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit

__all__ = ["OwnScores", "by_class", "labelled_rows", "warn_of_few"]

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


def labelled_rows(
    fit: Fit[Any],
    data: Any,
    values: Callable[[Blocks], Iterator[tuple[slice, Floats]]],
    *,
    weights: Any = None,
    unseen: Any = None,
) -> OwnScores:
    """Calibration rows of a table, or of a source of tables, that the fit has not seen.

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
    parts, lost, total = [], 0, 0
    for table in _tables(fit, data, weights):
        blocks = fit.new_rows(table, unseen)
        codes = response_codes(blocks.design, blocks.table, blocks.functions)
        own = weight_vector(weights, blocks.table)
        strange = np.full(blocks.table.nrows, np.nan)
        for place, found in values(blocks):
            some = codes[place]
            strange[place] = np.where(some >= 0, found[np.arange(len(some)), some], np.nan)
        known = ~np.isnan(strange) if own is None else ~(np.isnan(strange) | np.isnan(own))
        lost, total = lost + int((~known).sum()), total + len(known)
        parts.append(OwnScores(strange[known], codes[known], None if own is None else own[known]))
    if lost == total:
        raise DataError(
            f"None of the {total} rows of calibration= has its class and all its values: pass rows with "
            f"the response, {fit.blocks.design.response!r}."
        )
    if lost:
        warn_user(
            f"{lost} of the {total} rows of calibration= miss{'es' if lost == 1 else ''} the class, a value "
            "or a weight, and do not count."
        )
    joined = [np.concatenate([part[i] for part in parts]) for i in (0, 1)]
    weighed = None if weights is None else np.concatenate([np.asarray(part.weights) for part in parts])
    return OwnScores(joined[0], joined[1], weighed)


def _tables(fit: Fit[Any], data: Any, weights: Any) -> Iterator[Any]:
    source = source_of(data)
    if source is None:
        yield data
        return
    refuse_vector(weights)
    design = fit.blocks.design
    asked = tuple(dict.fromkeys([*design.response_columns, *design.columns]))
    asked = asked if weights is None or weights in asked else (*asked, weights)
    with late_bar(source.nrows or 0, "calibration rows") as tell:
        for table, where in tables(source, asked):
            with named(where):
                yield table
            tell(table.nrows)


def warn_of_few(counts: Floats, classes: pd.Index, level: float, possible: NDArray[np.bool_]) -> None:
    """Warn of classes with too few calibration rows (K,) for the level, which are in every set."""
    least = least_rows(level)
    few = np.flatnonzero(possible & (counts < least))
    if len(few):
        said = ", ".join(f"{counts[k]:g}" for k in few[:6].tolist())
        warn_user(
            f"Too few calibration rows for level={level:g}, which takes {least} in a class: of "
            f"{listed(classes[few])} there {'is' if said == '1' else 'are'} {said}, so that "
            f"{'it is' if len(few) == 1 else 'they are'} in every set. Pass a lower level, or more rows."
        )
