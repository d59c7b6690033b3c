"""How many components there are: what may be asked for, what folds choose, and what permutations say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn, Self

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.projections import pls as core
from discrim.core.projections.pls import Indicators, PLSFit
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.design.blocks import Blocks
from discrim.design.rows import repeated, used_codes, weighted_rows
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.inference import resampling
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import SelectRule
from discrim.models.base.refits import error_path
from discrim.models.evaluation import validation
from discrim.models.evaluation.tuning import (
    GridSearch,
    TuningFolds,
    judged_rows,
    read_choice,
    refuse_lone_classes,
    refuse_none_judged,
)
from discrim.subspace import OrthogonalPLS, PLSSpecification, SparsePLS, read_algorithm

Algorithm = Literal["nipals", "simpls"]
"""Algorithms with a word."""

Scaled = Literal["columns", "indicators"]
"""What alone is scaled."""

SCALED: dict[Any, tuple[bool, Indicators]] = {
    True: (True, "scaled"),
    "columns": (True, "centred"),
    "indicators": (False, "scaled"),
    False: (False, "centred"),
}
"""Whether columns and indicators are divided by their standard deviations, by the values of `scale=`."""


def read_scale(scale: Any) -> tuple[bool, Indicators]:
    """Return whether the columns are scaled, and how the indicators are taken."""
    if not isinstance(scale, str | bool | np.bool_) or scale not in SCALED:
        raise DataError(
            f"scale={reading.told(scale)} is not valid.", hint="Give True, False, 'columns' or 'indicators'."
        )
    return SCALED[scale]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentPlan:
    """Which components are found, and how many of them.

    Attributes
    ----------
    algorithm : {"nipals", "simpls"}, PLSSpecification or regression
        How they are found.
    ncomp : int, optional
        Number of components that was given, of a fit with orthogonal components that of predictive ones.
    orthogonal : int, optional
        Number of orthogonal components that was given.
    columns : tuple of int
        Numbers of columns that the components may use, one for all or one for each; empty for no limit.
    is_chosen : bool
        Whether folds choose the number of components, or of orthogonal components.
    select : {"min", "1se"}
        The rule of that choice.
    """

    algorithm: Any
    ncomp: int | None
    orthogonal: int | None
    columns: tuple[int, ...]
    is_chosen: bool
    select: SelectRule

    @classmethod
    def read(cls, algorithm: Any, ncomp: Any) -> Self:
        """Return the plan of validated options of `pls`."""
        algorithm = read_algorithm(algorithm)
        count, select = read_choice(ncomp)
        if count is not None:
            also = ', or None or "1se" to have it chosen'
            reading.check_whole("ncomp", count, 1, what="a number", also=also)
        columns: tuple[int, ...] = ()
        if isinstance(algorithm, SparsePLS):
            nonzero = algorithm.nonzero
            columns = (nonzero,) if isinstance(nonzero, int) else tuple(nonzero)
            if count is not None and len(columns) not in (1, count):
                raise DataError(
                    f"algorithm={algorithm!r} has {len(columns)} numbers of columns for ncomp={count}.",
                    hint="Give one for each component.",
                )
            if count is None and not isinstance(nonzero, int):
                count = len(columns)
        is_chosen = count is None and (isinstance(algorithm, str | SparsePLS))
        if select == "1se" and not is_chosen:
            name = reading.told(algorithm)
            raise DataError(f"algorithm={name} leaves no ncomp to choose.", hint='Drop ncomp="1se".')
        orthogonal = None
        if isinstance(algorithm, OrthogonalPLS):
            orthogonal, select = read_choice(algorithm.n)
            is_chosen = orthogonal is None
        return cls(algorithm, count, orthogonal, columns, is_chosen, select)

    @property
    def by_engine(self) -> bool:
        """Whether a regression finds the components."""
        return not isinstance(self.algorithm, str | PLSSpecification)

    @property
    def has_orthogonal(self) -> bool:
        """Whether there are orthogonal components."""
        return isinstance(self.algorithm, OrthogonalPLS)


def refuse_predictive(ncomp: int | None, fit: PLSFit) -> None:
    """Raise a DataError where another number of predictive components is given than there are."""
    if ncomp is not None and int(ncomp) != fit.predictive:
        raise DataError(
            f"ncomp={reading.told(ncomp)}: beside orthogonal components there are as many predictive "
            f"ones as the classes differ in directions, here {fit.predictive}.",
            hint="Leave ncomp= out.",
        )


USUAL = 10
"""Components up to which are tried where no others are given."""


def component_grid(search: GridSearch, most: int = USUAL) -> list[int]:
    """The numbers of components to try, in increasing order; a DataError where there is none."""
    if search.grid is None:
        return list(range(1, most + 1))
    what = "numbers of components"
    also = f", or None for 1 to {USUAL}"
    return reading.check_grid(search.grid, "number of components", 1, whole=True, what=what, also=also)


def choose_components(blocks: Blocks, fit: PLSFit, search: GridSearch) -> tuple[PLSFit, pd.DataFrame]:
    """Of a fit with as many components as are tried that with the fewest that are good, and the path.

    Of a fit with orthogonal components these are counted.
    """
    if fit.orthogonal:
        return _choose_orthogonal(blocks, fit, search)
    refuse_few(fit, 1)
    able = fit.components if fit.decides != "lda" else fit.spread_components()
    fit = fit.with_components(max(able, 1))
    refuse_few(fit, 1)
    tried = _tried(tried_components(blocks, fit, search.folds), search, "components")
    return fit.with_components(int(search.good(tried).min())), tried


def _tried(path: pd.DataFrame, search: GridSearch, components: str) -> pd.DataFrame:
    """Return the lines of a path whose numbers of components are to be tried; DataError if none is."""
    tried = path[path.iloc[:, 0].isin(component_grid(search, len(path)))].reset_index(drop=True)
    if not len(tried):
        raise DataError(
            f"grid={reading.listed(search.grid)}: the rows outside each fold have {len(path)} {components} "
            "at most.",
            hint="Give such numbers.",
        )
    return tried


def _choose_orthogonal(blocks: Blocks, fit: PLSFit, search: GridSearch) -> tuple[PLSFit, pd.DataFrame]:
    ladder = _ladder(fit, fit.moments, max(component_grid(search)))
    refuse_few(ladder[0] if ladder else fit, fit.predictive + 1)
    path = _tried_orthogonal(blocks, fit, ladder, search.folds)
    tried = _tried(path, search, "orthogonal components")
    return ladder[int(search.good(tried).min()) - 1], tried


def _ladder(fit: PLSFit, moments: ClassMoments, most: int) -> list[PLSFit]:
    """Fits with one orthogonal component, two and so on, as far as the rule has what it needs."""
    enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
    found = core.orthogonal_fits(fit, moments, most) if enough else []
    return [
        each
        for each in found
        if each.predictive == fit.predictive
        and (each.decides != "lda" or each.spread_components() == each.components)
    ]


def refuse_few(fit: PLSFit, wanted: int) -> None:
    """Raise where there are fewer components than are wanted, or their scores do not vary within classes."""
    if not fit.components:
        raise DataError(
            "The class means do not differ in any column, so that there is no component.",
            hint="Name columns whose means differ in the formula.",
        )
    if fit.components < wanted and fit.orthogonal:
        raise DataError(
            f"algorithm=OrthogonalPLS({wanted - fit.predictive}): of these rows {fit.orthogonal} "
            "orthogonal components at most vary with the predictive ones.",
            hint=(
                f"Use OrthogonalPLS({fit.orthogonal}), fewer, or OrthogonalPLS() to have the number chosen."
            ),
        )
    if fit.components < wanted and fit.nonzero:
        raise DataError(
            f"SparsePLS() of {wanted} components: these rows have {fit.components}, beyond which nothing "
            "of the columns covaries with the classes.",
            hint=f"Give {fit.components} or fewer, by ncomp= or the length of nonzero=.",
        )
    if fit.components < wanted:
        raise DataError(
            f"ncomp={reading.told(wanted)}: these rows have {fit.components}, beyond which nothing of "
            "the columns covaries with the classes.",
            hint=f"Give ncomp={fit.components} or fewer, or None to have it chosen.",
        )
    able = fit.spread_components()
    if fit.decides != "lda" or able >= wanted:
        return
    if fit.orthogonal:
        fewer = [each.orthogonal for each in _ladder(fit, fit.moments, fit.orthogonal)]
        raise CollinearError(
            f"With {fit.orthogonal} orthogonal components the scores do not vary within classes in every "
            "direction, so that linear discriminant analysis of them has no covariance.",
            hint=(
                "Pass "
                + (f"algorithm=OrthogonalPLS({max(fewer)}) or fewer, or " if fewer else "")
                + 'rule="max" or "centroid".'
            ),
            options={"rule": "max"},
        )
    if not able:
        raise CollinearError(
            "Within classes the scores of the components do not vary at all, so that linear discriminant "
            "analysis of them has no covariance.",
            hint='Pass rule="max" or "centroid".',
            options={"rule": "max"},
        )
    raise CollinearError(
        f"Within classes the scores of {wanted} components vary along {able} of {wanted} directions, so "
        "that linear discriminant analysis of them has no covariance.",
        hint=f'Pass rule="max" or "centroid"; rule="lda" takes ncomp={able} here at most.',
        options={"rule": "max"},
    )


def refuse_no_orthogonal(fit: PLSFit) -> None:
    """Raise where no scores are orthogonal to the classes and vary with those that predict them."""
    refuse_few(fit, 1)
    if not fit.orthogonal:
        raise DataError(
            "Nothing of the columns varies with the predictive components and not with the classes, so "
            "that there is no orthogonal component.",
            hint="Leave algorithm= out.",
        )


def tried_components(blocks: Blocks, fit: PLSFit, folds: TuningFolds) -> pd.DataFrame:
    """What the components of a fit explain, and predict of rows left out: components, error, se, R2X, R2, Q2.

    Errors are those of `error_rates(["cv"])` of a fit with as many components given, with the same folds and
    seed, or of the splits given. Of a fit with orthogonal components these are counted.
    """
    if fit.orthogonal:
        return _tried_orthogonal(blocks, fit, core.orthogonal_fits(fit, fit.moments, fit.orthogonal), folds)
    refuse_lone_classes(fit.moments, blocks.design.levels, "ncomp=")
    moments, judged = folds.training_moments(blocks, fit.moments.spread)
    parts = [_refitted(fit, part, folds, fold) for fold, part in enumerate(moments)]
    most = min(part.components for part in parts)
    log_prior = logs_of_prior(fit.prior)
    alongs = [partial(part.with_components(most).along, log_prior=log_prior) for part in parts]
    x, y = (each[:most].cumsum() for each in fit.latent.explained())
    return _path(blocks, fit, "components", alongs, judged, x, y)


def _tried_orthogonal(
    blocks: Blocks, fit: PLSFit, ladder: Sequence[PLSFit], folds: TuningFolds
) -> pd.DataFrame:
    """The same of fits with one orthogonal component, two and so on: orthogonal, error, se, R2X, R2, Q2."""
    refuse_lone_classes(fit.moments, blocks.design.levels, "OrthogonalPLS() a number")
    moments, judged = folds.training_moments(blocks, fit.moments.spread)
    parts = [_ladder(fit, part, len(ladder)) for part in moments]
    most = min(map(len, parts))
    for fold, part in enumerate(parts):
        if not part:
            _refuse_fold(folds, fold, "OrthogonalPLS() a number")
    alongs = [partial(_along, part[:most], logs_of_prior(fit.prior)) for part in parts]
    x, y = (
        np.array([each.sum() for each in pair])
        for pair in zip(*(f.latent.explained() for f in ladder[:most]), strict=True)
    )
    return _path(blocks, fit, "orthogonal", alongs, judged, x, y)


def _along(fits: Sequence[PLSFit], log_prior: Floats, x: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Scores (m, K) of the rules of fits, and fitted indicators (m, K), one after the other."""
    for fit in fits:
        yield fit.rule(log_prior).scores(x), fit.fitted_rule().scores(x)


Along = Callable[[Floats], Iterator[tuple[Floats, Floats]]]
"""From rows (m, p) to scores (m, K) and fitted indicators (m, K), with more and more components."""


def _path(
    blocks: Blocks,
    fit: PLSFit,
    name: str,
    alongs: Sequence[Along],
    judged: list[Floats],
    x: Floats,
    y: Floats,
) -> pd.DataFrame:
    """Errors and Q2 of the numbers of components that the fits outside the folds go along."""
    wrong, rows, q2 = _judged(blocks, fit, alongs, judged, len(x))
    refuse_none_judged(rows, "components")
    tried = np.arange(1, len(x) + 1)
    sampled = fit.estimated_prior
    path = error_path(name, tried, wrong, rows, fit.prior, sampled=sampled)
    path["R2X"] = x
    path["R2"] = y
    path["Q2"] = q2
    return path


FEWER = "a smaller ncomp="
"""What helps where a fold leaves too few components."""


def _refitted(
    fit: PLSFit, moments: ClassMoments, folds: TuningFolds, fold: int, given: str = "ncomp="
) -> PLSFit:
    """The fit to the rows that a fold leaves, with as many components as there are, or as the fit has."""
    enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
    part = fit.refit_up_to(moments, fit.components) if enough else None
    return _refuse_fold(folds, fold, given) if part is None else part


def _refuse_fold(folds: TuningFolds, fold: int, given: str) -> NoReturn:
    where, more = folds.training_rows(fold)
    raise CollinearError(
        f"{where} a class is gone, or the scores do not vary within classes.",
        hint=f"Give {given}, or {more}.",
    )


def selection_stability(
    fit: FittedModel[PLSFit], names: pd.Index, folds: int, repeats: int, seed: int | None
) -> pd.DataFrame:
    """Shares of refits without a fold in which columns are used; see `PLSResults.stability`."""
    blocks = fit.rows("stability()")
    numbers = fit.estimates
    reading.check_whole("repeats", repeats, 1, MOST, what="a number of repeats")
    start = resampling.drawn_seed(seed)
    used = np.zeros((len(fit.terms), 1 + numbers.components))
    with Progress(repeats * folds, "selections") as progress:
        for repeat in range(repeats):
            dealt = TuningFolds.read(folds, start + repeat, blocks, fit.refits.groups(fit))
            moments, _ = dealt.training_moments(blocks, numbers.moments.spread)
            for fold, part in enumerate(moments):
                refit = _refitted(numbers, part, dealt, fold, FEWER).latent
                if refit.count < numbers.components:
                    _refuse_fold(dealt, fold, FEWER)
                mine = refit.weights != 0
                used += np.column_stack([mine.any(axis=1), mine])
                progress(1)
    shares = pd.DataFrame(used / (repeats * folds), index=fit.terms, columns=["any", *names])
    shares = shares[shares["any"] > 0]
    return shares.sort_values("any", ascending=False, kind="stable")


def _judged(
    blocks: Blocks, fit: PLSFit, alongs: Sequence[Along], judged: list[Floats], most: int
) -> tuple[Floats, Floats, Floats]:
    """Of rows left out those of each class that are called another one (A, K), all (K,), and Q2 (A,).

    A are the numbers of components. Q2 is one less the squares of what is not fitted to the indicators over
    those of the indicators about their means over all rows of the fit.
    """
    k = fit.moments.n_classes
    shares = fit.shares
    sizes = fit.sizes
    wrong = np.zeros((most, k))
    rows = np.zeros(k)
    press = np.zeros(most)
    total = 0.0
    with Progress(blocks.table.nrows * len(alongs), "choice of components") as progress:
        for fold, x, codes, times in judged_rows(blocks, judged, progress):
            indicators = np.equal(codes[:, None], np.arange(k))
            member = indicators * times[:, None]
            rows += member.sum(axis=0)
            total += float(times @ (((indicators - shares) / sizes) ** 2).sum(axis=1))
            for j, (scores, fitted) in enumerate(alongs[fold](x)):
                wrong[j] += (best_class(scores) != codes) @ member
                press[j] += times @ (((indicators - fitted) / sizes) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return wrong, rows, 1.0 - press / total


MOST = 10**6
"""More are no number of permutations that anyone waits for."""


def q2_of_shuffles(fit: FittedModel[PLSFit], n: int, folds: int, seed: int | None) -> TestResult:
    """The test of Q2; see `PLSResults.permutation_test`."""
    reading.check_whole("n", n, 1, MOST, what="a number of permutations")
    blocks = fit.rows("permutation_test()")
    if blocks.weights is not None and not blocks.rows.has_whole_weights():
        raise NotSupportedError(
            "permutation_test() shuffles rows, and takes weights that are whole numbers of them.",
            hint="Repeat the rows, or fit without weights=.",
        )
    reading.refuse_large(blocks, "permutation_test() gathers all rows", times=fit.nobs)
    x, codes = repeated(*weighted_rows(blocks))
    resampling.check_folds(folds, len(x))
    numbers = fit.estimates
    k = len(fit.classes)
    start = resampling.drawn_seed(seed)
    how = numbers.regressed
    groups = fit.refits.groups(fit)
    if groups is None:
        dealt = resampling.generator(start).permutation(len(x)) % folds
    else:
        together = groups[used_codes(blocks) >= 0]
        dealt = validation.dealt_groups(blocks, groups, folds, start)[used_codes(blocks) >= 0]
    # In units near one, in which squares are doubles.
    z = (x - numbers.origin) * numbers.moments.scale / np.where(np.isfinite(numbers.unit), numbers.unit, 1.0)

    def labelling(number: int) -> Codes:
        """Classes (n,) after a shuffle; those that were seen by the number 0."""
        if not number:
            return codes
        rng = np.random.default_rng([start, number])
        if groups is None:
            return rng.permutation(codes)
        shuffled = np.empty_like(codes)
        shuffled[np.argsort(together, kind="stable")] = codes[np.lexsort((rng.random(len(codes)), together))]
        return shuffled

    with Progress((n + 1) * folds, "permutations") as progress:
        q2 = core.q2_of_labellings(z, labelling, n + 1, dealt, k, how, progress)
    r2 = core.r2_of(z, labelling, n + 1, k, how)
    figures: dict[str, tuple[float, float, float, float]] = {}
    for name, (seen, others) in {"Q2": (q2[0], q2[1:]), "R2": (r2[0], r2[1:])}.items():
        pvalue = resampling.permutation_pvalue(seen, others)
        figures[name] = (float(seen), float(others.mean()), float(others.max()), pvalue)
    return TestResult(
        f"Permutation test of Q2, {n} permutations",
        float(q2[0]),
        (),
        figures["Q2"][-1],
        f"The labels are shuffled{'' if groups is None else ' within groups'}, and rows left out by folds "
        "are predicted anew, with as many components; p = (1 + b) / (1 + n), where b counts the permutations "
        "with a statistic as large or larger. Folds are dealt without regard to the classes, so that all "
        "labellings share them; mean and largest are of those shuffled.",
        figures,
        (("Q2", float(q2[0])),),
        ("statistic", "mean", "largest", "p"),
    )
