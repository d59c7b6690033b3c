"""Arguments that have to be fits: what is none is told so, with the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from discrim.errors import DataError, NotSupportedError

__all__ = ["HasFit", "need_fits", "need_rows"]


class HasFit(Protocol):
    """What has a fit, as a choice of columns by `discrim.stepwise` has."""

    @property
    def fit(self) -> Any:
        """The fit."""


def need_fits(fits: Sequence[Any], what: str) -> None:
    """Raise where an argument of a function is no fit.

    Raises
    ------
    DataError
        There is none, or it is something else.
    NotSupportedError
        It is a known law.
    """
    from discrim.models.law.bayes_results import BayesResults
    from discrim.models.results.results import ClassifierResults

    if not fits:
        raise DataError(f"{what} has no fit: give what lda() and other verbs return.")
    for place, fit in enumerate(fits, start=1):
        if isinstance(fit, ClassifierResults):
            continue
        if isinstance(fit, BayesResults):
            raise NotSupportedError(
                f"Argument {place} of {what} is a known law and has no rows: use its error_rate, "
                "which is exact, and its risk(fit), which says what a fit loses."
            )
        hint = "give its results_" if hasattr(fit, "results_") else "give what lda() and other verbs return"
        if hasattr(fit, "cross_validate"):
            hint = "give its fit, as found.fit; with folds= the terms are chosen anew in each"
        more = ", each as an argument of its own" if isinstance(fit, (list, tuple)) else ""
        raise DataError(f"Argument {place} of {what} is no fit (type {type(fit).__name__}): {hint}{more}.")


def need_rows(fits: Sequence[Any], what: str) -> None:
    """Raise where an argument is no fit, or a fit without its rows.

    Raises
    ------
    DataError, NotSupportedError
        As of `need_fits`; and a fit has none, such as one that was loaded.
    """
    need_fits(fits, what)
    for place, fit in enumerate(fits, start=1):
        if not fit._fit.has_rows:
            raise NotSupportedError(
                f"{what} needs the rows of its fits, and argument {place}, loaded, unpickled, made by an "
                "estimator or made of moments, has none: fit a table."
            )
