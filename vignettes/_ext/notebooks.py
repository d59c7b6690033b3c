"""Write each executed page as a notebook to download or to run in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def page_notebook(page: Path, address: Callable[[str], str] = str) -> nbformat.NotebookNode:
    """Return the notebook of a page: plain Markdown, and cells with hidden code folded.

    Parameters
    ----------
    page : Path
        File in MyST Markdown.
    address : callable, optional
        Returns the target of a link from the name of the linked file.
    """
    notebook = jupytext.read(page, fmt="md:myst")
    # It contains the versions of programs.
    notebook.metadata.pop("jupytext", None)
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        if cell.cell_type == "markdown":
            cell.source = replace_links(replace_directives(cell.source), page, address)
        elif HIDDEN_TAGS & set(cell.metadata.get("tags", ())):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


def replace_directives(text: str) -> str:
    """Replace the directives and roles of a page by plain Markdown."""

    def quote(match: re.Match[str]) -> str:
        lines = [f"**{match[1]}**", "", *match[2].splitlines()]
        return "\n".join(f"> {line}".rstrip() for line in lines)

    text = re.sub(r"```\{(?:toctree|gallery)\}.*?\n```\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"```\{container\} \w+\n(.*?)\n```", r"\1", text, flags=re.DOTALL)
    text = re.sub(r"\{download\}`([^`<]+?) <([^`>]+)>`", r"[\1](\2)", text)
    box = r"```\{admonition\} ([^\n]+)\n(?::class: [\w ]+\n)?\s*(.*?)\n```"
    return re.sub(box, quote, text, flags=re.DOTALL)


def replace_links(text: str, page: Path, address: Callable[[str], str]) -> str:
    """Replace the relative links of a page, see `page_notebook`.

    The heading "How accurate?" is `#how-accurate` in MyST and on GitHub, but `#How-accurate?` in Jupyter.
    """

    def link(match: re.Match[str]) -> str:
        name, heading = match.groups()
        target = address(name) if name else ""
        if heading and not target.endswith(".md"):
            titles = re.findall(
                r"^#+ (.+)$", page.with_name(name or page.name).read_text("utf-8"), re.MULTILINE
            )
            ids = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-"): title for title in titles}
            heading = ids[heading].replace(" ", "-")
        return f"]({target}#{heading})" if heading else f"]({target})"

    return re.sub(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", link, text)


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
