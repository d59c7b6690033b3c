"""The numbers of discriminant analysis by kernel densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, dependencies, pooled, separate
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.moments.row_sums import Spread
from discrim.core.neighbours.kernel_left_out import left_out_scores
from discrim.core.neighbours.kernel_rules import Kernel, KernelRule, Places, normal_radius
from discrim.errors import NotSupportedError

__all__ = ["KernelDensityFit", "Metric", "Radii", "fit_kernel_density", "kernel_from_file", "spread_of"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Metric = Literal["mahalanobis", "diagonal", "euclidean"]
Radii = Literal["given", "normal", "chosen"]


def spread_of(metric: str, common: bool) -> Spread:
    """What a metric needs of the moments."""
    if metric != "mahalanobis":
        return "diagonal"
    return "pooled" if common else "class"


@dataclass(frozen=True, slots=True)
class KernelDensityFit:
    """Rows with their classes, and the kernels about them.

    Attributes
    ----------
    moments : ClassMoments
    prior : (K,) float
    estimated_prior : bool
    kernel : str
    metric : {"mahalanobis", "diagonal", "euclidean"}
    common : bool
        Whether the metric is that of the pooled covariance, and not of each class's own.
    radii : (K,) float
        Bandwidths.
    rule_of_radii : {"given", "normal", "chosen"}
        Where they are from.
    places : tuple of K Places
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    kernel: Kernel
    metric: Metric
    common: bool
    radii: Floats
    rule_of_radii: Radii
    places: tuple[Places, ...]

    has_distances = False

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> KernelRule:
        """The rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            Another method than "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(f'method="{method}" is defined for normal classes: use "plugin".')
        return KernelRule(log_prior, self.places, self.radii, self.kernel)

    def with_radii(self, radii: Floats, rule: Radii) -> KernelDensityFit:
        """The same rows and other bandwidths."""
        return replace(self, radii=radii, rule_of_radii=rule)

    def normal_radii(self) -> Floats:
        """Bandwidths (K,) that are best for normal classes of as many rows."""
        return normal_radius(self.kernel, self.moments.n_columns, self.moments.counts)

    def typical_deviation(self) -> float:
        """Root mean square of the columns' standard deviations within classes, in the metric."""
        if self.metric != "euclidean":
            return 1.0
        free = max(self.moments.total - self.moments.n_classes, 1.0)
        sd = np.sqrt(self.moments.squares.sum(axis=0) / free) / self.moments.scale
        largest = float(sd.max())
        return largest * float(np.sqrt(np.mean((sd / largest) ** 2))) if largest > 0 else 1.0

    def refit(self, x: Floats, codes: Codes, weights: Floats | None) -> KernelDensityFit | None:
        """The same of other rows, bandwidths by the normal rule anew; None where the metric is singular."""
        shape = {"n_classes": len(self.prior), "n_columns": x.shape[1]}
        moments = gather([(x, codes, weights)], **shape, spread="diagonal")
        spread = spread_of(self.metric, self.common)
        within = moments if spread == "diagonal" else gather([(x, codes, weights)], **shape, spread=spread)
        if (moments.rows < 1).any() or singular(within, self.metric, self.common):
            return None
        options: dict[str, Any] = {"kernel": self.kernel, "metric": self.metric, "common": self.common}
        fit = fit_kernel_density(moments, within, x, codes, weights, self.prior, **options)
        fit = replace(fit, estimated_prior=self.estimated_prior)
        if self.rule_of_radii == "normal":
            return fit
        return fit.with_radii(self.radii, self.rule_of_radii)

    def left_out(self, log_prior: Floats, x: Floats, codes: Codes, groups: Codes | None = None) -> Floats:
        """Scores (n, K) of the rows of the fit, each without itself; missing where a refit is needed.

        Rows of the same number among groups (n,) leave their kernels together.
        """
        anew = self.rule_of_radii == "normal"
        return left_out_scores(self.rule(log_prior), x, codes, self.metric, self.common, anew, groups)

    def resolution(self) -> Floats:
        """Least bandwidths (K,) that can be told from the rounding of distances."""
        return np.array([place.resolution for place in self.places])

    def llf(self) -> NoReturn:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            "The likelihood of kernels at their own rows says nothing: see fit.path, and error_rates()."
        )

    def df_model(self) -> NoReturn:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError("Kernels have no parameters to count: see error_rates().")

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps: the coordinates of the rows, their weights, and how they were made."""
        sizes = [place.points.shape[1] for place in self.places]
        roots = np.stack([place.covariance.root for place in self.places])
        return {
            "radii": self.radii,
            "sizes": np.array(sizes, dtype=np.float64),
            "points": np.concatenate([place.points.T for place in self.places]),
            "weights": np.concatenate([place.weights for place in self.places]),
            "centres_of_rows": np.stack([place.centre for place in self.places]),
            "unit": self.places[0].scale,
            ("roots" if roots.ndim == 3 else "deviations"): roots,
        }


def singular(moments: ClassMoments, metric: str, common: bool) -> list[tuple[int | None, tuple[int, ...]]]:
    """Classes, or None for all together, and columns by which no distance can be measured."""
    if metric == "euclidean":
        return []
    free = [moments.total - moments.n_classes] if common else (moments.counts - 1).tolist()
    found: list[tuple[int | None, tuple[int, ...]]] = []
    for c, rest in enumerate(free):
        k = None if common else c
        if rest <= 0:
            found.append((k, ()))
            continue
        alike = dependencies(moments, k, diagonal=metric == "diagonal")
        if alike:
            found.append((k, tuple(dependency.column for dependency in alike)))
    return found


def fit_kernel_density(
    moments: ClassMoments,
    within: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    prior: Floats,
    *,
    kernel: Kernel,
    metric: Metric,
    common: bool,
    estimated_prior: bool = True,
) -> KernelDensityFit:
    """The rows in the metric, with the bandwidths that are best for normal classes.

    Parameters
    ----------
    moments : ClassMoments
        Of the rows, diagonal.
    within : ClassMoments
        The same, of the spread that the metric needs and not singular in it.
    x : (n, p) float
    codes : (n,) int
    weights : (n,) float, optional
    prior : (K,) float
    kernel, metric, common, estimated_prior
        As of `KernelDensityFit`.
    """
    k, p = moments.n_classes, moments.n_columns
    diagonal = metric == "diagonal"
    scale = within.scale
    if metric == "euclidean":
        scale = np.ones(p)
        covariances = (Covariance.from_root(np.ones(p)),) * k
    elif common:
        covariances = (pooled(within, within.total - k, diagonal=diagonal),) * k
    else:
        covariances = separate(within, within.counts - 1, diagonal=diagonal)
    w = np.ones(len(x)) if weights is None else weights
    places = []
    for c, covariance in enumerate(covariances):
        own = codes == c
        bare = Places(moments.centres[c], scale, covariance, np.empty((p, 0)), w[own])
        places.append(replace(bare, points=bare.coordinates(x[own])))
    fit = KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, np.ones(k), "normal", tuple(places)
    )
    return replace(fit, radii=fit.normal_radii())


def kernel_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    kernel: Kernel,
    metric: Metric,
    common: bool,
    rule_of_radii: Radii,
    estimated_prior: bool,
    radii: Floats,
    sizes: Sequence[float],
    points: Floats,
    weights: Floats,
    centres_of_rows: Floats,
    unit: Floats,
    roots: Floats | None = None,
    deviations: Floats | None = None,
) -> KernelDensityFit:
    """The fit that `KernelDensityFit.buffers` and its options are of."""
    held = roots if roots is not None else deviations
    ends = np.cumsum(np.asarray(sizes, dtype=np.intp)).tolist()
    places, start = [], 0
    for c, end in enumerate(ends):
        root = np.empty(0) if held is None else held[c]
        covariance = Covariance.from_root(root)
        places.append(
            Places(
                centres_of_rows[c],
                unit,
                covariance,
                np.ascontiguousarray(points[start:end].T),
                weights[start:end],
            )
        )
        start = end
    return KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, radii, rule_of_radii, tuple(places)
    )
