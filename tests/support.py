"""What several tests share: where the project, expected values and real tables lie, and what was called."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discrim.core.numerics.arrays import Codes
from discrim.data.table import Table
from discrim.formula.design import Design
from discrim.formula.factors import Functions, check_functions
from discrim.formula.formula import learn_design, parse_formula

__all__ = [
    "GOLDEN", "ROOT", "TABLES", "beside", "calls_of", "classic", "curves", "leukemias", "resolve_formula",
]  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
"""Values from outside the code, each beside the script that wrote it."""

TABLES = ROOT.parent / "shared" / "data"
"""Real tables beside the project, many under the GPL, which are no part of it."""


def beside(name: str) -> Path:
    """A file of `TABLES`, as "genes/islr_Khan.npz"; the test is skipped where it is missing."""
    path = TABLES / name
    if not path.exists():
        pytest.skip(f"{name} is no part of the project, and not in shared/data beside it")
    return path


def classic(name: str) -> pd.DataFrame:
    """One of the small tables of `TABLES`, as "MASS_crabs"; the test is skipped where it is missing."""
    return read_csv(beside(f"classic/{name}.csv.gz"))


def before(library: ModuleType, *version: int) -> bool:
    """Whether the version that is installed is an earlier one."""
    return tuple(map(int, library.__version__.split(".")[: len(version)])) < version


def read_csv(file: Any, **options: Any) -> pd.DataFrame:
    """A table as pandas reads it, with every digit, of which 3.1 is the first to read the last by itself."""
    return pd.read_csv(file, float_precision="round_trip", **options)


def resolve_formula(
    formula: str,
    table: Table,
    *,
    functions: Functions | None = None,
    levels: Sequence[Any] | None = None,
    exclude: Sequence[str] = (),
) -> tuple[Design, Codes]:
    """Design of a formula, and codes (n,) of the rows, for a table in memory."""
    called = check_functions(functions)
    return learn_design(parse_formula(formula, table, called, exclude), table, called, levels)


@contextmanager
def calls_of(*functions: Callable[..., Any]) -> Iterator[list[dict[str, Any]]]:
    """The arguments of each call that this thread makes of some functions meanwhile, in whatever module.

    Nothing is put in the place of the functions. What says that there is no call has to see that there is one
    where there should be.
    """
    codes, made, begun = {inspect.unwrap(each).__code__ for each in functions}, [], set()

    def seen(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes and frame not in begun:
            made.append(dict(frame.f_locals))
            if frame.f_code.co_flags & inspect.CO_GENERATOR:
                # It is entered again for each value that it yields.
                begun.add(frame)

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield made
    finally:
        sys.setprofile(before)


def curves() -> tuple[np.ndarray, np.ndarray]:
    """60 curves at 12 points and their classes, 0 and 1: of condition 3e10, and the same on every machine."""
    row, at = np.arange(60)[:, None], np.arange(12) / 11
    place, width, height = row * 7 % 60 / 60, 1 + row * 5 % 16 / 16, 1.0 + row * 11 % 37
    bump = np.where(row * row % 7 < 3, 0.25, -0.25) / (1 + ((at - place) / width) ** 2)
    return height * (1 + bump), row[:, 0] * 3 // 2 % 2


@cache
def leukemias() -> tuple[pd.DataFrame, np.ndarray]:
    """The table of the pages on genes, with columns g0, g1, ... and y, and which rows are to learn from."""
    table = pd.read_csv(ROOT / "vignettes" / "data" / "golub.csv.xz", index_col="patient")
    labels, learned = table.pop("leukemia").to_numpy(dtype=object).astype(str), table.index.to_numpy() <= 38
    names = [f"g{j}" for j in range(table.shape[1])]
    readings = pd.DataFrame(table.to_numpy(dtype=np.float64), columns=names)
    return readings.assign(y=labels), learned
