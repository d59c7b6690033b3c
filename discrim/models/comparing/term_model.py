"""A fitted linear model of several responses, with the names of its terms."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.linear_model import Cells, ModelTerm, cells_of
from discrim.inference.linear_terms import Hypothesis, LeastSquares, TestType, rank_of
from discrim.models.fits.arguments import listed, told
from discrim.models.fits.fit import with_rows_copied

__all__ = ["TermModel"]

Floats = NDArray[np.float64]

EMPTY = 1e-9
"""Share of all rows up to which the weight of a cell is rounding."""


@dataclass(frozen=True, slots=True)
class TermModel:
    """Numbers and names of a linear model of several responses.

    Attributes
    ----------
    blocks : Blocks
        The rows.
    terms : tuple of ModelTerm
    numbers : LeastSquares
        Of responses over their `unit`.
    unit : (p,) float
        Powers of two.
    model_unit : (m - 1,) float
        The same of the model's columns.
    origin : (m - 1 + p,) float
        What was taken from the columns of the model and from the responses.
    total : float
    rows : int
    has_rows : bool
        False of a model that was unpickled.
    """

    blocks: Blocks
    terms: tuple[ModelTerm, ...]
    numbers: LeastSquares
    unit: Floats
    model_unit: Floats
    origin: Floats
    total: float
    rows: int
    has_rows: bool = True

    def __getstate__(self) -> list[Any]:
        # Tables stay in their process: what is pickled may travel anywhere.
        bare = replace(self, blocks=self.blocks.without_rows(), has_rows=False)
        return [getattr(bare, each.name) for each in fields(bare)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return with_rows_copied(self, memo)

    @property
    def labels(self) -> list[str]:
        """Names of the terms."""
        return [term.label for term in self.terms]

    @property
    def n_model(self) -> int:
        """Columns of the model with the constant."""
        return int(self.numbers.x.shape[1])

    @property
    def responses(self) -> pd.Index:
        """Names of the responses."""
        return pd.Index(self.blocks.terms[self.n_model - 1 :])

    def position(self, term: Any) -> int:
        """Position of a term by its name, in which factors may stand in any order; None of the only one.

        Raises
        ------
        DataError
            There is no such term, or several and none is named.
        """
        if term is None and len(self.terms) == 1:
            return 0
        if term is None:
            raise DataError(f"The model has several terms: name one of {listed(self.labels, 20)} in term=.")
        labels = self.labels
        if isinstance(term, str):
            wanted = sorted(part.strip() for part in term.split(":"))
            for j, label in enumerate(labels):
                if label == term or sorted(label.split(":")) == wanted:
                    return j
        raise DataError(f"term={told(term)} is no term: name one of {listed(self.labels, 20)}.")

    def hypothesis(self, term: int, kind: TestType) -> Hypothesis:
        """That a term is not needed.

        Raises
        ------
        NotSupportedError
            Of type III, where cells without rows leave it undefined.
        """
        if kind == 3:
            lacking = self.lacking()
            if lacking is not None:
                raise NotSupportedError(
                    f"{self.lacking_said(lacking)}, so that tests of type III depend on how the factors are "
                    f"coded: ask for type=2, or leave {self.labels[lacking]!r} out of the formula."
                )
        return self.numbers.hypothesis(term, kind)

    def lacking(self) -> int | None:
        """The first term that has fewer degrees of freedom than columns, given all before it."""
        if self.numbers.rank == self.n_model:
            return None
        before: list[int] = [0]
        for j, group in enumerate(self.numbers.groups):
            together = [*before, *group]
            if rank_of(self.numbers.x, together) < rank_of(self.numbers.x, before) + len(group):
                return j
            before = together
        return None

    def lacking_said(self, term: int) -> str:
        """What a term lacks, as the beginning of a sentence: cells without rows, or columns of its own."""
        label = self.labels[term]
        empty = self.empty_cells(term)
        if not empty:
            return f"The columns of {label!r} are combinations of those of other terms"
        codes = self.terms[term].categories
        names = [self.factor_label(code) for code in codes]
        said = [" and ".join(f"{n}={told(v)}" for n, v in zip(names, cell, strict=True)) for cell in empty]
        rest = len(said) - 3
        more = f" (and for {rest} more cell{'s' if rest > 1 else ''})" if rest > 0 else ""
        return f"The term {label!r} has no row for {', for '.join(said[:3])}{more}"

    def factor_label(self, code: str) -> str:
        """What the formula calls a factor."""
        for term in self.terms:
            if term.factors == {code}:
                return term.label
        return code

    def empty_cells(self, term: int) -> list[tuple[Any, ...]]:
        """Cells of a term's factors that have no row."""
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
        found = cells_of(self.blocks.design, codes)
        values = np.hstack([np.ones((len(found.labels), 1)), found.values])
        # The indicator of a cell is a combination of the columns: its rows are those of the triangle.
        combination, _, rank, _ = np.linalg.lstsq(values, np.eye(len(values)), rcond=None)
        if rank < len(values):
            return None, *none
        at = [0, *(1 + column for column in found.columns)]
        indicators = (self.numbers.x[:, at] * np.insert(self.model_unit, 0, 1.0)[at]) @ combination
        counts = (indicators**2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = indicators.T @ self.numbers.y / counts[:, None]
        means[counts <= EMPTY * self.total] = np.nan
        return found, counts, means

    def need_error(self) -> None:
        """Raise where the residuals have no covariance of full rank.

        Raises
        ------
        CollinearError
        """
        p, names = len(self.unit), list(self.responses)
        if self.numbers.df < p:
            raise CollinearError(
                f"{self.total:g} rows and a model of {self.numbers.rank} columns leave "
                f"{max(self.numbers.df, 0):g} degrees of freedom, too few for the covariance of {p} "
                f"responses ({listed(names)}): name fewer responses, or leave out terms."
            )
        said = []
        for dependency in self.numbers.dependent()[:4]:
            on = listed(names[j] for j in dependency.on)
            what = f"a linear combination of {on}, given the model" if dependency.on else "fitted exactly"
            said.append(f"{names[dependency.column]!r} is {what}")
        if said:
            raise CollinearError(
                f"The residuals' covariance is singular: {'; '.join(said)}. Leave such responses out."
            )
