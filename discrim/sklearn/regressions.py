"""Estimators over regressions of the classes: logistic, of indicators, and any as an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from discrim.core.regression.logistic import MOST_STEPS, TOLERANCE
from discrim.errors import SeparationError
from discrim.models.fits.arguments import check_word
from discrim.models.judging.splits import Splits
from discrim.models.regression.fda import fda
from discrim.models.regression.indicator import indicator
from discrim.models.regression.logistic import logistic
from discrim.models.regression.penalized_options import FOLDS, STRENGTHS, PenaltyName
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import FrequencyClassifier, WeightedClassifier, warn_instead
from discrim.sklearn.linear import LinearCoefficients

__all__ = ["FDAClassifier", "IndicatorClassifier", "LogisticClassifier"]


MOST_REDUCED = 400
"""Coefficients up to which separated classes are fitted with bias reduction: its steps take their square."""


class LogisticClassifier(LinearCoefficients, WeightedClassifier):
    """Multinomial logistic regression; see `discrim.logistic`.

    Parameters
    ----------
    reference, prior, bias_reduction, tol, maxiter
        As for `discrim.logistic`.
    separation : {"reduce", "warn", "raise"}
        Where a hyperplane separates classes, fit with `bias_reduction=True`, whose estimates are finite, so
        that a search over models goes on; or stop where the search does, whose labels are right for the rows
        of the fit, but whose posteriors are all but certain of those to come; each with a warning; or refuse.
        More coefficients than bias reduction is quick for stop where the search does.
    collinear : {"drop", "raise"}
        Drop columns that others determine, with a warning; or refuse.
    penalty, strength, l1_ratio, grid, n_strengths, select, seed
        As for `discrim.logistic`, but that rows are dealt to folds the same way at each fit, unless `seed` is
        None. With a penalty neither separated classes nor collinear columns are an
        obstacle, and `separation` and `collinear` have no part.
    cv : int, or iterable of (train, test)
        Folds by which a strength of None is chosen, `folds` of the verb.
    """

    verb = staticmethod(logistic)

    def __init__(
        self,
        *,
        reference: Any = None,
        prior: Any = None,
        bias_reduction: bool = False,
        separation: str = "reduce",
        collinear: str = "drop",
        tol: float = TOLERANCE,
        maxiter: int = MOST_STEPS,
        penalty: PenaltyName | None = None,
        strength: float | None = None,
        l1_ratio: float | None = None,
        grid: Sequence[float] | None = None,
        n_strengths: int = STRENGTHS,
        cv: int | Splits = FOLDS,
        select: Literal["min", "1se"] = "min",
        seed: int | None = 0,
    ) -> None:
        self.reference = reference
        self.prior = prior
        self.bias_reduction = bias_reduction
        self.separation = separation
        self.collinear = collinear
        self.tol = tol
        self.maxiter = maxiter
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.grid = grid
        self.n_strengths = n_strengths
        self.cv = cv
        self.select = select
        self.seed = seed

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        check_word("separation", self.separation, ("reduce", "warn", "raise"))
        check_word("collinear", self.collinear, ("drop", "raise"))
        if self.penalty is not None:
            return logistic(formula, data, **options | {"separation": "raise", "collinear": "raise"})
        # What searches over models sets cv of any estimator that has it.
        del options["folds"]
        if self.separation != "reduce":
            return logistic(formula, data, **options)
        try:
            return logistic(formula, data, **options | {"separation": "raise"})
        except SeparationError as error:
            # An empty cell is found before any program, and has no certificate.
            direction = getattr(error.certificate, "direction", None)
            if direction is not None and len(direction) * (direction.shape[1] - 1) > MOST_REDUCED:
                return logistic(formula, data, **options | {"separation": "warn"})
            warn_instead(error, "with bias_reduction=True")
            return logistic(formula, data, **options | {"separation": "raise", "bias_reduction": True})


class IndicatorClassifier(LinearCoefficients, FrequencyClassifier):
    """Least squares of the class indicators; see `discrim.indicator`.

    Parameters
    ----------
    collinear : {"drop", "raise"}
        As for `discrim.indicator`, but that columns are dropped by default, with a warning, so that a search
        over models goes on.
    """

    verb = staticmethod(indicator)
    takes_sparse = True

    def __init__(self, *, collinear: str = "drop") -> None:
        self.collinear = collinear


class FDAClassifier(WeightedClassifier):
    """Flexible discriminant analysis; see `discrim.fda`.

    Parameters
    ----------
    engine : object with `fit(X, Y)` and `predict(X)`, optional
        As for `discrim.fda`; by default `sklearn.linear_model.Ridge()`, the penalized discriminant analysis
        of Hastie, Buja & Tibshirani (1995), whose penalty is in the units of the columns.
    prior, ncomp
        As for `discrim.fda`.
    """

    verb = staticmethod(fda)

    def __init__(self, engine: Any = None, *, prior: Any = None, ncomp: int | None = None) -> None:
        self.engine = engine
        self.prior = prior
        self.ncomp = ncomp

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        from sklearn.linear_model import Ridge

        engine = Ridge() if self.engine is None else self.engine
        return fda(formula, data, **options | {"engine": engine})
