"""The engine of fda as it is typed."""

from __future__ import annotations

from typing import Any

from discrim.errors import DataError
from discrim.models.registry import resolve

__all__ = ["engine_of"]


def engine_of(text: str) -> Any:
    """A regression of scikit-learn by its name and options.

    Raises
    ------
    DataError
        There is none of that name, or scikit-learn is not installed.
    """
    try:
        made = resolve("discrim.sklearn.engines:engine_of")
    except ImportError:
        raise DataError("fda takes its engine from scikit-learn: pip install scikit-learn") from None
    return made(text)
