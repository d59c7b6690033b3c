"""Full covariances: all that moments say of the columns."""

from __future__ import annotations

from dataclasses import dataclass

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import FullLeftOut, LeftOut, squared_gaps
from discrim.core.scatter.covariance import Covariance, pooled, separate
from discrim.core.scatter.scatter import Estimated, Scatter, divisor_text


@dataclass(frozen=True, slots=True)
class Full(Scatter):
    """The full covariance."""

    word = "full"

    def estimate(self, moments: ClassMoments, divisors: Floats) -> Estimated:
        """The covariance with these divisors."""
        common = len(divisors) == 1
        found = (pooled(moments, float(divisors[0])),) if common else separate(moments, divisors)
        return Estimated(self, moments, found)

    def left_out(
        self,
        moments: ClassMoments,
        covariances: tuple[Covariance, ...],
        divisors: Floats,
        log_prior: Floats,
        rows: RowBlocks | None = None,
    ) -> LeftOut:
        """Scores in closed form, by distances under the fit to all rows."""
        return full_left_out(moments, covariances, divisors, log_prior)

    def described(self, *, by_class: bool, mle: bool) -> str:
        """What a header says of it."""
        return f"{'by class' if by_class else 'pooled'}, {divisor_text(by_class=by_class, mle=mle)}"

    @property
    def is_maximum(self) -> bool:
        """It is one."""
        return True

    def free_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Variances and covariances."""
        return n_covariances * n_columns * (n_columns + 1) // 2

    def refuse_axes(self) -> None:
        """The rank-constrained maximum is known."""

    @property
    def has_distances(self) -> bool:
        """Where it is that of moments."""
        return self.is_of_moments

    @property
    def has_errors(self) -> bool:
        """Where it is that of moments."""
        return self.is_of_moments


def full_left_out(
    moments: ClassMoments, covariances: tuple[Covariance, ...], divisors: Floats, log_prior: Floats
) -> FullLeftOut:
    """Scores with each row left out under full covariances, one or one for each class."""
    if len(divisors) > 1:
        rule = gaussian.separate_plugin(moments, covariances, log_prior)
        return FullLeftOut(rule.distances, moments.counts, moments.rows, divisors, rule.constant)
    distances = gaussian.distances(moments, covariances)
    gaps = squared_gaps(covariances[0].whiten(distances.means.T).T)
    return FullLeftOut(distances, moments.counts, moments.rows, divisors, log_prior, gaps)
