"""The verb `manova`: whether the classes have one mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from discrim.models.fits.displayed import displayed
from discrim.models.fits.reading import NaAction
from discrim.models.normal.lda import lda

__all__ = ["manova"]


@displayed()
def manova(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pd.DataFrame:
    """The four multivariate tests that the classes have one mean.

    Parameters
    ----------
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`: the class on the left, the measurements on the right.

    Returns
    -------
    DataFrame
        Wilks, Pillai, Hotelling-Lawley by two approximations, Roy: statistic, F, df1, df2, p, and whether
        the F is exact, approximate or an upper bound.

    Raises
    ------
    CollinearError
        The covariance within classes is singular.

    Examples
    --------
    >>> from discrim import manova
    >>> from discrim.datasets import load_iris
    >>> manova("species ~ .", load_iris())["F"].round(3).tolist()
    [199.145, 53.466, 580.532, 582.197, 1166.957]
    """
    fit = lda(formula, data, weights=weights, levels=levels, na_action=na_action, functions=functions)
    return fit.manova()
