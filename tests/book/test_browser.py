"""The site in a headless browser: no error, no request to another host, nothing wider than a telephone."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
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
    while not port.exists() or not port.read_text().strip():
        assert time.monotonic() < until, "the browser has not started"
        time.sleep(0.1)
    with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json") as tabs:
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


@pytest.mark.parametrize("width", [380, 1280])
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


HIGHEST = {"lda": 5050, "logistic": 5400, "pls": 5000}
"""Pixels of pages of reference at a width of 1,280, with all boxes closed; of others 4,800 at most."""


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
        const boxes = [...document.querySelectorAll('details')];
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
