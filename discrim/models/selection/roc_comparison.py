"""Scores of several fits for the same observations, and tests of the areas under their ROC curves.

`discrim.compare(...)` has the tests as `roc_test`; the plots of a comparison use the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.inference.calibration import log_odds_against_rest
from discrim.inference.resampling import seed_or_random
from discrim.inference.roc_tests import bootstrap_area_test, delong_test
from discrim.models.base.reading import check_integer, check_word
from discrim.models.evaluation.labelled_scores import (
    EvaluationDescription,
    LabelledScores,
    labelled_scores,
)
from discrim.models.selection.cross_validation import CrossValidation

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

AreaTest = Literal["delong", "bootstrap"]


class ComparedFits(NamedTuple):
    """The fits of a comparison.

    Attributes
    ----------
    fits : sequence of ClassifierResults
    names : list of str
        Label of each fit.
    validations : list of CrossValidation or None
        Cross-validation of each fit on the same folds; None without folds.
    """

    fits: Sequence[ClassifierResults]
    names: list[str]
    validations: list[CrossValidation] | None

    def shared_scores(
        self, data: Any = None, method: str | None = None, level: float = 0.95
    ) -> list[LabelledScores]:
        """Return the scores by each fit of the rows that all fits predict.

        Parameters
        ----------
        data : table or None
            New rows; None for the rows of the fits.
        method : {"apparent", "loo", "cv"} or None
            How the rows of the fits are predicted. None for the first repeat of the cross-validation, if
            there is one, and otherwise for the first method that a fit supports.
        level : float
            Level of intervals.

        Returns
        -------
        list of LabelledScores
            Scores of the same m rows, in the same order. Class codes and columns follow the classes of the
            first fit.

        Raises
        ------
        DataError
            The fits use different tables, or no row is predicted by all.
        NotSupportedError
            A fit does not have its rows, and `data` is None; or it does not support the method.
        """
        if data is None:
            for fit in self.fits:
                fit._fit.require_rows("A comparison of ROC curves without data=", "pass new rows as data=")
        if data is None and any(
            not fit._fit.design_rows.table.index.equals(self.fits[0]._fit.design_rows.table.index)
            for fit in self.fits[1:]
        ):
            raise DataError(
                "The fits use different tables, whose rows cannot be matched.",
                hint="Fit all to one table, or pass new rows as data=.",
            )
        if data is None and method is None and self.validations is not None:
            scores = [_cross_validated_scores(validation, level) for validation in self.validations]
        else:
            scores = [labelled_scores(fit._fit, data, method, level) for fit in self.fits]
        positions = reduce(np.intersect1d, [rows.positions for rows in scores])
        if not len(positions):
            raise DataError(
                "No row is predicted by all fits.", hint="Fit all to the rows without missing values."
            )
        classes = self.fits[0].classes
        shared = []
        for fit, rows in zip(self.fits, scores, strict=True):
            row_index = np.searchsorted(rows.positions, positions)
            codes = classes.get_indexer(fit.classes)[rows.codes[row_index]]
            columns = fit.classes.get_indexer(classes)
            shared.append(
                rows._replace(
                    codes=codes,
                    scores=rows.scores[np.ix_(row_index, columns)],
                    weights=rows.weights[row_index],
                    positions=positions,
                )
            )
        return shared


def compare_areas(
    names: Sequence[str],
    scores: Sequence[LabelledScores],
    codes_by_class: dict[Any, int],
    test: AreaTest = "delong",
    replicates: int = 2000,
    seed: int | None = None,
) -> pd.DataFrame:
    """Test the differences of the areas under the ROC curves of each pair of fits.

    Parameters
    ----------
    names : sequence of str
        Labels of the fits.
    scores : sequence of LabelledScores
        Scores of the same rows by each fit, from `ComparedFits.shared_scores`.
    codes_by_class : dict of label to int
        Codes of the classes to compare with the rest.
    test : {"delong", "bootstrap"}
    replicates, seed
        Number and seed of the bootstrap samples; all pairs use the same samples.

    Returns
    -------
    DataFrame by (a, b), or by (a, b, class) for several classes
        The columns of `Comparison.roc_test`. `attrs["note"]` states how the rows were predicted, if that
        differs between fits.
    """
    check_word("test", test, AreaTest)
    check_integer("replicates", replicates, 2)
    seed = seed_or_random(seed) if test == "bootstrap" else seed
    rows = {}
    for (a, a_scores), (b, b_scores) in combinations(zip(names, scores, strict=True), 2):
        for label, code in codes_by_class.items():
            columns = a_scores.scores[:, code], b_scores.scores[:, code]
            arguments = columns, a_scores.codes == code, a_scores.weights, a_scores.level
            difference = (
                delong_test(*arguments)
                if test == "delong"
                else bootstrap_area_test(*arguments, replicates=replicates, seed=seed)
            )
            rows[a, b, label] = {
                "rows": float(a_scores.weights.sum()),
                "area_a": difference.area_a,
                "area_b": difference.area_b,
                "difference": difference.difference,
                "se": difference.se,
                "low": difference.low,
                "high": difference.high,
                "z": difference.statistic,
                "p": difference.pvalue,
            }
    index = pd.MultiIndex.from_tuples(list(rows), names=["a", "b", "class"])
    table = pd.DataFrame(list(rows.values()), index=index)
    if len(codes_by_class) == 1:
        table = table.droplevel("class")
    methods = [fit_scores.evaluation.method for fit_scores in scores]
    if len(set(methods)) > 1:
        by_fit = "; ".join(f"{name} by {method}" for name, method in zip(names, methods, strict=True))
        table.attrs["note"] = f"Rows were predicted in different ways: {by_fit}."
    return table


def _cross_validated_scores(validation: CrossValidation, level: float) -> LabelledScores:
    """Return the scores of the first repeat of a cross-validation; `level` is the level of intervals."""
    positions = np.flatnonzero(validation._is_evaluated & (validation._weights > 0))
    scores = validation._scores[0].value()[positions]
    if validation._fit.has_posteriors or scores.shape[1] == 2:
        scores = log_odds_against_rest(scores)
    evaluation = EvaluationDescription(f"{len(validation._fold_labels)}-fold cross-validation")
    codes = validation._actual[positions]
    return LabelledScores(codes, scores, validation._weights[positions], evaluation, level, positions)
