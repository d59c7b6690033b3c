"""What every verb does first: read the table, gather its moments, settle classes and prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance import Dependency
from discrim.core.moments import ClassMoments, Spread, gather
from discrim.core.passes import Rows
from discrim.core.weights import LIGHT
from discrim.errors import CollinearError, DataError, NotSupportedError, PriorError, warn_user
from discrim.frame.blocks import Blocks

__all__ = [
    "NaAction",
    "choice",
    "class_moments",
    "collinear_error",
    "cost_matrix",
    "drop_columns",
    "is_wide",
    "named",
    "present_classes",
    "prior_vector",
    "refuse_extreme",
    "refuse_few_rows",
    "refuse_light",
    "refuse_little_weight",
    "refuse_no_freedom",
    "sample",
    "warn_of_weights",
]

Floats = NDArray[np.float64]
NaAction = Literal["drop", "raise"]
Watch = Callable[[Iterable[Rows]], Iterable[Rows]]

RANGE = (-303.0, 304.0)
"""Decimal orders of magnitude between which a column has to vary, for its inverse to be a double as well."""

EVEN = 1e-2
"""How far from one the mean of weights may lie that are no whole numbers and still count rows."""

PRIOR_SLACK = 1e-8
"""How far from one a prior may sum; it is then divided by its sum."""


def named(labels: Any, most: int = 6) -> str:
    """Labels as text for a message, the first few of them."""
    listed = list(labels)
    shown = ", ".join(repr(label) for label in listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most} more"


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise a DataError where an option is not one of the allowed words."""
    if value not in allowed:
        said = repr(value) if isinstance(value, str | int | float) else f"<{type(value).__name__}>"
        hint = " To set fits side by side, see compare()." if hasattr(value, "_blocks") else ""
        raise DataError(f"{name}={said} is not known: use one of {named(allowed)}.{hint}")


def is_number(value: Any) -> bool:
    """Whether an option is a number, which a truth value is not."""
    number = (int, float, np.integer, np.floating)
    return isinstance(value, number) and not isinstance(value, bool)


def is_share(value: Any) -> bool:
    """Whether an option is a number between 0 and 1, as a level is."""
    return is_number(value) and 0 < value < 1


def is_whole(value: Any) -> bool:
    """Whether an option is a whole number, which a truth value is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def sample(
    blocks: Blocks, spread: Spread, na_action: NaAction, watch: Watch | None = None, *, rooted: bool = True
) -> tuple[Blocks, ClassMoments]:
    """Moments of the rows that can be used, and the blocks with the classes that are there.

    Parameters
    ----------
    blocks : Blocks
    spread : {"pooled", "class", "diagonal"}
    na_action : {"drop", "raise"}
    watch : callable, optional
        Gives what the rows are read from in the place of the blocks, to see them go by.
    rooted : bool
        As for `gather`.

    Raises
    ------
    DataError
        A missing value under `na_action="raise"`, no row left, or one class only.
    """
    choice("na_action", na_action, ("drop", "raise"))
    if not blocks.terms:
        raise DataError(
            f"The formula {blocks.design.formula!r} has no predictor: name a column on its right side."
        )
    moments = class_moments(blocks, spread, watch, rooted=rooted)
    if blocks.dropped and na_action == "raise":
        blocks.refuse_missing()
    if not moments.total:
        raise DataError(
            f"No row is left: each of the {blocks.table.nrows} rows misses a value in "
            f"{named(blocks.design.columns)} or in the response {blocks.design.response!r}. Fill "
            "values, or leave columns out."
        )
    refuse_extreme(moments, blocks.terms)
    if blocks.weights is not None:
        used = blocks.weights[(blocks.codes >= 0) & (blocks.weights > 0)]
        warn_of_weights(moments, whole=bool((used % 1 == 0).all()))
    return present_classes(blocks, moments)


def refuse_extreme(moments: ClassMoments, terms: tuple[str, ...]) -> None:
    """Raise where a column varies by so little or so much that its coefficients are no doubles."""
    spread = np.sqrt(moments.squares.sum(axis=0) / moments.total)
    means = moments.means[moments.rows > 0]
    with np.errstate(divide="ignore"):
        sizes = np.log10(np.maximum(spread, np.ptp(means, axis=0))) - np.log10(moments.scale)
    wild = np.flatnonzero(np.isfinite(sizes) & ((sizes < RANGE[0]) | (sizes > RANGE[1])))
    if len(wild):
        name, size = terms[wild[0]], float(sizes[wild[0]])
        more = f" (and {len(wild) - 1} more)" if len(wild) > 1 else ""
        raise DataError(
            f"Column {name!r} varies by about 1e{size:.0f}{more}, and its coefficients would be out of the "
            f"range of double precision: give it in other units, as in data[{name!r}] * "
            f"1e{-np.sign(size) * 290:.0f}."
        )


def warn_of_weights(moments: ClassMoments, *, whole: bool) -> None:
    """Say so where weights do not count rows, though inference takes them as counts.

    Whole numbers are taken as counts, and so are weights whose mean is one but for a percent.
    """
    total, rows = moments.total, int(moments.rows.sum())
    if whole or abs(total - rows) <= EVEN * rows:
        return
    warn_user(
        f"The weights of {rows} rows sum to {total:g} and are no counts. A weight stands for so many equal "
        f"rows: standard errors, tests, likelihoods and intervals are those of {total:g} rows. Divide the "
        "weights by their mean if they are only relative."
    )


def present_classes(blocks: Blocks, moments: ClassMoments) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments without the classes that have no row, which a warning names.

    Raises
    ------
    DataError
        One class only has rows.
    """
    present = np.flatnonzero(moments.rows > 0)
    if len(present) < moments.n_classes:
        blocks, moments = _without_empty(blocks, moments, present)
    if moments.n_classes < 2:
        (only,) = blocks.design.levels
        raise DataError(
            f"The response {blocks.design.response!r} has one class only, {only!r} ({moments.rows[0]} rows): "
            "a discriminant analysis needs two: give rows of another class."
        )
    return blocks, moments


def class_moments(
    blocks: Blocks, spread: Spread, watch: Watch | None = None, *, rooted: bool = True
) -> ClassMoments:
    """Moments of the blocks' complete rows; `watch` as for `sample`, `rooted` as for `gather`."""
    return gather(
        blocks if watch is None else watch(blocks),
        n_classes=len(blocks.design.levels),
        n_columns=len(blocks.terms),
        spread=spread,
        rooted=rooted,
    )


def _without_empty(
    blocks: Blocks, moments: ClassMoments, present: NDArray[np.intp]
) -> tuple[Blocks, ClassMoments]:
    levels = blocks.design.levels
    gone = [label for k, label in enumerate(levels) if k not in set(present.tolist())]
    warn_user(
        f"No row is left in {'class' if len(gone) == 1 else 'classes'} {named(gone)}: left out of the fit."
    )
    position = np.full(len(levels) + 1, -1)
    position[present] = np.arange(len(present))
    design = replace(blocks.design, levels=tuple(levels[k] for k in present))
    return replace(blocks, design=design, codes=position[blocks.codes]), moments.classes(present)


def prior_vector(prior: Any, classes: pd.Index, counts: Floats) -> Floats:
    """Prior probabilities (K,) in the order of the classes.

    Parameters
    ----------
    prior : None, "equal", mapping or Series by class, or sequence in the order of the classes
        None: the class proportions.

    Raises
    ------
    PriorError
        A class is missing or unknown, a probability is negative or missing, or they do not sum to one.
    """
    k = len(classes)
    if prior is None:
        return np.asarray(counts / counts.sum())
    if isinstance(prior, str):
        if prior != "equal":
            raise PriorError(
                f"prior={prior!r} is not known: use None, 'equal', or a probability for each class."
            )
        return np.full(k, 1.0 / k)
    if isinstance(prior, pd.Series):
        if prior.index.has_duplicates:
            raise PriorError(
                f"The prior names {named(prior.index[prior.index.duplicated()])} more than once: "
                "name each once."
            )
        prior = prior.to_dict()
    if isinstance(prior, Mapping):
        missing, unknown = [c for c in classes if c not in prior], [c for c in prior if c not in set(classes)]
        if missing or unknown:
            said = [f"it misses {named(missing)}"] * bool(missing) + [f"{named(unknown)} is no class"] * bool(
                unknown
            )
            raise PriorError(f"The prior does not fit the classes {named(classes)}: {'; '.join(said)}.")
        prior = [prior[c] for c in classes]
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise PriorError(f"The prior {prior!r} is not a list of probabilities.") from None
    if values.shape != (k,):
        raise PriorError(
            f"The prior has {values.size} values for {k} classes: give one for each of {named(classes)}."
        )
    bad = ~(values >= 0)
    if bad.any():
        raise PriorError(
            f"The prior of class {classes[int(np.argmax(bad))]!r} is {values[bad][0]:g}: give 0 or more."
        )
    total = float(values.sum())
    if not abs(total - 1) <= PRIOR_SLACK:
        raise PriorError(
            f"The prior sums to {total:.10g}, not to one: divide it by its sum if that is meant."
        )
    return values / total


def cost_matrix(costs: Any, classes: pd.Index) -> Floats | None:
    """Costs (K, K) of calling a row of one class (row) another (column).

    Parameters
    ----------
    costs : None, DataFrame labelled by class, or (K, K) array in the order of the classes

    Raises
    ------
    DataError
        A wrong shape or label, a missing, infinite or negative cost, or no cost at all.
    """
    if costs is None:
        return None
    k = len(classes)
    if isinstance(costs, pd.DataFrame):
        for axis, what in ((costs.index, "rows"), (costs.columns, "columns")):
            if len(axis) != k or set(axis) != set(classes):
                raise DataError(
                    f"The {what} of costs are {named(axis)}; the classes are {named(classes)}: give the same."
                )
        costs = costs.loc[classes, classes]
    try:
        values = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("costs is not numeric: give the cost of calling each class each other one.") from None
    if values.shape != (k, k):
        raise DataError(
            f"costs has shape {values.shape}: for {k} classes give {(k, k)}, actual by predicted."
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise DataError(
            f"The cost of calling {classes[i]!r} a {classes[j]!r} is {values[i, j]:g}: give 0 or more."
        )
    if not (values > 0).any():
        raise DataError("Every cost is zero: give the cost of some wrong label.")
    return values


def collinear_error(
    found: list[Dependency], terms: tuple[str, ...], where: str = "within classes"
) -> CollinearError:
    """The error that names each column at fault and what it depends on.

    Parameters
    ----------
    found : list of Dependency
    terms : tuple of str
    where : str
        The rows it is so in: "within classes", "over all rows", or in one class, where `lda` is a way out.
    """
    said = []
    for dependency in found[:4]:
        name = repr(terms[dependency.column])
        others = named(terms[j] for j in dependency.on)
        said.append(
            f"{name} is {f'a linear combination of {others}' if dependency.on else 'constant'} {where}"
        )
    more = f" (and {len(found) - 4} more)" if len(found) > 4 else ""
    way_out = ", or use lda()" if where.startswith("in class") else ', or pass collinear="drop"'
    what = "columns are collinear" if where == "over all rows" else "covariance is singular"
    return CollinearError(
        f"The {what}: {'; '.join(said)}{more}. Drop {'it' if len(found) == 1 else 'them'} "
        f"from the formula{way_out}."
    )


def drop_columns(
    blocks: Blocks, moments: ClassMoments, found: list[Dependency], where: str = "within classes"
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments without the dependent columns, which a warning names."""
    gone = {dependency.column for dependency in found}
    terms = blocks.terms
    keep = np.array([j for j in range(len(terms)) if j not in gone], dtype=np.intp)
    if not keep.size:
        verb = "is" if len(terms) == 1 else "are"
        raise CollinearError(
            f"No column is left to fit: {named(terms)} {verb} constant {where}. Name others in the formula."
        )
    warn_user(
        f"Dropped {named((terms[j] for j in sorted(gone)), most=20)}: constant or a linear combination of "
        f"other columns {where}."
    )
    held = range(len(blocks.design.terms)) if blocks.keep is None else blocks.keep
    return replace(blocks, keep=tuple(held[j] for j in keep)), moments.columns(keep)


def is_wide(blocks: Blocks) -> bool:
    """Whether there are fewer rows than columns."""
    return int((blocks.codes >= 0).sum()) < len(blocks.terms)


def refuse_few_rows(blocks: Blocks) -> None:
    """Raise, before any product is formed, where there are too few rows for a pooled covariance."""
    known = int((blocks.codes >= 0).sum())
    p, k = len(blocks.terms), len(blocks.design.levels)
    if known and known - k < p:
        _refuse_wide(known, k, blocks.terms)


def refuse_no_freedom(moments: ClassMoments, terms: tuple[str, ...], *, diagonal: bool) -> None:
    """Raise where the rows that are left have too few degrees of freedom within classes."""
    rows, k = int(moments.rows.sum()), moments.n_classes
    if rows - k < (1 if diagonal else len(terms)):
        _refuse_wide(rows, k, terms)


def _refuse_wide(rows: int, n_classes: int, terms: tuple[str, ...]) -> None:
    raise CollinearError(
        f"{rows} rows in {n_classes} classes leave {max(rows - n_classes, 0)} degrees of freedom within "
        f"classes, too few for the covariance of {len(terms)} columns ({named(terms)}): "
        'name fewer columns in the formula, pass covariance="shrunk" (or "diagonal", "pinv"), or use rda() '
        "or shrunken_centroids()."
    )


def refuse_little_weight(counts: pd.Series, least: int, what: str) -> None:
    """Raise where a class has no more than the least weight: a law of its covariance does not exist then."""
    few = counts[counts <= least * (1 + LIGHT)]
    if len(few):
        raise NotSupportedError(
            f"{what} needs more than {least} rows, or as much weight, in each class; {few.index[0]!r} has "
            f"{few.iloc[0]:g}. Use fewer columns, merge the class with another, or pass weights that count "
            "rows."
        )


def refuse_light(weight: float, taken: int, who: str = "The rows") -> None:
    """Raise where weights sum to no more than the degrees of freedom that the means of classes take."""
    if weight <= taken * (1 + LIGHT):
        raise DataError(
            f"{who} have weights that sum to {weight:g}, and a covariance divides by the sum less {taken}: "
            'pass weights that count rows, for example divided by their mean, or method="mle", which divides '
            "by the sum."
        )
