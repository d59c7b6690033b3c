"""Regression of class indicators: least squares of zeros and ones, and the class of largest fitted value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import dependencies
from discrim.core.regression.indicator import IndicatorFit, fit_indicator, indicator_from_file
from discrim.errors import CollinearError
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.frame.unseen import Unseen
from discrim.inference.least_squares import regression_table, t_table
from discrim.models.fits.arguments import check_word, listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Model, as_scored
from discrim.models.fits.gaps import Gaps
from discrim.models.fits.labels import by_class_and_term, in_brooms_names
from discrim.models.fits.reading import NaAction, collinear_error, drop_columns, lean, usable_rows
from discrim.models.fits.refits import moment_refits
from discrim.models.moments.given import given_sample, table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments
from discrim.models.regression.optimal_scoring import OptimalScoring
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults
from discrim.models.results.scores import ValuesOnly
from discrim.models.saving.saved import Saved

__all__ = ["IndicatorResults", "indicator"]

Floats = NDArray[np.float64]


@by_moments("pooled")
def indicator(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    weights: Any = None,
    collinear: Literal["raise", "drop"] = "raise",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> IndicatorResults:
    """Least squares of the indicators of the classes; a row belongs to the class of its largest fitted value.

    One pass over the rows, that of `discrim.lda`: the indicators are never formed.

    Parameters
    ----------
    formula, data, moments, weights, levels, na_action, functions
        As for `discrim.lda`.
    collinear : {"raise", "drop"}
        Refuse columns that others determine over all rows, or drop the later ones with a warning, as R's
        lm does; of more columns than rows also, where what is left fits every row.

    Returns
    -------
    IndicatorResults

    Raises
    ------
    FormulaError, DataError
        As for `discrim.lda`.
    CollinearError
        No more rows than columns, or columns that others determine over all rows; the message names them. A
        column may be constant within classes, which `discrim.lda` refuses.

    Notes
    -----
    Fitted values sum to one over the classes, but may be negative or above one: they are no probabilities.
    There is no prior to choose either: the constants hold the class proportions.

    With three or more classes, one that lies between others may never have the largest fitted value: it is
    *masked*. `masked` names the classes that win no row at all. One that wins a few is nearly masked: the
    summary counts for every class how many of its own rows it wins. Polynomials in the formula lift the
    masking of classes that are well apart: for K in a row degree K - 1 is enough, as `poly(x, 2)` for three,
    and often a lower one is. Where classes overlap much, one may win no row by any rule.

    With two classes the coefficients are proportional to those of `discrim.lda`; the cut differs unless the
    classes are of one size. Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, sec.
    4.2.

    Examples
    --------
    Three classes in a row, the middle one masked by straight lines and found by parabolas:

    >>> import pandas as pd
    >>> from discrim import indicator
    >>> row = pd.DataFrame({"x": [0, 1, 2, 4, 6, 8, 9, 10], "y": list("aaabbccc")})
    >>> indicator("y ~ x", row).masked.tolist()
    ['b']
    >>> indicator("y ~ poly(x, 2)", row).masked.tolist()
    []
    """
    check_word("collinear", collinear, ("raise", "drop"))
    if moments is None:
        asked_of = table_given("indicator", formula, data)
        blocks = lean(read(*asked_of, weights=weights, levels=levels, functions=functions))
        if collinear == "raise":
            _refuse_few(blocks.known, blocks.terms)
        blocks, held = usable_rows(blocks, "pooled", na_action)
    else:
        blocks, held = given_sample(
            moments, "pooled",
            formula=formula, data=data, weights=weights, levels=levels, functions=functions,
        )  # fmt: skip
    if collinear == "raise":
        _refuse_few(int(held.rows.sum()), blocks.terms)
    found = dependencies(held.as_one())
    if found and collinear == "raise":
        raise collinear_error(found, blocks.terms, OVER_ALL)
    if found:
        blocks, held = drop_columns(blocks, held, found, OVER_ALL)
    fit = indicator_fit(fit_indicator(held), blocks, has_rows=moments is None, drops=collinear == "drop")
    return IndicatorResults(fit)


OVER_ALL = "over all rows"


def _refuse_few(rows: int, terms: tuple[str, ...]) -> None:
    if 0 < rows <= len(terms):
        raise CollinearError(
            f"Least squares of {len(terms)} columns ({listed(terms)}) and a constant takes more rows than "
            f'columns; there are {rows}: name fewer columns in the formula, pass collinear="drop", or use '
            'rda(), shrunken_centroids() or lda(covariance="shrunk").'
        )


MODEL = Model(
    "indicator",
    "Regression of class indicators",
    likelihood_of="none",
    prior_without="none",
    instead="its fitted values may be negative or above one, see fitted and decision_function()",
    decision=as_scored,
)


def indicator_fit(
    numbers: IndicatorFit, blocks: Blocks, *, has_rows: bool = True, drops: bool = False
) -> Fit[IndicatorFit]:
    """A regression of class indicators as one value."""
    refits = replace(moment_refits(numbers.moments.spread), drops=drops)
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows)


SAVED = Saved({}, "pooled", indicator_from_file, indicator_fit, constant=True, singular=True)


class IndicatorResults(ValuesOnly, LinearGeometry, ClassifierResults):
    """A fitted regression of class indicators.

    Attributes
    ----------
    coef : DataFrame, terms by classes
    intercept : Series by class
        x'coef + intercept is the fitted value; over the classes coefficients sum to zero, constants to one.
    fitted : DataFrame, rows by classes
        Fitted values of the rows of the fit.
    masked : Index
        Classes that no row of the fit is given to; one that wins a few rows is not among them.
    hat : Series
        Leverages of the rows of the fit.
    df_resid : float
        N - p - 1.
    """

    _fit: Fit[IndicatorFit]

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients."""
        return pd.DataFrame(self._fit.numbers.functions()[0], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Fitted values at zero."""
        return pd.Series(self._fit.numbers.functions()[1], index=self.classes, name="constant")

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        return self._fit.class_means()

    @property
    def df_model(self) -> int:
        """Free coefficients: those of the last class follow from the others."""
        return (len(self.terms) + 1) * (len(self.classes) - 1)

    @property
    def df_resid(self) -> float:
        """Residual degrees of freedom of each regression, N - p - 1."""
        return self._fit.numbers.residual_df

    @displayed()
    def coefficients(self, level: float = 0.95) -> pd.DataFrame:
        """Coefficients with the standard errors of ordinary least squares, class by class.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        DataFrame by (class, term)
            coef, se, t, p, low, high, as R's `lm` has them. They take the errors of an indicator for normal
            and of one variance, which they are not; for two classes the t of a column is exact all the same
            under normal classes with one covariance.
        """
        found = self._fit.numbers.estimates()
        index = by_class_and_term(list(self.classes), ["constant", *self.terms])
        return t_table(found.coef.ravel(), found.se.ravel(), found.df, index, level)

    @displayed()
    def regressions(self) -> pd.DataFrame:
        """One row a class: R2, residual standard deviation, and the F test of all columns."""
        fit = self._fit.numbers
        squares = fit.explained_squares(), fit.residual_squares()
        return regression_table(*squares, len(self.terms), fit.residual_df, self.classes)

    def fitted_values(self, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Fitted values of rows, new ones or those of the fit; each row sums to one.

        Parameters
        ----------
        data : table, optional
            New rows; the rows of the fit without it.
        unseen : {"raise", "missing"}, optional
            What to do with a level that the fit has not seen, as for `predict`.

        Returns
        -------
        DataFrame, rows by classes
        """
        return self._values(data, unseen)

    @property
    def fitted(self) -> pd.DataFrame:
        """Fitted values of the rows of the fit."""
        return self._values(None)

    @property
    def masked(self) -> pd.Index:
        """Classes that no row of the fit is given to.

        Raises
        ------
        NotSupportedError
            The fit was loaded and has no rows.
        """
        self._fit.rows("masked")
        given = self.confusion().to_numpy().sum(axis=0)
        return self.classes.take(np.flatnonzero(given == 0))

    @property
    def hat(self) -> pd.Series:
        """Leverages of the rows of the fit, times their weights; missing for rows that it does not use."""
        from discrim.frame.used_rows import used_rows

        blocks = self._fit.rows("hat")
        out = np.full(blocks.table.nrows, np.nan)
        for rows, x, _, weights in used_rows(blocks):
            out[rows] = self._fit.numbers.leverages(x) * (1.0 if weights is None else weights)
        return pd.Series(out, index=blocks.table.index, name="hat")

    def optimal_scoring(self) -> OptimalScoring:
        """Scores of the classes that the columns predict best, and with them the variates of LDA.

        Examples
        --------
        >>> from discrim import indicator, lda
        >>> from discrim.datasets import load_iris
        >>> iris = load_iris()
        >>> scoring = indicator("species ~ .", iris).optimal_scoring()
        >>> bool(abs(scoring.scaling - lda("species ~ .", iris).scaling).max(axis=None) < 1e-10)
        True
        """
        return OptimalScoring(self._fit.numbers, self.classes, self.terms)

    # ---- tables

    @displayed()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row a class and term, in broom's names.

        Parameters
        ----------
        level : float
            Of the intervals: 0.95 for 95 per cent.
        """
        return in_brooms_names(self.coefficients(level))

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        row = self._sizes() | {"df_model": self.df_model, "df_resid": self.df_resid}
        return pd.DataFrame([row])

    def _augmented(self, gaps: Gaps, data: Any) -> pd.DataFrame:
        """The table with each row's label (`.fitted`) and the fitted values (`.score.<class>`)."""
        rows = self._fit.new_rows(data, gaps)
        return self._fit.augmented(rows, self._values(rows), "score")
