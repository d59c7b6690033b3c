"""A fit as marginaleffects reads one: that package knows other models by subclasses of its own only."""

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
from discrim.models.base.reading import told

TEXT = (pl.String, pl.Categorical, pl.Enum)


class MarginalModel(ModelAbstract):
    """A fit with posteriors, and the rows over which effects are averaged.

    A row is given by its log posteriors at the estimates and, behind them, by a constant and the columns of
    the design where the log odds are linear in them. Other coefficients move the log odds by the product of
    these with what they differ by, so that no digits are lost where columns lie far from zero.
    """

    def __init__(self, results: Any) -> None:
        self._results = results
        fit = results._fit
        fit.need_posteriors("to_marginaleffects()")
        params = getattr(results, "params", None)
        self._has_params = params is not None
        design = fit.design_rows.design
        vault = ModelVault(
            coef=None if params is None else params.to_numpy().T.ravel(),
            coefnames=None if params is None else _names(params),
            # The columns that are read; terms are made of them by this package.
            formula=f"`{design.response}` ~ {' + '.join(f'`{name}`' for name in design.columns)}",
            modeldata=_table(fit),
            package="discrim",
            variable_names=[fit.design_rows.design.response, *fit.design_rows.design.columns],
        )
        super().__init__(results, vault)

    def validation(self) -> None:
        """What that package checks is so by construction; of a column it is told how it changes."""
        self.coef = self.vault.coef
        table = self.vault.modeldata
        self.vault.variables_type = {name: _kind(table[name]) for name in self.find_variables()}

    def get_vcov(self, vcov: Any = True) -> Floats | None:
        """Covariance (m, m) of the coefficients, class by class; None where there or wanted is none."""
        if not isinstance(vcov, bool):
            raise DataError(
                f"vcov={told(vcov)} is not valid.",
                hint=(
                    "Give True, False or a matrix; robust covariances are those of "
                    "fit.robust(...).to_marginaleffects()."
                ),
            )
        fit: FittedModel[Any] = self._results._fit
        try:
            covariance: Floats | None = self._results.cov_params().to_numpy() if vcov else None
        except (AttributeError, NotSupportedError):
            return None
        if covariance is not None and hasattr(fit.estimates, "constants_known"):
            # Under a given prior the chance of the class proportions is no part of the posteriors.
            known = fit.estimates.constants_known()
            at = np.arange(len(known)) * (len(covariance) // len(known))
            covariance = covariance.copy()
            covariance[np.ix_(at, at)] += known
        return covariance

    def get_exog(self, newdata: Any) -> Floats:
        """Rows (n, K) or (n, K + 1 + p) as `get_predict` takes them."""
        fit: FittedModel[Any] = self._results._fit
        blocks = fit.new_rows(newdata.to_pandas())
        log_proba: Floats = self._results.predict_log_proba(blocks).to_numpy()
        if not self._has_params:
            return log_proba
        design = np.ones((len(log_proba), 1 + len(blocks.terms)))
        for place, x, _ in blocks.every_row():
            design[place, 1:] = x
        return np.column_stack([log_proba, design])

    def get_predict(self, params: Any, newdata: Floats) -> Any:
        """Posteriors of the second of two classes, or of each class, a row each."""
        classes = self._results.classes
        k = len(classes)
        logs = newdata[:, :k].copy()
        if self._has_params:
            moved = np.reshape(params - self.get_coef(), (k - 1, -1))
            reference = getattr(self._results, "reference", classes[0])
            logs[:, classes != reference] += newdata[:, k:] @ moved.T
        proba = posteriors(logs)
        rows = pl.Series("rowid", np.arange(len(proba)), dtype=pl.Int32)
        if k == 2:
            return pl.DataFrame([rows, pl.Series("estimate", proba[:, 1])])
        each = [
            pl.DataFrame([rows, pl.Series("estimate", proba[:, j])]).with_columns(group=pl.lit(str(label)))
            for j, label in enumerate(classes)
        ]
        return pl.concat(each)


def _kind(column: Any) -> str:
    """What that package calls the kind of a column."""
    if column.dtype in TEXT or column.dtype == pl.Boolean:
        return "character" if column.dtype in TEXT else "boolean"
    if ((column == 0) | (column == 1)).all():
        return "binary"
    return "integer" if column.dtype.is_integer() else "numeric"


def _names(params: pd.DataFrame) -> Any:
    """Names of the coefficients: terms, behind their class where there are several."""
    two = params.shape[1] == 1
    return np.array([str(term) if two else f"{label}:{term}" for label in params for term in params.index])


def _table(fit: FittedModel[Any]) -> Any:
    """The rows of the fit as a table of polars, with levels where there was text."""
    blocks = fit.rows("to_marginaleffects()")
    blocks.rows.need_table(
        "marginaleffects takes a table in memory, and ",
        " is read part by part.",
        hint="Fit a sample of its rows as a DataFrame.",
    )
    frame = blocks.table.frame(blocks.table.names)[used_codes(blocks) >= 0].reset_index(drop=True)
    table = ingest(frame).drop("index")
    levels = {
        name: [str(level) for level in frame[name].cat.categories]
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        else sorted(table[name].drop_nulls().unique().to_list())
        for name in table.columns
        if table[name].dtype in TEXT
    }
    return table.with_columns(pl.col(name).cast(pl.Enum(each)) for name, each in levels.items())
