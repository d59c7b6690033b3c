"""Principal axes within which normal classes are compared: choice of their number, and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import adjusted_model
from discrim.core.covariance.covariance import dependencies
from discrim.core.covariance.model import CovarianceModel
from discrim.core.covariance.projected import (
    Scores,
    SubspaceCovariance,
    missed_by_number,
    numbers_tried,
    refuse_anew,
    scores_by_number,
)
from discrim.core.covariance.sliced import SlicedAxes
from discrim.core.covariance.total_axes import TotalAxes
from discrim.core.errors import NoEstimateError, SingularEstimateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import logs_of_prior
from discrim.design.blocks import Blocks
from discrim.design.levels import indicator_design
from discrim.design.rows import used_codes, used_rows
from discrim.errors import CollinearError
from discrim.inference.error_rates import as_good
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.refits import error_path, held_path
from discrim.models.discriminant.covariance_models import describe
from discrim.models.evaluation import validation
from discrim.models.evaluation.tuning import TuningFolds, judged_rows, refuse_lone_classes
from discrim.models.moments.sample import NeedsRows


def refuse_collinear_total(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: tuple[str, ...]
) -> None:
    """Raise an error if axes are computed from a total covariance that is singular."""
    subspace = covariance_model.subspace
    if subspace is None or not subspace.is_supervised:
        return
    rows = int(moments.rows.sum())
    p = moments.n_columns
    if rows <= p or moments.spread != "class":
        raise SingularEstimateError("singular_total", n_rows=rows, n_columns=p)
    if found := dependencies(moments.as_one(), 0):
        instead = "pass components= for principal axes"
        raise reading.collinear_error(found, terms, "over all rows", instead=instead)


def reason_to_need_rows(components: object) -> NeedsRows:
    """Return the reason that a number of axes cannot be chosen from moments."""
    return NeedsRows(
        f"components={components!r} chooses the number of axes by the rows.",
        "Give a number, or a proportion such as 0.9",
    )


FOLDS = 10
SEED = 0
"""Folds by which a number of axes is chosen, and what deals the rows to them, in each call alike."""

AT_ONCE = 2**22
"""Scores of all numbers of axes, classes and rows that are held together."""


@dataclass(frozen=True, slots=True, eq=False)
class AxesChoice:
    """Candidates for the number of principal axes, and the rows that choose among them.

    Attributes
    ----------
    covariance_model : SubspaceCovariance
    blocks : Blocks
    moments : ClassMoments
        Moments of these rows.
    divisors : callable
        Returns the divisors of the covariances, (1,) or (K,), from moments.
    prior : (K,) float
    """

    covariance_model: SubspaceCovariance
    blocks: Blocks
    moments: ClassMoments
    divisors: Callable[[ClassMoments], Floats]
    prior: Floats

    def numbers(self, most: int) -> Codes:
        """Return the candidate numbers, up to `most`."""
        if most < 1:
            raise CollinearError(
                "The rows that are left to learn from have no covariance within classes on one principal "
                "axis.",
                hint='Give more rows, or covariance="spherical" and a number of components.',
                options={"covariance": "spherical"},
            )
        return np.arange(1, most + 1) if self.covariance_model.inner.traits.is_full else numbers_tried(most)

    def most(self, moments: ClassMoments, rank: int, out: int = 0) -> int:
        """Return the largest number of axes whose scores have covariances without `out` of the rows."""
        if not self.covariance_model.inner.requires_full_rank(rank):
            return rank
        common = len(self.divisors(self.moments)) == 1
        rows = moments.rows - out
        free = int(moments.rows.sum()) - out - moments.n_classes if common else int(rows.min()) - 1
        return min(rank, free)

    def missed(
        self, scores: Scores, moments: ClassMoments, rows: tuple[Floats, Codes, Floats | None], numbers: Codes
    ) -> Floats:
        """Return the misclassified rows (G, K) by number of axes and class.

        Parameters
        ----------
        scores : Scores
            Moments of the scores on all axes.
        moments : ClassMoments
        rows : (y, codes, weights)
            Scores (m, q) of the rows on all axes, their classes (m,) and their weights (m,) or None.
        numbers : (G,) int
            Candidate numbers.
        """
        y, codes, weights = rows
        divisors = self.divisors(moments)
        log_prior = logs_of_prior(self.prior)
        found = np.zeros((len(numbers), len(log_prior)))
        step = max(AT_ONCE // (len(numbers) * len(log_prior)), 1024)
        for start in range(0, len(y), step):
            at = slice(start, start + step)
            told = scores_by_number(
                self.covariance_model, scores.moments, divisors, log_prior, y[at], numbers
            )
            found += missed_by_number(told, codes[at], None if weights is None else weights[at])
        return found


def choose_axes(choice: AxesChoice, *, sampled: bool) -> tuple[SubspaceCovariance, pd.DataFrame]:
    """Choose the smallest number of axes with the least error.

    The axes are computed again without each fold or row.

    Parameters
    ----------
    choice : AxesChoice
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    SubspaceCovariance
        The covariance model with this number of axes.
    DataFrame
        components, error, se, and share, which is the share of the variance along the axes.
    """
    refuse_lone_classes(choice.moments, choice.blocks.design.levels, "components=")
    spectrum = choice.covariance_model.spectrum(choice.moments)
    by = _by_leaving_out if choice.covariance_model.wanted == "loo" else _by_folds
    numbers, wrong, rows = by(choice, spectrum)
    path = error_path("components", numbers, wrong, rows, choice.prior, sampled=sampled)
    path["share"] = np.cumsum(spectrum.lengths)[numbers - 1]
    errors = path["error"].to_numpy()
    if np.isnan(errors).all():
        raise CollinearError(
            "No number of principal axes has a rule without every fold or row.",
            hint='Give components= a number, or covariance="shrunk".',
            options={"covariance": "shrunk"},
        )
    return choice.covariance_model.with_count(int(numbers[as_good(errors)].min())), path


def _by_folds(choice: AxesChoice, spectrum: TotalAxes) -> tuple[Codes, Floats, Floats]:
    """Return candidates (G,), misclassified rows (G, K) and rows (K,), by axes without each fold."""
    blocks = choice.blocks
    k = choice.moments.n_classes
    used = int((used_codes(blocks) >= 0).sum())
    folds = TuningFolds.read(min(FOLDS, used), SEED, blocks)
    parts, judged = folds.training_moments(blocks, choice.moments.spread, rooted=False)
    learnt = [(part, choice.covariance_model.spectrum(part)) for part in parts]
    most = min(choice.most(part, len(own.lengths)) for part, own in learnt)
    numbers = choice.numbers(most)
    scores = [Scores.of(part, own, most) for part, own in learnt]
    wrong = np.zeros((len(numbers), k))
    rows = np.zeros(k)
    with Progress(blocks.table.nrows * folds.count, "choice of components") as progress:
        for fold, x, codes, times in judged_rows(blocks, judged, progress):
            own = scores[fold].of_rows(x), codes, times
            wrong += choice.missed(scores[fold], learnt[fold][0], own, numbers)
            rows += np.bincount(codes, times, minlength=k)
    return numbers, wrong, rows


def _by_leaving_out(choice: AxesChoice, spectrum: TotalAxes) -> tuple[Codes, Floats, Floats]:
    """Return the same as `_by_folds`, with axes computed without each row."""
    moments = choice.moments
    rank = len(spectrum.lengths)
    if not choice.covariance_model.learns_anew(moments, rank):
        raise refuse_anew('components="loo"', moments)
    most = choice.most(moments, min(rank, int(moments.rows.sum()) - 2), out=1)
    numbers = choice.numbers(most)
    without = choice.covariance_model.without(moments, spectrum)
    covariance_model = choice.covariance_model
    log_prior = logs_of_prior(choice.prior)
    divisors = choice.divisors(moments)
    wrong = np.zeros((len(numbers), moments.n_classes))
    for rows, x, codes, weights in used_rows(choice.blocks):
        mass = np.ones(len(codes)) if weights is None else weights
        positions = validation.positions_of(rows).tolist()
        for i, row in enumerate(without.rows(x, codes, weights)):
            told = np.full((len(numbers), 1, len(log_prior)), np.nan)
            there = numbers[: 0 if row is None else int((numbers <= row.rank).sum())]
            if row is not None and len(there):
                scores = row.scores(int(there[-1]))
                how = scores.moments, row.divisors(divisors), log_prior, scores.of_rows(row.y), there
                told[: len(there)] = scores_by_number(covariance_model, *how, row.noise)
                told = row.settled(told)
            if np.isnan(told).any():
                told = _refitted(choice, positions[i], x[i : i + 1], numbers)
            wrong += missed_by_number(told, codes[i : i + 1], mass[i : i + 1])
    return numbers, wrong, moments.counts


def _refitted(choice: AxesChoice, position: int, x: Floats, numbers: Codes) -> Floats:
    """Compute scores of a row by each number of axes, from the moments of the other rows.

    Parameters
    ----------
    position : int
        Position of the row in the table.
    x : (1, p) float
        The row.
    numbers : (G,) int
        Numbers of axes.

    Returns
    -------
    (G, 1, K) float
        NaN if there is no rule.
    """
    blocks = choice.blocks
    weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights.copy()
    weights[position] -= min(1.0, weights[position])
    moments = reading.class_moments(blocks.with_weights(weights), choice.moments.spread)
    spectrum = choice.covariance_model.spectrum(moments)
    log_prior = logs_of_prior(choice.prior)
    found = np.full((len(numbers), 1, len(log_prior)), np.nan)
    there = numbers[numbers <= len(spectrum.lengths)]
    if len(there):
        scores = Scores.of(moments, spectrum, int(there[-1]))
        how = scores.moments, choice.divisors(moments), log_prior, scores.of_rows(x), there
        found[: len(there)] = scores_by_number(choice.covariance_model, *how)
    return found


LEAST_LENGTH = 1e-8
"""Share of the longest axis's variance from which on products of the columns have the digits of an axis."""


def with_digits(covariance_model: CovarianceModel, blocks: Blocks, moments: ClassMoments) -> ClassMoments:
    """Return moments with roots of the rows if the scatter has no digits for some axis."""
    subspace = covariance_model.subspace
    if subspace is None or moments.roots is not None or not blocks.table.nrows:
        return moments
    spectrum = subspace.spectrum(moments)
    lengths = spectrum.lengths
    try:
        count = 1 if subspace.needs_rows else subspace.number(spectrum)
    except NoEstimateError:
        count = len(lengths)
    short = count == len(lengths) or lengths[count - 1] < LEAST_LENGTH * lengths[0]
    return reading.class_moments(blocks, moments.spread) if short else moments


def with_level_indicators(blocks: Blocks) -> tuple[Blocks, frozenset[str]]:
    """Return blocks with an indicator of each level, and the names of these columns."""
    design, names = indicator_design(blocks.design)
    return replace(blocks, design=design), names


def recode(fit: FittedModel[Any], blocks: Blocks) -> tuple[FittedModel[Any], Blocks]:
    """Return fit and blocks of a design that has lost levels, with its own indicators or covariates."""
    covariance_model: CovarianceModel = fit.estimates.covariance_model
    subspace = covariance_model.subspace
    if subspace is not None and subspace.indicators is not None:
        blocks, names = with_level_indicators(blocks)
        covariance_model = replace(subspace, indicators=tuple(term in names for term in blocks.terms))
    elif covariance_model.covariates:
        covariance_model = adjusted_model(blocks.covariates)
    return replace(fit, estimates=replace(fit.estimates, covariance_model=covariance_model)), blocks


def with_indicators(
    covariance_model: CovarianceModel, blocks: Blocks, moments: ClassMoments, names: frozenset[str] | None
) -> tuple[CovarianceModel, ClassMoments]:
    """Return the model, with axes of correspondence for indicators, and moments with enough digits."""
    subspace = covariance_model.subspace
    if names is not None and subspace is not None:
        which = tuple(term in names for term in blocks.terms)
        covariance_model = replace(subspace, standardized=True, indicators=which)
    return covariance_model, with_digits(covariance_model, blocks, moments)


class Subspace(FitComponent):
    """Principal axes within which the classes are compared.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> subspace = lda("species ~ .", load_iris(), components=2).subspace
    >>> subspace.n_components, subspace.shares.round(3).to_dict()
    (2, {'PC1': 0.925, 'PC2': 0.053})
    """

    @property
    def _kind(self) -> SubspaceCovariance:
        covariance_model: SubspaceCovariance = self._fit.estimates.within_axes
        return covariance_model

    def _scores(self) -> Scores:
        cache = self._fit.cache
        if "principal axes" not in cache:
            cache["principal axes"] = self._kind.scores(self._fit.estimates.moments)
        scores: Scores = cache["principal axes"]
        return scores

    @property
    def n_components(self) -> int:
        """Number of axes."""
        return len(self._scores().axes)

    def _names(self) -> pd.Index:
        return pd.Index([f"{describe(self._kind).axis_name}{i + 1}" for i in range(self.n_components)])

    @property
    def shares(self) -> pd.Series:
        """Share of the variance of all columns that each axis has."""
        shares = self._scores().spectrum.lengths[: self.n_components]
        return pd.Series(shares.copy(), index=self._names(), name="share")

    @property
    def loadings(self) -> pd.DataFrame:
        """Axes in the columns: vectors of length one, of standardized columns if these are compared."""
        scores = self._scores()
        axes = scores.spectrum.loadings(scores.scale)[: self.n_components]
        return pd.DataFrame(axes.T, index=self._fit.terms, columns=self._names())

    @property
    @available_if()
    @displayed(se="share", share="share")
    def path(self) -> pd.DataFrame:
        """Errors of each number of axes: components, error, se, share.

        The axes are computed again without each fold ("cv") or row ("loo"); the share is that of the variance
        that they have. The choice has the least error and, of equal errors, the fewest axes. An error is
        missing if a covariance is singular without some fold or row, or if distances exceed double precision.
        """
        why = 'which is that of components="cv" or "loo", and not of a loaded fit'
        return held_path(self._fit, why, 'fit with components="cv"', "components")


class CorrespondenceSubspace(Subspace):
    """Axes of multiple correspondence analysis within which the classes are compared.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_penguins
    >>> from discrim.subspace import MultipleCorrespondence
    >>> fit = lda("species ~ island + sex", load_penguins(), components=MultipleCorrespondence(2))
    >>> fit.subspace.eigenvalues.round(3).tolist()
    [0.507, 0.5]
    >>> fit.subspace.level_coordinates().round(2).loc["island[Dream]"].tolist()
    [0.37, 0.05, 1.3]
    """

    def _indicators(self) -> Mask:
        return np.array(self._kind.indicators)

    def _variances(self) -> tuple[Floats, Floats]:
        """Return the share (p,) of the rows that each indicator has, and the variances along the axes."""
        which = self._indicators()
        moments = self._fit.estimates.moments
        share = np.where(which, moments.counts @ moments.class_means / moments.total, 0.0)
        total = (1.0 - share).sum()
        return share, total * self._scores().spectrum.lengths[: self.n_components]

    @property
    def eigenvalues(self) -> pd.Series:
        """Eigenvalues of the axes.

        With columns of numbers they are those of factor analysis of mixed data divided by the number of
        columns.
        """
        share, variances = self._variances()
        # The shares of the levels of each categorical column sum to one.
        columns = share.sum() + (~self._indicators()).sum()
        return pd.Series(variances / columns, index=self._names(), name="eigenvalue")

    @displayed(share="share")
    def level_coordinates(self) -> pd.DataFrame:
        """Where each level lies on the axes.

        Returns
        -------
        DataFrame by level
            share, that of the rows which have the level, and PC1, PC2, ...: principal coordinates, that is,
            the mean of the rows with the level, on the axis over its standard deviation. Squares of
            `loadings` are the contributions of levels to an axis.
        """
        which = self._indicators()
        share, variances = self._variances()
        places = self.loadings.to_numpy()[which] * np.sqrt(variances) / np.sqrt(share[which])[:, None]
        table = pd.DataFrame(places, index=self._fit.terms[which], columns=self._names())
        table.insert(0, "share", share[which])
        return table.rename_axis("level")


class SlicedSubspace(Subspace):
    """Axes of sliced average variance estimation on which the classes are compared, of `qda(ncomp=)`.

    The `loadings` are directions in the units of the columns, along which all rows have a variance of one
    (divisor N) and are uncorrelated. The `shares` are shares of the sum of all eigenvalues.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.datasets import load_iris
    >>> qda("species ~ .", load_iris(), ncomp=2).subspace.eigenvalues.round(3).tolist()
    [0.948, 0.739, 0.082, 0.049]
    """

    def _spectrum(self) -> SlicedAxes:
        return cast("SlicedAxes", self._scores().spectrum)

    @property
    def eigenvalues(self) -> pd.Series:
        """All eigenvalues, one for each column."""
        lengths = self._spectrum().eigenvalues
        index = pd.Index([f"{describe(self._kind).axis_name}{i + 1}" for i in range(len(lengths))])
        return pd.Series(lengths.copy(), index=index, name="eigenvalue")

    def _covariances(self) -> dict[Any, pd.DataFrame]:
        """Return the covariance of the scores in each class."""
        spectrum = self._spectrum()
        names = self._names()
        values = [spectrum.covariance_of(c, len(names)) for c in self._fit.estimates.covariances]
        frames = [pd.DataFrame(each, index=names, columns=names) for each in values]
        return dict(zip(self._fit.classes, frames, strict=True))


def subspace_of(fit: FittedModel[Any]) -> Subspace | None:
    """Return the axes of a fit within which the classes are compared; None if these are all columns."""
    subspace = fit.estimates.within_axes
    if subspace is None:
        return None
    if subspace.is_supervised:
        return SlicedSubspace(fit)
    return Subspace(fit) if subspace.indicators is None else CorrespondenceSubspace(fit)
