"""A picture as the bytes of a file, drawn where there may be no display."""

from __future__ import annotations

import io
from collections.abc import Callable

from discrim.errors import DataError

__all__ = ["FORMATS", "picture_bytes"]

FORMATS = ("png", "svg", "pdf")
"""Formats of pictures, which are also the ends of their files' names."""

DPI = 150
"""Dots an inch of a picture of dots: seven inches fill a screen, and are sharp in print."""


def picture_bytes(draw: Callable[[], object], form: str) -> bytes:
    """Draw without a display, and give what a file of the picture holds.

    Parameters
    ----------
    draw : callable
        Draws on a new figure.
    form : {"png", "svg", "pdf"}

    Raises
    ------
    DataError
        The format is another one.
    """
    if form not in FORMATS:
        raise DataError(f"A picture is not written as {form!r}: give one of {', '.join(FORMATS)}.")
    import matplotlib.pyplot as plt

    # Whatever backend a person's settings name, a file needs no window.
    plt.switch_backend("agg")
    draw()
    figure, file = plt.gcf(), io.BytesIO()
    try:
        figure.savefig(file, format=form, dpi=DPI)
    finally:
        plt.close(figure)
    return file.getvalue()
