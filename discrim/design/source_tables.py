"""Chunks of a source as tables, and the design of a formula for a source (`learn_source_design`).

A chunk is released when the next one is read. The design is learnt from a small table with the same levels
and transforms as all rows: a pass collects the first row of each level and, for transforms, the complete
rows of their columns. If all terms are numeric columns, and the type of the response or the user determines
the classes, the first chunk suffices and no pass is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Mask, check_memory
from discrim.core.numerics.progress import Progress
from discrim.data.sources.base import ChunkWork, DistributedSource, Source, TableSource, no_rows_error
from discrim.data.table import Table
from discrim.data.values import ColumnType, label_type
from discrim.design.design_rows import positive_weight_mask
from discrim.errors import DataError, add_path_to_errors, collect_warnings
from discrim.formula.design import Design
from discrim.formula.factors import CallStates, Categories, Functions, RowRange, check_functions, evaluate
from discrim.formula.formula import (
    FormulaParser,
    FullDataSummary,
    ParsedFormula,
    learn_design,
    parse_formula,
    raise_if_too_many_levels,
)
from discrim.formula.grammar import Column, Expression
from discrim.formula.response import classes_and_codes, used_labels


def chunk_tables(
    source: Source, columns: Sequence[str] | None = None, kinds: Mapping[str, ColumnType] | None = None
) -> Iterator[tuple[Table, str | None]]:
    """Iterate over the chunks with rows, as tables with consecutive row numbers.

    Parameters
    ----------
    source : Source
    columns : sequence of str, optional
        Columns to read; all by default.
    kinds : mapping of str to ColumnType, optional
        Kinds of the columns in other chunks, for columns without values in a chunk.

    Yields
    ------
    table : Table
    path : str or None
        Path of its file.
    """
    start = 0
    with Progress(source.nrows or 0, "rows read") as progress:
        for data, path, coded_columns in source.chunks(columns):
            with add_path_to_errors(path):
                table = chunk_table(data, kinds, start, coded_columns)
            if table is not None:
                yield table, path
                start += table.nrows
                progress(table.nrows)


def table_chunks(source: Source, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, str | None]]:
    """Iterate over the chunks and the paths of their files, like `chunk_tables`.

    A table in memory is one chunk: the user's own object instead of a `Table`, with all columns and path
    None.
    """
    if isinstance(source, TableSource):
        return iter([(source.data, None)])
    return chunk_tables(source, columns)


def apply_to_source(
    source: Source,
    columns: Sequence[str] | None,
    compute: Callable[[Any], Any],
    worker_function: Callable[[], Callable[[Any], Any]],
    *,
    allows_unknown_labels: bool = False,
) -> Any:
    """Apply a function to a table at once, to chunks one after another, or on workers to their chunks.

    Parameters
    ----------
    source : Source
    columns : sequence of str or None
        Columns that the function reads; all if None.
    compute : callable
        Function of a table or chunk that returns a Series or DataFrame.
    worker_function : callable
        Function without arguments that returns a version of `compute` that can be sent to workers.
    allows_unknown_labels : bool
        Whether labels may be missing because they are not classes of the fit.

    Returns
    -------
    Series or DataFrame, iterator of DataFrame, or lazy frame of Dask
        For a table in memory (of polars if the table is), a source in chunks, or a distributed source.
    """
    if isinstance(source, TableSource):
        return to_library_of(compute(source.data), source.data)
    if isinstance(source, DistributedSource):
        return source.apply_lazily(
            source.names if columns is None else columns,
            worker_function(),
            allows_unknown_labels=allows_unknown_labels,
        )
    return apply_to_chunks(source, columns, compute)


def to_library_of(values: Any, data: Any) -> Any:
    """Convert a Series or DataFrame to polars if `data` is a DataFrame of polars; else return it.

    If `values` begins with the columns of `data`, these are taken from `data` unchanged. The index is
    dropped, missing values become null, and column names that are not text become text.
    """
    # If the table is from polars, its library has been imported.
    pl = sys.modules.get("polars")
    if pl is None or not isinstance(data, pl.DataFrame):
        return values
    if isinstance(values, pd.Series):
        return _to_polars_series(values, pl)
    new_columns = values.iloc[:, data.width :] if list(values)[: data.width] == data.columns else values
    columns = [_to_polars_series(new_columns.iloc[:, j], pl) for j in range(new_columns.shape[1])]
    return pl.DataFrame(columns) if new_columns is values else data.hstack(columns)


def _to_polars_series(column: pd.Series, pl: Any) -> Any:
    """Convert a column to a Series of polars; categories of text become an Enum, others plain values."""
    name = "" if column.name is None else str(column.name)
    if column.dtype.kind == "f" and isinstance(column.dtype, np.dtype):
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
    texts = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.inferred_type == "string"
    return pl.Series(name, values, pl.Enum(list(column.cat.categories)) if texts else None)


def apply_to_chunks(
    source: Source, columns: Sequence[str] | None, compute: Callable[[Any], Any]
) -> Iterator[pd.DataFrame]:
    """Apply a function to each chunk, and yield its results as frames; a Series becomes one column.

    Parameters
    ----------
    source : Source
    columns : sequence of str or None
        Columns to read; all if None.
    compute : callable
        Function of a chunk that returns a Series or DataFrame.

    Yields
    ------
    DataFrame
    """
    with Progress(source.nrows or 0, "rows predicted") as progress:
        for chunk, path in table_chunks(source, columns):
            with add_path_to_errors(path):
                values = compute(chunk)
            progress(len(values))
            with progress.paused():
                yield values.to_frame() if isinstance(values, pd.Series) else values


def chunk_table(
    data: Any,
    column_types: Mapping[str, ColumnType] | None = None,
    n_rows_before: int = 0,
    coded_columns: Sequence[str] = (),
) -> Table | None:
    """Return a chunk of the rows as a table; numeric columns without values in it become NaN.

    Parameters
    ----------
    data : table
        The chunk, in any form that `Table` accepts.
    column_types : mapping of str to ColumnType, optional
        Kinds of the columns in other chunks, for columns without values.
    n_rows_before : int
        Number of rows before the chunk.
    coded_columns : sequence of str
        Text columns that are stored as dictionary codes.

    Returns
    -------
    Table or None
        None if the chunk is empty.
    """
    table = Table(
        data, is_chunk=True, is_training=True, n_rows_before=n_rows_before, coded_columns=coded_columns
    )
    # Numeric columns without values in this chunk.
    numeric = ("numeric", "boolean")
    empty_columns = [
        name
        for name, column_type in (column_types or {}).items()
        if column_type in numeric and table.column_type(name) not in numeric and not table.has_values(name)
    ]
    if empty_columns and table.nrows:
        frame = table.frame(table.names).assign(**dict.fromkeys(empty_columns, np.nan))
        table = Table(frame, is_chunk=True, is_training=True)
    return table if table.nrows else None


class SourceTable(Table):
    """Stand-in for a table if rows come from a source: a column is read when it is needed.

    The first chunk with rows determines the kinds of the columns.
    """

    __slots__ = ("_first", "_n_rows", "_source")

    def __init__(self, source: Source, data: Any, first: Table) -> None:
        super().__init__(pd.DataFrame(columns=list(source.names)))
        self.data = data
        self.is_training = True
        self._source = source
        self._first = first
        self._n_rows = source.nrows

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceTable, (self._source, self.data, self._first)

    @property
    def source(self) -> Source:
        """The source of the rows."""
        return self._source

    @property
    def nrows(self) -> int:
        """Number of rows, counted by a pass over one column if the source does not state it."""
        if self._n_rows is None and isinstance(self._source, DistributedSource):
            self._n_rows = sum(self._source.chunk_row_counts)
        if self._n_rows is None:
            self._n_rows = sum(table.nrows for table, _ in chunk_tables(self._source, self.names[:1]))
        return self._n_rows

    @property
    def index(self) -> pd.Index:
        """Row numbers as labels."""
        return pd.RangeIndex(self.nrows)

    def set_row_count(self, n_rows: int) -> None:
        """Store the number of rows that a pass has found."""
        self._n_rows = n_rows

    def column_type(self, name: str) -> ColumnType:
        """Return the kind of a column in the first chunk."""
        return self._first_chunk_with(name).column_type(name)

    def dtype(self, name: str) -> Any:
        """Return the dtype of a column in the first chunk."""
        return self._first_chunk_with(name).dtype(name)

    def has_integer_dtype(self, name: str) -> bool:
        """Return whether the dtype of a column in the first chunk is integer."""
        return self._first_chunk_with(name).has_integer_dtype(name)

    def _first_chunk_with(self, name: str) -> Table:
        """Return the first chunk with rows, with a column of this name."""
        if name not in self._first.names:
            self.position(name)
            self._first = next(table for table, _ in chunk_tables(self._source))
        return self._first

    def take_fingerprint(self, names: Sequence[str]) -> None:
        """Do nothing, because values are read again and the source checks the number of rows."""

    def raise_if_changes(self) -> None:
        """Do nothing, because the source checks the number of rows whenever it is read."""

    def view(self, names: Sequence[str]) -> NDArray[np.float64] | None:
        """Return None, because the columns are not in memory."""
        return None

    def native(self, name: str, *, as_codes: bool = False) -> pd.Series:
        """Return a column of all rows, read by a pass; raise an error if the memory does not suffice.

        `as_codes` is ignored.
        """
        self.position(name)
        check_memory(
            4.0 * self.nrows,
            f"Column {name!r} of {self.nrows:,} rows at once",
            "Pass a subset of the rows as a table in memory",
        )
        kinds = {name: self.column_type(name)}
        chunks = [table.column(name) for table, _ in chunk_tables(self._source, [name], kinds)]
        if all(isinstance(chunk.dtype, pd.CategoricalDtype) for chunk in chunks):
            return pd.Series(pd.api.types.union_categoricals(chunks), name=name)
        return pd.concat(chunks, ignore_index=True)

    def _array(self, name: str) -> NDArray[Any] | None:
        """Return None, because the columns are not in memory."""
        return None


def learn_source_design(
    formula: str,
    data: Any,
    source: Source,
    functions: Mapping[str, Callable[..., Any]] | None,
    levels: Sequence[Any] | None,
    weights: str | None,
    parser: FormulaParser = parse_formula,
    *,
    uses_incomplete_rows: bool = False,
) -> tuple[Design, SourceTable]:
    """Learn the design of a formula from the rows of a source.

    Parameters
    ----------
    formula : str
    data : object
        The argument of the user.
    source : Source
        The source of its rows.
    functions : mapping of str to callable, or None
    levels : sequence or None
        The classes.
    weights : str or None
        Column of weights.
    parser : FormulaParser
    uses_incomplete_rows : bool
        Whether levels are learnt from incomplete rows too.

    Returns
    -------
    design : Design
    table : SourceTable
        Stand-in for the table of the source.
    """
    checked_functions = check_functions(functions)
    names = Table(pd.DataFrame(columns=list(source.names)))
    parsed = parser(formula, names, checked_functions, (weights,) if weights else ())
    columns = list(dict.fromkeys((*parsed.columns, *parsed.other_columns)))
    learnt = None
    has_kinds = True
    if isinstance(source, DistributedSource):
        first = Table(source.meta, is_chunk=True, is_training=True)
        needs_pass = not parsed.is_plain(first)
    else:
        first = first_table(source, columns)
        used = positive_weight_mask(weights, first)
        has_complete_row = RowRange(first, 0, first.nrows, used=used).select_complete(columns)[0].size > 0
        needs_pass = not has_complete_row or any(
            _depends_on_rows(expr, first) for expr in parsed.expressions.values()
        )
        has_kinds = bool(has_complete_row) or all(map(first.has_values, columns))
    if needs_pass:
        all_labels = (
            _collect_labels(parsed, checked_functions, first, source, levels, weights) if has_kinds else None
        )
        settings = _PassSettings(
            parsed, checked_functions, tuple(columns), levels, weights, uses_incomplete_rows
        )
        learnt = _collect_rows(settings, source, all_labels)
        learnt_table = learnt.table()
        if isinstance(source, DistributedSource):
            learnt_table = first = _add_unread_columns(learnt_table, source.meta)
        elif not has_kinds:
            first = learnt_table
        design = learn_design(
            parsed, learnt_table, checked_functions, levels, learnt.full_data_summary(),
            uses_incomplete_rows=uses_incomplete_rows,
        )[0]  # fmt: skip
    elif levels is not None or _declares_classes(parsed.response, first):
        positive = positive_weight_mask(weights, first)
        design = learn_design(parsed, first, checked_functions, levels, positive=positive)[0]
    else:
        # If all columns are numeric, only the classes are learnt.
        learnt = _collect_rows(
            _PassSettings(parsed, checked_functions, parsed.other_columns, None, weights), source
        )
        classes, _, type_of_labels = classes_and_codes(
            parsed.response, learnt.table(), checked_functions, None, rows=learnt.n_rows
        )
        positive = positive_weight_mask(weights, first)
        design = learn_design(parsed, first, checked_functions, classes, positive=positive)[0]
        design = replace(design, labels=type_of_labels)
    table = SourceTable(source, data, first)
    if learnt is not None:
        table.set_row_count(learnt.n_rows)
    return _restore_label_dtype(design, table), table


def _restore_label_dtype(design: Design, table: Table) -> Design:
    """Return the design with the dtype of a numeric response; a pass collects numbers as Python objects."""
    if design.response_columns != (design.response,):
        return design
    dtype = table.dtype(design.response)
    is_number = isinstance(dtype, np.dtype) and dtype.kind in "iuf"
    return replace(design, labels=label_type(dtype)) if is_number else design


def _declares_classes(response: Expression, first: Table) -> bool:
    """Return whether the response is a categorical column of pandas, whose categories are the classes."""
    return (
        isinstance(response.root, Column)
        and isinstance(first.data, pd.DataFrame)
        and isinstance(first.dtype(response.root.name), pd.CategoricalDtype)
    )


def first_table(source: Source, columns: Sequence[str] | None = None) -> Table:
    """Return the first chunk with rows; raise DataError if all chunks are empty."""
    for table, _ in chunk_tables(source, columns):
        return table
    raise no_rows_error(source)


def _collect_rows(
    settings: _PassSettings, source: Source, all_labels: _CollectedRows | None = None
) -> _CollectedRows:
    """Collect rows with all levels by a pass over some columns, on workers if the source is distributed.

    Parameters
    ----------
    settings : _PassSettings
        Columns and purpose of the pass.
    source : Source
    all_labels : _CollectedRows, optional
        All labels, from an earlier pass. When these have been seen in complete rows, the pass stops.

    Returns
    -------
    _CollectedRows
    """
    if isinstance(source, DistributedSource):
        of_workers = source.map_reduce(
            ChunkWork(list(settings.columns), partial(_collect_chunk, settings), _CollectedRows.merge)
        )
        if of_workers is None:
            raise no_rows_error(source)
        return of_workers
    collected = _CollectedRows(settings)
    with Progress(source.nrows or 0, "levels and transforms") as progress:
        for chunk, path in chunk_tables(source, settings.columns):
            with add_path_to_errors(path):
                collected.collect(chunk)
            progress(chunk.nrows)
            if all_labels is not None and collected.contains_labels_of(all_labels):
                collected.n_rows = all_labels.n_rows
                break
    return collected


def _collect_labels(
    parsed: ParsedFormula,
    functions: Functions,
    first: Table,
    source: Source,
    levels: Sequence[Any] | None,
    weights: str | None,
) -> _CollectedRows | None:
    """Collect all labels by a pass over the columns of labels only.

    Parameters
    ----------
    parsed : ParsedFormula
    functions : mapping of str to callable
        Functions of the user.
    first : Table
        The first chunk.
    source : Source
    levels : sequence or None
        The classes.
    weights : str or None
        Column of weights.

    Returns
    -------
    _CollectedRows or None
        None if more than labels has to be learnt.
    """
    learnt_expressions = {
        code: expr for code, expr in parsed.expressions.items() if _depends_on_rows(expr, first)
    }
    are_columns = all(isinstance(expr.root, Column) for expr in learnt_expressions.values())
    if (
        source.is_single_pass
        or isinstance(source, DistributedSource)
        or not (learnt_expressions and are_columns)
    ):
        return None
    parsed_labels = parsed._replace(expressions=learnt_expressions)
    columns = tuple(dict.fromkeys((*parsed_labels.columns, *parsed_labels.other_columns)))
    return _collect_rows(_PassSettings(parsed_labels, functions, columns, levels, weights), source)


def _collect_chunk(settings: _PassSettings, data: Any, overrides: None) -> _CollectedRows | None:
    """Collect rows from a chunk of a distributed source, without warnings; None if the chunk is empty.

    `overrides` is not used; `ChunkWork` requires the parameter.
    """
    chunk = chunk_table(data)
    if chunk is None:
        return None
    collected = _CollectedRows(settings)
    with collect_warnings():
        collected.collect(chunk)
    return collected


def _add_unread_columns(table: Table, meta: pd.DataFrame) -> Table:
    """Return rows from workers with all columns of `meta`, an empty frame with the types of the source.

    Columns that the pass has not read are zeros if numeric, and missing otherwise; only their types are used.
    """
    columns = {}
    for label in meta.columns:
        name = str(label)
        dtype = meta[label].dtype
        if name in table.names:
            columns[name] = table.native(name)
        elif isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            columns[name] = pd.Series(np.zeros(table.nrows, dtype))
        else:
            columns[name] = meta[label].reset_index(drop=True).reindex(range(table.nrows))
    return Table(pd.DataFrame(columns), is_training=True)


def _depends_on_rows(expr: Expression, first: Table) -> bool:
    """Return whether the columns of a factor depend on the values in the rows."""
    if expr.stateful or expr.functions or expr.is_coded:
        return True
    return any(first.column_type(name) not in ("numeric", "boolean") for name in expr.columns)


@dataclass(frozen=True, slots=True)
class _PassSettings:
    """Settings of a pass that learns levels and transforms.

    Attributes
    ----------
    parsed : ParsedFormula
    functions : mapping of str to callable
    columns : tuple of str
        The columns that the pass reads.
    levels : sequence or None
        The classes, if the user lists them; other labels are errors.
    weights : str or None
        The column of weights. Rows without a positive weight are skipped.
    uses_incomplete_rows : bool
        Whether incomplete rows contribute the levels of factors whose columns they have.
    """

    parsed: ParsedFormula
    functions: Functions
    columns: tuple[str, ...]
    levels: Sequence[Any] | None = None
    weights: str | None = None
    uses_incomplete_rows: bool = False


class _CollectedRows:
    """Rows collected by a pass: the first row of each level, and all rows of the columns of transforms."""

    def __init__(self, settings: _PassSettings) -> None:
        self._settings = settings
        self._parsed = settings.parsed
        self._functions = settings.functions
        self._columns = settings.columns
        stateful = [expr for expr in settings.parsed.expressions.values() if expr.stateful]
        self._learnt_columns = list(dict.fromkeys(name for expr in stateful for name in expr.columns))
        self._labels_by_code: dict[str, set[Any]] = {}
        self._frames: list[pd.DataFrame] = []
        self._learnt_frames: list[pd.DataFrame] = []
        self._has_complete_row = False
        self.n_rows = 0

    def merge(self, other: _CollectedRows) -> _CollectedRows:
        """Return a new object with the rows collected here, then the rows of `other` with new labels.

        `other` has to come from later chunks. Neither of the two is changed.
        """
        merged = _CollectedRows(replace(self._settings, levels=None))
        merged._labels_by_code = {code: set(labels) for code, labels in self._labels_by_code.items()}
        merged._frames = list(self._frames)
        merged._has_complete_row = self._has_complete_row
        for frame in other._frames:
            # The rows collected by the other pass contain all of its levels; collect the new ones.
            merged.collect(Table(frame, is_chunk=True, is_training=True))
        merged._learnt_frames = [*self._learnt_frames, *other._learnt_frames]
        merged.n_rows = self.n_rows + other.n_rows
        return merged

    def contains_labels_of(self, other: _CollectedRows) -> bool:
        """Return whether all labels of another result have been collected."""
        labels_by_code = self._labels_by_code
        return all(
            labels and labels <= labels_by_code.get(code, set())
            for code, labels in other._labels_by_code.items()
        )

    def collect(self, chunk: Table) -> None:
        """Add the rows of a chunk that contain a new class or level, and the columns of transforms.

        All rows are added to `n_rows`. Raises a DataError for a label that is not among `levels` of the user.
        """
        self.n_rows += chunk.nrows
        used = positive_weight_mask(self._settings.weights, chunk)
        new_positions = [self._new_class_rows(chunk, used)]
        if self._settings.levels is not None and len(new_positions[0]):
            # Validate labels now, because the collected rows do not have their positions any more.
            classes_and_codes(self._parsed.response, chunk, self._functions, self._settings.levels, used=used)
        if set(self._parsed.columns) <= set(self._columns):
            new_positions.extend(self._new_level_rows(chunk, RowRange(chunk, 0, chunk.nrows, used=used)))
        positions = np.unique(np.concatenate(new_positions))
        if len(positions):
            self._frames.append(_rows_in_native_dtypes(chunk, self._columns, positions))

    def _new_class_rows(self, chunk: Table, used: Mask | None) -> Codes:
        """Return the positions of the rows of a chunk with the first occurrence of each new class.

        Parameters
        ----------
        chunk : Table
        used : (n,) bool or None
            Rows of positive weight; None for all.

        Returns
        -------
        (r,) int
            Positions of the rows in the chunk.
        """
        root = self._parsed.response.root
        factorized = chunk.factorized(root.name) if isinstance(root, Column) else None
        if factorized is not None:
            codes, labels = factorized
            return self._new_label_rows("", codes if used is None else np.where(used, codes, -1), labels)
        values, labelled = used_labels(self._parsed.response, chunk, self._functions, used)
        return np.flatnonzero(labelled)[self._new_value_rows("", values.values)]

    def _new_level_rows(self, chunk: Table, rows: RowRange) -> list[Codes]:
        """Find the complete rows of a chunk with the first occurrence of each new level.

        The first complete row of the pass is included too, even for a formula without levels. As a side
        effect, the values of the columns of transforms are stored for all complete rows of the chunk.

        Parameters
        ----------
        chunk : Table
        rows : RowRange
            All rows of the chunk, with the mask of the rows of positive weight.

        Returns
        -------
        list of (r,) int
            Positions of the rows in the chunk: an array for each factor with levels, and one for the first
            complete row. They may overlap.
        """
        parsed = self._parsed
        new_positions = list[Codes]()
        complete, positions = _complete_rows_and_positions(rows, (*parsed.columns, *parsed.other_columns))
        for code, expr in parsed.expressions.items():
            if expr.stateful or not _depends_on_rows(expr, chunk):
                continue
            factor_rows = complete
            factor_positions = positions
            if self._settings.uses_incomplete_rows:
                factor_rows, factor_positions = _complete_rows_and_positions(
                    rows, (*expr.columns, *parsed.other_columns)
                )
            if factor_rows.size:
                new_positions.append(factor_positions[self._new_factor_level_rows(code, expr, factor_rows)])
                # Stop before the rest of the source is read.
                raise_if_too_many_levels(expr, len(self._labels_by_code.get(code, ())), factor_rows)
        if len(positions) and not self._has_complete_row:
            self._has_complete_row = True
            new_positions.append(positions[:1])
        if len(positions) and self._learnt_columns:
            check_memory(
                float(self.n_rows * len(self._learnt_columns)),
                f"The columns of transforms ({self._learnt_columns[0]!r} and others, {self.n_rows:,} rows)",
                "Transform these columns in the source, or leave the transforms out of the formula",
            )
            self._learnt_frames.append(chunk.frame(self._learnt_columns).iloc[positions].astype(np.float64))
        return new_positions

    def _new_factor_level_rows(self, code: str, expr: Expression, rows: RowRange) -> Codes:
        """Return the positions among `rows` of the first occurrence of each new level of a factor.

        `code` is the key under which the levels are recorded. The result is empty for a numeric factor.
        """
        factorized = rows.codes_and_labels(expr.root.name) if isinstance(expr.root, Column) else None
        if factorized is not None:
            return self._new_label_rows(code, *factorized)
        value = evaluate(expr, rows, CallStates(), self._functions)
        if isinstance(value, Categories):
            return self._new_value_rows(code, value.values)
        return np.zeros(0, dtype=np.intp)

    def _new_value_rows(self, code: str, values: pd.Series) -> Codes:
        """Return the positions of the first occurrence of each new value; `code` names the factor."""
        if isinstance(values.dtype, pd.CategoricalDtype):
            # Use the codes, because declared categories without rows are not levels.
            return self._new_label_rows(code, values.cat.codes.to_numpy(), values.cat.categories)
        return self._new_label_rows(code, *pd.factorize(values))

    def _new_label_rows(self, code: str, codes: NDArray[Any], labels: Any) -> Codes:
        """Return the positions of the first occurrence of each new label, and record the labels.

        Parameters
        ----------
        code : str
            Code of the factor, "" for the response.
        codes : (m,) int array
            Position of the label of each row, -1 if missing.
        labels : sequence
            Labels to which the codes refer.

        Returns
        -------
        int array
            A position in `codes` for each new label, in the order of `labels`.
        """
        seen_labels = self._labels_by_code.setdefault(code, set())
        used_codes = np.flatnonzero(np.bincount(codes + 1, minlength=1)[1:]).tolist()
        new_codes = [label for label in used_codes if labels[label] not in seen_labels]
        if not new_codes:
            return np.empty(0, dtype=np.intp)
        seen_labels.update(labels[label] for label in new_codes)
        present_codes, first_positions = np.unique(codes, return_index=True)
        return first_positions[np.searchsorted(present_codes, new_codes)]

    def table(self) -> Table:
        """Return the collected rows, which contain every level, in the order of their chunks.

        Raises DataError if no row was collected.
        """
        if not self._frames:
            names = ", ".join(map(repr, self._columns))
            raise DataError(
                f"All values of {names} are missing in the source.",
                hint="Pass rows with values in these columns.",
            )
        joined = {
            name: _concatenate_columns([frame[name] for frame in self._frames]) for name in self._columns
        }
        return Table(pd.DataFrame(joined), is_training=True)

    def full_data_summary(self) -> FullDataSummary:
        """Return the summary of all rows of the source."""
        learning = Table(pd.concat(self._learnt_frames, ignore_index=True)) if self._learnt_frames else None
        return FullDataSummary(self.n_rows, learning)


def _complete_rows_and_positions(rows: RowRange, columns: Sequence[str]) -> tuple[RowRange, Codes]:
    """Return the rows without a missing value in some columns, and their positions in the table."""
    complete, _ = rows.select_complete(columns)
    positions = np.arange(rows.table.nrows) if complete.keep is None else np.flatnonzero(complete.keep)
    return complete, positions


def _rows_in_native_dtypes(chunk: Table, columns: Sequence[str], positions: Codes) -> pd.DataFrame:
    """Return some rows of a chunk in their original dtypes.

    Parameters
    ----------
    chunk : Table
    columns : sequence of str
    positions : (m,) int array
        Positions of the rows.

    Returns
    -------
    DataFrame (m, columns)
    """
    if isinstance(chunk.data, pd.DataFrame):
        rows = chunk.data.iloc[positions]
        return pd.DataFrame({name: rows.iloc[:, chunk.position(name)] for name in columns})
    chunk_rows = chunk.rows(positions)
    # Categories may be ordered by the values of the whole chunk, hence the full column is read.
    frame = pd.DataFrame(
        {
            name: chunk.column(name).iloc[positions]
            if chunk.column_type(name) == "categorical"
            else chunk_rows.column(name)
            for name in columns
        }
    )
    exact_columns = [
        name for name in columns if chunk.column_type(name) == "boolean" or chunk.has_integer_dtype(name)
    ]
    return frame.assign(
        **{name: _exact_values(chunk, name, positions).set_axis(frame.index) for name in exact_columns}
    )


def _exact_values(chunk: Table, name: str, positions: Codes) -> pd.Series:
    """Return values of an integer or boolean column in their own type, also if some values are missing.

    Parameters
    ----------
    chunk : Table
    name : str
    positions : (m,) int array
        Positions of the rows.

    Returns
    -------
    Series (m,)
        int64 or bool; Int64 or object if a value is missing, and object for integers outside int64.
    """
    values = chunk.native(name)[positions.tolist()].to_list()
    present_values = [value for value in values if value is not None]
    if chunk.column_type(name) == "boolean":
        # Like for a table in memory, missing values must not change the type of the labels.
        nullable_dtype = "object"
        complete_dtype = "bool"
    elif all(-(2**63) <= value < 2**63 for value in present_values):
        nullable_dtype = "Int64"
        complete_dtype = "int64"
    else:
        return pd.Series(values, dtype=object)
    return pd.Series(values, dtype=complete_dtype if len(present_values) == len(values) else nullable_dtype)


def _concatenate_columns(values: list[pd.Series]) -> pd.Series:
    """Concatenate the values of one column in several chunks, with a new index 0, 1, ...

    If all chunks are categorical, the result has the union of their categories, in the order of first
    declaration, and is ordered if all of them are. Otherwise pandas determines its dtype.
    """
    if not all(isinstance(column.dtype, pd.CategoricalDtype) for column in values):
        return pd.concat(values, ignore_index=True)
    declared = list(dict.fromkeys(label for column in values for label in column.cat.categories))
    ordered = all(column.cat.ordered for column in values)
    dtype = pd.CategoricalDtype(declared, ordered=ordered)
    return pd.concat([column.astype(dtype) for column in values], ignore_index=True)
