"""The code that makes a fit again, and the options that it was made with."""

from __future__ import annotations

import ast
import builtins
import inspect
from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DataError, DiscrimError
from discrim.frame.scan import quote
from discrim.models.fits.options import options_of
from discrim.models.registry import BY_VERB, resolve

__all__ = ["check_load", "code_of", "given_options", "told_options"]

NAMES = {"pd": "import pandas as pd", "pl": "import polars as pl", "np": "import numpy as np"}
"""Names in an expression that loads a table, and what brings them."""


def check_load(load: Any) -> None:
    """Raise a DataError where an expression that loads a table is none."""
    if load is None:
        return
    if not isinstance(load, str):
        raise DataError(f"load= is a {type(load).__name__}: give a text, as \"pd.read_csv('iris.csv')\".")
    try:
        ast.parse(load.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DataError(
            f"load={load!r} is no expression of Python: give one that loads the table, as "
            "\"pd.read_csv('iris.csv')\"."
        ) from None


def given_options(results: Any) -> dict[str, Any]:
    """Options of the verb that are not its defaults, by name.

    Raises
    ------
    DiscrimError
        The fit does not tell.
    """
    verb = results._verb()
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(resolve(f"{BY_VERB[verb].module}:{verb}")).parameters.items()
    }
    options = {
        name: value for name, value in options_of(results).items() if not _same(value, defaults.get(name))
    }
    shares = options.get("prior")
    if isinstance(shares, dict) and len({*shares.values()}) == 1:
        if defaults["prior"] == "equal":
            del options["prior"]
        else:
            options["prior"] = "equal"
    levels = list(results._fit.blocks.design.levels)
    if not _sorted(levels):
        options["levels"] = levels
    return options


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(
            value == default or (default is None and value in ([], {})) or (default == () and value == [])
        )
    except (ValueError, TypeError):
        return False


def _sorted(levels: list[Any]) -> bool:
    try:
        return levels == sorted(levels)
    except TypeError:
        return True


def code_of(results: Any, load: str | None) -> str:
    """A program that loads the table, fits, and shows what came of it.

    Parameters
    ----------
    results : ClassifierResults
    load : str or None
        An expression that loads the table.
    """
    options = given_options(results)
    fit, verb = results._fit, results._verb()
    imports = {"import discrim"}
    before, lines = [], [f"    {fit.formula!r},", "    data=data,"]
    for name, value in options.items():
        text, brings, note = _literal(value, name)
        imports |= brings
        before += note
        lines.append(f"    {name}={text},")
    if fit.blocks.weighted:
        column = _weight_column(fit)
        if column is None:
            before.append("weights = 'weights'  # the column of the weights, or a vector of them")
        lines.append(f"    weights={'weights' if column is None else repr(column)},")
    expression = "pd.read_csv('data.csv')" if load is None else load.strip()
    used = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    imports |= {NAMES[name] for name in used if name in NAMES}
    unknown = sorted(used - {*NAMES, "discrim", *dir(builtins)})
    before = [f"# {name} is a name of your own: import or define it here" for name in unknown] + before
    table = [f"# {line}" for line in _about_table(fit, load)] + [f"data = {expression}"]
    table += _categories(fit) if load is None else []
    call = [f"fit = discrim.{verb}(", *lines, ")"]
    brought = sorted(imports, key=lambda line: (not line.startswith("import"), line))
    return "\n".join([*brought, "", *before, *table, "", *call, "print(fit.summary())"])


def _about_table(fit: Any, load: str | None) -> list[str]:
    if load is not None:
        return []
    columns = [*fit.blocks.design.response_columns, *fit.blocks.design.columns]
    shown = ", ".join(map(repr, columns[:8])) + (f" and {len(columns) - 8} more" if len(columns) > 8 else "")
    told = ["Load the table of the fit here: data.csv stands for it."]
    if fit.has_rows and fit.blocks.source is not None:
        told = [f"Load the table of the fit here, or name it: it was {fit.blocks.source.table.source.what}."]
    elif not fit.has_rows:
        told = [
            (
                "The fit has no rows, because it was loaded or made of moments: load the table that they "
                "come from."
            )
        ]
    return [*told, f"Columns: {shown}"]


def _categories(fit: Any) -> list[str]:
    """Lines that give categories the order in which the fit had them, which a CSV does not keep."""
    design = fit.blocks.design
    if design.spec is None:
        return []
    names = {quote(name): name for name in design.columns}
    ordered = [
        (f"data[{names[factor.code]!r}]", list(factor.levels))
        for factor in design.spec.factors
        if factor.levels is not None and factor.code in names
    ]
    return [
        f"{column} = pd.Categorical({column}, {levels!r})"
        for column, levels in ordered
        if not _sorted(levels)
    ]


def _weight_column(fit: Any) -> str | None:
    """The column that holds the weights, where there is one."""
    blocks = fit.blocks
    if blocks.source is not None:
        name: str | None = blocks.source.weights
        return name
    if not fit.has_rows:
        return None
    taken = {*blocks.design.columns, *blocks.design.response_columns}
    for name in blocks.table.names:
        if name in taken:
            continue
        values = pd.to_numeric(pd.Series(blocks.table.frame([name])[name]), errors="coerce")
        if np.array_equal(values.to_numpy(dtype=np.float64, na_value=np.nan), blocks.weights, equal_nan=True):
            return str(name)
    return None


def _literal(value: Any, name: str) -> tuple[str, set[str], list[str]]:
    """A value as code, the imports that it needs, and lines that come before it."""
    if isinstance(value, np.generic):
        value = value.item()
    if name == "functions":
        lines = [f"# {each} is a function of your own: import or define it here" for each in value]
        return "{" + ", ".join(f"{each!r}: {each}" for each in value) + "}", set(), lines
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_plain(k)}: {_plain(v)}" for k, v in value.items()) + "}", set(), []
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]", set(), []
    if value is None or isinstance(value, str | int | float | bool):
        return _plain(value), set(), []
    kind, text = type(value), " ".join(repr(value).split())
    module = kind.__module__.split("._")[0]
    if text.startswith(f"{kind.__name__}(") and _is_expression(text):
        return text, {f"from {module} import {kind.__name__}"}, []
    return name, set(), [f"{name} = ...  # a {kind.__name__} of your own: make it here"]


def _plain(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def told_options(results: Any) -> list[tuple[str, str]]:
    """The options that are not the verb's defaults, as texts; a sentence where the fit does not tell."""
    try:
        options = given_options(results)
    except DiscrimError as error:
        return [("Options", str(error))]
    shown = [(f"Option {name}", _literal(value, name)[0]) for name, value in options.items()]
    return shown or [("Options", "the defaults")]
