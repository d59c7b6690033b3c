"""What the numbers of a model of class moments can do, whatever the model."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Distances, Rule

__all__ = ["MomentsFit"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class MomentsFit(Protocol):
    """A fit that is a function of class moments."""

    @property
    def moments(self) -> ClassMoments:
        """What it was fitted to."""

    @property
    def prior(self) -> Floats:
        """Prior probabilities (K,)."""

    @property
    def estimated_prior(self) -> bool:
        """Whether the prior is the class proportions of the rows."""

    @property
    def has_distances(self) -> bool:
        """Whether the model is of normal classes with full covariances."""

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood estimates."""

    def df_model(self) -> int:
        """Free parameters."""

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,)."""

    def refit(self, moments: ClassMoments) -> Self | None:
        """The same model of other rows, the prior held; None where it has none."""

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them."""

    def distances(self) -> Distances:
        """Squared distances to the class means."""

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Distances under unbiased covariances, and their degrees of freedom (K,)."""

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """The same for rows of the fit, each without itself: distances, counts, degrees of freedom (K, m)."""
