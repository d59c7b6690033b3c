"""Pictures of pages: file names, alternative texts, and a gallery of small pictures.

The kernel of a page draws them as SVG with descriptions, see `kernel.py`.
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
KIND_PATTERN = re.compile(r'\.plot\(\s*"(\w+)"')
LABEL_PATTERN = re.compile("<svg [^>]*aria-label='([^']*)'")


class GalleryPlaceholder(nodes.General, nodes.Element):
    """Placeholder of the gallery of a page."""


class Gallery(SphinxDirective):
    """Directive for a grid of small pictures of the sections of a page, with their questions."""

    def run(self) -> list[nodes.Node]:
        """Return a placeholder, which is replaced when the whole page has been read."""
        return [GalleryPlaceholder()]


def name_pictures(app: Sphinx, tree: nodes.document) -> None:
    """Name the pictures of a page's cells and add alternative texts before Sphinx collects them."""
    page, counts = app.env.docname.replace("/", "-"), dict[str, int]()
    for cell in tree.findall(lambda node: isinstance(node, nodes.container) and "cell" in node["classes"]):
        code = "\n".join(each.astext() for each in cell.findall(nodes.literal_block))
        for image in cell.findall(nodes.image):
            picture = Path(app.srcdir, image["uri"].lstrip("/")).resolve()
            label = (
                LABEL_PATTERN.match(picture.read_text(encoding="utf-8")) if picture.suffix == ".svg" else None
            )
            if label is not None:
                image["alt"] = unescape(label[1])
                image["classes"].append("dark-light")
            kinds = "-".join(dict.fromkeys(KIND_PATTERN.findall(code))) or section_id(image)
            counts[kinds] = counts.get(kinds, 0) + 1
            count = f"-{counts[kinds]}" if counts[kinds] > 1 else ""
            named_copy = picture.with_name(f"{page}-{kinds}{count}{picture.suffix}")
            shutil.copyfile(picture, named_copy)
            image["uri"] = "/" + os.path.relpath(named_copy, app.srcdir)
    for placeholder in list(tree.findall(GalleryPlaceholder)):
        placeholder.replace_self(gallery_grid(tree))


def section_id(node: nodes.Node) -> str:
    """Return the id of the section that contains a node."""
    while not isinstance(node, nodes.section):
        node = node.parent
    return node["ids"][0]


def gallery_grid(tree: nodes.document) -> nodes.container:
    """Return links to the subsections with a picture: the picture, its title and its question."""
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
    """Connect the naming of pictures, and make kernels run the start-up script."""
    os.environ["PYTHONSTARTUP"] = str(STARTUP)
    app.add_node(GalleryPlaceholder)
    app.add_directive("gallery", Gallery)
    app.connect("doctree-read", name_pictures, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
