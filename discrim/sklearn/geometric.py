"""Estimators over rules of nearness: of rows, of class means, and planes between classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError, DiscrimWarning, SeparationError
from discrim.models.fits.arguments import check_word, listed
from discrim.models.neighbours.knn import knn
from discrim.models.normal.nearest_centroid import nearest_centroid
from discrim.models.planes.hyperplane import hyperplane
from discrim.models.planes.perceptron import perceptron
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import PosteriorMethods, VerbClassifier, WeightedClassifier, warn_instead
from discrim.sklearn.instead import again
from discrim.sklearn.linear import LinearCoefficients

__all__ = ["HyperplaneClassifier", "KNNClassifier", "NearestCentroidClassifier", "PerceptronClassifier"]


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
            results = again(knn, formula, data, **options | {"metric": "euclidean", "scale": True})
            warn_instead(error, 'with metric="euclidean", scale=True')
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
            warn_instead(error, "the perceptron's plane")
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
