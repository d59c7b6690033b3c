"""Moments and tally of columns that rows miss: each is gathered from the rows that have it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.moments import ClassMoments
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import with_classes
from discrim.models.fits.arguments import listed
from discrim.models.fits.reading import (
    class_moments,
    present_classes,
    refuse_extreme,
    varying,
    warn_of_weights,
)

__all__ = ["available_rows", "gather_available", "usable_available"]

Floats = NDArray[np.float64]


def available_rows(blocks: Blocks) -> Blocks:
    """Blocks of all rows with a class, whatever else they miss."""
    return replace(blocks, partial=True, incomplete=True)


def usable_available(blocks: Blocks, plan: ColumnPlan) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks of all rows with a class, without empty classes and constant columns, moments and tally.

    Raises
    ------
    DataError
        No row has a class, or those of one only; a class has no value of a column.
    CollinearError
        Every column is constant.
    """
    blocks = available_rows(blocks)
    levels, terms = blocks.design.levels, blocks.terms
    moments, tally = gather_available(blocks, plan)
    if not moments.total:
        raise DataError(
            f"No row is left: each of the {blocks.table.nrows} rows misses the response "
            f"{blocks.design.response!r}, or its weight. Give rows with a class."
        )
    if blocks.weighted:
        warn_of_weights(moments, whole=blocks.has_whole_weights())
    blocks, moments = present_classes(blocks, moments)
    if len(blocks.design.levels) < len(levels):
        tally = tally.classes(np.array([levels.index(level) for level in blocks.design.levels]))
    _refuse_bare(blocks, tally)
    refuse_extreme(moments, blocks.terms)
    dropped = blocks.dropped
    # Without rows to look for again, columns are taken out of the moments as they are.
    blocks, moments = varying(replace(blocks, dropped=0), moments, held=plan.counts.tolist())
    if blocks.constant:
        tally = tally.columns(np.array([terms.index(term) for term in blocks.terms]))
    return replace(blocks, dropped=dropped), moments, tally


def gather_available(blocks: Blocks, plan: ColumnPlan) -> tuple[ClassMoments, Tally]:
    """Diagonal moments and tally of rows with a class, each column's of the rows that have it.

    One pass finds the columns that the same rows miss, and one gathers each group of these.
    """
    blocks = with_classes(blocks)
    k, p = len(blocks.design.levels), len(blocks.terms)
    counts, rows, patterns = _rows_and_patterns(blocks)
    used = np.where(_used(blocks), blocks.codes, -1)
    shape = (k, p)
    parts: dict[str, Floats] = {name: np.zeros(shape) for name in ("centres", "rests", "scatters")}
    scale, tally = np.ones(p), Tally(plan, k)
    tally.available = np.zeros(shape)
    for columns in patterns:
        own = replace(blocks.columns(columns.tolist()), held_codes=used, partial=False, incomplete=False)
        part = Tally(plan.columns(columns), k)
        found = class_moments(own, "diagonal", part.watch)
        for name, values in parts.items():
            values[:, columns] = getattr(found, name)
        scale[columns], tally.available[:, columns] = found.scale, found.counts[:, None]
        _place(tally, part, columns)
    blocks.dropped = blocks.table.nrows - int((used >= 0).sum())
    return ClassMoments(counts, rows, scale=scale, **parts), tally


def _used(blocks: Blocks) -> NDArray[np.bool_]:
    used = blocks.codes >= 0
    return used if blocks.weights is None else used & ~np.isnan(blocks.weights)


def _rows_and_patterns(blocks: Blocks) -> tuple[Floats, NDArray[np.int64], list[NDArray[np.intp]]]:
    """Weights (K,) and rows (K,) of the classes, and the columns in groups that the same rows miss."""
    used, weights = _used(blocks), blocks.weights
    k = len(blocks.design.levels)
    own = None if weights is None else weights[used]
    codes = blocks.codes[used]
    counts = np.bincount(codes, own, k).astype(np.float64)
    rows = np.bincount(codes if own is None else codes[own > 0], minlength=k)
    marks: list[Any] = [hashlib.blake2b() for _ in blocks.terms]
    for place, x, missing in blocks.every_row():
        if missing is None or not missing.any():
            continue
        lost = np.isnan(x)
        for j in np.flatnonzero(lost.any(axis=0)).tolist():
            marks[j].update(place.start.to_bytes(8, "little") + np.packbits(lost[:, j]).tobytes())
    groups: dict[bytes, list[int]] = {}
    for j, mark in enumerate(marks):
        groups.setdefault(mark.digest(), []).append(j)
    return counts, rows, [np.array(columns, dtype=np.intp) for columns in groups.values()]


def _place(tally: Tally, part: Tally, columns: NDArray[np.intp]) -> None:
    """Write the tally of some columns into that of all."""
    plan, where = tally.plan, {j: i for i, j in enumerate(columns.tolist())}
    own = part.plan
    tables, kernels, sums = (
        {columns[j]: i for i, j in enumerate(kind.tolist())} for kind in (own.tables, own.kernels, own.counts)
    )
    for i, j in enumerate(plan.tables.tolist()):
        if j in where:
            tally.tables[i] = part.tables[tables[j]]
    for i, j in enumerate(plan.kernels.tolist()):
        if j in where:
            tally.values[i] = part.values[kernels[j]]
    for i, j in enumerate(plan.counts.tolist()):
        if j in where:
            tally.sums[:, i] = part.sums[:, sums[j]]


def _refuse_bare(blocks: Blocks, tally: Tally) -> None:
    """Raise a DataError that names columns without a value in some class."""
    available: Any = tally.available
    bare = ~(available > 0)
    if not bare.any():
        return
    k = int(np.argmax(bare.any(axis=1)))
    names = [blocks.terms[j] for j in np.flatnonzero(bare[k])]
    has = "has" if len(names) == 1 else "have"
    raise DataError(
        f"{listed(names)} {has} no value in class {blocks.design.levels[k]!r}, so that there is no density: "
        "leave such columns out of the formula, or the class out of the table."
    )
