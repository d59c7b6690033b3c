"""Estimators over rules on few directions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any

import discrim
from discrim.errors import CollinearError, DataError, DiscrimError
from discrim.models.fits.reading import is_whole
from discrim.models.judging.validation import Splits
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, Simpler, WeightedClassifier


@base.estimator
class PLSClassifier(WeightedClassifier):
    """Discriminant analysis by partial least squares; see `discrim.pls`.

    Parameters
    ----------
    components, rule, scale, indicators, algorithm, engine, cv, select, grid
        As in `discrim.pls`.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    prior
        As in `discrim.pls`.
    few : {"fewer", "raise"}
        What to do where the rows have fewer components than asked for, or scores that do not vary within
        classes. "fewer" fits as many as there are, and one where there are too few rows to choose by folds,
        with a warning, so that a search over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.pls)
    _goes_on = ("few", "fewer")

    components: int | None = None
    _: KW_ONLY
    rule: str = "lda"
    scale: bool = True
    indicators: str = "scaled"
    algorithm: str = "nipals"
    engine: Any = None
    cv: int | Splits = 10
    select: str = "min"
    grid: Sequence[int] | None = None
    seed: int | None = 0
    prior: Any = None
    few: str = "fewer"

    def _has_posteriors(self) -> bool:
        return self.rule == "lda"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        given = options["components"]
        if not (given is None or is_whole(given)):
            return None
        most = 1 if given is None else min(int(given) - 1, self.n_features_in_)
        for count in range(most, 0, -1):
            with suppress(CollinearError, DataError):
                words = f"{count} component{'s' if count > 1 else ''}"
                other = options | {"components": count}
                return base.fitted_instead(error, words, discrim.pls, formula, data, **other)
        return None


@base.estimator
class SparseLDAClassifier(LinearCoefficients, WeightedClassifier):
    """Sparse discriminant analysis; see `discrim.sparse_lda`.

    Parameters
    ----------
    nonzero, penalty, ridge, ncomp, cv, select, grid, n_penalties
        As in `discrim.sparse_lda`.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    singular : {"shrink", "raise"}
        What to do where a class has too few rows to leave some out for a choice, or a direction does not vary
        within classes. "shrink" fits `lda(covariance="shrunk", standardize=True)` with a warning, so that a
        search over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.sparse_lda)
    _goes_on = ("singular", "shrink")

    _: KW_ONLY
    nonzero: int | Sequence[int] | None = None
    penalty: float | Sequence[float] | None = None
    ridge: float = 0.0
    ncomp: int | None = None
    cv: int | Splits = 10
    select: str = "min"
    grid: Sequence[float] | None = None
    n_penalties: int = 50
    seed: int | None = 0
    prior: Any = None
    singular: str = "shrink"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        few = base.class_sizes(data, options).min() <= base.MOST_FEW
        if not (few or isinstance(error, CollinearError)):
            return None
        other = base.plainly_shrunk(options) | {"collinear": "drop"}
        return base.fitted_instead(error, f"lda() with {base.SHRUNK}", discrim.lda, formula, data, **other)
