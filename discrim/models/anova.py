"""One analysis of variance a column, with Levene's test of equal variances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.core.moments import ClassMoments, gather
from discrim.core.passes import Rows
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.inference.mean_differences import anova_table

if TYPE_CHECKING:
    from discrim.models.lda import LDAResults

__all__ = ["anova"]


def anova(fit: LDAResults, *, levene: bool, adjust: str | None) -> pd.DataFrame:
    """One row a column; see `LDAResults.anova`."""
    moments = fit._fit.moments
    table = anova_table(moments, fit.terms)
    if levene:
        deviations = _Deviations(fit._rows("anova(levene=True)"), moments)
        spread = gather(
            deviations, n_classes=moments.n_classes, n_columns=moments.n_columns, spread="diagonal"
        )
        tests = anova_table(spread, fit.terms)
        table["levene_F"], table["levene_p"] = tests["F"], tests["p"]
    if adjust is not None:
        table["p_adjusted"] = _adjusted(table["p"], adjust)
        if levene:
            table["levene_p_adjusted"] = _adjusted(table["levene_p"], adjust)
    return table


@dataclass(frozen=True, slots=True)
class _Deviations:
    """Absolute deviations of the rows from their class means, block by block."""

    blocks: Blocks
    moments: ClassMoments

    def __iter__(self) -> Iterator[Rows]:
        rest = self.moments.rests / self.moments.scale
        for x, codes, weights in self.blocks:
            deviations = np.abs(x.T - self.moments.centres.T[:, codes] - rest.T[:, codes])
            yield deviations.T, codes, weights


def _adjusted(p: pd.Series, method: str) -> pd.Series:
    from statsmodels.stats.multitest import multipletests

    if p.isna().any():
        raise DataError(
            f"The p-value of {p.index[p.isna()][0]!r} is missing: leave the column out to adjust."
        )
    try:
        return pd.Series(multipletests(p.to_numpy(), method=method)[1], index=p.index)
    except ValueError:
        raise DataError(
            f"adjust={method!r} is not known: name a method of statsmodels' multipletests, such as 'holm', "
            "'bonferroni' or 'fdr_bh'."
        ) from None
