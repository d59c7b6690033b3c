"""The numbers of a quadratic discriminant analysis, and the pure function that fits them.

A quadratic discriminant analysis from the buffers and options of a file, checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discrim.core.moments.moments import LIGHT, ClassMoments
from discrim.core.moments.units import in_deviations, standardized_left_out
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import FullLeftOut, LeftOut, diagonal_scores, separate_distances
from discrim.core.rules.rules import Distances, Rule
from discrim.core.scatter.covariance import Covariance, divisors_by_class
from discrim.core.scatter.em import Em
from discrim.core.scatter.factor import (
    FORMS,
    Factors,
    Found,
    Wanted,
    common_dimension,
    factors_left_out,
    factors_of,
)
from discrim.core.scatter.robust import Robust
from discrim.core.scatter.shrinkage import (
    Chosen,
    Powers,
    Structure,
    by_class,
    check_own,
    column_held_at,
    diagonal_left_out,
    estimator_left_out,
    has_likelihood,
    in_one_unit,
    is_none,
    no_likelihood,
    obstacles,
    own_buffers,
    strimmer_without,
)
from discrim.core.scatter.shrinkage_choice import intensity_without, separate_left_out
from discrim.errors import DataError, NotSupportedError


@dataclass(frozen=True, slots=True)
class QDAFit:
    """The numbers of a quadratic discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        By class, or diagonal.
    prior : (K,) float
    method : {"moment", "mle", "t", "mcd"}
    covariances : tuple of K Covariance
        In the coordinates of the moments.
    divisors : (K,) float
        n_k - 1 or n_k.
    structure : {"full", "diagonal", "shrunk", "spherical", "factor", "estimator"}
        What the covariances are estimated as.
    shrinkage : (K,) float or None
        Of shrunk covariances, or of shrunken variances.
    chosen : {"given", "oas", "ledoit-wolf", "loo", "strimmer"} or None
        How the shrinkages were.
    estimator : str or None
        Text of the estimator that the covariances are of.
    robust : Robust or None
        How the moments were found, where they are not those of the rows.
    em : Em or None
        The same of rows with missing values.
    standardize : bool
        Whether the sphere that covariances are drawn to, or are beyond a few axes, is one of columns over
        their standard deviations.
    factors : Factors or None
        Axes and dimensions, where covariances have a few large variances and one beyond them.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariances: tuple[Covariance, ...]
    divisors: Floats
    structure: Structure = "full"
    shrinkage: Floats | None = None
    chosen: Chosen | None = None
    estimator: str | None = None
    robust: Robust | None = None
    standardize: bool = False
    em: Em | None = None
    factors: Factors | None = None

    @property
    def found(self) -> Robust | Em | None:
        """How the moments were found, where they are not those of complete rows."""
        return self.em if self.em is not None and self.em.incomplete else self.robust

    @property
    def is_diagonal(self) -> bool:
        """Whether only variances are held."""
        return self.covariances[0].is_diagonal

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full, and those of the rows."""
        return self.structure == "full" and self.found is None

    @property
    def has_likelihood(self) -> bool:
        """Whether the covariances are those of most likelihood, but for divisors, of their structure."""
        return has_likelihood(self.structure, self.shrinkage)

    @property
    def form(self) -> str | None:
        """Form of covariances of a few large variances."""
        return None if self.factors is None else self.factors.form

    @property
    def found_by(self) -> Found | None:
        """How their dimensions were found."""
        return None if self.factors is None else self.factors.wanted.found

    @property
    def least_fall(self) -> float | None:
        """Threshold of the scree test, under a name that files of other models have not."""
        return None if self.factors is None else self.factors.wanted.threshold

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

        Raises
        ------
        NotSupportedError
            The method does not exist for this structure of the covariances.
        """
        if method == "plugin":
            return gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        if self.found is not None:
            raise self.found.refusal(f'method="{method}"')
        if not self.has_distances:
            raise NotSupportedError(
                f'method="{method}" is defined for full covariances, not {self.structure} ones: use "plugin".'
            )
        mass = convention == "MASS"
        covariances = self.covariances if mass else self.scaled(self.moments.counts - 1)
        if method == "predictive":
            return gaussian.separate_predictive(self.moments, covariances, log_prior, mass=mass)
        return gaussian.separate_debiased(self.moments, covariances, log_prior, mass=mass)

    def left_out(self, log_prior: Floats, powers: Sequence[Powers] | Powers | None = None) -> LeftOut:
        """Scores of rows under the rule fitted without each of them.

        Parameters
        ----------
        log_prior : (K,) float
        powers : sequence of K Powers, or Powers, optional
            What the shrinkages of Ledoit & Wolf, or of Opgen-Rhein & Strimmer, take; those that were given,
            or chosen by leave-one-out, are held.

        Raises
        ------
        NotSupportedError
            The covariances are an estimator's.
        """
        if self.standardize:
            apart = replace(self, standardize=False)
            return standardized_left_out(
                self.moments, lambda held: replace(apart, moments=held).left_out(log_prior, powers)
            )
        if self.structure == "estimator":
            raise estimator_left_out(self.estimator)
        if self.found is not None:
            return self.found.left_out(self.moments)
        rule = gaussian.separate_plugin(self.moments, self.covariances, log_prior)
        if self.factors is not None:
            return factors_left_out(self.moments, self.factors, self.divisors, log_prior, rule)
        if self.structure in ("shrunk", "spherical"):
            none = [None] * self.moments.n_classes
            given = none if self.shrinkage is None else self.shrinkage.tolist()
            held_powers = none if powers is None or isinstance(powers, Powers) else powers
            own = [intensity_without(self.chosen, *pair) for pair in zip(given, held_powers, strict=True)]
            return separate_left_out(self.moments, self.divisors, log_prior, rule, own)
        if self.shrinkage is not None:
            held_at_own = column_held_at(self.shrinkage)
            if self.chosen == "strimmer" and isinstance(powers, Powers):
                held_at_own = strimmer_without(self.moments, powers, common=False)
            return diagonal_left_out(self.moments, self.covariances, self.divisors, log_prior, held_at_own)
        held, counts = rule.distances, self.moments.counts
        if self.is_diagonal:
            return lambda x, codes, w: diagonal_scores(x, codes, w, held, counts, self.divisors, log_prior)
        return FullLeftOut(held, counts, self.moments.rows, self.divisors, rule.constant)

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Distances (K, m) of rows of the fit under the unbiased moments without each of them.

        With the sums of weights (K, m) and degrees of freedom (K, m) that these then have.
        """
        held, free = self.unbiased_distances()
        d2, gone = separate_distances(x, codes, weights, held, self.moments.counts, free)
        left = np.repeat(self.moments.counts[:, None], len(codes), axis=1)
        left[codes, np.arange(len(codes))] -= gone.out
        return d2, left, left - 1

    def refit(self, moments: ClassMoments, robust: Robust | None = None) -> QDAFit | None:
        """The same model of other moments, prior and given shrinkages held; None where one is singular."""
        k, p = moments.n_classes, moments.n_columns
        held = None if self.chosen == "oas" else self.shrinkage
        given = [None] * k if held is None else held.tolist()
        full = self.structure == "full" or (
            self.structure == "shrunk" and held is not None and is_none(float(held.min()), p)
        )
        light = self.method == "moment" and (moments.counts <= 1 + LIGHT).any()
        if (
            light
            or (moments.rows <= (p if full else 1)).any()
            or any(obstacles(moments, self.structure, c, g) for c, g in enumerate(given))
        ):
            return None
        factors = None
        if self.factors is not None:
            factors = factors_for(moments, self.factors.wanted.anew(), standardize=self.standardize)
            if factors.fault() is not None:
                return None
        return fit_qda(
            moments,
            self.prior,
            method=self.method,
            structure=self.structure,
            estimated_prior=self.estimated_prior,
            shrinkage=held,
            chosen=self.chosen,
            robust=robust,
            standardize=self.standardize,
            factors=factors,
        )

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps of the fit beside its moments."""
        own = own_buffers(self.structure, self.shrinkage, self.covariances)
        return own if self.factors is None else own | {"dimensions": self.factors.dimensions.astype(float)}

    def df_model(self) -> int:
        """Free parameters: means, covariances and, where estimated, prior."""
        k, p = self.moments.n_classes, self.moments.n_columns
        if not self.has_likelihood:
            raise no_likelihood("A number of free parameters", self.structure)
        if self.factors is not None:
            spread = self.factors.free_parameters()
        else:
            spread = k * {"full": p * (p + 1) // 2, "diagonal": p, "spherical": 1}[self.structure]
        free_nu = 0 if self.found is None else self.found.df_model()
        return k * p + spread + (k - 1 if self.estimated_prior else 0) + free_nu

    def llf(self) -> float:
        """Log-likelihood of class and row at maximum-likelihood covariances."""
        if not self.has_likelihood:
            raise no_likelihood("A log-likelihood", self.structure)
        if self.found is not None:
            return self.found.llf(self.moments, self.prior)
        most_likely = self.scaled(self.moments.counts)
        if self.factors is not None:
            most_likely = self.factors.covariances(self.moments.counts)
        logdets = np.array([c.logdet for c in most_likely])
        return gaussian.log_likelihood(self.moments, logdets, self.prior)


def fit_qda(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str = "moment",
    structure: Structure = "full",
    estimated_prior: bool = True,
    shrinkage: Floats | None = None,
    chosen: Chosen | None = None,
    covariances: tuple[Covariance, ...] | None = None,
    estimator: str | None = None,
    robust: Robust | None = None,
    standardize: bool = False,
    factors: Factors | None = None,
) -> QDAFit:
    """Fit from moments by class, each without obstacles to the structure of its covariance.

    Parameters
    ----------
    prior : (K,) float
    method : {"moment", "mle"}
        Divisors n_k - 1 or n_k.
    structure, estimated_prior, chosen, estimator, robust
        As of `discrim.core.normal.lda.fit_lda`.
    shrinkage : (K,) float, optional
        Of shrunk covariances, by default those of `oas`; or of diagonal variances.
    covariances : tuple of K Covariance, optional
        Those of an estimator.
    standardize : bool
        As of `QDAFit`.
    factors : Factors, optional
        As `factors_for` gives them, without a fault.
    """
    divisors = divisors_by_class(moments.counts, method)
    if not standardize:
        moments = in_one_unit(moments, structure, shrinkage)
    if factors is not None:
        covariances = factors.covariances(divisors)
    if covariances is None:
        held = in_deviations(moments) if standardize else moments
        covariances, shrinkage = by_class(held, divisors, structure, shrinkage)
    if structure == "shrunk" and chosen is None:
        chosen = "oas"
    return QDAFit(
        moments,
        prior,
        estimated_prior,
        method,
        covariances,
        divisors,
        structure,
        shrinkage,
        chosen,
        estimator,
        robust,
        standardize,
        factors=factors,
    )


def factors_for(moments: ClassMoments, wanted: Wanted, *, standardize: bool) -> Factors:
    """What `fit_qda` takes of moments by class for covariances of a few large variances.

    Standardize is whether these are of columns over their standard deviations within classes.
    """
    held = in_deviations(moments) if standardize else in_one_unit(moments, "factor", None)
    return factors_of(held, wanted)


_FOUND: dict[str, Found] = {"given": "given", "cattell": "cattell", "bic": "bic"}


def qda_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str,
    structure: Structure,
    estimated_prior: bool,
    chosen: Chosen | None,
    estimator: str | None,
    standardize: bool,
    form: str | None = None,
    found_by: Found | None = None,
    least_fall: float | None = None,
    robust: Robust | None = None,
    shrinkage: Floats | None = None,
    covariance_roots: Floats | None = None,
    dimensions: Floats | None = None,
) -> QDAFit:
    """The fit that `buffers` and its options are of; as `discrim.core.normal.lda.lda_from_file`."""
    check_own(structure, chosen, shrinkage, covariance_roots)
    wanted = _wanted(structure, form, found_by, least_fall, dimensions)
    factors = None if wanted is None else factors_for(moments, wanted, standardize=standardize)
    if factors is not None and factors.fault() is not None:
        raise DataError("its dimensions do not go with its moments")
    return fit_qda(
        moments,
        prior,
        method=method,
        structure=structure,
        estimated_prior=estimated_prior,
        shrinkage=shrinkage,
        chosen=chosen,
        covariances=None
        if covariance_roots is None
        else tuple(Covariance.from_root(root) for root in covariance_roots),
        estimator=estimator,
        robust=robust,
        standardize=standardize,
        factors=factors,
    )


def _wanted(
    structure: str, form: str | None, found: str | None, threshold: float | None, dimensions: Floats | None
) -> Wanted | None:
    """What a file says of its covariances, None where they are others.

    Raises
    ------
    DataError
        It is no such thing.
    """
    there = {part is not None for part in (form, found, threshold, dimensions)}
    if there != {structure == "factor"}:
        raise DataError("its form, or its dimensions, do not go with its structure")
    if form is None or found is None or threshold is None or dimensions is None:
        return None
    if form not in FORMS or found not in _FOUND or not 0 <= threshold <= 1:
        raise DataError("its form, or how its dimensions were found, is not known")
    whole = dimensions.astype(np.intp)
    if (whole != dimensions).any() or (whole < 1).any():
        raise DataError("its dimensions are no whole numbers")
    if common_dimension(form) and len(set(whole.tolist())) > 1:
        raise DataError("its dimensions are to be the same")
    return Wanted(form, _FOUND[found], whole, threshold)
