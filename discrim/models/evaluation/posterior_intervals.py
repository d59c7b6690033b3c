"""Intervals of posteriors for single rows, by the delta method or by a bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.regression.logistic import LogisticFit
from discrim.core.rules.leave_one_out import MomentsFit, squared_distances_between_means
from discrim.core.rules.rules import posteriors
from discrim.design.design_rows import DesignRows
from discrim.errors import (
    NotSupportedError,
)
from discrim.inference import parametric_errors
from discrim.inference.error_rates import check_level
from discrim.inference.parametric_errors import ScoreCovariance
from discrim.inference.resampling import RunningInterval
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.evaluation.typicality import MAX_CHUNK_ELEMENTS, raise_if_small_classes
from discrim.models.evaluation.validation import BootstrapSamples, raise_if_many_scores


def posterior_intervals(
    fit: FittedModel[Any],
    data: Any,
    method: str,
    level: float,
    replicates: int,
    seed: int | None,
    unseen: Any = None,
) -> pd.DataFrame:
    """Return posteriors of rows with intervals; see `ClassifierResults.posterior_intervals`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    method : {"delta", "bootstrap"}
        Delta method, or percentiles under fits to bootstrap samples of the rows of the fit.
    level : float
        Level of the intervals, such as 0.95.
    replicates : int
        Number of bootstrap samples.
    seed : int or None
        Seed of the bootstrap; None for a random one.
    unseen : {"raise", "missing"}, optional
        Whether an unseen level is an error or a missing value; by default as in the fit.

    Returns
    -------
    DataFrame of n rows
        Columns (class, "posterior" | "low" | "high"); NaN for rows with a missing value.

    Raises
    ------
    NotSupportedError
        "delta" and the model is neither logistic nor normal with distances in closed form, or has a
        covariance for each class and a class of weight one or less; or "bootstrap" and the fit lacks rows,
        has weights that are not integers, or cannot be refitted to samples.
    DataError
        `level` or `replicates` is not valid, or the table of intervals does not fit into memory.
    """
    check_level(level)
    design_rows = fit.new_rows(data, MissingPolicy(unseen))
    raise_if_many_scores(
        3 * design_rows.table.nrows, len(fit.classes), "Posteriors and two ends of intervals"
    )
    if method == "delta":
        if not (fit.estimates.has_distances or isinstance(fit.estimates, LogisticFit)):
            raise NotSupportedError(
                'method="delta" requires normal classes with full covariances, which this '
                f"{fit.title_in_sentence} does not have.",
                hint='Use method="bootstrap".',
            )
        raise_if_small_classes(fit, 1, 'method="delta"')
        rule = fit.rule()
        covariance = _score_covariance_function(fit)
        # Number of array elements per row for the covariances of its scores.
        elements_per_row = len(fit.classes) * (
            len(fit.terms) + 1 if isinstance(fit.estimates, LogisticFit) else 1
        )
        chunks = []
        chunk_size = max(MAX_CHUNK_ELEMENTS // elements_per_row, 1)
        with Progress(design_rows.table.nrows, "posterior intervals") as progress:
            for _, block, _ in design_rows.iter_all_rows():
                for start in range(0, len(block), chunk_size):
                    x = block[start : start + chunk_size]
                    p = posteriors(rule.scores(x))
                    chunks.append(
                        np.stack([p, *parametric_errors.posterior_intervals(p, covariance(x), level)], axis=2)
                    )
                    progress(len(x))
        intervals = np.concatenate(chunks) if chunks else np.empty((0, len(fit.classes), 3))
    else:
        intervals = _bootstrap_intervals(fit, design_rows, level, replicates, seed)
    columns = pd.MultiIndex.from_product(
        [fit.classes, ["posterior", "low", "high"]], names=[fit.classes.name, None]
    )
    return pd.DataFrame(
        intervals.reshape(len(intervals), len(columns)), index=design_rows.table.index, columns=columns
    )


def _score_covariance_function(fit: FittedModel[Any]) -> Callable[[Floats], ScoreCovariance]:
    """Return a function of rows (m, p), p columns, that computes the sampling covariance of their K scores.

    The fit is a logistic regression or has normal classes; its proportions vary if it estimated the prior.
    """
    if isinstance(fit.estimates, LogisticFit):
        score_covariances = fit.estimates.score_covariances()
        return lambda x: ScoreCovariance(*score_covariances(x))
    estimates: MomentsFit = fit.estimates
    unbiased, df = estimates.unbiased_distances()
    # Only the relative noise of a covariance matters, which does not depend on its divisor.
    distances = estimates.distances()
    counts = estimates.moments.counts
    estimated_prior = estimates.estimated_prior
    p = len(fit.terms)
    if len(unbiased.covariances) > 1:
        return lambda x: parametric_errors.separate_score_covariance(
            distances.squared(x).T, counts, df, p, estimated_prior=estimated_prior
        )
    (covariance,) = distances.covariances
    squared_mean_differences = squared_distances_between_means(covariance.whiten(estimates.moments.means.T).T)
    nu = float(df[0])
    return lambda x: parametric_errors.common_score_covariance(
        distances.squared(x).T, squared_mean_differences, counts, nu, estimated_prior=estimated_prior
    )


def _bootstrap_intervals(
    fit: FittedModel[Any], design_rows: DesignRows, level: float, replicates: int, seed: int | None
) -> Floats:
    """Return posteriors of the fit, and percentiles of posteriors under fits to bootstrap samples.

    The rows of the fit are sampled, stratified by class. If the fit estimated its prior, class proportions
    are drawn, too.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
        Rows to predict.
    level : float
        Level of the intervals.
    replicates : int
        Number of bootstrap samples.
    seed : int or None
        Seed of the random numbers.

    Returns
    -------
    (n, K, 3) float
        Posterior of the fit, lower and upper limit; NaN for rows with a missing value.
    """
    samples = BootstrapSamples(fit.require_rows('method="bootstrap"'), replicates, seed)
    k = len(fit.classes)
    counts = fit.counts
    log_prior = fit.log_prior()
    fitted = fit.rule_for(design_rows)
    intervals = np.empty((design_rows.table.nrows, k, 3))
    for row_slice, x, _ in design_rows.iter_all_rows():
        intervals[row_slice, :, 0] = posteriors(fitted.scores(x))
    interval = RunningInterval((len(intervals), k), replicates, level)
    sample_posteriors = np.empty((len(intervals), k))
    with Progress(replicates, "posterior intervals") as progress:
        for _ in range(replicates):
            # A rule may contain its rows: only one is kept in memory.
            rule, _ = samples.sample_rule(fit)
            log_prior_change = np.zeros(k)
            if fit.estimates.estimated_prior:
                # The samples are stratified: class proportions are drawn separately.
                with np.errstate(divide="ignore"):
                    log_proportions = np.log(
                        samples.rng.multinomial(round(counts.sum()), counts / counts.sum()) / counts.sum()
                    )
                log_prior_change = log_proportions - log_prior
            for row_slice, x, _ in design_rows.iter_all_rows():
                sample_posteriors[row_slice] = posteriors(rule.scores(x) + log_prior_change)
            interval.add(sample_posteriors)
            progress(1)
    intervals[..., 1], intervals[..., 2] = interval.limits()
    return intervals
