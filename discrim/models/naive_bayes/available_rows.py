"""Moments and tallies of naive Bayes in which each column uses the rows that have a value.

`naive_bayes(missing="available")` and its refits use them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.naive_bayes.tally import ColumnPlan, Tally
from discrim.core.numerics.arrays import Codes
from discrim.design.design_rows import DesignRows
from discrim.errors import DataError, NotSupportedError
from discrim.models.base import reading
from discrim.models.base.data_range import check_data_range
from discrim.models.base.reading import NaAction


def tally_available_values(design_rows: DesignRows, plan: ColumnPlan) -> tuple[ClassMoments, Tally]:
    """Compute diagonal moments and the tally, each column from the rows with a class and a value in it.

    One pass finds groups of columns that are missing in the same rows, and one pass is made for each group.
    Rows with a missing weight are not used.

    Parameters
    ----------
    design_rows : DesignRows
        Rows with p columns and K classes; values, classes and weights may be missing.
    plan : ColumnPlan
        The families of the p columns, none of which may be a count.

    Returns
    -------
    moments : ClassMoments
        Moments of scatter type "diagonal" (K, p), each column from its own rows; `counts` and `rows` (K,) are
        of all rows with a class.
    tally : Tally
        Statistics of the other families. `available` (K, p) is the weight of the rows that have a value, by
        class and column.
    """
    design_rows = design_rows.with_classes()
    k = len(design_rows.design.levels)
    p = len(design_rows.terms)
    is_used = design_rows.codes >= 0
    if design_rows.weights is not None:
        is_used &= ~np.isnan(design_rows.weights)
    weights = None if design_rows.weights is None else design_rows.weights[is_used]
    codes = design_rows.codes[is_used]
    counts = np.bincount(codes, weights, k).astype(np.float64)
    rows = np.bincount(codes if weights is None else codes[weights > 0], minlength=k)
    codes = np.where(is_used, design_rows.codes, -1)
    arrays = {name: np.zeros((k, p)) for name in ("centres", "rests", "scatters")}
    scale = np.ones(p)
    tally = Tally(plan, k)
    tally.available = np.zeros((k, p))
    for columns in _group_by_missing_rows(design_rows):
        group = replace(
            design_rows.with_codes(codes), integrates_missing=False, uses_incomplete_rows=False
        ).select_columns(columns.tolist())
        group_tally = Tally(plan.columns(columns), k)
        moments = reading.class_moments(group, "diagonal", group_tally.wrap)
        for name, values in arrays.items():
            values[:, columns] = getattr(moments, name)
        scale[columns], tally.available[:, columns] = moments.scale, moments.counts[:, None]
        _copy_group_tally(tally, group_tally, columns)
    return ClassMoments(counts, rows, scale=scale, **arrays), tally


def _group_by_missing_rows(design_rows: DesignRows) -> list[Codes]:
    """Group columns that are missing in the same rows; return an array of positions for each group.

    Columns without missing values form a group. One pass reads all rows, also those without a class.
    """
    hashes: list[Any] = [hashlib.blake2b() for _ in design_rows.terms]
    for row_slice, x, missing in design_rows.iter_all_rows():
        if missing is None or not missing.any():
            continue
        nan = np.isnan(x)
        for j in np.flatnonzero(nan.any(axis=0)).tolist():
            hashes[j].update(row_slice.start.to_bytes(8, "little") + np.packbits(nan[:, j]).tobytes())
    groups: dict[bytes, list[int]] = {}
    for j, hash_state in enumerate(hashes):
        groups.setdefault(hash_state.digest(), []).append(j)
    return [np.array(columns, dtype=np.intp) for columns in groups.values()]


def _copy_group_tally(tally: Tally, group_tally: Tally, columns: Codes) -> None:
    """Copy the level counts and the values of some columns into the tally of all columns.

    `sums` and `available` are not copied.

    Parameters
    ----------
    tally : Tally
        Tally of all columns, which is changed.
    group_tally : Tally
        Tally of the columns at `columns`, in this order.
    columns : (q,) int
        Increasing positions of these q columns in `tally`.
    """
    for i, j in enumerate(columns[group_tally.plan.categorical_positions].tolist()):
        tally.tables[tally.plan.categorical_positions.tolist().index(j)] = group_tally.tables[i]
    for i, j in enumerate(columns[group_tally.plan.kernel_positions].tolist()):
        tally.values[tally.plan.kernel_positions.tolist().index(j)] = group_tally.values[i]


def select_present_classes(tally: Tally, classes: Sequence[Any], design_rows: DesignRows) -> Tally:
    """Return the part of a tally of `classes` for the classes that remain in the design of the rows.

    `classes` are the labels of the rows of the tally. If all of them remain, the tally itself is returned.
    """
    present = design_rows.design.levels
    return tally if len(present) == len(classes) else tally.classes(np.array([*map(classes.index, present)]))


def usable_available_rows(
    design_rows: DesignRows, plan: ColumnPlan, na_action: NaAction
) -> tuple[DesignRows, ClassMoments, Tally]:
    """Return rows that a fit uses with missing="available", and the moments and tally of these rows.

    Empty classes and columns that are constant over all rows are dropped with a warning.

    Parameters
    ----------
    design_rows : DesignRows
        The rows; its design is a `level_design`.
    plan : ColumnPlan
        The families of the columns.
    na_action : {"drop", "raise"}
        "raise" is a DataError, because rows with missing values are used.

    Returns
    -------
    design_rows : DesignRows
        Rows without empty classes and constant columns, which include rows with missing values; `dropped` is
        the number of rows without a class.
    moments : ClassMoments
        Diagonal moments of the remaining columns, each from the rows that have a value.
    tally : Tally
        Tally of the remaining columns, each from the rows that have a value.

    Raises
    ------
    NotSupportedError
        There are columns of counts.
    DataError
        `na_action` is "raise", rows with a class and a weight are absent or of only one class, or a column is
        never observed in a class.
    CollinearError
        Every column is constant.
    """
    reading.check_word("na_action", na_action, NaAction)
    if na_action == "raise":
        raise DataError(
            'na_action="raise" cannot be combined with missing="available".',
            hint="Leave out one of the two.",
        )
    if len(plan.count_positions):
        raise NotSupportedError(
            'counts= cannot be combined with missing="available": the multinomial distribution requires the '
            "sum of all counts of a row.",
            hint="Leave out counts=, fill in the counts, or fit the complete rows.",
        )
    design_rows = replace(design_rows, integrates_missing=True, uses_incomplete_rows=True)
    classes = design_rows.design.levels
    terms = design_rows.terms
    moments, tally = tally_available_values(design_rows, plan)
    dropped = design_rows.count_dropped(design_rows.codes >= 0)
    if not moments.total:
        raise DataError(
            f"None of the {design_rows.table.nrows} rows has both a response "
            f"{design_rows.design.response!r} and a weight.",
            hint="Pass rows with a class.",
            columns=(design_rows.design.response,),
        )
    if design_rows.has_weights:
        reading.warn_of_weights(moments, are_integers=design_rows.rows.has_whole_weights())
    design_rows, moments = reading.drop_empty_classes(design_rows, moments)
    tally = select_present_classes(tally, classes, design_rows)
    _raise_if_unobserved_columns(design_rows, tally)
    check_data_range(moments, design_rows)
    # With dropped=0, constant columns are removed from the moments without another pass over the rows.
    design_rows, moments = reading.drop_constant_columns(replace(design_rows, dropped=0), moments)
    if design_rows.constant_terms:
        tally = tally.columns(np.array([terms.index(term) for term in design_rows.terms]))
    return replace(design_rows, dropped=dropped), moments, tally


def _raise_if_unobserved_columns(design_rows: DesignRows, tally: Tally) -> None:
    """Raise DataError if the observed values of a column have zero weight in some class.

    The error has the first such class and all its columns without observed values.
    """
    available: Any = tally.available
    is_unobserved = ~(available > 0)
    if not is_unobserved.any():
        return
    k = int(np.argmax(is_unobserved.any(axis=1)))
    names = [design_rows.terms[j] for j in np.flatnonzero(is_unobserved[k])]
    verb = "has" if len(names) == 1 else "have"
    raise DataError(
        f"{reading.join_labels(names)} {verb} no observed value in class "
        f"{design_rows.design.levels[k]!r}. The density cannot be estimated.",
        hint="Leave such columns out of the formula, or the class out of the table.",
        columns=names,
        classes=(design_rows.design.levels[k],),
    )
