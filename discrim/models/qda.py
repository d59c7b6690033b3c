"""Quadratic discriminant analysis: normal classes, each with a covariance of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance import dependencies, pooled
from discrim.core.moments import ClassMoments
from discrim.core.qda import QDAFit, fit_qda
from discrim.core.rules import Rule
from discrim.errors import CollinearError, NotSupportedError
from discrim.frame.blocks import Blocks, read
from discrim.inference.log_determinants import log_determinant_table
from discrim.inference.mean_differences import generalized_distances
from discrim.inference.result import TestResult
from discrim.models import sections
from discrim.models.group_summary import group_summary
from discrim.models.normal_classes import (
    Quadratic,
    covariances_by_class,
    log_determinants_by_class,
    means_by_class,
    moments_by_class,
    quadratic_log_odds,
    scores_by_class,
)
from discrim.models.pictures import plot_posteriors, plot_regions
from discrim.models.results import ClassifierResults
from discrim.models.sample import (
    NaAction,
    choice,
    collinear_error,
    named,
    prior_vector,
    sample,
)
from discrim.models.tests import box_m_of, covariance_models_of

if TYPE_CHECKING:
    from discrim.report.plots import Axes
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["QDAResults", "Quadratic", "qda", "refuse_singular"]

Floats = NDArray[np.float64]


def qda(
    formula: str,
    data: Any,
    *,
    prior: Any = None,
    weights: Any = None,
    method: Literal["moment", "mle"] = "moment",
    covariance: Literal["full", "diagonal"] = "full",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> QDAResults:
    """Quadratic discriminant analysis.

    Parameters
    ----------
    formula, data, prior, weights, levels, na_action, functions
        As for `discrim.lda`.
    method : {"moment", "mle"}
        Divisor of each class's covariance: n_k - 1, or n_k.
    covariance : {"full", "diagonal"}
        The full covariance of each class, or its variances only.

    Returns
    -------
    QDAResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`.
    CollinearError
        The covariance of a class is singular; the message names class and columns.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.datasets import load_iris
    >>> fit = qda("species ~ .", data=load_iris())
    >>> fit.confusion(method="loo").to_numpy().tolist()
    [[50, 0, 0], [0, 47, 3], [0, 1, 49]]
    """
    choice("method", method, ("moment", "mle"))
    choice("covariance", covariance, ("full", "diagonal"))
    blocks = read(formula, data, weights=weights, levels=levels, functions=functions)
    diagonal = covariance == "diagonal"
    blocks, moments = sample(blocks, "diagonal" if diagonal else "class", na_action)
    refuse_singular(moments, blocks.terms, blocks.design.levels, diagonal=diagonal)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), moments.counts)
    fit = fit_qda(moments, shares, method=method, diagonal=diagonal, estimated_prior=prior is None)
    return QDAResults(fit, blocks)


class QDAResults(ClassifierResults):
    """A fitted quadratic discriminant analysis.

    Attributes
    ----------
    means : DataFrame, classes by terms
    covs : dict of class to DataFrame
        Covariance of each class, divisor n_k - 1 (`method="moment"`) or n_k ("mle").
    logdet : Series by class
        Log-determinants of the covariances.
    llf, aic, bic : float
        Joint log-likelihood of class and row at maximum-likelihood covariances, and its criteria.
    df_model : int
        Free parameters.
    """

    _fit: QDAFit
    title: ClassVar[str] = "Quadratic discriminant analysis"

    def __init__(self, fit: QDAFit, blocks: Blocks, *, has_rows: bool = True) -> None:
        super().__init__(blocks, fit.moments.counts, fit.prior, has_rows=has_rows)
        self._fit = fit

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return means_by_class(self)

    @property
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariance of each class."""
        return covariances_by_class(self)

    @property
    def logdet(self) -> pd.Series:
        """Log-determinants of the covariances."""
        return log_determinants_by_class(self)

    def _rule(self, prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        few = self.counts[self.counts <= len(self.terms) + 2]
        if method == "debiased" and convention is None and len(few) and not self._fit.is_diagonal:
            raise NotSupportedError(
                f'method="debiased" needs more than p + 2 = {len(self.terms) + 2} rows in each class; '
                f"{few.index[0]!r} has {few.iloc[0]}."
            )
        return super()._rule(prior, method, convention)

    def decision_function(self, data: Any = None) -> pd.DataFrame | pd.Series:
        """Scores ln prior_k - ln|S_k|/2 - D2_k/2, rows by classes.

        Returns
        -------
        DataFrame, or Series for two classes
            For two classes the log odds of the second against the first: positive is the second class.
        """
        return scores_by_class(self, data)

    def quadratic(self, a: Any, b: Any) -> Quadratic:
        """Log odds of class a against class b as x'Ax + x'b + c."""
        return quadratic_log_odds(self, a, b)

    def log_determinants(self, level: float = 0.95) -> pd.DataFrame:
        """Log-determinants of the classes' covariances and of the pooled one, with intervals.

        Parameters
        ----------
        level : float
            Of the intervals, exact for normal classes.

        Returns
        -------
        DataFrame
            By class, and "pooled": logdet, debiased (its bias subtracted), se, low, high, df. Divisors n_k
            - 1 and N - K.
        """
        if not self._fit.has_distances:
            raise NotSupportedError("log_determinants() is for full covariances, not diagonal ones.")
        moments, free = self._fit.moments, self._fit.moments.counts - 1
        units = 2.0 * np.log(moments.scale).sum()
        nu = moments.total - moments.n_classes
        covariances = (*self._fit.scaled(free), pooled(moments, nu))
        logdets = np.array([c.logdet - units for c in covariances])
        index = pd.Index([*self.classes, "pooled"], name=self.classes.name)
        return log_determinant_table(logdets, np.append(free, nu), len(self.terms), level, index)

    def generalized_distances(self) -> pd.DataFrame:
        """Generalized squared distance from the mean of one class (rows) to another (columns), as SAS's."""
        fit = self._fit
        return generalized_distances(fit.moments, fit.covariances, self._log_prior(), self.classes)

    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self)

    def covariance_models(self) -> pd.DataFrame:
        """The ladder of covariance models; see `discrim.covariance_models`. Reads the rows once more."""
        return covariance_models_of(self)

    def box_m(self) -> TestResult:
        """Box's M test that the classes have one covariance; reads the rows once more."""
        return box_m_of(self._rows("box_m()"))

    def tidy(self) -> pd.DataFrame:
        """One row a class and term: mean and standard deviation within the class."""
        return moments_by_class(self)

    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._glance()])

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        return sections.quadratic(self)

    def _brief(self) -> Summary:
        return sections.quadratic_brief(self)

    def plot(self, kind: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the regions of the classes in the plane of two predictors, or posteriors by class."""
        choice("kind", kind or "posteriors", ("posteriors", "regions", "log_determinants"))
        if kind == "log_determinants":
            from discrim.report import plots

            return plots.log_determinants(self.log_determinants(), ax=ax)
        if kind == "regions" or (kind is None and len(self.terms) == 2):
            return plot_regions(self, ax)
        return plot_posteriors(self, ax)


def refuse_singular(
    moments: ClassMoments, terms: tuple[str, ...], levels: Sequence[Any], *, diagonal: bool = False
) -> None:
    """Raise a CollinearError that names the class whose covariance is singular, and why."""
    p = 1 if diagonal else moments.n_columns
    for k, label in enumerate(levels):
        rows = int(moments.rows[k])
        if rows <= p:
            raise CollinearError(
                f"Class {label!r} has {rows} row{'s' if rows != 1 else ''}, too few for a covariance of "
                f"{moments.n_columns} columns ({named(terms)}), which takes {p + 1} at least: "
                'use fewer columns, lda(), or covariance="diagonal".'
            )
        found = dependencies(moments, k, diagonal=diagonal)
        if found:
            raise collinear_error(found, terms, f"in class {label!r}")
