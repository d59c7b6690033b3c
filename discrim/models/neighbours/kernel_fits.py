"""Kernel densities as one value: the choice of the bandwidth, how they are fitted again, and saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.neighbours.kernel_density import KernelDensityFit, kernel_from_file, singular
from discrim.core.neighbours.kernel_rules import KERNELS, KernelRule
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.rules import best_class, logs_of_prior
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.used_rows import weighted_rows
from discrim.models.fits.arguments import check_word, listed
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.reading import said_of_separation
from discrim.models.fits.refits import moment_refits
from discrim.models.fits.tuning import error_path, largest_as_good
from discrim.models.saving.saved import Saved

__all__ = ["MODEL", "SAVED", "Search", "chosen", "kernel_density_fit", "refuse_singular"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

TRIED = np.geomspace(0.15, 6.0, 30)
"""Bandwidths that are tried unless others are given, over the normal one."""


@dataclass(frozen=True, slots=True)
class Search:
    """How a bandwidth is chosen.

    Attributes
    ----------
    grid : tuple of float or None
        Those to try; None for 30 about the normal one, in typical deviations.
    select : {"likelihood", "error"}
    """

    grid: tuple[float, ...] | None
    select: Literal["likelihood", "error"]


def refuse_singular(moments: ClassMoments, blocks: Blocks, metric: str, common: bool) -> None:
    """Raise a CollinearError for columns by whose spread nothing can be measured."""
    found = singular(moments, metric, common)
    if not found:
        return
    k, columns = found[0]
    where = "within classes" if k is None else f"in class {shown(blocks.design.levels[k])}"
    instead = 'metric="euclidean"' if common else 'covariance="pooled", or metric="euclidean"'
    if not columns:
        raise CollinearError(
            f"The rows {where} leave nothing from which to estimate a spread: give more of them, or "
            f"pass {instead}."
        )
    names = listed(blocks.terms[j] for j in columns)
    tells = said_of_separation(moments, blocks.terms)
    way_out = f"Pass {instead}" if tells else f"Drop such columns from the formula, or pass {instead}"
    raise CollinearError(
        f"The covariance {where} is singular: {names} {'is' if len(columns) == 1 else 'are'} constant or "
        f"determined by the columns before.{tells} {way_out}."
    )


def refuse_lone_rows(moments: ClassMoments, blocks: Blocks, search: Search) -> None:
    """Refuse classes of one row, or of equal ones, where the likelihood of rows left out is to choose."""
    lone = np.flatnonzero((moments.counts <= 1) | ~(moments.squares > 0).any(axis=1))
    if search.select == "likelihood" and len(lone):
        k = int(lone[0])
        which = "one row" if moments.rows[k] == 1 else f"{moments.rows[k]} rows that are all equal"
        raise DataError(
            f"Class {shown(blocks.design.levels[k])} has {which}, and the class has no other when they are "
            "left out, so that no bandwidth has a likelihood above zero: give bandwidth=, or pass "
            'select="error".'
        )


def refuse_fine(fit: KernelDensityFit, blocks: Blocks, radii: Floats) -> None:
    """Raise a DataError for bandwidths (K, t) by class that rounding does not tell from zero."""
    least = fit.resolution()
    fine = np.argwhere(radii < least[:, None])
    if len(fine):
        k, i = fine[0].tolist()
        raise DataError(
            f"A bandwidth of {radii[k, i]:.3g} is too small: distances between rows of class "
            f"{shown(blocks.design.levels[k])} are known to {least[k]:.2g} only. Give a larger one."
        )


def equal_rows(x: Floats, weights: Floats | None) -> Codes | None:
    """A number (n,) of each row that rows equal to it share; None where all differ and none counts twice."""
    _, groups = np.unique(x, axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    alone = groups.max(initial=-1) + 1 == len(x) and (weights is None or bool((weights <= 1).all()))
    return None if alone else groups


def chosen(
    fit: KernelDensityFit, rows: tuple[Floats, Codes, Floats | None], search: Search
) -> tuple[KernelDensityFit, pd.DataFrame]:
    """The fit with the bandwidth of most likelihood or least error of rows left out, and the path of all.

    Rows that are equal are left out together.

    Raises
    ------
    DataError
        No bandwidth has a likelihood above zero.
    """
    x, codes, weights = rows
    typical = float(np.exp(np.log(fit.normal_radii()).mean())) * fit.typical_deviation()
    grid = list(TRIED * typical) if search.grid is None else list(search.grid)
    k, w = len(fit.prior), np.ones(len(x)) if weights is None else weights
    wrong, llf = np.zeros((len(grid), k)), np.zeros(len(grid))
    log_prior = logs_of_prior(fit.prior)
    member = np.equal(codes[:, None], np.arange(k)) * w[:, None]
    groups = equal_rows(x, weights)
    with late_bar(len(grid), "choice of a bandwidth") as tell:
        for i, radius in enumerate(grid):
            scores = fit.with_radii(np.full(k, radius), "chosen").left_out(log_prior, x, codes, groups)
            # A row that no kernel reaches has no class, and is wrong.
            wrong[i] = (best_class(scores) != codes) @ member
            own = scores[np.arange(len(x)), codes] - log_prior[codes]
            llf[i] = float(w @ own)
            tell(1)
    path = error_path("bandwidth", grid, wrong, fit.moments.counts, fit.prior, sampled=fit.estimated_prior)
    path["llf"] = llf
    path.attrs["equal_rows"] = 0.0 if groups is None else float(w[np.bincount(groups, w)[groups] > 1].sum())
    if search.select == "error":
        best = largest_as_good(path)
    else:
        if not np.isfinite(llf).any():
            raise DataError(
                "At each bandwidth of the grid some row has no other of its class within reach, but for rows "
                "that are equal to it, so that no likelihood is above zero: give larger ones in grid=, or "
                'pass select="error".'
            )
        best = grid[int(np.nanargmax(llf))]
    return fit.with_radii(np.full(k, float(best)), "chosen"), path


def _left_out(fit: Fit[KernelDensityFit]) -> Floats:
    x, codes, _ = weighted_rows(fit.rows("leave_one_out()"))
    return fit.numbers.left_out(fit.log_prior(), x, codes)


MODEL = Model(
    "kernel_density",
    "Kernel density discriminant analysis",
    likelihood_of="none",
    no_fit=("the covariance of the metric is singular, or a class has no row", 'metric="euclidean"'),
)


def kernel_density_fit(
    numbers: KernelDensityFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    search: Search | None = None,
    path: pd.DataFrame | None = None,
) -> Fit[KernelDensityFit]:
    """Kernel densities as one value; `search` and `path` are those of a choice of the bandwidth."""
    refits = replace(moment_refits(None), of_rows=_held_rule, held=_held_rule, left_out=_left_out)
    if search is not None:
        refits = replace(refits, of_rows=partial(_chosen_rule, search), chosen="the bandwidth")
    cache = {} if path is None else {"path": path}
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows, cache)


def _refitted(fit: Fit[KernelDensityFit], blocks: Blocks) -> tuple[KernelDensityFit, Any] | None:
    rows = weighted_rows(blocks)
    refit = fit.numbers.refit(*rows)
    return None if refit is None else (refit, rows)


def _held_rule(fit: Fit[KernelDensityFit], blocks: Blocks) -> KernelRule | None:
    found = _refitted(fit, blocks)
    return None if found is None else found[0].rule(fit.log_prior())


def _chosen_rule(search: Search, fit: Fit[KernelDensityFit], blocks: Blocks) -> KernelRule | None:
    found = _refitted(fit, blocks)
    if found is None:
        return None
    try:
        refit, _ = chosen(*found, search)
    except DataError:
        return None
    return refit.rule(fit.log_prior())


def _from_file(moments: ClassMoments, prior: Floats, **held: Any) -> KernelDensityFit:
    """The fit that a file is of.

    Raises
    ------
    DataError
        An option is none, or the rows are not as many as their classes have.
    """
    for name, words in (
        ("kernel", ("normal", *KERNELS)),
        ("metric", ("mahalanobis", "diagonal", "euclidean")),
        ("rule_of_radii", ("given", "normal", "chosen")),
    ):
        check_word(name, held[name], words)
    sizes, roots = held["sizes"], held.get("roots", held.get("deviations"))
    whole = (sizes >= 1).all() and (sizes % 1 == 0).all()
    if not whole or not sizes.sum() == len(held["points"]) == len(held["weights"]):
        raise DataError("The rows are not as many as their classes have: save the fit again.")
    if roots is None or (roots.ndim == 3) != (held["metric"] == "mahalanobis"):
        raise DataError("The file has no covariance of its metric: save the fit again.")
    diagonal = roots if roots.ndim == 2 else np.diagonal(roots, axis1=1, axis2=2)
    positive = all((held[name] > 0).all() for name in ("radii", "weights", "unit"))
    if not positive or not (np.abs(diagonal) > 0).all():
        raise DataError("A bandwidth, a weight or a spread of the file is not above 0: save the fit again.")
    fit = kernel_from_file(moments, prior, **held)
    if (fit.radii < fit.resolution()).any():
        raise DataError("A bandwidth of the file is below the rounding of distances: save the fit again.")
    return fit


SAVED = Saved(
    {
        "kernel": (str,),
        "metric": (str,),
        "common": (bool,),
        "rule_of_radii": (str,),
        "estimated_prior": (bool,),
    },
    "diagonal",
    _from_file,
    kernel_density_fit,
    KernelDensityFit.buffers,
    lambda k, p: {
        "radii": (k,),
        "sizes": (k,),
        "points": (-1, p),
        "weights": (-1,),
        "centres_of_rows": (k, p),
        "unit": (p,),
    },
    lambda k, p: {"roots": (k, p, p), "deviations": (k, p)},
    constant=True,
    # Kernels that end at a radius reach no class mean where no row is near it.
    scored_at_means=False,
)
