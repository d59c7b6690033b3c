"""What a verb fits to where it is given moments in the place of a table, or rows that can be read only once.

A verb that is a function of moments is fitted to those of an iterator's rows.
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
from discrim.frame.rows import read
from discrim.frame.sources.parts import Source, capital
from discrim.frame.sources.sources import rows_given
from discrim.models.fits.reading import present_classes, refuse_extreme, warn_of_weights, without_constants
from discrim.models.moments.moments import Moments, Scatters, moments

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
            source = rows_given(data)
            if not source.once:
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


@dataclass(frozen=True, slots=True)
class Sample:
    """What a verb is fitted to: the rows of a table, or moments in the place of formula and table.

    Attributes
    ----------
    verb : str
    moments : Moments, optional
    formula, data, weights, levels, functions
        The verb's arguments that are for tables.
    """

    verb: str
    moments: Any
    formula: str | None
    data: Any
    weights: Any
    levels: Sequence[Any] | None
    functions: Mapping[str, Callable[..., Any]] | None

    @property
    def has_rows(self) -> bool:
        """Whether there are no moments in the place of rows."""
        return self.moments is None

    def read(self, in_memory: str | None = None) -> Blocks:
        """The rows of the table, as of `frame.rows.read`.

        Raises
        ------
        DataError
            There is no formula, or no table.
        """
        if self.formula is None or self.data is None:
            missing = "formula" if self.formula is None else "table"
            raise DataError(f"{self.verb}() was given no {missing}: pass formula and data, or moments=.")
        table = {"weights": self.weights, "levels": self.levels, "functions": self.functions}
        return read(self.formula, self.data, **table, in_memory=in_memory)

    def of_moments(self, spread: Spread, why_rows: str = "") -> tuple[Blocks, ClassMoments]:
        """Blocks without rows, and the moments, of the classes that have rows and the columns that vary.

        Parameters
        ----------
        spread : {"pooled", "class", "diagonal"}
        why_rows : str
            As of `checked_moments`.

        Raises
        ------
        DataError
            As of `checked_moments`; or they are of no rows, or of one class only.
        NotSupportedError
            The model needs the rows, or scatters by class where these are pooled.
        """
        given = self.checked_moments(why_rows)
        one = spread == "pooled"
        each = "one covariance for all classes" if one else "a variance or covariance for each class"
        given._need(f"A model with {each}", spread)
        blocks = without_rows(
            given._design, given._functions, weighted=given._weighted, dropped=given.dropped
        )
        return fitting(given, blocks, with_scatter(given._moments, spread))

    def checked_moments(self, why_rows: str) -> Moments:
        """The moments, from one pass where they are not read yet.

        Parameters
        ----------
        why_rows : str
            What of the arguments is found from the rows, and a way out; empty where nothing is.

        Raises
        ------
        DataError
            These are no moments, or there is an argument beside them that is for tables.
        NotSupportedError
            The model needs the rows.
        """
        given = self.moments
        if isinstance(given, Unread):
            given.refuse(why_rows)
            return given.read()
        if not isinstance(given, Moments):
            raise DataError(
                f"moments={given!r}: give what discrim.moments() or discrim.from_stats() returns."
            )
        for name in ("formula", "data", "weights", "levels", "functions"):
            if getattr(self, name) is not None:
                raise DataError(
                    f"moments= and {name}= do not go together: moments have their own, so leave it out."
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
    return without_constants(*present_classes(blocks, held), held=keep)
