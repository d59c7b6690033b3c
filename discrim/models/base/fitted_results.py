"""Base classes of the results of fitted classifiers and of their components."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import pandas as pd

from discrim.models.base.available import PublicAttributes
from discrim.models.base.display import SummarizedModel
from discrim.models.base.fit import FittedModel, ModelSpec


class FittedResults(SummarizedModel):
    """Base class of results with a `FittedModel`: formula, classes, columns, counts and prior.

    Parameters
    ----------
    fit : FittedModel
    """

    _fit: FittedModel[Any]

    def __init__(self, fit: FittedModel[Any]) -> None:
        self._fit = fit

    @property
    def formula(self) -> str:
        """The formula of the fit."""
        return self._fit.formula

    @property
    def classes(self) -> pd.Index:
        """Class labels, in order."""
        return self._fit.classes

    @property
    def terms(self) -> pd.Index:
        """Names of the columns of the design."""
        return self._fit.terms

    @property
    def nobs(self) -> int | float:
        """Number of rows used, or the sum of their weights; an int if the counts of all classes are whole."""
        return self._fit.nobs

    @property
    def counts(self) -> pd.Series:
        """Number of rows, or the sum of their weights, of each class; integers if all are whole."""
        return self._fit.rows_by_class

    @property
    def prior(self) -> pd.Series:
        """Prior probability of each class."""
        return pd.Series(self._fit.prior.copy(), index=self.classes, name="prior")

    def _without_rows(self) -> Self:
        """Return a copy whose fit lacks rows; see `FittedModel.without_rows`."""
        stripped = copy(self)
        stripped._fit = self._fit.without_rows()
        return stripped

    @property
    def _spec(self) -> ModelSpec[Any]:
        """The `ModelSpec` of the fit."""
        return self._fit.spec

    def _title(self) -> str:
        """Return the title of the model, which is the title of the summary."""
        return self._fit.title

    def _subject(self) -> Any:
        """Return the `FittedModel`, the second argument of the functions of sections and plots."""
        return self._fit

    def _heading(self) -> str:
        """Return the title of the summary, a colon and the formula, which is shortened to 70 characters."""
        from discrim.report.grid import clean, shorten

        return f"{self._title()}: {shorten(clean(self.formula), 70)}"


def needs_rows(method_name: str, hint: str = "fit formula and data") -> Any:
    """Return a check for `available_if` that raises NotSupportedError if the fit does not have its rows.

    Parameters
    ----------
    method_name : str
        Name of the method in the error message.
    hint : str
        Hint for fits without rows.

    Returns
    -------
    callable
        Function of the results that returns None or raises.
    """

    def check(results: FittedResults) -> None:
        """Raise NotSupportedError, which names `method_name`, if the fit does not have its rows."""
        if not results._fit.has_rows:
            results._fit.require_rows(method_name, hint)

    return check


class FitComponent(PublicAttributes):
    """Attributes of a fit that depend on one option, such as its covariates or covariance type.

    Parameters
    ----------
    fit : FittedModel
    """

    _fit: FittedModel[Any]

    def __init__(self, fit: FittedModel[Any]) -> None:
        self._fit = fit

    def __repr__(self) -> str:
        names = (name for name in dir(self) if not name.startswith("_"))
        return f"<{type(self).__name__}: {', '.join(sorted(names))}>"
