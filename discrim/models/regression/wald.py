"""Wald's test of hypotheses on the coefficients of a logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.tails import chi2_sf
from discrim.core.regression.logistic import LogisticFit
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.frame.hypotheses import equations
from discrim.inference.result import TestResult, approximations
from discrim.inference.wald import dependent_row, wald_statistic
from discrim.models.fits.arguments import is_number, listed, told
from discrim.models.fits.fit import Fit
from discrim.models.fits.labels import by_class_and_term
from discrim.models.regression.logistic_inference import parts_of, refuse_no_maximum
from discrim.models.regression.robust_covariance import covariance_note

__all__ = ["wald_test"]

Floats = NDArray[np.float64]
Hypothesis = tuple[Floats, Floats]


def wald_test(fit: Fit[LogisticFit], hypothesis: Any, value: Any) -> TestResult:
    """Wald's test; see `LogisticMethods.wald_test`."""
    numbers = fit.numbers
    refuse_no_maximum(fit, "wald_test()")
    index = by_class_and_term(fit.classes[numbers.others], pd.Index(["constant", *fit.terms]))
    contrasts, values = _read(fit, hypothesis, index)
    if value is not None:
        values = _values(value, len(contrasts))
    _refuse_dependent(contrasts, index)
    root = numbers.root()
    statistic = wald_statistic(root, numbers.params().T.ravel(), contrasts, values)
    if np.isnan(statistic):
        _refuse_singular(numbers, len(contrasts))
    df = float(len(contrasts))
    pvalue = float(chi2_sf(statistic, df))
    return TestResult(
        "Wald",
        statistic,
        (df,),
        pvalue,
        f"Large samples. Covariance of the estimates: {covariance_note(numbers.robust)}.",
        approximations({"Wald": (statistic, df, np.nan, pvalue)}),
    )


def _refuse_singular(numbers: LogisticFit, asked: int) -> NoReturn:
    robust = numbers.robust
    if robust is not None and robust.rank < robust.root.shape[1]:
        raise NotSupportedError(
            f"The covariance of {robust.groups or 'these'} groups has rank {robust.rank}, which is too "
            f"little for a hypothesis of {asked} equations: test fewer at once, or use the covariance of "
            "the model, as in "
            'robust("nonrobust").wald_test().'
        )
    raise NotSupportedError(
        "The covariance of what the hypothesis names is singular, or out of the range of double "
        "precision: test fewer equations at once, or give the columns in other units, as standardize() does."
    )


def _read(fit: Fit[LogisticFit], hypothesis: Any, index: pd.MultiIndex) -> Hypothesis:
    """Contrasts (r, q (p + 1)) in the order of `cov_params`, and the right side (r,)."""
    if isinstance(hypothesis, tuple) and len(hypothesis) == 2 and not isinstance(hypothesis[0], str):
        contrasts, _ = _read(fit, hypothesis[0], index)
        return contrasts, _values(hypothesis[1], len(contrasts))
    if isinstance(hypothesis, str):
        return _text(fit, hypothesis, index)
    if isinstance(hypothesis, pd.DataFrame):
        return _labelled(hypothesis, index)
    if (
        isinstance(hypothesis, Sequence | pd.Index)
        and len(hypothesis)
        and all(isinstance(each, str) for each in hypothesis)
    ):
        parts = [_text(fit, each, index) for each in hypothesis]
        return np.vstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    try:
        matrix = np.atleast_2d(np.asarray(hypothesis, dtype=np.float64))
        if hypothesis is None:
            raise TypeError
    except (TypeError, ValueError):
        raise DataError(
            f"The hypothesis {told(hypothesis)} is none: name terms, write equations such as 'a = b, c = "
            "0', or give a matrix."
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] != len(index) or not len(matrix):
        raise DataError(
            f"The hypothesis has shape {matrix.shape}, and there are {len(index)} coefficients: give a "
            "matrix with a column for each, in the order of cov_params()."
        )
    if not np.isfinite(matrix).all():
        raise DataError("The matrix of the hypothesis has a value that is missing or infinite: give numbers.")
    return matrix, np.zeros(len(matrix))


def _labelled(matrix: pd.DataFrame, index: pd.MultiIndex) -> Hypothesis:
    """A matrix whose columns are named (class, term), or by the term where there are two classes."""
    own = index if matrix.columns.nlevels == 2 else index.get_level_values("term")
    if not own.is_unique or not matrix.columns.is_unique:
        raise DataError("The columns of the hypothesis name no coefficient each: name them (class, term).")
    unknown = [label for label in matrix.columns if label not in own]
    if unknown:
        raise DataError(
            f"The hypothesis names {listed(unknown)}, which is no coefficient: name some of {listed(own)}."
        )
    return _read_matrix(matrix.reindex(columns=own, fill_value=0.0), index)


def _read_matrix(matrix: pd.DataFrame, index: pd.MultiIndex) -> Hypothesis:
    values = matrix.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError("The matrix of the hypothesis has a value that is missing or infinite: give numbers.")
    return values, np.zeros(len(values))


def _text(fit: Fit[LogisticFit], text: str, index: pd.MultiIndex) -> Hypothesis:
    """A term of the formula, or equations in coefficients, which hold for each class where none is named."""
    columns, q = ["constant", *fit.terms], len(fit.numbers.others)
    parts = parts_of(fit.blocks)
    wanted = [1 + j for j in parts[text]] if text in parts else None
    if wanted is None and text in columns:
        wanted = [columns.index(text)]
    if wanted is not None:
        rows = np.eye(len(columns))[wanted]
        return _for_each(q, rows), np.zeros(q * len(rows))
    named = [f"{label}:{term}" for label, term in index]
    clash = len({*columns, *named}) < len(columns) + len(named)
    try:
        rows, values = equations(text, columns)
    except FormulaError as error:
        if clash:
            raise
        try:
            return equations(text, named)
        except FormulaError:
            way_out = f" Coefficients are {listed([*columns, *named] if q > 1 else columns, most=12)}."
            raise FormulaError(f"{error}{way_out}") from None
    return _for_each(q, rows), np.tile(values, q)


def _for_each(q: int, rows: Floats) -> Floats:
    """Contrasts (r, p + 1) for each class."""
    return np.asarray(np.kron(np.eye(q), rows), dtype=np.float64)


def _values(value: Any, count: int) -> Floats:
    """The right side (r,) of equations; one number is that of all."""
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if is_number(value):
        values = np.full(count, float(value))
    if values.shape != (count,) or not np.isfinite(values).all():
        raise DataError(
            f"value={told(value)} is no right side of {count} equations: give one number, or one for each."
        )
    return values


def _refuse_dependent(contrasts: Floats, index: pd.MultiIndex) -> None:
    row = dependent_row(contrasts)
    if row is None:
        return
    if not contrasts[row].any():
        raise DataError(f"Equation {row + 1} of the hypothesis names no coefficient: leave it out.")
    names = [f"{label}:{term}" for label, term in index[contrasts[row] != 0]]
    raise DataError(
        f"Equation {row + 1} of the hypothesis, in {listed(names)}, follows from those before it, or "
        "contradicts them: leave it out."
    )
