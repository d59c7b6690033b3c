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
    components : int, dict, or "bic"
        Number of components of each class; a dict gives it by class. "bic" tries 1 to `most`.
    covariance : str or dict
        "full" gives each component its own covariance, and "diagonal" does so without correlations. "pooled"
        has one covariance for all components of all classes, as in R's mda. Other names are those of mclust;
        see the Notes of `discrim.mixture`. "bic" tries all of these names. A dict gives names by class.
    over : {"class", "classes"}, optional
        Whether what the letters of a name call equal is equal over the components of each class, or over
        those of all classes. By default it is equal over the classes where each has one component, and within
        each class otherwise.
    most : int
        The largest number of components that "bic" tries: no more than the largest class has rows, nor 1,000.
    starts : int
        Number of random partitions from which EM takes some steps, beside two of hierarchical clustering. It
        is continued from the best of them.
    seed : int
        Seed of the random partitions. The same seed and rows, in whatever order, give the same fit.
    tol : float
        EM ends when a step raises the log-likelihood by less than this for each row.
    maxiter : int
        The largest number of steps of EM.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    singular : {"simpler", "raise"}
        What to do where a component becomes singular, or there are fewer rows than components. "simpler" fits
        one component for each class, with a pooled or a spherical covariance and a warning, so that a search
        over models goes on. "raise" refuses, as the verb does.
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
