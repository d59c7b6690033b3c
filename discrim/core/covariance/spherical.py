"""Spherical covariances: one variance for all columns."""

from __future__ import annotations

from dataclasses import dataclass

from discrim.core.covariance import scatter
from discrim.core.covariance.scatter import Estimated, NormalClasses, Parts, Scatter
from discrim.core.covariance.shrunk import oas_without, sphere_left_out, spherical
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeftOut


@dataclass(frozen=True, slots=True)
class Spherical(Scatter):
    """One variance for all columns."""

    sphere: scatter.Sphere = scatter.SPHERES[0]

    word = "spherical"
    goes_within_axes = True
    is_regular = True
    is_maximum = True
    needs_products = False

    def estimate(self, moments: ClassMoments, divisors: Floats) -> Estimated:
        """The mean of the variances."""
        moments = self.scaled(moments)
        in_units = self.sphere.in_units(moments)
        return Estimated(self, moments, tuple(spherical(in_units, d, k) for k, d in scatter.each(divisors)))

    def left_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores in closed form: those of a covariance that is all shrunk."""
        own = [oas_without] * len(fitted.divisors)
        return self.sphere.left_out(fitted, lambda in_units: sphere_left_out(in_units, own))

    def free_parameters(self, n_columns: int, n_covariances: int) -> int:
        """One variance each."""
        return n_covariances

    @classmethod
    def from_file(cls, parts: Parts) -> Spherical:
        """With its units."""
        return cls(scatter.SPHERES[parts.pop("standardize")])
