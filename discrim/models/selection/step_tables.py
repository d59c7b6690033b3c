"""What each step of a choice by partial F looked at: the terms in and not in, their tests, and the pairs.

They are made from the moments of the candidates and the steps that were taken, where they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import f_sf
from discrim.inference.selection import NEAREST, SelectedColumns


class StepTables(NamedTuple):
    """Tables by step and term, by step and term, by step, and by step and pair of classes."""

    in_analysis: pd.DataFrame
    not_in_analysis: pd.DataFrame
    overall: pd.DataFrame
    pairs: pd.DataFrame


def step_tables(
    moments: ClassMoments,
    parts: Mapping[str, Codes],
    criterion: str,
    start: Sequence[str],
    moves: Sequence[str],
    classes: pd.Index,
) -> StepTables:
    """The tables of a choice that began with some terms and moved others in and out, one at a step."""
    selected = SelectedColumns(moments)
    for term in start:
        selected.move(parts[term])
    chosen = list(start)
    inside = []
    outside = []
    overall = []
    pairs = []
    with Progress(len(moves) + 1, "steps") as progress:
        for step, move in enumerate(["", *moves]):
            if move:
                selected.move(parts[move])
                chosen = [term for term in chosen if term != move] + [move] * (move not in chosen)
            inside += _inside(selected, parts, criterion, step, chosen)
            left = [term for term in parts if term not in chosen]
            outside += _outside(selected, parts, criterion, step, left)
            if chosen:
                test = selected.overall()
                row: dict[str, Any] = {"step": step, "terms_in": len(chosen), "columns": len(selected.pivots)}
                row |= {"wilks": test.wilks, "F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
                overall.append(row)
                pairs.append(_pairs(selected, step, classes))
            progress(1)
    tests = ["F", "df1", "df2", "p"]
    value = [criterion, "pair"]
    within = _frame(inside, ["step", "term"], ["tolerance", *tests, *value])
    without = _frame(outside, ["step", "term"], ["tolerance", "min_tolerance", *tests, *value])
    every = _frame(overall, ["step"], ["terms_in", "columns", "wilks", *tests])
    none = pd.DataFrame(columns=["step", "class", "other", "D2", *tests])
    by_pair = (pd.concat(pairs) if pairs else none).set_index(["step", "class", "other"])
    return StepTables(
        with_pair(within, classes, criterion), with_pair(without, classes, criterion), every, by_pair
    )


def _frame(rows: list[dict[str, Any]], keys: list[str], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*keys, *columns]).set_index(keys)


def _inside(
    selected: SelectedColumns, parts: Mapping[str, Codes], criterion: str, step: int, terms: list[str]
) -> list[dict[str, Any]]:
    """Of each chosen term: tolerance, F to remove, and the criterion without it."""
    tolerances = dict(zip(selected.pivots, selected.tolerances().tolist(), strict=True)) if terms else {}
    rows = []
    for term, test in zip(terms, selected.partials([parts[term] for term in terms]), strict=True):
        row: dict[str, Any] = {"step": step, "term": term}
        row |= {"tolerance": min(tolerances[column] for column in parts[term].tolist())}
        row |= {"F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
        value = np.nan
        pair = None
        if len(terms) > 1:
            value, pair = selected.without_term(parts[term], criterion)
        rows.append(row | {criterion: value, "pair": pair})
    return rows


def _outside(
    selected: SelectedColumns, parts: Mapping[str, Codes], criterion: str, step: int, terms: list[str]
) -> list[dict[str, Any]]:
    """Of each term that is not in: tolerance, the least with it, F to enter, and the criterion with it."""
    able = [term for term in terms if not selected.dependent(parts[term])]
    tests = dict(zip(able, selected.partials([parts[term] for term in able]), strict=True))
    rows = []
    for term in terms:
        own, least = selected.tolerances_with(parts[term])
        row: dict[str, Any] = {"step": step, "term": term, "tolerance": own, "min_tolerance": least}
        row |= dict.fromkeys(["F", "df1", "df2", "p", criterion], np.nan)
        if term in tests:
            test = tests[term]
            row |= {"F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
            row[criterion], row["pair"] = selected.with_term(parts[term], criterion)
        rows.append(row)
    return rows


def _pairs(selected: SelectedColumns, step: int, classes: pd.Index) -> pd.DataFrame:
    """D2 of each pair of classes by the chosen columns, with Hotelling's F."""
    d2, f, df1, df2 = selected.pairs()
    i, j = np.triu_indices(len(classes), 1)
    columns = {"step": step, "class": classes[i], "other": classes[j], "D2": d2[i, j], "F": f[i, j]}
    return pd.DataFrame(columns | {"df1": df1, "df2": df2, "p": f_sf(f[i, j], df1, df2)})


def with_pair(table: pd.DataFrame, classes: pd.Index, criterion: str) -> pd.DataFrame:
    """The table with the two classes that its column `pair` has the positions of, where there are some."""
    pairs = table.pop("pair")
    if criterion in NEAREST:
        for at, name in enumerate(("class", "other")):
            labels = [classes[pair[at]] if isinstance(pair, tuple) else None for pair in pairs]
            table[name] = pd.Series(labels, index=table.index, dtype=object)
    return table


def printed_steps(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each pair of classes as one text, for which a line has room."""
    if "other" in table:
        pairs = [_pair(*pair) for pair in zip(table["class"], table["other"], strict=True)]
        return table.drop(columns=["class", "other"]).assign(between=pairs)
    if "other" in table.index.names:
        keys = [(step, _pair(one, other)) for step, one, other in table.index]
        return table.set_axis(pd.MultiIndex.from_tuples(keys, names=["step", "between"]))
    return table


def _pair(one: Any, other: Any) -> str:
    return "" if other is None else f"{one}, {other}"
