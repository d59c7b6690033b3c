"""Codes and covariances under the names of classes and columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.errors import DataError, NotSupportedError
from discrim.frame.label_type import LabelType
from discrim.models.fits.arguments import listed, told

__all__ = [
    "REJECTED",
    "UNKNOWN",
    "beyond_doubles",
    "by_class_and_term",
    "class_code",
    "covariance_frame",
    "distinct",
    "in_brooms_names",
    "labelled",
    "missing_if_refused",
]

REJECTED, UNKNOWN = "rejected", "unknown"
"""Labels of rows that a reject option, or a bound on typicality, leaves without a class."""

LEAST, MOST = -1022.0, 1024.0
"""Binary exponents between which a variance is a double with all its digits."""

BROOM = {"coef": "estimate", "se": "std_error", "z": "statistic", "t": "statistic", "p": "p_value"} | {
    "low": "conf_low",
    "high": "conf_high",
}
"""Columns of a table of coefficients under the names of R's broom."""

TEXTS = ("str", "string", "object")
"""Dtypes that have room for these."""


def distinct(word: str, names: Iterable[Any]) -> str:
    """A name that a table gives to a column or a row of its own beside those of classes or terms.

    These keep their names, whatever they are; where one of them is the word, it has an underscore after it,
    or as many as it takes.
    """
    taken = set(names)
    while word in taken:
        word += "_"
    return word


def labelled(
    codes: NDArray[np.intp], classes: pd.Index, index: pd.Index, kind: LabelType | None = None
) -> pd.Series:
    """Labels of codes, in the dtype of the response; -1 is missing, K is rejected, K + 1 unknown.

    Whole numbers and truth values are nullable where one is missing. Rows without a class make two more
    categories of a categorical, which then has no order, and objects of other labels.

    Raises
    ------
    DataError
        A class bears the label of rows without a class.
    """
    names, dtype = classes.tolist(), None if kind is None else kind.dtype
    beyond = [name for k, name in enumerate((REJECTED, UNKNOWN), len(names)) if (codes == k).any()]
    if beyond:
        taken = [name for name in (REJECTED, UNKNOWN) if name in set(names)]
        if taken:
            raise DataError(
                f"A class is named {taken[0]!r}, the label of rows that get no class: rename the class."
            )
        names += [REJECTED, UNKNOWN]
        dtype = dtype if dtype in TEXTS else "object"
    if kind is not None and kind.categories is not None:
        known = [*kind.categories, *beyond]
        at = {label: place for place, label in enumerate(known)}
        # The last place is that of the code -1.
        places = np.array([*(at.get(name, -1) for name in names), -1])
        whole = pd.Index(known, dtype=dtype)
        own = pd.Categorical.from_codes(places[codes], whole, ordered=kind.ordered and not beyond)
        return pd.Series(own, index=index, name=classes.name)
    values: NDArray[Any] = np.array(names, dtype=object) if beyond else classes.to_numpy()
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
    """Position of a label among the classes.

    Raises
    ------
    DataError
        It is no class.
    """
    if not (pd.api.types.is_scalar(label) and not pd.isna(label) and label in classes):
        raise DataError(f"{told(label)} is no class of this fit: name one of {listed(classes, most=8)}.")
    return int(classes.get_indexer(pd.Index([label]))[0])


def by_class_and_term(classes: Any, terms: Any) -> pd.MultiIndex:
    """The index of a table with a line a class and term."""
    index: pd.MultiIndex = pd.MultiIndex.from_product([classes, terms], names=["class", "term"])
    return index


def in_brooms_names(table: pd.DataFrame) -> pd.DataFrame:
    """A table of coefficients by (class, term) under the names of R's broom, one row a coefficient."""
    return table.rename(columns=BROOM).reset_index()


def missing_if_refused(fit: Any, name: str) -> Any:
    """An attribute of a fit, missing where the model has none."""
    try:
        return getattr(fit, name)
    except NotSupportedError:
        return np.nan


def covariance_frame(covariance: Covariance, scale: NDArray[np.float64], terms: pd.Index) -> pd.DataFrame:
    """A covariance in the units of the data; what no double can hold shows as infinite or zero."""
    unit = 1 / scale
    with np.errstate(over="ignore", under="ignore"):
        matrix = covariance.matrix() * unit[:, None] * unit
    return pd.DataFrame(matrix, index=terms, columns=terms)


def beyond_doubles(covariances: Iterable[Covariance], scale: NDArray[np.float64], terms: pd.Index) -> str:
    """What to say of variances that are too large or too small for a double; empty where there are none."""
    sd = np.stack([covariance.sd for covariance in covariances])
    exponents = 2.0 * (np.log2(np.where(sd > 0, sd, scale)) - np.log2(scale))
    wild = np.asarray(((exponents >= MOST) | (exponents < LEAST)).any(axis=0))
    if not wild.any():
        return ""
    return (
        f"In the units of the columns the variance of {listed(terms[wild])} is out of the range of double "
        "precision, so that it, or a covariance with it, shows as infinite or as zero: give the columns in "
        "other units, as standardize() does. Posteriors hold in any."
    )
