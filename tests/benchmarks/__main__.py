"""Time this package beside its peers, on the same arrays, in one run.

    python -m tests.benchmarks [--only TEXT] [--repeat N] [--quick]

A row is a task; its figures are medians over interleaved runs after a warm-up, and ratios of
medians. `dsyrk` is BLAS's symmetric product of the same array in its faster (Fortran) layout. The status is
1 where a figure misses its bar. `--quick` takes the lines of the page on speed alone, on a tenth of the rows,
to see in one or two minutes that they run: the bars are those of whole tables, so that it does not fail.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dsyrk

from tests.benchmarks import (
    families,
    genes,
    inference,
    mixtures,
    neighbours,
    new_rows,
    partial,
    ranking,
    real_tables,
    small,
    sparse,
    summaries,
    threads,
    wide,
    workers,
)
from tests.benchmarks.scale import tables as scale
from tests.benchmarks.timing import MISSED, Run, made, medians, row


def fits(n: int, p: int, k: int, repeat: int) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = made(n, p, k)
    fortran = np.asfortranarray(x)
    runs: dict[str, Run] = {
        "ours": lambda: lda("y ~ .", data=frame),
        "dsyrk": lambda: dsyrk(1.0, fortran, trans=1),
        "dsyrk of C order": lambda: dsyrk(1.0, x.T),
    }
    own = medians(runs, 2 * repeat)
    peers = {
        f"scikit-learn {s}": (lambda s=s: Peer(solver=s).fit(x, codes)) for s in ("svd", "eigen", "lsqr")
    }
    taken = own | medians(peers, max(repeat // 2, 1))
    task = f"LDA fit {n:,} x {p} x {k:,}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    row(task, "over dsyrk", taken["ours"] / taken["dsyrk"], 2)
    row(task, "over dsyrk of C order", taken["ours"] / taken["dsyrk of C order"], 2)
    default = taken["scikit-learn svd"]
    fastest = min(taken[name] for name in peers)
    row(task, "times faster than scikit-learn's default", default / taken["ours"], 10, at_least=True)
    row(task, "times faster than its fastest", fastest / taken["ours"], 3, at_least=True)


def indicators(n: int, p: int, k: int, repeat: int) -> None:
    from discrim import indicator, lda

    _, _, frame = made(n, p, k)
    runs: dict[str, Run] = {
        "indicator": lambda: indicator("y ~ .", data=frame),
        "lda": lambda: lda("y ~ .", data=frame),
    }
    taken = medians(runs, 2 * repeat)
    row(f"indicator fit {n:,} x {p} x {k:,}", "over LDA", taken["indicator"] / taken["lda"], 1.05)


def wide_frame(n: int, p: int, repeat: int) -> None:
    import tracemalloc

    from discrim import lda

    x, _, frame = made(n, p, 5)
    fortran = np.asfortranarray(x)
    del x

    def fit() -> object:
        return lda("y ~ .", data=frame)

    taken = medians({"ours": fit, "dsyrk": lambda: dsyrk(1.0, fortran, trans=1)}, repeat)
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    task = f"formula fit {n:,} x {p}"
    row(task, "over dsyrk", taken["ours"] / taken["dsyrk"], 3)
    row(task, "peak memory allocated, share of the data", peak / (8 * n * p), 0.2)


def quadratic(n: int, p: int, k: int, repeat: int) -> None:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Peer

    from discrim import qda

    x, codes, frame = made(n, p, k)
    ours, peer = qda("y ~ .", data=frame), Peer().fit(x, codes)
    runs: dict[str, Run] = {
        "fit": lambda: qda("y ~ .", data=frame),
        "peer's fit": lambda: Peer().fit(x, codes),
        "posteriors": lambda: ours.predict_proba(frame),
        "peer's posteriors": lambda: peer.predict_proba(x),
    }
    taken = medians(runs, repeat)
    task = f"QDA {n:,} x {p} x {k}"
    row(task, "fit: times faster than scikit-learn", taken["peer's fit"] / taken["fit"], 5, at_least=True)
    ratio = taken["peer's posteriors"] / taken["posteriors"]
    row(task, "posteriors: times faster", ratio, 2, at_least=True)


def regularized_grid(n: int, p: int, k: int, repeat: int) -> None:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Peer
    from sklearn.model_selection import GridSearchCV

    from discrim import rda

    x, codes, frame = made(n, p, k)
    grid = {"reg_param": np.linspace(0, 1, 11)}
    runs: dict[str, Run] = {
        "esl": lambda: rda("y ~ .", frame, folds=10, seed=0),
        "klar": lambda: rda("y ~ .", frame, folds=10, seed=0, parametrization="klar"),
        "peer": lambda: GridSearchCV(Peer(), grid, cv=10).fit(x, codes),
    }
    taken = medians(runs, repeat)
    task = f"RDA {n:,} x {p} x {k}, 10 folds"
    for name in ("esl", "klar"):
        ratio = taken[name] / taken["peer"]
        row(task, f"{name}, 121 pairs over scikit-learn's 11 of QDA", ratio, 1)


def posteriors(n: int, p: int, k: int, bar: float, repeat: int) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = made(n, p, k)
    ours, peer = lda("y ~ .", data=frame), Peer(solver="lsqr").fit(x, codes)
    coef, out = np.asfortranarray(ours.coef.to_numpy()), np.empty((n, k))

    def limit() -> None:
        for start in range(0, n, 1024):
            rows = slice(start, start + 1024)
            np.matmul(x[rows], coef, out=out[rows])
            np.exp(np.minimum(out[rows], 0.0), out=out[rows])

    runs: dict[str, Run] = {
        "ours": lambda: ours.predict_proba(frame),
        "peer": lambda: peer.predict_proba(x),
        "limit": limit,
    }
    taken = medians(runs, repeat)
    task = f"LDA posteriors {n:,} x {p} x {k:,}"
    row(task, "times faster than scikit-learn", taken["peer"] / taken["ours"], bar, at_least=True)
    row(task, "over one product and one exponential", taken["ours"] / taken["limit"], 1.15)


def left_out(n: int, p: int, k: int, repeat: int) -> None:
    from discrim import lda

    _, _, frame = made(n, p, k)
    fit = lda("y ~ .", data=frame)

    def afresh() -> None:
        fit._fit.cache.clear()
        fit.leave_one_out()

    taken = medians({"loo": afresh, "proba": fit.predict_proba}, repeat)
    row(f"leave-one-out {n:,} x {p} x {k}", "over predict_proba", taken["loo"] / taken["proba"], 5)


def imports(repeat: int) -> None:
    def run(code: str) -> Run:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    command = [sys.executable, "-m", "discrim", "lda", "species ~ .", "iris"]
    runs = {"ours": run("import discrim"), "pandas": run("import pandas")}
    runs["command"] = lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    taken = medians(runs, 2 * repeat)
    row("import discrim", "over import pandas", taken["ours"] / taken["pandas"], 1.5)
    row("command line, summary of iris", "seconds", taken["command"], 1)


def others(rows: int, folder: Path | None, n: int) -> dict[str, Run]:
    """Tasks beside those of the page, `n` times each; tables of scale have `rows` rows."""
    return {
        "fit-50-10": lambda: fits(200_000, 50, 10, n),
        "indicator": lambda: indicators(200_000, 50, 10, n),
        "formula": lambda: wide_frame(1_000_000, 50, n),
        "qda": lambda: quadratic(200_000, 50, 10, n),
        "rda": lambda: regularized_grid(20_000, 50, 10, max(n // 2, 1)),
        "posteriors-10": lambda: posteriors(200_000, 50, 10, 1, n),
        "mixture": lambda: mixtures.mixtures(50_000, 20, 5, 3, max(n // 2, 1)),
        "pls-20": lambda: partial.partial_least_squares(1_000_000, 20, 4, 3, 5, max(n // 2, 1)),
        "pls-5000": lambda: partial.partial_least_squares(100, 5000, 4, 5, 0.5, n),
        "leave-one-out": lambda: left_out(200_000, 50, 10, n),
        "error-rates": lambda: inference.error_rates(200_000, 50, 10, n),
        "lr-test": lambda: inference.resampled_ratio(1_000, 10, 5, n),
        "stepwise": lambda: inference.stepwise_choice(5_000, 200, n),
        "logistic-5": lambda: inference.logistic_fit(50_000, 20, 5, max(n // 2, 1)),
        "logistic-2": lambda: inference.logistic_fit(500_000, 30, 2, max(n // 2, 1)),
        "hyperplane": lambda: inference.separating_plane(100_000, 20, n),
        "knn-predict": lambda: neighbours.prediction(20_000, 20, n),
        "knn-tree": lambda: neighbours.prediction(20_000, 6, n),
        "knn-choice": lambda: neighbours.choice(20_000, 20, n),
        "genes": lambda: genes.chosen_shrinkage(72, 7129, 1, n),
        "ranking": lambda: ranking.rankings(100, 5000, 4, n),
        "sparse, two classes": lambda: sparse.paths(100, 5000, 2, n),
        "sparse, three classes": lambda: sparse.paths(100, 5000, 3, n),
        "scale-pyarrow": lambda: scale.streamed(rows, folder, n),
        "scale-polars": lambda: scale.streamed(rows, folder, n, "polars"),
        "scale-duckdb": lambda: scale.streamed(rows, folder, n, "duckdb"),
        "scale-logistic": lambda: scale.logistic_passes(rows, folder, n),
        "scale-dask": lambda: scale.processes(rows, folder, n),
        "scale-peers": lambda: scale.peers(min(rows, 1_000_000), folder, n),
        "scale-growth": lambda: scale.growth(rows, folder, n),
        "novelty": new_rows.novelty,
        "sets": lambda: new_rows.coverage(n),
        "texts": lambda: wide.texts(20_000, 50_000, 20, n),
        "many-classes": lambda: wide.many_classes(500_000, 400, 20_000, 2_000),
        "import": lambda: imports(n),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--only", default="", help="run the tasks whose name holds this text")
    parser.add_argument("--repeat", type=int, help="counted runs of each")
    parser.add_argument("--quick", action="store_true", help="the page's lines on a tenth of the rows")
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the tables of scale")
    parser.add_argument("--folder", type=Path, help="where the tables of scale are kept")
    options = parser.parse_args()
    part, n = (10, options.repeat or 1) if options.quick else (1, options.repeat or 5)
    tasks: dict[str, Run] = {}
    for module in (threads, small, summaries, families, workers):
        tasks |= module.tasks(part, n)
    tasks |= real_tables.tasks(part, n, options.rows * 2 // 5, options.folder)
    if not options.quick:
        tasks |= others(options.rows, options.folder, n)
    for name, task in tasks.items():
        if options.only in name:
            task()
    if MISSED:
        print(f"{len(MISSED)} missed:", *MISSED, sep="\n    ")
    return 1 if MISSED and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
