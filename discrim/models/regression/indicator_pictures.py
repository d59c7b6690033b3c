"""Which numbers of a regression of class indicators a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.arguments import listed, told
from discrim.models.pictures.rows import needed_rows

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["fitted"]


def fitted(results: Any, asked: Asked) -> Axes:
    """Fitted values against a numeric column of the table, by default the first such of the formula."""
    from discrim.models.regression.indicator_plots import fitted_values as draw

    fit, column = results._fit, asked.columns
    rows = needed_rows(fit, asked, "fitted")
    blocks = rows.blocks
    values = results.fitted if asked.data is None else results.fitted_values(blocks)
    used = list(blocks.design.columns)
    if column is not None and not (isinstance(column, str) and column in used):
        raise DataError(f"columns={told(column)} is not in the formula: name one of {listed(used)}.")
    columns = blocks.table.frame(used if column is None else [column])
    numeric = [name for name in columns if columns[name].dtype.kind in "iuf"]
    if not numeric:
        raise NotSupportedError(
            f"kind='fitted' draws against a column of numbers, which {listed(list(columns))} "
            f"{'is' if len(list(columns)) == 1 else 'are'} not: name a numeric one of the formula in "
            "columns= or see fitted."
        )
    name = numeric[0]
    held = columns[name]
    curves = None
    if len(used) == 1:
        at = np.linspace(held.min(), held.max(), 401)
        curves = results.fitted_values(pd.DataFrame({name: at})).set_axis(at)
    signs = asked.signs(fit.classes)
    return draw(held, values, rows.labels, list(results.masked), curves=curves, ax=asked.ax, signs=signs)
