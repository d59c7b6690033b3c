"""The choice of the threshold of shrunken centroids, by folds whose moments are merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.independent.shrunken_centroids import ShrunkenFit, labels_along
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.rules import logs_of_prior
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes, used_rows
from discrim.inference.folds import dealt_codes
from discrim.inference.rates_along import TIE
from discrim.models.fits.arguments import is_number, listed, told
from discrim.models.fits.fold_moments import moment_folds
from discrim.models.fits.tuning import error_path, largest_as_good
from discrim.models.judging.splits import Split, split_moments

__all__ = ["Search", "choose_threshold", "thresholds_of"]

Floats = NDArray[np.float64]

MOST_TRIED = 10**6
"""Thresholds that can be tried."""


@dataclass(frozen=True, slots=True)
class Search:
    """How a threshold is chosen.

    Attributes
    ----------
    grid : sequence of float or None
        Thresholds to try; None for evenly spaced ones.
    n_thresholds : int
        How many of those, from 0 to where no column is left.
    folds : int
        How many, also of splits.
    seed : int or None
    select : {"min", "1se"}
    splits : tuple of Split
        Those given in the place of folds.
    """

    grid: Sequence[float] | None
    n_thresholds: int
    folds: int
    seed: int | None
    select: Literal["min", "1se"]
    splits: tuple[Split, ...] = ()


def thresholds_of(search: Search, fit: ShrunkenFit) -> Floats:
    """The thresholds (T,) to try, in increasing order.

    Raises
    ------
    DataError
        None at all, or one that is negative, infinite or missing.
    """
    if search.grid is None:
        most = search.n_thresholds
        if not (
            isinstance(most, int | np.integer) and not isinstance(most, bool) and 2 <= most <= MOST_TRIED
        ):
            raise DataError(
                f"n_thresholds={told(most)}: give a number of thresholds, 2 or more and up to {MOST_TRIED:,}."
            )
        return np.unique(np.linspace(0.0, float(fit.reach().max()), most))
    asked_for = search.grid
    if isinstance(asked_for, str) or not isinstance(asked_for, Iterable):
        raise DataError(f"grid={asked_for!r}: give a list of thresholds, or None for evenly spaced ones.")
    wrong = [value for value in asked_for if not is_number(value)]
    if wrong:
        raise DataError(f"grid holds {wrong[0]!r}, which is no threshold: give numbers from 0 on.")
    values = [float(value) for value in asked_for]
    bad = [value for value in values if not 0 <= value < np.inf]
    if not values or bad:
        raise DataError(
            f"grid={listed(values)}: {bad[0]!r} is no threshold; give numbers from 0 on."
            if bad
            else "grid is empty: give thresholds from 0 on, or None for evenly spaced ones."
        )
    return np.unique(values)


def _parts(blocks: Blocks, search: Search) -> tuple[Iterable[ClassMoments], list[Floats]]:
    """For each fold or split the moments of the rows to learn from, and how often each row (n,) is judged."""
    if search.splits:
        held = split_moments(blocks, search.splits, "diagonal")
        return held, [split.test for split in search.splits]
    dealt = dealt_codes(used_codes(blocks), search.folds, search.seed)
    judged = [(dealt == fold).astype(np.float64) for fold in range(search.folds)]
    return moment_folds(blocks, dealt, search.folds, "diagonal"), judged


def _refuse_part(search: Search, fold: int) -> NoReturn:
    what, instead = (
        (f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them")
        if search.splits
        else (f"Without fold {fold + 1} of {search.folds}", "more folds")
    )
    raise CollinearError(
        f"{what} some column does not vary within classes, or a class is gone: give an offset above 0, "
        f"threshold=, or {instead}."
    )


def choose_threshold(blocks: Blocks, fit: ShrunkenFit, search: Search) -> tuple[float, pd.DataFrame]:
    """The threshold chosen, and the path: threshold, error, se, genes.

    Errors and their standard errors are those of `error_rates(["cv"])` of a fit with the threshold given,
    with the same folds and seed, or of the splits given; the number of columns that survive is that of the
    fit to all rows.

    Raises
    ------
    DataError
        A class of one row, folds that are too many or too few, no threshold.
    CollinearError
        A column does not vary in some fold, and there is no offset.
    """
    levels, k = blocks.design.levels, fit.moments.n_classes
    single = [level for level, rows in zip(levels, fit.moments.rows.tolist(), strict=True) if rows < 2]
    if single:
        which = "Class" if len(single) == 1 else "Each of the classes"
        raise DataError(
            f"{which} {listed(single)} has one row, and without it the class is not known: give "
            "threshold=, merge it with another class, or leave it out."
        )
    thresholds = thresholds_of(search, fit)
    held, judged = _parts(blocks, search)
    parts = [fit.refit(part) for part in held]
    log_prior = logs_of_prior(fit.prior)
    wrong, judged_rows = np.zeros((len(thresholds), k)), np.zeros(k)
    if None in parts:
        _refuse_part(search, parts.index(None))
    with late_bar(blocks.table.nrows * len(parts), "choice of the threshold") as tell:
        for rows, x, own, weights in used_rows(blocks):
            positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            for part, often in zip(parts, judged, strict=True):
                tell(len(positions))
                part_of = often[positions]
                at = np.flatnonzero(part_of)
                if part is None or not len(at):
                    continue
                times = part_of[at] if weights is None else weights[at] * part_of[at]
                member = np.equal(own[at, None], np.arange(k)) * times[:, None]
                judged_rows += member.sum(axis=0)
                wrong += (labels_along(part, x[at], thresholds, log_prior) != own[at]) @ member
    if not judged_rows.any():
        raise DataError("No row is left to judge thresholds by: give splits that judge more of them.")
    path = error_path("threshold", thresholds, wrong, judged_rows, fit.prior, sampled=fit.estimated_prior)
    reach = np.sort(fit.reach())
    path["genes"] = len(reach) - np.searchsorted(reach, thresholds, side="right")
    slack = float(path["se"].iloc[path["error"].argmin()]) if search.select == "1se" else 0.0
    return largest_as_good(path, slack + TIE), path
