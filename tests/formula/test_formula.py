"""The formula language: against R's model.matrix, against patsy, against matrices made by hand, and against
people who do not mean well."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from contextlib import suppress
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import patsy
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patsy.eval import EvalEnvironment, EvalFactor

from discrim import lda
from discrim.data.table import Table
from discrim.design.matrix import DesignMatrix, response_codes
from discrim.design.rows import read_rows
from discrim.errors import (
    DataError,
    DiscrimError,
    DiscrimWarning,
    DroppedColumnsWarning,
    FormulaError,
    FormulaWarning,
    LabelWarning,
)
from discrim.formula.design import Design
from discrim.formula.factors import N_FIRST_ROWS
from discrim.formula.grammar import (
    MAX_COLUMNS,
    MAX_EXPONENT,
    MAX_NESTING,
    MAX_OPERATORS,
    MAX_TEXT,
    quote,
    scan,
)
from tests import support
from tests.support import resolve_formula

GOLDEN = json.loads((support.GOLDEN / "formula.json").read_text(encoding="utf-8"))


def matrix(design, data, functions=None):
    table = data if isinstance(data, Table) else Table(data)
    out = np.full((table.nrows, len(design.terms)), -99.0)
    DesignMatrix(design, table, functions).fill(0, table.nrows, out)
    return out


def build(formula, data, **options):
    """Terms and matrix of a formula."""
    design, _ = resolve_formula(formula, Table(data), **options)
    return design.terms, matrix(design, data, options.get("functions"))


def terms(formula, data, **options):
    return resolve_formula(formula, Table(data), **options)[0].terms


@pytest.fixture
def data():
    rng = np.random.default_rng(20)
    n = 24
    return pd.DataFrame(
        {
            "y": np.tile(["b", "a", "c"], n // 3),
            "x": rng.uniform(0.5, 4.0, n),
            "z": rng.normal(size=n),
            "w": rng.normal(size=n),
            "g": np.tile(["u", "v", "w", "v"], n // 4),
            "h": np.repeat(["p", "q"], n // 2),
            "flag": rng.random(n) < 0.5,
            "id": np.arange(n),
        }
    )


# Against R ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["formula"])
def test_columns_and_order_equal_model_matrix_of_r(case):
    # jsonlite writes 15 significant digits.
    frame = pd.DataFrame(GOLDEN["data"]).assign(y=list("abababab"))
    new = pd.DataFrame(GOLDEN["new"])
    formula = case["formula"].replace("c(2, 3)", "[2, 3]")
    design, _ = resolve_formula(f"y ~ {formula}", Table(frame))
    np.testing.assert_allclose(matrix(design, frame).T, case["columns"], rtol=0, atol=1e-13 * 5.5**2)
    np.testing.assert_allclose(matrix(design, new).T, case["new_columns"], rtol=0, atol=1e-13 * 5.5**2)


# Against patsy --------------------------------------------------------------------------------------------

PATSY = [
    "x + z",
    "g",
    "g + x + h",
    "g:h",
    "x:g",
    "x + x:g + h",
    "g*h*x",
    "(x + z + w)**3",
    "(g + h + x)**2",
    "x/g/h",
    "(x + z)/h",
    "C(g, Sum) + C(h, Diff)",
    "C(g, Helmert):x",
    "C(g, Poly)*h",
    "C(g, Poly(scores=[1, 2, 5]))",
    'C(g, Treatment("v")) + z',
    "C(g, Treatment(reference=2))",
    "C(g, Sum(omit=0))",
    'C(g, levels=["w", "v", "u"]) + x',
    "C(id) + x",
    "np.log(x) + np.exp(z) + np.sqrt(x)",
    "I(x + z*2 - w/3) + I(-x**2) + I(x//2 % 2)",
    "center(x) + standardize(z) + scale(w, ddof=1)",
    "standardize(x, rescale=False):g",
    "center(np.log(x) + z)",
    "bs(x, df=5) + bs(z, knots=[-0.5, 0.5], degree=2)",
    "bs(x, df=6, include_intercept=True, lower_bound=0, upper_bound=5)",
    "bs(center(x), df=4):h",
    "cr(x, df=4) + z",
    "cr(x, df=3, constraints='center')",
    "cr(z, knots=[-0.3, 0.2], lower_bound=-3, upper_bound=3)",
    'Q("x") + x:z',
    "x - z + (w + z) - w",
]


@pytest.mark.parametrize("formula", PATSY)
@pytest.mark.filterwarnings("ignore::discrim.errors.FormulaWarning")
def test_columns_equal_patsy_in_formula_order(formula, data):
    expected = patsy.dmatrix(formula, data)
    names = expected.design_info.column_names
    found, x = build(f"y ~ {formula}", data)
    plain = {name.replace('Q("x")', "x"): np.asarray(expected)[:, j] for j, name in enumerate(names)}
    plain.pop("Intercept")
    assert set(found) == set(plain)
    for j, name in enumerate(found):
        np.testing.assert_allclose(x[:, j], plain[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "formula", ["center(x) + standardize(z)", "bs(x, df=5)", "cr(x, df=4, constraints='center')", "g*x"]
)
def test_new_rows_are_transformed_as_patsy_transforms_them(formula, data):
    info = patsy.dmatrix(formula, data).design_info
    new = data.iloc[[3, 17, 8]]
    expected = np.asarray(patsy.build_design_matrices([info], new)[0])[:, 1:]
    design, _ = resolve_formula(f"y ~ {formula}", Table(data))
    order = [info.column_names[1:].index(name) for name in design.terms]
    np.testing.assert_allclose(matrix(design, new), expected[:, order], rtol=1e-12, atol=1e-13)


# Order ----------------------------------------------------------------------------------------------------


def test_terms_keep_the_order_they_are_written_in(data):
    assert terms("y ~ x + C(g) + z:x + w", data) == ("x", "C(g)[T.v]", "C(g)[T.w]", "z:x", "w")


def test_main_effects_come_first_within_a_product(data):
    assert terms("y ~ x*z*w + id", data) == ("x", "z", "w", "x:z", "x:w", "z:w", "x:z:w", "id")


def test_a_power_goes_by_degree(data):
    assert terms("y ~ (x + z + w)^2 + id", data) == ("x", "z", "w", "x:z", "x:w", "z:w", "id")


# The dot --------------------------------------------------------------------------------------------------


def test_dot_is_every_other_column(data):
    assert terms("y ~ .", data) == ("x", "z", "w", "g[T.v]", "g[T.w]", "h[T.q]", "flag", "id")
    assert terms("y ~ . - id - g", data) == ("x", "z", "w", "h[T.q]", "flag")
    assert terms("y ~ . - g - h", data, exclude=("w",)) == ("x", "z", "flag", "id")


def test_dot_takes_part_in_products(data):
    small = data[["y", "x", "z", "w"]]
    assert terms("y ~ .:x", small) == ("x", "z:x", "w:x")
    assert terms("y ~ .*x", small) == ("x", "z", "w", "z:x", "w:x")
    for formula in ("y ~ (.)**2", "y ~ (.)^2", "y ~ .^2"):
        assert terms(formula, small) == ("x", "z", "w", "x:z", "x:w", "z:w")
    assert terms("y ~ log(x) + . - x", small) == ("log(x)", "z", "w")


@pytest.mark.filterwarnings("ignore::discrim.errors.LabelWarning")
def test_dot_leaves_out_what_an_expression_on_the_left_reads(data):
    assert terms("log(x) ~ . - g - h - y", data) == ("z", "w", "flag", "id")


def test_removing_the_response_from_dot_is_silent_and_idle(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert terms("y ~ . - y - g - h", data) == ("x", "z", "w", "flag", "id")


@pytest.mark.parametrize(("power", "columns"), [(2, 20), (3, 8), (8, 7)])
def test_a_power_of_dot_has_as_many_terms_as_there_are_subsets(power, columns):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(3, columns))).rename(columns=str).assign(y=list("aba"))
    found, x = build(f"y ~ (.)**{power}", frame)
    assert len(found) == sum(comb(columns, size) for size in range(1, power + 1))
    subsets = [s for size in range(1, power + 1) for s in combinations(range(columns), size)]
    expected = np.column_stack([frame.iloc[:, list(s)].prod(axis=1) for s in subsets])
    np.testing.assert_allclose(x, expected, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("joined", ["{}", "({})", "1 + {}", "+ {}"])
def test_two_thousand_terms_can_be_written_out(joined):
    names = [f"x{j}" for j in range(2000)]
    frame = pd.DataFrame(np.arange(4000.0).reshape(2, 2000), columns=names).assign(y=["a", "b"])
    design, _ = resolve_formula("y ~ " + joined.format(" + ".join(names)), Table(frame))
    assert design.terms == tuple(names)
    assert design.is_plain
    assert resolve_formula("y ~ .", Table(frame))[0].terms == tuple(names)
    assert terms("y ~ . - " + " - ".join(names[1:]), frame) == ("x0",)
    assert len(terms("y ~ " + " + ".join(f"log({n})" for n in names[1:]), frame)) == 1999


# Names ----------------------------------------------------------------------------------------------------

AWKWARD = [
    "Intercept", "inf", "NaN",
    "Q", "class", "C", "log", "I", "np", "a b", "a.b", "it's", 'say "x"', "line\nbreak",
    "длина", "花びら",
    "हिन्दी",
    "\u2118", "a`b", "`", "", " ", "1st", "x + z", "log(x)", "__class__", "__import__('os')", "ﬁ",
    "x:z", "lambda", "None", "True", "_q0_", "~", ".", "a\tb", "np.log", "\u200b", "%", "\\", "y ~ x", "#",
    "f'{x}'", "if", "in",
]  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_any_column_name_is_a_name_in_backticks_and_through_the_dot(name):
    frame = pd.DataFrame({"y": ["a", "b", "a"], name: [1.0, 2.0, 4.0], "other": [3.0, 5.0, 1.0]})
    ticked = "`" + name.replace("`", "``") + "`"
    assert terms("y ~ .", frame) == (name, "other")
    assert terms("y ~ . - other", frame) == (name,)
    assert terms(f"y ~ {ticked}", frame) == (name,)
    assert terms(f"y ~ . - {ticked}", frame) == ("other",)
    found, x = build(f"y ~ log({ticked}) + other:{ticked} + I({ticked}^2)", frame)
    assert found == (f"log({quote(name)})", f"other:{name}", f"I({quote(name)} ** 2)")
    np.testing.assert_allclose(x.T, [np.log([1, 2, 4]), [3, 10, 4], [1, 4, 16]])
    assert resolve_formula(f"{ticked} ~ other", Table(frame))[0].levels == (1.0, 2.0, 4.0)


@pytest.mark.slow
@given(name=st.text(max_size=12).filter(lambda name: name not in {"y", "other"}))
@settings(max_examples=150)
def test_every_name_there_is_stays_a_name(name):
    frame = pd.DataFrame({"y": ["a", "b", "a"], name: [1.0, 2.0, 4.0], "other": [3.0, 5.0, 1.0]})
    assert terms("y ~ .", frame) == (name, "other")
    found, x = build(f"y ~ {quote(name)}:other + log({quote(name)})", frame)
    np.testing.assert_allclose(x.T, [[3, 10, 4], np.log([1, 2, 4])])
    design, _ = resolve_formula(f"y ~ {quote(name)}:other", Table(frame))
    assert Design.from_dict(json.loads(json.dumps(design.to_dict()))) == design
    assert found[0] == f"{name}:other"


@pytest.mark.slow
@given(text=st.text(alphabet="xyzg0123.+-*/:~^()[]`\"' ,=_IQC\\%\n", max_size=25))
@settings(max_examples=400)
def test_any_text_is_a_formula_or_a_clear_error(text):
    frame = pd.DataFrame({"y": list("abab"), "x": [1.0, 2, 3, 5], "z": [2.0, 1, 1, 4], "g": list("uvvu")})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        for formula in (text, f"y ~ {text}"):
            with suppress(DiscrimError):
                build(formula, frame)


def test_two_thousand_awkward_names_can_be_written_out():
    names = [f"x {j}" for j in range(2000)]
    frame = pd.DataFrame(np.ones((2, 2000)), columns=names).assign(y=["a", "b"])
    assert terms("y ~ " + " + ".join(f"log(`{name}`)" for name in names), frame)[1999] == "log(`x 1999`)"


def test_dotted_names_and_keywords_may_be_typed_bare():
    frame = pd.DataFrame(
        {"y": ["a", "b"], "sepal.length": [1.0, 2.0], "class": [3.0, 4.0], "V.1": [0.0, 1.0]}
    )
    assert terms("y ~ sepal.length + class + V.1", frame) == ("sepal.length", "class", "V.1")
    found, x = build("class ~ log(sepal.length)", frame)
    assert found == ("log(`sepal.length`)",)
    np.testing.assert_allclose(x[:, 0], np.log([1, 2]))


def test_a_function_and_a_column_may_share_a_name():
    frame = pd.DataFrame({"y": ["a", "b"], "log": [1.0, 2.0], "C": [3.0, 4.0], "np": [5.0, 6.0]})
    found, x = build("y ~ log(log) + C + np.log(np)", frame)
    assert found == ("log(log)", "C", "np.log(np)")
    np.testing.assert_allclose(x.T, [np.log([1, 2]), [3, 4], np.log([5, 6])])


def test_q_is_a_backtick(data):
    frame = data.rename(columns={"x": "my x"})
    assert terms('y ~ Q("my x") + z', frame) == terms("y ~ `my x` + z", frame) == ("my x", "z")
    assert terms('y ~ Q("my x") + `my x`', frame) == ("my x",)


def test_escapes_in_quotes():
    frame = pd.DataFrame({"y": ["a", "b"], "a\nb": [1.0, 2.0], "é": [3.0, 5.0]})
    assert terms(r"""y ~ Q("a\nb") + Q('\u00e9')""", frame) == ("a\nb", "é")


def test_two_columns_of_one_name_are_refused(data):
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ . + x:z", Table(data.assign(**{"x:z": 1.0})))
    assert "x:z" in str(caught.value)


# A formula is data ----------------------------------------------------------------------------------------

HOSTILE = [
    "__import__('os')", "__import__('os').system('true')", "().__class__", "().__class__.__bases__",
    "x.__class__", "x.values", "x . values", "np.linalg", "np.linalg.norm(x)", "np.os", "x[0]", "x['a']",
    "(lambda: 1)()", "lambda v: v", "I(lambda: x)", "[v for v in x]", "I([x for x in z])", "{x}",
    "{'a': x}", "(x := 2)", "I((x := 2))", "f'{x}'", "I(f'{x}')", "I(x if z else x)", "I(x > 2)",
    "I(x == 2)", "I(x and z)", "I(not x)", "I(x @ z)", "I(x & z)", "I(~x)", "I(x << 3)", "I(*x)", "I(**x)",
    "log(*x)", "I(x, z)", "log(x, base=2)", "log(x, out=z)", "eval('1')", "exec('1')", "open('f')",
    "print(x)", "getattr(x, 'a')", "globals()", "vars()", "type(x)", "min(x)", "abs", "eval", "os",
    "l\u043eg(x)", "\uff4c\uff4f\uff47(x)", "\u0445", "\uff58", "x\u00b2", "I(1)", "I(x*1e999)", "I(1j*x)",
    "I('a')", "'a'", "b'a'", "I(x", "x)", "(x", "I(x]", "x;z", "x # z", "x \\ z", "`x", '"x', "x!",
    r"Q('\d')", r"Q('\N{DIGIT ONE}')", "x?",
    "$x", "x@z", "x|z", "x<z", "Q(x)", "Q('x').__class__", "Q('x', 'z')", "Q()", "Q(name='x')", "Q('nope')",
    "C(x)(z)", "log(C(g))", "C(g, eval)", "C(g, Sum.__class__)", "C(g, Treatment(__import__('os')))",
    "C(g, levels=[x])", "C(g, levels=[[1], [2]])", "C(g, contrast=Sum, contrast=Poly)",
    "C(g, Sum, ['u'], 3)", "C()", "log()", "log(.)", "log(..)", "...", ". .", ".x", "x.", "x z", "x~z",
    "~x", "I(True)", "I(None)", "True", "None", "async", "await x", "yield", "1x", "x 'a'", "'a' 'b'",
    "I(x)(z)", "log(x)(z)", "`log`(x)", "np.(x)", "np.log", "np.eval(x)", "I(x)\x00", "x\u200b", "x\u202ez",
    "-x", "x - -z", "2", "x**0", "x**1.5", "x**z", "x**-1", "x**99999999999999999999", "x**(2", "x:1",
    "(x + 0):z", "(x + 1)**2", "()", "x +", "*x", "x ** ", "", "   ", "1", "0", "x - x", "I(\u00d7)",
    "_patsy_stobj0__center__", "EvalEnvironment", "I(x)._q0_", "bs(x, df=10**9)",
    "poly(x, degree=eval('3'))", "C(g, levels=('u', 'v', 'w').__class__)",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_not_in_the_language_is_refused_at_its_place(text, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        with pytest.raises(FormulaError) as caught:
            resolve_formula(f"y ~ {text}", Table(data))
        assert "character" in str(caught.value)


def test_nothing_of_the_caller_is_seen(data):
    secret = data["x"] * 2
    assert secret.notna().all()
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ secret", Table(data))
    assert "secret" in str(caught.value)
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ I(x + secret)", Table(data))
    assert "secret" in str(caught.value)


def evaluated(task) -> list[str]:
    """What evaluates text during a task: functions of Python, and those of patsy that call them."""
    calls = []

    def seen(frame, event, called):
        if event == "c_call" and called in (eval, exec):
            calls.append(called.__name__)
        elif event == "call" and frame.f_code in (EvalFactor.eval.__code__, EvalEnvironment.eval.__code__):
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(seen)
    try:
        task()
    finally:
        sys.setprofile(None)
    return calls


def test_no_text_is_ever_evaluated(data):
    formula = "y ~ log(x) + bs(x, df=4)*g + C(h, Sum) + I(z^2) + cr(z, df=3)"

    def ours():
        design, _ = resolve_formula(formula, Table(data))
        assert np.isfinite(matrix(design, data)).all()

    # What is imported the first time is executed.
    ours()
    assert evaluated(ours) == []
    theirs = evaluated(lambda: patsy.dmatrix("np.log(x)", data))
    assert {"eval", EvalFactor.eval.__qualname__, EvalEnvironment.eval.__qualname__} <= set(theirs)
    assert evaluated(lambda: exec("")) == ["exec"]


@pytest.mark.parametrize(
    ("formula", "place"),
    [
        ("y ~ x + nope", "nope"),
        ("y ~ x + log(nope)", "nope"),
        ("y ~ x + `no\npe` + z", "`no pe`"),
        ("y ~ x^2 + `a b` + z[1]", "z[1]"),
        ("`y` ~ длина + I(x)", "длина"),
        ("  y ~ x + eval(z)", "eval"),
        ("y ~ I('длина', x)", "'длина'"),
    ],
)
def test_an_error_points_at_the_place(formula, place, data):
    frame = data.assign(**{"a b": 1.0})
    with pytest.raises(FormulaError) as caught:
        resolve_formula(formula, Table(frame))
    *_, shown, carets = str(caught.value).split("\n")
    assert shown[carets.index("^") : len(carets)] == place


def test_a_long_formula_is_shown_around_the_place(data):
    with pytest.raises(FormulaError) as caught:
        resolve_formula(
            "y ~ " + " + ".join(["x"] * 300) + " + nope + " + " + ".join(["z"] * 300), Table(data)
        )
    *_, shown, carets = str(caught.value).split("\n")
    assert shown[carets.index("^") : len(carets)] == "nope"
    assert len(shown) < 110


def test_the_nearest_name_is_offered(data):
    frame = data.rename(columns={"x": "petal_width"})
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ petal_widht", Table(frame))
    assert "'petal_width'" in str(caught.value)
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ standardise(z)", Table(frame))
    assert "standardize()" in str(caught.value)


# Limits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x" + " + x" * MAX_TEXT,
        "x" + "-x" * (MAX_OPERATORS + 1),
        "x" + ":x" * 200_000,
        "(" * (MAX_NESTING + 1) + "x" + ")" * (MAX_NESTING + 1),
        "(" * 20_000 + "x" + ")" * 20_000,
        "I(" + "-" * 15_000 + "x)",
        "I(" + "x**" * 5000 + "x)",
        "I(" + "log(" * 25 + "-" * 10 + "x" + ")" * 26,
        f"(.)**{MAX_EXPONENT + 1}",
        "(.)**50",
        ":".join(f"I(x + {j})" for j in range(MAX_EXPONENT + 1)),
        "*".join(f"I(x + {j})" for j in range(500)),
        "I(x + " + "1" * 400 + ")",
    ],
)
def test_limits_are_errors(text, data):
    with pytest.raises(FormulaError):
        resolve_formula(f"y ~ {text}", Table(data))


def test_products_are_counted_before_they_are_formed():
    frame = pd.DataFrame(np.ones((2, 400))).rename(columns=lambda j: f"x{j}").assign(y=["a", "b"])
    for formula in ("y ~ (.)**2", "y ~ (.):(.)", "y ~ (.)*(.)", "y ~ (.)**5"):
        with pytest.raises(FormulaError) as caught:
            resolve_formula(formula, Table(frame))
        assert "50,000" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.LabelWarning")
def test_columns_are_counted_before_they_are_built():
    n = MAX_COLUMNS + 2
    frame = pd.DataFrame({"y": np.tile(["a", "b"], n // 2), "text": [f"r{j}" for j in range(n)]})
    frame["x"] = np.arange(n)
    for formula in ("y ~ text", "y ~ C(x)", "y ~ x:text"):
        with pytest.raises(FormulaError) as caught:
            resolve_formula(formula, Table(frame))
        assert "50,000" in str(caught.value)
        assert caught.value.columns == (() if "C(" in formula else ("text",))
    crossed = frame.iloc[:900].assign(text2=[f"s{j}" for j in range(900)])
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ text:text2", Table(crossed))
    assert "'text:text2'" in str(caught.value)


def test_constants_do_not_grow(data):
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ I(x + 10**10**10)", Table(data))
    assert "inf" in str(caught.value)


def test_long_sums_inside_a_factor_are_not_deep():
    names = [f"x{j}" for j in range(1500)]
    frame = pd.DataFrame(np.ones((2, 1500)), columns=names).assign(y=["a", "b"])
    _, x = build(f"y ~ I({' + '.join(names)})", frame)
    np.testing.assert_array_equal(x, 1500.0)


# Intercept and what changes nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["y ~ g + x - 1", "y ~ g + x + 0", "y ~ 0 + g + x", "y ~ -1 + g + x"])
def test_an_intercept_cannot_be_removed(formula, data):
    with pytest.warns(FormulaWarning):
        found, x = build(formula, data)
    assert found == ("g[T.v]", "g[T.w]", "x")
    np.testing.assert_array_equal(x, build("y ~ g + x", data)[1])


def test_an_intercept_may_be_asked_for(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert terms("y ~ 1 + x", data) == terms("y ~ 0 + x + 1", data) == ("x",)


def test_what_changes_nothing_says_so(data):
    with pytest.warns(FormulaWarning, match="'w'"):
        assert terms("y ~ x + z - w", data) == ("x", "z")
    with pytest.warns(FormulaWarning):
        assert terms("y ~ x + x^2", data) == ("x",)


# The fast path --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["y ~ x + z", "y ~ . - g - h", "y ~ flag + id", "y ~ `x`"])
def test_plain_columns_are_plain(formula, data):
    design, _ = resolve_formula(formula, Table(data))
    assert design.is_plain
    assert design.spec is None
    assert design.terms == design.columns
    np.testing.assert_array_equal(matrix(design, data), data[list(design.columns)].to_numpy(dtype=float))


@pytest.mark.parametrize("formula", ["y ~ x:z", "y ~ g", "y ~ C(id)", "y ~ x + log(x)", "y ~ I(x)"])
def test_anything_else_is_not(formula, data):
    assert not resolve_formula(formula, Table(data))[0].is_plain


def test_booleans_are_numbers_named_as_the_column(data):
    found, x = build("y ~ flag + g + flag:z", data)
    assert found == ("flag", "g[T.v]", "g[T.w]", "flag:z")
    np.testing.assert_array_equal(x[:, 0], data["flag"])
    np.testing.assert_array_equal(x[:, 3], data["flag"] * data["z"])
    assert terms("y ~ C(flag)", data) == ("C(flag)[T.True]",)
    holes = data.assign(flag=data["flag"].astype(object).where(data["id"] > 3, None))
    assert terms("y ~ C(flag)", holes) == ("C(flag)[T.True]",)


def test_an_import_is_paid_when_a_formula_is_read():
    import subprocess
    import sys

    code = "import sys, discrim.formula.formula; print('patsy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# The response ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([2, 0, 2], (0, 2)),
        ([2.5, -1.0, 2.5], (-1.0, 2.5)),
        ([True, False, True], (False, True)),
        (pd.Categorical(["b", "a", "b"], categories=["b", "a"]), ("b", "a")),
        (pd.Categorical([3, 1, 3], categories=[3, 1], ordered=True), (3, 1)),
        (pd.array([2, 0, 2], dtype="Int64"), (0, 2)),
        (pd.array(["b", "a", "b"], dtype="string"), ("a", "b")),
        (pd.Series(["b", "a", "b"], dtype=object), ("a", "b")),
        (pd.array(["b", "a", "b"], dtype="string[pyarrow]"), ("a", "b")),
        (pd.array([True, False, True], dtype="boolean"), (False, True)),
    ],
)
def test_levels_and_codes(values, levels):
    frame = pd.DataFrame({"y": values, "x": [1.0, 2.0, 4.0]})
    design, codes = resolve_formula("y ~ x", Table(frame))
    assert design.levels == levels
    assert [type(level) for level in design.levels] == [type(level) for level in levels]
    expected = [levels.index(value) for value in frame["y"].tolist()]
    np.testing.assert_array_equal(codes, expected)
    assert codes.dtype == np.intp
    np.testing.assert_array_equal(response_codes(design, Table(frame)), expected)
    holed = frame.astype({"y": object} if not isinstance(frame["y"].dtype, pd.CategoricalDtype) else {})
    holed.loc[1, "y"] = None
    assert response_codes(design, Table(holed)).tolist() == [expected[0], -1, expected[2]]


def test_a_missing_response_has_no_code_and_no_part_in_the_type():
    for values in (pd.array([2, None, 0], dtype="Int64"), pd.Series([2, None, 0], dtype=object)):
        design, codes = resolve_formula("y ~ x", Table(pd.DataFrame({"y": values, "x": [1.0, 2.0, 4.0]})))
        assert (design.levels, codes.tolist()) == ((0, 2), [1, -1, 0])
        assert [type(level) for level in design.levels] == [int, int]


def test_levels_can_be_given(data):
    design, codes = resolve_formula("y ~ x", Table(data), levels=["c", "b", "a"])
    assert design.levels == ("c", "b", "a")
    assert codes[:3].tolist() == [1, 2, 0]
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ x", Table(data), levels=["a", "b"])
    assert caught.value.rows == (2,)
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ x", Table(data), levels=["a", "b", "c", "a"])
    assert "twice" in str(caught.value)
    with pytest.warns(DroppedColumnsWarning, match="'d'"):
        assert resolve_formula("y ~ x", Table(data), levels=["d", "c", "b", "a"])[0].levels == ("c", "b", "a")


def test_unused_levels_are_left_out_and_named(data):
    y = pd.Categorical(data["y"], categories=["a", "never", "b", "c", "neither"])
    with pytest.warns(DroppedColumnsWarning, match=r"'never'.*'neither'"):
        design, codes = resolve_formula("y ~ x", Table(data.assign(y=y)))
    assert design.levels == ("a", "b", "c")
    assert codes[:3].tolist() == [1, 0, 2]


def test_the_response_may_be_an_expression(data):
    design, codes = resolve_formula("C(id) ~ x", Table(data))
    assert design.levels == tuple(range(24))
    np.testing.assert_array_equal(codes, np.arange(24))
    half = {"half": lambda values: values.gt(11)}
    design, codes = resolve_formula("half(id) ~ x", Table(data), functions=half)
    assert (design.response, design.response_columns, design.functions) == ("half(id)", ("id",), ("half",))
    np.testing.assert_array_equal(codes, data["id"] > 11)
    np.testing.assert_array_equal(response_codes(design, Table(data), half), codes)
    first = {"first": lambda values: values.str.upper()}
    assert resolve_formula("first(y) ~ x", Table(data), functions=first)[0].levels == ("A", "B", "C")


@pytest.mark.parametrize(
    "formula",
    ["y ~ x + y", "y ~ .:y", "y ~ log(y)", "log(x) ~ z + x", "log(x) ~ z:I(x**2)", "C(x) ~ poly(x, 2)"],
)
def test_the_response_is_no_predictor(formula, data):
    with pytest.raises(FormulaError) as caught:
        resolve_formula(formula, Table(data))
    assert "predictor" in str(caught.value)


@pytest.mark.parametrize(
    "formula",
    ["~ x", "y + g ~ x", "y:g ~ x", ". ~ x", "1 ~ x", "y", "", "y ~ x ~ z", "center(x) ~ z", "C(y, Sum) ~ x",
     "bs(x, df=4) ~ z", "poly(x, 2) ~ z"],
)  # fmt: skip
def test_invalid_responses_raise(formula, data):
    with pytest.raises(FormulaError):
        resolve_formula(formula, Table(data))


def test_an_unknown_label_names_its_row(data):
    design, _ = resolve_formula("y ~ x", Table(data))
    new = data.set_index(np.array([f"r{j}" for j in range(24)])).assign(y=["a"] * 23 + ["zzz"])
    with pytest.raises(DataError) as caught:
        response_codes(design, Table(new))
    assert caught.value.rows == ("r23",)


@pytest.mark.parametrize(
    "values",
    [[1, "a", 2], pd.to_datetime(["2020", "2021", "2020"]), [1 + 2j, 2, 3], [(1, 2), (3, 4), (1, 2)],
     pd.cut([1, 2, 3], 2), [np.inf, 1.0, 2.0]],
)  # fmt: skip
def test_invalid_labels_raise(values):
    frame = pd.DataFrame({"y": values, "x": [1.0, 2.0, 4.0]})
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ x", Table(frame))
    assert "'y'" in str(caught.value)


def test_a_table_without_rows_is_refused(data):
    with pytest.raises(DataError) as caught:
        read_rows("y ~ x", data.iloc[:0])
    assert "no rows" in str(caught.value)


# Predictors -----------------------------------------------------------------------------------------------


def test_levels_of_a_predictor_follow_its_order(data):
    ordered = data.assign(g=pd.Categorical(data["g"], categories=["w", "u", "v"]))
    assert terms("y ~ g", ordered) == ("g[T.u]", "g[T.v]")
    unused = data.assign(g=pd.Categorical(data["g"], categories=["w", "gone", "u", "v"]))
    with pytest.warns(DroppedColumnsWarning, match="'gone'"):
        assert terms("y ~ g", unused) == ("g[T.u]", "g[T.v]")


def test_an_unseen_category_names_column_level_and_row(data):
    design, _ = resolve_formula("y ~ g + x", Table(data))
    new = data.assign(g=["u"] * 20 + ["new"] * 4)
    with pytest.raises(DataError) as caught:
        matrix(design, new)
    assert caught.value.rows == (20,)
    as_categories = new.assign(g=new["g"].astype("category"))
    with pytest.raises(DataError) as caught:
        matrix(design, as_categories)
    assert caught.value.rows == (20,)


def test_new_categories_may_come_in_any_dtype(data):
    design, _ = resolve_formula("y ~ g*x", Table(data))
    expected = matrix(design, data)
    for convert in (
        lambda g: pd.Categorical(g, categories=["w", "v", "u", "unused"]),
        lambda g: g.astype(object),
        lambda g: g.astype("string"),
    ):
        np.testing.assert_array_equal(matrix(design, data.assign(g=convert(data["g"]))), expected)


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["1.5", "2", "oops", "4"], "2, 'oops'"),
        (["1", "2", "3", "4"], "0, '1'"),
        (["1", None, "?", "4"], "2, '?'"),
    ],
)
def test_numbers_written_as_text_are_refused(values, row):
    frame = pd.DataFrame({"y": list("abab"), "x": values, "z": [1.0, 2, 3, 4]})
    for formula in ("y ~ .", "y ~ z + x", "y ~ x:z"):
        with pytest.raises(DataError) as caught:
            resolve_formula(formula, Table(frame))
        assert "'x'" in str(caught.value)
        assert "to_numeric" in str(caught.value)
        assert f"row {row}" in str(caught.value)
    assert terms("y ~ C(x)", frame)


@pytest.mark.parametrize(
    "values",
    [pd.to_datetime(["2020", "2021", "2022"]), [1j, 2j, 3j], [1, "a", 2.5], [(1,), (2,), (3,)],
     pd.to_timedelta([1, 2, 3])],
)  # fmt: skip
def test_columns_that_are_neither_numbers_nor_categories(values):
    frame = pd.DataFrame({"y": list("aba"), "when": values, "x": [1.0, 2.0, 4.0]})
    for formula in ("y ~ .", "y ~ log(when)", "y ~ when + x", "y ~ C(when)"):
        with pytest.raises(DataError) as caught:
            resolve_formula(formula, Table(frame))
        assert caught.value.columns == ("when",)
    assert terms("y ~ . - when", frame) == ("x",)


def test_a_predictor_with_one_level_is_a_column_of_ones(data):
    design, _ = resolve_formula("y ~ g + x", Table(data.assign(g="u")))
    assert design.terms == ("g", "x")
    assert resolve_formula("y ~ g * x", Table(data.assign(g="u")))[0].terms == ("g", "x")


def test_text_in_arithmetic_is_refused(data):
    for formula in ("y ~ log(g)", "y ~ I(g + 1)", "y ~ poly(g, 2)", "y ~ center(g)"):
        with pytest.raises(DataError) as caught:
            resolve_formula(formula, Table(data))
        assert caught.value.columns == ("g",)


def test_whole_numbers_do_not_overflow(data):
    _, x = build("y ~ I(id**20 * id)", data)
    np.testing.assert_allclose(x[:, 0], data["id"].astype(float) ** 21)


def test_float32_is_computed_in_double(data):
    small = data.assign(x=data["x"].astype(np.float32))
    _, x = build("y ~ I(x/3)", small)
    np.testing.assert_array_equal(x[:, 0], small["x"].astype(float) / 3)


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("y ~ log(x)", r"log\(x\) is nan at row 'r5', where x = -1\.5"),
        ("y ~ z + sqrt(x)", r"sqrt\(x\) is nan at row 'r5'"),
        ("y ~ I(1/w)", r"I\(1 / w\) is inf at row 'r7', where w = 0"),
        ("y ~ I(x/w) + g", r"at row 'r7', where x = .*, w = 0"),
        ("y ~ f(x)", r"f\(x\) is nan at row 'r3'"),
        ("y ~ I(z*1e300) : I(z*1e300)", "finite|inf|overflows"),
    ],
)
def test_a_value_made_missing_names_term_row_and_value(formula, match, data):
    frame = data.set_index(np.array([f"r{j}" for j in range(24)]))
    frame.loc["r5", "x"] = -1.5
    frame.loc["r7", "w"] = 0.0
    frame["z"] = np.where(frame["id"] == 4, 1e10, frame["z"])
    with pytest.raises(DataError, match=match):
        build(
            formula, frame, functions={"f": lambda x: x.where(x.index != "r3")} if "f(" in formula else None
        )


def test_a_product_that_overflows_names_its_row(data):
    frame = data.assign(x=np.where(data["id"] == 9, 1e200, 1.0), z=np.where(data["id"] == 9, 1e200, 1.0))
    with pytest.raises(DataError) as caught:
        build("y ~ x:z", frame)
    assert caught.value.rows == (9,)


def test_infinity_names_column_and_row(data):
    frame = data.assign(x=np.where(data["id"] == 6, -np.inf, data["x"]))
    for formula in ("y ~ g + x", "y ~ exp(x)", "y ~ x:z"):
        with pytest.raises(DataError) as caught:
            build(formula, frame)
        assert caught.value.columns == ("x",)
        assert caught.value.rows == (6,)


def test_missing_columns_of_new_rows_are_named(data):
    for formula in ("y ~ x + z", "y ~ g + log(x)"):
        design, _ = resolve_formula(formula, Table(data))
        with pytest.raises(DataError) as caught:
            matrix(design, data.drop(columns="x"))
        assert "'x'" in str(caught.value)
        matrix(design, data.drop(columns="y"))


def test_a_column_of_another_kind_is_refused(data):
    design, _ = resolve_formula("y ~ x:z + g", Table(data))
    for column in (data["g"], pd.to_datetime(data["id"])):
        with pytest.raises(DataError) as caught:
            matrix(design, data.assign(x=column))
        assert caught.value.columns == ("x",)
    with pytest.raises(DataError) as caught:
        matrix(design, data.assign(g=data["id"]))
    assert caught.value.rows == (0,)


# Missing values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula", ["y ~ x + z", "y ~ x:z + g", "y ~ log(x) + C(g)*z", "y ~ bs(x, df=4) + g"]
)
def test_a_missing_value_makes_a_row_of_nan(formula, data):
    holed = data.copy()
    holed.loc[3, "x"] = np.nan
    holed.loc[8, "z"] = np.nan
    holed.loc[11, "g"] = None
    design, _ = resolve_formula(formula, Table(holed))
    rows = [row for row, name in ((3, "x"), (8, "z"), (11, "g")) if name in design.columns]
    x = matrix(design, holed)
    if design.is_plain:
        assert sorted(np.flatnonzero(np.isnan(x).any(axis=1))) == rows
        return
    assert sorted(np.flatnonzero(np.isnan(x).any(axis=1))) == rows
    assert np.isnan(x[rows]).all()
    complete = holed.dropna(subset=list(design.columns))
    np.testing.assert_array_equal(x[np.setdiff1d(np.arange(24), rows)], matrix(design, complete))


@pytest.mark.parametrize(
    "call",
    ["center(x)", "standardize(x)", "scale(x)", "bs(x, df=4)", "cr(x, df=4)", "poly(x, 3)", "C(k)"],
)
def test_only_complete_rows_are_learnt_from(call, data):
    holed = data.assign(k=data["id"] % 3, weights=1.0)
    odd = {"y": 2, "z": 5, "x": 7, "weights": 9}
    for name, row in odd.items():
        holed.loc[row, "x"] = 1e6
        holed.loc[row, "k"] = 77
        holed[name] = holed[name].astype(object if name == "y" else float)
        holed.loc[row, name] = None
    design, _ = resolve_formula(f"y ~ {call} + z + x", Table(holed), exclude=("weights",))
    clean = holed.drop(index=list(odd.values())).astype({"k": int})
    expected, _ = resolve_formula(f"y ~ {call} + z + x", Table(clean))
    assert design.spec.factors == expected.spec.factors
    assert matrix(design, clean).tolist() == matrix(expected, clean).tolist()


def test_no_complete_row_names_the_worst_column(data):
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ log(x) + z", Table(data.assign(z=np.nan)))
    assert "'z'" in str(caught.value)


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
@pytest.mark.parametrize("late", ["a word", "17", None], ids=repr)
def test_labels_of_a_long_table_are_those_of_its_complete_rows(dtype, late):
    rng = np.random.default_rng(37)
    n = 2 * N_FIRST_ROWS
    long = pd.DataFrame(
        {"x": rng.standard_normal(n), "g": rng.choice(["b", "a", "c"], n), "y": rng.choice(2, n)}
    )
    long.loc[n - 5, "g"] = "alone"
    long.loc[n - 5, "x"] = np.nan
    long.loc[n - 2, "g"] = late
    long.loc[:99, "x"] = np.nan
    # Before 3.0 text is objects to pandas, and "str" makes a word of what is missing.
    typed = long if dtype == "str" and support.is_older_than(pd, 3, 0) else long.astype({"g": dtype})
    with warnings.catch_warnings():
        # A category that no complete row has is left out with a word.
        warnings.simplefilter("ignore", DiscrimWarning)
        designs = [resolve_formula("y ~ x * g", Table(each))[0] for each in (typed, typed[::-1])]
    assert designs[0].spec == designs[1].spec
    assert designs[0].spec.factors[1].levels == tuple(sorted(long.dropna()["g"].unique()))


def test_numbers_as_text_are_refused_wherever_they_begin():
    long = pd.DataFrame({"g": ["a", "b"] * N_FIRST_ROWS + ["1", "2"] * (N_FIRST_ROWS + 1), "x": 1.0})
    for table in (long, long[::-1]):
        with pytest.raises(DataError) as caught:
            resolve_formula("y ~ x + g", Table(table.assign(y=np.arange(len(table)) % 2)))
        assert "most" in str(caught.value)
        assert "numbers" in str(caught.value)


def test_leading_missing_numbers_do_not_trigger_label_search():
    x = np.r_[np.full(N_FIRST_ROWS, np.nan), np.arange(N_FIRST_ROWS)]
    table = Table({"x": x, "z": x**2, "y": np.arange(len(x)) % 2})
    assert resolve_formula("y ~ x * z", table)[0].terms == ("x", "z", "x:z")
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ x * z", Table({"x": x, "z": x[::-1], "y": np.arange(len(x)) % 2}))
    assert "value" in str(caught.value)


# Transformations ------------------------------------------------------------------------------------------


def test_poly_is_orthonormal_and_spans_the_powers(data):
    _, x = build("y ~ poly(x, 4)", data)
    np.testing.assert_allclose(x.T @ x, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(x.sum(axis=0), 0, atol=1e-13)
    powers = np.vander(data["x"], 5)
    np.testing.assert_allclose(powers @ np.linalg.lstsq(powers, x, rcond=None)[0], x, atol=1e-10)


def test_poly_keeps_its_digits_far_from_zero(data):
    _, near = build("y ~ poly(id, 5)", data)
    _, far = build("y ~ poly(id, 5)", data.assign(id=data["id"] + 2.0**40))
    np.testing.assert_allclose(far, near, atol=1e-13)


def test_poly_can_be_raw(data):
    _, x = build("y ~ poly(x, 3, raw=True)", data)
    np.testing.assert_array_equal(x.T, [data["x"], data["x"] ** 2, data["x"] ** 3])


def test_standardize_keeps_its_digits_far_from_zero(data):
    _, x = build("y ~ standardize(id)", data.assign(id=data["id"] + 2.0**45))
    exact = (np.arange(24) - 11.5) / np.sqrt((24**2 - 1) / 12)
    np.testing.assert_allclose(x[:, 0], exact, rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        "bs(x)", "bs(x, df=2)", "bs(x, df=4, knots=[1, 2, 3])", "bs(x, knots=[99])", "bs(x, df='a')",
        "bs(x, df=4.5)", "bs(x, df=4, lower_bound=3)", "bs(x, df=4, lower_bound=5, upper_bound=1)",
        "bs(x, knots='a')", "bs(x, df=4, degree=-1)", "bs(x, df=1000000000)", "cr(x)", "cr(x, df=1)",
        "cr(x, df=2)", "cr(x, df=1, constraints='center')", "cr(x, knots=[])",
        "cr(x, df=4, constraints='other')", "poly(x, 0)", "poly(x, 24)", "poly(x, 1000000)",
        "poly(x, True)", "poly(x, 2, raw=1)", "poly(poly(x, 2), 2)", "standardize(x, ddof=-1)",
        "standardize(x, ddof=24)", "standardize(x, center=0)", "standardize(I(x*0))",
        "C(g, Treatment('zz'))", "C(g, Treatment(7))", "C(g, Poly(scores=[1]))", "C(g, Sum('zz'))",
        "C(poly(x, 2))", "C(g, Sum(1, 2))",
    ],
)  # fmt: skip
def test_options_without_meaning_are_refused(call, data):
    with pytest.raises(FormulaError):
        resolve_formula(f"y ~ {call}", Table(data))


def test_a_spline_ends_at_its_boundary_knots(data):
    design, _ = resolve_formula("y ~ bs(x, df=4) + z", Table(data))
    new = data.assign(x=np.where(data["id"] == 5, 99.0, data["x"]))
    with pytest.raises(DataError) as caught:
        matrix(design, new)
    assert "df=4" in str(caught.value)
    assert "upper_bound" in str(caught.value)


def test_functions_of_the_users_own(data):
    own = {
        "f": lambda x, by=1: x / by,
        "two": lambda x: np.column_stack([x, x**2]),
        "cut": lambda x: pd.cut(x, [-np.inf, 1.5, 3, np.inf], labels=["low", "mid", "high"]),
        "big": lambda x: x > 2,
    }
    found, x = build("y ~ f(x, by=2) + two(z) + cut(x) + big(x) + log(f(x)) + C(big(x))", data, functions=own)
    assert found == (
        "f(x, by=2)", "two(z)[0]", "two(z)[1]", "cut(x)[T.mid]", "cut(x)[T.high]", "big(x)", "log(f(x))",
        "C(big(x))[T.1.0]",
    )  # fmt: skip
    v, z = data["x"], data["z"]
    expected = [v / 2, z, z**2, (v > 1.5) & (v <= 3), v > 3, v > 2, np.log(v), v > 2]
    np.testing.assert_allclose(x.T, np.array(expected, dtype=float))


@pytest.mark.parametrize(
    ("own", "match"),
    [
        ({"log": np.log}, "redefine log"),
        ({"np": np.log}, "redefine np"),
        ({"a b": np.log}, "Rename"),
        ({"__f": np.log}, "Rename"),
        ({"f": 3}, "not a function"),
        ({"f": lambda x: 1 / 0}, "ZeroDivisionError"),
        ({"f": lambda x: x[:3]}, "24 rows"),
        ({"f": lambda x: 1.0}, "24 rows"),
        ({"f": lambda x: x.astype(complex)}, "complex"),
        ({"f": lambda x: np.zeros((24, 2, 2))}, "24 rows"),
        ({}, "Unknown function"),
    ],
)
def test_functions_that_cannot_be_used(own, match, data):
    with pytest.raises(FormulaError, match=match):
        build("y ~ f(x) + z", data, functions=own)


def test_functions_are_given_again(data):
    design, _ = resolve_formula("y ~ f(x)", Table(data), functions={"f": np.sqrt})
    assert design.functions == ("f",)
    with pytest.raises(FormulaError) as caught:
        matrix(design, data)
    assert "f()" in str(caught.value)


# Plain data -----------------------------------------------------------------------------------------------

ROUND = [
    "y ~ x + z",
    "y ~ .",
    "y ~ . - id - flag",
    "y ~ bs(x, df=5) + poly(z, 3)*g + center(w):h",
    "y ~ cr(x, df=4, constraints='center') + standardize(log(x))",
    "y ~ C(g, Sum)*h + C(id)",
    "log(x) ~ z:flag + C(g, Treatment('w'))",
    "`y` ~ I(x^2) + `z`",
]


@pytest.mark.filterwarnings("ignore::discrim.errors.LabelWarning")
@pytest.mark.parametrize("formula", ROUND)
def test_a_design_pickles_and_is_json(formula, data):
    design, codes = resolve_formula(formula, Table(data))
    again = Design.from_dict(json.loads(json.dumps(design.to_dict(), allow_nan=False)))
    thawed = pickle.loads(pickle.dumps(design))
    assert again == design == thawed
    assert hash(again) == hash(design)
    new = data.iloc[[5, 20, 1]].drop(columns=list(design.response_columns))
    expected = matrix(design, new)
    np.testing.assert_array_equal(expected, matrix(design, data)[[5, 20, 1]])
    for other in (again, thawed):
        np.testing.assert_array_equal(matrix(other, new), expected)
        np.testing.assert_array_equal(response_codes(other, Table(data)), codes)


def test_nothing_of_patsy_is_kept(data):
    design, _ = resolve_formula("y ~ bs(x, df=5) + C(g, Sum)*z", Table(data))
    assert b"patsy" not in pickle.dumps(design)


def changed(values, path, to):
    values = json.loads(json.dumps(values))
    place = values
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return values


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("formula",), 3),
        (("formula",), "x" * (MAX_TEXT + 1)),
        (("formula",), "y ~ x; z"),
        (("response",), "__import__('os')"),
        (("response",), "log(x)"),
        (("response_columns",), ["x"]),
        (("columns",), ["x"]),
        (("columns",), [1]),
        (("terms",), []),
        (("terms", 0), "C(g, Sum)[S.u]"),
        (("levels",), [["a"], "b"]),
        (("levels",), ["a", "a"]),
        (("plain",), True),
        (("plain",), 0),
        (("functions",), "f"),
        (("spec",), None),
        (("spec", "kinds"), ["numeric"]),
        (("spec", "kinds", 0), "code"),
        (("spec", "factors", 0, "code"), "__import__('os').system('true')"),
        (("spec", "factors", 0, "code"), "x.__class__"),
        (("spec", "factors", 0, "code"), "eval(x)"),
        (("spec", "factors", 0, "code"), "(" * 5000),
        (("spec", "factors", 0, "code"), 7),
        (("spec", "factors", 0, "width"), -1),
        (("spec", "factors", 0, "width"), 10**12),
        (("spec", "factors", 0, "states"), []),
        (("spec", "factors", 0, "states"), "none"),
        (("spec", "factors", 0, "states", 0, "function"), "cr"),
        (("spec", "factors", 0, "states", 0, "function"), "os.system"),
        (("spec", "factors", 0, "states", 0, "values", 0), ["degree", "x"]),
        (("spec", "factors", 0, "states", 0, "values", 0), ["extra", 1]),
        (("spec", "factors", 1, "levels"), [{}]),
        (("spec", "factors", 1, "levels"), ["u", "v"]),
        (("spec", "codings", 0), {"picks": None, "matrix": None}),
        (("spec", "codings", 0), {"picks": [99], "matrix": None}),
        (("spec", "codings", 0, "matrix"), [[1.0], [2.0, 3.0]]),
        (("spec", "codings", 0, "matrix"), [["a"]]),
        (("spec", "products"), []),
        (("spec", "products", 0), []),
        (("spec", "products", 0), [[99, -1]]),
        (("spec", "products", 0), [[-1, -1]]),
        (("spec", "products", 0), [[1, -1]]),
        (("spec", "products", 0), [[True, -1]]),
        (("spec", "products", 0), [[0, -1]] * 9),
        (("extra",), 1),
    ],
)
def test_a_saved_design_is_not_trusted(path, to, data):
    design, _ = resolve_formula("y ~ bs(x, df=5) + C(g, Sum) + h", Table(data))
    with pytest.raises(FormulaError):
        Design.from_dict(changed(design.to_dict(), path, to))


def test_parts_that_are_missing_are_refused(data):
    values = resolve_formula("y ~ log(x)", Table(data))[0].to_dict()
    for key in values:
        with pytest.raises(FormulaError) as caught:
            Design.from_dict({name: each for name, each in values.items() if name != key})
        assert "damaged" in str(caught.value)
    for other in ([], None, "text", 3):
        with pytest.raises(FormulaError) as caught:
            Design.from_dict(other)
        assert "damaged" in str(caught.value)


def test_code_is_read_back_to_itself():
    text = "y ~ log(`a b`) + `it's` + I(x^2 + `class`)"
    source = scan(text)
    assert source.restore(source.code) == text.replace("^", "**").replace("`class`", "`class`")


# Blocks and tables ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::discrim.errors.LabelWarning")
@pytest.mark.parametrize("formula", ROUND)
@pytest.mark.parametrize("size", [1, 7, 24])
def test_blocks_concatenate_to_the_design_matrix(formula, size, data):
    holed = data.copy()
    holed.loc[[4, 5], "z"] = np.nan
    holed.loc[[10], "x"] = np.nan
    design, _ = resolve_formula(formula, Table(holed))
    whole = matrix(design, holed)
    table = Table(holed)
    for order in "CF":
        out = np.empty((24, len(design.terms)), order=order)
        for start in range(0, 24, size):
            stop = min(start + size, 24)
            DesignMatrix(design, table).fill(start, stop, out[start:stop])
        np.testing.assert_array_equal(out, whole)
    strided = np.zeros((48, 2 * len(design.terms)))
    DesignMatrix(design, table).fill(0, 24, strided[::2, ::2])
    np.testing.assert_array_equal(strided[::2, ::2], whole)


@pytest.mark.parametrize(
    "formula", ["y ~ .", "y ~ . - g - h - flag", "y ~ log(x)*g + flag + C(id)", "flag ~ x:h"]
)
def test_every_kind_of_table_gives_the_same_design(formula, data):
    expected, codes = resolve_formula(formula, Table(data))
    x = matrix(expected, data)
    nullable = data.convert_dtypes()
    arrow = data.convert_dtypes(dtype_backend="pyarrow")
    for other in (nullable, arrow, pl.from_pandas(data), pa.Table.from_pandas(data), data.to_dict("list")):
        design, found = resolve_formula(formula, Table(other))
        assert (design.terms, design.levels) == (expected.terms, expected.levels)
        np.testing.assert_array_equal(found, codes)
        np.testing.assert_array_equal(matrix(design, other), x)
        np.testing.assert_array_equal(matrix(expected, other), x)


def test_an_enums_order_is_the_order_of_levels(data):
    enum = pl.from_pandas(data).with_columns(pl.col("y").cast(pl.Enum(["c", "a", "b"])))
    assert resolve_formula("y ~ x", Table(enum))[0].levels == ("c", "a", "b")


def test_inputs_are_not_written_to(data):
    before = data.copy(deep=True)
    build("y ~ bs(x, df=4)*g + I(z^2) + flag + log(x)", data)
    pd.testing.assert_frame_equal(data, before)


def test_the_size_of_the_table_does_not_matter(data):
    """Columns of more than 65,536 rows are not kept."""
    design, _ = resolve_formula("y ~ log(x)*g + z", Table(data))
    times = 70_000 // len(data) + 1
    large = pd.concat([data] * times, ignore_index=True)
    again, _ = resolve_formula("y ~ log(x)*g + z", Table(large))
    assert again == design
    np.testing.assert_array_equal(matrix(again, large), np.tile(matrix(design, data), (times, 1)))


def test_text_that_names_the_rows_warns():
    numbers = {"y": list("ab") * 10, "x": np.arange(20.0) ** 2}
    data = pd.DataFrame({**numbers, "row name": [f"r{row}" for row in range(20)]})
    seldom = pd.DataFrame({**numbers, "row name": [f"r{row // 2}" for row in range(20)]})
    with pytest.warns(LabelWarning, match="'row name'"):
        resolve_formula("y ~ .", Table(data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve_formula("y ~ . - `row name`", Table(data))
        resolve_formula("y ~ .", Table(seldom))


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
@pytest.mark.parametrize(("n", "n_levels"), [(1_000, 901), (250_000, 120_000)])
def test_text_with_almost_as_many_levels_as_rows_is_an_error(dtype, n, n_levels):
    text = pd.Series([f"r{row % n_levels}" for row in range(n)], dtype=dtype)
    data = pd.DataFrame({"y": np.tile(["a", "b"], n // 2), "x": np.arange(n), "free text": text})
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ .", Table(data))
    assert caught.value.columns == ("free text",)
    assert ". - `free text`" in caught.value.hint
    with pytest.raises(FormulaError) as caught:
        resolve_formula("y ~ x + `free text`", Table(data))
    assert ". -" not in caught.value.hint
    resolve_formula("y ~ . - `free text`", Table(data))


@pytest.mark.parametrize("dtype", ["str", "object"])
@pytest.mark.parametrize("n", [1_500, 250_000])
def test_numbers_as_text_are_not_mistaken_for_free_text(dtype, n):
    price = pd.Series([str(1_000 + row) for row in range(n)], dtype=dtype)
    price[700] = "?"
    price[3] = None
    data = pd.DataFrame({"y": np.tile(["a", "b"], n // 2), "x": np.arange(n), "price": price})
    data.index += 10
    with pytest.raises(DataError) as caught:
        resolve_formula("y ~ .", Table(data))
    assert (caught.value.columns, caught.value.rows) == (("price",), (710,))
    assert "'?'" in caught.value.message
    assert "to_numeric" in caught.value.hint


@pytest.mark.parametrize("n", [1_500, 250_000])
def test_numbers_as_text_in_a_file_are_not_mistaken_for_free_text(n, tmp_path):
    price = pd.Series([str(1_000 + row) for row in range(n)], dtype=object)
    price[700] = "?"
    data = pd.DataFrame({"y": np.tile(["a", "b"], n // 2), "x": np.arange(n) % 7, "price": price})
    data.to_csv(tmp_path / "prices.csv", index=False)
    for source in (
        tmp_path / "prices.csv",
        lambda: (data[start : start + n // 5] for start in range(0, n, n // 5)),
    ):
        with pytest.raises(DataError) as caught:
            lda("y ~ .", source)
        assert caught.value.columns == ("price",)
        assert "to_numeric" in caught.value.hint


def test_a_tenth_of_repeated_texts_is_no_error():
    text = [f"r{row % 900}" for row in range(1_000)]
    data = pd.DataFrame({"y": ["a", "b"] * 500, "x": np.arange(1_000), "text": text})
    with pytest.warns(LabelWarning, match="'text'"):
        resolve_formula("y ~ .", Table(data))


# ------------------------------------------------------------------ columns and matrices in arithmetic


@pytest.mark.parametrize("n", [4, 24])
@pytest.mark.parametrize(
    ("formula", "by_hand"),
    [
        ("I(x + poly(z, 1))", lambda x, one, many: x[:, None] + one),
        ("I(poly(z, 1) * x)", lambda x, one, many: one * x[:, None]),
        ("I(poly(z, 1) - poly(z, 3, raw=True))", lambda x, one, many: one - many),
        ("I(x * poly(z, 3, raw=True))", lambda x, one, many: x[:, None] * many),
        ("I(2 - poly(z, 3, raw=True) / x)", lambda x, one, many: 2 - many / x[:, None]),
        ("I(-x + 2 * poly(z, 3, raw=True) ** 2)", lambda x, one, many: 2 * many**2 - x[:, None]),
        ("center(x + poly(z, 3, raw=True))", lambda x, one, many: (a := x[:, None] + many) - a.mean(axis=0)),
    ],
)
def test_columns_are_combined_with_each_column_of_a_matrix(n, formula, by_hand, data):
    """With as many rows as columns NumPy would pair rows with columns, and with one column make n of it."""
    some = data.head(n)
    x, z = some["x"].to_numpy(), some["z"].to_numpy()
    _, one = build("y ~ poly(z, 1)", some)
    many = np.column_stack([z, z**2, z**3])
    expected = by_hand(x, one, many)
    names, found = build(f"y ~ {formula}", some)
    assert len(names) == expected.shape[1]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_matrices_of_different_widths_raise_with_a_hint(data):
    with pytest.raises(FormulaError) as caught:
        build("y ~ I(poly(x, 2) + bs(z, df=4))", data)
    assert "matrix" in str(caught.value)
    assert "poly" in str(caught.value)
    assert len(terms("y ~ poly(x, 2):bs(z, df=4)", data)) == 8
    for operator in ("+", "-", "*", "/", "//", "%", "**"):
        with pytest.raises(FormulaError) as caught:
            build(f"y ~ I(poly(x, 2) {operator} poly(z, 3))", data)
        assert "matrix" in str(caught.value)
