"""Which rows a picture shows: those of the fit, those of `data=`, or none where the fit has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, NotSupportedError
from discrim.frame.filled import response_codes
from discrim.frame.grammar import expression
from discrim.frame.own_functions import recall_functions

if TYPE_CHECKING:
    from discrim.frame.blocks import Blocks
    from discrim.models.fits.fit import Fit
    from discrim.models.pictures.asked import Asked

__all__ = ["DrawnRows", "drawn_rows", "needed_rows", "no_labels", "refuse_rows"]

Codes = NDArray[np.intp]


class DrawnRows(NamedTuple):
    """Rows with their classes.

    Attributes
    ----------
    blocks : Blocks
    codes : (n,) int
        Position of the class, -1 where there is none.
    labels : Series of length n
    """

    blocks: Blocks
    codes: Codes
    labels: pd.Series

    def need_classes(self, kind: str) -> None:
        """Raise DataError where no row has a class."""
        if not (self.codes >= 0).any():
            raise DataError(
                f"kind={kind!r} draws rows by their class, and no row has one: give rows with their response."
            )

    def terms(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns of the design, rows by names; missing where a row has a missing value."""
        every = list(self.blocks.terms)
        places = [every.index(name) for name in names]
        out = np.full((len(places), self.blocks.table.nrows), np.nan)
        for place, x, missing in self.blocks.every_row():
            out[:, place] = x[:, places].T
            if missing is not None:
                out[:, place.start + np.flatnonzero(missing)] = np.nan
        return pd.DataFrame(out.T, index=self.blocks.table.index, columns=list(names))


def drawn_rows(fit: Fit[Any], asked: Asked) -> DrawnRows | None:
    """The rows to draw, or None where a fit was loaded or made of moments, and no `data=` is given."""
    if asked.data is not None:
        blocks = fit.new_rows(asked.data)
        codes = _codes_of(blocks)
        return DrawnRows(blocks, codes, fit.labelled(codes, blocks.table.index))
    if not fit.has_rows:
        return None
    blocks = fit.drawn_rows()
    return DrawnRows(blocks, blocks.codes, fit.labels_of(blocks))


def _codes_of(blocks: Blocks) -> Codes:
    """Codes of the classes of new rows; -1 where the table has no column of the response's."""
    design = blocks.design
    functions = recall_functions(design.functions, blocks.functions)
    read = expression(design.response_code, frozenset(functions)).columns
    if read and not set(read) & set(blocks.table.names):
        return np.full(blocks.table.nrows, -1)
    return response_codes(design, blocks.table, blocks.functions)


def needed_rows(fit: Fit[Any], asked: Asked, kind: str) -> DrawnRows:
    """The rows to draw, of a kind that draws nothing else.

    Raises
    ------
    NotSupportedError
        There are none.
    DataError
        None of them has a class.
    """
    rows = drawn_rows(fit, asked)
    if rows is None:
        raise NotSupportedError(
            f"kind={kind!r} draws rows, which a fit that was loaded or made of moments does not have: "
            "give them as data=."
        )
    rows.need_classes(kind)
    return rows


def refuse_rows(asked: Asked, kind: str) -> None:
    """Raise NotSupportedError where rows are given to a kind that draws the numbers of a fit alone."""
    if asked.data is not None:
        raise NotSupportedError(
            f"data= does nothing for kind={kind!r}, which draws numbers of the fit and no rows: leave it out."
        )


def no_labels() -> pd.Series:
    """Labels of no rows."""
    return pd.Series([], dtype=object)
