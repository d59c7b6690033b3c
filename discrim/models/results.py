"""What every fitted classifier can do: predict, judge itself, show itself.

A child supplies its numbers, the rule they give (`_rule`) and its summary's
sections; rows, labels and pandas are handled here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from warnings import warn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance import Covariance
from discrim.core.rules import MANY_CLASSES, Rule, best_class, log_posteriors, posteriors
from discrim.errors import DataError, DiscrimWarning, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.formula import response_codes
from discrim.frame.table import Table
from discrim.inference.error_rates import confusion_table, error_table
from discrim.models.sample import choice, prior_vector

if TYPE_CHECKING:
    from os import PathLike

    from discrim.report.plots import Axes
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["ClassifierResults"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Method = Literal["plugin", "predictive", "debiased"]
ErrorMethod = Literal["apparent", "loo"]


class ClassifierResults:
    """A fitted classifier.

    Attributes
    ----------
    formula : str
    classes : Index of length K
    nobs : int or float
        Rows used, or the sum of their weights.
    counts, prior : Series by class
    terms : Index of length p
        Column names of the design.
    """

    title: ClassVar[str] = "Classifier"

    def __init__(self, blocks: Blocks, counts: Floats, prior: Floats, *, has_rows: bool = True) -> None:
        self._blocks = blocks
        self._has_rows = has_rows
        self._dropped = blocks.dropped
        self._apparent: pd.DataFrame | None = None
        self._left_out: Floats | None = None
        self.formula = blocks.design.formula
        self.classes = pd.Index(list(blocks.design.levels), name=blocks.design.response)
        self.terms = pd.Index(list(blocks.terms))
        whole = counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
        self.counts = pd.Series(whole, index=self.classes, name="rows")
        self.nobs: int | float = whole.sum().item()
        self.prior = pd.Series(prior, index=self.classes, name="prior")

    # ---- likelihood

    _fit: Any

    @property
    def llf(self) -> float:
        """Joint log-likelihood of class and row at maximum-likelihood estimates."""
        return float(self._fit.llf())

    @property
    def df_model(self) -> int:
        """Free parameters."""
        return int(self._fit.df_model())

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * self.df_model - 2 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return float(self.df_model * np.log(self.nobs) - 2 * self.llf)

    def _glance(self) -> dict[str, Any]:
        row: dict[str, Any] = {"nobs": self.nobs, "classes": len(self.classes), "terms": len(self.terms)}
        return row | {"df_model": self.df_model, "llf": self.llf, "aic": self.aic, "bic": self.bic}

    def _log_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._prior_values(None)))

    def _covariance_frame(self, covariance: Covariance) -> pd.DataFrame:
        """A covariance in the units of the data; a variance beyond 1e308 shows as infinite."""
        unit = 1 / self._fit.moments.scale
        with np.errstate(over="ignore", under="ignore"):
            matrix = covariance.matrix() * unit[:, None] * unit
        return pd.DataFrame(matrix, index=self.terms, columns=self.terms)

    # ---- prediction

    def _rule(self, prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        raise NotSupportedError(f"{self.title} has no rule.")

    def predict(self, data: Any = None, prior: Any = None) -> pd.Series:
        """Predicted class of each row.

        Parameters
        ----------
        data : table, optional
            New rows; the response need not be there. Without it, the rows of the fit.
        prior : optional
            In any form that the verb takes; the fit's own by default.

        Returns
        -------
        Series
            Labels on the data's index. A row with a missing value keeps its place and has a missing label.

        Raises
        ------
        DataError
            A column is missing, infinite, or holds a category that the fit has not seen.
        PriorError
            The prior is not a distribution over the classes.
        """
        blocks = self._new_rows(data)
        return self._labelled(self._predicted_codes(blocks, prior), blocks.table.index)

    def predict_proba(
        self,
        data: Any = None,
        prior: Any = None,
        *,
        method: Method = "plugin",
        convention: Literal["MASS"] | None = None,
    ) -> pd.DataFrame:
        """Posterior probabilities, rows by classes.

        Parameters
        ----------
        data, prior : optional
            As for `predict`.
        method : {"plugin", "predictive", "debiased"}
            Estimates for the parameters, the parameters integrated out, or unbiased log densities.
        convention : None or "MASS"
            "MASS" gives the numbers of R's MASS for the last two methods, which depart from theory.

        Returns
        -------
        DataFrame
            Each row sums to one, or is missing where the row has a missing value.
        """
        return self._posterior_frame(data, prior, method, convention, posteriors)

    def predict_log_proba(
        self,
        data: Any = None,
        prior: Any = None,
        *,
        method: Method = "plugin",
        convention: Literal["MASS"] | None = None,
    ) -> pd.DataFrame:
        """Logarithms of the posterior probabilities; they hold where the posterior itself underflows."""
        return self._posterior_frame(data, prior, method, convention, log_posteriors)

    def _posterior_frame(
        self,
        data: Any,
        prior: Any,
        method: str,
        convention: str | None,
        finish: Callable[[Floats], Floats],
    ) -> pd.DataFrame:
        choice("method", method, ("plugin", "predictive", "debiased"))
        if convention is not None:
            choice("convention", convention, ("MASS",))
        blocks = self._new_rows(data)
        rule = self._rule(self._prior_values(prior), method, convention)
        shape = (blocks.table.nrows, len(self.classes))
        out = np.empty(shape, order="C" if shape[1] > MANY_CLASSES else "F")
        for place, scores in self._scored(blocks, rule):
            out[place] = finish(scores)
        return pd.DataFrame(out, index=blocks.table.index, columns=self.classes, copy=False)

    def _scored(self, blocks: Blocks, rule: Rule) -> Iterator[tuple[slice, Floats]]:
        """Scores (m, K) of all rows, block by block, in pieces that fit the cache; missing rows are NaN."""
        piece = max(2**17 // len(self.classes), 64)
        for place, x, _ in blocks.every_row():
            for start in range(0, len(x), piece):
                stop = min(start + piece, len(x))
                yield slice(place.start + start, place.start + stop), rule.scores(x[start:stop])

    def _predicted_codes(self, blocks: Blocks, prior: Any = None) -> Codes:
        rule = self._rule(self._prior_values(prior))
        codes = np.empty(blocks.table.nrows, dtype=np.intp)
        for place, scores in self._scored(blocks, rule):
            codes[place] = best_class(scores)
        return codes

    def _labelled(self, codes: Codes, index: pd.Index) -> pd.Series:
        labels = self.classes.to_numpy()[codes]
        series = pd.Series(labels, index=index, name=self.classes.name)
        missing = codes < 0
        if not missing.any():
            return series
        if series.dtype.kind in "iu":
            series = series.astype("Int64")
        elif series.dtype.kind == "b":
            series = series.astype("boolean")
        return series.mask(missing)

    def _prior_values(self, prior: Any) -> Floats:
        if prior is None:
            return np.asarray(self.prior, dtype=np.float64)
        return prior_vector(prior, self.classes, self.counts.to_numpy(dtype=np.float64))

    def _new_rows(self, data: Any) -> Blocks:
        if data is None:
            return self._rows("predict")
        table = Table(data)
        codes = np.full(table.nrows, -1, dtype=np.intp)
        return replace(self._blocks, table=table, codes=codes, weights=None)

    def _rows(self, what: str) -> Blocks:
        if not self._has_rows:
            raise NotSupportedError(
                f"{what} needs the rows of the fit, which a loaded model does not hold: pass data=."
            )
        return self._blocks

    # ---- error rates

    def leave_one_out(self) -> pd.DataFrame:
        """Label and posteriors of each row of the fit under the rule fitted without it, priors held.

        Returns
        -------
        DataFrame
            Column `label`, then a column for each class, on the index of the fit's table. Rows the fit
            did not use are missing; so are rows without which the rule does not exist.
        """
        index = self._rows("leave_one_out()").table.index
        scores = self._left_out_scores()
        frame = pd.DataFrame(posteriors(scores), index=index, columns=self.classes, copy=False)
        frame.insert(0, "label", self._labelled(best_class(scores), index), allow_duplicates=True)
        return frame.rename_axis(columns=None)

    def _left_out_scores(self) -> Floats:
        if self._left_out is None:
            scores, undefined = self._leave_one_out_scores()
            for row in undefined:
                scores[row] = self._scores_without(row)
            none = [row for row in undefined if np.isnan(scores[row]).all()]
            if len(none):
                first = self._blocks.table.index[none[0]]
                warn(
                    f"{len(none)} rows have no leave-one-out rule (the first is row {first!r}): without them "
                    "a covariance is singular. Their labels are missing.",
                    DiscrimWarning,
                    stacklevel=3,
                )
            self._left_out = scores
        return self._left_out

    def _scores_without(self, row: int) -> Floats:
        """Scores (K,) of a row under a refit without it; missing where there is no such fit."""
        blocks = self._blocks
        weights = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights.copy()
        weights[row] -= min(1.0, weights[row])
        rule = self._refitted_rule(replace(blocks, weights=weights))
        return np.full(len(self.classes), np.nan) if rule is None else rule.scores(blocks.row(row))[0]

    def _refitted_rule(self, blocks: Blocks) -> Rule | None:
        """The rule of a fit to other weights, the prior held; None where a covariance is singular."""
        raise NotSupportedError(f"{self.title} has no closed-form leave-one-out; refit on parts of the rows.")

    def _left_out_by_block(
        self, scores: Callable[[Floats, Codes, Floats | None], Floats]
    ) -> tuple[Floats, list[int]]:
        """Leave-one-out scores (n, K) of the table, and the used rows that have none; unused are missing."""
        blocks = self._rows("leave_one_out()")
        out = np.full((len(self.classes), blocks.table.nrows), np.nan)
        undefined: list[int] = []
        for place, x, missing in blocks.every_row():
            codes = blocks.codes[place]
            weights = None if blocks.weights is None else blocks.weights[place]
            used = codes >= 0
            if weights is not None:
                used = used & (weights > 0)
            if missing is not None:
                used &= ~missing
            if used.all():
                out[:, place] = scores(x, codes, weights).T
            elif used.any():
                rows = place.start + np.flatnonzero(used)
                out[:, rows] = scores(x[used], codes[used], None if weights is None else weights[used]).T
            undefined += (place.start + np.flatnonzero(used & np.isnan(out[0, place]))).tolist()
        return out.T, undefined

    def _plot_regions(self, ax: Axes | None) -> Axes:
        from discrim.report import plots

        if len(self.terms) != 2 or not self._blocks.design.plain:
            raise NotSupportedError(
                f"kind='regions' draws the plane of two numeric columns; this fit has {len(self.terms)}."
            )
        blocks = self._rows("plot()")
        labels = self._labelled(blocks.codes, blocks.table.index)
        return plots.regions(self.predict, blocks.table.frame(list(self.terms)), labels, ax=ax)

    def _leave_one_out_scores(self) -> tuple[Floats, list[int]]:
        raise NotSupportedError(f"{self.title} has no closed-form leave-one-out; refit on parts of the rows.")

    def confusion(self, data: Any = None, method: ErrorMethod = "apparent") -> pd.DataFrame:
        """Actual classes (rows) by predicted classes (columns).

        Parameters
        ----------
        data : table, optional
            New rows with their response. Without it, the rows of the fit.
        method : {"apparent", "loo"}
            For the rows of the fit: by the rule itself, or leaving each row out.

        Returns
        -------
        DataFrame
            Counts, or sums of weights. Rows without a class or a prediction are left out.
        """
        choice("method", method, ("apparent", "loo"))
        if data is not None:
            if method == "loo":
                raise NotSupportedError("method='loo' leaves out rows of the fit: it does not go with data=.")
            blocks = self._new_rows(data)
            actual = response_codes(blocks.design, blocks.table, blocks.functions)
            return confusion_table(actual, self._predicted_codes(blocks), self.classes)
        blocks = self._rows("confusion()")
        if method == "loo":
            return confusion_table(
                blocks.codes, best_class(self._left_out_scores()), self.classes, self._row_weights()
            )
        if self._apparent is None:
            predicted = self._predicted_codes(blocks)
            self._apparent = confusion_table(blocks.codes, predicted, self.classes, self._row_weights())
        return self._apparent.copy()

    def _row_weights(self) -> Floats | None:
        weights = self._blocks.weights
        return None if weights is None else np.nan_to_num(weights)

    def error_rates(
        self, methods: Sequence[ErrorMethod] = ("apparent", "loo"), *, level: float = 0.95
    ) -> pd.DataFrame:
        """Share of rows of the fit that the rule gets wrong.

        Returns
        -------
        DataFrame
            method -> estimate, std_err, low, high (exact binomial interval), wrong, total.
        """
        return error_table({method: self.confusion(method=method) for method in methods}, level)

    # ---- tables

    def _sections(self) -> dict[str, Callable[[], Section | Pairs]]:
        raise NotSupportedError(f"{self.title} has no summary.")

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The summary, a table for each section; prints, and renders in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in the order wanted; all of them by default. Only what is asked
            for is computed.

        Returns
        -------
        Summary
            `.as_text()`, `.as_html()`, `.as_latex()`, `.as_markdown()`; `.tables` has the numbers unrounded.
        """
        from discrim.report.tables import summarize

        return summarize(self.title, self._sections(), pick=sections)

    def _brief(self) -> Summary:
        raise NotSupportedError(f"{self.title} has no short form.")

    def __repr__(self) -> str:
        return self._brief().as_text()

    def _repr_html_(self) -> str:
        return self._brief().as_html()

    def augment(self, data: Any = None) -> pd.DataFrame:
        """The table with each row's predicted label (`.fitted`) and posteriors (`.posterior.<class>`)."""
        blocks = self._new_rows(data)
        table = blocks.table
        frame = table.frame(table.names)
        frame[".fitted"] = self._labelled(self._predicted_codes(blocks), table.index)
        proba = self.predict_proba(data)
        proba.columns = pd.Index([f".posterior.{label}" for label in self.classes])
        return pd.concat([frame, proba], axis=1)

    # ---- keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file that `discrim.load` reads; the rows of the table are not part of it."""
        from discrim.models.store import save

        save(self, path)

    def plot(self, kind: str | None = None, ax: Axes | None = None) -> Axes:
        """A picture of the fit; see the model for its kinds."""
        raise NotSupportedError(f"{self.title} has no plot.")

    def _class_code(self, label: Any) -> int:
        if label not in self.classes:
            raise DataError(f"{label!r} is no class of this fit: {', '.join(map(repr, self.classes[:8]))}.")
        return int(self.classes.get_indexer(pd.Index([label]))[0])
