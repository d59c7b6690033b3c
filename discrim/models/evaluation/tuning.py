"""Folds and splits by which a tuning parameter is chosen.

A model is fitted to the training rows of each fold at all values of a grid, and its errors on the test rows
are counted. Of the values whose error is smallest, or within one standard error of the smallest, the verb
chooses the simplest. Splits are pairs of training and test rows, like `cv=` of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats
from discrim.design.blocks import Blocks
from discrim.design.rows import used_codes, used_rows
from discrim.errors import DataError
from discrim.inference.error_rates import as_good
from discrim.inference.resampling import dealt_codes, drawn_seed
from discrim.models.base import reading
from discrim.models.base.reading import SelectRule
from discrim.models.base.refits import moment_folds
from discrim.models.evaluation.validation import dealt_groups, positions_of

Splits = Iterable[tuple[Sequence[int], Sequence[int]]]
"""Argument of the verbs: for each split the positions of the training rows and of the test rows."""


class Split(NamedTuple):
    """How often each row of a table is in the training rows, and in the test rows of a split, (n,) each."""

    train: Floats
    test: Floats


def read_splits(cv: Any, blocks: Blocks, also: str) -> tuple[Split, ...]:
    """Return the splits that a user specified; raise DataError if they are not valid.

    Parameters
    ----------
    cv : iterable of pairs
        Training and test rows, as positions in the table or as one boolean for each row.
    blocks : Blocks
        The rows of the fit.
    also : str
        What else the argument may be, for the hint.

    Returns
    -------
    tuple of Split
    """
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise DataError(
            f"folds={cv!r} is not valid.",
            hint=f"Give {also}, or splits: pairs of row positions, (train, test).",
        )
    pairs = list(cv)
    if not pairs:
        raise DataError(
            "folds is empty.", hint=f"Give {also}, or splits: pairs of row positions, (train, test)."
        )
    used = used_codes(blocks) >= 0
    splits = []
    for number, pair in enumerate(pairs, start=1):
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise DataError(
                f"Split {number} of folds is not a pair of row positions.", hint="Give (train, test)."
            ) from None
        what = f"of split {number} of folds"
        splits.append(
            Split(_row_counts(train, f"Train {what}", used), _row_counts(test, f"Test {what}", used))
        )
    return tuple(splits)


def _row_counts(value: Any, what: str, used: NDArray[np.bool_]) -> Floats:
    """Return how often each row of the table (n,) is in `value`; at least one must be `used` by the fit."""
    positions = np.asarray(value)
    rows = len(used)
    if positions.ndim == 1 and positions.dtype == bool:
        if len(positions) != rows:
            raise DataError(
                f"{what} has {len(positions)} booleans: the table has {rows} rows.",
                hint="Give one for each.",
            )
        positions = np.flatnonzero(positions)
    if not positions.size:
        raise DataError(f"{what} is empty.", hint="Give positions of rows, from 0.")
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise DataError(f"{what} is not a list of row positions.", hint="Give whole numbers from 0.")
    wrong = positions[(positions < 0) | (positions >= rows)]
    if len(wrong):
        raise DataError(
            f"{what} has position {wrong[0]}: the table has {rows} rows, with positions 0 to {rows - 1}.",
            hint="Give positions of these.",
        )
    if not used[positions].any():
        raise DataError(
            f"{what} has no row that the fit uses: its rows miss values or have a weight of zero.",
            hint="Give other rows.",
        )
    return np.bincount(positions, minlength=rows).astype(np.float64)


def used_splits(splits: Sequence[Split], blocks: Blocks) -> tuple[Split, ...]:
    """Return the splits restricted to the rows that a fit uses."""
    used = used_codes(blocks) >= 0
    return tuple(Split(train[used], test[used]) for train, test in splits)


def split_moments(
    blocks: Blocks, splits: Sequence[Split], spread: Spread, *, rooted: bool = True
) -> Iterator[ClassMoments]:
    """Compute the moments of the training rows of each split; see `class_moments` for `spread`, `rooted`."""
    base = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights
    for split in splits:
        yield reading.class_moments(blocks.with_weights(base * split.train), spread, rooted=rooted)


@dataclass(frozen=True, slots=True)
class TuningFolds:
    """Folds, or splits, by which a tuning parameter is chosen.

    Attributes
    ----------
    count : int
        Number of folds or splits.
    seed : int
        Seed of the random assignment of rows to folds. It is drawn if the user gave none, so that the choice
        can be repeated.
    splits : tuple of Split
        The splits; empty for folds.
    """

    count: int
    seed: int
    splits: tuple[Split, ...] = ()

    @classmethod
    def read(cls, folds: Any, seed: int | None, blocks: Blocks, groups: Codes | None = None) -> Self:
        """Return the folds or splits that a user specified.

        Parameters
        ----------
        folds : int or iterable of pairs
            Number of folds, or splits.
        seed : int or None
        blocks : Blocks
            The rows of the fit.
        groups : (n,) int, optional
            Group of each row; rows of one group are assigned to the same fold.

        Returns
        -------
        TuningFolds
        """
        if groups is not None and reading.is_number(folds):
            seed = drawn_seed(seed)
            dealt = dealt_groups(blocks, groups, folds, seed)
            folds = [
                (np.flatnonzero((dealt >= 0) & (dealt != f)), np.flatnonzero(dealt == f))
                for f in range(folds)
            ]
        splits = () if reading.is_number(folds) else read_splits(folds, blocks, "a number of folds")
        return cls(len(splits) or folds, drawn_seed(seed), splits)

    @property
    def description(self) -> str:
        """Number of folds or splits with a noun, for example "10 folds"."""
        return f"{self.count} {'splits' if self.splits else 'folds'}"

    def training_moments(
        self, blocks: Blocks, spread: Spread, *, rooted: bool = True
    ) -> tuple[Iterable[ClassMoments], list[Floats]]:
        """Compute the moments of the training rows of each fold.

        Parameters
        ----------
        blocks : Blocks
            The rows of the fit.
        spread : Spread
            Second moments to compute.
        rooted : bool
            As in `gather_parts`.

        Returns
        -------
        moments : iterable of ClassMoments
        test_counts : list of (n,) float
            How often each row is a test row, for each fold.
        """
        if self.splits:
            moments = split_moments(blocks, self.splits, spread, rooted=rooted)
            return moments, [split.test for split in self.splits]
        fold_ids = dealt_codes(used_codes(blocks), self.count, self.seed)
        test_counts = [(fold_ids == fold).astype(np.float64) for fold in range(self.count)]
        return moment_folds(blocks, fold_ids, self.count, spread, rooted=rooted), test_counts

    def training_rows(self, fold: int) -> tuple[str, str]:
        """Describe the training rows of a fold, and how to get more of them, for an error message."""
        if self.splits:
            return f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them"
        return f"Without fold {fold + 1} of {self.count}", "more folds"


@dataclass(frozen=True, slots=True, eq=False)
class GridSearch:
    """How a tuning parameter is chosen.

    Attributes
    ----------
    grid : sequence or None
        Candidate values; None for `count` evenly spaced ones.
    folds : TuningFolds
    select : {"min", "1se"}
        Which of the values are good enough.
    count : int
    """

    grid: Sequence[Any] | Floats | None
    folds: TuningFolds
    select: SelectRule = "min"
    count: int = 0

    def good(self, path: pd.DataFrame) -> NDArray[Any]:
        """Return the values in the first column of a table of errors that are good enough by `select`."""
        spread = path["se"].to_numpy() if self.select == "1se" else None
        return np.asarray(path.iloc[:, 0].to_numpy()[as_good(path["error"].to_numpy(), spread)])


def read_choice(value: Any) -> tuple[Any, SelectRule]:
    """Return the value of a tuned parameter, None if it is to be chosen, and the rule of the choice.

    None chooses the value of smallest error, "1se" the simplest value within one standard error of it.
    """
    if isinstance(value, str) and value == "1se":
        return None, "1se"
    return value, "min"


def refuse_lone_classes(moments: ClassMoments, levels: Sequence[Any], given: str) -> None:
    """Raise a DataError for classes of one row; `given` are the options that make the choice unnecessary."""
    lone = [level for level, rows in zip(levels, moments.rows.tolist(), strict=True) if rows < 2]
    if lone:
        which = "Class" if len(lone) == 1 else "Each of the classes"
        raise DataError(
            f"{which} {reading.listed(lone)} has one row, and without it the class has no mean.",
            hint=f"Give {given}, merge it with another class, or leave it out.",
        )


def refuse_none_judged(judged: Floats, what: str) -> None:
    """Raise a DataError if there are no test rows; `what` is the plural of what is chosen."""
    if not judged.any():
        raise DataError(
            f"There are no test rows by which {what} could be chosen.", hint="Give splits with more of them."
        )


def judged_rows(
    blocks: Blocks, judged: Sequence[Floats], progress: Callable[[int], object] | None = None
) -> Iterator[tuple[int, Floats, Codes, Floats]]:
    """Iterate over the test rows of folds in one pass over the table.

    Parameters
    ----------
    blocks : Blocks
        The rows of the fit.
    judged : sequence of (n,) float
        How often each row of the table is a test row, for each fold.
    progress : callable, optional
        Called with the number of rows after each fold.

    Yields
    ------
    fold : int
    x : (m, p) float
    codes : (m,) int
        Classes.
    counts : (m,) float
        How often each row counts.
    """
    for rows, x, codes, weights in used_rows(blocks):
        positions = positions_of(rows)
        for fold, often in enumerate(judged):
            if progress is not None:
                progress(len(positions))
            times = often[positions]
            at = np.flatnonzero(times)
            if len(at):
                count = times[at] if weights is None else weights[at] * times[at]
                yield fold, x[at], codes[at], count
