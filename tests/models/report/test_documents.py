"""Reports for Word, in Markdown and for Quarto, read back: tables by number, pictures, odd names."""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

import discrim
from discrim.datasets import load_breast_cancer, load_iris
from discrim.errors import DataError, NotSupportedError, UnwritableFileError
from discrim.report.page.page import TEXT_WIDTH, Chapter, Drawing, WordPage

IRIS = load_iris()
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
CHAPTERS = [
    "Pictures",
    "Summary",
    "Errors",
    "Tests",
    "How it was fitted",
    "The data",
    "The code that repeats the fit",
]


@cache
def fitted():
    return discrim.lda("species ~ .", IRIS)


def document(path) -> ElementTree.Element:
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        for name in package.namelist():
            if name.endswith((".xml", ".rels")):
                ElementTree.fromstring(package.read(name))
        return ElementTree.fromstring(package.read("word/document.xml"))


def text_of(element) -> str:
    return "".join(each.text or "" for each in element.iter(f"{WORD}t"))


def word_tables(root) -> dict[str, list[list[list[str]]]]:
    """Tables by the heading that stands above them."""
    found: dict[str, list[list[list[str]]]] = {}
    title = ""
    for block in root.find(f"{WORD}body"):
        style = block.find(f"{WORD}pPr/{WORD}pStyle")
        if style is not None and style.get(f"{WORD}val", "").startswith("Heading"):
            title = text_of(block)
        if block.tag == f"{WORD}tbl":
            rows = [[text_of(cell) for cell in row.iter(f"{WORD}tc")] for row in block.iter(f"{WORD}tr")]
            found.setdefault(title, []).append(rows)
    return found


def markdown_tables(text) -> dict[str, list[list[list[str]]]]:
    found: dict[str, list[list[list[str]]]] = {}
    title, heads = "", False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("heading_open", "heading_close"):
            heads = token.type == "heading_open"
        elif token.type == "table_open":
            found.setdefault(title, []).append([])
        elif token.type == "tr_open":
            found[title][-1].append([])
        elif token.type == "inline":
            content = "".join(each.content for each in token.children or [])
            if heads:
                title = content
            elif token.level == 4:
                found[title][-1][-1].append(content)
    return found


def agree(tables: list[list[list[str]]], frame: pd.DataFrame, *, triangle: bool = False) -> None:
    """The texts of a table are the numbers of the frame, rounded at their last digit."""
    (rows,) = tables
    assert [row[0].strip() for row in rows[1:]] == [str(label) for label in frame.index]
    assert len(rows[0]) == 1 + frame.shape[1]
    for i, (row, values) in enumerate(zip(rows[1:], frame.to_numpy(), strict=True)):
        for j, (text, value) in enumerate(zip(row[1:], values, strict=True)):
            shown = text.strip().strip("\u2007")
            if not shown:
                # Of a covariance the upper triangle alone is shown, or the lower one.
                assert triangle
                assert i != j
                continue
            power = float(re.search(r"e([-+]\d+)$", shown)[1]) if "e" in shown else 0
            decimals = len(shown.partition("e")[0].partition(".")[2])
            assert abs(float(shown) - value) <= 0.5000001 * 10 ** (power - decimals), (text, value)


SECTIONS = {
    "classes": "Classes",
    "means": "Means",
    "covariance": "Pooled covariance matrix within classes, divisor N-K",
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".docx", ".md", ".qmd"])
def test_report_tables_equal_the_summary(suffix, tmp_path):
    place = tmp_path / f"iris{suffix}"
    fitted().report(place, pictures=[])
    found = (
        word_tables(document(place))
        if suffix == ".docx"
        else markdown_tables(place.read_text(encoding="utf-8"))
    )
    tables = fitted().summary().tables
    for name, title in SECTIONS.items():
        if name == "classes":
            # The chapter on the data has such a table too.
            found[title] = found[title][:1]
        agree(found[title], tables[name], triangle=name == "covariance")
    counts = found["Actual class (rows) by predicted class (columns), leave-one-out"]
    agree(counts, fitted().confusion("loo"))
    assert [each.name for each in tmp_path.iterdir()] == [place.name]


@pytest.mark.slow
def test_a_document_has_its_headings_and_pictures_with_texts(tmp_path):
    docx = pytest.importorskip("docx", reason="documents are read back by python-docx")
    fitted().report(tmp_path / "iris.docx", title="Irises & <others>", pictures=["scores", "confusion"])
    read = docx.Document(str(tmp_path / "iris.docx"))
    assert (read.paragraphs[0].style.name, read.paragraphs[0].text) == ("Title", "Irises & <others>")
    assert [each.text for each in read.paragraphs if each.style.name == "Heading 1"] == CHAPTERS
    assert len(read.inline_shapes) == 2
    section = read.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    for shape in read.inline_shapes:
        assert shape.width <= room
        texts = re.findall('descr="([^"]*)"', shape._inline.xml)
        assert texts
        assert "setosa, versicolor, virginica" in texts[0]
    assert [chunk.partname for chunk in read.part.package.image_parts] == [
        "/word/media/1.png",
        "/word/media/2.png",
    ]
    assert "fit = discrim.lda(" in read.paragraphs[-2].text
    repeated = [row for table in read.tables for row in table.rows if row._tr.xml.count("<w:tblHeader/>")]
    assert len(repeated) > 10


@pytest.mark.slow
@pytest.mark.parametrize("inches", [(3, 30), (30, 3), (2, 1)])
def test_pictures_fit_the_page_and_keep_their_aspect_ratio(inches):
    def draw():
        return plt.subplots(figsize=inches)[1]

    open_before = plt.get_fignums()
    made = WordPage().picture(Drawing("one", 0, draw, [], "text", "caption", "code"))
    wide, high = (int(size) for size in re.search(r'<wp:extent cx="(\d+)" cy="(\d+)"', made).groups())
    assert wide <= 6.7 * 914_400
    assert high <= 9.4 * 914_400
    assert wide / high == pytest.approx(inches[0] / inches[1], rel=0.3)
    assert plt.get_fignums() == open_before


@pytest.mark.slow
def test_wide_tables_go_on_below_and_none_is_wider_than_the_text(tmp_path):
    data = load_breast_cancer()
    long = {name: f"{name} as it was measured by the second of two observers" for name in data.columns[:30]}
    fit = discrim.lda("diagnosis ~ .", data.rename(columns=long))
    fit.report(tmp_path / "wide.docx", pictures=[])
    root = document(tmp_path / "wide.docx")
    for table in root.iter(f"{WORD}tbl"):
        widths = [int(each.get(f"{WORD}w")) for each in table.iter(f"{WORD}gridCol")]
        assert sum(widths) <= TEXT_WIDTH
        for row in table.iter(f"{WORD}tr"):
            assert len(list(row.iter(f"{WORD}tc"))) == len(widths) > 1


HOSTILE = ["<w:p/>&\"'", "a]]>b\x00\x1b\u202e", "```\n| x | `y` | *z* $m$"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".docx", ".qmd", pytest.param(".md", marks=pytest.mark.exhaustive)])
def test_unusual_names_are_shown_as_text(suffix, tmp_path):
    names = np.array(HOSTILE, dtype=object)[pd.Categorical(IRIS["species"]).codes]
    data = pd.DataFrame({"x `|`": IRIS["petal_length"], "z": IRIS["sepal_width"], "species": names})
    place = tmp_path / f"odd {{1}}{suffix}"
    discrim.lda("species ~ .", data).report(place, title='Odd: "names"\n---', pictures=["scores"])
    if suffix == ".docx":
        read = text_of(document(place))
        assert "<w:p/>&\"'" in read
        assert "a]]>b\\x00\\x1b\\u202e" in read
        return
    text = place.read_text(encoding="utf-8")
    if suffix == ".qmd":
        mark, title, end, *rest = text.split("\n")
        assert (mark, end) == ("---", "---")
        assert json.loads(title.removeprefix("title: ")) == 'Odd: "names"\\n---'
        text = "\n".join(rest)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.tag == "h2"][::2]
    assert headings == CHAPTERS
    images = [child for token in tokens for child in token.children or [] if child.type == "image"]
    assert [unquote(image.attrs["src"]) for image in images] == ["odd {1}_pictures/scores.png"]
    assert "<w:p/>" in "".join(each.content for each in images[0].children)
    assert not any(token.type == "html_block" for token in tokens)


@pytest.mark.slow
def test_markdown_pictures_are_in_a_folder_next_to_the_file(tmp_path):
    fitted().report(tmp_path / "iris.md", pictures=["scores", "forest"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["iris.md", "iris_pictures"]
    pictures = sorted((tmp_path / "iris_pictures").iterdir())
    assert [each.name for each in pictures] == ["forest.png", "scores.png"]
    assert all(each.read_bytes()[:4] == b"\x89PNG" for each in pictures)


@pytest.mark.slow
def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "iris_pictures").write_text("before")
    with pytest.raises(UnwritableFileError) as caught:
        fitted().report(tmp_path / "iris.md", pictures=["scores"])
    assert "iris_pictures" in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["iris_pictures"]


@pytest.mark.parametrize("name", ["iris.pdf", "iris.doc", "iris.txt", "iris"])
def test_another_format_is_refused_by_its_name(name, tmp_path):
    with pytest.raises(DataError, match=rf"cannot be named '.*{name}'\. .*\.html, .*\.docx, \.md or \.qmd"):
        fitted().report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_interactive_pictures_require_html(tmp_path):
    with pytest.raises(NotSupportedError) as caught:
        fitted().report(tmp_path / "iris.docx", interactive=True)
    assert "interactive=True" in str(caught.value)
    assert "'iris.docx'" in str(caught.value)


@pytest.mark.slow
def test_the_same_document_has_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        page = WordPage()
        page.save(
            tmp_path / name, page.assemble("One", ["two"], [Chapter("c", "C", page.paragraph("d"))], "end")
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.slow
def test_known_distributions_and_fits_without_rows_have_reports(tmp_path):
    distribution = pd.DataFrame([[0.5, 0.5], [0.1, 0.9]], index=["a", "b"])
    discrim.bayes({"a": 0.5, "b": 0.5}, distribution).report(tmp_path / "law.docx", pictures=[])
    discrim.lda(moments=discrim.moments("species ~ .", IRIS)).report(tmp_path / "iris.docx", pictures=[])
    assert "There are no data" in text_of(document(tmp_path / "law.docx"))
    assert "not available" in text_of(document(tmp_path / "iris.docx"))
