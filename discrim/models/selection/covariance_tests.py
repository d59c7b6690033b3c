"""Tests of a smaller model against a larger one: `box_m`, `lr_test`, `covariance_models`, `hausman`.

The verbs check that fits can be compared and assemble their tables. The statistics are in
`discrim.inference`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import pooled_covariance
from discrim.core.discriminant.lda import LDAFit
from discrim.core.discriminant.qda import QDAFit
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.special import chi2_sf
from discrim.design.rows import read_rows, repeat_rows, used_rows
from discrim.errors import DataError, NotSupportedError
from discrim.inference.covariance_models import likelihood_ratio_test
from discrim.inference.log_odds import hausman_test, slope_covariance
from discrim.inference.resampling import (
    bootstrap_likelihood_ratios,
    permutation_likelihood_ratios,
    permutation_pvalue,
)
from discrim.inference.result import TestResult, chi_square_test
from discrim.models.base.display import format_count, with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import (
    Data,
    NaAction,
    is_integer,
    join_labels,
    usable_rows,
    with_public_errors,
)
from discrim.models.discriminant.covariance_models import describe
from discrim.models.discriminant.lda import LDAResults
from discrim.models.discriminant.normal_fits import (
    box_m_from_moments,
    compare_covariance_models,
    full_rank_moments,
    raise_if_small_classes,
)
from discrim.models.discriminant.qda import QDAResults, qda
from discrim.models.linear_model.high_dimensional import CovarianceMethod, covariance_test
from discrim.models.regression.logistic_results import LogisticResults
from discrim.models.regression.logistic_tests import nested_likelihood_ratio
from discrim.models.regression.penalized import PenalizedLogisticResults, raise_if_penalized
from discrim.models.selection import comparable


@with_public_errors
def box_m(
    formula: str,
    data: Data,
    *,
    method: CovarianceMethod | None = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> TestResult:
    """Test of equal covariance matrices of the classes: Box's M, or a test for many variables.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    method : {"schott", "li-chen", "cai-liu-xia"}, optional
        A test that does not require more observations than variables; by default Box's M. "schott" compares
        any number of normal classes, "li-chen" two classes of any distribution; both are powerful if many
        elements of the covariance matrices differ. "cai-liu-xia" uses the largest difference between two
        classes, which it names, and is powerful if few elements differ; it needs all rows in memory.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    TestResult
        The chi-square approximation of Box's M; `table` also has M and the F approximation. The statistic of
        "schott" and "li-chen" is standard normal; the statistic of "cai-liu-xia" has a Gumbel distribution.

    Raises
    ------
    CollinearError
        The covariance matrix of a class is singular, and no `method` was passed.
    NotSupportedError
        A class has fewer rows than the method requires, or the method compares only two classes.

    Notes
    -----
    Both approximations are by Box (1949, Biometrika 36, 317-346). They assume normal classes: with long tails
    the p-values are too small. Schott (2007, Computational Statistics & Data Analysis 51, 6535-6542) and Li
    & Chen (2012, Annals of Statistics 40, 908-940) estimate the sum of squared differences between the
    covariance matrices. Cai, Liu & Xia (2013, Journal of the American Statistical Association 108, 265-277)
    use the largest difference in units of its standard error. These p-values are one-sided approximations for
    many observations and variables. The attribute `assumes` of the result states the assumptions.

    Examples
    --------
    >>> from discrim import box_m
    >>> from discrim.datasets import load_iris
    >>> result = box_m("species ~ .", data=load_iris())
    >>> round(result.statistic, 3), result.df
    (140.943, 20.0)

    Schott's test with five observations in each class:

    >>> round(box_m("species ~ .", data=load_iris()[::10], method="schott").statistic, 3)
    3.177
    """
    design_rows = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    if method is not None:
        return covariance_test(design_rows, method, na_action)
    design_rows, moments = usable_rows(design_rows, "diagonal", na_action)
    raise_if_small_classes(design_rows, moments)
    return box_m_from_moments(full_rank_moments(design_rows))


@with_public_errors
def lr_test(
    lda_fit: LDAResults | LogisticResults,
    qda_fit: QDAResults | LogisticResults,
    *,
    bootstrap: int = 0,
    permutations: int = 0,
    seed: int | None = None,
) -> TestResult:
    """Likelihood ratio test of a smaller model in a larger one: LDA in QDA, or two logistic regressions.

    Parameters
    ----------
    lda_fit, qda_fit
        The smaller and the larger model, fitted to the same rows. With fits of `lda` and `qda` to the same
        columns, the hypothesis is a common covariance matrix. With two fits of `logistic`, where the columns
        of the first are linear combinations of the columns of the second, the hypothesis is that the
        additional columns have no effect. Fits with bias reduction are compared by Firth's likelihood of the
        larger fit, like in the method `lr_test(by="term")`.
    bootstrap : int
        Number of replicates of the parametric bootstrap, which assumes normal classes but no large sample; by
        default none.
    permutations : int
        Number of permutations of the deviations from the class means, which do not require normal classes; by
        default none.
    seed : int, optional
        Seed of the bootstrap and of the permutations.

    Returns
    -------
    TestResult
        The likelihood ratio with its chi-square approximation. `table` also has the chi-square and F
        approximations of Box's M, and the p-values of the bootstrap and of the permutations.

    Raises
    ------
    DataError
        The fits differ in rows, classes, columns or prior, or two fits of `logistic` are not nested.
    NotSupportedError
        The fits are not of `lda` and `qda`, or both of `logistic`; the covariance model is factor analytic;
        replicates were requested for diagonal covariance matrices, reduced rank or logistic fits;
        permutations were requested for fits without rows, or with weights that are not whole numbers; a
        logistic fit was loaded; or only one of the two logistic fits has bias reduction.

    Notes
    -----
    If the smaller model is true, twice the difference of the maximized log-likelihoods has a chi-square
    distribution in large samples (Wilks, 1938, Annals of Mathematical Statistics 9, 60-62). For covariance
    matrices this assumes normal classes: with long tails the p-value is too small (Anderson, 2003, An
    Introduction to Multivariate Statistical Analysis, ch. 10).

    Examples
    --------
    >>> from discrim import lda, lr_test, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> round(lr_test(lda("species ~ .", iris), qda("species ~ .", iris)).statistic, 3)
    149.656

    A test of the quadratic and cubic terms of a logistic regression:

    >>> from discrim import logistic
    >>> from discrim.datasets import load_penguins
    >>> line = logistic("sex ~ bill_depth_mm", load_penguins())
    >>> curve = logistic("sex ~ poly(bill_depth_mm, 3)", load_penguins())
    >>> round(lr_test(line, curve).statistic, 2)
    51.39
    """
    if isinstance(lda_fit, LogisticResults) and isinstance(qda_fit, LogisticResults):
        if bootstrap or permutations:
            raise NotSupportedError(
                "bootstrap= and permutations= apply only to tests of lda() against qda().",
                hint="Leave them out for logistic fits.",
            )
        return _logistic_ratio_test(lda_fit, qda_fit)
    if not (isinstance(lda_fit, LDAResults) and isinstance(qda_fit, QDAResults)):
        raise NotSupportedError(
            "lr_test() compares lda() with qda(), or two fits of logistic().",
            hint="Pass the smaller model first.",
        )
    lda_model = lda_fit._fit
    qda_model = qda_fit._fit
    linear = lda_model.estimates
    quadratic = qda_model.estimates
    if "factors" in describe(quadratic.covariance_model).sections:
        raise NotSupportedError(
            'A common covariance matrix is not a special case of covariance="factor", so the likelihood '
            "ratio has no chi-square distribution.",
            hint="Compare the fits by bic, or see covariance_models(formula, data, dimensions=).",
        )
    for fit in (lda_fit, qda_fit):
        fit._require_moment_estimates("lr_test()")
    linear.raise_if_covariates("lr_test()")
    for name in ("classes", "terms", "counts"):
        if not getattr(lda_fit, name).equals(getattr(qda_fit, name)):
            raise DataError(
                f"The two fits differ in {name}.", hint="Fit both with the same formula to the same rows."
            )
    if not np.allclose(lda_fit.prior, qda_fit.prior, rtol=1e-12, atol=0):
        raise DataError("The two fits differ in prior.", hint="Fit both with the same prior.")
    _require_same_table((lda_fit, qda_fit), "lr_test()")
    df = qda_fit.df_model - lda_fit.df_model
    result = likelihood_ratio_test(lda_fit.llf, qda_fit.llf, df)
    if not (linear.has_distances and quadratic.has_distances and linear.reduced_axes() is None):
        if bootstrap or permutations:
            raise NotSupportedError(
                "bootstrap= and permutations= require full covariance matrices.",
                hint="Fit without covariance= and ncomp=.",
            )
        return result
    rows = {**result.approximations, **box_m_from_moments(quadratic.moments).approximations}
    del rows["Box's M"]
    resampled = {"parametric bootstrap": bootstrap, "permutation": permutations}
    for name, replicates in resampled.items():
        if not is_integer(replicates) or replicates < 0:
            raise DataError(
                f"The number of replicates of the {name} is not valid: {replicates!r}.",
                hint="Pass a nonnegative whole number.",
            )
        if replicates:
            ratios = _null_ratios(name, qda_model, replicates, seed)
            pvalue = permutation_pvalue(result.statistic, ratios, unit=result.statistic)
            rows[f"Likelihood ratio, {name}"] = (result.statistic, np.nan, np.nan, pvalue)
    return dataclasses.replace(result, approximations=rows)


def _logistic_ratio_test(small: LogisticResults, large: LogisticResults) -> TestResult:
    """Test whether the additional columns of the larger logistic fit have any effect.

    Parameters
    ----------
    small, large : LogisticResults
        Nested fits to the same rows.

    Returns
    -------
    TestResult
        Likelihood ratio, with its chi-square p-value; the degrees of freedom are the difference of the
        numbers of parameters.

    Raises
    ------
    DataError
        The fits are not nested, use different rows, or the maximization for the smaller model fails.
    NotSupportedError
        A fit lacks rows or is penalized, or only one of them has bias reduction.
    """
    comparable.require_rows((small, large), "lr_test()")
    raise_if_penalized((small, large), "lr_test()")
    comparable.raise_if_rows_differ((small, large), "lr_test()")
    fits = small._fit, large._fit
    if fits[0].estimates.bias_reduction != fits[1].estimates.bias_reduction:
        raise NotSupportedError(
            "The likelihoods cannot be compared, because only one of the fits has bias_reduction=True.",
            hint="Fit both with bias reduction, or both without it.",
        )
    statistic, df = nested_likelihood_ratio(*fits)
    if df <= 0:
        raise DataError(
            "The second fit of lr_test() has no columns in addition to those of the first.",
            hint="Pass the smaller fit first, and a fit with more terms second.",
        )
    if np.isnan(statistic):
        raise DataError(
            "The maximization of Firth's bias-reduced likelihood did not converge for the smaller model.",
            hint="Use wald_test() of the larger fit.",
        )
    assumes = "Large samples; under the hypothesis the additional columns have no effect."
    if fits[0].estimates.bias_reduction:
        assumes = f"Firth's bias-reduced likelihoods. {assumes}"
    return chi_square_test("Likelihood ratio", statistic, df, assumes)


def _require_same_table(fits: Sequence[Any], caller: str) -> None:
    """Raise DataError, which names `caller`, if fits use different rows or columns with different values."""
    comparable.raise_if_rows_differ(fits, caller)
    if not all(comparable.has_same_columns(fits)):
        raise DataError(
            "The two fits differ in the values of their columns, for example in their units.",
            hint="Fit both to the same table.",
        )


def _null_ratios(name: str, fit: FittedModel[QDAFit], replicates: int, seed: int | None) -> Floats:
    """Simulate the likelihood-ratio statistic of LDA against QDA under a common covariance matrix.

    Parameters
    ----------
    name : {"parametric bootstrap", "permutation"}
        Whether normal rows are drawn, or deviations from the class means are permuted over the classes.
    fit : FittedModel
        The fit of `qda`; permutations require its rows and integer weights.
    replicates : int
        Number R of replicates.
    seed : int or None
        Seed of the random numbers.

    Returns
    -------
    (R,) float
        Twice the differences of the log-likelihoods.

    Raises
    ------
    NotSupportedError
        Permutations of a fit without its rows, or with weights that are not integers.
    """
    moments = fit.estimates.moments
    if name == "parametric bootstrap":
        return bootstrap_likelihood_ratios(moments.counts, moments.n_columns, replicates, seed)
    design_rows = fit.require_rows("permutations=")
    if design_rows.weights is not None and (np.nan_to_num(design_rows.weights) % 1 != 0).any():
        raise NotSupportedError(
            "permutations= requires weights that are whole numbers.",
            hint="Pass frequency weights, or use bootstrap=.",
        )
    whiten_rows = pooled_covariance(moments, moments.total - moments.n_classes).whiten
    chunks = []
    for _, x, codes, weights in used_rows(design_rows):
        z = (x.T - moments.centres[codes].T) * moments.scale[:, None] - moments.rests[codes].T
        chunks.append(repeat_rows(whiten_rows(z).T, codes, weights))
    rows, row_codes = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
    order = np.argsort(row_codes, kind="stable")
    return permutation_likelihood_ratios(rows[order], moments.counts.astype(np.int64), replicates, seed)


@with_public_errors
@with_display_formats()
def covariance_models(
    formula: str,
    data: Data,
    *,
    dimensions: int | Mapping[Any, int] | Literal["cattell", "bic"] | None = None,
    threshold: float | None = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pd.DataFrame:
    """Compare covariance models, from a spherical matrix to an unrestricted matrix for each class.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    dimensions : int, dict of class to int, or {"cattell", "bic"}, optional
        Adds the factor-analytic models in all their forms. The number of dimensions is specified like
        `dimensions` of `discrim.covariance.FactorAnalytic`: a number, numbers by class, the scree test, or
        the smallest BIC. Forms with a common number of dimensions are left out if the numbers are given by
        class.
    threshold : float, optional
        Smallest drop between eigenvalues that counts in the scree test (dimensions="cattell"), as a
        proportion of the largest drop; by default 0.2.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    DataFrame
        For each model: df, llf, aic and bic; the likelihood ratio against the next model with its df and p;
        and the likelihood ratio against the unrestricted model "free". Spherical matrices and common
        principal components depend on the units of the variables; the other models do not. Common principal
        components are missing, with a warning, if standard deviations differ by a factor of more than 1e7.
        With `dimensions`, the models "factor AkjBkQkDk" and so on follow with their dimensions, and with a
        test against "free" if the dimensions were given. The likelihood of a form whose signal has less
        variance than its noise is missing.

    Raises
    ------
    CollinearError
        The covariance matrix of a class is singular.

    Notes
    -----
    The p-values assume normal classes and large samples. The hierarchy of models is by Flury (1988, Common
    Principal Components and Related Multivariate Models) and Manly & Rayner (1987, Biometrika 74, 841-847).

    Examples
    --------
    >>> from discrim import covariance_models
    >>> from discrim.datasets import load_iris
    >>> covariance_models("species ~ .", load_iris())["df"].tolist()
    [15, 18, 24, 26, 32, 44]
    >>> table = covariance_models("species ~ .", load_iris(), dimensions="bic")
    >>> table["bic"].idxmin(), table.loc["factor AkjBkQkDk", "dimensions"]
    ('free', '3, 3, 2')
    """
    fit = qda(formula, data, weights=weights, levels=levels, na_action=na_action, functions=functions)
    return compare_covariance_models(fit._fit, dimensions, threshold)


@with_public_errors
def hausman(lda_fit: LDAResults, logit: Any) -> TestResult:
    """Hausman's test of the assumptions of LDA, by its slopes and the slopes of logistic regression.

    Under normal classes with a common covariance matrix, both estimate the same slopes, and LDA is more
    efficient. Logistic regression does not assume normal classes.

    Parameters
    ----------
    lda_fit : LDAResults
        The linear discriminant analysis.
    logit
        A logistic regression of the same classes on the same columns: a fit of `discrim.logistic` with any
        reference, or of statsmodels' Logit or MNLogit with the first class as reference, the constant as
        first column, and the other columns in the order of the terms.

    Returns
    -------
    TestResult
        Chi-square statistic of the difference of all slopes, with as many degrees of freedom as there are
        directions in which LDA is more precise.

    Raises
    ------
    DataError
        The first fit is not a fit of `lda`, or the logistic fit has other classes, columns or rows.
    NotSupportedError
        A hyperplane separates classes, and the logistic fit lacks finite estimates; or the standard errors
        of LDA are not smaller in any direction.

    Notes
    -----
    The test is by Hausman (1978, Econometrica 46, 1251-1271); its p-value assumes large samples. Efron (1975,
    Journal of the American Statistical Association 70, 892-898) derives the gain in efficiency under
    normality.

    Examples
    --------
    >>> from discrim import hausman, lda, logistic
    >>> from discrim.datasets import load_penguins
    >>> formula, penguins = "sex ~ body_mass_g + bill_depth_mm", load_penguins()
    >>> round(hausman(lda(formula, penguins), logistic(formula, penguins)).pvalue, 2)
    0.56
    """
    if not isinstance(lda_fit, LDAResults):
        raise DataError(
            f"The first fit is {type(lda_fit).__name__}, not a fit of lda().",
            hint="Pass a fit of lda() and a logistic regression, in that order.",
        )
    lda_fit._require_full_covariance("hausman()")
    normal = lda_fit._fit
    moments = normal.estimates.moments
    slopes, cov = slope_covariance(moments, normal.estimates.covariance, normal.estimates.residual_df, 0)

    # Use units in which squared slopes do not overflow.
    column_units = 1 / moments.scale
    params, logistic_cov = _logistic_estimates(lda_fit, logit, column_units)
    q, p = slopes.shape
    rows = getattr(logit, "nobs", lda_fit.nobs)
    if not np.isclose(rows, lda_fit.nobs, rtol=1e-9):
        _raise_different_counts(format_count(lda_fit.nobs), format_count(rows))
    _require_same_means(normal, getattr(logit, "model", None))
    if params.shape != (p + 1, q):
        raise DataError(
            f"The logistic fit has coefficients of shape {params.shape}; {p} columns and {q + 1} classes "
            f"require {(p + 1, q)}.",
            hint=f"Fit a constant, then {join_labels(lda_fit.terms)}, for each class but the first.",
        )
    slope_positions = np.arange(q * (p + 1)).reshape(q, p + 1)[:, 1:].ravel()
    return hausman_test(
        slopes.ravel(), cov, params[1:].T.ravel(), logistic_cov[np.ix_(slope_positions, slope_positions)]
    )


def _raise_different_counts(lda_count: str, logistic_count: str) -> NoReturn:
    """Raise DataError, in any case, with the formatted numbers of rows of the two fits."""
    raise DataError(
        f"The two fits differ in rows: LDA has {lda_count}, the logistic regression {logistic_count}.",
        hint="Fit both to the same rows, with the same weights.",
    )


def _logistic_estimates(lda_fit: LDAResults, logit: Any, unit: Floats) -> tuple[Floats, Floats]:
    """Return the estimates of a logistic regression relative to the first class.

    Parameters
    ----------
    lda_fit : LDAResults
        Fit whose classes, terms and rows the regression must have.
    logit : LogisticResults or results of statsmodels
        Results of statsmodels must have the first class as reference, which is not checked.
    unit : (p,) float
        Units of the p columns, by which slopes are multiplied.

    Returns
    -------
    params : (p + 1, K - 1) float
        Coefficients of K - 1 classes, the constant first. Results of statsmodels with another number of
        coefficients are returned as they are, for the caller to report.
    cov : ((p + 1) (K - 1), (p + 1) (K - 1)) float
        Their covariance matrix, class by class.

    Raises
    ------
    DataError
        `logit` is not a logistic regression, or differs in classes, terms or rows.
    NotSupportedError
        The regression is penalized, lacks finite estimates, or has robust standard errors.
    """
    unit_column = np.insert(unit, 0, 1.0)[:, None]
    raise_if_penalized((logit,), "hausman()")
    if isinstance(logit, LogisticResults):
        for name in ("classes", "terms"):
            lda_index = getattr(lda_fit, name)
            logistic_index = getattr(logit, name)
            if not lda_index.equals(logistic_index):
                raise DataError(
                    f"The two fits differ in {name}, {join_labels(lda_index)} and "
                    f"{join_labels(logistic_index)}.",
                    hint="Fit both with the same formula to the same rows.",
                )
        if not np.allclose(lda_fit.counts, logit.counts, rtol=1e-9):
            _raise_different_counts(f"{join_labels(lda_fit.counts)} by class", join_labels(logit.counts))
        _require_same_table((lda_fit, logit), "hausman()")
        logistic = logit._fit
        if not logistic.estimates.newton.converged:
            raise NotSupportedError(
                "A hyperplane separates classes, and the logistic regression has no finite estimates.",
                hint="Fit with bias_reduction=True.",
            )
        if logit.cov_type != "nonrobust":
            raise NotSupportedError(
                "Hausman's test requires model-based standard errors of the logistic estimates, not "
                f"{logit.cov_type} standard errors.",
                hint='Pass fit.robust("nonrobust").',
            )
        against_first = logistic.estimates.with_reference(0)
        return against_first.params() * unit_column, against_first.cov_params(unit)
    if isinstance(logit, LDAResults) or not (hasattr(logit, "params") and hasattr(logit, "cov_params")):
        raise DataError(
            f"The second fit of hausman() is not a logistic regression (type {type(logit).__name__}).",
            hint="Pass a fit of logistic(), or results of statsmodels' Logit or MNLogit.",
        )
    params = np.asarray(logit.params, dtype=np.float64)
    params = params.reshape(len(params), -1)
    cov = np.asarray(logit.cov_params(), dtype=np.float64)
    if len(params) != len(unit_column):
        return params, cov
    stacked = np.tile(unit_column[:, 0], params.shape[1])
    return params * unit_column, cov * stacked * stacked[:, None]


def _require_same_means(normal: FittedModel[LDAFit], model: Any) -> None:
    """Raise DataError if a model of statsmodels has other class counts or class means than LDA.

    A model without `exog` and `endog` in the expected shapes is not checked.

    Parameters
    ----------
    normal : FittedModel
        The fit of LDA.
    model : object
        Attribute `model` of the results of statsmodels.
    """
    rows, codes = (np.asarray(getattr(model, name, ()), dtype=np.float64) for name in ("exog", "endog"))
    moments = normal.estimates.moments
    k, p = moments.class_means.shape
    if rows.ndim != 2 or rows.shape[1] != p + 1 or codes.shape != rows.shape[:1]:
        return
    weights = np.asarray(getattr(model, "freq_weights", np.ones(len(rows))), dtype=np.float64)
    class_counts = np.array([weights[codes == j].sum() for j in range(k)])
    if not np.allclose(class_counts, moments.counts, rtol=1e-9, atol=0):
        lda_counts, logistic_counts = (
            ", ".join(map(format_count, counts)) for counts in (moments.counts, class_counts)
        )
        _raise_different_counts(f"{lda_counts} by class", logistic_counts)
    means = np.stack([weights[codes == j] @ rows[codes == j, 1:] / class_counts[j] for j in range(k)])
    tolerance = 1e-8 * np.abs(rows[:, 1:] - means.mean(axis=0)).max(axis=0)
    different_means = np.argwhere(np.abs(means - moments.class_means) > tolerance)
    if len(different_means):
        j, column = different_means[0].tolist()
        raise DataError(
            f"The two fits differ in rows: the mean of {normal.terms[column]!r} in class "
            f"{normal.classes[j]!r} is {moments.class_means[j, column]:g} for LDA, and "
            f"{means[j, column]:g} for the logistic regression.",
            hint="Fit both to the same rows and columns.",
            classes=(normal.classes[j],),
        )


def find_lda_and_logistic(fits: Sequence[Any]) -> tuple[LDAResults, LogisticResults] | None:
    """Return the LDA fit and the unpenalized logistic fit if `fits` are exactly these two; else None."""
    linear = [fit for fit in fits if isinstance(fit, LDAResults)]
    logit = [
        fit
        for fit in fits
        if isinstance(fit, LogisticResults) and not isinstance(fit, PenalizedLogisticResults)
    ]
    return (linear[0], logit[0]) if len(fits) == 2 and linear and logit else None


def compare_log_odds(linear: LDAResults, logit: LogisticResults) -> pd.DataFrame:
    """Compare the log odds of LDA and of a logistic regression, relative to the reference of the regression.

    Parameters
    ----------
    linear : LDAResults
    logit : LogisticResults

    Returns
    -------
    DataFrame by (class, term)
        LDA, LDA_se, logistic, logistic_se, difference, statistic, df and p, as in `Comparison.log_odds`. The
        last row, ("all", "slopes"), has the joint test only: NaN if LDA is not more precise in any direction
        or lacks a full covariance. If a class is named "all", the label gets an underscore.
    """
    _logistic_estimates(linear, logit, np.ones(len(linear.terms)))
    lda_odds = linear.log_odds(reference=logit.reference)
    logistic_odds = logit.log_odds()
    table = pd.DataFrame(
        {
            "LDA": lda_odds["coef"],
            "LDA_se": lda_odds["se"],
            "logistic": logistic_odds["coef"].to_numpy(),
            "logistic_se": logistic_odds["se"].to_numpy(),
        }
    )
    table["difference"] = table["LDA"] - table["logistic"]
    # Divide by the standard errors of the logistic regression, whose squares may overflow.
    variance = 1 - (table["LDA_se"] / table["logistic_se"]) ** 2
    slope = table.index.get_level_values("term") != "constant"
    standardized_difference = table["difference"] / table["logistic_se"]
    table["statistic"] = (standardized_difference**2 / variance).where((variance > 0) & slope)
    table["df"] = table["statistic"].notna().astype(np.float64).where(table["statistic"].notna())
    table["p"] = chi2_sf(table["statistic"], 1)
    all_label = make_unique_name("all", table.index.get_level_values("class"))
    last = pd.MultiIndex.from_tuples([(all_label, "slopes")], names=["class", "term"])
    joint_row = pd.DataFrame(np.nan, index=last, columns=table.columns)
    try:
        test = hausman(linear, logit)
        columns = ["statistic", "df", "p"]
        joint_row.loc[(all_label, "slopes"), columns] = test.table[columns].iloc[0]
    except NotSupportedError:
        pass
    return pd.concat([table, joint_row])
