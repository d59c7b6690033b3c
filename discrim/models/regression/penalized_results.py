"""What a penalized logistic regression gives: coefficients, the path of its strengths, and no tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from discrim.core.regression.penalized import PenalizedFit
from discrim.errors import NotSupportedError
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.regression.logistic_results import LogisticResults
from discrim.models.regression.penalized_fits import MODEL, SAVED, along
from discrim.models.regression.penalized_options import Penalty
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults

__all__ = ["MODEL", "SAVED", "PenalizedLogisticResults", "refuse_penalized"]

WAYS_OUT = {
    "odds_ratios": "their estimates are np.exp(fit.params)",
    "conf_int": "a bootstrap of whole fits shows how far they move",
    "log_odds": "the estimates are fit.params, and tidy() has them in rows",
    "to_statsmodels": "statsmodels' own fit_regularized() has other penalties",
    "to_list": "the estimates are fit.params",
    "separation": "with a penalty the estimates are finite whether or not classes are separated",
}
"""What to turn to, in place of what is refused, beside a fit without a penalty."""


class PenalizedLogisticResults(LogisticResults):
    """A fitted logistic regression with a ridge, lasso or elastic net penalty.

    Attributes
    ----------
    params : DataFrame, "constant" and terms by the classes but the reference
        Log odds against the reference, in the units of the columns.
    class_params : DataFrame, "constant" and terms by classes
        The coefficients that are penalized. For two classes they are the log odds of the second, beside
        zeros; for more classes each has its own (the symmetric parametrization), and `params` are their
        differences.
    penalty : Penalty
        name, strength and l1_ratio; the last two are glmnet's lambda and alpha.
    selected : Index
        Terms whose coefficient is not zero for some class.
    path : DataFrame
        strength, df and explained; where folds chose the strength, also deviance, se and error.
    prsquared : float
        Share of the deviance of the class proportions that is explained, as McFadden's.
    reference : label
        The class against which the log odds are taken.

    Notes
    -----
    A penalty draws the estimates towards zero by an amount that the rows do not reveal. There are therefore
    no standard errors, tests or intervals, and no criteria that need a maximum of the likelihood: methods
    that would give them are refused.
    """

    def __init__(self, fit: Fit[Any]) -> None:
        super().__init__(fit)

    @property
    def _numbers(self) -> PenalizedFit:
        held: Any = self._fit.numbers
        found: PenalizedFit = held
        return found

    @property
    def penalty(self) -> Penalty:
        """Name, strength and l1_ratio."""
        held: Any = self._numbers
        return Penalty(held.penalty, held.strength, held.l1_ratio)

    @property
    def class_params(self) -> pd.DataFrame:
        """Coefficients by class: those that are penalized, in the units of the columns."""
        return pd.DataFrame(self._numbers.class_params(), index=self._columns, columns=self.classes)

    @property
    def selected(self) -> pd.Index:
        """Terms whose coefficient is not zero for some class, from the largest standardized one on."""
        held = self._numbers.by_class[1:]
        size = held.max(axis=1) - held.min(axis=1)
        order = np.argsort(-size, kind="stable")[: int((held != 0).any(axis=1).sum())]
        return self.terms[order]

    @property
    @displayed(explained="share", deviance="general", se="general")
    def path(self) -> pd.DataFrame:
        """The fits at all strengths that were tried.

        Returns
        -------
        DataFrame
            strength; df, the number of coefficients that are not zero; explained, the share of the deviance
            that is explained. Where folds chose the strength, also deviance, the mean -2 log P of rows left
            out, with its standard error se; and error, the share of these rows that get another class.

        Raises
        ------
        NotSupportedError
            The fit was loaded.
        """
        held: Any = self._fit
        return along(held).table.copy()

    @property
    def prsquared(self) -> float:
        """Share of the deviance of the class proportions that is explained."""
        return self._numbers.explained()

    # ---- what is refused

    def _refuse(self, what: str, way_out: str) -> NoReturn:
        raise NotSupportedError(
            f"{what} does not exist for a fit with penalty={self.penalty.name!r}, which draws the "
            f"estimates to zero: {way_out}."
        )

    @property
    def llf(self) -> float:
        """Refused, because the likelihood has no maximum at penalized estimates."""
        self._refuse(
            "A maximum of the likelihood",
            "prsquared is the share of the deviance that is explained, and cross_validate() has log losses "
            "of rows left out",
        )

    @property
    def df_model(self) -> int:
        """Refused, because the number of free parameters is not that of the coefficients."""
        self._refuse("A number of free parameters", "fit.path has df, the coefficients that are not zero")

    @property
    def aic(self) -> float:
        """Refused, because the criterion needs a maximum of the likelihood."""
        self._refuse("AIC", "choose a strength by folds, with strength=None, or fit without penalty=")

    @property
    def bic(self) -> float:
        """Refused, because the criterion needs a maximum of the likelihood."""
        self._refuse("BIC", "choose a strength by folds, with strength=None, or fit without penalty=")

    # ---- tables

    @displayed()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each class and term, under broom's names: class, term, estimate.

        There are no standard errors.

        Parameters
        ----------
        level : float
            Not used. It is there because other models have intervals.
        """
        params = self.params
        labels = np.repeat(params.columns.to_numpy(dtype=object), len(params))
        table = pd.DataFrame({"class": labels, "term": np.tile(params.index.to_numpy(), params.shape[1])})
        table["estimate"] = params.to_numpy().T.ravel()
        return table

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit: sizes, penalty, number of nonzero coefficients, deviance explained."""
        own = {"nonzero": self._numbers.nonzero(), "llnull": self.llnull, "prsquared": self.prsquared}
        return pd.DataFrame([self._sizes() | self.penalty._asdict() | own])


def refuse_penalized(fits: Iterable[Any], what: str) -> None:
    """Raise NotSupportedError where a fit has a penalty, and what is asked takes maximum likelihood."""
    if any(isinstance(fit, PenalizedLogisticResults) for fit in fits):
        raise NotSupportedError(
            f"{what} needs estimates of maximum likelihood, which a fit with a penalty does not have: "
            "fit without penalty=, or compare the fits on rows left out, by compare(folds=)."
        )


def _refused(name: str, inherited: Any) -> Any:
    """A property or method that says why it is not there."""
    more = f"; {WAYS_OUT[name]}" if name in WAYS_OUT else ""

    def refuse(self: PenalizedLogisticResults, *_: Any, **__: Any) -> NoReturn:
        self._refuse(name if isinstance(inherited, property) else f"{name}()", f"fit without penalty={more}")

    if isinstance(inherited, property):
        return property(refuse, doc=f"Refused: {inherited.__doc__}")
    return wraps(inherited)(refuse)


def _refuse_inference() -> None:
    """Refuse what a logistic regression has beyond any classifier: it is of estimates without a penalty."""
    held = {
        *dir(ClassifierResults),
        *dir(LinearGeometry),
        *vars(PenalizedLogisticResults),
        "params",
        "llnull",
    }
    for name in sorted(set(dir(LogisticResults)) - held):
        if not name.startswith("_"):
            setattr(PenalizedLogisticResults, name, _refused(name, getattr(LogisticResults, name)))


_refuse_inference()
