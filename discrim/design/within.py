"""Rows as deviations from group means, for example the rows of one subject under several conditions.

Differences between groups are removed from the columns of a formula, and differences within groups remain:
the within-subject matrix of multilevel analysis (Westerhuis, van Velzen, Hoefsloot & Smilde, 2010,
Metabolomics 6, 119-128). All predictors have to be numeric columns of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Mask
from discrim.data.sources.sources import source_of
from discrim.data.table import Table
from discrim.design.design_rows import DesignRows
from discrim.design.rows import read_rows, rows_of_new_data, used_codes
from discrim.errors import DataError, NotSupportedError
from discrim.formula.formula import ParsedFormula, parse_formula

MAX_LISTED_NAMES = 3
"""Largest number of names in a message."""


def read_within(formula: str, data: Any, column: str, *, levels: Sequence[Any] | None = None) -> DesignRows:
    """Read a table as deviations from the unweighted means of its groups.

    The mean of a group includes all rows that are complete in the predictors, with or without a class: the
    fit and its predictions of the same table then use the same deviations. The `.` of the formula excludes
    the column of the groups. Rows without a group, or alone in it, become missing.

    Parameters
    ----------
    formula : str
    data : table
    column : str
        Column of the groups.
    levels : sequence, optional
        The classes.

    Returns
    -------
    DesignRows

    Raises
    ------
    DataError
        `column` is not a column or is in the formula, a complete row with a class lacks a group or is alone
        in it, or every group has a single class.
    NotSupportedError
        The rows are not in memory, or the predictors are not plain numeric columns.
    """
    table = _require_table(data, column)
    # Report an unknown column of groups before errors of the formula.
    table.column(column)

    def parse_without_groups(text: str, rows: Table, functions: Any, exclude: Sequence[str]) -> ParsedFormula:
        """Parse the formula with a `.` that also excludes the column of the groups."""
        return parse_formula(text, rows, functions, (*exclude, column))

    options: dict[str, Any] = {"levels": levels, "parser": parse_without_groups}
    design_rows = read_rows(formula, table, **options)
    _check_design(design_rows, column)
    complete = _complete_row_mask(design_rows)
    used = complete & (design_rows.codes >= 0)
    groups = _group_codes(table, column, complete, used)
    classes = pd.Series(design_rows.codes[used]).groupby(groups[used]).nunique()
    if (classes < 2).all():
        raise DataError(
            f"Every group of {column!r} has rows of one class only; classes do not differ within groups.",
            hint="Use a column whose groups have rows of several classes, or leave within= out.",
            columns=(column,),
        )
    return read_rows(formula, _subtract_group_means(design_rows, table, groups), **options)


def _check_design(design_rows: DesignRows, column: str) -> None:
    """Raise an error if the formula reads the group column, or predictors that are not numeric columns.

    The former is a DataError, the latter a NotSupportedError.
    """
    design = design_rows.design
    if column in (*design.response_columns, *design.columns):
        raise DataError(
            f"within={column!r} is also a column of the formula, but it is constant within its groups.",
            hint="Use another column, or exclude it from the formula.",
            columns=(column,),
        )
    if design.is_plain:
        return
    not_numeric = [
        name for name, column_type in design.kinds.items() if column_type not in ("numeric", "boolean")
    ]
    if not_numeric:
        raise NotSupportedError(
            f"within={column!r} requires numeric predictors; not numeric: {_join_labels(not_numeric)}.",
            hint="Exclude them from the formula.",
            columns=tuple(not_numeric),
        )
    raise NotSupportedError(
        f"within={column!r} requires plain numeric columns as predictors.",
        hint="Store computed predictors, such as log(x), as columns of the table.",
    )


def _join_labels(labels: Sequence[Any]) -> str:
    """Return the first `MAX_LISTED_NAMES` labels as text for a message."""
    return ", ".join(map(repr, labels[:MAX_LISTED_NAMES])) + (
        " and more" if len(labels) > MAX_LISTED_NAMES else ""
    )


def deviations_of_new_rows(design_rows: DesignRows, data: Any, column: str) -> Table:
    """Return a new table as deviations from the means of its own groups, for a fit to other rows.

    Only the predictors of the fit are changed. Raises DataError if a complete row lacks a group or is alone
    in it, and NotSupportedError if the rows are not in memory.
    """
    table = _require_table(data, column)
    new_rows = rows_of_new_data(design_rows, table)
    complete = _complete_row_mask(new_rows)
    return _subtract_group_means(new_rows, table, _group_codes(table, column, complete, complete))


def used_group_codes(design_rows: DesignRows, column: str) -> Codes:
    """Return the group of each row of the table of a fit.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the fit, in memory.
    column : str
        Column of the groups.

    Returns
    -------
    (n,) int
        Position of the group among the distinct values of the column. -1 for rows that the fit does not
        use and for rows with a missing value in the column.
    """
    groups = pd.factorize(design_rows.table.column(column), use_na_sentinel=True)[0]
    return np.where(used_codes(design_rows) >= 0, groups, -1)


def _complete_row_mask(design_rows: DesignRows) -> Mask:
    """Return the mask (n,) of the rows of a table that are complete in the predictors."""
    missing = np.zeros(design_rows.table.nrows, dtype=bool)
    for row_slice, _, missing_in_block in design_rows.iter_all_rows():
        if missing_in_block is not None:
            missing[row_slice] = missing_in_block
    return ~missing


def _require_table(data: Any, column: str) -> Table:
    """Return data as a table; raise NotSupportedError if the rows are not in memory.

    Raises DataError if `column` is not text.
    """
    if not isinstance(column, str):
        raise DataError(
            "within= must be the name of a column.", hint="Pass the name of the column that groups the rows."
        )
    source = None if isinstance(data, Table | pd.DataFrame) else source_of(data)
    if source is not None or (isinstance(data, Table) and data.is_chunk):
        description = "the source" if source is None else source.description
        raise NotSupportedError(
            f"within={column!r} requires all rows of a group, but {description} is read part by part.",
            hint="Pass a DataFrame.",
        )
    return data if isinstance(data, Table) else Table(data, is_stored=True)


def _group_codes(table: Table, column: str, complete: Mask, required: Mask) -> Codes:
    """Return the group of each row; groups consist of the complete rows and have two of them or more.

    Parameters
    ----------
    table : Table
    column : str
        Column of the groups.
    complete : (n,) bool
        Rows without a missing value in the predictors.
    required : (n,) bool
        Complete rows that must belong to a group, because their deviation from its mean is used.

    Returns
    -------
    (n,) int
        Position of the group among the distinct values of the column. -1 for incomplete rows, for rows with
        a missing value in the column, and for rows that are the only complete row of their group.

    Raises
    ------
    DataError
        A row in `required` lacks a group or is the only complete row of its group.
    """
    codes, unique_labels = pd.factorize(table.column(column), use_na_sentinel=True)
    labels = unique_labels.tolist()
    ungrouped = np.flatnonzero(required & (codes < 0))
    if len(ungrouped):
        raise DataError(
            f"Row {table.label(int(ungrouped[0]))!r} has a missing value in the grouping column {column!r}.",
            hint="Fill it in, or drop the row.",
            columns=(column,),
            rows=(table.label(int(ungrouped[0])),),
        )
    groups = np.where(complete, codes, -1)
    counts = np.bincount(groups[groups >= 0], minlength=max(len(labels), 1))
    is_single = (groups >= 0) & (counts[groups] == 1)
    if (is_single & required).any():
        raise DataError(
            f"{column!r} {_join_labels([labels[k] for k in groups[is_single & required].tolist()])}: a "
            "group of one row has no deviations from its mean.",
            hint="Pass all rows of the group, or drop the row.",
            columns=(column,),
        )
    groups[is_single] = -1
    return groups


def _subtract_group_means(design_rows: DesignRows, table: Table, groups: Codes) -> Table:
    """Subtract unweighted group means from the columns of the design, which are plain columns of the table.

    The other columns of the table are unchanged.

    Parameters
    ----------
    design_rows : DesignRows
    table : Table
    groups : (n,) int array
        Group of each row, -1 for none.

    Returns
    -------
    Table
        Values are missing in rows without a group.
    """
    names = list(design_rows.design.columns)
    used = groups >= 0
    values = np.full((table.nrows, len(names)), np.nan)
    table.fill(names, 0, table.nrows, values)
    values[~used] = np.nan
    residuals = values[used]
    # Subtract twice, which corrects the rounding error of means far from zero.
    for _ in range(2):
        sums = np.zeros((int(groups.max(initial=-1)) + 1, len(names)))
        np.add.at(sums, groups[used], residuals)
        counts = np.bincount(groups[used], minlength=len(sums))
        residuals -= (sums / np.maximum(counts, 1)[:, None])[groups[used]]
    values[used] = residuals
    others = [name for name in table.names if name not in names]
    frame = pd.concat([table.frame(others), pd.DataFrame(values, index=table.index, columns=names)], axis=1)
    return Table(frame[list(table.names)], is_stored=True)
