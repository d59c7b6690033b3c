"""The bundled tables: shapes, figures printed elsewhere, and that the files are what they say."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest

from discrim import datasets
from discrim.errors import DataError

SHAPES = {"breast_cancer": (569, 31), "iris": (150, 5), "penguins": (344, 8), "wine": (178, 14)}
CLASSES = {
    "breast_cancer": ("diagnosis", {"benign": 357, "malignant": 212}),
    "iris": ("species", {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "penguins": ("species", {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}),
    "wine": ("cultivar", {"barbera": 48, "barolo": 59, "grignolino": 71}),
}


def test_the_names_are_those_of_the_files_and_of_the_loaders():
    shipped = {
        file.name.removesuffix(".csv") for file in files("discrim.datasets").iterdir() if ".csv" in file.name
    }
    assert shipped == set(datasets.names()) == set(SHAPES)
    assert {f"load_{name}" for name in shipped} == {
        name for name in dir(datasets) if name.startswith("load_")
    }


@pytest.mark.parametrize("name", SHAPES)
def test_shape_classes_and_names(name):
    table = datasets.load(name)
    response, counts = CLASSES[name]
    assert table.shape == SHAPES[name]
    assert table[response].value_counts().to_dict() == counts
    assert all(column.isidentifier() and column == column.lower() for column in table)
    assert getattr(datasets, f"load_{name}")().equals(table)


@pytest.mark.parametrize("name", SHAPES)
def test_numbers_are_read_to_the_last_bit(name):
    table = datasets.load(name)
    text = files("discrim.datasets").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    for column in table.select_dtypes("number"):
        expected = [float(row[column] or "nan") for row in rows]
        assert np.array_equal(table[column].to_numpy(float), expected, equal_nan=True), column


def test_a_loader_reads_anew():
    first = datasets.load_iris()
    first.loc[0, "sepal_length"] = -1.0
    assert datasets.load_iris().loc[0, "sepal_length"] == 5.1


def test_iris_is_fishers_and_not_the_repositorys():
    # Fisher (1936), table I: class means; and the two rows in which the UCI copy differs from it.
    iris = datasets.load_iris()
    means = iris.groupby("species").mean()
    expected = [[5.006, 3.428, 1.462, 0.246], [5.936, 2.770, 4.260, 1.326], [6.588, 2.974, 5.552, 2.026]]
    np.testing.assert_allclose(means.to_numpy(), expected, rtol=1e-14)
    assert iris.iloc[34, :4].tolist() == [4.9, 3.1, 1.5, 0.2]
    assert iris.iloc[37, :4].tolist() == [4.9, 3.6, 1.4, 0.1]


def column_name(given):
    """Our name for scikit-learn's "mean radius", "radius error" or "worst radius"."""
    if given.endswith(" error"):
        return given.replace(" error", "_se").replace(" ", "_")
    kind, _, feature = given.partition(" ")
    return f"{feature}_{kind}".replace(" ", "_")


def test_breast_cancer_is_scikit_learns():
    from sklearn.datasets import load_breast_cancer

    theirs, ours = load_breast_cancer(), datasets.load_breast_cancer()
    assert np.array_equal(ours.iloc[:, :-1].to_numpy(), theirs.data)
    assert ours["diagnosis"].tolist() == [theirs.target_names[code] for code in theirs.target]
    assert list(ours)[:-1] == [column_name(given) for given in theirs.feature_names]


def test_wine_is_scikit_learns():
    from sklearn.datasets import load_wine

    theirs, ours = load_wine(), datasets.load_wine()
    assert np.array_equal(ours.iloc[:, :-1].to_numpy(), theirs.data)
    cultivars = ["barolo", "grignolino", "barbera"]
    assert ours["cultivar"].tolist() == [cultivars[code] for code in theirs.target]


def test_penguins_miss_what_the_source_misses():
    missing = datasets.load_penguins().isna().sum().to_dict()
    measured = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    assert missing == {"species": 0, "island": 0, **dict.fromkeys(measured, 2), "sex": 11, "year": 0}


@pytest.mark.parametrize(("name", "hint"), [("irsi", "'iris'"), ("?", "breast_cancer, iris")])
def test_an_unknown_name_says_what_there_is(name, hint):
    with pytest.raises(DataError) as caught:
        datasets.load(name)
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", SHAPES)
def test_each_docstring_names_every_column_with_source_and_licence(name):
    text = getattr(datasets, f"load_{name}").__doc__
    assert "References" in text
    assert any(word in text for word in ("CC BY 4.0", "CC0 1.0", "no copyright is claimed"))
    stems = {
        column.rsplit("_", 1)[0] if name == "breast_cancer" else column for column in datasets.load(name)
    }
    stems.discard("diagnosis")
    assert [stem for stem in sorted(stems) if stem not in text] == []
