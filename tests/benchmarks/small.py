"""Small calls: one row, iris, parameter choices for small tables, and the first fit of a process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import warnings
from functools import partial

import pandas as pd

from discrim.errors import DiscrimWarning
from tests.benchmarks.timing import Run, median_seconds, report_figure
from tests.support import TABLES

__all__ = ["tasks"]

CLASSIC = {
    "datasets_iris": "Species", "MASS_Pima.tr": "type", "MASS_Pima.te": "type", "MASS_synth.tr": "yc",
    "mlbench_Glass": "Type", "ElemStatLearn_SAheart": "chd", "candisc_Wine": "Cultivar",
    "heplots_Diabetes": "group", "heplots_Skulls": "epoch", "rrcov_fish": "Species", "rrcov_hemophilia": "gr",
}  # fmt: skip
"""Response of each of the tables with some hundred rows."""


def steady_seconds(runs: dict[str, Run], calls: int, rounds: int = 5) -> dict[str, float]:
    """Return the seconds of a call of each run: the smallest median of consecutive calls over rounds.

    Calls shorter than a millisecond are slowed down by what ran before them.

    Parameters
    ----------
    runs : dict of str to callable
    calls : int
        Number of consecutive calls in a round.
    rounds : int
    """
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            seconds = []
            for _ in range(calls):
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
            best[name] = min(best[name], statistics.median(seconds))
    return best


def compare_single_rows(calls: int) -> None:
    """Compare the posteriors of one row with those of scikit-learn."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda
    from discrim.datasets import load_iris
    from discrim.sklearn import LDAClassifier

    iris = load_iris()
    x, y = iris.drop(columns="species").to_numpy(), iris["species"].astype(str).to_numpy()
    fit, model, peer = lda("species ~ .", iris), LDAClassifier().fit(x, y), Peer().fit(x, y)
    one = iris.iloc[[3]]
    runs: dict[str, Run] = {
        "fit": lambda: fit.predict_proba(one),
        "estimator": lambda: model.predict_proba(x[3:4]),
        "peer": lambda: peer.predict_proba(x[3:4]),
    }
    times = steady_seconds(runs, calls)
    print("one row:", " ".join(f"{name} {1e3 * seconds:.3f} ms" for name, seconds in times.items()))
    report_figure("predict_proba of one row, a fit", "over scikit-learn's", times["fit"] / times["peer"], 2.5)
    report_figure(
        "predict_proba of one row, an estimator", "over scikit-learn's", times["estimator"] / times["peer"], 3
    )


def compare_iris_fits(calls: int) -> None:
    """Compare a fit to iris, alone and with its summary as text, with a fit of scikit-learn."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda
    from discrim.datasets import load_iris

    iris = load_iris()
    x, y = iris.drop(columns="species").to_numpy(), iris["species"].astype(str).to_numpy()
    runs: dict[str, Run] = {
        "fit": lambda: lda("species ~ .", iris),
        "peer": lambda: Peer().fit(x, y),
        "summary": lambda: str(lda("species ~ .", iris).summary()),
    }
    times = steady_seconds(runs, calls)
    print("iris:", " ".join(f"{name} {1e3 * seconds:.2f} ms" for name, seconds in times.items()))
    report_figure("lda() of iris", "over scikit-learn's fit", times["fit"] / times["peer"], 1)
    report_figure(
        "lda() of iris and its summary", "over scikit-learn's fit", times["summary"] / times["peer"], 7.3
    )


def compare_rda_with_lda(tables: int, repeat: int) -> None:
    """Compare RDA with chosen alpha and gamma with LDA: the median ratio over small tables."""
    from discrim import lda, rda

    warnings.simplefilter("ignore", DiscrimWarning)
    ratios = []
    for name, response in list(CLASSIC.items())[:tables]:
        table, formula = pd.read_csv(TABLES / "classic" / f"{name}.csv.gz"), f"{response} ~ ."
        runs: dict[str, Run] = {"rda": partial(rda, formula, table), "lda": partial(lda, formula, table)}
        times = median_seconds(runs, repeat)
        ratios.append(times["rda"] / times["lda"])
    report_figure(
        "rda, alpha and gamma chosen", "over lda, classic tables, median", statistics.median(ratios), 4
    )


def time_new_processes(repeat: int) -> None:
    """Compare a first fit of iris, and the same from the shell, with `import pandas`, in new processes.

    The modules are compiled before, as by pip in an installation.
    """
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(*arguments: str) -> Run:
        command = [sys.executable, *arguments]
        return partial(subprocess.run, command, check=True, env=environment, stdout=subprocess.DEVNULL)

    first_fit = 'import discrim; discrim.lda("species ~ .", discrim.datasets.load_iris())'
    runs = {
        "pandas": run("-c", "import pandas"),
        "import discrim": run("-c", "import discrim"),
        "import discrim, first fit of iris": run("-c", first_fit),
        "command line, summary of iris": run("-m", "discrim", "lda", "species ~ .", "iris"),
    }
    times = median_seconds(runs, repeat)
    for (task, seconds), bar in zip(list(times.items())[1:], (1.5, 1.3, 1.6), strict=True):
        report_figure(task, "over import pandas", seconds / times["pandas"], bar)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name."""
    calls = 50 if divisor == 1 else 10
    return {
        "small-row": lambda: compare_single_rows(4 * calls),
        "small-iris": lambda: compare_iris_fits(calls),
        "small-rda": lambda: compare_rda_with_lda(len(CLASSIC) if divisor == 1 else 3, repeat),
        "small-import": lambda: time_new_processes(2 * repeat),
    }
