"""Logistic regression: log odds that are linear in the row, and nothing said of the row itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from discrim.core.covariance import dependencies
from discrim.core.leave_one_out import LeftOut
from discrim.core.logistic import MOST_STEPS, TOLERANCE, LogisticFit, fit_logistic
from discrim.core.moments import ClassMoments, Spread
from discrim.core.rules import Rule
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks, read
from discrim.inference.error_rates import check_level
from discrim.inference.result import TestResult, approximations
from discrim.models.geometry import LinearGeometry
from discrim.models.labels import class_code
from discrim.models.logistic_sections import logistic_brief, logistic_sections
from discrim.models.pictures import plot_posteriors, plot_regions
from discrim.models.results import ClassifierResults
from discrim.models.sample import NaAction, choice, named, prior_vector, sample
from discrim.models.separated import refuse_separated
from discrim.models.validation import used_codes

if TYPE_CHECKING:
    from discrim.report.plots import Axes
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["LogisticResults", "logistic"]

Floats = NDArray[np.float64]

MOST_REFITS, PENALIZED_REFITS = 2000, 100
"""Rows up to which leave-one-out is computed, by a refit for each; those of a penalized fit are slower."""


def logistic(
    formula: str,
    data: Any,
    *,
    reference: Any = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    bias_reduction: bool = False,
    tol: float = TOLERANCE,
    maxiter: int = MOST_STEPS,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LogisticResults:
    """Multinomial logistic regression, by maximum likelihood or with Firth's bias reduction.

    Parameters
    ----------
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`.
    reference : label, optional
        Class against which the log odds are; the first by default, so that of two classes the second is
        the event.
    prior : optional
        In any form that `discrim.lda` takes; predictions move by its log odds against the class proportions.
    bias_reduction : bool
        Maximize the likelihood with Jeffreys' penalty (Firth, 1993): the bias of first order is gone, and the
        estimates are finite where a hyperplane separates classes.
    tol : float
        Distance to the maximum, in standard errors, after which one step of Newton's method more is the last.
    maxiter : int
        Most steps.

    Returns
    -------
    LogisticResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`.
    CollinearError
        A column is constant or a combination of others; the message names them.
    SeparationError
        A hyperplane separates classes, so that there is no maximum; classes, terms and rows are named. With
        `bias_reduction=True` there is one.

    Examples
    --------
    >>> from discrim import logistic
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> two = iris[iris["species"] != "setosa"].astype({"species": str})
    >>> logistic("species ~ petal_width + petal_length", two).params.round(3)["virginica"].tolist()
    [-45.272, 10.447, 5.755]
    """
    if not (isinstance(maxiter, int) and maxiter >= 1) or not 0 < tol < 1:
        raise DataError(
            f"tol={tol!r}, maxiter={maxiter!r}: give a number between 0 and 1, and 1 step or more."
        )
    blocks = read(formula, data, weights=weights, levels=levels, functions=functions)
    blocks, moments = sample(blocks, "pooled", na_action)
    _refuse_collinear(moments, blocks.terms)
    classes = pd.Index(list(blocks.design.levels))
    shares = prior_vector(prior, classes, moments.counts)
    base = 0 if reference is None else class_code(reference, classes)
    fit = fit_logistic(
        blocks,
        moments,
        shares,
        reference=base,
        estimated_prior=prior is None,
        tol=tol,
        maxiter=maxiter,
        bias_reduction=bias_reduction,
    )
    if not fit.newton.converged and bias_reduction:
        raise DataError(
            f"The penalized likelihood has not converged in {fit.newton.steps} steps: raise maxiter=."
        )
    if not fit.newton.converged:
        refuse_separated(fit, blocks, maxiter)
    return LogisticResults(fit, blocks)


def _refuse_collinear(moments: ClassMoments, terms: tuple[str, ...]) -> None:
    rows, p = int(moments.rows.sum()), len(terms)
    if rows <= p:
        raise CollinearError(
            f"{rows} rows are too few for a constant and {p} columns ({named(terms)}): name fewer columns."
        )
    found = dependencies(moments.as_one())
    if found:
        said = [
            f"{terms[d.column]!r} is "
            + (f"a linear combination of {named(terms[j] for j in d.on)}" if d.on else "constant")
            for d in found[:4]
        ]
        raise CollinearError(f"The design is singular: {'; '.join(said)}. Drop it from the formula.")


class LogisticResults(LinearGeometry, ClassifierResults):
    """A fitted logistic regression.

    Attributes
    ----------
    params, bse, zvalues, pvalues : DataFrame, "constant" and terms by the classes but the reference
        Log odds against the reference, their standard errors from the inverse information, Wald's z and
        two-sided p.
    llf, llnull : float
        Log-likelihood of the classes given the rows, and that of the class proportions alone.
    prsquared : float
        McFadden's, 1 - llf/llnull.
    df_model : int
        Free parameters.
    reference : label
    """

    title: ClassVar[str] = "Logistic regression"
    likelihood_of: ClassVar[str] = "class given row"
    _fit: LogisticFit

    def __init__(self, fit: LogisticFit, blocks: Blocks, *, has_rows: bool = True) -> None:
        super().__init__(blocks, fit.moments.counts, fit.prior, has_rows=has_rows)
        self._fit = fit
        self.reference = self.classes[fit.reference]
        self._columns = pd.Index(["constant", *self.terms], name="term")

    # ---- what a model of moments would have

    @property
    def _spread(self) -> Spread | None:
        return None

    def _refitted_rule(self, blocks: Blocks) -> Rule | None:
        codes = used_codes(blocks)
        used = codes >= 0
        weights = None if blocks.weights is None else blocks.weights[used]
        counts = np.bincount(codes[used], weights, minlength=len(self.classes)).astype(np.float64)
        refit = self._fit.refit(blocks, counts)
        return None if refit is None else refit.rule(self._log_prior())

    def _left_out(self) -> LeftOut:
        most = PENALIZED_REFITS if self._fit.bias_reduction else MOST_REFITS
        if self.nobs > most:
            raise NotSupportedError(
                f"Leave-one-out of a logistic regression takes a refit a row; {self.nobs} are more than "
                f'{most:,}: cross-validate (method="cv").'
            )
        # Missing scores are left to refits, row by row.
        return lambda x, codes, weights: np.full((len(x), len(self.classes)), np.nan)

    # ---- estimates

    def _frame(self, values: Floats) -> pd.DataFrame:
        return pd.DataFrame(values, index=self._columns, columns=self.classes[self._fit.others])

    @property
    def params(self) -> pd.DataFrame:
        """Log odds of each class against the reference."""
        return self._frame(self._fit.params())

    @property
    def bse(self) -> pd.DataFrame:
        """Standard errors."""
        errors = np.sqrt(np.diagonal(self._fit.cov_params()))
        return self._frame(errors.reshape(len(self._fit.others), -1).T)

    @property
    def zvalues(self) -> pd.DataFrame:
        """Estimates over standard errors."""
        return self.params / self.bse

    @property
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p-values of Wald's test."""
        return self._frame(2 * stats.norm.sf(np.abs(self.zvalues.to_numpy())))

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the estimates, by (class, term)."""
        labels: list[Any] = [self.classes[self._fit.others], self._columns]
        index = pd.MultiIndex.from_product(labels, names=["class", "term"])
        return pd.DataFrame(self._fit.cov_params(), index=index, columns=index)

    def log_odds(self, level: float = 0.95) -> pd.DataFrame:
        """Estimates by (class, term): coef, se, z, p, low, high, as `LDAResults.log_odds`."""
        half = check_level(level)
        parts = {"coef": self.params, "se": self.bse, "z": self.zvalues, "p": self.pvalues}
        labels: list[Any] = [self.classes[self._fit.others], self._columns]
        table = pd.DataFrame(index=pd.MultiIndex.from_product(labels, names=["class", "term"]))
        for name, part in parts.items():
            table[name] = part.to_numpy().T.ravel()
        table["low"] = table["coef"] - half * table["se"]
        table["high"] = table["coef"] + half * table["se"]
        return table

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Wald intervals by (class, term): low, high."""
        return self.log_odds(level)[["low", "high"]]

    def odds_ratios(self, level: float = 0.95) -> pd.DataFrame:
        """Factors of the odds for one unit of a column, by (class, term): ratio, low, high; no constants."""
        table = self.log_odds(level).drop("constant", level="term")
        with np.errstate(over="ignore"):
            ratios = np.exp(table[["coef", "low", "high"]].to_numpy())
        return pd.DataFrame(ratios, index=table.index, columns=["ratio", "low", "high"])

    @property
    def llnull(self) -> float:
        """Log-likelihood of the class proportions alone."""
        return self._fit.llnull()

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared."""
        return 1 - self.llf / self.llnull

    def lr_test(self) -> TestResult:
        """Likelihood ratio against the constants alone; Wilks' chi-square."""
        statistic = 2 * (self.llf - self.llnull)
        df = float(len(self.terms) * (len(self.classes) - 1))
        pvalue = float(stats.chi2.sf(statistic, df))
        return TestResult(
            "Likelihood ratio",
            statistic,
            (df,),
            pvalue,
            "Large samples; under the hypothesis no column tells the classes apart.",
            approximations({"Likelihood ratio": (statistic, df, np.nan, pvalue)}),
        )

    def decision_function(self, data: Any = None) -> pd.DataFrame | pd.Series:
        """Log odds against the reference, rows by classes; for two classes those of the second, a Series."""
        scores = self.predict_log_proba(data)
        if len(self.classes) == 2:
            odds = scores.to_numpy()[:, 1] - scores.to_numpy()[:, 0]
            return pd.Series(odds, index=scores.index, name=str(self.classes[1]))
        return scores.sub(scores[self.reference], axis=0)

    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row a class and term, in broom's names."""
        names = {"coef": "estimate", "se": "std_error", "z": "statistic", "p": "p_value"}
        names |= {"low": "conf_low", "high": "conf_high"}
        return self.log_odds(level).rename(columns=names).reset_index()

    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._glance() | {"llnull": self.llnull, "prsquared": self.prsquared}])

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        return logistic_sections(self)

    def _brief(self) -> Summary:
        return logistic_brief(self)

    def plot(self, kind: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw posteriors by class ("posteriors", the default), or regions of two predictors ("regions")."""
        choice("kind", kind or "posteriors", ("posteriors", "regions"))
        return plot_regions(self, ax) if kind == "regions" else plot_posteriors(self, ax)
