"""Verbs that test or compare fits: `manova`, `box_m`, `lr_test`, `covariance_models`, `compare`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance import pooled, separate
from discrim.core.moments import ClassMoments
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.frame.blocks import Blocks, read
from discrim.inference import likelihood_ratio
from discrim.inference.covariance_models import covariance_models as ladder
from discrim.inference.resampling import bootstrap_ratios, exceedance, permutation_ratios
from discrim.inference.result import TestResult, approximations
from discrim.models.hausman import lda_beside_logistic, log_odds_of_both
from discrim.models.judging.cross_comparison import cross_validated, paired
from discrim.models.judging.fitted import need_fits
from discrim.models.judging.validation import used_rows
from discrim.models.labels import known
from discrim.models.sample import NaAction, choice, class_moments, sample

if TYPE_CHECKING:
    from discrim.models.lda_results import LDAResults
    from discrim.models.qda import QDAResults

__all__ = [
    "box_m",
    "box_m_of",
    "compare",
    "covariance_models",
    "covariance_models_of",
    "equal_covariance_tests",
    "lr_test",
    "manova",
]

Floats = NDArray[np.float64]


def box_m(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> TestResult:
    """Box's M test that the classes have one covariance.

    Parameters
    ----------
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`.

    Returns
    -------
    TestResult
        The chi-square approximation; `table` has M and the F approximation too.

    Raises
    ------
    CollinearError
        The covariance of a class is singular.

    Examples
    --------
    >>> from discrim import box_m
    >>> from discrim.datasets import load_iris
    >>> result = box_m("species ~ .", data=load_iris())
    >>> round(result.statistic, 3), result.df
    (140.943, (20.0,))
    """
    blocks, _ = sample(
        read(formula, data, weights=weights, levels=levels, functions=functions), "diagonal", na_action
    )
    return _box_m(_full_rank_moments(blocks))


def box_m_of(fit: LDAResults | QDAResults) -> TestResult:
    """Box's M of the classes of a fit."""
    return _box_m(_moments_by_class(fit, "box_m()"))


def equal_covariance_tests(blocks: Blocks) -> tuple[TestResult, TestResult]:
    """Raw likelihood ratio and Box's M of the rows of a fit, from one pass over them."""
    moments = _full_rank_moments(blocks)
    counts, p = moments.counts, moments.n_columns
    common = pooled(moments, moments.total).logdet
    own = np.array([c.logdet for c in separate(moments, counts)])
    half = 0.5 * np.array([moments.total * common, float(counts @ own)])
    df = p * (p + 1) * (len(counts) - 1) / 2
    return likelihood_ratio.likelihood_ratio(-half[0], -half[1], df), _box_m(moments)


def _moments_by_class(fit: LDAResults | QDAResults, what: str) -> ClassMoments:
    """Moments by class of the rows of a fit; of one without rows, those that it was made of."""
    moments = fit._fit.moments
    if not fit._has_rows and moments.spread == "class":
        return _full_rank_moments(fit._blocks, moments)
    return _full_rank_moments(fit._rows(what, f"fit formula and data, or ask {what} of qda(moments=)"))


def _full_rank_moments(blocks: Blocks, moments: ClassMoments | None = None) -> ClassMoments:
    from discrim.models.qda import refuse_singular

    moments = class_moments(blocks, "class") if moments is None else moments
    refuse_singular(
        moments,
        blocks.terms,
        blocks.design.levels,
        way_out="use fewer columns, or merge it with another class",
    )
    return moments


def _box_m(moments: ClassMoments) -> TestResult:
    common = pooled(moments, moments.total - moments.n_classes)
    # Whitened by the pooled covariance, which M does not see and the determinants are grateful for.
    roots = [common.whiten(c.root.T).T for c in separate(moments, moments.counts - 1)]
    return likelihood_ratio.box_m(np.stack([root.T @ root for root in roots]), moments.counts)


def lr_test(
    lda_fit: LDAResults,
    qda_fit: QDAResults,
    *,
    bootstrap: int = 0,
    permutations: int = 0,
    seed: int | None = None,
) -> TestResult:
    """Likelihood ratio of LDA against QDA: whether one covariance was enough.

    Parameters
    ----------
    lda_fit, qda_fit
        Fitted to the same rows and columns.
    bootstrap : int
        Replicates of the parametric bootstrap, which needs no large sample; none by default.
    permutations : int
        Permutations of the rows' deviations from their class means, which need no normality either.
    seed : int, optional
        Of both.

    Returns
    -------
    TestResult
        The raw ratio with its chi-square. `table` has Box's M by chi-square and F, and the p-values of the
        bootstrap and the permutations, as well. A bar shows the progress of more than a second.

    Raises
    ------
    DataError
        The fits differ in rows, classes, columns or prior.
    NotSupportedError
        The first does not hold one covariance and the second one for each class; replicates of fits
        with diagonal covariances or `ncomp`; permutations without rows or of weights that are not whole.

    Examples
    --------
    >>> from discrim import lda, lr_test, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> round(lr_test(lda("species ~ .", iris), qda("species ~ .", iris)).statistic, 3)
    149.656
    """
    from discrim.models.lda_results import LDAResults
    from discrim.models.qda import QDAResults

    if not (isinstance(lda_fit, LDAResults) and isinstance(qda_fit, QDAResults)):
        raise NotSupportedError("lr_test takes a fit of lda() and a fit of qda(), in this order.")
    for fit in (lda_fit, qda_fit):
        fit._need_moments("lr_test()")
    for name in ("classes", "terms", "counts"):
        if not getattr(lda_fit, name).equals(getattr(qda_fit, name)):
            raise DataError(
                f"The two fits differ in {name}: fit both with the same formula to the same rows."
            )
    if not np.allclose(lda_fit.prior, qda_fit.prior, rtol=1e-12, atol=0):
        raise DataError("The two fits differ in prior: fit both with the same one.")
    df = qda_fit.df_model - lda_fit.df_model
    result = likelihood_ratio.likelihood_ratio(lda_fit.llf, qda_fit.llf, df)
    linear, quadratic = lda_fit._fit, qda_fit._fit
    if not (linear.has_distances and quadratic.has_distances and linear.reduced() is None):
        if bootstrap or permutations:
            raise NotSupportedError(
                "bootstrap= and permutations= resample the ratio of full covariances: fit without "
                "covariance= and ncomp=."
            )
        return result
    rows = [result.table, _box_m(quadratic.moments).table.drop(index="Box's M")]
    resampled = {"parametric bootstrap": bootstrap, "permutation": permutations}
    for name, replicates in resampled.items():
        if not (isinstance(replicates, int) and replicates >= 0):
            raise DataError(f"{replicates!r} replicates of the {name}: give a whole number.")
        if replicates:
            ratios = _ratios(name, qda_fit, replicates, seed)
            row = (result.statistic, np.nan, np.nan, exceedance(result.statistic, ratios))
            rows.append(approximations({f"Likelihood ratio, {name}": row}))
    return dataclasses.replace(result, table=pd.concat(rows))


def _ratios(name: str, fit: QDAResults, replicates: int, seed: int | None) -> Floats:
    """The ratio under one covariance, (replicates,)."""
    moments = fit._fit.moments
    if name == "parametric bootstrap":
        return bootstrap_ratios(moments.counts, moments.n_columns, replicates, seed)
    blocks = fit._rows("permutations=")
    if blocks.weights is not None and (np.nan_to_num(blocks.weights) % 1 != 0).any():
        raise NotSupportedError("permutations= shuffles rows: it takes weights that are whole numbers.")
    whiten = pooled(moments, moments.total - moments.n_classes).whiten
    parts, codes = [], []
    for _, x, own, weights in used_rows(blocks):
        z = (x.T - moments.centres[own].T) * moments.scale[:, None] - moments.rests[own].T
        times = np.ones(len(own), dtype=np.intp) if weights is None else weights.astype(np.intp)
        parts.append(np.repeat(whiten(z).T, times, axis=0))
        codes.append(np.repeat(own, times))
    order = np.argsort(np.concatenate(codes), kind="stable")
    counts = moments.counts.astype(np.int64)
    return permutation_ratios(np.concatenate(parts)[order], counts, replicates, seed)


def manova(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pd.DataFrame:
    """The four multivariate tests that the classes have one mean.

    Parameters
    ----------
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`: the class on the left, the measurements on the right.

    Returns
    -------
    DataFrame
        Wilks, Pillai, Hotelling-Lawley by two approximations, Roy: statistic, F, df1, df2, p, and whether
        the F is exact, approximate or an upper bound.

    Raises
    ------
    CollinearError
        The covariance within classes is singular.

    Examples
    --------
    >>> from discrim import manova
    >>> from discrim.datasets import load_iris
    >>> manova("species ~ .", load_iris())["F"].round(3).tolist()
    [199.145, 53.466, 580.532, 582.197, 1166.957]
    """
    from discrim.models.lda import lda

    fit = lda(formula, data, weights=weights, levels=levels, na_action=na_action, functions=functions)
    return fit.manova()


def covariance_models(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pd.DataFrame:
    """The ladder of covariance models, from spherical to a free covariance for each class.

    Parameters
    ----------
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`.

    Returns
    -------
    DataFrame
        By model: df, llf, AIC, BIC; the likelihood ratio against the next model with its df and p; and the
        same against the free one. Spherical covariances and common principal components depend on the units
        of the columns, the other models do not.

    Raises
    ------
    CollinearError
        The covariance of a class is singular.

    Examples
    --------
    >>> from discrim import covariance_models
    >>> from discrim.datasets import load_iris
    >>> covariance_models("species ~ .", load_iris())["df"].tolist()
    [15, 18, 24, 26, 32, 44]
    """
    from discrim.models.qda import qda

    fit = qda(formula, data, weights=weights, levels=levels, na_action=na_action, functions=functions)
    return covariance_models_of(fit)


def covariance_models_of(fit: LDAResults | QDAResults) -> pd.DataFrame:
    """The ladder of covariance models for the classes of a fit."""
    moments = _moments_by_class(fit, "covariance_models()")
    return ladder(moments, fit._prior_values(None), estimated_prior=fit._fit.estimated_prior)


def compare(
    *fits: Any,
    by: Literal["fit", "term", "pair"] | None = None,
    folds: Any = None,
    repeats: int = 1,
    groups: Any = None,
    seed: int | None = None,
    cv: Any = None,
) -> pd.DataFrame:
    """Fits side by side.

    Parameters
    ----------
    *fits
        Fitted objects.
    by : {"fit", "term", "pair"}, optional
        A row for each fit; or, of a linear discriminant analysis and a logistic regression, their log odds
        term by term; or, with `folds`, a row for each pair of fits. Without it, by pair with `folds`; else by
        term where there are just those two, whose likelihoods are not to be compared; else by fit.
    folds, repeats, groups, seed : optional
        As for `discrim.cross_validate`, by which all fits are judged on the same folds. The fits are of one
        table and response; formulas and verbs may differ.
    cv : optional
        The former name of `folds`, for one release.

    Returns
    -------
    DataFrame
        By pair (a, b), over the rows that both fits use and label (`rows`; `rows_one_only` are the others
        that either uses): error_a, error_b, their difference; se, low, high, t, df, p_t of the
        corrected resampled t test that its mean over folds is zero (where folds are unequal, that is not
        quite the difference over rows); only_a_wrong and only_b_wrong, rows of the first repeat on which one
        fit alone is wrong, with McNemar's p_exact by the binomial distribution, and with its
        continuity-corrected chi-square `mcnemar` and p_mcnemar; with `groups`, these three are of groups, as
        the rows of one are not independent. A row with a frequency weight is so many rows. Errors are
        weighted by a prior that both were given; else rows count as they are. For what these tests rest on,
        see `discrim.inference.paired_tests`. By term, see `discrim.models.hausman.log_odds_of_both`. Else a
        row for each fit: formula, what the likelihood is of, df, llf, AIC, BIC, and apparent and
        leave-one-out error (missing where the model has none), and with `folds` cross-validated error and its
        standard error. Likelihoods of class and row, as LDA's, and of the class given the row, as the
        logistic model's, are not to be compared.

    Raises
    ------
    DataError
        An argument is no fit; options that do not go together, or are none for `discrim.cross_validate`;
        with `folds`, fits of other rows, classes or weights.
    NotSupportedError
        With `folds`, a fit was loaded, has no rule without some fold, or has weights that are not whole.

    Examples
    --------
    >>> from discrim import compare, lda, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> compare(lda("species ~ .", iris), qda("species ~ .", iris)).loc[:, ["df", "AIC"]].round(2)
         df     AIC
    LDA  24  574.41
    QDA  44  464.75
    >>> two = lda("species ~ .", iris), lda("species ~ sepal_length + sepal_width", iris)
    >>> found = compare(*two, folds=10, seed=1)
    >>> found[["error_a", "error_b", "p_t"]].round(4).iloc[0].tolist()
    [0.02, 0.2067, 0.0056]
    """
    choice("by", by or "fit", ("fit", "term", "pair"))
    need_fits(fits, "compare()")
    names = _names(fits)
    if cv is not None:
        warn_user("compare(cv=) is now compare(folds=); the next release knows the new name only.")
        folds = cv if folds is None else folds
    _refuse_options(fits, by, folds, repeats, groups, seed)
    if folds is not None:
        found = cross_validated(fits, folds, repeats, groups, seed)
        if by != "fit":
            return paired(found, names)
        errors = pd.DataFrame([each.table().loc["error", ["estimate", "se"]] for each in found])
        return _by_fit(fits, names).assign(
            error_cv=errors["estimate"].to_numpy(), se_cv=errors["se"].to_numpy()
        )
    pair = lda_beside_logistic(fits)
    if by == "term" and pair is None:
        raise NotSupportedError('by="term" compares one fit of lda() with one of logistic().')
    if by != "fit" and pair is not None:
        return log_odds_of_both(*pair)
    return _by_fit(fits, names)


def _refuse_options(
    fits: Sequence[Any], by: str | None, folds: Any, repeats: int, groups: Any, seed: int | None
) -> None:
    """Raise where options of `compare` do not go together."""
    if folds is None:
        if by == "pair" or repeats != 1 or groups is not None or seed is not None:
            raise DataError('by="pair", repeats=, groups= and seed= go with folds=, a number of folds.')
    elif by == "term":
        raise DataError('by="term" compares log odds: leave out folds=.')
    elif len(fits) < 2 and by != "fit":
        raise DataError("compare(folds=) takes two fits or more; see cross_validate() for one.")


def _names(fits: Sequence[Any]) -> list[str]:
    """Models' names; fits of one model are told apart by their place."""
    names = [type(fit).__name__.removesuffix("Results") for fit in fits]
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


def _by_fit(fits: Sequence[Any], names: list[str]) -> pd.DataFrame:
    rows = []
    for fit in fits:
        row = {"formula": fit.formula, "likelihood": fit.likelihood_of, "df": known(fit, "df_model")}
        for name, of in (("llf", "llf"), ("AIC", "aic"), ("BIC", "bic")):
            row[name] = known(fit, of)
        for method in ("apparent", "loo"):
            try:
                row[f"error_{method}"] = fit.error_rates([method])["estimate"].iloc[0]
            except NotSupportedError:
                row[f"error_{method}"] = np.nan
        rows.append(row)
    return pd.DataFrame(rows, index=pd.Index(names))
