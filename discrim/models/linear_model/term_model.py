"""A linear model of several responses with the names of its terms, and canonical variates of a term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats, Mask
from discrim.design.blocks import Blocks
from discrim.design.linear_model import Cells, ModelTerm, cells_of
from discrim.design.rows import new_blocks
from discrim.errors import CollinearError, CollinearWarning, DataError, NotSupportedError, warn_user
from discrim.inference import manova
from discrim.inference.manova import Hypothesis, LeastSquares, TestType
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.fit import with_rows_copied
from discrim.models.base.reading import Data, Structure, check_word, listed, told
from discrim.models.base.scores import frame_of_rows
from discrim.models.linear_model.mlm_summary import canonical_summary, he_of_axes

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary

EMPTY = 1e-9
"""Share of all rows up to which the weight of a cell is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class TermModel:
    """A linear model of several responses with its rows, terms and estimates.

    Attributes
    ----------
    design_rows : Blocks
        Columns of the model without the constant, followed by the p responses.
    terms : tuple of ModelTerm
    estimates : LeastSquares
        Estimates for shifted columns and responses, divided by their units.
    unit : (p,) float
        Powers of two that divide the responses.
    model_unit : (m - 1,) float
        Powers of two that divide the columns of the model.
    origin : (m - 1 + p,) float
        Values subtracted from the columns of the model and from the responses.
    total : float
        Number of rows or sum of weights.
    has_rows : bool
        False for a model that was unpickled.
    """

    design_rows: Blocks
    terms: tuple[ModelTerm, ...]
    estimates: LeastSquares
    unit: Floats
    model_unit: Floats
    origin: Floats
    total: float
    has_rows: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        # Tables stay in their process: what is pickled may travel anywhere.
        bare = replace(self, design_rows=self.design_rows.without_rows(), has_rows=False)
        return object.__new__, (type(self),), [getattr(bare, each.name) for each in fields(bare)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return with_rows_copied(self, memo)

    @property
    def labels(self) -> list[str]:
        """Names of the terms."""
        return [term.label for term in self.terms]

    @property
    def n_model(self) -> int:
        """Columns of the model with the constant."""
        return int(self.estimates.x.shape[1])

    @property
    def responses(self) -> pd.Index:
        """Names of the responses."""
        return pd.Index(self.design_rows.terms[self.n_model - 1 :])

    def position(self, term: Any) -> int:
        """Position of a term by its name, in which factors may stand in any order; None of the only one."""
        return term_position(self.labels, term)

    def hypothesis(self, term: int, kind: TestType) -> Hypothesis:
        """Return the hypothesis that a term has no effect, by sums of squares of type I, II or III."""
        if kind == 3:
            self.refuse_lacking()
        return self.estimates.hypothesis(term, kind)

    def refuse_lacking(self) -> None:
        """Raise NotSupportedError if some term has too few degrees of freedom for type III tests."""
        lacking = self.lacking()
        if lacking is not None:
            raise NotSupportedError(
                f"{self.lacking_said(lacking)}, so that tests of type III depend on how the factors are "
                "coded.",
                hint=f"Ask for type=2, or leave {self.labels[lacking]!r} out of the formula.",
                options={"type": 2},
            )

    def shifted_back(self, combinations: Floats) -> Floats:
        """Combinations (q, m) of the coefficients as those of shifted columns over their units."""
        shifted = combinations.copy()
        shifted[:, 1:] -= np.outer(combinations[:, 0], self.origin[: self.n_model - 1])
        shifted[:, 1:] /= self.model_unit
        return shifted

    def of_constant(self, numbers: LeastSquares, origin: Floats, kind: TestType) -> Hypothesis:
        """That the means (d,) of some combinations of the responses are zero, these being their numbers.

        Of types I and II the mean is that over the rows. Of type III it is where all columns of the model
        are zero, which weighs the levels of factors alike. The origin (d,) is added to the combinations.
        """
        if kind != 3:
            return numbers.overall(origin)
        self.refuse_lacking()
        return numbers.contrast(self.shifted_back(np.eye(1, self.n_model)), origin)

    def lacking(self) -> int | None:
        """Return the first term with fewer degrees of freedom than columns, after all terms before it."""
        if self.estimates.rank == self.n_model:
            return None
        added = manova.spans(self.estimates.x, [[0], *self.estimates.groups])[1:]
        ranks = zip(added, self.estimates.groups, strict=True)
        return next((j for j, (basis, group) in enumerate(ranks) if basis.shape[1] < len(group)), None)

    def lacking_said(self, term: int) -> str:
        """Describe why a term lacks degrees of freedom (empty cells or collinear columns), for messages."""
        label = self.labels[term]
        empty = self.empty_cells(term)
        if not empty:
            return f"The columns of {label!r} are combinations of those of other terms"
        codes = self.terms[term].categories
        names = [self.factor_label(code) for code in codes]
        texts = [" and ".join(f"{n}={told(v)}" for n, v in zip(names, cell, strict=True)) for cell in empty]
        left = len(texts) - 3
        more = f" (and for {left} more cell{'s' if left > 1 else ''})" if left > 0 else ""
        return f"The term {label!r} has no row for {', for '.join(texts[:3])}{more}"

    def warn_of(self, term: int) -> None:
        """Warn of a term that lacks cells or columns."""
        warn_user(
            f"{self.lacking_said(term)}: it has fewer degrees of freedom than columns. Tests of "
            "types I and II concern what is left.",
            CollinearWarning,
        )

    def factor_label(self, code: str) -> str:
        """Return the label of a factor in the formula."""
        for term in self.terms:
            if term.factors == {code}:
                return term.label
        return code

    def empty_cells(self, term: int) -> list[tuple[Any, ...]]:
        """Return the cells of a term's factors without rows."""
        cells, counts, _ = self.cells(term)
        if cells is None:
            return []
        return [label for label, n in zip(cells.labels, counts, strict=True) if n <= EMPTY * self.total]

    def cells(self, term: int) -> tuple[Cells | None, Floats, Floats]:
        """Cells of a term's factors, their weights (c,), and the responses' means (c, p) less the origin.

        There are none where the term has no factor, or where its cells are no function of the model.
        """
        none = np.zeros(0), np.zeros((0, len(self.unit)))
        codes = self.terms[term].categories
        if not codes:
            return None, *none
        cells = cells_of(self.design_rows.design, codes)
        values = np.hstack([np.ones((len(cells.labels), 1)), cells.values])
        # The indicator of a cell is a combination of the columns: its rows are those of the triangle.
        combination, _, rank, _ = np.linalg.lstsq(values, np.eye(len(values)), rcond=None)
        if rank < len(values):
            return None, *none
        at = [0, *(1 + column for column in cells.columns)]
        indicators = (self.estimates.x[:, at] * np.insert(self.model_unit, 0, 1.0)[at]) @ combination
        counts = (indicators**2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = indicators.T @ self.estimates.y / counts[:, None]
        means[counts <= EMPTY * self.total] = np.nan
        return cells, counts, means

    def mean(self) -> Floats:
        """Means (p,) of the responses over all rows, less the origin and over their units."""
        x = self.estimates.x[:, 0]
        y = self.estimates.y
        return np.asarray(x @ y / (x @ x))

    def in_units(self, means: Floats) -> Floats:
        """Means (..., p) of responses, less the origin and over their units, as those of the responses."""
        return np.asarray(means * self.unit + self.origin[self.n_model - 1 :])

    @property
    def has_error(self) -> bool:
        """Whether the degrees of freedom are enough for the covariance of the residuals."""
        return self.estimates.df >= len(self.unit)

    def need_error(self) -> None:
        """Raise CollinearError if too few degrees of freedom remain for the covariance of the residuals."""
        if self.has_error:
            return
        each = " anova() tests each response alone, repeated() those of one quantity."
        raise CollinearError(
            f"{self.total:g} rows and a model of {self.estimates.rank} columns leave "
            f"{max(self.estimates.df, 0):g} degrees of freedom, too few for the covariance of "
            f"{len(self.unit)} responses ({listed(self.responses)}).",
            hint="Name fewer responses, or leave out terms." + each * (self.estimates.df > 0),
        )

    def refuse_dependent(self) -> None:
        """Raise CollinearError if residuals of a response are zero or depend linearly on others."""
        names = list(self.responses)
        if self.estimates.df <= 0:
            self.need_error()
        if not self.has_error:
            return
        texts = []
        for dependency in self.estimates.dependent()[:4]:
            on = listed(names[j] for j in dependency.on)
            what = f"a linear combination of {on}, given the model" if dependency.on else "fitted exactly"
            texts.append(f"{names[dependency.column]!r} is {what}")
        if texts:
            raise CollinearError(
                f"The residuals' covariance is singular: {'; '.join(texts)}.",
                hint="Leave such responses out.",
            )


def term_position(labels: Sequence[str], term: Any) -> int:
    """Position of a term among labels by its name, in which factors may stand in any order."""
    if term is None and len(labels) == 1:
        return 0
    if term is None:
        raise DataError("The model has several terms.", hint=f"Name one of {listed(labels, 20)} in term=.")
    if isinstance(term, str):
        wanted = sorted(part.strip() for part in term.split(":"))
        for j, label in enumerate(labels):
            if label == term or sorted(label.split(":")) == wanted:
                return j
    raise DataError(f"term={told(term)} is no term.", hint=f"Name one of {listed(labels, 20)}.")


def shifted_columns(terms: Sequence[ModelTerm], n_columns: int) -> Mask:
    """Columns that no test knows the zero of: responses, and covariates without interactions."""
    shifted = np.ones(n_columns, dtype=bool)
    for term in terms:
        others = [other for other in terms if other is not term]
        if term.categories or any(term.factors & other.factors for other in others):
            shifted[list(term.columns)] = False
    return shifted


def over_units(rows: Floats) -> tuple[Floats, Floats]:
    """Scale columns by powers of two.

    This avoids overflow of their squares without rounding errors.

    Parameters
    ----------
    rows : (n, c) float

    Returns
    -------
    (n, c) float
        Scaled columns.
    (c,) float
        The powers of two.
    """
    size = np.abs(rows).max(axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.where(size > 0, np.frexp(size)[1], 0))
    unit[0] = 1.0
    return rows / unit, unit


NOTHING = 1e-14
"""Share of the largest root from which one is rounding."""


class TermCanonicalResults(Shown):
    """Canonical variates of one term of a linear model: the responses that tell its levels apart.

    H is the scatter of the term and E that of the residuals. For a model with one factor these are the tables
    of `canonical()` of a linear discriminant analysis.

    Attributes
    ----------
    term : str
    df : int
        Degrees of freedom of the term.
    eigenvalues : Series by LD1, LD2, ...
        Eigenvalues of E^-1 H.
    proportion, cumulative : Series by LD1, LD2, ...
        Share of each eigenvalue in their sum, and the running total of these shares.
    correlations : Series by LD1, LD2, ...
        Canonical correlations, the roots of eigenvalue/(1 + eigenvalue).
    dimension_tests : DataFrame
        For each axis, the test that this and all later axes have eigenvalue zero.
    raw : DataFrame, responses by LD1, LD2, ...
        Coefficients that give scores with residuals of unit variance; the largest standardized coefficient of
        an axis is positive.
    constant : Series by LD1, LD2, ...
        Number that is added so that the scores have mean zero over the rows.
    standardized, standardized_total : DataFrame, responses by LD1, LD2, ...
        Raw coefficients times the standard deviation of the residuals, or times that over all rows.
    centroids : DataFrame, cells of the term by LD1, LD2, ...
        Mean scores of the rows of each level, or combination of levels; it has no rows where the term has no
        factor. The means are the observed ones and are not adjusted for other terms, as in R's candisc.
    """

    _FIRST_SECTIONS = ("correlations", "dimensions", "raw", "centroids")

    def __init__(self, model: TermModel, term: int, hypothesis: Hypothesis) -> None:
        self._model = model
        self._at = term
        self._hypothesis = hypothesis
        self.term = model.labels[term]
        self.df = hypothesis.df
        estimates = model.estimates
        roots, axes = estimates.roots(hypothesis)
        kept = roots > NOTHING * roots[0] if len(roots) and roots[0] > 0 else roots > 0
        self._roots = roots[kept]
        raw = axes[:, kept] * np.sqrt(estimates.df)
        self._sd = np.sqrt((estimates.error**2).sum(axis=0) / estimates.df)
        largest = np.abs(raw * self._sd[:, None]).argmax(axis=0)
        self._raw = raw * np.where(raw[largest, np.arange(raw.shape[1])] < 0, -1.0, 1.0)
        self._names = pd.Index([f"LD{i + 1}" for i in range(len(self._roots))])

    @property
    def eigenvalues(self) -> pd.Series:
        """Eigenvalues of E^-1 H."""
        return self._by_axis(self._roots, "eigenvalue")

    @property
    def proportion(self) -> pd.Series:
        """Share of each eigenvalue in their sum."""
        return self._by_axis(self._roots / self._roots.sum(), "proportion")

    @property
    def cumulative(self) -> pd.Series:
        """Share of the leading eigenvalues in their sum."""
        return self.proportion.cumsum().rename("cumulative")

    @property
    def correlations(self) -> pd.Series:
        """Canonical correlations of the responses with the term, given the rest of the model."""
        return self._by_axis(np.sqrt(self._roots / (1 + self._roots)), "correlation")

    @property
    @displayed()
    def dimension_tests(self) -> pd.DataFrame:
        """Sequential tests that this and all later axes have eigenvalue zero."""
        free = self._model.estimates.df
        table = manova.dimension_table(self._roots, len(self._raw), self.df + 1, free + self.df + 1)
        return table.set_axis(self._names, axis=0)

    @property
    def raw(self) -> pd.DataFrame:
        """Coefficients of the responses in their own units."""
        return self._by_response(self._raw / self._model.unit[:, None])

    @property
    def constant(self) -> pd.Series:
        """Minus the score of the mean of all rows."""
        return self._by_axis(-(self._model.in_units(self._model.mean()) @ self.raw.to_numpy()), "constant")

    @property
    def standardized(self) -> pd.DataFrame:
        """Coefficients of responses whose residuals have unit variance."""
        return self._by_response(self._raw * self._sd[:, None])

    @property
    def standardized_total(self) -> pd.DataFrame:
        """Coefficients of responses of unit variance over all rows (divisor N - 1)."""
        squares = (self._about_mean() ** 2).sum(axis=0)
        return self._by_response(self._raw * np.sqrt(squares / (self._model.total - 1))[:, None])

    @property
    def centroids(self) -> pd.DataFrame:
        """Mean scores of the rows of each level of the term."""
        cells, _, means = self._model.cells(self._at)
        if cells is None:
            return pd.DataFrame(np.zeros((0, len(self._names))), columns=self._names)
        labels = cells.labels
        one = len(self._model.terms[self._at].categories) == 1
        index = pd.Index([cell[0] if one else ":".join(map(str, cell)) for cell in labels])
        return pd.DataFrame((means - self._model.mean()) @ self._raw, index=index, columns=self._names)

    def structure(self, kind: Structure = "within") -> pd.DataFrame:
        """Correlations of the responses with the canonical scores.

        Parameters
        ----------
        kind : {"within", "total", "between"}
            "within" takes the correlations of the residuals, "total" those over all rows (as R's candisc),
            and "between" those of what the term explains.
        """
        check_word("kind", kind, Structure)
        rows = {
            "within": self._model.estimates.error,
            "total": self._about_mean(),
            "between": self._hypothesis.part,
        }[kind]
        scored = rows @ self._raw
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.linalg.norm(rows, axis=0)[:, None] * np.linalg.norm(scored, axis=0)
            return self._by_response(rows.T @ scored / lengths)

    def scores(self, data: Data | None = None) -> pd.DataFrame:
        """Canonical scores of rows: mean zero over the rows of the fit, unit variance of the residuals.

        Parameters
        ----------
        data : table or source of tables, optional
            Rows with the responses; by default the rows of the fit. A row with a missing value has no scores.

        Raises
        ------
        NotSupportedError
            There is no table, and the model was unpickled and has no rows of its own.
        """
        if data is None and not self._model.has_rows:
            raise NotSupportedError(
                "scores() needs the rows of the fit, which a model that was unpickled does not have.",
                hint="Pass data=.",
            )
        blocks = self._model.design_rows
        first = self._model.n_model - 1
        blocks = blocks.columns(range(first, len(blocks.terms)))
        if data is not None:
            blocks = new_blocks(blocks, data, held=True)
        raw = self.raw.to_numpy()
        grand = self._model.in_units(self._model.mean())
        return frame_of_rows(blocks, lambda x: (x - grand) @ raw, self._names)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables wanted, in order, such as "dimensions"; by default all.
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
        """Ellipses of hypothesis and error on two canonical axes, the responses as arrows, as in R's candisc.

        Parameters
        ----------
        axes : two of "LD1", "LD2", ..., optional
            Axes of the picture; by default the first two.
        level : float
            One less the significance level of Roy's test, which sets the size of the ellipse of the
            hypothesis.
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
            The term has only one axis; `plot(term=)` of the model draws it in a plane of responses.
        """
        return he_of_axes(self, axes, level, ax, title)

    def _about_mean(self) -> Floats:
        """Rows of the triangle whose products are those of the responses about their means."""
        if self._model.total <= 1:
            raise DataError(
                "The rows have a total weight of one or less, so that they have no variance.",
                hint="Pass weights that count rows.",
            )
        # The constant is the first column, so that the first row of the triangle is what the means explain.
        return self._model.estimates.y[1:]

    def _by_response(self, values: Floats) -> pd.DataFrame:
        return pd.DataFrame(values, index=self._model.responses, columns=self._names)

    def _by_axis(self, values: Floats, name: str) -> pd.Series:
        return pd.Series(values, index=self._names, name=name)
