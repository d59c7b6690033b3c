"""The DataFrame that results return: it prints all of its columns.

pandas cuts a table that is wider than the terminal and shows "..." in place of the columns in its middle,
which in a table of tests are the statistic and its p-value. The verbs and methods of `models` return a
`ResultTable` instead. It imports pandas alone; the notebook representation is added by
`models.base.display`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import pandas as pd

P = ParamSpec("P")
T = TypeVar("T")

MAX_COLUMNS = 100
"""Number of columns up to which a table is printed completely; a wider one is cut by pandas."""

DEFAULT_WIDTH = 80
"""Default of pandas' option `display.width`."""


class DisplayForm(Protocol):
    """Form of a table with digits and notes; None if pandas should format the table."""

    def text(self, table: pd.DataFrame, width: int) -> str | None:
        """Return the table as text of a number of columns."""

    def html(self, table: pd.DataFrame) -> str | None:
        """Return the table as HTML."""


class _ResultTableType(type):
    """Metaclass for which every DataFrame is a ResultTable, because they differ in their printed form only.

    `pandas.testing.assert_frame_equal(plain, table)` requires that `plain` is an instance of the type of
    `table`.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether an object is any DataFrame; subclasses of ResultTable have the usual check."""
        if cls is ResultTable:
            return isinstance(instance, pd.DataFrame)
        return super().__instancecheck__(instance)


class ResultTable(pd.DataFrame, metaclass=_ResultTableType):
    """A DataFrame that prints all of its columns, with digits and notes like a table of a summary.

    Columns that do not fit the line are continued below the others. Long tables are shortened to the first
    and last rows. Without a display form, and for tables of more than 100 columns, digits and rows follow the
    options of pandas. Slices, pickles, copies (except by `copy.deepcopy`) and everything computed from a
    result table are plain DataFrames.
    """

    _display_form: DisplayForm | None = None
    """Form of the table as text and as HTML, set by `models.base.display`; None for the form of pandas."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        """Class of the results of pandas' operations: a plain DataFrame."""
        return pd.DataFrame

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A pickle contains a plain table, which can be read without this package.
        return copy, (self.copy(),)

    def __deepcopy__(self, memo: Any = None) -> pd.DataFrame:
        """Return a copy that is a ResultTable too, because a deep copy of results keeps the printed form."""
        table = as_result_table(self.copy())
        # Bypass pandas, which treats attributes as columns.
        object.__setattr__(table, "_display_form", self._display_form)
        return table

    def __repr__(self) -> str:
        text = self._display_form.text(self, _print_width()) if self._display_form else None
        if text is not None:
            return text
        with _print_options(self):
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        """Return the notebook representation, or None if pandas' option disables it."""
        if not pd.get_option("display.notebook_repr_html"):
            return None
        formatted = self._display_form.html(self) if self._display_form else None
        if formatted is not None:
            return formatted
        with _print_options(self):
            # The stubs of pandas do not have the method.
            html: str | None = vars(pd.DataFrame)["_repr_html_"](self)
        return html


def as_result_table(value: T) -> T:
    """Convert a plain DataFrame, or the DataFrames in a dict, to ResultTable in place; return `value`.

    Other values are not changed. The DataFrame must not be shared with the user, because its class changes.
    """
    table: Any = value
    if type(table) is pd.DataFrame:
        table.__class__ = ResultTable
    elif type(table) is dict:
        for item in table.values():
            as_result_table(item)
    return value


def returning_result_table(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that returns a DataFrame, or a dict of them, to return result tables instead.

    See `as_result_table`.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        return as_result_table(function(*args, **kwargs))

    return wrapper


@contextmanager
def _print_options(table: pd.DataFrame) -> Iterator[None]:
    """Set pandas display options temporarily to print all columns of a table.

    The width is pandas' option `display.width`, or the width of the terminal if the option has its default.
    Options are not changed for a table of more than `MAX_COLUMNS` columns.
    """
    if table.shape[1] > MAX_COLUMNS:
        yield
        return
    options = ("display.max_columns", None, "display.width", _print_width())
    with pd.option_context(*options, "display.unicode.east_asian_width", True):
        yield


def _print_width() -> int:
    """Return pandas' option `display.width`, or the width of the terminal if the option has its default."""
    width: int | None = pd.get_option("display.width")
    if width == DEFAULT_WIDTH and is_terminal():
        return shutil.get_terminal_size((DEFAULT_WIDTH, 0)).columns
    return DEFAULT_WIDTH if width is None else width


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    try:
        return sys.stdout.isatty()
    # Without a console the stream is None; a closed stream does not answer.
    except (AttributeError, ValueError):
        return False
