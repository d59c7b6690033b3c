"""Estimators over rules on few directions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import discrim
from discrim.errors import CollinearError, DataError, DiscrimError
from discrim.models.fits.reading import is_whole
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, Simpler, WeightedClassifier
from discrim.sklearn.signatures import estimator


@estimator
class PLSClassifier(WeightedClassifier):
    """Discriminant analysis by partial least squares; see `discrim.pls`.

    Parameters
    ----------
    few : {"fewer", "raise"}
        What to do if the rows have fewer components than asked for, or scores that do not vary within
        classes. "fewer" fits as many as there are, and one if there are too few rows to choose by folds, with
        a warning, so that a search over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.pls)
    positional = ("ncomp",)
    _goes_on = ("few", "fewer")

    rule: str
    seed: int | None = 0
    few: str = "fewer"

    def _has_posteriors(self) -> bool:
        return self.rule == "lda"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        name, what = (
            ("orthogonal", "orthogonal component") if options["orthogonal"] else ("ncomp", "component")
        )
        given = options[name]
        if not (given is None or given == "cv" or is_whole(given)):
            return None
        columns = options["nonzero"]
        if isinstance(columns, Sequence) and columns and all(map(is_whole, columns)):
            # One number for all components, however few they are.
            given, options = len(columns), options | {"nonzero": max(columns)}
        most = min(int(given) - 1, self.n_features_in_) if is_whole(given) else 1
        fewer = [(f"{count} {what}{'s' if count > 1 else ''}", {name: count}) for count in range(most, 0, -1)]
        if options["orthogonal"]:
            fewer.append(("1 component", {"orthogonal": 0, "ncomp": 1}))
        for words, other in fewer:
            with suppress(CollinearError, DataError):
                return base.fitted_instead(error, words, discrim.pls, formula, data, **options | other)
        return None


@estimator
class SparseLDAClassifier(LinearCoefficients, WeightedClassifier):
    """Sparse discriminant analysis; see `discrim.sparse_lda`.

    Parameters
    ----------
    singular : {"shrink", "raise"}
        What to do if a class has too few rows to leave some out for a choice, or a direction does not vary
        within classes. "shrink" fits `lda(covariance=Shrunk(standardize=True))` with a warning, so that a
        search over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.sparse_lda)
    _goes_on = ("singular", "shrink")

    seed: int | None = 0
    singular: str = "shrink"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        few = base.class_sizes(data, options).min() <= base.MOST_FEW
        if not (few or isinstance(error, CollinearError)):
            return None
        return base.shrunk_lda(error, formula, data, options)
