"""What every fitted classifier can do: predict, judge itself, show itself.

A child supplies its numbers, their rule (`_rule`) and its summary's sections; rows, labels, pandas are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, Spread
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule, log_posteriors, posteriors
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.table import Table
from discrim.frame.unseen import Unseen, unseen_rows
from discrim.models.fits.arguments import choice, cost_matrix, is_number, prior_vector, told
from discrim.models.fits.handed_out import HandedOut
from discrim.models.fits.labels import known, labelled
from discrim.models.fits.prediction import Decision, augmented, posterior_frame, predicted_codes
from discrim.models.fits.reading import class_moments
from discrim.models.fits.refits import rule_of_moments
from discrim.models.judging.refitted_prior import PriorWithout
from discrim.models.results.judging import Judging

if TYPE_CHECKING:
    from os import PathLike

    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["ClassifierResults"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Method = Literal["plugin", "predictive", "debiased"]


class ClassifierResults(Judging):
    """A fitted classifier.

    Attributes
    ----------
    formula : str
    classes : Index of length K
    nobs : int or float
        Rows used, or the sum of their weights.
    counts, prior : Series by class
    terms : Index of length p
        Column names of the design.
    """

    title: ClassVar[str] = "Classifier"
    likelihood_of: ClassVar[str] = "class and row"
    _drops = False  # Whether columns that others determine are dropped, in each refit anew.
    _holds_levels = False  # Whether a level without a row has a part in the model all the same.
    _stays: Sequence[int] = ()  # Columns that tell something even where they are constant.
    _chosen = ""  # What the rows were asked to choose: leave-one-out holds it, folds choose anew.
    _prior_without: ClassVar[PriorWithout] = "held"
    _no_fit = ("a covariance is singular, or classes are separated", "fewer columns")  # Why, and the way out.

    counts = HandedOut[pd.Series]()
    prior = HandedOut[pd.Series]()

    def __init__(self, blocks: Blocks, counts: Floats, prior: Floats, *, has_rows: bool = True) -> None:
        self._blocks = blocks
        blocks.table.watch((*blocks.design.response_columns, *blocks.design.columns))
        self._has_rows = has_rows
        self._dropped = blocks.dropped
        self._cache: dict[str, Any] = {}
        self.formula = blocks.design.formula
        self.classes = pd.Index(list(blocks.design.levels), name=blocks.design.response)
        self.terms = pd.Index(list(blocks.terms))
        whole = counts.astype(np.int64) if (counts % 1 == 0).all() and counts.sum() < 2**63 else counts
        self.counts = pd.Series(whole, index=self.classes, name="rows")
        self.nobs: int | float = whole.sum().item()
        self.prior = pd.Series(prior, index=self.classes, name="prior")

    # ---- likelihood

    _fit: Any
    """The model's numbers, a `MomentsFit`; a model that is not one of moments replaces what asks for one."""

    @property
    def llf(self) -> float:
        """Joint log-likelihood of class and row at maximum-likelihood estimates."""
        return float(self._fit.llf())

    @property
    def df_model(self) -> int:
        """Free parameters."""
        return int(self._fit.df_model())

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * self.df_model - 2 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return float(self.df_model * np.log(self.nobs) - 2 * self.llf)

    def _glance(self) -> dict[str, Any]:
        row: dict[str, Any] = {"nobs": self.nobs, "classes": len(self.classes), "terms": len(self.terms)}
        return row | {name: known(self, name) for name in ("df_model", "llf", "aic", "bic")}

    def _log_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._prior_values(None)))

    def _rule(self, prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        with np.errstate(divide="ignore"):
            rule: Rule = self._fit.rule(np.log(prior), method, convention)
        return rule

    @property
    def _spread(self) -> Spread | None:
        """What the model needs of the moments; None where it is no function of moments."""
        spread: Spread = self._fit.moments.spread
        return spread

    def _under(self, prior: Floats) -> Self:
        """The same fit with another prior (K,), which its refits then hold."""
        other = copy(self)
        other.prior = pd.Series(prior, index=self.classes, name="prior")
        other._fit = replace(self._fit, prior=prior)
        other._cache = dict(self._cache)
        return other

    def _rule_of(self, moments: ClassMoments) -> Rule | None:
        """The rule of other moments, the prior held; None where a covariance is singular."""
        return rule_of_moments(self, moments)

    def _refitted_rule(self, blocks: Blocks) -> Rule | None:
        """The rule of a fit to other weights, the prior held; None where there is none."""
        return self._rule_of(class_moments(blocks, self._fit.moments.spread))

    def _why_not(self, blocks: Blocks) -> str | None:
        """Why a fit to other weights of the rows does not exist, and the way out, where the verb says so."""
        return None

    def _held_rule(self, blocks: Blocks) -> Rule | None:
        """The same, what the rows were asked to choose held as well."""
        return ClassifierResults._refitted_rule(self, blocks)

    def _left_out(self) -> LeftOut:
        """Scores of rows under the rule without each of them, in closed form."""
        left_out: LeftOut = self._fit.left_out(self._log_prior())
        return left_out

    # ---- prediction

    def _need_posteriors(self, what: str) -> None:
        """Raise NotSupportedError where the model has no posteriors."""

    def predict(
        self,
        data: Any = None,
        prior: Any = None,
        *,
        costs: Any = None,
        reject: float | None = None,
        outlier: float | None = None,
        unseen: Unseen | None = None,
    ) -> pd.Series:
        """Predicted class of each row.

        Parameters
        ----------
        data : table, optional
            New rows; the response need not be there. Without it, the rows of the fit.
        prior : optional
            In any form that the verb takes; the fit's own by default.
        costs : DataFrame or (K, K) array, optional
            Cost of calling a row of one class (row) another (column): the label is that of least cost.
        reject : float, optional
            Cost of leaving a row without a class: a row whose least expected cost (one less its largest
            posterior, without costs) is above it is labelled "rejected".
        outlier : float, optional
            A row whose typicality is below this in every class is labelled "unknown"; see `typicality`.
        unseen : {"raise", "missing"}, optional
            Rows with a level that the fit has not seen: an error, or as rows with a missing value, with a
            warning that counts them. An error by default, but of `naive_bayes(unseen="missing")`.

        Returns
        -------
        Series
            Labels on the data's index; of a row with a missing value, missing.

        Raises
        ------
        DataError
            A column is missing, infinite, or holds an unseen category; costs that do not fit the classes.
        PriorError
            The prior is not a distribution over the classes.
        """
        for name, bound in (("reject", reject), ("outlier", outlier)):
            if bound is not None and not (is_number(bound) and 0 <= bound < np.inf):
                raise DataError(f"{name}={told(bound)}: give a number from 0 on.")
        blocks = self._new_rows(data, unseen)
        if costs is not None or reject is not None:
            self._need_posteriors("costs= and reject=")
        codes = self._predicted_codes(blocks, prior, Decision(cost_matrix(costs, self.classes), reject))
        if outlier is not None:
            strange = (self.typicality(blocks).to_numpy() < outlier).all(axis=1)
            codes[strange & (codes >= 0)] = len(self.classes) + 1
        return self._labelled(codes, blocks.table.index)

    def predict_proba(
        self,
        data: Any = None,
        prior: Any = None,
        *,
        method: Method = "plugin",
        convention: Literal["MASS"] | None = None,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Posterior probabilities, rows by classes.

        Parameters
        ----------
        data, prior, unseen : optional
            As for `predict`.
        method : {"plugin", "predictive", "debiased"}
            Estimates for the parameters, the parameters integrated out, or unbiased log densities.
        convention : None or "MASS"
            "MASS" gives the numbers of R's MASS for the last two methods, which depart from theory.

        Returns
        -------
        DataFrame
            Each row sums to one, or is missing where the row has a missing value.
        """
        return self._posterior_frame(data, prior, method, convention, posteriors, unseen)

    def predict_log_proba(
        self,
        data: Any = None,
        prior: Any = None,
        *,
        method: Method = "plugin",
        convention: Literal["MASS"] | None = None,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Logarithms of the posterior probabilities; they hold where the posterior itself underflows."""
        return self._posterior_frame(data, prior, method, convention, log_posteriors, unseen)

    def _posterior_frame(
        self,
        data: Any,
        prior: Any,
        method: str,
        convention: str | None,
        finish: Callable[[Floats], Floats],
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        choice("method", method, ("plugin", "predictive", "debiased"))
        choice("convention", convention, ("MASS",), optional=True)
        blocks = self._new_rows(data, unseen)
        rule = self._rule(self._prior_values(prior), method, convention)
        return posterior_frame(blocks, rule, self.classes, finish)

    def _predicted_codes(self, blocks: Blocks, prior: Any = None, decision: Decision | None = None) -> Codes:
        rule = self._rule(self._prior_values(prior))
        return predicted_codes(blocks, rule, len(self.classes), decision or Decision())

    def _labelled(self, codes: Codes, index: pd.Index) -> pd.Series:
        return labelled(codes, self.classes, index, self._blocks.design.labels)

    def _prior_values(self, prior: Any) -> Floats:
        if prior is None:
            return np.asarray(self.prior, dtype=np.float64)
        return prior_vector(prior, self.classes, self.counts.to_numpy(dtype=np.float64))

    def _new_rows(self, data: Any, unseen: Unseen | None = None) -> Blocks:
        """The rows to speak of: those of a table, those of the fit, or rows that were read before."""
        if isinstance(data, Blocks):
            return data
        choice("unseen", unseen, ("raise", "missing"), optional=True)
        if data is None:
            return self._rows("predict", "pass data=")
        table = Table(data)
        blocks = replace(self._blocks, table=table, codes=np.full(table.nrows, -1), weights=None)
        if unseen != "missing" or blocks.design.spec is None:
            return blocks
        return replace(blocks, lost=unseen_rows(blocks.design, table, blocks.functions))

    def _rows(self, what: str, way_out: str = "fit formula and data") -> Blocks:
        if not self._has_rows:
            raise NotSupportedError(
                f"{what} needs the rows of the fit, which one loaded or made of moments has not: {way_out}."
            )
        self._blocks.table.refuse_changes()
        return self._blocks

    # ---- summaries

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        raise NotSupportedError(f"{self.title} has no summary.")

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The summary, a table for each section; prints, and renders in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order; all by default. Only what is asked for is computed.

        Returns
        -------
        Summary
            `.as_text()`, `.as_html()`, `.as_latex()`, `.as_markdown()`; `.tables` has the numbers unrounded.
        """
        from discrim.report.tables import summarize

        return summarize(self.title, self._sections(), pick=sections)

    def _brief(self) -> Summary:
        raise NotSupportedError(f"{self.title} has no short form.")

    def __repr__(self) -> str:
        return self._brief().as_text()

    def _repr_html_(self) -> str:
        return self._brief().as_html()

    def augment(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """The table with each row's predicted label (`.fitted`) and posteriors (`.posterior.<class>`)."""
        rows = self._new_rows(data, unseen)
        return augmented(self, rows, self.predict_proba(rows), "posterior")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file that `discrim.load` reads, without the rows of the table (but of `knn`)."""
        from discrim.models.store import save

        save(self, path)
