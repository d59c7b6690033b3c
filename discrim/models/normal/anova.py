"""One analysis of variance a column, with Levene's test of equal variances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import gather
from discrim.core.moments.row_sums import RowBlock
from discrim.core.normal.lda import LDAFit
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.used_rows import repeated
from discrim.inference.mean_differences import anova_table
from discrim.models.fits.arguments import check_word
from discrim.models.fits.fit import Fit

__all__ = ["anova"]

Floats = NDArray[np.float64]


def anova(fit: Fit[LDAFit], *, levene: str | None, adjust: str | None) -> pd.DataFrame:
    """One row a column; see `LDAResults.anova`."""
    moments = fit.numbers.by_column
    table = anova_table(moments, fit.terms)
    if levene is not None:
        check_word("levene", levene, ("mean", "median"))
        blocks = fit.rows("Levene's test", "pass levene=None, or fit formula and data")
        rests = moments.rests / moments.scale
        middle = (moments.centres, rests) if levene == "mean" else (_medians(blocks), np.zeros(rests.shape))
        deviations = _Deviations(blocks, *middle)
        spread = gather(
            deviations, n_classes=moments.n_classes, n_columns=moments.n_columns, spread="diagonal"
        )
        tests = anova_table(spread, fit.terms)
        table["levene_F"], table["levene_p"] = tests["F"], tests["p"]
    if adjust is not None:
        table["p_adjusted"] = _adjusted(table["p"], adjust)
        if levene is not None:
            table["levene_p_adjusted"] = _adjusted(table["levene_p"], adjust)
    return table


@dataclass(frozen=True, slots=True)
class _Deviations:
    """Absolute deviations of the rows from a middle of their class, block by block.

    Attributes
    ----------
    blocks : Blocks
    centres, rests : (K, p) float
        The middle is their sum.
    """

    blocks: Blocks
    centres: Floats
    rests: Floats

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.blocks:
            deviations = np.abs(x.T - self.centres.T[:, codes] - self.rests.T[:, codes])
            yield deviations.T, codes, weights


def _medians(blocks: Blocks) -> Floats:
    """Medians (K, p) of the classes; they need the rows side by side."""
    parts: list[list[Floats]] = [[] for _ in blocks.design.levels]
    for x, codes, weights in blocks:
        if weights is not None and (weights % 1 != 0).any():
            raise NotSupportedError(
                'levene="median" takes weights that are whole numbers of rows: use levene="mean".'
            )
        for k in np.unique(codes).tolist():
            own = codes == k
            parts[k].append(repeated(x[own], codes[own], None if weights is None else weights[own])[0])
    return np.stack([np.median(np.concatenate(part), axis=0) for part in parts])


def _adjusted(p: pd.Series, method: str) -> pd.Series:
    from statsmodels.stats.multitest import multipletests

    if p.isna().any():
        raise DataError(
            f"The p-value of {shown(p.index[p.isna()][0])} is missing: leave the column out to adjust."
        )
    try:
        if not isinstance(method, str):
            raise ValueError(method)
        return pd.Series(multipletests(p.to_numpy(), method=method)[1], index=p.index)
    except ValueError:
        raise DataError(
            f"adjust={method!r} is not known: name a method of statsmodels' multipletests, such as 'holm', "
            "'bonferroni' or 'fdr_bh'."
        ) from None
