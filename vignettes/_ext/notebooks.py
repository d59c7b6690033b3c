"""Write each executed page as a notebook to download or to run in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from docutils import nodes
from myst_nb.core.read import is_myst_markdown_notebook
from sphinx.application import Sphinx

FOLDER = "notebooks"
NOT_IN_A_BROWSER = {"large-tables", "command-line", "from-notebook-to-production"}
"""Pages that start other processes or need onnxruntime, which Pyodide does not have."""


HIDDEN_TAGS = {"remove-cell", "hide-cell", "hide-input"}
"""Tags of cells whose code is folded in notebooks."""


def is_executed(page: Path) -> bool:
    """Return whether a page has cells."""
    return page.suffix == ".md" and is_myst_markdown_notebook(page.read_text(encoding="utf-8"))


def runs_in_a_browser(page: Path) -> bool:
    """Return whether the cells of a page can run in Pyodide."""
    return is_executed(page) and page.stem not in NOT_IN_A_BROWSER


def page_notebook(page: Path) -> nbformat.NotebookNode:
    """Return the notebook of a page; directives become text, and hidden code is folded."""
    notebook = jupytext.read(page, fmt="md:myst")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = replace_directives(cell.source)
        elif HIDDEN_TAGS & set(cell.metadata.get("tags", ())):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


def replace_directives(text: str) -> str:
    """Replace the directives of a page by plain Markdown."""
    text = re.sub(r"```\{toctree\}.*?\n```\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"```\{container\} \w+\n(.*?)\n```", r"\1", text, flags=re.DOTALL)
    box = r"```\{admonition\} ([^\n]+)\n(?::class: [\w ]+\n)?\s*(.*?)\n```"
    return re.sub(box, r"**\1**\n\n\2", text, flags=re.DOTALL)


def add_notebook_links(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.Node | None
) -> None:
    """Pass the links to notebook, source and browser version of a page to its template."""
    if tree is None:
        return
    source, repository, lite = Path(app.env.doc2path(page)), app.config.repository, app.config.lite
    if is_executed(source):
        context["notebook"] = f"{context['content_root']}{FOLDER}/{source.stem}.ipynb"
    if lite and runs_in_a_browser(source):
        context["run_here"] = f"{lite}/lab/index.html?path={source.stem}.ipynb"
    if source.suffix == ".md":
        name = context["sourcename"]
        copy = context["pathto"](f"_sources/{name}", 1)
        context["source"] = f"{repository}/blob/main/vignettes/{source.name}" if repository else copy


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks of all pages next to the pages."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for page in app.env.found_docs:
        source = Path(app.env.doc2path(page))
        if is_executed(source):
            nbformat.write(page_notebook(source), folder / f"{source.stem}.ipynb")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the links and the writing of notebooks."""
    app.add_config_value("repository", "", "html")
    app.add_config_value("lite", "", "html")
    app.connect("html-page-context", add_notebook_links)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
