"""The summary: sections of numbers, as text, HTML, LaTeX and Markdown.

A section is a DataFrame at full precision and a few words on how to show it. All
renderings are made of the same grid of texts, so that they agree cell by cell; each has
a file beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import pandas as pd

from discrim.core.numerics.progress import late_bar
from discrim.errors import DataError
from discrim.report.grid import INTERVAL, Pairs, Part, Section, among
from discrim.report.html import html_of
from discrim.report.latex import TEXTWIDTH, latex_of
from discrim.report.markdown import markdown_of
from discrim.report.text import text_of, text_width

__all__ = ["INTERVAL", "Pairs", "Part", "Parts", "Section", "Summary", "summarize"]


class Parts(dict[str, Callable[[], Part]]):
    """The sections of a summary by name, computed where they are asked for.

    Attributes
    ----------
    shared : list of (set of str, callable)
        Names of sections, and what makes all of them cheaper; it is called first where all are asked for.
    """

    def __init__(self, parts: Mapping[str, Callable[[], Part]]) -> None:
        super().__init__(parts)
        self.shared: list[tuple[set[str], Callable[[], object]]] = []


class Summary:
    """A title and its sections, each of which is a table.

    Attributes
    ----------
    title : str
        The title.
    tables : dict of str to DataFrame
        The numbers of the sections, unrounded.
    """

    def __init__(self, title: str, parts: Mapping[str, Part]) -> None:
        self.title = title
        self._parts = dict(parts)

    def only(self, keys: Sequence[str]) -> Summary:
        """Some of its sections."""
        return Summary(self.title, {key: part for key, part in self._parts.items() if key in keys})

    def shortened(self) -> Summary:
        """The same, without most of the lines of long tables."""
        return Summary(self.title, {key: among(part) for key, part in self._parts.items()})

    def noted(self, note: str) -> Summary:
        """The same, with a note below the first of its sections."""
        key, part = next(iter(self._parts.items()))
        return Summary(self.title, self._parts | {key: replace(part, note=f"{part.note} {note}".strip())})

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The sections' numbers, unrounded."""
        tables: dict[str, pd.DataFrame] = {}
        for key, part in self._parts.items():
            tables[key] = part.table.copy()
            if isinstance(part, Section) and part.shown:
                name, shown = part.shown
                tables[name] = shown.table.copy()
        return tables

    def extended(self, name: str, part: Part) -> Summary:
        """The summary with one section more, at its end."""
        return Summary(self.title, self._parts | {name: part})

    def followed(self, other: Summary, prefix: str, heading: str) -> Summary:
        """The summary, and behind it the sections of another, their names with a prefix."""
        parts = {f"{prefix}{key}": part for key, part in other._parts.items()}
        first = next(iter(parts))
        return Summary(self.title, self._parts | parts | {first: replace(parts[first], title=heading)})

    def as_text(self, width: int | None = None) -> str:
        """Text of at most so many columns.

        Parameters
        ----------
        width : int, optional
            Number of columns of the text, 40 or more; wider tables go on below. By default it is the width of
            the terminal, and 100 where there is no terminal: in a notebook, a pipe or a file.

        Raises
        ------
        DataError
            The width is no whole number, or is below 40.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> summary = lda("species ~ .", load_iris()).summary(sections=["means"])
        >>> print(summary.as_text(width=60))
        ===================================================
                   Linear discriminant analysis
        ---------------------------------------------------
        Means
                    sepal_length  sepal_width  petal_length
        setosa             5.006        3.428         1.462
        versicolor         5.936        2.770         4.260
        virginica          6.588        2.974         5.552
        <BLANKLINE>
                    petal_width
        setosa            0.246
        versicolor        1.326
        virginica         2.026
        ===================================================
        """
        return text_of(self.title, self._parts.values(), text_width(width))

    def as_html(self) -> str:
        """HTML, labels escaped."""
        return html_of(self.title, self._parts.values())

    def as_latex(
        self,
        caption: str | None = None,
        label: str | None = None,
        *,
        position: str = "htbp",
        textwidth: float = TEXTWIDTH,
    ) -> str:
        r"""LaTeX: a float with caption and label for each section, labels of the data escaped.

        Tables wider than the text are set in smaller type (\small, \footnotesize) or split into panels below
        one another; those taller than a page go on in another float.

        Parameters
        ----------
        caption : str, optional
            Caption in LaTeX, which is written as it is. With several sections each caption begins with it. By
            default they begin with the title.
        label : str, optional
            Name for \ref. With several sections each has "-" and the key of the section behind it, as in
            "tab:iris-means". By default it begins with the title, as in "tab:linear-discriminant-analysis".
        position : str
            Where the floats may go.
        textwidth : float
            Width of the text in points, as \the\textwidth prints it for type of 10 points; divide it by 1.1
            or 1.2 for 11 or 12 points. By default it is a width that fits the class article in any of these
            sizes.

        Raises
        ------
        DataError
            An argument is of another kind.

        Notes
        -----
        A document needs no package: pdflatex of texlive-latex-base sets it. With \usepackage{booktabs} the
        rules are those of booktabs; without it they are plain lines. Greek letters are set as mathematics.
        \usepackage[T1]{fontenc} is needed for a few letters, as in "Łódź, Ąžuolas, Đorđe, «x»"; Chinese,
        Japanese and Korean need lualatex or xelatex with a font that has them (\usepackage{fontspec} and
        \setmainfont{Noto Serif CJK SC}), or the package CJKutf8; Cyrillic needs \usepackage[T2A]{fontenc}.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
        >>> print(fit.summary(["classes"]).as_latex("Irises", "tab:irises").partition("\n\n")[2])
        \begin{table}[htbp]
        \centering\sloppy
        \caption{Irises}
        \label{tab:irises}
        \smallskip
        \begin{tabular}{@{}lrr@{}}
        \toprule
                   &  prior & rows \\
        \midrule
        setosa     & 0.3333 &   50 \\
        versicolor & 0.3333 &   50 \\
        virginica  & 0.3333 &   50 \\
        \bottomrule
        \end{tabular}
        \end{table}
        """
        return latex_of(self.title, self._parts, caption, label, position, textwidth)

    def as_markdown(self) -> str:
        """Markdown pipe tables, labels escaped."""
        return markdown_of(self.title, self._parts.values())

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.as_html()


def summarize(
    title: str, parts: Mapping[str, Callable[[], Part]], pick: Sequence[str] | None = None
) -> Summary:
    """The summary of the sections picked; the others are not computed.

    Raises
    ------
    DataError
        A section is not known.
    """
    if isinstance(pick, set | frozenset) or not isinstance(pick, Iterable | None):
        raise DataError(
            f"sections={pick!r}: give a list of names in the order wanted, of {', '.join(parts)}."
        )
    keys = list(parts) if pick is None else [pick] if isinstance(pick, str) else list(pick)
    unknown = [key for key in keys if not (isinstance(key, str) and key in parts)]
    if unknown:
        near = get_close_matches(str(unknown[0]), parts, n=1)
        way_out = f"did you mean {near[0]!r}? There are" if near else "name some of"
        raise DataError(f"No section {unknown[0]!r} in this summary: {way_out} {', '.join(parts)}.")
    made: dict[str, Part] = {}
    with late_bar(len(keys), "summary") as tell:
        for names, prepare in parts.shared if isinstance(parts, Parts) else ():
            if names <= set(keys):
                prepare()
        for key in keys:
            made[key] = parts[key]()
            tell(1)
    if pick is None and len(made) > 1:
        made = {key: among(part, f"summary(sections=[{key!r}])") for key, part in made.items()}
    return Summary(title, made)
