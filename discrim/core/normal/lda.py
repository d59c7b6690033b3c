"""The numbers of a linear discriminant analysis, and the pure function that fits them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.canonical import Canonical, canonical
from discrim.core.covariance.covariance import Covariance
from discrim.core.incomplete.em import Em
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.standardized import standardized, standardized_left_out
from discrim.core.moments.weights import LIGHT, no_freedom
from discrim.core.robust.robust import Robust
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut, common_distances, linear_left_out
from discrim.core.rules.plane import Plane
from discrim.core.rules.rules import Distances, Rule
from discrim.core.shrinkage.correlation_shrinkage import (
    VarianceShrinkage,
    correlation_shrunk,
    variance_buffers,
)
from discrim.core.shrinkage.fourth_moments import Powers
from discrim.core.shrinkage.leave_one_out_correlation import CorrelationPowers, correlation_left_out
from discrim.core.shrinkage.leave_one_out_shrunk import (
    common_left_out,
    intensity_without,
)
from discrim.core.shrinkage.median_shrinkage import column_held_at, diagonal_left_out, strimmer_without
from discrim.core.shrinkage.shrinkage import (
    Chosen,
    Structure,
    common,
    estimator_left_out,
    has_likelihood,
    in_one_unit,
    is_none,
    is_regular,
    no_likelihood,
    obstacles,
    own_buffers,
)
from discrim.errors import NotSupportedError

__all__ = ["LDAFit", "fit_lda"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LDAFit:
    """The numbers of a linear discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        Pooled, or diagonal.
    prior : (K,) float
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    method : {"moment", "mle", "t", "mcd"}
    covariance : Covariance
        Within classes, in the coordinates of the moments.
    divisor : float
        N - K or N.
    ncomp : int or None
        Number of canonical axes the rule is restricted to; None for all.
    structure : {"full", "diagonal", "shrunk", "correlation", "spherical", "pinv", "estimator"}
        What the covariance is estimated as.
    shrinkage : float or None
        Of a shrunk covariance, of correlations, or of shrunken variances.
    chosen : {"given", "oas", "ledoit-wolf", "loo", "strimmer"} or None
        How the shrinkage was.
    estimator : str or None
        Text of the estimator that the covariance is of.
    robust : Robust or None
        How the moments were found, where they are not those of the rows.
    em : Em or None
        The same of rows with missing values.
    standardize : bool
        Whether the sphere that covariances are drawn to is one of columns over their standard deviations.
    gathered : ClassMoments or None
        The moments before they were brought within reach of one unit, where columns so small that a sphere
        or a median does not see them lose what tests of single columns see.
    variances : VarianceShrinkage or None
        Of the variances beside shrunken correlations.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariance: Covariance
    divisor: float
    ncomp: int | None
    structure: Structure = "full"
    shrinkage: float | None = None
    chosen: Chosen | None = None
    estimator: str | None = None
    robust: Robust | None = None
    standardize: bool = False
    gathered: ClassMoments | None = None
    em: Em | None = None
    variances: VarianceShrinkage | None = None

    @property
    def found(self) -> Robust | Em | None:
        """How the moments were found, where they are not those of complete rows."""
        return self.em if self.em is not None and self.em.incomplete else self.robust

    @property
    def variance_chosen(self) -> Chosen | None:
        """How the shrinkage of variances beside shrunken correlations was."""
        return None if self.variances is None else self.variances.chosen

    @property
    def by_column(self) -> ClassMoments:
        """The moments with all digits of each column on its own."""
        return self.moments if self.gathered is None else self.gathered

    @property
    def residual_df(self) -> float:
        """N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def has_freedom(self) -> bool:
        """Whether the weights leave as many degrees of freedom within classes as there are columns."""
        return self.residual_df * (1 + LIGHT) >= self.moments.n_columns

    @property
    def within_divisor(self) -> float:
        """N - K; of weights that sum to no more than K, N."""
        total = self.moments.total
        return self.residual_df if self.residual_df > LIGHT * total else total

    @property
    def has_distances(self) -> bool:
        """Whether the covariance is full, and that of the rows."""
        return self.structure == "full" and self.found is None

    @property
    def has_errors(self) -> bool:
        """Whether the coefficients have standard errors."""
        regular = is_regular(self.structure) or self.shrinkage is not None
        return self.found is None and self.reduced() is None and not regular

    @property
    def has_likelihood(self) -> bool:
        """Whether the covariance is the one of most likelihood, but for its divisor, of its structure."""
        return has_likelihood(self.structure, self.shrinkage)

    def axes(self) -> Canonical:
        """Canonical axes, weighted by the prior, with the singular values of R's MASS."""
        k = self.moments.n_classes
        factor = self.moments.total / (k if self.method == "mle" else k - 1)
        return canonical(self.moments.means, self.covariance, self.prior, factor)

    def canonical(self) -> Canonical:
        """Canonical axes, classes weighted by rows; squared singular values are eigenvalues of W^-1 B."""
        moments = self.moments
        factor = moments.total / self.within_divisor
        return canonical(moments.means, self.within(), moments.counts / moments.total, factor)

    def roots(self) -> Floats:
        """Eigenvalues of W^-1 B."""
        return self.canonical().singular ** 2

    def reduced(self) -> Canonical | None:
        """The leading axes, where the rule is restricted to them."""
        if self.ncomp is None:
            return None
        axes = self.axes()
        if self.ncomp >= len(axes.singular):
            return None
        m = self.ncomp
        return Canonical(axes.centre, axes.axes[:, :m], axes.singular[:m], axes.scores[:, :m])

    def distances(self) -> Distances:
        """Squared distances to the class means."""
        return gaussian.distances(self.moments, (self.covariance,))

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Distances under the unbiased covariance, and its degrees of freedom by class (K,)."""
        held = gaussian.distances(self.moments, (self.unbiased(),))
        return held, np.full(self.moments.n_classes, self.residual_df)

    def plane(self, i: int, j: int, log_prior: Floats) -> Plane:
        """Where classes i and j have the same posterior, with its value at the midpoint of the means."""
        moments, reduced = self.moments, self.reduced()
        means = moments.means_from(moments.centres[j])
        gap = means[i] - means[j]
        slopes = (
            self.covariance.unwhiten(self.covariance.whiten(gap))
            if reduced is None
            else reduced.axes @ (reduced.axes.T @ gap)
        )
        middle = (moments.class_means[i] + moments.class_means[j]) / 2
        return Plane(slopes * moments.scale, middle, float(log_prior[i] - log_prior[j]))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            The method does not exist for this structure of the covariance, reduced axes or so few rows.
        """
        if method == "plugin":
            return gaussian.linear_rule(self.moments, self.covariance, log_prior, self.reduced())
        if self.found is not None:
            raise self.found.refusal(f'method="{method}"')
        if not self.has_distances:
            raise NotSupportedError(
                f'method="{method}" is defined for the full covariance, not the {self.structure} one: use '
                '"plugin".'
            )
        nu, p = self.residual_df, self.moments.n_columns
        if not self.has_freedom:
            raise no_freedom(self.moments.total, self.moments.n_classes, p)
        if convention == "MASS":
            mass = self.reduced() or self.axes()
            if method == "predictive":
                inflate = self.unbiased() if self.method == "moment" else self.covariance
                return gaussian.common_predictive(self.moments, inflate, log_prior, nu, mass=mass)
            return gaussian.common_debiased(self.moments, self.covariance, log_prior, nu, mass=mass)
        if self.reduced() is not None:
            raise NotSupportedError(f'method="{method}" uses all dimensions: fit without ncomp=.')
        if method == "predictive":
            return gaussian.common_predictive(self.moments, self.unbiased(), log_prior, nu)
        if nu <= p + 1:
            raise NotSupportedError(
                f'method="debiased" needs N - K > p + 1; here N - K is {nu:g} and p is {p}: use "plugin".'
            )
        return gaussian.common_debiased(self.moments, self.unbiased(), log_prior, nu)

    def left_out(self, log_prior: Floats, powers: Powers | CorrelationPowers | None = None) -> LeftOut:
        """Scores of rows under the rule fitted without each of them.

        Parameters
        ----------
        log_prior : (K,) float
        powers : Powers or CorrelationPowers, optional
            What an analytic shrinkage takes; one that was given, or chosen by leave-one-out, is held.

        Raises
        ------
        NotSupportedError
            The rule is restricted to fewer axes than there are, or its covariance is an estimator's.
        """
        if self.reduced() is not None:
            raise NotSupportedError(
                "leave_one_out() has a closed form for all axes only: fit without ncomp=, or "
                'cross-validate with error_rates(["cv"]) or confusion("cv").'
            )
        if self.standardize:
            apart = replace(self, standardize=False)
            return standardized_left_out(
                self.moments, lambda held: replace(apart, moments=held).left_out(log_prior, powers)
            )
        if self.structure == "estimator":
            raise estimator_left_out(self.estimator)
        if self.variances is not None and self.shrinkage is not None:
            both = self.shrinkage, self.variances
            noise = powers if isinstance(powers, CorrelationPowers) else None
            return correlation_left_out(self.by_column, self.divisor, log_prior, both, self.chosen, noise)
        powers = powers if isinstance(powers, Powers) else None
        if self.structure in ("shrunk", "spherical"):
            own = intensity_without(self.chosen, self.shrinkage, powers)
            return common_left_out(self.moments, self.divisor, log_prior, own)
        if self.found is not None:
            return self.found.left_out(self.moments)
        if self.shrinkage is not None:
            of_columns = column_held_at(self.shrinkage)
            if self.chosen == "strimmer" and powers is not None:
                of_columns = strimmer_without(self.moments, powers, common=True)
            full, divisors = (self.covariance,), np.array([self.divisor])
            return diagonal_left_out(self.moments, full, divisors, log_prior, of_columns)
        # Under a pseudo-inverse no sum of squares tells what a difference has spoilt.
        exact, rows = self.structure == "full", self.moments.rows
        counts, divisors = self.moments.counts, np.array([self.divisor])
        return linear_left_out(self.distances(), counts, rows, divisors, log_prior, exact=exact)

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Distances (K, m) of rows of the fit under the unbiased moments without each of them.

        With the sums of weights (K, m) and degrees of freedom (K, m) that these then have.
        """
        held, counts, nu = self.unbiased_distances()[0], self.moments.counts, self.residual_df
        d2, gone = common_distances(x, codes, weights, held, counts, nu)
        left = np.repeat(counts[:, None], len(codes), axis=1)
        left[codes, np.arange(len(codes))] -= gone.out
        return d2, left, np.repeat((nu - gone.out)[None], len(counts), axis=0)

    def refit(self, moments: ClassMoments, robust: Robust | None = None) -> LDAFit | None:
        """The same model of other moments, prior and a given shrinkage held; None where it is singular."""
        free, p = moments.rows.sum() - moments.n_classes, moments.n_columns
        g = None if self.chosen == "oas" else self.shrinkage
        full = self.structure == "full" or (self.structure == "shrunk" and g is not None and is_none(g, p))
        light = self.method == "moment" and moments.total <= moments.n_classes * (1 + LIGHT)
        if light or free < (p if full else 1) or obstacles(moments, self.structure, shrinkage=g):
            return None
        return fit_lda(
            moments,
            self.prior,
            method=self.method,
            structure=self.structure,
            ncomp=self.ncomp,
            estimated_prior=self.estimated_prior,
            shrinkage=g,
            chosen=self.chosen,
            robust=robust,
            standardize=self.standardize,
            variances=self.variances,
        )

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps of the fit beside its moments."""
        found = own_buffers(self.structure, self.shrinkage, (self.covariance,))
        return found | variance_buffers(self.variances)

    def within(self) -> Covariance:
        """The covariance with `within_divisor`, which canonical axes have as their unit."""
        return self.covariance.divided_by(self.within_divisor / self.divisor)

    def unbiased(self) -> Covariance:
        """The covariance with divisor N - K; a NotSupportedError where the weights sum to too little."""
        if not self.has_freedom:
            raise no_freedom(self.moments.total, self.moments.n_classes, self.moments.n_columns)
        return self.covariance.divided_by(self.residual_df / self.divisor)

    def df_model(self) -> int:
        """Free parameters: means, covariance and, where estimated, prior."""
        k, p = self.moments.n_classes, self.moments.n_columns
        means = k * p
        if self.reduced() is not None and self.ncomp is not None:
            means = p + self.ncomp * (p + k - 1 - self.ncomp)
        if not self.has_likelihood:
            raise no_likelihood("A number of free parameters", self.structure)
        spread = {"full": p * (p + 1) // 2, "diagonal": p, "spherical": 1}[self.structure]
        return means + spread + (k - 1 if self.estimated_prior else 0) + self._free_nu()

    def _free_nu(self) -> int:
        return 0 if self.found is None else self.found.df_model()

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances.

        With fewer axes than there are, the means are those of the rank-constrained maximum (Hastie &
        Tibshirani, 1996, JRSS B 58, 155-176): each root left out costs N/2 ln(1 + root).
        """
        if not self.has_likelihood:
            raise no_likelihood("A log-likelihood", self.structure)
        if self.structure in ("spherical", "diagonal") and self.reduced() is not None:
            # At the maximum the axes left out add to the covariance, which is then of neither structure.
            raise NotSupportedError(
                f"The log-likelihood of a {self.structure} covariance exists for all axes only: fit "
                "without ncomp=."
            )
        if self.found is not None:
            return self.found.llf(self.moments, self.prior, all_axes=self.reduced() is None)
        total = self.moments.total
        logdet = self.covariance.divided_by(total / self.divisor).logdet
        full = gaussian.log_likelihood(self.moments, np.full(self.moments.n_classes, logdet), self.prior)
        if self.reduced() is None:
            return full
        return full - 0.5 * total * float(np.log1p(self.roots()[self.ncomp :]).sum())


def fit_lda(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str = "moment",
    structure: Structure = "full",
    ncomp: int | None = None,
    estimated_prior: bool = True,
    shrinkage: float | None = None,
    chosen: Chosen | None = None,
    covariance: Covariance | None = None,
    estimator: str | None = None,
    robust: Robust | None = None,
    standardize: bool = False,
    variances: VarianceShrinkage | None = None,
) -> LDAFit:
    """Fit from moments without obstacles to the structure of the covariance.

    Parameters
    ----------
    moments : ClassMoments
    prior : (K,) float
    method : {"moment", "mle"}
        Divisor N - K or N; "t" and "mcd" are those of `robust`, whose moments have N.
    structure : {"full", "diagonal", "shrunk", "correlation", "spherical", "pinv", "estimator"}
        What the covariance is estimated as.
    ncomp : int, optional
        Number of canonical axes of the rule.
    estimated_prior : bool
    shrinkage : float, optional
        Of a shrunk covariance, by default that of `oas`; of correlations; or of diagonal variances.
    chosen : str, optional
        How the shrinkage was.
    covariance : Covariance, optional
        That of an estimator, in the coordinates of the moments; its divisor is its own.
    estimator : str, optional
        What it is called.
    robust : Robust, optional
        How the moments were found, where they are not those of the rows.
    standardize : bool
    variances : VarianceShrinkage, optional
        As of `LDAFit`.
    """
    divisor = moments.total - (moments.n_classes if method == "moment" else 0)
    gathered = moments
    if not standardize:
        moments = in_one_unit(moments, structure, shrinkage if variances is None else variances.value)
    if variances is not None and shrinkage is not None:
        covariance = correlation_shrunk(gathered, moments, divisor, shrinkage, variances.value)
    if covariance is None:
        held = standardized(moments) if standardize else moments
        covariance, shrinkage = common(held, divisor, structure, shrinkage)
    if structure == "shrunk" and chosen is None:
        chosen = "oas"
    return LDAFit(
        moments,
        prior,
        estimated_prior,
        method,
        covariance,
        divisor,
        ncomp,
        structure,
        shrinkage,
        chosen,
        estimator,
        robust,
        standardize,
        None if gathered is moments else gathered,
        variances=variances,
    )
