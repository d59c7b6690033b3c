"""Labels of a file as they are written there: text stays text, and whole numbers stay whole, of any size.

A reader of CSV takes 007 and 7 for one number, and whole numbers beside a missing one for floating ones.
That is right for measurements. Classes and categories are read as text, and become numbers only where that
tells all of them apart and changes none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Labels", "labels_of_fit", "labels_to_fit", "whole_columns"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTHS = [{"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"}]
_EXACT = 2**53


@dataclass(frozen=True)
class Labels:
    """Columns that hold labels.

    Attributes
    ----------
    typed : frozenset of str
        They become numbers or truth values where nothing is lost.
    text : frozenset of str
        They stay text.
    numbers : frozenset of str, optional
        The only columns that are not labels; all others stay text as well.
    """

    typed: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    numbers: frozenset[str] | None = None

    def as_text(self, names: Sequence[str]) -> list[str]:
        """Which of these columns are to be read as text."""
        rest = self.numbers
        return [
            name
            for name in names
            if name in self.typed or name in self.text or (rest is not None and name not in rest)
        ]

    def with_types(self, table: pd.DataFrame) -> pd.DataFrame:
        """Give labels of a table that were read as text the type that they are written in."""
        found = {name: _typed(table[name]) for name in table.columns if name in self.typed}
        return table.assign(**found) if found else table


def labels_to_fit(formula: str) -> Labels:
    """Find the labels in a table that a formula is fitted to."""
    from discrim.frame.label_columns import labels_of_formula

    return Labels(typed=frozenset(labels_of_formula(formula)))


def labels_of_fit(fit: Any, *, whole: bool) -> Labels:
    """Find the labels in a table that a fit predicts; whole: columns that it does not read stay text."""
    from discrim.frame.label_columns import labels_of_design

    blocks = getattr(fit, "_blocks", None)
    if blocks is None:
        return Labels()
    design = blocks.design
    found = labels_of_design(design)
    text = frozenset(name for name, is_text in found.items() if is_text)
    numbers = frozenset(design.columns) - set(found) if whole else None
    return Labels(frozenset(found) - text, text, numbers)


def _typed(values: pd.Series) -> pd.Series:
    """Labels that were read as text, as numbers or truth values where that changes none of them."""
    import pandas as pd

    there = values.dropna()
    texts = there.unique().tolist()
    if not texts:
        return values
    holed = len(there) < len(values)
    if all(_WHOLE.fullmatch(text) for text in texts):
        # Longer numbers than Python reads at once are none that a type can hold.
        if max(map(len, texts)) > 20:
            return values
        numbers = [int(text) for text in texts]
        fits = min(numbers) >= -(2**63) and max(numbers) < 2**63
        if not fits and not (min(numbers) >= 0 and max(numbers) < 2**64):
            return values
        dtype = "int64" if fits else "uint64"
        dtype = {"int64": "Int64", "uint64": "UInt64"}[dtype] if holed else dtype
        known = dict(zip(texts, numbers, strict=True))
        return pd.Series([known.get(text) for text in values], index=values.index, dtype=dtype)
    if any(set(texts) <= pair for pair in _TRUTHS):
        truths = values.map({text: text.casefold() == "true" for text in texts})
        return truths.astype("boolean" if holed else "bool")
    if all(_NUMBER.fullmatch(text) for text in texts):
        floats = [float(text) for text in texts]
        if len(set(floats)) == len(texts) and max(map(abs, floats)) < _EXACT:
            return values.map(dict(zip(texts, floats, strict=True))).astype("float64")
    return values


def whole_columns(table: pd.DataFrame, file: Any) -> pd.DataFrame:
    """Read whole numbers of Parquet beside missing ones again, as whole numbers.

    Parameters
    ----------
    table : DataFrame
        As pandas reads the file: such columns are floating, and beyond 2^53 they are rounded.
    file : str or file object
    """
    import pandas as pd

    floating = [str(name) for name, dtype in table.dtypes.items() if dtype == "float64"]
    holed = [name for name in floating if bool(table[name].isna().any())]
    if not holed:
        return table
    if not isinstance(file, str):
        file.seek(0)
    again = pd.read_parquet(file, columns=holed, dtype_backend="numpy_nullable")
    whole = [name for name in holed if pd.api.types.is_integer_dtype(again[name].dtype)]
    return table.assign(**{name: again[name] for name in whole}) if whole else table
