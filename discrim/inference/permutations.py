"""Labels shuffled as chance may have dealt them, and how often they do as well as the true ones.

Theory. If the columns say nothing of the class, every labelling that keeps what the design fixed was as
likely as the one that was seen. With P of them drawn, of which b give a statistic as large as the one seen or
larger, p = (1 + b) / (1 + P) is exact: no more than a share alpha of tables without a relation have p <=
alpha (Phipson & Smyth, 2010, Statistical Applications in Genetics and Molecular Biology 9, 39).

Rows of one animal, patient or site are alike. Shuffled one by one they would lose that likeness, and their
true labels would look better than chance for no other reason (Mundry & Sommer, 2007, Animal Behaviour 74,
965-976). There are two designs. Where each group is of one class ("nested"), groups are what was labelled,
and they exchange labels as wholes. Where groups have rows of several classes ("crossed"), labels are shuffled
among the rows of each group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["Shuffle", "mixed_unit", "permutation_pvalue"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

TIE = 1e-12
"""Rates that differ by rounding are equal."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """How labels are shuffled: units exchange them within blocks.

    Attributes
    ----------
    units : (m,) int
        Unit of each row, numbered from 0; its rows have one label.
    labels : (U,) int
        Class of each unit.
    blocks : (U,) int
        Block of each unit, numbered from 0.
    """

    units: Codes
    labels: Codes
    blocks: Codes

    @classmethod
    def of(cls, codes: Codes, units: Codes | None, blocks: Codes | None) -> Shuffle:
        """Of the classes (m,) of rows, their units (each its own without them) and blocks (one without)."""
        own = np.arange(len(codes)) if units is None else np.unique(units, return_inverse=True)[1]
        within = np.zeros(len(codes), dtype=np.intp) if blocks is None else blocks
        _, first = np.unique(own, return_index=True)
        numbered = np.unique(within[first], return_inverse=True)[1]
        return cls(own.astype(np.intp), codes[first], numbered.astype(np.intp))

    def codes(self, rng: np.random.Generator) -> Codes:
        """Classes (m,) of the rows after a shuffle."""
        order = rng.permutation(len(self.labels))
        order = order[np.argsort(self.blocks[order], kind="stable")]
        shuffled = np.empty_like(self.labels)
        shuffled[np.argsort(self.blocks, kind="stable")] = self.labels[order]
        return np.asarray(shuffled[self.units])

    def log_labellings(self) -> float:
        """Logarithm of the number of different labellings."""
        counts = np.zeros((int(self.blocks.max()) + 1, int(self.labels.max()) + 1))
        np.add.at(counts, (self.blocks, self.labels), 1.0)
        return float((gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)).sum())


def mixed_unit(codes: Codes, units: Codes) -> tuple[int, int, int] | None:
    """A unit with rows of two values, and these; None where each has one."""
    first = np.zeros(int(units.max()) + 1, dtype=np.intp)
    first[units[::-1]] = codes[::-1]
    other = np.flatnonzero(first[units] != codes)
    if not len(other):
        return None
    at = int(other[0])
    return int(units[at]), int(first[units[at]]), int(codes[at])


def permutation_pvalue(seen: float, drawn: Floats) -> float:
    """(1 + b) / (1 + P) of P statistics drawn, b of which are as large as the one seen or larger.

    Examples
    --------
    >>> import numpy as np
    >>> permutation_pvalue(0.9, np.array([0.5, 0.6, 0.9]))
    0.5
    """
    return float((1 + (drawn >= seen - TIE).sum()) / (1 + len(drawn)))
