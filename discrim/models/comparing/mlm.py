"""The verb `mlm`: a linear model of several responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.row_root import gather_root
from discrim.errors import DataError, warn_user
from discrim.frame.linear_model import ModelTerm, model_rows
from discrim.inference.linear_terms import least_squares
from discrim.models.comparing.mlm_results import MLMResults
from discrim.models.comparing.term_model import TermModel
from discrim.models.fits.arguments import check_word, listed
from discrim.models.fits.reading import NaAction, warn_of_total

__all__ = ["mlm"]


def mlm(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> MLMResults:
    """A multivariate linear model: several responses on factors and covariates.

    Parameters
    ----------
    formula : str
        The model on the left, where the class of a discriminant analysis stands, and the responses on the
        right: ``"species * sex ~ bill_length_mm + bill_depth_mm"``. R's ``cbind(y1, y2) ~ a * b`` is the same
        as ``a * b ~ y1 + y2``. Text, categories and truth values are factors, and numbers are covariates; but
        a single column of numbers on the left is a factor as in `lda`, and ``C(year)`` makes a factor of any
        column.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.

    Returns
    -------
    MLMResults
        Tests of each term by `manova`, its canonical variates by `canonical`.

    Raises
    ------
    FormulaError
        The formula cannot be read, has no factor on the left, or has a response that is no number.
    DataError
        A column is unknown, a value is infinite, or no row is left.
    CollinearError
        The covariance of the residuals is singular, or too few rows are left for it.

    Notes
    -----
    Sums of squares of types I, II and III are those of Searle (1987, Linear Models for Unbalanced Data) and
    Fox (2016, Applied Regression Analysis and Generalized Linear Models, sec. 8.2); the pictures are those of
    Friendly (2007, Journal of Computational and Graphical Statistics 16, 421-444).

    Factors are coded by contrasts that sum to zero over the levels, whatever contrast `C()` names, so that
    tests of type III do not depend on the coding. R needs ``options(contrasts = c("contr.sum",
    "contr.poly"))`` for type III: under its default, treatment coding, the tests of factors within
    interactions are those at the reference level of the other factors. Where a covariate has interactions,
    type III tests the other terms where the covariate is zero. Write ``species * center(x)`` if zero is no
    value of interest, or lies so far from the rows that digits are lost. Types I and II depend on neither.

    The rows are read in one pass, which leaves the triangle of their QR factorization.

    Examples
    --------
    >>> from discrim import mlm
    >>> from discrim.datasets import load_penguins
    >>> fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins())
    >>> fit.tests(type=2)[["df", "statistic", "F"]].round(3)
                 df  statistic        F
    species       2      1.473  457.480
    sex           1      0.555  203.021
    species:sex   2      0.015    1.224
    """
    check_word("na_action", na_action, ("drop", "raise"))
    blocks, terms = model_rows(formula, data, weights=weights, functions=functions)
    n_model = 1 + sum(len(term.columns) for term in terms)
    if len(blocks.terms) < n_model:
        raise DataError(f"The formula {formula!r} has no response: name a column on its right side.")
    root = gather_root(blocks, shifted=_shifted(terms, len(blocks.terms)))
    if blocks.dropped and na_action == "raise":
        blocks.refuse_missing()
    if not root.total:
        raise DataError(
            f"No row is left: each misses a value in one of {listed(blocks.design.columns)}. Fill values, or "
            "leave columns out."
        )
    if blocks.weighted:
        warn_of_total(root.total, root.rows, whole=blocks.has_whole_weights())
    triangle, unit = _in_units(root.triangle)
    rows = np.zeros((max(len(triangle), 1 + len(unit) - 1), triangle.shape[1]))
    rows[: len(triangle)] = triangle
    groups = [[1 + column for column in term.columns] for term in terms]
    numbers = least_squares(rows, root.total, n_model, groups, [term.factors for term in terms])
    own = unit[n_model:]
    model = TermModel(blocks, tuple(terms), numbers, own, unit[1:n_model], root.origin, root.total, root.rows)
    model.need_error()
    lacking = model.lacking()
    if lacking is not None:
        warn_user(
            f"{model.lacking_said(lacking)}: it has fewer degrees of freedom than columns. Tests of "
            "types I and II concern what is left."
        )
    return MLMResults(model)


def _shifted(terms: list[ModelTerm], n_columns: int) -> NDArray[np.bool_]:
    """Columns that no test knows the zero of: responses, and covariates without interactions."""
    shifted = np.ones(n_columns, dtype=bool)
    for term in terms:
        others = [other for other in terms if other is not term]
        if term.categories or any(term.factors & other.factors for other in others):
            shifted[list(term.columns)] = False
    return shifted


def _in_units(triangle: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The triangle with columns over powers of two, so that their squares are doubles, and these."""
    size = np.abs(triangle).max(axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.where(size > 0, np.frexp(size)[1], 0))
    unit[0] = 1.0
    return triangle / unit, unit
