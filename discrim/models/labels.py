"""Codes and covariances under the names of classes and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance import Covariance
from discrim.errors import DataError, NotSupportedError

__all__ = ["REJECTED", "UNKNOWN", "class_code", "covariance_frame", "known", "labelled"]

REJECTED, UNKNOWN = "rejected", "unknown"
"""Labels of rows that a reject option, or a bound on typicality, leaves without a class."""


def labelled(codes: NDArray[np.intp], classes: pd.Index, index: pd.Index) -> pd.Series:
    """Labels of codes; -1 is missing, K is rejected, K + 1 unknown.

    Raises
    ------
    DataError
        A class bears the label of rows without a class.
    """
    values: NDArray[Any] = classes.to_numpy()
    if (codes >= len(classes)).any():
        taken = [name for name in (REJECTED, UNKNOWN) if name in set(classes)]
        if taken:
            raise DataError(
                f"A class is named {taken[0]!r}, the label of rows that get no class: rename the class."
            )
        values = np.array([*classes.tolist(), REJECTED, UNKNOWN], dtype=object)
    series = pd.Series(values[codes], index=index, name=classes.name)
    missing = codes < 0
    if not missing.any():
        return series
    if series.dtype.kind in "iu":
        series = series.astype("Int64")
    elif series.dtype.kind == "b":
        series = series.astype("boolean")
    return series.mask(missing)


def class_code(label: Any, classes: pd.Index) -> int:
    """Position of a label among the classes.

    Raises
    ------
    DataError
        It is no class.
    """
    if label not in classes:
        raise DataError(f"{label!r} is no class of this fit: {', '.join(map(repr, classes[:8]))}.")
    return int(classes.get_indexer(pd.Index([label]))[0])


def known(fit: Any, name: str) -> Any:
    """An attribute of a fit, missing where the model has none."""
    try:
        return getattr(fit, name)
    except NotSupportedError:
        return np.nan


def covariance_frame(covariance: Covariance, scale: NDArray[np.float64], terms: pd.Index) -> pd.DataFrame:
    """A covariance in the units of the data; a variance beyond 1e308 shows as infinite."""
    unit = 1 / scale
    with np.errstate(over="ignore", under="ignore"):
        matrix = covariance.matrix() * unit[:, None] * unit
    return pd.DataFrame(matrix, index=terms, columns=terms)
