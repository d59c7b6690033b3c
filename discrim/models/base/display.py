"""Base classes of results that have a summary, and the decorator of methods that return a table.

`SummarizedModel.summary` is the `summary()` of every fitted model. The functions that compute the sections
come from the `ModelSpec` of the model. The `repr` of results is a short form of the summary. A decorator
applies the number formats of summaries to returned tables in notebooks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pandas as pd

from discrim.models.base.available import PublicAttributes
from discrim.report.result_table import MAX_COLUMNS, as_result_table

if TYPE_CHECKING:
    from os import PathLike

    from discrim.models.base.fit import ModelSpec
    from discrim.report.grid import Format, Section
    from discrim.report.tables import SectionFunctions, Summary

P = ParamSpec("P")
T = TypeVar("T")

PROPORTION_COLUMNS = (
    "prior share error proportion cumulative partial_R2 R2 wilks tolerance accuracy kappa sensitivity "
    "specificity within between"
)
TWO_DECIMAL_COLUMNS = "z t F levene_F chi2 aic bic llf llf_given_row LR LR_free D2"
COUNT_COLUMNS = "rows wrong total nobs errors"
"""Names of columns, separated by spaces."""

FORMATS: dict[str, Format] = {
    **dict.fromkeys(COUNT_COLUMNS.split(), "count"),
    **dict.fromkeys(PROPORTION_COLUMNS.split(), "share"),
    **dict.fromkeys(TWO_DECIMAL_COLUMNS.split(), "z"),
}
"""Formats of columns that have the same meaning in every table; others are formatted by their dtype.

"count" is an integer, "share" a proportion, and "z" a number with two decimals; see `report.grid.Format`.
"""

MAX_WITHOUT_EXPONENT = 1e15
"""Largest integer that is written without an exponent."""


def format_count(x: float) -> str:
    """Return the text of a count (without decimals) or of a sum of weights (with ten digits)."""
    return f"{x:.0f}" if x == round(x) and abs(x) < MAX_WITHOUT_EXPONENT else f"{x:.10g}"


def with_display_formats(
    row_formats: Mapping[str, Format] | None = None, **formats: Format
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function that returns a table, which is then printed and displayed with suitable digits.

    P-values are never 0.0000, counts are integers, limits have as many decimals as their estimate. The table
    is a `ResultTable`; its copies, slices and pickles are DataFrames without these formats.

    Parameters
    ----------
    row_formats : mapping of label to format, optional
        Formats of rows by the last level of their labels, if the quantity varies by row and not by column.
    **formats : format
        Formats of columns by name; `every` is the format of all other columns, except counts, p-values and
        text, which `_column_format` recognizes. A function that returns a Series is not affected.

    Returns
    -------
    callable
        Decorator of the function.

    Examples
    --------
    >>> @with_display_formats(rate="share")
    ... def rates():
    ...     return pd.DataFrame({"rate": [0.1, 1 / 3], "p": [0.03, 0.0]}, index=["a", "b"])
    >>> type(rates()), type(rates().head())
    (<class 'discrim.report.result_table.ResultTable'>, <class 'pandas.DataFrame'>)
    >>> [number in rates()._repr_html_() for number in ("0.1000", "0.3333", "&lt;1e-300")]
    [True, True, True]
    >>> rates()
         rate        p
    a  0.1000   0.0300
    b  0.3333  <1e-300
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        """Return the function with a result that is a `ResultTable` in these formats."""
        form = TableForm(function.__name__, formats, row_formats or {})

        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
            """Call the function, and attach the formats to its result."""
            table = as_result_table(function(*args, **kwargs))
            if isinstance(table, pd.DataFrame):
                # Bypass pandas, which treats attributes as columns.
                object.__setattr__(table, "_display_form", form)
            return table

        return wrapper

    return decorate


@dataclass(frozen=True)
class TableForm:
    """Printed and notebook form of the tables of a function, computed when a table is displayed.

    A table has the form of pandas if it is empty or has two levels of columns, two columns of one name or
    more than `MAX_COLUMNS` columns.

    Attributes
    ----------
    name : str
        Name of the function: the title of the table, for screen readers.
    formats : mapping of str to Format
        Formats of columns.
    row_formats : mapping of label to Format
        Formats of rows by the last level of their label.
    """

    name: str
    formats: Mapping[str, Format]
    row_formats: Mapping[str, Format]

    def text(self, table: pd.DataFrame, width: int) -> str | None:
        """Return the table as text of `width` columns; None for the form of pandas."""
        if not _has_simple_labels(table):
            return None
        from discrim.report.text import frame_text

        return frame_text(self._section(table), _label_names(table), width)

    def html(self, table: pd.DataFrame) -> str | None:
        """Return the table as HTML; None for the form of pandas."""
        if not _has_simple_labels(table):
            return None
        from discrim.report.html import frame_html

        return frame_html(self._section(table), _label_names(table))

    def _section(self, table: pd.DataFrame) -> Section:
        """Return the table with its formats and its note, which is `attrs["note"]`."""
        from discrim.report.grid import COLUMN_LIMITS, Section

        forms = {
            column: _column_format(table.iloc[:, j], self.formats) for j, column in enumerate(table.columns)
        }
        ends = zip(table.index, table.index.get_level_values(-1), strict=True) if self.row_formats else ()
        rows = {label: self.row_formats[end] for label, end in ends if end in self.row_formats}
        return Section(
            self.name,
            table,
            forms,
            rows,
            note=str(table.attrs.get("note") or ""),
            source="to_string()",
            column_limits=(MAX_COLUMNS, *COLUMN_LIMITS[1:]),
        )


def _has_simple_labels(table: pd.DataFrame) -> bool:
    """Return whether a `TableForm` can display a table; pandas displays other tables."""
    is_simple = table.columns.nlevels == 1 and table.columns.is_unique
    return bool(is_simple and table.size and table.shape[1] <= MAX_COLUMNS)


def _label_names(table: pd.DataFrame) -> list[Any]:
    """Return the names of the levels of the row labels; the last one with the name of the columns."""
    names = list(table.index.names)
    if names[-1] is not None and table.columns.name is not None:
        names[-1] = f"{names[-1]} \\ {table.columns.name}"
    return names


def _column_format(column: pd.Series, formats: Mapping[str, Format]) -> Format:
    """Return the format of a column: from `formats` or `FORMATS` by its name, else by its name or dtype.

    Columns that are not real are "text", p-values "tail", and integers and degrees of freedom "count". The
    format "every" of `formats` applies to the remaining columns, and replaces `FORMATS` except for counts.
    """
    name = str(column.name)
    dtype = column.dtype
    is_real = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    if pd.api.types.is_bool_dtype(dtype) or not is_real:
        return "text"
    if name in formats or (name in FORMATS and "every" not in formats) or name in COUNT_COLUMNS.split():
        return formats.get(name) or FORMATS[name]
    if name in ("p", "pvalue") or name.startswith(("p_", "pvalue_")) or name.endswith("_p"):
        return "tail"
    if pd.api.types.is_integer_dtype(dtype) or name.startswith("df") or name.endswith("_df"):
        return "count"
    return formats.get("every", "share" if name.startswith("error") else "general")


class SummarizedResults(PublicAttributes, ABC):
    """Base class of results whose `repr` and notebook form are the summary, or its first sections."""

    _FIRST_SECTIONS: tuple[str, ...] = ()
    """Names of the sections of the short form; empty for all sections."""

    @abstractmethod
    def summary(self) -> Summary:
        """Return the summary, of which `repr`, the notebook form and `to_excel` are made."""

    def _brief(self) -> Summary:
        """Return the short form of the summary, the sections `_FIRST_SECTIONS`, for `repr` and notebooks."""
        summary = self.summary()
        return summary.select_sections(self._FIRST_SECTIONS) if self._FIRST_SECTIONS else summary

    def __repr__(self) -> str:
        return self._brief().as_text()

    def _repr_html_(self) -> str:
        return self._brief().as_html()

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write the tables of the summary as an Excel workbook, a sheet for each; see `Summary.to_excel`.

        Parameters
        ----------
        path : str or path
            The file to write, which ends in ".xlsx". An existing file is replaced atomically. For some of the
            tables use `summary(sections=...).to_excel(path)`.

        Raises
        ------
        NotSupportedError
            openpyxl is not installed: ``pip install discrim[excel]``.
        DataError
            `path` is not a path, or has another extension.
        UnwritableFileError
            The folder does not exist, the disk is full, or another error of the operating system occurred.
        """
        from discrim.core.numerics.atomic_write import validate_output_path

        # Check the path before the summary is computed.
        validate_output_path(path, "A workbook", ".xlsx")
        self.summary().to_excel(path)


def display_brief_summary(results_class: type[T]) -> type[T]:
    """Class decorator that defines `__repr__` and `_repr_html_` by the method `_brief`, in place."""
    for name in ("__repr__", "_repr_html_"):
        setattr(results_class, name, getattr(SummarizedResults, name))
    return results_class


class SummarizedModel(SummarizedResults):
    """Base class of results with a `ModelSpec`, which determines the sections of their summary."""

    @property
    @abstractmethod
    def _spec(self) -> ModelSpec[Any]:
        """The specification of the model."""

    @abstractmethod
    def _title(self) -> str:
        """Return the title of the full summary."""

    @abstractmethod
    def _subject(self) -> Any:
        """Return the second argument of the functions of sections and plots: the `FittedModel`."""

    def _verb(self) -> str:
        """Return the name of the verb that makes such fits."""
        return self._spec.verb

    @abstractmethod
    def _heading(self) -> str:
        """Return the title of the short form of the summary."""

    def _section_functions(self, *, brief: bool, subject: Any = None) -> SectionFunctions:
        """Return the functions that compute the sections of the summary or of its short form.

        The keys are the names of the sections; each function takes no arguments and returns a `Section`.

        Parameters
        ----------
        brief : bool
            Whether to return the sections of the short form.
        subject : FittedModel, optional
            Second argument of the functions of the specification; by default `_subject()`.
        """
        from discrim.report.tables import SectionFunctions

        all_sections, short_sections = self._spec.summary_sections()
        sections = short_sections if brief else all_sections
        arguments = (self, subject or self._subject())
        if callable(sections):
            sections = sections(*arguments)
        functions = sections if isinstance(sections, SectionFunctions) else SectionFunctions(sections)
        return functions.bind(*arguments)

    def _sections(self) -> SectionFunctions:
        """Return the functions without arguments that compute the sections of the full summary, by name.

        Subclasses may add or replace sections.
        """
        return self._section_functions(brief=False)

    def _brief(self) -> Summary:
        """Return the short form: `_facts` and the sections of the short form, with the title `_heading()`.

        Large tables are limited to their first rows.
        """
        from discrim.report.tables import Summary

        sections = {name: make() for name, make in self._section_functions(brief=True).items()}
        return Summary(self._heading(), self._facts() | sections).shortened()

    def _facts(self) -> dict[str, Any]:
        """Return more `Section` objects, by name, for the beginning of the short form; by default none."""
        return {}

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The summary, which prints as text and is shown as tables in a notebook; one table for each section.

        Parameters
        ----------
        sections : sequence of str, optional
            Names of the sections to show, in order; "all" stands for all sections that are not named in the
            list. By default all are shown; with more than eight columns the long ones are left out, and the
            last line names them. Only sections that are shown are computed.

        Returns
        -------
        Summary
            It has `.as_text()`, `.as_html()`, `.as_latex()` and `.as_markdown()`; `.tables` has the unrounded
            numbers.
        """
        from discrim.report.tables import summarize

        return summarize(self._title(), self._sections(), pick=sections)
