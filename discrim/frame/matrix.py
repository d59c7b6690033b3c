"""Rows of a design matrix, column by column, and the classes that a design makes of a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError
from discrim.frame.design import Design, Factor, Product, Spec
from discrim.frame.factors import (
    Categories,
    Functions,
    Memory,
    RowRange,
    complete_rows,
    evaluate,
    recall_functions,
)
from discrim.frame.grammar import expression, quote
from discrim.frame.response import codes_of
from discrim.frame.table import Table
from discrim.frame.values import encode, shown

_Values = list[Floats | Codes]


def write(
    design: Design,
    spec: Spec,
    rows: RowRange,
    functions: Functions,
    out: Floats,
    *,
    unseen: bool = False,
) -> None:
    """Write the design matrix of complete rows.

    Parameters
    ----------
    spec : Spec
        The design's own.
    rows : RowRange
        Complete in the design's columns.
    functions : dict
        The user's own functions.
    out : (m, p) array
    unseen : bool
        Of a category that was not there at the fit, the columns that are made of it become NaN.

    Raises
    ------
    DataError
        A factor is of another kind than at the fit, an unseen category, or a value that is not finite.
    """
    values = [factor_values(factor, rows, functions, unseen=unseen) for factor in spec.factors]
    first = 0
    for parts in spec.products:
        widths = spec.widths(parts)
        count = math.prod(widths)
        with np.errstate(over="ignore"):
            _write_product(spec, parts, widths, values, out[:, first : first + count])
        if len(parts) > 1 and not np.isfinite(out[:, first : first + count]).all():
            row, column = np.argwhere(~np.isfinite(out[:, first : first + count]))[0]
            raise DataError(
                f"{design.terms[first + column]!r} overflows at row {shown(rows.index[row])}: rescale its "
                "columns."
            )
        for factor, coding in parts if unseen else ():
            if coding >= 0:
                out[values[factor] < 0, first : first + count] = np.nan
        first += count


def write_complete(
    design: Design,
    spec: Spec,
    rows: RowRange,
    functions: Functions,
    out: Floats,
    *,
    unseen: bool = False,
) -> None:
    """Write the rows that are complete in the design's columns, as `write`, and NaN for the others."""
    complete, keep = complete_rows(rows, design.columns, spec, functions)
    if keep.all():
        write(design, spec, complete, functions, out, unseen=unseen)
        return
    out[~keep] = np.nan
    part = np.empty((int(keep.sum()), len(design.terms)))
    if len(part):
        write(design, spec, complete, functions, part, unseen=unseen)
    out[keep] = part


def write_known(
    design: Design,
    spec: Spec,
    rows: RowRange,
    functions: Functions,
    out: Floats,
    *,
    unseen: bool = False,
) -> None:
    """Write what is known of each row: NaN stands only where a column's own factors miss a value."""
    complete, keep = complete_rows(rows, design.columns, spec, functions)
    if keep.all():
        write(design, spec, complete, functions, out, unseen=unseen)
        return
    stop = 0
    for each, own in _single_products(design, spec):
        start, stop = stop, stop + len(each.terms)
        write_complete(each, own, rows, functions, out[:, start:stop], unseen=unseen)


def _single_products(design: Design, spec: Spec) -> Iterator[tuple[Design, Spec]]:
    """Each product of a design as a design of its own, in order, which reads that product's columns only."""
    names = frozenset(design.functions)
    place = {name: position for position, name in enumerate(design.columns)}
    stop = 0
    for parts in spec.products:
        start, stop = stop, stop + math.prod(spec.widths(parts))
        factors = tuple(spec.factors[factor] for factor, _ in parts)
        read = {name for factor in factors for name in expression(factor.code, names).columns}
        columns = tuple(sorted(read, key=place.__getitem__))
        kinds = tuple(spec.kinds[place[name]] for name in columns)
        own = tuple((place, coding) for place, (_, coding) in enumerate(parts))
        alone = Spec(kinds, factors, spec.codings, (own,))
        yield replace(design, terms=design.terms[start:stop], columns=columns, spec=alone), alone


UNSEEN = 'pass unseen="missing", or fit with this level'
"""What may be done about a level of new rows that the fit has not seen, but for a change of the rows."""


def factor_values(
    factor: Factor, rows: RowRange, functions: Functions, *, unseen: bool = False
) -> Floats | Codes:
    """A factor's numbers, (m, width), or the codes of its categories, (m,), -1 for unseen ones if allowed."""
    each = expression(factor.code, frozenset(functions))
    value = evaluate(each, rows, Memory(factor.states), functions)
    if isinstance(value, Categories) != (factor.levels is not None):
        kind = "categories" if factor.levels is not None else "numbers"
        raise DataError(f"The predictor {each.label!r} held {kind} at the fit: convert it to these.")
    if isinstance(value, Categories):
        levels, what = factor.levels or (), f"The predictor {each.label!r}"
        if not unseen:
            return encode(value.values, levels, what, UNSEEN)
        known = value.values.isin(list(levels)).to_numpy()
        codes = np.full(len(known), -1, dtype=np.intp)
        codes[known] = encode(value.values[known], levels, what)
        return codes
    matrix = value[:, None] if value.ndim == 1 else value
    if matrix.shape[1] != factor.width:
        raise DataError(f"{each.label!r} has {matrix.shape[1]} columns; at the fit it had {factor.width}.")
    return matrix


def _write_product(spec: Spec, parts: Product, widths: tuple[int, ...], values: _Values, out: Floats) -> None:
    matrices = [
        np.array(spec.codings[coding].matrix) if coding >= 0 and spec.codings[coding].matrix else None
        for _, coding in parts
    ]
    combinations = product(*(range(width) for width in reversed(widths)))
    for column, backwards in enumerate(combinations):
        for place, ((factor, coding), j) in enumerate(zip(parts, reversed(backwards), strict=True)):
            matrix, picks = matrices[place], spec.codings[coding].picks if coding >= 0 else None
            if picks is not None:
                part: Any = values[factor] == picks[j]
            else:
                part = values[factor][:, j] if matrix is None else matrix[values[factor], j]
            if place == 0:
                out[:, column] = part
            else:
                out[:, column] *= part


_Codes = NDArray[np.intp]


def response_codes(design: Design, table: Table, functions: Functions | None = None) -> _Codes:
    """Codes of the response in a table.

    Parameters
    ----------
    table : Table
        It must hold the columns of the response.
    functions : dict, optional
        The user's own functions that the formula calls.

    Returns
    -------
    (n,) int array
        Positions in ``design.levels``, -1 where the response is missing.

    Raises
    ------
    DataError
        No such column, or a label that is none of the levels; the message names it and its row.
    """
    functions = recall_functions(design.functions, functions)
    response = expression(design.response_code, frozenset(functions))
    return codes_of(response, table, functions, design.levels)


def fill(
    design: Design,
    table: Table,
    start: int,
    stop: int,
    out: Floats,
    functions: Functions | None = None,
    *,
    partial: bool = False,
    unseen: bool = False,
    excluded: NDArray[np.bool_] | None = None,
) -> None:
    """Write rows of the design matrix.

    Parameters
    ----------
    table : Table
        It need not hold the response.
    start, stop : int
        Rows of the table.
    out : (stop - start, p) array
        Of any strides; a row with a missing value becomes NaN throughout.
    functions : dict, optional
        The user's own functions that the formula calls.
    partial : bool
        Of a row with a missing value, only the columns that are made of it become NaN.
    unseen : bool
        Of a category that was not there at the fit, the columns that are made of it become NaN.
    excluded : (stop - start,) bool array, optional
        Rows that become NaN in any case.

    Raises
    ------
    DataError
        A column is missing or of another kind, a category was not there at the fit, or a
        transformation gives NaN or infinity; the message names column, row and value.
    """
    spec = design.spec
    if spec is None:
        table.compare_to_doubles(design.columns)
        table.fill(design.columns, start, stop, out)
        return
    functions = recall_functions(design.functions, functions)
    kinds = zip(design.columns, spec.kinds, strict=True)
    known = {name: kind for name, kind in kinds if kind in {"categorical", "text"}}
    write_rows = write_known if partial else write_complete
    if excluded is None or not excluded.any():
        rows = RowRange(table, start, stop, kinds=known)
        write_rows(design, spec, rows, functions, out, unseen=unseen)
        return
    out[excluded] = np.nan
    part = np.empty((int((~excluded).sum()), out.shape[1]))
    if len(part):
        rows = RowRange(table, start, stop, ~excluded, known)
        write_rows(design, spec, rows, functions, part, unseen=unseen)
    out[~excluded] = part


def design_of_columns(design: Design, keep: Collection[int]) -> tuple[Design, tuple[int, ...] | None]:
    """The design without the terms of which no column is kept, and which of its columns are.

    Parameters
    ----------
    keep : collection of int
        Positions of columns, one or more.

    Returns
    -------
    design : Design
    keep : tuple of int or None
        Positions in that design, None for all: a category of which some levels are kept stays whole.
    """
    spec = design.spec
    if spec is None:
        names = tuple(name for j, name in enumerate(design.columns) if j in keep)
        return replace(design, columns=names, terms=names), None
    products: list[Product] = []
    terms: list[str] = []
    kept: list[int] = []
    stop = 0
    for parts in spec.products:
        start, stop = stop, stop + math.prod(spec.widths(parts))
        places = [j - start for j in range(start, stop) if j in keep]
        if places:
            kept.extend(len(terms) + j for j in places)
            terms.extend(design.terms[start:stop])
            products.append(parts)
    positions = None if len(kept) == len(terms) else tuple(kept)
    return _of_products(design, spec, products, tuple(terms)), positions


def _of_products(design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...]) -> Design:
    """The design of some products, which reads no other columns."""
    functions = frozenset(design.functions)
    used = sorted({factor for parts in products for factor, _ in parts})
    factors = tuple(spec.factors[factor] for factor in used)
    read = {name for factor in factors for name in expression(factor.code, functions).columns}
    columns = tuple(name for name in design.columns if name in read)
    kind_of = dict(zip(design.columns, spec.kinds, strict=True))
    kinds = tuple(kind_of[name] for name in columns)
    numbers = [
        quote(name) for name, kind in zip(columns, kinds, strict=True) if kind in ("numeric", "boolean")
    ]
    position = {factor: place for place, factor in enumerate(used)}
    single = [factors[position[parts[0][0]]].code for parts in products if len(parts) == 1]
    if len(single) == len(products) and single == numbers and terms == columns:
        return replace(design, columns=columns, terms=terms, plain=True, spec=None)
    moved = tuple(tuple((position[factor], coding) for factor, coding in parts) for parts in products)
    return replace(design, columns=columns, terms=terms, spec=Spec(kinds, factors, spec.codings, moved))
