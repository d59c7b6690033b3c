"""Summaries as HTML: tables that others' style sheets and readers of screens take as they are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape

import pandas as pd
import pytest

from discrim.report.grid import Section
from discrim.report.tables import Summary
from tests.report.support import SUMMARY, Page, hostile_summary, table

FOREIGN = """<style>
td, th { text-align: left !important; background: #eee; color: #700; white-space: normal; padding: 9px; }
table { width: 100%; display: block; table-layout: fixed; } tr:nth-child(even) { background: #ccc; }
.page table td:first-child { text-align: center; } th { text-align: center; font-weight: 900; }
</style>"""
"""What documentation, notebooks and GitHub do to tables, and worse."""

PROBE = """<script>
const seen = [...document.querySelectorAll(".discrim-summary table")].map(table => ({
  cells: [...new Set([...table.querySelectorAll("tbody td")].map(cell => getComputedStyle(cell).textAlign))],
  names: [...new Set([...table.querySelectorAll("th[scope=row]")].map(c => getComputedStyle(c).textAlign))],
  paper: [...new Set([...table.querySelectorAll("td, tr")].map(c => getComputedStyle(c).backgroundColor))],
  ink: [...new Set([...table.querySelectorAll("td, th")].map(c => getComputedStyle(c).color))],
  caption: table.caption.getBoundingClientRect().width,
}));
document.body.innerHTML = "<pre>" + JSON.stringify(seen) + "</pre>";
</script>"""


def test_html_is_balanced_and_escaped():
    page = Page(hostile_summary().as_html())
    tags = "div style details summary table caption thead tbody tr td th"
    assert page.tags == set(tags.split())
    assert page.tables[1][1][0].startswith("<script>")
    assert page.tables[1][1][1] == "1.5"


def test_every_table_has_a_caption_and_every_label_its_scope():
    text = SUMMARY.as_html()
    tables = re.findall(r"<table>.*?</table>", text, re.S)
    assert len(tables) == 8
    for cells, (key, shown) in zip(tables, SUMMARY.tables.items(), strict=True):
        assert cells.count("<caption>") == 1
        assert re.findall(r"<th(?![^>]*scope=)[ >]", cells) == []
        if key == "header":
            assert cells.count('<th scope="row"') == len(shown)
            continue
        assert cells.count("<thead>") == cells.count("<tbody>") == 1
        head, body = cells.split("<tbody>")
        assert head.count('scope="col"') == shown.shape[1]
        assert body.count('scope="row"') == len(shown)
        groups = len(shown.index.levels[0]) - 1 if shown.index.nlevels == 2 else 0
        assert body.count('scope="rowgroup"') == (groups and shown.index.get_level_values(0).nunique())


def test_section_names_are_outside_the_outline_and_ids_are_unique():
    text = SUMMARY.as_html()
    assert not re.search(r"<h\d|role=.heading| id=", text)
    names = [unescape(name) for name in re.findall(r"<summary>(.*?)</summary>", text)]
    assert names == [unescape(name) for name in re.findall(r"<caption>(.*?)</caption>", text)]
    assert names[:3] == ["species ~ .", "Classes", "Means"]


def test_long_sections_are_closed_at_first():
    sections = {name: Section(name, table(n, 2)) for name, n in (("short", 24), ("long", 25))}
    open_states = re.findall(r"<details( open)?>\n<summary>(\w+)", Summary("T", sections).as_html())
    assert open_states == [(" open", "short"), ("", "long")]


def test_decimal_points_are_aligned_by_figure_spaces():
    frame = pd.DataFrame({"a": [-3574519.2489, 1.04646086]}, index=["x", "y"])
    text = Summary("T", {"t": Section("Things", frame, errors=[1e-4, 1e-8])}).as_html()
    assert ">-3574519.2489\u2007\u2007\u2007\u2007</td>" in text
    assert ">1.04646086</td>" in text


def in_browser(tmp_path, body, width):
    """What a script writes of a page of this width, laid out by Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium to lay out a page")
    page = tmp_path / "page.html"
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    page.write_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    browser_output = subprocess.run(
        [browser, *options, f"--window-size={width},900", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(unescape(re.search(r"<pre>(.*?)</pre>", browser_output.stdout)[1]))


@pytest.mark.slow
def test_numbers_are_right_aligned_and_inherit_page_colours(tmp_path):
    body = f'{FOREIGN}<div class="page" style="color: rgb(1, 2, 3)">{SUMMARY.as_html()}</div>{PROBE}'
    for page_styles in in_browser(tmp_path, body, 1000):
        assert page_styles["cells"] == ["right"]
        assert page_styles["names"] == ["left"]
        assert page_styles["paper"] == ["rgba(0, 0, 0, 0)"]
        assert page_styles["ink"] == ["rgb(1, 2, 3)"]
        assert page_styles["caption"] <= 1


PLACES = """<script>
const summary = document.querySelector(".discrim-summary"), tables = [...summary.querySelectorAll("table")];
const place = cells => cells.map(cell => cell.getBoundingClientRect());
const rows = [...tables[0].rows].map(row => place([...row.cells]));
const seen = {
  left: rows.map(row => row[0].top), right: rows.map(row => row[2].top), at: rows.map(row => row[2].left),
  page: document.documentElement.scrollWidth, scrolled: tables.filter(
    table => table.parentElement.scrollWidth > table.parentElement.clientWidth).length,
};
parent.document.body.innerHTML = "<pre>" + JSON.stringify(seen) + "</pre>";
</script>"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_header_blocks_are_stacked_on_narrow_pages(tmp_path, width):
    # No window is as narrow as a telephone, but a frame is.
    inner = escape(f'<body style="margin: 0">{SUMMARY.as_html()}{PLACES}')
    frame = f'<iframe srcdoc="{inner}" style="border: 0; width: {width}px; height: 900px"></iframe>'
    seen = in_browser(tmp_path, frame, 1400)
    assert seen["page"] <= width
    if width == 390:
        assert min(seen["right"]) > max(seen["left"])
        assert len(set(seen["at"])) == 1
        assert seen["scrolled"] > 0
    else:
        assert seen["right"] == seen["left"]
        assert seen["scrolled"] == 0
