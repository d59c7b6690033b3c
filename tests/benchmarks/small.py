"""Small calls: one row, iris, a choice on small tables, and the first fit of a process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from functools import partial

import pandas as pd

from discrim.errors import DiscrimWarning
from tests.benchmarks.timing import Run, medians, row
from tests.support import TABLES

__all__ = ["tasks"]

CLASSIC = {
    "datasets_iris": "Species", "MASS_Pima.tr": "type", "MASS_Pima.te": "type", "MASS_synth.tr": "yc",
    "mlbench_Glass": "Type", "ElemStatLearn_SAheart": "chd", "candisc_Wine": "Cultivar",
    "heplots_Diabetes": "group", "heplots_Skulls": "epoch", "rrcov_fish": "Species", "rrcov_hemophilia": "gr",
}  # fmt: skip
"""Response of each table of some hundred rows."""


def tight(runs: dict[str, Run], calls: int, rounds: int = 5) -> dict[str, float]:
    """Seconds of a call of each run, in the middle of so many made one after another, the least of rounds.

    Calls of less than a millisecond are slowed by what ran before them, and not by what they do.
    """
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            seconds = []
            for _ in range(calls):
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
            least[name] = min(least[name], statistics.median(seconds))
    return least


def single_rows(calls: int) -> None:
    """Posteriors of one row, beside scikit-learn's of an array."""
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
    taken = tight(runs, calls)
    print("one row:", " ".join(f"{name} {1e3 * seconds:.3f} ms" for name, seconds in taken.items()))
    row("predict_proba of one row, a fit", "over scikit-learn's", taken["fit"] / taken["peer"], 2.5)
    row(
        "predict_proba of one row, an estimator", "over scikit-learn's", taken["estimator"] / taken["peer"], 3
    )


def iris_fits(calls: int) -> None:
    """A fit of iris, and its summary as text, beside scikit-learn's fit."""
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
    taken = tight(runs, calls)
    print("iris:", " ".join(f"{name} {1e3 * seconds:.2f} ms" for name, seconds in taken.items()))
    row("lda() of iris", "over scikit-learn's fit", taken["fit"] / taken["peer"], 1)
    row("lda() of iris and its summary", "over scikit-learn's fit", taken["summary"] / taken["peer"], 7.3)


def chosen_pairs(tables: int, repeat: int) -> None:
    """RDA with alpha and gamma chosen over LDA, in the middle of tables of some hundred rows."""
    from discrim import lda, rda

    warnings.simplefilter("ignore", DiscrimWarning)
    ratios = []
    for name, response in list(CLASSIC.items())[:tables]:
        table, formula = pd.read_csv(TABLES / "classic" / f"{name}.csv.gz"), f"{response} ~ ."
        runs: dict[str, Run] = {"rda": partial(rda, formula, table), "lda": partial(lda, formula, table)}
        taken = medians(runs, repeat)
        ratios.append(taken["rda"] / taken["lda"])
    row("rda, alpha and gamma chosen", "over lda, classic tables, median", statistics.median(ratios), 4)


def first_fit(repeat: int) -> None:
    """What the first fit of a process adds to `import discrim`, beside `import pandas`."""

    def run(code: str) -> Run:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    first = 'import discrim; discrim.lda("species ~ .", discrim.datasets.load_iris())'
    taken = medians({"first": run(first), "pandas": run("import pandas")}, repeat)
    row("import discrim, first fit of iris", "over import pandas", taken["first"] / taken["pandas"], 1.3)


def tasks(part: int, repeat: int) -> dict[str, Run]:
    """The tasks by name."""
    calls = 50 if part == 1 else 10
    return {
        "small-row": lambda: single_rows(4 * calls),
        "small-iris": lambda: iris_fits(calls),
        "small-rda": lambda: chosen_pairs(len(CLASSIC) if part == 1 else 3, repeat),
        "small-import": lambda: first_fit(2 * repeat),
    }
