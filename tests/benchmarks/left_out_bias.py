"""Bias of leave-one-out with few observations in many columns.

    python -m tests.benchmarks.left_out_bias [--samples N] [--seed N]

Two normal classes with the identity covariance differ in the means of twenty columns. Each row of the table
contains mean errors of `lda(covariance=)` over simulated tables: `truth` is the true error rate of the fitted
rules, computed from their coefficients; `loo` is leave-one-out, `cv` ten folds, and `balanced` leaves out
one row
of each class (with as many folds as the smaller class has rows). `se` is the standard error of the mean
difference of loo and truth.

If a row x of a class with n rows is left out, the mean of the class moves away from it by (x - m)/(n - 1).
The
expected squared distance to its own class is therefore larger than that of a new row by
p/(n - 1) - p/n = p/(n (n - 1)), while the distance to the other class is unchanged. The log odds of its class
are too small by p/(2 n (n - 1)). A fold with one row of each class has the same effect on both distances.
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

__all__ = ["DESIGNS", "simulate_errors"]

N_SHIFTED_COLUMNS = 20

DESIGNS = [
    ("diagonal", (30, 30), 2000, 3.6),
    ("spherical", (30, 30), 2000, 3.6),
    ("diagonal", (30, 30), 200, 2.15),
    ("diagonal", (30, 30), 20, 1.3),
    ("diagonal", (20, 20), 2000, 4.0),
    ("diagonal", (20, 40), 2000, 3.6),
]
"""Covariance, rows of the classes, columns, and distance of the means."""


def simulate_errors(
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
        Columns truth, loo, cv and balanced, with one row for each simulated table.
    """
    results = []
    codes = np.repeat([0, 1], counts)
    mean = np.zeros(columns)
    mean[:N_SHIFTED_COLUMNS] = distance / np.sqrt(N_SHIFTED_COLUMNS)
    for number in range(samples):
        rng = np.random.default_rng([seed, number])
        x = rng.standard_normal((len(codes), columns)) + codes[:, None] * mean
        data = pd.DataFrame(x).add_prefix("x").assign(y=np.array(["a", "b"])[codes])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            fit = discrim.lda("y ~ .", data, covariance=covariance)
            folds = {"cv": 10, "balanced": min(counts)}
            result = {"loo": fit.error_rates(["loo"])["estimate"].iloc[0]}
            for name, n in folds.items():
                result[name] = fit.error_rates(["cv"], folds=n, seed=number)["estimate"].iloc[0]
        slopes = (fit.coef["b"] - fit.coef["a"]).to_numpy()
        constant = float(fit.intercept["b"] - fit.intercept["a"])
        standardized = np.array([constant, mean @ slopes + constant]) / np.linalg.norm(slopes)
        result["truth"] = float(np.array(counts) @ [ndtr(standardized[0]), ndtr(-standardized[1])]) / len(
            codes
        )
        results.append(result)
    return pd.DataFrame(results)[["truth", "loo", "cv", "balanced"]]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Simulate the bias of leave-one-out in many columns.")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args(arguments)
    lines = {}
    for covariance, counts, columns, distance in DESIGNS:
        table = simulate_errors(covariance, counts, columns, distance, options.samples, options.seed)
        bias = table["loo"] - table["truth"]
        key = covariance, "+".join(map(str, counts)), columns
        lines[key] = table.mean().to_dict() | {"se": bias.std() / np.sqrt(len(bias))}
    table = pd.DataFrame(lines).T.rename_axis(["covariance", "rows", "columns"])
    print((100 * table).round(1).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
