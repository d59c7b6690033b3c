"""Estimators over regressions on the classes: logistic, of indicators, and any regression as an engine.

An engine may also be named in a text, as on the command line, which is read as data and never run as code.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import KW_ONLY
from difflib import get_close_matches
from typing import Any, Literal

from sklearn.utils import all_estimators

import discrim
from discrim.core.regression.logistic import MOST_STEPS, TOLERANCE
from discrim.errors import DataError, DiscrimError, SeparationError
from discrim.models.fits.reading import check_word
from discrim.models.judging.validation import Splits
from discrim.models.regression.penalized import FOLDS, STRENGTHS, PenaltyName
from discrim.models.results.results import ClassifierResults
from discrim.sklearn import base
from discrim.sklearn.base import FrequencyClassifier, LinearCoefficients, Simpler, WeightedClassifier

MOST_REDUCED = 400
"""Coefficients up to which separated classes are fitted with bias reduction: its steps take their square."""


@base.estimator
class LogisticClassifier(LinearCoefficients, WeightedClassifier):
    """Multinomial logistic regression; see `discrim.logistic`.

    Parameters
    ----------
    reference : label, optional
        Class in the denominator of the odds. It is the first class by default, so that of two classes the
        second is the event.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data. Another prior
        shifts the log odds of predictions by those of this prior against the class proportions.
    bias_reduction : bool
        Whether the likelihood is maximized with Jeffreys' penalty (Firth, 1993). This removes the bias of
        first order, and the estimates are finite even where a hyperplane separates classes.
    separation : {"reduce", "warn", "raise"}
        What to do if a hyperplane separates classes; with a penalty it is not used. "reduce" fits with
        `bias_reduction=True`, whose estimates are finite, or stops as "warn" does if there are too many
        coefficients for bias reduction to be quick. "warn" takes the point at which the search stops: its
        labels are right for the rows of the fit, but its posteriors of new rows are close to 0 or 1. Both
        give a warning, and a search over models goes on. "raise" refuses.
    collinear : {"drop", "raise"}
        Whether columns that others determine are dropped with a warning, or refused. With a penalty it is not
        used.
    tol : float
        Distance to the maximum, in standard errors, at which the search ends, after one more step of Newton's
        method; a value below rounding error stands for rounding error. Separation is judged to 1e-7 standard
        deviations of a column whatever `tol` is. With a penalty, `tol` is how far the conditions of a minimum
        may be violated, as a share of the strength, where rounding stops the search before its end.
    maxiter : int
        The largest number of steps. Steps in between that reuse the information matrix are not counted. Bias
        reduction, whose steps are slower, takes 20 times as many.
    penalty : {"ridge", "lasso", "elastic_net"}, optional
        Minimize the mean negative log-likelihood plus ``strength * ((1 - l1_ratio) / 2 |b|^2 + l1_ratio
        |b|_1)`` as glmnet does, where b are the coefficients, without the constants, of columns divided by
        their standard deviations (divisor N). Separated classes, collinear columns and more columns than rows
        are then allowed. For two classes b are the log odds; for more, each class has its own coefficients
        (the symmetric parametrization, glmnet's "ungrouped").
    strength : float, optional
        Strength of the penalty, glmnet's lambda; for scikit-learn's C it is 1 / (N C). By default it is
        chosen by cross-validation.
    l1_ratio : float, optional
        Share of the lasso in the elastic net, glmnet's alpha; by default one half.
    grid : sequence of float, optional
        Strengths of the path, from which one is chosen.
    n_strengths : int
        Number of strengths where there is no grid. Their logarithms are evenly spaced, as in glmnet.
    cv : int, or iterable of (train, test)
        Number of folds of the cross-validation that makes the choice. Or splits as in scikit-learn, which are
        positions of rows of the table; methods that judge the fit by folds then choose again on the same
        splits, without the rows of the fold.
    select : {"min", "1se"}
        "min" takes the strength of smallest deviance on the rows left out. "1se" takes the largest strength
        whose deviance is within one standard error of the smallest.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    """

    verb = staticmethod(discrim.logistic)

    _: KW_ONLY
    reference: Any = None
    prior: Any = None
    bias_reduction: bool = False
    separation: str = "reduce"
    collinear: str = "drop"
    tol: float = TOLERANCE
    maxiter: int = MOST_STEPS
    penalty: PenaltyName | None = None
    strength: float | None = None
    l1_ratio: float | None = None
    grid: Sequence[float] | None = None
    n_strengths: int = STRENGTHS
    cv: int | Splits = FOLDS
    select: Literal["min", "1se"] = "min"
    seed: int | None = 0

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        check_word("separation", self.separation, ("reduce", "warn", "raise"))
        check_word("collinear", self.collinear, ("drop", "raise"))
        if self.penalty is not None:
            options |= {"separation": "raise", "collinear": "raise"}
            penalized: ClassifierResults = discrim.logistic(formula, data, **options)
            return penalized
        # What searches over models sets cv of any estimator that has it.
        del options["folds"]
        if self.separation == "reduce":
            options["separation"] = "raise"
        return super()._results(formula, data, options)

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if self.separation != "reduce" or not isinstance(error, SeparationError):
            return None
        # An empty cell is found before any program, and has no certificate.
        direction = getattr(error.certificate, "direction", None)
        if direction is not None and len(direction) * (direction.shape[1] - 1) > MOST_REDUCED:
            unpenalized: ClassifierResults = discrim.logistic(
                formula, data, **options | {"separation": "warn"}
            )
            return unpenalized
        options["bias_reduction"] = True
        return base.fitted_instead(
            error, "with bias_reduction=True", discrim.logistic, formula, data, **options
        )


@base.estimator
class IndicatorClassifier(LinearCoefficients, FrequencyClassifier):
    """Least squares of the class indicators; see `discrim.indicator`.

    Parameters
    ----------
    collinear : {"drop", "raise"}
        Whether columns that others determine over all rows are refused, or the later ones dropped with a
        warning, as R's lm does. With more columns than rows, the columns that are left fit every row. They
        are dropped by default, so that a search over models goes on.
    """

    verb = staticmethod(discrim.indicator)
    takes_sparse = True

    _: KW_ONLY
    collinear: str = "drop"


@base.estimator
class FDAClassifier(WeightedClassifier):
    """Flexible discriminant analysis; see `discrim.fda`.

    Parameters
    ----------
    engine : object with `fit(X, Y)` and `predict(X)`, optional
        A regression, such as those of scikit-learn. A copy of it is fitted to the columns (n, p) and to K - 1
        scores of the classes (n, K - 1), or (n,) for two classes. With least squares the fit is that of
        `lda(method="mle")`. By default it is `sklearn.linear_model.Ridge()`, the penalized discriminant
        analysis of Hastie, Buja & Tibshirani (1995), whose penalty is in the units of the columns.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    ncomp : int, optional
        Number of axes to keep; by default K - 1.
    """

    verb = staticmethod(discrim.fda)

    engine: Any = None
    _: KW_ONLY
    prior: Any = None
    ncomp: int | None = None

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        from sklearn.linear_model import Ridge

        engine = Ridge() if self.engine is None else self.engine
        return discrim.fda(formula, data, **options | {"engine": engine})


@base.estimator
class KernelLDAClassifier(WeightedClassifier):
    """Kernel discriminant analysis; see `discrim.kernel_lda`.

    Parameters
    ----------
    kernel : {"auto", "gaussian", "laplace", "polynomial", "linear", "arccos"} or callable
        The kernel of two rows in coordinates a and b: "gaussian" is exp(-d'd / (2 width^2)), d = a - b;
        "laplace" is exp(-s / width), with s the sum of the absolute differences; "polynomial" is (1 + a'b /
        width^2)^degree; "linear" is a'b, without a width; "arccos" is that of order 1 of Cho & Saul (2009),
        between (a / width, 1) and (b / width, 1), which is the kernel of a wide network of rectified linear
        units. "auto" chooses between "gaussian" and "laplace". A callable takes two arrays of rows, (m, q)
        and (n, q), in coordinates, and returns their kernels (m, n); it has to be symmetric and positive
        semidefinite, which is checked on the rows.
    width : float, optional
        Width of the kernel, in coordinates. It is chosen if it is not given.
    ridge : float, optional
        The penalty on the fitted function, as the alpha of scikit-learn's KernelRidge. It is chosen if it is
        not given.
    scale : {"auto", "sd", "ranks", "categories", "none"}
        Coordinates of columns of numbers: "sd" divides by the standard deviation over all rows; "ranks" takes
        normal scores of the ranks, between which it interpolates, and beyond which it takes those at the
        ends; "categories" is "sd" except that columns of up to ten different values are treated as
        categories; "none" divides all columns by one number, the root of the mean of their variances, for
        columns in one unit such as pixels. "auto" chooses among the first three.
    degree : int
        Degree of the polynomial kernel, 1 to 10.
    select : {"squared", "log_loss", "error"}
        What the choice minimizes over rows left out: the mean squared error of the fitted indicators, summed
        over the classes; the log loss of their softmax with the best slope; or the error rate, with ties
        settled by the squared error.
    calibrate : bool
        Whether posteriors come from a map of the fitted indicators that is learnt from rows left out, with a
        slope and a constant a class, or from normal classes in the space of the variates, as those of `fda`.
    ncomp : int, optional
        Number of axes to keep; by default K - 1. Calibrated posteriors use all of them.
    components : int, optional
        Number of features that stand for the kernel of all rows, from some hundreds to some thousands. They
        make it possible to fit many rows.
    features : {"landmarks", "random"}
        What the features are: the kernel with landmarks, which are rows, or cosines and sines of random
        projections for the kernels "gaussian" and "laplace", in pairs, and rectified linear units of them for
        "arccos". For the same number, landmarks are closer to the kernel, and random features cost less.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    """

    verb = staticmethod(discrim.kernel_lda)

    _: KW_ONLY
    kernel: Any = "auto"
    width: float | None = None
    ridge: float | None = None
    scale: str = "auto"
    degree: int = 3
    select: str = "squared"
    calibrate: bool = True
    ncomp: int | None = None
    components: int | None = None
    features: str = "landmarks"
    prior: Any = None


def engine_of(text: str) -> Any:
    """A regression of scikit-learn as text has it: a name, with options in parentheses that are literals.

    One that takes a single response is wrapped in `MultiOutputRegressor`.

    Examples
    --------
    >>> engine_of("Ridge(alpha=2.0)")
    Ridge(alpha=2.0)
    """
    try:
        tree: ast.expr = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _unread(text) from None
    name, words = tree, list[ast.keyword]()
    if isinstance(tree, ast.Call) and not tree.args:
        name, words = tree.func, tree.keywords
    if not isinstance(name, ast.Name):
        raise _unread(text)
    options: dict[str, Any] = {}
    for word in words:
        if word.arg is None:
            raise _unread(text)
        try:
            options[word.arg] = ast.literal_eval(word.value)
        except (ValueError, TypeError, RecursionError):
            raise DataError(
                f"engine={text!r}: {word.arg}= is no literal: give a number, a text in quotes, True, False, "
                "None, or a list of these."
            ) from None
    return _made(text, name.id, options)


def _made(text: str, name: str, options: dict[str, Any]) -> Any:
    known = dict(all_estimators(type_filter="regressor"))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        way_out = f"Did you mean {near[0]}?" if near else "Give one, such as Ridge or KernelRidge."
        raise DataError(f"engine={text!r}: {name} is no regression of scikit-learn. {way_out}")
    try:
        made = known[name](**options)
    except TypeError as error:
        raise DataError(f"engine={text!r} cannot be made: {error}. Give options that {name} has.") from error
    tags = made.__sklearn_tags__().target_tags
    if tags is not None and not tags.multi_output:
        from sklearn.multioutput import MultiOutputRegressor

        return MultiOutputRegressor(made)
    return made


def _unread(text: str) -> DataError:
    return DataError(
        f"engine={text!r} cannot be read: give the name of a regression of scikit-learn, with options by "
        "name, as \"KernelRidge(kernel='rbf', gamma=0.1)\"."
    )
