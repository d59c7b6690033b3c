"""Sources of frames that Python makes one after another: a function that begins anew, or an iterator."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from discrim.errors import DataError
from discrim.frame.sources.kinds import Kinds, frame_of, slices
from discrim.frame.sources.parts import OnceSource, Part, Source, capital, closed_at_end

__all__ = ["FunctionSource", "IteratorSource"]

_REFUSED = (str, bytes, Mapping, pd.DataFrame)
"""What can be iterated over and yet is no iterable of frames."""


class IteratorSource(OnceSource):
    """The frames of an iterator, which gives them once.

    When the source is made it looks at them up to the first that has rows, which says what columns hold; a
    pass gives these again.

    Parameters
    ----------
    frames : iterator
    what : str
    kinds : Kinds, optional
        What the columns hold, where that is known.
    """

    def __init__(self, frames: Iterator[Any], what: str, kinds: Kinds | None = None) -> None:
        self._frames = frames
        self._first: deque[Any] = deque()
        try:
            self._look(what)
        except Exception as error:
            if not isinstance(error, DataError):
                error.add_note(f"{capital(what)} raised this before its first frame.")
            raise
        number = len(self._first)
        self.kinds = kinds or Kinds(self._first[-1], f"frame {number} of {what}")
        super().__init__(what, self.kinds.names)

    def _look(self, what: str) -> None:
        for given in self._frames:
            self._first.append(frame_of(given, f"frame {len(self._first) + 1} of {what}"))
            if len(self._first[-1]):
                return
        if not self._first:
            raise DataError(
                f"{capital(what)} gives no frame, so that its columns are not known: give at least "
                "one, which may be without rows."
            )

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        with closed_at_end(self._frames):
            for number, given in enumerate(self._given(), start=1):
                what = f"frame {number:,} of {self.what}"
                frame = frame_of(given, what)
                for rows in slices(frame):
                    # Another pass may have looked at the first rows, for other columns.
                    yield Part(self.kinds.fitted(rows, what, self.asked))

    def _given(self) -> Iterator[Any]:
        # Nothing holds the first frames while later ones are read.
        while self._first:
            yield self._first.popleft()
        yield from self._frames


class FunctionSource(Source):
    """The frames that a function without arguments gives, from the first on at each call.

    It may give an iterator of frames, one frame, or whatever else a source is made of. The first call is
    that of the first pass as well.

    Parameters
    ----------
    function : callable
    source_of : callable
        What makes a source of what the function gives, or None where that is a frame.
    """

    def __init__(self, function: Callable[[], Any], source_of: Callable[[Any], Source | None]) -> None:
        self._function, self._source_of = function, source_of
        self._given: Any = None
        self._kinds: Kinds | None = None
        name = getattr(function, "__name__", "<lambda>")
        self._said = "the function given as data=" if name == "<lambda>" else f"the function {name!r}"
        _refuse_arguments(function, self._said)
        self._ready = self._called()
        super().__init__(self._said, self._ready.names)

    @property
    def nrows(self) -> int | None:
        """Rows, where what the function gives knows them, or a pass has counted them."""
        return self._ready.nrows if self._rows is None else self._rows

    def _called(self) -> Source:
        """What a call gives, ready to be read."""
        try:
            given = self._function()
        except Exception as error:
            error.add_note(f"It was raised by a call of {self._said}.")
            raise
        if hasattr(given, "__next__"):
            if given is self._given:
                raise DataError(
                    f"{capital(self._said)} gives the same iterator at each call, and that has been read: "
                    "let it make a new one each time."
                )
            self._given = given
        elif callable(given):
            raise DataError(
                f"{capital(self._said)} gives a function: give that one itself as data=, or call it."
            )
        source = None if isinstance(given, Iterator) else self._source_of(given)
        if source is None:
            many = isinstance(given, Iterable) and not isinstance(given, _REFUSED) and not _is_frame(given)
            source = IteratorSource(iter(given if many else [given]), self._said, self._kinds)
            self._kinds = source.kinds
        return source

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        # While one pass goes on another may ask for other columns.
        if isinstance(self._ready, OnceSource) and (self._ready.spent or self._ready.is_read):
            self._ready = self._called()
        return self._ready.begun(columns)


def _is_frame(given: Any) -> bool:
    """Whether something that can be iterated over has columns itself."""
    return hasattr(given, "columns") or hasattr(given, "column_names") or hasattr(given, "num_columns")


def _refuse_arguments(function: Callable[..., Any], said: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind()
    except TypeError as error:
        raise DataError(
            f"{capital(said)} is called without arguments, and that cannot be: {error}. Give one that needs "
            "none, as in data=lambda: frames(path)."
        ) from None
