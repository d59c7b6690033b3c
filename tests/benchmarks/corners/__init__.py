"""Cases in which a method could be slow. Each case is a function; `__main__` times them."""

from __future__ import annotations

from collections.abc import Callable

Case = Callable[[], Callable[[], object]]

CASES: dict[str, Case] = {}


def slow_case(name: str) -> Callable[[Case], Case]:
    """Register a case: a function that makes its data and returns the call to be timed."""

    def enter(case: Case) -> Case:
        CASES[name] = case
        return case

    return enter
