"""Pictures of pages: files with names, texts for those who do not see them, and a grid of small ones.

The kernel of a page draws them by `kernel.py`, as vectors that say what they show.
"""

from __future__ import annotations

import os
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STARTUP = Path(__file__).with_name("startup.py")
KIND = re.compile(r'\.plot\(\s*"(\w+)"')
WORDS = re.compile("<svg [^>]*aria-label='([^']*)'")


class Place(nodes.General, nodes.Element):
    """The place of a grid of all pictures of a page."""


class Gallery(SphinxDirective):
    """The sections of a page as a grid of small pictures and the questions that they answer."""

    def run(self) -> list[nodes.Node]:
        """Leave the place, which is filled when the page is read to its end."""
        return [Place()]


def name_pictures(app: Sphinx, tree: nodes.document) -> None:
    """Give the pictures of a page's cells names and texts, before Sphinx collects them."""
    page, taken = app.env.docname.replace("/", "-"), dict[str, int]()
    for cell in tree.findall(lambda node: isinstance(node, nodes.container) and "cell" in node["classes"]):
        code = "\n".join(each.astext() for each in cell.findall(nodes.literal_block))
        for image in cell.findall(nodes.image):
            drawn = Path(app.srcdir, image["uri"].lstrip("/")).resolve()
            words = WORDS.match(drawn.read_text(encoding="utf-8")) if drawn.suffix == ".svg" else None
            if words is not None:
                image["alt"] = unescape(words[1])
                image["classes"].append("dark-light")
            kinds = "-".join(dict.fromkeys(KIND.findall(code))) or section_of(image)
            taken[kinds] = taken.get(kinds, 0) + 1
            count = f"-{taken[kinds]}" if taken[kinds] > 1 else ""
            named = drawn.with_name(f"{page}-{kinds}{count}{drawn.suffix}")
            shutil.copyfile(drawn, named)
            image["uri"] = "/" + os.path.relpath(named, app.srcdir)
    for place in list(tree.findall(Place)):
        place.replace_self(grid(tree))


def section_of(node: nodes.Node) -> str:
    """The name of the section that a node stands in."""
    while not isinstance(node, nodes.section):
        node = node.parent
    return node["ids"][0]


def grid(tree: nodes.document) -> nodes.container:
    """A link to each section of a section that has a picture: the picture, its title, its question."""
    items = nodes.bullet_list()
    for section in tree.findall(nodes.section):
        image = next(section.findall(nodes.image), None)
        if image is None or not isinstance(section.parent.parent, nodes.section):
            continue
        small = image.deepcopy()
        small["alt"] = ""
        title = section.next_node(nodes.title).astext()
        question = section.next_node(nodes.strong)
        link = nodes.reference("", "", internal=True, refid=section["ids"][0])
        link += small
        link += nodes.inline("", title, classes=["name"])
        link += nodes.inline("", question.astext() if question is not None else "", classes=["question"])
        items += nodes.list_item("", nodes.paragraph("", "", link))
    return nodes.container("", items, classes=["gallery"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Name pictures before they are collected; kernels run first what the variable names."""
    os.environ["PYTHONSTARTUP"] = str(STARTUP)
    app.add_node(Place)
    app.add_directive("gallery", Gallery)
    app.connect("doctree-read", name_pictures, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
