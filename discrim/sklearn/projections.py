"""Estimators that use few directions: partial least squares and sparse discriminant analysis."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import discrim
from discrim.errors import CollinearError, DataError
from discrim.models.base.reading import is_integer
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, RefusedFit, SimplerFit, WeightedClassifier
from discrim.sklearn.signatures import estimator
from discrim.subspace import OrthogonalPLS, SparsePLS


@estimator
class PLSClassifier(WeightedClassifier):
    """Discriminant analysis by partial least squares; see `discrim.pls`.

    Parameters
    ----------
    few : {"fewer", "raise"}
        Behaviour if fewer components exist than requested, or scores do not vary within classes. "fewer"
        fits as many as possible, and one if there are too few rows for folds, with a warning, and a search
        over models continues. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.pls)
    positional = ("ncomp",)
    _fallback_option = ("few", "fewer")

    rule: str
    seed: int | None = 0
    few: str = "fewer"

    def _has_posteriors(self) -> bool:
        return self.rule == "lda"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit with as many of the requested components as possible, or with one if none were requested."""
        options = dict(refused.options)
        algorithm = options["algorithm"]
        orthogonal = isinstance(algorithm, OrthogonalPLS)
        requested = algorithm.n if orthogonal else options["ncomp"]
        if not (requested in (None, "1se") or is_integer(requested)):
            return None
        if isinstance(algorithm, SparsePLS) and not isinstance(algorithm.nonzero, int):
            # The largest number for all components, because their number decreases.
            requested = len(algorithm.nonzero)
            options = options | {"algorithm": SparsePLS(max(algorithm.nonzero))}
        max_components = min(int(requested) - 1, self.n_features_in_) if is_integer(requested) else 1
        unit = "orthogonal component" if orthogonal else "component"
        candidates: list[tuple[str, dict[str, Any]]] = [
            (
                f"{count} {unit}{'s' if count > 1 else ''}",
                {"algorithm": OrthogonalPLS(count)} if orthogonal else {"ncomp": count},
            )
            for count in range(max_components, 0, -1)
        ]
        if orthogonal:
            candidates.append(("1 component", {"algorithm": "nipals", "ncomp": 1}))
        for description, other in candidates:
            with suppress(CollinearError, DataError):
                return base.fit_with_warning(refused, description, discrim.pls, **options | other)
        return None


@estimator
class SparseLDAClassifier(LinearCoefficients, WeightedClassifier):
    """Sparse discriminant analysis; see `discrim.sparse_lda`.

    Parameters
    ----------
    singular : {"shrink", "raise"}
        Behaviour if a class has too few rows to leave some out for a choice, or a direction does not vary
        within classes. "shrink" fits `lda(covariance=Shrunk(standardize=True))` with a warning, and a search
        over models continues. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.sparse_lda)
    _fallback_option = ("singular", "shrink")

    seed: int | None = 0
    singular: str = "shrink"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit LDA with a shrunk covariance if a class is small or the covariance is singular.

        A class is small if it has at most `base.MAX_SMALL_CLASS` rows. Return None otherwise.
        """
        has_small_class = base.class_sizes(refused.data, refused.options).min() <= base.MAX_SMALL_CLASS
        if not (has_small_class or isinstance(refused.error, CollinearError)):
            return None
        return base.fit_shrunk_lda(refused)
