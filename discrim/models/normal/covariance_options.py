"""What `covariance=`, `shrinkage=` and `grid=` ask for, and what the rows answer to it.

Covariances by an estimator of the user's own: an object with `fit(X)` and then `covariance_`.

That is what every estimator of `sklearn.covariance` is; nothing of scikit-learn is imported here.

Leave-one-out errors of the shrinkages of a grid, as the path of a choice among them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
import scipy

from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.units import constant_within, within_sd
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.core.scatter.correlation_shrinkage import (
    CorrelationPowers,
    VarianceShrinkage,
    correlation_powers,
    row_noise,
)
from discrim.core.scatter.covariance import Covariance, Dependency
from discrim.core.scatter.principal import one_scatter, principal
from discrim.core.scatter.shrinkage import (
    Chosen,
    Powers,
    Structure,
    column_powers,
    in_one_unit,
    is_none,
    ledoit_wolf,
    obstacles,
    out_of_reach,
    row_fourths,
    strimmer,
    turned_powers,
)
from discrim.core.scatter.shrinkage_choice import Trial, common_trial, diagonal_trial, missed, separate_trial
from discrim.errors import CollinearError, DataError, NotSupportedError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.rows import gathered_rows, repeated, used_rows
from discrim.models.fits.options import text_of
from discrim.models.fits.reading import check_word, class_moments, collinear_error, in_own_units, listed
from discrim.models.fits.refits import error_path, largest_as_good
from discrim.models.normal.factor import FactorAsked

ASYMMETRY = 1e-8
"""Difference of two mirrored entries, relative to the standard deviations, that is taken for rounding."""


class CovarianceEstimator(Protocol):
    """An object that is fitted to rows (n, p) and then has `covariance_` (p, p)."""

    def fit(self, rows: Any, /) -> Any:
        """Estimate the covariance of the rows."""


def estimated(
    estimator: Any, blocks: Blocks, moments: ClassMoments, *, common: bool
) -> tuple[Covariance, ...]:
    """Covariance of the rows less their class's means, or of those of each class, in z.

    Parameters
    ----------
    estimator : object with fit
        Copied before each fit, as scikit-learn's `clone` does where it has `get_params`.
    moments : ClassMoments
        For means and scale.
    common : bool
        One covariance for all classes, or one for each.

    Raises
    ------
    DataError
        The estimator cannot be fitted, has no `covariance_` then, or one of the wrong shape or with values
        that are not finite or not symmetric.
    CollinearError
        A covariance is not positive definite.
    NotSupportedError
        Weights that are not whole numbers of rows.
    """
    rows = gathered_rows(blocks)
    weights = None if blocks.weights is None else blocks.weights[rows.positions]
    if weights is not None and (weights != np.round(weights)).any():
        raise NotSupportedError(
            f"{text_of(estimator)} is fitted to rows: give weights that are whole numbers."
        )
    x, codes = from_class_means(moments, rows.x, rows.codes).T / moments.scale, rows.codes
    if weights is not None:
        x, codes = repeated(x, codes, weights)
    if common:
        return (_covariance(estimator, x, moments.scale, "of the rows less their class's means"),)
    return tuple(
        _covariance(estimator, x[codes == k], moments.scale, f"of class {label!r}")
        for k, label in enumerate(blocks.design.levels)
    )


def _covariance(estimator: Any, x: Floats, scale: Floats, where: str) -> Covariance:
    own, name = copied(estimator), text_of(estimator)
    try:
        own.fit(x)
    except (ValueError, ArithmeticError) as error:
        raise DataError(
            f"{name} cannot be fitted to the {len(x)} rows {where}: {error}. Use another estimator, or "
            "fewer columns."
        ) from error
    try:
        held = np.asarray(own.covariance_, dtype=np.float64)
    except AttributeError:
        raise DataError(
            f"{name} has no covariance_ after fit(X): pass an estimator of a covariance, as those of "
            "sklearn.covariance."
        ) from None
    except (TypeError, ValueError):
        raise DataError(
            f"The covariance_ {where} of {name} is no matrix of numbers: use another estimator."
        ) from None
    p = x.shape[1]
    if held.shape != (p, p):
        raise DataError(
            f"The covariance_ {where} of {name} has shape {held.shape}, where {p, p} is asked for: "
            "use another estimator."
        )
    if not np.isfinite(held).all():
        raise DataError(
            f"The covariance_ {where} of {name} holds a value that is not finite: use another "
            "estimator, or columns of another scale."
        )
    singular = CollinearError(
        f"The covariance_ {where} of {name} is not positive definite: use an estimator that regularizes, or "
        "fewer columns."
    )
    if not (np.diagonal(held) > 0).all():
        raise singular
    sd = np.sqrt(np.diagonal(held))
    correlation = held / sd / sd[:, None]
    if not np.allclose(correlation, correlation.T, rtol=0.0, atol=ASYMMETRY):
        raise DataError(f"The covariance_ {where} of {name} is not symmetric: use another estimator.")
    try:
        root = scipy.linalg.cholesky((correlation + correlation.T) / 2, check_finite=False)
    except np.linalg.LinAlgError:
        raise singular from None
    if np.diagonal(root).min() ** 2 <= p * np.finfo(np.float64).eps:
        raise singular
    return Covariance.from_root(root * (sd * scale))


def copied(value: Any) -> Any:
    """An estimator with the same parameters and no fit; of one without parameters, a deep copy."""
    if isinstance(value, type) or not callable(getattr(value, "get_params", None)):
        # A shallow copy shares what its fit changes in place, and so do the fits of all folds then.
        return copy.deepcopy(value)
    parameters = value.get_params(deep=False)
    return type(value)(**{name: _parameter(held) for name, held in parameters.items()})


def _parameter(value: Any) -> Any:
    return copied(value) if hasattr(value, "get_params") else copy.deepcopy(value)


RuleAt = Callable[[ClassMoments, float], Rule]
"""From moments and a shrinkage to a rule."""


@dataclass(frozen=True, slots=True)
class ShrinkageTrials:
    """What is tried on which rows.

    Attributes
    ----------
    structure : {"shrunk", "diagonal"}
    grid : tuple of float
        Shrinkages.
    divisors : (1,) or (K,) float
        Of one covariance for all classes, or of one for each.
    prior : (K,) float
    rule_at : callable
        From moments and a shrinkage to a rule, the prior held.
    """

    structure: Structure
    grid: tuple[float, ...]
    blocks: Blocks
    moments: ClassMoments
    divisors: Floats
    prior: Floats
    rule_at: RuleAt

    @property
    def is_common(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.divisors) == 1

    def trial(self) -> Trial:
        """Scores of rows under each shrinkage without themselves."""
        grid, log_prior = np.array(self.grid), logs_of_prior(self.prior)
        if self.structure == "diagonal":
            return diagonal_trial(self.moments, self.divisors, log_prior, grid)
        if self.is_common:
            return common_trial(self.moments, float(self.divisors[0]), log_prior, grid)
        return separate_trial(self.moments, self.divisors, log_prior, grid)

    def is_singular(self, moments: ClassMoments, g: float) -> bool:
        """Whether a shrinkage leaves a covariance of these moments singular."""
        if is_none(g, moments.n_columns) and moments.spread in ("thin", "thin class"):
            return True
        each: Sequence[int | None] = [None] if self.is_common else range(moments.n_classes)
        if self.structure == "diagonal":
            held = [one_scatter(moments, k) for k in each]
            if any(out_of_reach(own.squares[0], own.scale, g) for own in held):
                return True
        return any(obstacles(moments, self.structure, k, g) for k in each)

    def without(self, position: int, code: int) -> Floats:
        """Whether one row of the table is called another class by fits without it, for each shrinkage."""
        blocks, found = self.blocks, np.full(len(self.grid), np.nan)
        weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights.copy()
        weights[position] -= min(1.0, weights[position])
        moments = class_moments(blocks.with_weights(weights), self.moments.spread)
        for i, g in enumerate(self.grid):
            if self.is_singular(moments, g):
                continue
            found[i] = (
                self.rule_at(moments, g).scores(blocks.rows_at(np.array([position])))[0].argmax() != code
            )
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
    trial = task.trial()
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


GRID = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *(round(0.1 * i, 1) for i in range(1, 11)))
"""Shrinkages that are tried where no others are given."""

SPHERES = ("shrunk", "spherical", "factor")
"""Covariances that are drawn towards a sphere, or are one beyond a few axes."""

MUCH = 10.0
"""Ratio of standard deviations within classes beyond which units differ by much."""

_WORDS: dict[str, dict[str, Chosen]] = {
    "shrunk": {"oas": "oas", "ledoit-wolf": "ledoit-wolf", "loo": "loo"},
    "diagonal": {"strimmer": "strimmer", "loo": "loo"},
    "correlation": {"strimmer": "strimmer"},
}

_BY_DEFAULT = {"shrunk": "oas", "correlation": "strimmer"}


@dataclass(frozen=True, slots=True)
class Shrinking:
    """What a fit is to estimate its covariances as.

    Attributes
    ----------
    chosen : str or None
        How a shrinkage is chosen; None where there is none.
    value : float or None
        One that is given.
    grid : tuple of float
        Those that leave-one-out chooses from.
    estimator : object or None
        An estimator of the user's.
    standardize : bool
        Whether the sphere is one of columns over their standard deviations within classes.
    variances : float, "strimmer" or None
        Shrinkage of the variances beside shrunken correlations.
    factor : FactorAsked or None
        Which covariances of a few large variances.
    """

    structure: Structure
    chosen: Chosen | None = None
    value: float | None = None
    grid: tuple[float, ...] = ()
    estimator: Any = None
    standardize: bool = False
    variances: float | Literal["strimmer"] | None = None
    factor: FactorAsked | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether the covariances are no function of moments alone, so that a refit reads the rows."""
        by_rows = ("ledoit-wolf", "loo", "strimmer")
        return self.estimator is not None or self.chosen in by_rows or self.variances == "strimmer"

    def takes_full_rank(self, p: int) -> bool:
        """Whether the covariance of p columns exists for independent columns only."""
        nothing = self.value is not None and is_none(self.value, p)
        return self.structure == "full" or (self.structure in ("shrunk", "correlation") and nothing)

    def obstacles(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Columns for which no covariance exists, of class k or pooled, however it is chosen to be shrunk."""
        if self.structure == "diagonal" and self.chosen is not None and self.value is None:
            return obstacles(moments, self.structure, k, 1.0)
        # Of more columns than rows it is their number that is refused.
        thin = moments.spread in ("thin", "thin class")
        return obstacles(moments, self.structure, k, None if thin else self.value)


@dataclass(frozen=True, slots=True)
class RowEstimate:
    """What the rows say.

    Attributes
    ----------
    shrinkage : (1,) or (K,) float or None
        None where moments alone say it, or there is none.
    covariances : tuple of Covariance or None
        Of an estimator.
    path : DataFrame or None
        Of a choice by leave-one-out: shrinkage, error, se.
    variances : VarianceShrinkage or None
        Beside shrunken correlations.
    """

    shrinkage: Floats | None = None
    covariances: tuple[Covariance, ...] | None = None
    path: pd.DataFrame | None = None
    variances: VarianceShrinkage | None = None


def read_shrinking(
    covariance: Any, shrinkage: Any, grid: Any, method: str, words: tuple[str, ...]
) -> Shrinking:
    """What the keywords ask for.

    Parameters
    ----------
    words : tuple of str
        What `covariance` may be; the first of them is the full one.

    Raises
    ------
    DataError
        A word that is not known, a number outside [0, 1], or keywords that do not go together.
    """
    if not isinstance(covariance, str):
        return _of_estimator(covariance, shrinkage, grid, method, words)
    check_word("covariance", covariance, words)
    structure: Any = "full" if covariance == words[0] else covariance
    if shrinkage is None and structure not in _BY_DEFAULT:
        _refuse_grid(grid)
        return Shrinking(structure)
    if structure not in _WORDS:
        also = ', or "correlation" (towards none)' if "correlation" in words else ""
        raise DataError(
            f'shrinkage={shrinkage!r} goes with covariance="shrunk" (towards a sphere) or "diagonal" '
            f"(variances, towards their median){also}, and not with {covariance!r}: leave it out, or pass "
            "one of these."
        )
    known = _WORDS[structure]
    value: Any = _BY_DEFAULT[structure] if shrinkage is None else shrinkage
    if isinstance(value, str):
        if value not in known:
            raise DataError(
                f"shrinkage={value!r} is not known for covariance={covariance!r}: use one of "
                f"{listed(known)}, or a number from 0 to 1."
            )
        if value == "loo":
            return Shrinking(structure, "loo", grid=_grid(grid))
        _refuse_grid(grid)
        return Shrinking(structure, known[value])
    _refuse_grid(grid)
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise DataError(f"shrinkage={value!r}: give a number from 0 to 1, or one of {listed(known)}.")
    return Shrinking(structure, "given", float(value))


def with_units(asked: Shrinking, standardize: Any) -> Shrinking:
    """What is asked for, with the units that a sphere is meant in.

    Raises
    ------
    DataError
        It is no truth value, or there is no sphere.
    """
    if not isinstance(standardize, (bool, np.bool_)):
        raise DataError(f"standardize={standardize!r}: give True or False.")
    if standardize and asked.structure not in SPHERES:
        raise DataError(
            'standardize=True goes with covariance="shrunk" or "spherical", and in qda() with '
            '"factor": pass one of these, or leave it out.'
        )
    return replace(asked, standardize=bool(standardize))


def with_variances(asked: Shrinking, shrinkage: Any) -> Shrinking:
    """What is asked for, with the shrinkage of the variances beside shrunken correlations.

    Raises
    ------
    DataError
        It is no number from 0 to 1 and no known word, or there are no shrunken correlations.
    """
    if asked.structure != "correlation":
        if shrinkage is not None:
            raise DataError(
                'variance_shrinkage= goes with covariance="correlation": pass both, or leave it out. '
                'For covariance="diagonal" pass shrinkage=.'
            )
        return asked
    if shrinkage is None or (isinstance(shrinkage, str) and shrinkage == "strimmer"):
        return replace(asked, variances="strimmer")
    if (
        isinstance(shrinkage, (bool, str))
        or not isinstance(shrinkage, Real)
        or not 0 <= float(shrinkage) <= 1
    ):
        raise DataError(f'variance_shrinkage={shrinkage!r}: give a number from 0 to 1, or "strimmer".')
    return replace(asked, variances=float(shrinkage))


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


def warn_where_units_differ(asked: Shrinking, moments: ClassMoments, terms: Sequence[str]) -> None:
    """Warn where a sphere is one of columns of very unlike units."""
    if asked.structure in SPHERES and not asked.standardize and asked.value != 0:
        warn_of_units(moments, terms, f'The sphere of covariance="{asked.structure}"')


def _of_estimator(
    estimator: Any, shrinkage: Any, grid: Any, method: str, words: tuple[str, ...]
) -> Shrinking:
    if isinstance(estimator, type):
        raise DataError(
            f"covariance={estimator.__name__} is a class: pass an object of it, {estimator.__name__}()."
        )
    if not callable(getattr(estimator, "fit", None)):
        raise DataError(
            f"covariance={estimator!r} is not known: use one of {listed(words)}, or an estimator, an object "
            "with fit(X) and then covariance_."
        )
    if shrinkage is not None:
        raise DataError("shrinkage= does not go with an estimator, which has its own: leave one out.")
    _refuse_grid(grid)
    if method != "moment":
        raise DataError(
            f"method={method!r} does not go with an estimator, which has its own divisor: leave it out."
        )
    return Shrinking("estimator", estimator=estimator)


def _refuse_grid(grid: Any) -> None:
    if grid is not None:
        raise DataError('grid= is what shrinkage="loo" chooses from: pass both, or neither.')


def _grid(grid: Any) -> tuple[float, ...]:
    try:
        values = np.array(sorted(GRID if grid is None else set(grid)), dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"grid={grid!r}: give a list of numbers from 0 to 1.") from None
    bad = values[~((values >= 0) & (values <= 1))]
    if not len(values) or len(bad):
        more = f", and not {bad[0]:g}" if len(bad) else ", one or more"
        raise DataError(f"grid={grid!r}: give numbers from 0 to 1{more}.")
    return tuple(values.tolist())


def estimate(
    asked: Shrinking,
    blocks: Blocks,
    moments: ClassMoments,
    divisors: Floats,
    prior: Floats,
    rule_at: RuleAt,
    *,
    sampled: bool,
) -> RowEstimate:
    """Shrinkages, or covariances, of the rows.

    Parameters
    ----------
    blocks : Blocks
        The rows; read once more where moments are not enough.
    divisors : (1,) or (K,) float
        Of one covariance for all classes, or of one for each.
    prior : (K,) float
    rule_at : callable
        From other moments and a shrinkage to a rule, for a choice by leave-one-out.
    sampled : bool
        Whether the prior is the class proportions of the rows.

    Raises
    ------
    CollinearError
        A covariance that is singular stays so.
    DataError
        A class has too few rows to choose by leave-one-out, or an estimator has no covariance.
    """
    common, levels = len(divisors) == 1, blocks.design.levels
    if asked.standardize:
        blocks, moments = in_own_units(blocks, moments)
    each = [None] if common else list(range(moments.n_classes))
    comparable = in_one_unit(moments, asked.structure, 1.0)
    if asked.structure == "estimator":
        return RowEstimate(covariances=estimated(asked.estimator, blocks, moments, common=common))
    if asked.chosen == "loo":
        task = ShrinkageTrials(asked.structure, asked.grid, blocks, comparable, divisors, prior, rule_at)
        path = shrinkage_path(task, sampled=sampled)
        return RowEstimate(np.full(len(divisors), largest_as_good(path)), path=path)
    found = None
    if asked.value is not None:
        found = np.full(len(divisors), asked.value)
    elif asked.chosen == "ledoit-wolf":
        fourths = row_fourths(blocks, comparable, by_class=not common).tolist()
        found = np.array([ledoit_wolf(comparable, f, k) for f, k in zip(fourths, each, strict=True)])
    elif asked.chosen == "strimmer" and asked.structure == "diagonal":
        fourth = column_powers(blocks, comparable).fourths
        found = np.array([strimmer(comparable, fourth, k) for k in each])
    variances = None
    if asked.structure == "correlation":
        found, variances = _correlations(asked, blocks, moments, found)
    if found is not None:
        for k, g in zip(each, found.tolist(), strict=True):
            _refuse_singular(asked, moments, blocks.terms, g, k, None if k is None else levels[k])
    return RowEstimate(found, variances=variances)


def _correlations(
    asked: Shrinking, blocks: Blocks, moments: ClassMoments, given: Floats | None
) -> tuple[Floats, VarianceShrinkage]:
    """Shrinkages of correlations and of the variances beside them, in one pass where rows say them."""
    noise = row_noise(blocks, moments) if asked.needs_rows else None
    if noise is None or isinstance(asked.variances, float):
        variances = VarianceShrinkage(float(asked.variances or 0.0), "given")
    else:
        variances = VarianceShrinkage(noise.variances(moments), "strimmer")
    if given is None:
        given = np.array([1.0 if noise is None else noise.correlations(moments)])
    return given, variances


def _refuse_singular(
    asked: Shrinking, moments: ClassMoments, terms: Sequence[str], g: float, k: int | None, label: Any
) -> None:
    """Raise where a shrinkage leaves a covariance singular."""
    where = "within classes" if k is None else f"in class {label!r}"
    shrinks_nothing = is_none(g, moments.n_columns)
    free = moments.rows.sum() - moments.n_classes if k is None else moments.rows[k] - 1
    if asked.structure in ("shrunk", "correlation") and shrinks_nothing and free < moments.n_columns:
        authors = {"ledoit-wolf": "Ledoit & Wolf's", "strimmer": "Schaefer & Strimmer's"}
        said = f"{authors[asked.chosen]} shrinkage is 0" if asked.chosen in authors else f"shrinkage={g:g}"
        instead = ', or shrinkage="oas"' if asked.structure == "shrunk" else ""
        raise CollinearError(
            f"{said} {where}, which leaves the covariance of {len(terms)} columns ({listed(terms)}) "
            "singular: "
            f"there are {free} degrees of freedom. Pass a larger number{instead}."
        )
    if asked.structure == "diagonal":
        held = one_scatter(moments, k)
        if wild := out_of_reach(held.squares[0], held.scale, g):
            column, middle = (repr(terms[j]) for j in wild)
            raise DataError(
                f"A shrinkage of 1 gives each column the variance of the median {where}, that of "
                f"{middle}, and {column} varies so much more that its squared distances exceed double "
                "precision: give the columns in units of one size, as standardize() does, or pass a "
                "shrinkage below 1."
            )
    found = obstacles(moments, asked.structure, k, g)
    if found and shrinks_nothing:
        raise collinear_error(found, tuple(terms), where)
    if found:
        raise CollinearError(
            f"Half of the columns or more are constant {where} (first of them "
            f"{terms[found[0].column]!r}), so that the median of the variances is zero and shrinking "
            "towards it does not help: drop them."
        )


def powers_of(
    numbers: Any, blocks: Blocks, moments: ClassMoments, *, common: bool
) -> Powers | CorrelationPowers | list[Powers] | None:
    """What a closed form of leave-one-out takes beyond moments, where the shrinkage is one of noise."""
    chosen = numbers.chosen
    if numbers.structure == "correlation":
        by_rows = "strimmer" in (chosen, numbers.variance_chosen)
        return correlation_powers(blocks, numbers.by_column) if by_rows else None
    if chosen == "strimmer":
        return column_powers(blocks, moments)
    if chosen != "ledoit-wolf":
        return None
    k = moments.n_classes
    return turned_powers(
        blocks, moments, principal(moments) if common else [principal(moments, c) for c in range(k)]
    )
