"""Estimators of rules on few directions of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discrim.errors import CollinearError, DataError
from discrim.models.fits.arguments import check_word
from discrim.models.judging.splits import Splits
from discrim.models.normal.lda import lda
from discrim.models.projections.sparse_lda import sparse_lda
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import WeightedClassifier, warn_instead
from discrim.sklearn.instead import MOST_FEW, SHRUNK, again, class_sizes, shrunk
from discrim.sklearn.linear import LinearCoefficients

__all__ = ["SparseLDAClassifier"]


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
