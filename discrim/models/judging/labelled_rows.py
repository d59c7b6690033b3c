"""New rows whose class is known: what a fit calls them, or how it scores them, read part by part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.matrix import response_codes
from discrim.frame.sources.parts import no_rows
from discrim.frame.sources.rows import given_parts, named
from discrim.frame.sources.sources import rows_given
from discrim.frame.table import weight_vector
from discrim.models.fits.fit import Fit, Gaps
from discrim.models.fits.reading import listed

NONE_JUDGED = (
    "There is no row with a class and a prediction, and so nothing to judge: give rows with the response and "
    "with all columns of the formula."
)


class LabelledRows(NamedTuple):
    """Rows of a table whose classes may be known.

    Attributes
    ----------
    actual : (n,) int
        -1 where the class is missing.
    answer : (n,) int or (n, K) float
        What the fit says of them.
    weights : (n,) float or None
        Zero where one is missing.
    """

    actual: Codes
    answer: NDArray[Any]
    weights: Floats | None
    table_index: pd.Index


def labelled_rows(
    fit: Fit[Any], data: Any, gaps: Gaps, weights: Any, answer: Callable[[Blocks], NDArray[Any]]
) -> LabelledRows:
    """Classes of the rows of a table, and what the fit says of them; a source is read part by part, once.

    Parameters
    ----------
    gaps : Gaps
        As of `Fit.new_rows`.
    weights : column name, vector or None
        Frequencies; of a source the name of a column.
    answer : callable
        From blocks to codes (m,) or scores (m, K).

    Raises
    ------
    DataError
        No column of the response, a label that is none of the classes, or weights that are none.
    """
    source = rows_given(data)
    source.refuse_vector(weights)
    design = fit.blocks.design
    beside = (*design.response_columns, *([weights] if isinstance(weights, str) else ()))
    columns = tuple(dict.fromkeys((*design.columns, *beside)))
    parts = []
    for part, where in given_parts(source, columns):
        with named(where):
            parts.append(_of_table(fit, fit.new_rows(part, gaps), weights, answer))
    if not parts:
        raise no_rows(source)
    if len(parts) == 1:
        return parts[0]._replace(table_index=source.labels_of([parts[0].table_index]))
    vectors = [part.weights for part in parts if part.weights is not None]
    return LabelledRows(
        np.concatenate([part.actual for part in parts]),
        np.concatenate([part.answer for part in parts]),
        np.concatenate(vectors) if vectors else None,
        source.labels_of([part.table_index for part in parts]),
    )


def _of_table(
    fit: Fit[Any], blocks: Blocks, weights: Any, answer: Callable[[Blocks], NDArray[Any]]
) -> LabelledRows:
    actual = response_codes(blocks.design, blocks.table, blocks.functions)
    vector = weight_vector(weights, blocks.table) if blocks.table.nrows else None
    held = None if vector is None else np.nan_to_num(vector)
    return LabelledRows(actual, answer(blocks), held, blocks.table.index)


def refuse_none(judged: NDArray[np.bool_]) -> None:
    """Raise a DataError where no row (n,) is judged."""
    if not judged.any():
        raise DataError(NONE_JUDGED)


def refuse_no_share(codes: Codes, shares: Floats | None, classes: pd.Index) -> None:
    """Raise a DataError where no class of the rows, by codes (m,), has a share of the prior."""
    found = np.unique(codes)
    if shares is not None and not (shares[found] > 0).any():
        there = listed(classes[found])
        raise DataError(
            f"The rows are of {there} alone, which have no share of the prior that figures are weighted "
            "by: give rows of other classes, or prior=, the shares that are meant."
        )


def warn_left_out(actual: Codes, answered: NDArray[np.bool_], index: pd.Index) -> None:
    """Warn of rows (n,) that no figure counts: without a class, or without a prediction."""
    said = []
    for lost, what in ((actual < 0, "no class"), ((actual >= 0) & ~answered, "no prediction")):
        if lost.any():
            said.append(f"{int(lost.sum())} with {what} (first {index[int(np.argmax(lost))]!r})")
    if said:
        warn_user(
            f"Rows of data= are left out of the error rate: {' and '.join(said)}. A row needs its class, and "
            "a value in each column of the formula."
        )
