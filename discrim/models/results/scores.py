"""What is common to rules that have values and no probabilities, and to planes drawn between rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, Spread
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule, best_class
from discrim.errors import CollinearError, NotSupportedError
from discrim.frame.blocks import Blocks, read
from discrim.frame.unseen import Unseen
from discrim.frame.used_rows import GatheredRows, gathered_rows
from discrim.models.fits.arguments import named
from discrim.models.fits.prediction import augmented, scored
from discrim.models.fits.reading import NaAction, sample
from discrim.models.judging.refitted_prior import PriorWithout
from discrim.models.judging.validation import left_out_scores

__all__ = ["SeparatingLines", "ValuesOnly", "read_rows"]

Floats = NDArray[np.float64]

MOST_REFITS = 2000
"""GatheredRows up to which leave-one-out is computed, by a refit for each."""


def read_rows(
    formula: str,
    data: Any,
    levels: Sequence[Any] | None,
    na_action: NaAction,
    functions: Mapping[str, Callable[..., Any]] | None,
) -> tuple[Blocks, ClassMoments, GatheredRows]:
    """Blocks, diagonal moments, and rows that planes are fitted to.

    Raises
    ------
    CollinearError
        A column is constant.
    """
    blocks = read(formula, data, levels=levels, functions=functions)
    blocks, moments = sample(blocks, "diagonal", na_action)
    still = np.ptp(moments.means, axis=0) + moments.scatters.sum(axis=0) == 0
    if still.any():
        raise CollinearError(
            f"{named(np.array(blocks.terms)[still].tolist())} is constant: it separates nothing. Drop it "
            "from the formula."
        )
    return blocks, moments, gathered_rows(blocks)


class ValuesOnly:
    """Values of the classes instead of posteriors; for children of `ClassifierResults`."""

    title: ClassVar[str]
    likelihood_of: ClassVar[str] = "none"
    _prior_without: ClassVar[PriorWithout] = "none"
    instead: ClassVar[str] = "see decision_function() and distance()"
    """What to turn to where posteriors were asked for."""

    def _need_posteriors(self, what: str) -> NoReturn:
        article = "an" if self.title[0] in "AEIOU" else "a"
        raise NotSupportedError(
            f"{what} needs probabilities, which {article} {self.title.lower()} has not: {self.instead}, or "
            "fit logistic() or lda()."
        )

    def _prior_values(self: Any, prior: Any) -> Floats:
        if prior is not None:
            self._need_posteriors("prior=")
        return np.asarray(self.prior, dtype=np.float64)

    def _posterior_frame(self, *arguments: Any) -> NoReturn:
        self._need_posteriors("predict_proba()")

    @property
    def llf(self) -> float:
        """Not there: raises NotSupportedError."""
        self._need_posteriors("A likelihood")

    def _values(self: Any, data: Any, unseen: Unseen | None = None) -> pd.DataFrame:
        """Values of the rule, rows by classes."""
        blocks = self._new_rows(data, unseen)
        out = np.empty((len(self.classes), blocks.table.nrows))
        for place, found in scored(blocks, self._rule(self._prior_values(None)), len(self.classes)):
            out[:, place] = found.T
        return pd.DataFrame(out.T, index=blocks.table.index, columns=self.classes, copy=False)

    def leave_one_out(self: Any, *, refit_prior: bool | None = None) -> pd.DataFrame:
        """Label and values of each row of the fit under the rule fitted without it.

        Parameters
        ----------
        refit_prior : bool, optional
            Of no matter: there is no prior that could be held.

        Returns
        -------
        DataFrame
            Column `label`, then a column for each class, on the index of the fit's table.
        """
        index = self._rows("leave_one_out()").table.index
        scores = left_out_scores(self, refit_prior)
        frame = pd.DataFrame(scores, index=index, columns=self.classes, copy=False)
        frame.insert(0, "label", self._labelled(best_class(scores), index), allow_duplicates=True)
        return frame.rename_axis(columns=None)


class SeparatingLines(ValuesOnly):
    """Planes, and leave-one-out by refits; for children of `ClassifierResults`."""

    _fit: Any

    @property
    def df_model(self: Any) -> int:
        """Coefficients of the planes, of which each is known up to a factor."""
        return int((len(self.terms) + 1) * (1 if len(self.classes) == 2 else len(self.classes)))

    @property
    def _spread(self) -> Spread | None:
        return None

    def _refitted_rule(self: Any, blocks: Blocks) -> Rule | None:
        rows = gathered_rows(blocks)
        if len(np.unique(rows.codes)) < len(self.classes):
            return None
        refit = self._fit.refit(rows.x, rows.codes)
        return None if refit is None else refit.rule(np.zeros(len(self.classes)))

    def _left_out(self: Any) -> LeftOut:
        if self.nobs > MOST_REFITS:
            raise NotSupportedError(
                f"Leave-one-out of a {self.title.lower()} takes a refit a row; {self.nobs} are more than "
                f'{MOST_REFITS:,}: cross-validate, error_rates(["cv"]) or confusion("cv").'
            )
        # Missing scores are left to refits, row by row.
        return lambda x, codes, weights: np.full((len(x), len(self.classes)), np.nan)

    def decision_function(
        self: Any, data: Any = None, *, unseen: Unseen | None = None
    ) -> pd.DataFrame | pd.Series:
        """Values of the planes at rows: of the one between two classes a Series, positive for the second."""
        frame: pd.DataFrame = self._values(data, unseen)
        return frame.iloc[:, 1].rename(str(self.classes[1])) if len(self.classes) == 2 else frame

    def augment(self: Any, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """The table with each row's label (`.fitted`) and the values of the planes (`.score.<class>`)."""
        rows = self._new_rows(data, unseen)
        return augmented(self, rows, pd.DataFrame(self.decision_function(rows)), "score")
