"""Coverage of the pointwise limits of the Q-Q plot of squared distances, `plot("qq")`.

    python -m tests.benchmarks.distance_limits [--samples N] [--seed N]

Normal samples are drawn, their squared distances to the class means are sorted, and for each rank the
proportion
of samples in which the distance is within its limits is counted. Distances do not depend on the means and the
covariance, which are zero and the identity here. A row of the table is a design: rows of a class, columns and
classes, and whether the covariance is pooled, of each class, or of a fit to other rows. `mean`, `min` and
`max`
are over the ranks, `all` is the proportion of samples in which all ranks are within their limits, and
`independent` is the mean with the limits of independent distances. A proportion of .95 has a standard error
of
sqrt(.95 x .05 / samples).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from discrim.inference.mean_differences import distance_quantiles

__all__ = ["DESIGNS", "coverage"]

Floats = NDArray[np.float64]

DESIGNS = {
    "by class": [(5, 2, 1), (10, 1, 1), (10, 4, 1), (20, 15, 1), (68, 2, 1), (68, 4, 1), (200, 20, 1)],
    "pooled": [(5, 3, 3), (10, 5, 20), (20, 4, 2), (20, 30, 2), (50, 4, 3)],
    "new rows": [(20, 4, 1), (10, 4, 3), (50, 4, 3), (200, 20, 1)],
}
"""Rows of a class, columns and classes by kind of distance; for new rows, 150 are drawn."""

NEW_ROWS = 150


def coverage(
    kind: str, rows: int, columns: int, classes: int, samples: int, seed: int
) -> tuple[pd.Series, Floats]:
    """Simulate one design.

    Parameters
    ----------
    kind : {"by class", "pooled", "new rows"}
    rows, columns, classes : int
    samples, seed : int

    Returns
    -------
    Series, (n,) float
        A row of the table, and the coverage by rank.
    """
    rng = np.random.default_rng(seed)
    df = float(classes * (rows - 1))
    is_new = kind == "new rows"
    n = NEW_ROWS if is_new else rows
    squared = np.empty((samples, n))
    for each in squared:
        x = rng.standard_normal((classes, rows, columns))
        means = x.mean(axis=1, keepdims=True)
        within = (x - means).reshape(-1, columns)
        deviations = rng.standard_normal((n, columns)) - means[0] if is_new else within[:rows]
        root = np.linalg.qr(within, mode="r")
        each[:] = np.sort((np.linalg.solve(root.T, deviations.T) ** 2).sum(axis=0)) * df
    table = distance_quantiles(squared[0], columns, df, n_fitted=float(rows) if is_new else None)
    within_limits = (squared >= table["low"].to_numpy()) & (squared <= table["high"].to_numpy())
    by_rank = within_limits.mean(axis=0)
    # Distribution of the distances if they were independent.
    rank = np.arange(1, n + 1)
    distribution = scipy.stats.beta(columns / 2, (df - columns) / 2, scale=df * (rows - 1) / rows)
    if is_new:
        df2 = df - columns + 1
        distribution = scipy.stats.f(columns, df2, scale=(rows + 1) / rows * columns * df / df2)
    low, high = (distribution.ppf(scipy.stats.beta.ppf(end, rank, n + 1 - rank)) for end in (0.025, 0.975))
    line = {
        "mean": by_rank.mean(),
        "min": by_rank.min(),
        "max": by_rank.max(),
        "all": within_limits.all(axis=1).mean(),
        "independent": ((squared >= low) & (squared <= high)).mean(),
    }
    return pd.Series(line), np.asarray(by_rank)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Simulate the coverage of the limits of squared distances.")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args(arguments)
    lines = {
        (kind, *design): coverage(kind, *design, options.samples, options.seed)[0]
        for kind, designs in DESIGNS.items()
        for design in designs
    }
    table = pd.DataFrame(lines).T.rename_axis(["covariance", "rows", "columns", "classes"])
    print(table.round(3).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
