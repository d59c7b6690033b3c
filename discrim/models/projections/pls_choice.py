"""The choice of the number of components, by folds whose moments are merged.

Partial least squares whose components a regression of the user's own finds, such as scikit-learn's.

A permutation test of what partial least squares predicts of rows left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, standard_columns
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.projections.latent import Latent, latent_of
from discrim.core.projections.pls import (
    Decides,
    Indicators,
    PLSFit,
    Regressed,
    fit_pls,
    q2_of_labellings,
    r2_of,
    tables_of,
)
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.core.scatter.by_estimator import copied
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import gathered_rows, repeated, used_codes, used_rows
from discrim.inference.error_rates import TIE, as_good
from discrim.inference.resampling import check_folds, dealt_codes, drawn_seed, generator, permutation_pvalue
from discrim.inference.result import TestResult
from discrim.models.fits.fit import Fit
from discrim.models.fits.options import text_of
from discrim.models.fits.reading import is_whole, listed, refuse_large, told
from discrim.models.fits.refits import error_path, moment_folds
from discrim.models.judging.validation import Split, split_moments

USUAL = 10
"""Components up to which are tried where no others are given."""


@dataclass(frozen=True, slots=True)
class ComponentSearch:
    """How a number of components is chosen.

    Attributes
    ----------
    grid : sequence of int or None
        Numbers to try; None for one, two and so on.
    folds : int
        How many, also of splits.
    select : {"min", "1se"}
    splits : tuple of Split
        Those given in the place of folds.
    """

    grid: Sequence[int] | None
    folds: int
    seed: int | None
    select: Literal["min", "1se"] = "min"
    splits: tuple[Split, ...] = ()


def component_grid(search: ComponentSearch, most: int = USUAL) -> list[int]:
    """The numbers of components to try, in increasing order.

    Raises
    ------
    DataError
        None at all, or one that is no number of components.
    """
    asked_for: Any = search.grid
    if asked_for is None:
        return list(range(1, most + 1))
    if isinstance(asked_for, str) or not isinstance(asked_for, Iterable):
        raise DataError(
            f"grid={told(asked_for)}: give a list of numbers of components, or None for 1 to {USUAL}."
        )
    values = list(asked_for)
    wrong = [value for value in values if not (is_whole(value) and value >= 1)]
    if wrong:
        raise DataError(
            f"grid holds {told(wrong[0])}, which is no number of components: give 1, 2 and so on."
        )
    if not values:
        raise DataError(f"grid is empty: give numbers of components, or None for 1 to {USUAL}.")
    return sorted({int(value) for value in values})


def _parts(
    blocks: Blocks, search: ComponentSearch, spread: Any
) -> tuple[Iterable[ClassMoments], list[Floats]]:
    """For each fold or split the moments of the rows to learn from, and how often each row (n,) is judged."""
    if search.splits:
        held = split_moments(blocks, search.splits, spread)
        return held, [split.test for split in search.splits]
    dealt = dealt_codes(used_codes(blocks), search.folds, search.seed)
    judged = [(dealt == fold).astype(np.float64) for fold in range(search.folds)]
    return moment_folds(blocks, dealt, search.folds, spread), judged


def _refuse_part(search: ComponentSearch, fold: int) -> NoReturn:
    what, instead = (
        (f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them")
        if search.splits
        else (f"Without fold {fold + 1} of {search.folds}", "more folds")
    )
    raise CollinearError(
        f"{what} a class is gone, or the scores do not vary within classes: give components=, or {instead}."
    )


class _Judged(NamedTuple):
    """What rows that were left out say, by number of components.

    Attributes
    ----------
    wrong : (A, K) float
        Rows of each class, or sums of their weights, that are called another one.
    rows : (K,) float
        All rows.
    press : (A,) float
        Sums of squares of the indicators less what is fitted to them.
    total : float
        The same of the indicators less their means over all rows of the fit.
    """

    wrong: Floats
    rows: Floats
    press: Floats
    total: float


def tried_components(blocks: Blocks, fit: PLSFit, search: ComponentSearch) -> pd.DataFrame:
    """What is explained, and what is predicted of rows left out, by number of components.

    Parameters
    ----------
    fit : PLSFit
        Of all rows, with as many components as are tried, or as there are.

    Returns
    -------
    DataFrame
        components, error, se, R2X, R2, Q2; errors are those of `error_rates(["cv"])` of a fit with as many
        components given, with the same folds and seed, or of the splits given.

    Raises
    ------
    DataError
        A class of one row, folds that are too many or too few.
    CollinearError
        Without some fold there is no rule.
    """
    levels = blocks.design.levels
    single = [level for level, rows in zip(levels, fit.moments.rows.tolist(), strict=True) if rows < 2]
    if single:
        which = "Class" if len(single) == 1 else "Each of the classes"
        raise DataError(
            f"{which} {listed(single)} has one row, and without it the class is not known: give "
            "components=, merge it with another class, or leave it out."
        )
    held, often = _parts(blocks, search, fit.moments.spread)
    parts = []
    for number, moments in enumerate(held):
        enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
        part = fit.refit_up_to(moments, fit.components) if enough else None
        if part is None:
            _refuse_part(search, number)
        parts.append(part)
    most = min(part.components for part in parts)
    found = _judged(blocks, fit, [part.with_components(most) for part in parts], often)
    if not found.rows.any():
        raise DataError("No row is left to judge components by: give splits that judge more of them.")
    tried = np.arange(1, most + 1)
    path = error_path("components", tried, found.wrong, found.rows, fit.prior, sampled=fit.estimated_prior)
    x, y = fit.latent.explained()
    path["R2X"], path["R2"] = x[:most].cumsum(), y[:most].cumsum()
    path["Q2"] = 1.0 - found.press / found.total
    return path


def _judged(blocks: Blocks, fit: PLSFit, parts: list[PLSFit], often: list[Floats]) -> _Judged:
    k, most = fit.moments.n_classes, parts[0].components
    log_prior, shares, sizes = logs_of_prior(fit.prior), fit.shares, fit.sizes
    wrong, rows, press, total = np.zeros((most, k)), np.zeros(k), np.zeros(most), 0.0
    with late_bar(blocks.table.nrows * len(parts), "choice of components") as tell:
        for place, x, own, weights in used_rows(blocks):
            positions = np.arange(place.start, place.stop) if isinstance(place, slice) else place
            for part, times in zip(parts, often, strict=True):
                tell(len(positions))
                times_of = times[positions]
                at = np.flatnonzero(times_of)
                if not len(at):
                    continue
                count = times_of[at] if weights is None else weights[at] * times_of[at]
                seen = np.equal(own[at, None], np.arange(k))
                member = seen * count[:, None]
                rows += member.sum(axis=0)
                total += float(count @ (((seen - shares) / sizes) ** 2).sum(axis=1))
                for j, (scores, fitted) in enumerate(part.along(x[at], log_prior)):
                    wrong[j] += (best_class(scores) != own[at]) @ member
                    press[j] += count @ (((seen - fitted) / sizes) ** 2).sum(axis=1)
    return _Judged(wrong, rows, press, total)


def chosen_from(path: pd.DataFrame, search: ComponentSearch) -> tuple[int, pd.DataFrame]:
    """The fewest components that are as good as the best, and the path of those that were asked for.

    Raises
    ------
    DataError
        None of the numbers asked for can be had of the rows outside each fold.
    """
    asked = path[path["components"].isin(component_grid(search, len(path)))].reset_index(drop=True)
    if not len(asked):
        raise DataError(
            f"grid={listed(search.grid)}: the rows outside each fold have {len(path)} components at most: "
            "give such numbers."
        )
    slack = float(asked["se"].iloc[asked["error"].argmin()]) if search.select == "1se" else 0.0
    good = as_good(asked["error"].to_numpy(), slack + TIE)
    return int(asked["components"].to_numpy()[good].min()), asked


FOUND = ("x_weights_", "x_loadings_", "x_rotations_")
"""What an engine has when it is fitted, (p, a) each."""


def components_of(engine: Any, components: int | None) -> int:
    """The number of components: that which is given, or the engine's own.

    Raises
    ------
    DataError
        The engine is none, or has no such number.
    """
    if isinstance(engine, type) or not callable(getattr(engine, "fit", None)):
        given = f"the class {engine.__name__}" if isinstance(engine, type) else text_of(engine)
        raise DataError(
            f"engine={given} is no regression: give an object with fit(X, Y), such as "
            "scikit-learn's PLSRegression(3), or None."
        )
    count: Any = getattr(engine, "n_components", None) if components is None else components
    if not (is_whole(count) and count >= 1):
        raise DataError(
            f"engine={text_of(engine)} has n_components={told(count)}: give components=, a number from 1 on."
        )
    return int(count)


def engine_fit(
    engine: Any,
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    components: int,
    scale: bool,
    indicators: Indicators,
    decides: Decides,
    estimated_prior: bool,
) -> PLSFit:
    """The fit by the components that a copy of an engine finds in the rows.

    Parameters
    ----------
    engine : object
        With `fit(X, Y)`, and then x_weights_, x_loadings_ and x_rotations_. It is given columns and
        indicators that are centred, and scaled where that is asked for.
    prior, components, scale, indicators, decides, estimated_prior
        As of `fit_pls`.

    Raises
    ------
    DataError
        The engine cannot be fitted, or does not say what it has found.
    NotSupportedError
        Weights that are not whole numbers of rows.
    """
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            f"engine={text_of(engine)} is fitted to rows: it takes weights that are whole numbers. Give such "
            "weights, repeat rows, or leave engine= out."
        )
    refuse_large(blocks, "pls() gives the engine all rows", times=moments.total)
    held = partial(
        fit_pls, moments, prior, components=components, scale=scale, indicators=indicators, decides=decides,
        estimated_prior=estimated_prior, algorithm="engine",
    )  # fmt: skip
    tables = tables_of(moments, scale=scale, indicators=indicators)
    # Without components, for the middle of the rows.
    middle = held(engine=lambda a, b: _none(a, b))
    rows = gathered_rows(blocks)
    x, codes = rows.x, rows.codes
    if blocks.weights is not None:
        x, codes = repeated(x, codes, blocks.weights[rows.positions])
    z = standard_columns(x, middle.origin, middle.moments.scale) - middle.centre[:, None]
    seen = np.equal(codes[:, None], np.arange(len(prior))).astype(np.float64)
    own = _fitted(engine, (z / middle.unit[:, None]).T, (seen - middle.shares) / tables.sizes, components)
    return held(engine=lambda a, b: latent_of(a, b, *own))


def _none(a: Floats, b: Floats) -> Latent:
    nothing = np.zeros((a.shape[1], 0))
    return latent_of(a, b, nothing, nothing, nothing)


def _fitted(engine: Any, x: Floats, y: Floats, components: int) -> list[Floats]:
    """Weights, loadings and rotations (p, a) that a copy of the engine finds."""
    name = text_of(engine)
    try:
        own = copied(engine)
        known = own.get_params() if hasattr(own, "get_params") else {}
        asked = {"n_components": components, "scale": False}
        own.set_params(**{key: value for key, value in asked.items() if key in known})
        own.fit(np.ascontiguousarray(x), y)
        found = [np.asarray(getattr(own, attribute), dtype=np.float64) for attribute in FOUND]
    except Exception as error:
        # An engine is the user's own code, which may raise anything.
        raise DataError(
            f"engine={name} cannot be fitted to {len(x)} rows, or does not say what it has found: "
            f"{str(error).rstrip('.')}. An engine has fit(X, Y), and then {', '.join(FOUND)}: "
            "use PLSRegression, or leave engine= out."
        ) from error
    shape = (x.shape[1], components)
    if any(each.shape != shape or not np.isfinite(each).all() for each in found) or not (
        found[-1].any(axis=0).all()
    ):
        raise DataError(
            f"engine={name} finds no {components} components of {x.shape[1]} columns: give fewer components."
        )
    return found


MOST = 10**6
"""More are no number of permutations that anyone waits for."""


def permutation_test(fit: Fit[PLSFit], n: int, folds: int, seed: int | None) -> TestResult:
    """The test of Q2; see `PLSResults.permutation_test`."""
    if not (is_whole(n) and 1 <= n <= MOST):
        raise DataError(f"n={told(n)}: give a number of permutations, 1 or more and up to {MOST:,}.")
    blocks = fit.rows("permutation_test()")
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            "permutation_test() shuffles rows, and takes weights that are whole numbers of them: repeat the "
            "rows, or fit without weights=."
        )
    refuse_large(blocks, "permutation_test() gathers all rows", times=fit.nobs)
    rows = gathered_rows(blocks)
    weights = None if blocks.weights is None else blocks.weights[rows.positions]
    x, codes = repeated(rows.x, rows.codes, weights)
    check_folds(folds, len(x))
    numbers, k, start = fit.numbers, len(fit.classes), drawn_seed(seed)
    how = Regressed(numbers.components, numbers.algorithm, numbers.scale, numbers.indicators == "scaled")
    dealt = generator(start).permutation(len(x)) % folds
    # In units near one, in which squares are doubles.
    z = (x - numbers.origin) * numbers.moments.scale / np.where(np.isfinite(numbers.unit), numbers.unit, 1.0)
    labelling = partial(_labelling, codes, start)
    with late_bar((n + 1) * folds, "permutations") as tell:
        q2 = q2_of_labellings(z, labelling, n + 1, dealt, k, how, tell)
    r2 = r2_of(z, labelling, n + 1, k, how)
    table = pd.DataFrame(
        [_line(values) for values in (q2, r2)],
        index=["Q2", "R2"],
        columns=["statistic", "mean", "largest", "p"],
    )
    return TestResult(
        f"Permutation test of Q2, {n} permutations",
        float(q2[0]),
        (),
        float(table["p"].iloc[0]),
        "The labels are shuffled, and rows left out by folds are predicted anew, with as many "
        "components; p = (1 + b) / (1 + n), where b counts the permutations with a statistic as "
        "large or larger. Folds are dealt without regard to the classes, so that all labellings "
        "share them; mean and largest are of those shuffled.",
        table,
        (("Q2", float(q2[0])),),
    )


def _labelling(codes: NDArray[np.intp], seed: int, number: int) -> NDArray[np.intp]:
    """Classes (n,) after a shuffle; those that were seen by the number 0."""
    if not number:
        return codes
    return np.random.default_rng([seed, number]).permutation(codes)


def _line(values: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """A statistic, the mean and the largest of those of shuffled labels, and its p-value."""
    drawn = values[1:]
    return float(values[0]), float(drawn.mean()), float(drawn.max()), permutation_pvalue(values[0], drawn)
