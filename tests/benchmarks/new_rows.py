"""New rows of real tables: detection of novel classes, and coverage of prediction sets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DiscrimWarning
from discrim.inference.roc import roc_area
from tests.support import TABLES

__all__ = ["print_coverage", "print_novelty"]


def read_classic(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES / "classic" / f"{name}.csv.gz")


def split_in_half(table: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table at random into two halves."""
    shuffled = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    return shuffled[: len(table) // 2], shuffled[len(table) // 2 :]


def load_tables() -> dict[str, tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Return response, training rows and new rows of each table by name."""
    return {
        "letter": ("lettr", *split_in_half(read_classic("mlbench_LetterRecognition"), 0)),
        "vowel": ("y", read_classic("ElemStatLearn_vowel.train"), read_classic("ElemStatLearn_vowel.test")),
        "digits": ("digit", read_classic("ElemStatLearn_zip.train"), read_classic("ElemStatLearn_zip.test")),
    }


def print_novelty() -> None:
    """Print mean areas under the ROC curves for detecting rows of a class that was held out.

    Each class is held out in turn; a new row is scored by the distance to the nearest class or by its largest
    typicality.
    """
    from discrim import lda, qda

    warnings.simplefilter("ignore", DiscrimWarning)
    fits: dict[str, Callable[..., Any]] = {
        "lda": lambda *given: lda(*given, collinear="drop"),
        "qda": qda,
        "qda, shrunk": lambda *given: qda(*given, covariance="shrunk"),
    }
    for name, (response, train, test) in load_tables().items():
        for model, fitted in fits.items():
            if model == ("qda" if name == "digits" else "qda, shrunk"):
                # Only the digits have columns that are constant within a class.
                continue
            areas: dict[str, list[float]] = {}
            for label in sorted(train[response].unique()):
                fit = fitted(f"{response} ~ .", train[train[response] != label])
                is_novel = (test[response] == label).to_numpy()
                for score_name, scores in _novelty_scores(fit, test).items():
                    areas.setdefault(score_name, []).append(roc_area(scores, is_novel).auc)
            means = "  ".join(f"{way} {np.mean(values):.3f}" for way, values in areas.items())
            print(f"novelty, {name}, {model}: {means}", flush=True)


def _novelty_scores(fit: Any, rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return scores (m,) by method, larger for rows that are less typical of every class."""
    scores = {}
    estimates = fit._fit.estimates
    x = fit._fit.new_rows(rows).rows_at_positions(np.arange(len(rows)))
    scores["distance"] = estimates.distances().squared(x).min(axis=0)
    scores["relative distance"] = fit.relative_distances(rows).min(axis=1).to_numpy()
    exact = ("exact", "chi2") if estimates.has_distances else ()
    for method in (*exact, "relative", "conformal"):
        scores[method] = -fit.typicality(rows, method=method).max(axis=1).to_numpy()
    return scores


def print_coverage(repeat: int) -> None:
    """Print how often prediction sets contain the class of new rows, and their mean number of classes."""
    from discrim import lda, qda

    warnings.simplefilter("ignore", DiscrimWarning)
    penguins = read_classic("palmerpenguins_penguins")[["species", "bill_depth_mm", "body_mass_g"]].dropna()
    sets = {
        "letter, qda": (qda, "lettr", read_classic("mlbench_LetterRecognition")),
        "vowel, lda": (lda, "y", read_classic("ElemStatLearn_vowel.train")),
        "Vehicle, lda": (lda, "Class", read_classic("mlbench_Vehicle")),
        "penguins, lda": (lda, "species", penguins),
    }
    for name, (verb, response, table) in sets.items():
        for level in (0.8, 0.9, 0.95):
            for options in ({"method": "loo"}, {"method": "loo", "by": "class"}, {"method": "split"}):
                results = [
                    _set_coverage(verb, response, table, seed, level, options) for seed in range(repeat)
                ]
                covered, worst, size = np.mean(results, axis=0)
                option_text = ", ".join(str(value) for value in options.values())
                print(
                    f"sets, {name}, level {level}, {option_text}: covered {covered:.3f}, the worst "
                    f"class {worst:.3f}, "
                    f"classes in a set {size:.2f}",
                    flush=True,
                )


def _set_coverage(
    verb: Any, response: str, table: pd.DataFrame, seed: int, level: float, options: dict[str, Any]
) -> tuple[float, float, float]:
    """Fit half of a table; return coverage, smallest class coverage and mean set size in the other half."""
    train, new = split_in_half(table, seed)
    calibration = {}
    if options["method"] == "split":
        train, calibration["calibration"] = split_in_half(train, seed)
    fit = verb(f"{response} ~ .", train)
    in_set = fit.predict_set(new, level, **options, **calibration)[fit.classes].to_numpy(bool)
    codes = fit.classes.get_indexer(new[response])
    covered = pd.Series(in_set[np.arange(len(codes)), codes])
    return float(covered.mean()), float(covered.groupby(codes).mean().min()), float(in_set.sum(axis=1).mean())
