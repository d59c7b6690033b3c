"""Rows in parts that lie elsewhere: each part is worked on where it is, and what is made of it is merged.

Whoever makes a pass whose result adds up says so here: what one part gives, and how two such values become
one. Of rows at hand the pass is made over all of them; of rows that lie apart, as on the machines of a
cluster, the work goes to the rows, and no row comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["is_apart", "reduced"]

T = TypeVar("T")


def is_apart(rows: Any) -> bool:
    """Whether rows lie in parts elsewhere."""
    return bool(getattr(rows, "apart", False))


def reduced(rows: Any, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
    """What a task makes of rows, or of each of their parts, merged.

    Parameters
    ----------
    rows : iterable of blocks
        Rows that lie apart have a method of this name, which takes the other two.
    task : callable
        From rows to a value; it is sent to where they lie.
    merge : callable
        From the values of two parts, in their order, to that of both; it leaves these as they are.

    Examples
    --------
    >>> reduced([[1, 2], [3]], lambda rows: sum(map(sum, rows)), lambda a, b: a + b)
    6
    """
    if not is_apart(rows):
        return task(rows)
    value: T = rows.reduced(task, merge)
    return value
