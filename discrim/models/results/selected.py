"""What a summary says of a fit whose columns its rows chose, and the error with the columns chosen anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from discrim.errors import DiscrimError
from discrim.models.fits.fit import Fit
from discrim.models.judging.assessment import Plan, error_rates, takes_long
from discrim.report.grid import Pairs

if TYPE_CHECKING:
    from discrim.report.grid import Part

__all__ = ["selection_note", "with_selection"]

ANEW = "Error, columns chosen anew"
"""That of folds without which the columns are chosen."""

FOLDS = 10
"""Folds of it."""


def selection_note(fit: Fit[Any]) -> str:
    """What is said of a fit whose columns its rows chose; empty of any other."""
    if fit.selection is None:
        return ""
    return (
        f"The rows of the fit chose its columns ({fit.selection.words}): p-values, and apparent and "
        "leave-one-out errors, take them as given and tend to be too small."
    )


def with_selection(
    parts: Mapping[str, Callable[[], Part]], fit: Fit[Any]
) -> Mapping[str, Callable[[], Part]]:
    """The sections of a summary, whose header says how the rows chose the columns, and the error of that."""
    if fit.selection is not None and "header" in parts:
        own: Any = parts
        own["header"] = partial(_header, parts["header"], fit)
    return parts


def _header(make: Callable[[], Any], fit: Fit[Any]) -> Pairs:
    made = make()
    items, said = list(made.items), [made.note, selection_note(fit)]
    if fit.choosing_anew() is not fit:
        item = _error(fit)
        items += [] if item is None else [item]
        said.append(
            'error_rates(["cv"]) chooses them anew in each fold.'
            if item is None
            else f"The error with columns chosen anew is that of {FOLDS} folds (seed 0), each judged by a "
            "choice and a fit without it."
        )
    return Pairs(made.title, items, " ".join(filter(None, said)))


def _error(fit: Fit[Any]) -> tuple[str, float, str] | None:
    """The error with the columns chosen anew; None where it is not there, or not soon."""
    if fit.selection is None or not fit.selection.quick or takes_long(fit.choosing_anew()):
        return None
    try:
        row = error_rates(fit, ["cv"], None, Plan(folds=FOLDS, seed=0), by_class=False).iloc[0]
    except DiscrimError:
        return None
    text = f"{100 * row['estimate']:.1f} %  ({row['wrong']:.10g}/{row['total']:.10g})"
    return ANEW, float(row["estimate"]), text
