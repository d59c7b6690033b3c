"""Processor time of logistic regression: penalties, leave-one-out and comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tests.benchmarks.searches.tables import (
    overlapping_classes,
    processor_seconds,
    report_processor_seconds,
)
from tests.benchmarks.timing import Run, report_figure

__all__ = ["tasks"]

PENALTY_SIZES = {303: 13, 5000: 30}
"""Columns of the tables by their numbers of rows."""

PEER_SOLVERS = {"ridge": ("lbfgs", "newton-cholesky"), "lasso": ("liblinear", "saga")}
"""Solvers of scikit-learn by penalty; the default for a ridge is the first one."""


def _peer_run(frame: pd.DataFrame, penalty: str, solver: str) -> Run:
    """Return the choice of the strength by scikit-learn, with our grid of strengths and our folds."""
    from sklearn.linear_model import LogisticRegressionCV

    from discrim import logistic
    from discrim.inference.resampling import stratified_fold_ids

    x = frame.drop(columns="y").to_numpy()
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    codes = frame["y"].cat.codes.to_numpy().astype(np.intp)
    fold_ids = stratified_fold_ids(codes, 10, 0)
    splits = [(np.flatnonzero(fold_ids != fold), np.flatnonzero(fold_ids == fold)) for fold in range(10)]
    strengths = logistic("y ~ .", frame, penalty=penalty).path["strength"].to_numpy()
    options: dict[str, Any] = {"l1_ratios": (float(penalty == "lasso"),), "use_legacy_attributes": False}
    peer = LogisticRegressionCV(
        Cs=1 / (len(x) * strengths), solver=solver, cv=splits, scoring="neg_log_loss", **options
    )
    return lambda: peer.fit(x, codes)


def compare_penalized(frame: pd.DataFrame, penalty: str, repeat: int) -> None:
    """Compare a choice of the strength, and error rates in ten folds that repeat it, with scikit-learn.

    The fastest solver of scikit-learn is compared. Error rates in ten folds would take ten of its fits.
    """
    from discrim import logistic

    def fit() -> Any:
        return logistic("y ~ .", frame, penalty=penalty)

    # A fit stores the scores of its folds.
    runs: dict[str, Run] = {"fit": fit, "folds": lambda: fit().error_rates(["cv"], seed=1)}
    runs |= {solver: _peer_run(frame, penalty, solver) for solver in PEER_SOLVERS[penalty]}
    times = processor_seconds(runs, repeat)
    task = f"logistic {penalty} {len(frame):,} x {frame.shape[1] - 1}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    fastest = min(seconds for name, seconds in times.items() if name not in ("fit", "folds"))
    report_figure(task, "fit over scikit-learn's fastest solver", times["fit"] / fastest, 0.5)
    report_figure(task, "folds over ten fits of scikit-learn", times["folds"] / (10 * fastest), 0.5)


def time_leave_one_out(n: int, p: int, bar: float, repeat: int, *, bias_reduction: bool = False) -> None:
    """Measure a fit with its leave-one-out error."""
    from discrim import logistic

    frame = overlapping_classes(n, p)

    def run() -> object:
        return logistic("y ~ .", frame, bias_reduction=bias_reduction).error_rates(["loo"])

    task = f"logistic leave-one-out {n:,} x {p}{', Firth' * bias_reduction}"
    report_processor_seconds(task, {"fit and errors": (run, bar)}, repeat)


def time_comparison(repeat: int) -> None:
    """Measure a comparison of three models in five repeats of ten folds."""
    from discrim import compare, lda, logistic, qda
    from discrim.datasets import load_breast_cancer

    tumours = load_breast_cancer()
    formula = "diagnosis ~ radius_mean + texture_mean + perimeter_mean + area_mean + smoothness_mean"

    def run() -> object:
        fits = [verb(formula, tumours) for verb in (lda, qda, logistic)]
        return compare(*fits, folds=10, repeats=5, seed=1)

    report_processor_seconds("compare 569 x 5 with a logistic", {"fits and table": (run, 2.0)}, repeat)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    named: dict[str, Run] = {
        "logistic-loo-303": lambda: time_leave_one_out(303, 13, 0.1, repeat),
        "logistic-loo-1000": lambda: time_leave_one_out(1000 // divisor, 20, 0.4, repeat),
        "logistic-loo-firth-303": lambda: time_leave_one_out(303, 13, 0.3, repeat, bias_reduction=True),
        "compare-logistic": lambda: time_comparison(repeat),
    }
    for penalty in PEER_SOLVERS:
        for n, p in PENALTY_SIZES.items():
            frame = overlapping_classes(max(n // divisor, 10 * p), p)
            named[f"logistic-{penalty}-{n}"] = lambda frame=frame, penalty=penalty: compare_penalized(
                frame, penalty, repeat
            )
    return named
