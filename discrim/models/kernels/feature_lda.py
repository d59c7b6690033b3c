"""Kernel discriminant analysis by landmarks or random features, fitted in two passes over the rows.

`kernel_lda` with `components=` and refits of such fits use this module.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discrim.core.covariance.covariance import constant_columns, total_squares
from discrim.core.kernels.feature_lda import (
    CoordinateMap,
    FeatureIndicators,
    FeatureLDAFit,
    FeatureSums,
    RidgeCandidate,
    choose_feature_ridge,
    direction_distribution,
    fit_feature_lda,
    fit_feature_ridge,
    raise_if_many_features,
    residuals_and_leverages,
)
from discrim.core.kernels.features import (
    FeatureMap,
    FeatureRows,
    draw_landmarks,
    make_landmarks,
    random_features,
)
from discrim.core.kernels.kernel_ridge import (
    ChosenKernel,
    KernelRows,
    SearchSpace,
    choose_kernel,
    kernel_candidates,
)
from discrim.core.kernels.kernels import Kernel, Standardization, fit_coordinates
from discrim.core.kernels.row_sample import RowSample, sample_rows
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.calibration import fit_calibrator
from discrim.core.rules.rules import ColumnSubsetRule, Rule
from discrim.design.design_rows import DesignRows
from discrim.errors import DataError, warn_user
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.subspace import KernelFeatures, Landmarks, RandomFeatures

MIN_SAMPLE_SIZE = 5_000
"""Size of the sample of distinct rows; it is twice the number of landmarks if that is larger."""

N_SEARCH_ROWS = 1_000
"""Number of sampled rows by whose leave-one-out loss kernel, scale and width are chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePlan:
    """Options of a fit by features.

    Attributes
    ----------
    features : KernelFeatures
        Kind and number of features.
    search : SearchSpace
        Kernel, scale, width and ridge; "auto" and None stand for a choice.
    calibrate : bool
        Whether posteriors come from a map of the fitted indicators; otherwise from normal classes in the
        space of the variates.
    ncomp : int or None
        Number of axes to keep; None for all.
    """

    features: KernelFeatures
    search: SearchSpace
    calibrate: bool
    ncomp: int | None


class FittedByFeatures(NamedTuple):
    """A fit by features with the record of its choices.

    Attributes
    ----------
    estimates : FeatureLDAFit
        The estimates.
    chosen : ChosenKernel or None
        The choice of kernel, scale and width; None if they were options.
    ridges : list of RidgeCandidate
        Candidate ridges with their losses; empty if the ridge was an option.
    """

    estimates: FeatureLDAFit
    chosen: ChosenKernel | None
    ridges: list[RidgeCandidate]


def factor_columns(design_rows: DesignRows) -> list[list[int]]:
    """Return, for each categorical term that is a main effect, the positions of its columns in the rows.

    Columns of the design that the rows do not have are left out; positions count the columns of x. The list
    is empty without such terms.
    """
    spec = design_rows.design.spec
    if spec is None:
        return []
    index_of_column = {
        j: i
        for i, j in enumerate(
            range(len(design_rows.design.terms))
            if design_rows.kept_columns is None
            else design_rows.kept_columns
        )
    }
    groups = [
        [index_of_column[j] for j in range(columns.start, columns.stop) if j in index_of_column]
        for columns, product in spec.products_with_columns()
        if len(product) == 1 and product[0][1] >= 0
    ]
    return [group for group in groups if group]


def check_features(features: KernelFeatures, search: SearchSpace) -> None:
    """Raise DataError if the kernel does not support the features, or if they need too much memory.

    Random features require the kernel "gaussian", "laplace", "arccos" or "auto" and, except for "arccos", an
    even number. Landmarks are possible for any kernel.
    """
    if isinstance(features, RandomFeatures):
        if search.kernels[0] != "auto":
            direction_distribution(search.kernels[0])
        if features.n % 2 and search.kernels[0] != "arccos":
            raise DataError(
                f"components={features!r} has an odd number of random features. Kernels of distances use a "
                "cosine and a sine for each direction.",
                hint=f"Use an even number, such as {features.n + 1}.",
            )
    raise_if_many_features(features.n)


def fit_by_features(
    design_rows: DesignRows,
    moments: ClassMoments,
    prior: Floats,
    plan: FeaturePlan,
    *,
    estimated_prior: bool = True,
) -> FittedByFeatures:
    """Fit kernel discriminant analysis by features in two passes: a sample of rows, then moments of features.

    The sample determines the coordinates, the kernel, the features and the map to posteriors; all rows
    determine the regression and, if it is chosen, its ridge.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Diagonal class moments of the columns.
    prior : (K,) float64
        Prior probabilities of the classes.
    plan : FeaturePlan
        Features, candidates and options.
    estimated_prior : bool
        Whether the prior was estimated by the class proportions.

    Returns
    -------
    FittedByFeatures
        `chosen` is None if kernel, scale and width were options, and `ridges` empty if the ridge was one.

    Raises
    ------
    DataError
        The rows are all equal, the ridge is too small, or the kernel does not support the features.
    """
    sample_size = max(MIN_SAMPLE_SIZE, 2 * plan.features.n if isinstance(plan.features, Landmarks) else 0)
    with Progress(0, "sample of the rows"):
        rows = sample_rows(design_rows, sample_size, len(design_rows.terms))
    # Divide a constant column by infinity: its coordinate is zero.
    sd = np.sqrt(total_squares(moments) / moments.total) / moments.scale
    sd[constant_columns(moments)] = np.inf
    common_mean = moments.counts @ moments.means / moments.total
    standard = Standardization(moments.origin + common_mean / moments.scale, 1 / np.where(sd > 0, sd, np.inf))
    factors = factor_columns(design_rows)
    sample = _standardized_sample(rows, standard, moments.n_classes, factors)
    search_sample = _standardized_sample(rows.truncate(N_SEARCH_ROWS), standard, moments.n_classes, factors)
    kernel, scale, chosen = _choose_kernel_and_scale(search_sample, plan.search)
    coordinates = fit_coordinates(sample.u, sample.weights, scale, factors, standard.unit)
    features = _build_feature_map(plan, kernel, CoordinateMap(standard, coordinates, kernel.name), rows)
    sums = _gather_feature_sums(design_rows, features, moments.n_classes)
    ridges: list[RidgeCandidate] = []
    if plan.search.ridge is None:
        with Progress(0, "choice of the ridge") as progress:
            regression, ridges = choose_feature_ridge(sums, progress)
    else:
        regression = fit_feature_ridge(sums, plan.search.ridge)
    indicators = FeatureIndicators(kernel, features, regression)
    calibrator = None
    if plan.calibrate:
        y, residuals, residual_weights = residuals_and_leverages(
            indicators, rows.x, rows.codes, sample.weights
        )
        has_residual = ~np.isnan(residual_weights)
        weights = None if sample.weights is None else sample.weights[has_residual]
        fitted = y[has_residual] - residuals[has_residual] / residual_weights[has_residual, None]
        calibrator = fit_calibrator(fitted, rows.codes[has_residual], weights, "vector")
    estimates = fit_feature_lda(
        indicators, sums, moments, prior, feature_type=plan.features.word, scale=scale, sample=sample,
        ncomp=plan.ncomp, calibrator=calibrator, estimated_prior=estimated_prior,
    )  # fmt: skip
    return FittedByFeatures(estimates, chosen, ridges)


def _standardized_sample(
    rows: RowSample, standard: Standardization, n_classes: int, factors: list[list[int]]
) -> KernelRows:
    """Standardize the sampled rows; weights are omitted if all are one.

    Parameters
    ----------
    rows : RowSample
        Distinct rows of the table, with the sums of the weights of equal rows.
    standard : Standardization
        Means and inverse standard deviations of the columns over all rows.
    n_classes : int
        Number of classes, K.
    factors : list of list of int
        Positions of the columns of each factor; see `factor_columns`.

    Returns
    -------
    KernelRows
        Standardized rows u, their classes, weights, class indicators (m, K) and the columns of factors.
    """
    weights = rows.weights if rows.has_weights or (rows.weights != 1).any() else None
    groups = tuple(map(tuple, factors))
    return KernelRows(
        standard, standard.standardize(rows.x), rows.codes, weights, np.eye(n_classes)[rows.codes], groups
    )


def _choose_kernel_and_scale(
    sample: KernelRows, search: SearchSpace
) -> tuple[Kernel, str, ChosenKernel | None]:
    """Return kernel and scale from the options, or choose them by leave-one-out in a sample.

    Parameters
    ----------
    sample : KernelRows
        Rows whose leave-one-out loss is minimized.
    search : SearchSpace
        Options, of which one kernel and one scale, or "auto". The ridge is not used: one is chosen for this
        sample with the kernel.

    Returns
    -------
    kernel : Kernel
        The kernel with its width.
    scale : str
        Name of the coordinates; see `ScaleName`.
    chosen : ChosenKernel or None
        The record of the choice; None if the options determine kernel, scale and width.
    """
    kernels, scales = kernel_candidates(search.kernels[0], search.scales[0], sample.u, sample.factors)
    # A ridge for all rows does not suit a small sample: here it is always chosen with the kernel.
    candidates = replace(search, kernels=kernels, scales=scales, ridge=None)
    if len(kernels) * len(scales) == 1 and (search.width is not None or not search.has_width(kernels[0])):
        return search.kernel(kernels[0], search.width), scales[0], None
    with Progress(0, "choice of the kernel") as progress:
        chosen = choose_kernel(sample, candidates, progress)
    return chosen.kernel, chosen.scale, chosen


def _build_feature_map(
    plan: FeaturePlan, kernel: Kernel, coordinate_map: CoordinateMap, rows: RowSample
) -> FeatureMap:
    """Draw the random features or the landmarks of a kernel.

    Parameters
    ----------
    plan : FeaturePlan
        Kind and number of features.
    kernel : Kernel
        The kernel that they approximate.
    coordinate_map : CoordinateMap
        Transform of rows to coordinates.
    rows : RowSample
        Rows among which landmarks are drawn: among the first 1,000, or twice as many as landmarks if that is
        more.

    Returns
    -------
    FeatureMap
        It has fewer landmarks than requested if the numerical rank of the kernel is smaller.
    """
    if isinstance(plan.features, RandomFeatures):
        columns = coordinate_map(rows.x[:1]).shape[1]
        directions = random_features(
            direction_distribution(kernel.name), kernel.width, columns, plan.features.n
        )
        return FeatureMap(coordinate_map, directions)
    pool = coordinate_map(rows.truncate(max(2 * plan.features.n, N_SEARCH_ROWS)).x)
    with Progress(0, "choice of landmarks"):
        landmark_index = draw_landmarks(kernel.matrix, pool, plan.features.n)
        return FeatureMap(coordinate_map, make_landmarks(kernel.matrix, pool[landmark_index]))


def _gather_feature_sums(design_rows: DesignRows, features: FeatureMap, n_classes: int) -> FeatureSums:
    """Accumulate class counts, class means and total scatter of the features in one pass over all rows."""
    with Progress(0, "moments of the features"):
        moments = gather(
            FeatureRows(design_rows, features),
            n_classes=n_classes,
            n_columns=features.width,
            with_roots=False,
        )
    return FeatureSums.from_moments(moments)


def warn_of_fewer_landmarks(fit: FeatureLDAFit, requested: int) -> None:
    """Warn if the fit has fewer features than the requested number of landmarks."""
    if fit.components < requested:
        warn_user(
            f"components={requested} exceeds the numerical rank of the kernel: {fit.components} landmarks "
            "span all rows of the sample in double precision, and the fit has as many features."
        )


def refit_with_new_features(
    plan: FeaturePlan | None, fit: FittedModel[FeatureLDAFit], design_rows: DesignRows
) -> Rule | None:
    """Refit to other rows with features, kernel and ridge chosen again; return the classification rule.

    The prior of the fit is used. Columns that are constant in the rows are left out.

    Parameters
    ----------
    plan : FeaturePlan or None
        Features and candidates; None for a fit from a file.
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows.

    Returns
    -------
    Rule or None
        Rule for all columns of `design_rows`. None without a plan, or if a class is empty, the total weight
        is at most the number of classes, every column is constant, or `fit_by_features` raises DataError.
    """
    moments = _moments_if_sufficient(design_rows)
    if moments is None or plan is None:
        return None
    keep = np.setdiff1d(np.arange(moments.n_columns), constant_columns(moments))
    if not len(keep):
        return None
    has_all_columns = len(keep) == moments.n_columns
    if not has_all_columns:
        design_rows = design_rows.select_columns(keep.tolist())
        moments = moments.select_columns(keep)
    try:
        refit = fit_by_features(design_rows, moments, fit.estimates.prior, plan)
    except DataError:
        return None
    rule = refit.estimates.rule(fit.log_prior())
    return rule if has_all_columns else ColumnSubsetRule(rule, keep)


def refit_with_features(fit: FittedModel[FeatureLDAFit], design_rows: DesignRows) -> Rule | None:
    """Refit to other rows with the features, ridge, prior and calibration map of the fit; return the rule.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows, with all columns of the fit.

    Returns
    -------
    Rule or None
        None if a class is empty, the total weight is at most the number of classes, or the ridge is too
        small.
    """
    moments = _moments_if_sufficient(design_rows)
    estimates = fit.estimates
    if moments is None:
        return None
    features = estimates.indicators.features
    sums = _gather_feature_sums(design_rows, features, moments.n_classes)
    try:
        regression = fit_feature_ridge(sums, estimates.ridge)
    except DataError:
        return None
    indicators = FeatureIndicators(estimates.kernel, features, regression)
    refit = fit_feature_lda(
        indicators, sums, moments, estimates.prior, feature_type=estimates.feature_type,
        scale=estimates.scale, sample=estimates.sample, ncomp=estimates.ncomp,
        calibrator=estimates.calibrator,
    )  # fmt: skip
    return refit.rule(fit.log_prior())


def _moments_if_sufficient(design_rows: DesignRows) -> ClassMoments | None:
    """Return diagonal moments of rows.

    None if the weights of a class sum to zero, or all weights to at most the number of classes.
    """
    moments = reading.class_moments(design_rows, "diagonal")
    is_sufficient = (moments.counts > 0).all() and moments.total > moments.n_classes
    return moments if is_sufficient else None
