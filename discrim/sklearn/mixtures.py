"""The estimator over mixtures of normals."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from discrim.errors import CollinearError, DataError
from discrim.models.fits.arguments import check_word
from discrim.models.mixtures.mixture import mixture
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import WeightedClassifier, warn_instead
from discrim.sklearn.instead import again

__all__ = ["MixtureClassifier"]

SIMPLER = (
    {"components": 1, "covariance": "pooled"},
    {"components": 1, "covariance": "VII", "over": "class"},
    {"components": 1, "covariance": "EII"},
)
"""What is fitted where components become singular, the first that can be."""


class MixtureClassifier(WeightedClassifier):
    """Mixture discriminant analysis; see `discrim.mixture`.

    Parameters
    ----------
    components, covariance, over, most, starts, seed, tol, maxiter, prior
        As for `discrim.mixture`.
    singular : {"simpler", "raise"}
        Where a component becomes singular, or there are fewer rows than components, fit one component a class
        with a pooled or a spherical covariance, so that a search over models goes on, with a warning; or
        refuse, as the verb does.
    """

    verb = staticmethod(mixture)

    def __init__(
        self,
        components: Any = "bic",
        *,
        covariance: Any = "full",
        over: str | None = None,
        most: int = 5,
        starts: int = 10,
        seed: int = 0,
        tol: float = 1e-8,
        maxiter: int = 1000,
        prior: Any = None,
        singular: str = "simpler",
    ) -> None:
        self.components = components
        self.covariance = covariance
        self.over = over
        self.most = most
        self.starts = starts
        self.seed = seed
        self.tol = tol
        self.maxiter = maxiter
        self.prior = prior
        self.singular = singular

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("simpler", "raise"))
        try:
            return mixture(formula, data, **options)
        except (CollinearError, DataError) as error:
            if singular == "raise":
                raise
            for instead in SIMPLER:
                with suppress(CollinearError):
                    results = again(mixture, formula, data, **options | {"over": None} | instead)
                    given = ", ".join(f"{name}={value!r}" for name, value in instead.items())
                    warn_instead(error, given)
                    return results
            raise
