"""Decision rules: from rows to class scores, and from scores to posteriors.

The scores of a rule are log posteriors up to a constant of each row; labels, log posteriors, posteriors and
expected costs follow from scores alone. Rows are arrays x (m, p), m rows of p columns; internally functions
work on columns (p, m), the layout of a table. Scores (m, K) of K classes are stored class by class if there
are few classes and row by row if there are many, with the longer axis contiguous.

*Sparse rows.* A linear score of x = b + s is the score of the base b plus s'coef, and the cost of a product
with s is proportional to the number of stored values. Multinomial naive Bayes uses the same decomposition
with log probabilities. Other rules require dense rows.

*Planes* (Hastie, Tibshirani & Friedman, 2009, The Elements of Statistical Learning, sec. 4.5). The signed
distance of x from the plane n'x + c = 0 is (n'x + c)/|n|, positive on the side to which n points; the foot of
the perpendicular from x is x less this many unit normals; the distance of the plane from the origin is
|c|/|n|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.errors import CoreNotSupportedError
from discrim.core.moments.moments import column_squares, standardize_columns
from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.numerics.arrays import Codes, Floats, slices

MIN_CLASSES_FOR_PANELS = 64
"""Number of classes above which scores are stored row by row in memory, not class by class."""

MAX_CLASSES_FOR_CHUNKS = 16
MAX_CHUNK_ELEMENTS = 2**19
"""For up to `MAX_CLASSES_FOR_CHUNKS` classes, products of rows stored row by row are computed in blocks of
about `MAX_CHUNK_ELEMENTS` multiplications, which is faster.
"""

MAX_PANEL_ELEMENTS = 2**18
PANEL_MULTIPLE = 32
"""`MAX_PANEL_ELEMENTS` is the number of multiplications up to which OpenBLAS uses one thread; larger products
are split into panels of at least `PANEL_MULTIPLE` classes.
"""

MIN_LOG_WEIGHT = -746.0
"""Logarithm whose exponential underflows to zero; computing such exponentials is slow."""

MAX_RESCORINGS = 4
"""Maximum number of times that a row is scored again because its best class belongs to another group."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearRule:
    """Decision rule with scores z'coef + intercept, z = (x - origin) * scale.

    Attributes
    ----------
    origin, scale : (p,) float
        Origin in the units of the data, and factors by which x - origin is multiplied.
    coef : (p, K) float
        Coefficients of z.
    intercept : (K,) float
        Scores at the origin.
    close_groups : tuple of CloseClasses
        Classes so close together that their scores about this origin would lose digits.
    """

    origin: Floats
    scale: Floats
    coef: Floats
    intercept: Floats
    close_groups: tuple[CloseClasses, ...] = ()

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p) in the units of the data; NaN if a value is missing.

        They are defined up to a constant of each row. Rows whose best class is close to others are scored
        again by `close_groups`.
        """
        scores = self._products(x)
        scores += self.intercept
        return self._rescore_close_classes(x, scores) if self.close_groups else scores

    def _products(self, x: Floats) -> Floats:
        """Return the products z'coef (m, K), as a new array, for rows x (m, p)."""
        (m, p), n_classes = x.shape, len(self.intercept)
        # A fixed layout costs little with many classes. Small products in two layouts may round differently.
        has_many_classes = n_classes > MIN_CLASSES_FOR_PANELS
        z = standardize_columns(x, self.origin, self.scale, order="C" if has_many_classes else "K")
        if has_many_classes:
            scores = np.empty((m, n_classes))
            width = MAX_PANEL_ELEMENTS // max(m * p, 1) & -PANEL_MULTIPLE
            for class_slice in slices(n_classes, width or n_classes):
                np.matmul(z.T, self.coef[:, class_slice], out=scores[:, class_slice])
            return scores
        is_short = n_classes <= MAX_CLASSES_FOR_CHUNKS and x.strides[0] > x.strides[1]
        products = np.empty((n_classes, m))
        chunk_size = max(MAX_CHUNK_ELEMENTS // (p * n_classes) & -64, 64) if is_short else m
        # A single remaining row joins the last piece, because BLAS rounds matrix-vector products differently.
        for start, stop in pairwise([0, *range(chunk_size, m - 1, chunk_size), m]):
            np.matmul(self.coef.T, z[:, start:stop], out=products[:, start:stop])
        return products.T

    def _rescore_close_classes(self, x: Floats, scores: Floats) -> Floats:
        """Score the classes near the best class of each row again by the rule of their group.

        Scores of the other classes are shifted so that they keep their difference to the first member.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        scores : (m, K) float
            Scores of the rows; modified in place.

        Returns
        -------
        (m, K) float
            The array `scores`.
        """
        group_of_class = np.full(scores.shape[1], -1)
        for i, group in enumerate(self.close_groups):
            group_of_class[group.covered_classes] = i
        previous_ids = np.full(len(x), -1)
        for _ in range(MAX_RESCORINGS):
            group_ids = group_of_class[np.argmax(scores, axis=1)]
            changed_rows = np.flatnonzero((group_ids != previous_ids) & (group_ids >= 0))
            for i in np.unique(group_ids[changed_rows]).tolist():
                group = self.close_groups[i]
                rows = changed_rows[group_ids[changed_rows] == i]
                group_scores = group.rule.scores(x[rows])
                others = scores[rows]
                others += (group_scores[:, 0] - others[:, group.members[0]])[:, None]
                others[:, group.members] = group_scores
                scores[rows] = others
            if not len(changed_rows):
                break
            previous_ids = group_ids
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class CloseClasses:
    """Classes whose means are close together, compared to their distance from other classes.

    A row whose best class is covered is scored again by the rule of the members, about the first of them.

    Attributes
    ----------
    covered_classes : (c,) int
        Positions of the classes for which this group contains all close classes.
    members : (k,) int
        Positions of the classes that are close to the covered ones, and of these themselves.
    rule : LinearRule or OtherRule
        Rule that returns the scores (m, k) of the members, in this order.
    """

    covered_classes: NDArray[np.intp]
    members: NDArray[np.intp]
    rule: LinearRule | OtherRule


@dataclass(frozen=True, slots=True, eq=False)
class NearestMeanDistances:
    """Squared distances to class means in one metric, as the distance to the nearest mean plus differences.

    Attributes
    ----------
    rule : LinearRule
        Rule with scores -D2_k / 2, up to a constant of each row.
    centres, rests : (K, p) float
        Class means in the units of the data and their rounding errors in z, as in `ClassMoments`.
    whiten : callable
        Transforms columns (p, m) in z to columns (r, m) whose squared lengths are the squared distances.
    """

    rule: LinearRule
    centres: Floats
    rests: Floats
    whiten: Callable[[Floats], Floats]

    def squared(self, x: Floats) -> Floats:
        """Return the squared distances (K, m) of rows x (m, p), in the units of the data, to each mean."""
        scores = self.rule.scores(x)
        best = np.argmax(scores, axis=1)
        rows = np.arange(len(x))
        z = standardize_columns(x, self.centres[best].T, self.rule.scale)
        z -= self.rests[best].T
        excess = scores[rows, best][:, None] - scores
        excess *= 2
        excess += column_squares(self.whiten(z))[:, None]
        return np.asarray(excess.T)


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """Squared Mahalanobis distances to class means, in the coordinates z = (x - origin) * scale.

    Attributes
    ----------
    origin : (p,) or (K, p) float
        Common origin in the units of the data, or one for each class if each class has a covariance.
    scale : (p,) float
        Powers of two by which the columns are multiplied.
    means : (K, p) float
        Class means in the coordinates z of the common origin or of the origin of the class.
    covariances : tuple of Covariance
        Covariance of z: one for all classes, or one for each class.
    nearest : NearestMeanDistances or None
        If set, computes the distances more accurately; required by `squared` for a common covariance.
    """

    origin: Floats
    scale: Floats
    means: Floats
    covariances: tuple[Covariance, ...]
    nearest: NearestMeanDistances | None = None

    def squared(self, x: Floats) -> Floats:
        """Return the squared distances (K, m) of rows x (m, p), in the units of the data, to each mean."""
        if self.nearest is not None:
            return self.nearest.squared(x)
        distances = np.empty((len(self.means), len(x)))
        if x.strides[0] > x.strides[1]:
            x = np.ascontiguousarray(x.T).T  # Transpose once, not for each class.
        for k, covariance in enumerate(self.covariances):
            z = standardize_columns(x, self.origin[k], self.scale)
            z -= self.means[k][:, None]
            distances[k] = column_squares(covariance.whiten(z))
        return distances


@dataclass(frozen=True, slots=True, eq=False)
class GaussianRule:
    """Decision rule with scores constant_k - factor_k D2_k / 2: normal log densities and their debiased form.

    Attributes
    ----------
    distances : Distances
        Squared distances D2_k to the class means.
    constant, factor : (K,) float
        Constant and factor of each class.
    """

    distances: Distances
    constant: Floats
    factor: Floats

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p) in the units of the data, without missing values."""
        scores = self.distances.squared(x)
        scores *= -0.5 * self.factor[:, None]
        scores += self.constant[:, None]
        return scores.T


@dataclass(frozen=True, slots=True, eq=False)
class StudentRule:
    """Decision rule with scores constant_k - power_k log(1 + D2_k / dispersion_k): predictive densities.

    Attributes
    ----------
    distances : Distances or NearestMeanDistances
        Squared distances D2_k to the class means.
    constant, power, dispersion : (K,) float
        Constant, power and divisor of the distances of each class.
    """

    distances: Distances | NearestMeanDistances
    constant: Floats
    power: Floats
    dispersion: Floats

    def scores(self, x: Floats) -> Floats:
        """Return the log predictive densities plus log priors (m, K) of rows x (m, p), up to a constant.

        NaN if a value is missing.
        """
        scores = self.distances.squared(x)
        scores /= self.dispersion[:, None]
        np.log1p(scores, out=scores)
        scores *= -self.power[:, None]
        scores += self.constant[:, None]
        return scores.T


class MarginalColumns(Protocol):
    """Protocol of one or more columns that are independent of the other columns within classes."""

    def log_densities(self, x: Floats) -> Floats:
        """Return the log densities (K, m) of these columns of rows x (m, p).

        They are summed over the columns that are not missing (NaN), and minus infinity if impossible.
        """


@dataclass(frozen=True, slots=True, eq=False)
class IndependentRule:
    """Decision rule for columns that are independent within classes.

    Missing values (NaN) are integrated out: the density of a row is the product over its observed columns; if
    all are missing, the score is the log prior. The score is minus infinity if a row is impossible in a
    class.

    Attributes
    ----------
    has_impossible_rows : bool
        True: a row can be impossible in every class.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    normal : GaussianRule or None
        Rule of the normal columns for complete rows, with a diagonal covariance for each class; its constants
        include the log prior. None if no column is normal.
    positions : (q,) int
        Positions of the normal columns.
    other_columns : tuple of MarginalColumns
        Columns that are not normal.
    """

    has_impossible_rows: ClassVar[bool] = True

    log_prior: Floats
    normal: GaussianRule | None
    positions: NDArray[np.intp]
    other_columns: tuple[MarginalColumns, ...] = ()

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p): log prior plus log densities of the observed columns.

        Missing values are NaN. The score is minus infinity if the row is impossible in the class.
        """
        if self.normal is None:
            scores = np.repeat(self.log_prior[:, None], len(x), axis=1)
        else:
            normal_columns = x if len(self.positions) == x.shape[1] else x[:, self.positions]
            scores = self._normal_scores(self.normal, normal_columns).T
        for columns in self.other_columns:
            scores = scores + columns.log_densities(x)
        return np.asarray(scores.T)

    def _normal_scores(self, rule: GaussianRule, x: Floats) -> Floats:
        """Return the scores (m, K) by the normal columns x (m, q); missing values (NaN) are integrated out.

        `rule` is `normal`.
        """
        scores = rule.scores(x)
        rows = np.flatnonzero(np.isnan(x).any(axis=1))
        if not len(rows):
            return scores
        distances = rule.distances
        incomplete = x[rows]
        is_observed = ~np.isnan(incomplete.T)
        for k, covariance in enumerate(distances.covariances):
            z = (
                standardize_columns(incomplete, distances.origin[k], distances.scale)
                - distances.means[k][:, None]
            )
            density = -0.5 * covariance.whiten(z) ** 2 - np.log(covariance.root)[:, None]
            scores[rows, k] = self.log_prior[k] + np.where(is_observed, density, 0.0).sum(axis=0)
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSubsetRule:
    """Decision rule that uses the columns at some positions.

    Attributes
    ----------
    rule : Rule
        Rule that computes the scores.
    positions : (q,) int
        Positions of the columns that the rule uses.
    """

    rule: Rule
    positions: NDArray[np.intp]

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) by `rule` of the columns at `positions` of rows x (m, p)."""
        return self.rule.scores(np.take(x.T, self.positions, axis=0).T)


@dataclass(frozen=True, slots=True, eq=False)
class RuleOfClasses:
    """Decision rule for some of K classes; the scores of the other classes are minus infinity.

    Attributes
    ----------
    rule : Rule or None
        Rule of these classes; None for a single class, which is predicted for every row.
    class_positions : (C,) int
        Positions of the classes among all K.
    n_classes : int
        K.
    """

    rule: Rule | None
    class_positions: NDArray[np.intp]
    n_classes: int

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p), in the order of all K classes.

        They are the scores of `rule`, or zero if it is None, and minus infinity for the other classes.
        """
        out = np.full((len(x), self.n_classes), -np.inf)
        out[:, self.class_positions] = 0.0 if self.rule is None else self.rule.scores(x)
        return out


class OtherRule(Protocol):
    """Protocol of decision rules; rules that are defined in other modules have this type."""

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p): log posteriors up to a constant of each row."""


Rule = (
    LinearRule | GaussianRule | StudentRule | IndependentRule | ColumnSubsetRule | RuleOfClasses | OtherRule
)
"""Any decision rule: an object with a method `scores` that maps rows (m, p) to scores (m, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedRule:
    """Decision rule whose scores are calibrated.

    Attributes
    ----------
    rule : Rule
        Rule that computes the scores.
    calibrator : OtherRule
        Its method `scores` maps scores (m, K) of `rule` to calibrated log posteriors (m, K).
    shift : (K,) float
        Added to the log posteriors: the log ratio of another prior to the prior of the calibration, or zeros.
    """

    rule: Rule
    calibrator: OtherRule
    shift: Floats

    @property
    def has_impossible_rows(self) -> bool:
        """Whether the scores of a row can be minus infinity in every class, as for `rule`."""
        return bool(getattr(self.rule, "has_impossible_rows", False))

    def scores(self, x: Floats) -> Floats:
        """Return the log posteriors (m, K) of rows x (m, p), up to a constant of each row."""
        return np.asarray(self.calibrator.scores(self.rule.scores(x)) + self.shift)


class NoLikelihood:
    """Base class of estimates of models without a likelihood.

    Attributes
    ----------
    no_likelihood, no_parameters : str
        Codes of the errors that `llf` and `df_model` raise.
    """

    __slots__ = ()

    no_likelihood: ClassVar[str]
    no_parameters: ClassVar[str]

    def llf(self) -> NoReturn:
        """Raise NotSupportedError: the model does not have a likelihood."""
        raise CoreNotSupportedError(self.no_likelihood)

    def df_model(self) -> NoReturn:
        """Raise NotSupportedError: the model does not have a number of parameters."""
        raise CoreNotSupportedError(self.no_parameters)


def require_plugin_method(method: str, reason: str) -> None:
    """Raise NotSupportedError unless the method of the posteriors is "plugin".

    Parameters
    ----------
    method : str
        Method of the posteriors that the user requested.
    reason : str
        Why the other methods are not available, the end of a sentence such as "is defined for normal
        classes".
    """
    if method != "plugin":
        raise CoreNotSupportedError("plugin_only", method=method, cause=reason)


def log_of_prior(prior: Floats) -> Floats:
    """Return the logarithm of prior probabilities (K,); minus infinity for zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(prior))


def log_posteriors(scores: Floats) -> Floats:
    """Return the log posteriors of scores, which are log posteriors up to a constant of each row.

    Parameters
    ----------
    scores : (m, K) float
        Scores of the rows.

    Returns
    -------
    (m, K) float
        NaN for a row with a missing score, or with scores of minus infinity in every class (0/0).

    Examples
    --------
    >>> np.exp(log_posteriors(np.array([[-2000.0, -2000.0]]))).tolist()
    [[0.5, 0.5]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def posteriors(scores: Floats, out: Floats | None = None) -> Floats:
    """Return the posteriors of scores, the softmax of each row.

    Parameters
    ----------
    scores : (m, K) float
        Log posteriors up to a constant of each row; overwritten if `out` is set.
    out : (m, K) float or None
        Array for the result, which may be `scores`; None for a new one.

    Returns
    -------
    (m, K) float
        Each row sums to one, or is NaN as in `log_posteriors`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.subtract(scores, scores.max(axis=1, keepdims=True), out=None if out is None else scores)
    if weights.min(initial=0.0) < MIN_LOG_WEIGHT:
        np.putmask(weights, weights < MIN_LOG_WEIGHT, -np.inf)
    np.exp(weights, out=weights)
    # With many classes avoid a matrix product, in which threads would wait for each other.
    has_many_classes = weights.shape[1] > MIN_CLASSES_FOR_PANELS
    sums = weights.sum(axis=1) if has_many_classes else weights @ np.ones(weights.shape[1])
    return np.asarray(np.multiply(weights, 1 / sums[:, None], out=weights if out is None else out))


def log_odds_against(scores: Floats, position: int) -> Floats:
    """Return the log odds of every class against a reference class.

    Parameters
    ----------
    scores : (m, K) float
        Scores of the rows, which are log posteriors up to a constant of each row.
    position : int
        Position of the reference class.

    Returns
    -------
    (m, K) float
        Scores minus the score of the reference class. If the score of the reference class is minus infinity,
        the scores of the row are returned unchanged.
    """
    reference_scores = scores[:, position : position + 1]
    return np.asarray(scores - np.where(np.isneginf(reference_scores), 0.0, reference_scores))


def best_class(scores: Floats) -> NDArray[np.intp]:
    """Return the position of the largest score in each row; ties go to the first class.

    Parameters
    ----------
    scores : (m, K) float
        Scores of the rows.

    Returns
    -------
    (m,) int
        -1 for a row with a missing score, or with scores of minus infinity in every class.
    """
    if scores.shape[1] > MAX_CLASSES_FOR_CHUNKS:
        rows = np.ascontiguousarray(scores)
        best = np.argmax(rows, axis=1)
        largest = rows[np.arange(len(rows)), best]
    else:
        best = np.zeros(len(scores), dtype=np.intp)
        largest = scores[:, 0].copy()
        for k in range(1, scores.shape[1]):
            best[scores[:, k] > largest] = k
            np.maximum(largest, scores[:, k], out=largest)
    best[~(largest > -np.inf)] = -1
    return np.asarray(best)


def joint_scores(log_densities: Floats, prior: Floats) -> Floats:
    """Return the scores log_densities (m, K) + log(prior); minus infinity for classes of prior (K,) zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_densities + np.log(prior))


def least_cost_codes(scores: Floats, costs: Floats) -> Codes:
    """Return the class with the smallest expected cost in each row; ties go to the first class.

    Parameters
    ----------
    scores : (m, K) float
        Log posteriors up to a constant of each row.
    costs : (K, K) float
        Cost of predicting the class of the column if the class of the row is true.

    Returns
    -------
    (m,) int
        -1 for a row with a missing score, or with scores of minus infinity in every class.
    """
    if is_zero_one_cost(costs):
        return best_class(scores)
    return best_class(-(np.exp(log_posteriors(scores)) @ costs))


def is_zero_one_cost(costs: Floats) -> bool:
    """Return whether all errors cost one and correct predictions nothing, by costs (K, K)."""
    return bool((costs == 1 - np.eye(len(costs))).all())


def min_losses(joint: Floats, costs: Floats) -> Floats:
    """Return the smallest expected cost of each row over the classes that can be predicted.

    Parameters
    ----------
    joint : (m, K) float
        Joint probabilities, or densities, of rows and classes (posteriors for losses given the row).
    costs : (K, K) float
        Cost of predicting the class of the column if the class of the row is true.

    Returns
    -------
    (m,) float
        In the unit of `joint` times cost; for zero-one costs the sum of `joint` without its largest value.
    """
    if not is_zero_one_cost(costs):
        return np.asarray((joint @ costs).min(axis=1))
    remaining = joint.copy()
    remaining[np.arange(len(remaining)), remaining.argmax(axis=1)] = 0.0
    return np.asarray(remaining.sum(axis=1))


def accepts_sparse_rows(rule: Rule) -> bool:
    """Return whether `sparse_scores` can compute the scores of a rule from stored values of sparse rows.

    It can for a LinearRule without close groups, for an IndependentRule without normal columns whose other
    columns all have a true attribute `reads_sparse_rows`, and for a ColumnSubsetRule of such a rule.
    """
    if isinstance(rule, ColumnSubsetRule):
        return accepts_sparse_rows(rule.rule)
    if isinstance(rule, IndependentRule):
        return rule.normal is None and all(
            getattr(column, "reads_sparse_rows", False) for column in rule.other_columns
        )
    return isinstance(rule, LinearRule) and not rule.close_groups


def sparse_scores(rule: Rule, rows: SparseRows) -> Floats:
    """Return the scores of sparse rows without missing values, computed from their stored values.

    Parameters
    ----------
    rule : Rule
        A rule for which `accepts_sparse_rows` is true.
    rows : SparseRows
        Shape (m, p).

    Returns
    -------
    (m, K) float
        Log posteriors up to a constant of each row.

    Raises
    ------
    TypeError
        The rule is not a LinearRule, an IndependentRule or a ColumnSubsetRule of one of these. The other
        conditions of `accepts_sparse_rows` are not checked.
    """
    if isinstance(rule, ColumnSubsetRule):
        return sparse_scores(rule.rule, rows.select_columns(rule.positions))
    if isinstance(rule, IndependentRule):
        total = np.repeat(rule.log_prior[:, None], len(rows), axis=1)
        others: tuple[Any, ...] = rule.other_columns
        for column in others:
            total = total + column.log_densities(rows)
        return np.asarray(total.T)
    if not isinstance(rule, LinearRule):
        raise TypeError(f"{type(rule).__name__} does not accept sparse rows. Pass rows.to_dense().")
    base = ((rows.base - rule.origin) * rule.scale) @ rule.coef + rule.intercept
    return rows.products(base, rule.coef * rule.scale[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Plane of the points x with normal'(x - point) + value = 0.

    A reference point close to the rows avoids the loss of digits by a large offset.

    Attributes
    ----------
    normal : (p,) float
        Normal vector of the plane.
    point : (p,) float
        Reference point.
    value_at_point : float
        Value of the linear function at the point.

    Examples
    --------
    >>> plane, x = Plane(np.array([3.0, 4.0]), np.zeros(2), -10.0), np.array([[6.0, 8.0]])
    >>> plane.distances(x).tolist(), plane.perpendicular_feet(x).round(12).tolist()
    ([8.0], [[1.2, 1.6]])
    >>> plane.distance_from_origin
    2.0
    """

    normal: Floats
    point: Floats
    value_at_point: float

    @property
    def normal_length(self) -> float:
        """Length of the normal."""
        return float(np.hypot.reduce(self.normal))

    @property
    def offset(self) -> float:
        """The constant c of normal'x + c."""
        return self.value_at_point - float(self.normal @ self.point)

    @property
    def distance_from_origin(self) -> float:
        """Distance of the plane from the point zero; not negative."""
        return abs(self.offset) / self.normal_length

    def distances(self, x: Floats) -> Floats:
        """Return signed distances (m,) of rows (m, p), positive on the side to which the normal points."""
        return np.asarray(((x - self.point) @ self.normal + self.value_at_point) / self.normal_length)

    def perpendicular_feet(self, x: Floats) -> Floats:
        """Return the feet (m, p) of the perpendiculars from rows (m, p): the nearest points of the plane."""
        return np.asarray(x - np.outer(self.distances(x), self.normal / self.normal_length))
