"""Files of fits that earlier versions saved: they load, and predict what they predicted then."""

import json

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import load
from discrim.errors import DataError
from discrim.models.registry import MODELS
from discrim.models.saving.tensor_file import read_file, write_file
from discrim.sklearn import as_estimator
from tests import support
from tests.golden.saved.write_saved import FUNCTIONS, IRIS, fits_with_options, structure_of

SAVED = support.GOLDEN / "saved"
FOLDER = SAVED / "before_13"
FITS = {
    folder.name: json.loads((folder / "predictions.json").read_text(encoding="utf-8"))
    for folder in (FOLDER, *(SAVED / f"before_{issue}" for issue in (15, 17, 20, 33, 37, 38)))
}
MOMENTS = json.loads((SAVED / "before_17" / "moments.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("version", "name"), [(version, name) for version in FITS for name in FITS[version]])
def test_a_file_of_an_earlier_version_predicts_what_it_did(version, name, tmp_path):
    fit, then = load(SAVED / version / f"{name}.fit", functions=FUNCTIONS), FITS[version][name]
    rows = pd.DataFrame(then["rows"])
    read = [fit]
    if version < "before_17":
        # What an earlier version could not say is written now.
        fit.save(tmp_path / "again")
        read.append(load(tmp_path / "again", functions=FUNCTIONS))
    for held in read:
        assert held.predict(rows).tolist() == then["label"]
        if "decision" in then:
            np.testing.assert_allclose(held.decision_function(rows), then["decision"], rtol=1e-12, atol=1e-12)
        else:
            found = held.predict_log_proba(rows).clip(lower=-1e300)
            np.testing.assert_allclose(found, then["log_proba"], rtol=1e-12, atol=1e-12)
        if "calibrated" in then:
            found = held.predict_proba(rows, method="calibrated")
            np.testing.assert_allclose(found, then["calibrated"], rtol=1e-12)
    assert fit.title.split()[0] in fit.summary().as_text()


@pytest.mark.filterwarnings("ignore:No row is left in class 'none'")
@pytest.mark.parametrize("name", MOMENTS)
def test_a_file_of_moments_of_an_earlier_version_holds_what_it_did(name):
    then, path = MOMENTS[name], SAVED / "before_17" / f"{name}.moments"
    table, rows = pd.DataFrame(then["table"]), pd.DataFrame(then["rows"])
    held = load(path, functions=FUNCTIONS)
    assert (held.counts.tolist(), held.dropped) == (then["counts"], then["dropped"])
    np.testing.assert_array_equal(held.means.fillna(0.0), then["means"])
    held.update(table, weights=np.ones(len(table)) if name.endswith("weights") else None)
    fit = discrim.lda(moments=held, covariance=structure_of(name))
    np.testing.assert_allclose(fit.predict_log_proba(rows), then["log_proba"], rtol=1e-11, atol=1e-11)


BEFORE_17 = {
    "HyperplaneResults", "IndicatorResults", "KNNResults", "LDAResults", "LogisticResults",
    "NaiveBayesResults", "PerceptronResults", "QDAResults", "RDAResults", "ShrunkenCentroidsResults",
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "kinds"), [("before_15", BEFORE_17), ("before_17", BEFORE_17 | {"NearestCentroidResults"})]
)
def test_each_verb_that_could_be_saved_has_a_file(version, kinds):
    files = list((SAVED / version).glob("*.fit"))
    assert {file.stem for file in files} == set(FITS[version])
    assert {type(load(file, functions=FUNCTIONS)).__name__ for file in files} == kinds


@pytest.mark.parametrize(
    "versions",
    [("before_17", "before_20", "before_37", "before_38"), ("before_33", "before_37", "before_38")],
)
def test_the_last_files_are_of_every_verb_that_can_be_saved(versions):
    files = [file for version in versions for file in (SAVED / version).glob("*.fit")]
    kinds = {type(load(file, functions=FUNCTIONS)).__name__ for file in files}
    assert kinds == {model.results for model in MODELS if model.can_be_saved}


def test_each_of_the_moments_has_a_file():
    assert {file.stem for file in (SAVED / "before_17").glob("*.moments")} == set(MOMENTS)


TEXTS = {"covariance": "LedoitWolf()", "engine": "PLSRegression()", "folds": "splits of the rows"}


@pytest.mark.parametrize(("name", "made"), fits_with_options().items())
def test_a_file_holds_the_arguments_of_the_verb_as_they_were_given(name, made):
    options = load(SAVED / "before_33" / f"{name}.fit")._fit.options
    for key, given in made[-1].items():
        if key == "prior":
            continue
        # What these files call components is ncomp now.
        read = options[{"components": "ncomp"}.get(key, key) if name == "pls_engine" else key]
        if isinstance(given, str | int | float | list | dict) and not (name == "rda" and key == "folds"):
            assert (type(read), read) == (type(given), given)
        elif isinstance(given, np.ndarray):
            assert read == given.tolist()
        else:
            assert repr(read) == TEXTS[key]


def test_a_refit_of_an_earlier_file_says_that_its_engine_is_lost(tmp_path):
    about, tensors = read_file(SAVED / "before_33" / "pls_engine.fit")
    del about["arguments"]
    write_file(tmp_path / "fit", about, tensors)
    estimator = as_estimator(load(tmp_path / "fit"))
    with pytest.raises(DataError, match="keeps the text engine and not the object"):
        estimator.fit(IRIS, IRIS["species"])


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
