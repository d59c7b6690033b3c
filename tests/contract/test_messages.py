"""Every error of the package has a hint; errors carry the columns, classes and rows at fault."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.errors import InvalidStateError
from discrim.covariance import FactorAnalytic, Separable
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    DamagedFileError,
    DataError,
    DiscrimError,
    FormulaError,
    MissingFileError,
    MissingFolderError,
    NotAFitError,
    NotSupportedError,
    OutOfRangeError,
    PriorError,
    SeparationError,
)
from discrim.models.base.core_errors import DESCRIPTIONS
from tests.support import ROOT

IRIS = load_iris()

UNHINTED = {
    "CoreError",
    "CoreCollinearError",
    "CoreDataError",
    "CoreNotSupportedError",
    "InvalidStateError",
    "NoEstimateError",
    "SingularEstimateError",
    "UnsuitableOptionError",
    "public",
}
"""Errors of the core, to which models add names and hints."""

CAUGHT = {"not_elliptical", "singular_metric", "constant_column"}
"""Reasons of errors of the core that models catch."""

CORE_ERROR = re.compile(r"Core\w*Error|NoEstimateError|SingularEstimateError|UnsuitableOptionError")
"""Classes of the errors of the core that have a reason."""

PLACES = {"where", "class_name", "column_name"}
"""Fields of messages that `describe` fills in from positions."""


def subclasses(cls: type) -> set[type]:
    return {cls}.union(*map(subclasses, cls.__subclasses__()))


def sources_of_errors(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the source files in a folder that create or define an error."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "Error(" in text:
            yield path, text


def called_name(node: ast.Call) -> str:
    """Return the name of a called function, or an empty string if the function has none."""
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def test_every_error_has_a_hint():
    sources = list(sources_of_errors(ROOT / "discrim"))
    for path, text in sources:
        if re.search(r"^class \w+\(\w*Error", text, re.MULTILINE):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    names = {cls.__name__ for cls in subclasses(DiscrimError)} - UNHINTED
    bare = []
    made = 0
    for path, text in sources:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and called_name(node) in names:
                made += 1
                if not any(keyword.arg in ("hint", None) for keyword in node.keywords):
                    bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert made > 800
    assert not bare, "\n".join(bare)


def test_reasons_of_the_core_have_a_message_and_a_hint():
    used = set()
    for path in sorted((ROOT / "discrim" / "core").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=reason)]) if (
                    CORE_ERROR.fullmatch(name)
                ):
                    used.add(reason)
                    description = DESCRIPTIONS[reason]
                    if callable(description):
                        continue
                    text = " ".join(description)
                    fields = {field for _, field, _, _ in Formatter().parse(text) if field}
                    given = {keyword.arg for keyword in node.keywords}
                    positions = {"class_positions", "column_positions"} & given
                    assert given - positions - {"classes"} == fields - PLACES, reason
                    assert positions or not fields & PLACES, reason
                case ast.Assign(targets=[ast.Name(id="no_likelihood" | "no_parameters")], value=value):
                    used.add(ast.literal_eval(value))
                case _:
                    pass
    assert used == set(DESCRIPTIONS)
    hints = {reason: text[1] for reason, text in DESCRIPTIONS.items() if isinstance(text, tuple)}
    assert {reason for reason, hint in hints.items() if not hint} == CAUGHT


def _two_class_table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"y": ["a", "b"] * 10, "x": np.arange(20.0) ** 1.5, **columns})


Case = tuple[str, Callable[[], object], type[DiscrimError], dict[str, tuple[object, ...]]]

FAULTS: list[Case] = [
    ("column", lambda: discrim.lda("species ~ petal_wdth", IRIS), FormulaError, {"columns": ("petal_wdth",)}),
    ("bracket", lambda: discrim.lda("species ~ log(petal_width", IRIS), FormulaError, {}),
    ("no formula", lambda: discrim.lda("species", IRIS), FormulaError, {}),
    (
        "collinear",
        lambda: discrim.lda("y ~ x + twice", _two_class_table(twice=2 * np.arange(20.0) ** 1.5)),
        CollinearError,
        {"columns": ("twice",)},
    ),
    (
        "few rows",
        lambda: discrim.qda("species ~ .", IRIS.iloc[:53]),
        CollinearError,
        {"classes": ("versicolor",)},
    ),
    (
        "prior",
        lambda: discrim.lda("species ~ .", IRIS, prior={"setosa": 0.5, "versicolor": 0.5, "x": 0}),
        PriorError,
        {"classes": ("virginica", "x")},
    ),
    ("prior sum", lambda: discrim.lda("species ~ .", IRIS, prior=[0.5, 0.5, 0.5]), PriorError, {}),
    (
        "levels",
        lambda: discrim.lda("species ~ .", IRIS, levels=["setosa", "versicolor"]),
        DataError,
        {"columns": ("species",), "rows": (100,)},
    ),
    (
        "missing",
        lambda: discrim.lda("y ~ x + z", _two_class_table(z=[1.0, np.nan] * 10), na_action="raise"),
        DataError,
        {"columns": ("z",), "rows": (1,)},
    ),
    (
        "no values",
        lambda: discrim.lda("y ~ x + z", _two_class_table(z=np.nan)),
        DataError,
        {"columns": ("z",)},
    ),
    (
        "out of range",
        lambda: discrim.lda("y ~ x + z", _two_class_table(z=[1e200, *range(19)])),
        OutOfRangeError,
        {"columns": ("z",), "rows": (0,)},
    ),
    (
        "infinite",
        lambda: discrim.lda("y ~ x + z", _two_class_table(z=[np.inf, *range(19)])),
        DataError,
        {"columns": ("z",), "rows": (0,)},
    ),
    (
        "text",
        lambda: discrim.lda("species ~ .", IRIS).predict(IRIS.assign(petal_width="wide")),
        DataError,
        {"columns": ("petal_width",), "rows": (0,)},
    ),
    (
        "class of an option",
        lambda: discrim.lda("species ~ .", IRIS).boundary("setosa", "tulip"),
        DataError,
        {"classes": ("tulip",)},
    ),
    ("one class", lambda: discrim.lda("species ~ .", IRIS.iloc[:50]), DataError, {"classes": ("setosa",)}),
    ("option", lambda: discrim.lda("species ~ .", IRIS, covariance="shrnk"), DataError, {}),
    ("attribute", lambda: discrim.lda("species ~ .", IRIS).coeff, NotSupportedError, {}),
    ("property", lambda: discrim.knn("species ~ .", IRIS, k=3).llf, NotSupportedError, {}),
    ("table", lambda: discrim.lda("species ~ .", "no such file.csv"), MissingFileError, {}),
    ("folder", lambda: discrim.lda("species ~ .", IRIS).save("no such folder/fit"), MissingFolderError, {}),
    ("not a fit", lambda: discrim.load(__file__), NotAFitError, {}),
    (
        "constant in a class",
        lambda: discrim.naive_bayes("y ~ x", pd.DataFrame({"y": [*"aabb"], "x": [1.0, 1, 2, 3]})),
        CollinearError,
        {"columns": ("x",), "classes": ("a",)},
    ),
    (
        "collinear in each class",
        lambda: discrim.qda("y ~ x + twice", _two_class_table(twice=2 * np.arange(20.0) ** 1.5)),
        CollinearError,
        {"columns": ("twice",), "classes": ("a", "b")},
    ),
    (
        "lone row",
        lambda: discrim.rda("species ~ .", IRIS.iloc[:101], alpha=0.0, gamma=0.0),
        CollinearError,
        {"classes": ("virginica",)},
    ),
    (
        "few rows of components",
        lambda: discrim.mixture("species ~ .", IRIS.iloc[:130], components=40),
        DataError,
        {"classes": ("virginica",)},
    ),
    (
        "not binary",
        lambda: discrim.knn("species ~ petal_width", IRIS, k=1, metric="jaccard"),
        DataError,
        {"columns": ("petal_width",), "rows": (0,)},
    ),
    (
        "same class twice",
        lambda: discrim.lda("species ~ .", IRIS).boundary("setosa", "setosa"),
        DataError,
        {"classes": ("setosa",)},
    ),
    (
        "duplicate column",
        lambda: discrim.lda("species ~ .", pd.concat([IRIS, IRIS[["petal_width"]]], axis=1)),
        DataError,
        {"columns": ("petal_width",)},
    ),
    (
        "separated",
        lambda: discrim.logistic("y ~ x", pd.DataFrame({"y": ["a", "b"], "x": [0.0, 1.0]})),
        SeparationError,
        {},
    ),
]


@pytest.mark.parametrize(("name", "ask", "error", "data"), FAULTS, ids=[each[0] for each in FAULTS])
def test_errors_have_a_hint_and_the_names_at_fault(name, ask, error, data):
    with pytest.raises(error) as caught:
        ask()
    found = caught.value
    assert re.fullmatch(r"[A-Z`'].*[.?]", found.hint)
    assert found.hint in str(found)
    assert str(found).startswith(found.message)
    for attribute in ("columns", "classes", "rows"):
        assert getattr(found, attribute) == data.get(attribute, getattr(found, attribute))
    copied = pickle.loads(pickle.dumps(found))
    assert type(copied) is type(found)
    assert str(copied) == str(found)
    assert copied.__dict__.keys() == found.__dict__.keys()


PUBLIC = [
    (lambda: discrim.lda("species ~ .", IRIS, covariance=Separable(3, 2)), DataError),
    (lambda: discrim.qda("species ~ petal_width", IRIS, covariance="factor"), CollinearError),
    (lambda: discrim.qda("species ~ .", IRIS, covariance=FactorAnalytic({"setosa": 1})), DataError),
    (lambda: discrim.kernel_lda("species ~ .", IRIS, width=1e-300), DataError),
    (lambda: discrim.lda("species ~ .", IRIS.iloc[[0, 1, 50, 100]]), CollinearError),
    (lambda: discrim.lda("y ~ x + z", _two_class_table(z=np.arange(20.0) ** 1.5)), CollinearError),
    (lambda: discrim.manova("y ~ x + z", _two_class_table(z=np.arange(20.0) ** 1.5)), CollinearError),
    (lambda: discrim.lda("species ~ .", IRIS, ncomp=1).leave_one_out(), NotSupportedError),
    (lambda: discrim.lda("species ~ .", IRIS, covariance="shrunk").llf, NotSupportedError),
    (lambda: discrim.naive_bayes("species ~ .", IRIS, kernel=True).aic, NotSupportedError),
    (lambda: discrim.bayes([0.5, 0.5], {"a": "normal", "b": "normal"}), DataError),
]


@pytest.mark.parametrize(("ask", "error"), PUBLIC)
def test_errors_are_of_public_classes(ask, error):
    with pytest.raises(error) as caught:
        ask()
    assert type(caught.value) is error
    assert caught.value.hint


def test_an_error_of_the_core_names_the_class_of_a_distribution():
    with pytest.raises(DataError) as caught:
        discrim.bayes([0.5, 0.5], {"a": "normal", "b": "normal"})
    assert caught.value.classes == ("a",)
    assert "'a'" in caught.value.message


def test_a_damaged_file_has_a_reason(tmp_path):
    discrim.lda("species ~ .", IRIS).save(tmp_path / "fit")
    (tmp_path / "fit").write_bytes((tmp_path / "fit").read_bytes()[:-8])
    with pytest.raises(DamagedFileError) as caught:
        discrim.load(tmp_path / "fit")
    assert caught.value.reason
    assert pickle.loads(pickle.dumps(caught.value)).reason == caught.value.reason


def test_an_invalid_state_is_a_damaged_file():
    assert issubclass(InvalidStateError, DataError)


def test_a_message_can_be_replaced():
    error = DataError("Bad.", hint="Mend it.", columns=["x"]).with_message("In 'f': bad.", rows=(3,))
    assert str(error) == "In 'f': bad. Mend it."
    assert (error.columns, error.rows) == (("x",), (3,))


SAID = [
    ("species ~ as.factor(petal_width)", r"write C\(x\)"),
    ("species ~ factor(petal_width)", r"write C\(x\)"),
    ("species ~ ns(petal_width, 3)", r"write bs\(x, df=4\)"),
    ("species ~ interaction(petal_width, sepal_width)", r"write C\(a\):C\(b\)"),
    ("species ~ relevel(petal_width)", r"write C\(x, Treatment\('a'\)\)"),
    ("species ~ ifelse(petal_width, 1, 0)", "with numpy.where"),
    ("species ~ I(petal_width > 1)", "Compute a comparison before the fit"),
    ("petal_width > 1 ~ sepal_width", "Compute a comparison before the fit"),
    ("species ~ cut(petal_width, 3)", r"pd\.cut"),
    ("species ~ Petal.W.", "backticks, `Petal.W.`"),
    ("species ~ f(petal_width)", r"functions=\{'f'"),
    ("species ~ poly(petal_width, 200)", r"poly\(petal_width, 200\): .*smaller degree"),
    ("species ~ standardize(petal_width - petal_width)", "Leave the column out"),
    ("species ~ standardize(I(petal_width * 0))", r"standardize\(I\(petal_width \* 0\)\)"),
    ("species ~ log(petal_width - 1)", "drop the row"),
    ("species ~ petal_wdth", "Did you mean 'petal_width'"),
    ("species ~ ", "expected a term.* Correct the formula"),
]


@pytest.mark.parametrize(("formula", "says"), SAID, ids=[formula for formula, _ in SAID])
def test_formulas_that_people_bring_along(formula, says):
    with pytest.raises(DiscrimError, match=says):
        discrim.lda(formula, IRIS)


@pytest.mark.parametrize(
    "formula",
    ["species ~ C(petal_width)", "species ~ cr(petal_width, df=4)", "species ~ bs(petal_width, df=4)"],
)
def test_the_ways_out_of_formulas_work(formula):
    discrim.lda(formula, IRIS, covariance="shrunk")


def test_data_that_is_not_a_table_raises():
    fit = discrim.lda("species ~ .", IRIS)
    with pytest.raises(DataError) as caught:
        fit.predict({"a": 1.0})
    assert "'a'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.predict({"a": [1.0], "b": [1.0, 2.0]})
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda(IRIS, "species ~ .")
    assert "must be the first argument" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", "iris.csv")
    assert "'iris.csv'" in str(caught.value)
    one = {name: [5.0] for name in IRIS.columns[:4]}
    assert len(fit.predict(one)) == 1


def test_fit_passed_as_an_option_is_abbreviated_in_the_message():
    data = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
    fit = discrim.logistic("species ~ sepal_length", data)
    with pytest.raises(DataError) as caught:
        fit.lr_test(fit)
    assert "by=" in str(caught.value)
    assert "compare()" in str(caught.value)
    assert len(str(caught.value)) < 120
    with pytest.raises(DataError) as caught:
        discrim.hausman(discrim.lda("species ~ .", IRIS), discrim.qda("species ~ .", IRIS))
    assert "second" in str(caught.value)
    assert "QDAResults" in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "pickle", "parquet", "png", "empty"])
def test_file_of_another_type_raises(tmp_path, kind):
    path = tmp_path / "file"
    if kind == "csv":
        IRIS.to_csv(path)
    elif kind == "pickle":
        IRIS.to_pickle(path)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        IRIS.to_parquet(path)
    else:
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 200 if kind == "png" else b"")
    with pytest.raises(DataError, match=r"another kind|shorter than eight bytes"):
        discrim.load(path)


def test_truncated_file_raises(tmp_path):
    discrim.lda("species ~ .", IRIS).save(tmp_path / "fit")
    whole = (tmp_path / "fit").read_bytes()
    for size in (len(whole) - 9, len(whole) // 2, 60, 20):
        (tmp_path / "fit").write_bytes(whole[:size])
        with pytest.raises(DataError) as caught:
            discrim.load(tmp_path / "fit")
        assert "Save" in str(caught.value)
        assert "again" in str(caught.value)


def test_qda_does_not_send_to_qda():
    assert "see covariance_models()" in str(discrim.qda("species ~ .", IRIS).summary(["equal_covariances"]))
    assert "see qda()" in str(discrim.lda("species ~ .", IRIS).summary(["equal_covariances"]))


@pytest.mark.parametrize(
    "fit",
    [
        lambda: discrim.knn("species ~ .", IRIS, k=3),
        lambda: discrim.rda("species ~ .", IRIS, alpha=0.0, gamma=1.0),
        lambda: discrim.shrunken_centroids("species ~ .", IRIS, threshold=1.0),
    ],
    ids=["knn", "rda", "shrunken_centroids"],
)
def test_method_without_a_regularization_path_raises_with_a_hint(fit):
    with pytest.raises(NotSupportedError) as caught:
        _ = fit().path
    assert "chosen" in str(caught.value)
    assert "without" in str(caught.value)


def test_a_transform_names_its_column():
    data = pd.DataFrame({"y": ["a", "b"] * 5, "x": np.arange(10.0), "one": 1.0})
    with pytest.raises(FormulaError) as caught:
        discrim.lda("y ~ x + standardize(one)", data)
    assert "standardize" in str(caught.value)
    with pytest.raises(FormulaError) as caught:
        discrim.lda("y ~ x + poly(one, degree=2)", data)
    assert "degree=2" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: discrim.lda("y ~ u + v", data).boundary(),
        lambda data: discrim.lda("y ~ u + v", data, prior=[0, 0.5, 0.5]).boundary(0, 1),
        lambda data: discrim.qda("y ~ u + v", data, prior=[0, 0, 1]).quadratic(0, 1),
        lambda data: discrim.qda("y ~ u + v", data.iloc[:12]).predict_proba(method="debiased"),
        lambda data: discrim.qda(
            "y ~ u + v", data, weights=np.full(len(data), 0.01), method="mle"
        ).log_determinants(),
    ],
)
@pytest.mark.filterwarnings("ignore:The weights of")
def test_numeric_classes_are_formatted_as_numbers(wrong):
    data = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["u", "v"])
    data["y"] = np.arange(30) % 3
    with pytest.raises(discrim.errors.DiscrimError) as raised:
        wrong(data)
    assert "np." not in str(raised.value)
    assert re.search(r"\b[012]\b", str(raised.value))


def test_uneven_fold_is_formatted_as_a_number():
    data = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["u", "v"])
    data["y"] = np.repeat(["a", "b"], 15)
    found = discrim.cross_validate(discrim.lda("y ~ u + v", data), folds=np.arange(30) // 12)
    text = " ".join(str(found.summary()).split())
    assert "the proportion of class 'a' is 0.167 outside fold 0, and 0.5 in all rows" in text
    assert "np." not in text


@pytest.mark.parametrize("labels", [[4, 6, 8], [0.5, 1.5, 2.5], [False, True]])
def test_labels_are_formatted_by_repr(labels):
    label = labels[-1]
    rows = IRIS.assign(y=np.resize(labels[:-1], 150)).drop(columns="species")
    rows = rows.astype({"y": "float" if isinstance(label, float) else type(label)})
    rows.loc[149, "y"] = label
    fit = discrim.lda("y ~ .", rows)
    asked = {
        "prior": lambda: discrim.lda("y ~ .", rows, prior=[1.5, *[0.0] * (len(labels) - 2), -0.5]),
        "costs": lambda: fit.predict(costs=np.full((len(labels), len(labels)), -1.0)),
        "plane": lambda: fit.boundary("no class", label),
        "numbers": lambda: fit.predict(rows.astype({"petal_width": object}).assign(petal_width="wide")),
    }
    for ask in asked.values():
        with pytest.raises(DiscrimError) as caught:
            ask()
        assert "np." not in str(caught.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda fit: fit.lr_test(IRIS),
        lambda fit: fit.lr_test(["term"]),
        lambda fit: fit.plot(IRIS),
        lambda fit: fit.predict_proba(IRIS, method=np.array(["plugin", "debiased"])),
        lambda fit: fit.predict(IRIS, unseen=np.array(["raise", "missing"])),
    ],
    ids=["table", "list", "plot", "method", "unseen"],
)
def test_option_of_another_type_raises(ask):
    fit = discrim.logistic("species ~ petal_length", IRIS.iloc[50:].astype({"species": str}))
    with pytest.raises(DataError) as caught:
        ask(fit)
    assert "is not known. Use one of" in str(caught.value)


def test_number_that_is_not_a_level_raises_with_the_range_of_levels():
    fit = discrim.lda("species ~ .", IRIS)
    for reference in (90, 1.9, 0):
        with pytest.raises(DataError) as caught:
            fit.log_odds(reference)
        assert "'setosa'" in str(caught.value)
        assert "level=0.95" in str(caught.value)
    assert fit.log_odds(0.9).equals(fit.log_odds(level=0.9))


def test_column_without_values_is_named():
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", IRIS.assign(empty=np.nan))
    assert "'empty'" in str(caught.value)
    holes = IRIS.assign(petal_width=IRIS["petal_width"].where(np.arange(150) % 2 > 0))
    holes["petal_length"] = holes["petal_length"].where(np.arange(150) % 2 == 0)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", holes)
    assert {"petal_length", "petal_width"} <= set(caught.value.columns)


def test_hint_of_a_loaded_fit_without_rows_works(tmp_path):
    discrim.lda("species ~ .", IRIS).save(tmp_path / "fit")
    fit = discrim.load(tmp_path / "fit")
    with pytest.raises(NotSupportedError) as caught:
        fit.assess(method="apparent").classification()
    assert "data=" in str(caught.value)
    assert str(fit.assess(IRIS).classification().summary())
