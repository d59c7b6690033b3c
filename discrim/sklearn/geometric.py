"""Estimators over rules of nearness: of rows, of class means, and planes between classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from discrim.errors import DataError, DiscrimWarning, SeparationError
from discrim.models.fits.arguments import check_word, listed
from discrim.models.neighbours.knn import knn
from discrim.models.normal.nearest_centroid import nearest_centroid
from discrim.models.planes.hyperplane import hyperplane
from discrim.models.planes.perceptron import perceptron
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import PosteriorMethods, VerbClassifier, WeightedClassifier, warn_instead
from discrim.sklearn.linear import LinearCoefficients

__all__ = ["HyperplaneClassifier", "KNNClassifier", "NearestCentroidClassifier", "PerceptronClassifier"]


class KNNClassifier(PosteriorMethods, VerbClassifier):
    """K nearest neighbours; see `discrim.knn`.

    Parameters
    ----------
    k, metric, scale, grid, prior
        As for `discrim.knn`, which chooses a k of None by leave-one-out.
    constant : {"drop", "raise"}
        Leave out numeric columns that are constant over the rows, with a warning, as the verb does; or refuse
        them.
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
    ) -> None:
        self.k = k
        self.metric = metric
        self.scale = scale
        self.grid = grid
        self.prior = prior
        self.constant = constant

    def _has_scores(self) -> bool:
        return False


class NearestCentroidClassifier(LinearCoefficients, WeightedClassifier):
    """Nearest centroids; see `discrim.nearest_centroid`.

    Parameters
    ----------
    prior
        As for `discrim.nearest_centroid`: "equal" unless given, None for the class proportions.
    """

    verb = staticmethod(nearest_centroid)

    def __init__(self, *, prior: Any = "equal") -> None:
        self.prior = prior


class PerceptronClassifier(LinearCoefficients, VerbClassifier):
    """Rosenblatt's perceptron; see `discrim.perceptron`.

    Parameters
    ----------
    step, maxiter, seed
        As for `discrim.perceptron`.
    constant : {"drop", "raise"}
        Leave out numeric columns that are constant over the rows, with a warning, as the verb does; or refuse
        them.
    """

    verb = staticmethod(perceptron)

    def __init__(
        self,
        *,
        step: float = 1.0,
        maxiter: int | None = None,
        seed: int | None = None,
        constant: str = "drop",
    ) -> None:
        self.step = step
        self.maxiter = maxiter
        self.seed = seed
        self.constant = constant


class HyperplaneClassifier(LinearCoefficients, VerbClassifier):
    """The optimal separating hyperplane of two classes; see `discrim.hyperplane`.

    Parameters
    ----------
    overlap : {"warn", "raise"}
        Where no plane separates the classes, go on with the perceptron's plane of few errors, so that
        `results_` is what `discrim.perceptron` gives, with a warning; or refuse them, as the verb does.
    constant : {"drop", "raise"}
        Leave out numeric columns that are constant over the rows, with a warning, as the verb does; or refuse
        them.
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
