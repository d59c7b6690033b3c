"""A summary: a title and named sections, each a table, which the other modules of this package write.

A section is a DataFrame at full precision with formats of its columns. Each format of a summary is one module
with one public function, which becomes a method of `Summary`. All formats except Excel are written from one
grid of texts (`grid.py`), hence they agree cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.core.numerics.progress import Progress
from discrim.errors import DataError
from discrim.report import excel, html, latex, markdown, text
from discrim.report.grid import Section, SummarySection, clean, frame_of, limit_rows
from discrim.report.result_table import as_result_table

MAX_BRIEF_ROWS = 20
"""Number of rows up to which the short form of a summary shows a ranked table whole; see `limit_rows`."""

Sections = dict[str, Callable[..., SummarySection]]
"""Functions that compute the sections of a summary, by name.

Their arguments are the results and the fit; after `SectionFunctions.bind` they are called without arguments.
"""


class SectionFunctions(Sections):
    """Functions that compute the sections of a summary, by name, and which of them are shown by default.

    `ModelSpec.summary_sections` returns functions of the results and the fit. `bind` binds these arguments,
    and `summarize` calls the functions of the sections that are shown.

    Attributes
    ----------
    shown_only_by_name : frozenset of str
        Sections that a summary shows only if the user names them.
    preparations : list of (set of str, callable)
        Sets of section names, each with a function that `summarize` calls first if it shows all sections of
        the set. The function, whose result is ignored, caches results that these sections share. Its
        arguments match the section functions.
    """

    def __init__(
        self, functions: Mapping[str, Callable[..., SummarySection]], shown_only_by_name: Iterable[str] = ()
    ) -> None:
        """Store the functions of the sections by name, without preparations."""
        super().__init__(functions)
        self.preparations: list[tuple[set[str], Callable[..., object]]] = []
        self.shown_only_by_name = frozenset(shown_only_by_name)

    def bind(self, *arguments: Any) -> SectionFunctions:
        """Return a copy whose functions and preparations have all of their arguments bound."""
        bound = SectionFunctions(
            {name: partial(make, *arguments) for name, make in self.items()}, self.shown_only_by_name
        )
        bound.preparations = [(names, partial(prepare, *arguments)) for names, prepare in self.preparations]
        return bound


class Summary:
    """A title and its sections, each of which is a table.

    Attributes
    ----------
    title : str
        The title.
    tables : dict of str to DataFrame
        The numbers of the sections, unrounded.
    """

    def __init__(
        self,
        title: str,
        sections: Mapping[str, SummarySection],
        unshown: Mapping[str, Callable[[], SummarySection]] | None = None,
    ) -> None:
        """Create a summary.

        Parameters
        ----------
        title : str
        sections : mapping of str to Section or Pairs
            Sections to show, by name, in order.
        unshown : mapping of str to callable, optional
            Functions without arguments that compute the sections that are not shown. They are called whenever
            `tables` or `to_excel` needs these sections.
        """
        self.title = title
        self._sections = dict(sections)
        self._unshown = dict(unshown or {})

    # One line for each format of tables.
    as_text = text.as_text
    as_html = html.as_html
    as_latex = latex.as_latex
    as_markdown = markdown.as_markdown
    to_excel = excel.to_excel

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.as_html()

    if not TYPE_CHECKING:
        # With this method, type checkers would accept any attribute.
        def __getattr__(self, name):
            from discrim.slips import ATTRIBUTES, raise_unknown_attribute

            if name.startswith("_"):
                return object.__getattribute__(self, name)
            raise_unknown_attribute("Summary", name, dir(self), ATTRIBUTES)

    def _all_sections(self) -> dict[str, SummarySection]:
        """Return all sections by name, also the unshown ones, which are computed.

        A section with a `replacement` is followed by it, under the name of the replacement.
        """
        sections: dict[str, SummarySection] = {}
        for key, section in (self._sections | {key: make() for key, make in self._unshown.items()}).items():
            sections[key] = section
            if isinstance(section, Section) and section.replacement:
                sections |= [section.replacement]
        return sections

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Copies of the tables, unrounded, by section; includes the sections that are shown only if named."""
        return as_result_table(
            {key: frame_of(section.table).copy() for key, section in self._all_sections().items()}
        )

    @property
    def _last_line(self) -> str:
        """Plain text below the sections that names the unshown ones; empty if all are shown."""
        names = list(self._unshown)
        if not names:
            return ""
        return clean(f'Not shown: {", ".join(names)}. See summary("{names[0]}"), or summary("all").')

    def _with_sections(self, sections: Mapping[str, SummarySection]) -> Summary:
        """Return a summary that shows `sections` instead; the unshown sections stay available."""
        return Summary(self.title, sections, self._unshown)

    def select_sections(self, keys: Sequence[str]) -> Summary:
        """Return a summary of the shown sections that `keys` names, in their present order.

        Other keys are ignored. The new summary does not have unshown sections.
        """
        return Summary(self.title, {key: section for key, section in self._sections.items() if key in keys})

    def shortened(self) -> Summary:
        """Return a summary whose large tables are limited, by `limit_rows` with `MAX_BRIEF_ROWS`."""
        return self._with_sections(
            {key: limit_rows(section, max_rows=MAX_BRIEF_ROWS) for key, section in self._sections.items()}
        )

    def with_note(self, note: str) -> Summary:
        """Return a new summary with a note added after the note of its first section."""
        key, section = next(iter(self._sections.items()))
        return self.with_section(key, replace(section, note=f"{section.note} {note}".strip()))

    def with_section(self, name: str, section: SummarySection) -> Summary:
        """Return a new summary with a section added at the end, or replaced if the name exists."""
        return self._with_sections(self._sections | {name: section})

    def followed_by(self, other: Summary, prefix: str, heading: str) -> Summary:
        """Return this summary followed by the shown sections of another.

        Parameters
        ----------
        other : Summary
            Its title and its unshown sections are ignored.
        prefix : str
            Prefix of the names of the other sections.
        heading : str
            New title of the first section of `other`.

        Returns
        -------
        Summary
        """
        sections = {f"{prefix}{key}": section for key, section in other._sections.items()}
        first = next(iter(sections))
        return self._with_sections(
            self._sections | sections | {first: replace(sections[first], title=heading)}
        )


def summarize(
    title: str, functions: Mapping[str, Callable[[], SummarySection]], pick: Sequence[str] | None = None
) -> Summary:
    """Return the summary of the chosen sections; the others are not computed.

    If several sections are chosen by default or by "all", their large tables are limited by `limit_rows`.

    Parameters
    ----------
    title : str
        The title.
    functions : mapping of str to callable
        Functions without arguments that compute the sections, by name; see `SectionFunctions.bind`.
    pick : sequence of str or str, optional
        Names of the sections to show, in order; "all" stands for all sections that are not named. By default
        all sections except `SectionFunctions.shown_only_by_name`, which stay available in `Summary.tables`.

    Returns
    -------
    Summary

    Raises
    ------
    DataError
        A name is unknown, or `pick` is a set or not iterable.
    """
    if isinstance(pick, set | frozenset) or not isinstance(pick, Iterable | None):
        raise DataError(
            f"sections={pick!r} is not valid.",
            hint=f"Pass a list of names in order. The sections are {', '.join(functions)}.",
        )
    by_name: frozenset[str] = frozenset()
    if pick is None:
        by_name = functions.shown_only_by_name if isinstance(functions, SectionFunctions) else by_name
        section_names = [key for key in functions if key not in by_name]
    else:
        section_names = [pick] if isinstance(pick, str) else list(pick)
    is_whole = pick is None or (section_names == ["all"] and "all" not in functions)
    if "all" in section_names and "all" not in functions:
        all_position = section_names.index("all")
        section_names = list(
            dict.fromkeys(
                [
                    *section_names[:all_position],
                    *(key for key in functions if key not in section_names),
                    *section_names[all_position + 1 :],
                ]
            )
        )
    unknown = [key for key in section_names if not (isinstance(key, str) and key in functions)]
    if unknown:
        close_matches = get_close_matches(str(unknown[0]), functions, n=1)
        hint = f"Did you mean {close_matches[0]!r}? " if close_matches else ""
        raise DataError(
            f"Unknown section {unknown[0]!r} in this summary.",
            hint=f'{hint}The sections are {", ".join(functions)}; "all" stands for all of them.',
        )
    sections: dict[str, SummarySection] = {}
    with Progress(len(section_names), "summary") as progress:
        for names, prepare in functions.preparations if isinstance(functions, SectionFunctions) else ():
            if names <= set(section_names):
                prepare()
        for key in section_names:
            sections[key] = functions[key]()
            progress(1)
    if is_whole and len(sections) > 1:
        sections = {
            key: limit_rows(section, f"summary(sections=[{key!r}])") for key, section in sections.items()
        }
    return Summary(title, sections, {key: functions[key] for key in functions if key in by_name})
