"""Steps of a fit that LDA and QDA share, their `ModelSpec`, and tests of equal covariances.

The verbs call these functions in their order: `uses_em`, `moments_of_sample`, `check_degrees_of_freedom` or
`raise_if_singular`, `warn_if_units_differ`, and `fit_covariance_to_rows`, which estimates parameters that
the moments do not determine, such as a shrinkage chosen by leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from discrim.core.covariance import factor
from discrim.core.covariance.covariance import (
    Dependency,
    class_covariances,
    divisors_by_class,
    pooled_covariance,
)
from discrim.core.covariance.factor import FORMS, Factors, factor_fault_error
from discrim.core.covariance.model import CovarianceModel, FullCovariance, class_divisor_pairs
from discrim.core.covariance.shrinkage import find_errors_by_candidate
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.errors import InvalidStateError
from discrim.core.moments.derived_moments import (
    constant_within_classes,
    divide_columns,
    limit_scales,
    within_sd,
)
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments
from discrim.core.moments.row_sums import ScatterType, raise_if_sums_exceed_memory
from discrim.core.numerics.arrays import Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule, log_of_prior
from discrim.covariance import FactorAnalytic
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_rows
from discrim.errors import (
    CollinearError,
    DataError,
    NotSupportedError,
    PrecisionWarning,
    ScaleWarning,
    sentence,
    warn_user,
)
from discrim.inference.covariance_models import box_m_test, covariance_hierarchy, likelihood_ratio_test
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.core_errors import public_error
from discrim.models.base.fit import EstimatesT, FittedModel, ModelSpec
from discrim.models.base.reading import WrapBlocks
from discrim.models.base.refits import error_path, largest_acceptable
from discrim.models.discriminant.components import AxesChoice, choose_axes, reason_rows_are_needed
from discrim.models.discriminant.covariance_models import (
    advised_specification,
    covariance_text,
    describe,
    shrinkage_text,
)
from discrim.models.discriminant.em import is_em_requested, refit_by_em
from discrim.models.discriminant.robust import refit_robustly
from discrim.models.moments.sample import NeedsRows, Sample

COVARIANCE_NEEDS_ROWS = NeedsRows(
    "This covariance is estimated from the observations; their moments do not determine it.",
    "Pass a shrinkage as a number, for example covariance=discrim.covariance.Shrunk(0.1)",
)

MAX_SD_RATIO = 10.0
"""Ratio of standard deviations within classes above which the units of the columns are too different."""


def class_divisors(moments: ClassMoments, method: str) -> Floats:
    """Return the divisors (K,) of the class covariances: n_k - 1 for method="moment", n_k for any other."""
    return divisors_by_class(moments.counts, method)


def uses_em(
    missing: Any,
    covariance: Any,
    covariance_model: CovarianceModel,
    na_action: str,
    *,
    has_rows: bool,
    collinear: str = "raise",
) -> bool:
    """Validate `missing=` and the options that exclude EM; return whether the fit uses EM.

    Parameters
    ----------
    missing, covariance, na_action, collinear
        Options of the verb.
    covariance_model : CovarianceModel
        The model that `covariance` stands for.
    has_rows : bool
        Whether the verb is fitted to rows that can be read several times, and not to moments.

    Returns
    -------
    bool
        True only for missing="em".

    Raises
    ------
    DataError
        `missing` is not one of its words, or contradicts `na_action`.
    NotSupportedError
        `missing` is "em", and not `has_rows`, the covariance is not full, or `collinear` is "drop".
    """
    if missing is None or not is_em_requested(missing, na_action, has_rows=has_rows):
        return False
    if not covariance_model.traits.has_distances:
        raise NotSupportedError(
            'missing="em" estimates full covariances by maximum likelihood and cannot be combined with '
            f"{covariance_text(covariance)}.",
            hint="Leave out one of the two.",
        )
    if collinear != "raise":
        raise NotSupportedError(
            'missing="em" cannot be combined with collinear="drop".',
            hint="Leave out collinear=, and drop the columns that an error names.",
        )
    return True


def moments_of_sample(sample: Sample, covariance_model: CovarianceModel) -> tuple[DesignRows, ClassMoments]:
    """Return the design, as `DesignRows` without rows, and the class moments of the option `moments=`.

    The moments have the second moments that the covariance model requires. Raises NotSupportedError if the
    model is estimated from rows, such as a robust one or a choice by "cv" or "loo".
    """
    subspace = covariance_model.subspace
    reason = None
    if covariance_model.needs_rows:
        reason = COVARIANCE_NEEDS_ROWS if subspace is None else reason_rows_are_needed(subspace.options)
    return sample.read_moments(covariance_model.required_moments(sample.scatters), reason)


def fit_covariance_to_rows(
    covariance_model: CovarianceModel,
    design_rows: DesignRows,
    moments: ClassMoments,
    divisors: Callable[[ClassMoments], Floats],
    prior: Floats,
    *,
    sampled: bool,
) -> tuple[CovarianceModel, pd.DataFrame | None]:
    """Estimate the parameters of a covariance model that depend on the rows, such as a shrinkage.

    The rows are read again if the model needs them.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model with the options of the user.
    design_rows : DesignRows
    moments : ClassMoments
        Moments of these rows.
    divisors : callable
        Returns the divisors of the scatters from moments: (1,) for a common covariance, (K,) for one by
        class.
    prior : (K,) float
        Prior probabilities of the classes.
    sampled : bool
        Whether the prior is the class proportions of the rows, whose sampling error counts in `se`.

    Returns
    -------
    CovarianceModel
        The model with estimated parameters; the covariances are not estimated here.
    DataFrame or None
        Errors by parameter value, if the parameter was chosen by its error: the columns are shrinkage, error
        and se, or components, error, se and share. None if no parameter was chosen by its error.

    Raises
    ------
    CollinearError
        The covariance is singular with these parameters, or with each candidate number of axes.
    DataError
        The total weight of a class is too small for leave-one-out, each candidate shrinkage is singular
        without some row, squared distances exceed double precision, or the user's estimator lacks a
        covariance.
    NotSupportedError
        components="loo" would take too long.
    """
    subspace = covariance_model.subspace
    if subspace is not None and subspace.needs_rows:
        return choose_axes(AxesChoice(subspace, design_rows, moments, divisors, prior), sampled=sampled)
    unit = covariance_model.column_units(moments)
    levels = design_rows.design.levels
    divisor_values = divisors(moments)
    if unit is not None:
        design_rows = replace(design_rows, column_units=unit)
        moments = divide_columns(moments, unit)
    if any(shrinkage.grid for shrinkage in covariance_model.shrinkages):
        candidate_model = covariance_model.in_data_units()
        scaled = candidate_model.with_shrinkages(1.0).rescale_moments(moments)
        path = shrinkage_path(
            ShrinkageCandidates(candidate_model, design_rows, scaled, divisors, prior), sampled=sampled
        )
        return covariance_model.with_shrinkages(*[largest_acceptable(path)] * len(divisor_values)), path
    fitted_model = covariance_model.fit_to_rows(design_rows, moments, divisor_values)
    for k, _ in (
        class_divisor_pairs(divisor_values)
        if fitted_model.shrinkages and fitted_model.shrinkages[0].values
        else ()
    ):
        scope = "within classes" if k is None else f"in class {levels[k]!r}"
        _raise_if_singular_shrinkage(fitted_model.for_class(k), moments, design_rows.terms, k, scope)
    return fitted_model, None


def _raise_if_singular_shrinkage(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: Sequence[str], k: int | None, scope: str
) -> None:
    """Raise CollinearError if a covariance is singular despite shrinkage, or DataError if it overflows.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model with the single shrinkage of class `k`.
    moments : ClassMoments
        Moments from which the covariance is estimated.
    terms : sequence of str
        Names of the columns.
    k : int or None
        Position of the class; None for the pooled covariance.
    scope : str
        "in class ..." or "within classes", for the message.
    """
    shrinkage = covariance_model.shrinkages[0]
    p = moments.n_columns
    df = moments.rows.sum() - moments.n_classes if k is None else moments.rows[k] - 1
    if covariance_model.requires_full_rank(p) and df < p:
        raise CollinearError(
            f"{shrinkage_text(shrinkage)} {scope}. The covariance matrix of {len(terms)} columns "
            f"({reading.join_labels(terms)}) is then singular, with {df} degrees of freedom.",
            hint=f"Pass a larger number{describe(covariance_model).other_shrinkage}.",
        )
    if out_of_range := covariance_model.find_overflow(moments, k):
        column, median_column = (repr(terms[j]) for j in out_of_range)
        raise DataError(
            f"A shrinkage of 1 replaces all variances {scope} by their median, the variance of "
            f"{median_column}. The variance of {column} is so much larger that squared distances exceed "
            "double precision.",
            hint="Rescale the columns, for example by standardize(), or pass a shrinkage below 1.",
        )
    dependent_columns = covariance_model.dependent_columns(moments, k)
    if dependent_columns and shrinkage.is_negligible(p):
        larger_shrinkage = advised_specification(covariance_model, "1e-6")
        raise reading.collinear_error(
            dependent_columns,
            tuple(terms),
            scope,
            alternative=f"pass {larger_shrinkage}",
            separation_hint=f"Pass {larger_shrinkage}, which uses this.",
        )
    if dependent_columns:
        raise CollinearError(
            f"At least half of the columns are constant {scope}, such as "
            f"{terms[dependent_columns[0].column]!r}. The median of the variances is therefore zero, and the "
            "covariance matrix remains singular with any shrinkage.",
            hint="Drop the constant columns.",
            columns=[terms[dependency.column] for dependency in dependent_columns],
        )


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkageCandidates:
    """Candidate shrinkages of a covariance model and the rows that choose among them.

    Attributes
    ----------
    covariance_model : CovarianceModel
        The model with its grid of shrinkages, for columns that are already in the units of its target.
    design_rows : DesignRows
        The rows in these units.
    moments : ClassMoments
        Moments of these rows.
    divisors : callable
        Returns the divisors of the scatters from moments: (1,) for a common covariance, (K,) for one by
        class.
    prior : (K,) float
        Prior probabilities of the classes.
    """

    covariance_model: CovarianceModel
    design_rows: DesignRows
    moments: ClassMoments
    divisors: Callable[[ClassMoments], Floats]
    prior: Floats

    @property
    def grid(self) -> tuple[float, ...]:
        """The G candidate shrinkages, from 0 to 1."""
        return self.covariance_model.shrinkages[0].grid

    @property
    def is_common(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.divisors(self.moments)) == 1

    def is_singular(self, moments: ClassMoments, shrinkage: float) -> bool:
        """Return whether a covariance with this shrinkage is singular, or distances exceed double precision.

        A covariance that requires full rank is also singular if the scatters are in thin form, which is used
        if there are more columns than rows.
        """
        covariance_model = self.covariance_model.with_shrinkages(shrinkage)
        if covariance_model.requires_full_rank(moments.n_columns) and moments.scatter_type in (
            "thin",
            "thin class",
        ):
            return True
        class_positions = [k for k, _ in class_divisor_pairs(self.divisors(moments))]
        is_out_of_range = any(covariance_model.find_overflow(moments, k) for k in class_positions)
        return is_out_of_range or any(covariance_model.dependent_columns(moments, k) for k in class_positions)

    def fit_rule(self, moments: ClassMoments, shrinkage: float) -> Rule:
        """Return the rule fitted to moments with this shrinkage, under the prior of the candidates.

        It is linear for a common covariance, else quadratic.
        """
        log_prior = log_of_prior(self.prior)
        _, moments, covariances = self.covariance_model.with_shrinkages(shrinkage).estimate(
            moments, self.divisors(moments)
        )
        if self.is_common:
            return gaussian.linear_rule(moments, covariances[0], log_prior)
        return gaussian.class_plugin_rule(moments, covariances, log_prior)

    def misclassified_without_row(self, position: int, code: int) -> Floats:
        """Refit without a row, or one unit of its weight, for each shrinkage; return if it is misclassified.

        Parameters
        ----------
        position : int
            Position of the row in the table.
        code : int
            Position of the class of the row.

        Returns
        -------
        (G,) float
            For each shrinkage, 1 if the row is misclassified, else 0; NaN if a covariance is singular without
            the row, or distances exceed double precision.
        """
        design_rows = self.design_rows
        is_misclassified = np.full(len(self.grid), np.nan)
        weights = (
            np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights.copy()
        )
        weights[position] -= min(1.0, weights[position])
        moments = reading.class_moments(design_rows.with_weights(weights), self.moments.scatter_type)
        row = design_rows.rows_at_positions(np.array([position]))
        for i, shrinkage in enumerate(self.grid):
            if not self.is_singular(moments, shrinkage):
                is_misclassified[i] = self.fit_rule(moments, shrinkage).scores(row)[0].argmax() != code
        return is_misclassified


def shrinkage_path(candidates: ShrinkageCandidates, *, sampled: bool) -> pd.DataFrame:
    """Estimate the leave-one-out error of each candidate shrinkage.

    Parameters
    ----------
    candidates : ShrinkageCandidates
        Candidates and rows.
    sampled : bool
        Whether the prior is the class proportions of the rows, whose sampling error counts in `se`.

    Returns
    -------
    DataFrame
        shrinkage, error, se (the standard error of the error), in the order of the grid. The error is missing
        if a covariance is singular for all rows or without some row, or if distances exceed double precision.

    Raises
    ------
    DataError
        The total weight of a class is less than 2 (3 with one covariance by class), or the error of each
        shrinkage is missing.
    """
    _raise_if_few_rows(candidates)
    singular = np.array([candidates.is_singular(candidates.moments, g) for g in candidates.grid])
    misclassified = np.zeros((len(candidates.grid), candidates.moments.n_classes))
    divisors = candidates.divisors(candidates.moments)
    log_prior = log_of_prior(candidates.prior)
    candidate_scores = candidates.covariance_model.candidate_scores(candidates.moments, divisors, log_prior)
    for rows, x, codes, weights in used_rows(candidates.design_rows):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        is_misclassified = find_errors_by_candidate(candidate_scores, x, codes, weights)
        # The closed form loses all digits for a row that contributes nearly all of the variance.
        for j in np.flatnonzero(np.isnan(is_misclassified[~singular]).any(axis=0)).tolist():
            is_misclassified[:, j] = candidates.misclassified_without_row(int(positions[j]), int(codes[j]))
        for i, is_error in enumerate(is_misclassified):
            error_weights = is_error if weights is None else is_error * weights
            misclassified[i] += np.bincount(codes, error_weights, minlength=misclassified.shape[1])
    is_missing = singular | np.isnan(misclassified).any(axis=1)
    if is_missing.all():
        raise DataError(
            f"For each shrinkage of the grid {reading.join_labels(candidates.grid)}, the covariance matrix "
            "is singular without some row.",
            hint="Use a grid with more shrinkage.",
        )
    misclassified = np.where(is_missing[:, None], np.nan, misclassified)
    return error_path(
        "shrinkage",
        candidates.grid,
        misclassified,
        candidates.moments.counts,
        candidates.prior,
        sampled=sampled,
    )


def _raise_if_few_rows(candidates: ShrinkageCandidates) -> None:
    """Raise DataError if the total weight of a class is less than 2, or 3 with one covariance by class."""
    min_rows = 2 if candidates.is_common else 3
    small_classes = np.flatnonzero(candidates.moments.counts < min_rows)
    if len(small_classes):
        label = candidates.design_rows.design.levels[small_classes[0]]
        n_rows = candidates.moments.counts[small_classes[0]]
        raise DataError(
            f'shrinkage="loo": class {label!r} has {n_rows:g} row{"s" if n_rows != 1 else ""}, too few to '
            f"leave one out, which requires {min_rows}.",
            hint="Pass the shrinkage as a number, or merge the class with another.",
            classes=(label,),
        )


def warn_of_units(moments: ClassMoments, terms: Sequence[str], subject: str, hint: str) -> None:
    """Warn if the standard deviations of the columns differ by more than `MAX_SD_RATIO`.

    Parameters
    ----------
    moments : ClassMoments
        Moments, for the standard deviations within classes, or over all rows for columns that are constant
        within classes.
    terms : sequence of str
        Names of the columns.
    subject : str
        The part of the model that depends on units, which begins the message.
    hint : str
        How to standardize the columns, for the message.
    """
    sd = within_sd(moments)
    is_constant = constant_within_classes(moments)
    wide = int(np.argmax(sd))
    narrow = int(np.argmin(sd))
    if sd[wide] > MAX_SD_RATIO * sd[narrow]:
        deviations = [
            f"{terms[j]!r}, which is constant within classes, has a standard deviation of {sd[j]:.3g} over "
            "all rows"
            if is_constant[j]
            else f"{terms[j]!r} has a standard deviation of {sd[j]:.3g} within classes"
            for j in (wide, narrow)
        ]
        warn_user(
            f"{subject} depends on the units of the columns, whose scales differ greatly: {deviations[0]}, "
            f"and {deviations[1]}. {hint}, which divides each column by its standard deviation.",
            ScaleWarning,
        )


def warn_if_units_differ(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: Sequence[str], hint: str
) -> None:
    """Warn if a covariance model depends on the units of the columns and their scales differ greatly.

    The category is ScaleWarning, and the limit a ratio of standard deviations within classes above
    `MAX_SD_RATIO`. `terms` are the names of the columns, and `hint` states how to standardize them.
    """
    if covariance_model.depends_on_units:
        warn_of_units(moments, terms, describe(covariance_model).unit_dependent_part, hint)


class NormalSpec(ModelSpec[EstimatesT]):
    """Base class of the specifications of linear and quadratic discriminant analysis."""

    has_common_covariance: ClassVar[bool]
    """Whether the classes share one covariance."""

    chosen_options = MappingProxyType({"covariance": "chosen_covariance", "components": "chosen_components"})

    def fit(
        self, estimates: EstimatesT, rows: DesignRows, arguments: Mapping[str, Any], **options: Any
    ) -> FittedModel[EstimatesT]:
        """Return a fitted model of `estimates`, `rows` and the options of the verb (`arguments`).

        It equals the result of `ModelSpec.fit`, which describes `options`, except that after a fit by EM
        predictions integrate out the missing columns of a row.
        """
        is_partial = _covariance_model(estimates).traits.uses_incomplete_rows
        return super().fit(
            estimates, replace(rows, integrates_missing=True) if is_partial else rows, arguments, **options
        )

    def required_moments(self, fit: FittedModel[EstimatesT]) -> ScatterType | None:
        """Return the second moments of the fit, such as "pooled"; None if a refit needs the rows.

        Robust estimates, estimates by EM and parameters that are chosen or estimated from rows need the
        rows.
        """
        covariance_model = _covariance_model(fit.estimates)
        if (
            covariance_model.traits.is_robust
            or not covariance_model.traits.is_moment_estimate
            or covariance_model.unfitted().needs_rows
        ):
            return None
        return super().required_moments(fit)

    def choice_description(self, fit: FittedModel[EstimatesT]) -> str:
        """Return "the number of principal axes" or "the shrinkage" if chosen by its error; else ""."""
        covariance_model = _covariance_model(fit.estimates)
        if covariance_model.subspace is not None and covariance_model.subspace.is_chosen:
            return "the number of principal axes"
        return (
            "the shrinkage"
            if any(shrinkage.rule == "loo" for shrinkage in covariance_model.shrinkages)
            else ""
        )

    def unusable_columns(self, fit: FittedModel[EstimatesT], moments: ClassMoments) -> list[Dependency]:
        """Return the columns, constant or collinear within classes, that the model cannot use.

        Each `Dependency` has the positions of a column and of its predictors. The list is empty for a model
        that can use such columns, such as a shrunk covariance.
        """
        return _covariance_model(fit.estimates).unfitted().dependent_columns(moments)

    def refit_to_rows(self, fit: FittedModel[EstimatesT], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit with the prior of the fit, which repeats any choice of parameters.

        A shrinkage or a number of axes is chosen or estimated again; robust estimates and EM are searched
        again. None if a covariance is singular or a class has too few rows.
        """
        covariance_model = _covariance_model(fit.estimates)
        if (
            covariance_model.traits.is_moment_estimate
            and not covariance_model.traits.is_robust
            and covariance_model.unfitted().needs_rows
        ):
            return _refit_with_choices_repeated(self.has_common_covariance, fit, rows)
        return self.refit_with_fixed(fit, rows)

    def refit_with_fixed(self, fit: FittedModel[EstimatesT], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps the prior and the parameters that were estimated from rows.

        Such are a shrinkage by leave-one-out, Ledoit-Wolf or Strimmer, and a number of axes chosen by "cv" or
        "loo". Means, covariances and parameters that follow from moments are estimated again; robust
        estimates and EM are searched again. None if a covariance is singular or a class has too few rows.
        """
        covariance_model = _covariance_model(fit.estimates)
        if covariance_model.traits.is_robust:
            return refit_robustly(fit, rows)
        if not covariance_model.traits.is_moment_estimate:
            return refit_by_em(self.has_common_covariance, fit, rows)
        return super().refit_with_fixed(fit, rows)

    def leave_one_out(self, fit: FittedModel[EstimatesT]) -> LeaveOneOutScorer | Floats:
        """Return the leave-one-out scorer of the estimates under the prior of the fit.

        It reads the rows with columns divided by the units of the covariance model, if it has any. Raises
        NotSupportedError for a fit without rows, or if the covariance model does not support leave-one-out.
        """
        estimates: Any = fit.estimates
        rows = fit.require_rows("leave_one_out()")
        unit = estimates.covariance_model.column_units(estimates.moments)
        left_out: LeaveOneOutScorer = estimates.leave_one_out_scorer(
            fit.log_prior(), rows if unit is None else replace(rows, column_units=unit)
        )
        return left_out

    def from_arrays(self, moments: ClassMoments, prior: Floats, arguments: Mapping[str, Any]) -> EstimatesT:
        """Return the estimates stored in a file.

        Parameters
        ----------
        moments : ClassMoments
            Moments in the file.
        prior : (K,) float
            Prior probabilities of the classes.
        arguments : mapping
            Stored arguments of the constructor, which include the covariance model.

        Returns
        -------
        LDAFit or QDAFit
            Estimates computed again from the moments.

        Raises
        ------
        InvalidStateError
            The covariance model contradicts the number of classes, the number of columns or the method.
        """
        covariance_model: CovarianceModel = arguments["covariance_model"]
        n_covariances = 1 if self.has_common_covariance else len(prior)
        covariance_model.check_restored(n_covariances, moments.n_columns)
        method = getattr(covariance_model, "method", None)
        if arguments["method"] not in (("moment", "mle") if method is None else (method,)):
            raise InvalidStateError(f"its method is {arguments['method']!r}")
        estimates: Any = super().from_arrays(moments, prior, arguments)
        if len(estimates.covariances) != n_covariances:
            raise InvalidStateError("the number of its covariances does not match the classes")
        fitted: EstimatesT = estimates
        return fitted


def _covariance_model(estimates: Any) -> CovarianceModel:
    """Return the covariance model of the estimates."""
    covariance_model: CovarianceModel = estimates.covariance_model
    return covariance_model


def _refit_with_choices_repeated(
    is_common: bool, fit: FittedModel[Any], design_rows: DesignRows
) -> Rule | None:
    """Choose parameters such as a shrinkage again, refit to other rows and return the rule.

    Parameters
    ----------
    is_common : bool
        Whether the classes share one covariance.
    fit : FittedModel
        The fitted model, whose prior is kept.
    design_rows : DesignRows
        The other rows.

    Returns
    -------
    Rule or None
        None if a covariance is singular; if a class is empty (fewer than two rows, unless `is_common`);
        or if, with method="moment", the divisor of a covariance is not clearly positive.

    Raises
    ------
    DataError
        The total weight of a class is too small for leave-one-out, or with every candidate shrinkage the
        covariance is singular without some row.
    """
    estimates = fit.estimates
    covariance_model = fit.estimates.covariance_model.unfitted()
    moments = reading.class_moments(design_rows, estimates.moments.scatter_type)
    df_by_class = moments.rows - 1
    smallest_divisor = moments.total - moments.n_classes if is_common else (moments.counts - 1).min()
    if estimates.method == "moment" and smallest_divisor <= MIN_EXCESS_WEIGHT * moments.total:
        return None
    if df_by_class.min() < (0 if is_common else 1) or df_by_class.sum() < 1:
        return None
    if any(
        covariance_model.dependent_columns(moments, k)
        for k in ([None] if is_common else range(moments.n_classes))
    ):
        return None
    divisors_and_prior = estimates.divisors_of, estimates.prior
    try:
        refitted_model, _ = fit_covariance_to_rows(
            covariance_model, design_rows, moments, *divisors_and_prior, sampled=estimates.estimated_prior
        )
        rule: Rule = estimates.of_moments(moments, refitted_model).rule(fit.log_prior())
    except CollinearError:
        return None
    return rule


MAX_DESCRIBED_CLASSES = 3
"""Largest number of classes that a message describes individually."""


def join_class_problems(problems: Sequence[str]) -> str:
    """Join the first `MAX_DESCRIBED_CLASSES` problems (one by class) by "; "; count the other classes."""
    n_omitted = len(problems) - MAX_DESCRIBED_CLASSES
    omitted_text = f"; likewise in {n_omitted} more classes" if n_omitted > 0 else ""
    return "; ".join(problems[:MAX_DESCRIBED_CLASSES]) + omitted_text


def drop_hint(columns: Sequence[str], p: int) -> str:
    """Return the hint (after a comma) to leave out these columns.

    "" without columns, or for more than half of all p columns.
    """
    can_drop = len(columns) > 0 and 2 * len(columns) <= p
    return f", or leave out {reading.join_labels(columns, max_labels=len(columns))}" if can_drop else ""


def raise_if_singular(
    moments: ClassMoments,
    terms: tuple[str, ...],
    levels: Sequence[Any],
    covariance_model: CovarianceModel | None = None,
    *,
    hint: str | None = None,
) -> None:
    """Raise CollinearError if the covariance of some class is singular, with the classes and the reasons.

    Parameters
    ----------
    moments : ClassMoments
        Moments with one scatter matrix for each class.
    terms : tuple of str
        Names of the columns.
    levels : sequence
        Labels of the classes.
    covariance_model : CovarianceModel, optional
        Model that requires the covariances to be regular; by default full covariances.
    hint : str, optional
        Hint of the error, a clause; by default the hint for `qda` (see `_singularity_hint`), with the advice
        to leave out the collinear columns if they are at most half of all.

    Raises
    ------
    CollinearError
        A class has at most as many rows as columns (at most one row, if the model does not require full
        rank), or a column that is constant or collinear in the class and that the model cannot use.
    """
    covariance_model = FullCovariance() if covariance_model is None else covariance_model
    min_df = moments.n_columns if covariance_model.requires_full_rank(moments.n_columns) else 1
    problems: list[str] = []
    singular_classes: list[Any] = []
    dependent_columns: set[int] = set()
    has_small_class = False
    for k, label in enumerate(levels):
        n_rows = int(moments.rows[k])
        if n_rows <= min_df:
            problem = f"class {label!r} has {n_rows} row{'s' if n_rows != 1 else ''}, too few"
            if not has_small_class:
                problem += (
                    f" for a covariance of {moments.n_columns} column{'s' * (len(terms) > 1)} "
                    f"({reading.join_labels(terms)}), which requires at least {min_df + 1}"
                )
            problems.append(problem)
            singular_classes.append(label)
            has_small_class = True
            continue
        obstacles = covariance_model.dependent_columns(moments, k)
        dependent_columns |= {dependency.column for dependency in obstacles}
        constant = [terms[dependency.column] for dependency in obstacles if not dependency.predictors]
        clauses = (
            [f"{reading.join_labels(constant)} {'is' if len(constant) == 1 else 'are'} constant"]
            if constant
            else []
        )
        for dependency in [dependency for dependency in obstacles if dependency.predictors][:3]:
            others = reading.join_labels(terms[j] for j in dependency.predictors)
            clauses.append(f"{terms[dependency.column]!r} is a linear combination of {others}")
        if clauses:
            singular_classes.append(label)
            problems.append("; ".join(f"{clause} in class {label!r}" for clause in clauses))
    if not problems:
        return
    separation_note = reading.separation_note(moments, tuple(terms))
    if hint is None:
        drop_advice = ""
        if not has_small_class and not separation_note:
            drop_advice = drop_hint([terms[j] for j in sorted(dependent_columns)], len(terms))
        hint = f"{_singularity_hint(moments, levels, covariance_model)}{drop_advice}"
    text = join_class_problems(problems)
    raise CollinearError(
        f"{sentence(text)}{separation_note}",
        hint=sentence(hint),
        columns=[terms[j] for j in sorted(dependent_columns)],
        classes=singular_classes,
    )


def _singularity_hint(moments: ClassMoments, levels: Sequence[Any], covariance_model: CovarianceModel) -> str:
    """Return a hint for `qda` on which model to fit if the covariance of some class is singular.

    Parameters
    ----------
    moments : ClassMoments
        Moments with a scatter matrix for each class.
    levels : sequence
        Labels of the classes.
    covariance_model : CovarianceModel
        The model of the fit that failed.

    Returns
    -------
    str
        A clause without a final full stop: use other predictors if no column varies in any class, `lda` if
        none varies in some class, else a larger shrinkage or the hint for the covariance model.
    """
    classes_without_variance = [
        label
        for k, label in enumerate(levels)
        if moments.rows[k] <= 1 or ShrunkCovariance().dependent_columns(moments, k)
    ]
    if len(classes_without_variance) == len(levels):
        return "No column varies within classes: use other predictors"
    if classes_without_variance:
        return (
            f'use lda(covariance="shrunk", collinear="drop"), because no column varies in class '
            f"{reading.join_labels(classes_without_variance)}"
        )
    description = describe(covariance_model)
    if covariance_model.shrinkages and not description.other_shrinkage:
        return f"pass a larger shrinkage, such as {advised_specification(covariance_model, '0.1')}"
    return description.singular_hint


def wide_table_hint(covariance_model: CovarianceModel) -> str | None:
    """Return the hint of `lda`, a clause, if there are too few rows for a robust or a shrunk covariance.

    None for other models, whose error has the default hint.
    """
    if covariance_model.traits.is_robust:
        return 'use fewer columns in the formula, or pass covariance="shrunk"'
    if covariance_model.shrinkages:
        advice = advised_specification(covariance_model, "0.1")
        return f"use fewer columns in the formula, or pass {advice}, or another shrinkage above 0"
    return None


def check_degrees_of_freedom(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: tuple[str, ...]
) -> None:
    """Raise CollinearError if the degrees of freedom within classes are too few for the pooled covariance.

    A covariance that requires full rank needs at least as many as there are columns, any other at least one.
    """
    diagonal = not covariance_model.requires_full_rank(moments.n_columns)
    reading.raise_if_too_few_df(moments, terms, diagonal=diagonal, hint=wide_table_hint(covariance_model))


def separation_hint(covariance_model: CovarianceModel) -> str:
    """Return the hint of `lda` on columns that vary only between classes: shrink, or drop them."""
    shrunk = advised_specification(
        covariance_model if covariance_model.shrinkages else ShrunkCovariance(), "1e-6"
    )
    return f'{shrunk} uses such columns; collinear="drop" leaves them out.'


FEW_ROWS_HINT = "use fewer columns, or merge such classes with others"
"""Hint of a test of equal covariances if the covariance of a class is singular."""

SCHOTT_HINT = '. To test more columns than rows, pass method="schott" to box_m(formula, data)'
"""Further hint of `box_m` if a class has at most as many rows as columns, but each has the required three."""

TESTS_CACHE_KEY = "equal covariances"
"""Key of the tests of equal covariances, or of the message why they fail, in the cache of a fit."""


def compute_box_m(fit: FittedModel[Any]) -> TestResult:
    """Compute Box's M test of equal covariance matrices from the rows, which are read once, or the moments.

    Raises CollinearError if the covariance of a class is singular, and NotSupportedError if the fit has
    neither rows nor moments by class, or the total weight of a class is too small.
    """
    return box_m_from_moments(moments_by_class(fit, "box_m()"))


def equal_covariance_tests(
    fit: FittedModel[Any], wrap: WrapBlocks | None = None
) -> tuple[TestResult, TestResult] | str:
    """Compute and cache the likelihood ratio test and Box's M test of equal covariances for a fit with rows.

    Parameters
    ----------
    fit : FittedModel
        Fit with rows and class moments.
    wrap : callable, optional
        Function of the blocks of rows that returns an iterable of the same blocks, and passes them to another
        computation to save a pass. Not called if the tests are cached.

    Returns
    -------
    (TestResult, TestResult) or str
        The likelihood ratio test and Box's M test, or the message of the CollinearError or NotSupportedError
        if the covariance of a class is singular, the weights of a class are too small, or the class scatters
        do not fit memory.

    Raises
    ------
    NotSupportedError
        The fit lacks its rows, even if the tests are cached.
    """
    fit.require_rows("A test of covariances")
    if TESTS_CACHE_KEY not in fit.cache:
        try:
            fit.cache[TESTS_CACHE_KEY] = _test_equal_covariances(fit, wrap)
        except (CollinearError, NotSupportedError) as error:
            fit.cache[TESTS_CACHE_KEY] = str(error)
    tests: tuple[TestResult, TestResult] | str = fit.cache[TESTS_CACHE_KEY]
    return tests


def _test_equal_covariances(fit: FittedModel[Any], wrap: WrapBlocks | None) -> tuple[TestResult, TestResult]:
    """Compute the likelihood ratio test and Box's M test of equal covariance matrices.

    Parameters
    ----------
    fit : FittedModel
        Fit with rows and class moments.
    wrap : callable or None
        Function that wraps the blocks of rows, as in `equal_covariance_tests`.

    Returns
    -------
    likelihood_ratio, box_m : TestResult
        The two tests.

    Raises
    ------
    CollinearError
        The covariance of a class is singular.
    NotSupportedError
        The class scatters do not fit memory, or the weights of a class are too small.
    """
    design_rows = fit.require_rows("A test of covariances")
    pooled_moments = fit.estimates.moments
    raise_if_small_classes(design_rows, pooled_moments)
    try:
        raise_if_sums_exceed_memory(pooled_moments.n_classes, pooled_moments.n_columns, "class")
    except DataError as error:
        raise NotSupportedError(error.message, hint=error.hint) from None
    moments = full_rank_moments(design_rows, reading.class_moments(design_rows, "class", wrap))
    counts = moments.counts
    p = moments.n_columns
    pooled_logdet = pooled_covariance(moments, moments.total).logdet
    logdets = np.array([c.logdet for c in class_covariances(moments, counts)])
    df = p * (p + 1) * (len(counts) - 1) / 2
    ratio = likelihood_ratio_test(-0.5 * moments.total * pooled_logdet, -0.5 * float(counts @ logdets), df)
    return ratio, box_m_from_moments(moments)


def compare_covariance_models(
    fit: FittedModel[Any], dimensions: Any = None, threshold: Any = None
) -> pd.DataFrame:
    """Compare the log-likelihood and criteria of covariance models for the classes of a fit.

    Parameters
    ----------
    fit : FittedModel
    dimensions : int, dict of class to int, or {"cattell", "bic"}, optional
        Dimensions of models with a few large variances in each class, which are then part of the table.
    threshold : float, optional
        Threshold of Cattell's scree test, for dimensions="cattell".

    Returns
    -------
    DataFrame
        One row for each covariance model: df, llf, aic, bic, LR, LR_df, p (against the next model), LR_free,
        LR_free_df, p_free (against full covariances by class), and dimensions if they are requested. If the
        scales of the columns differ too much, the values of "common principal components" are missing, with a
        PrecisionWarning.

    Raises
    ------
    DataError
        `threshold` is set without `dimensions`, or an option is invalid.
    CollinearError
        The covariance of a class is singular.
    NotSupportedError
        The fit has neither rows nor moments by class, or the weights of a class are too small.
    """
    if dimensions is None and threshold is not None:
        raise DataError('threshold= requires dimensions="cattell".', hint="Pass both, or neither.")
    moments = moments_by_class(fit, "covariance_models()")
    factors: list[Factors] = []
    if dimensions is not None:
        moments = limit_scales(moments)
        factors = _estimate_factor_models(fit, moments, dimensions, threshold)
    table = covariance_hierarchy(
        moments, fit.prior_values(), estimated_prior=fit.estimates.estimated_prior, factors=factors
    )
    if table["llf"].isna()["common principal components"]:
        sd = within_sd(moments)
        wide, narrow = (repr(fit.terms[int(find_extreme(sd))]) for find_extreme in (np.argmax, np.argmin))
        warn_user(
            "The model of common principal components is missing: its axes depend on the units of the "
            f"columns, and the scales of {narrow} and {wide} differ too much for double precision. Rescale "
            "the columns, for example by standardize().",
            PrecisionWarning,
        )
    return table


def _estimate_factor_models(
    fit: FittedModel[Any], moments: ClassMoments, dimensions: Any, threshold: Any
) -> list[Factors]:
    """Estimate the covariances with a few large variances, one for each form that the dimensions allow.

    Parameters
    ----------
    fit : FittedModel
    moments : ClassMoments
        Moments with a scatter matrix for each class.
    dimensions : int, dict of class to int, or {"cattell", "bic"}
        Numbers of large variances, or how they are chosen.
    threshold : float or None
        Threshold of Cattell's scree test, for dimensions="cattell".

    Returns
    -------
    list of Factors
        In the order of `FORMS`, without forms that equal another one for given dimensions, or that require
        one dimension if it differs by class.

    Raises
    ------
    CollinearError or DataError
        The dimensions exceed the rank of a class, or are invalid.
    """
    factor_models = []
    levels = fit.design_rows.design.levels
    has_dimensions_by_class = isinstance(dimensions, Mapping) and len(set(dimensions.values())) > 1
    for form in FORMS:
        # With fixed dimensions, a form with a common dimension equals the form with dimensions by class.
        is_redundant = (
            not isinstance(dimensions, str)
            and factor.has_common_dimension(form)
            and not factor.has_common_axes(form)
        )
        if is_redundant or (has_dimensions_by_class and factor.has_common_axes(form)):
            continue
        specification = FactorAnalytic(dimensions=dimensions, form=form, threshold=threshold)
        covariance_model = specification.model().bind_classes(levels, moments.n_columns)
        factors = factor.estimate_factors(moments, covariance_model.options)
        fault = factors.fault()
        if fault is not None and fault.reason == "rank":
            raise public_error(factor_fault_error(fault, form), (), levels)
        factor_models.append(factors)
    return factor_models


def requires_moments_by_class(method: str) -> Callable[[Any], None]:
    """Return a check of `available_if` for methods that require moments with a scatter matrix for each class.

    Parameters
    ----------
    method : str
        The method, as its error names it.

    Returns
    -------
    callable
        Called with the results; raises NotSupportedError if their fit has neither rows nor such moments, else
        returns None.
    """

    def check(results: Any) -> None:
        """Raise NotSupportedError if a fit has neither rows nor moments by class."""
        fit = results._fit
        if not fit.has_rows and fit.estimates.moments.scatter_type != "class":
            fit.require_rows(method, f"fit formula and data, or use qda(moments=), which has {method}")

    return check


def moments_by_class(fit: FittedModel[Any], method: str) -> ClassMoments:
    """Return moments with a regular scatter matrix for each class, from the rows or the moments of a fit.

    The rows, if any, are read once. Raises NotSupportedError if the fit has neither rows nor moments by class
    (`method` is the name of the calling method for this message) or the total weight of a class is too small,
    and CollinearError if the scatter of a class is singular.
    """
    moments = fit.estimates.moments
    if not fit.has_rows and moments.scatter_type == "class":
        return full_rank_moments(fit.design_rows, moments)
    return full_rank_moments(
        fit.require_rows(method, f"fit formula and data, or use qda(moments=), which has {method}")
    )


def raise_if_small_classes(design_rows: DesignRows, moments: ClassMoments) -> None:
    """Raise CollinearError if a class has at most as many rows as columns.

    It is called before the rows are read for the class covariances, whose scatters may exceed the memory.
    """
    small_classes = np.flatnonzero(moments.rows <= moments.n_columns)
    if len(small_classes):
        levels = [design_rows.design.levels[k] for k in small_classes.tolist()]
        hint = SCHOTT_HINT if moments.rows.min() >= 3 else ""
        raise_if_singular(
            moments.select_classes(small_classes), design_rows.terms, levels, hint=f"{FEW_ROWS_HINT}{hint}"
        )


def full_rank_moments(design_rows: DesignRows, moments: ClassMoments | None = None) -> ClassMoments:
    """Return moments with a regular scatter matrix for each class.

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments, optional
        Moments by class to check; by default the rows are read to compute them.

    Returns
    -------
    ClassMoments
        `moments`, or the moments by class of the rows.

    Raises
    ------
    CollinearError
        The scatter of a class is singular.
    NotSupportedError
        The total weight of a class is too small for a test.
    """
    moments = reading.class_moments(design_rows, "class") if moments is None else moments
    raise_if_singular(moments, design_rows.terms, design_rows.design.levels, hint=FEW_ROWS_HINT)
    reading.raise_if_small_class_weight(
        moments.counts, design_rows.design.levels, moments.n_columns, "A test of covariances"
    )
    return moments


def box_m_from_moments(moments: ClassMoments) -> TestResult:
    """Compute Box's M test from moments with a regular scatter matrix for each class."""
    common = pooled_covariance(moments, moments.total - moments.n_classes)
    # Box's M is invariant to whitening, which improves the conditioning of the determinants.
    roots = [common.whiten(c.root.T).T for c in class_covariances(moments, moments.counts - 1)]
    return box_m_test(np.stack([root.T @ root for root in roots]), moments.counts)
