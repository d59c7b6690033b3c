"""Mutants of saved fits: changed bytes, and changed contents with a correct checksum.

`random_mutant` makes a mutant; a `ChildProcess` with limited memory loads it and, if that succeeds,
computes a summary, labels, posteriors and scores. A process that does not answer in time is stopped.
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
from tests.fuzz.processor_time import MAX_WAIT_SECONDS, kill_after, was_killed
from tests.support import ROOT

MAX_SECONDS = 10.0
"""Processor seconds for a mutant; an intact file needs a fraction of one second."""

MEMORY_BYTES = 3 * 2**30
"""Bytes of address space of the child process beyond those after its imports."""

N_ROWS = 6
"""Number of rows that are predicted."""


# ---- the fits


@cache
def overlapping_table() -> pd.DataFrame:
    """Return ninety rows of three overlapping classes, with categories, counts and weights."""
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
def separable_table() -> pd.DataFrame:
    """Return two classes that a plane separates."""
    data = overlapping_table().iloc[:60].copy()
    data["a"] += np.where(data["y"] == "ape", -4.0, 4.0)
    return data


@cache
def wide_table() -> pd.DataFrame:
    """Return two classes with fewer rows than columns."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.standard_normal((12, 20)), columns=[f"v{j}" for j in range(20)])
    data.insert(0, "y", np.repeat(["n", "p"], 6))
    return data


@cache
def typed_table() -> pd.DataFrame:
    """Return the overlapping table with other types of labels and categories."""
    data = overlapping_table().copy()
    data["y"] = pd.Categorical(data["y"], ["cat", "ape", "bee", "none"], ordered=True)
    data["g"] = data["g"] == "x"
    data["h"] = data["h"].astype("Int16")
    return data


TABLES = {"hyperplane": separable_table, "wide": wide_table, "typed": typed_table}
"""Tables of fits by the first or last word of their names; other fits use the overlapping table."""


def table_of_fit(name: str) -> pd.DataFrame:
    """Return the table of a fit by the name of the fit."""
    words = name.split()[0].split("-")
    return TABLES.get(words[0], TABLES.get(words[-1], overlapping_table))()


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
def saved_fits() -> dict[str, bytes]:
    """Return the bytes of the file of each fit, by the names of fit and formula."""
    import discrim

    files = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "fit"
        for name, (verb, options, formulas) in FITS.items():
            data = table_of_fit(name)
            for formula in formulas:
                text = FORMULAS[formula]
                getattr(discrim, verb)(text, data, **options).save(path)
                files[f"{name} {formula}"] = path.read_bytes()
    return files


# ---- a file in parts


@dataclass
class FileContents:
    """A saved fit in parts.

    Attributes
    ----------
    about : dict
        Description of the fit.
    buffers : dict of str to ndarray
    entries : dict of str to dict
        Changes of the header entries of buffers.
    """

    about: dict[str, Any]
    buffers: dict[str, np.ndarray]
    entries: dict[str, Any] = field(default_factory=dict)
    """Changes of what the header says of a buffer."""


def split_file(data: bytes) -> FileContents:
    """Split the bytes of a file into its parts."""
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    about = json.loads(header.pop("__metadata__")["fit"])
    buffers = {
        key: np.frombuffer(body[slice(*entry["data_offsets"])], "<f8").reshape(entry["shape"]).copy()
        for key, entry in header.items()
    }
    return FileContents(about, buffers)


def join_file(parts: FileContents) -> bytes:
    """Join the parts to a file with a correct checksum."""
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
OTHER_VALUES: list[Any] = [
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
FLOATS = [
    *(0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 5e-324, -5e-324, 1e-310, 1e-300, 1e-155, 1e-17, 3.0, 1e9, 1e17, 1e100),
    *(1e154, 1e155, 1e200, 1e300, 1e308, -1e308, 1.7976931348623157e308, np.nan, np.inf, -np.inf, 2.0**53),
]


def _json_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all parts of a JSON value."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from _json_paths(each, (*path, key))


def _change_json(parts: FileContents, rng: random.Random) -> None:
    """Change one value of the description."""
    paths = list(_json_paths(parts.about))
    path = rng.choice(paths)
    holder = parts.about
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    old = holder[key]
    kind = rng.random()
    if kind < 0.15 and isinstance(old, list) and old:
        position = rng.randrange(len(old))
        change = rng.randrange(4)
        if change == 0:
            del old[position]
        elif change == 1:
            old.insert(position, copy.deepcopy(old[position]))
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
        position = rng.randrange(len(old))
        new = rng.choice(
            ["", chr(rng.randrange(1, 1000)), "\ud83d", "(", ")", "~", "**", "9", " ", "'", ",", "="]
        )
        holder[key] = old[:position] + new + old[position + rng.randrange(2) :]
    elif kind < 0.7:
        other: Any = parts.about
        for step in rng.choice(paths):
            other = other[step] if isinstance(other, dict | list) and step != key else other
        holder[key] = copy.deepcopy(other)
    elif kind < 0.85:
        holder[key] = rng.choice(NUMBERS)
    else:
        holder[key] = copy.deepcopy(rng.choice(OTHER_VALUES))


def _change_numbers(parts: FileContents, rng: random.Random) -> None:
    """Change some numbers of one buffer."""
    key = rng.choice(list(parts.buffers))
    values = parts.buffers[key]
    if not values.size:
        return
    kind = rng.randrange(9)
    flat = values.reshape(-1)
    positions = [rng.randrange(flat.size) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    with np.errstate(all="ignore"):
        if kind <= 2:
            flat[positions] = rng.choice(FLOATS)
        elif kind == 3:
            values[...] = rng.choice(FLOATS)
        elif kind == 4:
            values *= rng.choice([-1.0, 2.0, 0.5, 1e10, 1e-10, 1e100, 1e-100, 1e150, 1e200, 1e300, 1e-300])
        elif kind == 5:
            values += rng.choice([1.0, -1.0, 0.5, 1e-8, 1e10, 1e200])
        elif kind == 6:
            np.random.default_rng(rng.randrange(2**32)).shuffle(flat)
        elif kind == 7:
            flat[positions] *= rng.choice([-1.0, 1e5, 1e-5, 1 + 1e-12, 1e100, 1e-100, 1e250, 1e-250])
        else:
            line = rng.randrange(len(values))
            values[line] = rng.choice([0.0, 1.0, 1e-300, 1e300, rng.choice(FLOATS)])


def _change_shape(parts: FileContents, rng: random.Random) -> None:
    """Change the shape of one buffer, remove it, or change its header entry."""
    key = rng.choice(list(parts.buffers))
    values = parts.buffers[key]
    kind = rng.randrange(8)
    if kind == 0:
        parts.buffers[key] = np.array(rng.choice(FLOATS))
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


def _change_consistently(parts: FileContents, rng: random.Random) -> None:
    """Change several buffers consistently, so that checks of their consistency pass."""
    kind = rng.randrange(6)
    buffers = parts.buffers
    with np.errstate(all="ignore"):
        if kind == 0 and {"counts", "rows"} <= set(buffers):
            value = rng.choice([1.0, 2.0, 1e9, 2.0**53, 1e15, 1e17, 1e308])
            buffers["counts"][...] = buffers["rows"][...] = value
        elif kind == 1 and "counts" in buffers:
            buffers["counts"] *= rng.choice([1e-300, 1e-9, 0.01, 1e5, 1e300])
        elif kind == 2:
            factor = 2.0 ** rng.choice([-1000, -600, -500, -300, -100, 100, 300, 500, 600, 1000])
            for key in rng.choice([("centres",), ("scale",), ("centres", "scale"), ("scatters", "roots")]):
                if key in buffers:
                    buffers[key] *= factor
        elif kind == 3:
            factor = rng.choice([1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300])
            for key, power in (("scatters", 2), ("roots", 1)):
                if key in buffers:
                    buffers[key] *= factor**power
        elif kind == 4 and "prior" in buffers:
            buffers["prior"][...] = 0.0
            buffers["prior"][rng.randrange(len(buffers["prior"]))] = 1.0
        else:
            j = (
                rng.randrange(buffers["scale"].shape[0])
                if buffers.get("scale", np.zeros(0)).ndim and buffers["scale"].size
                else None
            )
            if j is not None:
                factor = 2.0 ** rng.choice([-700, -400, 400, 700])
                buffers["scale"][j] *= factor
                buffers["centres"][:, j] /= factor


def _mutate_contents(data: bytes, rng: random.Random) -> bytes:
    """Change the contents of a file in one to three ways."""
    parts = split_file(data)
    changes = [_change_json, _change_numbers, _change_shape, _change_consistently]
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        change = rng.choices(changes, [45, 35, 8, 12])[0]
        # An earlier change may have removed what this one expects.
        with contextlib.suppress(KeyError, IndexError, TypeError, ValueError, OverflowError):
            change(parts, rng)
    return join_file(parts)


def _mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change bytes of a file."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        position = (
            rng.randrange(len(changed)) if rng.random() < 0.5 else rng.randrange(min(len(changed), 400))
        )
        kind = rng.randrange(6)
        if kind == 0:
            changed[position] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[position] = rng.randrange(256)
        elif kind == 2:
            del changed[position : position + rng.choice([1, 8, 100])]
        elif kind == 3:
            changed[position:position] = rng.randbytes(rng.choice([1, 8, 100]))
        elif kind == 4:
            del changed[position:]
        else:
            changed[:8] = rng.choice([rng.randrange(2**64), rng.randrange(len(data) + 9)]).to_bytes(
                8, "little"
            )
        if not changed:
            break
    return bytes(changed)


def random_mutant(rng: random.Random) -> tuple[str, bytes]:
    """Return the names of a fit and formula, and a mutant of their file."""
    name = rng.choice(list(saved_fits()))
    return name, (_mutate_bytes if rng.random() < 0.1 else _mutate_contents)(saved_fits()[name], rng)


# ---- the child: one file after the other


def load_and_use(path: str, name: str) -> str:
    """Load a file and use the fit; return the outcome as one line."""
    from discrim import load
    from discrim.errors import DiscrimError

    rows = table_of_fit(name)
    data = rows.iloc[:: len(rows) // N_ROWS]
    try:
        fit = load(path)
    except DiscrimError as error:
        return "refused" if str(error).strip() else "FINDING load an error without a text"
    except BaseException as error:
        return _describe_error("load", error)
    complaint = ""
    for check_name, check in _checks_of_fit(fit, data).items():
        try:
            complaint = complaint or (check() or "")
        except DiscrimError:
            pass
        except BaseException as error:
            return _describe_error(check_name, error)
    return (complaint and f"FINDING {complaint}") or "loaded"


def _checks_of_moments(moments: Any, data: pd.DataFrame) -> dict[str, Callable[[], str | None]]:
    """Return checks of loaded moments by name; each returns a complaint or None."""
    import discrim

    def check_verb(verb: str, **options: Any) -> Callable[[], str | None]:
        def check() -> str | None:
            fit = getattr(discrim, verb)(moments=moments, **options)
            values = np.asarray(fit.decision_function(data), dtype=float)
            return f"{verb} NaN score: {values.tolist()}" if np.isnan(values).any() else None

        return check

    return {
        "lda": check_verb("lda"),
        "rda": check_verb("rda", alpha=0.5, gamma=0.5),
        "naive_bayes": check_verb("naive_bayes", laplace=1.0, smoothing=1e-3),
        "means": lambda: None if len(moments.means) == len(moments.classes) else "classes without means",
        "sum": lambda: None if (moments + moments).nobs >= moments.nobs else "fewer rows",
        "difference": lambda: None if (moments - moments).nobs <= moments.nobs else "more rows",
        "of": lambda: None if moments.of(data, weights=np.ones(len(data))).nobs else "no rows",
        "print": lambda: None if str(moments) else "no text",
    }


def _checks_of_fit(fit: Any, data: pd.DataFrame) -> dict[str, Callable[[], str | None]]:
    """Return checks of a loaded fit, or of moments, by name; each returns a complaint or None."""
    from discrim import Moments
    from discrim.errors import DiscrimError

    if isinstance(fit, Moments):
        return _checks_of_moments(fit, data)

    def posteriors() -> str | None:
        try:
            posteriors = fit.predict_proba(data)
        except (AttributeError, DiscrimError):
            return None
        values = posteriors.to_numpy(dtype=float)
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


def _describe_error(check_name: str, error: BaseException) -> str:
    """Return a finding with the type, place and message of an error."""
    last_frames = traceback.extract_tb(error.__traceback__)[-8:]
    frames = [each for each in last_frames if "discrim" in each.filename] or last_frames
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    return f"FINDING {check_name} {type(error).__name__} at {where}: {str(error)[:200]!r}"


def run_child() -> None:
    """Answer with one line for each line of standard input, which contains the name of a fit and a path."""
    import discrim

    warnings.simplefilter("ignore")
    overlapping_table(), separable_table(), wide_table(), typed_table()
    # Trigger the imports of the first fit before memory is limited.
    discrim.lda("y ~ bs(a, df=4)", overlapping_table()).summary().as_text()
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (memory + MEMORY_BYTES, memory + MEMORY_BYTES))
    for line in sys.stdin:
        name, path = line.rstrip("\n").split("\t")
        with kill_after(MAX_SECONDS):
            answer = load_and_use(path, name)
        print(json.dumps(answer), flush=True)


# ---- the parent


class ChildProcess:
    """A process that loads one file after another and is restarted if a file ends it."""

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

    def load_mutant(self, name: str, data: bytes) -> str:
        """Return the outcome of loading a file."""
        self._path.write_bytes(data)
        answers = self._process.stdout
        try:
            print(name, self._path, sep="\t", file=self._process.stdin, flush=True)
            ready, _, _ = select.select([answers], [], [], MAX_WAIT_SECONDS)
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
            return f"FINDING waits for {MAX_WAIT_SECONDS:g} s"
        if was_killed(code):
            return f"FINDING over {MAX_SECONDS:g} s of processor time"
        return f"FINDING the process ended with {code}"

    def stop(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


if __name__ == "__main__":
    run_child()
