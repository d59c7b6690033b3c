"""What the sample says of single rows: how typical they are of a class, how sure their posteriors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.normal.qda import QDAFit
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.numerics.special import chi2_sf
from discrim.core.regression.logistic import LogisticFit
from discrim.core.rules.leave_one_out import MomentsFit, squared_gaps
from discrim.core.rules.rules import posteriors
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.rows import used_rows
from discrim.inference import parametric_errors
from discrim.inference.error_rates import check_level
from discrim.inference.parametric_errors import ScoreCovariance
from discrim.inference.resampling import RunningInterval
from discrim.models.fits.fit import AS_FITTED, Fit, Gaps
from discrim.models.fits.reading import refuse_little_weight
from discrim.models.judging.prediction_sets import rank_typicality, ranked
from discrim.models.judging.validation import BootstrapSamples, refuse_many_scores

HELD = 2**21
"""Numbers of rows by classes, or by classes by classes, that are held at once."""


def typicality(
    fit: Fit[Any], data: Any, gaps: Gaps = AS_FITTED, method: str = "exact", calibration: Any = None
) -> pd.DataFrame:
    """P(D2 >= d2 | class) of new rows, or of the fit's own by the others; see `ClassifierResults`."""
    if method in ("relative", "conformal"):
        return rank_typicality(fit, data, method, calibration, gaps)
    if calibration is not None:
        raise DataError(
            f'calibration= does not go with method="{method}", which takes no rows: leave it out.'
        )
    blocks = fit.rows("typicality()", "pass data=") if data is None else fit.new_rows(data, gaps)
    found = _by_law(fit, blocks, method, seen=data is None)
    return pd.DataFrame(found, index=blocks.table.index, columns=fit.classes, copy=False)


def typicality_of_new(fit: Fit[Any], method: str, bound: float) -> Callable[[Fit[Any], Blocks], Floats]:
    """What gives the typicality (n, K) of rows, also from a fit whose rows are not there.

    Warns
    -----
    DiscrimWarning
        No row can have a rank below the bound in each class, as one has too few rows.
    """
    if method in ("relative", "conformal"):
        found = ranked(fit, method).of_new
        least = 1 / (fit.counts + 1)
        k = int(least.argmax())
        if least[k] >= bound > 0:
            warn_user(
                f"outlier={bound:g} calls no row unknown: a rank among the {fit.counts[k]:g} rows of class "
                f"{fit.classes[k]!r} is at least {least[k]:.2g}. Give a larger bound, or another typicality=."
            )
        return found
    _law(fit, method)
    return partial(_by_law, method=method, seen=False)


def unlike_all(typical: Floats, codes: Codes, bound: float) -> NDArray[np.bool_]:
    """Whether rows (n,) with a label have a typicality (n, K) below a bound in every class.

    Warns
    -----
    DiscrimWarning
        Rows have a label, as missing columns were integrated out, and no typicality.
    """
    labelled = codes >= 0
    count = int((labelled & np.isnan(typical).all(axis=1)).sum())
    if count:
        warn_user(
            f"outlier= says nothing about {count} {'row' if count == 1 else 'rows'} with missing "
            "values, which have no typicality: their labels follow from the columns that they have."
        )
    return np.asarray(labelled & (typical < bound).all(axis=1))


def _by_law(fit: Fit[Any], blocks: Blocks, method: str, *, seen: bool) -> Floats:
    law = _law(fit, method)
    refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
    out = np.full((len(fit.classes), blocks.table.nrows), np.nan)
    with late_bar(blocks.table.nrows, "typicality") as tell:
        for place, values in _typical_rows(fit, blocks, law, seen=seen):
            out[:, place] = values
            tell(values.shape[1])
    return out.T


def _law(fit: Fit[Any], method: str) -> Callable[..., Floats]:
    """From distances (K, m), counts, degrees of freedom and p to what is at least as far; or a refusal."""
    scatter = getattr(fit.numbers, "scatter", None)
    searched = scatter is not None and not scatter.is_of_moments
    if not (fit.numbers.has_distances or (method == "chi2" and searched)):
        others = 'method="chi2" or ' if searched else ""
        raise NotSupportedError(
            "typicality is defined for normal classes with full covariances, which "
            f'{fit.title.lower()} as it was fitted does not have: use {others}method="conformal", or '
            "fit lda() or qda() with full ones."
        )
    if not searched:
        _refuse_light(fit, len(fit.terms), "typicality")
    return (
        parametric_errors.typical
        if method == "exact"
        else lambda d2, counts, free, p: np.asarray(chi2_sf(d2, p))
    )


def _typical_rows(
    fit: Fit[Any], blocks: Blocks, law: Callable[..., Floats], *, seen: bool
) -> Iterator[tuple[Any, Floats]]:
    """Typicality (K, m) of some rows and where they are, block by block; those seen by the fit left out."""
    p, numbers = len(fit.terms), fit.numbers
    if seen and numbers.has_distances:
        for rows, x, codes, weights in used_rows(blocks):
            d2, left, free = numbers.left_out_distances(x, codes, weights)
            yield rows, law(d2, left, free, p)
        return
    counts = numbers.moments.counts
    distances, free = numbers.unbiased_distances() if numbers.has_distances else (numbers.distances(), counts)
    for place, x, _ in blocks.every_row():
        with np.errstate(over="ignore", invalid="ignore"):
            d2 = distances.squared(x)
        # A row that misses no value and has no distance is beyond the range of squares.
        d2[np.isnan(d2) & ~np.isnan(x).any(axis=1)] = np.inf
        yield place, law(d2, counts[:, None], free[:, None], p)


def _refuse_light(fit: Fit[Any], least: int, what: str) -> None:
    """Raise where the weights of a class leave its covariance too few degrees of freedom."""
    if isinstance(fit.numbers, QDAFit):
        refuse_little_weight(fit.rows_by_class, least, what)


def posterior_intervals(
    fit: Fit[Any],
    data: Any,
    method: str,
    level: float,
    replicates: int,
    seed: int | None,
    unseen: Any = None,
) -> pd.DataFrame:
    """Posteriors with intervals; see `Judging`."""
    check_level(level)
    blocks = fit.new_rows(data, Gaps(unseen))
    refuse_many_scores(3 * blocks.table.nrows, len(fit.classes), "Posteriors and two ends of intervals")
    if method == "delta":
        if not (fit.numbers.has_distances or isinstance(fit.numbers, LogisticFit)):
            raise NotSupportedError(
                'method="delta" needs normal classes with full covariances, which '
                f'{fit.title.lower()} as it was fitted does not have: use method="bootstrap".'
            )
        _refuse_light(fit, 1, 'method="delta"')
        rule, covariance = fit.rule(), _score_covariance(fit)
        parts, step = [], max(HELD // _held_by_row(fit), 1)
        with late_bar(blocks.table.nrows, "posterior intervals") as tell:
            for _, block, _ in blocks.every_row():
                for start in range(0, len(block), step):
                    x = block[start : start + step]
                    p = posteriors(rule.scores(x))
                    parts.append(
                        np.stack([p, *parametric_errors.delta_intervals(p, covariance(x), level)], axis=2)
                    )
                    tell(len(x))
        found = np.concatenate(parts) if parts else np.empty((0, len(fit.classes), 3))
    else:
        found = _bootstrapped(fit, blocks, level, replicates, seed)
    columns = pd.MultiIndex.from_product(
        [fit.classes, ["posterior", "low", "high"]], names=[fit.classes.name, None]
    )
    return pd.DataFrame(found.reshape(len(found), len(columns)), index=blocks.table.index, columns=columns)


def _held_by_row(fit: Fit[Any]) -> int:
    """Numbers that a row takes for its covariances."""
    return len(fit.classes) * (len(fit.terms) + 1 if isinstance(fit.numbers, LogisticFit) else 1)


def _score_covariance(fit: Fit[Any]) -> Callable[[Floats], ScoreCovariance]:
    """From rows x (m, p) to the covariances of their scores."""
    if isinstance(fit.numbers, LogisticFit):
        of_rows = fit.numbers.score_covariances()
        return lambda x: ScoreCovariance(*of_rows(x))
    numbers: MomentsFit = fit.numbers
    held, free = numbers.unbiased_distances()
    # What counts is the relative noise of a covariance, and that of the divisor N is the same.
    distances = numbers.distances()
    counts, known, p = numbers.moments.counts, numbers.estimated_prior, len(fit.terms)
    if len(held.covariances) > 1:
        return lambda x: parametric_errors.separate_covariance(
            distances.squared(x).T, counts, free, p, estimated_prior=known
        )
    (covariance,) = distances.covariances
    gaps = squared_gaps(covariance.whiten(numbers.moments.means.T).T)
    nu = float(free[0])
    return lambda x: parametric_errors.common_covariance(
        distances.squared(x).T, gaps, counts, nu, estimated_prior=known
    )


def _bootstrapped(fit: Fit[Any], blocks: Blocks, level: float, replicates: int, seed: int | None) -> Floats:
    """Posteriors (n, K) with the percentiles of those under fits to rows drawn again."""
    samples = BootstrapSamples(fit.rows('method="bootstrap"'), replicates, seed)
    k = len(fit.classes)
    counts = fit.counts
    log_prior = fit.log_prior()
    fitted = fit.rule_of(blocks)
    found = np.empty((blocks.table.nrows, k, 3))
    for place, x, _ in blocks.every_row():
        found[place, :, 0] = posteriors(fitted.scores(x))
    held = RunningInterval((len(found), k), replicates, level)
    values = np.empty((len(found), k))
    with late_bar(replicates, "posterior intervals") as tell:
        for _ in range(replicates):
            # A rule may hold its rows: it is used and forgotten.
            rule, _ = samples.rule(fit)
            shift = np.zeros(k)
            if fit.numbers.estimated_prior:
                # The shares of the classes are as uncertain as their rows.
                with np.errstate(divide="ignore"):
                    drawn = np.log(
                        samples.rng.multinomial(round(counts.sum()), counts / counts.sum()) / counts.sum()
                    )
                shift = drawn - log_prior
            for place, x, _ in blocks.every_row():
                values[place] = posteriors(rule.scores(x) + shift)
            held.add(values)
            tell(1)
    found[..., 1], found[..., 2] = held.ends()
    return found
