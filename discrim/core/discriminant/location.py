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

from discrim.core.covariance.covariance import EPS, Covariance, Dependency, dependencies, scaled_cholesky
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, split_mean, standard_columns
from discrim.core.moments.row_sums import RowBlock, RowBlocks, packed_triangle
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import NoLikelihood, Rule, refuse_method

MOST_LEVELS = 2**20
"""Maximum number of levels of a column that is accepted from a file."""

AT_ONCE = 2**18
"""Maximum number of elements of leave-one-out cell means in memory at once."""

LEAST_LEFT = 1e-8
"""Smallest proportion of a variance that has to remain after a subtraction for the result to be accurate."""

GRID = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Candidate values of the smoothing."""


@dataclass(frozen=True, slots=True, eq=False)
class CellLayout:
    """Division of the columns into categorical columns (positions of levels) and numeric columns.

    Attributes
    ----------
    levels : (p,) int
        Number of levels of each column; 0 for numeric columns.
    """

    levels: Codes

    def validate(self) -> None:
        """Raise InvalidStateError if a number of levels of a file is out of range."""
        if not ((self.levels >= 0) & (self.levels <= MOST_LEVELS)).all() or self.levels.all():
            raise InvalidStateError("its levels are no numbers of these, or it has no column of numbers")

    @property
    def categories(self) -> Codes:
        """Positions of the categorical columns."""
        return np.flatnonzero(self.levels)

    @property
    def numbers(self) -> Codes:
        """Positions of the numeric columns."""
        return np.flatnonzero(self.levels == 0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of levels of the categorical columns."""
        return tuple(self.levels[self.categories].tolist())

    @property
    def n_cells(self) -> int:
        """Number of cells, S."""
        return int(np.prod(self.sizes, dtype=np.int64))

    def nearness(self, cell: Codes, smoothing: float) -> Floats:
        """Return the weights (m, S) in each cell of rows in cells (m,), for a smoothing L."""
        if not self.sizes:
            return np.ones((len(cell), 1))
        every = np.array(np.unravel_index(np.arange(self.n_cells), self.sizes))
        apart = (every[:, cell][:, :, None] != every[:, None]).sum(axis=0)
        return np.asarray(smoothing**apart)

    def cells(self, x: Floats) -> Codes:
        """Return the cell (m,) of each row x (m, p); a missing value counts as the first level."""
        if not self.sizes:
            return np.zeros(len(x), dtype=np.intp)
        places = np.nan_to_num(x[:, self.categories]).T
        whole = [np.clip(np.rint(at), 0, size - 1) for at, size in zip(places, self.sizes, strict=True)]
        return np.asarray(np.ravel_multi_index([at.astype(np.intp) for at in whole], self.sizes))

    def numbers_of(self, x: Floats) -> Floats:
        """Return the numeric columns (m, q) of rows x (m, p), in the memory layout of a table."""
        return np.asarray(x.T[self.numbers].T)


@dataclass(frozen=True, slots=True)
class CellRows:
    """Blocks of the numeric columns, with codes of class and cell: class * S + cell.

    Attributes
    ----------
    blocks : iterable of blocks
        Blocks of all columns with codes of the classes.
    layout : CellLayout
    """

    blocks: RowBlocks
    layout: CellLayout

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self.blocks:
            yield self.layout.numbers_of(x), codes * self.layout.n_cells + self.layout.cells(x), weights


def smoothed(values: Floats, sizes: tuple[int, ...], smoothing: float) -> Floats:
    """Sum values over cells with weights L^d.

    Parameters
    ----------
    values : (K, S, ...) float
    sizes : tuple of int
        Numbers of levels of the categorical columns; their product is S.
    smoothing : float
        L.

    Returns
    -------
    (K, S, ...) float
    """
    k, s, *rest = values.shape
    table = values.reshape(k, *sizes, *rest)
    for axis in range(1, len(sizes) + 1):
        table = (1 - smoothing) * table + smoothing * table.sum(axis=axis, keepdims=True)
    return np.asarray(table.reshape(k, s, *rest))


@dataclass(frozen=True, slots=True, eq=False)
class LocationFit(NoLikelihood):
    """Estimates of a location model.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of all columns by class.
    cells : ClassMoments
        Pooled moments of the numeric columns by class and cell: K times S classes.
    layout : CellLayout
    prior : (K,) float
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    smoothing : float
        L, with 0 < L <= 1.
    counts : (K, S) float
        Smoothed counts N_ks.
    places : (K, S, q) float
        Smoothed means m_ks, in the coordinates of the cells' moments.
    covariance : Covariance
        Covariance of the numeric columns, in the coordinates of the cells' moments.
    divisor : float
        Divisor of the covariance.
    """

    moments: ClassMoments
    cells: ClassMoments
    layout: CellLayout
    prior: Floats
    estimated_prior: bool
    smoothing: float
    counts: Floats
    places: Floats
    covariance: Covariance
    divisor: float

    has_distances = False
    no_likelihood = "no_likelihood_of_location"
    no_parameters = "no_parameters_of_location"

    @property
    def means(self) -> Floats:
        """Smoothed means (K, S, q), in the units of the data."""
        return np.asarray(self.cells.origin + self.places / self.cells.scale)

    @property
    def probabilities(self) -> Floats:
        """Smoothed cell probabilities p_ks (K, S)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    def refit(self, moments: ClassMoments, cells: ClassMoments, layout: CellLayout) -> LocationFit | None:
        """Fit the same model to other moments with the same prior and smoothing.

        Parameters
        ----------
        moments, cells, layout
            See `LocationFit`.

        Returns
        -------
        LocationFit or None
            None if the covariance is singular.
        """
        return fit_location(
            moments, cells, layout, self.prior, self.smoothing, estimated_prior=self.estimated_prior
        )

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior (K,); raise NotSupportedError if the method is not "plugin".

        Parameters
        ----------
        log_prior : (K,) float
        method : {"plugin"}
        convention : str, optional
            Not used.
        """
        refuse_method(method, "is not there for the location model")
        return LocationRule(self, log_prior)

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Return the scores of rows under the model without each of them."""
        step = max(AT_ONCE // max(self.places[0].size, 1), 1)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Compute leave-one-out scores (m, K) of rows x (m, p).

            Parameters
            ----------
            x : (m, p) float
            codes : (m,) int
            weights : (m,) float, optional
            """
            found = np.full((len(x), len(log_prior)), np.nan)
            cells = self.layout.cells(x)
            numbers = self.layout.numbers_of(x)
            z = standard_columns(numbers, self.cells.origin, self.cells.scale).T
            mass = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
            for k in range(len(log_prior)):
                rows = np.flatnonzero(codes == k)
                for own in (rows[at] for at in slices(len(rows), step)):
                    found[own] = self._without(k, cells[own], z[own], mass[own], log_prior)
            return found

        return scores

    def _without(self, k: int, cell: Codes, z: Floats, out: Floats, log_prior: Floats) -> Floats:
        """Compute leave-one-out scores of rows of one class.

        Parameters
        ----------
        k : int
            Position of the class.
        cell : (m,) int
            Cell of each row.
        z : (m, q) float
            Numeric columns in the coordinates of the cells' moments.
        out : (m,) float
            Weights that are left out.
        log_prior : (K,) float

        Returns
        -------
        (m, K) float
            NaN for rows that are left to a refit.
        """
        count = len(z)
        s = self.layout.n_cells
        counts = self.cells.counts.reshape(-1, s)
        there = counts > 0
        raw = (self.cells.centres - self.cells.origin) * self.cells.scale + self.cells.rests
        raw = raw.reshape(*counts.shape, -1)
        own = np.arange(count)
        # Smoothed counts and means of all cells of the class, and the remainder of the row's cell.
        near = self.layout.nearness(cell, self.smoothing)
        left = np.repeat(counts[k][None], count, axis=0)
        left[own, cell] -= out
        left[left <= EPS * counts[k]] = 0.0
        n = self.counts[k] - out[:, None] * near
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.counts[k][:, None] * self.places[k] - (out[:, None] * near)[..., None] * z[:, None]
            means /= n[..., None]
            gap = z - raw[k, cell]
            held = left[own, cell]
            moved = np.where(held > 0, out / held, 0.0)[:, None] * gap
        y = np.repeat(raw[k][None], count, axis=0)
        y[own, cell] -= moved
        apart = np.sqrt(left)[..., None] * np.where(left[..., None] > 0, y - means, 0.0)
        others = np.delete(np.arange(len(counts)), k)
        between = np.sqrt(counts)[..., None] * np.where(there[..., None], raw - self.places, 0.0)
        rest = np.einsum("ksi,ksj->ij", between[others], between[others])
        lost = np.where(held > 0, out * (held + out) / np.where(held > 0, held, 1.0), 0.0)
        scatter = self.cells.scatters[0] + rest + np.einsum("msi,msj->mij", apart, apart)
        scatter -= lost[:, None, None] * gap[:, :, None] * gap[:, None]
        # If a column hardly varies without the row, the difference is inaccurate: leave it to a refit.
        whole = (self.covariance.sd**2) * self.divisor
        spoilt = (np.diagonal(scatter, axis1=1, axis2=2) <= LEAST_LEFT * whole).any(axis=1)
        shares = np.divide(counts, self.counts, out=np.zeros_like(counts), where=there)[others].sum()
        trace = np.divide(left, n, out=np.zeros_like(left), where=left > 0).sum(axis=1)
        divisor = self.cells.total - out - shares - trace
        gaps = z - self.places[:, cell]
        gaps[k] = z - means[own, cell]
        d2 = whitened_squares(scatter, gaps) * divisor
        with np.errstate(divide="ignore", invalid="ignore"):
            log_share = np.log(self.probabilities[:, cell])
            log_share[k] = np.log(n[own, cell] / n.sum(axis=1))
        found = (log_prior[:, None] + log_share - d2 / 2).T
        found[(divisor <= 0) | spoilt] = np.nan
        # A class with one row is empty without it.
        found[~(left.sum(axis=1) > 0), k] = -np.inf
        return np.asarray(found)

    def wrong_left_out(self, x: Floats, codes: Codes, weights: Floats | None, log_prior: Floats) -> Floats:
        """Count the leave-one-out errors of each class, with the covariance of all rows.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
            True classes.
        weights : (m,) float, optional
        log_prior : (K,) float

        Returns
        -------
        (K,) float
            Number of rows, or sum of weights.
        """
        k, s = self.counts.shape
        cell = self.layout.cells(x)
        own = np.arange(len(x))
        mass = np.ones(len(x)) if weights is None else weights
        out = np.minimum(mass, 1.0)
        z = standard_columns(self.layout.numbers_of(x), self.cells.origin, self.cells.scale)
        places = self.places.reshape(k * s, -1).T
        u = self.covariance.whiten(z)
        v = self.covariance.whiten(places).reshape(-1, k, s)
        d2 = np.stack([((u - v[:, j, cell]) ** 2).sum(axis=0) for j in range(k)], axis=1)
        with np.errstate(divide="ignore"):
            scores = log_prior + np.log(self.probabilities[:, cell]).T
            count = self.counts[codes, cell]
            total = self.counts[codes].sum(axis=1)
            left = np.maximum(count - out, 0.0)
            others = 1 - out / self.cells.counts.reshape(k, s)[codes].sum(axis=1)
            # A class with one row is empty without it and is never predicted.
            share = np.where(others > EPS, left / np.where(others > EPS, total * others, 1.0), 0.0)
            scores[own, codes] = log_prior[codes] + np.log(share)
            d2[own, codes] *= np.where(left > 0, count / np.where(left > 0, left, 1.0), 1.0) ** 2
        wrong = np.asarray((scores - d2 / 2).argmax(axis=1) != codes)
        return np.bincount(codes, wrong * mass, minlength=k).astype(np.float64)


def whitened_squares(scatters: Floats, gaps: Floats) -> Floats:
    """Compute squared Mahalanobis lengths, each under its own scatter.

    Parameters
    ----------
    scatters : (m, q, q) float
    gaps : (K, m, q) float

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
            return np.full(gaps.shape[:2], np.nan)
        each = [whitened_squares(scatters[i : i + 1], gaps[:, i : i + 1]) for i in range(len(scatters))]
        return np.concatenate(each, axis=1)
    whitened = np.linalg.solve(roots, np.moveaxis(gaps / unit, 0, 2))
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
        Pooled moments of the numeric columns by class and cell.
    layout : CellLayout
    prior : (K,) float
    smoothing : float
        L.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    LocationFit or None
        None if a class is empty, or the covariance is singular.
    """
    counts = cells.counts.reshape(len(prior), layout.n_cells)
    if (counts.sum(axis=1) <= 0).any():
        return None
    weights, means, gaps = _smoothed_means(cells, layout, smoothing)
    there = counts > 0
    divisor = float(cells.total - (counts[there] / weights[there]).sum())
    root = _root(_about_smoothed_means(cells, counts, gaps))
    if divisor <= 0 or root is None:
        return None
    covariance = Covariance.from_root(root / np.sqrt(divisor))
    return LocationFit(
        moments, cells, layout, prior, estimated_prior, smoothing, weights, means, covariance, divisor
    )


def location_of_cells(
    moments: ClassMoments,
    prior: Floats,
    *,
    cells: ClassMoments,
    layout: CellLayout,
    smoothing: float,
    estimated_prior: bool,
) -> LocationFit:
    """Return the location model of cells that were read from a file.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of all columns.
    prior : (K,) float
    cells : ClassMoments
        Pooled moments of the numeric columns, class by class and cell by cell.
    layout : CellLayout
    smoothing : float
    estimated_prior : bool

    Returns
    -------
    LocationFit

    Raises
    ------
    InvalidStateError
        They contradict each other.
    """
    q = len(layout.numbers)
    count = len(prior) * layout.n_cells
    roots = np.zeros((1, q, q)) if cells.roots is None else cells.roots
    shapes = [
        (cells.counts, (count,)), (cells.rows, (count,)), (cells.centres, (count, q)),
        (cells.rests, (count, q)), (cells.scale, (q,)), (cells.scatters, (1, q, q)), (roots, (1, q, q)),
    ]  # fmt: skip
    if any(array.shape != shape for array, shape in shapes) or len(layout.levels) != moments.n_columns:
        raise InvalidStateError("its cells do not match its columns")
    if not ((cells.counts >= 0).all() and (cells.scale > 0).all() and 0 < smoothing <= 1):
        raise InvalidStateError("its cells have no counts, or no scale")
    fit = fit_location(moments, cells, layout, prior, smoothing, estimated_prior=estimated_prior)
    if fit is None:
        raise InvalidStateError("its cells leave no covariance")
    return fit


def location_obstacles(cells: ClassMoments, layout: CellLayout, smoothing: float) -> list[Dependency]:
    """Return the columns that are constant or linearly dependent about the smoothed means.

    Parameters
    ----------
    cells : ClassMoments
        Pooled moments of the numeric columns by class and cell; every class has rows.
    layout : CellLayout
    smoothing : float

    Returns
    -------
    list of Dependency
        With positions among the numeric columns.
    """
    gaps = _smoothed_means(cells, layout, smoothing)[2]
    return dependencies(_about_smoothed_means(cells, cells.counts.reshape(gaps.shape[:2]), gaps))


def _smoothed_means(
    cells: ClassMoments, layout: CellLayout, smoothing: float
) -> tuple[Floats, Floats, Floats]:
    """Smooth counts and means over cells.

    Means are smoothed as differences from the mean of one cell of their class, which avoids rounding
    errors in columns with one value in the class.

    Parameters
    ----------
    cells : ClassMoments
    layout : CellLayout
    smoothing : float

    Returns
    -------
    counts : (K, S) float
    means : (K, S, q) float
    residuals : (K, S, q) float
        Means of the cells minus the smoothed means.
    """
    counts = cells.counts.reshape(-1, layout.n_cells)
    places = ((cells.centres - cells.origin) * cells.scale + cells.rests).reshape(*counts.shape, -1)
    first = places[np.arange(len(counts)), (counts > 0).argmax(axis=1)][:, None]
    places = np.where((counts > 0)[..., None], places - first, 0.0)
    weights = smoothed(counts, layout.sizes, smoothing)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = smoothed(counts[..., None] * places, layout.sizes, smoothing) / weights[..., None]
    return weights, first + means, places - means


def _about_smoothed_means(cells: ClassMoments, counts: Floats, gaps: Floats) -> ClassMoments:
    """Return the moments of the cells with the pooled scatter about the smoothed means.

    Parameters
    ----------
    cells : ClassMoments
    counts : (K, S) float
    gaps : (K, S, q) float
        Means of the cells minus the smoothed means.

    Returns
    -------
    ClassMoments
    """
    there = counts > 0
    between = np.sqrt(counts[there])[:, None] * gaps[there]
    if cells.roots is None:
        return replace(cells, scatters=(cells.scatters[0] + between.T @ between)[None])
    root = packed_triangle(np.concatenate([cells.roots[0], between]))
    return replace(cells, scatters=(root.T @ root)[None], roots=root[None])


def _root(about: ClassMoments) -> Floats | None:
    """Return the triangular root (q, q) of the scatter about smoothed means; None if it is singular."""
    if dependencies(about):
        return None
    try:
        return about.roots[0] if about.roots is not None else np.asarray(scaled_cholesky(about.scatters[0]))
    except np.linalg.LinAlgError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class LocationRule:
    """Rule that scores each row by the linear rule of its cell.

    Attributes
    ----------
    fit : LocationFit
    log_prior : (K,) float
    rules : dict
        Cache of the rules by cell.
    """

    fit: LocationFit
    log_prior: Floats
    rules: dict[int, Rule] = field(default_factory=dict)

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p)."""
        fit = self.fit
        found = np.empty((len(x), len(self.log_prior)))
        cells = fit.layout.cells(x)
        numbers = fit.layout.numbers_of(x)
        for cell in np.unique(cells).tolist():
            own = np.flatnonzero(cells == cell)
            found[own] = self._of_cell(cell).scores(numbers[own])
        return found

    def _of_cell(self, cell: int) -> Rule:
        """Return the linear rule of a cell, computed at its first use."""
        if cell not in self.rules:
            fit = self.fit
            cells = self.fit.cells
            centres, rests = split_mean(cells.origin, fit.places[:, cell], cells.scale)
            counts = fit.counts[:, cell]
            moments = replace(
                cells, counts=counts, rows=np.ones(len(counts), dtype=np.int64), centres=centres, rests=rests,
                roots=None,
            )  # fmt: skip
            with np.errstate(divide="ignore"):
                log_prior = self.log_prior + np.log(fit.probabilities[:, cell])
            self.rules[cell] = gaussian.linear_rule(moments, fit.covariance, log_prior)
        return self.rules[cell]
