"""Covariances in factored form, from class moments, and linearly dependent columns.

All models of normal classes use `Covariance` and `dependencies`; `UpdatedRoot` is used in the stepwise choice
of columns.

A covariance S is stored as an upper triangular root R with R'R = S. With T = R^-1, T'(z - m) has unit
covariance: distances, determinants and discriminants are sums of squares of such whitened coordinates, and S
itself is never inverted. A diagonal covariance is stored as standard deviations.

*Solving.* R'w = z is solved by substitution, with an error equivalent to rounding R: of the order of
eps |T'||R'||w|, which rounding of the data causes as well. The computed T has an error of eps |T||R||T|,
therefore the product T'z may have an error of eps |T'||R'||T'||R'||w|: the square of the condition. A product
is faster for few columns and many rows, and is used if the condition |T||R| shows that it is as accurate.

*Dependent columns.* A column is dependent if its residual on earlier columns, within classes, is at most
the rounding error of the columns: such a residual contains no information on the data.

*Adding and removing columns.* With Q orthogonal, U = QR is a root of S as well. If the first m rows of U
are triangular in m chosen columns, and the rows below are zero there, the rows below contain the residual of
every other column on the chosen ones: its conditional sum of squares is a sum of squares without subtraction.
A column is added by a Householder reflection of the rows below and removed by Givens rotations (Golub & Van
Loan, 2013, Matrix Computations, sec. 6.5). Each step is orthogonal. After any number of steps U is the root
of a scatter whose columns have errors in their last digits, whereas sweeping S itself loses twice the digits
that the condition of R costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import scipy

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Codes, Floats

MAX_NEAR_DEPENDENT_RATIO = 1e-6
"""Residual standard deviation of a nearly dependent column, relative to its own: an upper limit."""

MIN_SLOPE_RATIO = 1e-3
"""Smallest slope of a predictor in `NearDependency`, relative to the largest, for columns of length one."""

MIN_COLUMNS_TO_SOLVE = 64
"""Number of columns at or above which triangular systems are solved by BLAS, without a stored inverse."""

MIN_SEPARATION_ROUNDING_ERRORS = 16.0
"""Difference of class means, in rounding errors, above which a column combination separates classes."""

MAX_CONDITION_OF_INVERSE = 100.0
"""Largest row sum of |T||R|, for a root R with inverse T, up to which products with T are accurate."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """One covariance matrix, stored as its triangular root.

    Attributes
    ----------
    root : (p, p) or (p,) float
        Upper triangular R with R'R the covariance; for a diagonal covariance, the standard deviations.
    factor : (p, p) float or None
        R^-1, if there are few columns and a product with it is as accurate as solving with R; else None.
    """

    root: Floats
    factor: Floats | None

    @staticmethod
    def from_root(root: Floats) -> Covariance:
        """Return the covariance R'R of a nonsingular upper triangular R (p, p).

        A root of shape (p,) contains the standard deviations of a diagonal covariance.
        """
        return Covariance.from_roots(root[None])[0]

    @staticmethod
    def from_roots(roots: Floats, inverses: Floats | None = None) -> tuple[Covariance, ...]:
        """Return the T covariances of upper triangular roots (T, p, p) or standard deviations (T, p).

        `inverses` (T, p, p) of the roots are computed by default; they are not used if p is large.
        """
        if roots.ndim == 2:
            return tuple(Covariance(root, None) for root in roots)
        if roots.shape[1] >= MIN_COLUMNS_TO_SOLVE:
            return tuple(Covariance(np.asfortranarray(root), None) for root in roots)
        # NumPy's inverse preserves triangles. Importing scipy.linalg would double the imports of a small fit.
        inverses = np.triu(np.linalg.inv(roots)) if inverses is None else inverses
        conditions = (np.abs(inverses) @ np.abs(roots).sum(axis=2)[:, :, None]).max(axis=(1, 2), initial=0.0)
        return tuple(
            Covariance(root, inverse if condition <= MAX_CONDITION_OF_INVERSE else None)
            for root, inverse, condition in zip(roots, inverses, conditions, strict=True)
        )

    @property
    def is_diagonal(self) -> bool:
        """Whether the covariance is diagonal."""
        return self.root.ndim == 1

    @property
    def inverse(self) -> Floats:
        """R^-1 (p, p), upper triangular; reciprocals of the standard deviations (p,) if diagonal.

        To multiply columns by it, `whiten` and `unwhiten` are more accurate.
        """
        if self.is_diagonal:
            return np.asarray(1.0 / self.root)
        return np.triu(scipy.linalg.lapack.dtrtri(self.root)[0]) if self.factor is None else self.factor

    @property
    def logdet(self) -> float:
        """Natural logarithm of the determinant of the covariance."""
        diagonal = self.root if self.is_diagonal else np.diagonal(self.root)
        return float(2.0 * np.log(np.abs(diagonal)).sum())

    @property
    def sd(self) -> Floats:
        """Standard deviations (p,)."""
        return np.asarray(self.root if self.is_diagonal else np.sqrt((self.root**2).sum(axis=0)))

    def matrix(self) -> Floats:
        """Return the covariance matrix (p, p)."""
        return np.diag(self.root**2) if self.is_diagonal else np.asarray(self.root.T @ self.root)

    def multiply(self, columns: Floats) -> Floats:
        """Return the covariance matrix times columns (p, ...)."""
        if self.is_diagonal:
            return columns * (self.root**2).reshape(-1, *[1] * (columns.ndim - 1))
        return np.asarray(self.root.T @ (self.root @ columns))

    def whiten(self, columns: Floats) -> Floats:
        """Return T' times columns (p, ...), with T = R^-1.

        Columns are vectors z; if z has this covariance, T'z has unit covariance.
        """
        if self.is_diagonal:
            return columns / self.root.reshape(-1, *[1] * (columns.ndim - 1))
        return self._solve(columns, transposed=True)

    def unwhiten(self, columns: Floats) -> Floats:
        """Return T times columns (p, ...), with T = R^-1.

        Coefficients of whitened data are converted to coefficients of the data.
        """
        if self.is_diagonal:
            return columns / self.root.reshape(-1, *[1] * (columns.ndim - 1))
        return self._solve(columns, transposed=False)

    def _solve(self, columns: Floats, *, transposed: bool) -> Floats:
        """Return R^-1 times columns (p, ...), or R'^-1 times columns if `transposed`; R is not diagonal."""
        if self.factor is not None:
            return np.asarray((self.factor.T if transposed else self.factor) @ columns)
        # BLAS expects column-major arrays, so the transposed system is solved from the right.
        rows = columns.reshape(len(self.root), -1).T
        solution = scipy.linalg.blas.dtrsm(1.0, self.root, rows, side=1, trans_a=0 if transposed else 1)
        return np.asarray(solution.T.reshape(columns.shape))

    def precision(self) -> Floats:
        """Return the inverse of the covariance matrix (p, p)."""
        if self.is_diagonal:
            return np.diag(self.inverse**2)
        inverse = self.inverse
        return np.asarray(inverse @ inverse.T)

    def divided_by(self, divisor: float) -> Covariance:
        """Return the covariance divided by a positive number."""
        unit = np.sqrt(divisor)
        return Covariance(self.root / unit, None if self.factor is None else self.factor * unit)


def pooled_covariance(moments: ClassMoments, divisor: float, *, diagonal: bool = False) -> Covariance:
    """Return the pooled covariance within classes: the pooled scatter over a divisor.

    Parameters
    ----------
    moments : ClassMoments
        Moments without linearly dependent columns; with `diagonal`, without columns that are constant within
        classes.
    divisor : float
        Divisor of the scatter, for example N - K.
    diagonal : bool
        Whether the result is diagonal, with variances only.

    Returns
    -------
    Covariance
        In the coordinates z of the moments.
    """
    pooled_moments = moments.pool_classes()
    if diagonal:
        return Covariance.from_root(np.sqrt(pooled_moments.squares.sum(axis=0) / divisor))
    return _covariance_of_scatter(pooled_moments, 0, divisor)


def class_covariances(
    moments: ClassMoments, divisors: Floats, *, diagonal: bool = False
) -> tuple[Covariance, ...]:
    """Return the covariance of each class.

    Parameters
    ----------
    moments : ClassMoments
        Moments with a scatter of full rank for each class; with `diagonal`, without constant columns.
    divisors : (K,) float
        Divisors of the scatters.
    diagonal : bool
        Whether the results are diagonal, with variances only.

    Returns
    -------
    tuple of K Covariance
        In the coordinates z of the moments.
    """
    if diagonal:
        return tuple(Covariance.from_root(sd) for sd in np.sqrt(moments.squares / divisors[:, None]))
    if moments.roots is not None:
        return Covariance.from_roots(moments.roots / np.sqrt(divisors)[:, None, None])
    return tuple(_covariance_of_scatter(moments, k, float(d)) for k, d in enumerate(divisors))


def common_divisor(moments: ClassMoments, method: str, covariates: int = 0) -> float:
    """Return the divisor of the pooled scatter.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    method : str
        "moment" for the unbiased estimate; any other value for maximum likelihood.
    covariates : int
        Number of covariates, q.

    Returns
    -------
    float
        N - K - q for "moment", else N, with N the sum of the weights and K the number of classes.
    """
    return moments.total - (moments.n_classes + covariates if method == "moment" else 0)


def divisors_by_class(counts: Floats, method: str) -> Floats:
    """Return the divisors (K,) of the scatters of classes: n_k - 1 for "moment", else the counts n_k."""
    return counts - (1.0 if method == "moment" else 0.0)


def _covariance_of_scatter(moments: ClassMoments, k: int, divisor: float) -> Covariance:
    """Return the covariance, in z, from the scatter at position k of the moments, divided by `divisor`.

    Raises LinAlgError if moments without roots have a scatter that is not positive definite.
    """
    if moments.roots is not None:
        return Covariance.from_root(moments.roots[k] / np.sqrt(divisor))
    sd = np.sqrt(np.diagonal(moments.scatters[k]))
    correlation = moments.scatters[k] / sd / sd[:, None]
    root = scipy.linalg.cholesky(correlation.T, overwrite_a=True, check_finite=False)
    return Covariance.from_root(root * (sd / np.sqrt(divisor)))


def scaled_cholesky(matrix: Floats) -> Floats:
    """Return the upper triangular R (p, p) with R'R a covariance matrix, from its correlation matrix.

    Raises LinAlgError if the matrix is not positive definite.
    """
    sd = np.sqrt(np.diagonal(matrix))
    return np.asarray(scipy.linalg.cholesky(matrix / sd / sd[:, None], check_finite=False) * sd)


def is_positive_definite(matrix: Floats) -> bool:
    """Return whether a symmetric matrix (p, p) is positive definite, by Cholesky of its lower triangle."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Dependency:
    """A column that is a linear combination of earlier columns within classes.

    Attributes
    ----------
    column : int
        Position of the column.
    predictors : tuple of int
        Positions of the earlier columns; empty if the column is constant within classes.
    separates_classes : bool
        Whether class means differ in the residual of the column on its predictors. The residual then
        separates some classes without error. False for a dependency within a single class.
    """

    column: int
    predictors: tuple[int, ...]
    separates_classes: bool = False


def is_singular(root: Floats, moments: ClassMoments, min_residual: float) -> bool:
    """Return whether a column of a triangular root is a linear combination of earlier columns.

    This is the case if its residual on the earlier columns is at most `min_residual` times its length or,
    for columns of length one, at most `qr_rounding` times the length of the vector of its slopes and one.

    Parameters
    ----------
    root : (p, p) float
        Upper triangular root of a scatter or covariance.
    moments : ClassMoments
        Moments of the rows, from which the rounding error follows.
    min_residual : float
        Smallest residual, relative to the length of the column, of an independent column.

    Returns
    -------
    bool
        True if any column is such a combination.
    """
    norms = np.sqrt((root**2).sum(axis=0))
    if (np.abs(np.diagonal(root)) <= min_residual * norms).any():
        return True
    # A column of the inverse contains the slopes divided by the residual.
    inverse = np.triu(scipy.linalg.lapack.dtrtri(root / norms)[0])
    return bool(np.sqrt((inverse**2).sum(axis=0)).max() >= 1 / qr_rounding(moments))


class NearDependency(NamedTuple):
    """A column that earlier columns nearly determine.

    Attributes
    ----------
    column : int
        Position of the column.
    predictors : tuple of int
        Positions of the earlier columns whose slopes exceed `MIN_SLOPE_RATIO` times the largest slope.
    residual_ratio : float
        Standard deviation of its residual on all earlier columns, divided by its own.
    """

    column: int
    predictors: tuple[int, ...]
    residual_ratio: float


def near_dependencies(moments: ClassMoments, k: int | None = None) -> list[NearDependency]:
    """Find the columns that earlier columns nearly determine.

    The residual of such a column, within classes, has less than `MAX_NEAR_DEPENDENT_RATIO` of its standard
    deviation; its variance inflation factor exceeds 1e12.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int, optional
        Position of a class; by default the pooled scatter.

    Returns
    -------
    list of NearDependency
        In the order of the columns. Empty for moments without roots, which are well-conditioned, and if there
        are fewer rows than columns or a residual is exactly zero.
    """
    group = moments.pool_classes() if k is None else moments.select_classes(np.array([k]))
    if group.roots is None:
        return []
    norms = np.sqrt(group.squares.sum(axis=0))
    root = group.roots[0] / np.where(norms > 0, norms, 1.0)
    if len(root) < group.n_columns:
        return []
    if len(root) > group.n_columns or np.tril(root, -1).any():
        root = np.linalg.qr(root, mode="r")
    relative_residuals = np.abs(np.diagonal(root))
    if not relative_residuals.all():
        return []
    near_dependent = []
    for j in np.flatnonzero(relative_residuals < MAX_NEAR_DEPENDENT_RATIO).tolist():
        slopes = np.abs(_solve_triangular(root[:j, :j], root[:j, j]))
        predictors = np.flatnonzero(slopes > MIN_SLOPE_RATIO * slopes.max(initial=0.0))
        near_dependent.append(NearDependency(j, tuple(predictors.tolist()), float(relative_residuals[j])))
    return near_dependent


def qr_rounding(moments: ClassMoments) -> float:
    """Return a bound on the rounding error that the QR of the rows adds to a column of length one.

    It is 4 p + sqrt(n) machine epsilons for n rows of p columns.
    """
    return (4 * moments.n_columns + float(np.sqrt(moments.rows.sum()))) * EPS


def total_squares(moments: ClassMoments) -> Floats:
    """Return the sums of squares (p,) of the columns about the weighted means of all rows, in units of z."""
    means = moments.means
    mean_deviations = means - (moments.counts / moments.total) @ means
    return np.asarray(moments.squares.sum(axis=0) + moments.counts @ mean_deviations**2)


def constant_columns(moments: ClassMoments) -> list[int]:
    """Return the positions of the columns that are constant over all rows, up to rounding.

    The root of their sum of squares about the mean of all rows is at most eps sqrt(N) times the typical size
    of their values, `moments.magnitude`.
    """
    rounding = EPS * np.sqrt(moments.total) * moments.magnitude
    if (np.sqrt(moments.squares.sum(axis=0)) > rounding).all():
        # Sums of squares about the overall means are at least as large.
        return []
    return np.flatnonzero(np.sqrt(total_squares(moments)) <= rounding).tolist()


def dependencies(moments: ClassMoments, k: int | None = None, *, diagonal: bool = False) -> list[Dependency]:
    """Find the columns that are linear combinations of earlier columns, up to rounding.

    The columns of a root, scaled to length one, are orthogonalized in their order. A column is dependent if
    its residual on the earlier ones, with slopes b, is at most the sum of

    - sum_i abs(b_i) r_i, with r = eps sqrt(N) times the typical size of the values of each column, and
    - t abs(b), with t the rounding error of the QR, about eps sqrt(N) for N rows. As the smallest singular
      value is at most the residual over abs(b), columns of full rank up to t are not found dependent.

    Both include a slope of one for the column itself. Moments without roots are well-conditioned, therefore
    only constant columns are searched for.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int, optional
        Position of a class; by default the pooled scatter.
    diagonal : bool
        Whether only constant columns are searched for.

    Returns
    -------
    list of Dependency
        In the order of the columns. The predictors are independent columns whose slopes exceed 1e-6 for
        columns of length one. A column that is constant within classes has no predictors.
    """
    group = moments.pool_classes() if k is None else moments.select_classes(np.array([k]))
    rounding = EPS * np.sqrt(group.counts.sum()) * group.magnitude
    norms = np.sqrt(group.squares.sum(axis=0))
    p = group.n_columns
    qr_error = qr_rounding(group)
    varies = bool((norms > rounding).all())
    if varies and (
        group.roots is None
        or diagonal
        or _clearly_independent(group.roots[0] / norms, rounding / norms, qr_error)
    ):
        return []
    separation_test = cache(partial(_separation_test, moments))

    def separates_classes(j: int, predictors: Sequence[int], slopes: Floats) -> bool:
        """Return whether class means differ in the residual of column j; False if k is a single class.

        The arguments are the position of the column, the positions of the other columns, and their slopes in
        units of z.
        """
        return k is None and separation_test()(j, predictors, slopes)

    constant_positions = np.flatnonzero(norms <= rounding).tolist()
    constant = [Dependency(j, (), separates_classes(j, [], np.zeros(0))) for j in constant_positions]
    if group.roots is None or diagonal:
        return constant

    unit = np.where(norms > 0, norms, 1.0)
    root = group.roots[0] / unit
    rounding = rounding / unit
    # The independent columns equal basis @ triangle, therefore slopes follow by substitution.
    basis = np.zeros((len(root), p), order="F")
    triangle = np.zeros((p, p), order="F")
    independent: list[int] = []
    dependent = list(constant)
    for j in range(p):
        if j in constant_positions:
            continue
        n_independent = len(independent)
        residual = root[:, j]
        projections = np.zeros(n_independent)
        for _ in range(2):
            step = basis[:, :n_independent].T @ residual
            residual = residual - basis[:, :n_independent] @ step
            projections = projections + step
        residual_norm = float(np.linalg.norm(residual))
        slopes = _solve_triangular(triangle[:n_independent, :n_independent], projections)
        if residual_norm <= residual_tolerance(slopes, rounding[j], rounding[independent], qr_error):
            predictors = [independent[i] for i in np.flatnonzero(np.abs(slopes) > 1e-6)]
            data_slopes = slopes * unit[j] / unit[independent]
            is_separating = separates_classes(j, independent, data_slopes)
            dependent.append(Dependency(j, tuple(predictors), is_separating))
            continue
        basis[:, n_independent] = residual / residual_norm
        triangle[:n_independent, n_independent] = projections
        triangle[n_independent, n_independent] = residual_norm
        independent.append(j)
    return sorted(dependent, key=lambda dependency: dependency.column)


def _separation_test(moments: ClassMoments) -> Callable[[int, Sequence[int], Floats], bool]:
    """Return a function that tests whether class means differ in the residual of a column on other columns.

    Its arguments are the position of the column, the positions of the other columns, and their slopes in
    units of z. Classes without rows are ignored.
    """
    means = moments.means[moments.rows > 0]
    mean_differences = means - means[0]
    rounding = EPS * np.sqrt(moments.total) * moments.magnitude

    def separates_classes(j: int, predictors: Sequence[int], slopes: Floats) -> bool:
        """Return whether class means of the residual differ by more than rounding errors.

        Parameters
        ----------
        j : int
            Position of the column.
        predictors : sequence of m int
            Positions of the other columns.
        slopes : (m,) float
            Slopes of column j on the other columns, in units of z.

        Returns
        -------
        bool
            True if the residual mean of a class differs from the residual mean of the first class with
            rows by more than `MIN_SEPARATION_ROUNDING_ERRORS` rounding errors.
        """
        residual_differences = mean_differences[:, j] - mean_differences[:, predictors] @ slopes
        terms = np.abs(mean_differences[:, j]) + np.abs(mean_differences[:, predictors]) @ np.abs(slopes)
        rounding_errors = rounding[j] + rounding[predictors] @ np.abs(slopes) + np.sqrt(EPS) * terms
        return bool((np.abs(residual_differences) > MIN_SEPARATION_ROUNDING_ERRORS * rounding_errors).any())

    return separates_classes


def _clearly_independent(root: Floats, rounding: Floats, qr_error: float) -> bool:
    """Return whether all columns are independent by a margin, without the search of `dependencies`.

    Parameters
    ----------
    root : (r, p) float
        Upper triangular root with columns of length one.
    rounding : (p,) float
        Rounding errors of the columns, relative to their lengths.
    qr_error : float
        Rounding error of the QR of the rows for columns of length one, the result of `qr_rounding`.

    Returns
    -------
    bool
        Whether each residual is more than twice the bound of `dependencies`; False if r < p.
    """
    residuals = np.abs(np.diagonal(root))
    if len(root) < root.shape[1] or not residuals.all():
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        # A column of the inverse contains the slopes divided by the residual.
        slopes = np.abs(np.triu(np.linalg.inv(root))) * residuals
        rounding_errors = rounding @ slopes + qr_error * np.linalg.norm(slopes, axis=0)
        return bool((residuals > 2 * rounding_errors).all())


def residual_tolerance(slopes: Floats, rounding: float, predictor_rounding: Floats, qr_error: float) -> float:
    """Return the length up to which the residual of a column on earlier columns may be rounding error.

    All columns have length one.

    Parameters
    ----------
    slopes : (m,) float
        Slopes of the column on earlier columns.
    rounding : float
        Rounding error of the column.
    predictor_rounding : (m,) float
        Rounding errors of the earlier columns.
    qr_error : float
        Rounding error of the QR of the rows for columns of length one, the result of `qr_rounding`.

    Returns
    -------
    float
        `rounding` plus the slopes times `predictor_rounding`, plus `qr_error` times the length of the vector
        of all slopes, including a slope of one for the column itself.
    """
    return float(
        rounding + np.abs(slopes) @ predictor_rounding + qr_error * np.hypot(1, np.linalg.norm(slopes))
    )


def _solve_triangular(triangle: Floats, column: Floats) -> Floats:
    """Return the solution (m,) of an upper triangular system (m, m) with right-hand side `column` (m,).

    NumPy solves systems of fewer than `MIN_COLUMNS_TO_SOLVE` rows, BLAS larger ones.
    """
    if len(column) < MIN_COLUMNS_TO_SOLVE:
        return np.asarray(np.linalg.solve(triangle, column))
    return np.asarray(scipy.linalg.blas.dtrsv(triangle, column))


class UpdatedRoot:
    """Root U (r, p) of a scatter that is updated when columns are chosen or dropped.

    The m chosen columns, the pivots, are an upper triangle in the order in which they were chosen.

    Attributes
    ----------
    pivots : list of int
        Positions of the chosen columns, in this order.

    Examples
    --------
    >>> root = UpdatedRoot(np.array([[1.0, 1.0], [0.0, 2.0]]))
    >>> root.add(1)
    >>> round(float(root.residuals([0])[:, 0] @ root.residuals([0])[:, 0]), 12)
    0.8
    """

    def __init__(self, root: Floats) -> None:
        """Copy a root (r, p) of the scatter of all columns; no column is chosen yet."""
        self._root = np.array(root, order="F")
        self.pivots: list[int] = []

    def residuals(self, columns: Codes | list[int]) -> Floats:
        """Return residuals (r - m, c), up to a rotation, of the regression of c columns on the m pivots."""
        return self._root[len(self.pivots) :, columns]

    def squares(self) -> Floats:
        """Return the sums of squares (p,) of the residuals of all columns on the pivots."""
        residual_rows = self._root[len(self.pivots) :]
        return np.asarray(np.einsum("ij,ij->j", residual_rows, residual_rows))

    def leading_rows(self, columns: Codes | list[int]) -> Floats:
        """Return the first m rows (m, c) of the updated root, for m pivots, of the columns at c positions.

        `solve` converts them to slopes on the pivots.
        """
        return self._root[: len(self.pivots), columns]

    def triangle(self) -> Floats:
        """Return the upper triangular root (m, m) of the scatter of the pivots, in their order."""
        return np.asfortranarray(self._root[: len(self.pivots), self.pivots])

    def solve(self, columns: Floats, *, transposed: bool = False) -> Floats:
        """Return X (m, c) with triangle X = columns, or triangle' X = columns if `transposed`.

        Without pivots the result is zeros of the shape of `columns`.
        """
        if not self.pivots:
            return np.zeros_like(columns)
        solution = scipy.linalg.solve_triangular(self.triangle(), columns, trans=1 if transposed else 0)
        return np.asarray(solution)

    def inverse(self) -> Floats:
        """Return the inverse (m, m) of `triangle`, for at least one pivot.

        The reciprocal of the squared length of a row is the residual sum of squares of its column on the
        other chosen columns.
        """
        return np.asarray(scipy.linalg.lapack.dtrtri(self.triangle(), overwrite_c=1)[0])

    def add(self, column: int) -> None:
        """Add a column, by its position, as the last pivot; it must not be a pivot already."""
        n_pivots = len(self.pivots)
        residual_rows = self._root[n_pivots:]
        reflector = residual_rows[:, column].copy()
        norm = float(np.linalg.norm(reflector))
        if norm:
            reflector[0] += np.copysign(norm, reflector[0])
            reflector /= np.linalg.norm(reflector)
            residual_rows -= np.outer(2.0 * reflector, reflector @ residual_rows)
        self._root[n_pivots + 1 :, column] = 0.0
        # The chosen columns are zero below the triangle; remove rounding errors.
        self._root[n_pivots:, self.pivots] = 0.0
        self.pivots.append(column)

    def drop(self, column: int) -> None:
        """Remove a pivot, by the position of its column; raise ValueError if it was not chosen."""
        first = self.pivots.index(column)
        del self.pivots[first]
        for i, other in enumerate(self.pivots[first:], first):
            a, b = self._root[i : i + 2, other]
            norm = float(np.hypot(a, b))
            if norm:
                rotation = np.array([[a, b], [-b, a]]) / norm
                self._root[i : i + 2] = rotation @ self._root[i : i + 2]
            self._root[i + 1, other] = 0.0
