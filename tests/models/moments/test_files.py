"""Moments in a file, and back."""

import pickle

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, FormulaError, NotAFitError
from discrim.models.base.tensor_file import read_file, write_file

IRIS, PENGUINS = load_iris(), load_penguins()
WEIGHTS = np.arange(len(PENGUINS)) % 3 / 2 + 0.25
MIXED = "species ~ bill_length_mm + C(island, Sum) + sex + poly(body_mass_g, 2)"


def half(x):
    return x / 2


MADE = {
    "class": lambda: discrim.moments("species ~ .", IRIS),
    "pooled": lambda: discrim.moments("species ~ .", IRIS, scatters="pooled"),
    "diagonal": lambda: discrim.moments(MIXED, PENGUINS, scatters="diagonal", weights=WEIGHTS),
    "mixed": lambda: discrim.moments(MIXED, PENGUINS),
    "one_class": lambda: discrim.moments("species ~ .", IRIS[:50]),
    "one_row": lambda: discrim.moments("species ~ .", IRIS[:1]),
    "no_row": lambda: discrim.moments("species ~ .", IRIS.assign(sepal_width=np.nan)),
    "empty_classes": lambda: discrim.moments(
        "species ~ sepal_width", IRIS[:60], levels=["none", "setosa", "versicolor", "virginica"]
    ),
    "flags": lambda: discrim.moments("y ~ flag + x", FLAGS, weights="w"),
    "functions": lambda: discrim.moments("species ~ half(sepal_width)", IRIS, functions={"half": half}),
    "less": lambda: (m := discrim.moments("species ~ .", IRIS)) - m.of(IRIS[::3]),
}  # fmt: skip
FLAGS = pd.DataFrame({"y": list("abab") * 9, "flag": [True, False, False] * 12, "x": np.arange(36.0)})
FLAGS["w"] = np.tile([0.5, 1.0, 2.0], 12)


@pytest.fixture(params=MADE)
def held(request):
    return MADE[request.param]()


def test_loaded_moments_equal_saved_moments(held, tmp_path):
    held.save(tmp_path / "m")
    again = discrim.load(tmp_path / "m", functions={"half": half} if "half" in held.formula else None)
    assert isinstance(again, discrim.Moments)
    assert (repr(again), again._design, again.dropped) == (repr(held), held._design, held.dropped)
    assert (again._weights, again._weighted, again._levels_given, again._scatters) == (
        held._weights,
        held._weighted,
        held._levels_given,
        held._scatters,
    )
    for name in ("counts", "rows", "centres", "rests", "scale", "scatters"):
        np.testing.assert_array_equal(getattr(again._moments, name), getattr(held._moments, name))
    if held._moments.roots is not None:
        np.testing.assert_array_equal(again._moments.roots, held._moments.roots)
    for ours, theirs in zip(again._level_counts.tables, held._level_counts.tables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again._level_counts.negative, held._level_counts.negative)


def test_a_file_of_published_statistics(tmp_path):
    means = pd.DataFrame([[0.0, 1.0], [3.0, 1.0]], ["a", "b"], ["u", "v"])
    held = discrim.from_stats(means, [[2.0, 1.0], [1.0, 2.0]], [10, 12])
    held.save(tmp_path / "m")
    fit = discrim.lda(moments=discrim.load(tmp_path / "m"))
    assert fit.coef.equals(discrim.lda(moments=held).coef)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_loaded_moments_accept_more_rows(tmp_path):
    monday, tuesday = PENGUINS[::2], PENGUINS[1::2]
    discrim.moments(MIXED, monday, weights=WEIGHTS[::2]).save(tmp_path / "monday")
    loaded = discrim.load(tmp_path / "monday")
    loaded.update(tuesday, weights=WEIGHTS[1::2])
    first = discrim.moments(MIXED, monday, weights=WEIGHTS[::2])
    whole = first + first.of(tuesday, weights=WEIGHTS[1::2])
    assert pickle.dumps(loaded._moments) == pickle.dumps(whole._moments)
    assert discrim.lda(moments=loaded, covariance="diagonal").nobs == whole.nobs


def test_missing_functions_are_named(tmp_path):
    MADE["functions"]().save(tmp_path / "m")
    with pytest.raises(DataError) as caught:
        discrim.load(tmp_path / "m")
    assert "functions=" in str(caught.value)
    assert "'half'" in str(caught.value)
    loaded = discrim.load(tmp_path / "m", functions={"half": half})
    assert loaded.of(IRIS).nobs == 150


def test_missing_folders_are_named_and_existing_files_are_kept(tmp_path):
    held = MADE["class"]()
    with pytest.raises(FileNotFoundError) as caught:
        held.save(tmp_path / "none" / "m")
    assert "folder" in str(caught.value)
    with pytest.raises(IsADirectoryError):
        held.save(f"{tmp_path}/")
    with pytest.raises(DataError) as caught:
        held.save(3)
    assert "path" in str(caught.value)
    (tmp_path / "text").write_text("hello, world")
    with pytest.raises(NotAFitError):
        discrim.load(tmp_path / "text")


def replace_by_ones(values):
    return np.ones_like(values)


def set_value(place, value):
    def change(values):
        values = values.copy()
        values[place] = value
        return values

    return change


SPOILT = [
    ("counts", set_value(0, 3.0), "class counts differ"),
    ("rows", set_value(0, 0), "class counts"),
    ("rows", set_value(0, 0.5), "numbers of rows by class"),
    ("centres", lambda x: x[:, :2], "'centres' has shape"),
    ("centres", set_value((0, 0), 1e301), "out of range"),
    ("rests", replace_by_ones, "rounding errors"),
    ("scale", set_value(0, 3.0), "powers of two"),
    ("scatters", set_value((0, 0, 0), -1.0), "a sum of squares is negative"),
    ("scatters", lambda x: x * 2, "not the squares of its roots"),
    ("roots", np.swapaxes, "not triangular"),
    ("tables", lambda x: x + 1, "counts of levels"),
    ("tables", lambda x: -x, "counts of levels"),
    ("tables", lambda x: x[:, 1:], "counts of levels"),
    ("sizes", lambda x: x + 1, "counts of levels"),
    ("sizes", lambda x: x[:1], "counts of levels"),
    ("negative", lambda x: x + 2, "counts of levels"),
    ("prior", None, "its arrays are"),
]


@pytest.mark.parametrize(("name", "change", "said"), SPOILT)
def test_damaged_values_are_refused(name, change, said, tmp_path):
    discrim.moments("species ~ bill_length_mm + island + sex", PENGUINS).save(tmp_path / "m")
    about, tensors = read_file(tmp_path / "m")
    if change is None:
        tensors[name] = np.ones(3) / 3
    else:
        tensors[name] = change(tensors[name], 1, 2) if change is np.swapaxes else change(tensors[name])
    write_file(tmp_path / "m", about, tensors)
    with pytest.raises(DataError, match=said):
        discrim.load(tmp_path / "m")


DESCRIBED = [
    ({"scatters": "all"}, "not a description of moments"),
    ({"scatters": []}, "not a description of moments"),
    ({"scatters": "pooled"}, "has shape"),
    ({"levels_given": 1}, "not a description of moments"),
    ({"dropped": -1}, "dropped rows"),
    ({"weights": "w"}, "weights"),
    ({"weights": 3, "weighted": True}, "weights"),
    ({"extra": 1}, "unknown or missing: 'extra'"),
    ({"model": "lda"}, "incomplete|options"),
    ({"design": {}}, "Design does not have the parts"),
]


@pytest.mark.parametrize(("change", "said"), DESCRIBED)
def test_damaged_descriptions_are_refused(change, said, tmp_path):
    MADE["class"]().save(tmp_path / "m")
    about, tensors = read_file(tmp_path / "m")
    write_file(tmp_path / "m", about | change, tensors)
    with pytest.raises((DataError, FormulaError), match=said):
        discrim.load(tmp_path / "m")


def test_moments_of_a_class_without_rows_are_refused(tmp_path):
    MADE["empty_classes"]().save(tmp_path / "m")
    about, tensors = read_file(tmp_path / "m")
    for name in ("centres", "scatters", "roots"):
        write_file(tmp_path / "m", about, tensors | {name: replace_by_ones(tensors[name])})
        with pytest.raises(DataError):
            discrim.load(tmp_path / "m")
    MADE["no_row"]().save(tmp_path / "m")
    about, tensors = read_file(tmp_path / "m")
    write_file(tmp_path / "m", about, tensors | {"scatters": replace_by_ones(tensors["scatters"])})
    with pytest.raises(DataError) as caught:
        discrim.load(tmp_path / "m")
    assert "moments" in str(caught.value)
