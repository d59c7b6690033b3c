"""What is common to rules that have values and no probabilities, and to planes drawn between rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule, best_class
from discrim.errors import CollinearError
from discrim.frame.blocks import Blocks, read
from discrim.frame.unseen import Unseen
from discrim.frame.used_rows import GatheredRows, gathered_rows
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit, Refits
from discrim.models.fits.prediction import scored
from discrim.models.fits.reading import NaAction, usable_rows
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.judging.validation import left_out_scores

__all__ = ["INSTEAD", "SeparatingLines", "ValuesOnly", "left_out_of_planes", "plane_refits", "read_rows"]

Floats = NDArray[np.float64]


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
    blocks, moments = usable_rows(blocks, "diagonal", na_action)
    still = np.ptp(moments.means, axis=0) + moments.scatters.sum(axis=0) == 0
    if still.any():
        raise CollinearError(
            f"{listed(np.array(blocks.terms)[still].tolist())} is constant: it separates nothing. Drop it "
            "from the formula."
        )
    return blocks, moments, gathered_rows(blocks)


INSTEAD = "see decision_function() and distance()"
"""What to turn to where posteriors are asked for."""


class ValuesOnly:
    """Values of the classes instead of posteriors; for children of `ClassifierResults`."""

    @property
    def instead(self: Any) -> str:
        """What to turn to where posteriors are asked for."""
        instead: str = self._fit.model.instead
        return instead

    def _values(self: Any, data: Any, unseen: Unseen | None = None) -> pd.DataFrame:
        """Values of the rule, rows by classes."""
        blocks = self._fit.new_rows(data, unseen)
        out = np.empty((len(self.classes), blocks.table.nrows))
        for place, found in scored(blocks, self._fit.rule(), len(self.classes)):
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
        index = self._fit.rows("leave_one_out()").table.index
        scores = left_out_scores(self._fit, refit_prior)
        frame = pd.DataFrame(scores, index=index, columns=self.classes, copy=False)
        frame.insert(0, "label", self._fit.labelled(best_class(scores), index), allow_duplicates=True)
        return frame.rename_axis(columns=None)


class SeparatingLines(ValuesOnly):
    """Planes drawn between rows; for children of `ClassifierResults`."""

    @property
    def df_model(self: Any) -> int:
        """Coefficients of the planes, of which each is known up to a factor."""
        return int((len(self.terms) + 1) * (1 if len(self.classes) == 2 else len(self.classes)))

    def decision_function(
        self: Any, data: Any = None, *, unseen: Unseen | None = None
    ) -> pd.DataFrame | pd.Series:
        """Values of the planes at rows: of the one between two classes a Series, positive for the second."""
        frame: pd.DataFrame = self._values(data, unseen)
        return frame.iloc[:, 1].rename(str(self.classes[1])) if len(self.classes) == 2 else frame

    def augment(self: Any, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """The table with each row's label (`.fitted`) and the values of the planes (`.score.<class>`)."""
        rows = self._fit.new_rows(data, unseen)
        held: pd.DataFrame = self._fit.augmented(rows, pd.DataFrame(self.decision_function(rows)), "score")
        return held


def plane_refits(left_out: Any = None) -> Refits:
    """Refits of planes that are fitted to rows: all rows again, and leave-one-out by so many refits."""
    return moment_refits(None, of_rows=_rule_of_planes, left_out=left_out or left_out_of_planes)


def _rule_of_planes(fit: Fit[Any], blocks: Blocks) -> Rule | None:
    rows = gathered_rows(blocks)
    if len(np.unique(rows.codes)) < len(fit.classes):
        return None
    refit = fit.numbers.refit(rows.x, rows.codes)
    if refit is None:
        return None
    rule: Rule = refit.rule(np.zeros(len(fit.classes)))
    return rule


def left_out_of_planes(fit: Fit[Any]) -> LeftOut:
    """Scores that are all missing, and so left to refits, unless the rows are too many."""
    return left_out_by_refits(fit, f"of a {fit.title.lower()} takes a refit a row")
