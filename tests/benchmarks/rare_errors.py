"""Coverage of intervals of error rates and log losses if few of the evaluated observations are misclassified.

    python -m tests.benchmarks.rare_errors [--samples N] [--seed N] [--choices N]

Two normal classes lie `distance` standard deviations apart in one column, and the log odds of the rule are
`sureness` times the true log odds: with 1 the posteriors are calibrated, with 3 they are overconfident, as
those
of rules fitted to many columns are. In each sample n observations are evaluated, and a row of the table
contains
the proportions of samples in which the 95% intervals contain the true error rate or log loss:

- percentile: percentiles of bootstrap means;
- bootstrap-t: percentiles of bootstrapped t statistics (log loss only);
- log-normal: normal on the scale of logarithms (log loss only);
- rate: `mean_loss_interval`, as in `cross_validate` and `assess`: Clopper and Pearson's for errors, and for
the
  log loss log-normal with an upper limit that allows for errors that did not occur in the sample;
- corrected: `choose(...).corrected()` with one candidate;
- chosen: the same with the best of five equally good candidates that were compared by log loss.

`observed` is the mean number of errors, `high` the median upper limit of rate. A proportion of .95 has a
standard
error of sqrt(.95 x .05 / samples); choices are simulated in a fifth of the samples. `--choices` adds complete
choices: shrunken centroids for 60 rows and 2,000 columns, evaluated by the loss of the chosen fit for new
rows.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

import discrim
from discrim.errors import DiscrimWarning
from discrim.inference.calibration import EvaluatedRows, mean_loss_interval
from discrim.inference.error_rates import log_interval
from discrim.inference.model_choice import bias_corrected_losses

__all__ = ["SETTINGS", "coverage", "true_losses"]

Floats = NDArray[np.float64]
Limits = dict[tuple[str, str], tuple[float, float]]

ROWS, DISTANCES, SURENESS = (20, 60, 200), (5.2, 4.0, 3.0, 2.0), (1.0, 3.0)
SETTINGS = list(product(ROWS, DISTANCES, SURENESS))
CANDIDATES, DRAWS, REPLICATES = 5, 100, 200
CHOICE_INTERVAL = 5
"""Every so many samples the intervals of a choice are computed, which take longer."""


def margins(rng: np.random.Generator, shape: tuple[int, ...], distance: float, sureness: float) -> Floats:
    """Draw the log odds of the true class against the other class."""
    return np.asarray(sureness * distance * (distance / 2 + rng.standard_normal(shape)))


def true_losses(distance: float, sureness: float) -> dict[str, float]:
    """Return the true error rate, and the true log loss by numerical integration."""
    z = np.linspace(-12, 12, 200_001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    loss = np.logaddexp(0.0, -sureness * distance * (distance / 2 + z))
    return {"error": float(ndtr(-distance / 2)), "log loss": float(np.trapezoid(loss * density, z))}


def _losses(margin: Floats) -> tuple[dict[str, Floats], dict[str, Floats], EvaluatedRows]:
    """Return losses, losses if every row were wrong, and the evaluated rows, of margins (C, n)."""
    n = margin.shape[1]
    losses = {"error": (margin < 0).astype(np.float64), "log loss": np.logaddexp(0.0, -margin)}
    if_wrong = {"error": np.ones(margin.shape), "log loss": np.logaddexp(0.0, np.abs(margin))}
    return losses, if_wrong, EvaluatedRows(np.zeros(n, dtype=np.intp), np.ones(n), 1, None, None)


def intervals(rng: np.random.Generator, margin: Floats) -> Limits:
    """Compute the intervals of one sample for the first of the candidates with margins (C, n)."""
    losses, if_wrong, evaluated = _losses(margin)
    n = margin.shape[1]
    limits: Limits = {}
    indices = rng.integers(n, size=(REPLICATES, n))
    for name, all_losses in losses.items():
        loss = all_losses[0]
        means = loss[indices].mean(axis=1)
        limits[name, "percentile"] = tuple(np.quantile(means, [0.025, 0.975]))
        rate = mean_loss_interval(
            loss, evaluated, 0.95, is_zero_one=name == "error", losses_if_wrong=if_wrong[name][0]
        )
        limits[name, "rate"] = rate[2:]
        if name == "log loss":
            limits[name, "log-normal"] = log_interval(rate[0], rate[1] ** 2, 0.95)
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (means - rate[0]) / loss[indices].std(axis=1)
            low, high = np.nanquantile(t, [0.975, 0.025])
            limits[name, "bootstrap-t"] = rate[0] - low * loss.std(), rate[0] - high * loss.std()
    return limits


def choice_intervals(rng: np.random.Generator, margin: Floats) -> Limits:
    """Compute the intervals of the corrected losses of one sample, with one candidate and with all."""
    losses, if_wrong, evaluated = _losses(margin)
    limits: Limits = {}
    names = list(losses)
    for label, count in (("corrected", 1), ("chosen", len(margin))):
        selected_losses = np.stack([losses[name][:count] for name in names])
        choice = bias_corrected_losses(selected_losses, 1, evaluated, "min", DRAWS, int(rng.integers(2**31)))
        best = int(np.argmin(selected_losses[1].mean(axis=1)))
        rates = [
            mean_loss_interval(
                selected_losses[i, best],
                evaluated,
                0.95,
                is_zero_one=name == "error",
                losses_if_wrong=if_wrong[name][best],
            )
            for i, name in enumerate(names)
        ]
        for name, interval in zip(names, choice.interval(0.95, rates).T, strict=True):
            limits[name, label] = interval[0], interval[1]
    return limits


def coverage(rows: int, distance: float, sureness: float, samples: int, seed: int) -> pd.Series:
    """Simulate one setting and return its row of the table."""
    rng = np.random.default_rng([seed, rows, int(10 * distance), int(sureness)])
    true = true_losses(distance, sureness)
    covered: dict[tuple[str, str], list[bool]] = {}
    observed, upper = [], []
    for number in range(samples):
        margin = margins(rng, (CANDIDATES, rows), distance, sureness)
        limits = intervals(rng, margin)
        if number % CHOICE_INTERVAL == 0:
            limits |= choice_intervals(rng, margin)
        for (name, label), (low, high) in limits.items():
            covered.setdefault((name, label), []).append(bool(low <= true[name] <= high))
        observed.append(float((margin[0] < 0).sum()))
        upper.append(limits["log loss", "rate"][1])
    row = pd.Series({key: np.mean(values) for key, values in covered.items()})
    row["true", "error"], row["true", "log loss"] = true["error"], true["log loss"]
    row["observed", ""], row["log loss", "high"] = np.mean(observed), np.median(upper)
    return row


def choice_coverage(samples: int, seed: int) -> Iterator[dict[str, bool]]:
    """Yield whether `corrected()` of a complete choice contains the losses of the chosen fit for new rows."""
    for number in range(samples):
        rng = np.random.default_rng([seed, number])

        def table(rows: int, rng: np.random.Generator = rng) -> pd.DataFrame:
            labels = np.repeat([0, 1], rows // 2)
            x = rng.standard_normal((rows, 2000))
            x[:, :20] += labels[:, None]
            return pd.DataFrame(x).add_prefix("x").assign(y=np.array(["a", "b"])[labels])

        data, new = table(60), table(4000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            choice = discrim.choose("y ~ .", data, candidates=["shrunken_centroids"], seed=number)
        is_b = new["y"].to_numpy() == "b"
        proba = choice.predict_proba(new).to_numpy()
        with np.errstate(divide="ignore"):
            true = {
                "error": float((choice.predict(new).to_numpy() != new["y"].to_numpy()).mean()),
                "log_loss": -float(np.log(np.where(is_b, proba[:, 1], proba[:, 0])).mean()),
            }
        limits = choice.corrected()[["low", "high"]]
        yield {
            name: bool(limits["low"][name] <= value <= limits["high"][name]) for name, value in true.items()
        }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Simulate the coverage of intervals of rare errors.")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--choices", type=int, default=0)
    options = parser.parse_args(arguments)
    rows = {setting: coverage(*setting, options.samples, options.seed) for setting in SETTINGS}
    table = pd.DataFrame(rows).T.rename_axis(["n", "distance", "sureness"])
    table = table[["true", "observed", "error", "log loss"]]
    print(table.round(3).to_string())
    if options.choices:
        print(pd.DataFrame(list(choice_coverage(options.choices, options.seed))).mean().to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
