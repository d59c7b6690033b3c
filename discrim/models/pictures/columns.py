"""Which columns a picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discrim.errors import DataError
from discrim.models.fits.arguments import listed, told

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked

__all__ = ["one_column"]


def one_column(kind: str, shown: str, names: Sequence[str], asked: Asked) -> str:
    """The column asked for, the first by default.

    Parameters
    ----------
    kind, shown : str
        Of the picture, and what the columns hold, for messages.
    names : sequence of str
        Columns that can be shown.

    Raises
    ------
    DataError
        There is none, the one asked for is not among them, or more than one is.
    """
    if not names:
        raise DataError(f"kind={kind!r} shows a column of {shown}, and this fit has none: draw another kind.")
    given = asked.columns
    if given is None:
        return names[0]
    one = given if isinstance(given, str) else given[0] if len(given) == 1 else None
    if one is None or one not in names:
        raise DataError(
            f"columns={told(given)}: kind={kind!r} shows one column of {shown}: give one of {listed(names)}."
        )
    return one
