"""The pages of the book for JupyterLite, with Python in the reader's browser: see `make lite`."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import nbformat
from notebooks import page_notebook, runs_in_a_browser

PAGES = Path(__file__).parents[1]
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v314.0.6/full/pyodide.mjs"
"""Python for browsers, in the version required by jupyterlite-pyodide-kernel of the Makefile."""

EXTRAS_BY_PATTERN = {r"interactive=True": "interactive", r"(from|import) (discrim\.)?sklearn": "sklearn"}
"""Optional dependencies by the pattern of code that needs them."""

INTRODUCTION = f"""\
This page runs in your browser; your data do not leave it. Python and the packages that discrim
requires are loaded from `{PYODIDE.removesuffix("/pyodide.mjs")}` (plotly from PyPI), and discrim itself from
this site. To start, choose *Run*, *Run All Cells*; the first cell takes about a minute. Threads are not
available in the browser, so long computations take longer."""


def browser_notebook(page: Path) -> nbformat.NotebookNode:
    """Return the notebook of a page with a first cell that installs the package."""
    notebook = page_notebook(page, browser_address)
    lines = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    extras = ",".join(extra for pattern, extra in EXTRAS_BY_PATTERN.items() if re.search(pattern, lines))
    name = f'"discrim[{extras}]"' if extras else "discrim"
    code = nbformat.v4.new_code_cell(f"%pip install -q {name}", id="install")
    notebook.cells[:0] = [nbformat.v4.new_markdown_cell(INTRODUCTION, id="about"), code]
    notebook.metadata["kernelspec"] = {
        "display_name": "Python (Pyodide)",
        "language": "python",
        "name": "python",
    }
    return notebook


def browser_address(name: str) -> str:
    """Return the name of the notebook of a page that runs in the browser, and any other name unchanged."""
    return f"{Path(name).stem}.ipynb" if runs_in_a_browser(PAGES / name) else name


def write_site(folder: Path) -> None:
    """Write the notebooks, the tables that they read, and the settings of the site."""
    files = folder / "files"
    shutil.copytree(PAGES / "data", files / "data")
    for page in filter(runs_in_a_browser, sorted(PAGES.glob("*.md"))):
        nbformat.write(browser_notebook(page), files / f"{page.stem}.ipynb")
    kernel = {"@jupyterlite/pyodide-kernel-extension:kernel": {"pyodideUrl": PYODIDE}}
    settings = {"appName": "discrim", "litePluginSettings": kernel}
    text = json.dumps({"jupyter-lite-schema-version": 0, "jupyter-config-data": settings}, indent=2)
    (folder / "jupyter-lite.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_site(Path(sys.argv[1]))
