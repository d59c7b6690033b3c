"""The estimator over kernel densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discrim.errors import CollinearError
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
    bandwidth, kernel, metric, covariance, select, grid, prior
        As for `discrim.kernel_density`, which chooses a bandwidth of None by leaving rows out.
    singular : {"euclidean", "raise"}
        Where the covariance of the metric is singular, measure in the units of the columns, so that a search
        over models goes on, with a warning; or refuse, as the verb does.
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
        except CollinearError as error:
            if singular == "raise":
                raise
            results = again(kernel_density, formula, data, **options | {"metric": "euclidean"})
            warn_instead(error, 'metric="euclidean"')
            return results
