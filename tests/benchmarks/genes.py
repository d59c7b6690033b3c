"""Shrunken LDA of more columns than rows, compared with scikit-learn."""

from __future__ import annotations

import numpy as np

from discrim.covariance import Shrunk
from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes


def compare_shrinkage_choice(n: int, p: int, refits: int, repeat: int) -> None:
    """Compare shrunken LDA and its leave-one-out error with refits of scikit-learn without each row.

    Parameters
    ----------
    n, p : int
        Numbers of rows and columns.
    refits : int
        Number of refits of scikit-learn that are timed; all n refits take the same time.
    repeat : int
        Number of counted runs.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = simulate_classes(n, p, 2)

    def peer() -> None:
        for row in range(refits):
            is_training = np.arange(n) != row
            Peer(solver="lsqr", shrinkage="auto").fit(x[is_training], codes[is_training]).predict(x[[row]])

    def ours() -> object:
        return lda("y ~ .", data=frame, covariance="shrunk").leave_one_out()

    def chosen() -> object:
        return lda("y ~ .", data=frame, covariance=Shrunk("loo"))

    runs: dict[str, Run] = {"ours": ours, "chosen": chosen}
    times = median_seconds(runs, 2 * repeat) | median_seconds({"peer": peer}, 1)
    task = f"shrunk LDA and leave-one-out {n} x {p:,}"
    print(task, f"{times['ours']:.3f} s, scikit-learn {refits} of {n} rows {times['peer']:.1f} s", sep=": ")
    ratio = times["peer"] * n / refits / times["ours"]
    report_figure(
        task, "times faster than scikit-learn's Ledoit-Wolf under LeaveOneOut", ratio, 20, at_least=True
    )
    ratio = times["peer"] * n / refits / times["chosen"]
    report_figure(task, "times faster, the shrinkage chosen among 17", ratio, 20, at_least=True)
