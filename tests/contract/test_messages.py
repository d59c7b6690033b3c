"""Every error of the package says the way out, or stands on a list with a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.rules.rules import NoLikelihood
from discrim.datasets import load_iris
from discrim.errors import DataError, DiscrimError, FormulaError, NotSupportedError
from discrim.models.registry import MODELS, resolve
from tests.support import ROOT

PACKAGE = ROOT / "discrim"
IRIS = load_iris()

ADVICE = re.compile(
    r"\b(use|pass|give|fit|drop|name|leave|take|merge|write|call|change|rescale|correct|convert|rename|replace|see|divide|"
    r"compare|keep|download|save|add|align|fill|impute|repeat|cut|list|choose|raise|scale|cross-validate|bring|"
    r"put|ask|freeze|gather|make|pickle|join|have it|widen|transform|regress|cross_validate|send)\b|"
    r"did you mean|pip install",
    re.IGNORECASE,
)
"""An imperative that says what to do."""

MAKERS = {
    "damaged": "says to save the fit again or to name another file",
    "missing_package": "says which extra to install",
    "another_kind": "says to name a file of a fit",
    "collinear_error": "says to drop the column, and what else takes it",
    "_exact_fit": "says to use fewer columns, or another method",
    "_singular": "says to drop the column, as collinear_error does",
    "_no_matrix": "says to give more rows, to leave some of the matrix out, or another covariance",
    "_no_rule": "says which rows are too few, and to use fewer columns or more folds",
    "no_column": "names the nearest column, or those that there are",
    "no_freedom": "says which weights to pass",
    "no_likelihood": "says what to compare by",
    "of_classes": "says to pass fewer dimensions, or another covariance",
    "FactorFaultError": "is told with the names of the classes before it is read",
    "too_few": "says to give fewer axes",
    "few_degrees": "is told with the names of the classes before it is read",
    "SingularTotalError": "says to name fewer columns, or to pass components=",
    "NoFreedomError": "is told with the names of the classes before it is read",
    "refuse_anew": "says to use folds",
    "_collapse": "says to leave the column out",
    "_unreadable": "says to put the name in backticks",
    "_missing": "says which path is near, or what to give",
    "_no_levels": "says to correct or drop the row",
    "no_rows": "says to give a source that has some",
    "_failed": "names the call that shows what failed",
    "_staying": "says to save the fit, or which other verb has a rule that leaves Python",
    "_not_written": "says to compute the column before the fit, or to save the fit",
    "ArgumentError": "ends with the nearest of those that are known, or with all",
}
"""Functions that make the whole message: what the way out of it is."""

REASONS = {
    ("discrim/sklearn/signatures.py", "{cls.__name__}(): {error}"): "Python's own message about arguments",
    (
        "discrim/models/selection/candidates.py",
        "{no_label_reason(",
    ): "the reason names the column and says to leave it out",
    ("discrim/__init__.py", "has no attribute"): "Python's own words for a name that a module has not",
    ("discrim/data/sources/sinks.py", "{ENOENT}"): "the number of the system's error, which words follow",
    ("discrim/__main__.py", ""): "the exit code of the command line",
    (
        "discrim/core/rules/rules.py",
        "{self.no_likelihood}",
    ): "the model's own words, which are looked at below",
    (
        "discrim/core/rules/rules.py",
        "{self.no_parameters}",
    ): "the model's own words, which are looked at below",
    (
        "discrim/core/hyperplanes/hyperplane.py",
        "its ",
    ): "the end of a damaged file's message",
    (
        "discrim/core/regression/indicator.py",
        "its ",
    ): "the end of a damaged file's message",
    ("discrim/core/kernels/kernel_lda.py", "its "): "the end of a damaged file's message",
    ("discrim/core/kernels/feature_lda.py", "its "): "the end of a damaged file's message",
    ("discrim/core/kernels/features.py", "its "): "the end of a damaged file's message",
    ("discrim/core/neighbours/knn.py", "its "): "the end of a damaged file's message",
    (
        "discrim/core/regression/logistic.py",
        "its ",
    ): "the end of a damaged file's message",
    ("discrim/core/regression/penalized.py", "its "): "the end of a damaged file's message",
    (
        "discrim/core/hyperplanes/perceptron.py",
        "its ",
    ): "the end of a damaged file's message",
    ("discrim/core/covariance/robust.py", "its "): "the end of a damaged file's message",
    ("discrim/core/discriminant/plda.py", "its "): "the end of a damaged file's message",
    ("discrim/core/projections/sparse_lda.py", "its "): "the end of a damaged file's message",
    ("discrim/core/projections/sparse_lda.py", "Correlations are"): "a mistake of the package",
    ("discrim/core/covariance/em.py", "its "): "the end of a damaged file's message",
    ("discrim/core/covariance/by_estimator.py", "its "): "the end of a damaged file's message",
    ("discrim/core/covariance/factor.py", "its "): "the end of a damaged file's message",
    ("discrim/core/covariance/kinds.py", "its "): "the end of a damaged file's message",
    ("discrim/core/covariance/shrinkage.py", "{what} is"): "the end of a damaged file's message",
    ("discrim/core/covariance/shrinkage.py", "{what} does"): "the end of a damaged file's message",
    ("discrim/core/covariance/shrunk.py", "its "): "the end of a damaged file's message",
    ("discrim/core/covariance/correlation.py", "its "): "the end of a damaged file's message",
    ("discrim/core/covariance/correlation.py", "Moments without roots"): "a mistake of the package",
    (
        "discrim/core/neighbours/knn.py",
        "The covariance within",
    ): "caught, and said anew with names",
    ("discrim/core/neighbours/knn.py", "A column is constant"): "caught, and said anew with names",
    ("discrim/core/distributions/bayes_law.py", "Points are bent"): "caught: other points are drawn",
    (
        "discrim/core/covariance/principal.py",
        "The axes of a sphere",
    ): "a mistake of the package",
    ("discrim/core/discriminant/leave_one_out_rda.py", "Moments of spread"): "a mistake of the package",
    ("discrim/formula/formula.py", "{str(error)}"): "the message of the table, put at its place",
    (
        "discrim/models/distributions/bayes.py",
        "Class {",
    ): "the message of the density and its class",
    ("discrim/models/distributions/bayes.py", "The row of class"): "the hint that ends it",
    ("discrim/models/distributions/bayes.py", "The value {"): "lists the values there are",
    (
        "discrim/models/evaluation/validation.py",
        "Without fold",
    ): "the message of the refit, which has the way out",
    (
        "discrim/models/selection/comparison.py",
        "Fit {",
    ): "the message of the fit",
    (
        "discrim/models/regression/logistic_search.py",
        "",
    ): "ends with WAYS_OUT, or with what Newton's method met",
    ("discrim/models/evaluation/permuted.py", "has no length"): "caught a few lines below, and said anew",
    ("discrim/data/sources/sinks.py", "{E"): "errno's number, with words of ours behind it",
    ("discrim/core/numerics/atomic_write.py", "{E"): "errno's number, with words of ours behind it",
    (
        "discrim/core/numerics/atomic_write.py",
        "{error}",
    ): "the system's words and the path",
    ("discrim/report/page/page.py", "{error}"): "the system's words and the path",
    ("discrim/cli/reading.py", "{source} cannot be"): "ends with the way out of what went wrong",
    ("discrim/cli/models.py", "{model.typed}: {error}"): "the message of the fit, with the model before it",
    ("discrim/cli/models.py", "{str(error)}"): "the message of an unknown keyword, at its place",
    ("discrim/cli/options.py", "{error_line(error)}"): "the message of a value, on one line",
    ("discrim/cli/values.py", "{self.description}"): "says what the value may be",
    ("discrim/cli/values.py", "{call.name}(): {error}"): "the message of the specification, with its name",
    ("discrim/formula/calls.py", "{message}"): "says what to write, a few lines above",
    ("discrim/sklearn/regressions.py", "is not a regression"): "ends with the nearest name, or with some",
    ("discrim/cli/reading.py", "the file ended"): "caught by who asked, and said anew with the file's name",
    ("discrim/cli/output.py", "{error.errno}"): "the system's own words, with the stream's name behind them",
    ("discrim/models/discriminant/variables.py", "{method}"): "caught a few lines below, and said anew",
    ("discrim/cli/output.py", "{E"): "errno's number, with words of ours behind it",
    ("discrim/datasets/__init__.py", "No table named"): "the hint that ends it names the tables there are",
    (
        "discrim/formula/factors.py",
        "shortened(self.code)}: {error}",
    ): "the message of the transform, with its place",
    ("discrim/formula/grammar.py", "This cannot be read"): "ends with what meant_text() finds",
    ("discrim/models/discriminant/normal_fits.py", "{str(error)}"): "caught and said anew, with its way out",
    ("discrim/design/blocks.py", "{self.read_from}"): "who asks gives the beginning and the way out",
}
"""(file, start or part of the message) of those without an imperative: why."""


def spelt(node: ast.expr) -> str:
    """The text of a message, with expressions in braces."""
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=values):
            return "".join(spelt(part) for part in values)
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value) + "}"
        case ast.BinOp(left=left, right=right):
            return spelt(left) + spelt(right)
        case ast.IfExp(body=body, orelse=other):
            return f"{spelt(body)} | {spelt(other)}"
        case _:
            return "{" + ast.unparse(node) + "}"


def named_texts(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names of texts at the top of a file, in braces, and the texts."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield "{" + name + "}", text


@cache
def raised() -> list[tuple[str, int, str, str]]:
    """File, line, the last name of what is called and the message of each `raise` that makes an error."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE.parent).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = dict(named_texts(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                text = spelt(node.exc.args[0]) if node.exc.args else ""
                text = texts.get(text, text)
                found.append((name, node.lineno, ast.unparse(node.exc.func).rpartition(".")[2], text))
    return found


def excused(name: str, text: str) -> bool:
    return any(name == file and part in text for file, part in REASONS)


def test_all_raises_are_seen():
    assert len(raised()) > 550


def test_every_error_says_the_way_out_or_why_not():
    silent = [
        f"{name}:{line} {text[:120]}"
        for name, line, maker, text in raised()
        if not {maker, maker.removeprefix("reading.")} & MAKERS.keys()
        and not ADVICE.search(re.sub(r"\{[^{}]*\}", "", text))
        and not re.search(r"\{(way_out|hint|attribute_hint\(|one_of\()", text)
        and not excused(name, text)
    ]
    assert not silent, "\n".join(silent)


def test_models_without_a_likelihood_say_what_to_compare_by():
    for model in MODELS:
        resolve(model.results_module)
    assert len(NoLikelihood.__subclasses__()) > 3
    for numbers in NoLikelihood.__subclasses__():
        for text in (numbers.no_likelihood, numbers.no_parameters):
            assert ADVICE.search(text), (numbers.__name__, text)


def test_every_reason_is_needed():
    named = {name for _, _, maker, _ in raised() for name in (maker, maker.removeprefix("reading."))}
    assert set(MAKERS) <= named
    for file, part in REASONS:
        assert any(name == file and part in text for name, _, _, text in raised()), (file, part)


@pytest.mark.parametrize("text", ["The prior is odd.", "No such thing: 3 of 4.", "Columns must be numbers."])
def test_a_message_without_advice_is_known_for_one(text):
    assert not ADVICE.search(text)


def test_messages_are_whole_sentences():
    """A capital, a name of code or a value first, and a stop last; the command line's are of one line."""
    loose = [
        f"{name}:{line} {text}"
        for name, line, maker, text in raised()
        if maker.endswith("Error")
        and maker not in MAKERS
        and "cli" not in name
        and text
        and not re.search(r"[.?}…)\]]$", text)
        and not excused(name, text)
    ]
    assert not loose, "\n".join(loose)


SAID = [
    ("species ~ as.factor(petal_width)", r"write C\(x\)"),
    ("species ~ factor(petal_width)", r"write C\(x\)"),
    ("species ~ ns(petal_width, 3)", r"write bs\(x, df=4\)"),
    ("species ~ interaction(petal_width, sepal_width)", r"write C\(a\):C\(b\)"),
    ("species ~ relevel(petal_width)", r"write C\(x, Treatment\('a'\)\)"),
    ("species ~ ifelse(petal_width, 1, 0)", "with numpy.where"),
    ("species ~ I(petal_width > 1)", "A comparison is computed before the fit"),
    ("petal_width > 1 ~ sepal_width", "A comparison is computed before the fit"),
    ("species ~ cut(petal_width, 3)", r"pd\.cut"),
    ("species ~ Petal.W.", "backticks, `Petal.W.`"),
    ("species ~ f(petal_width)", r"functions=\{'f'"),
    ("species ~ poly(petal_width, 200)", r"poly\(petal_width, 200\): .*smaller degree"),
    ("species ~ standardize(petal_width - petal_width)", "leave the column out"),
    ("species ~ standardize(I(petal_width * 0))", r"standardize\(I\(petal_width \* 0\)\)"),
    ("species ~ log(petal_width - 1)", "drop the row"),
    ("species ~ petal_wdth", "Did you mean 'petal_width'"),
    ("species ~ ", "correct it"),
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


def test_what_is_no_table_is_said():
    fit = discrim.lda("species ~ .", IRIS)
    with pytest.raises(DataError, match=r"write lists, \{'a': \[...\]\}"):
        fit.predict({"a": 1.0})
    with pytest.raises(DataError, match="lengths: 'a' 1, 'b' 2"):
        fit.predict({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(DataError, match="the formula, which goes first"):
        discrim.lda(IRIS, "species ~ .")
    with pytest.raises(DataError, match=r"No file 'iris\.csv'"):
        discrim.lda("species ~ .", "iris.csv")
    one = {name: [5.0] for name in IRIS.columns[:4]}
    assert len(fit.predict(one)) == 1


def test_a_fit_in_the_place_of_an_option_is_not_printed_whole():
    data = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
    fit = discrim.logistic("species ~ sepal_length", data)
    with pytest.raises(DataError, match=r"by=<LogisticResults> .*compare\(\)") as caught:
        fit.lr_test(fit)
    assert len(str(caught.value)) < 120
    with pytest.raises(DataError, match="the second is QDAResults"):
        discrim.hausman(discrim.lda("species ~ .", IRIS), discrim.qda("species ~ .", IRIS))


@pytest.mark.parametrize("kind", ["csv", "pickle", "parquet", "png", "empty"])
def test_files_of_another_kind_are_said_to_be_such(tmp_path, kind):
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
    with pytest.raises(DataError, match=r"another kind|shorter than its first"):
        discrim.load(path)


def test_a_file_that_was_cut_off_is_said_to_be_that(tmp_path):
    discrim.lda("species ~ .", IRIS).save(tmp_path / "fit")
    whole = (tmp_path / "fit").read_bytes()
    for size in (len(whole) - 9, len(whole) // 2, 60, 20):
        (tmp_path / "fit").write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"cut off.*Save the fit again"):
            discrim.load(tmp_path / "fit")


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
def test_where_there_is_no_path_the_way_to_one_is_said(fit):
    with pytest.raises(NotSupportedError, match=r"fit without .* to have it chosen"):
        _ = fit().path


def test_a_transform_names_its_column():
    data = pd.DataFrame({"y": ["a", "b"] * 5, "x": np.arange(10.0), "one": 1.0})
    with pytest.raises(FormulaError, match=r"standardize\(one\)"):
        discrim.lda("y ~ x + standardize(one)", data)
    with pytest.raises(FormulaError, match=r"poly\(one, degree=2\)"):
        discrim.lda("y ~ x + poly(one, degree=2)", data)


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
def test_classes_that_are_numbers_are_shown_as_numbers(wrong):
    data = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["u", "v"])
    data["y"] = np.arange(30) % 3
    with pytest.raises(discrim.errors.DiscrimError) as raised:
        wrong(data)
    assert "np." not in str(raised.value)
    assert re.search(r"\b[012]\b", str(raised.value))


def test_the_fold_that_is_uneven_is_shown_as_a_number():
    data = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["u", "v"])
    data["y"] = np.repeat(["a", "b"], 15)
    found = discrim.cross_validate(discrim.lda("y ~ u + v", data), folds=np.arange(30) // 12)
    text = str(found.summary())
    assert "uneven by class" in text
    assert "np." not in text


@pytest.mark.parametrize("labels", [[4, 6, 8], [0.5, 1.5, 2.5], [False, True]])
def test_labels_are_shown_as_python_shows_them(labels):
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
def test_what_is_no_word_is_no_option(ask):
    fit = discrim.logistic("species ~ petal_length", IRIS.iloc[50:].astype({"species": str}))
    with pytest.raises(DataError, match=r"is not known: use one of"):
        ask(fit)


def test_a_number_that_is_no_level_is_told_what_a_level_is():
    fit = discrim.lda("species ~ .", IRIS)
    for reference in (90, 1.9, 0):
        with pytest.raises(DataError, match=r"is no class of this fit, and no level.*'setosa'.*level=0\.95"):
            fit.log_odds(reference)
    assert fit.log_odds(0.9).equals(fit.log_odds(level=0.9))


def test_a_column_without_any_value_is_named():
    with pytest.raises(DataError, match=r"'empty' has no value in any of the 150 rows\. Leave out"):
        discrim.lda("species ~ .", IRIS.assign(empty=np.nan))
    holes = IRIS.assign(petal_width=IRIS["petal_width"].where(np.arange(150) % 2 > 0))
    holes["petal_length"] = holes["petal_length"].where(np.arange(150) % 2 == 0)
    with pytest.raises(DataError, match="each of the 150 rows misses a value"):
        discrim.lda("species ~ .", holes)


def test_a_loaded_fit_is_classified_by_the_way_out_of_its_refusal(tmp_path):
    discrim.lda("species ~ .", IRIS).save(tmp_path / "fit")
    fit = discrim.load(tmp_path / "fit")
    with pytest.raises(NotSupportedError, match="pass data="):
        fit.assess(method="apparent").classification()
    assert str(fit.assess(IRIS).classification().summary())
