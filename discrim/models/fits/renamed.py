"""Names that have another one now: each goes on for one release, with a warning that says the new one.

All of them stand here, and whoever takes or gives something under an old name asks this table; what has its
new name costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from discrim.errors import RenamedWarning, warn_user
from discrim.report.result_table import ResultTable

ATTRIBUTES = {
    "surviving": "selected",
    "explained_variance": "r2",
    "fitted_values": "predict_indicators",
    "components": "ncomp",
}
"""Attributes and methods of results."""

KEYWORDS = {
    "cv": ("folds", "compare logistic pls rda shrunken_centroids sparse_lda"),
    "components": ("ncomp", "pls vip PLSClassifier"),
}
"""Keywords, with the verbs, methods and estimators that had them."""

COLUMNS = {"AIC": "aic", "BIC": "bic", "BIC_above": "bic_above", "surviving": "selected"}
"""Columns of tables."""


def warn_renamed(old: str, new: str) -> None:
    """Say at the caller's line what the new name is."""
    warn_user(f"{old} is now called {new}; the old name will be removed in the next release.", RenamedWarning)


def new_attribute(owner: object, name: str) -> str:
    """The name that an attribute has now, of which a warning tells; empty where there is none."""
    new = ATTRIBUTES.get(name, "")
    if new not in dir(owner):
        return ""
    warn_renamed(f".{name}", f".{new}")
    return new


def with_new_keywords(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Keywords of a call with new names for old ones, of each of which a warning tells; None without any."""
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    renamed = in_new_names(name, given)
    if len(renamed) < len(given) or list(renamed) == list(given):
        return None
    for old, new in zip(given, renamed, strict=True):
        if old != new:
            warn_renamed(f"{name}({old}=)", f"{name}({new}=)")
    return renamed


def in_new_names(function: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of a function, by its name, with new names for old ones that are given without these."""
    renamed = {old: new for old, (new, of) in KEYWORDS.items() if function in of.split()}
    kept = {name: value for name, value in given.items() if renamed.get(name) not in given}
    return {renamed.get(name, name): value for name, value in kept.items()}


class RenamedColumns(ResultTable):
    """A table that answers to the old names of its columns; what is cut from it is a DataFrame."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._renamed(key))

    if not TYPE_CHECKING:
        # The stubs of pandas have it as final.
        def __getattr__(self, name):
            return super().__getattr__(self._renamed(name) if name in COLUMNS else name)

    def get(self, key: Any, default: Any = None) -> Any:
        """A column, or the default where there is none."""
        return super().get(self._renamed(key), default)

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

    def __call__(self, axis: Any = None) -> Any:
        """Labels of one axis, as methods of pandas ask for them."""
        return self._indexer(axis=axis)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._indexer, name)
