"""Helpers shared by several tests: paths of golden values and external tables, and recorded calls."""

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
    "GOLDEN", "ROOT", "TABLES", "classic_table", "collinear_curves", "external_file", "leukemia_table",
    "record_calls", "resolve_formula",
]  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
"""Folder of expected values from other programs, each next to the script that wrote it."""

TABLES = ROOT.parent / "shared" / "data"
"""Folder of external tables, many under the GPL, that are not part of the project."""


def external_file(name: str) -> Path:
    """Return the path of a file in `TABLES`, such as "genes/islr_Khan.npz"; skip the test if it is absent."""
    path = TABLES / name
    if not path.exists():
        pytest.skip(f"{name} is no part of the project, and not in shared/data beside it")
    return path


def classic_table(name: str) -> pd.DataFrame:
    """Read one of the small tables of `TABLES`, such as "MASS_crabs"; skip the test if it does not exist."""
    return read_csv(external_file(f"classic/{name}.csv.gz"))


def is_older_than(library: ModuleType, *version: int) -> bool:
    """Return whether the installed version of a library is older than the given version."""
    return tuple(map(int, library.__version__.split(".")[: len(version)])) < version


def read_csv(file: Any, **options: Any) -> pd.DataFrame:
    """Read a CSV file with pandas and convert numbers exactly, which is not the default of older versions."""
    if is_older_than(pd, 3, 1):
        options["float_precision"] = "round_trip"
    return pd.read_csv(file, **options)


def resolve_formula(
    formula: str,
    table: Table,
    *,
    functions: Functions | None = None,
    levels: Sequence[Any] | None = None,
    exclude: Sequence[str] = (),
) -> tuple[Design, Codes]:
    """Return the design of a formula and the class codes (n,) of the rows of a table in memory."""
    called = check_functions(functions)
    return learn_design(parse_formula(formula, table, called, exclude), table, called, levels)


@contextmanager
def record_calls(*functions: Callable[..., Any]) -> Iterator[list[dict[str, Any]]]:
    """Record the arguments of each call of the given functions by this thread, in any module.

    The functions are not replaced. A test that asserts that there are no calls should also assert that
    another situation has calls.
    """
    codes, calls, entered_frames = {inspect.unwrap(each).__code__ for each in functions}, [], set()

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes and frame not in entered_frames:
            calls.append(dict(frame.f_locals))
            if frame.f_code.co_flags & inspect.CO_GENERATOR:
                # A generator is entered again for each value that it yields.
                entered_frames.add(frame)

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(previous)


def collinear_curves() -> tuple[np.ndarray, np.ndarray]:
    """Return 60 curves at 12 points and their classes, 0 and 1.

    The condition number is 3e10, and the values are the same on every machine.
    """
    row, point = np.arange(60)[:, None], np.arange(12) / 11
    centre, width, height = row * 7 % 60 / 60, 1 + row * 5 % 16 / 16, 1.0 + row * 11 % 37
    bump = np.where(row * row % 7 < 3, 0.25, -0.25) / (1 + ((point - centre) / width) ** 2)
    return height * (1 + bump), row[:, 0] * 3 // 2 % 2


@cache
def leukemia_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the leukemia data of the documentation and a mask of the training rows.

    The columns are g0, g1, ... and y.
    """
    table = pd.read_csv(ROOT / "vignettes" / "data" / "golub.csv.xz", index_col="patient")
    labels, is_training = (
        table.pop("leukemia").to_numpy(dtype=object).astype(str),
        table.index.to_numpy() <= 38,
    )
    names = [f"g{j}" for j in range(table.shape[1])]
    expressions = pd.DataFrame(table.to_numpy(dtype=np.float64), columns=names)
    return expressions.assign(y=labels), is_training
