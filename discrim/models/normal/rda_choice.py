"""The choice of how much to regularize: by folds whose moments are merged, or by leaving each row out.

Folds hold the rows of one fold at a time, and for each pair and fold its errors by class. Leave-one-out reads
the rows once for each group of pairs that share their decompositions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, Spread
from discrim.core.normal.few_rows import Span
from discrim.core.normal.leave_one_out_rda import left_out_groups
from discrim.core.normal.rda import RDAFit, fit_rda, needs_roots, too_few
from discrim.core.normal.rda_path import PathRule, path_rules, wrong_by_class
from discrim.core.normal.regularized_scatters import Pair, Parametrization
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks, of_arrays
from discrim.frame.used_rows import used_codes, used_rows
from discrim.inference.folds import check_folds, dealt_codes
from discrim.inference.rates_along import TIE, as_good, rates_along
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit
from discrim.models.fits.fold_moments import moment_folds
from discrim.models.fits.reading import class_moments, in_own_units
from discrim.models.judging.splits import Split, split_moments, used_splits

__all__ = ["Choice", "choose", "chosen_by"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

AT_ONCE = 2**22
"""Numbers of a table up to which its rows are read once for all folds."""

CHOICE = "choice of alpha and gamma"
"""What the progress bar says."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How a pair is chosen.

    Attributes
    ----------
    pairs : list of Pair
    cv : int, "loo" or None
        Folds, or how many splits; None where the only pair is given.
    seed : int or None
    select : {"min", "1se"}
    parametrization : {"esl", "friedman", "klar"}
    method : {"moment", "mle"}
    prior : (K,) float
    estimated_prior : bool
    columns : int, optional
        Columns of the data where the rows are coordinates of fewer.
    splits : tuple of Split
        Those given in the place of folds, of the rows of the table.
    standardize : bool
        Whether the ridge is one of columns over their standard deviations within classes, of all rows that
        the choice is made from.
    """

    pairs: list[Pair]
    cv: Any
    seed: int | None
    select: str
    parametrization: Parametrization
    method: str
    prior: Floats
    estimated_prior: bool
    columns: int | None = None
    splits: tuple[Split, ...] = ()
    standardize: bool = False

    @property
    def log_prior(self) -> Floats:
        """Of the classes (K,), minus infinity for a prior of zero."""
        return logs_of_prior(self.prior)

    @property
    def rooted(self) -> bool:
        """Whether the choice wants roots of all rows where their digits ask for it; folds see to theirs."""
        return self.cv in (None, "loo") and needs_roots(self.pairs, self.parametrization)

    def rules(
        self,
        moments: ClassMoments,
        pairs: list[Pair],
        with_roots: Callable[[], ClassMoments] | None = None,
    ) -> Iterator[PathRule]:
        """The rules of pairs by moments, as of `path_rules`."""
        how = self.parametrization, self.method, self.log_prior, self.columns
        return path_rules(moments, pairs, *how, with_roots)

    def fit(self, moments: ClassMoments, pair: Pair) -> RDAFit:
        """The fit of a pair to moments."""
        return fit_rda(
            moments,
            self.prior,
            alpha=pair.alpha,
            gamma=pair.gamma,
            parametrization=self.parametrization,
            method=self.method,
            estimated_prior=self.estimated_prior,
            cv=self.cv,
            select=self.select,
            standardize=self.standardize,
        )

    def chosen(self, blocks: Blocks, moments: ClassMoments) -> tuple[RDAFit, pd.DataFrame]:
        """The fit of the pair that is chosen, and the path, as of `choose`."""
        pair, path = choose(blocks, moments, self)
        if moments.roots is None and needs_roots([pair], self.parametrization):
            moments = class_moments(blocks, moments.spread)
        return self.fit(moments, pair), path

    def refit(self, blocks: Blocks, spread: Spread) -> RDAFit | None:
        """The fit of the pair that other weights of the rows choose, the prior held; None where none is."""
        moments = class_moments(blocks, spread, rooted=self.rooted)
        if too_few(moments):
            return None
        try:
            fit, _ = self.chosen(blocks, moments)
        except (CollinearError, DataError):
            return None
        return None if fit.singular() else fit

    def simplicity(self, pair: Pair) -> tuple[float, float]:
        """Smaller for a simpler pair: of the smaller alpha, then of more ridge."""
        return pair.alpha, pair.gamma if self.parametrization == "esl" else -pair.gamma


def choose(blocks: Blocks, moments: ClassMoments, plan: Choice) -> tuple[Pair, pd.DataFrame]:
    """The pair chosen, and the path: alpha, gamma, error, se (missing where a rule is singular).

    By folds, the error of a pair is the mean over folds of the rate of wrong rows, each class weighted by its
    prior, and its standard error that of the mean; by leave-one-out, both are those of
    `discrim.inference.error_rates.counted`.

    Raises
    ------
    DataError
        Folds that are too many or too few.
    CollinearError
        No pair has a rule without every fold or row.
    """
    if plan.standardize:
        blocks, moments = in_own_units(blocks, moments)
        plan = replace(plan, standardize=False)
    if moments.spread == "thin class":
        span, splits = Span.of(moments), used_splits(plan.splits, blocks)
        plan = replace(plan, columns=span.columns, splits=splits)
        blocks, moments = _in(span, blocks), span.moments
    errors, spread = _left_out(blocks, moments, plan) if plan.cv == "loo" else _folds(blocks, plan)
    path = pd.DataFrame(plan.pairs, columns=["alpha", "gamma"]).assign(error=errors, se=spread)
    if np.isnan(errors).all():
        raise CollinearError(
            "No pair of the grid has a rule without every fold or row: the covariance of a class is "
            "singular. Use a grid with more ridge or an alpha below 1, or more folds."
        )
    slack = max(spread[np.nanargmin(errors)], TIE) if plan.select == "1se" else TIE
    good = [plan.pairs[i] for i in np.flatnonzero(as_good(errors, slack)).tolist()]
    return min(good, key=plan.simplicity), path


def _in(span: Span, blocks: Blocks) -> Blocks:
    """The rows that a fit uses in coordinates of their span."""
    parts = [(span.coordinates(x), codes, weights) for _, x, codes, weights in used_rows(blocks)]
    y, codes = (np.concatenate([part[j] for part in parts]) for j in range(2))
    weights = None if blocks.weights is None else np.concatenate([held for _, _, held in parts])
    return of_arrays(y, codes, blocks.design.levels, weights)


def _folds(blocks: Blocks, plan: Choice) -> tuple[Floats, Floats]:
    """Errors and standard errors of the pairs by folds."""
    k = len(plan.prior)
    if not plan.splits:
        check_folds(plan.cv, int((used_codes(blocks) >= 0).sum()))
    wrong = np.full((len(plan.pairs), plan.cv, k), np.nan)
    total = np.zeros((plan.cv, k))
    with late_bar(plan.cv * len(plan.pairs), CHOICE) as tell:
        for fold, part in enumerate(_parts(blocks, plan)):
            few = too_few(part.moments)
            if few:
                _refuse_few(part, few, fold, blocks, plan)
            total[fold] = np.bincount(part.codes, part.weights, minlength=k)
            for rule in plan.rules(part.moments, plan.pairs, part.with_roots):
                wrong[rule.pairs, fold] = wrong_by_class(rule, part.x, part.codes, part.weights)
                tell(len(rule.pairs))
    # A class that is not in a fold has no part in its rate.
    there = total > 0
    share = np.where(there, plan.prior, 0.0) / np.where(there, total, 1.0)
    whole = np.where(there, plan.prior, 0.0).sum(axis=1)
    counts = whole > 0
    if not counts.any():
        raise DataError("No row is left to judge pairs by: give splits that judge more of them.")
    rates = (wrong * share).sum(axis=2)[:, counts] / whole[counts]
    if rates.shape[1] < 2:
        # One split says nothing of how much its rate varies.
        return rates.mean(axis=1), np.full(len(rates), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return rates.mean(axis=1), rates.std(axis=1, ddof=1) / np.sqrt(counts.sum())


def _refuse_few(part: _Part, few: list[int], fold: int, blocks: Blocks, plan: Choice) -> NoReturn:
    what, instead = (
        (f"Split {fold + 1} of folds has", "give it two to learn from")
        if plan.splits
        else (f"folds={plan.cv} leaves", 'use more folds or folds="loo"')
    )
    # Of two rows one is learnt from at the most, whatever the folds are.
    enough = (part.moments.rows + np.bincount(part.codes, minlength=len(plan.prior)))[few] > 2
    instead = f"{instead}, " if plan.splits or enough.all() else ""
    raise DataError(
        f"{what} no more than one row of class {listed(blocks.design.levels[c] for c in few)} to learn from: "
        f"{instead}merge the class with another one, or give alpha= and gamma=."
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """One fold or split.

    Attributes
    ----------
    moments : ClassMoments
        Of the rows to learn from, without roots.
    with_roots : callable
        Gives them with roots, where digits ask for these.
    x : (m, p) float
        Rows to judge.
    codes : (m,) int
    weights : (m,) float or None
    """

    moments: ClassMoments
    with_roots: Callable[[], ClassMoments]
    x: Floats
    codes: Codes
    weights: Floats | None


def _parts(blocks: Blocks, plan: Choice) -> Iterator[_Part]:
    if plan.splits:
        held = split_moments(blocks, plan.splits, "class", rooted=False)
        for moments, split in zip(held, plan.splits, strict=True):
            alone = split_moments(blocks, [split], "class")
            yield _Part(moments, partial(next, alone), *_judged_rows(blocks, split.test))
        return
    dealt = dealt_codes(used_codes(blocks), plan.cv, plan.seed)
    outside = moment_folds(blocks, dealt, plan.cv, "class", rooted=False)
    rooted = cache(partial(moment_folds, blocks, dealt, plan.cv, "class"))
    again = [partial(lambda fold: rooted()[fold], fold) for fold in range(plan.cv)]
    if blocks.table.nrows * len(blocks.terms) > AT_ONCE:
        for fold, moments in enumerate(outside):
            yield _Part(moments, again[fold], *_judged_rows(blocks, (dealt == fold).astype(np.float64)))
        return
    x, codes, weights = _judged_rows(blocks, np.ones(len(dealt)))
    fold_of = dealt[dealt >= 0]
    for fold, moments in enumerate(outside):
        at = np.flatnonzero(fold_of == fold)
        judged = np.take(x.T, at, axis=1).T
        yield _Part(moments, again[fold], judged, codes[at], None if weights is None else weights[at])


def _judged_rows(blocks: Blocks, judged: Floats) -> tuple[Floats, Codes, Floats | None]:
    """The rows that are judged, so many times (n,) each: x (m, p), codes and weights (m,)."""
    columns, codes, weights = [], [], []
    repeated = judged.max() > 1
    for rows, x, own, times in used_rows(blocks):
        at = np.flatnonzero(judged[rows])
        columns.append(np.take(x.T, at, axis=1))
        codes.append(own[at])
        if times is not None or repeated:
            weights.append((1.0 if times is None else times[at]) * judged[rows][at])
    held = np.concatenate(weights) if weights else None
    return np.concatenate(columns, axis=1).T, np.concatenate(codes), held


def _left_out(blocks: Blocks, moments: ClassMoments, plan: Choice) -> tuple[Floats, Floats]:
    """Errors and standard errors of the pairs by leave-one-out."""
    k = len(plan.prior)
    few = [blocks.design.levels[c] for c in np.flatnonzero(moments.counts <= 2)]
    if few:
        raise DataError(
            f'folds="loo" leaves no more than one row of class {listed(few)} without one of its '
            "rows: merge the class with another one, or give alpha= and gamma=."
        )
    regular = np.sort(np.concatenate([[], *(rule.pairs for rule in plan.rules(moments, plan.pairs))]))
    regular = regular.astype(np.intp)
    pairs = [plan.pairs[i] for i in regular]
    wrong = np.full((len(plan.pairs), k), np.nan)
    wrong[regular] = 0.0
    again: dict[int, list[int]] = {}
    groups = left_out_groups(moments, pairs, plan.parametrization, plan.method, plan.log_prior, plan.columns)
    with late_bar(len(pairs), CHOICE) as tell:
        for group in groups:
            which = regular[group.positions]
            for rows, x, codes, weights in used_rows(blocks):
                positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
                for i, scores in zip(which.tolist(), group.scores(x, codes, weights), strict=True):
                    labels = best_class(scores.T)
                    missed = (labels != codes) & (labels >= 0)
                    times = missed if weights is None else missed * weights
                    wrong[i] += np.bincount(codes, times, minlength=k)
                    for row in positions[labels < 0].tolist():
                        again.setdefault(row, []).append(i)
            tell(len(which))
    _refit(blocks, plan, again, wrong)
    return rates_along(wrong, moments.counts, plan.prior, sampled=plan.estimated_prior)


def _refit(blocks: Blocks, plan: Choice, again: dict[int, list[int]], wrong: Floats) -> None:
    """Add to the wrong rows (G, K) of pairs those that have to be fitted without a row."""
    weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights
    with late_bar(len(again), "refits without a row") as tell:
        for row, which in again.items():
            tell(1)
            code, own = int(blocks.codes[row]), float(weights[row])
            left = [i for i in which if not np.isnan(wrong[i, 0])]
            if not left:
                continue
            without = weights.copy()
            without[row] -= min(1.0, own)
            moments = class_moments(replace(blocks, held_weights=without), "class", rooted=plan.rooted)
            missed = np.full((len(left), len(plan.prior)), np.nan)
            x = blocks.rows_at(np.array([row]))
            for rule in plan.rules(moments, [plan.pairs[i] for i in left]):
                missed[rule.pairs] = wrong_by_class(rule, x, np.array([code]), np.array([own]))
            wrong[left] += missed


def chosen_by(fit: Fit[RDAFit]) -> str:
    """How alpha and gamma were, in words."""
    cv = fit.numbers.cv
    if cv is None:
        return "given"
    plan = fit.refits.asked
    if plan is not None and plan.splits:
        held = ", prior held" if fit.numbers.estimated_prior else ""
        return f"{cv} splits that were given{held}"
    return "leave-one-out" if cv == "loo" else f"{cv}-fold cross-validation"
