"""The rows that a formula asks of a table, or of a source of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.formula import Reader, asked, resolve
from discrim.frame.sources.discovery import discovered
from discrim.frame.sources.parts import capital, no_rows
from discrim.frame.sources.rows import SourceRows, SourceTable, tables
from discrim.frame.sources.sources import Source, source_of
from discrim.frame.table import Table
from discrim.frame.weights import weight_vector

__all__ = ["read", "refuse_vector", "source_blocks"]


def read(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    part: bool = False,
    in_memory: str | None = None,
    reader: Reader = asked,
) -> Blocks:
    """The rows that a formula asks of a table, a part of one, or a source; see `Blocks` for what is left out.

    Parameters
    ----------
    formula, data, weights, levels, functions
        As of a verb.
    part : bool
        The table is a part of a larger one.
    in_memory : str, optional
        Why the rows have to be in memory, as a sentence; a source of tables is then refused.
    reader : callable
        What reads the formula.

    Raises
    ------
    NotSupportedError
        A source of tables is read part by part, and the rows have to be in memory.
    """
    source = None if isinstance(data, Table) else source_of(data)
    if source is not None:
        return _read_source(formula, data, source, weights, levels, dict(functions or {}), in_memory, reader)
    table = data if isinstance(data, Table) else Table(data, part=part, learnt_from=not part, held=True)
    exclude = (weights,) if isinstance(weights, str) else ()
    design, codes = resolve(
        formula, table, functions=functions, levels=levels, exclude=exclude, reader=reader
    )
    return Blocks(design, table, codes, weight_vector(weights, table), dict(functions or {}))


def refuse_vector(weights: Any) -> None:
    """Raise a DataError where the weights of a source's rows are no column of it."""
    if weights is not None and not isinstance(weights, str):
        raise DataError(
            "weights= is an array, and the rows come from a source: name the column of the source that holds "
            "them."
        )


def source_blocks(blocks: Blocks, source: Source, data: Any) -> Blocks:
    """The rows of a source as the formula of other blocks reads them; their classes are read if asked for.

    Raises
    ------
    DataError
        The source has no rows.
    """
    first = next((table for table, _ in tables(source, blocks.design.columns)), None)
    if first is None:
        raise no_rows(source)
    table = SourceTable(source, data, first)
    rows = SourceRows(table, blocks.design, blocks.functions)
    return replace(blocks, table=table, held_codes=None, held_weights=None, source=rows)


def _read_source(
    formula: str,
    data: Any,
    source: Source,
    weights: Any,
    levels: Sequence[Any] | None,
    functions: dict[str, Callable[..., Any]],
    in_memory: str | None,
    reader: Reader,
) -> Blocks:
    if in_memory is not None:
        raise NotSupportedError(
            f"{in_memory} {source.what} is read part by part. Pass a sample of its rows as a DataFrame, or "
            "use lda(), qda() or logistic(), which make passes over them."
        )
    if source.once:
        raise NotSupportedError(
            f"{capital(source.what)} can be read only once, and this fit reads its rows more often: "
            "give a function that makes it anew, or use lda(), qda() or another verb that takes "
            "moments=."
        )
    refuse_vector(weights)
    design, table = discovered(formula, data, source, functions, levels, weights, reader)
    rows = SourceRows(table, design, functions, weights)
    return Blocks(design, table, None, functions=functions, source=rows)
