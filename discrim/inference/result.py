"""What every test of the package returns."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

__all__ = ["TestResult"]


@dataclass(frozen=True, slots=True)
class TestResult:
    """One hypothesis test.

    Attributes
    ----------
    name : str
    statistic : float
    df : tuple of float
        Degrees of freedom of the reference distribution: one for a chi-square, two for an F.
    pvalue : float
    assumes : str
        What the p-value rests on.
    table : DataFrame
        One row for each approximation: statistic, df, df2, p.
    """

    name: str
    statistic: float
    df: tuple[float, ...]
    pvalue: float
    assumes: str
    table: pd.DataFrame

    def __str__(self) -> str:
        df = ", ".join(f"{d:.6g}" for d in self.df)
        return f"{self.name}: {self.statistic:.6g}, df {df}, p {self.pvalue:.3g}\n{self.assumes}"


def approximations(rows: dict[str, tuple[float, float, float, float]]) -> pd.DataFrame:
    """Table of statistic, df, df2 and p-value, one row for each approximation."""
    return pd.DataFrame.from_dict(rows, orient="index", columns=["statistic", "df", "df2", "p"])
