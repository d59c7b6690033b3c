"""Covariates of linear discriminant analysis: the adjusted covariance model, and `fit.covariate_model`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from discrim.core.covariance.adjusted import (
    CovariateAdjustedCovariance,
    Slopes,
    estimate_slopes,
    parallelism_eigenvalues,
)
from discrim.core.covariance.model import CovarianceModel
from discrim.core.discriminant.lda import LDAFit
from discrim.core.numerics.arrays import Floats
from discrim.design.design_rows import DesignRows
from discrim.errors import CollinearError, NotSupportedError
from discrim.inference.error_rates import check_level
from discrim.inference.manova import wilks
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.discriminant.covariance_models import describe
from discrim.models.discriminant.normal_fits import moments_by_class


def covariate_adjusted_model(design_rows: DesignRows, covariance_model: CovarianceModel) -> CovarianceModel:
    """Return the covariance model adjusted for the covariates of the formula.

    Parameters
    ----------
    design_rows : DesignRows
        The rows; the first q columns are the covariates.
    covariance_model : CovarianceModel
        The model of the option `covariance`, which has to be the plain full covariance.

    Returns
    -------
    CovarianceModel
        An unfitted `CovariateAdjustedCovariance` of the other columns.

    Raises
    ------
    NotSupportedError
        `covariance_model` is not the plain full covariance.
    CollinearError
        All columns of `design_rows` are covariates.
    """
    q = design_rows.n_covariates
    if not covariance_model.traits.is_plain_full:
        raise NotSupportedError(
            f"{describe(covariance_model).source} cannot be combined with covariates (`|`), which require "
            "the full covariance.",
            hint="Leave out one of the two.",
        )
    if q == len(design_rows.terms):
        raise CollinearError(
            "All predictors are constant or linear combinations of the covariates within classes.",
            hint="Use other predictors before the `|`.",
        )
    return CovariateAdjustedCovariance(q)


class CovariateModel(FitComponent):
    """Slopes of the columns on the covariates after the `|` of the formula, and the means adjusted for them.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_penguins
    >>> fit = lda("species ~ bill_length_mm + bill_depth_mm | body_mass_g", load_penguins())
    >>> fit.covariate_model.covariates.tolist()
    ['body_mass_g']
    >>> fit.covariate_model.slopes()["coef"].round(5).tolist()
    [0.00375, 0.00151]
    """

    _fit: FittedModel[LDAFit]

    @property
    def covariates(self) -> pd.Index:
        """Names of the covariates, one for each column of a category; the first terms of the fit."""
        return self._fit.terms[: self._fit.estimates.covariates]

    def _slope_estimates(self) -> Slopes:
        """Return the estimated slopes of the covariates, computed once and cached."""
        fit = self._fit
        if "slopes" not in fit.cache:
            fit.cache["slopes"] = estimate_slopes(fit.estimates.moments, fit.estimates.covariates)
        estimates: Slopes = fit.cache["slopes"]
        return estimates

    @with_display_formats()
    def slopes(self, level: float = 0.95) -> pd.DataFrame:
        """Slopes of the columns on the covariates, which all classes share.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (covariate, column)
            coef, se, t, p (two-sided), low, high of the regression of the column on the classes and the
            covariates, which assumes normal residuals with equal variances.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_penguins
        >>> fit = lda("species ~ bill_length_mm + bill_depth_mm | body_mass_g", load_penguins())
        >>> fit.covariate_model.slopes()["coef"].round(5).tolist()
        [0.00375, 0.00151]
        """
        check_level(level)
        fit = self._fit
        estimates = self._slope_estimates()
        q = fit.estimates.covariates
        index = pd.MultiIndex.from_product([fit.terms[:q], fit.terms[q:]], names=["covariate", "column"])
        return pd.DataFrame(
            _t_test_columns(estimates.coef.ravel(), estimates.se.ravel(), estimates.df, level), index=index
        )

    @with_display_formats()
    def adjusted_means(self, level: float = 0.95) -> pd.DataFrame:
        """Means of the classes at equal covariates, which are set to their overall means.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (class, column)
            mean, the class mean; adjusted, the mean adjusted by the common slopes to the overall means of the
            covariates (over all rows, weighted); the standard error `se` and the interval, low and high, of
            the adjusted mean. They assume normal residuals with equal variances. Columns do not include the
            covariates.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_penguins
        >>> fit = lda("species ~ bill_length_mm + bill_depth_mm | body_mass_g", load_penguins())
        >>> fit.covariate_model.adjusted_means()["adjusted"].round(1).tolist()
        [40.7, 19.1, 50.6, 19.1, 44.2, 13.7]
        """
        check_level(level)
        fit = self._fit
        estimates = self._slope_estimates()
        q = fit.estimates.covariates
        index = pd.MultiIndex.from_product([fit.classes, fit.terms[q:]], names=["class", "column"])
        table = pd.DataFrame({"mean": fit.estimates.moments.class_means[:, q:].ravel()}, index=index)
        columns = _t_test_columns(estimates.means.ravel(), estimates.means_se.ravel(), estimates.df, level)
        for name, column in {"adjusted": "coef", "se": "se", "low": "low", "high": "high"}.items():
            table[name] = columns[column]
        return table

    @with_display_formats(wilks="share")
    def tests(self) -> pd.DataFrame:
        """Tests of the covariates, and of the assumption of parallel slopes.

        Returns
        -------
        DataFrame by test
            wilks, F, df1, df2, p: Wilks' lambda with Rao's F for each covariate (by its name) adjusted for
            the others, for "all" of them if there are several, and for "parallel slopes", the assumption of
            the model that slopes are equal in all classes. All tests assume normal residuals with a common
            covariance matrix. The last test requires moments by class, for which the rows are read once more;
            it is left out for a fit to moments without a scatter by class.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_penguins
        >>> fit = lda("species ~ bill_length_mm + bill_depth_mm | body_mass_g", load_penguins())
        >>> fit.covariate_model.tests()["p"].map("{:.2g}".format).to_dict()
        {'body_mass_g': '2.1e-48', 'parallel slopes': '0.3'}
        """
        fit = self._fit
        slope_estimates = self._slope_estimates()
        estimates = fit.estimates
        q = fit.estimates.covariates
        p, k, _ = estimates.test_sizes
        df_resid = estimates.residual_df
        rows = {
            name: _wilks_row(slope_estimates.partial_eigenvalues[i : i + 1], p, 1, df_resid)
            for i, name in enumerate(fit.terms[:q])
        }
        if q > 1:
            rows["all"] = _wilks_row(slope_estimates.roots, p, q, df_resid)
        if fit.has_rows or estimates.moments.scatter_type == "class":
            moments = moments_by_class(fit, "covariate_model.tests()")
            df_interaction = q * (k - 1)
            rows["parallel slopes"] = _wilks_row(
                parallelism_eigenvalues(moments, q), p, df_interaction, df_resid - df_interaction
            )
        return pd.DataFrame.from_dict(rows, orient="index", columns=["wilks", "F", "df1", "df2", "p"])


def _wilks_row(roots: Floats, p: int, df: int, df_resid: float) -> list[float]:
    """Compute one row of `CovariateModel.tests`: Wilks' lambda and Rao's F.

    Parameters
    ----------
    roots : (r,) float
        Nonzero eigenvalues of the hypothesis squares and products relative to the residual matrix.
    p : int
        Number of columns without the covariates.
    df, df_resid : int, float
        Degrees of freedom of the hypothesis and of the residuals.

    Returns
    -------
    list of float
        Wilks' lambda, F, df1, df2, p.
    """
    test = wilks(roots, p, df + 1, df_resid + df + 1)
    return [test.statistic, *test.approximations["F"]]


def _t_test_columns(coef: Floats, se: Floats, df: float, level: float) -> dict[str, Floats]:
    """Compute t-tests and intervals of estimates, as the columns of a table.

    Parameters
    ----------
    coef, se : (m,) float
        Estimates and their standard errors.
    df : float
        Degrees of freedom of t.
    level : float
        Level of the intervals.

    Returns
    -------
    dict of str to (m,) float
        coef, se, t, p (two-sided), low, high. t is infinite or NaN if se is zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coef / se
    half_width = scipy.special.stdtrit(df, (1 + level) / 2) * se
    p = 2 * scipy.special.stdtr(df, -np.abs(t))
    return {"coef": coef, "se": se, "t": t, "p": p, "low": coef - half_width, "high": coef + half_width}
