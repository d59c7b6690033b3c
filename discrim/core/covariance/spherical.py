"""Spherical covariances: one variance for all columns."""

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
from discrim.core.covariance.shrunk import oas_without, sphere_left_out, spherical
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeftOut


@dataclass(frozen=True, slots=True)
class SphericalCovariance(CovarianceModel):
    """One variance for all columns."""

    sphere: Sphere = SPHERES[0]

    name = "spherical"
    traits = CovarianceTraits(
        is_regular=True, needs_products=False, is_maximum_likelihood=True, allows_subspace=True
    )

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The mean of the variances."""
        moments = self.rescaled(moments)
        in_units = self.sphere.in_units(moments)
        return CovarianceEstimates(
            self, moments, tuple(spherical(in_units, d, k) for k, d in each_covariance(divisors))
        )

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores in closed form: those of a covariance that is all shrunk."""
        own = [oas_without] * len(fitted.divisors)
        return self.sphere.left_out(fitted, lambda in_units: sphere_left_out(in_units, own))

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """One variance each."""
        return n_covariances
