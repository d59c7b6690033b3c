"""Logistic regression with many classes, nearly separated classes or rare indicators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from discrim.penalty import Lasso, Ridge
from tests.benchmarks.corners import slow_case


def coded_answers(n: int, p: int, n_classes: int, noise: float) -> pd.DataFrame:
    """Simulate small integers that are typical of their class except for noise.

    Every third pair of classes is mixed.
    """
    rng = np.random.default_rng(2)
    codes = rng.permutation(np.arange(n) % n_classes)
    levels = rng.integers(2, 6, p)
    typical = rng.integers(0, levels, size=(n_classes, p))
    x = np.where(rng.random((n, p)) < noise, rng.integers(0, levels, size=(n, p)), typical[codes])
    for first in range(0, n_classes - 1, 3):
        mixed = np.flatnonzero((codes == first) | (codes == first + 1))
        codes[mixed] = rng.integers(first, first + 2, len(mixed))
    return pd.DataFrame(x.astype(float)).add_prefix("x").assign(y=codes)


def normal_classes(n: int, p: int, n_classes: int, separation: float) -> pd.DataFrame:
    """Simulate normal classes whose means have the standard deviation `separation`."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(n) % n_classes)
    x = rng.normal(size=(n, p)) + separation * rng.normal(size=(n_classes, p))[codes]
    return pd.DataFrame(x).add_prefix("x").assign(y=codes)


def rare_indicators(n: int, p: int) -> pd.DataFrame:
    """Simulate two classes and their binary columns, half of which are 1 in few rows."""
    rng = np.random.default_rng(1)
    x = (rng.random((n, p)) < np.where(np.arange(p) % 2, 0.002, 0.2)).astype(float)
    odds = x @ rng.normal(size=p)
    return pd.DataFrame(x).add_prefix("x").assign(y=(odds + rng.logistic(size=n) > 0).astype(int))


@slow_case("logistic: separation of 540 x 35 x 18")
def separation_of_many_classes() -> Callable[[], object]:
    from discrim import logistic

    frame = coded_answers(540, 35, 18, 0.4)
    return lambda: logistic("y ~ .", frame, separation="warn", collinear="drop")


@slow_case("logistic: separation of 10,000 x 100 x 26")
def separation_of_many_rows() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(10_000, 100, 26, 2.0)
    return lambda: logistic("y ~ .", frame, separation="warn")


@slow_case("logistic: separation of 540 x 93 indicators x 18")
def separation_of_indicators() -> Callable[[], object]:
    from discrim import logistic

    answers = coded_answers(540, 35, 18, 0.4)
    columns = [f"x{j}" for j in range(35)]
    answers[columns] = "level " + answers[columns].astype(str)
    # Some rows occur in two classes, so that the classes are only partly separated.
    relabelled = answers.sample(120, random_state=0)
    frame = pd.concat([answers, relabelled.assign(y=(relabelled["y"] + 1) % 18)])
    return lambda: logistic("y ~ .", frame, separation="warn", collinear="drop")


@slow_case("logistic: bias reduction of 800 x 16 x 26")
def bias_reduction_of_many_classes() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(800, 16, 26, 1.0)
    return lambda: logistic("y ~ .", frame, bias_reduction=True)


@slow_case("logistic: bias reduction of 20,000 x 100")
def bias_reduction_of_rare_indicators() -> Callable[[], object]:
    from discrim import logistic

    frame = rare_indicators(20_000, 100)
    return lambda: logistic("y ~ .", frame, bias_reduction=True, collinear="drop")


@slow_case("logistic: tests by term of 20 classes x 100 columns")
def tests_of_many_terms() -> Callable[[], object]:
    from discrim import logistic

    fit = logistic("y ~ .", normal_classes(4000, 100, 20, 0.1))
    return lambda: fit.lr_test(by="term")


@slow_case("logistic: fit of 50,000 x 20 with 5 classes")
def fit_of_many_rows() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(50_000, 20, 5, 0.3)
    return lambda: logistic("y ~ .", frame).bse


@slow_case("logistic: summary of 20 classes x 100 columns")
def summary_of_many_coefficients() -> Callable[[], object]:
    from discrim import logistic

    fit = logistic("y ~ .", normal_classes(4000, 100, 20, 0.1))
    return lambda: fit.summary().as_text()


@slow_case("logistic: summary of 26 classes x 12 columns")
def summary_of_many_classes() -> Callable[[], object]:
    from discrim import logistic

    fit = logistic("y ~ .", normal_classes(10_000, 12, 26, 0.5))
    return lambda: fit.summary().as_text()


@slow_case("logistic: fit of 5,000 x 200 with 20 classes")
def fit_of_many_coefficients() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(5000, 200, 20, 0.05)
    return lambda: logistic("y ~ .", frame)


@slow_case("logistic: path of the lasso, 2,000 x 60 with 10 classes")
def path_of_many_classes() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(2000, 60, 10, 0.5)
    return lambda: logistic("y ~ .", frame, penalty=Lasso(0.01)).path


@slow_case("logistic: choice of a lasso by folds, 72 x 5,000")
def choice_of_few_rows() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(72, 5000, 2, 0.2)
    return lambda: logistic("y ~ .", frame, penalty=Lasso(seed=1))


@slow_case("logistic: ridge of 5,000 x 100 with 20 classes")
def ridge_of_many_coefficients() -> Callable[[], object]:
    from discrim import logistic

    frame = normal_classes(5000, 100, 20, 0.1)
    return lambda: logistic("y ~ .", frame, penalty=Ridge(0.001))
