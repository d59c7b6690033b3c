"""Mixture discriminant analysis: the verb `mixture`, its results and its summary.

Each class is a mixture of normal distributions. Numbers of components and covariance forms are options or are
chosen by BIC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.mixtures import mixture as core
from discrim.core.mixtures.em import FORMS, Degenerate, EMPlan, Form, form_name, is_axial
from discrim.core.mixtures.incomplete import MissingnessSummary
from discrim.core.mixtures.mixture import MixtureFit
from discrim.core.mixtures.starts import COMMON_FRAME_FORMS
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule, log_of_prior, log_posteriors
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import gather_weighted_rows, read_rows
from discrim.errors import (
    CollinearError,
    ConvergenceWarning,
    DataError,
    NotSupportedError,
    sentence,
    warn_user,
)
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec, refit_scorer
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import stored_path
from discrim.models.discriminant.em import (
    MissingRows,
    is_em_requested,
    raise_if_unobserved,
    read_observed_sample,
)
from discrim.models.results import headers
from discrim.models.results.geometry import GroupSummary
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections


@dataclass(frozen=True, slots=True)
class MixtureChoice:
    """Numbers of components and covariance forms of the classes, and options of EM.

    Attributes
    ----------
    sizes : tuple of int or None
        Number of components of each class; None if BIC chooses it.
    forms : tuple of str or None
        Covariance form of each class in mclust's letters, one of `FORMS`; None if BIC chooses it.
    together : bool
        Whether a form applies to the components of all classes together; all `forms` are then equal, and
        BIC chooses one number and one form for all classes.
    max_components : int
        Largest number of components to try.
    plan : EMPlan
        Options of EM.
    """

    sizes: tuple[int | None, ...]
    forms: tuple[str | None, ...]
    together: bool
    max_components: int
    plan: EMPlan

    @property
    def has_choice(self) -> bool:
        """Whether BIC chooses a number of components or a form."""
        return None in self.sizes or None in self.forms


def _fit_rows(
    choice: MixtureChoice, design_rows: DesignRows, n_classes: int, prior: Floats, *, estimated_prior: bool
) -> tuple[MixtureFit, pd.DataFrame | None]:
    """Choose open numbers of components and forms by BIC, and fit the mixtures to rows by EM.

    The choice uses a sample of large classes (`core.sample_large_classes`), and EM then continues with all
    rows. If that fails, everything is done with all rows.

    Parameters
    ----------
    choice : MixtureChoice
        Numbers of components and forms.
    design_rows : DesignRows
        The rows; those with missing values are used if `uses_incomplete_rows`.
    n_classes : int
        Number of classes, K.
    prior : (K,) float64
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior was estimated by the class proportions.

    Returns
    -------
    fit : MixtureFit
        The fitted mixtures; EM may not have converged (`fit.converged`).
    path : DataFrame or None
        The candidates with their BIC, see `MixtureResults.path`; None if BIC chose nothing.

    Raises
    ------
    CollinearError
        From every start some component becomes singular or too narrow, or loses its rows; or BIC is to choose
        and EM found no maximum for any candidate of a class.
    """
    all_rows = core.sort_rows(*gather_weighted_rows(design_rows), n_classes)
    sample = core.sample_large_classes(*all_rows) if choice.has_choice else None
    priors: dict[str, Any] = {"prior": prior, "estimated_prior": estimated_prior}
    if sample is not None:
        plan = replace(choice.plan, tol=max(choice.plan.tol, core.SEARCH_TOLERANCE))
        try:
            sample_choice = replace(choice, plan=plan)
            fit, path = _search(sample_choice, design_rows, sample, **priors, with_marginal_llf=False)
        except CollinearError:
            # For example, all values of a column can be equal in the sample.
            sample = None
        else:
            moments, x, codes, weights = all_rows
            with Progress(0, "steps of EM") as progress:
                refit = core.continue_with_all_rows(fit, moments, (x, codes, weights), choice.plan, progress)
            if not isinstance(refit, Degenerate):
                if path is not None:
                    path.attrs["sample"] = core.max_search_rows(moments.n_columns)
                return refit, path
    return _search(choice, design_rows, all_rows, **priors)


def _search(
    choice: MixtureChoice,
    design_rows: DesignRows,
    sorted_rows: tuple[ClassMoments, Floats, Codes, Floats | None],
    *,
    prior: Floats,
    estimated_prior: bool,
    with_marginal_llf: bool = True,
) -> tuple[MixtureFit, pd.DataFrame | None]:
    """Choose open numbers of components and forms, and fit the mixtures from several starts.

    Parameters
    ----------
    choice : MixtureChoice
        Numbers of components and forms.
    design_rows : DesignRows
        All rows, for labels and errors.
    sorted_rows : tuple
        Moments, rows, classes and weights, as returned by `core.sort_rows` or `core.sample_large_classes`.
    prior, estimated_prior
        As in `_fit_rows`, which describes the results and exceptions too.
    with_marginal_llf : bool
        Whether to compute `MixtureFit.llf_rows`.

    Returns
    -------
    fit : MixtureFit
    path : DataFrame or None
    """
    moments, x, codes, weights = sorted_rows
    path = None
    if choice.has_choice:
        choice, path = _choose_by_bic(choice, design_rows, moments, x, codes, weights)
    sizes: Any = choice.sizes
    forms: Any = choice.forms
    structure = core.MixtureStructure(sizes, forms, choice.together)
    with Progress(0, "steps of EM") as progress:
        fit = core.fit_mixture(
            moments, (x, codes, weights), prior, structure, choice.plan,
            estimated_prior=estimated_prior, with_marginal_llf=with_marginal_llf, progress=progress,
        )  # fmt: skip
    if isinstance(fit, Degenerate):
        raise _degenerate_error(fit, sizes, forms, design_rows)
    return fit, path


def _choose_by_bic(
    choice: MixtureChoice,
    design_rows: DesignRows,
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Any,
) -> tuple[MixtureChoice, pd.DataFrame]:
    """Choose numbers of components and covariance forms by BIC.

    Parameters
    ----------
    choice : MixtureChoice
        The options; a size or form of None is to be chosen.
    design_rows : DesignRows
        The rows, for labels.
    moments : ClassMoments
        Diagonal class moments of the rows.
    x : (n, p) float64
        The rows, sorted by `core.sort_rows`; NaN if a value is missing.
    codes : (n,) int
        Classes.
    weights : (n,) float64 or None
        Frequency weights.

    Returns
    -------
    choice : MixtureChoice
        The options with the chosen numbers and forms.
    path : DataFrame
        A row for each candidate, class by class; see `MixtureResults.path` for the columns. If
        `choice.together`, the candidates are for all classes at once, and the column class is absent.

    Raises
    ------
    CollinearError
        EM found no maximum for any candidate of a class, because the likelihood is unbounded.
    """
    k = moments.n_classes
    groups = [np.arange(k)] if choice.together else [np.array([c]) for c in range(k)]
    sizes = list(choice.sizes)
    forms = list(choice.forms)
    tables = []
    jobs = []
    for group in groups:
        size = sizes[group[0]]
        form = forms[group[0]]
        component_counts = range(1, choice.max_components + 1) if size is None else [size]
        jobs.append(core.form_candidates(component_counts, FORMS if form is None else [form], len(group)))
    with Progress(sum(len(job) for job in jobs), "choice of components") as progress:
        for group, job in zip(groups, jobs, strict=True):
            in_group = np.isin(codes, group)
            group_rows = (
                x[in_group],
                np.searchsorted(group, codes[in_group]),
                None if weights is None else weights[in_group],
            )
            candidate_rows = core.fit_candidates(
                moments.select_classes(group), *group_rows, job, choice.plan, progress
            )
            table = pd.DataFrame(candidate_rows, columns=["components", "covariance", "df", "llf", "bic"])
            if table["bic"].isna().all():
                label = format_value(design_rows.design.levels[group[0]])
                # Another form does not help if all forms were tried, or if the class has only one row.
                is_single_row = len(group) == 1 and moments.rows[group[0]] < 2
                form_hint = "" if form is None or is_single_row else _form_hint(form, "EII", "diagonal")
                scope = f"class {label}" if len(group) == 1 else "the classes"
                raise CollinearError(
                    f"The likelihood of normal mixtures is unbounded in {scope}: for each candidate number "
                    "of components a covariance matrix becomes singular.",
                    hint=(
                        "Leave out columns that are constant or linear combinations of others in the "
                        f"class{form_hint and f', or {form_hint}'}."
                    ),
                    classes=[design_rows.design.levels[c] for c in group],
                )
            best = int(table["bic"].argmin())
            for c in group:
                sizes[c], forms[c] = job[best]
            table["covariance"] = [form_name(form, size * len(group)) for size, form in job]
            table["chosen"] = np.arange(len(table)) == best
            if not choice.together:
                table.insert(0, "class", design_rows.design.levels[group[0]])
            tables.append(table)
    path = pd.concat(tables, ignore_index=True)
    return replace(choice, sizes=tuple(sizes), forms=tuple(forms)), path


def _form_hint(form: Form, *alternatives: MixtureCovariance) -> str:
    """Return the advice to use one of the alternative forms; empty if all of them equal `form`.

    The advice is a clause without a capital or a full stop, such as 'pass covariance="EII"'.
    """
    others = [f'"{name}"' for name in alternatives if FORM_BY_KEYWORD.get(name, name) != form]
    return f"pass covariance={' or '.join(others)}" if others else ""


def _degenerate_error(
    degenerate: Degenerate, sizes: Sequence[int], forms: Sequence[Form], design_rows: DesignRows
) -> CollinearError:
    """Return the error for a component that degenerates, with the class and the reason.

    Parameters
    ----------
    degenerate : Degenerate
        The component, its weight and how it degenerated.
    sizes : sequence of int
        Number of components of each class.
    forms : sequence of str
        Covariance form of each class.
    design_rows : DesignRows
        The rows, which are read again to find collinear columns.

    Returns
    -------
    CollinearError
        If the component is singular and columns of its class are collinear, it names these columns. Otherwise
        its message says that a class with one component has a singular covariance, or that a component
        became singular or too narrow or lost all its rows.
    """
    class_index = degenerate.k
    complete = replace(design_rows, uses_incomplete_rows=False, integrates_missing=False)
    moments = reading.class_moments(complete, "class")
    if degenerate.reason == "singular" and sizes[class_index] == 1:
        # If classes are fitted together, the reported class need not be the singular one.
        class_index = next(
            (k for k in (class_index, *range(len(sizes))) if dependencies(moments, k)), class_index
        )
    # With few complete rows all columns are collinear, although incomplete rows may separate them.
    has_few_complete_rows = (
        design_rows.uses_incomplete_rows and moments.rows[class_index] <= len(design_rows.terms) + 1
    )
    collinear = () if has_few_complete_rows else dependencies(moments, class_index)
    label = format_value(design_rows.design.levels[class_index])
    if collinear and degenerate.reason == "singular":
        # "pooled" does not help if columns are collinear in the pooled covariance too.
        alternatives: tuple[MixtureCovariance, ...] = ("EII",) if dependencies(moments) else ("pooled", "EII")
        hint = _form_hint(forms[class_index], *alternatives)
        return reading.collinear_error(
            collinear, design_rows.terms, f"within class {label}", alternative=hint
        )
    if sizes[degenerate.k] == 1:
        form_hint = _form_hint(forms[degenerate.k], "pooled", "EII")
        return CollinearError(
            f"The covariance matrix of class {label} is singular: it has {degenerate.weight:g} observations "
            f"of {len(design_rows.terms)} columns, or the scales of its columns differ too much for "
            "this form.",
            hint=sentence(
                ", or ".join(filter(None, ["leave out columns, write standardize() around them", form_hint]))
            ),
            classes=(design_rows.design.levels[class_index],),
        )
    simpler = _form_hint(forms[degenerate.k], "pooled", "EII")
    outcome = {
        "singular": f"becomes singular as the likelihood increases, with a weight of {degenerate.weight:.3g}",
        "narrow": (
            f"converges, with a weight of {degenerate.weight:.3g}, to less than a hundredth of the "
            "width of another component along some direction"
        ),
        "empty": "loses all its rows",
    }[degenerate.reason]
    return CollinearError(
        f"Component {degenerate.component + 1} of {sizes[degenerate.k]} of class {label} {outcome}, from "
        "each start.",
        hint=(
            f"Use fewer components, {simpler and f'{simpler}, which has fewer parameters, '}or try "
            "another seed=."
        ),
        classes=(design_rows.design.levels[class_index],),
    )


def _refit_from_new_starts(
    choice: MixtureChoice, fit: FittedModel[MixtureFit], design_rows: DesignRows
) -> Rule | None:
    """Refit to rows by EM from new starts and return the classification rule.

    Parameters
    ----------
    choice : MixtureChoice
        Numbers of components and forms; those that are None are chosen again.
    fit : FittedModel
        The fitted model, whose prior is kept.
    design_rows : DesignRows
        The rows to refit to.

    Returns
    -------
    Rule or None
        None if a class lacks observed values in some column, or from every start a component becomes
        singular, too narrow or empty.
    """
    n_classes = len(fit.classes)
    if not core.has_all_means(*gather_weighted_rows(design_rows)[:2], n_classes):
        return None
    try:
        refit, _ = _fit_rows(choice, design_rows, n_classes, fit.estimates.prior, estimated_prior=False)
    except CollinearError:
        return None
    return _classification_rule(refit, fit, design_rows)


def _classification_rule(
    estimates: MixtureFit, fit: FittedModel[MixtureFit], design_rows: DesignRows
) -> Rule:
    """Return the classification rule of the refitted `estimates` under the prior of `fit`.

    The rule accepts missing values if `design_rows.integrates_missing`: it then integrates these columns out.
    """
    log_prior = fit.log_prior()
    return estimates.marginal_rule(log_prior) if design_rows.integrates_missing else estimates.rule(log_prior)


class MixtureResults(ClassMeans, GroupSummary, ClassifierResults):
    """A fit of mixtures of normals.

    Attributes
    ----------
    means : DataFrame, classes by terms
        Means of the rows of the classes.
    llf, aic, bic : float
        Joint log-likelihood of class and row, and its criteria, of which smaller values are better.
    df_model : int
        Number of free parameters: shares, means and covariances of the components and, if the prior is the
        class proportions, the prior.
    """

    _fit: FittedModel[MixtureFit]

    @property
    def components(self) -> pd.Series:
        """Number of components of each class, by class."""
        return pd.Series(list(self._fit.estimates.sizes), index=self.classes, name="components")

    @property
    def covariance(self) -> pd.Series:
        """Covariance form of each class in mclust's letters, by class.

        A class with a single component has the name for one component, such as "XII" or "XXI", if the
        classes do not share the form.
        """
        estimates = self._fit.estimates
        forms = [
            form if estimates.together else form_name(form, size)
            for form, size in zip(estimates.forms, estimates.sizes, strict=True)
        ]
        return pd.Series(forms, index=self.classes, name="covariance")

    @property
    def _component_index(self) -> pd.MultiIndex:
        """Index (class, component number from 1), in the order of `_component_order`."""
        component_numbers = [number for size in self._fit.estimates.sizes for number in range(1, size + 1)]
        labels = self.classes.take(self._fit.estimates.component_classes)
        return pd.MultiIndex.from_arrays(
            [labels, component_numbers], names=[self.classes.name or "class", "component"]
        )

    @property
    def _component_order(self) -> Codes:
        """Positions of all T components in the estimates, sorted by class and by decreasing share."""
        estimates = self._fit.estimates
        return np.lexsort((-estimates.components.mixing_proportions, estimates.component_classes))

    @property
    def shares(self) -> pd.Series:
        """Shares of the components in the rows of their classes, by (class, component).

        The components of a class are numbered from 1 by decreasing share, and their shares sum to one.
        """
        return pd.Series(
            self._fit.estimates.components.mixing_proportions[self._component_order],
            index=self._component_index,
            name="share",
        )

    @property
    def component_means(self) -> pd.DataFrame:
        """Means of the components.

        Shape: (class, component) by terms.
        """
        return pd.DataFrame(
            self._fit.estimates.means()[self._component_order],
            index=self._component_index,
            columns=self.terms,
        )

    @property
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariances of the components: the maximum likelihood estimates of their form.

        Dict of (class, component) to DataFrame. The divisor is a sum of weights: of the component for
        "full", and of all components that share the covariance for "pooled".
        """
        estimates = self._fit.estimates
        return {
            key: pd.DataFrame(estimates.component_covariance(g), index=self.terms, columns=self.terms)
            for key, g in zip(self._component_index, self._component_order.tolist(), strict=True)
        }

    @property
    def logdet(self) -> pd.Series:
        """Natural log-determinants of the components' covariances `covs`, by (class, component)."""
        estimates = self._fit.estimates
        units = 2.0 * np.log(estimates.scale).sum()
        values = np.array([covariance.logdet for covariance in estimates.components.covariances]) - units
        return pd.Series(values[self._component_order], index=self._component_index, name="logdet")

    @property
    def llf_given(self) -> float:
        """Log-likelihood of the rows conditional on their classes: `llf` without the prior."""
        return self._fit.estimates.llf_given

    @property
    def llf_rows(self) -> float:
        """Marginal log-likelihood of the rows, without their classes, under the fit's prior."""
        return self._fit.estimates.llf_rows

    @property
    def converged(self) -> bool:
        """Whether EM converged within `maxiter=` steps."""
        return self._fit.estimates.converged

    @property
    @available_if()
    def em(self) -> MissingnessSummary:
        """Counts of a fit with missing="em".

        Attributes of the result: `incomplete`, the number of rows with a missing value, and `patterns`, the
        number of different sets of observed columns, including the set of all columns if it occurs.

        Raises
        ------
        NotSupportedError
            The fit was made without missing="em".
        """
        completed = self._fit.estimates.completed
        if completed is None:
            raise NotSupportedError(
                'The attribute em exists only for fits with missing="em".', hint='Fit with missing="em".'
            )
        return completed

    @property
    @available_if()
    @with_display_formats()
    def runs(self) -> pd.DataFrame:
        """Agreement of the starts of EM, by class: number of complete runs, and how many reached the maximum.

        Columns: runs, reached. If a form is over all classes, they are fitted together and have equal counts.
        A run has reached the maximum if its log-likelihood per row is within a thousand times `tol=` of the
        largest. A class of more than 2,000 rows has one complete run, from the best of its short runs.
        """
        runs = self._fit.estimates.run_counts.astype(np.int64)
        return pd.DataFrame(runs, index=self.classes, columns=["runs", "reached"])

    @property
    @available_if()
    @with_display_formats()
    def path(self) -> pd.DataFrame:
        """Candidates of the choice by BIC; a smaller BIC is better, and it is NaN if EM found no maximum.

        Columns: class (absent if a form is over all classes), components (of each class), covariance
        (mclust's name), df, llf (log-likelihood given the classes), bic (df ln n - 2 llf), chosen (bool). df,
        llf and n are of the class, or of all classes if a form is over all classes. llf and n are of a sample
        of each class of over 5,000 rows (or 500 per column), whose size per class is ``attrs["sample"]``; it
        is absent if all rows were used. See the Notes of `discrim.mixture`.

        Raises
        ------
        NotSupportedError
            Components and covariances were options, or the fit was loaded.
        """
        reason = "because components and covariances were set, or the fit was loaded"
        return stored_path(
            self._fit, reason, 'fit with components="bic" or covariance="bic" to have them chosen'
        )

    def component_posteriors(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Posterior probabilities of the components of all classes.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by (class, component)
            The sum over the components of a class is its posterior. They are NaN for a row with a missing
            value, except in fits with `missing="em"`, which use its other columns.

        Examples
        --------
        >>> from discrim import mixture
        >>> from discrim.datasets import load_iris
        >>> fit = mixture("species ~ .", load_iris(), components=2, covariance="pooled")
        >>> fit.component_posteriors().iloc[100].round(3).tolist()
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        rule = self._fit.estimates.marginal_component_rule(log_of_prior(self._fit.prior_values()))
        values = np.full((design_rows.table.nrows, len(self._component_order)), np.nan)
        for row_slice, x, missing in design_rows.iter_all_rows():
            is_scored = slice(None) if missing is None or design_rows.integrates_missing else ~missing
            if len(x[is_scored]):
                values[row_slice][is_scored] = np.exp(log_posteriors(rule.scores(x[is_scored])))
        return pd.DataFrame(
            values[:, self._component_order], index=design_rows.table.index, columns=self._component_index
        )

    # ---- tables

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class, component and term. Columns: class, component, share, term, mean, sd.

        component is the number of the component in its class, share its share of the class, and mean and sd
        are its mean and standard deviation of the term.
        """
        p = len(self.terms)
        index = self._component_index
        sd = [np.sqrt(np.diagonal(cov)) for cov in self.covs.values()]
        columns = {
            "class": index.get_level_values(0).repeat(p),
            "component": index.get_level_values(1).repeat(p),
            "share": self.shares.to_numpy().repeat(p),
            "term": list(self.terms) * len(index),
            "mean": self.component_means.to_numpy().ravel(),
            "sd": np.ravel(sd),
        }
        return pd.DataFrame(columns)

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit.

        Columns: nobs, classes, terms, df_model, llf, aic, bic, components, covariance, llf_given, llf_rows.
        components is the number in all classes; covariance is the form, or the forms of the classes in order
        with commas between them if they differ.
        """
        estimates = self._fit.estimates
        forms = self.covariance.unique()
        row = {
            "components": sum(estimates.sizes),
            "covariance": forms[0] if len(forms) == 1 else ",".join(self.covariance),
            "llf_given": self.llf_given,
            "llf_rows": self.llf_rows,
        }
        return pd.DataFrame([self._glance() | row])


MAX_STARTS = 10_000
"""Largest number of random partitions as starts of EM; each needs ten steps."""

MAX_COMPONENTS = 1000
"""Largest number of components to try; each number needs all starts, and each component a row."""

MixtureCovariance = Literal["full", "diagonal", "pooled", "bic", Form]
"""Values of `covariance=`: keywords of the other verbs, "bic", and the forms in mclust's letters."""

FORM_BY_KEYWORD = {"full": "VVV", "diagonal": "VVI", "pooled": "EEE"}
"""Names of covariances in the other verbs, and the equivalent mclust forms."""

DEFAULT_MAX_COMPONENTS = 5
"""Largest number of components that "bic" tries by default."""


@reading.with_public_errors
def mixture(
    formula: str,
    data: Data,
    *,
    components: int | Literal["bic"] | Mapping[Any, int | Literal["bic"]] = "bic",
    covariance: MixtureCovariance | Mapping[Any, str] = "full",
    over: Literal["class", "classes"] | None = None,
    most: int = DEFAULT_MAX_COMPONENTS,
    starts: int = 10,
    seed: int = 0,
    tol: float = 1e-8,
    maxiter: int = 1000,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    missing: MissingRows | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> MixtureResults:
    """Mixture discriminant analysis: each class has a mixture of normal distributions.

    A class may consist of several clusters or have a curved shape. With one component each class is normal,
    with a covariance of one of fourteen forms that include the forms of `discrim.lda` and `discrim.qda`.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that can be read more than once, which is kept in memory; see the page on
        shared arguments.
    components : int, dict, or "bic"
        Number of components of each class; a dict has the numbers by class. "bic" tries 1 to `most`, in a
        sample of large classes; see the Notes of `discrim.mixture`.
    covariance : str or dict
        "full" estimates a covariance for each component, and "diagonal" does so without correlations.
        "pooled" has one covariance for all components of all classes, as in R's mda. Other names follow
        mclust; see the Notes of `discrim.mixture`. "bic" tries all of these names. A dict has names by class.
    over : {"class", "classes"}, optional
        Whether "equal" in the letters of a name means equal over the components of each class, or over the
        components of all classes. By default it is over all classes if each has one component, and within
        each class otherwise.
    most : int
        The largest number of components that "bic" tries: no more than the largest class has rows, nor 1,000.
    starts : int
        Number of random partitions from which EM runs a few steps, in addition to two of hierarchical
        clustering. It is continued from the best of them.
    seed : int
        Seed of the random partitions. The same seed and rows, in any order, yield the same fit.
    tol : float
        EM ends when a step raises the log-likelihood by less than this for each row.
    maxiter : int
        The largest number of steps of EM.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    missing : {"drop", "em"}, optional
        "em" also uses the observed values of rows with a missing value: the means and covariances are maximum
        likelihood estimates from all observed values, and the fit predicts such rows from their other
        columns. The rows are then kept in memory.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    MixtureResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also an option that is
        unknown, and a class with fewer rows than components.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        From every start a component becomes singular or too narrow, or is left without rows; or a class with
        one component has a singular covariance, and the message names the columns.

    Notes
    -----
    The letters of mclust's names stand for volume, shape and orientation: E means equal for all components, V
    varying, and I a sphere or no rotation. EII and VII are spheres; EEI, VEI, EVI and VVI are diagonal; EEE,
    VEE, EVE, VVE, EEV, VEV, EVV and VVV are ellipsoids. EII, VII, EVE, VVE, EEV and VEV depend on the units
    of the columns.

    One component for each class, with a form over classes, is mclust's EDDA (Bensmail & Celeux, 1996, Journal
    of the American Statistical Association 91, 1743-1748): EEE is `lda(method="mle")` and VVV is
    `qda(method="mle")`. A form over each class is its MclustDA (Fraley & Raftery, 2002, Journal of the
    American Statistical Association 97, 611-631). "pooled" is the mixture discriminant analysis of Hastie &
    Tibshirani (1996, Journal of the Royal Statistical Society B 58, 155-176).

    `llf`, AIC and BIC refer to the joint likelihood of class and row, as for the other verbs: the sum over
    the rows of ln prior_k + ln f_k(x). `llf_given` leaves out the prior. `llf_rows`, which mclust prints, is
    the marginal log-likelihood of the rows: the sum of ln sum_k prior_k f_k(x). The BIC that mclust prints is
    the negative of the BIC of this number. components="bic" and covariance="bic" use BIC = df ln n - 2 llf of
    the rows within a class, or within all classes if the form is over all classes.

    EM begins at `starts` partitions by k-means and at two by hierarchical clustering: Ward's, and a
    model-based one (Fraley, 1998, SIAM Journal on Scientific Computing 20, 270-281), which mclust begins at.
    After ten steps it is continued to the end from the two hierarchical ones and from the three best of the
    others, and `runs` counts how many of these agree. The hierarchies use at most 300 rows of each class. If
    a class has over 2,000 rows, the ten steps use at most 2,000 of them, only the best run is continued to
    the end, and its steps are extrapolated (Varadhan & Roland, 2008, Scandinavian Journal of Statistics 35,
    335-353).

    components="bic" and covariance="bic" use a sample of each class of over 5,000 distinct rows, or over 500
    for each column if that is more. The sample has this size: the rows are sorted by value and taken at
    equal steps, without random numbers. The starts, the runs of EM, to a tolerance of 1e-6, and the BIC of
    all candidates, which `path` shows, are of the sample. The last run of EM begins at the chosen candidate
    and uses all rows, as all estimates and likelihoods do. If EM fails for every candidate, all rows are
    used throughout.

    With missing="em" a row has the density of its observed columns, and EM completes it once for each
    component, by the regression of its missing columns on the others (Ghahramani & Jordan, 1994, Advances in
    Neural Information Processing Systems 6, 120-127). Likelihoods, AIC and BIC refer to the observed values.
    It is assumed that whether a value is missing does not depend on the value. EM begins at the fit to a
    table whose missing values are drawn, by the seed, from one normal distribution for each class. With one
    component for each class EEE is `lda(method="mle", missing="em")` and VVV is `qda(method="mle",
    missing="em")`.

    `leave_one_out` runs EM once for each row, from the components of the fit. Folds and bootstrap samples use
    new starts, and repeat the choice by BIC. The likelihood of normals with unequal covariances is unbounded,
    and it has many spurious maxima at which a component consists of a few rows near a plane. The fit is the
    largest maximum found at which no component of 2 (p + 1) rows or fewer is, along any direction, less than
    a hundredth as wide as another component of its class (Hathaway, 1985, Annals of Statistics 13, 795-800).

    Examples
    --------
    >>> from discrim import mixture
    >>> from discrim.datasets import load_iris
    >>> fit = mixture("species ~ .", load_iris(), components=1, covariance="VEV")
    >>> round(fit.llf_rows, 2), fit.df_model
    (-187.71, 38)
    >>> fit = mixture("species ~ .", load_iris(), components=2, covariance="pooled")
    >>> fit.shares.round(3).loc["virginica"].tolist()
    [0.677, 0.323]
    """
    options = verb_options(locals())
    starts = reading.check_integer("starts", starts, 1, MAX_STARTS)
    maxiter = reading.check_integer("maxiter", maxiter, 1)
    seed = reading.check_integer("seed", seed, 0)
    plan = EMPlan(starts, seed, reading.check_number("tol", tol, 0, 1, ends="[)"), maxiter)
    most = reading.check_integer("most", most, 1, MAX_COMPONENTS, description="a number of components")
    reading.check_word("over", over, ("class", "classes"), optional=True)
    by_em = is_em_requested(missing, na_action, has_rows=True)
    design_rows = read_rows(
        formula, data, weights=weights, levels=levels, functions=functions, uses_incomplete_rows=by_em
    )
    reading.raise_if_large(design_rows, "mixture() keeps the rows")
    if by_em:
        design_rows, rows, moments = read_observed_sample(design_rows)
    else:
        design_rows, moments = reading.usable_rows(design_rows, "diagonal", na_action)
    labels = pd.Index(list(design_rows.design.levels))
    sizes = tuple(reading.option_by_class("components", components, labels, _read_component_count))
    forms = tuple(reading.option_by_class("covariance", covariance, labels, _read_covariance_form))
    choice = MixtureChoice(sizes, forms, _is_together(covariance, sizes, forms, over), most, plan)
    _raise_if_too_many(choice, labels, moments)
    if by_em:
        pairs = any(form is None or not is_axial(form) for form in forms)
        is_common = choice.together and forms[0] in COMMON_FRAME_FORMS
        raise_if_unobserved(design_rows, rows, is_common=is_common, needs_pairs=pairs)
    priors, estimated = reading.read_prior(prior, labels, moments.counts)
    fit, path = _fit_rows(choice, design_rows, moments.n_classes, priors, estimated_prior=estimated)
    if not fit.components.converged:
        warn_user(
            f"EM did not converge in {fit.maxiter} steps. Pass a larger maxiter=, or use fewer components.",
            ConvergenceWarning,
        )
    if by_em:
        fit = replace(fit, completed=MissingnessSummary.from_rows(rows.x))
    return MixtureResults(MixtureSpec(choice).fit(fit, design_rows, options, path=path))


def _raise_if_too_many(choice: MixtureChoice, labels: pd.Index, moments: ClassMoments) -> None:
    """Raise DataError if a class has fewer rows than its requested number of components.

    It is also raised if BIC chooses a number and the largest candidate exceeds both the number of rows of the
    largest class and `DEFAULT_MAX_COMPONENTS`.

    Parameters
    ----------
    choice : MixtureChoice
        Number of components of each class, and the largest candidate.
    labels : Index
        The classes.
    moments : ClassMoments
        Class moments with the numbers of rows.
    """
    small_classes = labels[
        [size is not None and size > n_rows for size, n_rows in zip(choice.sizes, moments.rows, strict=True)]
    ]
    if len(small_classes):
        raise DataError(
            f"{'Class' if len(small_classes) == 1 else 'Classes'} {reading.join_labels(small_classes)} "
            f"{'has' if len(small_classes) == 1 else 'have'} fewer observations than components.",
            hint="Use fewer components, or leave out such classes.",
            classes=small_classes,
        )
    largest = int(moments.rows.argmax())
    n_rows = int(moments.rows[largest])
    if None in choice.sizes and choice.max_components > max(n_rows, DEFAULT_MAX_COMPONENTS):
        raise DataError(
            f"most={choice.max_components} is larger than the largest class, {labels[largest]!r}, which has "
            f"{n_rows} observations.",
            hint=f"Pass a number from 1 to {n_rows}.",
            classes=(labels[largest],),
        )


def _read_component_count(value: Any) -> int | None:
    """Return a number of components, or None for "bic"; raise DataError unless it is an integer above 0."""
    if isinstance(value, str) and value == "bic":
        return None
    return reading.check_integer(
        "components", value, 1, description="a number", also=' for each class, or "bic"'
    )


def _read_covariance_form(value: Any) -> str | None:
    """Validate a covariance; return its form in mclust's letters, or None for "bic".

    DataError is raised for a value that is not one of `MixtureCovariance`.
    """
    if not isinstance(value, str) or value not in get_args(MixtureCovariance):
        raise DataError(
            f"covariance={reading.format_argument(value)} is not valid.",
            hint=f"Pass one of {reading.join_labels(get_args(MixtureCovariance), max_labels=20)}.",
        )
    return None if value == "bic" else FORM_BY_KEYWORD.get(value, value)


def _is_together(
    covariance: Any, sizes: tuple[int | None, ...], forms: tuple[str | None, ...], over: str | None
) -> bool:
    """Return whether a covariance form applies to the components of all classes together.

    Parameters
    ----------
    covariance : str or mapping
        Option of the verb.
    sizes : tuple of int or None
        Number of components of each class; None if BIC chooses it.
    forms : tuple of str or None
        Covariance form of each class; None if BIC chooses it.
    over : {"class", "classes"} or None
        Option of the verb. None means "classes" for "pooled" or if each class has one component, provided
        that all classes have the same form, and otherwise "class".

    Returns
    -------
    bool
        False if each class has forms of its own.

    Raises
    ------
    DataError
        `over="classes"`, but forms differ by class, or BIC chooses the number of components of only some
        classes.
    """
    is_same_for_all = len(set(forms)) == 1 and (None not in sizes or len(set(sizes)) == 1)
    if over is None:
        return is_same_for_all and (
            (isinstance(covariance, str) and covariance == "pooled") or set(sizes) == {1}
        )
    if over == "classes" and not is_same_for_all:
        raise DataError(
            'over="classes" requires one covariance= for all classes, and components= that are numbers for '
            'all classes or "bic" for all.',
            hint='Leave out over=, or pass over="class".',
            options={"over": "class"},
        )
    return over == "classes"


@dataclass(frozen=True, eq=False)
class MixtureSpec(ModelSpec[MixtureFit]):
    """Specification of mixture discriminant analysis.

    Parameters
    ----------
    search : MixtureChoice, optional
        Options with which refits repeat the choice and start EM again; None for a fit from a file.
    """

    name = "mixture"
    title = "Mixture discriminant analysis"
    results_class = MixtureResults
    refit_failure = ("a component becomes singular or is left without rows", "fewer components")
    leave_one_out_cost = 1000
    chosen_options = MappingProxyType({"components": "sizes", "covariance": "forms", "over": "form_scope"})
    search_options = ("most",)
    constructor = MixtureFit
    file_moments = "diagonal"
    allows_constant = True

    search: MixtureChoice | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `mixture_sections` and `mixture_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return mixture_sections, mixture_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "components" and "path".
        """
        from discrim.models.mixtures.plots import MIXTURE_PLOTS

        return MIXTURE_PLOTS

    def fit(
        self, estimates: MixtureFit, rows: DesignRows, arguments: Mapping[str, Any], **options: Any
    ) -> FittedModel[MixtureFit]:
        """Return a fitted model; see `ModelSpec.fit` for the parameters.

        Parameters
        ----------
        estimates : MixtureFit
            The estimates; if they are from incomplete rows (`completed`), the fit integrates out the missing
            columns of rows.
        rows : DesignRows
            The rows, or a design without rows.
        arguments : mapping
            Options of the verb.
        **options
            Further parameters of `ModelSpec.fit`.

        Returns
        -------
        FittedModel
            With `estimates`, the design of `rows` and the options; `integrates_missing` of its rows is True
            if `estimates.completed` is not None.
        """
        rows = rows if estimates.completed is None else replace(rows, integrates_missing=True)
        return super().fit(estimates, rows, arguments, **options)

    def required_moments(self, fit: FittedModel[MixtureFit]) -> None:
        """Return None: a refit needs the rows."""

    def choice_description(self, fit: FittedModel[MixtureFit]) -> str:
        """Return "the components and their covariances" if BIC chose any of them, otherwise ""."""
        is_chosen = self.search is not None and self.search.has_choice
        return "the components and their covariances" if is_chosen else ""

    def refit_to_rows(self, fit: FittedModel[MixtureFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit from new starts that repeats any choice by BIC.

        A fit from a file is refitted by `refit_with_fixed`. None if a class lacks observed values in some
        column, or from every start a component becomes singular, too narrow or empty.
        """
        if self.search is None:
            return self.refit_with_fixed(fit, rows)
        return _refit_from_new_starts(self.search, fit, rows)

    def refit_with_fixed(self, fit: FittedModel[MixtureFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit with the fit's numbers of components and forms.

        EM starts at the components of the fit, or at new partitions if the rows lack columns of the fit. None
        if a class lacks observed values in some column, or a component becomes singular, too narrow or empty.
        """
        estimates = fit.estimates
        if len(rows.terms) != len(estimates.scale):
            fixed = estimates.sizes, estimates.forms, estimates.together, max(estimates.sizes)
            return _refit_from_new_starts(MixtureChoice(*fixed, estimates.em_plan), fit, rows)
        refit = estimates.refit(*gather_weighted_rows(rows))
        return None if refit is None else _classification_rule(refit, fit, rows)

    def leave_one_out(self, fit: FittedModel[MixtureFit]) -> LeaveOneOutScorer:
        """Return the function that scores each row by EM without it, from the components of the fit.

        The prior is fixed. Scores are NaN if a component degenerates without the row. NotSupportedError is
        raised for more than 2,000 rows (`MAX_REFITS`).
        """
        refit_scorer(fit, "requires a run of EM for each row")
        return core.leave_one_out_scorer(
            fit.estimates, fit.log_prior(), *gather_weighted_rows(fit.design_rows)
        )

    def has_marginals(self, fit: FittedModel[MixtureFit]) -> bool:
        """Return True: `marginal_rule` integrates columns out."""
        return True

    def marginal_rule(self, estimates: MixtureFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule of the columns at positions `keep` (q,); the others are integrated out.

        The rule scores rows (m, q) under `log_prior` (K,) by the mixtures of `estimates`. `method` is not
        used.
        """
        return estimates.rule_for_columns(log_prior, keep)

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of k classes and p columns, by name; -1 is any length.

        The names are "scale", "components.mixing_proportions", "components.means" and "run_counts".
        """
        components = {"components.mixing_proportions": (-1,), "components.means": (-1, p)}
        return {"scale": (p,), **components, "run_counts": (k, 2)}


MAX_SHOWN_CANDIDATES = 10
"""Number of candidates of the choice by BIC that the summary shows for each class."""

MAX_SHOWN_COMPONENTS = 60
"""Largest number of components, of all classes together, whose means the summary shows."""


def mixture_sections(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes", "components" and "path"; each function accepts `results` and `fit` and
    returns a section. "path" is left out if the fit does not store the candidates of a choice.
    """
    path: Sections = {} if fit.path is None else {"path": _path_section}
    return {"header": _header_section, **mixture_brief, **path}


def _header_section(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Pairs:
    """Return the header of the summary: rows, components, convergence, likelihoods, criteria and errors.

    The leave-one-out error is left out if a class has several components or rows are incomplete, because it
    then needs steps of EM for each row.
    """
    estimates = fit.estimates
    over = "the components of all classes" if estimates.together else "the components of each class"
    min_size = min(estimates.sizes)
    max_size = max(estimates.sizes)
    lists_sizes = len(estimates.sizes) <= 6
    size_text = (
        " + ".join(map(str, estimates.sizes)) if lists_sizes else f"{min_size} to {max_size} in each class"
    )
    size_text = f"{min_size} in each class" if min_size == max_size else size_text
    if fit.path is not None:
        components_option = fit.options["components"]
        by_class = (
            components_option.values() if isinstance(components_option, Mapping) else [components_option]
        )
        size_text += ", chosen by BIC" if "bic" in by_class else ", form chosen by BIC"
    completed = estimates.completed
    observed = "" if completed is None else ", observed"
    steps = "yes" if results.converged else f"no, in {estimates.maxiter} steps"
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem(
            "Components", sum(estimates.sizes), size_text, brief="components", options=("components",)
        ),
        HeaderItem("Converged", results.converged, steps),
        headers.criterion_item(results, "llf", f"Log-likelihood{observed}"),
        HeaderItem("Log-lik. given the classes", results.llf_given, f"{results.llf_given:.2f}"),
        HeaderItem("Log-lik. of rows alone", results.llf_rows, f"{results.llf_rows:.2f}"),
        HeaderItem("Free parameters", results.df_model),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
        headers.error_item(fit, "apparent"),
        # The summary omits the leave-one-out error if it needs steps of EM for each row.
        headers.error_item(fit, "loo")
        if max_size == 1 and not (completed and completed.incomplete)
        else headers.skipped_error_item(),
    ]
    if completed is not None:
        completed_text = f"{completed.incomplete}, {completed.patterns} patterns"
        items.insert(2, HeaderItem("Incomplete observations", completed.incomplete, completed_text))
    note = (
        f"The covariance form applies to {over}. The log-likelihood is joint over class and variables "
        "(in mclust, over the variables alone). Smaller AIC and BIC are better."
    )
    if fit.path is not None:
        note = f"{note} {_sample_note(fit)}".strip()
    return headers.header(fit, items, f"{note} {headers.fixed_choice_note(fit)}".strip())


def _sample_note(fit: FittedModel[MixtureFit]) -> str:
    """Return the sentence that the choice by BIC used a sample, or an empty text if it used all rows."""
    size = 0 if fit.path is None else fit.path.attrs.get("sample", 0)
    if not size:
        return ""
    return (
        f"Components are chosen from a sample of {size:,} observations of each larger class; "
        "the estimates use all observations."
    )


def _classes_section(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Section:
    """Return the section of the classes: prior, rows, number of components, form and runs of EM.

    The runs are left out if each class has one component.
    """
    table = pd.DataFrame(
        {
            "prior": results.prior,
            "n": results.counts,
            "components": results.components,
            "covariance": results.covariance,
        }
    )
    formats: dict[Any, Any] = {
        "prior": "share",
        "n": "count",
        "components": "count",
        "covariance": "text",
    }
    source = "fit.prior, fit.components, fit.covariance"
    note = ""
    if (results.components > 1).any():
        runs = results.runs
        table = table.join(runs)
        source = f"{source}, fit.runs"
        formats |= {"runs": "count", "reached": "count"}
        if (runs["reached"] < runs["runs"]).any():
            note = (
                "Runs of EM from different starts reached different maxima: `reached` counts the runs that "
                "reached the maximum shown. If they are few, try a larger starts=, or fewer components."
            )
    return Section("Classes", table, formats, note=note, source=source)


def _components_section(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Section:
    """Return the section of the shares and means of the first `MAX_SHOWN_COMPONENTS` components."""
    table = results.component_means
    table.insert(0, "share", results.shares)
    n_omitted = len(table) - MAX_SHOWN_COMPONENTS
    note = f"{n_omitted} more: fit.component_means." if n_omitted > 0 else ""
    section = Section(
        "Components: shares and means",
        table.head(MAX_SHOWN_COMPONENTS),
        {"share": "share"},
        note=note,
        source="fit.shares, fit.component_means, fit.covs",
    )
    statistic, values = headers.rank_columns(fit.estimates.moments)
    # The first column of the table is the share, which is not ranked.
    ranking = statistic, np.append(np.nan, values)
    return headers.transpose_if_wide(section, "components_by_column", ranking)


def _path_section(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Section:
    """Return the section of the `MAX_SHOWN_CANDIDATES` candidates with the smallest BIC.

    They are for each class, or for all classes if a form is over all classes.
    """
    path = results.path.dropna(subset=["bic"])
    best = path.sort_values("bic", kind="stable")
    if "class" in path:
        # Sort by the order of the classes, and by BIC within each class.
        best["class"] = pd.Categorical(best["class"], list(results.classes))
        best = best.sort_values("class", kind="stable")
        best = best[best.groupby("class", observed=True).cumcount() < MAX_SHOWN_CANDIDATES]
    else:
        best = best.head(MAX_SHOWN_CANDIDATES)
    names = best["components"].astype(str) + " " + best["covariance"]
    index = pd.Index(names, name="components")
    if "class" in path:
        index = pd.MultiIndex.from_arrays([best["class"].astype(object), names], names=["class", index.name])
    table = best[["df", "llf", "bic"]].set_axis(index)
    count_text = f"The best of {len(path)} candidates; all: fit.path. " if len(path) > len(best) else ""
    note = (
        f"{count_text}BIC = df ln n - 2 llf (log-likelihood given the classes). The smallest BIC is chosen. "
        f"{_sample_note(fit)}"
    ).strip()
    return Section(
        "Choice by BIC", table, {"df": "count"}, headings=SHARED_HEADINGS, note=note, source="fit.path"
    )


mixture_brief: Sections = {"classes": _classes_section, "components": _components_section}
"""Sections of the short summary: classes and components."""
