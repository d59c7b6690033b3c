"""Spherical covariances: one variance for all columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.moments.units import comparable, in_deviations, standardized_left_out, within_sd
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.scatter.covariance import Covariance
from discrim.core.scatter.scatter import Asked, Estimated, Item, Parts, Scatter, each, sphere_item
from discrim.core.scatter.shrunk import oas_without, sphere_left_out, spherical


@dataclass(frozen=True, slots=True)
class Spherical(Scatter):
    """One variance for all columns.

    Attributes
    ----------
    standardize : bool
        Whether the sphere is one of columns over their standard deviations within classes.
    """

    standardize: bool = False

    word = "spherical"
    takes = ("standardize",)
    is_regular = True
    needs_products = False

    @classmethod
    def read(cls, asked: Asked) -> Spherical:
        """By `standardize=`."""
        return cls(bool(asked.standardize))

    def keywords(self) -> dict[str, Any]:
        """With the units."""
        return {"covariance": self.word, "standardize": self.standardize}

    def unit(self, moments: ClassMoments) -> Floats | None:
        """Standard deviations, where the sphere is one of standardized columns."""
        return within_sd(moments) if self.standardize else None

    @property
    def compares_units(self) -> bool:
        """Unless columns are standardized."""
        return not self.standardize

    def scaled(self, moments: ClassMoments) -> ClassMoments:
        """On scales within reach of one sphere."""
        return moments if self.standardize else comparable(moments)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> Estimated:
        """The mean of the variances."""
        moments = self.scaled(moments)
        held = in_deviations(moments) if self.standardize else moments
        return Estimated(self, moments, tuple(spherical(held, d, k) for k, d in each(divisors)))

    def left_out(
        self,
        moments: ClassMoments,
        covariances: tuple[Covariance, ...],
        divisors: Floats,
        log_prior: Floats,
        rows: RowBlocks | None = None,
    ) -> LeftOut:
        """Scores in closed form: those of a covariance that is all shrunk."""
        if self.standardize:
            plain = replace(self, standardize=False)
            return standardized_left_out(
                moments, lambda held: plain.left_out(held, covariances, divisors, log_prior)
            )
        moments = self.scaled(moments)
        return sphere_left_out(moments, covariances, divisors, log_prior, [oas_without] * len(divisors))

    @property
    def is_maximum(self) -> bool:
        """It is one."""
        return True

    def free_parameters(self, n_columns: int, n_covariances: int) -> int:
        """One variance each."""
        return n_covariances

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[Item]:
        """The units of the sphere."""
        return [sphere_item(standardize=self.standardize)]

    def options(self) -> Parts:
        """The units of the sphere."""
        return {"standardize": self.standardize}

    @classmethod
    def from_file(cls, parts: Parts) -> Spherical:
        """With its units."""
        return cls(parts.pop("standardize"))
