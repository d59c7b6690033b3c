"""Navigation: the pages in the order of the course, grouped in folding lists, and a line of links above."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

CAPTION_PATTERN = r'<p [^>]*class="caption"[^>]*><span class="caption-text">(.*?)</span></p>'
GROUP_PATTERN = re.compile(rf"{CAPTION_PATTERN}\s*(<ul.*?</ul>)\s*(?=<p |</div|\Z)", re.DOTALL)
TOP_PAGES = (
    ("tour", "Tour"),
    ("gallery", "Gallery"),
    ("coming-from-r", "From R"),
    ("coming-from-sas", "From SAS, Stata, SPSS"),
    ("coming-from-scikit-learn", "From scikit-learn"),
    ("reference/index", "Reference"),
)


def add_course(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.Node | None
) -> None:
    """Pass the groups of pages to the templates; the group of the current page is open."""
    toctree = context["toctree"](includehidden=True, collapse=True, maxdepth=2, titles_only=True)
    groups = GROUP_PATTERN.findall(toctree)
    current = next((place for place, (_, pages) in enumerate(groups) if 'class="current"' in pages), 0)
    context["course"] = [(caption, pages, place == current) for place, (caption, pages) in enumerate(groups)]
    context["top_pages"] = [(name, title) for name, title in TOP_PAGES if name in app.env.found_docs]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the navigation to the templates of pages."""
    app.connect("html-page-context", add_course)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
