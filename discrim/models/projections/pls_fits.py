"""Fits of partial least squares as one value: how they are made again, chosen, and saved."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.latent import Latent, latent_of
from discrim.core.projections.pls import PLSFit, fit_pls
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.models.fits.arguments import check_word, told
from discrim.models.fits.fit import Fit, Model, as_scored
from discrim.models.fits.reading import class_moments
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.projections.pls_choice import Search, chosen_from, component_path, counts_of
from discrim.models.projections.pls_engine import engine_fit
from discrim.models.saving.saved import Saved

__all__ = ["MODEL", "SAVED", "chosen", "pls_fit", "refuse_few", "refuse_no_spread"]

Floats = NDArray[np.float64]

BUFFERS = ("weights", "loadings", "rotations")
"""What a file keeps of the components that an engine has found."""


def chosen(blocks: Blocks, fit: PLSFit, search: Search) -> tuple[PLSFit, pd.DataFrame]:
    """The fit with the components that folds choose, of one with as many as are tried."""
    refuse_few(fit, 1)
    able = fit.components if fit.decides != "lda" else fit.spread_components()
    fit = fit.with_components(max(able, 1))
    refuse_few(fit, 1)
    count, path = chosen_from(component_path(blocks, fit, search), search)
    return fit.with_components(count), path


def refuse_few(fit: PLSFit, asked: int) -> None:
    """Raise where there are fewer components than asked for, or their scores do not vary within classes."""
    if not fit.components:
        raise DataError(
            "The class means do not differ in any column, so that there is no component: name columns whose "
            "means differ in the formula."
        )
    if fit.components < asked:
        raise DataError(
            f"components={told(asked)}: these rows have {fit.components}, beyond which nothing of the "
            f"columns covaries with the classes. Give components={fit.components} or fewer, or None to have "
            "it chosen."
        )
    able = fit.spread_components()
    if fit.decides == "lda" and able < asked:
        raise CollinearError(
            f"Within classes the scores of {asked} components vary along {able} directions only, so that "
            'linear discriminant analysis of them has no covariance. Pass rule="max" or "centroid"; '
            f'rule="lda" takes components={able} here at most.'
        )


def refuse_no_spread(moments: ClassMoments) -> None:
    """Raise where there are no more rows than classes, or as much weight."""
    if moments.total <= moments.n_classes:
        raise CollinearError(
            f"{moments.total:g} rows in {moments.n_classes} classes leave nothing from which to "
            "estimate the spread within classes: some class has to have two rows, and weights have "
            "to count rows."
        )


MODEL = Model(
    "pls",
    "Partial least squares discriminant analysis",
    likelihood_of="none",
    no_fit=("a class has no row, or fewer components are left", "fewer components"),
)
WITHOUT_POSTERIORS = replace(
    MODEL,
    prior_without="none",
    instead='see fitted_values() and decision_function(), or pass rule="lda"',
    decision=as_scored,
)
"""By rules that are not linear discriminant analysis."""


def pls_fit(
    numbers: PLSFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    search: Search | None = None,
    path: pd.DataFrame | None = None,
    engine: Any = None,
) -> Fit[PLSFit]:
    """Partial least squares as one value; `search` and `path` are those of a choice of components."""
    refits = moment_refits(numbers.moments.spread)
    if search is not None:
        rule = partial(_chosen_rule, search)
        refits = replace(refits, spread=None, of_rows=rule, chosen="the number of components")
    if engine is not None:
        by_engine = partial(_engine_rule, engine)
        refits = replace(refits, spread=None, of_rows=by_engine, held=by_engine, left_out=_left_out)
        refits = replace(refits, asked=engine)
    cache = {} if path is None else {"path": path}
    model = MODEL if numbers.decides == "lda" else WITHOUT_POSTERIORS
    return Fit(
        model,
        numbers,
        blocks,
        numbers.prior,
        refits,
        has_rows,
        cache,
    )


def _chosen_rule(search: Search, fit: Fit[PLSFit], blocks: Blocks) -> Rule | None:
    moments = class_moments(blocks, fit.numbers.moments.spread)
    if (moments.rows < 1).any() or moments.total <= moments.n_classes:
        return None
    refit = fit.numbers.refit_up_to(moments, max(counts_of(search)))
    if refit is None:
        return None
    try:
        held, _ = chosen(blocks, refit, search)
    except (CollinearError, DataError):
        return None
    return held.rule(fit.log_prior())


def _engine_rule(engine: Any, fit: Fit[PLSFit], blocks: Blocks) -> Rule | None:
    numbers = fit.numbers
    moments = class_moments(blocks, numbers.moments.spread)
    if (moments.rows < 1).any() or moments.total <= moments.n_classes:
        return None
    try:
        refit = engine_fit(
            engine, blocks, moments, numbers.prior, components=numbers.components, scale=numbers.scale,
            indicators=numbers.indicators, decides=numbers.decides,
            estimated_prior=numbers.estimated_prior,
        )  # fmt: skip
        refuse_few(refit, numbers.components)
    except (CollinearError, DataError):
        return None
    return refit.rule(fit.log_prior())


def _left_out(fit: Fit[PLSFit]) -> LeftOut:
    return left_out_by_refits(fit, "takes a fit of the engine a row")


def _from_file(moments: ClassMoments, prior: Floats, *, components: int, **options: Any) -> PLSFit:
    """The fit that a file's moments are of.

    Raises
    ------
    DataError, CollinearError
        An option is none, or the moments have fewer components.
    """
    for name, words in (
        ("algorithm", ("nipals", "simpls", "engine")),
        ("decides", ("lda", "max", "centroid")),
        ("indicators", ("scaled", "centred")),
    ):
        check_word(name, options[name], words)
    refuse_no_spread(moments)
    own = [options.pop(name, None) for name in BUFFERS]
    found = None
    if options["algorithm"] == "engine":
        if any(each is None or each.shape[1] != components or not each.any(axis=0).all() for each in own):
            raise DataError(
                f"The {components} components that an engine has found are not there: save the fit again."
            )
        found = partial(_as_found, own)
    fit = fit_pls(moments, prior, components=components, found=found, **options)
    refuse_few(fit, components)
    return fit


def _as_found(own: list[Any], a: Floats, b: Floats) -> Latent:
    return latent_of(a, b, *own)


def _buffers(fit: PLSFit) -> dict[str, Floats]:
    """What an engine has found, which moments alone do not say."""
    return {name: getattr(fit.latent, name) for name in BUFFERS} if fit.algorithm == "engine" else {}


SAVED = Saved(
    {
        "components": (int,),
        "algorithm": (str,),
        "scale": (bool,),
        "indicators": (str,),
        "decides": (str,),
        "estimated_prior": (bool,),
    },
    "pooled",
    _from_file,
    pls_fit,
    _buffers,
    optional=lambda k, p: dict.fromkeys(BUFFERS, (p, -1)),
    constant=True,
    structure="pinv",
    singular=True,
)
