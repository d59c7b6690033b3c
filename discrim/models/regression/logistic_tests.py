"""Tests of the coefficients of a logistic regression: Wald tests, tests of terms, and of nested fits.

The results of `logistic`, `stepwise` and comparisons use it. The covariance of the estimates is the inverse
information, or robust, by row or by group of rows.

Theory. The test of a term states that some combinations L of the coefficients are zero in a model in which
other combinations, M, are zero already. For type I, M contains the columns of the terms after it; for type II
the columns of the terms that contain it (`a:b` contains `a`); for type III M is empty. For types I and II, L
contains the term's own columns. The tests depend neither on the coding of factors nor on the origin of a
covariate, except for terms that contain the covariate. For type III, L is the matrix of the term's columns if
the contrasts of each factor summed to zero: the effects of the term, averaged with equal weight over the
levels of all other factors, with covariates at zero.

With D(L) the decrease of twice the log-likelihood from its maximum to the maximum under L b = 0, the
likelihood ratio is D(L, M) - D(M) (Fox, 2016, Applied Regression Analysis and Generalized Linear Models, ch.
15). Wald's statistic is the same difference of the quadratic approximation of the log-likelihood at the
maximum.

In shapes, p is the number of columns without the constant, and q = K - 1 the number of classes except the
reference. Coefficients are ordered by class, and within a class the constant comes first, as in `cov_params`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.map_reduce import CountedPasses
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_sf
from discrim.core.regression import logistic, profile_likelihood
from discrim.core.regression.logistic import LogisticFit, Sandwich
from discrim.core.regression.profile_likelihood import ColumnBlocks
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.linear_model import parse_equations
from discrim.design.rows import used_rows
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.formula.design import Design, Product, Spec
from discrim.inference.log_odds import find_dependent_row, wald_statistic
from discrim.inference.manova import TestType
from discrim.inference.result import TestResult, chi_square_test
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import class_term_index
from discrim.models.base.reading import check_word, format_argument, is_number, join_labels
from discrim.models.evaluation.permuted import number_labels
from discrim.models.regression import logistic_search

CovType = Literal["nonrobust", "HC0", "HC1", "cluster"]
"""Covariances of the estimates; see `LogisticResults.robust`."""


def with_covariance(
    fit: FittedModel[LogisticFit], cov_type: str, groups: Any, convention: str | None
) -> FittedModel[LogisticFit]:
    """Return the fit with another covariance of its estimates; see `LogisticResults.robust`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    cov_type : {"HC0", "HC1", "cluster", "nonrobust"}
        Kind of covariance.
    groups : str, (n,) array-like or None
        Group of each row of the table, or the column that contains it; only for "cluster".
    convention : {None, "statsmodels"}
        Factors for small samples.

    Returns
    -------
    FittedModel
        A copy that shares the rows, and the cache except standard errors and covariance. `estimates.robust`
        is the new covariance, or None for "nonrobust".

    Raises
    ------
    DataError
        An option is unknown, `groups` is missing for "cluster" or passed without it, a row of the fit has a
        missing group, or there is only one group.
    NotSupportedError
        Except for "nonrobust": the fit lacks rows or finite estimates, the table of a column `groups` is
        read in chunks, or "HC1" has at most as many observations as coefficients.
    """
    check_word("cov_type", cov_type, CovType)
    check_word("convention", convention, ("statsmodels",), optional=True)
    if (cov_type == "cluster") != (groups is not None):
        raise DataError(
            'cov_type="cluster" requires groups=.'
            if groups is None
            else f"groups= cannot be combined with cov_type={cov_type!r}.",
            hint=(
                'Pass groups= with cov_type="cluster", as a column of the table or a value for each row, and '
                "leave it out otherwise."
            ),
        )
    cache = {name: value for name, value in fit.cache.items() if name not in ("se", "covariance")}
    if cov_type == "nonrobust":
        return replace(fit, estimates=replace(fit.estimates, robust=None), cache=cache)
    design_rows = logistic_search.rows_with_maximum(fit, "robust()")
    estimates = fit.estimates
    newton = estimates.newton
    coefficients = estimates.newton.coef.size
    score_arguments = (estimates.frame, newton.coef, estimates.reference)
    total = float(estimates.counts.sum())
    count = 0
    name = ""
    if groups is None:
        with Progress(0, "squares of the scores") as progress:
            counted_rows = CountedPasses(design_rows, progress)
            squares = logistic.score_squares(counted_rows, *score_arguments)
        factor = 1.0
        if cov_type == "HC1" and convention is None:
            if total <= coefficients:
                raise NotSupportedError(
                    'cov_type="HC1" multiplies by n/(n - k) and requires more observations than '
                    f"coefficients, but there are {total:g} and {coefficients}.",
                    hint='Use "HC0", or fit fewer columns.',
                )
            factor = total / (total - coefficients)
    else:
        if isinstance(groups, str):
            design_rows.rows.require_table(
                f"groups={groups!r} names a column of ",
                ", which is read part by part.",
                hint=f"Pass a vector of {design_rows.table.nrows:,} values, as a Series or an array.",
            )
        name = groups if isinstance(groups, str) else str(getattr(groups, "name", None) or "groups")
        sums = _group_score_sums(fit, design_rows, number_labels(groups, design_rows.table, "groups"))
        squares = sums.T @ sums
        count = len(sums)
        factor = count / (count - 1)
        if convention == "statsmodels":
            factor *= (total - 1) / (total - coefficients)
    root, rank = logistic.sandwich_root(newton.information, squares)
    robust = Sandwich(cov_type, np.sqrt(factor) * root, factor, count, rank, name)
    return replace(fit, estimates=replace(estimates, robust=robust), cache=cache)


def _group_score_sums(fit: FittedModel[LogisticFit], design_rows: DesignRows, codes: Codes) -> Floats:
    """Sum the scores (gradients of the log-likelihood), times the weights of the rows, by group.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows.
    codes : (n,) int
        Group of each row of the table; negative for missing groups.

    Returns
    -------
    (G, q (p + 1)) float64
        Sums for the G groups that have rows in the fit, in the coordinates of `fit.estimates.frame`.

    Raises
    ------
    DataError
        A row of the fit has a missing group, there is only one group, or the sums do not fit into memory.
    """
    n_groups = int(codes.max(initial=-1)) + 1
    estimates = fit.estimates
    newton = estimates.newton
    check_memory(
        float(n_groups) * newton.coef.size,
        f"The scores of {n_groups:,} groups and {newton.coef.size:,} coefficients",
        'Use cov_type="HC1" where groups are single rows, or fewer columns',
    )
    sums = np.zeros((n_groups, newton.coef.size))
    has_rows = np.zeros(n_groups, dtype=bool)
    with Progress(0, "scores of the groups"):
        for rows, x, classes, weights in used_rows(design_rows):
            groups = codes[rows]
            if (groups < 0).any():
                position_in_chunk = int(np.argmax(groups < 0))
                position = (
                    rows.start + position_in_chunk
                    if isinstance(rows, slice)
                    else int(rows[position_in_chunk])
                )
                raise DataError(
                    f"groups= has a missing value in row {format_value(design_rows.table.label(position))}, "
                    "which the fit uses.",
                    hint="Fill it in, for example with a separate group, or drop the row and fit again.",
                    rows=(design_rows.table.label(position),),
                )
            has_rows[groups] = True
            logistic.group_scores(
                sums, estimates.frame, newton.coef, estimates.reference, x, classes, weights, groups
            )
    if has_rows.sum() < 2:
        raise DataError(
            "groups= has only one group in the rows of the fit, but a cluster-robust covariance matrix "
            "requires at least two, and preferably many.",
            hint='Pass other groups, or use cov_type="HC1".',
        )
    return sums[has_rows]


def estimator_note(robust: Sandwich | None) -> str:
    """Return a phrase on the covariance of the estimates, for a header.

    It is "inverse information" for None, "3 groups of island", for example, for a covariance by groups, and
    "robust, HC0" or "robust, HC1" otherwise.
    """
    if robust is None:
        return "inverse information"
    if robust.covariance_type == "cluster":
        by = f" of {robust.grouped_by}" if robust.grouped_by else ""
        return f"{robust.groups} groups{by}"
    return f"robust, {robust.covariance_type}"


Hypothesis = tuple[Floats, Floats]
"""Contrasts (r, q (p + 1)) of the coefficients, and right sides (r,) of the equations."""


def wald_test(fit: FittedModel[LogisticFit], hypothesis: Any, value: Any) -> TestResult:
    """Wald's test of a hypothesis; see `LogisticResults.wald_test`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    hypothesis : object
        Names, equations or a matrix.
    value : float, (r,) array-like or None
        Right side of the r equations; None for their own.

    Returns
    -------
    TestResult
        Chi-square on r degrees of freedom.

    Raises
    ------
    DataError
        The hypothesis or the value is not valid, or an equation is empty or follows from the others.
    FormulaError
        The text of an equation cannot be read.
    NotSupportedError
        The fit lacks finite estimates, or the covariance of the tested combinations is singular.
    """
    estimates = fit.estimates
    logistic_search.raise_if_no_maximum(fit, "wald_test()")
    index = class_term_index(fit.classes[estimates.others], pd.Index(["constant", *fit.terms]))
    contrasts, values = _read_hypothesis(fit, hypothesis, index)
    if value is not None:
        values = _read_values(value, len(contrasts))
    _raise_if_dependent(contrasts, index)
    root = estimates.root()
    statistic = wald_statistic(root, estimates.params().T.ravel(), contrasts, values)
    if np.isnan(statistic):
        _raise_singular_covariance(estimates, len(contrasts))
    assumes = f"Large samples. Covariance of the estimates: {estimator_note(estimates.robust)}."
    return chi_square_test("Wald", statistic, float(len(contrasts)), assumes)


def _raise_singular_covariance(estimates: LogisticFit, equations: int) -> NoReturn:
    """Raise NotSupportedError for a Wald test of `equations` equations with a singular covariance matrix.

    The message names the likely cause: too few groups, or the units of the columns.
    """
    robust = estimates.robust
    if robust is not None and robust.rank < robust.root.shape[1]:
        raise NotSupportedError(
            f"The covariance matrix by {robust.groups or 'these'} groups has rank {robust.rank}, too low "
            f"for a hypothesis of {equations} equations.",
            hint=(
                "Test fewer equations, or use the model-based covariance matrix, by "
                'robust("nonrobust").wald_test().'
            ),
        )
    raise NotSupportedError(
        "The covariance matrix of the tested combinations is singular, or out of the range of double "
        "precision.",
        hint="Test fewer equations, or convert the columns to other units, for example by standardize().",
    )


def _read_hypothesis(fit: FittedModel[LogisticFit], hypothesis: Any, index: pd.MultiIndex) -> Hypothesis:
    """Read a hypothesis as contrasts and right sides.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    hypothesis : object
        Names, equations or a matrix, or a pair (hypothesis, value).
    index : MultiIndex
        (class, term) of the coefficients.

    Returns
    -------
    contrasts : (r, q (p + 1)) float64
        In the order of `cov_params`.
    values : (r,) float64
        Right sides.

    Raises
    ------
    DataError
        It is of another type, has the wrong shape or infinite values, or names unknown coefficients.
    FormulaError
        The text is neither a term, a column nor an equation.
    """
    if isinstance(hypothesis, tuple) and len(hypothesis) == 2 and not isinstance(hypothesis[0], str):
        contrasts, _ = _read_hypothesis(fit, hypothesis[0], index)
        return contrasts, _read_values(hypothesis[1], len(contrasts))
    if isinstance(hypothesis, str):
        return _hypothesis_from_text(fit, hypothesis, index)
    if isinstance(hypothesis, pd.DataFrame):
        return _hypothesis_from_table(hypothesis, index)
    is_list = isinstance(hypothesis, Sequence | pd.Index) and len(hypothesis)
    if is_list and all(isinstance(text, str) for text in hypothesis):
        hypotheses = [_hypothesis_from_text(fit, text, index) for text in hypothesis]
        return np.vstack([contrasts_and_values[0] for contrasts_and_values in hypotheses]), np.concatenate(
            [contrasts_and_values[1] for contrasts_and_values in hypotheses]
        )
    try:
        matrix = np.atleast_2d(np.asarray(hypothesis, dtype=np.float64))
        if hypothesis is None:
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"The hypothesis {format_argument(hypothesis)} is not valid.",
            hint="Name terms, write equations such as 'a = b, c = 0', or pass a matrix.",
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] != len(index) or not len(matrix):
        raise DataError(
            f"The hypothesis has shape {matrix.shape}, and there are {len(index)} coefficients.",
            hint="Pass a matrix with a column for each, in the order of cov_params().",
        )
    return _hypothesis_from_matrix(matrix)


def _hypothesis_from_table(matrix: pd.DataFrame, index: pd.MultiIndex) -> Hypothesis:
    """Read a matrix with columns (class, term), or only term for two classes, as contrasts.

    Parameters
    ----------
    matrix : DataFrame
        Contrasts; coefficients without a column have zeros.
    index : MultiIndex
        (class, term) of the coefficients.

    Returns
    -------
    contrasts : (r, q (p + 1)) float64
        In the order of `cov_params`.
    values : (r,) float64
        Right sides, which are zero.

    Raises
    ------
    DataError
        A column is unknown or not unique, or a value is missing or infinite.
    """
    names = index if matrix.columns.nlevels == 2 else index.get_level_values("term")
    if not names.is_unique or not matrix.columns.is_unique:
        raise DataError(
            "The columns of the hypothesis do not identify one coefficient each.",
            hint="Name them (class, term).",
        )
    unknown = [label for label in matrix.columns if label not in names]
    if unknown:
        raise DataError(
            f"Unknown coefficients in the hypothesis: {join_labels(unknown)}.",
            hint=f"Name some of {join_labels(names)}.",
        )
    return _hypothesis_from_matrix(matrix.reindex(columns=names, fill_value=0.0).to_numpy(dtype=np.float64))


def _hypothesis_from_matrix(values: Floats) -> Hypothesis:
    """Return the contrasts `values` (r, q (p + 1)) and zeros (r,); raise DataError unless all are finite."""
    if not np.isfinite(values).all():
        raise DataError(
            "The matrix of the hypothesis has a missing or infinite value.", hint="Pass finite numbers."
        )
    return values, np.zeros(len(values))


def _hypothesis_from_text(fit: FittedModel[LogisticFit], text: str, index: pd.MultiIndex) -> Hypothesis:
    """Read a term of the formula, a column, or equations in coefficients, in this order.

    A term or column stands for zero coefficients of its columns in each of the q classes.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    text : str
        The hypothesis. Equations of names of columns apply to each class; others name "class:column".
    index : MultiIndex
        (class, term) of the coefficients.

    Returns
    -------
    contrasts : (r, q (p + 1)) float64
        In the order of `cov_params`.
    values : (r,) float64
        Right sides; zero for a term or a column.

    Raises
    ------
    FormulaError
        The text cannot be parsed in either way.
    """
    columns = ["constant", *fit.terms]
    q = len(fit.estimates.others)
    columns_by_term = logistic_search.columns_of_terms(fit.design_rows)
    column_positions = [1 + j for j in columns_by_term[text]] if text in columns_by_term else None
    if column_positions is None and text in columns:
        column_positions = [columns.index(text)]
    if column_positions is not None:
        rows = np.eye(len(columns))[column_positions]
        return _repeat_for_classes(q, rows), np.zeros(q * len(rows))
    class_term_names = [f"{label}:{term}" for label, term in index]
    has_ambiguous_names = len({*columns, *class_term_names}) < len(columns) + len(class_term_names)
    try:
        rows, values = parse_equations(text, columns)
    except FormulaError as error:
        if has_ambiguous_names:
            raise
        try:
            return parse_equations(text, class_term_names)
        except FormulaError:
            names = join_labels([*columns, *class_term_names] if q > 1 else columns, max_labels=12)
            raise error.with_message(
                error.message, hint=f"{error.hint} Coefficients are {names}.".strip()
            ) from None
    return _repeat_for_classes(q, rows), np.tile(values, q)


def _repeat_for_classes(q: int, contrasts: Floats) -> Floats:
    """Repeat contrasts (r, p + 1) for each of q classes, as a matrix (q r, q (p + 1))."""
    return np.asarray(np.kron(np.eye(q), contrasts), dtype=np.float64)


def _read_values(value: Any, count: int) -> Floats:
    """Return the right side of `count` equations as (count,); one number applies to all.

    Raises DataError for another number of values, or values that are not finite numbers.
    """
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if is_number(value):
        values = np.full(count, float(value))
    if values.shape != (count,) or not np.isfinite(values).all():
        raise DataError(
            f"value={format_argument(value)} is not valid for {count} equations.",
            hint="Pass one number for all equations, or one for each.",
        )
    return values


def _raise_if_dependent(contrasts: Floats, index: pd.MultiIndex) -> None:
    """Raise DataError if an equation is empty or follows from the equations before it.

    Parameters
    ----------
    contrasts : (r, q (p + 1)) float64
        The equations.
    index : MultiIndex
        (class, term) of the coefficients, for the message.
    """
    row = find_dependent_row(contrasts)
    if row is None:
        return
    if not contrasts[row].any():
        raise DataError(f"Equation {row + 1} of the hypothesis has no coefficient.", hint="Leave it out.")
    names = [f"{label}:{term}" for label, term in index[contrasts[row] != 0]]
    raise DataError(
        f"Equation {row + 1} of the hypothesis, in {join_labels(names)}, follows from those before it, or "
        "contradicts them.",
        hint="Leave it out.",
    )


class TermMarginality:
    """Marginality of terms: `a` is marginal to `a:b`, which contains it.

    Attributes
    ----------
    terms : dict of str to frozenset of str
        Codes of the factors of each term by its label, in R's order (terms of fewer factors first).
    """

    def __init__(self, design: Design, terms: Collection[str]) -> None:
        """Read the factors of the terms, given by labels, from a design."""
        factors = {
            term_spec.label: _term_factors(design, term_spec.text) for term_spec in design.design_terms()
        }
        self.terms = {label: factors[label] for label in sorted(terms, key=lambda label: len(factors[label]))}

    def removable(self, chosen: Collection[str], include: Collection[str] = ()) -> list[str]:
        """Return chosen terms that no other chosen term contains, in R's order.

        Terms of `include` are left out, because they have to stay in the model.
        """
        inside = {a for a in chosen for b in chosen if self.terms[a] < self.terms[b]}
        return [a for a in self.terms if a in chosen and a not in inside and a not in include]

    def addable(self, chosen: Collection[str]) -> list[str]:
        """Return terms that are not chosen but whose marginal terms all are, in R's order."""

        def is_addable(a: str) -> bool:
            """Return whether all terms that term `a` contains are chosen."""
            return all(b in chosen for b, factors in self.terms.items() if factors < self.terms[a])

        return [a for a in self.terms if a not in chosen and is_addable(a)]


def _term_factors(design: Design, text: str) -> frozenset[str]:
    """Return the codes of the factors of a term, given by its text; the text itself for a plain column."""
    if design.spec is None:
        return frozenset({text})
    for product in design.spec.products:
        codes = [design.spec.factors[factor].code for factor, _ in product]
        if ":".join(codes) == text:
            return frozenset(codes)
    return frozenset({text})


class TermFit(NamedTuple):
    """A fit to some of the terms.

    Attributes
    ----------
    deviance : float
        Minus twice the log-likelihood, without the penalty of a bias reduction.
    parameters : int
        Number of free parameters, constants included.
    estimates : LogisticFit or None
        The estimates; None for a model with only constants.
    """

    deviance: float
    parameters: int
    estimates: LogisticFit | None


class TermFits:
    """Cached fits to subsets of the terms of a formula, to the rows that are complete in all terms.

    Attributes
    ----------
    columns_by_term : dict of str to tuple of int
        Positions of the columns of each term in the rows, by label; see `columns_of_terms`.
    margins : TermMarginality
        Marginality of these terms.
    """

    def __init__(
        self,
        design_rows: DesignRows,
        moments: ClassMoments,
        *,
        reference: int,
        bias_reduction: bool,
        tol: float = logistic.TOLERANCE,
        maxiter: int = logistic.MAX_STEPS,
    ) -> None:
        """Prepare fits to the rows; columns must not be collinear over all rows.

        Parameters
        ----------
        design_rows : DesignRows
            The rows.
        moments : ClassMoments
            Class moments of the rows, with pooled scatter.
        reference : int
            Code of the reference class.
        bias_reduction : bool
            Whether to use Firth's bias reduction.
        tol : float
            Tolerance of the search.
        maxiter : int
            Largest number of steps.
        """
        self.columns_by_term = logistic_search.columns_of_terms(design_rows)
        self.margins = TermMarginality(design_rows.design, self.columns_by_term)
        self._design_rows = design_rows
        self._moments = moments
        self._rows = logistic_search.cached_rows(design_rows, logistic_search.MAX_CACHED_VALUES)
        self._options: dict[str, Any] = {"reference": reference, "bias_reduction": bias_reduction}
        self._options |= {"tol": tol, "maxiter": maxiter}
        self._fits: dict[frozenset[str], TermFit] = {}

    def columns(self, terms: Collection[str]) -> list[int]:
        """Return the positions of the columns of terms (labels) in the rows, in increasing order."""
        chosen = set(terms)
        return sorted(
            j for label, columns in self.columns_by_term.items() if label in chosen for j in columns
        )

    def rows(self, terms: Collection[str]) -> RowBlocks:
        """Return the rows with only the columns of terms (labels)."""
        keep = self.columns(terms)
        if self._rows is self._design_rows:
            return self._design_rows.select_columns(keep)
        return ColumnBlocks(self._rows, keep)

    def fit(self, terms: Collection[str]) -> TermFit:
        """Return the fit to some terms (labels), which is computed at the first call and cached.

        Without terms it is the model with only constants, whose `estimates` are None.

        Raises
        ------
        DataError
            The search did not converge, for example because the classes are separated.
        """
        key = frozenset(terms)
        if key in self._fits:
            return self._fits[key]
        if not key:
            counts = self._moments.counts
            deviance = -2 * float(counts @ np.log(counts / counts.sum()))
            return TermFit(deviance, len(counts) - 1, None)
        moments = self._moments.select_columns(np.array(self.columns(terms), dtype=np.intp))
        prior = moments.counts / moments.counts.sum()
        term_names = " + ".join(label for label in self.margins.terms if label in key)
        with Progress(0, f"fit of {term_names}, passes over the rows") as progress:
            rows = CountedPasses(self.rows(terms), progress)
            fit = logistic.fit_logistic(rows, moments, prior, estimated_prior=True, **self._options)
        if not fit.newton.converged:
            raise DataError(
                f"The fit of {term_names} has not converged and cannot be compared. If a hyperplane "
                "separates the classes, the likelihood has no maximum.",
                hint="Fit with bias_reduction=True (for stepwise(), in options=), or leave a term out.",
            )
        self._fits[key] = TermFit(-2 * fit.llf(), fit.df_model(), fit)
        return self._fits[key]


def drop1(fit: FittedModel[LogisticFit]) -> pd.DataFrame:
    """Remove each term in turn, and cache the table in the fit; see `LogisticResults.drop1`.

    Parameters
    ----------
    fit : FittedModel

    Returns
    -------
    DataFrame by term
        df, deviance and aic of the fit without the term, LRT (the likelihood ratio) and p. The row "<none>"
        is the whole model, with NaN for df, LRT and p. Terms that another one contains are omitted.

    Raises
    ------
    DataError
        The fit without some term has not converged.
    NotSupportedError
        The fit lacks rows or finite estimates.
    """
    design_rows = logistic_search.rows_with_maximum(fit, "drop1()")
    if "drop1" in fit.cache:
        cached: pd.DataFrame = fit.cache["drop1"]
        return cached.copy()
    estimates = fit.estimates
    bias_reduction = fit.estimates.bias_reduction
    fits = TermFits(
        design_rows, estimates.moments, reference=estimates.reference, bias_reduction=bias_reduction
    )
    deviance = -2 * estimates.llf()
    q = len(estimates.others)
    rows: dict[str, tuple[float, ...]] = {
        "<none>": (np.nan, deviance, deviance + 2 * estimates.df_model(), np.nan, np.nan)
    }
    rows_in_memory = logistic_search.cached_rows(design_rows, logistic_search.MAX_CACHED_VALUES)
    removable = fits.margins.removable(fits.columns_by_term)
    slopes = np.eye(1 + len(design_rows.terms))[1:]
    planes = [
        profile_likelihood.frame_normals(estimates, slopes[list(fits.columns_by_term[label])])
        for label in removable
    ]
    with Progress(len(removable), "terms removed") as progress:
        for label, ratio in zip(
            removable,
            profile_likelihood.deviances_of_planes(estimates, rows_in_memory, planes, progress),
            strict=True,
        ):
            if np.isnan(ratio):
                raise DataError(
                    f"The fit without {label!r} has not converged, so the term cannot be dropped.",
                    hint="Fit with bias_reduction=True, or without the term.",
                )
            df = float(q * len(fits.columns_by_term[label]))
            deviance_without = deviance + ratio
            if bias_reduction:
                deviance_without = fits.fit(
                    [other for other in fits.columns_by_term if other != label]
                ).deviance
            aic = deviance_without + 2 * (estimates.df_model() - df)
            rows[label] = (df, deviance_without, aic, ratio, float(chi2_sf(ratio, df)))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["df", "deviance", "aic", "LRT", "p"])
    fit.cache["drop1"] = table.rename_axis(index="term")
    return table.rename_axis(index="term")


class _PairedColumns:
    """Iterable of blocks with the columns of two fits, to the same rows in the same order.

    Parameters
    ----------
    large, small : DesignRows
        Rows of the two fits, which use the same rows of their tables.
    """

    def __init__(self, large: DesignRows, small: DesignRows) -> None:
        """Store the rows; they are read by each iteration."""
        self._large = large
        self._small = small

    def __iter__(self) -> Iterator[tuple[Floats, Floats, Floats | None]]:
        """Yield columns (m, p) of the large and (m, s) of the small fit, and weights (m,) or None."""
        ours = used_rows(self._large)
        theirs = used_rows(self._small)
        y = np.empty((0, len(self._small.terms)))
        for _, x, _, weights in ours:
            # The block length depends on the number of columns, so the two fits have different blocks.
            while len(y) < len(x):
                y = np.concatenate([y, next(theirs)[1]])
            yield x, y[: len(x)], weights
            y = y[len(x) :]


def nested_likelihood_ratio(
    small: FittedModel[LogisticFit], large: FittedModel[LogisticFit]
) -> tuple[float, float]:
    """Compute the likelihood ratio of nested fits to the same rows.

    If the large fit has bias reduction, both are maxima of its likelihood by Firth, and the estimates of the
    small fit are not used.

    Parameters
    ----------
    small, large : FittedModel
        The fits; the columns of the small one have to be combinations of the columns of the large one.

    Returns
    -------
    statistic : float
        Twice the difference of the log-likelihoods; NaN if a search with bias reduction does not converge.
    df : float
        Difference of the numbers of parameters.

    Raises
    ------
    DataError
        The fits are not nested.
    NotSupportedError
        A fit lacks rows or finite estimates.
    """
    ours, theirs = (logistic_search.rows_with_maximum(fit, "lr_test()") for fit in (large, small))
    nest = profile_likelihood.check_nesting(
        _PairedColumns(ours, theirs), large.estimates.frame, small.estimates.frame
    )
    if not nest.is_nested:
        worst = small.terms[int(np.argmax(nest.max_residuals))]
        raise DataError(
            f"The fits are not nested: the column {worst!r} of the first fit is not a linear combination of "
            f"the columns of the second ({large.formula}).",
            hint=(
                "Pass the smaller fit first, and a fit that includes all its columns second. For other fits "
                "use compare()."
            ),
            columns=(worst,),
        )
    df = float(large.estimates.df_model() - small.estimates.df_model())
    if not large.estimates.bias_reduction or not df:
        return 2 * (large.estimates.llf() - small.estimates.llf()), df
    normals = profile_likelihood.null_directions(nest.combinations)
    rows = logistic_search.cached_rows(ours, logistic_search.MAX_CACHED_VALUES)
    return profile_likelihood.deviances_of_planes(large.estimates, rows, [normals])[0], df


class _TermTest(NamedTuple):
    """Hypothesis of the test of a term, on the p + 1 coefficients of each class in units of the data.

    Attributes
    ----------
    contrasts : (r, p + 1) float64
        Combinations L that are tested for zero.
    zero_in_both : (s, p + 1) float64
        Combinations M that are zero in both models.
    """

    contrasts: Floats
    zero_in_both: Floats


def likelihood_ratios_by_term(fit: FittedModel[LogisticFit], test_type: TestType) -> pd.DataFrame:
    """Compute the likelihood ratio test of each term of the formula; see `LogisticResults.lr_test`.

    The table is cached in the fit by type.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    test_type : {1, 2, 3}
        Type of the tests, as the module docstring defines it.

    Returns
    -------
    DataFrame by term
        statistic, df and p, in the order of the formula.

    Raises
    ------
    DataError
        The fit without some term has not converged.
    NotSupportedError
        The fit lacks rows or finite estimates; or the type is III, columns were dropped, and a term
        contains another one.
    """
    design_rows = logistic_search.rows_with_maximum(fit, "lr_test(by=)")
    key = f"likelihood ratios by term, type {test_type}"
    if key in fit.cache:
        cached: pd.DataFrame = fit.cache[key]
        return cached.copy()
    tests = _term_hypotheses(design_rows, test_type)
    rows = logistic_search.cached_rows(design_rows, logistic_search.MAX_CACHED_VALUES)
    # Maximize once for each set of zeros, because tests of several terms can share a model.
    planes = {
        zeros.tobytes(): profile_likelihood.frame_normals(fit.estimates, zeros)
        for test in tests.values()
        for zeros in (np.vstack([test.zero_in_both, test.contrasts]), test.zero_in_both)
        if zeros.size
    }
    with Progress(len(planes), "likelihood ratios of terms") as progress:
        deviances = profile_likelihood.deviances_of_planes(
            fit.estimates, rows, list(planes.values()), progress
        )
    deviance_increases = dict(zip(planes, deviances, strict=True)) | {b"": 0.0}
    statistics = {}
    for label, test in tests.items():
        zeros = np.vstack([test.zero_in_both, test.contrasts])
        statistic = deviance_increases[zeros.tobytes()] - deviance_increases[test.zero_in_both.tobytes()]
        if np.isnan(statistic):
            raise DataError(
                f"The fit without {label!r} has not converged, so the term cannot be tested.",
                hint='Test its coefficients by wald_test(by="term"), or fit without the term.',
            )
        statistics[label] = max(statistic, 0.0)
    table = _test_table(statistics, tests, len(fit.estimates.others))
    fit.cache[key] = table
    return table.copy()


def wald_by_term(fit: FittedModel[LogisticFit], test_type: TestType) -> pd.DataFrame:
    """Compute Wald's test of each term of the formula; see `LogisticResults.wald_test`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    test_type : {1, 2, 3}
        Type of the tests, as the module docstring defines it.

    Returns
    -------
    DataFrame by term
        statistic, df and p, in the order of the formula.

    Raises
    ------
    NotSupportedError
        The fit lacks finite estimates, the covariance matrix of a term is singular, or the type is III,
        columns were dropped, and a term contains another one.
    """
    logistic_search.raise_if_no_maximum(fit, "wald_test()")
    estimates = fit.estimates
    q = len(estimates.others)
    root = estimates.root()
    coefficients = estimates.params().T.ravel()
    tests = _term_hypotheses(fit.design_rows, test_type)
    statistics = {}
    for label, test in tests.items():
        contrasts = _repeat_for_classes(q, test.contrasts)
        conditioned = _repeat_for_classes(q, test.zero_in_both)
        statistics[label] = wald_statistic(
            root, coefficients, contrasts, np.zeros(len(contrasts)), conditioned
        )
        if np.isnan(statistics[label]):
            raise NotSupportedError(
                f"The covariance matrix of the coefficients of {label!r} is singular, or out of the range of "
                "double precision.",
                hint=(
                    'Use the model-based covariance matrix, by robust("nonrobust").wald_test(by="term"), or '
                    "convert the columns to other units, for example by standardize()."
                ),
            )
    return _test_table(statistics, tests, q)


def type_note(design_rows: DesignRows) -> str:
    """Return a sentence on the models that type II tests of terms compare, for a note below their table.

    If no term of the formula contains another one, the sentence states that each term is tested against the
    model without it.
    """
    margins = TermMarginality(design_rows.design, logistic_search.columns_of_terms(design_rows))
    if len(margins.removable(margins.terms)) == len(margins.terms):
        return "Each against the model without the term."
    return "Type II: each term after all terms that do not contain it."


def _test_table(statistics: dict[str, float], tests: dict[str, _TermTest], classes: int) -> pd.DataFrame:
    """Return the table of chi-square tests by term: statistic, df, p.

    Parameters
    ----------
    statistics : dict of str to float
        Statistic of each term.
    tests : dict of str to _TermTest
        Hypothesis of each term.
    classes : int
        Number q of classes except the reference, by which the numbers of contrasts are multiplied.

    Returns
    -------
    DataFrame
        A row for each term, in the order of `statistics`; p is the upper tail of the chi-square.
    """
    rows = {}
    for label, statistic in statistics.items():
        df = float(len(tests[label].contrasts) * classes)
        rows[label] = (statistic, df, float(chi2_sf(statistic, df)))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["statistic", "df", "p"])
    return table.rename_axis(index="term")


def _term_hypotheses(design_rows: DesignRows, test_type: TestType) -> dict[str, _TermTest]:
    """Return the hypothesis of the test of each term by label, in the order of the formula.

    Types are defined in the module docstring. Raises NotSupportedError for type III if another term contains
    the term and columns of the formula were dropped.
    """
    columns_by_term = logistic_search.columns_of_terms(design_rows)
    margins = TermMarginality(design_rows.design, columns_by_term)
    order = list(margins.terms)
    units = np.eye(1 + len(design_rows.terms))
    tests = {}
    for label, columns in columns_by_term.items():
        others: list[str] = []
        if test_type == 1:
            others = order[order.index(label) + 1 :]
        elif test_type == 2:
            others = [other for other in order if margins.terms[label] < margins.terms[other]]
        other_columns = units[[1 + j for other in others for j in columns_by_term[other]]]
        contained = test_type == 3 and any(
            margins.terms[label] < factors for factors in margins.terms.values()
        )
        contrasts = _type_iii_contrasts(design_rows, label) if contained else units[[1 + j for j in columns]]
        tests[label] = _TermTest(contrasts, other_columns)
    return tests


def _type_iii_contrasts(design_rows: DesignRows, label: str) -> Floats:
    """Return the type III contrasts (r, p + 1) of the term `label`, which other terms contain.

    Raises NotSupportedError if columns of the formula were dropped.
    """
    # The specification exists, because otherwise no term is contained in another.
    spec: Any = design_rows.design.spec
    if design_rows.kept_columns is not None and len(design_rows.kept_columns) < len(design_rows.design.terms):
        raise NotSupportedError(
            f"The type III test of {label!r} averages over the levels of other factors, but columns of the "
            "formula were dropped because they are constant or collinear.",
            hint="Use type=2, or leave the interaction out.",
        )
    products = [
        product for product in spec.products if ":".join(spec.factors[j].code for j, _ in product) == label
    ]
    starts = np.cumsum([1, *(math.prod(spec.widths(product)) for product in spec.products)])
    contrasts = []
    for term in products:
        rows = np.zeros((math.prod(_level_contrasts(spec, *pair).shape[0] for pair in term), int(starts[-1])))
        for product, start in zip(spec.products, starts[:-1], strict=True):
            block = _product_columns(spec, term, product)
            if block is not None:
                rows[:, start : start + block.shape[1]] += block
        contrasts.append(rows)
    return np.vstack(contrasts)


def _level_contrasts(spec: Spec, factor: int, coding: int) -> Floats:
    """Return contrasts (r, levels) among the levels of a factor that its columns in a term represent.

    They are indicators of all levels if the coding has a column for each, else deviations of all levels but
    the last from the mean. A numeric factor has an identity matrix of its number of columns.

    Parameters
    ----------
    spec : Spec
    factor, coding : int
        Positions in `spec.factors` and `spec.codings`; the coding of a numeric factor is -1.

    Returns
    -------
    (r, levels) float64
        r is the number of levels, or one less for a coding without a column for each level.
    """
    levels = spec.factors[factor].levels
    if levels is None:
        return np.eye(spec.factors[factor].width)
    indicators = np.eye(len(levels))
    if coding >= 0 and spec.codings[coding].width == len(levels):
        return indicators
    return indicators[:-1] - 1 / len(levels)


def _product_columns(spec: Spec, term: Product, other: Product) -> Floats | None:
    """Return the columns of one product of factors in the type III contrasts of a term.

    Parameters
    ----------
    spec : Spec
        Factors and codings of the design.
    term : Product
        The term that is tested.
    other : Product
        The product whose coefficients are weighted.

    Returns
    -------
    (r, columns of `other`) float64 or None
        None if the numeric factors of the two differ and the coefficients do not contribute.
    """
    term_codings = dict(term)
    other_codings = dict(other)
    numeric_factors = {j for j in term_codings if spec.factors[j].levels is None}
    if numeric_factors != {j for j in other_codings if spec.factors[j].levels is None}:
        return None
    factor_matrices: dict[int, Floats] = {}
    for factor in {**term_codings, **other_codings}:
        levels = spec.factors[factor].levels
        if levels is None:
            factor_matrices[factor] = np.eye(spec.factors[factor].width)
            continue
        effects = np.full((1, len(levels)), 1 / len(levels))
        values = np.ones((len(levels), 1))
        if factor in term_codings:
            effects = _level_contrasts(spec, factor, term_codings[factor])
        if factor in other_codings:
            coding = spec.codings[other_codings[factor]]
            values = (
                np.eye(len(levels))[:, list(coding.picks)]
                if coding.picks is not None
                else np.asarray(coding.matrix, dtype=np.float64)
            )
        factor_matrices[factor] = effects @ values
    outer = np.ones(())
    for matrix in factor_matrices.values():
        outer = np.multiply.outer(outer, matrix)
    # The first factor varies fastest: rows follow the order of the term, columns the order of the other
    # product. A factor of only one of them has length one in the other.
    row_axes = {factor: 2 * position for position, factor in enumerate(factor_matrices)}
    row_axis_order = [
        *(row_axes[j] for j in reversed(term_codings)),
        *(row_axes[j] for j in factor_matrices if j not in term_codings),
    ]
    column_axis_order = [
        *(1 + row_axes[j] for j in reversed(other_codings)),
        *(1 + row_axes[j] for j in factor_matrices if j not in other_codings),
    ]
    shape = (
        math.prod(outer.shape[i] for i in row_axis_order),
        math.prod(outer.shape[i] for i in column_axis_order),
    )
    return np.asarray(outer.transpose([*row_axis_order, *column_axis_order]).reshape(shape))
