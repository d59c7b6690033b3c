"""Tables that are plain DataFrames, and that a notebook shows with their digits as a summary has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pandas as pd

if TYPE_CHECKING:
    from discrim.report.numbers import Format

__all__ = ["displayed"]

P = ParamSpec("P")
T = TypeVar("T")

SHARES = (
    "prior share error proportion cumulative partial_R2 R2 wilks tolerance accuracy kappa sensitivity "
    "specificity within between"
)
TWO_DECIMALS = "z t F levene_F chi2 AIC BIC aic bic llf llf_given_row LR LR_free D2"
COUNTS = "rows wrong total nobs errors"
FORMATS: dict[str, Format] = {
    **dict.fromkeys(COUNTS.split(), "count"),
    **dict.fromkeys(SHARES.split(), "share"),
    **dict.fromkeys(TWO_DECIMALS.split(), "z"),
}
"""Of columns that every table names alike; others go by what they hold."""


def displayed(
    lines: Mapping[str, Format] | None = None, **formats: Format
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a notebook show the table that a function returns with the digits its numbers have.

    P-values are never 0.0000, counts are whole, limits have as many decimals as their estimate. What comes
    back is a DataFrame, and no subclass: comparing, pickling and `.style` are those of pandas, and
    whatever is computed or cut from it shows as any other. Only `_repr_html_` of this one object is set; it
    reads the numbers that are there when it is shown.

    Parameters
    ----------
    lines : mapping of label to format, optional
        Of rows by the last level of their labels, where rows and not columns hold unlike numbers.
    **formats : format
        Of columns whose name says less than the function does; `every` of all that it does not name.

    Examples
    --------
    >>> @displayed(rate="share")
    ... def rates():
    ...     return pd.DataFrame({"rate": [0.1, 1 / 3], "p": [0.03, 0.0]}, index=["a", "b"])
    >>> type(rates())
    <class 'pandas.DataFrame'>
    >>> [number in rates()._repr_html_() for number in ("0.1000", "0.3333", "&lt;1e-300")]
    [True, True, True]
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def shown(*args: P.args, **kwargs: P.kwargs) -> T:
            table = function(*args, **kwargs)
            if isinstance(table, pd.DataFrame):
                # An attribute of the object, which neither a copy nor a pickle of it has.
                object.__setattr__(
                    table, "_repr_html_", partial(_html, table, function.__name__, formats, lines or {})
                )
            return table

        return shown

    return decorated


def _html(
    table: pd.DataFrame, name: str, formats: dict[str, Format], lines: Mapping[str, Format]
) -> str | None:
    if not pd.get_option("display.notebook_repr_html"):
        return None
    if table.index.nlevels > 2 or table.columns.nlevels > 1 or not table.size:
        as_pandas: str | None = vars(pd.DataFrame)["_repr_html_"](table)
        return as_pandas
    from discrim.report.html import frame_html
    from discrim.report.tables import Section

    forms = {column: _form(table.iloc[:, j], formats) for j, column in enumerate(table.columns)}
    ends = zip(table.index, table.index.get_level_values(-1), strict=True) if lines else ()
    rows = {label: lines[end] for label, end in ends if end in lines}
    names = list(table.index.names)
    if names[-1] is not None and table.columns.name is not None:
        names[-1] = f"{names[-1]} \\ {table.columns.name}"
    return frame_html(Section(name, table, forms, rows, source="to_string()"), names)


def _form(column: pd.Series, formats: dict[str, Format]) -> Format:
    name, kind = str(column.name), column.dtype
    if pd.api.types.is_bool_dtype(kind) or not pd.api.types.is_numeric_dtype(kind):
        return "text"
    if name in formats or (name in FORMATS and "every" not in formats) or name in COUNTS.split():
        return formats.get(name) or FORMATS[name]
    if name in ("p", "pvalue") or name.startswith(("p_", "pvalue_")) or name.endswith("_p"):
        return "tail"
    if pd.api.types.is_integer_dtype(kind) or name.startswith("df") or name.endswith("_df"):
        return "count"
    return formats.get("every", "share" if name.startswith("error") else "general")
