"""The rows and the classes that a design makes of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.frame.design import Design
from discrim.frame.factors import Rows
from discrim.frame.formula import spline_bases
from discrim.frame.grammar import expression
from discrim.frame.matrix import write_complete, write_known
from discrim.frame.own_functions import Functions, recall_functions
from discrim.frame.response import codes_of
from discrim.frame.table import Table

__all__ = ["fill", "response_codes"]

_Array = NDArray[np.float64]
_Codes = NDArray[np.intp]


def response_codes(design: Design, table: Table, functions: Functions | None = None) -> _Codes:
    """Codes of the response in a table.

    Parameters
    ----------
    design : Design
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
    out: _Array,
    functions: Functions | None = None,
    *,
    partial: bool = False,
    unseen: bool = False,
    lost: NDArray[np.bool_] | None = None,
) -> None:
    """Write rows of the design matrix.

    Parameters
    ----------
    design : Design
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
    lost : (stop - start,) bool array, optional
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
    bases = spline_bases()
    if lost is None or not lost.any():
        rows = Rows(table, start, stop, kinds=known)
        write_rows(design, spec, rows, functions, bases, out, unseen=unseen)
        return
    out[lost] = np.nan
    part = np.empty((int((~lost).sum()), out.shape[1]))
    if len(part):
        rows = Rows(table, start, stop, ~lost, known)
        write_rows(design, spec, rows, functions, bases, part, unseen=unseen)
    out[~lost] = part
