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
the same labelling. If there are at most as many labellings as requested permutations, each labelling is used
once, and p is the proportion of labellings whose statistic is at least as large as the observed one.

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

from discrim.core.numerics.arrays import Codes, Floats, Mask, check_memory
from discrim.core.numerics.progress import Progress
from discrim.inference.manova import TestType, adjusting_terms, orthonormal_bases
from discrim.inference.resampling import MAX_CHUNK_ELEMENTS, LabelPermutation

Metric = Literal[
    "euclidean", "manhattan", "bray-curtis", "jaccard", "gower", "canberra", "hellinger", "cosine"
]
"""Metrics, see `pairwise_distances`."""

STATISTIC_TOLERANCE = 1e-8
"""Relative difference up to which two statistics, or squared distances, count as equal; R's vegan's value."""

ZERO_TOLERANCE = 1e-12
"""Relative size of eigenvalues, sums of squares and scaled distances that counts as zero."""

N_SQUARE_ARRAYS = 5
"""Number of n by n arrays in memory while distances are converted to products."""


def find_undefined_distances(metric: Metric, x: Floats) -> tuple[str, Mask]:
    """Find the values of rows for which a metric is undefined, and the reason.

    A row of zeros does not have a profile ("hellinger") or an angle ("cosine"). For the other metrics that
    compare proportions its distance from any other row is 1; only the distance of two rows of zeros is 0/0,
    for which vegan's vegdist returns NaN.

    Parameters
    ----------
    metric : str
        Name of the metric, one of `Metric`.
    x : (n, p) float
        Rows.

    Returns
    -------
    reason : str
        Why distances may be undefined for this metric, for example "a row is all zero"; empty for a metric
        that is always defined. It applies only if the mask contains a true value.
    mask : (n, p) bool
        True for the values of `x` that make distances undefined.
    """
    no_values = np.zeros(x.shape, dtype=bool)
    if metric in ("euclidean", "manhattan", "gower"):
        return "", no_values
    zero_rows = np.broadcast_to((x == 0).all(axis=1)[:, None], x.shape)
    if metric == "cosine":
        return "a row is all zero", zero_rows
    if (x < 0).any():
        return "a value is negative", x < 0
    if metric == "hellinger":
        return "a row is all zero", zero_rows
    return "two rows are all zero", zero_rows if zero_rows[:, 0].sum() > 1 else no_values


def pairwise_distances(x: Floats, metric: Metric) -> Floats:
    """Compute the distances between rows for which `find_undefined_distances` finds no undefined ones.

    The definitions agree with scipy ("manhattan" is "cityblock"), with three exceptions that follow R's
    vegan: Canberra's distance is the mean over the columns that are not zero in both rows, Jaccard's is 2 B /
    (1 + B) with B the Bray-Curtis distance, and Gower's is the mean over the columns of the absolute
    differences divided by the ranges; a constant column contributes zero. Hellinger's distance is the
    Euclidean distance of the square roots of the proportions of the row sums.

    Parameters
    ----------
    x : (n, p) float
        Rows.
    metric : str
        Name of the metric, one of `Metric`.

    Returns
    -------
    (n, n) float
        Symmetric, with a zero diagonal.

    Examples
    --------
    >>> pairwise_distances(np.array([[1.0, 0.0], [2.0, 2.0]]), "bray-curtis")[0].round(3).tolist()
    [0.0, 0.6]
    """
    if metric == "hellinger":
        return pairwise_distances(_row_profiles(x), "euclidean")
    if metric == "gower":
        column_ranges = np.ptp(x, axis=0)
        return pairwise_distances(
            x / np.where(column_ranges > 0, column_ranges, 1.0) / x.shape[1], "manhattan"
        )
    scipy_metric = {"manhattan": "cityblock", "bray-curtis": "braycurtis", "jaccard": "braycurtis"}.get(
        metric, metric
    )
    between = np.asarray(squareform(pdist(x, scipy_metric)), dtype=np.float64)
    if metric == "canberra":
        is_zero = (x == 0).astype(np.float64)
        # A row of zeros has the distance 0 from itself although no column is compared.
        return np.asarray(between / np.maximum(x.shape[1] - is_zero @ is_zero.T, 1.0))
    return np.asarray(2 * between / (1 + between)) if metric == "jaccard" else between


def _row_profiles(x: Floats) -> Floats:
    """Square roots of the proportions x_ij / sum_j x_ij of x (n, p), for Hellinger distances."""
    return np.asarray(np.sqrt(x / x.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, slots=True, eq=False)
class RowSpace:
    """Geometry of the rows, as centred coordinates or as the Gower matrix G.

    Attributes
    ----------
    values : (n, k) or (n, n) float
        Rows of k centred columns, or G.
    is_gower_matrix : bool
        Whether `values` is G.
    total : float
        Total sum of squares tr(G), also for centred rows.
    """

    values: Floats
    is_gower_matrix: bool
    total: float

    @classmethod
    def from_rows(cls, rows: Floats) -> RowSpace:
        """Build from rows (n, k), which need not be centred, and the Euclidean distances between them.

        The Gower matrix is used if k > n; a DataError is raised if it does not fit into memory.
        """
        centred = rows - rows.mean(axis=0)
        total = float((centred**2).sum())
        if centred.shape[1] <= len(rows):
            return cls(centred, False, total)
        check_distance_memory(len(rows))
        return cls(centred @ centred.T, True, total)

    @classmethod
    def from_distances(cls, distances: Floats) -> RowSpace:
        """Build from a symmetric matrix (n, n) of the distances, not squared, between the rows."""
        products = -0.5 * distances**2
        products -= products.mean(axis=0)
        products -= products.mean(axis=1, keepdims=True)
        return cls(products, True, float(np.trace(products)))

    @classmethod
    def from_metric(cls, x: Floats, metric: Metric) -> RowSpace:
        """Build from rows x (n, p) and a metric; raise DataError if the distances do not fit into memory.

        Euclidean and Hellinger distances are represented by centred coordinates, unless p > n.
        """
        if metric in ("euclidean", "hellinger"):
            return cls.from_rows(x if metric == "euclidean" else _row_profiles(x))
        check_distance_memory(len(x))
        return cls.from_distances(pairwise_distances(x, metric))

    def select(self, mask: Mask) -> RowSpace:
        """Return the geometry of the rows of a mask (n,), about their own centre."""
        if not self.is_gower_matrix:
            return RowSpace.from_rows(self.values[mask])
        products = self.values[np.ix_(mask, mask)]
        products = products - products.mean(axis=0)
        products -= products.mean(axis=1, keepdims=True)
        return RowSpace(products, True, float(np.trace(products)))

    def sums_of_squares(self, directions: Floats) -> Floats:
        """Return the sum of squares (d,) of the rows in each of the orthonormal directions (n, d).

        It is q'Gq for a direction q, which may be negative if the distances are not Euclidean.
        """
        if self.is_gower_matrix:
            return np.asarray(np.einsum("ij,ij->j", self.values @ directions, directions))
        return np.asarray(((self.values.T @ directions) ** 2).sum(axis=0))

    def principal_coordinates(self) -> tuple[Floats, Floats]:
        """Compute the principal coordinates of the rows.

        The squared distance of two rows is the sum of squared differences of the coordinates, with a negative
        sign for coordinates with negative eigenvalues.

        Returns
        -------
        coordinates : (n, k) float
            Columns with sum of squares |eigenvalue|, in decreasing order of the eigenvalues.
        eigenvalues : (k,) float
            The k nonzero eigenvalues of G, some of which may be negative.
        """
        if self.is_gower_matrix:
            eigenvalues, vectors = scipy.linalg.eigh(self.values)
            eigenvalues = eigenvalues[::-1]
            vectors = vectors[:, ::-1]
        else:
            vectors, singular_values, _ = np.linalg.svd(self.values, full_matrices=False)
            eigenvalues = singular_values**2
        nonzero_mask = np.abs(eigenvalues) > ZERO_TOLERANCE * np.abs(eigenvalues).max(initial=0.0)
        return vectors[:, nonzero_mask] * np.sqrt(np.abs(eigenvalues[nonzero_mask])), eigenvalues[
            nonzero_mask
        ]


def check_distance_memory(n: int) -> None:
    """Raise a DataError if the distances between n rows do not fit into memory."""
    check_memory(
        N_SQUARE_ARRAYS * float(n) ** 2,
        f"The distances between {n:,} rows",
        'Pass a sample of the rows, or distance="euclidean", which needs no distance matrix',
    )


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal directions of the terms of a linear model in the space of the rows.

    A direction has equal elements in rows with equal design; it is stored once for each distinct design row.

    Attributes
    ----------
    cells : (n,) int
        Number of the distinct design row of each row, from 0; called its cell.
    values : (cells, d) float
        The d directions; `values[cells]` are the full columns (n, d).
    model_index : (w,) int
        Positions among the d directions of the w directions of the whole model, without the constant.
    term_indices : tuple of (q,) int
        Positions among the d directions of the q directions of each term, adjusted for other terms.
    df_resid : int
        Residual degrees of freedom, n - 1 - w.
    """

    cells: Codes
    values: Floats
    model_index: Codes
    term_indices: tuple[Codes, ...]
    df_resid: int

    @classmethod
    def from_design(
        cls,
        x: Floats,
        groups: Sequence[Sequence[int]],
        factors: Sequence[frozenset[str]],
        test_type: TestType,
    ) -> Directions:
        """Compute the directions of the terms of a design matrix.

        Parameters
        ----------
        x : (n, m) float
            Design matrix, the constant first.
        groups : sequence of sequence of int
            Positions in `x` of the columns of each term; the constant, column 0, belongs to no term. A term
            whose columns depend linearly on the terms it is adjusted for has fewer directions than columns.
        factors : sequence of frozenset of str
            Names of the factors that each term multiplies.
        test_type : {1, 2, 3}
            Type of the sums of squares, see `adjusting_terms`.

        Returns
        -------
        Directions
        """
        _, first_rows, cells = np.unique(x, axis=0, return_index=True, return_inverse=True)
        bases = orthonormal_bases(x, [[0], *groups])[1:]
        ends = np.cumsum([basis.shape[1] for basis in bases])
        model_index = np.arange(ends[-1])
        term_indices = list(np.split(np.arange(ends[-1]), ends[:-1]))
        for t, group in enumerate(groups):
            adjusted_for = adjusting_terms(t, test_type, factors)
            if adjusted_for != list(range(t)):
                basis = orthonormal_bases(
                    x, [[0, *(column for j in adjusted_for for column in groups[j])], group]
                )[1]
                start = sum(earlier_basis.shape[1] for earlier_basis in bases)
                term_indices[t] = np.arange(start, start + basis.shape[1])
                bases.append(basis)
        df_resid = len(x) - 1 - len(model_index)
        return cls(
            cells.reshape(-1).astype(np.intp),
            np.hstack(bases)[first_rows],
            model_index,
            tuple(term_indices),
            df_resid,
        )


@dataclass(frozen=True, slots=True, eq=False)
class DesignPermutation:
    """Permutations of the design rows (cells) of a model, which exchange whole units of rows within blocks.

    The cells of the rows of a unit form a pattern. Units exchange the numbers of their patterns.

    Attributes
    ----------
    label_permutation : LabelPermutation
        Permutes the pattern numbers, as labels of the units, within blocks.
    unit_rows : (U, s) int
        Positions of the s rows of each unit, in the order of the rows.
    patterns : (P, s) int
        Cells of the s rows for each of the P distinct patterns.
    """

    label_permutation: LabelPermutation
    unit_rows: Codes
    patterns: Codes

    @classmethod
    def from_cells(cls, cells: Codes, units: Codes | None, blocks: Codes | None) -> DesignPermutation:
        """Build the permutations from the cell, unit and block of each row.

        Parameters
        ----------
        cells : (n,) int
            Number of the distinct design row of each row, see `Directions`.
        units : (n,) int or None
            Unit of each row, numbered from 0; all units have the same number of rows, which is not checked.
            None if each row is a unit.
        blocks : (n,) int or None
            Block of each row; constant within units. None for a single block.

        Returns
        -------
        DesignPermutation
        """
        n = len(cells)
        members = np.arange(n)[:, None]
        if units is not None:
            members = np.argsort(units, kind="stable").reshape(int(units.max()) + 1, -1)
        patterns, labels = np.unique(cells[members], axis=0, return_inverse=True)
        within = None if blocks is None else blocks[members[:, 0]]
        return cls(LabelPermutation.from_codes(labels.reshape(-1), None, within), members, patterns)

    def n_labellings(self) -> float:
        """Return the number of distinct labellings; infinite if it exceeds the range of float64."""
        return (
            float(np.round(np.exp(logs)))
            if (logs := self.label_permutation.log_n_labellings()) < 700
            else np.inf
        )

    def iter_cells(self, n_permutations: int, seed: int) -> Iterator[Codes]:
        """Yield the cells (n,) of the rows after each permutation.

        If the number of distinct labellings is at most `n_permutations` + 1, yield each labelling except the
        observed one once; the seed is not used. Otherwise yield `n_permutations` random ones, which may
        repeat or equal the observed one.
        """
        if self.n_labellings() <= n_permutations + 1:
            labellings = iter(self.label_permutation.iter_labellings())
            observed_labels = self.label_permutation.labels
            yield from (
                self._cells_from_labels(labels)
                for labels in labellings
                if not np.array_equal(labels, observed_labels)
            )
            return
        rng = np.random.default_rng(seed)
        for _ in range(n_permutations):
            yield self._cells_from_labels(self.label_permutation.random_codes(rng))

    def invariant_term_mask(self, x: Floats, groups: Sequence[Sequence[int]]) -> Mask:
        """Return a mask of the terms that no permutation changes.

        Their columns are equal in all units of a block; they may differ within the units.

        Parameters
        ----------
        x : (n, c) float
            Design matrix.
        groups : sequence of sequences of int
            Positions in `x` of the columns of each of t terms.

        Returns
        -------
        (t,) bool
            True if no permutation changes the columns of the term.
        """
        blocks = self.label_permutation.blocks
        unit_designs = x[self.unit_rows]
        first_units = np.unique(blocks, return_index=True)[1][blocks]
        is_constant = (unit_designs == unit_designs[first_units]).all(axis=(0, 1))
        return np.array([bool(is_constant[list(group)].all()) for group in groups])

    def _cells_from_labels(self, labels: Codes) -> Codes:
        """Return the cells (n,) of the rows if the units have the given pattern numbers (U,)."""
        cells = np.empty(self.unit_rows.size, dtype=np.intp)
        cells[self.unit_rows] = self.patterns[labels]
        return cells


def stack_permutations(orders: Iterator[Codes], n_elements: int, n_permutations: float) -> Iterator[Codes]:
    """Yield permutations (n,) as columns of arrays (n, B), and show the progress.

    All arrays have the same number of columns except the last one, which may have fewer.

    Parameters
    ----------
    orders : iterator of (n,) int
        Permutations, one at a time.
    n_elements : int
        Number of array elements that the caller needs per permutation; it limits B.
    n_permutations : float
        Total number of permutations, for the progress bar.

    Yields
    ------
    (n, B) int
    """
    chunk_size = max(MAX_CHUNK_ELEMENTS // max(n_elements, 1), 1)
    pending: list[Codes] = []
    with Progress(int(n_permutations), "permutations") as progress:
        for order in orders:
            pending.append(order)
            if len(pending) == chunk_size:
                yield np.stack(pending, axis=1)
                progress(len(pending))
                pending = []
        if pending:
            yield np.stack(pending, axis=1)
            progress(len(pending))


@dataclass(frozen=True, slots=True, eq=False)
class TermPermutationTests:
    """Permutation tests of the terms of a model for distances.

    Attributes
    ----------
    squares : (t + 1,) float
        Sums of squares of the t terms, each adjusted for other terms, and of the residuals.
    f : (t,) float
        Pseudo-F of the terms; NaN or infinite if the residual sum of squares is zero.
    permuted_f : (B, t) float
        Pseudo-F of the B permutations.
    """

    squares: Floats
    f: Floats
    permuted_f: Floats


def permutation_pvalues(observed: Floats, permuted: Floats) -> Floats:
    """Permutation p-values (1 + b) / (1 + B), with b the number of statistics at least as large as observed.

    Statistics that are smaller by a relative difference of at most `STATISTIC_TOLERANCE` count as equal.

    Parameters
    ----------
    observed : (t,) float
        Observed statistics.
    permuted : (B, t) float
        Statistics of the permutations, without the observed order. NaN does not count as large.

    Returns
    -------
    (t,) float
        NaN if the observed statistic is NaN.

    Examples
    --------
    >>> permuted = np.array([[2.0 - 1e-12, 1.0], [1.0, 1.0], [3.0, 1.0]])
    >>> permutation_pvalues(np.array([2.0, np.nan]), permuted).tolist()
    [0.75, nan]
    """
    threshold = np.where(
        np.isinf(observed),
        observed,
        observed - STATISTIC_TOLERANCE * np.abs(np.where(np.isinf(observed), 0.0, observed)),
    )
    n_larger = (permuted >= threshold).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, (1 + n_larger) / (1 + len(permuted)))


def permutation_term_tests(
    space: RowSpace, model: Directions, permuted_cells: Iterator[Codes], n_permutations: float
) -> TermPermutationTests:
    """Compute the pseudo-F of each term for the rows and for their permutations.

    Parameters
    ----------
    space : RowSpace
        Coordinates or Gower matrix of the rows.
    model : Directions
        Directions of the terms.
    permuted_cells : iterator of (n,) int
        Cells (see `Directions`) of the rows after each permutation, without the observed order; see
        `DesignPermutation.iter_cells`.
    n_permutations : float
        Number of permutations, for the progress bar.

    Returns
    -------
    TermPermutationTests
    """
    squares, f = _squares_and_pseudo_f(space, model, model.cells[:, None])
    n_elements = len(model.cells) * model.values.shape[1]
    permuted_f = [
        _squares_and_pseudo_f(space, model, cells)[1]
        for cells in stack_permutations(permuted_cells, n_elements, n_permutations)
    ]
    return TermPermutationTests(squares[0], f[0], np.concatenate(permuted_f))


def _squares_and_pseudo_f(space: RowSpace, model: Directions, cells: Codes) -> tuple[Floats, Floats]:
    """Compute sums of squares and pseudo-F of the terms for B permutations.

    Parameters
    ----------
    space : RowSpace
        Coordinates or Gower matrix of the rows.
    model : Directions
        Directions of the terms.
    cells : (n, B) int
        Cells of the rows in each permutation.

    Returns
    -------
    squares : (B, t + 1) float
        The last column has the residual sum of squares.
    f : (B, t) float
        Pseudo-F of the t terms; infinite, or NaN for 0/0, without residual variation.
    """
    n, n_permutations = cells.shape
    n_directions = model.values.shape[1]
    direction_squares = space.sums_of_squares(
        model.values[cells].reshape(n, n_permutations * n_directions)
    ).reshape(n_permutations, n_directions)
    squares = np.stack(
        [
            direction_squares[:, term_index].sum(axis=1)
            for term_index in (*model.term_indices, model.model_index)
        ],
        axis=1,
    )
    residual_squares = space.total - squares[:, -1]
    # The residuals of a saturated fit are rounding errors, and F is undefined.
    squares[:, -1] = np.where(np.abs(residual_squares) > ZERO_TOLERANCE * space.total, residual_squares, 0.0)
    df = np.array([len(term_index) for term_index in model.term_indices], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return squares, squares[:, :-1] / df / (squares[:, -1:] / model.df_resid)


STATISTICS = ("pillai", "wilks", "hotelling-lawley", "roy")
"""Names of the multivariate statistics, in the order of the columns of the permuted values."""


def permutation_statistics_pvalues(
    y: Floats, model: Directions, permuted_cells: Iterator[Codes], n_permutations: float
) -> Floats:
    """Compute permutation p-values of the four multivariate statistics of each term.

    Small values of Wilks' lambda, and large values of the other statistics, are evidence for an effect.

    Parameters
    ----------
    y : (n, p) float
        Responses; their total scatter has full rank.
    model : Directions
        Directions of the terms.
    permuted_cells : iterator of (n,) int
        Cells (see `Directions`) of the rows after each permutation, without the observed order; see
        `DesignPermutation.iter_cells`.
    n_permutations : float
        Number of permutations, for the progress bar.

    Returns
    -------
    (t, 4) float
        One row for each term, with the p-values (see `permutation_pvalues`) in the order of `STATISTICS`; NaN
        for a term without directions.
    """
    # Scale by powers of two to keep the squares within the range of float64.
    y = np.ldexp(y, -np.frexp(np.abs(y).max(axis=0))[1])
    whitened = np.linalg.qr((y - y.mean(axis=0)) / y.std(axis=0))[0]
    (n, p), n_directions = y.shape, model.values.shape[1]

    def statistics(cells: Codes) -> Floats:
        """Return the `STATISTICS` (B, t, 4) of the terms for B permutations, Wilks' lambda as -log(lambda).

        Row i has the design row `cells[i, b]` (n, B) in permutation b.
        """
        directions = model.values[cells].reshape(n, -1)
        products = (whitened.T @ directions).T.reshape(cells.shape[1], n_directions, -1)
        return np.stack(
            [
                _statistics_from_correlations(
                    _squared_canonical_correlations(products, model.model_index, term_index)
                )
                for term_index in model.term_indices
            ],
            axis=1,
        )

    observed = statistics(model.cells[:, None]).reshape(1, -1)
    permuted = [
        statistics(cells).reshape(cells.shape[1], -1)
        for cells in stack_permutations(permuted_cells, n * n_directions + 3 * p * p, n_permutations)
    ]
    return permutation_pvalues(observed[0], np.concatenate(permuted)).reshape(
        len(model.term_indices), len(STATISTICS)
    )


def _squared_canonical_correlations(products: Floats, model_index: Codes, term_index: Codes) -> Floats:
    """Compute the squared canonical correlations of a term with the responses, for B permutations.

    They are the roots of Z (H + E)^-1 Z' in the module docstring: variation that other terms of the model
    explain is excluded.

    Parameters
    ----------
    products : (B, d, p) float
        Products of the d directions with the p whitened responses, Q'Y.
    model_index, term_index : int arrays
        Positions of the directions of the whole model and of the term among the d directions.

    Returns
    -------
    (B, s) float
        In decreasing order; s is the smaller of the numbers of directions of the term and of responses.
    """
    term_products = products[:, term_index]
    model_products = products[:, model_index]
    if len(term_index) < len(model_index):
        unexplained = (
            np.eye(products.shape[2])
            - np.swapaxes(model_products, 1, 2) @ model_products
            + np.swapaxes(term_products, 1, 2) @ term_products
        )
        eigenvalues, vectors = np.linalg.eigh(unexplained)
        # Combinations of responses that other terms explain completely are excluded.
        scale = np.where(
            eigenvalues > ZERO_TOLERANCE, 1 / np.sqrt(np.maximum(eigenvalues, ZERO_TOLERANCE)), 0.0
        )
        term_products = term_products @ (vectors * scale[:, None, :])
    return np.asarray(np.linalg.svd(term_products, compute_uv=False) ** 2)


def _statistics_from_correlations(squared_correlations: Floats) -> Floats:
    """Return the `STATISTICS` (B, 4) for squared canonical correlations (B, s); Wilks' as -log(lambda)."""
    if not squared_correlations.shape[1]:
        return np.full((len(squared_correlations), len(STATISTICS)), np.nan)
    squared_correlations = np.minimum(squared_correlations, 1.0)
    with np.errstate(divide="ignore"):
        roots = squared_correlations / (1 - squared_correlations)
        logs = -np.log1p(-squared_correlations)
    return np.stack(
        [squared_correlations.sum(axis=1), logs.sum(axis=1), roots.sum(axis=1), roots.max(axis=1)], axis=1
    )


Centre = Literal["median", "centroid"]
"""Centre of a class: spatial median or mean."""


def distances_to_class_centres(space: RowSpace, codes: Codes, centre: Centre) -> tuple[Floats, int]:
    """Compute the distance of each row from the centre of its class.

    Parameters
    ----------
    space : RowSpace
        Coordinates or Gower matrix of the rows.
    codes : (n,) int
        Classes, numbered from 0, each with rows.
    centre : {"median", "centroid"}
        Spatial median or mean of the rows of the class.

    Returns
    -------
    distances : (n,) float
        Distances, not squared; zero for a negative squared distance.
    n_negative : int
        Number of rows whose squared distance is negative beyond rounding, which is possible if the metric is
        not Euclidean.
    """
    if space.is_gower_matrix and centre == "centroid":
        squares = _squared_centroid_distances(space.values, codes)
    else:
        coordinates, eigenvalues = (
            space.principal_coordinates()
            if space.is_gower_matrix
            else (space.values, np.ones(space.values.shape[1]))
        )
        squares = np.zeros(len(codes))
        positive_mask = eigenvalues > 0
        for code in range(int(codes.max()) + 1):
            class_rows = np.flatnonzero(codes == code)
            for axis_mask, sign in ((positive_mask, 1.0), (~positive_mask, -1.0)):
                if axis_mask.any():
                    x = coordinates[np.ix_(class_rows, np.flatnonzero(axis_mask))]
                    centre_point = x.mean(axis=0) if centre == "centroid" else spatial_median(x)
                    squares[class_rows] += sign * ((x - centre_point) ** 2).sum(axis=1)
    # Values that are zero up to rounding do not count as negative.
    negative = squares < -STATISTIC_TOLERANCE * np.abs(squares).max(initial=0.0)
    return np.sqrt(np.maximum(squares, 0.0)), int(negative.sum())


def _squared_centroid_distances(products: Floats, codes: Codes) -> Floats:
    """Return the squared distances (n,) of rows from their class centroids, given the Gower matrix (n, n)."""
    squares = np.zeros(len(codes))
    for code in range(int(codes.max()) + 1):
        class_rows = np.flatnonzero(codes == code)
        class_products = products[np.ix_(class_rows, class_rows)]
        squares[class_rows] = (
            np.diagonal(class_products) - 2 * class_products.mean(axis=1) + class_products.mean()
        )
    return squares


N_WEISZFELD_STEPS = 25
"""Number of Weiszfeld steps before Newton's method."""

MAX_NEWTON_STEPS = 60
"""Maximum number of Newton steps."""


def spatial_median(x: Floats) -> Floats:
    """Find the point with the smallest sum of distances to the rows, by Weiszfeld's and then Newton's method.

    A row is that point if the sum of the unit vectors to the other rows is at most as long as the number of
    rows at the point (Vardi & Zhang, 2000, PNAS 97, 1423-1426). If the point is not unique (an even number of
    rows on a line), one of the minimizing points is returned.

    Parameters
    ----------
    x : (n, p) float
        Rows.

    Returns
    -------
    (p,) float

    Examples
    --------
    >>> spatial_median(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])).tolist()
    [2.0, 2.0]
    """
    start = np.median(x, axis=0)
    scale = float(np.abs(x - start).max(initial=0.0))
    if scale == 0:
        return np.asarray(start)
    # Work in the space spanned by the rows, which has fewer coordinates.
    _, singular_values, basis = np.linalg.svd(x - start, full_matrices=False)
    basis = basis[singular_values > ZERO_TOLERANCE * singular_values[0]]
    rows = (x - start) @ basis.T / scale
    point = np.zeros(rows.shape[1])
    if _minimizes_distance_sum(rows, point):
        return np.asarray(start)
    for _ in range(N_WEISZFELD_STEPS):
        weights = 1 / np.maximum(np.linalg.norm(rows - point, axis=1), STATISTIC_TOLERANCE)
        point = weights @ rows / weights.sum()
    for _ in range(MAX_NEWTON_STEPS):
        deviations = rows - point
        norms = np.maximum(np.linalg.norm(deviations, axis=1), ZERO_TOLERANCE)
        unit_vectors = deviations / norms[:, None]
        hessian = np.eye(len(point)) * (1 / norms).sum() - (unit_vectors / norms[:, None]).T @ unit_vectors
        step = np.linalg.solve(hessian, unit_vectors.sum(axis=0))
        objective = norms.sum()
        while (
            np.linalg.norm(rows - point - step, axis=1).sum() > objective
            and np.abs(step).max() > ZERO_TOLERANCE
        ):
            step = step / 2
        point = point + step
        if np.abs(step).max() <= ZERO_TOLERANCE:
            break
    if not _minimizes_distance_sum(rows, point, STATISTIC_TOLERANCE):
        # The objective is not differentiable at a row, and the steps only approach it.
        nearest = rows[np.argsort(np.linalg.norm(rows - point, axis=1))]
        point = next((row for row in nearest if _minimizes_distance_sum(rows, row)), point)
    return np.asarray(start + scale * (point @ basis))


def _minimizes_distance_sum(rows: Floats, point: Floats, tolerance: float = ZERO_TOLERANCE) -> bool:
    """Return whether a point (p,) minimizes the sum of distances to rows (n, p).

    At a minimum the norm of the sum of unit vectors from the point to the other rows is at most the number of
    rows at the point. The condition has a tolerance of `tolerance` n.
    """
    deviations = rows - point
    norms = np.linalg.norm(deviations, axis=1)
    at_point = norms <= ZERO_TOLERANCE
    unit_vector_sum = (deviations[~at_point] / norms[~at_point, None]).sum(axis=0)
    return bool(np.linalg.norm(unit_vector_sum) <= at_point.sum() + tolerance * len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class DispersionTest:
    """Tests of equal dispersion by the distances of rows from the centres of their classes.

    Attributes
    ----------
    f, p : float
        F statistic of equal mean distances, and its permutation p-value; NaN if all distances are equal.
    permuted_f : (B,) float
        F of the B permutations.
    pairs : (r, 2) int
        Codes of the two classes of each of the r pairs, the smaller code first.
    t, pair_p : (r,) float
        Two-sample t statistic of each pair (first class minus second, variance pooled over the pair) and its
        two-sided permutation p-value, not adjusted for the number of pairs.
    """

    f: float
    p: float
    permuted_f: Floats
    pairs: Codes
    t: Floats
    pair_p: Floats


def permutation_dispersion_test(
    distances_to_centre: Floats, codes: Codes, orders: Iterator[Codes], n_permutations: float
) -> DispersionTest:
    """Test whether the classes have the same mean distance from their centres.

    The permuted F are computed from distances minus their class means, the permuted t of the pairs from the
    distances of all rows, not only of the pair.

    Parameters
    ----------
    distances_to_centre : (n,) float
        Distance of each row from the centre of its class, see `distances_to_class_centres`.
    codes : (n,) int
        Classes, numbered from 0, each with rows.
    orders : iterator of (n,) int
        Permutations of the positions of the rows.
    n_permutations : float
        Number of permutations, for the progress bar.

    Returns
    -------
    DispersionTest
    """
    counts = np.bincount(codes).astype(np.float64)
    k_classes = len(counts)
    n = len(distances_to_centre)
    residuals = distances_to_centre - (np.bincount(codes, distances_to_centre) / counts)[codes]
    membership = np.equal.outer(np.arange(k_classes), codes).astype(np.float64)
    pairs = np.array(list(combinations(range(k_classes), 2)), dtype=np.intp)

    def f_statistic(values: Floats) -> Floats:
        """Return F (B,) for equal class means in each column of values (n, B)."""
        sums = membership @ values
        total = values.sum(axis=0)
        between = (sums**2 / counts[:, None]).sum(axis=0) - total**2 / n
        within = (values**2).sum(axis=0) - (sums**2 / counts[:, None]).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(between / (k_classes - 1) / (within / (n - k_classes)))

    def pairwise_t(values: Floats) -> Floats:
        """Return the two-sample t (r, B) of each pair of classes in each column of values (n, B)."""
        means = membership @ values / counts[:, None]
        squares = membership @ values**2 - counts[:, None] * means**2
        a, b = pairs.T
        df = counts[a] + counts[b] - 2
        with np.errstate(divide="ignore", invalid="ignore"):
            se = np.sqrt((squares[a] + squares[b]) / df[:, None] * (1 / counts[a] + 1 / counts[b])[:, None])
            return np.asarray((means[a] - means[b]) / se)

    centred = distances_to_centre - distances_to_centre.mean()
    observed_f = f_statistic(centred[:, None])
    observed_t = pairwise_t(centred[:, None])[:, 0]
    permuted_f_chunks = []
    permuted_t_chunks = []
    for order in stack_permutations(orders, n, n_permutations):
        permuted_f_chunks.append(f_statistic(residuals[order]))
        permuted_t_chunks.append(np.abs(pairwise_t(centred[order])).T)
    permuted_f = np.concatenate(permuted_f_chunks)
    p = float(permutation_pvalues(observed_f, permuted_f[:, None])[0])
    pair_p = permutation_pvalues(np.abs(observed_t), np.concatenate(permuted_t_chunks))
    return DispersionTest(float(observed_f[0]), p, permuted_f, pairs, observed_t, pair_p)
