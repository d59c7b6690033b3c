"""Residuals, leverage and influence of the rows of a logistic regression, on the index of its table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.progress import late_bar
from discrim.core.regression import row_diagnostics
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.row_diagnostics import Influence
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_rows
from discrim.models.fits.arguments import check_flag, check_word
from discrim.models.fits.fit import Fit
from discrim.models.fits.labels import by_class_and_term
from discrim.models.regression.logistic_inference import rows_with_maximum

__all__ = ["KINDS", "dfbetas", "influence", "leverage", "residuals"]

Floats = NDArray[np.float64]

KINDS = ("deviance", "pearson", "response", "working")


def residuals(fit: Fit[LogisticFit], kind: str) -> pd.Series | pd.DataFrame:
    """Residuals of the rows; see `LogisticMethods.residuals`."""
    check_word("kind", kind, KINDS)
    blocks = rows_with_maximum(fit, "residuals()")
    numbers, n = fit.numbers, blocks.table.nrows
    classes = {"deviance": 1, "working": len(fit.classes) - 1}.get(kind, len(fit.classes))
    out = np.full((classes, n), np.nan)
    with late_bar(n, "residuals") as tell:
        for rows, x, codes, weights in used_rows(blocks):
            out[:, rows] = row_diagnostics.residuals(numbers, x, codes, weights, kind)
            tell(len(x))
    index = blocks.table.index
    if len(out) == 1 or len(fit.classes) == 2:
        line = out[numbers.others[0]] if len(out) == 2 else out[0]
        return pd.Series(line, index=index, name=kind)
    columns = fit.classes if len(out) == len(fit.classes) else fit.classes[numbers.others]
    return pd.DataFrame(out.T, index=index, columns=columns)


def leverage(fit: Fit[LogisticFit]) -> pd.Series:
    """Leverage of the rows; see `LogisticMethods.leverage`."""
    return influence(fit, "leverage()")["leverage"]


def influence(fit: Fit[LogisticFit], what: str = "influence()") -> pd.DataFrame:
    """Influence of the rows; see `LogisticMethods.influence`."""
    blocks = rows_with_maximum(fit, what)
    two, n = len(fit.classes) == 2, blocks.table.nrows
    table: dict[str, Floats] = {
        name: np.full(n, np.nan) for name in ("leverage", "cooks_distance", "studentized_pearson")
    }
    for rows, found, sign in _pieces(fit, blocks, moves=False):
        table["leverage"][rows] = found.leverage
        table["cooks_distance"][rows] = found.cook
        table["studentized_pearson"][rows] = found.standardized * (sign if two else 1.0)
    if two:
        deviance = residuals(fit, "deviance").to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            table["studentized_deviance"] = deviance / np.sqrt(1 - table["leverage"])
    return pd.DataFrame(table, index=blocks.table.index)


def dfbetas(fit: Fit[LogisticFit], scaled: bool, bse: Floats) -> pd.DataFrame:
    """What each coefficient moves by without a row; see `LogisticMethods.dfbetas`."""
    check_flag("scaled", scaled)
    blocks = rows_with_maximum(fit, "dfbetas()")
    numbers = fit.numbers
    p1, q = numbers.newton.coef.shape
    n = blocks.table.nrows
    refuse_beyond_memory(
        float(n) * p1 * q, f"dfbetas() of {n:,} rows and {p1 * q:,} coefficients", "Ask for influence()"
    )
    turn = numbers.frame.to_data()
    # Class by class, before anything is multiplied: units whose squares are no doubles cancel here.
    lines = [turn / bse[:, [k]] for k in range(q)] if scaled else [turn] * q
    out = np.full((n, q * p1), np.nan)
    for rows, found, _ in _pieces(fit, blocks, moves=True):
        moves: Any = found.moves
        for k, line in enumerate(lines):
            own = slice(k * p1, (k + 1) * p1)
            out[rows, own] = (line @ moves[own]).T
    columns = by_class_and_term(fit.classes[numbers.others], pd.Index(["constant", *fit.terms]))
    return pd.DataFrame(out, index=blocks.table.index, columns=columns)


def _pieces(fit: Fit[LogisticFit], blocks: Blocks, *, moves: bool) -> Iterator[tuple[Any, Influence, Floats]]:
    """Positions in the table, influence, and the sign of the residual of some rows after others."""
    of_block = row_diagnostics.influence(fit.numbers, moves=moves)
    with late_bar(blocks.table.nrows, "influence of the rows") as tell:
        for rows, x, codes, weights in used_rows(blocks):
            positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            for at, found in of_block((x, codes, weights)):
                yield positions[at], found, np.where(codes[at] == fit.numbers.reference, -1.0, 1.0)
                tell(at.stop - at.start)
