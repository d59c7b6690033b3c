"""Scores of the rows of a table under a rule, chunk by chunk, and decisions by scores and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.progress import Progress
from discrim.core.rules import rules
from discrim.core.rules.gaussian import MarginalRule
from discrim.core.rules.rules import IndependentRule, LinearRule, Rule
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.errors import DataError, MissingPredictionWarning, NotSupportedError, warn_user
from discrim.models.base.core_errors import named_errors
from discrim.models.base.data_range import score_limit
from discrim.models.base.reading import all_sparse_rows, format_argument, is_number, join_labels

LOG_ODDS_TOLERANCE = 1e-12
"""Log odds that are smaller than a numeric threshold by at most this difference are at the threshold."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Conversion of scores of K classes to predicted classes.

    Attributes
    ----------
    costs : (K, K) float or None
        Cost of predicting class j (column) for a row of class i (row); None for a cost of one for each error,
        which is the most probable class.
    reject : float or None
        Cost of rejecting a row; a row whose least expected cost is above it has the code K. None if no row is
        rejected.
    cut_off : float or None
        Log odds of the second of two classes at or above which a row is assigned to it; `costs` and `reject`
        are then ignored. None for no cut-off.
    """

    costs: Floats | None = None
    reject: float | None = None
    cut_off: float | None = None

    @property
    def is_default(self) -> bool:
        """Whether the class with the largest score is predicted."""
        return self.costs is None and self.reject is None and self.cut_off is None

    def codes(self, scores: Floats) -> Codes:
        """Return the class with the smallest expected cost under the posteriors for each row.

        A row is rejected if this cost exceeds `reject` (Chow, 1970, IEEE Transactions on Information Theory
        16, 41-46). Without `costs` and `reject` the class has the largest score, or follows from the cut-off.
        Ties go to the first class, at the cut-off to the second.

        Parameters
        ----------
        scores : (m, K) float
            Log posteriors up to a constant for each row; any scores without `costs` and `reject`.

        Returns
        -------
        (m,) int
            Position of the class; K for rejected rows, -1 for rows with a missing score or with probability
            zero in every class.
        """
        if self.cut_off is not None:
            with np.errstate(invalid="ignore"):
                is_second = scores[:, 1] - scores[:, 0] >= self.cut_off
            return np.where(rules.best_class(scores) < 0, -1, is_second.astype(np.intp))
        if self.is_default:
            return rules.best_class(scores)
        n_classes = scores.shape[1]
        costs = 1.0 - np.eye(n_classes) if self.costs is None else self.costs
        expected = rules.posteriors(scores) @ costs
        codes = rules.best_class(-expected)
        if self.reject is not None:
            codes[(expected.min(axis=1) > self.reject) & (codes >= 0)] = n_classes
        return codes


def cost_matrix(costs: Any, classes: pd.Index) -> Floats | None:
    """Return the misclassification costs (K, K), actual by predicted class, in the order of the classes.

    A DataFrame is reordered by its labels; other arrays are in the order of the classes. Returns None if
    `costs` is None. Raises DataError for a wrong shape or label, for a missing, infinite or negative cost,
    and if all costs are zero.
    """
    if costs is None:
        return None
    k = len(classes)
    if isinstance(costs, pd.DataFrame):
        for axis, axis_name in ((costs.index, "rows"), (costs.columns, "columns")):
            if len(axis) != k or set(axis) != set(classes):
                raise DataError(
                    f"The {axis_name} of costs are {join_labels(axis)}, and the classes are "
                    f"{join_labels(classes)}.",
                    hint="Use the classes as labels of rows and columns.",
                    classes=set(classes) ^ set(axis),
                )
        costs = costs.loc[classes, classes]
    try:
        values = np.asarray(costs, dtype=np.float64).copy()
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "costs is not numeric.", hint="Pass the cost of each wrong label, actual by predicted class."
        ) from None
    if values.shape != (k, k):
        raise DataError(
            f"costs has shape {values.shape} instead of {(k, k)}.",
            hint=f"Pass a matrix for {k} classes, actual by predicted.",
        )
    is_invalid = ~(np.isfinite(values) & (values >= 0))
    if is_invalid.any():
        i, j = np.argwhere(is_invalid)[0]
        raise DataError(
            f"The cost of predicting {format_value(classes[j])} for class {format_value(classes[i])} is "
            f"{values[i, j]:g}.",
            hint="Pass non-negative finite costs.",
            classes=(classes[i], classes[j]),
        )
    if not (values > 0).any():
        raise DataError("All costs are zero.", hint="Pass a positive cost for some wrong label.")
    return values


def require_two_classes(fit: Any, feature: str) -> None:
    """Raise NotSupportedError, which names the classes, unless a fit has two classes and posteriors.

    `feature` is the method or option that requires them, such as "threshold=".
    """
    fit.require_posteriors(feature)
    if len(fit.classes) != 2:
        raise NotSupportedError(
            f"{feature} requires a fit with two classes; this fit has {len(fit.classes)}: "
            f"{join_labels(fit.classes)}.",
            hint="Fit two of them, or assign classes by costs=.",
        )


def read_cut_off(fit: Any, threshold: Any) -> float | None:
    """Return the cut-off on the log odds of the second class for `threshold=`; None for None.

    Parameters
    ----------
    fit : FittedModel
        Fit with two classes and posteriors, else NotSupportedError is raised.
    threshold : float, Threshold or None
        Posterior of the second class, from 0 to 1; or an object with `log_odds` and `classes`, which have to
        be the classes of the fit. DataError is raised for other values.

    Returns
    -------
    float or None
        A number is lowered by rounding errors, so that observations with exactly this posterior are at or
        above the cut-off; the `log_odds` of an object are returned unchanged.
    """
    if threshold is None:
        return None
    require_two_classes(fit, "threshold=")
    if hasattr(threshold, "log_odds") and hasattr(threshold, "classes"):
        if list(threshold.classes) != list(fit.classes):
            raise DataError(
                f"threshold= is for the classes {join_labels(threshold.classes)}, and this fit has "
                f"{join_labels(fit.classes)}.",
                hint="Choose a threshold by the method threshold() of this fit.",
                classes=set(threshold.classes) ^ set(fit.classes),
            )
        return float(threshold.log_odds)
    if not (is_number(threshold) and 0 <= threshold <= 1):
        raise DataError(
            f"threshold={format_argument(threshold)} is not valid.",
            hint=f"Pass the smallest posterior at which {format_value(fit.classes[1])} is predicted, from 0 "
            "to 1, or a result of the method threshold().",
        )
    # Posteriors and log odds round differently: an observation whose posterior equals the number is above it.
    lowered = float(threshold) * (1 - 4 * np.finfo(np.float64).eps)
    with np.errstate(divide="ignore"):
        return float(np.log(lowered) - np.log1p(-lowered)) - LOG_ODDS_TOLERANCE


def score_chunks(design_rows: DesignRows, rule: Rule, n_classes: int) -> Iterator[tuple[slice, Floats]]:
    """Iterate over the scores of all rows in chunks; warn of rows with probability zero in every class.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    n_classes : int
        Number of classes K.

    Yields
    ------
    rows : slice
        Positions of the m rows of the chunk in the table.
    scores : (m, K) float
        Scores of the rule, such as log posteriors up to a constant of each row. NaN for a row with a missing
        value, unless missing columns are integrated out.
    """
    complete = rule.rule if isinstance(rule, MarginalRule) else rule
    has_impossible_rows = getattr(complete, "has_impossible_rows", False)
    impossible: list[int] = []
    with Progress(design_rows.table.nrows, "scores of rows") as progress:
        for rows, scores in _score_chunks(design_rows, rule, n_classes):
            if has_impossible_rows:
                impossible_positions = rows.start + np.flatnonzero(np.isneginf(scores).all(axis=1))
                impossible.extend(impossible_positions.tolist())
            yield rows, scores
            progress(rows.stop - rows.start)
    if impossible:
        warn_of_impossible_rows(len(impossible), design_rows.table.label(impossible[0]))


def _score_chunks(design_rows: DesignRows, rule: Rule, n_classes: int) -> Iterator[tuple[slice, Floats]]:
    """Iterate over the scores of all rows as `score_chunks`, without a warning of impossible rows.

    The rows stay sparse if the rule supports it.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    n_classes : int
        Number of classes K.

    Yields
    ------
    rows : slice
        Positions of the m rows of the chunk in the table.
    scores : (m, K) float
        NaN for a row with a missing value, unless missing columns are integrated out.
    """
    complete = rule.rule if isinstance(rule, MarginalRule) else rule
    sparse_rows = all_sparse_rows(design_rows) if rules.accepts_sparse_rows(complete) else None
    if sparse_rows is None or (design_rows.integrates_missing and sparse_rows[1].any()):
        for row_slice, x, missing in design_rows.iter_all_rows(checked=not isinstance(rule, LinearRule)):
            yield from score_block(design_rows, rule, n_classes, row_slice, x, missing)
        return
    rows, missing = sparse_rows
    chunk_size = max(2**21 // n_classes, 64)
    for start in range(0, len(rows), chunk_size):
        row_slice = slice(start, min(start + chunk_size, len(rows)))
        chunk = rows.select_rows(row_slice)
        is_missing = missing[row_slice]
        scores = rules.sparse_scores(complete, chunk)
        scores[is_missing] = np.nan
        yield row_slice, scores


def score_block(
    design_rows: DesignRows,
    rule: Rule,
    n_classes: int,
    row_slice: slice,
    x: Floats,
    missing: NDArray[np.bool_] | None,
) -> Iterator[tuple[slice, Floats]]:
    """Iterate over slices and scores (m, K) of the rows of one block, in chunks that fit the cache.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    n_classes : int
        Number of classes K.
    row_slice : slice
        Positions of the rows of the block in the table.
    x : (rows, p) float
        Values of the p columns of the design. For a linear rule they may be unchecked: if scores are large or
        not finite, the values are checked, and OutOfRangeError or DataError is raised.
    missing : (rows,) bool or None
        Rows with a missing value, whose scores become NaN unless missing columns are integrated out; see
        `DesignRows.iter_all_rows`.

    Yields
    ------
    rows : slice
        Positions of the m rows of the chunk in the table.
    scores : (m, K) float
        NaN for a row with a missing value, unless missing columns are integrated out.
    """
    # Rules of independent columns do not benefit from small chunks.
    chunk_size = max((2**21 if isinstance(rule, IndependentRule) else 2**16) // n_classes, 64)
    # For linear rules a check of the scores replaces a check of all columns.
    limit = score_limit(rule, design_rows.column_range) if isinstance(rule, LinearRule) else None
    if missing is None and isinstance(rule, MarginalRule):
        rule = rule.rule
    for start in range(0, len(x), chunk_size):
        stop = min(start + chunk_size, len(x))
        # Scores that overflow are outside the limit: the values are then checked and refused.
        with (
            np.errstate(over="ignore", invalid="ignore"),
            named_errors(design_rows.terms, design_rows.design.levels),
        ):
            scores = rule.scores(x[start:stop])
        if limit is not None and not -limit < scores.min(initial=0.0) <= scores.max(initial=0.0) < limit:
            missing = design_rows.missing_mask(x, row_slice.start)
        if missing is not None and not design_rows.integrates_missing:
            scores[missing[start:stop]] = np.nan
        yield slice(row_slice.start + start, row_slice.start + stop), scores


def warn_of_impossible_rows(count: int, first: Any) -> None:
    """Issue a MissingPredictionWarning of `count` rows with probability zero in every class.

    `first` is the label of the first of them in the index of the table.
    """
    warn_user(
        f"{count} row{'s have' if count > 1 else ' has'} probability zero in every class"
        f" ({'first row ' if count > 1 else 'row '}{first!r}), for example because of a level that does not "
        "occur in a class, or because all kernels vanish. Its label and posteriors are missing. Fit "
        "naive_bayes() with laplace=1, for example, or kernel_density() with a larger bandwidth.",
        MissingPredictionWarning,
    )


def predict_codes(design_rows: DesignRows, rule: Rule, n_classes: int, decision: Decision) -> Codes:
    """Predict the class of each row of the table.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    n_classes : int
        Number of classes K.
    decision : Decision

    Returns
    -------
    (n,) int
        Position of the class; K for a rejected row, -1 if a value is missing or the row has probability zero
        in every class.
    """
    task = partial(_predict_codes_of_chunk, rule=rule, n_classes=n_classes, decision=decision)
    return design_rows.rows.map_rows(design_rows, task)


def _predict_codes_of_chunk(design_rows: DesignRows, rule: Rule, n_classes: int, decision: Decision) -> Codes:
    """Return the positions (m,) of the predicted classes of the rows of a chunk.

    K for a rejected row, -1 for a missing prediction; the arguments are the ones of `predict_codes`.
    """
    codes = np.empty(design_rows.table.nrows, dtype=np.intp)
    for row_slice, scores in score_chunks(design_rows, rule, n_classes):
        codes[row_slice] = decision.codes(scores)
    return codes


def transform_scores(
    design_rows: DesignRows, rule: Rule, n_classes: int, transform: Callable[[Floats], Floats]
) -> Floats:
    """Apply a function such as `posteriors` to the scores of all rows.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    n_classes : int
        Number of classes K.
    transform : callable
        Function of scores (m, K) that returns an array (m, K).

    Returns
    -------
    (n, K) float
        One row for each of the n rows of the table, in its order. Scores of a row with a missing value are
        NaN before the transformation, unless missing columns are integrated out.

    Raises
    ------
    DataError
        The result would need more than half of the available memory.
    """
    shape = (design_rows.table.nrows, n_classes)
    check_memory(
        1.0 * shape[0] * shape[1],
        f"A column for each of {shape[1]:,} classes and {shape[0]:,} rows",
        "Pass fewer rows at a time, or compute labels only, with predict()",
    )
    out = np.empty(shape, order="C" if shape[1] > rules.MIN_CLASSES_FOR_PANELS else "F")
    for row_slice, scores in score_chunks(design_rows, rule, n_classes):
        if transform is rules.posteriors:
            rules.posteriors(scores, out=out[row_slice])
        else:
            out[row_slice] = transform(scores)
    return out


def posterior_frame(
    design_rows: DesignRows, rule: Rule, classes: pd.Index, transform: Callable[[Floats], Floats]
) -> pd.DataFrame:
    """Apply a function such as `posteriors` to the scores of all rows; return a DataFrame.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    classes : Index of length K
        Class labels.
    transform : callable
        Function of scores (m, K) that returns an array (m, K).

    Returns
    -------
    DataFrame (n, K)
        Index of the table; columns `classes`. Rows with a missing value as in `transform_scores`.
    """
    values = transform_scores(design_rows, rule, len(classes), transform)
    return pd.DataFrame(values, index=design_rows.table.index, columns=classes, copy=False)


def transform_rows(
    design_rows: DesignRows, transform: Callable[[Floats], Floats], columns: pd.Index
) -> pd.DataFrame:
    """Apply a function of rows (m, p) to all rows of the table.

    Parameters
    ----------
    design_rows : DesignRows
        Rows; a missing value is NaN.
    transform : callable
        Function of rows (m, p) that returns values (m, q).
    columns : Index of length q
        Columns of the result.

    Returns
    -------
    DataFrame (n, q)
        Results of `transform`, with the index of the table; rows with a missing value are passed to it as
        NaN.
    """
    out = np.empty((design_rows.table.nrows, len(columns)))
    for row_slice, x, _ in design_rows.iter_all_rows():
        out[row_slice] = transform(x)
    return pd.DataFrame(out, index=design_rows.table.index, columns=columns)


def score_frame(
    design_rows: DesignRows, rule: Rule, classes: pd.Index, transform: Callable[[Floats], Floats]
) -> pd.DataFrame | pd.Series:
    """Apply a function to the scores of all rows; for two classes return the difference of the columns.

    Parameters
    ----------
    design_rows : DesignRows
    rule : Rule
    classes : Index of length K
        Class labels.
    transform : callable
        Function of scores (m, K) that returns an array (m, K).

    Returns
    -------
    DataFrame (n, K) or Series (n,)
        For more than two classes the transformed scores by class. For two classes the value of the second
        minus the value of the first, named by the text of the second class. NaN if a value of the row is
        missing, or if both are minus infinity.
    """
    if len(classes) > 2:
        return posterior_frame(design_rows, rule, classes, transform)
    out = np.empty(design_rows.table.nrows)
    for row_slice, scores in score_chunks(design_rows, rule, 2):
        values = transform(scores)
        # Minus infinity in both: the row is impossible, and its log odds are missing.
        with np.errstate(invalid="ignore"):
            out[row_slice] = values[:, 1] - values[:, 0]
    return pd.Series(out, index=design_rows.table.index, name=str(classes[1]))


UsedSparseRows = tuple[Codes, SparseRows, Codes, Floats | None]
"""Positions in the table, x (m, p), codes (m,), and weights (m,) or None, of m used rows."""


def used_sparse_chunks(design_rows: DesignRows) -> Iterator[UsedSparseRows] | None:
    """Iterate over the rows that a fit uses: complete, with a class and a positive weight.

    Each item has the positions of m rows in the table, x (`SparseRows`), codes (m,), and weights (m,) or
    None. None if the columns are not sparse; `used_rows` is for dense columns.
    """
    sparse_rows = all_sparse_rows(design_rows)
    return None if sparse_rows is None else _used_sparse_chunks(design_rows, *sparse_rows)


def _used_sparse_chunks(
    design_rows: DesignRows, rows: SparseRows, missing: NDArray[np.bool_]
) -> Iterator[UsedSparseRows]:
    """Iterate in chunks over the used rows: complete, with a class and a positive weight.

    Parameters
    ----------
    design_rows : DesignRows
    rows : SparseRows
        All rows in sparse form.
    missing : (n,) bool
        Rows with a missing value.

    Yields
    ------
    UsedSparseRows
        Tuple of positions in the table, x (m, p), codes (m,), and weights (m,) or None.
    """
    used = (design_rows.codes >= 0) & ~missing
    if design_rows.weights is not None:
        used &= design_rows.weights > 0
    positions = np.flatnonzero(used)
    chunk_size = max(2**21 // len(design_rows.design.levels), 64)
    for start in range(0, len(positions), chunk_size):
        chunk_positions = positions[start : start + chunk_size]
        yield (
            chunk_positions,
            rows.select_rows(chunk_positions),
            design_rows.codes[chunk_positions],
            None if design_rows.weights is None else design_rows.weights[chunk_positions],
        )
