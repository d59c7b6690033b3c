"""The built site is complete, its links work, and it loads nothing from other hosts.

The variable BOOK names its folder, for example `BOOK=build/book pytest tests/book` after `make book`.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import zlib
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import discrim
from discrim.report.plots.points import LIGHT

bs4, nbformat = pytest.importorskip("bs4"), pytest.importorskip("nbformat")

if "BOOK" not in os.environ:
    pytest.skip("BOOK=FOLDER names a site that make book wrote", allow_module_level=True)

BOOK = Path(os.environ["BOOK"]).resolve()
FILES = [page for page in sorted(BOOK.rglob("*.html")) if "_static" not in page.parts]
PAGES = {page: bs4.BeautifulSoup(page.read_bytes(), "html.parser") for page in FILES}
GENERATED_PAGES = {"search.html", "genindex.html", "py-modindex.html", "404.html"}
"""Pages that Sphinx generates in addition to the sources."""


def attribute_values(page, *tags):
    """Return the values of attributes in a page, given as (tag, attribute) pairs."""
    return [
        tag[attribute]
        for tag_name, attribute in tags
        for tag in PAGES[page].find_all(tag_name, attrs={attribute: True})
    ]


def internal_links(page):
    """Yield the files and anchors that a page links to."""
    for address in attribute_values(page, ("a", "href")):
        if not re.match(r"[a-z]+:", address):
            path, anchor = urldefrag(address)
            yield (page.parent / unquote(path)).resolve() if path else page, unquote(anchor)


def test_nothing_is_loaded_from_another_host():
    tags = (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"))
    for page in PAGES:
        external = [a for a in attribute_values(page, *tags) if re.match(r"(https?:)?//", a)]
        assert not external, (page, external)
    for style in BOOK.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), (
            style
        )


def test_links_lead_somewhere():
    anchors = {page: {tag["id"] for tag in tree.find_all(id=True)} for page, tree in PAGES.items()}
    for page in PAGES:
        for path, anchor in internal_links(page):
            assert path.exists(), (page, path)
            assert not anchor or path not in anchors or anchor in anchors[path], (page, path, anchor)


def test_pages_offer_to_run_where_an_address_is_named_for_it():
    lite = os.environ.get("BOOK_LITE", "").rstrip("/")
    offered = {
        page: link["href"]
        for page, tree in PAGES.items()
        for link in tree.select(".page-links a")
        if link.get_text().strip() == "Run here"
    }
    assert bool(offered) == bool(lite)
    for page, address in offered.items():
        assert address == f"{lite}/lab/index.html?path={page.stem}.ipynb"
        assert (BOOK / "notebooks" / f"{page.stem}.ipynb").exists()


def test_every_page_is_reached_from_the_first():
    visited, pending = set(), [BOOK / "index.html"]
    while pending:
        page = pending.pop()
        if page in PAGES and page not in visited:
            visited.add(page)
            pending += [path for path, _ in internal_links(page)]
    assert {page for page in PAGES if page.name not in GENERATED_PAGES} <= visited


def test_every_public_name_is_in_the_reference_once():
    described = [tag["id"] for tree in PAGES.values() for tag in tree.find_all("dt", id=True)]
    for name in discrim.__all__:
        if inspect.ismodule(getattr(discrim, name)):
            continue
        assert described.count(f"discrim.{name}") == 1, name
    assert len(described) == len(set(described))


def test_the_reference_names_no_module_that_nobody_imports():
    for page, tree in PAGES.items():
        if page.parent.name == "reference":
            assert not re.search(r"discrim\.(models|core|report|frame|inference)\b", str(tree)), page


def test_page_of_a_function_has_its_signature_before_its_examples():
    for name, function in inspect.getmembers(discrim, inspect.isfunction):
        article = PAGES[BOOK / "reference" / f"{name}.html"].article
        signature, first_example, printed = article.select("dt.sig, div.highlight")[:3]
        parameters = [each.get_text() for each in signature.select(".sig-param > span.n")]
        assert parameters == list(inspect.signature(function).parameters), name
        assert f"{name}(" in first_example.get_text(), name
        assert len(printed.get_text().splitlines()) > 1, name


def test_inventory_has_the_members_of_public_classes():
    *_, data = (BOOK / "objects.inv").read_bytes().split(b"\n", 4)
    lines = (line.split(" ") for line in zlib.decompress(data).decode().splitlines())
    inventory = {name: (kind, address.replace("$", name)) for name, kind, _, address, *_ in lines}
    for name, kind in inspect.getmembers(discrim, inspect.isclass):
        assert inventory[f"discrim.{name}"][0] == "py:class"
        for member, value in vars(kind).items():
            is_public = not member.startswith("_") and (
                inspect.isfunction(value) or isinstance(value, property)
            )
            if is_public and not inspect.getdoc(value).startswith("Not available"):
                role = "py:property" if isinstance(value, property) else "py:method"
                assert inventory[f"discrim.{name}.{member}"][0] == role, (name, member)
    base_page = "reference/ClassifierResults.html#discrim.ClassifierResults"
    assert inventory["discrim.LDAResults.predict"] == ("py:method", f"{base_page}.predict")
    assert "discrim.PerceptronResults.aic" not in inventory
    assert inventory["discrim.sklearn.LDAClassifier.fit"][0] == "py:method"
    assert inventory["discrim.KNNResults.k"][0] in ("py:property", "py:attribute")
    anchors = {page: {tag["id"] for tag in tree.find_all("dt", id=True)} for page, tree in PAGES.items()}
    for name, (kind, address) in inventory.items():
        page, _, anchor = address.partition("#")
        assert not kind.startswith("py:") or kind == "py:module" or anchor in anchors[BOOK / page], name


def test_no_formula_is_left_as_it_was_typed():
    for page in PAGES:
        # Parse again, because other tests need the elements that are removed here.
        tree = bs4.BeautifulSoup(page.read_bytes(), "html.parser")
        for code in tree.find_all(["code", "pre", "script", "style"]):
            code.decompose()
        assert not re.search(r"\\(frac|sum|mathbf|hat)|\$\$", tree.get_text()), page


def test_primes_are_no_superscripts():
    raised = [each for tree in PAGES.values() for each in tree.find_all(["msup", "msubsup"])]
    assert raised
    assert not [
        each
        for each in raised
        if each.find_all(recursive=False)[-1].get_text() in "\N{PRIME}\N{DOUBLE PRIME}"
    ]


def test_letters_and_spaces_of_formulas_are_those_of_latex():
    letters = [each for tree in PAGES.values() for each in tree.find_all("mi")]
    signs = [each for tree in PAGES.values() for each in tree.find_all("mo")]
    capitals = [each for each in letters if each.get_text() in "\u0394\u039b\u03a3\u03a6"]
    assert capitals
    assert all(each["mathvariant"] == "normal" for each in capitals)
    assert not [each for each in letters if each.get_text() in ("ln", "log", "~")]
    bars = [each for each in signs if each.get_text() == "|"]
    assert bars
    assert all(each["lspace"] == each["rspace"] == "0" for each in bars)
    first = [
        each for each in signs if each.get_text() == "\N{MINUS SIGN}" and not each.find_previous_sibling()
    ]
    assert first
    assert all(each["form"] == "prefix" for each in first)
    assert (BOOK / "_static" / "STIXTwoMath-Regular.ttf").stat().st_size > 1e6


def test_each_executed_page_is_a_notebook_to_take_home():
    from tests.test_vignettes import PAGES as SOURCES

    for source in SOURCES:
        book = nbformat.read(BOOK / "notebooks" / f"{source.stem}.ipynb", as_version=4)
        nbformat.validate(book)
        assert any(cell.cell_type == "code" for cell in book.cells)
        assert BOOK / "notebooks" / f"{source.stem}.ipynb" in {
            p for p, _ in internal_links(BOOK / f"{source.stem}.html")
        }


def test_each_cell_that_draws_shows_its_picture():
    drawn = 0
    for page, tree in PAGES.items():
        for cell in tree.select("div.cell"):
            code = cell.select_one("div.cell_input")
            lines = code.get_text().strip().splitlines() if code is not None else []
            last = lines[-1] if lines else ""
            if re.search(r"\.plot\(.*\);$", last):
                drawn += 1
                assert cell.select_one("div.cell_output img") is not None, (page, last)
    assert drawn > 30


def test_pictures_have_names_and_say_what_they_show():
    for page, tree in PAGES.items():
        for image in tree.select("div.cell_output img"):
            name = Path(image["src"]).name
            assert name.startswith(f"{page.stem}-") or re.match(r"[a-z-]+\.", name), (page, name)
            assert len(image["alt"].split()) > 3, (page, name, image["alt"])
            assert not image["alt"].endswith(name)


def test_every_picture_on_light_paper_has_dark_colours():
    pictures = [picture.read_text(encoding="utf-8") for picture in (BOOK / "_images").glob("*.svg")]
    on_light_paper = [text for text in pictures if LIGHT.paper in text or "<image" in text]
    assert on_light_paper
    for text in on_light_paper:
        assert re.search(r"var\(--c|class='night'|filter:url", text), text[:300]


def test_the_gallery_is_a_grid_that_leads_to_each_section_with_its_question():
    tree = PAGES[BOOK / "gallery.html"]
    links = tree.select("div.gallery a")
    assert len(links) > 35
    for link in links:
        section = tree.find(id=link["href"].removeprefix("#"))
        question = link.select_one(".question").get_text()
        assert section.find(["h2", "h3"]).get_text().startswith(link.select_one(".name").get_text())
        assert question.endswith("?"), question
        assert question in " ".join(section.get_text().split())
        assert link.img["src"] in [image["src"] for image in section.find_all("img")]
    sections = {kind.get_text().rstrip("#") for kind in tree.select("h3")}
    assert sections == {link.select_one(".name").get_text() for link in links}


def test_each_page_is_described_and_shown_as_a_card():
    for page, tree in PAGES.items():
        head = {
            tag.get("property") or tag.get("name"): tag["content"] for tag in tree.select("meta[content]")
        }
        assert head["og:title"], page
        assert (page.parent / head["og:image"]).exists(), page
        assert tree.select_one("link[rel=icon]"), page
        if page.name not in GENERATED_PAGES:
            assert 20 < len(head["description"]) <= 202, (page, head["description"])
            assert head["og:description"] == head["description"]


def test_the_first_page_has_a_line_on_each_page_and_navigation_names_all():
    from tests.test_vignettes import PAGES as SOURCES

    tree = PAGES[BOOK / "index.html"]
    items = {link["href"]: link.find_parent("li") for link in tree.select(".pages a")}
    navigation = {link["href"] for link in tree.select(".course a")}
    for name in {source.stem for source in SOURCES} - {"index"}:
        assert f"{name}.html" in navigation, name
        text = items[f"{name}.html"].get_text()
        assert len(text) > len(items[f"{name}.html"].a.get_text()) + 10, text
    assert len(tree.select(".course details[open]")) == 1


def test_the_first_page_has_a_summary_four_paths_and_plots_that_lead_to_their_pages():
    tree = PAGES[BOOK / "index.html"]
    assert tree.select_one(".tag_beside .discrim-summary tr")
    paths = [
        [link["href"].removesuffix(".html") for link in card.select("a")] for card in tree.select(".cards li")
    ]
    assert [path[0] for path in paths] == ["tour", "recipes", "coming-from-r", "reference/index"]
    plots = tree.select("section#plots > section")
    assert len(plots) == 8
    for plot in plots:
        assert (BOOK / plot.h3.a["href"]).exists()
        assert plot.select_one(".cell_output img")
        assert not plot.select_one(".cell_input")
        assert plot.find("p", recursive=False).get_text()


def test_the_first_group_of_the_navigation_is_the_course():
    group = PAGES[BOOK / "index.html"].select(".course details")[0]
    assert group.summary.get_text() == "Getting started"
    lessons = [link["href"].removesuffix(".html") for link in group.select("a")]
    assert lessons[0] == "tour"
    assert len(lessons) == 6


def test_the_footer_has_the_version_and_links_to_licence_and_citation():
    for page, tree in PAGES.items():
        footer = tree.select_one(".bd-footer")
        assert discrim.__version__ in footer.get_text(), page
        anchors = {
            urldefrag(link["href"])[1]
            for link in footer.select("a")
            if urldefrag(link["href"])[0].endswith("licence-and-citation.html")
        }
        assert anchors == {"licence", "citation"}, page


def test_the_search_knows_lda():
    text = (BOOK / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text, re.DOTALL)[1])
    assert "lda" in index["terms"]
    assert "lda" in index["titleterms"]
