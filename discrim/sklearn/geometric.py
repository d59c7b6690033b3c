"""Estimators of distance-based rules: nearest neighbours, centroids, hyperplanes and kernel densities."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any, Literal

from numpy.typing import NDArray

import discrim
from discrim.core.moments.row_sums import ScatterType
from discrim.data.table import last_column
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimWarning,
    NoSeparationWarning,
    SeparationError,
)
from discrim.models.base.reading import join_labels
from discrim.sklearn import base
from discrim.sklearn.base import (
    LinearCoefficients,
    PosteriorMethods,
    RefusedFit,
    SimplerFit,
    VerbClassifier,
    WeightedClassifier,
)
from discrim.sklearn.normal import PartialClassifier
from discrim.sklearn.signatures import estimator


@estimator
class KNNClassifier(PosteriorMethods, VerbClassifier):
    """K nearest neighbours; see `discrim.knn`.

    Parameters
    ----------
    singular : {"euclidean", "raise"}
        Behaviour if the covariance of metric="mahalanobis" is singular. "euclidean" uses that metric, with
        the columns divided by their standard deviations over all rows and a warning, and a search over models
        continues. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.knn)
    _fallback_option = ("singular", "euclidean")

    constant: str = "drop"
    singular: str = "euclidean"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit with the Euclidean metric and scaled columns if the covariance of the metric is singular.

        Return None for other errors.
        """
        options = dict(refused.options)
        if not isinstance(refused.error, CollinearError) or options["metric"] == "euclidean":
            return None
        options |= {"metric": "euclidean", "scale": True}
        return base.fit_with_warning(refused, 'with metric="euclidean", scale=True', discrim.knn, **options)

    def _has_scores(self) -> bool:
        return False


@estimator
class NearestCentroidClassifier(LinearCoefficients, PartialClassifier):
    """Nearest centroids; see `discrim.nearest_centroid`."""

    verb = staticmethod(discrim.nearest_centroid)

    def _required_moments(self) -> ScatterType | None:
        """Return "diagonal", because only means and variances are used."""
        return "diagonal"


@estimator
class ShrunkenCentroidsClassifier(LinearCoefficients, PartialClassifier):
    """Nearest shrunken centroids; see `discrim.shrunken_centroids`.

    Parameters
    ----------
    single : {"warn", "raise"}
        Behaviour if a class has one row, which leaves some fold without the class. "warn" chooses the
        threshold from the rows of the other classes (no threshold if there are fewer than two), with a
        warning. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.shrunken_centroids)
    takes_sparse = True
    _fallback_option = ("single", "warn")

    threshold: float | Literal["1se"] | None
    seed: int | None = 0
    single: str = "warn"

    def _required_moments(self) -> ScatterType | None:
        """Return "diagonal", or None if cross-validation, which requires the rows, chooses the threshold."""
        return None if self.threshold in (None, "1se") else "diagonal"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit with a threshold that is chosen by cross-validation without the rows of small classes.

        Classes of up to `base.MAX_SMALL_CLASS` rows are left out of the choice, but not of the fit. The
        threshold is zero if fewer than two classes are larger. Return None if no class is small, or the user
        specified the threshold.
        """
        options = dict(refused.options)
        counts = base.class_sizes(refused.data, options)
        larger = counts.index[counts > base.MAX_SMALL_CLASS]
        if options["threshold"] not in (None, "1se") or len(larger) == len(counts):
            return None
        threshold = 0.0
        if len(larger) > 1:
            # Choose the threshold by the rows of the larger classes.
            in_larger = last_column(refused.data).isin(larger).to_numpy()
            weights = options.get("weights")
            larger_options = options | {
                "weights": None if weights is None else weights[in_larger],
                "prior": None,
            }
            with warnings.catch_warnings():
                # The small classes are empty in this call, which would cause warnings.
                warnings.simplefilter("ignore", DiscrimWarning)
                threshold = float(
                    discrim.shrunken_centroids(
                        refused.formula, refused.data[in_larger], **larger_options
                    ).shrinkage_threshold
                )
        description = f"with threshold={threshold:.4g}, chosen by the larger classes,"
        options |= {"threshold": threshold}
        return base.fit_with_warning(refused, description, discrim.shrunken_centroids, **options)


@estimator
class PerceptronClassifier(LinearCoefficients, VerbClassifier):
    """Rosenblatt's perceptron; see `discrim.perceptron`."""

    verb = staticmethod(discrim.perceptron)

    constant: str = "drop"


@estimator
class HyperplaneClassifier(LinearCoefficients, VerbClassifier):
    """The optimal separating hyperplane of two classes; see `discrim.hyperplane`.

    Parameters
    ----------
    overlap : {"warn", "raise"}
        Behaviour if no plane separates the classes. "warn" fits the perceptron's plane of few errors, with a
        warning; `results_` are then results of `discrim.perceptron`. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.hyperplane)
    _fallback_option = ("overlap", "warn")

    overlap: str = "warn"
    constant: str = "drop"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit the plane of a perceptron if no hyperplane separates the classes, else return None."""
        options = dict(refused.options)
        if not isinstance(refused.error, SeparationError):
            return None
        with warnings.catch_warnings():
            # The fallback warning reports that the classes are not separated.
            warnings.simplefilter("ignore", NoSeparationWarning)
            return base.fit_with_warning(refused, "the perceptron's plane", discrim.perceptron, **options)

    def _check_classes(self, classes: NDArray[Any]) -> None:
        """Raise a DataError if there are more than two classes."""
        if len(classes) > 2:
            raise DataError(
                "Only binary classification is supported. A hyperplane lies between two classes; y has "
                f"{len(classes)} ({join_labels(classes.tolist())}).",
                hint=(
                    "Keep the rows of two classes, or wrap the estimator in "
                    "sklearn.multiclass.OneVsRestClassifier."
                ),
            )

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a binary classifier."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@estimator
class KernelDensityClassifier(WeightedClassifier):
    """Discriminant analysis by kernel densities; see `discrim.kernel_density`.

    Parameters
    ----------
    singular : {"euclidean", "raise"}
        Behaviour if the covariance of the metric is singular, or no bandwidth has a likelihood of rows left
        out, for example because a class has one row. "euclidean" measures in the units of the columns in the
        first case, and chooses the bandwidth by the error in the second. A warning is issued, and a search
        over models continues. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.kernel_density)
    positional = ("bandwidth",)
    _fallback_option = ("singular", "euclidean")

    singular: str = "euclidean"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit with the Euclidean metric, with a bandwidth chosen by the error, or both.

        The Euclidean metric is used if the covariance of the requested metric is singular. Return None if no
        such fit succeeds.
        """
        options = dict(refused.options)
        by_likelihood = options["bandwidth"] is None and options["select"] == "likelihood"
        alternatives: list[dict[str, Any]] = [{"select": "error"}] if by_likelihood else []
        if isinstance(refused.error, CollinearError):
            alternatives = [
                {"metric": "euclidean"},
                *({"metric": "euclidean"} | alternative for alternative in alternatives),
            ]
        for alternative in alternatives:
            with suppress(CollinearError, DataError):
                description = "with " + ", ".join(f'{name}="{value}"' for name, value in alternative.items())
                return base.fit_with_warning(
                    refused, description, discrim.kernel_density, **options | alternative
                )
        return None
