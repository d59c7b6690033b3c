"""Full covariances whose inverse is that of Moore and Penrose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import EPS, Covariance
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    each_covariance,
    full_left_out,
)
from discrim.core.covariance.principal import ThinCovariance, one_scatter, principal, weighted_centre
from discrim.core.moments.derived_moments import comparable
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeftOut


@dataclass(frozen=True, slots=True)
class PseudoInverseCovariance(CovarianceModel):
    """The full covariance where the rows vary; what lies beyond is left out of all distances."""

    name = "pinv"
    traits = CovarianceTraits(is_regular=True)

    def rescaled(self, moments: ClassMoments) -> ClassMoments:
        """On scales within reach of one sphere."""
        return comparable(moments)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariance on the axes along which rows vary."""
        moments = self.rescaled(moments)
        return CovarianceEstimates(
            self, moments, tuple(pseudo(moments, d, k) for k, d in each_covariance(divisors))
        )

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores in closed form, as of the full covariance."""
        scores = full_left_out(replace(fitted, moments=self.rescaled(fitted.moments)))
        # No sum of squares tells what a difference has spoilt: what is left of it is not to be asked for.
        return lambda x, codes, weights: scores(x, codes, weights)


def pseudo(moments: ClassMoments, divisor: float, k: int | None = None) -> ThinCovariance:
    """The covariance of class k, or the pooled one, where the rows vary; beyond, nothing has a length."""
    spectrum = principal(moments, k)
    whole = one_scatter(moments, k)
    # Lengths that the rounding of the columns alone would give say nothing of the data.
    rounding = EPS * np.sqrt(whole.total) * np.linalg.norm(whole.magnitude * spectrum.unit)
    relative = EPS * max(spectrum.lengths.shape[0], spectrum.n_columns) * np.sqrt(spectrum.lengths.max())
    kept = np.sqrt(spectrum.lengths) > max(rounding, relative)
    part = replace(
        spectrum, lengths=spectrum.lengths[kept], axes=None if spectrum.axes is None else spectrum.axes[kept]
    )
    return ThinCovariance.on_axes(part, part.lengths / divisor, 0.0)


def ignored(covariance: Covariance, moments: ClassMoments) -> tuple[int, float]:
    """Rank of a pseudo-inverse, and the share of the squared differences of means that it leaves out."""
    rank = len(covariance.root)
    if not isinstance(covariance, ThinCovariance):
        return rank, 0.0
    y = (moments.means - weighted_centre(moments.means, moments.counts)).T
    y = y * covariance.unit[:, None]
    if not y.any():
        return rank, 0.0
    y = y / np.linalg.norm(y)
    return rank, float(((y - covariance.axes.T @ (covariance.axes @ y)) ** 2).sum())
