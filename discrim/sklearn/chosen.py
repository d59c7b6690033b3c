"""Estimators whose options are chosen by folds unless they are given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from numpy import bool_
from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError, DiscrimWarning
from discrim.frame.table import last_column
from discrim.models.fits.reading import check_word
from discrim.models.independent.shrunken_centroids import shrunken_centroids
from discrim.models.judging.validation import Splits
from discrim.models.normal.lda import lda
from discrim.models.normal.qda import qda
from discrim.models.normal.rda import rda
from discrim.models.results.results import ClassifierResults
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, WeightedClassifier


class RDAClassifier(LinearCoefficients, WeightedClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    alpha : float, optional
        Weight of each class's own covariance: 0 gives one covariance as in LDA, and 1 a covariance for each
        class as in QDA. The lambda of Friedman and klaR is 1 - alpha. It is chosen where it is not given.
    gamma : float, optional
        Under "esl", 1 leaves the pooled covariance as it is and 0 replaces it by its average variance times
        the identity. Under "friedman" and "klar", 0 adds no ridge and 1 leaves the average variance alone. It
        is chosen where it is not given.
    parametrization : {"esl", "friedman", "klar"}
        Which covariances are mixed; see the Notes of `discrim.rda`.
    cv : int, "loo", or iterable of (train, test)
        Number of folds by which the choice is made, or "loo" for leave-one-out, which is exact and refits
        only for the few rows that leave next to nothing of a covariance behind. Folds cost less where there
        are many rows. Or splits as in scikit-learn, which are positions of rows of the table; methods that
        judge the fit by folds then choose anew on the same splits, without the rows of the fold. The choice
        holds the prior of all rows, also for splits that are uneven by class.
    grid : sequence of float, or mapping of "alpha" and "gamma" to one, optional
        Values that are tried for what is not given; by default 0, 0.1, ..., 1.
    select : {"min", "1se"}
        "min" takes the pair of least error and, of equal errors, the simpler pair (smaller alpha, then more
        ridge). "1se" takes the simplest pair whose error is within one standard error of the least.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    standardize : bool
        Whether the identity of the ridge is meant for columns divided by their standard deviations within
        classes, so that the units of the columns do not matter. By default it is meant in the units of the
        columns, as in the literature, and a warning is given where these differ by much. Refits learn the
        standard deviations anew, also in folds; `leave_one_out()` and the choice of a pair hold them.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    method : {"moment", "mle"}
        "moment" divides the covariance of each class by n_k - 1, "mle" by n_k.
    singular : {"shrink", "raise"}
        What to do where a covariance is singular, or a class has too few rows for one, or too few to leave
        some out for a choice. "shrink" fits `lda(covariance="shrunk", standardize=True)`, or `qda()` with
        these options where alpha=1 asks for a covariance of each class. It gives a warning, and a search over
        models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(rda)

    def __init__(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        parametrization: str = "esl",
        cv: int | Literal["loo"] | Splits = 10,
        grid: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        select: str = "min",
        seed: int | None = 0,
        standardize: bool = False,
        prior: Any = None,
        method: str = "moment",
        singular: str = "shrink",
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.parametrization = parametrization
        self.cv = cv
        self.grid = grid
        self.select = select
        self.seed = seed
        self.standardize = standardize
        self.prior = prior
        self.method = method
        self.singular = singular

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("shrink", "raise"))
        try:
            return rda(formula, data, **options)
        except (CollinearError, DataError) as error:
            few = base.class_sizes(data, options).min() <= base.MOST_FEW
            if singular == "raise" or not (few or isinstance(error, CollinearError)):
                raise
            held: dict[str, Any] = {
                name: options.get(name) for name in ("prior", "weights", "method", "na_action")
            }
            other = base.shrunk_options(held | {"covariance": None})
            if self.alpha == 1 and not few:
                with suppress(CollinearError):
                    results = base.refit_quietly(qda, formula, data, **other)
                    base.warn_instead(error, f"qda() with {base.SHRUNK}")
                    return results
            results = base.refit_quietly(lda, formula, data, collinear="drop", **other)
            base.warn_instead(error, f"lda() with {base.SHRUNK}")
            return results


class ShrunkenCentroidsClassifier(LinearCoefficients, WeightedClassifier):
    """Nearest shrunken centroids; see `discrim.shrunken_centroids`.

    Parameters
    ----------
    threshold : float, optional
        How far the standardized differences between the class means and the common mean are shrunk towards
        zero. It is chosen by cross-validation where it is not given.
    offset : float or "median"
        s_0, which is added to the standard deviation of each column within classes: a number in the units of
        the columns, or the median of those standard deviations.
    cv : int, or iterable of (train, test)
        Number of folds by which the choice is made. Or splits as in scikit-learn, which are positions of rows
        of the table; methods that judge the fit by folds then choose anew on the same splits, without the
        rows of the fold.
    select : {"min", "1se"}
        "min" takes the threshold of least error and, of equal errors, the larger one. "1se" takes the largest
        threshold whose error is within one standard error of the least.
    grid : sequence of float, optional
        Thresholds to try.
    n_thresholds : int
        Number of thresholds to try where there is no grid. They are evenly spaced from 0 to the value at
        which no column is left, as in R's pamr.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    single : {"warn", "raise"}
        What to do where a class has one row, which leaves some fold without the class. "warn" chooses the
        threshold from the rows of the other classes (no threshold where these are fewer than two), with a
        warning. "raise" refuses, as the verb does.
    """

    verb = staticmethod(shrunken_centroids)
    takes_sparse = True

    def __init__(
        self,
        *,
        threshold: float | None = None,
        offset: float | str = "median",
        cv: int | Splits = 10,
        select: str = "min",
        grid: Sequence[float] | None = None,
        n_thresholds: int = 30,
        seed: int | None = 0,
        prior: Any = None,
        single: str = "warn",
    ) -> None:
        self.threshold = threshold
        self.offset = offset
        self.cv = cv
        self.select = select
        self.grid = grid
        self.n_thresholds = n_thresholds
        self.seed = seed
        self.prior = prior
        self.single = single

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        single = options.pop("single")
        check_word("single", single, ("warn", "raise"))
        try:
            return shrunken_centroids(formula, data, **options)
        except (CollinearError, DataError) as error:
            counts = base.class_sizes(data, options)
            if single == "raise" or options["threshold"] is not None or counts.min() > base.MOST_FEW:
                raise
            some = last_column(data).isin(counts.index[counts > base.MOST_FEW]).to_numpy()
            threshold = 0.0
            if (counts > base.MOST_FEW).sum() > 1:
                threshold = self._threshold(formula, data, some, options)
            results = base.refit_quietly(
                shrunken_centroids, formula, data, **options | {"threshold": threshold}
            )
            base.warn_instead(error, f"with threshold={threshold:.4g}, by the classes of more rows,")
            return results

    def _threshold(self, formula: str, data: Any, some: NDArray[bool_], options: dict[str, Any]) -> float:
        """The threshold that some of the rows choose."""
        weights = options.get("weights")
        own = options | {"weights": None if weights is None else weights[some], "prior": None}
        with warnings.catch_warnings():
            # That classes have no row is why these are asked.
            warnings.simplefilter("ignore", DiscrimWarning)
            return float(shrunken_centroids(formula, data[some], **own).threshold)
