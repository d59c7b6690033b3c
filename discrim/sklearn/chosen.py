"""Estimators whose options are chosen by folds unless they are given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy import bool_
from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError, DiscrimWarning
from discrim.frame.arrays import last_column
from discrim.models.fits.arguments import check_word
from discrim.models.independent.shrunken_centroids import shrunken_centroids
from discrim.models.judging.splits import Splits
from discrim.models.normal.lda import lda
from discrim.models.normal.rda import rda
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import WeightedClassifier, warn_instead
from discrim.sklearn.instead import MOST_FEW, SHRUNK, again, class_sizes, shrunk
from discrim.sklearn.linear import LinearCoefficients

__all__ = ["RDAClassifier", "ShrunkenCentroidsClassifier"]


class RDAClassifier(LinearCoefficients, WeightedClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    alpha, gamma, parametrization, cv, grid, select, seed, standardize, prior, method
        As for `discrim.rda`, which chooses what of alpha and gamma is None, without a refit for each pair;
        but that rows are dealt to folds the same way at each fit, unless `seed` is None.
    singular : {"shrink", "raise"}
        Where a class has too few rows for a covariance, or to choose by leaving some out, fit
        `lda(covariance="shrunk", standardize=True)`, so that a search over models goes on, with a warning; or
        refuse, as the verb does.
    """

    verb = staticmethod(rda)

    def __init__(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        parametrization: str = "esl",
        cv: int | Literal["loo"] | Splits = 10,
        grid: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        select: str = "min",
        seed: int | None = 0,
        standardize: bool = False,
        prior: Any = None,
        method: str = "moment",
        singular: str = "shrink",
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.parametrization = parametrization
        self.cv = cv
        self.grid = grid
        self.select = select
        self.seed = seed
        self.standardize = standardize
        self.prior = prior
        self.method = method
        self.singular = singular

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("shrink", "raise"))
        try:
            return rda(formula, data, **options)
        except (CollinearError, DataError) as error:
            if singular == "raise" or class_sizes(data, options).min() > MOST_FEW:
                raise
            held: dict[str, Any] = {
                name: options.get(name) for name in ("prior", "weights", "method", "na_action")
            }
            results = again(lda, formula, data, collinear="drop", **shrunk(held | {"covariance": None}))
            warn_instead(error, f"lda() with {SHRUNK}")
            return results


class ShrunkenCentroidsClassifier(LinearCoefficients, WeightedClassifier):
    """Nearest shrunken centroids; see `discrim.shrunken_centroids`.

    Parameters
    ----------
    threshold, offset, cv, select, grid, n_thresholds, seed, prior
        As for `discrim.shrunken_centroids`, which chooses a threshold of None by folds; but that rows are
        dealt to folds the same way at each fit, unless `seed` is None.
    single : {"warn", "raise"}
        Where a class has one row, without which no fold knows it, choose a threshold of None by the rows of
        the other classes (none where these are fewer than two), with a warning; or refuse, as the verb does.
    """

    verb = staticmethod(shrunken_centroids)
    takes_sparse = True

    def __init__(
        self,
        *,
        threshold: float | None = None,
        offset: float | str = "median",
        cv: int | Splits = 10,
        select: str = "min",
        grid: Sequence[float] | None = None,
        n_thresholds: int = 30,
        seed: int | None = 0,
        prior: Any = None,
        single: str = "warn",
    ) -> None:
        self.threshold = threshold
        self.offset = offset
        self.cv = cv
        self.select = select
        self.grid = grid
        self.n_thresholds = n_thresholds
        self.seed = seed
        self.prior = prior
        self.single = single

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        single = options.pop("single")
        check_word("single", single, ("warn", "raise"))
        try:
            return shrunken_centroids(formula, data, **options)
        except (CollinearError, DataError) as error:
            counts = class_sizes(data, options)
            if single == "raise" or options["threshold"] is not None or counts.min() > MOST_FEW:
                raise
            some = last_column(data).isin(counts.index[counts > MOST_FEW]).to_numpy()
            threshold = 0.0
            if (counts > MOST_FEW).sum() > 1:
                threshold = self._threshold(formula, data, some, options)
            results = again(shrunken_centroids, formula, data, **options | {"threshold": threshold})
            warn_instead(error, f"with threshold={threshold:.4g}, by the classes of more rows,")
            return results

    def _threshold(self, formula: str, data: Any, some: NDArray[bool_], options: dict[str, Any]) -> float:
        """The threshold that some of the rows choose."""
        weights = options.get("weights")
        own = options | {"weights": None if weights is None else weights[some], "prior": None}
        with warnings.catch_warnings():
            # That classes have no row is why these are asked.
            warnings.simplefilter("ignore", DiscrimWarning)
            return float(shrunken_centroids(formula, data[some], **own).threshold)
