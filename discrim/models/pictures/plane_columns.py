"""Columns of the table that a plane is drawn of, and where the others are held."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, DiscrimWarning, NotSupportedError
from discrim.frame.grammar import expression
from discrim.models.fits.arguments import is_number, listed, told
from discrim.models.pictures.rows import drawn_rows

if TYPE_CHECKING:
    from discrim.frame.design import Design
    from discrim.frame.table import Table
    from discrim.models.fits.fit import Fit
    from discrim.models.pictures.asked import Asked
    from discrim.models.pictures.rows import DrawnRows

__all__ = ["Ground", "chosen", "given_values", "ground_of", "numeric_columns", "told_held"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Limits = tuple[float, float]

MOST_TOLD = 5
"""Columns whose held values a title lists."""


def numeric_columns(design: Design) -> list[str]:
    """Columns of the table that the formula reads as numbers, and so can be axes of a plane."""
    truths = set(design.boolean_columns)
    if design.spec is None:
        return [name for name in design.columns if name not in truths]
    known = frozenset(design.functions)
    as_numbers: set[str] = set()
    as_levels: set[str] = set()
    for factor in design.spec.factors:
        into = as_numbers if factor.levels is None else as_levels
        into.update(expression(factor.code, known).columns)
    kinds = dict(zip(design.columns, design.spec.kinds, strict=True))
    numbers = as_numbers - as_levels - truths
    return [name for name in design.columns if name in numbers and kinds[name] == "numeric"]


@dataclass(frozen=True, slots=True)
class Ground:
    """What planes of columns are drawn on.

    Attributes
    ----------
    fit : Fit
    rows : DrawnRows or None
        None of a fit without rows, where no others are given.
    columns : tuple of str
        Those of the axes.
    held : dict of column to value
        Where every other column is held.
    given : dict
        The values among them that a person gave.
    every : tuple of str
        All columns that the formula reads as numbers.
    """

    fit: Fit[Any]
    rows: DrawnRows | None
    columns: tuple[str, ...]
    held: dict[str, Any]
    given: dict[str, Any]
    every: tuple[str, ...]

    def table(self, names: Sequence[str], points: Floats, held: Mapping[str, Any]) -> pd.DataFrame:
        """Rows at points (m, len(names)), other columns held."""
        values: dict[str, Any] = dict(zip(names, points.T, strict=True))
        values |= {name: [value] * len(points) for name, value in held.items()}
        return pd.DataFrame(values)

    def others(self, names: Sequence[str]) -> dict[str, Any]:
        """Where the columns are held that are not among these."""
        return {name: value for name, value in self.held.items() if name not in names}

    def values(self, names: Sequence[str], decide: Callable[[pd.DataFrame], Any]) -> Callable[[Floats], Any]:
        """From points of a plane to what is decided there."""
        held = self.others(names)

        def values(points: Floats) -> Any:
            with warnings.catch_warnings():
                # Points are no rows of a person's: there is nothing to mend in them.
                warnings.simplefilter("ignore", DiscrimWarning)
                return decide(self.table(names, points, held))

        return values

    def classify(self, names: Sequence[str]) -> Callable[[Floats], Codes]:
        """From points of a plane to codes of their classes."""
        fit = self.fit
        return self.values(names, lambda table: fit.predicted_codes(fit.new_rows(table)))

    def points(self, names: Sequence[str]) -> tuple[Floats, Codes]:
        """The rows in a plane (n, len(names)), and their classes; none where there are no rows."""
        if self.rows is None:
            return np.empty((0, len(names))), np.empty(0, dtype=np.intp)
        return _numbers(self.rows.blocks.table, names), self.rows.codes

    def limits(self, names: Sequence[str]) -> tuple[Limits, ...]:
        """The range of each column, with a margin as far as the formula bears one."""
        bare = [self._range(name) for name in names]
        wide = tuple((low - 0.06 * _width(low, high), high + 0.06 * _width(low, high)) for low, high in bare)
        corners = np.array(np.meshgrid(*wide)).reshape(len(names), -1).T
        try:
            self.classify(names)(corners)
        except DataError:
            # Beyond the rows a logarithm, or a spline, may have no value.
            return tuple((low, high if high > low else low + _width(low, high)) for low, high in bare)
        return wide

    def _range(self, name: str) -> Limits:
        if self.rows is not None:
            values, codes = self.points([name])
            known = values[np.isfinite(values[:, 0]) & ((codes >= 0) | (codes < 0).all()), 0]
            if not len(known):
                raise DataError(f"No row has a finite number in {name!r}: give rows that have as data=.")
            return float(known.min()), float(known.max())
        means, sd = _moments_of(self.fit, name)
        return float((means - 3 * sd).min()), float((means + 3 * sd).max())


def _numbers(table: Table, names: Sequence[str]) -> Floats:
    """Columns (n, len(names)) of a table as numbers; a column of text is an error that names it."""
    out = np.empty((table.nrows, len(names)))
    table.fill(list(names), 0, table.nrows, out)
    return out


def _width(low: float, high: float) -> float:
    return (high - low) or abs(low) or 1.0


def _moments_of(fit: Fit[Any], name: str) -> tuple[Floats, float]:
    """Means of a column in the classes that have rows, and its standard deviation within them."""
    held: Any = fit.numbers
    moments = held.moments
    if name not in fit.terms:
        raise NotSupportedError(
            f"The range of column {name!r}, which the formula transforms, is not known to a fit "
            "without rows: give rows as data=."
        )
    j = list(fit.terms).index(name)
    scatters = np.asarray(moments.scatters)
    squares = scatters[..., j, j] if scatters.ndim == 3 else scatters[..., j]
    there = moments.counts > 0
    freedom = max(float(moments.counts.sum() - there.sum()), 1.0)
    return np.asarray(moments.class_means[there, j]), float(np.sqrt(squares.sum() / freedom)) / float(
        moments.scale[j]
    )


def ground_of(
    results: Any, asked: Asked, kind: str, most: int, columns: Sequence[str] | None = None
) -> Ground:
    """The columns asked for, or the first, and where the others are held.

    Raises
    ------
    DataError
        A column is not among those of numbers, or is named twice; a value to hold it at is none.
    NotSupportedError
        The formula reads no column as numbers.
    """
    fit = results._fit
    every = numeric_columns(fit.blocks.design)
    if not every:
        raise NotSupportedError(
            f"kind={kind!r} draws columns of numbers, and the formula {fit.formula!r} reads none: choose "
            "another kind."
        )
    names = tuple(columns if columns is not None else chosen(every, asked, kind, most))
    rows = drawn_rows(fit, asked)
    given = given_values(asked, fit.blocks.design.columns, names, every)
    held = {
        name: given[name] if name in given else _usual(fit, rows, name, name in every)
        for name in fit.blocks.design.columns
        if name not in names or len(names) > 2
    }
    return Ground(fit, rows, names, held, given, tuple(every))


def chosen(every: Sequence[str], asked: Asked, kind: str, most: int) -> list[str]:
    """The columns asked for, or the first two."""
    if asked.columns is None:
        return list(every[:2])
    names = [asked.columns] if isinstance(asked.columns, str) else list(asked.columns)
    unknown = [name for name in names if not isinstance(name, str) or name not in every]
    if unknown or not names or len(set(names)) < len(names) or len(names) > most:
        what = f"{told(unknown[0])} is none: " if unknown else ""
        raise DataError(
            f"columns={names}: kind={kind!r} draws up to {most} different columns of numbers; {what}name "
            f"some of {listed(every, most=20)}."
        )
    return names


def given_values(
    asked: Asked, columns: Sequence[str], shown: Sequence[str], numeric: Sequence[str]
) -> dict[str, Any]:
    """The values at which a person holds columns.

    Raises
    ------
    DataError
        A column is not read by the formula, or is drawn; its value is missing, or no number where the
        formula reads one.
    """
    if asked.at is None:
        return {}
    at = asked.at.to_dict() if isinstance(asked.at, pd.Series) else asked.at
    if not isinstance(at, Mapping):
        raise DataError(f"at={told(asked.at)}: give a value for each column to hold, as at={{'c': 3.0}}.")
    for name, value in at.items():
        if name not in columns:
            raise DataError(
                f"at= holds {told(name)}, which the formula does not read: name some of {listed(columns)}."
            )
        if name in shown and len(shown) <= 2:
            raise DataError(f"at= holds column {name!r}, which is drawn: name others.")
        if not np.ndim(value) and pd.isna(value):
            raise DataError(f"at= holds column {name!r} at a missing value: give another, or leave it out.")
        if name in numeric and not (is_number(value) and np.isfinite(value)):
            raise DataError(f"at= holds column {name!r} at {told(value)}: give a finite number.")
    return dict(at)


def _usual(fit: Fit[Any], rows: DrawnRows | None, name: str, numeric: bool) -> Any:
    """The mean of a column, or its most frequent level; of the rows drawn, or by the moments of the fit."""
    if rows is None:
        if not numeric:
            raise NotSupportedError(
                f"The most frequent level of column {name!r} is not known to a fit without rows: give one, "
                f"as at={{{name!r}: ...}}."
            )
        means, _ = _moments_of(fit, name)
        counts = np.asarray(fit.counts)[np.asarray(fit.counts) > 0]
        return float(counts @ means / counts.sum())
    column = rows.blocks.table.column(name)
    weights = rows.blocks.weights if rows.blocks.weights is not None else np.ones(len(column))
    used = column.notna().to_numpy() & np.isfinite(weights) & (weights > 0)
    if (rows.codes >= 0).any():
        used &= rows.codes >= 0
    if not used.any():
        raise DataError(f"No row has a value in {name!r}: give one, as at={{{name!r}: ...}}.")
    if numeric:
        return float(np.average(_numbers(rows.blocks.table, [name])[used, 0], weights=weights[used]))
    # As objects, levels keep their own types, and ties go to the first in their order.
    sums = pd.Series(weights[used]).groupby(column[used].astype(object).to_numpy()).sum()
    return sums.index[int(np.argmax(sums.to_numpy()))]


def told_held(ground: Ground, names: Sequence[str]) -> str:
    """Where the other columns are held, for a title; empty where there are none."""
    held = ground.others(names)
    if not held:
        return ""
    order = [*(name for name in held if name in ground.given), *(n for n in held if n not in ground.given)]
    said = []
    for name in order[:MOST_TOLD]:
        value = held[name]
        said.append(f"{name} = {value:.4g}" if is_number(value) else f"{name} = {value}")
    more = len(order) - MOST_TOLD
    rest = f" and {more} more at their means or most frequent levels" if more > 0 else ""
    return f"held: {', '.join(said)}{rest}"
