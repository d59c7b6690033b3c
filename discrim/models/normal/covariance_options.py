"""What `covariance=` and the keywords beside it ask for, and what the rows answer to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.units import constant_within, in_units, within_sd
from discrim.core.numerics.arrays import Floats
from discrim.core.rules import gaussian
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.core.scatter.by_estimator import ByEstimator
from discrim.core.scatter.kinds import KINDS
from discrim.core.scatter.scatter import CovarianceKeywords, KnownRows, Scatter, each
from discrim.core.scatter.shrinkage import missed, refuse_grid
from discrim.errors import CollinearError, DataError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.rows import used_rows
from discrim.models.fits.options import text_of
from discrim.models.fits.reading import check_word, class_moments, collinear_error, listed
from discrim.models.fits.refits import error_path, largest_as_good

MUCH = 10.0
"""Ratio of standard deviations within classes beyond which units differ by much."""


def read_scatter(
    covariance: Any, words: tuple[str, ...], method: str, keywords: CovarianceKeywords
) -> Scatter:
    """The kind of covariance that the keywords ask for.

    Parameters
    ----------
    words : tuple of str
        What `covariance` may be; the first of them is the full one.

    Raises
    ------
    DataError
        A word that is not known, a number out of range, or keywords that do not go together.
    """
    if isinstance(covariance, str):
        check_word("covariance", covariance, words)
        kind = KINDS["full" if covariance == words[0] else covariance]
        _refuse_others(kind.takes, kind.word, covariance, words, keywords)
        return kind.read(keywords)
    if isinstance(covariance, type):
        raise DataError(
            f"covariance={covariance.__name__} is a class: pass an object of it, {covariance.__name__}()."
        )
    if not callable(getattr(covariance, "fit", None)):
        raise DataError(
            f"covariance={covariance!r} is not known: use one of {listed(words)}, or an estimator, an object "
            "with fit(X) and then covariance_."
        )
    if keywords.shrinkage is not None:
        raise DataError("shrinkage= does not go with an estimator, which has its own: leave one out.")
    if method != "moment":
        raise DataError(
            f"method={method!r} does not go with an estimator, which has its own divisor: leave it out."
        )
    _refuse_others((), "estimator", covariance, words, keywords)
    return ByEstimator(covariance, text_of(covariance))


def _refuse_others(
    takes: tuple[str, ...], word: str, covariance: Any, words: tuple[str, ...], keywords: CovarianceKeywords
) -> None:
    """Raise where a keyword is given that does not go with a kind."""
    if keywords.shrinkage is not None and "shrinkage" not in takes:
        also = ', or "correlation" (towards none)' if "correlation" in words else ""
        raise DataError(
            f'shrinkage={keywords.shrinkage!r} goes with covariance="shrunk" (towards a sphere) or '
            f'"diagonal" (variances, towards their median){also}, and not with {covariance!r}: leave it '
            "out, or pass one of these."
        )
    if "grid" not in takes:
        refuse_grid(keywords.grid)
    standardize = keywords.standardize
    if not isinstance(standardize, bool | np.bool_):
        raise DataError(f"standardize={standardize!r}: give True or False.")
    if standardize and "standardize" not in takes:
        raise DataError(
            'standardize=True goes with covariance="shrunk" or "spherical", and in qda() with '
            '"factor": pass one of these, or leave it out.'
        )
    if keywords.variance_shrinkage is not None and "variance_shrinkage" not in takes:
        raise DataError(
            'variance_shrinkage= goes with covariance="correlation": pass both, or leave it out. '
            'For covariance="diagonal" pass shrinkage=.'
        )
    for name in ("dimensions", "form", "threshold"):
        value = getattr(keywords, name)
        if value is not None and name not in takes:
            raise DataError(
                f'{name}={value!r} goes with covariance="factor", and not with {word!r}: leave it '
                "out, or pass that."
            )


def known_of_rows(
    scatter: Scatter,
    blocks: Blocks,
    moments: ClassMoments,
    divisors: Callable[[ClassMoments], Floats],
    prior: Floats,
    *,
    sampled: bool,
) -> tuple[Scatter, pd.DataFrame | None]:
    """A kind with what only rows say of it, read once more where it needs them, and the path of a choice.

    Parameters
    ----------
    divisors : callable
        From moments to those of the covariances, (1,) or (K,).
    prior : (K,) float
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Raises
    ------
    CollinearError
        A covariance that is singular stays so.
    DataError
        A class has too few rows to choose by leave-one-out, or an estimator has no covariance.
    """
    unit, levels, of = scatter.unit(moments), blocks.design.levels, divisors(moments)
    if unit is not None:
        blocks, moments = replace(blocks, unit=unit), in_units(moments, unit)
    if any(shrinkage.grid for shrinkage in scatter.shrinkages):
        plain = scatter.plain()
        scaled = plain.at(1.0).scaled(moments)
        path = shrinkage_path(ShrinkageTrials(plain, blocks, scaled, divisors, prior), sampled=sampled)
        return scatter.at(*[largest_as_good(path)] * len(of)), path
    found = scatter.of_rows(KnownRows(blocks, levels), moments, of)
    for k, _ in each(of) if found.shrinkages and found.shrinkages[0].values else ():
        where = "within classes" if k is None else f"in class {levels[k]!r}"
        _refuse_singular(found.of_class(k), moments, blocks.terms, k, where)
    return found, None


def _refuse_singular(
    scatter: Scatter, moments: ClassMoments, terms: Sequence[str], k: int | None, where: str
) -> None:
    """Raise where a shrinkage leaves the covariance of a class, or the pooled one, singular."""
    shrinkage, p = scatter.shrinkages[0], moments.n_columns
    free = moments.rows.sum() - moments.n_classes if k is None else moments.rows[k] - 1
    if scatter.takes_full_rank(p) and free < p:
        raise CollinearError(
            f"{shrinkage.said(shrinkage.values[0])} {where}, which leaves the covariance of {len(terms)} "
            f"columns ({listed(terms)}) singular: there are {free} degrees of freedom. Pass a larger "
            f"number{scatter.instead}."
        )
    if wild := scatter.out_of_reach(moments, k):
        column, middle = (repr(terms[j]) for j in wild)
        raise DataError(
            f"A shrinkage of 1 gives each column the variance of the median {where}, that of "
            f"{middle}, and {column} varies so much more that its squared distances exceed double "
            "precision: give the columns in units of one size, as standardize() does, or pass a "
            "shrinkage below 1."
        )
    found = scatter.obstacles(moments, k)
    if found and shrinkage.is_none(p):
        raise collinear_error(found, tuple(terms), where)
    if found:
        raise CollinearError(
            f"Half of the columns or more are constant {where} (first of them "
            f"{terms[found[0].column]!r}), so that the median of the variances is zero and shrinking "
            "towards it does not help: drop them."
        )


@dataclass(frozen=True, slots=True)
class ShrinkageTrials:
    """What is tried on which rows.

    Attributes
    ----------
    scatter : Scatter
        With a grid of shrinkages.
    divisors : callable
        From moments to those of one covariance for all classes (1,), or of one for each (K,).
    prior : (K,) float
    """

    scatter: Scatter
    blocks: Blocks
    moments: ClassMoments
    divisors: Callable[[ClassMoments], Floats]
    prior: Floats

    @property
    def grid(self) -> tuple[float, ...]:
        """The shrinkages."""
        return self.scatter.shrinkages[0].grid

    @property
    def is_common(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.divisors(self.moments)) == 1

    def is_singular(self, moments: ClassMoments, g: float) -> bool:
        """Whether a shrinkage leaves a covariance of these moments singular."""
        scatter = self.scatter.at(g)
        if scatter.takes_full_rank(moments.n_columns) and moments.spread in ("thin", "thin class"):
            return True
        places = [k for k, _ in each(self.divisors(moments))]
        wild = any(scatter.out_of_reach(moments, k) for k in places)
        return wild or any(scatter.obstacles(moments, k) for k in places)

    def rule(self, moments: ClassMoments, g: float) -> Rule:
        """The rule of a shrinkage."""
        log_prior = logs_of_prior(self.prior)
        _, moments, covariances = self.scatter.at(g).estimate(moments, self.divisors(moments))
        if self.is_common:
            return gaussian.linear_rule(moments, covariances[0], log_prior)
        return gaussian.separate_plugin(moments, covariances, log_prior)

    def without(self, position: int, code: int) -> Floats:
        """Whether one row of the table is called another class by fits without it, for each shrinkage."""
        blocks, found = self.blocks, np.full(len(self.grid), np.nan)
        weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights.copy()
        weights[position] -= min(1.0, weights[position])
        moments = class_moments(blocks.with_weights(weights), self.moments.spread)
        row = blocks.rows_at(np.array([position]))
        for i, g in enumerate(self.grid):
            if not self.is_singular(moments, g):
                found[i] = self.rule(moments, g).scores(row)[0].argmax() != code
        return found


def shrinkage_path(task: ShrinkageTrials, *, sampled: bool) -> pd.DataFrame:
    """Leave-one-out errors by shrinkage; missing where a covariance is singular without some row.

    Parameters
    ----------
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    DataFrame
        shrinkage, error, se.

    Raises
    ------
    DataError
        A class has too few rows, or no shrinkage has a covariance without each row.
    """
    _refuse_few(task)
    singular = np.array([task.is_singular(task.moments, g) for g in task.grid])
    wrong = np.zeros((len(task.grid), task.moments.n_classes))
    divisors, log_prior = task.divisors(task.moments), logs_of_prior(task.prior)
    trial = task.scatter.trial(task.moments, divisors, log_prior)
    for rows, x, codes, weights in used_rows(task.blocks):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        found = missed(trial, x, codes, weights)
        # A row that makes up next to all variance leaves the closed form no digits.
        for j in np.flatnonzero(np.isnan(found[~singular]).any(axis=0)).tolist():
            found[:, j] = task.without(int(positions[j]), int(codes[j]))
        for i, own in enumerate(found):
            times = own if weights is None else own * weights
            wrong[i] += np.bincount(codes, times, minlength=wrong.shape[1])
    missing = singular | np.isnan(wrong).any(axis=1)
    if missing.all():
        raise DataError(
            f"No shrinkage of the grid {listed(task.grid)} has a covariance without each row: use a grid "
            "with more shrinkage."
        )
    wrong = np.where(missing[:, None], np.nan, wrong)
    return error_path("shrinkage", task.grid, wrong, task.moments.counts, task.prior, sampled=sampled)


def _refuse_few(task: ShrinkageTrials) -> None:
    least = 2 if task.is_common else 3
    few = np.flatnonzero(task.moments.counts < least)
    if len(few):
        label, rows = task.blocks.design.levels[few[0]], task.moments.counts[few[0]]
        raise DataError(
            f'shrinkage="loo": class {label!r} has {rows:g} row{"s" if rows != 1 else ""}, too few to leave '
            f'one out, which takes {least}: use shrinkage="oas" or a number, or merge the class with another.'
        )


def warn_of_units(
    moments: ClassMoments, terms: Sequence[str], what: str, way_out: str = "Pass standardize=True"
) -> None:
    """Warn where the units of the columns differ by much, so that a sphere is one of the widest of them."""
    sd, still = within_sd(moments), constant_within(moments)
    wide, narrow = int(np.argmax(sd)), int(np.argmin(sd))
    if sd[wide] > MUCH * sd[narrow]:
        deviations = [
            f"{terms[j]!r}, which is constant within classes, has a standard deviation of {sd[j]:.3g} over "
            "all rows"
            if still[j]
            else f"{terms[j]!r} has a standard deviation of {sd[j]:.3g} within classes"
            for j in (wide, narrow)
        ]
        warn_user(
            f"{what} is in the units of the columns, which differ by much: {deviations[0]}, and "
            f"{deviations[1]}. {way_out}, which divides each column by its own."
        )


def warn_where_units_differ(scatter: Scatter, moments: ClassMoments, terms: Sequence[str]) -> None:
    """Warn where a sphere is one of columns of very unlike units."""
    if scatter.compares_units:
        warn_of_units(moments, terms, f'The sphere of covariance="{scatter.word}"')
