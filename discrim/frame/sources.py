"""Tables that are read part by part (a stand-in until the readers come)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from discrim.errors import DataError

__all__ = ["Part", "Source", "source_of"]


class Part(NamedTuple):
    data: Any
    where: str | None


class Source:
    nrows: int | None = None
    once = False
    what = "the source"

    def __init__(self, make: Callable[[], Iterator[Any]], once: bool = False) -> None:
        self._make, self.once, self._read = make, once, False
        if once:
            import itertools

            it = make()
            first = next(it)
            self._make = lambda: itertools.chain([first], it)
        else:
            first = next(make())
        self.names = tuple(map(str, first.columns))

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Part]:
        if self.once and self._read:
            raise DataError("This iterator can be read once only: give a function that makes it.")
        self._read = True
        for frame in self._make():
            yield Part(frame if columns is None else frame[list(columns)], None)


def source_of(data: Any) -> Source | None:
    if callable(data):
        return Source(data)
    if hasattr(data, "__next__"):
        return Source(lambda: data, once=True)
    return None
