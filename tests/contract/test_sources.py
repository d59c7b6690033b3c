"""Every verb on rows that come part by part says what it says of them in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, DiscrimError, NotSupportedError
from discrim.subspace import RandomFeatures

BY_PASSES = {
    "lda": {},
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "rda chosen": {"folds": 4, "seed": 1, "grid": [0.0, 0.5, 1.0]},
    "naive_bayes": {},
    "naive_bayes counts": {"counts": ["n"]},
    "shrunken_centroids": {"threshold": 0.5},
    "shrunken_centroids chosen": {"folds": 4, "seed": 1},
    "mixture": {"components": 1, "covariance": "VEE"},
    "sparse_lda": {"penalty": 0.05},
    "sparse_lda chosen": {"folds": 4, "seed": 1, "n_penalties": 4},
    "nearest_centroid": {},
    "location": {},
    "plda": {},
    "plda lengths": {"normalize": True},
    "pls": {"ncomp": 2},
    "pls chosen": {"folds": 4, "seed": 1},
    "indicator": {},
    "logistic": {},
    "lda diagonal": {"covariance": "diagonal"},
    "lda shrunk": {"covariance": "shrunk"},
    "lda nonlinear": {"covariance": "nonlinear"},
    "lda t": {"covariance": "t"},
    "qda factor": {"covariance": "factor"},
    "kernel_lda features": {"components": 40, "kernel": "gaussian", "scale": "sd"},
    "kernel_lda random": {
        "components": RandomFeatures(40),
        "width": 2.0,
        "ridge": 0.1,
        "kernel": "arccos",
    },
}
IN_MEMORY = {
    "knn": {"k": 3},
    "kernel_density": {"bandwidth": 1.0},
    "perceptron": {},
    "hyperplane": {},
    "naive_bayes kernel": {"kernel": True},
}
UNWEIGHTED = ("lda shrunk", "lda nonlinear", "lda t")
FORMULAS = ("y ~ a + b + n", "y ~ a + center(b) + g + n", "y ~ poly(a, 2) + C(h) + log(exp(b))")


def rows(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    y = rng.choice(["low", "mid", "top"], n, p=[0.5, 0.3, 0.2])
    shift = pd.Series({"low": 0.0, "mid": 1.0, "top": 2.5})[y].to_numpy()
    data = pd.DataFrame({"a": rng.normal(size=n) + shift, "b": rng.normal(5.0, 2.0, n) - shift})
    data["n"] = rng.poisson(2.0 + shift)
    data["g"] = rng.choice(["u", "v", "w"], n)
    data["w"], data["h"] = rng.integers(1, 4, n), rng.integers(0, 3, n)
    data["y"] = y
    data.loc[7::29, "a"] = np.nan
    data.loc[11::41, "y"] = None
    return data


def even_chunks(data: pd.DataFrame) -> list[pd.DataFrame]:
    return [data[start : start + 70] for start in range(0, len(data), 70)]


def odd_chunks(data: pd.DataFrame) -> list[pd.DataFrame]:
    """Split a table into odd chunks: empty, of one row, of one class, and with a column without values."""
    data = data.sort_values("y", kind="stable", na_position="first")
    bare = data[40:60].assign(a=None)
    return [data[:0], data[:1], data[1:40], bare, data[60:61], data[61:200], data[200:200], data[200:]]


def chunk_reader(parts: list[pd.DataFrame]) -> Callable[[], Iterator[pd.DataFrame]]:
    return lambda: iter(parts)


def concatenated(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part.astype({"a": float}) for part in parts], ignore_index=True)


def assert_close(one: object, other: object, tolerance: float = 1e-12) -> None:
    a, b = pd.DataFrame(one), pd.DataFrame(other)
    pd.testing.assert_index_equal(a.columns, b.columns)
    for column in a:
        if pd.api.types.is_numeric_dtype(a[column]) and not isinstance(a[column].dtype, pd.BooleanDtype):
            x, y = a[column].to_numpy(float), b[column].to_numpy(float)
            size = np.nanmax(np.abs(x[np.isfinite(x)]), initial=1e-300)
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * size)
        else:
            pd.testing.assert_series_equal(a[column], b[column])


def assert_chunks_agree(case: str, parts: list[pd.DataFrame], formula: str, weights: str | None) -> None:
    """Check that a fit to chunks agrees with that to their table."""
    verb, options = case.split()[0], BY_PASSES[case]
    fit, tolerance = getattr(discrim, verb), 1e-10 if verb == "logistic" else 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = fit(formula, concatenated(parts), weights=weights, **options)
        source = fit(formula, chunk_reader(parts), weights=weights, **options)
        assert (source.formula, source.nobs) == (memory.formula, memory.nobs)
        assert source.terms.tolist() == memory.terms.tolist()
        assert_close(source.tidy(), memory.tidy(), 100 * tolerance)
        for name in ("predict_log_proba", "decision_function"):
            if verb != "indicator" or name == "decision_function":
                assert_close(getattr(source, name)(), getattr(memory, name)(), 10 * tolerance)
        pd.testing.assert_series_equal(source.predict(), memory.predict())


@pytest.mark.parametrize("case", BY_PASSES)
def test_chunked_source_equals_the_table(case):
    turn = list(BY_PASSES).index(case)
    formula = FORMULAS[0 if "counts" in case else turn % 3]
    assert_chunks_agree(
        case, odd_chunks(rows()), formula, "w" if turn % 2 and case not in UNWEIGHTED else None
    )


@pytest.mark.parametrize(
    ("case", "made"),
    [
        pytest.param(case, made, marks=pytest.mark.exhaustive if (k + j) % 2 else pytest.mark.slow)
        for k, case in enumerate(BY_PASSES)
        for j, made in enumerate((even_chunks, odd_chunks))
    ],
)
def test_chunked_source_equals_the_table_for_any_formula(case, made):
    for formula in FORMULAS[: 1 if "counts" in case else None]:
        for weights in (None,) if case in UNWEIGHTED else (None, "w"):
            assert_chunks_agree(case, made(rows()), formula, weights)


JUDGED = {
    "leave_one_out": lambda fit: fit.leave_one_out(),
    "error_rates": lambda fit: fit.error_rates(["apparent", "cv"], folds=4, seed=2),
    "confusion": lambda fit: fit.confusion(method="loo"),
    "cross_validate": lambda fit: discrim.cross_validate(fit, 4, seed=3).table(),
    "augment": lambda fit: fit.augment(),
    "summary": lambda fit: pd.Series(fit.summary().as_text().splitlines()),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes", "logistic"])
def test_evaluation_of_a_source_equals_evaluation_of_the_table(verb):
    parts, fit = even_chunks(rows(150)), getattr(discrim, verb)
    memory = fit("y ~ a + center(b) + g", concatenated(parts), weights="w")
    source = fit("y ~ a + center(b) + g", chunk_reader(parts), weights="w")
    for name, evaluate in JUDGED.items():
        # A logistic regression is fitted again for each row that is left out.
        if verb != "logistic" or name not in ("leave_one_out", "confusion"):
            assert_close(evaluate(source), evaluate(memory), 1e-9 if verb == "logistic" else 1e-11)


def test_tests_of_moments_accept_sources():
    parts = even_chunks(rows())
    for verb in (discrim.box_m, discrim.manova, discrim.covariance_models):
        mine, theirs = verb("y ~ a + b", chunk_reader(parts)), verb("y ~ a + b", concatenated(parts))
        assert_close(getattr(mine, "table", mine), getattr(theirs, "table", theirs))
    mine = discrim.moments("y ~ a + b + g", chunk_reader(parts), weights="w")
    theirs = discrim.moments("y ~ a + b + g", concatenated(parts), weights="w")
    assert_close(mine.cov, theirs.cov)
    assert mine.dropped == theirs.dropped
    chosen = discrim.stepwise("y ~ a + b + n", chunk_reader(parts))
    assert str(chosen.summary()) == str(discrim.stepwise("y ~ a + b + n", concatenated(parts)).summary())


class Watched:
    """A producer that counts how often it was asked."""

    def __init__(self, parts: list[pd.DataFrame]) -> None:
        self.parts, self.asked = parts, 0

    def __call__(self) -> Iterator[pd.DataFrame]:
        for part in self.parts:
            self.asked += 1
            yield part


@pytest.mark.parametrize("case", IN_MEMORY)
def test_models_that_need_all_rows_raise_before_reading(case):
    source = Watched(even_chunks(rows()))
    with pytest.raises(NotSupportedError) as caught:
        getattr(discrim, case.split()[0])("y ~ a + b", source, **IN_MEMORY[case])
    assert "sample" in str(caught.value)
    assert "part" in str(caught.value)
    # Its first part tells what kind of producer it is.
    assert source.asked <= 1


@pytest.mark.parametrize("verb", ["lda", "qda", "indicator", "shrunken_centroids", "nearest_centroid"])
def test_source_is_read_once_if_classes_are_declared(verb):
    parts = [
        part.assign(y=part["y"].astype(pd.CategoricalDtype(["low", "mid", "top"])))
        for part in even_chunks(rows())
    ]
    options = {"threshold": 0.5} if verb == "shrunken_centroids" else {}
    source = Watched(parts)
    getattr(discrim, verb)("y ~ a + b + n", source, **options)
    # What columns hold is looked up in the first part. So few rows are looked at again for their roots.
    assert source.asked <= 2 * len(parts) + 2


def test_plots_of_rows_raise_for_sources():
    fit = discrim.lda("y ~ a + b", chunk_reader(even_chunks(rows())))
    with pytest.raises(NotSupportedError) as caught:
        fit.plot()
    assert "sample" in str(caught.value)


def test_a_producer_that_fails_half_way_leaves_nothing():
    def broken() -> Iterator[pd.DataFrame]:
        yield rows()
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        discrim.lda("y ~ a + b", broken)


def test_changed_source_raises():
    parts = even_chunks(rows())
    fit = discrim.lda("y ~ a + b", lambda: iter(parts))
    parts.pop()
    with pytest.raises(DataError) as caught:
        fit.predict()
    assert "280" in str(caught.value)
    assert "300" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": np.inf}, r"Column 'a' is infinite at row 140"),
        ({"w": -1}, r"weights 'w' are negative at row 140"),
    ],
)
def test_a_row_at_fault_is_called_by_its_number_in_the_source(change, message):
    parts = [part.reset_index(drop=True) for part in even_chunks(rows().dropna().reset_index(drop=True))]
    parts[2] = parts[2].assign(
        **{name: parts[2][name].where(parts[2].index != 0, value) for name, value in change.items()}
    )
    with pytest.raises(DataError, match=message):
        discrim.lda("y ~ a + b", chunk_reader(parts), weights="w")


def test_missing_rows_raise_on_request():
    with pytest.raises(DataError) as caught:
        discrim.lda("y ~ b", chunk_reader(even_chunks(rows())), na_action="raise")
    assert caught.value.columns == ("y",)
    assert caught.value.rows == (11,)


@pytest.mark.parametrize("what", ["predict", "predict_proba", "decision_function", "augment"])
def test_predictions_of_a_source_come_part_by_part(what):
    data = rows()
    fit = discrim.lda("y ~ a + center(b) + g", data)
    frames = list(getattr(fit, what)(chunk_reader([data[:100], data[:0], data[100:]])))
    assert [len(frame) for frame in frames] == [100, 200]
    expected = getattr(fit, what)(data)
    assert_close(pd.concat(frames), expected.to_frame() if isinstance(expected, pd.Series) else expected)
    assert_close(fit.confusion(chunk_reader([data[:100], data[100:]])), fit.confusion(data))


def test_unpredictable_row_of_a_source_is_named():
    data = rows()
    fit = discrim.lda("y ~ a + g", data)
    frames = fit.predict(chunk_reader([data[:100], data[100:].assign(g="new")]))
    next(frames)
    with pytest.raises(DiscrimError) as caught:
        next(frames)
    assert caught.value.rows == (100,)


ONE_PASS = {
    "lda": {},
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "naive_bayes": {},
    "naive_bayes counts": {"counts": ["n"]},
    "shrunken_centroids": {"threshold": 0.5},
    "sparse_lda": {"nonzero": 2},
    "nearest_centroid": {},
    "plda": {},
    "pls": {"ncomp": 2},
    "indicator": {},
}


@pytest.mark.parametrize("case", ONE_PASS)
def test_an_iterator_is_read_once(case):
    parts, fit = even_chunks(rows()), getattr(discrim, case.split()[0])
    source = fit("y ~ a + b + n", iter(parts), weights="w", **ONE_PASS[case])
    memory = fit("y ~ a + b + n", concatenated(parts), weights="w", **ONE_PASS[case])
    new = rows()
    assert_close(source.decision_function(new), memory.decision_function(new))
    assert source.nobs == memory.nobs
    with pytest.raises(NotSupportedError) as caught:
        source.leave_one_out()
    assert "requires the rows of the fit" in str(caught.value)


@pytest.mark.parametrize(
    ("verb", "formula", "options"),
    [
        ("rda", "y ~ a + b", {}),
        ("shrunken_centroids", "y ~ a + b", {}),
        ("pls", "y ~ a + b", {}),
        ("sparse_lda", "y ~ a + b", {}),
        ("lda", "y ~ a + b", {"covariance": "t"}),
        ("lda", "y ~ a + center(b)", {}),
        ("naive_bayes", "y ~ a + b", {"kernel": True}),
        ("logistic", "y ~ a + b", {}),
        ("knn", "y ~ a + b", {"k": 3}),
        ("kernel_density", "y ~ a + b", {"bandwidth": 1.0}),
    ],
)
def test_models_of_several_passes_raise_for_iterators_without_reading(verb, formula, options):
    rest = iter(even_chunks(rows()))
    with pytest.raises(NotSupportedError) as caught:
        getattr(discrim, verb)(formula, rest, **options)
    assert "read" in str(caught.value)
    assert len(list(rest)) == 4


def test_confusion_accepts_a_folder_as_first_argument(tmp_path):
    data = rows().drop(columns="h")
    data[:150].to_csv(tmp_path / "1.csv", index=False)
    data[150:].to_csv(tmp_path / "2.csv", index=False)
    fit = discrim.lda("y ~ a + b", data)
    assert fit.confusion(str(tmp_path)).equals(fit.confusion(data))
    with pytest.raises(DataError) as caught:
        fit.confusion("loop")
    assert "method" in str(caught.value)
