"""Calibration: maps from the scores of a rule to log posteriors, learnt from rows that the rule did not see.

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

MIXING_KINDS: tuple[Kind, ...] = ("multinomial", "dirichlet")
"""Maps in which the score of a class affects the log odds between other classes."""

MAX_LEAD = 1e8
"""Largest ceiling of leads, as a multiple of the median lead of the best class over the second best."""

MIN_LLF_GAIN = 1.92
"""Gain of log-likelihood that a smaller ceiling requires: half the 95% quantile of chi-square with 1 df."""

MAX_CHOICE_WORK = 2.0**29
"""Number of multiplications per step above which a map is not considered in the choice."""

MAX_PARAMETERS = 500
"""Maximum number of parameters of a map."""

MAX_DESIGN_ELEMENTS = 2**21
"""Number of values of a design that are stored at once."""

MAX_LOG_SLOPE = 40.0
"""Absolute log slope, for leads in their unit, above which the slope is zero or infinite."""

MAX_STEPS = 60
"""Maximum number of Newton steps; about eight suffice."""

MAX_SCORING_STEPS = 200
"""Maximum number of extrapolated steps of Fisher's scoring; about eight suffice, and forty with many classes.
"""

NEWTON_TOLERANCE = 1e-9
"""Length of a step, in standard errors relative to the root of the number of rows, at which the search
ends.
"""

MAX_EARLIER_STEPS = 10
"""Number of earlier steps from which a step of Anderson's method is extrapolated."""

MIN_STEP_RATIO = 1e-10
"""Relative singular value of differences of steps up to which they count as dependent."""

LLF_ROUNDING = 1e-12
"""Relative decrease of the log-likelihood that is attributed to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibrator:
    """Map from scores (m, K) of a rule to calibrated log posteriors, up to a constant of each row.

    Attributes
    ----------
    kind : {"temperature", "vector", "multinomial", "dirichlet"}
        Kind of map; see the module docstring.
    slope : float
        Factor of the leads, the differences of scores to the largest score of the row.
    ceiling : float
        Leads below minus this value are set to it before the slope multiplies them.
    mixing : (K, K) float
        Matrix that multiplies the centred leads ("multinomial") or log posteriors ("dirichlet") after the
        slope, with classes in rows and features in columns; the identity for kinds that do not mix classes.
    intercepts : (K,) float
        Added last; minus infinity for a class that is impossible for every row.
    """

    kind: Kind
    slope: float
    ceiling: float
    mixing: Floats
    intercepts: Floats

    @property
    def mixes_classes(self) -> bool:
        """Whether the kind is "multinomial" or "dirichlet", whose `mixing` is used."""
        return self.kind in MIXING_KINDS

    def of_classes(self, keep: Codes) -> Calibrator:
        """Return the map from scores (m, C) of the classes at positions `keep` (C,), with their parameters.

        Slope and ceiling are unchanged; `mixing` and `intercepts` are reduced to these classes.
        """
        return replace(self, mixing=self.mixing[np.ix_(keep, keep)], intercepts=self.intercepts[keep])

    def scores(self, scores: Floats) -> Floats:
        """Return the calibrated log posteriors of scores.

        Parameters
        ----------
        scores : (m, K) float
            Scores of the rows.

        Returns
        -------
        (m, K) float
            Log posteriors up to a constant of each row. The scores of a row that is impossible in every class
            remain minus infinity; a row with a missing score (NaN) gets NaN for the possible classes.
        """
        is_possible: Mask = np.greater(self.intercepts, -np.inf)
        impossible = np.isneginf(scores[:, is_possible]).all(axis=1)
        with np.errstate(invalid="ignore"):
            leads = _truncated_leads(scores[:, is_possible], self.ceiling) * self.slope
        calibrated = np.full(scores.shape, -np.inf)
        if self.mixes_classes:
            leads = _FEATURES[self.kind](leads) @ self.mixing[np.ix_(is_possible, is_possible)].T
        calibrated[:, is_possible] = leads + self.intercepts[is_possible]
        calibrated[impossible] = -np.inf
        return calibrated


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
        Classes; rows with -1, and rows of a class that is impossible for every row, are ignored.
    weights : (n,) float or None
        Frequency weights; rows of weight zero are ignored.
    kind : {"auto", "temperature", "vector", "multinomial", "dirichlet"}
        Kind of map; "auto" chooses one by leave-one-out losses, and the temperature if a possible class does
        not have rows. If only one class is possible, the map is the temperature for every `kind`.
    log_prior : (K,) float or None
        Log prior that the scores contain; None if they contain none.
    penalized : bool
        If false, maximize the likelihood without penalties and without a ceiling.

    Returns
    -------
    Calibrator
        Its `kind` is the kind of the fitted map, never "auto".

    Raises
    ------
    CoreDataError
        All rows are ignored, or a score is plus infinity.
    CoreNotSupportedError
        The map of a given `kind` has more than `MAX_PARAMETERS` parameters, or the unpenalized likelihood
        does not have a maximum, for example because every row is classified correctly.

    Examples
    --------
    >>> lead = np.repeat([8.0, 4.0, -4.0, -8.0], 25)
    >>> right = np.tile(np.arange(25) < 20, 4)
    >>> found = fit_calibrator(np.column_stack([lead, 0 * lead]), np.where(right, lead < 0, lead > 0) * 1)
    >>> found.kind, round(found.slope, 3)
    ('temperature', 0.212)
    """
    scores, codes, weights = _select_usable_rows(scores, codes, weights)
    is_possible: Mask = np.asarray(~np.isneginf(scores).all(axis=0))
    k = int(is_possible.sum())
    possible_codes = np.cumsum(is_possible)[codes] - 1
    leads = _truncated_leads(scores[:, is_possible], np.inf)
    log_prior_of_possible = np.zeros(k) if log_prior is None else log_prior[is_possible]
    slope, ceiling = _fit_temperature(
        leads, log_prior_of_possible, possible_codes, weights, penalized=penalized
    )
    rows = _Rows(_truncated_leads(leads, ceiling) * slope, possible_codes, weights)
    intercepts = np.full(len(is_possible), -np.inf)
    # s (t - a) + a, with a the log prior.
    intercepts[is_possible] = log_prior_of_possible * (1 - slope)
    temperature = Calibrator("temperature", slope, ceiling, np.eye(len(is_possible)), intercepts)
    if (
        kind == "temperature"
        or k == 1
        or (kind == "auto" and not np.bincount(possible_codes, weights, k).all())
    ):
        # The other maps would learn that a class without rows never occurs.
        return temperature
    if kind != "auto":
        n_parameters = _count_parameters(kind, k)
        if n_parameters > MAX_PARAMETERS:
            raise CoreNotSupportedError(
                "many_calibration_parameters", kind=kind, n_classes=k, n_parameters=n_parameters
            )
        family = _make_family(kind, intercepts[is_possible], rows)
        return _calibrator_from_params(
            temperature, kind, family.maximize(penalized=penalized)[0], is_possible
        )
    return _choose_calibrator(temperature, rows, log_prior_of_possible, is_possible, penalized=penalized)


def _select_usable_rows(scores: Floats, codes: Codes, weights: Floats | None) -> tuple[Floats, Codes, Floats]:
    """Select the rows with a class, a positive weight and scores that are possible in a class.

    Rows with a missing score (NaN), and rows of a class whose scores are minus infinity for every row, are
    dropped.

    Parameters
    ----------
    scores : (n, K) float
        Scores of the rows.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float or None
        Weights of the rows; None for ones.

    Returns
    -------
    scores : (m, K) float
        Scores of the m selected rows; possibly minus infinity, but not NaN.
    codes : (m,) int
        Their classes.
    weights : (m,) float
        Their weights.

    Raises
    ------
    CoreDataError
        No row is selected, or a score of a row with a class and a weight is plus infinity.
    """
    weights = np.ones(len(codes)) if weights is None else weights
    with np.errstate(invalid="ignore"):
        is_usable = (codes >= 0) & (weights > 0) & (scores.max(axis=1, initial=-np.inf) > -np.inf)
    if not is_usable.any():
        raise CoreDataError("nothing_to_calibrate")
    scores = scores[is_usable]
    codes = codes[is_usable]
    weights = weights[is_usable]
    if np.isposinf(scores).any():
        raise CoreDataError("infinite_scores", n_rows=int(np.isposinf(scores).any(axis=1).sum()))
    # Rows of a class that is impossible for every row.
    is_impossible: Mask = np.asarray(np.isneginf(scores).all(axis=0))[codes]
    if is_impossible.all():
        raise CoreDataError("impossible_rows")
    return scores[~is_impossible], codes[~is_impossible], weights[~is_impossible]


def _truncated_leads(scores: Floats, ceiling: float) -> Floats:
    """Return the leads (m, K) of scores (m, K) over the largest of each row, at least minus the ceiling."""
    with np.errstate(over="ignore"):
        return np.asarray(np.maximum(scores - scores.max(axis=1, keepdims=True), -ceiling))


# ---- Temperature: one slope and a ceiling.


def _fit_temperature(
    leads: Floats, base: Floats, codes: Codes, weights: Floats, *, penalized: bool
) -> tuple[float, float]:
    """Fit the slope of the temperature and choose the ceiling of the leads.

    Parameters
    ----------
    leads : (n, K) float
        Scores less the largest score of each row.
    base : (K,) float
        Log prior that the leads contain.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float
        Weights of the rows.
    penalized : bool
        Whether to use Jeffreys' prior and to try smaller ceilings.

    Returns
    -------
    slope, ceiling : float
        Factor of the leads, and value below minus which leads are truncated first; both are one for a single
        class.
    """
    if leads.shape[1] == 1:
        return 1.0, 1.0
    finite = -leads[np.isfinite(leads)]
    runner_up_leads = -np.partition(leads, -2, axis=1)[:, -2]
    runner_up_leads = runner_up_leads[np.isfinite(runner_up_leads) & (runner_up_leads > 0)]
    unit = float(np.median(runner_up_leads)) if len(runner_up_leads) else float(finite.max(initial=0.0))
    if not unit > 0:
        # All possible classes of every row have equal scores.
        unit = 1.0
        ceiling = 1.0
    else:
        ceiling = min(max(float(finite.max()), unit), MAX_LEAD * unit)
    best_fit = _fit_slope(
        (_truncated_leads(leads, ceiling) - base) / unit, base, codes, weights, 0.0, penalized=penalized
    )
    best_ceiling = ceiling
    required_llf = best_fit[1] + MIN_LLF_GAIN
    smaller_ceiling = ceiling / 2
    while penalized and smaller_ceiling >= unit:
        start = float(np.log(best_fit[0])) if best_fit[0] > 0 else 0.0
        candidate = _fit_slope(
            (_truncated_leads(leads, smaller_ceiling) - base) / unit,
            base,
            codes,
            weights,
            start,
            penalized=True,
        )
        if candidate[1] > required_llf:
            best_fit = candidate
            best_ceiling = smaller_ceiling
            required_llf = candidate[1]
        smaller_ceiling /= 2
    return best_fit[0] / unit, best_ceiling


def _fit_slope(
    leads: Floats, base: Floats, codes: Codes, weights: Floats, start: float, *, penalized: bool
) -> tuple[float, float]:
    """Fit the slope of leads by maximum likelihood, with or without Jeffreys' prior.

    Parameters
    ----------
    leads : (n, K) float
        Truncated leads without the log prior, divided by a typical lead.
    base : (K,) float
        Log prior, which the slope does not multiply.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float
        Weights of the rows.
    start : float
        Initial log slope.
    penalized : bool
        Whether to use Jeffreys' prior.

    Returns
    -------
    slope : float
        Factor of the given leads, zero or positive; one if all leads are zero.
    llf : float
        Log-likelihood at the slope, without the penalty.

    Raises
    ------
    CoreNotSupportedError
        The maximum is at an infinite slope, for example because every row is classified correctly.
    """
    leads = leads - leads.max(axis=1, keepdims=True)
    class_leads = leads[np.arange(len(codes)), codes]
    prior = np.exp(base - base.max())

    def score(log_slope: float) -> float:
        """Return the derivative of the (penalized) log-likelihood with respect to the slope, not its log.

        If `penalized` and the information underflows to zero, return -1, which means a smaller slope.
        """
        # The largest lead of a row is zero.
        posteriors = np.exp(leads * np.exp(log_slope)) * prior
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        mean = np.einsum("ik,ik->i", posteriors, leads)
        gradient = float(weights @ (class_leads - mean))
        if not penalized:
            return gradient
        deviations = leads - mean[:, None]
        posteriors *= deviations
        posteriors *= deviations
        information = float(weights @ posteriors.sum(axis=1))
        if not information > 0:
            return -1.0
        return gradient + 0.5 * float(np.einsum("i,ik,ik->", weights, posteriors, deviations)) / information

    def likelihood(slope: float) -> float:
        """Return the weighted log-likelihood of a slope."""
        logs = np.log(np.exp(leads * slope) @ prior)
        return float(weights @ (class_leads * slope + np.log(prior)[codes] - logs))

    if not leads.any():
        return 1.0, likelihood(1.0)
    low = high = start
    step = 0.5
    while score(low) <= 0:
        low, high, step = low - step, low, 2 * step
        if low < -MAX_LOG_SLOPE:
            return 0.0, likelihood(0.0)
    step = 0.5
    while low == high or score(high) > 0:
        low, high, step = high, high + step, 2 * step
        if high > MAX_LOG_SLOPE or not (penalized or score(high)):
            raise CoreNotSupportedError("no_errors_to_calibrate")
    slope = float(np.exp(scipy.optimize.brentq(score, low, high, xtol=1e-12)))
    return slope, likelihood(slope)


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Return the softmax of each row of scores, and the log of its denominator.

    Parameters
    ----------
    scores : (m, K) float
        Scores of the rows.

    Returns
    -------
    posteriors : (m, K) float
        Each row sums to one.
    logs : (m,) float
        Log of the sum of exponentials.
    """
    largest = scores.max(axis=1, keepdims=True)
    posteriors = np.exp(scores - largest)
    sums = posteriors.sum(axis=1, keepdims=True)
    posteriors /= sums
    return posteriors, (largest + np.log(sums))[:, 0]


# ---- Maps with more parameters.


class _Rows(NamedTuple):
    """Rows to which a map is fitted.

    Attributes
    ----------
    leads : (n, K) float
        Truncated leads multiplied by the slope of the temperature, of the K possible classes.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float
        Weights of the rows.
    """

    leads: Floats
    codes: Codes
    weights: Floats


def _centre_rows(leads: Floats) -> Floats:
    """Return leads (m, K) less the mean of each row."""
    return np.asarray(leads - leads.mean(axis=1, keepdims=True))


def _log_softmax(leads: Floats) -> Floats:
    """Return the log softmax of each row of leads (m, K)."""
    return np.asarray(leads - _softmax(leads)[1][:, None])


_FEATURES: dict[str, Callable[[Floats], Floats]] = {"multinomial": _centre_rows, "dirichlet": _log_softmax}
"""Transformations of leads to the features that the mixing matrix multiplies."""


class _LogLikelihood(NamedTuple):
    """Weighted log-likelihood of P parameters.

    Attributes
    ----------
    value : float
    gradient : (P,) float
    information : (P, P) float
        Minus the second derivatives.
    posteriors : (n, K) float
        Posteriors of the rows.
    """

    value: float
    gradient: Floats
    information: Floats
    posteriors: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """Map that is linear in its P parameters, with the penalized likelihood of its parameters for n rows.

    The calibrated scores (n, K) are design(leads) @ params. There are K possible classes.

    Attributes
    ----------
    design : callable
        Returns the design (m, K, P) of leads (m, K) of `_Rows`.
    centre : (P,) float
        Parameters of the temperature, towards which the ridge shrinks.
    rows : _Rows
        Leads, classes and weights of the rows.
    stored_design : (n, K, P) float or None
        Design of all rows; None if it is large, and computed block by block.
    """

    design: Callable[[Floats], Floats]
    centre: Floats
    rows: _Rows
    stored_design: Floats | None

    def blocks(self) -> Iterator[tuple[_Rows, Floats]]:
        """Yield rows and their design (m, K, P), in blocks that limit the memory of the design."""
        if self.stored_design is not None:
            yield self.rows, self.stored_design
            return
        step = max(MAX_DESIGN_ELEMENTS // (self.rows.leads.shape[1] * len(self.centre)), 1)
        for row_slice in slices(len(self.rows.codes), step):
            leads, codes, weights = self.rows
            rows = _Rows(leads[row_slice], codes[row_slice], weights[row_slice])
            yield rows, self.design(rows.leads)

    def mean_max_squares(self) -> Floats:
        """Return the weighted mean (P,), over rows, of the largest squared design entry among the classes."""
        total = np.zeros(len(self.centre))
        for rows, design in self.blocks():
            total += rows.weights @ (design**2).max(axis=1)
        return np.asarray(total / self.rows.weights.sum())

    def log_likelihood(self, params: Floats) -> _LogLikelihood:
        """Return the log-likelihood of the classes of the rows at parameters (P,), and its derivatives."""
        p = len(params)
        value, gradient, information = 0.0, np.zeros(p), np.zeros((p, p))
        posteriors_of_blocks = []
        for rows, design in self.blocks():
            scores = (design.reshape(-1, p) @ params).reshape(design.shape[:2])
            posteriors, logs = _softmax(scores)
            posteriors_of_blocks.append(posteriors)
            row_index = np.arange(len(scores))
            value += float(rows.weights @ (scores[row_index, rows.codes] - logs))
            deviations = design - posteriors[:, None] @ design
            gradient += rows.weights @ deviations[row_index, rows.codes]
            deviations *= np.sqrt(rows.weights[:, None] * posteriors)[:, :, None]
            deviations = deviations.reshape(-1, p)
            information += deviations.T @ deviations
        return _LogLikelihood(value, gradient, information, np.concatenate(posteriors_of_blocks))

    def jeffreys_gradient(self, posteriors: Floats, inverse: Floats) -> Floats:
        """Return the gradient of Jeffreys' penalty, half the log-determinant of the information.

        Parameters
        ----------
        posteriors : (n, K) float
            Posteriors of the rows.
        inverse : (P, P) float
            Inverse of the information (with the ridge added) at the parameters of the posteriors.

        Returns
        -------
        (P,) float
        """
        p = len(inverse)
        gradient = np.zeros(p)
        stop = 0
        for rows, design in self.blocks():
            start, stop = stop, stop + len(design)
            # The third derivatives of the log-likelihood of a row, contracted: the variance of each score
            # less twice its covariance with the mean score.
            products = (design.reshape(-1, p) @ inverse).reshape(design.shape)
            third_derivatives = (products * (design - 2 * (posteriors[start:stop, None] @ design))).sum(
                axis=2
            )
            third_derivatives -= (posteriors[start:stop] * third_derivatives).sum(axis=1, keepdims=True)
            third_derivatives *= rows.weights[:, None] * posteriors[start:stop]
            gradient += 0.5 * (third_derivatives.ravel() @ design.reshape(-1, p))
        return gradient

    def maximize(self, *, penalized: bool) -> tuple[Floats, Floats]:
        """Maximize the likelihood with Jeffreys' prior and a ridge towards the temperature.

        Steps of Fisher's scoring, the inverse information times the gradient, are extrapolated by Anderson's
        method (Walker & Ni, 2011, SIAM Journal on Numerical Analysis 49, 1715-1735), because the
        information lacks the derivatives of Jeffreys' prior.

        Parameters
        ----------
        penalized : bool
            If false, maximize the likelihood without Jeffreys' prior and ridge.

        Returns
        -------
        params : (P,) float
            Parameters of the map.
        inverse : (P, P) float
            Inverse of their information with the ridge added; without penalties the pseudo-inverse of the
            information. It is computed one step before `params`.

        Raises
        ------
        CoreNotSupportedError
            Newton's method for the unpenalized likelihood does not converge.
        """
        if not penalized:
            return self._maximize_likelihood()
        squares = self.mean_max_squares()
        ridge = np.where(squares > 0, squares, 1.0)
        params = self.centre
        value, gradient, inverse = self._penalized(ridge, params)
        step = inverse @ gradient
        # The metric of least squares: parameters in standard errors at the start.
        unit = np.linalg.inv(np.linalg.cholesky(inverse))
        tolerance = NEWTON_TOLERANCE**2 * max(float(self.rows.weights.sum()), 1.0)
        history = [(params, step)]
        for _ in range(MAX_SCORING_STEPS):
            if not gradient @ step > tolerance:
                break
            move = step
            if len(history) > 1:
                changes = np.diff(np.array(history), axis=0)
                weights = np.linalg.lstsq(unit @ changes[:, 1].T, unit @ step, rcond=MIN_STEP_RATIO)[0]
                move = step - weights @ changes.sum(axis=1)
            next_value, gradient, inverse = self._penalized(ridge, params + move)
            while next_value < value - LLF_ROUNDING * abs(value) and move.any():
                # Forget the earlier steps, or halve a step that is not extrapolated.
                move = step if len(history) > 1 else move / 2
                history = []
                next_value, gradient, inverse = self._penalized(ridge, params + move)
            params = params + move
            value = next_value
            step = inverse @ gradient
            history = [*history[-MAX_EARLIER_STEPS:], (params, step)]
        return params + step, inverse

    def _penalized(self, ridge: Floats, params: Floats) -> tuple[float, Floats, Floats]:
        """Return the penalized log-likelihood, its gradient, and the inverse of the information plus ridge.

        Parameters
        ----------
        ridge : (P,) float
            Precisions of the normal prior around `centre`.
        params : (P,) float
            Parameters of the map.

        Returns
        -------
        value : float
            Log-likelihood, plus half the log-determinant of information plus ridge, less the ridge penalty.
        gradient : (P,) float
            Gradient of `value`.
        inverse : (P, P) float
            Inverse of the information plus the ridge; symmetric.
        """
        deviation = params - self.centre
        value, gradient, information, posteriors = self.log_likelihood(params)
        information[np.diag_indices(len(params))] += ridge
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        value += 0.5 * float(np.linalg.slogdet(information)[1] - ridge @ deviation**2)
        gradient += self.jeffreys_gradient(posteriors, inverse) - ridge * deviation
        return value, gradient, (inverse + inverse.T) / 2

    def _maximize_likelihood(self) -> tuple[Floats, Floats]:
        """Maximize the likelihood without penalties, by Newton's method with step halving.

        Returns
        -------
        params : (P,) float
            Parameters of the map.
        inverse : (P, P) float
            Pseudo-inverse of the information, computed one step before `params`.

        Raises
        ------
        CoreNotSupportedError
            It does not converge in `MAX_STEPS` steps.
        """
        params = self.centre.copy()
        value = -np.inf
        step: Floats = np.zeros(len(params))
        for _ in range(MAX_STEPS):
            # Halve the step while the likelihood decreases.
            while (moved := self.log_likelihood(params + step)).value < value - LLF_ROUNDING * abs(
                value
            ) and step.any():
                step = step / 2
            params = params + step
            value, gradient, information, _ = moved
            # The likelihood is constant along parameters common to all classes; the pseudo-inverse leaves
            # them unchanged.
            inverse: Floats = np.linalg.pinv(information, hermitian=True).astype(np.float64)
            step = inverse @ gradient
            if float(gradient @ step) < NEWTON_TOLERANCE**2 * max(float(self.rows.weights.sum()), 1.0):
                return params + step, inverse
        raise CoreNotSupportedError("calibration_not_found")

    def leave_one_out_losses(self, params: Floats, inverse: Floats) -> Floats:
        """Approximate leave-one-out losses by one Newton step.

        At most one unit of the weight of a row is left out.

        Parameters
        ----------
        params : (P,) float
            Parameters of the map.
        inverse : (P, P) float
            Inverse of the information, as returned by `maximize`.

        Returns
        -------
        (n,) float
            Minus the log posterior of the class of each row under the map without it.
        """
        losses = []
        p = len(params)
        for rows, design in self.blocks():
            scores = (design.reshape(-1, p) @ params).reshape(design.shape[:2])
            posteriors = _softmax(scores)[0]
            row_index = np.arange(len(scores))
            left_out_weights = np.minimum(rows.weights, 1.0)[:, None]
            residuals = -posteriors
            residuals[row_index, rows.codes] += 1.0
            products = (design.reshape(-1, p) @ inverse).reshape(design.shape)
            score_covariances = products @ design.transpose(0, 2, 1)
            # Multiply by the information of a row, diag(p) - pp', from the right.
            leverage = (
                score_covariances * posteriors[:, None]
                - (score_covariances @ posteriors[:, :, None]) * posteriors[:, None]
            )
            changes = score_covariances @ (left_out_weights * residuals)[:, :, None]
            system = np.eye(posteriors.shape[1]) - left_out_weights[:, :, None] * leverage
            scores = scores - np.linalg.solve(system, changes)[:, :, 0]
            losses.append(_softmax(scores)[1] - scores[row_index, rows.codes])
        return np.concatenate(losses)


def _make_family(kind: Kind, intercepts: Floats, rows: _Rows) -> _Family:
    """Return the linear map of a kind other than "temperature", for rows.

    Parameters
    ----------
    kind : {"vector", "multinomial", "dirichlet"}
        Kind of map.
    intercepts : (K,) float
        Intercepts of the temperature.
    rows : _Rows
        Leads, classes and weights of the n rows.

    Returns
    -------
    _Family
        Its parameters are a slope and K intercepts for "vector"; otherwise the (K, K) mixing matrix with
        features in rows, followed by K intercepts. Its `centre` gives the same map as the temperature.
    """
    k = len(intercepts)

    def vector(leads: Floats) -> Floats:
        """Return the design (m, K, K + 1) of leads (m, K): the slope, then one intercept per class."""
        design = np.zeros((len(leads), k, k + 1))
        design[:, :, 0] = leads
        design[:, np.arange(k), 1 + np.arange(k)] = 1.0
        return design

    def mixed(leads: Floats) -> Floats:
        """Return the design (m, K, (K + 1) K) of leads (m, K): mixing matrix by feature, then intercepts."""
        design = np.zeros((len(leads), k, k + 1, k))
        for j in range(k):
            design[:, j, :k, j] = _FEATURES[kind](leads)
            design[:, j, k, j] = 1.0
        return design.reshape(len(leads), k, -1)

    slopes = 1.0 if kind == "vector" else np.eye(k).ravel()
    design = vector if kind == "vector" else mixed
    centre = np.append(slopes, intercepts)
    stores_design = rows.leads.size * len(centre) <= MAX_DESIGN_ELEMENTS
    return _Family(design, centre, rows, design(rows.leads) if stores_design else None)


def _count_parameters(kind: Kind, k: int) -> int:
    """Return the number of parameters of a kind of map, other than "temperature", for k classes."""
    return k + 1 if kind == "vector" else k * (k + 1)


def _calibrator_from_params(
    temperature: Calibrator, kind: Kind, params: Floats, is_possible: Mask
) -> Calibrator:
    """Create a calibrator from the fitted parameters of a map.

    Parameters
    ----------
    temperature : Calibrator
        Calibrator of the kind "temperature", whose slope and ceiling are used.
    kind : {"vector", "multinomial", "dirichlet"}
        Kind of map.
    params : (P,) float
        Parameters for the possible classes, of a `_Family` of this kind.
    is_possible : (K,) bool
        Possible classes.

    Returns
    -------
    Calibrator
        With intercepts that sum to zero over the possible classes.
    """
    k = int(is_possible.sum())
    intercepts = temperature.intercepts.copy()
    mixing = temperature.mixing.copy()
    intercepts[is_possible] = params[-k:] - params[-k:].mean()
    if kind == "vector":
        return replace(
            temperature, kind=kind, slope=temperature.slope * float(params[0]), intercepts=intercepts
        )
    # Rows of the parameters are features; rows of the mixing matrix are classes.
    mixing[np.ix_(is_possible, is_possible)] = params[:-k].reshape(k, k).T
    return replace(temperature, kind=kind, mixing=mixing, intercepts=intercepts)


def _choose_calibrator(
    temperature: Calibrator, rows: _Rows, log_prior: Floats, is_possible: Mask, *, penalized: bool
) -> Calibrator:
    """Choose the simplest map whose leave-one-out loss is within one standard error of the smallest.

    Parameters
    ----------
    temperature : Calibrator
        Calibrator of the kind "temperature", the simplest candidate.
    rows : _Rows
        Leads, classes and weights of the rows.
    log_prior : (C,) float
        Log prior that the scores contain, for the possible classes.
    is_possible : (K,) bool
        Possible classes.
    penalized : bool
        Whether the other maps are fitted with a ridge and Jeffreys' prior.

    Returns
    -------
    Calibrator
        The temperature if all other maps are excluded: those with more than `MAX_PARAMETERS` parameters P or
        with n C P^2 above `MAX_CHOICE_WORK`, n the number of rows, and "multinomial" for two classes.
    """
    n, k = rows.leads.shape
    candidates: list[tuple[Calibrator, Floats]] = []
    for kind in KINDS[1:]:
        p = _count_parameters(kind, k)
        # For two classes the multinomial map is the vector map with redundant parameters.
        if (kind == "multinomial" and k == 2) or p > MAX_PARAMETERS or float(n) * k * p**2 > MAX_CHOICE_WORK:
            continue
        family = _make_family(kind, temperature.intercepts[is_possible], rows)
        if not candidates:
            # The temperature is a one-parameter subfamily of the vector map.
            direction = np.append(1.0, -temperature.slope * log_prior)
            information = direction @ family.log_likelihood(family.centre).information @ direction
            information += family.mean_max_squares()[0] if penalized else 0.0
            inverse = np.outer(direction, direction) / (information or 1.0)
            candidates.append((temperature, family.leave_one_out_losses(family.centre, inverse)))
        params, inverse = family.maximize(penalized=penalized)
        candidates.append(
            (
                _calibrator_from_params(temperature, kind, params, is_possible),
                family.leave_one_out_losses(params, inverse),
            )
        )
    if not candidates:
        return temperature
    total = float(rows.weights.sum())
    means = [float(rows.weights @ losses) / total for _, losses in candidates]
    best_losses = candidates[int(np.argmin(means))][1]
    for (calibrator, losses), mean in zip(candidates, means, strict=True):
        excess = losses - best_losses
        squared_deviations = float(rows.weights @ (excess - (mean - min(means))) ** 2)
        if mean - min(means) <= np.sqrt(squared_deviations) / total:
            return calibrator
    return temperature
