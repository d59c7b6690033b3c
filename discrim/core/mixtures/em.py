"""Mixtures of normals within classes, by the EM algorithm.

Theory. A row of class k has the density sum_g t_kg N(x; m_kg, S_kg). Given the current components, the
E step weighs each row by the posteriors of the components of its class; the M step takes shares and means by
these weights, and covariances as their form has them, within the class or over the components of several
classes (Dempster, Laird & Rubin, 1977, Journal of the Royal Statistical Society B 39, 1-38; Hastie &
Tibshirani, 1996, Journal of the Royal Statistical Society B 58, 155-176; Fraley & Raftery, 2002, Journal of
the American Statistical Association 97, 611-631). The log-likelihood never falls. It has no upper bound: a
component that closes in on a few rows becomes singular, and such a run is no fit.

*The covariances* have one of fourteen forms. A covariance is volume x shape x orientation, S_g = l_g D_g A_g
D_g', with |A_g| = 1 and D_g orthogonal (Banfield & Raftery, 1993, Biometrics 49, 803-821; Celeux & Govaert,
1995, Pattern Recognition 28, 781-793). A form has three letters, for the volume, the shape and the
orientation: E, equal for all components, V, variable, or I, that of a sphere or of the axes. Given scatters
W_g about the means, with weights n_g, the likelihood is largest where sum_g n_g ln|S_g| + tr(S_g^-1 W_g) is
least, which has a closed form for nine of them. For VEI, VEE and VEV volumes and what is common are found in
turn; for EVE and VVE the common axes by rotations in one plane after another, each of which is an eigenvector
of two rows and columns. No step makes the sum larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, has_root, scaled_cholesky
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, Mask, slices

Axes = Floats | None
"""Axes (p, p) that all components have, from where those of EVE and VVE are sought."""

Form = Literal[
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV",
]  # fmt: skip
FORMS: tuple[Form, ...] = get_args(Form)
"""The forms, those of fewer parameters first."""

OF_ONE = {"EII": "XII", "VII": "XII"} | dict.fromkeys(("EEI", "VEI", "EVI", "VVI"), "XXI")
"""What forms without an orientation are called of a single component."""

TURNS = 1000
"""Most rounds in which parts of a covariance are found in turn."""

SETTLED = 1e-14
"""Relative change of the parts, or of the criterion, at which they are found.

The criterion is flat at its least value: parts of which it knows all digits have half of theirs.
"""

NEARLY = 1e-7
"""Relative change of the parts at which a step of EM takes them, as its criterion then has all its digits."""

SHORT_AXIS = 1e-4
"""Length of a scatter, over the longest, from which on it is found to its own digits."""

STILL = 1e-15
"""Angle at which axes no longer turn."""


def form_of(form: str, components: int) -> str:
    """The name of a form of so many components; of a single one those that are the same have one name."""
    return form if components > 1 else OF_ONE.get(form, 3 * "X")


def is_axial(form: str) -> bool:
    """Whether covariances of the form are diagonal."""
    return form[2] == "I"


def keeps_units(form: str) -> bool:
    """Whether the form stays what it is where columns are measured in other units each."""
    return form not in ("EII", "VII", "EVE", "VVE", "EEV", "VEV")


def form_parameters(form: str, components: int, p: int) -> int:
    """Number of free parameters of the covariances of so many components of p columns."""
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
    form: str, scatters: Floats, counts: Floats, axes: Axes = None, turns: int = TURNS
) -> tuple[Floats, Axes]:
    """The most likely covariances (G, p, p) of a form, and the common axes (p, p) of EVE and VVE.

    From scatters (G, p, p) and counts (G,); those of forms without an orientation are sums of squares (G, p),
    and lead to variances (G, p). The search for common axes begins at some, for so many turns at most; with
    fewer than `TURNS`, volumes and shapes that are found in turn have half of their digits. Where the
    likelihood has no maximum, the covariances are not positive definite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if form in ("EVE", "VVE"):
            return _common_axes(scatters, counts, axes, turns, equal_volume=form == "EVE")
        if form in _IN_TURN:
            return _IN_TURN[form](scatters, counts, SETTLED if turns == TURNS else NEARLY), None
        return _OF_FORM[form](scatters, counts), None


def _equal_spheres(squares: Floats, counts: Floats) -> Floats:
    return np.full(squares.shape, squares.sum() / (counts.sum() * squares.shape[1]))


def _spheres(squares: Floats, counts: Floats) -> Floats:
    p = squares.shape[1]
    return np.repeat((squares.sum(axis=1) / (counts * p))[:, None], p, axis=1)


def _pooled(scatters: Floats, counts: Floats) -> Floats:
    return np.repeat((scatters.sum(axis=0) / counts.sum())[None], len(scatters), axis=0)


def _separate(scatters: Floats, counts: Floats) -> Floats:
    return np.asarray(scatters / counts.reshape(-1, *[1] * (scatters.ndim - 1)))


def _equal_volumes(scatters: Floats, counts: Floats) -> Floats:
    """Covariances (G, p, p), or variances (G, p), of equal volume, each with the shape of its scatter."""
    logs = np.log(scatters).sum(axis=1) if scatters.ndim == 2 else np.linalg.slogdet(scatters)[1]
    volumes = np.exp(logs / scatters.shape[1])
    return np.asarray((scatters.T * (volumes.sum() / (counts.sum() * volumes))).T)


def _common_shape(scatters: Floats, counts: Floats, settled: float) -> Floats:
    """Covariances (G, p, p), or variances (G, p), that are a volume each times a shape of all."""
    p = scatters.shape[1]
    before = np.ones(len(counts))
    shape = scatters.sum(axis=0) / counts.sum()
    for _ in range(TURNS):
        if scatters.ndim == 2:
            traces = (scatters / shape).sum(axis=1)
        else:
            traces = np.einsum("gij,ji->g", scatters, np.linalg.inv(shape))
        volumes = traces / (p * counts)
        each = volumes.reshape(-1, *[1] * (scatters.ndim - 1))
        shape = (scatters / each).sum(axis=0) / counts.sum()
        if not np.abs(volumes / before - 1).max() > settled:
            break
        before = volumes
    return np.asarray(each * shape)


def _principal(scatters: Floats) -> tuple[Floats, Floats]:
    """Lengths (G, p) and axes (G, p, p) of scatters, the shortest first, each length to its own digits.

    The usual method has an error of a rounding of the longest one. Where that shows, and the scatter is that
    of rows in axes near its own, rotations of its root keep the digits of each (Demmel & Veselic, 1992, SIAM
    Journal on Matrix Analysis and Applications 13, 1204-1245).
    """
    lengths, axes = np.linalg.eigh(scatters)
    # A column of one value has no correlations, and its axis no length.
    varies = np.diagonal(scatters, axis1=1, axis2=2).all(axis=1)
    for g in np.flatnonzero(varies & (lengths[:, 0] < SHORT_AXIS * lengths[:, -1])):
        try:
            root = scaled_cholesky(scatters[g])
        except np.linalg.LinAlgError:
            continue
        values, _, right, work, _, failed = scipy.linalg.lapack.dgejsv(root, joba=0, jobu=3)
        if not failed:
            lengths[g], axes[g] = (values[::-1] * work[0] / work[1]) ** 2, right[:, ::-1]
    return lengths, axes


def _eev(scatters: Floats, counts: Floats) -> Floats:
    lengths, axes = _principal(scatters)
    shape = lengths.sum(axis=0) / counts.sum()
    return np.asarray((axes * shape) @ axes.transpose(0, 2, 1))


def _vev(scatters: Floats, counts: Floats, settled: float) -> Floats:
    lengths, axes = _principal(scatters)
    variances = _common_shape(lengths, counts, settled)
    return np.asarray((axes * variances[:, None, :]) @ axes.transpose(0, 2, 1))


_OF_FORM: dict[str, Callable[[Floats, Floats], Floats]] = {
    "EII": _equal_spheres,
    "VII": _spheres,
    "EEI": _pooled,
    "EVI": _equal_volumes,
    "VVI": _separate,
    "EEE": _pooled,
    "EEV": _eev,
    "EVV": _equal_volumes,
    "VVV": _separate,
}
_IN_TURN: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "VEI": _common_shape,
    "VEE": _common_shape,
    "VEV": _vev,
}


def _common_axes(
    scatters: Floats, counts: Floats, axes: Axes, turns: int, *, equal_volume: bool
) -> tuple[Floats, Floats]:
    """Covariances (G, p, p) with common axes (p, p), and volumes that are equal or not."""
    p = scatters.shape[1]
    axes = np.linalg.eigh(scatters.sum(axis=0))[1] if axes is None else axes.copy()
    turned = axes.T @ scatters @ axes
    before = np.inf
    least = np.inf

    def variances() -> Floats:
        squares = np.diagonal(turned, axis1=1, axis2=2)
        return _equal_volumes(squares, counts) if equal_volume else squares / counts[:, None]

    for _ in range(turns):
        along = variances()
        value = counts @ np.log(along).sum(axis=1)
        pairs = combinations(range(p), 2)
        angles = [_rotate(turned, axes, 1 / along[:, i] - 1 / along[:, j], i, j) for i, j in pairs]
        largest = max(angles, default=0.0)
        # Where the criterion no longer tells, axes go on as long as they come to rest.
        is_flat = not before - value > SETTLED * (1 + abs(value))
        if largest <= STILL or (is_flat and largest >= least):
            break
        before = value
        least = min(least, largest)
    return np.asarray((axes * variances()[:, None, :]) @ axes.T), axes


def _rotate(turned: Floats, axes: Floats, gaps: Floats, i: int, j: int) -> float:
    """Turn two axes, in place, to where the trace of scatters over variances is least; by which angle.

    In the plane of the two the trace is a'Ma but for a constant, a the first of them and M the sum of the
    scatters (G, p, p) of the plane times gaps (G,) of the reciprocal variances.
    """
    first, last = gaps @ turned[:, i, i], gaps @ turned[:, j, j]
    between = gaps @ turned[:, i, j]
    if between == 0 and first <= last:
        return 0.0
    # The angle of the eigenvector of the smaller eigenvalue.
    angle = 0.5 * np.arctan2(-2 * between, last - first)
    cos = np.cos(angle)
    sin = np.sin(angle)
    turn = np.array([[cos, -sin], [sin, cos]])
    pair = [i, j]
    axes[:, pair] = axes[:, pair] @ turn
    turned[:, :, pair] = turned[:, :, pair] @ turn
    turned[:, pair, :] = turn.T @ turned[:, pair, :]
    return float(abs(angle))


SINGULAR_SD = 1e-6
"""Standard deviation, over that of the rows of the class, below which a component is singular."""

FALLEN = 1e-9
"""Share of the log-likelihood by which a step lowers it only where a component is flat but for rounding."""

FEW_ROWS = 2
"""Rows, over one more than the columns, up to which a component may be near a plane by chance."""

NARROW = 1e-2
"""Standard deviation along some direction, over that of another component of the class, of a narrow one.

A likelihood has many maxima at components of a few rows that happen to lie near a plane, and mean nothing. A
bound on such ratios leaves them out (Hathaway, 1985, Annals of Statistics 13, 795-800).
"""

EMPTY = 1e-3
"""Rows, of mean weight, below which a component is empty."""

CACHED = 2**15
"""Numbers that are worked on at a time."""

FEW_TURNS = 3
"""Turns of the search for common axes within a step of EM."""


@dataclass(frozen=True, slots=True)
class EMPlan:
    """How EM is run: from so many partitions drawn by the seed, beside those of hierarchical clustering.

    Steps end below a gain `tol` of log-likelihood a row.
    """

    starts: int
    seed: int
    tol: float
    maxiter: int


class ClassRows(NamedTuple):
    """Rows of one class: deviations z (p, n) from its mean in a common unit, and weights (n,)."""

    z: Floats
    weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The components of some classes, as many as their sizes say, those of the first class first.

    Shares (T,) are of the rows of their class, means (T, p) from its mean in the common unit; a form may have
    common axes (p, p). The path is the log-likelihood of the rows given their classes, in the common unit,
    after each step.
    """

    sizes: tuple[int, ...]
    shares: Floats
    means: Floats
    covariances: tuple[Covariance, ...]
    axes: Axes = field(default=None, metadata=NOT_STORED)
    path: tuple[float, ...] = field(default=(), metadata=NOT_STORED)
    converged: bool = True

    @property
    def llf(self) -> float:
        """The log-likelihood at the end."""
        return self.path[-1]

    def places(self) -> list[slice]:
        """Where the components of each class are."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]


class Degenerate(NamedTuple):
    """A run that ended without a maximum: where a component became "empty", "singular" or "narrow"."""

    k: int
    component: int
    what: str
    weight: float


def _parts(n: int, width: int) -> Iterator[slice]:
    """So many of n rows at a time that `width` numbers of each stay in the cache."""
    return slices(n, max(CACHED // width, 1))


def component_scores(components: Components, at: slice, z: Floats) -> Floats:
    """Log shares and densities (G, n) of the components of one class at deviations z (p, n)."""
    means = components.means[at]
    whiten, logdets = _whitening(components.covariances[at])
    constants = np.log(components.shares[at]) - 0.5 * logdets - 0.5 * len(z) * np.log(2 * np.pi)
    scores = np.empty((len(means), z.shape[1]))
    for part in _parts(z.shape[1], means.size):
        whitened = whiten(z[:, part] - means[:, :, None])
        np.einsum("gij,gij->gj", whitened, whitened, out=scores[:, part])
    scores *= -0.5
    scores += constants[:, None]
    return scores


def _whitening(covs: Sequence[Covariance]) -> tuple[Callable[[Floats], Floats], Floats]:
    """What whitens deviations (G, p, m), all at once where that keeps digits, and log-determinants."""
    roots = np.array([covariance.root for covariance in covs])
    factors = [covariance.factor for covariance in covs if covariance.factor is not None]
    diagonals = roots if roots.ndim == 2 else np.diagonal(roots, axis1=1, axis2=2)
    logdets = 2.0 * np.log(np.abs(diagonals)).sum(axis=1)
    if roots.ndim == 2:
        return lambda gaps: gaps / roots[:, :, None], logdets
    if len(factors) == len(covs):
        transposed = np.array(factors).transpose(0, 2, 1)
        return lambda gaps: transposed @ gaps, logdets
    return lambda gaps: np.array([each.whiten(gap) for each, gap in zip(covs, gaps, strict=True)]), logdets


class Expected(NamedTuple):
    """What a step of EM knows of the rows: weights (T,) of the components, and the log-likelihood.

    `best` goes on from some axes to the components that are most likely given the weights of the rows.
    """

    counts: Floats
    llf: float
    best: Callable[[Axes], Components | Degenerate]


def _expected(components: Components, rows: Sequence[ClassRows], form: str, least: Floats) -> Expected:
    """What complete rows say, by the posteriors of the components of their class."""
    posteriors = []
    llf = 0.0
    for at, (z, weights) in zip(components.places(), rows, strict=True):
        scores = component_scores(components, at, z)
        top, sums = normalized(scores, weights)
        llf += float(weights @ (top + np.log(sums)))
        posteriors.append(scores)
    counts = np.concatenate([part.sum(axis=1) for part in posteriors])
    # Axes that are not yet the best do: the next step goes on from them, and the likelihood never falls.
    return Expected(counts, llf, lambda axes: of_weights(rows, posteriors, form, axes, FEW_TURNS, least))


def normalized(scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Make scores (G, n) posteriors times weights (n,), in place; their largest (n,) and sums (n,)."""
    top = scores.max(axis=0)
    scores -= top
    np.exp(scores, out=scores)
    sums = scores.sum(axis=0)
    scores *= weights / sums
    return top, sums


class ComponentSums(NamedTuple):
    """Weights (T,), means (T, p), and scatters (T, p, p) or sums of squares (T, p), of components."""

    counts: Floats
    means: Floats
    scatters: Floats


def of_weights(
    rows: Sequence[ClassRows],
    parts: Sequence[Floats],
    form: str,
    axes: Axes = None,
    turns: int = TURNS,
    least: Floats | None = None,
) -> Components | Degenerate:
    """The most likely components, given weights (G, n) of the rows of each class in its components.

    Common axes are sought from some, for so many turns at most. The least variances (K, p) are those of
    `least_variances`, if they are known.
    """
    p = len(rows[0].z)
    axial = is_axial(form)
    counts = np.concatenate([part.sum(axis=1) for part in parts])
    sizes = tuple(len(part) for part in parts)
    means = np.empty((len(counts), p))
    scatters = np.empty((len(counts), p) if axial else (len(counts), p, p))
    if (empty := emptied(rows, sizes, counts)) is not None:
        return empty
    begin = 0
    for (z, _), part in zip(rows, parts, strict=True):
        at = slice(begin, begin + len(part))
        means[at] = part @ z.T / counts[at, None]
        scatters[at] = _scatters(z, part, means[at], axial=axial)
        begin = at.stop
    least = least_variances(rows) if least is None else least
    return of_sums(ComponentSums(counts, means, scatters), rows, sizes, form, axes, turns, least)


def emptied(rows: Sequence[ClassRows], sizes: Sequence[int], counts: Floats) -> Degenerate | None:
    """The first component that is left without rows, by the weights (T,) of all; None where each has some."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    units = np.array([weights.sum() / len(weights) for _, weights in rows])
    full = counts > EMPTY * units[owner]
    return None if full.all() else _degenerate(int(np.argmin(full)), "empty", owner, counts)


def of_sums(
    sums: ComponentSums,
    rows: Sequence[ClassRows],
    sizes: tuple[int, ...],
    form: str,
    axes: Axes,
    turns: int,
    least: Floats,
) -> Components | Degenerate:
    """The most likely components by their sums; rows, and the rest, are as of `of_weights`."""
    counts, means, scatters = sums
    owner = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.repeat([row.weights.sum() for row in rows], sizes)
    try:
        matrices, axes = covariances(form, scatters, counts, axes, turns)
    except np.linalg.LinAlgError:
        return _degenerate(0, "singular", owner, counts)
    roots, whole = _rooted(matrices, least[owner])
    if not whole.all():
        return _degenerate(int(np.argmin(whole)), "singular", owner, counts)
    return Components(sizes, counts / totals, means, Covariance.from_roots(roots), axes)


def _scatters(z: Floats, part: Floats, means: Floats, *, axial: bool) -> Floats:
    """Scatters (G, p, p), or sums of squares (G, p), of rows with weights (G, n) about means (G, p)."""
    scatters = np.zeros(means.shape if axial else (*means.shape, len(z)))
    for some in _parts(z.shape[1], means.size):
        gaps = z[:, some] - means[:, :, None]
        if axial:
            scatters += np.einsum("gij,gij,gj->gi", gaps, gaps, part[:, some])
        else:
            gaps *= np.sqrt(part[:, None, some])
            scatters += gaps @ gaps.transpose(0, 2, 1)
    return scatters


def _degenerate(g: int, what: str, owner: Codes, counts: Floats) -> Degenerate:
    """What is told of a component by its place among all."""
    return Degenerate(int(owner[g]), g - int(np.argmax(owner == owner[g])), what, float(counts[g]))


def least_variances(rows: Sequence[ClassRows]) -> Floats:
    """Variances (K, p) at which a component of a class is singular."""
    squares = [np.einsum("ij,ij,j->i", z, z, weights) / weights.sum() for z, weights in rows]
    return np.asarray(SINGULAR_SD**2 * np.array(squares))


def _rooted(matrices: Floats, least: Floats) -> tuple[Floats, Mask]:
    """Roots of covariances (T, p, p), or of variances (T, p), and whether each has one."""
    axial = matrices.ndim == 2
    variances = matrices if axial else np.diagonal(matrices, axis1=1, axis2=2)
    finite = np.isfinite(matrices.reshape(len(matrices), -1)).all(axis=1)
    whole = np.asarray((variances > least).all(axis=1) & finite)
    if axial or not whole.all():
        return np.sqrt(np.maximum(matrices, 0.0)), whole
    sd = np.sqrt(variances)
    correlations = matrices / sd[:, :, None] / sd[:, None, :]
    try:
        roots = np.linalg.cholesky(correlations).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        return matrices, np.array([has_root(each) for each in correlations])
    whole = np.asarray((np.diagonal(roots, axis1=1, axis2=2) > SINGULAR_SD).all(axis=1))
    return np.asarray(roots * sd[:, None, :]), whole


def maximized(
    components: Components,
    rows: Sequence[ClassRows],
    form: str,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:
    """Steps of EM from components until a step gains less than `tol` times the weight of the rows.

    The rows are of the classes that are fitted together. Each step is told. No step lowers the likelihood but
    by rounding, of a component that is all but flat.
    """
    if max(components.sizes) == 1:
        # The weights of the rows are known, and the first step is the last.
        ended = of_weights(rows, [row.weights[None] for row in rows], form, components.axes)
        if isinstance(ended, Degenerate):
            return ended
        return replace(ended, path=(_expected(ended, rows, form, least_variances(rows)).llf,))
    total = sum(float(row.weights.sum()) for row in rows)
    least = least_variances(rows)

    def expected(components: Components) -> Expected:
        return _expected(components, rows, form, least)

    return climbed(components, expected, form, tol=tol * total, maxiter=maxiter, progress=progress)


def climbed(
    components: Components,
    expected: Callable[[Components], Expected],
    form: str,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None],
) -> Components | Degenerate:
    """Steps of EM, as rows expect them of components, until one gains less than `tol` in log-likelihood."""
    now = expected(components)
    path = [now.llf]
    converged = False
    for _ in range(maxiter):
        step = now.best(components.axes)
        if isinstance(step, Degenerate):
            return step
        after = expected(step)
        if after.llf < path[-1] - FALLEN * (1 + abs(after.llf)):
            # The component with the least standard deviation in any direction, which is rounding.
            owner = np.repeat(np.arange(len(components.sizes)), components.sizes)
            roots = [np.diag(each.root) if each.is_diagonal else each.root for each in components.covariances]
            least = [np.linalg.svd(root, compute_uv=False)[-1] for root in roots]
            return _degenerate(int(np.argmin(least)), "singular", owner, now.counts)
        components = step
        now = after
        path.append(now.llf)
        progress(1)
        if path[-1] - path[-2] <= tol:
            converged = True
            break
    ended = replace(components, path=tuple(path), converged=converged)
    return ended if form in ("EII", "EEI", "EEE") else _unless_narrow(ended, now.counts)


def _unless_narrow(components: Components, weights: Floats) -> Components | Degenerate:
    """The components, of weights (T,), unless one of few rows is narrow beside another one of the class."""
    for k, at in enumerate(components.places()):
        covs = components.covariances[at]
        counts = weights[at]
        few = counts <= FEW_ROWS * (components.means.shape[1] + 1)
        for i, j in permutations(range(len(covs)), 2):
            if not few[i]:
                continue
            # Smallest standard deviation of one along some direction, relative to the other's.
            if covs[i].is_diagonal:
                ratio = float((covs[i].root / covs[j].root).min())
            else:
                ratio = float(np.linalg.svd(covs[j].whiten(covs[i].root.T), compute_uv=False)[-1])
            if ratio < NARROW:
                return Degenerate(k, i, "narrow", float(counts[i]))
    return components
