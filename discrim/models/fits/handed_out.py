"""Attributes of which every reader gets a copy, so that writing into one changes no later number."""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar, overload

__all__ = ["HandedOut"]


class _Copied(Protocol):
    def copy(self) -> Self: ...


T = TypeVar("T", bound=_Copied)


class HandedOut(Generic[T]):
    """An attribute, set as any other, that is read as a copy.

    Examples
    --------
    >>> import pandas as pd
    >>> class Results:
    ...     prior = HandedOut[pd.Series]()
    >>> fit = Results()
    >>> fit.prior = pd.Series([0.5, 0.5])
    >>> fit.prior[0] = 99
    >>> fit.prior.tolist()
    [0.5, 0.5]
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_own_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        held: T = getattr(instance, self._name)
        return held.copy()

    def __set__(self, instance: Any, value: T) -> None:
        instance.__dict__[self._name] = value
