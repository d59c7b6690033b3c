"""Index entries for the topics of pages in topics.toml, which the search shows first."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

TOPICS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Topics by the name of the page that teaches them."""


def add_topics(app: Sphinx, tree: nodes.document) -> None:
    """Add index entries for the topics of a page."""
    topics = TOPICS.get(app.env.docname, [])
    tree += addnodes.index(entries=[("single", topic, "", "main", None) for topic in topics])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the index entries to the reading of pages."""
    app.connect("doctree-read", add_topics)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
