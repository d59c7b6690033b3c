"""Specifications of a penalty, for `penalty=` of `logistic`.

The penalized fit minimizes the mean negative log-likelihood plus ``strength * ((1 - l1_ratio) / 2 |b|^2 +
l1_ratio |b|_1)``, as glmnet does (Friedman, Hastie & Tibshirani, 2010, Journal of Statistical Software
33(1)). b are the coefficients, without the constants, of columns divided by their standard deviations
(divisor N). The words "ridge", "lasso" and "elastic_net" stand for specifications whose strength is chosen by
cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

from discrim.options import check_grid, check_integer, check_number, check_word
from discrim.specification import Specification, read_specification

__all__ = ["ElasticNet", "Lasso", "PenaltySpecification", "Ridge"]

MAX_STRENGTHS = 10**5
"""Largest number of strengths of a path."""


@dataclass(frozen=True, repr=False)
class PenaltySpecification(Specification):
    """Base class of the penalties, with the options of the choice of a strength.

    Parameters
    ----------
    grid : sequence of float, optional
        Strengths of the path, from which one is chosen.
    n_strengths : int
        Number of strengths if `grid` is None. Their logarithms are evenly spaced, like in glmnet.
    folds : int, or iterable of (train, test)
        Number of folds of the cross-validation; or splits as in scikit-learn, positions of rows of the table.
    select : {"min", "1se"}
        "min" selects the strength of smallest deviance on the observations left out, "1se" the largest
        strength whose deviance is within one standard error of the smallest.
    seed : int, optional
        Seed of the random assignment of rows to folds. Without it each fit assigns them differently.
    """

    _: KW_ONLY
    grid: Sequence[float] | None = None
    n_strengths: int = 100
    folds: int | Iterable[Any] = 10
    select: Literal["min", "1se"] = "min"
    seed: int | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        if self.grid is not None:
            self._set("grid", tuple(check_grid(self.grid, "strength", 0.0, ends="()")))
        count = check_integer(
            "n_strengths", self.n_strengths, 2, MAX_STRENGTHS, description="a number of strengths"
        )
        self._set("n_strengths", count)
        check_word("select", self.select, ("min", "1se"))
        if isinstance(self.folds, Iterable) and not isinstance(self.folds, str):
            self._set("folds", _convert_to_tuples(self.folds))
        else:
            also = ", or splits: pairs of row positions, (train, test)"
            self._set(
                "folds", check_integer("folds", self.folds, 2, description="a number of folds", also=also)
            )
        if self.seed is not None:
            self._set("seed", check_integer("seed", self.seed, 0, also=", or None"))

    def with_chosen(self, **parameters: Any) -> Self:
        """Return a copy with the chosen strength, and with defaults for the options of the choice."""
        choice_defaults = {"folds": 10, "select": "min", "seed": None}
        return super().with_chosen(**choice_defaults, **parameters)

    def with_seed(self, seed: int | None) -> Self:
        """Return the penalty with this seed, unless it has a seed of its own."""
        return self if self.seed is not None else replace(self, seed=seed)

    def _check_strength(self, strength: float | None) -> None:
        """Store the strength as a float if it is positive, or leave None; raise a DataError otherwise."""
        if strength is not None:
            also = ", or None to choose it by cross-validation"
            self._set("strength", check_number("strength", strength, 0.0, ends="()", also=also))


@dataclass(frozen=True, repr=False)
class Ridge(PenaltySpecification):
    """Half the sum of squared coefficients, times the strength.

    It keeps all columns, and shares the coefficient of collinear columns among them.

    Parameters
    ----------
    strength : float, optional
        Strength of the penalty, glmnet's lambda; it is 1 / (N C) for scikit-learn's C. None chooses it by
        cross-validation.
    grid, n_strengths, folds, select, seed
        Options of the choice; see `PenaltySpecification`.

    Examples
    --------
    >>> from discrim import logistic
    >>> from discrim.penalty import Ridge
    >>> logistic("species ~ .", "iris", penalty=Ridge(0.05)).confusion().to_numpy().trace().item()
    142
    """

    strength: float | None = None

    word = "ridge"
    l1_ratio = 0.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        self._check_strength(self.strength)


@dataclass(frozen=True, repr=False)
class Lasso(PenaltySpecification):
    """The sum of absolute coefficients, times the strength, which selects columns.

    Parameters
    ----------
    strength : float, optional
        Strength of the penalty, glmnet's lambda; it is 1 / (N C) for scikit-learn's C. None chooses it by
        cross-validation.
    grid, n_strengths, folds, select, seed
        Options of the choice; see `PenaltySpecification`.

    Examples
    --------
    >>> from discrim import logistic
    >>> from discrim.penalty import Lasso
    >>> logistic("species ~ .", "iris", penalty=Lasso(0.05)).selected.tolist()
    ['petal_width', 'petal_length', 'sepal_width']
    """

    strength: float | None = None

    word = "lasso"
    l1_ratio = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        self._check_strength(self.strength)


@dataclass(frozen=True, repr=False)
class ElasticNet(PenaltySpecification):
    """A mixture of the penalties of the lasso and of ridge regression.

    It selects columns, and keeps or drops correlated ones together.

    Parameters
    ----------
    l1_ratio : float
        Share of the lasso, between 0 and 1; glmnet's alpha.
    strength : float, optional
        Strength of the penalty, glmnet's lambda; it is 1 / (N C) for scikit-learn's C. None chooses it by
        cross-validation.
    grid, n_strengths, folds, select, seed
        Options of the choice; see `PenaltySpecification`.

    Examples
    --------
    >>> from discrim import logistic
    >>> from discrim.penalty import ElasticNet
    >>> logistic("species ~ .", "iris", penalty=ElasticNet(0.5, strength=0.05)).selected.tolist()
    ['petal_width', 'petal_length', 'sepal_width', 'sepal_length']
    """

    l1_ratio: float = 0.5
    strength: float | None = None

    word = "elastic_net"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        also = "; the ends are Ridge and Lasso"
        self._set("l1_ratio", check_number("l1_ratio", self.l1_ratio, 0.0, 1.0, ends="()", also=also))
        self._check_strength(self.strength)


def _convert_to_tuples(value: Any) -> Any:
    """Convert nested iterables and arrays to nested tuples of Python numbers, which are equal by value."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return (
        tuple(map(_convert_to_tuples, value))
        if isinstance(value, Iterable) and not isinstance(value, str)
        else value
    )


PENALTIES: dict[str, type[PenaltySpecification]] = {
    penalty.word: penalty for penalty in (Ridge, Lasso, ElasticNet)
}
"""The penalties by their words."""


AnyPenalty = Ridge | Lasso | ElasticNet
"""Type of the result of `read_penalty`."""


def read_penalty(value: Any) -> AnyPenalty | None:
    """Return the specification that the value of `penalty=` stands for.

    The value is a specification, a word such as "ridge", which stands for the specification with its
    defaults, or None for no penalty. Any other value is a DataError.
    """
    if value is None:
        return None
    penalty: AnyPenalty = read_specification("penalty", value, PENALTIES, PENALTIES.values())
    return penalty
