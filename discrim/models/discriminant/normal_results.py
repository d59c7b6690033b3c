"""Base classes of the results of linear, quadratic and regularized discriminant analysis.

`ClassDifferences` compares the classes column by column: analyses of variance, Levene's test, and a ranking
of the columns. The covariance models that have attributes of their own add these in `covariance_results`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import whitened_covariate_deviations
from discrim.core.covariance.em import EMCovariance
from discrim.core.discriminant import lda
from discrim.core.discriminant.lda import LDAFit, ScoreSummary
from discrim.core.moments.moments import gather
from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import squared_distances_between_means
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.rows import repeat_rows
from discrim.errors import DataError, NotSupportedError, PriorError
from discrim.inference.effect_sizes import (
    Simultaneous,
    difference_table,
    greatest_root_pvalues,
    simultaneous_method,
)
from discrim.inference.mean_differences import anova_table, distance_table
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.reading import check_word, format_argument, is_integer, join_labels
from discrim.models.discriminant.components import subspace_of
from discrim.models.discriminant.covariance_models import describe
from discrim.models.results.geometry import GroupSummary
from discrim.models.results.results import ClassifierResults, ClassMeans


def covariance_component(fit: FittedModel[Any]) -> FitComponent | None:
    """Return the component for `fit.covariance_model`; None if the covariance adds no attributes."""
    return describe(fit.estimates.covariance_model).component(fit)


class SubspaceResults(ClassMeans, GroupSummary, ClassifierResults):
    """Base class of results with class means, and with `subspace` if classes are compared on axes."""

    @property
    @available_if(
        lambda self: self._fit.estimates.subspace_model is not None,
        "it compares the classes on all columns. Fit with components=, or qda() with ncomp=",
    )
    def subspace(self) -> Any:
        """Axes on which the classes are compared: a `Subspace`, or a subclass with more attributes.

        It is a `CorrespondenceSubspace` for levels of categories, and a `SlicedSubspace` with `ncomp=` of
        `qda`.
        """
        return subspace_of(self._fit)


class NormalResults(SubspaceResults):
    """Base class of the results of `lda` and `qda`, with the attributes of the covariance model and of EM."""

    @property
    @available_if(
        lambda self: covariance_component(self._fit) is not None,
        'its covariance has no parameters of its own. Fit with a shrunk, robust ("t" or "mcd"), separable or '
        "factor analytic covariance",
    )
    def covariance_model(self) -> Any:
        """Attributes of the covariance, of a class for the covariance that was fitted.

        It is a `ShrunkModel`, `ShrunkCorrelationModel`, `NonlinearModel`, `RobustModel`, `SeparableModel` or
        `FactorModel`.
        """
        return covariance_component(self._fit)

    @property
    @available_if(
        lambda self: self._fit.estimates.covariance_model.traits.uses_incomplete_rows, 'fit with missing="em"'
    )
    def em(self) -> EMCovariance:
        """EM algorithm of a fit with missing="em": its steps, convergence and log-likelihoods.

        Its attributes are steps (iterations, summed over separate searches), converged, row_llf (the
        log-likelihood of the observed values conditional on the classes), patterns (the number of different
        sets of observed columns) and incomplete (the number of rows with missing values).
        """
        em_search: EMCovariance = self._fit.estimates.covariance_model
        return em_search

    def _require_moment_estimates(self, method: str) -> None:
        """Raise NotSupportedError for robust estimates, and for estimates by EM from incomplete rows.

        Their means and covariances are not sample moments. `method` names the calling method in the message.
        """
        error = describe(self._fit.estimates.covariance_model).sampling_error(method)
        if error is not None:
            raise error


def requires_moment_estimates(method: str, *, adjusted: bool = True) -> Callable[[Any], None]:
    """Return a check for `available_if` of methods that require moments of the rows as estimates.

    Parameters
    ----------
    method : str
        Name of the method, for the message.
    adjusted : bool
        Whether the method also exists for fits with covariates.

    Returns
    -------
    callable
        Called with the results; raises NotSupportedError for robust estimates and for estimates by EM from
        incomplete rows, and unless `adjusted` for fits with covariates.
    """

    def check(results: Any) -> None:
        """Raise NotSupportedError if the estimates are not moments or, unless `adjusted`, with covariates."""
        results._require_moment_estimates(method)
        if not adjusted:
            results._fit.estimates.raise_if_covariates(method)

    return check


Null = Literal["theoretical", "empirical"]
"""Null distributions of `ClassDifferences.ranking`."""


def compute_anova(
    fit: FittedModel[LDAFit], *, levene: str | None, adjust: str | None, level: float | None = None
) -> pd.DataFrame:
    """Compute the table of `LDAResults.anova`: a one-way analysis of variance of each column.

    The rows are read once more for `levene`.

    Parameters
    ----------
    fit : FittedModel
    levene : {"mean", "median"} or None
        Centres of Levene's test, which None leaves out.
    adjust : str or None
        Method of `multipletests` for adjusted p-values; None for none.
    level : float, optional
        Level of the intervals of the explained variance; None leaves out omega2, low and high.

    Returns
    -------
    DataFrame by term
        sd_total, sd_within, sd_between, R2, F, df1, df2, p; omega2, low and high with `level`; levene_F and
        levene_p with `levene`; p_adjusted with `adjust`, and levene_p_adjusted with both.

    Raises
    ------
    DataError
        An option is unknown, or a p-value to adjust is missing.
    NotSupportedError
        Levene's test is requested for a fit without rows, or about medians for weights that are not integers.
    """
    moments = fit.estimates.unscaled_moments
    table = anova_table(moments, fit.terms, level)
    if levene is not None:
        check_word("levene", levene, ("mean", "median"))
        design_rows = fit.require_rows("Levene's test", "pass levene=None, or fit formula and data")
        residual_means = moments.rests / moments.scale
        class_centres = (
            (moments.centres, residual_means)
            if levene == "mean"
            else (_class_medians(design_rows), np.zeros(residual_means.shape))
        )
        deviations, (k, p) = _Deviations(design_rows, *class_centres), moments.centres.shape
        tests = anova_table(
            gather(deviations, n_classes=k, n_columns=p, required_moments="diagonal"), fit.terms
        )
        table["levene_F"], table["levene_p"] = tests["F"], tests["p"]
    if adjust is not None:
        table["p_adjusted"] = adjust_pvalues(table["p"], adjust)
        if levene is not None:
            table["levene_p_adjusted"] = adjust_pvalues(table["levene_p"], adjust)
    return table


@dataclass(frozen=True, slots=True, eq=False)
class _Deviations:
    """Iterable of blocks (x, codes, weights), x being the absolute deviations of rows from class centres.

    Attributes
    ----------
    design_rows : DesignRows
    centres, corrections : (K, p) float
        The centre of a class is the sum of both; the second is a correction for rounding.
    """

    design_rows: DesignRows
    centres: Floats
    corrections: Floats

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.design_rows:
            deviations = np.abs(x.T - self.centres.T[:, codes] - self.corrections.T[:, codes])
            yield deviations.T, codes, weights


def _class_medians(design_rows: DesignRows) -> Floats:
    """Read all rows into memory and return the weighted median (K, p) of each class and column.

    Raises NotSupportedError if a weight is not an integer.
    """
    class_chunks: list[list[Floats]] = [[] for _ in design_rows.design.levels]
    for x, codes, weights in design_rows:
        if weights is not None and (weights % 1 != 0).any():
            raise NotSupportedError('levene="median" requires integer weights.', hint='Use levene="mean".')
        for k in np.unique(codes).tolist():
            in_class = codes == k
            class_chunks[k].append(
                repeat_rows(x[in_class], codes[in_class], None if weights is None else weights[in_class])[0]
            )
    return np.stack([np.median(np.concatenate(chunks), axis=0) for chunks in class_chunks])


def adjust_pvalues(p: pd.Series, method: str, further_methods: tuple[str, ...] = ()) -> pd.Series:
    """Adjust p-values by a method of statsmodels' `multipletests`.

    Parameters
    ----------
    p : Series
        P-values of one family of tests.
    method : str
        Name of the method.
    further_methods : tuple of str
        Methods of the caller, which the message on an unknown method also lists.

    Returns
    -------
    Series
        Adjusted p-values, with the index of `p`.

    Raises
    ------
    DataError
        The method is unknown, or a p-value is missing.
    """
    from statsmodels.stats.multitest import multipletests

    if p.isna().any():
        raise DataError(
            f"The p-value of {format_value(p.index[p.isna()][0])} is missing. P-values cannot be adjusted.",
            hint="Leave out the column.",
        )
    try:
        if not isinstance(method, str):
            raise ValueError(method)
        return pd.Series(multipletests(p.to_numpy(), method=method)[1], index=p.index)
    except ValueError:
        raise DataError(
            f"Unknown adjust={format_argument(method)}.",
            hint=(
                f"Use {''.join(f'{name!r}, ' for name in further_methods)}{'or ' if further_methods else ''}"
                "a method of statsmodels' multipletests, such as 'holm', 'bonferroni' or 'fdr_bh'."
            ),
        ) from None


def requires_full_covariance(method: str, hint: str = "") -> Callable[[Any], None]:
    """Return a check for `available_if` of methods that require the full covariance matrix.

    Parameters
    ----------
    method : str
        Name of the method or statistic, for the message.
    hint : str
        Further advice, which is appended to the hint of the error, for example ", or use ...".

    Returns
    -------
    callable
        Called with the results; raises NotSupportedError if the covariance is not the full one, or for
        robust estimates and estimates by EM from incomplete rows.
    """

    def check(results: ClassDifferences) -> None:
        """Raise NotSupportedError if the covariance is not the full one, or not a moment of the rows."""
        results._require_full_covariance(method, hint)

    return check


class ClassDifferences(NormalResults):
    """Differences between classes with a common covariance matrix, and rankings of the columns."""

    _fit: FittedModel[LDAFit]

    def _require_full_covariance(self, method: str, hint: str = "") -> None:
        """Raise NotSupportedError if the covariance is not the full one, estimated by moments of the rows.

        Robust estimates and estimates by EM from incomplete rows also raise it. `method` names the method in
        the message, and `hint` extends its hint.
        """
        self._require_moment_estimates(method)
        if not self._fit.estimates.has_tests:
            wide = self._fit.estimates.residual_df < len(self.terms)
            wide_text = " (for which there are too few rows for so many columns)" if wide else ""
            full_hint = describe(self._fit.estimates.covariance_model).full_hint
            raise NotSupportedError(
                f"{method} requires the full covariance matrix.", hint=f"Fit {full_hint}{wide_text}{hint}."
            )

    @available_if(requires_full_covariance("distances()"))
    @with_display_formats()
    def distances(self, *, adjust: str | None = None, level: float | None = None) -> pd.DataFrame:
        """Squared Mahalanobis distance of each pair of classes, with F, its degrees of freedom and p.

        With covariates the distances are between the means at equal covariates.

        Parameters
        ----------
        adjust : str, optional
            Add p-values adjusted for the number of pairs: "roy", by the distribution of Roy's greatest root,
            which is valid for all contrasts between the classes at once, or a method of statsmodels'
            `multipletests`, such as "holm".
        level : float, optional
            Level of the intervals: 0.95 stands for 95 percent. Adds the distance D and its limits, for each
            pair by itself, from the noncentrality of F (Reiser, 2001).

        Returns
        -------
        DataFrame by (class, other)
            D2, F, df1, df2, p, and p_adjusted, D, low and high if requested. All assume normal classes with a
            common covariance matrix. A lower limit of zero means that F is small even for equal means.
        """
        estimates = self._fit.estimates
        moments = estimates.moments
        nu = estimates.residual_df
        q = estimates.covariates
        covariate_distances = (
            squared_distances_between_means(whitened_covariate_deviations(moments, q)) if q else None
        )
        table = distance_table(
            moments, estimates.unbiased_covariance(), nu, self._fit.classes, (q, covariate_distances), level
        )
        if adjust == "roy":
            roots = (table["F"] * table["df1"] / table["df2"]).to_numpy()
            table["p_adjusted"] = greatest_root_pvalues(roots, moments.n_columns - q, moments.n_classes, nu)
        elif adjust is not None:
            table["p_adjusted"] = adjust_pvalues(table["p"], adjust, ("roy",))
        return table

    @available_if(requires_moment_estimates("differences()", adjusted=False))
    @with_display_formats(d="general")
    def differences(
        self,
        terms: Sequence[str] | None = None,
        *,
        combinations: pd.DataFrame | None = None,
        adjust: str | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Differences of the class means in each column, with simultaneous intervals and Cohen's d.

        Parameters
        ----------
        terms : sequence of str, optional
            Columns; by default all.
        combinations : DataFrame, columns of the fit by names, optional
            Weights of combinations of the columns, which replace the columns, such as
            ``fit.canonical().raw``. A column that it does not name has the weight zero. If the weights were
            estimated from the same rows, only the intervals of "roy" are valid.
        adjust : str, optional
            Family for which p-values and intervals are simultaneous: "tukey", all differences between the
            classes in one column; "scheffe", all contrasts between the classes in one column; "roy", all
            contrasts in all combinations of the columns of the fit, including those selected afterwards;
            "bonferroni" and "sidak", the differences in the table. A method of statsmodels' `multipletests`
            that adjusts p-values alone, such as "holm" or "fdr_bh", is combined with the intervals of
            Bonferroni. By default each difference is on its own.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by (class, other, term)
            difference (the class minus the other), se, t, df, p, p_adjusted if requested, low, high, and
            Cohen's d, by the standard deviation within all classes, with d_low and d_high, which are the
            limits of each d on its own. All assume normal classes with equal variances in a column; Roy's
            method assumes a common covariance matrix.

        Raises
        ------
        DataError
            A column, method or level is unknown.
        NotSupportedError
            Roy's intervals are requested and the fit does not have a full covariance.

        Notes
        -----
        The intervals follow Tukey and Kramer (1956, Biometrics 12, 307-310), Scheffe (1953, Biometrika 40,
        87-110) and Roy and Bose (1953, Annals of Mathematical Statistics 24, 513-536), here by the exact
        distribution of the greatest root. The limits
        of d are computed from the noncentrality of t (Steiger, 2004, Psychological Methods 9, 164-182).

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> fit = lda("species ~ .", load_iris())
        >>> fit.differences("sepal_width", adjust="roy")[["difference", "low", "high"]].round(3).to_numpy()
        array([[ 0.658,  0.409,  0.907],
               [ 0.454,  0.205,  0.703],
               [-0.204, -0.453,  0.045]])
        """
        if adjust == "roy":
            self._require_full_covariance('differences(adjust="roy")')
        estimates = self._fit.estimates
        names = self._fit.terms
        moments = estimates.unscaled_moments
        p = len(names)
        if combinations is not None:
            self._require_full_covariance("differences(combinations=)")
            moments = estimates.moments
            weights = _combination_weights(combinations, terms, names)
            weights = weights.div(moments.scale, axis=0)
            means = pd.DataFrame(moments.means, self._fit.classes, weights.index) @ weights
            sd = np.linalg.norm(estimates.unbiased_covariance().root @ weights.to_numpy(), axis=0)
            return _adjusted_differences(means, sd, moments.counts, adjust, level, p)
        if terms is not None:
            chosen = list(terms) if isinstance(terms, Iterable) and not isinstance(terms, str) else [terms]
            if unknown := [term for term in chosen if term not in list(names)]:
                raise DataError(
                    f"Unknown column {format_argument(unknown[0])} in terms.",
                    hint=f"The columns are {join_labels(names)}.",
                    columns=(unknown[0],),
                )
            positions = np.array([names.get_loc(term) for term in chosen])
            moments = moments.select_columns(positions)
            names = names[positions]
        means = pd.DataFrame(moments.means / moments.scale, self._fit.classes, names)
        sd = np.sqrt(moments.squares.sum(axis=0) / estimates.residual_df) / moments.scale
        return _adjusted_differences(means, sd, moments.counts, adjust, level, p)

    @available_if(lambda self: lda.check_cat_scores(self._fit.estimates.covariance))
    @available_if(lambda self: self._fit.estimates.raise_if_covariates("ranking()"))
    @with_display_formats(score="z", q="p", HC="z")
    def ranking(
        self, by: ScoreSummary = "entropy", top: int | None = None, *, null: Null | None = None
    ) -> pd.DataFrame:
        """Columns by their correlation-adjusted t-scores (CAT scores), the best first.

        The CAT scores of a class are the differences of its means from the common mean, divided by their
        standard errors and multiplied by the inverse square root of the correlation within classes. Without
        correlations (a diagonal covariance) they are t-scores (Zuber & Strimmer, 2009, Bioinformatics 25,
        2700-2707). The prior weights the classes.

        Parameters
        ----------
        by : {"entropy", "average", "maximum"}
            How the scores of the classes become the score of a column: "entropy" is the sum of their squares,
            each times one minus the prior of the class; "average" is the mean of the squares; and "maximum"
            is the largest square.
        top : int, optional
            Number of columns to show; by default all.
        null : {"theoretical", "empirical"}, optional
            The null distribution of `p`. "theoretical" is the F distribution on K - 1 and N - K degrees of
            freedom. "empirical" is that distribution times the factor which brings its median to the median
            of the scores, for tables in which most columns do not differ. The default is "empirical" if there
            are more columns than N - K, and "theoretical" otherwise.

        Returns
        -------
        DataFrame by term
            score; p, the probability that a column without differences has so large a score by entropy; q,
            the false discovery rate of Benjamini and Hochberg; HC, the higher criticism; and for each class
            its scores, in a column cat. (or t.) with the label of the class. p, q and HC are missing for
            robust estimates and for estimates by EM. With `top` they still refer to the ranking of all
            columns.

        Raises
        ------
        NotSupportedError
            There are more columns than rows, and the covariance is neither diagonal nor made of shrunken
            correlations.
        PriorError
            One class has all of the prior.

        Notes
        -----
        The scores agree with R's `sda.ranking`, which shrinks the prior. To get its numbers, pass g/K + (1
        - g) f_k as `prior=`, with the shares f_k of N rows in K classes and g = (1 - sum f_k^2) / ((N -
        1) sum (1/K - f_k)^2), but at most one. Its local false discovery rates, by fdrtool's mixture, are not
        part of this table. The theoretical p is exact for t-scores without shrinkage at class proportions.
        If many columns share some factors and there are few rows, correlations are shrunk by too little
        and p is too small: much too small by the theoretical null, and too small in the tail by the empirical
        one.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> fit = lda("species ~ .", load_iris(), covariance="correlation")
        >>> fit.ranking(top=2).score.round(2).to_dict()
        {'petal_length': 2552.94, 'petal_width': 1322.08}
        >>> some = load_iris()[["species", *fit.ranking(top=2).index]]
        >>> lda("species ~ .", some, covariance="correlation").terms.tolist()
        ['petal_length', 'petal_width']
        """
        check_word("by", by, ("entropy", "average", "maximum"))
        if null is not None:
            check_word("null", null, Null)
        fit = self._fit
        estimates = self._fit.estimates
        p = len(fit.terms)
        if top is not None and not (is_integer(top) and 1 <= top <= p):
            raise DataError(
                f"top={top!r} is not valid.", hint=f"Pass a number of columns from 1 to {p}, or None for all."
            )
        if estimates.prior.max() == 1:
            label = fit.classes[int(estimates.prior.argmax())]
            raise PriorError(
                f"Class {label!r} has a prior of 1. The common mean equals the mean of this class.",
                hint="Fit with another prior= to rank columns.",
                classes=(label,),
            )
        scores = lda.cat_scores(estimates.moments, estimates.covariance, estimates.prior)
        table = pd.DataFrame({"score": lda.column_scores(scores, estimates.prior, by)}, index=fit.terms)
        tails = np.full(p, np.nan)
        if estimates.covariance_model.traits.is_moment_estimate:
            empirical = p > estimates.residual_df if null is None else null == "empirical"
            entropy = lda.column_scores(scores, estimates.prior, "entropy")
            tails = lda.score_p_values(entropy, len(fit.classes), estimates.residual_df, empirical=empirical)
        has_tails = bool(np.isfinite(tails).all())
        table["p"] = tails
        table["q"] = lda.benjamini_hochberg(tails) if has_tails else np.nan
        table["HC"] = lda.higher_criticism(tails) if has_tails else np.nan
        prefix = "t" if estimates.covariance.is_diagonal else "cat"
        names = [f"{prefix}.{label}" for label in fit.classes]
        table = pd.concat([table, pd.DataFrame(scores, index=fit.terms, columns=names)], axis=1)
        order = np.argsort(-table["score"].to_numpy(), kind="stable")
        return table.iloc[order if top is None else order[: int(top)]]


def _combination_weights(
    combinations: pd.DataFrame, terms: Sequence[str] | None, names: pd.Index
) -> pd.DataFrame:
    """Validate `combinations=` and extend it to all columns of the fit.

    Parameters
    ----------
    combinations : DataFrame
        Weights of some columns (rows) in c combinations (columns).
    terms : sequence of str or None
        The argument `terms`, which cannot be combined with `combinations`.
    names : Index
        Names of the p columns of the fit.

    Returns
    -------
    DataFrame (p, c)
        Zero for columns that `combinations` does not name.

    Raises
    ------
    DataError
        `terms` is also set, `combinations` is not a DataFrame, names an unknown column, or has a weight that
        is not finite or a combination without weights.
    """
    if terms is not None:
        raise DataError("combinations= cannot be combined with terms=.", hint="Leave out one of the two.")
    if not isinstance(combinations, pd.DataFrame) or not combinations.size:
        raise DataError(
            "combinations= is not a DataFrame of weights.",
            hint=(
                "Pass a DataFrame with the columns of the fit as its index and a column for each "
                "combination, such as fit.canonical().raw."
            ),
        )
    if unknown := [term for term in combinations.index if term not in names]:
        raise DataError(
            f"Unknown column {format_argument(unknown[0])} in the index of combinations.",
            hint=f"The columns are {join_labels(names)}.",
            columns=(unknown[0],),
        )
    weights = combinations.reindex(names, fill_value=0.0).astype(np.float64)
    if not np.isfinite(weights.to_numpy()).all() or not (weights != 0).any().all():
        raise DataError(
            "combinations= has a weight that is not finite, or a column of zeros.",
            hint="Correct the weights.",
        )
    return weights


def _adjusted_differences(
    means: pd.DataFrame, sd: Floats, counts: Floats, adjust: str | None, level: float, p: int
) -> pd.DataFrame:
    """Compute the table of `ClassDifferences.differences` with adjusted p-values and intervals.

    Parameters
    ----------
    means : DataFrame, classes by columns or combinations
        Class means of c columns, in the units of the data.
    sd : (c,) float
        Standard deviations of the columns within classes (divisor N - K).
    counts : (K,) float
        Sizes of the classes.
    adjust : str or None
        "tukey", "scheffe", "roy", "bonferroni" or "sidak", for p-values and intervals; another method of
        `multipletests`, for p-values with the intervals of Bonferroni; None for no adjustment.
    level : float
        Level of the intervals.
    p : int
        Number of columns of the fit, over whose combinations "roy" is simultaneous.

    Returns
    -------
    DataFrame by (class, other, term)
        difference, se, t, df, p, p_adjusted unless `adjust` is None, low, high, d, d_low, d_high.

    Raises
    ------
    DataError
        `adjust` or `level` is invalid, or a p-value to adjust is missing.
    """
    method = simultaneous_method(adjust)
    if adjust is None or method is not None:
        return difference_table(means, sd, counts, method, level, p)
    # Methods of multipletests do not have intervals; Bonferroni's are valid for any of them.
    table = difference_table(means, sd, counts, "bonferroni", level, p)
    table["p_adjusted"] = adjust_pvalues(table["p"], adjust, get_args(Simultaneous))
    return table
