"""Principal axes of scatters, canonical axes of class means, and covariances on a few axes plus a sphere.

`principal_axes`, `canonical_axes` and `ThinCovariance` are used by the shrunk, factor-analytic and projected
covariances and by the canonical discriminants of LDA.

*Principal axes.* The n rows of p > n columns span n dimensions at most. A scatter W = U L U' has r <= n axes
U (p, r). A function of W and of the identity is determined by its values on these axes and by one number for
their orthogonal complement, and no p x p matrix is formed: with variances V on the axes and v in the
complement, a covariance U V U' + v (I - U U') has the determinant |V| v^(p - r), and the squared distance of
z is the sum of the squares of U'z over V and of the squared residual of z on U over v. Axes refer to the
units of the data.

*Canonical axes.* With T'ST = I for the covariance S within classes, the whitened class means T'(m_k - c),
each weighted by the square root of a_k, form a matrix whose right singular vectors V give the canonical axes
T V: directions of unit variance within classes, ordered by how far the means spread along them. The squared
singular values are the eigenvalues of S^-1 B with B = sum a_k (m_k - c)(m_k - c)'. No product with B or
inverse of S is ever formed.

*Subsets of columns.* With R'R = S, the covariance of some columns has as root the triangle of a QR of these
columns of R, and nothing is squared. For a covariance U V U' + v (I - U U') it is v I + U_o (V - v) U_o',
whose axes are the singular vectors of U_o times the roots of V - v.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats, svd

TIE_TOLERANCE = 1e-8
"""Relative difference up to which eigenvalues count as equal."""


def tied_axes(eigenvalues: Floats, count: int, floor: float = 0.0) -> tuple[int, int] | None:
    """Find the axes of equal eigenvalues that are separated if the first `count` axes are kept.

    Parameters
    ----------
    eigenvalues : (r,) float
        In decreasing order.
    count : int
        Number of axes that are kept.
    floor : float
        Smallest reference value: eigenvalues are equal if their difference is at most `TIE_TOLERANCE` times
        the larger of them, or times `floor` if it is larger than both.

    Returns
    -------
    (int, int) or None
        Numbers, from one, of the first and the last axis whose eigenvalues equal the eigenvalue of axis
        `count`. None if the next eigenvalue is smaller, or if all axes are kept.

    Examples
    --------
    >>> tied_axes(np.array([3.0, 1.0, 1.0, 1.0, 0.5]), 3), tied_axes(np.array([3.0, 1.0, 1.0]), 1)
    ((2, 4), None)
    """
    larger = eigenvalues[:-1]
    smaller = eigenvalues[1:]
    is_equal = larger - smaller <= TIE_TOLERANCE * np.maximum(larger, floor)
    if not 0 < count < len(eigenvalues) or not is_equal[count - 1]:
        return None
    falls = np.flatnonzero(~is_equal) + 1
    first = falls[falls < count].max(initial=0) + 1
    last = falls[falls > count].min(initial=len(eigenvalues))
    return int(first), int(last)


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalAxes:
    """Canonical axes of class means, in the coordinates z of the moments.

    Attributes
    ----------
    centre : (p,) float
        Weighted mean of the class means.
    axes : (p, r) float
        Coefficients of scores with unit variance within classes. In each column the largest coefficient,
        standardized by the standard deviation within classes, is positive.
    singular_values : (r,) float
        Nonzero singular values of the whitened and weighted class means in decreasing order, with
        r <= min(p, K - 1).
    scores : (K, r) float
        Scores of the class means less the centre.
    """

    centre: Floats
    axes: Floats
    singular_values: Floats
    scores: Floats


def weighted_centre(means: Floats, weights: Floats) -> Floats:
    """Return the mean (p,) of class means (K, p) with weights (K,), exact in columns of equal means."""
    anchor = means[int(np.argmax(weights))]
    return np.asarray(anchor + weights @ (means - anchor) / weights.sum())


def canonical_axes(means: Floats, covariance: Covariance, weights: Floats, factor: float) -> CanonicalAxes:
    """Compute the canonical axes of class means.

    Parameters
    ----------
    means : (K, p) float
        In the coordinates of the covariance.
    covariance : Covariance
        Covariance within classes.
    weights : (K,) float
        Weights of the classes, with sum one.
    factor : float
        Multiplies the weights, which scales the singular values only: N / (K - 1) for the singular values of
        R's MASS with method "moment", N / K for its "mle", and N / divisor (of the covariance) for the square
        roots of the eigenvalues of W^-1 B.

    Returns
    -------
    CanonicalAxes
        Only the axes whose singular values exceed rounding errors. They are the columns of `axes` (p, r), and
        their scores have variance one under `covariance`.
    """
    centre = weighted_centre(means, weights)
    whitened = covariance.whiten((means - centre).T).T
    _, singular_values, right_vectors = svd(
        np.sqrt(factor * weights)[:, None] * whitened, full_matrices=False
    )
    max_rank = min(means.shape[1], len(means) - 1)
    rank = (
        int((singular_values[:max_rank] > 10 * max(means.shape) * EPS * singular_values[0]).sum())
        if singular_values.size
        else 0
    )
    axes = covariance.unwhiten(right_vectors[:rank].T)
    signs = positive_signs(axes * covariance.sd[:, None])
    return CanonicalAxes(
        centre, axes * signs, singular_values[:rank], whitened @ (right_vectors[:rank].T * signs)
    )


def positive_signs(standardized: Floats) -> Floats:
    """Return signs (r,) that make the largest coefficient of each column of an array (p, r) positive.

    Among coefficients of nearly the same size the first becomes positive.
    """
    sizes = np.abs(standardized)
    if not sizes.size:
        return np.ones(standardized.shape[1])
    first = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-8), axis=0)
    return np.where(standardized[first, np.arange(standardized.shape[1])] < 0, -1.0, 1.0)


def svd_signs(means: Floats, covariance: Covariance, weights: Floats, axes: Floats) -> Floats:
    """Compute the signs that give canonical axes the orientation of R's MASS and scikit-learn.

    Both keep the signs of LAPACK's singular value decomposition of the weighted means in the principal axes
    within classes of the standardized columns. If K exceeds p these signs depend on that basis, therefore the
    same decompositions are computed here.

    Parameters
    ----------
    means : (K, p) float
        Class means, in the coordinates of the covariance.
    covariance : Covariance
        Covariance within classes, not diagonal.
    weights : (K,) float
        Weights of the classes, up to a common factor.
    axes : (p, r) float
        Canonical axes in columns, as computed by `canonical_axes`.

    Returns
    -------
    (r,) float
        Signs by which the axes are to be multiplied.
    """
    sd = covariance.sd
    _, singular_values, principal_vectors = svd(covariance.root / sd)
    basis = principal_vectors.T / singular_values / sd[:, None]
    weighted_means = np.sqrt(weights)[:, None] * (means - weighted_centre(means, weights)) @ basis
    _, _, right_vectors = svd(weighted_means, full_matrices=False)
    reference_axes = covariance.root @ (basis @ right_vectors[: axes.shape[1]].T)
    return np.where(((covariance.root @ axes) * reference_axes).sum(axis=0) < 0, -1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalAxes:
    """Principal axes: eigenvalues and eigenvectors of a scatter that is scaled to trace one.

    Attributes
    ----------
    eigenvalues : (r,) float
        Eigenvalues, in decreasing order if there are axes. The p - r others are zero.
    axes : (r, p) float or None
        Eigenvectors of the scatter of y = z * unit; None for a diagonal scatter, whose axes are the columns.
    unit : (p,) float
        Factors from z to y, which has the units of the data up to one factor for all columns.
    total_weight : float
        Sum of weights of the rows.
    df : int
        Degrees of freedom: number of rows (not weights) less classes with rows.
    """

    eigenvalues: Floats
    axes: Floats | None
    unit: Floats
    total_weight: float
    df: int

    @property
    def is_saturated(self) -> bool:
        """Whether there are at least as many positive eigenvalues as degrees of freedom, and more columns.

        False for a diagonal scatter. Eigenvalues above 1e-24 times the largest count as positive.
        """
        has_few_df = (
            self.axes is not None and 0 < self.df <= len(self.eigenvalues) and self.df < self.n_columns
        )
        return has_few_df and bool(self.eigenvalues[self.df - 1] > 1e-24 * self.eigenvalues[0])

    @property
    def n_columns(self) -> int:
        """Number of columns, p."""
        return len(self.unit)

    @property
    def complement_dim(self) -> int:
        """Dimension of the orthogonal complement of the axes, p - r."""
        return self.n_columns - len(self.eigenvalues)

    @property
    def squared_sphere_distance(self) -> float:
        """Squared Frobenius distance |W - I/p|^2 of the scatter W from the sphere I/p."""
        # Summed term by term: a difference of traces would lose all digits near the sphere.
        p = self.n_columns
        return float(((self.eigenvalues - 1.0 / p) ** 2).sum()) + self.complement_dim / p**2

    def project(self, z: Floats) -> Floats:
        """Return the coordinates (r, m) on the axes of rows z, which are the columns of (p, m).

        They are coordinates of y = z * unit; without axes the result is y itself.
        """
        y = z * self.unit[:, None]
        return y if self.axes is None else np.asarray(self.axes @ y)

    def extend_to(self, z: Floats) -> PrincipalAxes:
        """Return the same scatter with axes of eigenvalue zero added, which then span m rows z (p, m).

        Without axes, or if the axes span all columns, it is returned unchanged.
        """
        if self.axes is None or not self.complement_dim:
            return self
        y = z * self.unit[:, None]
        norms = np.sqrt((y**2).sum(axis=0))
        for _ in range(2):
            y = y - self.axes.T @ (self.axes @ y)
        left_vectors, singular_values, _ = svd(y / np.where(norms > 0, norms, 1.0), full_matrices=False)
        extra_axes = left_vectors[:, singular_values > 1e-12][:, : self.complement_dim].T
        return replace(
            self,
            eigenvalues=np.concatenate([self.eigenvalues, np.zeros(len(extra_axes))]),
            axes=np.concatenate([self.axes, extra_axes]),
        )


def single_scatter_moments(moments: ClassMoments, k: int | None) -> ClassMoments:
    """Return moments with one scatter: the moments of class k only, or of all classes if k is None.

    For all classes the scatters, diagonal ones as well, are summed; counts and means remain by class.
    """
    if k is not None:
        return moments.select_classes(np.array([k]))
    if moments.scatter_type == "diagonal":
        return replace(moments, scatters=moments.scatters.sum(axis=0, keepdims=True))
    return moments.pool_classes()


def principal_axes(moments: ClassMoments, k: int | None = None) -> PrincipalAxes:
    """Compute the principal axes of a scatter in the units of the data.

    Parameters
    ----------
    moments : ClassMoments
        Moments whose scatter is not zero.
    k : int, optional
        Position of a class; by default the pooled scatter.

    Returns
    -------
    PrincipalAxes
        Axes in rows, and eigenvalues of the scatter of trace one; without axes if the scatter is diagonal.
        Axes with an eigenvalue of zero up to rounding are included.
    """
    group = single_scatter_moments(moments, k)
    unit = group.common_unit
    if group.scatter_type == "diagonal":
        eigenvalues = group.scatters[0] * unit * unit
        axes = None
    elif group.roots is not None:
        _, singular_values, axes = svd(group.roots[0] * unit, full_matrices=False)
        eigenvalues = singular_values**2
    else:
        eigenvalues, vectors = np.linalg.eigh(group.scatters[0] * unit * unit[:, None])
        eigenvalues = eigenvalues[::-1]
        axes = vectors.T[::-1]
    total = eigenvalues.sum()
    df = int((group.rows - (group.rows > 0)).sum())
    return PrincipalAxes(eigenvalues / total, axes, unit / np.sqrt(total), group.total, df)


@dataclass(frozen=True, slots=True, eq=False)
class ThinCovariance(Covariance):
    """Covariance of z, given by r axes and one variance in the orthogonal complement of the axes.

    Attributes
    ----------
    root : (r, p) float
        The covariance of z on the axes is root'root.
    factor : (p, r) float
        Axes divided by standard deviations: factor'z has unit covariance.
    axes : (r, p) float
        Orthonormal axes of y = z * unit.
    unit : (p,) float
        Factors of the columns in y = z * unit, with z the coordinates of the moments.
    complement_sd : float
        Standard deviation of y in the complement; if zero, distances ignore the complement.
    """

    axes: Floats
    unit: Floats
    complement_sd: float

    @staticmethod
    def on_axes(spectrum: PrincipalAxes, variances: Floats, complement_variance: float) -> ThinCovariance:
        """Construct the covariance from variances on principal axes.

        Parameters
        ----------
        spectrum : PrincipalAxes
            Principal axes of the scatter.
        variances : (r,) float
            Positive variances of y = z * unit on the axes.
        complement_variance : float
            Variance of y in the complement of the axes; zero for distances that ignore the complement.

        Returns
        -------
        ThinCovariance
            In the coordinates z of the moments.

        Raises
        ------
        TypeError
            The scatter is diagonal, without axes.
        """
        if spectrum.axes is None:
            raise TypeError("A diagonal scatter has no axes other than its columns.")
        sd = np.sqrt(variances)
        root = sd[:, None] * spectrum.axes / spectrum.unit
        factor = (spectrum.axes / sd[:, None] * spectrum.unit).T
        return ThinCovariance(root, factor, spectrum.axes, spectrum.unit, float(np.sqrt(complement_variance)))

    @property
    def _complement_dim(self) -> int:
        """Dimension of the orthogonal complement of the axes, p - r."""
        return int(self.axes.shape[1] - len(self.axes))

    @property
    def logdet(self) -> float:
        """Log-determinant of the covariance of z; of y on the axes if the complement has no variance."""
        sds = np.sqrt(((self.root * self.unit) ** 2).sum(axis=1))
        on_axes = float(2.0 * np.log(sds).sum())
        if not self.complement_sd:
            return on_axes
        return (
            on_axes
            + 2.0 * self._complement_dim * float(np.log(self.complement_sd))
            - 2.0 * float(np.log(self.unit).sum())
        )

    @property
    def sd(self) -> Floats:
        """Standard deviations (p,) of z; without variance in the complement, of z on the axes."""
        complement_squares = np.maximum(1.0 - (self.axes**2).sum(axis=0), 0.0)
        return np.asarray(
            np.sqrt((self.root**2).sum(axis=0) + complement_squares * (self.complement_sd / self.unit) ** 2)
        )

    def matrix(self) -> Floats:
        """Return the covariance matrix (p, p) of z."""
        return self.multiply(np.eye(len(self.unit)))

    def multiply(self, columns: Floats) -> Floats:
        """Return the covariance matrix of z times columns (p, m)."""
        on_axes = self.root.T @ (self.root @ columns)
        y = (columns.T / self.unit).T
        return np.asarray(
            on_axes + (self.complement_sd**2 * (y - self.axes.T @ (self.axes @ y)).T / self.unit).T
        )

    def whiten(self, columns: Floats) -> Floats:
        """Return whitened coordinates (r + p, m) of vectors z, the columns of (p, m).

        The first r are coordinates on the axes; the other p are the components of y = z * unit in the
        complement, divided by `complement_sd`. Squared lengths are squared distances.

        If the complement has no variance, only the r coordinates on the axes are returned.
        """
        on_axes = self.inverse.T @ columns
        if not self.complement_sd:
            return np.asarray(on_axes)
        y = (columns.T * self.unit).T
        return np.concatenate([on_axes, (y - self.axes.T @ (self.axes @ y)) / self.complement_sd])

    def unwhiten(self, columns: Floats) -> Floats:
        """Return coefficients (p, m) of z for coefficients (r + p, m) of whitened coordinates.

        The first r refer to the axes, the other p to the complement. If the complement has no variance, only
        the first r are used, and the argument may be (r, m).
        """
        r = len(self.axes)
        coefficients = self.inverse @ columns[:r]
        if not self.complement_sd:
            return np.asarray(coefficients)
        residuals = columns[r:] - self.axes.T @ (self.axes @ columns[r:])
        return np.asarray(coefficients + (residuals.T * self.unit).T / self.complement_sd)

    def precision(self) -> Floats:
        """Return the matrix P (p, p) of squared distances z'P z.

        It is the inverse of the covariance if the complement has variance.
        """
        return self.unwhiten(self.whiten(np.eye(len(self.unit))))

    def divided_by(self, divisor: float) -> ThinCovariance:
        """Return the covariance divided by a positive number."""
        unit = np.sqrt(divisor)
        return replace(
            self,
            root=self.root / unit,
            factor=self.inverse * unit,
            complement_sd=float(self.complement_sd / unit),
        )


def marginal_covariance(covariance: Covariance, keep: Codes) -> Covariance:
    """Return the covariance of a subset of the columns.

    Parameters
    ----------
    covariance : Covariance
        Covariance of all columns.
    keep : (q,) int
        Positions of the columns.

    Returns
    -------
    Covariance
        A `ThinCovariance` for a `ThinCovariance`, and diagonal for a diagonal covariance.

    Examples
    --------
    >>> whole = Covariance.from_root(np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> marginal_covariance(whole, np.array([1])).matrix().round(12).tolist()
    [[10.0]]
    """
    if isinstance(covariance, ThinCovariance):
        return _marginal_thin_covariance(covariance, keep)
    if covariance.is_diagonal:
        return Covariance.from_root(covariance.root[keep])
    return Covariance.from_root(triangular_root(covariance.root[:, keep]))


def _marginal_thin_covariance(covariance: ThinCovariance, keep: Codes) -> ThinCovariance:
    """Return the covariance of the columns at positions `keep` (q,), again on axes and their complement.

    Without variance in the complement, axes of variance zero are dropped.
    """
    unit = covariance.unit[keep]
    axes = covariance.axes[:, keep]
    sd = np.sqrt(((covariance.root * covariance.unit) ** 2).sum(axis=1))
    excess_sd = np.sqrt(np.maximum((sd - covariance.complement_sd) * (sd + covariance.complement_sd), 0.0))
    _, singular_values, rotated_axes = svd(excess_sd[:, None] * axes, full_matrices=False)
    if not covariance.complement_sd:
        # If the complement has no variance, it is ignored here too.
        is_nonzero = singular_values > EPS * max(axes.shape) * singular_values.max(initial=0.0)
        singular_values = singular_values[is_nonzero]
        rotated_axes = rotated_axes[is_nonzero]
    sds = np.hypot(singular_values, covariance.complement_sd)[:, None]
    return ThinCovariance(
        sds * rotated_axes / unit, (rotated_axes / sds * unit).T, rotated_axes, unit, covariance.complement_sd
    )
