"""What a verb fits to where it is given moments in the place of a table.

Rows that can be read once, as of an iterator: a verb that is a function of moments is fitted to these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from discrim.core.moments.given_moments import with_scatter
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks, without_rows
from discrim.frame.sources.parts import Source, capital
from discrim.frame.sources.sources import source_of
from discrim.models.fits.reading import present_classes, refuse_extreme, varying, warn_of_weights
from discrim.models.moments.moments import Moments, Scatters
from discrim.models.moments.verb import moments

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


FOUND_FROM_ROWS = (
    "What method=, covariance= and shrinkage= ask for is found from the rows and not from their moments: "
    "give the shrinkage as a number"
)
"""Why covariances that are not a function of moments cannot be fitted to them, and the way out."""


def table_given(verb: str, formula: str | None, data: Any) -> tuple[str, Any]:
    """Formula and table of a verb that takes moments in their place.

    Raises
    ------
    DataError
        One of them is missing.
    """
    if formula is None or data is None:
        missing = "formula" if formula is None else "table"
        raise DataError(f"{verb}() was given no {missing}: pass formula and data, or moments=.")
    return formula, data


def given_sample(
    given: Moments, spread: Spread, *, why_rows: str = "", **beside: Any
) -> tuple[Blocks, ClassMoments]:
    """What a verb fits to, of moments in the place of a table.

    Parameters
    ----------
    spread : {"pooled", "class", "diagonal"}
    why_rows : str
        What of the arguments is found from the rows, and a way out; empty where nothing is.
    **beside
        Arguments of the verb that are for tables; each has to be None.

    Raises
    ------
    DataError
        No moments, or an argument that is for tables; no rows, or of one class only.
    NotSupportedError
        The model needs the rows, or scatters by class where these are pooled.
    """
    given = check_given(given, why_rows, beside)
    if spread == "pooled":
        given._need("A model with one covariance for all classes", spread)
    else:
        given._need("A model with a variance or covariance for each class", spread)
    blocks = without_rows(given._design, given._functions, weighted=given._weighted, dropped=given.dropped)
    return fitting(given, blocks, with_scatter(given._held, spread))


def check_given(given: Any, why_rows: str, beside: Mapping[str, Any]) -> Moments:
    """The moments, refused where they do not stand for a table; as of `given_sample`."""
    if isinstance(given, Unread):
        given.refuse(why_rows)
        return given.read()
    if not isinstance(given, Moments):
        raise DataError(f"moments={given!r}: give what discrim.moments() or discrim.from_stats() returns.")
    named_too = [name for name, value in beside.items() if value is not None]
    if named_too:
        raise DataError(
            f"moments= and {named_too[0]}= do not go together: moments have their own, so leave it out."
        )
    if why_rows:
        raise NotSupportedError(f"{why_rows}, or pass formula and data in place of moments=.")
    return given


def fitting(
    given: Moments, blocks: Blocks, held: ClassMoments, keep: Sequence[int] = ()
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments of the classes that have rows and of the columns that vary, as of `usable_rows`.

    Parameters
    ----------
    blocks : Blocks
        Without rows.
    held : ClassMoments
        Of the columns of the blocks.
    keep : sequence of int
        Columns that stay though they are constant.

    Raises
    ------
    DataError
        No rows, or of one class only.
    CollinearError
        Every column is constant.
    """
    if not held.total:
        raise DataError(f"{given!r}: there is nothing to fit; add moments of complete rows.")
    refuse_extreme(held, blocks.terms)
    warn_of_weights(held, whole=held.total >= held.rows.sum())
    return varying(*present_classes(blocks, held), held=keep)
