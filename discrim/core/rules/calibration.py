"""Calibration: maps from the scores of a rule to log posteriors, learnt from held-out or left-out scores.

A rule is overconfident for the rows to which it was fitted, the more so the fewer rows it had; assumptions
such as independent columns and normal tails add to this. Scores of rows that the rule did not see show how
much. With t_k the lead of class k over the best class of a row, zero or negative, the maps are

    temperature   log p_k = s t_k                              one slope (Guo et al., 2017, ICML, 1321-1330)
    vector        log p_k = s t_k + b_k                        for two classes Platt's (1999)
    multinomial   log p_k = sum_j W_kj (t_j - mean of t) + b_k
    dirichlet     log p_k = sum_j W_kj ln q_j + b_k            q the posteriors of the temperature (Kull et
                                                               al., 2019, NeurIPS 32, 12295-12305)

up to a constant of each row. If the scores contain the log of a prior, a_k, the temperature multiplies only
the log densities, s (t_k - a_k) + a_k, because the estimates affect only these, and the other maps shrink
towards that. Without a prior, or with equal ones, the temperature does not change labels.

*Few rows, and perfectly separated classes.* The slope of the temperature maximizes l(s) + ln I(s) / 2 over
s >= 0, with I the information of all rows: Jeffreys' prior, which removes the bias of order 1/n of the
maximum-likelihood estimate and always has a maximum (Firth, 1993, Biometrika 80, 27-38). If n rows are
classified correctly with equal leads, the remaining error is 1/(2n). Platt's targets do the same for one size
of lead; but rows far from the boundary, whose targets are wrong with probability 1/(n + 2) like all others,
would then dominate the slope. The other maps also have Jeffreys' prior, and a ridge towards the temperature:
a normal prior of each parameter around its value there, which moves the log odds of a typical row by one.

*Leads that are too large.* A misclassified row with a lead of thousands, such as an outlier under normal
densities, would by itself make the posteriors of all rows uncertain. Leads are truncated at a ceiling c,
t_k = max(t_k, -c). Candidates are the largest lead and its successive halves; a smaller ceiling is used if it
raises the likelihood by more than a test of one parameter at the five percent level allows by chance. A class
with a score of minus infinity is at the ceiling. A class that is impossible for every row, for example
because its prior is zero, stays impossible. If a possible class does not have rows, the map is the
temperature, which does not require rows of every class.

*Choice of the map.* The loss of each row under the map without it is approximated by one step of Newton's
method from the map of all rows, with the row left out of gradient and Hessian (Rad & Maleki, 2020, Journal of
the Royal Statistical Society B 82, 965-996). The first map in the order above is chosen whose mean log loss
exceeds the smallest by at most one standard error of the difference.
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
"""Names of the maps."""

KINDS: tuple[Kind, ...] = ("temperature", "vector", "multinomial", "dirichlet")
"""The maps, in order of increasing complexity."""

MIXING: tuple[Kind, ...] = ("multinomial", "dirichlet")
"""Maps in which the score of a class affects the log odds between other classes."""

LARGEST_LEAD = 1e8
"""Largest ceiling of leads, as a multiple of the median lead of the best class over the second best."""

GAINED = 1.92
"""Gain of log-likelihood that a smaller ceiling requires: half the 95% quantile of chi-square with 1 df."""

QUICK = 2.0**29
"""Number of multiplications per step above which a map is not considered in the choice."""

MOST = 500
"""Maximum number of parameters of a map."""

PIECE = 2**21
"""Number of values of a design that are stored at once."""

LARGEST_LOG = 40.0
"""Absolute log slope, for leads in their unit, above which the slope is zero or infinite."""

STEPS = 60
"""Maximum number of Newton steps; about eight suffice."""

NEAR = 1e-9
"""Length of a step, in standard errors relative to the root of the number of rows, at which the search
ends.
"""

ROUNDED = 1e-12
"""Relative decrease of the log-likelihood that is attributed to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibrator:
    """Map from scores (m, K) of a rule to calibrated log posteriors, up to a constant of each row.

    Attributes
    ----------
    kind : {"temperature", "vector", "multinomial", "dirichlet"}
    slope : float
        Factor of the leads.
    ceiling : float
        Leads are truncated at this value.
    mixing : (K, K) float
        Matrix that multiplies the centred leads or log posteriors after the slope; the identity for kinds
        that do not mix classes.
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
        """Whether the map has a mixing matrix."""
        return self.kind in MIXING

    def of_classes(self, keep: Codes) -> Calibrator:
        """Return the map restricted to the classes at some positions (C,)."""
        return replace(self, mixing=self.mixing[np.ix_(keep, keep)], intercepts=self.intercepts[keep])

    def scores(self, scores: Floats) -> Floats:
        """Calibrate scores.

        Parameters
        ----------
        scores : (m, K) float

        Returns
        -------
        (m, K) float
            Log posteriors up to a constant of each row. A row that is impossible in every class remains so.
        """
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
    """Fit a map from scores of rows that the rule did not see to log posteriors.

    Parameters
    ----------
    scores : (n, K) float
        Rows with a missing score (NaN), or impossible in every class, are ignored.
    codes : (n,) int
        Classes; rows with -1 are ignored.
    weights : (n,) float or None
        Frequency weights.
    kind : {"auto", "temperature", "vector", "multinomial", "dirichlet"}
    log_prior : (K,) float or None
        Log prior that the scores contain.
    penalized : bool
        If false, maximize the likelihood without penalties and without a ceiling.

    Returns
    -------
    Calibrator

    Raises
    ------
    CoreDataError
        All rows are ignored, or scores are infinitely large.
    CoreNotSupportedError
        The map has too many parameters, or the unpenalized likelihood does not have a maximum, for example
        because every row is classified correctly.

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
        # The other maps would learn that a class without rows never occurs.
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
    """Select the rows with finite scores and a class.

    Parameters
    ----------
    scores : (n, K) float
    codes : (n,) int
    weights : (n,) float or None

    Returns
    -------
    scores, codes, weights
        For the selected rows.
    """
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
    # Rows of a class that is impossible for every row.
    lost: Mask = np.asarray(np.isneginf(scores).all(axis=0))[codes]
    if lost.all():
        raise CoreDataError("impossible_rows")
    return scores[~lost], codes[~lost], weights[~lost]


def _leads(scores: Floats, ceiling: float) -> Floats:
    """Subtract the largest score of each row, and truncate at minus the ceiling."""
    with np.errstate(over="ignore"):
        return np.asarray(np.maximum(scores - scores.max(axis=1, keepdims=True), -ceiling))


# ---- Temperature: one slope and a ceiling.


def _tempered(
    leads: Floats, base: Floats, codes: Codes, weights: Floats, *, penalized: bool
) -> tuple[float, float]:
    """Fit the temperature.

    Parameters
    ----------
    leads : (n, K) float
    base : (K,) float
        Log prior that the leads contain.
    codes : (n,) int
    weights : (n,) float
    penalized : bool

    Returns
    -------
    slope, ceiling : float
    """
    if leads.shape[1] == 1:
        return 1.0, 1.0
    finite = -leads[np.isfinite(leads)]
    ahead = -np.partition(leads, -2, axis=1)[:, -2]
    ahead = ahead[np.isfinite(ahead) & (ahead > 0)]
    unit = float(np.median(ahead)) if len(ahead) else float(finite.max(initial=0.0))
    if not unit > 0:
        # All possible classes of every row have equal scores.
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
    """Fit the slope of leads.

    Parameters
    ----------
    leads : (n, K) float
        In their unit, without the log prior.
    base : (K,) float
        Log prior, which the slope does not multiply.
    codes : (n,) int
    weights : (n,) float
    start : float
        Initial log slope.
    penalized : bool
        Whether to use Jeffreys' prior.

    Returns
    -------
    slope : float
    llf : float
        Log-likelihood.
    """
    leads = leads - leads.max(axis=1, keepdims=True)
    own = leads[np.arange(len(codes)), codes]
    prior = np.exp(base - base.max())

    def score(log_slope: float) -> float:
        """Derivative of the penalized log-likelihood with respect to the slope."""
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
        """Log-likelihood of a slope."""
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
    """Softmax of scores.

    Parameters
    ----------
    scores : (m, K) float

    Returns
    -------
    posteriors : (m, K) float
    logs : (m,) float
        Log of the sum of exponentials.
    """
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - top)
    sums = shares.sum(axis=1, keepdims=True)
    shares /= sums
    return shares, (top + np.log(sums))[:, 0]


# ---- Maps with more parameters.


class _Rows(NamedTuple):
    """Rows to which a map is fitted.

    Attributes
    ----------
    leads : (n, K) float
        Leads multiplied by the slope of the temperature.
    codes : (n,) int
    weights : (n,) float
    """

    leads: Floats
    codes: Codes
    weights: Floats


def _centred(leads: Floats) -> Floats:
    """Subtract the mean of each row."""
    return np.asarray(leads - leads.mean(axis=1, keepdims=True))


def _logs(leads: Floats) -> Floats:
    """Log softmax of each row."""
    return np.asarray(leads - _shares(leads)[1][:, None])


_FEATURES: dict[str, Callable[[Floats], Floats]] = {"multinomial": _centred, "dirichlet": _logs}
"""Transformations of leads to the features that the mixing matrix multiplies."""


class _Family(NamedTuple):
    """Map that is linear in its parameters, with the penalized likelihood of its parameters.

    Attributes
    ----------
    design : callable
        Design (m, K, P) of leads (m, K).
    centre : (P,) float
        Parameters of the temperature, towards which the ridge shrinks.
    """

    design: Callable[[Floats], Floats]
    centre: Floats

    def pieces(self, rows: _Rows) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of rows with their design (m, K, P)."""
        step = max(PIECE // (rows.leads.shape[1] * len(self.centre)), 1)
        for place in slices(len(rows.codes), step):
            yield place, self.design(rows.leads[place])

    def squares(self, rows: _Rows) -> Floats:
        """Weighted mean, over rows, of the largest squared entry (P,) of the design among the classes."""
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
        """Gradient of Jeffreys' penalty, half the log-determinant of the information.

        Parameters
        ----------
        rows : _Rows
        at : (P,) float
            Parameters.
        inverse : (P, P) float
            Inverse of the information.

        Returns
        -------
        (P,) float
        """
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
        """Maximize the penalized likelihood.

        Parameters
        ----------
        rows : _Rows
        penalized : bool
            If false, maximize the likelihood.

        Returns
        -------
        at : (P,) float
            Parameters.
        inverse : (P, P) float
            Inverse of their information.
        """
        if not penalized:
            return self._most_likely(rows)
        squares = self.squares(rows)
        ridge = np.where(squares > 0, squares, 1.0)
        inverse = self._penalized(rows, ridge, self.centre)[2]
        root = np.linalg.cholesky(inverse)

        def lost(moved: Floats) -> tuple[float, Floats]:
            """Negative penalized log-likelihood and its gradient, in standardized parameters."""
            value, gradient, _ = self._penalized(rows, ridge, self.centre + root @ moved)
            return -value, -(root.T @ gradient)

        # Parameters are in standard errors at the start; there the Newton step equals the gradient.
        near = NEAR * float(np.sqrt(max(rows.weights.sum(), 1.0)))
        found = scipy.optimize.minimize(
            lost, np.zeros(len(ridge)), jac=True, method="BFGS", options={"gtol": near, "maxiter": STEPS}
        )
        at = np.asarray(self.centre + root @ found.x)
        _, gradient, inverse = self._penalized(rows, ridge, at)
        # The search ends when changes of the likelihood are rounding errors; Newton steps by the gradient
        # are more accurate.
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
        """Penalized log-likelihood, its gradient, and the inverse of the information.

        Parameters
        ----------
        rows : _Rows
        ridge : (P,) float
            Precisions of the normal prior.
        at : (P,) float
            Parameters.

        Returns
        -------
        value : float
        gradient : (P,) float
        inverse : (P, P) float
        """
        off = at - self.centre
        gradient, information = self.slopes(rows, at)
        information[np.diag_indices(len(at))] += ridge
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        value = self.likelihood(rows, at) + 0.5 * float(np.linalg.slogdet(information)[1] - ridge @ off**2)
        gradient += self.firths(rows, at, inverse) - ridge * off
        return value, gradient, (inverse + inverse.T) / 2

    def _most_likely(self, rows: _Rows) -> tuple[Floats, Floats]:
        """Maximize the likelihood by Newton's method with step halving."""
        at = self.centre.copy()
        value = -np.inf
        step: Floats = np.zeros(len(at))
        for _ in range(STEPS):
            # Halve the step while the likelihood decreases.
            while (found := self.likelihood(rows, at + step)) < value - ROUNDED * abs(value) and step.any():
                step = step / 2
            at = at + step
            value = found
            gradient, information = self.slopes(rows, at)
            # The likelihood is constant along parameters common to all classes; the pseudo-inverse leaves
            # them unchanged.
            inverse: Floats = np.linalg.pinv(information, hermitian=True).astype(np.float64)
            step = inverse @ gradient
            if float(gradient @ step) < NEAR**2 * max(float(rows.weights.sum()), 1.0):
                return at + step, inverse
        raise CoreNotSupportedError("calibration_not_found")

    def left_out(self, rows: _Rows, at: Floats, inverse: Floats) -> Floats:
        """Approximate leave-one-out losses by one Newton step.

        Parameters
        ----------
        rows : _Rows
            At most one unit of the weight of a row is left out.
        at : (P,) float
            Parameters.
        inverse : (P, P) float
            Inverse of the information.

        Returns
        -------
        (n,) float
            Log losses.
        """
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
            # Multiply by the information of a row, diag(p) - pp', from the right.
            leverage = spread * shares[:, None] - (spread @ shares[:, :, None]) * shares[:, None]
            moved = spread @ (out * rest)[:, :, None]
            scores = scores - np.linalg.solve(np.eye(k) - out[:, :, None] * leverage, moved)[:, :, 0]
            losses[place] = _shares(scores)[1] - scores[own, codes]
        return losses


def _family(kind: Kind, intercepts: Floats) -> _Family:
    """Return the family of a kind of map; `intercepts` (K,) are the ones of the temperature."""
    k = len(intercepts)

    def vector(leads: Floats) -> Floats:
        """Design (m, K, K + 1): the slope, then one intercept per class."""
        design = np.zeros((len(leads), k, k + 1))
        design[:, :, 0] = leads
        design[:, np.arange(k), 1 + np.arange(k)] = 1.0
        return design

    def mixed(leads: Floats) -> Floats:
        """Design (m, K, (K + 1) K): the mixing matrix by feature, then the intercepts."""
        design = np.zeros((len(leads), k, k + 1, k))
        for each in range(k):
            design[:, each, :k, each] = _FEATURES[kind](leads)
            design[:, each, k, each] = 1.0
        return design.reshape(len(leads), k, -1)

    if kind == "vector":
        return _Family(vector, np.append(1.0, intercepts))
    return _Family(mixed, np.append(np.eye(k).ravel(), intercepts))


def _expanded(tempered: Calibrator, kind: Kind, at: Floats, there: Mask) -> Calibrator:
    """Create the calibrator with parameters of a family.

    Parameters
    ----------
    tempered : Calibrator
        The temperature.
    kind : {"vector", "multinomial", "dirichlet"}
    at : (P,) float
        Parameters for the possible classes.
    there : (K,) bool
        Possible classes.

    Returns
    -------
    Calibrator
    """
    k = int(there.sum())
    intercepts = tempered.intercepts.copy()
    mixing = tempered.mixing.copy()
    intercepts[there] = at[-k:] - at[-k:].mean()
    if kind == "vector":
        return replace(tempered, kind=kind, slope=tempered.slope * float(at[0]), intercepts=intercepts)
    # Rows of the parameters are features; rows of the mixing matrix are classes.
    mixing[np.ix_(there, there)] = at[:-k].reshape(k, k).T
    return replace(tempered, kind=kind, mixing=mixing, intercepts=intercepts)


def _chosen(tempered: Calibrator, rows: _Rows, base: Floats, there: Mask, *, penalized: bool) -> Calibrator:
    """Choose the simplest map whose leave-one-out loss is within one standard error of the smallest.

    Parameters
    ----------
    tempered : Calibrator
        The temperature.
    rows : _Rows
    base : (C,) float
        Log prior that the scores contain, for the possible classes.
    there : (K,) bool
        Possible classes.
    penalized : bool

    Returns
    -------
    Calibrator
    """
    n, k = rows.leads.shape
    found: list[tuple[Calibrator, Floats]] = []
    for kind in KINDS[1:]:
        family = _family(kind, tempered.intercepts[there])
        p = len(family.centre)
        # For two classes the multinomial map is the vector map with redundant parameters.
        if (kind == "multinomial" and k == 2) or p > MOST or float(n) * k * p**2 > QUICK:
            continue
        if not found:
            # The temperature is a one-parameter subfamily of the vector map.
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
