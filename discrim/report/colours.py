"""Ink and paper of a page and its pictures, by day and by night."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DARK", "LIGHT", "Colours"]


class Colours(NamedTuple):
    """Colours as #rrggbb.

    Attributes
    ----------
    paper, ink : str
        What is written on, and with; a contrast of 12 to 1 or more.
    faint : str
        Of notes; a contrast of 7 to 1 or more.
    line : str
        Of rules and frames.
    panel : str
        Behind code.
    link : str
    """

    paper: str
    ink: str
    faint: str
    line: str
    panel: str
    link: str


LIGHT = Colours("#ffffff", "#1b1e23", "#4b525c", "#b9c0ca", "#f3f5f8", "#0b57a4")
DARK = Colours("#15181d", "#e8ebf0", "#b4bcc8", "#4a525e", "#1f242b", "#8fc1ff")
