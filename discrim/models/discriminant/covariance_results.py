"""Attributes `covariance_model` of fits with a shrunk, separable or factor analytic covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import class_covariances, pooled_covariance
from discrim.core.covariance.factor import (
    Factors,
    bic_by_dimension,
    eigenvalue_falls,
    has_common_axes,
    has_one_signal_variance,
)
from discrim.core.covariance.nonlinear import NonlinearCovariance
from discrim.core.covariance.separable import SeparableCovariance
from discrim.core.covariance.shrinkage import Shrinkage
from discrim.core.numerics.arrays import Floats
from discrim.errors import NotSupportedError
from discrim.inference.result import TestResult, chi_square_test
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.labels import covariance_values
from discrim.models.base.refits import stored_path

if TYPE_CHECKING:
    # A fit of lda() does not load the core of qda().
    from discrim.core.discriminant.qda import QDAFit


def shrinkage_values(fit: FittedModel[Any], shrinkage: Shrinkage, name: str) -> float | pd.Series:
    """Return a shrinkage as a number or, if each class has its own covariance, a Series by class.

    `name` is the name of the Series.
    """
    if len(fit.estimates.covariances) == 1:
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
        """Return the shrinkages of the covariance model: one, or two for correlations and variances."""
        shrinkages: tuple[Shrinkage, ...] = self._fit.estimates.covariance_model.shrinkages
        return shrinkages

    @property
    def shrinkage(self) -> float | pd.Series:
        """Shrinkage intensity, from 0 to 1; by class if each class has its own covariance."""
        return shrinkage_values(self._fit, self._shrinkages()[0], "shrinkage")

    @property
    @available_if()
    @with_display_formats(se="share")
    def path(self) -> pd.DataFrame:
        """Leave-one-out errors of each candidate shrinkage: shrinkage, error, se.

        "se" is the standard error of the error. Each shrinkage is fixed while a row is left out. The largest
        shrinkage with the smallest error is chosen. An error is missing if a covariance is singular without
        some row, or if distances exceed double precision.

        Raises
        ------
        NotSupportedError
            The shrinkage was not chosen by "loo", or the fit was loaded from a file.
        """
        reason = 'because the shrinkage was not chosen by "loo", or the fit was loaded'
        hint = 'fit with covariance=discrim.covariance.Shrunk("loo"), or Diagonal("loo")'
        return stored_path(self._fit, reason, hint, "shrinkage")


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
        """Shrinkage intensity of the variances to their median, from 0 to 1; by class as `shrinkage`."""
        return shrinkage_values(self._fit, self._shrinkages()[1], "variance_shrinkage")


class NonlinearModel(FitComponent):
    """Covariance whose eigenvalues are shrunk by nonlinear shrinkage.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> lda("species ~ .", load_iris(), covariance="nonlinear").covariance_model.eigenvalues.round(3)
            sample  shrunk
    number
    1        0.444   0.446
    2        0.086   0.086
    3        0.055   0.059
    4        0.022   0.024
    """

    @property
    def eigenvalues(self) -> pd.DataFrame:
        """Eigenvalues of the sample covariance ("sample"), in decreasing order, and shrunk ones ("shrunk").

        They are indexed by number, from 1, or by class and number if each class has its own covariance. If
        the columns are standardized, they are eigenvalues of the covariance of standardized columns.
        """
        estimates = self._fit.estimates
        model: NonlinearCovariance = estimates.covariance_model
        tables = [
            pd.DataFrame({"sample": sample, "shrunk": shrunk}, index=pd.RangeIndex(1, len(sample) + 1))
            for sample, shrunk in model.eigenvalues(
                estimates.moments, estimates.divisors_of(estimates.moments)
            )
        ]
        if len(tables) == 1:
            return tables[0].rename_axis("number")
        return pd.concat(dict(zip(self._fit.classes, tables, strict=True)), names=["class", "number"])


class SeparableModel(FitComponent):
    """Separable covariance: the Kronecker product of a covariance of matrix rows and one of matrix columns.

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
        """Covariance U of the rows of the matrix; its trace is the number of rows.

        With one covariance by class, the matrices are stacked and indexed by (class, row).
        """
        return self._factor_covariance("row")

    @property
    def column_cov(self) -> pd.DataFrame:
        """Covariance V of the columns of the matrix, averaged over its rows, in squared units of the data.

        With one covariance by class, the matrices are stacked and indexed by (class, column).
        """
        return self._factor_covariance("column")

    @property
    def _covariance_model(self) -> SeparableCovariance:
        """Covariance model of the fit."""
        covariance_model: SeparableCovariance = self._fit.estimates.covariance_model
        return covariance_model

    def _factor_covariance(self, side: str) -> pd.DataFrame:
        """Return the row or column factor of a separable covariance, stacked by class if the classes differ.

        The column factor is the mean of the diagonal blocks over the rows of the layout.
        The row factor is the sum over columns, divided by the trace of the column factor.

        Parameters
        ----------
        side : {"row", "column"}
            Whether to return the covariance of the rows or of the columns of the matrix.

        Returns
        -------
        DataFrame
            Square factor, labelled by the numbers from 1; with one covariance by class, the factors on top of
            each other, indexed by (class, number).
        """
        fit = self._fit
        covariance_model = self._covariance_model
        tables = []
        for covariance in fit.estimates.covariances:
            blocks = covariance_values(covariance, fit.estimates.moments.scale).reshape(
                covariance_model.rows,
                covariance_model.columns,
                covariance_model.rows,
                covariance_model.columns,
            )
            v = np.einsum("jljm->lm", blocks) / covariance_model.rows
            matrix = v if side == "column" else np.einsum("jlkl->jk", blocks) / np.trace(v)
            names = pd.Index(range(1, len(matrix) + 1), name=side)
            tables.append(pd.DataFrame(matrix, index=names, columns=names))
        return tables[0] if len(tables) == 1 else pd.concat(dict(zip(fit.classes, tables, strict=True)))

    def separability_test(self) -> TestResult:
        """Likelihood ratio test of the separable covariance against the full covariance.

        Returns
        -------
        TestResult
            The statistic is twice the difference of the maximized log-likelihoods, and df the difference in
            numbers of covariance parameters. The chi-square distribution is asymptotic, for many more rows
            than columns, and assumes normal rows. With few rows the test rejects too often.

        Raises
        ------
        NotSupportedError
            There are too few rows, in total or in a class with its own covariance, for a full covariance.

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
        covariance_model = self._covariance_model
        covariances = self._fit.estimates.covariances
        moments = fit.estimates.moments
        p = fit.estimates.moments.n_columns
        counts = moments.counts if len(covariances) > 1 else np.array([moments.total])
        df_resid = moments.rows - 1 if len(covariances) > 1 else [moments.rows.sum() - moments.n_classes]
        if min(df_resid) < p:
            raise NotSupportedError(
                f"separability_test() requires at least {p} degrees of freedom for the full covariance "
                f"matrix; there are {min(df_resid)}.",
                hint='Use more observations, or compare fits by error_rates(["cv"]).',
            )
        full = (
            class_covariances(moments, counts)
            if len(covariances) > 1
            else (pooled_covariance(moments, moments.total),)
        )
        divisors: Floats = fit.estimates.divisors_of(moments)
        separable_logdets = [
            covariance.divided_by(n / d).logdet
            for covariance, n, d in zip(covariances, counts, divisors, strict=True)
        ]
        llf_separable = -0.5 * float(counts @ separable_logdets)
        llf_full = -0.5 * float(counts @ [covariance.logdet for covariance in full])
        df = len(covariances) * p * (p + 1) // 2 - covariance_model.n_parameters(p, len(covariances))
        assumes = (
            "Normal observations within classes. The asymptotic chi-square test rejects too often with few "
            "observations."
        )
        return chi_square_test(
            "Likelihood ratio of separability", 2 * (llf_full - llf_separable), float(df), assumes
        )


POOLED_LABEL = "pooled"
"""Label of the rows of `FactorModel.scree` if the classes have a common covariance."""


class FactorModel(FitComponent):
    """Covariances with a few large variances, on axes by class, and one variance in all other directions.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.covariance import FactorAnalytic
    >>> from discrim.datasets import load_iris
    >>> fit = qda("species ~ .", load_iris(), covariance=FactorAnalytic(2))
    >>> fit.covariance_model.dimensions.to_dict()
    {'setosa': 2, 'versicolor': 2, 'virginica': 2}
    """

    _fit: FittedModel[QDAFit]

    @property
    def _factors(self) -> Factors:
        """Estimated axes and variances of the covariance model."""
        covariance_model: Any = self._fit.estimates.covariance_model
        factors: Factors = covariance_model.factors
        return factors

    @property
    def dimensions(self) -> pd.Series:
        """Number of large variances by class, a Series of int."""
        return pd.Series(self._factors.dimensions, index=self._fit.classes, name="dimensions")

    @property
    @with_display_formats(explained="share")
    def factors(self) -> pd.DataFrame:
        """By class: dimensions, largest, smallest, noise, explained.

        "largest" and "smallest" are variances of the signal, which has as many axes as `dimensions`, and
        "noise" is the common variance of all other directions. "explained" is the share of the variance on
        the axes of the signal: of the rows of a class, or of all rows within classes if the classes have a
        common covariance. Variances are in the squared units of the data, or of columns divided by their
        standard deviations within classes, with the divisor of the fit.

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
        signals, noise = factors.variances(self._fit.estimates.divisors)
        table = pd.DataFrame({"dimensions": factors.dimensions}, index=self._fit.classes)
        table["largest"] = factors.variances_in_data_units(np.array([a.max() for a in signals]))
        table["smallest"] = factors.variances_in_data_units(np.array([a.min() for a in signals]))
        table["noise"] = factors.variances_in_data_units(noise)
        table["explained"] = factors.explained
        return table

    @with_display_formats(fall="share", share="share")
    def scree(self) -> pd.DataFrame:
        """Eigenvalues of the covariances by class, and which of them belong to the signal.

        Returns
        -------
        DataFrame
            By (class, number), in decreasing order of the eigenvalues that are not zero. eigenvalue; share,
            its share of the total; fall, the difference from the next eigenvalue divided by the largest such
            difference, on which Cattell's test is based; bic_above, the BIC of this number of dimensions
            minus the smallest BIC of the class, missing for the last number, which leaves no noise; signal,
            whether the model assigns the eigenvalue to the signal. If the classes have a common covariance,
            the class is "pooled".

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
        divisors = self._fit.estimates.divisors
        counts = factors.counts
        labels = list(self._fit.classes)
        if has_common_axes(factors.form):
            divisors = divisors.sum(keepdims=True)
            counts = counts.sum(keepdims=True)
            labels = [POOLED_LABEL]
        tables = {}
        for code, label in enumerate(labels):
            rank = int(factors.ranks[code])
            all_eigenvalues = factors.spectra[code].eigenvalues
            eigenvalues = all_eigenvalues[:rank]
            drops = eigenvalue_falls(all_eigenvalues, p)
            spanned = np.array([min(p, rank)])
            shared = has_one_signal_variance(factors.form)
            criterion = bic_by_dimension(eigenvalues[None], spanned, counts[[code]], shared=shared)[0]
            criterion[-1] = np.nan
            columns = {
                "eigenvalue": factors.variances_in_data_units(eigenvalues / divisors[code]),
                "share": eigenvalues / all_eigenvalues.sum(),
                "fall": np.append(drops, 0.0)[:rank] / drops.max(),
                "bic_above": criterion - np.nanmin(criterion),
                "signal": np.arange(rank) < int(factors.dimensions[code]),
            }
            tables[label] = pd.DataFrame(columns, index=range(1, rank + 1))
        table: pd.DataFrame = pd.concat(tables, names=[self._fit.classes.name, "number"])
        return table
