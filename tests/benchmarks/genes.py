"""More columns than rows, beside scikit-learn."""

from __future__ import annotations

import numpy as np

from discrim.covariance import Shrunk
from tests.benchmarks.timing import Run, made, medians, row


def chosen_shrinkage(n: int, p: int, refits: int, repeat: int) -> None:
    """Shrunk LDA with its leave-one-out error, against as many refits of scikit-learn's.

    Of the peer's n refits a few are timed: they are the same work each.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = made(n, p, 2)

    def peer() -> None:
        for left in range(refits):
            kept = np.arange(n) != left
            Peer(solver="lsqr", shrinkage="auto").fit(x[kept], codes[kept]).predict(x[[left]])

    def ours() -> object:
        return lda("y ~ .", data=frame, covariance="shrunk").leave_one_out()

    def chosen() -> object:
        return lda("y ~ .", data=frame, covariance=Shrunk("loo"))

    runs: dict[str, Run] = {"ours": ours, "chosen": chosen}
    taken = medians(runs, 2 * repeat) | medians({"peer": peer}, 1)
    task = f"shrunk LDA and leave-one-out {n} x {p:,}"
    print(task, f"{taken['ours']:.3f} s, scikit-learn {refits} of {n} rows {taken['peer']:.1f} s", sep=": ")
    ratio = taken["peer"] * n / refits / taken["ours"]
    row(task, "times faster than scikit-learn's Ledoit-Wolf under LeaveOneOut", ratio, 20, at_least=True)
    ratio = taken["peer"] * n / refits / taken["chosen"]
    row(task, "times faster, the shrinkage chosen among 17", ratio, 20, at_least=True)
