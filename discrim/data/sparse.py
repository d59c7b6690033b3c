"""Columns of which most values are the same, held as what differs: pandas' Sparse dtypes, scipy's matrices.

A table finds its sparse columns once and holds them side by side, row by row. They are written out block by
block where a model works on blocks; `rows.stored_rows` gives them as
they are to what works on stored numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
import scipy

from discrim.core.numerics.arrays import Codes, Floats
from discrim.data.values import Kind

WHOLE = 2.0**53
"""Whole numbers up to which doubles round none."""


def is_sparse_number(dtype: Any) -> TypeGuard[pd.SparseDtype]:
    """Whether a dtype is a sparse one of numbers or truth values."""
    return isinstance(dtype, pd.SparseDtype) and getattr(dtype.subtype, "kind", "O") in "biuf"


class SparseFrame:
    """A scipy matrix seen as a table, with columns of a pandas frame after those of the matrix.

    Parameters
    ----------
    matrix : (n, p) sparse array or matrix
        Of numbers or truth values; entries that are stored twice are added up.
    names : sequence of str
        Of its columns.
    beside : DataFrame, optional
        Further columns, of n rows.
    """

    __slots__ = ("_place", "beside", "columns", "dtypes", "index", "matrix")

    def __init__(self, matrix: Any, names: Sequence[str], beside: pd.DataFrame | None = None) -> None:
        stored = scipy.sparse.csr_array(matrix)
        if not stored.has_canonical_format:
            # The caller's own stays as it is.
            stored = stored.copy()
            stored.sum_duplicates()
        self.matrix = stored
        self.beside = pd.DataFrame(index=pd.RangeIndex(stored.shape[0])) if beside is None else beside
        self.index = self.beside.index
        self._place = {name: j for j, name in enumerate(names)}
        self.columns = [*names, *self.beside.columns]
        dtype = pd.SparseDtype(stored.dtype, stored.dtype.type(0))
        self.dtypes: list[Any] = [*[dtype] * len(names), *self.beside.dtypes]

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, np.ndarray):
            # Rows, as of a frame.
            return SparseFrame(self.matrix[name], self.columns[: len(self._place)], self.beside[name])
        place = self._place.get(name)
        if place is None:
            return self.beside[name]
        sparse: Any = pd.DataFrame.sparse
        return sparse.from_spmatrix(self.matrix[:, [place]], index=self.index).iloc[:, 0].rename(name)

    def with_column(self, name: str, values: Any) -> SparseFrame:
        """The same with a column more."""
        beside = self.beside.copy(deep=False)
        beside[name] = values
        return SparseFrame(self.matrix, self.columns[: len(self._place)], beside)


class SparseColumns:
    """The sparse columns of a table.

    Attributes
    ----------
    place : dict of int to int
        From the position of a column in the table to that in the matrix.
    matrix : (n, q) csr_array of float
        Stored values; without duplicates, and of its own memory.
    kinds : dict of str to str
        Names of the columns, and whether these are numeric or boolean.
    fill : (q,) float
        What stands where nothing is stored; NaN where that is missing.
    rows : dict
        What `discrim.design.rows` made of some of them, by their names.
    """

    __slots__ = ("_by_column", "fill", "kinds", "matrix", "place", "rows")

    def __init__(
        self, place: dict[int, int], matrix: scipy.sparse.csr_array, fill: Floats, kinds: dict[str, Kind]
    ) -> None:
        self.kinds = kinds
        self.place = place
        self.matrix = matrix
        self.fill = fill
        self.rows: dict[Any, Any] = {}
        self._by_column: scipy.sparse.csc_array | None = None

    def column(self, position: int, start: int, stop: int) -> Floats:
        """Rows start to stop of a column of the table."""
        if self._by_column is None:
            self._by_column = self.matrix.tocsc()
        columns = self._by_column
        j = self.place[position]
        here = slice(columns.indptr[j], columns.indptr[j + 1])
        values = np.full(self.matrix.shape[0], self.fill[j])
        values[columns.indices[here]] = columns.data[here]
        return values[start:stop]

    def has_beyond(self, low: float, high: float) -> bool:
        """Whether some value is less than low or more than high."""
        return any(bool(((each < low) | (each > high)).any()) for each in (self.matrix.data, self.fill))

    def misses(self) -> bool:
        """Whether some value is missing."""
        return bool(np.isnan(self.matrix.data).any() or np.isnan(self.fill).any())

    def write(self, places: Codes, at: Codes, start: int, stop: int, out: Floats) -> None:
        """Write rows start to stop of some columns of the matrix into columns of out (stop - start, p)."""
        part = self.matrix[start:stop]
        out[:, at] = self.fill[places]
        target = np.full(len(self.fill), -1, dtype=np.intp)
        target[places] = at
        columns = target[part.indices]
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        asked = columns >= 0
        out[rows[asked], columns[asked]] = part.data[asked]


def found_columns(data: Any, dtypes: Sequence[Any], names: Sequence[str]) -> SparseColumns | None:
    """The sparse columns of a frame, by dtypes and names of all its columns; None where it has none."""
    if isinstance(data, SparseFrame):
        width = data.matrix.shape[1]
        if data.matrix.dtype.kind not in "biuf":
            return None
        matrix = scipy.sparse.csr_array(data.matrix, dtype=np.float64, copy=True)
        kinds = dict.fromkeys(names[:width], _kind(data.matrix.dtype))
        return SparseColumns({j: j for j in range(width)}, matrix, np.zeros(width), kinds)
    positions = [j for j, dtype in enumerate(dtypes) if is_sparse_number(dtype)]
    if not positions:
        return None
    arrays = list(_arrays(data, positions))
    fill = np.array([array.fill_value for array in arrays], dtype=np.float64)
    stored = [array.sp_values for array in arrays]
    # Together they become doubles at once, and row by row without a look at their order.
    values = np.concatenate(stored).astype(np.float64, copy=False)
    rows = np.concatenate([array.sp_index.indices for array in arrays])
    starts = np.concatenate([[0], np.cumsum(list(map(len, stored)))])
    # Of one dtype with the rows, which would else be copied, where this counts so far.
    starts = starts.astype(np.result_type(rows, np.min_scalar_type(starts[-1])))
    matrix = scipy.sparse.csc_array((values, rows, starts), shape=(len(data), len(positions)))
    kinds = {names[j]: _kind(dtypes[j].subtype) for j in positions}
    return SparseColumns({j: i for i, j in enumerate(positions)}, matrix.tocsr(), fill, kinds)


def _kind(dtype: Any) -> Kind:
    return "boolean" if dtype.kind == "b" else "numeric"


def _arrays(data: pd.DataFrame, positions: Sequence[int]) -> Iterator[Any]:
    """The arrays of columns, by position."""
    # A Series for each of 50,000 columns takes longer than a fit to them: pandas has no public way past it.
    quick = getattr(data, "_iter_column_arrays", None)
    every = (series.array for _, series in data.items()) if quick is None else quick()
    wanted = set(positions)
    return (array for j, array in enumerate(every) if j in wanted)
