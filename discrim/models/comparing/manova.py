"""The verb `manova`: whether the classes have one mean, and what the terms of a larger model do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from discrim.errors import DataError
from discrim.frame.linear_model import one_class, responses_right
from discrim.models.comparing.mlm import mlm
from discrim.models.fits.arguments import asked_type, told
from discrim.models.fits.displayed import displayed
from discrim.models.fits.reading import NaAction
from discrim.models.normal.lda import lda

__all__ = ["manova"]


@displayed()
def manova(
    formula: str,
    data: Any,
    *,
    term: str | None = None,
    type: int | str = 2,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pd.DataFrame:
    """The four multivariate tests that the classes have one mean, or that a term of a model is not needed.

    Parameters
    ----------
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it. The class is on the left and the measurements are on the right. There may be several
        factors and covariates on the left, as in ``"species * sex ~ bill_length_mm + bill_depth_mm"``, which
        may also be written as in R: ``cbind(bill_length_mm, bill_depth_mm) ~ species * sex``. `discrim.mlm`
        also has canonical variates, effect sizes and pictures of such a model.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    term : str, optional
        With several factors, the only term to test, such as "sex" or "species:sex"; by default all.
    type : {1, 2, 3}
        Type of the sums of squares. 1 tests each term after those before it, 2 after all terms that do not
        contain it, and 3 after all others, with contrasts that sum to zero. With one factor all types are the
        same.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
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
    DataFrame
        Wilks, Pillai, Hotelling-Lawley by two approximations, and Roy: statistic, F, df1, df2, p, and whether
        the F is exact, approximate or an upper bound. For all terms of a model the rows are by (term, test).

    Raises
    ------
    CollinearError
        The covariance within classes, or that of the residuals, is singular.
    DataError
        There is no such term or type; or `levels` is given with several factors.
    NotSupportedError
        Type III is asked for and some cells of the factors have no rows.

    Notes
    -----
    The tests are those of Wilks (1932, Biometrika 24, 471-494), Pillai (1955, Annals of Mathematical
    Statistics 26, 117-121), Hotelling and Lawley, and Roy. Their F approximations are those of Rencher (2002,
    Methods of Multivariate Analysis, ch. 6).

    Examples
    --------
    >>> from discrim import manova
    >>> from discrim.datasets import load_iris, load_penguins
    >>> manova("species ~ .", load_iris())["F"].round(3).tolist()
    [199.145, 53.466, 580.532, 582.197, 1166.957]

    A factor beside another:

    >>> table = manova("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins(), term="sex")
    >>> table["F"].round(3).tolist()
    [203.021, 203.021, 203.021, 203.021, 203.021]
    """
    kind = asked_type(type)
    alone = one_class(formula)
    if alone is None:
        if levels is not None:
            raise DataError(
                "levels= goes with one class on the left: give several factors as ordered categories."
            )
        fit = mlm(formula, data, weights=weights, na_action=na_action, functions=functions)
        return fit.manova(term, kind)
    if term not in (None, alone, alone.strip("`")):
        raise DataError(f"term={told(term)} is no term: the left side has one, so leave term= out.")
    text = responses_right(formula)
    return lda(text, data, weights=weights, levels=levels, na_action=na_action, functions=functions).manova()
