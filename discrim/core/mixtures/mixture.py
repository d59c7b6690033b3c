"""The numbers of mixture discriminant analysis: rules and likelihoods of the components of each class.

The number and the form of components of most evidence: every one is tried, and BIC decides.

BIC = df ln n - 2 llf of the rows within classes (Schwarz, 1978, Annals of Statistics 6, 461-464; Fraley &
Raftery, 2002): smaller is better, the negative of what mclust prints.

Rows left out of mixtures: EM begun at the components of the fit, of the class of the row alone if it may.

The steps begin where those of the fit ended, so that few are left. A class that is fitted for itself does not
know of rows of others, and its components are all that change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discrim.core.mixtures.em import (
    ClassRows,
    Components,
    Degenerate,
    EMPlan,
    form_of,
    form_parameters,
    is_axial,
    keeps_units,
    maximized,
    of_weights,
)
from discrim.core.mixtures.starts import (
    Frames,
    Hierarchies,
    frames_of,
    hierarchies_of,
    in_frames,
    out_of_frames,
    rows_in_frames,
    tried,
)
from discrim.core.moments.moments import ClassMoments, standard_columns
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Distances, GaussianRule
from discrim.core.scatter.covariance import Covariance
from discrim.core.scatter.principal import of_columns
from discrim.errors import NotSupportedError

Tell = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class MixtureRule:
    """Scores ln prior_k + ln sum_g t_kg N(x; m_kg, S_kg).

    Attributes
    ----------
    components : GaussianRule
        Of all components, with ln prior_k + ln t_kg in their constants.
    first : (K,) int
        Position of the first component of each class.
    """

    components: GaussianRule
    first: Codes

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        return self.of_components(self.components.scores(x))

    def of_components(self, scores: Floats) -> Floats:
        """Scores (m, K) of the classes, from those (m, T) of all components."""
        if len(self.first) == scores.shape[1]:
            return scores
        with np.errstate(invalid="ignore"):
            return np.asarray(np.logaddexp.reduceat(scores, self.first, axis=1))


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """The numbers of a mixture discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal.
    prior : (K,) float
    forms : tuple of K str
        Form of the covariances of each class's components; one for all where they are fitted together.
    together : bool
        Whether the form is that of the components of all classes, and not of each class for itself.
    scale : (p,) float
        Powers of two, of the coordinates in which the components are.
    components : Components
        From the means of their classes.
    llf_given : float
        Log-likelihood of the rows given their classes, in the units of the data.
    llf_rows : float
        That of the rows whatever their classes, under the prior.
    tried : (K, 2) float or None
        For each class, from how many starts EM was run to the end, and how many of these runs reached the
        maximum. None of a fit that began at components, or of an old file.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    forms: tuple[str, ...]
    together: bool
    scale: Floats
    components: Components
    how: EMPlan
    llf_given: float
    llf_rows: float = np.nan
    tried: Floats | None = None

    @property
    def over(self) -> str:
        """What a form is of: the components of one class, or of all classes."""
        return "classes" if self.together else "class"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Components of each class."""
        return self.components.sizes

    @property
    def owner(self) -> Codes:
        """Class (T,) of each component."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def covariance(self) -> str:
        """The forms of the classes, as one text."""
        return ",".join(self.forms)

    @property
    def converged(self) -> bool:
        """Whether EM did."""
        return self.components.converged

    @property
    def starts(self) -> int:
        """Partitions that were drawn for EM to begin with."""
        return self.how.starts

    @property
    def seed(self) -> int:
        """What they were drawn by."""
        return self.how.seed

    @property
    def tol(self) -> float:
        """Gain a row below which EM ends."""
        return self.how.tol

    @property
    def maxiter(self) -> int:
        """Most steps of EM."""
        return self.how.maxiter

    @property
    def has_distances(self) -> bool:
        """Whether the model is of one normal law a class: it is not, as a rule."""
        return False

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> MixtureRule:
        """The rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            Another method than "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(f'method="{method}" is not defined for mixtures: use "plugin".')
        return self.of_columns(log_prior, np.arange(len(self.scale)))

    def of_columns(self, log_prior: Floats, keep: Codes) -> MixtureRule:
        """The rule of some columns (q,), the others integrated out."""
        held, owner, scale = self.components, self.owner, self.scale[keep]
        whole = len(keep) == len(self.scale)
        covariances = held.covariances if whole else tuple(of_columns(c, keep) for c in held.covariances)
        logdets = np.array([covariance.logdet for covariance in covariances])
        constant = log_prior[owner] + np.log(held.shares) - 0.5 * (logdets - 2 * np.log(scale).sum())
        constant -= 0.5 * len(keep) * np.log(2 * np.pi)
        origin = self.moments.centres[:, keep][owner]
        distances = Distances(origin, scale, held.means[:, keep], covariances)
        first = np.cumsum((0, *self.sizes[:-1]))
        return MixtureRule(GaussianRule(distances, constant, np.ones(len(constant))), first)

    def means(self) -> Floats:
        """Means (T, p) of the components, in the units of the data."""
        return np.asarray(self.moments.centres[self.owner] + self.components.means / self.scale)

    def component_covariance(self, g: int) -> Floats:
        """Covariance (p, p) of a component, in the units of the data."""
        return np.asarray(self.components.covariances[g].matrix() / self.scale / self.scale[:, None])

    def df_given(self) -> int:
        """Free parameters of the laws of rows within classes."""
        p, sizes = len(self.scale), self.sizes
        count = sum(size * p + size - 1 for size in sizes)
        if self.together:
            return count + form_parameters(self.forms[0], sum(sizes), p)
        return count + sum(
            form_parameters(form, size, p) for form, size in zip(self.forms, sizes, strict=True)
        )

    def df_model(self) -> int:
        """Free parameters, with the prior where it is estimated."""
        return self.df_given() + (len(self.prior) - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row jointly."""
        with np.errstate(divide="ignore"):
            return float(self.moments.counts @ np.log(self.prior)) + self.llf_given

    def refit(self, x: Floats, codes: Codes, weights: Floats | None) -> MixtureFit | None:
        """The same model of other rows, EM begun at these components; None where a component is lost."""
        rows = rows_by_class(x, codes, weights, self.moments.centres, self.scale)
        if any(not row.weights.sum() > 0 for row in rows):
            return None
        found = _continued(rows, self)
        return None if isinstance(found, Degenerate) else self._with(found, rows)

    def _with(self, found: Components, rows: Sequence[ClassRows]) -> MixtureFit:
        weight = sum(float(row.weights.sum()) for row in rows)
        llf = found.llf + weight * float(np.log(self.scale).sum())
        return replace(self, components=found, llf_given=llf)

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps of the fit beside its moments."""
        held = self.components
        roots = [np.diag(c.root) if c.is_diagonal else c.root for c in held.covariances]
        kept = {
            "sizes": np.array(self.sizes, dtype=np.float64),
            "unit": self.scale,
            "shares": held.shares,
            "means": held.means,
            "roots": np.stack(roots),
            "likelihoods": np.array([self.llf_given, self.llf_rows]),
        }
        return kept if self.tried is None else kept | {"tried": self.tried}


def rows_by_class(
    x: Floats, codes: Codes, weights: Floats | None, centres: Floats, scale: Floats
) -> list[ClassRows]:
    """The rows x (n, p) of each class, about centres (K, p) in units of a scale (p,), with their weights."""
    w = np.ones(len(x)) if weights is None else weights
    found = []
    for k, centre in enumerate(centres):
        own = codes == k
        found.append(ClassRows(standard_columns(x[own], centre, scale), w[own]))
    return found


def common_scale(moments: ClassMoments, forms: Sequence[str]) -> Floats:
    """Powers of two (p,) that bring deviations from class means near one; by some forms one for all."""
    variances = moments.squares.sum(axis=0) / moments.total
    varying = variances > 0
    sd = np.sqrt(np.where(varying, variances, variances.max(initial=0.0)))
    if not varying.any():
        sd = np.ones(len(sd))
    # As differences of exponents these never leave the range of doubles.
    exponents = np.frexp(moments.scale)[1] - np.frexp(sd)[1]
    if not all(keeps_units(form) for form in forms):
        exponents = np.full(len(sd), exponents[varying].min() if varying.any() else exponents.min())
    return np.asarray(np.ldexp(1.0, exponents))


def in_order(
    x: Floats, codes: Codes, weights: Floats | None, n_classes: int
) -> tuple[ClassMoments, Floats, Codes, Floats | None]:
    """Rows class by class, in the order of their values, with their diagonal moments.

    So sums, draws and ties are the same, to the last bit, whatever the order of the table.

    Parameters
    ----------
    x : (n, p) float
    codes : (n,) int
    weights : (n,) float, optional
    """
    first = np.lexsort((x[:, 0], codes))
    tied = (np.diff(codes[first]) == 0) & (np.diff(x[first, 0]) == 0)
    if tied.any():
        later = [] if weights is None else [weights]
        first = np.lexsort((*later, *x.T[::-1], codes))
    x, codes = x[first], codes[first]
    weights = None if weights is None else weights[first]
    moments = ClassMoments.from_block(x, codes, weights, n_classes=n_classes, spread="diagonal")
    return moments, x, codes, weights


def class_hierarchies(
    moments: ClassMoments, x: Floats, codes: Codes, weights: Floats | None
) -> list[Hierarchies]:
    """The hierarchical clusterings of the rows of each class."""
    rows = rows_by_class(x, codes, weights, moments.centres, common_scale(moments, ()))
    return [hierarchies_of(*row) for row in rows]


def fit_mixture(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    prior: Floats,
    *,
    forms: Sequence[str],
    sizes: Sequence[int],
    together: bool,
    plan: EMPlan,
    hierarchies: Sequence[Hierarchies] | None = None,
    estimated_prior: bool = True,
    rows_too: bool = True,
    tell: Tell = lambda more: None,
) -> MixtureFit | Degenerate:
    """Fit to rows, by EM from the best of several starts.

    Parameters
    ----------
    moments : ClassMoments
        Of the rows, diagonal.
    x : (n, p) float
        In the order of `in_order`.
    codes : (n,) int
    weights : (n,) float, optional
    prior : (K,) float
    forms, sizes : sequence of K str, int
        Of each class.
    together : bool
        Whether the form, then the same for all, is that of the components of all classes.
    hierarchies : sequence of K Hierarchies, optional
        Those of `class_hierarchies`, if they are known.
    rows_too : bool
        The log-likelihood of the rows whatever their classes, too.
    tell : callable
        Called after each step.
    """
    scale = common_scale(moments, forms)
    rows = rows_by_class(x, codes, weights, moments.centres, scale)
    if hierarchies is None and max(sizes) > 1:
        hierarchies = [hierarchies_of(*row) for row in rows]
    parts: list[Components] = []
    tried_by_class = np.empty((len(rows), 2))
    for group in _groups(len(rows), together):
        found, tried_by_class[group] = _begun_anew(
            [rows[k] for k in group],
            [sizes[k] for k in group],
            forms[group[0]],
            plan,
            moments.classes(np.array(group)).rescaled(scale),
            [] if hierarchies is None else [hierarchies[k] for k in group],
            tell,
        )
        if isinstance(found, Degenerate):
            return found._replace(k=group[found.k])
        parts.append(found)
    held = parts[0] if together else _joined(parts)
    bare = MixtureFit(moments, prior, estimated_prior, tuple(forms), together, scale, held, plan, np.nan)
    fit = replace(bare._with(held, rows), tried=tried_by_class)
    if not rows_too:
        return fit
    with np.errstate(divide="ignore"):
        scores = fit.rule(np.log(prior)).scores(x)
    top = scores.max(axis=1)
    dense = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return replace(fit, llf_rows=float(dense.sum() if weights is None else weights @ dense))


def _groups(n_classes: int, together: bool) -> list[list[int]]:
    """The classes that are fitted together."""
    return [list(range(n_classes))] if together else [[k] for k in range(n_classes)]


def _begun_anew(
    plain: Sequence[ClassRows],
    sizes: Sequence[int],
    form: str,
    plan: EMPlan,
    moments: ClassMoments,
    hierarchies: Sequence[Hierarchies],
    tell: Tell,
) -> tuple[Components | Degenerate, tuple[int, int]]:
    """The best that EM comes to for classes that are fitted together; runs, and those that came to it."""
    try:
        frames = frames_of(plain, form, moments)
    except np.linalg.LinAlgError:
        return Degenerate(0, 0, "singular", float(plain[0].weights.sum())), (0, 0)
    rows = rows_in_frames(plain, frames)
    if max(sizes) == 1:
        found = of_weights(rows, [row.weights[None] for row in rows], form)
        if not isinstance(found, Degenerate):
            found = maximized(found, rows, form, tol=plan.tol, maxiter=plan.maxiter, tell=tell)
        return _outside(found, rows, frames), (1, 1)
    trials = tried(plain, rows, sizes, form, plan, hierarchies, tell)
    if trials.ended:
        return _outside(trials.best_first[0], rows, frames), (trials.ended, trials.reached)
    # A trial of few steps may end where there is no maximum; then it is the turn of the next best.
    for trial in trials.best_first:
        found = trial
        if not isinstance(trial, Degenerate):
            found = maximized(trial, rows, form, tol=plan.tol, maxiter=plan.maxiter, tell=tell)
        if not isinstance(found, Degenerate):
            break
    return _outside(found, rows, frames), (1, 1)


def _outside(
    found: Components | Degenerate, rows: Sequence[ClassRows], frames: Frames
) -> Components | Degenerate:
    return found if isinstance(found, Degenerate) else out_of_frames(found, rows, frames)


def _continued(plain: Sequence[ClassRows], fit: MixtureFit) -> Components | Degenerate:
    """What EM comes to from the components of a fit."""
    parts = []
    for group in _groups(len(plain), fit.together):
        own, form = [plain[k] for k in group], fit.forms[group[0]]
        held = fit.components if fit.together else of_class(fit.components, group[0])
        try:
            frames = frames_of(own, form)
        except np.linalg.LinAlgError:
            return Degenerate(group[0], 0, "singular", float(own[0].weights.sum()))
        rows = rows_in_frames(own, frames)
        found = maximized(in_frames(held, frames), rows, form, tol=fit.how.tol, maxiter=fit.how.maxiter)
        if isinstance(found, Degenerate):
            return found._replace(k=group[found.k])
        parts.append(out_of_frames(found, rows, frames))
    return parts[0] if fit.together else _joined(parts)


def of_class(held: Components, k: int) -> Components:
    """The components of one class."""
    at = held.places()[k]
    return replace(
        held,
        sizes=held.sizes[k : k + 1],
        shares=held.shares[at],
        means=held.means[at],
        covariances=held.covariances[at],
    )


def _joined(parts: Sequence[Components]) -> Components:
    """The components of classes that were fitted one by one; common axes are each class's own."""
    return Components(
        tuple(size for part in parts for size in part.sizes),
        np.concatenate([part.shares for part in parts]),
        np.concatenate([part.means for part in parts]),
        tuple(covariance for part in parts for covariance in part.covariances),
        None,
        (sum(part.llf for part in parts),),
        all(part.converged for part in parts),
    )


def mixture_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    forms: Sequence[str],
    together: bool,
    estimated_prior: bool,
    converged: bool,
    plan: EMPlan,
    sizes: Floats,
    unit: Floats,
    shares: Floats,
    means: Floats,
    roots: Floats,
    likelihoods: Floats,
    tried: Floats | None = None,
) -> MixtureFit:
    """The fit that `MixtureFit.buffers` and its options are of."""
    counts = tuple(int(size) for size in sizes)
    of_each = [form for form, size in zip(forms, counts, strict=True) for _ in range(size)]
    covariances = tuple(
        Covariance.from_root(np.diagonal(root).copy() if is_axial(form) else np.triu(root))
        for form, root in zip(of_each, roots, strict=True)
    )
    held = Components(counts, shares, means, covariances, converged=converged)
    llf_given, llf_rows = likelihoods.tolist()
    return MixtureFit(
        moments, prior, estimated_prior, tuple(forms), together, unit, held, plan, llf_given, llf_rows, tried
    )


class Tried(NamedTuple):
    """One number and form of components.

    Attributes
    ----------
    df : int
        Free parameters of the law of the rows within classes.
    llf, bic : float
        Of the rows given their classes; missing where EM found no maximum.
    """

    components: int
    form: str
    df: int
    llf: float
    bic: float


def candidates(sizes: Sequence[int], forms: Sequence[str], classes: int) -> list[tuple[int, str]]:
    """Numbers and forms that differ: of a single component, a form stands for those that are the same."""
    found: list[tuple[int, str]] = []
    for size in sizes:
        seen: set[str] = set()
        for form in forms:
            name = form_of(form, size * classes)
            if name not in seen:
                found.append((size, form))
            seen.add(name)
    return found


def tried_forms(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    asked: Sequence[tuple[int, str]],
    plan: EMPlan,
    tell: Callable[[float], None] = lambda more: None,
) -> list[Tried]:
    """Fits of each number and form that is asked for to some classes, whose components share the form.

    Parameters
    ----------
    moments : ClassMoments
        Of the rows.
    x : (n, p) float
    codes : (n,) int
    weights : (n,) float, optional
    asked : sequence of (int, str)
    tell : callable
        Called after each.
    """
    shares, found = moments.counts / moments.total, []
    several = any(size > 1 for size, _ in asked)
    hierarchies = class_hierarchies(moments, x, codes, weights) if several else None
    for size, form in asked:
        k = moments.n_classes
        fit = fit_mixture(
            moments, x, codes, weights, shares,
            forms=[form] * k, sizes=[size] * k, together=True, plan=plan, hierarchies=hierarchies,
            rows_too=False,
        )  # fmt: skip
        tell(1)
        if isinstance(fit, Degenerate):
            found.append(Tried(size, form, 0, np.nan, np.nan))
            continue
        found.append(_tried(fit, size, form))
    return found


def _tried(fit: MixtureFit, size: int, form: str) -> Tried:
    df, llf = fit.df_given(), fit.llf_given
    return Tried(size, form, df, llf, float(df * np.log(fit.moments.total) - 2 * llf))


class _Group(NamedTuple):
    """Classes that are fitted together: their rows and components in the frames of all rows."""

    rows: list[ClassRows]
    held: Components
    frames: Frames


def left_out(fit: MixtureFit, log_prior: Floats, x: Floats, codes: Codes, weights: Floats | None) -> LeftOut:
    """Scores of rows of the fit under the rule without each of them.

    Parameters
    ----------
    log_prior : (K,) float
    x : (n, p) float
        All rows of the fit, with their classes `codes` (n,) and `weights` (n,), if any.
    """
    every = rows_by_class(x, codes, weights, fit.moments.centres, fit.scale)
    rows_of = [x[codes == k] for k in range(len(log_prior))]
    if fit.together:
        groups = [_group(every, fit.components, fit.forms[0])] * len(every)
    else:
        groups = [_group([row], of_class(fit.components, k), fit.forms[k]) for k, row in enumerate(every)]

    def scores(rows: Floats, own: Codes, times: Floats | None) -> Floats:
        found = np.empty((len(rows), len(log_prior)))
        for i, (row, k) in enumerate(zip(rows, own.tolist(), strict=True)):
            at = int(np.argmax((rows_of[k] == row).all(axis=1)))
            found[i] = _without(fit, log_prior, groups[k], k, at, row)
        return found

    return scores


def _group(plain: list[ClassRows], held: Components, form: str) -> _Group:
    frames = frames_of(plain, form)
    return _Group(rows_in_frames(plain, frames), in_frames(held, frames), frames)


def _without(fit: MixtureFit, log_prior: Floats, group: _Group, k: int, at: int, row: Floats) -> Floats:
    """Scores (K,) of one row; missing where a component is lost without it."""
    rows, held, frames = group
    own = k if fit.together else 0
    less = rows[own].weights.copy()
    less[at] -= min(1.0, less[at])
    if not less.any():
        return np.full(len(log_prior), np.nan)
    rows = [*rows[:own], ClassRows(rows[own].z, less), *rows[own + 1 :]]
    found = maximized(held, rows, fit.forms[k], tol=fit.how.tol, maxiter=fit.how.maxiter)
    if isinstance(found, Degenerate):
        return np.full(len(log_prior), np.nan)
    found = out_of_frames(found, rows, frames)
    held = found if fit.together else _with_class(fit.components, k, found)
    return np.asarray(replace(fit, components=held).rule(log_prior).scores(row[None])[0])


def _with_class(held: Components, k: int, found: Components) -> Components:
    """The components with others in the place of those of a class."""
    at = held.places()[k]
    shares, means = held.shares.copy(), held.means.copy()
    shares[at], means[at] = found.shares, found.means
    covariances = (*held.covariances[: at.start], *found.covariances, *held.covariances[at.stop :])
    return replace(held, shares=shares, means=means, covariances=covariances)
