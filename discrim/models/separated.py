"""What to say where a hyperplane separates classes, and the estimates of a likelihood do not exist."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.logistic import LogisticFit
from discrim.core.rules import posteriors
from discrim.core.separation import SLACK, Separation, separation
from discrim.errors import DataError, DiscrimWarning, SeparationError
from discrim.frame.blocks import Blocks
from discrim.frame.cells import class_cells
from discrim.models.sample import named
from discrim.models.validation import gathered_rows

__all__ = ["Certificate", "certify", "overlap_by_score", "refuse_empty_cells", "settle_separated"]

Floats = NDArray[np.float64]

OVERLAP = "The classes overlap: no hyperplane lies between any of them, and the likelihood has a maximum."

WAYS_OUT = "Pass bias_reduction=True, leave out one of these terms, or use lda()."


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
            said.append(
                f"none of the {rows} row{'s' * (rows > 1)} where {cells.label!r} is {cells.levels[level]!r} "
                f"is of class {classes[code]!r}{more}"
            )
    if said:
        raise SeparationError(
            f"A hyperplane separates the classes in part: {'; '.join(said[:3])}. The likelihood has no "
            "maximum, the estimates would be infinite: merge levels, leave the predictor out, pass "
            "bias_reduction=True, or use lda()."
        )


class Certificate(NamedTuple):
    """Whether a hyperplane lies between the classes of a logistic regression.

    Attributes
    ----------
    kind : {"overlap", "quasi", "complete"}
        Complete where every row lies on its own side; quasi where some rows lie on the plane.
    direction : DataFrame, "constant" and terms by classes
        Linear functions of which each row's own class has the largest, or one as large; zero under overlap.
    margin : float
        Least lead of a row's own class in these functions.
    on_plane : Index
        Rows that lie on the plane between two classes which are separated in part.
    weights : DataFrame, rows by classes, or None
        Under overlap the proof: positive weights of each row's difference from each other class, under
        which the differences cancel. A function that no row contradicts is thus the same for all classes.
    message : str
        The same in words.
    """

    kind: str
    direction: pd.DataFrame
    margin: float
    on_plane: pd.Index
    weights: pd.DataFrame | None
    message: str


def certify(fit: LogisticFit, blocks: Blocks) -> tuple[Certificate, Separation]:
    """The certificate by linear programming, labelled and as it was found."""
    rows = gathered_rows(blocks)
    columns = fit.frame.columns(rows.x)
    guess = np.insert(fit.newton.coef, fit.reference, 0.0, axis=1)
    found = separation(columns, rows.codes, fit.moments.n_classes, guess)
    index = blocks.table.index[rows.positions]
    classes, names = pd.Index(list(blocks.design.levels)), pd.Index(["constant", *blocks.terms], name="term")
    direction = pd.DataFrame(fit.frame.to_data() @ found.coef, index=names, columns=classes)
    if found.weights is not None:
        weights = pd.DataFrame(found.weights, index=index, columns=classes)
        return Certificate("overlap", direction, 0.0, index[[]], weights, OVERLAP), found
    pairs = _pairs(found, columns, rows.codes)
    on_plane = np.unique(np.concatenate([pair.touching for pair in pairs]))
    message = _said(found, pairs, fit, blocks, rows.positions)
    return Certificate(found.kind, direction, found.margin, index[on_plane], None, message), found


def overlap_by_score(fit: LogisticFit, blocks: Blocks) -> Certificate:
    """The certificate that a maximum is: at a score of zero the probabilities are the weights."""
    rule = fit.rule(np.log(fit.counts / fit.counts.sum()))
    rows = gathered_rows(blocks)
    weights = posteriors(rule.scores(rows.x))
    weights[np.arange(len(weights)), rows.codes] = 0.0
    if blocks.weights is not None:
        weights *= blocks.weights[rows.positions][:, None]
    classes, names = pd.Index(list(blocks.design.levels)), pd.Index(["constant", *blocks.terms], name="term")
    index = blocks.table.index[rows.positions]
    return Certificate(
        "overlap",
        pd.DataFrame(0.0, index=names, columns=classes),
        0.0,
        index[[]],
        pd.DataFrame(weights, index=index, columns=classes),
        OVERLAP,
    )


def settle_separated(fit: LogisticFit, blocks: Blocks, maxiter: int, *, warn: bool) -> Certificate | None:
    """What is to be done of a search that did not converge: go on (None), warn, or raise.

    Returns
    -------
    Certificate or None
        None where classes overlap and there are steps left.

    Raises
    ------
    SeparationError
        The classes are separated, wholly or in part, and there is not just to be a warning.
    DataError
        They overlap: more steps will find the maximum.
    """
    certificate, found = certify(fit, blocks)
    if found.kind == "overlap" and fit.newton.steps < maxiter:
        return None
    if found.kind == "overlap":
        raise DataError(
            f"Newton's method has not converged in {maxiter} steps, though the classes overlap and a maximum "
            "exists: raise maxiter=."
        )
    if not warn:
        raise SeparationError(f"{certificate.message} {WAYS_OUT}", found)
    warnings.warn(
        f"{certificate.message} Those given are where the search stopped, and mean nothing; the direction "
        "in which they grow is separation.direction.",
        DiscrimWarning,
        stacklevel=3,
    )
    return certificate


class _Pair(NamedTuple):
    """Two classes between which a hyperplane lies, and the rows of theirs that lie on it."""

    first: int
    second: int
    touching: NDArray[np.intp]


def _pairs(found: Separation, columns: Floats, codes: NDArray[np.intp]) -> list[_Pair]:
    """Pairs of classes of which no row lies on the other's side, and some off the plane."""
    eta = found.coef.T @ columns
    pairs = []
    for b in range(len(eta)):
        for a in range(b):
            rows = np.flatnonzero((codes == a) | (codes == b))
            lead = np.where(codes[rows] == a, 1.0, -1.0) * (eta[a, rows] - eta[b, rows])
            if lead.min() >= -SLACK and lead.max() > SLACK:
                pairs.append(_Pair(a, b, rows[lead <= SLACK]))
    return pairs


def _said(
    found: Separation, pairs: list[_Pair], fit: LogisticFit, blocks: Blocks, positions: NDArray[np.intp]
) -> str:
    # Slopes of columns of unit variance over all rows say which columns the hyperplane uses.
    slopes = fit.frame.covariance.unwhiten(found.coef[1:]) * fit.frame.covariance.sd[:, None]
    weight = np.abs(slopes - slopes.mean(axis=1, keepdims=True)).max(axis=1)
    order = [j for j in np.argsort(-weight) if weight[j] > 1e-6 * weight.max()]
    terms = named(blocks.terms[j] for j in order)
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
            f"side of it but {len(labels)} on it (the first: {named(labels, 3)})."
        )
    return f"{' '.join(said)} The likelihood has no maximum, the estimates would be infinite."


def _who(pairs: list[_Pair], blocks: Blocks) -> str:
    levels = blocks.design.levels
    said = " and ".join(f"{levels[pair.first]!r} from {levels[pair.second]!r}" for pair in pairs[:3])
    return said + (f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else "")
