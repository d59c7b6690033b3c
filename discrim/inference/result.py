"""Result class of the hypothesis tests."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.special import chi2_sf


@dataclass(frozen=True, slots=True)
class TestResult:
    """Result of one hypothesis test.

    Attributes
    ----------
    name : str
        Name of the test.
    statistic : float
        Value of the test statistic. If the test has a chi-square approximation (for example Box's M), the
        chi-square; for Wilks' test lambda.
    df : float or tuple of float
        Degrees of freedom of the reference distribution: a number for a chi-square, a pair for an F, and an
        empty tuple for other distributions (normal, Gumbel or permutations). The constructor requires a
        tuple.
    pvalue : float
        Probability, under the hypothesis, of a statistic at least as extreme: as large or, for Wilks' lambda,
        as small.
    assumes : str
        Assumptions of the p-value, as sentences.
    approximations : dict of str to tuple
        Rows of `table`: the label of each approximation, and the values of the columns, NaN if absent.
    labelled_values : tuple of (str, float)
        Labels and values in the printed line, before the degrees of freedom. A label is empty if the name of
        the test is the label. By default the statistic, labelled as a chi-square.
    columns : tuple of str
        Names of the columns of the table. A column "p" is printed as p-values.
    """

    # Keep pytest from collecting the class, whose name begins with "Test".
    __test__ = False

    name: str
    statistic: float
    _df: tuple[float, ...]
    pvalue: float
    assumes: str
    approximations: Mapping[str, tuple[float, float, float, float]]
    labelled_values: tuple[tuple[str, float], ...] = ()
    columns: tuple[str, ...] = ("statistic", "df", "df2", "p")

    @property
    def df(self) -> float | tuple[float, ...]:
        """Degrees of freedom; see the class."""
        return float(self._df[0]) if len(self._df) == 1 else self._df

    @property
    def table(self) -> pd.DataFrame:
        """Table with one row for each approximation, by label, and the columns `columns`."""
        values = np.array(list(self.approximations.values()), dtype=np.float64)
        return pd.DataFrame(values, index=list(self.approximations), columns=list(self.columns))

    def __str__(self) -> str:
        """Summary line and assumptions."""
        return f"{self._summary_line()}\n{self.assumes}"

    def __repr__(self) -> str:
        """Summary line, table of the approximations if there are several, and assumptions."""
        lines = [self._summary_line()]
        if len(self.approximations) > 1:
            cells = self._table_texts()
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for stub, *texts in cells:
                aligned = [text.rjust(width) for text, width in zip(texts, widths[1:], strict=True)]
                lines.append("  ".join([f"  {stub.ljust(widths[0])}", *aligned]).rstrip())
        return "\n".join([*lines, *textwrap.wrap(self.assumes, 100)])

    def _repr_html_(self) -> str:
        """HTML table of the approximations, with the summary line as caption and the assumptions below.

        All texts are escaped.
        """
        head, *rows = self._table_texts()
        right = 'align="right" style="text-align: right; padding: 0.1em 0.7em"'
        heads = "".join(f'<th scope="col" {right}>{escape(text)}</th>' for text in head[1:])
        lines = []
        for stub, *texts in rows:
            cells = "".join(f"<td {right}>{escape(text)}</td>" for text in texts)
            label = f'<th scope="row" align="left" style="text-align: left">{escape(stub)}</th>'
            lines.append(f"<tr>{label}{cells}</tr>")
        caption = (
            f'<caption style="text-align: left; white-space: nowrap">{escape(self._summary_line())}</caption>'
        )
        return (
            f"<div>\n<table>\n{caption}\n"
            f"<thead><tr><td></td>{heads}</tr></thead>\n<tbody>{''.join(lines)}</tbody>\n</table>\n"
            f"<div><small>{escape(self.assumes)}</small></div>\n</div>"
        )

    def _summary_line(self) -> str:
        """Return the one-line summary of the test: name, labelled values, degrees of freedom and p-value."""
        df = ", df " + ", ".join(f"{d:.6g}" for d in self._df) if self._df else ""
        labelled_values = self.labelled_values or (("chi-square", self.statistic),)
        text = ", ".join(f"{word} {number:.6g}".lstrip() for word, number in labelled_values)
        return f"{self.name}: {text}{df}, p {_format_pvalue(self.pvalue) or 'nan'}"

    def _table_texts(self) -> list[list[str]]:
        """Return the formatted texts of the table by row, the header first; missing values are blank.

        The first text of each row is the label of the approximation. The texts are not escaped.
        """
        rows = [
            [
                label,
                *(
                    _format_pvalue(x) if name == "p" else _format_number(x)
                    for name, x in zip(self.columns, row, strict=True)
                ),
            ]
            for label, row in self.approximations.items()
        ]
        return [["", *self.columns], *rows]


def _format_pvalue(p: float) -> str:
    """Format a p-value with three significant digits; one below 1e-300 as "<1e-300", NaN as ""."""
    return "<1e-300" if p < 1e-300 else _format_number(p, 3)


def _format_number(x: Any, digits: int = 6) -> str:
    """Format a number with some significant digits; a missing value is blank, a text is unchanged."""
    if isinstance(x, str):
        return x
    return "" if x is None or math.isnan(x) else f"{x:.{digits}g}"


def chi_square_test(name: str, statistic: float, df: float, assumes: str) -> TestResult:
    """Return the result of a test that rejects for large values of a chi-square statistic.

    Its only approximation has the name of the test as label.

    Parameters
    ----------
    name : str
        Name of the test.
    statistic, df : float
        Statistic and its degrees of freedom.
    assumes : str
        Assumptions of the p-value.

    Returns
    -------
    TestResult
    """
    pvalue = float(chi2_sf(statistic, df))
    return TestResult(name, statistic, (df,), pvalue, assumes, {name: (statistic, df, np.nan, pvalue)})
