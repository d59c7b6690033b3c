"""The choice of a tuning parameter from a grid, by folds whose moments are merged or by splits as given.

A model is fitted to the rows outside each fold at all values of the grid. Of the values whose error is as
good as the least, or within one standard error of it, the verb takes the simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import used_codes, used_rows
from discrim.inference.error_rates import TIE, as_good
from discrim.inference.resampling import dealt_codes, drawn_seed
from discrim.models.fits.reading import is_number, listed
from discrim.models.fits.refits import moment_folds
from discrim.models.judging.validation import Split, read_splits, split_moments


@dataclass(frozen=True, slots=True)
class TuningFolds:
    """Folds, or splits in their place, by which a tuning parameter is chosen.

    Attributes
    ----------
    count : int
        How many, also of splits.
    seed : int
        By which rows are dealt to folds; drawn where none was given, so that a choice can be made again.
    splits : tuple of Split
        Those given in the place of folds.
    """

    count: int
    seed: int
    splits: tuple[Split, ...] = ()

    @classmethod
    def read(cls, folds: Any, seed: int | None, blocks: Blocks) -> Self:
        """The folds or splits of the rows of a table that a person asks for."""
        splits = () if is_number(folds) else read_splits(folds, blocks, "a number of folds")
        return cls(len(splits) or folds, drawn_seed(seed), splits)

    @property
    def words(self) -> str:
        """How many there are, in words."""
        return f"{self.count} {'splits' if self.splits else 'folds'}"

    def training_moments(self, blocks: Blocks, spread: Spread) -> tuple[Iterable[ClassMoments], list[Floats]]:
        """For each fold the moments of the rows to learn from, and how often each row (n,) is judged."""
        if self.splits:
            return split_moments(blocks, self.splits, spread), [split.test for split in self.splits]
        dealt = dealt_codes(used_codes(blocks), self.count, self.seed)
        judged = [(dealt == fold).astype(np.float64) for fold in range(self.count)]
        return moment_folds(blocks, dealt, self.count, spread), judged

    def training_rows(self, fold: int) -> tuple[str, str]:
        """The rows that a fold leaves to learn from, in words, and what gives more of them."""
        if self.splits:
            return f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them"
        return f"Without fold {fold + 1} of {self.count}", "more folds"


@dataclass(frozen=True, slots=True)
class GridSearch:
    """How a tuning parameter is chosen.

    Attributes
    ----------
    grid : sequence of numbers, or None
        Those to try; None for evenly spaced ones.
    select : {"min", "1se"}
    count : int
        How many are tried where there is no grid.
    """

    grid: Sequence[Any] | Floats | None
    folds: TuningFolds
    select: Literal["min", "1se"] = "min"
    count: int = 0

    def good(self, path: pd.DataFrame) -> NDArray[Any]:
        """The values of the first column whose error is as good as the least, as far as `select` says."""
        slack = float(path["se"].iloc[path["error"].argmin()]) if self.select == "1se" else 0.0
        return np.asarray(path.iloc[:, 0].to_numpy()[as_good(path["error"].to_numpy(), slack + TIE)])


def refuse_lone_classes(moments: ClassMoments, levels: Sequence[Any], given: str) -> None:
    """Raise a DataError for classes of one row, without which a fold cannot be judged.

    Parameters
    ----------
    given : str
        What may be given so that nothing is to be chosen.
    """
    lone = [level for level, rows in zip(levels, moments.rows.tolist(), strict=True) if rows < 2]
    if lone:
        which = "Class" if len(lone) == 1 else "Each of the classes"
        raise DataError(
            f"{which} {listed(lone)} has one row, and without it the class is not known: give {given}, merge "
            "it with another class, or leave it out."
        )


def refuse_none_judged(judged: Floats, what: str) -> None:
    """Raise a DataError where no row is judged; `what` rows judge is plural."""
    if not judged.any():
        raise DataError(f"No row is left to judge {what} by: give splits that judge more of them.")


def judged_rows(
    blocks: Blocks, judged: Sequence[Floats], tell: Callable[[int], object] | None = None
) -> Iterator[tuple[int, Floats, Codes, Floats]]:
    """Rows that folds judge, in one pass: fold, x (m, p), classes (m,), and how often each row counts (m,).

    Parameters
    ----------
    judged : sequence of (n,) float
        How often each row of the table is judged, by fold.
    tell : callable, optional
        Is told of the rows that each fold has been through.
    """
    for rows, x, codes, weights in used_rows(blocks):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        for fold, often in enumerate(judged):
            if tell is not None:
                tell(len(positions))
            times = often[positions]
            at = np.flatnonzero(times)
            if len(at):
                count = times[at] if weights is None else weights[at] * times[at]
                yield fold, x[at], codes[at], count
