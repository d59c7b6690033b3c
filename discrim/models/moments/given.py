"""What a verb fits to where it is given moments in the place of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discrim.core.moments.given_moments import reduced
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks, without_rows
from discrim.models.fits.reading import present_classes, refuse_extreme, varying, warn_of_weights
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import Unread

__all__ = ["FOUND_FROM_ROWS", "check_given", "fitting", "given_sample", "table_given"]

FOUND_FROM_ROWS = (
    "What method=, covariance= and shrinkage= ask for is found from the rows and not from their moments: "
    "give the shrinkage as a number"
)
"""Why covariances that are not a function of moments cannot be fitted to them, and the way out."""


def table_given(verb: str, formula: str | None, data: Any) -> tuple[str, Any]:
    """Formula and table of a verb that takes moments in their place.

    Raises
    ------
    DataError
        One of them is missing.
    """
    if formula is None or data is None:
        missing = "formula" if formula is None else "table"
        raise DataError(f"{verb}() was given no {missing}: pass formula and data, or moments=.")
    return formula, data


def given_sample(
    given: Moments, spread: Spread, *, why_rows: str = "", **beside: Any
) -> tuple[Blocks, ClassMoments]:
    """What a verb fits to, of moments in the place of a table.

    Parameters
    ----------
    given : Moments
    spread : {"pooled", "class", "diagonal"}
    why_rows : str
        What of the arguments is found from the rows, and a way out; empty where nothing is.
    **beside
        Arguments of the verb that are for tables; each has to be None.

    Raises
    ------
    DataError
        No moments, or an argument that is for tables; no rows, or of one class only.
    NotSupportedError
        The model needs the rows, or scatters by class where these are pooled.
    """
    given = check_given(given, why_rows, beside)
    if spread == "pooled":
        given._need("A model with one covariance for all classes", spread)
    else:
        given._need("A model with a variance or covariance for each class", spread)
    blocks = without_rows(given._design, given._functions, weighted=given._weighted, dropped=given.dropped)
    return fitting(given, blocks, reduced(given._held, spread))


def check_given(given: Any, why_rows: str, beside: Mapping[str, Any]) -> Moments:
    """The moments, refused where they do not stand for a table; as of `given_sample`."""
    if isinstance(given, Unread):
        given.refuse(why_rows)
        return given.read()
    if not isinstance(given, Moments):
        raise DataError(f"moments={given!r}: give what discrim.moments() or discrim.from_stats() returns.")
    named_too = [name for name, value in beside.items() if value is not None]
    if named_too:
        raise DataError(
            f"moments= and {named_too[0]}= do not go together: moments have their own, so leave it out."
        )
    if why_rows:
        raise NotSupportedError(f"{why_rows}, or pass formula and data in place of moments=.")
    return given


def fitting(
    given: Moments, blocks: Blocks, held: ClassMoments, keep: Sequence[int] = ()
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments of the classes that have rows and of the columns that vary, as of `usable_rows`.

    Parameters
    ----------
    given : Moments
    blocks : Blocks
        Without rows.
    held : ClassMoments
        Of the columns of the blocks.
    keep : sequence of int
        Columns that stay though they are constant.

    Raises
    ------
    DataError
        No rows, or of one class only.
    CollinearError
        Every column is constant.
    """
    if not held.total:
        raise DataError(f"{given!r}: there is nothing to fit; add moments of complete rows.")
    refuse_extreme(held, blocks.terms)
    warn_of_weights(held, whole=held.total >= held.rows.sum())
    return varying(*present_classes(blocks, held), held=keep)
