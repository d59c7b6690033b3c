"""Simulate the coverage of every interval that the package prints.

    python -m tests.benchmarks.coverage [--samples N] [--seed N] [--only STUDY ...] [--write FILE]

The rows are normal with the identity covariance, so that the true value of every estimate is known: class
"a" has
the mean zero, and class "b" lies at a distance on the first axis. Each row of the table is an interval in a
setting. `covers` is the proportion of samples in which the interval contains the quantity named in column
`of`,
`below` and `above` are the proportions in which the interval lies below or above it, and `none` is the
proportion
of missing limits, which count as not covering. `vignettes/data/coverage.csv`, which a page of the book
shows, is
the table with the default of 300 samples; `tests/inference/coverage.csv` is the table with 40 samples, which
`tests/inference/test_coverage.py` repeats.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm

import discrim
from discrim.errors import DiscrimWarning

__all__ = ["LEVEL", "STUDIES", "simulate_study"]

LEVEL = 0.95
METHODS = ["apparent", "loo", "cv", "632+", "D", "DS", "O", "OS"]
"""Methods of error rates that have an interval."""

COSTS = np.array([[0.0, 1.0], [4.0, 0.0]])
Floats = NDArray[np.float64]


class Tally:
    """Deviations of interval limits from the true values, by interval, quantity and setting."""

    def __init__(self) -> None:
        self._deviations: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}

    def add(self, interval: str, quantity: str, setting: str, limits: Iterable[float], truth: float) -> None:
        """Add the interval of one sample; missing limits do not cover the true value.

        Parameters
        ----------
        interval, quantity, setting : str
            Name of the interval, of the estimated quantity and of the simulation setting.
        limits : iterable of two floats
        truth : float
            True value of the quantity.
        """
        low, high = map(float, limits)
        self._deviations.setdefault((interval, quantity, setting), []).append(
            (low - truth, truth - high, truth)
        )

    def table(self) -> pd.DataFrame:
        """Return the columns covers, below, above, none and samples by interval, quantity and setting."""
        rows = {}
        for key, deviations in self._deviations.items():
            low_error, high_error, _ = np.array(deviations).T
            none = np.isnan(low_error) | np.isnan(high_error)
            # Limits and true values are rounded: a value that equals a limit up to rounding is covered.
            above, below = low_error > 1e-12, high_error > 1e-12
            covers = ~(above | below | none)
            rows[key] = [covers.mean(), below.mean(), above.mean(), none.mean(), len(deviations)]
        index = pd.MultiIndex.from_tuples(rows, names=["interval", "of", "setting"])
        columns = ["covers", "below", "above", "none", "samples"]
        return pd.DataFrame(list(rows.values()), index, columns).astype({"samples": int})


class NormalClasses:
    """Normal classes with the identity covariance; the second and third mean lie on the first two of p axes.

    Parameters
    ----------
    distance : float
        Distance of the second (and third) class mean from zero.
    p, k : int
        Numbers of columns and classes.
    """

    def __init__(self, distance: float, p: int = 3, k: int = 2) -> None:
        self.means = np.zeros((k, p))
        for c in range(1, k):
            self.means[c, c - 1] = distance
        self.names = np.array(["a", "b", "c"])[:k]

    def draw_rows(self, rng: np.random.Generator, counts: Iterable[int]) -> pd.DataFrame:
        """Draw the given number of rows of each class."""
        codes = np.repeat(np.arange(len(self.names)), list(counts))
        x = rng.normal(size=(len(codes), self.means.shape[1])) + self.means[codes]
        frame = pd.DataFrame(x, columns=[f"x{j + 1}" for j in range(x.shape[1])])
        return frame.assign(y=self.names[codes])

    def draw_mixture(
        self, rng: np.random.Generator, n: int, proportions: Floats | None = None
    ) -> pd.DataFrame:
        """Draw n rows whose classes are random with the given proportions (equal by default)."""
        equal = np.full(len(self.names), 1 / len(self.names))
        return self.draw_rows(rng, rng.multinomial(n, equal if proportions is None else proportions))

    def class_error_rates(self, fit: Any, cut: float = 0.0) -> Floats:
        """Return the true error rates (2,) of the classes for a linear rule with the threshold `cut`."""
        slopes = (fit.coef["b"] - fit.coef["a"]).to_numpy()
        constant = float(fit.intercept["b"] - fit.intercept["a"]) - cut
        standardized = (self.means @ slopes + constant) / np.linalg.norm(slopes)
        return np.array([norm.sf(-standardized[0]), norm.cdf(-standardized[1])])


def simulate_error_rates(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Simulate error rates of LDA by each method, for its own rows and for new rows."""
    for rows, share in ((25, 1.0), (100, 0.5)):
        population, setting = NormalClasses(1.5), f"{rows} rows a class"
        bayes_error = norm.cdf(-0.75)
        for number in range(samples):
            fit = discrim.lda("y ~ .", population.draw_rows(rng, (rows, rows)))
            error = population.class_error_rates(fit).mean()
            methods = METHODS if number < share * samples else [each for each in METHODS if each != "632+"]
            rates = fit.error_rates(methods, seed=int(rng.integers(2**31)), replicates=60)
            for method, line in rates.iterrows():
                tally.add(f"error, {method}", "error of the rule", setting, line[["low", "high"]], error)
                if method in ("D", "DS"):
                    tally.add(f"error, {method}", "least error", setting, line[["low", "high"]], bayes_error)
            new = population.draw_mixture(rng, 50)
            new_rates = fit.error_rates(data=new).iloc[0]
            tally.add(
                "error, new rows", "error of the rule", "50 new rows", new_rates[["low", "high"]], error
            )
            prior = {"a": 0.8, "b": 0.2}
            new_rates = fit.error_rates(data=new, prior=prior).iloc[0]
            weighted_error = population.class_error_rates(fit) @ [0.8, 0.2]
            tally.add(
                "error, new rows, prior=", "error", "50 new rows", new_rates[["low", "high"]], weighted_error
            )
            new_rates = fit.error_rates(data=new, costs=COSTS).iloc[0]
            mean_cost = population.class_error_rates(fit, -np.log(4.0)) @ [0.5, 2.0]
            tally.add(
                "mean cost, new rows", "mean cost", "50 new rows", new_rates[["low", "high"]], mean_cost
            )


def simulate_measures(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Simulate `assess` of one rule for many tables of new rows."""
    settings = {
        "60 new rows": (NormalClasses(1.5), 60, None, None),
        "200 new rows": (NormalClasses(1.5), 200, None, None),
        "60 new rows, prior=": (NormalClasses(1.5), 60, None, {"a": 0.7, "b": 0.3}),
        "60 new rows, classes far apart": (NormalClasses(3.5), 60, None, None),
        "110 new rows, 10 of one class": (NormalClasses(1.5), 110, np.array([100 / 110, 10 / 110]), None),
        "90 new rows of three classes": (NormalClasses(2.0, k=3), 90, None, None),
    }
    for setting, (population, n, shares, prior) in settings.items():
        fit = discrim.lda("y ~ .", population.draw_rows(rng, [40] * len(population.names)))
        true = measure_table(fit.assess(population.draw_mixture(rng, 400_000, shares), prior=prior))[
            "estimate"
        ]
        for _ in range(samples):
            estimates = measure_table(fit.assess(population.draw_mixture(rng, n, shares), prior=prior))
            for name, line in estimates.iterrows():
                tally.add(name, "of the rule", setting, line[["low", "high"]], true[name])


def measure_table(assessment: Any) -> pd.DataFrame:
    """Return the overall measures of an assessment, those of class "b", and that of one pair of classes."""
    class_measures = assessment.by_class.loc["b"]
    class_measures.index = [f"{name} of a class" for name in class_measures.index]
    pairs = assessment.pairs.rename(columns={"auc": "estimate"})
    pairs.index = [f"AUC of {a} and {b}" for a, b in pairs.index]
    return pd.concat([assessment.overall, class_measures, *([pairs.iloc[:1]] if len(pairs) > 1 else [])])


def simulate_validation(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Simulate `cross_validate` for the rule of all rows and `compare` for two models."""
    population, error_differences, pair_limits = NormalClasses(1.5), [], []
    new_rows = population.draw_mixture(rng, 20_000)
    for _ in range(samples // 2):
        data = population.draw_rows(rng, (50, 50))
        fit, small = discrim.lda("y ~ .", data), discrim.lda("y ~ x1", data)
        validation = discrim.cross_validate(fit, seed=int(rng.integers(2**31)))
        proba = fit.predict_log_proba(new_rows).to_numpy()[
            np.arange(len(new_rows)), (new_rows["y"] == "b").to_numpy(int)
        ]
        true = {
            "error": population.class_error_rates(fit).mean(),
            "log loss": -proba.mean(),
            "Brier score": 2 * np.mean(np.expm1(proba) ** 2),
        }
        for name, line in validation.table().iterrows():
            label = next(each for each in true if each.split()[0] in str(name))
            tally.add(
                f"cross_validate, {label}",
                "of the rule",
                "50 rows a class",
                line[["low", "high"]],
                true[label],
            )
        pair = discrim.compare(fit, small, folds=10, seed=1).pairs().iloc[0]
        narrow = NormalClasses(1.5, p=1)
        error_differences.append(
            population.class_error_rates(fit).mean() - narrow.class_error_rates(small).mean()
        )
        pair_limits.append(pair[["low", "high"]])
    for limits in pair_limits:
        tally.add(
            "compare, difference of errors",
            "mean difference",
            "50 rows a class",
            limits,
            np.mean(error_differences),
        )


def simulate_coefficients(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Simulate log odds of LDA and logistic regression, marginal effects, and least squares coefficients."""
    population = NormalClasses(1.5)
    slopes = np.array([-1.125, 1.5, 0.0, 0.0])
    terms = ["constant", "x1", "x2", "x3"]
    for rows, share in ((50, 1.0), (200, 0.5)):
        setting = f"{rows} rows"
        for number in range(round(share * samples)):
            data = population.draw_mixture(rng, rows)
            linear, curve = discrim.lda("y ~ .", data), discrim.logistic("y ~ .", data)
            firth = discrim.logistic("y ~ .", data, bias_reduction=True)
            tables = {
                "log odds, lda": linear.log_odds(),
                "log odds, logistic, Wald": curve.conf_int(),
                "log odds, logistic, profile": curve.conf_int(method="profile"),
                "log odds, bias_reduction=True, Wald": firth.conf_int(),
                "log odds, robust()": curve.robust().conf_int(),
            }
            if number % 3 == 0:
                tables["log odds, bias_reduction=True, profile"] = firth.conf_int(method="profile")
            for name, table in tables.items():
                for row in (0, 1, 2):
                    limits = table[["low", "high"]].iloc[row]
                    tally.add(name, terms[row], setting, limits, slopes[row])
            ratio = curve.odds_ratios().loc[("b", "x1"), ["low", "high"]]
            tally.add("odds ratios", "x1", setting, ratio, np.exp(1.5))
            p = expit(slopes[0] + data[["x1", "x2", "x3"]].to_numpy() @ slopes[1:])
            effects = curve.marginal_effects(columns=["x1", "x2"])
            for name, slope in (("x1", 1.5), ("x2", 0.0)):
                limits = effects.xs(name, level="column")[["low", "high"]].iloc[0]
                tally.add("marginal effects", name, setting, limits, (p * (1 - p)).mean() * slope)
            # Least squares: the slope of the indicator is D/(1 + D^2/4)/2; mlm estimates the mean of column
            # 1.
            table = discrim.indicator("y ~ .", data).coefficients()
            limits = table.loc[("b", "x1"), ["low", "high"]]
            tally.add("coefficients, indicator", "x1", setting, limits, 1.5 / 4 / (1 + 1.5**2 / 4))
            table = discrim.mlm("y ~ x1 + x2", data).tidy()
            limits = table[["conf_low", "conf_high"]].iloc[0]
            tally.add("coefficients, mlm", "mean of x1", setting, limits, 0.75)


def simulate_posteriors(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Simulate intervals of posteriors, of log determinants and of the eigenvalue of the canonical axis."""
    population = NormalClasses(1.5)
    point = pd.DataFrame({"x1": [1.5], "x2": [0.5], "x3": [0.0]})
    true = expit(1.5 * 1.5 - 1.125)
    for rows, share in ((50, 1.0), (200, 0.5)):
        setting = f"{rows} rows"
        for number in range(round(share * samples / 2)):
            data = population.draw_mixture(rng, rows)
            fits = {verb: getattr(discrim, verb)("y ~ .", data) for verb in ("lda", "qda", "logistic")}
            for verb, fit in fits.items():
                limits = fit.posterior_intervals(point)["b"][["low", "high"]].iloc[0]
                tally.add(f"posterior_intervals, {verb}, delta", "posterior", setting, limits, true)
            table = fits["qda"].log_determinants()
            for label in ("a", "pooled"):
                tally.add(
                    "log_determinants", f"ln|S|, {label}", setting, table.loc[label, ["low", "high"]], 0.0
                )
            if number % 4 == 0:
                bootstrap: dict[str, Any] = {"replicates": 150, "seed": int(rng.integers(2**31))}
                table = fits["lda"].posterior_intervals(point, method="bootstrap", **bootstrap)
                limits = table["b"][["low", "high"]].iloc[0]
                tally.add("posterior_intervals, lda, bootstrap", "posterior", setting, limits, true)
                table = fits["lda"].canonical().stability(**bootstrap)
                # True eigenvalue: between-class variance of equally frequent classes, with variance 1
                # within classes.
                root = 1.5**2 / 4
                tally.add("stability", "eigenvalue", setting, table[["low", "high"]].iloc[0], root)


def simulate_shares(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Simulate estimated class proportions of unlabelled batches, and proportions in calibration bins."""
    population = NormalClasses(1.5)
    for rows, share in ((2000, 1.0), (25, 1.0)):
        setting = f"batch of 200; {rows} rows a class made the rule"
        fixed = discrim.lda("y ~ .", population.draw_rows(rng, (rows, rows)))
        for number in range(round(share * samples / 2)):
            fit = fixed if rows == 2000 else discrim.lda("y ~ .", population.draw_rows(rng, (rows, rows)))
            batch = population.draw_mixture(rng, 200, np.array([0.7, 0.3]))
            for interval in ("wald", "profile"):
                limits = fit.estimate_prior(batch, interval=interval).table.loc["b", ["low", "high"]]
                tally.add(f"estimate_prior, {interval}", "share", setting, limits, 0.3)
            if rows == 25 and number % 5 == 0:
                bootstrap: dict[str, Any] = {"replicates": 100, "seed": int(rng.integers(2**31))}
                estimate = fit.estimate_prior(batch, interval="bootstrap", **bootstrap).table
                tally.add(
                    "estimate_prior, bootstrap", "share", setting, estimate.loc["b", ["low", "high"]], 0.3
                )
            elif rows == 2000:
                new = population.draw_mixture(rng, 100)
                log_odds = new["x1"].to_numpy() * 1.5 - 1.125
                table = fit.assess(new, bins=5).calibration
                order = np.argsort(logit(fit.predict_proba(new)["b"].to_numpy()))
                for positions, (_, line) in zip(np.array_split(order, 5), table.iterrows(), strict=True):
                    limits, true_share = line[["low", "high"]], expit(log_odds[positions]).mean()
                    tally.add(
                        "calibration, Wilson", "share of a bin", "100 new rows, 5 bins", limits, true_share
                    )


Study = Callable[[np.random.Generator, int, Tally], None]
STUDIES: dict[str, Study] = {
    "errors": simulate_error_rates,
    "measures": simulate_measures,
    "validated": simulate_validation,
    "coefficients": simulate_coefficients,
    "posteriors": simulate_posteriors,
    "shares": simulate_shares,
}
"""Studies by their names in the table and on the command line; a name's length is part of its seed."""


def simulate_study(study: str, samples: int = 300, seed: int = 31) -> pd.DataFrame:
    """Return the table of one study."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        STUDIES[study](np.random.default_rng([seed, len(study)]), samples, tally)
    return tally.table()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Simulate the coverage of every interval that is printed.")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--only", choices=list(STUDIES), nargs="+", default=list(STUDIES))
    parser.add_argument("--write", help="write a CSV file instead of printing")
    options = parser.parse_args(arguments)
    tables = {study: simulate_study(study, options.samples, options.seed) for study in options.only}
    table = pd.concat(tables, names=["study"]).round(4)
    if options.write is None:
        print(table.to_string())
    else:
        table.to_csv(options.write)


if __name__ == "__main__":
    main(sys.argv[1:])
