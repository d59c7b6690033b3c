"""k nearest neighbours: a row is of the class that most of the rows near it are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance import dependencies
from discrim.core.knn import KNNFit, NeighbourRule, constant_columns, fit_knn
from discrim.core.leave_one_out import LeftOut
from discrim.core.moments import ClassMoments, Spread
from discrim.core.neighbours import METRICS, undefined
from discrim.errors import CollinearError, DataError, NotSupportedError, PriorError
from discrim.frame.blocks import Blocks, read
from discrim.inference.error_rates import counted
from discrim.models.judging.validation import gathered_rows, refuse_large, used_rows
from discrim.models.pictures import plot_posteriors, plot_regions
from discrim.models.results import ClassifierResults
from discrim.models.sample import (
    NaAction,
    choice,
    class_moments,
    named,
    prior_vector,
    refuse_few_rows,
    sample,
)
from discrim.models.summaries import knn as knn_sections

if TYPE_CHECKING:
    from discrim.report.plots import Axes
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["KNNResults", "knn"]

Floats = NDArray[np.float64]

MOST_NEIGHBOURS = 50
"""The largest k that is tried, unless a grid says otherwise."""

TIE = 1e-12
"""Difference of two error rates below which they are one."""


def knn(
    formula: str,
    data: Any,
    *,
    k: int | None = None,
    metric: str = "euclidean",
    scale: bool = True,
    grid: Sequence[int] | None = None,
    prior: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> KNNResults:
    """K nearest neighbours.

    Parameters
    ----------
    formula, data, levels, na_action, functions
        As for `discrim.lda`. The rows are kept in memory. There are no weights: repeat rows.
    k : int, optional
        How many of the nearest rows vote; rows as near as the k-th vote too. Chosen by leave-one-out where it
        is not given, ties to the larger k.
    metric : str
        "euclidean"; "mahalanobis", with the pooled covariance within classes, divisor N - K, of which `scale`
        makes no difference; or another metric of scipy's `cdist`: "cityblock", "chebyshev", "braycurtis",
        "canberra", "correlation", "cosine", "hamming", "jensenshannon"; of columns of zeros and ones
        "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule". "minkowski" (p = 2),
        "sqeuclidean" and, with `scale`, "seuclidean" have the neighbours of "euclidean".
    scale : bool
        Divide each column by its standard deviation over all rows, divisor N - 1.
    grid : sequence of int, optional
        The k to choose from; 1 to 50, or to the number of rows less one, by default.
    prior : optional
        As for `discrim.lda`, each probability above zero.

    Returns
    -------
    KNNResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; a k that is not from 1 to the number of rows, a metric that is not known or
        gives no distance between some rows; a prior of zero.
    CollinearError
        A column is constant that is to be scaled, or the covariance for "mahalanobis" is singular.
    NotSupportedError
        The rows do not fit in memory.

    Notes
    -----
    With k_g of the votes for class g, which has the share s_g of the rows and the prior pi_g, its
    posterior is proportional to pi_g k_g / s_g: k_g / n_g estimates the density of the class. By default
    pi_g = s_g, and posteriors are shares of votes.

    Nothing is left to chance. Distances that differ by no more than the rounding of the table's numbers are
    tied, and all rows as near as the k-th vote (as in R's class::knn with use.all=TRUE, whose distances are
    tied up to a ten-thousandth of their square). A tie of posteriors, which class::knn breaks at random and
    scikit-learn by the order of the levels, goes to the class with the nearest neighbour, then to the larger
    prior, then to the first of the levels.

    A saved fit holds its rows, in the coordinates that distances are taken in, with their classes.

    Leave-one-out takes one search for all k. It holds what is common to all rows: the standard deviations or
    the covariance, the prior, and the weights of votes pi_g / s_g. Folds are fitted anew, and choose k anew.

    Examples
    --------
    >>> from discrim import knn
    >>> from discrim.datasets import load_iris
    >>> fit = knn("species ~ .", load_iris(), k=5)
    >>> fit.error_rates(["loo"])["wrong"].tolist()
    [8.0]
    >>> fit.predict_proba().iloc[70].round(2).tolist()
    [0.0, 0.4, 0.6]
    """
    choice("metric", metric, METRICS)
    if metric == "seuclidean" and not scale:
        raise DataError("metric='seuclidean' divides by standard deviations: leave scale=True.")
    blocks = read(formula, data, levels=levels, functions=functions)
    if metric == "mahalanobis":
        refuse_few_rows(blocks)
    refuse_large(blocks, "knn() keeps its rows")
    blocks, moments = sample(blocks, "diagonal", na_action)
    within = class_moments(blocks, "pooled") if metric == "mahalanobis" else None
    _refuse_constant(moments, within, blocks, scale)
    n = int(moments.total)
    if k is not None:
        _check_k(k, n)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), moments.counts)
    _refuse_zero(shares, blocks.design.levels)
    tried = None if k is not None else _grid(grid, n)
    rows = gathered_rows(blocks)
    fit = fit_knn(
        rows.x,
        rows.codes,
        moments,
        shares,
        k=k or 1,
        metric=metric,
        scale=scale,
        estimated_prior=prior is None,
        within=within,
    )
    why, bad = undefined(metric, fit.search.points)
    if bad.any():
        row = blocks.table.label(int(rows.positions[int(np.argmax(bad))]))
        raise DataError(
            f"metric={metric!r} gives no distance to row {row!r}: {why}. Leave such rows out, or take "
            "another metric."
        )
    if tried is None:
        return KNNResults(fit, blocks)
    path = _path(fit, tried)
    return KNNResults(fit.with_k(_least(path)), blocks, path=path)


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_k(k: Any, n: int) -> None:
    if not (_whole(k) and 1 <= k <= n):
        raise DataError(
            f"k={k!r}: give a number of neighbours from 1 to the {n} rows of the fit, or None to have it "
            "chosen."
        )


def _grid(grid: Sequence[int] | None, n: int) -> list[int]:
    """The k to try, in increasing order."""
    if n < 2:
        raise DataError("A k is chosen by leaving rows out, which takes two rows: give k=.")
    if grid is None:
        return list(range(1, min(MOST_NEIGHBOURS, n - 1) + 1))
    values = list(grid)
    bad = [value for value in values if not (_whole(value) and 1 <= value < n)]
    if bad or not values:
        what = f"{bad[0]!r} is no k" if bad else "there is none"
        raise DataError(
            f"grid={named(values)}: {what}; give numbers from 1 to {n - 1}, one less than the rows, as "
            "each is left out."
        )
    return sorted({int(value) for value in values})


def _least(path: pd.DataFrame) -> int:
    """The k of least error, the largest of those that tie."""
    errors = path["error"].to_numpy()
    return int(path["k"].to_numpy()[errors <= errors.min() + TIE].max())


def _path(fit: KNNFit, grid: list[int]) -> pd.DataFrame:
    """Leave-one-out error by k, as of `error_rates(["loo"])`: k, error, se."""
    counts = fit.confusions(grid, fit.prior)
    rates = [counted(table, fit.prior, None, 0.95, sampled=fit.estimated_prior) for table in counts]
    path = pd.DataFrame({"k": grid})
    path["error"] = [rate.estimate for rate in rates]
    path["se"] = [rate.std_err for rate in rates]
    return path


def _refuse_constant(moments: ClassMoments, within: ClassMoments | None, blocks: Blocks, scale: bool) -> None:
    """Raise a CollinearError for columns by whose spread nothing can be divided."""
    terms = blocks.terms
    if within is not None:
        if moments.total - moments.n_classes < moments.n_columns:
            raise CollinearError(
                f"{moments.total:g} rows in {moments.n_classes} classes are too few for the covariance of "
                f'{len(terms)} columns: name fewer, or take metric="euclidean".'
            )
        found = dependencies(within)
        if found:
            raise CollinearError(
                f"The covariance within classes is singular: {named(terms[d.column] for d in found)} is "
                "constant or depends on the columns before it. Drop it from the formula, or take "
                'metric="euclidean".'
            )
    elif scale:
        still = constant_columns(moments)
        if still:
            raise CollinearError(
                f"{named(terms[j] for j in still)} is constant: there is no standard deviation to divide "
                "by. Drop it from the formula, or pass scale=False."
            )


def _refuse_zero(prior: Floats, classes: Any) -> None:
    if not (prior > 0).all():
        raise PriorError(
            f"The prior of class {classes[int(np.argmin(prior))]!r} is 0: where all neighbours are of such "
            "classes there is no posterior. Give it some, or leave out the class."
        )


class KNNResults(ClassifierResults):
    """A fit of k nearest neighbours.

    Attributes
    ----------
    k : int
    metric : str
    path : DataFrame
        Of a choice by leave-one-out: k, error, se.
    """

    title: ClassVar[str] = "k nearest neighbours"
    likelihood_of: ClassVar[str] = "none"
    _no_fit = ("k is more than the rows, or a column is constant", "a smaller k")
    _fit: KNNFit

    def __init__(
        self, fit: KNNFit, blocks: Blocks, *, path: pd.DataFrame | None = None, has_rows: bool = True
    ) -> None:
        super().__init__(blocks, fit.moments.counts, fit.prior, has_rows=has_rows)
        self._fit = fit
        self._chosen = "" if path is None else "k"
        if path is not None:
            self._cache["path"] = path

    @property
    def k(self) -> int:
        """How many of the nearest rows vote."""
        return self._fit.k

    @property
    def metric(self) -> str:
        """By which rows are near."""
        return self._fit.metric

    @property
    def path(self) -> pd.DataFrame:
        """Leave-one-out errors of the k tried.

        Raises
        ------
        NotSupportedError
            The k was given, or the fit was loaded.
        """
        if "path" not in self._cache:
            raise NotSupportedError("There is no path: k was given, or the fit was loaded.")
        held: pd.DataFrame = self._cache["path"]
        return held.copy()

    # ---- the rule

    def _rule(self, prior: Floats, method: str = "plugin", convention: str | None = None) -> NeighbourRule:
        return self._fit.rule_under(prior, method)

    def _prior_values(self, prior: Any) -> Floats:
        values = super()._prior_values(prior)
        _refuse_zero(values, self.classes)
        return values

    @property
    def _spread(self) -> Spread | None:
        return None

    def _refitted_rule(self, blocks: Blocks) -> NeighbourRule | None:
        refit = self._refit(blocks)
        if refit is None or not self._chosen:
            return None if refit is None else refit.rule_under(refit.prior)
        grid = [k for k in self.path["k"].tolist() if k < refit.moments.rows.sum()]
        if not grid:
            return None
        chosen = refit.with_k(_least(_path(refit, grid)))
        return chosen.rule_under(chosen.prior)

    def _held_rule(self, blocks: Blocks) -> NeighbourRule | None:
        refit = self._refit(blocks)
        return None if refit is None else refit.rule_under(refit.prior)

    def _refit(self, blocks: Blocks) -> KNNFit | None:
        parts = [
            (x, codes) if times is None else _repeated(x, codes, times)
            for _, x, codes, times in used_rows(blocks)
        ]
        if not parts:
            return None
        x, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return self._fit.refit(x, codes)

    def _left_out(self) -> LeftOut:
        every = self._fit.left_out_scores(self._prior_values(None))
        taken = 0

        def scores(x: Floats, codes: NDArray[np.intp], weights: Floats | None) -> Floats:
            # The rows of the search are those of the fit, in the order in which they are asked for.
            nonlocal taken
            taken += len(x)
            return every[taken - len(x) : taken]

        return scores

    # ---- neighbours

    def votes(self, data: Any = None) -> pd.DataFrame:
        """Votes by class, rows by classes.

        Parameters
        ----------
        data : table, optional
            New rows; the rows of the fit, each of which votes for itself, by default.

        Returns
        -------
        DataFrame
            Integers that sum to k, or more where rows are as near as the k-th; missing where a value is.

        Examples
        --------
        >>> from discrim import knn
        >>> from discrim.datasets import load_iris
        >>> knn("species ~ .", load_iris(), k=5).votes().iloc[70].tolist()
        [0, 2, 3]
        """
        blocks = self._new_rows(data)
        rule = self._rule(self._prior_values(None))
        frame = pd.DataFrame(0, index=blocks.table.index, columns=self.classes, dtype="Int64")
        for place, found in self._searched(blocks, rule):
            frame.iloc[place] = found
        return frame if frame.isna().any(axis=None) else frame.astype(np.int64)

    def _searched(self, blocks: Blocks, rule: NeighbourRule) -> Iterator[tuple[slice, Any]]:
        for place, x, missing in blocks.every_row():
            found = np.full((len(x), len(self.classes)), pd.NA, dtype=object)
            known = slice(None) if missing is None else ~missing
            if len(x[known]):
                found[known] = rule.votes(x[known])
            yield place, found

    def decision_function(self, data: Any = None) -> pd.DataFrame | pd.Series:
        """Log posteriors, rows by classes; for two classes the log odds of the second, a Series."""
        scores = self.predict_log_proba(data)
        if len(self.classes) == 2:
            odds = scores.to_numpy()[:, 1] - scores.to_numpy()[:, 0]
            return pd.Series(odds, index=scores.index, name=str(self.classes[1]))
        return scores

    # ---- tables and pictures

    def tidy(self) -> pd.DataFrame:
        """One row a class: prior, rows, and the weight of a vote for it."""
        table = pd.DataFrame({"prior": self.prior, "rows": self.counts})
        table["vote"] = self._fit.weights(self._fit.prior)
        return table.rename_axis("class").reset_index()

    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        row = {"nobs": self.nobs, "classes": len(self.classes), "terms": len(self.terms)}
        return pd.DataFrame([row | {"k": self.k, "metric": self.metric, "scale": self._fit.scale}])

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        return knn_sections.sections(self)

    def _brief(self) -> Summary:
        return knn_sections.brief(self)

    def plot(self, kind: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a picture.

        Parameters
        ----------
        kind : {"path", "posteriors", "regions"}, optional
            Leave-one-out error by k, with its standard error (the default where k was chosen); posteriors by
            class (the default where it was given); regions in the plane of two predictors.
        ax : Axes, optional
        """
        from discrim.report.knn_plots import error_path

        kind = kind or ("path" if "path" in self._cache else "posteriors")
        choice("kind", kind, ("path", "posteriors", "regions"))
        if kind == "path":
            return error_path(self.path, self.k, ax=ax)
        return plot_regions(self, ax) if kind == "regions" else plot_posteriors(self, ax)


def _repeated(x: Floats, codes: NDArray[np.intp], times: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Rows as often as they were drawn."""
    whole = times.astype(np.intp)
    return np.repeat(x, whole, axis=0), np.repeat(codes, whole)
