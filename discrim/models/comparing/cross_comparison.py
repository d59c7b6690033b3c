"""Fits compared on the same folds, pair by pair: error rates, McNemar's test, the corrected t test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, NotSupportedError
from discrim.inference.folds import drawn_seed
from discrim.inference.losses import Judged, fold_means
from discrim.inference.paired_tests import corrected_t, grouped_mcnemar, mcnemar
from discrim.models.comparing.comparable import refuse_other_values
from discrim.models.comparing.cross_validation import validated, warn_unlabelled
from discrim.models.comparing.cross_validation_results import CrossValidation
from discrim.models.comparing.fitted import need_rows

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = ["cross_validated", "fold_differences", "on_same_folds", "paired"]

Floats = NDArray[np.float64]


def cross_validated(
    fits: Sequence[ClassifierResults],
    folds: Any,
    repeats: int,
    groups: Any,
    seed: int | None,
    refit_prior: bool | None = None,
) -> list[CrossValidation]:
    """Each fit cross-validated, on the same folds.

    Raises
    ------
    DataError
        The fits are of other rows, tables, classes or weights.
    """
    need_rows(fits, "compare(folds=)")
    seed = drawn_seed(seed)
    for place, fit in enumerate(fits[1:], start=2):
        if not fit._fit.blocks.table.index.equals(fits[0]._fit.blocks.table.index):
            raise DataError(
                f"Fit {place} uses other rows than the first: fit both to one table; each of them may "
                "drop rows of it."
            )
    found = []
    for place, fit in enumerate(fits, start=1):
        try:
            found.append(validated(fit._fit, folds, repeats, groups, seed, refit_prior=refit_prior))
        except NotSupportedError as error:
            raise NotSupportedError(f"Fit {place}: {error}") from None
        warn_unlabelled(found[-1], f"Fit {place}: ")
    for place, one in enumerate(found[1:], start=2):
        _refuse_other(found[0], one, place)
        refuse_other_values(fits[0], fits[place - 1], place, "compare(folds=)")
    return found


def _refuse_other(first: CrossValidation, one: CrossValidation, place: int) -> None:
    """Raise a DataError where two fits differ in the class, fold or weight of a row."""
    both = np.flatnonzero((first._actual >= 0) & (one._actual >= 0))
    labels = [each._fit.classes.to_numpy(dtype=object)[each._actual[both]] for each in (first, one)]
    checks = {
        "class": labels[0] != labels[1],
        "fold": (first._dealt[:, both] != one._dealt[:, both]).any(axis=0),
        "weight": first._weights[both] != one._weights[both],
    }
    for what, differ in checks.items():
        if differ.any():
            row = first._index[both[int(np.argmax(differ))]]
            raise DataError(
                f"Fit {place} has another {what} at row {row!r} than the first: compare fits of one table, "
                "one response and the same weights."
            )


def on_same_folds(found: CrossValidation, other: ClassifierResults) -> CrossValidation:
    """Another fit, cross-validated on the folds of one that was.

    Raises
    ------
    DataError
        Folds were given, and no seed deals them again.
    """
    if found.seed is None:
        raise DataError(
            "The folds were given, and not dealt by a seed: pass other=cross_validate(fit, folds=...) with "
            "them."
        )
    count = len(found._fold_labels)
    groups = found._clusters
    return validated(other._fit, count, len(found._dealt), groups, found.seed, nested=found.nested)


def fold_differences(a: CrossValidation, b: CrossValidation) -> pd.Series:
    """Error of the first less that of the second, over the rows that both judge, by (repeat, fold).

    Raises
    ------
    DataError
        They are of other folds, rows, classes or weights, or share no row.
    """
    if a._dealt.shape != b._dealt.shape or not a._index.equals(b._index):
        raise DataError(
            "other= has other rows, folds or repeats: cross-validate both with the same folds=, "
            "repeats= and seed=."
        )
    _refuse_other(a, b, 2)
    both = a._judged & b._judged
    if not both.any():
        raise DataError("There is no row that both fits use: they cannot be compared row by row.")
    return pd.Series(_by_fold(a, b, both).ravel(), index=a.by_fold.index, name="difference")


def _by_fold(a: CrossValidation, b: CrossValidation, both: NDArray[np.bool_]) -> Floats:
    """Mean differences (R, F) of errors, over rows that both judge."""
    wrong = [(each._predicted[:, both] != each._actual[both]).astype(np.float64) for each in (a, b)]
    shares = Judged(
        a._actual[both], a._weights[both], len(a._fit.classes), _common_prior(a, b), None
    ).shares()
    together = zip(*wrong, a._dealt[:, both], strict=True)
    count = len(a._fold_labels)
    return np.stack([fold_means(own - other, shares, dealt, count) for own, other, dealt in together])


def paired(found: Sequence[CrossValidation], names: Sequence[str]) -> pd.DataFrame:
    """A row for each pair; see `discrim.compare`."""
    rows = [_pair(found[i], found[j]) for i, j in combinations(range(len(found)), 2)]
    index = pd.MultiIndex.from_tuples(list(combinations(names, 2)), names=["a", "b"])
    return pd.DataFrame(rows, index=index)


def _pair(a: CrossValidation, b: CrossValidation) -> dict[str, float]:
    both = a._judged & b._judged
    if not both.any():
        raise DataError("There is no row that both fits use: they cannot be compared row by row.")
    weights = a._weights[both]
    wrong = [(each._predicted[:, both] != each._actual[both]).astype(np.float64) for each in (a, b)]
    rows = Judged(a._actual[both], weights, len(a._fit.classes), _common_prior(a, b), None)
    shares = rows.shares()
    n_folds = len(a._fold_labels)
    by_fold = _by_fold(a, b, both).ravel()
    test = corrected_t(by_fold[~np.isnan(by_fold)], n_folds)
    errors = [float(shares @ each.mean(axis=0)) / float(shares.sum()) for each in wrong]
    total = float(weights.sum()) if a._weighted else len(weights)
    return {
        "rows": total,
        "rows_one_only": int(((a._actual >= 0) | (b._actual >= 0)).sum() - both.sum()),
        "error_a": errors[0],
        "error_b": errors[1],
        "difference": errors[0] - errors[1],
        "se": test.se,
        "low": test.low,
        "high": test.high,
        "t": test.statistic,
        "df": test.df,
        "p_t": test.pvalue,
    } | _mcnemar(a, both, [each[0] for each in wrong])


def _common_prior(a: CrossValidation, b: CrossValidation) -> Floats | None:
    """The prior, where both fits were given the same one; else None, and rows count as they are."""
    priors = [each._rows().prior for each in (a, b)]
    if priors[0] is None or priors[1] is None or set(a._fit.classes) != set(b._fit.classes):
        return None
    other = priors[1][b._fit.classes.get_indexer(a._fit.classes)]
    return priors[0] if np.array_equal(priors[0], other) else None


def _mcnemar(a: CrossValidation, both: NDArray[np.bool_], wrong: Sequence[Floats]) -> dict[str, float]:
    """McNemar's test of what two fits have wrong (m,) of the rows that both judge, by groups if there are."""
    weights = a._weights[both]
    if (weights != np.round(weights)).any():
        raise NotSupportedError(
            "McNemar's test counts rows and needs weights that are whole numbers. Give such weights, "
            "or see cross_validate() of each fit."
        )
    alone = [float(weights @ (one * (1 - other))) for one, other in (wrong, wrong[::-1])]
    if a._clusters is None:
        test = mcnemar(*alone)
    else:
        differences = np.bincount(a._clusters[both], weights * (wrong[0] - wrong[1]))
        test = grouped_mcnemar(differences.astype(np.float64))
    names = ("p_exact", "mcnemar", "p_mcnemar")
    return {"only_a_wrong": alone[0], "only_b_wrong": alone[1]} | dict(zip(names, test, strict=True))
