"""What `naive_bayes` takes of moments in the place of a table: variances, counts of levels, sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.given_moments import reduced
from discrim.core.moments.level_counts import as_columns, count_sums
from discrim.core.moments.moments import ClassMoments
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks, without_rows
from discrim.frame.categories import shown
from discrim.frame.level_codes import level_design, level_terms
from discrim.models.fits.arguments import listed
from discrim.models.independent.naive_bayes_plan import Options, plan_of
from discrim.models.moments.given import check_given, fitting
from discrim.models.moments.moments import Moments

__all__ = ["given_tally"]

Floats = NDArray[np.float64]

AVAILABLE = 'missing="available" looks at the rows that have each column: leave it out'
KERNELS = "Kernel densities are made of the rows and not of their moments: leave out kernel="


def given_tally(given: Moments, options: Options, **beside: Any) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks without rows, diagonal moments of the columns of a `level_design`, and their tally.

    Parameters
    ----------
    given : Moments
    options : Options
    **beside
        Arguments of the verb that are for tables; each has to be None.

    Raises
    ------
    DataError
        No moments, an argument that is for tables, no rows, one class only; a count below zero was met.
    NotSupportedError
        Kernel densities are asked for; the moments hold no variances by class, or no counts of levels.
    """
    why_rows = AVAILABLE if options.missing is not None else KERNELS if _asked(options.kernel) else ""
    given = check_given(given, why_rows, beside)
    given._need("Naive Bayes", "diagonal")
    design = level_design(given._design)
    blocks = without_rows(design, given._functions, weighted=given._weighted, dropped=given.dropped)
    plan = plan_of(blocks, options)
    names, _ = level_terms(design)
    if len(given._level_counts.tables) != len(names):
        raise NotSupportedError(
            f"These moments hold no counts of the levels of {listed(names)}, because a part of them "
            "comes from published statistics: add up moments of tables only, or leave such columns "
            "out."
        )
    held = _of_levels(given, blocks.terms, names)
    _refuse_negative(given, plan, blocks, held)
    tally = Tally(plan, held.n_classes)
    tally.tables, tally.sums = list(given._level_counts.tables), count_sums(held, plan.counts)
    classes, terms = design.levels, blocks.terms
    blocks, held = fitting(given, blocks, held, keep=plan.counts.tolist())
    if len(blocks.design.levels) < len(classes):
        tally = tally.classes(np.array([classes.index(level) for level in blocks.design.levels]))
    if len(blocks.terms) < len(terms):
        tally = tally.columns(np.array([terms.index(term) for term in blocks.terms]))
    return blocks, held, tally


def _asked(kernel: Any) -> bool:
    return bool(kernel) if isinstance(kernel, (bool, np.bool_, str, list, tuple)) else True


def _of_levels(given: Moments, terms: tuple[str, ...], names: tuple[str, ...]) -> ClassMoments:
    """Diagonal moments of columns that are positions of levels, as counted, or numbers, as held."""
    moments, own = reduced(given._held, "diagonal"), given._design.terms
    if not names:
        return moments
    means, squares = as_columns(given._level_counts.tables, moments.counts)
    numbers = [(j, own.index(term)) for j, term in enumerate(terms) if term not in names]
    at, source = ([pair[i] for pair in numbers] for i in (0, 1))
    levels = [terms.index(name) for name in names]
    shape = (moments.n_classes, len(terms))
    centres, rests, scatters, scale = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(len(terms))
    centres[:, at], rests[:, at] = moments.centres[:, source], moments.rests[:, source]
    scatters[:, at], scale[at] = moments.scatters[:, source], moments.scale[source]
    centres[:, levels], scatters[:, levels] = means, squares
    return replace(moments, centres=centres, rests=rests, scale=scale, scatters=scatters)


def _refuse_negative(given: Moments, plan: ColumnPlan, blocks: Blocks, held: ClassMoments) -> None:
    """Raise where a column of counts holds a value below zero, as far as moments tell."""
    below = given._held.class_means < 0
    for j in plan.counts.tolist():
        place = given._design.terms.index(blocks.terms[j])
        if not given._level_counts.negative[place] and not below[:, place].any():
            continue
        k = int(np.argmax(held.class_means[:, j] < 0))
        where = f" (its mean in class {shown(blocks.design.levels[k])} is)" if below[:, place].any() else ""
        raise DataError(
            f"Column {blocks.terms[j]!r} holds values below zero{where}, and a count is 0 or more: leave it "
            "out of counts=, or gather the moments again of corrected rows."
        )
