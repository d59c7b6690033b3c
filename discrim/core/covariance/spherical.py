"""Spherical covariances: one variance for all columns, without correlations."""

from __future__ import annotations

from dataclasses import dataclass

from discrim.core.covariance.model import (
    SPHERES,
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    Sphere,
    each_covariance,
)
from discrim.core.covariance.shrunk import oas_without_rows, sphere_left_out, spherical_covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeaveOneOutScorer


@dataclass(frozen=True, slots=True)
class SphericalCovariance(CovarianceModel):
    """Covariance with one variance for all columns.

    Attributes
    ----------
    sphere : Sphere
        Units of the columns in which the variance is common.
    """

    sphere: Sphere = SPHERES[0]

    name = "spherical"
    traits = CovarianceTraits(
        is_regular=True, needs_products=False, is_maximum_likelihood=True, allows_subspace=True
    )

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the mean of the variances."""
        moments = self.rescaled(moments)
        in_units = self.sphere.in_units(moments)
        return CovarianceEstimates(
            self, moments, tuple(spherical_covariance(in_units, d, k) for k, d in each_covariance(divisors))
        )

    def leave_one_out(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return leave-one-out scores in closed form, with the formulas for a shrinkage of one."""
        intensities = [oas_without_rows] * len(fitted.divisors)
        return self.sphere.left_out(fitted, lambda in_units: sphere_left_out(in_units, intensities))

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of variances, one for each covariance."""
        return n_covariances
