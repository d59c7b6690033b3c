"""Files of fits that earlier versions saved: they load, and predict what they predicted then."""

import json

import numpy as np
import pandas as pd
import pytest

from discrim import load
from discrim.errors import DataError
from discrim.models.saving.tensor_file import read_file, write_file
from tests import support
from tests.golden.saved.write_saved import FUNCTIONS

SAVED = support.GOLDEN / "saved"
FOLDER = SAVED / "before_13"
FITS = {
    folder.name: json.loads((folder / "predictions.json").read_text())
    for folder in (FOLDER, SAVED / "before_15")
}


@pytest.mark.parametrize(("version", "name"), [(version, name) for version in FITS for name in FITS[version]])
def test_a_file_of_an_earlier_version_predicts_what_it_did(version, name, tmp_path):
    fit, then = load(SAVED / version / f"{name}.fit", functions=FUNCTIONS), FITS[version][name]
    rows = pd.DataFrame(then["rows"])
    fit.save(tmp_path / "again")
    for held in (fit, load(tmp_path / "again", functions=FUNCTIONS)):
        assert held.predict(rows).tolist() == then["label"]
        if "decision" in then:
            np.testing.assert_allclose(held.decision_function(rows), then["decision"], rtol=1e-12, atol=1e-12)
        else:
            found = held.predict_log_proba(rows).clip(lower=-1e300)
            np.testing.assert_allclose(found, then["log_proba"], rtol=1e-12, atol=1e-12)
        assert held.title.split()[0] in held.summary().as_text()


def test_each_verb_that_could_be_saved_has_a_file():
    files = list((SAVED / "before_15").glob("*.fit"))
    assert {file.stem for file in files} == set(FITS["before_15"])
    assert {type(load(file, functions=FUNCTIONS)).__name__ for file in files} == {
        "HyperplaneResults", "IndicatorResults", "KNNResults", "LDAResults", "LogisticResults",
        "NaiveBayesResults", "PerceptronResults", "QDAResults", "RDAResults", "ShrunkenCentroidsResults",
    }  # fmt: skip


def test_labels_of_an_earlier_file_are_of_the_dtype_of_its_table():
    def labels(name):
        rows = pd.DataFrame(FITS["before_15"][name]["rows"])
        return load(SAVED / "before_15" / f"{name}.fit").predict(rows).dtype

    assert labels("lda_ranked_labels") == pd.CategoricalDtype(["virginica", "setosa", "versicolor"], True)
    assert labels("lda_nullable_labels") == "Int64"
    assert labels("lda_true_false") == "bool"
    assert labels("hyperplane_true_false") == "bool"


def test_what_an_earlier_file_could_not_say():
    for name in ("lda_shrunk", "qda_shrunk", "rda"):
        assert load(FOLDER / f"{name}.fit")._fit.numbers.standardize is False
    assert load(FOLDER / "lda_drop.fit")._fit.blocks.collinear == ("twice",)
    whole = load(FOLDER / "lda_whole_labels.fit").predict(
        pd.DataFrame(FITS["before_13"]["lda_whole_labels"]["rows"])
    )
    assert pd.api.types.is_integer_dtype(whole)


def test_a_root_of_an_earlier_file_is_checked_as_any(tmp_path):
    about, tensors = read_file(FOLDER / "knn_mahalanobis.fit")
    for spoilt in (np.zeros((4, 4)), np.ones((4, 4)), np.ones((4, 3)), np.ones(4)):
        write_file(tmp_path / "fit", about, tensors | {"whitening": spoilt})
        with pytest.raises(DataError, match=r"cannot be read as a saved fit.*Save the fit again"):
            load(tmp_path / "fit")


def test_a_file_of_a_later_version_says_so(tmp_path):
    about, tensors = read_file(FOLDER / "lda.fit")
    about["options"]["curvature"] = 1.0
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError, match=r"'curvature', which this version does not know.*Update discrim"):
        load(tmp_path / "fit")
    about["options"] = {"method": "moment"}
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError, match="'chosen' is missing among its options"):
        load(tmp_path / "fit")


@pytest.mark.parametrize("verb", ["lda", "indicator", "rda"])
def test_a_fit_of_columns_that_sum_to_a_constant_is_not_read(verb):
    with pytest.raises(
        DataError, match=r"'g6' is a linear combination of other.*Leave 'g6' out of the formula"
    ):
        load(FOLDER / f"connect_{verb}.fit")
