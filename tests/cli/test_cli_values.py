"""Options that are read from the signatures of verbs, and how the values of options are read."""

from __future__ import annotations

import argparse
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discrim
from discrim import cli, datasets
from discrim.cli.options import NOT_OPTIONS, parameters_of, sources_of
from discrim.cli.values import ValuesByClass, annotations_of, specification_of, value_kind_of
from discrim.cli.verbs import VERBS, build_parser, parser_of
from discrim.covariance import (
    COVARIANCES,
    CovarianceSpecification,
    Diagonal,
    FactorAnalytic,
    Full,
    Separable,
    Shrunk,
)
from discrim.errors import DataError, DiscrimError, FormulaError
from discrim.formula.calls import read_call
from discrim.models.registry import MODELS
from discrim.penalty import PENALTIES, ElasticNet
from discrim.specification import Specification
from discrim.subspace import SUBSPACES, PrincipalComponents
from tests.cli.support import refused

FORMULA = "species ~ ."
SPECIFICATIONS = (*COVARIANCES, *SUBSPACES, *PENALTIES.values())
Covariance = Literal["pooled", "shrunk"] | CovarianceSpecification | Callable[..., Any]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "3", 3),
        (float, "3", 3.0),
        (float, "1/3", 1 / 3),
        (int | float | Literal["cv"], "3", 3),
        (int | float | Literal["cv"], ".9", 0.9),
        (int | Literal["cv"], "cv", "cv"),
        (float | None, "None", None),
        (str | None, "None", "None"),
        (Any, "3", "3"),
        (str, " a b ", " a b "),
        (Sequence[float], "0,1/2", [0.0, 0.5]),
        (Sequence[float], "[2]", [2.0]),
        (Sequence[str], "a, b", ["a", "b"]),
        (int | Sequence[int], "3", 3),
        (int | Sequence[int], "3,1", [3, 1]),
        (tuple[int, int], "2,3", [2, 3]),
        (Sequence[float] | Sequence[Sequence[float]], "-1,2", [-1.0, 2.0]),
        (Sequence[float] | Sequence[Sequence[float]], "[1,2],[3,4]", [[1.0, 2.0], [3.0, 4.0]]),
        (bool | Sequence[str], "True", True),
        (bool | Sequence[str], "a", ["a"]),
        (Mapping[Any, float], "a=1,b = c=1/2", {"a": 1.0, "b = c": 0.5}),
        (Mapping[str, Sequence[float]], "a=[0,1],b=2", {"a": [0.0, 1.0], "b": [2.0]}),
        (int | Literal["bic"] | Mapping[Any, int | Literal["bic"]], "a=1,b=bic", {"a": 1, "b": "bic"}),
        (Covariance, "shrunk", "shrunk"),
        (Covariance, "shrunk(0.1)", Shrunk(0.1)),
        (Covariance, "Shrunk(shrinkage=0.1)", Shrunk(0.1)),
        (Covariance, "diagonal('loo', grid=[0, 1/2])", Diagonal("loo", grid=[0, 0.5])),
        (Covariance, "full()", Full()),
        (Shrunk | Separable, "separable(rows=2, columns=2)", Separable(2, 2)),
    ],
)
def test_the_text_of_a_value_is_read_by_the_annotation(annotation, text, value):
    found = value_kind_of(annotation).read(text)
    assert (found, type(found)) == (value, ValuesByClass if isinstance(found, ValuesByClass) else type(value))


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "3.0"),
        (int, "9" * 5000),
        (int, "\N{SUPERSCRIPT TWO}"),
        (float, "nan"),
        (float, "1/0"),
        (float, "x"),
        (Sequence[float], "1,x"),
        (Sequence[float], ""),
        (Mapping[Any, float], "a=1,2"),
        (tuple[int, int], "2x3"),
        (Mapping[Any, float], "a=1,a=2"),
        (Literal["a"], "b"),
        (Covariance, "ridge"),
        (bool | Sequence[int], "all"),
    ],
)
def test_a_value_that_is_not_of_its_kind_is_refused(annotation, text):
    with pytest.raises(argparse.ArgumentTypeError):
        value_kind_of(annotation).read(text)


@pytest.mark.parametrize("each", SPECIFICATIONS, ids=lambda each: each.word)
def test_the_repr_of_a_specification_reads_to_it(each):
    required = [one for one in inspect.signature(each).parameters.values() if one.default is one.empty]
    one = each(*[2 for _ in required])
    assert value_kind_of(Specification).read(repr(one)) == one
    assert value_kind_of(each).read(repr(one).replace(type(one).__name__, one.word, 1)) == one


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("shrnk(0.1)", FormulaError, "Did you mean shrunk?"),
        ("shrunk(shrinkag=0.1)", FormulaError, "Did you mean shrinkage?"),
        ("shrunk(0.1, None, True, 1)", FormulaError, "too many"),
        ("separable(2)", FormulaError, "columns"),
        ("shrunk(0.1, shrinkage=0.1)", FormulaError, "multiple values"),
        ("shrunk(1.5)", DataError, "1.5"),
        ("t(nu='five')", DataError, "five"),
        ("separable(rows=1/2, columns=2)", DataError, "rows"),
        ("pca(2)", FormulaError, "Unknown specification 'pca'"),
    ],
)
def test_a_wrong_specification_is_answered_by_name(text, error, says):
    with pytest.raises(error, match=says):
        specification_of(read_call(text), COVARIANCES)


WORDS = st.sampled_from([each.word for each in SPECIFICATIONS] + ["Shrunk", "dict", "word", "__init__"])
NAMES = st.sampled_from(
    ["shrinkage", "grid", "nu", "rows", "columns", "n", "strength", "folds", "word", "self", "__dict__"]
)
VALUES = st.sampled_from(
    [
        "0.1",
        "-1",
        "'loo'",
        "'x'",
        "None",
        "True",
        "[0, 1]",
        "[]",
        "{'a': 1}",
        "()",
        "'__class__'",
        "10**9",
        "1e308",
        "x",
    ]
)


@given(WORDS, st.lists(VALUES, max_size=3), st.dictionaries(NAMES, VALUES, max_size=3))
def test_any_call_is_a_specification_or_an_error_of_the_package(word, args, kwargs):
    text = f"{word}({', '.join([*args, *(f'{name}={value}' for name, value in kwargs.items())])})"
    try:
        found = value_kind_of(Specification).read(text)
    except (DiscrimError, argparse.ArgumentTypeError):
        return
    assert isinstance(found, SPECIFICATIONS)


# ---- options are the parameters of the verb


@pytest.mark.parametrize("verb", [verb for verb in VERBS if sources_of(verb)])
def test_each_parameter_is_an_option_and_no_option_hides_one(verb):
    parser = parser_of(build_parser(only=[verb]), verb)
    options = {option: action for action in parser._actions for option in action.option_strings}
    for source in sources_of(verb):
        for parameter in parameters_of(source):
            action = options[parameter.option]
            assert action.dest == parameter.name
            assert action.help, parameter.name
            assert action.default is argparse.SUPPRESS


@pytest.mark.parametrize("verb", [row.verb for row in MODELS if row.command is not None])
def test_every_parameter_of_a_model_is_an_option(verb):
    (source,) = sources_of(verb.replace("_", "-"))
    found = {parameter.name for parameter in parameters_of(source)}
    assert found == set(inspect.signature(getattr(discrim, verb)).parameters) - NOT_OPTIONS


def test_annotations_are_evaluated_where_a_name_is_for_type_checkers_alone():
    def function(a=None, b=1):
        pass

    function.__annotations__ = {"a": "no_such_module.Type[int] | None", "b": "int", "return": "NoSuch"}
    assert value_kind_of(annotations_of(function)["a"]).read("x") == "x"
    assert annotations_of(function)["b"] is int


# ---- from end to end


def summary(capsys, *arguments):
    assert cli.main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (
            ["mixture", "--components", "setosa=1,versicolor=2,virginica=1"],
            lambda data: discrim.mixture(
                FORMULA, data, components={"setosa": 1, "versicolor": 2, "virginica": 1}
            ),
        ),
        (
            ["lda", "--levels", "virginica,versicolor,setosa"],
            lambda data: discrim.lda(FORMULA, data, levels=["virginica", "versicolor", "setosa"]),
        ),
        (["knn", "--no-scale", "--k", "3"], lambda data: discrim.knn(FORMULA, data, k=3, scale=False)),
        (
            ["kernel-lda", "--width", "2", "--ridge", "0.1", "--kernel", "gaussian"],
            lambda data: discrim.kernel_lda(FORMULA, data, kernel="gaussian", width=2, ridge=0.1),
        ),
        (
            ["kernel-density", "--bandwidth", "setosa=.5,versicolor=.4,virginica=.3"],
            lambda data: discrim.kernel_density(
                FORMULA, data, bandwidth={"setosa": 0.5, "versicolor": 0.4, "virginica": 0.3}
            ),
        ),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_options_of_verbs_give_the_fit_of_the_call(arguments, call, capsys):
    verb, *options = arguments
    printed = summary(capsys, verb, FORMULA, "iris", *options, "--sections", "header")
    assert printed == str(call(datasets.load_iris()).summary(["header"])).rstrip("\n") + "\n"


def test_classes_that_are_numbers_are_named_by_their_text(capsys, tmp_path):
    iris = datasets.load_iris()
    codes = iris.assign(species=iris["species"].astype("category").cat.codes + 7)
    codes.to_csv(tmp_path / "codes.csv", index=False)
    options = ["--levels", "9,8,7", "--prior", "7=.5,8=.25,9=.25", "--sections", "header"]
    printed = summary(capsys, "lda", FORMULA, str(tmp_path / "codes.csv"), *options)
    fit = discrim.lda(FORMULA, codes, levels=[9, 8, 7], prior={7: 0.5, 8: 0.25, 9: 0.25})
    assert printed == str(fit.summary(["header"])).rstrip("\n") + "\n"


def test_an_unknown_option_is_answered_as_an_unknown_keyword_is(capsys):
    assert "use kernel" not in refused(capsys, "knn", FORMULA, "iris", "--n-neighbors", "5")
    assert "did you mean --k?" in refused(capsys, "knn", FORMULA, "iris", "--n-neighbors", "5")
    assert "did you mean --maxiter?" in refused(capsys, "perceptron", FORMULA, "iris", "--maxit", "5")
    assert "bias_reduction" not in refused(capsys, "perceptron", FORMULA, "iris", "--no-such", "5")


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (["lda", "--shrinkage", "0.1"], "--covariance 'Shrunk(0.1)'"),
        (["lda", "--covariance", "t", "--nu", "4"], "--covariance 'StudentT(nu=4)'"),
        (["qda", "--shape", "2,2"], "--covariance 'Separable(rows=2, columns=2)'"),
        (["lda", "--components=2", "--correspondence"], "--components 'MultipleCorrespondence(2)'"),
        (["logistic", "--penalty", "lasso", "--strength=0.1"], "--penalty 'Lasso(0.1)'"),
    ],
)
def test_an_option_of_a_specification_is_answered_with_the_specification(arguments, typed, capsys):
    verb, *options = arguments
    message = refused(capsys, verb, FORMULA, "iris", *options)
    assert typed in message
    option, value = shlex.split(typed)
    parser = build_parser(only=[verb])
    found = vars(parser.parse_args([verb, FORMULA, "iris", option, value]))
    assert isinstance(found[option.lstrip("-")], Specification)


def test_a_word_of_another_option_is_found_there(capsys):
    assert "--covariance" in refused(capsys, "lda", FORMULA, "iris", "--method", "t")


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (
            ["lda", "--covariance", "shrunk(0.2)", "--components", "pca(n=2, standardize=True)"],
            lambda data: discrim.lda(
                FORMULA, data, covariance=Shrunk(0.2), components=PrincipalComponents(2, standardize=True)
            ),
        ),
        (
            ["qda", "--covariance", "factor(dimensions=1)"],
            lambda data: discrim.qda(FORMULA, data, covariance=FactorAnalytic(1)),
        ),
        (
            ["logistic", "--penalty", "elastic_net(l1_ratio=0.5, strength=0.1)"],
            lambda data: discrim.logistic(FORMULA, data, penalty=ElasticNet(0.5, 0.1)),
        ),
        (["stepwise", "--verb", "qda(prior='equal', covariance=shrunk(0.1))"], None),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_specifications_give_the_fit_of_the_call(arguments, call, capsys, tmp_path):
    verb, *options = arguments
    iris = datasets.load_iris().groupby("species", observed=True).head(12)
    path = tmp_path / "few.csv"
    iris.to_csv(path, index=False)
    assert cli.main([verb, FORMULA, str(path), *options, "--save", str(tmp_path / "a.fit")]) == 0
    capsys.readouterr()
    saved = discrim.load(tmp_path / "a.fit")
    if call is None:
        call = partial(discrim.qda, saved.formula, prior="equal", covariance=Shrunk(0.1))
    expected = call(iris.astype({"species": str}))
    np.testing.assert_allclose(saved.predict_proba(iris), expected.predict_proba(iris))
