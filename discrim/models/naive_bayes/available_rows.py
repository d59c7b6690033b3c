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
from discrim.design.blocks import Blocks
from discrim.errors import DataError, NotSupportedError
from discrim.models.base import reading
from discrim.models.base.data_range import check_data_range
from discrim.models.base.reading import NaAction


def available_tally(blocks: Blocks, plan: ColumnPlan) -> tuple[ClassMoments, Tally]:
    """Compute diagonal moments and the tally of each column from the rows that have a class and a value.

    One pass finds groups of columns that are missing in the same rows, and one pass is made for each group.

    Parameters
    ----------
    blocks : Blocks
        Rows with p columns, some of which may be missing.
    plan : ColumnPlan
        The kinds of the p columns.

    Returns
    -------
    moments : ClassMoments
        Means and sums of squares (K, p); its counts include all rows with a class.
    tally : Tally
        Its `available` (K, p) has the count of each class and column.
    """
    blocks = blocks.with_classes()
    k = len(blocks.design.levels)
    p = len(blocks.terms)
    used = blocks.codes >= 0
    if blocks.weights is not None:
        used &= ~np.isnan(blocks.weights)
    weights = None if blocks.weights is None else blocks.weights[used]
    codes = blocks.codes[used]
    counts = np.bincount(codes, weights, k).astype(np.float64)
    rows = np.bincount(codes if weights is None else codes[weights > 0], minlength=k)
    codes = np.where(used, blocks.codes, -1)
    parts = {name: np.zeros((k, p)) for name in ("centres", "rests", "scatters")}
    scale = np.ones(p)
    tally = Tally(plan, k)
    tally.available = np.zeros((k, p))
    for columns in _missed_together(blocks):
        group = replace(blocks.with_codes(codes), partial=False, incomplete=False).columns(columns.tolist())
        part = Tally(plan.columns(columns), k)
        moments = reading.class_moments(group, "diagonal", part.wrap)
        for name, values in parts.items():
            values[:, columns] = getattr(moments, name)
        scale[columns], tally.available[:, columns] = moments.scale, moments.counts[:, None]
        _place(tally, part, columns)
    return ClassMoments(counts, rows, scale=scale, **parts), tally


def _missed_together(blocks: Blocks) -> list[Codes]:
    """Group columns that are missing in the same rows; return the positions (q,) of each group."""
    marks: list[Any] = [hashlib.blake2b() for _ in blocks.terms]
    for place, x, missing in blocks.every_row():
        if missing is None or not missing.any():
            continue
        nan = np.isnan(x)
        for j in np.flatnonzero(nan.any(axis=0)).tolist():
            marks[j].update(place.start.to_bytes(8, "little") + np.packbits(nan[:, j]).tobytes())
    groups: dict[bytes, list[int]] = {}
    for j, mark in enumerate(marks):
        groups.setdefault(mark.digest(), []).append(j)
    return [np.array(columns, dtype=np.intp) for columns in groups.values()]


def _place(tally: Tally, part: Tally, columns: Codes) -> None:
    """Copy the tally of some columns into the tally of all columns.

    Parameters
    ----------
    tally : Tally
        Tally of all columns, which is changed.
    part : Tally
        Tally of the columns at `columns`.
    columns : (q,) int
        Positions of these columns.
    """
    for i, j in enumerate(columns[part.plan.tables].tolist()):
        tally.tables[tally.plan.tables.tolist().index(j)] = part.tables[i]
    for i, j in enumerate(columns[part.plan.kernels].tolist()):
        tally.values[tally.plan.kernels.tolist().index(j)] = part.values[i]


def tally_of_present(tally: Tally, classes: Sequence[Any], blocks: Blocks) -> Tally:
    """Return the tally of the classes that remain in `blocks`; `classes` are the classes of the tally."""
    present = blocks.design.levels
    return tally if len(present) == len(classes) else tally.classes(np.array([*map(classes.index, present)]))


def usable_available_rows(
    blocks: Blocks, plan: ColumnPlan, na_action: NaAction
) -> tuple[Blocks, ClassMoments, Tally]:
    """Return all rows with a class, without constant columns, with their moments and tally.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    plan : ColumnPlan
        The families of the columns.
    na_action : {"drop", "raise"}
        Only "drop" is supported.

    Returns
    -------
    blocks : Blocks
        Rows without empty classes and constant columns.
    moments : ClassMoments
        Diagonal moments of the columns from the rows that have a value.
    tally : Tally
        Tally of the columns from the rows that have a value.

    Raises
    ------
    NotSupportedError
        There are columns of counts.
    DataError
        There are no rows with a class, or a column has no value in a class.
    """
    reading.check_word("na_action", na_action, NaAction)
    if na_action == "raise":
        raise DataError(
            'na_action="raise" refuses the missing values that missing="available" is for.',
            hint="Leave one out.",
        )
    if len(plan.counts):
        raise NotSupportedError(
            'counts= follow a multinomial given their sum, and with missing="available" a row may have '
            "no sum.",
            hint="Leave counts= out, fill the counts, or fit the complete rows.",
        )
    blocks = replace(blocks, partial=True, incomplete=True)
    classes = blocks.design.levels
    terms = blocks.terms
    moments, tally = available_tally(blocks, plan)
    dropped = blocks.n_dropped(blocks.codes >= 0)
    if not moments.total:
        raise DataError(
            f"No row is left: each of the {blocks.table.nrows} rows misses the response "
            f"{blocks.design.response!r}, or its weight.",
            hint="Give rows with a class.",
            columns=(blocks.design.response,),
        )
    if blocks.weighted:
        reading.warn_of_weights(moments, whole=blocks.rows.has_whole_weights())
    blocks, moments = reading.present_classes(blocks, moments)
    tally = tally_of_present(tally, classes, blocks)
    _refuse_bare(blocks, tally)
    check_data_range(moments, blocks)
    # With dropped=0, constant columns are removed from the moments without another pass over the rows.
    blocks, moments = reading.without_constants(replace(blocks, dropped=0), moments)
    if blocks.constant:
        tally = tally.columns(np.array([terms.index(term) for term in blocks.terms]))
    return replace(blocks, dropped=dropped), moments, tally


def _refuse_bare(blocks: Blocks, tally: Tally) -> None:
    """Raise DataError, with a class and its columns, if a column has only missing values in some class."""
    available: Any = tally.available
    bare = ~(available > 0)
    if not bare.any():
        return
    k = int(np.argmax(bare.any(axis=1)))
    names = [blocks.terms[j] for j in np.flatnonzero(bare[k])]
    has = "has" if len(names) == 1 else "have"
    raise DataError(
        f"{reading.listed(names)} {has} no value in class {blocks.design.levels[k]!r}, so that there is "
        "no density.",
        hint="Leave such columns out of the formula, or the class out of the table.",
        classes=(blocks.design.levels[k],),
    )
