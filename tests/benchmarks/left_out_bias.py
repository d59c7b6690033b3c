"""Bias of leave-one-out with few observations in many columns.

    python -m tests.benchmarks.left_out_bias [--samples N] [--seed N]

Two normal classes with the identity as their covariance differ in the means of twenty columns. A row of the
table has the mean error of `lda(covariance=)` over tables: `truth` is the error of the fitted rules in the
population, computed from their coefficients; `loo` leaves out one row, `cv` ten folds, and `balanced` one row
of each class (as many folds as the smaller class has rows). `se` is the standard error of the mean difference
of loo and truth.

A row x of a class of n rows that is left out moves the mean of the class away from it, by (x - m)/(n - 1), so
that the expected squared distance to its own class is p/(n - 1) - p/n = p/(n (n - 1)) larger than that of a
new row, while the distance to the other class remains. The log odds of its class are p/(2 n (n - 1)) too
small. A fold with one row of each class has the same effect on both distances.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

import discrim
from discrim.errors import DiscrimWarning

__all__ = ["DESIGNS", "errors"]

SHIFTED = 20

DESIGNS = [
    ("diagonal", (30, 30), 2000, 3.6),
    ("spherical", (30, 30), 2000, 3.6),
    ("diagonal", (30, 30), 200, 2.15),
    ("diagonal", (30, 30), 20, 1.3),
    ("diagonal", (20, 20), 2000, 4.0),
    ("diagonal", (20, 40), 2000, 3.6),
]
"""Covariance, rows of the classes, columns, and distance of the means."""


def errors(
    covariance: Any, counts: tuple[int, int], columns: int, distance: float, samples: int, seed: int
) -> pd.DataFrame:
    """Simulate one design.

    Parameters
    ----------
    covariance : str
    counts : (int, int)
        Rows of the classes.
    columns : int
    distance : float
        Euclidean distance of the class means.
    samples, seed : int

    Returns
    -------
    DataFrame
        truth, loo, cv and balanced of each table.
    """
    lines = []
    codes = np.repeat([0, 1], counts)
    mean = np.zeros(columns)
    mean[:SHIFTED] = distance / np.sqrt(SHIFTED)
    for number in range(samples):
        rng = np.random.default_rng([seed, number])
        x = rng.standard_normal((len(codes), columns)) + codes[:, None] * mean
        data = pd.DataFrame(x).add_prefix("x").assign(y=np.array(["a", "b"])[codes])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            fit = discrim.lda("y ~ .", data, covariance=covariance)
            folds = {"cv": 10, "balanced": min(counts)}
            line = {"loo": fit.error_rates(["loo"])["estimate"].iloc[0]}
            for name, n in folds.items():
                line[name] = fit.error_rates(["cv"], folds=n, seed=number)["estimate"].iloc[0]
        slopes = (fit.coef["b"] - fit.coef["a"]).to_numpy()
        constant = float(fit.intercept["b"] - fit.intercept["a"])
        at = np.array([constant, mean @ slopes + constant]) / np.linalg.norm(slopes)
        line["truth"] = float(np.array(counts) @ [ndtr(at[0]), ndtr(-at[1])]) / len(codes)
        lines.append(line)
    return pd.DataFrame(lines)[["truth", "loo", "cv", "balanced"]]


def main(given: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Simulate the bias of leave-one-out in many columns.")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args(given)
    lines = {}
    for covariance, counts, columns, distance in DESIGNS:
        table = errors(covariance, counts, columns, distance, options.samples, options.seed)
        gap = table["loo"] - table["truth"]
        key = covariance, "+".join(map(str, counts)), columns
        lines[key] = table.mean().to_dict() | {"se": gap.std() / np.sqrt(len(gap))}
    table = pd.DataFrame(lines).T.rename_axis(["covariance", "rows", "columns"])
    print((100 * table).round(1).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
