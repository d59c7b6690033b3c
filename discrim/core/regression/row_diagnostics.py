"""Row diagnostics of a logistic regression (residuals, leverage, influence), and marginal effects.

The results of `logistic` use these functions block by block.

Theory. A row with columns z, weight w, class y and probabilities p of the classes but the reference adds
w z (y - p)' to the score and the Kronecker product of W = diag(p) - p p' and w z z' to the information H.
With V = H^-1 and C_ab = z'V_ab z the hat matrix of the row is the block w W C, whose trace is its leverage;
the leverages sum to the number of coefficients (Lesaffre & Albert, 1989, Applied Statistics 38, 425-440). For
two classes it is the diagonal of the hat matrix of the last step of iteratively reweighted least squares
(Pregibon, 1981, Annals of Statistics 9, 705-724).

*Deletion of a row.* One step of Newton's method without the row changes the estimates by -V (u x z), u = (I -
w W C)^-1 w (y - p). Cook's distance is this step in the metric of the information, u'C u, divided by the
number of coefficients. The square of the standardized Pearson residual is (y - p)'W^-1 u.

*Accuracy.* The complement 1 - p and the logarithm of the probability of a row's own class are computed from
the odds of the other classes against it, which is accurate for p close to one.

*Marginal effects* are changes of class probabilities for a change of a column. Let z be a row in the frame
(the standardized columns of `NewtonFrame`) with a leading one, dz its change for one unit of a column, and
s_a = dz'b_a. The probability of class k has the derivative g_k = p_k (s_k - t), t = sum p_l s_l; if the
column changes from one value to another, the difference is p_k(z1) - p_k(z0). With dp_k/db_a = p_k ([k = a] -
p_a) z,

    dg_k/db_a = z [p_k ([k = a] - p_a)(s_k - t) - p_k p_a (s_a - t)] + dz p_k ([k = a] - p_a),

whose mean over the rows is the Jacobian J of the mean effect, and J V J' its variance by the delta method
(Long & Freese, 2014, Regression Models for Categorical Dependent Variables Using Stata, section 4.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.regression.logistic import SEPARATION_RATIO, LogisticFit
from discrim.core.regression.newton import Information, QuadraticForms, softmax

MAX_CHUNK_ELEMENTS = 2**20
"""Maximum number of elements that are processed at once."""


class FittedRows(NamedTuple):
    """Fitted probabilities and residuals of m rows, not weighted, for all K classes.

    Attributes
    ----------
    probabilities : (K, m) float
        Class probabilities.
    residuals : (K, m) float
        Class indicators minus probabilities, computed without cancellation.
    negative_log_probability : (m,) float
        Minus the log probability of the row's own class.
    """

    probabilities: Floats
    residuals: Floats
    negative_log_probability: Floats


def fitted_rows(fit: LogisticFit, z: Floats, codes: Codes) -> FittedRows:
    """Compute fitted probabilities and residuals of rows.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    z : (p + 1, m) float
        Rows in the frame, one per column of the array: a line of ones and the p transformed columns, as
        returned by `fit.frame.transform(x)`.
    codes : (m,) int
        Class of each row.

    Returns
    -------
    FittedRows
    """
    odds = np.insert(fit.newton.coef.T @ z, fit.reference, 0.0, axis=0)
    row_index = np.arange(len(codes))
    odds -= odds[codes, row_index]
    peak = odds.max(axis=0)
    probabilities = np.exp(odds - peak)
    own_class = probabilities[codes, row_index]
    probabilities[codes, row_index] = 0.0
    other_classes = probabilities.sum(axis=0)
    total = other_classes + own_class
    negative_log_probability = np.where(peak > 0, peak + np.log(total), np.log1p(other_classes))
    probabilities /= total
    residuals = -probabilities
    residuals[codes, row_index] = other_classes / total
    probabilities[codes, row_index] = own_class / total
    return FittedRows(probabilities, residuals, negative_log_probability)


def row_residuals(
    fit: LogisticFit, x: Floats, codes: Codes, weights: Floats | None, residual_type: str
) -> Floats:
    """Compute residuals of rows.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    x : (m, p) float
        Rows in the units of the data.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; None if all are one.
    residual_type : {"response", "pearson", "working", "deviance"}
        Response residuals are indicators y minus probabilities p, Pearson residuals (y - p) / sqrt(p (1 - p))
        times the root of the weight. Working residuals refer to the log odds against the reference class.
        Deviance residuals are roots of the contributions to the deviance, including the weight; for two
        classes they are negative for the reference class, otherwise all are positive.

    Returns
    -------
    (K, m) float
        (K - 1, m) for "working", without the reference class; (1, m) for "deviance". Pearson and working
        residuals can be infinite, and Pearson residuals NaN, if a fitted probability is 0 or 1 to rounding.
    """
    fitted = fitted_rows(fit, fit.frame.transform(x), codes)
    root_weights = 1.0 if weights is None else np.sqrt(weights)
    if residual_type == "response":
        return fitted.residuals
    if residual_type == "working":
        return _working_residuals(fit, fitted, codes)
    if residual_type == "pearson":
        with np.errstate(divide="ignore", invalid="ignore"):
            return fitted.residuals / _indicator_sd(fitted) * root_weights
    deviance_residuals = np.sqrt(2 * fitted.negative_log_probability) * root_weights
    if len(fitted.probabilities) == 2:
        deviance_residuals = np.where(codes == fit.reference, -deviance_residuals, deviance_residuals)
    return deviance_residuals[None]


def _indicator_sd(fitted: FittedRows) -> Floats:
    """Return the standard deviations sqrt(p (1 - p)) (K, m) of the class indicators, not weighted."""
    complements = np.where(fitted.residuals > 0, fitted.residuals, 1 - fitted.probabilities)
    if len(complements) == 2:
        # For two classes the complement of one probability is the other.
        complements = fitted.probabilities[::-1]
    return np.sqrt(fitted.probabilities * complements)


def _working_residuals(fit: LogisticFit, fitted: FittedRows, codes: Codes) -> Floats:
    """Return the working residuals W^-1 (y - p) of rows of weight one, for the classes but the reference.

    With p the probability of the row's own class they are 1/p for this class and otherwise 0. For a row of
    the reference class all are -1/p.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    fitted : FittedRows
        Probabilities of the rows.
    codes : (m,) int
        Class of each row.

    Returns
    -------
    (K - 1, m) float
        Infinite if 1/p overflows.
    """
    residuals = np.zeros((len(fit.others), len(codes)))
    with np.errstate(over="ignore"):
        inverse_probabilities = np.exp(fitted.negative_log_probability)
    for i, k in enumerate(fit.others):
        residuals[i] = np.where(codes == k, inverse_probabilities, 0.0) - np.where(
            codes == fit.reference, inverse_probabilities, 0.0
        )
    return residuals


class Influence(NamedTuple):
    """Influence of m rows on the estimates, see the module docstring. A row counts with its whole weight.

    Attributes
    ----------
    leverage, cooks_distance : (m,) float
        Leverage and Cook's distance (one-step, divided by the number of coefficients) of each row.
    standardized : (m,) float
        Norm of the standardized Pearson residual. This and Cook's distance can be infinite or NaN for a row
        that alone determines a coefficient.
    coef_changes : (q (p + 1), m) float or None
        Estimates minus one-step estimates without the row, for the standardized columns of `NewtonFrame`.
        The coefficients are ordered by class, for the q = K - 1 classes other than the reference class. None
        if they were not requested.
    """

    leverage: Floats
    cooks_distance: Floats
    standardized: Floats
    coef_changes: Floats | None


def row_influence(
    fit: LogisticFit, *, with_coef_changes: bool
) -> Callable[[RowBlock], Iterator[tuple[slice, Influence]]]:
    """Return a function that computes the influence of the rows of a block.

    Covariances are the inverse information, also if the fit has a robust covariance.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    with_coef_changes : bool
        Whether to compute the change of each coefficient, which requires q (p + 1) elements per row, for the
        q = K - 1 classes other than the reference class.

    Returns
    -------
    callable
        Maps a block (x, codes, weights) to an iterator over pairs of a slice of its rows and their
        `Influence`.
    """
    information = fit.newton.information
    inverse = np.asarray(cho_solve(cho_factor(information), np.eye(len(information))))
    p1, q = fit.newton.coef.shape
    forms = QuadraticForms(inverse, p1)
    chunk_rows = max(min(forms.chunk_rows(MAX_CHUNK_ELEMENTS), MAX_CHUNK_ELEMENTS // (q * q + q * p1)), 16)
    compute_pulls = _deletion_terms_two_classes if q == 1 else _deletion_terms

    def influence_of_block(block: RowBlock) -> Iterator[tuple[slice, Influence]]:
        """Yield slices of the rows of a block (x, codes, weights), and the `Influence` of these rows."""
        x, codes, weights = block
        for row_slice in slices(len(x), chunk_rows):
            chunk_weights = (
                np.ones(row_slice.stop - row_slice.start) if weights is None else weights[row_slice]
            )
            z = fit.frame.transform(x[row_slice])
            fitted = fitted_rows(fit, z, codes[row_slice])
            pull, quadratic_forms, leverage = compute_pulls(fit, fitted, chunk_weights, z, forms)
            with np.errstate(over="ignore", invalid="ignore"):
                cook = np.einsum("am,abm,bm->m", pull, quadratic_forms, pull) / fit.newton.coef.size
                squared_residuals = (_working_residuals(fit, fitted, codes[row_slice]) * pull).sum(axis=0)
            coef_changes = (
                inverse @ (pull[:, None, :] * z).reshape(-1, len(chunk_weights))
                if with_coef_changes
                else None
            )
            yield (
                row_slice,
                Influence(leverage, cook, np.sqrt(np.maximum(squared_residuals, 0.0)), coef_changes),
            )

    return influence_of_block


def _deletion_terms_two_classes(
    fit: LogisticFit, fitted: FittedRows, weights: Floats, z: Floats, forms: QuadraticForms
) -> tuple[Floats, Floats, Floats]:
    """Compute `_deletion_terms` for two classes, where all blocks are scalars.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    fitted : FittedRows
        Probabilities and residuals of the rows.
    weights : (m,) float
        Frequency weights.
    z : (p + 1, m) float
        Rows in the frame.
    forms : QuadraticForms
        Quadratic forms of the inverse information.

    Returns
    -------
    pull, quadratic_forms, leverage : (1, m), (1, 1, m), (m,) float
        u = (I - w W C)^-1 w (y - p), C = z'[information^-1]z and the leverage, the trace of w W C, of each
        row. The first is infinite or NaN if the leverage is one.
    """
    (quadratic_forms,) = forms.iterate(z)
    leverage = weights * fitted.probabilities[0] * fitted.probabilities[1] * quadratic_forms[0]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        pull = weights * fitted.residuals[fit.others] / (1 - leverage)
    return pull, quadratic_forms[None], leverage


def _deletion_terms(
    fit: LogisticFit, fitted: FittedRows, weights: Floats, z: Floats, forms: QuadraticForms
) -> tuple[Floats, Floats, Floats]:
    """Compute the quantities u, C and leverage of the deletion formulas of the module docstring.

    Classes are the q = K - 1 other than the reference.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    fitted : FittedRows
        Probabilities and residuals of the rows.
    weights : (m,) float
        Frequency weights.
    z : (p + 1, m) float
        Rows in the frame.
    forms : QuadraticForms
        Quadratic forms of the inverse information.

    Returns
    -------
    pull : (q, m) float
        u = (I - w W C)^-1 w (y - p) of each row; NaN or infinite if the row alone determines a coefficient.
    quadratic_forms : (q, q, m) float
        The matrix C = z'[information^-1]z of each row, symmetric.
    leverage : (m,) float
        Trace of w W C of each row.
    """
    q = len(fit.others)
    m = z.shape[1]
    probabilities = fitted.probabilities[fit.others]
    residuals = fitted.residuals[fit.others]
    quadratic_forms = np.empty((q, q, m))
    for k, form in enumerate(forms.iterate(z)):
        quadratic_forms[k, k:] = quadratic_forms[k:, k] = form
    # Variance p (1 - p) of a class indicator, without cancellation for p close to one.
    variance = -probabilities.T[:, :, None] * probabilities.T[:, None, :]
    variance[:, range(q), range(q)] = (
        probabilities * np.where(residuals > 0, residuals, 1 - probabilities)
    ).T
    hat = weights[:, None, None] * (variance @ quadratic_forms.transpose(2, 0, 1))
    score_residuals = (weights * residuals).T
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            pull = np.linalg.solve(np.eye(q) - hat, score_residuals[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            pull = np.stack(
                [
                    _solve_one_row(block, block_residuals)
                    for block, block_residuals in zip(hat, score_residuals, strict=True)
                ]
            )
    return np.ascontiguousarray(pull.T), quadratic_forms, np.trace(hat, axis1=1, axis2=2)


def _solve_one_row(hat: Floats, residuals: Floats) -> Floats:
    """Return (I - hat)^-1 residuals (q,) of one row, for `hat` (q, q); NaN if I - hat is singular."""
    try:
        return np.asarray(np.linalg.solve(np.eye(len(hat)) - hat, residuals))
    except np.linalg.LinAlgError:
        return np.full(len(hat), np.nan)


MAX_LEFT_OUT_STEPS = 12
"""Maximum number of steps of a search without a row; slower searches are repeated by a refit."""

LEFT_OUT_TOLERANCE = 1e-11
"""Expected distance to the maximum, in standard errors, at which a search without a row ends."""

MAX_LEFT_OUT_RATE = 0.5
"""Ratio of successive decrements above which a search without a row is slow."""

MAX_LEFT_OUT_DISTANCE = 1.0
"""Cook's distance above which a row is left out by a refit, whose search is safer far from its start."""

DIFFERENCE_STEP = 1e-4
"""Step in the frame of the differences by which the curvature of Firth's penalty is computed."""

MAX_LEFT_OUT_ELEMENTS = 2**17
"""Maximum number of elements of an array in the searches that are made together."""


def left_out_scores(
    fit: LogisticFit,
    block: RowBlock,
    log_prior: Floats,
    progress: Callable[[float], object] = lambda n_rows: None,
) -> Floats:
    """Compute the scores of each row by the estimates without it.

    Each search starts with the one-step estimates of the module docstring. Its steps use the information at
    this start, plus the curvature of Firth's penalty at the estimates of all rows, updated by BFGS. Many
    searches share the products over the rows.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model, whose search has converged.
    block : tuple of (n, p) float, (n,) int, (n,) float or None
        All rows of the fit, with classes and weights. A row loses at most a weight of one.
    log_prior : (K,) float
        Log prior probabilities, which are not estimated again.
    progress : callable, optional
        Called with the number of rows that were left out since the last call.

    Returns
    -------
    (n, K) float
        Log posteriors up to a constant of each row. NaN for rows that need a refit, because no other row has
        their class, their Cook's distance is large, or the search is slow or may not have a maximum.
    """
    x, codes, weights = block
    search = _LeftOutSearch(fit, fit.frame.transform(x), codes, weights)
    p1, q = fit.newton.coef.shape
    scores = np.full((len(x), q + 1), np.nan)
    remaining = np.tile(fit.counts, (len(x), 1))
    remaining[np.arange(len(x)), codes] -= search.removed
    per_row = len(x) * q * (q * p1 if fit.bias_reduction else 1)
    for row_slice, influence in row_influence(fit, with_coef_changes=True)((x, codes, search.removed)):
        if influence.coef_changes is None:
            break
        starts = fit.newton.coef.T.ravel() - influence.coef_changes.T
        is_searched = np.isfinite(starts).all(axis=1) & (remaining[row_slice] > 0).all(axis=1)
        is_searched &= influence.cooks_distance <= MAX_LEFT_OUT_DISTANCE
        index = np.flatnonzero(is_searched)
        for chunk in slices(len(index), max(MAX_LEFT_OUT_ELEMENTS // per_row, 1)):
            rows = row_slice.start + index[chunk]
            coefs = search.maximize(rows, starts[index[chunk]]).reshape(-1, q, p1)
            odds = np.insert(np.einsum("mqp,pm->mq", coefs, search.z[:, rows]), fit.reference, 0.0, axis=1)
            proportions = remaining[rows] / remaining[rows].sum(axis=1, keepdims=True)
            scores[rows] = odds + log_prior - np.log(proportions)
            scores[rows[np.isnan(odds).any(axis=1)]] = np.nan
        progress(row_slice.stop - row_slice.start)
    return scores


class _LeftOutSearch:
    """Searches for the maximum of the likelihood without one row, for several rows at the same time.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    z : (p + 1, n) float
        All rows in the frame.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.
    """

    def __init__(self, fit: LogisticFit, z: Floats, codes: Codes, weights: Floats | None) -> None:
        self.fit = fit
        self.z = z
        self.weights = np.ones(len(codes)) if weights is None else weights
        self.indicators = np.equal(codes, np.array(fit.others)[:, None]).astype(np.float64)
        self.max_norm = float(np.sqrt((z * z).sum(axis=0).max()))
        self.removed = np.zeros(len(codes))
        self.excess = self._penalty_curvature() if fit.bias_reduction else np.zeros(())
        self.removed = np.minimum(self.weights, 1.0)

    def _penalty_curvature(self) -> Floats:
        """Return the curvature (r, r) of Firth's penalty at the estimates, by differences of the scores."""
        coef = self.fit.newton.coef.T.ravel()
        curvature = np.empty((len(coef), len(coef)))
        for k in range(len(coef)):
            steps = np.zeros((2, len(coef)))
            steps[:, k] = -DIFFERENCE_STEP, DIFFERENCE_STEP
            score, _ = self._derivatives(np.zeros(2, dtype=np.intp), coef + steps, with_information=False)
            curvature[k] = (score[0] - score[1]) / (2 * DIFFERENCE_STEP)
        return np.asarray((curvature + curvature.T) / 2 - self.fit.newton.information)

    def maximize(self, rows: Codes, starts: Floats) -> Floats:
        """Return the coefficients without each of some rows.

        Parameters
        ----------
        rows : (m,) int
            Positions of the rows.
        starts : (m, r) float
            Coefficients in the frame, ordered by class, at which the searches start.

        Returns
        -------
        (m, r) float
            NaN if the decrement was not halved by each step, or if the information at the start does not
            prove that a maximum exists.
        """
        result = np.full(starts.shape, np.nan)
        active = np.arange(len(rows))
        score, information = self._derivatives(rows, starts, with_information=True)
        try:
            inverse = np.linalg.inv(information + self.excess)
        except np.linalg.LinAlgError:
            return result
        # A lower bound of the eigenvalues of the information at the start.
        min_information = 1 / np.trace(inverse, axis1=1, axis2=2)
        coefs = starts
        last_decrement = np.zeros(len(rows))
        for _ in range(MAX_LEFT_OUT_STEPS):
            step = np.matmul(inverse, score[:, :, None])[:, :, 0]
            squared = (score * step).sum(axis=1)
            decrement = np.sqrt(np.where(squared >= 0, squared, np.nan))
            coefs = coefs + step
            # The first step has no rate of convergence.
            rate = np.divide(decrement, last_decrement, out=np.ones(len(active)), where=last_decrement > 0)
            done = decrement * rate <= LEFT_OUT_TOLERANCE
            exists = self._maximum_exists(coefs - starts[active], decrement, min_information[active])
            result[active[done & exists]] = coefs[done & exists]
            keep = np.flatnonzero(~done & ((rate <= MAX_LEFT_OUT_RATE) | (last_decrement == 0)))
            if not len(keep):
                break
            active = active[keep]
            coefs = coefs[keep]
            last_decrement = decrement[keep]
            last_score = score[keep]
            score, _ = self._derivatives(rows[active], coefs, with_information=False)
            inverse = _update_inverse(inverse[keep].astype(np.float64), step[keep], last_score - score)
        return result

    def _maximum_exists(self, changes: Floats, decrement: Floats, min_information: Floats) -> Mask:
        """Return whether the information proves that maxima exist, as in `newton.maximize`; (m,) bool.

        If the log odds of all rows change by at most R, the information changes by a factor of at least
        exp(-2 R).

        Parameters
        ----------
        changes : (m, r) float
            Changes of the coefficients since the start.
        decrement : (m,) float
            Distance to the maximum in standard errors.
        min_information : (m,) float
            Lower bound of the eigenvalues of the information at the start.
        """
        if self.fit.bias_reduction:
            return np.isfinite(decrement)
        max_change = self.max_norm * np.sqrt((changes * changes).sum(axis=1))
        bound = 2 * self.fit.frame.max_squared_norm / self.weights.min() * decrement**2
        floor = SEPARATION_RATIO * self.fit.counts.sum()
        return np.asarray(np.exp(-2 * max_change) * min_information > np.maximum(bound, floor))

    def _derivatives(self, rows: Codes, coefs: Floats, *, with_information: bool) -> tuple[Floats, Floats]:
        """Compute the scores without a row, adjusted for bias reduction, and the information.

        Parameters
        ----------
        rows : (m,) int
            Positions of the rows.
        coefs : (m, r) float
            Coefficients in the frame.
        with_information : bool
            Whether to compute the information, which bias reduction needs in any case.

        Returns
        -------
        score : (m, r) float
        information : (m, r, r) float
            Zeros if it was not computed.
        """
        p1, q = self.fit.newton.coef.shape
        m, n = len(rows), self.z.shape[1]
        odds = (coefs.reshape(m * q, p1) @ self.z).reshape(m, q, n)
        probabilities = expit(odds) if q == 1 else softmax(odds)[0]
        weights = np.broadcast_to(self.weights, (m, n)).copy()
        weights[np.arange(m), rows] -= self.removed[rows]
        weights = weights[:, None]
        score = self._sum_over_rows(weights * (self.indicators - probabilities))
        if not with_information and not self.fit.bias_reduction:
            return score, np.zeros((m, 0, 0))
        weighted = weights * probabilities
        sums = Information(p1, q, n, (m,))
        sums.add(self.z, weighted * (1 - probabilities), weighted, probabilities)
        information = sums.as_matrix().reshape(m, q * p1, q * p1)
        if self.fit.bias_reduction:
            # Half of the gradient of the log determinant, see `newton`.
            blocks = np.linalg.inv(information).reshape(m, q * p1 * q, p1)
            forms = (blocks @ self.z).reshape(m, q, p1, q, n)
            forms = np.einsum("maibn,in->mabn", forms, self.z)
            variances = np.einsum("maan->man", forms)
            covariances = np.einsum("mabn,mbn->man", forms, probabilities)
            centred = variances / 2 - covariances
            centred -= (probabilities * centred).sum(axis=1, keepdims=True)
            score += self._sum_over_rows(weighted * centred)
        return score, information

    def _sum_over_rows(self, values: Floats) -> Floats:
        """Return the sums (m, q (p + 1)) over all rows of values (m, q, n) times the columns of the rows."""
        m, q, n = values.shape
        return np.asarray((values.reshape(m * q, n) @ self.z.T).reshape(m, -1))


def _update_inverse(inverse: Floats, step: Floats, decrease: Floats) -> Floats:
    """Return the BFGS updates (m, r, r) of inverse curvatures (m, r, r).

    See Nocedal & Wright, 2006, Numerical Optimization, equation 6.17. `step` and `decrease`, both (m, r), are
    the changes of the coefficients and the decreases of the gradient. An inverse whose gradient did not
    decrease along the step is not changed.
    """
    slope = (step * decrease).sum(axis=1)
    scaled = np.where(slope > 0, 1 / np.where(slope > 0, slope, 1.0), 0.0)[:, None] * step
    image = np.matmul(inverse, decrease[:, :, None])[:, :, 0]
    factor = 1 + (decrease * image * (slope > 0)[:, None]).sum(axis=1) / np.where(slope > 0, slope, 1.0)
    cross = scaled[:, :, None] * image[:, None, :]
    outer = scaled[:, :, None] * step[:, None, :]
    return np.asarray(inverse + factor[:, None, None] * outer - cross - cross.swapaxes(1, 2))


class Effect(NamedTuple):
    """Weighted sums over rows of effects and of their derivatives; not divided by the total weight.

    Attributes
    ----------
    total : (K,) float
        Effects on the class probabilities.
    jacobian : (K, r) float
        Derivatives of `total` with respect to the r = (K - 1)(p + 1) coefficients in the frame, ordered by
        class, the intercept of each class first.
    """

    total: Floats
    jacobian: Floats

    def add(self, other: Effect) -> Effect:
        """Return the sums of `total` and `jacobian` of both effects: the effect over the rows of both.

        Both effects have to be of the same fit.
        """
        return Effect(self.total + other.total, self.jacobian + other.jacobian)

    def subtract(self, other: Effect) -> Effect:
        """Return this effect minus the other one of the same fit: differences of `total` and `jacobian`."""
        return Effect(self.total - other.total, self.jacobian - other.jacobian)


def class_probabilities_under_prior(fit: LogisticFit, z: Floats, shift: Floats) -> Floats:
    """Compute the class probabilities of rows under a changed prior.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    z : (p + 1, m) float
        Rows in the frame, one per column of the array, as returned by `fit.frame.transform(x)`.
    shift : (K,) float
        Amounts that are added to the log odds of the classes: the log of the changed prior minus the log of
        the class proportions of the fit, up to a constant.

    Returns
    -------
    (K, m) float
        They sum to one over the classes.
    """
    odds = np.insert(fit.newton.coef.T @ z, fit.reference, 0.0, axis=0) + shift[:, None]
    exponentials = np.exp(odds - odds.max(axis=0))
    return np.asarray(exponentials / exponentials.sum(axis=0))


def level_effect(fit: LogisticFit, z: Floats, shift: Floats, weights: Floats) -> Effect:
    """Return the weighted sum of the class probabilities over rows.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    z : (p + 1, m) float
        Rows in the frame.
    shift : (K,) float
        Amounts that are added to the log odds of the classes for the prior.
    weights : (m,) float
        Weights of the rows.

    Returns
    -------
    Effect
        Its `total` is the sum over rows of weight times class probabilities.
    """
    class_probabilities = class_probabilities_under_prior(fit, z, shift)
    return Effect(
        class_probabilities @ weights,
        _jacobian(_probability_derivatives(fit, class_probabilities) * weights, z),
    )


def change_effect(fit: LogisticFit, before: Floats, after: Floats, shift: Floats, weights: Floats) -> Effect:
    """Return the effect of a change of rows on the class probabilities, a weighted sum over the rows.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    before, after : (p + 1, m) float
        Rows in the frame before and after the change.
    shift : (K,) float
        Amounts that are added to the log odds of the classes for the prior.
    weights : (m,) float
        Weights of the rows.

    Returns
    -------
    Effect
        The `level_effect` of the rows after the change minus the one before it.
    """
    return level_effect(fit, after, shift, weights).subtract(level_effect(fit, before, shift, weights))


def slope_effect(fit: LogisticFit, z: Floats, change: Floats, shift: Floats, weights: Floats) -> Effect:
    """Return the derivative of the class probabilities with respect to a column, a weighted sum over rows.

    Parameters
    ----------
    fit : LogisticFit
        The fitted model.
    z : (p + 1, m) float
        Rows in the frame.
    change : (p, m) or (p, 1) float
        Change of the rows in the frame, without the leading one, per unit of the column.
    shift : (K,) float
        Amounts that are added to the log odds of the classes for the prior.
    weights : (m,) float
        Weights of the rows.

    Returns
    -------
    Effect
        Its `total` (K,) is the sum over rows of weight times the derivative of the probability of class k by
        the column.
    """
    class_probabilities = class_probabilities_under_prior(fit, z, shift)
    others = fit.others
    odds = np.insert(fit.newton.coef[1:].T @ change, fit.reference, 0.0, axis=0)
    odds_deviations = odds - (class_probabilities * odds).sum(axis=0)
    effects = class_probabilities * odds_deviations
    moves = _probability_derivatives(fit, class_probabilities)
    by_odds = moves * odds_deviations[:, None] - class_probabilities[:, None] * effects[others]
    jacobian = _jacobian(by_odds * weights, z)
    padded_change = np.zeros((len(change) + 1, z.shape[1]))
    padded_change[1:] = change
    return Effect(effects @ weights, jacobian + _jacobian(moves * weights, padded_change))


def _probability_derivatives(fit: LogisticFit, class_probabilities: Floats) -> Floats:
    """Return the derivatives (K, q, m) of probabilities (K, m) by the q log odds of `fit.others`.

    Element [k, i, j] is the derivative for class k of row j with respect to the log odds of `fit.others[i]`
    against the reference class.
    """
    derivatives = -class_probabilities[:, None] * class_probabilities[fit.others]
    for i, k in enumerate(fit.others):
        # The sum of the other probabilities avoids cancellation in one minus a probability.
        derivatives[k, i] = class_probabilities[k] * np.delete(class_probabilities, k, axis=0).sum(axis=0)
    return derivatives


def _jacobian(by_odds: Floats, z: Floats) -> Floats:
    """Return the sums (K, q (p + 1)) over the m rows of `by_odds` (K, q, m) times z (p + 1, m).

    Columns of the result are ordered by the q classes other than the reference, the intercept of each first.
    """
    k, q, m = by_odds.shape
    return np.asarray((by_odds.reshape(k * q, m) @ z.T).reshape(k, q * len(z)))
