"""Maximum-likelihood estimation of class proportions among unlabelled rows, with intervals.

`estimate_prior` is the implementation of `ClassifierResults.estimate_prior`; `estimate_proportions` also
supports models with known class densities. The likelihood is maximized in `discrim.inference.class_shares`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule
from discrim.data.sources.base import TableSource
from discrim.data.sources.sources import source_of_rows
from discrim.design.design_rows import read_weights
from discrim.design.source_tables import table_chunks
from discrim.errors import ConvergenceWarning, DataError, NotSupportedError, add_path_to_errors, warn_user
from discrim.inference.class_shares import (
    ClassProportions,
    covariance_of_proportions,
    densities_relative_to_best,
    estimate_class_proportions,
    prior_likelihood_ratio_test,
    profile_limits,
)
from discrim.inference.error_rates import check_level, logit_interval
from discrim.inference.result import TestResult
from discrim.models.base.display import SummarizedResults, format_count, with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.base.reading import check_integer, check_number, check_word, join_labels
from discrim.models.base.scores import score_chunks
from discrim.models.evaluation.validation import BootstrapSamples, raise_if_many_scores

if TYPE_CHECKING:
    from discrim.report.grid import Pairs, Section
    from discrim.report.tables import Summary


KNOWN_DENSITIES_NOTE = (
    "The distributions of the classes, and the prior of the fit, are treated as known. If the fit has few "
    "observations, its own error is added, which interval='bootstrap' includes. Standard errors do not show "
    "whether the distributions of the classes have changed, but assess() of labelled rows of the batch does."
)

BOOTSTRAP_NOTE = (
    "Standard errors and intervals are from fits to bootstrap samples within classes and from bootstrap "
    "samples of the batch. They do not show whether the distributions of the classes have changed since the "
    "fit, but assess() of labelled rows of the batch does."
)

INTERVAL_DESCRIPTIONS = {
    "wald": "(Wald, on the logit scale)",
    "profile": "of the profile likelihood",
    "bootstrap": "of bootstrap percentiles",
}
"""Descriptions of the kinds of intervals."""


class PriorEstimateOptions(NamedTuple):
    """Options of `ClassifierResults.estimate_prior`, with the same names."""

    tol: float = 1e-10
    maxiter: int = 200
    level: float = 0.95
    interval: str = "wald"
    replicates: int = 200
    seed: int | None = None

    def validate(self) -> PriorEstimateOptions:
        """Raise DataError for an option that is not valid; return the options unchanged.

        `replicates` and `seed` are checked by `BootstrapSamples`.
        """
        check_number("tol", self.tol, 0, 1, ends="()", description="a small number", also=", such as 1e-10")
        check_integer("maxiter", self.maxiter, 1)
        check_level(self.level)
        check_word("interval", self.interval, ("wald", "profile", "bootstrap"))
        return self


class _BatchDensities(NamedTuple):
    """Class densities of the rows of a batch that are informative about their class.

    Attributes
    ----------
    densities : (n, J) float
        Densities (not logarithms) of the J classes with a positive prior, relative to the largest of each
        row.
    weights : (n,) float or None
        Frequency weights, all positive.
    missing, impossible : int
        Numbers of other rows: with a missing value or weight, and with zero density in every such class.
        Other rows of weight zero are left out and not counted.
    """

    densities: Floats
    weights: Floats | None
    missing: int
    impossible: int


def estimate_prior(
    fit: FittedModel[Any],
    data: Any,
    options: PriorEstimateOptions,
    missing_policy: MissingPolicy,
    weights: Any,
) -> PriorEstimate:
    """Estimate the class proportions of the rows of a table; see `ClassifierResults.estimate_prior`.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
    options : PriorEstimateOptions
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
        Frequency weights.

    Returns
    -------
    PriorEstimate
        Shares with standard errors, intervals and a test. If the search did not converge, `converged` is
        False and a ConvergenceWarning is issued.

    Raises
    ------
    NotSupportedError
        The model lacks posteriors; or a bootstrap is requested and the fit lacks rows, the batch is not a
        table in memory, or missing columns would be integrated out by the call only.
    DataError
        An option is not valid, `data` is None, or no row is informative about its class.
    """
    fit.require_posteriors("estimate_prior()")
    options.validate()
    if data is None:
        raise DataError(
            "estimate_prior() requires new observations without known classes.",
            hint="Pass a table of them as data=.",
        )
    prior = pd.Series(fit.prior_values(), index=fit.classes, name="prior")
    # Under equal priors scores are log densities, up to a constant of the row.
    rule = fit.rule("equal")
    bootstrap = None
    if options.interval == "bootstrap":
        _raise_if_bootstrap_unsupported(fit, data, missing_policy)
        bootstrap = partial(_bootstrap_proportions, fit, data, missing_policy, weights, options)
    return estimate_proportions(
        _score_batch(fit, rule, data, missing_policy, weights),
        prior,
        options,
        fit.title_in_sentence,
        bootstrap=bootstrap,
    )


def _raise_if_bootstrap_unsupported(fit: FittedModel[Any], data: Any, missing_policy: MissingPolicy) -> None:
    """Raise NotSupportedError if a bootstrap is not possible.

    The fit must have its rows, the batch must be a table in memory, and `missing="integrate"` is supported
    only by models that integrate missing columns out in any case.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    """
    fit.require_rows('interval="bootstrap"', 'use interval="profile"')
    if not isinstance(source_of_rows(data), TableSource):
        raise NotSupportedError(
            'interval="bootstrap" reads the batch once for each sample and requires a table in memory.',
            hint='Pass it as a DataFrame, or a sample of its rows, or use interval="profile".',
        )
    if missing_policy.missing == "integrate" and not fit.spec.integrates_missing:
        raise NotSupportedError(
            'interval="bootstrap" cannot be combined with missing="integrate".',
            hint='Leave out missing="integrate", or use interval="profile".',
        )


def _bootstrap_proportions(
    fit: FittedModel[Any],
    data: Any,
    missing_policy: MissingPolicy,
    weights: Any,
    options: PriorEstimateOptions,
    class_index: NDArray[np.intp],
    start: Floats,
) -> Floats:
    """Estimate class proportions in bootstrap samples of the batch, by refits to samples of the fit's rows.

    Rows of the fit are drawn within classes, and informative rows of the batch in proportion to their
    weights.

    Parameters
    ----------
    fit : FittedModel
    data : table
        The batch.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
        Frequency weights.
    options : PriorEstimateOptions
    class_index : (J,) int
        Positions of the J classes with a positive prior.
    start : (J,) float
        Their prior, the starting value of the search in each sample.

    Returns
    -------
    (B, J) float
        Proportions in each of B samples.
    """
    k = len(fit.classes)
    fit_with_equal_prior = fit.with_prior(np.full(k, 1.0 / k))
    samples = BootstrapSamples(fit.require_rows('interval="bootstrap"'), options.replicates, options.seed)
    design_rows = fit.new_rows(data, missing_policy)
    row_weights = read_weights(weights, design_rows.table)
    bootstrap_proportions = np.empty((options.replicates, len(class_index)))
    with Progress(options.replicates, "class shares of samples") as progress:
        for proportions in bootstrap_proportions:
            rule, _ = samples.sample_rule(fit_with_equal_prior)
            score_blocks = (
                (scores, None if row_weights is None else row_weights[row_slice])
                for row_slice, scores in score_chunks(design_rows, rule, k)
            )
            batch = _informative_rows(score_blocks, class_index, k)
            batch_weights = np.ones(len(batch.densities)) if batch.weights is None else batch.weights
            resampled_counts = samples.rng.multinomial(
                round(batch_weights.sum()), batch_weights / batch_weights.sum()
            ).astype(np.float64)
            is_drawn = resampled_counts > 0
            estimate = estimate_class_proportions(
                batch.densities[is_drawn],
                start,
                resampled_counts[is_drawn],
                tol=options.tol,
                maxiter=options.maxiter,
            )
            proportions[:] = estimate.proportions
            progress(1)
    return bootstrap_proportions


def _score_batch(
    fit: FittedModel[Any], rule: Rule, data: Any, missing_policy: MissingPolicy, weights: Any
) -> Iterator[tuple[Floats, Floats | None]]:
    """Iterate over the scores and weights of the rows of a table or source, chunk by chunk.

    A progress bar counts the scored rows.

    Parameters
    ----------
    fit : FittedModel
    rule : Rule
        Rule under equal priors.
    data : table or source of tables
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
        Frequency weights.

    Yields
    ------
    scores : (m, K) float
        Log densities up to a constant of each row. NaN for a row with a missing value, unless
        `missing_policy` integrates missing columns out.
    weights : (m,) float or None
        Frequency weights, NaN if missing.
    """
    source = source_of_rows(data)
    source.check_weights_are_column(weights)
    columns = dict.fromkeys(
        (*fit.design_rows.design.columns, *([weights] if isinstance(weights, str) else ()))
    )
    with Progress(source.nrows or 0, "rows scored") as progress:
        for chunk, where in table_chunks(source, list(columns)):
            with add_path_to_errors(where):
                design_rows = fit.new_rows(chunk, missing_policy)
                chunk_weights = read_weights(weights, design_rows.table)
                for row_slice, scores in score_chunks(
                    design_rows, fit.integrate_missing(rule, design_rows, "equal"), len(fit.classes)
                ):
                    yield scores, None if chunk_weights is None else chunk_weights[row_slice]
            progress(design_rows.table.nrows)


def estimate_proportions(
    scores: Iterator[tuple[Floats, Floats | None]],
    prior: pd.Series,
    options: PriorEstimateOptions,
    title: str,
    *,
    densities_are_known: bool = False,
    bootstrap: Callable[[NDArray[np.intp], Floats], Floats] | None = None,
) -> PriorEstimate:
    """Estimate class proportions from log densities of rows; a class with a prior of zero stays at zero.

    Parameters
    ----------
    scores : iterator
        Yields log densities (m, K), up to a constant of each row, and weights (m,) or None.
    prior : Series by class
    options : PriorEstimateOptions
    title : str
        Title of the model, for the summary.
    densities_are_known : bool
        Whether the densities are exact and not estimates of a fit; the result then omits the note on
        their error.
    bootstrap : callable, optional
        Function of the positions (J,) of the classes with a positive prior and of this prior (J,), which
        returns proportions (B, J) in B bootstrap samples. It is called after the proportions are estimated.

    Returns
    -------
    PriorEstimate
        If the search did not converge, `converged` is False and a ConvergenceWarning is issued.

    Raises
    ------
    DataError
        No row is informative about its class.
    """
    prior_values = prior.to_numpy(dtype=np.float64)
    class_index = np.flatnonzero(prior_values > 0)
    batch = _informative_rows(scores, class_index, len(prior))
    if not len(batch.densities):
        if not batch.missing and not batch.impossible:
            raise DataError("The batch has no rows.", hint="Pass one or more rows.")
        raise DataError(
            f"No row of the batch is informative about its class: {batch.missing} have a missing value or "
            f"weight, and {batch.impossible} have probability zero in every class.",
            hint="Pass complete rows.",
        )
    with Progress(0, "class shares") as progress:
        estimate = estimate_class_proportions(
            batch.densities,
            prior_values[class_index],
            batch.weights,
            tol=options.tol,
            maxiter=options.maxiter,
            progress=progress,
        )
        if not estimate.converged:
            n_steps = estimate.em_steps + estimate.newton_steps
            slope = np.abs(estimate.slope[estimate.proportions > 0]).max()
            warn_user(
                f"The estimates of the class shares did not converge in {n_steps} steps: the largest slope "
                f"is {slope:.2g}, and tol={options.tol:g}. Pass a larger maxiter= or tol=.",
                ConvergenceWarning,
            )
        bootstrap_proportions = (
            None if bootstrap is None else bootstrap(class_index, prior_values[class_index])
        )
        note = (
            ""
            if densities_are_known
            else KNOWN_DENSITIES_NOTE
            if bootstrap_proportions is None
            else BOOTSTRAP_NOTE
        )
        return PriorEstimate(
            prior, class_index, batch, estimate, options, title, note, bootstrap_proportions, progress
        )


def _informative_rows(
    scores: Iterator[tuple[Floats, Floats | None]], class_index: NDArray[np.intp], n_classes: int
) -> _BatchDensities:
    """Collect the densities of the rows that are informative about their class.

    Parameters
    ----------
    scores : iterator
        Yields log densities (m, K), up to a constant of each row, and weights (m,) or None.
    class_index : (J,) int
        Positions of the classes with a positive prior.
    n_classes : int
        Number of classes.

    Returns
    -------
    _BatchDensities
        Complete rows of positive weight with a positive density in one or more of the J classes; without such
        rows the densities are (0, J). Counts of the incomplete and the impossible rows.
    """
    density_chunks = []
    weights = []
    missing = 0
    impossible = 0
    n_kept = 0
    for chunk, chunk_weights in scores:
        incomplete = np.isnan(chunk).any(axis=1)
        if chunk_weights is not None:
            incomplete |= np.isnan(chunk_weights)
        positive_prior_scores = chunk if len(class_index) == n_classes else chunk[:, class_index]
        is_impossible = ~incomplete & np.isneginf(positive_prior_scores).all(axis=1)
        missing = missing + int(incomplete.sum())
        impossible = impossible + int(is_impossible.sum())
        is_informative = ~(incomplete | is_impossible)
        if chunk_weights is not None:
            is_informative &= chunk_weights > 0
            weights.append(chunk_weights[is_informative])
        density_chunks.append(
            np.ascontiguousarray(densities_relative_to_best(positive_prior_scores[is_informative]))
        )
        n_kept += len(density_chunks[-1])
        raise_if_many_scores(n_kept, len(class_index), "Class shares by the densities")
    densities = np.concatenate(density_chunks) if density_chunks else np.empty((0, len(class_index)))
    return _BatchDensities(densities, np.concatenate(weights) if weights else None, missing, impossible)


class PriorEstimate(SummarizedResults):
    """Class shares of a batch of rows, by maximum likelihood; it may be passed on as `prior=`.

    Attributes
    ----------
    prior : Series by class
        The shares, which sum to one. A share of zero is exactly zero.
    bse : Series by class
        Standard errors, missing for shares of zero and for shares that the rows do not determine. The
        standard errors of other shares treat shares of zero as fixed. With interval="bootstrap", standard
        deviations of the shares in the samples, missing only for classes with a prior of zero.
    table : DataFrame by class
        fit: the prior of the fit. estimate, se, low, high: the share. slope: the slope of the mean
        log-likelihood along the share, minus one; it is 0 for a share above zero, at most 0 for a share of
        zero, and missing for a class with a prior of zero.
    test : TestResult or None
        Likelihood-ratio test that the shares equal the prior of the fit; None if only one class has a
        positive prior.
    nobs : int or float
        Number of rows that are informative about their class, or the sum of their weights.
    missing, impossible : int
        Numbers of rows that are left out: with a missing value or weight, and with probability zero in every
        class.
    steps : dict
        Number of steps of "EM" and of "Newton".
    converged : bool
        Whether the slopes are within `tol` of their values at a maximum.
    shortfall : float
        Upper bound of the difference between the maximum of the log-likelihood and its value: rows times the
        largest slope.
    determined : bool
        Whether there is only one maximum.
    level : float
        Level of the intervals.
    """

    def __init__(
        self,
        prior: pd.Series,
        class_index: NDArray[np.intp],
        batch: _BatchDensities,
        estimate: ClassProportions,
        options: PriorEstimateOptions,
        title: str,
        note: str,
        bootstrap_proportions: Floats | None,
        progress: Callable[[float], object],
    ) -> None:
        """Compute standard errors, intervals and the test of an estimate.

        Parameters
        ----------
        prior : Series of float by class
            Prior of the fit.
        class_index : (J,) int
            Positions of the classes with a positive prior.
        batch : _BatchDensities
            Densities of the informative rows, and numbers of rows that are left out.
        estimate : ClassProportions
            Proportions (J,) of maximum likelihood.
        options : PriorEstimateOptions
        title, note : str
            Title and note of the summary.
        bootstrap_proportions : (B, J) float or None
            Estimates from bootstrap samples, for standard errors and intervals.
        progress : callable
            Called with 1 for each class whose profile likelihood interval is computed.
        """
        classes = prior.index
        densities = batch.densities
        weights = batch.weights
        covariance, is_determined = covariance_of_proportions(densities, estimate.proportions, weights)
        proportions = np.zeros(len(prior))
        slope = np.full(len(prior), np.nan)
        proportions[class_index] = estimate.proportions
        slope[class_index] = estimate.slope
        full_covariance = np.full((len(prior), len(prior)), np.nan)
        if bootstrap_proportions is not None:
            covariance = np.atleast_2d(np.cov(bootstrap_proportions, rowvar=False))
        full_covariance[np.ix_(class_index, class_index)] = covariance
        self._prior = pd.Series(proportions, index=classes, name="prior")
        self._bse = pd.Series(np.sqrt(np.diag(full_covariance)), index=classes, name="se")
        self.nobs: int | float = len(densities) if weights is None else float(weights.sum())
        self.missing = batch.missing
        self.impossible = batch.impossible
        self.steps = {"EM": estimate.em_steps, "Newton": estimate.newton_steps}
        self.converged, self.determined = estimate.converged, bool(is_determined.all())
        self.shortfall = float(self.nobs * max(estimate.slope.max(), 0.0))
        self.level = options.level
        self.test: TestResult | None = None
        if len(class_index) > 1:
            self.test = prior_likelihood_ratio_test(
                densities, estimate.proportions, prior.to_numpy()[class_index], weights
            )
        self._title = title
        self._note = note
        self._interval = options.interval
        self._covariance = full_covariance
        self._zero_prior = classes[np.setdiff1d(np.arange(len(prior)), class_index)]
        self._undetermined = classes[class_index[~is_determined]]
        limits = self._limits(class_index, batch, estimate, options, progress)
        if bootstrap_proportions is not None:
            ends = (1 - options.level) / 2, (1 + options.level) / 2
            limits[0][class_index], high = np.quantile(bootstrap_proportions, ends, axis=0)
            limits[1][class_index] = np.fmax(high, limits[1][class_index])
        columns = {"fit": prior, "estimate": proportions, "se": self.bse, "low": limits[0], "high": limits[1]}
        self._table = pd.DataFrame(columns | {"slope": slope}, index=classes)

    @property
    def prior(self) -> pd.Series:
        """Estimated share of each class."""
        return self._prior.copy()

    @property
    def bse(self) -> pd.Series:
        """Standard error of each share."""
        return self._bse.copy()

    def _limits(
        self,
        class_index: NDArray[np.intp],
        batch: _BatchDensities,
        estimate: ClassProportions,
        options: PriorEstimateOptions,
        progress: Callable[[float], object],
    ) -> tuple[Floats, Floats]:
        """Compute the limits of the intervals of the class proportions, by `options.interval`.

        For "bootstrap" only the limits of shares of zero are computed, from the profile likelihood: the
        caller adds the percentiles.

        Parameters
        ----------
        class_index : (J,) int
            Positions of the classes with a positive prior.
        batch : _BatchDensities
        estimate : ClassProportions
        options : PriorEstimateOptions
        progress : callable
            Called with 1 for each class whose profile likelihood interval is computed.

        Returns
        -------
        low, high : (K,) float
            NaN if the limit is not defined, as for classes with a prior of zero.
        """
        low, high = np.full((2, len(self.prior)), np.nan)
        if options.interval == "wald":
            for k in class_index.tolist():
                low[k], high[k] = logit_interval(self.prior.iloc[k], self.bse.iloc[k], options.level)
        elif len(class_index) > 1:
            densities = batch.densities
            weights = batch.weights
            for j, k in enumerate(class_index.tolist()):
                # If a share is zero, it may be zero in all samples: percentiles are then not a valid limit.
                if options.interval == "bootstrap" and estimate.proportions[j] > 0:
                    continue
                low[k], high[k] = profile_limits(
                    densities, estimate, j, options.level, weights, tol=options.tol, maxiter=options.maxiter
                )
                progress(1)
        return low, high

    @property
    @with_display_formats(every="share", slope="general")
    def table(self) -> pd.DataFrame:
        """Copy of the shares by class: columns fit (prior of the fit), estimate, se, low, high and slope."""
        return self._table.copy()

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the estimated shares, classes by classes; NaN where `bse` is missing."""
        names = self.prior.index
        return pd.DataFrame(self._covariance.copy(), index=names, columns=names)

    def notes(self) -> list[str]:
        """Return notes on shares of zero, undetermined shares, convergence and assumptions, as sentences."""
        zero = self.prior.index[(self.prior == 0) & (self._table["fit"] > 0)]
        sentences = []
        is_bootstrap = self._interval == "bootstrap"
        if len(zero):
            sentences.append(
                f"The likelihood is largest with a share of zero for {join_labels(zero)} and decreases if "
                "this share increases."
                + (
                    ""
                    if is_bootstrap
                    else " The share has no standard error, and the other standard errors treat it as known."
                )
                + (' interval="profile" returns an upper limit.' if self._interval == "wald" else "")
            )
        if len(self._zero_prior):
            sentences.append(
                f"The prior of {join_labels(self._zero_prior)} is zero in the fit and stays fixed at zero."
            )
        if len(self._undetermined):
            classes = join_labels(self._undetermined)
            sentences.append(f"No row distinguishes {classes}: only the sum of their shares is determined.")
        if not self.converged:
            sentences.append("The search did not converge: pass a larger maxiter= or tol=.")
        return [*sentences, self._note] if self._note else sentences

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The shares as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys among "header" and "shares", in the order wanted, or "all"; by default all.
        """
        from discrim.report.tables import summarize

        section_functions: dict[str, Callable[[], Section | Pairs]] = {
            "header": self._header_section,
            "shares": self._shares_section,
        }
        return summarize(f"Class shares of a batch: {self._title}", section_functions, sections)

    def _header_section(self) -> Pairs:
        """Return the first section of the summary: numbers of rows, convergence and the test of the prior."""
        from discrim.report.grid import HeaderItem, Pairs

        steps = " + ".join(map(str, self.steps.values()))
        items: list[HeaderItem] = [
            HeaderItem("Observations", self.nobs, format_count(self.nobs)),
            HeaderItem("Dropped, missing values", self.missing, str(self.missing)),
            HeaderItem("Dropped, probability zero", self.impossible, str(self.impossible)),
            HeaderItem("Steps of EM and of Newton", sum(self.steps.values()), steps),
            HeaderItem("Converged", self.converged, "yes" if self.converged else "no"),
            HeaderItem("Log-likelihood below maximum by at most", self.shortfall, f"{self.shortfall:.1g}"),
        ]
        note = ""
        if self.test is not None:
            # The first line has the statistic, degrees of freedom and p-value.
            line = repr(self.test).partition("\n")[0]
            note = f"Test that the shares equal the prior of the fit: {line}. {self.test.assumes}"
        return Pairs("Maximum likelihood estimates of the class shares", items, note)

    def _shares_section(self) -> Section:
        """Return the section of the shares with their intervals."""
        from discrim.report.grid import SHARED_HEADINGS, Section

        description = INTERVAL_DESCRIPTIONS[self._interval]
        table = self._table.drop(columns="slope")
        return Section(
            f"Shares, with {100 * self.level:g} % intervals {description}",
            table.rename_axis(None),
            dict.fromkeys(table.columns, "share"),
            headings=SHARED_HEADINGS if self.level == 0.95 else {},
            note=" ".join(self.notes()),
            source=".table",
        )
