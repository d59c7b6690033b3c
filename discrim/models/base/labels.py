"""Labels of a fit's results: classes and terms as pandas objects.

Models, evaluation and summaries use these functions to label arrays: predicted codes in the dtype of the
response, coefficients by class and term, covariances in the units of the data. Nothing here depends on a
fitted model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.numerics.arrays import Floats
from discrim.data.values import LabelType
from discrim.errors import DataError, NotSupportedError
from discrim.models.base.reading import format_argument, join_labels

REJECTED, UNKNOWN = "rejected", "unknown"
"""Labels of observations without a class: rejected, or too atypical of every class."""

BROOM_NAMES = {
    "coef": "estimate",
    "se": "std_error",
    "z": "statistic",
    "t": "statistic",
    "p": "p_value",
    "low": "conf_low",
    "high": "conf_high",
}
"""Column names of R's broom, by the names in tables of coefficients."""

TEXT_DTYPES = ("str", "string", "object")
"""Dtypes of text, which can store the labels of observations without a class."""

MIN_EXPONENT, MAX_EXPONENT = -1022.0, 1024.0
"""Binary exponents of the smallest normal and the largest finite float64."""


def make_unique_name(word: str, names: Iterable[Any]) -> str:
    """Return the word with underscores appended until it differs from all names."""
    existing_names = set(names)
    while word in existing_names:
        word += "_"
    return word


def codes_to_labels(
    codes: NDArray[np.intp], classes: pd.Index, index: pd.Index, label_type: LabelType | None = None
) -> pd.Series:
    """Convert predicted codes to labels in the dtype of the response.

    A missing label makes integers and booleans nullable. If there are observations without a class, a
    categorical gets their labels, `REJECTED` or `UNKNOWN`, as last categories and loses its order, and a
    dtype other than text becomes object.

    Parameters
    ----------
    codes : (n,) int
        Position of the class; -1 for a missing label, K for a rejected observation, K + 1 for an unknown one.
    classes : (K,) Index
        Labels of the classes.
    index : (n,) Index
        Index of the result.
    label_type : LabelType, optional
        Dtype and categories of the response; by default the dtype of `classes`.

    Returns
    -------
    (n,) Series
        With the name of `classes`.

    Raises
    ------
    DataError
        If there are observations without a class and a class has the label "rejected" or "unknown".
    """
    names = classes.tolist()
    dtype = None if label_type is None else label_type.dtype
    classless = [name for k, name in enumerate((REJECTED, UNKNOWN), len(names)) if (codes == k).any()]
    if classless:
        conflicting = [name for name in (REJECTED, UNKNOWN) if name in set(names)]
        if conflicting:
            raise DataError(
                f"A class is named {conflicting[0]!r}, which is the label of observations without a class.",
                hint="Rename the class.",
                classes=conflicting[:1],
            )
        names += [REJECTED, UNKNOWN]
        dtype = dtype if dtype in TEXT_DTYPES else "object"
    if label_type is not None and label_type.categories is not None:
        labels_of_codes = [*label_type.categories, *classless]
        positions = {label: position for position, label in enumerate(labels_of_codes)}
        # The code -1 indexes the last element.
        category_codes = np.array([*(positions.get(name, -1) for name in names), -1])[codes]
        categories = pd.Index(labels_of_codes, dtype=dtype)
        ordered = label_type.ordered and not classless
        labels = pd.Categorical.from_codes(category_codes, categories, ordered=ordered)
        return pd.Series(labels, index=index, name=classes.name)
    values: NDArray[Any] = np.array(names, dtype=object) if classless else classes.to_numpy()
    series = pd.Series(values[codes], index=index, name=classes.name, dtype=dtype)
    missing = codes < 0
    if not missing.any():
        return series
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        nullable: Any = series.dtype.name.replace("i", "I").replace("u", "U")
        series = series.astype(nullable)
    elif isinstance(series.dtype, np.dtype) and series.dtype.kind == "b":
        series = series.astype("boolean")
    return series.mask(missing)


def class_code(label: Any, classes: pd.Index) -> int:
    """Return the position of a label among the classes; raise DataError if it is not one of them."""
    if not (pd.api.types.is_scalar(label) and not pd.isna(label) and label in classes):
        raise DataError(
            f"Unknown class {format_argument(label)}.",
            hint=f"The classes are {join_labels(classes, max_labels=8)}.",
            classes=(label,),
        )
    return int(classes.get_indexer(pd.Index([label]))[0])


def class_term_index(classes: Any, terms: Any) -> pd.MultiIndex:
    """Return the index of a table with one row for each class and term, with levels "class" and "term"."""
    index: pd.MultiIndex = pd.MultiIndex.from_product([classes, terms], names=["class", "term"])
    return index


def to_broom_names(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of coefficients with the column names of R's broom and its index as columns."""
    return table.rename(columns=BROOM_NAMES).reset_index()


def value_or_nan(fit: Any, name: str) -> Any:
    """Return an attribute of a fit, or NaN if it raises NotSupportedError because the model lacks it."""
    try:
        return getattr(fit, name)
    except NotSupportedError:
        return np.nan


def covariance_frame(covariance: Covariance, scale: NDArray[np.float64], terms: pd.Index) -> pd.DataFrame:
    """Return a covariance matrix in the units of the data as a DataFrame; see `covariance_values`."""
    return pd.DataFrame(covariance_values(covariance, scale), index=terms, columns=terms)


def covariance_values(covariance: Covariance, scale: NDArray[np.float64]) -> Floats:
    """Return a covariance matrix (p, p) in the units of the data.

    Values outside the range of float64 become infinite or zero.

    Parameters
    ----------
    covariance : Covariance
        Covariance of the scaled columns.
    scale : (p,) float
        Powers of two by which the columns were multiplied.
    """
    unit = 1 / scale
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(covariance.matrix() * unit[:, None] * unit)


def range_note(covariances: Iterable[Covariance], scale: NDArray[np.float64], terms: pd.Index) -> str:
    """Return a note on columns whose variance in the units of the data is out of range of float64.

    "" if all variances are in range or zero.

    Parameters
    ----------
    covariances : iterable of Covariance
        Covariances of the scaled columns.
    scale : (p,) float
        Factors by which the columns were multiplied.
    terms : Index of length p
        Names of the columns.
    """
    sd = np.stack([covariance.sd for covariance in covariances])
    exponents = 2.0 * (np.log2(np.where(sd > 0, sd, scale)) - np.log2(scale))
    outside = np.asarray(((exponents >= MAX_EXPONENT) | (exponents < MIN_EXPONENT)).any(axis=0))
    if not outside.any():
        return ""
    return (
        f"The variance of {join_labels(terms[outside])} is out of the range of double precision in the units "
        "of the columns. It, or a covariance with it, is shown as infinite or zero. Use other units, for "
        "example by standardize(). Posteriors are valid in any units."
    )


def lower_first_letter(title: str) -> str:
    """Return a title with its first letter in lower case."""
    return title[0].lower() + title[1:]


def whole_counts(counts: Floats) -> NDArray[Any]:
    """Return counts (K,) as int64 if all are whole numbers, else unchanged."""
    return counts.astype(np.int64) if (counts % 1 == 0).all() and counts.sum() < 2**63 else counts
