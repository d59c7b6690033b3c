"""Posteriors that come true: a map from the scores of a rule to log posteriors, learnt from left-out scores.

A rule that was fitted to rows is surer of these rows than of others, and the more so the fewer rows it had;
independence that columns do not have, and normal tails, add to it. What a rule says of rows that it did not
see tells how far. With t_k the lead of class k over the best class of a row, zero or negative, the maps are

    temperature   log p_k = s t_k                              one slope (Guo et al., 2017, ICML, 1321-1330)
    vector        log p_k = s t_k + b_k                        of two classes Platt's (1999)
    multinomial   log p_k = sum_j W_kj (t_j - mean of t) + b_k
    dirichlet     log p_k = sum_j W_kj ln q_j + b_k            q the posteriors of the temperature (Kull et
                                                               al., 2019, NeurIPS 32, 12295-12305)

up to a number that the classes of a row share. Where the scores contain the log of a prior, a_k, the
temperature is one of log densities beside it, s (t_k - a_k) + a_k, as it is these that estimates spoil, and
the others shrink to that. Without one, or with equal ones, it leaves every label as it is.

*Few rows, and classes that are told apart without error.* The slope of the temperature maximizes l(s) + ln
I(s) / 2 over s >= 0, I the information of all rows: the prior of Jeffreys, which takes the bias of order 1/n
from the maximum of the likelihood and has a maximum always (Firth, 1993, Biometrika 80, 27-38). Where n rows
are all right, and alike, the error that is left is 1/(2n). Platt's targets do as much for one size of lead,
but rows far from the border, which they call wrong with a chance of 1/(n + 2) like all others, would then
decide on the slope. The other maps have Jeffreys' prior too, and a ridge towards the temperature: a normal
prior of each parameter around its value there, which moves the log odds of a usual row by one.

*Leads that are too large.* A row of a wrong class that is thousands ahead, as an outlier is under normal
densities, would alone make every row unsure. Leads are taken as no larger than a ceiling c, t_k = max(t_k,
-c), of those that halve the largest one, where this raises the likelihood more than a test of one parameter
at five percent lets by chance. A class that the rule holds impossible, a score of minus infinity, is at the
ceiling. One that it holds impossible for every row, as of a prior of zero, stays so. If a class that is
possible has no rows, the map is the temperature, which needs none of each class.

*The choice.* Each row's loss by the map without it is approximated by one step of Newton's method from the
map of all rows, in which the row is left out of gradient and Hessian (Rad & Maleki, 2020, Journal of the
Royal Statistical Society B 82, 965-996). Of the maps, the first in the order above is taken whose mean log
loss exceeds the least by no more than one standard error of the difference of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import scipy

from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices

Kind = Literal["temperature", "vector", "multinomial", "dirichlet"]

KINDS: tuple[Kind, ...] = ("temperature", "vector", "multinomial", "dirichlet")
"""The maps, the simplest first."""

MIXING: tuple[Kind, ...] = ("multinomial", "dirichlet")
"""Those in which the score of a class moves the posteriors of the others apart."""

LARGEST_LEAD = 1e8
"""Times the median lead of the best class over the next beyond which leads are all the same."""

GAINED = 1.92
"""Log-likelihood that a ceiling has to gain: half of the chi-square of one degree of freedom at 5 percent."""

QUICK = 2.0**29
"""Products of a step beyond which a map is not among those to choose from."""

MOST = 500
"""Parameters of a map beyond which it is refused."""

PIECE = 2**21
"""Numbers of a design that are held at once."""

LARGEST_LOG = 40.0
"""Logarithm of a slope, for leads in their unit, beyond which it is zero or infinite."""

STEPS = 60
"""Most steps of Newton's method; about eight are enough."""

NEAR = 1e-9
"""Length of a step, in standard errors and over the root of the rows, at which the search ends."""

ROUNDED = 1e-12
"""Share of the log-likelihood by which it may seem to fall because its sum is rounded."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibrator:
    """A map from scores (m, K) of a rule to calibrated log posteriors, up to a number a row.

    Attributes
    ----------
    kind : {"temperature", "vector", "multinomial", "dirichlet"}
    slope : float
        What the leads are multiplied by.
    ceiling : float
        The lead beyond which leads are all the same.
    mixing : (K, K) float
        What the centred leads, or the log posteriors, times the slope are multiplied by; the identity for
        kinds that do not mix classes.
    intercepts : (K,) float
        Minus infinity for a class that is impossible for every row.
    """

    kind: Kind
    slope: float
    ceiling: float
    mixing: Floats
    intercepts: Floats

    @property
    def mixes(self) -> bool:
        """Whether there is a matrix."""
        return self.kind in MIXING

    def of_classes(self, keep: Codes) -> Calibrator:
        """The same map for the classes at some positions (C,)."""
        return replace(self, mixing=self.mixing[np.ix_(keep, keep)], intercepts=self.intercepts[keep])

    def scores(self, scores: Floats) -> Floats:
        """Log posteriors (m, K) up to a number a row; a row impossible in every class stays so."""
        there: Mask = np.greater(self.intercepts, -np.inf)
        impossible = np.isneginf(scores[:, there]).all(axis=1)
        with np.errstate(invalid="ignore"):
            leads = _leads(scores[:, there], self.ceiling) * self.slope
        out = np.full(scores.shape, -np.inf)
        if self.mixes:
            leads = _FEATURES[self.kind](leads) @ self.mixing[np.ix_(there, there)].T
        out[:, there] = leads + self.intercepts[there]
        out[impossible] = -np.inf
        return out


def fit_calibrator(
    scores: Floats,
    codes: Codes,
    weights: Floats | None = None,
    kind: Kind | Literal["auto"] = "auto",
    *,
    log_prior: Floats | None = None,
    penalized: bool = True,
) -> Calibrator:
    """The map from scores (n, K) of rows that the rule did not see, of classes (n,), to posteriors.

    Rows without a score (NaN) or a class (-1), and rows that are impossible in every class, are left out.
    Frequency weights (n,) are so many rows. A log prior (K,) is what the scores contain of one. Without the
    penalties it is the maximum of the likelihood, with no ceiling; a NotSupportedError says that there is
    none, as where no row is wrong. A DataError refuses scores of no row, and scores that are infinitely
    large.

    Examples
    --------
    >>> lead = np.repeat([8.0, 4.0, -4.0, -8.0], 25)
    >>> right = np.tile(np.arange(25) < 20, 4)
    >>> found = fit_calibrator(np.column_stack([lead, 0 * lead]), np.where(right, lead < 0, lead > 0) * 1)
    >>> found.kind, round(found.slope, 3)
    ('temperature', 0.212)
    """
    scores, codes, weights = _usable(scores, codes, weights)
    there: Mask = np.asarray(~np.isneginf(scores).all(axis=0))
    k = int(there.sum())
    own = np.cumsum(there)[codes] - 1
    leads = _leads(scores[:, there], np.inf)
    base = np.zeros(k) if log_prior is None else log_prior[there]
    slope, ceiling = _tempered(leads, base, own, weights, penalized=penalized)
    rows = _Rows(_leads(leads, ceiling) * slope, own, weights)
    intercepts = np.full(len(there), -np.inf)
    # s (t - a) + a, with a the log prior.
    intercepts[there] = base * (1 - slope)
    tempered = Calibrator("temperature", slope, ceiling, np.eye(len(there)), intercepts)
    if kind == "temperature" or k == 1 or (kind == "auto" and not np.bincount(own, weights, k).all()):
        # Of a class without rows the other maps would learn that it never occurs.
        return tempered
    if kind != "auto":
        family = _family(kind, intercepts[there])
        if len(family.centre) > MOST:
            raise CoreNotSupportedError(
                "many_calibration_parameters", kind=kind, n_classes=k, n_parameters=len(family.centre)
            )
        return _expanded(tempered, kind, family.fitted(rows, penalized=penalized)[0], there)
    return _chosen(tempered, rows, base, there, penalized=penalized)


def _usable(scores: Floats, codes: Codes, weights: Floats | None) -> tuple[Floats, Codes, Floats]:
    weights = np.ones(len(codes)) if weights is None else weights
    with np.errstate(invalid="ignore"):
        used = (codes >= 0) & (weights > 0) & (scores.max(axis=1, initial=-np.inf) > -np.inf)
    if not used.any():
        raise CoreDataError("nothing_to_calibrate")
    scores = scores[used]
    codes = codes[used]
    weights = weights[used]
    if np.isposinf(scores).any():
        raise CoreDataError("infinite_scores", n_rows=int(np.isposinf(scores).any(axis=1).sum()))
    # A class that is impossible for every other row, and for the rows that have it.
    lost: Mask = np.asarray(np.isneginf(scores).all(axis=0))[codes]
    if lost.all():
        raise CoreDataError("impossible_rows")
    return scores[~lost], codes[~lost], weights[~lost]


def _leads(scores: Floats, ceiling: float) -> Floats:
    """Scores (m, K) less the largest of the row, none below minus the ceiling."""
    with np.errstate(over="ignore"):
        return np.asarray(np.maximum(scores - scores.max(axis=1, keepdims=True), -ceiling))


# ---- the temperature


def _tempered(
    leads: Floats, base: Floats, codes: Codes, weights: Floats, *, penalized: bool
) -> tuple[float, float]:
    """Slope and ceiling of leads (n, K), which contain a log prior (K,)."""
    if leads.shape[1] == 1:
        return 1.0, 1.0
    finite = -leads[np.isfinite(leads)]
    ahead = -np.partition(leads, -2, axis=1)[:, -2]
    ahead = ahead[np.isfinite(ahead) & (ahead > 0)]
    unit = float(np.median(ahead)) if len(ahead) else float(finite.max(initial=0.0))
    if not unit > 0:
        # Of a rule that never tells classes apart, or only by what is impossible.
        unit = 1.0
        ceiling = 1.0
    else:
        ceiling = min(max(float(finite.max()), unit), LARGEST_LEAD * unit)
    best = _slope((_leads(leads, ceiling) - base) / unit, base, codes, weights, 0.0, penalized=penalized)
    chosen = ceiling
    most = best[1] + GAINED
    lower = ceiling / 2
    while penalized and lower >= unit:
        start = float(np.log(best[0])) if best[0] > 0 else 0.0
        found = _slope((_leads(leads, lower) - base) / unit, base, codes, weights, start, penalized=True)
        if found[1] > most:
            best = found
            chosen = lower
            most = found[1]
        lower /= 2
    return best[0] / unit, chosen


def _slope(
    leads: Floats, base: Floats, codes: Codes, weights: Floats, start: float, *, penalized: bool
) -> tuple[float, float]:
    """The slope of leads (n, K) beside a log prior (K,), in their unit, and its log-likelihood.

    Its logarithm is sought from a start.
    """
    leads = leads - leads.max(axis=1, keepdims=True)
    own = leads[np.arange(len(codes)), codes]
    prior = np.exp(base - base.max())

    def score(log_slope: float) -> float:
        # The largest lead of a row is zero.
        shares = np.exp(leads * np.exp(log_slope)) * prior
        shares /= shares.sum(axis=1, keepdims=True)
        mean = np.einsum("ik,ik->i", shares, leads)
        gradient = float(weights @ (own - mean))
        if not penalized:
            return gradient
        off = leads - mean[:, None]
        shares *= off
        shares *= off
        information = float(weights @ shares.sum(axis=1))
        if not information > 0:
            return -1.0
        return gradient + 0.5 * float(np.einsum("i,ik,ik->", weights, shares, off)) / information

    def likelihood(slope: float) -> float:
        logs = np.log(np.exp(leads * slope) @ prior)
        return float(weights @ (own * slope + np.log(prior)[codes] - logs))

    if not leads.any():
        return 1.0, likelihood(1.0)
    low = high = start
    step = 0.5
    while score(low) <= 0:
        low, high, step = low - step, low, 2 * step
        if low < -LARGEST_LOG:
            return 0.0, likelihood(0.0)
    step = 0.5
    while low == high or score(high) > 0:
        low, high, step = high, high + step, 2 * step
        if high > LARGEST_LOG or not (penalized or score(high)):
            raise CoreNotSupportedError("no_errors_to_calibrate")
    slope = float(np.exp(scipy.optimize.brentq(score, low, high, xtol=1e-12)))
    return slope, likelihood(slope)


def _shares(scores: Floats) -> tuple[Floats, Floats]:
    """Posteriors (m, K) of scores, and the logarithms (m,) of the sums of their exponentials."""
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - top)
    sums = shares.sum(axis=1, keepdims=True)
    shares /= sums
    return shares, (top + np.log(sums))[:, 0]


# ---- maps of more parameters


class _Rows(NamedTuple):
    """Leads (n, K) times the slope, classes (n,) and weights (n,)."""

    leads: Floats
    codes: Codes
    weights: Floats


def _centred(leads: Floats) -> Floats:
    return np.asarray(leads - leads.mean(axis=1, keepdims=True))


def _logs(leads: Floats) -> Floats:
    return np.asarray(leads - _shares(leads)[1][:, None])


_FEATURES: dict[str, Callable[[Floats], Floats]] = {"multinomial": _centred, "dirichlet": _logs}


class _Family(NamedTuple):
    """A map that is linear in its parameters.

    It has the design (m, K, P) of leads, and the parameters (P,) that make it the temperature.
    """

    design: Callable[[Floats], Floats]
    centre: Floats

    def pieces(self, rows: _Rows) -> Iterator[tuple[slice, Floats]]:
        """Rows with their design (m, K, P), as many at a time as are held."""
        step = max(PIECE // (rows.leads.shape[1] * len(self.centre)), 1)
        for place in slices(len(rows.codes), step):
            yield place, self.design(rows.leads[place])

    def squares(self, rows: _Rows) -> Floats:
        """Mean squares (P,) of the columns of the design of a class, over rows that each have the class."""
        total = np.zeros(len(self.centre))
        for place, design in self.pieces(rows):
            total += rows.weights[place] @ (design**2).max(axis=1)
        return np.asarray(total / rows.weights.sum())

    def likelihood(self, rows: _Rows, at: Floats) -> float:
        """Log-likelihood of parameters (P,)."""
        total = 0.0
        for place, design in self.pieces(rows):
            scores = design @ at
            own = scores[np.arange(len(scores)), rows.codes[place]]
            total += float(rows.weights[place] @ (own - _shares(scores)[1]))
        return total

    def slopes(self, rows: _Rows, at: Floats) -> tuple[Floats, Floats]:
        """Gradient (P,) and information (P, P) of the log-likelihood."""
        p = len(self.centre)
        gradient = np.zeros(p)
        information = np.zeros((p, p))
        for place, design in self.pieces(rows):
            shares = _shares(design @ at)[0]
            mean = np.einsum("ik,ikp->ip", shares, design)
            own = design[np.arange(len(design)), rows.codes[place]]
            weights = rows.weights[place]
            gradient += weights @ (own - mean)
            off = (design - mean[:, None]) * np.sqrt(weights[:, None] * shares)[:, :, None]
            off = off.reshape(-1, p)
            information += off.T @ off
        return gradient, information

    def firths(self, rows: _Rows, at: Floats, inverse: Floats) -> Floats:
        """Gradient (P,) of half the logarithm of the determinant of the information."""
        gradient = np.zeros(len(at))
        for place, design in self.pieces(rows):
            shares = _shares(design @ at)[0]
            spread = (design @ inverse) @ design.transpose(0, 2, 1)
            # The third derivatives of the log-likelihood of a row, contracted.
            own = np.diagonal(spread, axis1=1, axis2=2) - 2 * (spread @ shares[:, :, None])[:, :, 0]
            own = shares * (own - (shares * own).sum(axis=1, keepdims=True))
            gradient += 0.5 * np.einsum("i,ik,ikp->p", rows.weights[place], own, design)
        return gradient

    def fitted(self, rows: _Rows, *, penalized: bool) -> tuple[Floats, Floats]:
        """The parameters (P,) of most penalized likelihood, and the inverse (P, P) of their information."""
        if not penalized:
            return self._most_likely(rows)
        squares = self.squares(rows)
        ridge = np.where(squares > 0, squares, 1.0)
        inverse = self._penalized(rows, ridge, self.centre)[2]
        root = np.linalg.cholesky(inverse)

        def lost(moved: Floats) -> tuple[float, Floats]:
            value, gradient, _ = self._penalized(rows, ridge, self.centre + root @ moved)
            return -value, -(root.T @ gradient)

        # In standard errors of the start, where Newton's step is the gradient.
        near = NEAR * float(np.sqrt(max(rows.weights.sum(), 1.0)))
        found = scipy.optimize.minimize(
            lost, np.zeros(len(ridge)), jac=True, method="BFGS", options={"gtol": near, "maxiter": STEPS}
        )
        at = np.asarray(self.centre + root @ found.x)
        _, gradient, inverse = self._penalized(rows, ridge, at)
        # The search ends where the likelihood is rounded; the gradient has twice the digits.
        for _ in range(STEPS):
            step = inverse @ gradient
            _, slope, after = self._penalized(rows, ridge, at + step)
            if not slope @ after @ slope < gradient @ step / 4:
                break
            at = at + step
            gradient = slope
            inverse = after
        return at, inverse

    def _penalized(self, rows: _Rows, ridge: Floats, at: Floats) -> tuple[float, Floats, Floats]:
        """Penalized log-likelihood, its gradient (P,), and the inverse (P, P) of the information."""
        off = at - self.centre
        gradient, information = self.slopes(rows, at)
        information[np.diag_indices(len(at))] += ridge
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        value = self.likelihood(rows, at) + 0.5 * float(np.linalg.slogdet(information)[1] - ridge @ off**2)
        gradient += self.firths(rows, at, inverse) - ridge * off
        return value, gradient, (inverse + inverse.T) / 2

    def _most_likely(self, rows: _Rows) -> tuple[Floats, Floats]:
        """The same without a penalty, by Newton's method."""
        at = self.centre.copy()
        value = -np.inf
        step: Floats = np.zeros(len(at))
        for _ in range(STEPS):
            # Half the step for as long as it goes down.
            while (found := self.likelihood(rows, at + step)) < value - ROUNDED * abs(value) and step.any():
                step = step / 2
            at = at + step
            value = found
            gradient, information = self.slopes(rows, at)
            # What all classes share moves nothing, and the inverse leaves it where it is.
            inverse: Floats = np.linalg.pinv(information, hermitian=True).astype(np.float64)
            step = inverse @ gradient
            if float(gradient @ step) < NEAR**2 * max(float(rows.weights.sum()), 1.0):
                return at + step, inverse
        raise CoreNotSupportedError("calibration_not_found")

    def left_out(self, rows: _Rows, at: Floats, inverse: Floats) -> Floats:
        """Losses (n,) of rows by the map without one unit of their weight, to one step of Newton's method."""
        losses = np.empty(len(rows.codes))
        k = rows.leads.shape[1]
        for place, design in self.pieces(rows):
            scores = design @ at
            shares = _shares(scores)[0]
            codes = rows.codes[place]
            own = np.arange(len(codes))
            out = np.minimum(rows.weights[place], 1.0)[:, None]
            rest = -shares
            rest[own, codes] += 1.0
            spread = (design @ inverse) @ design.transpose(0, 2, 1)
            # Of the information of a row, diag(p) - pp', from the right.
            leverage = spread * shares[:, None] - (spread @ shares[:, :, None]) * shares[:, None]
            moved = spread @ (out * rest)[:, :, None]
            scores = scores - np.linalg.solve(np.eye(k) - out[:, :, None] * leverage, moved)[:, :, 0]
            losses[place] = _shares(scores)[1] - scores[own, codes]
        return losses


def _family(kind: Kind, intercepts: Floats) -> _Family:
    """The map of a kind, which is the temperature's with these intercepts (K,)."""
    k = len(intercepts)

    def vector(leads: Floats) -> Floats:
        design = np.zeros((len(leads), k, k + 1))
        design[:, :, 0] = leads
        design[:, np.arange(k), 1 + np.arange(k)] = 1.0
        return design

    def mixed(leads: Floats) -> Floats:
        design = np.zeros((len(leads), k, k + 1, k))
        for each in range(k):
            design[:, each, :k, each] = _FEATURES[kind](leads)
            design[:, each, k, each] = 1.0
        return design.reshape(len(leads), k, -1)

    if kind == "vector":
        return _Family(vector, np.append(1.0, intercepts))
    return _Family(mixed, np.append(np.eye(k).ravel(), intercepts))


def _expanded(tempered: Calibrator, kind: Kind, at: Floats, there: Mask) -> Calibrator:
    """The map of parameters (P,) of the classes that are there."""
    k = int(there.sum())
    intercepts = tempered.intercepts.copy()
    mixing = tempered.mixing.copy()
    intercepts[there] = at[-k:] - at[-k:].mean()
    if kind == "vector":
        return replace(tempered, kind=kind, slope=tempered.slope * float(at[0]), intercepts=intercepts)
    # A row of the parameters is a feature, and a row of the matrix a class.
    mixing[np.ix_(there, there)] = at[:-k].reshape(k, k).T
    return replace(tempered, kind=kind, mixing=mixing, intercepts=intercepts)


def _chosen(tempered: Calibrator, rows: _Rows, base: Floats, there: Mask, *, penalized: bool) -> Calibrator:
    """The simplest map whose left-out loss is within a standard error of the least."""
    n, k = rows.leads.shape
    found: list[tuple[Calibrator, Floats]] = []
    for kind in KINDS[1:]:
        family = _family(kind, tempered.intercepts[there])
        p = len(family.centre)
        # Of two classes the multinomial is the vector, with more parameters for the same.
        if (kind == "multinomial" and k == 2) or p > MOST or float(n) * k * p**2 > QUICK:
            continue
        if not found:
            # A temperature moves along one line of the parameters of a vector.
            along = np.append(1.0, -tempered.slope * base)
            information = along @ family.slopes(rows, family.centre)[1] @ along
            information += family.squares(rows)[0] if penalized else 0.0
            inverse = np.outer(along, along) / (information or 1.0)
            found.append((tempered, family.left_out(rows, family.centre, inverse)))
        at, inverse = family.fitted(rows, penalized=penalized)
        found.append((_expanded(tempered, kind, at, there), family.left_out(rows, at, inverse)))
    if not found:
        return tempered
    total = float(rows.weights.sum())
    means = [float(rows.weights @ losses) / total for _, losses in found]
    least = found[int(np.argmin(means))][1]
    for (calibrator, losses), mean in zip(found, means, strict=True):
        excess = losses - least
        spread = float(rows.weights @ (excess - (mean - min(means))) ** 2)
        if mean - min(means) <= np.sqrt(spread) / total:
            return calibrator
    return tempered
