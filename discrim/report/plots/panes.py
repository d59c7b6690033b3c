"""Axes that find their ticks once where matplotlib finds them often: while they are measured or drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from matplotlib.axes import Axes


class Pane(Axes):
    """Axes, with those in them, whose ticks are found once each time that they are measured or drawn."""

    def get_tightbbox(self, *args: Any, **options: Any) -> Any:
        """The box around all that is drawn; see matplotlib."""
        with _still(self):
            return super().get_tightbbox(*args, **options)

    def draw(self, renderer: Any) -> None:
        """Draw all artists; see matplotlib."""
        with _still(self):
            super().draw(renderer)


@contextmanager
def _still(axes: Axes) -> Iterator[None]:
    # Nothing moves meanwhile, and ticks are asked for by the names of a side, each spine and the title.
    every: list[Any] = [side for each in (axes, *axes.child_axes) for side in (each.xaxis, each.yaxis)]
    sides = [side for side in every if "_update_ticks" not in vars(side)]
    for side in sides:
        side._update_ticks = cache(side._update_ticks)
    try:
        yield
    finally:
        for side in sides:
            del side._update_ticks
