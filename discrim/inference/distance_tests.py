"""Tests of a linear model by permutation: of distances between rows, of several responses, and of spread.

*Distances.* With d_ij the distance of two of n rows, A = (-d_ij^2 / 2) and G = (I - 11'/n) A (I - 11'/n)
(Gower, 1966, Biometrika 53, 325-338), the sum of squares of a projection P in the space of the rows is
tr(P G), and tr(G) is the total: the mean over the rows of the sum of squared distances. For Euclidean
distances G = Y Y' with Y the centred rows, and the sums of squares are those of the responses, added up.
Other distances may have no Euclidean space, and G negative eigenvalues. With P_t the projection on the q
directions of a term, and P on those of the whole model, whose residuals have v degrees of freedom,

    pseudo-F = (tr(P_t G) / q) / (tr((I - P) G) / v),      R2 = tr(P_t G) / tr(G)

(Anderson, 2001, Austral Ecology 26, 32-46; McArdle & Anderson, 2001, Ecology 82, 290-297).

*Responses.* With Y the rows whitened by their total scatter, so that Y'Y = I, Z = Q'Y is what a term of
directions Q explains, H = Z'Z, and Z_m what the whole model does, E = I - Z_m'Z_m. The roots c of
Z (H + E)^-1 Z' are squared canonical correlations, those of E^-1 H are c / (1 - c), and all four multivariate
statistics are functions of these.

*Permutations.* Under the hypothesis that the model tells nothing, rows are exchangeable: the statistic is
computed for rows in other orders, and p = (1 + b) / (1 + B), where b of B are as large as the one seen or
larger. Exchanging rows of the model in place of those of G, rows that the model does not tell apart give one
labelling in whatever order they stand. Where there are no more labellings than permutations were asked for,
each is taken once: p is then the share of the labellings whose statistic is as large as the one seen.

*Spread.* The squared distance of row i from the centroid of the m rows of its class is sum_j d_ij^2 / m
- sum_jk d_jk^2 / (2 m^2), which needs no coordinates. That from the spatial median, the point of least summed
distance, is taken in principal coordinates, those of positive eigenvalues of G less those of negative ones
(Anderson, 2006, Biometrics 62, 245-253). F compares the mean distances of the classes; under equal spread
the distances less their class means are exchangeable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import scipy
from scipy.spatial.distance import pdist, squareform

from discrim.core.numerics.arrays import Codes, Floats, Mask, refuse_beyond_memory
from discrim.core.numerics.progress import Progress
from discrim.inference.manova import TestType, spans, terms_held
from discrim.inference.resampling import CHUNK, Shuffle

Metric = Literal[
    "euclidean", "manhattan", "bray-curtis", "jaccard", "gower", "canberra", "hellinger", "cosine"
]

SAME = 1e-8
"""Relative difference of two statistics that rounding may make, as in R's vegan."""

FLAT = 1e-12
"""Share of the largest eigenvalue down to which one is rounding."""

PARTS = 5
"""Square tables of all rows that are held at once while distances become products."""


def refused(metric: Metric, x: Floats) -> tuple[str, Mask]:
    """Return why a metric gives no distance between some rows x (n, p), in words, and where (n, p).

    A row of zeros has no profile and no angle. By the other metrics that compare shares its distance from any
    other row is 1, and only that of two rows of zeros is 0/0, which vegan's vegdist answers with NaN.
    """
    nowhere = np.zeros(x.shape, dtype=bool)
    if metric in ("euclidean", "manhattan", "gower"):
        return "", nowhere
    empty = np.broadcast_to((x == 0).all(axis=1)[:, None], x.shape)
    if metric == "cosine":
        return "a row is all zero", empty
    if (x < 0).any():
        return "a value is negative", x < 0
    if metric == "hellinger":
        return "a row is all zero", empty
    return "two rows are all zero", empty if empty[:, 0].sum() > 1 else nowhere


def distances(x: Floats, metric: Metric) -> Floats:
    """Distances (n, n) between rows x (n, p) that `refused` leaves.

    Those of scipy, but for three that are as in R's vegan: Canberra's is the mean over the columns that are
    not zero in both rows, Jaccard's 2 B / (1 + B) with B that of Bray and Curtis, and Gower's the mean of
    the differences over the ranges of the columns.

    Examples
    --------
    >>> distances(np.array([[1.0, 0.0], [2.0, 2.0]]), "bray-curtis")[0].round(3).tolist()
    [0.0, 0.6]
    """
    if metric == "hellinger":
        return distances(_profiles(x), "euclidean")
    if metric == "gower":
        width = np.ptp(x, axis=0)
        return distances(x / np.where(width > 0, width, 1.0) / x.shape[1], "manhattan")
    name = {"manhattan": "cityblock", "bray-curtis": "braycurtis", "jaccard": "braycurtis"}.get(
        metric, metric
    )
    between = np.asarray(squareform(pdist(x, name)), dtype=np.float64)
    if metric == "canberra":
        none = (x == 0).astype(np.float64)
        # A row of zeros has no column to compare with itself, and the distance 0.
        return np.asarray(between / np.maximum(x.shape[1] - none @ none.T, 1.0))
    return np.asarray(2 * between / (1 + between)) if metric == "jaccard" else between


def _profiles(x: Floats) -> Floats:
    return np.asarray(np.sqrt(x / x.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, slots=True, eq=False)
class RowSpace:
    """What rows are to each other: rows (n, k) about their mean, or in their place G (n, n), and tr(G)."""

    values: Floats
    are_products: bool
    total: float

    @classmethod
    def of_rows(cls, rows: Floats) -> RowSpace:
        """Of rows (n, k) whose distances are Euclidean."""
        centred = rows - rows.mean(axis=0)
        total = float((centred**2).sum())
        if centred.shape[1] <= len(rows):
            return cls(centred, False, total)
        refuse_square(len(rows))
        return cls(centred @ centred.T, True, total)

    @classmethod
    def of_distances(cls, between: Floats) -> RowSpace:
        """Of distances (n, n)."""
        products = -0.5 * between**2
        products -= products.mean(axis=0)
        products -= products.mean(axis=1, keepdims=True)
        return cls(products, True, float(np.trace(products)))

    @classmethod
    def by_metric(cls, x: Floats, metric: Metric) -> RowSpace:
        """Of rows x (n, p) by a metric; a DataError where their distances are more than memory holds."""
        if metric in ("euclidean", "hellinger"):
            return cls.of_rows(x if metric == "euclidean" else _profiles(x))
        refuse_square(len(x))
        return cls.of_distances(distances(x, metric))

    def squares(self, directions: Floats) -> Floats:
        """Sums of squares (d,) in directions (n, d) of unit length, each a contrast of the rows."""
        if self.are_products:
            return np.asarray(np.einsum("ij,ij->j", self.values @ directions, directions))
        return np.asarray(((self.values.T @ directions) ** 2).sum(axis=0))

    def axes(self) -> tuple[Floats, Floats]:
        """Principal coordinates (n, k), the largest first, and eigenvalues (k,), of which some are negative.

        The squared distances of two rows are the sums of squared differences, those of coordinates with
        negative eigenvalues taken off.
        """
        if self.are_products:
            values, vectors = scipy.linalg.eigh(self.values)
            values = values[::-1]
            vectors = vectors[:, ::-1]
        else:
            vectors, singular, _ = np.linalg.svd(self.values, full_matrices=False)
            values = singular**2
        kept = np.abs(values) > FLAT * np.abs(values).max(initial=0.0)
        return vectors[:, kept] * np.sqrt(np.abs(values[kept])), values[kept]


def refuse_square(n: int) -> None:
    """Raise a DataError where the distances between n rows are more than memory holds."""
    refuse_beyond_memory(
        PARTS * float(n) ** 2,
        f"The distances between {n:,} rows",
        'Take a sample of the rows, or distance="euclidean", which needs no table of distances',
    )


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal directions of a linear model, by the cells of rows that it does not tell apart.

    Each row (n,) is in a cell, numbered from 0, and each cell has its value of each direction (cells, d). Of
    these some are the whole model's, and some each term's; v degrees of freedom are left.
    """

    cells: Codes
    values: Floats
    whole: Codes
    terms: tuple[Codes, ...]
    df: int

    @classmethod
    def of(
        cls, x: Floats, groups: Sequence[Sequence[int]], factors: Sequence[frozenset[str]], kind: TestType
    ) -> Directions:
        """Of the model x (n, m), the constant first; groups and factors as of `LeastSquares`."""
        _, first, cells = np.unique(x, axis=0, return_index=True, return_inverse=True)
        found = spans(x, [[0], *groups])[1:]
        ends = np.cumsum([basis.shape[1] for basis in found])
        whole = np.arange(ends[-1])
        terms = list(np.split(np.arange(ends[-1]), ends[:-1]))
        for t, group in enumerate(groups):
            held = terms_held(t, kind, factors)
            if held != list(range(t)):
                basis = spans(x, [[0, *(column for j in held for column in groups[j])], group])[1]
                start = sum(each.shape[1] for each in found)
                terms[t] = np.arange(start, start + basis.shape[1])
                found.append(basis)
        free = len(x) - 1 - len(whole)
        return cls(cells.reshape(-1).astype(np.intp), np.hstack(found)[first], whole, tuple(terms), free)


@dataclass(frozen=True, slots=True, eq=False)
class RowShuffle:
    """Rows that exchange places: whole units of rows (U, s), in their order, do so within blocks.

    The labels of the shuffle are those of the units, and each stands for the cells (P, s) of their rows.
    """

    shuffle: Shuffle
    members: Codes
    patterns: Codes

    @classmethod
    def of(cls, cells: Codes, units: Codes | None, blocks: Codes | None) -> RowShuffle:
        """Of the cells (n,) of rows, their units, each of as many rows, and the blocks of these."""
        n = len(cells)
        members = np.arange(n)[:, None]
        if units is not None:
            members = np.argsort(units, kind="stable").reshape(int(units.max()) + 1, -1)
        patterns, labels = np.unique(cells[members], axis=0, return_inverse=True)
        within = None if blocks is None else blocks[members[:, 0]]
        return cls(Shuffle.of(labels.reshape(-1), None, within), members, patterns)

    def labellings(self) -> float:
        """Number of different labellings, infinite where it is beyond doubles."""
        return float(np.round(np.exp(logs))) if (logs := self.shuffle.log_labellings()) < 700 else np.inf

    def drawn(self, permutations: int, seed: int) -> Iterator[Codes]:
        """Cells (n,) of the rows in so many random orders, or in each other one if there are no more."""
        if self.labellings() <= permutations + 1:
            labels = iter(self.shuffle.every())
            own = self.shuffle.labels
            yield from (self._cells(each) for each in labels if not np.array_equal(each, own))
            return
        rng = np.random.default_rng(seed)
        for _ in range(permutations):
            yield self._cells(self.shuffle.codes(rng))

    def fixed(self, x: Floats, groups: Sequence[Sequence[int]]) -> Mask:
        """Which terms (t,) no exchange changes: all units of a block have the same in their columns of x."""
        blocks = self.shuffle.blocks
        units = x[self.members]
        one_of = np.unique(blocks, return_index=True)[1][blocks]
        same = (units == units[one_of]).all(axis=(0, 1))
        return np.array([bool(same[list(group)].all()) for group in groups])

    def _cells(self, labels: Codes) -> Codes:
        cells = np.empty(self.members.size, dtype=np.intp)
        cells[self.members] = self.patterns[labels]
        return cells


def chunks(orders: Iterator[Codes], numbers: int, total: float) -> Iterator[Codes]:
    """Orders (n,) side by side as (n, B), as many at a time as the numbers of each allow."""
    size = max(CHUNK // max(numbers, 1), 1)
    held: list[Codes] = []
    with Progress(int(total), "permutations") as progress:
        for order in orders:
            held.append(order)
            if len(held) == size:
                yield np.stack(held, axis=1)
                progress(len(held))
                held = []
        if held:
            yield np.stack(held, axis=1)
            progress(len(held))


@dataclass(frozen=True, slots=True, eq=False)
class PermutedTerms:
    """Tests of the terms of a model by distances.

    Each term (t,) has its sum of squares, and F; the last sum of squares is that of the residuals. Drawn are
    the F (B, t) of the rows in other orders.
    """

    squares: Floats
    f: Floats
    drawn: Floats


def pvalues(seen: Floats, drawn: Floats) -> Floats:
    """(1 + b) / (1 + B) of statistics (t,), of which b of those drawn (B, t) are as large or larger.

    Examples
    --------
    >>> pvalues(np.array([2.0, np.nan]), np.array([[2.0 - 1e-12, 1.0], [1.0, 1.0], [3.0, 1.0]])).tolist()
    [0.75, nan]
    """
    least = np.where(np.isinf(seen), seen, seen - SAME * np.abs(np.where(np.isinf(seen), 0.0, seen)))
    larger = (drawn >= least).sum(axis=0)
    return np.where(np.isnan(seen), np.nan, (1 + larger) / (1 + len(drawn)))


def permuted_terms(
    space: RowSpace, model: Directions, orders: Iterator[Codes], total: float
) -> PermutedTerms:
    """Pseudo-F of each term, and those of rows in other orders, of which there are so many in all."""
    squares, f = _pseudo_f(space, model, model.cells[:, None])
    numbers = len(model.cells) * model.values.shape[1]
    drawn = [_pseudo_f(space, model, cells)[1] for cells in chunks(orders, numbers, total)]
    return PermutedTerms(squares[0], f[0], np.concatenate(drawn))


def _pseudo_f(space: RowSpace, model: Directions, cells: Codes) -> tuple[Floats, Floats]:
    """Sums of squares (B, t + 1), the residuals' last, and F (B, t), for the cells (n, B) of the rows."""
    n, several = cells.shape
    width = model.values.shape[1]
    each = space.squares(model.values[cells].reshape(n, several * width)).reshape(several, width)
    squares = np.stack([each[:, at].sum(axis=1) for at in (*model.terms, model.whole)], axis=1)
    rest = space.total - squares[:, -1]
    # A fit without residuals has rounding in their place, and no F.
    squares[:, -1] = np.where(np.abs(rest) > FLAT * space.total, rest, 0.0)
    df = np.array([len(at) for at in model.terms], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return squares, squares[:, :-1] / df / (squares[:, -1:] / model.df)


STATISTICS = ("pillai", "wilks", "hotelling-lawley", "roy")
"""Statistics of equal means, in the order of the columns that `permuted_statistics` makes."""


def permuted_statistics(y: Floats, model: Directions, orders: Iterator[Codes], total: float) -> Floats:
    """p-values (t, 4) of Pillai's, Wilks', Hotelling and Lawley's and Roy's statistic of each term.

    The responses y (n, p) have a total scatter of full rank.
    """
    # A power of two, so that no square of the columns leaves the range of float64.
    y = np.ldexp(y, -np.frexp(np.abs(y).max(axis=0))[1])
    whitened = np.linalg.qr((y - y.mean(axis=0)) / y.std(axis=0))[0]
    (n, p), width = y.shape, model.values.shape[1]

    def statistics(cells: Codes) -> Floats:
        held = model.values[cells].reshape(n, -1)
        parts = (whitened.T @ held).T.reshape(cells.shape[1], width, -1)
        return np.stack([_of_shares(_canonical(parts, model.whole, at)) for at in model.terms], axis=1)

    seen = statistics(model.cells[:, None]).reshape(1, -1)
    drawn = [
        statistics(cells).reshape(cells.shape[1], -1)
        for cells in chunks(orders, n * width + 3 * p * p, total)
    ]
    return pvalues(seen[0], np.concatenate(drawn)).reshape(len(model.terms), len(STATISTICS))


def _canonical(parts: Floats, whole: Codes, term: Codes) -> Floats:
    """Squared canonical correlations (B, s) of a term, from the parts (B, d, p) of whitened responses."""
    own = parts[:, term]
    fitted = parts[:, whole]
    if len(term) < len(whole):
        left = np.eye(parts.shape[2]) - np.swapaxes(fitted, 1, 2) @ fitted + np.swapaxes(own, 1, 2) @ own
        values, vectors = np.linalg.eigh(left)
        # What other terms explain wholly has nothing left that this one could.
        scale = np.where(values > FLAT, 1 / np.sqrt(np.maximum(values, FLAT)), 0.0)
        own = own @ (vectors * scale[:, None, :])
    return np.asarray(np.linalg.svd(own, compute_uv=False) ** 2)


def _of_shares(shares: Floats) -> Floats:
    """The statistics (B, 4) of squared correlations (B, s), each larger the more the means differ."""
    if not shares.shape[1]:
        return np.full((len(shares), len(STATISTICS)), np.nan)
    shares = np.minimum(shares, 1.0)
    with np.errstate(divide="ignore"):
        roots = shares / (1 - shares)
        logs = -np.log1p(-shares)
    return np.stack([shares.sum(axis=1), logs.sum(axis=1), roots.sum(axis=1), roots.max(axis=1)], axis=1)


Centre = Literal["median", "centroid"]


def class_distances(space: RowSpace, codes: Codes, centre: Centre) -> tuple[Floats, int]:
    """Distance (n,) of each row from the centre of its class, by codes (n,) from 0 on.

    The second number is that of the rows whose squared distance is negative, as distances that no Euclidean
    space has may make it; their distance is zero.
    """
    if space.are_products and centre == "centroid":
        squares = _from_centroids(space.values, codes)
    else:
        axes, values = space.axes() if space.are_products else (space.values, np.ones(space.values.shape[1]))
        squares = np.zeros(len(codes))
        real = values > 0
        for code in range(int(codes.max()) + 1):
            own = np.flatnonzero(codes == code)
            for some, sign in ((real, 1.0), (~real, -1.0)):
                if some.any():
                    x = axes[np.ix_(own, np.flatnonzero(some))]
                    middle = x.mean(axis=0) if centre == "centroid" else spatial_median(x)
                    squares[own] += sign * ((x - middle) ** 2).sum(axis=1)
    # Zero but for rounding is no distance that is not Euclidean.
    negative = squares < -SAME * np.abs(squares).max(initial=0.0)
    return np.sqrt(np.maximum(squares, 0.0)), int(negative.sum())


def _from_centroids(products: Floats, codes: Codes) -> Floats:
    squares = np.zeros(len(codes))
    for code in range(int(codes.max()) + 1):
        own = np.flatnonzero(codes == code)
        inner = products[np.ix_(own, own)]
        squares[own] = np.diagonal(inner) - 2 * inner.mean(axis=1) + inner.mean()
    return squares


WEISZFELD = 25
"""Steps that lead near to a spatial median."""

NEWTON = 60
"""Steps that sharpen it, or the search has come as near as rounding lets it."""


def spatial_median(x: Floats) -> Floats:
    """The point (p,) of least summed distance to rows (n, p): Weiszfeld's steps, then Newton's.

    Where one of the rows is that point, the sum of the unit vectors to the others is no longer than the
    number of rows there (Vardi & Zhang, 2000, PNAS 97, 1423-1426).

    Examples
    --------
    >>> spatial_median(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])).tolist()
    [2.0, 2.0]
    """
    start = np.median(x, axis=0)
    size = float(np.abs(x - start).max(initial=0.0))
    if size == 0:
        return np.asarray(start)
    # Steps are in the space that the rows span, of which the coordinates are fewer.
    _, singular, basis = np.linalg.svd(x - start, full_matrices=False)
    basis = basis[singular > FLAT * singular[0]]
    rows = (x - start) @ basis.T / size
    point = np.zeros(rows.shape[1])
    if _is_median(rows, point):
        return np.asarray(start)
    for _ in range(WEISZFELD):
        near = 1 / np.maximum(np.linalg.norm(rows - point, axis=1), SAME)
        point = near @ rows / near.sum()
    for _ in range(NEWTON):
        gaps = rows - point
        length = np.maximum(np.linalg.norm(gaps, axis=1), FLAT)
        units = gaps / length[:, None]
        curved = np.eye(len(point)) * (1 / length).sum() - (units / length[:, None]).T @ units
        step = np.linalg.solve(curved, units.sum(axis=0))
        last = length.sum()
        while np.linalg.norm(rows - point - step, axis=1).sum() > last and np.abs(step).max() > FLAT:
            step = step / 2
        point = point + step
        if np.abs(step).max() <= FLAT:
            break
    if not _is_median(rows, point, SAME):
        # No slope vanishes at a row: steps only come near to it.
        nearest = rows[np.argsort(np.linalg.norm(rows - point, axis=1))]
        point = next((row for row in nearest if _is_median(rows, row)), point)
    return np.asarray(start + size * (point @ basis))


def _is_median(rows: Floats, point: Floats, slack: float = FLAT) -> bool:
    """Whether no way out of a point shortens the summed distance to rows (n, p), but for slack n."""
    gaps = rows - point
    length = np.linalg.norm(gaps, axis=1)
    there = length <= FLAT
    pull = (gaps[~there] / length[~there, None]).sum(axis=0)
    return bool(np.linalg.norm(pull) <= there.sum() + slack * len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class PermutedSpread:
    """Tests that classes spread alike, by the distances of rows from the centres of their classes.

    F and its p-value by permutation; for each pair of classes (r, 2) t and its p-value. Drawn (B,) are the F
    of distances less their class means in other orders.
    """

    f: float
    p: float
    drawn: Floats
    pairs: Codes
    t: Floats
    pair_p: Floats


def permuted_spread(z: Floats, codes: Codes, orders: Iterator[Codes], total: float) -> PermutedSpread:
    """Tests of distances z (n,) by class, K of which have rows, for orders of the rows, so many in all."""
    counts = np.bincount(codes).astype(np.float64)
    k_classes = len(counts)
    n = len(z)
    residuals = z - (np.bincount(codes, z) / counts)[codes]
    member = np.equal.outer(np.arange(k_classes), codes).astype(np.float64)
    pairs = np.array(list(combinations(range(k_classes), 2)), dtype=np.intp)

    def ratio(values: Floats) -> Floats:
        sums = member @ values
        total = values.sum(axis=0)
        between = (sums**2 / counts[:, None]).sum(axis=0) - total**2 / n
        within = (values**2).sum(axis=0) - (sums**2 / counts[:, None]).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(between / (k_classes - 1) / (within / (n - k_classes)))

    def t_of_pairs(values: Floats) -> Floats:
        means = member @ values / counts[:, None]
        squares = member @ values**2 - counts[:, None] * means**2
        a, b = pairs.T
        free = counts[a] + counts[b] - 2
        with np.errstate(divide="ignore", invalid="ignore"):
            se = np.sqrt((squares[a] + squares[b]) / free[:, None] * (1 / counts[a] + 1 / counts[b])[:, None])
            return np.asarray((means[a] - means[b]) / se)

    centred = z - z.mean()
    seen_f = ratio(centred[:, None])
    seen_t = t_of_pairs(centred[:, None])[:, 0]
    drawn_f = []
    drawn_t = []
    for order in chunks(orders, n, total):
        drawn_f.append(ratio(residuals[order]))
        drawn_t.append(np.abs(t_of_pairs(centred[order])).T)
    drawn = np.concatenate(drawn_f)
    p = float(pvalues(seen_f, drawn[:, None])[0])
    pair_p = pvalues(np.abs(seen_t), np.concatenate(drawn_t))
    return PermutedSpread(float(seen_f[0]), p, drawn, pairs, seen_t, pair_p)
