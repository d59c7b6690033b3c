"""The verb `moments`: the moments of a table by class, for the columns of a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

import pandas as pd

from discrim.errors import DataError, NotSupportedError
from discrim.frame.asked_rows import read, refuse_vector
from discrim.frame.formula import asked
from discrim.frame.own_functions import check_functions
from discrim.frame.sources.parts import Source
from discrim.frame.sources.rows import named, tables
from discrim.frame.sources.sources import source_of
from discrim.frame.table import Table
from discrim.models.fits.arguments import check_word
from discrim.models.fits.reading import NaAction
from discrim.models.moments.file import Scatters
from discrim.models.moments.moments import Moments, gathered

__all__ = ["moments"]

Functions = Mapping[str, Callable[..., Any]]


def moments(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    scatters: Scatters = "class",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Functions | None = None,
) -> Moments:
    """Counts, means and covariances of classes for the columns of a formula, to be added up and fitted.

    Parameters
    ----------
    formula, data, weights, na_action, functions
        As for `discrim.lda`.
    scatters : {"class", "pooled", "diagonal"}
        Hold sums of squares and products by class, which every verb that takes moments can be fitted to; or
        one for all classes, which is enough for `lda` and `indicator` and takes K times less memory; or sums
        of squares by class, which are enough for `naive_bayes`, `shrunken_centroids`, `nearest_centroid` and
        diagonal covariances, of thousands of columns too. Counts of levels, for `naive_bayes`, are held with
        each.
    levels : sequence, optional
        The classes in order; a table need not have rows of all of them. By default those of the categories,
        else the labels met so far, sorted.

    Returns
    -------
    Moments
        `a + b` are the moments of the rows of both; `lda(moments=a + b)` fits them.

    Raises
    ------
    FormulaError, DataError
        As for `discrim.lda`, but that the rows may be of one class.

    Notes
    -----
    What a formula learns of a table (the levels of a category, the centre of `center(x)`, the basis of
    `poly(x, 2)`) has to be the same for all that is added: `first.of(data)` takes it from the first table.
    Levels that come later have to be declared, by the type of the column or as in `C(x, levels=["a", "b"])`.
    `lda`, `qda`, `rda`, `naive_bayes`, `shrunken_centroids`, `nearest_centroid` and `indicator` take
    `moments=`. Merged after Chan, Golub & LeVeque (1983), The American Statistician 37, 242-247.

    Examples
    --------
    >>> import discrim
    >>> iris = discrim.datasets.load_iris()
    >>> whole = sum(discrim.moments("species ~ .", iris[start : start + 30]) for start in range(0, 150, 30))
    >>> whole
    Moments of 'species ~ .': 150 rows of 3 classes, 4 columns
    >>> discrim.lda(moments=whole).explained.round(4).tolist()
    [0.9912, 0.0088]
    """
    check_word("scatters", scatters, get_args(Scatters))
    source = source_of(data)
    parts: Iterator[tuple[Any, str | None]] = iter([(data, None)])
    if source is not None and source.once:
        parts = tables(source, _columns(formula, source, weights, functions))
    first, where = next(parts, (data, None))
    with named(where):
        blocks = read(formula, first, weights=weights, levels=levels, functions=functions, part=True)
        if not blocks.terms:
            raise DataError(f"The formula {formula!r} has no predictor: name a column on its right side.")
        found = gathered(
            blocks, na_action, scatters=scatters, levels_given=levels is not None, weights=weights
        )
    for part, where in parts:
        with named(where):
            found = found + found.of(part, na_action=na_action)
    return found


def _columns(formula: str, source: Source, weights: Any, functions: Functions | None) -> list[str]:
    """The columns that are read of rows which can be read once.

    Raises
    ------
    NotSupportedError
        A transform learns from all rows before the first is used.
    DataError
        The weights are no column.
    """
    refuse_vector(weights)
    names = Table(pd.DataFrame(columns=list(source.names)))
    found = asked(formula, names, check_functions(functions), () if weights is None else (weights,))
    learns = [each.code for each in found.expressions.values() if each.stateful]
    if learns:
        raise NotSupportedError(
            f"{learns[0]} learns from all rows before the first is used, and {source.what} can be read once: "
            "give a function that makes it anew, or transform the column in the frames."
        )
    return list(dict.fromkeys((*found.columns, *found.beside)))
