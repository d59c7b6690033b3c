"""What a sparse discriminant analysis gives: directions, the columns they have selected, and their path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.projections.sparse_lda import SparseFit, along
from discrim.core.rules import gaussian
from discrim.core.rules.rules import LinearRule
from discrim.frame.unseen import Unseen
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.tuning import held_path
from discrim.models.projections.sparse_choice import checked_grid, penalties_of
from discrim.models.projections.sparse_fits import MODEL, SAVED
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.group_summary import group_summary
from discrim.models.results.results import ClassifierResults

__all__ = ["MODEL", "PENALTIES", "SAVED", "SparseLDAResults"]

Floats = NDArray[np.float64]

PENALTIES = 50
"""Penalties of a path of coefficients that was not asked for others."""


class SparseLDAResults(LinearGeometry, ClassifierResults):
    """A fitted sparse discriminant analysis.

    Attributes
    ----------
    scaling : DataFrame, terms by LD1, LD2, ...
        Discriminant coefficients in the units of the columns, which give scores of unit variance within
        classes. In each column the largest coefficient, standardized within classes, is positive. Columns
        that are not selected have zeros.
    standardized : DataFrame, terms by LD1, LD2, ...
        The coefficients that are penalized: those of columns divided by their standard deviations over all
        rows.
    selected : Index
        Columns that some direction uses, the one with the largest standardized coefficient first.
    counts_selected : Series by LD1, LD2, ...
        Number of columns that each direction uses.
    penalty : Series by LD1, LD2, ...
        Penalty at which each direction was found.
    ridge : float
        Factor of half the sum of the squared standardized coefficients.
    path : DataFrame
        The errors of a choice by folds: penalty, error, se, columns, directions.
    scores : DataFrame, classes by LD1, LD2, ...
        Optimal scores of the classes: they are uncorrelated, with mean zero and mean square one over the
        rows.
    means : DataFrame, classes by terms
        Class means.
    coef : DataFrame, terms by classes
        Coefficients of the linear scores; zero for columns that are not selected.
    intercept : Series by class
        Constants of the linear scores: x'coef + intercept is largest for the predicted class.
    """

    _fit: Fit[SparseFit]

    @property
    def _axis_names(self) -> pd.Index:
        return pd.Index([f"LD{i + 1}" for i in range(self._fit.numbers.coef.shape[1])])

    @property
    def scaling(self) -> pd.DataFrame:
        """Discriminant coefficients, unit variance within classes (divisor N - K)."""
        held = self._fit.numbers
        axes = held.scaling() * held.moments.scale[:, None]
        return pd.DataFrame(axes, index=self.terms, columns=self._axis_names)

    @property
    def standardized(self) -> pd.DataFrame:
        """Coefficients of columns that are divided by their standard deviations over all rows, divisor N."""
        return pd.DataFrame(self._fit.numbers.coef, index=self.terms, columns=self._axis_names)

    @property
    def selected(self) -> pd.Index:
        """Columns that some direction uses, the one with the largest standardized coefficient first."""
        size = np.abs(self._fit.numbers.coef).max(axis=1, initial=0.0)
        order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
        return self.terms[order]

    @property
    def counts_selected(self) -> pd.Series:
        """Number of columns that each direction uses."""
        counts = self._fit.numbers.selected().sum(axis=0)
        return pd.Series(counts, index=self._axis_names, name="columns")

    @property
    def penalty(self) -> pd.Series:
        """The penalty at which each direction was found."""
        return pd.Series(self._fit.numbers.penalties, index=self._axis_names, name="penalty")

    @property
    def ridge(self) -> float:
        """Factor of half the sum of the squared standardized coefficients."""
        return self._fit.numbers.ridge

    @property
    @displayed(se="share", columns="count", directions="count", penalty="general")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors of the penalties that were tried.

        Raises
        ------
        NotSupportedError
            The penalty or the number of columns was given, or the fit was loaded.
        """
        why = "as the penalty or the number of columns was given, or the fit was loaded"
        return held_path(self._fit, why, "fit without penalty= and nonzero= to have a penalty chosen")

    def coefficient_path(self, grid: Sequence[float] | None = None) -> pd.DataFrame:
        """Standardized coefficients along penalties that are the same for all directions.

        Parameters
        ----------
        grid : sequence of float, optional
            Penalties. By default those of the choice, or evenly spaced ones.

        Returns
        -------
        DataFrame by (penalty, axis), columns by term
            The penalties fall from row to row. The terms are those that are selected at some penalty.
        """
        penalties, fits = self._along(grid)
        parts = {
            (penalty, f"LD{r + 1}"): fit.coef[:, r]
            for penalty, fit in zip(penalties.tolist(), fits, strict=True)
            for r in range(fit.coef.shape[1])
        }
        values = np.array(list(parts.values())).reshape(len(parts), len(self.terms))
        used = np.flatnonzero(values.any(axis=0))
        index = pd.MultiIndex.from_tuples(parts, names=["penalty", "axis"]) if parts else None
        return pd.DataFrame(values[:, used], index=index, columns=self.terms[used])

    def _along(self, grid: Any = None) -> tuple[Floats, list[SparseFit]]:
        """Penalties, and the fits at them."""
        fit, cache = self._fit.numbers, self._fit.cache
        if grid is None and "along" in cache:
            fits: list[SparseFit] = cache["along"]
            return np.array([each.asked[0] for each in fits]), fits
        asked = checked_grid(grid, PENALTIES)
        penalties = penalties_of(fit.moments, PENALTIES) if asked is None else asked
        fits = along(fit.moments, fit.prior, penalties, ridge=fit.ridge, ncomp=fit.ncomp)
        if asked is None:
            cache["along"] = fits
        return penalties, fits

    @property
    def scores(self) -> pd.DataFrame:
        """Optimal scores of the classes."""
        return pd.DataFrame(self._fit.numbers.class_scores, index=self.classes, columns=self._axis_names)

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    def _rule(self) -> LinearRule:
        return self._fit.numbers.rule(self._fit.log_prior())

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the linear scores; zero for columns not selected."""
        rule = self._rule()
        return pd.DataFrame(rule.coef * rule.scale[:, None], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants of the linear scores."""
        rule = self._rule()
        constant = rule.intercept - (rule.origin * rule.scale) @ rule.coef
        return pd.Series(constant, index=self.classes, name="constant")

    def _centre(self) -> Floats:
        """The prior-weighted mean (p,) of the class means, in z about the origin of the moments."""
        means, prior = self._fit.numbers.moments.means, self._fit.prior
        anchor = means[int(np.argmax(prior))]
        return np.asarray(anchor + prior @ (means - anchor))

    def transform(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Discriminant scores LD1, LD2, ... of each row, centred at the prior-weighted mean.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        DataFrame (rows, axes)
            Missing for a row with a missing value.
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        origin, _ = gaussian.centred(self._fit.numbers.moments, self._centre())
        scaling = self.scaling.to_numpy()
        used = np.flatnonzero(scaling.any(axis=1))
        out = np.empty((len(self._axis_names), blocks.table.nrows))
        for place, x, _ in blocks.every_row():
            missing = np.isnan(x).any(axis=1)
            out[:, place] = scaling[used].T @ (x.T[used] - origin[used, None])
            out[:, place][:, missing] = np.nan
        return pd.DataFrame(out.T, index=blocks.table.index, columns=self._axis_names)

    def _centroids(self) -> pd.DataFrame:
        fit = self._fit.numbers
        scores = (fit.moments.means - self._centre()) @ fit.scaling()
        return pd.DataFrame(scores, index=self.classes, columns=self._axis_names)

    def _scores_within(self) -> pd.DataFrame:
        """Covariance within classes of the scores, which are not uncorrelated there."""
        root = self._fit.numbers.root()
        lengths = np.sqrt((root**2).sum(axis=0))
        names = self._axis_names
        return pd.DataFrame(root.T @ root / lengths / lengths[:, None], index=names, columns=names)

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each direction and selected term, the largest first: `scaling` and `standardized`."""
        rows = []
        scaling, held = self.scaling.to_numpy(), self._fit.numbers.coef
        for r, axis in enumerate(self._axis_names):
            order = np.argsort(-np.abs(held[:, r]), kind="stable")[: int((held[:, r] != 0).sum())]
            rows += [(axis, self.terms[j], scaling[j, r], held[j, r]) for j in order.tolist()]
        return pd.DataFrame(rows, columns=["axis", "term", "estimate", "estimate_per_sd"])

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit: sizes, directions, columns selected, penalty of the first, ridge."""
        penalties = self._fit.numbers.penalties
        own = {
            "directions": len(penalties),
            "selected": len(self.selected),
            "penalty": float(penalties[0]) if len(penalties) else np.nan,
            "ridge": self.ridge,
        }
        return pd.DataFrame([self._sizes() | own])
