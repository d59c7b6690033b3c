"""Each page that is executed, as a notebook to be taken home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jupytext
from docutils import nodes
from myst_nb.core.read import is_myst_markdown_notebook
from sphinx.application import Sphinx

FOLDER = "notebooks"


def is_executed(page: Path) -> bool:
    """Whether a page has cells."""
    return page.suffix == ".md" and is_myst_markdown_notebook(page.read_text(encoding="utf-8"))


def name_notebook(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.Node | None
) -> None:
    """Tell the template of a page which notebook it links to."""
    if tree is not None and is_executed(Path(app.env.doc2path(page))):
        up = "../" * page.count("/")
        context["notebook"] = f"{up}{FOLDER}/{Path(page).name}.ipynb"


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks of all pages beside the pages."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for page in app.env.found_docs:
        source = Path(app.env.doc2path(page))
        if is_executed(source):
            jupytext.write(jupytext.read(source, fmt="md:myst"), folder / f"{source.stem}.ipynb")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the notebooks when all pages are."""
    app.connect("html-page-context", name_notebook)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
