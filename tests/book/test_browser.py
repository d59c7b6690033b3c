"""The site in a headless browser: no error, no request to another host, nothing wider than a telephone."""

from __future__ import annotations

import asyncio
import base64
import functools
import http.server
import io
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tornado.websocket import websocket_connect

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if "BOOK" not in os.environ:
    pytest.skip("BOOK=FOLDER names a site that make book wrote", allow_module_level=True)
if BROWSER is None:
    pytest.skip("there is no Chromium on this machine", allow_module_level=True)

BOOK = Path(os.environ["BOOK"]).resolve()
PAGES = [page for page in sorted(BOOK.rglob("*.html")) if "_static" not in page.parts]


class Visit:
    """A browser's tab, and what it said since it was asked to go somewhere."""

    def __init__(self, socket):
        self.socket, self.number, self.events = socket, 0, []

    async def ask(self, method, **options):
        self.number += 1
        await self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": options}))
        while True:
            said = json.loads(await self.socket.read_message())
            if said.get("id") == self.number:
                return said.get("result", {})
            self.events.append(said)

    async def open(self, address, width):
        self.events.clear()
        await self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        await self.ask("Page.navigate", url=address)
        for _ in range(200):
            if await self.value("document.readyState") == "complete":
                return
            await asyncio.sleep(0.05)

    async def value(self, script):
        return (await self.ask("Runtime.evaluate", expression=script))["result"].get("value")

    def errors(self):
        said = [each for each in self.events if each["method"] == "Runtime.exceptionThrown"]
        return said + [
            each
            for each in self.events
            if each["method"] == "Log.entryAdded" and each["params"]["entry"]["level"] == "error"
        ]

    def elsewhere(self):
        asked = [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]
        return [
            address for address in asked if not address.startswith(("file:", "data:", "blob:", "chrome:"))
        ]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-port=0",
        "--no-first-run",
    ]
    options += ["--remote-allow-origins=*", "--allow-file-access-from-files", f"--user-data-dir={folder}"]
    browser = subprocess.Popen(
        [BROWSER, *options, "about:blank"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    port = folder / "DevToolsActivePort"
    until = time.monotonic() + 60
    while not port.exists() or not port.read_text(encoding="utf-8").strip():
        assert time.monotonic() < until, "the browser has not started"
        time.sleep(0.1)
    with urllib.request.urlopen(
        f"http://127.0.0.1:{port.read_text(encoding='utf-8').split()[0]}/json"
    ) as tabs:
        yield next(tab["webSocketDebuggerUrl"] for tab in json.load(tabs) if tab["type"] == "page")
    browser.terminate()
    browser.wait(30)


def in_tab(address, work):
    async def visit():
        socket = await websocket_connect(address, max_message_size=2**28)
        tab = Visit(socket)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.ask(f"{domain}.enable")
        try:
            return await work(tab)
        finally:
            socket.close()

    return asyncio.run(visit())


@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_opens_without_an_error_and_fits(address, width):
    async def work(tab):
        wrong = []
        for page in PAGES:
            await tab.open(page.as_uri(), width)
            wide = await tab.value("document.documentElement.scrollWidth")
            if tab.errors() or tab.elsewhere() or wide > width:
                wrong.append((page.name, wide, tab.errors(), tab.elsewhere()))
        return wrong

    assert not in_tab(address, work)


HIGHEST = {"lda": 6500, "qda": 5000, "logistic": 5400, "kernel_lda": 5100, "pls": 5750, "mixture": 5000}
"""Pixels of pages of reference at a width of 1,280, with all boxes closed; of others 4,800 at most. The
longest are of models with estimates, standard errors and tests of log odds, and lda() has the options of
principal axes, covariates and matrices besides; qda() has principal and reduced axes, kernel_lda() says of
each option how it is chosen, pls() has orthogonal and sparse components, and mixture() missing values."""


def test_pages_of_reference_are_short_until_their_boxes_are_opened(address):
    async def work(tab):
        wrong = []
        for page in sorted((BOOK / "reference").glob("*.html")):
            await tab.open(page.as_uri(), 1280)
            high = await tab.value("document.querySelector('.bd-article').scrollHeight")
            if high > HIGHEST.get(page.stem, 4800):
                wrong.append((page.name, high))
        return wrong

    assert not in_tab(address, work)


@pytest.mark.parametrize("width", [390, 1280])
def test_opened_boxes_of_a_page_of_reference_fit(address, width):
    script = """(() => {
        const boxes = [...document.querySelectorAll('details:has(.folded)')];
        boxes.forEach(box => box.open = true);
        const wide = [...document.querySelectorAll('.folded')].filter(
            each => each.getBoundingClientRect().right > document.documentElement.clientWidth);
        const closed = boxes.filter(box => box.querySelector('.folded').clientHeight === 0);
        return [document.documentElement.scrollWidth, boxes.length, wide.length, closed.length].join(' ');
    })()"""

    async def work(tab):
        wrong = []
        for name in ("lda", "logistic", "fits", "estimators", "datasets", "compare"):
            await tab.open((BOOK / "reference" / f"{name}.html").as_uri(), width)
            scroll, count, wide, closed = map(int, (await tab.value(script)).split())
            if scroll > width or count < 3 or wide or closed:
                wrong.append((name, scroll, count, wide, closed))
        return wrong

    assert not in_tab(address, work)


def test_the_search_finds_lda(address):
    async def work(tab):
        await tab.open((BOOK / "search.html").as_uri() + "?q=lda", 1280)
        for _ in range(100):
            # One result after another is shown.
            links = await tab.value(
                "[...document.querySelectorAll('#search-results li a')].map(a => a.href).join(' ')"
            )
            if "reference/lda.html" in links and "iris.html" in links:
                return True
            await asyncio.sleep(0.1)
        return links

    assert in_tab(address, work) is True


@pytest.fixture(scope="module")
def served():
    """The site as a server has it: summaries of the search are asked for, which files are not."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *rest):
            pass

    handler = functools.partial(Quiet, directory=BOOK)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_cells_of_tables_stand_apart_in_summaries_of_the_search(address, served):
    async def work(tab):
        await tab.open(f"{served}/index.html", 1280)
        return await tab.value(
            "Search.htmlToText('<main role=main><table><tr><td>Rows used</td><td>178</td></tr>"
            "<tr><td>Columns</td></tr></table></main>').split(/\\s+/).join(' ').trim()"
        )

    assert in_tab(address, work) == "Rows used 178 Columns"


def test_the_first_page_is_seen_whole_and_its_sidebar_too(address):
    async def work(tab):
        await tab.open((BOOK / "index.html").as_uri(), 1280)
        seen = ("h1", ".tag_beside img", ".cards li:last-child", ".course")
        ends = [
            await tab.value(f"document.querySelector('{each}').getBoundingClientRect().bottom")
            for each in seen
        ]
        beside = "document.querySelector('.tag_beside img').getBoundingClientRect().left"
        code = "document.querySelector('.tag_beside .cell_input').getBoundingClientRect().right"
        return ends, await tab.value(f"{beside} > {code}")

    ends, beside = in_tab(address, work)
    assert max(ends) <= 900, ends
    assert beside


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_have_the_colours_of_the_page(address, theme):
    async def work(tab):
        await tab.open((BOOK / "gallery.html").as_uri(), 1280)
        await tab.value(f"document.documentElement.dataset.theme = '{theme}'")
        await tab.value("document.querySelector('#scores .cell_output').scrollIntoView()")
        image = "document.querySelector('#scores .cell_output img')"
        place = json.loads(await tab.value(f"JSON.stringify({image}.getBoundingClientRect())"))
        y = place["y"] + await tab.value("window.scrollY")
        clip = {"x": place["x"], "y": y, "width": place["width"], "height": place["height"], "scale": 1}
        await asyncio.sleep(0.5)
        return await tab.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)

    taken = Image.open(io.BytesIO(base64.b64decode(in_tab(address, work)["data"]))).convert("L")
    brightness = np.array(taken)
    ink, paper = (
        np.quantile(brightness, [0.01, 0.5]) if theme == "light" else np.quantile(brightness, [0.99, 0.5])
    )
    assert (ink < 100 and paper > 240) if theme == "light" else (ink > 150 and paper < 40)


def test_a_table_that_is_wider_than_a_telephone_scrolls_with_a_hint(address):
    async def work(tab):
        hints = []
        for page in PAGES:
            await tab.open(page.as_uri(), 390)
            found = await tab.value(
                """JSON.stringify([...document.querySelectorAll(".bd-article *:has(table)")].filter(
                    e => e.scrollWidth > e.clientWidth + 1
                        && ["auto", "scroll"].includes(getComputedStyle(e).overflowX)
                ).map(e => [e.className, getComputedStyle(e)])
                .map(([name, style]) => [name, style.backgroundImage + style.animationName]))"""
            )
            hints += [(page.name, *each) for each in json.loads(found)]
        return hints

    hints = in_tab(address, work)
    assert hints
    assert not [each for each in hints if each[-1] == "nonenone"]
