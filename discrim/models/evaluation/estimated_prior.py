"""Maximum-likelihood estimation of class proportions among unlabelled rows, with intervals.

`estimated_prior` is the implementation of `ClassifierResults.estimate_prior`; `shares_of` also serves models
with known class densities. The likelihood is maximized in `discrim.inference.class_shares`.
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
from discrim.data.sources.parts import TableSource
from discrim.data.sources.sources import rows_given
from discrim.design.blocks import weight_vector
from discrim.design.source_tables import given_parts
from discrim.errors import ConvergenceWarning, DataError, NotSupportedError, naming_file, warn_user
from discrim.inference.class_shares import (
    ClassShares,
    class_shares,
    covariance_of_shares,
    densities_over_best,
    profile_limits,
    ratio_to_prior,
)
from discrim.inference.error_rates import check_level, logit_interval
from discrim.inference.result import TestResult
from discrim.models.base.displayed import Shown, displayed, number
from discrim.models.base.fit import FittedModel, Gaps
from discrim.models.base.reading import check_number, check_whole, check_word, listed
from discrim.models.base.scores import scored
from discrim.models.evaluation.validation import BootstrapSamples, refuse_many_scores

if TYPE_CHECKING:
    from discrim.report.grid import Pairs, Section
    from discrim.report.tables import Summary


ESTIMATED = (
    "The distributions of the classes, and the fit's prior, are taken as known. If the fit has few rows, its "
    "own error adds to this, and interval='bootstrap' includes it. If the classes now have other "
    "distributions, no standard error shows it, but assess() of labelled rows of the batch does."
)

DRAWN = (
    "Standard errors and intervals come from fits to rows drawn again within classes, on rows drawn "
    "again from the batch. They do not show whether the classes now have other distributions than in "
    "the fit, but assess() of labelled rows of the batch does."
)

INTERVALS = {
    "wald": "(Wald's, on the logit scale)",
    "profile": "of the profile likelihood",
    "bootstrap": "of the bootstrap's percentiles",
}
"""Descriptions of the kinds of intervals."""


class SharesSearch(NamedTuple):
    """Options of `ClassifierResults.estimate_prior`, with the same names."""

    tol: float = 1e-10
    maxiter: int = 200
    level: float = 0.95
    interval: str = "wald"
    replicates: int = 200
    seed: int | None = None

    def checked(self) -> SharesSearch:
        """Return self after validation; raise DataError for an option that is not valid."""
        check_number("tol", self.tol, 0, 1, ends="()", what="a small number", also=", such as 1e-10")
        check_whole("maxiter", self.maxiter, 1)
        check_level(self.level)
        check_word("interval", self.interval, ("wald", "profile", "bootstrap"))
        return self


class _Batch(NamedTuple):
    """Class densities of the rows of a batch that are informative about their class.

    Attributes
    ----------
    densities : (n, J) float
        Densities of the J classes with a positive prior, relative to the largest of each row.
    weights : (n,) float or None
    missing, impossible : int
        Number of other rows: with a missing value, or with zero density in every such class.
    """

    densities: Floats
    weights: Floats | None
    missing: int
    impossible: int


def estimated_prior(
    fit: FittedModel[Any], data: Any, search: SharesSearch, gaps: Gaps, weights: Any
) -> PriorEstimate:
    """Estimate the class proportions of the rows of a table; see `ClassifierResults.estimate_prior`.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
    search : SharesSearch
    gaps : Gaps
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
    """
    fit.need_posteriors("estimate_prior()")
    search.checked()
    if data is None:
        raise DataError(
            "estimate_prior() needs rows whose classes are not known.", hint="Pass a table of them."
        )
    prior = pd.Series(fit.prior_values(), index=fit.classes, name="prior")
    # Under equal priors scores are log densities, up to a constant of the row.
    rule = fit.rule("equal")
    draws = None
    if search.interval == "bootstrap":
        _refuse_bootstrap(fit, data, gaps)
        draws = partial(_drawn, fit, data, gaps, weights, search)
    return shares_of(
        _scores(fit, rule, data, gaps, weights), prior, search, fit.title_in_sentence, draws=draws
    )


def _refuse_bootstrap(fit: FittedModel[Any], data: Any, gaps: Gaps) -> None:
    """Raise NotSupportedError if the fit cannot be refitted, or the batch cannot be read again.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
    gaps : Gaps
    """
    fit.rows('interval="bootstrap"', 'use interval="profile"')
    if not isinstance(rows_given(data), TableSource):
        raise NotSupportedError(
            'interval="bootstrap" reads the batch for each sample.',
            hint='Pass it as a DataFrame, or a sample of its rows, or use interval="profile".',
        )
    if gaps.missing == "integrate" and not fit.spec.integrates_missing:
        raise NotSupportedError(
            'interval="bootstrap" uses complete rows.',
            hint='Leave out missing="integrate", or use interval="profile".',
        )


def _drawn(
    fit: FittedModel[Any],
    data: Any,
    gaps: Gaps,
    weights: Any,
    search: SharesSearch,
    free: NDArray[np.intp],
    start: Floats,
) -> Floats:
    """Estimate class proportions in bootstrap samples of the batch, by fits to bootstrap samples of the rows.

    Parameters
    ----------
    fit : FittedModel
    data : table
        The batch.
    gaps : Gaps
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
    search : SharesSearch
    free : (J,) int
        Positions of the classes with a positive prior.
    start : (J,) float
        Their prior, at which the search starts.

    Returns
    -------
    (B, J) float
        Proportions in each of B samples.
    """
    k = len(fit.classes)
    equal = fit.under(np.full(k, 1.0 / k))
    samples = BootstrapSamples(fit.rows('interval="bootstrap"'), search.replicates, search.seed)
    blocks = fit.new_rows(data, gaps)
    row_weights = weight_vector(weights, blocks.table)
    sample = np.empty((search.replicates, len(free)))
    with Progress(search.replicates, "class shares of samples") as progress:
        for shares in sample:
            rule, _ = samples.rule(equal)
            pieces = (
                (scores, None if row_weights is None else row_weights[place])
                for place, scores in scored(blocks, rule, k)
            )
            batch = _informative(pieces, free, k)
            base = np.ones(len(batch.densities)) if batch.weights is None else batch.weights
            times = samples.rng.multinomial(round(base.sum()), base / base.sum()).astype(np.float64)
            there = times > 0
            drawn = class_shares(
                batch.densities[there], start, times[there], tol=search.tol, maxiter=search.maxiter
            )
            shares[:] = drawn.shares
            progress(1)
    return sample


def _scores(
    fit: FittedModel[Any], rule: Rule, data: Any, gaps: Gaps, weights: Any
) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield scores (m, K) and weights (m,) of the rows of a table or source, chunk by chunk.

    Parameters
    ----------
    fit : FittedModel
    rule : Rule
        Rule under equal priors.
    data : table or source of tables
    gaps : Gaps
    weights : column name, (n,) array or None
    """
    source = rows_given(data)
    source.refuse_vector(weights)
    columns = dict.fromkeys(
        (*fit.design_rows.design.columns, *([weights] if isinstance(weights, str) else ()))
    )
    with Progress(source.nrows or 0, "rows scored") as progress:
        for part, where in given_parts(source, list(columns)):
            with naming_file(where):
                blocks = fit.new_rows(part, gaps)
                vector = weight_vector(weights, blocks.table)
                for place, scores in scored(blocks, fit.in_part(rule, blocks, "equal"), len(fit.classes)):
                    yield scores, None if vector is None else vector[place]
            progress(blocks.table.nrows)


def shares_of(
    scores: Iterator[tuple[Floats, Floats | None]],
    prior: pd.Series,
    search: SharesSearch,
    title: str,
    *,
    known: bool = False,
    draws: Callable[[NDArray[np.intp], Floats], Floats] | None = None,
) -> PriorEstimate:
    """Estimate class proportions from log densities of rows; a class with a prior of zero stays at zero.

    Parameters
    ----------
    scores : iterator
        Yields log densities (m, K), up to a constant of each row, and weights (m,) or None.
    prior : Series by class
    search : SharesSearch
    title : str
        Title of the model.
    known : bool
        Whether the densities are known exactly, and not estimates of a fit.
    draws : callable, optional
        Function of the positions (J,) of the classes with a positive prior and of this prior (J,), which
        returns proportions (B, J) in bootstrap samples.

    Returns
    -------
    PriorEstimate
    """
    start = prior.to_numpy(dtype=np.float64)
    free = np.flatnonzero(start > 0)
    batch = _informative(scores, free, len(prior))
    if not len(batch.densities):
        if not batch.missing and not batch.impossible:
            raise DataError("The batch has no rows, and so no shares.", hint="Pass one or more.")
        raise DataError(
            f"No row of the batch says anything of its class: {batch.missing} miss a value or a weight, "
            f"and {batch.impossible} have probability zero in every class.",
            hint="Pass rows that are complete.",
        )
    with Progress(0, "class shares") as progress:
        estimate = class_shares(
            batch.densities,
            start[free],
            batch.weights,
            tol=search.tol,
            maxiter=search.maxiter,
            progress=progress,
        )
        if not estimate.converged:
            steps = estimate.em_steps + estimate.newton_steps
            slope = np.abs(estimate.slope[estimate.shares > 0]).max()
            warn_user(
                f"The class shares did not converge in {steps} steps: their largest slope is {slope:.2g}, "
                f"tol={search.tol:g}. Pass a larger maxiter= or tol=.",
                ConvergenceWarning,
            )
        sample = None if draws is None else draws(free, start[free])
        note = "" if known else ESTIMATED if sample is None else DRAWN
        return PriorEstimate(prior, free, batch, estimate, search, title, note, sample, progress)


def _informative(scores: Iterator[tuple[Floats, Floats | None]], free: NDArray[np.intp], k: int) -> _Batch:
    """Collect the densities of the rows that are informative about their class.

    Parameters
    ----------
    scores : iterator
        Yields log densities (m, K) and weights (m,) or None.
    free : (J,) int
        Positions of the classes with a positive prior.
    k : int
        Number of classes.
    """
    parts = []
    weights = []
    missing = 0
    impossible = 0
    kept = 0
    for piece, piece_weights in scores:
        incomplete = np.isnan(piece).any(axis=1)
        if piece_weights is not None:
            incomplete |= np.isnan(piece_weights)
        part = piece if len(free) == k else piece[:, free]
        none = ~incomplete & np.isneginf(part).all(axis=1)
        missing = missing + int(incomplete.sum())
        impossible = impossible + int(none.sum())
        there = ~(incomplete | none)
        if piece_weights is not None:
            there &= piece_weights > 0
            weights.append(piece_weights[there])
        parts.append(np.ascontiguousarray(densities_over_best(part[there])))
        kept += len(parts[-1])
        refuse_many_scores(kept, len(free), "Class shares by the densities")
    densities = np.concatenate(parts) if parts else np.empty((0, len(free)))
    return _Batch(densities, np.concatenate(weights) if weights else None, missing, impossible)


class PriorEstimate(Shown):
    """Class shares of a batch of rows, by maximum likelihood; it may be passed on as `prior=`.

    Attributes
    ----------
    prior : Series by class
        The shares, which sum to one. A share of zero is exactly zero.
    bse : Series by class
        Standard errors, missing for shares of zero and for shares that the rows do not determine. The
        standard errors of other shares treat shares of zero as fixed.
    table : DataFrame by class
        fit: the prior of the fit. estimate, se, low, high: the share. slope: the slope of the mean
        log-likelihood along the share, minus one; it is 0 for a share above zero, and at most 0 for a share
        of zero.
    test : TestResult
        Likelihood-ratio test that the shares equal the prior of the fit.
    nobs : int or float
        Number of rows that are informative about their class, or the sum of their weights.
    missing, impossible : int
        Numbers of rows that are left out: with a missing value, and with probability zero in every class.
    steps : dict
        Number of steps of "EM" and of "Newton".
    converged : bool
        Whether the slopes are within `tol` of their values at a maximum.
    shortfall : float
        How far the log-likelihood is below its maximum at most: rows times the largest slope.
    determined : bool
        Whether there is only one maximum.
    level : float
        Level of the intervals.
    """

    def __init__(
        self,
        prior: pd.Series,
        free: NDArray[np.intp],
        batch: _Batch,
        estimate: ClassShares,
        search: SharesSearch,
        title: str,
        note: str,
        sample: Floats | None,
        progress: Callable[[float], object],
    ) -> None:
        classes = prior.index
        densities = batch.densities
        weights = batch.weights
        covariance, known = covariance_of_shares(densities, estimate.shares, weights)
        shares = np.zeros(len(prior))
        slope = np.full(len(prior), np.nan)
        shares[free] = estimate.shares
        slope[free] = estimate.slope
        whole = np.full((len(prior), len(prior)), np.nan)
        if sample is not None:
            covariance = np.atleast_2d(np.cov(sample, rowvar=False))
        whole[np.ix_(free, free)] = covariance
        self._prior = pd.Series(shares, index=classes, name="prior")
        self._bse = pd.Series(np.sqrt(np.diag(whole)), index=classes, name="se")
        self.nobs: int | float = len(densities) if weights is None else float(weights.sum())
        self.missing = batch.missing
        self.impossible = batch.impossible
        self.steps = {"EM": estimate.em_steps, "Newton": estimate.newton_steps}
        self.converged, self.determined = estimate.converged, bool(known.all())
        self.shortfall = float(self.nobs * max(estimate.slope.max(), 0.0))
        self.level = search.level
        self.test: TestResult | None = None
        if len(free) > 1:
            self.test = ratio_to_prior(densities, estimate.shares, prior.to_numpy()[free], weights)
        self._title = title
        self._note = note
        self._interval = search.interval
        self._covariance = whole
        self._zero_prior = classes[np.setdiff1d(np.arange(len(prior)), free)]
        self._undetermined = classes[free[~known]]
        limits = self._limits(free, batch, estimate, search, progress)
        if sample is not None:
            ends = (1 - search.level) / 2, (1 + search.level) / 2
            limits[0][free], high = np.quantile(sample, ends, axis=0)
            limits[1][free] = np.fmax(high, limits[1][free])
        columns = {"fit": prior, "estimate": shares, "se": self.bse, "low": limits[0], "high": limits[1]}
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
        free: NDArray[np.intp],
        batch: _Batch,
        estimate: ClassShares,
        search: SharesSearch,
        progress: Callable[[float], object],
    ) -> tuple[Floats, Floats]:
        """Compute the limits of the intervals of the class proportions.

        Parameters
        ----------
        free : (J,) int
            Positions of the classes with a positive prior.
        batch : _Batch
        estimate : ClassShares
        search : SharesSearch
        progress : callable
            Called with 1 for each class.

        Returns
        -------
        low, high : (K,) float
            NaN if the limit is not defined.
        """
        low, high = np.full((2, len(self.prior)), np.nan)
        if search.interval == "wald":
            for k in free.tolist():
                low[k], high[k] = logit_interval(self.prior.iloc[k], self.bse.iloc[k], search.level)
        elif len(free) > 1:
            densities = batch.densities
            weights = batch.weights
            for j, k in enumerate(free.tolist()):
                # If a share is zero, it may be zero in all samples: percentiles are then not a valid limit.
                if search.interval == "bootstrap" and estimate.shares[j] > 0:
                    continue
                low[k], high[k] = profile_limits(
                    densities, estimate, j, search.level, weights, tol=search.tol, maxiter=search.maxiter
                )
                progress(1)
        return low, high

    @property
    @displayed(every="share", slope="general")
    def table(self) -> pd.DataFrame:
        """Prior of the fit, estimated shares, standard errors and intervals, by class."""
        return self._table.copy()

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the estimated shares, classes by classes; shares of zero are treated as fixed."""
        names = self.prior.index
        return pd.DataFrame(self._covariance.copy(), index=names, columns=names)

    def notes(self) -> list[str]:
        """Return notes on shares of zero, undetermined shares, convergence and assumptions, as sentences."""
        zero = self.prior.index[(self.prior == 0) & (self._table["fit"] > 0)]
        said = []
        drawn = self._interval == "bootstrap"
        if len(zero):
            said.append(
                f"The likelihood is largest with a share of zero for {listed(zero)}: it falls with any "
                "other."
                + ("" if drawn else " No standard error goes with it, and the other ones take it as known.")
                + (' interval="profile" gives an upper limit.' if self._interval == "wald" else "")
            )
        if len(self._zero_prior):
            said.append(f"The fit's prior of {listed(self._zero_prior)} is zero, and is held there.")
        if len(self._undetermined):
            classes = listed(self._undetermined)
            said.append(f"No row tells {classes} apart: only the sum of their shares is determined.")
        if not self.converged:
            said.append("The search did not converge: pass a larger maxiter= or tol=.")
        return [*said, self._note] if self._note else said

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The shares as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order, or "all"; by default all.
        """
        from discrim.report.tables import summarize

        parts: dict[str, Callable[[], Section | Pairs]] = {"header": self._header, "shares": self._section}
        return summarize(f"Class shares of a batch: {self._title}", parts, sections)

    def _header(self) -> Pairs:
        from discrim.report.grid import HeaderItem, Pairs

        steps = " + ".join(map(str, self.steps.values()))
        items: list[HeaderItem] = [
            HeaderItem("Rows used", self.nobs, number(self.nobs)),
            HeaderItem("Rows left out, missing", self.missing, str(self.missing)),
            HeaderItem("Rows left out, impossible", self.impossible, str(self.impossible)),
            HeaderItem("Steps of EM and of Newton", sum(self.steps.values()), steps),
            HeaderItem("Converged", self.converged, "yes" if self.converged else "no"),
            HeaderItem("Below the maximum by at most", self.shortfall, f"{self.shortfall:.1g}"),
        ]
        note = ""
        if self.test is not None:
            # The first line has the statistic, degrees of freedom and p-value.
            line = repr(self.test).partition("\n")[0]
            note = f"Are the shares those of the fit's prior? {line}. {self.test.assumes}"
        return Pairs("Shares of maximum likelihood", items, note)

    def _section(self) -> Section:
        from discrim.report.grid import INTERVAL, Section

        kind = INTERVALS[self._interval]
        table = self._table.drop(columns="slope")
        return Section(
            f"Shares, with {100 * self.level:g} % intervals {kind}",
            table.rename_axis(None),
            dict.fromkeys(table.columns, "share"),
            headings=INTERVAL if self.level == 0.95 else {},
            note=" ".join(self.notes()),
            source=".table",
        )
