"""`FittedModel`, which contains everything about a fit, and `ModelSpec`, the base class of all models.

Evaluation, plots, saving and summaries receive a `FittedModel` and do not depend on classes of results.
It contains the estimates, the rows, the names and the `ModelSpec`. Each model has one subclass of
`ModelSpec` in the module of its results, such as `LDASpec` in `discrim.models.discriminant.lda`, which
defines how the model is fitted, scored, refitted and saved. `Refits` is the base class of `ModelSpec` with
the methods that refit; a selection of columns replaces these methods and keeps the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import Dependency, constant_columns, dependencies
from discrim.core.errors import register_descriptions
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import rules
from discrim.core.rules.gaussian import MarginalRule
from discrim.core.rules.leave_one_out import LeaveOneOutScorer, refit_each_row
from discrim.core.rules.rules import CalibratedRule, ColumnSubsetRule, Rule
from discrim.data.column_range import ColumnRange
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import rows_of_new_data
from discrim.errors import (
    DataError,
    DiscrimError,
    NotSupportedError,
    sentence,
)
from discrim.models.base.core_errors import describe
from discrim.models.base.data_range import column_range
from discrim.models.base.labels import codes_to_labels, lower_first_letter, whole_counts
from discrim.models.base.reading import check_word, class_moments, prior_vector
from discrim.models.base.scores import Decision, predict_codes, score_frame
from discrim.models.base.stored import StoredEstimates, encode_estimates

register_descriptions(describe)


Missing = Literal["drop", "integrate"]
"""Whether new rows with a missing value get no prediction, or one from their other columns."""


@dataclass(frozen=True, slots=True)
class MissingPolicy:
    """Options for new rows with unseen levels or missing values; DataError if an option is not valid.

    Attributes
    ----------
    unseen : {"raise", "missing"} or None
        Whether a level that the fit has not seen is an error or a missing value; None for the fit's default.
    missing : {"drop", "integrate"} or None
        Whether the prediction of a row with a missing value is missing, or the missing columns are
        integrated out; None for the fit's default.
    """

    unseen: Unseen | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        check_word("unseen", self.unseen, Unseen, optional=True)
        check_word("missing", self.missing, Missing, optional=True)


AS_FITTED = MissingPolicy()
"""The defaults of the fit."""


class Estimates(Protocol):
    """Attributes that the estimates of every model have."""

    @property
    def moments(self) -> ClassMoments:
        """Moments of the training rows."""

    @property
    def prior(self) -> Floats:
        """Prior probabilities (K,)."""

    @property
    def estimated_prior(self) -> bool:
        """Whether the prior is the class proportions of the rows."""


EstimatesT_co = TypeVar("EstimatesT_co", bound=Estimates, covariant=True)
"""Estimates of a `FittedModel`, which only returns them."""

EstimatesT = TypeVar("EstimatesT", bound=Estimates)
"""Estimates of a `ModelSpec`, whose methods receive them."""

T = TypeVar("T")

CALIBRATOR_KEY = "calibrator"
"""Key of the `Calibrator`, which maps scores to posteriors, in the cache of a fit."""

CACHE_KEYS_WITHOUT_ROWS = ("penalty_path", "drop1", "separation", CALIBRATOR_KEY)
"""Keys of the cache that a fit without rows keeps, because their values contain no data of single rows."""

MAX_CACHED_RULE_SIZE = 2**20
"""Largest number of classes times columns for which a fit caches its rule, which is slow to create."""


SelectionTarget = Literal["columns", "model"]
"""Target of a `Selection`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Data-driven selection of the columns of a fit, or of its model.

    Attributes
    ----------
    target : {"columns", "model"}
        Whether the columns or the model were selected.
    description : str
        Method of the selection: "stepwise by wilks, of 40 terms" or "choose by log_loss, of 9 models".
    unselected_fit : FittedModel, optional
        The fit with the columns of all candidates, whose refits repeat the selection. None if the fit was
        loaded.
    is_quick : bool
        Whether ten repetitions take at most a second. The summary then shows the cross-validated error of the
        repeated selection.
    """

    target: SelectionTarget
    description: str
    unselected_fit: FittedModel[Any] | None = None
    is_quick: bool = False

    @property
    def choice_description(self) -> str:
        """Target and method, for messages: "the columns (stepwise by wilks, of 40 terms)"."""
        return f"the {self.target} ({self.description})"


PriorInRefits = Literal["fixed", "refitted", "none"]
"""Whether refits keep a prior of class proportions or estimate it again; "none" without a prior."""

FOLD_OPTIONS = ("folds", "grid", "seed")
"""Arguments of verbs that control the selection of tuning parameters by cross-validation."""


class Refits(Generic[EstimatesT]):
    """Methods that refit a model to other moments or rows, under the prior of the fit.

    The defaults are for a model whose estimates are a function of the moments of the rows. Every method has
    the fit as its first argument. A refit returns a `Rule`, which suffices to score rows.
    """

    refits_by_function: ClassVar[bool] = False
    """Whether a function of the user makes the refits and returns scores; see `scores_by_call`."""

    chooses_columns: ClassVar[bool] = False
    """Whether every refit repeats a selection of columns."""

    def required_moments(self, fit: FittedModel[EstimatesT]) -> ScatterType | None:
        """Return the type of the moments from which a refit is computed; None if it needs the rows.

        By default it is the type of the moments in the estimates of the fit.
        """
        return fit.estimates.moments.scatter_type

    def choice_description(self, fit: FittedModel[EstimatesT]) -> str:
        """Describe the tuning parameters that were selected from the data; otherwise "", as by default."""
        return ""

    def refit_to_moments(self, fit: FittedModel[EstimatesT], moments: ClassMoments) -> Rule | None:
        """Return the rule of a refit to moments.

        Parameters
        ----------
        fit : FittedModel
        moments : ClassMoments
            Moments of all columns of the fit. Columns that are constant or, if the fit drops them, collinear
            are left out.

        Returns
        -------
        Rule or None
            Rule under the prior of the fit, for rows with all columns of the fit. None if no column is left,
            or if the estimates cannot be computed, for example because a covariance is singular.
        """
        keep = self._usable_columns(fit, moments)
        if not len(keep):
            return None
        keeps_all = len(keep) == moments.n_columns
        estimates: Any = (fit if keeps_all else _fit_of_columns(fit, keep)).estimates
        refit: Any = estimates.refit(moments if keeps_all else moments.select_columns(keep))
        if refit is None:
            return None
        rule: Rule = refit.rule(fit.log_prior())
        return rule if keeps_all else ColumnSubsetRule(rule, keep)

    def refit_to_rows(self, fit: FittedModel[EstimatesT], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit to reweighted rows that also selects the tuning parameters again.

        None if the model cannot be fitted. This default calls `refit_with_fixed` and selects nothing: it is
        for models without tuning parameters.
        """
        return self.refit_with_fixed(fit, rows)

    def refit_with_fixed(self, fit: FittedModel[EstimatesT], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit to reweighted rows that keeps the tuning parameters of the fit.

        None if the model cannot be fitted. This default calls `refit_to_moments` with the moments of the
        complete rows.
        """
        return self.refit_to_moments(fit, class_moments(rows, fit.estimates.moments.scatter_type))

    def refit(self, fit: FittedModel[EstimatesT], rows: DesignRows, *, fixed: bool = False) -> Rule | None:
        """Return the rule of a refit to rows, without the columns that the verb would drop for these rows.

        It calls `refit_with_fixed` or `refit_to_rows` with the usable columns.

        Parameters
        ----------
        fit : FittedModel
        rows : DesignRows
            Rows of the fit with other weights, or rows of another design.
        fixed : bool
            Whether tuning parameters that were selected from the data are kept.

        Returns
        -------
        Rule or None
            Rule for rows with all columns of the fit. None if no row or no column can be used, or if the
            model cannot be fitted.
        """
        refit = self.refit_with_fixed if fixed else self.refit_to_rows
        # If values are missing, the model itself leaves out the columns that it cannot use.
        if self.required_moments(fit) is not None or rows.uses_incomplete_rows:
            return refit(fit, rows)
        moments = class_moments(rows, "pooled" if self.drops_columns(fit) else "diagonal")
        if not moments.total:
            return None
        keep = self._usable_columns(fit, moments)
        if len(keep) == moments.n_columns:
            return refit(fit, rows)
        if not len(keep):
            return None
        rule = refit(_fit_of_columns(fit, keep), rows.select_columns(keep.tolist()))
        return None if rule is None else ColumnSubsetRule(rule, keep)

    def leave_one_out(self, fit: FittedModel[EstimatesT]) -> LeaveOneOutScorer | Floats:
        """Return leave-one-out scores: each row is scored by the rule fitted without it.

        Returns
        -------
        LeaveOneOutScorer or (n, K) float
            A function of x (m, p), codes (m,) and weights (m,) or None that returns the scores (m, K) of rows
            of the fit, as by default; or the scores of all rows that the fit uses. A row of NaN requires a
            refit without this row.
        """
        estimates: Any = fit.estimates
        scorer: LeaveOneOutScorer = estimates.leave_one_out_scorer(fit.log_prior())
        return scorer

    def leave_one_out_of_rows(
        self, fit: FittedModel[EstimatesT], x: Floats, codes: Codes, positions: Codes
    ) -> Floats:
        """Return leave-one-out scores of some rows; required if the model `compares_rows`.

        Parameters
        ----------
        fit : FittedModel
        x : (n, p) float
            All rows that the fit uses.
        codes : (n,) int
            Their classes.
        positions : (m,) int
            Ascending positions of the rows to score.

        Returns
        -------
        (m, K) float
            A row of NaN requires a refit without this row.
        """
        raise NotImplementedError

    def fit_for_planes(self, fit: FittedModel[EstimatesT]) -> tuple[FittedModel[EstimatesT], str]:
        """Return a fit whose regions in a plane are drawn, and a phrase for the title on how it differs.

        By default it is the fit itself, and the phrase is empty.
        """
        return fit, ""

    def drops_columns(self, fit: FittedModel[EstimatesT]) -> bool:
        """Return whether each refit drops collinear columns again; by default False."""
        return False

    def kept_if_constant(self, fit: FittedModel[EstimatesT]) -> Sequence[int]:
        """Return the positions of columns that a refit uses even if they are constant; by default none."""
        return ()

    def unusable_columns(self, fit: FittedModel[EstimatesT], moments: ClassMoments) -> list[Dependency]:
        """Return the collinear columns that the model cannot use, and the columns that determine each.

        This default returns the columns that are collinear over all rows, without regard to classes.
        """
        return dependencies(moments.as_one_class())

    def refit_error(self, fit: FittedModel[EstimatesT], rows: DesignRows) -> DiscrimError | None:
        """Return an error with the reason why a refit to these rows fails.

        None, as by default, if only the general reason of `ModelSpec.refit_failure` is known.
        """
        return None

    def groups(self, fit: FittedModel[EstimatesT]) -> Codes | None:
        """Return the group (n,) of each row of the table if folds leave out whole groups; by default None."""
        return None

    def recode(
        self, fit: FittedModel[EstimatesT], rows: DesignRows, *, fixed: bool
    ) -> tuple[FittedModel[EstimatesT], DesignRows]:
        """Adapt a fit to rows that lack levels of the fit; by default both are returned unchanged.

        Parameters
        ----------
        fit : FittedModel
        rows : DesignRows
            The rows of the refit, whose design lacks levels.
        fixed : bool
            Whether tuning parameters that were selected from the data are kept.

        Returns
        -------
        fit : FittedModel
            The fit to refit, with estimates for the columns of the design.
        rows : DesignRows
            The rows to refit it to.
        """
        return fit, rows

    def scores_by_call(self, fit: FittedModel[EstimatesT], train: Codes, test: Codes) -> Floats:
        """Call the user's function with training rows and return its scores, if `refits_by_function`.

        Parameters
        ----------
        fit : FittedModel
        train : (n,) int
            Positions of the training rows.
        test : (m,) int
            Positions of the rows to score.

        Returns
        -------
        (m, K) float
            Scores of the test rows by class. This default raises NotImplementedError.
        """
        raise NotImplementedError

    def _usable_columns(self, fit: FittedModel[EstimatesT], moments: ClassMoments) -> Codes:
        """Return the positions (q,) of the columns that the verb would keep, by the moments of the rows.

        Constant columns are left out, except the columns in `kept_if_constant`; and if `drops_columns`, also
        the `unusable_columns`.
        """
        dropped = set(constant_columns(moments)) - set(self.kept_if_constant(fit))
        varying = [j for j in range(moments.n_columns) if j not in dropped]
        if self.drops_columns(fit) and varying:
            remaining = moments.select_columns(np.array(varying)) if dropped else moments
            dropped |= {varying[dependency.column] for dependency in self.unusable_columns(fit, remaining)}
        return np.array([j for j in range(moments.n_columns) if j not in dropped], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class ModelSpec(Refits[EstimatesT]):
    """Specification of a model: its name, classification rule, refits and file format.

    A subclass has to define `name`, `title`, `results_class`, `summary_sections`, `plots` and, if files can
    store its fits, `constructor`. Every other attribute and method has a default. The estimates of a model
    have the attributes `moments`, `prior` and `estimated_prior`, and the methods `rule`, `refit` and
    `leave_one_out_scorer` unless the subclass overrides the methods that call these. Results with a
    likelihood also call the methods `llf` and `df_model` of the estimates.

    Parameters
    ----------
    search : object, optional
        Search that selects tuning parameters, such as a `GridSearch`; otherwise None.
    """

    name: ClassVar[str]
    """Name of the model in files and in the registry: its verb, unless the verb fits two models."""

    title: ClassVar[str]
    """Title of the model in summaries."""

    results_class: ClassVar[Any]
    """Public class of the results of the verb."""

    refit_failure: ClassVar[tuple[str, str]] = (
        "a covariance is singular, or classes are separated",
        "fewer columns",
    )
    """Possible reason for the failure of a refit to a part of the rows, and a hint, for messages."""

    integrates_missing: ClassVar[bool] = False
    """Whether the rule itself integrates out missing columns."""

    leave_one_out_cost: ClassVar[float] = 1.0
    """Time to compute the leave-one-out score of a row, relative to the time to compute its score."""

    compares_rows: ClassVar[bool] = False
    """Whether the rule compares a row with all rows of the fit, and the time to score all rows thus grows
    with the square of their number. Such a model has the method `leave_one_out_of_rows`.
    """

    left_out_prior_is_fixed: ClassVar[bool] = False
    """Whether `leave_one_out` uses the prior of the fit, although refits estimate it again by default."""

    chosen_options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Options whose values can be selected from the data, and the attributes of the estimates with the value.

    The attribute of an option that accepts specifications is a dict of the selected parameters.
    """

    search_options: ClassVar[tuple[str, ...]] = ()
    """Options that control this selection; a refit that keeps the selected values ignores them."""

    constructor: ClassVar[Callable[..., Any]]
    """Function or class that creates the estimates from moments, a prior and the values in a file.

    Its other parameters are attributes of the estimates, with annotations; see `discrim.models.base.stored`.
    """

    file_moments: ClassVar[ScatterType] = "pooled"
    """Which moments a file stores."""

    allows_few_rows: ClassVar[bool] = False
    """Whether there may be fewer rows than columns, so that files store thin scatter roots."""

    allows_constant: ClassVar[bool] = False
    """Whether a column may be constant within classes."""

    allows_singular: ClassVar[bool] = False
    """Whether columns may be collinear."""

    scores_class_means: ClassVar[bool] = True
    """Whether every row near a class mean has a score, which is checked when a file is loaded."""

    search: Any = None

    @property
    def can_be_saved(self) -> bool:
        """Whether a file can store the fits."""
        return hasattr(self, "constructor")

    @property
    def verb(self) -> str:
        """Name of the verb that fits the model."""
        return self.name

    def fit(
        self,
        estimates: EstimatesT,
        rows: DesignRows,
        arguments: Mapping[str, Any],
        *,
        has_rows: bool = True,
        path: pd.DataFrame | None = None,
        cache: Mapping[str, Any] = MappingProxyType({}),
    ) -> FittedModel[EstimatesT]:
        """Return a fitted model of this specification, with the prior of the estimates.

        Parameters
        ----------
        estimates : object
            Estimates of the core, such as an `LDAFit`: arrays without names.
        rows : DesignRows
            The rows of the fit, and the design in which new rows are read.
        arguments : mapping
            Options of the verb; see `verb_options`.
        has_rows : bool
            False if the verb was called with moments; `rows` has only the design then.
        path : DataFrame, optional
            Candidates of the tuning parameters, with their errors or criteria.
        cache : mapping
            Results that were computed already, by key.
        """
        fitted: Any = estimates
        return FittedModel(self, fitted, rows, fitted.prior, arguments, has_rows, path, dict(cache))

    # ---- likelihood, prior and posteriors

    def likelihood_of(self, fit: FittedModel[EstimatesT]) -> str:
        """Return a description of the distribution whose likelihood is `llf`.

        One of "class and row" (the default), "class and row given covariates", "class given row" and "none".
        """
        return "class and row"

    def prior_in_refits(self, fit: FittedModel[EstimatesT]) -> PriorInRefits:
        """Return how refits treat a prior of class proportions if the user does not choose.

        "fixed", the default, keeps it; "refitted" estimates it again; "none" is for models without a prior.
        """
        return "fixed"

    def posteriors_hint(self, fit: FittedModel[EstimatesT]) -> str:
        """Return a hint on alternatives to posteriors, for errors; "" if the model has posteriors."""
        return ""

    # ---- summary and plots

    def summary_sections(self) -> tuple[Any, Any]:
        """Return the sections of the summary, and of its short form, which `repr` prints.

        Each is a `discrim.report.tables.Sections`, or a function of the results and their fit that returns
        one. `SummarizedModel.summary` in `discrim.models.base.display` computes the summary from them.
        """
        raise NotImplementedError

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default."""
        raise NotImplementedError

    # ---- scores of rows

    def read_rows(self, fit: FittedModel[EstimatesT], data: Any, missing_policy: MissingPolicy) -> DesignRows:
        """Read the rows of a table with the design of the fit, or return the rows of the fit.

        Parameters
        ----------
        fit : FittedModel
        data : table or None
            New rows; None for the rows of the fit.
        missing_policy : MissingPolicy
            Options for missing values and unseen levels.

        Returns
        -------
        DesignRows
            Rows of the table in its order, including rows that get no prediction.

        Raises
        ------
        NotSupportedError
            `data` is None, and the fit does not have its rows.
        """
        design_rows = fit.design_rows
        is_partial = missing_policy.missing == "integrate"
        if missing_policy.missing is not None:
            design_rows = replace(
                design_rows,
                integrates_missing=is_partial,
                uses_incomplete_rows=design_rows.uses_incomplete_rows and is_partial,
            )
        if data is None:
            fit.require_rows("predict", "pass data=")
            return design_rows
        unseen = missing_policy.unseen == "missing" and design_rows.design.spec is not None
        return rows_of_new_data(
            design_rows
            if design_rows.unseen_as_missing == unseen
            else replace(design_rows, unseen_as_missing=unseen),
            data,
        )

    def rule(self, fit: FittedModel[EstimatesT], prior: Floats, method: str, convention: str | None) -> Rule:
        """Return the classification rule of the fit under a prior.

        Parameters
        ----------
        fit : FittedModel
        prior : (K,) float
            Prior probabilities of the classes.
        method : str
            Method of `predict_proba`, such as "plugin" or "predictive".
        convention : str or None
            Convention of `predict_proba`: "MASS" or None.

        Returns
        -------
        Rule
            Its method `scores` maps rows (m, p) to scores (m, K): for models with posteriors, log posteriors
            up to a constant of each row.
        """
        estimates: Any = fit.estimates
        with np.errstate(divide="ignore"):
            rule: Rule = estimates.rule(np.log(prior), method, convention)
        return rule

    def has_marginals(self, fit: FittedModel[EstimatesT]) -> bool:
        """Return whether the model has a `marginal_rule`, which integrates columns out; by default False."""
        return False

    def marginal_rule(self, estimates: EstimatesT, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule for some columns, with the others integrated out; required if `has_marginals`.

        Parameters
        ----------
        estimates : object
            Estimates of a fit of the model.
        log_prior : (K,) float
            Logarithms of the prior.
        method : str
            Method of `predict_proba`, such as "plugin" or "predictive".
        keep : (q,) int
            Positions of the columns.

        Returns
        -------
        Rule
            Rule for rows (m, q) of these columns. This default raises NotImplementedError.
        """
        raise NotImplementedError

    def shows_log_posteriors(self, fit: FittedModel[EstimatesT]) -> bool:
        """Return whether `decision_function` returns log posteriors (the default) or scores of the rule."""
        return True

    def decision(self, fit: FittedModel[EstimatesT], scores: Floats) -> Floats:
        """Convert scores (m, K) of the rule to the values (m, K) on which `decision_function` is based.

        They are the log posteriors if `shows_log_posteriors`, else the scores unchanged. For two classes,
        too, the scores are unchanged: `decision_function` then returns the difference of the two columns,
        which is the same for log posteriors but less precise.
        """
        if scores.shape[1] == 2 or not self.shows_log_posteriors(fit):
            return scores
        return rules.log_posteriors(scores)

    def check_prior(self, prior: Floats, classes: pd.Index) -> None:
        """Raise PriorError if a prior (K,) is not compatible with the model; by default every prior is."""

    # ---- files

    def to_arrays(self, estimates: EstimatesT) -> StoredEstimates:
        """Return the values and arrays that a file stores in addition to the moments and the prior."""
        return encode_estimates(self.constructor, estimates)

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the model's arrays in a file, by name, which are checked when it is loaded.

        Parameters
        ----------
        k, p : int
            Numbers of classes and columns.

        Returns
        -------
        dict of str to tuple of int
            -1 stands for any length. Unlisted arrays are not checked; by default no array is listed.
        """
        return {}

    def from_arrays(self, moments: ClassMoments, prior: Floats, arguments: Mapping[str, Any]) -> EstimatesT:
        """Return the estimates that a file stores.

        Parameters
        ----------
        moments : ClassMoments
        prior : (K,) float
        arguments : mapping
            The other arguments of `constructor`.

        Raises
        ------
        InvalidStateError
            The values contradict each other.
        """
        estimates: Any = self.constructor(moments=moments, prior=prior, **arguments)
        if hasattr(estimates, "validate"):
            estimates.validate()
        fitted: EstimatesT = estimates
        return fitted


def _fit_of_columns(fit: FittedModel[EstimatesT], keep: Codes) -> FittedModel[EstimatesT]:
    """Return the fit with its covariance model restricted to the columns at positions (q,), for a refit.

    A fit whose estimates lack a covariance model is returned unchanged.
    """
    estimates: Any = fit.estimates
    covariance_model = getattr(estimates, "covariance_model", None)
    if covariance_model is None:
        return fit
    return replace(fit, estimates=replace(estimates, covariance_model=covariance_model.for_columns(keep)))


def refit_scorer(fit: FittedModel[Any], work: str) -> LeaveOneOutScorer:
    """Return a scorer for models without a closed form, whose leave-one-out scores are all NaN.

    The evaluation refits the model without each row whose score is NaN. NotSupportedError is raised if there
    are too many rows for refits.

    Parameters
    ----------
    fit : FittedModel
    work : str
        Description of the work for each row, for the message; see `refit_each_row`.
    """
    return refit_each_row(int(fit.estimates.moments.rows.sum()), len(fit.classes), work)


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel(Generic[EstimatesT_co]):
    """A fitted model: its specification, estimates, rows and options. Results classes contain one.

    Attributes
    ----------
    spec : ModelSpec
        The specification of the model.
    estimates : N
        Estimates of the core, such as an `LDAFit`: arrays without names of classes or columns.
    design_rows : DesignRows
        The rows of the fit, and the design for reading new rows; without `has_rows` only the design.
    prior : (K,) float
        Prior probabilities of the classes.
    options : mapping
        Options of the verb as the user passed them; see `verb_options`.
    has_rows : bool
        False if the fit was loaded, unpickled, made by an estimator or computed from moments.
    path : DataFrame or None
        Candidates of the tuning parameters, with their errors or criteria; None without a search, and if
        loaded.
    cache : dict
        Results that require a pass over the rows or a search, by key, such as `CALIBRATOR_KEY`. Sections of a
        summary use it to share passes over the rows.
    selection : Selection or None
        How the columns or the model were selected, if this was done from the data.
    is_loaded : bool
        Whether the fit was read from a file, which does not store whether an option was given or selected.
    refits_override : Refits or None
        Refits that repeat a selection or call a function of the user; by default `spec` refits.
    counts : (K,) float
        Number of rows, or sum of weights, by class.
    dropped : int
        Number of rows that were dropped because of a missing value.
    _derived : dict
        Values of properties that follow from the other fields, by name; not pickled.
    """

    spec: ModelSpec[Any]
    estimates: EstimatesT_co
    design_rows: DesignRows
    prior: Floats
    options: Mapping[str, Any]
    has_rows: bool = True
    path: pd.DataFrame | None = None
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    selection: Selection | None = field(default=None, repr=False)
    is_loaded: bool = False
    refits_override: Refits[Any] | None = field(default=None, repr=False)
    counts: Floats = field(init=False)
    dropped: int = field(init=False)
    _derived: dict[str, Any] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Set `counts` and `dropped`, and record the state of the table, to detect later changes."""
        design = self.design_rows.design
        self.design_rows.table.take_fingerprint((*design.response_columns, *design.columns))
        object.__setattr__(self, "counts", self.estimates.moments.counts)
        object.__setattr__(self, "dropped", self.design_rows.dropped)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fit without its rows."""
        # A pickle omits the rows, because it may be passed on to others. It is not __getstate__, which
        # dataclasses with slots overwrite in Python 3.11.2.
        stripped = self.without_rows()
        state = [
            {} if dataclass_field.name == "_derived" else getattr(stripped, dataclass_field.name)
            for dataclass_field in fields(stripped)
        ]
        return object.__new__, (type(self),), state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the fit with its rows."""
        return copy_with_rows(self, memo)

    def without_rows(self) -> Self:
        """Return the fit without its rows, which can still predict new rows.

        The fit before a selection and all cached results except `CACHE_KEYS_WITHOUT_ROWS` are removed too. A
        fit without rows is returned unchanged.
        """
        if not self.has_rows:
            return self
        kept_cache = {name: self.cache[name] for name in CACHE_KEYS_WITHOUT_ROWS if name in self.cache}
        selection = None if self.selection is None else replace(self.selection, unselected_fit=None)
        design_only = self.design_rows.without_rows()
        return replace(self, design_rows=design_only, has_rows=False, cache=kept_cache, selection=selection)

    @property
    def refits(self) -> Refits[Any]:
        """Methods that refit the model: `refits_override`, or by default `spec`."""
        return self.spec if self.refits_override is None else self.refits_override

    @property
    def choice_description(self) -> str:
        """Description of the columns, model and tuning parameters that were selected from the data, or ""."""
        columns = "" if self.selection is None else self.selection.choice_description
        return " and ".join(
            description for description in (columns, self.refits.choice_description(self)) if description
        )

    @property
    def has_posteriors(self) -> bool:
        """Whether the model has posterior probabilities."""
        return not self.spec.posteriors_hint(self)

    @property
    def likelihood_of(self) -> str:
        """Distribution whose likelihood is `llf`, such as "class and row"; see `ModelSpec.likelihood_of`."""
        return self.spec.likelihood_of(self)

    @property
    def prior_in_refits(self) -> PriorInRefits:
        """How refits treat a prior of class proportions by default: "fixed", "refitted" or "none"."""
        return self.spec.prior_in_refits(self)

    def fit_before_selection(self) -> FittedModel[Any]:
        """Return the fit before a selection, whose refits select again, or the fit itself without one.

        A loaded fit lacks the fit before its selection and returns itself. Raises DataError if the
        table was changed after the fit.
        """
        if self.selection is None or self.selection.unselected_fit is None:
            return self
        self.design_rows.table.raise_if_changes()
        return self.selection.unselected_fit

    @property
    def classes(self) -> pd.Index:
        """Labels of the classes."""
        design = self.design_rows.design
        return self._cached_value("classes", lambda: pd.Index(list(design.levels), name=design.response))

    @property
    def terms(self) -> pd.Index:
        """Names of the columns of the design."""
        return self._cached_value("terms", lambda: pd.Index(list(self.design_rows.terms)))

    def _cached_value(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of `make()`, which is called once and then stored in `_derived` under `name`."""
        if name not in self._derived:
            self._derived[name] = make()
        value: T = self._derived[name]
        return value

    @property
    def column_range(self) -> ColumnRange:
        """Smallest and largest values of new rows, `low` and `high` (p,), in the units of the data."""
        return self._cached_value("column_range", lambda: column_range(self.estimates.moments))

    @property
    def title(self) -> str:
        """Title of the model in summaries."""
        return self.spec.title

    @property
    def title_in_sentence(self) -> str:
        """Title of the model with its first letter in lower case."""
        return lower_first_letter(self.spec.title)

    @property
    def formula(self) -> str:
        """The formula as the user wrote it."""
        return self.design_rows.design.formula

    @property
    def rows_by_class(self) -> pd.Series:
        """Number of rows, or sum of weights, by class; integers if all are whole."""
        return pd.Series(whole_counts(self.counts).copy(), index=self.classes, name="rows")

    @property
    def nobs(self) -> int | float:
        """Number of rows used, or the sum of their weights; an int if the counts of all classes are whole."""
        total: int | float = whole_counts(self.counts).sum().item()
        return total

    def class_means(self) -> pd.DataFrame:
        """Return the class means, classes by terms."""
        return pd.DataFrame(self.estimates.moments.class_means, index=self.classes, columns=self.terms)

    def require_rows(self, method_name: str, hint: str = "fit formula and data") -> DesignRows:
        """Return the rows of the fit.

        Parameters
        ----------
        method_name : str
            Method or option that requires the rows, for the message.
        hint : str
            Hint of the error, without capital and full stop.

        Raises
        ------
        NotSupportedError
            The fit does not have its rows.
        DataError
            The table was changed after the fit.
        """
        if not self.has_rows:
            raise NotSupportedError(
                f"{method_name} requires the rows of the fit. A fit that was loaded, unpickled, made by an "
                "estimator or computed from moments does not have them.",
                hint=sentence(hint),
            )
        self.design_rows.table.raise_if_changes()
        return self.design_rows

    def require_rows_in_memory(self, method_name: str = "plot()") -> DesignRows:
        """Return the rows of the fit for a plot that draws each row.

        Raises NotSupportedError if the fit does not have its rows or reads them in chunks, and DataError if
        the table was changed after the fit. `method_name` names the plot in the message.
        """
        design_rows = self.require_rows(method_name)
        design_rows.rows.require_table(
            f"{method_name} draws each row, and ",
            " is read in chunks.",
            hint="Fit a sample of the rows as a DataFrame, and plot that fit.",
        )
        return design_rows

    def new_rows(self, data: Any, missing_policy: MissingPolicy = AS_FITTED) -> DesignRows:
        """Read new rows with the design of the fit.

        Parameters
        ----------
        data : table, DesignRows or None
            None for the rows of the fit; `DesignRows` are returned unchanged.
        missing_policy : MissingPolicy
            Options for missing values and unseen levels.

        Returns
        -------
        DesignRows
            New rows of a table have the `column_range` of the fit, outside which values raise an error.

        Raises
        ------
        NotSupportedError
            `data` is None and the fit does not have its rows, or `missing="integrate"` and the model cannot
            integrate columns out.
        """
        if isinstance(data, DesignRows):
            return data
        if missing_policy.missing == "integrate":
            self.require_marginals()
        design_rows = self.spec.read_rows(self, data, missing_policy)
        return design_rows if data is None else replace(design_rows, column_range=self.column_range)

    def require_marginals(self) -> None:
        """Raise NotSupportedError if neither `marginal_rule` nor the rule itself integrates columns out."""
        if not (self.spec.has_marginals(self) or self.spec.integrates_missing):
            subspace = getattr(self.estimates, "subspace_model", None)
            qualifier = ""
            if getattr(self.estimates, "covariates", 0):
                qualifier = " with covariates"
            elif subspace is not None:
                qualifier = " with ncomp=" if subspace.is_supervised else " with components="
            raise NotSupportedError(
                'missing="integrate" requires a density of the columns within classes, which '
                f"{self.spec.name}(){qualifier} does not have.",
                hint="Fill in the values, drop the rows, or fit lda(), qda() or naive_bayes().",
            )

    def require_posteriors(self, method_name: str) -> None:
        """Raise NotSupportedError if the model lacks posteriors, which `method_name` requires by the message.

        `method_name` is a method or an option, such as "prior=".
        """
        if hint := self.spec.posteriors_hint(self):
            article = "an" if self.title[0] in "AEIOU" else "a"
            raise NotSupportedError(
                f"{method_name} requires posterior probabilities, which {article} {self.title_in_sentence} "
                "does not have.",
                hint=sentence(f'{hint}, use predict_proba(method="calibrated"), or fit logistic() or lda()'),
            )

    def prior_values(self, prior: Any = None) -> Floats:
        """Convert a prior in any form that a verb accepts to an array (K,); None for the prior of the fit.

        Raises PriorError if the prior is not valid, and NotSupportedError if the model lacks posteriors.
        """
        if prior is None:
            values = np.array(self.prior, dtype=np.float64)
        else:
            self.require_posteriors("prior=")
            values = prior_vector(prior, self.classes, np.asarray(self.counts, dtype=np.float64))
        self.spec.check_prior(values, self.classes)
        return values

    def log_prior(self) -> Floats:
        """Return the logarithms (K,) of the prior of the fit, minus infinity for zero."""
        return rules.log_of_prior(self.prior_values())

    def rule(self, prior: Any = None, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the classification rule, which scores complete rows.

        With the default arguments the rule is created once and cached, up to `MAX_CACHED_RULE_SIZE`.

        Parameters
        ----------
        prior : optional
            Prior in any form that a verb accepts; by default the prior of the fit.
        method : str
            Method of `predict_proba`, such as "plugin" or "predictive".
        convention : str, optional
            Convention of `predict_proba`: "MASS" or None.
        """

        def make_rule() -> Rule:
            """Create the rule for the arguments of `FittedModel.rule`."""
            return self.spec.rule(self, self.prior_values(prior), method, convention)

        is_small = len(self.prior) * len(self.design_rows.terms) <= MAX_CACHED_RULE_SIZE
        is_default = prior is None and convention is None and method == "plugin"
        return self._cached_value("rule", make_rule) if is_small and is_default else make_rule()

    def rule_for(self, design_rows: DesignRows, prior: Any = None) -> Rule:
        """Return the rule for some rows, by default under the prior of the fit.

        It integrates missing columns out if `design_rows.integrates_missing` is True and the model supports
        this.
        """
        return self.integrate_missing(self.rule(prior), design_rows, prior)

    def integrate_missing(
        self,
        rule: Rule,
        design_rows: DesignRows,
        prior: Any = None,
        method: str = "plugin",
        convention: str | None = None,
    ) -> Rule:
        """Return a rule that integrates missing columns out if the rows require it; else return `rule`.

        Parameters
        ----------
        rule : Rule
        design_rows : DesignRows
            Rows to predict; they require it if `design_rows.integrates_missing` is True.
        prior : optional
            Prior in any form that a verb accepts; by default the prior of the fit.
        method, convention : str, str or None
            Options of `predict_proba`, with which `rule` was created.

        Returns
        -------
        Rule
            A `MarginalRule`, or for a `CalibratedRule` a copy that calibrates one. `rule` itself if the rows
            do not require it or the model does not define `marginal_rule`.

        Raises
        ------
        NotSupportedError
            `convention` is not None, but a `MarginalRule` is required.
        """
        if isinstance(rule, CalibratedRule):
            # The scores that are calibrated are by the prior of the fit; `prior` only shifts the result.
            return replace(rule, rule=self.integrate_missing(rule.rule, design_rows))
        if not design_rows.integrates_missing or not self.spec.has_marginals(self):
            return rule
        if convention is not None:
            raise NotSupportedError(
                f'convention="{convention}" cannot be combined with missing="integrate".',
                hint='Leave out convention=, or pass missing="drop".',
            )
        log_prior = rules.log_of_prior(self.prior_values(prior))
        return MarginalRule(
            rule, log_prior, partial(self.spec.marginal_rule, self.estimates, log_prior, method)
        )

    def with_prior(self, prior: Floats) -> Self:
        """Return the fit with another prior (K,), with `path` None and an empty cache."""
        estimates: Any = self.estimates
        return replace(self, estimates=replace(estimates, prior=prior), prior=prior, path=None, cache={})

    def predict_codes(
        self, design_rows: DesignRows, prior: Any = None, decision: Decision | None = None
    ) -> Codes:
        """Return the position of the predicted class of each row.

        Parameters
        ----------
        design_rows : DesignRows
        prior : optional
            Prior in any form that a verb accepts; by default the prior of the fit.
        decision : Decision, optional
            How scores are converted to classes; by default the class with the largest score.

        Returns
        -------
        (n,) int
            -1 if a value is missing that is not integrated out, or if the row has probability zero in every
            class; K if `decision` rejects the row.
        """
        return predict_codes(
            design_rows, self.rule_for(design_rows, prior), len(self.classes), decision or Decision()
        )

    def decision_values(self, design_rows: DesignRows) -> pd.DataFrame | pd.Series:
        """Return the values of `decision_function`.

        They are a DataFrame (n, K) of log posteriors or scores, or for two classes a Series (n,), the value
        of the second class minus the value of the first. NaN for a row with a missing value.
        """
        return score_frame(
            design_rows, self.rule_for(design_rows), self.classes, partial(self.spec.decision, self)
        )

    def to_labels(self, codes: Codes, index: pd.Index) -> pd.Series:
        """Return the class labels (n,) of codes (n,), in the dtype of the response.

        The label of code -1 is missing, and the label of code K is "rejected"; see `codes_to_labels`.
        """
        return codes_to_labels(codes, self.classes, index, self.design_rows.design.labels)

    def actual_labels(self, design_rows: DesignRows) -> pd.Series:
        """Return the labels (n,) of the actual classes of rows; missing for a row without a class."""
        return self.to_labels(design_rows.codes, design_rows.table.index)

    def predict_labels(self, data: Any) -> pd.Series:
        """Return the predicted labels (n,) of the rows of a table; missing for a row with a missing value."""
        design_rows = self.new_rows(data)
        return self.to_labels(self.predict_codes(design_rows), design_rows.table.index)

    def augment_table(self, design_rows: DesignRows, values: pd.DataFrame, name: str) -> pd.DataFrame:
        """Return the columns of the table, the predicted labels and the values by class as one DataFrame.

        Parameters
        ----------
        design_rows : DesignRows
        values : (n, K) DataFrame
            Values by class, for example posteriors.
        name : str
            Name of the values: the new columns are ".fitted" and ".{name}.{class}".

        Raises
        ------
        DataError
            The table already has one of the new columns.
        """
        table = design_rows.table
        columns = pd.Index([f".{name}.{label}" for label in values.columns])
        existing = next((column for column in (".fitted", *columns) if column in table.names), None)
        if existing is not None:
            raise DataError(
                f"augment() cannot add the column {existing!r}, which the table already has.",
                hint=f"Rename it: data.rename(columns={{{existing!r}: {'before' + existing!r}}}).",
                columns=(existing,),
            )
        frame = table.frame(table.names)
        frame[".fitted"] = self.to_labels(self.predict_codes(design_rows), table.index)
        return pd.concat([frame, values.set_axis(columns, axis=1)], axis=1)


def copy_with_rows(value: T, memo: dict[int, Any]) -> T:
    """Return a deep copy of a frozen dataclass that omits its rows from pickles; the copy includes them.

    Parameters
    ----------
    value : dataclass
    memo : dict
        Argument of `__deepcopy__`.
    """
    duplicate: T = object.__new__(type(value))
    memo[id(value)] = duplicate
    dataclass_value: Any = value
    for dataclass_field in fields(dataclass_value):
        object.__setattr__(
            duplicate, dataclass_field.name, deepcopy(getattr(dataclass_value, dataclass_field.name), memo)
        )
    return duplicate
