"""The sample of a verb that is a function of moments: the rows of a table, or moments in their place.

Of rows that can be read only once, as an iterator's, moments are gathered when it is known that they suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from discrim.core.moments.derived_moments import with_scatter
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.data.sources.parts import Source, capital
from discrim.data.sources.sources import rows_given
from discrim.design.blocks import Blocks, without_rows
from discrim.design.rows import read
from discrim.errors import DataError, NotSupportedError
from discrim.formula.formula import adjusted_formula, parsed_formula
from discrim.models.base.data_range import check_data_range
from discrim.models.base.reading import (
    NaAction,
    present_classes,
    warn_of_weights,
    without_constants,
)
from discrim.models.moments.moments import Moments, Scatters, moments


class NeedsRows(NamedTuple):
    """The reason that a model cannot be fitted to moments, a sentence, and a hint without a stop."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class UnreadMoments:
    """Moments of a source that is read once, gathered when it is known that the verb can be fitted to them.

    The table holds the arguments of the verb that are for tables.
    """

    source: Source
    scatters: Scatters
    table: Mapping[str, Any]

    def read(self) -> Moments:
        """The moments, from the one pass."""
        return moments(scatters=self.scatters, **{**self.table, "data": self.source})

    def refuse(self, needs_rows: NeedsRows | None) -> None:
        """Raise NotSupportedError if the model needs the rows, before these are read."""
        if needs_rows is not None:
            raise NotSupportedError(
                f"{needs_rows.message} {capital(self.source.what)} can be read once, so only moments are "
                "left of its rows.",
                hint="Give a function that makes it anew, or a table in memory.",
            )


def _read_once(data: Any) -> Source | None:
    """The source of rows that can be read only once; None for all others."""
    if isinstance(data, pd.DataFrame) or not (
        isinstance(data, Iterator) or hasattr(data, "__arrow_c_stream__")
    ):
        return None
    source = rows_given(data)
    return source if source.once else None


@dataclass(slots=True)
class Sample:
    """What a verb is fitted to: the rows of a table, or moments in the place of formula and table.

    The scatters, "class", "pooled" or "diagonal", are what the verb needs of moments; the formula and what
    follows it are the verb's arguments that are for tables.
    """

    verb: str
    scatters: Scatters
    moments: Any
    formula: str | None
    data: Any
    weights: Any
    levels: Sequence[Any] | None
    functions: Mapping[str, Callable[..., Any]] | None
    na_action: NaAction

    def __post_init__(self) -> None:
        if self.moments is None and self.formula is not None and (source := _read_once(self.data)):
            self.moments = UnreadMoments(source, self.scatters, self._table() | {"na_action": self.na_action})

    def _table(self) -> dict[str, Any]:
        """The arguments that are for tables, by name."""
        names = ("formula", "data", "weights", "levels", "functions")
        return {name: getattr(self, name) for name in names}

    @property
    def has_rows(self) -> bool:
        """Whether there are no moments in the place of rows."""
        return self.moments is None

    @property
    def adjusts(self) -> bool:
        """Whether the verb adjusts columns for covariates."""
        return self.verb == "lda"

    def read(self, in_memory: str | None = None, *, incomplete: bool = False) -> Blocks:
        """The rows of the table, as of `frame.rows.read`; a DataError of no formula or no table."""
        if self.formula is None or self.data is None:
            missing = "formula" if self.formula is None else "table"
            raise DataError(
                f"{self.verb}() was given no {missing}.", hint="Pass formula and data, or moments=."
            )
        bar = self.adjusts and isinstance(self.formula, str) and "|" in self.formula
        reader = adjusted_formula if bar else parsed_formula
        return read(**self._table(), in_memory=in_memory, reader=reader, incomplete=incomplete)

    def of_moments(self, spread: Spread, needs_rows: NeedsRows | None = None) -> tuple[Blocks, ClassMoments]:
        """Blocks without rows, and the moments, of the classes that have rows and the columns that vary.

        Errors are those of `checked_moments` and `fitting`, or say that the model needs scatters by class
        where these are pooled.
        """
        given = self.checked_moments(needs_rows)
        one = spread == "pooled"
        each = "one covariance for all classes" if one else "a variance or covariance for each class"
        given._need(f"A model with {each}", spread)
        blocks = without_rows(
            given._design, given._functions, weighted=given._in_weights, dropped=given.dropped
        )
        return fitting(given, blocks, with_scatter(given._moments, spread))

    def checked_moments(self, needs_rows: NeedsRows | None) -> Moments:
        """The moments, from one pass where they are not read yet.

        A DataError says that these are no moments, or that there is an argument beside them that is for
        tables; a NotSupportedError says why the model needs the rows, where there is such a reason, and a way
        out.
        """
        given = self.moments
        if isinstance(given, UnreadMoments):
            given.refuse(needs_rows)
            return self._checked_covariates(given.read())
        if not isinstance(given, Moments):
            raise DataError(
                f"moments={given!r} is not valid.",
                hint="Give what discrim.moments() or discrim.from_stats() returns.",
            )
        for name, value in self._table().items():
            if value is not None:
                raise DataError(
                    f"moments= and {name}= cannot be combined: moments have their own.",
                    hint=f"Leave {name}= out.",
                )
        if needs_rows is not None:
            raise NotSupportedError(
                needs_rows.message, hint=f"{needs_rows.hint}, or pass formula and data instead of moments=."
            )
        return self._checked_covariates(given)

    def _checked_covariates(self, given: Moments) -> Moments:
        if given._design.covariates and not self.adjusts:
            raise NotSupportedError(
                f"{self.verb}() adjusts for no covariates, which the moments of {given.formula!r} have "
                "after the `|`.",
                hint="Give them to lda(), or gather moments of a formula with + in its place.",
            )
        return given


def fitting(
    given: Moments, blocks: Blocks, moments: ClassMoments, keep: Sequence[int] = ()
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments of the classes that have rows and of the columns that vary, as of `usable_rows`.

    The blocks have no rows, and the moments are of their columns, some of which are to be kept though they
    are constant. A DataError says that there are no rows, or of one class only; a CollinearError, that every
    column is constant.
    """
    if not moments.total:
        raise DataError(f"{given!r}: there is nothing to fit.", hint="Add moments of complete rows.")
    check_data_range(moments, blocks)
    warn_of_weights(moments, whole=given._decayed or moments.total >= moments.rows.sum())
    return without_constants(*present_classes(blocks, moments), keep=keep)
