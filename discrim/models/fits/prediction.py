"""From rows to labels and posteriors, block by block, on the index of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.marginal import MarginalRule
from discrim.core.rules.rules import MANY_CLASSES, IndependentRule, LinearRule, Rule, best_class, posteriors
from discrim.core.rules.stored_scores import stored_scores, takes_stored
from discrim.errors import warn_user
from discrim.frame.apart import small_codes
from discrim.frame.blocks import Blocks
from discrim.models.fits.sparse_blocks import every_sparse_row

__all__ = [
    "Decision",
    "block_scores",
    "posterior_frame",
    "predicted_codes",
    "score_frame",
    "scored",
    "warn_impossible",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Decision:
    """How scores become classes.

    Attributes
    ----------
    costs : (K, K) float or None
        Cost of predicting class j (column) for a row of class i (row); None for the most probable class.
    reject : float or None
        Cost of rejecting a row; a row whose least expected cost is above it has the code K.
    """

    costs: Floats | None = None
    reject: float | None = None

    def codes(self, scores: Floats) -> Codes:
        """Codes (m,) of scores (m, K); -1 for a missing row.

        The least expected cost is Chow's rule (1970, IEEE Transactions on Information Theory 16, 41-46).
        """
        if self.costs is None and self.reject is None:
            return best_class(scores)
        n_classes = scores.shape[1]
        costs = 1.0 - np.eye(n_classes) if self.costs is None else self.costs
        expected = posteriors(scores) @ costs
        codes = best_class(-expected)
        if self.reject is not None:
            codes[(expected.min(axis=1) > self.reject) & (codes >= 0)] = n_classes
        return codes


def scored(blocks: Blocks, rule: Rule, n_classes: int) -> Iterator[tuple[slice, Floats]]:
    """Scores (m, K) of all rows, block by block, in pieces that fit the cache.

    Those of a row with a missing value are NaN, but where the blocks let it be used in part. A row that is
    impossible in every class has no posterior, and a warning says so.
    """
    complete = rule.rule if isinstance(rule, MarginalRule) else rule
    has_ends = getattr(complete, "has_ends", False)
    impossible: list[int] = []
    with late_bar(blocks.table.nrows, "scores of rows") as tell:
        for rows, scores in _pieces(blocks, rule, n_classes):
            if has_ends:
                none = rows.start + np.flatnonzero(np.isneginf(scores).all(axis=1))
                impossible.extend(none.tolist())
            yield rows, scores
            tell(rows.stop - rows.start)
    if impossible:
        warn_impossible(len(impossible), blocks.table.label(impossible[0]))


def _pieces(blocks: Blocks, rule: Rule, n_classes: int) -> Iterator[tuple[slice, Floats]]:
    """Scores of all rows, by what is stored of them where that is little and the rule takes it."""
    complete = rule.rule if isinstance(rule, MarginalRule) else rule
    stored = every_sparse_row(blocks) if takes_stored(complete) else None
    if stored is None or (blocks.partial and stored[1].any()):
        for place, x, missing in blocks.every_row(checked=not isinstance(rule, LinearRule)):
            yield from block_scores(blocks, rule, n_classes, place, x, missing)
        return
    rows, missing = stored
    piece = max(2**21 // n_classes, 64)
    for start in range(0, len(rows), piece):
        place = slice(start, min(start + piece, len(rows)))
        part = rows.rows(place)
        lost = missing[place]
        scores = stored_scores(complete, part)
        scores[lost] = np.nan
        yield place, scores


def block_scores(
    blocks: Blocks, rule: Rule, n_classes: int, place: slice, x: Floats, missing: NDArray[np.bool_] | None
) -> Iterator[tuple[slice, Floats]]:
    """Scores (m, K) of the rows of one block, as `every_row` gives it, in pieces that fit the cache."""
    # Columns that are each looked at by themselves, class by class, gain nothing by pieces in the cache.
    piece = max((2**21 if isinstance(rule, IndependentRule) else 2**17) // n_classes, 64)
    # By a linear rule a value that is not finite leaves no finite score, so that a look at the sum is enough.
    told = isinstance(rule, LinearRule)
    if missing is None and isinstance(rule, MarginalRule):
        rule = rule.rule
    for start in range(0, len(x), piece):
        stop = min(start + piece, len(x))
        scores = rule.scores(x[start:stop])
        with np.errstate(over="ignore", invalid="ignore"):
            looked = told and not np.isfinite(scores.sum())
        if looked:
            missing = blocks.missing(x, place.start)
        if missing is not None and not blocks.partial:
            scores[missing[start:stop]] = np.nan
        yield slice(place.start + start, place.start + stop), scores


def warn_impossible(count: int, first: Any) -> None:
    """Warn of rows whose probability is zero in every class, naming the first."""
    warn_user(
        f"{count} row{'s have' if count > 1 else ' has'} probability zero in every class"
        f" ({'the first is ' if count > 1 else ''}{first!r}), as with a level that a class never had, or "
        "where no kernel reaches. The posterior is 0/0, so that label and posterior are missing; fit with "
        "laplace=1, for example, or with a larger bandwidth."
    )


def predicted_codes(blocks: Blocks, rule: Rule, n_classes: int, decision: Decision) -> Codes:
    """Predicted class (n,) of each row of the table, -1 where a value is missing."""
    task = partial(_codes, rule=rule, n_classes=n_classes, decision=decision)
    return blocks.reduced(partial(_sent, task), _joined).astype(np.intp) if blocks.apart else task(blocks)


def _sent(task: Callable[[Blocks], Codes], part: Blocks) -> NDArray[Any]:
    return small_codes(task(part))


def _joined(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([a, b])


def _codes(blocks: Blocks, rule: Rule, n_classes: int, decision: Decision) -> Codes:
    codes = np.empty(blocks.table.nrows, dtype=np.intp)
    for place, scores in scored(blocks, rule, n_classes):
        codes[place] = decision.codes(scores)
    return codes


def posterior_frame(
    blocks: Blocks, rule: Rule, classes: pd.Index, finish: Callable[[Floats], Floats]
) -> pd.DataFrame:
    """What `finish` makes of the scores, rows by classes, on the table's index."""
    shape = (blocks.table.nrows, len(classes))
    refuse_beyond_memory(
        1.0 * shape[0] * shape[1],
        f"A column for each of {shape[1]:,} classes and {shape[0]:,} rows",
        "Pass fewer rows at a time, or ask for labels only, with predict()",
    )
    out = np.empty(shape, order="C" if shape[1] > MANY_CLASSES else "F")
    for place, scores in scored(blocks, rule, shape[1]):
        if finish is posteriors:
            posteriors(scores, out=out[place])
        else:
            out[place] = finish(scores)
    return pd.DataFrame(out, index=blocks.table.index, columns=classes, copy=False)


def score_frame(
    blocks: Blocks, rule: Rule, classes: pd.Index, finish: Callable[[Floats], Floats]
) -> pd.DataFrame | pd.Series:
    """What `finish` makes of the scores; of two classes that of the second less that of the first."""
    if len(classes) > 2:
        return posterior_frame(blocks, rule, classes, finish)
    out = np.empty(blocks.table.nrows)
    for place, scores in scored(blocks, rule, 2):
        values = finish(scores)
        # Minus infinity in both: the row is impossible, and its log odds are missing.
        with np.errstate(invalid="ignore"):
            out[place] = values[:, 1] - values[:, 0]
    return pd.Series(out, index=blocks.table.index, name=str(classes[1]))
