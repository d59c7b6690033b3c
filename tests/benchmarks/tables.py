"""Compare verbs and their peers on many tables: the same folds, accuracy, log loss, seconds and mean ranks.

    python -m tests.benchmarks.tables [FOLDER] [--bundled] [--generated] [--out results.csv]

FOLDER has tables as PMLB lays them out, NAME.tsv.gz or NAME/NAME.tsv.gz with a column `target`, or CSV files;
`python -m tests.benchmarks.collect` fills one. Each method is fitted to the rows outside each of a table's
stratified folds, and predicts those of the fold. What is done before is the same for all: rows that miss a
value and classes of fewer rows than twice the folds are left out; the peers, but for trees, get standardized
columns and 0/1 columns of levels. A method that refuses a fold, as `qda` does where a covariance is singular,
predicts the shares of the classes there, and the refusals are counted; so do our verbs for rows of a level
that they have not seen. A log loss counts no posterior as less than 1e-15, for all alike. Seconds are CPU
seconds of fitting and predicting, of one fold.

Tables are halved by a hash of their name: look at `--half building` while anything is being decided, and run
`--half final` once. Results are appended to the file of `--out` as they come, and what it has is not run
again.
Ranks are compared by Friedman's test with the Nemenyi distance (Demsar 2006, Journal of Machine Learning
Research 7, 1-30).
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

LEAST_POSTERIOR = 1e-15
SMALLEST, LARGEST = 100, 5000
MEASURES = {"log_loss": False, "accuracy": True}
"""Measures that rank methods, and whether more is better."""

Draws = np.random.Generator
Posteriors = Callable[[pd.DataFrame], np.ndarray]
Method = Callable[[pd.DataFrame, int], Posteriors]
"""Fits a table with its `target`, by a seed, and gives a function from rows to posteriors (m, K)."""


# ---- tables


def half_of(name: str) -> str:
    """The half that a table is in, by its name alone."""
    return ("building", "final")[hashlib.sha256(name.encode()).digest()[0] % 2]


def in_folder(folder: Path) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """Names of the tables of a folder, and what reads each."""
    for path in sorted([*folder.rglob("*.tsv.gz"), *folder.rglob("*.csv.gz")]):
        separator = "\t" if path.name.endswith(".tsv.gz") else ","
        yield path.name[:-7], lambda path=path, by=separator: pd.read_csv(path, sep=by)


def bundled() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """The tables of the package."""
    from discrim import datasets

    responses = {"breast_cancer": "diagnosis", "iris": "species", "penguins": "species", "wine": "cultivar"}
    for name, response in responses.items():
        read = getattr(datasets, f"load_{name}")
        yield name, lambda read=read, response=response: read().rename(columns={response: "target"})


def generated() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """Tables drawn from laws whose best rule is, or is not, that of a model here."""

    def table(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(target=y)

    def moons(rng: Draws, n: int) -> pd.DataFrame:
        y, turn = rng.integers(0, 2, n), np.pi * rng.random(n)
        x = np.column_stack([np.cos(turn), np.sin(turn)]) * np.where(y, -1, 1)[:, None]
        return table(x + y[:, None] * [1.0, 0.5] + 0.25 * rng.standard_normal((n, 2)), y)

    def rings(rng: Draws, n: int) -> pd.DataFrame:
        y, turn = rng.integers(0, 3, n), 2 * np.pi * rng.random(n)
        radius = 1.0 + y + 0.3 * rng.standard_normal(n)
        return table(np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]), y)

    def xor(rng: Draws, n: int, p: int) -> pd.DataFrame:
        x = rng.standard_normal((n, p))
        chance = 1 / (1 + np.exp(-4 * x[:, 0] * x[:, 1]))
        return table(x, (rng.random(n) < chance).astype(int))

    def normal(rng: Draws, n: int, p: int, k: int, spread: bool, df: float = np.inf) -> pd.DataFrame:
        y, means = rng.integers(0, k, n), rng.standard_normal((k, p))
        roots = rng.standard_normal((k, p, p)) / np.sqrt(p) if spread else np.tile(np.eye(p), (k, 1, 1))
        noise = rng.standard_normal((n, p))
        if df < np.inf:
            noise /= np.sqrt(rng.chisquare(df, n) / df)[:, None]
        return table(means[y] + np.einsum("nij,nj->ni", roots[y], noise), y)

    def mixed(rng: Draws, n: int) -> pd.DataFrame:
        y, x = rng.integers(0, 3, n), rng.standard_normal((n, 3))
        levels = np.array(["a", "b", "c", "d"])
        shares = rng.dirichlet(np.ones(4), 3)
        frame = table(x + y[:, None] * [0.8, 0.0, -0.4], y)
        frame["level"] = levels[[rng.choice(4, p=shares[k]) for k in y]]
        frame["skew"] = rng.gamma(1.0 + y)
        return frame

    makers: dict[str, Callable[[Draws], pd.DataFrame]] = {
        "moons": lambda rng: moons(rng, 400),
        "rings": lambda rng: rings(rng, 400),
        "xor of 2 in 6": lambda rng: xor(rng, 600, 6),
        "normal, one covariance": lambda rng: normal(rng, 300, 8, 3, spread=False),
        "normal, own covariances": lambda rng: normal(rng, 600, 5, 3, spread=True),
        "t of 3": lambda rng: normal(rng, 300, 8, 3, spread=False, df=3.0),
        "mixed columns": lambda rng: mixed(rng, 400),
    }
    for number, (name, make) in enumerate(makers.items()):
        yield name, lambda make=make, number=number: make(np.random.default_rng([20261126, number]))


def prepared(frame: pd.DataFrame, folds: int) -> pd.DataFrame:
    """Complete rows of classes of enough rows: labels and levels as categories, all else as numbers."""
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


def ours(verb: str, **options: Any) -> Method:
    """A verb of the package; `seed` is given where the verb takes one."""

    def fit(train: pd.DataFrame, seed: int) -> Posteriors:
        import inspect

        import discrim

        call = getattr(discrim, verb)
        seeded = {"seed": seed} if "seed" in inspect.signature(call).parameters else {}
        fitted = call("target ~ .", train, **seeded, **options)
        return lambda rows: fitted.predict_proba(rows, unseen="missing").to_numpy()

    return fit


def peer(
    make: Callable[[int], Any], grid: dict[str, list[Any]] | None = None, *, trees: bool = False
) -> Method:
    """An estimator of scikit-learn, with a grid by log loss in five inner folds where it is tuned."""

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


def peers() -> dict[str, Method]:
    """The estimators of scikit-learn, at their defaults and tuned."""
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
        "sk logistic": peer(logistic),
        "sk svm": peer(svm),
        "sk forest": peer(forest, trees=True),
        "sk boosting": peer(lambda seed: GradientBoostingClassifier(random_state=seed), trees=True),
        "sk hist boosting": peer(histogram, trees=True),
        "sk knn": peer(lambda seed: KNeighborsClassifier()),
        "sk lda": peer(lambda seed: LinearDiscriminantAnalysis()),
        "sk qda": peer(lambda seed: QuadraticDiscriminantAnalysis()),
        "sk logistic tuned": peer(logistic, {"C": powers}),
        "sk svm tuned": peer(
            svm, {"estimator__C": [0.1, 1.0, 10.0, 100.0], "estimator__gamma": ["scale", 0.01, 0.1, 1.0]}
        ),
        "sk forest tuned": peer(
            forest, {"max_features": ["sqrt", 0.5], "min_samples_leaf": [1, 5]}, trees=True
        ),
        "sk hist boosting tuned": peer(
            histogram,
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [5, 31], "max_iter": [50, 200]},
            trees=True,
        ),
        "sk knn tuned": peer(lambda seed: KNeighborsClassifier(), {"n_neighbors": [5, 10, 20, 40]}),
        "sk lda tuned": peer(
            lambda seed: LinearDiscriminantAnalysis(solver="lsqr"),
            {"shrinkage": [None, 0.01, 0.1, 0.3, 0.6, 1.0]},
        ),
        "sk qda tuned": peer(
            lambda seed: QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.01, 0.1, 0.3, 0.6, 1.0]}
        ),
    }  # fmt: skip


def shares_of(train: pd.DataFrame) -> np.ndarray:
    """Shares (K,) of the classes."""
    return train["target"].value_counts(normalize=True, sort=False).to_numpy()


def class_shares(train: pd.DataFrame, seed: int) -> Posteriors:
    """The shares of the classes for every row: what a method has to better."""
    return lambda rows: np.tile(shares_of(train), (len(rows), 1))


def methods() -> dict[str, Method]:
    """All methods, ours first."""
    import discrim

    own = {
        "kernel_lda": ours("kernel_lda"),
        "choose": ours("choose", folds=5),
        "lda": ours("lda"),
        "qda": ours("qda"),
        "rda": ours("rda"),
        "naive_bayes": ours("naive_bayes"),
        "logistic ridge": ours("logistic", penalty="ridge"),
        "knn": ours("knn"),
        "kernel_density": ours("kernel_density"),
        "mixture": ours("mixture"),
        "pls": ours("pls"),
        "sparse_lda": ours("sparse_lda"),
    }
    verbs = {name: method for name, method in own.items() if hasattr(discrim, name.split()[0])}
    return verbs | peers() | {"class shares": class_shares}


# ---- judging


def judged(method: Method, table: pd.DataFrame, folds: int, repeats: int, seed: int) -> dict[str, float]:
    """Means of the measures of a method over the folds of a table, and how many folds it refused."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    codes = np.asarray(table["target"].cat.codes)
    right, loss, seconds, refused = [], [], [], 0
    for train, test in splits.split(codes, codes):
        rows, start = table.iloc[train], time.process_time()
        try:
            posterior = method(rows, seed)(table.iloc[test])
            posterior = np.where(np.isnan(posterior), shares_of(rows), posterior)
        except (ValueError, np.linalg.LinAlgError, ArithmeticError):
            refused += 1
            posterior = np.tile(shares_of(rows), (len(test), 1))
        seconds.append(time.process_time() - start)
        own = posterior[np.arange(len(test)), codes[test]]
        right.append((posterior.argmax(axis=1) == codes[test]).mean())
        loss.append(-np.log(np.maximum(own, LEAST_POSTERIOR)).mean())
    figures = {"accuracy": np.mean(right), "log_loss": np.mean(loss), "seconds": np.mean(seconds)}
    return {name: float(value) for name, value in figures.items()} | {"refused": refused}


def run(
    sources: dict[str, Callable[[], pd.DataFrame]], chosen: dict[str, Method], options: argparse.Namespace
) -> pd.DataFrame:
    """Judge each method on each table, but for what the file of results has."""
    setting = f"{options.folds}x{options.repeats} by {options.seed}"
    done = pd.read_csv(options.out) if options.out and options.out.exists() else pd.DataFrame()
    seen = set() if done.empty else set(zip(done["table"], done["method"], done["folds"], strict=True))
    found = [done] if len(done) else []
    for name, read in sources.items():
        waiting = {each: fit for each, fit in chosen.items() if (name, each, setting) not in seen}
        if not waiting:
            continue
        table = prepared(read(), options.folds)
        if not SMALLEST <= len(table) <= LARGEST or table.shape[1] > options.columns:
            print(f"{name}: left out, {len(table)} x {table.shape[1] - 1}", flush=True)
            continue
        about = {"rows": len(table), "columns": table.shape[1] - 1, "classes": table["target"].nunique()}
        for each, method in waiting.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                figures = judged(method, table, options.folds, options.repeats, options.seed)
            row = pd.DataFrame([{"table": name, "method": each, "folds": setting} | about | figures])
            found.append(row)
            if options.out:
                row.to_csv(options.out, mode="a", header=not options.out.exists(), index=False)
            print(
                f"{name:32} {each:24} {figures['accuracy']:.3f} {figures['log_loss']:8.3f} "
                f"{figures['seconds']:8.2f} s {figures['refused'] or ''}",
                flush=True,
            )
    table = pd.concat(found)
    asked = table["table"].isin(list(sources)) & table["method"].isin(list(chosen))
    return table[asked & (table["folds"] == setting)]


# ---- ranks


def ranked(results: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Ranks of the methods, tables by methods, of the tables on which all of them were run."""
    wide = results.pivot(index="table", columns="method", values=measure).dropna()
    return wide.round(6).rank(axis=1, ascending=not MEASURES[measure])


def critical_difference(methods: int, tables: int, level: float = 0.05) -> float:
    """Nemenyi's distance of mean ranks (Demsar 2006, 3.2.2)."""
    quantile = stats.studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * tables)))


def report(results: pd.DataFrame) -> str:
    """Means and mean ranks as a table of Markdown, with Friedman's tests and the critical differences."""
    ranks = {measure: ranked(results, measure) for measure in MEASURES}
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


def picture(results: pd.DataFrame, path: Path) -> None:
    """Draw the critical-difference picture: mean ranks, and bars over methods that do not differ."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(len(MEASURES), 1, figsize=(9, 0.5 + 0.42 * results["method"].nunique()))
    for panel, measure in zip(np.atleast_1d(panels), MEASURES, strict=True):
        ranks = ranked(results, measure)
        mean, (n, k) = ranks.mean().sort_values(), ranks.shape
        difference, values, half = critical_difference(k, n), mean.to_numpy(), (k + 1) // 2
        for place, (name, value) in enumerate(mean.items()):
            left = place < half
            y = -1.0 - (place if left else k - 1 - place)
            end = 1 - 0.05 * k if left else k + 0.05 * k
            panel.plot([value, value, end], [0, y, y], color="0.3", linewidth=0.8)
            panel.text(end, y, f"{name} {value:.2f}", ha="right" if left else "left", va="center", fontsize=7)
        # A bar from each method to the last that is within the distance, unless a bar before it has both.
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
    parser.add_argument("folder", type=Path, nargs="?", help="tables with a column target")
    parser.add_argument("--bundled", action="store_true", help="the tables of the package")
    parser.add_argument("--generated", action="store_true", help="tables drawn from known laws")
    parser.add_argument("--half", choices=["building", "final"], help="one half of the folder's tables")
    parser.add_argument("--tables", type=int, help="so many tables, drawn by the seed")
    parser.add_argument("--columns", type=int, default=1000, help="leave out tables of more columns")
    parser.add_argument("--only", help="methods or patterns such as 'sk *', by commas")
    parser.add_argument("--without", default="", help="methods that are left out, alike")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a CSV file of results, which is added to")
    parser.add_argument("--picture", type=Path, help="where the picture of the ranks is written")
    options = parser.parse_args()
    sources = {}
    if options.folder is not None:
        found = dict(in_folder(options.folder))
        sources = {name: read for name, read in found.items() if options.half in (None, half_of(name))}
    if options.tables is not None and options.tables < len(sources):
        names = np.random.default_rng(options.seed).choice(sorted(sources), options.tables, replace=False)
        sources = {name: sources[name] for name in names}
    sources |= dict(bundled()) if options.bundled else {}
    sources |= dict(generated()) if options.generated else {}
    if not sources:
        parser.error("no table: give a folder, --bundled or --generated")

    def meant(name: str, patterns: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns.split(","))

    chosen = {
        name: method
        for name, method in methods().items()
        if meant(name, options.only or "*") and not meant(name, options.without)
    }
    results = run(sources, chosen, options)
    print(report(results))
    if options.picture:
        picture(results, options.picture)


if __name__ == "__main__":
    main()
