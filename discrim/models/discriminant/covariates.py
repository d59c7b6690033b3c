"""Covariates of a linear discriminant analysis: how they are asked for, and what a fit says of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from discrim.core.covariance.adjusted import CovariateAdjustedCovariance, Slopes, parallel_roots, slopes
from discrim.core.covariance.model import CovarianceModel
from discrim.core.discriminant.lda import LDAFit
from discrim.core.numerics.arrays import Floats
from discrim.design.blocks import Blocks
from discrim.errors import CollinearError, NotSupportedError
from discrim.inference.error_rates import check_level
from discrim.inference.manova import wilks
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.discriminant.covariance_models import describe
from discrim.models.discriminant.normal_fits import moments_by_class


def adjusted_for(blocks: Blocks, covariance_model: CovarianceModel) -> CovarianceModel:
    """The kind of covariance, given the covariates of the formula.

    A NotSupportedError says that covariates do not go with what else is asked for.
    """
    q = blocks.covariates
    if not covariance_model.traits.is_plain_full:
        raise NotSupportedError(
            f"{describe(covariance_model).source} cannot be combined with covariates (`|`), which require "
            "the full covariance.",
            hint="Leave out one of the two.",
        )
    if q == len(blocks.terms):
        raise CollinearError(
            "Each column is constant, or a linear combination of the covariates, within classes.",
            hint="Name other predictors before the `|`.",
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
        """Names of the columns of the covariates."""
        return self._fit.terms[: self._fit.estimates.covariates]

    def _slopes(self) -> Slopes:
        fit = self._fit
        if "slopes" not in fit.cache:
            fit.cache["slopes"] = slopes(fit.estimates.moments, fit.estimates.covariates)
        found: Slopes = fit.cache["slopes"]
        return found

    @displayed()
    def slopes(self, level: float = 0.95) -> pd.DataFrame:
        """Slopes of the columns on the covariates, which all classes share.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (covariate, column)
            coef, se, t, p, low, high: those of the regression of the column on the classes and the
            covariates, which assume residuals that are normal with one variance.

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
        found = self._slopes()
        q = fit.estimates.covariates
        index = pd.MultiIndex.from_product([fit.terms[:q], fit.terms[q:]], names=["covariate", "column"])
        return pd.DataFrame(_by_t(found.coef.ravel(), found.se.ravel(), found.df, level), index=index)

    @displayed()
    def adjusted_means(self, level: float = 0.95) -> pd.DataFrame:
        """Means of the classes at equal covariates, those of the mean of all rows.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (class, column)
            mean, of the rows of the class; adjusted, what the common slopes make of it at the mean of the
            covariates; its standard error `se` and interval, low and high, which assume residuals that are
            normal with one variance.

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
        found = self._slopes()
        q = fit.estimates.covariates
        index = pd.MultiIndex.from_product([fit.classes, fit.terms[q:]], names=["class", "column"])
        table = pd.DataFrame({"mean": fit.estimates.moments.class_means[:, q:].ravel()}, index=index)
        columns = _by_t(found.means.ravel(), found.means_se.ravel(), found.df, level)
        for name, told in {"adjusted": "coef", "se": "se", "low": "low", "high": "high"}.items():
            table[name] = columns[told]
        return table

    @displayed(wilks="share")
    def tests(self) -> pd.DataFrame:
        """Whether the covariates explain something of the columns, and whether their slopes are parallel.

        Returns
        -------
        DataFrame
            wilks, F, df1, df2, p: Wilks' lambda with Rao's F for each covariate beyond the others, for "all"
            of them, and for "parallel slopes", that slopes are the same in all classes, which the model
            assumes. All assume residuals that are normal with one covariance. The last takes moments by
            class, for which it reads the rows once more; of a fit without rows it is left out.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_penguins
        >>> fit = lda("species ~ bill_length_mm + bill_depth_mm | body_mass_g", load_penguins())
        >>> fit.covariate_model.tests()["p"].map("{:.2g}".format).to_dict()
        {'body_mass_g': '2.1e-48', 'parallel slopes': '0.3'}
        """
        fit = self._fit
        found = self._slopes()
        estimates = fit.estimates
        q = fit.estimates.covariates
        p, k, _ = estimates.tested
        free = estimates.residual_df
        rows = {name: _wilks_row(found.single[i : i + 1], p, 1, free) for i, name in enumerate(fit.terms[:q])}
        if q > 1:
            rows["all"] = _wilks_row(found.roots, p, q, free)
        if fit.has_rows or estimates.moments.spread == "class":
            moments = moments_by_class(fit, "covariate_model.tests()")
            more = q * (k - 1)
            rows["parallel slopes"] = _wilks_row(parallel_roots(moments, q), p, more, free - more)
        return pd.DataFrame.from_dict(rows, orient="index", columns=["wilks", "F", "df1", "df2", "p"])


def _wilks_row(roots: Floats, p: int, df: int, free: float) -> list[float]:
    """Wilks' lambda and Rao's F of a hypothesis of `df` degrees of freedom, against `free` of residuals."""
    test = wilks(roots, p, df + 1, free + df + 1)
    return [test.statistic, *test.approximations["F"]]


def _by_t(coef: Floats, se: Floats, df: float, level: float) -> dict[str, Floats]:
    """Columns of estimates with their t-tests and intervals."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coef / se
    half = scipy.special.stdtrit(df, (1 + level) / 2) * se
    p = 2 * scipy.special.stdtr(df, -np.abs(t))
    return {"coef": coef, "se": se, "t": t, "p": p, "low": coef - half, "high": coef + half}
