"""Input of verbs with the argument `moments=`: the rows of a table, or moments that the user passes.

The verb creates a `Sample` and calls `read` or `read_moments`, depending on `has_rows`. A source that can be
read only once, such as an iterator, is reduced to moments if the model does not need rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from discrim.core.moments.derived_moments import reduce_moments
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.data.sources.base import Source, capitalize_first
from discrim.data.sources.sources import source_of_rows
from discrim.design.design_rows import DesignRows, design_without_rows
from discrim.design.rows import read_rows
from discrim.errors import DataError, NotSupportedError
from discrim.formula.formula import parse_adjusted_formula, parse_formula
from discrim.models.base.data_range import check_data_range
from discrim.models.base.reading import (
    NaAction,
    drop_constant_columns,
    drop_empty_classes,
    warn_of_weights,
)
from discrim.models.moments.moments import Moments, Scatters, moments


class NeedsRows(NamedTuple):
    """Reason why a model cannot be fitted to moments.

    Attributes
    ----------
    message : str
        Message of the error, a sentence.
    hint : str
        Hint of the error, without a full stop.
    """

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class UnreadMoments:
    """Moments of a source that can be read only once, before it is read.

    Attributes
    ----------
    source : Source
    scatters : {"class", "pooled", "diagonal"}
        Second moments that the verb needs.
    table_arguments : dict
        Arguments of the verb that describe the table, and `na_action`, by name; `source` replaces "data".
    """

    source: Source
    scatters: Scatters
    table_arguments: Mapping[str, Any]

    def read(self) -> Moments:
        """Read the source, which can be done only once, and return the moments of its rows."""
        return moments(scatters=self.scatters, **{**self.table_arguments, "data": self.source})

    def raise_if_needs_rows(self, needs_rows: NeedsRows | None) -> None:
        """Raise NotSupportedError, before the source is read, unless `needs_rows` is None."""
        if needs_rows is not None:
            raise NotSupportedError(
                f"{needs_rows.message} {capitalize_first(self.source.description)} can be read only once and "
                "is therefore reduced to moments.",
                hint="Pass a function that creates the source again, or a table in memory.",
            )


def _read_once(data: Any) -> Source | None:
    """Return the `Source` of data that can be read only once, such as an iterator; None for other data."""
    if isinstance(data, pd.DataFrame) or not (
        isinstance(data, Iterator) or hasattr(data, "__arrow_c_stream__")
    ):
        return None
    source = source_of_rows(data)
    return source if source.is_single_pass else None


@dataclass(slots=True)
class Sample:
    """Input of a verb: the rows of a table, or moments instead of formula and table.

    Attributes
    ----------
    verb : str
        Name of the verb, for messages.
    scatters : {"class", "pooled", "diagonal"}
        Second moments to which a source that can be read only once is reduced.
    moments : Moments, UnreadMoments or None
        Argument `moments=` of the verb, not yet validated; None to fit the rows of `data`. Data that can be
        read only once become `UnreadMoments`.
    formula, data, weights, levels, functions, na_action
        Arguments of the verb that describe the table.
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
        """Replace data that can be read only once by `UnreadMoments`."""
        if self.moments is None and self.formula is not None and (source := _read_once(self.data)):
            self.moments = UnreadMoments(
                source, self.scatters, self._table_arguments() | {"na_action": self.na_action}
            )

    def _table_arguments(self) -> dict[str, Any]:
        """Return the arguments formula, data, weights, levels and functions by name; None if not passed."""
        names = ("formula", "data", "weights", "levels", "functions")
        return {name: getattr(self, name) for name in names}

    @property
    def has_rows(self) -> bool:
        """Whether the verb is fitted to rows, and not to moments."""
        return self.moments is None

    @property
    def supports_covariates(self) -> bool:
        """Whether the verb supports covariates after a `|` in the formula; only lda() does."""
        return self.verb == "lda"

    def read(self, in_memory: str | None = None, *, incomplete: bool = False) -> DesignRows:
        """Read the rows of the table by the formula.

        Raises DataError without a formula or a table, and NotSupportedError for a source of tables if the
        rows have to be in memory.

        Parameters
        ----------
        in_memory : str, optional
            Why the rows have to be in memory, for the error; None if they need not be.
        incomplete : bool
            Whether the fit also uses rows with missing values.

        Returns
        -------
        DesignRows
            With covariates if the verb supports them and the formula has a `|`.
        """
        if self.formula is None or self.data is None:
            missing = "formula" if self.formula is None else "table"
            raise DataError(
                f"{self.verb}() requires a {missing}.", hint="Pass formula and data, or moments=."
            )
        bar = self.supports_covariates and isinstance(self.formula, str) and "|" in self.formula
        parser = parse_adjusted_formula if bar else parse_formula
        return read_rows(
            **self._table_arguments(), in_memory=in_memory, parser=parser, uses_incomplete_rows=incomplete
        )

    def read_moments(
        self, required_moments: ScatterType, needs_rows: NeedsRows | None = None
    ) -> tuple[DesignRows, ClassMoments]:
        """Return the moments that the user passed, and their design as `DesignRows` without rows.

        Classes without rows and constant columns are dropped with a warning.

        Parameters
        ----------
        required_moments : ScatterType
            Second moments that the model needs.
        needs_rows : NeedsRows, optional
            Reason that the model cannot be fitted to moments; None if it can.

        Returns
        -------
        DesignRows
            Design with the remaining classes and columns.
        ClassMoments
            Their moments, with the second moments `required_moments`.

        Raises
        ------
        NotSupportedError
            There is such a reason, the model needs a scatter matrix for each class and these are pooled, or
            it needs a covariance and these are diagonal; or the verb does not support covariates.
        DataError
            `moments=` is not valid or is combined with arguments for tables; or see `usable_moments`.
        CollinearError
            Every column is constant.
        """
        user_moments = self.validated_moments(needs_rows)
        is_pooled = required_moments == "pooled"
        required_text = (
            "one covariance for all classes" if is_pooled else "a variance or covariance for each class"
        )
        user_moments._require_scatters(f"A model with {required_text}", required_moments)
        design_rows = design_without_rows(
            user_moments._design,
            user_moments._functions,
            weighted=user_moments._has_weighted_counts,
            n_dropped_rows=user_moments.dropped,
        )
        return usable_moments(
            user_moments, design_rows, reduce_moments(user_moments._moments, required_moments)
        )

    def validated_moments(self, needs_rows: NeedsRows | None) -> Moments:
        """Return the moments that the user passed, or the moments of a source that can be read only once.

        Raises DataError if `moments=` is not valid or is combined with an argument for tables, and
        NotSupportedError if `needs_rows` is not None or the verb does not support the covariates.
        """
        user_moments = self.moments
        if isinstance(user_moments, UnreadMoments):
            user_moments.raise_if_needs_rows(needs_rows)
            return self._check_covariates(user_moments.read())
        if not isinstance(user_moments, Moments):
            raise DataError(
                f"moments={user_moments!r} is not valid.",
                hint="Pass the result of discrim.moments() or discrim.from_stats().",
            )
        for name, value in self._table_arguments().items():
            if value is not None:
                raise DataError(
                    f"moments= cannot be combined with {name}=.",
                    hint=f"Leave out {name}=.",
                )
        if needs_rows is not None:
            raise NotSupportedError(
                needs_rows.message, hint=f"{needs_rows.hint}, or pass formula and data instead of moments=."
            )
        return self._check_covariates(user_moments)

    def _check_covariates(self, user_moments: Moments) -> Moments:
        """Return the moments; raise NotSupportedError for covariates that the verb does not support."""
        if user_moments._design.covariates and not self.supports_covariates:
            raise NotSupportedError(
                f"{self.verb}() does not support covariates, which the moments of {user_moments.formula!r} "
                "have after the `|`.",
                hint="Use lda(), or compute moments of a formula with + instead of the `|`.",
            )
        return user_moments


def usable_moments(
    given_moments: Moments, design_rows: DesignRows, moments: ClassMoments, keep: Sequence[int] = ()
) -> tuple[DesignRows, ClassMoments]:
    """Select the classes that have rows and the columns that vary; the counterpart of `usable_rows`.

    Parameters
    ----------
    given_moments : Moments
        The moments that the user passed.
    design_rows : DesignRows
        Their design, without rows.
    moments : ClassMoments
        Moments of the columns of the design.
    keep : sequence of int
        Positions of columns that are not dropped if they are constant.

    Returns
    -------
    DesignRows
        The design with the remaining classes and columns.
    ClassMoments
        Their moments.

    Raises
    ------
    DataError
        The moments lack rows, are of one class only, or contain values outside the range of the
        computations.
    CollinearError
        Every column is constant.

    Warns
    -----
    EmptyClassWarning, DroppedColumnsWarning
        Classes without rows or constant columns are dropped.
    WeightsWarning
        The sum of the weights is less than the number of rows by more than the proportion
        `MAX_MEAN_WEIGHT_DEVIATION` of it. Moments that were multiplied by a number do not warn.
    """
    if not moments.total:
        raise DataError(f"{given_moments!r} have no observations.", hint="Add moments of complete rows.")
    check_data_range(moments, design_rows)
    warn_of_weights(moments, are_integers=given_moments._decayed or moments.total >= moments.rows.sum())
    return drop_constant_columns(*drop_empty_classes(design_rows, moments), keep=keep)
