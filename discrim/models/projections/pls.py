"""Discriminant analysis by partial least squares: the verb `pls` and its results.

The class indicators are regressed on a few directions that covary with them. The number of directions is an
option or is chosen by cross-validation. A regression of the user, such as scikit-learn's PLSRegression, can
find the directions instead. A permutation test compares the prediction of held-out rows with the prediction
under shuffled labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.projections import pls as core
from discrim.core.projections.pls import Decides, PLSFit
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.within import deviations_of_new_rows, read_within, used_group_codes
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import (
    FOLD_OPTIONS,
    FittedModel,
    MissingPolicy,
    ModelSpec,
    PriorInRefits,
    refit_scorer,
)
from discrim.models.base.fitted_results import needs_rows
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import stored_path
from discrim.models.base.scores import posterior_frame, transform_rows
from discrim.models.evaluation import validation
from discrim.models.evaluation.tuning import GridSearch, Splits, TuningFolds
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import NeedsRows, Sample
from discrim.models.projections.pls_choice import (
    Algorithm,
    ComponentPlan,
    Scaled,
    choose_components,
    component_grid,
    component_path,
    permutation_test,
    raise_if_fewer_components,
    raise_if_no_orthogonal,
    raise_if_other_n_predictive,
    read_scale,
    selection_stability,
)
from discrim.models.projections.pls_engine import fit_with_engine, read_n_components
from discrim.models.results.geometry import GroupSummary, LinearGeometry
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.subspace import PLSSpecification

SHARED_ARGUMENTS = ("scale", "indicators", "decides", "estimated_prior")
"""Arguments of `fit_pls` of the core that a refit copies from the fit."""


def _moments_if_sufficient(fit: FittedModel[PLSFit], design_rows: DesignRows) -> ClassMoments | None:
    """Return the class moments of rows; None if the rows are too few for a fit.

    Parameters
    ----------
    fit : FittedModel
        The fit that is repeated; the moments have the scatter type of its moments.
    design_rows : DesignRows
        The rows.

    Returns
    -------
    ClassMoments or None
        None if a class is empty or the total weight is at most the number of classes.
    """
    moments = reading.class_moments(design_rows, fit.estimates.moments.scatter_type)
    return moments if (moments.rows >= 1).all() and moments.total > moments.n_classes else None


class PLSResults(LinearGeometry, ClassMeans, GroupSummary, ClassifierResults):
    """A fit of partial least squares.

    Attributes
    ----------
    ncomp : int
        Number of components, without orthogonal ones.
    orthogonal : int
        Number of orthogonal components. With some, predictive components are named P1, P2, ... and orthogonal
        ones O1, O2, ..., in all tables.
    means : DataFrame, classes by terms
        Class means.
    """

    _fit: FittedModel[PLSFit]

    def __init__(self, fit: FittedModel[PLSFit]) -> None:
        """Wrap a fit and name its components PLS1, PLS2, ..., or P1, ..., O1, ... if some are orthogonal."""
        super().__init__(fit)
        self.ncomp = fit.estimates.n_predictive
        self.orthogonal = fit.estimates.orthogonal
        name = "P" if self.orthogonal else "PLS"
        component_names = [f"{name}{i + 1}" for i in range(self.ncomp)]
        self._component_names = pd.Index([*component_names, *(f"O{i + 1}" for i in range(self.orthogonal))])

    @property
    @available_if()
    @with_display_formats(se="share", R2X="share", Q2="share")
    def path(self) -> pd.DataFrame:
        """Cross-validated errors, R2 and Q2 of the candidate numbers of components.

        Columns: components, or orthogonal for a choice of orthogonal components; error (a proportion) and se
        (its standard error); R2X, R2 and Q2, which `q2` defines.

        Raises
        ------
        NotSupportedError
            The number of components was an option, or the fit was loaded.
        """
        reason = "as the number of components was given, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without ncomp= to have it chosen, or see q2()")

    @available_if(needs_rows("q2()"))
    @with_display_formats(se="share", R2X="share", Q2="share")
    def q2(self, folds: int | Splits = 10, seed: int | None = None) -> pd.DataFrame:
        """Share of the indicators that the components explain, and how well they predict held-out rows.

        Parameters
        ----------
        folds : int, or iterable of (train, test)
            Number of folds, or splits as in scikit-learn: positions of rows of the table, as in
            `discrim.pls`.
        seed : int, optional
            Seed of the random assignment of rows to folds.

        Returns
        -------
        DataFrame
            One row for each number of components: components, or orthogonal if the fit has orthogonal
            components, whose number then varies; error and se, the cross-validated error of the rule and its
            standard error; R2X and R2, the shares of the sums of squares of the columns and of the indicators
            that are explained; and Q2 = 1 - PRESS / SS. PRESS is the sum of the squared differences between
            the indicators and their predictions by the fit without their fold, and SS is the sum of squares
            of the indicators about their means. Q2 may be negative.

        Raises
        ------
        DataError
            There are too few rows for the folds, or a class has one row; or `folds` are not splits of the
            table's rows.
        CollinearError
            All rows of a class are in one fold, or the scores do not vary within classes outside a fold.
        NotSupportedError
            The fit was loaded without its rows.
        """
        design_rows = self._fit.require_rows("q2()")
        self._raise_if_engine("q2()")
        tuning = TuningFolds.read(folds, seed, design_rows, self._fit.refits.groups(self._fit))
        return component_path(design_rows, self._fit.estimates, tuning)

    @available_if(needs_rows("permutation_test()"))
    def permutation_test(self, n: int = 999, folds: int = 10, seed: int | None = None) -> TestResult:
        """Permutation test of whether held-out rows are predicted better than with shuffled labels.

        Parameters
        ----------
        n : int
            Number of permutations of the labels.
        folds : int
            Number of folds.
        seed : int, optional
            Seed of the assignment of rows to folds and of the permutations.

        Returns
        -------
        TestResult
            `statistic` is Q2 with all components of the fit. Its folds are not stratified by class; the value
            therefore differs slightly from `q2`. `pvalue` is (1 + b) / (1 + n), where b counts the
            permutations with a Q2 at least as large. `table` has the rows Q2 and R2, and the columns
            statistic, mean and largest (of the permutations), and p. The p-value assumes that all orders of
            the labels, or with `within=` all orders within groups, are equally likely if the columns are
            unrelated to the classes. The number of components is fixed: if the same rows chose it, p is
            slightly too small.

        Raises
        ------
        DataError
            The number of permutations cannot be used, or there are too few rows for the folds.
        NotSupportedError
            The weights are not whole numbers, or the fit was loaded without its rows.

        Examples
        --------
        >>> from discrim import pls
        >>> from discrim.datasets import load_iris
        >>> fit = pls("species ~ .", load_iris(), ncomp=2)
        >>> test = fit.permutation_test(n=99, seed=1)
        >>> round(test.statistic, 2), test.pvalue
        (0.54, 0.01)
        """
        self._raise_if_engine("permutation_test()")
        return permutation_test(self._fit, n, folds, seed)

    def _raise_if_engine(self, method_name: str) -> None:
        """Raise NotSupportedError if a user's regression finds the components.

        `method_name`, such as "q2()", starts the message.
        """
        if self._fit.estimates.algorithm == "engine":
            raise NotSupportedError(
                f"{method_name} refits the components and does not support an external algorithm.",
                hint='Fit with another algorithm=, or use error_rates(["cv"]).',
            )

    @property
    def sd(self) -> pd.Series:
        """Standard deviations by which the columns are divided, by term.

        The divisor is N - 1, over all rows; infinite for a constant column, whose coefficients are zero. If
        the columns are not scaled, all values are one.
        """
        estimates = self._fit.estimates
        sd = estimates.column_scale / estimates.moments.scale if estimates.scale else np.ones(len(self.terms))
        return pd.Series(sd, index=self.terms, name="sd")

    @property
    def weights(self) -> pd.DataFrame:
        """Weights of the columns in each component, unit vectors; the largest absolute weight is positive.

        Shape: terms by PLS1, PLS2, ... For "nipals" they apply to columns deflated by the earlier components.
        They refer to centred columns, divided by `sd`. A regression of the user may scale them otherwise.
        """
        return self._by_term(self._fit.estimates.latent.weights)

    @property
    def loadings(self) -> pd.DataFrame:
        """Slopes of the columns, divided by `sd`, on the scores; terms by PLS1, PLS2, ..."""
        return self._by_term(self._fit.estimates.latent.loadings)

    @property
    def rotations(self) -> pd.DataFrame:
        """Coefficients of the centred columns, divided by `sd`, in the scores; terms by PLS1, PLS2, ..."""
        return self._by_term(self._fit.estimates.latent.rotations)

    def _by_term(self, values: Floats) -> pd.DataFrame:
        """Return an array, columns by components, as a table with terms and names of components."""
        return pd.DataFrame(values, index=self.terms, columns=self._component_names, copy=True)

    @property
    def y_loadings(self) -> pd.DataFrame:
        """Slopes of the class indicators on the scores, classes by PLS1, PLS2, ...

        If the indicators are scaled, the slopes refer to indicators divided by their standard deviations
        (divisor N - 1); otherwise to indicators of 0 and 1.
        """
        estimates = self._fit.estimates
        slopes = estimates.latent.y_loadings / estimates.score_unit
        return pd.DataFrame(slopes, index=self.classes, columns=self._component_names)

    @property
    def centroids(self) -> pd.DataFrame:
        """Mean scores of the classes, relative to the mean of all rows; classes by PLS1, PLS2, ..."""
        estimates = self._fit.estimates
        return pd.DataFrame(
            estimates.centroids * estimates.score_unit,
            index=self.classes,
            columns=self._component_names,
        )

    @property
    def score_covariance(self) -> pd.DataFrame:
        """Pooled within-class covariance matrix of the scores, divisor N - K.

        Shape: PLS1, PLS2, ... by PLS1, PLS2, ...
        """
        estimates = self._fit.estimates
        root = estimates.within * (estimates.score_unit / np.sqrt(estimates.residual_df))
        return pd.DataFrame(root.T @ root, index=self._component_names, columns=self._component_names)

    def _centroids(self) -> pd.DataFrame:
        """Return `centroids` (classes by components), under the name that shared plots of scores use."""
        return self.centroids

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the regression of the 0/1 indicators on the columns, terms by classes.

        They are in the units of the columns and sum to zero over the classes.
        """
        return pd.DataFrame(self._fit.estimates.regression()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants of the regression of the 0/1 indicators, by class.

        The fitted indicators are x'coef + intercept. The constants sum to one over the classes.
        """
        return pd.Series(self._fit.estimates.regression()[1], index=self.classes, name="constant")

    @property
    def explained(self) -> pd.Series:
        """Share of the columns' sum of squares that each component explains, by PLS1, PLS2, ..."""
        return pd.Series(
            self._fit.estimates.latent.explained()[0], index=self._component_names, name="explained"
        )

    @with_display_formats(every="share")
    def r2(self) -> pd.DataFrame:
        """Shares of the sums of squares of columns (x) and indicators (y) that each component explains.

        Shape: PLS1, PLS2, ... by x, y, x_cumulative, y_cumulative.
        """
        x, y = self._fit.estimates.latent.explained()
        columns = {"x": x, "y": y, "x_cumulative": x.cumsum(), "y_cumulative": y.cumsum()}
        return pd.DataFrame(columns, index=self._component_names)

    def vip(
        self, ncomp: int | None = None, part: Literal["predictive", "orthogonal"] = "predictive"
    ) -> pd.Series:
        """Importance of the columns in the projection, Wold's VIP, the largest first.

        Parameters
        ----------
        ncomp : int, optional
            Number of components to include; by default all of the fit. In a fit with orthogonal components
            all predictive ones are included.
        part : {"predictive", "orthogonal"}
            Components for which the importance is computed, if some are orthogonal.

        Returns
        -------
        Series by term
            sqrt(p sum_a s_a w_ja^2 / sum_a s_a), where s_a is the sum of squares of the indicators that
            component a explains. The mean of the squared values is one: a column above one is more important
            than average. With orthogonal components it is VIP4 of Galindo-Prieto, Eriksson & Trygg (2014),
            Journal of Chemometrics 28, 623-632, as in ropls: loadings of length one replace the weights, and
            s_a is the sum of two shares: that component's share of the squares of the columns, and of the
            squares of the indicators, that all components explain.

        Raises
        ------
        DataError
            The fit does not have so many components, or does not have orthogonal ones.
        """
        reading.check_word("part", part, ("predictive", "orthogonal"))
        latent = self._fit.estimates.latent
        max_components = self.ncomp
        if part == "orthogonal" and not self.orthogonal:
            raise DataError(
                'part="orthogonal" requires a fit with orthogonal components.',
                hint="Fit with OrthogonalPLS(1).",
            )
        if ncomp is not None:
            reading.check_integer("ncomp", ncomp, 1, max_components, description="a number of components")
        if self.orthogonal:
            if ncomp not in (None, max_components):
                raise DataError(
                    f"ncomp={ncomp} cannot be combined with orthogonal components, which need all "
                    f"{max_components} predictive components.",
                    hint="Leave it out.",
                )
            values = latent.importance_by_component_type()[part == "orthogonal"]
        else:
            values = latent.importance_by_n_components()[:, (ncomp or max_components) - 1]
        order = np.argsort(-values, kind="stable")
        return pd.Series(values[order], index=self.terms[order], name="vip")

    @with_display_formats()
    def s_plot(self, component: int = 1, units: Literal["pareto", "own"] = "pareto") -> pd.DataFrame:
        """Covariance and correlation of each column with the scores of a component.

        Both are over all rows. A column at either end of the plot has both a large covariance and a strong
        correlation with the scores. `plot("s_plot")` draws it (Wiklund and others, 2008, Analytical Chemistry
        80, 115-122).

        Parameters
        ----------
        component : int
            Number of the component, 1 or more.
        units : {"pareto", "own"}
            "pareto" divides the column by the square root of its standard deviation before the covariance is
            computed: no unit dominates, but some of the difference in size is kept. "own" uses the column in
            the units of the table. Columns divided by their standard deviations would all lie on one line.

        Returns
        -------
        DataFrame, terms by covariance, correlation
            In the order of the terms. The divisor of covariances is N - 1; the correlation of a constant
            column is missing.

        Raises
        ------
        DataError
            The fit does not have such a component.

        Examples
        --------
        >>> from discrim import pls
        >>> from discrim.datasets import load_breast_cancer
        >>> from discrim.subspace import OrthogonalPLS
        >>> fit = pls("diagnosis ~ .", load_breast_cancer(), algorithm=OrthogonalPLS(2))
        >>> fit.s_plot().loc["perimeter_worst"].round(3).to_dict()
        {'covariance': 18.273, 'correlation': 0.915}
        """
        max_components = len(self._component_names)
        reading.check_integer(
            "component", component, 1, max_components, description="the number of a component"
        )
        reading.check_word("units", units, ("pareto", "own"))
        covariance, correlation = self._fit.estimates.covariance_with_scores(
            component - 1, pareto=units == "pareto"
        )
        columns = {"covariance": covariance, "correlation": correlation}
        return pd.DataFrame(columns, index=self.terms)

    @property
    def selected(self) -> pd.Index:
        """Columns that some component uses, the one with the largest absolute weight first."""
        size = np.abs(self._fit.estimates.latent.weights).max(axis=1)
        order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
        return self.terms[order]

    @available_if(needs_rows("stability()"))
    @available_if(
        lambda self: bool(self._fit.estimates.nonzero),
        "fit with algorithm=discrim.subspace.SparsePLS(), as no columns are selected",
    )
    @with_display_formats(every="share")
    def stability(self, folds: int = 10, repeats: int = 5, seed: int | None = 0) -> pd.DataFrame:
        """How often each column is selected when the rows of a fold are left out.

        Parameters
        ----------
        folds : int
            Number of folds, each of which is left out once.
        repeats : int
            Number of random assignments of the rows to folds.
        seed : int, optional
            Seed of the random assignment of rows to folds.

        Returns
        -------
        DataFrame, terms by any, PLS1, PLS2, ...
            Share of the refits in which a component uses the column, and share in which any component does.
            Columns that no refit uses are omitted; the most frequently used columns come first. The number of
            components is fixed. Components that explain about as much may swap places between refits, which
            does not affect `any`. A share measures how much a selection depends on the particular rows;
            columns that are nearly alike may all have small shares. It is not the probability that a column
            matters.

        Raises
        ------
        NotSupportedError
            The components use all columns, or the fit was loaded without its rows.
        DataError
            There are too few rows for the folds, or the number of repeats cannot be used.
        CollinearError
            Without a fold a class is empty, or there are fewer components.

        Examples
        --------
        >>> from discrim import pls
        >>> from discrim.datasets import load_wine
        >>> from discrim.subspace import SparsePLS
        >>> fit = pls("cultivar ~ .", load_wine(), algorithm=SparsePLS([3, 2]))
        >>> fit.stability().round(2).head(3)
                     any  PLS1  PLS2
        alcohol      1.0   0.0   1.0
        flavanoids   1.0   1.0   0.0
        od280_od315  1.0   1.0   0.0
        """
        return selection_stability(self._fit, self._component_names, folds, repeats, seed)

    def transform(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Scores PLS1, PLS2, ... of each row; they are missing for a row with a missing value.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame (rows, components)
            Relative to the mean of the rows of the fit.
        """
        estimates = self._fit.estimates
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        return transform_rows(
            design_rows,
            lambda x: estimates.transform(x) * estimates.score_unit,
            self._component_names,
        )

    def predict_indicators(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Fitted 0/1 indicators of new rows or of the rows of the fit; they sum to one in each row.

        They are not probabilities, and may be negative or above one.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by classes
            Missing for a row with a missing value.
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        return posterior_frame(design_rows, self._fit.estimates.fitted_rule(), self.classes, np.asarray)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each term and component. Columns: term, component, weight, loading, rotation."""
        index = pd.MultiIndex.from_product([self.terms, self._component_names], names=["term", "component"])
        latent = self._fit.estimates.latent
        columns = {"weight": latent.weights, "loading": latent.loadings, "rotation": latent.rotations}
        flat = {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(flat, index=index).reset_index()

    @with_display_formats(R2X="share")
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, components, R2X and R2.

        R2X and R2 are the shares of the sums of squares of columns and indicators that all components
        explain. With orthogonal components it also has orthogonal (their number) and RMSEE, the root mean
        square error of the fitted 0/1 indicators with divisor K (N - 1 - number of all components).
        """
        x, y = self._fit.estimates.latent.explained()
        row = self._sizes() | {"components": self.ncomp, "R2X": x.sum(), "R2": y.sum()}
        if self.orthogonal:
            row |= {"orthogonal": self.orthogonal, "RMSEE": self._fit.estimates.residual_error()}
        return pd.DataFrame([row])

    def _augmented(self, missing_policy: MissingPolicy, data: Any) -> pd.DataFrame:
        """Return the table with columns of predicted labels and posteriors.

        For the rules "max" and "centroid", which lack posteriors, the columns are `.fitted` and the scores
        `.score.<class>`. `data` None stands for the rows of the fit.
        """
        if self._fit.has_posteriors:
            return super()._augmented(missing_policy, data)
        rows = self._fit.new_rows(data, missing_policy)
        values = posterior_frame(rows, self._fit.rule(), self.classes, np.asarray)
        return self._fit.augment_table(rows, values, "score")


WITHIN_NEEDS_ROWS = NeedsRows(
    "Deviations from the means of groups are computed from rows.", "Leave within= out"
)
"""Message and hint of the error for `within=` with `moments=`."""

ENGINE_NEEDS_ROWS = NeedsRows(
    "A regression is fitted to rows and not to their moments.", "Use another algorithm="
)
"""Message and hint of the error for a regression as `algorithm=` with `moments=`."""


def _reason_rows_are_needed(plan: ComponentPlan, within: str | None) -> NeedsRows | None:
    """Return the message and hint of the error if these options require rows; None if moments suffice.

    Rows are required by a regression as algorithm, a choice of the number of components, and `within`.
    """
    if plan.by_engine:
        return ENGINE_NEEDS_ROWS
    if plan.is_chosen:
        option = "OrthogonalPLS()" if plan.has_orthogonal else "ncomp="
        return NeedsRows(
            "The number of components is chosen from rows and not from moments.",
            f"Pass a number for {option}",
        )
    return None if within is None else WITHIN_NEEDS_ROWS


@reading.with_public_errors
def pls(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    ncomp: int | Literal["1se"] | None = None,
    algorithm: Algorithm | PLSSpecification | Any = "nipals",
    within: str | None = None,
    rule: Decides = "lda",
    scale: bool | Scaled = True,
    folds: int | Splits = 10,
    grid: Sequence[int] | None = None,
    seed: int | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> PLSResults:
    """Discriminant analysis by partial least squares (PLS-DA).

    The indicators of the classes are regressed on a few scores, each the combination of columns that covaries
    most with the classes. The columns may be collinear, and far more than the rows.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments. The number of components must
        be given with moments, because it is chosen from rows.
    ncomp : int or "1se", optional
        Number of components. If it is not given, it is chosen by cross-validation: the fewest components of
        least error. "1se" chooses the fewest whose error is within one standard error of it.
    algorithm : {"nipals", "simpls"}, specification of `discrim.subspace`, or regression
        How the components are found. "nipals" and "simpls" differ in how the columns are deflated; see the
        Notes of `discrim.pls`. `discrim.subspace.OrthogonalPLS` has orthogonal components and does not use
        `ncomp` (OPLS-DA), and `SparsePLS` has components of few columns (sparse PLS-DA). A regression, such
        as scikit-learn's `PLSRegression()`, finds the components itself: a copy of it is fitted to the
        columns and indicators, centred and scaled as described here, and must then have `x_weights_`,
        `x_loadings_` and `x_rotations_`. With ncomp=None it has as many components as it was made with. The
        fit then needs the rows in memory, and each refit fits the regression once.
    within : column name, optional
        Column that groups the rows, such as the subject of repeated measures. This is multilevel PLS-DA: each
        column is replaced by its deviation from its mean over all observations of the group without missing
        predictors, with or without a class, and folds leave out whole groups. A column that is named here is
        not part of ``.`` in the formula.
    rule : {"lda", "max", "centroid"}
        How a row is assigned to a class. "lda" is the linear discriminant analysis of the scores, which has
        posteriors. "max" chooses the largest fitted indicator (mixOmics' "max.dist"), and "centroid" the
        nearest centroid of the scores (mixOmics' "centroids.dist").
    scale : bool, "columns" or "indicators"
        Variables that are divided by their standard deviations over all rows (divisor N - 1): True divides
        the columns and the indicators of the classes, so small classes have as much weight as large ones;
        scikit-learn, mixOmics and mdatools do this. "columns" divides the columns only, like R's pls.
        "indicators" divides the indicators only, and False neither. For two classes the scale of the
        indicators makes no difference.
    folds : int, or iterable of (train, test)
        Number of folds of the choice, or splits as in scikit-learn; see the page on shared arguments.
    grid : sequence of int, optional
        Numbers of components to try; by default 1 to 10, or to the number of components if it is smaller.
    seed : int, optional
        Seed of the random assignment of rows to folds.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions. Only rule="lda" has a prior.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    PLSResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also more components
        than there are, an empty grid, too few rows for the folds, and a class of one row if components are to
        be chosen.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The scores do not vary within classes, and rule="lda" cannot estimate their covariance.

    Notes
    -----
    "nipals" is PLS2 by Wold's algorithm with X deflated, and agrees with scikit-learn's PLSRegression and R's
    pls (oscorespls, kernelpls). "simpls" is de Jong's algorithm, which mdatools and R's simpls use. For two
    classes both are the same. In each component the largest weight in absolute value is positive.

    Programs differ in the rule as well. mixOmics offers three and recommends "max.dist"; mdatools assigns a
    row to every class whose fitted indicator (of -1 and 1) is above 0; SIMCA cuts fitted indicators at 0.5.
    The largest fitted indicator masks a class that lies between others, like `discrim.indicator`, and fitted
    indicators are not probabilities. The linear discriminant analysis of the scores does not mask, has
    posteriors, and supports a prior. With as many components as columns it is `discrim.lda`, and "max" is
    `discrim.indicator`. See Barker & Rayens (2003), Journal of Chemometrics 17, 166-173; Brereton & Lloyd
    (2014), Journal of Chemometrics 28, 213-225.

    `OrthogonalPLS` is OPLS-DA (Trygg & Wold, 2002, Journal of Chemometrics 16, 119-128): orthogonal
    components vary with the predictive scores and not with the indicators, and predictive components are
    computed from the remaining variation. For two classes they agree with ropls, and posteriors, fitted
    indicators and errors of the rules "lda" and "max" are exactly the same as with as many ordinary
    components. For more classes, which ropls does not support, there are as many predictive components as
    directions in which the class means differ, at most K - 1, and the orthogonal components are computed as
    in O2PLS without its part for the indicators (Trygg, 2002, Journal of Chemometrics 16, 283-293), like
    in K-OPLS. Q2 estimates means and standard deviations outside each fold; ropls estimates them from all
    rows, and has a slightly larger Q2.

    With `SparsePLS` each direction is found by iteration, and a soft threshold sets all but the given number
    of its entries to zero (Le Cao, Boitard & Besse, 2011, BMC Bioinformatics 12, 253); it agrees with
    mixOmics' splsda. With `within=` the columns are the within-subject matrix of Westerhuis, van Velzen,
    Hoefsloot & Smilde (2010), Metabolomics 6, 119-128, like mixOmics' `multilevel`. New rows are replaced by
    deviations from the means of their own groups; therefore all rows of a group have to be in the table. An
    observation without a class contributes only to the mean of its group; therefore the fit and its
    predictions of the same table agree. Coefficients, centroids and files refer to deviations.
    `leave_one_out`, folds and permutations keep the rows of a group together; standard errors of error rates
    assume independent rows, and standard errors of `cross_validate` independent groups.

    `leave_one_out` keeps the number of components fixed. Folds and bootstrap samples, in `error_rates` and
    `discrim.cross_validate`, choose it again if it was chosen. Everything else is computed from the remaining
    rows.

    Examples
    --------
    >>> from discrim import pls
    >>> from discrim.datasets import load_wine
    >>> fit = pls("cultivar ~ .", load_wine(), ncomp=2)
    >>> fit.confusion().to_numpy().tolist()
    [[48, 0, 0], [0, 59, 0], [1, 2, 68]]
    >>> fit.vip().head(3).round(3).to_dict()
    {'alcohol': 1.417, 'proline': 1.361, 'color_intensity': 1.359}

    One predictive and two orthogonal components, and components of a few columns each:

    >>> from discrim.subspace import OrthogonalPLS, SparsePLS
    >>> two = load_wine().query("cultivar != 'grignolino'")
    >>> pls("cultivar ~ .", two, algorithm=OrthogonalPLS(2)).r2()["y"].round(3).to_dict()
    {'P1': 0.955, 'O1': 0.0, 'O2': 0.0}
    >>> pls("cultivar ~ .", load_wine(), algorithm=SparsePLS([3, 2])).selected.tolist()
    ['alcohol', 'flavanoids', 'od280_od315', 'proline', 'total_phenols']
    """
    options = verb_options(locals())
    plan = ComponentPlan.read(algorithm, ncomp)
    reading.check_word("rule", rule, Decides)
    scaled = read_scale(scale)
    if not reading.is_proportional(prior) and rule != "lda":
        raise DataError(
            f'prior= has no effect with rule="{rule}".',
            hint='Leave it out, or pass rule="lda".',
            options={"rule": "lda"},
        )
    sample = Sample("pls", "pooled", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        design_rows = sample.read() if within is None else _read_within(sample, within)
        design_rows, stats = reading.usable_rows(
            design_rows, "thin" if reading.is_wide(design_rows) else "pooled", na_action
        )
    else:
        design_rows, stats = sample.read_moments("pooled", _reason_rows_are_needed(plan, within))
    reading.raise_if_no_within_variance(stats)
    prior_proportions, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    shared: dict[str, Any] = dict(zip(SHARED_ARGUMENTS, (*scaled, rule, estimated), strict=True))
    path = None
    search = None
    groups = used_group_codes(design_rows, within) if within is not None and sample.has_rows else None
    if plan.is_chosen:
        search = GridSearch(grid, TuningFolds.read(folds, seed, design_rows, groups), plan.select)
    if plan.by_engine:
        number = read_n_components(algorithm, plan.ncomp)
        fit = fit_with_engine(algorithm, design_rows, stats, prior_proportions, number, **shared)
    elif plan.has_orthogonal:
        fit = _fit_orthogonal(stats, prior_proportions, plan.ncomp, plan.orthogonal or 1, **shared)
    else:
        max_components = max(component_grid(search)) if search else int(plan.ncomp or 0)
        columns = plan.columns * max_components if len(plan.columns) == 1 else plan.columns
        name: Algorithm = "simpls" if algorithm == "simpls" else "nipals"
        fit = core.fit_pls(
            stats, prior_proportions, components=max_components, algorithm=name, nonzero=columns, **shared
        )
        raise_if_fewer_components(fit, 1 if search else max_components)
    if search is not None:
        fit, path = choose_components(design_rows, fit, search)
    spec = PLSSpec(search, groups)
    return PLSResults(spec.fit(fit, design_rows, options, has_rows=sample.has_rows, path=path))


def _read_within(sample: Sample, column: str) -> DesignRows:
    """Read the rows of a table as deviations from the means of their groups.

    Parameters
    ----------
    sample : Sample
        Formula, table and options of the verb.
    column : str
        The grouping column.

    Returns
    -------
    DesignRows
        Rows whose columns are deviations from the means of their groups.

    Raises
    ------
    DataError
        The sample has weights or functions, which `within=` does not support, or lacks a formula or table.
    """
    for name, value in {"weights=": sample.weights, "functions=": sample.functions}.items():
        if value is not None:
            raise DataError(
                f"{name} cannot be combined with within={column!r}.",
                hint="Leave one of them out. You can repeat rows, and compute columns, in the table.",
            )
    if sample.formula is None or sample.data is None:
        return sample.read()
    return read_within(sample.formula, sample.data, column, levels=sample.levels)


def _fit_orthogonal(
    stats: ClassMoments, prior_proportions: Floats, ncomp: int | None, count: int, **shared: Any
) -> PLSFit:
    """Fit with orthogonal components, and check that there are as many components as requested.

    Parameters
    ----------
    stats : ClassMoments
        Class moments of the rows.
    prior_proportions : (K,) float64
        Prior probabilities of the classes.
    ncomp : int, optional
        Requested number of predictive components, which has to be the rank of the class means; None for this
        rank.
    count : int
        Requested number of orthogonal components.
    **shared
        The arguments `SHARED_ARGUMENTS` of `fit_pls`.

    Returns
    -------
    PLSFit
        It has `count` orthogonal components, which follow the predictive ones.

    Raises
    ------
    DataError
        There are fewer orthogonal components, or another number of predictive ones.
    CollinearError
        The rule is "lda", and the within-class covariance of the scores is singular.
    """
    fit = core.fit_pls(stats, prior_proportions, components=count, orthogonal=count, **shared)
    raise_if_no_orthogonal(fit)
    raise_if_other_n_predictive(ncomp, fit)
    raise_if_fewer_components(fit, fit.n_predictive + count)
    return fit


@dataclass(frozen=True, eq=False)
class PLSSpec(ModelSpec[PLSFit]):
    """Partial least squares discriminant analysis: how it is refitted, scored and saved.

    Parameters
    ----------
    search : GridSearch, optional
        How refits choose the number of components (of orthogonal ones, if the fit has them) again by
        cross-validation; None if it was an option.
    row_groups : (n,) int, optional
        Group of each row of the table, if columns are deviations from the means of groups.
    """

    name = "pls"
    title = "Partial least squares discriminant analysis"
    results_class = PLSResults
    refit_failure = ("a class has no row, or fewer components are left", "fewer components")
    leave_one_out_cost = 4
    chosen_options = MappingProxyType({"ncomp": "n_predictive", "algorithm": "chosen_algorithm"})
    search_options = FOLD_OPTIONS
    constructor = staticmethod(core.restore_pls)
    allows_constant = True
    allows_singular = True
    allows_few_rows = True

    search: GridSearch | None = None
    row_groups: Codes | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `pls_sections` and `pls_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        from discrim.models.projections.pls_summary import pls_brief, pls_sections

        return pls_sections, pls_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "scores", "vip", "loadings", "s_plot", "stability"
        and "path".
        """
        from discrim.models.projections.plots import PLS_PLOTS

        return PLS_PLOTS

    def likelihood_of(self, fit: FittedModel[PLSFit]) -> str:
        """Return "none": the fit does not define a likelihood; see `ModelSpec.likelihood_of`."""
        return "none"

    def prior_in_refits(self, fit: FittedModel[PLSFit]) -> PriorInRefits:
        """Return "fixed" for the rule "lda", whose refits keep the prior; "none" for the other rules."""
        return "fixed" if fit.has_posteriors else "none"

    def posteriors_hint(self, fit: FittedModel[PLSFit]) -> str:
        """Return "" for the rule "lda", which has posteriors; otherwise a clause with the alternatives."""
        if fit.estimates.decides == "lda":
            return ""
        return 'see predict_indicators() and decision_function(), or pass rule="lda"'

    def shows_log_posteriors(self, fit: FittedModel[PLSFit]) -> bool:
        """Return True for the rule "lda": `decision_function` returns log posteriors, else scores."""
        return fit.has_posteriors

    def read_rows(self, fit: FittedModel[PLSFit], data: Any, missing_policy: MissingPolicy) -> DesignRows:
        """Return the rows of new data, as deviations from their group means if the fit uses `within=`.

        `data` None stands for the rows of the fit, which are deviations already. `missing_policy` has the
        options for missing values and unseen levels.
        """
        within = fit.options["within"]
        if within is not None and data is not None:
            data = deviations_of_new_rows(fit.design_rows, data, within)
        return super().read_rows(fit, data, missing_policy)

    def required_moments(self, fit: FittedModel[PLSFit]) -> ScatterType | None:
        """Return "pooled" or "thin", the scatter type of the fit, if a refit needs only moments.

        None if it needs the rows, to choose the number of components or to fit a regression of the user.
        """
        needs_rows = self.search is not None or fit.estimates.algorithm == "engine"
        return None if needs_rows else super().required_moments(fit)

    def choice_description(self, fit: FittedModel[PLSFit]) -> str:
        """Return "the number of components" if it was chosen, otherwise "".

        It is "the number of orthogonal components" for a fit with orthogonal components.
        """
        if self.search is None:
            return ""
        return f"the number of {'orthogonal ' if fit.estimates.orthogonal else ''}components"

    def refit_to_rows(self, fit: FittedModel[PLSFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that chooses the number of components again if it was chosen.

        Otherwise, and for a regression of the user, it is `refit_with_fixed`. None if a class is empty, the
        total weight is at most the number of classes, the fit lacks components, or no number can be chosen.
        """
        if self.search is None or fit.estimates.algorithm == "engine":
            return self.refit_with_fixed(fit, rows)
        moments = _moments_if_sufficient(fit, rows)
        estimates = fit.estimates
        max_components = estimates.components if estimates.orthogonal else max(component_grid(self.search))
        refit = None if moments is None else estimates.refit_up_to(moments, max_components)
        if refit is None:
            return None
        try:
            if estimates.orthogonal:
                raise_if_no_orthogonal(refit)
            refit, _ = choose_components(rows, refit, self.search)
        except (CollinearError, DataError):
            return None
        return refit.rule(fit.log_prior())

    def refit_with_fixed(self, fit: FittedModel[PLSFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps the number of components.

        A copy of a regression of the user is fitted to the rows. None if a class is empty, the total weight
        is at most the number of classes, there are fewer components, or their scores are singular for "lda".
        """
        estimates = fit.estimates
        if estimates.algorithm != "engine":
            return super().refit_with_fixed(fit, rows)
        moments = _moments_if_sufficient(fit, rows)
        engine = fit.options["algorithm"]
        if moments is None:
            return None
        shared = {name: getattr(estimates, name) for name in SHARED_ARGUMENTS}
        try:
            refit = fit_with_engine(engine, rows, moments, estimates.prior, estimates.components, **shared)
        except (CollinearError, DataError):
            return None
        return refit.rule(fit.log_prior())

    def leave_one_out(self, fit: FittedModel[PLSFit]) -> LeaveOneOutScorer | Floats:
        """Return leave-one-out scores: each row is scored by the rule fitted without it or its group.

        With `within=` they are an array (n, K); otherwise a function, whose scores are NaN if a regression of
        the user found the components, so that the caller refits without each row.
        """
        if self.row_groups is not None:
            n_groups = int(self.row_groups.max()) + 1
            return validation.fold_scores(fit, self.row_groups, n_groups, nested=False)
        if fit.estimates.algorithm == "engine":
            return refit_scorer(fit, "takes a fit of the engine for each row")
        return super().leave_one_out(fit)

    def groups(self, fit: FittedModel[PLSFit]) -> Codes | None:
        """Return the group (n,) of each row of the table, if folds leave out whole groups; else None."""
        return self.row_groups

    def from_arrays(self, moments: ClassMoments, prior: Floats, arguments: Mapping[str, Any]) -> PLSFit:
        """Return the estimates stored in a file.

        Parameters
        ----------
        moments : ClassMoments
            The moments, from which the components are computed again.
        prior : (K,) float64
            Prior probabilities of the classes.
        arguments : mapping
            The other stored arguments of `core.restore_pls`; "regressed" has the number of components.

        Returns
        -------
        PLSFit

        Raises
        ------
        CollinearError
            There are at most as many observations as classes, or the scores of the components are singular.
        DataError
            The moments have fewer components than the stored arguments require.
        """
        reading.raise_if_no_within_variance(moments)
        fit = super().from_arrays(moments, prior, arguments)
        raise_if_fewer_components(fit, arguments["regressed"].components)
        return fit
