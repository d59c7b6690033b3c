"""Residuals and influence of the rows of a logistic regression: `RowInfluence`, a base of its results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats, check_memory
from discrim.core.numerics.progress import Progress
from discrim.core.regression import row_diagnostics
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.row_diagnostics import Influence
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_rows
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import needs_rows
from discrim.models.base.labels import class_term_index
from discrim.models.base.reading import check_flag, check_word
from discrim.models.regression import logistic_search
from discrim.models.results.results import ClassifierResults


def has_maximum_of_rows(method_name: str) -> Callable[[Any], None]:
    """Return a check for `available_if` of methods that need finite estimates and the rows of the fit.

    The check raises NotSupportedError; `method_name` is the name for its message, such as "residuals()".
    """

    def check(results: Any) -> None:
        """Raise NotSupportedError if the search of the fit has not converged, or the fit lacks its rows."""
        logistic_search.raise_if_no_maximum(results._fit, method_name)
        needs_rows(method_name)(results)

    return check


class RowInfluence(ClassifierResults):
    """Residuals of the rows of a logistic regression, and the influence of each row on the estimates.

    Attributes
    ----------
    _columns : Index
        "constant" and the terms, the rows of `bse`.
    """

    _fit: FittedModel[LogisticFit]
    _columns: pd.Index

    @property
    @abstractmethod
    def bse(self) -> pd.DataFrame:
        """Standard errors, "constant" and terms by the classes except the reference."""

    @available_if(has_maximum_of_rows("residuals()"))
    def residuals(self, kind: Literal["deviance", "pearson", "response", "working"] = "deviance") -> Any:
        """Residuals of the rows of the fit, on the index of its table.

        Parameters
        ----------
        kind : {"deviance", "pearson", "response", "working"}
            "response" is 1 for the row's own class and 0 for others, minus the fitted probabilities.
            "pearson" divides these by their standard deviation. "deviance" is the square root of the row's
            contribution to the deviance. "working" are the residuals of the last step of weighted least
            squares, in units of log odds.

        Returns
        -------
        Series for two classes, else DataFrame
            For two classes the residuals of the class that is not the reference, like R's glm. For more
            classes each has a column; "working" lacks a column for the reference, and "deviance" is a
            Series without signs. Rows that the fit did not use are missing. Probabilities follow from the
            model with the class proportions, for any prior.

        Raises
        ------
        DataError
            The kind is unknown.
        NotSupportedError
            The fit was loaded without its rows, or classes are separated.

        Notes
        -----
        A row of weight w stands for w equal rows: its "pearson" and "deviance" residuals are the residuals of
        one such row times the square root of w, as in R's glm. Rows are not grouped; the deviance is
        therefore not a test of fit.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins())
        >>> fit.residuals().round(3).iloc[:2].tolist()
        [0.912, -1.226]
        """
        return _residuals(self._fit, kind)

    @available_if(has_maximum_of_rows("leverage()"))
    def leverage(self) -> pd.Series:
        """Leverage of the rows of the fit: their share in their own fitted values.

        Returns
        -------
        Series on the index of the table
            The diagonal of the hat matrix of weighted least squares (Pregibon, 1981); for more than two
            classes the trace of a row's block (Lesaffre & Albert, 1989). The leverages sum to the number of
            coefficients. A row of weight w has the leverage of w rows together. Rows that the fit did not use
            are missing.

        Raises
        ------
        NotSupportedError
            The fit was loaded without its rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> float(logistic("sex ~ bill_depth_mm", load_penguins()).leverage().sum().round(6))
        2.0
        """
        return _influence_table(self._fit, "leverage()")["leverage"]

    @available_if(has_maximum_of_rows("influence()"))
    @with_display_formats(every="share")
    def influence(self) -> pd.DataFrame:
        """Influence of each row on the estimates, approximated by one step of Newton's method without it.

        A row of weight w is left out as a whole, as w equal rows.

        Returns
        -------
        DataFrame on the index of the table
            leverage; see `leverage`. cooks_distance is the distance that all coefficients move together, in
            the metric of the information matrix, divided by their number. studentized_pearson and, for two
            classes, studentized_deviance are residuals divided by sqrt(1 - leverage), which have variance one
            (R's `rstandard`). For more classes the former is the square root of a quadratic form in the row's
            residuals, without a sign. Rows that the fit did not use are missing.

        Raises
        ------
        NotSupportedError
            The fit was loaded without its rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> table = logistic("sex ~ bill_depth_mm", load_penguins()).influence()
        >>> table["cooks_distance"].idxmax()
        114
        """
        return _influence_table(self._fit)

    @available_if(has_maximum_of_rows("dfbetas()"))
    def dfbetas(self, *, scaled: bool = True) -> pd.DataFrame:
        """Estimates minus estimates without a row, approximated by one step of Newton's method.

        A row of weight w is left out as a whole, as w equal rows.

        Parameters
        ----------
        scaled : bool
            Whether the changes are divided by the standard errors `bse` (Pregibon, 1981; SAS and
            statsmodels), or in units of the coefficients. R's `dfbeta` of a glm uses deviance residuals
            instead of Pearson residuals, and its `dfbetas` also divides by an estimate of the dispersion,
            which is one here.

        Returns
        -------
        DataFrame on the index of the table, by (class, term)
            Rows that the fit did not use are missing.

        Raises
        ------
        NotSupportedError
            The fit was loaded without its rows, or classes are separated.
        DataError
            The result would not fit into memory.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> logistic("sex ~ bill_depth_mm", load_penguins()).dfbetas().shape
        (344, 2)
        """
        check_flag("scaled", scaled)
        design_rows = logistic_search.rows_with_maximum(self._fit, "dfbetas()")
        p1, q = self.bse.shape
        n = design_rows.table.nrows
        to_data = self._fit.estimates.frame.to_data()
        bse = self.bse.to_numpy()
        memory_label = f"dfbetas() of {n:,} rows and {p1 * q:,} coefficients"
        check_memory(float(n) * p1 * q, memory_label, "Use influence()")
        # Divide by standard errors first: extreme units cancel before any product could overflow.
        lines = [to_data / bse[:, [k]] for k in range(q)] if scaled else [to_data] * q
        out = np.full((n, q * p1), np.nan)
        for rows, influence, _ in _influence_by_chunk(self._fit, design_rows, with_coef_changes=True):
            moves: Any = influence.coef_changes
            for k, line in enumerate(lines):
                of_class = slice(k * p1, (k + 1) * p1)
                out[rows, of_class] = (line @ moves[of_class]).T
        columns = class_term_index(self.classes[self._fit.estimates.others], self._columns)
        return pd.DataFrame(out, index=design_rows.table.index, columns=columns)


def _residuals(fit: FittedModel[LogisticFit], residual_type: str) -> pd.Series | pd.DataFrame:
    """Compute residuals of the rows.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    residual_type : {"deviance", "pearson", "response", "working"}
        Kind of residual; any other is a DataError about `kind`.

    Returns
    -------
    Series or DataFrame
        The result of `RowInfluence.residuals`.
    """
    check_word("kind", residual_type, ("deviance", "pearson", "response", "working"))
    design_rows = logistic_search.rows_with_maximum(fit, "residuals()")
    estimates = fit.estimates
    n = design_rows.table.nrows
    classes = {"deviance": 1, "working": len(fit.classes) - 1}.get(residual_type, len(fit.classes))
    out = np.full((classes, n), np.nan)
    with Progress(n, "residuals") as progress:
        for rows, x, codes, weights in used_rows(design_rows):
            out[:, rows] = row_diagnostics.row_residuals(estimates, x, codes, weights, residual_type)
            progress(len(x))
    index = design_rows.table.index
    if len(out) == 1 or len(fit.classes) == 2:
        line = out[estimates.others[0]] if len(out) == 2 else out[0]
        return pd.Series(line, index=index, name=residual_type)
    columns = fit.classes if len(out) == len(fit.classes) else fit.classes[estimates.others]
    return pd.DataFrame(out.T, index=index, columns=columns)


def _influence_table(fit: FittedModel[LogisticFit], caller: str = "influence()") -> pd.DataFrame:
    """Compute the influence of the rows.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    caller : str
        Name of the calling method, for messages.

    Returns
    -------
    DataFrame
        The result of `RowInfluence.influence`.
    """
    design_rows = logistic_search.rows_with_maximum(fit, caller)
    two = len(fit.classes) == 2
    names = ("leverage", "cooks_distance", "studentized_pearson")
    table: dict[str, Floats] = {name: np.full(design_rows.table.nrows, np.nan) for name in names}
    for rows, influence, sign in _influence_by_chunk(fit, design_rows, with_coef_changes=False):
        table["leverage"][rows] = influence.leverage
        table["cooks_distance"][rows] = influence.cooks_distance
        table["studentized_pearson"][rows] = influence.standardized * (sign if two else 1.0)
    if two:
        deviance = _residuals(fit, "deviance").to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            table["studentized_deviance"] = deviance / np.sqrt(1 - table["leverage"])
    return pd.DataFrame(table, index=design_rows.table.index)


def _influence_by_chunk(
    fit: FittedModel[LogisticFit], design_rows: DesignRows, *, with_coef_changes: bool
) -> Iterator[tuple[Any, Influence, Floats]]:
    """Iterate over the influence of the rows, in pieces that fit in memory.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows.
    with_coef_changes : bool
        Whether to compute the changes of the coefficients.

    Yields
    ------
    positions : (m,) int
        Positions of the rows in the table.
    influence : Influence
        Influence of the rows.
    sign : (m,) float64
        -1 for rows of the reference class, else 1: for two classes the sign of the residual.
    """
    influence_of_block = row_diagnostics.row_influence(fit.estimates, with_coef_changes=with_coef_changes)
    with Progress(design_rows.table.nrows, "influence of the rows") as progress:
        for rows, x, codes, weights in used_rows(design_rows):
            positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            for chunk, influence in influence_of_block((x, codes, weights)):
                yield (
                    positions[chunk],
                    influence,
                    np.where(codes[chunk] == fit.estimates.reference, -1.0, 1.0),
                )
                progress(chunk.stop - chunk.start)
