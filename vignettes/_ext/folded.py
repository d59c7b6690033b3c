"""A directive for boxes that open on a click, and the label of hidden answers of exercises."""

from __future__ import annotations

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class folded(nodes.General, nodes.Element):
    """A box that is closed at first."""


class first_line(nodes.General, nodes.TextElement):
    """The line of a closed box."""


class Fold(SphinxDirective):
    """Directive for a folding box; the argument is its line."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the box."""
        parsed, messages = self.parse_inline(" ".join(self.arguments[0].split()), lineno=self.lineno)
        box = folded("", first_line("", "", *parsed), classes=self.options.get("class", []))
        box += nodes.container("", *self.parse_content_to_nodes(), classes=["folded"])
        return [box, *messages]


def visit_folded(writer: HTML5Translator, node: folded) -> None:
    """Open the element of a box."""
    writer.body.append(writer.starttag(node, "details"))


def depart_folded(writer: HTML5Translator, node: folded) -> None:
    """Close the element of a box."""
    writer.body.append("</details>\n")


def visit_first_line(writer: HTML5Translator, node: first_line) -> None:
    """Open the element of the line of a box."""
    writer.body.append("<summary>")


def depart_first_line(writer: HTML5Translator, node: first_line) -> None:
    """Close the element of the line of a box."""
    writer.body.append("</summary>\n")


def label_answers(app: Sphinx, tree: nodes.document) -> None:
    """Label hidden cells with the tag `answer` as "Answer"."""
    for cell in tree.findall(lambda node: isinstance(node, nodes.container) and "hide_mode" in node):
        if "tag_answer" in cell["classes"]:
            cell["prompt_show"] = cell["prompt_hide"] = "Answer"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the nodes, the directive and their HTML."""
    app.add_node(folded, html=(visit_folded, depart_folded))
    app.add_node(first_line, html=(visit_first_line, depart_first_line))
    app.add_directive("fold", Fold)
    app.connect("doctree-read", label_answers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
