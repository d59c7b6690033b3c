"""Displayed results are short in every format, and their tables are ordinary DataFrames."""

from __future__ import annotations

import base64
import html
import inspect
import pickle
import re
import struct
import sys
import warnings
from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim import compare, cross_validate, hausman, indicator, lda, logistic, moments, qda, stepwise
from discrim.datasets import load_iris, load_penguins
from discrim.errors import NotComparableWarning
from discrim.models.base.available import PURPOSES
from discrim.models.base.display import with_display_formats
from discrim.models.registry import MODELS
from discrim.models.selection.comparison import Comparison
from discrim.report.grid import display_width
from discrim.report.plots.points import png_of
from discrim.report.result_table import ResultTable
from tests.report.support import HOSTILE, Page

IRIS = load_iris()
PENGUINS = load_penguins().dropna()
TWO = IRIS[IRIS["species"] != "virginica"].assign(species=lambda d: d["species"].astype(str))
SEX = "sex ~ body_mass_g + bill_depth_mm"


@pytest.fixture(scope="module")
def fits():
    return lda("species ~ .", IRIS), qda("species ~ .", IRIS), logistic(SEX, PENGUINS)


@pytest.fixture(scope="module")
def results(fits):
    linear, quadratic, logit = fits
    apart = logistic("species ~ .", TWO, bias_reduction=True)
    return {
        "fit": linear,
        "box_m": linear.box_m(),
        "lr_test": discrim.lr_test(linear, quadratic),
        "wilks": linear.wilks,
        "hausman": hausman(lda(SEX, PENGUINS), logit),
        "boundary": linear.boundary("setosa", "virginica"),
        "quadratic": quadratic.quadratic("setosa", "virginica"),
        "overlap": logit.separation,
        "separation": apart.separation,
        "canonical": linear.canonical(),
        "classification": linear.assess(method="apparent").classification(),
        "cross_validate": cross_validate(linear, folds=3, seed=1),
        "stepwise": stepwise("species ~ .", IRIS),
        "moments": moments("species ~ .", IRIS),
        "optimal scoring": indicator("species ~ .", IRIS).optimal_scoring(),
    }


def test_every_result_has_a_short_text_and_html_repr(results):
    for name, result in results.items():
        lines = repr(result).splitlines()
        assert len(lines) <= 45, name
        assert max(map(display_width, lines)) <= 100, name
        assert not re.search(r"dtype|array\(|object at 0x|=Index", repr(result)), name
        page = result._repr_html_()
        Page(page)
        assert "<table" in page, name
        assert "<caption" in page, name
        assert re.search(r"text-align: right", page), name
        assert not re.search(r"<h\d| id=", page), name


def displayed_page(result):
    """Return the notebook form of a result and its PNGs; drawing may not warn or leave a figure open."""
    open_figures = plt.get_fignums()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = result._repr_html_()
    Page(page)
    assert plt.get_fignums() == open_figures
    assert len(page) < 62_000
    images = re.findall('<img src="data:image/png;base64,([^"]+)" alt="[^"]{20,}">', page)
    assert len(images) == page.count("<img")
    return page, [base64.b64decode(image) for image in images]


def displayed_pictures(result):
    return displayed_page(result)[1]


@pytest.mark.slow
def test_a_fit_shows_its_default_picture_in_a_notebook(fits, results):
    for fit in (*fits, lda(moments=moments("species ~ .", IRIS))):
        page, (picture,) = displayed_page(fit)
        # Width and height in the header of a PNG.
        width, height = struct.unpack(">II", picture[16:24])
        assert 400 < width < 800
        assert 200 < height < 600
        header = page.partition("<img")[0]
        assert header.rstrip() == fit._brief().as_html()
        assert "<img" not in repr(fit) + fit.summary()._repr_html_()
    assert all(displayed_pictures(results[name]) == [] for name in ("box_m", "cross_validate", "moments"))


@pytest.mark.slow
def test_the_size_of_a_displayed_picture_is_bounded():
    rng = np.random.default_rng(1)
    classes = np.arange(20_000) % 20
    table = pd.DataFrame(rng.normal(size=(20_000, 3)) + 2 * rng.normal(size=(20, 3))[classes])
    table = table.set_axis(["a", "b", "c"], axis=1).assign(y=classes)
    assert len(displayed_pictures(qda("y ~ .", table))) == 1
    more_classes = table.assign(y=np.arange(20_000) % 21)
    assert displayed_pictures(qda("y ~ .", more_classes)) == []


def test_a_fit_shows_only_its_header_if_the_picture_is_slow_or_cannot_be_drawn(fits, monkeypatch):
    chunks = lda("species ~ .", lambda: (IRIS[start : start + 50] for start in (0, 50, 100)))
    noise = pd.DataFrame(np.random.default_rng(1).normal(size=(150, 101))).add_prefix("x")
    wide = discrim.naive_bayes("species ~ .", noise.assign(species=IRIS["species"]))
    for fit in (chunks, wide):
        assert displayed_pictures(fit) == []
        assert fit._repr_html_() == fit._brief().as_html()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert fits[0]._repr_html_() == fits[0]._brief().as_html()


def test_a_drawing_that_fails_leaves_no_figure_open():
    own_figure = plt.figure()
    open_figures = plt.get_fignums()

    def draw():
        plt.subplots()
        raise MemoryError

    with pytest.raises(MemoryError):
        png_of(draw)
    assert plt.get_fignums() == open_figures
    plt.close(own_figure)


@pytest.mark.parametrize("model", [model for model in MODELS if model.verb != "bayes"], ids=lambda m: m.name)
def test_the_docstring_of_a_fit_lists_its_names_by_purpose(model):
    results_class = getattr(discrim, model.results)
    public = {name for name in dir(results_class) if not name.startswith("_")}
    listed = inspect.getdoc(results_class).partition("\nMethods\n-------\n")[2]
    groups = re.findall(r"^(\w+)\n((?:    .+\n?)+)", listed, re.MULTILINE)
    assert [purpose for purpose, _ in groups] == list(PURPOSES)
    assert sorted(name.strip(",") for _, names in groups for name in names.split()) == sorted(public)
    assert "predict" in dict(groups)["Prediction"]


def test_completion_lists_names_with_a_summary_of_one_line(fits):
    for fit in fits:
        for name in dir(fit):
            if name.startswith("_"):
                continue
            if name in vars(fit):
                assert re.search(rf"^{name} :", inspect.getdoc(fit), re.MULTILINE), name
                continue
            attribute = inspect.getattr_static(type(fit), name)
            doc = inspect.getdoc(getattr(attribute, "fget", None) or attribute)
            first_line, _, other_lines = doc.partition("\n")
            assert first_line.endswith("."), name
            assert not other_lines or other_lines.startswith("\n"), name


def test_a_plane_shows_its_offset_and_can_be_pickled(results):
    plane = results["boundary"]
    assert list(plane.normal.index) == list(plane.midpoint.index) == list(IRIS.columns[:4])
    assert f"{plane.offset:.6g}" in repr(plane)
    assert pickle.loads(pickle.dumps(plane)).offset == plane.offset


def test_test_repr_names_approximations_and_never_prints_p_zero(results):
    text = repr(results["box_m"])
    assert text.splitlines()[0] == "Box's M: 146.663, chi-square 140.943, df 20, p 3.35e-20"
    assert "Box's M, F" in text
    assert text.splitlines()[-1] == results["box_m"].assumes
    tiny = lda("species ~ .", load_penguins().assign(body_mass_g=lambda d: d["body_mass_g"] * 1.0))
    assert tiny.wilks.pvalue < 1e-300
    for shown in (str(tiny.wilks), repr(tiny.wilks), html.unescape(tiny.wilks._repr_html_())):
        assert "p <1e-300" in shown


def all_test_results():
    """Return one of each test that the package returns as a `TestResult`, with its distribution."""
    rows = load_penguins().dropna()
    small = logistic("sex ~ bill_depth_mm", rows)
    large = logistic("sex ~ bill_depth_mm + bill_length_mm", rows)
    linear = lda("species ~ bill_depth_mm + bill_length_mm", rows)
    quadratic = qda("species ~ bill_depth_mm + bill_length_mm", rows)
    between = lda("sex ~ bill_depth_mm + bill_length_mm", rows)
    return {
        "box_m": (linear.box_m(), "chi-square"),
        "one covariance": (discrim.lr_test(linear, quadratic), "chi-square"),
        "nested": (discrim.lr_test(small, large), "chi-square"),
        "wilks": (linear.wilks, "F"),
        "lr_test": (large.lr_test(), "chi-square"),
        "wald_test": (large.wald_test("bill_depth_mm"), "chi-square"),
        "hausman": (discrim.hausman(between, large), "chi-square"),
        "estimate_prior": (linear.estimate_prior(rows[::3]).test, "chi-square"),
        "permutation_test": (discrim.pls("species ~ bill_depth_mm", rows).permutation_test(9, seed=1), "Q2"),
    }


def test_the_word_on_a_line_names_the_number_that_has_the_p_value():
    for name, (found, word) in all_test_results().items():
        line = str(found).splitlines()[0]
        number = float(re.search(rf"{word} (-?[\d.e+-]+),", line).group(1))
        shown = re.search(r", df (.+), p", line)
        df = tuple(map(float, shown.group(1).split(", "))) if shown else ()
        p = float(re.search(r"p (\S+)$", line).group(1))
        assert df == pytest.approx(tuple(np.atleast_1d(found.df)), rel=1e-5), name
        if word == "Q2":
            assert number == pytest.approx(found.table.loc["Q2", "statistic"], rel=1e-5)
            continue
        law = stats.chi2(*df) if word == "chi-square" else stats.f(*df)
        assert law.sf(number) == pytest.approx(p, rel=0.01), name


def test_numbers_that_have_names_of_their_own_stand_under_them():
    tests = all_test_results()
    rows = load_penguins().dropna()[["species", "bill_depth_mm", "bill_length_mm"]]
    groups = [group.drop(columns="species") for _, group in rows.groupby("species", observed=True)]
    free = np.array([len(group) - 1 for group in groups])
    within = sum(group.cov() * n for group, n in zip(groups, free, strict=True))
    dets = [np.linalg.slogdet(group.cov())[1] for group in groups]
    m = free.sum() * np.linalg.slogdet(within / free.sum())[1] - free @ dets
    assert str(tests["box_m"][0]).startswith(f"Box's M: {m:.6g}, chi-square ")
    total = rows.drop(columns="species").cov() * (len(rows) - 1)
    ratio = np.linalg.det(within) / np.linalg.det(total)
    assert str(tests["wilks"][0]).startswith(f"Wilks' lambda: {ratio:.6g}, F ")


def test_labels_are_escaped_in_every_repr():
    bad = "<script>alert(1)</script>"
    data = IRIS.rename(columns={"sepal_length": bad}).assign(
        species=IRIS["species"].astype(str).replace("setosa", HOSTILE)
    )
    fit = lda("species ~ .", data)
    tests = [
        fit.box_m(),
        fit.wilks,
        fit.boundary(HOSTILE, "virginica"),
        fit.canonical(),
        fit.assess(method="apparent").classification(),
    ]
    shown = [*tests, moments("species ~ .", data), fit.log_odds(), fit.anova(), fit.tidy(), fit.confusion()]
    for result in [*shown, fit, qda("species ~ .", data).quadratic(HOSTILE, "virginica")]:
        assert "<script>" not in result._repr_html_()


# ---- tables


def tables(fits) -> dict[str, pd.DataFrame]:
    linear, quadratic, logit = fits
    return {
        "anova": linear.anova(),
        "log_odds": linear.log_odds(),
        "odds_ratios": logit.odds_ratios(),
        "conf_int": logit.conf_int(),
        "tidy": linear.tidy(),
        "glance": linear.glance(),
        "error_rates": linear.error_rates(),
        "confusion": linear.confusion(),
        "distances": linear.distances(),
        "manova": linear.manova(),
        "partial_tests": linear.partial_tests(),
        "group_summary": linear.group_summary(),
        "compare": compare(linear, quadratic),
        "covariance_models": quadratic.covariance_models(),
        "log_determinants": quadratic.log_determinants(),
        "steps": stepwise("species ~ .", IRIS).steps,
    }


def test_tables_are_result_tables_and_their_copies_are_dataframes(fits):
    for name, table in tables(fits).items():
        assert type(table) is (Comparison if name == "compare" else ResultTable), name
        assert type(table.copy()) is type(pickle.loads(pickle.dumps(table))) is pd.DataFrame
        plain = pd.DataFrame(table.to_numpy(), table.index, table.columns).astype(table.dtypes.to_dict())
        pd.testing.assert_frame_equal(table, plain)
        pd.testing.assert_frame_equal(plain, table, check_frame_type=name != "compare")
        assert table.attrs == {}
        assert table.to_string() == plain.to_string(), name


def test_derived_tables_are_displayed_like_plain_tables(fits):
    for name, table in tables(fits).items():
        shown = table._repr_html_()
        assert "discrim-summary" in shown, name
        others = [
            table.copy(),
            table.iloc[:2],
            table.T,
            pickle.loads(pickle.dumps(table)),
            table.reset_index(),
        ]
        assert not any("discrim-summary" in other._repr_html_() for other in others), name
        assert "discrim" not in pickle.dumps(table).decode("latin-1"), name


def test_styled_tables_are_those_of_pandas(fits):
    pytest.importorskip("jinja2", reason="pandas styles tables by jinja2")
    for name, table in tables(fits).items():
        assert "discrim-summary" not in table.style.to_html(), name


def test_numbers_of_tables_have_their_digits_in_notebooks(fits):
    def cells(table):
        (rows,) = Page(table._repr_html_()).tables
        return pd.DataFrame(rows[1:], columns=rows[0]).set_index(rows[0][0])

    found = tables(fits)
    p = pd.concat([cells(found[name])["p"] for name in ("anova", "log_odds", "distances", "manova")])
    p = p[p != ""]
    assert (p.str.lstrip("<").astype(float) > 0).all()
    rates = cells(found["error_rates"])
    assert rates.loc["loo", ["estimate", "wrong", "total"]].tolist() == ["0.0200", "3", "150"]
    assert set(cells(found["confusion"]).to_numpy().ravel()) == {"0", "1", "2", "48", "49", "50"}
    odds = cells(found["log_odds"])
    for _, row in odds[odds["coef"] != ""].iterrows():
        assert len({len(row[c].strip().partition(".")[2]) for c in ("coef", "se", "low", "high")}) == 1
    assert Page(found["log_odds"]._repr_html_()).tables[0][0][0] == "class / term"


def test_displayed_table_reflects_its_current_values(fits):
    table = fits[0].anova()
    table["note"] = ["first", "second", "third", "fourth"]
    table.loc["sepal_length", "p"] = 0.5
    shown = table._repr_html_()
    assert "third" in shown
    assert ">0.5000</td>" in shown
    with pd.option_context("display.notebook_repr_html", False):
        assert table._repr_html_() is None


def test_long_table_states_that_it_is_truncated():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.standard_normal((300, 50))).rename(columns="x{}".format)
    table = lda("y ~ .", data.assign(y=rng.integers(0, 3, 300))).anova()
    assert "32 of 50 rows shown; all of them: to_string()." in table._repr_html_()
    assert repr(table).splitlines()[-1] == "32 of 50 rows shown; all of them: to_string()."


def test_printed_tables_fit_80_columns_and_have_the_digits_of_summaries(fits):
    for name, table in tables(fits).items():
        lines = repr(table).splitlines()
        assert max(map(len, lines)) <= 80, name
        assert table.columns.astype(str).isin(" ".join(lines).split()).all(), name
    printed = repr(fits[0].error_rates())
    assert printed.splitlines()[1].split()[:2] == ["apparent", "0.0200"]
    assert "e-86" in repr(fits[0].distances())
    assert repr(fits[0].distances().copy()) != repr(fits[0].distances())
    assert repr(deepcopy(fits[0].distances())) == repr(fits[0].distances())


def test_printed_table_has_its_note(fits):
    with pytest.warns(NotComparableWarning):
        compared = compare(fits[0], logistic("species ~ sepal_length", IRIS))
    printed = " ".join(repr(compared).split())
    assert compared.attrs["note"] in printed
    assert html.escape(compared.attrs["note"][:40]) in compared._repr_html_()


def test_printed_table_follows_the_width_of_pandas(fits):
    with pd.option_context("display.width", 300):
        assert len(repr(fits[0].distances()).splitlines()) == 6
        wide = repr(fits[0].anova()).splitlines()
    assert len(wide) == 5


@with_display_formats()
def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table that prints like a table of results."""
    return table


def test_row_labels_that_are_fractions_are_rounded_and_distinct():
    rng = np.random.default_rng(3)
    thresholds = np.sort(rng.random(40))
    table = printed(pd.DataFrame({"rate": thresholds}, index=pd.Index(thresholds, name="threshold")))
    labels = [line.split()[0] for line in repr(table).splitlines()[1:]]
    assert len(set(labels)) == 40
    np.testing.assert_allclose(np.array(labels, dtype=np.float64), thresholds, rtol=1e-5)
    close = printed(pd.DataFrame({"rate": [1, 2]}, index=[0.12345678, 0.12345679]))
    assert [line.split()[0] for line in repr(close).splitlines()[1:]] == ["0.12345678", "0.12345679"]


@pytest.mark.parametrize("width", [1, 40, 80])
def test_printed_table_with_wide_labels_and_texts_fits_the_line(width):
    long = ["a" * 20 + str(i) + "日" * 20 for i in range(2)]
    table = pd.DataFrame({"formula": ["y ~ " + "x" * 100] * 2, long[0]: [0.1, 0.2]}, index=long)
    grouped = table.set_axis(pd.MultiIndex.from_product([["u" * 60], long], names=["v" * 50, "w" * 50]))
    with pd.option_context("display.width", width):
        lines = [*repr(printed(table)).splitlines(), *repr(printed(grouped)).splitlines()]
    assert max(map(display_width, lines)) <= max(width, 40)


@with_display_formats({"cost": "general", "error": "share"})
def printed_by_row(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose rows have formats."""
    return table


def test_table_prints_whatever_a_user_writes_into_it(fits):
    table = printed_by_row(pd.DataFrame({"estimate": [1 / 3, 4.5]}, index=["error", "cost"]))
    table["note"] = ["a text", ["a", "list"]]
    table["is_small"] = [True, None]
    assert [line.split()[1] for line in repr(table).splitlines()[1:]] == ["0.3333", "4.5"]
    assert "a text" in repr(table)
    assert "True" in table._repr_html_()
    for altered in (
        pd.DataFrame({"z": [1 + 2j], "note": "x"}),
        pd.DataFrame([[1.5, "x"]], columns=["p", "p"]),
        pd.DataFrame({"p": [{"a": 1}], "when": pd.Timestamp("2020-01-01")}, index=[pd.NaT]),
    ):
        altered.attrs["note"] = None
        assert "None" not in repr(printed(altered))
        assert printed(altered)._repr_html_()


def test_rows_of_three_levels_are_in_groups_of_the_first_two(fits):
    table = compare(*fits[:2]).roc_test()
    lines = repr(table).splitlines()
    assert table.index.nlevels == 3
    assert lines[1] == "LDA / QDA"
    assert lines[2].split()[:2] == ["setosa", "150"]
    assert max(map(len, lines)) <= 80
    assert "LDA / QDA" in Page(table._repr_html_()).tables[0][1]
