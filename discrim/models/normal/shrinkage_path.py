"""Leave-one-out errors of the shrinkages of a grid, as the path of a choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.principal import one_scatter
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.core.shrinkage.median_shrinkage import out_of_reach
from discrim.core.shrinkage.shrinkage import Structure, is_none, obstacles
from discrim.core.shrinkage.shrinkage_choice import (
    Trial,
    common_trial,
    diagonal_trial,
    missed,
    separate_trial,
)
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_rows
from discrim.models.fits.arguments import listed
from discrim.models.fits.reading import class_moments
from discrim.models.fits.tuning import error_path

__all__ = ["RuleAt", "Task", "shrinkage_path"]

Floats = NDArray[np.float64]
RuleAt = Callable[[ClassMoments, float], Rule]
"""From moments and a shrinkage to a rule."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is tried on which rows.

    Attributes
    ----------
    structure : {"shrunk", "diagonal"}
    grid : tuple of float
        Shrinkages.
    blocks : Blocks
    moments : ClassMoments
    divisors : (1,) or (K,) float
        Of one covariance for all classes, or of one for each.
    prior : (K,) float
    rule_at : callable
        From moments and a shrinkage to a rule, the prior held.
    """

    structure: Structure
    grid: tuple[float, ...]
    blocks: Blocks
    moments: ClassMoments
    divisors: Floats
    prior: Floats
    rule_at: RuleAt

    @property
    def is_common(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.divisors) == 1

    def trial(self) -> Trial:
        """Scores of rows under each shrinkage without themselves."""
        grid, log_prior = np.array(self.grid), logs_of_prior(self.prior)
        if self.structure == "diagonal":
            return diagonal_trial(self.moments, self.divisors, log_prior, grid)
        if self.is_common:
            return common_trial(self.moments, float(self.divisors[0]), log_prior, grid)
        return separate_trial(self.moments, self.divisors, log_prior, grid)

    def is_singular(self, moments: ClassMoments, g: float) -> bool:
        """Whether a shrinkage leaves a covariance of these moments singular."""
        if is_none(g, moments.n_columns) and moments.spread in ("thin", "thin class"):
            return True
        each: Sequence[int | None] = [None] if self.is_common else range(moments.n_classes)
        if self.structure == "diagonal":
            held = [one_scatter(moments, k) for k in each]
            if any(out_of_reach(own.squares[0], own.scale, g) for own in held):
                return True
        return any(obstacles(moments, self.structure, k, g) for k in each)

    def without(self, position: int, code: int) -> Floats:
        """Whether one row of the table is called another class by fits without it, for each shrinkage."""
        blocks, found = self.blocks, np.full(len(self.grid), np.nan)
        weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights.copy()
        weights[position] -= min(1.0, weights[position])
        moments = class_moments(replace(blocks, held_weights=weights), self.moments.spread)
        for i, g in enumerate(self.grid):
            if self.is_singular(moments, g):
                continue
            found[i] = (
                self.rule_at(moments, g).scores(blocks.rows_at(np.array([position])))[0].argmax() != code
            )
        return found


def shrinkage_path(task: Task, *, sampled: bool) -> pd.DataFrame:
    """Leave-one-out errors by shrinkage; missing where a covariance is singular without some row.

    Parameters
    ----------
    task : Task
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    DataFrame
        shrinkage, error, se.

    Raises
    ------
    DataError
        A class has too few rows, or no shrinkage has a covariance without each row.
    """
    _refuse_few(task)
    singular = np.array([task.is_singular(task.moments, g) for g in task.grid])
    wrong = np.zeros((len(task.grid), task.moments.n_classes))
    trial = task.trial()
    for rows, x, codes, weights in used_rows(task.blocks):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        found = missed(trial, x, codes, weights)
        # A row that makes up next to all variance leaves the closed form no digits.
        for j in np.flatnonzero(np.isnan(found[~singular]).any(axis=0)).tolist():
            found[:, j] = task.without(int(positions[j]), int(codes[j]))
        for i, own in enumerate(found):
            times = own if weights is None else own * weights
            wrong[i] += np.bincount(codes, times, minlength=wrong.shape[1])
    missing = singular | np.isnan(wrong).any(axis=1)
    if missing.all():
        raise DataError(
            f"No shrinkage of the grid {listed(task.grid)} has a covariance without each row: use a grid "
            "with more shrinkage."
        )
    wrong = np.where(missing[:, None], np.nan, wrong)
    return error_path("shrinkage", task.grid, wrong, task.moments.counts, task.prior, sampled=sampled)


def _refuse_few(task: Task) -> None:
    least = 2 if task.is_common else 3
    few = np.flatnonzero(task.moments.counts < least)
    if len(few):
        label, rows = task.blocks.design.levels[few[0]], task.moments.counts[few[0]]
        raise DataError(
            f'shrinkage="loo": class {label!r} has {rows:g} row{"s" if rows != 1 else ""}, too few to leave '
            f'one out, which takes {least}: use shrinkage="oas" or a number, or merge the class with another.'
        )
