"""Files of fits that earlier versions saved: they load, and predict what they predicted then."""

import json

import numpy as np
import pandas as pd
import pytest

from discrim import load
from discrim.errors import DataError
from discrim.models.saving.tensor_file import read_file, write_file
from tests import support

FOLDER = support.GOLDEN / "saved" / "before_13"
FITS = json.loads((FOLDER / "predictions.json").read_text())


@pytest.mark.parametrize("name", FITS)
def test_a_file_of_an_earlier_version_predicts_what_it_did(name, tmp_path):
    fit, then = load(FOLDER / f"{name}.fit"), FITS[name]
    rows = pd.DataFrame(then["rows"])
    fit.save(tmp_path / "again")
    for held in (fit, load(tmp_path / "again")):
        assert held.predict(rows).tolist() == then["label"]
        if "decision" in then:
            np.testing.assert_allclose(held.decision_function(rows), then["decision"], rtol=1e-12, atol=1e-12)
        else:
            found = held.predict_log_proba(rows).clip(lower=-1e300)
            np.testing.assert_allclose(found, then["log_proba"], rtol=1e-12, atol=1e-12)
        assert held.title.split()[0] in held.summary().as_text()


def test_what_an_earlier_file_could_not_say():
    for name in ("lda_shrunk", "qda_shrunk", "rda"):
        assert load(FOLDER / f"{name}.fit")._fit.standardize is False
    assert load(FOLDER / "lda_drop.fit")._blocks.collinear == ("twice",)
    whole = load(FOLDER / "lda_whole_labels.fit").predict(pd.DataFrame(FITS["lda_whole_labels"]["rows"]))
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
