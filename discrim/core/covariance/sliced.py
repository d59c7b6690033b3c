"""Covariances on reduced axes of quadratic discriminant analysis: sliced average variance estimation (SAVE).

`SAVECovariance` is the covariance model of `qda(..., ncomp=)`.

*Axes.* Let z be a row less the mean of all rows, whitened by the covariance S of all rows (divisor N), p_k
the proportion of class k, and S_k the covariance of z in it (divisor n_k). Because the S_k and the means
satisfy sum_k p_k S_k + between = I, a direction along which every class has the variance of all rows has
equal means too: all differences between normal classes with individual covariances are in the span of all
I - S_k. The axes are the leading eigenvectors v of

    M = sum_k p_k (I - S_k)^2

(Cook & Weisberg, 1991, JASA 86, 328-332; Cook & Yin, 2001, Australian & New Zealand Journal of Statistics 43,
147-199; Pardoe, Yin & Cook, 2007, Technometrics 49, 172-183). In terms of the columns, the directions are
S^-1/2 v: they have variance one over all rows, are uncorrelated, and are equivariant under regular linear
transformations of the columns, such as other units.

*Orthonormal axes.* A rule of normal classes is the same in any coordinates of the same scores. Therefore the
directions are orthonormalized in their order by a QR: the first q axes span the same space as the first q
directions, for each q. Log-determinants refer to the scores of variance one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, total_squares
from discrim.core.covariance.model import NormalClasses
from discrim.core.covariance.principal import positive_signs, tied_axes
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.covariance.total_axes import TotalAxes
from discrim.core.errors import (
    InvalidStateError,
    NoEstimateError,
    SingularEstimateError,
    UnsuitableOptionError,
    positions_at_fault,
)
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Floats
from discrim.core.rules.leave_one_out import LeaveOneOutScorer, refit_each_row


@dataclass(frozen=True, slots=True, eq=False)
class SlicedAxes(TotalAxes):
    """Axes of sliced average variance estimation, from the matrix M of the module docstring.

    `eigenvalues` are the eigenvalues of M as proportions of their sum, and `axes` (p, p) are orthonormal.

    Attributes
    ----------
    kernel_eigenvalues : (p,) float
        Eigenvalues of M, in decreasing order.
    directions : (p, p) float
        Directions in rows, of y = z * unit, with variance one over all rows. The largest coefficient is
        positive.
    orthogonal_lengths : (p,) float
        Length of the component of each direction that is orthogonal to earlier directions.
    """

    kernel_eigenvalues: Floats
    directions: Floats
    orthogonal_lengths: Floats

    def comparable_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments unchanged, because standardized columns are on comparable scales."""
        return moments

    def loadings(self, scale: Floats) -> Floats:
        """Return the directions, rows of (p, p), as coefficients of the data; `scale` is the scale of z."""
        return np.asarray(self.directions * self.unit * scale)

    def tied_axes(self, count: int) -> tuple[int, int] | None:
        """Return first and last axis (from one) of a tie that keeping the first `count` axes separates.

        Otherwise None.
        """
        # Eigenvalues have the rounding errors of the identity, from which covariances are subtracted.
        return tied_axes(self.kernel_eigenvalues, count, floor=max(float(self.kernel_eigenvalues[0]), 1.0))

    def covariance_of_scores(self, covariance: Covariance, count: int) -> Floats:
        """Return the covariance (q, q) of the scores on the first q = `count` directions.

        `covariance` is the covariance of z.
        """
        scaled_directions = self.directions[:count] * self.unit
        return np.asarray(scaled_directions @ covariance.matrix() @ scaled_directions.T)

    def columns_at(self, scores: Floats) -> Floats:
        """Return rows z (m, p), about the overall mean, with these scores (m, q) on the first q directions.

        Of all such rows they have the smallest y = z * unit.
        """
        pseudo_inverse = np.linalg.pinv(self.directions[: scores.shape[1]])
        return np.asarray(scores @ pseudo_inverse.T / self.unit)

    def log_factor(self, count: int) -> float:
        """Return the log-determinant of the map from scores on directions to scores on orthonormal axes.

        It refers to the first `count` of both.
        """
        return -float(np.log(self.orthogonal_lengths[:count]).sum())


def sliced_axes(moments: ClassMoments) -> SlicedAxes:
    """Compute all p axes from moments by class.

    Raises SingularEstimateError if the covariance of all rows is singular, or there are at most p rows.
    Classes without rows are ignored.
    """
    total = moments.as_one_class()
    sd = np.sqrt(total_squares(total) / total.total)
    p = moments.n_columns
    if not (sd > 0).all() or moments.rows.sum() <= p:
        raise SingularEstimateError("singular_total", n_rows=int(moments.rows.sum()), n_columns=p)
    root = _lower_root(total, sd)
    if root is None:
        raise SingularEstimateError("singular_total", n_rows=int(moments.rows.sum()), n_columns=p)
    kernel = np.zeros((p, p))
    for k in np.flatnonzero(moments.counts > 0):
        deficit = np.eye(p) - _whitened_class_covariance(moments, int(k), sd, root)
        kernel += moments.counts[k] / moments.total * (deficit @ deficit.T)
    kernel_eigenvalues, vectors = np.linalg.eigh(kernel)
    eigenvalues = np.maximum(kernel_eigenvalues[::-1], 0.0)
    directions = scipy.linalg.solve_triangular(root.T, vectors[:, ::-1])
    directions = directions * positive_signs(directions)
    axes, triangle = np.linalg.qr(directions)
    signs = np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
    df = int(moments.rows.sum()) - moments.n_classes
    return SlicedAxes(
        eigenvalues / (eigenvalues.sum() or 1.0),
        np.ascontiguousarray((axes * signs).T),
        1.0 / sd,
        moments.total,
        df,
        1.0,
        eigenvalues,
        np.ascontiguousarray(directions.T),
        np.abs(np.diagonal(triangle)),
    )


def _lower_root(total: ClassMoments, sd: Floats) -> Floats | None:
    """Return the lower triangular root of the total covariance of scaled columns; None if it is singular.

    If the moments have roots, because columns are nearly collinear, these are used without squaring them.

    Parameters
    ----------
    total : ClassMoments
        Moments of all rows as one class.
    sd : (p,) float
        Standard deviations that divide the columns.

    Returns
    -------
    (p, p) float or None
        L with LL' the total covariance (divisor N) of the scaled columns.
    """
    if total.roots is None:
        try:
            return np.asarray(np.linalg.cholesky(total.scatters[0] / total.total / sd / sd[:, None]))
        except np.linalg.LinAlgError:
            return None
    root = np.asarray(np.linalg.qr(total.roots[0] / np.sqrt(total.total) / sd, mode="r"))
    is_singular = len(root) < len(sd) or (np.abs(np.diagonal(root)) <= EPS * len(sd)).any()
    return None if is_singular else np.ascontiguousarray(root.T)


def _whitened_class_covariance(moments: ClassMoments, k: int, sd: Floats, root: Floats) -> Floats:
    """Compute the covariance of a class, with divisor n_k, whitened by the total covariance.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    k : int
        Position of the class.
    sd : (p,) float
        Standard deviations that divide the columns.
    root : (p, p) float
        Lower triangular root of the total covariance of the scaled columns.

    Returns
    -------
    (p, p) float
        L^-1 S_k L'^-1, with L the `root` and S_k the covariance of the scaled columns.
    """
    count = moments.counts[k]
    if moments.roots is not None:
        class_root = moments.roots[k] / np.sqrt(count) / sd
        half_whitened = scipy.linalg.solve_triangular(root, class_root.T, lower=True)
        return np.asarray(half_whitened @ half_whitened.T)
    half_whitened = scipy.linalg.solve_triangular(
        root, moments.scatters[k] / count / sd / sd[:, None], lower=True
    )
    return np.asarray(scipy.linalg.solve_triangular(root, half_whitened.T, lower=True))


@dataclass(frozen=True, slots=True)
class SAVECovariance(SubspaceCovariance):
    """Covariance model for the scores on the leading axes of sliced average variance estimation."""

    name = "sliced"
    is_supervised = True

    @property
    def depends_on_units(self) -> bool:
        """Whether the axes depend on the units of the columns: never, because columns are whitened."""
        return False

    # ---- estimates

    def spectrum(self, moments: ClassMoments) -> SlicedAxes:
        """Return all axes of the moments; raise SingularEstimateError if the total covariance is singular."""
        return sliced_axes(moments)

    def too_few_axes(self, n_requested: int, n_available: int) -> NoEstimateError:
        """Return an UnsuitableOptionError for fewer columns (`n_available`) than axes (`n_requested`)."""
        return UnsuitableOptionError("fewer_columns_than_axes", wanted=n_requested, available=n_available)

    def too_few_df(self, n_requested: int, df: int, k: int | None) -> NoEstimateError:
        """Return the error for scores with a singular covariance.

        Parameters
        ----------
        n_requested : int
            Number of scores.
        df : int
            Degrees of freedom.
        k : int or None
            Position of the class; None for the pooled covariance.

        Returns
        -------
        SingularEstimateError
            With both numbers and the position of the class.
        """
        return SingularEstimateError(
            "singular_scores_of_ncomp", class_positions=positions_at_fault(k), wanted=n_requested, df=df
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return a scorer that returns NaN for each row, because supervised axes require a refit.

        Raises CoreNotSupportedError if there are more than `MAX_REFITS` rows.
        """
        work = "of reduced axes requires a refit for each row"
        return refit_each_row(int(fitted.moments.rows.sum()), fitted.moments.n_classes, work)

    @property
    def refits_each_row(self) -> bool:
        """Whether leaving out a row requires a refit: always, because fixed axes would bias error rates."""
        return True

    # ---- files

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if the inner model is not full, or columns are standardized or indicators.

        The checks of `SubspaceCovariance` apply as well.
        """
        SubspaceCovariance.check_restored(self, n_covariances, n_columns)
        if not self.inner.traits.is_full or self.standardized or self.indicators is not None:
            raise InvalidStateError("its axes do not match its covariance")
