"""What is common to rules that have values and no probabilities, and to planes drawn between rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.frame.unseen import Unseen
from discrim.frame.used_rows import GatheredRows, gathered_rows
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit, Model, Refits, as_scored
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.prediction import posterior_frame
from discrim.models.fits.reading import NaAction, usable_rows
from discrim.models.fits.refits import left_out_by_refits, moment_refits

__all__ = ["SeparatingLines", "ValuesOnly", "left_out_of_planes", "plane_model", "plane_refits", "read_rows"]

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
    why = "A plane between classes is found by going back to single rows, and"
    blocks = read(formula, data, levels=levels, functions=functions, in_memory=why)
    blocks, moments = usable_rows(blocks, "diagonal", na_action)
    still = np.ptp(moments.means, axis=0) + moments.scatters.sum(axis=0) == 0
    if still.any():
        raise CollinearError(
            f"{listed(np.array(blocks.terms)[still].tolist())} is constant: it separates nothing. Drop it "
            "from the formula."
        )
    return blocks, moments, gathered_rows(blocks)


def plane_model(name: str, title: str) -> Model:
    """What is particular to a model of planes drawn between rows."""
    return Model(
        name,
        title,
        likelihood_of="none",
        prior_without="none",
        instead="see decision_function() and distance()",
        decision=as_scored,
    )


class ValuesOnly:
    """Values of the classes instead of posteriors; for children of `ClassifierResults`."""

    @property
    def instead(self: Any) -> str:
        """What to use where posteriors are asked for."""
        instead: str = self._fit.model.instead
        return instead

    def _values(self: Any, data: Any, unseen: Unseen | None = None) -> pd.DataFrame:
        """Values of the rule, rows by classes."""
        blocks = self._fit.new_rows(data, Gaps(unseen))
        return posterior_frame(blocks, self._fit.rule(), self.classes, np.asarray)


class SeparatingLines(ValuesOnly):
    """Planes drawn between rows; for children of `ClassifierResults`."""

    @property
    def df_model(self: Any) -> int:
        """Number of coefficients of the planes, each of which is known up to a factor."""
        return int((len(self.terms) + 1) * (1 if len(self.classes) == 2 else len(self.classes)))

    def _augmented(self: Any, gaps: Gaps, data: Any) -> pd.DataFrame:
        """The table with each row's label (`.fitted`) and the values of the planes (`.score.<class>`)."""
        rows = self._fit.new_rows(data, gaps)
        held: pd.DataFrame = self._fit.augmented(rows, pd.DataFrame(self.decision_function(rows)), "score")
        return held


def plane_refits(left_out: Any = None) -> Refits:
    """Refits of planes that are fitted to rows: all rows again, and leave-one-out by so many refits."""
    return replace(moment_refits(None), of_rows=_rule_of_planes, left_out=left_out or left_out_of_planes)


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
