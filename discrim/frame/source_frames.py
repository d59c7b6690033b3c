"""Sources of frames that Python makes one after another: a function that begins anew, or an iterator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from discrim.errors import DataError
from discrim.frame.source_kinds import Kinds, frame_of, slices
from discrim.frame.source_parts import Part, Source, capital, closed_at_end

__all__ = ["FunctionSource", "IteratorSource"]

_REFUSED = (str, bytes, Mapping, pd.DataFrame)
"""What can be iterated over and yet is no iterable of frames."""


class IteratorSource(Source):
    """The frames of an iterator, which gives them once.

    The first one is looked at when the source is made, and is the first that a pass gives.

    Parameters
    ----------
    frames : iterator
    what : str
    """

    def __init__(self, frames: Iterator[Any], what: str) -> None:
        self._frames = _Frames(frames, what)
        super().__init__(what, self._frames.kinds.names, once=True)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        return self._frames.parts(self._frames.kinds, columns)


class FunctionSource(Source):
    """The frames that a function without arguments gives, from the first on at each call.

    It may give an iterator of frames, one frame, or whatever else a source is made of.

    Parameters
    ----------
    function : callable
    source_of : callable
        What makes a source of what the function gives, or None where that is a frame.
    """

    def __init__(self, function: Callable[[], Any], source_of: Callable[[Any], Source | None]) -> None:
        self._function, self._source_of = function, source_of
        self._given: Any = None
        name = getattr(function, "__name__", "<lambda>")
        self._said = "the function given as data=" if name == "<lambda>" else f"the function {name!r}"
        _refuse_arguments(function, self._said)
        first: _Frames | Source = self._called()
        self._ready: _Frames | Source | None = first
        self._kinds = first.kinds if isinstance(first, _Frames) else None
        super().__init__(self._said, first.names)

    @property
    def nrows(self) -> int | None:
        """Rows, where what the function gave at first knows them, or a pass has counted them."""
        ready = self._ready
        return ready.nrows if isinstance(ready, Source) else self._rows

    def _called(self) -> _Frames | Source:
        """What a call gives, ready to be read."""
        try:
            given = self._function()
        except Exception as error:
            error.add_note(f"It was raised by a call of {self._said}.")
            raise
        if given is self._given and hasattr(given, "__next__"):
            raise DataError(
                f"{capital(self._said)} gives the same iterator at each call, and that has been read: let it "
                "make a new one each time."
            )
        if hasattr(given, "__next__"):
            self._given = given
            return _Frames(given, self._said)
        if callable(given):
            raise DataError(
                f"{capital(self._said)} gives a function: give that one itself as data=, or call it."
            )
        source = self._source_of(given)
        if source is not None:
            return source
        many = isinstance(given, Iterable) and not isinstance(given, _REFUSED) and not _is_frame(given)
        return _Frames(iter(given if many else [given]), self._said)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        ready, self._ready = self._ready, None
        if ready is None:
            ready = self._called()
        if isinstance(ready, Source):
            # Only the first is known to have the columns that were asked for.
            return ready.parts(columns)
        if self._kinds is None:
            raise DataError(f"{capital(self._said)} gives something else at each call: let it give the same.")
        return ready.parts(self._kinds, columns)


class _Frames:
    """Frames that are read once, of which the first has been looked at."""

    def __init__(self, frames: Iterator[Any], what: str) -> None:
        self._what = what
        try:
            first = next(frames)
        except StopIteration:
            raise DataError(
                f"{capital(what)} gives no frame, so that its columns are not known: give at least "
                "one, which may be without rows."
            ) from None
        except Exception as error:
            error.add_note(f"{capital(what)} raised this before its first frame.")
            raise
        self._frames: Iterator[Any] = frames
        self._first: list[Any] = [first]
        frame = frame_of(first, f"frame 1 of {what}")
        self.kinds = Kinds(frame, f"frame 1 of {what}")
        self.names = self.kinds.names

    def parts(self, kinds: Kinds, columns: tuple[str, ...] | None) -> Iterator[Part]:
        """The rows of all frames, each of which fits the first."""
        with closed_at_end(self._frames):
            for number, given in enumerate(self._given(), start=1):
                what = f"frame {number:,} of {self._what}"
                frame = kinds.fitted(frame_of(given, what), what, columns)
                for rows in slices(frame):
                    yield Part(rows)

    def _given(self) -> Iterator[Any]:
        # Nothing holds the first frame while later ones are read.
        while self._first:
            yield self._first.pop()
        yield from self._frames


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
