"""Results of linear, quadratic and regularized discriminant analysis, and what single options add to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discrim.core.covariance.em import EMCovariance
from discrim.models.base.available import available_if
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.discriminant.components import subspace_of
from discrim.models.discriminant.covariance_descriptions import describe
from discrim.models.results.geometry import GroupSummary
from discrim.models.results.results import ClassifierResults, ClassMeans


def covariance_model_of(fit: FittedModel[Any]) -> FitComponent | None:
    """Return what the kind of covariance of a fit adds to its results; None if it adds nothing."""
    return describe(fit.estimates.covariance_model).component(fit)


class SubspaceResults(ClassMeans, GroupSummary, ClassifierResults):
    """Results of normal classes, which may be compared within principal axes."""

    @property
    @available_if(
        lambda self: self._fit.estimates.within_axes is not None,
        "it compares the classes on all columns. Fit with components=, or qda() with ncomp=",
    )
    def subspace(self) -> Any:
        """Axes on which the classes are compared: a `Subspace`, or a kind of it with more attributes."""
        return subspace_of(self._fit)


class NormalResults(SubspaceResults):
    """Results of normal classes with a covariance model."""

    @property
    @available_if(
        lambda self: covariance_model_of(self._fit) is not None,
        'its covariance has no parameters of its own. Fit with a shrunk, robust ("t" or "mcd"), separable or '
        "factor analytic covariance",
    )
    def covariance_model(self) -> Any:
        """What the kind of covariance adds: `ShrunkModel`, `RobustModel`, `SeparableModel`, `FactorModel`."""
        return covariance_model_of(self._fit)

    @property
    @available_if(
        lambda self: self._fit.estimates.covariance_model.traits.uses_incomplete_rows, 'fit with missing="em"'
    )
    def em(self) -> EMCovariance:
        """The search of a fit with missing="em": steps, converged, row_llf, patterns, incomplete."""
        found: EMCovariance = self._fit.estimates.covariance_model
        return found

    def _need_moments(self, what: str) -> None:
        """Raise NotSupportedError if means and covariances are not moments of the rows."""
        error = describe(self._fit.estimates.covariance_model).sampling_error(what)
        if error is not None:
            raise error


def moment_estimates(what: str, *, adjusted: bool = True) -> Callable[[Any], None]:
    """Return a check of `available_if` for what assumes that means and covariances are moments of the rows.

    Parameters
    ----------
    what : str
        The method, as its error names it.
    adjusted : bool
        Whether it also exists for fits with covariates.
    """

    def check(results: Any) -> None:
        results._need_moments(what)
        if not adjusted:
            results._fit.estimates.refuse_covariates(what)

    return check
