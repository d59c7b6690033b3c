"""Labels that a reader takes for one: they differ by case, by blanks, or by characters that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

__all__ = ["typed_alike", "written_alike"]

_CYRILLIC = {
    "А": "A", "В": "B", "С": "C", "Е": "E", "Ԍ": "G", "Н": "H", "І": "I", "Ӏ": "I", "Ј": "J", "К": "K",
    "М": "M", "О": "O", "Р": "P", "Ԛ": "Q", "Ѕ": "S", "Т": "T", "Ѵ": "V", "Ԝ": "W", "Х": "X", "У": "Y",
    "Ү": "Y", "а": "a", "Ь": "b", "с": "c", "ԁ": "d", "е": "e", "ҽ": "e", "һ": "h", "і": "i", "ӏ": "i",
    "ј": "j", "о": "o", "р": "p", "ԛ": "q", "г": "r", "ѕ": "s", "ѵ": "v", "ԝ": "w", "ѡ": "w", "х": "x",
    "у": "y", "ү": "y",
}  # fmt: skip
_GREEK = {
    "Α": "A", "Β": "B", "Ϲ": "C", "Ε": "E", "Ϝ": "F", "Η": "H", "Ι": "I", "Ϳ": "J", "Κ": "K", "Μ": "M",
    "Ϻ": "M", "Ν": "N", "Ο": "O", "Ρ": "P", "Τ": "T", "Χ": "X", "Υ": "Y", "Ζ": "Z", "α": "a", "ϲ": "c",
    "ι": "i", "ϳ": "j", "ο": "o", "ρ": "p", "σ": "o", "υ": "u", "ν": "v", "γ": "y",
}  # fmt: skip
_MARKS = {
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "’": "'", "‘": "'", "ʼ": "'", "′": "'", "“": '"',
    "”": '"', "ʹ": "'",
}  # fmt: skip

_LOOKS = str.maketrans(_CYRILLIC | _GREEK | _MARKS)
"""Characters and what they look like.

The letters are those of the blocks Greek and Coptic, Cyrillic, and Cyrillic Supplement that confusables.txt
of Unicode Technical Standard 39 (in the edition of 2021) takes for one Latin letter, but for forms that NFKD
makes letters of this table; and Ԛ, which it lacks. The marks are a few of its hyphens and quotation marks. It
also takes I, l and 1 for one, and 0 and O, which is not done here: too many codes differ by them.
"""

_UNSEEN = {
    "\u034f",
    "\u115f",
    "\u1160",
    "\u17b4",
    "\u17b5",
    "\u3164",
    "\uffa0",
    *map(chr, range(0xFE00, 0xFE10)),
}
"""Characters that take no room and are no format controls (Unicode: Default_Ignorable_Code_Point)."""


def typed_alike(labels: Sequence[str]) -> list[list[str]]:
    """Groups of labels that only case, blanks around them or runs of blanks tell apart.

    Examples
    --------
    >>> typed_alike(["b", "a", "A ", "c"])
    [['a', 'A ']]
    """
    return _groups(labels, lambda label: " ".join(label.split()).casefold())


def written_alike(labels: Sequence[str]) -> list[list[str]]:
    """Groups of labels that look the same on a screen, or nearly so, but for those that are typed alike.

    They differ by how an accent is composed, by characters without width, by compatibility forms such as wide
    letters, or by Cyrillic and Greek letters in the place of Latin ones.

    Examples
    --------
    >>> [len(group) for group in written_alike(["caf\u00e9", "cafe\u0301", "cafe"])]
    [2]
    """
    known = [set(group) for group in typed_alike(labels)]
    return [group for group in _groups(labels, _skeleton) if not any(set(group) <= each for each in known)]


def _skeleton(label: str) -> str:
    """What a label looks like: UTS 39's skeleton, for a few scripts, up to case and blanks."""
    # NFKD makes a letter sigma of the symbol that looks like c, and letters of the table of wide ones.
    shapes = unicodedata.normalize("NFKD", label.translate(_LOOKS)).translate(_LOOKS)
    # Controls are dropped as well: a screen does not show them.
    seen = (
        " " if c.isspace() else c
        for c in shapes
        if c.isspace() or not (unicodedata.category(c) in ("Cf", "Cc") or c in _UNSEEN)
    )
    # Case comes last: a small gamma looks like y, but a capital one like no letter.
    return " ".join("".join(seen).split()).casefold()


def _groups(labels: Sequence[str], key: Callable[[str], str]) -> list[list[str]]:
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(key(label), []).append(label)
    return [group for group in alike.values() if len(group) > 1]
