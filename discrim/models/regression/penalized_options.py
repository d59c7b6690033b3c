"""What a penalized logistic regression is asked for: the penalty, its strength, and how that is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.inference.folds import drawn_seed
from discrim.models.fits.arguments import check_word, folds_or_cv, is_number, is_whole, listed, told
from discrim.models.judging.splits import Split, Splits, read_splits

__all__ = ["FOLDS", "STRENGTHS", "Penalty", "PenaltyName", "Search", "asked_search", "check_alone"]

Floats = NDArray[np.float64]
PenaltyName = Literal["ridge", "lasso", "elastic_net"]

L1_RATIO = {"ridge": 0.0, "lasso": 1.0}

FOLDS, STRENGTHS = 10, 100
"""Folds of a choice, and strengths of a path, unless it is told otherwise."""

MOST_TRIED = 10**5
"""Strengths that a path may have."""


class Penalty(NamedTuple):
    """The penalty of a fit, strength * ((1 - l1_ratio) / 2 |b|^2 + l1_ratio |b|_1).

    Attributes
    ----------
    name : {"ridge", "lasso", "elastic_net"}
        Kind of penalty.
    strength, l1_ratio : float
        Strength of the penalty and share of the lasso, which are glmnet's lambda and alpha.
    """

    name: PenaltyName
    strength: float
    l1_ratio: float


@dataclass(frozen=True, slots=True)
class Search:
    """How a penalized fit is made.

    Attributes
    ----------
    penalty : {"ridge", "lasso", "elastic_net"}
    l1_ratio : float
    strength : float or None
        None where it is to be chosen.
    grid : (L,) float or None
        Strengths of the path, in decreasing order; None for evenly spaced ones.
    n_strengths : int
        How many of those.
    folds : int
        How many, also of splits.
    seed : int or None
    select : {"min", "1se"}
    tol : float
    maxiter : int
    splits : tuple of Split
        Those given in the place of folds.
    """

    penalty: PenaltyName
    l1_ratio: float
    strength: float | None
    grid: Floats | None
    n_strengths: int
    folds: int
    seed: int | None
    select: Literal["min", "1se"]
    tol: float
    maxiter: int
    splits: tuple[Split, ...] = ()

    def with_splits(self, given: Any, blocks: Blocks) -> Search:
        """The same with folds, or splits of the rows of a table, where a strength is to be chosen."""
        if self.strength is not None or is_number(given):
            return self
        splits = read_splits(given, blocks, "a number of folds")
        return replace(self, splits=splits, folds=len(splits))


def asked_search(
    penalty: PenaltyName | None,
    *,
    strength: float | None,
    l1_ratio: float | None,
    grid: Sequence[float] | None,
    n_strengths: int,
    folds: int | Splits,
    seed: int | None,
    select: Literal["min", "1se"],
    cv: Any,
    tol: float,
    maxiter: int,
) -> Search | None:
    """The options of a penalized fit, checked; None where no penalty is asked for.

    Raises
    ------
    DataError
        An option that is none, or one of a penalized fit without a penalty.
    """
    check_word("penalty", penalty, ("ridge", "lasso", "elastic_net"), optional=True)
    if penalty is None:
        # A seed deals nothing here, as where a choice is not to be made.
        given = {
            "strength": strength, "l1_ratio": l1_ratio, "grid": grid, "cv": cv,
            "n_strengths": None if is_whole(n_strengths) and n_strengths == STRENGTHS else n_strengths,
            "folds": None if is_whole(folds) and folds == FOLDS else folds,
            "select": None if isinstance(select, str) and select == "min" else select,
        }  # fmt: skip
        for name, value in given.items():
            if value is not None:
                raise DataError(
                    f"{name}= goes with a penalized fit: give penalty='lasso' (or 'ridge', "
                    "'elastic_net') too, or leave it out."
                )
        return None
    check_word("select", select, ("min", "1se"))
    folds = folds_or_cv("logistic", folds, cv)
    if strength is not None and not (is_number(strength) and 0 < strength < np.inf):
        raise DataError(
            f"strength={told(strength)}: give a number above 0, or None to have it chosen by folds. Without "
            "a penalty, leave penalty= out."
        )
    if not (is_whole(n_strengths) and 2 <= n_strengths <= MOST_TRIED):
        raise DataError(
            f"n_strengths={told(n_strengths)}: give a number of strengths, 2 or more and up to "
            f"{MOST_TRIED:,}."
        )
    share = _checked_ratio(penalty, l1_ratio)
    count: Any = folds if is_number(folds) else 0
    # Choices in folds are made by the same seed, so that they can be made again.
    drawn = drawn_seed(seed) if strength is None else seed
    held = None if strength is None else float(strength)
    return Search(
        penalty, share, held, _checked_grid(grid), int(n_strengths), count, drawn, select, tol, int(maxiter)
    )


def _checked_ratio(penalty: str, l1_ratio: Any) -> float:
    """The share of the lasso in a penalty."""
    if penalty != "elastic_net":
        own = L1_RATIO[penalty]
        if l1_ratio is not None and l1_ratio != own:
            raise DataError(
                f"l1_ratio={told(l1_ratio)} is not that of penalty={penalty!r}, which has {own:g}: give "
                "penalty='elastic_net'."
            )
        return own
    share = 0.5 if l1_ratio is None else l1_ratio
    if not (is_number(share) and 0 < share < 1):
        raise DataError(
            f"l1_ratio={told(l1_ratio)}: give a number between 0 and 1; the ends are penalty='ridge' and "
            "penalty='lasso'."
        )
    return float(share)


def _checked_grid(grid: Any) -> Floats | None:
    """Strengths in decreasing order, each once."""
    if grid is None:
        return None
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        raise DataError(f"grid={told(grid)}: give a list of strengths, or None for evenly spaced ones.")
    values = list(grid)
    wrong = [value for value in values if not (is_number(value) and 0 < value < np.inf)]
    if wrong or not values:
        said = f"{told(wrong[0])} is no strength" if wrong else "it is empty"
        raise DataError(f"grid={listed(values)}: {said}; give numbers above 0.")
    return np.unique(np.array(values, dtype=np.float64))[::-1].copy()


def check_alone(*, bias_reduction: bool, separation: Any, collinear: Any) -> None:
    """Raise a DataError for options of a fit without a penalty beside one."""
    check_word("separation", separation, ("raise", "warn"))
    check_word("collinear", collinear, ("raise", "drop"))
    if bias_reduction:
        raise DataError("bias_reduction=True is a penalty of its own (Firth's): leave it out, or penalty=.")
    if collinear == "drop":
        raise DataError(
            "With penalty= collinear columns share what they tell, and none is dropped: leave collinear= out."
        )
