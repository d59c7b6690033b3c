"""What every test of the package returns."""

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
    """One hypothesis test.

    Attributes
    ----------
    name : str
        Name of the test.
    statistic : float
        Value of the test statistic: of the chi-square where the test has one, also where it is an
        approximation to another number, as it is to Box's M; of Wilks' test lambda.
    df : float or tuple of float
        Degrees of freedom of the reference distribution: a number for a chi-square, a pair for an F, and an
        empty tuple for permutations.
    pvalue : float
        Probability of so large a statistic under the hypothesis.
    assumes : str
        What the p-value assumes.
    approximations : dict of str to tuple
        The rows of the table by their labels: what its columns say of each approximation.
    numbers : tuple of (str, float)
        What the printed line says before the degrees of freedom, which are those of the last: each number
        after its word, which is empty where the name of the test is its name. By default the statistic, as a
        chi-square.
    columns : tuple of str
        Names of the columns of the table.
    """

    name: str
    statistic: float
    _df: tuple[float, ...]
    pvalue: float
    assumes: str
    approximations: Mapping[str, tuple[float, float, float, float]]
    numbers: tuple[tuple[str, float], ...] = ()
    columns: tuple[str, ...] = ("statistic", "df", "df2", "p")

    @property
    def df(self) -> float | tuple[float, ...]:
        """Degrees of freedom: a number for a chi-square, a pair for an F."""
        return float(self._df[0]) if len(self._df) == 1 else self._df

    @property
    def table(self) -> pd.DataFrame:
        """One row for each approximation, with these columns."""
        values = np.array(list(self.approximations.values()), dtype=np.float64)
        return pd.DataFrame(values, index=list(self.approximations), columns=list(self.columns))

    def __str__(self) -> str:
        return f"{self._line()}\n{self.assumes}"

    def __repr__(self) -> str:
        lines = [self._line()]
        if len(self.approximations) > 1:
            cells = self._cells()
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for stub, *texts in cells:
                aligned = [text.rjust(width) for text, width in zip(texts, widths[1:], strict=True)]
                lines.append("  ".join([f"  {stub.ljust(widths[0])}", *aligned]).rstrip())
        return "\n".join([*lines, *textwrap.wrap(self.assumes, 100)])

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        right = 'align="right" style="text-align: right; padding: 0.1em 0.7em"'
        heads = "".join(f'<th scope="col" {right}>{escape(text)}</th>' for text in head[1:])
        lines = []
        for stub, *texts in rows:
            cells = "".join(f"<td {right}>{escape(text)}</td>" for text in texts)
            label = f'<th scope="row" align="left" style="text-align: left">{escape(stub)}</th>'
            lines.append(f"<tr>{label}{cells}</tr>")
        caption = f'<caption style="text-align: left; white-space: nowrap">{escape(self._line())}</caption>'
        return (
            f"<div>\n<table>\n{caption}\n"
            f"<thead><tr><td></td>{heads}</tr></thead>\n<tbody>{''.join(lines)}</tbody>\n</table>\n"
            f"<div><small>{escape(self.assumes)}</small></div>\n</div>"
        )

    def _line(self) -> str:
        df = ", df " + ", ".join(f"{d:.6g}" for d in self._df) if self._df else ""
        numbers = self.numbers or (("chi-square", self.statistic),)
        text = ", ".join(f"{word} {number:.6g}".lstrip() for word, number in numbers)
        return f"{self.name}: {text}{df}, p {_p(self.pvalue) or 'nan'}"

    def _cells(self) -> list[list[str]]:
        """The table as texts, its head first; what is missing is blank."""
        rows = [
            [
                label,
                *(_p(x) if name == "p" else _number(x) for name, x in zip(self.columns, row, strict=True)),
            ]
            for label, row in self.approximations.items()
        ]
        return [["", *self.columns], *rows]


def _p(p: float) -> str:
    """A p-value, never zero."""
    return "<1e-300" if p < 1e-300 else _number(p, 3)


def _number(x: Any, digits: int = 6) -> str:
    if isinstance(x, str):
        return x
    return "" if x is None or math.isnan(x) else f"{x:.{digits}g}"


def chi_square_test(name: str, statistic: float, df: float, assumes: str) -> TestResult:
    """A test whose statistic has a chi-square distribution."""
    pvalue = float(chi2_sf(statistic, df))
    return TestResult(name, statistic, (df,), pvalue, assumes, {name: (statistic, df, np.nan, pvalue)})
