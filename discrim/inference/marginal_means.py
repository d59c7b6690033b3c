"""Marginal means of a multivariate linear model: estimates, Hotelling's tests, and named contrasts.

Rows Y (n, p) have the model Y = XB + U, the rows of U independent and normal with a common covariance matrix
S. A marginal mean (least-squares mean) is l B, with l the mean of the rows of X over a reference grid
(Searle, Speed & Milliken, 1980, The American Statistician 34, 216-221). With X = Q R and k = l R^-1, for a
response with the residual standard deviation s on v degrees of freedom

    estimate  k Q'y,    standard error  s |k|,    t = estimate / standard error on v degrees of freedom.

l B is estimable if l is a combination of rows of X, that is, orthogonal to the null space of X; otherwise it
depends on how B is chosen, and is missing. Hotelling's test of l B = 0 for all p responses jointly is
T2 = (l B) S^-1 (l B)'/|k|^2, with F = T2 (v - p + 1)/(v p) on p and v - p + 1 degrees of freedom.

Named contrasts of means are those of R's emmeans.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

import numpy as np
import scipy

from discrim.core.numerics.arrays import Floats
from discrim.inference.manova import LeastSquares

ContrastName = Literal["pairwise", "trt.vs.ctrl", "consec", "eff", "poly"]
"""Families of contrasts, see `named_contrasts`."""

ESTIMABILITY_TOLERANCE = 1e-8
"""Length of the part in the null space, relative to the whole, from which a combination is not estimable."""

MAX_POLYNOMIAL_DEGREE = 6
"""Largest degree of polynomial contrasts, like in R's emmeans."""


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """Linear combinations of the coefficients of a linear model, with their estimates.

    Attributes
    ----------
    values : (q, p) float
        Estimates for each response, in the units of the model; NaN if not estimable.
    directions : (q, r) float
        The vectors k of the module docstring, whose lengths are the standard errors divided by the residual
        standard deviation; NaN if not estimable.
    """

    values: Floats
    directions: Floats

    @classmethod
    def estimate(cls, estimates: LeastSquares, combinations: Floats, origin: Floats) -> Combinations:
        """Estimate combinations of the coefficients.

        Parameters
        ----------
        estimates : LeastSquares
        combinations : (q, m) float
            Weights of the coefficients of the columns of `estimates.x`, the constant first.
        origin : (p,) float
            Value of each response that corresponds to zero in `estimates.y`; it is added as often as the
            constant is in a combination.

        Returns
        -------
        Combinations
        """
        # The singular value decomposition replaces Q R, because X may be rank-deficient.
        norms = np.sqrt((estimates.x**2).sum(axis=0))
        norms[norms == 0] = 1.0
        left, singular_values, right = np.linalg.svd(estimates.x / norms, full_matrices=False)
        rank = estimates.rank
        scaled = combinations / norms
        directions = scaled @ right[:rank].T / singular_values[:rank]
        unestimable_part = np.linalg.norm(scaled @ right[rank:].T, axis=1)
        is_estimable = unestimable_part <= ESTIMABILITY_TOLERANCE * np.linalg.norm(scaled, axis=1)
        values = directions @ (left[:, :rank].T @ estimates.y) + np.outer(combinations[:, 0], origin)
        values[~is_estimable] = np.nan
        directions[~is_estimable] = np.nan
        return cls(values, directions)

    @property
    def lengths(self) -> Floats:
        """Lengths |k| (q,); NaN if not estimable."""
        return np.asarray(np.linalg.norm(self.directions, axis=1))

    def hotelling(self, estimates: LeastSquares) -> Floats:
        """Return Hotelling's T2 (q,) of the hypotheses that a combination is zero for all responses.

        The residual covariance matrix of `estimates`, the model of the combinations, has to be nonsingular.
        """
        unit = np.sqrt((estimates.error_root**2).sum(axis=0))
        standardized = (self.values / self.lengths[:, None] / unit).T
        whitened = scipy.linalg.solve_triangular(
            estimates.error_root / unit, standardized, trans="T", check_finite=False
        )
        return np.asarray(estimates.df * (whitened**2).sum(axis=0))


def named_contrasts(name: ContrastName, labels: list[str], reference: int = 0) -> dict[str, Floats]:
    """Return a family of contrasts between k means.

    Parameters
    ----------
    name : {"pairwise", "trt.vs.ctrl", "consec", "eff", "poly"}
        Differences of all pairs (the first minus the second); from the reference; of each mean from the one
        before it; of each mean from their average; or orthogonal polynomials for equidistant levels, in the
        smallest integers, up to degree 6.
    labels : list of str
        Labels of the k means, k >= 2. Those that contain " - " are in parentheses in differences.
    reference : int
        Position of the reference of "trt.vs.ctrl".

    Returns
    -------
    dict of str to (k,) float
        Coefficients by label of the contrast, such as "a - b".

    Examples
    --------
    >>> {label: row.tolist() for label, row in named_contrasts("poly", ["1", "2", "3"]).items()}
    {'linear': [-1.0, 0.0, 1.0], 'quadratic': [1.0, -2.0, 1.0]}
    """
    k = len(labels)
    unit = np.eye(k)
    match name:
        case "pairwise":
            pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        case "trt.vs.ctrl":
            pairs = [(i, reference) for i in range(k) if i != reference]
        case "consec":
            pairs = [(i, i - 1) for i in range(1, k)]
        case "eff":
            return {f"{label} effect": unit[i] - 1 / k for i, label in enumerate(labels)}
        case "poly":
            return _polynomial_contrasts(k)
    operands = [f"({label})" if " - " in label else label for label in labels]
    return {f"{operands[i]} - {operands[j]}": unit[i] - unit[j] for i, j in pairs}


def _polynomial_contrasts(k: int) -> dict[str, Floats]:
    """Return the orthogonal polynomials on 1, ..., k in the smallest integers, by name of the degree.

    They are computed in rational numbers by the method of Gram and Schmidt.
    """
    names = ["linear", "quadratic", "cubic", "quartic", "degree 5", "degree 6"]
    basis = [[Fraction(1)] * k]
    contrasts = {}
    for degree, name in enumerate(names[: min(k - 1, MAX_POLYNOMIAL_DEGREE)], start=1):
        column = [Fraction(i) ** degree for i in range(1, k + 1)]
        for other in basis:
            products = (a * b for a, b in zip(column, other, strict=True))
            slope = sum(products, Fraction(0)) / sum((b * b for b in other), Fraction(0))
            column = [a - slope * b for a, b in zip(column, other, strict=True)]
        basis.append(column)
        denominator = lcm(*(a.denominator for a in column))
        integers = [int(a * denominator) for a in column]
        contrasts[name] = np.array([a // gcd(*integers) for a in integers], dtype=np.float64)
    return contrasts
