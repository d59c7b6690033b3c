"""The choice of the penalty of a sparse discriminant analysis, by folds whose moments are merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.projections.sparse_lda import SparseFit, along, top_penalty
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import used_codes, used_rows
from discrim.inference.error_rates import TIE
from discrim.inference.resampling import dealt_codes
from discrim.models.fits.reading import is_number, is_whole, listed, told
from discrim.models.fits.refits import error_path, largest_as_good, moment_folds
from discrim.models.judging.validation import Split, split_moments

MOST_TRIED = 10_000
"""Penalties that can be tried."""

LEAST, LEAST_WIDE = 1e-3, 1e-2
"""The smallest penalty of our own, as a share of the largest; of fewer rows than columns."""


@dataclass(frozen=True, slots=True)
class PenaltySearch:
    """How a penalty is chosen.

    Attributes
    ----------
    grid : (L,) float or None
        Penalties to try, falling; None for evenly spaced logarithms.
    n_penalties : int
        How many of those.
    folds : int
        How many, also of splits.
    select : {"min", "1se"}
    splits : tuple of Split
        Those given in the place of folds.
    """

    grid: Floats | None
    n_penalties: int
    folds: int
    seed: int | None
    select: Literal["min", "1se"]
    splits: tuple[Split, ...] = ()


@dataclass(frozen=True, slots=True)
class PenaltyChoice:
    """What was tried, and what is best.

    Attributes
    ----------
    path : DataFrame
        penalty, error, se, columns, directions.
    fits : list of SparseFit
        To all rows, at each penalty.
    """

    penalty: float
    path: pd.DataFrame
    fits: list[SparseFit]


def penalty_grid(grid: Any, n_penalties: Any) -> Floats | None:
    """Penalties in decreasing order, each once.

    Raises
    ------
    DataError
        None at all, or one that is not positive; a number of penalties that is none.
    """
    if not (is_whole(n_penalties) and 2 <= n_penalties <= MOST_TRIED):
        raise DataError(
            f"n_penalties={told(n_penalties)}: give a number of penalties, 2 or more and up to "
            f"{MOST_TRIED:,}."
        )
    if grid is None:
        return None
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        raise DataError(f"grid={told(grid)}: give a list of penalties, or None for evenly spaced ones.")
    values = list(grid)
    wrong = [value for value in values if not (is_number(value) and 0 < value < np.inf)]
    if wrong or not values:
        said = f"{told(wrong[0])} is no penalty to choose from" if wrong else "it is empty"
        raise DataError(f"grid={listed(map(told, values))}: {said}; give numbers above 0.")
    return np.unique(np.array(values, dtype=np.float64))[::-1].copy()


def penalties_of(moments: ClassMoments, count: int) -> Floats:
    """Penalties (L,) from the least that leaves no column, with evenly spaced logarithms."""
    least = LEAST_WIDE if moments.spread == "thin" else LEAST
    return np.asarray(top_penalty(moments) * least ** np.linspace(0, 1, count))


def choose_penalty(blocks: Blocks, whole: list[SparseFit], search: PenaltySearch) -> PenaltyChoice:
    """The penalty chosen, and the path.

    Errors and their standard errors are those of rows left out, by the fit to the others at the same
    penalties; the number of columns is that of the fit to all rows.

    Parameters
    ----------
    whole : list of SparseFit
        To all rows, at falling penalties.

    Raises
    ------
    DataError
        A class of one row, folds that are too many or too few.
    CollinearError
        Without a fold a class is gone, or a direction does not vary within classes.
    """
    begun = whole[0]
    levels, k, moments = blocks.design.levels, begun.moments.n_classes, begun.moments
    single = [level for level, rows in zip(levels, moments.rows.tolist(), strict=True) if rows < 2]
    if single:
        which = "Class" if len(single) == 1 else "Each of the classes"
        raise DataError(
            f"{which} {listed(single)} has one row, and without it the class is not known: give "
            "penalty= or nonzero=, merge it with another class, or leave it out."
        )
    penalties = np.array([fit.tuning[0] for fit in whole])
    held, judged = _parts(blocks, search, moments)
    log_prior = logs_of_prior(begun.prior)
    wrong, judged_rows = np.zeros((len(penalties), k)), np.zeros(k)
    with late_bar(len(judged), "choice of the penalty") as tell:
        for fold, (part, often) in enumerate(zip(held, judged, strict=True)):
            tell(1)
            rules = [fit.rule(log_prior) for fit in _of_part(part, begun, penalties, search, fold)]
            for x, own, times in _judged_rows(blocks, often):
                member = np.equal(own[:, None], np.arange(k)) * times[:, None]
                judged_rows += member.sum(axis=0)
                wrong += np.stack([best_class(rule.scores(x)) != own for rule in rules]) @ member
    if not judged_rows.any():
        raise DataError("No row is left to judge penalties by: give splits that judge more of them.")
    sampled = begun.estimated_prior
    path = error_path("penalty", penalties, wrong, judged_rows, begun.prior, sampled=sampled)
    path["columns"] = [int(fit.selected().any(axis=1).sum()) for fit in whole]
    path["directions"] = [fit.coef.shape[1] for fit in whole]
    slack = float(path["se"].iloc[path["error"].argmin()]) if search.select == "1se" else 0.0
    return PenaltyChoice(largest_as_good(path, slack + TIE), path, whole)


def _of_part(
    part: ClassMoments, begun: SparseFit, penalties: Floats, search: PenaltySearch, fold: int
) -> list[SparseFit]:
    """The fits to the rows that a fold leaves."""
    if (part.rows < 1).any() or part.total <= part.n_classes:
        _refuse_part(search, fold)
    fits = along(
        part,
        begun.prior,
        penalties,
        ridge=begun.ridge,
        ncomp=begun.ncomp,
        estimated_prior=begun.estimated_prior,
    )
    if any(fit.is_singular() for fit in fits):
        _refuse_part(search, fold)
    return fits


def _judged_rows(blocks: Blocks, often: Floats) -> Iterable[tuple[Floats, NDArray[np.intp], Floats]]:
    """Rows that are judged, with their classes and how often each counts."""
    for rows, x, own, weights in used_rows(blocks):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        part = often[positions]
        at = np.flatnonzero(part)
        if len(at):
            yield x[at], own[at], part[at] if weights is None else weights[at] * part[at]


def _parts(
    blocks: Blocks, search: PenaltySearch, moments: ClassMoments
) -> tuple[Iterable[ClassMoments], Sequence[Floats]]:
    """For each fold or split the moments of the rows to learn from, and how often each row (n,) is judged."""
    if search.splits:
        held = split_moments(blocks, search.splits, moments.spread)
        return held, [split.test for split in search.splits]
    dealt = dealt_codes(used_codes(blocks), search.folds, search.seed)
    judged = [(dealt == fold).astype(np.float64) for fold in range(search.folds)]
    return moment_folds(blocks, dealt, search.folds, moments.spread), judged


def _refuse_part(search: PenaltySearch, fold: int) -> NoReturn:
    what, instead = (
        (f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them")
        if search.splits
        else (f"Without fold {fold + 1} of {search.folds}", "more folds")
    )
    raise CollinearError(
        f"{what} a class is gone, or a direction does not vary within classes: give penalty= or nonzero=, a "
        f"grid= of larger penalties, or {instead}."
    )
