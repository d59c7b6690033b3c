"""Reports: pages that hold all they show, whatever the fit, its labels and what it lacks."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import time
import warnings
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import ShrunkCovariance
from sklearn.datasets import load_digits

import discrim
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import DataError
from discrim.models.plots.plottable import available_plot_kinds
from discrim.models.registry import MODELS
from discrim.models.report.report import changed_options, refit_code
from tests.contract.test_contract import VERBS
from tests.contract.test_contract import fitted as contracted
from tests.contract.test_contract import table as contract_table
from tests.contract.test_names import fitted
from tests.report.support import HOSTILE

IRIS = load_iris()
FEW = IRIS.groupby("species", observed=True).head(12)[["petal_length", "petal_width", "species"]]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
VOID = {"meta", "link", "img", "source", "br"}
CHAPTERS = ["pictures", "summary", "errors", "tests", "fitted", "data", "code"]


class Read(HTMLParser):
    """A page whose tags are balanced: its headings, what it refers to, its images, its code and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.code = self.text = ""
        self.calls: list[str] = []
        self.points = 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        assert "svg" not in self.open or tag in SHAPES
        self.points += tag == "title" and "use" in self.open
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.text += " "

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if "pre" in self.open:
            self.code += data
        elif "code" in self.open:
            self.calls.append(data)

    def images(self) -> list[tuple[str, dict[str, str | None]]]:
        """The pictures: each is vectors, or dots."""
        return [(tag, attrs) for tag, attrs in self.tags if tag in ("svg", "img")]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def report(fit, folder: Path, **options) -> Read:
    fit.report(folder / "page.html", **options)
    text = (folder / "page.html").read_text(encoding="utf-8")
    page = Read(text)
    check(page, text)
    return page


def check(page: Read, text: str) -> None:
    """What holds of every page: it asks nobody, nothing runs, and a reader of screens finds the way."""
    names = {name for name, _ in page.tags}
    assert not names & {
        "script",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "math",
        "audio",
        "video",
    }
    for _, attrs in page.tags:
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "srcset", "href", "xlink:href"):
            assert (attrs.get(name) or "data:").startswith(("data:", "#"))
    assert not re.search(r"url\((?!#)|@import|expression\(", text)
    policy = next(attrs["content"] for attrs in page.all("meta") if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert text.index("Content-Security-Policy") < text.index("<link") < text.index("<style")
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("title")) == 1 + page.points
    assert page.headings[:2] == [1, 2]
    assert page.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    anchors = [attrs["href"][1:] for attrs in page.all("a")]
    assert anchors == CHAPTERS == [attrs["id"] for attrs in page.all("h2")]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for tag, image in page.images():
        assert image["alt" if tag == "img" else "aria-label"]
        assert tag == "img" or image["role"] == "img"
        assert float((image["width"] or "").removesuffix("pt")) > 0
    # What a reader of screens is told is told once: of each pair the style shows one.
    shown = [image["class"] for _, image in page.images()]
    assert re.fullmatch("(both |day night )*", "".join(f"{each} " for each in shown))


SHAPES = {"svg", "g", "defs", "style", "path", "use", "clippath", "rect", "image", "pattern", "title"}
"""What a picture in a page is made of: neither links nor programs, nor HTML in it, nor text but of points."""


def run(code: str, data: pd.DataFrame, folder: Path, monkeypatch) -> object:
    data.to_csv(folder / "data.csv", index=False)
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    exec(compile(code, "code", "exec"), names)
    return names["fit"]


@pytest.mark.slow
def test_a_report_has_its_chapters_and_its_code_repeats_the_fit(tmp_path, monkeypatch, capsys):
    fit = discrim.lda("species ~ .", FEW, prior={"setosa": 0.5, "versicolor": 0.25, "virginica": 0.25})
    page = report(fit, tmp_path, title="Few irises")
    assert "Few irises" in page.text
    assert "prior" in page.code
    assert page.calls[:4] == [
        'fit.plot("scores")',
        'fit.plot("confusion", method="loo")',
        'fit.plot("forest")',
        'fit.plot("posteriors")',
    ]
    again = run(page.code, FEW, tmp_path, monkeypatch)
    pd.testing.assert_frame_equal(again.predict_proba(FEW), fit.predict_proba(FEW))
    assert str(fit.summary()) in capsys.readouterr().out
    for shown in ("Wilks' lambda", "petal_length", "discrim.lda()", f"pandas {pd.__version__}", "Box's M"):
        assert shown in page.text


@pytest.mark.slow
def test_pictures_have_light_and_dark_versions_and_close_their_figures(tmp_path):
    before, figures = mpl.rcParams.copy(), plt.get_fignums()
    with plt.rc_context({"text.color": "red"}):
        page = report(discrim.knn("species ~ .", FEW, k=3), tmp_path)
        assert mpl.rcParams["text.color"] == "red"
    assert mpl.rcParams == before
    assert plt.get_fignums() == figures
    assert [image["class"] for _, image in page.images()].count("both") >= 3


def test_named_pictures_are_all_visible_in_order(tmp_path):
    page = report(discrim.lda("species ~ .", FEW), tmp_path, pictures=["scree", "structure"])
    assert page.calls == ['fit.plot("scree")', 'fit.plot("structure")']
    assert not page.all("details") or "more pictures" not in page.text


@pytest.mark.slow
def test_rows_are_left_out_one_by_one_if_that_is_fast(tmp_path):
    noise = pd.DataFrame(np.random.default_rng(1).normal(size=(36, 4)), columns=list("abcd"))
    fit = discrim.lda("species ~ .", noise.assign(species=FEW["species"].to_numpy()))
    words = " ".join(report(fit, tmp_path, pictures=[]).text.split())
    apparent, left_out = (fit.confusion(way) for way in ("apparent", "loo"))
    assert not apparent.equals(left_out)
    lines = [
        f"{label} {' '.join(map(str, row))} "
        for label, row in zip(fit.classes, left_out.to_numpy(), strict=True)
    ]
    assert "".join(lines) in words
    assert words.count("leave-one-out") >= 2
    chosen = discrim.sparse_lda("species ~ .", IRIS, n_penalties=3, seed=1)
    assert "optimistic" in report(chosen, tmp_path, pictures=[]).text
    assert "10-fold" in report(discrim.logistic("species ~ sepal_width", IRIS), tmp_path, pictures=[]).text


@pytest.mark.parametrize("verb", ["lda", "qda", "nearest_centroid", "shrunken_centroids"])
def test_headings_are_words_and_the_title_stands_there_but_once(tmp_path, verb):
    data = FEW.rename(columns={"petal_length": "length", "petal_width": "width"})
    fit = getattr(discrim, verb)("species ~ .", data)
    page = report(fit, tmp_path, pictures=[], title="Of flowers")
    headings = re.findall(r"<th[^>]*>([^<]*)</th>", (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(headings) > 20
    assert not [each for each in headings if "_" in each]
    # Once in the title of the window, once on the page.
    assert page.text.count("Of flowers") == 2
    assert page.text.count("species ~ .") <= 3
    assert "36 observations, 2 columns, 3 classes; left-out error " in page.text
    assert "Long sections" not in page.text


def test_long_sections_of_a_summary_are_folded(tmp_path):
    page = report(discrim.lda("cultivar ~ .", load_wine()), tmp_path, pictures=[])
    first, named, rest = page.text.partition("Long sections: functions, covariance")
    assert named
    assert "Coefficients of linear discriminants (unit" in first
    assert "Pooled covariance" in rest
    assert "Pooled covariance" not in first


def test_points_show_row_class_and_posterior(tmp_path):
    data = FEW.set_index(pd.Index([f"<{i}>" for i in range(len(FEW))], name="flower"))
    data["species"] = np.roll(data["species"].to_numpy(), 2)
    fit = discrim.qda("species ~ .", data)
    page = report(fit, tmp_path, pictures=["posteriors", "confusion"])
    assert page.points == len(FEW)
    own, proba = data["species"].to_numpy(), fit.predict_proba()
    for name, label in zip(data.index, own, strict=True):
        assert f"flower {name}: {label}, posterior {proba.loc[name, label]:.3f}" in page.text
    wrong = proba.idxmax(axis=1).to_numpy() != own
    assert page.text.count(", predicted ") == wrong.sum() > 0
    many = discrim.qda("species ~ .", pd.concat([FEW] * 30, ignore_index=True))
    assert report(many, tmp_path, pictures=["posteriors"]).points == 0


def test_labels_are_escaped_as_text(tmp_path):
    label = f"{HOSTILE} ]]> --> </style></title> \u202e\x07\n'"
    data = FEW.rename(columns={"petal_length": label}).astype({"species": str})
    data["species"] = data["species"].replace({"setosa": f"a{label}"})
    page = report(
        discrim.nearest_centroid("species ~ .", data), tmp_path, title=label, pictures=["posteriors"]
    )
    assert page.text.count("<script>alert(1)</script>") >= 3
    assert "\u202e" not in page.text
    assert page.code.count("\n") < 20


def test_missing_glyphs_give_one_warning(tmp_path):
    data = FEW.astype({"species": str}).replace({"species": {"setosa": "\U00012000\U00012001"}})
    with pytest.warns(
        discrim.errors.DiscrimWarning, match="a font with the characters \U00012000\U00012001"
    ) as message:
        report(discrim.nearest_centroid("species ~ .", data), tmp_path, pictures="posteriors")
    assert len(message) == 1


def test_fits_without_rows_name_the_missing_rows(tmp_path):
    fit = discrim.lda("species ~ .", FEW)
    fit.save(tmp_path / "fit")
    for bare in (discrim.load(tmp_path / "fit"), discrim.lda(moments=discrim.moments("species ~ .", FEW))):
        page = report(bare, tmp_path, pictures=["posteriors"])
        assert page.images() == []
        assert "No pictures are drawn." in page.text
        assert "ranges of its columns are unknown" in page.text
        assert "load the original table" in page.code
        assert "Do the class means differ? Univariate tests" in page.text
        assert "requires the rows of the fit" in page.text


def test_a_source_is_named(tmp_path):
    FEW.to_csv(tmp_path / "few.csv", index=False)
    page = report(discrim.qda("species ~ .", tmp_path / "few.csv"), tmp_path, pictures="log_determinants")
    assert len(page.images()) == 1
    assert "few.csv" in page.code
    assert "read in chunks" in page.text


def test_a_table_that_was_changed_is_not_described_as_if_it_were_the_one_of_the_fit(tmp_path):
    values = FEW[["petal_length", "petal_width"]].to_numpy(copy=True)
    data = pd.DataFrame(values, columns=["a", "b"], copy=False)
    data["y"] = FEW["species"].to_numpy()
    fit = discrim.nearest_centroid("y ~ .", data)
    values *= 2
    page = report(fit, tmp_path)
    assert "Numeric columns" not in page.text
    assert "changed" in page.text


def test_missing_values_levels_and_ranges_are_reported(tmp_path):
    data = load_penguins()
    page = report(discrim.naive_bayes("species ~ bill_length_mm + sex", data), tmp_path, pictures=[])
    assert page.images() == []
    words = " ".join(page.text.split())
    values = data["bill_length_mm"]
    found = re.search(r"max mean sd bill_length_mm (\d+) ([\d.]+) [\d.]+ [\d.]+ [\d.]+ ([\d.]+)", words)
    assert [float(each) for each in found.groups()] == [values.isna().sum(), values.min(), values.max()]
    assert f"sex {data['sex'].isna().sum()} 2 male" in words
    assert f"Rows of the table {len(data)} " in words


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (3, DataError),
        (None, DataError),
        ("a\0b", ValueError),
        ("", DataError),
        ("folder/", IsADirectoryError),
        ("folder", IsADirectoryError),
        ("nowhere/page.html", FileNotFoundError),
    ],
)
def test_invalid_paths_are_refused_before_the_computation(tmp_path, monkeypatch, path, error):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(error):
        fitted("lda").report(path)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "options",
    [
        {"title": 3},
        {"load": 3},
        {"load": "import os"},
        {"load": "read("},
        {"load": "a\0"},
        {"pictures": 3},
        {"pictures": ["scores", "sketch"]},
        {"pictures": [None]},
    ],
)
def test_a_bad_option_leaves_the_file_that_was_there(tmp_path, options):
    place = tmp_path / "page.html"
    place.write_text("before")
    with pytest.raises(DataError, match=next(iter(options))):
        fitted("lda").report(place, **options)
    assert place.read_text(encoding="utf-8") == "before"
    assert len([*tmp_path.iterdir()]) == 1


def test_report_code_names_the_table_and_functions_of_the_user():
    code = refit_code(
        discrim.lda("species ~ f(petal_length)", FEW, functions={"f": np.log}), "mine(pl.read_csv('x'))"
    )
    assert code.splitlines()[:2] == ["import discrim", "import polars as pl"]
    assert "# mine is your own name" in code
    assert "# f is your own function" in code
    assert "functions={'f': f}," in code
    compile(code, "code", "exec")
    weighted = discrim.lda("species ~ petal_width", FEW, weights=np.arange(len(FEW)) % 3 + 1)
    assert "weights=weights," in refit_code(weighted, None)


def test_categories_keep_the_order_that_a_csv_does_not(tmp_path, monkeypatch):
    data = load_penguins().dropna()
    data["sex"] = pd.Categorical(data["sex"], ["male", "female"])
    data["species"] = pd.Categorical(data["species"], ["Gentoo", "Adelie", "Chinstrap"], ordered=True)
    fit = discrim.lda("species ~ bill_length_mm + sex", data)
    again = run(refit_code(fit, None), data, tmp_path, monkeypatch)
    assert list(again.terms) == list(fit.terms) == ["bill_length_mm", "sex[T.female]"]
    assert list(again.classes) == list(fit.classes)
    pd.testing.assert_frame_equal(again.coef, fit.coef, check_column_type=False, check_names=False)


def test_options_are_those_that_are_not_the_defaults():
    assert changed_options(discrim.lda("species ~ .", FEW)) == {}
    assert changed_options(discrim.qda("species ~ .", FEW, prior="equal", method="mle")) == {
        "prior": "equal",
        "method": "mle",
    }
    code = refit_code(discrim.lda("species ~ .", FEW, covariance=ShrunkCovariance(shrinkage=0.2)), None)
    assert "from sklearn.covariance import ShrunkCovariance" in code
    levels = ["virginica", "setosa", "versicolor"]
    assert changed_options(discrim.lda("species ~ .", FEW, levels=levels)) == {"levels": levels}


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["lda", pytest.param("qda", marks=pytest.mark.exhaustive)])
def test_a_report_of_many_columns_and_classes_stays_below_a_megabyte(tmp_path, verb):
    data = pd.DataFrame(load_digits().data).add_prefix("pixel_").assign(digit=load_digits().target)
    options = {"lda": {"collinear": "drop"}, "qda": {"covariance": "shrunk"}}[verb]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", discrim.errors.DiscrimWarning)
        fits = {"digits": getattr(discrim, verb)("digit ~ .", data, **options)}
    fits |= {"wine": getattr(discrim, verb)("cultivar ~ .", load_wine())}
    for name, fit in fits.items():
        fit.report(tmp_path / f"{name}.html")
        assert (tmp_path / f"{name}.html").stat().st_size < 1e6, name
    # As vectors: dots of so many panels would take more.
    assert {tag for tag, _ in report(fits["wine"], tmp_path, pictures="pairs").images()} == {"svg"}
    assert (tmp_path / "page.html").stat().st_size < 0.5e6


@pytest.mark.slow
def test_reports_take_no_longer_than_thirty_simple_pictures(tmp_path):
    x = np.random.default_rng(0).normal(size=(2, 150))

    def thirty_two() -> None:
        # As long as a report, so that whatever else the machine does meets both alike.
        for _ in range(32):
            figure, axes = plt.subplots()
            axes.scatter(*x)
            figure.savefig(io.BytesIO(), format="svg")
            plt.close(figure)

    fit = discrim.lda("species ~ .", IRIS)
    seconds = []
    for run in (lambda: fit.report(tmp_path / "page.html"), thirty_two) * 2:
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    assert min(seconds[::2]) < min(seconds[1::2])


# ---- every verb, and a browser


@pytest.mark.slow
@pytest.mark.parametrize(("position", "verb"), [*enumerate(model.verb for model in MODELS)])
def test_every_verb_is_reported(tmp_path, position, verb):
    fit = fitted(verb)
    # Every fifth verb with all pictures, the others with one: the pictures have their own tests.
    options = {"pictures": [available_plot_kinds(fit)[0]]} if position % 5 else {}
    page = report(fit, tmp_path, **options)
    assert len(page.images()) >= 1
    assert page.code or verb == "bayes"


@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in VERBS if not verb.endswith("mcd")])
def test_the_code_of_every_variant_makes_the_same_fit(tmp_path, monkeypatch, verb):
    _, data = contract_table("iris")
    fit = contracted(verb, "iris")
    again = run(refit_code(fit, None), data.astype({"species": str}), tmp_path, monkeypatch)
    np.testing.assert_allclose(
        np.asarray(again.decision_function(data)),
        np.asarray(fit.decision_function(data)),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("scheme", [0, 1])
def test_browsers_open_the_page_without_errors_in_the_preferred_colours(tmp_path, scheme):
    discrim.lda("species ~ .", FEW).report(tmp_path / "page.html")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
        f"--blink-settings=preferredColorScheme={scheme}", "--window-size=400,900", "--hide-scrollbars",
        f"--screenshot={tmp_path / 'shot.png'}", "--enable-logging=stderr", "--v=0",
        (tmp_path / "page.html").as_uri(),
    ]  # fmt: skip
    message = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False).stderr
    assert "CONSOLE" not in message
    corner = plt.imread(tmp_path / "shot.png")[2, 2, :3]
    assert corner.mean() < 0.2 if scheme == 0 else corner.mean() > 0.9
    if scheme == 1:
        return
    # A picture alone, its paper has the colour of the page's.
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    start, end = re.split("<body>.*?(?=<figure>)", text, flags=re.DOTALL), "</figure>"
    (tmp_path / "page.html").write_text(start[0] + "<body>" + start[1].split(end)[0] + end)
    subprocess.run(command, capture_output=True, timeout=100, check=False)
    shown = plt.imread(tmp_path / "shot.png")[:300, :380, :3]
    assert (np.abs(shown - corner).max(axis=2) < 0.02).mean() > 0.6
