"""What is asked of a fit: folds, leave-one-out, resampled tests, choice of variables; beside refits."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, made, medians, row


def error_rates(n: int, p: int, k: int, repeat: int) -> None:
    from discrim import lda

    _, _, frame = made(n, p, k)
    fit = lda("y ~ .", data=frame)

    def left_out() -> None:
        fit._fit.cache.clear()
        fit.error_rates(["loo"])

    runs: dict[str, Run] = {
        "fit": lambda: lda("y ~ .", data=frame),
        "cv": lambda: fit.error_rates(["cv"], seed=0),
        "loo": left_out,
    }
    taken = medians(runs, repeat)
    task = f"error rates {n:,} x {p} x {k}"
    row(task, "10 folds over the fit", taken["cv"] / taken["fit"], 4)
    row(task, "leave-one-out over the fit", taken["loo"] / taken["fit"], 4)


def resampled_ratio(n: int, p: int, k: int, repeat: int, replicates: int = 999) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    from discrim import lda, lr_test, qda

    x, codes, frame = made(n, p, k)
    pair = lda("y ~ .", data=frame), qda("y ~ .", data=frame)

    def refits() -> None:
        # A twentieth of them, counted twenty times below.
        for _ in range(replicates // 20):
            LinearDiscriminantAnalysis(solver="lsqr").fit(x, codes)
            QuadraticDiscriminantAnalysis().fit(x, codes)

    runs: dict[str, Run] = {
        "bootstrap": lambda: lr_test(*pair, bootstrap=replicates, seed=0),
        "permutations": lambda: lr_test(*pair, permutations=replicates, seed=0),
        "refits": refits,
    }
    taken = medians(runs, repeat)
    task = f"LR test {n:,} x {p} x {k}, {replicates}"
    for name in ("bootstrap", "permutations"):
        ratio = 20 * taken["refits"] / taken[name]
        row(task, f"{name}: times faster than refits", ratio, 10, at_least=True)


def stepwise_choice(n: int, p: int, repeat: int) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from discrim import stepwise

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, n)
    x = rng.standard_normal((n, p)) + rng.standard_normal((4, p))[codes] * (np.arange(p) < 30) * 0.3
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    taken = medians({"stepwise": lambda: stepwise("y ~ .", frame, enter=0.01, stay=0.01)}, repeat)
    steps = len(stepwise("y ~ .", frame, enter=0.01, stay=0.01).steps)
    refits = 0.0
    for chosen in range(1, steps + 2):
        # One candidate of each step is timed and stands for all of them.
        start = time.perf_counter()
        LinearDiscriminantAnalysis(solver="lsqr").fit(x[:, :chosen], codes)
        refits += (time.perf_counter() - start) * (p - chosen + 1)
    task = f"stepwise {n:,} x {p}, {steps} steps"
    ratio = refits / taken["stepwise"]
    row(task, "times faster than refitting candidates", ratio, 100, at_least=True)


def logistic_fit(n: int, p: int, k: int, repeat: int) -> None:
    import tracemalloc

    import statsmodels.api as sm
    from sklearn.linear_model import LogisticRegression

    from discrim import logistic

    rng = np.random.default_rng(0)
    codes = rng.integers(0, k, n)
    x = rng.standard_normal((n, p)) + 0.4 * rng.standard_normal((k, p))[codes]
    # Every other column is skewed: classes of one normal law would be LDA's, where the search begins.
    x[:, ::2] = np.exp(0.5 * x[:, ::2])
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    design = sm.add_constant(x)
    fit = logistic("y ~ .", frame)

    def theirs() -> object:
        model = sm.Logit(codes, design) if k == 2 else sm.MNLogit(codes, design)
        found = model.fit(disp=0, method="newton")
        return found.llf if found.bse is not None else None

    def solver(name: str, tol: float) -> LogisticRegression:
        return LogisticRegression(C=np.inf, solver=name, tol=tol, max_iter=10_000).fit(x, codes)

    def shortfall(peer: LogisticRegression) -> float:
        own = peer.predict_log_proba(x)[np.arange(n), codes].sum()
        return float((fit.llf - own) / abs(fit.llf))

    runs: dict[str, Run] = {"ours": lambda: logistic("y ~ .", frame).bse, "statsmodels": theirs}
    for name in ("lbfgs", "newton-cg", "newton-cholesky"):
        # The loosest tolerance that brings a solver to our likelihood.
        reached = [tol for tol in 10.0 ** -np.arange(2, 11) if shortfall(solver(name, tol)) <= 1e-8]
        if reached:
            runs[name] = lambda name=name, tol=reached[0]: solver(name, tol)
    taken = medians(runs, repeat)
    tracemalloc.start()
    runs["ours"]()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    task = f"logistic {n:,} x {p} x {k}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    row(task, "llf below statsmodels', relative", (theirs() - fit.llf) / abs(fit.llf), 1e-8)
    times = taken["statsmodels"] / taken["ours"]
    row(task, "with SE: times faster than statsmodels", times, 3, at_least=True)
    fastest = min(taken[name] for name in runs if name not in ("ours", "statsmodels"))
    row(task, "over scikit-learn's fastest, no SE", taken["ours"] / fastest, 1)
    allowed = 0.1 * x.nbytes + 8 * (p * (k - 1)) ** 2
    row(task, "peak memory over a tenth + (p(K-1))^2", peak / allowed, 1)


def separating_plane(n: int, p: int, repeat: int) -> None:
    from discrim import hyperplane

    rng = np.random.default_rng(1)
    normal = rng.standard_normal(p) / np.sqrt(p)
    x = rng.standard_normal((n, p))
    value = x @ normal
    x += np.outer(0.05 * np.sign(value), normal)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=value > 0)
    taken = medians({"ours": lambda: hyperplane("y ~ .", frame)}, repeat)
    task = f"hyperplane {n:,} x {p}"
    row(task, "seconds", taken["ours"], 5)
    row(task, "KKT residual", hyperplane("y ~ .", frame).kkt, 1e-10)
