"""Whether the classes of a fit have one covariance: Box's M, the likelihood ratio, the ladder of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import pooled, separate
from discrim.core.covariance.factor import FORMS, Factors, common_axes, common_dimension, factors_of
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import refuse_wide
from discrim.core.moments.standardized import within_sd
from discrim.core.shrinkage.shrinkage import in_one_unit
from discrim.errors import CollinearError, DataError, NotSupportedError, warn_user
from discrim.frame.blocks import Blocks
from discrim.inference import likelihood_ratio
from discrim.inference.covariance_models import covariance_models as ladder
from discrim.inference.result import TestResult
from discrim.models.fits.fit import Fit
from discrim.models.fits.reading import Watch, class_moments, refuse_little_weight
from discrim.models.normal.factor_options import read_factor, refuse_fault
from discrim.models.normal.singular import refuse_singular

__all__ = [
    "box_m_of",
    "box_m_of_moments",
    "covariance_models_of",
    "equal_covariance_tests",
    "full_rank_moments",
]

Floats = NDArray[np.float64]

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
    fit : Fit
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
    moments = full_rank_moments(blocks, class_moments(blocks, "class", watch))
    counts, p = moments.counts, moments.n_columns
    common = pooled(moments, moments.total).logdet
    own = np.array([c.logdet for c in separate(moments, counts)])
    half = 0.5 * np.array([moments.total * common, float(counts @ own)])
    df = p * (p + 1) * (len(counts) - 1) / 2
    return likelihood_ratio.likelihood_ratio(-half[0], -half[1], df), box_m_of_moments(moments)


def covariance_models_of(fit: Fit[Any], dimensions: Any = None, threshold: Any = None) -> pd.DataFrame:
    """The ladder of covariance models for the classes of a fit, with those of a few large variances."""
    if dimensions is None and threshold is not None:
        raise DataError('threshold= goes with dimensions="cattell": pass both, or neither.')
    moments = _moments_by_class(fit, "covariance_models()")
    factors: list[Factors] = []
    if dimensions is not None:
        moments = in_one_unit(moments, "factor", None)
        factors = _factors(fit, moments, dimensions, threshold)
    table = ladder(moments, fit.prior_values(), estimated_prior=fit.numbers.estimated_prior, factors=factors)
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
        asked = read_factor("factor", dimensions, form, threshold)
        if asked is None or same or (several and common_axes(form)):
            continue
        held = factors_of(moments, asked.of(levels, moments.n_columns))
        fault = held.fault()
        if fault is not None and fault.kind == "rank":
            refuse_fault(held, levels, moments.rows.tolist())
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
    moments = class_moments(blocks, "class") if moments is None else moments
    refuse_singular(moments, blocks.terms, blocks.design.levels, way_out=WAY_OUT)
    counts = pd.Series(moments.counts, index=list(blocks.design.levels))
    refuse_little_weight(counts, moments.n_columns, "A test of covariances")
    return moments


def box_m_of_moments(moments: ClassMoments) -> TestResult:
    """Box's M of moments by class."""
    common = pooled(moments, moments.total - moments.n_classes)
    # Whitened by the pooled covariance, which M does not see and the determinants are grateful for.
    roots = [common.whiten(c.root.T).T for c in separate(moments, moments.counts - 1)]
    return likelihood_ratio.box_m(np.stack([root.T @ root for root in roots]), moments.counts)
