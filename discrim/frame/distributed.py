"""DataFrames of Dask as sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discrim.frame.source_kinds import slices
from discrim.frame.source_parts import Part, Source

__all__ = ["DaskSource", "dask_source"]


class DaskSource(Source):
    """A DataFrame of Dask, whose partitions are computed one after another.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        super().__init__("the Dask DataFrame", [str(label) for label in frame.columns])

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        frame = self._frame
        if columns is not None:
            frame = frame[[label for label in frame.columns if str(label) in columns]]
        for number in range(frame.npartitions):
            for rows in slices(frame.get_partition(number).compute()):
                yield Part(rows)


def dask_source(frame: Any) -> Source:
    """What reads a DataFrame of Dask."""
    return DaskSource(frame)
