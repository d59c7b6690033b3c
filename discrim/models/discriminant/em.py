"""Fits of normal classes to rows with missing values by EM (`missing="em"` of lda, qda and mixture).

The rows are read into memory and checked, moments are estimated by EM, and fits are repeated for other
weights of the rows. The algorithm is in `core.covariance.em`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from discrim.core.covariance.covariance import constant_columns
from discrim.core.covariance.em import EMCovariance, SingularDuringSearch, fit_em, observed_moments
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule
from discrim.design.design_rows import DesignRows
from discrim.design.rows import gather_weighted_rows, used_rows
from discrim.errors import (
    CollinearError,
    ConvergenceWarning,
    DataError,
    DiscrimError,
    NotSupportedError,
    warn_user,
)
from discrim.models.base import reading
from discrim.models.base.data_range import check_data_range
from discrim.models.base.fit import FittedModel

MissingRows = Literal["drop", "em"]
"""Values of the option `missing`: drop rows with a missing value, or use them by EM."""


class ObservedSample(NamedTuple):
    """Rows in memory that have a class, a weight and at least one value.

    Attributes
    ----------
    x : (n, p) float
        Missing values are NaN.
    codes : (n,) int
        Positions of the classes.
    weights : (n,) float or None
        Frequency weights; None if all are 1.
    """

    x: Floats
    codes: Codes
    weights: Floats | None


def is_em_requested(missing: Any, na_action: str, *, has_rows: bool) -> bool:
    """Validate the option `missing`, and return whether EM uses rows with missing values.

    Parameters
    ----------
    missing : {"drop", "em"} or None
        Option of the verb; None and "drop" do not request EM.
    na_action : {"drop", "raise"}
        Option of the verb.
    has_rows : bool
        Whether the verb is fitted to rows that can be read several times.

    Returns
    -------
    bool
        True for "em".

    Raises
    ------
    DataError
        The option is unknown, or "em" contradicts `na_action="raise"`.
    NotSupportedError
        `missing` is "em", and the rows cannot be read several times.
    """
    reading.check_word("missing", missing, MissingRows, optional=True)
    if missing != "em":
        return False
    if na_action == "raise":
        raise DataError(
            'missing="em" cannot be combined with na_action="raise".',
            hint="Leave out one of the two.",
        )
    if not has_rows:
        raise NotSupportedError(
            'missing="em" reads the rows several times and cannot be combined with moments= or an iterator.',
            hint="Pass formula and data, or leave out missing=.",
        )
    return True


def estimate_by_em(
    design_rows: DesignRows, *, is_common: bool
) -> tuple[DesignRows, ClassMoments, EMCovariance]:
    """Read all rows with a class and at least one value, and estimate means and covariances by EM.

    Shows a ConvergenceWarning if EM does not converge, and the warnings of `read_observed_sample`.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    is_common : bool
        Whether the classes have a common covariance.

    Returns
    -------
    design_rows : DesignRows
        The rows that are used, without constant columns and empty classes.
    moments : ClassMoments
        Maximum likelihood estimates in the form of moments: the scatters are covariances times counts, pooled
        if `is_common`, else by class. If no row is incomplete, the moments of the rows.
    em : EMCovariance
        The covariance model, with the record of the search.

    Raises
    ------
    DataError
        No row has a class and a value, a column is never observed in a class, or two columns are never
        observed together.
    CollinearError
        There are too few rows for a covariance, a column is constant within a class (within every class if
        `is_common`), or a covariance becomes singular during EM.
    NotSupportedError
        The rows do not fit memory.
    """
    design_rows, rows, observed = read_observed_sample(design_rows)
    raise_if_unobserved(design_rows, rows, is_common=is_common)
    if is_common:
        hint = 'name fewer columns in the formula, or pass covariance="shrunk" and leave out missing='
        reading.raise_if_too_few_df(observed, design_rows.terms, diagonal=False, hint=hint)
    else:
        _raise_if_small_classes(observed, design_rows)
    _raise_if_constant(observed, design_rows, is_common=is_common)
    with Progress(0, "sweeps of EM") as progress:
        em_result = fit_em(*rows, len(design_rows.design.levels), common=is_common, progress=progress)
    if isinstance(em_result, SingularDuringSearch):
        raise _singular_search_error(em_result, design_rows)
    moments, em = em_result
    if not em.converged:
        warn_user(
            f"EM did not converge in {em.steps} iterations, because too few rows determine some means or "
            "covariances. Leave out columns that are mostly missing.",
            ConvergenceWarning,
        )
    if not em.incomplete:
        # Use the moments of complete rows, which makes the fit identical to a fit without EM.
        moments = reading.class_moments(design_rows, "pooled" if is_common else "class")
    return design_rows, moments, em


def read_observed_sample(design_rows: DesignRows) -> tuple[DesignRows, ObservedSample, ClassMoments]:
    """Read the rows with a class, a weight and at least one value into memory.

    Warns of constant columns, which are dropped, and of unusual weights.

    Returns
    -------
    design_rows : DesignRows
        The rows, without columns that are constant over all rows and without empty classes.
    rows : ObservedSample
        Their values.
    observed : ClassMoments
        Counts by class, and means and sums of squares (about the class means) of the observed values.

    Raises
    ------
    DataError
        No row qualifies, the formula lacks predictors, a column is never observed, or values exceed the
        range of double precision.
    NotSupportedError
        The rows do not fit memory.
    """
    if not design_rows.terms:
        raise DataError(
            f"The formula {design_rows.design.formula!r} has no predictors.",
            hint="Name a column on its right-hand side.",
        )
    design_rows = replace(design_rows, integrates_missing=True, uses_incomplete_rows=True).with_classes()
    reading.raise_if_large(design_rows, 'missing="em" keeps the rows')
    design_rows, rows, observed = _read_observed(design_rows)
    check_data_range(observed, design_rows)
    if design_rows.has_weights:
        reading.warn_of_weights(observed, are_integers=design_rows.rows.has_whole_weights())
    return design_rows, rows, observed


def _read_observed(design_rows: DesignRows) -> tuple[DesignRows, ObservedSample, ClassMoments]:
    """Read rows into memory, and drop constant columns, rows without any value, and empty classes.

    Returns `design_rows`, the rows and the moments as `read_observed_sample`, without its checks of the range
    of the data and of the weights.

    Raises
    ------
    DataError
        No row has a class and a weight, or a column is never observed.
    """
    chunks = [
        (
            x.copy(),
            codes.copy(),
            chunk_weights,
            np.arange(row_slice.start, row_slice.stop) if isinstance(row_slice, slice) else row_slice,
        )
        for row_slice, x, codes, chunk_weights in used_rows(design_rows)
    ]
    if not chunks:
        raise DataError(
            f"None of the {design_rows.table.nrows} rows has both a response "
            f"{design_rows.design.response!r} and a weight.",
            hint="Pass rows with a class and a weight.",
            columns=(design_rows.design.response,),
        )
    x, codes, positions = (np.concatenate([chunk[i] for chunk in chunks]) for i in (0, 1, 3))
    weights = np.concatenate([np.asarray(chunk[2]) for chunk in chunks]) if design_rows.has_weights else None
    observed = observed_moments(x, codes, weights, len(design_rows.design.levels))
    unobserved = np.flatnonzero(~np.isfinite(x).any(axis=0))
    if len(unobserved):
        raise DataError(
            f"{reading.join_labels(design_rows.terms[j] for j in unobserved)} "
            f"{'has' if len(unobserved) == 1 else 'have'} no observed value in the rows with a class.",
            hint="Leave out such columns.",
            columns=[design_rows.terms[j] for j in unobserved],
        )
    constant = set(constant_columns(observed))
    if constant:
        keep = [j for j in range(len(design_rows.terms)) if j not in constant]
        design_rows, _ = reading.drop_constant_columns(replace(design_rows, dropped=0), observed)
        x = x[:, keep]
    has_value = ~np.isnan(x).all(axis=1)
    table_codes = np.full(design_rows.table.nrows, -1, dtype=np.intp)
    table_codes[positions[has_value]] = codes[has_value]
    design_rows = design_rows.with_codes(table_codes)
    x = x[has_value]
    codes = codes[has_value]
    weights = None if weights is None else weights[has_value]
    observed = observed_moments(x, codes, weights, len(design_rows.design.levels))
    n_classes = len(observed.counts)
    present = np.flatnonzero(observed.rows > 0)
    design_rows, observed = reading.drop_empty_classes(design_rows, observed)
    if len(present) < n_classes:
        codes = np.searchsorted(present, codes)
    design_rows.dropped = design_rows.count_dropped(design_rows.codes >= 0)
    return design_rows, ObservedSample(x, codes, weights), observed


def raise_if_unobserved(
    design_rows: DesignRows, rows: ObservedSample, *, is_common: bool, needs_pairs: bool = True
) -> None:
    """Raise DataError if a column is never observed in a class, or a pair of columns never together.

    With a common covariance it suffices if the pair is observed together in any class.

    Parameters
    ----------
    design_rows : DesignRows
        The rows, for names.
    rows : ObservedSample
        Values and classes of the rows.
    is_common : bool
        Whether the classes have a common covariance.
    needs_pairs : bool
        Whether covariances are estimated, which requires rows with both columns of each pair.

    Raises
    ------
    DataError
        A mean or a covariance cannot be estimated.
    """
    levels = design_rows.design.levels
    terms = design_rows.terms
    for k, label in enumerate(levels):
        unobserved = np.flatnonzero(np.isnan(rows.x[rows.codes == k]).all(axis=0))
        if len(unobserved):
            raise DataError(
                f"Class {label!r} has no observed value of "
                f"{reading.join_labels(terms[j] for j in unobserved)}. The mean cannot be estimated.",
                hint="Leave out the column or the class.",
                columns=[terms[j] for j in unobserved],
                classes=(label,),
            )
    if not needs_pairs:
        return
    labels = np.zeros(len(rows.codes), dtype=np.intp) if is_common else rows.codes
    for c in range(1 if is_common else len(levels)):
        is_observed = (~np.isnan(rows.x[labels == c])).astype(np.float64)
        unpaired = np.argwhere(is_observed.T @ is_observed == 0)
        if len(unpaired):
            i, j = unpaired[0].tolist()
            scope = "row" if is_common else f"row of class {levels[c]!r}"
            raise DataError(
                f"{terms[i]!r} and {terms[j]!r} are not observed together in any {scope}. Their covariance "
                "cannot be estimated.",
                hint="Leave out one of them.",
                columns=(terms[i], terms[j]),
                classes=() if is_common else (levels[c],),
            )


def _common_covariance_hint(observed: ClassMoments, *, varies: bool = True) -> str:
    """Return a hint (after ", or") to use a common covariance instead, or "" if it would fail as well.

    Parameters
    ----------
    observed : ClassMoments
        Numbers of observed rows, classes and columns.
    varies : bool
        Whether the column in question varies within any class.

    Returns
    -------
    str
        The end of a hint, without a full stop. "" if the degrees of freedom within classes are fewer than the
        columns, or not `varies`.
    """
    has_enough_rows = int(observed.rows.sum()) - observed.n_classes >= observed.n_columns
    return ', or use lda(..., missing="em")' if has_enough_rows and varies else ""


def _raise_if_small_classes(observed: ClassMoments, design_rows: DesignRows) -> None:
    """Raise CollinearError if a class has at most as many rows as there are columns."""
    small_classes = np.flatnonzero(observed.rows <= observed.n_columns)
    if len(small_classes):
        raise CollinearError(
            f"Class {design_rows.design.levels[small_classes[0]]!r} has "
            f"{observed.rows[small_classes[0]]} rows, too few for a covariance matrix of "
            f"{observed.n_columns} columns ({reading.join_labels(design_rows.terms)}).",
            hint=f"Use fewer columns{_common_covariance_hint(observed)}.",
            classes=(design_rows.design.levels[small_classes[0]],),
        )


def _raise_if_constant(observed: ClassMoments, design_rows: DesignRows, *, is_common: bool) -> None:
    """Raise CollinearError if a column is constant within a class (every class if `is_common`).

    Parameters
    ----------
    observed : ClassMoments
        Means and sums of squares of the observed values.
    design_rows : DesignRows
        The rows, for names.
    is_common : bool
        Whether the classes have a common covariance.
    """
    squares = observed.squares.sum(axis=0, keepdims=True) if is_common else observed.squares
    constant = np.argwhere(squares == 0)
    if len(constant):
        k, j = constant[0].tolist()
        scope = "within each class" if is_common else f"in class {design_rows.design.levels[k]!r}"
        varies = not is_common and observed.squares[:, j].sum() > 0
        hint = _common_covariance_hint(observed, varies=varies)
        raise CollinearError(
            f"{design_rows.terms[j]!r} is constant {scope}.",
            hint=f"Leave it out{hint}.",
            columns=(design_rows.terms[j],),
            classes=() if is_common else (design_rows.design.levels[k],),
        )


def _singular_search_error(collapsed: SingularDuringSearch, design_rows: DesignRows) -> CollinearError:
    """Return the error, with column and class, for a covariance matrix that becomes singular during EM."""
    scope = (
        "within classes"
        if collapsed.class_position is None
        else f"in class {design_rows.design.levels[collapsed.class_position]!r}"
    )
    return CollinearError(
        f"The covariance matrix becomes singular {scope} while the likelihood increases: "
        f"{design_rows.terms[collapsed.column]!r} is a linear combination of other columns, or is observed "
        "together with them in too few rows.",
        hint="Leave it out.",
        columns=(design_rows.terms[collapsed.column],),
        classes=()
        if collapsed.class_position is None
        else (design_rows.design.levels[collapsed.class_position],),
    )


def refit_by_em(is_common: bool, fit: FittedModel[Any], design_rows: DesignRows) -> Rule | None:
    """Refit by EM to rows with other weights, and return the rule with the prior of the fit.

    Parameters
    ----------
    is_common : bool
        Whether the classes have a common covariance.
    fit : FittedModel
    design_rows : DesignRows
        The rows with their weights.

    Returns
    -------
    Rule or None
        Rule that integrates out missing columns. None if a column is not observed in a class, a covariance
        becomes singular, or the refit raises another error.
    """
    k = len(fit.classes)
    x, codes, weights = gather_weighted_rows(design_rows)
    is_observed = ~np.isnan(x)
    if any(not is_observed[codes == c].any(axis=0).all() for c in range(k)):
        return None
    try:
        em_result = fit_em(x, codes, weights, k, common=is_common)
    except (np.linalg.LinAlgError, DiscrimError):
        return None
    if isinstance(em_result, SingularDuringSearch):
        return None
    refit = fit.estimates.refit(em_result[0])
    if refit is None:
        return None
    return replace(fit, estimates=refit, path=None, cache={}).rule_for(design_rows)
