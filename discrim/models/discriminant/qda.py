"""Quadratic discriminant analysis: normal classes, each with its own covariance.

The verb `qda`, its results and its `QDASpec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.by_estimator import CovarianceEstimator
from discrim.core.covariance.covariance import pooled_covariance
from discrim.core.covariance.model import CovarianceModel
from discrim.core.discriminant.qda import QDAFit, fit_qda, qda_marginal_rule
from discrim.core.moments.moments import ROOT_WORK, ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import Rule
from discrim.covariance import CovarianceSpecification, QuadraticCovariance
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.errors import CollinearError, DiscrimError, NotSupportedError
from discrim.inference.covariance_models import log_determinant_table
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.core_errors import named_errors
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import Data, Divisor, NaAction, Prior, verb_options
from discrim.models.discriminant import normal_fits
from discrim.models.discriminant.components import (
    SlicedSubspace,
    add_roots_if_imprecise,
    raise_if_collinear_total,
    subspace_of,
)
from discrim.models.discriminant.covariance_models import (
    QDA_COVARIANCES,
    Components,
    check_closed_form,
    describe,
    effective_method,
    read_covariance,
    reduce_to_save_axes,
    standardize_hint,
    warn_of_separated_axes,
)
from discrim.models.discriminant.em import MissingRows, estimate_by_em
from discrim.models.discriminant.normal_results import NormalResults, requires_moment_estimates
from discrim.models.discriminant.robust import estimate_robust_moments
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import Sample
from discrim.models.results.geometry import SeparateCovariances


@reading.with_public_errors
def qda(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    prior: Prior = None,
    weights: Any = None,
    method: Divisor = "moment",
    covariance: QuadraticCovariance | CovarianceSpecification | CovarianceEstimator = "full",
    components: Components | None = None,
    ncomp: int | None = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    missing: MissingRows | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> QDAResults:
    """Quadratic discriminant analysis.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    method : {"moment", "mle"}
        Divisor of the covariance of each class k of n_k rows: n_k - 1 or n_k.
    covariance : str, specification or estimator
        How the covariance of each class is estimated: a word or a specification of `discrim.covariance`,
        such as "shrunk" or ``Shrunk(0.1)``. Its page lists the words and when to use which. An estimator with
        `fit(X)` and `covariance_`, such as the classes of `sklearn.covariance`, is fitted to the deviations
        of each class from its mean.
    components : int, float, "cv", "loo" or specification, optional
        Principal axes within which the classes are compared: their number, the share of the variance that
        they have to explain, how the number is chosen, or a specification of `discrim.subspace`.
    ncomp : int, optional
        Number of axes, found by sliced average variance estimation, on which the classes are compared.
        It needs full covariances. Folds and refits find the axes again.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    missing : {"drop", "em"}, optional
        "em" also uses the observed values of rows with a missing value: the means and covariances are maximum
        likelihood estimates from all observed values, and the fit predicts such rows from their other
        columns. The rows then stay in memory. Each class has its own search.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    QDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance of a class is singular; the message names the class and the columns.

    Notes
    -----
    The rule assumes normal classes, each with its own covariance (Smith, 1947, Annals of Eugenics 13,
    272-282).

    *Reduced axes.* With ncomp= the axes are the directions along which the covariances and means of the
    classes differ most: the leading eigenvectors of sum_k p_k (I - S_k)^2, of columns whitened by the
    covariance of all rows (divisor N), p_k being the share of class k and S_k its covariance (divisor n_k),
    independent of the prior. This is sliced average variance estimation (Cook & Weisberg, 1991, JASA 86,
    328-332; Pardoe, Yin & Cook, 2007, Technometrics 49, 172-183; R's dr). It needs more rows than columns in
    all, and in each class more rows than ncomp. The rule is quadratic discriminant analysis of the scores; it
    equals the rule of all columns if ncomp is their number, and does not depend on the units of the columns.
    For normal classes no information is lost if the other eigenvalues are zero. If the eigenvalues number
    ncomp and ncomp + 1 are equal, the axes are arbitrary, and a warning is shown. Covariances and
    log-determinants refer to scores of variance one over all rows. Folds, the bootstrap and
    `leave_one_out()`, by a refit for each row, estimate the axes again; the apparent error and the plots use
    axes estimated from the same rows. Typicality requires rows that the fit has not seen (`calibration=`).
    Likelihoods cannot be compared between numbers of axes, and standard errors and tests of an axis are not
    available; `box_m()` and `covariance_models()` are tests of all columns.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.datasets import load_iris
    >>> fit = qda("species ~ .", data=load_iris())
    >>> fit.confusion(method="loo").to_numpy().tolist()
    [[50, 0, 0], [0, 47, 3], [0, 1, 49]]
    """
    options = verb_options(locals())
    covariance_model = read_covariance(QDA_COVARIANCES, covariance, method, components, missing)
    estimator = effective_method(covariance_model, method)
    covariance_model = reduce_to_save_axes(covariance_model, ncomp, covariance, missing)
    sample = Sample("qda", "class", moments, formula, data, weights, levels, functions, na_action)
    by_em = normal_fits.uses_em(missing, covariance, covariance_model, na_action, has_rows=sample.has_rows)
    if not sample.has_rows:
        design_rows, stats = normal_fits.moments_of_sample(sample, covariance_model)
    elif by_em:
        design_rows, stats, covariance_model = estimate_by_em(sample.read(incomplete=True), is_common=False)
    else:
        design_rows = reading.drop_constant_columns_if_wide(sample.read())
        if covariance_model.requires_full_rank(len(design_rows.terms)):
            design_rows = _raise_if_few_rows(design_rows, covariance_model, na_action)
        thin = reading.is_wide(design_rows) or (
            covariance_model.traits.few_rows_suffice and _is_thin(design_rows)
        )
        required_moments = covariance_model.required_moments("class", thin=thin)
        with_roots = components is None
        design_rows, stats = reading.usable_rows(
            design_rows, required_moments, na_action, with_roots=with_roots
        )
        stats = stats if components is None else add_roots_if_imprecise(covariance_model, design_rows, stats)
    levels = design_rows.design.levels
    _raise_if_singular(covariance_model, design_rows, stats)
    if estimator == "moment":
        for label, weight in zip(levels, stats.counts.tolist(), strict=True):
            reading.raise_if_small_total_weight(weight, 1, f"The rows of class {label!r}")
    normal_fits.warn_if_units_differ(
        covariance_model, stats, design_rows.terms, standardize_hint(covariance_model)
    )
    priors, estimated = reading.read_prior(prior, levels, stats.counts)
    if covariance_model.traits.is_robust:
        stats, covariance_model = estimate_robust_moments(design_rows, stats, covariance_model)
    covariance_model = covariance_model.bind_classes(levels, stats.n_columns)
    divisors = partial(normal_fits.class_divisors, method=estimator)
    with named_errors(design_rows.terms, levels):
        covariance_model, path = normal_fits.fit_covariance_to_rows(
            covariance_model, design_rows, stats, divisors, priors, sampled=estimated
        )
        fit = fit_qda(stats, priors, covariance_model, method=estimator, estimated_prior=estimated)
    warn_of_separated_axes(fit.covariance_model, levels)
    return QDAResults(QDASpec().fit(fit, design_rows, options, has_rows=sample.has_rows, path=path))


def _raise_if_singular(
    covariance_model: CovarianceModel, design_rows: DesignRows, moments: ClassMoments
) -> None:
    """Raise CollinearError if a covariance is singular, and warn if columns are nearly collinear in a class.

    With `ncomp=` the covariance of all rows has to be regular as well.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model that determines whether covariances have to be regular.
    design_rows : DesignRows
    moments : ClassMoments
        Moments of these rows.

    Raises
    ------
    CollinearError
        The covariance of a class or, with `ncomp=`, of all rows is singular.
    SingularEstimateError
        With `ncomp=`, there are at most as many rows as columns.
    """
    normal_fits.raise_if_singular(moments, design_rows.terms, design_rows.design.levels, covariance_model)
    raise_if_collinear_total(covariance_model, moments, design_rows.terms)
    if not covariance_model.traits.is_regular and covariance_model.requires_full_rank(moments.n_columns):
        for k, label in enumerate(design_rows.design.levels):
            reading.warn_of_near_dependencies(moments, design_rows.terms, f"in class {label!r}", k)


def _is_thin(design_rows: DesignRows) -> bool:
    """Return whether every class has fewer rows than columns, for which square roots of scatter suffice.

    False if the classes are unknown before the rows are read.
    """
    rows = design_rows.rows.class_counts()
    return rows is not None and bool(rows.max(initial=0) < len(design_rows.terms))


def _raise_if_few_rows(
    design_rows: DesignRows, covariance_model: CovarianceModel, na_action: NaAction
) -> DesignRows:
    """Raise CollinearError if a class has too few rows, before large cross-product matrices are computed.

    Parameters
    ----------
    design_rows : DesignRows
    covariance_model : CovarianceModel
        Model that determines how many rows a class requires.
    na_action : {"drop", "raise"}
        Option of the verb.

    Returns
    -------
    DesignRows
        Usable rows, without rows with missing values, or `design_rows` unchanged if the matrices are small,
        all classes have more rows than columns, or the rows cannot be counted before they are read.

    Raises
    ------
    CollinearError
        A class has too few rows for a regular covariance.
    """
    rows = design_rows.rows.class_counts()
    p = len(design_rows.terms)
    # A source is read only once, and its rows cannot be counted before that.
    if rows is None or not rows.size or rows[rows > 0].min() > p or len(rows) * p**2 <= ROOT_WORK:
        return design_rows
    design_rows, stats = reading.usable_rows(design_rows, "diagonal", na_action)
    normal_fits.raise_if_singular(stats, design_rows.terms, design_rows.design.levels, covariance_model)
    return design_rows


class QDAResults(SeparateCovariances, NormalResults):
    """A fitted quadratic discriminant analysis.

    Attributes that belong to one option are in `covariance_model` and `subspace`. The covariances have
    divisor n_k - 1 for n_k rows in class k (`method="moment"`) or n_k ("mle"), or are robust.
    """

    _fit: FittedModel[QDAFit]

    @property
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariance of each class by label, terms by terms; with `ncomp=` of the scores, axes by axes."""
        subspace = subspace_of(self._fit)
        return subspace._covariances() if isinstance(subspace, SlicedSubspace) else super().covs

    @property
    @available_if(
        lambda self: len(self._fit.estimates.covariance_model.shrinkages) > 0,
        'fit with covariance="shrunk", or discrim.covariance.Diagonal("strimmer")',
    )
    def shrinkage(self) -> pd.Series:
        """Shrinkage intensity of each class, from 0 to 1.

        It is the shrinkage of the covariance to a sphere, or of the variances to their median.
        """
        shrinkages = self._fit.estimates.covariance_model.shrinkages
        return pd.Series(shrinkages[0].values, index=self.classes, name="shrinkage")

    def _require_determinants(self) -> None:
        """Raise NotSupportedError unless the fit has full covariances of the columns, by moments of the rows.

        Robust estimates and estimates by EM from incomplete rows raise it as well.
        """
        self._require_moment_estimates("log_determinants()")
        estimates = self._fit.estimates
        if not estimates.has_distances:
            actual = f"{describe(estimates.covariance_model).adjective} covariance matrices"
            full_hint = "without covariance="
            if estimates.subspace_model is not None:
                actual = f"covariance matrices {describe(estimates.covariance_model).phrase}"
                full_hint = describe(estimates.covariance_model).full_hint
            raise NotSupportedError(
                f"log_determinants() requires full covariance matrices; the fit has {actual}.",
                hint=f"Fit {full_hint}, or see logdet.",
            )

    @available_if(_require_determinants)
    @with_display_formats()
    def log_determinants(self, level: float = 0.95) -> pd.DataFrame:
        """Log determinants of the class covariances and of the pooled covariance, with intervals.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent. They are exact for normal classes.

        Returns
        -------
        DataFrame
            By class, and for the pooled covariance ("pooled"): logdet, debiased (logdet minus its bias), se,
            low, high, df. They are logs of determinants in the units of the data. The divisors are n_k - 1
            and N - K, also with method="mle".

        Raises
        ------
        NotSupportedError
            The covariances are not full and estimated by moments, or the weight of a class does not exceed
            the number of columns.
        """
        counts = self._fit.counts
        reading.raise_if_small_class_weight(counts, self.classes, len(self.terms), "log_determinants()")
        moments = self._fit.estimates.moments
        df_by_class = self._fit.estimates.moments.counts - 1
        units = 2.0 * np.log(moments.scale).sum()
        nu = moments.total - moments.n_classes
        covariances = (
            *self._fit.estimates.covariances_with_divisors(df_by_class),
            pooled_covariance(moments, nu),
        )
        logdets = np.array([c.logdet - units for c in covariances])
        index = pd.Index([*self.classes, make_unique_name("pooled", self.classes)], name=self.classes.name)
        return log_determinant_table(logdets, np.append(df_by_class, nu), len(self.terms), level, index)

    @available_if(normal_fits.requires_moments_by_class("covariance_models()"))
    @available_if(requires_moment_estimates("covariance_models()"))
    @with_display_formats()
    def covariance_models(self, dimensions: Any = None, threshold: float | None = None) -> pd.DataFrame:
        """Compare covariance models of the classes, like `discrim.covariance_models`.

        Reads the rows, if any, once more.

        Parameters
        ----------
        dimensions : int, dict of class to int, or {"cattell", "bic"}, optional
            Add the covariances with a few large variances, in all their forms. The number of large variances
            is a number, numbers by class, or chosen by the scree test or the smallest BIC. Forms with one
            number of dimensions for all classes are not shown if the numbers are set.
        threshold : float, optional
            Share of the largest fall that counts for dimensions="cattell", between 0 and 1; by default 0.2.

        Returns
        -------
        DataFrame by model
            df, llf, aic, bic, LR, LR_df, p (against the next model), LR_free, LR_free_df, p_free (against
            the full covariances by class), and dimensions if they are requested.
        """
        return normal_fits.compare_covariance_models(self._fit, dimensions, threshold)

    @available_if(normal_fits.requires_moments_by_class("box_m()"))
    @available_if(requires_moment_estimates("box_m()"))
    def box_m(self) -> TestResult:
        """Box's M test of equal covariance matrices. It reads the rows, if any, once more.

        Raises CollinearError if the covariance of a class is singular, and NotSupportedError for robust
        estimates and EM.
        """
        return normal_fits.compute_box_m(self._fit)

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, df_model, llf, aic, bic."""
        return pd.DataFrame([self._glance()])


class QDASpec(normal_fits.NormalSpec[QDAFit]):
    """Specification of quadratic discriminant analysis."""

    name = "qda"
    title = "Quadratic discriminant analysis"
    results_class = QDAResults
    has_common_covariance = False
    file_moments = "class"
    constructor = staticmethod(fit_qda)

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `qda_sections` and `qda_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        from discrim.models.discriminant.normal_summary import qda_brief, qda_sections

        return qda_sections, qda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `QDA_PLOTS`, the `Plot` objects; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import QDA_PLOTS

        return QDA_PLOTS

    def rule(self, fit: FittedModel[QDAFit], prior: Floats, method: str, convention: str | None) -> Rule:
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
            `method` is not "plugin", and the covariances are not full or the total weight of a class is too
            small: for p columns it has to be above p for "predictive", above p + 2 for "debiased" (with a
            `convention` above 1 for both), and above 1 for other methods.
        """
        check_closed_form(fit, method)
        counts = fit.counts
        p = len(fit.terms)
        if method != "plugin" and fit.estimates.has_distances:
            min_weight = p if method == "predictive" and convention is None else 1
            reading.raise_if_small_class_weight(counts, fit.classes, min_weight, f'method="{method}"')
        small_classes = np.flatnonzero(counts <= p + 2)
        if method == "debiased" and convention is None and len(small_classes) and fit.estimates.has_distances:
            raise NotSupportedError(
                f'method="debiased" requires more than p + 2 = {p + 2} rows in each class; '
                f"{format_value(fit.classes[small_classes[0]])} has "
                f"{fit.rows_by_class.iloc[small_classes[0]]}.",
                hint="Use fewer columns.",
                classes=(fit.classes[small_classes[0]],),
            )
        return super().rule(fit, prior, method, convention)

    def shows_log_posteriors(self, fit: FittedModel[QDAFit]) -> bool:
        """Return False: `decision_function` shows the scores of the rule instead of log posteriors."""
        return False

    def refit_error(self, fit: FittedModel[QDAFit], rows: DesignRows) -> DiscrimError | None:
        """Return the CollinearError of a refit to these rows if the covariance of a class is singular.

        It names the classes and the columns. None if all covariances are regular; other errors are not found.
        """
        covariance_model = fit.estimates.covariance_model.unfitted()
        levels = list(fit.classes)
        try:
            normal_fits.raise_if_singular(
                reading.class_moments(rows, "class"), rows.terms, levels, covariance_model
            )
        except CollinearError as error:
            return error
        return None

    def has_marginals(self, fit: FittedModel[QDAFit]) -> bool:
        """Return whether `marginal_rule` supports the fit: True without `components=` and `ncomp=`."""
        return fit.estimates.subspace_model is None

    def marginal_rule(self, estimates: QDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule of a subset of columns under the marginal normal distributions.

        Parameters
        ----------
        estimates : QDAFit
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
        return qda_marginal_rule(estimates, log_prior, method, keep)
