"""The longest time for which a long task shows nothing on a terminal, each in a process of its own.

    python -m tests.benchmarks.silence [--only TEXT] [--limit SECONDS] [--package FOLDER]

A task starts with its call, once its data are made, and ends with its answer. Standard error is a terminal of
sixty columns; what it shows there is timed as it comes. `--package` is the folder of another checkout whose
`discrim` is watched.
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
from tests.benchmarks.timing import made

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "../shared/data"

Task = Callable[[], object]
TASKS: dict[str, Callable[[], Task]] = {}


def task(name: str) -> Callable[[Callable[[], Task]], Callable[[], Task]]:
    """Enter a task, a function that makes its data and gives what is watched."""

    def enter(make: Callable[[], Task]) -> Callable[[], Task]:
        TASKS[name] = make
        return make

    return enter


def table(n: int, p: int, k: int) -> pd.DataFrame:
    return made(n, p, k)[2]


def letters() -> pd.DataFrame:
    return pd.read_csv(DATA / "classic/mlbench_LetterRecognition.csv.gz")


def covertype(rows: int) -> pd.DataFrame:
    frame = pd.read_parquet(DATA / "large/covertype.parquet")
    return frame.sample(rows, random_state=0).reset_index(drop=True)


def fitted(
    verb: str, frame: pd.DataFrame, then: Callable[[Any], object] | None = None, **options: Any
) -> Task:
    """The fit of a verb if nothing follows it, else what follows, of a fit that was made before."""
    import discrim

    formula = "lettr ~ ." if "lettr" in frame else "y ~ ."
    fit = getattr(discrim, verb)
    if then is None:
        return lambda: fit(formula, data=frame, **options)
    made_before = fit(formula, data=frame, **options)
    return lambda: then(made_before)


# ---- fits


@task("mcd 100,000 x 4 x 3")
def mcd() -> Task:
    return fitted("lda", table(100_000, 4, 3), covariance="mcd")


@task("mcd by class 100,000 x 4 x 3")
def mcd_by_class() -> Task:
    return fitted("qda", table(100_000, 4, 3), covariance="mcd")


@task("mcd 2,000 x 200 x 2")
def mcd_wide() -> Task:
    return fitted("lda", table(2_000, 200, 2), covariance="mcd")


@task("mcd 200,000 x 10 x 3")
def mcd_larger() -> Task:
    return fitted("lda", table(200_000, 10, 3), covariance="mcd")


@task("t 500,000 x 10 x 3, nu chosen")
def student() -> Task:
    return fitted("lda", table(500_000, 10, 3), covariance=StudentT(nu=None))


@task("t by class 500,000 x 10 x 3, nu chosen")
def student_by_class() -> Task:
    return fitted("qda", table(500_000, 10, 3), covariance=StudentT(nu=None))


@task("t 1,000,000 x 10 x 3, nu given")
def student_given() -> Task:
    return fitted("lda", table(1_000_000, 10, 3), covariance=StudentT(nu=4))


@task("kernel naive Bayes 200,000 x 10 x 3, fit")
def kernel_fit() -> Task:
    return fitted("naive_bayes", table(200_000, 10, 3), kernel=True)


@task("kernel naive Bayes 200,000 x 10 x 3, predict")
def kernel_predict() -> Task:
    return fitted("naive_bayes", table(200_000, 10, 3), lambda fit: fit.predict(), kernel=True)


@task("kernel naive Bayes 200,000 x 10 x 3, leave_one_out")
def kernel_left_out() -> Task:
    return fitted("naive_bayes", table(200_000, 10, 3), lambda fit: fit.leave_one_out(), kernel=True)


@task("kernel naive Bayes of covertype, predict")
def kernel_covertype() -> Task:
    frame = pd.read_parquet(DATA / "large/covertype.parquet").rename(columns={"Cover_Type": "y"})
    kept = ["y", *frame.columns[:10]]
    return fitted("naive_bayes", frame[kept], lambda fit: fit.predict(), kernel=True)


@task("logistic on letters, fit")
def logistic() -> Task:
    return fitted("logistic", letters())


@task("logistic on letters, summary")
def logistic_summary() -> Task:
    return fitted("logistic", letters(), lambda fit: fit.summary().as_text())


@task("logistic on letters, anova")
def logistic_anova() -> Task:
    return fitted("logistic", letters(), lambda fit: fit.lr_test())


@task("logistic, bias reduced, 20,000 x 20 x 4")
def logistic_reduced() -> Task:
    return fitted("logistic", table(20_000, 20, 4), bias_reduction=True)


@task("logistic 1,000,000 x 20 x 3")
def logistic_rows() -> Task:
    return fitted("logistic", table(1_000_000, 20, 3))


@task("logistic 1,000,000 x 20 x 3, summary")
def logistic_rows_summary() -> Task:
    return fitted("logistic", table(1_000_000, 20, 3), lambda fit: fit.summary().as_text())


@task("perceptron on letters")
def perceptron() -> Task:
    return fitted("perceptron", letters())


@task("perceptron 20,000 x 57 x 2")
def perceptron_two() -> Task:
    return fitted("perceptron", table(20_000, 57, 2))


@task("perceptron 300 x 4 x 2, left out")
def perceptron_left_out() -> Task:
    return fitted("perceptron", table(2000, 4, 2), lambda fit: fit.leave_one_out())


@task("hyperplane 3,000 x 50 x 2")
def hyperplane() -> Task:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 50))
    frame = pd.DataFrame(x).add_prefix("x")
    side = x @ rng.standard_normal(50)
    frame["y"] = np.where(side > 0, "a", "b")
    return fitted("hyperplane", frame[np.abs(side) > 0.5].reset_index(drop=True))


@task("hyperplane of letters")
def hyperplane_many() -> Task:
    frame = letters()
    centres = frame.groupby("lettr").transform("mean")
    numbers = frame.columns.drop("lettr")
    frame[numbers] = centres[numbers] * 40 + frame[numbers] * 0.01
    return fitted("hyperplane", frame)


@task("knn 30,000 x 10 x 3, choice of k")
def knn_choice() -> Task:
    return fitted("knn", table(30_000, 10, 3), k=None)


@task("knn of covertype, 20,000 x 54, choice of k")
def knn_wide() -> Task:
    return fitted("knn", covertype(20_000).rename(columns={"Cover_Type": "y"}), k=None)


@task("rda 5,000 x 100 x 5, choice")
def rda() -> Task:
    return fitted("rda", table(5_000, 100, 5))


@task("rda 2,000 x 50 x 5, choice by leave-one-out")
def rda_left_out() -> Task:
    return fitted("rda", table(2_000, 50, 5), folds="loo")


@task("rda 62 x 2,000, choice")
def rda_genes() -> Task:
    held = np.load(DATA / "genes/dma_alon.npz", allow_pickle=False)
    x = held["X"] if "X" in held else held["x"]
    return fitted("rda", pd.DataFrame(x).add_prefix("x").assign(y=held["y"]))


@task("fda 10,000 x 20 x 5 by kernel ridge regression")
def fda() -> Task:
    from sklearn.kernel_ridge import KernelRidge

    return fitted("fda", table(10_000, 20, 5), engine=KernelRidge(kernel="rbf"))


@task("shrunken centroids 83 x 2,308, choice")
def shrunken() -> Task:
    held = np.load(DATA / "genes/islr_Khan.npz", allow_pickle=False)
    return fitted("shrunken_centroids", pd.DataFrame(held["X"]).add_prefix("x").assign(y=held["y"]))


@task("shrunken centroids 50,000 x 200 x 10, choice")
def shrunken_rows() -> Task:
    return fitted("shrunken_centroids", table(50_000, 200, 10))


@task("lda shrunk 5,000 x 500 x 3")
def shrunk() -> Task:
    return fitted("lda", table(5_000, 500, 3), covariance="shrunk")


@task("lda 20,000 x 1,500 x 5")
def lda_wide() -> Task:
    return fitted("lda", table(20_000, 1_500, 5))


@task("qda 20,000 x 500 x 10")
def qda_wide() -> Task:
    return fitted("qda", table(20_000, 500, 10))


@task("moments of 50,000 x 1,200 x 4")
def moments() -> Task:
    import discrim

    frame = table(50_000, 1_200, 4)
    return lambda: discrim.moments("y ~ .", frame)


# ---- what is asked of fits


@task("lda 1,000,000 x 20, predict")
def predict() -> Task:
    return fitted("lda", table(2_000_000, 20, 10), lambda fit: fit.predict())


@task("lda 1,000,000 x 20, predict_proba")
def predict_proba() -> Task:
    return fitted("lda", table(2_000_000, 20, 10), lambda fit: fit.predict_proba())


@task("lda 500,000 x 20, leave_one_out")
def lda_left_out() -> Task:
    return fitted("lda", table(1_000_000, 20, 10), lambda fit: fit.leave_one_out())


@task("qda 200,000 x 40, leave_one_out")
def qda_left_out() -> Task:
    return fitted("qda", table(200_000, 40, 10), lambda fit: fit.leave_one_out())


@task("lda shrunk 2,000 x 300, leave_one_out")
def shrunk_left_out() -> Task:
    return fitted("lda", table(2_000, 300, 3), lambda fit: fit.leave_one_out(), covariance="shrunk")


@task("qda shrunk 2,000 x 200, leave_one_out")
def qda_shrunk_left_out() -> Task:
    return fitted("qda", table(2_000, 200, 3), lambda fit: fit.leave_one_out(), covariance="shrunk")


@task("rda 3,000 x 40, leave_one_out")
def rda_rows_left_out() -> Task:
    return fitted("rda", table(3_000, 40, 5), lambda fit: fit.leave_one_out(), alpha=0.5, gamma=0.2)


@task("knn 100,000 x 10, leave_one_out")
def knn_left_out() -> Task:
    return fitted("knn", table(100_000, 10, 3), lambda fit: fit.leave_one_out(), k=5)


@task("knn 50,000 x 10, cross-validated")
def knn_folds() -> Task:
    import discrim

    return fitted("knn", table(50_000, 10, 3), lambda fit: discrim.cross_validate(fit, seed=1), k=5)


@task("knn 20,000 x 10, cross-validated and chosen anew")
def knn_folds_chosen() -> Task:
    import discrim

    return fitted(
        "knn", table(20_000, 10, 3), lambda fit: discrim.cross_validate(fit, seed=1, nested=True), k=None
    )


@task("logistic on letters, cross-validated")
def logistic_folds() -> Task:
    import discrim

    return fitted("logistic", letters(), lambda fit: discrim.cross_validate(fit, folds=5, seed=1))


@task("lda 200,000 x 40, cross-validated 50 times")
def lda_folds() -> Task:
    import discrim

    return fitted("lda", table(200_000, 40, 5), lambda fit: discrim.cross_validate(fit, repeats=20, seed=1))


@task("qda 50,000 x 40, error_rates of all kinds")
def error_rates() -> Task:
    return fitted(
        "qda", table(50_000, 40, 5), lambda fit: fit.error_rates(methods=["loo", "cv", "632+"], seed=1)
    )


@task("knn 5,000 x 10, .632+")
def knn_bootstrap() -> Task:
    return fitted("knn", table(5_000, 10, 3), lambda fit: fit.error_rates(methods=["632+"], seed=1), k=5)


@task("logistic 5,000 x 5 x 5, .632+")
def logistic_bootstrap() -> Task:
    return fitted("logistic", table(5_000, 5, 5), lambda fit: fit.error_rates(methods=["632+"], seed=1))


@task("lr_test by bootstrap, 20,000 x 10 x 3")
def lr_test() -> Task:
    import discrim

    frame = table(20_000, 10, 3)
    two = discrim.lda("y ~ .", data=frame), discrim.qda("y ~ .", data=frame)
    return lambda: discrim.lr_test(*two, bootstrap=1000, seed=1)


@task("lr_test by permutation, 20,000 x 10 x 3")
def lr_test_permuted() -> Task:
    import discrim

    frame = table(20_000, 10, 3)
    two = discrim.lda("y ~ .", data=frame), discrim.qda("y ~ .", data=frame)
    return lambda: discrim.lr_test(*two, permutations=1000, seed=1)


@task("stepwise by cross-validation, 20,000 x 20 x 3")
def stepwise() -> Task:
    import discrim

    frame = table(20_000, 20, 3)
    return lambda: discrim.stepwise("y ~ .", data=frame, criterion="cv", seed=1)


@task("stepwise 5,000 x 300 x 3")
def stepwise_wilks() -> Task:
    import discrim

    frame = table(5_000, 300, 3)
    return lambda: discrim.stepwise("y ~ .", data=frame)


@task("posterior_intervals by bootstrap, 20,000 x 10")
def intervals() -> Task:
    return fitted(
        "lda",
        table(20_000, 10, 3),
        lambda fit: fit.posterior_intervals(method="bootstrap", replicates=500, seed=1),
    )


@task("box_m 20,000 x 300 x 10")
def box_m() -> Task:
    import discrim

    frame = table(20_000, 300, 10)
    return lambda: discrim.box_m("y ~ .", data=frame)


@task("lda of a callable, 2,000,000 x 20")
def from_callable() -> Task:
    import discrim

    parts = np.array_split(np.arange(2_000_000), 40)
    whole = table(2_000_000, 20, 5)
    frames = [whole.iloc[part] for part in parts]
    return lambda: discrim.lda("y ~ .", data=lambda: iter(frames))


@task("logistic of a folder of Parquet, 1,000,000 x 10")
def from_parquet() -> Task:
    import discrim

    folder = Path(tempfile.mkdtemp())
    whole = table(1_000_000, 10, 3)
    for number in range(10):
        whole.iloc[number::10].to_parquet(folder / f"part{number}.parquet")
    return lambda: discrim.logistic("y ~ .", data=folder)


@task("load of a file of knn, 500,000 x 40")
def load() -> Task:
    import discrim

    path = Path(tempfile.mkdtemp()) / "fit.discrim"
    discrim.knn("y ~ .", data=table(500_000, 40, 3), k=5).save(path)
    return lambda: discrim.load(path)


@task("save of knn, 500,000 x 40")
def save() -> Task:
    path = Path(tempfile.mkdtemp()) / "fit.discrim"
    return fitted("knn", table(500_000, 40, 3), lambda fit: fit.save(path), k=5)


@task("lda of 200 classes, summary")
def many_classes() -> Task:
    return fitted("lda", table(50_000, 40, 200), lambda fit: fit.summary().as_text())


@task("qda of 200 classes, summary")
def many_covariances() -> Task:
    return fitted("qda", table(50_000, 20, 200), lambda fit: fit.summary().as_text())


@task("compare of four fits on folds, 50,000 x 20")
def compare() -> Task:
    import discrim

    frame = table(50_000, 20, 3)
    fits = [getattr(discrim, verb)("y ~ .", data=frame) for verb in ("lda", "qda", "naive_bayes", "logistic")]
    return lambda: discrim.compare(*fits, folds=10, seed=1).pairs()


@task("qda of 800 classes, summary")
def many_summaries() -> Task:
    return fitted("qda", table(50_000, 10, 800), lambda fit: fit.summary().as_text())


@task("lda 20,000 x 1,500 x 5, summary")
def wide_summary() -> Task:
    return fitted("lda", table(20_000, 1_500, 5), lambda fit: fit.summary().as_text())


@task("lda 20,000 x 400 x 5, anova and partial tests")
def wide_tests() -> Task:
    return fitted("lda", table(20_000, 400, 5), lambda fit: (fit.anova(), fit.partial_tests()))


@task("stepwise 5,000 x 1,000 x 3")
def stepwise_wide() -> Task:
    import discrim

    frame = table(5_000, 1_000, 3)
    return lambda: discrim.stepwise("y ~ .", data=frame)


@task("logistic 20,000 x 150 x 20")
def logistic_wide() -> Task:
    return fitted("logistic", table(20_000, 150, 20))


@task("logistic 20,000 x 40 x 5, bias reduced")
def logistic_reduced_wide() -> Task:
    return fitted("logistic", table(20_000, 40, 5), bias_reduction=True)


@task("logistic 5,000 x 20 x 3, profile intervals")
def profiles() -> Task:
    return fitted("logistic", table(5_000, 10, 3), lambda fit: fit.conf_int(method="profile"))


@task("logistic 20,000 x 100 x 3, tests by term")
def ratios() -> Task:
    return fitted("logistic", table(20_000, 100, 3), lambda fit: fit.lr_test(by="term"))


@task("logistic of separated classes, 10,000 x 100 x 26")
def separated() -> Task:
    from tests.benchmarks.corners.logistic import normal_classes

    return fitted("logistic", normal_classes(10_000, 100, 26, 2.0), separation="warn")


@task("lda shrunk 5,000 x 500 x 3, by leave-one-out")
def shrinkage_chosen() -> Task:
    return fitted("lda", table(5_000, 500, 3), covariance=Shrunk("loo"))


@task("rda 20,000 x 300 x 5, choice")
def rda_wide() -> Task:
    return fitted("rda", table(20_000, 300, 5))


@task("rda 5,000 x 100 x 5, choice by leave-one-out")
def rda_wide_left_out() -> Task:
    return fitted("rda", table(5_000, 100, 5), folds="loo")


@task("knn 500,000 x 20 x 3, predict 50,000")
def knn_predict() -> Task:
    import discrim

    frame = table(500_000, 20, 3)
    fit = discrim.knn("y ~ .", data=frame, k=5)
    return lambda: fit.predict(frame.iloc[:20_000])


@task("t 20,000 x 5, leave_one_out")
def student_left_out() -> Task:
    return fitted("lda", table(500, 5, 3), lambda fit: fit.leave_one_out(), covariance="t")


@task("hyperplane 5,000 x 300 x 2")
def hyperplane_wide() -> Task:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5_000, 300))
    side = x @ rng.standard_normal(300)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=np.where(side > 0, "a", "b"))
    return fitted("hyperplane", frame)


@task("stability of the axes, 50,000 x 50 x 5")
def stability() -> Task:
    return fitted("lda", table(50_000, 50, 5), lambda fit: fit.canonical().stability(seed=1))


@task("typicality 500,000 x 20 x 10")
def typicality() -> Task:
    return fitted("lda", table(500_000, 20, 10), lambda fit: fit.typicality())


@task("posterior_intervals 200,000 x 20 x 5")
def intervals_delta() -> Task:
    return fitted("qda", table(200_000, 20, 5), lambda fit: fit.posterior_intervals())


@task("naive Bayes of texts, 1,000,000 rows")
def texts() -> Task:
    frame = table(1_000_000, 6, 3)
    for name in frame.columns.drop("y")[:4]:
        frame[name] = np.char.add("level", (frame[name] * 3).astype(int).astype(str))
    return fitted("naive_bayes", frame)


# ---- watching


def run(name: str) -> None:
    """Do a task, with lines on standard output that say when it starts and when it has ended."""
    begin = TASKS[name]()
    warnings.simplefilter("ignore")
    print("start", flush=True)
    try:
        begin()
        print("end", flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0][:60]}", flush=True)


def _read(terminal: int) -> bytes:
    """What was written; nothing where no process has the terminal any more."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def watched(command: list[str], limit: float) -> tuple[float, float, float, bytes, str]:
    """Seconds of a task, of the longest silence and when that began, what was shown, and how it ended."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    said = process.stdout.fileno() if process.stdout else -1
    start = last = time.monotonic()
    longest, since, heard, shown, ended = 0.0, 0.0, "", b"", ""
    while not ended:
        ready = select.select([ours, said], [], [], 0.05)[0]
        now = time.monotonic()
        began = heard != ""
        if ours in ready:
            shown += _read(ours) if began else _read(ours)[:0]
        if began and ready:
            if now - last > longest:
                longest, since = now - last, last - start
            last = now
        if said in ready:
            text = os.read(said, 4096).decode()
            heard += text
            if not began:
                start = last = now
            ended = heard.partition("start\n")[2].strip() or ("" if text else "died")
        if began and now - start > limit:
            ended = "over the limit"
    process.kill()
    process.wait()
    os.close(ours)
    return now - start, max(longest, now - last), since, shown, ended


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.silence")
    parser.add_argument("--only", default="", help="watch the tasks whose name holds this text")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a task is ended")
    parser.add_argument("--package", default=".", help="folder of the checkout whose discrim is watched")
    parser.add_argument("--show", action="store_true", help="print what was shown, too")
    asked = parser.parse_args()
    start = f"import sys; sys.path[:0] = [{str(Path(asked.package).resolve())!r}]; import discrim; "
    start += f"sys.path[:0] = [{str(ROOT)!r}]; from tests.benchmarks.silence import run; "
    for name in TASKS:
        if asked.only not in name:
            continue
        command = [sys.executable, "-P", "-c", f"{start}run({name!r})"]
        seconds, longest, since, shown, ended = watched(command, asked.limit)
        said = f"{'SILENT' if longest > 3 else '':6} {'' if ended == 'end' else ended}"
        print(f"{name:55} {seconds:7.1f} s, silent {longest:5.1f} s from {since:5.1f} s {said}", flush=True)
        if asked.show:
            print(
                *[f"    {line}" for line in shown.decode(errors="replace").split("\r") if line.strip()],
                sep="\n",
            )


if __name__ == "__main__":
    main()
