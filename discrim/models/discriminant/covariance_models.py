"""Covariance models of `lda` and `qda` from what `covariance=` and `components=` say.

A word, a specification of `discrim.covariance` or `discrim.subspace`, or an estimator becomes the object of
`discrim.core.covariance` that estimates the covariance. Specifications are validated when they are built;
what is checked here are combinations of them with other options of a verb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal

from discrim import covariance as public
from discrim.core.covariance.by_estimator import EstimatorCovariance
from discrim.core.covariance.correlation import ShrunkCorrelationCovariance
from discrim.core.covariance.diagonal import DiagonalCovariance, ShrunkDiagonalCovariance
from discrim.core.covariance.factor import DEFAULT_FORM, THRESHOLD, FactorAnalyticCovariance, Wanted
from discrim.core.covariance.model import SPHERES, CovarianceModel, FullCovariance
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.covariance.pseudo_inverse import PseudoInverseCovariance
from discrim.core.covariance.robust import ROBUST, MCDCovariance, StudentTCovariance
from discrim.core.covariance.separable import SeparableCovariance
from discrim.core.covariance.shrinkage import GRID, RuleOfShrinkage, Shrinkage
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.covariance.spherical import SphericalCovariance
from discrim.errors import DataError, NotSupportedError, told
from discrim.models.base.reading import Divisor
from discrim.models.base.refits import text_of
from discrim.models.discriminant.covariance_descriptions import describe
from discrim.options import check_whole, check_word, listed
from discrim.specification import Specification, listed_classes, read_specification
from discrim.subspace import MultipleCorrespondence, PrincipalComponents, SubspaceSpecification, read_subspace

LinearCovariance = Literal["pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv", "t", "mcd"]
"""Words that `covariance=` of `lda` takes."""

QuadraticCovariance = Literal["full", "diagonal", "shrunk", "spherical", "t", "mcd", "factor"]
"""Words that `covariance=` of `qda` takes."""

Components = int | float | Literal["cv", "loo"] | SubspaceSpecification
"""What `components=` takes."""


@dataclass(frozen=True)
class CovarianceOption:
    """What `covariance=` of a verb takes.

    Attributes
    ----------
    words : dict of str to type
        The words, and the specification that each stands for with its defaults.
    others : tuple of type
        Specifications that no word stands for.
    subspaces : tuple of type
        Specifications that `components=` of the verb takes.
    """

    words: Mapping[str, type[public.CovarianceSpecification]]
    others: tuple[type[public.CovarianceSpecification], ...] = (public.Separable,)
    subspaces: tuple[type[SubspaceSpecification], ...] = (PrincipalComponents,)

    def read(self, value: Any) -> CovarianceModel:
        """Return the covariance model of a word, a specification or an estimator."""
        if _is_estimator(value):
            return EstimatorCovariance(value, text_of(value))
        if isinstance(value, type) and callable(getattr(value, "fit", None)):
            raise DataError(
                f"covariance={value.__name__} is a class.", hint=f"Write covariance={value.__name__}()."
            )
        if not isinstance(value, str | type | Specification):
            raise DataError(
                f"covariance={told(value)} is not supported.",
                hint=(
                    f"Use one of {listed(self.words, len(self.words))}, a specification of "
                    "discrim.covariance, or an estimator with fit(X) and covariance_."
                ),
            )
        classes = (*self.words.values(), *self.others)
        return covariance_model(read_specification("covariance", value, self.words, classes))


LINEAR = CovarianceOption(
    {
        "pooled": public.Full,
        "diagonal": public.Diagonal,
        "shrunk": public.Shrunk,
        "correlation": public.ShrunkCorrelation,
        "spherical": public.Spherical,
        "pinv": public.PseudoInverse,
        "t": public.StudentT,
        "mcd": public.MCD,
    },
    subspaces=(PrincipalComponents, MultipleCorrespondence),
)
"""What `covariance=` of `lda` takes."""

QUADRATIC = CovarianceOption(
    {
        "full": public.Full,
        "diagonal": public.Diagonal,
        "shrunk": public.Shrunk,
        "spherical": public.Spherical,
        "t": public.StudentT,
        "mcd": public.MCD,
        "factor": public.FactorAnalytic,
    }
)
"""What `covariance=` of `qda` takes."""


def _is_estimator(value: Any) -> bool:
    """Whether a value is an object with `fit(X)`."""
    return callable(getattr(value, "fit", None)) and not isinstance(value, type)


@singledispatch
def covariance_model(specification: Any) -> CovarianceModel:
    """Return the covariance model that a specification of `discrim.covariance` asks for."""
    raise TypeError(f"{specification!r} is not a specification: use one of discrim.covariance.")


@covariance_model.register
def _(specification: public.Full) -> CovarianceModel:
    return FullCovariance()


@covariance_model.register
def _(specification: public.Diagonal) -> CovarianceModel:
    if specification.shrinkage == 0:
        return DiagonalCovariance()
    return ShrunkDiagonalCovariance(_shrinkage(specification.shrinkage, specification.grid))


@covariance_model.register
def _(specification: public.Shrunk) -> CovarianceModel:
    shrinkage = _shrinkage(specification.shrinkage, specification.grid)
    return ShrunkCovariance(shrinkage, SPHERES[specification.standardize])


@covariance_model.register
def _(specification: public.ShrunkCorrelation) -> CovarianceModel:
    return ShrunkCorrelationCovariance(
        _shrinkage(specification.shrinkage), _shrinkage(specification.variance_shrinkage)
    )


@covariance_model.register
def _(specification: public.Spherical) -> CovarianceModel:
    return SphericalCovariance(SPHERES[specification.standardize])


@covariance_model.register
def _(specification: public.PseudoInverse) -> CovarianceModel:
    return PseudoInverseCovariance()


@covariance_model.register
def _(specification: public.StudentT) -> CovarianceModel:
    nu = specification.nu
    return StudentTCovariance(nu or 0.0, nu is None, specification.scatter == "covariance")


@covariance_model.register
def _(specification: public.MCD) -> CovarianceModel:
    return MCDCovariance(specification.support_fraction)


@covariance_model.register
def _(specification: public.Separable) -> CovarianceModel:
    return SeparableCovariance(specification.rows, specification.columns)


@covariance_model.register
def factor_model(specification: public.FactorAnalytic) -> FactorAnalyticCovariance:
    """Return the covariance model of a few large variances."""
    threshold = THRESHOLD if specification.threshold is None else specification.threshold
    dimensions = specification.dimensions
    rule = dimensions if isinstance(dimensions, str) else "given"
    wanted = Wanted(specification.form or DEFAULT_FORM, rule, None, threshold)
    given = None if isinstance(dimensions, str) else dimensions
    return FactorAnalyticCovariance(wanted, given, SPHERES[specification.standardize])


def _shrinkage(value: float | RuleOfShrinkage, grid: Sequence[float] | None = None) -> Shrinkage:
    """Return the shrinkage of a number or of a rule, with the candidates of "loo"."""
    if not isinstance(value, str):
        return Shrinkage("given", (float(value),))
    return Shrinkage(value, grid=tuple(grid or GRID) if value == "loo" else ())


def read_covariance(
    option: CovarianceOption,
    covariance: Any,
    method: str = "moment",
    components: Any = None,
    missing: Any = None,
) -> CovarianceModel:
    """Return the covariance model that the options of `lda` or `qda` ask for.

    Parameters
    ----------
    option : CovarianceOption
        `LINEAR` or `QUADRATIC`.
    covariance, method, components, missing
        Options of the verb. With `components` the model is that of scores on principal axes.

    Raises
    ------
    DataError
        A value is not one that the option takes, or the estimator of the covariance has its own divisor and
        `method` asks for another.
    NotSupportedError
        The options cannot be combined.
    """
    if isinstance(method, str) and method in ROBUST:
        raise DataError(f"method={method!r} is not known.", hint=f'Write covariance="{method}" instead.')
    check_word("method", method, Divisor)
    covariance_model = option.read(covariance)
    given = covariance_text(covariance)
    if method != "moment" and covariance_model.traits.has_own_divisor:
        raise DataError(
            f"method={method!r} cannot be combined with {given}, which has its own divisor.",
            hint="Leave it out.",
        )
    subspace = read_subspace(components)
    if subspace is None:
        return covariance_model
    if not isinstance(subspace, option.subspaces):
        raise NotSupportedError(
            f"components={subspace!r} is not supported here.", hint=f"Use {listed_classes(option.subspaces)}."
        )
    if not covariance_model.traits.allows_subspace or covariance_model.needs_rows:
        raise NotSupportedError(
            f"{given} cannot be combined with components=, which takes the covariances of scores on "
            "principal axes from their moments.",
            hint='Use "diagonal", "spherical", "shrunk" with a number or "oas", or the full covariance.',
        )
    if missing == "em":
        raise NotSupportedError(
            'missing="em" cannot be combined with components=.', hint="Leave out one of the two."
        )
    if covariance_model.sphere is not None and not covariance_model.sphere.in_data:
        raise NotSupportedError(
            f"{given} cannot be combined with components=.",
            hint=(
                "To standardize the columns before their principal axes are computed, write "
                "components=discrim.subspace.PrincipalComponents(n, standardize=True)."
            ),
        )
    return SubspaceCovariance(
        covariance_model, subspace.n, isinstance(subspace, PrincipalComponents) and subspace.standardize
    )


def advised_specification(covariance_model: CovarianceModel, parameters: str) -> str:
    """Return how the specification of a covariance model is written with other parameters, for a message."""
    return f"covariance=discrim.covariance.{describe(covariance_model).specification}({parameters})"


def standardize_hint(covariance_model: CovarianceModel) -> str:
    """Return how `lda` and `qda` divide the columns by their standard deviations first, for a message."""
    if covariance_model.subspace is not None:
        return "Pass components=discrim.subspace.PrincipalComponents(n, standardize=True)"
    return f"Pass {advised_specification(covariance_model, 'standardize=True')}"


def covariance_text(covariance: Any) -> str:
    """Return `covariance=` as it was written, for a message."""
    return (
        f'covariance="{covariance}"' if isinstance(covariance, str) else f"covariance={text_of(covariance)}"
    )


def on_save_axes(
    covariance_model: CovarianceModel, ncomp: Any, covariance: Any, missing: Any
) -> CovarianceModel:
    """Return the covariance model of scores on the axes of `ncomp=` of `qda`; without it the model itself."""
    if ncomp is None:
        return covariance_model
    number = check_whole("ncomp", ncomp, 1, what="a number of axes", also=", or None for all columns")
    other = ""
    if covariance_model.subspace is not None:
        other = "components="
    elif not covariance_model.traits.is_plain_full:
        other = covariance_text(covariance)
    elif missing == "em":
        other = 'missing="em"'
    if other:
        raise NotSupportedError(
            f"{other} cannot be combined with ncomp=, which takes full covariances of scores from their "
            "moments.",
            hint="Leave out one of the two.",
        )
    return SAVECovariance(covariance_model, number)


def refuse_moments_with_levels(components: Any) -> None:
    """Raise a NotSupportedError if the axes need the levels of categories, and there are only moments."""
    if isinstance(components, MultipleCorrespondence):
        raise NotSupportedError(
            f"components={components!r} codes the levels of the categories again, which moments= do not "
            "have.",
            hint="Pass the formula and a table.",
        )


def method_of(covariance_model: CovarianceModel, method: Divisor) -> str:
    """Return the name of the estimator of means and covariances that the numbers of a fit store."""
    return getattr(covariance_model, "method", method)
