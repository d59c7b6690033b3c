"""What LDA and QDA share: refits, covariances that do not exist, and tests of equal covariances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.moments.moments import LIGHT, ClassMoments
from discrim.core.moments.row_sums import refuse_wide
from discrim.core.moments.units import comparable, within_sd
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.core.scatter.covariance import pooled, separate
from discrim.core.scatter.factor import FORMS, Factors, common_axes, common_dimension, factors_of
from discrim.core.scatter.few_factors import FactorFaultError, FewFactors
from discrim.core.scatter.full import Full
from discrim.core.scatter.robust import Robust
from discrim.core.scatter.scatter import CovarianceKeywords, Scatter
from discrim.core.scatter.shrunk import Shrunk
from discrim.errors import CollinearError, DataError, NotSupportedError, warn_user
from discrim.frame.blocks import Blocks
from discrim.inference.covariance_models import box_m_test, covariance_ladder, likelihood_ratio
from discrim.inference.result import TestResult
from discrim.models.fits import reading
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Refits
from discrim.models.fits.reading import Watch
from discrim.models.fits.refits import held_path, moment_refits
from discrim.models.normal.covariance_options import known_of_rows
from discrim.models.normal.em import em_rule
from discrim.models.normal.robust import robust_rule


class ShrunkCovariances:
    """The path of a choice among shrinkages; for children of `ClassifierResults`."""

    @property
    @displayed(se="share")
    def path(self: Any) -> pd.DataFrame:
        """Leave-one-out errors of `shrinkage="loo"`: shrinkage, error, se.

        An error is missing where a covariance is singular without some row, or where distances exceed the
        doubles. The choice has the least error and, of equal errors, the most shrinkage. Each shrinkage is
        held while a row is left out.

        Raises
        ------
        NotSupportedError
            The shrinkage was not chosen by leave-one-out, or the fit was loaded.
        """
        why = 'which is that of shrinkage="loo" and not of a loaded fit'
        return held_path(self._fit, why, 'fit with shrinkage="loo"')


def normal_refits(numbers: Any, *, common: bool, drops: bool = False, why_no_rule: Any = None) -> Refits:
    """How a linear or quadratic discriminant analysis is fitted again.

    Parameters
    ----------
    numbers : LDAFit or QDAFit
    common : bool
        Whether the classes share one covariance.
    drops, why_no_rule
        As of `Refits`.
    """
    scatter: Scatter = numbers.scatter
    refits = replace(
        moment_refits(numbers.moments.spread),
        left_out=_left_out,
        choice="the shrinkage" if any(each.rule == "loo" for each in scatter.shrinkages) else "",
        drops=drops,
        obstacles=scatter.anew().obstacles,
        why_no_rule=why_no_rule,
    )
    if isinstance(scatter, Robust):
        return replace(refits, spread=None, of_rows=robust_rule)
    if not scatter.is_of_moments:
        anew = partial(em_rule, common)
        return replace(refits, spread=None, of_rows=anew, held=anew)
    if scatter.anew().needs_rows:
        return replace(refits, spread=None, of_rows=partial(_rule_anew, common))
    return refits


def _rule_anew(common: bool, fit: Fit[Any], blocks: Blocks) -> Rule | None:
    """The rule of other rows by what they say themselves, the prior held; None where it is singular."""
    numbers, scatter = fit.numbers, fit.numbers.scatter.anew()
    moments = reading.class_moments(blocks, numbers.moments.spread)
    free = moments.rows - 1
    light = moments.total - moments.n_classes if common else (moments.counts - 1).min()
    if numbers.method == "moment" and light <= LIGHT * moments.total:
        return None
    if free.min() < (0 if common else 1) or free.sum() < 1:
        return None
    if any(scatter.obstacles(moments, k) for k in ([None] if common else range(moments.n_classes))):
        return None
    how = numbers.divisors_of, numbers.prior
    try:
        found, _ = known_of_rows(scatter, blocks, moments, *how, sampled=numbers.estimated_prior)
    except CollinearError:
        return None
    rule: Rule = numbers.of_moments(moments, found).rule(fit.log_prior())
    return rule


def _left_out(fit: Fit[Any]) -> LeftOut:
    numbers, rows = fit.numbers, fit.rows("leave_one_out()")
    unit = numbers.scatter.unit(numbers.moments)
    rows = rows if unit is None else replace(rows, unit=unit)
    left_out: LeftOut = numbers.left_out(fit.log_prior(), rows)
    return left_out


MOST_NAMED = 8
"""Classes that a message tells of one by one."""


def some_of(said: Sequence[str], what: str) -> str:
    """Parts of a message, the first few of them."""
    more = len(said) - MOST_NAMED
    return "; ".join(said[:MOST_NAMED]) + (f"; and so in {more} more {what}" if more > 0 else "")


def drop_hint(columns: Sequence[str], p: int) -> str:
    """The advice to drop columns, where that leaves half of them or more."""
    few = len(columns) > 0 and 2 * len(columns) <= p
    return f", or leave out {reading.listed(columns, most=len(columns))}" if few else ""


def refuse_singular(
    moments: ClassMoments,
    terms: tuple[str, ...],
    levels: Sequence[Any],
    scatter: Scatter | None = None,
    *,
    way_out: str | None = None,
) -> None:
    """Raise a CollinearError that names all classes whose covariance is singular, why, and the way out.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    scatter : Scatter, optional
        What the covariances are; full by default.
    way_out : str, optional
        In the place of the one that a quadratic discriminant analysis has.
    """
    scatter = Full() if scatter is None else scatter
    least = moments.n_columns if scatter.takes_full_rank(moments.n_columns) else 1
    said: list[str] = []
    gone: set[int] = set()
    few = False
    for k, label in enumerate(levels):
        rows = int(moments.rows[k])
        if rows <= least:
            too_few = (
                f" for a covariance of {moments.n_columns} column{'s' * (len(terms) > 1)} "
                f"({reading.listed(terms)}), which takes {least + 1} at least"
            )
            said.append(
                f"class {label!r} has {rows} row{'s' if rows != 1 else ''}, too few{'' if few else too_few}"
            )
            few = True
            continue
        found = scatter.obstacles(moments, k)
        gone |= {dependency.column for dependency in found}
        still = [terms[each.column] for each in found if not each.on]
        if still:
            said.append(
                f"{reading.listed(still)} {'is' if len(still) == 1 else 'are'} constant in class {label!r}"
            )
        for each in [each for each in found if each.on][:3]:
            others = reading.listed(terms[j] for j in each.on)
            said.append(f"{terms[each.column]!r} is a linear combination of {others} in class {label!r}")
    if not said:
        return
    tells = reading.said_of_separation(moments, tuple(terms))
    if way_out is None:
        hint = "" if few or tells else drop_hint([terms[j] for j in sorted(gone)], len(terms))
        way_out = f"{_way_out(moments, levels, scatter)}{hint}"
    text = some_of(said, "classes")
    raise CollinearError(f"{text[0].upper()}{text[1:]}.{tells} {way_out[0].upper()}{way_out[1:]}.")


def _way_out(moments: ClassMoments, levels: Sequence[Any], scatter: Scatter) -> str:
    """What a quadratic discriminant analysis of the same columns and rows can do."""
    bare = [label for k, label in enumerate(levels) if not _varies(moments, k)]
    if len(bare) == len(levels):
        return "No column varies within a class: use another formula"
    if bare:
        return (
            f'use lda(covariance="shrunk", collinear="drop"), as no column varies in class '
            f"{reading.listed(bare)}, which has no covariance of its own"
        )
    return scatter.advice


def _varies(moments: ClassMoments, k: int) -> bool:
    """Whether a class has two rows that differ."""
    return bool(moments.rows[k] > 1) and not Shrunk().obstacles(moments, k)


WAY_OUT = "use fewer columns, or merge such classes with others"
"""Where the covariance of a class is singular."""

KEPT = "equal covariances"
"""What a fit keeps the tests as, or why there are none."""


def box_m_of(fit: Fit[Any]) -> TestResult:
    """Box's M of the classes of a fit."""
    return box_m_of_moments(_moments_by_class(fit, "box_m()"))


def equal_covariance_tests(fit: Fit[Any], watch: Watch | None = None) -> tuple[TestResult, TestResult] | str:
    """Raw likelihood ratio and Box's M of the rows of a fit, or why there are none; the fit keeps them.

    Parameters
    ----------
    watch : callable, optional
        Gives what the rows are read from in the place of the blocks, to see them go by.
    """
    fit.rows("A test of covariances")
    if KEPT not in fit.cache:
        try:
            fit.cache[KEPT] = _tests(fit, watch)
        except (CollinearError, NotSupportedError) as error:
            fit.cache[KEPT] = str(error)
    held: tuple[TestResult, TestResult] | str = fit.cache[KEPT]
    return held


def _tests(fit: Fit[Any], watch: Watch | None) -> tuple[TestResult, TestResult]:
    blocks, held = fit.rows("A test of covariances"), fit.numbers.moments
    few = np.flatnonzero(held.rows <= held.n_columns)
    if len(few):
        # Of so few rows no pass makes a covariance, and many classes by many columns fill the memory.
        refuse_singular(
            held.classes(few), blocks.terms, [blocks.design.levels[k] for k in few.tolist()], way_out=WAY_OUT
        )
    try:
        refuse_wide(held.n_classes, held.n_columns, "class")
    except DataError as error:
        raise NotSupportedError(str(error)) from None
    moments = full_rank_moments(blocks, reading.class_moments(blocks, "class", watch))
    counts, p = moments.counts, moments.n_columns
    common = pooled(moments, moments.total).logdet
    own = np.array([c.logdet for c in separate(moments, counts)])
    half = 0.5 * np.array([moments.total * common, float(counts @ own)])
    df = p * (p + 1) * (len(counts) - 1) / 2
    return likelihood_ratio(-half[0], -half[1], df), box_m_of_moments(moments)


def covariance_models_of(fit: Fit[Any], dimensions: Any = None, threshold: Any = None) -> pd.DataFrame:
    """The ladder of covariance models for the classes of a fit, with those of a few large variances."""
    if dimensions is None and threshold is not None:
        raise DataError('threshold= goes with dimensions="cattell": pass both, or neither.')
    moments = _moments_by_class(fit, "covariance_models()")
    factors: list[Factors] = []
    if dimensions is not None:
        moments = comparable(moments)
        factors = _factors(fit, moments, dimensions, threshold)
    table = covariance_ladder(
        moments, fit.prior_values(), estimated_prior=fit.numbers.estimated_prior, factors=factors
    )
    if table["llf"].isna()["common principal components"]:
        spread = within_sd(moments)
        wide, narrow = (repr(fit.terms[int(at(spread))]) for at in (np.argmax, np.argmin))
        warn_user(
            "Common principal components are axes in the units of the columns, and double precision "
            f"has no digits for those of {narrow} beside {wide}, so that this model is missing: give "
            "the columns in units of like size, as standardize() does."
        )
    return table


def _factors(fit: Fit[Any], moments: ClassMoments, dimensions: Any, threshold: Any) -> list[Factors]:
    """Covariances of a few large variances, of each form that these dimensions have."""
    found, levels = [], fit.blocks.design.levels
    several = isinstance(dimensions, Mapping) and len(set(dimensions.values())) > 1
    for form in FORMS:
        # Where dimensions are given, one for all is no other form than one for each.
        same = not isinstance(dimensions, str) and common_dimension(form) and not common_axes(form)
        if same or (several and common_axes(form)):
            continue
        scatter = FewFactors.read(CovarianceKeywords(dimensions=dimensions, form=form, threshold=threshold))
        held = factors_of(moments, scatter.for_classes(levels, moments.n_columns).wanted)
        fault = held.fault()
        if fault is not None and fault.kind == "rank":
            error = FactorFaultError(fault, form)
            raise error.of_classes(levels, moments.rows.tolist())
        found.append(held)
    return found


def _moments_by_class(fit: Fit[Any], what: str) -> ClassMoments:
    """Moments by class of the rows of a fit; of one without rows, those that it was made of."""
    moments = fit.numbers.moments
    if not fit.has_rows and moments.spread == "class":
        return full_rank_moments(fit.blocks, moments)
    return full_rank_moments(fit.rows(what, f"fit formula and data, or ask {what} of qda(moments=)"))


def full_rank_moments(blocks: Blocks, moments: ClassMoments | None = None) -> ClassMoments:
    """Moments by class of rows, or those that are given; refused where a covariance is singular."""
    moments = reading.class_moments(blocks, "class") if moments is None else moments
    refuse_singular(moments, blocks.terms, blocks.design.levels, way_out=WAY_OUT)
    counts = pd.Series(moments.counts, index=list(blocks.design.levels))
    reading.refuse_little_weight(counts, moments.n_columns, "A test of covariances")
    return moments


def box_m_of_moments(moments: ClassMoments) -> TestResult:
    """Box's M of moments by class."""
    common = pooled(moments, moments.total - moments.n_classes)
    # Whitened by the pooled covariance, which M does not see and the determinants are grateful for.
    roots = [common.whiten(c.root.T).T for c in separate(moments, moments.counts - 1)]
    return box_m_test(np.stack([root.T @ root for root in roots]), moments.counts)
