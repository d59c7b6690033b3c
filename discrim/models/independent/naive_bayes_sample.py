"""What naive Bayes is fitted to: the kind of each column, and moments and a tally of rows, or of moments.

A column that rows miss is gathered from the rows that have it. Where a density does not exist, the error
names the class and the column.
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
from discrim.core.moments.given_moments import with_scatter
from discrim.core.moments.level_counts import as_columns, count_sums
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.scatter.covariance import dependencies
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks, without_rows
from discrim.frame.categories import shown
from discrim.frame.levels import boolean_terms, level_design, level_terms, term_levels
from discrim.models.fits import reading
from discrim.models.fits.reading import NaAction
from discrim.models.moments.given import Sample, fitting
from discrim.models.moments.moments import Moments
from discrim.models.normal.normal_fits import drop_hint, some_of

NORMAL, TABLE, KERNEL, COUNT = range(4)

AVAILABLE = 'missing="available" looks at the rows that have each column: leave it out'
KERNELS = "Kernel densities are made of the rows and not of their moments: leave out kernel="

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


def usable_tally(blocks: Blocks, options: Options, na_action: NaAction) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks of the rows that can be used, with columns of levels, their moments and their tally."""
    blocks = replace(blocks, design=level_design(blocks.design))
    plan = plan_of(blocks, options)
    if options.missing is not None:
        return _usable_available(blocks, plan, na_action)
    blocks = blocks.with_counts(tuple(blocks.terms[j] for j in plan.counts))
    tally = Tally(plan, len(blocks.design.levels))
    classes, terms = blocks.design.levels, blocks.terms
    # Beside others a constant count has its share of their sum.
    blocks, moments = reading.usable_rows(
        blocks, "diagonal", na_action, tally.watch, held=plan.counts.tolist()
    )
    if not blocks.constant:
        return blocks, moments, _tally_of_present(tally, classes, blocks)
    constant = set(blocks.constant)
    kept = [j for j, term in enumerate(terms) if term not in constant]
    tally = Tally(plan.columns(np.array(kept)), len(blocks.design.levels))
    return blocks, reading.class_moments(blocks, "diagonal", tally.watch), tally


def _tally_of_present(tally: Tally, classes: Sequence[Any], blocks: Blocks) -> Tally:
    """The tally of the classes that are left of those before."""
    present = blocks.design.levels
    return tally if len(present) == len(classes) else tally.classes(np.array([*map(classes.index, present)]))


def given_tally(sample: Sample, options: Options) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks without rows, diagonal moments of the columns of a `level_design`, and their tally."""
    kernel = options.kernel
    has_kernels = bool(kernel) if isinstance(kernel, bool | np.bool_ | str | list | tuple) else True
    given = sample.checked_moments(
        AVAILABLE if options.missing is not None else KERNELS if has_kernels else ""
    )
    given._need("Naive Bayes", "diagonal")
    design = level_design(given._design)
    blocks = without_rows(design, given._functions, weighted=given._weighted, dropped=given.dropped)
    plan = plan_of(blocks, options)
    names, _ = level_terms(design)
    if len(given._level_counts.tables) != len(names):
        raise NotSupportedError(
            f"These moments hold no counts of the levels of {reading.listed(names)}, because a part of them "
            "comes from published statistics: add up moments of tables only, or leave such columns "
            "out."
        )
    moments = _moments_of_levels(given, blocks.terms, names)
    _refuse_negative(given, plan, blocks, moments)
    tally = Tally(plan, moments.n_classes)
    tally.tables, tally.sums = list(given._level_counts.tables), count_sums(moments, plan.counts)
    classes, terms = design.levels, blocks.terms
    blocks, moments = fitting(given, blocks, moments, keep=plan.counts.tolist())
    tally = _tally_of_present(tally, classes, blocks)
    if len(blocks.terms) < len(terms):
        tally = tally.columns(np.array([terms.index(term) for term in blocks.terms]))
    return blocks, moments, tally


def _moments_of_levels(given: Moments, terms: tuple[str, ...], names: tuple[str, ...]) -> ClassMoments:
    """Diagonal moments of columns that are positions of levels, as counted, or numbers, as given."""
    moments, given_terms = with_scatter(given._moments, "diagonal"), given._design.terms
    if not names:
        return moments
    means, squares = as_columns(given._level_counts.tables, moments.counts)
    numeric = [j for j, term in enumerate(terms) if term not in names]
    source = [given_terms.index(terms[j]) for j in numeric]
    levels = [terms.index(name) for name in names]
    shape = (moments.n_classes, len(terms))
    centres, rests, scatters, scale = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(len(terms))
    centres[:, numeric], rests[:, numeric] = moments.centres[:, source], moments.rests[:, source]
    scatters[:, numeric], scale[numeric] = moments.scatters[:, source], moments.scale[source]
    centres[:, levels], scatters[:, levels] = means, squares
    return replace(moments, centres=centres, rests=rests, scale=scale, scatters=scatters)


def _refuse_negative(given: Moments, plan: ColumnPlan, blocks: Blocks, moments: ClassMoments) -> None:
    """Raise where a column of counts holds a value below zero, as far as moments tell."""
    below = given._moments.class_means < 0
    for j in plan.counts.tolist():
        place = given._design.terms.index(blocks.terms[j])
        if not given._level_counts.negative[place] and not below[:, place].any():
            continue
        k = int(np.argmax(moments.class_means[:, j] < 0))
        where = f" (its mean in class {shown(blocks.design.levels[k])} is)" if below[:, place].any() else ""
        raise DataError(
            f"Column {blocks.terms[j]!r} holds values below zero{where}, and a count is 0 or more: leave it "
            "out of counts=, or gather the moments again of corrected rows."
        )


def plan_of(blocks: Blocks, options: Options) -> ColumnPlan:
    """What each column of a `level_design` is."""
    reading.check_word("method", options.method, ("moment", "mle"))
    reading.check_word("unseen", options.unseen, ("raise", "missing"))
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
            f"counts= takes columns of the table as they stand, and {reading.listed(made)} is computed: "
            "compute the column before the fit."
        )
    rule, given = _bandwidths(options.bandwidth, terms, families)
    laplace = reading.check_number("laplace", options.laplace, 0)
    smoothing = reading.check_number("smoothing", options.smoothing, 0)
    return ColumnPlan(families, sizes, given, rule, laplace, smoothing, options.method, options.unseen)


def _wanted(
    what: str, wanted: Any, terms: list[str], families: NDArray[np.intp]
) -> list[int] | NDArray[np.intp]:
    """Positions of the columns that an option names: all that are still normal for True."""
    if isinstance(wanted, bool | np.bool_):
        return np.flatnonzero((families == NORMAL) & bool(wanted))
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{what}={wanted!r}: give True, or a list of the columns that are meant.")
    numeric = [term for term, family in zip(terms, families, strict=True) if family == NORMAL]
    place = {term: j for j, term in enumerate(terms)}
    for name in names:
        if name in place and families[place[name]] != NORMAL:
            kind = "in counts=, too" if families[place[name]] == COUNT else "categorical"
            raise DataError(f"{what}= names {name!r}, which is {kind}: leave it out of one of the two.")
        if name not in place:
            raise DataError(
                f"{what}= names {name!r}, which is no numeric column of the fit: {reading.listed(numeric)}."
            )
    return [place[name] for name in names]


def _bandwidths(
    bandwidth: Any, terms: list[str], families: NDArray[np.intp]
) -> tuple[str, NDArray[np.float64]]:
    """The rule, and the bandwidth (p,) given for each column, 0 for those by the rule."""
    given = np.zeros(len(terms))
    kernels = [terms[j] for j in np.flatnonzero(families == KERNEL)]
    if isinstance(bandwidth, str):
        reading.check_word("bandwidth", bandwidth, tuple(FACTORS))
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
                f"{reading.listed(kernels)}. Name the column there too."
            )
        also = f" for {name!r}, or one of {reading.listed(FACTORS)}"
        given[terms.index(name)] = reading.check_number("bandwidth", value, 0, ends="()", also=also)
    return "nrd0", given


def refuse_no_density(moments: ClassMoments, tally: Tally, blocks: Blocks) -> None:
    """Raise a CollinearError that names class and column where a density but of kernels does not exist."""
    plan, terms, levels = tally.plan, np.array(blocks.terms, dtype=object), blocks.design.levels
    if len(plan.normal):
        names = tuple(terms[plan.normal])
        if tally.available is not None:
            _refuse_single(tally.available[:, plan.normal], names, levels, plan)
        _refuse_no_variance(moments.columns(plan.normal), names, levels, plan)
    empty = tally.sums.sum(axis=1) + plan.laplace <= 0
    if len(plan.counts) and empty.any():
        raise CollinearError(
            f"The counts {reading.listed(terms[plan.counts])} are all zero in class "
            f"{levels[int(empty.argmax())]!r}: pass laplace=1, for example, or leave the class out."
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
        f"{reading.listed(name for name, none in zip(names, bare, strict=True) if none)} "
        f"{'has' if bare.sum() == 1 else 'have'} one row or one value only in class {label!r}"
        for label, bare in zip(blocks.design.levels, lacking, strict=True)
        if bare.any()
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
    constant: set[int] = set()
    few = light = False
    for k, label in enumerate(levels):
        count = moments.counts[k]
        if count <= 1 and plan.method == "moment":
            few = True
            light = light or moments.rows[k] != count
            has = f"has weights that sum to {count:g}" if moments.rows[k] != count else "has 1 row"
            said.append(f"class {label!r} {has}, too few for a variance, which takes more than one")
            continue
        here = [] if plan.smoothing else [each.column for each in dependencies(moments, k, diagonal=True)]
        if here:
            constant.update(here)
            verb = "is" if len(here) == 1 else "are"
            said.append(f"{reading.listed(terms[j] for j in here)} {verb} constant in class {label!r}")
    if said:
        text = some_of(said, "classes")
        smoothing = f"smoothing={plan.smoothing or SMOOTHING:g}"
        counted = ", or weights that count rows, for example divided by their mean" if light else ""
        way_out = (
            f'pass method="mle" with {smoothing}{counted}'
            if few
            else f"pass {smoothing}, this share of the largest variance being added to each (scikit-learn's)"
        )
        tells = reading.said_of_separation(moments, tuple(terms))
        hint = "" if few or tells else drop_hint([terms[j] for j in sorted(constant)], len(terms))
        raise CollinearError(
            f"{text[0].upper()}{text[1:]}: a normal density needs a variance.{tells} "
            f"{way_out[0].upper()}{way_out[1:]}{hint}."
        )
    if plan.smoothing and not has_variances(moments, plan):
        raise CollinearError(
            f"smoothing={plan.smoothing:g} of the largest variance leaves a variance of "
            f"{reading.listed(terms)} at zero or infinite: no column varies, the share is too "
            "small or too large, or the columns' units are too far apart. Give another share, or columns of "
            "like units."
        )


def _usable_available(
    blocks: Blocks, plan: ColumnPlan, na_action: NaAction
) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks of all rows with a class, whatever else they miss, but of no empty class or constant column."""
    reading.check_word("na_action", na_action, ("drop", "raise"))
    if na_action == "raise":
        raise DataError(
            'na_action="raise" refuses the missing values that missing="available" is for: leave one out.'
        )
    if len(plan.counts):
        raise NotSupportedError(
            'counts= follow a multinomial given their sum, and with missing="available" a row may '
            "have no sum: leave counts= out, fill the counts, or fit the complete rows."
        )
    blocks = replace(blocks, partial=True, incomplete=True)
    classes, terms = blocks.design.levels, blocks.terms
    moments, tally = gather_available(blocks, plan)
    if not moments.total:
        raise DataError(
            f"No row is left: each of the {blocks.table.nrows} rows misses the response "
            f"{blocks.design.response!r}, or its weight. Give rows with a class."
        )
    if blocks.weighted:
        reading.warn_of_weights(moments, whole=blocks.has_whole_weights())
    blocks, moments = reading.present_classes(blocks, moments)
    tally = _tally_of_present(tally, classes, blocks)
    _refuse_bare(blocks, tally)
    reading.refuse_extreme(moments, blocks.terms)
    dropped = blocks.dropped
    # Without rows to look for again, columns are taken out of the moments as they are.
    blocks, moments = reading.without_constants(replace(blocks, dropped=0), moments)
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
        group = replace(blocks.with_codes(used), partial=False, incomplete=False).columns(columns.tolist())
        part = Tally(plan.columns(columns), k)
        moments = reading.class_moments(group, "diagonal", part.watch)
        for name, values in parts.items():
            values[:, columns] = getattr(moments, name)
        scale[columns], tally.available[:, columns] = moments.scale, moments.counts[:, None]
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
    used_weights, codes = None if weights is None else weights[used], blocks.codes[used]
    counts = np.bincount(codes, used_weights, k).astype(np.float64)
    rows = np.bincount(codes if used_weights is None else codes[used_weights > 0], minlength=k)
    marks: list[Any] = [hashlib.blake2b() for _ in blocks.terms]
    for place, x, missing in blocks.every_row():
        if missing is None or not missing.any():
            continue
        nan = np.isnan(x)
        for j in np.flatnonzero(nan.any(axis=0)).tolist():
            marks[j].update(place.start.to_bytes(8, "little") + np.packbits(nan[:, j]).tobytes())
    groups: dict[bytes, list[int]] = {}
    for j, mark in enumerate(marks):
        groups.setdefault(mark.digest(), []).append(j)
    return counts, rows, [np.array(columns, dtype=np.intp) for columns in groups.values()]


def _place(tally: Tally, part: Tally, columns: NDArray[np.intp]) -> None:
    """Write the tally of some columns into that of all."""
    for i, j in enumerate(columns[part.plan.tables].tolist()):
        tally.tables[tally.plan.tables.tolist().index(j)] = part.tables[i]
    for i, j in enumerate(columns[part.plan.kernels].tolist()):
        tally.values[tally.plan.kernels.tolist().index(j)] = part.values[i]
    for i, j in enumerate(columns[part.plan.counts].tolist()):
        tally.sums[:, tally.plan.counts.tolist().index(j)] = part.sums[:, i]


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
        f"{reading.listed(names)} {has} no value in class {blocks.design.levels[k]!r}, so that there is no "
        "density: leave such columns out of the formula, or the class out of the table."
    )
