"""The verb `manova`: whether the classes have one mean, and what the terms of a larger model do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from discrim.errors import DataError
from discrim.frame.linear_model import one_class, responses_right
from discrim.models.comparing.mlm import mlm
from discrim.models.comparing.term_model import asked_type
from discrim.models.fits.arguments import told
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
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`: the class on the left, the measurements on the right. Or several factors and
        covariates on the left, as in ``"species * sex ~ bill_length_mm + bill_depth_mm"``, in R's words
        ``cbind(bill_length_mm, bill_depth_mm) ~ species * sex``, which may be written as well; see
        `discrim.mlm`, which has canonical variates, effect sizes and pictures of such a model too.
    term : str, optional
        Of several factors: one term, such as "sex" or "species:sex"; all by default.
    type : {1, 2, 3}
        Of several factors: each term after those before it; after all that do not contain it; after all
        others, under contrasts that sum to zero. Of one factor all are the same.

    Returns
    -------
    DataFrame
        Wilks, Pillai, Hotelling-Lawley by two approximations, Roy: statistic, F, df1, df2, p, and whether
        the F is exact, approximate or an upper bound. Of all terms of a model, by (term, test).

    Raises
    ------
    CollinearError
        The covariance within classes, or that of the residuals, is singular.
    DataError
        No such term or type; `levels` with several factors.
    NotSupportedError
        Type III, where cells of the factors have no rows.

    Notes
    -----
    The tests are Wilks' (1932, Biometrika 24, 471-494), Pillai's (1955, Annals of Mathematical Statistics
    26, 117-121), Hotelling and Lawley's and Roy's; their F are those of Rencher (2002, Methods of
    Multivariate Analysis, ch. 6).

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
                "levels= is of one class on the left: give several factors as ordered categories."
            )
        fit = mlm(formula, data, weights=weights, na_action=na_action, functions=functions)
        return fit.manova(term, kind)
    if term not in (None, alone, alone.strip("`")):
        raise DataError(f"term={told(term)} is no term: the left side has one, so leave term= out.")
    text = responses_right(formula)
    return lda(text, data, weights=weights, levels=levels, na_action=na_action, functions=functions).manova()
