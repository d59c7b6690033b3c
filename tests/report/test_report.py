"""Tables and pictures: what is shown, in every format, of ordinary and of unruly input."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discrim import lda, qda
from discrim.datasets import load_iris, load_wine
from discrim.errors import DataError
from discrim.report.numbers import (
    clean,
    column_texts,
    display_width,
    fold,
    p_text,
    point_aligned,
    short_labels,
    shorten,
)
from discrim.report.pictures import log_determinants as determinants
from discrim.report.pictures import regions as plane
from discrim.report.pictures import scores as space
from discrim.report.pictures.biplot import biplot
from discrim.report.tables import Pairs, Section, Summary, summarize

mpl.use("Agg")

IRIS = load_iris()
SUMMARY = lda("species ~ .", IRIS).summary()
HOSTILE = "<script>alert(1)</script> & | $x_1$ \\end{tabular} `a` *b* {c} #1 100% ~ ^ \"q\" 'r'"
NAMES = {
    "plain": str,
    "sixty": lambda j: f"a rather long label of sixty characters, give or take, number {j}",
    "cyrillic": lambda j: f"длина {j}",
    "greek": lambda j: f"μήκος σεπάλου {j}",
    "chinese": lambda j: f"花弁の長さ{j}",
    "combining": lambda j: f"e\u0301tamine {j}",
    "control": lambda j: f"bell\x07 tab\t\u202e {j}",
}
LABELS = st.text(max_size=70)


def table(n: int, p: int, name=str) -> pd.DataFrame:
    rng = np.random.default_rng(n + p)
    return pd.DataFrame(
        rng.standard_normal((n, p)), index=[name(i) for i in range(n)], columns=[name(j) for j in range(p)]
    )


def shown(part: pd.DataFrame, **options) -> list[str]:
    """Lines of a section without the summary's frame and the section's title."""
    return Summary("T", {"t": Section("Things", part, **options)}).as_text().splitlines()[4:-1]


def wide_fit(p: int, k: int, name=str, verb=lda):
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(k), 4 + (2 * p // k if verb is lda else p))
    x = rng.standard_normal((len(y), p)) + rng.standard_normal((k, p))[y]
    labels = np.array([name(j) for j in range(k)], dtype=object)[y]
    return verb("y ~ .", pd.DataFrame(x, columns=[name(j) for j in range(p)]).assign(y=labels))


# ---- numbers and labels


@pytest.mark.parametrize(
    ("values", "form", "texts"),
    [
        ([13.4558634, -7.84595831, 0.0], "general", ["13.456", "-7.846", "0.000"]),
        ([5.006, 5.936, 6.5], "general", ["5.006", "5.936", "6.500"]),
        ([1.0, np.nan, np.inf, -np.inf], "general", ["1", "nan", "inf", "-inf"]),
        ([-1e-9, 1.0], "share", ["-1.0e-09", "1.0000"]),
        ([-0.0, 0.25], "general", ["0.00", "0.25"]),
        ([2.65008e-19, 9.2721e-20, 0.0], "general", ["2.6501e-19", "9.2721e-20", "0.0000e+00"]),
        ([1.5e120, 2.25e-7], "general", ["1.50e+120", "2.25e-007"]),
        ([3.0, 12.0], "count", ["3", "12"]),
        ([3.5, 12.0], "count", ["3.5", "12.0"]),
        ([-12.346, 0.004], "z", ["-12.35", "0.00"]),
        ([1e12], "z", ["1e+12"]),
        ([0.33333, 0.0, 1e-300], "share", ["0.3333", "0.0000", "1.0e-300"]),
        ([0.0121, 0.0009, 0.0], "p", ["0.012", "<0.001", "<0.001"]),
        ([0.0121, 7.31e-22, 0.0, np.nan], "tail", ["0.0121", "7.3e-22", "<1e-300", "nan"]),
        (["a\nb", None, pd.NA, np.nan, 3], "text", ["a\\nb", "", "", "", "3"]),
        ([], "general", []),
    ],
)
def test_texts_of_columns_by_hand(values, form, texts):
    assert column_texts(values, form) == texts


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_shown_numbers_are_the_numbers_within_their_digits(values):
    texts = column_texts(values, "general")
    for value, text in zip(values, texts, strict=True):
        digits = len(text.split("e")[0].partition(".")[2])
        exponent = int(text.split("e")[1]) if "e" in text else 0
        assert abs(float(text) - value) <= 0.5001 * 10.0 ** (exponent - digits)
        assert not text.startswith("-") or float(text) != 0
        assert value == 0 or float(text) != 0
    assert len({len(text.partition(".")[2]) for text in texts}) == 1


@settings(deadline=None)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6), st.integers(0, 3))
def test_no_number_shows_more_digits_than_it_has(integers, decimals):
    texts = column_texts([i / 10**decimals for i in integers], "general")
    assert all("e" in text or len(text.partition(".")[2]) <= decimals for text in texts)


@settings(deadline=None)
@given(st.floats(0, 1))
def test_a_p_value_is_never_zero(p):
    assert float(p_text(p).lstrip("<")) > 0
    (short,) = column_texts([p], "p")
    assert short == "<0.001" or float(short) > 0


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.decimals(-999, 999, places=None, allow_nan=False), min_size=1, max_size=5))
def test_points_come_to_stand_under_one_another(numbers):
    texts = [f"{number:f}" for number in numbers]
    aligned = point_aligned(texts)
    assert [text.rstrip() for text in aligned] == texts
    assert len({len(text) - (text.find(".") if "." in text else len(text.rstrip())) for text in aligned}) == 1


@settings(deadline=None)
@given(st.text(max_size=80))
def test_labels_become_one_printable_line_of_bounded_width(label):
    text = clean(label)
    assert text.replace("\N{NO-BREAK SPACE}", "").isprintable() or any(c.isspace() for c in text)
    assert text.splitlines() in ([text], [])
    assert display_width(shorten(text, 28)) <= 28


@settings(deadline=None)
@given(st.lists(LABELS, max_size=8))
def test_labels_that_differ_are_told_apart(labels):
    texts = short_labels(labels)
    assert len(set(texts)) == len({clean(label) for label in labels})
    assert all(display_width(text) <= 46 for text in texts)


def test_labels_that_differ_only_where_they_are_cut():
    before, after = "x" * 30 + " before " + "y" * 30, "x" * 30 + " after " + "y" * 30
    first, second, again = short_labels([before, after, before])
    assert first != second
    assert first.endswith("yy~1")
    assert again.endswith("yy~3")


@settings(deadline=None)
@given(st.text(st.sampled_from("ab 花e\u0301"), max_size=120), st.integers(2, 20))
def test_folding_keeps_the_text_and_the_width(text, width):
    lines = fold(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


# ---- text


def test_a_small_table_as_it_should_stand():
    part = pd.DataFrame({"a": [1.0, -20.5], "n": [3, 12]}, index=["first", "second"])
    summary = Summary("T", {"t": Section("Things", part, {"a": "z", "n": "count"}, note="Of note.")})
    assert summary.as_text().splitlines() == [
        "==================",
        "        T",
        "------------------",
        "Things",
        "             a   n",
        "first     1.00   3",
        "second  -20.50  12",
        "Of note.",
        "==================",
    ]
    assert summary.as_markdown().splitlines()[4:8] == [
        "|  | a | n |",
        "| :-- | --: | --: |",
        "| first | 1.00 | 3 |",
        "| second | -20.50 | 12 |",
    ]


def test_a_header_as_it_should_stand():
    pairs = Pairs("y ~ .", [("Rows", 150, "150"), ("Prior", "given", "given"), ("AIC", 5.25, "5.25")])
    assert Summary("T", {"h": pairs}).as_text().splitlines()[3:-1] == [
        "y ~ .",
        "Rows     150    AIC  5.25",
        "Prior  given",
    ]
    assert pairs.table.loc["AIC", "value"] == 5.25


def test_special_rows_groups_and_triangles_as_they_should_stand():
    part = pd.DataFrame({"LD1": [-0.020072, 0.122361, 0.5692]}, index=["x", "y", "share"])
    assert shown(part, row_formats={"share": "share"}) == [
        "            LD1",
        "x      -0.02007",
        "y       0.12236",
        "share   0.5692",
    ]
    index = pd.MultiIndex.from_tuples([("one", "x"), ("one", "y"), ("two", "x")])
    assert shown(pd.DataFrame({"b": [1, 2, 3]}, index=index)) == [
        "     b",
        "one",
        "  x  1",
        "  y  2",
        "two",
        "  x  3",
    ]
    square = pd.DataFrame([[2.5, 0.25], [0.25, 1.0]], index=["x", "y"], columns=["x", "y"])
    assert shown(square, triangle=True, shared=True) == ["      x     y", "x  2.50  0.25", "y        1.00"]
    assert shown(square) == ["      x     y", "x  2.50  0.25", "y  0.25  1.00"]


def test_iris_reads_as_was_asked_for():
    """Lines of the layout that was proposed, whose figures were made elsewhere."""
    wanted = """
        setosa        0.3333     50
        setosa               5.006        3.428         1.462        0.246
        versicolor           5.936        2.770         4.260        1.326
        virginica            6.588        2.974         5.552        2.026
        sepal_length       0.26501      0.09272       0.16751      0.03840
        sepal_width                     0.11539       0.05524      0.03271
        petal_length                                  0.18519      0.04267
        petal_width                                                0.04188
        Share of trace  0.9912   0.0088
        sepal_length    -7.846     2.735   -2.87    0.004   -13.207    -2.485
        sepal_width    -16.515     3.336   -4.95   <0.001   -23.053    -9.978
        Likelihood ratio             149.66          20    7.3e-22
        Box's M, chi-square          140.94          20    3.4e-20
        Box's M, F                     7.05   20  77567    3.6e-20
    """
    lines = [line.split() for line in SUMMARY.as_text().splitlines()]
    for line in wanted.strip().splitlines():
        assert line.split() in lines
    assert ["Log-likelihood", "-263.20", "AIC", "574.41"] in lines
    assert ["F(8,", "288)", "199.15", "Error,", "apparent", "2.0", "%", "(3/150)"] in lines


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(("p", "k"), [(1, 2), (5, 3), (30, 12)])
def test_text_lines_up_within_a_hundred_columns(name, p, k):
    text = wide_fit(p, k, name).summary().as_text()
    assert max(map(display_width, text.splitlines())) <= 100
    lines = shown(table(4, 2, name), formats="share")
    dots = [
        tuple(display_width(line[: m.start()]) for m in re.finditer(r"\.\d{4}(?=\s|$)", line))
        for line in lines[1:]
    ]
    assert len(set(dots)) == 1
    assert len(dots[0]) == 2


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(LABELS, min_size=1, max_size=5), st.lists(LABELS, min_size=1, max_size=5))
def test_any_labels_and_numbers_in_every_format(data, rows, columns):
    numbers = data.draw(
        st.lists(
            st.lists(st.floats(), min_size=len(columns), max_size=len(columns)),
            min_size=len(rows),
            max_size=len(rows),
        )
    )
    title = data.draw(st.text(max_size=150))
    part = Section(title, pd.DataFrame(numbers, index=rows, columns=columns), note=title)
    summary = Summary(title, {"h": Pairs(title, [(title, title, title)] * 3), "t": part})
    text = summary.as_text()
    assert max(map(display_width, text.split("\n"))) <= 100
    in_html, in_markdown = html_cells(summary), markdown_cells(summary)
    assert in_html == in_markdown
    assert [len(rows) for rows in latex_rows(summary)] == [len(rows) for rows in in_html]
    for columns_of, wanted in zip(latex_rows(summary), in_html, strict=True):
        assert {*columns_of} == {len(row) for row in wanted}


def test_a_long_title_and_a_long_formula_are_folded():
    formula = "y ~ " + " + ".join(f"column_{j}" for j in range(2_000))
    summary = Summary("LDA: " + formula, {"h": Pairs(formula, [("x" * 90, 1, "y" * 90), ("b", 2, "2")])})
    lines = summary.as_text().splitlines()
    assert max(map(len, lines)) == 100
    assert sum("column_1999" in line for line in lines) == 2
    assert "…" in summary.as_text()


def test_wide_and_tall_tables_say_what_they_leave_out():
    text = Summary("T", {"m": Section("Means", table(100, 200), source="fit.means")}).as_text()
    assert "32 of 100 rows and 20 of 200 columns shown; all of them: fit.means." in text
    assert max(map(display_width, text.splitlines())) <= 100
    assert len(text.splitlines()) < 120
    full = Summary("T", {"m": Section("Means", table(40, 24))}).as_text()
    assert "shown" not in full
    assert "…" not in full


def test_a_cut_triangle_shows_every_entry_above_its_diagonal():
    """Entry (i, j) is written as 100 i + j, so that each can be found."""
    i, j = np.minimum(*np.mgrid[:60, :60]), np.maximum(*np.mgrid[:60, :60])
    square = pd.DataFrame(100.0 * i + j).rename(index=str, columns=str)
    summary = Summary("T", {"c": Section("Covariance", square, triangle=True)})
    kept = [*range(16), *range(56, 60)]
    wanted = {str(100 * a + b) for a in kept for b in kept if a <= b}
    (cells,) = html_cells(summary)
    assert {c for row in cells[1:] for c in row[1:]} == wanted | {"", "…"}
    # The gap is above the diagonal in the header and in the first sixteen rows only.
    assert [row[17] for row in cells] == ["…"] * 17 + [""] * 5
    counted = re.findall(r"(?<=\s)\d+(?=\s|$)", "\n".join(line[2:] for line in summary.as_text().split("\n")))
    assert wanted <= set(counted)


def test_groups_that_are_cut_say_so():
    index = pd.MultiIndex.from_product([["a", "b"], [f"x{j}" for j in range(50)]])
    lines = shown(pd.DataFrame({"v": range(100)}, index=index), source="fit.log_odds()")
    at = lines.index("…")
    assert lines[at - 1].split() == ["x23", "23"]
    assert lines[at + 1] == "b"
    assert lines[at + 2].split() == ["x42", "92"]
    assert lines[-1] == "32 of 100 rows shown; all of them: fit.log_odds()."


@pytest.mark.parametrize(
    "part", [pd.DataFrame(), pd.DataFrame(index=["a", "b"]), pd.DataFrame(columns=["a", "b"])]
)
def test_an_empty_table_has_its_note_only(part):
    assert shown(part, note="Not tested.") == ["Not tested."]
    assert shown(part) == ["Nothing to show."]
    summary = Summary("T", {"t": Section("Things", part)})
    assert "<table" not in summary.as_html()
    assert "tabular" not in summary.as_latex()
    assert "|" not in summary.as_markdown()
    assert Summary("T", {}).as_text().splitlines() == ["=", "T", "-", "="]


def test_labels_twice_over_keep_their_numbers():
    part = pd.DataFrame([[1, 2], [3, 4]], index=["a", "a"], columns=["b", "b"])
    assert shown(part) == ["   b  b", "a  1  2", "a  3  4"]


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("verb", [lda, qda])
def test_other_units_stay_readable(unit, verb):
    data = IRIS.copy()
    data[data.columns[:4]] *= unit
    text = verb("species ~ .", data).summary().as_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "0.00000" not in text
    assert not re.search(r"\d{9}", text)
    means = next(line for line in text.splitlines() if line.startswith("setosa") and "5.006" in line)
    wanted = [5.006 * unit, 3.428 * unit, 1.462 * unit, 0.246 * unit]
    assert [float(x) for x in means.split()[1:]] == pytest.approx(wanted, rel=1e-14)


# ---- the sections of a fit


def test_the_sections_of_lda_stand_in_their_order():
    keys = "header classes means covariance discriminants functions log_odds equal_covariances"
    assert list(SUMMARY.tables) == keys.split()
    picked = lda("species ~ .", IRIS).summary(sections=["means", "classes"])
    assert list(picked.tables) == ["means", "classes"]
    with pytest.raises(DataError, match="header, classes"):
        lda("species ~ .", IRIS).summary(["nothing"])


def test_only_what_is_picked_is_computed():
    def never():
        raise AssertionError("computed")

    summary = summarize("T", {"a": lambda: Pairs("f", [("x", 1, "1")]), "b": never}, ["a"])
    assert list(summary.tables) == ["a"]


def test_tables_hold_full_precision():
    fit = lda("species ~ .", IRIS)
    pd.testing.assert_frame_equal(SUMMARY.tables["covariance"], fit.cov)
    assert SUMMARY.tables["header"].loc["Log-likelihood", "value"] == fit.llf


def test_repr_is_short_and_qda_lists_its_covariances():
    assert len(repr(lda("species ~ .", IRIS)).splitlines()) < 30
    keys = list(qda("species ~ .", IRIS).summary().tables)
    assert [key for key in keys if key.startswith("covariance")] == [
        "covariance setosa",
        "covariance versicolor",
        "covariance virginica",
    ]


# ---- HTML, LaTeX, Markdown


class Page(HTMLParser):
    """Cells of the tables of a page whose tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def html_cells(summary: Summary) -> list[list[list[str]]]:
    return [[[c.strip() for c in row] for row in rows] for rows in Page(summary.as_html()).tables]


def markdown_cells(summary: Summary) -> list[list[list[str]]]:
    tables: list[list[list[str]]] = []
    before = ""
    for line in summary.as_markdown().split("\n"):
        if line.startswith("| "):
            if not before.startswith("| "):
                tables.append([])
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            tables[-1].append([unescape(re.sub(r"\\(.)", r"\1", c)).strip() for c in cells])
        before = line
    assert all(row[1] == [":--", *row[1][1:]] for row in tables)
    # The header's table has no names of columns, which Markdown cannot leave out.
    has_header = isinstance(next(iter(summary._parts.values())), Pairs)
    return [rows[2:] if i == 0 and has_header else [rows[0], *rows[2:]] for i, rows in enumerate(tables)]


def latex_rows(summary: Summary) -> list[list[int]]:
    """Cells in each row of each tabular."""
    text = summary.as_latex()
    bare = re.sub(r"\\[&%$#_{}\\`]", "", text)
    assert not re.search(r"[%$#_^~\"`<>|]", bare)
    assert bare.count("{") == bare.count("}")
    bodies = re.findall(r"\\begin{tabular}{[lr]+}\n\\toprule\n(.*?)\\bottomrule\n\\end{tabular}", text, re.S)
    assert len(bodies) == text.count(r"\begin{tabular}") == text.count(r"\end{tabular}")
    rows = [[line for line in body.splitlines() if line != r"\midrule"] for body in bodies]
    assert all(line.endswith(r"\\") for body in rows for line in body)
    assert not any(line.lstrip().startswith(("[", "*")) for body in rows for line in body)
    return [[1 + len(re.findall(r"(?<!\\)&", line)) for line in body] for body in rows]


def hostile_summary() -> Summary:
    part = pd.DataFrame({HOSTILE: [1.5]}, index=[HOSTILE])
    pairs = Pairs(HOSTILE, [(HOSTILE, 1, HOSTILE), ("label", 1, "1")])
    return Summary(HOSTILE, {"h": pairs, "t": Section(HOSTILE, part, note=HOSTILE)})


def test_every_format_shows_the_same_cells():
    in_html = html_cells(SUMMARY)
    assert in_html == markdown_cells(SUMMARY)
    assert latex_rows(SUMMARY) == [[len(row) for row in rows] for rows in in_html]
    text = SUMMARY.as_text()
    for rows in in_html[1:]:
        for row in rows:
            assert re.search(r"\s+".join(map(re.escape, filter(None, row))), text)


def test_html_is_balanced_and_escaped():
    page = Page(hostile_summary().as_html())
    assert page.tags == {"div", "style", "h3", "h4", "table", "tr", "td", "th", "p", "small"}
    assert page.tables[1][1][0].startswith("<script>")
    assert page.tables[1][1][1] == "1.5"


def test_latex_is_one_tabular_a_section_with_its_specials_escaped():
    assert latex_rows(hostile_summary()) == [[4], [2, 2]]
    text = Summary("T", {"m": Section("Means", table(100, 200))}).as_latex()
    assert text.count(r"\begin{tabular}") == 1


def test_markdown_keeps_hostile_labels_in_their_cells():
    first, second = markdown_cells(hostile_summary())
    assert [len(row) for row in [*first, *second]] == [4, 2, 2]
    assert "<script>" not in hostile_summary().as_markdown().replace("\\<", "")


# ---- pictures

MARKED = [r"$x_1$", r"$\nosuch{$", "_hidden", "100 % & #1", "a\nb", "花弁", "x" * 60]


def drawn(axes):
    """The axes, once drawn; a label taken for mathematics would raise."""
    axes.figure.canvas.draw()
    plt.close("all")
    return axes


def points(collection) -> np.ndarray:
    return np.asarray(collection.get_offsets())


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("p", [1, 3])
def test_labels_are_shown_and_not_typeset(p):
    axes = drawn(wide_fit(p, len(MARKED), MARKED.__getitem__).plot())
    texts = [text.get_text().lstrip("\u200a").replace(r"\$", "$") for text in axes.get_legend().get_texts()]
    assert texts == [shorten(clean(label), 30) for label in sorted(MARKED)]
    assert axes.get_xlabel() == "LD1"


@pytest.mark.parametrize(("p", "k"), [(3, 2), (3, 40), (1, 40), (3, 100)])
def test_many_classes_have_no_legend(p, k):
    axes = drawn(wide_fit(p, k).plot())
    assert (axes.get_legend() is None) == (k > 12)
    labels = [*axes.texts, *axes.get_yticklabels()] if k > 12 else axes.get_legend().get_texts()
    assert {str(j) for j in range(k)} <= {text.get_text() for text in labels}


def test_scores_draws_the_rows_that_have_a_class_and_scores():
    scores = pd.DataFrame({"LD1": [0.0, 1, 2, np.nan], "LD2": [3.0, 4, 5, 6]}, index=list("wxyz"))
    labels = pd.Series(["a", None, "b", "b"], index=list("wxyz"), dtype="string")
    centroids = pd.DataFrame({"LD1": [0.0, 2], "LD2": [3.0, 5]}, index=["a", "b"])
    axes = drawn(space.scores(scores, labels, centroids))
    first, second = (points(c)[np.isfinite(points(c)).all(axis=1)] for c in axes.collections[:2])
    assert first.tolist() == [[0, 3]]
    assert second.tolist() == [[2, 5]]
    one = drawn(space.scores(scores[["LD1"]], labels, centroids[["LD1"]]))
    assert sum(p.get_path().vertices[:, 1].max() for p in one.patches) == 2
    none = drawn(space.scores(scores[[]], labels, centroids[[]]))
    assert "no discriminant" in none.get_title()


def test_a_histogram_counts_each_row_once():
    two = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
    axes = drawn(lda("species ~ .", two).plot())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["versicolor", "virginica"]
    for patch in axes.patches:
        x, y = patch.get_path().vertices.T
        (width,) = np.unique(np.diff(np.unique(x.round(9))).round(6))
        area = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        assert area / width == pytest.approx(50, rel=1e-5)


def test_regions_are_those_of_the_rule():
    fit = qda("species ~ petal_length + sepal_width", IRIS)
    axes = drawn(fit.plot())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("petal_length", "sepal_width")
    mesh = axes.collections[0]
    corners = mesh.get_coordinates()
    places = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    some = places[::40, ::40].reshape(-1, 2)
    wanted = fit.predict(pd.DataFrame(some, columns=["petal_length", "sepal_width"]))
    codes = np.asarray(mesh.get_array()).reshape(240, 240)[::40, ::40].ravel()
    assert [fit.classes[k] for k in codes] == wanted.tolist()
    rows = [len(points(c)) for c in axes.collections[-3:]]
    assert rows == [50, 50, 50]


def test_regions_without_a_prediction_stay_white_and_keep_the_order_of_the_levels():
    frame = pd.DataFrame({"u": [1.0, 2, np.nan], "v": [0.0, 1, 2]})
    labels = pd.Series(pd.Categorical(["low", "high", "low"], categories=["low", "high"]))
    axes = drawn(plane.regions(lambda d: d["u"].map(lambda u: "low" if u < 1.5 else None), frame, labels))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["low", "high"]
    assert np.ma.getmaskarray(axes.collections[0].get_array()).mean() == 0.5
    with pytest.raises(DataError, match="'u' and 'v'"):
        plane.regions(lambda d: d["u"], frame.iloc[2:], labels.iloc[2:])


def test_posteriors_ring_the_rows_that_are_misclassified():
    fit = qda("species ~ .", IRIS)
    axes = drawn(fit.plot())
    assert [label.get_text() for label in axes.get_yticklabels()] == list(fit.classes)
    confusion = fit.confusion().to_numpy()
    assert [len(points(c)) for c in axes.collections[::2]] == confusion.sum(axis=1).tolist()
    wrong = (confusion.sum(axis=1) - np.diag(confusion)).tolist()
    assert [len(points(c)) for c in axes.collections[1::2]] == wrong
    assert sum(wrong) == 3


def test_pictures_are_drawn_where_they_are_asked_for():
    figure, given = plt.subplots(1, 2)
    assert lda("species ~ .", IRIS).plot(ax=given[0]) is given[0]
    assert wide_fit(1, 100).plot(ax=given[1]) is given[1]
    ticks = [label.get_text() for label in drawn(given[1]).get_yticklabels()]
    assert 10 < len(ticks) < 50
    assert figure.axes == list(given)


def test_sixty_four_classes_have_sixty_four_signs():
    axes = wide_fit(3, 64).plot()
    signs = {
        (tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in drawn(axes).collections
    }
    assert len(signs) == 64


# ---- the biplot and the log-determinants

STRUCTURE = pd.DataFrame(
    {"LD1": [0.8, -0.3, 0.0], "LD2": [0.1, 0.6, -0.2]}, index=["first", "second", "third"]
)


def few(axes: int, rows=(9, 4)):
    """Scores, labels, centroids and counts of two classes of so many rows, for a biplot."""
    labels = pd.Series(np.repeat(["a", "b"], rows))
    draws = np.random.default_rng(0).standard_normal((len(labels), axes))
    scores = pd.DataFrame(draws, columns=[f"LD{j + 1}" for j in range(axes)])
    return scores, labels, scores.groupby(labels).mean(), labels.value_counts().sort_index()


def arrows(axes) -> np.ndarray:
    """From where to where each arrow goes, (m, 2, 2); one that has no length is among them."""
    found = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    return np.array([[text.xyann, text.xy] for text in found])


def boxes(axes, texts) -> np.ndarray:
    """Left, bottom, right and top of texts in the picture, in pixels."""
    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()
    return np.array([mpl.text.Text.get_window_extent(text, renderer).extents for text in texts])


def overlaps(extents: np.ndarray) -> int:
    """Pairs of boxes that have more than a pixel in common, both ways."""
    low = np.maximum(extents[:, None, :2], extents[None, :, :2])
    high = np.minimum(extents[:, None, 2:], extents[None, :, 2:])
    return int(np.triu((high - low > 1).all(axis=2), 1).sum())


def test_circles_hold_the_class_means_at_95_percent():
    scores, labels, centroids, counts = few(2, (9, 4))
    axes = drawn(biplot(scores, labels, centroids, STRUCTURE, counts))
    assert len(axes.patches) == 2
    for patch, mean, n in zip(axes.patches, centroids.to_numpy(), (9, 4), strict=True):
        away = np.hypot(*(patch.get_xy() - mean).T)
        assert away == pytest.approx(np.full(len(away), np.sqrt(stats.chi2.isf(0.05, 2) / n)), rel=1e-12)
    assert axes.get_aspect() == 1


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_arrows_are_the_structure_to_one_scale(unit):
    scores, labels, centroids, counts = few(2)
    axes = drawn(biplot(scores, labels, centroids, unit * STRUCTURE, counts))
    tails, tips = arrows(axes).swapaxes(0, 1)
    assert (tails == 0).all()
    shown = [text.get_text() for text in axes.texts if text.get_text()]
    wanted = STRUCTURE.loc[shown].to_numpy()
    factor = tips[0, 0] / wanted[0, 0]
    assert factor > 0
    assert tips == pytest.approx(factor * wanted, rel=1e-12, abs=1e-12)
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    assert ((low < tips) & (tips < high)).all()
    # They fill the picture: the longest is at least half as long as the farthest row is away.
    assert np.hypot(*tips.T).max() > 0.5 * np.hypot(*scores.to_numpy().T).max()


def test_arrows_without_length_are_drawn_and_said():
    scores, labels, centroids, counts = few(2)
    axes = drawn(biplot(scores, labels, centroids, 0 * STRUCTURE, counts))
    assert {text.get_text() for text in axes.texts} >= set(STRUCTURE.index)
    assert (arrows(axes) == 0).all()


@pytest.mark.parametrize("data", [IRIS, load_wine()], ids=["iris", "wine"])
def test_names_of_arrows_are_there_and_apart(data):
    response = "species" if "species" in data else "cultivar"
    axes = lda(f"{response} ~ .", data).plot("biplot")
    names = [text for text in axes.texts if text.get_text()]
    assert len(names) == data.shape[1] - 1
    assert overlaps(boxes(axes, names)) == 0
    assert overlaps(np.tile(boxes(axes, names[:1]), (2, 1))) == 1
    drawn(axes)


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("k", [2, 3, 20])
def test_names_of_arrows_are_not_typeset(k):
    y = np.repeat(np.arange(k), 12)
    x = np.random.default_rng(1).standard_normal((len(y), len(MARKED))) + y[:, None] % 5
    fit = lda("y ~ .", pd.DataFrame(x, columns=MARKED).assign(y=[f"class {j}" for j in y]))
    texts = [text.get_text().lstrip("\u200a").replace(r"\$", "$") for text in drawn(fit.plot("biplot")).texts]
    texts = [text for text in texts if text and not text.startswith("class")]
    assert len(texts) == len(MARKED)
    short = [label for label in MARKED if len(label) < 15]
    assert {clean(label) for label in short} <= set(texts)
    assert max(map(display_width, texts)) <= 30


def test_of_many_arrows_the_twenty_longest_are_named():
    scores, labels, centroids, counts = few(2)
    angle = np.arange(23) * 2.4
    lengths = np.random.default_rng(2).permutation(np.linspace(0.1, 0.9, 23))
    many = pd.DataFrame(
        lengths[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), columns=scores.columns
    )
    many.index = [f"x{j}" for j in range(23)]
    axes = drawn(biplot(scores, labels, centroids, many, counts))
    assert "20 longest of 23" in axes.get_title()
    wanted = {f"x{j}" for j in np.argsort(lengths)[3:]}
    assert {text.get_text() for text in axes.texts if text.get_text()} == wanted


def test_with_one_axis_arrows_lie_below_the_histograms():
    scores, labels, centroids, counts = few(1)
    axes = biplot(scores, labels, centroids, STRUCTURE[["LD1"]], counts)
    assert overlaps(boxes(axes, [text for text in axes.texts if text.get_text()])) == 0
    tails, tips = arrows(axes).swapaxes(0, 1)
    names = [text.get_text() for text in axes.texts if text.get_text()]
    wanted = STRUCTURE.loc[names, "LD1"].to_numpy()
    run = tips[:, 0] - tails[:, 0]
    assert run == pytest.approx(run[0] / wanted[0] * wanted, rel=1e-12, abs=1e-12)
    assert run[0] * wanted[0] > 0
    assert (tips[:, 1] == tails[:, 1]).all()
    assert len(set(tips[:, 1])) == 3
    assert axes.get_ylim()[0] < tips[:, 1].min()
    assert tips[:, 1].max() < 0
    assert axes.get_ylim()[1] >= max(patch.get_path().vertices[:, 1].max() for patch in axes.patches)
    assert min(drawn(axes).get_yticks()) >= 0


def test_without_an_axis_there_is_no_biplot():
    scores, labels, centroids, counts = few(0)
    axes = drawn(biplot(scores, labels, centroids, STRUCTURE[[]], counts))
    assert "no discriminant" in axes.get_title()


def logdets(names) -> pd.DataFrame:
    """Estimates that a picture can be checked against; the raw ones would be seen off the scale."""
    m = np.arange(len(names), dtype=float)
    return pd.DataFrame({"logdet": 1e6, "debiased": m, "low": m - 2, "high": m + 1}, index=names)


def test_log_determinants_are_drawn_with_their_intervals():
    axes = drawn(determinants.log_determinants(logdets(["a", "$b$", "pooled", "pooled"])))
    *lines, dashed = axes.lines
    assert [line.get_xydata().tolist() for line in lines] == [[[i - 2, i], [i + 1, i]] for i in range(4)]
    assert [points(c).tolist() for c in axes.collections] == [[[i, i]] for i in range(4)]
    # A class may be called "pooled" too: the covariance within classes is the last line.
    assert set(dashed.get_xdata()) == {3}
    assert dashed.get_linestyle() == "--"
    signs = [c.get_paths()[0].vertices.tobytes() for c in axes.collections]
    assert signs[0] == signs[1] == signs[2] != signs[3]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", r"\$b\$", "pooled", "pooled"]
    assert axes.yaxis_inverted()


@pytest.mark.parametrize("k", [3, 21, 66])
def test_lines_are_named_as_far_as_there_is_room(k):
    figure, given = plt.subplots(figsize=(4, 3))
    axes = determinants.log_determinants(logdets([*(f"class {j}" for j in range(k)), "pooled"]), ax=given)
    ticks = axes.get_yticklabels()
    names = [text.get_text() for text in ticks]
    places = [text.get_position()[1] for text in ticks]
    assert names[-1] == "pooled"
    assert names[:-1] == [f"class {j}" for j in places[:-1]]
    assert places[-1] == k
    assert len(names) >= min(k + 1, 10)
    assert overlaps(boxes(axes, ticks)) == 0
    plt.close(figure)


def test_neither_makes_a_figure_where_axes_are_given():
    figure, given = plt.subplots(1, 3)
    before = plt.get_fignums()
    wanted = [given[0], given[1], given[2]]
    one, two = few(1), few(2)
    got = [
        biplot(*two[:3], STRUCTURE, two[3], ax=given[0]),
        biplot(*one[:3], STRUCTURE[["LD1"]], one[3], ax=given[1]),
        determinants.log_determinants(logdets(["a", "pooled"]), ax=given[2]),
    ]
    assert all(a is b for a, b in zip(got, wanted, strict=True))
    assert plt.get_fignums() == before
    assert figure.axes == wanted
    drawn(given[0])


def test_with_one_axis_and_many_classes_arrows_lie_below_the_strips():
    axes = wide_fit(1, 20).plot("biplot")
    boxes(axes, [])
    bottom, top = axes.get_ylim()
    tips = arrows(axes)[:, 1]
    # Lines of classes 0, 1, ..., 19 count from the top down.
    assert top < 0
    assert (tips[:, 1] > 19.5).all()
    assert (tips[:, 1] < bottom).all()
    assert len(drawn(axes).get_yticklabels()) == 20


@pytest.mark.parametrize("k", [2, 3])
def test_long_names_of_arrows_stay_near_the_axes(k):
    axes = wide_fit(6, k, NAMES["sixty"]).plot("biplot")
    extents = boxes(axes, [text for text in axes.texts if text.get_text()])
    frame = axes.get_window_extent().extents
    slack = 0.05 * (frame[2] - frame[0])
    assert (extents[:, 0] > frame[0] - slack).all()
    assert (extents[:, 2] < frame[2] + slack).all()
    title = boxes(axes, [axes.title])[0]
    assert title[0] >= 0
    assert title[2] <= axes.figure.bbox.width
    drawn(axes)
