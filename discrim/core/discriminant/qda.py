"""The numbers of a quadratic discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discrim.core.covariance.covariance import Covariance, divisors_by_class
from discrim.core.covariance.kinds import buffers_of, covariance_from_file
from discrim.core.covariance.model import CovarianceModel, FullCovariance, NormalClasses
from discrim.core.covariance.principal import of_columns
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.errors import CoreNotSupportedError, NoEstimateError
from discrim.core.moments.moments import LIGHT, ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut, separate_distances
from discrim.core.rules.rules import Distances, Rule, logs_of_prior


@dataclass(frozen=True, slots=True, eq=False)
class QDAFit:
    """The numbers of a quadratic discriminant analysis, from moments by class, or diagonal.

    The K covariances are in the coordinates of the moments, with divisors (K,) n_k - 1 or n_k by the method
    "moment", "mle", "t" or "mcd". An estimated prior (K,) is the class proportions of the rows.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariances: tuple[Covariance, ...]
    divisors: Floats
    covariance_model: CovarianceModel

    @property
    def is_diagonal(self) -> bool:
        """Whether only variances are held."""
        return self.covariances[0].is_diagonal

    @property
    def standardize(self) -> bool:
        """Whether the kind of covariance compares columns over their standard deviations."""
        return self.covariance_model.column_units(self.moments) is not None

    @property
    def within_axes(self) -> SubspaceCovariance | None:
        """The principal axes within which classes are compared."""
        axes: SubspaceCovariance | None = self.covariance_model.subspace
        return axes

    @property
    def components(self) -> int | None:
        """Number of principal axes; None without these."""
        axes = self.within_axes
        return None if axes is None or axes.is_supervised else axes.count

    @property
    def chosen_covariance(self) -> dict[str, Any]:
        """Parameters of the covariance that the rows chose, by name."""
        return self.covariance_model.chosen_parameters()

    @property
    def chosen_components(self) -> dict[str, Any]:
        """Number of principal axes if the rows chose it."""
        axes = self.within_axes
        return {"n": axes.count} if axes is not None and axes.is_chosen else {}

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full, and those of the rows."""
        return self.covariance_model.has_distances

    def scaled(self, divisors: Floats) -> tuple[Covariance, ...]:
        """The covariances with other divisors (K,)."""
        ratios = divisors / self.divisors
        return tuple(c.divided_by(r) for c, r in zip(self.covariances, ratios.tolist(), strict=True))

    def distances(self) -> Distances:
        """Squared distances to the class means."""
        return gaussian.distances(self.moments, self.covariances)

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Distances under the unbiased covariances, and their degrees of freedom (K,)."""
        free = self.moments.counts - 1
        return gaussian.distances(self.moments, self.scaled(free)), free

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,); the debiased one needs more than p + 2 rows a class.

        A NotSupportedError says that the method does not exist for this structure of the covariances.
        """
        if method == "plugin":
            return gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        if not self.has_distances:
            raise CoreNotSupportedError(
                "not_full_covariances", method=method, covariance=self.covariance_model.name
            )
        mass = convention == "MASS"
        covariances = self.covariances if mass else self.scaled(self.moments.counts - 1)
        if method == "predictive":
            return gaussian.separate_predictive(self.moments, covariances, log_prior, mass=mass)
        return gaussian.separate_debiased(self.moments, covariances, log_prior, mass=mass)

    def left_out(self, log_prior: Floats, rows: RowBlocks | None = None) -> LeftOut:
        """Scores of rows under the rule fitted without each of them, as `NormalClasses` has rows.

        A NotSupportedError says that the covariances have no closed form, and refits would take too long.
        """
        fitted = NormalClasses(self.moments, self.covariances, self.divisors, log_prior, rows)
        return self.covariance_model.leave_one_out(fitted)

    def refuse_left_out(self) -> None:
        """Raise NotSupportedError if rows cannot be left out one by one."""
        self.covariance_model.check_leave_one_out(self.moments)

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Distances (K, m) of rows of the fit under the unbiased moments without each of them.

        With the sums of weights (K, m) and degrees of freedom (K, m) that these then have.
        """
        distances, free = self.unbiased_distances()
        d2, gone = separate_distances(x, codes, weights, distances, self.moments.counts, free)
        left = np.repeat(self.moments.counts[:, None], len(codes), axis=1)
        left[codes, np.arange(len(codes))] -= gone.out
        return d2, left, left - 1

    def refit(self, moments: ClassMoments, covariance_model: CovarianceModel | None = None) -> QDAFit | None:
        """The same model of other moments, as `LDAFit.refit`; None where a covariance is singular."""
        covariance_model = self.covariance_model.for_refit() if covariance_model is None else covariance_model
        least = moments.n_columns if covariance_model.requires_full_rank(moments.n_columns) else 1
        light = self.method == "moment" and (moments.counts <= 1 + LIGHT).any()
        if (
            light
            or (moments.rows <= least).any()
            or any(covariance_model.check(moments, k) for k in range(moments.n_classes))
        ):
            return None
        try:
            return self.of_moments(moments, covariance_model)
        except NoEstimateError:
            return None

    def divisors_of(self, moments: ClassMoments) -> Floats:
        """The divisors (K,) of other moments."""
        return divisors_by_class(moments.counts, self.method)

    def of_moments(self, moments: ClassMoments, covariance_model: CovarianceModel) -> QDAFit:
        """The same model of other moments, by a kind of covariance without obstacles."""
        return fit_qda(
            moments, self.prior, covariance_model, method=self.method, estimated_prior=self.estimated_prior
        )

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps of the fit beside its moments."""
        return buffers_of(self.covariance_model, self.covariances)

    def df_model(self) -> int:
        """Free parameters: means, covariances and, where estimated, prior."""
        k = self.moments.n_classes
        p = self.moments.n_columns
        return k * p + self.covariance_model.n_parameters(p, k) + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances."""
        log_prior = logs_of_prior(self.prior)
        fitted = NormalClasses(self.moments, self.covariances, self.divisors, log_prior)
        return self.covariance_model.log_likelihood(fitted)


def fit_qda(
    moments: ClassMoments,
    prior: Floats,
    covariance_model: CovarianceModel | None = None,
    *,
    method: str = "moment",
    estimated_prior: bool = True,
) -> QDAFit:
    """Fit from moments by class, each without obstacles to a kind of covariance, by default the full one.

    Divisors are n_k - 1 by method "moment", else n_k. A NoEstimateError says that there are none.
    """
    divisors = divisors_by_class(moments.counts, method)
    found = (covariance_model or FullCovariance()).estimate(moments, divisors)
    return QDAFit(
        found.moments, prior, estimated_prior, method, found.covariances, divisors, found.covariance_model
    )


def qda_from_file(
    moments: ClassMoments, prior: Floats, *, method: str, estimated_prior: bool, **parts: Any
) -> QDAFit:
    """The fit that `buffers` and its options are of; as `discrim.core.discriminant.lda.lda_from_file`."""
    covariance_model = covariance_from_file(method, parts)
    return fit_qda(moments, prior, covariance_model, method=method, estimated_prior=estimated_prior)


def quadratic_marginal(fit: QDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,) by a method that the rule of all of them has."""
    part = gaussian.means_of_columns(fit.moments, keep)
    whole = fit.covariances if method == "plugin" else fit.scaled(fit.moments.counts - 1)
    covariances = tuple(of_columns(covariance, keep) for covariance in whole)
    if method == "plugin":
        return gaussian.separate_plugin(part, covariances, log_prior)
    if method == "predictive":
        gone = fit.moments.n_columns - len(keep)
        return gaussian.separate_predictive(part, covariances, log_prior, gone=gone)
    return gaussian.separate_debiased(part, covariances, log_prior)
