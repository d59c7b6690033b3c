"""Checks of whether fits can be compared: whether they use the same rows and the same columns.

Rows are compared by their labels in the index of the table, classes and weights, and by the values of their
columns. For a fit that was loaded, or made from moments, only counts and class means are available. `compare`
and `cross_validate` use these checks, and the tests of models in `discrim.models.selection`.

A likelihood of class and row contains densities, which are in the units of the columns: with other columns,
or the same in other units, it is on another scale. The likelihood of the class conditional on the row is free
of units, and is comparable between models of any columns on the same rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.naive_bayes.naive_bayes import NaiveBayesFit
from discrim.core.rules.rules import log_posteriors
from discrim.design.rows import used_codes, used_rows
from discrim.errors import DataError, NotSupportedError
from discrim.models.base.display import format_count
from discrim.models.base.reading import check_word, join_labels
from discrim.models.distributions.bayes import BayesResults
from discrim.models.registry import BY_VERB, resolve
from discrim.models.results.results import ClassifierResults

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel

MIN_RANK_CORRELATION = 0.999
"""Smallest absolute rank correlation of two columns that count as one column in different units."""


def raise_if_rows_differ(fits: Sequence[ClassifierResults], caller: str) -> None:
    """Raise DataError if fits differ from the first in classes, weights or rows; the message names `caller`.

    The counts by class are compared, to a relative error of 1e-9. If both fits have their rows, these are
    compared one by one too: index, class, weight and the values of the columns.
    """
    first = fits[0]
    for fit_number, fit in enumerate(fits[1:], start=2):
        if set(fit.classes) != set(first.classes):
            raise DataError(
                f"Fit {fit_number} of {caller} has the classes {join_labels(fit.classes)}, but the first has "
                f"{join_labels(first.classes)}.",
                hint="Compare fits of the same response.",
                classes=fit.classes,
            )
        counts = fit.counts.reindex(first.classes)
        if not np.allclose(first.counts, counts, rtol=1e-9, atol=0):
            _raise_different_counts(first, fit, fit_number, caller)
        if first._fit.has_rows and fit._fit.has_rows:
            _raise_if_used_rows_differ(first, fit, fit_number, caller)


def _raise_different_counts(
    first: ClassifierResults, fit: ClassifierResults, fit_number: int, caller: str
) -> None:
    """Raise a DataError, in any case, on the different numbers of rows of two fits.

    Parameters
    ----------
    first, fit : ClassifierResults
    fit_number : int
        Number of the second fit, for the message.
    caller : str
        Name of the caller, for the message.
    """
    columns = list(
        dict.fromkeys([*first._fit.design_rows.design.columns, *fit._fit.design_rows.design.columns])
    )
    missing = fit._fit.dropped or first._fit.dropped
    hint = (
        f"Drop the rows that miss a value in any of {join_labels(columns, max_labels=20)}, and fit all to "
        "the rest."
        if missing
        else "Fit all to one table with the same weights."
    )
    first_count = format_count(first.nobs)
    other_count = format_count(fit.nobs)
    by_class = ""
    if first_count == other_count:
        first_count = join_labels(first.counts)
        other_count = join_labels(fit.counts.reindex(first.classes))
        by_class = " by class"
    raise DataError(
        f"Fit {fit_number} of {caller} uses {other_count} rows{by_class}, but the first {first_count}. Fits "
        "to different rows are not comparable.",
        hint=hint,
    )


def _raise_if_used_rows_differ(
    first: ClassifierResults, fit: ClassifierResults, fit_number: int, caller: str
) -> None:
    """Raise a DataError if the rows of two fits differ in their index, class or weight.

    Parameters
    ----------
    first, fit : ClassifierResults
    fit_number : int
        Number of the second fit, for the message.
    caller : str
        Name of the caller, for the message.
    """
    (index, *first_columns), (other_index, *other_columns) = (
        _used_rows(results, caller) for results in (first, fit)
    )
    if not index.equals(other_index):
        pairs = zip_longest(other_index.tolist(), index.tolist())
        row = next(a if a is not None else b for a, b in pairs if a != b)
        raise DataError(
            f"Fit {fit_number} of {caller} uses other rows than the first: row {row!r} is not at the same "
            "position in both.",
            hint="Fit all to the same table, with the same weights.",
            rows=(row,),
        )
    for name, first_values, other_values in zip(
        ("class", "weight"), first_columns, other_columns, strict=True
    ):
        is_different = first_values != other_values
        if is_different.any():
            row = index[int(np.argmax(is_different))]
            raise DataError(
                f"Fit {fit_number} of {caller} has another {name} at row {row!r} than the first.",
                hint="Compare fits of one table, one response and the same weights.",
                rows=(row,),
            )
    raise_if_values_differ(first, fit, fit_number, caller)


def _used_rows(fit: ClassifierResults, caller: str) -> tuple[pd.Index, NDArray[Any], NDArray[Any]]:
    """Return the rows that a fit uses; raise a NotSupportedError if the fit lacks rows.

    Parameters
    ----------
    fit : ClassifierResults
    caller : str
        Name of the caller, for the message.

    Returns
    -------
    Index
        Labels of the m rows.
    (m,) object
        Labels of their classes.
    (m,) float
        Their weights; ones for a fit without weights.
    """
    design_rows = fit._fit.require_rows(caller)
    codes = used_codes(design_rows)
    is_used = codes >= 0
    weights = np.ones(int(is_used.sum())) if design_rows.weights is None else design_rows.weights[is_used]
    return design_rows.table.index[is_used], fit.classes.to_numpy(dtype=object)[codes[is_used]], weights


def raise_if_values_differ(
    first: ClassifierResults, fit: ClassifierResults, fit_number: int, caller: str
) -> None:
    """Raise a DataError if a column has different values in the tables of two fits.

    Columns in different units count as equal, because their values have the same order. If both tables have
    the same index, only rows that both fits use are compared. If the fits do not share a column, the columns
    are compared that either fit reads and both tables contain; one equal column suffices.

    Parameters
    ----------
    first, fit : ClassifierResults
    fit_number : int
        Number of the second fit, for the message.
    caller : str
        Name of the caller, for the message.
    """
    first_blocks = first._fit.require_rows(caller)
    other_blocks = fit._fit.require_rows(caller)
    if first_blocks.table.data is other_blocks.table.data:
        return
    used_masks = [used_codes(design_rows) >= 0 for design_rows in (first_blocks, other_blocks)]
    if first_blocks.table.index.equals(other_blocks.table.index):
        used_masks = [used_masks[0] & used_masks[1]] * 2
    shared = [name for name in first_blocks.design.columns if name in other_blocks.design.columns]
    in_both = set(first_blocks.table.names).intersection(other_blocks.table.names)
    read = [name for name in (*first_blocks.design.columns, *other_blocks.design.columns) if name in in_both]
    different = []
    for name in shared or read:
        values = [
            blocks.table.column(name)[is_used]
            for blocks, is_used in zip((first_blocks, other_blocks), used_masks, strict=True)
        ]
        if not _is_same_column(*values):
            different.append(name)
        elif not shared and values[0].nunique() > 1:
            return
        if different and shared:
            break
    if different:
        raise DataError(
            f"Fit {fit_number} of {caller} was fitted to another table than the first: the values of its "
            f"column {different[0]!r} differ by more than a change of units.",
            hint="Fit all to the same table.",
            columns=(different[0],),
        )


def _is_same_column(first: pd.Series, other: pd.Series) -> bool:
    """Return whether two columns of equal length are the same, possibly in other units or with other labels.

    Numbers are the same if their absolute rank correlation is at least `MIN_RANK_CORRELATION` or a column is
    constant; other values if the same rows have equal values in both.
    """
    if first.reset_index(drop=True).equals(other.reset_index(drop=True)):
        return True
    column_types = pd.api.types
    if not all(
        column_types.is_numeric_dtype(column) and not column_types.is_bool_dtype(column)
        for column in (first, other)
    ):
        codes = [pd.factorize(values)[0] for values in (first, other)]
        return bool((codes[0] == codes[1]).all())
    ranks = [values.rank().to_numpy(dtype=np.float64) for values in (first, other)]
    centred = [rank - rank.mean() for rank in ranks]
    norms_product = float(np.linalg.norm(centred[0]) * np.linalg.norm(centred[1]))
    return norms_product == 0 or abs(float(centred[0] @ centred[1])) >= MIN_RANK_CORRELATION * norms_product


def has_same_columns(fits: Sequence[ClassifierResults]) -> list[bool]:
    """Return for each fit whether it has the same columns as the first.

    Columns are compared by value in the rows that the fits use, regardless of names and order. If any fit
    lacks rows, class means of columns with the same names are compared instead, to a relative error of 1e-9.

    Parameters
    ----------
    fits : sequence of ClassifierResults

    Returns
    -------
    list of bool
        One for each fit; True for the first.
    """
    if all(fit._fit.has_rows for fit in fits):
        digests = [_column_digests(fit._fit) for fit in fits]
        return [digest == digests[0] for digest in digests]
    return [_has_equal_means(fits[0]._fit, fit._fit) for fit in fits]


def _column_digests(fit: FittedModel[Any]) -> Counter[tuple[str, bytes]]:
    """Return a multiset of the columns of a fit, as types (see `_likelihood_types`) and hashes of values."""
    hashes = [hashlib.blake2b(digest_size=16) for _ in fit.terms]
    for _, x, _, _ in used_rows(fit.design_rows):
        for column, column_hash in zip(x.T, hashes, strict=True):
            # Adding zero turns -0.0 into 0.0.
            column_hash.update(np.ascontiguousarray(column + 0.0).tobytes())
    return Counter(zip(_likelihood_types(fit), (column_hash.digest() for column_hash in hashes), strict=True))


def _likelihood_types(fit: FittedModel[Any]) -> list[str]:
    """Return for each column whether its likelihood is a "density" or, if it is discrete, a "probability"."""
    measures = ["density"] * len(fit.terms)
    if isinstance(fit.estimates, NaiveBayesFit):
        for column in (*fit.estimates.plan.categorical_positions, *fit.estimates.plan.count_positions):
            measures[int(column)] = "probability"
    return measures


def _has_equal_means(first: FittedModel[Any], fit: FittedModel[Any]) -> bool:
    """Return whether two fits have columns of the same names and types with equal class means."""
    if set(first.terms) != set(fit.terms) or _likelihood_types(first) != _likelihood_types(fit):
        return False
    first_means = first.class_means()
    other_means = fit.class_means().reindex(index=first.classes, columns=first.terms)
    return bool((np.abs(first_means - other_means) <= 1e-9 * np.abs(first_means).max(axis=0)).all(axis=None))


def llf_given_row(results: ClassifierResults) -> float:
    """Return the weighted sum of the log posteriors of the actual classes of the rows of a fit.

    This is the log-likelihood of the classes conditional on the rows. It is NaN without posteriors. Without
    rows it is `llf` if the model maximizes this likelihood and its prior was estimated, else NaN.
    """
    fit = results._fit
    if not fit.has_posteriors:
        return np.nan
    if not fit.has_rows:
        given_row = fit.likelihood_of == "class given row" and fit.estimates.estimated_prior
        return float(results.llf) if given_row else np.nan
    rule = fit.rule_for(fit.design_rows)
    total = 0.0
    for _, x, codes, weights in used_rows(fit.design_rows):
        logs: NDArray[Any] = log_posteriors(rule.scores(x))[np.arange(len(codes)), codes]
        total += float(logs.sum() if weights is None else weights @ logs)
    return total


def resolve_verb(verb: Any, argument: str = "verb") -> Any:
    """Return the verb with this name; return a value that is not a string unchanged and unchecked.

    Parameters
    ----------
    verb : str or any
    argument : str
        Name of the argument, for the message.

    Returns
    -------
    callable or any
        The function of the verb, or the unchanged value.

    Raises
    ------
    DataError
        The name is not the name of a verb that returns a classifier.
    """
    if not isinstance(verb, str):
        return verb
    verb_names = (name for name, model in BY_VERB.items() if model.estimator is not None)
    check_word(argument, verb, tuple(verb_names))
    return resolve(f"{BY_VERB[verb].module}:{verb}")


def no_label_reason(fit: FittedModel[Any], rules_description: str) -> tuple[str, str]:
    """Return message and hint of an error: no observation is predicted by the rules fitted without it.

    Parameters
    ----------
    fit : FittedModel
    rules_description : str
        Description of the rules, for the message, such as "candidates fitted without its fold".

    Returns
    -------
    message : str
        Sentence, which names columns of categories, because their levels may occur in one fold only.
    hint : str
        Sentence on how to avoid the error.
    """
    message = f"No observation has a prediction by {rules_description}"
    names = list(fit.design_rows.design.label_kinds)
    if not names:
        return f"{message}.", "Use more rows, or other columns."
    return (
        f"{message}: its level of {join_labels(names)} occurs in no other observation.",
        "Leave the column out of the formula, or merge its levels.",
    )


class HasFit(Protocol):
    """Protocol of objects with a fit, such as the results of `discrim.stepwise`."""

    @property
    def fit(self) -> Any:
        """The fitted model."""


def require_fits(fits: Sequence[Any], caller: str) -> None:
    """Raise an error if an argument is not a fit or `fits` is empty; the message names `caller`.

    The error is a NotSupportedError for a `BayesResults`, a known distribution without rows, and a DataError
    otherwise.
    """
    if not fits:
        raise DataError(f"{caller} requires fits.", hint="Pass results of lda() or other verbs.")
    for position, fit in enumerate(fits, start=1):
        if isinstance(fit, ClassifierResults):
            continue
        if isinstance(fit, BayesResults):
            raise NotSupportedError(
                f"Argument {position} of {caller} is a known distribution and has no rows.",
                hint="Use its error_rate, which is exact, and its risk(fit), the excess error of a fit.",
            )
        hint = "Pass its results_" if hasattr(fit, "results_") else "Pass what lda() and other verbs return"
        if hasattr(fit, "cross_validate"):
            hint = "Pass its attribute fit; with folds= the terms are chosen again in each fold"
        more = ", each as a separate argument" if isinstance(fit, (list, tuple)) else ""
        raise DataError(
            f"Argument {position} of {caller} is not a fit (type {type(fit).__name__}).",
            hint=f"{hint}{more}.",
        )


def require_rows(fits: Sequence[Any], caller: str) -> None:
    """Raise an error if an argument is not a fit, or lacks its rows, for example because it was loaded.

    A fit without rows is a NotSupportedError. An argument that is not a fit, or an empty sequence, is an
    error of `require_fits`. The message names `caller`.
    """
    require_fits(fits, caller)
    for position, fit in enumerate(fits, start=1):
        if not fit._fit.has_rows:
            raise NotSupportedError(
                f"{caller} requires the rows of the fits. Argument {position} has none, because it was "
                "loaded, unpickled, or fitted by an estimator or to moments.",
                hint="Fit the model to a table.",
            )
