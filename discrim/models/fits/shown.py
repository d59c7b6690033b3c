"""Results that are shown as their summary, in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from discrim.models.registry import BY_MODEL, summary_part

if TYPE_CHECKING:
    from discrim.report.grid import Part
    from discrim.report.tables import Summary

__all__ = ["Shown", "ShownModel", "shown_briefly"]

T = TypeVar("T")


class Shown:
    """Shown as its summary, or the first of its sections; for classes that have one."""

    SHOWN_FIRST: tuple[str, ...] = ()
    """Sections of the summary that a short form has; all of them where none is named."""

    def _brief(self: Any) -> Summary:
        summary: Summary = self.summary()
        return summary.only(self.SHOWN_FIRST) if self.SHOWN_FIRST else summary

    def __repr__(self) -> str:
        return self._brief().as_text()

    def _repr_html_(self) -> str:
        return self._brief().as_html()


def shown_briefly(kind: type[T]) -> type[T]:
    """Give a class with `_brief`, as a named tuple, the forms of those that are `Shown`."""
    for name in ("__repr__", "_repr_html_"):
        setattr(kind, name, getattr(Shown, name))
    return kind


class ShownModel(Shown):
    """Shown as the short form of the summary of a model; for classes with a title."""

    def _model(self: Any) -> str:
        """Name of the model in the registry."""
        name: str = self._fit.model.name
        return name

    def _verb(self) -> str:
        """Name of the verb that makes such fits."""
        return BY_MODEL[self._model()].verb

    def _sections(self) -> Mapping[str, Callable[[], Part]]:
        """The sections of the summary by name, computed where they are asked for."""
        parts: Mapping[str, Callable[[], Part]] = summary_part(self._model(), "sections", self)
        return parts

    def _brief(self) -> Summary:
        brief: Summary = summary_part(self._model(), "brief", self)
        return brief.shortened()

    def summary(self: Any, sections: Sequence[str] | None = None) -> Summary:
        """The summary, which prints as text and is shown as tables in a notebook; one table for each section.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order; by default all. Only what is asked for is computed.

        Returns
        -------
        Summary
            It has `.as_text()`, `.as_html()`, `.as_latex()` and `.as_markdown()`; `.tables` holds the numbers
            unrounded.
        """
        from discrim.report.tables import summarize

        return summarize(self.title, self._sections(), pick=sections)
