"""The choice of the number of components, by folds whose moments are merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar
from discrim.core.projections.pls import PLSFit
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes, used_rows
from discrim.inference.folds import dealt_codes
from discrim.inference.rates_along import TIE, as_good
from discrim.models.fits.arguments import is_whole, listed, told
from discrim.models.fits.fold_moments import moment_folds
from discrim.models.fits.tuning import error_path
from discrim.models.judging.splits import Split, split_moments

__all__ = ["Search", "chosen_from", "component_path", "counts_of"]

Floats = NDArray[np.float64]

USUAL = 10
"""Components up to which are tried where no others are given."""


@dataclass(frozen=True, slots=True)
class Search:
    """How a number of components is chosen.

    Attributes
    ----------
    grid : sequence of int or None
        Numbers to try; None for one, two and so on.
    folds : int
        How many, also of splits.
    seed : int or None
    select : {"min", "1se"}
    splits : tuple of Split
        Those given in the place of folds.
    """

    grid: Sequence[int] | None
    folds: int
    seed: int | None
    select: Literal["min", "1se"] = "min"
    splits: tuple[Split, ...] = ()


def counts_of(search: Search, most: int = USUAL) -> list[int]:
    """The numbers of components to try, in increasing order.

    Raises
    ------
    DataError
        None at all, or one that is no number of components.
    """
    asked_for: Any = search.grid
    if asked_for is None:
        return list(range(1, most + 1))
    if isinstance(asked_for, str) or not isinstance(asked_for, Iterable):
        raise DataError(
            f"grid={told(asked_for)}: give a list of numbers of components, or None for 1 to {USUAL}."
        )
    values = list(asked_for)
    wrong = [value for value in values if not (is_whole(value) and value >= 1)]
    if wrong:
        raise DataError(
            f"grid holds {told(wrong[0])}, which is no number of components: give 1, 2 and so on."
        )
    if not values:
        raise DataError(f"grid is empty: give numbers of components, or None for 1 to {USUAL}.")
    return sorted({int(value) for value in values})


def _parts(blocks: Blocks, search: Search, spread: Any) -> tuple[Iterable[ClassMoments], list[Floats]]:
    """For each fold or split the moments of the rows to learn from, and how often each row (n,) is judged."""
    if search.splits:
        held = split_moments(blocks, search.splits, spread)
        return held, [split.test for split in search.splits]
    dealt = dealt_codes(used_codes(blocks), search.folds, search.seed)
    judged = [(dealt == fold).astype(np.float64) for fold in range(search.folds)]
    return moment_folds(blocks, dealt, search.folds, spread), judged


def _refuse_part(search: Search, fold: int) -> NoReturn:
    what, instead = (
        (f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them")
        if search.splits
        else (f"Without fold {fold + 1} of {search.folds}", "more folds")
    )
    raise CollinearError(
        f"{what} a class is gone, or the scores do not vary within classes: give components=, or {instead}."
    )


class _Judged(NamedTuple):
    """What rows that were left out say, by number of components.

    Attributes
    ----------
    wrong : (A, K) float
        Rows of each class, or sums of their weights, that are called another one.
    rows : (K,) float
        All rows.
    press : (A,) float
        Sums of squares of the indicators less what is fitted to them.
    total : float
        The same of the indicators less their means over all rows of the fit.
    """

    wrong: Floats
    rows: Floats
    press: Floats
    total: float


def component_path(blocks: Blocks, fit: PLSFit, search: Search) -> pd.DataFrame:
    """What is explained, and what is predicted of rows left out, by number of components.

    Parameters
    ----------
    blocks : Blocks
    fit : PLSFit
        Of all rows, with as many components as are tried, or as there are.
    search : Search

    Returns
    -------
    DataFrame
        components, error, se, R2X, R2, Q2; errors are those of `error_rates(["cv"])` of a fit with as many
        components given, with the same folds and seed, or of the splits given.

    Raises
    ------
    DataError
        A class of one row, folds that are too many or too few.
    CollinearError
        Without some fold there is no rule.
    """
    levels = blocks.design.levels
    single = [level for level, rows in zip(levels, fit.moments.rows.tolist(), strict=True) if rows < 2]
    if single:
        which = "Class" if len(single) == 1 else "Each of the classes"
        raise DataError(
            f"{which} {listed(single)} has one row, and without it the class is not known: give "
            "components=, merge it with another class, or leave it out."
        )
    held, often = _parts(blocks, search, fit.moments.spread)
    parts = []
    for number, moments in enumerate(held):
        enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
        part = fit.refit_up_to(moments, fit.components) if enough else None
        if part is None:
            _refuse_part(search, number)
        parts.append(part)
    most = min(part.components for part in parts)
    found = _judged(blocks, fit, [part.with_components(most) for part in parts], often)
    if not found.rows.any():
        raise DataError("No row is left to judge components by: give splits that judge more of them.")
    tried = np.arange(1, most + 1)
    path = error_path("components", tried, found.wrong, found.rows, fit.prior, sampled=fit.estimated_prior)
    x, y = fit.latent.explained()
    path["R2X"], path["R2"] = x[:most].cumsum(), y[:most].cumsum()
    path["Q2"] = 1.0 - found.press / found.total
    return path


def _judged(blocks: Blocks, fit: PLSFit, parts: list[PLSFit], often: list[Floats]) -> _Judged:
    k, most = fit.moments.n_classes, parts[0].components
    log_prior, shares, sizes = logs_of_prior(fit.prior), fit.shares, fit.sizes
    wrong, rows, press, total = np.zeros((most, k)), np.zeros(k), np.zeros(most), 0.0
    with late_bar(blocks.table.nrows * len(parts), "choice of components") as tell:
        for place, x, own, weights in used_rows(blocks):
            positions = np.arange(place.start, place.stop) if isinstance(place, slice) else place
            for part, times in zip(parts, often, strict=True):
                tell(len(positions))
                times_of = times[positions]
                at = np.flatnonzero(times_of)
                if not len(at):
                    continue
                count = times_of[at] if weights is None else weights[at] * times_of[at]
                seen = np.equal(own[at, None], np.arange(k))
                member = seen * count[:, None]
                rows += member.sum(axis=0)
                total += float(count @ (((seen - shares) / sizes) ** 2).sum(axis=1))
                for j, (scores, fitted) in enumerate(part.along(x[at], log_prior)):
                    wrong[j] += (best_class(scores) != own[at]) @ member
                    press[j] += count @ (((seen - fitted) / sizes) ** 2).sum(axis=1)
    return _Judged(wrong, rows, press, total)


def chosen_from(path: pd.DataFrame, search: Search) -> tuple[int, pd.DataFrame]:
    """The fewest components that are as good as the best, and the path of those that were asked for.

    Raises
    ------
    DataError
        None of the numbers asked for can be had of the rows outside each fold.
    """
    asked = path[path["components"].isin(counts_of(search, len(path)))].reset_index(drop=True)
    if not len(asked):
        raise DataError(
            f"grid={listed(search.grid)}: the rows outside each fold have {len(path)} components at most: "
            "give such numbers."
        )
    slack = float(asked["se"].iloc[asked["error"].argmin()]) if search.select == "1se" else 0.0
    good = as_good(asked["error"].to_numpy(), slack + TIE)
    return int(asked["components"].to_numpy()[good].min()), asked
