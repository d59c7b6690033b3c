"""The location model of mixed categorical and numeric columns: the fit, leaving rows out, and the rule.

*Model.* The combinations of the levels of all categorical columns are cells. A row of class k is in cell s
with probability p_ks, and its numeric columns are then normal with a mean m_ks and one covariance S for all
classes and cells (Olkin & Tate, 1961; Krzanowski, 1975, Journal of the American Statistical Association 70,
782-790). The score of a class is ln prior_k + ln p_ks less half the squared distance from m_ks.

*Smoothing.* Most cells have few rows, or none, of a class. Each row counts one in its cell, and L^d in a cell
that differs from it in d columns, with 0 < L <= 1 (Asparoukhov & Krzanowski, 2000, Statistics and Computing
10, 289-297). With n_ks rows and a mean y_ks in each cell, and a_st = L^d(s,t),

    N_ks = sum_t a_st n_kt,    p_ks = N_ks / sum_t N_kt,    m_ks = sum_t a_st n_kt y_kt / N_ks.

Near L = 0 each cell with rows is a sample of its own; at L = 1 cells do not matter, and the rule is
LDA of the numeric columns. The matrix a is a product of (1 - L) I + L 11' over the columns, and no matrix of
cells by cells is formed.

*Covariance.* Sums of squares and products are about the smoothed means: (y - m)(y - m)' between cells added
to the scatter within cells. The means are linear in the rows, each with a weight of 1/N_ks in its own cell,
therefore the divisor is N less the sum of n_ks / N_ks: N - K at L = 1, and N less the number of cells with
rows near L = 0.

*Leaving a row out* changes all N_ks and m_ks of its class, and the scatter of its cell by a matrix of rank
one; the contribution of other classes to the scatter stays the same. For the choice of L, S is kept fixed:
without a row of weight one, N_ks of its own cell is smaller by one, and the row is N_ks/(N_ks - 1) times as
far from m_ks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from discrim.core.covariance.covariance import Covariance, Dependency, dependencies, scaled_cholesky
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, split_mean, standardize_columns
from discrim.core.moments.row_sums import RowBlock, RowBlocks, triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats, slices
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import NoLikelihood, Rule, require_plugin_method

MAX_LEVELS = 2**20
"""Maximum number of levels of a column that is accepted from a file."""

MAX_CHUNK_ELEMENTS = 2**18
"""Maximum number of elements of leave-one-out cell means in memory at once."""

MIN_REMAINING_SHARE = 1e-8
"""Smallest proportion of a variance that has to remain after a subtraction for the result to be accurate."""

SMOOTHING_CANDIDATES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Candidate values of the smoothing L."""


@dataclass(frozen=True, slots=True, eq=False)
class CellLayout:
    """Which columns are categorical, with their numbers of levels, and which are numeric.

    A categorical column contains the positions of the levels, from zero.

    Attributes
    ----------
    levels : (p,) int
        Number of levels of each column; 0 for numeric columns.
    """

    levels: Codes

    def validate(self) -> None:
        """Raise InvalidStateError if a number of levels of a file is not in [0, `MAX_LEVELS`].

        It is also raised if no column is numeric.
        """
        if not ((self.levels >= 0) & (self.levels <= MAX_LEVELS)).all() or self.levels.all():
            raise InvalidStateError("its numbers of levels are out of range, or it has no numeric column")

    @property
    def categorical_positions(self) -> Codes:
        """Positions of the categorical columns."""
        return np.flatnonzero(self.levels)

    @property
    def numeric_positions(self) -> Codes:
        """Positions of the numeric columns."""
        return np.flatnonzero(self.levels == 0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of levels of the categorical columns."""
        return tuple(self.levels[self.categorical_positions].tolist())

    @property
    def n_cells(self) -> int:
        """Number of cells, S: the product of `sizes`."""
        return int(np.prod(self.sizes, dtype=np.int64))

    def cell_weights(self, cells: Codes, smoothing: float) -> Floats:
        """Return the weights L^d (m, S) of rows in cells (m,) in all S cells, for a smoothing L.

        d is the number of categorical columns in which the two cells differ.
        """
        if not self.sizes:
            return np.ones((len(cells), 1))
        all_cells = np.array(np.unravel_index(np.arange(self.n_cells), self.sizes))
        n_different = (all_cells[:, cells][:, :, None] != all_cells[:, None]).sum(axis=0)
        return np.asarray(smoothing**n_different)

    def cells(self, x: Floats) -> Codes:
        """Return the cell positions (m,) of rows x (m, p); the last categorical column varies fastest.

        Missing values count as the first level, and values out of range as the nearest level.
        """
        if not self.sizes:
            return np.zeros(len(x), dtype=np.intp)
        levels = np.nan_to_num(x[:, self.categorical_positions]).T
        valid_levels = [
            np.clip(np.rint(column), 0, size - 1) for column, size in zip(levels, self.sizes, strict=True)
        ]
        return np.asarray(
            np.ravel_multi_index([column.astype(np.intp) for column in valid_levels], self.sizes)
        )

    def numeric_columns(self, x: Floats) -> Floats:
        """Return a copy of the numeric columns (m, q) of rows x (m, p), in the units of x."""
        return np.asarray(x.T[self.numeric_positions].T)


@dataclass(frozen=True, slots=True)
class CellRows:
    """Blocks of the numeric columns, with codes of the combination of class and cell: class * S + cell.

    Attributes
    ----------
    blocks : iterable of blocks
        Blocks of all columns with codes of the classes.
    layout : CellLayout
        Which columns are categorical and which are numeric.
    """

    blocks: RowBlocks
    layout: CellLayout

    def __iter__(self) -> Iterator[RowBlock]:
        """Yield (numeric columns, codes class * S + cell, weights or None) of each block."""
        for x, codes, weights in self.blocks:
            yield self.layout.numeric_columns(x), codes * self.layout.n_cells + self.layout.cells(x), weights


def smooth_over_cells(values: Floats, sizes: tuple[int, ...], smoothing: float) -> Floats:
    """Sum values over cells with weights L^d, with d the number of columns in which two cells differ.

    Parameters
    ----------
    values : (K, S, ...) float
        Values by class and cell, with cells in the order of `CellLayout.cells`.
    sizes : tuple of int
        Numbers of levels of the categorical columns; their product is S.
    smoothing : float
        L, the weight of cells that differ in one column.

    Returns
    -------
    (K, S, ...) float
        For each class and cell, the weighted sum of the values of all cells of the class.
    """
    k, s, *trailing = values.shape
    table = values.reshape(k, *sizes, *trailing)
    for axis in range(1, len(sizes) + 1):
        table = (1 - smoothing) * table + smoothing * table.sum(axis=axis, keepdims=True)
    return np.asarray(table.reshape(k, s, *trailing))


@dataclass(frozen=True, slots=True, eq=False)
class LocationFit(NoLikelihood):
    """Estimates of a location model of K classes, S cells and q numeric columns.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of all columns by class.
    cells : ClassMoments
        Pooled moments of the numeric columns by class and cell: K times S classes.
    layout : CellLayout
        Which columns are categorical and which are numeric.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    smoothing : float
        L, with 0 < L <= 1.
    counts : (K, S) float
        Smoothed counts N_ks.
    smoothed_means : (K, S, q) float
        Smoothed means m_ks, in the coordinates of the cells' moments.
    covariance : Covariance
        Covariance of the numeric columns, in the coordinates of the cells' moments.
    divisor : float
        Divisor of the covariance: N less the sum of n_ks / N_ks over cells with rows.
    """

    moments: ClassMoments
    cells: ClassMoments
    layout: CellLayout
    prior: Floats
    estimated_prior: bool
    smoothing: float
    counts: Floats
    smoothed_means: Floats
    covariance: Covariance
    divisor: float

    has_distances = False
    no_likelihood = "no_likelihood_of_location"
    no_parameters = "no_parameters_of_location"

    @property
    def means(self) -> Floats:
        """Smoothed means (K, S, q), in the units of the data."""
        return np.asarray(self.cells.origin + self.smoothed_means / self.cells.scale)

    @property
    def probabilities(self) -> Floats:
        """Smoothed cell probabilities p_ks (K, S)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    def refit(self, moments: ClassMoments, cells: ClassMoments, layout: CellLayout) -> LocationFit | None:
        """Fit the same model to other moments with the same prior and smoothing.

        Parameters
        ----------
        moments : ClassMoments
            Diagonal moments of all columns by class.
        cells : ClassMoments
            Pooled moments of the numeric columns; cell s of class k is class k S + s of these moments.
        layout : CellLayout
            Which columns are categorical and which are numeric.

        Returns
        -------
        LocationFit or None
            None if a class has no weight, or the covariance is singular or has no degrees of freedom.
        """
        return fit_location(
            moments, cells, layout, self.prior, self.smoothing, estimated_prior=self.estimated_prior
        )

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        method : {"plugin"}
            Only "plugin" is supported.
        convention : str, optional
            Not used.

        Returns
        -------
        LocationRule
            Rule for rows of all columns, in the units of the data.

        Raises
        ------
        CoreNotSupportedError
            The method is not "plugin".
        """
        require_plugin_method(method, "is not defined for the location model")
        return LocationRule(self, log_prior)

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return a function of rows that scores each row by the model that is fitted without it.

        `log_prior` (K,) and the smoothing are kept; probabilities, means and covariance are estimated without
        the row. Scores are NaN for rows that require a refit.
        """
        step = max(MAX_CHUNK_ELEMENTS // max(self.smoothed_means[0].size, 1), 1)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Compute leave-one-out scores (m, K) of rows x (m, p).

            Parameters
            ----------
            x : (m, p) float
                Rows, in the units of the data.
            codes : (m,) int
                Positions of the classes of the rows.
            weights : (m,) float, optional
                Weights of the rows; by default one.

            Returns
            -------
            (m, K) float
                NaN for rows that require a refit, and minus infinity for the class of a row that is alone
                in it.
            """
            log_scores = np.full((len(x), len(log_prior)), np.nan)
            cells = self.layout.cells(x)
            numeric_columns = self.layout.numeric_columns(x)
            z = standardize_columns(numeric_columns, self.cells.origin, self.cells.scale).T
            left_out_weights = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
            for k in range(len(log_prior)):
                rows = np.flatnonzero(codes == k)
                for chunk in (rows[row_slice] for row_slice in slices(len(rows), step)):
                    log_scores[chunk] = self._leave_one_out_scores(
                        k, cells[chunk], z[chunk], left_out_weights[chunk], log_prior
                    )
            return log_scores

        return scores

    def _leave_one_out_scores(self, k: int, cell: Codes, z: Floats, w: Floats, log_prior: Floats) -> Floats:
        """Compute leave-one-out scores of rows of one class.

        Parameters
        ----------
        k : int
            Position of the class.
        cell : (m,) int
            Cell of each row.
        z : (m, q) float
            Numeric columns of the rows, as z = (x - origin) * scale of the cells' moments.
        w : (m,) float
            Weights that are left out.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        (m, K) float
            Log prior plus log density, up to a constant for each row; NaN for rows that require a refit, and
            minus infinity for the class if the row is alone in it.
        """
        n_rows = len(z)
        s = self.layout.n_cells
        counts = self.cells.counts.reshape(-1, s)
        has_rows = counts > 0
        raw_means = (self.cells.centres - self.cells.origin) * self.cells.scale + self.cells.rests
        raw_means = raw_means.reshape(*counts.shape, -1)
        row_index = np.arange(n_rows)
        # Smoothed counts and means of all cells of the class, and the remainder of the row's cell.
        nearness = self.layout.cell_weights(cell, self.smoothing)
        remaining_counts = np.repeat(counts[k][None], n_rows, axis=0)
        remaining_counts[row_index, cell] -= w
        remaining_counts[remaining_counts <= EPS * counts[k]] = 0.0
        n = self.counts[k] - w[:, None] * nearness
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (
                self.counts[k][:, None] * self.smoothed_means[k]
                - (w[:, None] * nearness)[..., None] * z[:, None]
            )
            means /= n[..., None]
            cell_deviations = z - raw_means[k, cell]
            remaining_in_cell = remaining_counts[row_index, cell]
            mean_shifts = (
                np.where(remaining_in_cell > 0, w / remaining_in_cell, 0.0)[:, None] * cell_deviations
            )
        cell_means = np.repeat(raw_means[k][None], n_rows, axis=0)
        cell_means[row_index, cell] -= mean_shifts
        between_factors = np.sqrt(remaining_counts)[..., None] * np.where(
            remaining_counts[..., None] > 0, cell_means - means, 0.0
        )
        others = np.delete(np.arange(len(counts)), k)
        between = np.sqrt(counts)[..., None] * np.where(
            has_rows[..., None], raw_means - self.smoothed_means, 0.0
        )
        between_others = np.einsum("ksi,ksj->ij", between[others], between[others])
        removed_factors = np.where(
            remaining_in_cell > 0,
            w * (remaining_in_cell + w) / np.where(remaining_in_cell > 0, remaining_in_cell, 1.0),
            0.0,
        )
        scatter = (
            self.cells.scatters[0]
            + between_others
            + np.einsum("msi,msj->mij", between_factors, between_factors)
        )
        scatter -= removed_factors[:, None, None] * cell_deviations[:, :, None] * cell_deviations[:, None]
        # If a column hardly varies without the row, the difference is inaccurate: leave it to a refit.
        full_squares = (self.covariance.sd**2) * self.divisor
        needs_refit = (np.diagonal(scatter, axis1=1, axis2=2) <= MIN_REMAINING_SHARE * full_squares).any(
            axis=1
        )
        effective_counts = np.divide(counts, self.counts, out=np.zeros_like(counts), where=has_rows)[
            others
        ].sum()
        trace = np.divide(
            remaining_counts, n, out=np.zeros_like(remaining_counts), where=remaining_counts > 0
        ).sum(axis=1)
        divisor = self.cells.total - w - effective_counts - trace
        mean_deviations = z - self.smoothed_means[:, cell]
        mean_deviations[k] = z - means[row_index, cell]
        d2 = squared_mahalanobis_lengths(scatter, mean_deviations) * divisor
        with np.errstate(divide="ignore", invalid="ignore"):
            log_probabilities = np.log(self.probabilities[:, cell])
            log_probabilities[k] = np.log(n[row_index, cell] / n.sum(axis=1))
        scores = (log_prior[:, None] + log_probabilities - d2 / 2).T
        scores[(divisor <= 0) | needs_refit] = np.nan
        # A class with one row is empty without it.
        scores[~(remaining_counts.sum(axis=1) > 0), k] = -np.inf
        return np.asarray(scores)

    def count_leave_one_out_errors(
        self, x: Floats, codes: Codes, weights: Floats | None, log_prior: Floats
    ) -> Floats:
        """Count the leave-one-out errors of each class, with the covariance of all rows.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            True classes.
        weights : (m,) float, optional
            Weights of the rows; by default one.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        (K,) float
            Number of misclassified rows, or sum of their weights.
        """
        k, s = self.counts.shape
        cell = self.layout.cells(x)
        row_index = np.arange(len(x))
        row_weights = np.ones(len(x)) if weights is None else weights
        left_out_weights = np.minimum(row_weights, 1.0)
        z = standardize_columns(self.layout.numeric_columns(x), self.cells.origin, self.cells.scale)
        smoothed_means = self.smoothed_means.reshape(k * s, -1).T
        u = self.covariance.whiten(z)
        v = self.covariance.whiten(smoothed_means).reshape(-1, k, s)
        d2 = np.stack([((u - v[:, j, cell]) ** 2).sum(axis=0) for j in range(k)], axis=1)
        with np.errstate(divide="ignore"):
            scores = log_prior + np.log(self.probabilities[:, cell]).T
            count = self.counts[codes, cell]
            total = self.counts[codes].sum(axis=1)
            remaining_counts = np.maximum(count - left_out_weights, 0.0)
            others = 1 - left_out_weights / self.cells.counts.reshape(k, s)[codes].sum(axis=1)
            # A class with one row is empty without it and is never predicted.
            proportions = np.where(
                others > EPS, remaining_counts / np.where(others > EPS, total * others, 1.0), 0.0
            )
            scores[row_index, codes] = log_prior[codes] + np.log(proportions)
            d2[row_index, codes] *= (
                np.where(
                    remaining_counts > 0, count / np.where(remaining_counts > 0, remaining_counts, 1.0), 1.0
                )
                ** 2
            )
        is_wrong = np.asarray((scores - d2 / 2).argmax(axis=1) != codes)
        return np.bincount(codes, is_wrong * row_weights, minlength=k).astype(np.float64)


def squared_mahalanobis_lengths(scatters: Floats, mean_deviations: Floats) -> Floats:
    """Compute the squared Mahalanobis lengths d'W^-1 d of deviations d, for each row under its own scatter W.

    Parameters
    ----------
    scatters : (m, q, q) float
        Scatter for each row, which is not divided.
    mean_deviations : (K, m, q) float
        Deviations of m rows from K class means.

    Returns
    -------
    (K, m) float
        NaN if a scatter is singular.
    """
    unit = np.sqrt(np.maximum(np.diagonal(scatters, axis1=1, axis2=2), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    scaled = scatters / (unit[:, :, None] * unit[:, None])
    try:
        roots = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        # Factorize one by one to find the singular ones.
        if len(scatters) == 1:
            return np.full(mean_deviations.shape[:2], np.nan)
        squares = [
            squared_mahalanobis_lengths(scatters[i : i + 1], mean_deviations[:, i : i + 1])
            for i in range(len(scatters))
        ]
        return np.concatenate(squares, axis=1)
    whitened = np.linalg.solve(roots, np.moveaxis(mean_deviations / unit, 0, 2))
    return np.asarray((whitened**2).sum(axis=1).T)


def fit_location(
    moments: ClassMoments,
    cells: ClassMoments,
    layout: CellLayout,
    prior: Floats,
    smoothing: float,
    *,
    estimated_prior: bool,
) -> LocationFit | None:
    """Estimate a location model.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of all columns by class.
    cells : ClassMoments
        Pooled moments of the numeric columns; cell s of class k is class k S + s of these moments.
    layout : CellLayout
        Which columns are categorical and which are numeric.
    prior : (K,) float
        Prior probabilities of the classes.
    smoothing : float
        Smoothing L, with 0 < L <= 1.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    LocationFit or None
        None if a class has no weight, the covariance is singular, or its divisor is not positive.
    """
    counts = cells.counts.reshape(len(prior), layout.n_cells)
    if (counts.sum(axis=1) <= 0).any():
        return None
    smoothed_counts, means, residuals = _smooth_means(cells, layout, smoothing)
    has_rows = counts > 0
    divisor = float(cells.total - (counts[has_rows] / smoothed_counts[has_rows]).sum())
    root = _scatter_root(_moments_about_smoothed_means(cells, counts, residuals))
    if divisor <= 0 or root is None:
        return None
    covariance = Covariance.from_root(root / np.sqrt(divisor))
    return LocationFit(
        moments, cells, layout, prior, estimated_prior, smoothing, smoothed_counts, means, covariance, divisor
    )


def restore_location(
    moments: ClassMoments,
    prior: Floats,
    *,
    cells: ClassMoments,
    layout: CellLayout,
    smoothing: float,
    estimated_prior: bool,
) -> LocationFit:
    """Fit the location model to cells that were read from a file, after checking them.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of all columns.
    prior : (K,) float
        Prior probabilities of the classes.
    cells : ClassMoments
        Pooled moments of the numeric columns; cell s of class k is class k S + s of these moments.
    layout : CellLayout
        Which columns are categorical and which are numeric.
    smoothing : float
        Smoothing L, with 0 < L <= 1.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    LocationFit
        Fitted again to the cells.

    Raises
    ------
    InvalidStateError
        Values are out of range or contradict each other, or the covariance is singular.
    """
    q = len(layout.numeric_positions)
    count = len(prior) * layout.n_cells
    roots = np.zeros((1, q, q)) if cells.roots is None else cells.roots
    shapes = [
        (cells.counts, (count,)), (cells.rows, (count,)), (cells.centres, (count, q)),
        (cells.rests, (count, q)), (cells.scale, (q,)), (cells.scatters, (1, q, q)), (roots, (1, q, q)),
    ]  # fmt: skip
    if any(array.shape != shape for array, shape in shapes) or len(layout.levels) != moments.n_columns:
        raise InvalidStateError("its cells do not match its columns")
    if not ((cells.counts >= 0).all() and (cells.scale > 0).all() and 0 < smoothing <= 1):
        raise InvalidStateError("the counts, the scale or the smoothing of its cells is out of range")
    fit = fit_location(moments, cells, layout, prior, smoothing, estimated_prior=estimated_prior)
    if fit is None:
        raise InvalidStateError("the covariance within its cells is singular")
    return fit


def dependent_location_columns(cells: ClassMoments, layout: CellLayout, smoothing: float) -> list[Dependency]:
    """Return the numeric columns that are constant or linearly dependent about the smoothed means.

    Parameters
    ----------
    cells : ClassMoments
        Pooled moments of the numeric columns; cell s of class k is class k S + s. Every class k has rows.
    layout : CellLayout
        Which columns are categorical and which are numeric.
    smoothing : float
        Smoothing L, between 0 and 1.

    Returns
    -------
    list of Dependency
        With positions among the numeric columns.
    """
    residuals = _smooth_means(cells, layout, smoothing)[2]
    return dependencies(
        _moments_about_smoothed_means(cells, cells.counts.reshape(residuals.shape[:2]), residuals)
    )


def _smooth_means(cells: ClassMoments, layout: CellLayout, smoothing: float) -> tuple[Floats, Floats, Floats]:
    """Smooth counts and means over cells.

    Means are smoothed as differences from the mean of one cell of their class, which avoids rounding
    errors in columns with one value in the class.

    Parameters
    ----------
    cells : ClassMoments
        Moments of the numeric columns by class and cell.
    layout : CellLayout
        Which columns are categorical and which are numeric.
    smoothing : float
        Smoothing L, between 0 and 1.

    Returns
    -------
    counts : (K, S) float
        Smoothed counts N_ks.
    means : (K, S, q) float
        Smoothed means m_ks, in z.
    residuals : (K, S, q) float
        Means of the cells minus the smoothed means; without meaning for cells without rows.
    """
    counts = cells.counts.reshape(-1, layout.n_cells)
    cell_means = ((cells.centres - cells.origin) * cells.scale + cells.rests).reshape(*counts.shape, -1)
    reference_means = cell_means[np.arange(len(counts)), (counts > 0).argmax(axis=1)][:, None]
    cell_means = np.where((counts > 0)[..., None], cell_means - reference_means, 0.0)
    smoothed_counts = smooth_over_cells(counts, layout.sizes, smoothing)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (
            smooth_over_cells(counts[..., None] * cell_means, layout.sizes, smoothing)
            / smoothed_counts[..., None]
        )
    return smoothed_counts, reference_means + means, cell_means - means


def _moments_about_smoothed_means(cells: ClassMoments, counts: Floats, residuals: Floats) -> ClassMoments:
    """Return the moments of the cells with the pooled scatter about the smoothed means.

    Parameters
    ----------
    cells : ClassMoments
        Moments of the numeric columns by class and cell.
    counts : (K, S) float
        Sums of weights n_ks by class and cell, not smoothed.
    residuals : (K, S, q) float
        Means of the cells minus the smoothed means.

    Returns
    -------
    ClassMoments
        With the means of the cells, and with a root if the cells have one.
    """
    has_rows = counts > 0
    between = np.sqrt(counts[has_rows])[:, None] * residuals[has_rows]
    if cells.roots is None:
        return replace(cells, scatters=(cells.scatters[0] + between.T @ between)[None])
    root = triangular_root(np.concatenate([cells.roots[0], between]))
    return replace(cells, scatters=(root.T @ root)[None], roots=root[None])


def _scatter_root(moments: ClassMoments) -> Floats | None:
    """Return the upper triangular root (q, q) of the pooled scatter.

    None if columns are dependent or the Cholesky factorization fails. `moments` is a result of
    `_moments_about_smoothed_means`.
    """
    if dependencies(moments):
        return None
    try:
        return (
            moments.roots[0]
            if moments.roots is not None
            else np.asarray(scaled_cholesky(moments.scatters[0]))
        )
    except np.linalg.LinAlgError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class LocationRule:
    """Rule that scores each row by the linear rule of its cell.

    Attributes
    ----------
    fit : LocationFit
        Estimates of the model.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    rules : dict
        Cache of the rules by position of the cell, filled at their first use.
    """

    fit: LocationFit
    log_prior: Floats
    rules: dict[int, Rule] = field(default_factory=dict)

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p), up to a constant for each row.

        They are the log prior plus the log probability of the row's cell, less half the squared distance.
        """
        fit = self.fit
        scores = np.empty((len(x), len(self.log_prior)))
        cells = fit.layout.cells(x)
        numeric_columns = fit.layout.numeric_columns(x)
        for cell in np.unique(cells).tolist():
            members = np.flatnonzero(cells == cell)
            scores[members] = self._rule_for_cell(cell).scores(numeric_columns[members])
        return scores

    def _rule_for_cell(self, cell: int) -> Rule:
        """Return the linear rule of a cell, computed at its first use and cached."""
        if cell not in self.rules:
            fit = self.fit
            cells = self.fit.cells
            centres, centre_errors = split_mean(cells.origin, fit.smoothed_means[:, cell], cells.scale)
            counts = fit.counts[:, cell]
            moments = replace(
                cells,
                counts=counts,
                rows=np.ones(len(counts), dtype=np.int64),
                centres=centres,
                rests=centre_errors,
                roots=None,
            )
            with np.errstate(divide="ignore"):
                log_prior = self.log_prior + np.log(fit.probabilities[:, cell])
            self.rules[cell] = gaussian.linear_rule(moments, fit.covariance, log_prior)
        return self.rules[cell]
