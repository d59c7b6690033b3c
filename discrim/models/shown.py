"""How a fit shows itself, and is kept: its summary, its short form, its table of rows, its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from discrim.errors import NotSupportedError
from discrim.models.prediction import augmented

if TYPE_CHECKING:
    from os import PathLike

    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["Shown"]


class Shown:
    """Summary, short form, augmented table and file; for `ClassifierResults`."""

    title: ClassVar[str]

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        raise NotSupportedError(f"{self.title} has no summary.")

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The summary, a table for each section; prints, and renders in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order; all by default. Only what is asked for is computed.

        Returns
        -------
        Summary
            `.as_text()`, `.as_html()`, `.as_latex()`, `.as_markdown()`; `.tables` has the numbers unrounded.
        """
        from discrim.report.tables import summarize

        return summarize(self.title, self._sections(), pick=sections)

    def _brief(self) -> Summary:
        raise NotSupportedError(f"{self.title} has no short form.")

    def __repr__(self) -> str:
        return self._brief().as_text()

    def _repr_html_(self) -> str:
        return self._brief().as_html()

    def augment(self: Any, data: Any = None) -> pd.DataFrame:
        """The table with each row's predicted label (`.fitted`) and posteriors (`.posterior.<class>`)."""
        return augmented(self, data, self.predict_proba(data), "posterior")

    def save(self: Any, path: str | PathLike[str]) -> None:
        """Write the fit to a file that `discrim.load` reads, without the rows of the table (but of `knn`)."""
        from discrim.models.store import save

        save(self, path)
