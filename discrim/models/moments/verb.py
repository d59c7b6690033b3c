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
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    scatters : {"class", "pooled", "diagonal"}
        Which sums are held. "class" holds sums of squares and products by class, from which every verb that
        takes moments can be fitted. "pooled" holds them once for all classes, which is enough for `lda` and
        `indicator` and takes K times less memory. "diagonal" holds sums of squares by class, which are enough
        for `naive_bayes`, `shrunken_centroids`, `nearest_centroid` and diagonal covariances, even of
        thousands of columns. Counts of levels, for `naive_bayes`, are held with each.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none. A table need not have rows of all of them.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.

    Returns
    -------
    Moments
        `a + b` are the moments of the rows of both, and `lda(moments=a + b)` is the fit to them.

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row is left. The rows may all be of one class.

    Notes
    -----
    What a formula learns from a table (the levels of a category, the centre of `center(x)`, the basis of
    `poly(x, 2)`) has to be the same for all moments that are added: `first.of(data)` takes it from the first
    table. Levels that come later have to be declared, by the type of the column or as in `C(x, levels=["a",
    "b"])`. `lda`, `qda`, `rda`, `naive_bayes`, `shrunken_centroids`, `nearest_centroid`, `pls`, `sparse_lda`
    and `indicator` take `moments=`. Moments are merged after Chan, Golub & LeVeque (1983), The American
    Statistician 37, 242-247.

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
