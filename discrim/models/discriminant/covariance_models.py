"""Covariance models of `lda` and `qda` as users write and read them.

`read_covariance` turns `covariance=` and `components=` into the object of `discrim.core.covariance` that
estimates the covariance. Specifications are validated when they are built; here their combinations with other
options of the verb are checked.

`describe` returns the names, headings, notes and advice for a covariance model; no other module contains
them. A description is a class with the methods in which it differs from `CovarianceDescription`, and is
registered for the class of the model by `describes`. A model without a description of its own has the default
one, which is built from its `name`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from discrim.core.covariance.adjusted import CovariateAdjustedCovariance
from discrim.core.covariance.by_estimator import EstimatorCovariance
from discrim.core.covariance.correlation import ShrunkCorrelationCovariance
from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.diagonal import ShrunkDiagonalCovariance
from discrim.core.covariance.em import EMCovariance
from discrim.core.covariance.factor import FactorAnalyticCovariance
from discrim.core.covariance.model import CovarianceModel, FullCovariance, TargetUnits
from discrim.core.covariance.nonlinear import NonlinearCovariance, degrees_of_freedom
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.covariance.pseudo_inverse import PseudoInverseCovariance, ignored_complement
from discrim.core.covariance.robust import ROBUST_METHODS, MCDCovariance, StudentTCovariance
from discrim.core.covariance.separable import SeparableCovariance
from discrim.core.covariance.shrinkage import Shrinkage
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.covariance.spherical import SphericalCovariance
from discrim.core.moments.moments import ClassMoments
from discrim.covariance import CovarianceSpecification, Separable, covariance_words
from discrim.errors import DataError, NotSupportedError, format_argument
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.reading import Divisor, one_line_repr, warn_of_tied_axes
from discrim.models.discriminant.covariance_results import (
    FactorModel,
    NonlinearModel,
    SeparableModel,
    ShrunkCorrelationModel,
    ShrunkModel,
)
from discrim.models.discriminant.robust import RobustModel
from discrim.options import check_integer, check_word, join_labels
from discrim.report.grid import HeaderItem
from discrim.specification import Specification, join_class_names, read_specification
from discrim.subspace import MultipleCorrespondence, PrincipalComponents, SubspaceSpecification, read_subspace

Components = int | float | Literal["cv", "loo"] | SubspaceSpecification
"""Values that `components=` accepts."""


@dataclass(frozen=True)
class CovarianceOption:
    """Values that `covariance=` of a verb accepts.

    Attributes
    ----------
    classes_by_keyword : dict of str to type
        Class of the specification for each word, such as "shrunk". A word stands for the class with its
        default arguments.
    further_classes : tuple of type
        Classes of specifications without a word.
    subspaces : tuple of type
        Classes of specifications that `components=` of the verb accepts.
    """

    classes_by_keyword: Mapping[str, type[CovarianceSpecification]]
    further_classes: tuple[type[CovarianceSpecification], ...] = (Separable,)
    subspaces: tuple[type[SubspaceSpecification], ...] = (PrincipalComponents,)

    def read(self, value: Any) -> CovarianceModel:
        """Return the covariance model of a word, specification or estimator; raise DataError otherwise.

        An estimator is any object, but not a class, with a method `fit`.
        """
        if callable(getattr(value, "fit", None)):
            if not isinstance(value, type):
                return EstimatorCovariance(value, one_line_repr(value))
            raise DataError(
                f"covariance={value.__name__} is a class instead of an estimator.",
                hint=f"Pass covariance={value.__name__}().",
            )
        if not isinstance(value, str | type | Specification):
            raise DataError(
                f"covariance={format_argument(value)} is not supported.",
                hint=(
                    f"Use one of {join_labels(self.classes_by_keyword, len(self.classes_by_keyword))}, a "
                    "specification of discrim.covariance, or an estimator with fit(X) and covariance_."
                ),
            )
        classes = (*self.classes_by_keyword.values(), *self.further_classes)
        specification: CovarianceSpecification = read_specification(
            "covariance", value, self.classes_by_keyword, classes
        )
        return specification.model()


LDA_COVARIANCES = CovarianceOption(
    covariance_words("lda"), subspaces=(PrincipalComponents, MultipleCorrespondence)
)
"""Values that `covariance=` of `lda` accepts."""

QDA_COVARIANCES = CovarianceOption(covariance_words("qda"))
"""Values that `covariance=` of `qda` accepts."""


def read_covariance(
    option: CovarianceOption,
    covariance: Any,
    method: str = "moment",
    components: Any = None,
    missing: Any = None,
) -> CovarianceModel:
    """Return the covariance model for the options of `lda` or `qda`.

    Parameters
    ----------
    option : CovarianceOption
        `LDA_COVARIANCES` or `QDA_COVARIANCES`.
    covariance, method, components, missing
        Options of the verb. `missing` is used only to refuse "em" together with `components`.

    Returns
    -------
    CovarianceModel
        The unfitted model; with `components` a `SubspaceCovariance` of the scores on principal axes.

    Raises
    ------
    DataError
        The value of an option is unknown, or the covariance estimator has its own divisor and `method` is not
        "moment".
    NotSupportedError
        The verb does not support the class of `components`; or `components` is combined with `missing="em"`,
        or with a covariance that needs the rows, is not a function of the moments of the scores, or
        standardizes the columns itself.
    """
    if isinstance(method, str) and method in ROBUST_METHODS:
        raise DataError(f"Unknown method={method!r}.", hint=f'Pass covariance="{method}" instead.')
    check_word("method", method, Divisor)
    covariance_model = option.read(covariance)
    option_text = covariance_text(covariance)
    if method != "moment" and covariance_model.traits.has_own_divisor:
        raise DataError(
            f"method={method!r} cannot be combined with {option_text}, which has its own divisor.",
            hint="Leave out method=.",
        )
    subspace = read_subspace(components)
    if subspace is None:
        return covariance_model
    if not isinstance(subspace, option.subspaces):
        raise NotSupportedError(
            f"This function does not support components={subspace!r}.",
            hint=f"Use {join_class_names(option.subspaces)}.",
        )
    if not covariance_model.traits.allows_subspace or covariance_model.needs_rows:
        raise NotSupportedError(
            f"{option_text} cannot be combined with components=, which requires a covariance that is a "
            "function of the moments.",
            hint='Use "diagonal", "spherical", "shrunk" with a number or "oas", or the full covariance.',
        )
    if missing == "em":
        raise NotSupportedError(
            'missing="em" cannot be combined with components=.', hint="Leave out one of the two."
        )
    if covariance_model.target_units is not None and not covariance_model.target_units.in_data:
        raise NotSupportedError(
            f"{option_text} cannot be combined with components=.",
            hint=(
                "To standardize the columns before their principal axes are computed, write "
                "components=discrim.subspace.PrincipalComponents(n, standardize=True)."
            ),
        )
    return SubspaceCovariance(
        covariance_model, subspace.n, isinstance(subspace, PrincipalComponents) and subspace.standardize
    )


def advised_specification(covariance_model: CovarianceModel, parameters: str) -> str:
    """Return `covariance=` with the specification of a model and other parameters, for a message.

    `parameters` is the text of the arguments. An example is "covariance=discrim.covariance.Shrunk(0.1)".
    """
    return f"covariance=discrim.covariance.{describe(covariance_model).specification}({parameters})"


def standardize_hint(covariance_model: CovarianceModel) -> str:
    """Return the hint, without a full stop, how to standardize the columns with this covariance model."""
    if covariance_model.subspace is not None:
        return "Pass components=discrim.subspace.PrincipalComponents(n, standardize=True)"
    return f"Pass {advised_specification(covariance_model, 'standardize=True')}"


def covariance_text(covariance: Any) -> str:
    """Return `covariance=` as the user wrote it, for a message."""
    return (
        f'covariance="{covariance}"'
        if isinstance(covariance, str)
        else f"covariance={one_line_repr(covariance)}"
    )


def reduce_to_save_axes(
    covariance_model: CovarianceModel, ncomp: Any, covariance: Any, missing: Any
) -> CovarianceModel:
    """Return the covariance model that applies the axes of `ncomp=` of `qda` (SAVE) to another model.

    Parameters
    ----------
    covariance_model : CovarianceModel
        The model without `ncomp=`.
    ncomp, covariance, missing
        Options of the verb. Whether there are as many axes as `ncomp` is not checked here. `covariance` is
        used only in messages.

    Returns
    -------
    CovarianceModel
        An unfitted `SAVECovariance` with `covariance_model` for the scores; `covariance_model` itself if
        `ncomp` is None.

    Raises
    ------
    DataError
        `ncomp` is not a positive integer.
    NotSupportedError
        `ncomp` is combined with `components=`, with a covariance other than the full one, or with
        `missing="em"`.
    """
    if ncomp is None:
        return covariance_model
    n_axes = check_integer(
        "ncomp", ncomp, 1, description="a number of axes", also=", or None for all columns"
    )
    conflicting_option = ""
    if covariance_model.subspace is not None:
        conflicting_option = "components="
    elif not covariance_model.traits.is_plain_full:
        conflicting_option = covariance_text(covariance)
    elif missing == "em":
        conflicting_option = 'missing="em"'
    if conflicting_option:
        raise NotSupportedError(
            f"{conflicting_option} cannot be combined with ncomp=, which requires full covariance matrices "
            "of complete rows.",
            hint="Leave out one of the two.",
        )
    return SAVECovariance(covariance_model, n_axes)


def raise_if_moments_with_levels(components: Any) -> None:
    """Raise NotSupportedError if `components` is a MultipleCorrespondence, which needs rows, not moments."""
    if isinstance(components, MultipleCorrespondence):
        raise NotSupportedError(
            f"components={components!r} requires the levels of the categorical columns, which moments= do "
            "not contain.",
            hint="Pass formula and data.",
        )


def effective_method(covariance_model: CovarianceModel, method: Divisor) -> str:
    """Return the name of a robust estimator ("t" or "mcd"), or the option `method` for other models."""
    return getattr(covariance_model, "method", method)


def warn_of_separated_axes(covariance_model: CovarianceModel | None, levels: Sequence[Any]) -> None:
    """Warn if the number of axes of a fitted covariance model separates axes with equal eigenvalues.

    Each set of axes, of all classes or of each class, causes one warning. `levels` are the class labels, for
    the message. A `covariance_model` that is None or lacks axes causes no warning.
    """
    if covariance_model is None:
        return
    option = describe(covariance_model).axes_option
    for axes in covariance_model.retained_axes():
        owner = "" if axes.class_position is None else f"class {levels[axes.class_position]!r}"
        warn_of_tied_axes(option, axes.count, axes.tied_axes, owner=owner, max_axes=axes.max_count)


# ---- wording

D = TypeVar("D", bound=type["CovarianceDescription"])

DESCRIPTIONS: dict[type[CovarianceModel], type[CovarianceDescription]] = {}
"""The description of each class of models."""


def describes(*models: type[CovarianceModel]) -> Callable[[D], D]:
    """Return a class decorator that registers a description in `DESCRIPTIONS` for classes of models.

    It also applies to their subclasses without a description of their own.
    """

    def register(description: D) -> D:
        """Register the decorated class for each of the models, and return it unchanged."""
        DESCRIPTIONS.update(dict.fromkeys(models, description))
        return description

    return register


def describe(model: CovarianceModel) -> CovarianceDescription:
    """Return the description registered for the class of a model or its nearest registered base class.

    A model without such a class gets a plain `CovarianceDescription`.
    """
    for base in type(model).__mro__:
        if base in DESCRIPTIONS:
            return DESCRIPTIONS[base](model)
    return CovarianceDescription(model)


def divisor_text(*, by_class: bool, mle: bool) -> str:
    """Return the reciprocal divisor of covariances as text.

    By class it is "1/n" if `mle`, else "1/(n-1)"; for a pooled covariance "1/N" if `mle`, else "1/(N-K)".
    """
    return ("1/n" if mle else "1/(n-1)") if by_class else ("1/N" if mle else "1/(N-K)")


def check_closed_form(fit: FittedModel[Any], method: str) -> None:
    """Raise NotSupportedError if the covariance of a fit does not support `method`, a method of posteriors.

    "plugin" is always supported. Other methods require a covariance model with the trait `has_distances`,
    such as the full one. The error comes from `CovarianceDescription.sampling_error`, if it returns one.
    """
    model = fit.estimates.covariance_model
    if method == "plugin" or model.traits.has_distances:
        return
    error = describe(model).sampling_error(f'method="{method}"')
    raise error or NotSupportedError(
        f'method="{method}" requires full covariance matrices; those of this fit are '
        f"{describe(model).adjective}.",
        hint='Use "plugin" or "calibrated".',
    )


class CovarianceDescription:
    """Wording for a covariance model.

    Parameters
    ----------
    model : CovarianceModel
        The model that is described.

    Attributes
    ----------
    specification : str
        Name of the class in `discrim.covariance` that messages recommend for another shrinkage.
    means_title, likelihood_label : str
        Title of the table of class means, and label of the log-likelihood in a header.
    pooled_title : str
        First words of the title of a covariance of all classes.
    singular_hint : str
        Hint if the covariance of a class is singular, a clause without a full stop.
    full_hint : str
        How to fit the full covariance instead, after "Fit".
    other_shrinkage : str
        Alternative to a larger shrinkage, after "Pass a larger number"; otherwise empty.
    axes_option : str
        Option that determines the number of axes; empty for models without axes.
    axis_name : str
        Prefix of the names of the axes.
    sections : tuple of str
        Sections that a summary has in addition: "flagged", "ranking", "factors".
    component_class : type, optional
        Class of the `covariance_model` of the results; None for models that have only shrinkages, or none.
    """

    specification: ClassVar[str] = "Shrunk"
    means_title: ClassVar[str] = "Means"
    likelihood_label: ClassVar[str] = "Log-likelihood"
    pooled_title: ClassVar[str] = "Pooled covariance matrix"
    singular_hint: ClassVar[str] = 'pass covariance="shrunk" to qda(), or see rda()'
    full_hint: ClassVar[str] = 'with covariance="pooled"'
    other_shrinkage: ClassVar[str] = ""
    axes_option: ClassVar[str] = ""
    axis_name: ClassVar[str] = ""
    sections: ClassVar[tuple[str, ...]] = ()
    component_class: ClassVar[type[FitComponent] | None] = None

    def __init__(self, model: CovarianceModel) -> None:
        self.model: Any = model

    @property
    def adjective(self) -> str:
        """Name of the covariance in messages, before the word "covariance": here the `name` of the model."""
        name: str = self.model.name
        return name

    @property
    def phrase(self) -> str:
        """Text after the words "a covariance" in messages: here such as "by covariance='shrunk'"."""
        return f"by covariance={self.model.name!r}"

    @property
    def source(self) -> str:
        """The option that selects the model, such as `covariance="shrunk"` or `components=`."""
        return f'covariance="{self.model.name}"'

    @property
    def unit_dependent_part(self) -> str:
        """The part of the model that depends on the units of the columns: subject of the warning."""
        return f'The shrinkage target of covariance="{self.model.name}"'

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the name of the covariance and its divisor for a header, such as "diagonal, 1/(N-K)".

        `by_class` states that each class has its own covariance, and `mle` that the divisor is n or N instead
        of n-1 or N-K.
        """
        return f"{self.model.name}{' by class' * by_class}, {divisor_text(by_class=by_class, mle=mle)}"

    def title(self, scope: str, divisor: str, *, by_class: bool) -> str:
        """Return the title of the table of a covariance.

        Parameters
        ----------
        scope : str
            Rows of the covariance: "within classes" or "in" with the label of a class.
        divisor : str
            Divisor, such as "N-K".
        by_class : bool
            Whether it is the covariance of one class.

        Returns
        -------
        str
            Such as "Pooled covariance matrix within classes, divisor N-K".
        """
        return f"{'Covariance matrix' if by_class else self.pooled_title} {scope}, divisor {divisor}"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the items of a header for the parameters of the model; other models override this method.

        Here they are one item for each shrinkage, and one for the units of the shrinkage target if the model
        has any; `moments` and `covariances` are ignored. In overrides, `moments` belong to the fit and
        `covariances` has one element for a common covariance, else one for each class.
        """
        sphere = [] if self.model.target_units is None else [sphere_item(self.model.target_units)]
        return [*map(shrinkage_item, self.model.shrinkages), *sphere]

    def note(self, shorten: Callable[[str], str]) -> str:
        """Return the note below a header: here, that "loo" chose the shrinkage; else "".

        `shorten` is a function that abbreviates text that the user wrote. It is ignored here.
        """
        return " ".join(map(shrinkage_note, self.model.shrinkages)).strip()

    def component(self, fit: FittedModel[Any]) -> FitComponent | None:
        """Return the attribute `covariance_model` of results; None if the model adds no attributes.

        It is a `component_class`, or else a `ShrunkModel` for one shrinkage and a `ShrunkCorrelationModel`
        for two.
        """
        if self.component_class is not None:
            return self.component_class(fit)
        n_shrinkages = len(self.model.shrinkages)
        if not n_shrinkages:
            return None
        return ShrunkModel(fit) if n_shrinkages == 1 else ShrunkCorrelationModel(fit)

    def warning(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> str | None:
        """Return None: no warning. Overrides return its text, from the covariances (one, or one by class)."""
        return None

    def sampling_error(self, method: str) -> NotSupportedError | None:
        """Return None: the estimates are moments of the rows.

        Overrides return the error for an option such as 'method="calibrated"', which is the text `method`, if
        it assumes the sampling distribution of moments and the estimates have another.
        """
        return None


SHRINKAGE_RULE_NAMES = {
    "given": "given",
    "oas": "OAS",
    "ledoit-wolf": "Ledoit-Wolf",
    "loo": "leave-one-out",
    "strimmer": "Opgen-Rhein & Strimmer",
}
"""Names of the rules of a shrinkage in headers."""


def shrinkage_item(shrinkage: Shrinkage) -> HeaderItem:
    """Return the header item of a shrinkage, labelled by the rule that chose it.

    Its value is the tuple of shrinkages (one, or one by class); its text is the number or the range.
    """
    low = min(shrinkage.values)
    high = max(shrinkage.values)
    text = f"{low:.4g}" if low == high else f"{low:.3g} to {high:.3g}"
    rule = SHRINKAGE_RULE_NAMES[shrinkage.rule]
    return HeaderItem(f"Shrinkage, {rule}", shrinkage.values, text, brief=f"shrinkage ({rule})")


def shrinkage_note(shrinkage: Shrinkage) -> str:
    """Return the note that the error is optimistic if leave-one-out chose the shrinkage; else ""."""
    if shrinkage.rule != "loo":
        return ""
    return (
        "The leave-one-out error is optimistic, because the shrinkage was chosen by it; "
        "error_rates(['cv']) chooses it again in each fold."
    )


def shrinkage_text(shrinkage: Shrinkage) -> str:
    """Return the value of a shrinkage as text, such as "shrinkage=0.1", for an error on a singular matrix.

    An estimated shrinkage, which is 0 in such an error, is named by its authors.
    """
    authors = {"ledoit-wolf": "Ledoit & Wolf's", "strimmer": "Schaefer & Strimmer's"}
    if shrinkage.rule in authors:
        return f"{authors[shrinkage.rule]} shrinkage is 0"
    return f"shrinkage={shrinkage.values[0]:g}"


def sphere_item(sphere: TargetUnits) -> HeaderItem:
    """Return the header item with the units in which the shrinkage target is a sphere."""
    text = "in columns' units" if sphere.in_data else "of standardized columns"
    return HeaderItem("Sphere", text, text)


@describes(FullCovariance)
class FullDescription(CovarianceDescription):
    """Wording for the full covariance."""

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance and its divisor for a header: "pooled, 1/(N-K)" or "by class, 1/(n-1)".

        If `mle`, the divisor is N or n.
        """
        return f"{'by class' if by_class else 'pooled'}, {divisor_text(by_class=by_class, mle=mle)}"


@describes(ShrunkDiagonalCovariance)
class ShrunkDiagonalDescription(CovarianceDescription):
    """Wording for shrunken variances."""

    specification = "Diagonal"

    @property
    def adjective(self) -> str:
        """The text "shrunken diagonal", before the word "covariance" in messages."""
        return "shrunken diagonal"

    @property
    def phrase(self) -> str:
        """The text "of shrunken variances", after the words "a covariance" in messages."""
        return "of shrunken variances"


@describes(SphericalCovariance)
class SphericalDescription(CovarianceDescription):
    """Wording for the spherical covariance."""

    specification = "Spherical"


@describes(ShrunkCovariance)
class ShrunkDescription(CovarianceDescription):
    """Wording for the covariance that is shrunk towards a sphere."""

    pooled_title = "Pooled and shrunk covariance matrix"
    singular_hint = 'pass covariance="shrunk", whose shrinkage is above 0'
    other_shrinkage = ', or covariance="shrunk"'


@describes(NonlinearCovariance)
class NonlinearDescription(CovarianceDescription):
    """Wording for nonlinear shrinkage."""

    specification = "NonlinearShrinkage"
    pooled_title = "Pooled and shrunk covariance matrix"
    unit_dependent_part = 'The shrinkage of covariance="nonlinear"'
    component_class = NonlinearModel

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the degrees of freedom and of the units.

        The degrees of freedom are pooled if `covariances` has one element, else by class (the text has their
        range). The units are those in which the eigenvalues are shrunk.
        """
        classes = [None] if len(covariances) == 1 else list(range(moments.n_classes))
        df = tuple(degrees_of_freedom(moments, k) for k in classes)
        low, high = f"{min(df):.6g}", f"{max(df):.6g}"
        units = "of the columns" if self.model.target_units.in_data else "standard deviations"
        return [
            HeaderItem("Degrees of freedom", df, low if low == high else f"{low} to {high}"),
            HeaderItem("Units", units, units),
        ]

    def note(self, shorten: Callable[[str], str]) -> str:
        """Return the note with the source of the estimator. `shorten` is ignored."""
        return "Eigenvalues by analytical nonlinear shrinkage (Ledoit & Wolf, 2020)."


@describes(ShrunkCorrelationCovariance)
class ShrunkCorrelationDescription(CovarianceDescription):
    """Wording for shrunken correlations."""

    specification = "ShrunkCorrelation"
    pooled_title = "Pooled and shrunk covariance matrix"
    sections = ("ranking",)

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance and its divisor for a header, such as "shrunk correlations, 1/(N-K)".

        `by_class` and `mle` affect only the divisor: n-1 if `by_class`, and n or N if `mle`.
        """
        return f"shrunk correlations, {divisor_text(by_class=by_class, mle=mle)}"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the shrinkages of correlations and variances, each with its rule.

        The parameters are ignored.
        """
        items: list[HeaderItem] = []
        for target, shrinkage in zip(("correlations", "variances"), self.model.shrinkages, strict=True):
            rule = "given" if shrinkage.rule == "given" else "estimated"
            text = f"{shrinkage.values[0]:.4g}, {rule}"
            items.append(
                HeaderItem(f"Shrinkage, {target}", shrinkage.values, text, brief=f"shrinkage ({target})")
            )
        return items


@describes(PseudoInverseCovariance)
class PseudoInverseDescription(CovarianceDescription):
    """Wording for the pseudo-inverse."""

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header item of the rank of the first of `covariances`, such as "3 of 4" columns."""
        rank = len(covariances[0].root)
        return [HeaderItem("Rank of the covariance", rank, f"{rank} of {moments.n_columns}")]

    def warning(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> str | None:
        """Return the warning that the covariance is singular, with the share of differences it ignores.

        None if its rank is the number of columns.
        """
        rank, ignored_share = ignored_complement(covariances[0], moments)
        if rank == moments.n_columns:
            return None
        return (
            f'covariance="pinv": the observations vary within classes in {rank} of {moments.n_columns} '
            f"dimensions. Distances ignore the other dimensions, which contain {ignored_share:.1%} of the "
            'squared differences of the class means; covariance="shrunk" uses all dimensions.'
        )


@describes(FactorAnalyticCovariance)
class FactorAnalyticDescription(CovarianceDescription):
    """Wording for covariances with a few large variances."""

    specification = "FactorAnalytic"
    axes_option = "dimensions"
    sections = ("factors",)
    component_class = FactorModel

    @property
    def dimension_rule(self) -> str:
        """Rule that chose the numbers of large variances, for a header: "given", "BIC" or "Cattell, 0.2"."""
        requested = self.model.options
        return {"given": "given", "bic": "BIC", "cattell": f"Cattell, {requested.threshold:g}"}[
            requested.method
        ]

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance and its divisor for a header, such as "factor by class, 1/(n-1)".

        Whether it is common depends on the form of the model; `by_class` is ignored. If `mle`, the divisor
        is n or N.
        """
        if self.model.is_common:
            return f"factor, common, {divisor_text(by_class=False, mle=mle)}"
        return f"factor by class, {divisor_text(by_class=True, mle=mle)}"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the form, the dimensions (once they are estimated) and the units.

        In these units the variance outside the signal is spherical. The parameters are ignored.
        """
        form = self.model.options.form
        items: list[HeaderItem] = [HeaderItem("Form", form, form)]
        if self.model.factors is not None:
            dimensions = tuple(self.model.factors.dimensions.tolist())
            low = min(dimensions)
            high = max(dimensions)
            text = f"{low}" if low == high else f"{low} to {high}"
            rule = self.dimension_rule
            items.append(HeaderItem(f"Dimensions, {rule}", dimensions, text, brief=f"dimensions ({rule})"))
        return [*items, sphere_item(self.model.target_units)]


@describes(EstimatorCovariance)
class EstimatorDescription(CovarianceDescription):
    """Wording for the covariance of an estimator of the user."""

    adjective = "user's"
    phrase = "of an estimator"

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return "pooled" or "by class" with the estimator as the source of the divisor, for a header.

        `by_class` states that each class has its own covariance. `mle` is ignored.
        """
        return f"{'by class' if by_class else 'pooled'}, an estimator's"

    def title(self, scope: str, divisor: str, *, by_class: bool) -> str:
        """Return the title of the table: "Covariance matrix within classes, by the estimator".

        `scope` is "within classes" or names a class. `divisor` and `by_class` are ignored.
        """
        return f"Covariance matrix {scope}, by the estimator"

    def note(self, shorten: Callable[[str], str]) -> str:
        """Return the note that names the estimator."""
        return f"Covariance by {shorten(self.model.text)}, with its own divisor."


@describes(SeparableCovariance)
class SeparableDescription(CovarianceDescription):
    """Wording for the covariance of the entries of a matrix."""

    singular_hint = "use more rows, or fewer columns"
    component_class = SeparableModel

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header item with the numbers of rows and columns of the matrix layout.

        The parameters are ignored.
        """
        shape = f"{self.model.rows} x {self.model.columns}"
        return [HeaderItem("Shape of the matrix", shape, f"{shape}, row by row")]


@describes(CovariateAdjustedCovariance)
class CovariateAdjustedDescription(CovarianceDescription):
    """Wording for the covariance of columns given covariates."""

    adjective = "covariate-adjusted"
    phrase = "given covariates"
    full_hint = "without covariates"

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance and its divisor for a header: "pooled, given covariates, 1/(N-K-2)".

        The example is for two covariates. If `mle`, the divisor is N. `by_class` is ignored, because the
        covariance is pooled.
        """
        return f"pooled, given covariates, {'1/N' if mle else f'1/(N-K-{self.model.covariates})'}"

    def title(self, scope: str, divisor: str, *, by_class: bool) -> str:
        """Return the title: "Covariance matrix within classes, given the covariates, divisor N-K-1".

        `by_class` is ignored.
        """
        return f"Covariance matrix {scope}, given the covariates, divisor {divisor}"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header item of the number of covariates. The parameters are ignored."""
        covariates = self.model.covariates
        return [HeaderItem("Covariates", covariates, f"{covariates}, slopes common to classes")]


@describes(EMCovariance)
class EMDescription(FullDescription):
    """Wording for the full covariance of observations with missing values."""

    likelihood_label = "Log-likelihood, observed"
    source = 'missing="em"'

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance and its divisor for a header, such as "pooled, 1/(N-K), by EM".

        `by_class` states that each class has its own covariance, and `mle` that the divisor is n or N.
        """
        return f"{super().heading(by_class=by_class, mle=mle)}, by EM"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the incomplete observations and the EM iterations.

        The second adds ", not converged" if EM did not converge. The parameters are ignored.
        """
        model = self.model
        steps = f"{model.steps}{'' if model.converged else ', not converged'}"
        return [
            HeaderItem(
                "Incomplete observations", model.incomplete, f"{model.incomplete}, {model.patterns} patterns"
            ),
            HeaderItem("EM iterations", model.steps, steps),
        ]

    def sampling_error(self, method: str) -> NotSupportedError | None:
        """Return the error for `method`, which assumes moments of rows; None if no row was incomplete."""
        if self.model.traits.is_moment_estimate:
            return None
        return NotSupportedError(
            f"{method} assumes the sampling distribution of moments of complete rows, which does not apply "
            'to estimates with missing="em".',
            hint='Fit the complete rows, without missing="em".',
        )


class RobustDescription(CovarianceDescription):
    """Wording for robust covariances."""

    means_title = "Robust means"
    singular_hint = 'pass covariance="shrunk"'
    sections = ("flagged",)
    component_class = RobustModel

    @property
    def estimator(self) -> str:
        """Name of the estimator in headers and titles, which subclasses define."""
        return ""

    @property
    def source(self) -> str:
        """The option that selects the model: `covariance="t"` or `covariance="mcd"`."""
        return f'covariance="{self.model.method}"'

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance and its estimator for a header, such as "by class, minimum determinant".

        `by_class` states that each class has its own covariance. `mle` is ignored.
        """
        return f"{'by class' if by_class else 'pooled'}, {self.estimator}"

    def title(self, scope: str, divisor: str, *, by_class: bool) -> str:
        """Return the title of the table, such as "Robust covariance matrix within classes (t, nu = 4)".

        `scope` is "within classes" or names a class. `divisor` and `by_class` are ignored.
        """
        return f"Robust covariance matrix {scope} ({self.estimator})"

    def breakdown_item(self, moments: ClassMoments) -> HeaderItem:
        """Return the header item of the breakdown point, as a percentage of the rows of a class."""
        breakdown = self.model.breakdown(moments)
        return HeaderItem("Breakdown point", breakdown, f"{100 * breakdown:.0f} % of a class")

    def sampling_error(self, method: str) -> NotSupportedError | None:
        """Return the error for `method`, which assumes the sampling distribution of moments; never None."""
        return NotSupportedError(
            f"{method} assumes the sampling distribution of moments, which does not apply to estimates with "
            f"{self.source}.",
            hint="Fit without covariance=.",
        )


@describes(StudentTCovariance)
class StudentTDescription(RobustDescription):
    """Wording for covariances of t distributions."""

    @property
    def estimator(self) -> str:
        """Name of the estimator, such as "t, nu = 4"; ", scale" follows if it is a scale matrix."""
        return f"t, nu = {self.model.nu:.4g}{'' if self.model.inflated else ', scale'}"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the degrees of freedom, the iterations and the breakdown point.

        `covariances` is ignored.
        """
        rule = "estimated" if self.model.estimated_nu else "given"
        return [
            HeaderItem("Degrees of freedom", self.model.nu, f"{self.model.nu:.4g}, {rule}"),
            HeaderItem("Iterations", self.model.steps, str(self.model.steps)),
            self.breakdown_item(moments),
        ]


@describes(MCDCovariance)
class MCDDescription(RobustDescription):
    """Wording for the minimum covariance determinant."""

    estimator = "minimum determinant"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the subset sizes h, as percentages of rows, and the breakdown point.

        `covariances` is ignored.
        """
        sizes = self.model.subset_sizes(moments)
        rows = moments.counts
        proportions = sizes / (rows if len(sizes) == len(rows) else np.append(rows, moments.total))
        text = f"{100 * proportions.min():.0f} to {100 * proportions.max():.0f} % of rows"
        return [HeaderItem("Subsets h", sizes.astype(int).tolist(), text), self.breakdown_item(moments)]


@describes(SubspaceCovariance)
class SubspaceDescription(CovarianceDescription):
    """Wording for covariances within principal axes."""

    phrase = "within principal axes"
    source = "components="
    singular_hint = 'pass a smaller number of components, or covariance="shrunk"'
    full_hint = "without components="
    axes_option = "components"
    axis_name = "PC"
    unit_dependent_part = "The variance by which components= orders principal axes"

    @property
    def inner(self) -> CovarianceDescription:
        """Description of the covariance of the scores."""
        return describe(self.model.inner)

    @property
    def adjective(self) -> str:
        """Adjective of the covariance of the scores, followed by "(within principal axes)", for messages."""
        return f"{self.inner.adjective} (within principal axes)"

    def heading(self, *, by_class: bool, mle: bool) -> str:
        """Return the covariance of the scores and its divisor for a header, such as "pooled, 1/(N-K)".

        `by_class` states that each class has its own covariance, and `mle` that the divisor is n or N.
        """
        return self.inner.heading(by_class=by_class, mle=mle)

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header items of the number of axes with their share of the variance, and of shrinkages.

        The parameters are ignored.
        """
        model = self.model
        label = f"Principal axes{', standardized' if model.standardized else ''}"
        label = label if model.indicators is None else "Axes of correspondence"
        text = f"{model.count} of {model.total}, {model.variance_share:.1%} of variance"
        return [HeaderItem(label, model.count, text), *map(shrinkage_item, model.shrinkages)]

    def note(self, shorten: Callable[[str], str]) -> str:
        """Return the note of the covariance of the scores, and on any choice of the number of axes."""
        if not self.model.is_chosen:
            return self.inner.note(shorten)
        method = "by folds" if self.model.options == "cv" else "by leave-one-out"
        choice = (
            f"The number of axes was chosen {method} from the same observations; error_rates(['cv']) chooses "
            "it again in each fold."
        )
        return f"{self.inner.note(shorten)} {choice}".strip()


@describes(SAVECovariance)
class SAVEDescription(SubspaceDescription):
    """Wording for covariances on axes of sliced average variance estimation."""

    adjective = "reduced (by ncomp=)"
    phrase = "on the axes of ncomp="
    source = "ncomp="
    singular_hint = "pass a smaller ncomp"
    full_hint = "without ncomp="
    axes_option = "ncomp"
    axis_name = "SAVE"

    def items(self, moments: ClassMoments, covariances: tuple[Covariance, ...]) -> list[HeaderItem]:
        """Return the header item of the number of axes, with their share of the sum of the eigenvalues.

        The parameters are ignored.
        """
        model = self.model
        text = f"{model.count} of {model.total}, {model.variance_share:.1%} of eigenvalues"
        return [HeaderItem("SAVE axes", model.count, text)]

    def note(self, shorten: Callable[[str], str]) -> str:
        """Return the note of the covariance of the scores, and that the resubstitution error is optimistic.

        The reason is that the axes are estimated from the classes.
        """
        note = (
            "The axes were estimated from the same observations and classes, and the resubstitution error is "
            "optimistic; error_rates(['cv']) estimates them again in each fold."
        )
        return f"{self.inner.note(shorten)} {note}".strip()
