"""The files in `tests/golden/saved`, one of each model: they load and agree with fits made now."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, NotAFitError
from discrim.models.base.tensor_file import FORMAT, read_file, write_file
from discrim.models.registry import BY_MODEL
from tests.golden.saved.write_saved import CALLS, FOLDER, file_path, fit_model


def test_every_model_has_a_file():
    models = {name for name, row in BY_MODEL.items() if row.can_be_saved}
    assert set(CALLS) == models | {"moments"}
    assert {path.stem for path in FOLDER.glob("*.fit")} == set(CALLS)


@pytest.mark.parametrize("model", [name for name in CALLS if name != "moments"])
def test_saved_fits_predict_like_new_fits(model):
    fit, loaded, data = fit_model(model), discrim.load(file_path(model)), CALLS[model][2]
    assert type(loaded) is type(fit)
    assert loaded._fit.spec.name == fit._fit.spec.name == model
    pd.testing.assert_series_equal(loaded.predict(data), fit.predict(data))
    method = "predict_log_proba" if BY_MODEL[model].posteriors else "decision_function"
    expected = np.asarray(getattr(fit, method)(data))
    np.testing.assert_allclose(getattr(loaded, method)(data), expected, rtol=1e-9, atol=1e-9)
    assert loaded._fit.options == fit._fit.options


def test_saved_moments_equal_moments_computed_now():
    moments, loaded = fit_model("moments"), discrim.load(file_path("moments"))
    assert loaded.counts.equals(moments.counts)
    pd.testing.assert_frame_equal(loaded.means, moments.means, rtol=1e-12)
    data = CALLS["moments"][2]
    fits = [discrim.lda(moments=each) for each in (loaded, moments)]
    expected = fits[1].predict_log_proba(data)
    pd.testing.assert_frame_equal(fits[0].predict_log_proba(data), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("number", ["0", "1"])
def test_a_file_of_another_format_is_refused(number, tmp_path):
    data = file_path("lda").read_bytes()
    word, current = FORMAT.split()
    other = f"{word} {number}"
    assert current not in ("0", "1")
    (tmp_path / "fit").write_bytes(data.replace(FORMAT.encode(), other.encode()))
    with pytest.raises(DataError, match=f"'{other}'.*'{FORMAT}'") as raised:
        discrim.load(tmp_path / "fit")
    assert not isinstance(raised.value, NotAFitError)


@pytest.mark.parametrize("part", ["arguments", "left_out", "estimates", "design"])
def test_incomplete_descriptions_are_refused(part, tmp_path):
    about, tensors = read_file(file_path("lda"))
    del about[part]
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError, match=part):
        discrim.load(tmp_path / "fit")


@pytest.mark.parametrize(("part", "there"), [("estimates", "covariance_model"), ("arguments", "covariance")])
def test_estimates_and_arguments_are_neither_added_nor_left_out(part, there, tmp_path):
    about, tensors = read_file(file_path("lda"))
    changes = [about[part] | {"curvature": 1.0}, {k: v for k, v in about[part].items() if k != there}]
    for name, changed in zip(("curvature", there), changes, strict=True):
        write_file(tmp_path / "fit", about | {part: changed}, tensors)
        with pytest.raises(DataError, match=name):
            discrim.load(tmp_path / "fit")


def test_a_value_that_is_an_argument_of_the_verb_is_stored_once():
    about, _ = read_file(file_path("rda"))
    assert about["arguments"]["alpha"] == 0.3
    assert "alpha" not in about["estimates"]
    assert discrim.load(file_path("rda")).alpha == 0.3
