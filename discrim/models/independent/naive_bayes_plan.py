"""From the options of `naive_bayes` to what each column is, and errors where a density does not exist.

Moments and tally of columns that rows miss: each is gathered from the rows that have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.independent.kernel_density import FACTORS
from discrim.core.independent.naive_bayes import NaiveBayesFit, has_variances
from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.scatter.covariance import dependencies
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.frame.levels import boolean_terms, term_levels
from discrim.models.fits.reading import (
    check_word,
    class_moments,
    is_number,
    listed,
    present_classes,
    refuse_extreme,
    said_of_separation,
    warn_of_weights,
    without_constants,
)
from discrim.models.normal.normal_fits import drop_hint, some_of

NORMAL, TABLE, KERNEL, COUNT = range(4)

SMOOTHING = 1e-9
"""scikit-learn's `var_smoothing`."""


class Options(NamedTuple):
    """Options of `naive_bayes` as they were given."""

    kernel: Any
    bandwidth: Any
    counts: Any
    laplace: Any
    smoothing: Any
    method: str
    unseen: str
    missing: str | None = None


def plan_of(blocks: Blocks, options: Options) -> ColumnPlan:
    """What each column of a `level_design` is.

    Raises
    ------
    DataError
        An option names no column, or one of another kind, or is no number where it should be one; a count is
        negative.
    """
    check_word("method", options.method, ("moment", "mle"))
    check_word("unseen", options.unseen, ("raise", "missing"))
    terms = list(blocks.terms)
    levels = term_levels(blocks.design)
    families = np.array([NORMAL if each is None else TABLE for each in levels], dtype=np.intp)
    sizes = np.array([0 if each is None else len(each) for each in levels], dtype=np.intp)
    for name in boolean_terms(blocks.design):
        families[terms.index(name)], sizes[terms.index(name)] = TABLE, 2
    for family, what, wanted in ((COUNT, "counts", options.counts), (KERNEL, "kernel", options.kernel)):
        families[_wanted(what, wanted, terms, families)] = family
    columns = set(blocks.design.columns)
    made = [terms[j] for j in np.flatnonzero(families == COUNT) if terms[j] not in columns]
    if made:
        raise DataError(
            f"counts= takes columns of the table as they stand, and {listed(made)} is computed: compute "
            "the column before the fit."
        )
    rule, given = _bandwidths(options.bandwidth, terms, families)
    laplace = _number("laplace", options.laplace, "what is added to each count")
    smoothing = _number("smoothing", options.smoothing, "a share of the largest variance")
    return ColumnPlan(families, sizes, given, rule, laplace, smoothing, options.method, options.unseen)


def _wanted(
    what: str, wanted: Any, terms: list[str], families: NDArray[np.intp]
) -> list[int] | NDArray[np.intp]:
    """Positions of the columns that an option names: all that are still normal for True."""
    if isinstance(wanted, bool | np.bool_):
        return np.flatnonzero((families == NORMAL) & bool(wanted))
    asked_for = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(asked_for, Sequence) or not all(isinstance(name, str) for name in asked_for):
        raise DataError(f"{what}={wanted!r}: give True, or a list of the columns that are meant.")
    numeric = [term for term, family in zip(terms, families, strict=True) if family == NORMAL]
    place = {term: j for j, term in enumerate(terms)}
    for name in asked_for:
        if name in place and families[place[name]] != NORMAL:
            kind = "in counts=, too" if families[place[name]] == COUNT else "categorical"
            raise DataError(f"{what}= names {name!r}, which is {kind}: leave it out of one of the two.")
        if name not in place:
            raise DataError(
                f"{what}= names {name!r}, which is no numeric column of the fit: {listed(numeric)}."
            )
    return [place[name] for name in asked_for]


def _bandwidths(
    bandwidth: Any, terms: list[str], families: NDArray[np.intp]
) -> tuple[str, NDArray[np.float64]]:
    """The rule, and the bandwidth (p,) given for each column, 0 for those by the rule."""
    given = np.zeros(len(terms))
    kernels = [terms[j] for j in np.flatnonzero(families == KERNEL)]
    if isinstance(bandwidth, str):
        check_word("bandwidth", bandwidth, tuple(FACTORS))
    if not kernels and not (isinstance(bandwidth, str) and bandwidth == "nrd0"):
        raise DataError(
            f"bandwidth={bandwidth!r} goes with kernel densities, and no column has one: name its "
            "columns in kernel=, or leave bandwidth= out."
        )
    if isinstance(bandwidth, str):
        return bandwidth, given
    wanted = bandwidth if isinstance(bandwidth, Mapping) else dict.fromkeys(kernels, bandwidth)
    for name, value in wanted.items():
        if name not in kernels:
            raise DataError(
                f"bandwidth= names {name!r}, which has no kernel density: kernel= makes one of "
                f"{listed(kernels)}. Name the column there too."
            )
        if not (is_number(value) and 0 < value < np.inf):
            raise DataError(
                f"bandwidth={value!r} of {name!r}: give a number above 0, or one of {listed(FACTORS)}."
            )
        given[terms.index(name)] = float(value)
    return "nrd0", given


def _number(name: str, value: Any, what: str) -> float:
    if not (is_number(value) and 0 <= value < np.inf):
        raise DataError(f"{name}={value!r}: give {what}, a number from 0 on.")
    return float(value)


def refuse_no_density(moments: ClassMoments, tally: Tally, blocks: Blocks) -> None:
    """Raise a CollinearError that names class and column where a density but of kernels does not exist."""
    plan, terms, levels = tally.plan, np.array(blocks.terms, dtype=object), blocks.design.levels
    if len(plan.normal):
        names, own = tuple(terms[plan.normal]), moments.columns(plan.normal)
        if tally.available is not None:
            _refuse_single(tally.available[:, plan.normal], names, levels, plan)
        _refuse_no_variance(own, names, levels, plan)
    empty = tally.sums.sum(axis=1) + plan.laplace <= 0
    if len(plan.counts) and empty.any():
        raise CollinearError(
            f"The counts {listed(terms[plan.counts])} are all zero in class {levels[int(empty.argmax())]!r}: "
            "pass laplace=1, for example, or leave the class out."
        )


def _refuse_single(
    available: NDArray[np.float64], terms: tuple[str, ...], levels: Sequence[Any], plan: ColumnPlan
) -> None:
    """Raise a CollinearError where too few rows of a class have a column for its variance."""
    single = available <= (1 if plan.method == "moment" else 0)
    if single.any():
        k, j = np.argwhere(single)[0]
        raise CollinearError(
            f"{terms[j]!r} has values in rows of class {levels[k]!r} that weigh {available[k, j]:g} "
            'together, too few for a variance: leave the column out, or pass method="mle" with '
            f"smoothing={SMOOTHING:g}."
        )


def refuse_no_bandwidth(fit: NaiveBayesFit, blocks: Blocks) -> None:
    """Raise a CollinearError that names classes and columns where a kernel density has no bandwidth."""
    lacking = fit.without_bandwidth()
    if not lacking.any():
        return
    names = [blocks.terms[j] for j in fit.plan.kernels]
    counts, rows = fit.moments.counts, fit.moments.rows
    light = (counts <= 1) & (rows > 1) & lacking.any(axis=1)
    if light.any():
        k = int(light.argmax())
        raise CollinearError(
            f"The rows of class {blocks.design.levels[k]!r} have weights that sum to {counts[k]:g}, and a "
            "bandwidth by a rule takes more than one row: pass weights that count rows, for example divided "
            f"by their mean, or give the bandwidths, as in bandwidth={{{names[0]!r}: ...}}."
        )
    said = [
        f"{listed(name for name, none in zip(names, own, strict=True) if none)} "
        f"{'has' if own.sum() == 1 else 'have'} one row or one value only in class {label!r}"
        for label, own in zip(blocks.design.levels, lacking, strict=True)
        if own.any()
    ]
    given = ", ".join(f"{names[j]!r}: ..." for j in np.flatnonzero(lacking.any(axis=0)))
    raise CollinearError(
        f"{some_of(said, 'classes')}, too few for a bandwidth: give one, as in bandwidth={{{given}}}, or "
        "leave such columns out."
    )


def _refuse_no_variance(
    moments: ClassMoments, terms: tuple[str, ...], levels: Sequence[Any], plan: ColumnPlan
) -> None:
    said: list[str] = []
    gone: set[int] = set()
    few = light = False
    for k, label in enumerate(levels):
        count = moments.counts[k]
        if count <= 1 and plan.method == "moment":
            few = True
            light = light or moments.rows[k] != count
            has = f"has weights that sum to {count:g}" if moments.rows[k] != count else "has 1 row"
            said.append(f"class {label!r} {has}, too few for a variance, which takes more than one")
            continue
        found = [] if plan.smoothing else dependencies(moments, k, diagonal=True)
        if found:
            gone |= {each.column for each in found}
            one = len(found) == 1
            still = listed(terms[each.column] for each in found)
            said.append(f"{still} {'is' if one else 'are'} constant in class {label!r}")
    if said:
        text = some_of(said, "classes")
        smoothing = f"smoothing={plan.smoothing or SMOOTHING:g}"
        counted = ", or weights that count rows, for example divided by their mean" if light else ""
        way_out = (
            f'pass method="mle" with {smoothing}{counted}'
            if few
            else f"pass {smoothing}, this share of the largest variance being added to each (scikit-learn's)"
        )
        tells = said_of_separation(moments, tuple(terms))
        hint = "" if few or tells else drop_hint([terms[j] for j in sorted(gone)], len(terms))
        raise CollinearError(
            f"{text[0].upper()}{text[1:]}: a normal density needs a variance.{tells} "
            f"{way_out[0].upper()}{way_out[1:]}{hint}."
        )
    if plan.smoothing and not has_variances(moments, plan):
        raise CollinearError(
            f"smoothing={plan.smoothing:g} of the largest variance leaves a variance of {listed(terms)} at "
            "zero or infinite: no column varies, the share is too small or too large, or the columns' units "
            "are too far apart. Give another share, or columns of like units."
        )


def available_rows(blocks: Blocks) -> Blocks:
    """Blocks of all rows with a class, whatever else they miss."""
    return replace(blocks, partial=True, incomplete=True)


def usable_available(blocks: Blocks, plan: ColumnPlan) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks of all rows with a class, without empty classes and constant columns, moments and tally.

    Raises
    ------
    DataError
        No row has a class, or those of one only; a class has no value of a column.
    CollinearError
        Every column is constant.
    """
    blocks = available_rows(blocks)
    levels, terms = blocks.design.levels, blocks.terms
    moments, tally = gather_available(blocks, plan)
    if not moments.total:
        raise DataError(
            f"No row is left: each of the {blocks.table.nrows} rows misses the response "
            f"{blocks.design.response!r}, or its weight. Give rows with a class."
        )
    if blocks.weighted:
        warn_of_weights(moments, whole=blocks.has_whole_weights())
    blocks, moments = present_classes(blocks, moments)
    if len(blocks.design.levels) < len(levels):
        tally = tally.classes(np.array([levels.index(level) for level in blocks.design.levels]))
    _refuse_bare(blocks, tally)
    refuse_extreme(moments, blocks.terms)
    dropped = blocks.dropped
    # Without rows to look for again, columns are taken out of the moments as they are.
    blocks, moments = without_constants(replace(blocks, dropped=0), moments, held=plan.counts.tolist())
    if blocks.constant:
        tally = tally.columns(np.array([terms.index(term) for term in blocks.terms]))
    return replace(blocks, dropped=dropped), moments, tally


def gather_available(blocks: Blocks, plan: ColumnPlan) -> tuple[ClassMoments, Tally]:
    """Diagonal moments and tally of rows with a class, each column's of the rows that have it.

    One pass finds the columns that the same rows miss, and one gathers each group of these.
    """
    blocks = blocks.with_classes()
    k, p = len(blocks.design.levels), len(blocks.terms)
    counts, rows, patterns = _rows_and_patterns(blocks)
    used = np.where(_used(blocks), blocks.codes, -1)
    shape = (k, p)
    parts: dict[str, Floats] = {name: np.zeros(shape) for name in ("centres", "rests", "scatters")}
    scale, tally = np.ones(p), Tally(plan, k)
    tally.available = np.zeros(shape)
    for columns in patterns:
        own = replace(blocks.with_codes(used), partial=False, incomplete=False).columns(columns.tolist())
        part = Tally(plan.columns(columns), k)
        found = class_moments(own, "diagonal", part.watch)
        for name, values in parts.items():
            values[:, columns] = getattr(found, name)
        scale[columns], tally.available[:, columns] = found.scale, found.counts[:, None]
        _place(tally, part, columns)
    blocks.dropped = blocks.table.nrows - int((used >= 0).sum())
    return ClassMoments(counts, rows, scale=scale, **parts), tally


def _used(blocks: Blocks) -> NDArray[np.bool_]:
    used = blocks.codes >= 0
    return used if blocks.weights is None else used & ~np.isnan(blocks.weights)


def _rows_and_patterns(blocks: Blocks) -> tuple[Floats, NDArray[np.int64], list[NDArray[np.intp]]]:
    """Weights (K,) and rows (K,) of the classes, and the columns in groups that the same rows miss."""
    used, weights = _used(blocks), blocks.weights
    k = len(blocks.design.levels)
    own = None if weights is None else weights[used]
    codes = blocks.codes[used]
    counts = np.bincount(codes, own, k).astype(np.float64)
    rows = np.bincount(codes if own is None else codes[own > 0], minlength=k)
    marks: list[Any] = [hashlib.blake2b() for _ in blocks.terms]
    for place, x, missing in blocks.every_row():
        if missing is None or not missing.any():
            continue
        lost = np.isnan(x)
        for j in np.flatnonzero(lost.any(axis=0)).tolist():
            marks[j].update(place.start.to_bytes(8, "little") + np.packbits(lost[:, j]).tobytes())
    groups: dict[bytes, list[int]] = {}
    for j, mark in enumerate(marks):
        groups.setdefault(mark.digest(), []).append(j)
    return counts, rows, [np.array(columns, dtype=np.intp) for columns in groups.values()]


def _place(tally: Tally, part: Tally, columns: NDArray[np.intp]) -> None:
    """Write the tally of some columns into that of all."""
    plan, where = tally.plan, {j: i for i, j in enumerate(columns.tolist())}
    own = part.plan
    tables, kernels, sums = (
        {columns[j]: i for i, j in enumerate(kind.tolist())} for kind in (own.tables, own.kernels, own.counts)
    )
    for i, j in enumerate(plan.tables.tolist()):
        if j in where:
            tally.tables[i] = part.tables[tables[j]]
    for i, j in enumerate(plan.kernels.tolist()):
        if j in where:
            tally.values[i] = part.values[kernels[j]]
    for i, j in enumerate(plan.counts.tolist()):
        if j in where:
            tally.sums[:, i] = part.sums[:, sums[j]]


def _refuse_bare(blocks: Blocks, tally: Tally) -> None:
    """Raise a DataError that names columns without a value in some class."""
    available: Any = tally.available
    bare = ~(available > 0)
    if not bare.any():
        return
    k = int(np.argmax(bare.any(axis=1)))
    names = [blocks.terms[j] for j in np.flatnonzero(bare[k])]
    has = "has" if len(names) == 1 else "have"
    raise DataError(
        f"{listed(names)} {has} no value in class {blocks.design.levels[k]!r}, so that there is no density: "
        "leave such columns out of the formula, or the class out of the table."
    )
