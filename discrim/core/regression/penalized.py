"""The numbers of a penalized logistic regression, and the pure functions that fit them.

Minimized is, as by glmnet (Friedman, Hastie & Tibshirani, 2010, Journal of Statistical Software 33(1)),

    -1/N sum_i w_i log P(y_i | x_i) + lambda ((1 - a)/2 |b|^2 + a |b|_1),

w the weights, N their sum, b the coefficients of columns over their standard deviations (divisor N), all but
the constants. Of two classes b are the log odds of the second against the first; of more each class has its
own (the symmetric parametrization): the penalty leaves nothing undetermined but the constants, which are made
to sum to zero, and by the lasso, of an even number of classes, see `_centred`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.regression.proximal_newton import Ended, Likelihood, ProximalNewton
from discrim.core.rules.rules import LinearRule

PATH_TOLERANCE = 1e-5
"""Violation of the conditions, in units of lambda, at which a search along a path ends."""

ON_THE_WAY = 1e-2
"""The same on the way to a strength that is given."""

STEP = 0.4
"""Ratio of two strengths on the way to one that is given."""

EXPLAINED = 0.999
GAINED = 1e-5
LATELY = 5
"""Share of the deviance at which a path of our own ends, or the gain of the last strengths, as glmnet's."""


class StandardColumns(NamedTuple):
    """Coordinates of columns (p,) of mean zero and variance one: ((x - centre) scale - mean) / sd."""

    centre: Floats
    mean: Floats
    scale: Floats
    sd: Floats

    @classmethod
    def of(cls, moments: ClassMoments) -> StandardColumns:
        """Those of all rows, divisor N."""
        means = moments.means
        total = moments.total
        anchor = means[int(np.argmax(moments.counts))]
        mean = anchor + (moments.counts / total) @ (means - anchor)
        squares = moments.squares.sum(axis=0) + moments.counts @ (means - mean) ** 2
        return cls(moments.origin, mean, moments.scale, np.sqrt(squares / total))

    def columns(self, x: Floats, out: Floats) -> None:
        """Write rows (m, p) as columns (p, m)."""
        out[:] = x.T
        out -= self.centre[:, None]
        out *= self.scale[:, None]
        out -= self.mean[:, None]
        out /= self.sd[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class PenalizedFit:
    """The numbers of a penalized logistic regression, of a strength lambda and an l1_ratio a.

    Coefficients (C, p + 1) are of standardized columns, the constants first. They are shown against the
    reference class, on which the fit does not depend. The loss is the mean negative log-likelihood, and the
    violation that of the conditions of a minimum, in units of lambda.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    reference: int
    penalty: str
    strength: float
    l1_ratio: float
    beta: Floats
    loss: float
    violation: float
    steps: int

    has_distances = False

    def validate(self) -> None:
        """Raise InvalidStateError if the share of the lasso is not that of the penalty."""
        share = self.l1_ratio
        is_valid = {"ridge": share == 0, "lasso": share == 1, "elastic_net": 0 < share < 1}
        if not is_valid.get(self.penalty, False) or not self.strength > 0 or self.steps < 0:
            raise InvalidStateError("its penalty is none")

    @property
    def chosen_penalty(self) -> dict[str, float]:
        """The strength by its name, which rows may choose."""
        return {"strength": self.strength}

    @property
    def others(self) -> list[int]:
        """The classes but the reference."""
        return [k for k in range(self.moments.n_classes) if k != self.reference]

    def of_classes(self, keep: Codes) -> PenalizedFit:
        """The options of some classes (C,), searched for from zero; the first replaces a lost reference."""
        return replace(self, reference=int(np.argmax(keep == self.reference)), beta=self.beta[:, :0])

    @property
    def by_class(self) -> Floats:
        """Coefficients (p + 1, K) of standardized columns; of two classes those of the first are zero."""
        if len(self.beta) == 1:
            return np.column_stack([np.zeros(self.beta.shape[1]), self.beta[0]])
        return self.beta.T

    def class_params(self) -> Floats:
        """Coefficients (p + 1, K) by class in the units of the data, the constants first."""
        standard = StandardColumns.of(self.moments)
        beta = self.by_class
        slopes = beta[1:] / standard.sd[:, None]
        in_data = slopes * standard.scale[:, None]
        constants = beta[0] - standard.mean @ slopes - standard.centre @ in_data
        if len(self.beta) > 1:
            # Nothing but their differences is determined.
            constants -= constants.mean()
        return np.vstack([constants, in_data])

    def params(self) -> Floats:
        """Coefficients (p + 1, K - 1) against the reference, in the units of the data."""
        whole = self.class_params()
        return np.asarray(whole[:, self.others] - whole[:, [self.reference]])

    def nonzero(self) -> int:
        """Coefficients that are not zero, without the constants."""
        return int(np.count_nonzero(self.beta[:, 1:]))

    def explained(self) -> float:
        """Share of the deviance of the class proportions that the fit takes away."""
        return 1 - self.loss / null_loss(self.moments.counts)

    def llnull(self) -> float:
        """Log-likelihood of the class proportions alone."""
        return -null_loss(self.moments.counts) * self.moments.total

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The decision rule under a prior (K,): the constants move by its log odds against the rows' own."""
        standard = StandardColumns.of(self.moments)
        beta = self.by_class
        coef = beta[1:] / standard.sd[:, None]
        shift = log_prior - np.log(self.moments.counts / self.moments.total)
        intercept = beta[0] - standard.mean @ coef + shift
        return LinearRule(standard.centre, standard.scale, coef, intercept)

    def at(self, ended: Ended, strength: float) -> PenalizedFit:
        """The same fit where the search at a strength ended."""
        beta, loss, violation, steps, _ = ended
        beta = _centred(beta, self.l1_ratio)
        return replace(self, strength=strength, beta=beta, loss=loss, violation=violation, steps=steps)


def null_loss(counts: Floats) -> float:
    """Mean negative log-likelihood of the class proportions alone."""
    shares = counts / counts.sum()
    return float(-(shares @ np.log(shares)))


def standard_rows(blocks: RowBlocks, moments: ClassMoments) -> Likelihood:
    """The rows that moments are of, standardized and in memory."""
    standard = StandardColumns.of(moments)
    n = int(moments.rows.sum())
    z = np.empty((moments.n_columns + 1, n))
    z[0] = 1.0
    codes = np.empty(n, dtype=np.intp)
    weights = np.ones(n)
    first = 0
    for x, some_codes, some_weights in blocks:
        if some_weights is not None and not (some_weights > 0).all():
            used = some_weights > 0
            x = x[used]
            some_codes = some_codes[used]
            some_weights = some_weights[used]
        at = slice(first, first + len(x))
        standard.columns(x, z[1:, at])
        codes[at] = some_codes
        if some_weights is not None:
            weights[at] = some_weights
        first += len(x)
    return Likelihood(z, codes, weights / weights.sum(), moments.n_classes)


class _Spanned(NamedTuple):
    """A likelihood in coordinates of the space that the rows span, and the way there and back.

    The basis (p, r) is orthonormal, and None where the columns are as they were.
    """

    model: Likelihood
    basis: Floats | None

    def back(self, beta: Floats) -> Floats:
        """Coefficients (C, p + 1) of the columns, from those (C, r + 1) in the coordinates."""
        return beta if self.basis is None else np.hstack([beta[:, :1], beta[:, 1:] @ self.basis.T])

    def into(self, beta: Floats) -> Floats:
        """The opposite."""
        return beta if self.basis is None else np.hstack([beta[:, :1], beta[:, 1:] @ self.basis])


def _spanned(model: Likelihood, l1_ratio: float) -> _Spanned:
    """The rows in coordinates of their space where they are few: a ridge is the same in all rotations."""
    if l1_ratio or len(model.z) - 1 <= len(model.codes):
        return _Spanned(model, None)
    basis, rows = qr(model.z[1:], mode="economic", check_finite=False)
    z = np.concatenate([model.z[:1], rows])
    return _Spanned(replace(model, z=z), basis)


def strengths_of(model: Likelihood, l1_ratio: float, count: int) -> Floats:
    """Strengths (L,) from the least that leaves no coefficient, evenly spaced in logarithms, as glmnet's."""
    top = ProximalNewton(model, l1_ratio, PATH_TOLERANCE, 0).largest()
    least = 1e-4 if len(model.codes) >= len(model.z) - 1 else 1e-2
    return np.asarray(top * least ** np.linspace(0, 1, count))


def penalized_path(
    model: Likelihood,
    l1_ratio: float,
    strengths: Floats,
    maxiter: int,
    *,
    ends: bool = False,
    like: Sequence[Ended] = (),
    progress: Callable[[float], object] = lambda share: None,
) -> list[Ended]:
    """Where the searches at falling strengths (L,) ended, after `maxiter` steps at most; each is told.

    The path may end where there is next to nothing left to explain. A ridge begins where the last step of the
    path leads once more, or that of another path of nearly the same rows.
    """
    spanned = _spanned(model, l1_ratio)
    search = ProximalNewton(spanned.model, l1_ratio, PATH_TOLERANCE, maxiter)
    path: list[Ended] = []
    explained: list[float] = []
    for place, strength in enumerate(strengths.tolist()):
        if not l1_ratio and place and (like or place > 1):
            before, last = (like[place - 1], like[place]) if like else path[-2:]
            search.try_from(search.beta + spanned.into(last.beta - before.beta), strength)
        ended = search.minimize(strength)
        path.append(ended._replace(beta=spanned.back(ended.beta)))
        explained.append(1 - ended.loss / search.null_loss)
        progress(1)
        if ends and len(path) > LATELY:
            gained = explained[-1] - explained[-1 - LATELY]
            if explained[-1] > EXPLAINED or gained < GAINED * explained[-1]:
                break
    return path


def fit_at(
    model: Likelihood,
    l1_ratio: float,
    strength: float,
    *,
    tol: float,
    maxiter: int,
    start: Floats | None = None,
) -> Ended:
    """Where the search at one strength ends, that goes on until rounding stops it.

    It begins at coefficients (C, p + 1), or comes along larger strengths.
    """
    spanned = _spanned(model, l1_ratio)
    search = ProximalNewton(spanned.model, l1_ratio, tol, maxiter)
    if start is not None:
        search.begin(spanned.into(start))
    else:
        # What is smooth is reached from anywhere; of the lasso few coefficients enter at a time.
        at = search.largest() if l1_ratio else strength
        while at * STEP > strength:
            at *= STEP
            search.minimize(at, tol=ON_THE_WAY)
    ended = search.minimize(strength, polish=True)
    return ended._replace(beta=spanned.back(ended.beta))


def refitted(
    fit: PenalizedFit, moments: ClassMoments, model: Likelihood, maxiter: int
) -> PenalizedFit | None:
    """The same penalty of other rows; None where a class has none, or the search does not end."""
    if not (moments.counts > 0).all():
        return None
    start = fit.beta if fit.beta.shape[1] == len(model.z) else None
    ended = fit_at(model, fit.l1_ratio, fit.strength, tol=1e-8, maxiter=maxiter, start=start)
    return replace(fit, moments=moments).at(ended, fit.strength) if ended.converged else None


def _centred(beta: Floats, l1_ratio: float) -> Floats:
    """Coefficients (C, p + 1) of which the penalty leaves one choice.

    By the lasso alone, all classes' coefficients of a column may be moved by one number as long as as many
    are above zero as are below it. Of an even number of classes, of the two that lie in the middle one is
    then brought to zero: that by which the sum of squares is less.
    """
    if len(beta) == 1:
        return beta
    beta = beta.copy()
    beta[:, 0] -= beta[:, 0].mean()
    if l1_ratio < 1 or len(beta) % 2:
        return beta
    ordered = np.sort(beta[:, 1:], axis=0)
    middle = ordered[len(beta) // 2 - 1 : len(beta) // 2 + 1]
    sizes = [((beta[:, 1:] - each) ** 2).sum(axis=0) for each in middle]
    shift = np.where(sizes[0] <= sizes[1], middle[0], middle[1])
    beta[:, 1:] -= shift
    return beta


def scores_along(ends: Sequence[Ended], z: Floats) -> Floats:
    """Functions (L, C, m) of columns (p + 1, m) at each of the ends of a path."""
    out = np.empty((len(ends), len(ends[0].beta), z.shape[1]))
    for place, ended in enumerate(ends):
        used = np.flatnonzero(ended.beta.any(axis=0))
        out[place] = ended.beta[:, used] @ z[used]
    return out
