"""Tables on which a method could be slow, one function a case; `__main__` times them."""

from __future__ import annotations

from collections.abc import Callable

Case = Callable[[], Callable[[], object]]

CASES: dict[str, Case] = {}


def corner(name: str) -> Callable[[Case], Case]:
    """Enter a case, a function that makes its data and gives what is timed."""

    def enter(case: Case) -> Case:
        CASES[name] = case
        return case

    return enter
