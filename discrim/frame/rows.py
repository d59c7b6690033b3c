"""Rows with the class and the weight of each, a piece of the table at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Piece", "Rows", "TableLike", "TableRows"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class TableLike(Protocol):
    """What is asked of a table beside the columns of a design: a table in memory, or what stands for one."""

    @property
    def data(self) -> Any:
        """What the user gave."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""

    @property
    def nrows(self) -> int:
        """Rows."""

    @property
    def index(self) -> pd.Index:
        """Labels of the rows."""

    def label(self, row: int) -> Any:
        """The label of a row."""

    def column(self, name: str, start: int = 0, stop: int | None = None) -> pd.Series:
        """Rows of a column."""

    def frame(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> pd.DataFrame:
        """Rows of columns."""
