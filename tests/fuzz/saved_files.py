"""Mutants of saved fits: changed bytes, and changed contents under a right checksum.

`mutant` makes one; a `Child`, a process of bounded memory, loads it and asks of what loads a summary, labels,
posteriors and scores. A child that does not answer in time is ended.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import random
import resource
import select
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.covariance import ShrunkCovariance

from discrim.covariance import Diagonal, FactorAnalytic, Regularized, Spherical
from discrim.models.base.tensor_file import FORMAT
from tests.fuzz.processor_time import WAITING, ends_after, was_ended
from tests.support import ROOT

SECONDS = 10.0
"""Processor time that a mutant may take; a fit of these takes a small part of one second."""

MEMORY = 3 * 2**30
"""Bytes of address space that a child may have beyond what it has after its imports."""

ROWS = 6
"""Rows that are predicted."""


# ---- the fits


@cache
def table() -> pd.DataFrame:
    """Ninety rows of three classes that overlap, with categories, counts and weights."""
    rng = np.random.default_rng(14)
    n = 90
    y = np.repeat(["ape", "bee", "cat"], n // 3)
    shift = np.repeat([0.0, 0.8, 1.6], n // 3)
    data = pd.DataFrame(
        {"y": y, "a": rng.standard_normal(n) + shift, "b": rng.standard_normal(n) * 3 - shift}
    )
    data["c"] = 50 + 4 * rng.standard_normal(n) + shift
    data["g"] = rng.choice(["x", "y", "z"], n)
    data["h"] = rng.integers(1, 4, n)
    data["w"] = rng.integers(1, 4, n).astype(float)
    return data


@cache
def apart() -> pd.DataFrame:
    """Two classes that a plane separates."""
    data = table().iloc[:60].copy()
    data["a"] += np.where(data["y"] == "ape", -4.0, 4.0)
    return data


@cache
def wide() -> pd.DataFrame:
    """Fewer rows than columns, in two classes."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.standard_normal((12, 20)), columns=[f"v{j}" for j in range(20)])
    data.insert(0, "y", np.repeat(["n", "p"], 6))
    return data


@cache
def typed() -> pd.DataFrame:
    """The same rows with other kinds of labels and categories."""
    data = table().copy()
    data["y"] = pd.Categorical(data["y"], ["cat", "ape", "bee", "none"], ordered=True)
    data["g"] = data["g"] == "x"
    data["h"] = data["h"].astype("Int16")
    return data


TABLES = {"hyperplane": apart, "wide": wide, "typed": typed}
"""Tables of fits by the first or last word of their names; `table` of others."""


def rows_of(name: str) -> pd.DataFrame:
    """The table of a fit."""
    words = name.split()[0].split("-")
    return TABLES.get(words[0], TABLES.get(words[-1], table))()


FORMULAS = {
    "all": "y ~ .",
    "numbers": "h ~ a + b + C(y)",
    "plain": "y ~ a + b + c",
    "bs": "y ~ bs(a, df=5) + b",
    "poly": "y ~ poly(a, 2) + poly(b, 2, raw=True)",
    "cr": "y ~ cr(a, df=4, constraints='center') + cr(b, df=3, constraints='center')",
    "scaled": "y ~ center(a) + scale(b) + standardize(c)",
    "nested": "y ~ center(poly(a, 2)) + scale(bs(b, df=4)) + I(center(c) ** 2)",
    "categories": "y ~ a + g + C(h, Sum)",
    "interactions": "y ~ a * g + I(b ** 2) + log(c)",
    "mixed": "y ~ a * b + g + C(h)",
    "counted": "y ~ a + h + g",
    "levels": "C(y, levels=['cat', 'bee', 'ape']) ~ a + b:C(h)",
}

FITS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "lda": ("lda", {}, (*tuple(FORMULAS)[2:-3], "levels")),
    "lda-mle-w": ("lda", {"method": "mle", "weights": "w"}, ("plain", "categories")),
    "lda-diagonal": ("lda", {"covariance": "diagonal"}, ("plain",)),
    "lda-shrunk": ("lda", {"covariance": "shrunk"}, ("plain", "interactions")),
    "lda-strimmer": ("lda", {"covariance": Diagonal("strimmer")}, ("plain",)),
    "lda-correlation": ("lda", {"covariance": "correlation"}, ("plain", "all")),
    "lda-spherical": ("lda", {"covariance": Spherical(standardize=True)}, ("plain",)),
    "lda-pinv": ("lda", {"covariance": "pinv"}, ("plain",)),
    "lda-ncomp": ("lda", {"ncomp": 1, "prior": "equal"}, ("plain", "bs")),
    "lda-estimator": ("lda", {"covariance": ShrunkCovariance()}, ("plain",)),
    "lda-shrunk-wide": ("lda", {"covariance": "shrunk"}, ("all",)),
    "lda-typed": ("lda", {}, ("plain", "numbers")),
    "qda-shrunk-wide": ("qda", {"covariance": "shrunk"}, ("all",)),
    "qda-factor": ("qda", {"covariance": FactorAnalytic(standardize=True)}, ("plain", "interactions")),
    "qda-factor-wide": ("qda", {"covariance": FactorAnalytic(1, form="AkBQkD")}, ("all",)),
    "qda-estimator": ("qda", {"covariance": ShrunkCovariance()}, ("plain",)),
    "rda-wide": ("rda", {"alpha": 0.5, "gamma": 0.5}, ("all",)),
    "logistic-typed": ("logistic", {"prior": "equal"}, ("categories",)),
    "naive_bayes-typed": ("naive_bayes", {"kernel": ["a"], "bandwidth": 0.5}, ("numbers", "mixed")),
    "perceptron-typed": ("perceptron", {"maxiter": 5}, ("numbers",)),
    "lda-t": ("lda", {"covariance": "t"}, ("plain",)),
    "lda-mcd": ("lda", {"covariance": "mcd"}, ("plain",)),
    "qda": ("qda", {}, ("plain", "scaled", "bs")),
    "qda-w": ("qda", {"weights": "w"}, ("plain",)),
    "qda-shrunk": ("qda", {"covariance": "shrunk"}, ("plain", "interactions")),
    "qda-diagonal": ("qda", {"covariance": "diagonal"}, ("plain",)),
    "qda-ncomp": ("qda", {"ncomp": 2}, ("plain", "interactions")),
    "qda-t": ("qda", {"covariance": "t"}, ("plain",)),
    "rda": ("rda", {"alpha": 0.6, "gamma": 0.8}, ("plain", "poly", "interactions")),
    "rda-friedman": (
        "rda",
        {"alpha": 0.3, "gamma": 0.1, "parametrization": Regularized("friedman", standardize=True)},
        ("plain",),
    ),
    "naive_bayes": ("naive_bayes", {}, ("plain", "mixed", "scaled")),
    "naive_bayes-kernel": ("naive_bayes", {"kernel": True, "laplace": 1}, ("plain", "mixed")),
    "naive_bayes-counts": ("naive_bayes", {"counts": ["h"], "weights": "w", "laplace": 1}, ("counted",)),
    "shrunken_centroids": ("shrunken_centroids", {"threshold": 1.0}, ("plain", "scaled", "categories")),
    "location": ("location", {"smoothing": 0.2}, ("plain", "mixed", "scaled")),
    "plda": ("plda", {}, ("plain", "scaled", "categories")),
    "plda-lengths": ("plda", {"normalize": True, "components": 1}, ("plain",)),
    "sparse_lda": ("sparse_lda", {"penalty": 0.1}, ("plain", "scaled", "categories")),
    "sparse_lda-n": ("sparse_lda", {"nonzero": [2, 1], "ridge": 0.1}, ("plain",)),
    "nearest_centroid": ("nearest_centroid", {}, ("plain", "scaled", "categories")),
    "nearest_centroid-w": ("nearest_centroid", {"weights": "w", "prior": None}, ("plain",)),
    "pls": ("pls", {"ncomp": 2}, ("plain", "scaled")),
    "indicator": ("indicator", {}, ("plain", "poly", "interactions")),
    "logistic": ("logistic", {}, ("plain", "bs", "categories")),
    "logistic-w": ("logistic", {"weights": "w", "bias_reduction": True}, ("plain",)),
    "perceptron": ("perceptron", {"seed": 1, "maxiter": 50}, ("plain", "categories")),
    "hyperplane": ("hyperplane", {}, ("plain", "scaled", "categories")),
    "kernel_lda": ("kernel_lda", {"kernel": "gaussian", "width": 2.0, "ridge": 0.5}, ("plain", "categories")),
    "kernel_lda-w": (
        "kernel_lda",
        {
            "kernel": "laplace",
            "scale": "ranks",
            "width": 3.0,
            "ridge": 0.5,
            "calibrate": False,
            "weights": "w",
        },
        ("categories",),
    ),
    "knn": ("knn", {"k": 3}, ("plain", "interactions")),
    "knn-mahalanobis": ("knn", {"k": 3, "metric": "mahalanobis"}, ("plain",)),
    "moments": ("moments", {}, ("plain", "mixed", "scaled", "levels")),
    "moments-diagonal": ("moments", {"scatters": "diagonal", "weights": "w"}, ("counted", "interactions")),
    "moments-pooled": ("moments", {"scatters": "pooled"}, ("categories",)),
    "moments-typed": ("moments", {"levels": ["ape", "bee", "cat", "dog"]}, ("plain", "categories")),
    "knn-cityblock": ("knn", {"k": 3, "metric": "cityblock", "scale": False}, ("scaled",)),
}


@cache
def saved() -> dict[str, bytes]:
    """The file of each fit, by the names of fit and formula."""
    import discrim

    files = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "fit"
        for name, (verb, options, formulas) in FITS.items():
            data = rows_of(name)
            for formula in formulas:
                text = FORMULAS[formula]
                getattr(discrim, verb)(text, data, **options).save(path)
                files[f"{name} {formula}"] = path.read_bytes()
    return files


# ---- a file in parts


@dataclass
class Parts:
    """A saved fit taken apart: its description, and its buffers by name."""

    about: dict[str, Any]
    buffers: dict[str, np.ndarray]
    entries: dict[str, Any] = field(default_factory=dict)
    """Changes of what the header says of a buffer."""


def parts_of(data: bytes) -> Parts:
    """Take a file apart."""
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    about = json.loads(header.pop("__metadata__")["fit"])
    buffers = {
        key: np.frombuffer(body[slice(*entry["data_offsets"])], "<f8").reshape(entry["shape"]).copy()
        for key, entry in header.items()
    }
    return Parts(about, buffers)


def file_of(parts: Parts) -> bytes:
    """Put a file together, with a right checksum."""
    header: dict[str, Any] = {}
    chunks, end = [], 0
    for key, values in parts.buffers.items():
        chunk = np.ascontiguousarray(values, dtype="<f8").tobytes()
        start, end = end, end + len(chunk)
        header[key] = {"dtype": "F64", "shape": list(values.shape), "data_offsets": [start, end]}
        header[key] |= parts.entries.get(key, {})
        chunks.append(chunk)
    body = b"".join(chunks)
    fit = json.dumps(parts.about, sort_keys=True)
    checksum = hashlib.sha256(fit.encode() + b"\0" + body).hexdigest()
    header["__metadata__"] = {"format": FORMAT, "fit": fit, "sha256": checksum}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


# ---- mutations


NUMBERS = [
    *(
        0,
        1,
        2,
        3,
        -1,
        -2,
        5,
        20,
        25,
        1000,
        10**6,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        10**17,
        10**400,
        True,
        False,
    ),
    *(0.0, -0.0, 0.5, 1.0, -1.0, 2.5, 5e-324, 1e-310, 1e-300, 1e-155, 1e17, 1e154, 1e155, 1e300, 1e308),
    *(float("nan"), float("inf"), float("-inf"), -1e308, 1.7976931348623157e308),
]
OTHERS: list[Any] = [
    *(
        None,
        "",
        "a",
        "x",
        "y ~ a",
        "loo",
        "FullCovariance",
        "ShrunkCovariance",
        "MCDCovariance",
        "SAVECovariance",
        "\ud800",
        "\0",
        "é",
        "ape",
        "int8",
        "Float32",
        "boolean",
        "string[pyarrow]",
        "e\u0301",
        "x" * 5000,
        "\x1b[31m",
    ),
    *([], {}, [[]], [1], ["a"], [None], {"a": 1}, [1.0, 2.0], [0, 0], [["a", 1.0]], "=cmd()", "os.system"),
    [[[[[[[[[[[[]]]]]]]]]]]],
]
VALUES = [
    *(0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 5e-324, -5e-324, 1e-310, 1e-300, 1e-155, 1e-17, 3.0, 1e9, 1e17, 1e100),
    *(1e154, 1e155, 1e200, 1e300, 1e308, -1e308, 1.7976931348623157e308, np.nan, np.inf, -np.inf, 2.0**53),
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every part of a JSON value."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from _places(each, (*path, key))


def _change_json(parts: Parts, rng: random.Random) -> None:
    places = list(_places(parts.about))
    path = rng.choice(places)
    holder = parts.about
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    old = holder[key]
    kind = rng.random()
    if kind < 0.15 and isinstance(old, list) and old:
        at = rng.randrange(len(old))
        change = rng.randrange(4)
        if change == 0:
            del old[at]
        elif change == 1:
            old.insert(at, copy.deepcopy(old[at]))
        elif change == 2:
            rng.shuffle(old)
        else:
            holder[key] = old * rng.choice([2, 3, 50])
    elif kind < 0.2 and isinstance(holder, dict):
        del holder[key]
    elif kind < 0.25 and isinstance(holder, dict):
        holder[rng.choice(["extra", "a", "model", "levels", ""])] = copy.deepcopy(old)
    elif kind < 0.45 and isinstance(old, int | float) and not isinstance(old, bool):
        holder[key] = rng.choice(
            [old + 1, old - 1, -old, old * 2, old * 1e10, old / 1e10, float(old), str(old)]
        )
    elif kind < 0.6 and isinstance(old, str) and old:
        at = rng.randrange(len(old))
        new = rng.choice(
            ["", chr(rng.randrange(1, 1000)), "\ud83d", "(", ")", "~", "**", "9", " ", "'", ",", "="]
        )
        holder[key] = old[:at] + new + old[at + rng.randrange(2) :]
    elif kind < 0.7:
        other: Any = parts.about
        for step in rng.choice(places):
            other = other[step] if isinstance(other, dict | list) and step != key else other
        holder[key] = copy.deepcopy(other)
    elif kind < 0.85:
        holder[key] = rng.choice(NUMBERS)
    else:
        holder[key] = copy.deepcopy(rng.choice(OTHERS))


def _change_numbers(parts: Parts, rng: random.Random) -> None:
    key = rng.choice(list(parts.buffers))
    values = parts.buffers[key]
    if not values.size:
        return
    kind = rng.randrange(9)
    flat = values.reshape(-1)
    some = [rng.randrange(flat.size) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    with np.errstate(all="ignore"):
        if kind <= 2:
            flat[some] = rng.choice(VALUES)
        elif kind == 3:
            values[...] = rng.choice(VALUES)
        elif kind == 4:
            values *= rng.choice([-1.0, 2.0, 0.5, 1e10, 1e-10, 1e100, 1e-100, 1e150, 1e200, 1e300, 1e-300])
        elif kind == 5:
            values += rng.choice([1.0, -1.0, 0.5, 1e-8, 1e10, 1e200])
        elif kind == 6:
            np.random.default_rng(rng.randrange(2**32)).shuffle(flat)
        elif kind == 7:
            flat[some] *= rng.choice([-1.0, 1e5, 1e-5, 1 + 1e-12, 1e100, 1e-100, 1e250, 1e-250])
        else:
            line = rng.randrange(len(values))
            values[line] = rng.choice([0.0, 1.0, 1e-300, 1e300, rng.choice(VALUES)])


def _change_shape(parts: Parts, rng: random.Random) -> None:
    key = rng.choice(list(parts.buffers))
    values = parts.buffers[key]
    kind = rng.randrange(8)
    if kind == 0:
        parts.buffers[key] = np.array(rng.choice(VALUES))
    elif kind == 1:
        parts.buffers[key] = values.reshape(-1)
    elif kind == 2:
        parts.buffers[key] = values.T
    elif kind == 3:
        parts.buffers[key] = values[:-1] if values.ndim else values
    elif kind == 4:
        parts.buffers[key] = np.concatenate([values, values]) if values.ndim else values
    elif kind == 5:
        parts.buffers[key] = values[..., :0] if values.ndim else np.zeros(0)
    elif kind == 6:
        del parts.buffers[key]
        if rng.random() < 0.5:
            parts.buffers[rng.choice(["extra", "roots", "weights"])] = values
    else:
        part = rng.choice(["shape", "data_offsets", "dtype"])
        parts.entries[key] = {
            part: rng.choice([None, [], [0], [2**40, 2**40], [-1, 8], "F32", "x", 7, [1.5]])
        }


def _change_together(parts: Parts, rng: random.Random) -> None:
    """Changes that go together, so that a file passes the checks of what belongs together."""
    kind = rng.randrange(6)
    held = parts.buffers
    with np.errstate(all="ignore"):
        if kind == 0 and {"counts", "rows"} <= set(held):
            both = rng.choice([1.0, 2.0, 1e9, 2.0**53, 1e15, 1e17, 1e308])
            held["counts"][...] = held["rows"][...] = both
        elif kind == 1 and "counts" in held:
            held["counts"] *= rng.choice([1e-300, 1e-9, 0.01, 1e5, 1e300])
        elif kind == 2:
            factor = 2.0 ** rng.choice([-1000, -600, -500, -300, -100, 100, 300, 500, 600, 1000])
            for key in rng.choice([("centres",), ("scale",), ("centres", "scale"), ("scatters", "roots")]):
                if key in held:
                    held[key] *= factor
        elif kind == 3:
            factor = rng.choice([1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300])
            for key, power in (("scatters", 2), ("roots", 1)):
                if key in held:
                    held[key] *= factor**power
        elif kind == 4 and "prior" in held:
            held["prior"][...] = 0.0
            held["prior"][rng.randrange(len(held["prior"]))] = 1.0
        else:
            j = (
                rng.randrange(held["scale"].shape[0])
                if held.get("scale", np.zeros(0)).ndim and held["scale"].size
                else None
            )
            if j is not None:
                factor = 2.0 ** rng.choice([-700, -400, 400, 700])
                held["scale"][j] *= factor
                held["centres"][:, j] /= factor


def _contents(data: bytes, rng: random.Random) -> bytes:
    parts = parts_of(data)
    changes = [_change_json, _change_numbers, _change_shape, _change_together]
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        change = rng.choices(changes, [45, 35, 8, 12])[0]
        # A change may meet what an earlier one has spoilt.
        with contextlib.suppress(KeyError, IndexError, TypeError, ValueError, OverflowError):
            change(parts, rng)
    return file_of(parts)


def _raw(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(changed)) if rng.random() < 0.5 else rng.randrange(min(len(changed), 400))
        kind = rng.randrange(6)
        if kind == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at] = rng.randrange(256)
        elif kind == 2:
            del changed[at : at + rng.choice([1, 8, 100])]
        elif kind == 3:
            changed[at:at] = rng.randbytes(rng.choice([1, 8, 100]))
        elif kind == 4:
            del changed[at:]
        else:
            changed[:8] = rng.choice([rng.randrange(2**64), rng.randrange(len(data) + 9)]).to_bytes(
                8, "little"
            )
        if not changed:
            break
    return bytes(changed)


def mutant(rng: random.Random) -> tuple[str, bytes]:
    """A mutant, and the names of its fit and formula."""
    name = rng.choice(list(saved()))
    return name, (_raw if rng.random() < 0.1 else _contents)(saved()[name], rng)


# ---- the child: one file after the other


def used(path: str, name: str) -> str:
    """Load a file and use it: how that ended, as one line."""
    from discrim import load
    from discrim.errors import DiscrimError

    rows = rows_of(name)
    data = rows.iloc[:: len(rows) // ROWS]
    try:
        fit = load(path)
    except DiscrimError as error:
        return "refused" if str(error).strip() else "FINDING load an error without a text"
    except BaseException as error:
        return _finding("load", error)
    complaint = ""
    for what, ask in _questions(fit, data).items():
        try:
            complaint = complaint or (ask() or "")
        except DiscrimError:
            pass
        except BaseException as error:
            return _finding(what, error)
    return (complaint and f"FINDING {complaint}") or "loaded"


def _questions_of_moments(held: Any, data: pd.DataFrame) -> dict[str, Callable[[], str | None]]:
    """The same of moments."""
    import discrim

    def fitted(verb: str, **options: Any) -> Callable[[], str | None]:
        def ask() -> str | None:
            fit = getattr(discrim, verb)(moments=held, **options)
            values = np.asarray(fit.decision_function(data), dtype=float)
            return f"{verb} NaN score: {values.tolist()}" if np.isnan(values).any() else None

        return ask

    return {
        "lda": fitted("lda"),
        "rda": fitted("rda", alpha=0.5, gamma=0.5),
        "naive_bayes": fitted("naive_bayes", laplace=1.0, smoothing=1e-3),
        "means": lambda: None if len(held.means) == len(held.classes) else "classes without means",
        "sum": lambda: None if (held + held).nobs >= held.nobs else "fewer rows",
        "difference": lambda: None if (held - held).nobs <= held.nobs else "more rows",
        "of": lambda: None if held.of(data, weights=np.ones(len(data))).nobs else "no rows",
        "print": lambda: None if str(held) else "no text",
    }


def _questions(fit: Any, data: pd.DataFrame) -> dict[str, Callable[[], str | None]]:
    """What is asked of a fit, or of moments, that were read; each gives a complaint or none."""
    from discrim import Moments
    from discrim.errors import DiscrimError

    if isinstance(fit, Moments):
        return _questions_of_moments(fit, data)

    def posteriors() -> str | None:
        try:
            found = fit.predict_proba(data)
        except (AttributeError, DiscrimError):
            return None
        values = found.to_numpy(dtype=float)
        if np.isnan(values).any():
            return f"predict_proba NaN posterior: {values.tolist()}"
        if not (values >= 0).all() or np.abs(values.sum(axis=1) - 1).max() > 1e-9:
            return f"predict_proba no distribution: {values.tolist()}"
        return None

    def scores() -> str | None:
        values = np.asarray(fit.decision_function(data), dtype=float)
        return f"decision_function NaN score: {values.tolist()}" if np.isnan(values).any() else None

    def labels() -> str | None:
        values = fit.predict(data)
        return "predict missing label" if values.isna().any() else None

    def text() -> str | None:
        return None if fit.summary().as_text() else "no summary"

    return {
        "predict_proba": posteriors,
        "decision_function": scores,
        "predict": labels,
        "summary": text,
        "tidy": lambda: None if len(fit.tidy()) else "no rows",
        "glance": lambda: None if len(fit.glance()) else "no rows",
        "print": lambda: None if str(fit) and repr(fit) else "no text",
    }


def _finding(what: str, error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-8:]
    own = [each for each in last if "discrim" in each.filename] or last
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    return f"FINDING {what} {type(error).__name__} at {where}: {str(error)[:200]!r}"


def child() -> None:
    """Answer one line for each line of standard input, a verb and a path."""
    import discrim

    warnings.simplefilter("ignore")
    table(), apart(), wide(), typed()
    # Imports that wait for the first fit are made now, before memory is bounded.
    discrim.lda("y ~ bs(a, df=4)", table()).summary().as_text()
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    for line in sys.stdin:
        name, path = line.rstrip("\n").split("\t")
        with ends_after(SECONDS):
            answer = used(path, name)
        print(json.dumps(answer), flush=True)


# ---- the parent


class Child:
    """A process that answers for one file after the other, started anew where one ended it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "mutant"
        self._start()

    def _start(self) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.saved_files"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=ROOT,
            text=True,
        )

    def answer(self, name: str, data: bytes) -> str:
        """What became of a file."""
        self._path.write_bytes(data)
        answers = self._process.stdout
        try:
            print(name, self._path, sep="\t", file=self._process.stdin, flush=True)
            ready, _, _ = select.select([answers], [], [], WAITING)
            line = answers.readline() if ready else ""
        except OSError:
            line, ready = "", [answers]
        if line:
            return json.loads(line)
        if not ready:
            self._process.kill()
        code = self._process.wait()
        self._start()
        if not ready:
            return f"FINDING waits for {WAITING:g} s"
        if was_ended(code):
            return f"FINDING over {SECONDS:g} s of processor time"
        return f"FINDING the process ended with {code}"

    def end(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


if __name__ == "__main__":
    child()
