"""The dtype in which a response came, as plain data, so that its labels can go back in it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from discrim.frame.categories import Scalar

__all__ = ["KNOWN", "LabelType", "holds", "label_type"]

KNOWN = re.compile(
    r"object|str|string|bool|boolean|(string|bool|u?int(8|16|32|64)|float|double)\[pyarrow\]"
    r"|u?int(8|16|32|64)|U?Int(8|16|32|64)|float(32|64)|Float(32|64)"
)
"""Names of dtypes whose labels are text, whole numbers, numbers or truth values."""


@dataclass(frozen=True, slots=True)
class LabelType:
    """The dtype of labels.

    Attributes
    ----------
    dtype : str
        Its name, one of `KNOWN`; of a categorical, that of its categories.
    categories : tuple of scalars, or None
        All categories in their order, also those that no row has; None for what is no categorical.
    ordered : bool
    """

    dtype: str
    categories: tuple[Scalar, ...] | None = None
    ordered: bool = False


def label_type(dtype: Any) -> LabelType | None:
    """The type of labels of a pandas dtype; None where no label has such a one."""
    if isinstance(dtype, pd.CategoricalDtype):
        inner = label_type(dtype.categories.dtype)
        values = tuple(dtype.categories.tolist())
        if inner is None or not all(_is_scalar(value) for value in values):
            return None
        return LabelType(inner.dtype, values, bool(dtype.ordered))
    name = str(dtype)
    return LabelType(name) if KNOWN.fullmatch(name) else None


def holds(dtype: str, labels: Sequence[Scalar]) -> bool:
    """Whether labels are values of a dtype by name, as those are that came in it."""
    if dtype in ("object", "str") and all(isinstance(label, str) for label in labels):
        # pandas takes longer to say so than the rest of a small file takes to be read.
        return True
    try:
        values = pd.Series(list(labels), dtype=dtype).tolist()
    except ImportError:
        # A dtype of a library that is not there: prediction says so.
        return True
    except (ArithmeticError, TypeError, ValueError):
        return False
    return bool(values == list(labels))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
