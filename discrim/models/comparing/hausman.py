"""LDA beside the logistic regression: the same log odds from two sides, and Hausman's test of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.tails import chi2_sf
from discrim.errors import DataError, NotSupportedError
from discrim.inference.hausman import hausman as hausman_test
from discrim.inference.hausman import slope_covariance
from discrim.inference.result import TestResult
from discrim.models.comparing.comparable import refuse_other_rows, same_columns
from discrim.models.fits.arguments import listed
from discrim.models.fits.labels import distinct

if TYPE_CHECKING:
    from discrim.models.normal.lda_results import LDAResults
    from discrim.models.regression.logistic_results import LogisticResults

__all__ = ["hausman", "lda_beside_logistic", "log_odds_of_both"]

Floats = NDArray[np.float64]


def hausman(lda_fit: LDAResults, logit: Any) -> TestResult:
    """Hausman's test of normal classes with one covariance: LDA's slopes against the logistic model's.

    Parameters
    ----------
    lda_fit : LDAResults
        The linear discriminant analysis.
    logit
        A logistic regression of the same classes on the same columns: a fit of `discrim.logistic` against any
        reference, or one of statsmodels' Logit or MNLogit against the first class, which has `params` and
        `cov_params()` with a constant first and the columns in the order of the terms.

    Returns
    -------
    TestResult

    Raises
    ------
    DataError
        The first fit is not one of LDA; or the logistic fit has other classes, columns or rows.
    NotSupportedError
        A hyperplane separates classes, so that the logistic fit has no estimates; or the standard errors of
        LDA are not the smaller ones in any direction.

    Notes
    -----
    The test is that of Hausman (1978, Econometrica 46, 1251-1271). Efron (1975, Journal of the American
    Statistical Association 70, 892-898) shows how much more precise the normal model is where it holds.

    Examples
    --------
    >>> from discrim import hausman, lda, logistic
    >>> from discrim.datasets import load_penguins
    >>> formula, penguins = "sex ~ body_mass_g + bill_depth_mm", load_penguins()
    >>> round(hausman(lda(formula, penguins), logistic(formula, penguins)).pvalue, 2)
    0.56
    """
    from discrim.models.normal.lda_results import LDAResults

    if not isinstance(lda_fit, LDAResults):
        raise DataError(
            f"hausman() compares lda() with a logistic regression, in that order; the first fit is "
            f"{type(lda_fit).__name__}."
        )
    fit = lda_fit._fit.numbers
    lda_fit._need_full("hausman()")
    slopes, cov = slope_covariance(fit.moments, fit.covariance, fit.residual_df, 0)
    # In units in which squares of slopes are doubles.
    unit = 1 / fit.moments.scale
    params, theirs = _estimates(lda_fit, logit, unit)
    q, p = slopes.shape
    rows = getattr(logit, "nobs", lda_fit.nobs)
    if not np.isclose(rows, lda_fit.nobs, rtol=1e-9):
        raise DataError(
            f"The two fits differ in rows: LDA has {lda_fit.nobs:g}, the logistic regression {rows:g}. Fit "
            "both to the same rows, with the same weights."
        )
    _refuse_other_means(lda_fit, getattr(logit, "model", None))
    if params.shape != (p + 1, q):
        raise DataError(
            f"The logistic fit has coefficients of shape {params.shape}; {p} columns and {q + 1} classes "
            f"take {(p + 1, q)}: a constant, then {listed(lda_fit.terms)}, for each class but the first."
        )
    keep = np.arange(q * (p + 1)).reshape(q, p + 1)[:, 1:].ravel()
    return hausman_test(slopes.ravel(), cov, params[1:].T.ravel(), theirs[np.ix_(keep, keep)])


def _estimates(lda_fit: LDAResults, logit: Any, unit: Floats) -> tuple[Floats, Floats]:
    """Coefficients (p + 1, K - 1) of a logistic fit against the first class, and their covariance.

    They are those of columns over a unit (p,).
    """
    of_unit = np.insert(unit, 0, 1.0)[:, None]
    from discrim.models.regression.logistic_results import LogisticResults
    from discrim.models.regression.penalized_results import refuse_penalized

    refuse_penalized((logit,), "hausman()")
    if isinstance(logit, LogisticResults):
        for name in ("classes", "terms"):
            ours, theirs = getattr(lda_fit, name), getattr(logit, name)
            if not ours.equals(theirs):
                raise DataError(
                    f"The two fits differ in {name}, {listed(ours)} and {listed(theirs)}: fit both with the "
                    "same formula to the same rows."
                )
        if not np.allclose(lda_fit.counts, logit.counts, rtol=1e-9):
            raise DataError(
                f"The two fits differ in rows: LDA has {listed(lda_fit.counts)} by class, the logistic "
                f"regression {listed(logit.counts)}. Fit both to the same rows, with the same weights."
            )
        refuse_other_rows((lda_fit, logit), "hausman()")
        if not all(same_columns((lda_fit, logit))):
            raise DataError(
                "The two fits differ in the values of their columns, as in other units: fit both to one "
                "table."
            )
        if not logit._fit.numbers.newton.converged:
            raise NotSupportedError(
                "A hyperplane separates classes, so that the logistic regression has no estimates to compare "
                "with LDA's: fit with bias_reduction=True."
            )
        if logit.cov_type != "nonrobust":
            raise NotSupportedError(
                "Hausman's test takes the covariance of the model for the logistic estimates, and not "
                f'{logit.cov_type} standard errors: pass robust("nonrobust") of the fit.'
            )
        against_first = logit._fit.numbers.against(0)
        return against_first.params() * of_unit, against_first.cov_params(unit)
    if not (hasattr(logit, "params") and hasattr(logit, "cov_params")):
        raise DataError(
            f"hausman() compares lda() with a logistic regression; the second is {type(logit).__name__}: "
            "give what logistic() returns, or statsmodels' Logit or MNLogit."
        )
    params = np.asarray(logit.params, dtype=np.float64)
    params, cov = params.reshape(len(params), -1), np.asarray(logit.cov_params(), dtype=np.float64)
    if len(params) != len(of_unit):
        return params, cov
    stacked = np.tile(of_unit[:, 0], params.shape[1])
    return params * of_unit, cov * stacked * stacked[:, None]


def _refuse_other_means(lda_fit: LDAResults, model: Any) -> None:
    """Raise a DataError where the rows of a model of statsmodels have other class means than LDA's."""
    rows, codes = (np.asarray(getattr(model, name, ()), dtype=np.float64) for name in ("exog", "endog"))
    moments = lda_fit._fit.numbers.moments
    k, p = moments.class_means.shape
    if rows.ndim != 2 or rows.shape[1] != p + 1 or codes.shape != rows.shape[:1]:
        return
    weights = np.asarray(getattr(model, "freq_weights", np.ones(len(rows))), dtype=np.float64)
    sizes = np.array([weights[codes == j].sum() for j in range(k)])
    if not np.allclose(sizes, moments.counts, rtol=1e-9, atol=0):
        ours, theirs = (", ".join(f"{size:g}" for size in each) for each in (moments.counts, sizes))
        raise DataError(
            f"The two fits differ in rows: LDA has {ours} by class, the logistic regression {theirs}. Fit "
            "both to the same rows, with the same weights."
        )
    means = np.stack([weights[codes == j] @ rows[codes == j, 1:] / sizes[j] for j in range(k)])
    slack = 1e-8 * np.abs(rows[:, 1:] - means.mean(axis=0)).max(axis=0)
    differ = np.argwhere(np.abs(means - moments.class_means) > slack)
    if len(differ):
        j, column = differ[0].tolist()
        raise DataError(
            f"The two fits differ in rows: the mean of {lda_fit.terms[column]!r} in class "
            f"{lda_fit.classes[j]!r} is {moments.class_means[j, column]:g} for LDA, and "
            f"{means[j, column]:g} for the logistic regression. Fit both to the same rows and columns."
        )


def lda_beside_logistic(fits: Sequence[Any]) -> tuple[LDAResults, LogisticResults] | None:
    """The fits, that of LDA first, if they are one of LDA and one logistic regression."""
    from discrim.models.normal.lda_results import LDAResults
    from discrim.models.regression.logistic_results import LogisticResults
    from discrim.models.regression.penalized_results import PenalizedLogisticResults

    linear = [fit for fit in fits if isinstance(fit, LDAResults)]
    logit = [
        fit
        for fit in fits
        if isinstance(fit, LogisticResults) and not isinstance(fit, PenalizedLogisticResults)
    ]
    return (linear[0], logit[0]) if len(fits) == 2 and linear and logit else None


def log_odds_of_both(linear: LDAResults, logit: LogisticResults) -> pd.DataFrame:
    """Log odds of LDA beside those of the logistic regression, against the latter's reference.

    Parameters
    ----------
    linear : LDAResults
    logit : LogisticResults

    Returns
    -------
    DataFrame by (class, term)
        LDA, LDA_se, logistic, logistic_se, difference (LDA less logistic); statistic, df, p: Hausman's
        chi-square of the difference of a slope, missing where LDA's standard error is not the smaller. The
        last row, ("all", "slopes"), has the joint test, see `hausman`; it is missing where there is none.

    Raises
    ------
    DataError
        The fits differ in classes, terms or rows.
    NotSupportedError
        A hyperplane separates classes, so that the logistic fit has no estimates.
    """
    _estimates(linear, logit, np.ones(len(linear.terms)))
    ours = linear.log_odds(reference=logit.reference)
    theirs = logit.log_odds()
    table = pd.DataFrame(
        {
            "LDA": ours["coef"],
            "LDA_se": ours["se"],
            "logistic": theirs["coef"].to_numpy(),
            "logistic_se": theirs["se"].to_numpy(),
        }
    )
    table["difference"] = table["LDA"] - table["logistic"]
    # In standard errors of the logistic regression, whose squares may be no doubles.
    variance = 1 - (table["LDA_se"] / table["logistic_se"]) ** 2
    slope = table.index.get_level_values("term") != "constant"
    apart = table["difference"] / table["logistic_se"]
    table["statistic"] = (apart**2 / variance).where((variance > 0) & slope)
    table["df"] = table["statistic"].notna().astype(np.float64).where(table["statistic"].notna())
    table["p"] = chi2_sf(table["statistic"], 1)
    every = distinct("all", table.index.get_level_values("class"))
    last = pd.MultiIndex.from_tuples([(every, "slopes")], names=["class", "term"])
    joint = pd.DataFrame(np.nan, index=last, columns=table.columns)
    try:
        test = hausman(linear, logit)
        joint.loc[(every, "slopes"), ["statistic", "df", "p"]] = [test.statistic, test.df[0], test.pvalue]
    except NotSupportedError:
        pass
    return pd.concat([table, joint])
