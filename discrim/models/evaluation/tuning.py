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
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes, used_rows
from discrim.errors import DataError
from discrim.inference.error_rates import near_minimum_mask
from discrim.inference.resampling import seed_or_random, stratified_fold_ids
from discrim.models.base import reading
from discrim.models.base.reading import SelectRule
from discrim.models.base.refits import moments_outside_folds
from discrim.models.evaluation.validation import assign_group_folds, row_positions

Splits = Iterable[tuple[Sequence[int], Sequence[int]]]
"""Argument of the verbs: for each split the positions of the training rows and of the test rows."""


class Split(NamedTuple):
    """One split of the rows of a table into training and test rows.

    Attributes
    ----------
    train, test : (n,) float
        How often each of the n rows of the table is a training row and a test row.
    """

    train: Floats
    test: Floats


def read_splits(cv: Any, design_rows: DesignRows, alternative: str) -> tuple[Split, ...]:
    """Return the splits that a user specified; raise DataError if they are not valid.

    Parameters
    ----------
    cv : iterable of pairs
        Training and test rows, as positions in the table or as one boolean for each row.
    design_rows : DesignRows
        The rows of the fit.
    alternative : str
        Other valid arguments, for the hint, such as "a number of folds".

    Returns
    -------
    tuple of Split
        One for each pair, with counts for all rows of the table, also for rows that the fit does not use.
    """
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise DataError(
            f"folds={cv!r} is not valid.",
            hint=f"Pass {alternative}, or splits: pairs of row positions, (train, test).",
        )
    pairs = list(cv)
    if not pairs:
        raise DataError(
            "folds is empty.", hint=f"Pass {alternative}, or splits: pairs of row positions, (train, test)."
        )
    used = used_codes(design_rows) >= 0
    splits = []
    for number, pair in enumerate(pairs, start=1):
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise DataError(
                f"Split {number} of folds is not a pair of row positions.", hint="Pass pairs (train, test)."
            ) from None
        subject = f"of split {number} of folds"
        splits.append(
            Split(_row_counts(train, f"Train {subject}", used), _row_counts(test, f"Test {subject}", used))
        )
    return tuple(splits)


def _row_counts(selected_rows: Any, subject: str, used: NDArray[np.bool_]) -> Floats:
    """Return how often each row of the table (n,) is selected; positions may repeat.

    Raises DataError if the selection is not valid.

    Parameters
    ----------
    selected_rows : array-like of bool (n,) or int
        Mask or positions of rows, of which at least one must be used by the fit.
    subject : str
        Subject of error messages, such as "Train of split 1 of folds".
    used : (n,) bool
        Rows that the fit uses.
    """
    positions = np.asarray(selected_rows)
    n_rows = len(used)
    if positions.ndim == 1 and positions.dtype == bool:
        if len(positions) != n_rows:
            raise DataError(
                f"{subject} has {len(positions)} booleans, and the table has {n_rows} rows.",
                hint="Pass one boolean for each row.",
            )
        positions = np.flatnonzero(positions)
    if not positions.size:
        raise DataError(f"{subject} is empty.", hint="Pass positions of rows, from 0.")
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise DataError(f"{subject} is not a list of row positions.", hint="Pass integers from 0.")
    wrong = positions[(positions < 0) | (positions >= n_rows)]
    if len(wrong):
        raise DataError(
            f"{subject} has position {wrong[0]}, and the positions of the {n_rows} rows are 0 to "
            f"{n_rows - 1}.",
            hint="Pass positions of these rows.",
        )
    if not used[positions].any():
        raise DataError(
            f"{subject} has no row that the fit uses: all have missing values or a weight of zero.",
            hint="Pass other rows.",
        )
    return np.bincount(positions, minlength=n_rows).astype(np.float64)


def used_splits(splits: Sequence[Split], design_rows: DesignRows) -> tuple[Split, ...]:
    """Return the splits with `train` and `test` (m,) for the m rows that the fit uses, in table order."""
    used = used_codes(design_rows) >= 0
    return tuple(Split(train[used], test[used]) for train, test in splits)


def split_moments(
    design_rows: DesignRows,
    splits: Sequence[Split],
    required_moments: ScatterType,
    *,
    with_roots: bool = True,
) -> Iterator[ClassMoments]:
    """Iterate over the moments of the training rows of each split, weighted by their counts and weights.

    Parameters
    ----------
    design_rows : DesignRows
    splits : sequence of Split
        Splits of the rows of the table.
    required_moments : ScatterType
        Second moments to compute.
    with_roots : bool
        Whether roots of scatter matrices are computed if columns are nearly collinear; see `gather`.
    """
    weights = np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights
    for split in splits:
        yield reading.class_moments(
            design_rows.with_weights(weights * split.train), required_moments, with_roots=with_roots
        )


@dataclass(frozen=True, slots=True)
class TuningFolds:
    """Folds, or splits, by which a tuning parameter is chosen.

    Attributes
    ----------
    count : int
        Number of folds or splits.
    seed : int
        Seed of the random assignment of rows to folds. If the user passes no seed, one is drawn and stored,
        to repeat the choice.
    splits : tuple of Split
        Splits of the user, or folds of whole groups; empty for random folds.
    """

    count: int
    seed: int
    splits: tuple[Split, ...] = ()

    @classmethod
    def read(cls, folds: Any, seed: int | None, design_rows: DesignRows, groups: Codes | None = None) -> Self:
        """Return the folds or splits that a user specified.

        Parameters
        ----------
        folds : int or iterable of pairs
            Number of folds, or splits.
        seed : int or None
            Seed of the random numbers.
        design_rows : DesignRows
            The rows of the fit.
        groups : (n,) int, optional
            Group of each row; rows of one group are assigned to the same fold. Ignored for splits. Folds of
            groups are returned as splits.

        Returns
        -------
        TuningFolds
            `splits` is empty for a number of folds without groups. The seed is drawn if `seed` is None.

        Raises
        ------
        DataError
            The splits are not valid, or `groups` has fewer groups than folds. A number of folds without
            groups is not checked.
        """
        if groups is not None and reading.is_number(folds):
            seed = seed_or_random(seed)
            fold_ids = assign_group_folds(design_rows, groups, folds, seed)
            folds = [
                (np.flatnonzero((fold_ids >= 0) & (fold_ids != f)), np.flatnonzero(fold_ids == f))
                for f in range(folds)
            ]
        splits = () if reading.is_number(folds) else read_splits(folds, design_rows, "a number of folds")
        return cls(len(splits) or folds, seed_or_random(seed), splits)

    @property
    def description(self) -> str:
        """Number of folds or splits with a noun, for example "10 folds"."""
        return f"{self.count} {'splits' if self.splits else 'folds'}"

    def training_moments(
        self, design_rows: DesignRows, required_moments: ScatterType, *, with_roots: bool = True
    ) -> tuple[Iterable[ClassMoments], list[Floats]]:
        """Compute the moments of the training rows of each fold; random folds are stratified by class.

        Parameters
        ----------
        design_rows : DesignRows
            The rows of the fit.
        required_moments : ScatterType
            Second moments to compute.
        with_roots : bool
            Whether roots of scatter matrices are computed if columns are nearly collinear; see `gather`.

        Returns
        -------
        moments : iterable of ClassMoments
            One for each fold, which may be computed during the iteration.
        test_counts : list of (n,) float
            How often each row of the table is a test row, for each fold.
        """
        if self.splits:
            moments = split_moments(design_rows, self.splits, required_moments, with_roots=with_roots)
            return moments, [split.test for split in self.splits]
        fold_ids = stratified_fold_ids(used_codes(design_rows), self.count, self.seed)
        test_counts = [(fold_ids == fold).astype(np.float64) for fold in range(self.count)]
        return moments_outside_folds(
            design_rows, fold_ids, self.count, required_moments, with_roots=with_roots
        ), test_counts

    def describe_training_rows(self, fold: int) -> tuple[str, str]:
        """Return the training rows of a fold, and how to get more of them, as phrases for a message.

        For example ("Without fold 1 of 10", "more folds") for `fold` 0.
        """
        if self.splits:
            return f"Among the training rows of split {fold + 1} of folds", "splits with more training rows"
        return f"Without fold {fold + 1} of {self.count}", "more folds"


@dataclass(frozen=True, slots=True, eq=False)
class GridSearch:
    """How a tuning parameter is chosen.

    Attributes
    ----------
    grid : sequence or None
        Candidate values; None for `count` evenly spaced ones.
    folds : TuningFolds
        Folds or splits by which errors are estimated.
    select : {"min", "1se"}
        Rule of the choice: the smallest error, or an error within one standard error of the smallest.
    count : int
        Number of candidate values without a grid.
    """

    grid: Sequence[Any] | Floats | None
    folds: TuningFolds
    select: SelectRule = "min"
    count: int = 0

    def acceptable_values(self, path: pd.DataFrame) -> NDArray[Any]:
        """Return the candidate values that the rule `select` accepts, in the order of the table.

        Parameters
        ----------
        path : DataFrame
            One row for each candidate: the value in the first column, its "error" and, for "1se", its "se".
        """
        standard_errors = path["se"].to_numpy() if self.select == "1se" else None
        return np.asarray(
            path.iloc[:, 0].to_numpy()[near_minimum_mask(path["error"].to_numpy(), standard_errors)]
        )


def read_choice(value: Any) -> tuple[Any, SelectRule]:
    """Return the value of a tuned parameter (None if it is to be chosen), and the rule of the choice.

    "1se" returns (None, "1se"): the simplest value whose error is within one standard error of the smallest
    is to be chosen. Any other argument is returned with "min"; None then stands for the value with the
    smallest error.
    """
    if isinstance(value, str) and value == "1se":
        return None, "1se"
    return value, "min"


def raise_if_single_row_classes(moments: ClassMoments, levels: Sequence[Any], alternative: str) -> None:
    """Raise DataError if a class has fewer than two rows and therefore no mean without one of them.

    Rows are counted, not their weights.

    Parameters
    ----------
    moments : ClassMoments
    levels : sequence
        Class labels, in the order of the moments.
    alternative : str
        Options with which no parameter is chosen, for the hint, such as "penalty= or nonzero=".
    """
    single_row_classes = [
        level for level, rows in zip(levels, moments.rows.tolist(), strict=True) if rows < 2
    ]
    if single_row_classes:
        subject = "Class" if len(single_row_classes) == 1 else "Each of the classes"
        raise DataError(
            f"{subject} {reading.join_labels(single_row_classes)} has only one observation, "
            "and no mean if it is left out.",
            hint=f"Pass {alternative}, merge the class with another one, or drop it.",
            classes=single_row_classes,
        )


def raise_if_no_test_rows(test_counts: Floats, subject: str) -> None:
    """Raise DataError if no row is a test row.

    Parameters
    ----------
    test_counts : array of float
        How often each row is a test row.
    subject : str
        Chosen quantity in the message, a plural noun such as "penalties".
    """
    if not test_counts.any():
        raise DataError(
            f"There are no test rows by which {subject} could be chosen.",
            hint="Pass splits with test rows that have a class and a weight.",
        )


def iterate_test_rows(
    design_rows: DesignRows, test_counts: Sequence[Floats], progress: Callable[[int], object] | None = None
) -> Iterator[tuple[int, Floats, Codes, Floats]]:
    """Iterate over the test rows of folds in one pass over the table.

    Parameters
    ----------
    design_rows : DesignRows
        The rows of the fit.
    test_counts : sequence of (n,) float
        How often each row of the table is a test row, for each fold.
    progress : callable, optional
        Called with the number of rows of a block, once for each fold.

    Yields
    ------
    fold : int
    x : (m, p) float
        Values of the p columns of the design, in the test rows of one block.
    codes : (m,) int
        Classes.
    counts : (m,) float
        Positive `test_counts` of the rows, times their frequency weights.
    """
    for rows, x, codes, weights in used_rows(design_rows):
        positions = row_positions(rows)
        for fold, fold_counts in enumerate(test_counts):
            if progress is not None:
                progress(len(positions))
            block_counts = fold_counts[positions]
            test_index = np.flatnonzero(block_counts)
            if len(test_index):
                count = (
                    block_counts[test_index]
                    if weights is None
                    else weights[test_index] * block_counts[test_index]
                )
                yield fold, x[test_index], codes[test_index], count
