"""What a verb fits to where it is given moments in the place of a table."""

from __future__ import annotations

from typing import Any

from discrim.core.moments.given_moments import reduced
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks, without_rows
from discrim.models.fits.reading import present_classes, refuse_extreme, varying, warn_of_weights
from discrim.models.moments.moments import Moments

__all__ = ["given_sample", "table_given"]


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
    given: Moments, spread: Spread, *, needs_rows: bool, **beside: Any
) -> tuple[Blocks, ClassMoments]:
    """What a verb fits to, of moments in the place of a table.

    Parameters
    ----------
    given : Moments
    spread : Spread
    needs_rows : bool
        Whether the model is no function of moments.
    **beside
        Arguments of the verb that are for tables; each has to be None.

    Raises
    ------
    DataError
        No moments, or an argument that is for tables; no rows, or of one class only.
    NotSupportedError
        The model needs the rows, or scatters by class where these are pooled.
    """
    if not isinstance(given, Moments):
        raise DataError(f"moments={given!r}: give what discrim.moments() or discrim.from_stats() returns.")
    named_too = [name for name, value in beside.items() if value is not None]
    if named_too:
        raise DataError(
            f"moments= and {named_too[0]}= do not go together: moments have their own, so leave it out."
        )
    if needs_rows:
        raise NotSupportedError(
            "What method=, covariance= and shrinkage= ask for is found from the rows and not from their "
            "moments: pass formula and data in the place of moments=, or give the shrinkage as a number."
        )
    if spread != "pooled":
        given._need_classes("A model with a variance or covariance for each class")
    if not given._held.total:
        raise DataError(f"{given!r}: there is nothing to fit; add moments of complete rows.")
    refuse_extreme(given._held, given._design.terms)
    warn_of_weights(given._held, whole=given._held.total >= given._held.rows.sum())
    blocks = without_rows(given._design, given._functions, weighted=given._weighted, dropped=given.dropped)
    return varying(*present_classes(blocks, reduced(given._held, spread)))
