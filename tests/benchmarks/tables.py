"""Compare our models and other classifiers on many tables: accuracy, log loss, seconds and mean ranks.

    python -m tests.benchmarks.tables [FOLDER] [--bundled] [--generated] [--out results.csv]

FOLDER contains tables as in PMLB, NAME.tsv.gz or NAME/NAME.tsv.gz with a column `target`, or CSV files;
`python -m tests.benchmarks.collect` fills one. Each method is fitted without each of a table's stratified
folds
and predicts that fold; all methods use the same folds. The preparation is the same for all methods: rows with
missing values and classes with fewer rows than twice the number of folds are dropped; peers other than trees
receive standardized columns and 0/1 columns of levels. If a method raises an error for a fold, as `qda`
does if a
covariance is singular, the class proportions are predicted instead and the failure is counted; our models
do the
same for rows with unseen levels. In the log loss, posteriors below 1e-15 count as 1e-15. Seconds are CPU
seconds
of fitting and predicting one fold.

Tables are divided into two halves by a hash of their name: use `--half building` for decisions, and run
`--half final` once at the end. Results are appended to the file of `--out` as they are computed, and
results in
the file are not computed again. Ranks are compared by Friedman's test with the Nemenyi distance (Demsar 2006,
Journal of Machine Learning Research 7, 1-30).
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

MIN_POSTERIOR = 1e-15
MIN_ROWS, MAX_ROWS = 100, 5000
MEASURES = {"log_loss": False, "accuracy": True}
"""Measures by which methods are ranked, and whether larger values are better."""

Generator = np.random.Generator
Posteriors = Callable[[pd.DataFrame], np.ndarray]
Method = Callable[[pd.DataFrame, int], Posteriors]
"""Fits a table with a column `target`, given a seed; returns a function from rows to posteriors (m, K)."""


# ---- tables


def half_of_table(name: str) -> str:
    """Return the half of a table, which depends only on its name."""
    return ("building", "final")[hashlib.sha256(name.encode()).digest()[0] % 2]


def folder_tables(folder: Path) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """Yield names of the tables of a folder, and functions that read them."""
    for path in sorted([*folder.rglob("*.tsv.gz"), *folder.rglob("*.csv.gz")]):
        separator = "\t" if path.name.endswith(".tsv.gz") else ","
        yield path.name[:-7], lambda path=path, by=separator: pd.read_csv(path, sep=by)


def bundled_tables() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """Yield names of the tables of the package, and functions that load them."""
    from discrim import datasets

    responses = {"breast_cancer": "diagnosis", "iris": "species", "penguins": "species", "wine": "cultivar"}
    for name, response in responses.items():
        read = getattr(datasets, f"load_{name}")
        yield name, lambda read=read, response=response: read().rename(columns={response: "target"})


def generated_tables() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """Yield names of simulated tables and functions that draw them; some suit one of our models."""

    def table(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(target=y)

    def moons(rng: Generator, n: int) -> pd.DataFrame:
        y, turn = rng.integers(0, 2, n), np.pi * rng.random(n)
        x = np.column_stack([np.cos(turn), np.sin(turn)]) * np.where(y, -1, 1)[:, None]
        return table(x + y[:, None] * [1.0, 0.5] + 0.25 * rng.standard_normal((n, 2)), y)

    def rings(rng: Generator, n: int) -> pd.DataFrame:
        y, turn = rng.integers(0, 3, n), 2 * np.pi * rng.random(n)
        radius = 1.0 + y + 0.3 * rng.standard_normal(n)
        return table(np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]), y)

    def xor(rng: Generator, n: int, p: int) -> pd.DataFrame:
        x = rng.standard_normal((n, p))
        chance = 1 / (1 + np.exp(-4 * x[:, 0] * x[:, 1]))
        return table(x, (rng.random(n) < chance).astype(int))

    def normal(rng: Generator, n: int, p: int, k: int, spread: bool, df: float = np.inf) -> pd.DataFrame:
        y, means = rng.integers(0, k, n), rng.standard_normal((k, p))
        roots = rng.standard_normal((k, p, p)) / np.sqrt(p) if spread else np.tile(np.eye(p), (k, 1, 1))
        noise = rng.standard_normal((n, p))
        if df < np.inf:
            noise /= np.sqrt(rng.chisquare(df, n) / df)[:, None]
        return table(means[y] + np.einsum("nij,nj->ni", roots[y], noise), y)

    def mixed(rng: Generator, n: int) -> pd.DataFrame:
        y, x = rng.integers(0, 3, n), rng.standard_normal((n, 3))
        levels = np.array(["a", "b", "c", "d"])
        shares = rng.dirichlet(np.ones(4), 3)
        frame = table(x + y[:, None] * [0.8, 0.0, -0.4], y)
        frame["level"] = levels[[rng.choice(4, p=shares[k]) for k in y]]
        frame["skew"] = rng.gamma(1.0 + y)
        return frame

    makers: dict[str, Callable[[Generator], pd.DataFrame]] = {
        "moons": lambda rng: moons(rng, 400),
        "rings": lambda rng: rings(rng, 400),
        "xor of 2 in 6": lambda rng: xor(rng, 600, 6),
        "normal, common covariance": lambda rng: normal(rng, 300, 8, 3, spread=False),
        "normal, different covariances": lambda rng: normal(rng, 600, 5, 3, spread=True),
        "t of 3": lambda rng: normal(rng, 300, 8, 3, spread=False, df=3.0),
        "mixed columns": lambda rng: mixed(rng, 400),
    }
    for number, (name, make) in enumerate(makers.items()):
        yield name, lambda make=make, number=number: make(np.random.default_rng([20261126, number]))


def prepare_table(frame: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Keep complete rows of classes with enough rows; make columns categories or float64."""
    frame = frame.dropna()
    counts = frame["target"].value_counts()
    frame = frame[frame["target"].isin(counts.index[counts >= 2 * folds])].reset_index(drop=True)
    columns = {}
    for name, column in frame.items():
        number = name != "target" and pd.api.types.is_numeric_dtype(column) and column.dtype != bool
        columns[name] = column.astype(np.float64) if number else pd.Categorical(column.astype(str))
    table = pd.DataFrame(columns)
    return table[[name for name in table if table[name].nunique() > 1]]


# ---- methods


def discrim_method(verb: str, **options: Any) -> Method:
    """Return the method of a function of the package; `seed` is passed if the function accepts it."""

    def fit(train: pd.DataFrame, seed: int) -> Posteriors:
        import inspect

        import discrim

        call = getattr(discrim, verb)
        seeded = {"seed": seed} if "seed" in inspect.signature(call).parameters else {}
        fitted = call("target ~ .", train, **seeded, **options)
        return lambda rows: fitted.predict_proba(rows, unseen="missing").to_numpy()

    return fit


def sklearn_method(
    make: Callable[[int], Any], grid: dict[str, list[Any]] | None = None, *, trees: bool = False
) -> Method:
    """Return the method of a scikit-learn estimator.

    Parameters
    ----------
    make : callable
        Makes the estimator from a seed.
    grid : dict, optional
        Grid of parameters, chosen by log loss in five inner folds.
    trees : bool
        Whether the estimator is made of trees, which need no standardized columns.
    """

    def fit(train: pd.DataFrame, seed: int) -> Posteriors:
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.model_selection import GridSearchCV, StratifiedKFold
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        numbers = make_column_selector(dtype_include="number")
        levels = make_column_selector(dtype_exclude="number")
        coded = OneHotEncoder(
            drop=None if trees else "if_binary", handle_unknown="ignore", sparse_output=False
        )
        columns = make_column_transformer(
            ("passthrough" if trees else StandardScaler(), numbers), (coded, levels)
        )
        model = make_pipeline(columns, make(seed))
        if grid is not None:
            last = model.steps[-1][0]
            inner = StratifiedKFold(5, shuffle=True, random_state=seed)
            named = {f"{last}__{name}": values for name, values in grid.items()}
            model = GridSearchCV(model, named, scoring="neg_log_loss", cv=inner, error_score=-1e3)
        x = train.drop(columns="target")
        model.fit(x, np.asarray(train["target"].cat.codes))
        return lambda rows: model.predict_proba(rows[x.columns])

    return fit


def sklearn_methods() -> dict[str, Method]:
    """Return the methods of scikit-learn, with default parameters and tuned, by name."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    def svm(seed: int) -> Any:
        return CalibratedClassifierCV(SVC(random_state=seed), ensemble=False)

    def forest(seed: int) -> Any:
        return RandomForestClassifier(300, random_state=seed)

    def histogram(seed: int) -> Any:
        return HistGradientBoostingClassifier(random_state=seed)

    def logistic(seed: int) -> Any:
        return LogisticRegression(max_iter=5000)

    powers = [10.0**e for e in range(-3, 4)]
    return {
        "sk logistic": sklearn_method(logistic),
        "sk svm": sklearn_method(svm),
        "sk forest": sklearn_method(forest, trees=True),
        "sk boosting": sklearn_method(lambda seed: GradientBoostingClassifier(random_state=seed), trees=True),
        "sk hist boosting": sklearn_method(histogram, trees=True),
        "sk knn": sklearn_method(lambda seed: KNeighborsClassifier()),
        "sk lda": sklearn_method(lambda seed: LinearDiscriminantAnalysis()),
        "sk qda": sklearn_method(lambda seed: QuadraticDiscriminantAnalysis()),
        "sk logistic tuned": sklearn_method(logistic, {"C": powers}),
        "sk svm tuned": sklearn_method(
            svm, {"estimator__C": [0.1, 1.0, 10.0, 100.0], "estimator__gamma": ["scale", 0.01, 0.1, 1.0]}
        ),
        "sk forest tuned": sklearn_method(
            forest, {"max_features": ["sqrt", 0.5], "min_samples_leaf": [1, 5]}, trees=True
        ),
        "sk hist boosting tuned": sklearn_method(
            histogram,
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [5, 31], "max_iter": [50, 200]},
            trees=True,
        ),
        "sk knn tuned": sklearn_method(lambda seed: KNeighborsClassifier(), {"n_neighbors": [5, 10, 20, 40]}),
        "sk lda tuned": sklearn_method(
            lambda seed: LinearDiscriminantAnalysis(solver="lsqr"),
            {"shrinkage": [None, 0.01, 0.1, 0.3, 0.6, 1.0]},
        ),
        "sk qda tuned": sklearn_method(
            lambda seed: QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.01, 0.1, 0.3, 0.6, 1.0]}
        ),
    }  # fmt: skip


def class_proportions(train: pd.DataFrame) -> np.ndarray:
    """Return the proportions (K,) of the classes."""
    return train["target"].value_counts(normalize=True, sort=False).to_numpy()


def proportion_method(train: pd.DataFrame, seed: int) -> Posteriors:
    """Predict the class proportions for every row: the baseline that a method has to improve on."""
    return lambda rows: np.tile(class_proportions(train), (len(rows), 1))


def all_methods() -> dict[str, Method]:
    """Return all methods by name, ours first."""
    import discrim

    verbs = {
        "kernel_lda": discrim_method("kernel_lda"),
        "choose": discrim_method("choose", folds=5),
        "lda": discrim_method("lda"),
        "qda": discrim_method("qda"),
        "rda": discrim_method("rda"),
        "naive_bayes": discrim_method("naive_bayes"),
        "logistic ridge": discrim_method("logistic", penalty="ridge"),
        "knn": discrim_method("knn"),
        "kernel_density": discrim_method("kernel_density"),
        "mixture": discrim_method("mixture"),
        "pls": discrim_method("pls"),
        "sparse_lda": discrim_method("sparse_lda"),
    }
    available = {name: method for name, method in verbs.items() if hasattr(discrim, name.split()[0])}
    return available | sklearn_methods() | {"class shares": proportion_method}


# ---- judging


def evaluate_method(
    method: Method, table: pd.DataFrame, folds: int, repeats: int, seed: int
) -> dict[str, float]:
    """Return the mean measures of a method over the folds of a table, and the number of refused folds."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    codes = np.asarray(table["target"].cat.codes)
    accuracies, losses, seconds, n_refused = [], [], [], 0
    for train, test in splits.split(codes, codes):
        rows, start = table.iloc[train], time.process_time()
        try:
            posterior = method(rows, seed)(table.iloc[test])
            posterior = np.where(np.isnan(posterior), class_proportions(rows), posterior)
        except (ValueError, np.linalg.LinAlgError, ArithmeticError):
            n_refused += 1
            posterior = np.tile(class_proportions(rows), (len(test), 1))
        seconds.append(time.process_time() - start)
        posterior_of_class = posterior[np.arange(len(test)), codes[test]]
        accuracies.append((posterior.argmax(axis=1) == codes[test]).mean())
        losses.append(-np.log(np.maximum(posterior_of_class, MIN_POSTERIOR)).mean())
    figures = {"accuracy": np.mean(accuracies), "log_loss": np.mean(losses), "seconds": np.mean(seconds)}
    return {name: float(value) for name, value in figures.items()} | {"refused": n_refused}


def run_methods(
    sources: dict[str, Callable[[], pd.DataFrame]], chosen: dict[str, Method], options: argparse.Namespace
) -> pd.DataFrame:
    """Evaluate each method on each table, except for results that are already in the file."""
    setting = f"{options.folds}x{options.repeats} by {options.seed}"
    earlier = pd.read_csv(options.out) if options.out and options.out.exists() else pd.DataFrame()
    finished = (
        set()
        if earlier.empty
        else set(zip(earlier["table"], earlier["method"], earlier["folds"], strict=True))
    )
    results = [earlier] if len(earlier) else []
    for name, read in sources.items():
        pending = {each: fit for each, fit in chosen.items() if (name, each, setting) not in finished}
        if not pending:
            continue
        table = prepare_table(read(), options.folds)
        if not MIN_ROWS <= len(table) <= MAX_ROWS or table.shape[1] > options.columns:
            print(f"{name}: left out, {len(table)} x {table.shape[1] - 1}", flush=True)
            continue
        table_size = {"rows": len(table), "columns": table.shape[1] - 1, "classes": table["target"].nunique()}
        for each, method in pending.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                figures = evaluate_method(method, table, options.folds, options.repeats, options.seed)
            row = pd.DataFrame([{"table": name, "method": each, "folds": setting} | table_size | figures])
            results.append(row)
            if options.out:
                row.to_csv(options.out, mode="a", header=not options.out.exists(), index=False)
            print(
                f"{name:32} {each:24} {figures['accuracy']:.3f} {figures['log_loss']:8.3f} "
                f"{figures['seconds']:8.2f} s {figures['refused'] or ''}",
                flush=True,
            )
    table = pd.concat(results)
    is_selected = table["table"].isin(list(sources)) & table["method"].isin(list(chosen))
    return table[is_selected & (table["folds"] == setting)]


# ---- ranks


def rank_methods(results: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return ranks (tables by methods), for the tables on which all methods were evaluated."""
    wide = results.pivot(index="table", columns="method", values=measure).dropna()
    return wide.round(6).rank(axis=1, ascending=not MEASURES[measure])


def critical_difference(methods: int, tables: int, level: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks (Demsar 2006, 3.2.2)."""
    quantile = stats.studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * tables)))


def report(results: pd.DataFrame) -> str:
    """Format means and mean ranks as a Markdown table, with Friedman's tests and the critical differences."""
    ranks = {measure: rank_methods(results, measure) for measure in MEASURES}
    common = results[results["table"].isin(ranks["log_loss"].index)]
    means = common.groupby("method")[["accuracy", "log_loss", "seconds"]].mean()
    means["median_log_loss"] = common.groupby("method")["log_loss"].median()
    means["refused"] = common.groupby("method")["refused"].sum()
    for measure, each in ranks.items():
        means[f"rank_{measure}"] = each.mean()
    means = means.sort_values("rank_log_loss")
    lines = [
        "| method | rank, log loss | rank, accuracy | log loss | median | accuracy | s a fold | refused |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row.Index} | {row.rank_log_loss:.2f} | {row.rank_accuracy:.2f} | {row.log_loss:.3f} | "
        f"{row.median_log_loss:.3f} | {row.accuracy:.3f} | {row.seconds:.2f} | {row.refused} |"
        for row in means.itertuples()
    ]
    n, k = ranks["log_loss"].shape
    lines.append("")
    if n > 1 and k > 2:
        for measure, each in ranks.items():
            chi2, p = stats.friedmanchisquare(*each.to_numpy().T)
            lines.append(f"Friedman's test of {measure}: chi2({k - 1}) = {chi2:.1f}, p {p:.2g}.")
        lines.append(f"Nemenyi's critical difference at .05: {critical_difference(k, n):.2f}.")
    lines.append(f"{n} tables, {k} methods.")
    return "\n".join(lines)


def draw_ranks(results: pd.DataFrame, path: Path) -> None:
    """Draw mean ranks, with bars over methods that do not differ significantly."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(len(MEASURES), 1, figsize=(9, 0.5 + 0.42 * results["method"].nunique()))
    for panel, measure in zip(np.atleast_1d(panels), MEASURES, strict=True):
        ranks = rank_methods(results, measure)
        mean, (n, k) = ranks.mean().sort_values(), ranks.shape
        difference, values, half = critical_difference(k, n), mean.to_numpy(), (k + 1) // 2
        for position, (name, value) in enumerate(mean.items()):
            is_left = position < half
            y = -1.0 - (position if is_left else k - 1 - position)
            end = 1 - 0.05 * k if is_left else k + 0.05 * k
            panel.plot([value, value, end], [0, y, y], color="0.3", linewidth=0.8)
            panel.text(
                end, y, f"{name} {value:.2f}", ha="right" if is_left else "left", va="center", fontsize=7
            )
        # A bar connects each method with the last one within the distance, unless an earlier bar has both.
        last, height = -1, 0.25
        for first in range(k):
            final = int(np.flatnonzero(values <= values[first] + difference)[-1])
            if final > max(first, last):
                panel.plot(values[[first, final]], [-height, -height], color="black", linewidth=2.5)
                last, height = final, height + 0.25
        panel.plot([1, 1 + difference], [1, 1], color="black", linewidth=1.5)
        panel.text(1, 1.3, f"critical difference {difference:.2f}", fontsize=7)
        panel.plot([1, k], [0, 0], color="black", linewidth=0.8)
        for rank in range(1, k + 1):
            panel.text(rank, 0.15, rank, ha="center", fontsize=6)
        panel.set(xlim=(-0.35 * k, 1.4 * k), ylim=(-half - 1.5, 2.5))
        panel.set_title(f"Mean ranks in {measure.replace('_', ' ')}, {n} tables", fontsize=9)
        panel.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tables")
    parser.add_argument("folder", type=Path, nargs="?", help="folder of tables with a column target")
    parser.add_argument("--bundled", action="store_true", help="use the tables of the package")
    parser.add_argument("--generated", action="store_true", help="use simulated tables")
    parser.add_argument("--half", choices=["building", "final"], help="use one half of the folder's tables")
    parser.add_argument("--tables", type=int, help="use so many tables, drawn at random")
    parser.add_argument("--columns", type=int, default=1000, help="leave out tables with more columns")
    parser.add_argument("--only", help="methods or patterns such as 'sk *', with commas")
    parser.add_argument("--without", default="", help="methods or patterns to leave out")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="CSV file to which results are appended")
    parser.add_argument("--picture", type=Path, help="file for the picture of the ranks")
    options = parser.parse_args()
    sources = {}
    if options.folder is not None:
        tables = dict(folder_tables(options.folder))
        sources = {name: read for name, read in tables.items() if options.half in (None, half_of_table(name))}
    if options.tables is not None and options.tables < len(sources):
        names = np.random.default_rng(options.seed).choice(sorted(sources), options.tables, replace=False)
        sources = {name: sources[name] for name in names}
    sources |= dict(bundled_tables()) if options.bundled else {}
    sources |= dict(generated_tables()) if options.generated else {}
    if not sources:
        parser.error("no table: give a folder, --bundled or --generated")

    def matches(name: str, patterns: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns.split(","))

    chosen = {
        name: method
        for name, method in all_methods().items()
        if matches(name, options.only or "*") and not matches(name, options.without)
    }
    results = run_methods(sources, chosen, options)
    print(report(results))
    if options.picture:
        draw_ranks(results, options.picture)


if __name__ == "__main__":
    main()
