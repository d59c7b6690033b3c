"""What a person asks of a picture beside its kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from discrim.errors import DataError
from discrim.models.fits.arguments import listed, told
from discrim.report.plots.style import Signs, signs_of

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["Asked", "asked_classes", "asked_names"]


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


def asked_names(option: str, given: Any) -> Any:
    """Names as they were given: a text, a sequence of texts, or None.

    Raises
    ------
    DataError
        They are something else, or none.
    """
    if given is None or isinstance(given, str):
        return given
    names = list(given) if isinstance(given, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        found = told(next((name for name in names if not isinstance(name, str)), given))
        such = """ such as axes=["LD1", "LD2"]""" if option == "axes" else ""
        raise DataError(f"{option}= holds {found}: give a name, or a list of names{such}.")
    return names


def asked_classes(given: Any) -> list[Any] | None:
    """Labels of classes, of which a single one needs no list.

    Raises
    ------
    DataError
        There is none, or one is named twice.
    """
    if given is None:
        return None
    labels = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    twice = [label for k, label in enumerate(labels) if label in labels[:k]]
    if twice or not labels:
        what = f"names {listed(twice[:1])} twice" if twice else "names no class"
        raise DataError(f"classes= {what}: name different classes, as classes=['a', 'b'].")
    return labels
