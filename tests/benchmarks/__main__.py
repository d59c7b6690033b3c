"""Compare the run times of this package with those of other packages on the same arrays.

    python -m tests.benchmarks [--only TEXT] [--repeat N] [--quick]

Each task prints figures, which are medians over interleaved runs after a warm-up run, or ratios of such
medians. `dsyrk` is the symmetric matrix product of BLAS for the same array in its faster (Fortran) layout.
The
exit status is 1 if a figure misses its bar. `--quick` runs the tasks of the page on computing times with a
tenth
of the rows, which takes one or two minutes and only shows that they run. It never fails, because the bars are
meant for the full tables.
"""

from __future__ import annotations

import argparse
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
from tests.benchmarks.searches import kernel_lda, logistic, selection, sizes
from tests.benchmarks.searches import mixtures as mixture_searches
from tests.benchmarks.searches import neighbours as neighbour_searches
from tests.benchmarks.searches import wide as wide_searches
from tests.benchmarks.timing import MISSED, Run, median_seconds, report_figure, simulate_classes

SEARCHES = (
    kernel_lda,
    logistic,
    mixture_searches,
    wide_searches,
    neighbour_searches,
    selection,
    sizes,
)


def compare_lda_fits(n: int, p: int, k: int, repeat: int) -> None:
    """Compare the time of an LDA fit with a symmetric product and with the solvers of scikit-learn."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = simulate_classes(n, p, k)
    fortran = np.asfortranarray(x)
    runs: dict[str, Run] = {
        "ours": lambda: lda("y ~ .", data=frame),
        "dsyrk": lambda: dsyrk(1.0, fortran, trans=1),
        "dsyrk of C order": lambda: dsyrk(1.0, x.T),
    }
    own_times = median_seconds(runs, 2 * repeat)
    peers = {
        f"scikit-learn {s}": (lambda s=s: Peer(solver=s).fit(x, codes)) for s in ("svd", "eigen", "lsqr")
    }
    times = own_times | median_seconds(peers, max(repeat // 2, 1))
    task = f"LDA fit {n:,} x {p} x {k:,}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    report_figure(task, "over dsyrk", times["ours"] / times["dsyrk"], 1.6)
    report_figure(task, "divided by dsyrk in C order", times["ours"] / times["dsyrk of C order"], 2)
    default = times["scikit-learn svd"]
    fastest = min(times[name] for name in peers)
    report_figure(
        task, "times faster than scikit-learn's default", default / times["ours"], 10, at_least=True
    )
    report_figure(task, "times faster than its fastest", fastest / times["ours"], 3, at_least=True)


def compare_indicator_with_lda(n: int, p: int, k: int, repeat: int) -> None:
    """Compare the time of an indicator regression with that of an LDA fit."""
    from discrim import indicator, lda

    _, _, frame = simulate_classes(n, p, k)
    runs: dict[str, Run] = {
        "indicator": lambda: indicator("y ~ .", data=frame),
        "lda": lambda: lda("y ~ .", data=frame),
    }
    times = median_seconds(runs, 2 * repeat)
    report_figure(f"indicator fit {n:,} x {p} x {k:,}", "over LDA", times["indicator"] / times["lda"], 1.05)


def fit_formula_of_large_table(n: int, p: int, repeat: int) -> None:
    """Measure the time and the peak memory of an LDA fit by a formula."""
    import tracemalloc

    from discrim import lda

    x, _, frame = simulate_classes(n, p, 5)
    fortran = np.asfortranarray(x)
    del x

    def fit() -> object:
        return lda("y ~ .", data=frame)

    times = median_seconds({"ours": fit, "dsyrk": lambda: dsyrk(1.0, fortran, trans=1)}, repeat)
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    task = f"formula fit {n:,} x {p}"
    report_figure(task, "over dsyrk", times["ours"] / times["dsyrk"], 3)
    report_figure(task, "peak memory allocated, share of the data", peak / (8 * n * p), 0.2)


def compare_qda(n: int, p: int, k: int, repeat: int) -> None:
    """Compare fits and posteriors of QDA with those of scikit-learn."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Peer

    from discrim import qda

    x, codes, frame = simulate_classes(n, p, k)
    ours, peer = qda("y ~ .", data=frame), Peer().fit(x, codes)
    runs: dict[str, Run] = {
        "fit": lambda: qda("y ~ .", data=frame),
        "peer's fit": lambda: Peer().fit(x, codes),
        "posteriors": lambda: ours.predict_proba(frame),
        "peer's posteriors": lambda: peer.predict_proba(x),
    }
    times = median_seconds(runs, repeat)
    task = f"QDA {n:,} x {p} x {k}"
    report_figure(
        task, "fit: times faster than scikit-learn", times["peer's fit"] / times["fit"], 5, at_least=True
    )
    ratio = times["peer's posteriors"] / times["posteriors"]
    report_figure(task, "posteriors: times faster", ratio, 2, at_least=True)


def compare_rda_choice(n: int, p: int, k: int, repeat: int) -> None:
    """Compare the choice of alpha and gamma by cross-validation with a grid search of scikit-learn."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Peer
    from sklearn.model_selection import GridSearchCV

    from discrim import rda

    x, codes, frame = simulate_classes(n, p, k)
    grid = {"reg_param": np.linspace(0, 1, 11)}
    runs: dict[str, Run] = {
        "esl": lambda: rda("y ~ .", frame, folds=10, seed=0),
        "klar": lambda: rda("y ~ .", frame, folds=10, seed=0, parametrization="klar"),
        "peer": lambda: GridSearchCV(Peer(), grid, cv=10).fit(x, codes),
    }
    times = median_seconds(runs, repeat)
    task = f"RDA {n:,} x {p} x {k}, 10 folds"
    for name in ("esl", "klar"):
        ratio = times[name] / times["peer"]
        report_figure(task, f"{name}, 121 pairs over scikit-learn's 11 of QDA", ratio, 1)


def compare_lda_posteriors(n: int, p: int, k: int, bar: float, repeat: int) -> None:
    """Compare LDA posteriors with those of scikit-learn and with one matrix product and one exponential."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = simulate_classes(n, p, k)
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
    times = median_seconds(runs, repeat)
    task = f"LDA posteriors {n:,} x {p} x {k:,}"
    report_figure(task, "times faster than scikit-learn", times["peer"] / times["ours"], bar, at_least=True)
    report_figure(task, "over one product and one exponential", times["ours"] / times["limit"], 1.15)


def time_leave_one_out(n: int, p: int, k: int, repeat: int) -> None:
    """Compare the time of leave-one-out with that of the posteriors of all rows."""
    from discrim import lda

    _, _, frame = simulate_classes(n, p, k)
    fit = lda("y ~ .", data=frame)

    def recompute() -> None:
        fit._fit.cache.clear()
        fit.leave_one_out()

    times = median_seconds({"loo": recompute, "proba": fit.predict_proba}, repeat)
    report_figure(f"leave-one-out {n:,} x {p} x {k}", "over predict_proba", times["loo"] / times["proba"], 5)


def further_tasks(rows: int, folder: Path | None, repeat: int) -> dict[str, Run]:
    """Return the tasks that are not on the page on computing times, by name.

    Parameters
    ----------
    rows : int
        Number of rows of the tables that are larger than memory.
    folder : Path or None
        Folder in which these tables are kept; by default they are deleted.
    repeat : int
        Number of counted runs of each task.
    """
    return {
        "fit-50-10": lambda: compare_lda_fits(200_000, 50, 10, repeat),
        "indicator": lambda: compare_indicator_with_lda(200_000, 50, 10, repeat),
        "formula": lambda: fit_formula_of_large_table(1_000_000, 50, repeat),
        "qda": lambda: compare_qda(200_000, 50, 10, repeat),
        "rda": lambda: compare_rda_choice(20_000, 50, 10, max(repeat // 2, 1)),
        "posteriors-10": lambda: compare_lda_posteriors(200_000, 50, 10, 1, repeat),
        "mixture": lambda: mixtures.compare_mixtures(50_000, 20, 5, 3, max(repeat // 2, 1)),
        "pls-20": lambda: partial.compare_pls(1_000_000, 20, 4, 3, 5, max(repeat // 2, 1)),
        "pls-5000": lambda: partial.compare_pls(100, 5000, 4, 5, 0.5, repeat),
        "leave-one-out": lambda: time_leave_one_out(200_000, 50, 10, repeat),
        "error-rates": lambda: inference.time_error_rates(200_000, 50, 10, repeat),
        "lr-test": lambda: inference.compare_resampled_lr_test(1_000, 10, 5, repeat),
        "stepwise": lambda: inference.compare_stepwise(5_000, 200, repeat),
        "logistic-5": lambda: inference.compare_logistic(50_000, 20, 5, max(repeat // 2, 1)),
        "logistic-2": lambda: inference.compare_logistic(500_000, 30, 2, max(repeat // 2, 1)),
        "hyperplane": lambda: inference.time_hyperplane(100_000, 20, repeat),
        "knn-predict": lambda: neighbours.compare_prediction(20_000, 20, repeat),
        "knn-tree": lambda: neighbours.compare_prediction(20_000, 6, repeat),
        "knn-choice": lambda: neighbours.time_choice(20_000, 20, repeat),
        "genes": lambda: genes.compare_shrinkage_choice(72, 7129, 1, repeat),
        "ranking": lambda: ranking.compare_ranking(100, 5000, 4, repeat),
        "sparse, two classes": lambda: sparse.compare_paths(100, 5000, 2, repeat),
        "sparse, three classes": lambda: sparse.compare_paths(100, 5000, 3, repeat),
        "scale-pyarrow": lambda: scale.compare_streamed(rows, folder, repeat),
        "scale-polars": lambda: scale.compare_streamed(rows, folder, repeat, "polars"),
        "scale-duckdb": lambda: scale.compare_streamed(rows, folder, repeat, "duckdb"),
        "scale-logistic": lambda: scale.time_logistic_pass(rows, folder, repeat),
        "scale-dask": lambda: scale.compare_dask_processes(rows, folder, repeat),
        "scale-peers": lambda: scale.compare_with_peers(min(rows, 1_000_000), folder, repeat),
        "scale-growth": lambda: scale.print_growth(rows, folder, repeat),
        "novelty": new_rows.print_novelty,
        "sets": lambda: new_rows.print_coverage(repeat),
        "texts": lambda: wide.compare_texts(20_000, 50_000, 20, repeat),
        "many-classes": lambda: wide.compare_many_classes(500_000, 400, 20_000, 2_000),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--only", default="", help="run the tasks whose names contain this text")
    parser.add_argument("--repeat", type=int, help="number of counted runs of each task")
    parser.add_argument("--quick", action="store_true", help="run few tasks on a tenth of the rows")
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the largest tables")
    parser.add_argument("--folder", type=Path, help="folder to keep the largest tables")
    options = parser.parse_args()
    divisor, repeat = (10, options.repeat or 1) if options.quick else (1, options.repeat or 5)
    tasks: dict[str, Run] = {}
    for module in (threads, small, summaries, families, workers):
        tasks |= module.tasks(divisor, repeat)
    if not options.quick:
        for module in SEARCHES:
            tasks |= module.tasks(divisor, repeat)
    tasks |= real_tables.tasks(divisor, repeat, options.rows * 2 // 5, options.folder)
    if not options.quick:
        tasks |= further_tasks(options.rows, options.folder, repeat)
    for name, task in tasks.items():
        if options.only in name:
            task()
    if MISSED:
        print(f"{len(MISSED)} figures missed their bars:", *MISSED, sep="\n    ")
    return 1 if MISSED and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
