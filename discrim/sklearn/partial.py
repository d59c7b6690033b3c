"""Estimators that learn from one batch of rows after another, as moments of them add up."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from discrim.core.moments.row_sums import Spread
from discrim.errors import CollinearError, DataError, DiscrimError, DiscrimWarning, NotSupportedError
from discrim.frame.arrays import with_column
from discrim.frame.scan import quote
from discrim.models.fits.arguments import listed, prior_of_some
from discrim.models.moments.moments import Moments, of_fit
from discrim.models.moments.verb import moments
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import WeightedClassifier, only_if, response_name

__all__ = ["PartialClassifier"]

Array = NDArray[Any]


class PartialClassifier(WeightedClassifier):
    """An estimator over a verb that takes moments in place of a table.

    Attributes
    ----------
    moments_ : Moments
        The moments of all batches that `partial_fit` was given.
    """

    moments_: Moments
    _moments_of_fit: Moments | None
    _response: str

    @abstractmethod
    def _spread(self) -> Spread | None:
        """What of the moments the model takes; None where it takes the rows."""

    def _adds_up(self) -> bool:
        try:
            return self._spread() is not None
        except DiscrimError:
            # What is wrong with the options is for the fit to say.
            return True

    @only_if(lambda self: self._adds_up())
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; the fit is then the same as that of `fit` to all rows so far at once.

        After `fit` it goes on from the rows of that fit, while `fit` begins anew. A batch that is refused
        adds nothing.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows of the batch. Categories, and whatever else a verb learns from a table, are those of the
            first batch: declare their levels by a categorical dtype.
        y : (n,) array of class labels
            Classes of the rows; a batch may have rows of some classes, or of one.
        classes : (K,) array, optional
            All classes that will come. The first call needs them, and later ones may leave them out.
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three equal rows.

        Returns
        -------
        self
            Classes without rows have no posterior. As long as fewer than two classes have rows, or a
            covariance is singular, there is no fit, and `predict` and other methods say so.

        Raises
        ------
        DataError
            The first call has no classes, a later one has others, a label is not among them, or a value is
            missing.
        """
        begins = not (hasattr(self, "moments_") or hasattr(self, "results_"))
        known = self._known_classes(classes, begins)
        data = self._validated(X, reset=begins)
        codes = _codes(y, data, known)
        response = response_name(y, self._names()) if begins else self._response
        table = with_column(data, self._names(), response, codes, known.tolist())
        weights = None if sample_weight is None else np.asarray(sample_weight)
        before = None if begins else self._moments_so_far()
        try:
            whole = self._added(before, table, response, weights, known)
        except DiscrimError:
            self._refuse_missing(table)
            raise
        # Of what cannot be fitted yet the moments are held all the same.
        results, self._why_no_fit = self._fitted_to(whole, known)
        self.moments_, self._response = whole, response
        self._moments_of_fit = None
        if results is None:
            self.classes_ = known
            self.__dict__.pop("results_", None)
        else:
            self._keep(results, known, every=True)
        return self

    def _known_classes(self, classes: Any, begins: bool) -> Array:
        """All classes, sorted."""
        if classes is None:
            if begins:
                raise DataError(
                    "classes must be passed on the first call to partial_fit: name all that will come."
                )
            return self.classes_
        given = np.unique(column_or_1d(classes))
        if len(given) < 2:
            raise DataError(f"classes={given.tolist()!r}: a classifier needs two: name all that will come.")
        if not begins and given.tolist() != self.classes_.tolist():
            raise DataError(
                f"classes={given.tolist()!r} is not the same as on the last call, "
                f"{self.classes_.tolist()!r}: leave it out, or clone the estimator to begin anew."
            )
        return given if begins else self.classes_

    def _moments_so_far(self) -> Moments:
        if hasattr(self, "moments_"):
            return self.moments_
        if self._moments_of_fit is None or self._moments_of_fit._scatters != self._scatters():
            raise NotSupportedError(
                "partial_fit goes on from the moments of fit(), which made none with the options that it "
                "had: begin anew with a clone of the estimator."
            )
        return self._moments_of_fit

    def _added(
        self, before: Moments | None, table: Any, response: str, weights: Any, classes: Array
    ) -> Moments:
        action = self._na_action()
        if before is None:
            return moments(
                f"{quote(response)} ~ .", table, weights=weights, scatters=self._scatters(),
                levels=classes.tolist(), na_action=action,
            )  # fmt: skip
        if weights is None and before._weighted:
            weights = np.ones(len(table))
        return before + before.of(table, weights=weights, na_action=action)

    def _scatters(self) -> Any:
        spread = self._spread()
        if spread is None:
            raise NotSupportedError(f"{type(self).__name__} takes the rows with these options: use fit().")
        return spread

    def _na_action(self) -> Any:
        return "raise"

    def _fitted_to(self, whole: Moments, classes: Array) -> tuple[Any, str]:
        """What the verb gives of moments, or None and why."""
        present = (whole.counts > 0).to_numpy()
        if present.sum() < 2:
            only = f"only {classes[present].tolist()[0]!r} has rows" if present.any() else "no class has rows"
            return None, f"{only} so far: give a batch with rows of another class."
        options = {**self.get_params(deep=False), "moments": whole}
        if "prior" in options:
            options["prior"] = prior_of_some(options["prior"], classes.tolist(), present)
        with warnings.catch_warnings():
            # That a class has no rows yet is nothing to be warned of.
            warnings.filterwarnings("ignore", "No row is left in class", DiscrimWarning)
            try:
                return self._results(None, None, options), ""
            except CollinearError as error:
                return None, str(error)

    def _asked(self, X: Any) -> tuple[Any, Any]:
        why = getattr(self, "_why_no_fit", "")
        if why:
            raise DataError(f"There is no fit to the rows of partial_fit yet: {why}")
        return super()._asked(X)

    def _learn(self, results: ClassifierResults) -> None:
        fit, self._moments_of_fit = results._fit, None
        if not self._adds_up():
            return
        held = of_fit(fit, self._scatters())
        if held is None:
            blocks = fit.rows("partial_fit")
            with warnings.catch_warnings(), suppress(DiscrimError):
                # The fit has said what there is to say of these rows.
                warnings.simplefilter("ignore", DiscrimWarning)
                held = moments(
                    f"{quote(blocks.design.response)} ~ .", blocks.table.data, weights=blocks.weights,
                    scatters=self._scatters(), levels=list(blocks.design.levels), na_action=self._na_action(),
                )  # fmt: skip
        self._moments_of_fit = held

    def _fitted(self, X: Any, y: Any, more: Mapping[str, Any]) -> Self:
        fitted = super()._fitted(X, y, more)
        self.__dict__.pop("moments_", None)
        self._why_no_fit = ""
        self._response = self.results_._fit.blocks.design.response
        return fitted


def _codes(y: Any, rows: Any, classes: Array) -> NDArray[np.intp]:
    """Position of each label (n,) among the classes."""
    if y is None:
        raise DataError("The estimator requires y to be passed, but the target y is None: pass the classes.")
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_consistent_length(rows, labels)
    position = {label: k for k, label in enumerate(classes.tolist())}
    codes = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise DataError(
            f"y has {labels.tolist()[row]!r} at row {row}, which is not among the classes "
            f"{listed(classes.tolist())}: name all that will come as classes= of the first call."
        )
    return codes
