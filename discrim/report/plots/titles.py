"""Titles that stay within the picture."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from discrim.report.plots.style import lay_out

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["set_title"]

NARROW = 3.5
"""Inches of axes whose title is no larger than their labels."""

LEAST_CHARACTERS = 12
"""Of a line, however narrow the axes are."""


def set_title(axes: Axes, text: str) -> None:
    """Give axes a title, broken between words where it is wider than the place there is.

    The place is that of the axes, or, where these are alone in their figure, that up to its edges.
    """
    title = axes.set_title(text)
    figure = axes.get_figure(root=True)
    if not text or figure is None:
        return
    lay_out(axes)
    held = axes.get_window_extent()
    if held.width < NARROW * figure.dpi:
        title.set_fontsize("medium")
    room = held.width
    if len(figure.axes) == 1:
        middle = (held.x0 + held.x1) / 2
        room = 2 * min(middle - figure.bbox.x0, figure.bbox.x1 - middle)
    lines = []
    for line in text.split("\n"):
        title.set_text(line)
        wide = title.get_window_extent().width
        most = max(int(0.97 * len(line) * room / max(wide, 1.0)), LEAST_CHARACTERS)
        lines += textwrap.wrap(line, most, break_long_words=False) if wide > room else [line]
    title.set_text("\n".join(lines))
