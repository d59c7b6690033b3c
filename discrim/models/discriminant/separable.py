"""What fits of matrices say: the covariances of rows and of columns, and whether these are enough."""

from __future__ import annotations

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import pooled, separate
from discrim.core.covariance.separable import SeparableCovariance
from discrim.core.numerics.arrays import Floats
from discrim.errors import NotSupportedError
from discrim.inference.result import TestResult, chi_square_test
from discrim.models.base.fit import fit_covariances
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.labels import covariance_values


class SeparableModel(FitComponent):
    """Covariance of the rows of a matrix times that of its columns.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.covariance import Separable
    >>> from discrim.datasets import load_iris
    >>> model = lda("species ~ .", load_iris(), covariance=Separable(2, 2)).covariance_model
    >>> model.column_cov.round(3).to_numpy().tolist()
    [[0.2, 0.057], [0.057, 0.083]]
    """

    @property
    def row_cov(self) -> pd.DataFrame:
        """Covariance U of the rows of the matrix, whose trace is the number of rows; by class, if of each."""
        return self._side("row")

    @property
    def column_cov(self) -> pd.DataFrame:
        """Covariance V of the columns of the matrix: the average, over its rows, of that of their entries."""
        return self._side("column")

    @property
    def _kind(self) -> SeparableCovariance:
        covariance_model: SeparableCovariance = self._fit.numbers.covariance_model
        return covariance_model

    def _side(self, side: str) -> pd.DataFrame:
        fit = self._fit
        covariance_model = self._kind
        tables = []
        for covariance in fit_covariances(fit):
            blocks = covariance_values(covariance, fit.numbers.moments.scale).reshape(
                covariance_model.rows,
                covariance_model.columns,
                covariance_model.rows,
                covariance_model.columns,
            )
            v = np.einsum("jljm->lm", blocks) / covariance_model.rows
            found = v if side == "column" else np.einsum("jlkl->jk", blocks) / np.trace(v)
            names = pd.Index(range(1, len(found) + 1), name=side)
            tables.append(pd.DataFrame(found, index=names, columns=names))
        return tables[0] if len(tables) == 1 else pd.concat(dict(zip(fit.classes, tables, strict=True)))

    def separability_test(self) -> TestResult:
        """The likelihood ratio of a separable covariance against the full one.

        Returns
        -------
        TestResult
            The chi-square is asymptotic, for many more rows than columns, and assumes normal rows; with few
            rows it rejects too often.

        Raises
        ------
        NotSupportedError
            The rows, or those of a class that has its own covariance, are too few for a full covariance.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> from discrim.covariance import Separable
        >>> fit = lda("species ~ .", load_iris(), covariance=Separable(2, 2))  # Sepal and petal by size.
        >>> test = fit.covariance_model.separability_test()
        >>> round(test.statistic, 2), test.df
        (42.49, 5.0)
        """
        fit = self._fit
        covariance_model = self._kind
        covariances = fit_covariances(self._fit)
        moments = fit.numbers.moments
        p = fit.numbers.moments.n_columns
        counts = moments.counts if len(covariances) > 1 else np.array([moments.total])
        free = moments.rows - 1 if len(covariances) > 1 else [moments.rows.sum() - moments.n_classes]
        if min(free) < p:
            raise NotSupportedError(
                f"separability_test() compares with full covariances, which take {p} degrees of freedom "
                f"at least and have {min(free)}.",
                hint='Give more rows, or compare by error_rates(["cv"]).',
            )
        full = separate(moments, counts) if len(covariances) > 1 else (pooled(moments, moments.total),)
        divisors: Floats = fit.numbers.divisors_of(moments)
        own = [c.divided_by(n / d).logdet for c, n, d in zip(covariances, counts, divisors, strict=True)]
        small, large = (-0.5 * float(counts @ logdets) for logdets in (own, [c.logdet for c in full]))
        df = len(covariances) * p * (p + 1) // 2 - covariance_model.n_parameters(p, len(covariances))
        assumes = "Normal rows within classes. The asymptotic chi-square rejects too often with few rows."
        return chi_square_test("Likelihood ratio of separability", 2 * (large - small), float(df), assumes)
