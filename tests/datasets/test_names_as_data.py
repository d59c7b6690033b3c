"""The name of a bundled table stands for it wherever a table is asked for, as on the command line."""

import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris, names
from discrim.errors import DataError, MissingFileError

FORMULA = "species ~ ."
FIT = discrim.lda(FORMULA, load_iris())


@pytest.mark.parametrize("name", names())
def test_a_fit_of_a_name_is_that_of_the_table(name):
    response = discrim.datasets.ABOUT[name].classes.partition(":")[0]
    number = discrim.datasets.load(name).select_dtypes("number").columns[0]
    by_name, by_table = (
        discrim.lda(f"{response} ~ {number}", data) for data in (name, discrim.datasets.load(name))
    )
    pd.testing.assert_frame_equal(by_name.means, by_table.means, check_exact=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda data: FIT.predict(data),
        lambda data: FIT.confusion(data),
        lambda data: FIT.confusion(data=data),
        lambda data: FIT.error_rates(data),
        lambda data: FIT.assess(data).overall,
        lambda data: FIT.augment(data),
        lambda data: discrim.moments(FORMULA, data).means,
        lambda data: discrim.knn(FORMULA, data, k=3).confusion(),
        lambda data: discrim.mlm("species ~ petal_width + sepal_width", data).tests(),
        lambda data: discrim.cross_validate(discrim.qda, formula=FORMULA, data=data, folds=3, seed=1).by_fold,
    ],
)
def test_data_accepts_names_of_data_sets(call):
    found, expected = call("iris"), call(load_iris())
    assert_equal = pd.testing.assert_series_equal if expected.ndim == 1 else pd.testing.assert_frame_equal
    assert_equal(found, expected)


def test_a_name_that_is_mistyped_names_the_nearest():
    with pytest.raises(MissingFileError) as caught:
        discrim.lda(FORMULA, "irsi")
    assert "'irsi'" in str(caught.value)
    assert "'iris'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FIT.confusion("irsi")
    assert "'irsi'" in str(caught.value)


def test_a_folder_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    load_iris().iloc[::2].to_csv(tmp_path / "iris" / "half.csv", index=False)
    assert discrim.lda(FORMULA, "iris").nobs == 75
