"""Each pair of columns with a fit of its own: how well two columns alone tell the classes apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import Rule, best_class
from discrim.errors import CollinearError, DataError, NotSupportedError, SeparationError
from discrim.models.fits.arguments import listed, told
from discrim.models.fits.prediction import Decision, predicted_codes
from discrim.models.fits.refits import rule_of_rows
from discrim.models.pictures.rows import needed_rows

if TYPE_CHECKING:
    from discrim.frame.blocks import Blocks
    from discrim.models.fits.fit import Fit
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["partition"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SHOWN, MOST = 4, 6
"""Columns that are drawn where none are named, and the most that can be."""


def partition(results: Any, asked: Asked) -> Axes:
    """Regions of fits to two columns alone, a panel for each pair, with their error rates.

    The model is fitted again to each pair, with the fit's prior and options, as klaR's partimat does. The
    error rate is that on the rows drawn: the apparent one, unless they are new.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> outer = fit.plot("partition", columns=("sepal_length", "petal_length", "petal_width"))
    >>> [panel.get_title() for panel in outer.child_axes]
    ['error rate 0.033', 'error rate 0.040', 'error rate 0.040']
    """
    from discrim.report.plots.regions import draw_plane
    from discrim.report.plots.triangle import finish, triangle

    fit = results._fit
    blocks = fit.rows('kind="partition"')
    if blocks.source is not None:
        fit.drawn_rows()
    names, every = _columns(fit, blocks, asked)
    rows = needed_rows(fit, asked, "partition")
    signs, classes = asked.signs(list(fit.classes)), list(fit.classes)
    which = "apparent error rates" if asked.data is None else "error rates on the new rows"
    some = (
        f"; {len(names)} of {len(every)} columns" if asked.columns is None and len(every) > len(names) else ""
    )
    title = f"{fit.title} of each pair of columns alone, with {which}{some}"
    outer, place = triangle(asked.ax, names, classes, signs)
    terms = list(blocks.terms)
    shown, codes = rows.blocks, rows.codes
    for i, j in combinations(range(len(names)), 2):
        keep = [terms.index(names[i]), terms.index(names[j])]
        order = np.argsort(keep)
        pair, held = blocks.columns(sorted(keep)), shown.columns(sorted(keep))
        rule = _rule_of_pair(fit, pair)
        points = _matrix_of(held)[:, np.argsort(order)]
        if rule is None:
            place[i, j].set_title("no fit to these two", fontsize="small")
            place[i, j].set_axis_off()
            continue
        wrong, rate = _errors(rule, held, codes, len(classes))
        known = points[(codes >= 0) & np.isfinite(points).all(axis=1)]
        limits = [_limits(column) for column in known.T]
        draw_plane(
            _classified(rule, order),
            (limits[0], limits[1]),
            (names[i], names[j]),
            points,
            codes,
            classes,
            ax=place[i, j],
            signs=signs,
            title=f"error rate {rate:.3f}",
            wrong=wrong,
            panel=True,
        )
    return finish(outer, place, title)


def _rule_of_pair(fit: Fit[Any], pair: Blocks) -> Rule | None:
    """The rule of a fit to two columns, with what the rows were asked to choose held; None for none."""
    try:
        return rule_of_rows(fit, pair, held=bool(fit.refits.chosen))
    except (CollinearError, SeparationError):
        return None


def _classified(rule: Rule, order: Codes) -> Callable[[Floats], Codes]:
    """From points of a panel to the classes that a rule of the two columns, in their own order, gives."""
    return lambda plane: best_class(rule.scores(plane[:, order]))


def _columns(fit: Fit[Any], blocks: Blocks, asked: Asked) -> tuple[list[str], list[str]]:
    """Terms to draw, and all that can be: those of numbers."""
    design = blocks.design
    truths = set(design.boolean_columns)
    every = [name for name in blocks.terms if name not in truths]
    if design.spec is not None:
        levels = [factor.levels is not None for factor in design.spec.factors]
        stop = 0
        numbers: set[str] = set()
        for product in design.spec.products:
            start, stop = stop, stop + int(np.prod(design.spec.widths(product)))
            if not any(levels[factor] for factor, _ in product):
                numbers.update(design.terms[start:stop])
        every = [name for name in every if name in numbers]
    if len(every) < 2:
        raise NotSupportedError(
            "kind='partition' draws pairs of columns of numbers, and the number of these in this fit "
            f"is {len(every)}: draw another kind."
        )
    if asked.columns is None:
        return every[:SHOWN], every
    names = [asked.columns] if isinstance(asked.columns, str) else list(asked.columns)
    unknown = [name for name in names if name not in every]
    if unknown or len(set(names)) < len(names) or not 2 <= len(names) <= MOST:
        what = f"{told(unknown[0])} is none; " if unknown else ""
        raise DataError(
            f"columns={names}: kind='partition' draws each pair of 2 to {MOST} columns of numbers: {what}"
            f"name some of {listed(every, most=20)}."
        )
    return names, every


def _matrix_of(blocks: Blocks) -> Floats:
    out = np.full((blocks.table.nrows, 2), np.nan)
    for place, x, _ in blocks.every_row():
        out[place] = x
    return out


def _errors(rule: Rule, blocks: Blocks, codes: Codes, n_classes: int) -> tuple[NDArray[np.bool_], float]:
    """Which rows (n,) are called another class, and their share by weight."""
    called = predicted_codes(blocks, rule, n_classes, Decision())
    known = (called >= 0) & (codes >= 0)
    weights = np.ones(len(codes)) if blocks.weights is None else np.nan_to_num(blocks.weights)
    wrong = known & (called != codes)
    total = float(weights[known].sum())
    return wrong, float(weights[wrong].sum()) / total if total else np.nan


def _limits(values: Floats) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    wide = 0.06 * ((high - low) or abs(low) or 1.0)
    return low - wide, high + wide
