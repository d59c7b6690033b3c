"""Which numbers of a regression of class indicators a picture shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.arguments import listed, told
from discrim.models.fits.fit import Fit

if TYPE_CHECKING:
    from discrim.report.plots import Axes

__all__ = ["plot_fitted"]


def plot_fitted(
    fit: Fit[Any],
    fitted: pd.DataFrame,
    fitted_values: Callable[[Any], pd.DataFrame],
    masked: list[Any],
    column: str | None,
    ax: Axes | None,
) -> Axes:
    """Fitted values against a numeric column of the table, by default the first such of the formula.

    Parameters
    ----------
    fit : Fit
    fitted : DataFrame
        Fitted values of the rows of the fit.
    fitted_values : callable
        From a table to fitted values of its rows.
    masked : list
        Classes that are never called.
    column : str or None
    ax : Axes or None
    """
    from discrim.models.regression.indicator_plots import fitted_values as draw

    blocks = fit.drawn_rows()
    used = list(blocks.design.columns)
    if column is not None and not (isinstance(column, str) and column in used):
        raise DataError(f"column={told(column)} is not in the formula: name one of {listed(used)}.")
    columns = blocks.table.frame(used if column is None else [column])
    numeric = [name for name in columns if columns[name].dtype.kind in "iuf"]
    if not numeric:
        raise NotSupportedError(
            f"kind='fitted' draws against a column of numbers, which {listed(list(columns))} "
            f"{'is' if len(list(columns)) == 1 else 'are'} not: name a numeric one of the formula in column= "
            "or see fitted."
        )
    name = numeric[0]
    held = columns[name]
    curves = None
    if len(used) == 1:
        at = np.linspace(held.min(), held.max(), 401)
        curves = fitted_values(pd.DataFrame({name: at})).set_axis(at)
    labels = fit.labels_of(blocks)
    return draw(held, fitted, labels, masked, curves=curves, ax=ax)
