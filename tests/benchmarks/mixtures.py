"""Compare mixtures of normals with the GaussianMixture of scikit-learn on the same arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.benchmarks.searches.tables import processor_seconds
from tests.benchmarks.timing import Run, report_figure

__all__ = ["compare_mixtures"]


def simulate_clusters(n: int, p: int, k: int, components: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Simulate classes of overlapping clusters with different covariances."""
    rng = np.random.default_rng(20261123)
    codes, cluster = rng.integers(0, k, n), rng.integers(0, components, n)
    roots = np.eye(p) + 0.2 * rng.standard_normal((k, components, p, p))
    centres = rng.standard_normal((k, components, p))
    x = np.einsum("ij,ijk->ik", rng.standard_normal((n, p)), roots[codes, cluster]) + centres[codes, cluster]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    frame["y"] = codes
    return x, codes, frame


def compare_mixtures(n: int, p: int, k: int, components: int, repeat: int) -> None:
    """Compare mixtures from one and ten starts with scikit-learn, at our tolerance and at its own.

    Times are processor seconds with one BLAS thread.
    """
    from sklearn.mixture import GaussianMixture

    from discrim import mixture

    x, codes, frame = simulate_clusters(n, p, k, components)
    by_class = [x[codes == c] for c in range(k)]

    def peer(**options: float) -> list[GaussianMixture]:
        # By default scikit-learn adds a constant to the variances, which does not maximize the likelihood.
        return [
            GaussianMixture(components, reg_covar=0.0, random_state=0, **options).fit(rows)
            for rows in by_class
        ]

    exact = {"tol": 1e-8, "max_iter": 1000}
    runs: dict[str, Run] = {
        "ours": lambda: mixture("y ~ .", frame, components=components),
        "ours, one start": lambda: mixture("y ~ .", frame, components=components, starts=1),
        "scikit-learn, one start": lambda: peer(**exact),
        "scikit-learn, ten starts": lambda: peer(**exact, n_init=10),
        "scikit-learn's tolerance": lambda: peer(),
    }
    times = processor_seconds(runs, repeat)
    task = f"mixture {n:,} x {p} x {k}, {components} each"
    print(task, " ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items()), sep=": ")
    ours, theirs = times["ours"], times["scikit-learn, one start"]
    report_figure(task, "one start: over scikit-learn's", times["ours, one start"] / theirs, 1)
    report_figure(task, "ten starts: over scikit-learn's one", ours / theirs, 0.5)
    report_figure(task, "ten starts: over scikit-learn's ten", ours / times["scikit-learn, ten starts"], 0.5)
    log_likelihood = mixture("y ~ .", frame, components=components).llf_given
    best = sum(
        len(rows) * fit.score(rows) for rows, fit in zip(by_class, peer(**exact, n_init=10), strict=True)
    )
    report_figure(
        task, "log-likelihood less that of scikit-learn's ten", log_likelihood - best, -1e-3, at_least=True
    )
