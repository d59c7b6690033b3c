"""Verbs that test or compare fits: `box_m`, `lr_test`, `compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance import pooled, separate
from discrim.core.moments import ClassMoments
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks, read
from discrim.inference import likelihood_ratio
from discrim.inference.result import TestResult
from discrim.models.sample import NaAction, class_moments, sample

if TYPE_CHECKING:
    from discrim.models.lda import LDAResults
    from discrim.models.qda import QDAResults

__all__ = ["box_m", "box_m_of", "compare", "equal_covariance_tests", "lr_test"]


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
    return box_m_of(blocks)


def box_m_of(blocks: Blocks) -> TestResult:
    """Box's M of the rows of a fit."""
    return _box_m(_full_rank_moments(blocks))


def equal_covariance_tests(blocks: Blocks) -> tuple[TestResult, TestResult]:
    """Raw likelihood ratio and Box's M of the rows of a fit, from one pass over them."""
    moments = _full_rank_moments(blocks)
    counts, p = moments.counts, moments.n_columns
    common = pooled(moments, moments.total).logdet
    own = np.array([c.logdet for c in separate(moments, counts)])
    half = 0.5 * np.array([moments.total * common, float(counts @ own)])
    df = p * (p + 1) * (len(counts) - 1) / 2
    return likelihood_ratio.likelihood_ratio(-half[0], -half[1], df), _box_m(moments)


def _full_rank_moments(blocks: Blocks) -> ClassMoments:
    from discrim.models.qda import refuse_singular

    moments = class_moments(blocks, "class")
    refuse_singular(moments, blocks.terms, blocks.design.levels)
    return moments


def _box_m(moments: ClassMoments) -> TestResult:
    common = pooled(moments, moments.total - moments.n_classes)
    # Whitened by the pooled covariance, which M does not see and the determinants are grateful for.
    roots = [common.whiten(c.root.T).T for c in separate(moments, moments.counts - 1)]
    return likelihood_ratio.box_m(np.stack([root.T @ root for root in roots]), moments.counts)


def lr_test(lda_fit: LDAResults, qda_fit: QDAResults) -> TestResult:
    """Raw likelihood ratio of LDA against QDA: whether one covariance was enough.

    Parameters
    ----------
    lda_fit, qda_fit
        Fitted to the same rows and columns.

    Returns
    -------
    TestResult

    Raises
    ------
    DataError
        The fits differ in rows, classes, columns or prior.
    NotSupportedError
        The first does not hold one covariance and the second one for each class.

    Examples
    --------
    >>> from discrim import lda, lr_test, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> round(lr_test(lda("species ~ .", iris), qda("species ~ .", iris)).statistic, 3)
    149.656
    """
    from discrim.models.lda import LDAResults
    from discrim.models.qda import QDAResults

    if not (isinstance(lda_fit, LDAResults) and isinstance(qda_fit, QDAResults)):
        raise NotSupportedError("lr_test takes a fit of lda() and a fit of qda(), in this order.")
    for name in ("classes", "terms", "counts"):
        if not getattr(lda_fit, name).equals(getattr(qda_fit, name)):
            raise DataError(
                f"The two fits differ in {name}: fit both with the same formula to the same rows."
            )
    if not np.allclose(lda_fit.prior, qda_fit.prior, rtol=1e-12, atol=0):
        raise DataError("The two fits differ in prior: fit both with the same one.")
    df = qda_fit.df_model - lda_fit.df_model
    return likelihood_ratio.likelihood_ratio(lda_fit.llf, qda_fit.llf, df)


def compare(*fits: Any) -> pd.DataFrame:
    """Fits side by side.

    Parameters
    ----------
    *fits
        Fitted objects.

    Returns
    -------
    DataFrame
        A row for each: model, df, llf, AIC, BIC, and apparent and leave-one-out error (missing where the
        model has none).

    Examples
    --------
    >>> from discrim import compare, lda, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> compare(lda("species ~ .", iris), qda("species ~ .", iris)).loc[:, ["df", "AIC"]].round(2)
         df     AIC
    LDA  24  574.41
    QDA  44  464.75
    """
    rows = []
    for fit in fits:
        row = {"formula": fit.formula, "df": fit.df_model, "llf": fit.llf, "AIC": fit.aic, "BIC": fit.bic}
        for method in ("apparent", "loo"):
            try:
                row[f"error_{method}"] = fit.error_rates([method])["estimate"].iloc[0]
            except NotSupportedError:
                row[f"error_{method}"] = np.nan
        rows.append(row)
    names = [type(fit).__name__.removesuffix("Results") for fit in fits]
    return pd.DataFrame(rows, index=pd.Index(names))
