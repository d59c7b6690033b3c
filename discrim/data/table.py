"""`Table`, which reads the columns of the data frames of any library.

pandas is read directly; every other library (polars, pyarrow, ...) through narwhals, hence none of them is
imported here. A column is returned in one of two ways: as numbers in a buffer of the caller (`Table.fill`,
the fast path), or as a pandas Series whose missing values are NaN or None (`Table.column`). Arrays become
tables without a copy of their numbers.

A fit stores its table by reference. Changes of the caller's table by its own library do not affect the fit,
but values that are written into shared memory do, such as into the array from which a frame was made.
Therefore a fit stores a sample of the values, and detects when they change (`Fingerprint`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim import datasets
from discrim.data.sources.base import quoted_names, unknown_column_error
from discrim.data.sparse import MAX_EXACT_INTEGER, SparseColumns, SparseFrame, find_sparse_columns
from discrim.data.values import (
    LONG_INTEGER_TYPES,
    ColumnType,
    as_floats,
    categorical_of_dictionary,
    check_float_precision,
    dictionary_to_text,
    factorize,
    format_value,
    has_values,
    integers_beyond_float,
    narwhals_column_type,
    narwhals_values,
    object_array,
    pandas_column_type,
    plain_numbers,
    text_codes,
)
from discrim.errors import DataError, NotSupportedError

MAX_FULL_FINGERPRINT_VALUES = 2**17
"""Number of values up to which a fingerprint stores all of them: 1 MiB."""

MAX_COLUMNS_READ_TOGETHER = 8
"""Number of columns of a pandas frame up to which all are looked up together."""

FINGERPRINT_SAMPLE_VALUES = 2**15
"""Approximate number of values, of evenly spaced rows, in the fingerprint of a larger table."""


IMMUTABLE_DTYPES = (pd.ArrowDtype, pd.StringDtype)
"""Dtypes whose memory cannot be modified: Arrow types, and text of pandas."""


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """Values of a table's columns, of all rows or of evenly spaced ones.

    A column that is sorted or overwritten is detected. In a table of more than
    `MAX_FULL_FINGERPRINT_VALUES` values, a change of a few rows may not be detected.

    Attributes
    ----------
    step : int
        Distance of the rows whose values are stored: rows 0, step, 2 step, ...
    values : dict of tuple of str to array
        For a group of columns, the stored values: (rows,) of one column, or (columns, rows) of several
        columns that are equidistant in memory. Of a categorical column the codes are stored.
    """

    step: int
    values: Mapping[tuple[str, ...], NDArray[Any]]

    def raise_if_changes(
        self, current_values: Mapping[tuple[str, ...], NDArray[Any]], label: Callable[[int], Any]
    ) -> None:
        """Raise a DataError that names a value that has changed, and its row, if there is one.

        Parameters
        ----------
        current_values : mapping of tuple of str to array
            The present values, in the form of `values`.
        label : callable
            Function from the position of a row to its label.
        """
        for names, before in self.values.items():
            after = current_values[names]
            if before.dtype != object and before.tobytes() == after.tobytes():
                continue
            differ = _difference_mask(before, after)
            if not differ.any():
                continue
            column, value_index = np.argwhere(differ.reshape(len(names), -1))[0].tolist()
            old_value, new_value = (
                values.reshape(len(names), -1)[column, value_index] for values in (before, after)
            )
            raise DataError(
                "The table of this fit was changed after the fit, in the memory that both share: column "
                f"{names[column]!r} at row {label(value_index * self.step)!r} was {format_value(old_value)} "
                f"and is {format_value(new_value)}.",
                hint="Fit again. A fit to data.copy() has its own table.",
                columns=(names[column],),
                rows=(label(value_index * self.step),),
            )


def _difference_mask(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the mask of elements in which two arrays differ; missing values are equal."""
    try:
        return np.asarray((before != after) & ~(pd.isna(before) & pd.isna(after)), dtype=bool)
    except (TypeError, ValueError):
        # Comparisons with pd.NA, or of arrays as values, are neither true nor false.
        pairs = zip(before.ravel(), after.ravel(), strict=True)
        return np.array([not _are_equal(one, other) for one, other in pairs], dtype=bool).reshape(
            before.shape
        )


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; values that cannot be compared are not."""
    if one is other:
        return True
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def copy_column_values(series: Any, step: int) -> NDArray[Any] | None:
    """Copy every `step`-th value of a column, for a fingerprint.

    Parameters
    ----------
    series : Series of pandas or narwhals
    step : int

    Returns
    -------
    array or None
        Values in their NumPy dtype, the codes of categories (-1 if missing), or objects for other dtypes.
        None for columns of other libraries that are not numeric, whose memory cannot be modified.
    """
    if not isinstance(series, pd.Series):
        if not series.dtype.is_numeric():
            return None
        selected = series.gather_every(step)
        return (
            object_array(selected.to_list())
            if str(series.dtype) in LONG_INTEGER_TYPES
            else np.array(selected.to_numpy())
        )
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()[::step].copy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        return np.array(series.cat.codes.to_numpy()[::step])
    return np.array(series.iloc[::step].to_numpy(dtype=object))


def as_frame(data: Any) -> Any:
    """Return a table as a DataFrame of pandas or narwhals, or a SparseFrame; else raise a DataError.

    The table is an eager data frame of any library, an Arrow record batch, a dict of columns, or the name of
    a data set of the package, which is loaded. The values of data frames are not copied.
    """
    if isinstance(data, dict):
        data = _frame_of_dict(data)
    if isinstance(data, str) and data in datasets.ABOUT:
        return datasets.load(data)
    return data if isinstance(data, pd.DataFrame | SparseFrame) else _narwhals_frame(data)


def frame_to_store(frame: Any) -> Any:
    """Return the frame that a fit stores for the result of `as_frame`, without a copy of its values.

    Later changes of the caller's frame by its library do not affect it: columns that are added, renamed or
    dropped, rows that are sorted or dropped, and with pandas 3.0 or later values that are set.
    """
    if isinstance(frame, SparseFrame):
        return frame
    if isinstance(frame, pd.DataFrame):
        return frame.copy(deep=False)
    return frame.clone() if frame.implementation.is_polars() else frame


def _frame_of_dict(data: dict[Any, Any]) -> pd.DataFrame:
    """Convert a dict of columns to a frame; raise DataError for scalars and for different lengths."""
    scalar_names = [
        name for name, value in data.items() if isinstance(value, str) or not hasattr(value, "__len__")
    ]
    if len(scalar_names) == len(data) > 0:
        raise DataError(
            f"data is a dict of scalars, for example {scalar_names[0]!r}.",
            hint=f"Write lists, {{{scalar_names[0]!r}: [...]}}, with one value for each row.",
        )
    try:
        return pd.DataFrame(data)
    except ValueError as error:
        length_text = ", ".join(f"{name!r} {len(data[name])}" for name in data if name not in scalar_names)
        raise DataError(
            f"The dict of columns cannot be converted to a table ({error}); lengths: {length_text}.",
            hint="Pass lists of the same length.",
        ) from None


def _as_arrow_table(data: Any) -> Any:
    """Convert a record batch of Arrow to a table; return other data unchanged."""
    if type(data).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
    return data


def _narwhals_frame(data: Any) -> Any:
    """Wrap a table of another library in narwhals; raise a DataError if narwhals does not support it."""
    import narwhals as nw

    data = _as_arrow_table(data)
    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            f"{' '.join(str(error).split())}.", hint="Rename the columns so that each name stands for one."
        ) from error
    except TypeError:
        arrays = type(data).__name__ in ("ndarray", "Series")
        raise DataError(
            f"data is {_describe_argument(data)}, not a table.",
            hint=(
                "Pass a pandas DataFrame, a polars or pyarrow table, or a dict of "
                f"columns{'; for X and y see the estimators in discrim.sklearn' if arrays else ''}."
            ),
        ) from None


def _describe_argument(data: Any) -> str:
    """Describe an argument that is not a table, for a message: "an Index"; text is quoted and explained."""
    if isinstance(data, str):
        explanation = (
            "a formula, which must be the first argument"
            if "~" in data
            else "text (read files with pandas.read_csv)"
        )
        return f"{data[:60]!r}, {explanation}"
    type_name = type(data).__name__
    return f"an {type_name}" if type_name[0].lower() in "aeiou" else f"a {type_name}"


def select_rows(data: Any, positions: NDArray[np.intp]) -> Any:
    """Select rows of a table by position, as a table of the same library.

    Parameters
    ----------
    data : table
        See `as_frame`.
    positions : (m,) int array

    Returns
    -------
    table of m rows
        A pandas DataFrame, which keeps the labels of the rows, if `data` is a dict or names a data set.

    Raises
    ------
    NotSupportedError
        The data are not a table, for example a stream, or are a SparseFrame.
    """
    try:
        frame = as_frame(data)
        if isinstance(frame, pd.DataFrame):
            return frame.iloc[positions]
        return frame[positions.tolist()].to_native()
    except (AttributeError, DataError, TypeError):
        raise NotSupportedError(
            f"Each fold is fitted to some of the rows, but rows of {_describe_argument(data)} "
            "cannot be selected.",
            hint="Pass a DataFrame, for example with a sample of the rows.",
        ) from None


NUMERIC_DTYPE_NAMES = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {
    "float32",
    "float64",
}
"""Dtypes of numbers that have the same name in NumPy and, in lower case, in other libraries."""


class Table:
    """Named columns of equal length over a pandas, polars, pyarrow or other table.

    Parameters
    ----------
    data : DataFrame, mapping of name to column, or any eager table that narwhals supports
        Stored by reference and never modified.
    is_chunk : bool
        Whether it is a chunk of a larger table. Levels that a response or a category declares then count as
        levels although no row has them, and no row has to have a positive weight.
    is_training : bool
        Whether a model is fitted to the table. It is then an error, and not only a warning, if float64 rounds
        too much of a column.
    is_stored : bool
        Whether it is stored after the call; the caller may then change the table later, see
        `take_fingerprint`.
    n_rows_before : int
        Number of rows before the chunk, at which the labels of rows without an index begin.
    coded_columns : sequence of str
        Text columns that the data store as codes of a dictionary; `column` returns their text.

    Attributes
    ----------
    data : DataFrame of pandas or narwhals, or SparseFrame
        The table without a copy of its values.
    names : tuple of str
        Column names, each as text.
    function_cache : dict
        Cached results of the user's functions of its columns.

    Raises
    ------
    DataError
        The data are not a table, or two columns have the same name.
    """

    __slots__ = (
        "_arrays",
        "_coded_columns",
        "_column_types",
        "_columns",
        "_compared_names",
        "_dtypes",
        "_fingerprint",
        "_fingerprint_names",
        "_index",
        "_labels",
        "_nrows",
        "_schema",
        "_series",
        "_sparse",
        "_sparse_positions",
        "_texts",
        "_views",
        "data",
        "function_cache",
        "is_chunk",
        "is_training",
        "names",
    )

    def __init__(
        self,
        data: Any,
        *,
        is_chunk: bool = False,
        is_training: bool = False,
        is_stored: bool = False,
        n_rows_before: int = 0,
        coded_columns: Sequence[str] = (),
    ) -> None:
        data = frame_to_store(as_frame(data)) if is_stored else as_frame(data)
        self.data, self.is_chunk, self.is_training, self._coded_columns = (
            data,
            is_chunk,
            is_training,
            tuple(coded_columns),
        )
        labels = self._labels = list(data.columns)
        self.names = tuple(str(label) for label in labels)
        self._columns = {name: position for position, name in enumerate(self.names)}
        if len(self._columns) < len(labels):
            duplicates = sorted(name for name, count in Counter(self.names).items() if count > 1)
            raise DataError(
                f"Duplicate column name{'s' if len(duplicates) > 1 else ''} {quoted_names(duplicates)}.",
                hint="Rename the columns so that each name stands for one.",
                columns=duplicates,
            )
        self._views: dict[tuple[str, ...], NDArray[np.float64] | None] = {}
        self._column_types: dict[str, ColumnType] = {}
        self._texts: dict[str, tuple[NDArray[Any], list[Any]]] = {}
        self._compared_names: set[str] = set()
        self._sparse_positions: dict[
            tuple[str, ...], tuple[NDArray[np.intp], NDArray[np.intp], list[int]]
        ] = {}
        self.function_cache: dict[Any, Any] = {}
        self._fingerprint: Fingerprint | None = None
        # The names that were passed to `take_fingerprint`; columns that cannot be modified have no values.
        self._fingerprint_names: frozenset[str] = frozenset()
        has_dtypes = isinstance(data, pd.DataFrame | SparseFrame)
        self._schema: Mapping[str, Any] = {} if has_dtypes else data.schema
        # pandas returns a few columns together as fast as a single one.
        has_few_columns = isinstance(data, pd.DataFrame) and len(labels) <= MAX_COLUMNS_READ_TOGETHER
        columns = [column for _, column in data.items()] if has_few_columns else []
        self._dtypes: list[Any] = [each.dtype for each in columns] or (
            list(data.dtypes) if has_dtypes else []
        )
        self._arrays: dict[str, NDArray[Any] | None] = {
            name: each.to_numpy()
            for name, each in zip(self.names, columns, strict=False)
            if _is_plain(each.dtype)
        }
        # Columns of a frame that the caller may modify are not cached, because the cache would be outdated.
        self._series: dict[str, pd.Series] = dict(zip(self.names, columns, strict=False)) if is_stored else {}
        may_be_sparse = isinstance(data, SparseFrame) or pd.SparseDtype in set(map(type, self._dtypes))
        self._sparse: SparseColumns | Literal["unknown"] | None = "unknown" if may_be_sparse else None
        self._nrows = len(data)
        keeps_index = has_dtypes and not (n_rows_before and isinstance(data.index, pd.RangeIndex))
        self._index = data.index if keeps_index else pd.RangeIndex(n_rows_before, n_rows_before + len(data))
        if not keeps_index and isinstance(data, pd.DataFrame):
            # Columns get the index of the table, with which pandas aligns values that are computed from them.
            self.data = data.set_axis(self._index)
            self._series = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy has its own memory, so the cached views of this one are not copied.
        self.raise_if_changes()
        return _rebuild_table, (self.data, self.is_chunk, self.is_training, self._coded_columns)

    @property
    def nrows(self) -> int:
        """Number of rows."""
        return self._nrows

    @property
    def index(self) -> pd.Index:
        """Labels of the rows.

        Of a table without an index, and of one with a RangeIndex if `n_rows_before` was passed, they are
        consecutive integers from `n_rows_before`.
        """
        return self._index

    def take_fingerprint(self, names: Sequence[str]) -> None:
        """Store the values of columns, with which `raise_if_changes` detects changes.

        They replace the values of an earlier call, unless that included all of these columns.
        """
        if self.nrows and not self._fingerprint_names.issuperset(names):
            count = self.nrows * max(len(names), 1)
            step = 1 if count <= MAX_FULL_FINGERPRINT_VALUES else -(-count // FINGERPRINT_SAMPLE_VALUES)
            self._fingerprint = Fingerprint(step, self._copy_values(names, step))
            self._fingerprint_names = frozenset(names)

    def raise_if_changes(self) -> None:
        """Raise a DataError that names a value if values of the fingerprint have changed.

        Without a fingerprint nothing is checked.
        """
        fingerprint = self._fingerprint
        if fingerprint is not None:
            # The columns are grouped as they were, although a view of several columns may exist by now.
            current_values = {
                group: self._grouped_values(group, fingerprint.step) for group in fingerprint.values
            }
            fingerprint.raise_if_changes(current_values, self.label)

    def _grouped_values(self, names: tuple[str, ...], step: int) -> NDArray[Any]:
        """Return every `step`-th value of a group of columns of the fingerprint, as an array.

        Parameters
        ----------
        names : tuple of str
        step : int

        Returns
        -------
        (rows,) or (columns, rows) array
        """
        view = self._views.get(names)
        if view is not None:
            return view[:, ::step]
        array = self._plain_array(names[0]) if len(names) == 1 else None
        if array is not None:
            return array[::step]
        columns = [np.asarray(copy_column_values(self.native(name), step)) for name in names]
        return np.stack(columns) if len(columns) > 1 else columns[0]

    def _copy_values(self, names: Sequence[str], step: int) -> dict[tuple[str, ...], NDArray[Any]]:
        """Copy every `step`-th value of the columns that may share memory with the caller, by groups.

        Parameters
        ----------
        names : sequence of str
        step : int

        Returns
        -------
        dict of tuple of str to array
            See `Fingerprint.values`.
        """
        values: dict[tuple[str, ...], NDArray[Any]] = {}
        for group, view in self._views.items():
            # Adjacent columns in memory are copied together.
            if view is not None and not values and set(names).issuperset(group):
                values[group] = view[:, ::step].copy()
        # The table has a copy of sparse columns.
        copied_columns = set().union(*values, () if self.sparse is None else self.sparse.column_types)
        for name in names:
            dtype = self._dtypes[self.position(name)] if self._dtypes else None
            if name in copied_columns or isinstance(dtype, IMMUTABLE_DTYPES):
                continue
            array = self._plain_array(name)
            array = copy_column_values(self.native(name), step) if array is None else array[::step].copy()
            if array is not None:
                values[name,] = array
        return values

    def position(self, name: str) -> int:
        """Return the position of a column; raise DataError, with the most similar name, if it is unknown."""
        try:
            return self._columns[name]
        except KeyError:
            raise unknown_column_error(name, self.names, "the table") from None

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the positions of columns; see `position`."""
        try:
            return list(map(self._columns.__getitem__, names))
        except KeyError:
            return list(map(self.position, names))

    def column_type(self, name: str) -> ColumnType:
        """Return the type of a column, see `ColumnType`; raise DataError if the column is unknown."""
        if self._sparse == "unknown":
            self._sparse = self.sparse
        if name in self._column_types:
            return self._column_types[name]
        position = self._columns[name] if name in self._columns else self.position(name)
        if not self._dtypes:
            # All columns at once, because narwhals is slow to create a Series.
            kinds = map(narwhals_column_type, self._schema.values())
            self._column_types = dict(zip(self.names, kinds, strict=True)) | dict.fromkeys(
                self._coded_columns, "text"
            )
            return self._column_types[name]
        dtype = self._dtypes[position]
        if _is_plain(dtype):
            return "boolean" if dtype.kind == "b" else "numeric"
        self._column_types[name] = pandas_column_type(self.native(name))
        return self._column_types[name]

    @property
    def sparse(self) -> SparseColumns | None:
        """Columns of numbers or booleans with a Sparse dtype, as one matrix; None without such columns."""
        if self._sparse == "unknown":
            self._sparse = find_sparse_columns(self.data, self._dtypes, self.names)
            self._column_types.update({} if self._sparse is None else self._sparse.column_types)
        return self._sparse

    def is_sparse(self, name: str) -> bool:
        """Return whether a column is in `sparse`."""
        return self.sparse is not None and name in self.sparse.column_types

    def sparse_positions(self, names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp], list[int]]:
        """Return which of some columns are sparse, and where they are stored. The result is cached.

        Parameters
        ----------
        names : sequence of str

        Returns
        -------
        matrix_positions : (m,) int array
            Positions of the m sparse columns in the matrix of `sparse`.
        name_positions : (m,) int array
            Positions of the sparse columns among `names`.
        dense_positions : list of int
            Positions of the other columns among `names`.
        """
        key = tuple(names)
        if key not in self._sparse_positions:
            sparse_position = {} if self.sparse is None else self.sparse.matrix_positions
            sparse_positions = [sparse_position.get(self.position(name), -1) for name in key]
            name_positions = np.flatnonzero(np.array(sparse_positions) >= 0)
            dense_positions = [j for j, position in enumerate(sparse_positions) if position < 0]
            self._sparse_positions[key] = (
                np.array(sparse_positions, dtype=np.intp)[name_positions],
                name_positions,
                dense_positions,
            )
        return self._sparse_positions[key]

    def column(self, name: str, start: int = 0, stop: int | None = None) -> pd.Series:
        """Return rows start to stop (exclusive) of a column as a pandas Series on the table's index.

        Numbers and booleans of NumPy keep their dtype. Other numbers (sparse, nullable, Arrow, or of another
        library), and booleans with missing values, become dense float64 with NaN; integers without missing
        values that float64 would round stay integers. Categories stay categorical. Text has the dtype that
        pandas infers from objects (str from pandas 3.0 on, object before), with NaN or None if missing.

        Parameters
        ----------
        name : str
        start : int
        stop : int, optional
            Number of rows by default; a larger number is reduced to it.

        Returns
        -------
        Series

        Raises
        ------
        DataError
            The column is unknown, or an integer is outside the range of float64.
        """
        stop = self.nrows if stop is None else min(stop, self.nrows)
        values: Any
        if (
            self.sparse is not None
            and self.is_sparse(name)
            and not self.sparse.has_value_outside(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER)
        ):
            values = self.sparse.column(self.position(name), start, stop)
            if self.column_type(name) == "boolean" and not np.isnan(values).any():
                values = values.astype(bool)
            return pd.Series(values, index=self.index[start:stop], name=name)
        series = self.native(name)
        if not isinstance(series, pd.Series):
            exact = integers_beyond_float(series[start:stop], name)
            values = narwhals_values(series[start:stop]) if exact is None else exact
            return pd.Series(values, index=self.index[start:stop], name=name)
        series = series.iloc[start:stop]
        column_type = pandas_column_type(series)
        if column_type == "categorical":
            if isinstance(series.dtype, pd.ArrowDtype):
                native = cast("Any", series.array).__arrow_array__()
                categories = categorical_of_dictionary(series.to_numpy(dtype=object), native)
                return pd.Series(categories, index=series.index, name=name)
            return series.rename(name)
        if _is_plain(series.dtype):
            return series.rename(name)
        if column_type == "numeric" or (column_type == "boolean" and series.isna().any()):
            exact = integers_beyond_float(series, name)
            values = as_floats(series, name) if exact is None else exact
        elif column_type == "boolean":
            values = series.to_numpy(dtype=bool)
        else:
            values = series.to_numpy(dtype=object)
        return pd.Series(values, index=series.index, name=name)

    def labels(self, name: str, start: int, stop: int) -> pd.Series:
        """Return rows start to stop of a column like `column`, but text of pandas keeps its StringDtype.

        Parameters
        ----------
        name : str
        start, stop : int

        Returns
        -------
        Series
        """
        dtype = self._dtypes[self.position(name)] if self._dtypes else None
        if isinstance(dtype, pd.StringDtype):
            return cast("pd.Series", self.native(name)).iloc[start:stop].rename(name)
        return self.column(name, start, stop)

    def present_mask(self, name: str, start: int, stop: int) -> NDArray[np.bool_] | None:
        """Return which of the rows start to stop have a value in a column, if no values have to be converted.

        Parameters
        ----------
        name : str
        start, stop : int

        Returns
        -------
        (stop - start,) bool array or None
            None if this cannot be read without a conversion of the values; then use `column`.
        """
        text = self.column_type(name) == "text"
        array = None if text else self._plain_array(name)
        if array is not None:
            values = array[start:stop]
            return ~np.isnan(values) if values.dtype.kind == "f" else np.full(len(values), True)
        if not (text or self._dtypes):
            return None
        texts = self.factorized(name) if name in self._coded_columns else None
        if texts is not None:
            return texts[0][start:stop] >= 0
        series = self.native(name)
        if isinstance(series, pd.Series):
            labels = isinstance(series.dtype, pd.StringDtype | pd.CategoricalDtype)
            return series.iloc[start:stop].notna().to_numpy() if labels else None
        return np.asarray(~series[start:stop].is_null().to_numpy().astype(bool))

    def has_values(self, name: str) -> bool:
        """Return whether a column has a value that is not missing; without values it fits any column type."""
        return has_values(self.native(name))

    def has_integer_dtype(self, name: str) -> bool:
        """Return whether a column stores integers, also if `column` returns float64 for its missing values.

        The dtype is integer (of NumPy, nullable, Arrow or another library), or all present objects are
        integers.
        """
        series = self.native(name)
        if not isinstance(series, pd.Series):
            return bool(series.dtype.is_integer())
        if series.dtype.kind == "O":
            return pd.api.types.infer_dtype(series, skipna=True) == "integer"
        return bool(pd.api.types.is_integer_dtype(series.dtype))

    def dtype(self, name: str) -> Any:
        """Return the pandas dtype of a column, or the equivalent of the dtype of another library.

        Categories have a CategoricalDtype in all libraries. Of the other dtypes of another library only those
        of numbers have an equivalent; the result is None for the rest.
        """
        series = self.native(name)
        if isinstance(series, pd.Series) and not isinstance(series.dtype, pd.ArrowDtype):
            return series.dtype
        if self.column_type(name) == "categorical":
            return self.column(name).dtype
        if isinstance(series, pd.Series):
            return series.dtype
        width = str(series.dtype).lower()
        return np.dtype(width) if width in NUMERIC_DTYPE_NAMES else None

    def label(self, row: int) -> Any:
        """Return the index label of a row as a Python object."""
        label = self.index[row]
        return label.item() if isinstance(label, np.generic) else label

    def frame(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> pd.DataFrame:
        """Return rows start to stop of columns as a pandas DataFrame on the table's index; see `column`.

        Parameters
        ----------
        names : sequence of str
        start : int
        stop : int, optional
            Number of rows by default.

        Returns
        -------
        DataFrame
        """
        index = self.index[start : self.nrows if stop is None else stop]
        return pd.DataFrame({name: self.column(name, start, stop) for name in names}, index=index)

    def fill(self, names: Sequence[str], start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write rows start to stop of numeric or boolean columns into an array, with NaN for missing values.

        Integers are rounded to float64. A column of another type is all NaN if all values are missing;
        otherwise it raises a DataError.

        Parameters
        ----------
        names : sequence of str
            Names (p,) of the columns.
        start, stop : int
        out : (stop - start, p) float array
            Array that is overwritten.
        """
        if not len(out):
            return
        view = self._views.get(tuple(names))
        if view is not None:
            out[...] = view[:, start:stop].T
            return
        dense_positions: Iterable[int] = range(len(names))
        if self._sparse is not None and self.sparse is not None:
            sparse_positions, name_positions, dense_positions = self.sparse_positions(names)
            self.sparse.write(sparse_positions, name_positions, start, stop, out)
        for j in dense_positions:
            name = names[j]
            values = self._arrays[name] if name in self._arrays else self._plain_array(name)
            if values is not None:
                out[:, j] = values[start:stop]
                continue
            if self.column_type(name) not in ("numeric", "boolean"):
                if self.has_values(name):
                    _raise_not_numeric(self, name)
                out[:, j] = np.nan
                continue
            series = self.native(name)
            rows_of_column = series.iloc[start:stop] if isinstance(series, pd.Series) else series[start:stop]
            out[:, j] = (
                as_floats(rows_of_column, name)
                if isinstance(rows_of_column, pd.Series)
                else narwhals_values(rows_of_column)
            )

    def rows(self, positions: NDArray[np.intp]) -> Table:
        """Return a table, which is a chunk, of the rows at some positions (m,), with their labels.

        The data of this table must be of another library than pandas, such as polars.
        """
        selected = Table(self.data[positions.tolist()], is_chunk=True, coded_columns=self._coded_columns)
        selected._index = self.index[positions]
        return selected

    def check_float_precision(self, names: Sequence[str]) -> None:
        """Warn once for each of these columns if float64 rounds its numbers.

        If a model is fitted to the table (`is_training`), a relative rounding error above
        `discrim.data.values.MAX_TRAINING_ROUNDING` raises a DataError.
        """
        if self._compared_names.issuperset(names):
            return
        if (
            self._sparse is not None
            and self.sparse is not None
            and not self.sparse.has_value_outside(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER)
        ):
            self._compared_names.update(self.sparse.column_types)
        for name in names:
            if name in self._compared_names:
                continue
            array = self._plain_array(name)
            if (array is None or array.dtype.kind in "iu") and self.column_type(name) == "numeric":
                check_float_precision(self.native(name), name, self.label, is_training=self.is_training)
        self._compared_names.update(names)

    def view(self, names: Sequence[str]) -> NDArray[Any] | None:
        """Return p columns of n rows as a read-only view (p, n) of their memory, else None.

        Views exist for columns of a pandas frame that are all float64, or all float32, and at equal distances
        in memory, as in a frame that was made from one array. The result is cached.
        """
        key = tuple(names)
        if key in self._views:  # For a small table the search costs as much as a pass over its rows.
            return self._views[key]
        self._views[key] = None
        if not key or not self.nrows or not isinstance(self.data, pd.DataFrame):
            return None
        positions = self.positions(key)
        if {self._dtypes[j] for j in positions} not in ({np.dtype(np.float64)}, {np.dtype(np.float32)}):
            return None
        last = len(names) - 1
        ends = list(map(self._plain_array, (names[0], names[min(1, last)], names[-1])))
        first_address, second_address, last_address = map(_memory_address, ends)
        # Columns that were read one by one are scattered; three columns show that before a frame is sliced.
        if last_address != first_address + (second_address - first_address) * last:
            return None
        step = (
            None
            if len(names) <= MAX_COLUMNS_READ_TOGETHER
            else _block_column_step(self.data, positions, first_address, last_address)
        )
        step = self._column_step(names) if step is None else step
        if step is None or ends[0] is None:
            return None
        shape = (len(names), self.nrows)
        strides = (step, ends[0].strides[0])
        view = np.lib.stride_tricks.as_strided(ends[0], shape, strides, writeable=False)
        self._arrays.update(zip(names, view, strict=True))
        self._views[key] = view
        return view

    def _column_step(self, names: Sequence[str]) -> int | None:
        """Return the bytes from one column to the next if they are equidistant in one array, else None.

        A single column has the distance 0.
        """
        arrays = [array for name in names if (array := self._plain_array(name)) is not None]
        addresses = list(map(_memory_address, arrays))
        step = addresses[1] - addresses[0] if len(addresses) > 1 else 0
        is_even = all(address == addresses[0] + j * step for j, address in enumerate(addresses))
        strides = {array.strides for array in arrays}
        owners = {id(_memory_owner(array)) for array in arrays}
        # Two columns are always equidistant. If they do not share memory, other arrays may lie between them.
        # NumPy, which compares bounds, would then consider every copy as overlapping, and copy repeatedly.
        return step if is_even and len(strides) == len(owners) == 1 else None

    def _plain_array(self, name: str) -> NDArray[Any] | None:
        """Return a column of NumPy numbers or booleans as an array that shares its memory, else None.

        Columns of other libraries have an array only in a chunk, which may be a copy. Sparse columns have
        none. The result is cached.
        """
        if name in self._arrays:
            return self._arrays[name]
        array = None
        if self._sparse is not None and self.is_sparse(name):
            pass
        elif isinstance(self.data, pd.DataFrame | SparseFrame):
            series = self.native(name, as_codes=True)
            if _is_plain(series.dtype):
                array = series.to_numpy()
        elif self.is_chunk:
            # For a whole table this might copy it.
            label = self._labels[self.position(name)]
            array = plain_numbers(self.data.to_native()[label], self._schema[label])
        self._arrays[name] = array
        return array

    def factorized(self, name: str) -> tuple[NDArray[Any], list[Any]] | None:
        """Return the codes (n,) of the n rows of a column of text or categories, and the labels of the codes.

        Missing values have the code -1. The labels are all categories, or the distinct texts. Returns None
        for other columns, and for floating-point categories.
        """
        if name in self._texts:
            return self._texts[name]
        if self.column_type(name) not in ("text", "categorical"):
            return None
        has_coded_text = name in self._coded_columns
        series = self.native(name, as_codes=has_coded_text)
        codes, labels = text_codes(series, has_codes=has_coded_text) or factorize(self.column(name))
        if labels and isinstance(labels[0], float):
            return None
        codes_and_labels = codes.astype(np.min_scalar_type(-1 - len(labels)), copy=False), labels
        if self.is_chunk or (isinstance(series, pd.Series) and isinstance(series.dtype, IMMUTABLE_DTYPES)):
            # A chunk is not modified while it exists, hence its result can be cached.
            self._texts[name] = codes_and_labels
        return codes_and_labels

    def native(self, name: str, *, as_codes: bool = False) -> Any:
        """Return a column as a Series of pandas or narwhals.

        A column of `coded_columns` is converted to text unless `as_codes`. Raises a DataError without
        such a column.
        """
        series: Any = self._series.get(name)
        if series is None:
            label = self._labels[self._columns[name] if name in self._columns else self.position(name)]
            # narwhals' __getitem__ is ten times as slow, for each column of each chunk.
            series = self.data[label] if self._dtypes else self.data.get_column(label)
        return dictionary_to_text(series) if name in self._coded_columns and not as_codes else series


def _rebuild_table(data: Any, is_chunk: bool, is_training: bool, coded_columns: tuple[str, ...]) -> Table:
    """Create a table when it is unpickled."""
    return Table(data, is_chunk=is_chunk, is_training=is_training, coded_columns=coded_columns)


def _is_plain(dtype: Any) -> bool:
    """Return whether a dtype is numbers or booleans of NumPy."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _raise_not_numeric(table: Table, name: str) -> NoReturn:
    """Raise a DataError for a column that was numeric in the training data; name its first row with text."""
    values = table.column(name).astype(object)
    is_present = values.notna().to_numpy()
    is_text = is_present & pd.to_numeric(values, errors="coerce").isna().to_numpy()
    n_other = int(is_text.sum()) - 1
    row = int(np.argmax(is_text if is_text.any() else is_present))
    if 0 <= n_other < int(is_present.sum()) - 1:
        more = f", and {n_other} more row{'s' if n_other > 1 else ''} not numeric" if n_other else ""
        hint = 'Correct it, or make it missing with pandas.to_numeric(..., errors="coerce").'
    else:
        more = ""
        hint = "Convert it, for example with pandas.to_numeric."
    raise DataError(
        f"Column {name!r} is not numeric, but it was numeric in the training data: row "
        f"{format_value(table.index[row])} has the value {format_value(values.iloc[row])}{more}.",
        hint=hint,
        columns=(name,),
        rows=(table.index[row],),
    )


def _block_column_step(data: pd.DataFrame, positions: list[int], low: int, high: int) -> int | None:
    """Return the bytes from one column to the next if they are neighbours in one block of pandas, else None.

    Parameters
    ----------
    data : DataFrame
    positions : list of int
        Positions of the columns; the result is None if they are not consecutive.
    low, high : int
        Memory addresses of the first and the last column.

    Returns
    -------
    int or None
    """
    if positions != list(range(positions[0], positions[-1] + 1)):
        return None
    row = data.iloc[:1, positions[0] : positions[-1] + 1].to_numpy()
    start = row.__array_interface__["data"][0]
    step = int(row.strides[1])
    return step if start == low and low + (len(positions) - 1) * step == high else None


def _memory_address(array: NDArray[Any] | None) -> int:
    """Return the memory address of an array, 0 for None."""
    return 0 if array is None else int(array.__array_interface__["data"][0])


def _memory_owner(array: Any) -> Any:
    """Return the object that owns the memory of an array."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def array_table(x: NDArray[Any], names: Sequence[str]) -> pd.DataFrame:
    """Return an array (n, p) as a DataFrame with columns of these names (p,), which shares its memory."""
    return pd.DataFrame(x, columns=_cached_index(tuple(names)).view(), copy=False)


@lru_cache(maxsize=8)
def _cached_index(names: tuple[str, ...]) -> pd.Index:
    """Return names as an Index."""
    # Cached for predictions of single rows, in which creating the index would dominate.
    return pd.Index(names, dtype=object)


def with_column(
    data: Any, names: Sequence[str], name: str, codes: NDArray[np.intp], levels: Sequence[Any]
) -> Any:
    """Return columns of a table with an additional categorical column, which is the last one.

    The table is not modified, and columns of pandas are not copied. A column with the name of the new one is
    replaced; in a SparseFrame at its old position.

    Parameters
    ----------
    data : table
        DataFrame, SparseFrame, or another table that `Table` accepts, which is converted to pandas.
    names : sequence of str
        Columns to keep, in order. A SparseFrame keeps all of its columns.
    name : str
        Name of the new column.
    codes : (n,) int array
        Position in `levels` of the value of each of the n rows, -1 if missing.
    levels : sequence
        Levels of the new column, all of which are its categories.

    Returns
    -------
    DataFrame or SparseFrame
    """
    values = pd.Categorical.from_codes(codes, categories=pd.Index(levels))
    kept_names = [kept_name for kept_name in names if kept_name != name]
    if isinstance(data, SparseFrame):
        return data.with_column(name, values)
    if not isinstance(data, pd.DataFrame):
        frame = Table(data).frame(kept_names)
    elif list(data.columns) == kept_names:
        frame = data.copy(deep=False)
    else:
        frame = data[kept_names].copy(deep=False)
    with warnings.catch_warnings():
        # The warning about the fragmented memory of the caller's table is not helpful here.
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        frame[name] = values
    return frame


def raise_if_missing(data: Any, names: Sequence[str]) -> None:
    """Raise a DataError that names the first missing value of the first of these columns that has any.

    `data` is a `Table`, or a table that `Table` accepts.
    """
    table = data if isinstance(data, Table) else Table(data)
    view = table.view(names)
    # A finite sum proves that no value is missing.
    with np.errstate(over="ignore", invalid="ignore"):
        if view is not None and np.isfinite(view.sum()):
            return
    if table.sparse is not None and not table.sparse.has_missing():
        names = [name for name in names if name not in table.sparse.column_types]
    for name in names:
        missing = table.column(name).isna().to_numpy()
        if missing.any():
            row = table.label(int(np.argmax(missing)))
            more = int(missing.sum()) - 1
            raise DataError(
                f"Column {name!r} is missing (NaN) at row {row!r}{f' and in {more} more' if more else ''}.",
                hint="Impute it, for example with sklearn.impute, or drop the row.",
                columns=(name,),
                rows=(row,),
            )


def last_column(data: pd.DataFrame | SparseFrame) -> pd.Series:
    """Return the last column, which `with_column` has added; of a SparseFrame the last of `extra_columns`."""
    return (data.extra_columns if isinstance(data, SparseFrame) else data).iloc[:, -1]


def incomplete_rows(data: pd.DataFrame | SparseFrame) -> int:
    """Return the number of rows with a missing value in any column, of a SparseFrame in its matrix."""
    if not isinstance(data, SparseFrame):
        return int(data.isna().any(axis=1).sum())
    values = data.matrix.data
    if values.dtype.kind != "f":
        return 0
    row = np.repeat(np.arange(len(data)), np.diff(data.matrix.indptr))
    return len(np.unique(row[np.isnan(values)]))
