"""Permutation tests of a linear model: for distances, for several responses, and for equal dispersion.

`permanova`, the multivariate permutation tests of a linear model and the test of equal dispersion use these
functions. They work on arrays and class codes.

*Distances.* With d_ij the distance of two of n rows, A = (-d_ij^2 / 2) and G = (I - 11'/n) A (I - 11'/n)
(Gower, 1966, Biometrika 53, 325-338), the sum of squares of a projection P in the space of the rows is
tr(P G), and tr(G) is the total: the mean over the rows of the sum of squared distances. For Euclidean
distances G = Y Y' with Y the centred rows, and the sums of squares of the responses are added up. Other
distances may not be Euclidean, and G may have negative eigenvalues. With P_t the projection on the q
directions of a term, P the projection on all directions of the model, and v residual degrees of freedom,

    pseudo-F = (tr(P_t G) / q) / (tr((I - P) G) / v),      R2 = tr(P_t G) / tr(G)

(Anderson, 2001, Austral Ecology 26, 32-46; McArdle & Anderson, 2001, Ecology 82, 290-297).

*Responses.* With Y the rows whitened by their total scatter, Y'Y = I. A term with directions Q explains
Z = Q'Y, H = Z'Z, and the whole model explains Z_m, E = I - Z_m'Z_m. The roots c of Z (H + E)^-1 Z' are
squared canonical correlations, the roots of E^-1 H are c / (1 - c), and all four multivariate statistics are
functions of these.

*Permutations.* Under the null hypothesis rows are exchangeable: the statistic is computed for B permutations
of the rows, and p = (1 + b) / (1 + B), with b the number of statistics at least as large as the observed one.
The rows of the model are permuted, not the rows of G; permutations among rows with the same design result in
the same labelling. If there are no more labellings than requested permutations, each labelling is used once,
and p is the proportion of labellings whose statistic is at least as large as the observed one.

*Dispersion.* The squared distance of row i from the centroid of the m rows of its class is sum_j d_ij^2 / m
- sum_jk d_jk^2 / (2 m^2), which needs no coordinates. The distance from the spatial median, the point with
the smallest sum of distances, is computed in principal coordinates; contributions of negative eigenvalues of
G are subtracted (Anderson, 2006, Biometrics 62, 245-253). F compares the mean distances of the classes; under
equal dispersion the distances minus their class means are exchangeable.
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
"""Relative difference up to which two statistics count as equal, the value of R's vegan."""

FLAT = 1e-12
"""Eigenvalue, relative to the largest one, that counts as zero."""

PARTS = 5
"""Number of n by n tables in memory while distances are converted to products."""


def refused(metric: Metric, x: Floats) -> tuple[str, Mask]:
    """Check whether a metric is defined for all pairs of rows.

    A row of zeros has no profile ("hellinger") and no angle ("cosine"). For the other metrics that compare
    proportions its distance from any other row is 1; only the distance of two rows of zeros is 0/0, for which
    vegan's vegdist returns NaN.

    Parameters
    ----------
    metric : str
    x : (n, p) float

    Returns
    -------
    reason : str
        Empty if the metric is defined.
    mask : (n, p) bool
        Values at fault.
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
    """Compute distances between rows that passed `refused`.

    The definitions are those of scipy, with three exceptions that follow R's vegan: Canberra's distance is
    the mean over the columns that are not zero in both rows, Jaccard's is 2 B / (1 + B) with B the
    Bray-Curtis distance, and Gower's is the mean of the differences divided by the ranges of the columns.

    Parameters
    ----------
    x : (n, p) float
    metric : str

    Returns
    -------
    (n, n) float

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
        # A row of zeros has the distance 0 from itself although no column is compared.
        return np.asarray(between / np.maximum(x.shape[1] - none @ none.T, 1.0))
    return np.asarray(2 * between / (1 + between)) if metric == "jaccard" else between


def _profiles(x: Floats) -> Floats:
    """Square roots of the proportions within each row."""
    return np.asarray(np.sqrt(x / x.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, slots=True, eq=False)
class RowSpace:
    """Geometry of the rows, as centred coordinates or as the Gower matrix G.

    Attributes
    ----------
    values : (n, k) or (n, n) float
        Centred rows, or G.
    are_products : bool
        Whether `values` is G.
    total : float
        Total sum of squares tr(G).
    """

    values: Floats
    are_products: bool
    total: float

    @classmethod
    def of_rows(cls, rows: Floats) -> RowSpace:
        """Build from rows (n, k) with Euclidean distances."""
        centred = rows - rows.mean(axis=0)
        total = float((centred**2).sum())
        if centred.shape[1] <= len(rows):
            return cls(centred, False, total)
        refuse_square(len(rows))
        return cls(centred @ centred.T, True, total)

    @classmethod
    def of_distances(cls, between: Floats) -> RowSpace:
        """Build from distances (n, n)."""
        products = -0.5 * between**2
        products -= products.mean(axis=0)
        products -= products.mean(axis=1, keepdims=True)
        return cls(products, True, float(np.trace(products)))

    @classmethod
    def by_metric(cls, x: Floats, metric: Metric) -> RowSpace:
        """Build from rows x (n, p) and a metric; raise DataError if the distances do not fit into memory."""
        if metric in ("euclidean", "hellinger"):
            return cls.of_rows(x if metric == "euclidean" else _profiles(x))
        refuse_square(len(x))
        return cls.of_distances(distances(x, metric))

    def squares(self, directions: Floats) -> Floats:
        """Sums of squares (d,) in orthonormal directions (n, d), each a contrast of the rows."""
        if self.are_products:
            return np.asarray(np.einsum("ij,ij->j", self.values @ directions, directions))
        return np.asarray(((self.values.T @ directions) ** 2).sum(axis=0))

    def axes(self) -> tuple[Floats, Floats]:
        """Principal coordinates of the rows.

        The squared distance of two rows is the sum of squared differences of the coordinates, with a negative
        sign for coordinates with negative eigenvalues.

        Returns
        -------
        coordinates : (n, k) float
            In decreasing order of the eigenvalues.
        eigenvalues : (k,) float
            Some may be negative.
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
    """Raise a DataError if the distances between n rows do not fit into memory."""
    refuse_beyond_memory(
        PARTS * float(n) ** 2,
        f"The distances between {n:,} rows",
        'Take a sample of the rows, or distance="euclidean", which needs no table of distances',
    )


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal directions of a linear model, stored once for each distinct row of the design.

    Attributes
    ----------
    cells : (n,) int
        Distinct design row of each row, numbered from 0.
    values : (cells, d) float
        Directions at the distinct design rows.
    whole : (w,) int
        Positions of the directions of the whole model.
    terms : tuple of (q,) int
        Positions of the directions of each term.
    df : int
        Residual degrees of freedom.
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
        """Compute the directions of a model.

        Parameters
        ----------
        x : (n, m) float
            Design matrix, the constant first.
        groups : sequence of sequence of int
            Columns of each term.
        factors : sequence of frozenset of str
            Factors of each term, see `LeastSquares`.
        kind : {"I", "II", "III"}
            Type of the sums of squares.

        Returns
        -------
        Directions
        """
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
    """Permutations of rows in which whole units of rows are exchanged within blocks.

    Attributes
    ----------
    shuffle : Shuffle
        Permutes the labels of the units; each label stands for the cells of the rows of a unit.
    members : (U, s) int
        Rows of each unit, in their order.
    patterns : (P, s) int
        Cells of the rows for each label.
    """

    shuffle: Shuffle
    members: Codes
    patterns: Codes

    @classmethod
    def of(cls, cells: Codes, units: Codes | None, blocks: Codes | None) -> RowShuffle:
        """Build the permutations.

        Parameters
        ----------
        cells : (n,) int
            Distinct design row of each row.
        units : (n,) int or None
            Unit of each row; all units have the same number of rows.
        blocks : (n,) int or None
            Block of each row; constant within units.

        Returns
        -------
        RowShuffle
        """
        n = len(cells)
        members = np.arange(n)[:, None]
        if units is not None:
            members = np.argsort(units, kind="stable").reshape(int(units.max()) + 1, -1)
        patterns, labels = np.unique(cells[members], axis=0, return_inverse=True)
        within = None if blocks is None else blocks[members[:, 0]]
        return cls(Shuffle.of(labels.reshape(-1), None, within), members, patterns)

    def labellings(self) -> float:
        """Number of distinct labellings; infinite if it exceeds the range of float64."""
        return float(np.round(np.exp(logs))) if (logs := self.shuffle.log_labellings()) < 700 else np.inf

    def drawn(self, permutations: int, seed: int) -> Iterator[Codes]:
        """Yield the cells (n,) for random permutations, or for all other labellings if there are few."""
        if self.labellings() <= permutations + 1:
            labels = iter(self.shuffle.every())
            own = self.shuffle.labels
            yield from (self._cells(each) for each in labels if not np.array_equal(each, own))
            return
        rng = np.random.default_rng(seed)
        for _ in range(permutations):
            yield self._cells(self.shuffle.codes(rng))

    def fixed(self, x: Floats, groups: Sequence[Sequence[int]]) -> Mask:
        """Mask (t,) of the terms that no permutation changes: their columns are constant within blocks."""
        blocks = self.shuffle.blocks
        units = x[self.members]
        one_of = np.unique(blocks, return_index=True)[1][blocks]
        same = (units == units[one_of]).all(axis=(0, 1))
        return np.array([bool(same[list(group)].all()) for group in groups])

    def _cells(self, labels: Codes) -> Codes:
        """Cells (n,) of the rows for the labels of the units."""
        cells = np.empty(self.members.size, dtype=np.intp)
        cells[self.members] = self.patterns[labels]
        return cells


def chunks(orders: Iterator[Codes], numbers: int, total: float) -> Iterator[Codes]:
    """Stack permutations (n,) as columns of arrays (n, B), and show the progress.

    Parameters
    ----------
    orders : iterator of (n,) int
    numbers : int
        Number of elements in memory per permutation; it determines B.
    total : float
        Number of permutations.

    Yields
    ------
    (n, B) int
    """
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
    """Permutation tests of the terms of a model for distances.

    Attributes
    ----------
    squares : (t + 1,) float
        Sums of squares of the terms, and of the residuals.
    f : (t,) float
        Pseudo-F.
    drawn : (B, t) float
        Pseudo-F of the permutations.
    """

    squares: Floats
    f: Floats
    drawn: Floats


def pvalues(seen: Floats, drawn: Floats) -> Floats:
    """Permutation p-values (1 + b) / (1 + B), with b the number of statistics at least as large as observed.

    Parameters
    ----------
    seen : (t,) float
        Observed statistics.
    drawn : (B, t) float
        Statistics of the permutations.

    Returns
    -------
    (t,) float
        NaN if the observed statistic is NaN.

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
    """Compute the pseudo-F of each term for the rows and for their permutations.

    Parameters
    ----------
    space : RowSpace
    model : Directions
    orders : iterator of (n,) int
        Cells of the rows for each permutation.
    total : float
        Number of permutations.

    Returns
    -------
    PermutedTerms
    """
    squares, f = _pseudo_f(space, model, model.cells[:, None])
    numbers = len(model.cells) * model.values.shape[1]
    drawn = [_pseudo_f(space, model, cells)[1] for cells in chunks(orders, numbers, total)]
    return PermutedTerms(squares[0], f[0], np.concatenate(drawn))


def _pseudo_f(space: RowSpace, model: Directions, cells: Codes) -> tuple[Floats, Floats]:
    """Sums of squares and pseudo-F of the terms for B permutations.

    Parameters
    ----------
    space : RowSpace
    model : Directions
    cells : (n, B) int
        Cells of the rows.

    Returns
    -------
    squares : (B, t + 1) float
        The last column has the residual sum of squares.
    f : (B, t) float
    """
    n, several = cells.shape
    width = model.values.shape[1]
    each = space.squares(model.values[cells].reshape(n, several * width)).reshape(several, width)
    squares = np.stack([each[:, at].sum(axis=1) for at in (*model.terms, model.whole)], axis=1)
    rest = space.total - squares[:, -1]
    # The residuals of a saturated fit are rounding errors, and F is undefined.
    squares[:, -1] = np.where(np.abs(rest) > FLAT * space.total, rest, 0.0)
    df = np.array([len(at) for at in model.terms], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return squares, squares[:, :-1] / df / (squares[:, -1:] / model.df)


STATISTICS = ("pillai", "wilks", "hotelling-lawley", "roy")
"""Names of the multivariate statistics, in the order of the columns of `permuted_statistics`."""


def permuted_statistics(y: Floats, model: Directions, orders: Iterator[Codes], total: float) -> Floats:
    """Permutation p-values of four multivariate statistics for each term.

    Parameters
    ----------
    y : (n, p) float
        Responses; their total scatter has full rank.
    model : Directions
    orders : iterator of (n,) int
        Cells of the rows for each permutation.
    total : float
        Number of permutations.

    Returns
    -------
    (t, 4) float
        Pillai, Wilks, Hotelling-Lawley and Roy.
    """
    # Scale by powers of two to keep the squares within the range of float64.
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
    """Squared canonical correlations of a term with the responses.

    Parameters
    ----------
    parts : (B, d, p) float
        Products of the directions with the whitened responses.
    whole, term : int arrays
        Positions of the directions of the model and of the term.

    Returns
    -------
    (B, s) float
    """
    own = parts[:, term]
    fitted = parts[:, whole]
    if len(term) < len(whole):
        left = np.eye(parts.shape[2]) - np.swapaxes(fitted, 1, 2) @ fitted + np.swapaxes(own, 1, 2) @ own
        values, vectors = np.linalg.eigh(left)
        # Combinations of responses that other terms explain completely are excluded.
        scale = np.where(values > FLAT, 1 / np.sqrt(np.maximum(values, FLAT)), 0.0)
        own = own @ (vectors * scale[:, None, :])
    return np.asarray(np.linalg.svd(own, compute_uv=False) ** 2)


def _of_shares(shares: Floats) -> Floats:
    """Statistics (B, 4) from squared canonical correlations (B, s); larger values mean larger differences."""
    if not shares.shape[1]:
        return np.full((len(shares), len(STATISTICS)), np.nan)
    shares = np.minimum(shares, 1.0)
    with np.errstate(divide="ignore"):
        roots = shares / (1 - shares)
        logs = -np.log1p(-shares)
    return np.stack([shares.sum(axis=1), logs.sum(axis=1), roots.sum(axis=1), roots.max(axis=1)], axis=1)


Centre = Literal["median", "centroid"]


def class_distances(space: RowSpace, codes: Codes, centre: Centre) -> tuple[Floats, int]:
    """Distance of each row from the centre of its class.

    Parameters
    ----------
    space : RowSpace
    codes : (n,) int
        Classes, numbered from 0.
    centre : {"median", "centroid"}

    Returns
    -------
    distances : (n,) float
        Zero for a negative squared distance.
    n_negative : int
        Number of rows with a negative squared distance, which is possible if the metric is not Euclidean.
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
    # Values that are zero up to rounding do not count as negative.
    negative = squares < -SAME * np.abs(squares).max(initial=0.0)
    return np.sqrt(np.maximum(squares, 0.0)), int(negative.sum())


def _from_centroids(products: Floats, codes: Codes) -> Floats:
    """Squared distances (n,) of rows from their class centroids, from the Gower matrix (n, n)."""
    squares = np.zeros(len(codes))
    for code in range(int(codes.max()) + 1):
        own = np.flatnonzero(codes == code)
        inner = products[np.ix_(own, own)]
        squares[own] = np.diagonal(inner) - 2 * inner.mean(axis=1) + inner.mean()
    return squares


WEISZFELD = 25
"""Number of Weiszfeld steps before Newton's method."""

NEWTON = 60
"""Maximum number of Newton steps."""


def spatial_median(x: Floats) -> Floats:
    """Point with the smallest sum of distances to the rows, by Weiszfeld's and then Newton's method.

    A row is that point if the sum of the unit vectors to the other rows is at most as long as the number of
    rows at the point (Vardi & Zhang, 2000, PNAS 97, 1423-1426).

    Parameters
    ----------
    x : (n, p) float

    Returns
    -------
    (p,) float

    Examples
    --------
    >>> spatial_median(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])).tolist()
    [2.0, 2.0]
    """
    start = np.median(x, axis=0)
    size = float(np.abs(x - start).max(initial=0.0))
    if size == 0:
        return np.asarray(start)
    # Work in the space spanned by the rows, which has fewer coordinates.
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
        # The objective is not differentiable at a row, and the steps only approach it.
        nearest = rows[np.argsort(np.linalg.norm(rows - point, axis=1))]
        point = next((row for row in nearest if _is_median(rows, row)), point)
    return np.asarray(start + size * (point @ basis))


def _is_median(rows: Floats, point: Floats, slack: float = FLAT) -> bool:
    """Return whether a point minimizes the sum of distances to rows (n, p), up to a tolerance of slack n."""
    gaps = rows - point
    length = np.linalg.norm(gaps, axis=1)
    there = length <= FLAT
    pull = (gaps[~there] / length[~there, None]).sum(axis=0)
    return bool(np.linalg.norm(pull) <= there.sum() + slack * len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class PermutedSpread:
    """Tests of equal dispersion by the distances of rows from the centres of their classes.

    Attributes
    ----------
    f, p : float
        F statistic and permutation p-value.
    drawn : (B,) float
        F of the permutations.
    pairs : (r, 2) int
        Pairs of classes.
    t, pair_p : (r,) float
        t statistic and permutation p-value of each pair.
    """

    f: float
    p: float
    drawn: Floats
    pairs: Codes
    t: Floats
    pair_p: Floats


def permuted_spread(z: Floats, codes: Codes, orders: Iterator[Codes], total: float) -> PermutedSpread:
    """Test whether the classes have the same mean distance from their centres.

    Parameters
    ----------
    z : (n,) float
        Distances.
    codes : (n,) int
        Classes, numbered from 0, each with rows.
    orders : iterator of (n,) int
        Permutations of the rows.
    total : float
        Number of permutations.

    Returns
    -------
    PermutedSpread
    """
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
