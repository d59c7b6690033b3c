"""Full covariances that are inverted by the Moore-Penrose pseudo-inverse.

`PseudoInverseCovariance` is the model for linearly dependent columns, or more columns than rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    class_divisor_pairs,
    full_leave_one_out_scorer,
)
from discrim.core.covariance.principal import (
    ThinCovariance,
    principal_axes,
    single_scatter_moments,
    weighted_centre,
)
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Floats
from discrim.core.rules.leave_one_out import LeaveOneOutScorer


@dataclass(frozen=True, slots=True)
class PseudoInverseCovariance(CovarianceModel):
    """Full covariance on the axes of positive variance; distances ignore the orthogonal complement."""

    name = "pinv"
    traits = CovarianceTraits(is_regular=True)

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments with the ratios of the column scales limited to the range of float64."""
        return limit_scales(moments)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances, pooled or by class, on the axes along which rows vary.

        The scatters are divided by the divisors (1,) or (K,); the moments of the result have limited scales.
        """
        moments = self.rescale_moments(moments)
        return CovarianceEstimates(
            self,
            moments,
            tuple(pseudo_inverse_covariance(moments, d, k) for k, d in class_divisor_pairs(divisors)),
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, with the formulas of the full covariance.

        It is a plain function, without the second pass of `FullLeaveOneOut`.
        """
        scores = full_leave_one_out_scorer(replace(fitted, moments=self.rescale_moments(fitted.moments)))
        # Hide the `FullLeaveOneOut`: its second pass over inaccurate rows is not valid for a pseudo-inverse.
        return lambda x, codes, weights: scores(x, codes, weights)


def pseudo_inverse_covariance(moments: ClassMoments, divisor: float, k: int | None = None) -> ThinCovariance:
    """Compute the covariance of a class, or the pooled one, on its axes of positive variance.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    divisor : float
        Divisor of the scatter.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    ThinCovariance
        Without variance in the complement, which distances therefore ignore.
    """
    spectrum = principal_axes(moments, k)
    group = single_scatter_moments(moments, k)
    # Eigenvalues of the size of the rounding errors of the columns carry no information.
    rounding = EPS * np.sqrt(group.total) * np.linalg.norm(group.magnitude * spectrum.unit)
    relative = (
        EPS * max(spectrum.eigenvalues.shape[0], spectrum.n_columns) * np.sqrt(spectrum.eigenvalues.max())
    )
    is_kept = np.sqrt(spectrum.eigenvalues) > max(rounding, relative)
    spectrum_kept = replace(
        spectrum,
        eigenvalues=spectrum.eigenvalues[is_kept],
        axes=None if spectrum.axes is None else spectrum.axes[is_kept],
    )
    return ThinCovariance.on_axes(spectrum_kept, spectrum_kept.eigenvalues / divisor, 0.0)


def ignored_complement(covariance: Covariance, moments: ClassMoments) -> tuple[int, float]:
    """Return the rank of a covariance, and how much of the class differences its distances ignore.

    Parameters
    ----------
    covariance : Covariance
        Covariance in the coordinates of the moments.
    moments : ClassMoments
        Counts, means and scatters of the classes.

    Returns
    -------
    rank : int
        Number of axes of a `ThinCovariance`, else the number of columns.
    ignored : float
        Proportion of the squared deviations of the class means from the mean of all rows that is in the
        complement of the axes, in the units of the data; zero unless the covariance is thin.
    """
    rank = len(covariance.root)
    if not isinstance(covariance, ThinCovariance):
        return rank, 0.0
    y = (moments.means - weighted_centre(moments.means, moments.counts)).T
    y = y * covariance.unit[:, None]
    if not y.any():
        return rank, 0.0
    y = y / np.linalg.norm(y)
    return rank, float(((y - covariance.axes.T @ (covariance.axes @ y)) ** 2).sum())
