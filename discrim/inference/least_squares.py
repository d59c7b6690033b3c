"""Tests of the coefficients of least squares, and of whole regressions, as R's `summary.lm` has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.tails import f_sf, t_isf, t_sf
from discrim.inference.error_rates import check_level

__all__ = ["regression_table", "t_table"]

Floats = NDArray[np.float64]


def t_table(coef: Floats, se: Floats, df: float, index: pd.Index, level: float) -> pd.DataFrame:
    """Coefficients with t tests and intervals.

    Parameters
    ----------
    coef, se : (m,) float
    df : float
        Residual degrees of freedom; tests are missing where it is not positive.
    index : Index of length m
    level : float
        Of the intervals.

    Returns
    -------
    DataFrame
        coef, se, t, p, low, high.

    Raises
    ------
    DataError
        The level is no share.
    """
    check_level(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coef / se
    degrees = df if df > 0 else np.nan
    half = t_isf((1 - level) / 2, degrees) * se
    columns = {"coef": coef, "se": se, "t": t, "p": 2 * t_sf(np.abs(t), degrees)}
    return pd.DataFrame(columns | {"low": coef - half, "high": coef + half}, index=index)


def regression_table(
    explained: Floats, residual: Floats, n_columns: int, df: float, index: pd.Index
) -> pd.DataFrame:
    """R2 and the F test of each of several regressions on the same columns.

    Parameters
    ----------
    explained, residual : (K,) float
        Sums of squares.
    n_columns : int
    df : float
        Residual degrees of freedom.
    index : Index of length K

    Returns
    -------
    DataFrame
        R2, sigma (residual standard deviation), F, df1, df2, p.
    """
    degrees = df if df > 0 else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_square = residual / degrees
        f = explained / n_columns / mean_square
        columns = {"R2": explained / (explained + residual), "sigma": np.sqrt(mean_square), "F": f}
    columns |= {"df1": np.full(len(f), float(n_columns)), "df2": np.full(len(f), degrees)}
    return pd.DataFrame(columns | {"p": f_sf(f, n_columns, degrees)}, index=index)
