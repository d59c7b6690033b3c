"""The certificate of separation under the names of rows, columns and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.planes.separation import SLACK, Separation
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import GatheredRows
from discrim.models.fits.shown import shown_briefly

if TYPE_CHECKING:
    from discrim.report.grid import Part
    from discrim.report.tables import Summary

__all__ = ["Certificate", "Pair", "labelled", "separated_pairs"]

Floats = NDArray[np.float64]

SAID = {
    "complete": "A hyperplane lies between classes, with every row on its own side.",
    "quasi": "A hyperplane lies between classes, with some rows on it.",
    "overlap": "No hyperplane lies between classes.",
}


@shown_briefly
class Certificate(NamedTuple):
    """Whether a hyperplane lies between classes, with the proof of it.

    Attributes
    ----------
    kind : {"overlap", "quasi", "complete"}
        "complete" where every row lies on its own side, "quasi" where some rows lie on the plane, and
        "overlap" where there is no such plane.
    direction : DataFrame, "constant" and terms by classes
        Linear functions of the columns. No class has a larger function at a row than the row's own class.
        They are zero under overlap.
    margin : float
        The smallest lead of a row's own class in these functions.
    on_plane : Index
        Rows that lie on the plane between two classes, which are then separated in part.
    weights : DataFrame, rows by classes, or None
        The proof of overlap: positive weights of the difference of each row from each other class, with which
        the differences cancel. A function that no row contradicts is therefore the same for all classes.
    mixture : Series by row, or None
        The same proof for two classes, by few rows: weights that sum to one in each class, with which the
        rows of both classes have the same mean.
    message : str
        The same in words.
    """

    kind: str
    direction: pd.DataFrame
    margin: float
    on_plane: pd.Index
    weights: pd.DataFrame | None = None
    mixture: pd.Series | None = None
    message: str = ""

    def _brief(self) -> Summary:
        from discrim.report.tables import Pairs, Section, Summary

        proof = "weights of rows" if self.weights is not None else "mixtures of rows"
        overlap = self.kind == "overlap"
        items = [
            ("Kind", self.kind, self.kind),
            ("Proof", "", proof if overlap else "linear functions"),
            ("Margin", self.margin, f"{self.margin:.6g}"),
            ("Rows on the plane", len(self.on_plane), str(len(self.on_plane))),
        ]
        parts: dict[str, Part] = {"header": Pairs(SAID[self.kind], items, self.message)}
        if not overlap:
            title = "Linear functions, of which a row's own class has the largest"
            direction = self.direction.rename_axis(index=None, columns=None)
            errors = np.full(len(direction), np.inf)
            parts["direction"] = Section(title, direction, errors=errors, source=".direction")
        return Summary("Separation", parts)


def labelled(found: Separation, to_data: Floats, blocks: Blocks, rows: GatheredRows) -> Certificate:
    """A certificate from one of arrays.

    Parameters
    ----------
    found : Separation
    to_data : (p + 1, r + 1) float
        Takes coefficients of its columns to those of the data.
    blocks : Blocks
    rows : GatheredRows
        That it is of.
    """
    index = blocks.table.index[rows.positions]
    classes = pd.Index(list(blocks.design.levels), name=blocks.design.response)
    names = pd.Index(["constant", *blocks.terms], name="term")
    direction = pd.DataFrame(to_data @ found.coef, index=names, columns=classes)
    weights = None if found.weights is None else pd.DataFrame(found.weights, index=index, columns=classes)
    on_plane = index[found.on_plane] if found.kind == "quasi" else index[:0]
    return Certificate(found.kind, direction, found.margin, on_plane, weights)


class Pair(NamedTuple):
    """Two classes between which a hyperplane lies, and the rows of theirs that lie on it."""

    first: int
    second: int
    touching: NDArray[np.intp]


def separated_pairs(found: Separation, columns: Floats, codes: NDArray[np.intp]) -> list[Pair]:
    """Pairs of classes of which no row lies on the other's side, and some off the plane.

    A linear program leaves rows on the wrong side by a slack in units of its own: what the certificate leaves
    to any row is on the plane.
    """
    eta = found.coef.T @ columns
    slack = max(SLACK, float((eta - eta[codes, np.arange(len(codes))]).max()))
    pairs = []
    for b in range(len(eta)):
        for a in range(b):
            rows = np.flatnonzero((codes == a) | (codes == b))
            lead = np.where(codes[rows] == a, 1.0, -1.0) * (eta[a, rows] - eta[b, rows])
            if lead.max() > slack:
                pairs.append(Pair(a, b, rows[lead <= slack]))
    return pairs
