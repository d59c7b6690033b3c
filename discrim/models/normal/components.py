"""Principal axes within which normal classes are compared: how they are asked for, and what a fit says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.scatter.projected import Projected, Scores
from discrim.core.scatter.scatter import CovarianceKeywords, Scatter
from discrim.errors import DataError, NotSupportedError
from discrim.models.fits import reading
from discrim.models.normal.normal_fits import read_scatter


def read_components(components: Any) -> int | float | str:
    """A number of principal axes, a share of the variance, or how the number is chosen; else a DataError."""
    if isinstance(components, str) and components in ("cv", "loo"):
        return components
    if reading.is_whole(components) and components >= 1:
        return int(components)
    if reading.is_share(components):
        return float(components)
    raise DataError(
        f"components={reading.told(components)}: give a number of principal axes, 1 or more; a share of the "
        'variance between 0 and 1, as 0.9; "cv" or "loo" to have the number chosen; or None for all columns.'
    )


def asked_scatter(
    covariance: Any,
    words: tuple[str, ...],
    method: str,
    keywords: CovarianceKeywords,
    components: Any,
    missing: Any = None,
) -> Scatter:
    """The kind of covariance that the keywords of a verb ask for, of all columns or within principal axes.

    Errors are those of `read_scatter`; a NotSupportedError says that a kind does not go with components.
    """
    if components is None:
        return read_scatter(covariance, words, method, keywords)
    wanted = read_components(components)
    reading.check_flag("standardize", keywords.standardize)
    kind = read_scatter(covariance, words, method, replace(keywords, standardize=False))
    what = "A rule of shrinkage that takes the rows"
    if not kind.goes_within_axes:
        what = "An estimator" if kind.needs_rows else f'covariance="{kind.word}"'
    elif method not in ("moment", "mle"):
        what = f'method="{method}"'
    elif missing == "em":
        what = 'missing="em"'
    elif not kind.needs_rows:
        return Projected(kind, wanted, bool(keywords.standardize))
    raise NotSupportedError(
        f"{what} does not go with components=, which takes the covariances of scores on principal axes from "
        f'moments: leave out one of the two. With components= go covariance="{words[0]}", "diagonal", '
        '"spherical", and "shrunk" with shrinkage="oas" or a number.'
    )


class PrincipalAxes:
    """Properties of fits within principal axes; for children of `ClassifierResults`."""

    def _scores(self: Any) -> Scores:
        kind, cache = self._fit.numbers.scatter, self._fit.cache
        if not isinstance(kind, Projected):
            raise NotSupportedError(
                "This fit is one of all columns, without principal axes: fit with components=."
            )
        if "principal axes" not in cache:
            cache["principal axes"] = kind.scores(self._fit.numbers.moments)
        scores: Scores = cache["principal axes"]
        return scores

    @property
    def components(self) -> int:
        """Number of principal axes."""
        return len(self._scores().axes)

    def _component_names(self) -> pd.Index:
        return pd.Index([f"PC{i + 1}" for i in range(self.components)])

    @property
    def component_shares(self) -> pd.Series:
        """Share of the variance of all columns that each principal axis has."""
        shares = self._scores().spectrum.lengths[: self.components]
        return pd.Series(shares.copy(), index=self._component_names(), name="share")

    @property
    def loadings(self: Any) -> pd.DataFrame:
        """Principal axes in the columns: vectors of length one, of standardized columns where it is these."""
        axes = np.asarray(self._scores().spectrum.axes)[: self.components]
        return pd.DataFrame(axes.T, index=self.terms, columns=self._component_names())
