"""Scores of rows under the partial least squares fitted without each of them, many rows at once.

Theory. With d a row less the mean of all N, w its weight and g its class, the sums of products of the others
are

    T - c d d',   c = w N / (N - w),      and      n_k' (m_k' - m') = n_k (m_k - m) + d e_k,

with e_k = n_k' w / (N - w), less w for k = g, and n_k' the counts without the row. So both are those of all
rows but for one direction, and the components follow from products with T and with d, which is never formed
into a matrix: with the sums of products S = A'B and r the rotation of a component, its loadings are T r / r'T
r, and those of the indicators S'r / r'T r. What a component explains is then taken out of S alone (Dayal &
MacGregor, 1997, Journal of Chemometrics 11, 73-85). Standard deviations and sizes of indicators are those of
the rows that are left. The scores have the covariance U - c_g h h' within classes, h the row less the mean of
its class in the direction of each rotation, whose inverse is Sherman and Morrison's.

Where a difference has lost digits the scores are missing, and the row is left to a refit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.coordinates import standard_columns
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.weights import LIGHT
from discrim.core.rules.leave_one_out import SPOILT

__all__ = ["Whole", "left_out_scores"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

PIECE = 2**18
"""Numbers of a row-by-class-by-column array that are held at once."""

LEAST = 1e-3
"""Share of a column's sum of squares that a row may leave before the difference has lost digits."""

NOTHING = 1e-12
"""Share of the squares of A'B up to which what is left of it is rounding."""

WIDE = 2.0
"""Columns for a row of the table that stands for all, from which it is not multiplied with itself first."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What all rows say, and how the others are fitted.

    Attributes
    ----------
    moments : ClassMoments
    origin, centre, unit : (p,) float
        A row is (x - origin) * scale - centre, over the units of the regression.
    columns : (K + r, p) float
        The table that stands for all rows; those within classes come after the K of the means.
    components : int
    algorithm, decides : str
        As of the fit.
    scale, scaled_indicators : bool
    """

    moments: ClassMoments
    origin: Floats
    centre: Floats
    unit: Floats
    columns: Floats
    components: int
    algorithm: str
    decides: str
    scale: bool
    scaled_indicators: bool


@dataclass(frozen=True, slots=True)
class _Products:
    """Products with the table of all rows.

    Attributes
    ----------
    whole : Whole
    products : (p, p) float or None
        A'A, where columns are few.
    squares : (p,) float
        Its diagonal.
    means : (K, p) float
        Class means less the mean of all rows.
    """

    whole: Whole
    products: Floats | None
    squares: Floats
    means: Floats

    @staticmethod
    def of(whole: Whole) -> _Products:
        """Made once for all rows."""
        columns = whole.columns
        wide = columns.shape[1] > WIDE * columns.shape[0]
        means = (whole.moments.means_from(whole.origin) - whole.centre) / whole.unit
        return _Products(whole, None if wide else columns.T @ columns, (columns**2).sum(axis=0), means)

    @property
    def sides(self) -> Floats:
        """Sums of products (K, p) of the indicators and the columns."""
        return self.whole.moments.counts[:, None] * self.means

    def times(self, v: Floats) -> Floats:
        """Rows v (m, p) times A'A."""
        if self.products is not None:
            return np.asarray(v @ self.products)
        return np.asarray(v @ self.whole.columns.T @ self.whole.columns)

    def within(self, v: Floats) -> Floats:
        """Rows v (m, p) times the transposed root (r, p) of the scatter within classes."""
        return np.asarray(v @ self.whole.columns[len(self.means) :].T)


class _Without(NamedTuple):
    """What goes with each row of a piece.

    Attributes
    ----------
    d : (m, p) float
        The row less the mean of all.
    codes : (m,) int
    out, lift : (m,) float
        The weight that goes, w, and c.
    counts : (m, K) float
        What is left of the classes.
    total : (m,) float
    edge : (m, K) float
        e_k.
    factor : (m, p) float
        What columns are multiplied by for the units that the others have.
    sizes : (m, K) float
        What the indicators are divided by.
    spoilt : (m,) bool
    """

    d: Floats
    codes: Codes
    out: Floats
    lift: Floats
    counts: Floats
    total: Floats
    edge: Floats
    factor: Floats
    sizes: Floats
    spoilt: NDArray[np.bool_]


class _Component(NamedTuple):
    """One component of each row's others: its rotation over the units, loadings and slopes of indicators.

    Attributes
    ----------
    turn : (m, p) float
        What columns in the units of all rows are multiplied by.
    y_loadings : (m, K) float
    """

    turn: Floats
    y_loadings: Floats


def left_out_scores(
    whole: Whole, x: Floats, codes: Codes, weights: Floats | None, log_prior: Floats
) -> Floats:
    """Leave-one-out scores (m, K), prior and number of components held; missing where a refit is needed.

    Parameters
    ----------
    whole : Whole
    x : (m, p) float
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row's weight is left out.
    log_prior : (K,) float
    """
    of_all = _Products.of(whole)
    step = max(PIECE // max(of_all.means.size, 1), 1)
    scores = np.empty((len(x), len(log_prior)))
    for start in range(0, len(x), step):
        some = slice(start, start + step)
        z = standard_columns(x[some], whole.origin, whole.moments.scale) - whole.centre[:, None]
        out = np.ones(z.shape[1]) if weights is None else np.minimum(weights[some], 1.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            held = _without(of_all, (z / whole.unit[:, None]).T, codes[some], out)
            scores[some] = _scores(of_all, held, log_prior)
            scores[some][held.spoilt] = np.nan
    return scores


def _without(of_all: _Products, d: Floats, codes: Codes, out: Floats) -> _Without:
    whole = of_all.whole
    own = np.equal(codes[:, None], np.arange(len(of_all.means)))
    counts = whole.moments.counts - own * out[:, None]
    total = whole.moments.total - out
    lift = out * whole.moments.total / total
    edge = counts * (out / total)[:, None] - own * out[:, None]
    factor = np.ones_like(d)
    spoilt = (counts[own] <= EPS * whole.moments.total) | (total <= counts.shape[1] * (1 + LIGHT))
    if whole.scale:
        left = of_all.squares - lift[:, None] * d**2
        spoilt |= (left <= LEAST * of_all.squares).any(axis=1)
        left[spoilt] = 1.0
        factor = np.sqrt(np.divide((total - 1)[:, None], left, out=np.zeros_like(d), where=left > 0))
    sizes = np.ones_like(counts)
    if whole.scaled_indicators:
        sizes = np.sqrt(counts * (1 - counts / total[:, None]) / (total - 1)[:, None])
    return _Without(d, codes, out, lift, counts, total, edge, factor, sizes, spoilt)


def _components(of_all: _Products, held: _Without) -> list[_Component]:
    """The components without each row; marks rows whose components have lost digits."""
    whole = of_all.whole
    base = of_all.sides
    product = (base[None] + held.edge[:, :, None] * held.d[:, None, :]) * held.factor[:, None, :]
    product /= held.sizes[:, :, None]
    least = NOTHING * np.einsum("mkp,mkp->m", product, product)
    found: list[_Component] = []
    rotations: list[Floats] = []
    loadings: list[Floats] = []
    for _ in range(whole.components):
        values, vectors = np.linalg.eigh(_finite(product @ np.swapaxes(product, 1, 2), held.spoilt))
        held.spoilt[values[:, -1] <= least] = True
        w = np.einsum("mk,mkp->mp", vectors[:, :, -1], product)
        w /= np.sqrt((w**2).sum(axis=1))[:, None]
        r = w.copy()
        if whole.algorithm == "nipals":
            for earlier, turned in zip(loadings, rotations, strict=True):
                r -= (earlier * w).sum(axis=1)[:, None] * turned
        turn = held.factor * r
        gone = (held.d * turn).sum(axis=1)
        all_rows = of_all.times(turn)
        squares = (all_rows * turn).sum(axis=1)
        left = squares - held.lift * gone**2
        held.spoilt[~(left > SPOILT * squares)] = True
        p = held.factor * (all_rows - (held.lift * gone)[:, None] * held.d) / left[:, None]
        sides = np.einsum("mkp,mp->mk", product, r)
        found.append(_Component(turn, sides / left[:, None]))
        rotations.append(r)
        if whole.algorithm == "nipals":
            loadings.append(p)
            product -= sides[:, :, None] * p[:, None, :]
        else:
            own = p.copy()
            for _ in range(2):
                for earlier in loadings:
                    own -= (earlier * own).sum(axis=1)[:, None] * earlier
            own /= np.sqrt((own**2).sum(axis=1))[:, None]
            loadings.append(own)
            product -= np.einsum("mkp,mp->mk", product, own)[:, :, None] * own[:, None, :]
    return found


def _finite(products: Floats, spoilt: NDArray[np.bool_]) -> Floats:
    """Symmetric matrices (m, q, q) with the identity in the place of those that are not finite."""
    wrong = spoilt | ~np.isfinite(products).all(axis=(1, 2))
    spoilt |= wrong
    products[wrong] = np.eye(products.shape[1])
    return products


def _scores(of_all: _Products, held: _Without, log_prior: Floats) -> Floats:
    """Scores (m, K) of the rows of a piece."""
    whole = of_all.whole
    components = _components(of_all, held)
    share = whole.moments.total / held.total
    base = of_all.sides
    along = np.stack([(held.d * each.turn).sum(axis=1) for each in components], axis=1)
    t = along * share[:, None]
    if whole.decides == "max":
        slopes = np.stack([each.y_loadings for each in components], axis=2) * held.sizes[:, :, None]
        scores = held.counts / held.total[:, None] + np.einsum("mka,ma->mk", slopes, t)
        return np.asarray(scores)
    sides = np.stack([each.turn @ base.T for each in components], axis=2)
    centroids = (sides + held.edge[:, :, None] * along[:, None, :]) / held.counts[:, :, None]
    gaps = t[:, None, :] - centroids
    if whole.decides == "centroid":
        return np.asarray(-0.5 * (gaps**2).sum(axis=2))
    within = np.stack([of_all.within(each.turn) for each in components], axis=1)
    spread = _finite(within @ np.swapaxes(within, 1, 2), held.spoilt)
    rows = np.arange(len(t))
    own = whole.moments.counts[held.codes]
    lift = held.out * own / held.counts[rows, held.codes]
    h = along - np.stack([each.turn @ of_all.means.T for each in components], axis=2)[rows, held.codes]
    sizes = np.sqrt(np.einsum("maa->ma", spread))
    unit = spread / sizes[:, :, None] / sizes[:, None, :]
    held.spoilt[np.linalg.eigvalsh(_finite(unit, held.spoilt))[:, 0] <= EPS**0.5] = True
    unit[held.spoilt] = np.eye(unit.shape[1])
    sides = np.concatenate([gaps, h[:, None, :]], axis=1) / sizes[:, None, :]
    solved = np.linalg.solve(unit, np.swapaxes(sides, 1, 2))
    left = 1.0 - lift * (sides[:, -1] * solved[:, :, -1]).sum(axis=1)
    held.spoilt[~(left > SPOILT)] = True
    d2 = np.einsum("mka,mak->mk", sides[:, :-1], solved[:, :, :-1])
    cross = np.einsum("ma,mak->mk", sides[:, -1], solved[:, :, :-1])
    d2 += (lift / left)[:, None] * cross**2
    free = held.total - len(log_prior)
    return np.asarray(log_prior - 0.5 * free[:, None] * d2)
