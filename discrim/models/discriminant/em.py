"""Rows with missing values in a fit: how they are read, what EM makes of them, how they are fitted again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from discrim.core.covariance.covariance import constant_columns
from discrim.core.covariance.em import Collapsed, EMCovariance, fit_em, observed_moments
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule
from discrim.design.blocks import Blocks
from discrim.design.rows import used_rows, weighted_rows
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
"""What a fit does with rows that miss a value."""


class ObservedSample(NamedTuple):
    """Rows with a class, a weight and some value: x (n, p) with NaN, codes (n,), weights (n,) or None."""

    x: Floats
    codes: Codes
    weights: Floats | None


def asks_for_em(missing: Any, na_action: str, *, has_rows: bool) -> bool:
    """Whether rows with missing values are to be completed by EM; an error where that does not go."""
    reading.check_word("missing", missing, MissingRows, optional=True)
    if missing != "em":
        return False
    if na_action == "raise":
        raise DataError(
            'missing="em" uses rows with missing values, and na_action="raise" refuses them.',
            hint="Leave out one of the two.",
        )
    if not has_rows:
        raise NotSupportedError(
            'missing="em" reads the rows many times, which moments= and an iterator do not allow.',
            hint="Pass the formula and a table, or leave it out.",
        )
    return True


def em_sample(blocks: Blocks, *, common: bool) -> tuple[Blocks, ClassMoments, EMCovariance]:
    """The rows that have a class and some value, moments of largest likelihood, and how they were found.

    A DataError says that a class has no value of a column, or that two columns are observed together in no
    row; a CollinearError, that a covariance has too few rows, or becomes singular.
    """
    blocks, rows, there = observed_sample(blocks)
    refuse_unobserved(blocks, rows, common=common)
    if common:
        hint = 'name fewer columns in the formula, or pass covariance="shrunk" and leave out missing='
        reading.refuse_no_freedom(there, blocks.terms, diagonal=False, hint=hint)
    else:
        _refuse_few(there, blocks)
    _refuse_constant(there, blocks, common=common)
    with Progress(0, "sweeps of EM") as progress:
        found = fit_em(*rows, len(blocks.design.levels), common=common, progress=progress)
    if isinstance(found, Collapsed):
        raise _collapse(found, blocks)
    moments, em = found
    if not em.converged:
        warn_user(
            f"EM did not converge in {em.steps} sweeps: too little is observed of some means or covariances "
            "together. Leave out columns that are mostly missing.",
            ConvergenceWarning,
        )
    if not em.incomplete:
        # As of any complete rows, to the last bit.
        moments = reading.class_moments(blocks, "pooled" if common else "class")
    return blocks, moments, em


def observed_sample(blocks: Blocks) -> tuple[Blocks, ObservedSample, ClassMoments]:
    """The rows that have a class and some value, and means and squares of the values there are.

    A DataError says that there is none, or what no column or class tells.
    """
    if not blocks.terms:
        raise DataError(
            f"The formula {blocks.design.formula!r} has no predictor.",
            hint="Name a column on its right side.",
        )
    blocks = replace(blocks, partial=True, incomplete=True).with_classes()
    reading.refuse_large(blocks, 'missing="em" holds the rows')
    blocks, rows, there = _read(blocks)
    check_data_range(there, blocks)
    if blocks.weighted:
        reading.warn_of_weights(there, whole=blocks.rows.has_whole_weights())
    return blocks, rows, there


def _read(blocks: Blocks) -> tuple[Blocks, ObservedSample, ClassMoments]:
    """Blocks of the columns and classes that tell something, their rows, and means and squares of what is."""
    parts = [
        (x.copy(), codes.copy(), w, np.arange(at.start, at.stop) if isinstance(at, slice) else at)
        for at, x, codes, w in used_rows(blocks)
    ]
    if not parts:
        raise DataError(
            f"No row is left: each of the {blocks.table.nrows} rows misses the response "
            f"{blocks.design.response!r}, or has no weight.",
            hint="Give rows that have them.",
            columns=(blocks.design.response,),
        )
    x, codes, positions = (np.concatenate([part[i] for part in parts]) for i in (0, 1, 3))
    weights = np.concatenate([np.asarray(part[2]) for part in parts]) if blocks.weighted else None
    there = observed_moments(x, codes, weights, len(blocks.design.levels))
    bare = np.flatnonzero(~np.isfinite(x).any(axis=0))
    if len(bare):
        raise DataError(
            f"{reading.listed(blocks.terms[j] for j in bare)} {'has' if len(bare) == 1 else 'have'} no "
            "value in any row that has a class.",
            hint="Leave such columns out.",
        )
    still = set(constant_columns(there))
    if still:
        keep = [j for j in range(len(blocks.terms)) if j not in still]
        blocks, _ = reading.without_constants(replace(blocks, dropped=0), there)
        x = x[:, keep]
    some = ~np.isnan(x).all(axis=1)
    held = np.full(blocks.table.nrows, -1, dtype=np.intp)
    held[positions[some]] = codes[some]
    blocks = blocks.with_codes(held)
    x = x[some]
    codes = codes[some]
    weights = None if weights is None else weights[some]
    there = observed_moments(x, codes, weights, len(blocks.design.levels))
    before = len(there.counts)
    present = np.flatnonzero(there.rows > 0)
    blocks, there = reading.present_classes(blocks, there)
    if len(present) < before:
        codes = np.searchsorted(present, codes)
    blocks.dropped = blocks.n_dropped(blocks.codes >= 0)
    return blocks, ObservedSample(x, codes, weights), there


def refuse_unobserved(blocks: Blocks, rows: ObservedSample, *, common: bool, pairs: bool = True) -> None:
    """Raise where there is nothing to estimate a mean or, of pairs of columns, a covariance from."""
    levels = blocks.design.levels
    terms = blocks.terms
    for k, label in enumerate(levels):
        bare = np.flatnonzero(np.isnan(rows.x[rows.codes == k]).all(axis=0))
        if len(bare):
            raise DataError(
                f"Class {label!r} has no value of {reading.listed(terms[j] for j in bare)}, so that its "
                "mean cannot be estimated.",
                hint="Leave out the column or the class.",
                classes=(label,),
            )
    if not pairs:
        return
    labels = np.zeros(len(rows.codes), dtype=np.intp) if common else rows.codes
    for c in range(1 if common else len(levels)):
        there = (~np.isnan(rows.x[labels == c])).astype(np.float64)
        apart = np.argwhere(there.T @ there == 0)
        if len(apart):
            i, j = apart[0].tolist()
            where = "row" if common else f"row of class {levels[c]!r}"
            raise DataError(
                f"{terms[i]!r} and {terms[j]!r} are observed together in no {where}, so that their "
                "covariance cannot be estimated.",
                hint="Leave out one of them.",
            )


def _lda_hint(there: ClassMoments, *, varies: bool = True) -> str:
    """Return the advice to take one covariance for all classes; empty if that has too few rows as well."""
    enough = int(there.rows.sum()) - there.n_classes >= there.n_columns
    return ', or use lda(..., missing="em")' if enough and varies else ""


def _refuse_few(there: ClassMoments, blocks: Blocks) -> None:
    few = np.flatnonzero(there.rows <= there.n_columns)
    if len(few):
        raise CollinearError(
            f"Class {blocks.design.levels[few[0]]!r} has {there.rows[few[0]]} rows, too few for a "
            f"covariance of {there.n_columns} columns ({reading.listed(blocks.terms)}).",
            hint=f"Name fewer columns{_lda_hint(there)}.",
            classes=(blocks.design.levels[few[0]],),
        )


def _refuse_constant(there: ClassMoments, blocks: Blocks, *, common: bool) -> None:
    """Raise where a column does not vary within a class, or with a common covariance within any."""
    squares = there.squares.sum(axis=0, keepdims=True) if common else there.squares
    still = np.argwhere(squares == 0)
    if len(still):
        k, j = still[0].tolist()
        where = "within each class" if common else f"in class {blocks.design.levels[k]!r}"
        varies = not common and there.squares[:, j].sum() > 0
        instead = _lda_hint(there, varies=varies)
        raise CollinearError(
            f"{blocks.terms[j]!r} has one value only {where}, so that its variance is zero.",
            hint=f"Leave it out{instead}.",
        )


def _collapse(found: Collapsed, blocks: Blocks) -> CollinearError:
    where = "within classes" if found.k is None else f"in class {blocks.design.levels[found.k]!r}"
    return CollinearError(
        f"The covariance becomes singular {where} as the likelihood rises: others determine "
        f"{blocks.terms[found.column]!r} there, or too few rows have it beside them.",
        hint="Leave it out.",
    )


def em_rule(common: bool, fit: FittedModel[Any], blocks: Blocks) -> Rule | None:
    """The rule of a fit by EM to other weights of the rows, the prior held; None where there is none."""
    k = len(fit.classes)
    x, codes, weights = weighted_rows(blocks)
    there = ~np.isnan(x)
    if any(not there[codes == c].any(axis=0).all() for c in range(k)):
        return None
    try:
        found = fit_em(x, codes, weights, k, common=common)
    except (np.linalg.LinAlgError, DiscrimError):
        return None
    if isinstance(found, Collapsed):
        return None
    refit = fit.estimates.refit(found[0])
    if refit is None:
        return None
    return replace(fit, estimates=refit, path=None, cache={}).rule_of(blocks)
