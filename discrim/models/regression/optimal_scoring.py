"""Optimal scores of classes under the names of classes and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.regression.indicator import IndicatorFit
from discrim.errors import CollinearError
from discrim.models.fits.arguments import listed
from discrim.models.fits.shown import Shown

if TYPE_CHECKING:
    from discrim.report.tables import Summary

__all__ = ["OptimalScoring"]


class OptimalScoring(Shown):
    """Optimal scores: the numbers for the classes that least squares on the columns predicts best.

    Hastie, Tibshirani & Buja (1994), JASA 89, 1255-1270.

    Attributes
    ----------
    scores : DataFrame, classes by LD1, LD2, ...
        Scores of the classes, with mean zero and mean square one over the rows, and uncorrelated between
        axes.
    coef : DataFrame, terms by LD1, LD2, ...
        Coefficients of the least squares of the scores on the columns.
    correlations : Series
        Canonical correlations of indicators and columns.
    residuals : Series
        Average squared residuals, 1 - correlation^2.
    scaling : DataFrame, terms by LD1, LD2, ...
        Discriminants with unit variance within classes, divisor N - K, which are those of `discrim.lda`.
    """

    def __init__(self, fit: IndicatorFit, classes: pd.Index, terms: pd.Index) -> None:
        self._fit, self._classes, self._terms = fit, classes, terms
        self._scoring = fit.scoring()
        self._names = pd.Index([f"LD{i + 1}" for i in range(len(self._scoring.correlations))])

    @property
    def scores(self) -> pd.DataFrame:
        """Scores of the classes."""
        return pd.DataFrame(self._scoring.scores, index=self._classes, columns=self._names)

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the regressions of the scores."""
        return pd.DataFrame(self._scoring.coef, index=self._terms, columns=self._names)

    @property
    def correlations(self) -> pd.Series:
        """Canonical correlations."""
        return pd.Series(self._scoring.correlations, index=self._names, name="correlation")

    @property
    def residuals(self) -> pd.Series:
        """Average squared residuals."""
        return pd.Series(self._scoring.residuals, index=self._names, name="residual")

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminants.

        Raises
        ------
        CollinearError
            A column is constant within classes, or a combination of others there, so that a score is
            predicted without error.
        """
        found, moments = self._scoring, self._fit.moments
        barren = [self._terms[dependency.column] for dependency in dependencies(moments)]
        if barren:
            raise CollinearError(
                f"{listed(barren)}: constant within classes, or determined by other columns there, so that a "
                "discriminant has no variance within classes. Leave it out of the formula."
            )
        free = moments.total - moments.n_classes
        unit = np.sqrt(free / moments.total) / (found.correlations * np.sqrt(found.residuals))
        return pd.DataFrame(self.coef * unit)

    def summary(self) -> Summary:
        """Scores, correlations and discriminants as a summary, which prints as text."""
        from discrim.report.tables import Section, summarize

        table = pd.DataFrame({"correlation": self.correlations, "average squared residual": self.residuals})
        return summarize(
            "Optimal scoring",
            {
                "correlations": lambda: Section("Canonical correlations", table, source=".correlations"),
                "scores": lambda: Section(
                    "Scores of the classes", self.scores.rename_axis(index=None), source=".scores"
                ),
                "coefficients": lambda: Section(
                    "Regressions of the scores", self.coef, shared=True, source=".coef"
                ),
            },
        )
