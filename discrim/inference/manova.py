"""Tests of multivariate linear models: equality of class means, its dimensions, terms and coefficients.

`manova`, `mlm` and the canonical analysis of LDA use these functions.

*Means.* With roots lambda_i of W^-1 B, p columns, q = K - 1, v = N - K, s = min(p, q), m = (|p - q| - 1)/2
and n = (v - p - 1)/2, the statistics are

    Wilks             prod 1/(1 + lambda),      Rao's F (1951, Bulletin of the ISI 33, 177-180), exact for
                                                s <= 2,
    Pillai            sum lambda/(1 + lambda),  F on s(2m + s + 1), s(2n + s + 1),
    Hotelling-Lawley  sum lambda,               F of Pillai & Samson (1959), and McKeon's (1974, Biometrika
                                                61, 381-383), which is closer,
    Roy               lambda_1,                 an upper bound of F, hence a lower bound of the p-value.

The hypothesis that the means span at most k dimensions is tested by the remaining roots: Wilks' lambda with
p - k and q - k instead of p and q, and Bartlett's chi-square (N - 1 - (p + K)/2) sum ln(1 + lambda) (1947,
JRSS Suppl. 9, 176-197).

*Terms.* Rows Y (n, p) have the model Y = XB + U, the rows of U normal with a common covariance matrix. A
hypothesis on q combinations of B has the scatter H = Z'Z, with Z (q, p) the projection of Y on the q
directions of the column space of X that are excluded under the hypothesis. E = U'U is the residual scatter
with v = N - rank(X) degrees of freedom. All four statistics are functions of the roots of E^-1 H, the squared
singular values of Z E^{-1/2}. The directions of a term are adjusted for other terms, which depend on the type
(as named by SAS): I, the earlier terms; II, all terms that do not contain it; III, all other terms. Type III
depends on the coding of factors unless their columns sum to zero over the levels, which they do here. With R
the triangular factor of [X Y], all computations have the dimension of the number of columns, and sums of
squares are not computed as differences.

*Ellipses.* With E the within-class scatter with v = N - K degrees of freedom and H the between-class scatter
with q = K - 1, the error ellipse represents E/v and the hypothesis ellipse H/(lambda v), with lambda the
critical value of Roy's largest root of E^-1 H. In some direction a'Ha exceeds lambda a'Ea if and only if the
largest root exceeds lambda: the hypothesis ellipse then extends outside the error ellipse (Friendly, 2007,
Journal of Computational and Graphical Statistics 16, 421-444). The critical value uses the upper bound of F
with d = max(p, q) and v - d + q degrees of freedom, lambda = d/(v - d + q) F, which is exact if min(p, q) is
one. The ellipse of H/v represents the size of the effect and does not grow with the number of rows (Friendly
& Fox's heplots have both).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from discrim.core.covariance.covariance import Dependency
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import chi2_sf, f_sf, t_isf, t_sf
from discrim.inference.error_rates import check_level
from discrim.inference.result import TestResult


def wilks(roots: Floats, n_columns: int, n_classes: int, total: float) -> TestResult:
    """Compute Wilks' lambda of equal class means, prod 1/(1 + root), with Rao's F.

    Parameters
    ----------
    roots : (r,) float
        Eigenvalues of W^-1 B, W and B the scatters within and between classes, in decreasing order; omitted
        ones are zero.
    n_columns, n_classes : int
        Numbers of columns and of classes.
    total : float
        Number of rows N.

    Returns
    -------
    TestResult
        The statistic is lambda; df and p-value belong to F. F and its p-value are NaN if its second
        degrees of freedom are not positive.

    Examples
    --------
    >>> result = wilks(np.array([32.1919292, 0.2853910]), 4, 3, 150)
    >>> round(result.statistic, 7), result.df
    (0.0234386, (8.0, 288.0))
    """
    p = n_columns
    q = n_classes - 1
    v = total - n_classes
    denominator = p * p + q * q - 5
    t = np.sqrt((p * p * q * q - 4) / denominator) if denominator > 0 and p * q > 2 else 1.0
    df1 = float(p * q)
    df2 = float(t * (v - (p - q + 1) / 2) - (p * q - 2) / 2)
    log_lambda = -float(np.log1p(roots).sum())
    # Computed from the roots, because lambda is inaccurate near one.
    f = float(np.expm1(-log_lambda / t)) * df2 / df1 if df2 > 0 else np.nan
    pvalue = float(f_sf(f, df1, df2))
    return TestResult(
        "Wilks' lambda",
        float(np.exp(log_lambda)),
        (df1, df2),
        pvalue,
        "Normal classes with a common covariance matrix; equal means under the hypothesis (Rao's F).",
        {"F": (f, df1, df2, pvalue)},
        (("", float(np.exp(log_lambda))), ("F", f)),
    )


def manova_table(roots: Floats, n_columns: int, n_classes: int, total: float) -> pd.DataFrame:
    """Return a table of the four statistics of equal class means, each with its F approximation.

    Parameters
    ----------
    roots : (r,) float
        Eigenvalues of W^-1 B, W and B the scatters within and between classes, in decreasing order; omitted
        ones are zero.
    n_columns, n_classes : int
        Numbers of columns and of classes.
    total : float
        Number of rows N.

    Returns
    -------
    pandas.DataFrame
        Indexed by the names in `STATISTICS`, and `MCKEON` after the Hotelling-Lawley trace. Columns
        statistic (for Roy the largest root, not root/(1 + root)), F, df1, df2, p and F_is ("exact",
        "approximate" or "upper bound"). F, df2 and p are NaN if there are too few degrees of freedom.
    """
    p = n_columns
    q = n_classes - 1
    v = total - n_classes
    s = min(p, q)
    m = (abs(p - q) - 1) / 2
    n = (v - p - 1) / 2
    largest_root = float(roots[0]) if len(roots) else 0.0
    pillai = float((roots / (1 + roots)).sum())
    hotelling = float(roots.sum())
    rao = wilks(roots, n_columns, n_classes, total)
    wilks_f, *wilks_df, _ = rao.approximations["F"]
    df1 = s * (2 * m + s + 1)
    df2 = s * (2 * n + s + 1)
    # s - V = sum 1/(1 + lambda) plus the number of omitted roots, without cancellation.
    complement = float((1 / (1 + roots)).sum()) + (s - len(roots))
    pillai_f = pillai / complement * df2 / df1
    hotelling_df2 = 2 * (s * n + 1)
    r = max(p, q)
    f_status = "exact" if s == 1 else "approximate"
    rows = {
        "Wilks' lambda": (rao.statistic, wilks_f, *wilks_df, "exact" if s <= 2 else "approximate"),
        "Pillai's trace": (pillai, pillai_f, df1, df2, f_status),
        "Hotelling-Lawley trace": (
            hotelling,
            hotelling / s * hotelling_df2 / df1,
            df1,
            hotelling_df2,
            f_status,
        ),
        MCKEON: (hotelling, *_mckeon_f(hotelling, p, q, n), f_status),
        "Roy's greatest root": (
            *(largest_root, largest_root * (v - r + q) / r, float(r), float(v - r + q)),
            "exact" if s == 1 else "upper bound",
        ),
    }
    columns = ["statistic", "F", "df1", "df2", "F_is"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    lacks_df = ~(table["df2"] > 0)
    table.loc[lacks_df, ["F", "df2"]] = np.nan
    table.insert(4, "p", f_sf(table["F"], table["df1"], table["df2"]))
    return table


def _mckeon_f(trace: float, p: int, q: int, n: float) -> tuple[float, float, float]:
    """Compute McKeon's F approximation of the Hotelling-Lawley trace.

    Parameters
    ----------
    trace : float
        Sum of the roots.
    p, q : int
        Number of columns, and number of classes minus one.
    n : float
        (v - p - 1)/2, with v residual degrees of freedom.

    Returns
    -------
    f, df1, df2 : float
        f and df2 are NaN if n <= 1, unless the F is exact (one root).
    """
    if min(p, q) == 1:
        # With one root the F is exact.
        return trace * (2 * n + 2) / (p * q), float(p * q), 2 * n + 2
    if n <= 1:
        return np.nan, float(p * q), np.nan
    b = (p + 2 * n) * (q + 2 * n) / (2 * (2 * n + 1) * (n - 1))
    df2 = 4 + (p * q + 2) / (b - 1)
    c = (df2 - 2) / (2 * n)
    return trace / c * df2 / (p * q), float(p * q), df2


def dimension_table(roots: Floats, n_columns: int, n_classes: int, total: float) -> pd.DataFrame:
    """Return a table of sequential tests that the class means span at most k dimensions, k = 0, 1, ...

    Parameters
    ----------
    roots : (r,) float
        Eigenvalues of W^-1 B, W and B the scatters within and between classes, in decreasing order; omitted
        ones are zero.
    n_columns, n_classes : int
        Numbers of columns and of classes.
    total : float
        Number of rows N.

    Returns
    -------
    pandas.DataFrame
        Indexed by k = 0, ..., r - 1. Columns wilks (lambda of the roots after the first k), F, df1, df2, p
        (Rao), chi2, df, p_chi2 (Bartlett); NaN if there are too few degrees of freedom.
    """
    p = n_columns
    rows = {}
    multiplier = total - 1 - (p + n_classes) / 2
    for k in range(len(roots)):
        rao = wilks(roots[k:], p - k, n_classes - k, total - k)
        chi2 = multiplier * float(np.log1p(roots[k:]).sum()) if multiplier > 0 else np.nan
        df = float((p - k) * (n_classes - 1 - k))
        f, df1, df2, _ = rao.approximations["F"]
        df2 = df2 if df2 > 0 else np.nan
        rows[k] = (rao.statistic, f, df1, df2, rao.pvalue, chi2, df, float(chi2_sf(chi2, df)))
    columns = ["wilks", "F", "df1", "df2", "p", "chi2", "df", "p_chi2"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


TestType = Literal[1, 2, 3]
"""Type I, II or III of the tests of terms."""


def adjusting_terms(term: int, test_type: TestType, factors: Sequence[frozenset[str]]) -> list[int]:
    """Return the positions of the other terms for which the test of a term is adjusted.

    Parameters
    ----------
    term : int
        Position of the term.
    test_type : {1, 2, 3}
        Type of the test: I, earlier terms; II, terms that do not contain the term; III, all other terms.
    factors : sequence of frozenset of str
        Names of the factors that each term multiplies. A term contains another one if its names are a proper
        superset.

    Returns
    -------
    list of int
        Ascending; empty for the first term in type I.

    Examples
    --------
    >>> each = [frozenset("a"), frozenset("b"), frozenset("ab")]
    >>> [adjusting_terms(0, 1, each), adjusting_terms(0, 2, each), adjusting_terms(0, 3, each)]
    [[], [1], [1, 2]]
    """
    if test_type == 1:
        return list(range(term))
    other_terms = [j for j in range(len(factors)) if j != term]
    return other_terms if test_type == 3 else [j for j in other_terms if not factors[term] < factors[j]]


RANK_TOLERANCE = 1e-11
"""Residual norm of a column after projection, relative to its norm, that counts as zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """A linear hypothesis about the coefficients of a multivariate linear model.

    Attributes
    ----------
    projection : (q, p) float
        Projection Z of the responses on the directions that are excluded under the hypothesis. Z'Z is the
        scatter H.
    columns : int
        Number of columns of the tested term, or of linear combinations; more than q if some are linearly
        dependent.
    """

    projection: Floats
    columns: int

    @property
    def df(self) -> int:
        """Degrees of freedom q, the number of independent conditions of the hypothesis."""
        return len(self.projection)


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares:
    """Linear model with several responses, reduced to a triangular factor.

    The n rows of design and responses are replaced by r rows with the same cross-products.

    Attributes
    ----------
    x : (r, m) float
        The m columns of the design (the constant first) in the reduced rows, an upper triangle.
    y : (r, p) float
        The p responses in the reduced rows.
    groups : tuple of tuple of int
        Positions of the columns of each term in `x`; the constant, column 0, belongs to no term.
    factors : tuple of frozenset of str
        Names of the factors that each term multiplies.
    error_root : (p, p) float
        Upper triangular root of the residual scatter E, error_root'error_root.
    df : float
        Residual degrees of freedom v.
    rank : int
        Rank of `x`.
    """

    x: Floats
    y: Floats
    groups: tuple[tuple[int, ...], ...]
    factors: tuple[frozenset[str], ...]
    error_root: Floats
    df: float
    rank: int

    def term_hypothesis(self, term: int, test_type: TestType) -> Hypothesis:
        """Return the hypothesis that a term has no effect, by a test of type I, II or III.

        `term` is its position in `groups`. The hypothesis lacks directions (df 0) if the columns of the term
        depend linearly on the constant and the columns it is adjusted for.
        """
        adjusted_for = adjusting_terms(term, test_type, self.factors)
        before = [0, *(column for j in adjusted_for for column in self.groups[j])]
        basis = orthonormal_bases(self.x, [before, self.groups[term]])[1]
        return Hypothesis(basis.T @ self.y, len(self.groups[term]))

    def contrast_hypothesis(self, combinations: Floats, origin: Floats) -> Hypothesis:
        """Return the hypothesis that linear combinations of the coefficients are zero.

        The design must have full rank.

        Parameters
        ----------
        combinations : (q, m) float
            Coefficients of the linear combinations, in rows, for the columns of `x`; the first column refers
            to the constant.
        origin : (p,) float
            Vector that is added to all rows of the responses before the test if the combinations include the
            constant.

        Returns
        -------
        Hypothesis
        """
        # L B = (R^-T L')' Q'Y: the directions are the columns of R^-T L'.
        m = self.x.shape[1]
        directions = scipy.linalg.solve_triangular(self.x[:m], combinations.T, trans="T")
        basis = orthonormal_bases(directions, [range(directions.shape[1])])[0]
        y = self.y[:m]
        if combinations[:, 0].any():
            y = y + np.outer(self.x[:m, 0], origin)
        return Hypothesis(basis.T @ y, len(combinations))

    def constant_hypothesis(self, origin: Floats) -> Hypothesis:
        """Return the hypothesis that the means of the responses over all rows, plus `origin`, are zero.

        It is the hypothesis about the constant without adjustment for the other columns, as in type I.

        Parameters
        ----------
        origin : (p,) float
            Vector that is added to all rows of the responses before the test, for example because it was
            subtracted earlier.

        Returns
        -------
        Hypothesis
        """
        # The constant is the first column; only the first row of the triangle depends on it.
        return Hypothesis(self.y[:1] + self.x[:1, :1] * origin, 1)

    def for_response_combinations(self, weights: Floats) -> LeastSquares:
        """Return the model for d linear combinations of the responses, with coefficients `weights` (p, d)."""
        error = scipy.linalg.qr(self.error_root @ weights, mode="r", check_finite=False)[0]
        return replace(self, y=self.y @ weights, error_root=error[: weights.shape[1]])

    def roots(self, hypothesis: Hypothesis) -> tuple[Floats, Floats]:
        """Compute the roots of E^-1 H, with E the residual scatter and H the scatter of a hypothesis.

        Parameters
        ----------
        hypothesis : Hypothesis
            A hypothesis of this model.

        Returns
        -------
        roots : (s,) float
            Eigenvalues of E^-1 H in decreasing order; s = min(p, q). E has to be nonsingular.
        axes : (p, s) float
            Eigenvectors a in columns, normalized to a'Ea = 1.
        """
        unit = np.sqrt((self.error_root**2).sum(axis=0))
        whitened = scipy.linalg.solve_triangular(
            self.error_root / unit, (hypothesis.projection / unit).T, trans="T"
        ).T
        _, singular, axes = np.linalg.svd(whitened, full_matrices=False)
        raw = scipy.linalg.solve_triangular(self.error_root / unit, axes.T) / unit[:, None]
        return singular**2, raw

    def coefficients(self) -> Floats:
        """Return the least-squares coefficients B (m, p); the design must have full rank."""
        scale = np.sqrt((self.x**2).sum(axis=0))
        m = self.x.shape[1]
        return np.asarray(scipy.linalg.solve_triangular(self.x[:m] / scale, self.y[:m]) / scale[:, None])

    def dependent_responses(self) -> list[Dependency]:
        """Return responses with residuals that are zero or combinations of earlier responses' residuals.

        They are in the order of the responses. Zero is relative to the length of the centred response, up to
        `RANK_TOLERANCE`. `separates_classes` is not determined.
        """
        column_norms = np.sqrt((self.y[1:] ** 2).sum(axis=0))
        dependencies: list[Dependency] = []
        independent_columns: list[int] = []
        for j in range(self.error_root.shape[1]):
            norm = float(np.linalg.norm(self.error_root[:, j]))
            if norm <= RANK_TOLERANCE * column_norms[j]:
                dependencies.append(Dependency(j, ()))
                continue
            normalized = self.error_root[:, independent_columns] / np.linalg.norm(
                self.error_root[:, independent_columns], axis=0
            )
            weights = np.linalg.lstsq(normalized, self.error_root[:, j] / norm, rcond=None)[0]
            if np.linalg.norm(self.error_root[:, j] / norm - normalized @ weights) <= RANK_TOLERANCE:
                determining_columns = tuple(
                    independent_columns[i] for i in np.flatnonzero(np.abs(weights) > 1e-8).tolist()
                )
                dependencies.append(Dependency(j, determining_columns))
            else:
                independent_columns.append(j)
        return dependencies


def least_squares(
    triangle: Floats,
    total: float,
    n_model: int,
    groups: Sequence[Sequence[int]],
    factors: Sequence[frozenset[str]],
) -> LeastSquares:
    """Build a linear model from the triangular factor of its design and responses.

    Parameters
    ----------
    triangle : (r, m + p) float
        Triangular factor R of the QR factorization of [X Y], with X the m columns of the model, the constant
        first, and Y the p responses; r is at least m + p, rows of zeros included.
    total : float
        Number of rows N of X and Y, or sum of their weights; the residual degrees of freedom are N - rank(X).
    n_model : int
        Number m of columns of the model, including the constant.
    groups : sequence of sequence of int
        Positions of the columns of each term among the m columns; the constant is column 0 and belongs to no
        term.
    factors : sequence of frozenset of str
        Names of the factors that each term multiplies.

    Returns
    -------
    LeastSquares
    """
    x = triangle[:, :n_model]
    y = triangle[:, n_model:]
    basis = orthonormal_bases(x, [range(n_model)])[0]
    rank = basis.shape[1]
    if rank == n_model:
        residuals = y[n_model:]
    else:
        residuals = y - basis @ (basis.T @ y)
        residuals -= basis @ (basis.T @ residuals)
    p = y.shape[1]
    padded = np.vstack([residuals, np.zeros((max(p - len(residuals), 0), p))])
    error = scipy.linalg.qr(padded, mode="r", check_finite=False)[0][:p]
    columns = tuple(tuple(group) for group in groups)
    return LeastSquares(x, y, columns, tuple(factors), error, total - rank, rank)


def orthonormal_bases(x: Floats, groups: Sequence[Sequence[int] | range]) -> list[Floats]:
    """Compute orthonormal bases of groups of columns, each adjusted for the groups before it.

    Parameters
    ----------
    x : (r, m) float
        Columns.
    groups : sequence of sequence of int
        Positions of the columns of each group.

    Returns
    -------
    list of (r, q) float
        Basis of each group; q is less than its number of columns if they depend linearly on one another or on
        earlier groups, up to `RANK_TOLERANCE`, and may be zero.

    Examples
    --------
    >>> [basis.shape[1] for basis in orthonormal_bases(np.array([[1.0, 1, 2], [0, 1, 1]]), [[0], [1, 2]])]
    [1, 1]
    """
    earlier_bases = np.zeros((len(x), 0))
    bases = []
    for group in groups:
        columns = x[:, list(group)]
        norms = np.sqrt((columns**2).sum(axis=0))
        columns = columns / np.where(norms > 0, norms, 1.0)
        # Two passes suffice for orthogonality to full precision.
        for _ in range(2):
            columns = columns - earlier_bases @ (earlier_bases.T @ columns)
        if columns.shape[1]:
            q, r, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True, check_finite=False)
            basis = q[:, np.abs(np.diagonal(r)) > RANK_TOLERANCE]
        else:
            basis = columns
        earlier_bases = np.hstack([earlier_bases, basis])
        bases.append(basis)
    return bases


Statistic = Literal["pillai", "wilks", "hotelling-lawley", "roy"]
"""Options of the multivariate statistic, see `STATISTICS`."""

STATISTICS: dict[Statistic, str] = {
    "pillai": "Pillai's trace",
    "wilks": "Wilks' lambda",
    "hotelling-lawley": "Hotelling-Lawley trace",
    "roy": "Roy's greatest root",
}
"""Names of rows of `manova_table` by option."""

MCKEON = "Hotelling-Lawley trace, McKeon"
"""Name of the row of `manova_table` with McKeon's approximation of the trace."""


def hypothesis_table(model: LeastSquares, hypothesis: Hypothesis) -> pd.DataFrame:
    """Return the table of the four statistics of a hypothesis, with the columns of `manova_table`.

    Parameters
    ----------
    model : LeastSquares
        Model of the responses.
    hypothesis : Hypothesis
        A hypothesis of this model.

    Returns
    -------
    pandas.DataFrame
        Values are NaN, with F_is "not defined", if the hypothesis lacks directions or the model has fewer
        residual degrees of freedom than responses.
    """
    q = hypothesis.df
    p = len(model.error_root)
    if not q or model.df < p:
        missing_table = manova_table(np.zeros(1), p, 2, p + 2)
        missing_table.loc[:, ["statistic", "F", "df1", "df2", "p"]] = np.nan
        return missing_table.assign(F_is="not defined")
    return manova_table(model.roots(hypothesis)[0], p, q + 1, model.df + q + 1)


def partial_etas(model: LeastSquares, hypothesis: Hypothesis) -> dict[Statistic, float]:
    """Compute partial eta squared, the explained proportion of variation, of a hypothesis by four statistics.

    With s = min(p, q) roots: Pillai's trace / s, 1 - lambda^(1/s) for Wilks' lambda, trace / (trace + s) for
    the Hotelling-Lawley trace, and root / (1 + root) for Roy's root.

    Parameters
    ----------
    model : LeastSquares
        Model of the responses.
    hypothesis : Hypothesis
        A hypothesis of this model.

    Returns
    -------
    dict of float
        Keys as in `STATISTICS`; NaN in the cases of `hypothesis_table`.
    """
    s = min(hypothesis.df, len(model.error_root))
    if not s or model.df < len(model.error_root):
        return dict.fromkeys(STATISTICS, np.nan)
    roots = model.roots(hypothesis)[0]
    trace = float(roots.sum())
    return {
        "pillai": float((roots / (1 + roots)).sum()) / s,
        "wilks": -float(np.expm1(-np.log1p(roots).sum() / s)),
        "hotelling-lawley": trace / (trace + s),
        "roy": float(roots[0] / (1 + roots[0])),
    }


def hypothesis_row(model: LeastSquares, hypothesis: Hypothesis, test: Statistic) -> dict[str, Any]:
    """Return degrees of freedom, test and partial eta squared of a hypothesis for one statistic.

    Parameters
    ----------
    model : LeastSquares
        Model of the responses.
    hypothesis : Hypothesis
        A hypothesis of this model.
    test : {"pillai", "wilks", "hotelling-lawley", "roy"}
        The statistic.

    Returns
    -------
    dict
        df (q, the number of directions of the hypothesis); statistic, F, df1, df2, p and F_is, as in
        `manova_table`; and eta2, see `partial_etas`. In the undefined cases of `hypothesis_table` F_is is
        "not defined" and all others except df are NaN.
    """
    row: dict[Any, Any] = hypothesis_table(model, hypothesis).loc[STATISTICS[test]].to_dict()
    return {"df": hypothesis.df, **row, "eta2": partial_etas(model, hypothesis)[test]}


def roy_critical_value(n_columns: int, n_classes: int, total: float, alpha: float = 0.05) -> float:
    """Return the approximate critical value of the largest root of W^-1 B (Roy's test) for equal class means.

    It is computed from an F distribution that bounds the root (*Ellipses* in the module docstring), and is
    exact for two classes or one column. The value is a root lambda, not lambda/(1 + lambda).

    Parameters
    ----------
    n_columns, n_classes : int
        Numbers of columns and of classes.
    total : float
        Number of rows N.
    alpha : float
        Significance level.

    Returns
    -------
    float
        NaN without residual degrees of freedom.

    Examples
    --------
    >>> round(roy_critical_value(4, 3, 150), 4)
    0.0671
    """
    q = n_classes - 1
    v = total - n_classes
    d = max(n_columns, q)
    df2 = v - d + q
    return float(d / df2 * scipy.stats.f.isf(alpha, d, df2)) if df2 > 0 else np.nan


def between_scatter(means: Floats, counts: Floats) -> Floats:
    """Return the between-class scatter, sum n_k (m_k - m)(m_k - m)' with m the mean of all rows.

    Parameters
    ----------
    means : (K, p) float
        Class means.
    counts : (K,) float
        Number of rows of each class.

    Returns
    -------
    (p, p) float

    Examples
    --------
    >>> between_scatter(np.array([[0.0], [2.0]]), np.array([1.0, 3.0])).tolist()
    [[3.0]]
    """
    deviations = means - counts @ means / counts.sum()
    return np.asarray(deviations.T @ (deviations * counts[:, None]))


MAX_PAIRED_COLUMNS = 60
"""Maximum number of columns whose pairs are compared, chosen by their univariate F."""


def univariate_wilks(moments: ClassMoments) -> Floats:
    """Return Wilks' lambda (p,) of each column alone: its within-class over its total sum of squares.

    It is 1 for a constant column.
    """
    nonempty = moments.counts > 0
    within = moments.squares.sum(axis=0)
    means = moments.means[nonempty]
    deviations = means - moments.counts[nonempty] @ means / moments.total
    total = within + moments.counts[nonempty] @ deviations**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, within / total, 1.0)


def most_separating_columns(moments: ClassMoments, max_columns: int) -> Codes:
    """Return the positions of the `max_columns` columns with the largest univariate F, in ascending order.

    If there are fewer columns, all are returned.
    """
    order = np.argsort(univariate_wilks(moments), kind="stable")
    return np.sort(order[:max_columns])


def most_separating_pair(moments: ClassMoments) -> tuple[int, int]:
    """Return the positions, in ascending order, of the two columns whose joint Wilks' lambda is smallest.

    Only pairs of the `MAX_PAIRED_COLUMNS` columns with the largest univariate F are compared. It is also the
    pair with the largest F, because all pairs have the same degrees of freedom. If the moments do not contain
    products of columns, the columns are treated as uncorrelated within classes. At least two columns are
    required, which is not checked.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0, 5.0], [1.0, 1.0, 1.0], [1.0, 0.0, 3.0], [2.0, 1.0, 2.0]])
    >>> most_separating_pair(ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2))
    (0, 1)
    """
    chosen = most_separating_columns(moments, MAX_PAIRED_COLUMNS)
    column_moments = moments.select_columns(chosen)
    if column_moments.scatters.ndim == 3:
        within = column_moments.scatters.sum(axis=0)
    elif column_moments.roots is not None:
        within = np.einsum("kmi,kmj->ij", column_moments.roots, column_moments.roots)
    else:
        within = np.diag(column_moments.squares.sum(axis=0))
    nonempty = column_moments.counts > 0
    total = within + between_scatter(column_moments.means[nonempty], column_moments.counts[nonempty])
    root_totals = np.sqrt(np.diagonal(total))
    with np.errstate(invalid="ignore", divide="ignore"):
        within, total = (scatter / root_totals / root_totals[:, None] for scatter in (within, total))
        univariate_lambdas = np.diagonal(within)
        determinants = np.maximum(univariate_lambdas * univariate_lambdas[:, None] - within**2, 0.0)
        # For columns that are identical up to rounding, use the better of the two.
        lambdas = np.where(
            1 - total**2 > 1e-8,
            determinants / (1 - total**2),
            np.minimum(univariate_lambdas, univariate_lambdas[:, None]),
        )
    lambdas[np.tril_indices(len(chosen))] = np.inf
    lambdas[np.isnan(lambdas)] = 1.0
    first, second = np.unravel_index(np.argmin(lambdas), lambdas.shape)
    return int(chosen[first]), int(chosen[second])


def t_table(coef: Floats, se: Floats, df: float, index: pd.Index, level: float) -> pd.DataFrame:
    """Return a table of coefficients with t tests and intervals, similar to R's `summary.lm`.

    Parameters
    ----------
    coef, se : (m,) float
        Coefficients and standard errors.
    df : float
        Residual degrees of freedom; p-values and limits are NaN unless it is positive.
    index : pandas.Index
        Labels of the coefficients.
    level : float
        Confidence level; a DataError is raised if it is not between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        Columns coef, se, t, p (two-sided), low, high, with the given index.
    """
    check_level(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coef / se
    degrees = df if df > 0 else np.nan
    half = t_isf((1 - level) / 2, degrees) * se
    columns = {"coef": coef, "se": se, "t": t, "p": 2 * t_sf(np.abs(t), degrees)}
    return pd.DataFrame(columns | {"low": coef - half, "high": coef + half}, index=index)


def regression_table(
    explained: Floats, residual: Floats, n_columns: int, df: float, index: pd.Index
) -> pd.DataFrame:
    """Return R2 and F test of several regressions on the same columns, similar to R's `summary.lm`.

    Parameters
    ----------
    explained, residual : (r,) float
        Explained sum of squares (about the mean) and residual sum of squares of each of r regressions.
    n_columns : int
        Number of columns without the constant, which are tested jointly.
    df : float
        Residual degrees of freedom; sigma and tests are NaN unless it is positive.
    index : pandas.Index
        Labels of the regressions.

    Returns
    -------
    pandas.DataFrame
        Columns R2, sigma (residual standard deviation), F, df1, df2, p.
    """
    degrees = df if df > 0 else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_square = residual / degrees
        f = explained / n_columns / mean_square
        columns = {"R2": explained / (explained + residual), "sigma": np.sqrt(mean_square), "F": f}
    columns |= {"df1": np.full(len(f), float(n_columns)), "df2": np.full(len(f), degrees)}
    return pd.DataFrame(columns | {"p": f_sf(f, n_columns, degrees)}, index=index)
