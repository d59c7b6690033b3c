"""What belongs to the caller and what belongs to a fit: neither changes the other behind its back."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import DataError, DiscrimError
from tests.contract.fits import FITS, MODELLED
from tests.contract.fits import fitted as fit_named
from tests.support import is_older_than as earlier

IRIS = load_iris()
COLUMNS = list(IRIS.columns[:4])
VERBS = {
    "lda": (discrim.lda, {}),
    "lda-weights": (discrim.lda, {"weights": "own"}),
    "lda-shrunk": (discrim.lda, {"covariance": Shrunk("loo", grid=[0.0, 0.5])}),
    "qda": (discrim.qda, {}),
    "rda": (discrim.rda, {"alpha": 0.5, "gamma": 0.1}),
    "naive_bayes": (discrim.naive_bayes, {}),
    "naive_bayes-kernel": (discrim.naive_bayes, {"kernel": True}),
    "shrunken_centroids": (discrim.shrunken_centroids, {"threshold": 1.0}),
    "nearest_centroid": (discrim.nearest_centroid, {}),
    "plda": (discrim.plda, {}),
    "location": (discrim.location, {}),
    "pls": (discrim.pls, {"ncomp": 2}),
    "knn": (discrim.knn, {"k": 5}),
    "kernel_lda": (discrim.kernel_lda, {"kernel": "gaussian", "width": 2.0, "ridge": 0.1}),
    "logistic": (discrim.logistic, {}),
    "indicator": (discrim.indicator, {}),
    "fda": (discrim.fda, {"engine": LinearRegression()}),
}
RESULTS = [*MODELLED, *(name for name in FITS if name.startswith("stepwise"))]
SEARCHED = ("lda, robust", "logistic, lasso", "logistic, ridge", "sparse_lda", "stepwise, cv")
SKIPPED = {"plot", "save", "report", "predict_set", "posterior_intervals", "to_statsmodels", "stability"}
SKIPPED |= {"permutation_test", "q2", "learning_curve", "update", "to_marginaleffects"}
"""Methods that draw, write or take long, and those that use other folds each time."""


def overlapping(seed: int = 0, rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.arange(rows) % 3
    return rng.normal(size=(rows, 4)) + 0.8 * codes[:, None] * [1, 0, -1, 0.5], np.array(list("abc"))[codes]


def shared(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Return a frame that shares the memory of the array."""
    data = pd.DataFrame(x, columns=list("pqrs"), copy=False)
    data["y"] = y  # assign() makes a copy before pandas 3.0.
    return data


def fitted(verb: str, data: Any, formula: str = "y ~ p + q + r + s"):
    made, options = VERBS[verb]
    if options.get("weights") == "own":
        options = {"weights": np.tile([1.0, 2.0], len(data) // 2)}
    return made(formula, data, **options)


def collect_answers(fit: Any) -> dict[str, Any]:
    """Return what a fit reports about itself and its own rows, by name."""
    answers: dict[str, Any] = {"repr": repr(fit), "predict": fit.predict()}
    answers["summary"] = fit.summary().as_text()
    answers["confusion"] = fit.confusion()
    with suppress(DiscrimError):
        answers["loo"] = fit.confusion(method="loo")
    with suppress(DiscrimError):
        answers["posteriors"] = fit.predict_proba()
    answers["errors"] = fit.error_rates(["apparent"])
    return answers


def assert_equal_answers(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, before in one.items():
        after = other[name]
        if isinstance(before, (pd.DataFrame, pd.Series)):
            assert before.equals(after), name
        else:
            assert before == after, name


# The caller's table --------------------------------------------------------------------------------------


def sort_rows(data, x):
    order = np.argsort(x[:, 0])
    for name in "pqrs":
        data[name] = data[name].to_numpy()[order]


CHANGES = {
    "columns sorted": sort_rows,
    "values set": lambda data, x: data.__setitem__("p", 0.0),
    "a part overwritten": lambda data, x: data.iloc.__setitem__((slice(0, 30), 1), 7.0),
    "labels overwritten": lambda data, x: data.__setitem__("y", data["y"].to_numpy()[::-1]),
    "rows dropped": lambda data, x: data.drop(index=data.index[:20], inplace=True),
    "a column gone": lambda data, x: data.pop("q"),
    "columns renamed": lambda data, x: data.rename(columns={"p": "q", "q": "p"}, inplace=True),
    "index changed": lambda data, x: data.set_index(data.index[::-1], inplace=True),
}
WRITES = {
    "sorted in place": lambda x: x.sort(axis=0),
    "overwritten": lambda x: x.fill(1.0),
    "one column": lambda x: x[:, 2].sort(),
    "one value": lambda x: x.__setitem__((17, 3), 1e6),
    "scaled": lambda x: np.multiply(x, 2, out=x),
    "missing": lambda x: x.__setitem__((5, 0), np.nan),
}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:The inplace keyword")
@pytest.mark.parametrize(
    ("verb", "changes"), [*(("lda", [one]) for one in CHANGES), *((verb, list(CHANGES)) for verb in VERBS)]
)
def test_changes_of_the_caller_s_frame_do_not_reach_the_fit(verb, changes):
    x, y = overlapping()
    data = pd.DataFrame(x, columns=list("pqrs")).assign(y=y)
    fit, still = (fitted(verb, each) for each in (data, data.copy()))
    for change in changes:
        if change != "columns sorted" or len(changes) == 1:
            CHANGES[change](data, x)
    if earlier(pd, 3, 0) and "a part overwritten" in changes:
        # Frames and their shallow copies share memory there, unless pandas is told to copy on write.
        with pytest.raises(DataError, match=r"changed after the fit.*column 'q' at row"):
            collect_answers(fit)
        return
    assert_equal_answers(collect_answers(still), collect_answers(fit))


@pytest.mark.parametrize(
    ("verb", "write"), [*(("lda", one) for one in WRITES), *((verb, "one value") for verb in VERBS)]
)
def test_changes_of_shared_memory_raise_and_name_the_column(verb, write):
    x, y = overlapping()
    fit = fitted(verb, shared(x, y))
    new = pd.DataFrame(overlapping(1)[0], columns=list("pqrs"))
    before, summary = fit.predict(new), fit.summary(["classes"]).as_text() if verb == "lda" else ""
    WRITES[write](x)
    said = r"changed after the fit.*column '[pqrs]' at row \d+ was .*Fit again"
    errors = partial(fit.error_rates, ["cv"], seed=1)
    for ask in (fit.confusion, fit.predict, errors, partial(copy.deepcopy, fit)):
        with pytest.raises(DataError, match=said):
            ask()
    # What the fit itself knows is not changed.
    pd.testing.assert_series_equal(fit.predict(new), before)
    assert not summary or fit.summary(["classes"]).as_text() == summary


@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes", "logistic"])
@pytest.mark.parametrize("formula", ["y ~ p * q + r", "y ~ log(I(p + 99)) + C(g)", "y ~ center(p) + q"])
def test_changes_of_columns_read_by_derived_formulas_raise(verb, formula):
    x, y = overlapping()
    data = shared(x, y)
    data["g"] = np.tile(list("uvw"), 20)[np.random.default_rng(2).permutation(60)]
    if verb == "qda" and "g" in formula:
        return
    fit = VERBS[verb][0](formula.replace("p * q", "p + q") if verb == "naive_bayes" else formula, data)
    x[:, 3] = 0.0
    fit.confusion()  # The formula does not read this column.
    x[:, 0] = x[::-1, 0].copy()
    with pytest.raises(DataError) as caught:
        fit.confusion()
    assert caught.value.columns == ("p",)
    assert caught.value.rows == (0,)


def test_large_table_is_not_copied_and_its_change_is_detected():
    x, y = np.random.default_rng(3).normal(size=(200_000, 4)), np.tile(list("ab"), 100_000)
    fit = discrim.lda("y ~ p + q + r + s", shared(x, y))
    assert np.shares_memory(fit._fit.design_rows.table.data["p"].to_numpy(), x)
    assert (
        sum(each.nbytes for each in fit._fit.design_rows.table._fingerprint.values.values()) < x.nbytes / 10
    )
    fit.confusion()
    x[:, 1].sort()
    with pytest.raises(DataError) as caught:
        fit.confusion()
    assert caught.value.columns == ("q",)
    assert caught.value.rows == (0,)


@pytest.mark.parametrize("kind", ["dict of arrays", "dict of series", "polars", "arrow", "categories"])
def test_every_kind_of_table(kind):
    x, y = overlapping()
    codes = np.unique(y, return_inverse=True)[1].astype(np.int8)
    columns = {name: x[:, j].copy() for j, name in enumerate("pqrs")}
    if kind == "dict of arrays":
        data: Any = {**columns, "y": y}
    elif kind == "dict of series":
        data = {name: pd.Series(values, copy=False) for name, values in columns.items()} | {"y": y}
    elif kind == "polars":
        data = pytest.importorskip("polars").DataFrame({**columns, "y": y})
    elif kind == "arrow":
        data = pytest.importorskip("pyarrow").table({**columns, "y": y})
    else:
        data = pd.DataFrame(columns).assign(y=pd.Categorical.from_codes(codes, list("abc")))
    fit, still = (discrim.lda("y ~ p + q + r + s", each) for each in (data, copy.deepcopy(data)))
    if kind == "polars":
        data[0, "p"] = 99.0
        data.replace_column(1, data["p"].rename("q"))
    if kind.startswith("dict"):
        data["q"] = data["p"]
    for values in columns.values():
        values.sort()
    codes.sort()
    try:
        found = collect_answers(fit)
    except DataError as error:
        found = {"error": str(error)}
    if "error" in found:
        assert "changed after the fit" in found["error"]
    else:
        assert_equal_answers(collect_answers(still), found)


def test_estimators_do_not_change_with_the_array():
    from discrim.sklearn import LDAClassifier

    x, y = overlapping()
    model = LDAClassifier().fit(x, y)
    before = model.predict_proba(x.copy())
    kept = x.copy()
    x.sort(axis=0)
    np.testing.assert_array_equal(model.predict_proba(kept), before)


# What is passed beside the table -------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes", "logistic", "rda"])
def test_weights_priors_and_functions_are_the_fit_s_own(verb):
    x, y = overlapping()
    data = pd.DataFrame(x, columns=list("pqrs")).assign(y=y)
    weights, prior, own = np.tile([1.0, 2.0, 3.0], 20), np.array([0.2, 0.3, 0.5]), {"f": np.exp}
    made, options = VERBS[verb]
    fit, still = (
        made("y ~ f(p) + q + r", data, weights=w, prior=p, functions=f, **options)
        for w, p, f in ((weights, prior, own), (weights.copy(), prior.copy(), dict(own)))
    )
    weights[:], prior[:] = 0, 99
    own["f"] = np.sin
    assert_equal_answers(collect_answers(still), collect_answers(fit))


def test_a_law_and_published_statistics_are_the_fit_s_own():
    means, cov, counts = np.array([[0.0, 0.0], [1.0, 2.0]]), np.eye(2), np.array([20, 30])
    fit = discrim.lda(moments=discrim.from_stats(pd.DataFrame(means, copy=False), cov, counts))
    before = fit.coef
    means[:], cov[:], counts[:] = 7, 9, 1
    pd.testing.assert_frame_equal(fit.coef, before)
    masses = np.array([[0.1, 0.9], [0.6, 0.4]])
    frame = pd.DataFrame(masses, index=["a", "b"], columns=["u", "v"], copy=False)
    prior, costs = np.array([0.5, 0.5]), np.array([[0.0, 1.0], [2.0, 0.0]])
    law = discrim.bayes(prior, frame, costs=costs)
    decision, risk = law.decision, law.error_rate
    masses[:], prior[:], costs[:] = 0.5, 0.1, 9
    again = copy.deepcopy(law)
    # Forget what is cached, so that it is computed again.
    for name in ("_decision", "_min_risk", "_bounds"):
        vars(again).pop(name, None)
    pd.testing.assert_frame_equal(again.decision, decision)
    assert again.error_rate == risk


# What a fit hands out ------------------------------------------------------------------------------------


def overwrite_everything(value: Any, depth: int = 3) -> int:
    """Overwrite everything in a value that is writeable; return the number of overwritten parts."""
    n_overwritten = 0
    if isinstance(value, pd.DataFrame):
        numbers = [j for j, dtype in enumerate(value.dtypes) if dtype.kind in "iuf"]
        with suppress(Exception):
            # Numbers are set in place: before 3.0 pandas may share their memory.
            value.iloc[:, numbers] = 98
        with suppress(Exception):
            value.isetitem(0, 99)
            n_overwritten += 1
    elif isinstance(value, pd.Series):
        with suppress(Exception):
            value.iloc[:] = 99 if value.dtype.kind in "if" else value.iloc[0]
            value[...] = 99
            n_overwritten += 1
        with suppress(Exception):
            array = value.to_numpy()
            array.flags.writeable = True
            array[:] = 97
    elif isinstance(value, np.ndarray):
        with suppress(ValueError):
            value[...] = 99
            n_overwritten += 1
    elif isinstance(value, dict):
        n_overwritten = sum(overwrite_everything(each, depth - 1) for each in value.values())
        value.clear()
    elif isinstance(value, list):
        value.clear()
    elif depth and type(value).__module__.startswith("discrim"):
        names = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        for name in names or [name for name in vars(type(value)) if not name.startswith("_")]:
            if name not in SKIPPED:
                with suppress(Exception):
                    part = getattr(value, name)
                    n_overwritten += overwrite_everything(part() if callable(part) else part, depth - 1)
    return n_overwritten


def public_values(result: Any) -> dict[str, Any]:
    """Return all values that an object returns without arguments, except slow ones, by name."""
    values = {}
    for name in dir(result):
        if name.startswith("_") or name in SKIPPED:
            continue
        try:
            value = getattr(result, name)
            values[name] = value() if callable(value) else value
        except (ValueError, TypeError):
            continue
    return values


def copy_values(result: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return copies of the tables among public values, and texts and numbers as text."""
    copies: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, (pd.DataFrame, pd.Series)):
            copies[name] = value.copy()
        elif isinstance(value, dict):
            copies[name] = {key: repr(each) for key, each in value.items()}
        elif name == "summary":
            copies[name] = value.as_text()
        elif isinstance(value, (int, float, str, np.ndarray, pd.Index)):
            copies[name] = repr(value)
    return copies | {"repr": repr(result)}


def without(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


@pytest.mark.parametrize(
    "name",
    # A choice by folds, or a search for a maximum, is made anew by many of their methods.
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SEARCHED)) for name in RESULTS],
)
def test_modifying_returned_objects_does_not_change_later_results(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = copy.deepcopy(fit_named(name))
        looked = public_values(made)
        before = copy_values(made, looked)
        # The assessment is of one class for all models and takes half of the time.
        overwritten = looked if name in ("lda", "naive_bayes") else without(looked, {"assess"})
        n_overwritten = sum(overwrite_everything(value) for value in overwritten.values())
        after = copy_values(made, public_values(made))
    assert n_overwritten
    skipped = {"sample", "to_clipboard"}  # Drawn again.
    if name.startswith("stepwise"):
        skipped |= {"assess", "confusion", "error_rates"}  # They use other folds each time.
    assert_equal_answers(without(before, skipped), without(after, skipped))


def test_modifying_an_updated_fit_does_not_change_the_original():
    fit = discrim.lda("species ~ .", IRIS)
    before = copy_values(fit, public_values(fit))
    assert overwrite_everything(fit.update())
    assert_equal_answers(before, copy_values(fit, public_values(fit)))


def test_modifying_a_learning_curve_does_not_change_later_results():
    curve = discrim.lda("species ~ .", IRIS).learning_curve(sizes=[0.3, 0.5, 0.8], repeats=1, seed=1)
    looked = public_values(curve)
    before = copy_values(curve, looked)
    assert overwrite_everything(looked)
    assert_equal_answers(before, copy_values(curve, public_values(curve)))


def test_the_prior_that_is_handed_out_is_a_copy():
    fit = discrim.lda("species ~ .", IRIS)
    before = fit.predict_proba()
    prior, counts, means = fit.prior, fit.counts, fit.means
    prior[...] = 99
    prior.iloc[0] = counts.iloc[0] = means.iloc[0, 0] = 99
    assert fit.prior.sum() == pytest.approx(1)
    assert fit.counts.tolist() == [50, 50, 50]
    pd.testing.assert_frame_equal(fit.predict_proba(), before)


def test_modifying_estimator_attributes_does_not_change_labels():
    from discrim.sklearn import KNNClassifier, LDAClassifier, LogisticClassifier

    for model in (LDAClassifier(), LogisticClassifier(), KNNClassifier()):
        x, y = overlapping()
        model.fit(x, y)
        before = model.predict(x)
        scores = model.predict_proba(x)
        overwrite_everything(model.predict(x))
        overwrite_everything(model.predict_proba(x))
        with suppress(ValueError):
            model.classes_[:] = "z"
        np.testing.assert_array_equal(model.predict(x), before)
        np.testing.assert_array_equal(model.predict_proba(x), scores)


# Threads, processes, copies ------------------------------------------------------------------------------


def answers_as_bytes(fit: Any) -> bytes:
    """Return the exact bytes of what a fit computes for new rows and for its own."""
    new = pd.DataFrame(overlapping(1)[0], columns=list("pqrs"))
    parts = [fit.decision_function(new), fit.decision_function(), fit.confusion()]
    parts.append(discrim.cross_validate(fit, 3, seed=1).table()[["estimate", "se"]])
    with suppress(DiscrimError):
        left_out = fit.leave_one_out()
        parts.append(left_out.select_dtypes("number"))
    return b"".join(np.ascontiguousarray(part.to_numpy(dtype=float)).tobytes() for part in parts)


def new_row_answers_as_bytes(fit: Any) -> bytes:
    """Return the exact bytes of what a fit without rows computes for new rows."""
    x, y = overlapping(1)
    data = pd.DataFrame(x, columns=list("pqrs")).assign(y=y)
    parts = [fit.decision_function(data), fit.confusion(data)]
    return b"".join(np.ascontiguousarray(part.to_numpy(dtype=float)).tobytes() for part in parts)


def fit_overlapping(verb: str) -> Any:
    """Fit a model to the overlapping classes."""
    x, y = overlapping()
    return fitted(verb, pd.DataFrame(x, columns=list("pqrs")).assign(y=y))


SELECTED_CASES = ("lda", "qda", "naive_bayes-kernel", "logistic", "knn", "lda-shrunk")
"""A verb for each way of computing, where each takes seconds."""


@pytest.mark.parametrize(
    "verb", [pytest.param(v, marks=pytest.mark.slow) if v == "logistic" else v for v in SELECTED_CASES]
)
def test_one_fit_used_by_eight_threads(verb):
    alone = answers_as_bytes(fit_overlapping(verb))
    fit = fit_overlapping(verb)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: answers_as_bytes(fit), range(8)))
    assert found == [alone] * 8


@pytest.mark.parametrize("verb", VERBS)
def test_pickles_and_deep_copies_give_the_same_results(verb):
    fit = fit_overlapping(verb)
    alone = answers_as_bytes(fit)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert new_row_answers_as_bytes(
            pickle.loads(pickle.dumps(fit, protocol))
        ) == new_row_answers_as_bytes(fit)
    twin = copy.deepcopy(fit)
    assert answers_as_bytes(twin) == alone
    assert new_row_answers_as_bytes(copy.copy(fit)) == new_row_answers_as_bytes(fit)
    pd.testing.assert_series_equal(copy.copy(fit).predict(), fit.predict())
    prior = twin.prior
    prior.iloc[0] = 99
    twin._fit.design_rows.table.data.iloc[:, 0] = 0.0
    assert answers_as_bytes(fit) == alone


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_other_processes_give_the_same_results(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system starts no process by {method}")
    fits = [fit_overlapping(verb) for verb in SELECTED_CASES]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map(new_row_answers_as_bytes, fits) == [new_row_answers_as_bytes(fit) for fit in fits]


@pytest.mark.slow
def test_eight_threads_fit_at_once():
    alone = [answers_as_bytes(fit_overlapping(verb)) for verb in SELECTED_CASES]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda verb: answers_as_bytes(fit_overlapping(verb)), SELECTED_CASES)) == alone


def test_a_fit_with_functions_of_the_user_s_goes_through_a_pickle():
    x, y = overlapping()
    data = pd.DataFrame(x, columns=list("pqrs")).assign(y=y)
    fit = discrim.lda("y ~ f(p) + q + r + s", data, functions={"f": np.tanh})
    again = pickle.loads(pickle.dumps(fit))
    assert new_row_answers_as_bytes(again) == new_row_answers_as_bytes(fit)
    assert not again._fit.has_rows
    assert isinstance(discrim.bayes([0.5, 0.5], {"a": stats.norm(0), "b": stats.norm(1)}).prior, pd.Series)
