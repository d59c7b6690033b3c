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

from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.newton import QuadraticForms

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
