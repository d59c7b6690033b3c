"""The estimator that chooses a model."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import discrim
from discrim.core.rules.rules import Rule
from discrim.frame.blocks import Blocks
from discrim.models.judging.calibrated import posterior_rule
from discrim.models.results.results import ClassifierResults
from discrim.sklearn import base
from discrim.sklearn.base import PosteriorMethods, VerbClassifier


@base.estimator
class ChooseClassifier(PosteriorMethods, VerbClassifier):
    """A model of the family, chosen by its loss on rows left out; see `discrim.choose`.

    Labels are those of the largest posteriors, which are calibrated if the choice was for calibrated ones.
    There is no `decision_function`, because scores of different models are on different scales.

    Parameters
    ----------
    by : {"log_loss", "error", "brier"}
        The loss of a row: minus the logarithm of the posterior of its class; whether its label is wrong; or
        the squared distance of the posteriors from the class.
    candidates : sequence or dict, optional
        The models to try, the simplest first: names of verbs or verbs, or a dict of names, each with a verb
        or with a pair of a verb and a dict of its options. By default the verbs of the package that go with
        the table, each with the choice of its own options by which it is known (see Notes).
    select : {"1se", "min"}
        "1se" takes the simplest candidate whose loss is within one standard error of the smallest, "min" the
        one of smallest loss.
    cv : int
        Number of folds. All candidates are judged on the same folds, and make their own choices again without
        each fold.
    seconds : float, optional
        Time after which no further candidate is begun; the first that can be tried always is. The choice then
        depends on the machine.
    calibrate : bool
        Whether each candidate is tried with calibrated posteriors too, as "lda, calibrated", right after it.
        Those of `kernel_lda` are calibrated in any case.
    seed : int, optional
        Seed by which the rows are dealt to folds, and of verbs that take one. Where it is not given, one is
        drawn and kept.
    prior : optional
        Prior of every candidate. None, or "proportional", stands for the class proportions, "equal" for
        equal ones; else a number for each class, by name (dict, Series) or in the order of the levels.

    Attributes
    ----------
    chosen_ : str
        Name of the chosen candidate.
    table_, refused_ : DataFrame by candidate
        The losses of the candidates, and why others have none.

    Notes
    -----
    The candidates, their order of simplicity and the loss of a choice on new rows are described in
    `discrim.choose`.
    """

    verb = staticmethod(discrim.choose)

    _: KW_ONLY
    by: str = "log_loss"
    candidates: Any = None
    select: str = "1se"
    cv: int = 10
    seconds: float | None = None
    calibrate: bool = True
    seed: int | None = None
    prior: Any = None

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        found = discrim.choose(formula, data, **options)
        self.chosen_, self.table_, self.refused_ = found.chosen, found.table, found.refused
        self._method = found.method
        # What calibrates its posteriors is made of the rows, which an estimator does not keep.
        self._rule_of(found.fit, found.fit._fit.blocks)
        return found.fit

    def _rule_of(self, results: ClassifierResults, blocks: Blocks) -> Rule:
        if self._method == "plugin":
            return super()._rule_of(results, blocks)
        return posterior_rule(results._fit, "predict_proba()", None, self._method, None)

    def _has_scores(self) -> bool:
        return False
