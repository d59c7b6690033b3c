"""Estimator that selects a model by cross-validation."""

from __future__ import annotations

from typing import Any

import discrim
from discrim.core.rules.rules import Rule
from discrim.design.design_rows import DesignRows
from discrim.models.evaluation.calibrated import posterior_rule
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import PosteriorMethods, VerbClassifier
from discrim.sklearn.signatures import estimator


@estimator
class ChooseClassifier(PosteriorMethods, VerbClassifier):
    """A model of the family, chosen by its loss on rows left out; see `discrim.choose`.

    Labels have the largest posteriors, which are calibrated if the choice was for calibrated ones.
    `decision_function` is not defined, because scores of different models are on different scales.

    Parameters
    ----------
    by : {"log_loss", "error", "brier"}
        The loss of a row: minus the logarithm of the posterior of its class; whether its label is wrong; or
        the squared distance of the posteriors from the class.

    Attributes
    ----------
    chosen_ : str
        Name of the chosen candidate.
    table_, refused_ : DataFrame by candidate
        The losses of the candidates, and the reasons why others were refused.

    Notes
    -----
    The candidates, their order of simplicity and the loss of a choice on new rows are described in
    `discrim.choose`.
    """

    verb = staticmethod(discrim.choose)
    not_supported = ("groups", "costs")

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb, store the table of candidates, and return the fit of the chosen one."""
        choice = discrim.choose(formula, data, **options)
        self.chosen_ = choice.chosen
        self.table_ = choice.table
        self.refused_ = choice.refused
        self._method = choice.method
        # The calibration is computed now, because the estimator does not keep the rows.
        self._rule_of(choice.fit, choice.fit._fit.design_rows)
        return choice.fit

    def _rule_of(self, results: ClassifierResults, design_rows: DesignRows) -> Rule:
        """Return the rule of the chosen fit, with calibrated posteriors if the choice was for these."""
        if self._method == "plugin":
            return super()._rule_of(results, design_rows)
        return posterior_rule(results._fit, "predict_proba()", None, self._method, None)

    def _has_scores(self) -> bool:
        return False
