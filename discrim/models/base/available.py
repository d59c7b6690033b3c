"""Attributes of results that exist for some fits only.

`available_if` marks a method or property that needs an option of the fit, such as covariates.
`PublicAttributes` is the base of all results: `dir()` lists the attributes that apply, any other raises a
`NotSupportedError`, which is also an AttributeError, so that `hasattr` returns False.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, update_wrapper
from inspect import cleandoc, getattr_static, isfunction
from textwrap import fill
from types import MethodType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from discrim.core.errors import CoreError
from discrim.errors import NotSupportedError, sentence
from discrim.models.base.core_errors import public_error
from discrim.models.base.reading import with_public_errors
from discrim.report.result_table import returning_result_table

P = ParamSpec("P")
T = TypeVar("T")

Check = Callable[[Any], object]
"""Function of an object that returns False or raises NotSupportedError if an attribute does not apply."""


COMPONENTS = ("covariance_model", "subspace", "covariate_model")
"""Attributes of a fit that are a `FitComponent`."""


ESTIMATES = "Estimates"
PURPOSES = {
    ESTIMATES: (
        "scaling", "svd", "explained", "covariance_model", "subspace", "covariate_model",
    ),
    "Prediction": (
        "predict", "predict_proba", "predict_log_proba", "predict_set", "predict_indicators",
        "decision_function", "transform", "values", "votes", "component_posteriors", "density",
        "log_densities", "densities", "sample", "posterior_intervals", "typicality", "casewise",
        "relative_distances", "centroid_distances", "boundary", "distance", "foot", "estimate_prior",
    ),
    "Evaluation": (
        "error_rates", "error_rate", "error_bound", "error_method", "confusion", "assess", "threshold",
        "leave_one_out", "classification", "cross_validate", "learning_curve", "risk", "bounds",
        "robust_distances", "leverage", "influence", "dfbetas", "residuals", "masked",
    ),
    "Tests": (
        "wilks", "manova", "tests", "anova", "partial_tests", "ranking", "slopes", "adjusted_means",
        "separability_test", "distances", "differences", "generalized_distances", "box_m",
        "covariance_models", "lr_test", "wald_test", "linear_hypothesis", "drop1", "permutation_test",
        "effect_sizes", "q2", "llf", "llf_given", "llf_rows", "llnull", "deviance", "null_deviance",
        "prsquared", "df_model", "df_resid", "aic", "bic", "pairs",
    ),
    "Plots": ("plot",),
    "Export": (
        "summary", "to_excel", "report", "tidy", "glance", "augment", "table", "to_list", "to_sql", "to_onnx",
        "to_marginaleffects", "to_statsmodels", "save", "update",
    ),
}  # fmt: skip
"""Public names of results by purpose, in the order of the reference pages; other names are estimates."""


def names_by_purpose(results_class: type) -> dict[str, list[str]]:
    """Return the public names of a class of results by purpose; names that are not in `PURPOSES` come first.

    Examples
    --------
    >>> import discrim
    >>> names_by_purpose(discrim.LDAResults)["Prediction"][:2]
    ['predict', 'predict_proba']
    """
    listed = {name for names in PURPOSES.values() for name in names}
    public = [name for name in dir(results_class) if not name.startswith("_")]
    groups = {ESTIMATES: [name for name in public if name not in listed]}
    for purpose, names in PURPOSES.items():
        groups.setdefault(purpose, []).extend(name for name in names if name in public)
    return {purpose: names for purpose, names in groups.items() if names}


def list_names_in_docstring(results_class: type) -> None:
    """Append a section "Methods" with `names_by_purpose` to the docstring of a class, in place."""
    lines = ["", "", "Methods", "-------"]
    for purpose, names in names_by_purpose(results_class).items():
        lines += [purpose, fill(", ".join(names), 78, initial_indent="    ", subsequent_indent="    ")]
    results_class.__doc__ = cleandoc(results_class.__doc__ or "") + "\n".join(lines)


class ConditionalAttribute:
    """Descriptor of a method, or getter of a property, that only some objects have; see `available_if`.

    Parameters
    ----------
    function : callable
        The method or getter.
    checks : sequence of (callable, str)
        Checks and messages of `available_if`. Without any, the getter itself raises NotSupportedError.
    """

    def __init__(self, function: Callable[..., Any], checks: Sequence[tuple[Check, str]]) -> None:
        update_wrapper(self, function)
        self.function, self.checks = function, tuple(checks)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the bound method, or the function itself if it is looked up on the class.

        Raises NotSupportedError if the attribute does not apply to the object.
        """
        if instance is None:
            return self.function
        self.require(instance)
        return MethodType(self.function, instance)

    def __call__(self, instance: object) -> Any:
        """Return the value of a property; this method makes the object a getter.

        Raises NotSupportedError if the property does not apply to the object.
        """
        self.require(instance)
        return self.function(instance)

    def require(self, instance: object) -> None:
        """Raise NotSupportedError if a check returns False or raises it; without checks, do nothing."""
        for check, hint in self.checks:
            if check(instance) is False:
                name = self.function.__name__
                raise NotSupportedError(f"This {type(instance).__name__} has no {name}.", hint=sentence(hint))

    def is_available(self, instance: object) -> bool:
        """Return whether the attribute applies to an object; without checks, the getter is evaluated."""
        try:
            (self.require if self.checks else self.function)(instance)
        except NotSupportedError:
            return False
        return True

    def with_function(self, function: Callable[..., Any]) -> ConditionalAttribute:
        """Return a conditional attribute with the same checks for another function."""
        return ConditionalAttribute(function, self.checks)


def available_if(check: Check | None = None, message: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator for a method or the getter of a property that only some objects have.

    Parameters
    ----------
    check : callable, optional
        Function of the object. The attribute does not exist if it returns False or raises NotSupportedError.
        Without it, the getter of a property is the check: the attribute does not exist if the getter raises
        NotSupportedError.
    message : str
        Hint on alternatives, for the error if the check returns False.

    Examples
    --------
    >>> class Results(PublicAttributes):
    ...     def __init__(self, covariates):
    ...         self._covariates = covariates
    ...
    ...     @available_if(lambda self: self._covariates > 0, "name covariates in the formula")
    ...     def slopes(self):
    ...         return [0.5]
    >>> dir(Results(1))[-1], Results(1).slopes(), hasattr(Results(0), "slopes")
    ('slopes', [0.5], False)
    >>> Results(0).slopes
    Traceback (most recent call last):
    discrim.errors.NotSupportedError: This Results has no slopes. Name covariates in the formula.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        """Return a `ConditionalAttribute` of the function; checks of other decorators are kept."""
        checks = [] if check is None else [(check, message)]
        if isinstance(function, ConditionalAttribute):
            return cast(
                "Callable[P, T]", ConditionalAttribute(function.function, [*checks, *function.checks])
            )
        return cast("Callable[P, T]", ConditionalAttribute(function, checks))

    return decorate


_CONDITIONAL_ATTRIBUTES: dict[type, dict[str, ConditionalAttribute]] = {}
"""Cache of `conditional_attributes`."""


def conditional_attributes(results_class: type) -> dict[str, ConditionalAttribute]:
    """Return the conditional attributes of a class by name, methods and getters of properties alike."""
    if results_class not in _CONDITIONAL_ATTRIBUTES:
        attributes = {name: getattr_static(results_class, name) for name in dir(results_class)}
        getters = {
            name: attribute.fget if isinstance(attribute, property) else attribute
            for name, attribute in attributes.items()
        }
        _CONDITIONAL_ATTRIBUTES[results_class] = {
            name: attribute
            for name, attribute in getters.items()
            if isinstance(attribute, ConditionalAttribute)
        }
    return _CONDITIONAL_ATTRIBUTES[results_class]


class PublicAttributes:
    """Base of results: `dir()` lists the available attributes, and errors for other names suggest one."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the methods and properties of a new subclass; see `prepare_attributes`."""
        super().__init_subclass__(**options)
        prepare_attributes(cls)

    def __dir__(self) -> Iterator[str]:
        """Return the names of the attributes that apply to the object."""
        conditional = conditional_attributes(type(self))
        return (
            name
            for name in object.__dir__(self)
            if name not in conditional or conditional[name].is_available(self)
        )

    if not TYPE_CHECKING:
        # Type checkers would otherwise accept every name.
        def __getattr__(self, name):
            """Raise NotSupportedError, with a hint such as a similar name, for an unknown public name.

            Python also calls this method after an AttributeError in a property of the class, which is then
            raised again. A private name raises the usual AttributeError.
            """
            if name.startswith("_") or hasattr(type(self), name):
                # Raise the property's own error again.
                try:
                    return object.__getattribute__(self, name)
                except CoreError as error:
                    raise public_error(error) from error.__cause__
            from discrim.slips import ATTRIBUTES, attribute_hint

            listed = dir(self)
            nested = [
                f"{component}.{inner}"
                for component in COMPONENTS
                if component in listed
                for inner in dir(getattr(self, component))
            ]
            owner = type(self).__name__
            hint = attribute_hint(name, ([*listed, *nested], dir(type(self))), ATTRIBUTES)
            error = NotSupportedError(f"{owner} has no attribute {name!r}.", hint=hint)
            # With a name and without an object Python appends no second suggestion.
            error.name = name
            raise error


_PREPARED_CLASSES: set[type] = set()
"""Classes that `prepare_attributes` has changed, so that none is wrapped twice."""


def prepare_attributes(results_class: type) -> None:
    """Wrap the public methods and properties of a class, and of its bases in this package, in place.

    Methods then raise public errors only, which suggest keywords; see `with_public_errors`. Methods and
    properties that are annotated to return a DataFrame return a ResultTable.
    """
    for base in results_class.__mro__:
        if base.__module__.startswith("discrim.") and base not in _PREPARED_CLASSES:
            _PREPARED_CLASSES.add(base)
            for name, value in list(vars(base).items()):
                if name.startswith("_"):
                    continue
                if isfunction(value):
                    setattr(base, name, _prepare_method(value))
                elif isinstance(value, ConditionalAttribute):
                    setattr(base, name, value.with_function(_prepare_method(value.function)))
                elif isinstance(value, property) and value.fget and _returns_table(value.fget):
                    setattr(base, name, value.getter(_prepare_getter(value.fget)))
                elif isinstance(value, cached_property) and _returns_table(value.func):
                    value.func = returning_result_table(value.func)


def _prepare_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method to raise public errors and, if it returns a DataFrame, to return a ResultTable."""
    return with_public_errors(returning_result_table(function) if _returns_table(function) else function)


def _prepare_getter(getter: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the getter of a property to return a ResultTable; a condition on its availability is kept."""
    if isinstance(getter, ConditionalAttribute):
        return getter.with_function(returning_result_table(getter.function))
    return returning_result_table(getter)


def _returns_table(function: Callable[..., Any]) -> bool:
    """Return whether a function is annotated to return a DataFrame, alone or among other types."""
    return "DataFrame" in str(getattr(function, "__annotations__", {}).get("return"))
