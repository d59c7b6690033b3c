"""DataFrames of Dask: the numbers of memory, from partitions that stay where they are."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discrim
from discrim.data.sources.sources import source_of
from discrim.errors import DataError, DiscrimWarning, MissingPredictionWarning, NotSupportedError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
cloudpickle = pytest.importorskip("cloudpickle")
pytest.importorskip("distributed")
# Dask calls what pandas 3.1 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index")

FORMULA = "g ~ u + v + w"


def a_frame(nrows: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    g = rng.choice(list("abc"), nrows)
    frame = pd.DataFrame(rng.normal(size=(nrows, 3)), columns=list("uvw"))
    frame["u"] += (g == "b") + 1e6
    frame["v"] += 2.0 * (g == "c")
    frame = frame.assign(
        g=pd.Series(g, dtype=object),
        kind=pd.Series(rng.choice(["p", "q", "r"], nrows), dtype=object),
        number=rng.poisson(3, nrows).clip(max=9),
        yes=rng.random(nrows) < 0.4,
        weight=rng.integers(1, 4, nrows),
        level=pd.Categorical(g, categories=["c", "b", "a"]),
    )
    frame.loc[5, "u"] = np.nan
    frame.loc[7, "g"] = None
    return frame


def in_parts(*frames: pd.DataFrame):
    return dd.from_delayed(
        [dask.delayed(frame) for frame in frames], meta=frames[-1].iloc[:0], verify_meta=False
    )


def uneven(frame: pd.DataFrame):
    """Partitions without rows, with one, and with one class."""
    rest = frame[101:]
    bare = [rest[rest["g"].isna()], *(rest[rest["g"] == label] for label in "bca")]
    return in_parts(frame[:0], frame[:100], frame[100:100], frame[100:101], *bare, frame[:0], frame[:0])


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def scores(fit, frame):
    values = (
        fit.decision_function(frame) if fit._fit.title.startswith("Regression") else fit.predict_proba(frame)
    )
    return values.dropna().to_numpy()


def assert_same(found, expected, frame, tolerance=1e-12):
    assert list(found.terms) == list(expected.terms)
    assert list(found.classes) == list(expected.classes)
    assert found.nobs == expected.nobs
    pd.testing.assert_series_equal(found.counts, expected.counts)
    pd.testing.assert_series_equal(found.prior, expected.prior)
    np.testing.assert_allclose(scores(found, frame), scores(expected, frame), rtol=tolerance, atol=1e-300)


VERBS = {
    "lda": {},
    "qda": {},
    "rda": {"alpha": 0.3, "gamma": 0.2},
    "naive_bayes": {},
    "shrunken_centroids": {"threshold": 0.5},
    "pls": {"ncomp": 2},
    "sparse_lda": {"penalty": 0.05},
    "indicator": {},
    "nearest_centroid": {},
    "logistic": {},
}


@pytest.mark.parametrize("verb", VERBS)
def test_fits_equal_fits_in_memory(verb):
    frame = a_frame()
    fit = getattr(discrim, verb)
    expected = fit(FORMULA, frame, **VERBS[verb])
    # A search for a maximum ends as close to it as it is asked to, from wherever it began.
    assert_same(fit(FORMULA, uneven(frame), **VERBS[verb]), expected, frame, 1e-11)


@pytest.mark.parametrize(
    ("verb", "formula", "options"),
    [
        ("lda", "level ~ u + v", {}),
        ("lda", "g ~ center(u) + standardize(v) + poly(w, 2)", {}),
        ("lda", "g ~ bs(v, df=4) + C(yes)", {}),
        ("lda", "g ~ v * kind + yes", {}),
        ("lda", "yes ~ log(number + 1) + u:v", {}),
        ("lda", "number ~ v", {"levels": [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]}),
        ("lda", "g ~ f(v)", {"functions": {"f": np.square}}),
        ("lda", FORMULA, {"weights": "weight"}),
        ("lda", "g ~ v + w + one", {"collinear": "drop"}),
        ("lda", FORMULA, {"covariance": "shrunk"}),
        ("naive_bayes", "g ~ u + kind + yes + number", {"counts": ["number"], "laplace": 1}),
        ("logistic", "g ~ v + kind", {"weights": "weight"}),
        ("logistic", "g ~ v + w", {"bias_reduction": True}),
        ("rda", FORMULA, {"seed": 1, "grid": [0.0, 0.5, 1.0]}),
        ("shrunken_centroids", FORMULA, {"seed": 1}),
    ],
)
def test_formulas_options_and_folds(verb, formula, options):
    frame = a_frame().assign(one=1.0)
    fit = getattr(discrim, verb)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DiscrimWarning)
        expected = fit(formula, frame, **options)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", DiscrimWarning)
        found = fit(formula, dd.from_pandas(frame, npartitions=4, sort=False), **options)
    assert [str(each.message) for each in heard] == [str(each.message) for each in said]
    assert_same(found, expected, frame, 1e-10)


@pytest.mark.parametrize("convert", [True, False])
def test_text_and_categories_of_any_dtype(convert):
    frame = a_frame()
    expected = discrim.lda("level ~ u + kind", frame)
    with dask.config.set({"dataframe.convert-string": convert}):
        known = dd.from_pandas(frame, npartitions=3, sort=False)
        assert (known.dtypes["kind"] == "string") == convert
        assert_same(discrim.lda("level ~ u + kind", known), expected, frame)
        unknown = known.assign(level=known.level.cat.as_unknown(), kind=known.kind.astype("category"))
        shuffled = unknown.assign(kind=unknown.kind.cat.as_unknown())
        assert_same(discrim.lda("level ~ u + kind", shuffled), expected, frame)


def test_categories_in_another_order_in_another_partition():
    frame = a_frame()
    other = frame[120:].assign(level=pd.Categorical(frame.g[120:], categories=["a", "b", "c"]))
    assert_same(
        discrim.lda("level ~ u + v", in_parts(other, frame[:120])), discrim.lda("level ~ u + v", frame), frame
    )


def test_dictionaries_of_files_are_categories(tmp_path):
    frame = a_frame()
    for number, part in enumerate((frame[:100], frame[100:])):
        table = pa.Table.from_pandas(part, preserve_index=False).replace_schema_metadata()
        pq.write_table(table, tmp_path / f"{number}.parquet")
    found = discrim.lda("level ~ u + v + kind", dd.read_parquet(tmp_path))
    assert_same(found, discrim.lda("level ~ u + v + kind", frame), frame)
    assert_same(
        discrim.lda("level ~ u + v", dd.read_parquet(tmp_path)), discrim.lda("level ~ u + v", frame), frame
    )


def test_moments_add_up_with_those_of_a_frame():
    frame = a_frame()
    expected = discrim.moments("g ~ u + kind", frame)
    found = discrim.moments("g ~ u + kind", in_parts(frame[:90], frame[90:]))
    pd.testing.assert_frame_equal(found.cov, expected.cov, rtol=1e-12)
    assert found.dropped == expected.dropped == 2


def test_more_columns_than_rows():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(12, 30))).assign(g=list("ab") * 6)
    frame.columns = frame.columns.astype(str)
    found = discrim.lda("g ~ .", dd.from_pandas(frame, npartitions=3, sort=False), covariance="shrunk")
    assert_same(found, discrim.lda("g ~ .", frame, covariance="shrunk"), frame, 1e-10)


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
def test_ill_conditioned_columns_keep_their_digits():
    frame = a_frame()
    frame["x"] = frame["v"] + 1e-7 * frame["w"]
    found = discrim.lda("g ~ v + x", dd.from_pandas(frame, npartitions=4, sort=False))
    assert found._fit.estimates.moments.roots is not None
    # The problem itself has nine digits; without roots two would be left.
    assert_same(found, discrim.lda("g ~ v + x", frame), frame, 1e-6)


@pytest.mark.slow
def test_error_rates_and_summary_equal_fits_in_memory():
    frame = a_frame()
    expected = discrim.lda(FORMULA, frame, weights="weight")
    found = discrim.lda(FORMULA, uneven(frame), weights="weight")
    for methods in (["apparent", "loo"], ["posterior"]):
        pd.testing.assert_frame_equal(
            found.error_rates(methods), expected.error_rates(methods), rtol=1e-12, check_exact=False
        )
    np.testing.assert_array_equal(found.confusion(), expected.confusion())
    found_tables, expected_tables = found.summary().tables, expected.summary().tables
    assert list(found_tables) == list(expected_tables)
    for name, table in expected_tables.items():
        pd.testing.assert_frame_equal(pd.DataFrame(found_tables[name]), pd.DataFrame(table), rtol=1e-9)


@pytest.mark.parametrize(
    ("verb", "weights"), [("lda", "weight"), pytest.param("logistic", None, marks=pytest.mark.slow)]
)
def test_folds_and_assessments_equal_fits_in_memory(verb, weights):
    frame = a_frame()
    fit = getattr(discrim, verb)
    parts = in_parts(frame[:0], frame[:90], frame[90:91], frame[91:])
    fits = [fit(FORMULA, data, weights=weights) for data in (frame, parts)]
    expected, found = (discrim.cross_validate(each, 3, repeats=2, seed=1) for each in fits)
    assert str(found.summary()) == str(expected.summary())
    same_values(found.labels, expected.labels)
    np.testing.assert_allclose(found.posteriors(2), expected.posteriors(2), rtol=1e-8)
    expected, found = (each.assess(method="cv", seed=2, folds=3) for each in fits)
    assert str(found.summary()) == str(expected.summary())
    np.testing.assert_allclose(found.calibration, expected.calibration, rtol=1e-8)


def test_small_partitions_are_concatenated_and_errors_name_one():
    frame = a_frame(600)
    small = dd.from_pandas(frame, npartitions=40, sort=False)
    assert_same(discrim.lda(FORMULA, small), discrim.lda(FORMULA, frame), frame)
    frame.loc[415, "v"] = np.inf
    with pytest.raises(DataError) as caught:
        discrim.lda(FORMULA, dd.from_pandas(frame, npartitions=40, sort=False))
    assert caught.value.columns == ("v",)
    assert caught.value.rows == (415,)


@contextmanager
def received() -> Iterator[list[int]]:
    """Bytes of each value that the scheduler gives back meanwhile."""
    sizes = []

    def scheduler(tasks, keys, **options):
        values = dask.get(tasks, keys, **options)
        sizes.append(len(pickle.dumps(values)))
        return values

    with dask.config.set(scheduler=scheduler):
        yield sizes


@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes", "logistic"])
def test_transferred_results_do_not_grow_with_the_rows(verb):
    totals = []
    for nrows in (300, 3000):
        frame = dd.from_pandas(a_frame(nrows), npartitions=3, sort=False)
        with received() as sizes:
            getattr(discrim, verb)(FORMULA, frame, **VERBS[verb])
        totals.append(max(sizes))
    assert totals[1] <= 1.05 * totals[0] < 20_000
    with received() as sizes:
        frame.compute()
    assert max(sizes) > 100_000


def test_missing_values_are_detected_on_workers():
    frame = dd.from_pandas(a_frame(3000), npartitions=3, sort=False)
    for verb in (discrim.lda, discrim.logistic):
        with (
            received() as sizes,
            pytest.raises(DataError, match="'g'"),
        ):
            verb(FORMULA, frame, na_action="raise")
        assert max(sizes, default=0) < 20_000


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_a_partition_that_cannot_be_computed_is_named(scheduler):
    def broken(part):
        if 100 in part.index:
            raise OSError("no such block")
        return part

    frame = dd.from_pandas(a_frame(), npartitions=4, sort=False)
    with (
        dask.config.set(scheduler=scheduler),
        pytest.raises(
            DataError, match=r"Partition 1 of the Dask DataFrame .*OSError: no such block"
        ) as error,
    ):
        discrim.lda(FORMULA, frame.map_partitions(broken, meta=frame._meta))
    assert isinstance(error.value.__cause__, OSError)


def test_invalid_values_are_named_with_their_partition():
    frame = a_frame()
    frame.loc[100, "v"] = np.inf
    with pytest.raises(DataError) as caught:
        discrim.lda(FORMULA, dd.from_pandas(frame, npartitions=4, sort=False))
    assert caught.value.columns == ("v",)
    assert caught.value.rows == (100,)
    assert "partition" in str(caught.value)


def test_a_function_that_fails_is_named_with_its_partition():
    def fails(column):
        return 1 / 0 if (column.index == 100).any() else column

    with pytest.raises(ValueError, match=r"(?s)f.*partition 1 of the Dask"):
        discrim.lda("g ~ f(v)", dd.from_pandas(a_frame(), npartitions=4, sort=False), functions={"f": fails})


def test_a_frame_without_rows():
    frame = a_frame()
    with pytest.raises(DataError) as caught:
        discrim.lda(FORMULA, in_parts(frame[:0], frame[:0]))
    assert "Dask" in str(caught.value)
    assert "DataFrame" in str(caught.value)
    whole = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(DataError) as caught:
        discrim.lda("level ~ u", whole[whole.u < 0])
    assert "Dask" in str(caught.value)
    assert "DataFrame" in str(caught.value)


def test_rows_that_change_between_passes_are_refused():
    times = []

    def less_each_time(part):
        times.append(None)
        return part[len(times) :]

    frame = dd.from_pandas(a_frame(), npartitions=2, sort=False)
    with pytest.raises(DataError) as caught:
        discrim.logistic(FORMULA, frame.map_partitions(less_each_time, meta=frame._meta))
    assert "persist()" in str(caught.value)


def test_methods_that_need_rows_in_memory_raise_before_reading():
    frame = dd.from_pandas(a_frame(3000), npartitions=2, sort=False)
    for fit in (
        lambda: discrim.knn(FORMULA, frame, k=3),
        lambda: discrim.naive_bayes(FORMULA, frame, kernel=True),
    ):
        refused = pytest.raises(NotSupportedError, match="the Dask DataFrame is read part by part")
        with received() as sizes, refused:
            fit()
        assert sum(sizes) < 20_000


MADE: list[int] = []


def noted(part):
    MADE.append(part.index[0])
    return part


def test_local_reads_compute_one_partition_at_a_time():
    MADE.clear()
    frame = a_frame()
    lazy = dd.from_pandas(frame, npartitions=5, sort=False).map_partitions(noted, meta=frame.iloc[:0])
    with dask.config.set(scheduler="threads"):
        parts = source_of(lazy).chunks(["u", "g"])
        for number, part in enumerate(parts):
            assert list(range(0, 48 * number + 1, 48)) == MADE
            pd.testing.assert_series_equal(part.data["u"], frame["u"][48 * number : 48 * number + 48])
    assert number == 4


# ---- predictions


def same_values(found, expected):
    both = (each.astype(object).where(each.notna(), None).to_numpy() for each in (found, expected))
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize(
    ("verb", "response", "dtype"),
    [
        ("lda", "g", "object"),
        ("qda", "level", "category"),
        ("naive_bayes", "yes", "boolean"),
        ("logistic", "number", "Int64"),
        ("indicator", "g", "object"),
        ("knn", "g", "object"),
    ],
)
def test_predictions_are_lazy_and_have_the_declared_types(verb, response, dtype):
    frame = a_frame()
    rows = frame.drop(columns=response)
    rows.loc[200:, "w"] = np.nan
    lazy = in_parts(rows[:0], rows[:90], rows[90:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = getattr(discrim, verb)(f"{response} ~ u + v + w", frame, **({"k": 3} if verb == "knn" else {}))
    labels = fit.predict(lazy)
    assert isinstance(labels, dd.Series)
    assert labels.dtype == dtype == labels.compute().dtype
    same_values(labels.compute(), fit.predict(rows))
    methods = ["decision_function"]
    methods += ["predict_proba", "predict_log_proba"] if verb != "indicator" else []
    for name in methods:
        expected = getattr(fit, name)(rows)
        answer = getattr(fit, name)(lazy)
        found = answer.compute()
        # BLAS rounds the remainder rows of a block differently.
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
        assert found.index.equals(expected.index)
        if expected.ndim == 2:
            assert list(answer.columns) == list(expected.columns) == list(found.columns)


def test_predictions_with_unknown_labels_and_table_columns():
    frame = a_frame()
    lazy, fit = in_parts(frame[:90], frame[90:]), discrim.lda("level ~ u + v", frame)
    same_values(fit.predict(lazy, reject=0.3).compute(), fit.predict(frame, reject=0.3))
    same_values(fit.augment(lazy).compute(), fit.augment(frame))


def test_pickled_fits_have_no_rows(tmp_path):
    """The tasks of a prediction for a file, which hold its path and the fit."""
    new = tmp_path / "new.parquet"
    a_frame().to_parquet(new)
    sent = []
    for rows in (300, 3000):
        frame = a_frame(rows)
        for data in (frame, dd.from_pandas(frame, npartitions=2, sort=False)):
            sent.append(cloudpickle.dumps(discrim.lda(FORMULA, data).predict(dd.read_parquet(new)).dask))
    assert max(map(len, sent)) < 30_000
    assert max(map(len, sent)) - min(map(len, sent)) < 500


def test_missing_columns_are_named_before_computation():
    frame = a_frame()
    lazy = dd.from_pandas(frame, npartitions=2, sort=False)
    with pytest.raises(DataError) as caught:
        discrim.lda(FORMULA, frame).predict(lazy.drop(columns="u"))
    assert "'u'" in str(caught.value)


# ---- a cluster of processes


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    # Without stealing a partition stays where it was made, so that bytes are those of results.
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as made,
        Client(made) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    # Dask then finds the client by itself.
    with dask.config.set(scheduler=None):
        yield cluster


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["lda", "logistic"])
def test_killed_workers_do_not_change_results(client, verb, tmp_path):
    marker, frame = tmp_path / "killed", a_frame()

    def kills_once(part):
        if 100 in part.index and not marker.exists():
            marker.touch()
            os._exit(1)
        return part

    lazy = dd.from_pandas(frame, npartitions=6, sort=False).map_partitions(kills_once, meta=frame.iloc[:0])
    found = getattr(discrim, verb)(FORMULA, lazy)
    assert marker.exists()
    assert_same(found, getattr(discrim, verb)(FORMULA, frame), frame)


@pytest.mark.slow
def test_only_moments_are_transferred(client):
    def made(number, rows):
        return a_frame(rows).assign(u=lambda part: part.u + number)

    def sent():
        """Bytes of values that workers have sent to anyone who is no worker."""
        workers = set(client.scheduler_info()["workers"])
        logs = client.run(lambda dask_worker: list(dask_worker.transfer_outgoing_log))
        return sum(each["total"] for log in logs.values() for each in log if each["who"] not in workers)

    travelled = []
    for rows in (500, 50_000):
        frame = dd.from_map(made, range(8), rows=rows, meta=a_frame(9).iloc[:0])
        before = sent()
        fit = discrim.qda(FORMULA, frame)
        travelled.append(sent() - before)
        assert fit.nobs == 8 * (rows - 2)
    # Of the larger table 9.6 MB of these columns would travel.
    assert 500 < travelled[0] < 20_000
    assert travelled[1] < 1.1 * travelled[0]


@pytest.mark.slow
def test_evaluation_stays_on_workers(client):
    def made(number):
        # Labels that miss are looked for in the response itself, which then comes to be dealt to folds.
        return a_frame(10_000).dropna(subset=["g"]).assign(u=lambda part: part.u + number)

    frame = made(0)
    rows = pd.concat([made(number) for number in range(4)], ignore_index=True)
    lazy = dd.from_map(made, range(4), meta=frame.iloc[:0])
    fits = [discrim.lda(FORMULA, data) for data in (rows, lazy)]

    def came():
        workers = set(client.scheduler_info()["workers"])
        logs = client.run(lambda dask_worker: list(dask_worker.transfer_outgoing_log))
        return sum(each["total"] for log in logs.values() for each in log if each["who"] not in workers)

    for judged in (
        lambda fit: fit.error_rates(["apparent", "loo"]),
        lambda fit: discrim.cross_validate(fit, 3, seed=1).table(),
        lambda fit: fit.assess().overall,
    ):
        before = came()
        expected, found = (judged(fit).select_dtypes("number") for fit in fits)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        # Scores alone are 24 bytes a row, and the rows 32.
        assert came() - before < 6 * len(rows)


@pytest.mark.slow
def test_lost_worker_values_are_recomputed():
    from distributed import Client, LocalCluster

    def judged(fit):
        return discrim.cross_validate(fit, 3, repeats=2, seed=1), fit.assess()

    def assert_answered(validated, assessed):
        pd.testing.assert_frame_equal(validated.table(), expected[0].table())
        pd.testing.assert_frame_equal(validated.posteriors(2), expected[0].posteriors(2))
        pd.testing.assert_frame_equal(assessed.overall, expected[1].overall)

    frame = a_frame()
    expected = judged(discrim.lda(FORMULA, frame))
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with dask.config.set(scheduler=None), LocalCluster(**options) as made:
        with Client(made) as client:
            fit = discrim.lda(FORMULA, dd.from_pandas(frame, 4, sort=False))
            found = judged(fit)
            written = pickle.dumps(found)
            client.restart()
            assert_answered(*found)
            found = judged(fit)
        assert_answered(*found)
        assert_answered(*pickle.loads(pickle.dumps(found)))
    assert_answered(*pickle.loads(written))


@pytest.mark.slow
def test_repeats_may_be_scored_on_workers_and_here(client):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": ["a", "b"] * 60, "u": rng.normal(size=120), "kind": ["p"] * 40 + ["q"] * 80})
    # In some repeats both rows of a kind are in one fold, without which it is not known.
    frame.loc[[11, 91], "kind"] = "rare"
    fits = [discrim.lda("g ~ u + kind", data) for data in (frame, dd.from_pandas(frame, 4, sort=False))]
    with pytest.warns(MissingPredictionWarning):
        expected, found = (discrim.cross_validate(fit, 2, repeats=8, seed=1) for fit in fits)
    assert len(set(map(type, found._scores))) == 2
    pd.testing.assert_frame_equal(found.table(), expected.table(), rtol=1e-9)
    pd.testing.assert_frame_equal(found.posteriors(8), expected.posteriors(8), rtol=1e-9)


@pytest.mark.slow
def test_a_partition_that_fails_on_a_worker_is_named(client):
    def broken(part):
        if 100 in part.index:
            raise OSError("no such block")
        return part

    frame = dd.from_pandas(a_frame(), npartitions=4, sort=False)
    with pytest.raises(DataError, match=r"Partition 1 of the Dask DataFrame .*OSError: no such block"):
        discrim.lda(FORMULA, frame.map_partitions(broken, meta=frame._meta))
    with pytest.raises(DataError, match=r"'c' at row .*'a', 'b'.* in partition"):
        discrim.lda(FORMULA, frame, levels=["a", "b"])
