"""Calls with literal arguments: what they read to, and hostile text."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim.errors import FormulaError
from discrim.formula.calls import MAX_CALL_TEXT, LiteralCall, read_call, read_calls


@pytest.mark.parametrize(
    ("text", "name", "args", "kwargs"),
    [
        ("shrunk", "shrunk", (), {}),
        (" shrunk ( ) ", "shrunk", (), {}),
        ("shrunk(0.1)", "shrunk", (0.1,), {}),
        ("t(nu=None, scatter='scale')", "t", (), {"nu": None, "scatter": "scale"}),
        ('f(-1, +2.5, "a,b", True)', "f", (-1, 2.5, "a,b", True), {}),
        ("f(grid=[0, .5, 1/4], shape=(2, 3))", "f", (), {"grid": [0, 0.5, 0.25], "shape": (2, 3)}),
        ("f(d={'a': 1, 2: [3], True: None})", "f", (), {"d": {"a": 1, 2: [3], True: None}}),
        ("f('\N{SNOWMAN}', x=1)", "f", ("\N{SNOWMAN}",), {"x": 1}),
    ],
)
def test_a_call_reads_to_its_name_and_literals(text, name, args, kwargs):
    call = read_call(text)
    assert (call.name, call.args, dict(call.kwargs)) == (name, args, kwargs)
    assert [type(each) for each in call.args] == [type(each) for each in args]


def test_calls_in_a_list_have_their_own_text_and_may_be_nested():
    text = "lda, qda(covariance=shrunk(0.1), prior=[1/2, 1/2]),knn(k=5)"
    calls = read_calls(text)
    assert [text[call.start : call.end] for call in calls] == [
        "lda",
        "qda(covariance=shrunk(0.1), prior=[1/2, 1/2])",
        "knn(k=5)",
    ]
    inner = calls[1].kwargs["covariance"]
    assert isinstance(inner, LiteralCall)
    assert (inner.name, inner.args) == ("shrunk", (0.1,))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", None),
        ("f(", None),
        ("f(1", None),
        ("f(x)", 3),
        ("f(a.b)", 3),
        ("a.b(1)", 1),
        ("f[0](1)", 1),
        ("f(1)(2)", 1),
        ("f(g(1))", 3),
        ("f(lambda: 0)", 3),
        ("f([x for x in y])", 3),
        ("f(f'{x}')", 3),
        ("f(b'x')", 3),
        ("f(1j)", 3),
        ("f(...)", 3),
        ("f(1 + 2)", 3),
        ("f(1 < 2)", 3),
        ("f(*[1])", 3),
        ("f(**{'a': 1})", 3),
        ("f(a=1, a=2)", 8),
        ("f((x := 1))", 4),
        ("f(1/0)", 5),
        ("f(1e999)", 3),
        ("f(1/x)", 5),
        ("f(-True)", 4),
        ("f(--1)", 4),
        ("f({**x})", 3),
        ("f({'a': 1, 'a': 2})", 12),
        ("f({[1]: 2})", 4),
        ("__import__('os')", 1),
        ("f(__class__=1)", 3),
        ("f(\N{FULLWIDTH LATIN SMALL LETTER X}=1)", 3),
        ("\N{GREEK SMALL LETTER ALPHA}(1)", 1),
        ("1", 1),
        ("'f'", 1),
        ("f(1)\n", 5),
        ("f(1) g", None),
        ("f\0(1)", 2),
        (r"f('\d')", 3),
        ("f(not 1)", 3),
        ("f(1 if 2 else 3)", 3),
        ("f(x[0])", 3),
        ("f, g", 1),
        ("f('a' 'b' 1)", None),
    ],
)
def test_invalid_calls_raise_at_their_position(text, place):
    with pytest.raises(FormulaError) as caught:
        read_call(text)
    # The places of errors of syntax are Python's own, which change with its version.
    assert place is None or f"(character {place})" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "f(" + "[" * 60 + "]" * 60 + ")",
        "f(" + "(" * 5000 + ")" * 5000 + ")",
        "f(" + "-" * 15_000 + "1)",
        "f(" + "1/" * 9_000 + "1)",
        "f(" + "{1:" * 5_000 + "1" + "}" * 5_000 + ")",
        "f(" + "9" * 10_000 + ")",
        "f(" + "g(" * 4_000 + ")" * 4_000 + ")",
        "f" * (MAX_CALL_TEXT + 1),
    ],
)
@pytest.mark.parametrize("read", [read_call, read_calls])
def test_text_beyond_a_limit_is_refused(text, read):
    with pytest.raises(FormulaError) as caught:
        read(text)
    assert len(str(caught.value)) < 2000


LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.lists(LITERALS, max_size=3), st.dictionaries(st.sampled_from(["a", "b_1", "grid"]), LITERALS))
def test_the_repr_of_literals_reads_to_the_same_values(args: list[Any], kwargs: dict[str, Any]):
    inside = [repr(each) for each in args] + [f"{name}={each!r}" for name, each in kwargs.items()]
    call = read_call(f"name({', '.join(inside)})")
    assert repr((list(call.args), dict(call.kwargs))) == repr((args, kwargs))


PIECES = st.sampled_from(
    [
        *"()[]{}'\"`,.:=-+*/\\ 0123456789eEjx_",
        "f",
        "**",
        ":=",
        "lambda",
        "__class__",
        "None",
        "True",
        "\0",
        "\n",
        "\N{SNOWMAN}",
        "if",
        "for",
        "1e999",
        "f'",
        "b'",
        "shrunk",
        "grid",
        "...",
        "#",
        "@",
        ";",
        "\ud800",
    ],
)


def is_literal(value: Any) -> bool:
    if isinstance(value, LiteralCall):
        return all(map(is_literal, [*value.args, *value.kwargs.values()]))
    if isinstance(value, dict):
        return all(map(is_literal, [*value, *value.values()]))
    if isinstance(value, list | tuple):
        return all(map(is_literal, value))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=40))
def test_any_text_reads_to_literals_or_is_refused(text: str):
    try:
        calls = read_calls(text)
    except FormulaError:
        return
    for call in calls:
        assert call.name.isidentifier()
        assert is_literal(call)
        # It is an expression of Python, of which only the parser was asked.
        assert ast.parse(text[call.start : call.end], mode="eval")
