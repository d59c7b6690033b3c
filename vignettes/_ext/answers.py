"""Label of the hidden answers of exercises."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def label_answers(app: Sphinx, tree: nodes.document) -> None:
    """Label hidden cells with the tag `answer` as "Answer"."""
    for cell in tree.findall(lambda node: isinstance(node, nodes.container) and "hide_mode" in node):
        if "tag_answer" in cell["classes"]:
            cell["prompt_show"] = cell["prompt_hide"] = "Answer"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the labels."""
    app.connect("doctree-read", label_answers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
