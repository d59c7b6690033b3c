"""Estimators over rules of nearness: of rows, of class means, and planes between classes.

The estimator over kernel densities.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError, DiscrimWarning, SeparationError
from discrim.models.fits.reading import check_word, listed
from discrim.models.neighbours.kernel_density import kernel_density
from discrim.models.neighbours.knn import knn
from discrim.models.normal.nearest_centroid import nearest_centroid
from discrim.models.planes.hyperplane import hyperplane
from discrim.models.planes.perceptron import perceptron
from discrim.models.results.results import ClassifierResults
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, PosteriorMethods, VerbClassifier, WeightedClassifier


class KNNClassifier(PosteriorMethods, VerbClassifier):
    """K nearest neighbours; see `discrim.knn`.

    Parameters
    ----------
    k : int, optional
        How many of the nearest rows vote; rows as near as the k-th vote too. Where it is not given,
        leave-one-out chooses it and takes the larger k of equal errors.
    metric : str
        "euclidean"; "mahalanobis", with the pooled covariance within classes (divisor N - K), for which
        `scale` makes no difference; or another metric of scipy's `cdist`: "cityblock", "chebyshev",
        "braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon", and for columns of
        zeros and ones "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule". "minkowski"
        (p = 2), "sqeuclidean" and, with `scale`, "seuclidean" have the neighbours of "euclidean".
    scale : bool
        Whether each column is divided by its standard deviation over all rows, divisor N - 1.
    grid : sequence of int, optional
        The k to choose from where k is not given; by default 1 to 50, or to the number of rows less one.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows. Each
        probability must be above zero.
    constant : {"drop", "raise"}
        Whether numeric columns that are constant over the rows are left out with a warning, as the verb does,
        or refused.
    singular : {"euclidean", "raise"}
        What to do where the covariance of metric="mahalanobis" is singular. "euclidean" takes that metric,
        with the columns divided by their standard deviations over all rows and a warning, so that a search
        over models goes on. "raise" refuses, as the verb does.
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
        constant: str = "drop",
        singular: str = "euclidean",
    ) -> None:
        self.k = k
        self.metric = metric
        self.scale = scale
        self.grid = grid
        self.prior = prior
        self.constant = constant
        self.singular = singular

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("euclidean", "raise"))
        try:
            return knn(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or options["metric"] == "euclidean":
                raise
            results = base.refit_quietly(
                knn, formula, data, **options | {"metric": "euclidean", "scale": True}
            )
            base.warn_instead(error, 'with metric="euclidean", scale=True')
            return results

    def _has_scores(self) -> bool:
        return False


class NearestCentroidClassifier(LinearCoefficients, WeightedClassifier):
    """Nearest centroids; see `discrim.nearest_centroid`.

    Parameters
    ----------
    prior : "equal", None, dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. With equal ones, the default here, a row is given the class of the
        nearest mean. None stands for the class proportions of the rows.
    """

    verb = staticmethod(nearest_centroid)

    def __init__(self, *, prior: Any = "equal") -> None:
        self.prior = prior


class PerceptronClassifier(LinearCoefficients, VerbClassifier):
    """Rosenblatt's perceptron; see `discrim.perceptron`.

    Parameters
    ----------
    step : float
        Factor of what a row adds to the coefficients. Where they start from zero it scales them and changes
        nothing else; with `start` a small step makes many moves.
    maxiter : int, optional
        The largest number of passes over the rows; by default 1,000 where the classes can be separated and
        100 where they cannot.
    seed : int, optional
        Seed that shuffles the rows anew for each pass. Without it the rows keep the order of the table.
    start : sequence, Series or dict, optional
        Coefficients to begin with, by default zeros: of two classes a sequence with the constant first and
        then a number for each column, in the order of `terms`, or a Series or dict of them by name, with
        "constant" for the first. Of more classes a sequence of such ones in the order of the classes, a dict
        of them by class, or a DataFrame with a column for each class.
    constant : {"drop", "raise"}
        Whether numeric columns that are constant over the rows are left out with a warning, as the verb does,
        or refused.
    """

    verb = staticmethod(perceptron)

    def __init__(
        self,
        *,
        step: float = 1.0,
        maxiter: int | None = None,
        seed: int | None = None,
        start: Any = None,
        constant: str = "drop",
    ) -> None:
        self.step = step
        self.maxiter = maxiter
        self.seed = seed
        self.start = start
        self.constant = constant


class HyperplaneClassifier(LinearCoefficients, VerbClassifier):
    """The optimal separating hyperplane of two classes; see `discrim.hyperplane`.

    Parameters
    ----------
    overlap : {"warn", "raise"}
        What to do where no plane separates the classes. "warn" goes on with the perceptron's plane of few
        errors, with a warning, so that `results_` is what `discrim.perceptron` returns. "raise" refuses, as
        the verb does.
    constant : {"drop", "raise"}
        Whether numeric columns that are constant over the rows are left out with a warning, as the verb does,
        or refused.
    """

    verb = staticmethod(hyperplane)

    def __init__(self, *, overlap: str = "warn", constant: str = "drop") -> None:
        self.overlap = overlap
        self.constant = constant

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        overlap = options.pop("overlap")
        check_word("overlap", overlap, ("warn", "raise"))
        try:
            return hyperplane(formula, data, **options)
        except SeparationError as error:
            if overlap == "raise":
                raise
            with warnings.catch_warnings():
                # That no plane separates is said below.
                warnings.filterwarnings("ignore", "No plane separates", DiscrimWarning)
                results = perceptron(formula, data, **options)
            base.warn_instead(error, "the perceptron's plane")
            return results

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


class KernelDensityClassifier(WeightedClassifier):
    """Discriminant analysis by kernel densities; see `discrim.kernel_density`.

    Parameters
    ----------
    bandwidth : float, dict, or "normal", optional
        Radius r of the kernels in the metric, R= of SAS's DISCRIM: one number, or a dict by class. "normal"
        is the best radius for normal classes. Where it is not given, it is chosen by leaving rows out.
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
        What chooses a bandwidth: the largest likelihood of the rows given their classes, or the least error,
        where of equal errors the larger bandwidth is taken. Both are of rows left out, and rows that are
        equal in all columns are left out together.
    grid : sequence of float, optional
        Bandwidths to choose from; by default 30 about the one of "normal", which the metric "euclidean"
        multiplies by the root mean square of the columns' standard deviations within classes.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    singular : {"euclidean", "raise"}
        What to do where the covariance of the metric is singular, or no bandwidth has a likelihood of rows
        left out, as where a class has one row. "euclidean" measures in the units of the columns in the one
        case, and chooses the bandwidth by the error in the other. It gives a warning, and a search over
        models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(kernel_density)

    def __init__(
        self,
        bandwidth: Any = None,
        *,
        kernel: str = "normal",
        metric: str = "mahalanobis",
        covariance: str = "pooled",
        select: str = "likelihood",
        grid: Sequence[float] | None = None,
        prior: Any = None,
        singular: str = "euclidean",
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.metric = metric
        self.covariance = covariance
        self.select = select
        self.grid = grid
        self.prior = prior
        self.singular = singular

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("euclidean", "raise"))
        try:
            return kernel_density(formula, data, **options)
        except (CollinearError, DataError) as error:
            by_likelihood = options["bandwidth"] is None and options["select"] == "likelihood"
            if singular == "raise" or not (by_likelihood or isinstance(error, CollinearError)):
                raise
            ways: list[dict[str, Any]] = [{"select": "error"}]
            if isinstance(error, CollinearError):
                ways = [{"metric": "euclidean"}, {"metric": "euclidean", "select": "error"}]
            for instead in ways if by_likelihood else ways[:1]:
                with suppress(CollinearError, DataError):
                    results = base.refit_quietly(kernel_density, formula, data, **options | instead)
                    given = ", ".join(f'{name}="{value}"' for name, value in instead.items())
                    base.warn_instead(error, f"with {given}")
                    return results
            raise
