"""What `cross_validate` gives: labels, losses and errors of rows under rules that did not see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.rules.rules import best_class, log_posteriors, posteriors
from discrim.errors import DataError, NotSupportedError
from discrim.frame.used_rows import used_codes
from discrim.inference.error_rates import check_level, confusion_table, counts_of
from discrim.inference.losses import Judged, fold_means, loss_rate
from discrim.inference.paired_tests import fold_errors
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.labels import labelled
from discrim.models.fits.shown import Shown
from discrim.models.judging.assessment import row_weights
from discrim.models.judging.refitted_prior import prior_of_rest, uneven
from discrim.models.judging.validation import counts_without
from discrim.models.kinds import FOLDS
from discrim.models.pictures.pictured import drawn
from discrim.models.registry import summary_of

if TYPE_CHECKING:
    from discrim.models.comparing.permuted import Permutations
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary

__all__ = ["CrossValidation"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

COLUMNS = {"error": "error", "log loss": "log_loss", "Brier": "brier"}
"""Columns of the measures in the table by fold."""


class CrossValidation(Shown):
    """Labels, posteriors and errors of a fit by cross-validation.

    Attributes
    ----------
    folds : DataFrame, rows by repeats
        Label of the fold of each row, counted from 1 unless the folds were given; missing where the fit does
        not use the row.
    labels : DataFrame, rows by repeats
        Class that the rule fitted without the row's fold predicts for the row.
    by_fold : DataFrame by (repeat, fold)
        rows, wrong, error; for models with posteriors also log_loss and brier.
    by_class : DataFrame by class
        rows, wrong (the mean over repeats), error; and se, low, high as in `table`, at 95 percent.
    confusion : DataFrame, actual by predicted
        Counts or sums of weights, as the mean over repeats.
    unlabelled : int
        Number of rows that the fit uses and that have no label in some repeat; they count in no figure.
    seed : int or None
        The seed that deals the same folds again; None where the folds were given.
    nested : bool
        Whether choices were made anew without each fold.
    prior : str
        Which prior the rules without a fold have: "given", class proportions that are "held" or "refitted",
        or nothing where the model has no prior.
    permutations : Permutations or None
        The permutation test of the hit rate where it was asked for: `rates`, `pvalue`, `table`.
    """

    def __init__(
        self,
        fit: Fit[Any],
        scores: Floats,
        dealt: Codes,
        fold_labels: list[Any],
        clusters: Codes | None,
        *,
        seed: int | None,
        nested: bool,
        refit_prior: bool | None = None,
    ) -> None:
        blocks = fit.rows("cross_validate()")
        self.seed, self.nested = seed, nested
        self.permutations: Permutations | None = None
        self.prior = prior_of_rest(fit, refit_prior)
        self._fit, self._scores, self._dealt, self._clusters = fit, scores, dealt, clusters
        self._fold_labels = fold_labels
        self._index = blocks.table.index
        self._actual = used_codes(blocks)
        self._predicted = np.stack([best_class(own) for own in scores])
        judged = np.asarray((self._predicted >= 0).all(axis=0))
        self.unlabelled = int(((self._actual >= 0) & ~judged).sum())
        self._judged = judged & (self._actual >= 0)
        weights = row_weights(blocks)
        self._weights = np.ones(len(judged)) if weights is None else weights
        self._weighted = weights is not None

    # ---- rows

    def _repeats(self) -> pd.RangeIndex:
        return pd.RangeIndex(1, len(self._dealt) + 1, name="repeat")

    @property
    @displayed()
    def folds(self) -> pd.DataFrame:
        """Fold of each row, by repeat."""
        names = pd.Index(self._fold_labels)
        columns = [labelled(own, names, self._index) for own in self._dealt]
        return pd.concat(columns, axis=1).set_axis(self._repeats(), axis=1)

    @property
    def labels(self) -> pd.DataFrame:
        """Predicted class of each row, by repeat."""
        columns = [self._fit.labelled(own, self._index) for own in self._predicted]
        return pd.concat(columns, axis=1).set_axis(self._repeats(), axis=1)

    def posteriors(self, repeat: int = 1) -> pd.DataFrame:
        """Posteriors of the rows in a repeat, rows by classes.

        Parameters
        ----------
        repeat : int
            Which of the repeats, counted from 1.

        Raises
        ------
        DataError
            There is no such repeat.
        NotSupportedError
            The model has no posteriors.
        """
        if repeat not in self._repeats():
            raise DataError(f"repeat={repeat!r}: give a number from 1 to {len(self._dealt)}.")
        self._fit.need_posteriors("posteriors()")
        proba = posteriors(self._scores[repeat - 1])
        return pd.DataFrame(proba, index=self._index, columns=self._fit.classes)

    @property
    def _has_posteriors(self) -> bool:
        try:
            self._fit.need_posteriors("a log loss")
        except NotSupportedError:
            return False
        return True

    def _losses(self) -> dict[str, Floats]:
        """By measure, what each of the m rows that are judged loses, (R, m)."""
        at, actual = self._judged, self._actual[self._judged]
        found = {"error": (self._predicted[:, at] != actual).astype(np.float64)}
        if not self._has_posteriors:
            return found
        unit, rows = np.eye(len(self._fit.classes))[actual], np.arange(len(actual))
        scores = [own[at] for own in self._scores]
        found["log loss"] = np.stack([-log_posteriors(own)[rows, actual] for own in scores])
        found["Brier"] = np.stack([((posteriors(own) - unit) ** 2).sum(axis=1) for own in scores])
        return found

    @displayed(every="share")
    def class_shares(self) -> pd.DataFrame:
        """Share of each class among the rows outside each fold, by (repeat, fold).

        These shares are the prior where it is estimated again.
        """
        rest = np.concatenate(self._rest())
        labels: list[Any] = [self._repeats(), self._fold_labels]
        index = pd.MultiIndex.from_product(labels, names=["repeat", "fold"])
        return pd.DataFrame(rest / rest.sum(axis=1, keepdims=True), index=index, columns=self._fit.classes)

    def _rest(self) -> list[Floats]:
        """Rows, or sums of weights, (F, K) of each class outside each fold, by repeat."""
        blocks = self._fit.rows("class_shares()")
        return [counts_without(blocks, own, len(self._fold_labels)) for own in self._dealt]

    def _uneven(self) -> tuple[Any, int] | None:
        """Label of the fold, and class, that show most how uneven folds are; None where they are not."""
        counts = np.asarray(self._fit.counts, dtype=np.float64)
        found = uneven(np.concatenate(self._rest()), counts)
        return None if found is None else (self.class_shares().index[found[0]], found[1])

    # ---- figures

    def _rows(self) -> Judged:
        """The rows that are judged, with their weights."""
        at, fit = self._judged, self._fit
        prior = None if fit.numbers.estimated_prior else fit.prior_values()
        clusters = None if self._clusters is None else self._clusters[at]
        return Judged(self._actual[at], self._weights[at], len(fit.classes), prior, clusters)

    @property
    @displayed(every="share")
    def by_fold(self) -> pd.DataFrame:
        """Rows, wrong rows and mean losses of each fold of each repeat."""
        n_folds, at, parts = len(self._fold_labels), self._judged, []
        rows, losses = self._rows(), self._losses()
        for r, dealt in enumerate(self._dealt):
            own, wrong = dealt[at], losses["error"][r]
            part = pd.DataFrame({"rows": np.bincount(own, rows.weights, n_folds)})
            part["wrong"] = np.bincount(own, rows.weights * wrong, n_folds)
            for name, loss in losses.items():
                part[COLUMNS[name]] = fold_means(loss[r], rows.shares(), own, n_folds)
            parts.append(part)
        table = pd.concat(parts)
        if not self._weighted:
            table = table.astype({"rows": np.int64, "wrong": np.int64})
        labels: list[Any] = [self._repeats(), self._fold_labels]
        return table.set_axis(pd.MultiIndex.from_product(labels, names=["repeat", "fold"]), axis=0)

    def _counts(self) -> Floats:
        """Actual by predicted (K, K), the mean over repeats."""
        actual = np.where(self._judged, self._actual, -1)
        k = len(self._fit.classes)
        tables = [counts_of(actual, own, k, self._weights) for own in self._predicted]
        return np.asarray(np.stack(tables).astype(np.float64).mean(axis=0))

    @property
    @displayed(every="count")
    def confusion(self) -> pd.DataFrame:
        """Actual by predicted classes, the mean over repeats."""
        if len(self._dealt) == 1:
            weights = self._weights if self._weighted else None
            actual = np.where(self._judged, self._actual, -1)
            return confusion_table(actual, self._predicted[0], self._fit.classes, weights)
        classes = self._fit.classes
        return pd.DataFrame(
            self._counts(), index=classes.rename("actual"), columns=classes.rename("predicted")
        )

    @property
    @displayed(every="share")
    def by_class(self) -> pd.DataFrame:
        """Errors within the classes."""
        judged, wrong = self._rows(), self._losses()["error"].mean(axis=0)
        found = []
        for k in range(len(self._fit.classes)):
            at = judged.codes == k
            clusters = None if judged.clusters is None else judged.clusters[at]
            own = Judged(judged.codes[at], judged.weights[at], len(self._fit.classes), None, clusters)
            lost = float(own.weights @ wrong[at])
            found.append((own.weights.sum(), lost, *loss_rate(wrong[at], own, 0.95, counts=True)))
        columns = ["rows", "wrong", "error", "se", "low", "high"]
        return pd.DataFrame(found, index=self._fit.classes, columns=columns)

    @displayed(every="share")
    def table(self, level: float = 0.95) -> pd.DataFrame:
        """Error, log loss and Brier score, with standard errors.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by measure
            estimate: the log loss is the mean of -ln posterior, and Brier's score the mean of the sum of
            squares over classes. se, low, high: of the rows, as if one rule had judged independent rows (an
            exact interval for the error, log-normal ones for the others; the rows of a group are taken
            together). se_folds: s/sqrt(J) for the J = repeats x folds folds, which is too small because they
            share rows. se_corrected: sqrt(1/J + n2/n1) s, see `discrim.inference.paired_tests`. Rates are
            weighted by a prior that was given.
        """
        check_level(level)
        by_fold, found = self.by_fold, {}
        judged, n_folds = self._rows(), len(self._fold_labels)
        for name, losses in self._losses().items():
            folds = by_fold[COLUMNS[name]].dropna().to_numpy()
            rate = loss_rate(losses.mean(axis=0), judged, level, counts=name == "error")
            found[name] = (*rate, *fold_errors(folds, n_folds))
        names = ["estimate", "se", "low", "high", "se_folds", "se_corrected"]
        table = pd.DataFrame.from_dict(found, orient="index", columns=names)
        return table.rename_axis("measure")

    def plot(
        self,
        kind: str | None = None,
        ax: Axes | None = None,
        *,
        other: Any = None,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Draw a picture.

        Parameters
        ----------
        kind : {"folds", "differences", "confusion", "permutations"}, optional
            "folds", the default, draws the error of each fold with the mean. "differences" draws this error
            less that of another model, fold by fold, with the interval of the corrected t test. "confusion"
            draws actual by predicted classes, and "permutations" the hit rates of shuffled labels beside that
            of the true labels.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default those of a new figure.
        other : fit or CrossValidation, optional
            The other model of "differences". A fit is cross-validated on the same folds.
        colors : mapping, sequence or str, optional
            Colours by class, in the order of the classes, or the name of a colormap of matplotlib.
        title : str, optional
            Title in place of the picture's own; "" for none.

        Returns
        -------
        Axes

        Raises
        ------
        DataError
            The kind is not known; or the other model is missing, or has other rows or folds.

        Examples
        --------
        >>> from discrim import cross_validate, lda, qda
        >>> from discrim.datasets import load_iris
        >>> found = cross_validate(lda("species ~ .", load_iris()), seed=1)
        >>> found.plot("differences", other=qda("species ~ .", load_iris())).get_xlabel()
        'Error of lda less that of qda'
        """
        from discrim.models.pictures.asked import Asked

        asked = Asked(ax, colors=colors, title=title, other=other)
        return drawn(self, FOLDS, kind, asked)

    def summary(self) -> Summary:
        """The figures as a summary, which prints as text and is shown as a table in a notebook."""
        summary: Summary = summary_of(self)
        return summary
