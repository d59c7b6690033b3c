"""Names that have another one now: each goes on for one release, with a warning that says the new one.

All of them stand here, and whoever takes or gives something under an old name asks this table; what has its
new name costs nothing.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import pandas as pd

from discrim.errors import RenamedWarning, warn_user

COLUMNS = {"AIC": "aic", "BIC": "bic", "BIC_above": "bic_above"}
"""Columns of tables."""


def warn_renamed(old: str, new: str) -> None:
    """Say at the caller's line what the new name is."""
    warn_user(f"{old} has another name now, {new}; the old one goes with the next release.", RenamedWarning)


class RenamedColumns(pd.DataFrame):
    """A table that answers to the old names of its columns; what is cut from it is a DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A pickle is of a plain table, which no class of this package is needed to read.
        return copy, (self.copy(),)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._renamed(key))

    def sort_values(self, by: Any, *args: Any, **kwargs: Any) -> Any:
        """Sort by columns, as pandas does."""
        return super().sort_values(self._renamed(by), *args, **kwargs)

    @property
    def loc(self) -> Any:
        """Rows and columns by label."""
        return _ByLabel(super().loc, self)

    @property
    def at(self) -> Any:
        """One number by its labels."""
        return _ByLabel(super().at, self)

    def _renamed(self, key: Any) -> Any:
        """Labels of columns with new names in the place of old ones, of each of which a warning tells."""
        if isinstance(key, list):
            return [self._renamed(each) for each in key]
        if not isinstance(key, str) or key in self.columns or COLUMNS.get(key) not in self.columns:
            return key
        warn_renamed(f"The column {key!r}", repr(COLUMNS[key]))
        return COLUMNS[key]


class _ByLabel:
    """`loc` or `at` of a table that answers to old names."""

    def __init__(self, indexer: Any, table: RenamedColumns) -> None:
        self._indexer, self._table = indexer, table

    def _key(self, key: Any) -> Any:
        return (key[0], self._table._renamed(key[1])) if isinstance(key, tuple) and len(key) == 2 else key

    def __getitem__(self, key: Any) -> Any:
        return self._indexer[self._key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._indexer[self._key(key)] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._indexer, name)
