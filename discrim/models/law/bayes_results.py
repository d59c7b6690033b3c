"""The Bayes classifier of a known law as an object: decisions, error, samples, and what other rules lose.

The error of the rule is a property of the law, and a measure for every fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.law.bayes_bounds import is_regular
from discrim.core.law.bayes_law import MassLaw, excess, least_risk
from discrim.core.law.law_points import REPLICATES, Amount
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.expected_costs import joint_scores
from discrim.errors import DataError, NotSupportedError
from discrim.inference.folds import generator
from discrim.models.fits.arguments import check_word, cost_matrix, prior_vector
from discrim.models.fits.displayed import displayed
from discrim.models.fits.handed_out import HandedOut
from discrim.models.fits.labels import labelled
from discrim.models.fits.prediction import Decision
from discrim.models.fits.shown import ShownModel
from discrim.models.law.bayes_input import Known, frame_of, points_of, ruled
from discrim.models.law.bayes_posteriors import LawPosteriors
from discrim.models.law.bayes_tables import decision_table, pair_bounds
from discrim.models.pictures.pictured import Pictured
from discrim.models.reports.reported import Reported

if TYPE_CHECKING:
    from discrim.models.judging.estimated_prior import PriorEstimate

__all__ = ["BayesResults"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class BayesResults(LawPosteriors, Pictured, Reported, ShownModel):
    """The Bayes classifier of a known law. It predicts as a fit does, and has no rows.

    Attributes
    ----------
    classes : Index of length K
        Class labels.
    prior : Series by class
        Prior probabilities.
    columns : Index of length p
        Names of the columns of x.
    densities : DataFrame of P(x | class), or dict by class
        The law as it was given.
    costs : DataFrame or None
        Costs as they were given.
    """

    title: ClassVar[str] = "Bayes classifier of a known law"

    MOST_PAIRS: ClassVar[int] = 40
    """Pairs of classes whose bounds are worked out without being asked for."""

    prior = HandedOut[pd.Series]()

    def __init__(self, known: Known, prior: Any, costs: Any, draws: int, seed: int | None) -> None:
        self._known = known
        self._draws, self._seed = draws, seed
        self._cache: dict[Any, Any] = {}
        self.classes = known.classes
        self.columns = known.columns
        values = prior_vector(prior, self.classes, np.ones(len(self.classes)))
        self.prior = pd.Series(values, index=self.classes, name="prior")
        matrix = cost_matrix(costs, self.classes)
        self._given_costs = matrix

    @property
    def costs(self) -> pd.DataFrame | None:
        """Costs of giving a row of one class the label of another, where they were given."""
        if self._given_costs is None:
            return None
        return pd.DataFrame(self._given_costs, index=self.classes, columns=self.classes, copy=True)

    @property
    def terms(self) -> pd.Index:
        """The columns of x, under the name that fits have for them."""
        return self.columns

    @property
    def densities(self) -> pd.DataFrame | dict[Any, Any]:
        """P(x | class) of a table, or the distributions by class."""
        law = self._known.law
        if isinstance(law, MassLaw):
            return pd.DataFrame(law.mass, index=self.classes, columns=self._known.values)
        return dict(self._known.densities)

    def _costs(self) -> Floats:
        return 1 - np.eye(len(self.classes)) if self.costs is None else self.costs.to_numpy()

    # ---- prediction

    def _scores(self, x: Floats, prior: Floats) -> Floats:
        """Scores (n, K) of points; NaN for one with a missing value."""
        scores = np.full((len(x), len(self.classes)), np.nan)
        known = ~np.isnan(x).any(axis=1)
        law = self._known.law
        if isinstance(law, MassLaw):
            with np.errstate(divide="ignore"):
                logs = np.log(law.mass[:, x[known, 0].astype(np.intp)]).T
        else:
            logs = law.log_densities(x[known])
        scores[known] = joint_scores(logs, prior)
        return scores

    def _prior_values(self, prior: Any) -> Floats:
        given = self.prior if prior is None else prior
        return prior_vector(given, self.classes, np.ones(len(self.classes)))

    def _frame(self, data: Any, prior: Any) -> tuple[Floats, pd.Index]:
        x, index = points_of(self._known, data)
        return self._scores(x, self._prior_values(prior)), index

    def _codes(self, scores: Floats, costs: Floats | None = None, reject: float | None = None) -> Codes:
        matrix = (None if self.costs is None else self.costs.to_numpy()) if costs is None else costs
        return Decision(matrix, reject).codes(scores)

    def predict(
        self, data: Any = None, prior: Any = None, *, costs: Any = None, reject: float | None = None
    ) -> pd.Series:
        """The class of largest posterior, or of least expected cost, of each row; of equal classes the first.

        Parameters
        ----------
        data : table with the law's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        prior : optional
            Prior probabilities, in any form that the verb takes; by default those of the law.
        costs : DataFrame or (K, K) array, optional
            Cost of giving a row of one class (row) the label of another (column). The label of least expected
            cost is then given. By default those of the law.
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
        if reject is not None and not 0 <= reject < np.inf:
            raise DataError(f"reject={reject!r}: give a number from 0 on.")
        scores, index = self._frame(data, prior)
        return labelled(self._codes(scores, cost_matrix(costs, self.classes), reject), self.classes, index)

    def estimate_prior(
        self,
        data: Any,
        *,
        tol: float = 1e-10,
        maxiter: int = 200,
        level: float = 0.95,
        interval: Literal["wald", "profile"] = "wald",
    ) -> PriorEstimate:
        """Shares of the classes among rows whose classes are not known; see `estimate_prior` of a fit.

        Parameters
        ----------
        data : table with the law's columns, array (n, p), or values of the only column
            The batch of rows.
        tol : float
            The search ends where the slope of the mean log-likelihood along each share above zero is within
            this distance of its value at a maximum, and the slope along each share of zero is above it by no
            more.
        maxiter : int
            The largest number of steps: first steps of EM (Saerens, Latinne & Decaestecker, 2002, Neural
            Computation 14, 21-41), then steps of Newton's method with the bound at zero.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        interval : {"wald", "profile"}
            "wald" is normal on the logit scale. "profile" is of the profile likelihood: it takes some
            searches for each class, and has limits for shares of zero too.

        Notes
        -----
        The densities are known here, so that the standard errors are complete.
        """
        from discrim.models.judging.estimated_prior import Search, shares_of

        if data is None:
            raise DataError("estimate_prior() needs rows whose classes are not known: pass data=.")
        x, _ = points_of(self._known, data)
        equal = np.full(len(self.classes), 1.0 / len(self.classes))
        check_word("interval", interval, ("wald", "profile"))
        search = Search(tol, maxiter, level, interval).checked()
        return shares_of(iter([(self._scores(x, equal), None)]), self.prior, search, self.title, known=True)

    # ---- the law

    @property
    @displayed(every="share")
    def decision(self) -> pd.DataFrame:
        """What the rule decides, for each value of a table or for each interval of a line.

        Returns
        -------
        DataFrame
            For a table, by value: a column of posteriors for each class, `probability` of the value,
            `decision`. For one continuous variable: low, high, decision.

        Raises
        ------
        NotSupportedError
            x has several columns with densities, or infinitely many values.
        """
        if "decision" not in self._cache:
            self._cache["decision"] = decision_table(self)
        table: pd.DataFrame = self._cache["decision"]
        return table.copy()

    def _least(self) -> Amount:
        if "least" not in self._cache:
            law, prior = self._known.law, self._prior_values(None)
            with late_bar(REPLICATES * len(prior), "random points by class") as tell:
                least = least_risk(law, prior, self._costs(), self._draws, self._seed, tell)
            self._cache["least"] = self._within_bounds(least)
        found: Amount = self._cache["least"]
        return found

    def _within_bounds(self, least: Amount) -> Amount:
        """An error over random points, no further off than the closed bounds of normals allow."""
        law, k = self._known.law, len(self.classes)
        if isinstance(law, MassLaw) or not least.method.endswith("Monte Carlo") or self.costs is not None:
            return least
        normals = law.normals() if k * (k - 1) // 2 <= self.MOST_PAIRS else None
        if normals is None or not all(is_regular(normal.cov) for normal in normals):
            return least
        whole = self.bounds().iloc[-1]
        furthest = max(whole["chernoff"] - least.value, least.value - whole["lower"])
        return least._replace(bound=min(least.bound, float(furthest)))

    @property
    def error_rate(self) -> float:
        """The Bayes error, which is the error of the best rule; with costs, its mean cost."""
        return self._least().value

    @property
    def error_bound(self) -> float:
        """Bound on the error of `error_rate`: 0 where it is exact to rounding.

        For a quadrature it is the sum of the last differences of its panels, and of what the integrals of the
        densities lack to one. For random points it is half of a 99 % interval; where fewer than 30 points
        make up the mean, it is what so many points can miss.
        """
        return self._least().bound

    @property
    def error_method(self) -> str:
        """How `error_rate` was computed: "exact", "sum", "quadrature", "quasi-Monte Carlo", "Monte Carlo"."""
        return self._least().method

    def risk(self, rule: Any) -> pd.Series:
        """The error rate of any rule under this law, and how far it is from the best.

        Parameters
        ----------
        rule : fit, Series or mapping of classes by value of a table, or callable
            A fit, of this package or another, predicts from a table with the law's columns. A function gets
            the same table, or a single column as a Series, and returns a label for each row.

        Returns
        -------
        Series
            `error_rate`, `error_bound`, `excess` over the Bayes error, `excess_bound`. The excess is
            integrated by itself, so that it is right even where it is small. With costs the rate is the mean
            cost.

        Raises
        ------
        DataError
            The rule leaves a value out, or gives it a label that is no class of this law.
        """
        decide = ruled(self._known, rule)
        prior = self._prior_values(None)
        with late_bar(REPLICATES * len(prior), "random points by class") as tell:
            lost = excess(self._known.law, prior, self._costs(), decide, self._draws, self._seed, tell)
        least = self._least()
        return pd.Series(
            {
                "error_rate": least.value + lost.value,
                "error_bound": least.bound + lost.bound,
                "excess": lost.value,
                "excess_bound": lost.bound,
            },
            name="risk",
        )

    @displayed()
    def bounds(self) -> pd.DataFrame:
        """Chernoff's and Bhattacharyya's bounds on the error of each pair of classes, and on the whole.

        Returns
        -------
        DataFrame
            By pair (a, b): `exponent` of the density of a in Chernoff's bound; the upper bounds `chernoff`
            and `bhattacharyya`; `lower`; and Bhattacharyya's `distance`. The last row has the sum of the
            upper bounds over the pairs, and the largest lower one. Without a closed form the integrals are
            means over random points, and the bounds are as uncertain.

        Raises
        ------
        NotSupportedError
            The law has costs, which these bounds do not hold for.
        """
        if self.costs is not None:
            raise NotSupportedError("These bounds hold for the error rate: call bayes() without costs.")
        if "bounds" not in self._cache:
            self._cache["bounds"] = pair_bounds(
                self._known, self._prior_values(None), self._draws, self._seed
            )
        found: pd.DataFrame = self._cache["bounds"]
        return found.copy()

    def sample(self, n: int, seed: int | None = None) -> pd.DataFrame:
        """A random sample of the law, ready for a formula.

        Parameters
        ----------
        n : int
            Number of rows.
        seed : int, optional
            Seed of the random numbers.

        Returns
        -------
        DataFrame
            The class, as a categorical with all classes, and the columns of x.
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise DataError(f"n={n!r}: give a number of rows, 1 or more.")
        rng = generator(seed)
        codes = rng.choice(len(self.classes), size=n, p=self.prior.to_numpy())
        law = self._known.law
        x = np.empty((n, 1 if isinstance(law, MassLaw) else law.dim))
        for k in range(len(self.classes)):
            rows = np.flatnonzero(codes == k)
            if isinstance(law, MassLaw):
                x[rows, 0] = rng.choice(law.mass.shape[1], size=len(rows), p=law.mass[k])
            elif len(rows):
                x[rows] = law.densities[k].draw(len(rows), rng)
        frame = frame_of(self._known, x)
        labels = pd.Series(pd.Categorical.from_codes(codes.tolist(), categories=self.classes))
        frame.insert(0, str(self.classes.name), labels)
        return frame

    # ---- tables and pictures

    def save(self, path: object) -> None:
        """A law is made of distributions and functions, which no file holds: this raises NotSupportedError.

        Parameters
        ----------
        path : str or path
            Nothing is written there.

        Raises
        ------
        NotSupportedError
        """
        raise NotSupportedError(
            f"A known law is not saved (to {path}): distributions and functions are code, and a saved file "
            "holds none. Keep the call of bayes(), or densities.to_csv() of a table."
        )

    def _model(self) -> str:
        return "bayes"

    def _is_plane(self) -> bool:
        return len(self.columns) > 1 and not isinstance(self._known.law, MassLaw)

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row: classes, columns, the error rate, its bound and method."""
        row = {"classes": len(self.classes), "columns": len(self.columns), "error_rate": self.error_rate}
        return pd.DataFrame([row | {"error_bound": self.error_bound, "method": self.error_method}])
