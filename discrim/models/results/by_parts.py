"""Answers for the rows of a source, frame by frame, or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from typing import Any, TypeVar, cast

import pandas as pd

from discrim.core.numerics.progress import late_bar
from discrim.frame.blocks import Blocks
from discrim.frame.sources.parts import ApartSource
from discrim.frame.sources.rows import named, tables
from discrim.frame.sources.sinks import write_frames
from discrim.frame.sources.sources import Source, source_of

__all__ = ["answered"]

T = TypeVar("T", pd.Series, pd.DataFrame, "pd.DataFrame | pd.Series")


def answered(
    results: Any,
    data: Any,
    out: str | PathLike[str] | None,
    answer: Callable[[Any, Any], T],
    *,
    whole: bool = False,
    beyond: bool = False,
) -> T:
    """What a fit says of the rows of a table; of a source an iterator of frames; a path where it is written.

    Parameters
    ----------
    results : ClassifierResults
    data : table, source of tables, or None
    out : path, optional
        A file of Parquet or CSV, or a folder, that the answers are written to.
    answer : callable
        From the results and a table to labels or scores of its rows.
    whole : bool
        The answer has the table's columns too.
    beyond : bool
        Some rows may have labels that are none of the classes.

    Returns
    -------
    Series or DataFrame, an iterator of DataFrames, one of Dask, or a Path
        What comes back for sources and files is none of the types that a table's answer has; type checkers
        are told that of a table.
    """
    source = None if isinstance(data, Blocks) else source_of(data)
    if source is None:
        if out is None:
            return answer(results, data)
        return cast("T", write_frames(iter([_frame(answer(results, data))]), out))
    columns = source.names if whole else results._fit.blocks.design.columns
    if isinstance(source, ApartSource) and out is None:
        lazy: T = source.lazily(columns, partial(answer, results._without_rows()), beyond=beyond)
        return lazy
    frames = _frames(source, columns, partial(answer, results))
    if out is None:
        return cast("T", frames)
    return cast("T", write_frames(frames, out, source=source))


def _frames(
    source: Source, columns: tuple[str, ...], answer: Callable[[Any], pd.DataFrame | pd.Series]
) -> Iterator[pd.DataFrame]:
    with late_bar(source.nrows or 0, "rows predicted") as tell:
        for table, where in tables(source, columns):
            with named(where):
                frame = _frame(answer(table))
            tell(table.nrows)
            with tell.resting():
                yield frame


def _frame(answer: pd.DataFrame | pd.Series) -> pd.DataFrame:
    return answer.to_frame() if isinstance(answer, pd.Series) else answer
