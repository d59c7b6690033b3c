"""New rows of real tables: novel classes that are detected, and sets that hold the class."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DiscrimWarning
from discrim.inference.roc import roc_area
from tests.support import TABLES

__all__ = ["coverage", "novelty"]


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES / "classic" / f"{name}.csv.gz")


def halves(table: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    dealt = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    return dealt[: len(table) // 2], dealt[len(table) // 2 :]


def tables() -> dict[str, tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Response, rows that fit, rows that are new."""
    return {
        "letter": ("lettr", *halves(read("mlbench_LetterRecognition"), 0)),
        "vowel": ("y", read("ElemStatLearn_vowel.train"), read("ElemStatLearn_vowel.test")),
        "digits": ("digit", read("ElemStatLearn_zip.train"), read("ElemStatLearn_zip.test")),
    }


def novelty() -> None:
    """Areas under the ROC curves of rows of a class held out against new rows of the others, in the mean.

    Each class is held out in turn; a row is called new by the distance to the nearest class, or by its
    largest typicality.
    """
    from discrim import lda, qda

    warnings.simplefilter("ignore", DiscrimWarning)
    fits: dict[str, Callable[..., Any]] = {
        "lda": lambda *given: lda(*given, collinear="drop"),
        "qda": qda,
        "qda, shrunk": lambda *given: qda(*given, covariance="shrunk"),
    }
    for name, (response, train, test) in tables().items():
        for model, fitted in fits.items():
            if model == ("qda" if name == "digits" else "qda, shrunk"):
                # The digits have columns that are constant in a class, the others have none.
                continue
            areas: dict[str, list[float]] = {}
            for label in sorted(train[response].unique()):
                fit = fitted(f"{response} ~ .", train[train[response] != label])
                novel = (test[response] == label).to_numpy()
                for way, strange in _strangeness(fit, test).items():
                    areas.setdefault(way, []).append(roc_area(strange, novel).auc)
            means = "  ".join(f"{way} {np.mean(found):.3f}" for way, found in areas.items())
            print(f"novelty, {name}, {model}: {means}", flush=True)


def _strangeness(fit: Any, rows: pd.DataFrame) -> dict[str, np.ndarray]:
    found = {}
    numbers = fit._fit.estimates
    x = fit._fit.new_rows(rows).rows_at_positions(np.arange(len(rows)))
    found["distance"] = numbers.distances().squared(x).min(axis=0)
    found["relative distance"] = fit.relative_distances(rows).min(axis=1).to_numpy()
    exact = ("exact", "chi2") if numbers.has_distances else ()
    for method in (*exact, "relative", "conformal"):
        found[method] = -fit.typicality(rows, method=method).max(axis=1).to_numpy()
    return found


def coverage(repeat: int) -> None:
    """Share of new rows whose set has their class, over halves dealt anew, and classes in a set."""
    from discrim import lda, qda

    warnings.simplefilter("ignore", DiscrimWarning)
    penguins = read("palmerpenguins_penguins")[["species", "bill_depth_mm", "body_mass_g"]].dropna()
    sets = {
        "letter, qda": (qda, "lettr", read("mlbench_LetterRecognition")),
        "vowel, lda": (lda, "y", read("ElemStatLearn_vowel.train")),
        "Vehicle, lda": (lda, "Class", read("mlbench_Vehicle")),
        "penguins, lda": (lda, "species", penguins),
    }
    for name, (verb, response, table) in sets.items():
        for level in (0.8, 0.9, 0.95):
            for asked in ({"method": "loo"}, {"method": "loo", "by": "class"}, {"method": "split"}):
                found = [_covered(verb, response, table, seed, level, asked) for seed in range(repeat)]
                hits, least, size = np.mean(found, axis=0)
                said = ", ".join(str(value) for value in asked.values())
                print(
                    f"sets, {name}, level {level}, {said}: covered {hits:.3f}, the worst class {least:.3f}, "
                    f"classes in a set {size:.2f}",
                    flush=True,
                )


def _covered(
    verb: Any, response: str, table: pd.DataFrame, seed: int, level: float, asked: dict[str, Any]
) -> tuple[float, float, float]:
    own, new = halves(table, seed)
    held = {}
    if asked["method"] == "split":
        own, held["calibration"] = halves(own, seed)
    fit = verb(f"{response} ~ .", own)
    inside = fit.predict_set(new, level, **asked, **held)[fit.classes].to_numpy(bool)
    codes = fit.classes.get_indexer(new[response])
    hits = pd.Series(inside[np.arange(len(codes)), codes])
    return float(hits.mean()), float(hits.groupby(codes).mean().min()), float(inside.sum(axis=1).mean())
