"""The fitted linear model that `mlm` and its methods share (`TermModel`), and canonical variates of a term.

`TermModel` connects the estimates of `discrim.inference.manova` with names of terms and responses, units and
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats, Mask
from discrim.design.design_rows import DesignRows
from discrim.design.linear_model import Cells, ModelTerm, level_cells
from discrim.design.rows import rows_of_new_data
from discrim.errors import CollinearError, CollinearWarning, DataError, NotSupportedError, warn_user
from discrim.formula.grammar import expression
from discrim.inference import manova
from discrim.inference.manova import Hypothesis, LeastSquares, TestType
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import copy_with_rows
from discrim.models.base.reading import Data, Structure, check_word, format_argument, join_labels
from discrim.models.base.scores import transform_rows
from discrim.models.linear_model.mlm_summary import canonical_summary, plot_canonical_ellipses

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary

EMPTY_CELL_SHARE = 1e-9
"""Proportion of the total weight up to which the computed weight of a cell is a rounding error."""


@dataclass(frozen=True, slots=True, eq=False)
class TermModel:
    """A linear model of p responses on m columns, including the constant, with its terms and estimates.

    Columns and responses are shifted and scaled for numerical accuracy before they are fitted.

    Attributes
    ----------
    design_rows : DesignRows
        Rows of the m - 1 columns of the model without the constant, followed by the p responses.
    terms : tuple of ModelTerm
        Terms of the model, without the constant. The positions of their columns do not count the constant.
    estimates : LeastSquares
        Estimates for the shifted and scaled columns and responses.
    unit : (p,) float
        Powers of two by which the responses are divided.
    model_unit : (m - 1,) float
        Powers of two by which the columns of the model are divided.
    origin : (m - 1 + p,) float
        Values subtracted from the columns of the model and from the responses before the division; zero for
        columns that must not be shifted (see `columns_to_shift`).
    total : float
        Number of rows, or sum of weights.
    has_rows : bool
        False for an unpickled model, whose `design_rows` lacks the rows.
    """

    design_rows: DesignRows
    terms: tuple[ModelTerm, ...]
    estimates: LeastSquares
    unit: Floats
    model_unit: Floats
    origin: Floats
    total: float
    has_rows: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        # Rows are not pickled, because a pickle may leave the user's computer.
        without_rows = replace(self, design_rows=self.design_rows.without_rows(), has_rows=False)
        return (
            object.__new__,
            (type(self),),
            [getattr(without_rows, field.name) for field in fields(without_rows)],
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy_with_rows(self, memo)

    @property
    def labels(self) -> list[str]:
        """Labels of the terms."""
        return [term.label for term in self.terms]

    @property
    def n_model(self) -> int:
        """Number m of columns of the model, including the constant."""
        return int(self.estimates.x.shape[1])

    @property
    def responses(self) -> pd.Index:
        """Names of the responses."""
        return pd.Index(self.design_rows.terms[self.n_model - 1 :])

    def position(self, term: Any) -> int:
        """Return the position of a term, whose factors may be given in any order; None for the only term.

        Raises DataError if the term is unknown, None although there are several, or the model has none.
        """
        self.require_terms()
        return term_position(self.labels, term)

    def require_terms(self) -> None:
        """Raise DataError if the model has only the constant, so that there is no term to test."""
        if not self.terms:
            formula = self.design_rows.design.formula
            raise DataError(
                f"The model {formula!r} has no term to test.",
                hint=(
                    "Name a factor or a covariate on the left side. mlm() compares the responses by "
                    "repeated(), and tests their means by linear_hypothesis('constant = 0')."
                ),
            )

    def hypothesis(self, term: int, test_type: TestType) -> Hypothesis:
        """Return the hypothesis that the term at position `term` has no effect, of type I, II or III.

        Raises NotSupportedError for type III if some term has fewer degrees of freedom than columns.
        """
        if test_type == 3:
            self.raise_if_deficient_terms()
        return self.estimates.term_hypothesis(term, test_type)

    def raise_if_deficient_terms(self) -> None:
        """Raise NotSupportedError if a term has fewer degrees of freedom than columns.

        Type III tests would then depend on the coding of the factors.
        """
        deficient_term = self.deficient_term()
        if deficient_term is not None:
            raise NotSupportedError(
                f"{self.describe_deficiency(deficient_term)}, so type III tests depend on the coding of the "
                "factors.",
                hint=f"Pass type=2, or leave {self.labels[deficient_term]!r} out of the formula.",
                options={"type": 2},
            )

    def to_scaled_columns(self, combinations: Floats) -> Floats:
        """Convert combinations of coefficients to combinations for the shifted and scaled columns.

        Parameters
        ----------
        combinations : (q, m) float
            Rows of weights of the m coefficients in the units of the data, the constant first.

        Returns
        -------
        (q, m) float
            Weights of the coefficients of the shifted and scaled columns, the constant first.
        """
        shifted = combinations.copy()
        shifted[:, 1:] -= np.outer(combinations[:, 0], self.origin[: self.n_model - 1])
        shifted[:, 1:] /= self.model_unit
        return shifted

    def constant_hypothesis(self, estimates: LeastSquares, origin: Floats, test_type: TestType) -> Hypothesis:
        """Return the hypothesis that the means of combinations of the responses are zero.

        With types I and II these are the means over all rows. With type III they are the fitted values at
        zero for all columns of the model: the unweighted mean over the levels of factors.

        Parameters
        ----------
        estimates : LeastSquares
            Estimates of this model for the d combinations.
        origin : (d,) float
            Values of the combinations at the origin of the responses, in the units of `estimates`. They are
            added to the means.
        test_type : {1, 2, 3}

        Returns
        -------
        Hypothesis
            For tests with `estimates`.

        Raises
        ------
        NotSupportedError
            The type is III, and a term has fewer degrees of freedom than columns.
        """
        if test_type != 3:
            return estimates.constant_hypothesis(origin)
        self.raise_if_deficient_terms()
        return estimates.contrast_hypothesis(self.to_scaled_columns(np.eye(1, self.n_model)), origin)

    def deficient_term(self) -> int | None:
        """Return the position of the first term with fewer degrees of freedom than columns; None if none.

        The degrees of freedom are those after all terms before it.
        """
        if self.estimates.rank == self.n_model:
            return None
        added = manova.orthonormal_bases(self.estimates.x, [[0], *self.estimates.groups])[1:]
        ranks = zip(added, self.estimates.groups, strict=True)
        return next((j for j, (basis, group) in enumerate(ranks) if basis.shape[1] < len(group)), None)

    def describe_deficiency(self, term: int) -> str:
        """Describe why the term at position `term` lacks degrees of freedom, as a clause without a period.

        It names the first three empty cells, or else states that the columns are collinear.
        """
        label = self.labels[term]
        empty = self.empty_cells(term)
        if not empty:
            return f"The columns of {label!r} are combinations of those of other terms"
        codes = self.terms[term].categories
        names = [self.factor_label(code) for code in codes]
        texts = [
            " and ".join(f"{n}={format_argument(v)}" for n, v in zip(names, cell, strict=True))
            for cell in empty
        ]
        n_more = len(texts) - 3
        more = f" (and for {n_more} more cell{'s' if n_more > 1 else ''})" if n_more > 0 else ""
        return f"The term {label!r} has no row for {', for '.join(texts[:3])}{more}"

    def warn_of_deficiency(self, term: int) -> None:
        """Issue a CollinearWarning that a term has empty cells or collinear columns."""
        warn_user(
            f"{self.describe_deficiency(term)}: it has fewer degrees of freedom than columns. Tests of "
            "types I and II refer to the estimable part.",
            CollinearWarning,
        )

    def factor_label(self, code: str) -> str:
        """Return the label of the term that consists of the factor `code` alone, otherwise its column.

        `code` is an element of `ModelTerm.factors`, and the label of a factor that is no column.
        """
        for term in self.terms:
            if term.factors == {code}:
                return term.label
        return expression(code, frozenset(self.design_rows.design.functions)).category or code

    def empty_cells(self, term: int) -> list[tuple[Any, ...]]:
        """Return the combinations of levels of a term's categorical factors without rows.

        The list is empty for a term without cells (see `cells`).
        """
        cells, counts, _ = self.cells(term)
        if cells is None:
            return []
        return [
            label for label, n in zip(cells.labels, counts, strict=True) if n <= EMPTY_CELL_SHARE * self.total
        ]

    def cells(self, term: int) -> tuple[Cells | None, Floats, Floats]:
        """Compute the weights and observed mean responses of the cells of a term, without a pass over rows.

        Parameters
        ----------
        term : int
            Position of the term.

        Returns
        -------
        cells : Cells or None
            The c combinations of levels of the categorical factors; covariates of the term are ignored. None
            if it lacks a categorical factor, or if the indicators of the cells are not linear combinations of
            the columns of the model (as for `a:b` without `a` and `b`). Then c is 0.
        counts : (c,) float
            Number of rows, or sum of weights, of each cell, up to rounding.
        means : (c, p) float
            Means of the shifted and scaled responses; missing for empty cells.
        """
        no_cells = np.zeros(0), np.zeros((0, len(self.unit)))
        codes = self.terms[term].categories
        if not codes:
            return None, *no_cells
        cells = level_cells(self.design_rows.design, codes)
        values = np.hstack([np.ones((len(cells.labels), 1)), cells.values])
        # The indicator of a cell is a linear combination of the columns. Products with the triangular factor
        # therefore determine counts and sums of the cells without another pass over the rows.
        combination, _, rank, _ = np.linalg.lstsq(values, np.eye(len(values)), rcond=None)
        if rank < len(values):
            return None, *no_cells
        column_index = [0, *(1 + column for column in cells.columns)]
        indicators = (
            self.estimates.x[:, column_index] * np.insert(self.model_unit, 0, 1.0)[column_index]
        ) @ combination
        counts = (indicators**2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = indicators.T @ self.estimates.y / counts[:, None]
        means[counts <= EMPTY_CELL_SHARE * self.total] = np.nan
        return cells, counts, means

    def mean(self) -> Floats:
        """Return the means (p,) of the shifted and scaled responses over all rows."""
        x = self.estimates.x[:, 0]
        y = self.estimates.y
        return np.asarray(x @ y / (x @ x))

    def column_means(self) -> Floats:
        """Return the means (m - 1,) of the columns of the model over all rows, in the units of the data."""
        x = self.estimates.x
        means = x[:, 0] @ x[:, 1:] / (x[:, 0] @ x[:, 0])
        return np.asarray(means * self.model_unit + self.origin[: self.n_model - 1])

    def to_response_units(self, means: Floats) -> Floats:
        """Convert means (..., p) of the shifted and scaled responses to the units of the responses."""
        return np.asarray(means * self.unit + self.origin[self.n_model - 1 :])

    @property
    def has_error_df(self) -> bool:
        """Whether there are at least as many residual degrees of freedom as responses."""
        return self.estimates.df >= len(self.unit)

    def require_error_df(self) -> None:
        """Raise CollinearError unless there are at least as many residual degrees of freedom as responses."""
        if self.has_error_df:
            return
        alternatives = " anova() tests each response separately; repeated() tests repeated measurements."
        raise CollinearError(
            f"{self.total:g} observations and a model of {self.estimates.rank} columns leave "
            f"{max(self.estimates.df, 0):g} residual degrees of freedom, too few for the covariance matrix "
            f"of {len(self.unit)} responses ({join_labels(self.responses)}).",
            hint="Name fewer responses, or leave out terms." + alternatives * (self.estimates.df > 0),
        )

    def raise_if_dependent_residuals(self) -> None:
        """Raise CollinearError if the residuals of a response are zero or a linear combination of others.

        It is also raised if no residual degrees of freedom remain. If some remain, but fewer than responses,
        nothing is checked here, and the multivariate methods raise the error by `require_error_df`.
        """
        names = list(self.responses)
        if self.estimates.df <= 0:
            self.require_error_df()
        if not self.has_error_df:
            return
        texts = []
        for dependency in self.estimates.dependent_responses()[:4]:
            predictors = join_labels(names[j] for j in dependency.predictors)
            reason = (
                f"a linear combination of {predictors} and the model"
                if dependency.predictors
                else "fitted exactly"
            )
            texts.append(f"{names[dependency.column]!r} is {reason}")
        if texts:
            raise CollinearError(
                f"The covariance matrix of the residuals is singular: {'; '.join(texts)}.",
                hint="Leave such responses out.",
            )


def term_position(labels: Sequence[str], term: Any) -> int:
    """Return the position of a term among labels.

    Parameters
    ----------
    labels : sequence of str
        Labels of the terms, such as "species:sex".
    term : str or None
        Name of the term, whose factors may be given in any order; None selects the only term.

    Returns
    -------
    int
        Position, from 0, of the label with the same factors.

    Raises
    ------
    DataError
        The term is unknown, or it is None and there are several terms.
    """
    if term is None and len(labels) == 1:
        return 0
    if term is None:
        raise DataError(
            "The model has several terms.", hint=f"Name one of {join_labels(labels, 20)} in term=."
        )
    if isinstance(term, str):
        sorted_factors = sorted(factor.strip() for factor in term.split(":"))
        for j, label in enumerate(labels):
            if label == term or sorted(label.split(":")) == sorted_factors:
                return j
    raise DataError(
        f"Unknown term in term={format_argument(term)}.", hint=f"Name one of {join_labels(labels, 20)}."
    )


def columns_to_shift(terms: Sequence[ModelTerm], n_columns: int) -> Mask:
    """Return a mask of the columns whose origin does not affect the tests.

    These are the responses, and terms of covariates that share no factor with another term. The other columns
    must not be shifted.

    Parameters
    ----------
    terms : sequence of ModelTerm
    n_columns : int
        Number of model columns without the constant, plus number of responses.

    Returns
    -------
    (n_columns,) bool
        True for columns that may be shifted.
    """
    shifted = np.ones(n_columns, dtype=bool)
    for term in terms:
        others = [other for other in terms if other is not term]
        if term.categories or any(term.factors & other.factors for other in others):
            shifted[list(term.columns)] = False
    return shifted


def scale_by_powers_of_two(rows: Floats) -> tuple[Floats, Floats]:
    """Divide columns by powers of two near their largest values, which avoids overflow without rounding.

    Parameters
    ----------
    rows : (n, c) float
        The first column, of the constant, is not scaled.

    Returns
    -------
    (n, c) float
        Scaled columns, with values below one in size.
    (c,) float
        The powers of two; 1 for the first column and for columns of zeros.
    """
    max_absolute = np.abs(rows).max(axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.where(max_absolute > 0, np.frexp(max_absolute)[1], 0))
    unit[0] = 1.0
    return rows / unit, unit


MIN_ROOT_RATIO = 1e-14
"""Eigenvalues below this proportion of the largest one are rounding errors."""


class TermCanonicalResults(SummarizedResults):
    """Canonical variates of one term of a linear model: combinations of responses that separate its levels.

    H is the hypothesis matrix of the term and E the residual cross-product matrix. For a model with one
    factor the tables agree with `canonical()` of a linear discriminant analysis. There are as many axes as
    nonzero eigenvalues of E^-1 H, none for a term without effect.

    Attributes
    ----------
    term : str
    df : int
        Degrees of freedom of the term.
    eigenvalues : Series by LD1, LD2, ...
        Eigenvalues of E^-1 H.
    proportion, cumulative : Series by LD1, LD2, ...
        Proportion of each eigenvalue in their sum, and cumulative proportions.
    correlations : Series by LD1, LD2, ...
        Canonical correlations, sqrt(eigenvalue/(1 + eigenvalue)).
    dimension_tests : DataFrame by LD1, LD2, ...
        Tests that this and all later eigenvalues are zero: wilks, F, df1, df2, p (Rao's F), chi2, df, p_chi2
        (Bartlett).
    raw : DataFrame, responses by LD1, LD2, ...
        Coefficients of scores whose residuals have unit variance. The standardized coefficient of each axis
        that is largest in size is positive.
    constant : Series by LD1, LD2, ...
        Constant of the scores, which centers them at mean zero over the rows.
    standardized, standardized_total : DataFrame, responses by LD1, LD2, ...
        Raw coefficients multiplied by the standard deviations of the residuals, or by total standard
        deviations.
    centroids : DataFrame, cells of the term by LD1, LD2, ...
        Mean scores by level, or combination of levels ("a:b"); empty for a term without cells. They are
        observed means, not adjusted for other terms, like in R's candisc; missing for a cell without rows.
    """

    _FIRST_SECTIONS = ("correlations", "dimensions", "raw", "centroids")

    def __init__(self, model: TermModel, position: int, hypothesis: Hypothesis) -> None:
        """Compute the canonical variates.

        Parameters
        ----------
        model : TermModel
        position : int
            Position of the term.
        hypothesis : Hypothesis
            Hypothesis that the term has no effect.
        """
        self._model = model
        self._position = position
        self._hypothesis = hypothesis
        self.term = model.labels[position]
        self.df = hypothesis.df
        estimates = model.estimates
        roots, axes = estimates.roots(hypothesis)
        is_nonzero = roots > MIN_ROOT_RATIO * roots[0] if len(roots) and roots[0] > 0 else roots > 0
        self._roots = roots[is_nonzero]
        raw = axes[:, is_nonzero] * np.sqrt(estimates.df)
        self._residual_sd = np.sqrt((estimates.error_root**2).sum(axis=0) / estimates.df)
        largest = np.abs(raw * self._residual_sd[:, None]).argmax(axis=0)
        self._raw = raw * np.where(raw[largest, np.arange(raw.shape[1])] < 0, -1.0, 1.0)
        self._names = pd.Index([f"LD{i + 1}" for i in range(len(self._roots))])

    @property
    def eigenvalues(self) -> pd.Series:
        """Eigenvalues of E^-1 H."""
        return self._by_axis(self._roots, "eigenvalue")

    @property
    def proportion(self) -> pd.Series:
        """Proportion of each eigenvalue in their sum."""
        return self._by_axis(self._roots / self._roots.sum(), "proportion")

    @property
    def cumulative(self) -> pd.Series:
        """Cumulative proportion of the eigenvalues."""
        return self.proportion.cumsum().rename("cumulative")

    @property
    def correlations(self) -> pd.Series:
        """Canonical correlations sqrt(l/(1 + l)) of responses and term, l an eigenvalue of E^-1 H."""
        return self._by_axis(np.sqrt(self._roots / (1 + self._roots)), "correlation")

    @property
    @with_display_formats()
    def dimension_tests(self) -> pd.DataFrame:
        """Tests that this and all later eigenvalues are zero, by LD1, LD2, ...

        The columns are wilks, F, df1, df2, p, chi2, df and p_chi2.
        """
        df_resid = self._model.estimates.df
        table = manova.dimension_table(self._roots, len(self._raw), self.df + 1, df_resid + self.df + 1)
        return table.set_axis(self._names, axis=0)

    @property
    def raw(self) -> pd.DataFrame:
        """Coefficients of scores with residual variance one, for responses in their original units."""
        return self._by_response(self._raw / self._model.unit[:, None])

    @property
    def constant(self) -> pd.Series:
        """Constant of the scores: minus the raw score of the overall mean."""
        return self._by_axis(
            -(self._model.to_response_units(self._model.mean()) @ self.raw.to_numpy()), "constant"
        )

    @property
    def standardized(self) -> pd.DataFrame:
        """Raw coefficients multiplied by the standard deviations of the residuals, responses by axes."""
        return self._by_response(self._raw * self._residual_sd[:, None])

    @property
    def standardized_total(self) -> pd.DataFrame:
        """Coefficients for responses standardized by their total standard deviations (divisor N - 1).

        Raises DataError if the sum of the weights is at most one.
        """
        squares = (self._centred_root() ** 2).sum(axis=0)
        return self._by_response(self._raw * np.sqrt(squares / (self._model.total - 1))[:, None])

    @property
    def centroids(self) -> pd.DataFrame:
        """Observed mean scores, cells of the term by axes; missing for a cell without rows.

        The table is empty for a term without cells.
        """
        cells, _, means = self._model.cells(self._position)
        if cells is None:
            return pd.DataFrame(np.zeros((0, len(self._names))), columns=self._names)
        labels = cells.labels
        is_single_factor = len(self._model.terms[self._position].categories) == 1
        index = pd.Index([cell[0] if is_single_factor else ":".join(map(str, cell)) for cell in labels])
        return pd.DataFrame((means - self._model.mean()) @ self._raw, index=index, columns=self._names)

    def structure(self, kind: Structure = "within") -> pd.DataFrame:
        """Correlations of the responses with the canonical scores.

        Parameters
        ----------
        kind : {"within", "total", "between"}
            "within" correlates residuals, "total" observations (like R's candisc), and "between" the fitted
            effects of the term.

        Returns
        -------
        DataFrame, responses by LD1, LD2, ...
            Missing for a response without variation of that kind.
        """
        check_word("kind", kind, Structure)
        rows = {
            "within": self._model.estimates.error_root,
            "total": self._centred_root(),
            "between": self._hypothesis.projection,
        }[kind]
        scored = rows @ self._raw
        with np.errstate(divide="ignore", invalid="ignore"):
            norms = np.linalg.norm(rows, axis=0)[:, None] * np.linalg.norm(scored, axis=0)
            return self._by_response(rows.T @ scored / norms)

    def scores(self, data: Data | None = None) -> pd.DataFrame:
        """Canonical scores, with mean zero over the rows of the fit and residuals of unit variance.

        Parameters
        ----------
        data : table or source of tables, optional
            Observations of the responses; by default the rows of the fit. Scores of rows with a missing value
            are missing.

        Returns
        -------
        DataFrame, rows by LD1, LD2, ...
            Indexed as the table.

        Raises
        ------
        NotSupportedError
            No table was passed, and the model was unpickled and lacks the rows.
        """
        if data is None and not self._model.has_rows:
            raise NotSupportedError(
                "scores() requires the rows of the fit, which an unpickled model does not contain.",
                hint="Pass data=.",
            )
        design_rows = self._model.design_rows
        first = self._model.n_model - 1
        design_rows = design_rows.select_columns(range(first, len(design_rows.terms)))
        if data is not None:
            design_rows = rows_of_new_data(design_rows, data, is_stored=True)
        raw = self.raw.to_numpy()
        grand = self._model.to_response_units(self._model.mean())
        return transform_rows(design_rows, lambda x: (x - grand) @ raw, self._names)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables to include, in order, such as "dimensions"; by default all.
        """
        return canonical_summary(self, sections)

    def plot(
        self,
        *,
        axes: Sequence[str] | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Axes:
        """Plot hypothesis and error ellipses on two canonical axes, with responses as arrows.

        The plot is the same as in R's candisc.

        Parameters
        ----------
        axes : two of "LD1", "LD2", ..., optional
            Canonical axes; by default the first two.
        level : float
            1 minus the significance level of Roy's test, which determines the size of the hypothesis ellipse.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Raises
        ------
        DataError
            The term has only one canonical axis. `plot(term=)` of the model draws a plane of two responses.
        """
        return plot_canonical_ellipses(self, axes, level, ax, title)

    def _centred_root(self) -> Floats:
        """Return a square root A (r, p) of the total cross-product matrix A'A of centred, scaled responses.

        Raises DataError if the sum of the weights is at most one.
        """
        if self._model.total <= 1:
            raise DataError(
                "The sum of the weights is at most 1, so variances are not defined.",
                hint="Pass frequency weights, which count rows.",
            )
        # The first row of the triangular factor belongs to the constant, which explains the means.
        return self._model.estimates.y[1:]

    def _by_response(self, values: Floats) -> pd.DataFrame:
        """Label an array (p, axes) with responses and axes."""
        return pd.DataFrame(values, index=self._model.responses, columns=self._names)

    def _by_axis(self, values: Floats, name: str) -> pd.Series:
        """Label an array (axes,) with the names of the axes."""
        return pd.Series(values, index=self._names, name=name)
