"""Blocks whose rows lie in parts elsewhere: what a part needs to be read and worked on where it is.

A part goes through the same steps there as a part that is read here: a table, the class and the weight of
each row, blocks of these. What comes back is what was made of them, with what the pass has found beside:
how many rows there are, how many miss a value, and what there is to warn of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import kept_warnings, warn_user
from discrim.frame.design import Design
from discrim.frame.filled import response_codes
from discrim.frame.own_functions import Functions
from discrim.frame.sources.parts import ApartSource, no_rows
from discrim.frame.sources.rows import SourceRows, has_fractions, kinds_of, part_table
from discrim.frame.table import Table
from discrim.frame.weights import weight_vector

__all__ = ["Given", "reduced_blocks", "small_codes"]

T = TypeVar("T")

UNKNOWN = -1
"""Rows left out, where no pass has counted them."""


class Given(NamedTuple):
    """What is known of each row of a part beforehand: class, weight, and whether it is lost."""

    codes: NDArray[Any] | None
    weights: NDArray[Any] | None
    lost: NDArray[Any] | None


class Made(NamedTuple, Generic[T]):
    """What was made of some parts.

    Attributes
    ----------
    value : object
    dropped : int
        Rows that miss a value; `UNKNOWN` where the task has not read them all.
    fractions : bool
        Whether a weight is no whole number.
    said : tuple of str
        Warnings.
    """

    value: T
    dropped: int
    fractions: bool
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartWork(Generic[T]):
    """A task and all that makes blocks of a part, without any row.

    Attributes
    ----------
    blocks : Blocks
        Those of the fit, without rows.
    design : Design
        With the levels that the response is read with.
    functions : mapping
    weights : str or None
    task : callable
        From blocks to a value.
    """

    blocks: Any
    design: Design
    functions: Functions
    weights: str | None
    task: Callable[[Any], T]

    def __call__(self, data: Any, given: Given | None) -> Made[T] | None:
        """What is made of a part; None of one without rows."""
        table = part_table(data, kinds_of(self.blocks.design))
        if table is None:
            return None
        codes, weights, lost = given or Given(None, None, None)
        with kept_warnings() as said:
            codes = self._codes(table) if codes is None else codes.astype(np.intp)
            weights = weight_vector(self.weights, table) if weights is None else weights
            part = replace(
                self.blocks, table=table, held_codes=codes, held_weights=weights, lost=lost, dropped=UNKNOWN
            )
            value = self.task(part)
        return Made(value, part.dropped, has_fractions(codes, weights), tuple(dict.fromkeys(said)))

    def _codes(self, table: Table) -> NDArray[np.intp]:
        codes = response_codes(self.design, table, self.functions)
        if self.design.levels == self.blocks.design.levels:
            return codes
        position = {label: k for k, label in enumerate(self.blocks.design.levels)}
        own = [position.get(label, -1) for label in self.design.levels]
        return np.array([*own, -1], dtype=np.intp)[codes]


@dataclass(frozen=True, slots=True)
class _Merge(Generic[T]):
    """How what was made of two parts becomes what is made of both."""

    values: Callable[[T, T], T]

    def __call__(self, a: Made[T], b: Made[T]) -> Made[T]:
        known = a.dropped != UNKNOWN and b.dropped != UNKNOWN
        return Made(
            self.values(a.value, b.value),
            a.dropped + b.dropped if known else UNKNOWN,
            a.fractions or b.fractions,
            tuple(dict.fromkeys((*a.said, *b.said))),
        )


def reduced_blocks(
    blocks: Any, rows: SourceRows, source: ApartSource, task: Callable[[Any], T], merge: Callable[[T, T], T]
) -> tuple[T, int | None]:
    """What a task makes of blocks whose rows lie apart, and how many rows it left out, if it has read all.

    Raises
    ------
    DataError
        There are no rows.
    """
    held, weights = blocks.held_codes, blocks.held_weights
    bare = replace(
        blocks, table=Table(pd.DataFrame(index=pd.RangeIndex(0))), held_codes=None, held_weights=None,
        lost=None, source=None,
    )  # fmt: skip
    work = PartWork(bare, rows.design, rows.functions, rows.weights if weights is None else None, task)
    beside = (
        *(() if held is not None else rows.design.response_columns),
        *((rows.weights,) if work.weights else ()),
    )
    columns = list(dict.fromkeys((*blocks.design.columns, *beside)))
    given = None
    if held is not None or weights is not None or blocks.lost is not None:
        given = _dealt(Given(None if held is None else small_codes(held), weights, blocks.lost), source)
    made = source.reduced(columns, work, _Merge(merge), given)
    if made is None:
        raise no_rows(source)
    rows.table.counted(sum(source.lengths))
    if weights is None:
        rows.fractions = rows.fractions or made.fractions
    if not rows.said:
        rows.said = True
        for message in made.said:
            warn_user(message)
    return made.value, None if made.dropped == UNKNOWN else made.dropped


def small_codes(codes: NDArray[np.intp]) -> NDArray[Any]:
    """Codes in the shortest type that holds them, for the way."""
    return codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0))))


def _dealt(given: Given, source: ApartSource) -> list[Given]:
    """What is known of the rows of each part."""
    found, start = [], 0
    for rows in source.lengths:
        place = slice(start, start + rows)
        found.append(Given(*(None if each is None else each[place] for each in given)))
        start += rows
    return found
