"""A fit as one value: a model's numbers beside the rows, the names and the way in which it is fitted again.

Whatever judges, pictures, saves or summarizes a fit takes a `Fit`, and so knows no class of results. What a
fit says of rows stands before it: the rule gives them scores, block by block; a decision makes classes of
these, and labels of classes in the dtype of the response. Rows that have a gap, a missing value or a level
that the fit has not seen, are left without an answer, or answered by their other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, Literal, Self, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, Dependency
from discrim.core.errors import register_descriptions
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory
from discrim.core.numerics.progress import Progress
from discrim.core.rules import rules
from discrim.core.rules.gaussian import MarginalRule
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import CalibratedRule, IndependentRule, LinearRule, Rule
from discrim.data.column_range import ColumnRange
from discrim.design.blocks import Blocks
from discrim.design.levels import Unseen
from discrim.design.rows import new_blocks
from discrim.errors import (
    DataError,
    DiscrimError,
    MissingPredictionWarning,
    NotSupportedError,
    sentence,
    warn_user,
)
from discrim.models.base.core_errors import describe
from discrim.models.base.data_range import column_range, score_limit
from discrim.models.base.labels import in_sentence, labelled, whole_counts
from discrim.models.base.reading import check_word, every_sparse_row, prior_vector

register_descriptions(describe)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """How scores become classes.

    Attributes
    ----------
    costs : (K, K) float or None
        Cost of predicting class j (column) for a row of class i (row); None for the most probable class.
    reject : float or None
        Cost of rejecting a row; a row whose least expected cost is above it has the code K.
    """

    costs: Floats | None = None
    reject: float | None = None

    def codes(self, scores: Floats) -> Codes:
        """Codes (m,) of scores (m, K); -1 for a missing row.

        The least expected cost is Chow's rule (1970, IEEE Transactions on Information Theory 16, 41-46).
        """
        if self.costs is None and self.reject is None:
            return rules.best_class(scores)
        n_classes = scores.shape[1]
        costs = 1.0 - np.eye(n_classes) if self.costs is None else self.costs
        expected = rules.posteriors(scores) @ costs
        codes = rules.best_class(-expected)
        if self.reject is not None:
            codes[(expected.min(axis=1) > self.reject) & (codes >= 0)] = n_classes
        return codes


def scored(blocks: Blocks, rule: Rule, n_classes: int) -> Iterator[tuple[slice, Floats]]:
    """Scores (m, K) of all rows, block by block, in pieces that fit the cache.

    Those of a row with a missing value are NaN, but where the blocks let it be used in part. A row that is
    impossible in every class has no posterior, and a warning says so.
    """
    complete = rule.rule if isinstance(rule, MarginalRule) else rule
    has_ends = getattr(complete, "has_ends", False)
    impossible: list[int] = []
    with Progress(blocks.table.nrows, "scores of rows") as progress:
        for rows, scores in _pieces(blocks, rule, n_classes):
            if has_ends:
                none = rows.start + np.flatnonzero(np.isneginf(scores).all(axis=1))
                impossible.extend(none.tolist())
            yield rows, scores
            progress(rows.stop - rows.start)
    if impossible:
        warn_impossible(len(impossible), blocks.table.label(impossible[0]))


def _pieces(blocks: Blocks, rule: Rule, n_classes: int) -> Iterator[tuple[slice, Floats]]:
    """Scores of all rows, by what is stored of them where that is little and the rule takes it."""
    complete = rule.rule if isinstance(rule, MarginalRule) else rule
    stored = every_sparse_row(blocks) if rules.takes_stored(complete) else None
    if stored is None or (blocks.partial and stored[1].any()):
        for place, x, missing in blocks.every_row(checked=not isinstance(rule, LinearRule)):
            yield from block_scores(blocks, rule, n_classes, place, x, missing)
        return
    rows, missing = stored
    piece = max(2**21 // n_classes, 64)
    for start in range(0, len(rows), piece):
        place = slice(start, min(start + piece, len(rows)))
        part = rows.rows(place)
        lost = missing[place]
        scores = rules.stored_scores(complete, part)
        scores[lost] = np.nan
        yield place, scores


def block_scores(
    blocks: Blocks, rule: Rule, n_classes: int, place: slice, x: Floats, missing: NDArray[np.bool_] | None
) -> Iterator[tuple[slice, Floats]]:
    """Scores (m, K) of the rows of one block, as `every_row` gives it, in pieces that fit the cache."""
    # Columns that are each looked at by themselves, class by class, gain nothing by pieces in the cache.
    piece = max((2**21 if isinstance(rule, IndependentRule) else 2**16) // n_classes, 64)
    # Of linear scores a look at these is enough, which are few.
    limit = score_limit(rule, blocks.column_range) if isinstance(rule, LinearRule) else None
    if missing is None and isinstance(rule, MarginalRule):
        rule = rule.rule
    for start in range(0, len(x), piece):
        stop = min(start + piece, len(x))
        # Scores that overflow are outside the limit, so that the values are checked and refused.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = rule.scores(x[start:stop])
        if limit is not None and not -limit < scores.min(initial=0.0) <= scores.max(initial=0.0) < limit:
            missing = blocks.missing(x, place.start)
        if missing is not None and not blocks.partial:
            scores[missing[start:stop]] = np.nan
        yield slice(place.start + start, place.start + stop), scores


def warn_impossible(count: int, first: Any) -> None:
    """Warn of rows whose probability is zero in every class, naming the first."""
    warn_user(
        f"{count} row{'s have' if count > 1 else ' has'} probability zero in every class"
        f" ({'the first is ' if count > 1 else ''}{first!r}), as with a level that a class never had, or "
        "where no kernel reaches. The posterior is 0/0, so that label and posterior are missing: fit "
        "naive_bayes() with laplace=1, for example, or kernel_density() with a larger bandwidth.",
        MissingPredictionWarning,
    )


def predicted_codes(blocks: Blocks, rule: Rule, n_classes: int, decision: Decision) -> Codes:
    """Predicted class (n,) of each row of the table, -1 where a value is missing."""
    task = partial(_codes, rule=rule, n_classes=n_classes, decision=decision)
    return blocks.per_row(task)


def _codes(blocks: Blocks, rule: Rule, n_classes: int, decision: Decision) -> Codes:
    codes = np.empty(blocks.table.nrows, dtype=np.intp)
    for place, scores in scored(blocks, rule, n_classes):
        codes[place] = decision.codes(scores)
    return codes


def finished_scores(blocks: Blocks, rule: Rule, n_classes: int, finish: Callable[[Floats], Floats]) -> Floats:
    """What `finish` makes of the scores (n, K) of all rows."""
    shape = (blocks.table.nrows, n_classes)
    refuse_beyond_memory(
        1.0 * shape[0] * shape[1],
        f"A column for each of {shape[1]:,} classes and {shape[0]:,} rows",
        "Pass fewer rows at a time, or ask for labels only, with predict()",
    )
    out = np.empty(shape, order="C" if shape[1] > rules.MANY_CLASSES else "F")
    for place, scores in scored(blocks, rule, n_classes):
        if finish is rules.posteriors:
            rules.posteriors(scores, out=out[place])
        else:
            out[place] = finish(scores)
    return out


def posterior_frame(
    blocks: Blocks, rule: Rule, classes: pd.Index, finish: Callable[[Floats], Floats]
) -> pd.DataFrame:
    """What `finish` makes of the scores, rows by classes, on the table's index."""
    values = finished_scores(blocks, rule, len(classes), finish)
    return pd.DataFrame(values, index=blocks.table.index, columns=classes, copy=False)


def score_frame(
    blocks: Blocks, rule: Rule, classes: pd.Index, finish: Callable[[Floats], Floats]
) -> pd.DataFrame | pd.Series:
    """What `finish` makes of the scores; of two classes that of the second less that of the first."""
    if len(classes) > 2:
        return posterior_frame(blocks, rule, classes, finish)
    out = np.empty(blocks.table.nrows)
    for place, scores in scored(blocks, rule, 2):
        values = finish(scores)
        # Minus infinity in both: the row is impossible, and its log odds are missing.
        with np.errstate(invalid="ignore"):
            out[place] = values[:, 1] - values[:, 0]
    return pd.Series(out, index=blocks.table.index, name=str(classes[1]))


def fit_covariances(fit: Fit[Any]) -> tuple[Covariance, ...]:
    """Return the covariances of a fit of normal classes: the common one, or one for each class."""
    numbers = fit.numbers
    return numbers.covariances if hasattr(numbers, "covariances") else (numbers.covariance,)


Missing = Literal["drop", "integrate"]
"""What is said of new rows with a missing value: nothing, or what their other columns tell."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """What becomes of new rows that have a gap.

    Attributes
    ----------
    unseen : {"raise", "missing"} or None
        A level that the fit has not seen is an error, or a missing value; None for what the fit does.
    missing : {"drop", "integrate"} or None
        Of a row with a missing value all answers are missing, or the missing columns are integrated out;
        None for what the fit does. Other words are a DataError.
    """

    unseen: Unseen | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        check_word("unseen", self.unseen, Unseen, optional=True)
        check_word("missing", self.missing, Missing, optional=True)


AS_FITTED = Gaps()
"""What the fit does of its own."""


N = TypeVar("N", covariant=True)
T = TypeVar("T")

CALIBRATOR = "calibrator"
"""What a fit keeps as the map to calibrated posteriors."""

WITHOUT_ROWS = ("along", "drop1", "separation", CALIBRATOR)
"""What of a fit's cache says nothing of single rows, and goes where the rows do not."""

HELD_NUMBERS = 2**14
"""Classes times columns up to which a fit holds its rule: of few rows, making it takes as long as they do."""

PriorWithout = Literal["held", "refitted", "none"]
"""What a model does with class proportions as its prior where rows are left out, unless asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Refits:
    """How a model is fitted again, to other moments or rows; the prior is that of the fit it is asked of.

    Attributes
    ----------
    spread : {"pooled", "class", "diagonal"} or None
        What the model needs of the moments; None where it is no function of moments, and needs rows.
    of_moments : callable
        From a fit and moments to a rule; None where a covariance is singular.
    of_rows : callable
        From a fit and blocks with other weights to a rule, or None. What the rows were asked to choose is
        chosen anew.
    held : callable
        The same, with what was chosen held.
    left_out : callable
        From a fit to the scores of rows under the rule without each of them: as a function of rows, or of
        all rows that the fit uses, (n, K).
    choice : str
        What the rows were asked to choose, in words; empty where that is nothing.
    drops : bool
        Whether columns that others determine are dropped, in each refit anew.
    informative : sequence of int
        Columns that tell something even where they are constant.
    obstacles : callable, optional
        Collinear columns that the model does not bear, from moments; all of them by default.
    why_no_rule : callable, optional
        From a fit and blocks to why there is no rule, and the way out.
    search : object, optional
        How what is chosen is searched for, of models whose refits or summaries ask.
    called : callable, optional
        From a fit, the positions of rows to learn from and those of rows to judge, to the scores of the
        latter: a call of what made the fit, where the columns of the refits are not those of the fit.
    groups : (n,) int, optional
        Groups of the rows of the table, of which folds leave out whole ones; -1 for rows not used.
    recode : callable, optional
        Adapts a fit to the columns that remain if the rows of a refit lack levels. It takes the fit, the
        blocks of the refit and whether choices are held, and returns the fit and the blocks to use. None if
        the model stores nothing by column.
    """

    spread: Spread | None
    of_moments: Callable[[Fit[Any], ClassMoments], Rule | None]
    of_rows: Callable[[Fit[Any], Blocks], Rule | None]
    held: Callable[[Fit[Any], Blocks], Rule | None]
    left_out: Callable[[Fit[Any]], LeftOut | Floats]
    choice: str = ""
    drops: bool = False
    informative: Sequence[int] = ()
    obstacles: Callable[[ClassMoments], list[Dependency]] | None = None
    why_no_rule: Callable[[Fit[Any], Blocks], DiscrimError | None] | None = None
    search: Any = None
    called: Callable[[Fit[Any], Codes, Codes], Floats] | None = None
    groups: Codes | None = None
    recode: Callable[[Fit[Any], Blocks, bool], tuple[Fit[Any], Blocks]] | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """How the rows chose the columns of a fit, or its model.

    Attributes
    ----------
    words : str
        What chose among what, such as "stepwise by wilks, of 40 terms", where the formula has what was
        chosen, or "choose by log_loss, of 9 models".
    anew : Fit, optional
        The fit on the rows and columns of all candidates, whose refits choose anew; none of a fit that was
        loaded.
    quick : bool
        Whether ten choices and fits take a second at most, so that a summary has their error.
    """

    words: str
    anew: Fit[Any] | None = None
    quick: bool = False

    @property
    def choice(self) -> str:
        """What was chosen, in words."""
        return f"the {self.what} ({self.words})"

    @property
    def what(self) -> str:
        """What kind of thing was chosen."""
        return "model" if self.words.startswith("choose ") else "columns"


def rule_of_numbers(fit: Fit[Any], prior: Floats, method: str, convention: str | None) -> Rule:
    """The rule of numbers that are a `MomentsFit`, under a prior (K,)."""
    with np.errstate(divide="ignore"):
        rule: Rule = fit.numbers.rule(np.log(prior), method, convention)
    return rule


def read_rows(fit: Fit[Any], data: Any, gaps: Gaps) -> Blocks:
    """The rows of a table, or those of the fit where there is none, as the fit reads them."""
    own = fit.blocks
    part = gaps.missing == "integrate"
    if gaps.missing is not None:
        own = replace(own, partial=part, incomplete=own.incomplete and part)
    if data is None:
        fit.rows("predict", "pass data=")
        return own
    unseen = gaps.unseen == "missing" and own.design.spec is not None
    return new_blocks(own if own.unseen == unseen else replace(own, unseen=unseen), data)


def as_log_posteriors(fit: Fit[Any], scores: Floats) -> Floats:
    """Log posteriors; of two classes the scores, whose difference is the same with more of its digits."""
    return scores if scores.shape[1] == 2 else rules.log_posteriors(scores)


def as_scored(fit: Fit[Any], scores: Floats) -> Floats:
    """The scores as the rule gives them."""
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is particular to a model, whatever its numbers.

    Attributes
    ----------
    name : str
        That of its verb, and of the model in files.
    likelihood_of : {"class and row", "class and row given covariates", "class given row", "none"}
    prior_without : {"held", "refitted", "none"}
        What becomes of class proportions as the prior where rows are left out, unless asked; none where the
        model has no prior.
    no_fit : (str, str)
        Why there may be no fit to some of the rows, and the way out.
    instead : str
        What to turn to where posteriors are asked for; empty for a model that has them.
    rule : callable
        From a fit, a prior, a method and a convention to a rule.
    rows : callable
        From a fit, a table and what becomes of its gaps to blocks.
    decision : callable
        From a fit and scores (m, K) of its rule to the values (m, K) that `decision_function` shows; of two
        classes their difference.
    check_prior : callable, optional
        Raises where a prior (K,) over classes does not go with the model.
    marginal : callable, optional
        From the numbers, a log prior (K,), a method and positions of columns to the rule of these, the others
        integrated out.
    reads_gaps : bool
        Whether the rule itself integrates missing columns out.
    scores_left_out : float
        How many times as long as its score it takes to leave a row out, where that is more than a few times.
    """

    name: str
    title: str
    likelihood_of: str = "class and row"
    prior_without: PriorWithout = "held"
    no_fit: tuple[str, str] = ("a covariance is singular, or classes are separated", "fewer columns")
    instead: str = ""
    rule: Callable[[Fit[Any], Floats, str, str | None], Rule] = rule_of_numbers
    rows: Callable[[Fit[Any], Any, Gaps], Blocks] = read_rows
    decision: Callable[[Fit[Any], Floats], Floats] = as_log_posteriors
    check_prior: Callable[[Floats, pd.Index], None] | None = None
    marginal: Callable[[Any, Floats, str, Codes], Rule] | None = None
    reads_gaps: bool = False
    scores_left_out: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Fit(Generic[N]):
    """A model that was fitted.

    Attributes
    ----------
    numbers : N
        What was estimated, without names.
    blocks : Blocks
        The rows, and how a table is read; without rows where `has_rows` is false.
    prior : (K,) float
    options : mapping
        The arguments of the verb that make the model, as they were given; as `verb_options` has them.
    has_rows : bool
        False for a fit that was loaded, unpickled, made by an estimator or made of moments.
    path : DataFrame or None
        What a choice tried, with its errors or criteria; None where none was made, and of a loaded fit.
    cache : dict
        What was computed and is asked for again.
    selection : Selection or None
        How its rows chose its columns, where they did.
    loaded : bool
        Whether it was read from a file, which does not hold how an option came to its value.
    counts : (K,) float
        Rows, or sums of weights, by class.
    dropped : int
        Rows with a missing value.
    """

    model: Model
    numbers: N
    blocks: Blocks
    prior: Floats
    refits: Refits
    options: Mapping[str, Any]
    has_rows: bool = True
    path: pd.DataFrame | None = None
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    selection: Selection | None = field(default=None, repr=False)
    loaded: bool = False
    counts: Floats = field(init=False)
    dropped: int = field(init=False)
    _derived: dict[str, Any] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        design = self.blocks.design
        numbers = cast("Any", self.numbers)
        self.blocks.table.watch((*design.response_columns, *design.columns))
        object.__setattr__(self, "counts", numbers.moments.counts)
        object.__setattr__(self, "dropped", self.blocks.dropped)

    def __reduce__(self) -> tuple[Any, ...]:
        # Tables stay in their process: what is pickled may travel anywhere. Python 3.11.2 puts a state of
        # its own in the place of __getstate__.
        bare = self.without_rows()
        state = [{} if each.name == "_derived" else getattr(bare, each.name) for each in fields(bare)]
        return object.__new__, (type(self),), state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return with_rows_copied(self, memo)

    def without_rows(self) -> Self:
        """The same fit without its rows: it reads new ones, and says what needs none."""
        if not self.has_rows:
            return self
        kept = {name: self.cache[name] for name in WITHOUT_ROWS if name in self.cache}
        choice = None if self.selection is None else replace(self.selection, anew=None)
        bare = self.blocks.without_rows()
        return replace(self, blocks=bare, has_rows=False, cache=kept, selection=choice)

    @property
    def choice(self) -> str:
        """What the rows chose of the fit, in words; empty where that is nothing."""
        columns = "" if self.selection is None else self.selection.choice
        return " and ".join(each for each in (columns, self.refits.choice) if each)

    def choosing_anew(self) -> Fit[Any]:
        """The fit whose refits choose the columns anew, as of `rows`; itself where its rows chose none."""
        if self.selection is None or self.selection.anew is None:
            return self
        self.blocks.table.refuse_changes()
        return self.selection.anew

    @property
    def classes(self) -> pd.Index:
        """Labels of the classes."""
        design = self.blocks.design
        return self._lazily("classes", lambda: pd.Index(list(design.levels), name=design.response))

    @property
    def terms(self) -> pd.Index:
        """Names of the columns."""
        return self._lazily("terms", lambda: pd.Index(list(self.blocks.terms)))

    def _lazily(self, name: str, make: Callable[[], T]) -> T:
        """What is a function of this value alone, and is made when it is first asked for."""
        if name not in self._derived:
            self._derived[name] = make()
        value: T = self._derived[name]
        return value

    @property
    def column_range(self) -> ColumnRange:
        """Range of the columns in new rows."""
        numbers: Any = self.numbers
        return self._lazily("column_range", lambda: column_range(numbers.moments))

    @property
    def title(self) -> str:
        """What the model is called."""
        return self.model.title

    @property
    def title_in_sentence(self) -> str:
        """The title, where only names keep their capitals."""
        return in_sentence(self.model.title)

    @property
    def formula(self) -> str:
        """The formula, as it was typed."""
        return self.blocks.design.formula

    @property
    def rows_by_class(self) -> pd.Series:
        """Rows, or sums of weights, by class; integers where they are whole."""
        return pd.Series(whole_counts(self.counts).copy(), index=self.classes, name="rows")

    @property
    def nobs(self) -> int | float:
        """Rows used, or the sum of their weights."""
        total: int | float = whole_counts(self.counts).sum().item()
        return total

    def class_means(self) -> pd.DataFrame:
        """Means of the rows, classes by terms."""
        numbers: Any = self.numbers
        return pd.DataFrame(numbers.moments.class_means, index=self.classes, columns=self.terms)

    def rows(self, what: str, hint: str = "fit formula and data") -> Blocks:
        """The rows of the fit; a DataError says that the table was changed since.

        A NotSupportedError says that it has none, that `what` needs them, with a hint.
        """
        if not self.has_rows:
            raise NotSupportedError(
                f"{what} needs the rows of the fit, which a fit that was loaded, unpickled, made by an "
                f"estimator or made of moments does not have.",
                hint=sentence(hint),
            )
        self.blocks.table.refuse_changes()
        return self.blocks

    def drawn_rows(self, what: str = "plot()") -> Blocks:
        """The rows of the fit, as of `rows`, for a picture of each; refused where they are read in parts."""
        blocks = self.rows(what)
        blocks.rows.need_table(
            f"{what} draws each row, and ",
            " is read part by part.",
            hint="Fit a sample of its rows as a DataFrame, and draw that fit.",
        )
        return blocks

    def new_rows(self, data: Any, gaps: Gaps = AS_FITTED) -> Blocks:
        """The rows to speak of: those of a table, those of the fit, or rows that were read before."""
        if isinstance(data, Blocks):
            return data
        if gaps.missing == "integrate":
            self.need_marginals()
        blocks = self.model.rows(self, data, gaps)
        return blocks if data is None else replace(blocks, column_range=self.column_range)

    def need_marginals(self) -> None:
        """Raise NotSupportedError where the model has no law of the columns to integrate some out of."""
        if self.model.marginal is None and not self.model.reads_gaps:
            within = getattr(self.numbers, "within_axes", None)
            axes = "" if within is None else f" with {within.option}="
            axes = " with covariates" if getattr(self.numbers, "covariates", 0) else axes
            raise NotSupportedError(
                'missing="integrate" integrates missing columns out of a density of the rows within '
                f"classes, which {self.model.name}(){axes} does not have.",
                hint="Fill the values or leave the rows out, or fit lda(), qda() or naive_bayes().",
            )

    def need_posteriors(self, what: str) -> None:
        """Raise NotSupportedError where the model has no posteriors."""
        if self.model.instead:
            article = "an" if self.title[0] in "AEIOU" else "a"
            raise NotSupportedError(
                f"{what} needs probabilities, which {article} {self.title_in_sentence} does not have.",
                hint=sentence(
                    f'{self.model.instead}, ask for predict_proba(method="calibrated"), or fit logistic() '
                    "or lda()"
                ),
            )

    def prior_values(self, prior: Any = None) -> Floats:
        """A prior (K,) in any form that a verb takes, or the fit's own."""
        if prior is None:
            values = np.array(self.prior, dtype=np.float64)
        else:
            self.need_posteriors("prior=")
            values = prior_vector(prior, self.classes, np.asarray(self.counts, dtype=np.float64))
        if self.model.check_prior is not None:
            self.model.check_prior(values, self.classes)
        return values

    def log_prior(self) -> Floats:
        """Logarithms (K,) of the fit's prior."""
        return rules.logs_of_prior(self.prior_values())

    def rule(self, prior: Any = None, method: str = "plugin", convention: str | None = None) -> Rule:
        """The rule under a prior, in any form that a verb takes, or under the fit's own."""
        make = partial(self._rule_under, prior, method, convention)
        is_held = len(self.prior) * len(self.blocks.terms) <= HELD_NUMBERS
        as_fitted = prior is None and convention is None and method == "plugin"
        return self._lazily("rule", make) if is_held and as_fitted else make()

    def _rule_under(self, prior: Any, method: str, convention: str | None) -> Rule:
        return self.model.rule(self, self.prior_values(prior), method, convention)

    def rule_of(self, blocks: Blocks, prior: Any = None) -> Rule:
        """The rule for some rows: as `rule`, or where these may be used in part as `in_part`."""
        return self.in_part(self.rule(prior), blocks, prior)

    def in_part(
        self,
        rule: Rule,
        blocks: Blocks,
        prior: Any = None,
        method: str = "plugin",
        convention: str | None = None,
    ) -> Rule:
        """The rule of these options; of rows that may be used in part, with what they miss integrated out."""
        if isinstance(rule, CalibratedRule):
            return replace(rule, rule=self.in_part(rule.rule, blocks))
        marginal = self.model.marginal
        if not blocks.partial or marginal is None:
            return rule
        if convention is not None:
            raise NotSupportedError(
                f'convention="{convention}" has no numbers for rows with columns integrated out.',
                hint='Leave it out, or pass missing="drop".',
            )
        log_prior = rules.logs_of_prior(self.prior_values(prior))
        return MarginalRule(rule, log_prior, partial(marginal, self.numbers, log_prior, method))

    def under(self, prior: Floats) -> Self:
        """The same fit with another prior (K,), which its refits then hold."""
        numbers: Any = self.numbers
        return replace(self, numbers=replace(numbers, prior=prior), prior=prior, path=None, cache={})

    def predicted_codes(self, blocks: Blocks, prior: Any = None, decision: Decision | None = None) -> Codes:
        """Predicted class (n,) of each row, -1 where a value is missing."""
        return predicted_codes(blocks, self.rule_of(blocks, prior), len(self.classes), decision or Decision())

    def decision_values(self, blocks: Blocks) -> pd.DataFrame | pd.Series:
        """Values by which the rule decides, rows by classes; of two classes a Series."""
        return score_frame(blocks, self.rule_of(blocks), self.classes, partial(self.model.decision, self))

    def labelled(self, codes: Codes, index: pd.Index) -> pd.Series:
        """Codes as labels of the classes, in the dtype in which the response came."""
        return labelled(codes, self.classes, index, self.blocks.design.labels)

    def labels_of(self, blocks: Blocks) -> pd.Series:
        """Classes of rows, as labels."""
        return self.labelled(blocks.codes, blocks.table.index)

    def predicted(self, data: Any) -> pd.Series:
        """Labels of the rows of a table."""
        blocks = self.new_rows(data)
        return self.labelled(self.predicted_codes(blocks), blocks.table.index)

    def augmented(self, blocks: Blocks, values: pd.DataFrame, name: str) -> pd.DataFrame:
        """The table with each row's label, and values by class; a DataError where it has such a column."""
        table = blocks.table
        columns = pd.Index([f".{name}.{label}" for label in values.columns])
        taken = [column for column in (".fitted", *columns) if column in table.names]
        if taken:
            raise DataError(
                f"The table has a column {taken[0]!r} already, which augment() would write.",
                hint=f"Rename it, as in data.rename(columns={{{taken[0]!r}: {'before' + taken[0]!r}}}).",
                columns=(taken[0],),
            )
        frame = table.frame(table.names)
        frame[".fitted"] = self.labelled(self.predicted_codes(blocks), table.index)
        return pd.concat([frame, values.set_axis(columns, axis=1)], axis=1)


def with_rows_copied(value: T, memo: dict[int, Any]) -> T:
    """A deep copy, within the process, of a frozen dataclass that leaves its rows behind in a pickle."""
    twin: T = object.__new__(type(value))
    memo[id(value)] = twin
    whole: Any = value
    for each in fields(whole):
        object.__setattr__(twin, each.name, deepcopy(getattr(whole, each.name), memo))
    return twin
