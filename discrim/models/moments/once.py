"""Rows that can be read once, as of an iterator: a verb that is a function of moments is fitted to these."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from discrim.errors import NotSupportedError
from discrim.frame.sources.parts import Source, capital
from discrim.frame.sources.sources import source_of
from discrim.models.moments.file import Scatters
from discrim.models.moments.moments import Moments
from discrim.models.moments.verb import moments

__all__ = ["Unread", "by_moments"]

P = ParamSpec("P")
R = TypeVar("R")

OF_TABLES = ("formula", "data", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that are for tables."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Moments that are gathered when it is known that the verb can be fitted to them.

    Attributes
    ----------
    source : Source
        It can be read once.
    scatters : {"class", "pooled", "diagonal"}
    table : mapping
        The arguments of the verb that are for tables.
    """

    source: Source
    scatters: Scatters
    table: Mapping[str, Any]

    def read(self) -> Moments:
        """The moments, from the one pass."""
        return moments(scatters=self.scatters, **{**self.table, "data": self.source})

    def refuse(self, why_rows: str) -> None:
        """Raise NotSupportedError where what is asked for is found from rows, before these are read."""
        if why_rows:
            raise NotSupportedError(
                f"{why_rows}. {capital(self.source.what)} can be read once, so that only moments are left "
                "of its rows: give a function that makes it anew, or a table in memory."
            )


def by_moments(scatters: Scatters) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A verb that takes moments, made to take an iterator of frames too.

    Parameters
    ----------
    scatters : {"class", "pooled", "diagonal"}
        What the verb needs of the moments.
    """

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        bind = inspect.signature(verb).bind

        @wraps(verb)
        def fitted(*args: P.args, **kwargs: P.kwargs) -> R:
            data = kwargs.get("data", args[1] if len(args) > 1 else None)
            # What is no iterator is looked at by the verb alone.
            if not isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
                return verb(*args, **kwargs)
            source = source_of(data)
            if source is None or not source.once:
                return verb(*args, **kwargs)
            given = bind(*args, **kwargs).arguments
            if "moments" in given or "formula" not in given:
                return verb(*args, **kwargs)
            table = {name: given.pop(name) for name in OF_TABLES if name in given}
            fit: Callable[..., R] = verb
            return fit(**given, moments=Unread(source, scatters, table))

        return fitted

    return decorate
