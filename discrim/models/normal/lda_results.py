"""A fitted linear discriminant analysis.

It has two faces. The classifier compares ln prior_k - D2_k/2, which is linear in
the row. The canonical variates are the directions in which the class means differ
most against the spread within classes. The second is derived from the first.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.canonical import Canonical
from discrim.core.incomplete.em import buffers_with_found, with_found
from discrim.core.normal.lda import LDAFit
from discrim.core.normal.lda_file import lda_from_file
from discrim.core.normal.lda_marginal import linear_marginal
from discrim.core.rules import gaussian
from discrim.core.rules.plane import Plane
from discrim.core.shrinkage.shrinkage import is_regular
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.unseen import Unseen
from discrim.inference.log_odds import log_odds, wald_table
from discrim.inference.manova import manova_table, wilks
from discrim.inference.mean_differences import distance_table, generalized_distances, partial_table
from discrim.inference.result import TestResult
from discrim.models.fits.arguments import check_flag, is_number, is_share, listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.labels import (
    beyond_doubles,
    by_class_and_term,
    class_code,
    covariance_frame,
    in_brooms_names,
)
from discrim.models.normal.anova import anova
from discrim.models.normal.covariance_options import Shrinking
from discrim.models.normal.equal_covariances import box_m_of, covariance_models_of
from discrim.models.normal.linear import linear_again
from discrim.models.normal.normal_fits import ShrunkCovariances, normal_refits
from discrim.models.normal.ranking import RankedColumns
from discrim.models.normal.robust import RobustRows
from discrim.models.results.canonical import CanonicalResults, Convention
from discrim.models.results.equations import LogOddsEquations
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.group_summary import group_summary
from discrim.models.results.results import ClassifierResults
from discrim.models.saving.saved import NOTHING, Saved

__all__ = ["LDAResults", "lda_fit"]

Floats = NDArray[np.float64]


MODEL = Model("lda", "Linear discriminant analysis", marginal=linear_marginal)


def lda_fit(
    numbers: LDAFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    asked: Shrinking | None = None,
    path: pd.DataFrame | None = None,
    drops: bool = False,
) -> Fit[LDAFit]:
    """A linear discriminant analysis as one value; `asked` and `path` are those of its shrinkage."""
    cache = {} if path is None else {"path": path}
    blocks = blocks if numbers.em is None else replace(blocks, partial=True)
    refits = normal_refits(numbers, asked, linear_again, common=True, drops=drops)
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows, cache)


SAVED = Saved(
    {"method": (str,), "structure": (str,), "ncomp": (int, NOTHING), "estimated_prior": (bool,)}
    | {"chosen": (str, NOTHING), "estimator": (str, NOTHING), "standardize": (bool,)}
    | {"variance_chosen": (str, NOTHING)},
    "pooled",
    partial(with_found, lda_from_file),
    lda_fit,
    buffers_with_found,
    lambda k, p: {"robust": (-1,)},
    lambda k, p: {"shrinkage": (1,), "variance_shrinkage": (1,), "covariance_roots": (1, p, p), "em": (-1,)},
)


class LDAResults(
    LogOddsEquations, LinearGeometry, ShrunkCovariances, RankedColumns, RobustRows, ClassifierResults
):
    """A fitted linear discriminant analysis.

    Attributes
    ----------
    means : DataFrame, classes by terms
        Class means.
    cov : DataFrame, terms by terms
        Covariance within classes, with divisor N - K (`method="moment"`) or N ("mle"), or robust ("t",
        "mcd").
    scaling : DataFrame, terms by LD1, LD2, ...
        Discriminant coefficients, which give scores of unit variance within classes. In each column the
        largest coefficient, standardized within classes, is positive.
    svd, explained : Series by LD1, LD2, ...
        Singular values as in R's MASS, and the proportion of trace that each axis has.
    coef : DataFrame, terms by classes
        Coefficients of the classification functions.
    intercept : Series by class
        Constants of the classification functions: x'coef + intercept is largest for the predicted class.
    llf, aic, bic : float
        Joint log-likelihood of class and row at the maximum-likelihood covariance, and its criteria.
    df_model : int
        Number of free parameters: means, covariance, and the prior where it is estimated.
    wilks : TestResult
        Wilks' lambda with Rao's F.
    shrinkage : float
        How much the covariance, the correlations or the variances are shrunk.
    variance_shrinkage : float
        How much the variances are shrunk beside shrunken correlations.
    path : DataFrame
        The errors of a choice by leave-one-out: shrinkage, error, se.
    """

    _fit: Fit[LDAFit]

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance within classes."""
        covariance, scale = self._fit.numbers.covariance, self._fit.numbers.moments.scale
        if note := beyond_doubles([covariance], scale, self.terms):
            warn_user(note)
        return covariance_frame(covariance, scale, self.terms)

    @property
    def shrinkage(self) -> float:
        """How much is shrunk, from 0 to 1.

        It is the shrinkage of the covariance to a sphere, of correlations to zero, or of variances to their
        median.
        """
        if self._fit.numbers.shrinkage is None:
            raise NotSupportedError(
                'This fit has no shrinkage: fit with covariance="shrunk" or "correlation", or "diagonal" '
                "with shrinkage=."
            )
        return self._fit.numbers.shrinkage

    @property
    def variance_shrinkage(self) -> float:
        """How much the variances beside shrunken correlations are shrunk to their median, from 0 to 1."""
        if self._fit.numbers.variances is None:
            raise NotSupportedError(
                "This fit has no shrinkage of variances beside correlations: fit with "
                'covariance="correlation".'
            )
        return self._fit.numbers.variances.value

    def _axes(self) -> Canonical:
        if "axes" not in self._fit.cache:
            self._fit.cache["axes"] = self._fit.numbers.axes()
        axes: Canonical = self._fit.cache["axes"]
        return axes

    @property
    def _shown(self) -> int:
        rank = len(self._axes().singular)
        return rank if self._fit.numbers.ncomp is None else min(self._fit.numbers.ncomp, rank)

    @property
    def _axis_names(self) -> pd.Index:
        return pd.Index([f"LD{i + 1}" for i in range(self._shown)])

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminant coefficients."""
        axes = self._axes().axes[:, : self._shown] * self._fit.numbers.moments.scale[:, None]
        return pd.DataFrame(axes, index=self.terms, columns=self._axis_names)

    @property
    def svd(self) -> pd.Series:
        """Singular values: standard deviations between classes over those within, in the scaling of MASS."""
        return pd.Series(self._axes().singular[: self._shown], index=self._axis_names, name="svd")

    @property
    def explained(self) -> pd.Series:
        """Proportion of trace of each axis, relative to all axes that there are."""
        squares = self._axes().singular ** 2
        return pd.Series(squares[: self._shown] / squares.sum(), index=self._axis_names, name="explained")

    def _functions(self) -> tuple[Floats, Floats]:
        fit = self._fit.numbers
        return gaussian.classification_functions(
            fit.moments, fit.covariance, self._fit.log_prior(), fit.reduced()
        )

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the classification functions."""
        return pd.DataFrame(self._functions()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants of the classification functions."""
        return pd.Series(self._functions()[1], index=self.classes, name="constant")

    def _need_full(self, what: str) -> None:
        self._need_moments(what)
        if not self._fit.numbers.has_distances:
            wide = self._fit.numbers.residual_df < len(self.terms)
            more = " (for which there are too few rows for so many columns)" if wide else ""
            raise NotSupportedError(f'{what} needs the full covariance: fit with covariance="pooled"{more}.')

    @property
    def wilks(self) -> TestResult:
        """Wilks' lambda with Rao's F."""
        self._need_full("Wilks' lambda")
        moments = self._fit.numbers.moments
        return wilks(self._fit.numbers.roots(), moments.n_columns, moments.n_classes, moments.total)

    def transform(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Discriminant scores LD1, LD2, ... of each row, centred at the prior-weighted mean.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        DataFrame (rows, axes)
            Missing for a row with a missing value.
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        axes = self._axes()
        origin, _ = gaussian.centred(self._fit.numbers.moments, axes.centre)
        scaling = self.scaling.to_numpy()
        out = np.empty((self._shown, blocks.table.nrows))
        for place, x, _ in blocks.every_row():
            out[:, place] = scaling.T @ (x.T - origin[:, None])
        return pd.DataFrame(out.T, index=blocks.table.index, columns=self._axis_names)

    @displayed()
    def log_odds(self, reference: Any = None, level: float = 0.95, *, debiased: bool = False) -> pd.DataFrame:
        """Log odds of each class against a reference, with standard errors.

        Parameters
        ----------
        reference : label, optional
            The class in the denominator of the odds; by default the first. A number that is no class, as in
            `log_odds(0.9)`, is taken for the level.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        debiased : bool
            Whether to remove the bias of the slopes in small samples, which are too large, by the factor (nu
            - p - 1)/nu, where nu is the divisor.

        Returns
        -------
        DataFrame by (class, term)
            coef, se, z, p, low, high, asymptotic by the delta method under the model (Efron, 1975). Where one
            of the two classes has a prior of zero, the constant has no standard error: it is minus infinity,
            or infinity if that class is the reference. Where both have, the constant is missing.
        """
        fit = self._fit.numbers
        self._need_moments("log_odds()")
        if fit.reduced() is not None:
            raise NotSupportedError("log_odds() has standard errors for all axes only: fit without ncomp=.")
        if is_regular(fit.structure) or fit.shrinkage is not None:
            kind = {"diagonal": "shrunken diagonal", "estimator": "user's"}.get(fit.structure, fit.structure)
            raise NotSupportedError(f"Log odds of a {kind} covariance have no standard errors: see coef.")
        check_flag("debiased", debiased)
        if is_share(reference) and reference not in self.classes:
            reference, level = None, reference
        elif is_number(reference) and reference not in self.classes:
            raise DataError(
                f"{reference!r} is no class of this fit, and no level: name one of {listed(self.classes)}, "
                "or give a share between 0 and 1, as level=0.95."
            )
        base = 0 if reference is None else class_code(reference, self.classes)
        p = fit.moments.n_columns
        shrink = (fit.divisor - p - 1) / fit.divisor if debiased else 1.0
        if shrink <= 0:
            raise NotSupportedError(
                f"debiased=True needs a divisor above p + 1; it is {fit.divisor:g}, p is {p}: name fewer "
                "columns, or leave debiased= out."
            )
        others = np.delete(np.arange(len(self.classes)), base)
        odds = log_odds(
            fit.moments,
            fit.covariance,
            fit.divisor,
            fit.prior,
            others,
            base,
            estimated_prior=fit.estimated_prior,
        )
        index = by_class_and_term(list(self.classes[others]), ["constant", *self.terms])
        return wald_table(odds, shrink, index, level)

    def _plane(self, i: int, j: int) -> Plane:
        return self._fit.numbers.plane(i, j, self._fit.log_prior())

    # ---- tests

    def canonical(self, convention: Convention | None = None) -> CanonicalResults:
        """Canonical variates: eigenvalues, dimension tests, coefficients, structure, centroids.

        Parameters
        ----------
        convention : {"mass", "stata", "sas", "spss", "sklearn"}, optional
            System whose scale, signs and names the axes get; see `CanonicalResults.coef`. By default the
            package's own.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> lda("species ~ .", load_iris()).canonical().eigenvalues.round(4).tolist()
        [32.1919, 0.2854]
        """
        self._need_moments("canonical()")
        return CanonicalResults(self._fit, convention)

    @displayed()
    def manova(self) -> pd.DataFrame:
        """The four tests of equal class means: statistic, F, df1, df2, p, and what kind of F it is."""
        self._need_full("manova()")
        moments = self._fit.numbers.moments
        return manova_table(self._fit.numbers.roots(), moments.n_columns, moments.n_classes, moments.total)

    @displayed()
    def anova(
        self, *, levene: Literal["mean", "median"] | None = "mean", adjust: str | None = None
    ) -> pd.DataFrame:
        """One-way analysis of variance of each column.

        Parameters
        ----------
        levene : {"mean", "median"} or None
            Add Levene's test of equal variances, about the class means or, as Brown and Forsythe do, about
            the medians. It reads the rows once more; medians hold all of them in memory.
        adjust : str, optional
            Add p-values adjusted for the number of columns, by a method of statsmodels' `multipletests`.

        Returns
        -------
        DataFrame
            By term: sd_total, sd_within, sd_between, R2, F, df1, df2, p, levene_F, levene_p, and adjusted p.
        """
        self._need_moments("anova()")
        return anova(self._fit, levene=levene, adjust=adjust)

    @displayed()
    def partial_tests(self) -> pd.DataFrame:
        """What each column adds to the others: partial Wilks' lambda, F and tolerance; t for two classes."""
        self._need_full("partial_tests()")
        fit = self._fit.numbers
        moments = fit.moments
        return partial_table(fit.canonical(), fit.unbiased(), moments.n_classes, fit.residual_df, self.terms)

    @displayed()
    def distances(self) -> pd.DataFrame:
        """Squared Mahalanobis distance of each pair of classes, with F, its degrees of freedom and p."""
        self._need_full("distances()")
        fit = self._fit.numbers
        return distance_table(fit.moments, fit.unbiased(), fit.residual_df, self.classes)

    @displayed()
    def generalized_distances(self) -> pd.DataFrame:
        """Generalized squared distance from the mean of one class (rows) to another (columns), as in SAS."""
        fit = self._fit.numbers
        return generalized_distances(fit.moments, (fit.covariance,), self._fit.log_prior(), self.classes)

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)

    @displayed()
    def covariance_models(self) -> pd.DataFrame:
        """The ladder of covariance models; see `discrim.covariance_models`. It reads the rows once more.

        Where a fit has no rows, ask `qda`, which needs only moments.
        """
        self._need_moments("covariance_models()")
        return covariance_models_of(self._fit)

    def box_m(self) -> TestResult:
        """Box's M test that the classes have one covariance. It reads the rows once more.

        Where a fit has no rows, ask `qda`, which needs only moments.
        """
        self._need_moments("box_m()")
        return box_m_of(self._fit)

    @displayed()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """The log odds against the first class under broom's names, with a row for each class and term.

        The standard error, and what follows from it, is missing where `log_odds` has none: with shrunk and
        robust covariances, and with `ncomp=`.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        """
        fit = self._fit.numbers
        if fit.has_errors:
            return in_brooms_names(self.log_odds(level=level))
        planes = [self._plane(k, 0) for k in range(1, len(self.classes))]
        table = pd.DataFrame(index=by_class_and_term(list(self.classes[1:]), ["constant", *self.terms]))
        table["coef"] = np.concatenate([[plane.offset, *plane.normal] for plane in planes])
        table[["se", "z", "p", "low", "high"]] = np.nan
        return in_brooms_names(table)

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        row = self._glance()
        if self._fit.numbers.shrinkage is not None:
            row["shrinkage"] = self._fit.numbers.shrinkage
        if self._fit.numbers.variances is not None:
            row["variance_shrinkage"] = self._fit.numbers.variances.value
        if self._fit.numbers.has_distances:
            row |= {"wilks": self.wilks.statistic, "wilks_p": self.wilks.pvalue}
        return pd.DataFrame([row])

    def _centroids(self) -> pd.DataFrame:
        scores = self._axes().scores[:, : self._shown]
        return pd.DataFrame(scores, index=self.classes, columns=self._axis_names)
