"""Estimators over rules on few directions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError
from discrim.models.fits.arguments import check_word, is_whole
from discrim.models.judging.splits import Splits
from discrim.models.projections.pls import pls
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import FrequencyClassifier, only_if, warn_instead
from discrim.sklearn.instead import again

__all__ = ["PLSClassifier"]


class PLSClassifier(FrequencyClassifier):
    """Discriminant analysis by partial least squares; see `discrim.pls`.

    Parameters
    ----------
    components, rule, scale, indicators, algorithm, select, grid, seed, prior
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
