"""Linear discriminant analysis: normal classes with a common covariance matrix.

The verb `lda`, its results and its `LDASpec`. The classifier compares ln prior_k - D2_k/2, which is linear in
the row. The canonical variates, the directions in which the class means differ most relative to the
variation within classes, are derived from the same estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.covariance.by_estimator import CovarianceEstimator
from discrim.core.covariance.covariance import common_divisor
from discrim.core.covariance.model import CovarianceModel
from discrim.core.covariance.principal import CanonicalAxes
from discrim.core.discriminant.lda import LDAFit, fit_lda, lda_marginal_rule
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.rules import Plane, Rule
from discrim.covariance import CovarianceSpecification, LinearCovariance
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.errors import DataError, NotSupportedError, PrecisionWarning, warn_user
from discrim.inference.log_odds import log_odds, log_odds_covariance, wald_columns
from discrim.inference.manova import manova_table, wilks
from discrim.inference.mean_differences import generalized_distances, partial_table
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.core_errors import named_errors
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.base.labels import (
    class_code,
    class_term_index,
    covariance_frame,
    range_note,
    to_broom_names,
)
from discrim.models.base.reading import (
    Collinear,
    Data,
    Divisor,
    NaAction,
    Prior,
    verb_options,
    warn_of_tied_axes,
)
from discrim.models.discriminant import normal_fits
from discrim.models.discriminant.components import adapt_to_levels, add_level_indicators, mark_indicators
from discrim.models.discriminant.covariance_models import (
    LDA_COVARIANCES,
    Components,
    check_closed_form,
    describe,
    effective_method,
    raise_if_moments_with_levels,
    read_covariance,
    standardize_hint,
    warn_of_separated_axes,
)
from discrim.models.discriminant.covariates import CovariateModel, covariate_adjusted_model
from discrim.models.discriminant.em import MissingRows, estimate_by_em
from discrim.models.discriminant.normal_results import (
    ClassDifferences,
    compute_anova,
    requires_full_covariance,
    requires_moment_estimates,
)
from discrim.models.discriminant.robust import estimate_robust_moments
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import Sample
from discrim.models.results.canonical import CanonicalResults, Convention
from discrim.models.results.geometry import LinearGeometry, LogOddsEquations
from discrim.subspace import MultipleCorrespondence


def _require_standard_errors(results: LDAResults) -> None:
    """Raise NotSupportedError if the fit lacks standard errors of the log odds; for `available_if`.

    They do not exist for robust estimates, EM from incomplete rows, `ncomp=`, and covariance models without
    the trait `has_standard_errors`, such as a shrunk covariance.
    """
    estimates = results._fit.estimates
    results._require_moment_estimates("log_odds()")
    if estimates.reduced_axes() is not None:
        raise NotSupportedError(
            "Standard errors of log odds are not available with ncomp=.", hint="Fit without ncomp=."
        )
    if not estimates.covariance_model.traits.has_standard_errors:
        adjective = describe(estimates.covariance_model).adjective
        raise NotSupportedError(
            f"Standard errors of log odds are not available for a {adjective} covariance matrix.",
            hint="See coef and params.",
        )


class LDALogOdds(LogOddsEquations):
    """Log odds of the classes of a linear discriminant analysis, with standard errors and tests."""

    _fit: FittedModel[LDAFit]

    @available_if(_require_standard_errors)
    @with_display_formats()
    def log_odds(self, reference: Any = None, level: float = 0.95, *, debiased: bool = False) -> pd.DataFrame:
        """Log odds of each class against a reference, with standard errors.

        Parameters
        ----------
        reference : label, optional
            The class in the denominator of the odds; by default the first. A number that is not a class, for
            example `log_odds(0.9)`, is interpreted as the level.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        debiased : bool
            Whether to multiply the slopes, which are too large in small samples, by (nu - p - 1)/nu, where nu
            is the divisor of the covariance matrix and p the number of columns.

        Returns
        -------
        DataFrame by (class, term)
            coef, se, z, p (two-sided), low, high, asymptotic by the delta method under the model (Efron,
            1975): normal classes with a common covariance matrix. If covariances differ, which `box_m` tests,
            the standard errors are too small or too large; a bootstrap within classes does not have this
            assumption. If one of the two classes has a prior of zero, the constant lacks a standard error: it
            is minus infinity, or infinity if that class is the reference. If both have, the constant is
            missing.

        Raises
        ------
        DataError
            The reference is not a class, or the level is not between 0 and 1.
        NotSupportedError
            The fit lacks standard errors (with `ncomp=`, or a shrunk or robust covariance), or `debiased` is
            set and the divisor is at most p + 1.
        """
        reading.check_flag("debiased", debiased)
        if reading.is_proportion(reference) and reference not in self.classes:
            reference, level = None, reference
        elif reading.is_number(reference) and reference not in self.classes:
            raise DataError(
                f"reference={reference!r} is neither a class of the fit nor a level between 0 and 1.",
                classes=(reference,),
                hint=(
                    f"The classes are {reading.join_labels(self.classes)}. A level is, for example, "
                    "level=0.95."
                ),
            )
        base = 0 if reference is None else class_code(reference, self.classes)
        classes = [label for k, label in enumerate(self.classes) if k != base]
        index = class_term_index(classes, ["constant", *self.terms])
        return pd.DataFrame(self._wald_columns(base, level, debiased=debiased), index=index)

    def _wald_columns(self, base: int, level: float, *, debiased: bool) -> dict[str, Floats]:
        """Compute the columns of `log_odds`.

        Parameters
        ----------
        base : int
            Position of the reference class.
        level : float
            Level of the intervals.
        debiased : bool
            Whether to remove the bias of the slopes.

        Returns
        -------
        dict of str to ((K - 1) (1 + p),) float
            coef, se, z, p, low, high, sorted by class without the reference, then by term; the constant comes
            first, and p is the number of columns.

        Raises
        ------
        NotSupportedError
            `debiased` is set and the divisor is not above p + 1.
        """
        fit = self._fit.estimates
        p = fit.moments.n_columns
        shrink = (fit.divisor - p - 1) / fit.divisor if debiased else 1.0
        if shrink <= 0:
            raise NotSupportedError(
                f"debiased=True requires a divisor above p + 1 = {p + 1}; it is {fit.divisor:g}.",
                hint="Use fewer columns, or leave out debiased=.",
            )
        others = np.delete(np.arange(fit.moments.n_classes), base)
        odds = log_odds(
            fit.moments, fit.covariance, fit.divisor, fit.prior, others, base,
            estimated_prior=fit.estimated_prior,
        )  # fmt: skip
        return wald_columns(odds, shrink, level)

    def _table_by_term(self, values: Floats) -> pd.DataFrame:
        """Return values ((K - 1) (1 + p),) as a table: "constant" and p terms by all classes but the first.

        The values are sorted by class, then by term with the constant first.
        """
        rows = pd.Index(["constant", *self.terms], name="term")
        others = self.classes[1:]
        return pd.DataFrame(values.reshape(len(others), -1).T, index=rows, columns=others)

    @property
    @available_if(_require_standard_errors)
    def bse(self) -> pd.DataFrame:
        """Standard errors of `params`, in its layout.

        They are asymptotic for normal classes with equal covariances (Efron, 1975).
        """
        return self._table_by_term(self.log_odds()["se"].to_numpy())

    @available_if(_require_standard_errors)
    def cov_params(self) -> pd.DataFrame:
        """Covariance of `params`, (class, term) by (class, term), by the delta method.

        The first class is left out. The diagonal is `bse` squared.
        """
        index = self.log_odds().index
        fit = self._fit.estimates
        covariance = log_odds_covariance(
            fit.moments, fit.covariance, fit.divisor, 0, estimated_prior=fit.estimated_prior
        )
        return pd.DataFrame(covariance, index=index, columns=index)

    @property
    @available_if(_require_standard_errors)
    def zvalues(self) -> pd.DataFrame:
        """Estimates divided by their standard errors, in the layout of `params`."""
        return self._table_by_term(self.log_odds()["z"].to_numpy())

    @property
    @available_if(_require_standard_errors)
    @with_display_formats(every="tail")
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p-values of the z-values by the normal distribution, in the layout of `params`."""
        return self._table_by_term(self.log_odds()["p"].to_numpy())

    @available_if(_require_standard_errors)
    @with_display_formats()
    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Intervals of `params`, the log odds against the first class.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (class, term)
            low and high, in the units of the coefficients, with the index of `log_odds`.
        """
        return self.log_odds(level=level)[["low", "high"]]


class LDAResults(LDALogOdds, LinearGeometry, ClassDifferences):
    """A fitted linear discriminant analysis.

    Attributes that belong to one option are in `covariance_model`, `subspace` and `covariate_model`.
    """

    _fit: FittedModel[LDAFit]

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance within classes, terms by terms.

        The divisor is N - K for N rows in K classes (`method="moment"`) or N ("mle"), or the covariance is
        robust ("t", "mcd"). With q covariates it is the covariance of the other columns conditional on these,
        with divisor N - K - q or N. With `components=`, it is the part that lies within the principal axes.
        Warns if a value exceeds the range of double precision.
        """
        covariance = self._fit.estimates.covariance
        scale = self._fit.estimates.moments.scale
        if note := range_note([covariance], scale, self.terms):
            warn_user(note, PrecisionWarning)
        q = self._fit.estimates.covariates
        return covariance_frame(covariance, scale, self.terms).iloc[q:, q:]

    @property
    @available_if(
        lambda self: len(self._fit.estimates.covariance_model.shrinkages) > 0,
        'fit with covariance="shrunk" or "correlation", or discrim.covariance.Diagonal("strimmer")',
    )
    def shrinkage(self) -> float:
        """Shrinkage intensity, from 0 to 1.

        It is the shrinkage of the covariance to a sphere, of correlations to zero, or of variances to their
        median.
        """
        return self._fit.estimates.covariance_model.shrinkages[0].values[0]

    @property
    @available_if(
        lambda self: self._fit.estimates.covariates > 0,
        "name covariates in the formula after a `|`, as in y ~ x | age",
    )
    def covariate_model(self) -> CovariateModel:
        """Slopes on the covariates of the formula, adjusted means, and their tests."""
        return CovariateModel(self._fit)

    def _canonical_axes(self) -> CanonicalAxes:
        """Return the canonical axes, computed once and cached."""
        if "axes" not in self._fit.cache:
            self._fit.cache["axes"] = self._fit.estimates.axes()
        axes: CanonicalAxes = self._fit.cache["axes"]
        return axes

    @property
    def _n_axes(self) -> int:
        """Number of canonical axes of the rule: all with nonzero singular values, at most `ncomp`."""
        rank = len(self._canonical_axes().singular_values)
        return rank if self._fit.estimates.ncomp is None else min(self._fit.estimates.ncomp, rank)

    @property
    def _axis_names(self) -> pd.Index:
        """Names of the canonical axes: LD1, LD2, ..."""
        return pd.Index([f"LD{i + 1}" for i in range(self._n_axes)])

    def _discriminant_coefficients(self) -> Floats:
        """Return the coefficients (p, r) of the r canonical axes of the rule, in the units of the columns."""
        return self._canonical_axes().axes[:, : self._n_axes] * self._fit.estimates.moments.scale[:, None]

    def _trace_proportions(self) -> Floats:
        """Return the squared singular values (r,) of the axes of the rule over their sum for all axes."""
        squares = self._canonical_axes().singular_values ** 2
        return np.asarray(squares[: self._n_axes] / squares.sum())

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminant coefficients, terms by LD1, LD2, ...

        The scores have unit variance within classes. In each column the largest coefficient, standardized
        within classes, is positive.
        """
        return pd.DataFrame(self._discriminant_coefficients(), index=self.terms, columns=self._axis_names)

    @property
    def svd(self) -> pd.Series:
        """Singular values, indexed by LD1, LD2, ...

        They are ratios of standard deviations between and within classes, scaled like MASS.
        """
        return pd.Series(
            self._canonical_axes().singular_values[: self._n_axes],
            index=self._axis_names,
            name="svd",
            copy=True,
        )

    @property
    def explained(self) -> pd.Series:
        """Proportion of trace: squared singular value of each axis, relative to the sum over all axes."""
        return pd.Series(self._trace_proportions(), index=self._axis_names, name="explained")

    def _classification_functions(self) -> tuple[Floats, Floats]:
        """Return coefficients (p, K) of the classification functions, and constants (K,) with ln prior."""
        fit = self._fit.estimates
        return gaussian.classification_functions(
            fit.moments, fit.covariance, self._fit.log_prior(), fit.reduced_axes()
        )

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the classification functions, terms by classes."""
        return pd.DataFrame(self._classification_functions()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants of the classification functions, by class; they include ln prior.

        x'coef + intercept is largest for the predicted class.
        """
        return pd.Series(self._classification_functions()[1], index=self.classes, name="constant")

    @property
    @available_if(requires_full_covariance("Wilks' lambda"))
    def wilks(self) -> TestResult:
        """Wilks' lambda test, with Rao's F, of equal class means; with covariates, at equal covariates.

        Raises NotSupportedError if the covariance is not the full one, or for robust estimates and EM.
        """
        return wilks(self._fit.estimates.canonical_eigenvalues(), *self._fit.estimates.test_sizes)

    def transform(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Discriminant scores LD1, LD2, ... of each row; the prior-weighted mean of the class means is zero.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame (rows, axes)
            Missing for a row with a missing value.
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        axes = self._canonical_axes()
        origin, _ = gaussian.move_origin(self._fit.estimates.moments, axes.centre)
        scaling = self.scaling.to_numpy()
        scores = np.empty((self._n_axes, design_rows.table.nrows))
        for row_slice, x, _ in design_rows.iter_all_rows():
            scores[:, row_slice] = scaling.T @ (x.T - origin[:, None])
        return pd.DataFrame(scores.T, index=design_rows.table.index, columns=self._axis_names)

    @property
    def params(self) -> pd.DataFrame:
        """Log odds of each class against the first, "constant" and terms by the other classes.

        Signs and reference agree with `LogisticResults`. `log_odds` has them in rows, and against any class.
        """
        if self._fit.estimates.has_standard_errors:
            return self._table_by_term(self.log_odds()["coef"].to_numpy())
        planes = [self._plane(k, 0) for k in range(1, len(self.classes))]
        return self._table_by_term(np.concatenate([[plane.offset, *plane.normal] for plane in planes]))

    def _plane(self, i: int, j: int) -> Plane:
        """Return the boundary between the classes at positions i and j, positive where i is more probable.

        It is offset + normal'x, the log odds of class i against j under the prior of the fit.
        """
        return self._fit.estimates.plane(i, j, self._fit.log_prior())

    # ---- tests

    @available_if(requires_full_covariance("canonical()"))
    def canonical(self, convention: Convention | None = None) -> CanonicalResults:
        """Canonical variates: eigenvalues, dimension tests, coefficients, structure, centroids.

        Parameters
        ----------
        convention : {"mass", "stata", "sas", "spss", "sklearn"}, optional
            System whose scale, signs and names the axes get; see `CanonicalResults.coef`. By default the
            package's own.

        Returns
        -------
        CanonicalResults
            Axes of the tests, with classes weighted by their sizes; the axes of the rule (`scaling`) are
            weighted by the prior.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> lda("species ~ .", load_iris()).canonical().eigenvalues.round(4).tolist()
        [32.1919, 0.2854]
        """
        return CanonicalResults(self._fit, convention)

    @available_if(requires_full_covariance("manova()", ', or use manova(formula, data, method="srivastava")'))
    @with_display_formats()
    def manova(self) -> pd.DataFrame:
        """The four tests of equal class means, one in each row: statistic, F, df1, df2, p, F_is.

        F_is is "exact", "approximate" or, for Roy's greatest root, "upper bound".

        With covariates they are the tests of the multivariate analysis of covariance, of means at equal
        covariates.
        """
        return manova_table(self._fit.estimates.canonical_eigenvalues(), *self._fit.estimates.test_sizes)

    @available_if(requires_moment_estimates("anova()", adjusted=False))
    @with_display_formats()
    def anova(
        self,
        *,
        levene: Literal["mean", "median"] | None = "mean",
        adjust: str | None = None,
        level: float | None = None,
    ) -> pd.DataFrame:
        """One-way analysis of variance of each column.

        Parameters
        ----------
        levene : {"mean", "median"} or None
            Add Levene's test of equal variances, about the class means or, by Brown and Forsythe, about the
            medians. It reads the rows once more; medians need all of them in memory.
        adjust : str, optional
            Add p-values adjusted for the number of columns, by a method of statsmodels' `multipletests`.
        level : float, optional
            Level of the intervals: 0.95 stands for 95 percent. Adds omega squared, which estimates with less
            bias than R2 (eta squared) the share of the variance that is between classes, and the limits of
            that share.

        Returns
        -------
        DataFrame
            By term: sd_total (divisor N - 1), sd_within (N - K), sd_between (N (K - 1)/K), R2, F, df1, df2,
            p. With a level omega2, low and high, for normal classes with equal variances. With `levene`
            levene_F and levene_p. With `adjust` p_adjusted and levene_p_adjusted.
        """
        return compute_anova(self._fit, levene=levene, adjust=adjust, level=level)

    @available_if(requires_full_covariance("partial_tests()"))
    @with_display_formats()
    def partial_tests(self) -> pd.DataFrame:
        """Tests of each column given all others: partial Wilks' lambda, F and tolerance.

        Returns
        -------
        DataFrame by term
            partial_wilks, partial_R2, F, df1, df2, p, tolerance (1 - R2 of the column on the others within
            classes), and for two classes t. Covariates are conditioned on and not listed.
        """
        fit = self._fit.estimates
        # Tests conditional on the covariates too: treat the covariates as columns.
        full_fit = fit_lda(fit.moments, fit.prior) if fit.covariates else fit
        classes = full_fit.moments.n_classes
        nu = full_fit.residual_df
        tests = partial_table(full_fit.canonical(), full_fit.unbiased_covariance(), classes, nu, self.terms)
        return tests.iloc[fit.covariates :]

    @with_display_formats()
    def generalized_distances(self) -> pd.DataFrame:
        """Generalized squared distance from the mean of one class (rows) to another (columns), like SAS.

        It is the squared Mahalanobis distance, minus 2 ln prior of the class in the column if priors differ.
        """
        fit = self._fit.estimates
        return generalized_distances(fit.moments, (fit.covariance,), self._fit.log_prior(), self.classes)

    @available_if(normal_fits.requires_moments_by_class("box_m()"))
    @available_if(requires_moment_estimates("box_m()", adjusted=False))
    def box_m(self) -> TestResult:
        """Box's M test of equal covariance matrices. It reads the rows once more.

        For a fit without rows use `qda`, which needs only moments. Raises CollinearError if the covariance of
        a class is singular, and NotSupportedError for robust estimates, EM and covariates.
        """
        return normal_fits.compute_box_m(self._fit)

    @with_display_formats()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """The log odds against the first class under broom's names, with a row for each class and term.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame
            class, term, estimate, std_error, statistic (z), p_value, conf_low, conf_high. All but the
            estimate are missing if `log_odds` does not have them: with shrunk and robust covariances, and
            with `ncomp=`.
        """
        if self._fit.estimates.has_standard_errors:
            return to_broom_names(self.log_odds(level=level))
        table = pd.DataFrame(index=class_term_index(list(self.classes[1:]), ["constant", *self.terms]))
        table["coef"] = self.params.to_numpy().T.ravel()
        table[["se", "z", "p", "low", "high"]] = np.nan
        return to_broom_names(table)

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: sizes, criteria, shrinkage, and Wilks' lambda with its p-value.

        Columns: nobs, classes, terms, df_model, llf, aic, bic; and if the fit has them shrinkage,
        variance_shrinkage, wilks, wilks_p.
        """
        row = self._glance()
        shrinkages = self._fit.estimates.covariance_model.shrinkages
        names = ("shrinkage", "variance_shrinkage")
        row |= {name: shrinkage.values[0] for name, shrinkage in zip(names, shrinkages, strict=False)}
        if self._fit.estimates.has_tests:
            row |= {"wilks": self.wilks.statistic, "wilks_p": self.wilks.pvalue}
        return pd.DataFrame([row])

    def _centroids(self) -> pd.DataFrame:
        """Return the scores of the class means, as `transform` defines them, classes by axes of the rule."""
        scores = self._canonical_axes().scores[:, : self._n_axes]
        return pd.DataFrame(scores, index=self.classes, columns=self._axis_names)


class LDASpec(normal_fits.NormalSpec[LDAFit]):
    """Specification of linear discriminant analysis."""

    name = "lda"
    title = "Linear discriminant analysis"
    results_class = LDAResults
    has_common_covariance = True
    constructor = staticmethod(fit_lda)

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `lda_sections` and `lda_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        from discrim.models.discriminant.normal_summary import lda_brief, lda_sections

        return lda_sections, lda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `LDA_PLOTS`, the `Plot` objects; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import LDA_PLOTS

        return LDA_PLOTS

    def fit(
        self, estimates: LDAFit, rows: DesignRows, arguments: Mapping[str, Any], **options: Any
    ) -> FittedModel[LDAFit]:
        """Return a fitted model as `NormalSpec.fit` does.

        Raises DataError if `estimates` and the formula of `rows` have different numbers of covariates.
        """
        if rows.n_covariates != estimates.covariates:
            raise DataError(
                "The covariates of the estimates do not match the covariates of the formula.",
                hint="Fit the formula to the table again.",
            )
        return super().fit(estimates, rows, arguments, **options)

    def rule(self, fit: FittedModel[LDAFit], prior: Floats, method: str, convention: str | None) -> Rule:
        """Return the rule under a prior.

        Parameters
        ----------
        fit : FittedModel
        prior : (K,) float
            Prior probabilities of the classes.
        method : str
            Method of `predict_proba`, such as "plugin" or "predictive".
        convention : str or None
            "MASS" to reproduce its posteriors, or None.

        Returns
        -------
        Rule
            Rule with this prior and method instead of the fit's.

        Raises
        ------
        NotSupportedError
            `method` is not "plugin", and the covariance is not the full one, or is robust or estimated by EM.
        """
        check_closed_form(fit, method)
        return super().rule(fit, prior, method, convention)

    def likelihood_of(self, fit: FittedModel[LDAFit]) -> str:
        """Return what `llf` is the likelihood of: "class and row", or "class and row given covariates"."""
        return "class and row given covariates" if fit.estimates.covariates else "class and row"

    def drops_columns(self, fit: FittedModel[LDAFit]) -> bool:
        """Return whether each refit drops collinear columns again: only if fitted with collinear="drop"."""
        return bool(fit.options["collinear"] == "drop")

    def recode(
        self, fit: FittedModel[LDAFit], rows: DesignRows, *, fixed: bool
    ) -> tuple[FittedModel[LDAFit], DesignRows]:
        """Return a fit and rows that lack levels of the fit, adapted to the levels that the rows have.

        The fit gets a covariance model for the columns of the rows, and the rows get indicators of their
        levels for multiple correspondence analysis (see `adapt_to_levels`). Without such axes and without
        covariates both are unchanged. `fixed` is ignored.
        """
        return adapt_to_levels(fit, rows)

    def has_marginals(self, fit: FittedModel[LDAFit]) -> bool:
        """Return whether `marginal_rule` supports the fit: True without `components=` and covariates.

        Within principal axes it cannot: the covariance has zero variance outside the axes, and a column would
        be an exact function of the others.
        """
        return fit.estimates.components is None and not fit.estimates.covariates

    def marginal_rule(self, estimates: LDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule of a subset of columns under the marginal normal distributions.

        Parameters
        ----------
        estimates : LDAFit
        log_prior : (K,) float
            Logs of the prior probabilities of the classes.
        method : str
            Method of `predict_proba`, such as "plugin" or "predictive".
        keep : (q,) int
            Positions of the columns that the rule uses.

        Returns
        -------
        Rule
            Rule for rows of these q columns.
        """
        return lda_marginal_rule(estimates, log_prior, method, keep)


@reading.with_public_errors
def lda(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    prior: Prior = None,
    weights: Any = None,
    method: Divisor = "moment",
    covariance: LinearCovariance | CovarianceSpecification | CovarianceEstimator = "pooled",
    components: Components | None = None,
    ncomp: int | None = None,
    collinear: Collinear = "raise",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    missing: MissingRows | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LDAResults:
    """Linear discriminant analysis.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas. In `species ~ x1 + x2 | age`
        the columns are adjusted for covariates.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments, and the Notes on
        how often a source is read.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    method : {"moment", "mle"}
        Divisor of the covariance for N rows in K classes: N - K or N.
    covariance : str, specification or estimator
        How the covariance within classes is estimated: a word or a specification of `discrim.covariance`,
        such as "shrunk" or ``Shrunk(0.1)``. Its page lists the words and when to use which. An estimator with
        `fit(X)` and `covariance_`, such as the classes of `sklearn.covariance`, is fitted to the deviations
        from the class means.
    components : int, float, "cv", "loo" or specification, optional
        Principal axes within which the classes are compared: their number, the share of the variance that
        they have to explain, how the number is chosen, or a specification of `discrim.subspace`.
    ncomp : int, optional
        Number of leading canonical axes (discriminants) that the rule and `transform` use; by default all.
    collinear : {"raise", "drop"}
        Whether columns that are linear combinations of others within classes are an error, or the later ones
        are dropped with a warning.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    missing : {"drop", "em"}, optional
        "em" also uses the observed values of rows with a missing value: the means and covariances are maximum
        likelihood estimates from all observed values, and the fit predicts such rows from their other
        columns. The rows then stay in memory.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    LDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row or only one class is left, or the estimator of the
        covariance cannot be fitted or lacks `covariance_`.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance is singular; the message names the columns.

    Notes
    -----
    The rule assumes normal classes with a common covariance matrix (Fisher, 1936, Annals of Eugenics 7,
    179-188; Welch, 1939, Biometrika 31, 218-220; Rao, 1948, Journal of the Royal Statistical Society B 10,
    159-203).

    *Leaving out.* `leave_one_out()` computes a shrinkage by a rule, and principal axes, again without each
    observation; the page of each specification lists the parameters that it keeps. `error_rates(["cv"])`
    estimates everything again without each fold, including all choices made from the observations.

    *Covariates.* After a `|` the formula names covariates, numbers or categories, whose slopes the classes
    share. The columns are adjusted for these slopes, and classes are compared at equal covariates (Cochran &
    Bliss, 1948, Annals of Mathematical Statistics 19, 151-176; R's TULIP). The posterior uses the columns
    conditional on the covariates; differences of the classes in a covariate are ignored. To use them, write +
    instead of `|`: with normal covariates that have a common covariance matrix within classes, like CATCH
    (Pan, Mai & Zhang, 2019, Journal of the American Statistical Association 114, 1305-1319), the rule is then
    the linear one of all columns. With method="moment" each of q covariates uses a degree of freedom, and the
    divisor is N - K - q. Coefficients refer to columns and covariates. `covariate_model` has `slopes()`,
    `adjusted_means()` and `tests()` of the covariates; `wilks`, `manova()`, `canonical()`, `distances()` and
    `partial_tests()` belong to the multivariate analysis of covariance. All follow from the moments of the
    rows, and `leave_one_out()` is exact. The covariance is the full one.

    *Columns that are nearly collinear.* A warning names a column if its residual on the columns before it has
    less than a millionth of its standard deviation within classes, and those columns: its variance inflation
    factor exceeds 1e12. Predictions remain as accurate as the columns; the coefficients are huge and nearly
    cancel.

    *How often a source is read.* The fit reads the rows once. A first pass reads the response alone to find
    the classes, unless `levels=` or the type of a category names them; it reads all columns if the formula
    has categories or transforms that learn. Few rows, and columns that are nearly collinear, need one more
    pass. The summary, the apparent error and leave-one-out need two passes each, one for the classes and one
    for the scores; the second serves both errors. Folds need two as well, or five for each fold if transforms
    are learnt without it. `confusion(data=)` needs three and `predict(data)` one. A pass of more than a
    second shows a bar. In addition to the moments, memory contains a class for each row and, for
    leave-one-out and folds, its K scores.

    *Missing values by "em"* (Little & Rubin, 2020, Statistical Analysis with Missing Data, 3rd ed., ch. 11).
    The EM algorithm, with observed classes, runs until the distance to the maximum is below 1e-8 standard
    errors and 1e-10 of the log-likelihood; `em` reports the search. The estimates assume that values are
    missing at random: conditional on the observed values, whether a value is missing does not depend on it.
    `llf`, AIC and BIC use the observed values. With method="moment" the divisor N is afterwards replaced by N
    - K, as for complete rows. Only rows without a class or without any value are dropped. Standard errors and
    tests assume complete rows and are refused, and so is leave-one-out; folds are refitted by EM.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> fit = lda("species ~ .", data=load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 48, 2], [0, 1, 49]]
    >>> fit.explained.round(4).tolist()
    [0.9912, 0.0088]
    >>> from discrim.covariance import Shrunk
    >>> lda("species ~ .", load_iris(), covariance=Shrunk(0.1)).confusion().to_numpy().trace().item()
    147
    >>> from discrim.datasets import load_penguins
    >>> fit = lda("species ~ bill_length_mm + bill_depth_mm + sex", load_penguins(), missing="em")
    >>> int(fit.nobs), fit.em.incomplete, fit.em.converged
    (342, 9, True)
    >>> fit = lda("species ~ bill_length_mm + bill_depth_mm | body_mass_g", load_penguins())
    >>> fit.covariate_model.adjusted_means()["adjusted"]["Gentoo"].round(1).to_dict()
    {'bill_length_mm': 44.2, 'bill_depth_mm': 13.7}
    """
    options = verb_options(locals())
    reading.check_word("collinear", collinear, Collinear)
    covariance_model = read_covariance(LDA_COVARIANCES, covariance, method, components, missing)
    estimator = effective_method(covariance_model, method)
    sample = Sample("lda", "pooled", moments, formula, data, weights, levels, functions, na_action)
    has_rows = sample.has_rows
    # Moments of the classes: from moments=, from incomplete rows by EM, or from complete rows.
    by_em = normal_fits.uses_em(
        missing, covariance, covariance_model, na_action, has_rows=has_rows, collinear=collinear
    )
    if not has_rows:
        raise_if_moments_with_levels(components)
        design_rows, stats = normal_fits.moments_of_sample(sample, covariance_model)
    elif by_em:
        design_rows, stats, covariance_model = estimate_by_em(sample.read(incomplete=True), is_common=True)
    else:
        by_level = isinstance(components, MultipleCorrespondence)
        design_rows, indicators = _prepare_columns(sample.read(), covariance_model, by_level=by_level)
        required_moments = covariance_model.required_moments("pooled", thin=reading.is_wide(design_rows))
        design_rows, stats = reading.usable_rows(
            design_rows, required_moments, na_action, with_roots=components is None
        )
        if components is not None:
            covariance_model, stats = mark_indicators(covariance_model, design_rows, stats, indicators)
    # Errors and warnings if these moments do not determine the covariance.
    normal_fits.check_degrees_of_freedom(covariance_model, stats, design_rows.terms)
    if estimator == "moment":
        reading.raise_if_small_total_weight(stats.total, stats.n_classes + design_rows.n_covariates)
    covariance_model = covariance_model.bind_classes(design_rows.design.levels, stats.n_columns)
    covariance_model, design_rows, stats = _drop_dependent_columns(
        covariance_model, design_rows, stats, collinear
    )
    if not covariance_model.traits.is_regular and covariance_model.requires_full_rank(stats.n_columns):
        reading.warn_of_near_dependencies(stats, design_rows.terms)
    normal_fits.warn_if_units_differ(
        covariance_model, stats, design_rows.terms, standardize_hint(covariance_model)
    )
    # The estimates.
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    ncomp = _read_ncomp(ncomp, stats, covariance_model)
    if covariance_model.traits.is_robust:
        stats, covariance_model = estimate_robust_moments(design_rows, stats, covariance_model)
    divisors = partial(_pooled_divisor, method=estimator)
    with named_errors(design_rows.terms, design_rows.design.levels):
        covariance_model, path = normal_fits.fit_covariance_to_rows(
            covariance_model, design_rows, stats, divisors, priors, sampled=estimated
        )
        fit = fit_lda(
            stats, priors, covariance_model, method=estimator, ncomp=ncomp, estimated_prior=estimated
        )
    _warn_of_covariance(fit, design_rows.design.levels)
    return LDAResults(LDASpec().fit(fit, design_rows, options, has_rows=has_rows, path=path))


def _warn_of_covariance(fit: LDAFit, levels: Sequence[Any]) -> None:
    """Warn of a singular covariance (covariance="pinv"), and if kept principal or canonical axes are tied.

    Axes are tied if the first axis that is left out has the eigenvalue of the last that is kept. `levels` are
    the class labels.
    """
    if warning := describe(fit.covariance_model).warning(fit.moments, (fit.covariance,)):
        warn_user(warning)
    warn_of_separated_axes(fit.covariance_model, levels)
    if fit.ncomp is not None:
        warn_of_tied_axes("ncomp", fit.ncomp, fit.tied_axes())


def _prepare_columns(
    design_rows: DesignRows, covariance_model: CovarianceModel, *, by_level: bool
) -> tuple[DesignRows, frozenset[str] | None]:
    """Prepare the columns before moments are computed: level indicators, and constant columns of wide tables.

    Raises CollinearError if there are too few rows for the covariance model.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the table.
    covariance_model : CovarianceModel
        Model that determines how many rows are required.
    by_level : bool
        Whether the axes come from multiple correspondence analysis, which needs one column for each level.

    Returns
    -------
    DesignRows
        With one indicator column for each level if `by_level`, and without constant columns if the table is
        wide.
    frozenset of str or None
        Names of the indicator columns if `by_level`, else None.
    """
    indicators = None
    if by_level:
        design_rows, indicators = add_level_indicators(design_rows)
    design_rows = reading.drop_constant_columns_if_wide(design_rows)
    if not covariance_model.traits.is_regular and covariance_model.requires_full_rank(len(design_rows.terms)):
        reading.raise_if_few_rows(design_rows, normal_fits.wide_table_hint(covariance_model))
    return design_rows, indicators


def _pooled_divisor(moments: ClassMoments, method: str) -> Floats:
    """Return the divisor (1,) of the common covariance: N - K for method="moment", N for any other method."""
    return np.array([common_divisor(moments, method)])


def _drop_dependent_columns(
    covariance_model: CovarianceModel, design_rows: DesignRows, stats: ClassMoments, collinear: str
) -> tuple[CovarianceModel, DesignRows, ClassMoments]:
    """Drop columns that are linear combinations of others within classes, and adjust for covariates.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model that determines which columns are collinear.
    design_rows : DesignRows
    stats : ClassMoments
        Moments of these rows.
    collinear : {"raise", "drop"}
        Option of the verb: raise an error that names the columns, or drop them with a warning.

    Returns
    -------
    CovarianceModel
        `covariance_model`; with covariates in the formula, the model of the other columns adjusted for them.
    DesignRows
        The rows without the dropped columns.
    ClassMoments
        The moments without the dropped columns.

    Raises
    ------
    CollinearError
        Columns are collinear and `collinear` is "raise", or only covariates are left.
    NotSupportedError
        There are covariates, and the covariance is not the plain full one.
    """
    dependent_columns = covariance_model.dependent_columns(stats)
    if dependent_columns and collinear == "raise":
        separation_hint = normal_fits.separation_hint(covariance_model)
        raise reading.collinear_error(
            dependent_columns, design_rows.terms, separation_hint=separation_hint, can_drop=True
        )
    if dependent_columns:
        design_rows, stats = reading.drop_collinear_columns(design_rows, stats, dependent_columns)
    return (
        covariate_adjusted_model(design_rows, covariance_model)
        if design_rows.n_covariates
        else covariance_model,
        design_rows,
        stats,
    )


def _read_ncomp(ncomp: Any, stats: ClassMoments, covariance_model: CovarianceModel) -> int | None:
    """Validate `ncomp=`, an integer from 1 to the largest possible number of canonical axes, or None.

    Parameters
    ----------
    ncomp : int or None
        Option of the verb.
    stats : ClassMoments
        Moments, for the numbers of classes and columns.
    covariance_model : CovarianceModel
        Model whose covariates or principal axes reduce the number of axes.

    Returns
    -------
    int or None
        None for all axes.

    Raises
    ------
    DataError
        `ncomp` is not an integer from 1 to the number of axes: at most the numbers of columns without
        covariates, of classes less one, and of principal axes if it is given.
    """
    columns = stats.n_columns - covariance_model.covariates
    max_ncomp = min(columns, stats.n_classes - 1)
    subspace_text = ""
    subspace = covariance_model.subspace
    if subspace is not None and isinstance(subspace.options, int):
        max_ncomp = min(max_ncomp, subspace.options)
        subspace_text = f", within {subspace.options} principal axes,"
    if ncomp is not None and not (reading.is_integer(ncomp) and 1 <= ncomp <= max_ncomp):
        raise DataError(
            f"ncomp={ncomp!r} is not valid: {columns} columns and {stats.n_classes} classes "
            f"have{subspace_text} {max_ncomp} canonical ax{'i' if max_ncomp == 1 else 'e'}s.",
            hint=f"Pass a number from 1 to {max_ncomp}, or None for all.",
        )
    return None if ncomp is None else int(ncomp)
