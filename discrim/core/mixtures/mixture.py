"""Mixture discriminant analysis: fits, decision rules, likelihoods, and leave-one-out scores.

*Number and form* of the components can be chosen by BIC = df ln n - 2 llf of the n rows given their classes
(Schwarz, 1978, Annals of Statistics 6, 461-464; Fraley & Raftery, 2002); smaller is better. mclust prints the
negative of it.

*Large classes.* Numbers and forms are chosen from a sample of each class that is large
(`sample_large_classes`), and EM then continues with all rows (`continue_with_all_rows`).

*Leave-one-out* runs EM from the components of the fit, which needs few steps. If classes are fitted
separately, only the components of the row's own class change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.em import observed_moments
from discrim.core.covariance.principal import marginal_covariance
from discrim.core.errors import CoreDataError, InvalidStateError
from discrim.core.mixtures import em, incomplete, starts
from discrim.core.mixtures.em import ClassRows, Components, Degenerate, EMPlan
from discrim.core.mixtures.incomplete import MissingnessSummary
from discrim.core.mixtures.starts import Frames, Hierarchies
from discrim.core.moments.moments import ClassMoments, split_mean, standardize_columns
from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.gaussian import MarginalRule
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Distances, GaussianRule, Rule, require_plugin_method

ProgressCallback = Callable[[float], None]
"""Function that is called with the number of completed steps since the last call."""


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRule:
    """Decision rule with scores ln prior_k + ln sum_g t_kg N(x; m_kg, S_kg).

    Component g of class k has the mixing proportion t_kg, the mean m_kg and the covariance S_kg.

    Attributes
    ----------
    components : GaussianRule
        Rule with one score for each of the T components of all K classes: ln prior_k + ln t_kg plus the log
        density.
    first_components : (K,) int
        Position of the first component of each class among the T components.
    """

    components: GaussianRule
    first_components: Codes

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p): log joint densities of class and row, not normalized."""
        scores = self.components.scores(x)
        if len(self.first_components) == scores.shape[1]:
            return scores
        with np.errstate(invalid="ignore"):
            return np.asarray(np.logaddexp.reduceat(scores, self.first_components, axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class MixtureFit:
    """Fitted mixture discriminant analysis of K classes and p columns, with T components in total.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the rows; with missing values, moments implied by the components.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    forms : tuple of K str
        Covariance form of each class's components, one of `em.FORMS`; all equal if the classes are fitted
        together.
    together : bool
        Whether the form applies to the components of all classes jointly and not to each class separately.
    scale : (p,) float
        Powers of two by which columns in the units of the data are multiplied to get the coordinates of the
        components.
    components : Components
        Components of all classes, relative to the `centres` of their classes in the moments, in scaled
        columns.
    em_plan : EMPlan
        Options of EM.
    llf_given : float
        Log-likelihood of the observed values given the classes, in the units of the data.
    llf_rows : float
        Log-likelihood of the observed values without the classes, which the prior weights; NaN if it was not
        computed.
    run_counts : (K, 2) float
        For each class, the number of runs of EM to convergence, and how many of them reached the maximum;
        equal rows if the classes are fitted together. Empty if they are unknown; not updated by `refit`.
    completed : MissingnessSummary or None
        Summary of missing values, if the fit uses rows with missing values. Set by the caller of
        `fit_mixture`.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    forms: tuple[str, ...]
    together: bool
    scale: Floats
    components: Components
    em_plan: EMPlan
    llf_given: float
    llf_rows: float = np.nan
    run_counts: Floats = field(default_factory=lambda: np.empty((0, 2)))
    completed: MissingnessSummary | None = None

    has_distances = False

    def validate(self) -> None:
        """Raise InvalidStateError if numbers or shapes of a stored fit contradict each other.

        Forms have to be known, one for each class. The numbers of components have to match classes, mixing
        proportions, means and covariances; the shapes of the covariances have to match their forms. Mixing
        proportions and scales have to be positive.
        """
        components = self.components
        sizes = components.sizes
        if len(self.forms) != len(self.prior) or any(form not in em.FORMS for form in self.forms):
            raise InvalidStateError(
                "the number of its covariance forms differs from its number of classes, or a form is unknown"
            )
        counts = len(components.mixing_proportions), len(components.means), len(components.covariances)
        if len(sizes) != len(self.prior) or min(sizes) < 1 or set(counts) != {sum(sizes)}:
            raise InvalidStateError("its numbers of components do not match its classes")
        if not ((components.mixing_proportions > 0).all() and (self.scale > 0).all()):
            raise InvalidStateError("a mixing proportion or a scale of its components is not positive")
        p = self.moments.n_columns
        for form, component_slice in zip(self.forms, components.class_slices(), strict=True):
            shape = (p,) if em.is_axial(form) else (p, p)
            if any(covariance.root.shape != shape for covariance in components.covariances[component_slice]):
                raise InvalidStateError("its covariances do not match their forms")

    @property
    def form_scope(self) -> str:
        """Scope of a form: "classes" if it applies to all classes jointly, "class" if to each separately."""
        return "classes" if self.together else "class"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of components of each class."""
        return self.components.sizes

    @property
    def component_classes(self) -> Codes:
        """Class (T,) of each component."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def converged(self) -> bool:
        """Whether EM converged, for every class."""
        return self.components.converged

    @property
    def maxiter(self) -> int:
        """Maximum number of steps of each run of EM."""
        return self.em_plan.maxiter

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> MixtureRule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method : str
            Method of the posteriors: only "plugin", which uses the estimates as if they were the parameters.
            Other methods raise CoreNotSupportedError.
        convention : str, optional
            Not used.

        Returns
        -------
        MixtureRule
            Scores rows of all p columns, in the units of the data and without missing values.
        """
        require_plugin_method(
            method, "is not available for mixtures, because the components of the observations are unknown"
        )
        return self.rule_for_columns(log_prior, np.arange(len(self.scale)))

    def rule_for_columns(self, log_prior: Floats, keep: Codes) -> MixtureRule:
        """Return the decision rule that uses only some columns, with the others integrated out.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        keep : (q,) int
            Positions of the columns that are used.

        Returns
        -------
        MixtureRule
            Scores rows (m, q) of these columns only, in the order of `keep`.
        """
        components = self.components
        owner = self.component_classes
        scale = self.scale[keep]
        covariances = components.covariances
        if len(keep) < len(self.scale):
            covariances = tuple(marginal_covariance(covariance, keep) for covariance in covariances)
        logdets = np.array([covariance.logdet for covariance in covariances])
        constant = (
            log_prior[owner]
            + np.log(components.mixing_proportions)
            - 0.5 * (logdets - 2 * np.log(scale).sum())
        )
        constant -= 0.5 * len(keep) * np.log(2 * np.pi)
        origin = self.moments.centres[:, keep][owner]
        distances = Distances(origin, scale, components.means[:, keep], covariances)
        first_components = np.cumsum((0, *self.sizes[:-1]))
        return MixtureRule(GaussianRule(distances, constant, np.ones(len(constant))), first_components)

    def marginal_rule(self, log_prior: Floats) -> MarginalRule:
        """Return the rule that integrates out missing values of a row, under log priors (K,)."""
        return MarginalRule(self.rule(log_prior), log_prior, partial(self.rule_for_columns, log_prior))

    def marginal_component_rule(self, log_prior: Floats) -> MarginalRule:
        """Return the rule for rows with missing values that has a score (m, T) for each component.

        The score is the log prior of the class, from `log_prior` (K,), plus the logs of mixing proportion
        and density of the observed values.
        """
        component_constants = log_prior[self.component_classes] + np.log(self.components.mixing_proportions)

        def of_columns(keep: Codes) -> Rule:
            """Return the rule with a score for each component (m, T), for rows of the columns `keep` (q,)."""
            return self.rule_for_columns(log_prior, keep).components

        return MarginalRule(self.rule(log_prior).components, component_constants, of_columns)

    def of_classes(self, keep: Codes) -> MixtureFit:
        """Return the fit with the components of some classes only, as initial values of EM.

        Only `components` and, unless the classes are fitted together, `forms` are selected.

        Parameters
        ----------
        keep : (C,) int
            Positions of the classes, in increasing order.

        Returns
        -------
        MixtureFit
            Moments, prior, log-likelihoods and `run_counts` are still of all K classes.
        """
        component_index = np.flatnonzero(np.isin(self.component_classes, keep))
        all_components = self.components
        components = replace(
            all_components,
            sizes=tuple(all_components.sizes[k] for k in keep.tolist()),
            mixing_proportions=all_components.mixing_proportions[component_index],
            means=all_components.means[component_index],
            covariances=tuple(all_components.covariances[g] for g in component_index.tolist()),
        )
        forms = self.forms if self.together else tuple(self.forms[k] for k in keep.tolist())
        return replace(self, components=components, forms=forms)

    def means(self) -> Floats:
        """Return the means (T, p) of the components in the units of the data, not as deviations."""
        return np.asarray(self.moments.centres[self.component_classes] + self.components.means / self.scale)

    def component_covariance(self, g: int) -> Floats:
        """Return the covariance (p, p) of component g, one of all T, in the units of the data.

        Entries outside the range of float64 are infinite or zero.
        """
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.components.covariances[g].matrix() / self.scale / self.scale[:, None])

    def df_given(self) -> int:
        """Return the number of free mixing proportions, means and covariance parameters."""
        p = len(self.scale)
        sizes = self.sizes
        count = sum(size * p + size - 1 for size in sizes)
        if self.together:
            return count + em.form_parameters(self.forms[0], sum(sizes), p)
        return count + sum(em.form_parameters(*pair, p) for pair in zip(self.forms, sizes, strict=True))

    def df_model(self) -> int:
        """Return `df_given()`, plus K - 1 if the prior is estimated."""
        return self.df_given() + (len(self.prior) - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and observed values.

        Minus infinity if a class with rows has the prior zero.
        """
        with np.errstate(divide="ignore"):
            return float(self.moments.counts @ np.log(self.prior)) + self.llf_given

    def refit(self, x: Floats, codes: Codes, weights: Floats | None) -> MixtureFit | None:
        """Fit the same model to other rows, with these components as initial values.

        Only `components` and `llf_given` are replaced: moments, prior and `llf_rows` are still of this fit.

        Parameters
        ----------
        x : (n, p) float
            Rows in the units of the data.
        codes : (n,) int
            Class of each row.
        weights : (n,) float or None
            Frequency weights; None if all are one.

        Returns
        -------
        MixtureFit or None
            None if EM degenerates, or a class is without rows or without observed values in some column.
        """
        rows = rows_by_class(x, codes, weights, self.moments.centres, self.scale)
        if not has_all_means(x, codes, len(rows)):
            return None
        components = _refit_components(rows, self)
        return None if isinstance(components, Degenerate) else self._with_components(components, rows)

    def _with_components(self, components: Components, rows: Sequence[ClassRows]) -> MixtureFit:
        """Return the fit with other components after EM, and their log-likelihood in the units of the data.

        `rows`, to which the components were fitted, are in the coordinates of the fit.
        """
        log_scale = np.log(self.scale)
        if incomplete.has_missing(rows):
            unit_correction = sum(float(log_scale @ (~np.isnan(row.z) @ row.weights)) for row in rows)
        else:
            unit_correction = sum(float(row.weights.sum()) for row in rows) * float(log_scale.sum())
        # Inverse factors are computed as in a loaded fit, which is then equal to the last digit.
        covariances = tuple(Covariance.from_root(covariance.root) for covariance in components.covariances)
        llf_given = components.llf + unit_correction
        return replace(self, components=replace(components, covariances=covariances), llf_given=llf_given)

    def with_implied_moments(self) -> MixtureFit:
        """Return the fit with class means and variances implied by the components in its moments.

        They replace the moments of observed values; the components are expressed relative to the new means.
        """
        moments = self.moments
        components = self.components
        scale = self.scale
        means = np.empty_like(moments.centres)
        variances = np.empty_like(means)
        for k, component_slice in enumerate(components.class_slices()):
            proportions = components.mixing_proportions[component_slice]
            component_means = components.means[component_slice]
            means[k] = proportions @ component_means
            sd = np.stack([covariance.sd for covariance in components.covariances[component_slice]])
            variances[k] = proportions @ (sd**2 + (component_means - means[k]) ** 2)
        centres, centre_remainders = split_mean(moments.centres, means, scale)
        centred_components = replace(
            components, means=components.means - (means - centre_remainders)[self.component_classes]
        )
        squares = moments.counts[:, None] * variances
        moments = ClassMoments(moments.counts, moments.rows, centres, centre_remainders, scale, squares)
        return replace(self, moments=moments, components=centred_components)


def rows_by_class(
    x: Floats, codes: Codes, weights: Floats | None, centres: Floats, scale: Floats
) -> list[ClassRows]:
    """Split rows by class, and express them as scaled deviations from the centre of their class.

    Parameters
    ----------
    x : (n, p) float
        Rows in the units of the data.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.
    centres : (K, p) float
        Origins of the deviations, in the units of the data.
    scale : (p,) float
        Factors by which the deviations are multiplied.

    Returns
    -------
    list of K ClassRows
        Missing values stay NaN.
    """
    w = np.ones(len(x)) if weights is None else weights
    classes = ((codes == k, centre) for k, centre in enumerate(centres))
    return [ClassRows(standardize_columns(x[rows], centre, scale), w[rows]) for rows, centre in classes]


def common_scale(moments: ClassMoments, forms: Sequence[str]) -> Floats:
    """Return powers of two that bring deviations from class means near one.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    forms : sequence of str
        Covariance forms. If one of them is not scale equivariant (`em.is_scale_equivariant`), all columns
        have the same factor, the smallest one; for an empty sequence each has its own.

    Returns
    -------
    (p,) float
        Factors of the columns in the units of the data, from their standard deviations within classes. A
        column that does not vary within classes is treated like the column with the largest variance.
    """
    variances = moments.squares.sum(axis=0) / moments.total
    positive = variances > 0
    sd = np.sqrt(np.where(positive, variances, variances.max(initial=0.0)))
    if not positive.any():
        sd = np.ones(len(sd))
    # Differences of exponents stay within the range of float64.
    exponents = np.frexp(moments.scale)[1] - np.frexp(sd)[1]
    if not all(em.is_scale_equivariant(form) for form in forms):
        exponents = np.full(len(sd), exponents[positive].min() if positive.any() else exponents.min())
    return np.asarray(np.ldexp(1.0, exponents))


def sort_rows(
    x: Floats, codes: Codes, weights: Floats | None, n_classes: int
) -> tuple[ClassMoments, Floats, Codes, Floats | None]:
    """Sort rows by class and value, and compute their diagonal moments.

    Sums, random draws and ties are then bitwise independent of the order of the table.

    Parameters
    ----------
    x : (n, p) float
        Rows in the units of the data.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.
    n_classes : int
        Number of classes.

    Returns
    -------
    moments : ClassMoments
        Diagonal moments of the observed values.
    x : (n, p) float
        The rows sorted by class, then by their columns from first to last, then by weight.
    codes : (n,) int
        Class of each sorted row.
    weights : (n,) float or None
        Frequency weights of the sorted rows.
    """
    order = np.lexsort((x[:, 0], codes))
    is_tied = (np.diff(codes[order]) == 0) & (np.diff(x[order, 0]) == 0)
    if is_tied.any() or np.isnan(x).any():
        weight_keys = [] if weights is None else [weights]
        order = np.lexsort((*weight_keys, *x.T[::-1], codes))
    x = x[order]
    codes = codes[order]
    weights = None if weights is None else weights[order]
    return _diagonal_moments(x, codes, weights, n_classes), x, codes, weights


def _diagonal_moments(x: Floats, codes: Codes, weights: Floats | None, n_classes: int) -> ClassMoments:
    """Return the diagonal moments of the observed values of rows x (n, p), some of which can be NaN."""
    if np.isnan(x).any():
        return observed_moments(x, codes, weights, n_classes)
    return ClassMoments.from_block(x, codes, weights, n_classes=n_classes, required_moments="diagonal")


MIN_SEARCH_ROWS = 5000
"""Minimum sample size of a class from which numbers and forms of components are chosen."""

SEARCH_ROWS_PER_COLUMN = 500
"""Sample size of a class per column, if that is larger."""


SEARCH_TOLERANCE = 1e-6
"""Gain of log-likelihood per unit of weight at which EM ends on such a sample, if `EMPlan.tol` is smaller.

On 5,000 rows a step then gains less than .005, which is small relative to the penalty of BIC.
"""


def max_search_rows(n_columns: int) -> int:
    """Return the sample size of a class for the choice by BIC, which uses all rows of smaller classes."""
    return max(MIN_SEARCH_ROWS, SEARCH_ROWS_PER_COLUMN * n_columns)


def sample_large_classes(
    moments: ClassMoments, x: Floats, codes: Codes, weights: Floats | None
) -> tuple[ClassMoments, Floats, Codes, Floats | None] | None:
    """Sample classes with more than `max_search_rows` distinct rows, at equal steps of the order of rows.

    The total weight of the class has to exceed this number too.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    x : (n, p) float
        Rows in the units of the data, in the order of `sort_rows`.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.

    Returns
    -------
    tuple or None
        Moments, rows, classes and weights of the sample, in the same order. A sampled row has the weight one,
        and a row of large weight can occur several times. None if no class is that large, or if a class has
        no observed values of some column in the sample.
    """
    size = max_search_rows(x.shape[1])
    # Equal rows are adjacent. They count once, such that a weight is equivalent to repeated rows.
    is_new = np.diff(codes) != 0
    for column in x.T:
        is_new |= (np.diff(column) != 0) & ~(np.isnan(column[1:]) & np.isnan(column[:-1]))
    n_distinct = np.bincount(codes[np.append(0, 1 + np.flatnonzero(is_new))], minlength=moments.n_classes)
    is_large = (n_distinct > size) & (moments.counts > size)
    if not is_large.any():
        return None
    row_weights = np.ones(len(x)) if weights is None else weights.copy()
    positions = []
    for k in range(moments.n_classes):
        class_rows = np.flatnonzero(codes == k)
        if is_large[k]:
            fractions = (np.arange(size) + 0.5) / size
            class_rows = class_rows[starts.positions_at_weights(row_weights[class_rows], fractions)]
            row_weights[class_rows] = 1.0
        positions.append(class_rows)
    sample = np.concatenate(positions)
    x = x[sample]
    codes = codes[sample]
    if not has_all_means(x, codes, moments.n_classes):
        return None
    weights = None if weights is None else row_weights[sample]
    return _diagonal_moments(x, codes, weights, moments.n_classes), x, codes, weights


def has_all_means(x: Floats, codes: Codes, n_classes: int) -> bool:
    """Return whether each class has an observed value in each column.

    Parameters
    ----------
    x : (n, p) float
        Rows in the units of the data.
    codes : (n,) int
        Class of each row.
    n_classes : int
        Number of classes.

    Returns
    -------
    bool
    """
    observed = ~np.isnan(x)
    return all(bool(observed[codes == k].any(axis=0).all()) for k in range(n_classes))


def class_hierarchies(
    moments: ClassMoments, x: Floats, codes: Codes, weights: Floats | None, seed: int
) -> list[Hierarchies]:
    """Cluster the rows of each class hierarchically, after missing values are replaced by draws.

    Before the replacement, each column is multiplied by a power of two that brings its deviations from the
    class means near one. The clustering itself standardizes the columns in each class.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    x : (n, p) float
        Rows in the units of the data, in the order of `sort_rows`.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.
    seed : int
        Seed of the draws that replace missing values.

    Returns
    -------
    list of K Hierarchies
        One for each class; its `rows` are positions among the rows of the class.
    """
    rows = rows_by_class(x, codes, weights, moments.centres, common_scale(moments, ()))
    return [starts.build_hierarchies(*row) for row in incomplete.impute_rows(rows, seed)]


@dataclass(frozen=True, slots=True)
class MixtureStructure:
    """Number and covariance form of the components of each class.

    Attributes
    ----------
    sizes : sequence of K int
        Number of components of each class.
    forms : sequence of K str
        Covariance form of each class, one of `em.FORMS`.
    together : bool
        Whether the form, which is then equal for all classes, applies to the components of all classes
        jointly.
    """

    sizes: Sequence[int]
    forms: Sequence[str]
    together: bool


def fit_mixture(
    moments: ClassMoments,
    block: RowBlock,
    prior: Floats,
    structure: MixtureStructure,
    plan: EMPlan,
    *,
    hierarchies: Sequence[Hierarchies] | None = None,
    estimated_prior: bool = True,
    with_marginal_llf: bool = True,
    progress: ProgressCallback = lambda more: None,
) -> MixtureFit | Degenerate:
    """Fit mixtures of normals to the classes by EM, from the best of several starts.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows, as returned by `sort_rows`.
    block : tuple of x (n, p), codes (n,) and weights (n,) or None
        All rows in the units of the data, their classes and frequency weights, in the order of `sort_rows`.
    prior : (K,) float
        Prior probabilities of the classes.
    structure : MixtureStructure
        Number and form of the components.
    plan : EMPlan
        Options of EM.
    hierarchies : sequence of Hierarchies, optional
        Result of `class_hierarchies`; computed by default if a class has several components, otherwise not
        used.
    estimated_prior : bool
        Whether the prior is the class proportions.
    with_marginal_llf : bool
        Whether to compute `llf_rows`, which is NaN otherwise.
    progress : callable
        Called with 1 after each step of EM to convergence, in all runs.

    Returns
    -------
    MixtureFit or Degenerate
        The fit, whose `converged` can be false and whose `completed` is None. If values are missing, the
        moments of the fit are implied by its components and differ from the argument `moments`. Degenerate if
        EM degenerated from every start, for some class; `k` is then the position of the class among all.
    """
    x, codes, weights = block
    forms = structure.forms
    sizes = structure.sizes
    together = structure.together
    scale = common_scale(moments, forms)
    rows = rows_by_class(x, codes, weights, moments.centres, scale)
    if hierarchies is None and max(sizes) > 1:
        hierarchies = [starts.build_hierarchies(*row) for row in incomplete.impute_rows(rows, plan.seed)]
    fitted: list[Components] = []
    run_counts = np.empty((len(rows), 2))
    for group in _classes_fitted_together(len(rows), together):
        components, run_counts[group] = _fit_from_starts(
            [rows[k] for k in group],
            [sizes[k] for k in group],
            forms[group[0]],
            plan,
            moments.select_classes(np.array(group)).rescale(scale),
            [] if hierarchies is None else [hierarchies[k] for k in group],
            progress,
        )
        if isinstance(components, Degenerate):
            return components._replace(k=group[components.k])
        fitted.append(components)
    components = fitted[0] if together else _concatenate_components(fitted)
    fit = MixtureFit(moments, prior, estimated_prior, tuple(forms), together, scale, components, plan, np.nan)
    fit = replace(fit, run_counts=run_counts)
    return _complete_fit(fit, rows, block, with_marginal_llf=with_marginal_llf)


def _complete_fit(
    fit: MixtureFit, rows: Sequence[ClassRows], block: RowBlock, *, with_marginal_llf: bool = True
) -> MixtureFit:
    """Compute the log-likelihoods of a fit and, with missing values, the moments implied by its components.

    Parameters
    ----------
    fit : MixtureFit
        The fit after EM.
    rows : sequence of K ClassRows
        Its rows, in the coordinates of the fit.
    block : tuple of x (n, p), codes (n,) and weights (n,) or None
        The same rows in the units of the data.
    with_marginal_llf : bool
        Whether to compute `llf_rows`.

    Returns
    -------
    MixtureFit
    """
    fit = fit._with_components(fit.components, rows)
    if incomplete.has_missing(rows):
        fit = fit.with_implied_moments()
    if not with_marginal_llf:
        return fit
    x, _, weights = block
    with np.errstate(divide="ignore"):
        scores = fit.marginal_rule(np.log(fit.prior)).scores(x)
    max_scores = scores.max(axis=1)
    log_densities = max_scores + np.log(np.exp(scores - max_scores[:, None]).sum(axis=1))
    return replace(fit, llf_rows=float(log_densities.sum() if weights is None else weights @ log_densities))


def continue_with_all_rows(
    fit: MixtureFit,
    moments: ClassMoments,
    block: RowBlock,
    plan: EMPlan,
    progress: ProgressCallback = lambda more: None,
) -> MixtureFit | Degenerate:
    """Run EM on all rows from the components of a fit to a sample of them.

    Parameters
    ----------
    fit : MixtureFit
        Fit to the rows of `sample_large_classes`.
    moments : ClassMoments
        Diagonal moments of all rows, as returned by `sort_rows`.
    block : tuple of x (n, p), codes (n,) and weights (n,) or None
        All rows in the units of the data, their classes and frequency weights.
    plan : EMPlan
        Options of EM.
    progress : callable
        Called with 1 after each step of EM.

    Returns
    -------
    MixtureFit or Degenerate
        The fit to all rows; Degenerate if EM degenerates.
    """
    scale = common_scale(moments, fit.forms)
    ratio = scale / fit.scale
    shifts = (fit.moments.centres - moments.centres)[fit.component_classes] * scale
    components = replace(
        fit.components,
        means=fit.components.means * ratio + shifts,
        covariances=tuple(Covariance.from_root(cov.root * ratio) for cov in fit.components.covariances),
    )
    fit = replace(fit, moments=moments, scale=scale, components=components, em_plan=plan)
    rows = rows_by_class(*block, moments.centres, scale)
    result = _refit_components(rows, fit, progress)
    return (
        result
        if isinstance(result, Degenerate)
        else _complete_fit(replace(fit, components=result), rows, block)
    )


def _classes_fitted_together(n_classes: int, together: bool) -> list[list[int]]:
    """Return the lists of classes that are fitted together: one list of all classes, or one for each."""
    return [list(range(n_classes))] if together else [[k] for k in range(n_classes)]


def _fit_from_starts(
    original_rows: Sequence[ClassRows],
    sizes: Sequence[int],
    form: str,
    plan: EMPlan,
    moments: ClassMoments,
    hierarchies: Sequence[Hierarchies],
    progress: ProgressCallback,
) -> tuple[Components | Degenerate, tuple[int, int]]:
    """Fit a mixture to classes that are fitted together, from several starts.

    Parameters
    ----------
    original_rows : sequence of ClassRows
        Rows of the classes, in the coordinates of the fit.
    sizes : sequence of int
        Number of components of each class.
    form : str
        Covariance form, one of `em.FORMS`.
    plan : EMPlan
        Options of EM.
    moments : ClassMoments
        Diagonal moments of these classes, in the coordinates of the fit.
    hierarchies : sequence of Hierarchies
        Hierarchical clusterings of each class; empty if each class has one component.
    progress : callable
        Called with 1 after each step of EM to convergence.

    Returns
    -------
    components : Components or Degenerate
        The result with the largest likelihood, in the coordinates of the fit. If starts were compared on
        samples of the rows, the run on all rows from the best start from which it does not degenerate.
        Degenerate if every run degenerated, or every covariance of the form is singular.
    runs : (int, int)
        Number of runs to convergence, and number of runs that reached the maximum. (1, 1) if each class has
        one component or starts were compared on samples; (0, 0) if every covariance of the form is singular.
        With missing values, numbers of runs on the incomplete rows, as returned by
        `incomplete.fit_from_starts`.
    """
    if incomplete.has_missing(original_rows):
        return incomplete.fit_from_starts(original_rows, sizes, form, plan, hierarchies, progress)
    try:
        frames = starts.choose_frames(original_rows, form, moments)
    except np.linalg.LinAlgError:
        return Degenerate(0, 0, "singular", float(original_rows[0].weights.sum())), (0, 0)
    rows = starts.rows_to_frames(original_rows, frames)
    if max(sizes) == 1:
        em_result = em.m_step(rows, [row.weights[None] for row in rows], form)
        if not isinstance(em_result, Degenerate):
            em_result = em.run_em(
                em_result, rows, form, tol=plan.tol, maxiter=plan.maxiter, progress=progress
            )
        return _result_from_frames(em_result, rows, frames), (1, 1)
    trials = starts.run_starts(original_rows, rows, sizes, form, plan, hierarchies, progress)
    if trials.n_converged:
        return _result_from_frames(trials.results[0], rows, frames), (trials.n_converged, trials.n_reached)
    # A start that was best after a few steps may degenerate; then continue with the next best.
    for trial in trials.results:
        em_result = trial
        if not isinstance(trial, Degenerate):
            em_result = em.run_em(trial, rows, form, tol=plan.tol, maxiter=plan.maxiter, progress=progress)
        if not isinstance(em_result, Degenerate):
            break
    return _result_from_frames(em_result, rows, frames), (1, 1)


def _result_from_frames(
    em_result: Components | Degenerate, rows: Sequence[ClassRows], frames: Frames
) -> Components | Degenerate:
    """Transform components from the frames to the coordinates of the fit.

    Means, covariances, common axes and `path` are transformed. A degenerate result is returned unchanged, and
    so are components without frames (None).
    """
    return (
        em_result
        if isinstance(em_result, Degenerate)
        else starts.components_from_frames(em_result, rows, frames)
    )


def _refit_components(
    original_rows: Sequence[ClassRows], fit: MixtureFit, progress: ProgressCallback = lambda more: None
) -> Components | Degenerate:
    """Run EM from the components of a fit.

    Parameters
    ----------
    original_rows : sequence of K ClassRows
        Rows of each class, in the coordinates of the fit.
    fit : MixtureFit
        The fit whose components are the initial values.
    progress : callable
        Called with 1 after each step.

    Returns
    -------
    Components or Degenerate
        Components in the coordinates of the fit; Degenerate for the first class that degenerates, with `k`
        the position of the class among all K.
    """
    fitted = []
    for group in _classes_fitted_together(len(original_rows), fit.together):
        rows = [original_rows[k] for k in group]
        form = fit.forms[group[0]]
        start = fit.components if fit.together else select_class(fit.components, group[0])
        em_result = _refit_together(start, rows, form, fit.em_plan, progress)
        if isinstance(em_result, Degenerate):
            return em_result._replace(k=group[em_result.k])
        fitted.append(em_result)
    return fitted[0] if fit.together else _concatenate_components(fitted)


def _refit_together(
    start: Components,
    original_rows: Sequence[ClassRows],
    form: str,
    plan: EMPlan,
    progress: ProgressCallback,
) -> Components | Degenerate:
    """Run EM from initial components for classes that are fitted together.

    Rows, initial components and result are in the coordinates of the fit; EM runs in frames. The result is
    Degenerate, with the reason "singular" for the first component, if the frames do not exist.
    """
    try:
        frames = _frames_of_complete_rows(original_rows, form)
    except np.linalg.LinAlgError:
        return Degenerate(0, 0, "singular", float(original_rows[0].weights.sum()))
    rows = starts.rows_to_frames(original_rows, frames)
    return _result_from_frames(
        _run_em(starts.components_to_frames(start, frames), rows, form, plan, progress), rows, frames
    )


def _frames_of_complete_rows(original_rows: Sequence[ClassRows], form: str) -> Frames:
    """Return one frame for each class, or None if EM runs in the coordinates of the fit.

    It does so if values are missing, no scatter loses digits, or the form is diagonal. Raises
    numpy.linalg.LinAlgError only if the rows are exactly singular.
    """
    return None if incomplete.has_missing(original_rows) else starts.choose_frames(original_rows, form)


def _run_em(
    start: Components,
    rows: Sequence[ClassRows],
    form: str,
    plan: EMPlan,
    progress: ProgressCallback = lambda more: None,
) -> Components | Degenerate:
    """Run EM from initial components, for rows with or without missing values, in the coordinates of both.

    The result is the one of `em.run_em` or, with missing values, of `incomplete.run_em_incomplete`.
    """
    climb = incomplete.run_em_incomplete if incomplete.has_missing(rows) else em.run_em
    return climb(start, rows, form, tol=plan.tol, maxiter=plan.maxiter, progress=progress)


def select_class(components: Components, k: int) -> Components:
    """Return the components of class k only; axes, path and `converged` are still of all classes."""
    component_slice = components.class_slices()[k]
    return replace(
        components,
        sizes=components.sizes[k : k + 1],
        mixing_proportions=components.mixing_proportions[component_slice],
        means=components.means[component_slice],
        covariances=components.covariances[component_slice],
    )


def _concatenate_components(components_by_class: Sequence[Components]) -> Components:
    """Concatenate the components of classes that were fitted separately.

    The path has one value, the sum of the last log-likelihoods; common axes are dropped. `converged` is true
    if EM converged for every class.
    """
    return Components(
        tuple(size for components in components_by_class for size in components.sizes),
        np.concatenate([components.mixing_proportions for components in components_by_class]),
        np.concatenate([components.means for components in components_by_class]),
        tuple(covariance for components in components_by_class for covariance in components.covariances),
        None,
        (sum(components.llf for components in components_by_class),),
        all(components.converged for components in components_by_class),
    )


class FormCandidate(NamedTuple):
    """Fit criteria of one candidate number and form of components.

    Attributes
    ----------
    components : int
        Number of components of each class.
    form : str
        Covariance form, one of `em.FORMS`.
    df : int
        Number of free parameters without the prior; 0 if EM degenerated.
    llf, bic : float
        Log-likelihood of rows given their classes, and df ln N - 2 llf with N the total weight. NaN if EM
        degenerated.
    """

    components: int
    form: str
    df: int
    llf: float
    bic: float


def form_candidates(sizes: Sequence[int], forms: Sequence[str], classes: int) -> list[tuple[int, str]]:
    """Return all combinations of numbers and forms of components.

    Of forms that coincide for a single component in total, only the first is listed.

    Parameters
    ----------
    sizes : sequence of int
        Candidate numbers of components of a class.
    forms : sequence of str
        Candidate covariance forms.
    classes : int
        Number of classes that share the form.

    Returns
    -------
    list of (int, str)
        Number of components and form, the first in the order of `sizes` and then of `forms`.
    """
    distinct: list[tuple[int, str]] = []
    for size in sizes:
        names: set[str] = set()
        for form in forms:
            name = em.form_name(form, size * classes)
            if name not in names:
                distinct.append((size, form))
            names.add(name)
    return distinct


def fit_candidates(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    sizes_and_forms: Sequence[tuple[int, str]],
    plan: EMPlan,
    progress: ProgressCallback = lambda more: None,
) -> list[FormCandidate]:
    """Fit each candidate number and form of components to classes that share the form.

    All classes of the moments are fitted together, with the same number of components.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    x : (n, p) float
        Rows in the units of the data, in the order of `sort_rows`.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.
    sizes_and_forms : sequence of (int, str)
        Number of components of each class and covariance form of each candidate.
    plan : EMPlan
        Options of EM.
    progress : callable
        Called with 1 after each candidate.

    Returns
    -------
    list of FormCandidate
        In the order of `sizes_and_forms`; df is 0 and llf and bic are NaN if EM degenerated from every start.
    """
    proportions = moments.counts / moments.total
    fits = []
    needs_hierarchies = any(size > 1 for size, _ in sizes_and_forms)
    hierarchies = class_hierarchies(moments, x, codes, weights, plan.seed) if needs_hierarchies else None
    for size, form in sizes_and_forms:
        k = moments.n_classes
        structure = MixtureStructure([size] * k, [form] * k, together=True)
        fit = fit_mixture(
            moments,
            (x, codes, weights),
            proportions,
            structure,
            plan,
            hierarchies=hierarchies,
            with_marginal_llf=False,
        )
        progress(1)
        if isinstance(fit, Degenerate):
            fits.append(FormCandidate(size, form, 0, np.nan, np.nan))
            continue
        df = fit.df_given()
        llf = fit.llf_given
        fits.append(FormCandidate(size, form, df, llf, float(df * np.log(moments.total) - 2 * llf)))
    return fits


class _Group(NamedTuple):
    """Rows and components of classes that are fitted together, in the frames in which EM runs.

    Attributes
    ----------
    rows : list of ClassRows
        All rows of the classes, in the frames.
    components : Components
        Fitted components of the classes, in the frames.
    frames : sequence of StartFrame or None
        The frames, computed from all rows; None if EM runs in the coordinates of the fit.
    """

    rows: list[ClassRows]
    components: Components
    frames: Frames


def leave_one_out_scorer(
    fit: MixtureFit, log_prior: Floats, x: Floats, codes: Codes, weights: Floats | None
) -> LeaveOneOutScorer:
    """Return a function that computes leave-one-out scores of rows of the fit.

    EM starts at the fitted components. The prior does not change, and a weight falls by at most one.

    Parameters
    ----------
    fit : MixtureFit
        The fit.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    x : (n, p) float
        All rows of the fit, in the units of the data; NaN if missing.
    codes : (n,) int
        Class of each row.
    weights : (n,) float or None
        Frequency weights; None if all are one.

    Returns
    -------
    LeaveOneOutScorer
        Its scores are the log prior of the class plus the log density of the observed values. All scores of
        a row are NaN if EM degenerates without it, or no weight remains in its class. Raises CoreDataError
        "not_a_row_of_the_fit" unless a row of the fit has the same class, values and weight.
    """
    all_rows = rows_by_class(x, codes, weights, fit.moments.centres, fit.scale)
    rows_by_code = [x[codes == k] for k in range(len(log_prior))]
    if fit.together:
        groups = [_group_in_frames(all_rows, fit.components, fit.forms[0])] * len(all_rows)
    else:
        groups = [
            _group_in_frames([row], select_class(fit.components, k), fit.forms[k])
            for k, row in enumerate(all_rows)
        ]

    def scores(rows: Floats, classes: Codes, row_weights: Floats | None) -> Floats:
        """Compute leave-one-out scores of some rows of the fit.

        Parameters
        ----------
        rows : (m, p) float
            Rows of the fit, in the units of the data.
        classes : (m,) int
            Class of each row.
        row_weights : (m,) float or None
            Their frequency weights; None if all are one.

        Returns
        -------
        (m, K) float
            Log prior plus log density; NaN in all classes if EM degenerates without the row, or no weight
            remains in its class.

        Raises
        ------
        CoreDataError
            No row of the fit has the same class, values and weight.
        """
        scores_out = np.empty((len(rows), len(log_prior)))
        checked_weights = np.ones(len(rows)) if row_weights is None else row_weights
        for i, (row, k) in enumerate(zip(rows, classes.tolist(), strict=True)):
            # Any of several equal rows with the same weight can be left out.
            is_equal = (rows_by_code[k] == row) | (np.isnan(rows_by_code[k]) & np.isnan(row))
            matches = is_equal.all(axis=1) & (all_rows[k].weights == checked_weights[i])
            if not matches.any():
                raise CoreDataError("not_a_row_of_the_fit")
            scores_out[i] = _scores_without_row(fit, log_prior, groups[k], k, int(np.argmax(matches)), row)
        return scores_out

    return scores


def _group_in_frames(original_rows: list[ClassRows], components: Components, form: str) -> _Group:
    """Build the group of classes; rows and components are transformed from the coordinates of the fit."""
    frames = _frames_of_complete_rows(original_rows, form)
    return _Group(
        starts.rows_to_frames(original_rows, frames), starts.components_to_frames(components, frames), frames
    )


def _scores_without_row(
    fit: MixtureFit, log_prior: Floats, group: _Group, k: int, row_position: int, row: Floats
) -> Floats:
    """Refit the row's class, or all classes that are fitted together, without one row, and score this row.

    The weight of the row falls by one, or to zero if it is less.

    Parameters
    ----------
    fit : MixtureFit
        The fit to all rows.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    group : _Group
        Classes that are fitted together with the row's class.
    k, row_position : int
        Class of the row, and its position among the rows of the class.
    row : (p,) float
        The row, in the units of the data.

    Returns
    -------
    (K,) float
        All NaN if EM degenerates without the row, or no weight remains in its class.
    """
    rows, components, frames = group
    class_position = k if fit.together else 0
    remaining_weights = rows[class_position].weights.copy()
    remaining_weights[row_position] -= min(1.0, remaining_weights[row_position])
    if not remaining_weights.any():
        return np.full(len(log_prior), np.nan)
    rows = [
        *rows[:class_position],
        ClassRows(rows[class_position].z, remaining_weights),
        *rows[class_position + 1 :],
    ]
    em_result = _run_em(components, rows, fit.forms[k], fit.em_plan)
    if isinstance(em_result, Degenerate):
        return np.full(len(log_prior), np.nan)
    em_result = starts.components_from_frames(em_result, rows, frames)
    components = em_result if fit.together else _replace_class(fit.components, k, em_result)
    return np.asarray(replace(fit, components=components).marginal_rule(log_prior).scores(row[None])[0])


def _replace_class(components: Components, k: int, others: Components) -> Components:
    """Return components in which class k has the components `others` of that class, as many as before."""
    component_slice = components.class_slices()[k]
    proportions = components.mixing_proportions.copy()
    means = components.means.copy()
    proportions[component_slice] = others.mixing_proportions
    means[component_slice] = others.means
    before = components.covariances[: component_slice.start]
    after = components.covariances[component_slice.stop :]
    return replace(
        components,
        mixing_proportions=proportions,
        means=means,
        covariances=(*before, *others.covariances, *after),
    )
