"""Covariance models of `lda` and `qda` from what `covariance=` and `components=` say.

A word, a specification of `discrim.covariance` or `discrim.subspace`, or an estimator becomes the object of
`discrim.core.covariance` that estimates the covariance. Specifications are validated when they are built;
what is checked here are combinations of them with other options of a verb.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discrim.core.covariance.by_estimator import EstimatorCovariance
from discrim.core.covariance.model import CovarianceModel
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.covariance.robust import ROBUST
from discrim.core.covariance.sliced import SAVECovariance
from discrim.covariance import CovarianceSpecification, Separable, covariance_words
from discrim.errors import DataError, NotSupportedError, told
from discrim.models.base.reading import Divisor
from discrim.models.base.refits import text_of
from discrim.models.discriminant.covariance_descriptions import describe
from discrim.options import check_whole, check_word, listed
from discrim.specification import Specification, listed_classes, read_specification
from discrim.subspace import MultipleCorrespondence, PrincipalComponents, SubspaceSpecification, read_subspace

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

    words: Mapping[str, type[CovarianceSpecification]]
    others: tuple[type[CovarianceSpecification], ...] = (Separable,)
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
        specification: CovarianceSpecification = read_specification("covariance", value, self.words, classes)
        return specification.model()


LINEAR = CovarianceOption(covariance_words("lda"), subspaces=(PrincipalComponents, MultipleCorrespondence))
"""What `covariance=` of `lda` takes."""

QUADRATIC = CovarianceOption(covariance_words("qda"))
"""What `covariance=` of `qda` takes."""


def _is_estimator(value: Any) -> bool:
    """Whether a value is an object with `fit(X)`."""
    return callable(getattr(value, "fit", None)) and not isinstance(value, type)


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
