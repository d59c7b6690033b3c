"""Sparse columns, most of whose values are equal: pandas' Sparse dtypes and SciPy's sparse matrices.

A table finds its sparse columns once, and stores them together as a matrix in CSR format. They become dense
block by block for models that work on blocks; `discrim.design.rows.stored_rows` passes the stored values to
algorithms that work on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
import scipy

from discrim.core.numerics.arrays import Codes, Floats
from discrim.data.values import ColumnType

MAX_EXACT_INTEGER = 2.0**53
"""float64 represents every integer up to this one exactly."""


def is_sparse_number(dtype: Any) -> TypeGuard[pd.SparseDtype]:
    """Return whether a dtype is a sparse dtype of numbers or booleans."""
    return isinstance(dtype, pd.SparseDtype) and getattr(dtype.subtype, "kind", "O") in "biuf"


class SparseFrame:
    """A SciPy matrix as a table, with additional columns of a pandas frame.

    Parameters
    ----------
    matrix : (n, p) sparse array or matrix
        Numbers or booleans of n rows and p columns; duplicate entries are summed.
    names : sequence of str
        Names of its columns.
    extra_columns : DataFrame, optional
        Additional columns, of n rows.

    Attributes
    ----------
    matrix : (n, p) csr_array
        The matrix without duplicate entries. It shares the memory of the caller's matrix if possible.
    columns : list
        Names of all columns, the columns of the matrix first.
    dtypes : list
        Dtypes of all columns; a sparse dtype with the fill value 0 for columns of the matrix.
    index : pandas.Index
        Index of `extra_columns`, by default 0, 1, ...
    """

    __slots__ = ("_position_by_name", "columns", "dtypes", "extra_columns", "index", "matrix")

    def __init__(self, matrix: Any, names: Sequence[str], extra_columns: pd.DataFrame | None = None) -> None:
        stored = scipy.sparse.csr_array(matrix)
        if not stored.has_canonical_format:
            # Do not modify the caller's matrix.
            stored = stored.copy()
            stored.sum_duplicates()
        self.matrix = stored
        self.extra_columns = (
            pd.DataFrame(index=pd.RangeIndex(stored.shape[0])) if extra_columns is None else extra_columns
        )
        self.index = self.extra_columns.index
        self._position_by_name = {name: j for j, name in enumerate(names)}
        self.columns = [*names, *self.extra_columns.columns]
        dtype = pd.SparseDtype(stored.dtype, stored.dtype.type(0))
        self.dtypes: list[Any] = [*[dtype] * len(names), *self.extra_columns.dtypes]

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, name: Any) -> Any:
        """Return a column by its name as a Series, or the rows of a mask or of positions as a SparseFrame."""
        if isinstance(name, np.ndarray):
            return SparseFrame(
                self.matrix[name], self.columns[: len(self._position_by_name)], self.extra_columns[name]
            )
        column_position = self._position_by_name.get(name)
        if column_position is None:
            return self.extra_columns[name]
        sparse: Any = pd.DataFrame.sparse
        return (
            sparse.from_spmatrix(self.matrix[:, [column_position]], index=self.index).iloc[:, 0].rename(name)
        )

    def with_column(self, name: str, values: Any) -> SparseFrame:
        """Return a new frame with an additional column of n values, which shares the matrix.

        A column of the same name in `extra_columns` is replaced at its position. The name must differ from
        the name of a column of the matrix, which would be returned in its place.
        """
        extra_columns = self.extra_columns.copy(deep=False)
        extra_columns[name] = values
        return SparseFrame(self.matrix, self.columns[: len(self._position_by_name)], extra_columns)


class SparseColumns:
    """The q sparse columns of a table of n rows, stored as one matrix.

    The parameters are attributes of the same names, except `kinds`, which becomes `column_types`.

    Attributes
    ----------
    matrix_positions : dict of int to int
        Position in the matrix of each column, by its position in the table.
    matrix : (n, q) csr_array of float
        Stored values, without duplicates; a copy of the caller's.
    column_types : dict of str to str
        Column type of each column, "numeric" or "boolean", by name.
    fill : (q,) float array
        Value of the entries of each column that are not stored; NaN if they are missing.
    rows : dict
        Cache of `discrim.design.rows.stored_rows`; other modules do not read it.
    """

    __slots__ = ("_by_column", "column_types", "fill", "matrix", "matrix_positions", "rows")

    def __init__(
        self,
        matrix_positions: dict[int, int],
        matrix: scipy.sparse.csr_array,
        fill: Floats,
        kinds: dict[str, ColumnType],
    ) -> None:
        self.column_types = kinds
        self.matrix_positions = matrix_positions
        self.matrix = matrix
        self.fill = fill
        self.rows: dict[Any, Any] = {}
        self._by_column: scipy.sparse.csc_array | None = None

    def column(self, position: int, start: int, stop: int) -> Floats:
        """Return rows of a column as a dense array.

        The first call converts the matrix to CSC format, and stores the copy.

        Parameters
        ----------
        position : int
            Position of the column in the table, not in the matrix.
        start, stop : int
            First row, and row after the last.

        Returns
        -------
        (stop - start,) float array
            A column of booleans has the values 0 and 1.
        """
        if self._by_column is None:
            self._by_column = self.matrix.tocsc()
        columns = self._by_column
        j = self.matrix_positions[position]
        stored = slice(columns.indptr[j], columns.indptr[j + 1])
        values = np.full(self.matrix.shape[0], self.fill[j])
        values[columns.indices[stored]] = columns.data[stored]
        return values[start:stop]

    def has_value_outside(self, low: float, high: float) -> bool:
        """Return whether a stored or fill value is below `low` or above `high`; NaN is not."""
        return any(bool(((values < low) | (values > high)).any()) for values in (self.matrix.data, self.fill))

    def has_missing(self) -> bool:
        """Return whether a stored or fill value is NaN."""
        return bool(np.isnan(self.matrix.data).any() or np.isnan(self.fill).any())

    def write(self, matrix_columns: Codes, out_columns: Codes, start: int, stop: int, out: Floats) -> None:
        """Write rows start to stop (exclusive) of m of the columns into a dense array.

        Parameters
        ----------
        matrix_columns : (m,) int array
            Positions of the columns in the matrix.
        out_columns : (m,) int array
            Positions in `out` to which they are written.
        start, stop : int
        out : (stop - start, p) float array
            Array whose columns `out_columns` are overwritten; the others stay as they are.
        """
        rows_of_matrix = self.matrix[start:stop]
        out[:, out_columns] = self.fill[matrix_columns]
        target = np.full(len(self.fill), -1, dtype=np.intp)
        target[matrix_columns] = out_columns
        columns = target[rows_of_matrix.indices]
        rows = np.repeat(np.arange(rows_of_matrix.shape[0]), np.diff(rows_of_matrix.indptr))
        is_requested = columns >= 0
        out[rows[is_requested], columns[is_requested]] = rows_of_matrix.data[is_requested]


def find_sparse_columns(data: Any, dtypes: Sequence[Any], names: Sequence[str]) -> SparseColumns | None:
    """Return the sparse columns of a frame, or None without sparse columns.

    Parameters
    ----------
    data : DataFrame or SparseFrame
    dtypes : sequence of dtype
        Dtypes of all columns.
    names : sequence of str
        Names of all columns as text.

    Returns
    -------
    SparseColumns or None
        All columns of the matrix of a SparseFrame, or the sparse columns of numbers or booleans of a
        DataFrame. None for a matrix of other values.
    """
    if isinstance(data, SparseFrame):
        width = data.matrix.shape[1]
        if data.matrix.dtype.kind not in "biuf":
            return None
        matrix = scipy.sparse.csr_array(data.matrix, dtype=np.float64, copy=True)
        kinds = dict.fromkeys(names[:width], _numeric_column_type(data.matrix.dtype))
        return SparseColumns({j: j for j in range(width)}, matrix, np.zeros(width), kinds)
    positions = [j for j, dtype in enumerate(dtypes) if is_sparse_number(dtype)]
    if not positions:
        return None
    arrays = list(_column_arrays(data, positions))
    fill = np.array([array.fill_value for array in arrays], dtype=np.float64)
    stored = [array.sp_values for array in arrays]
    # One conversion to float64 for all columns; the conversion from CSC to CSR sorts the rows.
    values = np.concatenate(stored).astype(np.float64, copy=False)
    rows = np.concatenate([array.sp_index.indices for array in arrays])
    starts = np.concatenate([[0], np.cumsum(list(map(len, stored)))])
    # The same index dtype as the rows, if large enough, otherwise SciPy would copy the rows.
    starts = starts.astype(np.result_type(rows, np.min_scalar_type(starts[-1])))
    matrix = scipy.sparse.csc_array((values, rows, starts), shape=(len(data), len(positions)))
    kinds = {names[j]: _numeric_column_type(dtypes[j].subtype) for j in positions}
    return SparseColumns({j: i for i, j in enumerate(positions)}, matrix.tocsr(), fill, kinds)


def _numeric_column_type(dtype: Any) -> ColumnType:
    """Return the column type of a NumPy dtype of numbers or booleans, "numeric" or "boolean"."""
    return "boolean" if dtype.kind == "b" else "numeric"


def _column_arrays(data: pd.DataFrame, positions: Sequence[int]) -> Iterator[Any]:
    """Return the pandas arrays of the columns at some positions, in the order of the table."""
    # Creating a Series for each of 50,000 columns takes longer than a fit; pandas lacks a public alternative.
    quick = getattr(data, "_iter_column_arrays", None)
    all_arrays = (series.array for _, series in data.items()) if quick is None else quick()
    requested_positions = set(positions)
    return (array for j, array in enumerate(all_arrays) if j in requested_positions)
