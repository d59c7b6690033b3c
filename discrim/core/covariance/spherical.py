"""Spherical covariances: one variance for all columns, without correlations."""

from __future__ import annotations

from dataclasses import dataclass

from discrim.core.covariance.model import (
    TARGET_UNITS,
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    TargetUnits,
    class_divisor_pairs,
)
from discrim.core.covariance.shrunk import oas_without_rows, shrunk_leave_one_out_scorer, spherical_covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeaveOneOutScorer


@dataclass(frozen=True, slots=True)
class SphericalCovariance(CovarianceModel):
    """Covariance with one variance for all columns.

    Attributes
    ----------
    target_units : TargetUnits
        Units of the columns in which the variance is common.
    """

    target_units: TargetUnits = TARGET_UNITS[0]

    name = "spherical"
    traits = CovarianceTraits(
        is_regular=True, needs_products=False, is_maximum_likelihood=True, allows_subspace=True
    )

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the common variance: the mean of the variances of the columns in `target_units`.

        There is one variance for all classes for divisors (1,), or one for each class for (K,).
        """
        moments = self.rescale_moments(moments)
        standardized = self.target_units.moments_in_target_units(moments)
        return CovarianceEstimates(
            self,
            moments,
            tuple(spherical_covariance(standardized, d, k) for k, d in class_divisor_pairs(divisors)),
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, with the formulas for a shrinkage of one.

        Scores are NaN for rows that require a refit.
        """
        intensities = [oas_without_rows] * len(fitted.divisors)
        return self.target_units.leave_one_out_scorer(
            fitted, lambda standardized: shrunk_leave_one_out_scorer(standardized, intensities)
        )

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of variances, one for each covariance."""
        return n_covariances
