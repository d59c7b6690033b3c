"""EM algorithm for mixtures of normals within classes, with fourteen covariance forms.

Used by `mixture`, `starts` (initial partitions) and `incomplete` (rows with missing values).

Theory. A row of class k has the density sum_g t_kg N(x; m_kg, S_kg). Given the current components, the
E step computes the posterior probabilities of the components of its class for each row. The M step estimates
proportions and means with these weights, and covariances by the maximum-likelihood formula of their form,
within the class or over the components of several classes (Dempster, Laird & Rubin, 1977, Journal of the
Royal Statistical Society B 39, 1-38; Hastie & Tibshirani, 1996, Journal of the Royal Statistical Society B
58, 155-176; Fraley & Raftery, 2002, Journal of the American Statistical Association 97, 611-631). The
log-likelihood never decreases. In large classes each pair of steps is followed by an extrapolation of the
sufficient statistics, which is kept only if it increases the log-likelihood (`_extrapolate`). The likelihood
is unbounded: a component that concentrates on a few rows becomes singular, and such a run is rejected.

*The covariances* have one of fourteen forms. A covariance is volume x shape x orientation, S_g = l_g D_g A_g
D_g', with |A_g| = 1 and D_g orthogonal (Banfield & Raftery, 1993, Biometrics 49, 803-821; Celeux & Govaert,
1995, Pattern Recognition 28, 781-793). A form has three letters, for the volume, the shape and the
orientation: E, equal for all components, V, variable, or I, identity: spherical shape, or orientation along
the coordinate axes. Given scatters W_g about the means, with weights n_g, the maximum-likelihood covariances
minimize sum_g n_g ln|S_g| + tr(S_g^-1 W_g), which has a closed form for nine of them. For VEI, VEE and VEV
the volumes and the common factor are updated in turn; for EVE and VVE the common axes are found by plane
rotations, each computed from an eigenvector of a 2 x 2 matrix. No step increases the criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy

from discrim.core.covariance.covariance import (
    MIN_COLUMNS_TO_SOLVE,
    Covariance,
    is_positive_definite,
    scaled_cholesky,
)
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, Mask, slices

Axes = Floats | None
"""Common axes (p, p), in columns, of all components for the forms EVE and VVE; None for other forms."""

Form = Literal[
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV",
]  # fmt: skip
"""Covariance forms: letters for volume, shape and orientation."""
FORMS: tuple[Form, ...] = get_args(Form)
"""All forms: spherical, then diagonal, then with other orientations."""

SINGLE_COMPONENT_NAMES = {"EII": "XII", "VII": "XII"} | dict.fromkeys(("EEI", "VEI", "EVI", "VVI"), "XXI")
"""Names of the forms with orientation I if there is a single component; others have X as each letter."""

MAX_ITERATIONS = 1000
"""Default maximum number of sweeps for common axes, and maximum number of updates of volumes."""

CONVERGENCE_TOLERANCE = 1e-14
"""Relative change of the parameters, or of the criterion, at which an iterative search ends.

The criterion is flat at its minimum: when it has converged to full precision, the parameters have half of
their digits.
"""

EM_STEP_TOLERANCE = 1e-7
"""Looser tolerance of the volumes of VEI, VEE and VEV within a step of EM.

The error of the criterion is then of the order of the squared tolerance, a rounding error.
"""

MIN_EIGENVALUE_RATIO = 1e-4
"""Ratio of the smallest eigenvalue to the largest below which all are recomputed more accurately."""

MIN_ROTATION_ANGLE = 1e-15
"""Largest angle of rotation, in radians, of a sweep at which the common axes have converged."""


def form_name(form: str, components: int) -> str:
    """Return the name of a form, one of `FORMS`, which has X as first letter for a single component."""
    return form if components > 1 else SINGLE_COMPONENT_NAMES.get(form, 3 * "X")


def is_axial(form: str) -> bool:
    """Return whether the covariances of a form, one of `FORMS`, are diagonal (its last letter is I)."""
    return form[2] == "I"


def is_scale_equivariant(form: str) -> bool:
    """Return whether a form, one of `FORMS`, is preserved if each column is multiplied by its own factor."""
    return form not in ("EII", "VII", "EVE", "VVE", "EEV", "VEV")


def form_parameters(form: str, components: int, p: int) -> int:
    """Return the number of free parameters of the covariances of a form.

    Parameters
    ----------
    form : str
        Covariance form, one of `FORMS`.
    components : int
        Number of components.
    p : int
        Number of columns.

    Returns
    -------
    int
    """
    volume = form[0]
    shape = form[1]
    orientation = form[2]
    count = components if volume == "V" else 1
    if shape != "I":
        count += (p - 1) * (components if shape == "V" else 1)
    if orientation != "I":
        count += p * (p - 1) // 2 * (components if orientation == "V" else 1)
    return count


def covariances(
    form: str, scatters: Floats, counts: Floats, axes: Axes = None, max_iterations: int = MAX_ITERATIONS
) -> tuple[Floats, Axes]:
    """Compute the maximum-likelihood covariances of a form.

    If the likelihood does not have a maximum, the covariances are not positive definite or not finite.

    Parameters
    ----------
    form : str
        Covariance form, one of `FORMS`.
    scatters : (G, p, p) or (G, p) float
        Weighted sums of squares and products about the mean of each of G components; only sums of squares
        for forms with orientation I.
    counts : (G,) float
        Weights of the components, the divisors of the scatters.
    axes : (p, p) float or None
        Initial common axes for EVE and VVE; None for the axes of the pooled scatter.
    max_iterations : int
        Maximum number of sweeps for EVE and VVE. VEI, VEE and VEV always have at most `MAX_ITERATIONS`
        updates, to the looser tolerance `EM_STEP_TOLERANCE` unless this is `MAX_ITERATIONS`.

    Returns
    -------
    covariances : (G, p, p) or (G, p) float
        Variances for forms with orientation I.
    axes : (p, p) float or None
        Common axes of EVE and VVE; None for other forms.

    Raises
    ------
    numpy.linalg.LinAlgError
        A scatter is not finite or the common factor is singular, so that a decomposition fails.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if form in ("EVE", "VVE"):
            return _common_axes_covariances(
                scatters, counts, axes, max_iterations, equal_volume=form == "EVE"
            )
        if form in _ALTERNATING_FORMS:
            return _ALTERNATING_FORMS[form](
                scatters,
                counts,
                CONVERGENCE_TOLERANCE if max_iterations == MAX_ITERATIONS else EM_STEP_TOLERANCE,
            ), None
        return _CLOSED_FORMS[form](scatters, counts), None


def _equal_spherical_variances(squares: Floats, counts: Floats) -> Floats:
    """Return variances (G, p) of form EII, all equal, from sums of squares (G, p) and weights (G,)."""
    return np.full(squares.shape, squares.sum() / (counts.sum() * squares.shape[1]))


def _spherical_variances(squares: Floats, counts: Floats) -> Floats:
    """Return variances (G, p) of form VII, equal within a component, from sums of squares (G, p).

    The divisors are p times the weights `counts` (G,) of the components.
    """
    p = squares.shape[1]
    return np.repeat((squares.sum(axis=1) / (counts * p))[:, None], p, axis=1)


def _pooled_covariances(scatters: Floats, counts: Floats) -> Floats:
    """Return the pooled covariance (G, p, p) or variances (G, p), repeated for each component (EEI and EEE).

    It is the sum of the `scatters`, of the shape of the result, divided by the sum of `counts` (G,).
    """
    return np.repeat((scatters.sum(axis=0) / counts.sum())[None], len(scatters), axis=0)


def _separate_covariances(scatters: Floats, counts: Floats) -> Floats:
    """Divide the scatters (G, p, p), or sums of squares (G, p), by the weights `counts` (G,): VVV and VVI."""
    return np.asarray(scatters / counts.reshape(-1, *[1] * (scatters.ndim - 1)))


def _equal_volume_covariances(scatters: Floats, counts: Floats) -> Floats:
    """Estimate covariances of equal determinant, multiples of the scatters (forms EVI and EVV).

    Parameters
    ----------
    scatters : (G, p, p) or (G, p) float
        Scatter matrices of G components, or sums of squares for EVI.
    counts : (G,) float
        Weights of the components.

    Returns
    -------
    (G, p, p) or (G, p) float
        Variances for EVI. Infinite or NaN for a component whose scatter has the determinant zero.
    """
    logdets = np.log(scatters).sum(axis=1) if scatters.ndim == 2 else np.linalg.slogdet(scatters)[1]
    volumes = np.exp(logdets / scatters.shape[1])
    return np.asarray((scatters.T * (volumes.sum() / (counts.sum() * volumes))).T)


def _common_shape_covariances(scatters: Floats, counts: Floats, tolerance: float) -> Floats:
    """Estimate covariances that are multiples of one matrix by alternating updates (forms VEI and VEE).

    The iteration ends without an error after `MAX_ITERATIONS` updates.

    Parameters
    ----------
    scatters : (G, p, p) or (G, p) float
        Scatter matrices of G components, or sums of squares for VEI.
    counts : (G,) float
        Weights of the components.
    tolerance : float
        Largest relative change of the G multiples at which the iteration ends.

    Returns
    -------
    (G, p, p) or (G, p) float
        Covariances after the last update, converged or not; variances for VEI.
    """
    p = scatters.shape[1]
    previous_volumes = np.ones(len(counts))
    shape = scatters.sum(axis=0) / counts.sum()
    for _ in range(MAX_ITERATIONS):
        if scatters.ndim == 2:
            traces = (scatters / shape).sum(axis=1)
        else:
            traces = np.einsum("gij,ji->g", scatters, np.linalg.inv(shape))
        volumes = traces / (p * counts)
        factors = volumes.reshape(-1, *[1] * (scatters.ndim - 1))
        shape = (scatters / factors).sum(axis=0) / counts.sum()
        if not np.abs(volumes / previous_volumes - 1).max() > tolerance:
            break
        previous_volumes = volumes
    return np.asarray(factors * shape)


def _accurate_eigh(scatters: Floats) -> tuple[Floats, Floats]:
    """Compute eigenvalues and eigenvectors of scatters, with high relative accuracy of every eigenvalue.

    The usual method has an absolute error of a rounding of the largest eigenvalue. If the ratio of the
    smallest to the largest eigenvalue is below `MIN_EIGENVALUE_RATIO` and no column is constant, one-sided
    Jacobi rotations of the root of the scatter preserve the digits of each eigenvalue (Demmel & Veselic,
    1992, SIAM Journal on Matrix Analysis and Applications 13, 1204-1245). A scatter that is not positive
    definite keeps the results of the usual method.

    Parameters
    ----------
    scatters : (G, p, p) float
        Scatter matrices.

    Returns
    -------
    eigenvalues : (G, p) float
        In increasing order.
    axes : (G, p, p) float
        Eigenvectors in columns.
    """
    eigenvalues, axes = np.linalg.eigh(scatters)
    # A column that is constant to rounding does not have correlations.
    varies = (np.diagonal(scatters, axis1=1, axis2=2) > 0).all(axis=1)
    for g in np.flatnonzero(varies & (eigenvalues[:, 0] < MIN_EIGENVALUE_RATIO * eigenvalues[:, -1])):
        try:
            root = scaled_cholesky(scatters[g])
        except np.linalg.LinAlgError:
            continue
        values, _, right, work, _, failed = scipy.linalg.lapack.dgejsv(root, joba=0, jobu=3)
        if not failed:
            eigenvalues[g], axes[g] = (values[::-1] * work[0] / work[1]) ** 2, right[:, ::-1]
    return eigenvalues, axes


def _eev_covariances(scatters: Floats, counts: Floats) -> Floats:
    """Estimate covariances (G, p, p) of form EEV, with equal eigenvalues and separate axes.

    Arguments are scatter matrices (G, p, p) and the weights `counts` (G,) of the components.
    """
    eigenvalues, axes = _accurate_eigh(scatters)
    shape = eigenvalues.sum(axis=0) / counts.sum()
    return np.asarray((axes * shape) @ axes.transpose(0, 2, 1))


def _vev_covariances(scatters: Floats, counts: Floats, tolerance: float) -> Floats:
    """Estimate covariances (G, p, p) of form VEV: proportional eigenvalues, separate axes.

    `_common_shape_covariances` alternates between the volumes and the common shape of the eigenvalues of the
    scatters (G, p, p), whose weights are `counts` (G,). `tolerance` is the largest relative change of a
    volume at which it ends; after `MAX_ITERATIONS` updates it ends without an error.
    """
    eigenvalues, axes = _accurate_eigh(scatters)
    variances = _common_shape_covariances(eigenvalues, counts, tolerance)
    return np.asarray((axes * variances[:, None, :]) @ axes.transpose(0, 2, 1))


_CLOSED_FORMS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "EII": _equal_spherical_variances,
    "VII": _spherical_variances,
    "EEI": _pooled_covariances,
    "EVI": _equal_volume_covariances,
    "VVI": _separate_covariances,
    "EEE": _pooled_covariances,
    "EEV": _eev_covariances,
    "EVV": _equal_volume_covariances,
    "VVV": _separate_covariances,
}
"""Forms with a closed-form estimate, a function of the `scatters` and `counts` of `covariances`."""
SEPARATE_FORMS = ("VII", "VVI", "VVV")
"""Forms in which a covariance depends only on its own component."""
_ALTERNATING_FORMS: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "VEI": _common_shape_covariances,
    "VEE": _common_shape_covariances,
    "VEV": _vev_covariances,
}
"""Forms whose estimates alternate between volumes and the common factor.

The functions have the arguments `scatters` and `counts` of `covariances`, and a tolerance.
"""


def _common_axes_covariances(
    scatters: Floats, counts: Floats, axes: Axes, max_iterations: int, *, equal_volume: bool
) -> tuple[Floats, Floats]:
    """Estimate covariances with common axes (forms EVE and VVE).

    Parameters
    ----------
    scatters : (G, p, p) float
        Scatter matrices of G components.
    counts : (G,) float
        Weights of the components.
    axes : (p, p) float or None
        Initial axes, in columns; not modified. None for the axes of the pooled scatter.
    max_iterations : int
        Maximum number of sweeps over all pairs of axes; reaching it is not an error.
    equal_volume : bool
        True for EVE, False for VVE.

    Returns
    -------
    covariances : (G, p, p) float
        Estimated covariances.
    axes : (p, p) float
        Common axes in columns.
    """
    p = scatters.shape[1]
    axes = np.linalg.eigh(scatters.sum(axis=0))[1] if axes is None else axes.copy()
    rotated_scatters = axes.T @ scatters @ axes
    previous_value = np.inf
    min_angle = np.inf

    def variances() -> Floats:
        """Return the variances (G, p) along the current axes, for equal volumes scaled to one determinant."""
        squares = np.diagonal(rotated_scatters, axis1=1, axis2=2)
        return _equal_volume_covariances(squares, counts) if equal_volume else squares / counts[:, None]

    for _ in range(max_iterations):
        axis_variances = variances()
        value = counts @ np.log(axis_variances).sum(axis=1)
        pairs = combinations(range(p), 2)
        angles = [
            _rotate_axes(rotated_scatters, axes, 1 / axis_variances[:, i] - 1 / axis_variances[:, j], i, j)
            for i, j in pairs
        ]
        max_angle = max(angles, default=0.0)
        # Once the criterion is flat, continue while the rotation angles still decrease.
        is_flat = not previous_value - value > CONVERGENCE_TOLERANCE * (1 + abs(value))
        if max_angle <= MIN_ROTATION_ANGLE or (is_flat and max_angle >= min_angle):
            break
        previous_value = value
        min_angle = min(min_angle, max_angle)
    return np.asarray((axes * variances()[:, None, :]) @ axes.T), axes


def _rotate_axes(
    rotated_scatters: Floats, axes: Floats, reciprocal_differences: Floats, i: int, j: int
) -> float:
    """Rotate two common axes, in place, to minimize the trace of the scatters divided by the variances.

    In the plane of the two axes the trace equals a'Ma up to a constant, with a the first axis and M the sum
    of the scatters of the plane multiplied by the differences of reciprocal variances. The minimum is an
    eigenvector of M.

    Parameters
    ----------
    rotated_scatters : (G, p, p) float
        Scatters in the coordinates of the axes; modified in place.
    axes : (p, p) float
        Common axes in columns; modified in place.
    reciprocal_differences : (G,) float
        1 / variance along axis i minus 1 / variance along axis j, in each of G components.
    i, j : int
        Positions of the two axes.

    Returns
    -------
    float
        Absolute angle of the rotation in radians; 0 if the axes are optimal already.
    """
    first_sum, second_sum = (
        reciprocal_differences @ rotated_scatters[:, i, i],
        reciprocal_differences @ rotated_scatters[:, j, j],
    )
    cross_sum = reciprocal_differences @ rotated_scatters[:, i, j]
    if cross_sum == 0 and first_sum <= second_sum:
        return 0.0
    # The angle of the eigenvector of the smaller eigenvalue.
    angle = 0.5 * np.arctan2(-2 * cross_sum, second_sum - first_sum)
    cos = np.cos(angle)
    sin = np.sin(angle)
    rotation = np.array([[cos, -sin], [sin, cos]])
    pair = [i, j]
    axes[:, pair] = axes[:, pair] @ rotation
    rotated_scatters[:, :, pair] = rotated_scatters[:, :, pair] @ rotation
    rotated_scatters[:, pair, :] = rotation.T @ rotated_scatters[:, pair, :]
    return float(abs(angle))


SINGULAR_SD = 1e-6
"""Ratio below which a component is singular.

It applies to the standard deviation of a column in the component relative to the class, and to its standard
deviation given earlier columns relative to its own.
"""

MAX_RELATIVE_DECREASE = 1e-9
"""Decrease of the log-likelihood L in a step, relative to 1 + |L|, at which EM ends as singular."""

NARROW_ROWS_FACTOR = 2
"""Multiple of p + 1, for p columns: only a component of at most this weight can be rejected as narrow.

A component of more rows is not narrow by chance.
"""

MIN_SD_RATIO = 1e-2
"""Smallest accepted ratio of the standard deviations of two components of a class along any direction.

A likelihood has many spurious maxima at components of a few rows that happen to lie near a plane. A bound
on these ratios excludes them (Hathaway, 1985, Annals of Statistics 13, 795-800).
"""

MIN_COMPONENT_WEIGHT = 1e-3
"""Weight of a component, in units of the mean weight of a row of its class, at or below which it is empty."""

MAX_BLOCK_VALUES = 2**15
"""Number of values per block, chosen to fit the processor's cache."""

MAX_SMALL_CLASS = 2000
"""Weight of a class above which steps of EM are extrapolated, and starts are compared on a sample."""

MAX_BATCH_RUNS = 10
"""Maximum number of runs of EM that advance together."""

EM_STEP_ITERATIONS = 3
"""Maximum number of sweeps for common axes (EVE and VVE) within a step of EM."""


@dataclass(frozen=True, slots=True)
class EMPlan:
    """Options of the EM algorithm.

    Attributes
    ----------
    starts : int
        Number of random initial partitions, in addition to partitions by hierarchical clustering.
    seed : int
        Seed of the random partitions and of the draws that replace missing values in the starts.
    tol : float
        EM ends when a step gains at most this log-likelihood per unit of weight of the rows.
    maxiter : int
        Maximum number of steps of a run of EM.
    """

    starts: int
    seed: int
    tol: float
    maxiter: int


class ClassRows(NamedTuple):
    """Rows of one class.

    Attributes
    ----------
    z : (p, n) float
        Deviations of n rows from the class mean (with missing values from the mean of the observed values),
        one row per column of the array, in units common to all classes; NaN if missing.
    weights : (n,) float
        Frequency weights of the rows.
    """

    z: Floats
    weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Mixture components of some classes, in the order of the classes.

    Attributes
    ----------
    sizes : tuple of int
        Number of components of each class; T in total.
    mixing_proportions : (T,) float
        Mixing proportions within the class; they add up to one in each class.
    means : (T, p) float
        Means of the components as deviations from the class mean, in the units of `ClassRows`.
    covariances : tuple of T Covariance
        Covariances of the components, in the same units.
    axes : (p, p) float or None
        Common axes of EVE and VVE, in columns; None for other forms and in a loaded fit.
    path : tuple of float
        Log-likelihood of the observed values given the classes, in the same units, for the initial components
        and after each step of EM. Empty before EM and in a loaded fit.
    converged : bool
        False if EM reached the maximum number of steps.
    """

    sizes: tuple[int, ...]
    mixing_proportions: Floats
    means: Floats
    covariances: tuple[Covariance, ...]
    axes: Axes = field(default=None, metadata=NOT_STORED)
    path: tuple[float, ...] = field(default=(), metadata=NOT_STORED)
    converged: bool = True

    @property
    def llf(self) -> float:
        """Last value of `path`; raises IndexError if it is empty."""
        return self.path[-1]

    def class_slices(self) -> list[slice]:
        """Return, for each class, the slice of its components among all T components."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]


class Degenerate(NamedTuple):
    """Run of EM that did not reach a maximum because of one component.

    Attributes
    ----------
    k, component : int
        The class, as a position among the classes that were passed, and the position of the component in it.
    reason : {"empty", "singular", "narrow"}
        Why the run ended: the weight of the component is at most `MIN_COMPONENT_WEIGHT` mean weights of a
        row; its covariance is singular, or the likelihood fell; or its weight is at most
        `NARROW_ROWS_FACTOR` (p + 1) and its standard deviation along some direction is below `MIN_SD_RATIO`
        times the standard deviation of another component of its class.
    weight : float
        Weight of the component.
    """

    k: int
    component: int
    reason: str
    weight: float


class ComponentSums(NamedTuple):
    """Sufficient statistics of T components, from rows weighted by their posterior probabilities.

    Attributes
    ----------
    counts : (T,) float
        Weights of the components.
    means : (T, p) float
        Weighted means.
    scatters : (T, p, p) or (T, p) float
        Weighted sums of squares and products about the means, or sums of squares for forms with orientation
        I. They are not divided by the counts.
    """

    counts: Floats
    means: Floats
    scatters: Floats


class EStep(NamedTuple):
    """Result of an E step.

    Attributes
    ----------
    sums : ComponentSums
        Sufficient statistics of the components for the M step that follows.
    llf : float
        Log-likelihood of the rows given their classes, at the components of the E step.
    """

    sums: ComponentSums
    llf: float


def join_classes(class_steps: Sequence[EStep]) -> EStep:
    """Return the E step of all classes, from the E steps of each class in the order of the classes."""
    if len(class_steps) == 1:
        return class_steps[0]
    sums = (np.concatenate(arrays) for arrays in zip(*(step.sums for step in class_steps), strict=True))
    return EStep(ComponentSums(*sums), sum(step.llf for step in class_steps))


def sums_about_new_means(means: Floats, counts: Floats, changes: Floats, scatters: Floats) -> ComponentSums:
    """Convert sums about the means of one step to sums about the means of the next.

    The correction is small relative to the scatters, so it does not lose digits.

    Parameters
    ----------
    means : (G, p) float
        Means before the step.
    counts : (G,) float
        Weights of the components.
    changes : (G, p) float
        Weighted sums of deviations from these means.
    scatters : (G, p, p) or (G, p) float
        Weighted sums of squares and products of the deviations, or of squares; modified in place.

    Returns
    -------
    ComponentSums
        Means and scatters are NaN for a component of weight zero.
    """
    changes = changes / counts[:, None]
    if scatters.ndim == 2:
        scatters -= counts[:, None] * changes**2
    else:
        scatters -= counts[:, None, None] * changes[:, :, None] * changes[:, None, :]
    return ComponentSums(counts, means + changes, scatters)


def _class_e_step(
    runs: Sequence[Components], component_slice: slice, row: ClassRows, *, axial: bool
) -> list[EStep]:
    """Perform the E step of several runs for the complete rows of one class, in one pass over blocks of rows.

    Deviations are whitened by each component, and their products are summed in these coordinates: a scatter
    then has as many digits as the deviations, however small the component is relative to its class.

    Parameters
    ----------
    runs : sequence of S Components
        Current components of all classes in each run; the runs have equal numbers of components.
    component_slice : slice
        The G components of the class.
    row : ClassRows
        Rows of the class.
    axial : bool
        Whether to return only sums of squares instead of scatter matrices.

    Returns
    -------
    list of S EStep
        For the components of the class in each run.
    """
    z, weights = row
    means = np.concatenate([run.means[component_slice] for run in runs])
    covs = [covariance for run in runs for covariance in run.covariances[component_slice]]
    roots = np.array([covariance.root for covariance in covs])
    diagonals = roots if roots.ndim == 2 else np.diagonal(roots, axis1=1, axis2=2)
    constants = np.log(np.concatenate([run.mixing_proportions[component_slice] for run in runs]))
    constants -= np.log(np.abs(diagonals)).sum(axis=1) + 0.5 * len(z) * np.log(2 * np.pi)
    whiten = _make_whitening(covs, roots, means)
    counts = np.zeros(len(means))
    changes = np.zeros(means.shape)
    squares = np.zeros(roots.shape)
    llfs = np.zeros(len(runs))
    for row_slice in slices(z.shape[1], max(MAX_BLOCK_VALUES // means.size, 1)):
        whitened = whiten(z[:, row_slice])
        scores = np.einsum("gij,gij->gj", whitened, whitened)
        scores *= -0.5
        scores += constants[:, None]
        scores_by_run = scores.reshape(len(runs), -1, scores.shape[1]).swapaxes(0, 1)
        max_scores, sums = normalize_scores(scores_by_run, weights[row_slice])
        llfs += (max_scores + np.log(sums)) @ weights[row_slice]
        counts += scores.sum(axis=1)
        weighted = whitened * scores[:, None]
        changes += (whitened @ scores[:, :, None])[:, :, 0]
        if axial:
            squares += np.einsum("gij,gij->gi", weighted, whitened)
        else:
            squares += weighted @ whitened.transpose(0, 2, 1)
    if axial:
        totals = sums_about_new_means(means, counts, changes * roots, squares * roots**2)
    else:
        changes = (changes[:, None] @ roots)[:, 0]
        scatters = roots.transpose(0, 2, 1) @ squares @ roots
        scatters += scatters.transpose(0, 2, 1)
        totals = sums_about_new_means(means, counts, changes, 0.5 * scatters)
    sums_by_run = zip(*(array.reshape(len(runs), -1, *array.shape[1:]) for array in totals), strict=True)
    return [EStep(ComponentSums(*sums), llf) for sums, llf in zip(sums_by_run, llfs.tolist(), strict=True)]


def _make_whitening(covs: Sequence[Covariance], roots: Floats, means: Floats) -> Callable[[Floats], Floats]:
    """Return a function that whitens rows by each of several components.

    Parameters
    ----------
    covs : sequence of G Covariance
        Covariances of the components.
    roots : (G, p, p) or (G, p) float
        Their roots R, R'R being the covariance, or their standard deviations.
    means : (G, p) float
        Means of the components.

    Returns
    -------
    callable
        Maps rows z (p, m) to R'^-1 (z - mean), of shape (G, p, m). It multiplies by the inverse factors of
        the covariances that have them, and solves for the others, which is more accurate.
    """
    if roots.ndim == 2:
        return lambda z: (z - means[:, :, None]) / roots[:, :, None]
    is_accurate = [covariance.factor is not None for covariance in covs]
    if not any(is_accurate):
        return lambda z: np.array(
            [covariance.whiten(z - mean[:, None]) for covariance, mean in zip(covs, means, strict=True)]
        )
    factors = [
        root if covariance.factor is None else covariance.factor
        for covariance, root in zip(covs, roots, strict=True)
    ]
    inverses = np.array(factors).transpose(0, 2, 1)
    stacked_inverses = inverses.reshape(means.size, -1)
    origins = (inverses @ means[:, :, None]).reshape(-1, 1)
    solved = np.flatnonzero(~np.array(is_accurate)).tolist()

    def whiten(z: Floats) -> Floats:
        """Whiten rows z (p, m) by one product with the inverse factors of all components that have them."""
        product = stacked_inverses @ z
        product -= origins
        whitened = product.reshape(*means.shape, -1)
        for g in solved:
            whitened[g] = covs[g].whiten(z - means[g][:, None])
        return whitened

    return whiten


def normalize_scores(scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Convert scores to posterior probabilities times weights, in place.

    Parameters
    ----------
    scores : (G, n) or (G, B, m) float
        Log of mixing proportion times density for G components; overwritten by the posterior probabilities
        times weights.
    weights : (n,) or (B, m) float
        Weights of the rows.

    Returns
    -------
    max_scores, sums : (n,) or (B, m) float
        The log density of each row, not weighted, is max_scores + log(sums).
    """
    max_scores = scores.max(axis=0)
    scores -= max_scores
    np.exp(scores, out=scores)
    sums = scores.sum(axis=0)
    scores *= weights / sums
    return max_scores, sums


def m_step(
    rows: Sequence[ClassRows],
    weights_by_class: Sequence[Floats],
    form: str,
    axes: Axes = None,
    max_iterations: int = MAX_ITERATIONS,
) -> Components | Degenerate:
    """Estimate components from the weights of complete rows in them.

    Parameters
    ----------
    rows : sequence of K ClassRows
        Complete rows of each class.
    weights_by_class : sequence of K (G, n) float
        Weight of each row of the class in each of its G components: posterior probability times weight of
        the row. G can differ between classes.
    form : str
        Covariance form, one of `FORMS`.
    axes, max_iterations
        Initial common axes and maximum number of sweeps for EVE and VVE, as in `covariances`.

    Returns
    -------
    Components or Degenerate
        As returned by `MStep.estimate`.
    """
    axial = is_axial(form)
    sums_by_class = []
    for (z, _), component_weights in zip(rows, weights_by_class, strict=True):
        counts = component_weights.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = component_weights @ z.T / counts[:, None]
        scatters = _component_scatters(z, component_weights, means, axial=axial)
        sums_by_class.append(EStep(ComponentSums(counts, means, scatters), 0.0))
    sizes = tuple(len(component_weights) for component_weights in weights_by_class)
    step = MStep.of_rows(rows, sizes, form, min_component_variances(rows))
    return step.estimate(join_classes(sums_by_class).sums, axes, max_iterations)


@dataclass(frozen=True, slots=True, eq=False)
class MStep:
    """M step: estimates T components from their sufficient statistics.

    Attributes
    ----------
    sizes : tuple of K int
        Number of components of each class.
    form : str
        Covariance form, one of `FORMS`.
    owner : (T,) int
        Class of each component.
    totals, min_counts : (T,) float
        Weight of the class of each component, and weight at or below which the component is empty.
    min_variances : (T, p) float
        Variances at or below which a component is singular.
    """

    sizes: tuple[int, ...]
    form: str
    owner: Codes
    totals: Floats
    min_counts: Floats
    min_variances: Floats

    @staticmethod
    def of_rows(rows: Sequence[ClassRows], sizes: tuple[int, ...], form: str, min_variances: Floats) -> MStep:
        """Return the M step for rows of K classes.

        Parameters
        ----------
        rows : sequence of K ClassRows
            Rows of each class; only their weights are used.
        sizes : tuple of K int
            Number of components of each class.
        form : str
            Covariance form, one of `FORMS`.
        min_variances : (K, p) float
            Variances at or below which a component of each class is singular.

        Returns
        -------
        MStep
        """
        owner = np.repeat(np.arange(len(sizes)), sizes)
        totals = np.array([row.weights.sum() for row in rows])
        min_counts = MIN_COMPONENT_WEIGHT * totals / [len(row.weights) for row in rows]
        return MStep(sizes, form, owner, totals[owner], min_counts[owner], min_variances[owner])

    def estimate(
        self, sums: ComponentSums, axes: Axes = None, max_iterations: int = EM_STEP_ITERATIONS
    ) -> Components | Degenerate:
        """Estimate components.

        Parameters
        ----------
        sums : ComponentSums
            Sufficient statistics of the components.
        axes : (p, p) float or None
            Initial common axes for EVE and VVE, in columns; None for the axes of the pooled scatter.
        max_iterations : int
            Maximum number of sweeps for EVE and VVE, as in `covariances`. Within EM a few suffice: the next
            step continues from them, and the likelihood still never decreases.

        Returns
        -------
        Components or Degenerate
            Components with an empty `path`. Degenerate for the first component that is "empty" or otherwise
            for the first one that is "singular": its covariance is not finite, has a variance of at most
            `min_variances`, or has a correlation matrix whose root has a diagonal element of at most
            `SINGULAR_SD`. The first component of all is "singular" if a decomposition fails.
        """
        has_rows = sums.counts > self.min_counts
        if not has_rows.all():
            return self.degenerate(int(np.argmin(has_rows)), "empty", sums.counts)
        try:
            matrices, axes = covariances(self.form, sums.scatters, sums.counts, axes, max_iterations)
        except np.linalg.LinAlgError:
            return self.degenerate(0, "singular", sums.counts)
        roots, are_positive_definite = _covariance_roots(matrices, self.min_variances)
        if not are_positive_definite.all():
            return self.degenerate(int(np.argmin(are_positive_definite)), "singular", sums.counts)
        inverses = None
        if roots.ndim == 3 and len(roots[0]) < MIN_COLUMNS_TO_SOLVE:
            inverses = np.array([scipy.linalg.lapack.dtrtri(root)[0] for root in roots])
        covs = Covariance.from_roots(roots, inverses)
        return Components(self.sizes, sums.counts / self.totals, sums.means, covs, axes)

    def estimate_runs(
        self, statistics: Sequence[tuple[ComponentSums, Axes]]
    ) -> list[Components | Degenerate]:
        """Estimate the components of several runs.

        Covariances of `SEPARATE_FORMS` are computed together for all runs, unless a component degenerates.

        Parameters
        ----------
        statistics : sequence of S (ComponentSums, axes)
            Sufficient statistics and initial common axes of each run, as in `estimate`.

        Returns
        -------
        list of S Components or Degenerate
            Results of `estimate`.
        """
        n_runs = len(statistics)
        if n_runs > 1 and self.form in SEPARATE_FORMS:
            owner, *limits = (
                np.concatenate([array] * n_runs)
                for array in (self.owner, self.totals, self.min_counts, self.min_variances)
            )
            step = MStep(self.sizes * n_runs, self.form, owner, *limits)
            arrays = zip(*(sums for sums, _ in statistics), strict=True)
            joint = step.estimate(ComponentSums(*(np.concatenate(array) for array in arrays)))
            if isinstance(joint, Components):
                proportions, means, covs = joint.mixing_proportions, joint.means, joint.covariances
                return [
                    Components(self.sizes, proportions[part], means[part], covs[part])
                    for part in slices(len(means), len(self.owner))
                ]
        return [self.estimate(sums, axes) for sums, axes in statistics]

    def degenerate(self, g: int, reason: str, counts: Floats) -> Degenerate:
        """Return the `Degenerate` result for one of the components.

        Parameters
        ----------
        g : int
            Position of the component among all T components.
        reason : {"empty", "singular"}
            The `reason` of the result.
        counts : (T,) float
            Weights of the components.

        Returns
        -------
        Degenerate
            Its `component` is the position among the components of the class.
        """
        first = int(np.argmax(self.owner == self.owner[g]))
        return Degenerate(int(self.owner[g]), g - first, reason, float(counts[g]))


def _component_scatters(z: Floats, component_weights: Floats, means: Floats, *, axial: bool) -> Floats:
    """Compute scatter matrices of weighted rows about component means.

    Parameters
    ----------
    z : (p, n) float
        Deviations of the rows of one class from the class mean, one row per column of the array.
    component_weights : (G, n) float
        Weight of each row in each of the G components of the class.
    means : (G, p) float
        Means of the components, as deviations from the class mean.
    axial : bool
        Whether to return only sums of squares.

    Returns
    -------
    (G, p, p) or (G, p) float
        Weighted sums, not divided by the total weight.
    """
    scatters = np.zeros(means.shape if axial else (*means.shape, len(z)))
    for row_slice in slices(z.shape[1], max(MAX_BLOCK_VALUES // means.size, 1)):
        deviations = z[:, row_slice] - means[:, :, None]
        if axial:
            scatters += np.einsum("gij,gij,gj->gi", deviations, deviations, component_weights[:, row_slice])
        else:
            deviations *= np.sqrt(component_weights[:, None, row_slice])
            scatters += deviations @ deviations.transpose(0, 2, 1)
    return scatters


def min_component_variances(rows: Sequence[ClassRows]) -> Floats:
    """Return `SINGULAR_SD`^2 times the mean squares of z (K, p) in K classes of complete rows.

    A component with a smaller variance in a column is singular.
    """
    squares = [np.einsum("ij,ij,j->i", z, z, weights) / weights.sum() for z, weights in rows]
    return np.asarray(SINGULAR_SD**2 * np.array(squares))


def _covariance_roots(matrices: Floats, min_variances: Floats) -> tuple[Floats, Mask]:
    """Compute roots of covariances, and check that they are positive definite.

    Parameters
    ----------
    matrices : (T, p, p) or (T, p) float
        Covariances or variances.
    min_variances : (T, p) float
        Variances below which a component is singular.

    Returns
    -------
    roots : (T, p, p) or (T, p) float
        Upper triangular R with R'R the covariance, or standard deviations. Valid only if all covariances are
        positive definite.
    are_positive_definite : (T,) bool
        Whether each covariance is finite and clearly positive definite: its variances exceed `min_variances`,
        and the root of its correlation matrix has a diagonal above `SINGULAR_SD`.
    """
    axial = matrices.ndim == 2
    variances = matrices if axial else np.diagonal(matrices, axis1=1, axis2=2)
    if not ((variances > min_variances).all() and np.isfinite(matrices).all()):
        is_finite = np.isfinite(matrices.reshape(len(matrices), -1)).all(axis=1)
        return matrices, np.asarray((variances > min_variances).all(axis=1) & is_finite)
    sd = np.sqrt(variances)
    if axial:
        return sd, np.ones(len(sd), dtype=bool)
    correlations = matrices / sd[:, :, None] / sd[:, None, :]
    try:
        roots = np.linalg.cholesky(correlations).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        return matrices, np.array([is_positive_definite(correlation) for correlation in correlations])
    are_positive_definite = np.asarray((np.diagonal(roots, axis1=1, axis2=2) > SINGULAR_SD).all(axis=1))
    return np.asarray(roots * sd[:, None, :]), are_positive_definite


def run_em(
    components: Components,
    rows: Sequence[ClassRows],
    form: str,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:
    """Run EM for complete rows until a step gains at most `tol` times their weight in log-likelihood.

    With one component per class a single step suffices: initial means and covariances have no effect, and
    `progress` is not called.

    Parameters
    ----------
    components : Components
        Initial components.
    rows : sequence of ClassRows
        Rows of the classes that are fitted together.
    form : str
        Covariance form, one of `FORMS`.
    tol : float
        Gain of log-likelihood per unit of weight at which EM ends.
    maxiter : int
        Maximum number of steps.
    progress : callable
        Called with 1 after each step.

    Returns
    -------
    Components or Degenerate
        The last components, with `path` and `converged`; Degenerate if a component becomes empty or singular,
        the likelihood falls, or a component ends narrow. With one component per class, `path` has one value
        and `converged` is true; the result is then Degenerate only for an empty or singular component.
    """
    if max(components.sizes) == 1:
        # With one component per class all posteriors are 1, and one step suffices.
        result = m_step(rows, [row.weights[None] for row in rows], form, components.axes)
        if isinstance(result, Degenerate):
            return result
        return replace(result, path=(_e_step([result], rows, axial=is_axial(form))[0].llf,))
    return run_em_from_starts([components], rows, form, tol=tol, maxiter=maxiter, progress=progress)[0]


def run_em_from_starts(
    starts: Sequence[Components | Degenerate],
    rows: Sequence[ClassRows],
    form: str,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None] = lambda more: None,
) -> list[Components | Degenerate]:
    """Run EM for complete rows from several starts, with more than one component in some class.

    Steps of several runs are computed together, because the calls take longer than the arithmetic if there
    are few rows. The runs do not depend on each other.

    Parameters
    ----------
    starts : sequence of S Components or Degenerate
        Initial components, with equal numbers of components.
    rows, form, tol, maxiter, progress
        As in `run_em`.

    Returns
    -------
    list of S Components or Degenerate
        Results of `run_em` in the order of the starts; degenerate starts are returned unchanged.
    """
    components = [start for start in starts if isinstance(start, Components)]
    if not components:
        return list(starts)
    # Large scatters are not kept for several runs: their arithmetic takes longer than the calls.
    p = len(rows[0].z)
    batch_size = min(MAX_BATCH_RUNS, 1 + MAX_BLOCK_VALUES // (components[0].means.size * p))
    total_weight = sum(float(row.weights.sum()) for row in rows)
    min_variances = min_component_variances(rows)
    results: list[Components | Degenerate] = []
    for batch_slice in slices(len(components), batch_size):
        results += iterate_em(
            components[batch_slice],
            lambda runs: _e_step(runs, rows, axial=is_axial(form)),
            MStep.of_rows(rows, components[0].sizes, form, min_variances),
            tol=tol * total_weight,
            maxiter=maxiter,
            progress=progress,
        )
    remaining_results = iter(results)
    return [next(remaining_results) if isinstance(start, Components) else start for start in starts]


def _e_step(runs: Sequence[Components], rows: Sequence[ClassRows], *, axial: bool) -> list[EStep]:
    """Perform the E steps of several runs for the complete rows of all classes; see `_class_e_step`."""
    pairs = zip(runs[0].class_slices(), rows, strict=True)
    steps = [_class_e_step(runs, component_slice, row, axial=axial) for component_slice, row in pairs]
    return [join_classes(class_steps) for class_steps in zip(*steps, strict=True)]


@np.errstate(divide="ignore", invalid="ignore")
def iterate_em(
    starts: Sequence[Components],
    e_step: Callable[[Sequence[Components]], list[EStep]],
    m_step: MStep,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None],
) -> list[Components | Degenerate]:
    """Run EM from several starts with a given E step, until a step gains at most `tol` in log-likelihood.

    The runs do not depend on each other: at each step, the runs that have not ended advance together.

    Parameters
    ----------
    starts : sequence of S Components
        Initial components of each run.
    e_step : callable
        Maps the components of one or more runs to a list of the EStep at each.
    m_step : MStep
        The M step.
    tol : float
        Total gain of log-likelihood of a step, not extrapolated, at which EM ends.
    maxiter : int
        Maximum number of steps.
    progress : callable
        Called with 1 after each step of each run.

    Returns
    -------
    list of S Components or Degenerate
        As returned by `_climb`.
    """
    results: list[Components | Degenerate] = list(starts)
    runs = [
        _climb(start, step, m_step, tol, maxiter, progress)
        for start, step in zip(starts, e_step(starts), strict=True)
    ]
    statistics = {i: next(run) for i, run in enumerate(runs)}
    while statistics:
        estimates = m_step.estimate_runs(list(statistics.values()))
        valid = [estimate for estimate in estimates if isinstance(estimate, Components)]
        steps = iter(e_step(valid) if valid else [])
        for i, estimate in zip(list(statistics), estimates, strict=True):
            step = estimate if isinstance(estimate, Degenerate) else (estimate, next(steps))
            try:
                statistics[i] = runs[i].send(step)
            except StopIteration as end:
                results[i] = end.value
                del statistics[i]
    return results


def _climb(
    components: Components,
    current: EStep,
    m_step: MStep,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None],
) -> Generator[tuple[ComponentSums, Axes], tuple[Components, EStep] | Degenerate, Components | Degenerate]:
    """Decide the steps of one run of EM.

    If the weight of a class exceeds `MAX_SMALL_CLASS`, each pair of steps is followed by an extrapolation,
    which counts as a step and is kept if it increases the likelihood.

    Parameters
    ----------
    components : Components
        Initial components.
    current : EStep
        The E step at them.
    m_step, tol, maxiter, progress
        As in `iterate_em`.

    Yields
    ------
    sums : ComponentSums
        Sufficient statistics from which the caller estimates components. It sends these and the E step at
        them, or the `Degenerate` estimate.
    axes : (p, p) float or None
        Initial common axes for EVE and VVE.

    Returns
    -------
    Components or Degenerate
        The last components, with `path` and `converged`; `converged` is False after `maxiter` steps that all
        gain more. Degenerate if a component becomes empty or singular, or, except for EII, EEI and EEE, ends
        narrow (`_reject_narrow`). A step that decreases the likelihood by more than `MAX_RELATIVE_DECREASE`
        is "singular" for the component with the smallest standard deviation along any direction.
    """
    path = [current.llf]
    converged = False
    extrapolates = m_step.totals.max() > MAX_SMALL_CLASS
    history = [current.sums]
    for _ in range(maxiter):
        progress(1)
        if len(history) == 3:
            sums = _extrapolate(history)
            step = None if sums is None else (yield sums, components.axes)
            if step is not None and not isinstance(step, Degenerate) and step[1].llf > current.llf:
                components, current = step
                path.append(current.llf)
            history = [current.sums]
            continue
        step = yield current.sums, components.axes
        if isinstance(step, Degenerate):
            return step
        proposal, following = step
        if following.llf < path[-1] - MAX_RELATIVE_DECREASE * (1 + abs(following.llf)):
            # Report the component with the smallest standard deviation in any direction.
            roots = [
                np.diag(covariance.root) if covariance.is_diagonal else covariance.root
                for covariance in components.covariances
            ]
            min_sds = [np.linalg.svd(root, compute_uv=False)[-1] for root in roots]
            return m_step.degenerate(int(np.argmin(min_sds)), "singular", current.sums.counts)
        components = proposal
        current = following
        path.append(current.llf)
        if path[-1] - path[-2] <= tol:
            converged = True
            break
        if extrapolates:
            history.append(current.sums)
    result = replace(components, path=tuple(path), converged=converged)
    is_bounded = m_step.form in ("EII", "EEI", "EEE")
    return result if is_bounded else _reject_narrow(result, current.sums.counts)


def _raw_moments(sums: ComponentSums) -> list[Floats]:
    """Return counts, sums and sums of squares and products about the origin."""
    counts, means, scatters = sums
    products = means**2 if scatters.ndim == 2 else means[:, :, None] * means[:, None, :]
    return [
        counts,
        counts[:, None] * means,
        scatters + counts.reshape(-1, *[1] * (scatters.ndim - 1)) * products,
    ]


def _extrapolate(history: Sequence[ComponentSums]) -> ComponentSums | None:
    """Extrapolate two steps of EM (squared extrapolation, SQUAREM).

    With sufficient statistics s_0, s_1 and s_2 before and after the steps, r = s_1 - s_0,
    v = (s_2 - s_1) - r and a = |r| / |v|, the components are estimated from s_0 + 2ar + a^2 v (Varadhan &
    Roland, 2008, Scandinavian Journal of Statistics 35, 335-353, scheme S3). a = 1 is s_2.

    Parameters
    ----------
    history : sequence of 3 ComponentSums
        Sufficient statistics of three successive E steps.

    Returns
    -------
    ComponentSums or None
        None if a <= 1, or if no components have these statistics.
    """
    first, second, third = (_raw_moments(sums) for sums in history)
    changes = [after - before for before, after in zip(first, second, strict=True)]
    curvatures = [
        after - before - change for before, after, change in zip(second, third, changes, strict=True)
    ]
    squared_step = sum(float((change**2).sum()) for change in changes)
    squared_curvature = sum(float((curvature**2).sum()) for curvature in curvatures)
    if not squared_step > squared_curvature > 0:
        return None
    ratio = np.sqrt(squared_step / squared_curvature)
    counts, totals, products = (
        start + 2 * ratio * change + ratio**2 * curvature
        for start, change, curvature in zip(first, changes, curvatures, strict=True)
    )
    if not (counts > 0).all():
        return None
    sums = sums_about_new_means(np.zeros_like(totals), counts, totals, products)
    try:
        # The covariances of some forms are defined only for positive definite scatters.
        if products.ndim == 2:
            is_valid = bool((sums.scatters > 0).all())
        else:
            is_valid = bool(np.isfinite(np.linalg.cholesky(sums.scatters)).all())
    except np.linalg.LinAlgError:
        return None
    return sums if is_valid else None


def _reject_narrow(components: Components, weights: Floats) -> Components | Degenerate:
    """Return the components, or Degenerate if one of small weight is much narrower than another of its class.

    Small is a weight of at most `NARROW_ROWS_FACTOR` (p + 1) for p columns; narrower is a ratio of standard
    deviations below `MIN_SD_RATIO` along some direction.

    Parameters
    ----------
    components : Components
        Components after the last step of EM.
    weights : (T,) float
        Sums of weight times posterior probability of the T components.

    Returns
    -------
    Components or Degenerate
        Degenerate, with the reason "narrow", for the first such component.
    """
    for k, component_slice in enumerate(components.class_slices()):
        covs = components.covariances[component_slice]
        counts = weights[component_slice]
        has_few_rows = counts <= NARROW_ROWS_FACTOR * (components.means.shape[1] + 1)
        for i, j in permutations(range(len(covs)), 2):
            if not has_few_rows[i]:
                continue
            # Smallest standard deviation of one along some direction, relative to the other's.
            if covs[i].is_diagonal:
                ratio = float((covs[i].root / covs[j].root).min())
            else:
                ratio = float(np.linalg.svd(covs[j].whiten(covs[i].root.T), compute_uv=False)[-1])
            if ratio < MIN_SD_RATIO:
                return Degenerate(k, i, "narrow", float(counts[i]))
    return components
