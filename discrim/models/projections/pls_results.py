"""What a fit of partial least squares gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.projections.pls import PLSFit
from discrim.errors import DataError, NotSupportedError
from discrim.frame.unseen import Unseen
from discrim.inference.folds import drawn_seed
from discrim.inference.result import TestResult
from discrim.models.fits.arguments import is_number, is_whole, told
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.prediction import posterior_frame
from discrim.models.fits.tuning import held_path
from discrim.models.judging.splits import Splits, read_splits
from discrim.models.projections.pls_choice import Search, component_path
from discrim.models.projections.pls_fits import MODEL, SAVED
from discrim.models.projections.pls_permuted import permutation_test
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.group_summary import group_summary
from discrim.models.results.results import ClassifierResults

__all__ = ["MODEL", "SAVED", "PLSResults"]

Floats = NDArray[np.float64]


class PLSResults(LinearGeometry, ClassifierResults):
    """A fit of partial least squares.

    Attributes
    ----------
    components : int
        Number of components.
    path : DataFrame
        The errors of a choice by cross-validation: components, error, se, R2X, R2, Q2.
    weights, loadings, rotations : DataFrame, terms by PLS1, PLS2, ...
        They belong to the columns after centring and, with `scale=True`, division by their standard
        deviations. The scores are these columns times the rotations, and the loadings are the slopes of the
        columns on the scores. In each component the largest weight in absolute value is positive.
    y_loadings : DataFrame, classes by PLS1, PLS2, ...
        Slopes of the indicators on the scores, where the indicators are divided by their standard deviations
        if they are scaled.
    centroids : DataFrame, classes by PLS1, PLS2, ...
        Mean scores of the classes.
    score_covariance : DataFrame, PLS1, PLS2, ... by the same
        Covariance of the scores within classes, divisor N - K.
    coef : DataFrame, terms by classes
        Coefficients of the indicators. They sum to zero over the classes.
    intercept : Series by class
        Constants of the indicators: x'coef + intercept is the fitted indicator. They sum to one over the
        classes.
    explained : Series by PLS1, PLS2, ...
        Share of the sum of squares of the columns that each component explains.
    means : DataFrame, classes by terms
        Class means.
    sd : Series by term
        Standard deviations over all rows (divisor N - 1), or ones where the columns are not scaled.
    """

    _fit: Fit[PLSFit]

    def __init__(self, fit: Fit[PLSFit]) -> None:
        super().__init__(fit)
        self.components = fit.numbers.components
        self._names = pd.Index([f"PLS{i + 1}" for i in range(self.components)])

    @property
    @displayed(se="share", R2X="share", Q2="share")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors, R2 and Q2 of the numbers of components that were tried; see `q2`.

        Raises
        ------
        NotSupportedError
            The number was given, or the fit was loaded.
        """
        why = "as the number of components was given, or the fit was loaded"
        return held_path(self._fit, why, "fit without components= to have it chosen, or see q2()")

    @displayed(se="share", R2X="share", Q2="share")
    def q2(self, folds: int | Splits = 10, seed: int | None = None) -> pd.DataFrame:
        """How much of the indicators the components explain, and how much of rows left out they predict.

        Parameters
        ----------
        folds : int, or iterable of (train, test)
            Number of folds, or splits as in scikit-learn, which are positions of rows of the table, as
            `discrim.pls` takes them.
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.

        Returns
        -------
        DataFrame
            One row for one component, one for two, and so on: components; error and se, the cross-validated
            error of the rule; R2X and R2, the shares of the squares of the columns and of the indicators that
            are explained; and Q2 = 1 - PRESS / SS. PRESS is the sum of squares of the indicators less what
            the fit without their fold predicts, and SS that of the indicators about their means. Q2 may be
            negative.

        Raises
        ------
        DataError
            There are too few rows for the folds, or a class has one row; or `folds` are no splits of the
            table's rows.
        CollinearError
            Among the rows to learn from a class is gone, or scores do not vary within classes.
        NotSupportedError
            The fit was loaded and has no rows.
        """
        fit = self._fit
        blocks = fit.rows("q2()")
        self._refuse_engine("q2()")
        splits = () if is_number(folds) else read_splits(folds, blocks, "a number of folds")
        parts: Any = len(splits) or folds
        if not is_whole(parts):
            raise DataError(f"folds={told(folds)}: give a number of folds.")
        return component_path(blocks, fit.numbers, Search(None, int(parts), drawn_seed(seed), splits=splits))

    def permutation_test(self, n: int = 999, folds: int = 10, seed: int | None = None) -> TestResult:
        """Permutation test that rows left out are predicted better than with shuffled labels.

        Parameters
        ----------
        n : int
            How often the labels are shuffled.
        folds : int
            Number of folds.
        seed : int, optional
            Seed that deals the rows to folds and shuffles the labels.

        Returns
        -------
        TestResult
            `statistic` is Q2 with all components of the fit. Its folds are dealt without regard to the
            classes, so that it differs a little from that of `q2`. `pvalue` is (1 + b) / (1 + n), where b
            counts the shuffles with a Q2 at least as large. `table` has the same for R2 too. The number of
            components is held: where the same rows chose it, p is a little too small.

        Raises
        ------
        DataError
            The number of permutations cannot be used, or there are too few rows for the folds.
        NotSupportedError
            The weights are not whole numbers; or the fit was loaded and has no rows.

        Examples
        --------
        >>> from discrim import pls
        >>> from discrim.datasets import load_iris
        >>> fit = pls("species ~ .", load_iris(), components=2)
        >>> test = fit.permutation_test(n=99, seed=1)
        >>> round(test.statistic, 2), test.pvalue
        (0.54, 0.01)
        """
        self._refuse_engine("permutation_test()")
        return permutation_test(self._fit, n, folds, seed)

    def _refuse_engine(self, what: str) -> None:
        if self._fit.numbers.algorithm == "engine":
            raise NotSupportedError(
                f"{what} finds components many times, and only by our own algorithms: fit without "
                'engine=, or see error_rates(["cv"]).'
            )

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    @property
    def sd(self) -> pd.Series:
        """Standard deviations by which the columns are divided."""
        numbers = self._fit.numbers
        sd = numbers.unit / numbers.moments.scale if numbers.scale else np.ones(len(self.terms))
        return pd.Series(sd, index=self.terms, name="sd")

    @property
    def weights(self) -> pd.DataFrame:
        """Weights of the columns, after the earlier components have been removed from these."""
        return pd.DataFrame(self._fit.numbers.latent.weights, index=self.terms, columns=self._names)

    @property
    def loadings(self) -> pd.DataFrame:
        """Slopes of the columns on the scores."""
        return pd.DataFrame(self._fit.numbers.latent.loadings, index=self.terms, columns=self._names)

    @property
    def rotations(self) -> pd.DataFrame:
        """Coefficients by which the columns are multiplied to give the scores."""
        return pd.DataFrame(self._fit.numbers.latent.rotations, index=self.terms, columns=self._names)

    @property
    def y_loadings(self) -> pd.DataFrame:
        """Slopes of the indicators on the scores."""
        numbers = self._fit.numbers
        held = numbers.latent.y_loadings / numbers.reach
        return pd.DataFrame(held, index=self.classes, columns=self._names)

    @property
    def centroids(self) -> pd.DataFrame:
        """Mean scores of the classes."""
        numbers = self._fit.numbers
        return pd.DataFrame(numbers.centroids * numbers.reach, index=self.classes, columns=self._names)

    @property
    def score_covariance(self) -> pd.DataFrame:
        """Covariance of the scores within classes, divisor N - K."""
        numbers = self._fit.numbers
        held = numbers.within * (numbers.reach / np.sqrt(numbers.residual_df))
        return pd.DataFrame(held.T @ held, index=self._names, columns=self._names)

    def _centroids(self) -> pd.DataFrame:
        return self.centroids

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the regression of the indicators."""
        return pd.DataFrame(self._fit.numbers.regression()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Fitted indicators at zero."""
        return pd.Series(self._fit.numbers.regression()[1], index=self.classes, name="constant")

    @property
    def explained(self) -> pd.Series:
        """Share of the columns' sum of squares that each component explains."""
        return pd.Series(self._fit.numbers.latent.explained()[0], index=self._names, name="explained")

    @displayed(every="share")
    def explained_variance(self) -> pd.DataFrame:
        """Shares of the squares of columns (x) and indicators (y) that components explain, and their sums."""
        x, y = self._fit.numbers.latent.explained()
        columns = {"x": x, "y": y, "x_cumulative": x.cumsum(), "y_cumulative": y.cumsum()}
        return pd.DataFrame(columns, index=self._names)

    def vip(self, components: int | None = None) -> pd.Series:
        """Importance of the columns in the projection, Wold's VIP, the largest first.

        Parameters
        ----------
        components : int, optional
            Number of components to take into account; by default all of the fit.

        Returns
        -------
        Series by term
            sqrt(p sum_a s_a w_ja^2 / sum_a s_a), where s_a are the squares of the indicators that component a
            explains. The mean of its squares is one, so that a column above one counts for more than average.

        Raises
        ------
        DataError
            There is no such number of components.
        """
        most = self.components
        if components is not None and not (is_whole(components) and 1 <= components <= most):
            raise DataError(f"components={told(components)}: the fit has {most}; give 1 to {most}.")
        values = self._fit.numbers.latent.importance()[:, (components or most) - 1]
        order = np.argsort(-values, kind="stable")
        return pd.Series(values[order], index=self.terms[order], name="vip")

    def transform(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Scores PLS1, PLS2, ... of each row; they are missing for a row with a missing value.

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
        DataFrame (rows, components)
        """
        numbers = self._fit.numbers
        blocks = self._fit.new_rows(data, Gaps(unseen))
        out = np.empty((blocks.table.nrows, self.components))
        for place, x, _ in blocks.every_row():
            out[place] = numbers.transform(x) * numbers.reach
        return pd.DataFrame(out, index=blocks.table.index, columns=self._names)

    def fitted_values(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Fitted indicators of rows, new ones or those of the fit; each row sums to one.

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
        DataFrame, rows by classes
        """
        blocks = self._fit.new_rows(data, Gaps(unseen))
        return posterior_frame(blocks, self._fit.numbers.fitted_rule(), self.classes, np.asarray)

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total")."""
        return group_summary(self._fit)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each term and component: weight, loading and rotation."""
        index = pd.MultiIndex.from_product([self.terms, self._names], names=["term", "component"])
        held = self._fit.numbers.latent
        columns = {"weight": held.weights, "loading": held.loadings, "rotation": held.rotations}
        flat = {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(flat, index=index).reset_index()

    @displayed(R2X="share")
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        x, y = self._fit.numbers.latent.explained()
        row = self._sizes() | {"components": self.components, "R2X": x.sum(), "R2": y.sum()}
        return pd.DataFrame([row])

    def _augmented(self, gaps: Gaps, data: Any) -> pd.DataFrame:
        """The table with each row's label, and its posteriors, or by other rules its values."""
        if not self._fit.model.instead:
            return super()._augmented(gaps, data)
        rows = self._fit.new_rows(data, gaps)
        values = posterior_frame(rows, self._fit.rule(), self.classes, np.asarray)
        return self._fit.augmented(rows, values, "score")
