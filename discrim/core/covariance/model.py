"""Covariance models of normal classes: the interface, and the full covariance.

Linear and quadratic discriminant analysis store one `CovarianceModel` and never test for its class. A model
is a frozen dataclass in a file of its own. It contains the options of the user and, once it is estimated, the
estimated parameters, such as a shrinkage. The defaults of `CovarianceModel` describe a model that is
estimated from moments, requires linearly independent columns, does not maximize a likelihood, and is refitted
to leave an observation out.

An argument `divisors` of shape (1,) requests one covariance for all classes; shape (K,), one for each class.

*Units.* Estimators that pool variances across columns (spherical target, median variance) depend on the scale
of the columns. If the columns are to be standardized, `column_units` returns their standard deviations: rows
and moments are divided by these before `fit_to_rows` and `candidate_scores`, and `in_data_units` is the model
of such columns. Otherwise `rescale_moments` limits the ratios of the scales of the columns to the range of
float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discrim.core.covariance.covariance import (
    Covariance,
    Dependency,
    class_covariances,
    dependencies,
    pooled_covariance,
)
from discrim.core.covariance.shrinkage import CandidateScorer, Shrinkage, ShrinkageRule
from discrim.core.errors import CoreNotSupportedError, InvalidStateError
from discrim.core.moments.derived_moments import (
    limit_scales,
    standardize_moments,
    standardized_leave_one_out,
    within_sd,
)
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks, ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import (
    FullLeaveOneOut,
    LeaveOneOutScorer,
    WhitenedMeans,
    refit_each_row,
)


@dataclass(frozen=True, slots=True, eq=False)
class NormalClasses:
    """Estimated normal classes, the argument of `log_likelihood` and `leave_one_out_scorer`.

    Attributes
    ----------
    moments : ClassMoments
        The moments from which `CovarianceModel.estimate` computed the covariances.
    covariances : tuple of Covariance
        One for all classes, or one for each class, in the coordinates of the moments.
    divisors : (1,) or (K,) float
        Numbers by which the scatters were divided to obtain the covariances, for example N - K.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    rows : iterable, optional
        All rows of the fit, divided by `column_units`, with which leave-one-out scores estimate a shrinkage
        again without each row; by default the shrinkage is kept.
    """

    moments: ClassMoments
    covariances: tuple[Covariance, ...]
    divisors: Floats
    log_prior: Floats
    rows: RowBlocks | None = None


@dataclass(frozen=True, slots=True)
class RetainedAxes:
    """Number of axes that a model retains, and the axes with equal eigenvalues that this number separates.

    Attributes
    ----------
    class_position : int or None
        Position of the class; None for the axes of all classes.
    count : int
        Number of retained axes.
    tied_axes : (int, int) or None
        Numbers, from one, of the first and the last axis of a set of equal eigenvalues if only some axes of
        this set are retained; else None.
    max_count : int or None
        Largest number of axes that can be chosen, if it is less than the number of axes.
    """

    class_position: int | None
    count: int
    tied_axes: tuple[int, int] | None
    max_count: int | None


class CovarianceEstimates(NamedTuple):
    """Result of `CovarianceModel.estimate`.

    Attributes
    ----------
    covariance_model : CovarianceModel
        The model with the parameters that are estimated from moments.
    moments : ClassMoments
        The moments, possibly rescaled.
    covariances : tuple of Covariance
        One, or one for each class, in the coordinates of these moments.
    """

    covariance_model: CovarianceModel
    moments: ClassMoments
    covariances: tuple[Covariance, ...]


@dataclass(frozen=True, slots=True)
class TargetUnits:
    """Units in which a shrinkage target is spherical (proportional to the identity): the units of the data.

    `StandardizedTargetUnits` is the alternative, for which `in_data` is False.
    """

    in_data: ClassVar[bool] = True

    def column_units(self, moments: ClassMoments) -> Floats | None:
        """Return the standard deviations (p,) that divide the columns; None for the units of the data."""
        return None

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments with the ratios of the column scales limited to the range of float64."""
        return limit_scales(moments)

    def moments_in_target_units(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments unchanged, because the target refers to the units of the data."""
        return moments

    def leave_one_out_scorer(
        self, fitted: NormalClasses, build_scorer: Callable[[NormalClasses], LeaveOneOutScorer]
    ) -> LeaveOneOutScorer:
        """Return `build_scorer(fitted)`, in which the moments have scales limited by `limit_scales`."""
        return build_scorer(replace(fitted, moments=limit_scales(fitted.moments)))


@dataclass(frozen=True, slots=True)
class StandardizedTargetUnits(TargetUnits):
    """Units in which the shrinkage target is spherical: standard deviations within classes."""

    in_data = False

    def column_units(self, moments: ClassMoments) -> Floats:
        """Return the standard deviations (p,) within classes."""
        return within_sd(moments)

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments unchanged, because standardized columns are on comparable scales."""
        return moments

    def moments_in_target_units(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments of columns divided by their standard deviations within classes."""
        return standardize_moments(moments)

    def leave_one_out_scorer(
        self, fitted: NormalClasses, build_scorer: Callable[[NormalClasses], LeaveOneOutScorer]
    ) -> LeaveOneOutScorer:
        """Return a leave-one-out scorer for rows in data units, from a scorer of standardized rows.

        `build_scorer` is called with `fitted` in which the moments refer to standardized columns. The
        result divides all rows, including those left out, by the standard deviations of the whole fit.
        """
        return standardized_leave_one_out(
            fitted.moments, lambda moments: build_scorer(replace(fitted, moments=moments))
        )


TARGET_UNITS = (TargetUnits(), StandardizedTargetUnits())
"""Units of the data, and of standardized columns: `TARGET_UNITS[standardize]` with a boolean index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CovarianceTraits:
    """Constant properties of a covariance model.

    Attributes
    ----------
    is_regular : bool
        The estimate is nonsingular even if columns are linearly dependent or outnumber the observations.
    needs_products : bool
        The estimate depends on products of different columns, not only on the squares of each column.
    needs_rows : bool
        The estimate requires the observations; their moments are not enough.
    has_own_divisor : bool
        The estimator defines its divisor; otherwise the caller chooses one, such as N - K.
    is_full : bool
        The estimate is a covariance matrix without restrictions.
    is_plain_full : bool
        The estimate is the full covariance of complete observations by their moments. Only this model can be
        combined with covariates and with supervised axes.
    is_moment_estimate : bool
        Means and covariances are moments of complete observations, and have the sampling distribution of
        moments.
    is_maximum_likelihood : bool
        The estimate maximizes the likelihood under the restrictions of the model, except for the divisor.
    has_reduced_likelihood : bool
        The maximum of the likelihood has a closed form if the means are restricted to fewer canonical axes.
        The differences of means on omitted axes are then added to the covariance, which requires a covariance
        without restrictions.
    has_standard_errors : bool
        Coefficients of a linear rule have standard errors.
    is_robust : bool
        Means and covariances are robust estimates.
    uses_incomplete_rows : bool
        Observations with missing values contribute.
    allows_subspace : bool
        The model can be the covariance of scores on principal axes.
    few_rows_suffice : bool
        The model can be computed from scatter roots with one row per observation, which are stored if each
        class has fewer observations than columns.
    """

    is_regular: bool = False
    needs_products: bool = True
    needs_rows: bool = False
    has_own_divisor: bool = False
    is_full: bool = False
    is_plain_full: bool = False
    is_moment_estimate: bool = True
    is_maximum_likelihood: bool = False
    has_reduced_likelihood: bool = False
    has_standard_errors: bool = False
    is_robust: bool = False
    uses_incomplete_rows: bool = False
    allows_subspace: bool = False
    few_rows_suffice: bool = False

    @property
    def has_distances(self) -> bool:
        """Whether squared distances have a known sampling distribution: full covariance by moments."""
        return self.is_full and self.is_moment_estimate


class CovarianceModel(ABC):
    """Model of the covariances of normal classes: the options of the user, and the estimated parameters.

    Attributes
    ----------
    name : str
        Identifier in files, and the default name in tables and messages.
    traits : CovarianceTraits
        Constant properties of the class.
    covariates : int
        Number of covariates: the first columns, for which the other columns are adjusted.
    target_units : TargetUnits or None
        Units in which a part of the covariance is spherical: the shrinkage target, or the residual outside
        the leading axes. None without such a part.
    shrinkage_rules : tuple of str
        Accepted values of `Shrinkage.rule`.
    """

    __slots__ = ()

    name: ClassVar[str] = ""
    traits: ClassVar[CovarianceTraits] = CovarianceTraits()
    covariates: int = 0
    target_units: TargetUnits | None = None
    shrinkage_rules: ClassVar[tuple[ShrinkageRule, ...]] = ()

    # ---- options

    def bind_classes(self, levels: Sequence[Any], n_columns: int) -> Self:
        """Return the model with the options that the user gave by class label in the order of the classes.

        The base class has no such options: it returns the model itself and raises nothing.

        Parameters
        ----------
        levels : sequence
            Labels of the classes.
        n_columns : int
            Number of columns.

        Raises
        ------
        CoreError
            The options are not suitable for these classes or this number of columns.
        """
        return self

    def unfitted(self) -> Self:
        """Return a copy with the user's options only; by default the model itself."""
        return self

    def for_columns(self, keep: Codes) -> CovarianceModel:
        """Return the model restricted to the columns at the positions `keep` (q,), in increasing order.

        By default the model itself, because its options do not refer to columns.
        """
        return self

    def for_refit(self) -> CovarianceModel:
        """Return the model for a refit to other moments.

        Parameters that were estimated from observations, which a refit to moments cannot estimate again, are
        kept. Parameters that follow from moments are estimated again. By default the model itself.
        """
        return self

    def for_class(self, k: int | None) -> CovarianceModel:
        """Return the model with the parameters of class k only, or of the pooled covariance if k is None.

        By default the model itself, without parameters by class.
        """
        return self

    @property
    def subspace(self) -> Any:
        """The model itself if it compares the classes on a few axes (a `SubspaceCovariance`), else None."""
        return None

    @property
    def is_common(self) -> bool:
        """Whether the model has one covariance for all classes although it is fitted by class."""
        return False

    # ---- shrinkage

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """Shrinkage of the covariance, and of the variances if they have a separate one; may be empty."""
        return ()

    def chosen_parameters(self) -> dict[str, Any]:
        """Return the options that replace the user's options in a refit with the values that were selected.

        The keys are the names of options. A shrinkage that leave-one-out selected yields
        {"shrinkage": value, "grid": None}, because a given shrinkage needs no grid of candidates. The result
        is empty if no value was selected.
        """
        if self.shrinkages and self.shrinkages[0].rule == "loo":
            return {"shrinkage": self.shrinkages[0].values[0], "grid": None}
        return {}

    def with_shrinkages(self, *values: float) -> CovarianceModel:
        """Return the model with other shrinkages, one or one for each class; by default the model itself."""
        return self

    def in_data_units(self) -> CovarianceModel:
        """Return the model to use if the columns have already been divided by `column_units`.

        By default the model itself.
        """
        return self

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> CandidateScorer:
        """Return a function that computes leave-one-out scores for each candidate of the shrinkage.

        Parameters
        ----------
        moments : ClassMoments
            Moments of columns divided by `column_units`.
        divisors : (1,) or (K,) float
            Divisors of the scatters.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        CandidateScorer
            Function of rows x (m, p), codes (m,) and weights (m,) or None that yields the scores (K, m) for
            each candidate. By default it yields nothing.
        """
        return lambda x, codes, weights: iter(())

    # ---- moments

    @classmethod
    def required_moments(cls, full: ScatterType, *, thin: bool = False) -> ScatterType:
        """Return which second moments of the rows have to be accumulated for this model.

        Parameters
        ----------
        full : {"pooled", "class"}
            Second moments for a full covariance: pooled, or of each class.
        thin : bool
            Whether a scatter root with one row per observation is preferred, if the model accepts it.

        Returns
        -------
        {"diagonal", "pooled", "class", "thin", "thin class"}
            "diagonal" if the model does not need products of columns. Otherwise `full`, unless `thin` is set
            and the model is regular: then "thin" for "pooled" and "thin class" for "class".
        """
        if not cls.traits.needs_products:
            return "diagonal"
        if thin and cls.traits.is_regular:
            return "thin" if full == "pooled" else "thin class"
        return full

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return whether the covariance is nonsingular only if the columns are linearly independent.

        By default this is `not traits.is_regular`, and `n_columns` is not used.
        """
        return not self.traits.is_regular

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the linearly dependent columns that make the covariance singular.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        k : int, optional
            Position of a class; by default the pooled covariance.

        Returns
        -------
        list of Dependency
            Columns that are linear combinations of earlier columns. If the model is regular, all columns if
            every column is constant, else none.
        """
        return (
            dependencies_if_all_constant(moments, k) if self.traits.is_regular else dependencies(moments, k)
        )

    def find_overflow(self, moments: ClassMoments, k: int | None) -> tuple[int, int] | None:
        """Find a column whose squared distances overflow, because its variance is shrunk towards the median.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        k : int or None
            Position of the class; None for the pooled variances.

        Returns
        -------
        (int, int) or None
            Positions of this column and of the column with the median variance; None without overflow, and
            always for models that do not shrink towards the median.
        """
        return None

    def column_units(self, moments: ClassMoments) -> Floats | None:
        """Return the standard deviations (p,) within classes that divide the columns.

        None if the columns keep the units of the data, or the model has no `target_units`.
        """
        return None if self.target_units is None else self.target_units.column_units(moments)

    @property
    def depends_on_units(self) -> bool:
        """Whether variances in the units of the data are pooled across columns."""
        return self.target_units is not None and self.target_units.in_data

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments rescaled by `target_units`; unchanged for a model without `target_units`."""
        return moments if self.target_units is None else self.target_units.rescale_moments(moments)

    # ---- estimates

    @property
    def needs_rows(self) -> bool:
        """Whether a refit reads the observations, because their moments are not enough."""
        return self.traits.needs_rows or any(shrinkage.requires_rows for shrinkage in self.shrinkages)

    def fit_to_rows(self, rows: RowBlocks, moments: ClassMoments, divisors: Floats) -> Self:
        """Return a copy with the row-dependent parameters (such as the Ledoit-Wolf intensity) estimated.

        Parameters
        ----------
        rows : iterable of blocks
            Rows divided by `column_units`.
        moments : ClassMoments
            Moments of these rows.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.

        Returns
        -------
        CovarianceModel
            The model itself if none of its parameters depends on rows, which is the default.
        """
        return self

    @abstractmethod
    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances from moments for which `dependent_columns` is empty.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.

        Returns
        -------
        CovarianceEstimates
            The model with its estimated parameters, the moments (possibly rescaled), and one covariance for
            each divisor.

        Raises
        ------
        NoEstimateError
            The estimate does not exist.
        """

    def retained_axes(self) -> list[RetainedAxes]:
        """Return the number of retained axes by class, with ties that it separates, for warnings.

        Empty by default, for a model that uses all columns.
        """
        return []

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return a function of rows that computes the scores of each row under the fit without it.

        Scores are NaN for rows that require a refit. The base class has no closed form: all scores are NaN,
        and CoreNotSupportedError is raised for more than `MAX_REFITS` rows.
        """
        return refit_scorer(self, fitted.moments)

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise CoreNotSupportedError if rows cannot be left out.

        Only a model that uses the default `leave_one_out_scorer` is checked: it supports at most `MAX_REFITS`
        rows, because each of them requires a refit.
        """
        # A model with its own scorer has a closed form, or overrides this method.
        if type(self).leave_one_out_scorer is CovarianceModel.leave_one_out_scorer:
            refit_scorer(self, moments)

    @property
    def refits_each_row(self) -> bool:
        """Whether each row that is left out requires a refit: the model has no scorer of its own."""
        return type(self).leave_one_out_scorer is CovarianceModel.leave_one_out_scorer

    # ---- likelihood and sampling distribution

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of free parameters of the covariances.

        Parameters
        ----------
        n_columns : int
            Number of columns.
        n_covariances : int
            1 for a common covariance, or the number of classes.

        Raises
        ------
        CoreNotSupportedError
            Always; models that maximize a likelihood override this method.
        """
        raise no_likelihood_error(self.name)

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the joint log-likelihood of classes and rows at the maximum-likelihood divisors.

        The density is in the units of the data. The divisors are the counts of the classes, or their sum for
        a common covariance. Raises CoreNotSupportedError if the model does not maximize a likelihood.
        """
        if not self.traits.is_maximum_likelihood:
            raise no_likelihood_error(self.name)
        moments = fitted.moments
        divisors = fitted.divisors
        counts = moments.counts if len(divisors) > 1 else np.array([moments.total])
        ratios = (counts / divisors).tolist()
        logdets = [
            covariance.divided_by(ratio).logdet
            for covariance, ratio in zip(fitted.covariances, ratios, strict=True)
        ]
        return gaussian.log_likelihood(moments, np.broadcast_to(logdets, moments.n_classes), fitted.log_prior)

    # ---- files

    def as_stored(self) -> Self:
        """Return the model to write to a file, with all parameters that cannot be computed from moments.

        By default the model itself.
        """
        return self

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Check the parameters of a model that was read from a file.

        Parameters
        ----------
        n_covariances : int
            1 for a common covariance, or the number of classes.
        n_columns : int
            Number of columns.

        Raises
        ------
        InvalidStateError
            A shrinkage does not have `n_covariances` values (one for a separate shrinkage of the variances),
            or its rule is not in `shrinkage_rules`. Overrides check further parameters.
        """
        # A separate shrinkage of the variances, if there is one, has a single value.
        for shrinkage, count in zip(self.shrinkages, (n_covariances, 1), strict=False):
            if len(shrinkage.values) != count or shrinkage.rule not in self.shrinkage_rules:
                raise InvalidStateError(f"its shrinkage does not match the covariance {self.name!r}")


@dataclass(frozen=True)
class SingleShrinkageModel(CovarianceModel):
    """Base class of covariance models with one shrinkage, or one for each class.

    Attributes
    ----------
    shrinkage : Shrinkage
        Amount of shrinkage, and the rule that determines it.
    """

    __slots__ = ("shrinkage",)

    shrinkage: Shrinkage

    def unfitted(self) -> Self:
        """Return a copy without a shrinkage that a rule determined; a given shrinkage is kept."""
        return replace(self, shrinkage=self.shrinkage.unfitted())

    def for_refit(self) -> Self:
        """Return the model for a refit to other moments.

        A shrinkage by "oas" is estimated again, because it follows from moments. Other shrinkages are kept:
        given ones, and ones that were estimated from observations ("ledoit-wolf", "loo", "strimmer").
        """
        return replace(self, shrinkage=self.shrinkage.for_refit())

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """The shrinkage as a tuple with one element."""
        return (self.shrinkage,)

    def for_class(self, k: int | None) -> Self:
        """Return the model with the shrinkage of class k only, or with the single one if k is None.

        The model itself if the shrinkage is not determined yet.
        """
        value = self.shrinkage.for_class(k)
        return self if value is None else self.with_shrinkages(value)

    def with_shrinkages(self, *values: float) -> Self:
        """Return a copy whose shrinkage has these values, one or one for each class, and the same rule."""
        return replace(self, shrinkage=self.shrinkage.with_values(values))


def refit_scorer(model: CovarianceModel, moments: ClassMoments) -> LeaveOneOutScorer:
    """Return a scorer that returns NaN for every row, so that the caller refits without each of them.

    Raises CoreNotSupportedError if there are more than `MAX_REFITS` rows.
    """
    work = f'of the covariance model "{model.name}" requires a refit for each row'
    return refit_each_row(int(moments.rows.sum()), moments.n_classes, work)


def no_likelihood_error(name: str) -> CoreNotSupportedError:
    """Return a CoreNotSupportedError for the covariance `name`, which does not maximize a likelihood."""
    return CoreNotSupportedError("no_likelihood_of_covariance", name=name)


@dataclass(frozen=True, slots=True)
class FullCovariance(CovarianceModel):
    """Full covariance matrices without restrictions, pooled or by class."""

    name = "full"
    traits = CovarianceTraits(
        is_full=True,
        is_plain_full=True,
        is_maximum_likelihood=True,
        has_reduced_likelihood=True,
        has_standard_errors=True,
        allows_subspace=True,
    )

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances: the scatter over divisors (1,), or the scatters of the classes over (K,).

        The model and the moments of the result are unchanged.
        """
        covariances = (
            (pooled_covariance(moments, float(divisors[0])),)
            if len(divisors) == 1
            else class_covariances(moments, divisors)
        )
        return CovarianceEstimates(self, moments, covariances)

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return a scorer that computes leave-one-out scores from distances under the fit to all rows."""
        return full_leave_one_out_scorer(fitted)

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of variances and covariances."""
        return n_covariances * n_columns * (n_columns + 1) // 2


def full_leave_one_out_scorer(fitted: NormalClasses) -> FullLeaveOneOut:
    """Return the leave-one-out scorer for full covariances, one for all classes or one for each class.

    Scores are NaN for rows that require a refit.
    """
    moments = fitted.moments
    covariances = fitted.covariances
    divisors = fitted.divisors
    if len(divisors) > 1:
        rule = gaussian.class_plugin_rule(moments, covariances, fitted.log_prior)
        return FullLeaveOneOut(rule.distances, moments.counts, moments.rows, divisors, rule.constant)
    distances = gaussian.distances_to_means(moments, covariances)
    return FullLeaveOneOut(
        distances,
        moments.counts,
        moments.rows,
        divisors,
        fitted.log_prior,
        WhitenedMeans.of_distances(distances),
    )


def class_divisor_pairs(divisors: Floats) -> list[tuple[int | None, float]]:
    """Return a pair for each covariance: the position of its class, None if it is pooled, and its divisor.

    `divisors` has the shape (1,) for a pooled covariance, or (K,) for one for each class.
    """
    if len(divisors) == 1:
        return [(None, float(divisors[0]))]
    return list(enumerate(divisors.tolist()))


def dependencies_if_all_constant(moments: ClassMoments, k: int | None) -> list[Dependency]:
    """Return all columns as dependencies if every column is constant, else an empty list.

    Columns have to be constant within class k, or within each class if k is None.
    """
    constant = dependencies(moments, k, diagonal=True)
    return constant if len(constant) == moments.n_columns else []
