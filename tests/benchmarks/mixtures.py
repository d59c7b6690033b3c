"""Mixtures of normals by class beside scikit-learn's GaussianMixture, on the same arrays in one run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, medians, row

__all__ = ["mixtures"]


def clustered(n: int, p: int, k: int, components: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Rows of classes that consist of clusters, which overlap, each with a covariance of its own."""
    rng = np.random.default_rng(20261123)
    codes, cluster = rng.integers(0, k, n), rng.integers(0, components, n)
    roots = np.eye(p) + 0.2 * rng.standard_normal((k, components, p, p))
    centres = rng.standard_normal((k, components, p))
    x = np.einsum("ij,ijk->ik", rng.standard_normal((n, p)), roots[codes, cluster]) + centres[codes, cluster]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    frame["y"] = codes
    return x, codes, frame


def mixtures(n: int, p: int, k: int, components: int, repeat: int) -> None:
    """To the same tolerance, from one start and from ten; and scikit-learn at its own, which ends before."""
    from sklearn.mixture import GaussianMixture

    from discrim import mixture

    x, codes, frame = clustered(n, p, k, components)
    by_class = [x[codes == c] for c in range(k)]

    def peer(**options: float) -> list[GaussianMixture]:
        # What is added to its variances by default is no maximum of the likelihood.
        return [
            GaussianMixture(components, reg_covar=0.0, random_state=0, **options).fit(own) for own in by_class
        ]

    exact = {"tol": 1e-8, "max_iter": 1000}
    runs: dict[str, Run] = {
        "ours": lambda: mixture("y ~ .", frame, components=components),
        "ours, one start": lambda: mixture("y ~ .", frame, components=components, starts=1),
        "scikit-learn, one start": lambda: peer(**exact),
        "scikit-learn, ten starts": lambda: peer(**exact, n_init=10),
        "scikit-learn's tolerance": lambda: peer(),
    }
    taken = medians(runs, repeat)
    task = f"mixture {n:,} x {p} x {k}, {components} each"
    print(task, " ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items()), sep=": ")
    ours, theirs = taken["ours"], taken["scikit-learn, one start"]
    row(task, "one start: over scikit-learn's", taken["ours, one start"] / theirs, 1)
    row(task, "ten starts: over scikit-learn's one", ours / theirs, 1)
    row(task, "ten starts: over scikit-learn's ten", ours / taken["scikit-learn, ten starts"], 1)
    found = mixture("y ~ .", frame, components=components).llf_given
    best = sum(len(own) * fit.score(own) for own, fit in zip(by_class, peer(**exact, n_init=10), strict=True))
    row(task, "log-likelihood less that of scikit-learn's ten", found - best, -1e-3, at_least=True)
