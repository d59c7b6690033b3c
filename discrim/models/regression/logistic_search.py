"""The search for the maximum of a logistic regression's likelihood, and what is said where there is none.

Designs are refused before or after a first pass over the rows. Where a hyperplane separates classes there is
no maximum: a certificate proves it, and the message names classes, columns and rows. What needs a maximum is
here too: profiles of the likelihood, and the results object of statsmodels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.hyperplanes.separation import Separation, evened_rows, separation
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory
from discrim.core.numerics.map_reduce import CountedPasses
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_isf
from discrim.core.regression.logistic import PENALIZED_STEPS, Even, LogisticFit, fit_logistic
from discrim.core.regression.profile_likelihood import profile_bounds
from discrim.core.rules.rules import posteriors
from discrim.data.values import shown
from discrim.design.blocks import Blocks
from discrim.design.rows import GatheredRows, gathered_rows, used_codes
from discrim.design.slopes import class_cells
from discrim.errors import (
    CollinearError,
    DataError,
    NotSupportedError,
    SeparationError,
    SeparationWarning,
    warn_user,
)
from discrim.inference.error_rates import check_level
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.models.hyperplanes.hyperplane import (
    Certificate,
    ClassPair,
    labelled_certificate,
    separated_pairs,
)

OVER_ALL = "over all rows"

WRITTEN = 2**23
"""Numbers that a formula makes up to which they are kept: to make them takes longer than their products."""

COPIES = 3
"""Times that the information is in memory: as it is, factorised, and inverted."""

MOST_COEFFICIENTS = 10_000
"""Coefficients whose information is formed: each step over it takes their cube, some minutes here."""

MOST_CODED = 2000
"""Coefficients of categories up to which they are fitted: their information grows by the square."""


def cached_rows(blocks: Blocks, most: int) -> RowBlocks:
    """The rows as they are, or copied where they are few, so that no pass makes them again.

    Rows that workers have stay there. Few are no more than `most` numbers, or than `WRITTEN` where a formula
    makes the columns.
    """
    return blocks.rows.copied(blocks, most if blocks.design.plain else max(most, WRITTEN))


def check_search(tol: Any, maxiter: Any) -> None:
    """Raise a DataError for a tolerance or a number of steps that is none."""
    reading.check_whole("maxiter", maxiter, 1, what="a whole number of steps")
    reading.check_number("tol", tol, 0, 1, ends="()")


def refuse_no_freedom_left(rows: int, terms: tuple[str, ...], *, bias_reduction: bool) -> None:
    """Raise where there are too few rows for a constant and the columns."""
    p = len(terms)
    if 0 < rows <= p:
        penalty = "pass penalty='ridge'" + (" and leave out bias_reduction=" if bias_reduction else "")
        raise CollinearError(
            f"{rows} rows are too few for a constant and {p} columns ({reading.listed(terms)}).",
            hint=(
                f'Name fewer columns, {penalty}, or use lda(covariance="shrunk"). With so few rows '
                'collinear="drop" leaves separated '
                f"classes{'' if bias_reduction else ', which also need bias_reduction=True'}."
            ),
        )


def refuse_many_coefficients(count: int, columns: int, n_classes: int, others: str) -> None:
    """Raise, before any is formed, where the matrix of second derivatives would be too large."""
    what = f"The information of {count:,} coefficients ({columns:,} columns, {n_classes:,} classes)"
    hint = f"Merge rare classes or name fewer columns, or {others}."
    refuse_beyond_memory(COPIES * float(count) ** 2, what, hint)
    if count > MOST_COEFFICIENTS:
        raise DataError(
            f"{what} has {count:,} times {count:,} numbers, and logistic() forms that of "
            f"{MOST_COEFFICIENTS:,} coefficients at the most: above, a step takes many minutes.",
            hint=hint,
        )


def refuse_many_levels(blocks: Blocks) -> None:
    """Raise, before a product of columns is formed, where there are too many coefficients."""
    spec = blocks.design.spec
    n_classes = len(blocks.design.levels)
    count = (len(blocks.terms) + 1) * max(n_classes - 1, 1)
    refuse_many_coefficients(count, len(blocks.terms), n_classes, "use lda(), naive_bayes() or knn()")
    if spec is None:
        return
    coded = {
        ":".join(spec.factors[factor].code for factor, _ in parts): math.prod(spec.widths(parts))
        for parts in spec.products
        if any(coding >= 0 for _, coding in parts)
    }
    coefficients = sum(coded.values()) * (n_classes - 1)
    if coefficients > MOST_CODED:
        widest = max(coded, key=lambda code: coded[code])
        raise DataError(
            f"Categories have {coefficients:,} coefficients for {n_classes} classes, and {widest!r} most "
            f"of them with {coded[widest]:,} columns. logistic() takes {MOST_CODED:,}: beyond, a fit "
            "takes minutes and gigabytes.",
            hint=f"Merge rare levels, or leave the predictor out, as in `. - {widest}`.",
        )


def without_collinear(
    blocks: Blocks, moments: ClassMoments, *, drop: bool, instead: str = ""
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments without columns that are constant over all rows, or combinations of others."""
    collinear = dependencies(moments.as_one())
    if not collinear:
        return blocks, moments
    if not drop:
        raise reading.collinear_error(
            collinear, blocks.terms, OVER_ALL, instead=instead, can_drop=not instead
        )
    return reading.drop_columns(blocks, moments, collinear, OVER_ALL)


FEW = 2**20
"""Numbers of a table up to which its rows stay in memory for the many passes of several searches."""


def parts_of(blocks: Blocks) -> dict[str, tuple[int, ...]]:
    """The formula's terms, each with the positions of its columns in the rows."""
    kept = range(len(blocks.design.terms)) if blocks.keep is None else blocks.keep
    position = {column: j for j, column in enumerate(kept)}
    parts = {
        part.label: tuple(position[j] for j in part.columns if j in position)
        for part in blocks.design.parts()
    }
    return {label: columns for label, columns in parts.items() if columns}


def profile_intervals(fit: FittedModel[LogisticFit], level: float, index: pd.Index) -> pd.DataFrame:
    """Intervals by the profile of each coefficient; see `LogisticResults.conf_int`.

    The index is that of its rows, (class, term).
    """
    check_level(level)
    blocks = rows_with_maximum(fit, 'method="profile"')
    rows = cached_rows(blocks, FEW)
    bounds = profile_bounds(fit.estimates, rows, float(chi2_isf(1 - level, 1)))
    table = pd.DataFrame({side: bounds[i].T.ravel() for i, side in enumerate(("low", "high"))}, index=index)
    if table.isna().any(axis=None):
        unfinished = table.index[table.isna().any(axis=1)]
        raise DataError(
            f"The profile of {reading.listed(unfinished)} could not be followed to its bound.",
            hint='Use method="wald", or scale the columns of the formula.',
        )
    return table


def refuse_no_maximum(fit: FittedModel[LogisticFit], what: str) -> None:
    """Raise where the search did not end at a maximum."""
    if not fit.estimates.newton.converged:
        raise NotSupportedError(
            f"{what} needs finite estimates, and there are none where a hyperplane separates classes.",
            hint="Fit with bias_reduction=True.",
            options={"bias_reduction": True},
        )


def rows_with_maximum(fit: FittedModel[LogisticFit], what: str) -> Blocks:
    """The rows of a fit whose search ended at a maximum."""
    refuse_no_maximum(fit, what)
    return fit.rows(what)


def check_statsmodels(fit: FittedModel[LogisticFit]) -> None:
    """Raise NotSupportedError if statsmodels has no such model, or the fit has no estimates or rows."""
    if fit.estimates.bias_reduction:
        raise NotSupportedError(
            "statsmodels has no logistic regression with Firth's penalty.",
            hint="Fit with bias_reduction=False.",
        )
    if rows_with_maximum(fit, "to_statsmodels()").weights is not None:
        raise NotSupportedError(
            "statsmodels' Logit and MNLogit have no frequency weights.",
            hint="Repeat the rows, as in data.loc[data.index.repeat(weights)], and fit without weights=.",
        )


def to_statsmodels(fit: FittedModel[LogisticFit]) -> Any:
    """Results of statsmodels at the estimates; see `LogisticResults.to_statsmodels`."""
    blocks = rows_with_maximum(fit, "to_statsmodels()")
    from statsmodels.base.model import LikelihoodModelResults
    from statsmodels.discrete import discrete_model

    estimates = fit.estimates
    exog, codes = _design(fit, blocks)
    response = str(fit.classes.name)
    if len(fit.classes) == 2:
        event = estimates.others[0]
        endog = pd.Series((codes == event).astype(np.float64), index=exog.index)
        model = discrete_model.Logit(endog.rename(f"{response}={fit.classes[event]}"), exog, check_rank=False)
        results = discrete_model.LogitResults
        wrapper = discrete_model.BinaryResultsWrapper
        params = estimates.params()[:, 0]
    else:
        order = [estimates.reference, *estimates.others]
        categories: Any = fit.classes[order]
        labels = pd.Categorical.from_codes(np.argsort(order)[codes], categories)
        endog = pd.Series(labels, index=exog.index, name=response)
        model = discrete_model.MNLogit(endog, exog, check_rank=False)
        results = discrete_model.MultinomialResults
        wrapper = discrete_model.MultinomialResultsWrapper
        params = estimates.params()
    # Its own search would begin again from raw columns, whose offsets and units cost digits.
    kind = "nonrobust" if estimates.robust is None else estimates.robust.kind
    ended = LikelihoodModelResults(model, params, estimates.cov_params(), scale=1.0)
    ended.cov_type = kind
    ended.mle_retvals = {"converged": True, "iterations": estimates.newton.steps}
    ended.mle_settings = {"optimizer": "newton", "start_params": params}
    return wrapper(results(model, ended))


def _design(fit: FittedModel[LogisticFit], blocks: Blocks) -> tuple[pd.DataFrame, Codes]:
    """The design of the rows of a fit, the constant first, and their classes."""
    rows = gathered_rows(blocks)
    values = np.column_stack([np.ones(len(rows.x)), rows.x])
    index = blocks.table.index[rows.positions]
    return pd.DataFrame(values, index=index, columns=["constant", *fit.terms]), rows.codes


PASSES = "logistic regression, passes over the rows"

FAR = 1e3
"""How many times the middle distance of rows from their median a row is away that is far."""

ANY = 1e-20
"""Share of the information at the class proportions that is enough beside far rows."""

NOT_FINITE = 2**14
"""Numbers of a table up to which its rows stay in memory for a search."""

OVERLAP = "The classes overlap: no hyperplane lies between any of them, and the likelihood has a maximum."


def refuse_empty_cells(blocks: Blocks) -> None:
    """Raise where a category has rows, but none of some class: the indicator of the category separates.

    A pass over the labels shows it, before any product of columns is formed.
    """
    classes = blocks.design.levels
    said = []
    for cells in class_cells(blocks):
        present = cells.rows.sum(axis=0) > 0
        empty = (cells.rows == 0) & present & (cells.rows.sum(axis=1) > 0)[:, None]
        at = np.argwhere(empty)
        if len(at):
            level, code = at[0]
            rows = int(cells.rows[level].sum())
            bare = int(empty.any(axis=1).sum())
            verb = "misses" if bare == 2 else "miss"
            more = f" and {bare - 1:,} more of its {len(cells.levels):,} levels {verb} a class" * (bare > 1)
            where = f"where {cells.label!r} is {cells.levels[level]!r}"
            label = shown(classes[code])
            several = f"none of the {rows:,} rows {where} is of class {label}"
            said.append((several if rows > 1 else f"the only row {where} is not of class {label}") + more)
    if said:
        raise SeparationError(
            f"A hyperplane separates the classes in part: {'; '.join(said[:3])}. The likelihood has no "
            "maximum, the estimates would be infinite.",
            hint="Merge levels, leave the predictor out, pass bias_reduction=True, or use lda().",
            options={"bias_reduction": True},
        )


def certify(fit: LogisticFit, blocks: Blocks) -> Certificate:
    """The certificate by linear programming."""
    rows = gathered_rows(blocks)
    columns = fit.frame.columns(rows.x)
    guess = np.insert(fit.newton.coef, fit.reference, 0.0, axis=1)
    with Progress(0, "separation of the classes") as progress:
        proof = separation(columns, rows.codes, fit.moments.n_classes, guess, progress)
        if proof.kind == "quasi":
            proof = _overlap_of_far_rows(proof, rows, fit.moments.n_classes)
    certificate = labelled_certificate(proof, fit.frame.to_data(), blocks, rows)
    if proof.kind == "overlap":
        return certificate._replace(message=OVERLAP)
    pairs = separated_pairs(proof, columns, rows.codes)
    on_plane = np.unique(np.concatenate([pair.touching for pair in pairs]))
    index = blocks.table.index[rows.positions]
    message = _separation_message(proof, pairs, fit, blocks, rows.positions)
    return certificate._replace(on_plane=index[on_plane], message=message)


def _overlap_of_far_rows(proof: Separation, rows: GatheredRows, n_classes: int) -> Separation:
    """A separation in part, or that there is none where all but a few far rows seemed to lie on the plane."""
    with np.errstate(over="ignore", invalid="ignore"):
        even = evened_rows(rows.x) if np.isfinite(np.ptp(rows.x, axis=0)).all() else None
    if even is None or not FAR < even.size.max() < np.inf:
        return proof
    of_even = separation(even.columns, rows.codes, n_classes)
    if of_even.weights is None:
        return proof
    weights = of_even.weights / even.size[:, None]
    weights /= weights[weights > 0].min()
    return Separation("overlap", np.zeros_like(proof.coef), 0.0, np.arange(len(rows.codes)), weights)


def refitted_terms(fit: LogisticFit, terms: tuple[str, ...], blocks: Blocks) -> LogisticFit | None:
    """The fit of such terms to other weights of the rows, or other columns; None where it has no maximum."""
    codes = used_codes(blocks)
    weights = None if blocks.weights is None else blocks.weights[codes >= 0]
    counts = np.bincount(codes[codes >= 0], weights, len(blocks.design.levels)).astype(np.float64)
    begun = fit if blocks.terms == terms else fit.of_columns(reading.class_moments(blocks, "pooled"))
    refit = begun.refit(cached_rows(blocks, 0), counts)
    if refit is not None or fit.bias_reduction or not (counts > 0).all():
        return refit
    x = gathered_rows(blocks.unweighted()).x
    with np.errstate(over="ignore", invalid="ignore"):
        if not evened_rows(x).size.max() > FAR:
            return refit
    # Far rows have most of the information of the columns of all rows, so that the others seem to have none.
    begun = fit.of_columns(reading.class_moments(blocks, "pooled"))
    return begun.refit(cached_rows(blocks, 0), counts, ANY)


def overlap_by_score(fit: LogisticFit, blocks: Blocks) -> Certificate:
    """The certificate that a maximum is: at a score of zero the probabilities are the weights."""
    rule = fit.rule(np.log(fit.counts / fit.counts.sum()))
    rows = gathered_rows(blocks)
    weights = posteriors(rule.scores(rows.x))
    weights[np.arange(len(weights)), rows.codes] = 0.0
    if rows.weights is not None:
        weights *= rows.weights[:, None]
    coef = np.zeros((len(fit.frame.scale) + 1, weights.shape[1]))
    proof = Separation("overlap", coef, 0.0, np.zeros(0, dtype=np.intp), weights)
    return labelled_certificate(proof, fit.frame.to_data(), blocks, rows)._replace(message=OVERLAP)


def _settle_separated(fit: LogisticFit, blocks: Blocks, *, warn: bool) -> Certificate | None:
    """What becomes of a search that did not converge: a warning or an error; None where classes overlap."""
    certificate = certify(fit, blocks)
    if certificate.kind == "overlap":
        return None
    if not warn:
        # The covariance of many columns takes shrinkage.
        moments = fit.moments
        wide = moments.n_columns > moments.rows.sum() - moments.n_classes
        other = 'lda(covariance="shrunk")' if wide else "lda()"
        less = "leave out one of these terms, " if moments.n_columns > 1 else ""
        raise SeparationError(
            certificate.message,
            hint=f"Pass bias_reduction=True, {less}or use {other}.",
            options={"bias_reduction": True},
            certificate=certificate,
        )
    warn_user(
        f"{certificate.message} The estimates that are given are those at which the search stopped, "
        "and mean nothing; separation.direction is the direction in which they grow.",
        SeparationWarning,
    )
    return certificate


def _refuse_unfinished(fit: LogisticFit, maxiter: int) -> None:
    """Raise a DataError where classes overlap and the search has not found the maximum."""
    steps = fit.newton.steps
    if fit.newton.converged:
        return
    cause = ""
    hint = "Raise maxiter=."
    if steps < maxiter:
        cause = (
            ": rounding has stopped the search, for example if weights differ by orders of magnitude, or one "
            "row is as far from the others"
        )
        hint = "Bring the weights closer, correct the row, or leave it out."
    raise DataError(
        f"Newton's method has not converged in {steps} step{'s' * (steps != 1)}, though the classes overlap "
        f"and a maximum exists{cause}.",
        hint=hint,
    )


def searched(
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    reference: int,
    estimated_prior: bool,
    tol: float,
    maxiter: int,
    bias_reduction: bool,
    warn: bool,
) -> tuple[LogisticFit, Certificate | None]:
    """The fit, as of `regression.logistic.fit_logistic`, and the certificate where classes are separated."""
    table = cached_rows(blocks, NOT_FINITE)
    with Progress(0, PASSES) as progress:
        rows = CountedPasses(table, progress)
        fit = fit_logistic(
            rows, moments, prior, reference=reference, estimated_prior=estimated_prior, tol=tol,
            maxiter=maxiter, bias_reduction=bias_reduction,
        )  # fmt: skip
    certificate = None
    if not fit.newton.converged and bias_reduction:
        raise _unfinished_penalized(fit, maxiter)
    if not fit.newton.converged:
        certificate = _settle_separated(fit, blocks, warn=warn)
        even = None
        if blocks.weights is not None:
            ones = np.where(blocks.weights > 0, 1.0, blocks.weights)
            even = Even(blocks.with_weights(ones), moments.rows.astype(np.float64))
        with Progress(0, PASSES) as progress:
            rows = CountedPasses(table, progress)
            fit = fit.resume(rows, tol, maxiter, overlap=certificate is None, even=even)
    if certificate is None:
        _refuse_unfinished(fit, maxiter)
    return fit, certificate


def _unfinished_penalized(fit: LogisticFit, maxiter: int) -> DataError:
    steps = fit.newton.steps
    message = f"The penalized likelihood has not converged in {steps} step{'s' * (steps != 1)}"
    if steps >= PENALIZED_STEPS * maxiter:
        return DataError(f"{message}.", hint="Raise maxiter=.")
    weight = float(fit.counts.sum())
    rows = int(fit.moments.rows.sum())
    if weight > 1e3 * rows:
        return DataError(
            f"{message}, and more would not help: next to weights that sum to {weight:.3g} over {rows:,} "
            "rows the penalty is lost in rounding.",
            hint="Divide the weights by their mean.",
        )
    return DataError(
        f"{message}, and more would not help: rounding has stopped the search.",
        hint="Leave out columns that few rows have, or merge rare classes.",
    )


def _separation_message(
    proof: Separation, pairs: list[ClassPair], fit: LogisticFit, blocks: Blocks, positions: Codes
) -> str:
    # Slopes of columns of unit variance over all rows say which columns the hyperplane uses.
    slopes = fit.frame.covariance.unwhiten(proof.coef[1:]) * fit.frame.covariance.sd[:, None]
    weight = np.abs(slopes - slopes.mean(axis=1, keepdims=True)).max(axis=1)
    order = [j for j in np.argsort(-weight) if weight[j] > 1e-6 * weight.max()]
    terms = reading.listed(blocks.terms[j] for j in order)
    complete = [pair for pair in pairs if not len(pair.touching)]
    touching = [pair for pair in pairs if len(pair.touching)]
    said = []
    if complete:
        said.append(
            f"A hyperplane separates {_who(complete, blocks)} by {terms}: every row lies on its own side."
        )
    if touching:
        on_plane = np.unique(np.concatenate([pair.touching for pair in touching]))
        labels = [blocks.table.label(int(positions[i])) for i in on_plane]
        said.append(
            f"A hyperplane separates {_who(touching, blocks)} in part, by {terms}: no row lies on the wrong "
            f"side of it but {len(labels)} on it (the first: {reading.listed(labels, 3)}): quasi-separation."
        )
    return f"{' '.join(said)} The likelihood has no maximum, the estimates would be infinite."


def _who(pairs: list[ClassPair], blocks: Blocks) -> str:
    levels = blocks.design.levels
    said = " and ".join(f"{levels[pair.first]!r} from {levels[pair.second]!r}" for pair in pairs[:3])
    more = len(pairs) - 3
    return said + (f" and {more} more {'pair' if more == 1 else 'pairs'}" if more > 0 else "")
