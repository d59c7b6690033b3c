"""How often do intervals called 95 % hold what they are about? Every interval that is printed, simulated.

    python -m tests.benchmarks.coverage [--samples N] [--seed N] [--only STUDY ...] [--write FILE]

Rows are normal with the identity as their covariance, so that every number that is estimated is known: the
classes "a" at zero and "b" at a distance on the first axis. A row of the table is an interval in a setting;
`covers` is the share of samples in which it holds the number under `of`, `below` and `above` the shares in
which it ends below that number or begins above it, `none` the share in which it has no limits, which count as
not covering. `vignettes/data/coverage.csv`, which a page shows, is what this writes with its 300 samples;
`tests/inference/coverage.csv` is what it writes with 40, which `tests/inference/test_coverage.py` repeats.
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

__all__ = ["LEVEL", "STUDIES", "simulated"]

LEVEL = 0.95
METHODS = ["apparent", "loo", "cv", "632+", "D", "DS", "O", "OS"]
"""Of error rates that have an interval."""

COSTS = np.array([[0.0, 1.0], [4.0, 0.0]])
Floats = NDArray[np.float64]


class Tally:
    """Intervals, and on which side of the number they are about they lie."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}

    def add(self, interval: str, of: str, setting: str, limits: Iterable[float], truth: float) -> None:
        """An interval of one sample; missing limits hold nothing."""
        low, high = map(float, limits)
        self._held.setdefault((interval, of, setting), []).append((low - truth, truth - high, truth))

    def table(self) -> pd.DataFrame:
        """covers, below, above, none and samples by interval, number and setting."""
        lines = {}
        for key, parts in self._held.items():
            over, under, _ = np.array(parts).T
            none = np.isnan(over) | np.isnan(under)
            # Limits and truths are sums of rounded numbers: one at the end of its range is within.
            above, below = over > 1e-12, under > 1e-12
            covers = ~(above | below | none)
            lines[key] = [covers.mean(), below.mean(), above.mean(), none.mean(), len(parts)]
        index = pd.MultiIndex.from_tuples(lines, names=["interval", "of", "setting"])
        columns = ["covers", "below", "above", "none", "samples"]
        return pd.DataFrame(list(lines.values()), index, columns).astype({"samples": int})


class Law:
    """Normal classes a distance apart on the first of p axes; a third one, if any, as far on the second."""

    def __init__(self, distance: float, p: int = 3, k: int = 2) -> None:
        self.means = np.zeros((k, p))
        for c in range(1, k):
            self.means[c, c - 1] = distance
        self.names = np.array(["a", "b", "c"])[:k]

    def rows(self, rng: np.random.Generator, counts: Iterable[int]) -> pd.DataFrame:
        """So many rows of each class."""
        codes = np.repeat(np.arange(len(self.names)), list(counts))
        x = rng.normal(size=(len(codes), self.means.shape[1])) + self.means[codes]
        frame = pd.DataFrame(x, columns=[f"x{j + 1}" for j in range(x.shape[1])])
        return frame.assign(y=self.names[codes])

    def mixture(self, rng: np.random.Generator, n: int, shares: Floats | None = None) -> pd.DataFrame:
        """Rows whose classes are drawn, too."""
        even = np.full(len(self.names), 1 / len(self.names))
        return self.rows(rng, rng.multinomial(n, even if shares is None else shares))

    def missed(self, fit: Any, cut: float = 0.0) -> Floats:
        """Shares (2,) of the rows of each class that a linear rule with this cut calls the other."""
        slopes = (fit.coef["b"] - fit.coef["a"]).to_numpy()
        constant = float(fit.intercept["b"] - fit.intercept["a"]) - cut
        at = (self.means @ slopes + constant) / np.linalg.norm(slopes)
        return np.array([norm.sf(-at[0]), norm.cdf(-at[1])])


def errors(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Error rates of LDA by each method, on rows of its own and on new ones."""
    for rows, share in ((25, 1.0), (100, 0.5)):
        law, setting = Law(1.5), f"{rows} rows a class"
        best = norm.cdf(-0.75)
        for number in range(samples):
            fit = discrim.lda("y ~ .", law.rows(rng, (rows, rows)))
            error = law.missed(fit).mean()
            methods = METHODS if number < share * samples else [each for each in METHODS if each != "632+"]
            rates = fit.error_rates(methods, seed=int(rng.integers(2**31)), replicates=60)
            for method, line in rates.iterrows():
                tally.add(f"error, {method}", "error of the rule", setting, line[["low", "high"]], error)
                if method in ("D", "DS"):
                    tally.add(f"error, {method}", "least error", setting, line[["low", "high"]], best)
            new = law.mixture(rng, 50)
            seen = fit.error_rates(data=new).iloc[0]
            tally.add("error, new rows", "error of the rule", "50 new rows", seen[["low", "high"]], error)
            prior = {"a": 0.8, "b": 0.2}
            seen = fit.error_rates(data=new, prior=prior).iloc[0]
            weighed = law.missed(fit) @ [0.8, 0.2]
            tally.add("error, new rows, prior=", "error", "50 new rows", seen[["low", "high"]], weighed)
            seen = fit.error_rates(data=new, costs=COSTS).iloc[0]
            dear = law.missed(fit, -np.log(4.0)) @ [0.5, 2.0]
            tally.add("mean cost, new rows", "mean cost", "50 new rows", seen[["low", "high"]], dear)


def measures(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """What `assess` says of one rule, on many tables of new rows."""
    settings = {
        "60 new rows": (Law(1.5), 60, None, None),
        "200 new rows": (Law(1.5), 200, None, None),
        "60 new rows, prior=": (Law(1.5), 60, None, {"a": 0.7, "b": 0.3}),
        "60 new rows, classes far apart": (Law(3.5), 60, None, None),
        "110 new rows, 10 of one class": (Law(1.5), 110, np.array([100 / 110, 10 / 110]), None),
        "90 new rows of three classes": (Law(2.0, k=3), 90, None, None),
    }
    for setting, (law, n, shares, prior) in settings.items():
        fit = discrim.lda("y ~ .", law.rows(rng, [40] * len(law.names)))
        true = figures(fit.assess(law.mixture(rng, 400_000, shares), prior=prior))["estimate"]
        for _ in range(samples):
            found = figures(fit.assess(law.mixture(rng, n, shares), prior=prior))
            for name, line in found.iterrows():
                tally.add(name, "of the rule", setting, line[["low", "high"]], true[name])


def figures(found: Any) -> pd.DataFrame:
    """Figures of all classes, of class "b", of pairs, and of more than two classes no doubles."""
    own = found.by_class.loc["b"]
    own.index = [f"{name} of a class" for name in own.index]
    pairs = found.pairs.rename(columns={"auc": "estimate"})
    pairs.index = [f"AUC of {a} and {b}" for a, b in pairs.index]
    return pd.concat([found.overall, own, *([pairs.iloc[:1]] if len(pairs) > 1 else [])])


def validated(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """What `cross_validate` and `compare` say, of the rule of all rows and of two models."""
    law, gaps, kept = Law(1.5), [], []
    far = law.mixture(rng, 20_000)
    for _ in range(samples // 2):
        data = law.rows(rng, (50, 50))
        fit, small = discrim.lda("y ~ .", data), discrim.lda("y ~ x1", data)
        found = discrim.cross_validate(fit, seed=int(rng.integers(2**31)))
        proba = fit.predict_log_proba(far).to_numpy()[np.arange(len(far)), (far["y"] == "b").to_numpy(int)]
        true = {
            "error": law.missed(fit).mean(),
            "log loss": -proba.mean(),
            "Brier score": 2 * np.mean(np.expm1(proba) ** 2),
        }
        for name, line in found.table().iterrows():
            label = next(each for each in true if each.split()[0] in str(name))
            tally.add(
                f"cross_validate, {label}",
                "of the rule",
                "50 rows a class",
                line[["low", "high"]],
                true[label],
            )
        pair = discrim.compare(fit, small, folds=10, seed=1).pairs().iloc[0]
        narrow = Law(1.5, p=1)
        gaps.append(law.missed(fit).mean() - narrow.missed(small).mean())
        kept.append(pair[["low", "high"]])
    for limits in kept:
        tally.add(
            "compare, difference of errors", "mean difference", "50 rows a class", limits, np.mean(gaps)
        )


def coefficients(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Log odds of LDA and of the logistic regression, marginal effects, and coefficients of least squares."""
    law = Law(1.5)
    slopes = np.array([-1.125, 1.5, 0.0, 0.0])
    terms = ["constant", "x1", "x2", "x3"]
    for rows, share in ((50, 1.0), (200, 0.5)):
        setting = f"{rows} rows"
        for number in range(round(share * samples)):
            data = law.mixture(rng, rows)
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
                for at in (0, 1, 2):
                    limits = table[["low", "high"]].iloc[at]
                    tally.add(name, terms[at], setting, limits, slopes[at])
            ratio = curve.odds_ratios().loc[("b", "x1"), ["low", "high"]]
            tally.add("odds ratios", "x1", setting, ratio, np.exp(1.5))
            p = expit(slopes[0] + data[["x1", "x2", "x3"]].to_numpy() @ slopes[1:])
            effects = curve.marginal_effects(columns=["x1", "x2"])
            for name, slope in (("x1", 1.5), ("x2", 0.0)):
                limits = effects.xs(name, level="column")[["low", "high"]].iloc[0]
                tally.add("marginal effects", name, setting, limits, (p * (1 - p)).mean() * slope)
            # Of least squares: slope D/(1 + D^2/4)/2 of the indicator, and the mean of the first column.
            table = discrim.indicator("y ~ .", data).coefficients()
            limits = table.loc[("b", "x1"), ["low", "high"]]
            tally.add("coefficients, indicator", "x1", setting, limits, 1.5 / 4 / (1 + 1.5**2 / 4))
            table = discrim.mlm("y ~ x1 + x2", data).tidy()
            limits = table[["conf_low", "conf_high"]].iloc[0]
            tally.add("coefficients, mlm", "mean of x1", setting, limits, 0.75)


def posteriors(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Posteriors of given rows, and the spread of covariances and of axes."""
    law = Law(1.5)
    point = pd.DataFrame({"x1": [1.5], "x2": [0.5], "x3": [0.0]})
    true = expit(1.5 * 1.5 - 1.125)
    for rows, share in ((50, 1.0), (200, 0.5)):
        setting = f"{rows} rows"
        for number in range(round(share * samples / 2)):
            data = law.mixture(rng, rows)
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
                drawn: dict[str, Any] = {"replicates": 150, "seed": int(rng.integers(2**31))}
                table = fits["lda"].posterior_intervals(point, method="bootstrap", **drawn)
                limits = table["b"][["low", "high"]].iloc[0]
                tally.add("posterior_intervals, lda, bootstrap", "posterior", setting, limits, true)
                table = fits["lda"].canonical().stability(**drawn)
                # The law's own: the share of each class in the variance between, and one within.
                root = 1.5**2 / 4
                tally.add("stability", "eigenvalue", setting, table[["low", "high"]].iloc[0], root)


def shares(rng: np.random.Generator, samples: int, tally: Tally) -> None:
    """Shares of the classes of an unlabelled batch, and observed shares in bins of probability."""
    law = Law(1.5)
    for rows, share in ((2000, 1.0), (25, 1.0)):
        setting = f"batch of 200; {rows} rows a class made the rule"
        fixed = discrim.lda("y ~ .", law.rows(rng, (rows, rows)))
        for number in range(round(share * samples / 2)):
            fit = fixed if rows == 2000 else discrim.lda("y ~ .", law.rows(rng, (rows, rows)))
            batch = law.mixture(rng, 200, np.array([0.7, 0.3]))
            for interval in ("wald", "profile"):
                limits = fit.estimate_prior(batch, interval=interval).table.loc["b", ["low", "high"]]
                tally.add(f"estimate_prior, {interval}", "share", setting, limits, 0.3)
            if rows == 25 and number % 5 == 0:
                drawn: dict[str, Any] = {"replicates": 100, "seed": int(rng.integers(2**31))}
                found = fit.estimate_prior(batch, interval="bootstrap", **drawn).table
                tally.add("estimate_prior, bootstrap", "share", setting, found.loc["b", ["low", "high"]], 0.3)
            elif rows == 2000:
                new = law.mixture(rng, 100)
                log_odds = new["x1"].to_numpy() * 1.5 - 1.125
                table = fit.assess(new, bins=5).calibration
                order = np.argsort(logit(fit.predict_proba(new)["b"].to_numpy()))
                for held, (_, line) in zip(np.array_split(order, 5), table.iterrows(), strict=True):
                    limits, seen = line[["low", "high"]], expit(log_odds[held]).mean()
                    tally.add("calibration, Wilson", "share of a bin", "100 new rows, 5 bins", limits, seen)


Study = Callable[[np.random.Generator, int, Tally], None]
STUDIES: dict[str, Study] = {
    each.__name__: each for each in (errors, measures, validated, coefficients, posteriors, shares)
}


def simulated(study: str, samples: int = 300, seed: int = 31) -> pd.DataFrame:
    """The table of one study."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        STUDIES[study](np.random.default_rng([seed, len(study)]), samples, tally)
    return tally.table()


def main(given: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Simulate the coverage of every interval that is printed.")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--only", choices=list(STUDIES), nargs="+", default=list(STUDIES))
    parser.add_argument("--write", help="a CSV file, in the place of printing")
    options = parser.parse_args(given)
    tables = {study: simulated(study, options.samples, options.seed) for study in options.only}
    table = pd.concat(tables, names=["study"]).round(4)
    if options.write is None:
        print(table.to_string())
    else:
        table.to_csv(options.write)


if __name__ == "__main__":
    main(sys.argv[1:])
