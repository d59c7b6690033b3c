"""What to say where a hyperplane separates classes, and the estimates of a likelihood do not exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar, watched
from discrim.core.planes.evened_rows import evened_rows
from discrim.core.planes.separation import Separation, separation
from discrim.core.regression.logistic import PENALIZED_STEPS, Even, LogisticFit, fit_logistic
from discrim.core.rules.rules import posteriors
from discrim.errors import DataError, SeparationError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.cells import class_cells
from discrim.frame.used_rows import GatheredRows, gathered_rows, used_codes
from discrim.models.fits.arguments import listed
from discrim.models.fits.reading import class_moments
from discrim.models.planes.separation_certificate import Certificate, Pair, labelled, separated_pairs
from discrim.models.regression.logistic_design import held

__all__ = ["certify", "overlap_by_score", "refitted", "refuse_empty_cells", "searched"]

Floats = NDArray[np.float64]

PASSES = "logistic regression, passes over the rows"

FAR = 1e3
"""How many times the middle distance of rows from their median a row is away that is far."""

ANY = 1e-20
"""Share of the information at the class proportions that is enough beside far rows."""

HELD = 2**14
"""Numbers of a table up to which its rows are held for a search."""

NO_ROWS = np.zeros(0, dtype=np.intp)

OVERLAP = "The classes overlap: no hyperplane lies between any of them, and the likelihood has a maximum."


def refuse_empty_cells(blocks: Blocks) -> None:
    """Raise where a category has rows, but none of some class: the indicator of the category separates.

    A pass over the labels shows it, before any product of columns is formed.

    Raises
    ------
    SeparationError
        Predictors, categories and classes are named.
    """
    classes = blocks.design.levels
    said = []
    for cells in class_cells(blocks):
        present = cells.rows.sum(axis=0) > 0
        empty = (cells.rows == 0) & present & (cells.rows.sum(axis=1) > 0)[:, None]
        found = np.argwhere(empty)
        if len(found):
            level, code = found[0]
            rows, bare = int(cells.rows[level].sum()), int(empty.any(axis=1).sum())
            verb = "misses" if bare == 2 else "miss"
            more = f" and {bare - 1:,} more of its {len(cells.levels):,} levels {verb} a class" * (bare > 1)
            where, label = f"where {cells.label!r} is {cells.levels[level]!r}", shown(classes[code])
            several = f"none of the {rows:,} rows {where} is of class {label}"
            said.append((several if rows > 1 else f"the only row {where} is not of class {label}") + more)
    if said:
        raise SeparationError(
            f"A hyperplane separates the classes in part: {'; '.join(said[:3])}. The likelihood has no "
            "maximum, the estimates would be infinite: merge levels, leave the predictor out, pass "
            "bias_reduction=True, or use lda()."
        )


def certify(fit: LogisticFit, blocks: Blocks) -> Certificate:
    """The certificate by linear programming."""
    rows = gathered_rows(blocks)
    columns = fit.frame.columns(rows.x)
    guess = np.insert(fit.newton.coef, fit.reference, 0.0, axis=1)
    with late_bar(0, "separation of the classes") as tell:
        found = separation(columns, rows.codes, fit.moments.n_classes, guess, tell)
        if found.kind == "quasi":
            found = _overlap_of_far_rows(found, rows, fit.moments.n_classes)
    certificate = labelled(found, fit.frame.to_data(), blocks, rows)
    if found.kind == "overlap":
        return certificate._replace(message=OVERLAP)
    pairs = separated_pairs(found, columns, rows.codes)
    on_plane = np.unique(np.concatenate([pair.touching for pair in pairs]))
    index = blocks.table.index[rows.positions]
    message = _said(found, pairs, fit, blocks, rows.positions)
    return certificate._replace(on_plane=index[on_plane], message=message)


def _overlap_of_far_rows(found: Separation, rows: GatheredRows, n_classes: int) -> Separation:
    """A separation in part, or that there is none where all but a few far rows seemed to lie on the plane."""
    with np.errstate(over="ignore", invalid="ignore"):
        even = evened_rows(rows.x) if np.isfinite(np.ptp(rows.x, axis=0)).all() else None
    if even is None or not FAR < even.size.max() < np.inf:
        return found
    again = separation(even.columns, rows.codes, n_classes)
    if again.weights is None:
        return found
    weights = again.weights / even.size[:, None]
    weights /= weights[weights > 0].min()
    return Separation("overlap", np.zeros_like(found.coef), 0.0, np.arange(len(rows.codes)), weights)


def refitted(fit: LogisticFit, terms: tuple[str, ...], blocks: Blocks) -> LogisticFit | None:
    """The fit of such terms to other weights of the rows, or other columns; None where it has no maximum."""
    codes = used_codes(blocks)
    weights = None if blocks.weights is None else blocks.weights[codes >= 0]
    counts = np.bincount(codes[codes >= 0], weights, len(blocks.design.levels)).astype(np.float64)
    own = fit if blocks.terms == terms else fit.of_columns(class_moments(blocks, "pooled"))
    found = own.refit(held(blocks, 0), counts)
    if found is not None or fit.bias_reduction or not (counts > 0).all() or not _has_far_rows(blocks):
        return found
    # Far rows have most of the information of the columns of all rows, so that the others seem to have none.
    own = fit.of_columns(class_moments(blocks, "pooled"))
    return own.refit(held(blocks, 0), counts, ANY)


def _has_far_rows(blocks: Blocks) -> bool:
    """Whether a row of the table lies far from the middle of the others."""
    whole = blocks.unweighted()
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(evened_rows(gathered_rows(whole).x).size.max() > FAR)


def _ways_out(fit: LogisticFit) -> str:
    """What can be done about separated classes: the covariance of many columns takes shrinkage."""
    moments = fit.moments
    wide = moments.n_columns > moments.rows.sum() - moments.n_classes
    other = 'lda(covariance="shrunk")' if wide else "lda()"
    less = "leave out one of these terms, " if moments.n_columns > 1 else ""
    return f"Pass bias_reduction=True, {less}or use {other}."


def overlap_by_score(fit: LogisticFit, blocks: Blocks) -> Certificate:
    """The certificate that a maximum is: at a score of zero the probabilities are the weights."""
    rule = fit.rule(np.log(fit.counts / fit.counts.sum()))
    rows = gathered_rows(blocks)
    weights = posteriors(rule.scores(rows.x))
    weights[np.arange(len(weights)), rows.codes] = 0.0
    if blocks.weights is not None:
        weights *= blocks.weights[rows.positions][:, None]
    none = Separation(
        "overlap", np.zeros((len(fit.frame.scale) + 1, weights.shape[1])), 0.0, NO_ROWS, weights
    )
    return labelled(none, fit.frame.to_data(), blocks, rows)._replace(message=OVERLAP)


def settle_separated(fit: LogisticFit, blocks: Blocks, *, warn: bool) -> Certificate | None:
    """What is to be done of a search that did not converge: go on (None), warn, or raise.

    Returns
    -------
    Certificate or None
        None where classes overlap.

    Raises
    ------
    SeparationError
        The classes are separated, wholly or in part, and there is not just to be a warning.
    """
    certificate = certify(fit, blocks)
    if certificate.kind == "overlap":
        return None
    if not warn:
        raise SeparationError(f"{certificate.message} {_ways_out(fit)}", certificate)
    warn_user(
        f"{certificate.message} The estimates that are given are those at which the search stopped, "
        "and mean nothing; separation.direction is the direction in which they grow."
    )
    return certificate


def refuse_unfinished(fit: LogisticFit, maxiter: int) -> None:
    """Raise a DataError where classes overlap and the search has not found the maximum."""
    steps = fit.newton.steps
    if fit.newton.converged:
        return
    lost = (
        "rounding has lost the way, as where weights differ by orders of magnitude, or one row lies as far "
        "from the others: bring them closer, correct the row, or leave it out"
    )
    why = "raise maxiter=" if steps >= maxiter else lost
    raise DataError(
        f"Newton's method has not converged in {steps} step{'s' * (steps != 1)}, though the classes overlap "
        f"and a maximum exists: {why}."
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
    """The fit, as of `regression.logistic.fit_logistic`, and the certificate where classes are separated.

    Raises
    ------
    SeparationError
        There is no maximum, and there is not just to be a warning.
    DataError
        There is one, and the search has not found it.
    """
    table = held(blocks, HELD)
    with watched(table, PASSES) as rows:
        fit = fit_logistic(
            rows,
            moments,
            prior,
            reference=reference,
            estimated_prior=estimated_prior,
            tol=tol,
            maxiter=maxiter,
            bias_reduction=bias_reduction,
        )
    certificate = None
    if not fit.newton.converged and bias_reduction:
        raise DataError(_unfinished_penalized(fit, maxiter))
    if not fit.newton.converged:
        certificate = settle_separated(fit, blocks, warn=warn)
        even = None
        if blocks.weights is not None:
            ones = np.where(blocks.weights > 0, 1.0, blocks.weights)
            even = Even(replace(blocks, held_weights=ones), moments.rows.astype(np.float64))
        with watched(table, PASSES) as rows:
            fit = fit.resume(rows, tol, maxiter, overlap=certificate is None, even=even)
    if certificate is None:
        refuse_unfinished(fit, maxiter)
    return fit, certificate


def _unfinished_penalized(fit: LogisticFit, maxiter: int) -> str:
    steps = fit.newton.steps
    said = f"The penalized likelihood has not converged in {steps} step{'s' * (steps != 1)}"
    if steps >= PENALIZED_STEPS * maxiter:
        return f"{said}: raise maxiter=."
    weight, rows = float(fit.counts.sum()), int(fit.moments.rows.sum())
    if weight > 1e3 * rows:
        return (
            f"{said}, and more would not help: beside weights that sum to {weight:.3g} over {rows:,} rows "
            "the penalty is lost in rounding. Divide the weights by their mean."
        )
    return (
        f"{said}, and more would not help: rounding has lost the way. Leave out columns that few rows have, "
        "or merge rare classes."
    )


def _said(
    found: Separation, pairs: list[Pair], fit: LogisticFit, blocks: Blocks, positions: NDArray[np.intp]
) -> str:
    # Slopes of columns of unit variance over all rows say which columns the hyperplane uses.
    slopes = fit.frame.covariance.unwhiten(found.coef[1:]) * fit.frame.covariance.sd[:, None]
    weight = np.abs(slopes - slopes.mean(axis=1, keepdims=True)).max(axis=1)
    order = [j for j in np.argsort(-weight) if weight[j] > 1e-6 * weight.max()]
    terms = listed(blocks.terms[j] for j in order)
    apart = [pair for pair in pairs if not len(pair.touching)]
    touching = [pair for pair in pairs if len(pair.touching)]
    said = []
    if apart:
        said.append(
            f"A hyperplane separates {_who(apart, blocks)} by {terms}: every row lies on its own side."
        )
    if touching:
        on_plane = np.unique(np.concatenate([pair.touching for pair in touching]))
        labels = [blocks.table.label(int(positions[i])) for i in on_plane]
        said.append(
            f"A hyperplane separates {_who(touching, blocks)} in part, by {terms}: no row lies on the wrong "
            f"side of it but {len(labels)} on it (the first: {listed(labels, 3)}): quasi-separation."
        )
    return f"{' '.join(said)} The likelihood has no maximum, the estimates would be infinite."


def _who(pairs: list[Pair], blocks: Blocks) -> str:
    levels = blocks.design.levels
    said = " and ".join(f"{levels[pair.first]!r} from {levels[pair.second]!r}" for pair in pairs[:3])
    more = len(pairs) - 3
    return said + (f" and {more} more {'pair' if more == 1 else 'pairs'}" if more > 0 else "")
