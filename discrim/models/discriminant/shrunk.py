"""Shrunken covariances in a fit: how much is shrunk, and how that was chosen."""

from __future__ import annotations

import pandas as pd

from discrim.core.covariance.shrinkage import Shrinkage
from discrim.models.base.available import available_if
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import Fit, fit_covariances
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.refits import held_path


def shrinkage_values(fit: Fit[object], shrinkage: Shrinkage, name: str) -> float | pd.Series:
    """Return how much a fit shrinks: a number, or a Series by class if each class has its own covariance."""
    if len(fit_covariances(fit)) == 1:
        return shrinkage.values[0]
    return pd.Series(shrinkage.values, index=fit.classes, name=name)


class ShrunkModel(FitComponent):
    """Covariance that is shrunk to a sphere, or variances that are shrunk to their median.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Shrunk
    >>> from discrim.datasets import load_iris
    >>> fit = lda("species ~ .", load_iris(), covariance=Shrunk("loo", grid=[0.1, 0.5, 1]))
    >>> fit.covariance_model.shrinkage
    0.1
    >>> fit.covariance_model.path["error"].round(3).tolist()
    [0.02, 0.04, 0.08]
    """

    def _shrinkages(self) -> tuple[Shrinkage, ...]:
        shrinkages: tuple[Shrinkage, ...] = self._fit.numbers.covariance_model.shrinkages
        return shrinkages

    @property
    def shrinkage(self) -> float | pd.Series:
        """How much is shrunk, from 0 to 1; by class if each class has its own covariance."""
        return shrinkage_values(self._fit, self._shrinkages()[0], "shrinkage")

    @property
    @available_if()
    @displayed(se="share")
    def path(self) -> pd.DataFrame:
        """Leave-one-out errors of each shrinkage: shrinkage, error, se.

        Each shrinkage is kept while a row is left out. The choice has the least error and, of equal errors,
        the most shrinkage. An error is missing if a covariance is singular without some row, or if distances
        exceed double precision.
        """
        why = 'which is that of a shrinkage "loo", and not of a loaded fit'
        way_out = 'fit with covariance=discrim.covariance.Shrunk("loo"), or Diagonal("loo")'
        return held_path(self._fit, why, way_out, "shrinkage")


class ShrunkCorrelationModel(ShrunkModel):
    """Covariance whose correlations are shrunk to zero, and whose variances are shrunk to their median.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> model = lda("species ~ .", load_iris(), covariance="correlation").covariance_model
    >>> round(model.shrinkage, 4), round(model.variance_shrinkage, 4)
    (0.0335, 0.0726)
    """

    @property
    def variance_shrinkage(self) -> float | pd.Series:
        """How much the variances are shrunk to their median, from 0 to 1."""
        return shrinkage_values(self._fit, self._shrinkages()[1], "variance_shrinkage")
