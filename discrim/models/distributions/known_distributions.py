"""Validation of a distribution that the user specifies, its points and the rules that are compared with it.

The verb `bayes` and its plots use this module. The integrals are in `core.distributions.bayes_law`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.distributions.bayes_law import DensityLaw, MassLaw
from discrim.core.distributions.densities import density_of
from discrim.core.numerics.arrays import Codes, Floats
from discrim.data.table import Table
from discrim.data.values import shown
from discrim.errors import DataError, DiscrimError, NotSupportedError
from discrim.models.base import reading


@dataclass(frozen=True, slots=True, eq=False)
class KnownDistribution:
    """A distribution with the names of its classes, columns and values.

    Attributes
    ----------
    law : MassLaw or DensityLaw
        Probabilities of values, or densities by class.
    classes : Index (K,)
        Class labels.
    columns : Index (p,)
        Names of the columns of x.
    values : Index (V,) or None
        Values of x of a table of probabilities.
    densities : dict
        The distributions by class as the user passed them; empty for a table.
    """

    law: MassLaw | DensityLaw
    classes: pd.Index
    columns: pd.Index
    values: pd.Index | None
    densities: dict[Any, Any]


def known_distribution(
    densities: Any, columns: Sequence[str] | None, response: str | None
) -> KnownDistribution:
    """Validate a table of probabilities, or distributions by class, and name its classes and columns.

    Parameters
    ----------
    densities : DataFrame of P(x | class), or mapping or Series of distributions by class
        The class densities.
    columns : sequence of str, optional
        Names of the columns of x.
    response : str, optional
        Name of the class.

    Returns
    -------
    KnownDistribution

    Raises
    ------
    DataError
        A density or a name is invalid, or densities cannot be combined.
    """
    _refuse_names(columns, response)
    if isinstance(densities, pd.DataFrame):
        return _table_law(densities, columns, response)
    if isinstance(densities, pd.Series):
        _class_index(densities.index.tolist(), response or "y")
        densities = dict(zip(densities.index, densities, strict=True))
    if not isinstance(densities, Mapping):
        raise DataError(
            f"densities is a {type(densities).__name__}.",
            hint=(
                "Give a DataFrame of P(x | class), a row for each class, or a dict of frozen scipy.stats "
                "distributions by class."
            ),
        )
    distributions = dict(densities)
    classes = _class_index(list(distributions), response or "y")
    checked = []
    for label, distribution in distributions.items():
        try:
            checked.append(density_of(distribution))
        except DiscrimError as error:
            raise error.with_message(f"Class {label!r}: {error.message}", classes=(label,)) from error
        except Exception as error:
            # A distribution may be the user's own code, which can raise any exception.
            raise DataError(
                f"Class {label!r}: its distribution raised {type(error).__name__}: {error}.",
                hint="Correct it, or give a frozen distribution of scipy.stats.",
                classes=(label,),
            ) from error
    law = DensityLaw(tuple(checked))
    for label, density in zip(classes, checked, strict=True):
        if density.dim != law.dim:
            raise DataError(
                f"Class {label!r} has {density.dim} columns, class {shown(classes[0])} {law.dim}.",
                hint="Give densities of the same x.",
                classes=(label, classes[0]),
            )
        if density.discrete != law.discrete:
            raise DataError(
                f"Class {label!r} has {'probabilities' if density.discrete else 'a density'}, class "
                f"{shown(classes[0])} does not.",
                hint="Give densities, or probabilities, to all classes alike.",
                classes=(label, classes[0]),
            )
    default = ["x"] if law.dim == 1 else [f"x{j + 1}" for j in range(law.dim)]
    return KnownDistribution(law, classes, _column_index(columns, default, classes.name), None, distributions)


def _table_law(table: pd.DataFrame, columns: Sequence[str] | None, response: str | None) -> KnownDistribution:
    """Validate a table of probabilities.

    Parameters
    ----------
    table : DataFrame
        P(x | class), classes by values of x.
    columns : sequence of str, optional
        Names of the columns of x; by default the names in the table.
    response : str, optional
        Name of the class; by default the name of the index.

    Returns
    -------
    KnownDistribution

    Raises
    ------
    DataError
        A value is duplicated, a probability is invalid, or the probabilities of a class do not sum to one.
    """
    classes = _class_index(table.index.tolist(), str(response or table.index.name or "y"))
    values = table.columns
    if not len(values):
        raise DataError("The table has no columns.", hint="Give P(x | class), a column for each value of x.")
    if values.has_duplicates:
        raise DataError(
            f"The value {reading.listed(values[values.duplicated()])} is there twice.",
            hint="Add its columns up.",
        )
    try:
        mass = table.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "The table is not numeric.", hint="Give P(x | class), a row for each class."
        ) from None
    for bad, what in ((~np.isfinite(mass), "not a number"), (mass < 0, "negative")):
        if bad.any():
            k, v = np.argwhere(bad)[0]
            raise DataError(
                f"P({shown(values[v])} | {shown(classes[k])}) is {what} ({mass[k, v]:g}).",
                hint="Give probabilities.",
            )
    sums = mass.sum(axis=1)
    off = np.abs(sums - 1) > reading.PRIOR_SLACK
    if off.any():
        k = int(np.argmax(off))
        turned = mass.shape[0] and (np.abs(mass.sum(axis=0) - 1) <= reading.PRIOR_SLACK).all()
        raise DataError(
            f"The row of class {shown(classes[k])} sums to {sums[k]:.10g}, not to one.",
            hint="Transpose it with .T, as its columns do."
            if turned
            else "Divide it by its sum if that is meant.",
            classes=(classes[k],),
        )
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
    return KnownDistribution(law, classes, index, named_values, {})


def _refuse_names(columns: Any, response: Any) -> None:
    """Raise DataError if `columns` or `response` cannot be a name."""
    if not (columns is None or isinstance(columns, str | Iterable)):
        raise DataError(
            f"columns={reading.told(columns)} is not valid.",
            hint="Give the names of the columns of x, in a list.",
        )
    if not isinstance(response, Hashable):
        raise DataError(
            f"response={reading.told(response)} is not valid.", hint="Give the name of the column of classes."
        )


def _class_index(labels: list[Any], name: str) -> pd.Index:
    """Validate class labels and return them as an Index with a name."""
    if any(pd.isna(label) for label in labels if np.ndim(label) == 0):
        raise DataError("A class has a missing name.", hint="Name every class.")
    tuples = [label for label in labels if isinstance(label, tuple)]
    if tuples:
        raise DataError(
            f"The class {tuples[0]!r} is a tuple.",
            hint="Name classes by text, numbers or booleans.",
            classes=(tuples[0],),
        )
    twice = [label for k, label in enumerate(labels) if str(label) in map(str, labels[:k])]
    if twice:
        raise DataError(
            f"Class names overlap: {reading.listed(twice)} is there twice.",
            hint="Give each class a name of its own.",
        )
    if len(labels) < 2:
        which = f"of one class, {shown(labels[0])}" if labels else "without classes"
        raise DataError(f"A law {which}: classification needs two.", hint="Give another class.")
    index: pd.Index = pd.Index(labels, name=name)
    return index


def _column_index(columns: Sequence[str] | None, default: list[Any], response: Any) -> pd.Index:
    """Return the names of the columns of x.

    Parameters
    ----------
    columns : sequence of str, optional
        Names that the user passed.
    default : list
        Names that are used otherwise; their number is p.
    response : object
        Name of the class, which must differ.

    Returns
    -------
    Index (p,)

    Raises
    ------
    DataError
        The number of names is wrong, or a name is duplicated.
    """
    names = [columns] if isinstance(columns, str) else list(default if columns is None else columns)
    if len(names) != len(default):
        raise DataError(
            f"columns has {len(names)} names, {reading.listed(names)}; x has {len(default)} columns.",
            hint="Give a name for each.",
        )
    names = [str(name) for name in names]
    twice = [name for j, name in enumerate(names) if name in names[:j] or name == str(response)]
    if twice:
        raise DataError(
            f"The name {twice[0]!r} is there twice.", hint="Name columns and response= differently."
        )
    return pd.Index(names)


# ---- values of x


def points_of(known: KnownDistribution, data: Any) -> tuple[Floats, pd.Index]:
    """Read new data as points.

    Parameters
    ----------
    known : KnownDistribution
        The distribution.
    data : table, array, values or None
        New data; None stands for all values of a table of probabilities.

    Returns
    -------
    x : (n, p) or (n, 1) float64
        The points, or for a table of probabilities their positions among its values. Missing values are NaN.
    index : Index
        Index of the rows.

    Raises
    ------
    DataError
        A value is infinite, not a number, or not in the table of probabilities.
    """
    if known.values is None:
        return _numbers(known, data)
    if data is None:
        return np.arange(len(known.values), dtype=np.float64)[:, None], known.values
    columns, index = _columns(known, data)
    missing = np.zeros(len(index), dtype=bool)
    for column in columns:
        missing |= pd.isna(column)
    values = known.values
    complete = np.flatnonzero(~missing)
    present = [column[complete].tolist() for column in columns]
    wanted = pd.Index(present[0]) if len(present) == 1 else pd.MultiIndex.from_arrays(present)
    codes = np.full(len(index), -1, dtype=np.intp)
    if len(complete):
        codes[complete] = values.get_indexer(wanted)
    strange = (codes < 0) & ~missing
    if strange.any():
        row = int(np.argmax(strange))
        value = tuple(column[row] for column in columns)
        said = shown(value[0] if len(value) == 1 else value)
        names = reading.listed(known.columns)
        raise DataError(
            f"The value {said} of {names} at row {shown(index[row])} is not in the table of densities: "
            f"its values are {reading.listed(values)}.",
            hint="Correct the value, or leave the row out.",
            rows=(index[row],),
        )
    return np.where(missing, np.nan, codes)[:, None], index


def _is_table(data: Any) -> bool:
    """Whether data is a table with named columns."""
    return isinstance(data, (pd.DataFrame, dict)) or (hasattr(data, "columns") and not hasattr(data, "name"))


def _numbers(known: KnownDistribution, data: Any) -> tuple[Floats, pd.Index]:
    """Read new data as numbers (n, p), with the index of the rows; see `points_of`."""
    if data is None:
        raise DataError("This law has no rows of its own.", hint="Pass data, a table or values of x.")
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
            raise DataError(
                "x is not numeric.", hint=f"Give {reading.listed(known.columns)} as numbers."
            ) from None
        if values.ndim < 2:
            values = values.reshape(-1, 1) if p == 1 else values.reshape(1, -1)
        if values.ndim != 2 or values.shape[1] != p:
            raise DataError(
                f"x has shape {np.shape(data)}.", hint=f"Give rows of {p}: {reading.listed(known.columns)}."
            )
        x = values
        index = data.index if isinstance(data, pd.Series) else pd.RangeIndex(len(values))
    infinite = np.isinf(x)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise DataError(
            f"Column {known.columns[column]!r} is infinite at row {shown(index[row])}.",
            hint="Replace the value.",
            columns=(known.columns[column],),
            rows=(index[row],),
        )
    return x, index


def _columns(known: KnownDistribution, data: Any) -> tuple[list[NDArray[Any]], pd.Index]:
    """Read new data as p columns of objects (n,), with the index of the rows."""
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
        raise DataError(
            f"A row of x is not {p} values.", hint=f"Give {reading.listed(known.columns)} of each."
        )
    return [np.array([row[j] for row in rows], dtype=object) for j in range(p)], pd.RangeIndex(len(rows))


def law_frame(known: KnownDistribution, x: Floats) -> pd.DataFrame:
    """Return points as a table with the columns of the distribution.

    Parameters
    ----------
    known : KnownDistribution
        The distribution.
    x : (m, p) or (m, 1) float64
        Points, or positions among the values of a table of probabilities.

    Returns
    -------
    DataFrame
    """
    if known.values is None:
        return pd.DataFrame(x, columns=known.columns)
    taken = known.values[x[:, 0].astype(np.intp)]
    return pd.DataFrame(taken.to_frame(index=False))


# ---- rules that are compared with the best one


def ruled(known: KnownDistribution, rule: Any) -> Callable[[Floats], Codes]:
    """Convert a rule to a function of points that returns class codes.

    Parameters
    ----------
    known : KnownDistribution
        The distribution.
    rule : object
        A fit with `predict`, a function of a table (or of a Series if there is one column), or a Series or
        mapping of classes by value.

    Returns
    -------
    callable
        From points (m, p) to class codes (m,).
    """
    if isinstance(rule, (pd.Series, Mapping)):
        return _by_value(known, pd.Series(rule))
    if hasattr(rule, "predict"):
        return lambda x: codes_of_labels(known, x, rule.predict(law_frame(known, x)))
    if not callable(rule):
        raise DataError(
            f"A {type(rule).__name__} is no rule.",
            hint="Give a fit, a function, or a Series of classes by value.",
        )

    def called(x: Floats) -> Codes:
        frame = law_frame(known, x)
        return codes_of_labels(known, x, rule(frame.iloc[:, 0] if frame.shape[1] == 1 else frame))

    return called


def _by_value(known: KnownDistribution, rule: pd.Series) -> Callable[[Floats], Codes]:
    """Convert a Series of classes by value of a table to a function from positions (m, 1) to codes (m,)."""
    if known.values is None:
        raise NotSupportedError("A rule by value is one of a table.", hint="Give a function of x, or a fit.")
    if rule.index.has_duplicates:
        twice = reading.listed(rule.index[rule.index.duplicated()])
        raise DataError(f"The rule names {twice} more than once.", hint="Name each once.")
    place = rule.index.get_indexer(known.values)
    if (place < 0).any():
        raise DataError(
            f"The rule has no class for {reading.listed(known.values[place < 0])}.",
            hint="Give one for each value.",
        )
    return lambda x: codes_of_labels(known, x, rule.iloc[place[x[:, 0].astype(np.intp)]])


def codes_of_labels(known: KnownDistribution, x: Floats, labels: Any) -> Codes:
    """Return the positions of predicted labels among the classes.

    Parameters
    ----------
    known : KnownDistribution
        The distribution.
    x : (m, p) float64
        Points at which the labels were predicted, for the message.
    labels : (m,) array-like
        Predicted labels.

    Returns
    -------
    (m,) int

    Raises
    ------
    DataError
        The number of labels is wrong, or a label is not a class.
    """
    values = np.asarray(labels, dtype=object)
    if values.shape != (len(x),):
        raise DataError(
            f"The rule gave labels of shape {values.shape} for {len(x)} rows of x.",
            hint="Give one label a row.",
        )
    codes = known.classes.get_indexer(pd.Index(values, dtype=object))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        at = law_frame(known, x[row : row + 1]).iloc[0].to_dict()
        raise DataError(
            f"The rule assigns {at} to the unknown class {values[row]!r}.",
            classes=(values[row],),
            hint=f"Give one of {reading.listed(known.classes)}.",
        )
    return np.asarray(codes, dtype=np.intp)
