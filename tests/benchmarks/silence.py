"""Measure the longest time for which a long task shows nothing on a terminal.

    python -m tests.benchmarks.silence [--only TEXT] [--limit SECONDS] [--package FOLDER]

Each task runs in a process of its own. Its time starts after its data are made and ends with its result.
Standard
error is a terminal with sixty columns; its output is timed as it arrives. `--package` is the folder of
another
checkout whose `discrim` is watched.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discrim.covariance import Shrunk, StudentT
from tests.benchmarks.timing import simulate_classes

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "../shared/data"

Task = Callable[[], object]
TASKS: dict[str, Callable[[], Task]] = {}


def watched_task(name: str) -> Callable[[Callable[[], Task]], Callable[[], Task]]:
    """Register a task: a function that makes its data and returns the call to be watched."""

    def register(make: Callable[[], Task]) -> Callable[[], Task]:
        TASKS[name] = make
        return make

    return register


def simulate_table(n: int, p: int, k: int) -> pd.DataFrame:
    """Simulate n rows of k normal classes in p columns."""
    return simulate_classes(n, p, k)[2]


def letter_table() -> pd.DataFrame:
    """Read the letter recognition data."""
    return pd.read_csv(DATA / "classic/mlbench_LetterRecognition.csv.gz")


def covertype_table(rows: int) -> pd.DataFrame:
    """Read a random sample of the cover type data."""
    frame = pd.read_parquet(DATA / "large/covertype.parquet")
    return frame.sample(rows, random_state=0).reset_index(drop=True)


def fit_task(
    verb: str, frame: pd.DataFrame, method: Callable[[Any], object] | None = None, **options: Any
) -> Task:
    """Return the call of a fit, or, if `method` is given, of a method of a finished fit."""
    import discrim

    formula = "lettr ~ ." if "lettr" in frame else "y ~ ."
    fit = getattr(discrim, verb)
    if method is None:
        return lambda: fit(formula, data=frame, **options)
    fitted_model = fit(formula, data=frame, **options)
    return lambda: method(fitted_model)


# ---- fits


@watched_task("mcd 100,000 x 4 x 3")
def mcd() -> Task:
    return fit_task("lda", simulate_table(100_000, 4, 3), covariance="mcd")


@watched_task("mcd by class 100,000 x 4 x 3")
def mcd_by_class() -> Task:
    return fit_task("qda", simulate_table(100_000, 4, 3), covariance="mcd")


@watched_task("mcd 2,000 x 200 x 2")
def mcd_wide() -> Task:
    return fit_task("lda", simulate_table(2_000, 200, 2), covariance="mcd")


@watched_task("mcd 200,000 x 10 x 3")
def mcd_larger() -> Task:
    return fit_task("lda", simulate_table(200_000, 10, 3), covariance="mcd")


@watched_task("t 500,000 x 10 x 3, nu chosen")
def student() -> Task:
    return fit_task("lda", simulate_table(500_000, 10, 3), covariance=StudentT(nu=None))


@watched_task("t by class 500,000 x 10 x 3, nu chosen")
def student_by_class() -> Task:
    return fit_task("qda", simulate_table(500_000, 10, 3), covariance=StudentT(nu=None))


@watched_task("t 1,000,000 x 10 x 3, nu given")
def student_given() -> Task:
    return fit_task("lda", simulate_table(1_000_000, 10, 3), covariance=StudentT(nu=4))


@watched_task("kernel naive Bayes 200,000 x 10 x 3, fit")
def kernel_fit() -> Task:
    return fit_task("naive_bayes", simulate_table(200_000, 10, 3), kernel=True)


@watched_task("kernel naive Bayes 200,000 x 10 x 3, predict")
def kernel_predict() -> Task:
    return fit_task("naive_bayes", simulate_table(200_000, 10, 3), lambda fit: fit.predict(), kernel=True)


@watched_task("kernel naive Bayes 200,000 x 10 x 3, leave_one_out")
def kernel_leave_one_out() -> Task:
    return fit_task(
        "naive_bayes", simulate_table(200_000, 10, 3), lambda fit: fit.leave_one_out(), kernel=True
    )


@watched_task("kernel naive Bayes of covertype, predict")
def kernel_covertype() -> Task:
    frame = pd.read_parquet(DATA / "large/covertype.parquet").rename(columns={"Cover_Type": "y"})
    columns = ["y", *frame.columns[:10]]
    return fit_task("naive_bayes", frame[columns], lambda fit: fit.predict(), kernel=True)


@watched_task("logistic on letters, fit")
def logistic() -> Task:
    return fit_task("logistic", letter_table())


@watched_task("logistic on letters, summary")
def logistic_summary() -> Task:
    return fit_task("logistic", letter_table(), lambda fit: fit.summary().as_text())


@watched_task("logistic on letters, anova")
def logistic_anova() -> Task:
    return fit_task("logistic", letter_table(), lambda fit: fit.lr_test())


@watched_task("logistic, bias reduced, 20,000 x 20 x 4")
def logistic_reduced() -> Task:
    return fit_task("logistic", simulate_table(20_000, 20, 4), bias_reduction=True)


@watched_task("logistic 1,000,000 x 20 x 3")
def logistic_rows() -> Task:
    return fit_task("logistic", simulate_table(1_000_000, 20, 3))


@watched_task("logistic 1,000,000 x 20 x 3, summary")
def logistic_rows_summary() -> Task:
    return fit_task("logistic", simulate_table(1_000_000, 20, 3), lambda fit: fit.summary().as_text())


@watched_task("perceptron on letters")
def perceptron() -> Task:
    return fit_task("perceptron", letter_table())


@watched_task("perceptron 20,000 x 57 x 2")
def perceptron_two() -> Task:
    return fit_task("perceptron", simulate_table(20_000, 57, 2))


@watched_task("perceptron 300 x 4 x 2, left out")
def perceptron_leave_one_out() -> Task:
    return fit_task("perceptron", simulate_table(2000, 4, 2), lambda fit: fit.leave_one_out())


@watched_task("hyperplane 3,000 x 50 x 2")
def hyperplane() -> Task:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 50))
    frame = pd.DataFrame(x).add_prefix("x")
    side = x @ rng.standard_normal(50)
    frame["y"] = np.where(side > 0, "a", "b")
    return fit_task("hyperplane", frame[np.abs(side) > 0.5].reset_index(drop=True))


@watched_task("hyperplane of letters")
def hyperplane_many() -> Task:
    frame = letter_table()
    centres = frame.groupby("lettr").transform("mean")
    numbers = frame.columns.drop("lettr")
    frame[numbers] = centres[numbers] * 40 + frame[numbers] * 0.01
    return fit_task("hyperplane", frame)


@watched_task("knn 30,000 x 10 x 3, choice of k")
def knn_choice() -> Task:
    return fit_task("knn", simulate_table(30_000, 10, 3), k=None)


@watched_task("knn of covertype, 20,000 x 54, choice of k")
def knn_wide() -> Task:
    return fit_task("knn", covertype_table(20_000).rename(columns={"Cover_Type": "y"}), k=None)


@watched_task("rda 5,000 x 100 x 5, choice")
def rda() -> Task:
    return fit_task("rda", simulate_table(5_000, 100, 5))


@watched_task("rda 2,000 x 50 x 5, choice by leave-one-out")
def rda_choice_leave_one_out() -> Task:
    return fit_task("rda", simulate_table(2_000, 50, 5), folds="loo")


@watched_task("rda 62 x 2,000, choice")
def rda_genes() -> Task:
    arrays = np.load(DATA / "genes/dma_alon.npz", allow_pickle=False)
    x = arrays["X"] if "X" in arrays else arrays["x"]
    return fit_task("rda", pd.DataFrame(x).add_prefix("x").assign(y=arrays["y"]))


@watched_task("fda 10,000 x 20 x 5 by kernel ridge regression")
def fda() -> Task:
    from sklearn.kernel_ridge import KernelRidge

    return fit_task("fda", simulate_table(10_000, 20, 5), engine=KernelRidge(kernel="rbf"))


@watched_task("shrunken centroids 83 x 2,308, choice")
def shrunken() -> Task:
    arrays = np.load(DATA / "genes/islr_Khan.npz", allow_pickle=False)
    return fit_task("shrunken_centroids", pd.DataFrame(arrays["X"]).add_prefix("x").assign(y=arrays["y"]))


@watched_task("shrunken centroids 50,000 x 200 x 10, choice")
def shrunken_rows() -> Task:
    return fit_task("shrunken_centroids", simulate_table(50_000, 200, 10))


@watched_task("lda shrunk 5,000 x 500 x 3")
def shrunk() -> Task:
    return fit_task("lda", simulate_table(5_000, 500, 3), covariance="shrunk")


@watched_task("lda 20,000 x 1,500 x 5")
def lda_wide() -> Task:
    return fit_task("lda", simulate_table(20_000, 1_500, 5))


@watched_task("qda 20,000 x 500 x 10")
def qda_wide() -> Task:
    return fit_task("qda", simulate_table(20_000, 500, 10))


@watched_task("moments of 50,000 x 1,200 x 4")
def moments() -> Task:
    import discrim

    frame = simulate_table(50_000, 1_200, 4)
    return lambda: discrim.moments("y ~ .", frame)


# ---- methods of fits


@watched_task("lda 1,000,000 x 20, predict")
def predict() -> Task:
    return fit_task("lda", simulate_table(2_000_000, 20, 10), lambda fit: fit.predict())


@watched_task("lda 1,000,000 x 20, predict_proba")
def predict_proba() -> Task:
    return fit_task("lda", simulate_table(2_000_000, 20, 10), lambda fit: fit.predict_proba())


@watched_task("lda 500,000 x 20, leave_one_out")
def lda_leave_one_out() -> Task:
    return fit_task("lda", simulate_table(1_000_000, 20, 10), lambda fit: fit.leave_one_out())


@watched_task("qda 200,000 x 40, leave_one_out")
def qda_leave_one_out() -> Task:
    return fit_task("qda", simulate_table(200_000, 40, 10), lambda fit: fit.leave_one_out())


@watched_task("lda shrunk 2,000 x 300, leave_one_out")
def shrunk_leave_one_out() -> Task:
    return fit_task(
        "lda", simulate_table(2_000, 300, 3), lambda fit: fit.leave_one_out(), covariance="shrunk"
    )


@watched_task("qda shrunk 2,000 x 200, leave_one_out")
def qda_shrunk_leave_one_out() -> Task:
    return fit_task(
        "qda", simulate_table(2_000, 200, 3), lambda fit: fit.leave_one_out(), covariance="shrunk"
    )


@watched_task("rda 3,000 x 40, leave_one_out")
def rda_leave_one_out() -> Task:
    return fit_task(
        "rda", simulate_table(3_000, 40, 5), lambda fit: fit.leave_one_out(), alpha=0.5, gamma=0.2
    )


@watched_task("knn 100,000 x 10, leave_one_out")
def knn_leave_one_out() -> Task:
    return fit_task("knn", simulate_table(100_000, 10, 3), lambda fit: fit.leave_one_out(), k=5)


@watched_task("knn 50,000 x 10, cross-validated")
def knn_folds() -> Task:
    import discrim

    return fit_task(
        "knn", simulate_table(50_000, 10, 3), lambda fit: discrim.cross_validate(fit, seed=1), k=5
    )


@watched_task("knn 20,000 x 10, cross-validated with k chosen in each fold")
def knn_folds_chosen() -> Task:
    import discrim

    return fit_task(
        "knn",
        simulate_table(20_000, 10, 3),
        lambda fit: discrim.cross_validate(fit, seed=1, nested=True),
        k=None,
    )


@watched_task("logistic on letters, cross-validated")
def logistic_folds() -> Task:
    import discrim

    return fit_task("logistic", letter_table(), lambda fit: discrim.cross_validate(fit, folds=5, seed=1))


@watched_task("lda 200,000 x 40, cross-validated 50 times")
def lda_folds() -> Task:
    import discrim

    return fit_task(
        "lda", simulate_table(200_000, 40, 5), lambda fit: discrim.cross_validate(fit, repeats=20, seed=1)
    )


@watched_task("qda 50,000 x 40, error_rates of all kinds")
def error_rates() -> Task:
    return fit_task(
        "qda",
        simulate_table(50_000, 40, 5),
        lambda fit: fit.error_rates(methods=["loo", "cv", "632+"], seed=1),
    )


@watched_task("knn 5,000 x 10, .632+")
def knn_bootstrap() -> Task:
    return fit_task(
        "knn", simulate_table(5_000, 10, 3), lambda fit: fit.error_rates(methods=["632+"], seed=1), k=5
    )


@watched_task("logistic 5,000 x 5 x 5, .632+")
def logistic_bootstrap() -> Task:
    return fit_task(
        "logistic", simulate_table(5_000, 5, 5), lambda fit: fit.error_rates(methods=["632+"], seed=1)
    )


@watched_task("lr_test by bootstrap, 20,000 x 10 x 3")
def lr_test() -> Task:
    import discrim

    frame = simulate_table(20_000, 10, 3)
    two = discrim.lda("y ~ .", data=frame), discrim.qda("y ~ .", data=frame)
    return lambda: discrim.lr_test(*two, bootstrap=1000, seed=1)


@watched_task("lr_test by permutation, 20,000 x 10 x 3")
def lr_test_permuted() -> Task:
    import discrim

    frame = simulate_table(20_000, 10, 3)
    two = discrim.lda("y ~ .", data=frame), discrim.qda("y ~ .", data=frame)
    return lambda: discrim.lr_test(*two, permutations=1000, seed=1)


@watched_task("stepwise by cross-validation, 20,000 x 20 x 3")
def stepwise() -> Task:
    import discrim

    frame = simulate_table(20_000, 20, 3)
    return lambda: discrim.stepwise("y ~ .", data=frame, criterion="cv", seed=1)


@watched_task("stepwise 5,000 x 300 x 3")
def stepwise_wilks() -> Task:
    import discrim

    frame = simulate_table(5_000, 300, 3)
    return lambda: discrim.stepwise("y ~ .", data=frame)


@watched_task("posterior_intervals by bootstrap, 20,000 x 10")
def intervals() -> Task:
    return fit_task(
        "lda",
        simulate_table(20_000, 10, 3),
        lambda fit: fit.posterior_intervals(method="bootstrap", replicates=500, seed=1),
    )


@watched_task("box_m 20,000 x 300 x 10")
def box_m() -> Task:
    import discrim

    frame = simulate_table(20_000, 300, 10)
    return lambda: discrim.box_m("y ~ .", data=frame)


@watched_task("lda of a callable, 2,000,000 x 20")
def from_callable() -> Task:
    import discrim

    parts = np.array_split(np.arange(2_000_000), 40)
    whole = simulate_table(2_000_000, 20, 5)
    frames = [whole.iloc[part] for part in parts]
    return lambda: discrim.lda("y ~ .", data=lambda: iter(frames))


@watched_task("logistic of a folder of Parquet, 1,000,000 x 10")
def from_parquet() -> Task:
    import discrim

    folder = Path(tempfile.mkdtemp())
    whole = simulate_table(1_000_000, 10, 3)
    for number in range(10):
        whole.iloc[number::10].to_parquet(folder / f"part{number}.parquet")
    return lambda: discrim.logistic("y ~ .", data=folder)


@watched_task("load of a file of knn, 500,000 x 40")
def load_knn() -> Task:
    import discrim

    path = Path(tempfile.mkdtemp()) / "fit.discrim"
    discrim.knn("y ~ .", data=simulate_table(500_000, 40, 3), k=5).save(path)
    return lambda: discrim.load(path)


@watched_task("save of knn, 500,000 x 40")
def save_knn() -> Task:
    path = Path(tempfile.mkdtemp()) / "fit.discrim"
    return fit_task("knn", simulate_table(500_000, 40, 3), lambda fit: fit.save(path), k=5)


@watched_task("lda of 200 classes, summary")
def many_classes() -> Task:
    return fit_task("lda", simulate_table(50_000, 40, 200), lambda fit: fit.summary().as_text())


@watched_task("qda of 200 classes, summary")
def many_covariances() -> Task:
    return fit_task("qda", simulate_table(50_000, 20, 200), lambda fit: fit.summary().as_text())


@watched_task("compare of four fits on folds, 50,000 x 20")
def compare() -> Task:
    import discrim

    frame = simulate_table(50_000, 20, 3)
    fits = [getattr(discrim, verb)("y ~ .", data=frame) for verb in ("lda", "qda", "naive_bayes", "logistic")]
    return lambda: discrim.compare(*fits, folds=10, seed=1).pairs()


@watched_task("qda of 800 classes, summary")
def many_summaries() -> Task:
    return fit_task("qda", simulate_table(50_000, 10, 800), lambda fit: fit.summary().as_text())


@watched_task("lda 20,000 x 1,500 x 5, summary")
def wide_summary() -> Task:
    return fit_task("lda", simulate_table(20_000, 1_500, 5), lambda fit: fit.summary().as_text())


@watched_task("lda 20,000 x 400 x 5, anova and partial tests")
def wide_tests() -> Task:
    return fit_task("lda", simulate_table(20_000, 400, 5), lambda fit: (fit.anova(), fit.partial_tests()))


@watched_task("stepwise 5,000 x 1,000 x 3")
def stepwise_wide() -> Task:
    import discrim

    frame = simulate_table(5_000, 1_000, 3)
    return lambda: discrim.stepwise("y ~ .", data=frame)


@watched_task("logistic 20,000 x 150 x 20")
def logistic_wide() -> Task:
    return fit_task("logistic", simulate_table(20_000, 150, 20))


@watched_task("logistic 20,000 x 40 x 5, bias reduced")
def logistic_reduced_wide() -> Task:
    return fit_task("logistic", simulate_table(20_000, 40, 5), bias_reduction=True)


@watched_task("logistic 5,000 x 20 x 3, profile intervals")
def logistic_profiles() -> Task:
    return fit_task("logistic", simulate_table(5_000, 10, 3), lambda fit: fit.conf_int(method="profile"))


@watched_task("logistic 20,000 x 100 x 3, tests by term")
def logistic_term_tests() -> Task:
    return fit_task("logistic", simulate_table(20_000, 100, 3), lambda fit: fit.lr_test(by="term"))


@watched_task("logistic of separated classes, 10,000 x 100 x 26")
def logistic_separated() -> Task:
    from tests.benchmarks.corners.logistic import normal_classes

    return fit_task("logistic", normal_classes(10_000, 100, 26, 2.0), separation="warn")


@watched_task("lda shrunk 5,000 x 500 x 3, by leave-one-out")
def shrinkage_chosen() -> Task:
    return fit_task("lda", simulate_table(5_000, 500, 3), covariance=Shrunk("loo"))


@watched_task("rda 20,000 x 300 x 5, choice")
def rda_wide() -> Task:
    return fit_task("rda", simulate_table(20_000, 300, 5))


@watched_task("rda 5,000 x 100 x 5, choice by leave-one-out")
def rda_wide_choice_leave_one_out() -> Task:
    return fit_task("rda", simulate_table(5_000, 100, 5), folds="loo")


@watched_task("knn 500,000 x 20 x 3, predict 50,000")
def knn_predict() -> Task:
    import discrim

    frame = simulate_table(500_000, 20, 3)
    fit = discrim.knn("y ~ .", data=frame, k=5)
    return lambda: fit.predict(frame.iloc[:20_000])


@watched_task("t 20,000 x 5, leave_one_out")
def student_leave_one_out() -> Task:
    return fit_task("lda", simulate_table(500, 5, 3), lambda fit: fit.leave_one_out(), covariance="t")


@watched_task("hyperplane 5,000 x 300 x 2")
def hyperplane_wide() -> Task:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5_000, 300))
    side = x @ rng.standard_normal(300)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=np.where(side > 0, "a", "b"))
    return fit_task("hyperplane", frame)


@watched_task("stability of the axes, 50,000 x 50 x 5")
def stability() -> Task:
    return fit_task("lda", simulate_table(50_000, 50, 5), lambda fit: fit.canonical().stability(seed=1))


@watched_task("typicality 500,000 x 20 x 10")
def typicality() -> Task:
    return fit_task("lda", simulate_table(500_000, 20, 10), lambda fit: fit.typicality())


@watched_task("posterior_intervals 200,000 x 20 x 5")
def intervals_delta() -> Task:
    return fit_task("qda", simulate_table(200_000, 20, 5), lambda fit: fit.posterior_intervals())


@watched_task("naive Bayes of texts, 1,000,000 rows")
def naive_bayes_texts() -> Task:
    frame = simulate_table(1_000_000, 6, 3)
    for name in frame.columns.drop("y")[:4]:
        frame[name] = np.char.add("level", (frame[name] * 3).astype(int).astype(str))
    return fit_task("naive_bayes", frame)


# ---- watching


def run_task(name: str) -> None:
    """Run a task; print "start" before it, and "end" or its error after it."""
    call = TASKS[name]()
    warnings.simplefilter("ignore")
    print("start", flush=True)
    try:
        call()
        print("end", flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0][:60]}", flush=True)


def _read_terminal(terminal: int) -> bytes:
    """Return the bytes written to a terminal; empty if no process has it open any more."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def watch_task(command: list[str], limit: float) -> tuple[float, float, float, bytes, str]:
    """Run a command on a pseudo-terminal and time its output.

    Parameters
    ----------
    command : list of str
    limit : float
        Seconds after which the task is stopped.

    Returns
    -------
    seconds, longest, since : float
        Duration of the task, duration of the longest silence, and its start.
    shown : bytes
        Output on the terminal.
    outcome : str
        "end", an error, "died" or "over the limit".
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    stdout = process.stdout.fileno() if process.stdout else -1
    start = last = time.monotonic()
    longest, silence_start, output, shown, outcome = 0.0, 0.0, "", b"", ""
    while not outcome:
        ready = select.select([master, stdout], [], [], 0.05)[0]
        now = time.monotonic()
        has_started = output != ""
        if master in ready:
            shown += _read_terminal(master) if has_started else _read_terminal(master)[:0]
        if has_started and ready:
            if now - last > longest:
                longest, silence_start = now - last, last - start
            last = now
        if stdout in ready:
            text = os.read(stdout, 4096).decode()
            output += text
            if not has_started:
                start = last = now
            outcome = output.partition("start\n")[2].strip() or ("" if text else "died")
        if has_started and now - start > limit:
            outcome = "over the limit"
    process.kill()
    process.wait()
    os.close(master)
    return now - start, max(longest, now - last), silence_start, shown, outcome


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.silence")
    parser.add_argument("--only", default="", help="watch the tasks whose names contain this text")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a task is stopped")
    parser.add_argument("--package", default=".", help="folder of the checkout whose discrim is watched")
    parser.add_argument("--show", action="store_true", help="also print the output of the task")
    options = parser.parse_args()
    start = f"import sys; sys.path[:0] = [{str(Path(options.package).resolve())!r}]; import discrim; "
    start += f"sys.path[:0] = [{str(ROOT)!r}]; from tests.benchmarks.silence import run_task; "
    for name in TASKS:
        if options.only not in name:
            continue
        command = [sys.executable, "-P", "-c", f"{start}run_task({name!r})"]
        seconds, longest, silence_start, shown, outcome = watch_task(command, options.limit)
        note = f"{'SILENT' if longest > 3 else '':6} {'' if outcome == 'end' else outcome}"
        print(
            f"{name:55} {seconds:7.1f} s, silent {longest:5.1f} s from {silence_start:5.1f} s {note}",
            flush=True,
        )
        if options.show:
            print(
                *[f"    {line}" for line in shown.decode(errors="replace").split("\r") if line.strip()],
                sep="\n",
            )


if __name__ == "__main__":
    main()
