"""Covariances of a few large variances under their names: dimensions, variances, eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.factor import (
    Factors,
    bic_by_dimension,
    common_axes,
    falls,
    one_signal,
)
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import Fit
from discrim.models.base.fitted_results import FitComponent

if TYPE_CHECKING:
    # A fit of lda() does not load the core of qda().
    from discrim.core.discriminant.qda import QDAFit

POOLED = "pooled"
"""In the place of a class, where the classes have one covariance."""


class FactorModel(FitComponent):
    """Covariances of a few large variances, on axes of their own, and one variance for all other directions.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.covariance import FactorAnalytic
    >>> from discrim.datasets import load_iris
    >>> fit = qda("species ~ .", load_iris(), covariance=FactorAnalytic(2))
    >>> fit.covariance_model.dimensions.to_dict()
    {'setosa': 2, 'versicolor': 2, 'virginica': 2}
    """

    _fit: Fit[QDAFit]

    @property
    def _factors(self) -> Factors:
        covariance_model: Any = self._fit.numbers.covariance_model
        factors: Factors = covariance_model.factors
        return factors

    @property
    def dimensions(self) -> pd.Series:
        """Number of large variances by class."""
        return pd.Series(self._factors.dimensions, index=self._fit.classes, name="dimensions")

    @property
    @displayed(explained="share")
    def factors(self) -> pd.DataFrame:
        """By class: dimensions, largest and smallest variance of the signal, noise, explained.

        The noise is the one variance of all directions beyond the
        dimensions. "explained" is the share of the variance that lies on the axes of the signal: of the rows
        of a class, or of all rows within classes where the classes have one covariance. Variances are in the
        units of the data, or of columns divided by their standard deviations within classes.

        Examples
        --------
        >>> from discrim import qda
        >>> from discrim.datasets import load_iris
        >>> from discrim.covariance import FactorAnalytic
        >>> fit = qda("species ~ .", load_iris(), covariance=FactorAnalytic(2))
        >>> fit.covariance_model.factors.round(3).loc["virginica"].tolist()
        [2.0, 0.695, 0.107, 0.043, 0.903]
        """
        factors = self._factors
        signals, noise = factors.variances(self._fit.numbers.divisors)
        table = pd.DataFrame({"dimensions": factors.dimensions}, index=self._fit.classes)
        table["largest"] = factors.in_data(np.array([a.max() for a in signals]))
        table["smallest"] = factors.in_data(np.array([a.min() for a in signals]))
        table["noise"] = factors.in_data(noise)
        table["explained"] = factors.explained
        return table

    @displayed(fall="share", share="share")
    def scree(self) -> pd.DataFrame:
        """Eigenvalues of the classes' covariances, and how many of them count as large.

        Returns
        -------
        DataFrame
            By (class, number), from the largest eigenvalue on and without those that are zero. eigenvalue;
            share, its share of the total; fall, the fall to the next one as a share of the largest fall, on
            which Cattell's test is based; bic_above, the BIC of so many dimensions less the smallest BIC of
            the class, missing for the last one, which leaves nothing to the noise; and whether the model
            takes it for signal. Where the classes have one covariance, "pooled" stands in place of a class.

        Examples
        --------
        >>> from discrim import qda
        >>> from discrim.datasets import load_iris
        >>> from discrim.covariance import FactorAnalytic
        >>> fit = qda("species ~ .", load_iris(), covariance=FactorAnalytic("bic"))
        >>> fit.covariance_model.scree().loc["virginica", ["share", "fall", "bic_above"]].round(2)
                share  fall  bic_above
        number
        1        0.78  1.00       2.76
        2        0.12  0.09       0.00
        3        0.06  0.03       5.61
        4        0.04  0.00        NaN
        """
        factors = self._factors
        p = len(self._fit.terms)
        divisors = self._fit.numbers.divisors
        counts = factors.counts
        labels = list(self._fit.classes)
        if common_axes(factors.form):
            divisors = divisors.sum(keepdims=True)
            counts = counts.sum(keepdims=True)
            labels = [POOLED]
        parts = {}
        for code, label in enumerate(labels):
            rank = int(factors.ranks[code])
            whole = factors.spectra[code].lengths
            lengths = whole[:rank]
            steps = falls(whole, p)
            spanned = np.array([min(p, rank)])
            shared = one_signal(factors.form)
            criterion = bic_by_dimension(lengths[None], spanned, counts[[code]], shared=shared)[0]
            criterion[-1] = np.nan
            columns = {
                "eigenvalue": factors.in_data(lengths / divisors[code]),
                "share": lengths / whole.sum(),
                "fall": np.append(steps, 0.0)[:rank] / steps.max(),
                "bic_above": criterion - np.nanmin(criterion),
                "signal": np.arange(rank) < int(factors.dimensions[code]),
            }
            parts[label] = pd.DataFrame(columns, index=range(1, rank + 1))
        table: pd.DataFrame = pd.concat(parts, names=[self._fit.classes.name, "number"])
        return table
