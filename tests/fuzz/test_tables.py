"""Odd tables and odd options raise only errors of the package, for every model."""

from __future__ import annotations

import datetime
import inspect
import signal
import traceback
import warnings
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Diagonal, Shrunk, ShrunkCorrelation
from discrim.errors import DiscrimError
from discrim.models.discriminant.covariance_models import LDA_COVARIANCES, QDA_COVARIANCES
from tests.fuzz.processor_time import raise_after

SECONDS = 30
"""Processor seconds that one case may take."""

LARGEST_EXACT_INTEGER = 2**53
LETTERS = ["a", "b", "c", "A", "a ", "", " ", "é", "e\u0301", "\u0430", "a\u200b", "007", "7", "nan", "x~y"]
LETTERS += ["`", "[T.a]", "=1+1", "\x1b[31m", "字", "rejected", "0", "-0", "True", "a\x00", "\n"]
LETTERS += ["label", "a" * 300]
NUMBERS = [0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 7.0, 1e-300, 5e-324, 1e12, 1e155, 1e300, 1.7e308, -1e300, np.nan]
INTEGERS = [0, 1, 2, 3, -1, 7, LARGEST_EXACT_INTEGER, LARGEST_EXACT_INTEGER + 1, 2**63 - 1, -(2**63)]


def draw_values(rng, values, n):
    return [rng.choice(values) for _ in range(n)]


def with_missing(rng, values):
    """Replace some values by None, NaN or NA."""
    share, missing_value = rng.choice([0, 0, 0.1, 0.5, 1]), rng.choice([None, np.nan, pd.NA])
    return [missing_value if rng.random() < share else value for value in values]


def object_series(values):
    return pd.Series(np.fromiter(values, dtype=object, count=len(values)), dtype=object)


def normal_values(rng, n):
    noise = np.random.default_rng(rng.getrandbits(32))
    scale, offset = 10.0 ** rng.choice([0, 0, 0, -3, 8, -150, 150]), rng.choice([0, 0, 1, 1e6, 1e15])
    return offset * scale + scale * (noise.normal(size=n) + np.arange(n) % 3)


NUMERIC_COLUMNS = {
    "normal": normal_values,
    "normal with holes": lambda rng, n: pd.array(
        [None if pd.isna(x) else x for x in with_missing(rng, normal_values(rng, n).tolist())],
        dtype="Float64",
    ),
    "normal without some": lambda rng, n: np.where(
        draw_values(rng, [True, True, False], n), normal_values(rng, n), np.nan
    ),
    "float32": lambda rng, n: normal_values(rng, n).astype("float32"),
    "float16": lambda rng, n: np.random.default_rng(rng.getrandbits(32)).normal(size=n).astype("float16"),
    "few numbers": lambda rng, n: np.array(draw_values(rng, NUMBERS[:7], n)),
    "wild numbers": lambda rng, n: np.array(draw_values(rng, NUMBERS, n)),
    "infinite": lambda rng, n: np.array(draw_values(rng, [*NUMBERS[:6], np.inf, -np.inf], n)),
    "constant": lambda rng, n: np.full(n, rng.choice(NUMBERS)),
    "truths": lambda rng, n: np.array(draw_values(rng, [True, False], n), dtype=bool),
    "truths with holes": lambda rng, n: pd.array(
        with_missing(rng, draw_values(rng, [True, False], n)), dtype="boolean"
    ),
    "Decimal": lambda rng, n: object_series(
        draw_values(rng, [Decimal(1), Decimal("0.1"), Decimal("1e400"), None], n)
    ),
    "sparse": lambda rng, n: pd.arrays.SparseArray(draw_values(rng, [0.0, 1.0, 2.0], n)),
    "huge integers": lambda rng, n: object_series(draw_values(rng, [10**30, 1, 2, 10**400], n)),
    "longdouble": lambda rng, n: normal_values(rng, n).astype("longdouble"),
}

LABEL_COLUMNS = {
    "two": lambda rng, n: draw_values(rng, ["a", "b"], n),
    "three in turn": lambda rng, n: (["a", "b", "c"] * n)[:n],
    "text": lambda rng, n: object_series(with_missing(rng, draw_values(rng, LETTERS, n))),
    "string": lambda rng, n: pd.array(
        with_missing(rng, draw_values(rng, ["a", "b", "B"], n)), dtype="string"
    ),
    "categories": lambda rng, n: pd.Categorical(
        with_missing(rng, draw_values(rng, ["a", "b", "c"], n)),
        rng.choice([None, ["c", "b", "a"], ["b", "a", "c", "d"]]),
        ordered=rng.random() < 0.5,
    ),
    "whole": lambda rng, n: np.array(draw_values(rng, INTEGERS, n), dtype="int64"),
    "whole with holes": lambda rng, n: pd.array(
        with_missing(rng, draw_values(rng, INTEGERS, n)), dtype="Int64"
    ),
    "codes": lambda rng, n: np.array(
        draw_values(rng, [1, 2], n), dtype=rng.choice(["int8", "uint64", "int32"])
    ),
    "truths": lambda rng, n: np.array(draw_values(rng, [True, False], n), dtype=bool),
    "numbers": lambda rng, n: np.array(draw_values(rng, NUMBERS, n)),
    "one": lambda rng, n: ["a"] * n,
    "each its own": lambda rng, n: [f"r{i}" for i in range(n)],
    "missing": lambda rng, n: object_series([rng.choice([None, np.nan, pd.NA])] * n),
}

ODD_COLUMNS = {
    "lists": lambda rng, n: object_series(draw_values(rng, [[1], [1, 2], []], n)),
    "dicts": lambda rng, n: object_series([{}] * n),
    "bytes": lambda rng, n: object_series(draw_values(rng, [b"a", b"b"], n)),
    "mixed": lambda rng, n: object_series(draw_values(rng, ["a", 1, None, 2.5, True, (1,), 1j], n)),
    "complex": lambda rng, n: np.array(draw_values(rng, [1j, 1.0], n), dtype=complex),
    "dates": lambda rng, n: pd.date_range("2020", periods=n),
    "days": lambda rng, n: object_series([datetime.date(2020, 1, 1)] * n),
    "spans": lambda rng, n: pd.to_timedelta(np.arange(n), unit="s"),
    "periods": lambda rng, n: pd.period_range("2020", periods=n, freq="D"),
    "intervals": lambda rng, n: pd.cut(pd.Series(np.arange(float(n))), 3) if n else object_series([]),
    "fractions": lambda rng, n: object_series(draw_values(rng, [Fraction(1, 3), Fraction(2)], n)),
    "arrays": lambda rng, n: object_series([np.ones(2)] * n),
    "missing": LABEL_COLUMNS["missing"],
}

RIGHT_SIDES = [
    "x",
    "x + z",
    ".",
    "x * z",
    "x + C(z)",
    "x + q",
    "C(q)",
    "q",
    "x:q",
    "poly(x, 2)",
    "log(x)",
    ". - q",
]
RIGHT_SIDES += ["center(x) + standardize(z)", "I(x**2) + x", "C(q, Sum) + x", "x + I(q + 1)", "C(q):x"]
RIGHT_SIDES += ["bs(x, df=4)", "cr(x, df=3)"]
VERBS = {
    "lda": {
        "method": ["moment", "mle"],
        "covariance": [
            *LDA_COVARIANCES.classes_by_keyword,
            Shrunk(0.5),
            Shrunk("loo"),
            ShrunkCorrelation(0.5),
            Diagonal("loo"),
        ],
        "collinear": ["raise", "drop"],
    },
    "qda": {
        "method": ["moment", "mle"],
        "covariance": [*QDA_COVARIANCES.classes_by_keyword],
        "ncomp": [None, None, 1, 2],
    },
    "rda": {"alpha": [0.0, 0.5, 1.0, None], "gamma": [0.0, 0.5, None], "seed": [0]},
    "naive_bayes": {
        "kernel": [False, True],
        "laplace": [0, 1],
        "smoothing": [0.0, 1e-9],
        "unseen": ["raise", "missing"],
    },
    "kernel_lda": {
        "kernel": ["auto", "gaussian", "laplace", "polynomial", "arccos"],
        "scale": ["auto", "sd", "ranks", "categories"],
        "width": [None, 1.0],
        "ridge": [None, 0.1],
        "calibrate": [True, False],
    },
    "knn": {"k": [None, 1, 3], "scale": [True, False], "metric": ["euclidean", "mahalanobis", "cityblock"]},
    "shrunken_centroids": {"threshold": [None, 0.0, 0.5, 1e9], "seed": [0]},
    "sparse_lda": {"penalty": [0.0, 0.05, 0.5], "ridge": [0.0, 0.1]},
    "nearest_centroid": {"prior": [None, "equal"]},
    "pls": {
        "ncomp": [None, 1, 2],
        "rule": ["lda", "max"],
        "scale": [True, False],
        "algorithm": ["nipals", "simpls"],
        "seed": [0],
    },
    "logistic": {
        "bias_reduction": [True, False],
        "separation": ["warn", "raise"],
        "collinear": ["raise", "drop"],
        "maxiter": [30],
    },
    "indicator": {"collinear": ["raise", "drop"]},
    "perceptron": {"maxiter": [5, 50]},
    "hyperplane": {},
}
WEIGHTED_VERBS = (
    "lda",
    "qda",
    "rda",
    "naive_bayes",
    "shrunken_centroids",
    "sparse_lda",
    "nearest_centroid",
    "pls",
    "logistic",
    "indicator",
)


def random_table(rng, n):
    """Return columns x and z, mostly numeric, q of any type, and y, mostly labels."""

    def column(*likely):
        kinds = rng.choice([*likely, *likely, *likely, NUMERIC_COLUMNS, LABEL_COLUMNS, ODD_COLUMNS])
        return rng.choice(list(kinds.values()))(rng, n)

    likely = ["two", "two", "three in turn", "three in turn", "codes", "truths", "categories"]
    mild = rng.random() < 0.75
    columns = {
        "x": normal_values(rng, n) if mild else column(NUMERIC_COLUMNS),
        "z": normal_values(rng, n) if mild and rng.random() < 0.7 else column(NUMERIC_COLUMNS),
        "q": column(NUMERIC_COLUMNS, LABEL_COLUMNS)
        if rng.random() < 0.5
        else LABEL_COLUMNS[rng.choice(likely)](rng, n),
        "y": LABEL_COLUMNS[rng.choice(likely)](rng, n) if mild else column(LABEL_COLUMNS),
    }
    index = rng.choice([None, None, [f"r{i}" for i in range(n)], [0] * n, pd.date_range("2020", periods=n)])
    frame = {name: pd.Series(values).reset_index(drop=True) for name, values in columns.items()}
    table = pd.DataFrame(frame) if n else pd.DataFrame({name: each.head(0) for name, each in frame.items()})
    return table if index is None else table.set_axis(pd.Index(index))


def random_call(rng):
    """Return function name, formula, table and options."""
    n = rng.choice([0, 1, 2, 3, 5, 8, *[12, 20, 30, 30] * 3])
    verb, table = rng.choice(list(VERBS)), random_table(rng, n)
    options = {name: rng.choice(values) for name, values in VERBS[verb].items() if rng.random() < 0.5}
    if rng.random() < 0.2:
        options["na_action"] = rng.choice(["raise", "drop"])
    if verb in WEIGHTED_VERBS and rng.random() < 0.3:
        kinds = NUMERIC_COLUMNS if rng.random() < 0.8 else ODD_COLUMNS
        options["weights"] = (
            np.abs(normal_values(rng, n)) if rng.random() < 0.5 else rng.choice(list(kinds.values()))(rng, n)
        )
    if "shrinkage" in options:
        options["covariance"] = rng.choice(["shrunk", "shrunk", "shrunk", "diagonal", "pooled"])
    if rng.random() < 0.05:
        options["levels"] = rng.choice([["b", "a"], {"a", "b"}, ["a", "b", "c"], 3, "ab", [1, 2], [None]])
    response = rng.choice(["y"] * 20 + ["C(y)", "C(y)", "q", "x"])
    right = rng.choice([*RIGHT_SIDES, "x", "x + z", "x + z", "x + z", "x * z", "x + q", "."])
    return verb, f"{response} ~ {right}", table, options


@contextmanager
def time_limit():
    """Raise an error if a case takes too long; suppress warnings."""

    try:
        with raise_after(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        plt.close("all")


def describe_error(error):
    """Return type, place and message of an error."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "discrim" in each.filename]
    position = f"{frames[-1].filename.rpartition('discrim/')[2]}:{frames[-1].lineno}" if frames else "outside"
    return f"{type(error).__name__} at {position}: {str(error)[:200]!a}"


def check_fit(fit, table, path):
    """Call the usual methods of a fit and check their results."""
    fit.summary().as_text().encode("utf-8", "surrogatepass")
    repr(fit)
    labels = fit.predict(table)
    assert labels.index.equals(table.index), "labels have another index"
    assert set(labels.dropna().tolist()) <= set(fit.classes.tolist()), "a label is not a class"
    fit.augment(table)
    fit.confusion()
    fit.save(path)
    reloaded_labels = discrim.load(path).predict(table)
    assert reloaded_labels.astype(object).equals(labels.astype(object)), (
        "the loaded fit predicts other labels"
    )
    with suppress(DiscrimError):
        fit.error_rates("loo")
    if not hasattr(fit, "predict_proba"):
        return
    try:
        p = fit.predict_proba(table).to_numpy()
    except DiscrimError:
        return
    is_missing = np.isnan(p).all(axis=1)
    assert (is_missing == np.isnan(p).any(axis=1)).all(), "a row has only some posteriors"
    assert np.abs(p[~is_missing].sum(axis=1) - 1).max(initial=0) < 1e-8, "posteriors do not sum to one"
    assert (labels.isna().to_numpy() == is_missing).all(), (
        "labels and posteriors are missing in different rows"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="cases are limited by a signal of Unix")
def test_tables(fuzz, tmp_path):
    for rng in fuzz:
        verb, formula, table, options = random_call(rng)
        before = table.copy(deep=True)
        with time_limit():
            try:
                fit = getattr(discrim, verb)(formula, table, **options)
                check_fit(fit, table, tmp_path / "fit")
                fit.predict(random_table(rng, rng.choice([0, 1, 5])))
                outcome = "fitted"
            except DiscrimError as error:
                outcome = "refused"
                if not str(error).strip():
                    fuzz.report(f"{verb}({formula!r}, {options}): an error without a message")
            except Exception as error:
                outcome = "other error"
                fuzz.report(f"{verb}({formula!r}, {options}): {describe_error(error)}")
        if not before.equals(table):
            fuzz.report(f"{verb}({formula!r}, {options}) changes its table")
        fuzz.count(outcome)


VALUES = ["no such", "", "3", 3, -1, 0, 2.5, np.nan, np.inf, 1j, True, None, [], [1, 2], ["a"], ("x",), {}]
VALUES += [{"a": 1}, {1, 2}, b"x", object(), np.array([1.0, 2.0]), np.array(["a"]), pd.Series([1, 2]), pd.NA]
VALUES += [10**400, slice(1), pd.DataFrame({"a": [1]}), lambda *_: None, range(3), pd.Timestamp("2020")]
VALUES += [[[1]], np.float32(0.5)]

OPTIONS = [*VERBS, "moments", "box_m", "manova", "stepwise"]
FITTED = {
    "knn": {"k": 3},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "perceptron": {"maxiter": 20},
    "shrunken_centroids": {"threshold": 0.1},
    "pls": {"ncomp": 1},
    "sparse_lda": {"penalty": 0.1},
}


@pytest.fixture(scope="module")
def fits():
    """Return a fit of each model to a small table, with the table and the options."""
    noise = np.random.default_rng(0)
    fits_by_verb = {}
    for verb in OPTIONS:
        classes = ["a", "b"] if verb == "hyperplane" else ["a", "b", "c"]
        y = np.repeat(classes, 12)
        distance = 9 if verb == "hyperplane" else 1
        x = noise.normal(size=len(y)) + distance * np.repeat(np.arange(len(classes)), 12)
        data = pd.DataFrame({"x": x, "z": noise.normal(size=len(y)), "y": y})
        options = {"k": 3} if verb == "knn" else {"alpha": 0.5, "gamma": 0.5} if verb == "rda" else {}
        options |= (
            {"maxiter": 20} if verb == "perceptron" else {"threshold": 0.1} if verb.startswith("shr") else {}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits_by_verb[verb] = getattr(discrim, verb)("y ~ x + z", data, **options), data, options
    return fits_by_verb


def methods_with_options(fit):
    """Yield the public methods of a fit that have options, except for `save`; none of a DataFrame."""
    for name in () if isinstance(fit, pd.DataFrame) else dir(fit):
        if name.startswith("_") or name == "save":
            continue
        try:
            method = getattr(fit, name)
        except DiscrimError:
            continue
        if inspect.ismethod(method) and inspect.signature(method).parameters:
            yield method


def random_option_call(rng, fits):
    """Return the name of a call, the callable, its arguments with one odd value, and that argument's name."""
    verb = rng.choice(OPTIONS)
    fit, data, options = fits[verb]
    method = rng.choice([None, *methods_with_options(fit), *methods_with_options(fit)])
    call = getattr(discrim, verb) if method is None else method
    arguments = {"formula": "y ~ x + z", "data": data, **options} if method is None else {}
    parameters = inspect.signature(call).parameters.values()
    named = [each for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    for each in named:
        if each.default is each.empty and each.name not in arguments:
            arguments[each.name] = data if each.name == "data" else 0.1
    name = rng.choice([each.name for each in named])
    return (
        f"{verb}{'' if method is None else '().' + call.__name__}",
        call,
        arguments | {name: rng.choice(VALUES)},
        name,
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="cases are limited by a signal of Unix")
def test_options(fuzz, fits, tmp_path, monkeypatch):
    # An option may be a path to which a fit is written.
    monkeypatch.chdir(tmp_path)
    for rng in fuzz:
        call_name, call, arguments, name = random_option_call(rng, fits)
        with time_limit():
            try:
                call(**arguments)
                outcome = "accepted"
            except DiscrimError:
                outcome = "refused"
            except Exception as error:
                outcome = "other error"
                fuzz.report(f"{call_name}({name}={arguments[name]!r:.60}): {describe_error(error)}")
        fuzz.count(outcome)
