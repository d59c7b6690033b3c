"""Estimators over rules on few directions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError
from discrim.models.fits.arguments import check_word, is_whole
from discrim.models.judging.splits import Splits
from discrim.models.normal.lda import lda
from discrim.models.projections.pls import pls
from discrim.models.projections.sparse_lda import sparse_lda
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import FrequencyClassifier, WeightedClassifier, only_if, warn_instead
from discrim.sklearn.instead import MOST_FEW, SHRUNK, again, class_sizes, shrunk
from discrim.sklearn.linear import LinearCoefficients

__all__ = ["PLSClassifier", "SparseLDAClassifier"]


class PLSClassifier(FrequencyClassifier):
    """Discriminant analysis by partial least squares; see `discrim.pls`.

    Parameters
    ----------
    components, rule, scale, indicators, algorithm, engine, select, grid, seed, prior
        As for `discrim.pls`, which chooses a number of components of None by folds; but that rows are dealt
        to folds the same way at each fit, unless `seed` is None.
    cv : int, or iterable of (train, test)
        Folds of the choice, `folds` of the verb.
    few : {"fewer", "raise"}
        Where the rows have fewer components than asked for, or scores of these that do not vary within
        classes, fit as many as there are, and one where rows are too few to choose by folds, so that a search
        over models goes on, with a warning; or refuse, as the verb does.
    """

    verb = staticmethod(pls)

    def __init__(
        self,
        components: int | None = None,
        *,
        rule: str = "lda",
        scale: bool = True,
        indicators: str = "scaled",
        algorithm: str = "nipals",
        engine: Any = None,
        cv: int | Splits = 10,
        select: str = "min",
        grid: Sequence[int] | None = None,
        seed: int | None = 0,
        prior: Any = None,
        few: str = "fewer",
    ) -> None:
        self.components = components
        self.rule = rule
        self.scale = scale
        self.indicators = indicators
        self.algorithm = algorithm
        self.engine = engine
        self.cv = cv
        self.select = select
        self.grid = grid
        self.seed = seed
        self.prior = prior
        self.few = few

    def _has_posteriors(self) -> bool:
        return self.rule == "lda"

    @only_if(_has_posteriors)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Posterior probabilities (n, K) of the classes in the order of `classes_`; of rule="lda"."""
        return self._posteriors(X, logs=False)

    @only_if(_has_posteriors)
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Logarithms of the posteriors (n, K); of rule="lda"."""
        return self._posteriors(X, logs=True)

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        few = options.pop("few")
        check_word("few", few, ("fewer", "raise"))
        try:
            return pls(formula, data, **options)
        except (CollinearError, DataError) as error:
            given = options["components"]
            if few == "raise" or not (given is None or is_whole(given)):
                raise
            most = 1 if given is None else min(int(given) - 1, self.n_features_in_)
            for count in range(most, 0, -1):
                with suppress(CollinearError, DataError):
                    results = again(pls, formula, data, **options | {"components": count})
                    warn_instead(error, f"{count} component{'s' if count > 1 else ''}")
                    return results
            raise


class SparseLDAClassifier(LinearCoefficients, WeightedClassifier):
    """Sparse discriminant analysis; see `discrim.sparse_lda`.

    Parameters
    ----------
    nonzero, penalty, ridge, ncomp, cv, select, grid, n_penalties, seed, prior
        As for `discrim.sparse_lda`, which chooses a penalty by folds where neither it nor nonzero is given;
        but that rows are dealt to folds the same way at each fit, unless `seed` is None.
    singular : {"shrink", "raise"}
        Where a class has too few rows to choose by leaving some out, or a direction does not vary within
        classes, fit `lda(covariance="shrunk", standardize=True)`, so that a search over models goes on, with
        a warning; or refuse, as the verb does.
    """

    verb = staticmethod(sparse_lda)

    def __init__(
        self,
        *,
        nonzero: int | Sequence[int] | None = None,
        penalty: float | Sequence[float] | None = None,
        ridge: float = 0.0,
        ncomp: int | None = None,
        cv: int | Splits = 10,
        select: str = "min",
        grid: Sequence[float] | None = None,
        n_penalties: int = 50,
        seed: int | None = 0,
        prior: Any = None,
        singular: str = "shrink",
    ) -> None:
        self.nonzero = nonzero
        self.penalty = penalty
        self.ridge = ridge
        self.ncomp = ncomp
        self.cv = cv
        self.select = select
        self.grid = grid
        self.n_penalties = n_penalties
        self.seed = seed
        self.prior = prior
        self.singular = singular

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("shrink", "raise"))
        try:
            return sparse_lda(formula, data, **options)
        except (CollinearError, DataError) as error:
            few = class_sizes(data, options).min() <= MOST_FEW
            if singular == "raise" or not (few or isinstance(error, CollinearError)):
                raise
            held: dict[str, Any] = {name: options.get(name) for name in ("prior", "weights", "na_action")}
            results = again(lda, formula, data, collinear="drop", **shrunk(held | {"covariance": None}))
            warn_instead(error, f"lda() with {SHRUNK}")
            return results
