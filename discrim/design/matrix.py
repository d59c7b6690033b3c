"""Compute blocks of a design matrix (`DesignMatrix`), and the classes of a table (`response_codes`).

Numeric and categorical columns and their products are computed for all rows of a block, and rows that are
not finite are checked afterwards. Functions of columns are computed from complete rows only, hence values
that are not finite are errors of the computation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.data.table import Table
from discrim.data.values import encode, format_value
from discrim.errors import DataError
from discrim.formula.design import Design, Factor, Product, Spec
from discrim.formula.factors import (
    CallStates,
    Categories,
    Functions,
    RowRange,
    complete_rows,
    evaluate,
    select_functions,
)
from discrim.formula.grammar import Column, expression, quote
from discrim.formula.response import encode_response

_Values = Mapping[int, Floats | Codes]


def write_rows(
    design: Design,
    spec: Spec,
    rows: RowRange,
    functions: Functions,
    out: Floats,
    *,
    unseen: bool = False,
) -> None:
    """Write the design matrix of rows that are complete in the columns of the design into out (m, p).

    Parameters
    ----------
    design : Design
    spec : Spec
    rows : RowRange
    functions : mapping of str to callable
        Functions of the user that the formula calls.
    out : (m, p) float array
        Is overwritten.
    unseen : bool
        Whether the columns of an unseen level become NaN.

    Raises
    ------
    DataError
        A factor is of another kind than in the fit, a level is unseen and `unseen` is False, or a value is
        not finite. If the rows are lenient, values that are not finite are kept instead.
    """
    values = {
        factor_index: factor_values(factor, rows, functions, unseen=unseen)
        for factor_index, factor in enumerate(spec.factors)
    }
    for column_slice, factor_codings in spec.products_with_columns():
        with np.errstate(over="ignore"):
            _write_product(spec, factor_codings, values, out[:, column_slice])
        if len(factor_codings) > 1 and not rows.lenient and not np.isfinite(out[:, column_slice]).all():
            overflows = ~np.isfinite(out[:, column_slice])
            for factor, coding in factor_codings:
                overflows[values[factor] < 0 if coding >= 0 else []] = False
            for row, column in np.argwhere(overflows)[:1]:
                raise DataError(
                    f"{design.terms[column_slice.start + column]!r} overflows at row "
                    f"{format_value(rows.index[row])}.",
                    hint="Rescale the columns that it multiplies.",
                    rows=(rows.index[row],),
                )


def write_complete_rows(
    design: Design,
    spec: Spec,
    rows: RowRange,
    functions: Functions,
    out: Floats,
    *,
    unseen: bool = False,
    partial: bool = False,
) -> None:
    """Write the rows that are complete in the columns of the design, and NaN for the others.

    Parameters
    ----------
    design : Design
    spec : Spec
    rows : RowRange
    functions : mapping of str to callable
        Functions of the user that the formula calls.
    out : (m, p) float array
        Is overwritten.
    unseen : bool
        Whether the columns of an unseen level become NaN; otherwise such a level is a DataError.
    partial : bool
        Whether only the columns whose own factors have a missing value become NaN.
    """
    complete, keep = complete_rows(rows, design.columns, spec, functions)
    if keep.all():
        write_rows(design, spec, complete, functions, out, unseen=unseen)
        return
    if partial:
        for column_slice, factor_codings in spec.products_with_columns():
            columns_read = _columns_of(design, spec, [factor_codings])
            product_design, product_spec = _select_products(
                design, spec, [factor_codings], design.terms[column_slice], columns_read
            )
            write_complete_rows(
                product_design, product_spec, rows, functions, out[:, column_slice], unseen=unseen
            )
        return
    out[~keep] = np.nan
    complete_values = np.empty((int(keep.sum()), len(design.terms)))
    if len(complete_values):
        write_rows(design, spec, complete, functions, complete_values, unseen=unseen)
    out[keep] = complete_values


def _columns_of(design: Design, spec: Spec, products: list[Product]) -> set[str]:
    """Return the columns of the table that the factors of some products read."""
    names = frozenset(design.functions)
    codes = {spec.factors[factor].code for factor_codings in products for factor, _ in factor_codings}
    return {name for code in codes for name in expression(code, names).columns}


def _select_products(
    design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...], columns_read: Collection[str]
) -> tuple[Design, Spec]:
    """Return a design with only some products of factors, and its spec.

    Parameters
    ----------
    design : Design
    spec : Spec
        Spec of the design.
    products : list of Product
        The products to keep.
    terms : tuple of str
        Names of the columns of the design matrix that the products have.
    columns_read : collection of str
        Columns of the table that the new design reads, in which rows have to be complete.

    Returns
    -------
    design : Design
    spec : Spec
        Contains only the factors of the products, renumbered.
    """
    used = sorted({factor for factor_codings in products for factor, _ in factor_codings})
    position = {factor: new_index for new_index, factor in enumerate(used)}
    kind_of = design.kinds
    columns = tuple(name for name in design.columns if name in columns_read)
    new_products = tuple(
        tuple((position[factor], coding) for factor, coding in factor_codings) for factor_codings in products
    )
    factors = tuple(spec.factors[factor] for factor in used)
    new_spec = Spec(tuple(kind_of[name] for name in columns), factors, spec.codings, new_products)
    return replace(design, terms=terms, columns=columns, spec=new_spec), new_spec


UNSEEN_LEVEL_HINT = 'pass unseen="missing", or fit with this level'
"""Hint for an unseen level, in addition to changing the rows."""


def factor_values(
    factor: Factor, rows: RowRange, functions: Functions, *, unseen: bool = False
) -> Floats | Codes:
    """Return the values of a factor on rows.

    Parameters
    ----------
    factor : Factor
    rows : RowRange
    functions : mapping of str to callable
        Functions of the user.
    unseen : bool
        Whether unseen levels are allowed, with the code -1.

    Returns
    -------
    (m, width) float array, or (m,) int array of codes of levels

    Raises
    ------
    DataError
        The factor is not of the type (numeric or categorical) or number of columns of the training data, or a
        level is unseen and `unseen` is False.
    """
    expr = expression(factor.code, frozenset(functions))
    value = evaluate(expr, rows, CallStates(factor.states), functions)
    if isinstance(value, Categories) != (factor.levels is not None):
        expected_type = "categorical" if factor.levels is not None else "numeric"
        raise DataError(
            f"The predictor {expr.label!r} was {expected_type} in the training data and is not now.",
            hint=f"Convert it to a {expected_type} column.",
            columns=(expr.label,),
        )
    if isinstance(value, Categories):
        levels = factor.levels or ()
        label = f"The predictor {expr.label!r}"
        if not unseen:
            return encode(value.values, levels, label, UNSEEN_LEVEL_HINT)
        is_seen = value.values.isin(list(levels)).to_numpy()
        codes = np.full(len(is_seen), -1, dtype=np.intp)
        codes[is_seen] = encode(value.values[is_seen], levels, label)
        return codes
    matrix = value[:, None] if value.ndim == 1 else value
    if matrix.shape[1] != factor.width:
        raise DataError(
            f"{expr.label!r} has {matrix.shape[1]} columns; in the training data it had {factor.width}.",
            hint="Pass data of the same form.",
            columns=(expr.label,),
        )
    return matrix


def _write_product(spec: Spec, factor_codings: Product, values: _Values, out: Floats) -> None:
    """Write the columns of a product of factors.

    Parameters
    ----------
    spec : Spec
    factor_codings : Product
        Factors and their codings.
    values : mapping of int to array
        Numbers (m, width) or codes (m,) by factor. Code -1 makes all columns NaN.
    out : (m, columns) float array
    """
    matrices = [
        np.array(spec.codings[coding].matrix) if coding >= 0 and spec.codings[coding].matrix else None
        for _, coding in factor_codings
    ]
    combinations = product(*(range(width) for width in reversed(spec.widths(factor_codings))))
    for column, backwards in enumerate(combinations):
        for factor_index, ((factor, coding), j) in enumerate(
            zip(factor_codings, reversed(backwards), strict=True)
        ):
            matrix = matrices[factor_index]
            picks = spec.codings[coding].picks if coding >= 0 else None
            if picks is not None:
                factor_column: Any = values[factor] == picks[j]
            else:
                factor_column = values[factor][:, j] if matrix is None else matrix[values[factor].clip(0), j]
            if factor_index == 0:
                out[:, column] = factor_column
            else:
                out[:, column] *= factor_column
    for factor, coding in factor_codings:
        if coding >= 0 and len(out) and values[factor].min() < 0:
            out[values[factor] < 0] = np.nan


def response_codes(
    design: Design, table: Table, functions: Functions | None = None, used: Mask | None = None
) -> Codes:
    """Return the position of the response of each row in ``design.levels``.

    Parameters
    ----------
    design : Design
    table : Table
    functions : mapping of str to callable, optional
        Functions of the user.
    used : (n,) bool array, optional
        Rows outside this mask count as rows without a label.

    Returns
    -------
    (n,) int array
        -1 if the label is missing.

    Raises
    ------
    DataError
        A column is not in the table, or a label is not a level.
    """
    functions = select_functions(design.functions, functions)
    response = expression(design.response_code, frozenset(functions))
    return encode_response(response, table, functions, design.levels, used)


_MISSING_LEVEL = -1
_UNSEEN_LEVEL = -2
"""Codes of missing categories, and of categories that the fit has not seen."""


class DesignMatrix:
    """Design matrix of the rows of a table, written block by block.

    How the columns of the table are stored is determined once for all blocks. The table need not have the
    response.

    Parameters
    ----------
    design : Design
    table : Table
    functions : mapping of str to callable, optional
        Functions of the user.
    partial : bool
        Whether a missing value makes only the columns that depend on it NaN, and not the row.
    unseen : bool
        Whether an unseen level counts as a missing value.
    excluded : (n,) bool array, optional
        Rows that become NaN, if the design is not plain.
    unused : (n,) bool array, optional
        Rows in which unseen levels, and values outside the domain of a factor such as the ends of a
        spline, are missing values.

    Attributes
    ----------
    view : (p, n) float array or None
        View of the columns, if the design is plain and they are adjacent in memory.
    """

    def __init__(
        self,
        design: Design,
        table: Table,
        functions: Functions | None = None,
        *,
        partial: bool = False,
        unseen: bool = False,
        excluded: Mask | None = None,
        unused: Mask | None = None,
    ) -> None:
        self._design = design
        self._table = table
        self._excluded = excluded
        self._unused = unused
        self._partial = partial
        self._unseen = unseen
        self._copied_columns: list[tuple[slice, tuple[str, ...]]] = [
            (slice(0, len(design.terms)), design.columns)
        ]
        self._products: list[tuple[slice, Product]] = []
        self._computed: tuple[Codes, Design, Spec] | None = None
        self.view = table.view(design.columns) if design.is_plain else None
        if design.spec is not None:
            self._find_columns(design.spec, select_functions(design.functions, functions))
        elif self.view is None:
            table.check_float_precision(design.columns)

    def _find_columns(self, spec: Spec, functions: Functions) -> None:
        """Determine how each factor is read: as a column of numbers, as codes of a column, or computed.

        Sets `_numeric_columns` and `_coded_columns` by position of the factor, and `_copied_columns`,
        `_products` and `_computed`, which together make all columns of the design.
        """
        design = self._design
        table = self._table
        self._kinds = design.label_kinds
        self._functions = functions
        self._numeric_columns: dict[int, str] = {}
        self._coded_columns: dict[int, tuple[Codes, Codes]] = {}
        for factor_index, factor in enumerate(spec.factors):
            root = expression(factor.code, frozenset(functions)).root
            if not isinstance(root, Column):
                continue
            if factor.levels is None and table.column_type(root.name) in {"numeric", "boolean"}:
                self._numeric_columns[factor_index] = root.name
            elif factor.levels is not None and root.name in self._kinds:
                factorized = table.factorized(root.name)
                if factorized is not None:
                    position = {level: code for code, level in enumerate(factor.levels)}
                    level_codes = [position.get(label, _UNSEEN_LEVEL) for label in factorized[1]]
                    self._coded_columns[factor_index] = (
                        factorized[0],
                        np.array([*level_codes, _MISSING_LEVEL], dtype=np.intp),
                    )
        table.check_float_precision(list(self._numeric_columns.values()))
        direct_factors = {*self._numeric_columns, *self._coded_columns}
        self._copied_columns = []
        computed_products: list[tuple[slice, Product]] = []
        for column_slice, factor_codings in spec.products_with_columns():
            if not direct_factors.issuperset(factor for factor, _ in factor_codings):
                computed_products.append((column_slice, factor_codings))
            elif len(factor_codings) > 1 or factor_codings[0][1] >= 0:
                self._products.append((column_slice, factor_codings))
            elif self._copied_columns and self._copied_columns[-1][0].stop == column_slice.start:
                run_slice, names = self._copied_columns[-1]
                self._copied_columns[-1] = (
                    slice(run_slice.start, column_slice.stop),
                    (*names, self._numeric_columns[factor_codings[0][0]]),
                )
            else:
                self._copied_columns.append((column_slice, (self._numeric_columns[factor_codings[0][0]],)))
        for _, names in self._copied_columns:
            # Columns that lie side by side are copied together.
            table.view(names)
        self._product_factors = {
            factor for _, factor_codings in self._products for factor, _ in factor_codings
        }
        if computed_products:
            column_index = np.concatenate(
                [np.arange(column_slice.start, column_slice.stop) for column_slice, _ in computed_products]
            )
            terms = tuple(design.terms[j] for j in column_index)
            sub_design = _select_products(
                design,
                spec,
                [factor_codings for _, factor_codings in computed_products],
                terms,
                design.columns,
            )
            self._computed = column_index, *sub_design

    def fill(self, start: int, stop: int, out: Floats) -> Mask | None:
        """Write rows start to stop into out (m, p); return the mask (m,) of rows with a missing value.

        None without such a row. See `write` and `missing_mask`.
        """
        self.write(start, stop, out)
        return self.missing_mask(start, out)

    def write(self, start: int, stop: int, out: Floats) -> None:
        """Write rows start to stop; `missing_mask` then checks values that are not finite.

        Parameters
        ----------
        start, stop : int
            Positions of the first row in the table, and of the row after the last one.
        out : (stop - start, p) float array, of any strides

        Raises
        ------
        DataError
            A column does not exist or is of another kind, or a transform of a complete row is not finite.
        """
        for column_slice, names in self._copied_columns:
            self._table.fill(names, start, stop, out[:, column_slice])
        spec = self._design.spec
        if spec is None:
            return
        if self._products:
            values = {factor: self._factor_values(factor, start, stop) for factor in self._product_factors}
            with np.errstate(over="ignore", invalid="ignore"):
                for column_slice, factor_codings in self._products:
                    _write_product(spec, factor_codings, values, out[:, column_slice])
        excluded = None if self._excluded is None else self._excluded[start:stop]
        if self._computed is not None:
            column_index, computed_design, computed_spec = self._computed
            keep = np.full(stop - start, True) if excluded is None else ~excluded
            out[np.ix_(keep, column_index)] = self._compute_rows(computed_design, computed_spec, start, keep)
        if excluded is not None:
            out[excluded] = np.nan

    def _factor_values(self, factor: int, start: int, stop: int) -> Floats | Codes:
        """Return a factor in rows start to stop: a column of numbers (m, 1), or codes (m,) of its levels.

        A code is `_MISSING_LEVEL` or `_UNSEEN_LEVEL` for a missing or unseen level.
        """
        if factor in self._coded_columns:
            codes, positions = self._coded_columns[factor]
            return positions[codes[start:stop]]
        column = np.empty((stop - start, 1))
        self._table.fill([self._numeric_columns[factor]], start, stop, column)
        return column

    def _compute_rows(self, design: Design, spec: Spec, start: int, keep: Mask) -> Floats:
        """Compute rows of any design, with all checks.

        Parameters
        ----------
        design : Design
        spec : Spec
        start : int
            Position of the first row in the table.
        keep : (m,) bool array
            Rows to compute.

        Returns
        -------
        (kept rows, p) float array
        """
        values = np.empty((int(keep.sum()), len(design.terms)), order="F")
        if self._unused is None:
            self._write_complete(design, spec, start, keep, values, unseen=self._unseen)
            return values
        unused = self._unused[start : start + len(keep)]
        for row_mask, lenient in ((keep & ~unused, False), (keep & unused, True)):
            row_values = np.empty((int(row_mask.sum()), len(design.terms)), order="F")
            self._write_complete(
                design, spec, start, row_mask, row_values, unseen=self._unseen or lenient, lenient=lenient
            )
            nonfinite = ~np.isfinite(row_values)
            row_values[nonfinite if self._partial else nonfinite.any(axis=1)] = np.nan
            values[row_mask[keep]] = row_values
        return values

    def _write_complete(
        self,
        design: Design,
        spec: Spec,
        start: int,
        keep: Mask,
        out: Floats,
        *,
        unseen: bool,
        lenient: bool = False,
    ) -> None:
        """Write rows of a design; see the function `write_complete_rows`.

        Parameters
        ----------
        design : Design
        spec : Spec
        start : int
            Position of the first row in the table.
        keep : (m,) bool array
            Rows to write.
        out : (kept rows, p) float array
        unseen : bool
            Whether the columns of an unseen level become NaN.
        lenient : bool
            Whether values outside the domain of a factor are missing values.
        """
        if len(out):
            keep_or_all = None if keep.all() else keep
            rows = RowRange(self._table, start, start + len(keep), keep_or_all, self._kinds, lenient=lenient)
            write_complete_rows(
                design, spec, rows, self._functions, out, unseen=unseen, partial=self._partial
            )

    def missing_mask(self, start: int, x: Floats) -> Mask | None:
        """Return the mask (m,) of rows of a written block with a missing value; None without missing values.

        Such a row becomes NaN in all columns of x, unless the design is plain or `partial` is true. Raises
        DataError for an infinite value, an overflow of an interaction, and (unless `unseen` is true) an
        unseen level.
        """
        if self._design.spec is None:
            return missing_row_mask(self._design.terms, self._table, start, x)
        row_index, nonfinite_rows = _nonfinite_rows(x)
        if not len(row_index):
            return None
        self._resolve_nonfinite_rows(self._design.spec, start, row_index, nonfinite_rows, x)
        missing = np.zeros(len(x), dtype=bool)
        missing[row_index] = True
        return missing

    def _resolve_nonfinite_rows(
        self, spec: Spec, start: int, row_index: Codes, nonfinite_rows: Floats, x: Floats
    ) -> None:
        """Check rows that are not finite: raise a DataError unless a value is missing.

        Rows whose values do not show a missing value or category are computed again with all checks, and the
        result is written to x.

        Parameters
        ----------
        spec : Spec
        start : int
            Position of the first row of the block in the table.
        row_index : (r,) int array
            Rows of the block that are not finite.
        nonfinite_rows : (r, p) float array
            Their values.
        x : (m, p) float array
            The block, in which incomplete rows become NaN, unless `partial` is true.
        """
        codes_by_factor = [
            positions[all_codes[start + row_index]] for all_codes, positions in self._coded_columns.values()
        ]
        missing_mask = (
            np.zeros(len(row_index), dtype=bool)
            if self._excluded is None
            else self._excluded[start + row_index]
        )
        for column_slice, _ in self._copied_columns:
            missing_mask = missing_mask | np.isnan(nonfinite_rows[:, column_slice]).any(axis=1)
        for factor_codes in codes_by_factor:
            missing_mask = missing_mask | (factor_codes == _MISSING_LEVEL)
        if self._partial:
            has_unseen = np.any(
                [factor_codes == _UNSEEN_LEVEL for factor_codes in codes_by_factor] or [[False]], axis=0
            )
            has_no_products = all(len(factor_codings) == 1 for _, factor_codings in self._products)
            unexplained = (
                row_index[np.isinf(nonfinite_rows).any(axis=1) | has_unseen] if has_no_products else row_index
            )
            if self._excluded is not None:
                unexplained = unexplained[~self._excluded[start + unexplained]]
        else:
            x[row_index[missing_mask]] = np.nan
            unexplained = row_index[~missing_mask]
        if len(unexplained):
            keep = np.zeros(len(x), dtype=bool)
            keep[unexplained] = True
            x[unexplained] = self._compute_rows(self._design, spec, start, keep)


def missing_row_mask(terms: Sequence[str], table: Table, start: int, x: Floats) -> Mask | None:
    """Return the mask of rows with a missing value.

    Parameters
    ----------
    terms : sequence of str
        Names of the columns.
    table : Table
    start : int
        Position of the first row in the table.
    x : (m, p) float array

    Returns
    -------
    (m,) bool array, or None if no value is missing

    Raises
    ------
    DataError
        A value is infinite.
    """
    row_index, nonfinite_rows = _nonfinite_rows(x)
    if not len(row_index):
        return None
    check_finite(terms, table, nonfinite_rows, start + row_index)
    missing = np.zeros(len(x), dtype=bool)
    missing[row_index] = True
    return missing


def _nonfinite_rows(x: Floats) -> tuple[Codes, Floats]:
    """Return which rows of x (m, p) are not finite, and these rows (r, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        row_index = np.flatnonzero(~np.isfinite(np.ones(x.shape[1]) @ x.T))
    row_values = x[row_index]
    # The sum of a row may overflow although its values are finite.
    is_nonfinite = ~np.isfinite(row_values).all(axis=1)
    return (
        (row_index, row_values) if is_nonfinite.all() else (row_index[is_nonfinite], row_values[is_nonfinite])
    )


def check_finite(terms: Sequence[str], table: Table, x: Floats, rows: Codes) -> None:
    """Raise a DataError that names the first infinite value, if there is one; NaN is accepted.

    Parameters
    ----------
    terms : sequence of str
        Names of the columns.
    table : Table
        Table that labels the rows.
    x : (m, p) float array
    rows : (m,) int array
        Positions of the rows in the table.
    """
    infinite = np.isinf(x)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise DataError(
            f"Column {terms[column]!r} is infinite at row {table.label(int(rows[row]))!r}.",
            hint="Replace the value, or make it missing to drop the row.",
            columns=(terms[column],),
            rows=(table.label(int(rows[row])),),
        )


def design_of_columns(design: Design, keep: Collection[int]) -> tuple[Design, tuple[int, ...] | None]:
    """Reduce a design to the terms that have a column to keep.

    A term is kept with all its columns, because the columns of a category are computed together.

    Parameters
    ----------
    design : Design
    keep : collection of int
        Positions of the columns to keep.

    Returns
    -------
    design : Design
    positions : tuple of int or None
        Positions of the columns to keep in the reduced design, increasing; None if these are all of its
        columns.
    """
    spec = design.spec
    if spec is None:
        names = tuple(name for j, name in enumerate(design.columns) if j in keep)
        return _drop_absent_covariates(replace(design, columns=names, terms=names)), None
    products: list[Product] = []
    terms: list[str] = []
    kept_positions: list[int] = []
    for column_slice, factor_codings in spec.products_with_columns():
        kept_in_product = [
            j - column_slice.start for j in range(column_slice.start, column_slice.stop) if j in keep
        ]
        if kept_in_product:
            kept_positions.extend(len(terms) + j for j in kept_in_product)
            terms.extend(design.terms[column_slice])
            products.append(factor_codings)
    positions = None if len(kept_positions) == len(terms) else tuple(kept_positions)
    return _drop_absent_covariates(_design_of_products(design, spec, products, tuple(terms))), positions


def _drop_absent_covariates(design: Design) -> Design:
    """Return the design with the covariates whose columns it still has."""
    term_names = set(design.terms)
    return replace(design, covariates=tuple(name for name in design.covariates if name in term_names))


def _design_of_products(
    design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...]
) -> Design:
    """Return a design with only some products of factors, which reads only the columns of these.

    Parameters
    ----------
    design : Design
    spec : Spec
        Spec of the design.
    products : list of Product
        The products to keep.
    terms : tuple of str
        Names of the columns of the design matrix that the products have.

    Returns
    -------
    Design
        If the products are exactly the numeric columns that it reads, in their order, it is plain and lacks a
        spec.
    """
    factor_codes = [spec.factors[factor].code for factor_codings in products for factor, _ in factor_codings]
    sub_design, sub_spec = _select_products(
        design, spec, products, terms, _columns_of(design, spec, products)
    )
    numeric_codes = [
        quote(name)
        for name, column_type in zip(sub_design.columns, sub_spec.kinds, strict=True)
        if column_type in ("numeric", "boolean")
    ]
    if (
        all(len(factor_codings) == 1 for factor_codings in products)
        and factor_codes == numeric_codes
        and terms == sub_design.columns
    ):
        return replace(sub_design, is_plain=True, spec=None)
    return sub_design
