"""What a person asks of a picture beside its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from discrim.report.pictures.style import Signs, signs_of

if TYPE_CHECKING:
    from discrim.report.pictures.style import Axes

__all__ = ["Asked"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `plot`, as they were given.

    Attributes
    ----------
    ax : Axes or None
        To draw on.
    data : table or None
        Rows to draw in the place of those of the fit.
    axes, columns, at, method, level, structure, centred, classes, colors, title, other : optional
        See `discrim.models.pictures.pictured.Pictured.plot`.
    """

    ax: Axes | None = None
    data: Any = None
    axes: Sequence[str] | None = None
    columns: Sequence[str] | str | None = None
    at: Any = None
    method: str | None = None
    level: float | None = None
    structure: str | None = None
    centred: bool | None = None
    classes: Sequence[Any] | None = None
    colors: Any = None
    title: str | None = None
    other: Any = None

    def given(self) -> list[str]:
        """Names of the options beside `ax` and `title` that were given."""
        return [
            field.name
            for field in fields(self)
            if field.name not in ("ax", "title") and getattr(self, field.name) is not None
        ]

    def signs(self, classes: Sequence[Any]) -> Signs:
        """Colours, markers and lines of the classes."""
        return signs_of(list(classes), self.colors)
