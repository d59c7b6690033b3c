"""What the covariance of a regularized class is mixed of; see `discrim.core.normal.rda` for the theory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import divisors_by_class
from discrim.core.moments.moments import ClassMoments

__all__ = ["Pair", "Parametrization", "Scatters", "mixture"]

Floats = NDArray[np.float64]
Parametrization = Literal["esl", "friedman", "klar"]


class Pair(NamedTuple):
    """How much is regularized.

    Attributes
    ----------
    alpha, gamma : float
        Within [0, 1].
    """

    alpha: float
    gamma: float


def mixture(
    parametrization: Parametrization, pair: Pair, divisors: Floats, variances: Floats, variance: float
) -> tuple[Floats, Floats, Floats]:
    """Shares (K,) of each class's own covariance, of the pooled one, and of the identity.

    Parameters
    ----------
    parametrization : {"esl", "friedman", "klar"}
    pair : Pair
    divisors : (K,) float
        Of the classes' covariances; that of the pooled one is their sum.
    variances : (K,) float
        tr(S_k)/p.
    variance : float
        tr(S)/p.

    Examples
    --------
    >>> import numpy as np
    >>> own, pooled, ridge = mixture("esl", Pair(0.5, 0.8), np.array([9.0, 19.0]), np.array([1.0, 2.0]), 1.5)
    >>> own.tolist(), pooled.round(12).tolist(), ridge.round(12).tolist()
    ([0.5, 0.5], [0.4, 0.4], [0.15, 0.15])
    """
    alpha, gamma = pair
    ones = np.ones(len(divisors))
    if parametrization == "esl":
        return alpha * ones, (1 - alpha) * gamma * ones, (1 - alpha) * (1 - gamma) * variance * ones
    if parametrization == "friedman":
        total = divisors.sum()
        mixed = alpha * divisors + (1 - alpha) * total
        own, pooled = alpha * divisors / mixed, (1 - alpha) * total / mixed
    else:
        own, pooled = alpha * ones, (1 - alpha) * ones
    return (1 - gamma) * own, (1 - gamma) * pooled, gamma * (own * variances + pooled * variance)


@dataclass(frozen=True, slots=True)
class Scatters:
    """Scatters in the units of the data times one power of two, in which the identity is meant, or in others.

    Attributes
    ----------
    moments : ClassMoments
        By class.
    unit : (p,) float
        What z of the moments is multiplied by.
    own : (K, p, p) float
    whole : (p, p) float
        Their sum.
    divisors : (K,) float
    columns : int
        Columns of the data: those of the moments, and others in which nothing varies.
    """

    moments: ClassMoments
    unit: Floats
    own: Floats
    whole: Floats
    divisors: Floats
    columns: int

    @staticmethod
    def of(moments: ClassMoments, method: str, columns: int | None = None) -> Scatters:
        """From moments by class and the method of the divisors, n_k - 1 by "moment" or n_k by "mle"."""
        return Scatters._in(moments.common_unit, moments, method, columns)

    @staticmethod
    def unitless(moments: ClassMoments, method: str, columns: int | None = None) -> Scatters:
        """As `of`, in units of the standard deviations within classes, for mixtures without a ridge."""
        sd = np.sqrt(moments.squares.sum(axis=0))
        return Scatters._in(1.0 / np.where(sd > 0, sd, 1.0), moments, method, columns)

    @staticmethod
    def _in(unit: Floats, moments: ClassMoments, method: str, columns: int | None) -> Scatters:
        own = moments.scatters * unit * unit[:, None]
        divisors = divisors_by_class(moments.counts, method)
        p = moments.n_columns if columns is None else columns
        return Scatters(moments, unit, own, own.sum(axis=0), divisors, p)

    @property
    def squares(self) -> Floats:
        """Traces (K,) of the scatters."""
        return np.asarray(np.trace(self.own, axis1=1, axis2=2))

    @property
    def beyond(self) -> int:
        """Columns of the data in which nothing varies, beside those of the moments."""
        return self.columns - self.moments.n_columns
