"""Kernel discriminant analysis by landmarks or random features, of rows in any number of parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discrim.core.covariance.covariance import constant_columns, total_squares
from discrim.core.kernels.feature_lda import (
    FeatureIndicators,
    FeatureLDAFit,
    FeatureSums,
    Located,
    RidgeTried,
    choose_feature_ridge,
    feature_lda,
    fit_feature_ridge,
    law_of,
    left_out_parts,
    refuse_many_features,
)
from discrim.core.kernels.features import (
    FeatureMap,
    FeatureRows,
    drawn_landmarks,
    landmarks,
    random_features,
)
from discrim.core.kernels.kernel_ridge import Chosen, KernelRows, Search, choose, kernel_candidates
from discrim.core.kernels.kernels import Kernel, Standard, fit_coordinates
from discrim.core.kernels.row_sample import RowSample, sampled_rows
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.calibration import fit_calibrator
from discrim.core.rules.rules import PartRule, Rule
from discrim.design.blocks import Blocks
from discrim.errors import DataError, warn_user
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.subspace import KernelFeatures, Landmarks, RandomFeatures

SAMPLED = 5_000
"""Rows of the sample, or twice as many as landmarks where that is more."""

COMPARED = 1_000
"""Rows of the sample by which kernel, scale and width are chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePlan:
    """What is fitted: features, by what kernel, and how posteriors are made."""

    features: KernelFeatures
    search: Search
    calibrate: bool
    ncomp: int | None


class FittedByFeatures(NamedTuple):
    """A fit, with the choice of the kernel, if there was one, and the ridges that were tried."""

    numbers: FeatureLDAFit
    chosen: Chosen | None
    ridges: list[RidgeTried]


def factor_columns(blocks: Blocks) -> list[list[int]]:
    """Positions of the columns of each factor of the design that stands alone in a term."""
    spec = blocks.design.spec
    if spec is None:
        return []
    place = {
        j: i for i, j in enumerate(range(len(blocks.design.terms)) if blocks.keep is None else blocks.keep)
    }
    groups = [
        [place[j] for j in range(columns.start, columns.stop) if j in place]
        for columns, product in spec.placed()
        if len(product) == 1 and product[0][1] >= 0
    ]
    return [group for group in groups if group]


def check_features(features: KernelFeatures, search: Search) -> None:
    """Raise a DataError of features that the kernel does not have."""
    if isinstance(features, RandomFeatures):
        if search.kernels[0] != "auto":
            law_of(search.kernels[0])
        if features.n % 2 and search.kernels[0] != "arccos":
            raise DataError(
                f"components={features!r}: random features of a kernel of distances are cosines and "
                "sines, two for each direction.",
                hint=f"Give an even number, such as {features.n + 1}.",
            )
    refuse_many_features(features.n)


def fit_by_features(
    blocks: Blocks, moments: ClassMoments, prior: Floats, plan: FeaturePlan, *, estimated_prior: bool = True
) -> FittedByFeatures:
    """The fit of rows, in two passes: for a sample of them, and for the moments of the features."""
    most = max(SAMPLED, 2 * plan.features.n if isinstance(plan.features, Landmarks) else 0)
    with Progress(0, "sample of the rows"):
        rows = sampled_rows(blocks, most, len(blocks.terms))
    # A constant column has a unit of zero.
    sd = np.sqrt(total_squares(moments) / moments.total) / moments.scale
    sd[constant_columns(moments)] = np.inf
    middle = moments.counts @ moments.means / moments.total
    standard = Standard(moments.origin + middle / moments.scale, 1 / np.where(sd > 0, sd, np.inf))
    factors = factor_columns(blocks)
    sample = _as_sample(rows, standard, moments.n_classes, factors)
    compared = _as_sample(rows.first(COMPARED), standard, moments.n_classes, factors)
    kernel, scale, chosen = _kernel(compared, plan.search)
    coordinates = fit_coordinates(sample.u, sample.weights, scale, factors, standard.unit)
    features = _features(plan, kernel, Located(standard, coordinates, kernel.name), rows)
    sums = _sums(blocks, features, moments.n_classes)
    ridges: list[RidgeTried] = []
    if plan.search.ridge is None:
        with Progress(0, "choice of the ridge") as progress:
            regression, ridges = choose_feature_ridge(sums, progress)
    else:
        regression = fit_feature_ridge(sums, plan.search.ridge)
    indicators = FeatureIndicators(kernel, features, regression)
    calibrator = None
    if plan.calibrate:
        y, residuals, left = left_out_parts(indicators, rows.x, rows.codes, sample.weights)
        there = ~np.isnan(left)
        weights = None if sample.weights is None else sample.weights[there]
        fitted = y[there] - residuals[there] / left[there, None]
        calibrator = fit_calibrator(fitted, rows.codes[there], weights, "vector")
    numbers = feature_lda(
        indicators, sums, moments, prior, kind=plan.features.word, scale=scale, sample=sample,
        ncomp=plan.ncomp, calibrator=calibrator, estimated_prior=estimated_prior,
    )  # fmt: skip
    return FittedByFeatures(numbers, chosen, ridges)


def _as_sample(rows: RowSample, standard: Standard, n_classes: int, factors: list[list[int]]) -> KernelRows:
    weights = rows.weights if rows.weighted or (rows.weights != 1).any() else None
    groups = tuple(map(tuple, factors))
    return KernelRows(
        standard, standard.of(rows.x), rows.codes, weights, np.eye(n_classes)[rows.codes], groups
    )


def _kernel(sample: KernelRows, search: Search) -> tuple[Kernel, str, Chosen | None]:
    """The kernel and the scale that are given, or the best for a part of the sample, with the choice."""
    kernels, scales = kernel_candidates(search.kernels[0], search.scales[0], sample.u, sample.factors)
    # The ridge of few rows is none for many, and is chosen with the kernel whatever it is for these.
    asked = replace(search, kernels=kernels, scales=scales, ridge=None)
    if len(kernels) * len(scales) == 1 and (search.width is not None or not search.has_width(kernels[0])):
        return search.kernel(kernels[0], search.width), scales[0], None
    with Progress(0, "choice of the kernel") as progress:
        chosen = choose(sample, asked, progress)
    return chosen.kernel, chosen.scale, chosen


def _features(plan: FeaturePlan, kernel: Kernel, located: Located, rows: RowSample) -> FeatureMap:
    if isinstance(plan.features, RandomFeatures):
        columns = located(rows.x[:1]).shape[1]
        drawn = random_features(law_of(kernel.name), kernel.width, columns, plan.features.n)
        return FeatureMap(located, drawn)
    pool = located(rows.first(max(2 * plan.features.n, COMPARED)).x)
    with Progress(0, "choice of landmarks"):
        places = drawn_landmarks(kernel.matrix, pool, plan.features.n)
        return FeatureMap(located, landmarks(kernel.matrix, pool[places]))


def _sums(blocks: Blocks, features: FeatureMap, n_classes: int) -> FeatureSums:
    with Progress(0, "moments of the features"):
        moments = gather(
            FeatureRows(blocks, features), n_classes=n_classes, n_columns=features.width, rooted=False
        )
    return FeatureSums.of(moments)


def say_fewer(fit: FeatureLDAFit, asked: int) -> None:
    """Warn of landmarks that are fewer than asked for."""
    if fit.components < asked:
        warn_user(
            f"components={asked}: {fit.components} landmarks span all rows of the sample, as far as doubles "
            "tell, and the fit has as many features."
        )


def refitted_by_plan(
    plan: FeaturePlan | None, fit: FittedModel[FeatureLDAFit], blocks: Blocks
) -> Rule | None:
    """The rule of other rows, with features, kernel and ridge found anew, from the columns that vary."""
    moments = _enough_moments(blocks)
    if moments is None or plan is None:
        return None
    keep = np.setdiff1d(np.arange(moments.n_columns), constant_columns(moments))
    if not len(keep):
        return None
    whole = len(keep) == moments.n_columns
    if not whole:
        blocks = blocks.columns(keep.tolist())
        moments = moments.columns(keep)
    try:
        made = fit_by_features(blocks, moments, fit.estimates.prior, plan)
    except DataError:
        return None
    rule = made.numbers.rule(fit.log_prior())
    return rule if whole else PartRule(rule, keep)


def refitted_with_features(fit: FittedModel[FeatureLDAFit], blocks: Blocks) -> Rule | None:
    """The rule of other rows with the features, the ridge and the map to posteriors of the fit."""
    moments = _enough_moments(blocks)
    estimates = fit.estimates
    if moments is None:
        return None
    features = estimates.indicators.features
    sums = _sums(blocks, features, moments.n_classes)
    try:
        regression = fit_feature_ridge(sums, estimates.ridge)
    except DataError:
        return None
    indicators = FeatureIndicators(estimates.kernel, features, regression)
    refit = feature_lda(
        indicators, sums, moments, estimates.prior, kind=estimates.kind, scale=estimates.scale,
        sample=estimates.sample, ncomp=estimates.ncomp, calibrator=estimates.calibrator,
    )  # fmt: skip
    return refit.rule(fit.log_prior())


def _enough_moments(blocks: Blocks) -> ClassMoments | None:
    moments = reading.class_moments(blocks, "diagonal")
    enough = (moments.counts > 0).all() and moments.total > moments.n_classes
    return moments if enough else None
