"""Which columns of a file hold labels, which are read as they are written there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Labels", "labels_of_fit", "labels_to_fit"]


class Labels(NamedTuple):
    """Columns that hold labels.

    Attributes
    ----------
    typed : frozenset of str
        They become numbers or truth values where nothing is lost.
    text : frozenset of str
        They stay text.
    numbers : frozenset of str, optional
        The only columns that are not labels; all others stay text as well.
    """

    typed: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    numbers: frozenset[str] | None = None

    def as_text(self, names: Sequence[str]) -> list[str]:
        """Which of these columns are to be read as text."""
        rest = self.numbers
        return [
            name
            for name in names
            if name in self.typed or name in self.text or (rest is not None and name not in rest)
        ]

    def with_types(self, table: Any) -> Any:
        """Give labels of a DataFrame that were read as text the type that they are written in."""
        from discrim.frame.written_labels import with_type

        found = {name: with_type(table[name]) for name in table.columns if name in self.typed}
        return table.assign(**found) if found else table


def labels_to_fit(*formulas: str) -> Labels:
    """Find the labels in a table that formulas are fitted to."""
    from discrim.frame.label_columns import labels_of_formula

    return Labels(typed=frozenset(name for formula in formulas for name in labels_of_formula(formula)))


def labels_of_fit(fit: Any, *, whole: bool) -> Labels:
    """Find the labels in a table that a fit predicts; whole: columns that it does not read stay text."""
    from discrim.frame.label_columns import labels_of_design

    held = getattr(fit, "_fit", None)
    blocks = None if held is None else held.blocks
    if blocks is None:
        return Labels()
    design = blocks.design
    found = labels_of_design(design)
    text = frozenset(name for name, is_text in found.items() if is_text)
    numbers = frozenset(design.columns) - set(found) if whole else None
    return Labels(frozenset(found) - text, text, numbers)
