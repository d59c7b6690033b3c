"""Time error rates, resampled tests, variable selection, logistic regression and separating hyperplanes."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes


def time_error_rates(n: int, p: int, k: int, repeat: int) -> None:
    """Compare the time of error rates by cross-validation and leave-one-out with that of a fit."""
    from discrim import lda

    _, _, frame = simulate_classes(n, p, k)
    fit = lda("y ~ .", data=frame)

    def leave_one_out() -> None:
        fit._fit.cache.clear()
        fit.error_rates(["loo"])

    runs: dict[str, Run] = {
        "fit": lambda: lda("y ~ .", data=frame),
        "cv": lambda: fit.error_rates(["cv"], seed=0),
        "loo": leave_one_out,
    }
    times = median_seconds(runs, repeat)
    task = f"error rates {n:,} x {p} x {k}"
    report_figure(task, "10 folds over the fit", times["cv"] / times["fit"], 4)
    report_figure(task, "leave-one-out over the fit", times["loo"] / times["fit"], 4)


def compare_resampled_lr_test(n: int, p: int, k: int, repeat: int, replicates: int = 999) -> None:
    """Compare bootstrap and permutation likelihood ratio tests with refits of scikit-learn."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    from discrim import lda, lr_test, qda

    x, codes, frame = simulate_classes(n, p, k)
    pair = lda("y ~ .", data=frame), qda("y ~ .", data=frame)

    def refits() -> None:
        # A twentieth of the refits; their time is multiplied by twenty below.
        for _ in range(replicates // 20):
            LinearDiscriminantAnalysis(solver="lsqr").fit(x, codes)
            QuadraticDiscriminantAnalysis().fit(x, codes)

    runs: dict[str, Run] = {
        "bootstrap": lambda: lr_test(*pair, bootstrap=replicates, seed=0),
        "permutations": lambda: lr_test(*pair, permutations=replicates, seed=0),
        "refits": refits,
    }
    times = median_seconds(runs, repeat)
    task = f"LR test {n:,} x {p} x {k}, {replicates}"
    for name in ("bootstrap", "permutations"):
        ratio = 20 * times["refits"] / times[name]
        report_figure(task, f"{name}: times faster than refits", ratio, 10, at_least=True)


def compare_stepwise(n: int, p: int, repeat: int) -> None:
    """Compare stepwise selection with refits of scikit-learn for each candidate of each step."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from discrim import stepwise

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, n)
    x = rng.standard_normal((n, p)) + rng.standard_normal((4, p))[codes] * (np.arange(p) < 30) * 0.3
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    times = median_seconds({"stepwise": lambda: stepwise("y ~ .", frame, enter=0.01, stay=0.01)}, repeat)
    steps = len(stepwise("y ~ .", frame, enter=0.01, stay=0.01).steps)
    refits = 0.0
    for chosen in range(1, steps + 2):
        # All candidates of a step take the same time, so that one is timed.
        start = time.perf_counter()
        LinearDiscriminantAnalysis(solver="lsqr").fit(x[:, :chosen], codes)
        refits += (time.perf_counter() - start) * (p - chosen + 1)
    task = f"stepwise {n:,} x {p}, {steps} steps"
    ratio = refits / times["stepwise"]
    report_figure(task, "times faster than refitting candidates", ratio, 100, at_least=True)


def compare_logistic(n: int, p: int, k: int, repeat: int) -> None:
    """Compare logistic regression and its standard errors with statsmodels and scikit-learn."""
    import tracemalloc

    import statsmodels.api as sm
    from sklearn.linear_model import LogisticRegression

    from discrim import logistic

    rng = np.random.default_rng(0)
    codes = rng.integers(0, k, n)
    x = rng.standard_normal((n, p)) + 0.4 * rng.standard_normal((k, p))[codes]
    # Every other column is skewed: with normal classes the search would start at the solution, that of LDA.
    x[:, ::2] = np.exp(0.5 * x[:, ::2])
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    design = sm.add_constant(x)
    fit = logistic("y ~ .", frame)

    def fit_statsmodels() -> object:
        model = sm.Logit(codes, design) if k == 2 else sm.MNLogit(codes, design)
        result = model.fit(disp=0, method="newton")
        return result.llf if result.bse is not None else None

    def solver(name: str, tol: float) -> LogisticRegression:
        return LogisticRegression(C=np.inf, solver=name, tol=tol, max_iter=10_000).fit(x, codes)

    def shortfall(peer: LogisticRegression) -> float:
        log_likelihood = peer.predict_log_proba(x)[np.arange(n), codes].sum()
        return float((fit.llf - log_likelihood) / abs(fit.llf))

    runs: dict[str, Run] = {"ours": lambda: logistic("y ~ .", frame).bse, "statsmodels": fit_statsmodels}
    for name in ("lbfgs", "newton-cg", "newton-cholesky"):
        # The loosest tolerance at which the solver reaches our likelihood.
        reached = [tol for tol in 10.0 ** -np.arange(2, 11) if shortfall(solver(name, tol)) <= 1e-8]
        if reached:
            runs[name] = lambda name=name, tol=reached[0]: solver(name, tol)
    times = median_seconds(runs, repeat)
    tracemalloc.start()
    runs["ours"]()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    task = f"logistic {n:,} x {p} x {k}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    report_figure(
        task, "llf below statsmodels', relative", (fit_statsmodels() - fit.llf) / abs(fit.llf), 1e-8
    )
    ratio = times["statsmodels"] / times["ours"]
    report_figure(task, "with SE: times faster than statsmodels", ratio, 3, at_least=True)
    fastest = min(times[name] for name in runs if name not in ("ours", "statsmodels"))
    report_figure(task, "over scikit-learn's fastest, no SE", times["ours"] / fastest, 1)
    allowed = 0.1 * x.nbytes + 8 * (p * (k - 1)) ** 2
    report_figure(task, "peak memory over a tenth + (p(K-1))^2", peak / allowed, 1)


def time_hyperplane(n: int, p: int, repeat: int) -> None:
    """Time the separating hyperplane of two separable classes."""
    from discrim import hyperplane

    rng = np.random.default_rng(1)
    normal = rng.standard_normal(p) / np.sqrt(p)
    x = rng.standard_normal((n, p))
    value = x @ normal
    x += np.outer(0.05 * np.sign(value), normal)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=value > 0)
    times = median_seconds({"ours": lambda: hyperplane("y ~ .", frame)}, repeat)
    task = f"hyperplane {n:,} x {p}"
    report_figure(task, "seconds", times["ours"], 5)
    report_figure(task, "KKT residual", hyperplane("y ~ .", frame).kkt, 1e-10)
