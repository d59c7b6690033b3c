"""Steps of a fit that LDA and QDA share, their `ModelSpec`, and tests of equal covariances.

The verbs call the functions at the top in their order: `uses_em`, `moments_of_sample`,
`check_degrees_of_freedom` or `refuse_singular`, `warn_where_units_differ` and `fit_covariance_to_rows`, which
estimates what the moments do not determine, such as a shrinkage chosen by leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from discrim.core.covariance import factor
from discrim.core.covariance.covariance import Dependency, pooled, separate
from discrim.core.covariance.factor import FORMS, Factors, factor_fault
from discrim.core.covariance.model import CovarianceModel, FullCovariance, each_covariance
from discrim.core.covariance.shrinkage import missed
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.errors import InvalidStateError
from discrim.core.moments.derived_moments import comparable, constant_within, in_units, within_sd
from discrim.core.moments.moments import LIGHT, ClassMoments
from discrim.core.moments.row_sums import Spread, refuse_wide
from discrim.core.numerics.arrays import Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.covariance import FactorAnalytic
from discrim.design.blocks import Blocks
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
from discrim.inference.covariance_models import box_m_test, covariance_ladder, likelihood_ratio
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.core_errors import public_error
from discrim.models.base.fit import E, FittedModel, ModelSpec
from discrim.models.base.reading import WrapBlocks
from discrim.models.base.refits import error_path, largest_as_good
from discrim.models.discriminant.components import AxesChoice, choose_axes, reason_to_need_rows
from discrim.models.discriminant.covariance_models import (
    advised_specification,
    covariance_text,
    describe,
    shrinkage_text,
)
from discrim.models.discriminant.em import asks_for_em, em_rule
from discrim.models.discriminant.robust import robust_rule
from discrim.models.moments.sample import NeedsRows, Sample

ESTIMATED_FROM_ROWS = NeedsRows(
    "This covariance is estimated from the observations and not from their moments.",
    "Give its shrinkage as a number, for example covariance=discrim.covariance.Shrunk(0.1)",
)

MAX_SD_RATIO = 10.0
"""Ratio of standard deviations within classes above which the units of the columns are too different."""


def uses_em(
    missing: Any,
    covariance: Any,
    covariance_model: CovarianceModel,
    na_action: str,
    *,
    has_rows: bool,
    collinear: str = "raise",
) -> bool:
    """Return whether rows with missing values are used by EM.

    Parameters
    ----------
    missing, covariance, na_action, collinear
        Options of the verb.
    covariance_model : CovarianceModel
        The model that `covariance` stands for.
    has_rows : bool
        Whether the verb is fitted to a table, and not to moments.

    Raises
    ------
    DataError
        `missing` is not one of its words, or contradicts `na_action`.
    NotSupportedError
        There are no rows, or EM does not estimate this covariance.
    """
    if missing is None or not asks_for_em(missing, na_action, has_rows=has_rows):
        return False
    if not covariance_model.traits.has_distances:
        raise NotSupportedError(
            'missing="em" estimates full covariances by maximum likelihood and cannot be combined with '
            f"{covariance_text(covariance)}.",
            hint="Leave out one of the two.",
        )
    if collinear != "raise":
        raise NotSupportedError(
            'missing="em" does not find the columns to drop.',
            hint="Leave out collinear=, and the columns that an error names.",
        )
    return True


def moments_of_sample(sample: Sample, covariance_model: CovarianceModel) -> tuple[Blocks, ClassMoments]:
    """Return the moments that the verb was given, and a design without rows.

    Raises NotSupportedError if the covariance is estimated from observations.
    """
    subspace = covariance_model.subspace
    reason = None
    if covariance_model.needs_rows:
        reason = ESTIMATED_FROM_ROWS if subspace is None else reason_to_need_rows(subspace.wanted)
    return sample.of_moments(covariance_model.required_moments(sample.scatters), reason)


def fit_covariance_to_rows(
    covariance_model: CovarianceModel,
    blocks: Blocks,
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
    blocks : Blocks
    moments : ClassMoments
        Moments of these rows.
    divisors : callable
        Returns the divisors of the covariances, (1,) or (K,), from moments.
    prior : (K,) float
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    CovarianceModel
        With its parameters.
    DataFrame or None
        Errors by parameter value, if the parameter was chosen by its error.

    Raises
    ------
    CollinearError
        The covariance is singular with these parameters.
    DataError
        A class has too few rows for leave-one-out, or the estimator has no covariance.
    """
    subspace = covariance_model.subspace
    if subspace is not None and subspace.needs_rows:
        return choose_axes(AxesChoice(subspace, blocks, moments, divisors, prior), sampled=sampled)
    unit = covariance_model.column_units(moments)
    levels = blocks.design.levels
    of = divisors(moments)
    if unit is not None:
        blocks = replace(blocks, unit=unit)
        moments = in_units(moments, unit)
    if any(shrinkage.grid for shrinkage in covariance_model.shrinkages):
        plain = covariance_model.in_data_units()
        scaled = plain.with_shrinkages(1.0).rescaled(moments)
        path = shrinkage_path(ShrinkageTrials(plain, blocks, scaled, divisors, prior), sampled=sampled)
        return covariance_model.with_shrinkages(*[largest_as_good(path)] * len(of)), path
    found = covariance_model.fit_to_rows(blocks, moments, of)
    for k, _ in each_covariance(of) if found.shrinkages and found.shrinkages[0].values else ():
        where = "within classes" if k is None else f"in class {levels[k]!r}"
        _refuse_singular_kind(found.for_class(k), moments, blocks.terms, k, where)
    return found, None


def _refuse_singular_kind(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: Sequence[str], k: int | None, where: str
) -> None:
    """Raise an error if the covariance of class `k`, or the pooled one, is singular in spite of shrinkage.

    Parameters
    ----------
    covariance_model : CovarianceModel
        With the shrinkage of this class.
    moments : ClassMoments
    terms : sequence of str
        Names of the columns.
    k : int or None
        Position of the class; None for the pooled covariance.
    where : str
        Name of the class, or "within classes", for the message.
    """
    shrinkage = covariance_model.shrinkages[0]
    p = moments.n_columns
    free = moments.rows.sum() - moments.n_classes if k is None else moments.rows[k] - 1
    if covariance_model.requires_full_rank(p) and free < p:
        raise CollinearError(
            f"{shrinkage_text(shrinkage)} {where}, which leaves the covariance of {len(terms)} "
            f"columns ({reading.listed(terms)}) singular: there are {free} degrees of freedom.",
            hint=f"Pass a larger number{describe(covariance_model).other_shrinkage}.",
        )
    if wild := covariance_model.find_out_of_range(moments, k):
        column, middle = (repr(terms[j]) for j in wild)
        raise DataError(
            f"A shrinkage of 1 gives each column the variance of the median {where}, that of {middle}, "
            f"and {column} varies so much more that its squared distances exceed double precision.",
            hint=(
                "Give the columns in units of one size, as standardize() does, or pass a shrinkage below 1."
            ),
        )
    found = covariance_model.check(moments, k)
    if found and shrinkage.is_none(p):
        larger = advised_specification(covariance_model, "1e-6")
        raise reading.collinear_error(
            found,
            tuple(terms),
            where,
            instead=f"pass {larger}",
            separation_hint=f"Pass {larger}, which uses this.",
        )
    if found:
        raise CollinearError(
            f"Half of the columns or more are constant {where} (first of them "
            f"{terms[found[0].column]!r}), so that the median of the variances is zero and shrinking "
            "towards it does not help.",
            hint="Drop them.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkageTrials:
    """Candidate shrinkages of a covariance model and the rows that choose among them.

    Attributes
    ----------
    covariance_model : CovarianceModel
        The model with its grid of shrinkages.
    blocks : Blocks
    moments : ClassMoments
        Moments of these rows.
    divisors : callable
        Returns the divisors of the covariances, (1,) or (K,), from moments.
    prior : (K,) float
    """

    covariance_model: CovarianceModel
    blocks: Blocks
    moments: ClassMoments
    divisors: Callable[[ClassMoments], Floats]
    prior: Floats

    @property
    def grid(self) -> tuple[float, ...]:
        """Candidate shrinkages."""
        return self.covariance_model.shrinkages[0].grid

    @property
    def is_common(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.divisors(self.moments)) == 1

    def is_singular(self, moments: ClassMoments, g: float) -> bool:
        """Return whether a covariance of these moments is singular with shrinkage `g`."""
        covariance_model = self.covariance_model.with_shrinkages(g)
        if covariance_model.requires_full_rank(moments.n_columns) and moments.spread in (
            "thin",
            "thin class",
        ):
            return True
        places = [k for k, _ in each_covariance(self.divisors(moments))]
        wild = any(covariance_model.find_out_of_range(moments, k) for k in places)
        return wild or any(covariance_model.check(moments, k) for k in places)

    def rule(self, moments: ClassMoments, g: float) -> Rule:
        """Return the rule with shrinkage `g`."""
        log_prior = logs_of_prior(self.prior)
        _, moments, covariances = self.covariance_model.with_shrinkages(g).estimate(
            moments, self.divisors(moments)
        )
        if self.is_common:
            return gaussian.linear_rule(moments, covariances[0], log_prior)
        return gaussian.separate_plugin(moments, covariances, log_prior)

    def without(self, position: int, code: int) -> Floats:
        """Return for each shrinkage whether the fit without a row misclassifies it; NaN if it is singular."""
        blocks = self.blocks
        found = np.full(len(self.grid), np.nan)
        weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights.copy()
        weights[position] -= min(1.0, weights[position])
        moments = reading.class_moments(blocks.with_weights(weights), self.moments.spread)
        row = blocks.rows_at(np.array([position]))
        for i, g in enumerate(self.grid):
            if not self.is_singular(moments, g):
                found[i] = self.rule(moments, g).scores(row)[0].argmax() != code
        return found


def shrinkage_path(task: ShrinkageTrials, *, sampled: bool) -> pd.DataFrame:
    """Leave-one-out errors by shrinkage.

    Parameters
    ----------
    task : ShrinkageTrials
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    DataFrame
        shrinkage, error, se. The error is missing if the covariance is singular without some row.

    Raises
    ------
    DataError
        A class has too few rows, or with every shrinkage the covariance is singular without some row.
    """
    _refuse_few_rows(task)
    singular = np.array([task.is_singular(task.moments, g) for g in task.grid])
    wrong = np.zeros((len(task.grid), task.moments.n_classes))
    divisors = task.divisors(task.moments)
    log_prior = logs_of_prior(task.prior)
    trial = task.covariance_model.candidate_scores(task.moments, divisors, log_prior)
    for rows, x, codes, weights in used_rows(task.blocks):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        found = missed(trial, x, codes, weights)
        # The closed form loses all digits for a row that contributes nearly all of the variance.
        for j in np.flatnonzero(np.isnan(found[~singular]).any(axis=0)).tolist():
            found[:, j] = task.without(int(positions[j]), int(codes[j]))
        for i, own in enumerate(found):
            times = own if weights is None else own * weights
            wrong[i] += np.bincount(codes, times, minlength=wrong.shape[1])
    missing = singular | np.isnan(wrong).any(axis=1)
    if missing.all():
        raise DataError(
            f"No shrinkage of the grid {reading.listed(task.grid)} has a covariance without each row.",
            hint="Use a grid with more shrinkage.",
        )
    wrong = np.where(missing[:, None], np.nan, wrong)
    return error_path("shrinkage", task.grid, wrong, task.moments.counts, task.prior, sampled=sampled)


def _refuse_few_rows(task: ShrinkageTrials) -> None:
    least = 2 if task.is_common else 3
    few = np.flatnonzero(task.moments.counts < least)
    if len(few):
        label = task.blocks.design.levels[few[0]]
        rows = task.moments.counts[few[0]]
        raise DataError(
            f'shrinkage="loo": class {label!r} has {rows:g} row{"s" if rows != 1 else ""}, too few to '
            f"leave one out, which takes {least}.",
            hint="Give the shrinkage as a number, or merge the class with another.",
            classes=(label,),
        )


def warn_of_units(moments: ClassMoments, terms: Sequence[str], what: str, way_out: str) -> None:
    """Warn if the standard deviations of the columns differ by more than `MAX_SD_RATIO`.

    Parameters
    ----------
    moments : ClassMoments
    terms : sequence of str
        Names of the columns.
    what : str
        The part of the model that depends on units, for the message.
    way_out : str
        How to standardize the columns, for the message.
    """
    sd = within_sd(moments)
    still = constant_within(moments)
    wide = int(np.argmax(sd))
    narrow = int(np.argmin(sd))
    if sd[wide] > MAX_SD_RATIO * sd[narrow]:
        deviations = [
            f"{terms[j]!r}, which is constant within classes, has a standard deviation of {sd[j]:.3g} over "
            "all rows"
            if still[j]
            else f"{terms[j]!r} has a standard deviation of {sd[j]:.3g} within classes"
            for j in (wide, narrow)
        ]
        warn_user(
            f"{what} is in the units of the columns, which differ by much: {deviations[0]}, and "
            f"{deviations[1]}. {way_out}, which divides each column by its own.",
            ScaleWarning,
        )


def warn_where_units_differ(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: Sequence[str], way_out: str
) -> None:
    """Warn if a covariance model depends on units and those of the columns differ by much."""
    if covariance_model.depends_on_units:
        warn_of_units(moments, terms, describe(covariance_model).unit_dependent_part, way_out)


class NormalSpec(ModelSpec[E]):
    """Base class of the specifications of linear and quadratic discriminant analysis."""

    has_common_covariance: ClassVar[bool]
    """Whether the classes share one covariance."""

    chosen_options = MappingProxyType({"covariance": "chosen_covariance", "components": "chosen_components"})

    def fit(self, estimates: E, rows: Blocks, arguments: Mapping[str, Any], **options: Any) -> FittedModel[E]:
        """Return a fitted model; the parameters are those of `ModelSpec.fit`."""
        is_partial = _covariance_model(estimates).traits.uses_incomplete_rows
        return super().fit(
            estimates, replace(rows, partial=True) if is_partial else rows, arguments, **options
        )

    def required_moments(self, fit: FittedModel[E]) -> Spread | None:
        """Return which moments a refit needs; None if it needs the rows."""
        covariance_model = _covariance_model(fit.estimates)
        if (
            covariance_model.traits.is_robust
            or not covariance_model.traits.is_moment_estimate
            or covariance_model.unfitted().needs_rows
        ):
            return None
        return super().required_moments(fit)

    def choice(self, fit: FittedModel[E]) -> str:
        """Describe the choice made from the rows; empty if there was none."""
        covariance_model = _covariance_model(fit.estimates)
        if covariance_model.subspace is not None and covariance_model.subspace.is_chosen:
            return "the number of principal axes"
        return "the shrinkage" if any(each.rule == "loo" for each in covariance_model.shrinkages) else ""

    def obstacles(self, fit: FittedModel[E], moments: ClassMoments) -> list[Dependency]:
        """Return the collinear columns of these moments that the model cannot use."""
        return _covariance_model(fit.estimates).unfitted().check(moments)

    def refit_to_rows(self, fit: FittedModel[E], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows, with what they choose chosen again."""
        covariance_model = _covariance_model(fit.estimates)
        if (
            covariance_model.traits.is_moment_estimate
            and not covariance_model.traits.is_robust
            and covariance_model.unfitted().needs_rows
        ):
            return _rule_chosen_again(self.has_common_covariance, fit, rows)
        return self.refit_with_fixed(fit, rows)

    def refit_with_fixed(self, fit: FittedModel[E], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows that keeps what the rows of the fit chose."""
        covariance_model = _covariance_model(fit.estimates)
        if covariance_model.traits.is_robust:
            return robust_rule(fit, rows)
        if not covariance_model.traits.is_moment_estimate:
            return em_rule(self.has_common_covariance, fit, rows)
        return super().refit_with_fixed(fit, rows)

    def leave_one_out(self, fit: FittedModel[E]) -> LeftOut | Floats:
        """Return the scores of rows under the rule without each of them."""
        estimates: Any = fit.estimates
        rows = fit.rows("leave_one_out()")
        unit = estimates.covariance_model.column_units(estimates.moments)
        left_out: LeftOut = estimates.left_out(
            fit.log_prior(), rows if unit is None else replace(rows, unit=unit)
        )
        return left_out

    def from_arrays(self, moments: ClassMoments, prior: Floats, arguments: Mapping[str, Any]) -> E:
        """Return the estimates that a file stores, if the covariance model suits them."""
        covariance_model: CovarianceModel = arguments["covariance_model"]
        n_covariances = 1 if self.has_common_covariance else len(prior)
        covariance_model.check_restored(n_covariances, moments.n_columns)
        method = getattr(covariance_model, "method", None)
        if arguments["method"] not in (("moment", "mle") if method is None else (method,)):
            raise InvalidStateError(f"its method is {arguments['method']!r}")
        estimates: Any = super().from_arrays(moments, prior, arguments)
        if len(estimates.covariances) != n_covariances:
            raise InvalidStateError("its covariances are not those of its classes")
        fitted: E = estimates
        return fitted


def _covariance_model(estimates: Any) -> CovarianceModel:
    """Return the covariance model of the estimates."""
    covariance_model: CovarianceModel = estimates.covariance_model
    return covariance_model


def _rule_chosen_again(common: bool, fit: FittedModel[Any], blocks: Blocks) -> Rule | None:
    """Return the rule of a refit to other rows with the same prior, or None if a covariance is singular.

    Parameters
    ----------
    common : bool
        Whether the classes share one covariance.
    fit : FittedModel
    blocks : Blocks
        The other rows, which choose parameters such as a shrinkage again.
    """
    estimates = fit.estimates
    covariance_model = fit.estimates.covariance_model.unfitted()
    moments = reading.class_moments(blocks, estimates.moments.spread)
    free = moments.rows - 1
    light = moments.total - moments.n_classes if common else (moments.counts - 1).min()
    if estimates.method == "moment" and light <= LIGHT * moments.total:
        return None
    if free.min() < (0 if common else 1) or free.sum() < 1:
        return None
    if any(covariance_model.check(moments, k) for k in ([None] if common else range(moments.n_classes))):
        return None
    how = estimates.divisors_of, estimates.prior
    try:
        found, _ = fit_covariance_to_rows(
            covariance_model, blocks, moments, *how, sampled=estimates.estimated_prior
        )
        rule: Rule = estimates.of_moments(moments, found).rule(fit.log_prior())
    except CollinearError:
        return None
    return rule


MOST_NAMED = 3
"""Classes that a message describes one by one."""


def first_of_classes(problems: Sequence[str]) -> str:
    """Join the problems of the first few classes, with the number of further classes."""
    more = len(problems) - MOST_NAMED
    return "; ".join(problems[:MOST_NAMED]) + (f"; and so in {more} more classes" if more > 0 else "")


def drop_hint(columns: Sequence[str], p: int) -> str:
    """Return the hint to drop columns, or "" if less than half of the columns would be left."""
    few = len(columns) > 0 and 2 * len(columns) <= p
    return f", or leave out {reading.listed(columns, most=len(columns))}" if few else ""


def refuse_singular(
    moments: ClassMoments,
    terms: tuple[str, ...],
    levels: Sequence[Any],
    covariance_model: CovarianceModel | None = None,
    *,
    way_out: str | None = None,
) -> None:
    """Raise a CollinearError that names the classes whose covariance is singular, and why.

    Parameters
    ----------
    moments : ClassMoments
        Moments with one scatter matrix for each class.
    terms : tuple of str
        Names of the columns.
    levels : sequence
        Labels of the classes.
    covariance_model : CovarianceModel, optional
        By default full covariances.
    way_out : str, optional
        Hint instead of the one for `qda`.
    """
    covariance_model = FullCovariance() if covariance_model is None else covariance_model
    least = moments.n_columns if covariance_model.requires_full_rank(moments.n_columns) else 1
    said: list[str] = []
    faulty: list[Any] = []
    gone: set[int] = set()
    few = False
    for k, label in enumerate(levels):
        rows = int(moments.rows[k])
        if rows <= least:
            too_few = f"class {label!r} has {rows} row{'s' if rows != 1 else ''}, too few"
            if not few:
                too_few += (
                    f" for a covariance of {moments.n_columns} column{'s' * (len(terms) > 1)} "
                    f"({reading.listed(terms)}), which takes {least + 1} at least"
                )
            said.append(too_few)
            faulty.append(label)
            few = True
            continue
        found = covariance_model.check(moments, k)
        gone |= {dependency.column for dependency in found}
        still = [terms[one.column] for one in found if not one.on]
        parts = [f"{reading.listed(still)} {'is' if len(still) == 1 else 'are'} constant"] if still else []
        for determined in [one for one in found if one.on][:3]:
            others = reading.listed(terms[j] for j in determined.on)
            parts.append(f"{terms[determined.column]!r} is a linear combination of {others}")
        if parts:
            faulty.append(label)
            said.append("; ".join(f"{part} in class {label!r}" for part in parts))
    if not said:
        return
    tells = reading.separation_note(moments, tuple(terms))
    if way_out is None:
        hint = "" if few or tells else drop_hint([terms[j] for j in sorted(gone)], len(terms))
        way_out = f"{_way_out(moments, levels, covariance_model)}{hint}"
    text = first_of_classes(said)
    raise CollinearError(
        f"{sentence(text)}{tells}",
        hint=sentence(way_out),
        columns=[terms[j] for j in sorted(gone)],
        classes=faulty,
    )


def _way_out(moments: ClassMoments, levels: Sequence[Any], covariance_model: CovarianceModel) -> str:
    """Return what `qda` supports for the same columns and rows, for a hint."""
    bare = [
        label
        for k, label in enumerate(levels)
        if moments.rows[k] <= 1 or ShrunkCovariance().check(moments, k)
    ]
    if len(bare) == len(levels):
        return "No column varies within a class: use another formula"
    if bare:
        return (
            f'use lda(covariance="shrunk", collinear="drop"), as no column varies in class '
            f"{reading.listed(bare)}, which has no covariance of its own"
        )
    description = describe(covariance_model)
    if covariance_model.shrinkages and not description.other_shrinkage:
        return f"pass a larger shrinkage, such as {advised_specification(covariance_model, '0.1')}"
    return description.singular_hint


def wide_table_hint(covariance_model: CovarianceModel) -> str | None:
    """Return the hint of lda() for fewer rows than columns; None if it is that of a plain covariance."""
    if covariance_model.traits.is_robust:
        return 'name fewer columns in the formula, or pass covariance="shrunk"'
    if covariance_model.shrinkages:
        number = advised_specification(covariance_model, "0.1")
        return f"name fewer columns in the formula, or pass {number}, or another number above 0"
    return None


def check_degrees_of_freedom(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: tuple[str, ...]
) -> None:
    """Raise a CollinearError if the rows have too few degrees of freedom within classes for a covariance."""
    diagonal = not covariance_model.requires_full_rank(moments.n_columns)
    reading.refuse_no_freedom(moments, terms, diagonal=diagonal, hint=wide_table_hint(covariance_model))


def separation_hint(covariance_model: CovarianceModel) -> str:
    """Return how lda() makes use of columns that vary between classes only."""
    shrunk = advised_specification(
        covariance_model if covariance_model.shrinkages else ShrunkCovariance(), "1e-6"
    )
    return f'{shrunk} uses this; dropping such a column, as collinear="drop" does, gives it up.'


FEW_ROWS_HINT = "use fewer columns, or merge such classes with others"
"""Hint if the covariance of a class is singular."""

SCHOTT_HINT = '. To test more columns than rows, pass method="schott" to box_m(formula, data)'
"""Additional hint if each class has the three rows that the test requires, but no more rows than columns."""

KEPT = "equal covariances"
"""Key of the cache of a fit for these tests, or for the reason why there are none."""


def box_m_of(fit: FittedModel[Any]) -> TestResult:
    """Box's M test of the classes of a fit."""
    return box_m_of_moments(moments_by_class(fit, "box_m()"))


def equal_covariance_tests(
    fit: FittedModel[Any], wrap: WrapBlocks | None = None
) -> tuple[TestResult, TestResult] | str:
    """Return the likelihood ratio test and Box's M of the rows of a fit, or why there are none.

    The result is cached in the fit.

    Parameters
    ----------
    fit : FittedModel
    wrap : callable, optional
        Wraps the blocks in an iterable that also passes them to another computation, to save a pass.
    """
    fit.rows("A test of covariances")
    if KEPT not in fit.cache:
        try:
            fit.cache[KEPT] = _tests(fit, wrap)
        except (CollinearError, NotSupportedError) as error:
            fit.cache[KEPT] = str(error)
    tests: tuple[TestResult, TestResult] | str = fit.cache[KEPT]
    return tests


def _tests(fit: FittedModel[Any], wrap: WrapBlocks | None) -> tuple[TestResult, TestResult]:
    blocks = fit.rows("A test of covariances")
    pooled_moments = fit.estimates.moments
    refuse_classes_of_few_rows(blocks, pooled_moments)
    try:
        refuse_wide(pooled_moments.n_classes, pooled_moments.n_columns, "class")
    except DataError as error:
        raise NotSupportedError(error.message, hint=error.hint) from None
    moments = full_rank_moments(blocks, reading.class_moments(blocks, "class", wrap))
    counts = moments.counts
    p = moments.n_columns
    common = pooled(moments, moments.total).logdet
    own = np.array([c.logdet for c in separate(moments, counts)])
    df = p * (p + 1) * (len(counts) - 1) / 2
    ratio = likelihood_ratio(-0.5 * moments.total * common, -0.5 * float(counts @ own), df)
    return ratio, box_m_of_moments(moments)


def covariance_models_of(
    fit: FittedModel[Any], dimensions: Any = None, threshold: Any = None
) -> pd.DataFrame:
    """Compare covariance models for the classes of a fit.

    Parameters
    ----------
    fit : FittedModel
    dimensions : int, dict by class or "cattell", optional
        Dimensions of models with a few large variances in each class, which are then part of the table.
    threshold : float, optional
        Threshold of Cattell's scree test.

    Returns
    -------
    DataFrame
        One row for each covariance model.
    """
    if dimensions is None and threshold is not None:
        raise DataError('threshold= requires dimensions="cattell".', hint="Pass both, or neither.")
    moments = moments_by_class(fit, "covariance_models()")
    factors: list[Factors] = []
    if dimensions is not None:
        moments = comparable(moments)
        factors = _factors(fit, moments, dimensions, threshold)
    table = covariance_ladder(
        moments, fit.prior_values(), estimated_prior=fit.estimates.estimated_prior, factors=factors
    )
    if table["llf"].isna()["common principal components"]:
        spread = within_sd(moments)
        wide, narrow = (repr(fit.terms[int(at(spread))]) for at in (np.argmax, np.argmin))
        warn_user(
            "Common principal components are axes in the units of the columns, and double precision "
            f"has no digits for those of {narrow} beside {wide}, so that this model is missing: give "
            "the columns in units of like size, as standardize() does.",
            PrecisionWarning,
        )
    return table


def _factors(fit: FittedModel[Any], moments: ClassMoments, dimensions: Any, threshold: Any) -> list[Factors]:
    """Return the covariances with a few large variances, one for each form that these dimensions allow."""
    found = []
    levels = fit.design_rows.design.levels
    several = isinstance(dimensions, Mapping) and len(set(dimensions.values())) > 1
    for form in FORMS:
        # If the dimensions are given, a common dimension is not a form of its own.
        same = (
            not isinstance(dimensions, str) and factor.common_dimension(form) and not factor.common_axes(form)
        )
        if same or (several and factor.common_axes(form)):
            continue
        specification = FactorAnalytic(dimensions=dimensions, form=form, threshold=threshold)
        covariance_model = specification.model().bind_classes(levels, moments.n_columns)
        held = factor.factors_of(moments, covariance_model.wanted)
        fault = held.fault()
        if fault is not None and fault.kind == "rank":
            raise public_error(factor_fault(fault, form), (), levels)
        found.append(held)
    return found


def has_moments_by_class(what: str) -> Callable[[Any], None]:
    """Return a check of `available_if` for methods that require moments with a scatter matrix for each class.

    Parameters
    ----------
    what : str
        The method, as its error names it.
    """

    def check(results: Any) -> None:
        fit = results._fit
        if not fit.has_rows and fit.estimates.moments.spread != "class":
            fit.rows(what, f"fit formula and data, or ask {what} of qda(moments=)")

    return check


def moments_by_class(fit: FittedModel[Any], what: str) -> ClassMoments:
    """Return moments with a scatter matrix for each class, from the rows or from the moments of a fit."""
    moments = fit.estimates.moments
    if not fit.has_rows and moments.spread == "class":
        return full_rank_moments(fit.design_rows, moments)
    return full_rank_moments(fit.rows(what, f"fit formula and data, or ask {what} of qda(moments=)"))


def refuse_classes_of_few_rows(blocks: Blocks, moments: ClassMoments) -> None:
    """Raise an error if a class has no more rows than columns, before the rows are read for its covariance.

    Scatter matrices of many classes and columns may exceed the memory.
    """
    few = np.flatnonzero(moments.rows <= moments.n_columns)
    if len(few):
        levels = [blocks.design.levels[k] for k in few.tolist()]
        hint = SCHOTT_HINT if moments.rows.min() >= 3 else ""
        refuse_singular(moments.classes(few), blocks.terms, levels, way_out=f"{FEW_ROWS_HINT}{hint}")


def full_rank_moments(blocks: Blocks, moments: ClassMoments | None = None) -> ClassMoments:
    """Return moments with a scatter matrix for each class; raise CollinearError if one is singular.

    Parameters
    ----------
    blocks : Blocks
    moments : ClassMoments, optional
        By default the moments of these rows.
    """
    moments = reading.class_moments(blocks, "class") if moments is None else moments
    refuse_singular(moments, blocks.terms, blocks.design.levels, way_out=FEW_ROWS_HINT)
    reading.refuse_little_weight(
        moments.counts, blocks.design.levels, moments.n_columns, "A test of covariances"
    )
    return moments


def box_m_of_moments(moments: ClassMoments) -> TestResult:
    """Box's M test from moments with a scatter matrix for each class."""
    common = pooled(moments, moments.total - moments.n_classes)
    # Box's M is invariant to whitening, which improves the conditioning of the determinants.
    roots = [common.whiten(c.root.T).T for c in separate(moments, moments.counts - 1)]
    return box_m_test(np.stack([root.T @ root for root in roots]), moments.counts)
