"""Moments of a formula's columns by class, which add up over tables and are all that LDA and QDA need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.given_moments import among_classes, merged
from discrim.core.moments.moments import ClassMoments
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.frame.design import Design
from discrim.frame.filled import response_codes
from discrim.frame.response import with_new_classes
from discrim.frame.table import Table
from discrim.frame.weights import weight_vector
from discrim.models.fits.arguments import check_word, listed
from discrim.models.fits.reading import NaAction, class_moments

__all__ = ["Moments", "moments"]

Floats = NDArray[np.float64]
Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Rows, means and covariances of classes, for the columns of a formula; made by `discrim.moments`.

    Moments of two tables add up with `+` to those of their rows together, whatever the order.

    Attributes
    ----------
    formula : str
    classes : Index of length K
        Classes met so far.
    terms : Index of length p
    counts : Series by class
    nobs : int or float
    means : DataFrame, classes by terms
    cov : DataFrame, terms by terms
        Covariance within classes, divisor N - K.
    covs : dict of class to DataFrame
        Covariance of each class, divisor n_k - 1; missing for a class of one row.
    dropped : int
        Rows left out because a value is missing.
    """

    _design: Design
    _held: ClassMoments
    _by_class: bool
    _levels_given: bool
    dropped: int = 0
    _weighted: bool = False
    _weights: str | None = None
    _functions: Functions = field(default_factory=dict)

    @property
    def formula(self) -> str:
        """As typed."""
        return self._design.formula

    @property
    def classes(self) -> pd.Index:
        """Class labels, in order."""
        return pd.Index(list(self._design.levels), name=self._design.response)

    @property
    def terms(self) -> pd.Index:
        """Names of the columns of the design."""
        return pd.Index(list(self._design.terms))

    @property
    def counts(self) -> pd.Series:
        """Rows by class, or sums of their weights."""
        counts = self._held.counts
        whole = counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
        return pd.Series(whole, index=self.classes, name="rows")

    @property
    def nobs(self) -> int | float:
        """Rows used, or the sum of their weights."""
        total = float(self._held.counts.sum())
        return int(total) if total == round(total) else total

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        shown = np.where(self._held.counts[:, None] > 0, self._held.class_means, np.nan)
        return pd.DataFrame(shown, index=self.classes, columns=self.terms)

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance within classes, divisor N - K; K counts the classes with rows."""
        held = self._held
        return self._frame(held.scatters.sum(axis=0), held.total - np.count_nonzero(held.counts))

    @property
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariance of each class, divisor n_k - 1."""
        self._need_classes("covs")
        each = zip(self.classes, self._held.scatters, self._held.counts, strict=True)
        return {label: self._frame(scatter, count - 1) for label, scatter, count in each}

    def _frame(self, scatter: Floats, divisor: float) -> pd.DataFrame:
        unit = 1 / self._held.scale
        matrix = scatter * unit[:, None] * unit / divisor if divisor > 0 else np.full_like(scatter, np.nan)
        return pd.DataFrame(matrix, index=self.terms, columns=self.terms)

    def _need_classes(self, what: str) -> None:
        if not self._by_class:
            raise NotSupportedError(
                f"{what} takes the covariance of each class, and these moments hold one for all: "
                'make them with scatters="class", or from_stats with a covariance for each class.'
            )

    def of(self, data: Any, *, weights: Any = None, na_action: NaAction = "drop") -> Moments:
        """Moments of the rows of another table, by the same formula and what it learnt of the first table.

        Parameters
        ----------
        data : DataFrame, or any table narwhals knows
            With the same columns. Levels of categories, centres and the like are those of the first table.
        weights : str or (n,) array, optional
            By default the column that was named for the first table.
        na_action
            As for `discrim.moments`.

        Returns
        -------
        Moments

        Raises
        ------
        DataError
            A column is missing; a category that the first table had not; a class that is not of `levels=`;
            no weights, where those of the first table were an array.
        """
        table, design = Table(data, part=True), self._design
        weights = self._weights if weights is None else weights
        if weights is None and self._weighted:
            raise DataError(
                "The first table had weights: pass weights= for this one too, np.ones(len(data)) if each of "
                "its rows stands for itself."
            )
        if not self._levels_given:
            design = with_new_classes(design, table, self._functions)
        codes = response_codes(design, table, self._functions)
        blocks = Blocks(design, table, codes, weight_vector(weights, table), self._functions)
        return _gathered(
            blocks, na_action, by_class=self._by_class, levels_given=self._levels_given, weights=weights
        )

    def __add__(self, other: Any) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        levels = _common_levels(self._design, other._design)
        labels = self._design.labels if self._design.labels == other._design.labels else None
        if self._by_class != other._by_class:
            raise DataError('One of the moments has scatters="class" and one "pooled": make both alike.')
        held = merged(self._among(levels), other._among(levels))
        return replace(
            self,
            _design=replace(self._design, levels=levels, labels=labels),
            _held=held,
            dropped=self.dropped + other.dropped,
            _levels_given=self._levels_given or other._levels_given,
            _weighted=self._weighted or other._weighted,
        )

    def __radd__(self, other: Any) -> Moments:
        # sum() starts at 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _among(self, levels: tuple[Any, ...]) -> ClassMoments:
        if levels == self._design.levels:
            return self._held
        position = np.array([levels.index(label) for label in self._design.levels], dtype=np.intp)
        return among_classes(self._held, position, len(levels), by_class=self._by_class)

    def __repr__(self) -> str:
        rows = f"{self.nobs:,} rows of {len(self.classes)} classes" if self.nobs else "no rows"
        columns = f"{len(self.terms)} column{'s' if len(self.terms) > 1 else ''}"
        return f"Moments of {self.formula!r}: {rows}, {columns}"


def moments(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    scatters: Literal["class", "pooled"] = "class",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Functions | None = None,
) -> Moments:
    """Counts, means and covariances of classes for the columns of a formula, to be added up and fitted.

    Parameters
    ----------
    formula, data, weights, na_action, functions
        As for `discrim.lda`.
    scatters : {"class", "pooled"}
        Hold sums of squares and products by class, as `qda` and diagonal covariances need them, or one for
        all classes, which is enough for `lda` and takes K times less memory.
    levels : sequence, optional
        The classes in order; a table need not have rows of all of them. By default those of the categories,
        else the labels met so far, sorted.

    Returns
    -------
    Moments
        `a + b` are the moments of the rows of both; `lda(moments=a + b)` fits them.

    Raises
    ------
    FormulaError, DataError
        As for `discrim.lda`, but that the rows may be of one class.

    Notes
    -----
    What a formula learns of a table (the levels of a category, the centre of `center(x)`, the basis of
    `poly(x, 2)`) has to be the same for all that is added: `first.of(data)` takes it from the first table.
    Levels that come later have to be declared, by the type of the column or as in `C(x, levels=["a", "b"])`.
    Merged after Chan, Golub & LeVeque (1983), The American Statistician 37, 242-247.

    Examples
    --------
    >>> import discrim
    >>> iris = discrim.datasets.load_iris()
    >>> whole = sum(discrim.moments("species ~ .", iris[start : start + 30]) for start in range(0, 150, 30))
    >>> whole
    Moments of 'species ~ .': 150 rows of 3 classes, 4 columns
    >>> discrim.lda(moments=whole).explained.round(4).tolist()
    [0.9912, 0.0088]
    """
    check_word("scatters", scatters, ("class", "pooled"))
    blocks = read(formula, data, weights=weights, levels=levels, functions=functions, part=True)
    if not blocks.terms:
        raise DataError(f"The formula {formula!r} has no predictor: name a column on its right side.")
    by_class, levels_given = scatters == "class", levels is not None
    return _gathered(blocks, na_action, by_class=by_class, levels_given=levels_given, weights=weights)


def _gathered(
    blocks: Blocks, na_action: NaAction, *, by_class: bool, levels_given: bool, weights: Any
) -> Moments:
    check_word("na_action", na_action, ("drop", "raise"))
    held = class_moments(blocks, "class" if by_class else "pooled")
    if blocks.dropped and na_action == "raise":
        blocks.refuse_missing()
    return Moments(
        blocks.design, held, by_class, levels_given, blocks.dropped, blocks.weighted,
        weights if isinstance(weights, str) else None, blocks.functions,
    )  # fmt: skip


def _common_levels(a: Design, b: Design) -> tuple[Any, ...]:
    """The levels of both, where the designs are the same but for these."""
    if replace(a, levels=(), formula="", labels=None, truths=()) != replace(
        b, levels=(), formula="", labels=None, truths=()
    ):
        if a.response != b.response or (a.formula != b.formula and {*a.terms} != {*b.terms}):
            why = f"one is of {a.formula!r}, one of {b.formula!r}"
        elif a.terms != b.terms:
            other = sorted({*a.terms} ^ {*b.terms}) or ["the same ones in another order"]
            why = f"their columns differ: {listed(other)}"
        else:
            why = "a category, a centre or a basis was learnt of each table anew"
        raise FormulaError(
            f"These moments do not add up: {why}. Take the second from the first: first.of(data)."
        )
    short, long = sorted((a.levels, b.levels), key=len)
    if tuple(label for label in long if label in short) == short:
        return long
    union = {*a.levels, *b.levels}
    try:
        if all(list(levels) == sorted(levels) for levels in (a.levels, b.levels)):
            return tuple(sorted(union))
    except TypeError:
        pass
    raise DataError(
        f"The classes of one are {listed(a.levels)}, of the other {listed(b.levels)}, and in which "
        "order they "
        "go together is not clear: pass levels= to both."
    )
