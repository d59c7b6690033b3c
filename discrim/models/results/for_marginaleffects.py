"""Adapter of fits to the package marginaleffects, which supports other packages by subclasses of its own.

`ClassifierResults.to_marginaleffects` imports this module, which requires marginaleffects and polars.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from marginaleffects.classes.model import ModelAbstract, ModelVault
from marginaleffects.utils import ingest

from discrim.core.numerics.arrays import Floats
from discrim.core.rules.rules import posteriors
from discrim.design.rows import used_codes
from discrim.errors import DataError, NotSupportedError
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import format_argument

TEXT = (pl.String, pl.Categorical, pl.Enum)


class MarginalModel(ModelAbstract):
    """A fit with posteriors, and the rows over which effects are averaged.

    A row is represented by its log posteriors at the estimates, followed by a constant and the columns of the
    design if the log odds are linear in them. Other coefficients change the log odds by the product of the
    columns and the difference of the coefficients, which is precise even if columns lie far from zero.

    Parameters
    ----------
    results : ClassifierResults
    """

    def __init__(self, results: Any) -> None:
        self._results = results
        fit = results._fit
        fit.require_posteriors("to_marginaleffects()")
        params = getattr(results, "params", None)
        self._has_params = params is not None
        design = fit.design_rows.design
        vault = ModelVault(
            coef=None if params is None else params.to_numpy().T.ravel(),
            coefnames=None if params is None else _coefficient_names(params),
            # Only the columns that are read: the terms are computed by this package.
            formula=f"`{design.response}` ~ {' + '.join(f'`{name}`' for name in design.columns)}",
            modeldata=_table_of_used_rows(fit),
            package="discrim",
            variable_names=[fit.design_rows.design.response, *fit.design_rows.design.columns],
        )
        super().__init__(results, vault)

    def validation(self) -> None:
        """Set the coefficients and the types of the variables; the base class calls this method."""
        self.coef = self.vault.coef
        table = self.vault.modeldata
        self.vault.variables_type = {name: _variable_type(table[name]) for name in self.find_variables()}

    def get_vcov(self, vcov: Any = True) -> Floats | None:
        """Return the covariance of the coefficients; the base class calls this method.

        Parameters
        ----------
        vcov : bool
            False for none; other values than a bool raise DataError.

        Returns
        -------
        (m, m) float or None
            In the order of `get_coef`, class by class; None if not available.
        """
        if not isinstance(vcov, bool):
            raise DataError(
                f"vcov={format_argument(vcov)} is not valid.",
                hint=(
                    "Pass True, False or a matrix. For robust covariances use "
                    "fit.robust(...).to_marginaleffects()."
                ),
            )
        fit: FittedModel[Any] = self._results._fit
        try:
            covariance: Floats | None = self._results.cov_params().to_numpy() if vcov else None
        except (AttributeError, NotSupportedError):
            return None
        if covariance is not None and hasattr(fit.estimates, "intercept_reduction"):
            # If the prior is specified, sampling error of the class proportions does not affect posteriors.
            constant_covariance = fit.estimates.intercept_reduction()
            constant_index = np.arange(len(constant_covariance)) * (
                len(covariance) // len(constant_covariance)
            )
            covariance = covariance.copy()
            covariance[np.ix_(constant_index, constant_index)] += constant_covariance
        return covariance

    def get_exog(self, newdata: Any) -> Floats:
        """Return the rows of a polars DataFrame in the form that `get_predict` accepts.

        These are log posteriors (n, K), followed by a constant and the p columns of the design if the model
        has coefficients.
        """
        fit: FittedModel[Any] = self._results._fit
        design_rows = fit.new_rows(newdata.to_pandas())
        log_proba: Floats = self._results.predict_log_proba(design_rows).to_numpy()
        if not self._has_params:
            return log_proba
        design = np.ones((len(log_proba), 1 + len(design_rows.terms)))
        for row_slice, x, _ in design_rows.iter_all_rows():
            design[row_slice, 1:] = x
        return np.column_stack([log_proba, design])

    def get_predict(self, params: Any, newdata: Floats) -> Any:
        """Return the posteriors of rows for given coefficients, in long form.

        Parameters
        ----------
        params : (m,) float
            Coefficients in the order of `get_coef`; ignored for a model without coefficients.
        newdata : (n, K) or (n, K + 1 + p) float
            Rows from `get_exog`.

        Returns
        -------
        polars.DataFrame
            Position of the row ("rowid") and posterior ("estimate"). For two classes these are the posteriors
            of the second (n rows); otherwise the classes follow each other (n K rows), with the class label
            as text in "group".
        """
        classes = self._results.classes
        k = len(classes)
        logs = newdata[:, :k].copy()
        if self._has_params:
            param_changes = np.reshape(params - self.get_coef(), (k - 1, -1))
            reference = getattr(self._results, "reference", classes[0])
            logs[:, classes != reference] += newdata[:, k:] @ param_changes.T
        proba = posteriors(logs)
        rows = pl.Series("rowid", np.arange(len(proba)), dtype=pl.Int32)
        if k == 2:
            return pl.DataFrame([rows, pl.Series("estimate", proba[:, 1])])
        frames = [
            pl.DataFrame([rows, pl.Series("estimate", proba[:, j])]).with_columns(group=pl.lit(str(label)))
            for j, label in enumerate(classes)
        ]
        return pl.concat(frames)


def _variable_type(column: Any) -> str:
    """Return the type of a variable in marginaleffects, from a polars Series.

    It is "character", "boolean", "binary" (numbers zero and one only), "integer" or "numeric".
    """
    if column.dtype in TEXT or column.dtype == pl.Boolean:
        return "character" if column.dtype in TEXT else "boolean"
    if ((column == 0) | (column == 1)).all():
        return "binary"
    return "integer" if column.dtype.is_integer() else "numeric"


def _coefficient_names(params: pd.DataFrame) -> Any:
    """Return the names of the coefficients, class by class: terms, or "class:term" for several classes.

    `params` are terms by classes, without the reference class.
    """
    is_single = params.shape[1] == 1
    return np.array(
        [str(term) if is_single else f"{label}:{term}" for label in params for term in params.index]
    )


def _table_of_used_rows(fit: FittedModel[Any]) -> Any:
    """Return the used rows of the fit as a polars DataFrame, with text columns as enumerations.

    Raises NotSupportedError if the fit does not have its rows or reads them in chunks.
    """
    design_rows = fit.require_rows("to_marginaleffects()")
    design_rows.rows.require_table(
        "marginaleffects requires a table in memory, and ",
        " is read in chunks.",
        hint="Fit a sample of the rows as a DataFrame.",
    )
    frame = design_rows.table.frame(design_rows.table.names)[used_codes(design_rows) >= 0].reset_index(
        drop=True
    )
    table = ingest(frame).drop("index")
    levels = {
        name: [str(level) for level in frame[name].cat.categories]
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        else sorted(table[name].drop_nulls().unique().to_list())
        for name in table.columns
        if table[name].dtype in TEXT
    }
    return table.with_columns(pl.col(name).cast(pl.Enum(level_names)) for name, level_names in levels.items())
