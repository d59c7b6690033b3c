"""Base classes of results by the form of their rules: linear, quadratic, or separating planes.

`LinearGeometry` has the planes between classes of a linear rule. `LogOddsEquations` offers log odds to the
package maketables, which reads attributes that begin with `__maketables_`; `to_list()` returns one equation
for each column of its table. `ClassCovariances` and `SeparateCovariances` are for models with a covariance of
each class. `SeparatingLines` and `PlaneSpec` are for models of planes between rows, which have values of the
classes but not posteriors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pandas as pd

from discrim.core.covariance.principal import weighted_centre
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import LinearRule, Plane, Rule
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import GatheredRows, gather_used_rows, read_rows
from discrim.errors import CollinearError, DataError, NotSupportedError, PrecisionWarning, warn_user
from discrim.inference.mean_differences import between_squares, generalized_distances
from discrim.models.base.available import available_if
from discrim.models.base.display import SummarizedResults, display_brief_summary, with_display_formats
from discrim.models.base.fit import (
    EstimatesT,
    FittedModel,
    MissingPolicy,
    ModelSpec,
    PriorInRefits,
    refit_scorer,
)
from discrim.models.base.fitted_results import FittedResults, needs_rows
from discrim.models.base.labels import (
    class_code,
    class_term_index,
    covariance_frame,
    make_unique_name,
    range_note,
    value_or_nan,
)
from discrim.models.base.reading import Data, NaAction, class_moments, join_labels, usable_rows
from discrim.models.base.scores import posterior_frame, transform_rows
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.result_table import as_result_table

if TYPE_CHECKING:
    from discrim.report.tables import Summary


class Boundary(SummarizedResults):
    """The plane between two classes: normal'x + offset is the score of the first minus the second.

    Parameters
    ----------
    fit : FittedModel
    classes : (label, label)
        The first and the second class.
    plane : Plane
        The plane, in the units of the data.
    midpoint : (p,) float
        Mean of the two class means.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> fit = lda("species ~ petal_length + petal_width", load_iris())
    >>> plane = fit.boundary("virginica", "versicolor")
    >>> plane.normal.round(2).to_dict(), round(plane.offset, 2)
    ({'petal_length': 4.08, 'petal_width': 12.55}, -41.08)
    >>> plane.distance(load_iris()[50:52]).round(2).tolist()
    [-0.33, -0.29]
    """

    def __init__(
        self, fit: FittedModel[Any], classes: tuple[Any, Any], plane: Plane, midpoint: Floats
    ) -> None:
        self._fit = fit
        self._classes = classes
        self._plane = plane
        self._midpoint = midpoint

    @property
    def normal(self) -> pd.Series:
        """Normal vector of the plane, by term."""
        return pd.Series(self._plane.normal, index=self._fit.terms, name="normal", copy=True)

    @property
    def offset(self) -> float:
        """Value of normal'x + offset at x = 0."""
        return self._plane.offset

    @property
    def midpoint(self) -> pd.Series:
        """The point halfway between the two means, by term."""
        return pd.Series(self._midpoint, index=self._fit.terms, name="midpoint", copy=True)

    @property
    def c(self) -> float:
        """Value of normal'x at the midpoint.

        Under LDA with equal priors a row belongs to the first rather than the second class if its normal'x is
        larger.
        """
        return float(self._plane.normal @ self._midpoint)

    @property
    def from_origin(self) -> float:
        """Distance of the plane from the origin: the absolute `offset` divided by the length of the normal.

        It is NaN if the normal is zero and the plane does not exist.
        """
        length = float(np.hypot.reduce(self._plane.normal))
        return abs(self.offset) / length if length > 0 else np.nan

    def distance(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.Series:
        """Signed distance of observations to the plane, in units of the columns.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        Series
            Positive on the side of the first class; missing for a row with a missing value.

        Raises
        ------
        DataError
            The scores of the classes are equal in all columns and do not define a plane.
        """
        plane = self._proper_plane()
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        out = np.empty(design_rows.table.nrows)
        for row_slice, x, _ in design_rows.iter_all_rows():
            out[row_slice] = plane.distances(x)
        return pd.Series(out, index=design_rows.table.index, name="distance")

    def foot(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Feet of the perpendiculars from observations to the plane.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by terms
            The nearest point of the plane, which is the row minus its distance times the unit normal; missing
            for a row with a missing value.

        Raises
        ------
        DataError
            The scores of the classes are equal in all columns and do not define a plane.
        """
        plane = self._proper_plane()
        return transform_rows(
            self._fit.new_rows(data, MissingPolicy(unseen)), plane.perpendicular_feet, self._fit.terms
        )

    def _proper_plane(self) -> Plane:
        """Return the plane; raise DataError if the scores of the classes do not differ in any column."""
        if not self._plane.normal_length > 0:
            a, b = map(format_value, self._classes)
            raise DataError(
                f"The scores of {a} and {b} are equal in all columns. There is no boundary between them.",
                hint="Name two other classes.",
            )
        return self._plane

    def summary(self) -> Summary:
        """The plane as a table: normal and midpoint by term, offset, and distance from the origin."""
        from discrim.report.grid import HeaderItem, Pairs, Section
        from discrim.report.tables import Summary

        quantities = {"Offset": self.offset, "Distance from the origin": self.from_origin}
        items = [HeaderItem(name, number, f"{number:.6g}") for name, number in quantities.items()]
        title = "normal'x + offset: score of the first class minus score of the second class"
        table = pd.DataFrame({"normal": self.normal, "midpoint": self.midpoint})
        errors = np.full(table.shape, np.inf)
        plane = Section("By term", table, errors=errors, source=".normal, .midpoint")
        return Summary("Plane between two classes", {"header": Pairs(title, items), "plane": plane})


class LinearGeometry(FittedResults):
    """Methods of models with a linear rule: planes between classes."""

    def _plane(self, i: int, j: int) -> Plane:
        """Return the plane on which classes i and j (positions) have equal scores, positive on the side of i.

        It is in the units of the data.
        """
        rule = _linear_rule(self._fit)
        normal = (rule.coef[:, i] - rule.coef[:, j]) * rule.scale
        return Plane(normal, rule.origin, float(rule.intercept[i] - rule.intercept[j]))

    def boundary(self, a: Any = None, b: Any = None) -> Boundary:
        """The plane on which two classes tie: their posteriors, or their scores, are equal.

        Parameters
        ----------
        a, b : label, optional
            Two classes of the fit. If there are only two, the default is the second for a and the first for
            b.

        Returns
        -------
        Boundary
            It has `normal`, `offset`, `midpoint`, `c`, `distance(data)` and `foot(data)`. normal'x + offset
            is positive on the side of a; for LDA and logistic regression it is the log odds of a against b.

        Raises
        ------
        DataError
            A class is unknown; there are more than two classes and they are not named; or a class has a prior
            of zero.
        """
        i, j = _class_pair(self._fit, a, b)
        for k in (i, j):
            if not self._fit.prior[k] > 0:
                raise DataError(
                    f"{format_value(self.classes[k])} has a prior of zero and therefore no boundary.",
                    hint="Name two classes with positive priors, or fit with another prior=.",
                    classes=(self.classes[k],),
                )
        means = self._fit.estimates.moments.class_means
        labels = self.classes[i], self.classes[j]
        return Boundary(self._fit, labels, self._plane(i, j), (means[i] + means[j]) / 2)


def _linear_rule(fit: FittedModel[Any]) -> LinearRule:
    """Return the rule of a fit, cast to `LinearRule` for type checkers."""
    return cast("LinearRule", fit.rule())


class LinearScores(LinearGeometry):
    """Coefficients of the linear scores of a rule, for models without other coefficients."""

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients of the linear scores in the units of the data, terms by classes.

        They are zero for columns that the rule does not use.
        """
        rule = _linear_rule(self._fit)
        return pd.DataFrame(rule.coef * rule.scale[:, None], index=self.terms, columns=self.classes)

    @property
    def intercept(self) -> pd.Series:
        """Constants of the linear scores, their values at x = 0, by class."""
        rule = _linear_rule(self._fit)
        constant = rule.intercept - (rule.origin * rule.scale) @ rule.coef
        return pd.Series(constant, index=self.classes, name="constant")


def _class_pair(fit: FittedModel[Any], a: Any, b: Any) -> tuple[int, int]:
    """Return the positions of two classes.

    Parameters
    ----------
    fit : FittedModel
    a, b : label or None
        Classes. If both are None and the fit has two classes, the second and the first of them.

    Returns
    -------
    i, j : int
        Positions of a and b.

    Raises
    ------
    DataError
        The classes are equal or unknown, only one is named, or none of more than two.
    """
    if a is None and b is None and len(fit.classes) == 2:
        return 1, 0
    if a is None or b is None:
        raise DataError(
            f"boundary() requires two of the classes {join_labels(fit.classes)}.",
            hint=f"Name both, for example ({format_value(fit.classes[1])}, {format_value(fit.classes[0])}).",
            classes=fit.classes,
        )
    i = class_code(a, fit.classes)
    j = class_code(b, fit.classes)
    if i == j:
        raise DataError(
            f"Class {a!r} has no boundary with itself.", hint="Name two different classes.", classes=(a,)
        )
    return i, j


MAKETABLES_INTERVALS = {0.95: ("ci95l", "ci95u"), 0.90: ("ci90l", "ci90u")}
"""Names of the limits of intervals in maketables, by their level."""

STATISTICS = {"N": "nobs", "df_model": "df_model"}
LIKELIHOOD_STATISTICS = {
    "ll": "llf",
    "llnull": "llnull",
    "pseudo_r2": "prsquared",
    "aic": "aic",
    "bic": "bic",
}
"""Keys of statistics in maketables, and the attributes of a fit. Likelihoods of class and row are omitted,
because other packages have likelihoods of the class given the row."""


class MaketablesAttributes:
    """Attributes that maketables reads, of one equation or of all equations of a fit.

    A subclass defines `_equations_of`, the results to which the equations belong.
    """

    _equations_of: Any

    def __maketables_stat__(self, key: str) -> Any:
        """Return a statistic by a key of maketables, such as "N".

        None for other keys, also for keys of likelihoods if the model lacks a likelihood of the class given
        the row; NaN if the fit does not have the statistic.
        """
        fit = self._equations_of
        names = STATISTICS | (LIKELIHOOD_STATISTICS if fit._fit.likelihood_of == "class given row" else {})
        return value_or_nan(fit, names[key]) if key in names else None

    @property
    def __maketables_fixef_string__(self) -> None:
        """Fixed effects, always None."""
        return None

    @property
    def __maketables_var_labels__(self) -> None:
        """Labels of the variables, always None."""
        return None

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        """Type of covariance of the coefficients ("vcov_type") and variable of the clusters ("clustervar").

        The type is the `cov_type` of a robust fit, else "information" or "delta method". The variable is None
        unless the robust covariance is clustered.
        """
        fit = self._equations_of
        given_row = fit._fit.likelihood_of == "class given row"
        cov_type = getattr(fit, "cov_type", "nonrobust")
        if cov_type != "nonrobust":
            return {"vcov_type": cov_type, "clustervar": fit._clustered_by()}
        return {"vcov_type": "information" if given_row else "delta method", "clustervar": None}

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """Keys of the statistics that are shown by default: "N", and "pseudo_r2" and "ll".

        The last two are omitted unless the likelihood is of the class given the row.
        """
        given_row = self._equations_of._fit.likelihood_of == "class given row"
        return ["N", "pseudo_r2", "ll"] if given_row else ["N"]


class LogOddsEquation(MaketablesAttributes):
    """Log odds of a class against the reference: a column of an `ETable` of maketables.

    Parameters
    ----------
    fit : ClassifierResults
    label : object
        The class.
    table : DataFrame
        Coefficients of the class by term, with the columns of `maketables_coefficients`.
    """

    def __init__(self, fit: Any, label: Any, table: pd.DataFrame) -> None:
        self._equations_of = fit
        self._table = table
        self.label = label

    def __repr__(self) -> str:
        return f"<log odds of {self.__maketables_depvar__}>"

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        """Coefficients of the class by term, with columns b, se, t, p, ci95l, ci95u, ci90l and ci90u."""
        return self._table.copy()

    @property
    def __maketables_depvar__(self) -> str:
        """Name of the response and class, such as "species: virginica"."""
        return f"{self._equations_of.classes.name}: {self.label}"


class LogOddsEquations(MaketablesAttributes, FittedResults):
    """Base class of results with `log_odds`, which maketables can read as equations."""

    @property
    def _equations_of(self) -> Any:
        """These results themselves, which have all equations."""
        return self

    @available_if(lambda self: self.log_odds)
    def to_list(self) -> list[LogOddsEquation]:
        """The log odds of each class against the reference, as columns of a table of models.

        The package maketables calls this method to print the fit next to fits of other packages. The
        coefficients have the names in formulas, with "Intercept" for the constant: equal terms of several
        models share a row.

        Returns
        -------
        list of LogOddsEquation
            One for each class except the reference.

        Raises
        ------
        NotSupportedError
            The fit does not support `log_odds`.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("species ~ petal_length", discrim.datasets.load_iris())
        >>> fit.to_list()
        [<log odds of species: versicolor>, <log odds of species: virginica>]
        >>> fit.to_list()[0].__maketables_coef_table__.round(2)[["b", "se", "t"]].rename_axis(None)
                          b    se     t
        Intercept    -43.23  5.26 -8.22
        petal_length  15.11  1.82  8.29

        If maketables is installed, ``maketables.ETable([fit, others])`` prints the table.
        """
        table = maketables_coefficients(self)
        labels = table.index.get_level_values(0).unique()
        return [LogOddsEquation(self, label, table.loc[label].rename_axis("Coefficient")) for label in labels]

    @property
    @available_if(lambda self: self.log_odds)
    def __maketables_coef_table__(self) -> pd.DataFrame:
        """Coefficients of all equations in one table, with the columns of `maketables_coefficients`.

        It is indexed by the term for two classes, otherwise by "class, term".
        """
        table = maketables_coefficients(self)
        names = [term if len(self.classes) == 2 else f"{label}, {term}" for label, term in table.index]
        return table.set_axis(pd.Index(names, name="Coefficient"))

    @property
    def __maketables_depvar__(self) -> str:
        """Name of the response."""
        return str(self.classes.name)


def maketables_coefficients(fit: Any) -> pd.DataFrame:
    """Return the log odds of results by (class, term), with the column names of maketables.

    The columns are b, se, t (the z statistic), p, and the limits of 95% and 90% intervals, ci95l, ci95u,
    ci90l and ci90u. The term of the constant is "Intercept", or "(Intercept)" if a column has this name.
    """
    odds = fit.log_odds()
    table = odds[["coef", "se", "z", "p"]].set_axis(["b", "se", "t", "p"], axis=1)
    for level, limit_names in MAKETABLES_INTERVALS.items():
        table[list(limit_names)] = fit.log_odds(level=level)[["low", "high"]].to_numpy()
    constant = "(Intercept)" if "Intercept" in fit.terms else "Intercept"
    labels = odds.index.get_level_values(0)
    terms = odds.index.get_level_values(1)
    # The first row of each class is the constant, even if a column has its name.
    names = [constant if i % (len(fit.terms) + 1) == 0 else str(term) for i, term in enumerate(terms)]
    renamed: pd.DataFrame = table.set_axis(pd.MultiIndex.from_arrays([labels, names], names=odds.index.names))
    return renamed


def read_plane_rows(
    formula: str,
    data: Any,
    levels: Sequence[Any] | None,
    na_action: NaAction,
    functions: Mapping[str, Callable[..., Any]] | None,
) -> tuple[DesignRows, ClassMoments, GatheredRows]:
    """Read the rows for a model of separating planes, which requires single rows in memory.

    Parameters
    ----------
    formula : str
    data : table
        Table in memory; a source of tables raises NotSupportedError.
    levels : sequence or None
        Order of the classes.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are left out, or are an error.
    functions : mapping or None
        Functions that the formula calls, by name.

    Returns
    -------
    design_rows : DesignRows
        Without empty classes and constant columns; see `usable_rows`.
    moments : ClassMoments
        With diagonal scatter matrices.
    rows : GatheredRows
        The used rows in memory.

    Raises
    ------
    CollinearError
        Every column, or a remaining one, is constant.
    DataError
        See `usable_rows`.
    """
    reason = "A plane between classes is fitted to single rows, and"
    design_rows = read_rows(formula, data, levels=levels, functions=functions, in_memory=reason)
    design_rows, moments = usable_rows(design_rows, "diagonal", na_action)
    is_constant = np.ptp(moments.means, axis=0) + moments.scatters.sum(axis=0) == 0
    if is_constant.any():
        raise CollinearError(
            f"{join_labels(np.array(design_rows.terms)[is_constant].tolist())} is constant and does not "
            "separate classes.",
            hint="Drop it from the formula.",
            columns=np.array(design_rows.terms)[is_constant].tolist(),
        )
    return design_rows, moments, gather_used_rows(design_rows)


class PlaneSpec(ModelSpec[EstimatesT]):
    """Base class of specifications of models of separating planes, without prior and posteriors."""

    file_moments = "diagonal"

    def likelihood_of(self, fit: FittedModel[EstimatesT]) -> str:
        """Return "none": the model does not define a likelihood."""
        return "none"

    def prior_in_refits(self, fit: FittedModel[EstimatesT]) -> PriorInRefits:
        """Return "none": the model does not use a prior."""
        return "none"

    def posteriors_hint(self, fit: FittedModel[EstimatesT]) -> str:
        """Return a constant hint that names `decision_function` and `boundary` instead of posteriors."""
        return "see decision_function() and boundary()"

    def shows_log_posteriors(self, fit: FittedModel[EstimatesT]) -> bool:
        """Return False: `decision_function` shows the scores of the rule."""
        return False

    def required_moments(self, fit: FittedModel[EstimatesT]) -> None:
        """Return None: a refit needs the rows."""

    def refit_with_fixed(self, fit: FittedModel[EstimatesT], rows: DesignRows) -> Rule | None:
        """Return the rule, without a prior, of a refit to the used rows.

        None if the rows lack a class of the fit, or if the estimates cannot be refitted, for example because
        no plane separates the classes.
        """
        gathered = gather_used_rows(rows)
        estimates = cast("Any", fit.estimates)
        if len(np.unique(gathered.codes)) < len(fit.classes):
            return None
        refit = estimates.refit(gathered.x, gathered.codes)
        if refit is None:
            return None
        rule: Rule = refit.rule(np.zeros(len(fit.classes)))
        return rule

    def leave_one_out(self, fit: FittedModel[EstimatesT]) -> LeaveOneOutScorer | Floats:
        """Return a scorer of NaN, which causes a refit for each row.

        Raises NotSupportedError if there are too many rows for refits; see `refit_scorer`.
        """
        return refit_scorer(fit, f"of a {fit.title_in_sentence} requires a refit for each row")


class ScoresOnly(FittedResults):
    """Base class of results with values of the classes instead of posteriors."""

    def _rule_values(self, data: Any, unseen: Unseen | None = None) -> pd.DataFrame:
        """Return the scores of the rule, rows by classes; NaN for a row with a missing value."""
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        return posterior_frame(design_rows, self._fit.rule(), self.classes, np.asarray)


class SeparatingLines(LinearGeometry, ScoresOnly, ClassifierResults):
    """Base class of results of models of separating planes."""

    @property
    def df_model(self) -> int:
        """Number of coefficients of the planes, each of which is determined up to a factor."""
        return int((len(self.terms) + 1) * (1 if len(self.classes) == 2 else len(self.classes)))

    def _augmented(self, missing_policy: MissingPolicy, data: Any) -> pd.DataFrame:
        """Return the table with labels (`.fitted`) and values of the planes (`.score.<class>`)."""
        rows: Any = self._fit.new_rows(data, missing_policy)
        table: pd.DataFrame = self._fit.augment_table(
            rows, pd.DataFrame(self.decision_function(rows)), "score"
        )
        return table


MAX_COEFFICIENT_EXPONENT = 1000
"""Largest absolute binary exponent of an inverse variance with which `quadratic` is supported."""


@display_brief_summary
class Quadratic(NamedTuple):
    """Log posterior odds of one class against another, x'Ax + x'b + c, in the units of the columns.

    Attributes
    ----------
    A : DataFrame, terms by terms
        Symmetric matrix of the coefficients of squares and products.
    b : Series by term
        Coefficients of the columns.
    c : float
        Constant.
    """

    A: pd.DataFrame
    b: pd.Series
    c: float

    def _brief(self) -> Summary:
        """Return the coefficients as a summary, which `repr` and notebooks display."""
        from discrim.report.grid import Section
        from discrim.report.tables import Summary

        line = pd.DataFrame({"b": [*self.b, self.c]}, index=[*self.b.index, "c"])
        errors = np.full(len(line), np.inf)
        sections = {
            "A": Section("A, symmetric", self.A, triangle=True, errors=errors[:-1], source=".A"),
            "b": Section("b and the constant c", line, errors=errors, source=".b, .c"),
        }
        return Summary("Log odds of one class against another, x'Ax + x'b + c", sections)


class GroupSummary(FittedResults):
    """Base class of results with descriptive statistics of the columns by class."""

    def _require_complete_numbers(self) -> None:
        """Raise NotSupportedError if the fit does not have its rows, or also used incomplete rows."""
        needs_rows("group_summary()")(self)
        em = getattr(self, "em", None) if hasattr(type(self), "em") else None
        if em is not None and em.incomplete:
            raise NotSupportedError(
                "group_summary() describes complete observations, and this fit also used incomplete ones.",
                hint='See means, and cov or covs, or fit with missing="drop".',
            )

    @available_if(lambda self: self._require_complete_numbers())
    @with_display_formats()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and standard deviation by (class, term), and over all rows ("total").

        The columns are `rows` (number or sum of weights), `mean` and `sd` (divisors n_k - 1 and N - 1; NaN
        for a class of one row).
        """
        return group_summary(self._fit)


def group_summary(fit: FittedModel[Any]) -> pd.DataFrame:
    """Return rows, mean and sd (divisors n_k - 1 and N - 1) by (class, term), and over all rows ("total").

    The sd of a class of one row is NaN. The rows are read again; NotSupportedError is raised if the fit does
    not have them. If a class has the label "total", underscores are appended to the label of the last rows.
    """
    rows = fit.require_rows("group_summary()")
    moments = class_moments(rows, "diagonal")
    counts = moments.counts
    total = moments.total
    overall = moments.origin + weighted_centre(moments.means, counts) / moments.scale
    squares = np.vstack([moments.scatters, moments.scatters.sum(axis=0) + between_squares(moments)])
    sizes = np.append(counts, total)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(squares / (sizes - 1)[:, None]) / moments.scale
    index = class_term_index([*fit.classes, make_unique_name("total", fit.classes)], fit.terms)
    row_counts = sizes.astype(np.int64) if (sizes == np.round(sizes)).all() else sizes
    table = pd.DataFrame({"rows": np.repeat(row_counts, len(fit.terms))}, index=index)
    table["mean"], table["sd"] = np.vstack([moments.class_means, overall]).ravel(), sd.ravel()
    return table


class ClassCovariances(GroupSummary):
    """Base class of results with a covariance of each class, and derived quantities."""

    def _require_covariances(self, method_name: str) -> None:
        """Raise NotSupportedError, which names `method_name`, if the fit lacks a covariance for each class.

        This default does nothing: subclasses whose fits may lack covariances override it.
        """

    @property
    @available_if(lambda self: self._require_covariances("covs"))
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Estimated covariance of each class by label, terms by terms in the units of the data.

        Values outside the range of float64 are infinite or zero, with a PrecisionWarning.
        """
        covariances = self._fit.estimates.covariances
        scale = self._fit.estimates.moments.scale
        if note := range_note(covariances, scale, self.terms):
            warn_user(note, PrecisionWarning)
        return {
            label: covariance_frame(covariance, scale, self.terms)
            for label, covariance in zip(self.classes, covariances, strict=True)
        }

    @property
    @available_if(lambda self: self._require_covariances("logdet"))
    def logdet(self) -> pd.Series:
        """Log-determinants of the covariances in the units of the data, by class."""
        units = 2.0 * np.log(self._fit.estimates.moments.scale).sum()
        return pd.Series(
            [c.logdet - units for c in self._fit.estimates.covariances], index=self.classes, name="logdet"
        )

    @available_if(lambda self: self._require_covariances("quadratic()"))
    def quadratic(self, a: Any, b: Any) -> Quadratic:
        """Log odds of class a against class b as x'Ax + x'b + c.

        Parameters
        ----------
        a, b : label
            Two classes of the fit.

        Returns
        -------
        Quadratic
            A (terms by terms), b (by term) and the constant c.

        Raises
        ------
        DataError
            A class is unknown, both classes have a prior of zero, or a coefficient would be out of the range
            of float64.
        """
        i = class_code(a, self.classes)
        j = class_code(b, self.classes)
        if not self.prior.iloc[[i, j]].to_numpy().any():
            raise DataError(
                f"{format_value(a)} and {format_value(b)} both have a prior of zero. The odds between them "
                "are not defined.",
                hint="Name a class with a positive prior, or fit with another prior=.",
            )
        self._raise_if_extreme(i, j)
        matrix, slopes, constant = gaussian.quadratic_form(
            self._fit.estimates.moments, self._fit.estimates.covariances, self._fit.log_prior(), i, j
        )
        return Quadratic(
            as_result_table(pd.DataFrame(matrix, index=self.terms, columns=self.terms)),
            pd.Series(slopes, index=self.terms, name="b"),
            constant,
        )

    def _raise_if_extreme(self, *pair: int) -> None:
        """Raise DataError if an inverse variance of a class, in the units of the data, is out of range.

        `pair` are positions of classes; the range is `MAX_COEFFICIENT_EXPONENT`.
        """
        estimates = self._fit.estimates
        inverse = np.max([np.diagonal(estimates.covariances[k].precision()) for k in pair], axis=0)
        is_out_of_range = (
            np.abs(np.log2(inverse) + 2 * np.log2(estimates.moments.scale)) > MAX_COEFFICIENT_EXPONENT
        )
        if is_out_of_range.any():
            raise DataError(
                f"A quadratic coefficient of {join_labels(self.terms[is_out_of_range])} is out of the range "
                "of double precision.",
                hint="Scale the column and fit again. Posteriors are valid in any units.",
            )

    @available_if(lambda self: self._require_covariances("generalized_distances()"))
    @with_display_formats()
    def generalized_distances(self) -> pd.DataFrame:
        """Generalized squared distance of SAS from the mean of one class (rows) to another (columns).

        From i to j it is (m_i - m_j)' S_j^-1 (m_i - m_j) + ln|S_j|, minus 2 ln prior_j for unequal priors.
        """
        fit = self._fit.estimates
        return generalized_distances(fit.moments, fit.covariances, self._fit.log_prior(), self.classes)


def class_sds(estimates: Any) -> list[Floats]:
    """Return the standard deviations (p,) of the columns in each class, in the units of the data.

    They are from the covariances of the classes or, for a fit with `ncomp=`, whose covariances do not
    determine the variances of columns, from the moments of the rows.

    Parameters
    ----------
    estimates : object
        Estimates of the fit.

    Returns
    -------
    list of (p,) float
        One for each class.
    """
    scale = estimates.moments.scale
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(getattr(estimates, "subspace_model", None), SAVECovariance):
            variances = estimates.moments.squares / estimates.divisors[:, None]
            return list(np.sqrt(variances) / scale)
        return [covariance.sd / scale for covariance in estimates.covariances]


class SeparateCovariances(ClassMeans, ClassCovariances):
    """Base class of results with a normal distribution, with mean and covariance, in each class."""

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and term: `class`, `term`, and `mean` and `sd` within the class.

        The standard deviations are from `class_sds`.
        """
        frame = pd.DataFrame(index=class_term_index(self.classes, self.terms))
        frame["mean"] = self.means.to_numpy().ravel()
        frame["sd"] = np.concatenate(class_sds(self._fit.estimates))
        return frame.reset_index()
