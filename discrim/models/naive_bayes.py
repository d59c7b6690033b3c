"""Gaussian naive Bayes: columns that are independent and normal within classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from discrim.core.covariance import dependencies
from discrim.core.moments import ClassMoments
from discrim.core.naive_bayes import NaiveBayesFit, fit_naive_bayes, has_fit
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks, read
from discrim.frame.formula import Design
from discrim.models.naive_bayes_sections import naive_bayes_brief, naive_bayes_sections
from discrim.models.pictures import plot_posteriors, plot_regions
from discrim.models.results import ClassifierResults
from discrim.models.sample import NaAction, choice, named, prior_vector, sample
from discrim.models.separate import SeparateCovariances

if TYPE_CHECKING:
    from discrim.report.plots import Axes
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["NaiveBayesResults", "naive_bayes"]


def naive_bayes(
    formula: str,
    data: Any,
    *,
    prior: Any = None,
    weights: Any = None,
    method: Literal["moment", "mle"] = "moment",
    smoothing: float = 0.0,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> NaiveBayesResults:
    """Gaussian naive Bayes: each column normal within each class, independent of the others.

    It is the quadratic discriminant analysis of diagonal covariances, `qda(..., covariance="diagonal")`, but
    that a row with missing values is predicted from its other columns, and from the prior where it has none.
    The fit itself, its leave-one-out and its error rates are of the complete rows.

    Parameters
    ----------
    formula, data, prior, weights, levels, na_action, functions
        As for `discrim.lda`; the predictors are numeric.
    method : {"moment", "mle"}
        Divisor of the variances within a class: n_k - 1, as R's e1071; or n_k, as scikit-learn.
    smoothing : float
        This share of the largest variance of a column (over all rows, divisor N) is added to each variance
        of each class: scikit-learn's `var_smoothing`, 1e-9 there. It depends on the units of the columns.
        None by default.

    Returns
    -------
    NaiveBayesResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; a smoothing that is not a number from 0 on.
    CollinearError
        A column is constant within a class, and there is no smoothing; the message names both.
    NotSupportedError
        A predictor is text or categorical.

    Examples
    --------
    >>> from discrim import naive_bayes
    >>> from discrim.datasets import load_iris
    >>> fit = naive_bayes("species ~ .", data=load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 47, 3], [0, 3, 47]]
    """
    choice("method", method, ("moment", "mle"))
    share = _share(smoothing)
    blocks = read(formula, data, weights=weights, levels=levels, functions=functions)
    _refuse_categories(blocks.design)
    blocks, moments = sample(blocks, "diagonal", na_action)
    _refuse_no_variance(moments, blocks.terms, blocks.design.levels, method, share)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), moments.counts)
    fit = fit_naive_bayes(moments, shares, method=method, smoothing=share, estimated_prior=prior is None)
    return NaiveBayesResults(fit, blocks)


class NaiveBayesResults(SeparateCovariances, ClassifierResults):
    """A fitted Gaussian naive Bayes classifier.

    Attributes
    ----------
    means : DataFrame, classes by terms
    covs : dict of class to DataFrame
        Covariance of each class, diagonal; smoothing included.
    logdet : Series by class
        Log-determinants of the covariances.
    smoothing : float
        Share of the largest variance that was added to every variance.
    llf, aic, bic : float
        Joint log-likelihood of class and row at variances of divisor n_k (smoothed where the fit's are), and
        its criteria.
    df_model : int
        Free parameters.
    """

    _fit: NaiveBayesFit
    title: ClassVar[str] = "Gaussian naive Bayes"

    def __init__(self, fit: NaiveBayesFit, blocks: Blocks, *, has_rows: bool = True) -> None:
        super().__init__(blocks, fit.moments.counts, fit.prior, has_rows=has_rows)
        self._fit = fit
        self.smoothing = fit.smoothing

    def _new_rows(self, data: Any) -> Blocks:
        return replace(super()._new_rows(data), partial=True)

    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._glance() | {"smoothing": self.smoothing}])

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        return naive_bayes_sections(self)

    def _brief(self) -> Summary:
        return naive_bayes_brief(self)

    def plot(self, kind: Literal["posteriors", "regions"] | None = None, ax: Axes | None = None) -> Axes:
        """Draw the regions of the classes in the plane of two predictors, or posteriors by class."""
        choice("kind", kind or "posteriors", ("posteriors", "regions"))
        if kind == "regions" or (kind is None and len(self.terms) == 2 and self._blocks.design.plain):
            return plot_regions(self, ax)
        return plot_posteriors(self, ax)


def _share(smoothing: Any) -> float:
    """The smoothing as a number from 0 on."""
    number = isinstance(smoothing, int | float | np.integer | np.floating) and not isinstance(smoothing, bool)
    if not (number and 0 <= smoothing < np.inf):
        raise DataError(f"smoothing={smoothing!r}: give a share of the largest variance, a number from 0 on.")
    return float(smoothing)


def _refuse_categories(design: Design) -> None:
    """Raise where a predictor is text or categorical."""
    factors = () if design.spec is None else design.spec.factors
    found = [factor.code for factor in factors if factor.levels is not None]
    if found:
        raise NotSupportedError(
            f"naive_bayes() takes numeric predictors, and {named(found)} "
            f"{'is' if len(found) == 1 else 'are'} categorical: leave {'it' if len(found) == 1 else 'them'} "
            f"out, as in `. - {found[0]}`, or use logistic(), which takes categories."
        )


def _refuse_no_variance(
    moments: ClassMoments, terms: tuple[str, ...], levels: Sequence[Any], method: str, smoothing: float
) -> None:
    """Raise a CollinearError that names class and column where a variance does not exist or is zero."""
    for k, label in enumerate(levels):
        count = moments.counts[k]
        if count <= 1 and method == "moment":
            has = "has 1 row" if moments.rows[k] == count else f"has weights that sum to {count:g}"
            raise CollinearError(
                f"Class {label!r} {has}, too few for a variance, which takes more than one: "
                'leave the class out, or pass method="mle" with smoothing=.'
            )
        found = [] if smoothing else dependencies(moments, k, diagonal=True)
        if found:
            one = len(found) == 1
            raise CollinearError(
                f"{named(terms[each.column] for each in found)} {'is' if one else 'are'} constant in class "
                f"{label!r}, where a normal density needs a variance: drop {'it' if one else 'them'} from "
                "the formula, or pass smoothing=, the share of the largest variance to add to each "
                "(scikit-learn's is 1e-9)."
            )
    if smoothing and not has_fit(moments, method, smoothing):
        raise CollinearError(
            f"smoothing={smoothing:g} of the largest variance leaves a variance of {named(terms)} at zero or "
            "infinite: no column varies, the share is too small or too large, or the columns' units are too "
            "far apart."
        )
