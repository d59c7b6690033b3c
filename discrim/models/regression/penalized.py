"""Logistic regression with a ridge, lasso or elastic net penalty, of a strength that folds may choose.

It has coefficients and the path of its strengths. Standard errors, tests and intervals are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats, refuse_beyond_memory
from discrim.core.numerics.map_reduce import CountedPasses
from discrim.core.numerics.progress import Progress
from discrim.core.regression import penalized as core
from discrim.core.regression.penalized import PenalizedFit
from discrim.core.regression.proximal_newton import Ended, Likelihood
from discrim.core.rules.rules import Rule, best_class, log_posteriors, logs_of_prior
from discrim.design.blocks import Blocks
from discrim.design.rows import used_codes
from discrim.errors import DataError, NotSupportedError, sentence
from discrim.inference.error_rates import as_good, rates_along
from discrim.inference.resampling import dealt_codes
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import Collinear, Separation
from discrim.models.evaluation.tuning import TuningFolds, refuse_none_judged, used_splits
from discrim.models.regression.logistic_results import LogisticResults, LogisticSpec
from discrim.models.regression.logistic_search import refuse_many_coefficients
from discrim.models.results import headers
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults
from discrim.penalty import AnyPenalty
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections


class Penalty(NamedTuple):
    """The penalty of a fit, strength * ((1 - l1_ratio) / 2 |b|^2 + l1_ratio |b|_1).

    Attributes
    ----------
    name : {"ridge", "lasso", "elastic_net"}
        Kind of penalty.
    strength, l1_ratio : float
        Strength of the penalty and share of the lasso, which are glmnet's lambda and alpha.
    """

    name: str
    strength: float
    l1_ratio: float


@dataclass(frozen=True, slots=True, eq=False)
class StrengthSearch:
    """How a penalized fit is made: at the strength of its penalty, or at one that folds choose.

    Attributes
    ----------
    penalty : Ridge, Lasso or ElasticNet
        The penalty that was asked for.
    tol : float
        Largest violation of the conditions of a minimum, as a share of the strength.
    maxiter : int
        Largest number of steps.
    folds : TuningFolds, optional
        Folds of the choice of a strength, if the penalty has none.
    """

    penalty: AnyPenalty
    tol: float
    maxiter: int
    folds: TuningFolds | None

    @classmethod
    def of_rows(cls, penalty: AnyPenalty, tol: float, maxiter: int, blocks: Blocks) -> Self:
        """Return the search for a penalty, with folds of the rows if its strength is to be chosen."""
        chosen = penalty.strength is None
        folds = TuningFolds.read(penalty.folds, penalty.seed, blocks) if chosen else None
        return cls(penalty, tol, int(maxiter), folds)

    @property
    def grid(self) -> Floats | None:
        """Strengths (L,) of the path in decreasing order, or None if they are evenly spaced."""
        return None if self.penalty.grid is None else np.array(self.penalty.grid[::-1])


def check_alone(*, bias_reduction: bool, separation: Any, collinear: Any) -> None:
    """Raise a DataError for options of a fit without a penalty beside one."""
    reading.check_word("separation", separation, Separation)
    reading.check_word("collinear", collinear, Collinear)
    if bias_reduction:
        raise DataError(
            "bias_reduction=True is a penalty of its own (Firth's).", hint="Leave it out, or penalty=."
        )
    if collinear == "drop":
        raise DataError(
            "With penalty= collinear columns share what they tell, and none is dropped.",
            hint="Leave collinear= out.",
        )


CONSTANT = 1e-10
"""Share of its standard deviation over all rows below which a column is constant over some of them."""


class Path(NamedTuple):
    """Fits along strengths: a table of strength, df, explained, of a choice deviance, se and error too."""

    table: pd.DataFrame
    ends: list[Ended]


def _coefficient_path(model: Likelihood, search: StrengthSearch, *, within: float = np.inf) -> Path:
    """Fits along the strengths of the grid, or evenly spaced ones, down to some strength at least."""
    strengths = search.grid
    if strengths is None:
        strengths = core.strengths_of(model, search.penalty.l1_ratio, search.penalty.n_strengths)
    what = f"The coefficients of {len(strengths):,} strengths"
    numbers = float(len(strengths)) * model.functions * len(model.z)
    refuse_beyond_memory(numbers, what, "Give the penalty a shorter grid=, or one strength")
    may_end = search.grid is None and within >= strengths[-1]
    with Progress(len(strengths), "path of the strength") as progress:
        ends = core.penalized_path(
            model, search.penalty.l1_ratio, strengths, search.maxiter, ends=may_end, progress=progress
        )
    _refuse_unfinished(ends, strengths, search)
    null = model.at(model.eta(model.null())).loss
    table = pd.DataFrame({"strength": strengths[: len(ends)]})
    table["df"] = [int(np.count_nonzero(ended.beta[:, 1:])) for ended in ends]
    table["explained"] = [1 - ended.loss / null for ended in ends]
    return Path(table, ends)


def _refuse_unfinished(ends: list[Ended], strengths: Floats, search: StrengthSearch) -> None:
    for ended, strength in zip(ends, strengths.tolist(), strict=False):
        if not ended.converged:
            raise DataError(
                f"At strength {strength:.4g} the search has not converged in {ended.steps} steps.",
                hint=f"Raise maxiter={search.maxiter}, or give the penalty larger strengths as grid=.",
            )


def _choose_strength(
    blocks: Blocks, model: Likelihood, search: StrengthSearch, prior: Floats, *, sampled: bool
) -> tuple[int, Path]:
    """The position of the strength that is chosen, and the path.

    Each fold is judged by the path of the other rows, on the strengths of all rows. The deviance is that of a
    row, -2 log P, with weights; its standard error is that of the means of the folds, as cv.glmnet's. The
    error counts rows by the labels under the prior, which may be sampled, the class proportions.
    """
    path = _coefficient_path(model, search)
    strengths = path.table["strength"].to_numpy()
    deviances = np.empty((0, len(strengths)))
    sizes = np.empty(0)
    k = model.n_classes
    wrong = np.zeros((len(strengths), k))
    judged = np.zeros(k)
    shift = logs_of_prior(prior) - np.log(model.class_shares)
    folds: Any = search.folds
    l1_ratio = search.penalty.l1_ratio
    parts = _training_and_judged(blocks, folds)
    with Progress(len(parts), "choice of the strength") as progress:
        for fold, (train, test) in enumerate(parts):
            part = _without(model, train)
            if part is None:
                levels = blocks.design.levels
                absent = [levels[k] for k in np.setdiff1d(np.arange(len(levels)), model.codes[train > 0])]
                where, more = folds.training_rows(fold)
                raise DataError(
                    f"{where} class {reading.listed(absent)} has no row.",
                    hint=f"Give a strength, or {more}, or merge the class with another.",
                    classes=absent,
                )
            at = np.flatnonzero(test)
            progress(1)
            if not len(at):
                continue
            less, mean, sd = part
            ends = core.penalized_path(less, l1_ratio, strengths, search.maxiter, like=path.ends)
            _refuse_unfinished(ends, strengths, search)
            z = model.z[:, at].copy()
            z[1:] -= mean[:, None]
            z[1:] /= sd[:, None]
            scores = core.scores_along(ends, z)
            if scores.shape[1] == 1:
                scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
            scores = np.swapaxes(scores, 1, 2)
            times = model.weights[at] * test[at]
            codes = model.codes[at]
            logs = np.stack([log_posteriors(each)[np.arange(len(at)), codes] for each in scores])
            deviances = np.vstack([deviances, -2 * (logs @ times)[None] / times.sum()])
            sizes = np.append(sizes, times.sum())
            member = np.equal(codes[:, None], np.arange(k)) * times[:, None]
            judged += member.sum(axis=0)
            wrong += np.stack([best_class(each + shift) != codes for each in scores]) @ member
    refuse_none_judged(sizes, "strengths")
    share = sizes / sizes.sum()
    table = path.table
    table["deviance"] = share @ deviances
    spread = share @ (deviances - table["deviance"].to_numpy()) ** 2
    table["se"] = np.sqrt(spread / max(len(sizes) - 1, 1))
    table["error"] = rates_along(wrong, judged, prior, sampled=sampled)[0]
    deviance = table["deviance"].to_numpy()
    if search.penalty.select == "min":
        return int(np.argmin(deviance)), path
    # The largest strength is the first.
    return int(np.argmax(as_good(deviance, table["se"].to_numpy()))), path


def _training_and_judged(blocks: Blocks, folds: TuningFolds) -> list[tuple[Floats, Floats]]:
    """For each fold or split how often each row (n,) that is used is learnt from, and judged."""
    if folds.splits:
        return [(split.train, split.test) for split in used_splits(folds.splits, blocks)]
    codes = used_codes(blocks)
    dealt = dealt_codes(codes, folds.count, folds.seed)[codes >= 0]
    judged = [(dealt == fold).astype(np.float64) for fold in range(folds.count)]
    return [(1.0 - test, test) for test in judged]


def _without(model: Likelihood, times: Floats) -> tuple[Likelihood, Floats, Floats] | None:
    """Some of the rows as often as is said, standardized by themselves, and their means and deviations.

    None where a class has no row. A column that is constant over them has no part.
    """
    at = np.flatnonzero(times)
    weights = model.weights[at] * times[at]
    if not len(at) or not (np.bincount(model.codes[at], weights, model.n_classes) > 0).all():
        return None
    weights /= weights.sum()
    z = model.z[:, at].copy()
    mean = z[1:] @ weights
    z[1:] -= mean[:, None]
    sd = np.sqrt((z[1:] ** 2) @ weights)
    constant = sd <= CONSTANT
    z[1:][constant] = 0.0
    sd[constant] = 1.0
    z[1:] /= sd[:, None]
    return Likelihood(z, model.codes[at], weights, model.n_classes), mean, sd


COPIES = 3
"""Times that the rows are in memory: as they are, those of a fold, and those of the columns in the search."""

FUNCTIONS = 8
"""Times that a search has a number of each row, and of each column, by class."""

PASSES = "penalized logistic regression, passes over the rows"


def _rows_in_memory(blocks: Blocks, moments: ClassMoments) -> Likelihood:
    """The rows that moments are of, in memory."""
    rows = int(moments.rows.sum())
    p = moments.n_columns
    refuse_beyond_memory(
        COPIES * float(rows) * (p + 1),
        f"A penalized logistic regression of {rows:,} rows by {p:,} columns, which are held in memory,",
        "Fit a part of the rows, or without penalty=, which reads them part by part",
    )
    functions = 1 if moments.n_classes == 2 else moments.n_classes
    refuse_beyond_memory(
        FUNCTIONS * float(functions) * (rows + p + 1),
        f"The probabilities of {rows:,} rows in {moments.n_classes:,} classes, and slopes of {p:,} columns,",
        "Merge rare classes, or use lda(), naive_bayes() or knn()",
    )
    with Progress(0, PASSES) as progress:
        passed = CountedPasses(blocks, progress)
        return core.standard_rows(passed, moments)


def penalized(
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    options: Mapping[str, Any],
    *,
    estimated_prior: bool,
    reference: int,
    search: StrengthSearch,
) -> FittedModel[PenalizedFit]:
    """The fit of a table."""
    penalty = search.penalty
    begun = PenalizedFit(
        moments, prior, estimated_prior, reference, penalty.word, 1.0, penalty.l1_ratio, np.zeros((1, 1)),
        0.0, 0.0, 0,
    )  # fmt: skip
    if not penalty.l1_ratio:
        # A ridge has all coefficients at once, in the space of the rows where these are fewer.
        rank = min(moments.n_columns, int(moments.rows.sum()))
        count = (1 if moments.n_classes == 2 else moments.n_classes) * (rank + 1)
        others = "use penalty='lasso', lda(), naive_bayes() or knn()"
        refuse_many_coefficients(count, rank, moments.n_classes, others)
    numbers, path = _searched(begun, blocks, moments, search, prior)
    table, cache = (None, {}) if path is None else (path.table, {"along": path})
    return PenalizedLogisticSpec(search).fit(numbers, blocks, options, path=table, cache=cache)


def _searched(
    fit: PenalizedFit, blocks: Blocks, moments: ClassMoments, search: StrengthSearch, prior: Floats
) -> tuple[PenalizedFit, Path | None]:
    """The numbers at the strength that is given, or chosen with its path."""
    model = _rows_in_memory(blocks, moments)
    strength = search.penalty.strength
    l1_ratio = search.penalty.l1_ratio
    path = None
    start = None
    if strength is None:
        at, path = _choose_strength(blocks, model, search, prior, sampled=fit.estimated_prior)
        strength = float(path.table["strength"].iloc[at])
        start = path.ends[at].beta
    ended = core.fit_at(model, l1_ratio, strength, tol=search.tol, maxiter=search.maxiter, start=start)
    if not ended.converged:
        by_rounding = ended.steps < search.maxiter
        more = "" if by_rounding else f", or raise maxiter={search.maxiter}"
        raise DataError(
            f"At strength {strength:.4g} the search has not converged in {ended.steps} "
            f"steps{', because of rounding' if by_rounding else ''}.",
            hint=f"Give a larger strength{more}.",
        )
    return fit.at(ended, strength), path


def fit_path(fit: FittedModel[PenalizedFit]) -> Path:
    """The path of a fit, made where it was not."""
    if "along" not in fit.cache:
        model = _rows_in_memory(fit.rows("path"), fit.estimates.moments)
        fit.cache["along"] = _coefficient_path(model, fit.spec.search, within=fit.estimates.strength)
    path: Path = fit.cache["along"]
    return path


WAYS_OUT = {
    "odds_ratios": "their estimates are np.exp(fit.params)",
    "conf_int": "a bootstrap of whole fits shows how far they move",
    "log_odds": "the estimates are fit.params, and tidy() has them in rows",
    "to_statsmodels": "statsmodels' own fit_regularized() has other penalties",
    "to_list": "the estimates are fit.params",
    "separation": "with a penalty the estimates are finite whether or not classes are separated",
}
"""What to turn to, in place of what is refused, beside a fit without a penalty."""


class PenalizedLogisticResults(LogisticResults):
    """A fitted logistic regression with a ridge, lasso or elastic net penalty.

    Attributes
    ----------
    params : DataFrame, "constant" and terms by the classes but the reference
        Log odds against the reference, in the units of the columns.
    reference : label
        The class against which the log odds are taken.

    Notes
    -----
    A penalty draws the estimates towards zero by an amount that the rows do not reveal. There are therefore
    no standard errors, tests or intervals, and no criteria that need a maximum of the likelihood: methods
    that would give them are refused.
    """

    def __init__(self, fit: FittedModel[Any]) -> None:
        super().__init__(fit)

    @property
    def _numbers(self) -> PenalizedFit:
        fit: Any = self._fit
        numbers: PenalizedFit = fit.estimates
        return numbers

    @property
    def penalty(self) -> Penalty:
        """name, strength and l1_ratio; the last two are glmnet's lambda and alpha."""
        numbers: Any = self._numbers
        return Penalty(numbers.penalty, numbers.strength, numbers.l1_ratio)

    @property
    def class_params(self) -> pd.DataFrame:
        """Coefficients by class: those that are penalized, in the units of the columns.

        Shape: "constant" and terms by classes. The coefficients that are penalized. For two classes they are
        the log odds of the second, beside zeros; for more classes each has its own (the symmetric
        parametrization), and `params` are their differences.
        """
        return pd.DataFrame(self._numbers.class_params(), index=self._columns, columns=self.classes)

    @property
    def selected(self) -> pd.Index:
        """Terms whose coefficient is not zero for some class, from the largest standardized one on."""
        slopes = self._numbers.by_class[1:]
        size = slopes.max(axis=1) - slopes.min(axis=1)
        order = np.argsort(-size, kind="stable")[: int((slopes != 0).any(axis=1).sum())]
        return self.terms[order]

    @property
    @available_if()
    @displayed(explained="share", deviance="general", se="general")
    def path(self) -> pd.DataFrame:
        """The fits at all strengths that were tried.

        Returns
        -------
        DataFrame
            strength; df, the number of coefficients that are not zero; explained, the share of the deviance
            that is explained. Where folds chose the strength, also deviance, the mean -2 log P of rows left
            out, with its standard error se; and error, the share of these rows that get another class.

        Raises
        ------
        NotSupportedError
            The fit was loaded.
        """
        return self._along().table.copy()

    def _along(self) -> Path:
        """The fits at all strengths, computed if they are not known."""
        fit: Any = self._fit
        return fit_path(fit)

    @property
    def prsquared(self) -> float:
        """Share of the deviance of the class proportions that is explained, as McFadden's."""
        return self._numbers.explained()

    # ---- what is refused

    def _refuse(self, what: str, way_out: str) -> NoReturn:
        raise NotSupportedError(
            f"{what} does not exist for a fit with penalty={self.penalty.name!r}, which draws the "
            "estimates to zero.",
            hint=sentence(way_out),
        )

    @property
    @available_if()
    def llf(self) -> float:
        """Refused, because the likelihood has no maximum at penalized estimates."""
        self._refuse(
            "A maximum of the likelihood",
            "prsquared is the share of the deviance that is explained, and cross_validate() has log losses "
            "of rows left out",
        )

    @property
    @available_if()
    def df_model(self) -> int:
        """Refused, because the number of free parameters is not that of the coefficients."""
        self._refuse("A number of free parameters", "fit.path has df, the coefficients that are not zero")

    @property
    @available_if()
    def aic(self) -> float:
        """Refused, because the criterion needs a maximum of the likelihood."""
        self._refuse("AIC", "choose a strength by folds, with penalty='lasso', or fit without penalty=")

    @property
    @available_if()
    def bic(self) -> float:
        """Refused, because the criterion needs a maximum of the likelihood."""
        self._refuse("BIC", "choose a strength by folds, with penalty='lasso', or fit without penalty=")

    # ---- tables

    @displayed()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each class and term, under broom's names: class, term, estimate.

        There are no standard errors.

        Parameters
        ----------
        level : float
            Not used. It is there because other models have intervals.
        """
        params = self.params
        labels = np.repeat(params.columns.to_numpy(dtype=object), len(params))
        table = pd.DataFrame({"class": labels, "term": np.tile(params.index.to_numpy(), params.shape[1])})
        table["estimate"] = params.to_numpy().T.ravel()
        return table

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit: sizes, penalty, number of nonzero coefficients, deviance explained."""
        row = {"nonzero": self._numbers.nonzero(), "llnull": self.llnull, "prsquared": self.prsquared}
        return pd.DataFrame([self._sizes() | self.penalty._asdict() | row])


def refuse_penalized(fits: Iterable[Any], what: str) -> None:
    """Raise NotSupportedError where a fit has a penalty, and what is asked takes maximum likelihood."""
    if any(isinstance(fit, PenalizedLogisticResults) for fit in fits):
        raise NotSupportedError(
            f"{what} needs estimates of maximum likelihood, which a fit with a penalty does not have.",
            hint="Fit without penalty=, or compare the fits on rows left out, by compare(folds=).",
        )


def _refused(name: str, inherited: Any) -> Any:
    """A property or method that says why it is not there."""
    more = f"; {WAYS_OUT[name]}" if name in WAYS_OUT else ""

    def refuse(self: PenalizedLogisticResults, *_: Any, **__: Any) -> NoReturn:
        self._refuse(name if isinstance(inherited, property) else f"{name}()", f"fit without penalty={more}")

    if isinstance(inherited, property):
        return property(available_if(refuse)(refuse), doc=f"Refused: {inherited.__doc__}")
    return available_if(refuse)(wraps(inherited)(refuse))


def _refuse_inference() -> None:
    """Refuse what a logistic regression has beyond any classifier: it is of estimates without a penalty."""
    kept = {*dir(ClassifierResults), *dir(LinearGeometry), *vars(PenalizedLogisticResults)}
    for name in sorted(set(dir(LogisticResults)) - kept - {"params", "llnull"}):
        if not name.startswith("_"):
            setattr(PenalizedLogisticResults, name, _refused(name, getattr(LogisticResults, name)))


_refuse_inference()


@dataclass(frozen=True, eq=False)
class PenalizedLogisticSpec(LogisticSpec):
    """Penalized logistic regression; `search` says how strength and estimates are found."""

    name = "penalized_logistic"
    title = "Penalized logistic regression"
    results_class = PenalizedLogisticResults
    why_no_refit = ("a class has no row", "a strength that is given")
    chosen_options = MappingProxyType({"penalty": "chosen_penalty"})
    constructor = PenalizedFit
    file_moments = "diagonal"
    allows_constant = True

    search: StrengthSearch | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return the sections of the summary and those of its short form."""
        return penalized_logistic_sections, penalized_logistic_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the plots; the first that suits a fit is its default."""
        from discrim.models.regression.plots import PENALIZED_LOGISTIC_PLOTS

        return PENALIZED_LOGISTIC_PLOTS

    @property
    def verb(self) -> str:
        """Name of the verb that fits the model."""
        return "logistic"

    def choice(self, fit: FittedModel[PenalizedFit]) -> str:
        """Describe what the rows were asked to choose; empty if nothing."""
        return "the strength" if self.search is not None and self.search.folds is not None else ""

    def refit_to_rows(self, fit: FittedModel[PenalizedFit], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows, with what they choose chosen again."""
        if self.search is None or self.search.folds is None:
            return self.refit_with_fixed(fit, rows)
        moments = reading.class_moments(rows, "diagonal")
        if not (moments.counts > 0).all():
            return None
        begun = replace(fit.estimates, moments=moments)
        try:
            refit, _ = _searched(begun, rows, moments, self.search, fit.prior)
        except DataError:
            return None
        return refit.rule(fit.log_prior())

    def refit_with_fixed(self, fit: FittedModel[PenalizedFit], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows that keeps the strength."""
        moments = reading.class_moments(rows, "diagonal")
        if not (moments.counts > 0).all():
            return None
        maxiter = 50 if self.search is None else self.search.maxiter
        refit = core.refitted(fit.estimates, moments, _rows_in_memory(rows, moments), maxiter)
        return None if refit is None else refit.rule(fit.log_prior())

    def drops_columns(self, fit: FittedModel[PenalizedFit]) -> bool:
        """Return False: a penalty needs no columns dropped."""
        return False

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays of a file."""
        return {"beta": (1 if k == 2 else k, p + 1)}


MOST_TERMS = 40
"""Terms that the summary shows."""


BRIEF = 10
"""Terms that the short form shows."""


NAMES = {"ridge": "ridge", "lasso": "lasso", "elastic_net": "elastic net"}


def penalized_logistic_sections(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Sections:
    """Sections of a penalized logistic regression, in their order."""
    parts: Sections = {"header": _header, "classes": headers.classes_section}
    parts["params"] = _params
    if len(results.classes) > 2:
        parts["class_params"] = partial(_params, by_class=True)
    if fit.path is not None:
        parts["path"] = _strength_path
    return parts


def _header(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Pairs:
    numbers = results._numbers
    penalty = results.penalty
    by_path = fit.path is not None
    search = fit.spec.search
    chosen = "not in the file" if fit.loaded else "given"
    if by_path:
        chosen = (
            f"{search.folds.description}, {'one SE' if search.penalty.select == '1se' else 'least deviance'}"
        )
    of = "log odds of two classes" if len(results.classes) == 2 else "symmetric, by class"
    every = numbers.beta[:, 1:].size
    nonzero = numbers.nonzero()
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem("Penalty", penalty.name, NAMES[penalty.name]),
        HeaderItem(
            "Strength (lambda)", penalty.strength, f"{penalty.strength:.4g}", brief="strength (lambda)"
        ),
        HeaderItem("Chosen by", chosen, key="chosen_by", brief="chosen by" if by_path else ""),
        HeaderItem("L1 ratio (alpha)", penalty.l1_ratio, f"{penalty.l1_ratio:g}"),
        HeaderItem("Parametrization", of),
        HeaderItem(
            "Coefficients not zero", nonzero, f"{nonzero} of {every}", "n_nonzero", "coefficients not zero"
        ),
        HeaderItem(
            "Deviance explained",
            results.prsquared,
            f"{results.prsquared:.4f}",
            "deviance_explained",
            "deviance explained",
        ),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Steps", numbers.steps),
        headers.error_item(fit, "apparent"),
    ]
    note = (
        "The coefficients of columns divided by their standard deviations (divisor N) are penalized, "
        "and constants are not; those shown are in the columns' own units. KKT conditions hold to "
        f"{numbers.violation:.0e} of the strength. There are no standard errors: see the help."
    )
    if by_path:
        note += (
            " The apparent error is optimistic: the same rows chose the strength. error_rates(['cv']) "
            "chooses it anew in each fold."
        )
    return Pairs(results.formula, items, note)


def _params(
    results: PenalizedLogisticResults,
    fit: FittedModel[Any],
    most: int = MOST_TERMS,
    *,
    by_class: bool = False,
) -> Section:
    """The coefficients of the constant and of the largest terms."""
    selected = results.selected
    every = len(results.terms)
    heading = f"Log odds against {results.reference}"
    table = results.params
    source = "fit.params"
    notes = ["Largest first, of standardized columns."]
    if by_class:
        heading = "Coefficients by class, symmetric parametrization"
        table = results.class_params
        source = "fit.class_params"
        notes.append("The penalty is on these; their differences are the log odds.")
    if len(selected) > most:
        notes.append(f"And {len(selected) - most} more: fit.params.")
    if every > len(selected):
        zero = f"{every - len(selected)} of {every} terms"
        notes.append(f"{zero} have no part: all their coefficients are zero.")
    sizes = headers.score_sizes(fit.estimates.moments)
    # The constant comes first whatever a column is called.
    places = np.append(0, 1 + results.terms.get_indexer(selected[:most])).astype(np.intp)
    shown = table.iloc[places].rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(sizes, headers.SCORES)[places]
    notes.append(headers.precision_note("log odds", shown, sizes[places], headers.SCORES))
    return Section(heading, shown, errors=errors, note=" ".join(notes), source=source)


def _strength_path(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Section:
    table = headers.path_table(results.path, results.penalty.strength)
    formats: dict[Any, Any] = {
        "df": "count", "explained": "share", "deviance": "share", "se": "share", "error": "share",
        "chosen": "text",
    }  # fmt: skip
    note = "deviance is the mean of -2 ln P(class) of left-out rows."
    if results.penalty.strength == results.path["strength"].iloc[-1]:
        note += (
            " The chosen strength is the smallest that was tried; a smaller one may be better: give the "
            "penalty a grid=."
        )
    return Section(
        "Left-out deviance, by strength",
        table,
        formats,
        headings=INTERVAL | {"df": "not zero"},
        note=note,
        source="fit.path",
    )


penalized_logistic_brief: Sections = {
    "classes": headers.classes_section,
    "params": partial(_params, most=BRIEF),
}
"""The short form: classes, and the first of the coefficients."""
