"""The range of values that each column may have in the rows of a table that a fit reads.

The range is made by `discrim.models.base.data_range` from the class means and the standard deviations of a
fit, and is wide: squares of distances from the class means stay within the range of float64, hence no rule
has to consider overflow. `DesignRows` checks the rows of new tables against it while they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from discrim.core.numerics.arrays import Floats, Mask
from discrim.data.table import Table
from discrim.errors import OutOfRangeError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_DEVIATIONS = 1e100
"""Within-class standard deviations from the class means up to which a value is accepted."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnRange:
    """The least and the largest accepted value, low (p,) and high (p,), of p columns, both inclusive."""

    low: Floats
    high: Floats

    def contains(self, x: Floats) -> bool:
        """Return whether 0 and all values of x, of any shape, are in the range common to all columns.

        NaN and infinity are not. The check allocates no memory. If it is false, each column may still be
        within its own range.
        """
        return bool(x.min(initial=0.0) >= self.low.max() and x.max(initial=0.0) <= self.high.min())

    def check(self, x: Floats, first: int, terms: Sequence[str], table: Table) -> None:
        """Raise an OutOfRangeError if a value of x is out of range; NaN is within any range.

        Parameters
        ----------
        x : (m, p) float array
            The m rows to check, with p columns.
        first : int
            Position in the table of the first row of x.
        terms : sequence of str
            Names (p,) of the columns.
        table : Table
            Table that labels the rows.
        """
        outside = (x < self.low) | (x > self.high)
        if outside.any():
            row, column = np.argwhere(outside)[0].tolist()
            raise_out_of_range(terms[column], float(x[row, column]), table.label(first + row))

    def check_sparse(
        self, base: Floats, steps: csr_array, missing: Mask, terms: Sequence[str], table: Table
    ) -> None:
        """Raise an OutOfRangeError if a value of rows that are stored as a sparse matrix is out of range.

        Parameters
        ----------
        base : (p,) float
            Values of the entries that `steps` does not store.
        steps : (n, p) csr_array
            The n rows of the table are base + steps.
        missing : (n,) bool
            Rows with a missing value, which are not used. Only their stored values are checked.
        terms : sequence of str
            Names (p,) of the columns.
        table : Table
            Table that labels the rows.
        """
        # The extremes of all columns are enough, if the columns have units of one size.
        ends = np.array([steps.data.min(initial=0.0), steps.data.max(initial=0.0)])
        if self.contains(ends[:, None] + np.array([base.min(), base.max()])) and self.contains(base):
            return
        columns = steps.indices
        values = steps.data + base[columns]
        outside = (values < self.low[columns]) | (values > self.high[columns])
        if outside.any():
            value_index = int(np.argmax(outside))
            row = int(np.searchsorted(steps.indptr, value_index, side="right")) - 1
            raise_out_of_range(terms[columns[value_index]], float(values[value_index]), table.label(row))
        for j in np.flatnonzero((base < self.low) | (base > self.high)).tolist():
            unstored = ~missing
            unstored[np.repeat(np.arange(len(missing)), np.diff(steps.indptr))[columns == j]] = False
            if unstored.any():
                raise_out_of_range(terms[j], float(base[j]), table.label(int(np.argmax(unstored))))


WITHIN_CLASSES = "within-class standard deviations from the class means"
"""Unit and centre of the distances of values, as messages name them."""


def raise_out_of_range(column: str, value: float, row: object, measure: str = WITHIN_CLASSES) -> NoReturn:
    """Raise the OutOfRangeError of a value.

    Parameters
    ----------
    column : str
        Name of the column.
    value : float
    row : object
        Label of its row.
    measure : str
        Unit and centre of its distance, which completes "more than 1e+100 ...".
    """
    raise OutOfRangeError(
        f"Column {column!r} has the value {value:.6g} at row {row!r}, more than {MAX_DEVIATIONS:g} "
        f"{measure}.",
        hint=(
            "Correct the value, make it missing, convert it to the unit of the other rows, or use "
            "logarithms if the column covers such a range."
        ),
        columns=(column,),
        rows=(row,),
    )
