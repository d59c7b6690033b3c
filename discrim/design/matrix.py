"""Rows of a design matrix, block by block, and the classes of a table.

Terms that are numeric or categorical columns, or products of these, are written for all rows of a block, and
rows that are not finite are checked afterwards. Functions of columns are computed from complete rows only;
values that are not finite then result from the computation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.data.table import Table
from discrim.data.values import encode, shown
from discrim.errors import DataError
from discrim.formula.design import Design, Factor, Product, Spec
from discrim.formula.factors import (
    Categories,
    Functions,
    Memory,
    RowRange,
    complete_rows,
    evaluate,
    recall_functions,
)
from discrim.formula.grammar import Column, expression, quote
from discrim.formula.response import codes_of

_Values = Mapping[int, Floats | Codes]


def write(
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
    out : (m, p) float
    unseen : bool
        Whether the columns of an unseen level become NaN.

    Raises
    ------
    DataError
        A factor is of another kind than in the fit, a level is unseen, or a value is not finite.
    """
    values = {
        place: factor_values(factor, rows, functions, unseen=unseen)
        for place, factor in enumerate(spec.factors)
    }
    for places, parts in spec.placed():
        with np.errstate(over="ignore"):
            _write_product(spec, parts, values, out[:, places])
        if len(parts) > 1 and not rows.lenient and not np.isfinite(out[:, places]).all():
            overflows = ~np.isfinite(out[:, places])
            for factor, coding in parts:
                overflows[values[factor] < 0 if coding >= 0 else []] = False
            for row, column in np.argwhere(overflows)[:1]:
                raise DataError(
                    f"{design.terms[places.start + column]!r} overflows at row {shown(rows.index[row])}.",
                    hint="Rescale its columns.",
                    rows=(rows.index[row],),
                )


def write_complete(
    design: Design,
    spec: Spec,
    rows: RowRange,
    functions: Functions,
    out: Floats,
    *,
    unseen: bool = False,
    partial: bool = False,
) -> None:
    """Write the rows that are complete in the columns of the design like `write`, and NaN for the others.

    Parameters
    ----------
    design : Design
    spec : Spec
    rows : RowRange
    functions : mapping of str to callable
        Functions of the user that the formula calls.
    out : (m, p) float array
    unseen : bool
        Whether the columns of an unseen level become NaN.
    partial : bool
        Whether only the columns whose own factors have a missing value become NaN.
    """
    complete, keep = complete_rows(rows, design.columns, spec, functions)
    if keep.all():
        write(design, spec, complete, functions, out, unseen=unseen)
        return
    if partial:
        for places, parts in spec.placed():
            read = _columns_of(design, spec, [parts])
            each, own = _of_some(design, spec, [parts], design.terms[places], read)
            write_complete(each, own, rows, functions, out[:, places], unseen=unseen)
        return
    out[~keep] = np.nan
    part = np.empty((int(keep.sum()), len(design.terms)))
    if len(part):
        write(design, spec, complete, functions, part, unseen=unseen)
    out[keep] = part


def _columns_of(design: Design, spec: Spec, products: list[Product]) -> set[str]:
    """Return the columns that the factors of some products read."""
    names = frozenset(design.functions)
    codes = {spec.factors[factor].code for parts in products for factor, _ in parts}
    return {name for code in codes for name in expression(code, names).columns}


def _of_some(
    design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...], read: Collection[str]
) -> tuple[Design, Spec]:
    """Return the design and spec of some products of factors.

    Parameters
    ----------
    design : Design
    spec : Spec
    products : list of Product
    terms : tuple of str
        Names of their columns.
    read : collection of str
        Columns in which rows have to be complete.

    Returns
    -------
    tuple of Design and Spec
    """
    used = sorted({factor for parts in products for factor, _ in parts})
    position = {factor: place for place, factor in enumerate(used)}
    kind_of = design.kinds
    columns = tuple(name for name in design.columns if name in read)
    moved = tuple(tuple((position[factor], coding) for factor, coding in parts) for parts in products)
    factors = tuple(spec.factors[factor] for factor in used)
    own = Spec(tuple(kind_of[name] for name in columns), factors, spec.codings, moved)
    return replace(design, terms=terms, columns=columns, spec=own), own


UNSEEN = 'pass unseen="missing", or fit with this level'
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
    """
    each = expression(factor.code, frozenset(functions))
    value = evaluate(each, rows, Memory(factor.states), functions)
    if isinstance(value, Categories) != (factor.levels is not None):
        kind = "categories" if factor.levels is not None else "numbers"
        raise DataError(
            f"The predictor {each.label!r} held {kind} at the fit.",
            hint="Convert it to these.",
            columns=(each.label,),
        )
    if isinstance(value, Categories):
        levels = factor.levels or ()
        what = f"The predictor {each.label!r}"
        if not unseen:
            return encode(value.values, levels, what, UNSEEN)
        known = value.values.isin(list(levels)).to_numpy()
        codes = np.full(len(known), -1, dtype=np.intp)
        codes[known] = encode(value.values[known], levels, what)
        return codes
    matrix = value[:, None] if value.ndim == 1 else value
    if matrix.shape[1] != factor.width:
        raise DataError(
            f"{each.label!r} has {matrix.shape[1]} columns; at the fit it had {factor.width}.",
            hint="Give data of the same form.",
            columns=(each.label,),
        )
    return matrix


def _write_product(spec: Spec, parts: Product, values: _Values, out: Floats) -> None:
    """Write the columns of a product of factors.

    Parameters
    ----------
    spec : Spec
    parts : Product
        Factors and their codings.
    values : mapping of int to array
        Numbers (m, width) or codes (m,) by factor. Code -1 makes all columns NaN.
    out : (m, columns) float array
    """
    matrices = [
        np.array(spec.codings[coding].matrix) if coding >= 0 and spec.codings[coding].matrix else None
        for _, coding in parts
    ]
    combinations = product(*(range(width) for width in reversed(spec.widths(parts))))
    for column, backwards in enumerate(combinations):
        for place, ((factor, coding), j) in enumerate(zip(parts, reversed(backwards), strict=True)):
            matrix = matrices[place]
            picks = spec.codings[coding].picks if coding >= 0 else None
            if picks is not None:
                part: Any = values[factor] == picks[j]
            else:
                part = values[factor][:, j] if matrix is None else matrix[values[factor].clip(0), j]
            if place == 0:
                out[:, column] = part
            else:
                out[:, column] *= part
    for factor, coding in parts:
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
    functions = recall_functions(design.functions, functions)
    response = expression(design.response_code, frozenset(functions))
    return codes_of(response, table, functions, design.levels, used)


_MISSING = -1
_STRANGE = -2
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
        Rows that become NaN.
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
        self._runs: list[tuple[slice, tuple[str, ...]]] = [(slice(0, len(design.terms)), design.columns)]
        self._products: list[tuple[slice, Product]] = []
        self._computed: tuple[Codes, Design, Spec] | None = None
        self.view = table.view(design.columns) if design.plain else None
        if design.spec is not None:
            self._find_columns(design.spec, recall_functions(design.functions, functions))
        elif self.view is None:
            table.compare_to_doubles(design.columns)

    def _find_columns(self, spec: Spec, functions: Functions) -> None:
        """Determine how each factor is read: as a column of numbers, as codes of a column, or computed."""
        design = self._design
        table = self._table
        self._kinds = design.label_kinds
        self._functions = functions
        self._numbers: dict[int, str] = {}
        self._codes: dict[int, tuple[Codes, Codes]] = {}
        for place, factor in enumerate(spec.factors):
            root = expression(factor.code, frozenset(functions)).root
            if not isinstance(root, Column):
                continue
            if factor.levels is None and table.kind(root.name) in {"numeric", "boolean"}:
                self._numbers[place] = root.name
            elif factor.levels is not None and root.name in self._kinds:
                coded = table.factorized(root.name)
                if coded is not None:
                    position = {level: code for code, level in enumerate(factor.levels)}
                    found = [position.get(label, _STRANGE) for label in coded[1]]
                    self._codes[place] = coded[0], np.array([*found, _MISSING], dtype=np.intp)
        table.compare_to_doubles(list(self._numbers.values()))
        known = {*self._numbers, *self._codes}
        self._runs = []
        others: list[tuple[slice, Product]] = []
        for places, parts in spec.placed():
            if not known.issuperset(factor for factor, _ in parts):
                others.append((places, parts))
            elif len(parts) > 1 or parts[0][1] >= 0:
                self._products.append((places, parts))
            elif self._runs and self._runs[-1][0].stop == places.start:
                before, names = self._runs[-1]
                self._runs[-1] = slice(before.start, places.stop), (*names, self._numbers[parts[0][0]])
            else:
                self._runs.append((places, (self._numbers[parts[0][0]],)))
        for _, names in self._runs:
            # Columns that lie side by side are copied together.
            table.view(names)
        self._multiplied = {factor for _, parts in self._products for factor, _ in parts}
        if others:
            at = np.concatenate([np.arange(places.start, places.stop) for places, _ in others])
            terms = tuple(design.terms[j] for j in at)
            own = _of_some(design, spec, [parts for _, parts in others], terms, design.columns)
            self._computed = at, *own

    def fill(self, start: int, stop: int, out: Floats) -> Mask | None:
        """Write rows and return the mask of those with a missing value; see `write` and `missing`."""
        self.write(start, stop, out)
        return self.missing(start, out)

    def write(self, start: int, stop: int, out: Floats) -> None:
        """Write rows start to stop, which `missing` completes.

        Parameters
        ----------
        start, stop : int
        out : (stop - start, p) float array, of any strides

        Raises
        ------
        DataError
            A column does not exist or is of another kind, or a transform of a complete row is not finite.
        """
        for places, names in self._runs:
            self._table.fill(names, start, stop, out[:, places])
        spec = self._design.spec
        if spec is None:
            return
        if self._products:
            values = {factor: self._values(factor, start, stop) for factor in self._multiplied}
            with np.errstate(over="ignore", invalid="ignore"):
                for places, parts in self._products:
                    _write_product(spec, parts, values, out[:, places])
        excluded = None if self._excluded is None else self._excluded[start:stop]
        if self._computed is not None:
            at, design, own = self._computed
            keep = np.full(stop - start, True) if excluded is None else ~excluded
            out[np.ix_(keep, at)] = self._general(design, own, start, keep)
        if excluded is not None:
            out[excluded] = np.nan

    def _values(self, factor: int, start: int, stop: int) -> Floats | Codes:
        """Return a column of numbers (m, 1), or codes (m,) of categories."""
        if factor in self._codes:
            codes, positions = self._codes[factor]
            return positions[codes[start:stop]]
        numbers = np.empty((stop - start, 1))
        self._table.fill([self._numbers[factor]], start, stop, numbers)
        return numbers

    def _general(self, design: Design, spec: Spec, start: int, keep: Mask) -> Floats:
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
        part = np.empty((int(keep.sum()), len(design.terms)), order="F")
        if self._unused is None:
            self._write_complete(design, spec, start, keep, part, unseen=self._unseen)
            return part
        unused = self._unused[start : start + len(keep)]
        for some, lenient in ((keep & ~unused, False), (keep & unused, True)):
            own = np.empty((int(some.sum()), len(design.terms)), order="F")
            self._write_complete(
                design, spec, start, some, own, unseen=self._unseen or lenient, lenient=lenient
            )
            lost = ~np.isfinite(own)
            own[lost if self._partial else lost.any(axis=1)] = np.nan
            part[some[keep]] = own
        return part

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
        """Write rows of a design; see the function `write_complete`.

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
            kept = None if keep.all() else keep
            rows = RowRange(self._table, start, start + len(keep), kept, self._kinds, lenient=lenient)
            write_complete(design, spec, rows, self._functions, out, unseen=unseen, partial=self._partial)

    def missing(self, start: int, x: Floats) -> Mask | None:
        """Return the mask (m,) of rows of a written block with a missing value; None if there is none.

        Such a row becomes NaN in all columns, if only complete rows are used and x is not a view of the
        table. Raises DataError for an infinite value, an overflow of an interaction, and an unseen level.
        """
        if self._design.spec is None:
            return missing_rows(self._design.terms, self._table, start, x)
        at, found = _not_finite(x)
        if not len(at):
            return None
        self._settle(self._design.spec, start, at, found, x)
        missing = np.zeros(len(x), dtype=bool)
        missing[at] = True
        return missing

    def _settle(self, spec: Spec, start: int, at: Codes, found: Floats, x: Floats) -> None:
        """Check rows that are not finite: raise an error unless a value is missing.

        Parameters
        ----------
        spec : Spec
        start : int
            Position of the first row of the block in the table.
        at : (r,) int array
            Rows of the block that are not finite.
        found : (r, p) float array
            Their values.
        x : (m, p) float array
            The block, in which incomplete rows become NaN.
        """
        codes = [positions[every[start + at]] for every, positions in self._codes.values()]
        lost = np.zeros(len(at), dtype=bool) if self._excluded is None else self._excluded[start + at]
        for places, _ in self._runs:
            lost = lost | np.isnan(found[:, places]).any(axis=1)
        for each in codes:
            lost = lost | (each == _MISSING)
        if self._partial:
            strange = np.any([each == _STRANGE for each in codes] or [[False]], axis=0)
            simple = all(len(parts) == 1 for _, parts in self._products)
            rest = at[np.isinf(found).any(axis=1) | strange] if simple else at
            if self._excluded is not None:
                rest = rest[~self._excluded[start + rest]]
        else:
            x[at[lost]] = np.nan
            rest = at[~lost]
        if len(rest):
            keep = np.zeros(len(x), dtype=bool)
            keep[rest] = True
            x[rest] = self._general(self._design, spec, start, keep)


def missing_rows(terms: Sequence[str], table: Table, start: int, x: Floats) -> Mask | None:
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
    at, found = _not_finite(x)
    if not len(at):
        return None
    refuse_infinite(terms, table, found, start + at)
    missing = np.zeros(len(x), dtype=bool)
    missing[at] = True
    return missing


def _not_finite(x: Floats) -> tuple[Codes, Floats]:
    """Return which rows of x (m, p) are not finite, and these rows (r, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        at = np.flatnonzero(~np.isfinite(np.ones(x.shape[1]) @ x.T))
    found = x[at]
    # The sum of a row may overflow although its values are finite.
    strange = ~np.isfinite(found).all(axis=1)
    return (at, found) if strange.all() else (at[strange], found[strange])


def refuse_infinite(terms: Sequence[str], table: Table, x: Floats, rows: Codes) -> None:
    """Raise a DataError if a value is infinite.

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
    """Return the design of the terms with a column to keep, and the positions of these columns in it.

    The positions are None if all columns of that design are kept. A category stays complete if some of its
    columns are kept.
    """
    spec = design.spec
    if spec is None:
        names = tuple(name for j, name in enumerate(design.columns) if j in keep)
        return _with_covariates(replace(design, columns=names, terms=names)), None
    products: list[Product] = []
    terms: list[str] = []
    kept: list[int] = []
    for places, parts in spec.placed():
        own = [j - places.start for j in range(places.start, places.stop) if j in keep]
        if own:
            kept.extend(len(terms) + j for j in own)
            terms.extend(design.terms[places])
            products.append(parts)
    positions = None if len(kept) == len(terms) else tuple(kept)
    return _with_covariates(_of_products(design, spec, products, tuple(terms))), positions


def _with_covariates(design: Design) -> Design:
    """Return the design with the covariates whose columns it still has."""
    there = set(design.terms)
    return replace(design, covariates=tuple(name for name in design.covariates if name in there))


def _of_products(design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...]) -> Design:
    """Return the design of some products, without columns that only other products read.

    Parameters
    ----------
    design : Design
    spec : Spec
    products : list of Product
    terms : tuple of str
        Names of their columns.

    Returns
    -------
    Design
    """
    codes = [spec.factors[factor].code for parts in products for factor, _ in parts]
    some, own = _of_some(design, spec, products, terms, _columns_of(design, spec, products))
    numbers = [
        quote(name)
        for name, kind in zip(some.columns, own.kinds, strict=True)
        if kind in ("numeric", "boolean")
    ]
    if all(len(parts) == 1 for parts in products) and codes == numbers and terms == some.columns:
        return replace(some, plain=True, spec=None)
    return some
