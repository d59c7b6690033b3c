"""The estimator over kernel densities."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from discrim.errors import CollinearError, DataError
from discrim.models.fits.arguments import check_word
from discrim.models.neighbours.kernel_density import kernel_density
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import WeightedClassifier, warn_instead
from discrim.sklearn.instead import again

__all__ = ["KernelDensityClassifier"]


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
                    results = again(kernel_density, formula, data, **options | instead)
                    given = ", ".join(f'{name}="{value}"' for name, value in instead.items())
                    warn_instead(error, f"with {given}")
                    return results
            raise
