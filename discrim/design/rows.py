"""Read the rows of a formula from a table or a source, and iterate over the rows that a fit uses.

Verbs call `read_rows`, which parses the formula and returns `DesignRows`. The rows that a fit uses are
available block by block (`used_rows`), all at once (`gather_used_rows`), or as the stored values of sparse
columns (`stored_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.data.sources.base import Source, capitalize_first, no_rows_error
from discrim.data.sources.sources import source_of
from discrim.data.sparse import SparseColumns
from discrim.data.table import Table
from discrim.design.design_rows import DesignRows, TableRows, learning_row_mask, read_weights
from discrim.design.levels import check_booleans_or_counts
from discrim.design.source_rows import rows_of_source
from discrim.design.source_tables import SourceTable, chunk_tables, learn_source_design
from discrim.errors import DataError, NotSupportedError
from discrim.formula.factors import check_functions, select_functions
from discrim.formula.formula import FormulaParser, learn_design, parse_formula
from discrim.formula.response import codes_by_first_appearance


def read_rows(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    is_chunk: bool = False,
    in_memory: str | None = None,
    parser: FormulaParser = parse_formula,
    uses_incomplete_rows: bool = False,
) -> DesignRows:
    """Return the rows that a formula reads from a table, a chunk of a table, or a source of tables.

    Parameters
    ----------
    formula, data, weights, levels, functions
        Arguments of a verb.
    is_chunk : bool
        Whether the table is a chunk of a larger one, which need not have all classes.
    in_memory : str, optional
        Reason that the rows have to be in memory, a sentence. A source of tables is then refused.
    parser : FormulaParser
        By default `parse_formula`; `parse_adjusted_formula` also accepts covariates.
    uses_incomplete_rows : bool
        Whether the fit also uses rows with missing values; levels are then learnt from them, too.

    Returns
    -------
    DesignRows

    Raises
    ------
    FormulaError
        The formula cannot be read.
    DataError
        The table is empty, or lacks a column of the formula.
    NotSupportedError
        The data are a source of tables, but have to be in memory or be read repeatedly.
    """
    source = None if isinstance(data, Table | pd.DataFrame) else source_of(data)
    if source is not None:
        return _read_source(
            formula, data, source, weights, levels, dict(functions or {}), in_memory, parser,
            uses_incomplete_rows=uses_incomplete_rows,
        )  # fmt: skip
    table = (
        data
        if isinstance(data, Table)
        else Table(data, is_chunk=is_chunk, is_training=not is_chunk, is_stored=True)
    )
    exclude = (weights,) if isinstance(weights, str) else ()
    checked_functions = {} if functions is None else check_functions(functions)
    if table.nrows == 0:
        raise DataError("The table has no rows, so there is nothing to fit.", hint="Pass a table with rows.")
    parsed = parser(formula, table, checked_functions, exclude)
    weight_values = read_weights(weights, table)
    design, codes = learn_design(
        parsed, table, checked_functions, levels,
        positive=learning_row_mask(weight_values, table), uses_incomplete_rows=uses_incomplete_rows,
    )  # fmt: skip
    return DesignRows(
        design, TableRows(table, codes, weight_values, is_training=True), dict(checked_functions)
    )


def rows_of_new_data(design_rows: DesignRows, data: Any, *, is_stored: bool = False) -> DesignRows:
    """Return the rows of other data in the design of a fit, for predictions.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the fit, for the design and its options.
    data : table or source of tables
        Classes of a source are read only when needed; the rows of a table have no classes.
    is_stored : bool
        See `Table`.

    Returns
    -------
    DesignRows

    Raises
    ------
    DataError
        A source is empty.
    """
    source = None if isinstance(data, Table) else source_of(data)
    if source is None:
        return design_rows.with_table(data if isinstance(data, Table) else Table(data, is_stored=is_stored))
    first = next((table for table, _ in chunk_tables(source, design_rows.design.columns)), None)
    if first is None:
        raise no_rows_error(source)
    table = SourceTable(source, data, first)
    return replace(design_rows, rows=rows_of_source(table, design_rows.design, design_rows.functions))


def _read_source(
    formula: str,
    data: Any,
    source: Source,
    weights: Any,
    levels: Sequence[Any] | None,
    functions: dict[str, Callable[..., Any]],
    in_memory: str | None,
    parser: FormulaParser,
    *,
    uses_incomplete_rows: bool,
) -> DesignRows:
    """Read the rows of a source; see `read_rows` for the arguments.

    Parameters
    ----------
    formula : str
    data : object
        The argument of the user.
    source : Source
        The source of its rows.
    weights : str or None
        Column of weights.
    levels : sequence or None
        The classes.
    functions : dict of str to callable
    in_memory : str or None
    parser : FormulaParser
    uses_incomplete_rows : bool

    Returns
    -------
    DesignRows
    """
    if in_memory is not None:
        require_rows_in_memory(in_memory, source)
    if source.is_single_pass:
        raise NotSupportedError(
            f"{capitalize_first(source.description)} can be read only once, but this fit reads its rows "
            "several times.",
            hint=(
                "Pass a function that creates the source, or use lda(), qda() or another verb with moments=."
            ),
        )
    source.check_weights_are_column(weights)
    design, table = learn_source_design(
        formula, data, source, functions, levels, weights, parser, uses_incomplete_rows=uses_incomplete_rows
    )
    return DesignRows(design, rows_of_source(table, design, functions, weights, is_training=True), functions)


def require_rows_in_memory(reason: str, source: Source) -> NoReturn:
    """Raise NotSupportedError for a source, with the reason (a sentence) that rows have to be in memory."""
    raise NotSupportedError(
        f"{reason} {source.description} is read part by part.",
        hint=(
            "Pass a sample of its rows as a DataFrame, or use lda(), qda() or logistic(), which can read "
            "rows in chunks."
        ),
    )


UsedRows = tuple[slice | Codes, Floats, Codes, Floats | None]
"""The m rows of a block that a fit uses: positions in the table, x (m, p), codes and weights (m,) or None.

x may be a buffer that the next block overwrites.
"""


def used_rows(design_rows: DesignRows) -> Iterator[UsedRows]:
    """Iterate over the rows that a fit uses, block by block; blocks without such a row are skipped.

    They have a class, a positive weight and (unless `uses_incomplete_rows`) no missing value, and are not
    excluded. Classes and weights of a source are read into memory first.
    """
    # The classes of a source are read first, because a second pass may not be possible during the first.
    design_rows = design_rows.with_classes()
    for row_slice, x, missing in design_rows.iter_all_rows():
        used = select_used_rows(design_rows, row_slice, x, missing)
        if used is not None:
            yield used


def select_used_rows(
    design_rows: DesignRows, row_slice: slice, x: Floats, missing: NDArray[np.bool_] | None
) -> UsedRows | None:
    """Return the rows of one block of `DesignRows.iter_all_rows` that a fit uses.

    Parameters
    ----------
    design_rows : DesignRows
    row_slice : slice
        Rows of the block in the table.
    x : (m, p) float array
    missing : (m,) bool array or None
        Rows with a missing value.

    Returns
    -------
    UsedRows or None
        None if no row is used.
    """
    codes = design_rows.codes[row_slice]
    weights = None if design_rows.weights is None else design_rows.weights[row_slice]
    used = codes >= 0
    if weights is not None:
        used = used & (weights > 0)
    if missing is not None and not design_rows.uses_incomplete_rows:
        used &= ~missing
    if design_rows.rows.excluded is not None:
        used &= ~design_rows.rows.excluded[row_slice]
    if used.all():
        return row_slice, x, codes, weights
    if not used.any():
        return None
    row_index = row_slice.start + np.flatnonzero(used)
    return row_index, x[used], codes[used], None if weights is None else weights[used]


class GatheredRows(NamedTuple):
    """The n rows that a fit uses, in memory; see `used_rows`.

    Attributes
    ----------
    x : (n, p) float
    codes : (n,) int
        Class of each row as a position in the levels.
    weights : (n,) float or None
        Positive weights. None without weights, or if no row is used.
    positions : (n,) int
        Positions of the rows in the table.
    """

    x: Floats
    codes: Codes
    weights: Floats | None
    positions: Codes


def gather_used_rows(design_rows: DesignRows) -> GatheredRows:
    """Copy the rows that a fit uses into memory; the arrays are empty without such rows."""
    # `used_rows` yields a slice or an array of positions.
    copies = [
        (x.copy(), codes.copy(), w, np.r_[position]) for position, x, codes, w in used_rows(design_rows)
    ]
    if not copies:
        no_row = np.empty(0, dtype=np.intp)
        return GatheredRows(np.empty((0, len(design_rows.terms))), no_row, None, no_row)
    x, codes, weights, positions = zip(*copies, strict=True)
    all_weights = None if weights[0] is None else np.concatenate(weights)
    return GatheredRows(np.concatenate(x), np.concatenate(codes), all_weights, np.concatenate(positions))


def gather_weighted_rows(design_rows: DesignRows) -> tuple[Floats, Codes, Floats | None]:
    """Return the fields of `gather_used_rows` except the positions."""
    return gather_used_rows(design_rows)[:3]


def repeat_rows(x: Floats, codes: Codes, weights: Floats | None) -> tuple[Floats, Codes]:
    """Return copies of rows (m, p) and codes (m,), repeated by the weights (m,), which are whole numbers.

    Without weights each row occurs once.
    """
    repeats = 1 if weights is None else weights.astype(np.intp)
    return np.repeat(x, repeats, axis=0), np.repeat(codes, repeats)


def used_codes(design_rows: DesignRows) -> Codes:
    """Return the class (n,) of each row of the table that a fit uses, and -1 for the others.

    A pass over the rows has to be made before, because `design_rows.dropped` must be known.
    """
    if not design_rows.dropped:
        # No row has a missing value.
        weights = design_rows.weights
        return design_rows.codes if weights is None else np.where(weights > 0, design_rows.codes, -1)
    return design_rows.rows.map_rows(design_rows, _chunk_used_codes)


def _chunk_used_codes(design_rows: DesignRows) -> Codes:
    """Return the class codes (n,) of the rows of a chunk, -1 for rows that the fit does not use."""
    codes = np.full(design_rows.table.nrows, -1, dtype=np.intp)
    for rows, _, block_codes, _ in used_rows(design_rows):
        codes[rows] = block_codes
    return codes


def response_codes_of_all_rows(design_rows: DesignRows) -> Codes:
    """Return codes (n,) of the responses of all rows, including classes that the fit excluded.

    If a row lacks a code in the fit, the codes number classes by first appearance, not by `design.levels`,
    and are -1 for rows without a response.
    """
    if (design_rows.codes >= 0).all():
        return design_rows.codes
    functions = select_functions(design_rows.design.functions, design_rows.functions)
    return codes_by_first_appearance(design_rows.design.response_code, design_rows.table, functions)


MAX_SPARSE_DENSITY = 0.1
"""Largest proportion of stored values for which sparse algorithms are faster than dense blocks.

Dense columns count as stored completely.
"""

MAX_MEAN_SD_RATIO = 8.0
"""Ratio of mean to standard deviation above which a column with over half stored values is centred."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """All n rows of a table with p columns as a base row plus sparse differences: x = base + steps.

    Attributes
    ----------
    base : (p,) float array
        Values of the entries that are not stored.
    steps : (n, p) csr_array
        Differences from the base; meaningless in rows with a missing value.
    missing : (n,) bool array
        Rows with a missing value.
    """

    base: Floats
    steps: scipy.sparse.csr_array
    missing: NDArray[np.bool_]


def stored_rows(design_rows: DesignRows) -> StoredRows | None:
    """Return the rows of a plain design with sparse columns as `StoredRows`.

    They have the columns and units of `design_rows`; excluded rows become missing. The rows of all columns
    are cached with the table. None if the table is empty or without sparse columns, the design is not plain,
    too many values are stored, or a value is infinite, which dense blocks report as an error.

    Raises
    ------
    OutOfRangeError
        A value is outside `design_rows.column_range`.
    """
    design = design_rows.design
    sparse = design_rows.table.sparse
    if sparse is None or not design.is_plain or not design_rows.table.nrows:
        return None
    if design.columns not in sparse.rows:
        sparse.rows.clear()
        sparse.rows[design.columns] = _compute_stored_rows(design_rows, sparse)
    stored: StoredRows | None = sparse.rows[design.columns]
    if stored is not None:
        stored = _select_stored(stored, design_rows)
        if design_rows.column_range is not None:
            design_rows.column_range.check_sparse(
                stored.base, stored.steps, stored.missing, design_rows.terms, design_rows.table
            )
    return stored


def _select_stored(stored: StoredRows, design_rows: DesignRows) -> StoredRows:
    """Return stored rows with the columns and units of `design_rows`; excluded rows become missing."""
    excluded = design_rows.rows.excluded
    if design_rows.kept_columns is None and design_rows.column_units is None and excluded is None:
        return stored
    base = stored.base
    steps = stored.steps
    missing = stored.missing
    if design_rows.kept_columns is not None:
        base = base[list(design_rows.kept_columns)]
        steps = steps[:, list(design_rows.kept_columns)]
    if design_rows.column_units is not None:
        values = steps.data / design_rows.column_units[steps.indices], steps.indices, steps.indptr
        base = base / design_rows.column_units
        steps = scipy.sparse.csr_array(values, shape=steps.shape)
    return StoredRows(base, steps, missing if excluded is None else missing | excluded)


def _compute_stored_rows(design_rows: DesignRows, sparse: SparseColumns) -> StoredRows | None:
    """Compute the `StoredRows` of all columns of a plain design, in their own units.

    Columns that are stored mostly and far from their fill value get their mean as base, and so do dense
    columns whose mean is large relative to their standard deviation. None if dense blocks are faster or a
    value is infinite.
    """
    design = design_rows.design
    table = design_rows.table
    check_booleans_or_counts(table, design.boolean_columns, counts=False)
    table.check_float_precision(design.columns)
    sparse_columns, positions, dense_positions = table.sparse_positions(design.columns)
    n = table.nrows
    p = len(design.columns)
    if (
        len(dense_positions) + len(positions) * sparse.matrix.nnz / max(n * len(sparse.fill), 1)
        > MAX_SPARSE_DENSITY * p
    ):
        return None
    uses_all_columns = len(sparse_columns) == len(sparse.fill) and (np.diff(sparse_columns) == 1).all()
    matrix = sparse.matrix if uses_all_columns else sparse.matrix[:, sparse_columns]
    fill = sparse.fill[sparse_columns]
    if np.isinf(matrix.data).any() or np.isinf(fill).any():
        return None
    missing = _sparse_missing_mask(matrix, fill)
    if missing.any():
        matrix = _drop_stored_rows(matrix, missing)
    base = np.zeros(p)
    base[positions] = np.where(np.isnan(fill), 0.0, fill)
    values = matrix.data - base[positions[matrix.indices]] if base.any() else matrix.data
    steps = scipy.sparse.csr_array((values, positions[matrix.indices], matrix.indptr), shape=(n, p))
    centred_columns = positions[_columns_far_from_base(steps[:, positions], missing)]
    dense_columns = np.concatenate([np.array(dense_positions, dtype=np.intp), centred_columns])
    if not len(dense_columns):
        return StoredRows(base, steps, missing)
    columns = np.stack([table.column(design.columns[j]).to_numpy(np.float64) for j in dense_columns], axis=1)
    if np.isinf(columns).any():
        return None
    missing |= np.isnan(columns).any(axis=1)
    base[dense_columns] = np.nan_to_num(columns[~missing].mean(axis=0)) if not missing.all() else 0.0
    # Counts and other numbers near zero stay as they are.
    sds = columns[~missing].std(axis=0) if not missing.all() else base[dense_columns]
    base[dense_columns] = np.where(
        np.abs(base[dense_columns]) > MAX_MEAN_SD_RATIO * sds, base[dense_columns], 0.0
    )
    columns -= base[dense_columns]
    columns[missing] = 0.0
    if len(centred_columns):
        keep_value = ~np.isin(steps.indices, centred_columns)
        starts = np.concatenate([[0], np.cumsum(keep_value)])[steps.indptr]
        steps = scipy.sparse.csr_array(
            (steps.data[keep_value], steps.indices[keep_value], starts), shape=(n, p)
        )
    starts = np.arange(n + 1) * len(dense_columns)
    steps = steps + scipy.sparse.csr_array((columns.ravel(), np.tile(dense_columns, n), starts), shape=(n, p))
    return StoredRows(base, scipy.sparse.csr_array(steps), missing)


def _sparse_missing_mask(matrix: scipy.sparse.csr_array, fill: Floats) -> NDArray[np.bool_]:
    """Return the mask (n,) of rows with a missing value, stored or implied by the fill value.

    Parameters
    ----------
    matrix : (n, q) csr_array
    fill : (q,) float array
        Value of entries that are not stored.

    Returns
    -------
    (n,) bool array
    """
    missing = np.zeros(matrix.shape[0], dtype=bool)
    is_nan = np.isnan(matrix.data)
    if is_nan.any():
        missing[np.repeat(np.arange(len(missing)), np.diff(matrix.indptr))[is_nan]] = True
    fill_is_nan = np.isnan(fill)
    if fill_is_nan.any():
        row = np.repeat(np.arange(len(missing)), np.diff(matrix.indptr))
        stored = np.bincount(row[fill_is_nan[matrix.indices]], minlength=len(missing))
        missing |= stored < fill_is_nan.sum()
    return missing


def _drop_stored_rows(matrix: scipy.sparse.csr_array, missing: NDArray[np.bool_]) -> scipy.sparse.csr_array:
    """Return a copy of a matrix (n, q) without the stored values of the rows in a mask (n,)."""
    values_per_row = np.diff(matrix.indptr)
    keep_value = np.repeat(~missing, values_per_row)
    starts = np.concatenate([[0], np.cumsum(np.where(missing, 0, values_per_row))])
    return scipy.sparse.csr_array(
        (matrix.data[keep_value], matrix.indices[keep_value], starts), shape=matrix.shape
    )


def _columns_far_from_base(steps: scipy.sparse.csr_array, missing: NDArray[np.bool_]) -> Codes:
    """Return the columns with over half of their values stored whose mean is far from the base.

    The mean of the differences exceeds `MAX_MEAN_SD_RATIO` standard deviations.

    Parameters
    ----------
    steps : (n, q) csr_array
        Differences from the base.
    missing : (n,) bool array
        Rows to ignore.

    Returns
    -------
    int array
        Positions of the columns.
    """
    steps = steps[~missing] if missing.any() else steps
    n, q = steps.shape
    stored = np.bincount(steps.indices, minlength=q)
    if not (2 * stored > n).any():
        return np.flatnonzero(2 * stored > n)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.bincount(steps.indices, steps.data, q) / n
        squares = np.bincount(steps.indices, (steps.data - means[steps.indices]) ** 2, q)
        squares += (n - stored) * means**2
        return np.flatnonzero((2 * stored > n) & (means**2 * n > MAX_MEAN_SD_RATIO**2 * squares))
