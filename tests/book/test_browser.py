"""The site in a headless browser: no errors, no external requests, and nothing wider than a phone."""

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
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

websocket = pytest.importorskip("tornado.websocket")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if "BOOK" not in os.environ:
    pytest.skip("BOOK=FOLDER names a site that make book wrote", allow_module_level=True)
if BROWSER is None:
    pytest.skip("there is no Chromium on this machine", allow_module_level=True)

BOOK = Path(os.environ["BOOK"]).resolve()
PAGES = [page for page in sorted(BOOK.rglob("*.html")) if "_static" not in page.parts]


class Tab:
    """A tab of the browser, with the events since its last navigation."""

    def __init__(self, socket):
        self.socket, self.number, self.events = socket, 0, []

    async def send(self, method, **options):
        """Send a command and return its result; record the events before it."""
        self.number += 1
        await self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": options}))
        while True:
            message = json.loads(await self.socket.read_message())
            if message.get("id") == self.number:
                return message.get("result", {})
            self.events.append(message)

    async def open(self, address, width):
        """Open an address in a window of the given width and wait until it is loaded."""
        self.events.clear()
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        await self.send("Page.navigate", url=address)
        for _ in range(200):
            if await self.evaluate("document.readyState") == "complete":
                return
            await asyncio.sleep(0.05)

    async def evaluate(self, script):
        """Return the value of a JavaScript expression."""
        return (await self.send("Runtime.evaluate", expression=script))["result"].get("value")

    def errors(self):
        """Return exceptions and errors logged since the last navigation."""
        exceptions = [each for each in self.events if each["method"] == "Runtime.exceptionThrown"]
        return exceptions + [
            each
            for each in self.events
            if each["method"] == "Log.entryAdded" and each["params"]["entry"]["level"] == "error"
        ]

    def external_requests(self):
        """Return the addresses requested from other hosts."""
        addresses = [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]
        return [
            address for address in addresses if not address.startswith(("file:", "data:", "blob:", "chrome:"))
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


def run_in_tab(address, task):
    """Run an asynchronous task with a new tab and return its result."""

    async def visit():
        socket = await websocket.websocket_connect(address, max_message_size=2**28)
        tab = Tab(socket)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.send(f"{domain}.enable")
        try:
            return await task(tab)
        finally:
            socket.close()

    return asyncio.run(visit())


@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_opens_without_an_error_and_fits(address, width):
    async def work(tab):
        wrong = []
        for page in PAGES:
            await tab.open(page.as_uri(), width)
            wide = await tab.evaluate("document.documentElement.scrollWidth")
            if tab.errors() or tab.external_requests() or wide > width:
                wrong.append((page.name, wide, tab.errors(), tab.external_requests()))
        return wrong

    assert not run_in_tab(address, work)


def test_the_search_finds_lda(address):
    async def work(tab):
        await tab.open((BOOK / "search.html").as_uri() + "?q=lda", 1280)
        for _ in range(100):
            # Results appear one after another.
            links = await tab.evaluate(
                "[...document.querySelectorAll('#search-results li a')].map(a => a.href).join(' ')"
            )
            if "reference/lda.html" in links and "iris.html" in links:
                return True
            await asyncio.sleep(0.1)
        return links

    assert run_in_tab(address, work) is True


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("shrinkage", "shrinkage-covariance"),
        ("robust", "robust-discriminant-analysis"),
        ("Box's M", "equal-covariances"),
        ("wilks lambda", "canonical-variates"),
        ("standard error", "logistic-regression"),
        ("missing values", "new-observations"),
        ("box_m", "reference/box_m"),
    ],
)
def test_the_first_result_of_a_search_is_the_page_on_the_topic(address, query, page):
    async def work(tab):
        await tab.open(f"{(BOOK / 'search.html').as_uri()}?q={quote(query)}", 1280)
        for _ in range(100):
            first = await tab.evaluate("document.querySelector('#search-results li a')?.pathname")
            if first:
                return first
            await asyncio.sleep(0.1)
        return None

    assert run_in_tab(address, work) == (BOOK / f"{page}.html").as_uri().removeprefix("file://")


@pytest.fixture(scope="module")
def served():
    """Serve the site by HTTP, because the summaries of search results are not loaded from files."""

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
        return await tab.evaluate(
            "Search.htmlToText('<main role=main><table><tr><td>Rows used</td><td>178</td></tr>"
            "<tr><td>Columns</td></tr></table></main>').split(/\\s+/).join(' ').trim()"
        )

    assert run_in_tab(address, work) == "Rows used 178 Columns"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_the_first_screen_has_the_code_and_the_summary_of_a_fit(address, width, height):
    async def work(tab):
        await tab.open((BOOK / "index.html").as_uri(), width)
        places = (".tag_beside pre", ".tag_beside .discrim-summary", ".cards")
        return [
            json.loads(
                await tab.evaluate(
                    f"JSON.stringify(document.querySelector('{place}').getBoundingClientRect())"
                )
            )
            for place in places
        ]

    code, summary, cards = run_in_tab(address, work)
    assert code["bottom"] < height
    if width == 1280:
        assert code["right"] < summary["left"]
        assert summary["bottom"] < cards["top"] < height
    else:
        assert code["bottom"] < summary["top"] < height / 1.2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_have_the_colours_of_the_page(address, theme):
    async def work(tab):
        await tab.open((BOOK / "gallery.html").as_uri(), 1280)
        await tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        await tab.evaluate("document.querySelector('#scores .cell_output').scrollIntoView()")
        image = "document.querySelector('#scores .cell_output img')"
        place = json.loads(await tab.evaluate(f"JSON.stringify({image}.getBoundingClientRect())"))
        y = place["y"] + await tab.evaluate("window.scrollY")
        clip = {"x": place["x"], "y": y, "width": place["width"], "height": place["height"], "scale": 1}
        await asyncio.sleep(0.5)
        return await tab.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)

    taken = Image.open(io.BytesIO(base64.b64decode(run_in_tab(address, work)["data"]))).convert("L")
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
            found = await tab.evaluate(
                """JSON.stringify([...document.querySelectorAll(".bd-article *:has(table)")].filter(
                    e => e.scrollWidth > e.clientWidth + 1
                        && ["auto", "scroll"].includes(getComputedStyle(e).overflowX)
                ).map(e => [e.className, getComputedStyle(e)])
                .map(([name, style]) => [name, style.backgroundImage + style.animationName]))"""
            )
            hints += [(page.name, *each) for each in json.loads(found)]
        return hints

    hints = run_in_tab(address, work)
    assert hints
    assert not [each for each in hints if each[-1] == "nonenone"]
