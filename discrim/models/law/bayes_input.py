"""What `bayes` is given: tables of probabilities, distributions by class, values of x, rules to be judged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.law.bayes_law import DensityLaw, MassLaw
from discrim.core.law.densities import density_of
from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError, DiscrimError, NotSupportedError
from discrim.frame.categories import shown
from discrim.frame.table import Table
from discrim.models.fits.reading import PRIOR_SLACK, listed, told


@dataclass(frozen=True, slots=True)
class Known:
    """A law with the names of its classes, columns and values.

    Attributes
    ----------
    values : Index or None
        The values of x of a table.
    densities : dict
        What was given for each class, of distributions.
    """

    law: MassLaw | DensityLaw
    classes: pd.Index
    columns: pd.Index
    values: pd.Index | None
    densities: dict[Any, Any]


def known_law(densities: Any, columns: Sequence[str] | None, response: str | None) -> Known:
    """The law that a table of probabilities, or distributions by class, describe."""
    _refuse_names(columns, response)
    if isinstance(densities, pd.DataFrame):
        return _table_law(densities, columns, response)
    if isinstance(densities, pd.Series):
        _class_index(densities.index.tolist(), response or "y")
        densities = dict(zip(densities.index, densities, strict=True))
    if not isinstance(densities, Mapping):
        raise DataError(
            f"densities is a {type(densities).__name__}: give a DataFrame of P(x | class), a row for each "
            "class, or a dict of frozen scipy.stats distributions by class."
        )
    distributions = dict(densities)
    classes = _class_index(list(distributions), response or "y")
    checked = []
    for label, distribution in distributions.items():
        try:
            checked.append(density_of(distribution))
        except DiscrimError as error:
            raise type(error)(f"Class {label!r}: {error}") from error
        except Exception as error:
            # What stands for a distribution is code of the user's.
            raise DataError(
                f"Class {label!r}: its distribution raised {type(error).__name__}: {error}. Correct it, or "
                "give a frozen distribution of scipy.stats."
            ) from error
    law = DensityLaw(tuple(checked))
    for label, density in zip(classes, checked, strict=True):
        if density.dim != law.dim:
            raise DataError(
                f"Class {label!r} has {density.dim} columns, class {shown(classes[0])} {law.dim}: give "
                "densities of the same x."
            )
        if density.discrete != law.discrete:
            raise DataError(
                f"Class {label!r} has {'probabilities' if density.discrete else 'a density'}, class "
                f"{shown(classes[0])} does not: give densities, or probabilities, to all classes "
                "alike."
            )
    default = ["x"] if law.dim == 1 else [f"x{j + 1}" for j in range(law.dim)]
    return Known(law, classes, _column_index(columns, default, classes.name), None, distributions)


def _table_law(table: pd.DataFrame, columns: Sequence[str] | None, response: str | None) -> Known:
    classes = _class_index(table.index.tolist(), str(response or table.index.name or "y"))
    values = table.columns
    if not len(values):
        raise DataError("The table has no columns: give P(x | class), a column for each value of x.")
    if values.has_duplicates:
        raise DataError(
            f"The value {listed(values[values.duplicated()])} is there twice: add its columns up."
        )
    try:
        mass = table.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("The table is not numeric: give P(x | class), a row for each class.") from None
    for bad, what in ((~np.isfinite(mass), "not a number"), (mass < 0, "negative")):
        if bad.any():
            k, v = np.argwhere(bad)[0]
            raise DataError(
                f"P({shown(values[v])} | {shown(classes[k])}) is {what} ({mass[k, v]:g}): give probabilities."
            )
    sums = mass.sum(axis=1)
    off = np.abs(sums - 1) > PRIOR_SLACK
    if off.any():
        k = int(np.argmax(off))
        turned = mass.shape[0] and (np.abs(mass.sum(axis=0) - 1) <= PRIOR_SLACK).all()
        hint = " Its columns do: turn it with .T." if turned else " Divide it by its sum if that is meant."
        raise DataError(f"The row of class {shown(classes[k])} sums to {sums[k]:.10g}, not to one.{hint}")
    levels = values.nlevels
    default = [
        name if name is not None else ("x" if levels == 1 else f"x{j + 1}")
        for j, name in enumerate(values.names)
    ]
    law = MassLaw(
        mass / sums[:, None], np.arange(mass.shape[1], dtype=np.float64)[:, None], np.zeros(len(mass))
    )
    index = _column_index(columns, default, classes.name)
    named_values = values.copy()
    named_values.names = index.tolist()
    return Known(law, classes, index, named_values, {})


def _refuse_names(columns: Any, response: Any) -> None:
    """Raise a DataError for names that are none."""
    if not (columns is None or isinstance(columns, str | Iterable)):
        raise DataError(f"columns={told(columns)}: give the names of the columns of x, in a list.")
    if not isinstance(response, Hashable):
        raise DataError(f"response={told(response)}: give the name of the column of classes.")


def _class_index(labels: list[Any], name: str) -> pd.Index:
    if any(pd.isna(label) for label in labels if np.ndim(label) == 0):
        raise DataError("A class has a missing name: name every class.")
    tuples = [label for label in labels if isinstance(label, tuple)]
    if tuples:
        raise DataError(f"The class {tuples[0]!r} is a tuple: name classes by text, numbers or booleans.")
    twice = [label for k, label in enumerate(labels) if str(label) in map(str, labels[:k])]
    if twice:
        raise DataError(
            f"Class names overlap: {listed(twice)} is there twice. Give each class a name of its own."
        )
    if len(labels) < 2:
        which = f"of one class, {shown(labels[0])}" if labels else "without classes"
        raise DataError(f"A law {which}: classification needs two: give another class.")
    index: pd.Index = pd.Index(labels, name=name)
    return index


def _column_index(columns: Sequence[str] | None, default: list[Any], response: Any) -> pd.Index:
    names = [columns] if isinstance(columns, str) else list(default if columns is None else columns)
    if len(names) != len(default):
        raise DataError(
            f"columns has {len(names)} names, {listed(names)}; x has {len(default)} columns: give a name for "
            "each."
        )
    names = [str(name) for name in names]
    twice = [name for j, name in enumerate(names) if name in names[:j] or name == str(response)]
    if twice:
        raise DataError(f"The name {twice[0]!r} is there twice: name columns and response= differently.")
    return pd.Index(names)


# ---- values of x


def points_of(known: Known, data: Any) -> tuple[Floats, pd.Index]:
    """Rows x (n, p) of new data, or positions (n, 1) among a table's values; missing ones are NaN."""
    if known.values is None:
        return _numbers(known, data)
    if data is None:
        return np.arange(len(known.values), dtype=np.float64)[:, None], known.values
    columns, index = _columns(known, data)
    missing = np.zeros(len(index), dtype=bool)
    for column in columns:
        missing |= pd.isna(column)
    values, complete = known.values, np.flatnonzero(~missing)
    present = [column[complete].tolist() for column in columns]
    wanted = pd.Index(present[0]) if len(present) == 1 else pd.MultiIndex.from_arrays(present)
    codes = np.full(len(index), -1, dtype=np.intp)
    if len(complete):
        codes[complete] = values.get_indexer(wanted)
    strange = (codes < 0) & ~missing
    if strange.any():
        row = int(np.argmax(strange))
        value = tuple(column[row] for column in columns)
        raise DataError(
            f"The value {shown(value[0] if len(value) == 1 else value)} of {listed(known.columns)} at row "
            f"{shown(index[row])} is not in the table of densities: its values are {listed(values)}. "
            "Correct the value, or leave the row out."
        )
    return np.where(missing, np.nan, codes)[:, None], index


def _is_table(data: Any) -> bool:
    return isinstance(data, (pd.DataFrame, dict)) or (hasattr(data, "columns") and not hasattr(data, "name"))


def _numbers(known: Known, data: Any) -> tuple[Floats, pd.Index]:
    if data is None:
        raise DataError("This law has no rows of its own: pass data, a table or values of x.")
    p = len(known.columns)
    if _is_table(data):
        table = Table(data)
        x = np.empty((table.nrows, p))
        for name in known.columns:
            table.position(name)
        table.fill(known.columns.tolist(), 0, table.nrows, x)
        index = table.index
    else:
        try:
            values = np.asarray(data, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"x is not numeric: give {listed(known.columns)} as numbers.") from None
        if values.ndim < 2:
            values = values.reshape(-1, 1) if p == 1 else values.reshape(1, -1)
        if values.ndim != 2 or values.shape[1] != p:
            raise DataError(f"x has shape {np.shape(data)}; give rows of {p}: {listed(known.columns)}.")
        x, index = values, data.index if isinstance(data, pd.Series) else pd.RangeIndex(len(values))
    infinite = np.isinf(x)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise DataError(
            f"Column {known.columns[column]!r} is infinite at row {shown(index[row])}: replace the value."
        )
    return x, index


def _columns(known: Known, data: Any) -> tuple[list[NDArray[Any]], pd.Index]:
    """Columns of values, and the index of the rows."""
    p = len(known.columns)
    if _is_table(data):
        table = Table(data)
        return [table.column(name).to_numpy(dtype=object) for name in known.columns], table.index
    if isinstance(data, pd.MultiIndex):
        return [data.get_level_values(j).to_numpy(dtype=object) for j in range(data.nlevels)], pd.RangeIndex(
            len(data)
        )
    if p == 1:
        series = (
            data if isinstance(data, pd.Series) else pd.Series(np.atleast_1d(np.asarray(data, dtype=object)))
        )
        return [series.to_numpy(dtype=object)], series.index
    rows = [data] if isinstance(data, tuple) else list(data)
    if any(np.ndim(row) != 1 or len(row) != p for row in rows):
        raise DataError(f"A row of x is not {p} values: give {listed(known.columns)} of each.")
    return [np.array([row[j] for row in rows], dtype=object) for j in range(p)], pd.RangeIndex(len(rows))


def law_frame(known: Known, x: Floats) -> pd.DataFrame:
    """Points (m, p), or positions (m, 1) among a table's values, as a table with the law's columns."""
    if known.values is None:
        return pd.DataFrame(x, columns=known.columns)
    taken = known.values[x[:, 0].astype(np.intp)]
    return pd.DataFrame(taken.to_frame(index=False))


# ---- rules of others


def ruled(known: Known, rule: Any) -> Callable[[Floats], Codes]:
    """The classes that a rule calls at points of the law, as codes.

    A fit has `predict`; a function is given x as its predict would be, one column as a Series.
    """
    if isinstance(rule, (pd.Series, Mapping)):
        return _by_value(known, pd.Series(rule))
    if hasattr(rule, "predict"):
        return lambda x: positions_of(known, x, rule.predict(law_frame(known, x)))
    if not callable(rule):
        raise DataError(
            f"A {type(rule).__name__} is no rule: give a fit, a function, or a Series of classes by value."
        )

    def called(x: Floats) -> Codes:
        frame = law_frame(known, x)
        return positions_of(known, x, rule(frame.iloc[:, 0] if frame.shape[1] == 1 else frame))

    return called


def _by_value(known: Known, rule: pd.Series) -> Callable[[Floats], Codes]:
    if known.values is None:
        raise NotSupportedError("A rule by value is one of a table: give a function of x, or a fit.")
    if rule.index.has_duplicates:
        raise DataError(
            f"The rule names {listed(rule.index[rule.index.duplicated()])} more than once: name each once."
        )
    place = rule.index.get_indexer(known.values)
    if (place < 0).any():
        raise DataError(
            f"The rule has no class for {listed(known.values[place < 0])}: give one for each value."
        )
    return lambda x: positions_of(known, x, rule.iloc[place[x[:, 0].astype(np.intp)]])


def positions_of(known: Known, x: Floats, labels: Any) -> Codes:
    """Positions of labels among the classes."""
    values = np.asarray(labels, dtype=object)
    if values.shape != (len(x),):
        raise DataError(
            f"The rule gave labels of shape {values.shape} for {len(x)} rows of x: give one label a row."
        )
    codes = known.classes.get_indexer(pd.Index(values, dtype=object))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        at = law_frame(known, x[row : row + 1]).iloc[0].to_dict()
        raise DataError(
            f"The rule calls {at} {values[row]!r}, which is no class of this law: give one of "
            f"{listed(known.classes)}."
        )
    return np.asarray(codes, dtype=np.intp)
