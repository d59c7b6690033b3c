"""A font for what the fonts in use lack, looked for once among those that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from discrim.errors import warn_user
from discrim.report.numbers import clean

__all__ = ["fonts_for"]

FIRST = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
)
"""Fonts of East Asian scripts, which are looked into before the others."""

GENERIC = ("serif", "sans-serif", "cursive", "fantasy", "monospace")
"""Families that stand for a list of fonts each."""

NO_LETTERS = "Last Resort"
"""Fonts of boxes, one for all letters of a script."""


@contextmanager
def fonts_for(texts: Iterable[Any]) -> Iterator[None]:
    """Text that is written meanwhile has a font for each of its characters, where one is installed.

    A warning says so where none is, once for the same characters.

    Parameters
    ----------
    texts : iterable
        What will be written: labels of classes, names of columns.
    """
    import matplotlib as mpl

    characters = {c for text in texts for c in clean(text) if c.isprintable() and not c.isspace()}
    beyond = frozenset(c for c in characters if ord(c) > 0x7F)
    family = tuple(mpl.rcParams["font.family"])
    more = _more_fonts(family, beyond) if beyond else ()
    # A context of all settings would end what a notebook's backend sets where it is loaded meanwhile, and no
    # later picture would be shown.
    mpl.rcParams["font.family"] = [*family, *more]
    try:
        yield
    finally:
        mpl.rcParams["font.family"] = list(family)


@lru_cache
def _more_fonts(family: tuple[str, ...], characters: frozenset[str]) -> tuple[str, ...]:
    """Names of fonts that have what those of a family lack, as few as there can be in the order tried."""
    import matplotlib as mpl
    from matplotlib import font_manager

    def have(path: str) -> set[str]:
        try:
            known = font_manager.get_font(path).get_charmap()
        except (RuntimeError, OSError, ValueError):
            # A font of bitmaps, or a file that is none.
            return set()
        return {c for c in characters if ord(c) in known}

    missing = set(characters)
    settings: Any = mpl.rcParams
    generic = {name: settings[f"font.{name}"] for name in GENERIC}
    for name in family:
        for each in generic.get(name, [name]):
            path = _path_of(each)
            missing -= have(path) if path is not None else set()
    found: list[str] = []
    gains: dict[str, set[str]] = {}
    for name, path in _installed() if missing else ():
        gains[name] = have(path) & missing
        if gains[name] == missing:
            break
    while missing and gains:
        name = max(gains, key=lambda each: len(gains[each] & missing))
        if not gains[name] & missing:
            break
        found.append(name)
        missing -= gains.pop(name)
    if missing:
        warn_user(
            f"matplotlib finds no font that has the characters {''.join(sorted(missing)[:12])}, which are "
            "boxes in pictures: install one, such as Noto Sans CJK."
        )
    return tuple(found)


def _path_of(name: str) -> str | None:
    from matplotlib import font_manager

    try:
        return str(
            font_manager.findfont(font_manager.FontProperties(family=[name]), fallback_to_default=False)
        )
    except ValueError:
        return None


def _installed() -> Iterator[tuple[str, str]]:
    """Name and path of each font, the likely ones first, at last those that matplotlib has not met."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known = {
        entry.name: entry.fname
        for entry in reversed(manager.ttflist)
        if not entry.name.startswith(NO_LETTERS)
    }
    first = [name for name in FIRST if name in known]
    for name in [*first, *(name for name in known if name not in first)]:
        yield name, known[name]
    paths = {entry.fname for entry in manager.ttflist}
    others = [path for path in font_manager.findSystemFonts() if path not in paths]
    # Sans before serif, regular before bold: the shortest name of a file is that of the plainest face.
    plain = [path for path in others if "Sans" in path and "Regular" in path]
    for path in sorted(others, key=lambda each: (each not in plain, len(each), each)):
        try:
            manager.addfont(path)
        except (RuntimeError, OSError, ValueError):
            continue
        yield manager.ttflist[-1].name, path
