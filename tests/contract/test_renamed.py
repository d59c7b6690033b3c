"""Each name that was goes on for a release: it gives the same, with a warning at the caller."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, DiscrimWarning, NotSupportedError, RenamedWarning
from discrim.models.fits import renamed
from discrim.report.result_table import ResultTable
from discrim.sklearn import PLSClassifier
from tests.contract.test_names import ALIKE, FITS, IRIS, _pair, fitted

TABLES = {
    "compare": lambda: fitted("compare"),
    "covariance_models": lambda: fitted("covariance_models"),
    "mixture.path": lambda: fitted("mixture").path,
    "logistic.drop1": lambda: fitted("logistic").drop1(),
    "stepwise.steps": lambda: (
        discrim.stepwise(
            "sex ~ bill_depth_mm + island", discrim.datasets.load_penguins(), criterion="aic"
        ).steps
    ),
    "qda.scree": lambda: discrim.qda(
        "species ~ .", discrim.datasets.load_iris(), covariance="factor", dimensions="bic"
    ).scree(),
}


def warned(call):
    """What a call gives, and what it warns of, at this file's line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call()
    told = [each for each in caught if issubclass(each.category, RenamedWarning)]
    assert told
    assert all(each.filename == __file__ for each in told)
    assert all(issubclass(RenamedWarning, kind) for kind in (DiscrimWarning, FutureWarning))
    return value, " ".join(str(each.message) for each in told)


@pytest.mark.parametrize("name", TABLES)
def test_old_names_of_columns(name):
    table = TABLES[name]()
    pairs = [(old, new) for old, new in renamed.COLUMNS.items() if new in table]
    assert pairs
    for old, new in pairs:
        for cut in (
            lambda name: table[name],
            lambda name: table.loc[:, name],
            lambda name: table.at[table.index[0], name],
            lambda name: table[[name]],
            lambda name: getattr(table, name),
            lambda name: table.get(name),
        ):
            value, text = warned(lambda cut=cut, old=old: cut(old))
            assert repr(new) in text
            assert repr(value) == repr(cut(new))
    first = pairs[0]
    pd.testing.assert_frame_equal(
        warned(lambda: table.sort_values(first[0]))[0], table.sort_values(first[1]), check_exact=True
    )


@pytest.mark.parametrize("name", TABLES)
def test_what_is_cut_from_such_a_table_is_a_plain_one(name):
    table = TABLES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(table, pd.DataFrame)
        assert {type(table.copy()), type(table.round(2)), type(table.loc[:, table.columns])} == {pd.DataFrame}
        with pytest.raises(KeyError):
            table["no such column"]


@pytest.mark.parametrize("module", ["discrim", "discrim.errors", "discrim.datasets", "discrim.sklearn"])
def test_a_module_shows_its_public_names_only(module):
    there = importlib.import_module(module)
    assert set(dir(there)) - {"__all__", "__version__"} == set(there.__all__)
    for name in ("Any", "TYPE_CHECKING", "annotations", "warn_user", "kept_warnings"):
        assert name not in dir(there)


@pytest.mark.parametrize("name", ["lda", "mlm", "lda, robust"])
def test_no_constant_is_a_public_name_of_a_fit(name):
    assert [each for each in dir(fitted(name)) if each[0].isupper()] == []


def test_one_number_of_degrees_of_freedom_is_a_number():
    test = fitted("lr_test")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert test.df == 20.0
        assert f"{test.df:.0f}, {test.df / 2}, {test.df!r}" == "20, 10.0, 20.0"
        assert np.asarray(test.df).shape == ()
        assert test.df == pytest.approx(20.0)
        assert {test.df: "one"} == {20.0: "one"}
        assert pd.DataFrame({"df": test.df}, index=["a", "b"])["df"].tolist() == [20.0, 20.0]
    for old in (lambda df: df[0], lambda df: next(iter(df)), lambda df: df[-1]):
        assert warned(lambda old=old: old(test.df))[0] == 20.0
    assert warned(lambda: test.df == (20.0,))[0]
    with pytest.raises(IndexError):
        test.df[1]
    assert fitted("lda").wilks.df == (8.0, 288.0)


def test_what_compare_gave_under_by_it_gives_by_a_method():
    fits, folds = _pair(ALIKE), {"folds": 3, "seed": 1}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The likelihood of LDA")
        for options, method in (({"by": "pair"} | folds, "pairs"), ({"by": "term"}, "log_odds")):
            made = discrim.compare(*fits, **{key: options[key] for key in options if key != "by"})
            old, text = warned(lambda options=options: discrim.compare(*fits, **options))
            assert f"compare(...).{method}()" in text
            new = getattr(made, method)()
            pd.testing.assert_frame_equal(old, new)
            assert type(new) is ResultTable
            # What was a column of the table is found where it is now.
            columns = list(new.columns)
            pd.testing.assert_frame_equal(warned(lambda made=made, columns=columns: made[columns])[0], new)
            first = columns[0]
            assert warned(lambda made=made, first=first: made[first])[0].equals(new[first])
        old, _ = warned(lambda: discrim.compare(*fits, by="fit"))
        pd.testing.assert_frame_equal(old, discrim.compare(*fits))


def test_compare_gives_one_kind_of_table():
    made = fitted("compare"), fitted("compare, folds")
    assert [table.index.tolist() for table in made] == [["LDA", "Logistic"]] * 2
    assert list(made[1].columns) == [*made[0].columns, "error_cv", "se_cv"]
    with pytest.raises(DataError, match=r"ask compare\(..., folds=10\).pairs\(\)"):
        made[0].pairs()
    with pytest.raises(NotSupportedError, match=r"one fit of lda\(\) with one of logistic\(\)"):
        discrim.compare(fitted("lda"), fitted("qda")).log_odds()
    penguins = discrim.datasets.load_penguins()
    fits = [discrim.lda(f"species ~ {terms}", penguins) for terms in ("bill_depth_mm", "bill_depth_mm + sex")]
    with pytest.warns(DiscrimWarning, match=r"uses 333 rows, and the first 342.* pairs\(\) takes the rows"):
        table = discrim.compare(*fits, folds=3, seed=0)
    assert table["nobs"].tolist() == [342, 333]
    assert table[["llf", "aic", "bic", "llf_given_row", "error_apparent", "error_loo"]].isna().all(axis=None)
    assert table.pairs()["rows"].tolist() == [333]
    each = discrim.cross_validate(fits[1], 3, seed=0).table().loc["error", ["estimate", "se"]]
    assert table.iloc[1][["error_cv", "se_cv"]].tolist() == each.tolist()


NEW = {
    ".surviving": lambda name: getattr(fitted("shrunken_centroids"), name),
    ".explained_variance": lambda name: getattr(fitted("pls"), name)(),
    ".fitted_values": lambda name: getattr(fitted("indicator"), name)(IRIS[:5]),
    ".components": lambda name: getattr(fitted("pls"), name),
    "pls(components=)": lambda name: discrim.pls("species ~ .", IRIS, **{name: 2}).coef,
    "pls.update(components=)": lambda name: fitted("pls").update(**{name: 1}).coef,
    "vip(components=)": lambda name: fitted("pls").vip(**{name: 1}),
    "PLSClassifier(components=)": lambda name: PLSClassifier(**{name: 2}).get_params(),
    "compare(cv=)": lambda name: discrim.compare(fitted("lda"), fitted("qda"), **{name: 3}, seed=1),
    "set_params(components=)": lambda name: PLSClassifier().set_params(**{name: 2}).get_params(),
    "rda(cv=)": lambda name: discrim.rda("species ~ .", IRIS, grid=[0.5], **{name: 3}, seed=1).path,
}
"""What is asked for by an old name, and by the new one in its place."""


def new_name(old: str) -> str:
    if old.startswith("."):
        return renamed.ATTRIBUTES[old[1:]]
    return renamed.KEYWORDS[old.partition("(")[2].strip("=)")][0]


@pytest.mark.parametrize("old", NEW)
def test_an_old_name_gives_what_the_new_one_gives(old):
    new = new_name(old)
    value, text = warned(lambda: NEW[old](old.strip(".=)").rpartition("(")[2]))
    assert new in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", RenamedWarning)
        assert repr(value) == repr(NEW[old](new))


def test_every_renamed_name_is_asked_for():
    asked = {old.strip(".=)").rpartition("(")[2] for old in NEW}
    assert asked == {*renamed.ATTRIBUTES, *renamed.KEYWORDS}


@pytest.mark.parametrize("name", FITS)
def test_no_old_name_is_listed(name):
    there = dir(fitted(name))
    old = {old for old, new in renamed.ATTRIBUTES.items() if new in there}
    assert not old & set(there)


def test_an_error_of_a_call_by_an_old_name_does_not_follow_from_that_name():
    with pytest.warns(RenamedWarning), pytest.raises(DataError) as raised:
        discrim.pls("species ~ .", IRIS, components=0)
    assert raised.value.__context__ is None


def test_both_names_at_once_are_refused_and_an_unknown_one_is_no_old_one():
    with pytest.raises(TypeError, match=r"pls\(\) has no keyword 'components'"):
        discrim.pls("species ~ .", IRIS, components=2, ncomp=2)
    with pytest.raises(TypeError):
        discrim.lda("species ~ .", IRIS, cv=5)
    with pytest.raises(AttributeError):
        _ = fitted("lda").surviving


def test_the_table_comes_before_the_methods_and_methods_alone_may_come_first():
    fit, half = fitted("lda"), IRIS[::2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = fit.error_rates(half, ["apparent"])
        assert new.index.tolist() == ["apparent", "new rows"]
        pd.testing.assert_frame_equal(fit.error_rates(data=half, methods="apparent"), new)
        assert fit.error_rates(["loo"]).index.tolist() == fit.error_rates("loo").index.tolist() == ["loo"]
        assert fit.error_rates(half).index.tolist() == ["new rows"]
    old, text = warned(lambda: fit.error_rates(["apparent"], half))
    assert "error_rates(data, methods)" in text
    pd.testing.assert_frame_equal(old, new)
    with pytest.raises(DataError, match=r"methods='lo' is not known.*Did you mean 'loo'"):
        fit.error_rates("lo")
