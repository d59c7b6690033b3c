"""Mixtures of normals as one value: what was asked for, how it is fitted to other rows, and saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import dependencies
from discrim.core.mixtures.choice import candidates, tried_forms
from discrim.core.mixtures.em import Degenerate, Plan
from discrim.core.mixtures.forms import FORMS, form_of
from discrim.core.mixtures.left_out import left_out
from discrim.core.mixtures.mixture import MixtureFit, MixtureRule, fit_mixture, in_order, mixture_from_file
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.used_rows import weighted_rows
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.reading import class_moments, collinear_error
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.saving.saved import Saved

__all__ = [
    "MODEL",
    "SAVED",
    "Asked",
    "fitted_as_asked",
    "mixture_fit",
    "refuse_few_rows",
    "warn_if_unfinished",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWER = 'give fewer components, or covariances of fewer parameters, as covariance="pooled" or "EEE"'


@dataclass(frozen=True, slots=True)
class Asked:
    """What the verb was asked for.

    Attributes
    ----------
    sizes : tuple of K (int or None)
        Components of each class; None where BIC chooses.
    forms : tuple of K (str or None)
        Their covariances; None where BIC chooses.
    together : bool
        Whether a form is that of the components of all classes.
    most : int
        Components up to which are tried.
    plan : Plan
    """

    sizes: tuple[int | None, ...]
    forms: tuple[str | None, ...]
    together: bool
    most: int
    plan: Plan

    @property
    def chooses(self) -> bool:
        """Whether BIC chooses something."""
        return None in self.sizes or None in self.forms


def fitted_as_asked(
    asked: Asked, blocks: Blocks, moments: ClassMoments, prior: Floats, *, estimated_prior: bool
) -> tuple[MixtureFit, pd.DataFrame | None]:
    """The fit to the rows of blocks, and what BIC was computed of where it chose.

    Raises
    ------
    CollinearError
        A component becomes singular, or is left without rows, from each start.
    """
    moments, x, codes, weights = in_order(*weighted_rows(blocks), moments.n_classes)
    path = None
    if asked.chooses:
        asked, path = _chosen(asked, blocks, moments, x, codes, weights)
    sizes: Any = asked.sizes
    forms: Any = asked.forms
    with late_bar(0, "steps of EM") as tell:
        fit = fit_mixture(
            moments, x, codes, weights, prior, forms=forms, sizes=sizes, together=asked.together,
            plan=asked.plan, estimated_prior=estimated_prior, tell=tell,
        )  # fmt: skip
    if isinstance(fit, Degenerate):
        raise _collapse(fit, sizes, blocks)
    return fit, path


def _chosen(
    asked: Asked, blocks: Blocks, moments: ClassMoments, x: Floats, codes: Codes, weights: Floats | None
) -> tuple[Asked, pd.DataFrame]:
    """What BIC chooses of what was left to it, and the table of all that was tried."""
    k = moments.n_classes
    groups = [np.arange(k)] if asked.together else [np.array([c]) for c in range(k)]
    sizes, forms, tables = list(asked.sizes), list(asked.forms), []
    jobs = []
    for group in groups:
        size, form = sizes[group[0]], forms[group[0]]
        jobs.append(
            candidates(
                range(1, asked.most + 1) if size is None else [size],
                FORMS if form is None else [form],
                len(group),
            )
        )
    with late_bar(sum(len(job) for job in jobs), "choice of components") as tell:
        for group, job in zip(groups, jobs, strict=True):
            own = np.isin(codes, group)
            part = (x[own], np.searchsorted(group, codes[own]), None if weights is None else weights[own])
            tried = tried_forms(moments.classes(group), *part, job, asked.plan, tell)
            table = pd.DataFrame(tried, columns=["components", "covariance", "df", "llf", "BIC"])
            if table["BIC"].isna().all():
                _refuse_all(group, blocks)
            best = int(table["BIC"].argmin())
            for c in group:
                sizes[c], forms[c] = job[best]
            table["covariance"] = [form_of(form, size * len(group)) for size, form in job]
            table["chosen"] = np.arange(len(table)) == best
            if not asked.together:
                table.insert(0, "class", blocks.design.levels[group[0]])
            tables.append(table)
    path = pd.concat(tables, ignore_index=True)
    return replace(asked, sizes=tuple(sizes), forms=tuple(forms)), path


def _refuse_all(group: Codes, blocks: Blocks) -> None:
    levels = blocks.design.levels
    where = f"class {shown(levels[group[0]])}" if len(group) == 1 else "the classes"
    raise CollinearError(
        f"No mixture of normals has a maximum of likelihood in {where}: a covariance becomes singular with "
        "any number of components that was tried. Leave out columns that are constant there or that others "
        'determine, or give covariance="EII" or "diagonal".'
    )


def _collapse(found: Degenerate, sizes: Sequence[int], blocks: Blocks) -> CollinearError:
    """The error that names the component that was lost."""
    label = shown(blocks.design.levels[found.k])
    moments = class_moments(blocks, "class")
    alike = dependencies(moments, found.k)
    if alike and found.what == "singular":
        # Columns that determine one another in every class do so in the covariance of all classes too.
        instead = 'give covariance="EII"' if dependencies(moments) else 'give covariance="pooled" or "EII"'
        return collinear_error(alike, blocks.terms, f"within class {label}", instead=instead)
    if sizes[found.k] == 1:
        return CollinearError(
            f"The covariance of class {label} is singular: it has {found.weight:g} rows for "
            f"{len(blocks.terms)} columns, or its columns are in units too far apart for this form. Leave "
            'out columns, write standardize() around them, or give covariance="pooled" or "EII".'
        )
    became = {
        "singular": f"becomes singular as the likelihood rises, with {found.weight:.3g} rows in it",
        "narrow": (
            f"ends, with {found.weight:.3g} rows in it, less than a hundredth as wide as another one along "
            "some direction"
        ),
        "empty": "is left without rows",
    }[found.what]
    return CollinearError(
        f"Component {found.component + 1} of {sizes[found.k]} of class {label} {became}, from each start: "
        f"{FEWER}, or try another seed=."
    )


def warn_if_unfinished(fit: MixtureFit) -> None:
    """Say so where EM was ended before it converged."""
    if not fit.components.converged:
        warn_user(
            f"EM did not converge in {fit.how.maxiter} steps: give a larger maxiter=, or fewer components."
        )


def _marginal(fit: MixtureFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,), for which there is one method."""
    return fit.of_columns(log_prior, keep)


MODEL = Model(
    "mixture",
    "Mixture discriminant analysis",
    no_fit=("a component becomes singular or is left without rows", "fewer components"),
    marginal=_marginal,
)


def mixture_fit(
    numbers: MixtureFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    asked: Asked | None = None,
    path: pd.DataFrame | None = None,
) -> Fit[MixtureFit]:
    """A mixture discriminant analysis as one value; `path` is that of a choice by BIC."""
    again = _held_rule if asked is None else partial(_rule_as_asked, asked)
    refits = replace(moment_refits(None), of_rows=again, held=_held_rule, left_out=_left_out, asked=asked)
    if asked is not None and asked.chooses:
        refits = replace(refits, chosen="the components and their covariances")
    cache = {} if path is None else {"path": path}
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows, cache)


def _held_rule(fit: Fit[MixtureFit], blocks: Blocks) -> MixtureRule | None:
    """The rule of EM that begins at the components of the fit."""
    x, codes, weights = weighted_rows(blocks)
    refit = fit.numbers.refit(x, codes, weights)
    return None if refit is None else refit.rule(fit.log_prior())


def _rule_as_asked(asked: Asked, fit: Fit[MixtureFit], blocks: Blocks) -> Rule | None:
    """The rule of what was asked for, from new starts."""
    moments = class_moments(blocks, "diagonal")
    if (moments.rows < 1).any():
        return None
    try:
        held, _ = fitted_as_asked(asked, blocks, moments, fit.numbers.prior, estimated_prior=False)
    except CollinearError:
        return None
    return held.rule(fit.log_prior())


def _left_out(fit: Fit[MixtureFit]) -> LeftOut:
    left_out_by_refits(fit, "takes a run of EM a row")
    return left_out(fit.numbers, fit.log_prior(), *weighted_rows(fit.blocks))


def _from_file(
    moments: ClassMoments, prior: Floats, *, covariance: str, starts: int, seed: int, tol: float,
    maxiter: int, **held: Any,
) -> MixtureFit:  # fmt: skip
    """The fit that a file is of.

    Raises
    ------
    DataError
        The components are none, or not as many as their classes have.
    """
    forms = tuple(covariance.split(","))
    sizes = held["sizes"]
    if len(forms) != len(prior) or any(form not in FORMS for form in forms):
        raise DataError(f"covariance={covariance!r} is no form for each class: save the fit again.")
    whole = (sizes >= 1).all() and (sizes % 1 == 0).all() and sizes.sum() == len(held["shares"])
    if not whole or any(len(held[name]) != sizes.sum() for name in ("means", "roots")):
        raise DataError("The components are not as many as their classes have: save the fit again.")
    roots = np.diagonal(held["roots"], axis1=1, axis2=2)
    if not ((held["shares"] > 0).all() and (held["unit"] > 0).all() and (np.abs(roots) > 0).all()):
        raise DataError("A share, a scale or a covariance of the components is none: save the fit again.")
    plan = Plan(starts, seed, tol, maxiter)
    return mixture_from_file(moments, prior, forms=forms, plan=plan, **held)


SAVED = Saved(
    {
        "covariance": (str,),
        "together": (bool,),
        "estimated_prior": (bool,),
        "converged": (bool,),
        "starts": (int,),
        "seed": (int,),
        "tol": (float,),
        "maxiter": (int,),
    },
    "diagonal",
    _from_file,
    mixture_fit,
    MixtureFit.buffers,
    lambda k, p: {
        "sizes": (k,),
        "unit": (p,),
        "shares": (-1,),
        "means": (-1, p),
        "roots": (-1, p, p),
        "likelihoods": (2,),
    },
    lambda k, p: {"tried": (k, 2)},
    constant=True,
)


def refuse_few_rows(asked: Asked, blocks: Blocks, moments: ClassMoments) -> None:
    """Refuse classes of fewer rows than components."""
    few = [
        label
        for label, size, rows in zip(blocks.design.levels, asked.sizes, moments.rows.tolist(), strict=True)
        if size is not None and rows < size
    ]
    if few:
        raise DataError(
            f"{listed(few)} {'has' if len(few) == 1 else 'have'} fewer rows than components: give fewer "
            "components, or leave such classes out."
        )
