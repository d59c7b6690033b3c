"""Labels as a file writes them: text stays text, and whole numbers stay whole, of any size.

A reader of CSV takes 007 and 7 for one number, and whole numbers beside a missing one for floating ones.
That is right for measurements. Classes and categories are read as text, and become numbers only where that
tells all of them apart and changes none.
"""

from __future__ import annotations

import re

import pandas as pd

__all__ = ["with_type"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTHS = [{"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"}]
_EXACT = 2**53


def with_type(values: pd.Series) -> pd.Series:
    """Labels that were read as text, as numbers or truth values where that changes none of them."""
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
