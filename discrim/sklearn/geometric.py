"""Estimators over rules of distances: to rows, to the means of classes, and to planes between classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any

from numpy.typing import NDArray

import discrim
from discrim.core.moments.row_sums import Spread
from discrim.errors import CollinearError, DataError, DiscrimError, DiscrimWarning, SeparationError
from discrim.frame.table import last_column
from discrim.models.fits.reading import listed
from discrim.models.judging.validation import Splits
from discrim.sklearn import base
from discrim.sklearn.base import (
    LinearCoefficients,
    PosteriorMethods,
    Simpler,
    VerbClassifier,
    WeightedClassifier,
)
from discrim.sklearn.normal import PartialClassifier


@base.estimator
class KNNClassifier(PosteriorMethods, VerbClassifier):
    """K nearest neighbours; see `discrim.knn`.

    Parameters
    ----------
    k : int, optional
        Number of nearest observations that vote; those as near as the k-th also vote. By default
        leave-one-out chooses k, and takes the largest k of equal errors.
    metric : str
        "euclidean"; "mahalanobis", with the pooled covariance within classes (divisor N - K), for which
        `scale` makes no difference; or another metric of scipy's `cdist`: "cityblock", "chebyshev",
        "braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon", and for columns of
        zeros and ones "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule". "minkowski"
        (p = 2), "sqeuclidean" and, with `scale`, "seuclidean" have the neighbours of "euclidean".
    scale : bool
        Whether each column is divided by its overall standard deviation (divisor N - 1).
    grid : sequence of int, optional
        The k to choose from where k is not given; by default 1 to 50, or to the number of rows less one.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data. Each
        probability must be above zero.
    constant : {"drop", "raise"}
        Whether numeric columns that are constant over the rows are left out with a warning, as the verb does,
        or refused.
    singular : {"euclidean", "raise"}
        What to do if the covariance of metric="mahalanobis" is singular. "euclidean" takes that metric,
        with the columns divided by their standard deviations over all rows and a warning, so that a search
        over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.knn)
    _goes_on = ("singular", "euclidean")

    _: KW_ONLY
    k: int | None = None
    metric: str = "euclidean"
    scale: bool = True
    grid: Sequence[int] | None = None
    prior: Any = None
    constant: str = "drop"
    singular: str = "euclidean"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if not isinstance(error, CollinearError) or options["metric"] == "euclidean":
            return None
        options |= {"metric": "euclidean", "scale": True}
        return base.fitted_instead(
            error, 'with metric="euclidean", scale=True', discrim.knn, formula, data, **options
        )

    def _has_scores(self) -> bool:
        return False


@base.estimator
class NearestCentroidClassifier(LinearCoefficients, PartialClassifier):
    """Nearest centroids; see `discrim.nearest_centroid`.

    Parameters
    ----------
    prior : "equal", None, "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. With equal ones, the default here, a row is assigned to the class
        of the nearest mean. None stands for the class proportions of the data.
    """

    verb = staticmethod(discrim.nearest_centroid)

    _: KW_ONLY
    prior: Any = "equal"

    def _spread(self) -> Spread | None:
        return "diagonal"


@base.estimator
class ShrunkenCentroidsClassifier(LinearCoefficients, PartialClassifier):
    """Nearest shrunken centroids; see `discrim.shrunken_centroids`.

    Parameters
    ----------
    threshold : float, optional
        How far the standardized differences between the class means and the common mean are shrunk towards
        zero. If it is not given, it is chosen by cross-validation.
    offset : float or "median"
        s_0, which is added to the standard deviation of each column within classes: a number in the units of
        the columns, or the median of those standard deviations.
    cv : int, or iterable of (train, test)
        Number of folds of the cross-validation that makes the choice. Or splits as in scikit-learn, which are
        positions of rows of the table; methods that judge the fit by folds then choose again on the same
        splits, without the rows of the fold.
    select : {"min", "1se"}
        "min" takes the threshold of smallest error and, of equal errors, the larger one. "1se" takes the
        largest threshold whose error is within one standard error of the smallest.
    grid : sequence of float, optional
        Thresholds to try.
    n_thresholds : int
        Number of thresholds to try where there is no grid. They are evenly spaced from 0 to the value at
        which no column is left, as in R's pamr.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    single : {"warn", "raise"}
        What to do if a class has one row, which leaves some fold without the class. "warn" chooses the
        threshold from the rows of the other classes (no threshold if there are fewer than two), with a
        warning. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.shrunken_centroids)
    takes_sparse = True
    _goes_on = ("single", "warn")

    _: KW_ONLY
    threshold: float | None = None
    offset: float | str = "median"
    cv: int | Splits = 10
    select: str = "min"
    grid: Sequence[float] | None = None
    n_thresholds: int = 30
    seed: int | None = 0
    prior: Any = None
    single: str = "warn"

    def _spread(self) -> Spread | None:
        return None if self.threshold is None else "diagonal"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        counts = base.class_sizes(data, options)
        larger = counts.index[counts > base.MOST_FEW]
        if options["threshold"] is not None or len(larger) == len(counts):
            return None
        threshold = 0.0
        if len(larger) > 1:
            threshold = self._threshold(formula, data, last_column(data).isin(larger).to_numpy(), options)
        words = f"with threshold={threshold:.4g}, by the classes of more rows,"
        options |= {"threshold": threshold}
        return base.fitted_instead(error, words, discrim.shrunken_centroids, formula, data, **options)

    def _threshold(self, formula: str, data: Any, some: NDArray[Any], options: dict[str, Any]) -> float:
        """The threshold that some of the rows choose."""
        weights = options.get("weights")
        own = options | {"weights": None if weights is None else weights[some], "prior": None}
        with warnings.catch_warnings():
            # That classes have no row is why these are asked.
            warnings.simplefilter("ignore", DiscrimWarning)
            return float(discrim.shrunken_centroids(formula, data[some], **own).threshold)


@base.estimator
class PerceptronClassifier(LinearCoefficients, VerbClassifier):
    """Rosenblatt's perceptron; see `discrim.perceptron`.

    Parameters
    ----------
    step : float
        Factor of what a row adds to the coefficients. If they start from zero, it scales them and changes
        nothing else; with `start`, a small step makes many moves.
    maxiter : int, optional
        The largest number of passes over the rows; by default 1,000 if the classes can be separated and 100
        if they cannot.
    seed : int, optional
        Seed that shuffles the rows anew for each pass. Without it the rows keep the order of the table.
    start : sequence, Series or dict, optional
        Coefficients to begin with, by default zeros. For two classes: a sequence with the constant first and
        then a number for each column, in the order of `terms`, or a Series or dict of them by name, with
        "constant" for the first. For more classes: a sequence of such ones in the order of the classes, a
        dict of them by class, or a DataFrame with a column for each class.
    constant : {"drop", "raise"}
        Whether numeric columns that are constant over the rows are left out with a warning, as the verb does,
        or refused.
    """

    verb = staticmethod(discrim.perceptron)

    _: KW_ONLY
    step: float = 1.0
    maxiter: int | None = None
    seed: int | None = None
    start: Any = None
    constant: str = "drop"


@base.estimator
class HyperplaneClassifier(LinearCoefficients, VerbClassifier):
    """The optimal separating hyperplane of two classes; see `discrim.hyperplane`.

    Parameters
    ----------
    overlap : {"warn", "raise"}
        What to do if no plane separates the classes. "warn" goes on with the perceptron's plane of few
        errors, with a warning, so that `results_` is what `discrim.perceptron` returns. "raise" refuses, as
        the verb does.
    constant : {"drop", "raise"}
        Whether numeric columns that are constant over the rows are left out with a warning, as the verb does,
        or refused.
    """

    verb = staticmethod(discrim.hyperplane)
    _goes_on = ("overlap", "warn")

    _: KW_ONLY
    overlap: str = "warn"
    constant: str = "drop"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if not isinstance(error, SeparationError):
            return None
        with warnings.catch_warnings():
            # The error says that no plane separates the classes.
            warnings.filterwarnings("ignore", "No plane separates", DiscrimWarning)
            return base.fitted_instead(
                error, "the perceptron's plane", discrim.perceptron, formula, data, **options
            )

    def _refuse_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) > 2:
            raise DataError(
                "Only binary classification is supported. A hyperplane lies between two classes; y has "
                f"{len(classes)} ({listed(classes.tolist())}): keep the rows of two, or wrap the estimator "
                "in sklearn.multiclass.OneVsRestClassifier."
            )

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@base.estimator
class KernelDensityClassifier(WeightedClassifier):
    """Discriminant analysis by kernel densities; see `discrim.kernel_density`.

    Parameters
    ----------
    bandwidth : float, dict, or "normal", optional
        Radius r of the kernels in the metric, R= of SAS's DISCRIM: one number, or a dict by class. "normal"
        is the best radius for normal classes. If it is not given, it is chosen by leaving rows out.
    kernel : {"normal", "epanechnikov", "biweight", "triweight", "uniform"}
        Shape of the kernels, a function of the squared distance over the squared radius. All but "normal" end
        at the radius. "uniform" counts the rows within it.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        Distances are measured by the covariance, by its variances alone, or in the units of the columns:
        METRIC=FULL, DIAGONAL and IDENTITY in SAS.
    covariance : {"pooled", "class"}
        "pooled" is one covariance for all classes, divisor N - K, and "class" one for each, divisor n_k - 1:
        POOL=YES and NO in SAS.
    select : {"likelihood", "error"}
        Criterion of the bandwidth: the largest likelihood of the rows given their classes, or the smallest
        error and, of equal errors, the larger bandwidth. Both are for rows left out, and rows that are equal
        in all columns are left out together.
    grid : sequence of float, optional
        Bandwidths to choose from; by default 30 about the one of "normal", which the metric "euclidean"
        multiplies by the root mean square of the columns' standard deviations within classes.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    singular : {"euclidean", "raise"}
        What to do if the covariance of the metric is singular, or no bandwidth has a likelihood of rows left
        out, for example because a class has one row. "euclidean" measures in the units of the columns in the
        first case, and chooses the bandwidth by the error in the second. It gives a warning, and a search
        over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.kernel_density)
    _goes_on = ("singular", "euclidean")

    bandwidth: Any = None
    _: KW_ONLY
    kernel: str = "normal"
    metric: str = "mahalanobis"
    covariance: str = "pooled"
    select: str = "likelihood"
    grid: Sequence[float] | None = None
    prior: Any = None
    singular: str = "euclidean"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        by_likelihood = options["bandwidth"] is None and options["select"] == "likelihood"
        ways: list[dict[str, Any]] = [{"select": "error"}] if by_likelihood else []
        if isinstance(error, CollinearError):
            ways = [{"metric": "euclidean"}, *({"metric": "euclidean"} | way for way in ways)]
        for way in ways:
            with suppress(CollinearError, DataError):
                words = "with " + ", ".join(f'{name}="{value}"' for name, value in way.items())
                return base.fitted_instead(
                    error, words, discrim.kernel_density, formula, data, **options | way
                )
        return None
