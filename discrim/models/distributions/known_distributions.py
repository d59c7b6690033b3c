"""Validation of a distribution that the user specifies, its points and the rules that are compared with it.

The verb `bayes` and its plots use this module. The integrals are in `core.distributions.bayes_distribution`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.distributions.bayes_distribution import DensityDistribution, MassDistribution
from discrim.core.distributions.densities import to_density
from discrim.core.numerics.arrays import Codes, Floats
from discrim.data.table import Table
from discrim.data.values import format_value
from discrim.errors import DataError, DiscrimError, NotSupportedError
from discrim.models.base import reading


@dataclass(frozen=True, slots=True, eq=False)
class KnownDistribution:
    """A distribution that the user specified, with the names of its classes, columns and values.

    Attributes
    ----------
    class_distributions : MassDistribution or DensityDistribution
        Probabilities of the V values of x in each class (from a table), or the densities of the classes.
    classes : Index (K,)
        Class labels.
    columns : Index (p,)
        Names of the columns of x.
    values : Index (V,) or None
        Values of x of a table of probabilities, a MultiIndex for several columns; None for densities.
    densities : dict
        The distributions by class label as the user passed them; empty for a table.
    """

    class_distributions: MassDistribution | DensityDistribution
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
        Names of the columns of x; by default the names of a table, or "x", or "x1", "x2", ...
    response : str, optional
        Name of the class, which becomes the name of `classes`; by default a table's index name, or "y".

    Returns
    -------
    KnownDistribution
        The classes are in the order of `densities`.

    Raises
    ------
    DataError
        A density or a name is invalid, there are fewer than two classes, or densities cannot be combined.
    """
    _raise_if_not_names(columns, response)
    if isinstance(densities, pd.DataFrame):
        return _distribution_from_table(densities, columns, response)
    if isinstance(densities, pd.Series):
        _class_index(densities.index.tolist(), response or "y")
        densities = dict(zip(densities.index, densities, strict=True))
    if not isinstance(densities, Mapping):
        raise DataError(
            f"densities= is a {type(densities).__name__}, not a DataFrame or dict.",
            hint=(
                "Pass a DataFrame of P(x | class) with a row for each class, or a dict of frozen scipy.stats "
                "distributions by class."
            ),
        )
    distributions = dict(densities)
    classes = _class_index(list(distributions), response or "y")
    checked = []
    for label, distribution in distributions.items():
        try:
            checked.append(to_density(distribution))
        except DiscrimError as error:
            raise error.with_message(f"Class {label!r}: {error.message}", classes=(label,)) from error
        except Exception as error:
            # A distribution may be the user's own code, which can raise any exception.
            raise DataError(
                f"The distribution of class {label!r} raised {type(error).__name__}: {error}.",
                hint="Correct the distribution, or pass a frozen distribution of scipy.stats.",
                classes=(label,),
            ) from error
    class_distributions = DensityDistribution(tuple(checked))
    for label, density in zip(classes, checked, strict=True):
        if density.dim != class_distributions.dim:
            raise DataError(
                f"Class {label!r} has {density.dim} columns, class {format_value(classes[0])} "
                f"{class_distributions.dim}.",
                hint="Pass densities of the same columns for all classes.",
                classes=(label, classes[0]),
            )
        if density.is_discrete != class_distributions.is_discrete:
            raise DataError(
                f"Class {label!r} has {'probabilities' if density.is_discrete else 'a density'}, class "
                f"{format_value(classes[0])} does not.",
                hint="Pass either densities or probabilities for all classes.",
                classes=(label, classes[0]),
            )
    default = ["x"] if class_distributions.dim == 1 else [f"x{j + 1}" for j in range(class_distributions.dim)]
    return KnownDistribution(
        class_distributions, classes, _column_index(columns, default, classes.name), None, distributions
    )


def _distribution_from_table(
    table: pd.DataFrame, columns: Sequence[str] | None, response: str | None
) -> KnownDistribution:
    """Validate a table of probabilities and convert it to a `KnownDistribution`.

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
        With the probabilities of each class divided by their sum.

    Raises
    ------
    DataError
        A value is duplicated, a probability is invalid, or the probabilities of a class do not sum to one.
    """
    classes = _class_index(table.index.tolist(), str(response or table.index.name or "y"))
    values = table.columns
    if not len(values):
        raise DataError(
            "The table of densities has no columns.",
            hint="Pass P(x | class), with a column for each value of x.",
        )
    if values.has_duplicates:
        raise DataError(
            "The table of densities has duplicate values of x: "
            f"{reading.join_labels(values[values.duplicated()])}.",
            hint="Add up the columns of equal values.",
        )
    try:
        mass = table.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "The table of densities is not numeric.", hint="Pass P(x | class), with a row for each class."
        ) from None
    for is_invalid, problem in ((~np.isfinite(mass), "not a number"), (mass < 0, "negative")):
        if is_invalid.any():
            k, v = np.argwhere(is_invalid)[0]
            raise DataError(
                f"P({format_value(values[v])} | {format_value(classes[k])}) is {problem} ({mass[k, v]:g}).",
                hint="Pass probabilities.",
                classes=(classes[k],),
            )
    sums = mass.sum(axis=1)
    is_off = np.abs(sums - 1) > reading.MAX_PRIOR_SUM_ERROR
    if is_off.any():
        k = int(np.argmax(is_off))
        is_transposed = mass.shape[0] and (np.abs(mass.sum(axis=0) - 1) <= reading.MAX_PRIOR_SUM_ERROR).all()
        raise DataError(
            f"The probabilities of class {format_value(classes[k])} sum to {sums[k]:.10g} instead of one.",
            hint="Transpose the table with .T: its columns sum to one."
            if is_transposed
            else "Divide the row by its sum if it contains weights.",
            classes=(classes[k],),
        )
    levels = values.nlevels
    default = [
        name if name is not None else ("x" if levels == 1 else f"x{j + 1}")
        for j, name in enumerate(values.names)
    ]
    class_distributions = MassDistribution(
        mass / sums[:, None], np.arange(mass.shape[1], dtype=np.float64)[:, None], np.zeros(len(mass))
    )
    index = _column_index(columns, default, classes.name)
    named_values = values.copy()
    named_values.names = index.tolist()
    return KnownDistribution(class_distributions, classes, index, named_values, {})


def _raise_if_not_names(columns: Any, response: Any) -> None:
    """Raise DataError if `columns` is not None, text or an iterable, or `response` is not hashable."""
    if not (columns is None or isinstance(columns, str | Iterable)):
        raise DataError(
            f"columns={reading.format_argument(columns)} is not valid.",
            hint="Pass a list of names of the columns of x.",
        )
    if not isinstance(response, Hashable):
        raise DataError(
            f"response={reading.format_argument(response)} is not valid.",
            hint="Pass a name for the column of classes.",
        )


def _class_index(labels: list[Any], name: str) -> pd.Index:
    """Validate class labels and return them as an Index with a name.

    Raises DataError if a label is missing, a tuple or equal to another as text, or if there is only one.
    """
    if any(pd.isna(label) for label in labels if np.ndim(label) == 0):
        raise DataError("A class label is missing.", hint="Label every class.")
    tuples = [label for label in labels if isinstance(label, tuple)]
    if tuples:
        raise DataError(
            f"The class label {tuples[0]!r} is a tuple.",
            hint="Use text, numbers or booleans as class labels.",
            classes=(tuples[0],),
        )
    duplicates = [label for k, label in enumerate(labels) if str(label) in map(str, labels[:k])]
    if duplicates:
        raise DataError(
            f"Duplicate class labels: {reading.join_labels(duplicates)}.",
            hint="Use different labels for the classes.",
            classes=duplicates,
        )
    if len(labels) < 2:
        class_text = f"only {format_value(labels[0])}" if labels else "none"
        raise DataError(
            f"Classification requires at least two classes; densities= has {class_text}.",
            hint="Add another class.",
        )
    index: pd.Index = pd.Index(labels, name=name)
    return index


def _column_index(columns: Sequence[str] | None, default: list[Any], response: Any) -> pd.Index:
    """Validate the names of the columns of x and return them as an Index.

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
        Names as text.

    Raises
    ------
    DataError
        The number of names is wrong, or a name is duplicated or equal to `response`.
    """
    names = [columns] if isinstance(columns, str) else list(default if columns is None else columns)
    if len(names) != len(default):
        raise DataError(
            f"columns= has {len(names)} names, {reading.join_labels(names)}, but x has {len(default)} "
            "columns.",
            hint="Pass a name for each column.",
        )
    names = [str(name) for name in names]
    duplicates = [name for j, name in enumerate(names) if name in names[:j] or name == str(response)]
    if duplicates:
        raise DataError(
            f"The name {duplicates[0]!r} is used twice.",
            hint="Use different names for the columns and the response.",
            columns=(duplicates[0],),
        )
    return pd.Index(names)


# ---- values of x


def read_points(distribution: KnownDistribution, data: Any) -> tuple[Floats, pd.Index]:
    """Read new data as points x of the distribution.

    Parameters
    ----------
    distribution : KnownDistribution
        The distribution.
    data : table, array, values or None
        New data; None stands for all values of a table of probabilities. A sequence contains the values of
        the only column, or one point of several columns.

    Returns
    -------
    x : (n, p) or (n, 1) float64
        The points, or for a table of probabilities their positions among its values, NaN if a value is
        missing.
    index : Index
        Index of the rows: of a table or Series, the values themselves if `data` is None, else positions.

    Raises
    ------
    DataError
        A column is missing, or a value is infinite, not a number, or not in the table of probabilities. Also
        if `data` is None for densities.
    """
    if distribution.values is None:
        return _read_numbers(distribution, data)
    if data is None:
        return np.arange(len(distribution.values), dtype=np.float64)[:, None], distribution.values
    columns, index = _read_columns(distribution, data)
    missing = np.zeros(len(index), dtype=bool)
    for column in columns:
        missing |= pd.isna(column)
    values = distribution.values
    complete = np.flatnonzero(~missing)
    present = [column[complete].tolist() for column in columns]
    keys = pd.Index(present[0]) if len(present) == 1 else pd.MultiIndex.from_arrays(present)
    codes = np.full(len(index), -1, dtype=np.intp)
    if len(complete):
        codes[complete] = values.get_indexer(keys)
    is_unknown = (codes < 0) & ~missing
    if is_unknown.any():
        row = int(np.argmax(is_unknown))
        value = tuple(column[row] for column in columns)
        value_text = format_value(value[0] if len(value) == 1 else value)
        names = reading.join_labels(distribution.columns)
        raise DataError(
            f"Unknown value {value_text} of {names} in row {format_value(index[row])}. The values of the "
            f"table of densities are {reading.join_labels(values)}.",
            hint="Correct the value, or leave out the row.",
            columns=list(distribution.columns),
            rows=(index[row],),
        )
    return np.where(missing, np.nan, codes)[:, None], index


def _is_table(data: Any) -> bool:
    """Return whether data is a table with named columns: a DataFrame of any library, or a dict."""
    return isinstance(data, (pd.DataFrame, dict)) or (hasattr(data, "columns") and not hasattr(data, "name"))


def _read_numbers(distribution: KnownDistribution, data: Any) -> tuple[Floats, pd.Index]:
    """Read new data as numbers (n, p), NaN if missing, with the index of the rows.

    `data` is a table, an array, or values, as in `read_points`. Raises DataError if it is None, has another
    number of columns or lacks one, or if a value is infinite or not a number.
    """
    if data is None:
        raise DataError(
            "A known distribution does not have rows to predict.", hint="Pass data=, a table or values of x."
        )
    p = len(distribution.columns)
    if _is_table(data):
        table = Table(data)
        x = np.empty((table.nrows, p))
        for name in distribution.columns:
            table.position(name)
        table.fill(distribution.columns.tolist(), 0, table.nrows, x)
        index = table.index
    else:
        try:
            values = np.asarray(data, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                "x is not numeric.", hint=f"Pass numbers for {reading.join_labels(distribution.columns)}."
            ) from None
        if values.ndim < 2:
            values = values.reshape(-1, 1) if p == 1 else values.reshape(1, -1)
        if values.ndim != 2 or values.shape[1] != p:
            raise DataError(
                f"x has shape {np.shape(data)} instead of (n, {p}).",
                hint=f"Pass rows with the columns {reading.join_labels(distribution.columns)}.",
            )
        x = values
        index = data.index if isinstance(data, pd.Series) else pd.RangeIndex(len(values))
    infinite = np.isinf(x)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise DataError(
            f"Column {distribution.columns[column]!r} has an infinite value in row "
            f"{format_value(index[row])}.",
            hint="Replace the value.",
            columns=(distribution.columns[column],),
            rows=(index[row],),
        )
    return x, index


def _read_columns(distribution: KnownDistribution, data: Any) -> tuple[list[NDArray[Any]], pd.Index]:
    """Read new data as p columns of objects (n,), with the index of the rows.

    `data` is a table, Series, array, or values, as in `read_points`, but not None. Raises DataError if a
    column is missing, or a row does not have p values. If x has several columns, a tuple is one point, and a
    sequence of tuples or a MultiIndex are points. The index is then a RangeIndex.
    """
    p = len(distribution.columns)
    if _is_table(data):
        table = Table(data)
        return [table.column(name).to_numpy(dtype=object) for name in distribution.columns], table.index
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
            f"Each row of x requires {p} values.",
            hint=f"Pass values of {reading.join_labels(distribution.columns)} for each row.",
        )
    return [np.array([row[j] for row in rows], dtype=object) for j in range(p)], pd.RangeIndex(len(rows))


def points_frame(distribution: KnownDistribution, x: Floats) -> pd.DataFrame:
    """Convert points x to a table with the columns of the distribution.

    Parameters
    ----------
    distribution : KnownDistribution
        The distribution.
    x : (m, p) or (m, 1) float64
        Points, or positions among the values of a table of probabilities.

    Returns
    -------
    DataFrame
        Points by the p columns, with a RangeIndex.
    """
    if distribution.values is None:
        return pd.DataFrame(x, columns=distribution.columns)
    row_values = distribution.values[x[:, 0].astype(np.intp)]
    return pd.DataFrame(row_values.to_frame(index=False))


# ---- rules that are compared with the best one


def as_classifier(distribution: KnownDistribution, rule: Any) -> Callable[[Floats], Codes]:
    """Convert a rule to a function of points that returns class codes.

    Parameters
    ----------
    distribution : KnownDistribution
        The distribution.
    rule : object
        A fit with `predict`, a function of a table (or of a Series if there is one column), or a Series or
        mapping of classes by value.

    Returns
    -------
    callable
        From points (m, p), or positions (m, 1) among the values of a table of probabilities, to class codes
        (m,). It raises DataError if a predicted label is not a class.

    Raises
    ------
    DataError
        `rule` is not one of these, or a Series or mapping lacks or repeats a value.
    NotSupportedError
        `rule` is a Series or mapping, and the distribution is not a table of probabilities.
    """
    if isinstance(rule, (pd.Series, Mapping)):
        return _classifier_by_value(distribution, pd.Series(rule))
    if hasattr(rule, "predict"):
        return lambda x: encode_labels(distribution, x, rule.predict(points_frame(distribution, x)))
    if not callable(rule):
        raise DataError(
            f"An object of type {type(rule).__name__} is not a classification rule.",
            hint="Pass a fit, a function, or a Series of classes by value.",
        )

    def classify(x: Floats) -> Codes:
        """Return the class codes (m,) of points x by the user's function `rule`.

        The function is called with a table, or with a Series if there is one column. Raises DataError if it
        does not return one known label for each point.
        """
        frame = points_frame(distribution, x)
        return encode_labels(distribution, x, rule(frame.iloc[:, 0] if frame.shape[1] == 1 else frame))

    return classify


def _classifier_by_value(distribution: KnownDistribution, rule: pd.Series) -> Callable[[Floats], Codes]:
    """Convert a Series of classes by value of a table to a function from positions (m, 1) to codes (m,).

    Raises NotSupportedError if the distribution is not a table of probabilities, and DataError if `rule`
    repeats a value of x or lacks one.
    """
    if distribution.values is None:
        raise NotSupportedError(
            "A rule as a Series or mapping by value requires a table of densities.",
            hint="Pass a function of x, or a fit.",
        )
    if rule.index.has_duplicates:
        duplicates = reading.join_labels(rule.index[rule.index.duplicated()])
        raise DataError(
            f"The rule has duplicate values of x: {duplicates}.", hint="Pass one class for each value."
        )
    rule_positions = rule.index.get_indexer(distribution.values)
    if (rule_positions < 0).any():
        raise DataError(
            f"The rule has no class for {reading.join_labels(distribution.values[rule_positions < 0])}.",
            hint="Pass a class for each value.",
        )
    return lambda x: encode_labels(distribution, x, rule.iloc[rule_positions[x[:, 0].astype(np.intp)]])


def encode_labels(distribution: KnownDistribution, x: Floats, labels: Any) -> Codes:
    """Return the positions of predicted labels among the classes.

    Parameters
    ----------
    distribution : KnownDistribution
        The distribution.
    x : (m, p) or (m, 1) float64
        Points at which the labels were predicted, or their positions in a table, for the message.
    labels : (m,) array-like
        Predicted labels.

    Returns
    -------
    (m,) int
        Codes from 0 to K - 1.

    Raises
    ------
    DataError
        The number of labels is wrong, or a label is missing or not a class.
    """
    values = np.asarray(labels, dtype=object)
    if values.shape != (len(x),):
        raise DataError(
            f"The rule returned labels of shape {values.shape} for {len(x)} rows of x.",
            hint="Return one label for each row.",
        )
    codes = distribution.classes.get_indexer(pd.Index(values, dtype=object))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        point = points_frame(distribution, x[row : row + 1]).iloc[0].to_dict()
        raise DataError(
            f"The rule assigns {point} to the unknown class {values[row]!r}.",
            classes=(values[row],),
            hint=f"The classes are {reading.join_labels(distribution.classes)}.",
        )
    return np.asarray(codes, dtype=np.intp)
