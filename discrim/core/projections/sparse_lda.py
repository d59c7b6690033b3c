"""The numbers of a sparse discriminant analysis, and the pure function that fits them.

The directions are those of sparse optimal scoring (see `sparse_scoring`). The rule is the linear discriminant
analysis of the scores of the rows on them, divisor N - K, as in Clemmensen, Hastie, Witten & Ersboll (2011,
Technometrics 53, 406-413) and R's sparseLDA; so it is linear in the columns that a direction has selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats, Mask, are_whole
from discrim.core.projections import sparse_scoring
from discrim.core.projections.sparse_scoring import Direction, Problem
from discrim.core.rules.gaussian import Means, nearest_mean_rule
from discrim.core.rules.rules import LinearRule, NoLikelihood, refuse_method
from discrim.core.scatter.covariance import EPS, constant_columns
from discrim.core.scatter.principal import positive_signs
from discrim.errors import DataError

By = Literal["penalty", "nonzero"]

NO_SPREAD = 64 * EPS
"""Share of a direction's own spread that is none, within classes and beside other directions."""


@dataclass(frozen=True, slots=True)
class SparseFit(NoLikelihood):
    """The numbers of a sparse discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        Pooled, with a root of few rows where these are fewer than the columns.
    by, tuning : {"penalty", "nonzero"}, tuple of float
        Penalties, or numbers of columns, one for each direction that there can be.
    sd : (p,) float
        Standard deviations over all rows, divisor N, in z; of a constant column one.
    class_scores : (K, r) float
        Optimal scores of the classes: mean zero and mean square one over the rows, uncorrelated.
    coef : (p, r) float
        Coefficients of the columns over their standard deviations over all rows (divisor N). Signs: in each
        direction the largest coefficient, standardized within classes, is positive.
    penalties : (r,) float
        At which each direction was found.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    by: By
    tuning: tuple[float, ...]
    ridge: float
    ncomp: int | None
    sd: Floats
    class_scores: Floats
    coef: Floats
    penalties: Floats

    has_distances = False
    no_likelihood = (
        "A sparse discriminant analysis does not maximise a likelihood: compare by error_rates(['cv'])."
    )
    no_parameters = (
        "A sparse discriminant analysis has no count of free parameters, nor AIC and BIC: compare by "
        "error_rates(['cv'])."
    )

    @property
    def divisor(self) -> float:
        """N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def penalty(self) -> float | None:
        """The penalty of all directions; None where each has its own, or its number of columns."""
        return self.tuning[0] if self.by == "penalty" and len(set(self.tuning)) == 1 else None

    @property
    def most(self) -> int:
        """The number of directions that there can be."""
        return _most(self.moments, self.ncomp)

    def selected(self) -> Mask:
        """Which columns (p, r) have a part in each direction."""
        return np.asarray(self.coef != 0)

    def directions(self) -> Floats:
        """Directions (p, r) as coefficients of z."""
        return np.asarray(self.coef / self.sd[:, None])

    def root(self) -> Floats:
        """Upper triangular root (r, r) of the covariance within classes of the rows' scores."""
        used = np.flatnonzero(self.coef.any(axis=1))
        some = self.directions()[used]
        if self.moments.roots is not None:
            rows = self.moments.roots[0][:, used] @ some
            return np.asarray(np.linalg.qr(rows / np.sqrt(self.divisor), mode="r"))
        spread = some.T @ self.moments.scatters[0][np.ix_(used, used)] @ some / self.divisor
        sd = np.sqrt(np.diagonal(spread))
        return np.asarray(np.linalg.cholesky(spread / sd / sd[:, None]).T * sd)

    def is_singular(self) -> bool:
        """Whether a direction has no variance within classes, or none beside the others."""
        if not self.coef.shape[1]:
            return False
        try:
            root = self.root()
        except np.linalg.LinAlgError:
            return True
        if len(root) < self.coef.shape[1] or not np.isfinite(root).all():
            return True
        shares = self.moments.counts / self.moments.total
        between = np.abs(self.class_scores.T @ (shares[:, None] * (self.moments.means @ self.directions())))
        sizes = np.maximum(np.sqrt((root**2).sum(axis=0)), np.diagonal(between))
        return bool((np.abs(np.diagonal(root)) <= NO_SPREAD * sizes).any())

    def scaling(self) -> Floats:
        """Directions (p, r) of unit variance within classes, as coefficients of z."""
        if not self.coef.shape[1]:
            return self.directions()
        return np.asarray(self.directions() / np.sqrt((self.root() ** 2).sum(axis=0)))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The decision rule under a prior (K,)."""
        refuse_method(method, "is not defined for sparse directions")
        axes, moments = self.directions(), self.moments
        root = self.root() if axes.shape[1] else np.zeros((0, 0))

        def whiten(z: Floats) -> Floats:
            return np.asarray(solve_triangular(root, axes.T @ z, trans=1)) if len(root) else axes.T @ z

        def unwhiten(y: Floats) -> Floats:
            return np.asarray(axes @ solve_triangular(root, y)) if len(root) else axes @ y

        means = Means(moments.centres, moments.rests, moments.scale, whiten, unwhiten)
        return nearest_mean_rule(means, moments.origin, log_prior)

    def refit(self, moments: ClassMoments) -> SparseFit | None:
        """The same of other rows, with the same prior and tuning; None where there is no rule."""
        if (moments.rows < 1).any() or moments.total <= moments.n_classes:
            return None
        try:
            fit = fit_sparse(
                moments, self.prior, by=self.by, tuning=self.tuning, ridge=self.ridge, ncomp=self.ncomp,
                estimated_prior=self.estimated_prior,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            return None
        return None if fit.is_singular() else fit

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps of the fit beside its moments."""
        return {
            "asked": np.array(self.tuning),
            "class_scores": self.class_scores,
            "coef": self.coef,
            "sd": self.sd,
            "penalties": self.penalties,
        }


def _most(moments: ClassMoments, ncomp: int | None) -> int:
    most = min(moments.n_classes - 1, moments.n_columns)
    return most if ncomp is None else min(most, ncomp)


def fit_sparse(
    moments: ClassMoments,
    prior: Floats,
    *,
    by: By,
    tuning: Sequence[float],
    ridge: float = 0.0,
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> SparseFit:
    """Fit from moments, pooled or with a root of few rows, of more rows than classes.

    Where a direction has neither penalty nor ridge the columns are independent. There are `ncomp` directions
    at the most.

    Raises
    ------
    LinAlgError
        The columns are not independent, and nothing is left out.
    """
    problem, most = Problem.of(moments, ridge), _most(moments, ncomp)
    if by == "penalty":
        directions = sparse_scoring.directions_at(problem, [float(each) for each in tuning], most)
    else:
        directions = sparse_scoring.directions_with(problem, [int(each) for each in tuning], most)
    options = by, tuple(float(each) for each in tuning), ridge, ncomp
    return SparseFit(moments, prior, estimated_prior, *options, *_standardized(moments, problem, directions))


def _standardized(
    moments: ClassMoments, problem: Problem, directions: list[Direction]
) -> tuple[Floats, Floats, Floats, Floats]:
    """What a fit has of directions: standard deviations, class scores, coefficients and penalties."""
    p, k = moments.n_columns, moments.n_classes
    coef, scores = np.zeros((p, len(directions))), np.zeros((k, len(directions)))
    # In the layout that a file gives back, so that products are rounded as of a loaded fit.
    for j, each in enumerate(directions):
        coef[:, j], scores[:, j] = each.coef.dense(p), each.scores
    within = np.sqrt(moments.squares.sum(axis=0) / moments.total) / problem.sd
    signs = positive_signs(coef * within[:, None])
    scores = scores * signs / problem.roots[:, None]
    # A zero has no sign.
    coef = np.where(coef == 0, 0.0, coef * signs)
    return problem.sd, scores, coef, np.array([each.penalty for each in directions])


def along(
    moments: ClassMoments,
    prior: Floats,
    penalties: Floats,
    *,
    ridge: float,
    ncomp: int | None,
    estimated_prior: bool = True,
) -> list[SparseFit]:
    """Fits at each of falling penalties, the same for all directions; each begins where the last ended."""
    problem, most = Problem.of(moments, ridge), _most(moments, ncomp)
    path = zip(penalties.tolist(), sparse_scoring.sparse_path(problem, penalties, most), strict=True)
    return [
        SparseFit(
            moments, prior, estimated_prior, "penalty", (penalty,) * most, ridge, ncomp,
            *_standardized(moments, problem, directions),
        )
        for penalty, directions in path
    ]  # fmt: skip


def top_penalty(moments: ClassMoments) -> float:
    """The least penalty that leaves no column: the largest correlation ratio of a column and the classes."""
    means, shares = moments.means, moments.counts / moments.total
    anchor = means[int(np.argmax(moments.counts))]
    mean = anchor + shares @ (means - anchor)
    sd = np.sqrt(moments.squares.sum(axis=0) / moments.total + shares @ (means - mean) ** 2)
    sd[constant_columns(moments)] = 1.0
    gaps = np.sqrt(shares)[:, None] * (means - mean) / sd
    return float(np.sqrt((gaps**2).sum(axis=0)).max())


def sparse_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    estimated_prior: bool,
    by: By,
    ridge: float,
    ncomp: int | None,
    asked: Floats,
    class_scores: Floats,
    coef: Floats,
    sd: Floats,
    penalties: Floats,
) -> SparseFit:
    """The fit that `SparseFit.buffers` and its options are of.

    Raises
    ------
    DataError
        They do not go together.
    """
    most = _most(moments, ncomp)
    if by not in ("penalty", "nonzero") or not 0 <= ridge < np.inf or (ncomp is not None and ncomp < 1):
        raise DataError("its directions were asked for by nothing that is known")
    right = are_whole(asked, 1.0) if by == "nonzero" else bool((asked >= 0).all())
    if not right or len(asked) != most:
        raise DataError("its penalties, or numbers of columns, are none")
    shapes = {len(penalties), class_scores.shape[1], coef.shape[1]}
    if len(shapes) != 1 or len(penalties) > most or not (penalties >= 0).all():
        raise DataError("its directions are not as many as their penalties and scores")
    if not coef.any(axis=0).all():
        raise DataError("its directions are not all of some column")
    if not (sd > 0).all():
        raise DataError("its standard deviations are not above zero")
    fit = SparseFit(
        moments, prior, estimated_prior, by, tuple(asked.tolist()), ridge, ncomp, sd, class_scores, coef,
        penalties,
    )  # fmt: skip
    if fit.is_singular():
        raise DataError("its directions do not all vary within classes")
    return fit
