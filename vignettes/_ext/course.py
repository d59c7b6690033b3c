"""The pages in the order of the course: a list that folds, beside each page, and a line of links above it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

CAPTION = r'<p [^>]*class="caption"[^>]*><span class="caption-text">(.*?)</span></p>'
GROUP = re.compile(rf"{CAPTION}\s*(<ul.*?</ul>)\s*(?=<p |</div|\Z)", re.DOTALL)
TOP_PAGES = (
    ("tour", "Tour"),
    ("gallery", "Gallery"),
    ("coming-from-r", "From R"),
    ("coming-from-sas", "From SAS, Stata, SPSS"),
    ("coming-from-scikit-learn", "From scikit-learn"),
    ("reference/index", "Reference"),
)


def name_pages(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.Node | None
) -> None:
    """Tell the templates of a page which groups of pages there are; the one that it stands in is open."""
    listed = context["toctree"](includehidden=True, collapse=True, maxdepth=2, titles_only=True)
    groups = GROUP.findall(listed)
    own = next((place for place, (_, pages) in enumerate(groups) if 'class="current"' in pages), 0)
    context["course"] = [(caption, pages, place == own) for place, (caption, pages) in enumerate(groups)]
    context["top_pages"] = [(name, title) for name, title in TOP_PAGES if name in app.env.found_docs]


def setup(app: Sphinx) -> dict[str, bool]:
    """Name the pages where a template is filled."""
    app.connect("html-page-context", name_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
