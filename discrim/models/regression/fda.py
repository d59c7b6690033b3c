"""Flexible discriminant analysis: optimal scoring with any regression as its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.regression.flexible import FlexibleFit
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import DataError, NotSupportedError
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import is_whole, prior_vector
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Model, rule_of_numbers
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.reading import NaAction, class_moments, usable_rows
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.normal.estimators import text_of
from discrim.models.regression.engine import Engine, regressed
from discrim.models.results.results import ClassifierResults

__all__ = ["FDAResults", "fda"]

Floats = NDArray[np.float64]


def fda(
    formula: str,
    data: Any,
    *,
    engine: Engine,
    prior: Any = None,
    weights: Any = None,
    ncomp: int | None = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> FDAResults:
    """Flexible discriminant analysis: optimal scoring with any regression as its engine.

    Parameters
    ----------
    formula, data, prior, levels, na_action, functions
        As for `discrim.lda`.
    engine : object with `fit(X, Y)` and `predict(X)`
        A regression, such as those of scikit-learn: a copy is fitted to the columns (n, p) and to K - 1
        scores of the classes (n, K - 1), or (n,) for two classes. With least squares the fit is that of
        `lda(method="mle")`.
    weights : str or (n,) array, optional
        Frequency weights, whole numbers: the engine sees a row as often as its weight says.
    ncomp : int, optional
        Axes to keep, of K - 1.

    Returns
    -------
    FDAResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; an engine that cannot be fitted, predicts no scores, or predicts them without
        error, as one that holds every row does.
    NotSupportedError
        Weights that are not whole numbers.

    Notes
    -----
    The variates have unit variance within classes (divisor N) where the engine is a projection, as least
    squares on any functions of the columns is; posteriors take them for normal. An engine that adapts to the
    rows shows more than there is in the apparent error: see `error_rates(["cv"])`. Hastie, Tibshirani & Buja
    (1994), JASA 89, 1255-1270; R's mda::fda.

    Examples
    --------
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from discrim import fda
    >>> from discrim.datasets import load_iris
    >>> fit = fda("species ~ .", load_iris(), engine=KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1))
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 49, 1], [0, 0, 50]]
    """
    blocks = read(
        formula,
        data,
        weights=weights,
        levels=levels,
        functions=functions,
        in_memory="fda() gives its engine all rows, and",
    )
    blocks, moments = usable_rows(blocks, "diagonal", na_action)
    most = moments.n_classes - 1
    if ncomp is not None and not (is_whole(ncomp) and 1 <= ncomp <= most):
        raise DataError(f"ncomp={ncomp!r}: {most + 1} classes have {most} axes; give 1 to {most}, or None.")
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), moments.counts)
    fit, own = regressed(engine, blocks, moments, shares, ncomp=ncomp, estimated_prior=prior is None)
    return FDAResults(fda_fit(fit, blocks, own, ncomp), own)


def _refuse(what: str) -> NoReturn:
    raise NotSupportedError(f"{what} is not defined for any regression as an engine: see error_rates().")


def _rule(fit: Fit[FlexibleFit], prior: Floats, method: str, convention: str | None) -> Rule:
    if method != "plugin":
        _refuse(f'method="{method}"')
    return rule_of_numbers(fit, prior, method, convention)


MODEL = Model("fda", "Flexible discriminant analysis", likelihood_of="none", rule=_rule)


def fda_fit(numbers: FlexibleFit, blocks: Blocks, engine: Any, ncomp: int | None) -> Fit[FlexibleFit]:
    """A flexible discriminant analysis as one value, with the engine that was fitted."""
    rule = partial(_refitted_rule, engine, ncomp)
    refits = replace(moment_refits(None), of_rows=rule, left_out=_left_out, asked=ncomp)
    return Fit(MODEL, numbers, blocks, numbers.prior, refits)


def _refitted_rule(engine: Any, ncomp: int | None, fit: Fit[FlexibleFit], blocks: Blocks) -> Rule | None:
    moments, numbers = class_moments(blocks, "diagonal"), fit.numbers
    if not (moments.counts > 0).all():
        return None
    refit, _ = regressed(
        engine, blocks, moments, numbers.prior, ncomp=ncomp, estimated_prior=numbers.estimated_prior
    )
    return refit.rule(fit.log_prior())


def _left_out(fit: Fit[FlexibleFit]) -> LeftOut:
    return left_out_by_refits(fit, "takes a fit of the engine a row")


class FDAResults(ClassifierResults):
    """A fitted flexible discriminant analysis.

    Attributes
    ----------
    engine : object
        The fitted copy of the engine.
    scores : DataFrame, classes by LD1, LD2, ...
        Optimal scores, the largest in size of each axis positive.
    centroids : DataFrame, classes by LD1, LD2, ...
        Class means of the variates.
    values, explained : Series by LD1, LD2, ...
        Squared canonical correlations l, and the share of each axis in the sum of l / (1 - l).
    means : DataFrame, classes by terms
    """

    _fit: Fit[FlexibleFit]

    def __init__(self, fit: Fit[FlexibleFit], engine: Any) -> None:
        super().__init__(fit)
        self.engine = engine
        self._names = pd.Index([f"LD{i + 1}" for i in range(len(fit.numbers.values))])

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    @property
    def scores(self) -> pd.DataFrame:
        """Optimal scores of the classes: mean zero and mean square one over the rows."""
        return pd.DataFrame(self._fit.numbers.scores, index=self.classes, columns=self._names)

    @property
    def centroids(self) -> pd.DataFrame:
        """Centroids of the classes among the variates."""
        return pd.DataFrame(self._fit.numbers.centroids, index=self.classes, columns=self._names)

    @property
    def values(self) -> pd.Series:
        """Squared canonical correlations."""
        return pd.Series(self._fit.numbers.values, index=self._names, name="value")

    @property
    def explained(self) -> pd.Series:
        """Share of each axis in the differences between classes, of all axes that there are."""
        every = np.maximum(self._fit.numbers.every_value, 0.0)
        ratio = every / (1 - every)
        return pd.Series((ratio / ratio.sum())[: len(self._names)], index=self._names, name="explained")

    def transform(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Variates LD1, LD2, ... of each row; of a row with a missing value, missing.

        Parameters
        ----------
        data : table, optional
            New rows; the rows of the fit without it.
        unseen : {"raise", "missing"}, optional
            What to do with a level that the fit has not seen, as for `predict`.

        Returns
        -------
        DataFrame (rows, axes)
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        out = np.empty((blocks.table.nrows, len(self._names)))
        for place, x, _ in blocks.every_row():
            out[place] = self._fit.numbers.variates(x)
        return pd.DataFrame(out, index=blocks.table.index, columns=self._names)

    # ---- what an engine has not

    @property
    def llf(self) -> float:
        """Not there: raises NotSupportedError."""
        _refuse("A likelihood")

    @property
    def df_model(self) -> int:
        """Not there: raises NotSupportedError."""
        _refuse("A number of free parameters")

    def save(self, path: str | PathLike[str]) -> None:
        """Not there: raises NotSupportedError, as the engine is an object of the user's.

        Parameters
        ----------
        path : str or path
            Nothing is written there.
        """
        raise NotSupportedError(
            f"The fit holds {text_of(self.engine)}, and a file of ours holds no objects: pickle it, if you "
            "trust who will read it to trust you."
        )

    # ---- tables

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row a class and axis: score and centroid."""
        index = pd.MultiIndex.from_product([self.classes, self._names], names=["class", "axis"])
        columns = {"score": self._fit.numbers.scores.ravel(), "centroid": self._fit.numbers.centroids.ravel()}
        return pd.DataFrame(columns, index=index).reset_index()

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._sizes() | {"axes": len(self._names), "engine": text_of(self.engine)}])

    def _centroids(self) -> pd.DataFrame:
        return self.centroids
