"""Components of partial least squares: how many, by folds, those of an engine, and whether they predict.

An engine is a regression of the user's own, such as scikit-learn's PLSRegression. Whether rows left out are
predicted better than with shuffled labels is tested by permutations.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, standard_columns
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.projections import pls
from discrim.core.projections.latent import Latent, latent_of
from discrim.core.projections.pls import Decides, Indicators, PLSFit, Regressed
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.core.scatter.by_estimator import copied
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import gathered_rows, repeated
from discrim.inference.resampling import check_folds, drawn_seed, generator, permutation_pvalue
from discrim.inference.result import TestResult
from discrim.models.fits.fit import Fit
from discrim.models.fits.options import text_of
from discrim.models.fits.reading import check_grid, check_whole, is_whole, listed, refuse_large, told
from discrim.models.fits.refits import error_path
from discrim.models.judging import validation
from discrim.models.judging.validation import GridSearch, TuningFolds

USUAL = 10
"""Components up to which are tried where no others are given."""


def component_grid(search: GridSearch, most: int = USUAL) -> list[int]:
    """The numbers of components to try, in increasing order; a DataError where there is none."""
    if search.grid is None:
        return list(range(1, most + 1))
    what, also = "numbers of components", f", or None for 1 to {USUAL}"
    return check_grid(search.grid, "number of components", 1, whole=True, what=what, also=also)


def choose_components(blocks: Blocks, fit: PLSFit, search: GridSearch) -> tuple[PLSFit, pd.DataFrame]:
    """The fit with as many components as folds choose, the fewest that are good, and the path of the grid.

    Parameters
    ----------
    fit : PLSFit
        Of all rows, with as many components as are tried.
    """
    refuse_few(fit, 1)
    able = fit.components if fit.decides != "lda" else fit.spread_components()
    fit = fit.with_components(max(able, 1))
    refuse_few(fit, 1)
    path = tried_components(blocks, fit, search.folds)
    tried = path[path["components"].isin(component_grid(search, len(path)))].reset_index(drop=True)
    if not len(tried):
        raise DataError(
            f"grid={listed(search.grid)}: the rows outside each fold have {len(path)} components at most: "
            "give such numbers."
        )
    return fit.with_components(int(search.good(tried).min())), tried


def refuse_few(fit: PLSFit, wanted: int) -> None:
    """Raise where there are fewer components than are wanted, or their scores do not vary within classes."""
    if not fit.components:
        raise DataError(
            "The class means do not differ in any column, so that there is no component: name columns whose "
            "means differ in the formula."
        )
    if fit.components < wanted:
        raise DataError(
            f"components={told(wanted)}: these rows have {fit.components}, beyond which nothing of the "
            f"columns covaries with the classes. Give components={fit.components} or fewer, or None to have "
            "it chosen."
        )
    able = fit.spread_components()
    if fit.decides == "lda" and able < wanted:
        raise CollinearError(
            f"Within classes the scores of {wanted} components vary along {able} directions only, so that "
            'linear discriminant analysis of them has no covariance. Pass rule="max" or "centroid"; '
            f'rule="lda" takes components={able} here at most.'
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


def tried_components(blocks: Blocks, fit: PLSFit, folds: TuningFolds) -> pd.DataFrame:
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
    """
    validation.refuse_lone_classes(fit.moments, blocks.design.levels, "components=")
    moments, judged = folds.training_moments(blocks, fit.moments.spread)
    parts = [_refitted(fit, part, folds, fold) for fold, part in enumerate(moments)]
    most = min(part.components for part in parts)
    left_out = _judged(blocks, fit, [part.with_components(most) for part in parts], judged)
    validation.refuse_none_judged(left_out.rows, "components")
    tried, sampled = np.arange(1, most + 1), fit.estimated_prior
    path = error_path("components", tried, left_out.wrong, left_out.rows, fit.prior, sampled=sampled)
    x, y = fit.latent.explained()
    path["R2X"], path["R2"] = x[:most].cumsum(), y[:most].cumsum()
    path["Q2"] = 1.0 - left_out.press / left_out.total
    return path


def _refitted(fit: PLSFit, moments: ClassMoments, folds: TuningFolds, fold: int) -> PLSFit:
    """The fit to the rows that a fold leaves, with as many components as there are, or as the fit has."""
    enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
    part = fit.refit_up_to(moments, fit.components) if enough else None
    if part is None:
        where, more = folds.training_rows(fold)
        raise CollinearError(
            f"{where} a class is gone, or the scores do not vary within classes: give components=, or {more}."
        )
    return part


def _judged(blocks: Blocks, fit: PLSFit, parts: list[PLSFit], judged: list[Floats]) -> _Judged:
    k, most = fit.moments.n_classes, parts[0].components
    log_prior, shares, sizes = logs_of_prior(fit.prior), fit.shares, fit.sizes
    wrong, rows, press, total = np.zeros((most, k)), np.zeros(k), np.zeros(most), 0.0
    with late_bar(blocks.table.nrows * len(parts), "choice of components") as tell:
        for fold, x, codes, times in validation.judged_rows(blocks, judged, tell):
            indicators = np.equal(codes[:, None], np.arange(k))
            member = indicators * times[:, None]
            rows += member.sum(axis=0)
            total += float(times @ (((indicators - shares) / sizes) ** 2).sum(axis=1))
            for j, (scores, fitted) in enumerate(parts[fold].along(x, log_prior)):
                wrong[j] += (best_class(scores) != codes) @ member
                press[j] += times @ (((indicators - fitted) / sizes) ** 2).sum(axis=1)
    return _Judged(wrong, rows, press, total)


FITTED = ("x_weights_", "x_loadings_", "x_rotations_")
"""What a fitted engine has, (p, a) each."""


def components_of(engine: Any, components: int | None) -> int:
    """The number of components that is given, or the engine's own; a DataError where there is none."""
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
    """
    if blocks.weights is not None and not blocks.has_whole_weights():
        raise NotSupportedError(
            f"engine={text_of(engine)} is fitted to rows: it takes weights that are whole numbers. Give such "
            "weights, repeat rows, or leave engine= out."
        )
    refuse_large(blocks, "pls() gives the engine all rows", times=moments.total)
    fitted = partial(
        pls.fit_pls, moments, prior, components=components, scale=scale, indicators=indicators,
        decides=decides, estimated_prior=estimated_prior, algorithm="engine",
    )  # fmt: skip
    tables = pls.tables_of(moments, scale=scale, indicators=indicators)
    # Without components, for the middle of the rows.
    middle = fitted(engine=_no_components)
    rows = gathered_rows(blocks)
    x, codes = rows.x, rows.codes
    if blocks.weights is not None:
        x, codes = repeated(x, codes, blocks.weights[rows.positions])
    z = standard_columns(x, middle.origin, middle.moments.scale) - middle.centre[:, None]
    indicators_of = np.equal(codes[:, None], np.arange(len(prior))).astype(np.float64)
    y = (indicators_of - middle.shares) / tables.sizes
    latent = _engine_components(engine, (z / middle.unit[:, None]).T, y, components)
    return fitted(engine=lambda a, b: latent_of(a, b, *latent))


def _no_components(a: Floats, b: Floats) -> Latent:
    nothing = np.zeros((a.shape[1], 0))
    return latent_of(a, b, nothing, nothing, nothing)


def _engine_components(engine: Any, x: Floats, y: Floats, components: int) -> list[Floats]:
    """Weights, loadings and rotations (p, a) that a copy of the engine finds."""
    name = text_of(engine)
    try:
        copy = copied(engine)
        known = copy.get_params() if hasattr(copy, "get_params") else {}
        settings = {"n_components": components, "scale": False}
        copy.set_params(**{key: value for key, value in settings.items() if key in known})
        copy.fit(np.ascontiguousarray(x), y)
        matrices = [np.asarray(getattr(copy, attribute), dtype=np.float64) for attribute in FITTED]
    except Exception as error:
        # An engine is the user's own code, which may raise anything.
        raise DataError(
            f"engine={name} cannot be fitted to {len(x)} rows, or does not say what it has found: "
            f"{str(error).rstrip('.')}. An engine has fit(X, Y), and then {', '.join(FITTED)}: "
            "use PLSRegression, or leave engine= out."
        ) from error
    shape = (x.shape[1], components)
    if any(each.shape != shape or not np.isfinite(each).all() for each in matrices) or not (
        matrices[-1].any(axis=0).all()
    ):
        raise DataError(
            f"engine={name} finds no {components} components of {x.shape[1]} columns: give fewer components."
        )
    return matrices


MOST = 10**6
"""More are no number of permutations that anyone waits for."""


def permutation_test(fit: Fit[PLSFit], n: int, folds: int, seed: int | None) -> TestResult:
    """The test of Q2; see `PLSResults.permutation_test`."""
    check_whole("n", n, 1, MOST, what="a number of permutations")
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
        q2 = pls.q2_of_labellings(z, labelling, n + 1, dealt, k, how, tell)
    r2 = pls.r2_of(z, labelling, n + 1, k, how)
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
