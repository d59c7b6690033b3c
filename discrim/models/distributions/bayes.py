"""Bayes classifier of a fully specified distribution: the verb `bayes`, its results and its summary.

Prior and class densities are arguments, and nothing is estimated. The rule that assigns x to the class of the
largest posterior has the smallest error of all rules. This error is a property of the distribution, with
which the error of any fit can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from discrim.core.distributions import bayes_distribution
from discrim.core.distributions.bayes_distribution import DensityDistribution, MassDistribution
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import joint_scores, log_posteriors, posteriors
from discrim.errors import DataError, NotSupportedError, PriorError
from discrim.inference.resampling import random_generator
from discrim.models.base import reading
from discrim.models.base.core_errors import named_errors
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import ModelSpec
from discrim.models.base.labels import codes_to_labels, make_unique_name
from discrim.models.base.reading import Data, Prior
from discrim.models.base.scores import Decision, cost_matrix
from discrim.models.distributions.known_distributions import (
    KnownDistribution,
    as_classifier,
    known_distribution,
    points_frame,
    read_points,
)
from discrim.models.evaluation.estimated_prior import PriorEstimateOptions, estimate_proportions
from discrim.models.report import ReportMethods
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.models.evaluation.estimated_prior import PriorEstimate


TIE_TOLERANCE_ULPS = 16
"""Tolerance for ties of expected costs, in units in the last place of the log joint densities."""


def decision_table(results: BayesResults) -> pd.DataFrame:
    """Return the decision for each value of x or, for densities of one variable, for each interval.

    Parameters
    ----------
    results : BayesResults

    Returns
    -------
    DataFrame
        For one continuous variable, low, high and decision by interval; else, by value, the posterior of each
        class, probability and decision (see `BayesResults.decision`).

    Raises
    ------
    NotSupportedError
        x has several columns with densities, or infinitely many discrete values.
    """
    class_distributions = results._distribution.class_distributions
    classes = results.classes
    if (
        isinstance(class_distributions, bayes_distribution.DensityDistribution)
        and class_distributions.is_on_line
    ):
        prior = results._prior_values(None)

        def scores(x: Floats) -> Floats:
            """Return the logs (m, K) of prior times density of points (m,) of the line."""
            values: Floats = results._scores(x[:, None], prior)
            return values

        regions = bayes_distribution.decision_intervals(
            class_distributions, lambda x: Decision(results._cost_values).codes(scores(x))
        )
        regions = _merge_tied_intervals(regions, scores, results._costs)
        index = pd.RangeIndex(len(regions.codes))
        labels = codes_to_labels(regions.codes, classes, index).rename("decision")
        return pd.DataFrame({"low": regions.edges[:-1], "high": regions.edges[1:], "decision": labels})
    by_value = (
        class_distributions
        if isinstance(class_distributions, bayes_distribution.MassDistribution)
        else class_distributions.enumerate_values()
    )
    if by_value is None:
        raise NotSupportedError(
            "Decisions can be listed only for a table of densities or a single column.", hint="See predict()."
        )
    data = (
        None
        if isinstance(class_distributions, bayes_distribution.MassDistribution)
        else pd.DataFrame(by_value.points, columns=results.columns)
    )
    frame = results.predict_proba(data)
    if data is not None:
        values = by_value.points[:, 0]
        is_integral = (values == np.floor(values)).all() and np.abs(values).max() < 2**53
        frame.index = pd.Index(values.astype(np.int64) if is_integral else values, name=results.columns[0])
    width = frame.shape[1]
    frame.insert(width, make_unique_name("probability", classes), results.prior.to_numpy() @ by_value.mass)
    frame.insert(
        width + 1, make_unique_name("decision", classes), results.predict(data).to_numpy(dtype=object)
    )
    table: pd.DataFrame = frame.rename_axis(columns=None)
    return table


def pair_bounds(distribution: KnownDistribution, prior: Floats, draws: int, seed: int | None) -> pd.DataFrame:
    """Compute bounds on the errors of pairs of classes and on the overall error.

    Parameters
    ----------
    distribution : KnownDistribution
        Class densities.
    prior : (K,) float64
        Prior probabilities of the classes.
    draws : int
        Number of random points of each class, used without a closed form.
    seed : int, optional
        Seed of these points.

    Returns
    -------
    DataFrame
        exponent, chernoff, bhattacharyya, lower and distance by pair (a, b) of classes. The last row, with
        the index ("all", ""), has the sums of the upper bounds and the largest lower bound; its exponent and
        distance are missing.
    """
    classes = distribution.classes
    pairs = list(combinations(range(len(classes)), 2))
    bounds = []
    for i, j in pairs:
        affinity, min_affinity = bayes_distribution.log_affinity(
            distribution.class_distributions, i, j, draws, seed
        )
        bounds.append(bayes_distribution.pair_bound(affinity, prior[i], prior[j], min_affinity))
    table = pd.DataFrame(bounds, columns=list(bayes_distribution.PairBound._fields))
    totals = {name: table[name].sum() for name in ("chernoff", "bhattacharyya")} | {
        "lower": table["lower"].max()
    }
    names = [(classes[i], classes[j]) for i, j in pairs] + [("all", "")]
    table = pd.concat([table, pd.DataFrame([totals])], ignore_index=True)
    table.index = pd.MultiIndex.from_tuples(names, names=["a", "b"])
    return table


def _merge_tied_intervals(
    regions: bayes_distribution.DecisionIntervals, scores: Callable[[Floats], Floats], costs: Floats
) -> bayes_distribution.DecisionIntervals:
    """Merge decision intervals that differ from their neighbour only by rounding of the densities.

    Far from the densities two posteriors may approach each other as 1/x, and their logarithms cannot
    represent the difference. Starting from the interval with the greatest density and moving outwards, an
    interval is assigned the class of the previous one if the expected costs of both are equal up to rounding.

    Parameters
    ----------
    regions : DecisionIntervals
        Intervals of the line with their classes.
    scores : callable
        Function of points (m,) that returns log joint densities (m, K).
    costs : (K, K) float64
        Cost of assigning an observation of one class (row) to another (column).

    Returns
    -------
    DecisionIntervals
        Adjacent intervals of the same class are joined.
    """
    edges = regions.edges
    codes = regions.codes.copy()
    finite = edges[np.isfinite(edges)]
    if len(codes) < 3 or not len(finite):
        return regions
    # Evaluate near both edges at all scales.
    steps = 2.0 ** np.arange(-70, 0)
    distances = (finite[-1] - finite[0]) * np.append(steps, 2.0 ** np.arange(5))
    expected_costs = []
    scale = []
    max_scores = []
    for low, high in pairwise(edges):
        if np.isinf(low) or np.isinf(high):
            x = finite[0] - distances if np.isinf(low) else finite[-1] + distances
        else:
            x = np.concatenate([low + (high - low) * steps, high - (high - low) * steps])
        values = scores(x)
        expected_costs.append(posteriors(values) @ costs)
        scale.append(np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=1))
        max_scores.append(values.max())
    densest = int(np.argmax(max_scores))
    for positions in (range(densest + 1, len(codes)), range(densest - 1, -1, -1)):
        for position in positions:
            neighbour = codes[position - 1 if position > densest else position + 1]
            if codes[position] < 0 or neighbour < 0:
                continue
            excess_cost = (
                expected_costs[position][:, neighbour] - expected_costs[position][:, codes[position]]
            )
            if (
                excess_cost <= TIE_TOLERANCE_ULPS * np.finfo(float).eps * np.maximum(scale[position], 1.0)
            ).all():
                codes[position] = neighbour
    first_of_run = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return bayes_distribution.DecisionIntervals(
        np.append(edges[first_of_run], edges[-1]), codes[first_of_run]
    )


def _prior_vector(prior: Any, classes: pd.Index) -> Floats:
    """Validate a prior and return it as an array (K,); None stands for equal probabilities.

    Raises PriorError for "proportional", or if it is not a distribution over the classes.
    """
    if prior is not None and reading.is_proportional(prior):
        raise PriorError(
            f"prior={prior!r} requires observations, which a known distribution does not have.",
            hint='Pass "equal", or a probability for each class.',
        )
    return reading.prior_vector(prior, classes, np.ones(len(classes)))


MAX_PAIRS = 40
"""Largest number of pairs of classes whose bounds a summary computes."""


def _count_class_pairs(results: BayesResults) -> int:
    """Return the number of pairs of classes."""
    return math.comb(len(results.classes), 2)


class BayesResults(ReportMethods):
    """Bayes classifier of a known distribution. It has the prediction methods of a fit but no rows.

    Attributes
    ----------
    classes : Index of length K
        Class labels.
    prior : Series by class
        Prior probabilities.
    columns : Index of length p
        Names of the columns of x.
    densities : DataFrame of P(x | class), or dict by class
        The densities as passed to `discrim.bayes`.
    costs : DataFrame or None
        Costs of misclassification, if any.
    """

    def __init__(
        self, distribution: KnownDistribution, prior: Any, costs: Any, draws: int, seed: int | None
    ) -> None:
        """Create the results of `discrim.bayes`.

        Parameters
        ----------
        distribution : KnownDistribution
            Class densities.
        prior : None, "equal", mapping or sequence
            Prior probabilities of the classes; None for equal ones.
        costs : DataFrame, (K, K) array or None
            Cost of assigning an observation of one class (row) to another (column); None counts errors.
        draws : int
            Number of random points for each class, for integrals without a closed form.
        seed : int, optional
            Seed of these points.
        """
        self._distribution = distribution
        self._draws = draws
        self._seed = seed
        self.classes = distribution.classes
        self.columns = distribution.columns
        values = _prior_vector(prior, self.classes)
        self._prior = pd.Series(values, index=self.classes, name="prior")
        self._cost_values = cost_matrix(costs, self.classes)
        self._costs = 1 - np.eye(len(self.classes)) if self._cost_values is None else self._cost_values

    @property
    def prior(self) -> pd.Series:
        """Prior probability of each class, a copy."""
        return self._prior.copy()

    @property
    def costs(self) -> pd.DataFrame | None:
        """Costs of assigning an observation of one class (row) to another (column); None without costs."""
        if self._cost_values is None:
            return None
        return pd.DataFrame(self._cost_values, index=self.classes, columns=self.classes, copy=True)

    @property
    def terms(self) -> pd.Index:
        """Names of the columns of x, under the name that they have in fits."""
        return self.columns

    @property
    def densities(self) -> pd.DataFrame | dict[Any, Any]:
        """P(x | class) of a table, classes by values of x with rows that sum to one; or a dict by class."""
        class_distributions = self._distribution.class_distributions
        if isinstance(class_distributions, bayes_distribution.MassDistribution):
            return pd.DataFrame(
                class_distributions.mass, index=self.classes, columns=self._distribution.values
            )
        return dict(self._distribution.densities)

    # ---- prediction

    def _scores(self, x: Floats, prior: Floats) -> Floats:
        """Return the logs (n, K) of prior times density of points x; NaN for a point with a missing value.

        x is (n, p) or, for a table of probabilities, (n, 1): the positions of the points among its values.
        """
        scores = np.full((len(x), len(self.classes)), np.nan)
        complete = ~np.isnan(x).any(axis=1)
        class_distributions = self._distribution.class_distributions
        if isinstance(class_distributions, bayes_distribution.MassDistribution):
            with np.errstate(divide="ignore"):
                logs = np.log(class_distributions.mass[:, x[complete, 0].astype(np.intp)]).T
        else:
            logs = class_distributions.log_densities(x[complete])
        scores[complete] = joint_scores(logs, prior)
        return scores

    def _prior_values(self, prior: Any) -> Floats:
        """Validate a prior and return it as an array (K,); None stands for the prior of the distribution.

        Raises PriorError for "proportional", or if it is not a distribution over the classes.
        """
        return _prior_vector(self.prior if prior is None else prior, self.classes)

    def _score_data(self, data: Any, prior: Any) -> tuple[Floats, pd.Index]:
        """Return the logs (n, K) of prior times density of new data, and the index of its rows.

        `data` is in any form that `read_points` accepts; None stands for all values of a table of
        probabilities. None as `prior` stands for the prior of the distribution. The logs are NaN for a row
        with a missing value. Raises DataError for invalid data and PriorError for an invalid prior.
        """
        x, index = read_points(self._distribution, data)
        return self._scores(x, self._prior_values(prior)), index

    def predict(
        self, data: Data | None = None, prior: Prior = None, *, costs: Any = None, reject: float | None = None
    ) -> pd.Series:
        """Class of largest posterior, or of least expected cost, of each row; the first of tied classes.

        Parameters
        ----------
        data : table with the distribution's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        prior : optional
            Prior probabilities, in any form that `discrim.bayes` accepts; by default the prior of the
            distribution.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column). By default the costs
            passed to `discrim.bayes`.
        reject : float, optional
            Cost of leaving a row without a class, which then gets the label "rejected" (Chow's rule).

        Returns
        -------
        Series
            Labels; missing for a row with a missing value, and for one that has probability zero in every
            class.

        Raises
        ------
        DataError
            A column is missing or infinite, or a value is not in the table of densities.
        """
        if reject is not None:
            reading.check_number("reject", reject, 0)
        scores, index = self._score_data(data, prior)
        cost_values = self._cost_values if costs is None else cost_matrix(costs, self.classes)
        return codes_to_labels(Decision(cost_values, reject).codes(scores), self.classes, index)

    def predict_proba(self, data: Data | None = None, prior: Prior = None) -> pd.DataFrame:
        """Posterior probabilities, rows by classes.

        They are missing for a row with a missing value, or with probability zero in every class.

        Parameters
        ----------
        data : table with the distribution's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        prior : optional
            Prior probabilities, in any form that `discrim.bayes` accepts; by default the prior of the
            distribution.

        Returns
        -------
        DataFrame (n, K)
            Each row sums to one, or is missing.
        """
        scores, index = self._score_data(data, prior)
        return pd.DataFrame(posteriors(scores), index=index, columns=self.classes)

    def predict_log_proba(self, data: Data | None = None, prior: Prior = None) -> pd.DataFrame:
        """Logarithms of the posterior probabilities, rows by classes, exact also if the posterior underflows.

        They are missing for a row with a missing value, or with probability zero in every class.

        Parameters
        ----------
        data : table with the distribution's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        prior : optional
            Prior probabilities, in any form that `discrim.bayes` accepts; by default the prior of the
            distribution.

        Returns
        -------
        DataFrame (n, K)
            Minus infinity for a class whose prior or density is zero.
        """
        scores, index = self._score_data(data, prior)
        return pd.DataFrame(log_posteriors(scores), index=index, columns=self.classes)

    def decision_function(self, data: Data | None = None) -> pd.DataFrame:
        """Logarithms of prior times density, rows by classes, under the prior of the distribution.

        They are missing for a row with a missing value, and minus infinity for a density of zero.

        Parameters
        ----------
        data : table with the distribution's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.

        Returns
        -------
        DataFrame (n, K)
            Scores, the largest for the class of largest posterior.
        """
        scores, index = self._score_data(data, None)
        return pd.DataFrame(scores, index=index, columns=self.classes)

    def estimate_prior(
        self,
        data: Data,
        *,
        tol: float = 1e-10,
        maxiter: int = 200,
        level: float = 0.95,
        interval: Literal["wald", "profile"] = "wald",
    ) -> PriorEstimate:
        """Class proportions among rows whose classes are unknown; see `estimate_prior` of a fit.

        Parameters
        ----------
        data : table with the distribution's columns, array (n, p), or values of the only column
            The batch of rows.
        tol : float
            The search ends when the slope of the mean log-likelihood along each share above zero is within
            this distance of its value at a maximum, and the slope along each share of zero exceeds it by at
            most this distance.
        maxiter : int
            The largest number of steps: first steps of EM (Saerens, Latinne & Decaestecker, 2002, Neural
            Computation 14, 21-41), then steps of Newton's method with the bound at zero.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        interval : {"wald", "profile"}
            "wald" is normal on the logit scale. "profile" uses the profile likelihood: it needs several
            searches for each class, and has limits for shares of zero too.

        Returns
        -------
        PriorEstimate
            Shares with standard errors and intervals, and whether the search converged.

        Raises
        ------
        DataError
            `data` is None or cannot be read, or an option is invalid.

        Notes
        -----
        The standard errors assume independent rows from the densities of this distribution. The densities are
        not estimated and do not add to the error.
        """
        if data is None:
            raise DataError("estimate_prior() requires rows with unknown classes.", hint="Pass data=.")
        x, _ = read_points(self._distribution, data)
        equal = np.full(len(self.classes), 1.0 / len(self.classes))
        reading.check_word("interval", interval, ("wald", "profile"))
        search = PriorEstimateOptions(tol, maxiter, level, interval).validate()
        return estimate_proportions(
            iter([(self._scores(x, equal), None)]),
            self.prior,
            search,
            self._title(),
            densities_are_known=True,
        )

    # ---- the distribution

    @property
    @with_display_formats(every="share")
    def decision(self) -> pd.DataFrame:
        """Decision of the rule for each value of a table or for each interval of a line.

        Returns
        -------
        DataFrame
            For a table or a discrete variable, by value: a column of posteriors for each class,
            `probability` of the value over all classes, `decision` (a label). For one continuous variable,
            by interval from left to right: low, high, decision. The decision is missing if all densities are
            zero. With costs it is the class of least expected cost.

        Raises
        ------
        NotSupportedError
            x has several columns with densities, or infinitely many values.
        """
        return self._decision.copy()

    @cached_property
    def _decision(self) -> pd.DataFrame:
        """Table of decisions, computed once."""
        return decision_table(self)

    @cached_property
    def _min_risk(self) -> bayes_distribution.BoundedValue:
        """Bayes error, or least mean cost with costs, with a bound on its numerical error; computed once."""
        class_distributions = self._distribution.class_distributions
        prior = self._prior_values(None)
        bar = Progress(bayes_distribution.N_REPLICATES * len(prior), "random points by class")
        with named_errors((), list(self.classes)), bar as progress:
            min_risk = bayes_distribution.bayes_risk(
                class_distributions, prior, self._costs, self._draws, self._seed, progress
            )
        if (
            isinstance(class_distributions, DensityDistribution)
            and min_risk.is_sampled
            and _count_class_pairs(self) <= MAX_PAIRS
        ):
            normals = class_distributions.normals() if self.costs is None else None
            if normals is not None and all(
                bayes_distribution.is_of_full_rank(normal.cov) for normal in normals
            ):
                # The closed bounds of normal distributions limit the error of a mean over random points.
                total = self.bounds().iloc[-1]
                furthest = max(total["chernoff"] - min_risk.value, min_risk.value - total["lower"])
                min_risk = min_risk._replace(error_bound=min(min_risk.error_bound, float(furthest)))
        return min_risk

    @property
    def error_rate(self) -> float:
        """Bayes error, which is the error of the best rule; with costs, its mean cost."""
        return self._min_risk.value

    @property
    def error_bound(self) -> float:
        """Bound on the numerical error of `error_rate`: 0 if it is exact up to rounding.

        For a quadrature it is the sum of the last differences of its panels, and of the differences between
        the integrals of the densities and one. For random points it is half the width of a 99 % interval; if
        fewer than 30 points contribute to the mean, it is an upper limit for the part that so few points can
        miss. For normal densities it is at most the distance of `error_rate` from the limits of `bounds()`.
        """
        return self._min_risk.error_bound

    @property
    def error_method(self) -> str:
        """How `error_rate` was computed: "exact", "sum", "quadrature", "quasi-Monte Carlo" or "Monte Carlo".

        "exact" stands for a closed form, and "sum" for a sum over the values of x.
        """
        return self._min_risk.method

    def risk(self, rule: Any) -> pd.Series:
        """Error rate of any rule under this distribution, and its excess over the Bayes error.

        Parameters
        ----------
        rule : fit, Series or mapping of classes by value of a table, or callable
            A fit, of this package or another, predicts from a table with the distribution's columns. A
            function is called with the same table, or with a single column as a Series, and returns a label
            for each row.

        Returns
        -------
        Series
            `error_rate`, `error_bound`, `excess` over the Bayes error, `excess_bound`. The excess is
            integrated directly and is therefore accurate even if it is small. With costs the rate is the mean
            cost. On a line the regions of the rule are found on a grid. The bounds include what a grid with
            half of the points misses; they assume that no region is narrower than a step of the grid, which
            a rule of single neighbours may violate.

        Raises
        ------
        DataError
            The rule leaves a value out, or returns a label that is not a class of this distribution.
        NotSupportedError
            The rule is a Series or mapping, and the distribution is not a table.
        """
        decide = as_classifier(self._distribution, rule)
        prior = self._prior_values(None)
        bar = Progress(bayes_distribution.N_REPLICATES * len(prior), "random points by class")
        with named_errors((), list(self.classes)), bar as progress:
            excess = bayes_distribution.excess_risk(
                self._distribution.class_distributions,
                prior,
                self._costs,
                decide,
                self._draws,
                self._seed,
                progress,
            )
        min_risk = self._min_risk
        return pd.Series(
            {
                "error_rate": min_risk.value + excess.value,
                "error_bound": min_risk.error_bound + excess.error_bound,
                "excess": excess.value,
                "excess_bound": excess.error_bound,
            },
            name="risk",
        )

    @with_display_formats()
    def bounds(self) -> pd.DataFrame:
        """Chernoff and Bhattacharyya bounds on the error of each pair of classes, and on the overall error.

        Returns
        -------
        DataFrame
            By pair (a, b): `exponent` of the density of a in Chernoff's bound; the upper bounds `chernoff`
            and `bhattacharyya`; the lower bound `lower`; and Bhattacharyya's `distance`. The last row, with
            a = "all", has the sum of the upper bounds over the pairs and the largest lower one; its exponent
            and distance are missing. Without a closed form the integrals are means over random points, and
            the bounds vary with these.

        Raises
        ------
        NotSupportedError
            The distribution has costs, to which these bounds do not apply.
        """
        if self.costs is not None:
            raise NotSupportedError(
                "bounds() applies to the error rate and is not available with costs.",
                hint="Call bayes() without costs.",
            )
        return self._bounds.copy()

    @cached_property
    def _bounds(self) -> pd.DataFrame:
        """Table of error bounds, computed once."""
        return pair_bounds(self._distribution, self._prior_values(None), self._draws, self._seed)

    def sample(self, n: int, seed: int | None = None) -> pd.DataFrame:
        """Random sample of the distribution, as a table that a formula can be applied to.

        Parameters
        ----------
        n : int
            Number of rows.
        seed : int, optional
            Seed of the random numbers.

        Returns
        -------
        DataFrame
            The class in the first column, named `response`, as a categorical with all classes, and the
            columns of x. The classes are drawn from the prior.
        """
        reading.check_integer("n", n, 1, description="a number of rows")
        rng = random_generator(seed)
        codes = rng.choice(len(self.classes), size=n, p=self.prior.to_numpy())
        class_distributions = self._distribution.class_distributions
        x = np.empty(
            (
                n,
                1
                if isinstance(class_distributions, bayes_distribution.MassDistribution)
                else class_distributions.dim,
            )
        )
        for k in range(len(self.classes)):
            rows = np.flatnonzero(codes == k)
            if isinstance(class_distributions, bayes_distribution.MassDistribution):
                x[rows, 0] = rng.choice(
                    class_distributions.mass.shape[1], size=len(rows), p=class_distributions.mass[k]
                )
            elif len(rows):
                x[rows] = class_distributions.densities[k].draw(len(rows), rng)
        frame = points_frame(self._distribution, x)
        labels = pd.Series(pd.Categorical.from_codes(codes.tolist(), categories=self.classes))
        frame.insert(0, str(self.classes.name), labels)
        return frame

    # ---- tables and pictures

    def save(self, path: object) -> None:
        """Raise NotSupportedError: distributions and functions are code, which is not saved to files.

        Parameters
        ----------
        path : str or path
            Used only in the message.

        Raises
        ------
        NotSupportedError
            Always.
        """
        raise NotSupportedError(
            f"A known distribution cannot be saved to {path}: distributions and functions are code, which "
            "saved files do not contain.",
            hint="Save the code that calls bayes(), or write a table of densities by densities.to_csv().",
        )

    @property
    def _spec(self) -> ModelSpec[Any]:
        """Specification with the title, the summary and the plots."""
        return BayesSpec()

    def _subject(self) -> KnownDistribution:
        """Return the distribution, the second argument of section functions and plots instead of a fit."""
        return self._distribution

    def _title(self) -> str:
        """Return the title of the summary."""
        return self._spec.title

    def _heading(self) -> str:
        """Return the heading of the short summary, which is the title."""
        return self._title()

    def _is_plane(self) -> bool:
        """Return whether the rule can be drawn over pairs of columns: x has several columns and a density."""
        return len(self.columns) > 1 and not isinstance(
            self._distribution.class_distributions, bayes_distribution.MassDistribution
        )

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table: classes and columns (their numbers), error_rate, error_bound, method."""
        row = {"classes": len(self.classes), "columns": len(self.columns), "error_rate": self.error_rate}
        return pd.DataFrame([row | {"error_bound": self.error_bound, "method": self.error_method}])


MIN_LISTED_PROBABILITY = 1e-6
"""Smallest probability of a value that a summary lists."""


class BayesSpec(ModelSpec[Any]):
    """Specification of the Bayes classifier of a known distribution: title, summary and plots."""

    name = "bayes"
    title = "Bayes classifier of a known distribution"
    results_class = BayesResults

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `bayes_sections` and `bayes_brief`, for the full and the short summary.

        Both are functions of the results and the distribution that return section functions by name.
        """
        return bayes_sections, bayes_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `BAYES_PLOTS`, the `Plot` objects of the method `plot`; the first is the default."""
        from discrim.models.distributions.plots import BAYES_PLOTS

        return BAYES_PLOTS


def bayes_sections(results: BayesResults, distribution: KnownDistribution) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    Each is a function of `results` and `distribution` that returns a section. The names are "header",
    "classes", "decision" (if decisions can be listed), "bounds" (without costs, for up to `MAX_PAIRS` pairs
    of classes) and "costs" (if there are any).
    """
    section_functions: Sections = {"header": _header_section, "classes": _classes_section}
    if _has_decision(results):
        section_functions["decision"] = _decision_section
    if results.costs is None and _count_class_pairs(results) <= MAX_PAIRS:
        section_functions["bounds"] = _bounds_section
    if results.costs is not None:
        section_functions["costs"] = _costs_section
    return section_functions


def bayes_brief(results: BayesResults, distribution: KnownDistribution) -> Sections:
    """Return the section functions of the short summary, by name, in their order.

    Each is a function of `results` and `distribution` that returns a section. The names are "header",
    "classes" and, if the decisions can be listed, "decision".
    """
    decision: Sections = {"decision": _decision_section} if _has_decision(results) else {}
    return {"header": _header_section, "classes": _classes_section, **decision}


def _has_decision(results: BayesResults) -> bool:
    """Return whether the decisions can be listed by value or by interval; computes and caches them."""
    try:
        return len(results.decision) > 0
    except NotSupportedError:
        return False


def _describe_distributions(class_distributions: MassDistribution | DensityDistribution) -> str:
    """Describe the class distributions for the header.

    Examples are "table of 3 values", "densities of one variable" and "discrete distributions of 2 variables".
    """
    if isinstance(class_distributions, MassDistribution):
        return f"table of {class_distributions.mass.shape[1]} values"
    noun = "discrete distributions" if class_distributions.is_discrete else "densities"
    return (
        f"{noun} of one variable"
        if class_distributions.dim == 1
        else f"{noun} of {class_distributions.dim} variables"
    )


def _header_section(results: BayesResults, distribution: KnownDistribution) -> Pairs:
    """Return the header of the summary: classes, columns, distribution, and the error rate with its bound."""
    class_distributions = distribution.class_distributions
    risk_label = "Error rate" if results.costs is None else "Mean cost"
    bound = f"{results.error_bound:.1e}" if results.error_bound else "0"
    items: list[HeaderItem] = [
        HeaderItem("Classes", len(results.classes)),
        HeaderItem("Variables", len(results.columns)),
        HeaderItem("Distribution", _describe_distributions(class_distributions)),
        HeaderItem(risk_label, results.error_rate, f"{results.error_rate:.6g}"),
        HeaderItem("Numerical error bound", results.error_bound, bound),
        HeaderItem("Computed by", results.error_method),
    ]
    note = ""
    if results._min_risk.is_sampled:
        seed = "no seed" if results._seed is None else f"seed {results._seed}"
        note = (
            f"{results._draws:,} random points of each class, {seed}; the numerical error bound is half the "
            "width of a 99 % interval."
        )
    pairs = _count_class_pairs(results)
    if results.costs is None and pairs > MAX_PAIRS:
        note = f"{note} For the bounds of {pairs} pairs of classes see fit.bounds().".strip()
    response = str(results.classes.name)
    names = (
        ", ".join(map(str, results.columns))
        if isinstance(class_distributions, MassDistribution) or class_distributions.dim <= 8
        else "..."
    )
    return Pairs(f"{response} given {names}", items, note)


def _classes_section(results: BayesResults, distribution: KnownDistribution) -> Section:
    """Return the section of the classes: priors and distributions."""
    table = pd.DataFrame({"prior": results.prior})
    formats: dict[Any, Any] = {"prior": "share"}
    if isinstance(distribution.class_distributions, DensityDistribution):
        table["distribution"] = [
            distribution_text(class_distribution) for class_distribution in distribution.densities.values()
        ]
        formats["distribution"] = "text"
    return Section("Classes", table, formats, source="fit.prior, fit.densities")


def distribution_text(distribution: Any) -> str:
    """Return a short text for a distribution: "norm(0, 1)" for a frozen one, "function f" for a function.

    For any other object it is the name of its class, without a final "_frozen". Array parameters are "...".
    """
    name = getattr(getattr(distribution, "dist", None), "name", None)
    if name is not None:
        arguments = [f"{value:.6g}" if np.ndim(value) == 0 else "..." for value in distribution.args]
        arguments += [
            f"{key}={value:.6g}" if np.ndim(value) == 0 else f"{key}=..."
            for key, value in distribution.kwds.items()
        ]
        return f"{name}({', '.join(arguments)})"
    type_name = type(distribution).__name__
    if type_name == "function":
        return f"function {distribution.__name__}"
    return type_name.removesuffix("_frozen")


def _decision_section(results: BayesResults, distribution: KnownDistribution) -> Section:
    """Return the section of the decision: by region on a line, otherwise by value.

    Values with a probability below `MIN_LISTED_PROBABILITY` are left out.
    """
    table = results.decision
    if (
        isinstance(distribution.class_distributions, DensityDistribution)
        and distribution.class_distributions.is_on_line
    ):
        labelled_table = table.assign(decision=table["decision"].astype(object)).set_index("decision")
        labelled_table.index = pd.Index(
            ["none" if pd.isna(label) else str(label) for label in labelled_table.index]
        )
        note = "The rule predicts the class of each row for values of x from low to high."
        return Section("Decision regions", labelled_table, note=note, source="fit.decision")
    if table.index.nlevels > 1:
        table = table.set_axis([", ".join(map(str, key)) for key in table.index])
    note = ""
    probabilities = table["probability"] if table.columns.is_unique else None
    if probabilities is not None and (probabilities < MIN_LISTED_PROBABILITY).any():
        n_hidden = int((probabilities < MIN_LISTED_PROBABILITY).sum())
        note = f"{n_hidden} values with a probability below {MIN_LISTED_PROBABILITY:g} are omitted."
        table = table[probabilities >= MIN_LISTED_PROBABILITY]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"decision": "text"}
    if table.columns.has_duplicates:
        table = table.set_axis(
            [*map(str, results.classes), "probability of value", "predicted class"], axis=1
        )
        formats = dict.fromkeys(table.columns, "share") | {"predicted class": "text"}
    return Section(
        "Posteriors by value, the value's probability, and the decision",
        table,
        formats,
        note=note,
        source="fit.decision",
    )


def _bounds_section(results: BayesResults, distribution: KnownDistribution) -> Section:
    """Return the section of the Chernoff and Bhattacharyya bounds by pair; a note has the overall bounds."""
    table = results.bounds()
    totals = table.iloc[-1]
    pairs = table.iloc[:-1]
    totals_text = (
        f" Bounds on the overall error: {totals['lower']:.4g} to {totals['chernoff']:.4g}."
        if len(pairs) > 1
        else ""
    )
    note = (
        "Upper bounds pi_a^s pi_b^(1-s) rho(s): Chernoff's at the best s (exponent), Bhattacharyya's at s = "
        f"1/2, with distance = -ln rho.{totals_text}"
    )
    pair_table = pairs.set_axis([f"{a} : {b}" for a, b in pairs.index])
    return Section("Bounds on the error by pair of classes", pair_table, note=note, source="fit.bounds()")


def _costs_section(results: BayesResults, distribution: KnownDistribution) -> Section:
    """Return the section of the costs; raise NotSupportedError without costs."""
    if results.costs is None:
        raise NotSupportedError("The classifier has no costs.", hint="Call bayes() with costs=.")
    return Section(
        "Costs, actual (rows) by predicted (columns)", results.costs, shared=True, source="fit.costs"
    )


@reading.with_public_errors
def bayes(
    prior: Any,
    densities: Any,
    *,
    columns: Sequence[str] | None = None,
    response: str | None = None,
    costs: Any = None,
    draws: int = 65536,
    seed: int | None = 0,
) -> BayesResults:
    """Bayes classifier of a fully specified distribution.

    Parameters
    ----------
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for equal probabilities, because proportions
        cannot be computed without a sample.
    densities : DataFrame of P(x | class), classes by values; or dict of distributions by class
        The columns of a DataFrame are the values of x; a MultiIndex has the values of several columns.
        Distributions are frozen ones of `scipy.stats`, of one variable or several, all continuous or all
        discrete; or functions of one variable that return its density; or objects of your own, such as a
        mixture, with the methods `logpdf(x)`, for rows (m, p), and `rvs(size, random_state)`. Their order is
        the order of the classes.
    columns : sequence of str, optional
        Names of the columns of x. By default the names in the table, or else "x", or "x1", "x2", ...
    response : str, optional
        Name of the class in samples. By default the name of the table's index, or else "y".
    costs : DataFrame or (K, K) array, optional
        Cost of assigning an observation of one class (row) to another (column). `error_rate` is then the mean
        cost.
    draws : int
        Number of random points for each class, used if densities of several variables lack a closed form.
    seed : int, optional
        Seed of these points.

    Returns
    -------
    BayesResults

    Raises
    ------
    PriorError
        The prior is not a distribution over the classes that have densities.
    DataError
        Probabilities do not sum to one, a density does not integrate to one, names of classes overlap, or
        distributions cannot be combined.

    Notes
    -----
    No rule has a smaller error under this distribution (Devroye, Gyorfi & Lugosi, 1996, A Probabilistic
    Theory of Pattern Recognition, ch. 2).

    Examples
    --------
    >>> import pandas as pd
    >>> from discrim import bayes
    >>> table = pd.DataFrame([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], index=["a", "b"], columns=[1, 2, 3])
    >>> known = bayes({"a": 0.5, "b": 0.5}, table)
    >>> known.predict([1, 2, 3]).tolist(), round(known.error_rate, 12)
    (['a', 'b', 'b'], 0.2)
    >>> round(float(known.risk(pd.Series(["a", "a", "b"], index=[1, 2, 3]))["excess"]), 12)
    0.05

    >>> from scipy.stats import norm
    >>> known = bayes(None, {"a": norm(0, 1), "b": norm(2, 1)})
    >>> round(known.error_rate, 6), known.error_bound
    (0.158655, 0.0)
    """
    random_generator(seed)
    draws = reading.check_integer("draws", draws, 64, description="a number of random points")
    return BayesResults(known_distribution(densities, columns, response), prior, costs, draws, seed)
