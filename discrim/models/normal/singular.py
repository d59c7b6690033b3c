"""Covariances of classes that do not exist: of which classes, by which columns, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discrim.core.moments.moments import ClassMoments
from discrim.errors import CollinearError
from discrim.models.fits.arguments import listed
from discrim.models.fits.reading import said_of_separation
from discrim.models.normal.covariance_options import Shrinking

__all__ = ["drop_hint", "refuse_singular", "some_of"]

MOST_NAMED = 8
"""Classes that a message tells of one by one."""


def some_of(said: Sequence[str], what: str) -> str:
    """Parts of a message, the first few of them."""
    more = len(said) - MOST_NAMED
    return "; ".join(said[:MOST_NAMED]) + (f"; and so in {more} more {what}" if more > 0 else "")


def drop_hint(columns: Sequence[str], p: int) -> str:
    """The advice to drop columns, where that leaves half of them or more."""
    few = len(columns) > 0 and 2 * len(columns) <= p
    return f", or leave out {listed(columns, most=len(columns))}" if few else ""


def refuse_singular(
    moments: ClassMoments,
    terms: tuple[str, ...],
    levels: Sequence[Any],
    asked: Shrinking | None = None,
    *,
    way_out: str | None = None,
    robust: bool = False,
) -> None:
    """Raise a CollinearError that names all classes whose covariance is singular, why, and the way out.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    terms : tuple of str
    levels : sequence
    asked : Shrinking, optional
        What the covariances are estimated as; in full by default.
    way_out : str, optional
        In the place of the one that a quadratic discriminant analysis has.
    robust : bool
        Whether they were to be robust.
    """
    asked = Shrinking("full") if asked is None else asked
    least = moments.n_columns if asked.takes_full_rank(moments.n_columns) else 1
    said: list[str] = []
    gone: set[int] = set()
    few = False
    for k, label in enumerate(levels):
        rows = int(moments.rows[k])
        if rows <= least:
            too_few = (
                f" for a covariance of {moments.n_columns} column{'s' * (len(terms) > 1)} "
                f"({listed(terms)}), which takes {least + 1} at least"
            )
            said.append(
                f"class {label!r} has {rows} row{'s' if rows != 1 else ''}, too few{'' if few else too_few}"
            )
            few = True
            continue
        found = asked.obstacles(moments, k)
        gone |= {dependency.column for dependency in found}
        still = [terms[each.column] for each in found if not each.on]
        if still:
            said.append(f"{listed(still)} {'is' if len(still) == 1 else 'are'} constant in class {label!r}")
        for each in [each for each in found if each.on][:3]:
            others = listed(terms[j] for j in each.on)
            said.append(f"{terms[each.column]!r} is a linear combination of {others} in class {label!r}")
    if not said:
        return
    tells = said_of_separation(moments, tuple(terms))
    if way_out is None:
        hint = "" if few or tells else drop_hint([terms[j] for j in sorted(gone)], len(terms))
        way_out = f"{_way_out(moments, levels, asked, robust=robust)}{hint}"
    text = some_of(said, "classes")
    raise CollinearError(f"{text[0].upper()}{text[1:]}.{tells} {way_out[0].upper()}{way_out[1:]}.")


def _way_out(moments: ClassMoments, levels: Sequence[Any], asked: Shrinking, *, robust: bool) -> str:
    """What a quadratic discriminant analysis of the same columns and rows can do."""
    bare = [label for k, label in enumerate(levels) if not _varies(moments, k)]
    if len(bare) == len(levels):
        return "No column varies within a class: use another formula"
    if bare:
        return (
            f'use lda(covariance="shrunk", collinear="drop"), as no column varies in class {listed(bare)}, '
            "which has no covariance of its own"
        )
    if robust:
        return 'pass covariance="shrunk" and leave out method='
    if asked.structure == "shrunk":
        return 'leave out shrinkage=, or pass shrinkage="oas"'
    return 'pass covariance="shrunk" to qda(), or see rda()'


def _varies(moments: ClassMoments, k: int) -> bool:
    """Whether a class has two rows that differ."""
    return bool(moments.rows[k] > 1) and not Shrinking("shrunk").obstacles(moments, k)
