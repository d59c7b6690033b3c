"""One estimator a verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discrim.core.logistic import MOST_STEPS, TOLERANCE
from discrim.errors import DataError
from discrim.models.fda import fda
from discrim.models.hyperplane import hyperplane
from discrim.models.indicator import indicator
from discrim.models.knn import knn
from discrim.models.lda import lda
from discrim.models.logistic import logistic
from discrim.models.naive_bayes import naive_bayes
from discrim.models.perceptron import perceptron
from discrim.models.qda import qda
from discrim.models.rda import rda
from discrim.models.sample import named
from discrim.models.shrunken_centroids import shrunken_centroids
from discrim.sklearn.base import PosteriorMethods, VerbClassifier

__all__ = [
    "FDAClassifier",
    "HyperplaneClassifier",
    "IndicatorClassifier",
    "KNNClassifier",
    "LDAClassifier",
    "LogisticClassifier",
    "NaiveBayesClassifier",
    "PerceptronClassifier",
    "QDAClassifier",
    "RDAClassifier",
    "ShrunkenCentroidsClassifier",
]

Floats = NDArray[np.float64]


class FrequencyClassifier(VerbClassifier):
    """An estimator over a verb with weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the verb to rows.

        Parameters
        ----------
        X : (n, p) array, or frame
        y : (n,) array of class labels
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three equal rows.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            As the verb; also a missing value.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return self._fitted(X, y, {"weights": weights})


class WeightedClassifier(PosteriorMethods, FrequencyClassifier):
    """An estimator over a verb with posteriors and weights."""


class LDAClassifier(TransformerMixin, WeightedClassifier):
    """Linear discriminant analysis, as classifier and as projection on its discriminants; see `discrim.lda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, grid, ncomp, collinear
        As for `discrim.lda`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> LDAClassifier(ncomp=1).set_output(transform="pandas").fit(X, y).transform(X).shape
    (150, 1)
    """

    verb = staticmethod(lda)

    def __init__(
        self,
        *,
        prior: Any = None,
        method: str = "moment",
        nu: float | None = 5,
        scatter: str = "covariance",
        support_fraction: float = 0.5,
        covariance: Any = "pooled",
        shrinkage: float | str | None = None,
        grid: Sequence[float] | None = None,
        ncomp: int | None = None,
        collinear: str = "raise",
    ) -> None:
        self.prior = prior
        self.method = method
        self.nu = nu
        self.scatter = scatter
        self.support_fraction = support_fraction
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.grid = grid
        self.ncomp = ncomp
        self.collinear = collinear

    def transform(self, X: Any) -> Floats:
        """Discriminant scores (n, r) of rows; unit variance within classes, centred at the mean."""
        results, blocks = self._asked(X)
        return np.asarray(results.transform(blocks.table.data).to_numpy())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the discriminants, LD1, LD2, ...

        Parameters
        ----------
        input_features : sequence of str, optional
            Checked against the columns of the fit, and not used.

        Raises
        ------
        DataError
            These are not the columns of the fit.
        """
        check_is_fitted(self)
        if input_features is not None:
            given, held = list(input_features), getattr(self, "feature_names_in_", None)
            if len(given) != self.n_features_in_:
                raise DataError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}."
                )
            if held is not None and given != held.tolist():
                raise DataError(f"input_features is not equal to feature_names_in_: {named(held.tolist())}.")
        results: Any = self.results_
        return np.asarray(results.scaling.columns, dtype=object)


class QDAClassifier(WeightedClassifier):
    """Quadratic discriminant analysis; see `discrim.qda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, grid
        As for `discrim.qda`.
    """

    verb = staticmethod(qda)

    def __init__(
        self,
        *,
        prior: Any = None,
        method: str = "moment",
        nu: float | None = 5,
        scatter: str = "covariance",
        support_fraction: float = 0.5,
        covariance: Any = "full",
        shrinkage: float | str | None = None,
        grid: Sequence[float] | None = None,
    ) -> None:
        self.prior = prior
        self.method = method
        self.nu = nu
        self.scatter = scatter
        self.support_fraction = support_fraction
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.grid = grid


class RDAClassifier(WeightedClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    alpha, gamma, parametrization, cv, grid, select, seed, prior, method
        As for `discrim.rda`, which chooses what of alpha and gamma is None, without a refit for each pair;
        but that rows are dealt to folds the same way at each fit, unless `seed` is None.
    """

    verb = staticmethod(rda)

    def __init__(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        parametrization: str = "esl",
        cv: int | Literal["loo"] = 10,
        grid: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        select: str = "min",
        seed: int | None = 0,
        prior: Any = None,
        method: str = "moment",
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.parametrization = parametrization
        self.cv = cv
        self.grid = grid
        self.select = select
        self.seed = seed
        self.prior = prior
        self.method = method


class NaiveBayesClassifier(WeightedClassifier):
    """Naive Bayes; see `discrim.naive_bayes`.

    Parameters
    ----------
    kernel, bandwidth, counts, laplace, smoothing, method, unseen, prior
        As for `discrim.naive_bayes`. Columns of an array are named x0, x1, ...
    """

    verb = staticmethod(naive_bayes)

    def __init__(
        self,
        *,
        kernel: bool | Sequence[str] = False,
        bandwidth: str | float | Mapping[str, float] = "nrd0",
        counts: bool | Sequence[str] = False,
        laplace: float = 0.0,
        smoothing: float = 0.0,
        method: str = "moment",
        unseen: str = "raise",
        prior: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.counts = counts
        self.laplace = laplace
        self.smoothing = smoothing
        self.method = method
        self.unseen = unseen
        self.prior = prior


class ShrunkenCentroidsClassifier(WeightedClassifier):
    """Nearest shrunken centroids; see `discrim.shrunken_centroids`.

    Parameters
    ----------
    threshold, offset, cv, select, grid, n_thresholds, seed, prior
        As for `discrim.shrunken_centroids`, which chooses a threshold of None by folds; but that rows are
        dealt to folds the same way at each fit, unless `seed` is None.
    """

    verb = staticmethod(shrunken_centroids)

    def __init__(
        self,
        *,
        threshold: float | None = None,
        offset: float | str = "median",
        cv: int = 10,
        select: str = "min",
        grid: Sequence[float] | None = None,
        n_thresholds: int = 30,
        seed: int | None = 0,
        prior: Any = None,
    ) -> None:
        self.threshold = threshold
        self.offset = offset
        self.cv = cv
        self.select = select
        self.grid = grid
        self.n_thresholds = n_thresholds
        self.seed = seed
        self.prior = prior


class LogisticClassifier(WeightedClassifier):
    """Multinomial logistic regression; see `discrim.logistic`.

    Parameters
    ----------
    reference, prior, bias_reduction, separation, tol, maxiter
        As for `discrim.logistic`, but that separated classes are warned of by default: their labels are
        right though their coefficients have no maximum, and a search over models goes on.
    """

    verb = staticmethod(logistic)

    def __init__(
        self,
        *,
        reference: Any = None,
        prior: Any = None,
        bias_reduction: bool = False,
        separation: str = "warn",
        tol: float = TOLERANCE,
        maxiter: int = MOST_STEPS,
    ) -> None:
        self.reference = reference
        self.prior = prior
        self.bias_reduction = bias_reduction
        self.separation = separation
        self.tol = tol
        self.maxiter = maxiter


class IndicatorClassifier(FrequencyClassifier):
    """Least squares of the class indicators; see `discrim.indicator`.

    Parameters
    ----------
    collinear
        As for `discrim.indicator`.
    """

    verb = staticmethod(indicator)

    def __init__(self, *, collinear: str = "raise") -> None:
        self.collinear = collinear


class FDAClassifier(WeightedClassifier):
    """Flexible discriminant analysis; see `discrim.fda`.

    Parameters
    ----------
    engine, prior, ncomp
        As for `discrim.fda`.
    """

    verb = staticmethod(fda)

    def __init__(self, engine: Any, *, prior: Any = None, ncomp: int | None = None) -> None:
        self.engine = engine
        self.prior = prior
        self.ncomp = ncomp


class KNNClassifier(PosteriorMethods, VerbClassifier):
    """K nearest neighbours; see `discrim.knn`.

    Parameters
    ----------
    k, metric, scale, grid, prior
        As for `discrim.knn`, which chooses a k of None by leave-one-out.
    """

    verb = staticmethod(knn)

    def __init__(
        self,
        *,
        k: int | None = None,
        metric: str = "euclidean",
        scale: bool = True,
        grid: Sequence[int] | None = None,
        prior: Any = None,
    ) -> None:
        self.k = k
        self.metric = metric
        self.scale = scale
        self.grid = grid
        self.prior = prior


class PerceptronClassifier(VerbClassifier):
    """Rosenblatt's perceptron; see `discrim.perceptron`.

    Parameters
    ----------
    step, maxiter, seed
        As for `discrim.perceptron`.
    """

    verb = staticmethod(perceptron)

    def __init__(self, *, step: float = 1.0, maxiter: int | None = None, seed: int | None = None) -> None:
        self.step = step
        self.maxiter = maxiter
        self.seed = seed


class HyperplaneClassifier(VerbClassifier):
    """The optimal separating hyperplane of two classes; see `discrim.hyperplane`.

    Classes that no plane separates are refused, as by the verb.
    """

    verb = staticmethod(hyperplane)

    def _refuse_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) > 2:
            raise DataError(
                "Only binary classification is supported. A hyperplane lies between two classes; y has "
                f"{len(classes)} ({named(classes.tolist())}): keep the rows of two, or wrap the estimator in "
                "sklearn.multiclass.OneVsRestClassifier."
            )

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
